/*
 * pool.h - the one thread pool.
 *
 * All work has one shape: items 0..n-1, each independent of the others; which thread runs an item
 * must not change the result. The caller's thread works too, as thread 0. Waiting threads spin for
 * some microseconds, then sleep.
 */
#ifndef CR_BASE_POOL_H
#define CR_BASE_POOL_H

#include <stdint.h>

#include "base/err.h"
#include "base/trace.h"

typedef struct cr_pool cr_pool;
/* fn(ctx, item, thread), thread in [0, cr_pool_threads). */
typedef void (*cr_pool_fn)(void *ctx, int64_t item, int thread);
CR_CHECKED cr_code cr_pool_new(cr_pool **out, int n_threads, cr_err *err);
void cr_pool_free(cr_pool *p);
int cr_pool_threads(const cr_pool *p);
/* cr_pool_run returns when all items are done. It allocates nothing. Any thread may call it, also
 * from inside a job: while the pool has a job, another one runs on its caller's thread alone, as
 * thread 0. Without a pool (NULL) this function and those below work in the same way. */
void cr_pool_run(cr_pool *p, int64_t n_items, cr_pool_fn fn, void *ctx);
/* cr_pool_trace records the threads' work in t from now on, one row per thread; NULL ends it. Call
 * it between jobs. A traced pool has only one caller. */
void cr_pool_trace(cr_pool *p, cr_trace *t);
/* cr_pool_stage names the stage of the next jobs. With CR_STAGE_NONE the jobs record their own
 * spans, in the trace (NULL: none) and row that cr_pool_get_trace gives. */
void cr_pool_stage(cr_pool *p, cr_stage s);
cr_trace *cr_pool_get_trace(const cr_pool *p, int thread, int *row);

#endif
