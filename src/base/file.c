/*
 * file.c - the content of files: read whole, append, and replace in one step, on top of the stores.
 */
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs_int.h"

#define COPY_SIZE ((size_t)256 << 10)
/* a store that cannot append gets the whole log again once so many new bytes wait */
#define SETTLE ((size_t)64 << 10)

cr_code cr_io_fail(cr_err *err, const char *path, const char *what, int e) {
    return cr_fs_fail(err, path, what, e, NULL);
}

static cr_code open_to_read(const char *path, bool any, cr_fs **f, cr_err *err) {
    CR_TRY(any ? cr_fs_open_any(f, path, err) : cr_fs_open(f, path, err));
    cr_fs_kind kind = cr_fs_info(*f)->kind;
    if (kind == CR_FS_FILE || (any && kind == CR_FS_OTHER)) return CR_OK;
    cr_fs_close(*f);
    *f = NULL;
    if (kind == CR_FS_DIR) return cr_io_fail(err, path, "read", EISDIR);
    return cr_fail_at(
        err, CR_EIO, ((cr_loc){path, 0, 0}),
        "not a regular file, but a device, pipe or socket; copy the data into a file");
}

static cr_code read_whole(const char *path, bool any, size_t max, cr_buf *out, cr_err *err) {
    cr_fs *f;
    cr_buf_reset(out);
    CR_TRY(open_to_read(path, any, &f, err));
    cr_code code = CR_OK;
    const cr_fs_stat *st = cr_fs_info(f);
    size_t size = st->kind == CR_FS_FILE && st->size > 0 ? (size_t)st->size : 0;
    if (max && size > max) goto too_large;
    if (size >= out->cap) {
        /* the size comes from the file, so running out of memory is reported; one byte more than
         * the size shows the end without growing */
        void *p;
        code = cr_try_alloc(&p, size + 2, path, err);
        if (code != CR_OK) goto out;
        cr_buf_clear(out);
        *out = (cr_buf){p, 0, size + 2};
    }
    for (;;) {
        cr_buf_reserve(out, 1);
        size_t room = out->cap - out->n - 1, k;
        code = cr_fs_pread(f, (int64_t)out->n, out->data + out->n, room, &k, err);
        if (code != CR_OK) goto out;
        out->n += k;
        out->data[out->n] = 0;
        if (max && out->n > max) goto too_large;
        if (k < room) break;
    }
    goto out;
too_large:
    code = cr_fail_at(err, CR_EIO, ((cr_loc){path, 0, 0}),
                      "the file is larger than the %zu bytes allowed here; is it the right file?",
                      max);
out:
    if (code != CR_OK) cr_buf_reset(out);
    cr_fs_close(f);
    return code;
}

cr_code cr_file_read(const char *path, size_t max, cr_buf *out, cr_err *err) {
    return read_whole(path, false, max, out, err);
}

cr_code cr_file_read_any(const char *path, size_t max, cr_buf *out, cr_err *err) {
    return read_whole(path, true, max, out, err);
}

/* ---- writing a file ---- */

struct cr_outfile {
    const cr_store *s;
    void *out;
    char *path;
    int failed; /* errno of the first failed write */
    cr_fs_why why;
    bool no_sync;
    cr_buf *all;    /* the whole file, for a store that cannot append; else NULL */
    size_t settled; /* bytes of `all` that the store has */
    size_t n;
    char buf[64 << 10];
};

static void free_outfile(cr_outfile *f) {
    if (f->all) {
        cr_buf_clear(f->all);
        cr_free(f->all);
    } else
        f->s->end(f->out);
    if (f->s->can & CR_FS_FAR) cr_kept_forget(f->path);
    cr_free(f->path);
    cr_free(f);
}

static int put_again(const cr_store *s, void **out, const char *path, unsigned flags,
                     cr_fs_why *why) {
    int e;
    *why = (cr_fs_why){0};
    do
        e = s->put(out, path, flags, why);
    while (e != 0 && cr_fs_again(s, e, &why->tries));
    return e;
}

