/*
 * keymap.c - a hash map from keys to rows that grows a little at each insertion.
 *
 * Five slots are a group, which is a cache line: 5 keys, then 5 row numbers. The home of a key is
 * the group hash * n / 2^64, so the order of homes is that of hashes for every n; a key that finds
 * its home full goes to the next group with a free slot. While the map grows, `swept` stands behind
 * an old group that is not full: keys with a home before it have moved to the new groups, all
 * others have not. Trap: a boundary anywhere else would cut a run of full groups, and a key behind
 * it could have its home before it.
 */
#include "emb/keymap_int.h"

#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/stretch.h"
#include "kern/kern.h"

#define MASK (CR_KEYS - 1)
/* The largest number is the key of no id, so that the end of a range of keys is always a number.
 * These are the inverses of the factors of cr_mix63. */
#define UNMIX1 UINT64_C(0xf1de83e19937733d)
#define UNMIX2 UINT64_C(0xcfee444d8b59a89b)

int64_t cr_key_of(int64_t id) {
    return (int64_t)cr_mix63((uint64_t)id);
}

void cr_keys_of(const int64_t *ids, int64_t n, int64_t *keys) {
    cr_kern->mix63(keys, ids, n);
}

int64_t cr_key_id(int64_t key) {
    uint64_t x = (uint64_t)key & MASK;
    if (x == CR_MIX63_ODD_KEY) return (int64_t)CR_MIX63_ODD;
    x ^= x >> 32;
    x = x * UNMIX2 & MASK;
    x ^= x >> 32;
    x = x * UNMIX1 & MASK;
    return (int64_t)(x ^ x >> 32);
}

#define GROUP 5
/* thousandths of the slots that are taken at most, and after growing */
#define MOST_TAKEN  850
#define LEAST_TAKEN 805
/* what a slot holds in the place of a row, which is stored with 1 added; fresh memory is empty */
#define EMPTY   0
#define REMOVED UINT32_MAX
#define FIRST   64  /* groups of a new map */
#define BEHIND  128 /* groups behind the last home, at least */
#define STEP    16  /* old groups that an insertion moves */
#define RUN     160 /* groups that one sweep moves, and that follow a home until one has room */
#define PAGE    ((int64_t)2 << 20)
#define AHEAD   48  /* keys whose slots are fetched early */
#define SOME    512 /* keys that are searched together */

typedef struct group {
    uint64_t key[GROUP];
    uint32_t row[GROUP];
    uint32_t touched; /* in the first group: huge pages that cr_keymap_touch has come to */
} group;
_Static_assert(sizeof(group) == 64, "a group is a cache line");

