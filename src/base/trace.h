/*
 * trace.h - what each thread did when: spans of time, kept in memory, for a look at a few steps.
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

/* What a thread can be busy with. */
typedef enum cr_stage {
    CR_STAGE_NONE,
    CR_STAGE_STEP,     /* a whole step, on a row of its own */
    CR_STAGE_READ,     /* bytes from files */
    CR_STAGE_PARSE,    /* bytes to columns */
    CR_STAGE_FEATURES, /* columns to ids and numbers */
    CR_STAGE_BATCH,    /* rows to batches */
    CR_STAGE_GROUP,    /* equal ids of a batch found */
    CR_STAGE_PACK,     /* weights in the kernels' order */
    CR_STAGE_FORWARD,
    CR_STAGE_BACKWARD,
    CR_STAGE_UPDATE, /* tables and dense parameters */
    CR_STAGE_LOG,    /* log lines and events */
    CR_STAGE_SAVE,   /* a checkpoint */
    CR_STAGE_WRITE,  /* predictions */
    CR_STAGE_WAIT,
    CR_STAGES,
} cr_stage;
const char *cr_stage_name(cr_stage s);

typedef struct cr_span {
    double t0, t1;  /* cr_now */
    int64_t number; /* of the step, for CR_STAGE_STEP */
    cr_stage stage;
} cr_span;

typedef struct cr_trace cr_trace;
/* cr_trace_new: max_rows threads, max_spans each. */
cr_trace *cr_trace_new(int max_rows, int64_t max_spans);
void cr_trace_free(cr_trace *t);
/* cr_trace_row claims a row for a thread; n > 0 numbers it: "data 2". Any thread. -1 when t is NULL
 * or all are taken; spans of row -1 are dropped. */
int cr_trace_row(cr_trace *t, const char *name, int n);
/* cr_trace_switch turns recording on or off. Any thread. */
void cr_trace_switch(cr_trace *t, bool on);
/* cr_trace_begin: the time, 0 when nothing is recorded. */
double cr_trace_begin(const cr_trace *t);
/* cr_trace_end ends a span that began at t0, unless t0 is 0. Returns the time, which is where the
 * next one begins (0 when t0 was 0). Only the thread that owns the row. */
double cr_trace_end(cr_trace *t, int row, cr_stage s, double t0);
/* cr_trace_step is cr_trace_end of step `number`. */
void cr_trace_step(cr_trace *t, int row, int64_t number, double t0);

/* Looking, from any thread: spans already ended, in order; n of them. */
int cr_trace_rows(const cr_trace *t);
const char *cr_trace_row_name(const cr_trace *t, int row);
const cr_span *cr_trace_spans(const cr_trace *t, int row, int64_t *n);
int64_t cr_trace_dropped(const cr_trace *t); /* for want of room */

#endif
