/*
 * mirror.c - a copy of model_dir on another disk or store (train_config.mirror_dir).
 *
 * After a checkpoint has its evaluation, it is copied whole or not at all, with the logs and small
 * files beside it; what keep_checkpoint_max deletes here is deleted there. A copy that fails is a
 * warning and is tried again with the next checkpoint; at the end of the run it is an error, since
 * then the results are not where they were asked for. A run that finds no checkpoint in model_dir
 * goes on from the newest one of the copy: the disk of a machine that was taken away is empty.
 */
#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "run/loop_int.h"

#define CKPT  "model.ckpt-"
#define STATE "state.json"

/* What was copied: a name, and the digest of a small file or the time of a change. */
struct cr_mirror {
    cr_arena arena;
    const char *from, *to;
    cr_map done; /* "name" -> what it was when it was copied */
    cr_map seen; /* steps that were in model_dir */
};

cr_mirror *cr_mirror_new(const char *model_dir, const char *to) {
    cr_mirror *m = cr_alloc(sizeof *m, "a copy of model_dir");
    cr_arena_init(&m->arena, 0);
    m->from = cr_arena_strdup(&m->arena, model_dir);
    m->to = cr_arena_strdup(&m->arena, to);
    cr_map_init(&m->done);
    cr_map_init(&m->seen);
    return m;
}

void cr_mirror_free(cr_mirror *m) {
    if (!m) return;
    cr_map_clear(&m->done);
    cr_map_clear(&m->seen);
    cr_arena_clear(&m->arena);
    cr_free(m);
}

/* Copies the files of a folder; the manifest comes last, because it marks a whole folder. */
static cr_code copy_files(cr_arena *a, const char *from, const char *to, cr_err *err) {
    char **names;
    size_t n;
    CR_TRY(cr_list_dir(a, from, &names, &n, err));
    for (int last = 0; last < 2; last++)
        for (size_t i = 0; i < n; i++) {
            if ((strcmp(names[i], CR_MANIFEST) == 0) != (last == 1)) continue;
            CR_TRY(
                cr_file_copy(cr_path_join(a, from, names[i]), cr_path_join(a, to, names[i]), err));
        }
    return CR_OK;
}

cr_code cr_checkpoint_copy(const char *from, const char *to, cr_err *err) {
    cr_outdir *d;
    cr_arena a;
    CR_TRY(cr_outdir_open(&d, to, err));
    cr_arena_init(&a, 0);
    cr_code code = copy_files(&a, from, cr_outdir_tmp(d), err);
    cr_arena_clear(&a);
    if (code == CR_OK) return cr_outdir_commit(d, err);
    cr_outdir_abort(d);
    return code;
}

/* Was the name copied as it is now? */
static bool is_done(const cr_mirror *m, const char *name, int64_t what) {
    return cr_map_get(&m->done, name, strlen(name), -1) == what;
}

static void note(cr_mirror *m, const char *name, int64_t what) {
    (void)cr_map_put(&m->done, name, strlen(name), what);
}

/* A number of a file's content, not negative. */
static cr_code content_of(const char *path, int64_t *out, cr_err *err) {
    int64_t size;
    uint64_t digest;
    CR_TRY(cr_digest_file(path, &size, &digest, err));
    *out = (int64_t)(digest >> 1);
    return CR_OK;
}

static cr_code mirror_step(cr_mirror *m, cr_arena *a, int64_t step, bool there, bool end,
                           cr_err *err) {
    const char *base = cr_arena_printf(a, CKPT "%lld", (long long)step);
    const char *from = cr_path_join(a, m->from, base), *to = cr_path_join(a, m->to, base);
    cr_ckpt_state s;
    int64_t now = 0;
    (void)cr_map_put(&m->seen, base, strlen(base), step);
    CR_TRY(cr_ckpt_read_state(a, from, &s, err));
    if (s.pending && !end) return CR_OK; /* its evaluation comes next */
    CR_TRY(content_of(cr_path_join(a, from, STATE), &now, err));
    if (is_done(m, base, now)) return CR_OK;
    if (!there) {
        CR_TRY(cr_checkpoint_copy(from, to, err));
        CR_INFO("Copied %s to %s", from, to);
    } else { /* its weights never change */
        CR_TRY(cr_file_copy(cr_path_join(a, from, STATE), cr_path_join(a, to, STATE), err));
        CR_TRY(cr_file_copy(cr_path_join(a, from, CR_MANIFEST), cr_path_join(a, to, CR_MANIFEST),
                            err));
    }
    note(m, base, now);
    return CR_OK;
}

