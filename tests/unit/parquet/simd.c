/*
 * simd.c - every kernel of the Parquet reader, on every CPU level this machine has, against the
 * obvious way to do it: all widths, odd sizes, unaligned input, what lies behind the output.
 */
#include "base/rng.h"
#include "harness.h"
#include "parquet/decode_int.h"

enum { N = 700, SLACK = CR_PQ_PAD };

static uint64_t seed_at;
static uint64_t rnd(void) {
    return cr_rng_u64(7, seed_at++);
}

/* guarded output: kernels may write CR_PQ_PAD bytes too many, not one more, and none in front */
typedef struct guarded {
    uint8_t *all;
    size_t size;
} guarded;
static void *guard(guarded *g, size_t size) {
    g->size = size;
    g->all = cr_alloc(64 + size + SLACK + 64, "test");
    memset(g->all, 0xa5, 64 + size + SLACK + 64);
    return g->all + 64;
}
static void release(guarded *g) {
    for (int i = 0; i < 64; i++)
        CHECK_INT(g->all[i], 0xa5);
    for (size_t i = 0; i < 64; i++)
        CHECK_INT(g->all[64 + g->size + SLACK + i], 0xa5);
    cr_free(g->all);
}

/* n random bytes at an odd address, followed by SLACK readable ones and not one more */
static uint8_t *noise(size_t n, uint8_t **block) {
    *block = cr_alloc(n + 1 + SLACK, "test");
    for (size_t i = 0; i < n + 1 + SLACK; i++)
        (*block)[i] = (uint8_t)rnd();
    return *block + 1;
}

static uint64_t bits_at(const uint8_t *p, size_t bit, int bw) {
    uint64_t x = 0;
    for (int b = 0; b < bw; b++, bit++)
        x |= (uint64_t)(p[bit / 8] >> bit % 8 & 1) << b;
    return x;
}

static const size_t sizes[] = {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 503, N};
#define FOR_SIZES(n)                                                                               \
    for (size_t k_ = 0, n; k_ < sizeof(sizes) / sizeof(sizes[0]) && (n = sizes[k_], 1); k_++)
#define FOR_LEVELS(k)                                                                              \
    for (int l_ = 0; l_ <= (int)cr_cpu_level_max(); l_++)                                          \
        for (const cr_pq_kern *k = cr_pq_kern_for((cr_cpu_level)l_); k; k = NULL)

TEST(unpack) {
    FOR_LEVELS(k) {
        for (int bw = 0; bw <= 64; bw++) {
            FOR_SIZES(n) {
                uint8_t *block;
                const uint8_t *in = noise((n * (size_t)bw + 7) / 8, &block);
                guarded g;
                if (bw <= 8) {
                    uint8_t *out = guard(&g, n);
                    k->unpack8(in, out, n, bw);
                    for (size_t i = 0; i < n; i++)
                        CHECK_INT(out[i], bits_at(in, i * (size_t)bw, bw));
                    release(&g);
                }
                if (bw <= 32) {
                    uint32_t *out = guard(&g, n * 4);
                    k->unpack32(in, out, n, bw);
                    for (size_t i = 0; i < n; i++)
                        CHECK_INT(out[i], bits_at(in, i * (size_t)bw, bw));
                    release(&g);
                }
                uint64_t *out = guard(&g, n * 8);
                k->unpack64(in, out, n, bw);
                for (size_t i = 0; i < n; i++)
                    CHECK(out[i] == bits_at(in, i * (size_t)bw, bw));
                release(&g);
                cr_free(block);
            }
        }
    }
}

TEST(expand) {
    FOR_LEVELS(k) {
        for (unsigned share = 0; share <= 4; share++) {
            FOR_SIZES(n) {
                uint8_t valid[N + SLACK], *block;
                size_t m = 0;
                for (size_t i = 0; i < n; i++)
                    m += valid[i] = rnd() % 4 < share;
                const uint8_t *in = noise(m * 16, &block);
                for (int w = 1; w <= 16; w++) {
                    guarded g;
                    uint8_t *out = guard(&g, n * (size_t)w);
                    CHECK_INT(cr_pq_expand(k, w, out, in, valid, n), m);
                    for (size_t i = 0, j = 0; i < n; j += valid[i++]) {
                        for (size_t b = 0; b < (size_t)w; b++)
                            CHECK_INT(out[i * (size_t)w + b], valid[i] ? in[j * (size_t)w + b] : 0);
                    }
                    release(&g);
                }
                cr_free(block);
            }
        }
    }
}

