/*
 * tok_int.h - what the tokenizers share.
 */
#ifndef CR_TEXT_TOK_INT_H
#define CR_TEXT_TOK_INT_H

#include "base/map.h"
#include "text/tok.h"

/* A kind of tokenizer; it defines self and scratch itself. */
typedef struct cr_tok_type {
    CR_CHECKED cr_code (*open)(void **self, const char *data, size_t n, cr_err *err);
    void (*close)(void *self);
    int64_t (*size)(const void *self);
    void *(*begin)(const void *self);
    void (*end)(const void *self, void *scratch);
    bool (*encode)(const void *self, void *scratch, const char *text, size_t n, cr_tok_ids *ids);
} cr_tok_type;
extern const cr_tok_type cr_tok_hf, cr_tok_spm;

/* ---- merging pairs (tok.c): the heart of BPE ---- */

typedef struct cr_sym { /* a symbol of a word: bytes beg .. end - 1 of its text */
    uint32_t beg, end;
    int32_t prev, next; /* index of the neighbours; -1: none */
    int64_t id;         /* -1: unknown */
    bool frozen;        /* never merged */
} cr_sym;
/* Can two neighbours become one? Of all pairs the one with the smallest `order` is merged first,
 * then the leftmost. */
typedef bool (*cr_sym_pair)(const void *ctx, const char *text, const cr_sym *a, const cr_sym *b,
                            int64_t *order, int64_t *id);
typedef struct cr_merger {
    cr_sym *v; /* the symbols of the word, in order; after merging follow next from v[0] */
    int64_t n, cap;
    struct cr_merge {
        int64_t order, id;
        int32_t left;
        /* end of the right symbol when the pair was added: it tells whether the pair still
         * exists */
        uint32_t end;
        uint32_t mid;
    } * heap;
    int64_t n_heap, cap_heap;
} cr_merger;
/* cr_merger_add appends a symbol to the word that is being built; v[0 .. n - 1] are linked in
 * order. */
cr_sym *cr_merger_add(cr_merger *m, uint32_t beg, uint32_t end, int64_t id);
void cr_merger_run(cr_merger *m, const char *text, cr_sym_pair pair, const void *ctx);
void cr_merger_clear(cr_merger *m);

#endif
