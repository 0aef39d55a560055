/*
 * keymap.c - a hash map from keys to rows that grows a little at each insertion.
 *
 * Eight slots are a group: 8 keys, then 8 row numbers. The home of a key is hash * n / 2^64, so the
 * order of homes is that of hashes for every n; a key that finds its home taken goes to the next
 * free slot. While the map grows, `swept` stands behind an empty old slot: keys with a home before
 * it have moved to the new slots, all others have not. Trap: a boundary anywhere else would cut a
 * run of neighbours, and a key behind it could have its home before it.
 */
#include "emb/keymap.h"

#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "base/rng.h"

/* Two rounds of multiplying and folding, in 63 bits; UNMIX1 and UNMIX2 are the inverses. */
#define MASK   (CR_KEYS - 1)
#define MIX1   UINT64_C(0x9e3779b97f4a7c15)
#define MIX2   UINT64_C(0xd6e8feb86659fd93)
#define UNMIX1 UINT64_C(0xf1de83e19937733d)
#define UNMIX2 UINT64_C(0xcfee444d8b59a89b)

/* The largest number is the key of no id, so that the end of a range of keys is always a number.
 * LAST_ID, whose key it would be, has the key of the largest number, which is no id. */
#define LAST_ID  UINT64_C(0x4005edb7c7b5b2dd)
#define LAST_KEY UINT64_C(0x6095c624516c468b)

int64_t cr_key_of(int64_t id) {
    uint64_t x = (uint64_t)id & MASK;
    if (x == LAST_ID) return (int64_t)LAST_KEY;
    x ^= x >> 32;
    x = x * MIX1 & MASK;
    x ^= x >> 32;
    x = x * MIX2 & MASK;
    return (int64_t)(x ^ x >> 32);
}

int64_t cr_key_id(int64_t key) {
    uint64_t x = (uint64_t)key & MASK;
    if (x == LAST_KEY) return (int64_t)LAST_ID;
    x ^= x >> 32;
    x = x * UNMIX2 & MASK;
    x ^= x >> 32;
    x = x * UNMIX1 & MASK;
    return (int64_t)(x ^ x >> 32);
}

#define GROUP 8
/* what a slot holds in the place of a row, which is stored with 1 added; fresh memory is empty */
#define EMPTY   0
#define REMOVED UINT32_MAX
#define FIRST   256 /* homes of a new map */
#define BEHIND  512 /* slots behind the last home, at least */
#define STEP    64  /* old slots that an insertion moves */
#define PAGE    ((int64_t)2 << 20)
#define AHEAD   16 /* keys whose slots are fetched early */

typedef struct group {
    uint64_t key[GROUP];
    uint32_t row[GROUP];
} group;

static group *group_of(const cr_slots *s, int64_t slot) {
    return (group *)(void *)s->groups + slot / GROUP;
}
static uint64_t *key_at(const cr_slots *s, int64_t slot) {
    return &group_of(s, slot)->key[slot % GROUP];
}
static uint32_t *row_at(const cr_slots *s, int64_t slot) {
    return &group_of(s, slot)->row[slot % GROUP];
}
/* Homes and what lies behind them; the last slot always stays empty, so every search ends. */
static int64_t all_slots(const cr_slots *s) {
    return (int64_t)(s->size / sizeof(group)) * GROUP;
}
static uint64_t hash_of(const cr_keymap *m, uint64_t key) {
    if (m->mixed) return key << 1;
    return cr_mix64(cr_mix64(key + CR_RNG_STEP) ^ m->salt);
}
static int64_t home_of(const cr_slots *s, uint64_t hash) {
    return (int64_t)(((cr_u128)hash * (cr_u128)s->n) >> 64);
}
/* The slots in which a key is, if it is there at all. */
static const cr_slots *slots_of(const cr_keymap *m, uint64_t hash) {
    return m->old.n > 0 && home_of(&m->old, hash) >= m->swept ? &m->old : &m->now;
}
/* 85 % of the homes */
static bool is_full(const cr_slots *s) {
    return s->used >= s->n - s->n * 3 / 20;
}

static cr_code new_slots(cr_slots *s, int64_t n, cr_err *err) {
    int64_t behind = n / 1024 > BEHIND ? n / 1024 : BEHIND;
    size_t size = (size_t)((n + behind + GROUP - 1) / GROUP) * sizeof(group);
    void *p;
    CR_TRY(cr_big_alloc(&p, size, "the keys of a growing table", err));
    *s = (cr_slots){.groups = p, .n = n, .size = size};
    return CR_OK;
}