TEST(gather) {
    enum { DICT = 300 };
    FOR_LEVELS(k) {
        for (int w = 2; w <= 16; w++) {
            FOR_SIZES(n) {
                uint8_t *dict = cr_alloc(DICT * (size_t)w + SLACK, "test");
                uint32_t *code = cr_alloc(n * 4 + SLACK, "test");
                uint32_t most = 0;
                for (size_t i = 0; i < DICT * (size_t)w; i++)
                    dict[i] = (uint8_t)rnd();
                for (size_t i = 0; i < n; i++) {
                    code[i] = (uint32_t)(rnd() % DICT);
                    most = code[i] > most ? code[i] : most;
                }
                guarded g;
                uint8_t *out = guard(&g, n * (size_t)w);
                cr_pq_gather(k, w, out, dict, code, n);
                for (size_t i = 0; i < n; i++)
                    CHECK(memcmp(out + i * (size_t)w, dict + code[i] * (size_t)w, (size_t)w) == 0);
                release(&g);
                CHECK_INT(k->largest(code, n), most);
                if (n) {
                    code[rnd() % n] = UINT32_MAX - 1;
                    CHECK_INT(k->largest(code, n), UINT32_MAX - 1);
                }
                cr_free(dict);
                cr_free(code);
            }
        }
    }
}

TEST(counting) {
    FOR_LEVELS(k) {
        FOR_SIZES(n) {
            uint8_t *block, *in = noise(n, &block);
            size_t is = 0;
            guarded g;
            uint8_t *out = guard(&g, n);
            for (size_t i = 0; i < n; i++)
                is += (in[i] &= 3) == 2;
            CHECK_INT(k->equal(in, 2, out, n), is);
            for (size_t i = 0; i < n; i++)
                CHECK_INT(out[i], in[i] == 2);
            CHECK_INT(k->count(out, n), is);
            CHECK_INT(k->equal(in, 2, in, n), is); /* in place */
            CHECK(memcmp(in, out, n) == 0);
            release(&g);
            cr_free(block);
        }
    }
}

TEST(masks) {
    FOR_LEVELS(k) {
        FOR_SIZES(n) {
            uint8_t *block, *in = noise(n, &block);
            size_t words = (n + 63) / 64, m = 0, ones = 0;
            uint64_t a[N / 64 + 1], b[N / 64 + 1], c[N / 64 + 1];
            for (size_t i = 0; i < n; i++)
                in[i] &= 7;
            for (int x = 0; x <= 8; x++) {
                memset(a, 0xff, sizeof(a));
                k->reach(in, (uint8_t)x, n, a);
                for (size_t i = 0; i < words * 64; i++)
                    CHECK_INT(a[i / 64] >> i % 64 & 1, i < n && in[i] >= x);
            }
            k->reach(in, 3, n, a);
            k->reach(in, 5, n, b);
            k->reach(in, 6, n, c);
            guarded g, h;
            uint8_t *bit = guard(&g, n);
            CHECK_INT(k->bits_at(b, a, words, bit), k->bits_at(a, a, words, bit));
            for (size_t i = 0; i < k->bits_at(b, a, words, bit); i++)
                m += bit[i];
            for (size_t i = 0, j = 0; i < n; i++) {
                if (in[i] >= 3) CHECK_INT(bit[j++], in[i] >= 5);
                ones += in[i] >= 5;
            }
            CHECK_INT(m, ones);
            release(&g);
            int32_t *off = guard(&g, n * 4);
            uint8_t *valid = guard(&h, n);
            size_t items = 0, got = k->lists(a, b, c, words, 77, off, valid, &items), at = 0;
            CHECK_INT(items, ones);
            for (size_t i = 0, before = 0; i < n; i++) {
                if (in[i] >= 3) {
                    CHECK_INT(off[at], 77 + before);
                    CHECK_INT(valid[at++], in[i] >= 6);
                }
                before += in[i] >= 5;
            }
            CHECK_INT(got, at);
            release(&g);
            release(&h);
            cr_free(block);
        }
    }
}

