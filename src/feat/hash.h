/*
 * hash.h - the two text hashes that TorchEasyRec's feature generator uses, that of Python 2, and a
 * fast modulus.
 *
 * They are defined on bytes, so an integer is hashed as its decimal text.
 */
#ifndef CR_FEAT_HASH_H
#define CR_FEAT_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t (*cr_hash_fn)(const char *s, size_t n);
/* cr_hash_murmur is MurmurHash64A with the seed of libstdc++'s std::hash<std::string>. */
uint64_t cr_hash_murmur(const char *s, size_t n);
/* cr_hash_murmur_word is the same for a text of up to 8 bytes that is a word (base/word.h). */
static inline uint64_t cr_hash_murmur_word(uint64_t w, size_t n) {
    const uint64_t m = 0xc6a4a7935bd1e995u;
    uint64_t h = 0xc70f6907u ^ ((uint64_t)n * m);
    if (n == 8) {
        w *= m;
        w = (w ^ (w >> 47)) * m;
    }
    if (n > 0) h = (h ^ w) * m;
    h ^= h >> 47;
    h *= m;
    return h ^ (h >> 47);
}
/* cr_hash_farm is FarmHash Fingerprint64 (farmhashna::Hash64, TensorFlow's "fast" string hash). */
uint64_t cr_hash_farm(const char *s, size_t n);
/* cr_hash_choose chooses by data_config.use_farm_hash. */
cr_hash_fn cr_hash_choose(bool farm);

/* x mod d without a division: q, the high half of x * floor(2^64 / d), is the quotient or one
 * less. */
typedef struct cr_mod {
    uint64_t d, magic;
} cr_mod;
/* d >= 1 */
cr_mod cr_mod_make(uint64_t d);
__extension__ typedef unsigned __int128 cr_u128;
static inline uint64_t cr_mod_of(cr_mod m, uint64_t x) {
    uint64_t q = (uint64_t)(((cr_u128)x * m.magic) >> 64);
    uint64_t r = x - q * m.d;
    return r >= m.d ? r - m.d : r;
}

/* cr_hash_python2 is Python 2's hash of two texts behind each other, on machines of 64 bits, modulo
 * m: a remainder from 0 on, though the hash has a sign. */
int64_t cr_hash_python2(const char *before, size_t n_before, const char *s, size_t n,
                        const cr_mod *m);

#endif
