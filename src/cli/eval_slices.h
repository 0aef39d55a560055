/*
 * eval_slices.h - the slices and the reliability of `crank eval`.
 */
#ifndef CR_CLI_EVAL_SLICES_H
#define CR_CLI_EVAL_SLICES_H

#include "cli/cli.h"
#include "explain/slices.h"

typedef struct cr_slice_flags {
    cr_opt_list slice;
    int64_t slice_values;
    const char *slices_json, *reliability;
} cr_slice_flags;
/* cr_eval_slices runs the rows once more and prints a table per column. */
CR_CHECKED cr_code cr_eval_slices(cr_ui *ui, const cr_slice_flags *f, const cr_config_opts *config,
                                  const char *checkpoint_path, int threads);

#endif
