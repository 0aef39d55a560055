/*
 * restore.c - the values that training starts from: a checkpoint to continue from; or first values
 * from the seed, then pretrained tables of single features, then a fine-tune checkpoint, each of
 * which replaces values of the one before.
 *
 * The same code runs in `crank check` without moving values, so mistakes in maps, files and shapes
 * are known before a step. Whether a table with another number of rows can be used depends on the
 * meaning of its rows, which only the feature knows.
 */
#include <string.h>

#include "base/cpu.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "train/train_int.h"

/* Returns a text field of a feature's config, whatever its type; "" when it has none. */
static const char *text_of(const void *conf, const char *field) {
    const cr_field *f = cr_msg_field(((const cr_conf_base *)conf)->msg, field);
    const char *s;
    if (!f || f->type != CR_T_STR || f->flags & CR_F_REPEATED || f->offset == CR_NO_STORE)
        return "";
    memcpy(&s, (const char *)conf + f->offset, sizeof s);
    return s ? s : "";
}

static cr_resize resize_of(const cr_feature *f) {
    if (cr_feature_grows(f)) return CR_RESIZE_FIT;
    if (f->zch) return CR_RESIZE_LAST;
    if (cr_conf_has(f->conf, "hash_bucket_size")) return CR_RESIZE_HASH;
    if (cr_conf_has(f->conf, "boundaries")) return CR_RESIZE_ANEW;
    return CR_RESIZE_FIRST;
}

static int count_planes(const void *t, const cr_node *p) {
    return cr_trainer_planes(t, p);
}

static const char *plane(const void *t, const cr_node *p, int k, float **data) {
    return cr_trainer_plane(t, p, k, data);
}

cr_ckpt_tensor *cr_trainer_tensors(cr_job *j, const cr_trainer *t, cr_arena *a, int *n) {
    const cr_planes planes = {count_planes, plane, cr_trainer_slices(t), t};
    return cr_job_tensors(j, &planes, a, n);
}

/* Lists all tensors, with the rule for tables that have another number of rows. */
static cr_ckpt_tensor *tensors(cr_job *j, const cr_trainer *t, int *n) {
    cr_ckpt_tensor *v =
        t ? cr_trainer_tensors(j, t, &j->cfg.arena, n) : cr_job_tensors(j, NULL, &j->cfg.arena, n);
    for (int i = 0; i < j->model->n_tables; i++) {
        const cr_model_table *mt = j->model->tables[i];
        size_t len = strlen(mt->table.name);
        for (int k = 0; k < *n; k++) {
            const char *name = v[k].name;
            bool own = strcmp(name, mt->table.name) == 0;
            bool state = strncmp(name, "state.", 6) == 0 &&
                         strncmp(name + 6, mt->table.name, len) == 0 && name[6 + len] == '.';
            if (own || state) v[k].resize = resize_of(mt->owner);
        }
    }
    return v;
}

/* Warns when BF16 products were summed in another order until now. */
static void compare_order(const cr_job *j, const char *path, const cr_ckpt_state *s) {
    if (j->mo.products != CR_PRODUCTS_BF16 || !s->cpu) return;
    cr_cpu_level level = cr_cpu_level_wish(s->cpu, CR_CPU_AMX, NULL, 0);
    const char *before = cr_kern_order(level), *now = cr_kern_order(cr_kern_level);
    if (strcmp(before, now) == 0) return;
    bool pairs = strcmp(before, "pairs") == 0;
    CR_WARN("%s was trained on a CPU that sums BF16 products in %s (level %s), this one sums them "
            "in %s (%s): results differ from an unbroken run; %s",
            path, before, s->cpu, now, cr_cpu_level_name(cr_kern_level),
            !pairs ? "CRANK_CPU=avx512 goes on in the same order"
            : cr_cpu_level_own() >= CR_CPU_AVX512_BF16
                ? "CRANK_CPU=avx512_bf16 goes on in the same order"
                : "only CPUs with AVX512_BF16 can go on in the same order");
}

