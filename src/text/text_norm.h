/*
 * text_norm.h - the text_normalizer of tokenize_feature: it makes text uniform before it becomes
 * tokens.
 */
#ifndef CR_TEXT_TEXT_NORM_H
#define CR_TEXT_TEXT_NORM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The numbers of TextNormalizeOption. */
enum {
    CR_TEXT_LOWER2UPPER,
    CR_TEXT_UPPER2LOWER,
    CR_TEXT_SBC2DBC,
    CR_TEXT_CHT2CHS,
    CR_TEXT_FILTER,
    CR_TEXT_SPLITCHRS,
    CR_TEXT_REMOVE_SPACE,
};
typedef struct cr_text_norm {
    unsigned options;   /* bit i is set for option i */
    int64_t max_length; /* longer texts (in characters) stay as they are; 0: no limit */
    /* FILTER: characters to drop, ascending; NULL: punctuation, signs and control characters */
    const uint32_t *stop;
    int64_t n_stop;
} cr_text_norm;
/* cr_text_norm_apply writes the text into out. Thread safe. */
void cr_text_norm_apply(const cr_text_norm *t, const char *text, size_t n, cr_buf *out);

/* The table of cht2chs.c. */
extern const uint16_t cr_cht2chs[][2];
extern const int cr_n_cht2chs;

#endif
