/*
 * codec.c - every codec both ways: sizes from nothing to large, easy and hard data, output of
 * the wrong size, damaged input; gzip in members, the three things that go by the name of LZ4,
 * snappy streams that no library would write.
 */
#include <lz4.h>
#include <lz4frame.h>
#include <snappy-c.h>
#include <zlib.h>

#include "encode.h"
#include "parquet/decode_int.h"

static const cr_pq_codec codecs[] = {CR_PQ_RAW,        CR_PQ_SNAPPY, CR_PQ_GZIP, CR_PQ_BROTLI,
                                     CR_PQ_LZ4_HADOOP, CR_PQ_ZSTD,   CR_PQ_LZ4};
enum { N_CODECS = sizeof(codecs) / sizeof(codecs[0]) };

/* kind 0: one byte, 1: short strings, 2: small numbers, 3: noise */
static uint8_t *make(size_t n, int kind) {
    uint8_t *p = cr_alloc(n + 64, "test");
    for (size_t i = 0; i < n;) {
        char text[40];
        size_t m = 1;
        uint64_t x = e_rnd();
        if (kind == 0) text[0] = 'x';
        if (kind == 1) m = (size_t)snprintf(text, sizeof(text), "item_%u", (unsigned)(x % 5000));
        if (kind == 2) {
            x %= 100000;
            memcpy(text, &x, m = 8);
        }
        if (kind == 3) memcpy(text, &x, m = 8);
        if (m > n - i) m = n - i;
        memcpy(p + i, text, m);
        i += m;
    }
    return p;
}

/* exact: in memory of exactly its size, so that a byte too far is seen */
static cr_code unpack(cr_pq_codec c, const void *in, size_t n, uint8_t **out, size_t out_n) {
    uint8_t *copy = cr_alloc(n, "test");
    if (n) memcpy(copy, in, n);
    *out = cr_alloc(out_n + CR_PQ_PAD, "test");
    cr_err err;
    cr_code code = cr_pq_decompress(NULL, c, copy, n, *out, out_n, &err);
    cr_free(copy);
    return code;
}

TEST(round_trips) {
    static const size_t sizes[] = {0,  1,  2,  15,  16,   63,    64,    65,
                                   79, 80, 81, 200, 1000, 65536, 300000};
    for (int c = 0; c < N_CODECS; c++) {
        CHECK(cr_pq_codec_reads(codecs[c]) && cr_pq_codec_writes(codecs[c]));
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            for (int kind = 0; kind < 4; kind++) {
                size_t n = sizes[s];
                uint8_t *in = make(n, kind), *out;
                for (int level = 0; level <= 9; level += 3) {
                    cr_buf b;
                    cr_err err;
                    cr_buf_init(&b);
                    cr_buf_str(&b, "before");
                    CHECK_INT(cr_pq_compress(codecs[c], level, in, n, &b, &err), CR_OK);
                    CHECK(memcmp(b.data, "before", 6) == 0);
                    if (kind == 0 && n > 1000 && codecs[c] != CR_PQ_RAW) CHECK(b.n < n / 8);
                    CHECK_INT(unpack(codecs[c], b.data + 6, b.n - 6, &out, n), CR_OK);
                    CHECK(memcmp(in, out, n) == 0);
                    cr_free(out);
                    if (n && level == 0) { /* the header of the page lies */
                        CHECK_INT(unpack(codecs[c], b.data + 6, b.n - 6, &out, n - 1), CR_EDATA);
                        cr_free(out);
                        CHECK_INT(unpack(codecs[c], b.data + 6, b.n - 6, &out, n + 1), CR_EDATA);
                        cr_free(out);
                        CHECK_INT(unpack(codecs[c], b.data + 6, b.n - 7, &out, n), CR_EDATA);
                        cr_free(out);
                    }
                    cr_buf_clear(&b);
                }
                cr_free(in);
            }
        }
    }
    cr_err err;
    uint8_t x[1 + CR_PQ_PAD] = {0};
    CHECK(!cr_pq_codec_reads(CR_PQ_LZO) && !cr_pq_codec_writes(CR_PQ_LZO));
    CHECK_INT(cr_pq_decompress(NULL, CR_PQ_LZO, x, 1, x, 1, &err), CR_EDATA);
    CHECK(strstr(err.msg, "LZO") && strstr(err.msg, "snappy or zstd"));
    cr_buf b;
    cr_buf_init(&b);
    CHECK_INT(cr_pq_compress(CR_PQ_LZO, 0, x, 1, &b, &err), CR_ECONF);
    cr_buf_clear(&b);
}

