/*
 * stream.c - reads plain, gzip and zstd files through one function.
 *
 * The decoders are fed from one input buffer. The trap is the end: zlib and zstd both stop quietly
 * when the input runs out, so `between` remembers whether the last member or frame was whole, and
 * an end of file in the middle of one is an error.
 */
#include "data/stream.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stop.h"

#define IN_BYTES   ((size_t)256 << 10)
#define STOP_MS    100 /* a wait for standard input checks this often whether to stop */
#define WINDOW_LOG 31  /* largest window of zstd data: 2 GiB, the most that its tool makes */

/* Standard input when it is no file. There is one per process, and all its streams share what was
 * read so far, so that a header can be read before the data is. */
static struct {
    char *kept;
    size_t n, cap;
    bool gone; /* more was read than is kept */
} live;

struct cr_stream {
    cr_fs *f;    /* NULL: live */
    int64_t pos; /* where the next byte lies, front to back */
    size_t at;   /* live: bytes read through this stream, while they are kept */
    const char *path;
    cr_codec codec;
    int64_t size;
    unsigned char *in; /* compressed: what was read and not yet decoded is in[in_at, in_n) */
    size_t in_at, in_n;
    bool eof;     /* of the file */
    bool between; /* no member or frame is half decoded */
    bool any;     /* some member or frame was whole */
    z_stream z;
    ZSTD_DStream *zd;
};