static cr_code put(cr_outfile **out, const char *path, unsigned flags, cr_err *err) {
    const cr_store *s = cr_store_of(flags & CR_PUT_STDOUT ? "" : path);
    cr_fs_why why;
    void *w = NULL;
    *out = NULL;
    if (!s) return cr_io_fail(err, path, "write", ENOTSUP);
    bool whole = flags & CR_PUT_APPEND && !(s->can & CR_FS_APPEND);
    int e = whole ? 0 : put_again(s, &w, path, flags, &why);
    if (e != 0)
        return cr_fs_fail(err, path,
                          e == EISDIR || flags & CR_PUT_STDOUT ? "write" : "open for writing", e,
                          &why);
    cr_outfile *f = cr_alloc(sizeof(*f), "an output file");
    f->s = s;
    f->out = w;
    f->path = cr_alloc(strlen(path) + 1, "a path");
    memcpy(f->path, path, strlen(path) + 1);
    *out = f;
    if (!whole) return CR_OK;
    f->all = cr_alloc(sizeof(*f->all), "an output file");
    cr_buf_init(f->all);
    cr_code code = CR_OK;
    if (!cr_path_exists(path)) return CR_OK;
    if (flags & CR_PUT_NEW)
        code = cr_io_fail(err, path, "open for writing", EEXIST);
    else
        code = cr_file_read(path, 0, f->all, err);
    f->settled = f->all->n;
    if (code != CR_OK) {
        free_outfile(f);
        *out = NULL;
    }
    return code;
}

cr_code cr_outfile_append(cr_outfile **out, const char *path, bool fresh, cr_err *err) {
    return put(out, path, CR_PUT_APPEND | (fresh ? CR_PUT_NEW : 0), err);
}

cr_code cr_outfile_open(cr_outfile **out, const char *path, cr_err *err) {
    return put(out, path, 0, err);
}

cr_code cr_outfile_stdout(cr_outfile **out, cr_err *err) {
    return put(out, "standard output", CR_PUT_STDOUT, err);
}

static cr_code write_failed(const cr_outfile *f, cr_err *err) {
    cr_code code = cr_fs_fail(err, f->path, "write", f->failed, &f->why);
    if (f->failed != EPIPE) return code;
    if (err) err->code = CR_ECLOSED;
    return CR_ECLOSED;
}

/* settle writes the whole file once more to a store that cannot append. */
static void settle(cr_outfile *f) {
    void *w;
    if (f->failed != 0 || f->settled == f->all->n) return;
    f->failed = put_again(f->s, &w, f->path, 0, &f->why);
    if (f->failed != 0) return;
    do
        f->failed = f->s->write(w, f->all->data, f->all->n, &f->why);
    while (f->failed != 0 && cr_fs_again(f->s, f->failed, &f->why.tries));
    if (f->failed == 0) {
        f->why = (cr_fs_why){0};
        do
            f->failed = f->s->commit(w, !f->no_sync, &f->why);
        while (f->failed != 0 && cr_fs_again(f->s, f->failed, &f->why.tries));
    }
    f->s->end(w);
    if (f->s->can & CR_FS_FAR) cr_kept_forget(f->path);
    if (f->failed == 0) f->settled = f->all->n;
}

static void write_now(cr_outfile *f, const void *data, size_t n) {
    if (f->failed != 0 || n == 0) return;
    f->why = (cr_fs_why){0};
    if (f->all) {
        cr_buf_add(f->all, data, n);
        size_t part = f->all->n / 4 > SETTLE ? f->all->n / 4 : SETTLE;
        if (f->all->n - f->settled >= part) settle(f);
        return;
    }
    do
        f->failed = f->s->write(f->out, data, n, &f->why);
    while (f->failed != 0 && cr_fs_again(f->s, f->failed, &f->why.tries));
}

cr_code cr_outfile_flush(cr_outfile *f, cr_err *err) {
    write_now(f, f->buf, f->n);
    f->n = 0;
    return f->failed == 0 ? CR_OK : write_failed(f, err);
}

cr_code cr_outfile_settle(cr_outfile *f, cr_err *err) {
    CR_TRY(cr_outfile_flush(f, err));
    if (f->all) settle(f);
    return f->failed == 0 ? CR_OK : write_failed(f, err);
}

cr_code cr_outfile_write(cr_outfile *f, const void *data, size_t n, cr_err *err) {
    if (n > sizeof(f->buf) - f->n) {
        write_now(f, f->buf, f->n);
        f->n = 0;
        if (n >= sizeof(f->buf)) {
            write_now(f, data, n);
            n = 0;
        }
    }
    if (n > 0) memcpy(f->buf + f->n, data, n);
    f->n += n;
    return f->failed == 0 ? CR_OK : write_failed(f, err);
}