static group *group_of(const cr_slots *s, int64_t i) {
    return (group *)(void *)s->groups + i;
}
/* Homes and what lies behind them; the last group is never full, so every search ends. */
static int64_t all_groups(const cr_slots *s) {
    return (int64_t)(s->size / sizeof(group));
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
static bool is_full(const cr_slots *s) {
    return s->used >= s->n * GROUP * MOST_TAKEN / 1000;
}
static bool has_empty(const group *g) {
    unsigned empty = 0;
    for (int i = 0; i < GROUP; i++)
        empty |= g->row[i] == EMPTY;
    return empty;
}

static cr_code new_slots(cr_slots *s, int64_t n, int64_t behind, cr_err *err) {
    if (behind < n / 1024) behind = n / 1024;
    size_t size = (size_t)(n + behind) * sizeof(group);
    void *p;
    CR_TRY(cr_big_alloc(&p, size, "the keys of a growing table", err));
    *s = (cr_slots){.groups = p, .n = n, .size = size};
    if (size >= (size_t)PAGE) group_of(s, 0)->touched = 1;
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
    if (m->now.size >= (size_t)PAGE)
        group_of(&m->now, 0)->touched = (uint32_t)(m->now.size / (size_t)PAGE + 1);
    m->now.used = 0;
    m->n = m->swept = m->given = 0;
}

/* Returns the place of a key's row in a group; NULL: it is not there. All slots are compared,
 * without a branch for each. */
static inline uint32_t *search_group(group *g, uint64_t key) {
    unsigned same = 0;
    for (unsigned i = 0; i < GROUP; i++)
        same |= (unsigned)(g->key[i] == key) << i;
    for (; same; same &= same - 1) {
        uint32_t *row = &g->row[__builtin_ctz(same)];
        if (*row != EMPTY && *row != REMOVED) return row;
    }
    return NULL;
}

/* Returns the place of a key's row; NULL: it is not there. */
static uint32_t *search(const cr_slots *s, uint64_t hash, uint64_t key) {
    if (s->n == 0) return NULL;
    for (group *g = group_of(s, home_of(s, hash));; g++) {
        uint32_t *row = search_group(g, key);
        if (row) return row;
        if (has_empty(g)) return NULL;
    }
}

/* Puts a key into the first empty slot from its home on; false: there is none behind the homes. */
static bool put(cr_slots *s, uint64_t hash, uint64_t key, uint32_t row) {
    int64_t i = home_of(s, hash), end = all_groups(s) - 1;
    while (i < end && !has_empty(group_of(s, i)))
        i++;
    if (i == end) return false;
    group *g = group_of(s, i);
    int k = 0;
    while (g->row[k] != EMPTY)
        k++;
    g->key[k] = key;
    g->row[k] = row;
    s->used++;
    return true;
}

/* Gives the swept part of the old slots back to the system, in whole huge pages. */
static void give_back(cr_keymap *m) {
    int64_t done = m->swept * (int64_t)sizeof(group) / PAGE * PAGE;
    if (done <= m->given) return;
    (void)madvise(m->old.groups + m->given, (size_t)(done - m->given), MADV_DONTNEED);
    m->given = done;
}

/* Takes back what a sweep from group `start` on has moved, up to slot `slot` of the group where it
 * stands: the keys were put last, so their slots can be empty again when the last goes first. */
static void unsweep(cr_keymap *m, int64_t start, int slot) {
    for (;; slot = GROUP) {
        const group *g = group_of(&m->old, m->swept);
        while (slot-- > 0) {
            if (g->row[slot] == EMPTY || g->row[slot] == REMOVED) continue;
            *search(&m->now, hash_of(m, g->key[slot]), g->key[slot]) = EMPTY;
            m->now.used--;
        }
        if (m->swept == start) return;
        m->swept--;
    }
}

/* Moves at least n old groups, up to one that is not full. Nothing has moved when there is no room
 * for a key. */
static bool sweep(cr_keymap *m, int64_t n) {
    int64_t end = all_groups(&m->old), start = m->swept;
    for (bool empty = false; m->swept < end && (n > 0 || !empty); n--, m->swept++) {
        const group *g = group_of(&m->old, m->swept);
        empty = has_empty(g);
        for (int i = 0; i < GROUP; i++) {
            if (g->row[i] == EMPTY || g->row[i] == REMOVED) continue;
            if (put(&m->now, hash_of(m, g->key[i]), g->key[i], g->row[i])) continue;
            unsweep(m, start, i);
            return false;
        }
    }
    if (m->swept == end) {
        free_slots(&m->old);
        m->swept = m->given = 0;
    } else {
        give_back(m);
    }
    return true;
}

/* Begins to grow: the groups become old ones, and there are a few more, or as many as the keys need
 * when most of what is taken was removed. */
static cr_code grow(cr_keymap *m, cr_err *err) {
    cr_slots more;
    int64_t n = m->now.n == 0 ? FIRST : m->n * 1000 / (LEAST_TAKEN * GROUP) + 1;
    if (n < FIRST) n = FIRST;
    if (n < 1000) n += n / 4; /* small maps need not be lean */
    CR_ASSERT(m->old.n == 0);
    CR_TRY(new_slots(&more, n, BEHIND, err));
    m->old = m->now;
    m->now = more;
    if (m->old.n == 0) free_slots(&m->old);
    return CR_OK;
}

/* Makes the map anew with room for all keys behind the homes: keys crowd at the end. It takes a
 * salt that is very unlikely to get here, or ids that were chosen for it. */
static cr_code spread(cr_keymap *m, cr_err *err) {
    cr_slots wide;
    CR_TRY(new_slots(&wide, m->n * 2 / GROUP + FIRST, m->n / GROUP + BEHIND, err));
    const cr_slots *from[] = {&m->old, &m->now};
    for (int k = 0; k < 2; k++)
        for (int64_t i = k ? 0 : m->swept; i < all_groups(from[k]); i++) {
            const group *g = group_of(from[k], i);
            for (int x = 0; x < GROUP; x++) {
                if (g->row[x] == EMPTY || g->row[x] == REMOVED) continue;
                if (!put(&wide, hash_of(m, g->key[x]), g->key[x], g->row[x]))
                    CR_BUG("keymap: no room for a key");
            }
        }
    free_slots(&m->old);
    free_slots(&m->now);
    m->now = wide;
    m->swept = m->given = 0;
    return CR_OK;
}

size_t cr_keymap_touched(const cr_keymap *m) {
    if (m->now.size < (size_t)PAGE) return m->now.size; /* small pages need no care */
    return (size_t)group_of(&m->now, 0)->touched * (size_t)PAGE;
}

bool cr_keymap_touch(cr_keymap *m, size_t ahead) {
    const cr_slots *s = &m->now;
    /* when new groups come, of twice as many bytes at most, their first page is touched */
    if (m->old.n == 0 && is_full(s) && s->size >= (size_t)PAGE / 2) return true;
    size_t touched = cr_keymap_touched(m), need = s->size;
    if (touched >= s->size) return false;
    if (m->old.n > 0) { /* the new groups are written up to where the hashes of a sweep lie */
        cr_u128 groups = (cr_u128)(m->swept + RUN) * (cr_u128)s->n / (cr_u128)m->old.n;
        need = ((size_t)groups + RUN) * sizeof(group) + ahead;
    }
    if (need <= touched) return false;
    cr_touch(s->groups + touched);
    group_of(s, 0)->touched++;
    return true;
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
    const uint32_t *row = search(slots_of(m, hash), hash, key);
    return row ? (int64_t)*row - 1 : -1;
}

/* Some keys of cr_keymap_find_all. A seventh of the keys are not in their homes, and to wait for
 * the next group of each would take longer than everything else: these groups are fetched too, and
 * searched when all others were; so are those that follow them. */
static void find_some(const cr_keymap *m, const int64_t *keys, int64_t n, int64_t *rows) {
    group *at[SOME];
    uint32_t late[SOME];
    int n_late = 0;
    for (int64_t i = 0; i < n + AHEAD; i++) {
        if (i < n) {
            uint64_t hash = hash_of(m, (uint64_t)keys[i]);
            const cr_slots *s = slots_of(m, hash);
            at[i] = group_of(s, home_of(s, hash));
            __builtin_prefetch(at[i], 0, 2);
        }
        if (i < AHEAD) continue;
        int64_t k = i - AHEAD;
        group *g = at[k];
        const uint32_t *row = search_group(g, (uint64_t)keys[k]);
        rows[k] = row ? (int64_t)*row - 1 : -1;
        if (row || has_empty(g)) continue;
        __builtin_prefetch(++at[k]);
        late[n_late++] = (uint32_t)k;
    }
    for (int left = n_late; left > 0;) {
        int next = 0;
        for (int i = 0; i < left; i++) {
            uint32_t k = late[i];
            group *g = at[k];
            const uint32_t *row = search_group(g, (uint64_t)keys[k]);
            if (row) rows[k] = (int64_t)*row - 1;
            if (row || has_empty(g)) continue;
            __builtin_prefetch(++at[k]);
            late[next++] = k;
        }
        left = next;
    }
}

void cr_keymap_find_all(const cr_keymap *m, const int64_t *keys, int64_t n, int64_t *rows) {
    for (int64_t i = 0; m->now.n == 0 && i < n; i++)
        rows[i] = -1;
    for (int64_t i = 0; m->now.n > 0 && i < n; i += SOME)
        find_some(m, keys + i, n - i < SOME ? n - i : SOME, rows + i);
}

int64_t cr_keymap_remove(cr_keymap *m, uint64_t key) {
    uint64_t hash = hash_of(m, key);
    uint32_t *at = search(slots_of(m, hash), hash, key);
    if (!at) return -1;
    int64_t row = (int64_t)*at - 1;
    *at = REMOVED;
    m->n--;
    return row;
}

void cr_keymap_each(const cr_keymap *m, void (*f)(void *ctx, uint64_t key, int64_t row),
                    void *ctx) {
    const cr_slots *from[] = {&m->now, &m->old};
    for (int k = 0; k < 2; k++)
        for (int64_t i = k ? m->swept : 0; i < all_groups(from[k]); i++) {
            const group *g = group_of(from[k], i);
            for (int x = 0; x < GROUP; x++)
                if (g->row[x] != EMPTY && g->row[x] != REMOVED)
                    f(ctx, g->key[x], (int64_t)g->row[x] - 1);
        }
}

/* A key lies in its home or behind it, with no group between that has an empty slot. */
static void range_of(const cr_slots *s, int64_t from, uint64_t first, uint64_t end,
                     void (*f)(void *ctx, uint64_t key, int64_t row), void *ctx) {
    if (s->n == 0) return;
    int64_t i = home_of(s, first << 1), last = home_of(s, (end - 1) << 1);
    if (i < from) i = from;
    for (int64_t all = all_groups(s); i < all; i++) {
        const group *g = group_of(s, i);
        for (int x = 0; x < GROUP; x++) {
            if (g->row[x] == EMPTY || g->row[x] == REMOVED) continue;
            if (g->key[x] >= first && g->key[x] < end) f(ctx, g->key[x], (int64_t)g->row[x] - 1);
        }
        if (i >= last && has_empty(g)) return;
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
    /* of the new groups those are touched whose hashes were swept */
    cr_u128 groups = (cr_u128)m->swept * (cr_u128)m->now.n / (cr_u128)m->old.n;
    int64_t touched = (int64_t)groups * (int64_t)sizeof(group);
    touched = (touched + PAGE) / PAGE * PAGE;
    if (touched < (int64_t)cr_keymap_touched(m)) touched = (int64_t)cr_keymap_touched(m);
    if (touched > (int64_t)m->now.size) touched = (int64_t)m->now.size;
    return touched + (int64_t)m->old.size - m->given;
}
