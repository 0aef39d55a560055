/*
 * rng.h - random numbers as a pure function of (key, index): no state, so a result does not
 * depend on threads, order or resume. A key names a purpose: cr_rng_key(seed, "init", name).
 * The mixer is SplitMix64's finalizer over key + index * golden ratio.
 */
#ifndef CR_BASE_RNG_H
#define CR_BASE_RNG_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 cr_u128;

static inline uint64_t cr_mix64(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    x ^= x >> 31;
    return x;
}
/* cr_mix63 spreads numbers below 2^63 - 1 evenly over the same range: two rounds of multiplying and
 * folding in 63 bits, a bijection. CR_MIX63_ODD, which would become the largest number, becomes
 * what that one would. */
#define CR_MIX63_ODD     0x4005edb7c7b5b2ddu
#define CR_MIX63_ODD_KEY 0x6095c624516c468bu
static inline uint64_t cr_mix63(uint64_t x) {
    const uint64_t mask = ((uint64_t)1 << 63) - 1;
    uint64_t y = x & mask;
    y ^= y >> 32;
    y = y * 0x9e3779b97f4a7c15u & mask;
    y ^= y >> 32;
    y = y * 0xd6e8feb86659fd93u & mask;
    y ^= y >> 32;
    return (x & mask) == CR_MIX63_ODD ? CR_MIX63_ODD_KEY : y;
}
#define CR_RNG_STEP 0x9e3779b97f4a7c15u
static inline uint64_t cr_rng_u64(uint64_t key, uint64_t i) {
    return cr_mix64(key + (i + 1) * CR_RNG_STEP);
}
/* cr_rng_f32 is uniform in [0,1), with 24 bits. */
static inline float cr_rng_f32(uint64_t key, uint64_t i) {
    return (float)(cr_rng_u64(key, i) >> 40) * 0x1p-24f;
}
/* cr_rng_f64 is uniform in [0,1), with 53 bits. */
static inline double cr_rng_f64(uint64_t key, uint64_t i) {
    return (double)(cr_rng_u64(key, i) >> 11) * 0x1p-53;
}
/* cr_rng_below is uniform in [0,n) up to a bias that does not matter for shuffles; it takes the
 * high half of a product of 64 bits. */
static inline uint64_t cr_rng_below(uint64_t key, uint64_t i, uint64_t n) {
    __extension__ typedef unsigned __int128 u128;
    return (uint64_t)(((u128)cr_rng_u64(key, i) * n) >> 64);
}
/* cr_rng_normal is a standard normal number by Box-Muller, from indices 2i and 2i+1. */
double cr_rng_normal(uint64_t key, uint64_t i);
/* cr_rng_key derives an independent stream from seed and a purpose; name may be NULL. */
uint64_t cr_rng_key(uint64_t seed, const char *purpose, const char *name);
static inline uint64_t cr_rng_sub(uint64_t key, uint64_t i) {
    return cr_mix64(key ^ cr_mix64(i + 0x632be59bd9b4e019u));
}

#endif
