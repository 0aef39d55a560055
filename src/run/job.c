/*
 * job.c - from a config file to a model in memory, the same way for every job: load and edit, bind,
 * check, features, graph; then parameters, from the seed or from a checkpoint. Every mistake that
 * can be found without data is found before anything large is allocated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/log.h"
#include "conf/conf.h"
#include "dialect/dialect.h"
#include "kern/kern.h"
#include "run/env.h"
#include "run/run_int.h"
#include "run/verify.h"

cr_code cr_diag_err(cr_diag *diag, const cr_err *err) {
    cr_diag_add_(err->src, err->src_line, diag, CR_SEV_ERROR, err->code, err->at, "%s", err->msg);
    return err->code;
}

/* A flag of the command line takes the place of a key. */
static void put_flag(cr_conf_doc *doc, cr_conf_node *map, const char *key, const char *value,
                     const char *flag) {
    cr_tree_put_str(doc, map, key, (cr_loc){flag, 0, 0}, value);
}

cr_code cr_config_load(cr_config *c, const cr_config_opts *o, cr_diag *diag) {
    memset(c, 0, sizeof(*c));
    cr_arena_init(&c->arena, 0);
    cr_conf_doc_init(&c->doc);
    CR_TRY(cr_verify_config(o->path, diag));
    CR_TRY(cr_dialect_load(&c->doc, o->path, diag));
    const struct {
        const char *key, *value, *flag;
    } paths[] = {{"model_dir", o->model_dir, "--model_dir"},
                 {"train_input_path", o->train_input_path, "--train_input_path"},
                 {"eval_input_path", o->eval_input_path, "--eval_input_path"}};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (paths[i].value)
            put_flag(&c->doc, c->doc.root, paths[i].key, paths[i].value, paths[i].flag);
    bool edits_ok = true;
    if (o->fine_tune_checkpoint) {
        static const char flag[] = "--fine_tune_checkpoint";
        cr_conf_node *train =
            cr_tree_child(&c->doc, c->doc.root, "train_config", (cr_loc){flag, 0, 0});
        put_flag(&c->doc, train, "fine_tune_checkpoint", o->fine_tune_checkpoint, flag);
    }
    if (o->edit_config_json)
        edits_ok = cr_conf_edit_json(&c->doc, &cr_root_msg, o->edit_config_json, diag) == CR_OK;
    for (int i = 0; i < o->n_set; i++)
        if (cr_conf_set(&c->doc, &cr_root_msg, o->set[i], o->n_set > 1, diag) != CR_OK)
            edits_ok = false;
    cr_env_keep(&c->doc);
    cr_config_defaults(&c->doc);
    if (o->asset_dir) cr_job_assets_from(c, o->asset_dir);
    c->root = cr_conf_bind(&c->arena, &cr_root_msg, c->doc.root, diag);
    if (c->root->data_config) c->root->data_config->inside = o->asset_dir;
    cr_root_finish(c->root, &c->arena, diag);
    if (edits_ok) cr_root_check(c->root, diag);
    cr_diag_sort(diag);
    return cr_diag_code(diag);
}

void cr_config_of_dir(cr_config_opts *c, char path[1200]) {
    char weights[1200];
    if (!c->path || !cr_path_is_dir(c->path)) return;
    snprintf(path, 1200, "%s/pipeline.config", c->path);
    if (!cr_path_exists(path)) return; /* reading the folder says so */
    snprintf(weights, sizeof(weights), "%s/index.json", c->path);
    if (cr_path_exists(weights)) c->asset_dir = c->path;
    c->path = path;
}

void cr_config_clear(cr_config *c) {
    cr_conf_doc_clear(&c->doc);
    cr_arena_clear(&c->arena);
    memset(c, 0, sizeof(*c));
}

/* the columns of the data set, for ALL_COLUMNS */
static cr_code all_columns(job *j, const char *paths, cr_diag *diag) {
    cr_source *src;
    CR_TRY(j->reader->open(&src, j->root->data_config, paths, NULL, 0, diag));
    const char *const *names;
    j->n_reserved = j->reader->columns(src, &names);
    j->reserved = CR_NEW_N(&j->cfg.arena, char *, j->n_reserved + 1);
    for (int i = 0; i < j->n_reserved; i++)
        j->reserved[i] = cr_arena_strdup(&j->cfg.arena, names[i]);
    j->reader->close(src);
    return CR_OK;
}

