/*
 * vocab.c - finds the id of a token.
 *
 * An open-addressing table with the hash kept beside the key: a miss (the usual answer for a rare
 * token) rarely touches the key's bytes. The table lies in an arena, so growing wastes the old
 * slots; callers should give a good hint.
 */
#include "feat/vocab.h"

#include <string.h>

#include "base/shown.h"
#include "feat/hash.h"
#include "feat/number.h"

#define MAX_ERRORS 20 /* per file; further errors are only counted */

static cr_vocab_entry *find(const cr_vocab *v, const char *key, size_t len, uint64_t hash) {
    size_t mask = v->n_slots - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        cr_vocab_entry *e = &v->slots[i];
        if (!e->used) return e;
        if (e->hash == hash && e->len == len && memcmp(e->key, key, len) == 0) return e;
    }
}

static void set_slots(cr_vocab *v, size_t n_slots) {
    cr_vocab_entry *old = v->slots;
    size_t n_old = v->n_slots;
    v->slots = CR_NEW_N(v->arena, cr_vocab_entry, n_slots);
    v->n_slots = n_slots;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].used) *find(v, old[i].key, old[i].len, old[i].hash) = old[i];
}

void cr_vocab_init(cr_vocab *v, cr_arena *arena, size_t n_hint) {
    *v = (cr_vocab){.arena = arena};
    size_t n_slots = 16;
    while (n_slots / 2 < n_hint)
        n_slots *= 2;
    set_slots(v, n_slots);
}

bool cr_vocab_put(cr_vocab *v, const char *key, size_t len, int64_t id) {
    CR_ASSERT(len < UINT32_MAX);
    if (v->n >= v->n_slots / 2) set_slots(v, v->n_slots * 2);
    uint64_t hash = cr_hash_murmur(key, len);
    cr_vocab_entry *e = find(v, key, len, hash);
    bool is_new = !e->used;
    if (is_new) {
        *e = (cr_vocab_entry){hash, cr_arena_strndup(v->arena, key, len), (uint32_t)len, 1, id};
        v->n++;
    }
    e->id = id;
    if (id >= v->size) v->size = id + 1;
    return is_new;
}

int64_t cr_vocab_get(const cr_vocab *v, const char *key, size_t len, bool *listed) {
    const cr_vocab_entry *e = find(v, key, len, cr_hash_murmur(key, len));
    if (listed) *listed = e->used;
    return e->used ? e->id : v->unknown;
}

/* Returns the place of the last blank in a line when an id follows it, else -1. */
static ptrdiff_t id_split(const char *line, size_t n, int64_t *id) {
    const char *sp = memrchr(line, ' ', n);
    if (!sp || sp == line || sp + 1 == line + n) return -1;
    cr_num is = cr_num_i64(sp + 1, (size_t)(line + n - sp - 1), id);
    /* so that it is reported as out of range */
    if (is == CR_NUM_RANGE) *id = sp[1] == '-' ? -1 : INT64_MAX;
    return is == CR_NUM_BAD ? -1 : sp - line;
}

void cr_vocab_read(cr_vocab *v, const char *path, const char *text, size_t n, cr_diag *diag) {
    bool with_ids = false;
    int64_t line_no = 0, n_bad = 0, n_twice = 0;
    cr_loc first_twice = CR_NOWHERE;
    char show[80];
    const char *end = text + n;
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3;
    for (const char *p = text; p < end; line_no++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((nl ? nl : end) - p);
        const char *line = p;
        p = nl ? nl + 1 : end;
        if (len && line[len - 1] == '\r') len--;
        cr_loc at = {path, (int)(line_no < INT32_MAX ? line_no + 1 : 0), 0};
        int64_t id = line_no;
        ptrdiff_t cut = len < UINT32_MAX ? id_split(line, len, &id) : -1;
        if (line_no == 0) with_ids = cut >= 0;
        const char *why = NULL;
        if (len >= UINT32_MAX) {
            why = "the line is too long; is this a vocabulary?";
        } else if (with_ids && cut < 0) {
            if (len == 0) continue; /* blank lines are ignored where ids are written */
            why = "no id after the token; the first line has one, so each line must be `token id`";
        } else if (with_ids && id < 0) {
            why = "the id is negative; ids start at 0";
        } else if (with_ids && id >= INT64_MAX) {
            why = "the id is too large";
        }
        if (why) {
            if (n_bad++ < MAX_ERRORS)
                cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, at, "vocabulary line '%s': %s",
                            cr_show(show, line, len < 200 ? len : 200), why);
            continue;
        }
        if (!with_ids) id = line_no;
        size_t key_len = with_ids ? (size_t)cut : len;
        if (!cr_vocab_put(v, line, key_len, id) && n_twice++ == 0) first_twice = at;
    }
    if (!with_ids) v->size = line_no;
    if (n_bad > MAX_ERRORS)
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){path, 0, 0},
                    "%lld more bad lines in this vocabulary", (long long)(n_bad - MAX_ERRORS));
    if (n_twice)
        cr_diag_add(diag, CR_SEV_WARN, CR_EDATA, first_twice,
                    "token listed before; its last id is used (%lld such lines)",
                    (long long)n_twice);
    if (line_no == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){path, 0, 0},
                    "the vocabulary is empty; write one token per line");
}
