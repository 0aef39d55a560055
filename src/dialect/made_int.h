/*
 * made_int.h - parts of a config that a dialect writes as YAML text: easier to read than calls that
 * build the same tree.
 */
#ifndef CR_DIALECT_MADE_INT_H
#define CR_DIALECT_MADE_INT_H

#include <stdarg.h>

#include "conf/tree.h"

/* cr_made_yaml parses our own text into nodes of the document, all of them at one place of the
 * user's file. A mistake in the text is a bug. */
cr_conf_node *cr_made_yaml(cr_conf_doc *doc, cr_loc at, const char *fmt, va_list args);
/* cr_made_join adds the entries of `from` to `to`; messages that both have are joined. */
void cr_made_join(cr_conf_doc *doc, cr_conf_node *to, const cr_conf_node *from);

#endif