/* input columns of the features, for ALL_EFFECTIVE_COLUMNS */
static void effective_columns(job *j, cr_diag *diag) {
    cr_features *fs = cr_features_new(&j->cfg.arena, &j->root->feature_configs,
                                      j->root->data_config, false, NULL, 0, diag);
    if (!fs) return;
    j->n_reserved = fs->n_want;
    j->reserved = CR_NEW_N(&j->cfg.arena, char *, fs->n_want + 1);
    for (int i = 0; i < fs->n_want; i++)
        j->reserved[i] = cr_arena_strdup(&j->cfg.arena, fs->want[i].name);
}

int cr_split_list(cr_arena *a, const char *text, char ***out) {
    char *list = cr_arena_strdup(a, text), *save = NULL;
    int n = 0, max = 1;
    for (const char *c = list; *c; c++)
        max += *c == ',';
    *out = CR_NEW_N(a, char *, max);
    for (char *w = strtok_r(list, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        while (*w == ' ')
            w++;
        size_t len = strlen(w);
        while (len > 0 && w[len - 1] == ' ')
            w[--len] = 0;
        if (len > 0) (*out)[n++] = w;
    }
    return n;
}

static cr_code reserve(job *j, const job_opts *o, cr_diag *diag) {
    if (!o->reserved || !*o->reserved) return CR_OK;
    if (strcmp(o->reserved, "ALL_COLUMNS") == 0) return all_columns(j, o->data_paths, diag);
    if (strcmp(o->reserved, "ALL_EFFECTIVE_COLUMNS") == 0) {
        effective_columns(j, diag);
        return cr_diag_code(diag);
    }
    j->n_reserved = cr_split_list(&j->cfg.arena, o->reserved, &j->reserved);
    return CR_OK;
}

/* A lane of few rows has few equal ids to share work and sums as many gradients as a long one. */
int cr_lanes_for(int64_t said, int64_t batch) {
    int lanes = 8;
    while (lanes > 2 && batch < 256 * lanes)
        lanes /= 2;
    return said > 0 ? (int)said : lanes;
}

static int64_t of_all(const job *j, int64_t rows) {
    return cr_mul_i64(rows, j->meet ? j->meet->n : 1);
}

cr_code cr_job_prepare(job *j, const job_opts *o, cr_diag *diag) {
    cr_root_conf *c = j->root = j->cfg.root;
    j->meet = o->meet;
    j->batch = of_all(j, c->data_config->batch_size);
    j->lanes = cr_lanes_for(c->train_config->lanes, j->batch);
    const cr_sparse_optim_conf *sparse = c->train_config->sparse_optimizer;
    j->accept_changed_features = o->config && o->config->accept_changed_features;
    cr_kern_init();
    cr_err err;
    int threads = o->threads > 0 ? o->threads : cr_cpu_count();
    if (cr_pool_new(&j->pool, threads, &err) != CR_OK) return cr_diag_err(diag, &err);
    const cr_enum_value *e = cr_dataset_types;
    while (e->name && e->value != c->data_config->dataset_type)
        e++;
    j->reader = e->name ? cr_reader_find(e->name) : NULL;
    if (!j->reader)
        return cr_diag_err(
            diag,
            &(cr_err){.code = CR_ECONF,
                      .at = cr_conf_at(c->data_config, "dataset_type"),
                      .msg = "no reader for this dataset_type in this version; use CsvDataset or "
                             "ParquetDataset"});
    CR_TRY(reserve(j, o, diag));
    j->features =
        cr_features_new(&j->cfg.arena, &c->feature_configs, c->data_config, o->with_labels,
                        (const char *const *)j->reserved, j->n_reserved, diag);
    if (!j->features) return cr_diag_code(diag);
    j->mo = (cr_model_opts){.conf = c->model_config,
                            .inside = c->data_config->inside,
                            .features = j->features,
                            .with_labels = o->with_labels,
                            .optim = o->train ? cr_optim_of(&sparse->optimizer) : NULL,
                            .optim_conf = o->train ? sparse->optimizer.conf : NULL,
                            .seed = c->train_config->seed};
    const char *half =
        o->exported ? c->export_config->mixed_precision : c->train_config->mixed_precision;
    j->mo.half = cr_half_of(half);
    j->model = cr_model_new(&j->mo, diag);
    j->evaluates = o->with_labels;
    if (j->model && o->train) cr_job_rules(j, diag);
    for (int i = 0; j->model && i < j->model->n_losses; i++)
        if (j->model->losses[i].label >= 0)
            cr_features_label_rule(j->features, j->model->losses[i].label, j->model->losses[i].K,
                                   j->model->losses[i].name);
    if (j->model && j->model->domain_label >= 0)
        cr_features_label_rule(j->features, j->model->domain_label, j->model->n_domains,
                               "task_domain_num");
    if (j->model) cr_features_check_labels(j->features, diag);
    return cr_diag_code(diag);
}

cr_code cr_job_open(job *j, const job_opts *o, cr_diag *diag) {
    memset(j, 0, sizeof(*j));
    CR_TRY(cr_config_load(&j->cfg, o->config, diag));
    return cr_job_prepare(j, o, diag);
}

void cr_job_close(job *j) {
    cr_model_free(j->model);
    cr_ckpt_close(j->mapped);
    if (j->pool) cr_pool_free(j->pool);
    cr_config_clear(&j->cfg);
    memset(j, 0, sizeof(*j));
}

cr_code cr_job_alloc(job *j, cr_err *err) {
    CR_TRY(cr_model_alloc(j->model, &j->mo, err));
    for (int i = 0; j->tables.of && i < j->model->n_tables; i++)
        j->model->tables[i]->table.optim_group = j->tables.of[i];
    return CR_OK;
}

/* the rows of a table in an export, when they lie there as in memory */
static void map_table(cr_model_table *t, const cr_ckpt *c) {
    static const int halves[CR_DT_COUNT] = {
        [CR_DT_F16] = CR_HALF_FP16, [CR_DT_BF16] = CR_HALF_BF16};
    const cr_ckpt_info *p = cr_ckpt_find(c, t->table.name);
    if (!p) return;
    int half = halves[p->dtype];
    if (half) t->half = half; /* such values stay in 16 bits, mapped or not */
    bool fits = (half || p->dtype == CR_DT_F32) && p->n_dims == 2 && p->shape[0] == t->n_rows &&
                p->shape[1] == t->D && !(half && t->D % 2);
    if (fits && t->half == half) t->mapped = cr_ckpt_view(c, t->table.name);
}

cr_code cr_job_map(job *j, const char *path, cr_err *err) {
    cr_ckpt *c;
    CR_TRY(cr_ckpt_open_weights(&c, path, err));
    if (!cr_ckpt_is_export(c)) {
        cr_ckpt_close(c);
        return CR_OK;
    }
    j->mapped = c;
    for (int i = 0; i < j->model->n_tables; i++)
        map_table(j->model->tables[i], c);
    return CR_OK;
}

bool cr_job_wants_ema(const job *j, bool eval) {
    const cr_root_conf *c = j->root;
    const void *conf = eval ? (const void *)c->eval_config : (const void *)c->export_config;
    if (cr_conf_has(conf, "use_dense_ema"))
        return eval ? c->eval_config->use_dense_ema : c->export_config->use_dense_ema;
    return c->train_config->dense_optimizer->ema != NULL;
}

void cr_job_check_ema(const job *j, cr_diag *diag) {
    const cr_root_conf *c = j->root;
    if (c->train_config->dense_optimizer->ema) return;
    const void *conf[] = {c->eval_config, c->export_config};
    bool wants[] = {c->eval_config->use_dense_ema, c->export_config->use_dense_ema};
    for (int i = 0; i < 2; i++)
        if (wants[i] && cr_conf_has(conf[i], "use_dense_ema"))
            cr_diag_add(
                diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf[i], "use_dense_ema"),
                "use_dense_ema needs averages, which this training does not make; add %s, or "
                "remove it",
                CR_SAY(c, "dense_optimizer.ema", "{decay: 0.999}"));
}

