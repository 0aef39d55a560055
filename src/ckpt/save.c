/*
 * save.c - writes a checkpoint, which is then either whole or absent.
 *
 * Everything goes into a hidden directory beside the final name; each file is synced, then the
 * directory, then one rename makes the checkpoint appear, then the parent is synced. A kill at any
 * moment leaves either no new checkpoint or all of it. Replacing a checkpoint of the same step
 * swaps two directories in one system call. Where the file system cannot do that, the old one is
 * first renamed; after a kill cr_ckpt_sweep gives it its name back.
 */
#include "ckpt/ckpt_int.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"

void cr_ckpt_get_flat(void *ctx, int64_t first, int64_t n, float *out) {
    memcpy(out, (const float *)ctx + first, (size_t)n * sizeof(float));
}

void cr_ckpt_put_flat(void *ctx, int64_t first, int64_t n, const float *in) {
    memcpy((float *)ctx + first, in, (size_t)n * sizeof(float));
}

void cr_ckpt_get_rows(void *ctx, int64_t first, int64_t n, float *out) {
    const cr_ckpt_rows *r = ctx;
    while (n > 0) {
        int64_t row = first / r->width, col = first % r->width, m = r->width - col;
        if (m > n) m = n;
        memcpy(out, r->base + row * r->stride + col, (size_t)m * sizeof(float));
        out += m;
        first += m;
        n -= m;
    }
}

void cr_ckpt_put_rows(void *ctx, int64_t first, int64_t n, const float *in) {
    const cr_ckpt_rows *r = ctx;
    while (n > 0) {
        int64_t row = first / r->width, col = first % r->width, m = r->width - col;
        if (m > n) m = n;
        memcpy(r->base + row * r->stride + col, in, (size_t)m * sizeof(float));
        in += m;
        first += m;
        n -= m;
    }
}

/* ---- the plan: which rows of which tensor go to which file ---- */

typedef struct piece {
    const cr_ckpt_tensor *t;
    int64_t first_row, n_rows, total_rows;
    int64_t row_elems;
    int shard;
    float *tmp; /* room for one piece of floats, for the conversion */
} piece;

typedef struct plan {
    cr_arena arena;
    piece *v;
    int n, cap;
    int n_shards;
} plan;

static void add_piece(plan *p, piece x) {
    if (p->n == p->cap) {
        int cap = p->cap ? p->cap * 2 : 64;
        piece *v = CR_NEW_N(&p->arena, piece, cap);
        if (p->n) memcpy(v, p->v, sizeof *v * (size_t)p->n);
        p->v = v;
        p->cap = cap;
    }
    p->v[p->n++] = x;
}

static void make_plan(plan *p, const cr_ckpt_tensor *v, int n, bool optimizer, int64_t limit,
                      bool whole) {
    int64_t used = 0;
    for (int i = 0; i < n; i++) {
        const cr_ckpt_tensor *t = &v[i];
        if (t->optimizer != optimizer) continue;
        piece x = {.t = t, .total_rows = t->n_dims > 0 ? t->shape[0] : 1, .row_elems = 1};
        for (int d = 1; d < t->n_dims; d++)
            x.row_elems *= t->shape[d];
        int64_t row_bytes = x.row_elems * cr_dtype_size(t->dtype);
        int64_t bytes = row_bytes * x.total_rows;
        if (p->n_shards == 0) p->n_shards = 1;
        if (used > 0 && used + bytes > limit) {
            p->n_shards++;
            used = 0;
        }
        int64_t per = whole || bytes <= limit ? x.total_rows : limit / row_bytes;
        if (per < 1) per = 1;
        do {
            x.n_rows = x.total_rows - x.first_row < per ? x.total_rows - x.first_row : per;
            if (x.first_row > 0) {
                p->n_shards++;
                used = 0;
            }
            x.shard = p->n_shards - 1;
            add_piece(p, x);
            used += x.n_rows * row_bytes;
            x.first_row += x.n_rows;
        } while (x.first_row < x.total_rows);
    }
}