static cr_codec codec_of(const unsigned char *p, size_t n) {
    if (n >= 2 && p[0] == 0x1f && p[1] == 0x8b) return CR_GZIP;
    if (n >= 4 && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd) return CR_ZSTD;
    /* A skippable frame may come first. */
    if (n >= 4 && (p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18)
        return CR_ZSTD;
    return CR_PLAIN;
}

/* Waits until standard input has bytes or has ended. False: the user has asked to stop. A read
 * alone would not notice that, because threads that read have all signals blocked. */
static bool live_wait(void) {
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    while (!cr_stop_requested) {
        int n = poll(&p, 1, STOP_MS);
        if (n > 0 || (n < 0 && errno != EINTR)) return true;
    }
    return false;
}

/* Reads the next bytes of standard input, as many as one read gives; EINTR: the user has asked to
 * stop. */
static ssize_t live_some(cr_stream *s, char *buf, size_t n) {
    if (!live.gone && s->at < live.n) {
        size_t k = live.n - s->at < n ? live.n - s->at : n;
        memcpy(buf, live.kept + s->at, k);
        s->at += k;
        return (ssize_t)k;
    }
    if (!live_wait()) {
        errno = EINTR;
        return -1;
    }
    ssize_t k;
    do
        k = read(STDIN_FILENO, buf, n);
    while (k < 0 && errno == EINTR);
    if (k <= 0 || live.gone) return k;
    if (live.n + (size_t)k > CR_LIVE_KEPT) {
        cr_free(live.kept);
        live.kept = NULL;
        live.gone = true;
        return k;
    }
    if (live.n + (size_t)k > live.cap) {
        size_t cap = 2 * live.cap > live.n + (size_t)k ? 2 * live.cap : live.n + (size_t)k;
        char *p = cr_alloc(cap, "the first bytes of standard input");
        if (live.n) memcpy(p, live.kept, live.n);
        cr_free(live.kept);
        live.kept = p;
        live.cap = cap;
    }
    memcpy(live.kept + live.n, buf, (size_t)k);
    live.n += (size_t)k;
    s->at = live.n;
    return k;
}

/* Reads as many bytes as there are, at most n. */
static cr_code read_next(cr_stream *s, void *buf, size_t n, size_t *got, cr_err *err) {
    *got = 0;
    if (s->f) {
        cr_code code = cr_fs_pread(s->f, s->pos, buf, n, got, err);
        s->pos += (int64_t)*got;
        return code;
    }
    while (*got < n) {
        ssize_t k = live_some(s, (char *)buf + *got, n - *got);
        if (k < 0 && errno == EINTR) return cr_fail(err, CR_ESTOP, "stopped by a signal");
        if (k < 0) return cr_io_fail(err, s->path, "read", errno);
        if (k == 0) break;
        *got += (size_t)k;
    }
    return CR_OK;
}

static cr_stream *new_stream(cr_fs *f, const char *path, int64_t size, const unsigned char *magic,
                             size_t n) {
    cr_stream *s = cr_alloc(sizeof(*s), "a file being read");
    s->f = f;
    s->path = path;
    s->size = size;
    s->codec = codec_of(magic, n);
    s->between = true;
    if (s->codec != CR_PLAIN) s->in = cr_alloc(IN_BYTES, "a file being read");
    if ((s->codec == CR_GZIP && inflateInit2(&s->z, 15 + 16) != Z_OK) ||
        (s->codec == CR_ZSTD && !(s->zd = ZSTD_createDStream())))
        cr_no_memory(0, "a file being unpacked");
    /* zstd --long=31 looks back 2 GiB; the decoder takes memory only for the window that the file
     * needs. */
    if (s->zd) ZSTD_DCtx_setParameter(s->zd, ZSTD_d_windowLogMax, WINDOW_LOG);
    return s;
}

/* Is standard input a file that can be opened again? It cannot when some of it was read already. */
static bool stdin_is_file(void) {
    struct stat st;
    return fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
           lseek(STDIN_FILENO, 0, SEEK_CUR) == 0;
}

static cr_code open_live(cr_stream **out, const char *path, cr_err *err) {
    if (live.gone)
        return cr_fail_at(err, CR_EIO, ((cr_loc){path, 0, 0}),
                          "standard input was read already and cannot be read again; write it to a "
                          "file and name that");
    unsigned char magic[4];
    cr_stream first = {.path = path};
    size_t n;
    CR_TRY(read_next(&first, magic, sizeof(magic), &n, err));
    *out = new_stream(NULL, path, 0, magic, n);
    return CR_OK;
}

cr_code cr_stream_open(cr_stream **out, const char *path, cr_err *err) {
    *out = NULL;
    if (strcmp(path, CR_STDIN) == 0 && !stdin_is_file()) return open_live(out, path, err);
    cr_fs *f;
    CR_TRY(cr_fs_open(&f, path, err));
    const cr_fs_stat *st = cr_fs_info(f);
    cr_loc at = {path, 0, 0};
    unsigned char magic[4];
    size_t n = 0;
    cr_code code = CR_OK;
    if (st->kind == CR_FS_DIR)
        code = cr_fail_at(err, CR_EIO, at,
                          "cannot read: it is a directory; name the files in it, with a glob");
    else if (st->kind != CR_FS_FILE)
        code = cr_fail_at(err, CR_EIO, at,
                          "not a regular file; data is read more than once and out of order, so "
                          "copy it into a file first, or give it to standard input (-)");
    else
        code = cr_fs_pread(f, 0, magic, sizeof(magic), &n, err);
    if (code == CR_OK)
        *out = new_stream(f, path, st->size, magic, n);
    else
        cr_fs_close(f);
    return code;
}

void cr_stream_close(cr_stream *s) {
    if (!s) return;
    if (s->codec == CR_GZIP) inflateEnd(&s->z);
    if (s->codec == CR_ZSTD) ZSTD_freeDStream(s->zd);
    cr_free(s->in);
    cr_fs_close(s->f);
    cr_free(s);
}

bool cr_stream_live(const cr_stream *s) {
    return !s->f;
}

bool cr_stream_far(const cr_stream *s) {
    return s->f && cr_fs_is_far(s->f);
}

void cr_stream_will_need(cr_stream *s, int64_t at, int64_t n) {
    if (s->f) cr_fs_will_need(s->f, &(cr_fs_range){at, n}, 1);
}

cr_codec cr_stream_codec(const cr_stream *s) {
    return s->codec;
}

int64_t cr_stream_size(const cr_stream *s) {
    return s->size;
}

cr_code cr_stream_id(const cr_stream *s, cr_file_id *out, cr_err *err) {
    *out = (cr_file_id){0};
    return s->f ? cr_file_id_read(out, s->f, err) : CR_OK;
}

cr_code cr_stream_check(const cr_stream *s, const cr_file_id *was, cr_err *err) {
    return s->f ? cr_file_id_check(was, s->f, err) : CR_OK;
}

static cr_code cut_short(const cr_stream *s, cr_err *err) {
    return cr_fail_at(err, CR_EDATA, ((cr_loc){s->path, 0, 0}),
                      "%s data ends in the middle; the file is cut short, copy or make it again",
                      s->codec == CR_GZIP ? "gzip" : "zstd");
}

static cr_code broken(const cr_stream *s, const char *why, cr_err *err) {
    return cr_fail_at(err, CR_EDATA, ((cr_loc){s->path, 0, 0}),
                      "broken %s data: %s; copy or make the file again",
                      s->codec == CR_GZIP ? "gzip" : "zstd", why ? why : "no reason given");
}

/* Decodes from in to buf, and moves both on. */
static cr_code inflate_some(cr_stream *s, char *buf, size_t n, size_t *got, cr_err *err) {
    unsigned char *p = s->in + s->in_at;
    size_t left = s->in_n - s->in_at;
    if (s->between && s->any) { /* zeros may fill up the file behind a member */
        while (left && *p == 0) {
            p++;
            left--;
        }
        s->in_at = s->in_n - left;
        if (!left) return CR_OK;
    }
    s->z.next_in = p;
    s->z.avail_in = (uInt)left;
    s->z.next_out = (unsigned char *)buf;
    s->z.avail_out = (uInt)(n < (1u << 30) ? n : (1u << 30));
    uInt room = s->z.avail_out;
    int r = inflate(&s->z, Z_NO_FLUSH);
    *got = room - s->z.avail_out;
    s->in_at = s->in_n - s->z.avail_in;
    s->between = false;
    if (r == Z_STREAM_END) {
        s->between = s->any = true;
        inflateReset(&s->z);
    } else if (r != Z_OK && r != Z_BUF_ERROR)
        return broken(s, s->any && *got == 0 ? "something else follows it" : s->z.msg, err);
    return CR_OK;
}

static cr_code unzstd_some(cr_stream *s, char *buf, size_t n, size_t *got, cr_err *err) {
    ZSTD_inBuffer in = {s->in, s->in_n, s->in_at};
    ZSTD_outBuffer out = {buf, n, 0};
    size_t r = ZSTD_decompressStream(s->zd, &out, &in);
    ZSTD_ErrorCode e = ZSTD_getErrorCode(r);
    if (e == ZSTD_error_frameParameter_windowTooLarge || e == ZSTD_error_memory_allocation)
        return cr_fail_at(err, CR_ENOMEM, ((cr_loc){s->path, 0, 0}),
                          "%s compress the file again without --long",
                          e == ZSTD_error_memory_allocation
                              ? "there is no memory for the window of this zstd data; allow more "
                                "memory, or"
                              : "the window of this zstd data is larger than the 2 GiB that are "
                                "read;");
    if (ZSTD_isError(r)) return broken(s, ZSTD_getErrorName(r), err);
    s->in_at = in.pos;
    *got = out.pos;
    s->between = r == 0;
    return CR_OK;
}

cr_code cr_stream_read(cr_stream *s, char *buf, size_t n, size_t *got, cr_err *err) {
    *got = 0;
    if (s->codec == CR_PLAIN) return read_next(s, buf, n, got, err);
    while (*got == 0 && n > 0) {
        if (s->in_at == s->in_n && !s->eof) {
            CR_TRY(read_next(s, s->in, IN_BYTES, &s->in_n, err));
            s->in_at = 0;
            s->eof = s->in_n < IN_BYTES;
        }
        size_t at = s->in_at;
        /* Without input a decoder may still hold output, unless it is between two members. */
        if (s->in_at == s->in_n && s->between) return CR_OK;
        CR_TRY(s->codec == CR_GZIP ? inflate_some(s, buf, n, got, err)
                                   : unzstd_some(s, buf, n, got, err));
        if (*got == 0 && s->in_at == at && s->in_at == s->in_n && s->eof && !s->between)
            return cut_short(s, err);
        if (*got == 0 && s->in_at == at && s->in_at < s->in_n && !s->between)
            return broken(s, "the decoder does not go on", err);
    }
    return CR_OK;
}

cr_code cr_stream_pread(cr_stream *s, char *buf, size_t n, int64_t offset, cr_err *err) {
    size_t k;
    CR_TRY(cr_fs_pread(s->f, offset, buf, n, &k, err));
    if (k < n)
        return cr_fail_at(
            err, CR_EIO, ((cr_loc){s->path, 0, 0}),
            "the file became shorter while it was read (%lld of %lld bytes are left); "
            "keep data files as they are during a run",
            (long long)offset + (long long)k, (long long)s->size);
    return CR_OK;
}
