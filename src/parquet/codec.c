/*
 * codec.c - compression and decompression. Only this file knows the compression libraries.
 *
 * A page says how large its decompressed content is, and any other size is an error. LZ4 has a
 * history: the format's "LZ4" means Hadoop's framing (two big-endian sizes in front of each block),
 * but writers have put LZ4 frames and bare blocks there too; only trying shows which one it is.
 */
#define ZLIB_CONST
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <lz4.h>
#include <lz4frame.h>
#include <lz4hc.h>
#include <pthread.h>
#include <snappy-c.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "parquet/decode_int.h"

/* ---- want of memory ----
 *
 * Most of the libraries report want of memory like damaged data; errno, which is cleared before
 * each call, tells the two apart. Snappy is C++ and throws, which C cannot catch; the handler of
 * `new` runs before that. */

static void no_memory(void) {
    cr_no_memory(0, "a page of a Parquet file");
}

static void set_new_handler(void) {
    void *found = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
    void (*(*set)(void (*)(void)))(void);
    memcpy(&set, &found, sizeof(set));
    if (found) (void)set(no_memory);
}

static void begin_call(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_new_handler);
    errno = 0;
}

static cr_code wrong(cr_err *err, cr_pq_codec codec) {
    if (errno == ENOMEM) no_memory();
    return cr_fail(err, CR_EDATA, "the %s data of a page is damaged", cr_pq_codec_name(codec));
}

static cr_code wrong_size(cr_err *err, cr_pq_codec codec, size_t is, size_t out_n) {
    return cr_fail(err, CR_EDATA, "a page decompresses (%s) to %zu bytes, its header says %zu",
                   cr_pq_codec_name(codec), is, out_n);
}

/* ---- reading ---- */

static cr_code from_snappy(const uint8_t *in, size_t n, uint8_t *out, size_t out_n, cr_err *err) {
    size_t m = 0;
    if (snappy_uncompressed_length((const char *)in, n, &m) != SNAPPY_OK)
        return wrong(err, CR_PQ_SNAPPY);
    if (m != out_n) return wrong_size(err, CR_PQ_SNAPPY, m, out_n);
    return cr_pq_unsnappy(in, n, out, out_n) ? CR_OK : wrong(err, CR_PQ_SNAPPY);
}

/* from_gzip reads gzip or zlib, with any number of members one after the other. */
static cr_code from_gzip(const uint8_t *in, size_t n, uint8_t *out, size_t out_n, cr_err *err) {
    z_stream z = {0};
    if (inflateInit2(&z, 15 + 32) != Z_OK)
        return cr_fail(err, CR_ENOMEM, "no memory for decompression (gzip)");
    size_t done_in = 0, done_out = 0;
    cr_code code = CR_OK;
    for (;;) {
        size_t some_in = n - done_in < UINT_MAX ? n - done_in : UINT_MAX;
        size_t some_out = out_n - done_out < UINT_MAX ? out_n - done_out : UINT_MAX;
        uint8_t none = 0;
        z.next_in = in + done_in;
        z.avail_in = (uInt)some_in;
        z.next_out = some_out ? out + done_out : &none;
        z.avail_out = (uInt)some_out;
        int e = inflate(&z, Z_NO_FLUSH);
        size_t used = some_in - z.avail_in, made = some_out - z.avail_out;
        done_in += used;
        done_out += made;
        if (e == Z_STREAM_END) {
            if (done_in == n || done_out == out_n) break;
            if (inflateReset(&z) != Z_OK) code = wrong(err, CR_PQ_GZIP);
        } else if (e != Z_OK || (used == 0 && made == 0)) {
            code = wrong(err, CR_PQ_GZIP);
        }
        if (code != CR_OK) break;
    }
    inflateEnd(&z);
    if (code == CR_OK && done_out != out_n) return wrong_size(err, CR_PQ_GZIP, done_out, out_n);
    return code;
}

static cr_code from_zstd(void **state, const uint8_t *in, size_t n, uint8_t *out, size_t out_n,
                         cr_err *err) {
    if (state && !*state) *state = ZSTD_createDCtx();
    size_t m = state && *state ? ZSTD_decompressDCtx(*state, out, out_n, in, n)
                               : ZSTD_decompress(out, out_n, in, n);
    if (ZSTD_isError(m)) return wrong(err, CR_PQ_ZSTD);
    return m == out_n ? CR_OK : wrong_size(err, CR_PQ_ZSTD, m, out_n);
}

