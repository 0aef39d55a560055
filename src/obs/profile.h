/*
 * profile.h - a close look at ten steps: what each thread did at which time, as a file for
 * chrome://tracing or Perfetto, and as shares of the time.
 *
 * The first step of a run is left alone, the second warms up, the next ten are recorded (as
 * TorchEasyRec's profiler does it). Recording changes no result.
 */
#ifndef CR_OBS_PROFILE_H
#define CR_OBS_PROFILE_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/trace.h"

typedef struct cr_profile cr_profile;
/* cr_profile_new records the threads of pool and n_workers loaders; the trace goes to path. All
 * calls accept NULL for p, which means a run without a profile. */
cr_profile *cr_profile_new(cr_pool *pool, int n_workers, const char *path);
void cr_profile_free(cr_profile *p);
/* The processes that run the same steps together, with calls that move bytes between them as
 * cr_meet has them (graph/part.h). */
typedef struct cr_profile_ranks {
    int n, self;
    const char *name; /* of this process, for people: "rank 1 (host a)" */
    void (*gather)(void *ctx, void *all, const size_t *at);
    void (*exchange)(void *ctx, const void *out, const size_t *out_at, void *in,
                     const size_t *in_at);
    void *ctx;
} cr_profile_ranks;
/* cr_profile_join: all ranks record, and the first one writes what all of them did into one file,
 * with times of its own clock. The name is copied. cr_profile_finish is then collective. */
void cr_profile_join(cr_profile *p, const cr_profile_ranks *ranks);
/* cr_profile_leave is called when the ranks no longer work together: the first one writes what it
 * has, the others nothing. */
void cr_profile_leave(cr_profile *p);
/* cr_profile_trace returns the trace into which hooks record; NULL without a profile. */
cr_trace *cr_profile_trace(const cr_profile *p);
/* cr_profile_begin says that work on a step begins; calling it again before cr_profile_end means
 * the same step. cr_profile_end says that the step is done. Only the thread that runs the job may
 * call them. */
void cr_profile_begin(cr_profile *p);
void cr_profile_end(cr_profile *p, int64_t step);
/* cr_profile_span ends a span of the main thread that began at t0 (cr_trace_begin). */
void cr_profile_span(cr_profile *p, cr_stage s, double t0);
/* cr_profile_full: were ten steps recorded, and is the file not written yet? */
bool cr_profile_full(const cr_profile *p);
/* cr_profile_finish writes the file, once: after ten steps, or at the end of a shorter run. */
void cr_profile_finish(cr_profile *p);
/* cr_profile_text returns the shares as lines for people, in the arena; NULL when nothing was
 * recorded. */
const char *cr_profile_text(const cr_profile *p, cr_arena *a);

#endif
