/*
 * check_zoo.h - `crank check` of a folder in the form of ModelZoo: the rules that a contribution
 * must pass, one line each.
 */
#ifndef CR_CLI_CHECK_ZOO_H
#define CR_CLI_CHECK_ZOO_H

#include "cli/cli.h"

/* cr_is_zoo_dir: does the folder have run scripts or a model.yaml? */
bool cr_is_zoo_dir(cr_arena *a, const char *path);
/* cr_check_zoo prints a line per rule and returns CR_ECONF when one fails. With `run` it also
 * executes the run script of every case of model.yaml with its parameters, as a short run: the
 * folder's own code. */
CR_CHECKED cr_code cr_check_zoo(cr_ui *ui, const char *dir, bool run, bool json);

#endif
