/*
 * text_out.c - writes text into a file (plain, gzip or zstd) or to standard output.
 */
#include "data/csv/text_out.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/file.h"
#include "data/stream.h"

#define OUT_BYTES ((size_t)64 << 10)

struct cr_text_out {
    cr_outfile *f;
    cr_codec codec;
    z_stream z;
    ZSTD_CStream *zc;
    unsigned char out[OUT_BYTES]; /* packed bytes */
};

static bool ends_in(const char *path, const char *end) {
    size_t n = strlen(path), k = strlen(end);
    return n > k && strcmp(path + n - k, end) == 0;
}

static void free_text(cr_text_out *t) {
    if (t->codec == CR_GZIP) deflateEnd(&t->z);
    ZSTD_freeCStream(t->zc);
    cr_free(t);
}

cr_code cr_text_out_open(cr_text_out **out, const char *path, cr_err *err) {
    cr_text_out *t = cr_alloc(sizeof(*t), "a text file");
    *out = NULL;
    cr_code code =
        strcmp(path, "-") == 0 ? cr_outfile_stdout(&t->f, err) : cr_outfile_open(&t->f, path, err);
    if (code != CR_OK) {
        cr_free(t);
        return code;
    }
    t->codec = ends_in(path, ".gz") ? CR_GZIP : ends_in(path, ".zst") ? CR_ZSTD : CR_PLAIN;
    if ((t->codec == CR_GZIP &&
         deflateInit2(&t->z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) ||
        (t->codec == CR_ZSTD && !(t->zc = ZSTD_createCStream())))
        cr_no_memory(0, "a file being packed");
    *out = t;
    return CR_OK;
}

static cr_code gzip(cr_text_out *t, const char *p, size_t n, bool end, cr_err *err) {
    t->z.next_in = (unsigned char *)(uintptr_t)p;
    for (bool more = true; more;) {
        uInt part = n < (1u << 30) ? (uInt)n : 1u << 30;
        t->z.avail_in = part;
        t->z.next_out = t->out;
        t->z.avail_out = OUT_BYTES;
        int r = deflate(&t->z, end && part == n ? Z_FINISH : Z_NO_FLUSH);
        n -= part - t->z.avail_in;
        CR_TRY(cr_outfile_write(t->f, t->out, OUT_BYTES - t->z.avail_out, err));
        more = end ? r != Z_STREAM_END : n > 0 || t->z.avail_out == 0;
    }
    return CR_OK;
}

static cr_code zstd(cr_text_out *t, const char *p, size_t n, bool end, cr_err *err) {
    ZSTD_inBuffer in = {p, n, 0};
    for (bool more = true; more;) {
        ZSTD_outBuffer out = {t->out, OUT_BYTES, 0};
        size_t left = ZSTD_compressStream2(t->zc, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return cr_fail(err, CR_ERUN, "cannot pack the text: %s", ZSTD_getErrorName(left));
        CR_TRY(cr_outfile_write(t->f, t->out, out.pos, err));
        more = end ? left > 0 : in.pos < in.size;
    }
    return CR_OK;
}

cr_code cr_text_out_write(cr_text_out *t, const char *p, size_t n, cr_err *err) {
    switch (t->codec) {
    case CR_GZIP: return gzip(t, p, n, false, err);
    case CR_ZSTD: return zstd(t, p, n, false, err);
    case CR_PLAIN: break;
    }
    return cr_outfile_write(t->f, p, n, err);
}

cr_code cr_text_out_commit(cr_text_out *t, cr_err *err) {
    cr_code code = t->codec == CR_GZIP   ? gzip(t, "", 0, true, err)
                   : t->codec == CR_ZSTD ? zstd(t, "", 0, true, err)
                                         : CR_OK;
    if (code == CR_OK)
        code = cr_outfile_commit(t->f, err);
    else
        cr_outfile_abort(t->f);
    free_text(t);
    return code;
}

void cr_text_out_abort(cr_text_out *t) {
    if (!t) return;
    cr_outfile_abort(t->f);
    free_text(t);
}