static bool is_trained(const cr_graph *g, const char *name) {
    for (int i = 0; i < g->n; i++)
        if (g->nodes[i]->cls == CR_PARAM && strcmp(g->nodes[i]->name, name) == 0)
            return g->nodes[i]->trainable;
    return false;
}

/* lets the dense parameters among v be filled from their averages. A checkpoint without them is
 * told; an export has none, because its weights are the averages already. */
static cr_code use_ema(const job *j, const cr_ckpt *c, cr_ckpt_tensor *v, int n, cr_arena *a,
                       cr_diag *diag) {
    const char *key = j->evaluates ? "eval_config" : "export_config";
    const void *conf =
        j->evaluates ? (const void *)j->root->eval_config : (const void *)j->root->export_config;
    int found = 0, trained = 0;
    for (int i = 0; i < n; i++) {
        if (!is_trained(&j->model->graph, v[i].name)) continue;
        const char *name = cr_arena_printf(a, "state.%s.ema", v[i].name);
        trained++;
        if (!cr_ckpt_find(c, name)) continue;
        v[i].name = name;
        found++;
    }
    if (found > 0 || trained == 0 || !cr_ckpt_get_state(c)) return CR_OK;
    bool asked = cr_conf_has(conf, "use_dense_ema");
    cr_diag_add(diag, asked ? CR_SEV_ERROR : CR_SEV_WARN, CR_ERUN, (cr_loc){cr_ckpt_path(c), 0, 0},
                asked ? "holds no averaged parameters, which %s.use_dense_ema asks for; it was "
                        "trained without ema"
                      : "holds no averaged parameters, so the last ones are used; set "
                        "%s.use_dense_ema to false to say so",
                key);
    return cr_diag_code(diag);
}

