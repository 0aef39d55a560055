/*
 * expect.c - how many distinct ids a batch has, expected.
 *
 * n draws from V ids, the k-th with probability p(k) = k^-s / H, where H is the sum of all k^-s:
 * an id is among them with probability 1 - (1 - p)^n, and the expected number is the sum over k.
 * Tables have up to 10^11 rows, so ids beyond the first are taken in bands whose ends grow by a
 * seventh; within a band all ids count as the one at its geometric middle. The error is below
 * 0.2 %.
 */
#include <math.h>

#include "planner/planner.h"

#define SINGLE 32.0 /* ids that are taken one by one */
#define GROWTH 1.15 /* of the bands behind them */
#define MOST_S 3.0  /* the steepest popularity that cr_expect_zipf looks for */

typedef struct bands {
    double at, end;
} bands;

/* The next band [at, end) of ids counted from 0; false: there is none. */
static bool next(bands *b, double V) {
    b->at = b->end;
    if (b->at >= V) return false;
    b->end = b->at < SINGLE ? b->at + 1 : ceil(b->at * GROWTH);
    if (b->end > V) b->end = V;
    return true;
}

/* k^-s of an id in the middle of a band, counted from 1 */
static double weight(const bands *b, double s) {
    double k = b->end - b->at <= 1 ? b->end : sqrt((b->at + 0.5) * (b->end + 0.5));
    return s == 0 ? 1 : s == 1 ? 1 / k : exp(-s * log(k));
}

static double total(double V, double s) {
    double H = 0;
    for (bands b = {0, 0}; next(&b, V);)
        H += (b.end - b.at) * weight(&b, s);
    return H;
}

/* Is an id of probability p among n draws? */
static double drawn(double n, double p) {
    return p >= 1 ? (n > 0) : -expm1(n * log1p(-p));
}

double cr_expect_distinct(double n, double V, double s) {
    if (n <= 0 || V <= 0) return 0;
    if (s <= 0) return V * drawn(n, 1 / V);
    double H = total(V, s), sum = 0;
    for (bands b = {0, 0}; next(&b, V);)
        sum += (b.end - b.at) * drawn(n, weight(&b, s) / H);
    return sum;
}

double cr_expect_zipf(double n, double V, double distinct) {
    double lo = 0, hi = MOST_S;
    if (cr_expect_distinct(n, V, lo) <= distinct) return lo;
    for (int i = 0; i < 40; i++) {
        double s = (lo + hi) / 2;
        if (cr_expect_distinct(n, V, s) > distinct)
            lo = s;
        else
            hi = s;
    }
    return (lo + hi) / 2;
}

void cr_expect_init(cr_expect *e, double n, double V, double s) {
    double H = total(V, s), sum = 0;
    e->n = 1;
    e->x[0] = e->sum[0] = 0;
    for (bands b = {0, 0}; next(&b, V);) {
        sum += (b.end - b.at) * drawn(n, weight(&b, s) / H);
        CR_ASSERT(e->n < (int)(sizeof(e->x) / sizeof(e->x[0])));
        e->x[e->n] = b.end;
        e->sum[e->n++] = sum;
    }
}

double cr_expect_below(const cr_expect *e, double x) {
    int lo = 0, hi = e->n - 1;
    if (x >= e->x[hi]) return e->sum[hi];
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (e->x[mid] <= x)
            lo = mid;
        else
            hi = mid;
    }
    return e->sum[lo] + (e->sum[hi] - e->sum[lo]) * (x - e->x[lo]) / (e->x[hi] - e->x[lo]);
}