/* Copies the files of a folder that have changed, and its folders, but no checkpoints and links. */
static cr_code mirror_files(cr_mirror *m, cr_arena *a, const char *sub, int depth, cr_err *err) {
    const char *from = cr_path_join(a, m->from, sub), *to = cr_path_join(a, m->to, sub);
    char **names;
    size_t n;
    CR_TRY(cr_mkdirs(to, err));
    CR_TRY(cr_list_dir(a, from, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        const char *name = names[i], *path = cr_path_join(a, from, name);
        const char *rel = *sub ? cr_path_join(a, sub, name) : name;
        cr_fs_stat st;
        if (*name == '.' || strstr(name, ".tmp-") || strstr(name, ".lock") ||
            strncmp(name, CKPT, strlen(CKPT)) == 0 || cr_path_is_link(path) ||
            cr_fs_stat_path(path, true, &st, NULL) != 0)
            continue;
        if (st.kind == CR_FS_DIR && depth < 4) {
            CR_TRY(mirror_files(m, a, rel, depth + 1, err));
            continue;
        }
        int64_t what = (int64_t)(((uint64_t)st.changed ^ (uint64_t)st.size << 40) >> 1);
        if (st.kind != CR_FS_FILE || is_done(m, rel, what)) continue;
        CR_TRY(cr_file_copy(path, cr_path_join(a, to, name), err));
        note(m, rel, what);
    }
    return CR_OK;
}

static bool has(const int64_t *v, int n, int64_t x) {
    for (int i = 0; i < n; i++)
        if (v[i] == x) return true;
    return false;
}

static cr_code update(cr_mirror *m, cr_arena *a, bool end, cr_err *err) {
    int64_t *here, *there;
    int n, k;
    CR_TRY(cr_mkdirs(m->to, err));
    CR_TRY(cr_ckpt_steps(a, m->from, &here, &n, err));
    CR_TRY(cr_ckpt_steps(a, m->to, &there, &k, err));
    for (int i = 0; i < n; i++)
        CR_TRY(mirror_step(m, a, here[i], has(there, k, here[i]), end, err));
    CR_TRY(mirror_files(m, a, "", 0, err));
    for (int i = 0; i < k; i++) {
        const char *base = cr_arena_printf(a, CKPT "%lld", (long long)there[i]);
        bool was_here = cr_map_get(&m->seen, base, strlen(base), -1) >= 0;
        if (was_here && !has(here, n, there[i])) cr_ckpt_delete(m->to, there[i]);
    }
    return CR_OK;
}

cr_code cr_mirror_update(cr_mirror *m, bool end, cr_err *err) {
    cr_arena a;
    cr_err why;
    if (!m) return CR_OK;
    cr_arena_init(&a, 0);
    cr_code code = update(m, &a, end, &why);
    cr_arena_clear(&a);
    if (code == CR_OK) return CR_OK;
    char text[1024];
    cr_err_text(&why, text, sizeof text);
    if (end)
        return cr_fail(err, CR_EIO, "%s is complete, and its copy in mirror_dir is not: %s",
                       m->from, text);
    CR_WARN("%s; the copy in mirror_dir is tried again with the next checkpoint", text);
    return CR_OK;
}

cr_code cr_mirror_fetch(const char *model_dir, const char *mirror_dir, cr_err *err) {
    cr_arena a;
    int64_t *steps;
    int n = 0;
    cr_arena_init(&a, 0);
    cr_code code = cr_ckpt_steps(&a, mirror_dir, &steps, &n, err);
    if (code == CR_OK && n > 0) {
        const char *base = cr_arena_printf(&a, CKPT "%lld", (long long)steps[n - 1]);
        const char *from = cr_path_join(&a, mirror_dir, base);
        const char *results = cr_path_join(&a, mirror_dir, CR_CKPT_RESULTS);
        CR_INFO("%s has no checkpoint; copying %s, to go on from it", model_dir, from);
        code = cr_checkpoint_copy(from, cr_path_join(&a, model_dir, base), err);
        if (code == CR_OK && cr_path_exists(results))
            code = cr_file_copy(results, cr_path_join(&a, model_dir, CR_CKPT_RESULTS), err);
    }
    cr_arena_clear(&a);
    return code;
}