cr_ckpt_need cr_job_needs(const job *j) {
    return cr_job_wants_ema(j, j->evaluates) ? CR_NEED_ALL : CR_NEED_WEIGHTS;
}

/* the feature groups, and the sequence groups inside of them */
static cr_feature_order *orders(const job *j, cr_arena *a, int *n) {
    const cr_msgs *groups = &j->root->model_config->feature_groups;
    int64_t max = groups->n;
    for (int64_t i = 0; i < groups->n; i++)
        max += ((const cr_group_conf *)groups->v[i])->sequence_groups.n;
    cr_feature_order *v = CR_NEW_N(a, cr_feature_order, max + 1);
    *n = 0;
    for (int64_t i = 0; i < groups->n; i++) {
        const cr_group_conf *g = groups->v[i];
        v[(*n)++] = (cr_feature_order){g->group_name, g, g->feature_names};
        for (int64_t k = 0; k < g->sequence_groups.n; k++) {
            const cr_seq_group_conf *s = g->sequence_groups.v[k];
            const char *name = s->group_name && *s->group_name
                                   ? s->group_name
                                   : cr_arena_printf(a, "sequence %d", (int)k);
            v[(*n)++] = (cr_feature_order){cr_arena_printf(a, "%s/%s", g->group_name, name), s,
                                           s->feature_names};
        }
    }
    return v;
}

const char *cr_job_meaning(const job *j, cr_arena *a) {
    cr_buf b;
    int n;
    cr_buf_init(&b);
    const cr_feature_order *v = orders(j, a, &n);
    cr_features_meaning(j->features, j->root->data_config, v, n, &b);
    const char *text = cr_arena_strndup(a, b.data, b.n);
    cr_buf_clear(&b);
    return text;
}

cr_code cr_job_same_meaning(const job *j, const cr_ckpt *c, bool fine_tune, cr_diag *diag) {
    if (!cr_ckpt_features(c)) return CR_OK;
    int n, n_orders;
    bool accepted = fine_tune || j->accept_changed_features;
    cr_arena a;
    cr_arena_init(&a, 0);
    const cr_feature_order *v = orders(j, &a, &n_orders);
    cr_code code = cr_features_same_meaning(j->features, j->root->data_config, v, n_orders,
                                            cr_ckpt_features(c), cr_ckpt_path(c),
                                            accepted ? CR_SEV_WARN : CR_SEV_ERROR, &n, diag);
    cr_arena_clear(&a);
    return code;
}

cr_code cr_job_load_weights(job *j, const char *path, cr_diag *diag) {
    cr_err err;
    cr_ckpt *c = j->mapped;
    cr_code opened = c                                ? CR_OK
                     : cr_job_needs(j) == CR_NEED_ALL ? cr_ckpt_open(&c, path, &err)
                                                      : cr_ckpt_open_weights(&c, path, &err);
    if (opened != CR_OK) return cr_diag_err(diag, &err);
    int n;
    cr_ckpt_tensor *v = cr_job_tensors(j, NULL, &j->cfg.arena, &n);
    cr_ckpt_load_opts lo = {.allow_extra = true,
                            .skip_optimizer = true,
                            .no_verify = j->verified && strcmp(j->verified, path) == 0,
                            .pool = j->pool};
    cr_code code = cr_job_same_meaning(j, c, false, diag);
    if (code == CR_OK && cr_job_wants_ema(j, j->evaluates))
        code = use_ema(j, c, v, n, &j->cfg.arena, diag);
    if (code == CR_OK) code = cr_ckpt_load(c, v, n, &lo, diag);
    if (!j->mapped) cr_ckpt_close(c);
    return code;
}

