/*
 * logfile.c - see logfile.h.
 */
#include "run/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/kill_point.h"
#include "base/log.h"
#include "base/mem.h"

struct cr_logfile {
    char *path;
    int fd; /* -1: given up */
};

static cr_code open_it(cr_logfile **out, const char *path, int flags, cr_err *err) {
    *out = NULL;
    bool std = strcmp(path, "-") == 0;
    if (!std) CR_TRY(cr_can_write(path, err)); /* its messages have cures */
    int fd = std ? dup(STDOUT_FILENO) : open(path, flags | O_CLOEXEC | O_CREAT, 0666);
    if (fd < 0) return cr_io_fail(err, path, "write", errno);
    cr_logfile *f = cr_alloc(sizeof(*f), "a log file");
    const char *name = std ? "stdout" : path;
    f->path = cr_alloc(strlen(name) + 1, "a log file");
    memcpy(f->path, name, strlen(name) + 1);
    f->fd = fd;
    *out = f;
    return CR_OK;
}

cr_code cr_logfile_open(cr_logfile **out, const char *path, cr_err *err) {
    CR_TRY(open_it(out, path, O_RDWR | O_APPEND, err));
    struct stat st;
    char last;
    cr_logfile *f = *out;
    if (strcmp(path, "-") != 0 && fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        pread(f->fd, &last, 1, st.st_size - 1) == 1 && last != '\n')
        cr_logfile_write(f, "\n", 1);
    return CR_OK;
}

cr_code cr_logfile_new(cr_logfile **out, const char *path, cr_err *err) {
    return open_it(out, path, O_WRONLY | O_APPEND | O_EXCL, err);
}

void cr_logfile_write(cr_logfile *f, const void *data, size_t n) {
    if (!f || f->fd < 0 || n == 0) return;
    struct stat st;
    bool regular = fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode);
    const char *p = data;
    cr_kill_point("write");
    size_t torn = cr_kill_torn(f->fd, p, n);
    p += torn;
    for (size_t left = n - torn; left > 0;) {
        ssize_t k = write(f->fd, p, left);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) {
            CR_WARN("%s: cannot write: %s; nothing more is logged there, the run goes on", f->path,
                    k < 0 ? strerror(errno) : "no room");
            if (regular && ftruncate(f->fd, st.st_size) != 0)
                CR_WARN("%s: its last record is cut short", f->path);
            close(f->fd);
            f->fd = -1;
            return;
        }
        p += k;
        left -= (size_t)k;
    }
}

void cr_logfile_close(cr_logfile *f) {
    if (!f) return;
    if (f->fd >= 0) close(f->fd);
    cr_free(f->path);
    cr_free(f);
}
