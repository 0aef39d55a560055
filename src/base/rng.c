/*
 * rng.c - keys and normal numbers of the stateless generator.
 *
 * What these functions return is part of the promise "same seed, same bits": a change here
 * changes every trained model. The known values are pinned by a test.
 */
#include "base/rng.h"

/* FNV-1a, 64 bits */
static uint64_t hash_text(const char *s) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

uint64_t cr_rng_key(uint64_t seed, const char *purpose, const char *name) {
    uint64_t key = cr_mix64(seed + 0x9e3779b97f4a7c15u);
    key = cr_rng_sub(key, hash_text(purpose));
    return name ? cr_rng_sub(key, hash_text(name)) : key;
}

double cr_rng_normal(uint64_t key, uint64_t i) {
    /* 1 - u lies in (0, 1], so the logarithm is finite */
    double r = sqrt(-2.0 * log(1.0 - cr_rng_f64(key, 2 * i)));
    return r * cos(6.283185307179586 * cr_rng_f64(key, 2 * i + 1));
}