TEST(damage) {
    for (int c = 1; c < N_CODECS; c++) {
        for (int kind = 0; kind < 4; kind++) {
            size_t n = 5000;
            uint8_t *in = make(n, kind), *out;
            cr_buf b;
            cr_err err;
            cr_buf_init(&b);
            CHECK_INT(cr_pq_compress(codecs[c], 0, in, n, &b, &err), CR_OK);
            for (int i = 0; i < 300; i++) { /* an error or n bytes; never a byte out of place */
                size_t at = e_below(b.n), cut = i % 3 ? b.n : e_below(b.n);
                uint8_t was = (uint8_t)b.data[at];
                b.data[at] = (char)e_rnd();
                (void)unpack(codecs[c], b.data, cut, &out, n);
                cr_free(out);
                b.data[at] = (char)was;
            }
            cr_buf_clear(&b);
            cr_free(in);
        }
    }
}

TEST(gzip_members) {
    size_t n = 10000, half = 3777;
    uint8_t *in = make(n, 1), *out;
    cr_buf b;
    cr_err err;
    cr_buf_init(&b);
    CHECK_INT(cr_pq_compress(CR_PQ_GZIP, 0, in, half, &b, &err), CR_OK);
    size_t first = b.n;
    CHECK_INT(cr_pq_compress(CR_PQ_GZIP, 0, in + half, n - half, &b, &err), CR_OK);
    CHECK_INT(unpack(CR_PQ_GZIP, b.data, b.n, &out, n), CR_OK);
    CHECK(memcmp(in, out, n) == 0);
    cr_free(out);
    CHECK_INT(unpack(CR_PQ_GZIP, b.data, first, &out, n), CR_EDATA); /* the second is missing */
    cr_free(out);
    cr_buf_clear(&b);
    /* zlib's own framing, which some writers use */
    uLongf size = compressBound(n);
    uint8_t *z = cr_alloc(size, "test");
    CHECK_INT(compress(z, &size, in, n), Z_OK);
    CHECK_INT(unpack(CR_PQ_GZIP, z, size, &out, n), CR_OK);
    CHECK(memcmp(in, out, n) == 0);
    cr_free(out);
    cr_free(z);
    cr_free(in);
}

static void big32(cr_buf *b, size_t x) {
    for (int s = 24; s >= 0; s -= 8)
        e_byte(b, (unsigned)(x >> s) & 0xff);
}

TEST(lz4_by_any_name) {
    size_t n = 20000;
    uint8_t *in = make(n, 1), *out;
    char part[30000];
    cr_buf b;
    cr_buf_init(&b);
    /* Hadoop: a block of two pieces, then a block of one */
    size_t cut[] = {0, 4000, 9000, n};
    for (int i = 0; i < 3; i++) {
        size_t from = cut[i], m = cut[i + 1] - from;
        if (i != 1) big32(&b, i == 0 ? 9000 : m);
        int size = LZ4_compress_default((char *)in + from, part, (int)m, sizeof(part));
        big32(&b, (size_t)size);
        cr_buf_add(&b, part, (size_t)size);
    }
    CHECK_INT(unpack(CR_PQ_LZ4_HADOOP, b.data, b.n, &out, n), CR_OK);
    CHECK(memcmp(in, out, n) == 0);
    cr_free(out);
    CHECK_INT(unpack(CR_PQ_LZ4_HADOOP, b.data, b.n - 1, &out, n), CR_EDATA);
    cr_free(out);
    cr_buf_clear(&b);
    /* a frame */
    size_t bound = LZ4F_compressFrameBound(n, NULL);
    char *frame = cr_alloc(bound, "test");
    size_t size = LZ4F_compressFrame(frame, bound, in, n, NULL);
    CHECK_INT(unpack(CR_PQ_LZ4_HADOOP, frame, size, &out, n), CR_OK);
    CHECK(memcmp(in, out, n) == 0);
    cr_free(out);
    CHECK_INT(unpack(CR_PQ_LZ4_HADOOP, frame, size / 2, &out, n), CR_EDATA);
    cr_free(out);
    cr_free(frame);
    /* a bare block */
    int bare = LZ4_compress_default((char *)in, part, (int)n, sizeof(part));
    CHECK_INT(unpack(CR_PQ_LZ4_HADOOP, part, (size_t)bare, &out, n), CR_OK);
    CHECK(memcmp(in, out, n) == 0);
    cr_free(out);
    cr_free(in);
}