static void free_slots(cr_slots *s) {
    if (s->groups) cr_big_free(s->groups, s->size);
    *s = (cr_slots){0};
}

void cr_keymap_init(cr_keymap *m, uint64_t salt) {
    *m = (cr_keymap){.salt = salt};
}

void cr_keymap_init_mixed(cr_keymap *m) {
    *m = (cr_keymap){.mixed = true};
}

void cr_keymap_clear(cr_keymap *m) {
    free_slots(&m->now);
    free_slots(&m->old);
    *m = (cr_keymap){.salt = m->salt, .mixed = m->mixed};
}

void cr_keymap_reset(cr_keymap *m) {
    free_slots(&m->old);
    if (m->now.n > 0) memset(m->now.groups, 0, m->now.size);
    m->now.used = 0;
    m->n = m->swept = m->given = 0;
}

/* Returns the slot of a key; -1: it is not there. */
static int64_t search(const cr_slots *s, uint64_t hash, uint64_t key) {
    if (s->n == 0) return -1;
    for (int64_t i = home_of(s, hash);; i++) {
        uint32_t row = *row_at(s, i);
        if (row == EMPTY) return -1;
        if (*key_at(s, i) == key && row != REMOVED) return i;
    }
}

/* Puts a key into the first empty slot from its home on; false: there is none behind the homes. */
static bool put(cr_slots *s, uint64_t hash, uint64_t key, uint32_t row) {
    int64_t i = home_of(s, hash), end = all_slots(s) - 1;
    while (i < end && *row_at(s, i) != EMPTY)
        i++;
    if (i == end) return false;
    *key_at(s, i) = key;
    *row_at(s, i) = row;
    s->used++;
    return true;
}

/* Gives the swept part of the old slots back to the system, in whole huge pages. */
static void give_back(cr_keymap *m) {
    int64_t done = m->swept / GROUP * (int64_t)sizeof(group) / PAGE * PAGE;
    if (done <= m->given) return;
    (void)madvise(m->old.groups + m->given, (size_t)(done - m->given), MADV_DONTNEED);
    m->given = done;
}

/* Moves at least n old slots, up to the next empty one. */
static bool sweep(cr_keymap *m, int64_t n) {
    int64_t end = all_slots(&m->old);
    for (bool empty = false; m->swept < end && (n > 0 || !empty); n--, m->swept++) {
        uint32_t row = *row_at(&m->old, m->swept);
        uint64_t key = *key_at(&m->old, m->swept);
        empty = row == EMPTY;
        if (row == EMPTY || row == REMOVED) continue;
        if (!put(&m->now, hash_of(m, key), key, row)) return false;
    }
    if (m->swept == end) {
        free_slots(&m->old);
        m->swept = m->given = 0;
    } else {
        give_back(m);
    }
    return true;
}

/* Begins to grow: the slots become old ones, and there are an eighth more, or as many as the keys
 * need when most of what is taken was removed. */
static cr_code grow(cr_keymap *m, cr_err *err) {
    cr_slots more;
    int64_t n = m->now.n == 0 ? FIRST : m->n + m->n / 3; /* 75 % taken */
    if (n < FIRST) n = FIRST;
    CR_ASSERT(m->old.n == 0);
    CR_TRY(new_slots(&more, n, err));
    m->old = m->now;
    m->now = more;
    if (m->old.n == 0) free_slots(&m->old);
    return CR_OK;
}

/* Makes the map anew with more room behind the homes: keys crowd at the end. It takes a salt that
 * is very unlikely to get here. */
static cr_code spread(cr_keymap *m, cr_err *err) {
    cr_slots wide;
    CR_TRY(new_slots(&wide, m->n * 2 + FIRST, err));
    const cr_slots *from[] = {&m->old, &m->now};
    for (int k = 0; k < 2; k++)
        for (int64_t i = k ? 0 : m->swept; i < all_slots(from[k]); i++) {
            uint32_t row = *row_at(from[k], i);
            if (row == EMPTY || row == REMOVED) continue;
            uint64_t key = *key_at(from[k], i);
            if (!put(&wide, hash_of(m, key), key, row)) CR_BUG("keymap: no room for a key");
        }
    free_slots(&m->old);
    free_slots(&m->now);
    m->now = wide;
    m->swept = m->given = 0;
    return CR_OK;
}

