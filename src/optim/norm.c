/*
 * norm.c - sums for gradient clipping. They run in double and in eight fixed partial sums, so that
 * a norm depends only on the division into pieces, which callers keep fixed, and not on threads or
 * CPU.
 */
#include "optim/optim.h"

#include <math.h>

#define PARTS 8

static double largest(const float *g, int64_t n) {
    float top = 0;
    for (int64_t i = 0; i < n; i++) {
        float a = fabsf(g[i]);
        top = a > top ? a : top;
    }
    return (double)top;
}

static double squares(const float *g, int64_t n) {
    double part[PARTS] = {0};
    int64_t i = 0;
    for (; i + PARTS <= n; i += PARTS)
        for (int j = 0; j < PARTS; j++)
            part[j] += (double)g[i + j] * (double)g[i + j];
    for (int j = 0; i + j < n; j++)
        part[j] += (double)g[i + j] * (double)g[i + j];
    return ((part[0] + part[4]) + (part[2] + part[6])) +
           ((part[1] + part[5]) + (part[3] + part[7]));
}

void cr_norm_join(double *sum, double part, double p) {
    if (!isinf(p))
        *sum += part;
    else if (part > *sum || isnan(part))
        *sum = part;
}

bool cr_norm_add(double *sum, const float *g, int64_t n, double p) {
    double ss =
        squares(g, n); /* finite when all of g is: squares of floats do not overflow a double */
    if (p == 2) {
        *sum += ss;
    } else if (isinf(p)) {
        double top = largest(g, n);
        if (!isfinite(ss)) top = ss; /* as in torch: the norm is NaN or infinity */
        cr_norm_join(sum, top, p);
    } else {
        double s = 0;
        for (int64_t i = 0; i < n; i++)
            s += p == 1 ? fabs((double)g[i]) : pow(fabs((double)g[i]), p);
        *sum += s;
    }
    return isfinite(ss);
}
