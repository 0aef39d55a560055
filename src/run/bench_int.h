/*
 * bench_int.h - what the benchmarks share.
 */
#ifndef CR_RUN_BENCH_INT_H
#define CR_RUN_BENCH_INT_H

#include "run/bench.h"
#include "run/run_int.h"

void cr_bench_add(cr_bench *b, const char *key, double value, const char *unit);
cr_bench_row *cr_bench_row_new(cr_bench *b, const char *name);
void cr_bench_row_add(cr_bench_row *r, const char *key, double value, const char *unit);

/* Repeats until `seconds` have passed, at least three times. Seconds per call: of the best window
 * of half a second (of the best call when calls are longer), and the median. */
typedef struct cr_bench_time {
    double best, median;
    int64_t calls;
} cr_bench_time;
typedef cr_code (*cr_bench_fn)(void *ctx, int64_t call, cr_err *err);
CR_CHECKED cr_code cr_bench_repeat(double seconds, cr_bench_fn fn, void *ctx, cr_bench_time *out,
                                   cr_err *err);

/* GFLOP/s of nothing but multiply-adds on all threads of a pool; the best of some tries */
double cr_bench_peak(cr_pool *pool, double seconds);

#define CR_BENCH_BATCHES 64 /* at most so many are held */
/* Batches of a config's training data, held in memory. */
typedef struct cr_bench_data {
    job j;
    cr_arena arena;
    bool train; /* else the model as predict runs it: no labels, no optimizer state */
    int64_t batch_size;
    cr_batch **v;
    int n;
    double tables_ready;   /* seconds to allocate and fill the parameters */
    int64_t batches_bytes; /* of v */
} cr_bench_data;
/* operations of the plain graph per row of the held batches: multiply-adds of the products forward
 * and, when training, backward where gradients go. Work that is saved by sharing counts as done. */
double cr_bench_flops(const cr_bench_data *d, bool train);
/* cr_bench_open builds the model with its parameters and reads at most max_batches (0: none). */
CR_CHECKED cr_code cr_bench_open(cr_bench_data *d, const cr_bench_opts *o, bool train,
                                 int max_batches, cr_diag *diag);
void cr_bench_close(cr_bench_data *d);
/* cr_bench_add_memory: what the parameters take, the peak of the process, how fast tables are there
 */
void cr_bench_add_memory(cr_bench *out, const cr_bench_data *d);

CR_CHECKED cr_code cr_bench_train(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
CR_CHECKED cr_code cr_bench_predict(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
CR_CHECKED cr_code cr_bench_read(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
CR_CHECKED cr_code cr_bench_features(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
CR_CHECKED cr_code cr_bench_lookup(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
CR_CHECKED cr_code cr_bench_gemm(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
CR_CHECKED cr_code cr_bench_limits(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);

#endif
