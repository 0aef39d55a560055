/*
 * logfile.h - a file that a run only adds to and could do without: logs and events.
 *
 * A write that fails (a full disk, a closed pipe) must not end hours of training: there is one
 * warning, the file is cut back to its last whole record, and nothing more is written to it.
 */
#ifndef CR_OBS_LOGFILE_H
#define CR_OBS_LOGFILE_H

#include "base/err.h"

typedef struct cr_logfile cr_logfile;
/* cr_logfile_open opens path to add lines to it ("-": stdout). When a killed run has left a last
 * line without its end, it is ended first. cr_logfile_new makes a file that must not exist yet. */
CR_CHECKED cr_code cr_logfile_open(cr_logfile **out, const char *path, cr_err *err);
CR_CHECKED cr_code cr_logfile_new(cr_logfile **out, const char *path, cr_err *err);
/* cr_logfile_write adds one record with one call to the system. f may be NULL. */
void cr_logfile_write(cr_logfile *f, const void *data, size_t n);
/* cr_logfile_settle makes everything written so far survive a kill, also on stores that cannot
 * append. */
void cr_logfile_settle(cr_logfile *f);
void cr_logfile_close(cr_logfile *f);

#endif
