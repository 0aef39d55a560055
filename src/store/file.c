/*
 * file.c - the store `file`: the local disk, by the kernel's calls.
 *
 * A file is put by writing a neighbour "path.tmp-PID", syncing it and renaming it, then syncing the
 * directory: after a crash at any moment the path holds the old or the new content. A path that is
 * no plain file (/dev/stdout, a pipe) cannot be replaced and is written directly.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs_list.h"
#include "base/kill_point.h"

#define MOST ((size_t)1 << 30)   /* most bytes of one read or write */
#define PUSH ((int64_t)16 << 20) /* every 16 MiB the disk starts to write */

typedef struct in_file {
    int fd;
    bool stream; /* a pipe or a device: read the next bytes whatever the position is */
} in_file;

static int64_t ns(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static cr_fs_stat stat_of(const struct stat *st) {
    return (cr_fs_stat){.kind = S_ISREG(st->st_mode)   ? CR_FS_FILE
                                : S_ISDIR(st->st_mode) ? CR_FS_DIR
                                : S_ISLNK(st->st_mode) ? CR_FS_LINK
                                                       : CR_FS_OTHER,
                        .size = (int64_t)st->st_size,
                        .dev = (uint64_t)st->st_dev,
                        .ino = (uint64_t)st->st_ino,
                        .changed = ns(st->st_mtim),
                        .touched = ns(st->st_ctim)};
}

/* ---- reading ---- */

static int file_open(void **file, const char *path, bool wait, cr_fs_stat *st, cr_fs_why *why) {
    (void)why;
    int fd = open(path, O_RDONLY | O_CLOEXEC | (wait ? 0 : O_NONBLOCK));
    struct stat s;
    if (fd < 0) return errno;
    if (fstat(fd, &s) != 0) {
        int e = errno;
        close(fd);
        return e;
    }
    *st = stat_of(&s);
    in_file *f = cr_alloc(sizeof *f, "an open file");
    *f = (in_file){fd, st->kind == CR_FS_OTHER};
    *file = f;
    return 0;
}

static int file_pread(void *file, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why) {
    (void)why;
    const in_file *f = file;
    ssize_t k;
    do
        k = f->stream ? read(f->fd, buf, n < MOST ? n : MOST)
                      : pread(f->fd, buf, n < MOST ? n : MOST, (off_t)at);
    while (k < 0 && errno == EINTR);
    *got = k > 0 ? (size_t)k : 0;
    return k < 0 ? errno : 0;
}

static void file_close(void *file) {
    in_file *f = file;
    close(f->fd);
    cr_free(f);
}

static int file_restat(void *file, cr_fs_stat *st, cr_fs_why *why) {
    (void)why;
    const in_file *f = file;
    struct stat s;
    if (fstat(f->fd, &s) != 0) return errno;
    *st = stat_of(&s);
    return 0;
}

static void file_will_need(void *file, int64_t at, int64_t n) {
    const in_file *f = file;
    (void)posix_fadvise(f->fd, (off_t)at, (off_t)n, POSIX_FADV_WILLNEED);
}

static int file_map(void *file, size_t n, const void **out) {
    const in_file *f = file;
    void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, f->fd, 0);
    if (p == MAP_FAILED) return errno;
    *out = p;
    return 0;
}

static void file_unmap(const void *p, size_t n) {
    if (munmap((void *)(uintptr_t)p, n) != 0) CR_BUG("a part of a file that is not mapped");
}

/* ---- names ---- */

static int file_stat(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why) {
    (void)why;
    struct stat s;
    if ((follow ? stat(path, &s) : lstat(path, &s)) != 0) return errno;
    *st = stat_of(&s);
    return 0;
}

static int file_list(const char *path, cr_fs_each each, void *ctx, cr_fs_why *why) {
    (void)why;
    DIR *d = opendir(path);
    if (!d) return errno;
    struct dirent *ent;
    while (errno = 0, (ent = readdir(d))) {
        if (strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0) continue;
        each(ctx, ent->d_name,
             ent->d_type == DT_REG   ? CR_FS_FILE
             : ent->d_type == DT_DIR ? CR_FS_DIR
                                     : CR_FS_UNKNOWN);
    }
    int e = errno;
    closedir(d);
    return e;
}

