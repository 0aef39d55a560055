/*
 * map.h - text -> int64 hash map. Keys are copied into the map; insertion order is kept, so that
 * walking it is deterministic. Lookup takes pointer and length: no NUL needed.
 */
#ifndef CR_BASE_MAP_H
#define CR_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

typedef struct cr_map_entry {
    const char *key;
    size_t len;
    uint64_t hash;
    int64_t value;
} cr_map_entry;
typedef struct cr_map {
    cr_map_entry *entries; /* in insertion order */
    size_t n, cap;
    uint32_t *slots; /* entry index + 1; 0: empty */
    size_t n_slots;  /* power of two */
    cr_arena keys;
} cr_map;
void cr_map_init(cr_map *m);
void cr_map_clear(cr_map *m);
/* cr_map_put sets key to value; returns false when the key was there already (value replaced). */
bool cr_map_put(cr_map *m, const char *key, size_t len, int64_t value);
/* cr_map_get returns the value or `missing`. Many threads may call it while no thread writes. */
int64_t cr_map_get(const cr_map *m, const char *key, size_t len, int64_t missing);

#endif
