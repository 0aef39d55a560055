/*
 * vocab.h - a vocabulary: token text -> id, with an answer for unknown tokens.
 *
 * Built once, then read by many threads. Everything lives in the arena given to cr_vocab_init.
 */
#ifndef CR_FEAT_VOCAB_H
#define CR_FEAT_VOCAB_H

#include <stdbool.h>

#include "base/mem.h"

typedef struct cr_vocab_entry {
    uint64_t hash;
    const char *key;
    uint32_t len; /* keys are shorter than 4 GiB */
    uint32_t used;
    int64_t id;
} cr_vocab_entry;
typedef struct cr_vocab {
    cr_arena *arena;
    cr_vocab_entry *slots; /* open addressing, n_slots a power of two */
    size_t n, n_slots;
    int64_t unknown; /* the id of tokens that are not listed */
    int64_t size;    /* table rows that the vocabulary needs: highest id + 1, or lines */
} cr_vocab;

/* cr_vocab_init makes an empty vocabulary with room for n_hint tokens before it grows. */
void cr_vocab_init(cr_vocab *v, cr_arena *arena, size_t n_hint);
/* cr_vocab_put lists a token (copied) under an id; false when it was listed before (the new id
 * wins, as in TorchEasyRec). Keeps size > id. */
bool cr_vocab_put(cr_vocab *v, const char *key, size_t len, int64_t id);
/* cr_vocab_get returns the token's id or v->unknown; *listed tells which (may be NULL). */
int64_t cr_vocab_get(const cr_vocab *v, const char *key, size_t len, bool *listed);
/* cr_vocab_read fills an initialised vocabulary from a vocab_file's text. There are two forms, and
 * the first line tells which: `token` (id = line number from 0) or `token<space>id`. size becomes
 * the number of lines or the highest id + 1. path is for messages; every mistake goes to diag as
 * path:line. */
void cr_vocab_read(cr_vocab *v, const char *path, const char *text, size_t n, cr_diag *diag);

#endif
