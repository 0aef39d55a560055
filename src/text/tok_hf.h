/*
 * tok_hf.h - between the parts of a tokenizer.json: what changes text before it is cut into words
 * (normalizer), and what cuts it (pre_tokenizer). tok_hf_steps.c; the rest is tok_hf.c.
 */
#ifndef CR_TEXT_TOK_HF_H
#define CR_TEXT_TOK_HF_H

#include "base/json.h"
#include "text/limits.h"
#include "text/regex.h"
#include "text/tok_int.h"

typedef enum cr_hf_kind {
    /* normalizers */
    CR_HF_NFC,
    CR_HF_NFD,
    CR_HF_NFKC,
    CR_HF_NFKD,
    CR_HF_LOWERCASE,
    CR_HF_STRIP,
    CR_HF_STRIP_ACCENTS,
    CR_HF_REPLACE,
    CR_HF_PREPEND,
    /* pre-tokenizers */
    CR_HF_BYTE_LEVEL,
    CR_HF_SPLIT,
    CR_HF_METASPACE,
} cr_hf_kind;
typedef enum cr_hf_behavior {
    CR_HF_REMOVED,
    CR_HF_ISOLATED,
    CR_HF_PREVIOUS, /* a match goes with what is before it */
    CR_HF_NEXT,
    CR_HF_CONTIGUOUS, /* matches that touch are one */
} cr_hf_behavior;
typedef enum cr_hf_prepend { CR_HF_NEVER, CR_HF_FIRST, CR_HF_ALWAYS } cr_hf_prepend;

/* One step; which fields mean something depends on its kind. */
typedef struct cr_hf_step {
    cr_hf_kind kind;
    bool left, right;        /* STRIP */
    cr_regex *regex;         /* REPLACE, SPLIT, BYTE_LEVEL with its own expression */
    char *text;              /* REPLACE: what comes in; PREPEND; METASPACE: the mark */
    bool prefix_space;       /* BYTE_LEVEL */
    bool invert;             /* SPLIT: words are the matches */
    cr_hf_behavior behavior; /* SPLIT */
    cr_hf_prepend prepend;   /* METASPACE */
    bool split;              /* METASPACE */
} cr_hf_step;
typedef struct cr_hf_steps {
    cr_hf_step *v;
    int n, cap;
} cr_hf_steps;
/* json: the normalizer or pre_tokenizer of the file; null: no steps */
CR_CHECKED cr_code cr_hf_normalizers(cr_hf_steps *out, const cr_json *json, cr_err *err);
CR_CHECKED cr_code cr_hf_pre_tokenizers(cr_hf_steps *out, const cr_json *json, cr_err *err);
void cr_hf_steps_clear(cr_hf_steps *s);

/* Pieces of a text, bytes beg .. end - 1 each. */
typedef struct cr_hf_pieces {
    cr_buf text;
    struct cr_hf_piece {
        uint32_t beg, end;
    } * v;
    int64_t n, cap;
} cr_hf_pieces;
void cr_hf_piece_add(cr_hf_pieces *p, size_t beg, size_t end);
void cr_hf_pieces_clear(cr_hf_pieces *p);

/* scratch of one thread */
typedef struct cr_hf_run {
    cr_work work; /* what the text may still cost */
    cr_regex_run *regex;
    cr_buf buf[2];
    cr_hf_pieces pieces[2];
} cr_hf_run;
/* cr_hf_normalize: the text after all steps, in the run's memory. NULL: too much work. */
const char *cr_hf_normalize(const cr_hf_steps *s, cr_hf_run *run, const char *text, size_t n,
                            size_t *n_out);
/* cr_hf_cut: the words of a text. first: it is the beginning of the whole. NULL: as above. */
const cr_hf_pieces *cr_hf_cut(const cr_hf_steps *s, cr_hf_run *run, const char *text, size_t n,
                              bool first);
/* cr_hf_is_blank: Unicode's White_Space */
bool cr_hf_is_blank(uint32_t c);
/* the character that stands for a byte in byte-level vocabularies */
uint32_t cr_hf_byte_char(unsigned char b);

#endif
