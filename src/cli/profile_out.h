/*
 * profile_out.h - a survey as a table on the screen, as JSON and as a page.
 */
#ifndef CR_CLI_PROFILE_OUT_H
#define CR_CLI_PROFILE_OUT_H

#include "base/buf.h"
#include "cli/cli.h"
#include "survey/survey.h"

void cr_profile_table(cr_ui *ui, const cr_survey *s);
void cr_profile_json(cr_buf *out, const cr_survey *s);
void cr_profile_html(cr_buf *out, const cr_survey *s);

#endif