static void get_piece(void *ctx, int64_t first, int64_t n, void *out) {
    const piece *p = ctx;
    int64_t at = p->first_row * p->row_elems + first;
    if (p->t->dtype == CR_DT_F32) {
        p->t->get(p->t->ctx, at, n, out);
        return;
    }
    p->t->get(p->t->ctx, at, n, p->tmp);
    cr_dtype_from_f32(p->t->dtype, p->tmp, n, out);
}

/* ---- shards ---- */

typedef struct written {
    char name[64];
    int64_t size;
    uint64_t digest;
} written;

static cr_code write_shard(plan *p, int shard, const char *path, float *tmp, written *w,
                           cr_err *err) {
    cr_st_out *v = CR_NEW_N(&p->arena, cr_st_out, p->n + 1);
    cr_st_meta *meta = CR_NEW_N(&p->arena, cr_st_meta, 2 * p->n + 1);
    int n = 0, n_meta = 0;
    meta[n_meta++] = (cr_st_meta){"format", CKPT_FORMAT};
    for (int i = 0; i < p->n; i++) {
        piece *x = &p->v[i];
        if (x->shard != shard) continue;
        x->tmp = tmp;
        cr_st_out *o = &v[n++];
        o->name = x->t->name;
        o->dtype = x->t->dtype;
        o->n_dims = x->t->n_dims;
        memcpy(o->shape, x->t->shape, sizeof x->t->shape);
        if (x->t->n_dims > 0) o->shape[0] = x->n_rows;
        o->get = get_piece;
        o->ctx = x;
        if (x->n_rows != x->total_rows)
            meta[n_meta++] =
                (cr_st_meta){cr_arena_printf(&p->arena, CKPT_ROWS_KEY "%s", x->t->name),
                             cr_arena_printf(&p->arena, "%" PRId64 ":%" PRId64 ":%" PRId64,
                                             x->first_row, x->n_rows, x->total_rows)};
        if (x->t->int8_rows)
            meta[n_meta++] =
                (cr_st_meta){cr_arena_printf(&p->arena, CKPT_QUANT_KEY "%s", x->t->name),
                             CKPT_QUANT_ROWS};
    }
    return cr_st_write(path, v, n, meta, n_meta, &w->size, &w->digest, err);
}

static void write_index(cr_buf *out, const cr_ckpt_tensor *v, int n, const plan *plans,
                        const int *base, const written *files, int n_files) {
    int64_t total = 0;
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "format", CKPT_FORMAT);
    cr_jw_i64(&w, "format_version", CKPT_VERSION);
    cr_jw_arr(&w, "files");
    for (int i = 0; i < n_files; i++) {
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "name", files[i].name);
        cr_jw_i64(&w, "size", files[i].size);
        cr_jw_end(&w);
        total += files[i].size;
    }
    cr_jw_end(&w);
    cr_jw_i64(&w, "total_size", total);
    cr_jw_arr(&w, "tensors");
    /* the pieces of a tensor follow each other in its plan, in the order of v */
    int at[2] = {0, 0};
    for (int i = 0; i < n; i++) {
        int k = v[i].optimizer;
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "name", v[i].name);
        cr_jw_str(&w, "dtype", cr_dtype_name(v[i].dtype));
        cr_jw_arr(&w, "shape");
        for (int d = 0; d < v[i].n_dims; d++)
            cr_jw_i64(&w, NULL, v[i].shape[d]);
        cr_jw_end(&w);
        cr_jw_arr(&w, "parts");
        for (; at[k] < plans[k].n && plans[k].v[at[k]].t == &v[i]; at[k]++) {
            const piece *x = &plans[k].v[at[k]];
            cr_jw_obj(&w, NULL);
            cr_jw_str(&w, "file", files[base[k] + x->shard].name);
            cr_jw_i64(&w, "first_row", x->first_row);
            cr_jw_i64(&w, "rows", x->n_rows);
            cr_jw_end(&w);
        }
        cr_jw_end(&w);
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_buf_char(out, '\n');
}

