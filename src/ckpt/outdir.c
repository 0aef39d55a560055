/*
 * outdir.c - directories that appear whole: an export is written into a hidden sibling, synced file
 * by file, renamed. What killed runs left is removed when the same name is written again; a
 * temporary name ends in the process id, so that a living neighbour's work is left alone.
 */
#include "ckpt/ckpt_int.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/kill_point.h"
#include "base/log.h"

struct cr_outdir {
    cr_arena arena;
    char *path, *parent, *tmp;
};

cr_code cr_ckpt_remove_leftovers(const char *dir, const char *prefix, bool alone, cr_err *err) {
    cr_arena a;
    cr_arena_init(&a, 0);
    char **names;
    size_t n, len = strlen(prefix);
    cr_code code = cr_list_dir(&a, dir, &names, &n, err);
    for (size_t i = 0; code == CR_OK && i < n; i++) {
        if (strncmp(names[i], prefix, len) != 0) continue;
        const char *dash = strrchr(names[i] + len - 1, '-');
        int64_t pid;
        if (!dash || !cr_parse_i64(dash + 1, strlen(dash + 1), &pid) || pid <= 0 || pid > INT32_MAX)
            continue;
        if (!alone && pid != getpid() && (kill((pid_t)pid, 0) == 0 || errno != ESRCH)) continue;
        char *path = cr_path_join(&a, dir, names[i]);
        CR_INFO("Removing %s, left by a run that did not finish", path);
        code = cr_rmtree(path, err);
    }
    cr_arena_clear(&a);
    return code;
}

static cr_code exists_error(const char *path, cr_err *err) {
    return cr_fail_at(err, CR_EIO, cr_ckpt_at_path(path),
                      "exists already; give another directory or remove it first");
}

cr_code cr_outdir_open(cr_outdir **out, const char *path, cr_err *err) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    cr_outdir *d = cr_alloc(sizeof *d, "output directory");
    cr_arena_init(&d->arena, 0);
    d->path = cr_arena_strndup(&d->arena, path, n);
    d->parent = cr_path_dir(&d->arena, d->path);
    char *prefix = cr_arena_printf(&d->arena, CKPT_TMP "%s-", cr_path_base(d->path));
    d->tmp = cr_arena_printf(&d->arena, "%s/%s%d", d->parent, prefix, (int)getpid());
    struct stat st;
    cr_code code = n == 0 ? cr_fail(err, CR_EUSAGE, "no output directory given") : CR_OK;
    if (code == CR_OK && lstat(d->path, &st) == 0) code = exists_error(d->path, err);
    if (code == CR_OK) code = cr_mkdirs(d->parent, err);
    if (code == CR_OK) code = cr_ckpt_remove_leftovers(d->parent, prefix, false, err);
    if (code == CR_OK) code = cr_mkdirs(d->tmp, err);
    if (code != CR_OK) {
        cr_arena_clear(&d->arena);
        cr_free(d);
        return code;
    }
    *out = d;
    return CR_OK;
}

const char *cr_outdir_tmp(const cr_outdir *d) {
    return d->tmp;
}

static cr_code sync_file(const char *path, cr_err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int bad = fd < 0 || fsync(fd) != 0;
    int why = errno;
    if (fd >= 0) close(fd);
    return bad ? cr_io_fail(err, path, "sync", why) : CR_OK;
}

static cr_code sync_tree(cr_arena *a, const char *dir, cr_err *err) {
    char **names;
    size_t n;
    CR_TRY(cr_list_dir(a, dir, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        char *path = cr_path_join(a, dir, names[i]);
        struct stat st;
        if (lstat(path, &st) != 0) return cr_io_fail(err, path, "look at it", errno);
        if (S_ISDIR(st.st_mode))
            CR_TRY(sync_tree(a, path, err));
        else if (S_ISREG(st.st_mode))
            CR_TRY(sync_file(path, err));
    }
    return cr_sync_dir(dir, err);
}

static cr_code publish(const cr_outdir *d, cr_err *err) {
    cr_kill_point("rename");
    if (renameat2(AT_FDCWD, d->tmp, AT_FDCWD, d->path, RENAME_NOREPLACE) == 0) return CR_OK;
    struct stat st;
    if (errno == EEXIST || lstat(d->path, &st) == 0) return exists_error(d->path, err);
    /* a file system without NOREPLACE; plain rename still refuses a directory with content */
    if (rename(d->tmp, d->path) == 0) return CR_OK;
    return cr_fail_at(err, CR_EIO, cr_ckpt_at_path(d->path), "cannot rename %s: %s%s", d->tmp,
                      strerror(errno), cr_errno_cure(errno));
}

cr_code cr_outdir_commit(cr_outdir *d, cr_err *err) {
    cr_code code = sync_tree(&d->arena, d->tmp, err);
    if (code == CR_OK) code = publish(d, err);
    if (code != CR_OK) {
        cr_outdir_abort(d);
        return code;
    }
    code = cr_sync_dir(d->parent, err);
    cr_arena_clear(&d->arena);
    cr_free(d);
    return code;
}

void cr_outdir_abort(cr_outdir *d) {
    if (!d) return;
    if (cr_rmtree(d->tmp, NULL) != CR_OK)
        CR_WARN("%s: cannot be removed; delete it by hand", d->tmp);
    cr_arena_clear(&d->arena);
    cr_free(d);
}
