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
/* cr_profile_trace returns the trace into which hooks record; NULL without a profile. */
cr_trace *cr_profile_trace(const cr_profile *p);
/* cr_profile_begin says that work on a step begins; calling it again before cr_profile_end means
 * the same step. cr_profile_end says that the step is done; after the last of the ten it writes the
 * file. Only the thread that runs the job may call them. */
void cr_profile_begin(cr_profile *p);
void cr_profile_end(cr_profile *p, int64_t step);
/* cr_profile_span ends a span of the main thread that began at t0 (cr_trace_begin). */
void cr_profile_span(cr_profile *p, cr_stage s, double t0);
/* cr_profile_finish writes the file when the run was too short for ten steps. */
void cr_profile_finish(cr_profile *p);
/* cr_profile_text returns the shares as lines for people, in the arena; NULL when nothing was
 * recorded. */
const char *cr_profile_text(const cr_profile *p, cr_arena *a);

#endif
