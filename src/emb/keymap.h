/*
 * keymap.h - which row of a growing table belongs to a 64-bit key.
 *
 * Slots lie in the order of the hash, so that growing is one sweep, a little at each insertion
 * (docs/design/grow.md). Any number of threads may search at once; cr_keymap_add and
 * cr_keymap_remove need the map for themselves.
 */
#ifndef CR_EMB_KEYMAP_H
#define CR_EMB_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The key of an id in [0, 2^63 - 1): every id has its own, and keys lie evenly in the same range
 * whatever the ids are, so a range of keys is a share of the ids by their hash. cr_key_id is the
 * way back. cr_keys_of writes the keys of n ids. */
#define CR_KEYS ((uint64_t)1 << 63)
int64_t cr_key_of(int64_t id);
void cr_keys_of(const int64_t *ids, int64_t n, int64_t *keys);
int64_t cr_key_id(int64_t key);

/* The largest row number: the larger ones mark slots. */
#define CR_KEYMAP_ROWS ((int64_t)UINT32_MAX - 2)

/* Some slots; see keymap.c. */
typedef struct cr_slots {
    char *groups;
    int64_t n;    /* homes, groups of slots; there is room for some more behind them */
    size_t size;  /* bytes */
    int64_t used; /* slots that are not empty */
} cr_slots;

typedef struct cr_keymap {
    uint64_t salt;
    bool mixed;        /* the keys of cr_key_of: their order is that of the slots */
    int64_t n;         /* keys */
    cr_slots now, old; /* old.n is 0 unless the map is growing */
    int64_t swept;     /* old groups before this one have moved */
    int64_t given;     /* bytes of the old slots that were given back to the system */
} cr_keymap;

/* cr_keymap_init makes an empty map. salt changes the order of the slots and nothing else. */
void cr_keymap_init(cr_keymap *m, uint64_t salt);
/* cr_keymap_init_mixed makes an empty map for keys of cr_key_of. cr_keymap_range calls f for those
 * keys of such a map that lie in [first, end); it takes the time of that share of the map. The map
 * must not change meanwhile. */
void cr_keymap_init_mixed(cr_keymap *m);
void cr_keymap_range(const cr_keymap *m, uint64_t first, uint64_t end,
                     void (*f)(void *ctx, uint64_t key, int64_t row), void *ctx);
void cr_keymap_clear(cr_keymap *m);
/* cr_keymap_reset forgets all keys and keeps the memory, so that as many can be added again without
 * growing. */
void cr_keymap_reset(cr_keymap *m);

/* cr_keymap_find returns the row of a key; -1: there is none. cr_keymap_find_all does so for n
 * keys, and is faster, because it fetches the slots of later keys early. */
int64_t cr_keymap_find(const cr_keymap *m, uint64_t key);
void cr_keymap_find_all(const cr_keymap *m, const int64_t *keys, int64_t n, int64_t *rows);
/* cr_keymap_add adds a key that is not there yet, with its row (0 to CR_KEYMAP_ROWS). After a
 * failure (CR_ENOMEM) the map is as it was. */
CR_CHECKED cr_code cr_keymap_add(cr_keymap *m, uint64_t key, int64_t row, cr_err *err);
/* cr_keymap_remove forgets a key and returns the row that it had; -1: it was not there. */
int64_t cr_keymap_remove(cr_keymap *m, uint64_t key);
/* cr_keymap_each calls f for every key, in an order that depends on how the map came about. */
void cr_keymap_each(const cr_keymap *m, void (*f)(void *ctx, uint64_t key, int64_t row), void *ctx);
/* cr_keymap_bytes returns the memory that the map takes: at most 16 bytes per key and, while it
 * grows, two huge pages, or three in growing tables, which touch one ahead. */
int64_t cr_keymap_bytes(const cr_keymap *m);

#endif
