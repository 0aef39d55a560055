/*
 * verify.c - checks whether the files of a checkpoint, an export or a model_dir are still as crank
 * wrote them.
 *
 * A folder that crank wrote has a manifest.json (ckpt/manifest.c). An export is written once: a
 * file that differs is damaged, and is refused before anything in it is used. A user may have
 * edited the pipeline.config of a model_dir, so a difference there is a warning.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "job/verify.h"

cr_folder cr_folder_kind(const char *path) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_folder kind = CR_FOLDER_NONE;
    int64_t *steps;
    int n = 0;
    if (path && cr_path_is_dir(path)) {
        bool config = cr_path_exists(cr_path_join(&a, path, "pipeline.config"));
        if (cr_path_exists(cr_path_join(&a, path, "schema.json")) ||
            (config && cr_path_exists(cr_path_join(&a, path, "index.json"))))
            kind = CR_FOLDER_EXPORT;
        else if (cr_path_exists(cr_path_join(&a, path, "index.json")) ||
                 cr_path_exists(cr_path_join(&a, path, "state.json")))
            kind = CR_FOLDER_CHECKPOINT;
        else if (config || (cr_ckpt_steps(&a, path, &steps, &n, NULL) == CR_OK && n > 0))
            kind = CR_FOLDER_MODEL_DIR;
    }
    cr_arena_clear(&a);
    return kind;
}

static void warn_edited(const cr_err *err, cr_diag *diag) {
    cr_diag_add(diag, CR_SEV_WARN, err->code, err->at,
                err->code == CR_ERUN
                    ? "is not as training wrote it; unless you edited it, it is damaged"
                    : "%s",
                err->msg);
}

/* An export reads only its own files: none of them (of those in the manifest, if there is one) may
 * be a link that leads out of it. */
static cr_code no_links_out(const char *dir, const cr_manifest *m, cr_arena *a, cr_diag *diag) {
    cr_err err;
    char **names;
    size_t n;
    cr_code code = cr_list_dir(a, dir, &names, &n, &err);
    for (size_t i = 0; i < n && code == CR_OK; i++)
        if (!m || cr_manifest_find(m, names[i]) || strcmp(names[i], CR_MANIFEST) == 0)
            code = cr_path_inside(dir, cr_path_join(a, dir, names[i]), &err);
    return code == CR_OK ? CR_OK : cr_diag_err(diag, &err);
}

cr_code cr_verify_config(const char *path, cr_diag *diag) {
    cr_arena a;
    cr_err err;
    cr_manifest *m = NULL;
    cr_arena_init(&a, 0);
    const char *dir = cr_path_dir(&a, path), *name = cr_path_base(path);
    bool export = cr_folder_kind(dir) == CR_FOLDER_EXPORT;
    cr_code code = CR_OK;
    if (cr_manifest_read(&m, dir, &err) != CR_OK) {
        /* any manifest.json may lie beside the user's own config; crank's lies in a folder that
         * crank wrote */
        if (export) code = cr_diag_err(diag, &err);
    } else if (m && export) {
        code = cr_manifest_check(m, false, NULL, NULL, diag);
    } else if (m && cr_manifest_find(m, name) && cr_manifest_check_file(m, name, &err) != CR_OK) {
        warn_edited(&err, diag);
    }
    if (export && code == CR_OK) code = no_links_out(dir, m, &a, diag);
    cr_manifest_free(m);
    cr_arena_clear(&a);
    return code;
}

/* ---- `crank check` ---- */

/* Reads every byte of every file of a checkpoint or an export. */
static cr_code folder(cr_verified *v, cr_pool *pool, cr_arena *a, cr_diag *diag) {
    cr_err err;
    cr_manifest *m = NULL;
    cr_ckpt *c = NULL;
    char **names;
    size_t n;
    if (cr_manifest_read(&m, v->path, &err) != CR_OK ||
        cr_list_dir(a, v->path, &names, &n, &err) != CR_OK) {
        v->done.damaged++;
        cr_manifest_free(m);
        return cr_diag_err(diag, &err);
    }
    cr_code code = m ? cr_manifest_check(m, true, pool, &v->done, diag) : CR_OK;
    /* digests do not tell whether the files belong together */
    if (code == CR_OK && ((code = cr_ckpt_open(&c, v->path, &err)) != CR_OK ||
                          (!m && (code = cr_ckpt_verify(c, pool, &err)) != CR_OK))) {
        v->done.damaged++;
        cr_diag_err(diag, &err);
    }
    v->old = !m;
    for (size_t i = 0; i < n; i++) {
        if (m && !cr_manifest_find(m, names[i]) && strcmp(names[i], CR_MANIFEST) != 0)
            v->others = v->others ? cr_arena_printf(a, "%s, %s", v->others, names[i]) : names[i];
    }
    if (v->old && code == CR_OK)
        cr_diag_add(diag, CR_SEV_WARN, CR_ERUN, (cr_loc){v->path, 0, 0},
                    "an older version wrote it, without " CR_MANIFEST
                    "; its weights are whole, its other files cannot be checked");
    if (m) v->done.files++; /* counts the manifest itself */
    cr_ckpt_close(c);
    cr_manifest_free(m);
    return code;
}

