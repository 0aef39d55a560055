/*
 * outdir.c - directories that appear whole. An export is written into a hidden sibling, synced file
 * by file and renamed. Where a store cannot move names, the files are written in their final place,
 * and the manifest, which is always written last, marks a whole folder. What killed runs left is
 * removed when the same name is written again. A temporary name ends in the process id, so that
 * files of a process that still runs are not touched.
 */
#include "ckpt/ckpt_int.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fs.h"
#include "base/log.h"

struct cr_outdir {
    cr_arena arena;
    char *path, *parent, *tmp;
};

bool cr_ckpt_is_leftover(const char *name, const char *prefix, bool alone) {
    size_t len = strlen(prefix);
    int64_t pid;
    if (strncmp(name, prefix, len) != 0) return false;
    const char *dash = strrchr(name + len - 1, '-');
    if (!dash || !cr_parse_i64(dash + 1, strlen(dash + 1), &pid) || pid <= 0 || pid > INT32_MAX)
        return false;
    return alone || pid == getpid() || (kill((pid_t)pid, 0) != 0 && errno == ESRCH);
}

cr_code cr_ckpt_remove_leftovers(const char *dir, const char *prefix, bool alone, cr_err *err) {
    cr_arena a;
    cr_arena_init(&a, 0);
    char **names;
    size_t n;
    cr_code code = cr_list_dir(&a, dir, &names, &n, err);
    for (size_t i = 0; code == CR_OK && i < n; i++) {
        if (!cr_ckpt_is_leftover(names[i], prefix, alone)) continue;
        char *path = cr_path_join(&a, dir, names[i]);
        CR_INFO("Removing %s, left by a run that did not finish", path);
        code = cr_rmtree(path, err);
    }
    cr_arena_clear(&a);
    return code;
}

bool cr_ckpt_unfinished(const char *dir) {
    if (cr_store_moves(dir)) return false;
    cr_arena a;
    cr_arena_init(&a, 0);
    bool missing = !cr_path_exists(cr_path_join(&a, dir, CR_MANIFEST));
    cr_arena_clear(&a);
    return missing;
}

cr_code cr_ckpt_remove_dir(const char *dir, cr_err *err) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_code code = CR_OK;
    if (!cr_store_moves(dir)) code = cr_file_remove(cr_path_join(&a, dir, CR_MANIFEST), err);
    cr_arena_clear(&a);
    return code == CR_OK ? cr_rmtree(dir, err) : code;
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
    d->tmp = d->path;
    if (cr_store_moves(d->path))
        d->tmp = cr_arena_printf(&d->arena, "%s/%s%d", d->parent, prefix, (int)getpid());
    cr_fs_stat st;
    cr_code code = n == 0 ? cr_fail(err, CR_EUSAGE, "no output directory given") : CR_OK;
    if (code == CR_OK && cr_fs_stat_path(d->path, false, &st, NULL) == 0)
        code = exists_error(d->path, err);
    if (code == CR_OK) code = cr_mkdirs(d->parent, err);
    if (code == CR_OK && d->tmp != d->path)
        code = cr_ckpt_remove_leftovers(d->parent, prefix, false, err);
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

static cr_code publish(cr_outdir *d, cr_err *err) {
    cr_fs_why why;
    /* the manifest, which is written last, marks it as whole */
    if (d->tmp == d->path) return CR_OK;
    int e = cr_fs_move_path(d->tmp, d->path, CR_MOVE_NEW, &why);
    if (e == EEXIST || e == ENOTEMPTY) return exists_error(d->path, err);
    if (e == 0) return CR_OK;
    return cr_fs_fail(err, d->path, cr_arena_printf(&d->arena, "rename %s", d->tmp), e, &why);
}

cr_code cr_outdir_commit(cr_outdir *d, cr_err *err) {
    cr_code code = cr_sync_dir(d->tmp, err); /* its files were synced when they were written */
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
    if (cr_ckpt_remove_dir(d->tmp, NULL) != CR_OK)
        CR_WARN("%s: cannot be removed; delete it by hand", d->tmp);
    cr_arena_clear(&d->arena);
    cr_free(d);
}