static cr_code check_names(const cr_ckpt_tensor *v, int n, cr_err *err) {
    cr_map seen;
    cr_map_init(&seen);
    cr_code code = CR_OK;
    for (int i = 0; i < n && code == CR_OK; i++) {
        if (!cr_map_put(&seen, v[i].name, strlen(v[i].name), i))
            code = cr_fail(err, CR_ERUN, "two tensors to save are named '%s'; rename one feature",
                           v[i].name);
        CR_ASSERT(v[i].n_dims >= 0 && v[i].n_dims <= CR_CKPT_DIMS);
    }
    cr_map_clear(&seen);
    return code;
}

static cr_code write_small(const char *dir, const char *name, const char *text, size_t n,
                           cr_manifest *m, cr_err *err) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_manifest_add(m, name, (int64_t)n, cr_digest_of(text, n));
    cr_code code = cr_file_write(cr_path_join(&a, dir, name), text, n, err);
    cr_arena_clear(&a);
    return code;
}

static cr_code write_expanded(const char *dir, const cr_ckpt_tensor *v, int n,
                              const cr_ckpt_save_opts *opts, cr_manifest *m, cr_err *err) {
    static const char *const kind[2] = {"model", "optimizer"};
    CR_TRY(check_names(v, n, err));
    int64_t limit = opts && opts->shard_bytes > 0 ? opts->shard_bytes : CKPT_DEFAULT_SIZE;
    plan plans[2] = {0};
    int base[2];
    for (int k = 0; k < 2; k++) {
        cr_arena_init(&plans[k].arena, 0);
        make_plan(&plans[k], v, n, k == 1, limit, opts && opts->whole);
        base[k] = k == 0 ? 0 : plans[0].n_shards;
    }
    int n_files = plans[0].n_shards + plans[1].n_shards;
    written *files = CR_NEW_N(&plans[0].arena, written, n_files + 1);
    float *tmp = cr_alloc(sizeof(float) * 65536, "piece of a tensor");
    cr_code code = CR_OK;
    for (int k = 0; k < 2; k++)
        for (int s = 0; s < plans[k].n_shards && code == CR_OK; s++) {
            written *w = &files[base[k] + s];
            snprintf(w->name, sizeof w->name, "%s-%05d-of-%05d.safetensors", kind[k], s + 1,
                     plans[k].n_shards);
            code =
                write_shard(&plans[k], s, cr_path_join(&plans[k].arena, dir, w->name), tmp, w, err);
            if (code == CR_OK) cr_manifest_add(m, w->name, w->size, w->digest);
        }
    cr_buf text;
    cr_buf_init(&text);
    if (code == CR_OK) {
        write_index(&text, v, n, plans, base, files, n_files);
        code = write_small(dir, CKPT_INDEX, text.data, text.n, m, err);
    }
    cr_buf_clear(&text);
    cr_free(tmp);
    cr_arena_clear(&plans[0].arena);
    cr_arena_clear(&plans[1].arena);
    return code;
}

cr_code cr_ckpt_write_tensors(const char *dir, const cr_ckpt_tensor *v, int n,
                              const cr_ckpt_save_opts *opts, cr_err *err) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_ckpt_tensor *all;
    int n_all;
    cr_manifest *own = opts && opts->manifest ? NULL : cr_manifest_new();
    cr_manifest *m = own ? own : opts->manifest;
    cr_code code = cr_ckpt_expand(&a, v, n, &all, &n_all, err);
    if (code == CR_OK) code = write_expanded(dir, all, n_all, opts, m, err);
    if (code == CR_OK && opts && opts->features)
        code = write_small(dir, CKPT_FEATURES, opts->features, strlen(opts->features), m, err);
    if (code == CR_OK && own) code = cr_manifest_add_dir(own, dir, err);
    if (code == CR_OK && own) code = cr_manifest_write(own, dir, err);
    cr_manifest_free(own);
    cr_arena_clear(&a);
    return code;
}

