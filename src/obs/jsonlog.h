/*
 * jsonlog.h - what happens in a run, as JSON lines for programs.
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
/* cr_jsonlog_new: a log that goes nowhere until cr_jsonlog_add names a file, or "-" for stdout;
 * lines are added to what the file holds. At most two. A write that fails ends that file's part
 * with a warning. */
cr_jsonlog *cr_jsonlog_new(void);
CR_CHECKED cr_code cr_jsonlog_add(cr_jsonlog *l, const char *path, cr_err *err);
/* cr_jsonlog_settle: the lines so far survive a kill, on every store. */
void cr_jsonlog_settle(cr_jsonlog *l);
void cr_jsonlog_close(cr_jsonlog *l);
/* cr_jsonlog_begin starts a line with event, time, elapsed and rank; what follows is added through
 * the writer it returns; cr_jsonlog_end writes the line. */
cr_jw *cr_jsonlog_begin(cr_jsonlog *l, const char *event);
void cr_jsonlog_end(cr_jsonlog *l);

#endif
