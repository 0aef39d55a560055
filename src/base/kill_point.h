/*
 * kill_point.h - a test's way to end or signal the process at an exact place.
 *
 * CRANK_TEST_KILL=POINT:N kills the process with SIGKILL when it passes the named point for the
 * N-th time (from 1). POINT:N:TERM (INT, HUP, USR1 ...) sends that signal instead, and the process
 * goes on; POINT:N:HANG keeps the thread there for ever; POINT:N:SLOW keeps it there for 60 ms, the
 * N-th time and every time behind it; POINT:N:FAIL, for cr_fail_point, makes the work there fail.
 * The point `any` stands for all points, so a test that increases N kills the process at every
 * place, one after the other. Without the variable a point costs one comparison.
 *
 * CRANK_TEST_KILL_IF="RANK=1 TORCHELASTIC_RESTART_COUNT=0" limits it to processes whose environment
 * has these values: one rank of many, in its first life.
 *
 * Points: write (before bytes are written), torn (after half of them), sync, rename, renamed (after
 * it), mkdir, remove, lock, step (before a training step), batch (before one of an evaluation or a
 * prediction), evaluate (before an evaluation), evaluated (after it, before it is recorded), life
 * (in a rank of crank launch, before its first sign of life), meet (before it loads MPI), met (when
 * MPI has connected it to the others), push (a parameter server, before it takes gradients), trial
 * (crank tune, before it records the result of a trial), send and sent (before and after a request
 * that changes something in a store).
 * To fail: inside (in a training step, between two meetings of ranks).
 */
#ifndef CR_BASE_KILL_POINT_H
#define CR_BASE_KILL_POINT_H

#include <stdbool.h>
#include <stddef.h>

void cr_kill_point(const char *name);
/* cr_fail_point: should the work at this point fail? */
bool cr_fail_point(const char *name);
/* cr_kill_torn is the point `torn` of a caller that is about to write n bytes: it writes half of
 * them first. Returns how many it wrote: 0 unless the signal did not end the process. */
size_t cr_kill_torn(int fd, const void *data, size_t n);

#endif
