/*
 * bins_int.h - TorchEasyRec's binned ROC curve: how many positives and negatives lie between two
 * thresholds k/(n-1). Shared by auc (exact: false), multiclass_auc and the training metric.
 */
#ifndef CR_METRIC_BINS_INT_H
#define CR_METRIC_BINS_INT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Bin b holds scores with exactly b thresholds at or below them. */
typedef struct cr_bins {
    int64_t n; /* number of thresholds */
    float *thresholds;
    uint64_t *n_pos, *n_neg; /* n + 1 counts each */
} cr_bins;

/* cr_bins_init makes n >= 2 thresholds. On failure b is cleared. */
CR_CHECKED cr_code cr_bins_init(cr_bins *b, int64_t n, cr_err *err);
void cr_bins_clear(cr_bins *b);
void cr_bins_reset(cr_bins *b);
/* cr_bins_of returns the number of thresholds <= p. */
int64_t cr_bins_of(const cr_bins *b, float p);
/* These read and write the counts as 2 (n + 1) numbers: positives, then negatives. */
void cr_bins_get(const cr_bins *b, double *out);
void cr_bins_set(cr_bins *b, const double *in);
/* cr_bins_pack appends the counts; cr_bins_merge adds the packed counts of another, cr_bins_size
 * bytes. */
size_t cr_bins_size(const cr_bins *b);
void cr_bins_pack(const cr_bins *b, cr_buf *out);
void cr_bins_merge(cr_bins *b, const void *state);
/* cr_bins_auc returns the AUC of such counts: trapezoids between the n points without added end
 * points, 0/0 = 0; NaN without rows. */
double cr_bins_auc(int64_t n, const double *counts);
/* cr_bins_value returns the same for b's own counts. */
double cr_bins_value(const cr_bins *b);

#endif
