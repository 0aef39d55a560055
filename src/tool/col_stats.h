/*
 * col_stats.h - statistics of a column of numbers or ids, in memory that does not grow with the
 * rows; docs/design/doctor.md explains the method.
 */
#ifndef CR_TOOL_COL_STATS_H
#define CR_TOOL_COL_STATS_H

#include "base/kmv.h"

#define CR_STATS_KEPT   16384 /* numbers that are kept for quantiles */
#define CR_STATS_HASHES 1024  /* smallest hashes that are kept for distinct values */
#define CR_STATS_PAIRS  64    /* values whose label is kept */

typedef struct col_stats {
    int64_t n; /* how many numbers were seen */
    double min, max, mean, m2;
    /* every stride-th number; all of them while there are at most CR_STATS_KEPT */
    float *kept;
    int64_t n_kept, stride;
    cr_kmv hashes; /* of the values */
} col_stats;

/* The values of a column together with a label of the same row. */
typedef struct col_joint {
    int64_t n;
    double mean, m2, label_mean, label_m2, co;
    struct col_pair {
        uint64_t value;
        float label;
    } pairs[CR_STATS_PAIRS];
    int n_pairs;
    bool mixed; /* a value came with two labels, or there are too many values */
} col_joint;

/* cr_stats_init takes memory from the arena. numbers: quantiles are wanted too. */
void cr_stats_init(col_stats *s, bool numbers, cr_arena *a);
void cr_stats_number(col_stats *s, float x);
void cr_stats_id(col_stats *s, int64_t id);
/* cr_joint_add adds the one value of a row (as bits, and as a number) and the label of that row. An
 * empty col_joint is all zeros. */
void cr_joint_add(col_joint *j, uint64_t value, double number, float label);
/* Returns the correlation of values and labels; 0 when one of them does not vary. */
double cr_joint_correlation(const col_joint *j);

double cr_stats_sd(const col_stats *s);
/* Returns how far the values are from 0 on the whole: the root of their mean square. */
double cr_stats_scale(const col_stats *s);
/* Returns the number of different values: exact below CR_STATS_HASHES, then an estimate within
 * about 3 %. */
double cr_stats_distinct(const col_stats *s, bool *exact);
/* Computes the quantiles q[0 .. n) of the kept numbers, with q ascending in 0 .. 1; NAN without
 * numbers. */
void cr_stats_quantiles(const col_stats *s, const double *q, int n, double *out);
/* Finds numbers that cut the values into about n even parts, ascending, at most n - 1 of them.
 * Where many values are the minimum (most amounts are 0), these are one part and the others are cut
 * evenly. Returns how many there are. */
int cr_stats_cuts(const col_stats *s, int n, double *out);

#endif
