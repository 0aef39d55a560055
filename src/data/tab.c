/*
 * tab.c - sets the first values of the description of a column, and computes the knots of a normal
 * distribution.
 */
#include <math.h>

#include "data/tab.h"

/* Makes Newton steps from a logistic guess. It is only used to make tables. */
double cr_normal_inv(double u) {
    double x = log(u / (1 - u)) / 1.702;
    for (int i = 0; i < 60; i++) {
        double cdf = 0.5 * erfc(-x * M_SQRT1_2);
        double pdf = exp(-0.5 * x * x) / sqrt(2 * M_PI);
        double step = (cdf - u) / pdf;
        if (step > 0.5) step = 0.5;
        if (step < -0.5) step = -0.5;
        x -= step;
        if (fabs(step) < 1e-12) break;
    }
    return x;
}

void cr_tab_col_init(cr_tab_col *c, const char *name) {
    *c = (cr_tab_col){.name = name,
                      .value = {.leaf = CR_TAB_TOKEN, .card = 1000},
                      .min_values = 1,
                      .max_values = 1,
                      .sep = "\x1d",
                      .values_of = -1,
                      .max_steps = 10,
                      .delim = ";",
                      .steps_of = -1,
                      .kv = ':',
                      .dims = 1,
                      .dim_sep = ",",
                      .share = 1};
}

void cr_tab_normal(cr_tab_value *v, double mean, double deviation) {
    v->leaf = CR_TAB_REAL;
    v->n_knots = 33;
    for (int i = 0; i <= 32; i++) {
        double z = i == 0 ? -3 : i == 32 ? 3 : cr_normal_inv(i / 32.0);
        v->knots[i] = mean + deviation * z;
    }
}