cr_code cr_ckpt_save_state(const char *ckpt_dir, const cr_ckpt_state *state, cr_err *err) {
    cr_ckpt_state s = *state;
    if (!s.version) s.version = CR_VERSION;
    if (!s.cpu) s.cpu = cr_cpu_level_name(cr_cpu_level_max());
    cr_arena a;
    cr_buf text;
    cr_arena_init(&a, 0);
    cr_buf_init(&text);
    cr_ckpt_state_write(&text, &s);
    cr_code code = cr_file_write(cr_path_join(&a, ckpt_dir, CKPT_STATE), text.data, text.n, err);
    cr_buf_clear(&text);
    cr_arena_clear(&a);
    return code;
}

/* ---- the swap ---- */

/* Makes tmp appear as path. If a directory was there, it ends up in *trash. */
static cr_code publish(cr_arena *a, const char *model_dir, const char *tmp, const char *path,
                       const char **trash, cr_err *err) {
    cr_fs_why why;
    *trash = NULL;
    if (tmp == path) return CR_OK; /* the manifest, which is written last, marks it as whole */
    if (!cr_path_exists(path)) {
        int e = cr_fs_move_path(tmp, path, CR_MOVE_OVER, &why);
        return e == 0 ? CR_OK : cr_fs_fail(err, path, "rename the new checkpoint", e, &why);
    }
    if (cr_fs_move_path(tmp, path, CR_MOVE_SWAP, &why) == 0) {
        *trash = tmp;
        return CR_OK;
    }
    char *old =
        cr_arena_printf(a, "%s/" CKPT_OLD "%s-%d", model_dir, cr_path_base(path), (int)getpid());
    int e = cr_fs_move_path(path, old, CR_MOVE_OVER, &why);
    if (e != 0) return cr_fs_fail(err, path, "set the old checkpoint aside", e, &why);
    e = cr_fs_move_path(tmp, path, CR_MOVE_OVER, &why);
    if (e != 0) {
        cr_code code = cr_fs_fail(err, path, "rename the new checkpoint", e, &why);
        if (cr_fs_move_path(old, path, CR_MOVE_OVER, &why) != 0)
            CR_WARN("%s: the old checkpoint is kept as %s", path, old);
        return code;
    }
    *trash = old;
    return CR_OK;
}

cr_code cr_ckpt_save(const char *model_dir, const cr_ckpt_state *state, const cr_ckpt_tensor *v,
                     int n, const cr_ckpt_save_opts *opts, cr_err *err) {
    cr_arena a;
    cr_arena_init(&a, 0);
    char *name = cr_arena_printf(&a, CKPT_PREFIX "%" PRId64, state->step);
    char *path = cr_path_join(&a, model_dir, name);
    /* where names cannot be moved, the files are written in their final place (outdir.c) */
    char *tmp = path;
    if (cr_store_moves(model_dir))
        tmp =
            cr_path_join(&a, model_dir, cr_arena_printf(&a, CKPT_TMP "%s-%d", name, (int)getpid()));
    const char *trash = NULL;
    cr_code code = cr_mkdirs(model_dir, err);
    if (code == CR_OK) code = cr_ckpt_remove_dir(tmp, err);
    if (code == CR_OK) code = cr_mkdirs(tmp, err);
    if (code == CR_OK) {
        cr_ckpt_save_opts o = opts ? *opts : (cr_ckpt_save_opts){0};
        o.manifest = cr_manifest_new();
        code = cr_ckpt_write_tensors(tmp, v, n, &o, err);
        if (code == CR_OK) code = cr_ckpt_save_state(tmp, state, err);
        if (code == CR_OK) code = cr_manifest_add_dir(o.manifest, tmp, err);
        if (code == CR_OK) code = cr_manifest_write(o.manifest, tmp, err);
        cr_manifest_free(o.manifest);
        if (code == CR_OK) code = cr_sync_dir(tmp, err);
        if (code == CR_OK) code = publish(&a, model_dir, tmp, path, &trash, err);
        if (code != CR_OK && cr_rmtree(tmp, NULL) != CR_OK)
            CR_WARN("%s: cannot be removed; delete it by hand", tmp);
        if (code == CR_OK) code = cr_sync_dir(model_dir, err);
        if (trash && cr_rmtree(trash, NULL) != CR_OK)
            CR_WARN("%s: cannot be removed; delete it by hand", trash);
    }
    cr_arena_clear(&a);
    return code;
}