cr_code cr_job_resume(cr_job *j, cr_trainer *t, const char *path, bool ignore_optimizer,
                      cr_ckpt_state *state, cr_diag *diag) {
    cr_err err;
    cr_ckpt *c;
    const cr_train_conf *tc = j->root->train_config;
    cr_code opened =
        ignore_optimizer ? cr_ckpt_open_weights(&c, path, &err) : cr_ckpt_open(&c, path, &err);
    if (opened != CR_OK) return cr_diag_err(diag, &err);
    int n;
    cr_ckpt_tensor *v = tensors(j, t, &n);
    cr_ckpt_load_opts lo = {.allow_resize = true,
                            .pool = j->pool,
                            .self = cr_job_self(j),
                            .no_verify = j->verified && strcmp(j->verified, path) == 0,
                            .skip_optimizer = ignore_optimizer};
    const cr_ckpt_state *s = cr_ckpt_get_state(c);
    cr_code code = CR_OK;
    if (!s)
        code = cr_diag_err(diag, &(cr_err){.code = CR_ERUN,
                                           .at = {path, 0, 0},
                                           .msg = "has no state.json, so training cannot go on "
                                                  "from it; use it as fine_tune_checkpoint"});
    if (code == CR_OK && (s->lanes != j->lanes || s->seed != tc->seed))
        CR_WARN("%s was trained with seed %llu and %d lanes, this run has seed %llu and %d "
                "lanes: results differ from an unbroken run",
                path, (unsigned long long)s->seed, s->lanes, (unsigned long long)tc->seed,
                j->lanes);
    if (code == CR_OK) compare_order(j, path, s);
    if (code == CR_OK) code = cr_job_same_meaning(j, c, false, diag);
    if (code == CR_OK) code = cr_ckpt_load(c, v, n, &lo, diag);
    if (code == CR_OK) code = cr_job_maps_loaded(j, diag);
    if (code == CR_OK) {
        cr_trainer_set_state(t, cr_trainer_saved(s));
        /* state that starts anew starts with its first update */
        cr_trainer_begin(t, ignore_optimizer);
        *state = (cr_ckpt_state){.step = s->step,
                                 .epoch = s->epoch,
                                 .data = s->data,
                                 .train_files = s->train_files,
                                 .eval_files = s->eval_files,
                                 .n_metrics = s->n_metrics,
                                 .pending = s->pending,
                                 .stopped = s->stopped};
        if (s->extra) state->extra = cr_arena_strdup(&j->cfg.arena, s->extra);
        if (s->places) state->places = cr_arena_strdup(&j->cfg.arena, s->places);
        if (s->split) state->split = cr_arena_strdup(&j->cfg.arena, s->split);
        if (s->train_metrics)
            state->train_metrics = cr_arena_strdup(&j->cfg.arena, s->train_metrics);
    }
    cr_ckpt_close(c);
    return code;
}

/* Notes the content of a file that the first weights come from, for cr_job_alike_first. */
static void note(cr_job *j, uint64_t content) {
    uint64_t both[2] = {j->first_weights, content};
    j->first_weights = cr_digest_of(both, sizeof both);
}

/* ---- pretrained tables ---- */

/* Returns the table of a feature outside wide groups. */
static const cr_model_table *table_of(const cr_job *j, const cr_feature *f) {
    const char *own = f->embedding_name && *f->embedding_name ? f->embedding_name : NULL;
    for (int i = 0; i < j->model->n_tables; i++) {
        const cr_model_table *mt = j->model->tables[i];
        size_t len = strlen(own ? own : f->name);
        const char *rest = mt->short_name + len;
        if (strncmp(mt->short_name, own ? own : f->name, len) != 0) continue;
        if (own ? *rest == 0 : strcmp(rest, "_emb") == 0) return mt;
    }
    return NULL;
}