cr_code cr_keymap_add(cr_keymap *m, uint64_t key, int64_t row, cr_err *err) {
    CR_ASSERT(row >= 0 && row <= CR_KEYMAP_ROWS);
    if (m->old.n > 0 && !sweep(m, STEP)) CR_TRY(spread(m, err));
    if (m->old.n == 0 && is_full(&m->now)) CR_TRY(grow(m, err));
    uint64_t hash = hash_of(m, key);
    cr_slots *s = slots_of(m, hash) == &m->old ? &m->old : &m->now;
    if (!put(s, hash, key, (uint32_t)row + 1)) {
        CR_TRY(spread(m, err));
        if (!put(&m->now, hash, key, (uint32_t)row + 1)) CR_BUG("keymap: no room for a key");
    }
    m->n++;
    return CR_OK;
}

int64_t cr_keymap_find(const cr_keymap *m, uint64_t key) {
    uint64_t hash = hash_of(m, key);
    const cr_slots *s = slots_of(m, hash);
    int64_t i = search(s, hash, key);
    return i < 0 ? -1 : (int64_t)*row_at(s, i) - 1;
}

void cr_keymap_find_all(const cr_keymap *m, const int64_t *keys, int64_t n, int64_t *rows) {
    for (int64_t i = 0; i < n + AHEAD; i++) {
        if (i < n && m->now.n > 0) {
            uint64_t hash = hash_of(m, (uint64_t)keys[i]);
            const cr_slots *s = slots_of(m, hash);
            cr_fetch(group_of(s, home_of(s, hash)), (int64_t)sizeof(group), false);
        }
        if (i >= AHEAD) rows[i - AHEAD] = cr_keymap_find(m, (uint64_t)keys[i - AHEAD]);
    }
}

int64_t cr_keymap_remove(cr_keymap *m, uint64_t key) {
    uint64_t hash = hash_of(m, key);
    const cr_slots *s = slots_of(m, hash);
    int64_t i = search(s, hash, key);
    if (i < 0) return -1;
    int64_t row = (int64_t)*row_at(s, i) - 1;
    *row_at(s, i) = REMOVED;
    m->n--;
    return row;
}

void cr_keymap_each(const cr_keymap *m, void (*f)(void *ctx, uint64_t key, int64_t row),
                    void *ctx) {
    const cr_slots *from[] = {&m->now, &m->old};
    for (int k = 0; k < 2; k++)
        for (int64_t i = k ? m->swept : 0; i < all_slots(from[k]); i++) {
            uint32_t row = *row_at(from[k], i);
            if (row != EMPTY && row != REMOVED) f(ctx, *key_at(from[k], i), (int64_t)row - 1);
        }
}

/* A key lies at its home or behind it, with no empty slot between. */
static void range_of(const cr_slots *s, int64_t from, uint64_t first, uint64_t end,
                     void (*f)(void *ctx, uint64_t key, int64_t row), void *ctx) {
    if (s->n == 0) return;
    int64_t i = home_of(s, first << 1), last = home_of(s, (end - 1) << 1);
    if (i < from) i = from;
    for (int64_t all = all_slots(s); i < all; i++) {
        uint32_t row = *row_at(s, i);
        if (row == EMPTY && i > last) return;
        if (row == EMPTY || row == REMOVED) continue;
        uint64_t key = *key_at(s, i);
        if (key >= first && key < end) f(ctx, key, (int64_t)row - 1);
    }
}

void cr_keymap_range(const cr_keymap *m, uint64_t first, uint64_t end,
                     void (*f)(void *ctx, uint64_t key, int64_t row), void *ctx) {
    CR_ASSERT(m->mixed);
    if (first >= end) return;
    range_of(&m->now, 0, first, end, f, ctx);
    range_of(&m->old, m->swept, first, end, f, ctx);
}

int64_t cr_keymap_bytes(const cr_keymap *m) {
    if (m->old.n == 0) return (int64_t)m->now.size;
    /* of the new slots those are touched whose hashes were swept */
    cr_u128 slots = (cr_u128)m->swept * (cr_u128)m->now.n / (cr_u128)m->old.n;
    int64_t touched = (int64_t)slots / GROUP * (int64_t)sizeof(group);
    touched = (touched + PAGE) / PAGE * PAGE;
    if (touched > (int64_t)m->now.size) touched = (int64_t)m->now.size;
    return touched + (int64_t)m->old.size - m->given;
}
