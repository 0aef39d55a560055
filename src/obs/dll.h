/*
 * dll.h - the unified logs of other platforms, byte for byte: NVIDIA's DLLogger and Tecorigin's
 * TCAP_DLLogger, each with its lines for a file and for the console (standard output).
 *
 *   DLLL {"timestamp": "1735689605.25", ..., "step": [0, 100], "data": {"train.loss": 0.5123}}
 *   DLL 2025-01-01 00:00:05.250000 - (0, 100) train.loss : 0.5123
 *   TCAPPDLL {..., "step": [0, 100], "data": "{'rank': '0', 'train.loss': '0.5123'}"}
 *   TCAPPDLL 2025-01-01 00:00:05.250000 - Epoch: 0 Iteration: 100  rank : 0  train.loss : 0.5123
 *
 * Numbers have the form of Python's repr. One thing differs: a value in DLLogger's file that is not
 * finite is null, since NaN is no JSON. Every record is one write.
 */
#ifndef CR_OBS_DLL_H
#define CR_OBS_DLL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef enum cr_dll_form { CR_DLL_NVIDIA, CR_DLL_TCAP } cr_dll_form;
/* cr_dll_form_of: "dllogger" or "tcap"; false: it is neither */
bool cr_dll_form_of(const char *name, cr_dll_form *out);

typedef struct cr_dll cr_dll;
/* cr_dll_open starts a log: file lines go to path (NULL: nowhere), console lines to stdout if
 * `console`. A file that exists is emptied, as both loggers do, unless `append`. All calls accept
 * NULL for l. A write that fails ends the log there, with a warning. */
CR_CHECKED cr_code cr_dll_open(cr_dll **out, cr_dll_form form, const char *path, bool append,
                               bool console, cr_err *err);
void cr_dll_settle(cr_dll *l);
void cr_dll_close(cr_dll *l);
/* cr_dll_meta declares a metric; a second call for the same name does nothing. unit NULL: "".
 * decimals: of DLLogger's console, -1 for all. goal, stage: NULL: not told. */
void cr_dll_meta(cr_dll *l, const char *metric, const char *unit, int decimals, const char *goal,
                 const char *stage);
/* cr_dll_begin starts a record of a step: (epoch, iteration), (epoch, iteration, validation
 * iteration), (epoch,) or () by n; n -1: the parameters of the run. Values follow, and cr_dll_end
 * writes the lines. A record of TCAP begins with the rank. */
void cr_dll_begin(cr_dll *l, int n, const int64_t *step);
void cr_dll_i64(cr_dll *l, const char *name, int64_t value);
void cr_dll_f64(cr_dll *l, const char *name, double value);
void cr_dll_str(cr_dll *l, const char *name, const char *value); /* NULL: None */
void cr_dll_end(cr_dll *l);
/* cr_dll_fix_time is for tests: records are made at this time, in microseconds since 1970 and since
 * the start. */
void cr_dll_fix_time(cr_dll *l, int64_t now, int64_t elapsed);

#endif
