/*
 * tok_hf.h - the steps of a tokenizer.json that change text before it is cut into words
 * (normalizer) and that cut it (pre_tokenizer). They are in tok_hf_steps.c; the rest is in
 * tok_hf.c.
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
    CR_HF_PREVIOUS, /* a match is joined to the text before it */
    CR_HF_NEXT,
    CR_HF_CONTIGUOUS, /* adjacent matches become one piece */
} cr_hf_behavior;
typedef enum cr_hf_prepend { CR_HF_NEVER, CR_HF_FIRST, CR_HF_ALWAYS } cr_hf_prepend;

/* One step; its kind decides which fields are used. */
typedef struct cr_hf_step {
    cr_hf_kind kind;
    bool left, right;        /* STRIP */
    cr_regex *regex;         /* REPLACE, SPLIT, and BYTE_LEVEL with its own expression */
    char *text;              /* REPLACE: the new text; PREPEND: the text; METASPACE: the mark */
    bool prefix_space;       /* BYTE_LEVEL */
    bool invert;             /* SPLIT: the matches are the words */
    cr_hf_behavior behavior; /* SPLIT */
    cr_hf_prepend prepend;   /* METASPACE */
    bool split;              /* METASPACE */
} cr_hf_step;
typedef struct cr_hf_steps {
    cr_hf_step *v;
    int n, cap;
} cr_hf_steps;
/* These read the normalizer or pre_tokenizer of the file from json; null means no steps. */
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
void cr_hf_pieces_clear(cr_hf_pieces *p);

/* Work memory of one thread. */
typedef struct cr_hf_run {
    cr_work work; /* units of work that the text may still cost */
    cr_regex_run *regex;
    cr_buf buf[2];
    cr_hf_pieces pieces[2];
} cr_hf_run;
/* cr_hf_normalize returns the text after all steps, in the run's memory. NULL: it takes too much
 * work. */
const char *cr_hf_normalize(const cr_hf_steps *s, cr_hf_run *run, const char *text, size_t n,
                            size_t *n_out);
/* cr_hf_cut returns the words of a text. first: the text is the beginning of the whole. NULL: it
 * takes too much work. */
const cr_hf_pieces *cr_hf_cut(const cr_hf_steps *s, cr_hf_run *run, const char *text, size_t n,
                              bool first);
/* cr_hf_is_blank: is it White_Space in Unicode? */
bool cr_hf_is_blank(uint32_t c);

#endif