/* A random snappy stream and what it means. Every kind of element, any length and distance. */
static size_t snappy_stream(cr_buf *b, uint8_t *plain, size_t max, int style) {
    cr_buf body;
    cr_buf_init(&body);
    size_t n = 0;
    while (n + 70000 < max) {
        int kind = (int)e_below(style == 0 ? 3 : 4);
        size_t len = style == 2 ? 1 + e_below(12) : 1 + e_below(64);
        if (kind == 0 || n == 0) {
            if (style != 2 && e_below(20) == 0) len = 1 + e_below(e_below(5) ? 300 : 66000);
            size_t extra = len <= 60 && e_below(10) ? 0 : len > 65536 ? 3 : len > 256 ? 2 : 1;
            if (extra && e_below(3) == 0) extra = 4;
            e_byte(&body, (unsigned)(extra ? 59 + extra : len - 1) << 2);
            for (size_t i = 0; i < extra; i++)
                e_byte(&body, (unsigned)((len - 1) >> (8 * i)) & 0xff);
            for (size_t i = 0; i < len; i++)
                plain[n + i] = (uint8_t)e_rnd();
            cr_buf_add(&body, plain + n, len);
            n += len;
            continue;
        }
        size_t most = kind == 1 ? 2047 : kind == 2 ? 65535 : n;
        size_t off = 1 + e_below(n < most ? n : most);
        if (e_below(3) == 0) off = 1 + e_below(off < 20 ? off : 20); /* overlapping */
        if (kind == 1) {
            len = 4 + len % 8;
            e_byte(&body, 1u | (unsigned)(len - 4) << 2 | (unsigned)(off >> 8) << 5);
            e_byte(&body, off & 0xff);
        } else {
            e_byte(&body, (unsigned)kind | (unsigned)(len - 1) << 2);
            for (int i = 0; i < (kind == 2 ? 2 : 4); i++)
                e_byte(&body, (unsigned)(off >> (8 * i)) & 0xff);
        }
        for (size_t i = 0; i < len; i++, n++)
            plain[n] = plain[n - off];
    }
    e_varint(b, n);
    cr_buf_add(b, body.data, body.n);
    cr_buf_clear(&body);
    return n;
}

TEST(snappy_elements) {
    enum { MAX = 300000 };
    uint8_t *plain = cr_alloc(MAX, "test"), *out;
    for (int round = 0; round < 60; round++) {
        cr_buf b;
        cr_buf_init(&b);
        size_t n =
            snappy_stream(&b, plain, round < 30 ? 70000 + (size_t)round * 40 : MAX, round % 3);
        CHECK_INT(unpack(CR_PQ_SNAPPY, b.data, b.n, &out, n), CR_OK);
        CHECK(memcmp(plain, out, n) == 0);
        cr_free(out);
        /* what we take and what the library takes is the same, damaged or not */
        for (int i = 0; i < 20 && b.n > 4; i++) {
            size_t at = 3 + e_below(b.n - 3), cut = i % 4 ? b.n : e_below(b.n);
            char was = b.data[at];
            b.data[at] = (char)e_rnd();
            size_t m = 0;
            bool theirs = snappy_uncompressed_length(b.data, cut, &m) == SNAPPY_OK && m == n &&
                          snappy_validate_compressed_buffer(b.data, cut) == SNAPPY_OK;
            CHECK_INT(unpack(CR_PQ_SNAPPY, b.data, cut, &out, n) == CR_OK, theirs);
            cr_free(out);
            b.data[at] = was;
        }
        cr_buf_clear(&b);
    }
    /* distances of 0 and before the begin, sizes that are none */
    static const char *const bad[] = {"\x04\x0c"
                                      "abcd\x01\x00",
                                      "\x08\x0c"
                                      "abcd\x01\x05",
                                      "\xff\xff\xff\xff\xff\xff", "\x04", ""};
    static const size_t bad_n[] = {8, 8, 6, 1, 0};
    for (int i = 0; i < 5; i++) {
        CHECK_INT(unpack(CR_PQ_SNAPPY, bad[i], bad_n[i], &out, i == 1 ? 8 : 4), CR_EDATA);
        cr_free(out);
    }
    cr_free(plain);
}

TEST_MAIN(CASE(round_trips), CASE(damage), CASE(gzip_members), CASE(lz4_by_any_name),
          CASE(snappy_elements))