cr_code cr_job_wrong_path(const void *conf, const char *key, const char *path, const cr_err *err,
                          cr_diag *diag) {
    cr_loc at = cr_conf_at(conf, key);
    bool flag = at.path && strncmp(at.path, "--", 2) == 0 && at.line <= 0; /* it names the key */
    bool other = err->at.path && strcmp(err->at.path, path) != 0;          /* a file inside of it */
    cr_diag_add(diag, CR_SEV_ERROR, err->code, at, "%s%s'%s': %s%s%s", flag ? "" : key,
                flag ? "" : " ", path, other ? err->at.path : "", other ? ": " : "", err->msg);
    return err->code;
}

static cr_code find_files(const job *j, const job_data *d, cr_diag *diag) {
    cr_arena a;
    char **paths;
    size_t n;
    cr_err err;
    cr_arena_init(&a, 0);
    cr_code code = cr_glob(&a, d->paths, j->reader->exts, &paths, &n, &err);
    for (size_t i = 0; code == CR_OK && !d->once && i < n; i++)
        if (cr_is_stdin(paths[i])) {
            (void)cr_fail_at(&err, CR_EUSAGE, ((cr_loc){d->paths, 0, 0}),
                             "standard input can be read only once, and this data is read again in "
                             "every epoch or evaluation, and when training is continued; write it "
                             "to a file and name that");
            code = CR_EUSAGE;
        }
    cr_arena_clear(&a);
    if (code != CR_OK)
        cr_job_wrong_path(j->root, d->key, err.at.path ? err.at.path : d->paths, &err, diag);
    return code;
}

cr_code cr_job_loader(job *j, const job_data *d, cr_loader **out, cr_diag *diag) {
    if (d->key) CR_TRY(find_files(j, d, diag));
    int threads = cr_pool_threads(j->pool), workers = (int)j->root->data_config->num_workers;
    if (workers > threads) workers = threads;
    const cr_meet *m = j->meet;
    cr_share share = {0, 0, 0};
    if (m) share = (cr_share){m->lane[m->self], m->lane[m->self + 1], m->lane[m->n]};
    cr_loader_opts lo = {.conf = j->root->data_config,
                         .reader = j->reader,
                         .paths = d->paths,
                         .want = j->features->want,
                         .n_want = j->features->n_want,
                         .encode = cr_features_encode,
                         .encode_ctx = j->features,
                         .check = cr_features_check,
                         .tally_size = cr_features_counts_size(j->features),
                         .tally_add = cr_features_counts_add,
                         .batch_size = d->batch_size,
                         .split = {.side = j->root->data_config->eval_fraction > 0 ? d->side
                                                                                   : CR_ALL_ROWS,
                                   .fraction = j->root->data_config->eval_fraction,
                                   .col = j->features->split_col},
                         .mask = d->mask,
                         .shuffle = d->shuffle,
                         .drop_remainder = d->drop_remainder,
                         .seed = j->root->train_config->seed,
                         .n_threads = workers > 0 ? workers : 1,
                         .share = share,
                         .start = d->start,
                         .trace = d->trace,
                         .ids = d->ids,
                         .n_epochs = d->n_epochs,
                         .max_bad_rows =
                             d->any_bad ? INT64_MAX : j->root->data_config->max_bad_rows,
                         .silent = d->silent};
    return cr_loader_new(out, &lo, diag);
}

int64_t cr_job_eval_batch(const job *j) {
    const cr_data_conf *d = j->root->data_config;
    return of_all(j, d->eval_batch_size > 0 ? d->eval_batch_size : d->batch_size);
}

const char *cr_job_eval_paths(const job *j) {
    const cr_root_conf *c = j->root;
    if (*c->eval_input_path) return c->eval_input_path;
    return c->data_config->eval_fraction > 0 && *c->train_input_path ? c->train_input_path : NULL;
}

const char *cr_job_eval_key(const job *j) {
    return *j->root->eval_input_path ? "eval_input_path" : "train_input_path";
}

/* ---- tensors ---- */

typedef struct list {
    cr_ckpt_tensor *v;
    int n;
} list;

static void add_flat(list *l, const char *name, const cr_node *p, float *data, bool optimizer) {
    cr_ckpt_tensor t = {.name = name,
                        .n_dims = p->n_dims,
                        .dtype = CR_DT_F32,
                        .get = cr_ckpt_get_flat,
                        .put = cr_ckpt_put_flat,
                        .ctx = data,
                        .optimizer = optimizer};
    t.shape[0] = p->n_dims >= 2 ? p->rows : p->width;
    t.shape[1] = p->cols;
    t.shape[2] = 1;
    l->v[l->n++] = t;
}

