/*
 * tmpdir.h - a fresh directory for a test of files; removed at the end.
 */
#ifndef CR_TESTS_TMPDIR_H
#define CR_TESTS_TMPDIR_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"

static char t_dir[64];

/* tmpdir_enter makes the directory and goes there: tests use relative names. */
static inline bool tmpdir_enter(void) {
    snprintf(t_dir, sizeof(t_dir), "/tmp/crank-test-XXXXXX");
    return mkdtemp(t_dir) && chdir(t_dir) == 0;
}

static inline bool tmpdir_leave(void) {
    return chdir("/") == 0 && cr_rmtree(t_dir, NULL) == CR_OK && !cr_path_exists(t_dir);
}

#endif