/* strings of lengths by `mode`: all equal, equal for long stretches, random */
static size_t put_strings(uint8_t *page, size_t n, int mode, uint32_t *len) {
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        len[i] = mode == 0 ? 8 : mode == 1 ? (uint32_t)(i / 30 % 3) : (uint32_t)(rnd() % 12);
        memcpy(page + at, &len[i], 4);
        at += 4 + len[i];
    }
    return at;
}

TEST(walking) {
    static uint8_t page[N * 16 + SLACK];
    static uint32_t len[N], beg[N + SLACK], end[N + SLACK];
    FOR_LEVELS(k) {
        for (int mode = 0; mode < 3; mode++) {
            FOR_SIZES(n) {
                size_t size = put_strings(page, n, mode, len), at = 0, got = 0;
                while (got < n) { /* in pieces */
                    size_t m = 1 + rnd() % 90;
                    if (m > n - got) m = n - got;
                    CHECK_INT(k->walk(page, &at, size, 1000, beg + got, end + got, m), m);
                    got += m;
                }
                CHECK_INT(at, size);
                for (size_t i = 0, p = 1000; i < n; i++) {
                    CHECK_INT(beg[i], p + 4);
                    CHECK_INT(end[i], p + 4 + len[i]);
                    p += 4 + len[i];
                }
                at = 0;
                CHECK_INT(k->walk(page, &at, size, 0, beg, end, n + 5), n);
                /* cut at any byte: exactly the whole strings */
                for (size_t cut = size > 300 ? size - 300 : 0; cut < size; cut++) {
                    size_t whole = 0, p = 0;
                    while (whole < n && p + 4 + len[whole] <= cut)
                        p += 4 + len[whole++];
                    at = 0;
                    CHECK_INT(k->walk(page, &at, cut, 0, beg, end, n), whole);
                }
            }
        }
        /* lengths that lead far away */
        for (uint32_t huge = UINT32_MAX; huge > 1000; huge /= 3) {
            size_t at = 0, size = put_strings(page, 100, 0, len);
            memcpy(page + 12 * 50, &huge, 4);
            CHECK_INT(k->walk(page, &at, size, 0, beg, end, 100), 50);
        }
    }
}

TEST(splitting) {
    FOR_LEVELS(k) {
        for (int w = 1; w <= 16; w++) {
            FOR_SIZES(n) {
                size_t stride = n + 5, at = 3;
                uint8_t *block;
                const uint8_t *in = noise(stride * (size_t)w, &block);
                guarded g;
                uint8_t *out = guard(&g, n * (size_t)w);
                cr_pq_unsplit(k, in, stride, at, w, out, n);
                for (size_t i = 0; i < n; i++) {
                    for (size_t b = 0; b < (size_t)w; b++)
                        CHECK_INT(out[i * (size_t)w + b], in[b * stride + at + i]);
                }
                release(&g);
                cr_free(block);
            }
        }
    }
}

TEST(checksums) {
    FOR_LEVELS(k) {
        for (size_t n = 0; n < 700; n++) {
            uint8_t *block;
            const uint8_t *in = noise(n, &block);
            uint32_t sum = UINT32_MAX; /* a bit at a time */
            for (size_t i = 0; i < n; i++) {
                sum ^= in[i];
                for (int b = 0; b < 8; b++)
                    sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
            }
            CHECK_INT(k->crc(in, n), ~sum);
            cr_free(block);
        }
    }
}

TEST_MAIN(CASE(unpack), CASE(expand), CASE(gather), CASE(counting), CASE(masks), CASE(walking),
          CASE(splitting), CASE(checksums))
