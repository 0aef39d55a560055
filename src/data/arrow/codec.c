/*
 * codec.c - the compressed buffers of Arrow: each is one LZ4 frame or one zstd frame.
 */
#include <lz4frame.h>
#include <zstd.h>

#include "data/arrow/ipc_int.h"

static bool unpack_lz4(const uint8_t *in, size_t n, uint8_t *out, size_t n_out) {
    LZ4F_dctx *z;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&z, LZ4F_VERSION)))
        cr_no_memory(0, "a buffer of Arrow data");
    size_t used = 0, made = 0, hint = 1;
    uint8_t none = 0;
    while (hint && used < n) {
        size_t i = n - used, o = n_out - made;
        hint = LZ4F_decompress(z, o ? out + made : &none, &o, in + used, &i, NULL);
        if (LZ4F_isError(hint) || (i == 0 && o == 0)) break;
        used += i;
        made += o;
    }
    LZ4F_freeDecompressionContext(z);
    return hint == 0 && made == n_out;
}

bool cr_arrow_unpack(cr_arrow_codec codec, const uint8_t *in, size_t n, uint8_t *out,
                     size_t n_out) {
    if (codec == CR_ARROW_LZ4) return unpack_lz4(in, n, out, n_out);
    size_t m = ZSTD_decompress(out, n_out, in, n);
    return !ZSTD_isError(m) && m == n_out;
}

bool cr_arrow_pack(cr_arrow_codec codec, const void *in, size_t n, cr_buf *out) {
    bool lz4 = codec == CR_ARROW_LZ4;
    size_t most = lz4 ? LZ4F_compressFrameBound(n, NULL) : ZSTD_compressBound(n);
    cr_buf_reserve(out, most);
    char *to = out->data + out->n;
    size_t m = lz4 ? LZ4F_compressFrame(to, most, in, n, NULL) : ZSTD_compress(to, most, in, n, 1);
    if (lz4 ? LZ4F_isError(m) : ZSTD_isError(m)) return false;
    out->n += m;
    out->data[out->n] = 0;
    return true;
}