static cr_code load_table(cr_job *j, const cr_ckpt_tensor *t, const char *path, const char *tensor,
                          bool dry, cr_err *err) {
    char *found;
    cr_ckpt *c;
    CR_TRY(cr_ckpt_resolve(&j->cfg.arena, path, CR_NEED_WEIGHTS, NULL, &found, err));
    CR_TRY(cr_ckpt_open_weights(&c, found, err));
    note(j, cr_ckpt_digest(c));
    cr_code code = cr_ckpt_load_one(c, *tensor ? tensor : NULL, t, cr_job_self(j), dry, err);
    cr_ckpt_close(c);
    return code;
}

static void pretrained(cr_job *j, cr_ckpt_tensor *v, int n, bool dry, cr_diag *diag) {
    const cr_model *m = j->model;
    const cr_feature **by = CR_NEW_N(&j->cfg.arena, const cr_feature *, m->n_tables + 1);
    for (int i = 0; i < j->features->n; i++) {
        const cr_feature *f = j->features->v[i];
        const char *path = text_of(f->conf, "pretrained_path");
        const char *tensor = text_of(f->conf, "pretrained_tensor");
        cr_loc at = cr_conf_at(f->conf, "pretrained_path");
        if (!*path) {
            if (*tensor)
                cr_diag_add(
                    diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(f->conf, "pretrained_tensor"),
                    "pretrained_tensor is given without pretrained_path; name the file too");
            continue;
        }
        const cr_model_table *mt = f->sparse ? table_of(j, f) : NULL;
        if (!mt) {
            cr_diag_add(
                diag, f->sparse ? CR_SEV_WARN : CR_SEV_ERROR, CR_ECONF, at,
                f->sparse ? "feature '%s' is in no deep feature group, so pretrained_path has no "
                            "effect"
                          : "feature '%s' has no table that pretrained_path could fill; remove it",
                f->name);
            continue;
        }
        if (cr_feature_mapped(f)) {
            cr_diag_add(
                diag, CR_SEV_ERROR, CR_ECONF, at,
                "feature '%s': no row of its table belongs to an id yet, so pretrained_path "
                "cannot fill it; use fine_tune_checkpoint, which has the ids too",
                f->name);
            continue;
        }
        int k = 0;
        while (m->tables[k] != mt)
            k++;
        if (by[k] && (strcmp(text_of(by[k]->conf, "pretrained_path"), path) != 0 ||
                      strcmp(text_of(by[k]->conf, "pretrained_tensor"), tensor) != 0))
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                        "features '%s' and '%s' share the table '%s' but name different pretrained "
                        "tensors; keep one of them",
                        by[k]->name, f->name, mt->short_name);
        if (by[k]) continue;
        by[k] = f;
        cr_err err;
        for (int q = 0; q < n; q++) {
            if (strcmp(v[q].name, mt->table.name) != 0) continue;
            cr_ckpt_tensor t = v[q];
            t.name = cr_arena_printf(&j->cfg.arena, "%s of feature %s", mt->short_name, f->name);
            if (load_table(j, &t, path, tensor, dry, &err) != CR_OK)
                cr_diag_add(diag, CR_SEV_ERROR, err.code, at, "pretrained_path '%s': %s", path,
                            err.msg);
            else if (!dry)
                CR_INFO("Table %s: first values from %s", mt->short_name, path);
        }
    }
}

/* ---- a fine-tune checkpoint ---- */

/* Reports a file that cannot be used at the place where the config names it, or at a place inside
 * the file if there is one. */
static cr_code wrong_file(const cr_train_conf *tc, const char *key, const char *path,
                          const cr_err *err, cr_diag *diag) {
    if (err->at.path && err->at.line > 0) return cr_diag_err(diag, err);
    return cr_job_wrong_path(tc, key, path, err, diag);
}