/* Removes what a kill left of files that are replaced whole (base/file.c), in model_dir and in
 * checkpoints. */
static cr_code sweep_files(cr_arena *a, const char *model_dir, bool alone, cr_err *err) {
    static const char *const files[] = {"pipeline.config.tmp-",    "version.tmp-",
                                        (CR_MANIFEST ".tmp-"),     "feature_counts.json.tmp-",
                                        (CR_CKPT_RESULTS ".tmp-"), "trace.json.tmp-"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        CR_TRY(cr_ckpt_remove_leftovers(model_dir, files[i], alone, err));
    int64_t *steps;
    int n;
    CR_TRY(cr_ckpt_steps(a, model_dir, &steps, &n, err));
    for (int i = 0; i < n; i++) {
        char *dir =
            cr_path_join(a, model_dir, cr_arena_printf(a, CKPT_PREFIX "%" PRId64, steps[i]));
        CR_TRY(cr_ckpt_remove_leftovers(dir, CKPT_STATE ".tmp-", alone, err));
    }
    return CR_OK;
}

cr_code cr_ckpt_sweep(const char *model_dir, bool alone, cr_err *err) {
    if (!cr_path_is_dir(model_dir)) return CR_OK;
    cr_arena a;
    cr_arena_init(&a, 0);
    char **names;
    size_t n;
    cr_code code = cr_list_dir(&a, model_dir, &names, &n, err);
    for (size_t i = 0; code == CR_OK && alone && i < n; i++) {
        char *path = cr_path_join(&a, model_dir, names[i]);
        if (cr_ckpt_step_of(names[i]) < 0 || !cr_ckpt_unfinished(path)) continue;
        CR_INFO("Removing %s, left by a run that did not finish", path);
        code = cr_ckpt_remove_dir(path, err);
    }
    /* After a kill between the two renames of publish the old checkpoint has its other name. */
    for (size_t i = 0; code == CR_OK && i < n; i++) {
        if (strncmp(names[i], CKPT_OLD CKPT_PREFIX, strlen(CKPT_OLD CKPT_PREFIX)) != 0) continue;
        char *name = cr_arena_strdup(&a, names[i] + strlen(CKPT_OLD));
        char *dash = strrchr(name, '-');
        if (dash) *dash = 0;
        if (cr_ckpt_step_of(name) < 0) continue;
        char *path = cr_path_join(&a, model_dir, name);
        if (!cr_path_exists(path))
            code = cr_rename(cr_path_join(&a, model_dir, names[i]), path, err);
    }
    if (code == CR_OK) code = cr_ckpt_remove_leftovers(model_dir, CKPT_OLD CKPT_PREFIX, alone, err);
    if (code == CR_OK) code = cr_ckpt_remove_leftovers(model_dir, CKPT_TMP CKPT_PREFIX, alone, err);
    if (code == CR_OK) code = sweep_files(&a, model_dir, alone, err);
    cr_arena_clear(&a);
    return code;
}
