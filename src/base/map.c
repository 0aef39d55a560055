/*
 * map.c - text to int64, open addressing over an array of entries in insertion order.
 *
 * The slots hold only entry numbers; the full hash lies in the entry, so growing the slots never
 * reads a key again. There is no deletion, so no tombstones.
 */
#include "base/map.h"

#include <string.h>

#include "base/rng.h"

/* hash_text reads 8 bytes at a time; the hash never leaves the process, so byte order does not
 * matter. */
static uint64_t hash_text(const char *s, size_t n) {
    uint64_t h = 0x9e3779b97f4a7c15u ^ (uint64_t)n;
    for (; n >= 8; s += 8, n -= 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    uint64_t w = 0;
    if (n) memcpy(&w, s, n);
    return cr_mix64(h ^ w);
}

void cr_map_init(cr_map *m) {
    memset(m, 0, sizeof(*m));
    cr_arena_init(&m->keys, 1024);
}

void cr_map_clear(cr_map *m) {
    cr_free(m->entries);
    cr_free(m->slots);
    cr_arena_clear(&m->keys);
    cr_map_init(m);
}

/* find returns the slot that holds the key or the empty one where it belongs. */
static size_t find(const cr_map *m, const char *key, size_t len, uint64_t hash) {
    size_t mask = m->n_slots - 1, i = (size_t)hash & mask;
    for (; m->slots[i]; i = (i + 1) & mask) {
        const cr_map_entry *e = &m->entries[m->slots[i] - 1];
        if (e->hash == hash && e->len == len && (len == 0 || memcmp(e->key, key, len) == 0)) break;
    }
    return i;
}

static void grow_slots(cr_map *m) {
    size_t n = m->n_slots ? 2 * m->n_slots : 16;
    cr_free(m->slots);
    m->slots = cr_alloc(n * sizeof(*m->slots), "a map");
    m->n_slots = n;
    for (size_t k = 0; k < m->n; k++) {
        size_t i = (size_t)m->entries[k].hash & (n - 1);
        while (m->slots[i])
            i = (i + 1) & (n - 1);
        m->slots[i] = (uint32_t)(k + 1);
    }
}

bool cr_map_put(cr_map *m, const char *key, size_t len, int64_t value) {
    uint64_t hash = hash_text(key, len);
    if (m->n >= m->n_slots / 2) grow_slots(m);
    size_t slot = find(m, key, len, hash);
    if (m->slots[slot]) {
        m->entries[m->slots[slot] - 1].value = value;
        return false;
    }
    if (m->n >= UINT32_MAX - 1) CR_BUG("a map holds at most 2^32 - 2 keys");
    if (m->n == m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 8;
        m->entries = cr_realloc(m->entries, m->cap * sizeof(*m->entries), cap * sizeof(*m->entries),
                                "a map");
        m->cap = cap;
    }
    const char *own = cr_arena_strndup(&m->keys, key, len);
    m->entries[m->n++] = (cr_map_entry){own, len, hash, value};
    m->slots[slot] = (uint32_t)m->n;
    return true;
}

int64_t cr_map_get(const cr_map *m, const char *key, size_t len, int64_t missing) {
    if (m->n == 0) return missing;
    uint32_t k = m->slots[find(m, key, len, hash_text(key, len))];
    return k ? m->entries[k - 1].value : missing;
}
