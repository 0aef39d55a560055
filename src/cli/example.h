/*
 * example.h - a small config for every model and every feature type, for `crank help` and the
 * reference pages.
 */
#ifndef CR_CLI_EXAMPLE_H
#define CR_CLI_EXAMPLE_H

#include "base/buf.h"

/* cr_example_part writes the lines of a config that show the model or feature type `key`, each
 * behind `indent`. False: there is no example of it. */
bool cr_example_part(cr_buf *out, const char *key, const char *indent);
/* cr_example_whole writes a whole config with these lines in it: `crank synth --for` makes data for
 * it, `crank train` trains it. */
bool cr_example_whole(cr_buf *out, const char *key);

#endif
