/*
 * title_words.h - the words of an English title.
 */
#ifndef CR_TOOL_TITLE_WORDS_H
#define CR_TOOL_TITLE_WORDS_H

#include "base/buf.h"

/* A cr_word_fn gets one word of n bytes, in small letters. */
typedef void (*cr_word_fn)(void *ctx, const char *word, size_t n);
/* cr_title_words gives the words of a title to fn, in order; work is memory that may be used
 * again. */
void cr_title_words(const char *title, size_t n, cr_buf *work, cr_word_fn fn, void *ctx);

#endif