static int file_glob(const char *pattern, cr_fs_each each, void *ctx) {
    glob_t g;
    int rc = glob(pattern, GLOB_NOSORT | GLOB_BRACE | GLOB_TILDE, NULL, &g);
    for (size_t i = 0; rc == 0 && i < g.gl_pathc; i++)
        each(ctx, g.gl_pathv[i], CR_FS_UNKNOWN);
    globfree(&g);
    return rc == GLOB_NOSPACE ? ENOMEM : 0;
}

static int file_make_dir(const char *path, cr_fs_why *why) {
    (void)why;
    cr_kill_point("mkdir");
    return mkdir(path, 0777) != 0 ? errno : 0;
}

/* remove_in removes everything in the directory behind fd, and closes fd. Returns errno or 0. */
static int remove_in(int fd) {
    DIR *d = fdopendir(fd);
    if (!d) {
        int e = errno;
        close(fd);
        return e;
    }
    int e = 0;
    struct dirent *ent;
    while (e == 0 && (errno = 0, ent = readdir(d))) {
        const char *name = ent->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        cr_kill_point("remove");
        if (unlinkat(fd, name, 0) == 0 || errno == ENOENT) continue;
        if (errno != EISDIR && errno != EPERM) { /* POSIX wants EPERM for a directory */
            e = errno;
            break;
        }
        int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0) {
            e = errno == ENOTDIR ? EPERM : errno;
            break;
        }
        e = remove_in(sub);
        if (e == 0 && unlinkat(fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT) e = errno;
    }
    if (e == 0 && !ent && errno) e = errno;
    closedir(d);
    return e;
}

static int file_remove(const char *path, bool tree, cr_fs_why *why) {
    (void)why;
    struct stat st;
    if (lstat(path, &st) != 0) return errno;
    if (!S_ISDIR(st.st_mode)) return unlink(path) != 0 ? errno : 0;
    int e = 0;
    if (tree) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        e = fd < 0 ? errno : remove_in(fd);
        cr_kill_point("remove");
    }
    if (e == 0 && rmdir(path) != 0) e = errno;
    return e;
}

static int file_move(const char *from, const char *to, cr_fs_move how, cr_fs_why *why) {
    (void)why;
    struct stat st;
    cr_kill_point("rename");
    bool done = false;
    if (how != CR_MOVE_OVER) {
        unsigned flag = how == CR_MOVE_NEW ? RENAME_NOREPLACE : RENAME_EXCHANGE;
        done = renameat2(AT_FDCWD, from, AT_FDCWD, to, flag) == 0;
        if (!done && how == CR_MOVE_SWAP) return ENOTSUP;
        if (!done && (errno == EEXIST || lstat(to, &st) == 0)) return EEXIST;
        /* a file system without NOREPLACE; plain rename still refuses a directory with content */
    }
    if (!done && rename(from, to) != 0) return errno;
    cr_kill_point("renamed");
    return 0;
}

/* sync_fd is fsync, but accepts files for which syncing means nothing. */
static int sync_fd(int fd) {
    cr_kill_point("sync");
    while (fsync(fd) != 0) {
        if (errno == EINVAL || errno == ENOTSUP || errno == ENOSYS) return 0;
        if (errno != EINTR) return errno;
    }
    return 0;
}

static int file_sync_dir(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* a directory that may be written but not read cannot be synced; the rename holds all the
     * same */
    if (fd < 0) return errno == EACCES ? 0 : errno;
    int e = sync_fd(fd);
    close(fd);
    return e;
}

static int file_can_write(const char *path) {
    struct stat st;
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ? EISDIR : access(path, W_OK) != 0 ? errno : 0;
    if (errno != ENOENT) return errno;
    char *dir = strdup(path);
    if (!dir) cr_no_memory(0, "a path");
    char *slash = strrchr(dir, '/');
    if (slash) slash[slash == dir] = 0;
    int e = access(slash ? dir : ".", W_OK | X_OK) != 0 ? errno : 0;
    free(dir);
    return e;
}

static char *file_real(const char *path) {
    char *real = realpath(path, NULL);
    if (!real && errno == ENOMEM) cr_no_memory(0, "a path"); /* "does not exist" would be wrong */
    return real;
}

/* ---- writing ---- */

typedef struct out_file {
    char *path, *tmp; /* tmp NULL: written directly */
    int fd;
    bool append;
    int64_t size, pushed;
} out_file;

static void file_end(void *out);

