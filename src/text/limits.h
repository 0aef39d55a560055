/*
 * limits.h - how large the files of a feature may be, and how much work a text may cost a
 * tokenizer.
 *
 * These files come from other people. A file past a limit is refused before its content is used; a
 * text past a limit is a bad row. The numbers are far above what real files need
 * (docs/guide/security.md lists them).
 */
#ifndef CR_TEXT_LIMITS_H
#define CR_TEXT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CR_MOST_VOCAB_BYTES     ((size_t)1 << 30)   /* bytes of a vocab_file */
#define CR_MOST_TOKENIZER_BYTES ((size_t)256 << 20) /* bytes of a tokenizer.json or .model */
#define CR_MOST_STOP_CHARS      ((size_t)1 << 20)   /* bytes of stop_char_file */
#define CR_MOST_LIBRARY_BYTES   ((size_t)1 << 30)   /* bytes of a shared library */

/* limits of a tokenizer.json */
#define CR_MOST_STEPS      64    /* normalizers, and also pre-tokenizers */
#define CR_MOST_STEP_TEXT  1024  /* bytes that a normalizer inserts at one place */
#define CR_MOST_ADDED      65536 /* added tokens */
#define CR_MOST_ADDED_TEXT 1024  /* bytes of an added token */

#define CR_MOST_PIECE 1024 /* bytes of a piece of a SentencePiece model */

/* limits of a text while it becomes tokens */
#define CR_MOST_TEXT ((size_t)1 << 20) /* bytes of the text */
/* Units of work for one text: every byte that a step writes or looks up is one. Work is counted and
 * not timed, so that a row is bad on every machine or on none. */
#define CR_MOST_WORK   ((int64_t)64 << 20)
#define CR_WORK_SEARCH 64                /* units of a search with a regular expression */
#define CR_WORK_DEEP   ((size_t)1 << 20) /* units of a search that takes many steps */
typedef struct cr_work {
    int64_t left;
} cr_work;
/* cr_work_spend returns false when the text has used up its units of work. */
static inline bool cr_work_spend(cr_work *w, size_t units) {
    if (w->left < 0 || units > (size_t)w->left) {
        w->left = -1;
        return false;
    }
    w->left -= (int64_t)units;
    return true;
}

#endif
