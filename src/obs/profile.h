/*
 * profile.h - a close look at ten steps: who did what when, as a file for chrome://tracing or
 * Perfetto, and as shares of the time.
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
/* cr_profile_new: for the threads of pool and n_workers loaders; the trace goes to path. All calls
 * accept NULL for p, which is a run without profile. */
cr_profile *cr_profile_new(cr_pool *pool, int n_workers, const char *path);
void cr_profile_free(cr_profile *p);
/* what hooks record into; NULL without profile */
cr_trace *cr_profile_trace(const cr_profile *p);
/* cr_profile_begin: work on this step (counting of the run's own, or over all) begins; again
 * without an end is the same step. cr_profile_end: it is done; after the last of the ten the file
 * is written. Both from the thread that runs the job. */
void cr_profile_begin(cr_profile *p);
void cr_profile_end(cr_profile *p, int64_t step);
/* cr_profile_span ends a span of the main thread that began at t0 (cr_trace_begin). */
void cr_profile_span(cr_profile *p, cr_stage s, double t0);
/* cr_profile_finish writes the file when the run was too short for ten steps. */
void cr_profile_finish(cr_profile *p);
/* cr_profile_text: the shares as lines for people, in the arena; NULL when nothing was recorded */
const char *cr_profile_text(const cr_profile *p, cr_arena *a);

#endif
