/*
 * trace.h - records what each thread did at which time: spans kept in memory, to look at a few
 * steps.
 *
 * Every thread writes its own row, an array allocated in advance, so recording takes no lock and
 * allocates nothing. A trace is passed down as a pointer and is NULL in a normal run: a hook then
 * costs one comparison. While it is off (cr_trace_switch), spans are not begun.
 */
#ifndef CR_BASE_TRACE_H
#define CR_BASE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The kinds of work of a thread. */
typedef enum cr_stage {
    CR_STAGE_NONE,
    CR_STAGE_STEP,     /* a whole step; it has its own row */
    CR_STAGE_READ,     /* read bytes from files */
    CR_STAGE_PARSE,    /* turn bytes into columns */
    CR_STAGE_FEATURES, /* turn columns into ids and numbers */
    CR_STAGE_BATCH,    /* put rows into batches */
    CR_STAGE_GROUP,    /* find equal ids in a batch */
    CR_STAGE_PACK,     /* put weights into the kernels' order */
    CR_STAGE_FORWARD,
    CR_STAGE_BACKWARD,
    CR_STAGE_UPDATE, /* update tables and dense parameters */
    CR_STAGE_LOG,    /* write log lines and events */
    CR_STAGE_SAVE,   /* write a checkpoint */
    CR_STAGE_WRITE,  /* write predictions */
    CR_STAGE_WAIT,
    CR_STAGES,
} cr_stage;
const char *cr_stage_name(cr_stage s);

typedef struct cr_span {
    double t0, t1;  /* times of cr_now */
    int64_t number; /* number of the step, for CR_STAGE_STEP */
    cr_stage stage;
} cr_span;

typedef struct cr_trace cr_trace;
/* cr_trace_new makes a trace for max_rows threads with max_spans spans each. */
cr_trace *cr_trace_new(int max_rows, int64_t max_spans);
void cr_trace_free(cr_trace *t);
/* cr_trace_row claims a row for a thread; n > 0 is part of its name: "data 2". Any thread may call
 * it. It returns -1 when t is NULL or all rows are taken; spans of row -1 are dropped. */
int cr_trace_row(cr_trace *t, const char *name, int n);
/* cr_trace_switch turns recording on or off. Any thread may call it. */
void cr_trace_switch(cr_trace *t, bool on);
/* cr_trace_begin returns the time, or 0 when nothing is recorded. */
double cr_trace_begin(const cr_trace *t);
/* cr_trace_end ends a span that began at t0, unless t0 is 0. It returns the time, where the next
 * span begins (0 when t0 was 0). Only the thread that owns the row may call it. */
double cr_trace_end(cr_trace *t, int row, cr_stage s, double t0);
/* cr_trace_step is cr_trace_end for step `number`. */
void cr_trace_step(cr_trace *t, int row, int64_t number, double t0);

/* Any thread may read the spans that have ended, in order; n is their number. */
int cr_trace_rows(const cr_trace *t);
const char *cr_trace_row_name(const cr_trace *t, int row);
const cr_span *cr_trace_spans(const cr_trace *t, int row, int64_t *n);
int64_t cr_trace_dropped(const cr_trace *t); /* spans dropped for want of room */

#endif
