/*
 * help_search.h - every word that crank knows, searched: keys, models, values, activations, flags,
 * commands, variables of the environment.
 */
#ifndef CR_CLI_HELP_SEARCH_H
#define CR_CLI_HELP_SEARCH_H

#include "cli/cli.h"

/* cr_help_search prints a table of the words that have `word` in them, capitals aside, and of those
 * whose help has it. False: there is none, and nothing was printed. */
bool cr_help_search(cr_ui *ui, const char *word);
/* cr_help_also writes a line with other keys, models and values that have `word` in their name. */
void cr_help_also(cr_ui *ui, cr_buf *out, const char *word);

#endif