/* the weights of a table, whatever they are stored in */
static void get_weights(void *ctx, int64_t first, int64_t n, float *out) {
    const cr_table *t = ctx;
    for (int64_t i = 0, m; i < n; i += m) {
        int64_t r = (first + i) / t->D, col = (first + i) % t->D;
        m = t->D - col < n - i ? t->D - col : n - i;
        cr_table_get_part(t, r, col, m, out + i);
    }
}

static void put_weights(void *ctx, int64_t first, int64_t n, const float *in) {
    cr_table *t = ctx;
    for (int64_t i = 0, m; i < n; i += m) {
        int64_t r = (first + i) / t->D, col = (first + i) % t->D;
        m = t->D - col < n - i ? t->D - col : n - i;
        cr_table_put_part(t, r, col, m, in + i);
    }
}

static void add_weights(list *l, cr_table *t) {
    static const cr_dtype stored[] = {
        [0] = CR_DT_F32, [CR_HALF_BF16] = CR_DT_BF16, [CR_HALF_FP16] = CR_DT_F16};
    l->v[l->n++] = (cr_ckpt_tensor){.name = t->name,
                                    .n_dims = 2,
                                    .shape = {t->n_rows, t->D},
                                    .dtype = stored[t->half],
                                    .get = get_weights,
                                    .put = put_weights,
                                    .in_place = t->size == 0,
                                    .ctx = t};
}

/* a plane of optimizer state: width floats at `off` of every record */
static void add_state(list *l, cr_arena *a, const char *name, const cr_table *t, int64_t off,
                      int64_t width, int n_dims) {
    cr_ckpt_rows *r = CR_NEW(a, cr_ckpt_rows);
    *r = (cr_ckpt_rows){cr_table_row(t, 0) + off, width, t->stride};
    l->v[l->n++] = (cr_ckpt_tensor){.name = name,
                                    .n_dims = n_dims,
                                    .shape = {t->n_rows, width},
                                    .dtype = CR_DT_F32,
                                    .get = cr_ckpt_get_rows,
                                    .put = cr_ckpt_put_rows,
                                    .ctx = r,
                                    .optimizer = true};
}

cr_ckpt_tensor *cr_job_tensors(job *j, const trainer *t, cr_arena *a, int *n) {
    cr_model *m = j->model;
    int max = m->graph.n;
    for (int i = 0; t && i < m->graph.n; i++)
        if (m->graph.nodes[i]->cls == CR_PARAM && m->graph.nodes[i]->trainable)
            max += cr_trainer_planes(t, m->graph.nodes[i]);
    for (int i = 0; i < m->n_tables; i++) {
        const cr_optim_type *o = m->tables[i]->table.optim;
        max += 1 + (o ? o->elem_state + o->row_state : 0);
    }
    list l = {CR_NEW_N(a, cr_ckpt_tensor, max + 1), 0};
    for (int i = 0; i < m->graph.n; i++) {
        const cr_node *p = m->graph.nodes[i];
        if (p->cls != CR_PARAM || p->op) continue;
        add_flat(&l, p->name, p, p->w, false);
        for (int k = 0; t && p->trainable && k < cr_trainer_planes(t, p); k++) {
            float *data;
            const char *plane = cr_trainer_plane(t, p, k, &data);
            add_flat(&l, cr_arena_printf(a, "state.%s.%s", p->name, plane), p, data, true);
        }
    }
    for (int i = 0; i < m->n_tables; i++) {
        cr_table *tab = &m->tables[i]->table;
        const cr_optim_type *o = tab->optim;
        int first = l.n;
        if (tab->owner) continue; /* the owner keeps its rows */
        add_weights(&l, tab);
        int64_t off = cr_table_state_at(tab);
        for (int p = 0; t && o && p < o->elem_state + o->row_state; p++) {
            bool elem = p < o->elem_state;
            add_state(&l, a, cr_arena_printf(a, "state.%s.%s", tab->name, o->state_names[p]), tab,
                      off, elem ? tab->D : 1, elem ? 2 : 1);
            off += elem ? tab->D : 1;
        }
        for (int k = first; k < l.n; k++)
            l.v[k].spare_rows = m->tables[i]->owner->spare_rows;
    }
    *n = l.n;
    return l.v;
}
