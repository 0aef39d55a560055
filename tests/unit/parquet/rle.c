/*
 * rle.c - runs and bit-packed groups, levels, differences: every width, any way to cut the
 * reading, input that ends too early.
 */
#include "encode.h"
#include "parquet/decode_int.h"

enum { MAX = 3000 };

#define FOR_LEVELS(k)                                                                              \
    for (int l_ = 0; l_ <= (int)cr_cpu_level_max(); l_++)                                          \
        for (const cr_pq_kern *k = cr_pq_kern_for((cr_cpu_level)l_); k; k = NULL)

/* a copy of b with exactly the readable bytes behind it that kernels may touch */
static uint8_t *padded(const cr_buf *b, size_t n) {
    uint8_t *p = cr_alloc(n + CR_PQ_PAD, "test");
    memset(p + n, 0xee, CR_PQ_PAD);
    if (n) memcpy(p, b->data, n);
    return p;
}

/* values of bw bits, with stretches of equal ones */
static void make(uint64_t *v, size_t n, int bw) {
    const uint64_t mask = bw < 64 ? (UINT64_C(1) << bw) - 1 : ~UINT64_C(0);
    for (size_t i = 0; i < n;) {
        size_t run = e_below(3) ? 1 + e_below(5) : 1 + e_below(400);
        uint64_t x = e_rnd() & mask;
        for (; run && i < n; run--)
            v[i++] = x;
    }
}

TEST(runs) {
    static uint64_t v[MAX];
    static uint32_t out32[MAX + CR_PQ_PAD];
    static uint8_t out8[MAX + CR_PQ_PAD];
    FOR_LEVELS(k) {
        for (int bw = 0; bw <= 32; bw++) {
            for (int round = 0; round < 12; round++) {
                size_t n = e_below(round < 3 ? 20 : MAX);
                make(v, n, bw);
                cr_buf b;
                cr_buf_init(&b);
                e_rle(&b, v, n, bw, round % 3);
                uint8_t *p = padded(&b, b.n);
                for (int way = 0; way < 3; way++) { /* codes, bytes, some of them skipped */
                    if (way == 1 && bw > 8) continue;
                    cr_pq_rle r;
                    cr_pq_rle_init(&r, k, p, b.n, bw);
                    for (size_t i = 0; i < n;) {
                        size_t m = 1 + e_below(round % 2 ? 9 : 700);
                        if (m > n - i) m = n - i;
                        uint32_t x = 0;
                        uint64_t run = cr_pq_rle_run(&r, &x);
                        for (uint64_t j = 0; j < run && i + j < n; j++)
                            CHECK_INT(x, v[i + j]);
                        if (way == 1) {
                            CHECK_INT(cr_pq_rle_get8(&r, out8 + i, m), m);
                            for (size_t j = i; j < i + m; j++)
                                CHECK_INT(out8[j], v[j]);
                        } else if (way == 2 && e_below(2)) {
                            CHECK_INT(cr_pq_rle_skip(&r, m), m);
                        } else {
                            CHECK_INT(cr_pq_rle_get32(&r, out32 + i, m), m);
                            for (size_t j = i; j < i + m; j++)
                                CHECK_INT(out32[j], v[j]);
                        }
                        i += m;
                    }
                }
                cr_free(p);
                /* cut anywhere: a true beginning and no more than that */
                for (int c = 0; c < 20 && b.n && bw; c++) {
                    size_t cut = e_below(b.n);
                    p = padded(&b, cut);
                    cr_pq_rle r;
                    cr_pq_rle_init(&r, k, p, cut, bw);
                    size_t got = cr_pq_rle_get32(&r, out32, n);
                    CHECK(got <= n);
                    for (size_t j = 0; j < got; j++)
                        CHECK_INT(out32[j], v[j]);
                    cr_free(p);
                }
                cr_buf_clear(&b);
            }
        }
    }
}

