/*
 * params_top.h - the most frequent ids of a table with a map.
 */
#ifndef CR_CLI_PARAMS_TOP_H
#define CR_CLI_PARAMS_TOP_H

#include "ckpt/ckpt.h"
#include "cli/cli.h"

/* cr_params_top prints the `top` ids of a table that were seen most. */
CR_CHECKED cr_code cr_params_top(const cr_ckpt *c, const char *table, int64_t top, bool json,
                                 cr_arena *a, cr_err *err);

#endif
