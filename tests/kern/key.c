/*
 * key.c - the keys of ids: every CPU level mixes as cr_mix63 does, whatever the number of ids, and
 * known values stay what they are, because tables in checkpoints are cut by them.
 */
#include "base/rng.h"
#include "harness.h"
#include "kern/kern.h"

TEST(levels_agree) {
    enum { MOST = 70 };
    for (int level = 0; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *k = cr_kern_at((cr_cpu_level)level);
        if (!k) continue;
        for (int64_t n = 0; n <= MOST; n++) {
            int64_t id[MOST + 1], key[MOST + 1];
            for (int64_t i = 0; i <= n; i++)
                id[i] = i % 7 == 3 ? (int64_t)CR_MIX63_ODD : (int64_t)cr_rng_u64(4, (uint64_t)i);
            key[n] = -5;
            k->mix63(key, id, n);
            for (int64_t i = 0; i < n; i++)
                CHECK_INT(key[i], cr_mix63((uint64_t)id[i]));
            CHECK_INT(key[n], -5);
            k->mix63(id, id, n);
            for (int64_t i = 0; i < n; i++)
                CHECK_INT(id[i], key[i]);
        }
    }
}

TEST(known) {
    CHECK_INT(cr_mix63(0), 0);
    CHECK_INT(cr_mix63(1), 0x64ce8b256effb6e1u);
    CHECK_INT(cr_mix63(1000), 0x877602564be8a66u);
    CHECK_INT(cr_mix63(INT64_MAX - 1), 0x653d6467452a9b06u);
    CHECK_INT(cr_mix63(CR_MIX63_ODD), CR_MIX63_ODD_KEY);
}

TEST_MAIN(CASE(levels_agree), CASE(known))
