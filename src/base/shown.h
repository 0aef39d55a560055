/*
 * shown.h - text that other people wrote, made safe to print.
 *
 * Names in a checkpoint, values of data and paths may hold bytes that a terminal obeys. Everything
 * that crank prints goes through these functions: control characters, characters that turn the
 * direction of a line around or begin a new one, and bytes that are no UTF-8 become \n, \t, \x1b or
 * \u{202e}. All other text stays as it is, backslashes too, so shown text can be shown again.
 */
#ifndef CR_BASE_SHOWN_H
#define CR_BASE_SHOWN_H

#include "base/buf.h"
#include "base/mem.h"

/* cr_shown_char returns the length of the UTF-8 character that s (n > 0 bytes) begins with, 0 when
 * there is none. *c becomes its code point; *plain says whether it is shown without an escape. */
size_t cr_shown_char(const char *s, size_t n, uint32_t *c, bool *plain);
/* cr_buf_shown appends n bytes of foreign text. `lines` keeps newlines and tabs, for text of crank
 * that holds foreign words. */
void cr_buf_shown(cr_buf *b, const char *s, size_t n, bool lines);
/* cr_shown returns s when nothing in it needs escaping, else an escaped copy in the arena. */
const char *cr_shown(cr_arena *a, const char *s);
/* cr_shown_into writes n bytes of foreign text into out, cut between two characters; returns how
 * many of the n bytes had room. It allocates nothing. */
size_t cr_shown_into(char *out, size_t size, const char *s, size_t n);
/* cr_show: a value as messages show it: at most 73 bytes of it, "..." where it was cut. Returns
 * out. */
#define CR_SHOW 80
char *cr_show(char out[CR_SHOW], const char *s, size_t n);

#endif