static cr_code from_brotli(const uint8_t *in, size_t n, uint8_t *out, size_t out_n, cr_err *err) {
    size_t m = out_n;
    if (BrotliDecoderDecompress(n, in, &m, out) != BROTLI_DECODER_RESULT_SUCCESS)
        return wrong(err, CR_PQ_BROTLI);
    return m == out_n ? CR_OK : wrong_size(err, CR_PQ_BROTLI, m, out_n);
}

static bool lz4_block(const uint8_t *in, size_t n, uint8_t *out, size_t out_n) {
    if (n > INT_MAX || out_n > INT_MAX) return false;
    return LZ4_decompress_safe((const char *)in, (char *)out, (int)n, (int)out_n) == (int)out_n;
}

static bool lz4_frame(const uint8_t *in, size_t n, uint8_t *out, size_t out_n) {
    static const uint8_t magic[4] = {0x04, 0x22, 0x4d, 0x18};
    LZ4F_dctx *z;
    if (n < 4 || memcmp(in, magic, 4) != 0) return false;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&z, LZ4F_VERSION))) return false;
    size_t used = 0, made = 0, hint = 1;
    while (hint && used < n) {
        size_t i = n - used, o = out_n - made;
        hint = LZ4F_decompress(z, out + made, &o, in + used, &i, NULL);
        if (LZ4F_isError(hint) || (i == 0 && o == 0)) break;
        used += i;
        made += o;
    }
    LZ4F_freeDecompressionContext(z);
    return hint == 0 && made == out_n;
}

static uint32_t big32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* lz4_hadoop reads blocks: the decompressed size, then pieces of (compressed size, data) until that
 * much is there. */
static bool lz4_hadoop(const uint8_t *in, size_t n, uint8_t *out, size_t out_n) {
    size_t done = 0;
    while (n >= 8) {
        size_t raw = big32(in);
        in += 4;
        n -= 4;
        if (raw > out_n - done) return false;
        /* parquet-rs writes an empty block here */
        if (raw == 0 && big32(in) == 1 && n == 5 && in[4] == 0) return done == out_n;
        for (size_t end = done + raw; done < end;) {
            if (n < 4) return false;
            size_t size = big32(in);
            in += 4;
            n -= 4;
            size_t room = end - done;
            if (size > n || n > INT_MAX || room > INT_MAX) return false;
            int m = LZ4_decompress_safe((const char *)in, (char *)out + done, (int)size, (int)room);
            if (m <= 0) return false;
            done += (size_t)m;
            in += size;
            n -= size;
        }
    }
    return n == 0 && done == out_n;
}

void cr_pq_codec_state_free(void *state) {
    ZSTD_freeDCtx(state);
}

cr_code cr_pq_decompress(void **state, cr_pq_codec codec, const uint8_t *in, size_t n, uint8_t *out,
                         size_t out_n, cr_err *err) {
    /* a page without values has an empty stream or none */
    if (n == 0 && out_n == 0) return CR_OK;
    begin_call();
    switch (codec) {
    case CR_PQ_RAW:
        if (n != out_n) return wrong_size(err, codec, n, out_n);
        memcpy(out, in, n);
        return CR_OK;
    case CR_PQ_SNAPPY: return from_snappy(in, n, out, out_n, err);
    case CR_PQ_GZIP: return from_gzip(in, n, out, out_n, err);
    case CR_PQ_ZSTD: return from_zstd(state, in, n, out, out_n, err);
    case CR_PQ_BROTLI: return from_brotli(in, n, out, out_n, err);
    case CR_PQ_LZ4: return lz4_block(in, n, out, out_n) ? CR_OK : wrong(err, codec);
    case CR_PQ_LZ4_HADOOP:
        if (lz4_hadoop(in, n, out, out_n) || lz4_frame(in, n, out, out_n) ||
            lz4_block(in, n, out, out_n))
            return CR_OK;
        return wrong(err, codec);
    case CR_PQ_LZO: break;
    }
    cr_fail(err, CR_EDATA,
            "pages are compressed with %s, which is not supported; write the file with snappy or "
            "zstd",
            cr_pq_codec_name(codec));
    return cr_fail_why(err, CR_PQ_TOLD, CR_EDATA);
}