TEST(run_headers) {
    /* a run and groups far longer than the input, an endless header, nothing at all */
    static const uint8_t in[][12] = {{0xfe, 0xff, 0xff, 0xff, 0xff, 0x0f, 1},
                                     {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1},
                                     {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
    static const size_t size[] = {7, 10, 10};
    uint8_t *p = cr_alloc(12 + CR_PQ_PAD, "test"), *out = cr_alloc(5000 + CR_PQ_PAD, "test");
    for (int i = 0; i < 3; i++) {
        memcpy(p, in[i], 12);
        cr_pq_rle r;
        cr_pq_rle_init(&r, &cr_pq_kern_c, p, size[i], 1);
        size_t got = cr_pq_rle_get8(&r, out, 5000);
        CHECK_INT(got, i == 0 ? 5000 : i == 1 ? 16 : 0);
        cr_pq_rle_init(&r, &cr_pq_kern_c, p, 0, 1);
        CHECK_INT(cr_pq_rle_get8(&r, out, 1), 0);
    }
    cr_free(p);
    cr_free(out);
}

TEST(levels) {
    static uint64_t v[MAX];
    static uint8_t out[MAX + CR_PQ_PAD];
    FOR_LEVELS(k) {
        for (int max = 0; max <= 40; max++) {
            for (int form = CR_PQ_LV_NONE; form <= CR_PQ_LV_BITS; form++) {
                size_t n = 1 + e_below(MAX);
                int bw = cr_pq_level_bits(max);
                CHECK(bw == 0 ? max == 0 : max >> bw == 0 && max >> (bw - 1) == 1);
                for (size_t i = 0; i < n; i++)
                    v[i] = form == CR_PQ_LV_NONE ? 0 : e_below((size_t)max + 1);
                v[n / 2] = form == CR_PQ_LV_NONE ? 0 : (uint64_t)max;
                cr_buf b;
                cr_buf_init(&b);
                if (form == CR_PQ_LV_RLE) e_rle(&b, v, n, bw, 0);
                if (form == CR_PQ_LV_BITS) e_bits_high(&b, v, n, bw);
                uint8_t *p = padded(&b, b.n);
                cr_pq_levels l;
                cr_pq_levels_init(&l, k, (cr_pq_level_form)form, max, p, b.n);
                for (size_t i = 0; i < n;) {
                    size_t m = 1 + e_below(100);
                    if (m > n - i) m = n - i;
                    CHECK(!cr_pq_levels_get(&l, out + i, m));
                    for (; m; m--, i++)
                        CHECK_INT(out[i], v[i]);
                }
                if (form != CR_PQ_LV_NONE && max > 0) {
                    /* too few, and too high */
                    CHECK_STR(cr_pq_levels_get(&l, out, 9), "levels end too early");
                    cr_pq_levels_init(&l, k, (cr_pq_level_form)form, max, p, b.n);
                    l.max = max - 1;
                    CHECK_STR(cr_pq_levels_get(&l, out, n),
                              "a level is higher than the schema allows");
                }
                cr_free(p);
                cr_buf_clear(&b);
            }
        }
    }
}

TEST(differences) {
    static uint64_t v[MAX], out[MAX + CR_PQ_PAD];
    static uint32_t out32[MAX + CR_PQ_PAD];
    static const size_t block[][2] = {{128, 4}, {128, 1}, {256, 4}, {512, 8}, {1024, 32}, {64, 8}};
    FOR_LEVELS(k) {
        for (int bw = 0; bw <= 64; bw++) {
            for (int round = 0; round < 12; round++) {
                int width = bw <= 32 && round % 2 ? 4 : 8;
                size_t n = e_below(round < 4 ? 3 : MAX), shape = e_below(6);
                make(v, n, bw);
                if (round % 3 == 0) { /* sums, so that the differences have that width */
                    for (size_t i = 1; i < n; i++)
                        v[i] += v[i - 1];
                }
                if (width == 4) {
                    for (size_t i = 0; i < n; i++)
                        v[i] &= UINT32_MAX;
                }
                cr_buf b;
                cr_buf_init(&b);
                bool cut = round % 4 == 3;
                e_delta(&b, v, n, width, block[shape][0], block[shape][1], cut);
                size_t size = b.n;
                if (!cut) cr_buf_add(&b, "behind", 6);
                uint8_t *p = padded(&b, b.n);
                cr_pq_delta d;
                CHECK(!cr_pq_delta_init(&d, k, p, b.n));
                CHECK_INT(cr_pq_delta_count(&d), n);
                for (size_t i = 0; i < n;) {
                    size_t m = 1 + e_below(round % 2 ? 300 : 20);
                    if (m > n - i) m = n - i;
                    if (width == 4)
                        CHECK(!cr_pq_delta_get32(&d, out32 + i, m));
                    else
                        CHECK(!cr_pq_delta_get64(&d, out + i, m));
                    for (; m; m--, i++)
                        CHECK(width == 4 ? out32[i] == v[i] : out[i] == v[i]);
                }
                CHECK_INT(cr_pq_delta_end(&d) - p, size);
                CHECK_STR(cr_pq_delta_get64(&d, out, 1), "delta-encoded values end too early");
                cr_free(p);
                for (int c = 0; c < 10; c++) { /* cut: a cause, or all that was asked for */
                    size_t at = e_below(size);
                    p = padded(&b, at);
                    if (!cr_pq_delta_init(&d, k, p, at) && !cr_pq_delta_get64(&d, out, n) &&
                        width == 8) {
                        for (size_t i = 0; i < n; i++)
                            CHECK(out[i] == v[i]);
                    }
                    cr_free(p);
                }
                cr_buf_clear(&b);
            }
        }
    }
}

TEST(difference_headers) {
    /* block size, miniblocks, values, first value: which are refused */
    static const struct {
        uint64_t block, n_mini;
        const char *cause;
    } cases[] = {{0, 1, "block size"},    {128, 0, "block size"},        {128, 3, "block size"},
                 {128, 32, "block size"}, {UINT64_MAX, 1, "block size"}, {128, 4, NULL}};
    static uint64_t out[64 + CR_PQ_PAD];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_buf b;
        cr_buf_init(&b);
        e_varint(&b, cases[i].block);
        e_varint(&b, cases[i].n_mini);
        e_varint(&b, 50);
        e_zigzag(&b, -7);
        uint8_t *p = padded(&b, b.n);
        cr_pq_delta d;
        const char *bad = cr_pq_delta_init(&d, &cr_pq_kern_c, p, b.n);
        CHECK(cases[i].cause ? bad && strstr(bad, cases[i].cause) : !bad);
        if (!bad) {
            CHECK(!cr_pq_delta_get64(&d, out, 1));
            CHECK((int64_t)out[0] == -7);
            CHECK(cr_pq_delta_get64(&d, out, 1) != NULL);
        }
        cr_free(p);
        /* a width that no value has */
        if (!cases[i].cause) {
            e_zigzag(&b, 0);
            cr_buf_add(&b, "\x41\x00\x00\x00", 4);
            for (int j = 0; j < 300; j++)
                e_byte(&b, 0);
            p = padded(&b, b.n);
            CHECK(!cr_pq_delta_init(&d, &cr_pq_kern_c, p, b.n));
            bad = cr_pq_delta_get64(&d, out, 5);
            CHECK(bad && strstr(bad, "64 bits"));
            cr_free(p);
        }
        cr_buf_clear(&b);
    }
}

TEST_MAIN(CASE(runs), CASE(run_headers), CASE(levels), CASE(differences), CASE(difference_headers))