/* Checks pipeline.config and version of a model_dir. */
static void own_files(cr_verified *v, cr_diag *diag) {
    static const char *const names[] = {"pipeline.config", "version"};
    cr_err err;
    cr_manifest *m = NULL;
    if (cr_manifest_read(&m, v->path, &err) != CR_OK) {
        v->done.damaged++;
        cr_diag_err(diag, &err);
    } else if (m) {
        v->done.files = 1;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const cr_manifest_file *f = cr_manifest_find(m, names[i]);
            if (!f) continue;
            v->done.files++;
            v->done.bytes += f->size;
            if (cr_manifest_check_file(m, names[i], &err) == CR_OK) continue;
            v->done.damaged++;
            warn_edited(&err, diag);
        }
    } else {
        v->old = true;
    }
    cr_manifest_free(m);
}

cr_code cr_verify(const char *path, cr_folder kind, cr_pool *pool, cr_arena *a, cr_verified **out,
                  int *n, cr_diag *diag) {
    cr_err err;
    int64_t *steps = NULL;
    int n_steps = 0;
    size_t before = diag->n_errors;
    if (kind == CR_FOLDER_MODEL_DIR && cr_ckpt_steps(a, path, &steps, &n_steps, &err) != CR_OK)
        return cr_diag_err(diag, &err);
    *out = CR_NEW_N(a, cr_verified, n_steps + 1);
    (*out)[0].path = path;
    *n = 1;
    if (kind == CR_FOLDER_MODEL_DIR)
        own_files(&(*out)[0], diag);
    else
        (void)!folder(&(*out)[0], pool, a, diag);
    for (int i = 0; i < n_steps; i++) {
        cr_verified *v = &(*out)[(*n)++];
        v->path = cr_path_join(a, path, cr_arena_printf(a, "model.ckpt-%" PRId64, steps[i]));
        (void)!folder(v, pool, a, diag);
    }
    if (kind == CR_FOLDER_MODEL_DIR) (void)!cr_ckpt_results_check(path, CR_SEV_ERROR, diag);
    return diag->n_errors == before ? CR_OK : cr_diag_code(diag);
}

void cr_verify_text(const cr_verified *v, int n, cr_buf *out) {
    for (int i = 0; i < n; i++) {
        char bytes[32], whole[64];
        if (v[i].old && v[i].done.files == 0) {
            cr_buf_printf(out, "files     %s: %s\n", v[i].path,
                          v[i].done.damaged ? "damaged"
                                            : "an older version wrote it, without digests");
            continue;
        }
        snprintf(whole, sizeof whole, "%d damaged", v[i].done.damaged);
        cr_buf_printf(out, "files     %s: %d files, %s, digests compared: %s", v[i].path,
                      v[i].done.files, cr_fmt_bytes(bytes, (double)v[i].done.bytes),
                      v[i].done.damaged ? whole : "all as they were written");
        if (v[i].others) cr_buf_printf(out, "; not checked, because not of crank: %s", v[i].others);
        cr_buf_char(out, '\n');
    }
}

void cr_verify_json(const cr_verified *v, int n, cr_jw *w) {
    cr_jw_arr(w, "files");
    for (int i = 0; i < n; i++) {
        cr_jw_obj(w, NULL);
        cr_jw_str(w, "path", v[i].path);
        cr_jw_bool(w, "has_digests", !v[i].old);
        cr_jw_i64(w, "files", v[i].done.files);
        cr_jw_i64(w, "bytes", v[i].done.bytes);
        cr_jw_i64(w, "damaged", v[i].done.damaged);
        cr_jw_end(w);
    }
    cr_jw_end(w);
}
