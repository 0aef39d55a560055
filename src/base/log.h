/*
 * log.h - log lines "[2026-01-31 12:00:00,123][INFO] message" on stderr.
 *
 * Layers below cli may log; only cli prints results for people. Thread safe. A line that the
 * terminal's progress display occupies is cleared first (see cr_log_progress).
 */
#ifndef CR_BASE_LOG_H
#define CR_BASE_LOG_H

#include <stdbool.h>

#include "base/err.h"

typedef enum cr_log_level {
    CR_LOG_DEBUG,
    CR_LOG_INFO,
    CR_LOG_WARN,
    CR_LOG_ERROR,
    CR_LOG_OFF
} cr_log_level;
void cr_log_set_level(cr_log_level level);
/* cr_log_level_from reads DEBUG, INFO, WARNING, WARN, ERROR, CRITICAL (any case); false if unknown.
 */
bool cr_log_level_from(const char *name, cr_log_level *out);
void cr_log(cr_log_level level, const char *fmt, ...) CR_PRINTF(2, 3);
#define CR_DEBUG(...) cr_log(CR_LOG_DEBUG, __VA_ARGS__)
#define CR_INFO(...)  cr_log(CR_LOG_INFO, __VA_ARGS__)
#define CR_WARN(...)  cr_log(CR_LOG_WARN, __VA_ARGS__)
/* cr_log_file also writes lines of this level and above to the end of a file, whose folder exists.
 * What is logged there is not changed by cr_log_set_level. cr_log_file_add writes whole lines to
 * that file alone; without a file it does nothing. */
CR_CHECKED cr_code cr_log_file(const char *path, cr_log_level level, cr_err *err);
void cr_log_file_add(const char *text, size_t n);
/* cr_log_columns returns how wide the progress line may be on this terminal. */
int cr_log_columns(void);
/* cr_log_progress shows text as the one line that is overwritten, when stderr is a terminal; else
 * it does nothing. NULL ends the line. */
void cr_log_progress(const char *text);
bool cr_log_is_terminal(void);
/* cr_log_wait_read waits until the program that reads stderr, if it is a pipe, has taken all lines,
 * but no longer than so many seconds. A launcher that is told to end a job may otherwise leave the
 * last lines of its ranks unread. */
void cr_log_wait_read(double seconds);

#endif
