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
/* cr_eval_slices_run runs the rows for the slices alone. It comes before the evaluation, so that a
 * wrong column is told before anything is printed or written. */
CR_CHECKED cr_code cr_eval_slices_run(cr_ui *ui, const cr_slice_flags *f, const cr_eval_opts *o,
                                      cr_slices *out);
/* cr_eval_slices_show writes the files and prints a table per column. */
CR_CHECKED cr_code cr_eval_slices_show(cr_ui *ui, const cr_slice_flags *f, const cr_slices *s);

#endif