static cr_code fine_tune(cr_job *j, cr_trainer *t, cr_ckpt_tensor *v, int n, bool ignore_optimizer,
                         bool dry, cr_diag *diag) {
    const cr_train_conf *tc = j->root->train_config;
    cr_arena *a = &j->cfg.arena;
    cr_err err;
    char *path;
    cr_ckpt *c;
    cr_ckpt_loaded done;
    cr_ckpt_rename *map = NULL;
    int n_map = 0;
    uint64_t content;
    bool weights = ignore_optimizer || !t;
    if (*tc->fine_tune_ckpt_param_map &&
        cr_ckpt_param_map(a, tc->fine_tune_ckpt_param_map, &map, &n_map, &err) != CR_OK)
        return wrong_file(tc, "fine_tune_ckpt_param_map", tc->fine_tune_ckpt_param_map, &err, diag);
    if (cr_ckpt_resolve(a, tc->fine_tune_checkpoint, weights ? CR_NEED_WEIGHTS : CR_NEED_ALL,
                        j->pool, &path, &err) != CR_OK ||
        (weights ? cr_ckpt_open_weights(&c, path, &err) : cr_ckpt_open(&c, path, &err)) != CR_OK)
        return wrong_file(tc, "fine_tune_checkpoint", tc->fine_tune_checkpoint, &err, diag);
    if (!dry) CR_INFO("Restoring checkpoint from %s...", path);
    note(j, cr_ckpt_digest(c));
    if (map && cr_digest_file(tc->fine_tune_ckpt_param_map, NULL, &content, NULL) == CR_OK)
        note(j, content);
    cr_ckpt_load_opts lo = {.allow_missing = true,
                            .allow_extra = true,
                            .allow_resize = true,
                            .skip_optimizer = weights,
                            .dry = dry,
                            .map = map,
                            .n_map = n_map,
                            .map_path = tc->fine_tune_ckpt_param_map,
                            .pool = j->pool,
                            .self = cr_job_self(j),
                            /* one rank reads every byte; all learn whether it could */
                            .no_verify = !cr_job_is_first(j),
                            .done = &done};
    cr_arena ids;
    cr_arena_init(&ids, 0);
    cr_code code = cr_job_same_meaning(j, c, true, diag);
    if (code == CR_OK && cr_restore_by_id(j, c, v, n, dry, &ids, &err) != CR_OK)
        code = wrong_file(tc, "fine_tune_checkpoint", path, &err, diag);
    if (code == CR_OK) code = cr_ckpt_load(c, v, n, &lo, diag);
    cr_arena_clear(&ids);
    if (code == CR_OK && !dry) code = cr_job_maps_loaded(j, diag);
    const cr_ckpt_state *s = cr_ckpt_get_state(c);
    if (code == CR_OK && !dry) {
        CR_INFO("Restored %d parameters, %d keep their first values", done.weights, done.kept);
        if (done.state > 0 && s) { /* Adam's corrections belong to the state */
            cr_trainer_state ts = cr_trainer_get_state(t);
            ts.updates = s->updates;
            ts.dense_updates = s->dense_updates;
            cr_trainer_set_state(t, ts);
        }
    }
    cr_ckpt_close(c);
    return code;
}

static cr_code begin(cr_job *j, cr_trainer *t, bool ignore_optimizer, bool dry, cr_diag *diag) {
    int n;
    cr_ckpt_tensor *v = tensors(j, t, &n);
    pretrained(j, v, n, dry, diag);
    if (*j->root->train_config->fine_tune_checkpoint && (dry || cr_diag_code(diag) == CR_OK))
        return fine_tune(j, t, v, n, ignore_optimizer, dry, diag);
    return cr_diag_code(diag);
}

cr_code cr_job_begin(cr_job *j, cr_trainer *t, bool ignore_optimizer, cr_diag *diag) {
    cr_model_fill(j->model, j->root->train_config->seed, j->pool);
    CR_TRY(begin(j, t, ignore_optimizer, false, diag));
    cr_trainer_begin(t, false);
    return CR_OK;
}

void cr_job_check_begin(cr_job *j, cr_diag *diag) {
    (void)!begin(j, NULL, true, true, diag);
}