cr_code cr_outfile_commit(cr_outfile *f, cr_err *err) {
    cr_code code = cr_outfile_settle(f, err);
    if (code == CR_OK && !f->all) {
        f->why = (cr_fs_why){0};
        do
            f->failed = f->s->commit(f->out, !f->no_sync, &f->why);
        while (f->failed != 0 && cr_fs_again(f->s, f->failed, &f->why.tries));
        if (f->failed != 0) code = write_failed(f, err);
    }
    free_outfile(f);
    return code;
}

void cr_outfile_no_sync(cr_outfile *f) {
    f->no_sync = true;
}

void cr_outfile_abort(cr_outfile *f) {
    if (f) free_outfile(f);
}

cr_code cr_file_append(const char *path, const void *data, size_t n, cr_err *err) {
    cr_outfile *f;
    CR_TRY(put(&f, path, CR_PUT_APPEND, err));
    cr_code code = cr_outfile_write(f, data, n, err);
    if (code == CR_OK) return cr_outfile_commit(f, err);
    cr_outfile_abort(f);
    return code;
}

cr_code cr_file_write(const char *path, const void *data, size_t n, cr_err *err) {
    cr_outfile *f;
    CR_TRY(cr_outfile_open(&f, path, err));
    cr_code code = cr_outfile_write(f, data, n, err);
    if (code == CR_OK) return cr_outfile_commit(f, err);
    cr_outfile_abort(f);
    return code;
}

cr_code cr_file_copy(const char *from, const char *to, cr_err *err) {
    return cr_file_copy_unless(from, to, NULL, err);
}

cr_code cr_file_copy_unless(const char *from, const char *to, const atomic_int *stop, cr_err *err) {
    cr_fs *in;
    cr_outfile *f;
    CR_TRY(open_to_read(from, false, &in, err));
    cr_code code = cr_outfile_open(&f, to, err);
    if (code != CR_OK) {
        cr_fs_close(in);
        return code;
    }
    char *block = cr_alloc(COPY_SIZE, "a copy");
    size_t k = COPY_SIZE;
    for (int64_t at = 0; code == CR_OK && k == COPY_SIZE; at += (int64_t)k) {
        code = cr_fs_pread(in, at, block, COPY_SIZE, &k, err);
        if (code == CR_OK) code = cr_outfile_write(f, block, k, err);
        if (code == CR_OK && stop && atomic_load(stop))
            code = cr_fail_at(err, CR_ESTOP, ((cr_loc){to, 0, 0}),
                              "stopped by a signal before the file was whole; nothing was written "
                              "here");
    }
    cr_free(block);
    cr_fs_close(in);
    if (code == CR_OK) return cr_outfile_commit(f, err);
    cr_outfile_abort(f);
    return code;
}

cr_code cr_sync_dir(const char *path, cr_err *err) {
    const cr_store *s = cr_store_of(path);
    int e = s && s->sync_dir ? s->sync_dir(path) : 0;
    return e == 0 ? CR_OK : cr_io_fail(err, path, "write the directory", e);
}

/* sync_parent syncs the directory that holds path. */
static cr_code sync_parent(const char *path, cr_err *err) {
    const char *slash = strrchr(path, '/');
    if (!slash) return cr_sync_dir(".", err);
    char *dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    if (!dir) cr_no_memory(0, "a path");
    cr_code code = cr_sync_dir(dir, err);
    free(dir);
    return code;
}

cr_code cr_rename(const char *from, const char *to, cr_err *err) {
    cr_fs_why why = {0};
    int e = cr_fs_move_path(from, to, CR_MOVE_OVER, &why);
    if (e == 0) return sync_parent(to, err);
    if (e == ENOTEMPTY || e == EEXIST)
        return cr_fail_at(err, CR_EIO, ((cr_loc){to, 0, 0}),
                          "cannot rename '%.200s' to this: a directory that is not empty is there; "
                          "remove it or choose another name",
                          cr_path_base(from));
    char what[300];
    snprintf(what, sizeof(what), "rename '%.250s' to this", cr_path_base(from));
    return cr_fs_fail(err, to, what, e, &why);
}
