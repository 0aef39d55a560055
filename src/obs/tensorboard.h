/*
 * tensorboard.h - event files that TensorBoard shows: scalars, histograms, texts by step.
 *
 * A writer writes one file; TensorBoard shows a directory of files as one run. Values are
 * collected, and cr_events_write makes one event of them. docs/design/tensorboard.md describes the
 * bytes.
 */
#ifndef CR_OBS_TENSORBOARD_H
#define CR_OBS_TENSORBOARD_H

#include <stdint.h>

#include "base/buf.h"

/* ---- histograms ---- */
#define CR_HISTO_SIDE    775 /* edges 1e-12 * 1.1^k up to 1e20, then the end; as many below zero */
#define CR_HISTO_BUCKETS (2 * CR_HISTO_SIDE + 1)
/* The edges, and a table that finds the bucket of a float: `first` is indexed by the first 13 bits
 * after the sign and holds the first edge above the float that has only these bits. At most one
 * edge lies between two such floats. */
typedef struct cr_histo_scale {
    double edge[CR_HISTO_SIDE]; /* the edges above zero */
    int16_t first[8192];
} cr_histo_scale;
typedef struct cr_histo {
    double min, max, sum, sum_squares;
    int64_t n, n_odd; /* number of values, and of NaNs and infinities, which are left out */
    int64_t count[CR_HISTO_BUCKETS]; /* bucket i ends below cr_histo_limit(i) */
} cr_histo;
void cr_histo_scale_init(cr_histo_scale *s);
double cr_histo_limit(const cr_histo_scale *s, int bucket);
void cr_histo_init(cr_histo *h);
void cr_histo_add(cr_histo *h, const cr_histo_scale *s, const float *v, int64_t n);

/* ---- event files ---- */
typedef struct cr_events cr_events;
/* cr_events_open makes dir where needed and in it a new file
 * events.out.tfevents.<seconds>.<host>.<process>.<n>. All calls accept NULL for e. When writing
 * fails there is one warning, and nothing more is written. */
CR_CHECKED cr_code cr_events_open(cr_events **out, const char *dir, cr_err *err);
void cr_events_close(cr_events *e);
/* cr_events_settle makes the events so far survive a kill, on every store. */
void cr_events_settle(cr_events *e);
/* After cr_events_restart, TensorBoard ignores what earlier files say about this step and later
 * ones. */
void cr_events_restart(cr_events *e, int64_t step);
void cr_events_scalar(cr_events *e, const char *tag, double value);
void cr_events_histo(cr_events *e, const char *tag, const cr_histo_scale *s, const cr_histo *h);
/* The text is Markdown. */
void cr_events_text(cr_events *e, const char *tag, const char *text, size_t n);
void cr_events_write(cr_events *e, int64_t step);

#endif
