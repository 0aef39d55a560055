/*
 * bench_int.h - parts that the benchmarks share.
 */
#ifndef CR_TOOL_BENCH_INT_H
#define CR_TOOL_BENCH_INT_H

#include "job/job.h"
#include "tool/bench.h"
#include "tool/tool.h"
#include "train/evaluate.h"
#include "train/step.h"

void cr_bench_add(cr_bench *b, const char *key, double value, const char *unit);
cr_bench_row *cr_bench_row_new(cr_bench *b, const char *name);
void cr_bench_row_add(cr_bench_row *r, const char *key, double value, const char *unit);

/* A function is called until `seconds` have passed, at least three times unless that takes much
 * longer. The result is seconds per call: the median, and that of the best window of half a second
 * (or of the best call when calls are longer), which is never above the median. */
typedef struct cr_bench_time {
    double best, median;
    int64_t calls;
} cr_bench_time;
typedef cr_code (*cr_bench_fn)(void *ctx, int64_t call, cr_err *err);
CR_CHECKED cr_code cr_bench_repeat(double seconds, cr_bench_fn fn, void *ctx, cr_bench_time *out,
                                   cr_err *err);
/* cr_bench_repeat_all is collective over the ranks of comm (NULL: this process is alone): rank 0
 * decides how often fn is called. */
CR_CHECKED cr_code cr_bench_repeat_all(cr_comm *comm, double seconds, cr_bench_fn fn, void *ctx,
                                       cr_bench_time *out, cr_err *err);

/* Rows per second in windows, for work that comes unevenly, as from files. A window is half a
 * second, or an eighth of `seconds` when that is less, and ends with the work that is given to
 * cr_bench_window_add. */
#define CR_BENCH_WINDOWS 4096
typedef struct cr_bench_windows {
    double length, begin, rows; /* of the current window */
    double v[CR_BENCH_WINDOWS];
    int n;
} cr_bench_windows;
void cr_bench_window_begin(cr_bench_windows *w, double seconds);
void cr_bench_window_add(cr_bench_windows *w, double rows);
/* cr_bench_window_rates sorts the rates and returns the best and the median; if no window is full,
 * the rate of everything. */
void cr_bench_window_rates(cr_bench_windows *w, double *best, double *median);

/* Returns the GFLOP/s that products of this kind could reach on all threads of a pool: those of the
 * multiply-adds they are made of, the best of some tries. */
double cr_bench_peak(cr_pool *pool, cr_products products, double seconds);
/* Returns the bytes/s of a = b + s c over arrays larger than the caches; 0 when there is not enough
 * memory. */
double cr_bench_stream(cr_pool *pool, double seconds);
/* Returns the random rows of 64 bytes per second that are read from memory; 0 as above. */
double cr_bench_gather(cr_pool *pool, double seconds);

#define CR_BENCH_BATCHES 64 /* at most this many are held */
#define CR_BENCH_COUNTED 4  /* held for counting when training reads the files */
/* Batches of a config's training data, held in memory. */
typedef struct cr_bench_data {
    cr_job j;
    cr_arena arena;
    /* with training; else the model as predict runs it: no labels, no optimizer state */
    bool train;
    int64_t batch_size;
    cr_batch **v;
    int n;
    cr_model_work *axes;   /* for the lengths of their sequences; it has no plan */
    double tables_ready;   /* seconds to allocate and fill the parameters */
    int64_t batches_bytes; /* bytes of v */
} cr_bench_data;
/* cr_bench_flops returns the operations of the graph per row of the held batches (cr_graph_flops).
 */
double cr_bench_flops(const cr_bench_data *d, bool train);
/* cr_bench_open builds the model with its parameters and reads at most max_batches (0: none). */
CR_CHECKED cr_code cr_bench_open(cr_bench_data *d, const cr_bench_opts *o, bool train,
                                 int max_batches, cr_diag *diag);
void cr_bench_close(cr_bench_data *d);
/* cr_bench_add_memory adds the size of the parameters, the peak of the process, and how fast tables
 * are allocated and filled. */
void cr_bench_add_memory(cr_bench *out, const cr_bench_data *d);

CR_CHECKED cr_code cr_bench_train(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
CR_CHECKED cr_code cr_bench_predict(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
CR_CHECKED cr_code cr_bench_read(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
CR_CHECKED cr_code cr_bench_features(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
CR_CHECKED cr_code cr_bench_lookup(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
CR_CHECKED cr_code cr_bench_gemm(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
CR_CHECKED cr_code cr_bench_limits(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);

/* ---- bench_ranks.c: what ranks send to each other ---- */
/* cr_bench_least (collective) counts the bytes that must travel for the held batches: each distinct
 * id of a rank's rows once, its row back, its gradient, and the dense gradients and weights of the
 * slices of other ranks. */
CR_CHECKED cr_code cr_bench_least(const cr_bench_data *d, double *per_row, cr_err *err);
/* cr_bench_total (collective) adds up one number of every rank. */
double cr_bench_total(cr_comm *comm, double mine);

#endif
