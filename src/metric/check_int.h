/*
 * check_int.h - the checks of all metrics, with the same messages for all.
 */
#ifndef CR_METRIC_CHECK_INT_H
#define CR_METRIC_CHECK_INT_H

#include <math.h>

#include "metric/metric.h"

/* `row` counts from 0 over all rows that the metric has seen. */
static inline cr_code cr_metric_nan(const char *name, int64_t row, cr_err *err) {
    return cr_fail(
        err, CR_ERUN,
        "metric %s: the prediction of row %lld is NaN; the model has diverged: lower the "
        "learning rate or look for odd values in the input",
        name, (long long)row);
}
static inline cr_code cr_metric_bad_label(const char *name, int64_t row, double label, int64_t K,
                                          cr_err *err) {
    return cr_fail(
        err, CR_EDATA,
        "metric %s: the label of row %lld is %g, expected a whole number from 0 to %lld; "
        "correct the label column or remove the metric",
        name, (long long)row, label, (long long)(K < 2 ? 1 : K - 1));
}

/* cr_metric_score returns the column that a two-class metric reads: the only one, or class 1 of
 * two. */
static inline const float *cr_metric_score(const cr_metric_in *in) {
    return in->pred + (in->K == 2 ? 1 : 0);
}
static inline cr_code cr_metric_two_classes(const char *name, int64_t K, cr_err *err) {
    if (K <= 2) return CR_OK;
    return cr_fail(
        err, CR_ECONF,
        "metric %s needs a model with one or two classes, num_class is %lld; use accuracy "
        "or logloss instead",
        name, (long long)K);
}
static inline cr_code cr_metric_many_classes(const char *name, int64_t K, const char *instead,
                                             cr_err *err) {
    if (K >= 2) return CR_OK;
    return cr_fail(err, CR_ECONF,
                   "metric %s needs a model with num_class of 2 or more, it is %lld; use %s "
                   "instead",
                   name, (long long)K, instead);
}

/* cr_metric_fits reports an error unless a packed state has the expected size. */
static inline cr_code cr_metric_fits(const char *name, bool fits, cr_err *err) {
    return fits ? CR_OK
                : cr_fail(err, CR_ERUN,
                          "metric %s: the state of another process has another size; run the same "
                          "program and config everywhere",
                          name);
}

/* cr_floored_log is log with torch's lower limit: a certain and wrong prediction costs 100, not
 * infinity. */
static inline double cr_floored_log(double x) {
    double l = log(x);
    return l > -100 ? l : -100;
}
static inline cr_code cr_metric_not_prob(const char *name, int64_t row, double p, cr_err *err) {
    return cr_fail(err, CR_ERUN,
                   "metric %s: the prediction of row %lld is %g, not a probability; "
                   "use it with binary_cross_entropy",
                   name, (long long)row, p);
}

#endif