static int open_tmp(out_file *f, const char *path, unsigned flags) {
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) return EISDIR;
    if (exists && flags & CR_PUT_NEW) return EEXIST;
    /* a path that is a link stays one: the file behind it is replaced */
    f->path = exists ? file_real(path) : NULL;
    if (!f->path) f->path = strdup(path);
    if (!f->path) cr_no_memory(0, "a path");
    if (exists && !S_ISREG(st.st_mode))
        f->fd = open(f->path, O_WRONLY | O_CLOEXEC);
    else {
        size_t size = strlen(f->path) + 32;
        f->tmp = cr_alloc(size, "a path");
        snprintf(f->tmp, size, "%s.tmp-%ld", f->path, (long)getpid());
        f->fd = open(f->tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    }
    return f->fd < 0 ? errno : 0;
}

static int file_put(void **out, const char *path, unsigned flags, cr_fs_why *why) {
    (void)why;
    out_file *f = cr_alloc(sizeof *f, "an output file");
    int e = 0;
    f->fd = -1;
    if (flags & CR_PUT_STDOUT) {
        fflush(stdout);
        f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    } else if (flags & CR_PUT_APPEND) {
        int only = flags & CR_PUT_NEW ? O_EXCL : 0;
        f->append = true;
        f->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | only, 0666);
    } else
        e = open_tmp(f, path, flags);
    if (e == 0 && f->fd < 0) e = errno;
    if (e != 0) {
        if (f->fd < 0 && f->tmp) { /* an old file of that name is not ours to remove */
            cr_free(f->tmp);
            f->tmp = NULL;
        }
        file_end(f);
        return e;
    }
    *out = f;
    return 0;
}

/* write_all writes everything; returns 0 or an errno value. */
static int write_all(int fd, const char *p, size_t n) {
    cr_kill_point("write");
    size_t torn = cr_kill_torn(fd, p, n);
    p += torn;
    n -= torn;
    while (n > 0) {
        ssize_t k = write(fd, p, n < MOST ? n : MOST);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return errno;
        if (k == 0) return EIO;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static int file_write(void *out, const void *data, size_t n, cr_fs_why *why) {
    (void)why;
    out_file *f = out;
    struct stat st;
    bool known = f->append && fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode);
    int e = write_all(f->fd, data, n);
    /* half a line is worse than none; when even cutting it off fails, the first error is
     * reported */
    if (e != 0 && known) (void)!ftruncate(f->fd, st.st_size);
    f->size += (int64_t)n;
    /* only a hint: the fsync at the end is what counts */
    if (f->tmp && f->size - f->pushed >= PUSH) {
        (void)sync_file_range(f->fd, f->pushed, f->size - f->pushed, SYNC_FILE_RANGE_WRITE);
        f->pushed = f->size;
    }
    return e;
}

/* sync_parent syncs the directory that holds path. */
static int sync_parent(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return file_sync_dir(".");
    char *dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    if (!dir) cr_no_memory(0, "a path");
    int e = file_sync_dir(dir);
    free(dir);
    return e;
}

static int file_commit(void *out, bool sync, cr_fs_why *why) {
    (void)why;
    out_file *f = out;
    int e = sync ? sync_fd(f->fd) : 0;
    if (close(f->fd) != 0 && e == 0) e = errno;
    f->fd = -1;
    if (e != 0 || !f->tmp) return e;
    cr_kill_point("rename");
    if (rename(f->tmp, f->path) != 0) return errno;
    cr_free(f->tmp);
    f->tmp = NULL;
    cr_kill_point("renamed");
    return sync_parent(f->path);
}

static void file_end(void *out) {
    out_file *f = out;
    if (f->tmp) (void)unlink(f->tmp);
    if (f->fd >= 0) close(f->fd);
    free(f->path);
    cr_free(f->tmp);
    cr_free(f);
}

const cr_store cr_store_file = {
    .scheme = "file",
    .can = CR_FS_LOCAL | CR_FS_FOLDERS | CR_FS_APPEND,
    .open = file_open,
    .pread = file_pread,
    .close = file_close,
    .restat = file_restat,
    .will_need = file_will_need,
    .map = file_map,
    .unmap = file_unmap,
    .stat = file_stat,
    .list = file_list,
    .glob = file_glob,
    .make_dir = file_make_dir,
    .remove = file_remove,
    .move = file_move,
    .sync_dir = file_sync_dir,
    .can_write = file_can_write,
    .real = file_real,
    .put = file_put,
    .write = file_write,
    .commit = file_commit,
    .end = file_end,
};
