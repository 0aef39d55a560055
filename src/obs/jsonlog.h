/*
 * jsonlog.h - the events of a run as JSON lines, for programs.
 *
 * Every line is one object with event, time, elapsed, rank, and in a training run epoch and step.
 * Names follow the unified fields of other platforms: train.loss, train.ips, val.<metric>. Numbers
 * are written so that they read back to the same bits; NaN and infinities become null.
 * docs/guide/observing.md lists the fields.
 */
#ifndef CR_OBS_JSONLOG_H
#define CR_OBS_JSONLOG_H

#include "base/json.h"

typedef struct cr_jsonlog cr_jsonlog;
/* cr_jsonlog_new makes a log without a file. cr_jsonlog_add names a file, or "-" for stdout, and
 * lines are added to the end of it; there may be two. A write that fails ends the log in that file,
 * with a warning. */
cr_jsonlog *cr_jsonlog_new(void);
CR_CHECKED cr_code cr_jsonlog_add(cr_jsonlog *l, const char *path, cr_err *err);
/* cr_jsonlog_rank sets the rank that the lines name; it is 0 at first. */
void cr_jsonlog_rank(cr_jsonlog *l, int rank);
/* cr_jsonlog_settle makes the lines so far survive a kill, on every store. */
void cr_jsonlog_settle(cr_jsonlog *l);
void cr_jsonlog_close(cr_jsonlog *l);
/* cr_jsonlog_begin starts a line with event, time, elapsed and rank. The caller adds the rest
 * through the writer that it returns; cr_jsonlog_end writes the line. */
cr_jw *cr_jsonlog_begin(cr_jsonlog *l, const char *event);
void cr_jsonlog_end(cr_jsonlog *l);

#endif