bool cr_pq_codec_reads(cr_pq_codec codec) {
    return codec >= CR_PQ_RAW && codec <= CR_PQ_LZ4 && codec != CR_PQ_LZO;
}

/* ---- writing ---- */

bool cr_pq_codec_writes(cr_pq_codec codec) {
    return cr_pq_codec_reads(codec);
}

static cr_code failed(cr_err *err, cr_pq_codec codec, size_t n) {
    if (errno == ENOMEM) no_memory();
    return cr_fail(err, CR_ERUN, "%zu bytes cannot be compressed with %s", n,
                   cr_pq_codec_name(codec));
}

static int or_default(int level, int def, int min, int max) {
    if (level == 0) return def;
    return level < min ? min : level > max ? max : level;
}

static bool to_gzip(int level, const void *in, size_t n, uint8_t *out, size_t *m) {
    z_stream z = {0};
    if (n > UINT_MAX || *m > UINT_MAX) return false;
    if (deflateInit2(&z, or_default(level, Z_DEFAULT_COMPRESSION, 1, 9), Z_DEFLATED, 15 + 16, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    z.next_in = in;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)*m;
    bool ok = deflate(&z, Z_FINISH) == Z_STREAM_END;
    *m -= z.avail_out;
    deflateEnd(&z);
    return ok;
}

static bool to_lz4(int level, const void *in, size_t n, uint8_t *out, size_t *m) {
    if (n > LZ4_MAX_INPUT_SIZE || *m > INT_MAX) return false;
    int k = level > 1 ? LZ4_compress_HC(in, (char *)out, (int)n, (int)*m, level)
                      : LZ4_compress_default(in, (char *)out, (int)n, (int)*m);
    *m = (size_t)k;
    return k > 0;
}

static void put_big32(uint8_t *p, size_t x) {
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(x >> (24 - 8 * i));
}

cr_code cr_pq_compress(cr_pq_codec codec, int level, const void *in, size_t n, cr_buf *out,
                       cr_err *err) {
    static const uint8_t nothing[1] = {0};
    if (n == 0) in = nothing;
    begin_call();
    if (n > SIZE_MAX / 4) return failed(err, codec, n);
    /* more than each of the bounds below, as long as they fit in their types */
    size_t m = n + n / 4 + 1024;
    bool ok = false;
    uint8_t *p = NULL;
    if (codec == CR_PQ_SNAPPY) m = snappy_max_compressed_length(n);
    if (codec == CR_PQ_ZSTD) m = ZSTD_compressBound(n);
    if (codec == CR_PQ_RAW) m = n;
    cr_buf_reserve(out, m);
    p = (uint8_t *)out->data + out->n;
    switch (codec) {
    case CR_PQ_RAW:
        memcpy(p, in, n);
        ok = true;
        break;
    case CR_PQ_SNAPPY: ok = snappy_compress(in, n, (char *)p, &m) == SNAPPY_OK; break;
    case CR_PQ_GZIP: ok = to_gzip(level, in, n, p, &m); break;
    case CR_PQ_ZSTD:
        m = ZSTD_compress(p, m, in, n, or_default(level, ZSTD_CLEVEL_DEFAULT, 1, ZSTD_maxCLevel()));
        ok = !ZSTD_isError(m);
        break;
    case CR_PQ_BROTLI:
        ok = BrotliEncoderCompress(or_default(level, 5, 1, BROTLI_MAX_QUALITY),
                                   BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, n, in, &m,
                                   p) == BROTLI_TRUE;
        break;
    case CR_PQ_LZ4: ok = to_lz4(level, in, n, p, &m); break;
    case CR_PQ_LZ4_HADOOP:
        m -= 8;
        ok = n <= INT_MAX && to_lz4(level, in, n, p + 8, &m);
        if (ok) {
            put_big32(p, n);
            put_big32(p + 4, m);
            m += 8;
        }
        break;
    case CR_PQ_LZO:
        return cr_fail(err, CR_ECONF, "%s cannot be written; use snappy or zstd",
                       cr_pq_codec_name(codec));
    }
    if (!ok) return failed(err, codec, n);
    out->n += m;
    out->data[out->n] = 0;
    return CR_OK;
}
