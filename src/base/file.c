/*
 * file.c - the content of files: read whole, append, and replace in one step.
 *
 * A file is replaced by writing a neighbour "path.tmp-PID", syncing it and renaming it, then
 * syncing the directory: after a crash at any moment the path holds the old or the new content.
 * What is no plain file (/dev/stdout, a pipe) cannot be replaced and is written directly.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kill_point.h"

#define COPY_SIZE ((size_t)256 << 10)

cr_code cr_io_fail(cr_err *err, const char *path, const char *what, int e) {
    return cr_fail_at(err, CR_EIO, ((cr_loc){path, 0, 0}), "cannot %s: %s%s", what, strerror(e),
                      cr_errno_cure(e));
}

/* read_some is read() that goes on after a signal. */
static ssize_t read_some(int fd, void *p, size_t n) {
    ssize_t k;
    do
        k = read(fd, p, n < ((size_t)1 << 30) ? n : (size_t)1 << 30);
    while (k < 0 && errno == EINTR);
    return k;
}

/* write_all writes everything; returns 0 or an errno value. */
static int write_all(int fd, const char *p, size_t n) {
    cr_kill_point("write");
    size_t torn = cr_kill_torn(fd, p, n);
    p += torn;
    n -= torn;
    while (n > 0) {
        ssize_t k = write(fd, p, n < ((size_t)1 << 30) ? n : (size_t)1 << 30);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return errno;
        if (k == 0) return EIO;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

/* sync_fd is fsync that does not mind files for which syncing means nothing. */
static int sync_fd(int fd) {
    cr_kill_point("sync");
    while (fsync(fd) != 0) {
        if (errno == EINVAL || errno == ENOTSUP || errno == ENOSYS) return 0;
        if (errno != EINTR) return errno;
    }
    return 0;
}

static cr_code open_to_read(const char *path, bool any, int *fd, struct stat *st, cr_err *err) {
    /* O_NONBLOCK: a pipe without a writer is not waited for */
    *fd = open(path, O_RDONLY | O_CLOEXEC | (any ? 0 : O_NONBLOCK));
    if (*fd < 0) return cr_io_fail(err, path, "open", errno);
    int e = fstat(*fd, st) != 0 ? errno : S_ISDIR(st->st_mode) ? EISDIR : 0;
    if (e == 0 && (any || S_ISREG(st->st_mode))) return CR_OK;
    close(*fd);
    if (e != 0) return cr_io_fail(err, path, "read", e);
    return cr_fail_at(
        err, CR_EIO, ((cr_loc){path, 0, 0}),
        "not a regular file, but a device, pipe or socket; copy the data into a file");
}

static cr_code read_whole(const char *path, bool any, size_t max, cr_buf *out, cr_err *err) {
    int fd;
    struct stat st;
    cr_buf_reset(out);
    CR_TRY(open_to_read(path, any, &fd, &st, err));
    cr_code code = CR_OK;
    size_t size = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size : 0;
    if (max && size > max) goto too_large;
    if (size >= out->cap) {
        /* the size is the file's, not ours: running out of memory is reported. One byte more
         * than the size lets the end be seen without growing */
        void *p;
        code = cr_try_alloc(&p, size + 2, path, err);
        if (code != CR_OK) goto out;
        cr_buf_clear(out);
        *out = (cr_buf){p, 0, size + 2};
    }
    for (;;) {
        cr_buf_reserve(out, 1);
        size_t room = out->cap - out->n - 1;
        ssize_t k = read_some(fd, out->data + out->n, room);
        if (k < 0) {
            code = cr_io_fail(err, path, "read", errno);
            goto out;
        }
        if (k == 0) break;
        out->n += (size_t)k;
        out->data[out->n] = 0;
        if (max && out->n > max) goto too_large;
    }
    goto out;
too_large:
    code = cr_fail_at(err, CR_EIO, ((cr_loc){path, 0, 0}),
                      "the file is larger than the %zu bytes allowed here; is it the right file?",
                      max);
out:
    if (code != CR_OK) cr_buf_reset(out);
    close(fd);
    return code;
}

cr_code cr_file_read(const char *path, size_t max, cr_buf *out, cr_err *err) {
    return read_whole(path, false, max, out, err);
}

cr_code cr_file_read_any(const char *path, size_t max, cr_buf *out, cr_err *err) {
    return read_whole(path, true, max, out, err);
}

cr_code cr_file_append(const char *path, const void *data, size_t n, cr_err *err) {
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return cr_io_fail(err, path, "open for writing", errno);
    struct stat st;
    bool known = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    int e = write_all(fd, data, n);
    if (e == 0) e = sync_fd(fd);
    /* half a line is worse than none; when even cutting it off fails, the first error is told */
    if (e != 0 && known) (void)!ftruncate(fd, st.st_size);
    if (close(fd) != 0 && e == 0) e = errno;
    return e == 0 ? CR_OK : cr_io_fail(err, path, "write", e);
}

/* ---- replacing a file ---- */

struct cr_outfile {
    char *path, *tmp; /* tmp NULL: written directly */
    int fd, failed;   /* failed: errno of the first failed write */
    bool no_sync;
    size_t n;
    char buf[64 << 10];
};

static void free_outfile(cr_outfile *f) {
    if (f->fd >= 0) close(f->fd);
    free(f->path);
    cr_free(f->tmp);
    cr_free(f);
}

cr_code cr_outfile_open(cr_outfile **out, const char *path, cr_err *err) {
    *out = NULL;
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) return cr_io_fail(err, path, "write", EISDIR);
    cr_outfile *f = cr_alloc(sizeof(*f), "an output file");
    f->fd = -1;
    /* through a link the file behind it is replaced, not the link */
    f->path = exists ? realpath(path, NULL) : NULL;
    if (!f->path) f->path = strdup(path);
    if (!f->path) cr_no_memory(0, "a path");
    const char *name = f->path;
    if (exists && !S_ISREG(st.st_mode))
        f->fd = open(name, O_WRONLY | O_CLOEXEC);
    else {
        size_t size = strlen(f->path) + 32;
        f->tmp = cr_alloc(size, "a path");
        snprintf(f->tmp, size, "%s.tmp-%ld", f->path, (long)getpid());
        name = f->tmp;
        f->fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    }
    if (f->fd < 0) {
        int e = errno;
        free_outfile(f);
        return cr_io_fail(err, path, "open for writing", e);
    }
    *out = f;
    return CR_OK;
}

cr_code cr_outfile_stdout(cr_outfile **out, cr_err *err) {
    cr_outfile *f = cr_alloc(sizeof(*f), "standard output");
    *out = NULL;
    f->path = strdup("standard output");
    if (!f->path) cr_no_memory(0, "a path");
    fflush(stdout);
    f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (f->fd < 0) {
        int e = errno;
        free_outfile(f);
        return cr_io_fail(err, "standard output", "write", e);
    }
    *out = f;
    return CR_OK;
}

static cr_code write_failed(const cr_outfile *f, int e, cr_err *err) {
    cr_code code = cr_io_fail(err, f->path, "write", e);
    if (e != EPIPE) return code;
    if (err) err->code = CR_ECLOSED;
    return CR_ECLOSED;
}

static int flush(cr_outfile *f) {
    if (f->failed == 0 && f->n > 0) f->failed = write_all(f->fd, f->buf, f->n);
    f->n = 0;
    return f->failed;
}

cr_code cr_outfile_write(cr_outfile *f, const void *data, size_t n, cr_err *err) {
    if (n > sizeof(f->buf) - f->n) {
        flush(f);
        if (n >= sizeof(f->buf)) {
            if (f->failed == 0) f->failed = write_all(f->fd, data, n);
            n = 0;
        }
    }
    if (n > 0) memcpy(f->buf + f->n, data, n);
    f->n += n;
    return f->failed == 0 ? CR_OK : write_failed(f, f->failed, err);
}

cr_code cr_outfile_commit(cr_outfile *f, cr_err *err) {
    cr_code code = CR_OK;
    int e = flush(f);
    if (e == 0 && !f->no_sync) e = sync_fd(f->fd);
    if (close(f->fd) != 0 && e == 0) e = errno;
    f->fd = -1;
    if (e != 0) code = write_failed(f, e, err);
    if (f->tmp) {
        if (code == CR_OK) code = cr_rename(f->tmp, f->path, err);
        if (code != CR_OK) (void)unlink(f->tmp);
    }
    free_outfile(f);
    return code;
}

void cr_outfile_no_sync(cr_outfile *f) {
    f->no_sync = true;
}

void cr_outfile_abort(cr_outfile *f) {
    if (!f) return;
    if (f->tmp) (void)unlink(f->tmp);
    free_outfile(f);
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
    int fd;
    struct stat st;
    cr_outfile *f;
    CR_TRY(open_to_read(from, false, &fd, &st, err));
    cr_code code = cr_outfile_open(&f, to, err);
    if (code != CR_OK) {
        close(fd);
        return code;
    }
    char *block = cr_alloc(COPY_SIZE, "a copy");
    ssize_t k = 0;
    while (code == CR_OK && (k = read_some(fd, block, COPY_SIZE)) > 0)
        code = cr_outfile_write(f, block, (size_t)k, err);
    if (k < 0) code = cr_io_fail(err, from, "read", errno);
    cr_free(block);
    close(fd);
    if (code == CR_OK) return cr_outfile_commit(f, err);
    cr_outfile_abort(f);
    return code;
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

cr_code cr_sync_dir(const char *path, cr_err *err) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* a directory that may be written but not read cannot be synced; the rename still holds */
    if (fd < 0) return errno == EACCES ? CR_OK : cr_io_fail(err, path, "open the directory", errno);
    int e = sync_fd(fd);
    close(fd);
    return e == 0 ? CR_OK : cr_io_fail(err, path, "write the directory", e);
}

cr_code cr_rename(const char *from, const char *to, cr_err *err) {
    cr_kill_point("rename");
    if (rename(from, to) != 0) {
        int e = errno;
        char what[300];
        if (e == ENOTEMPTY || e == EEXIST)
            return cr_fail_at(err, CR_EIO, ((cr_loc){to, 0, 0}),
                              "cannot rename '%.200s' to this: a directory that is not empty is "
                              "there; remove it or choose another name",
                              cr_path_base(from));
        snprintf(what, sizeof(what), "rename '%.250s' to this", cr_path_base(from));
        return cr_io_fail(err, to, what, e);
    }
    cr_kill_point("renamed");
    return sync_parent(to, err);
}
