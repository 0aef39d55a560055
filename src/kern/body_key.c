/*
 * body_key.c - the keys of ids (base/rng.h).
 */
#include "base/rng.h"
#include "kern/kern_int.h"

void KERN(mix63)(int64_t *key, const int64_t *id, int64_t n) {
    SIMD for (int64_t i = 0; i < n; i++) key[i] = (int64_t)cr_mix63((uint64_t)id[i]);
}
