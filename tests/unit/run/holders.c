/*
 * holders.c - training with the lanes of every batch divided among several holders gives the bits
 * of training in one process: losses, all parameters, tables and optimizer state, metrics of
 * training and of evaluation. Holders are threads (holders.h), each with a model of its own. The
 * tables are placed in every way that there is, each table in another. In one division some holders
 * are parameter servers, which have no lanes and all tables.
 *
 * The data ends with a batch of fewer rows than lanes, so that some holders have none.
 */
#include "holders.h"
#include "job/placing.h"
#include "optim/list.h"
#include "tool/tool.h"
#include "train/train_metrics.h"
#include "unit/run/run_test.h"

#define BATCH     96 /* of all holders; a multiple of 2, 3 and 4 */
#define ROWS      (3 * BATCH + 5)
#define EVAL_ROWS (BATCH + 4)
#define MAX_SET   8

static const int splits[][MAX_HOLDERS + 1] = {{4, 4},
                                              {2, 2, 2, 2},
                                              {3, 3, 2},
                                              {5, SERVER, 3, SERVER}};
#define N_SPLITS ((int)(sizeof(splits) / sizeof(splits[0])))

typedef struct trial {
    const char *config, *edit, *set[MAX_SET];
    cr_buf seen[MAX_HOLDERS];
    bool fine[MAX_HOLDERS];
} trial;

static const char *tried[128]; /* keys of the models that were compared */
static int n_tried;

/* opening a job is not made for several threads at once */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

typedef struct part {
    cr_job j;
    cr_trainer *t;
    cr_train_metrics *tm;
    cr_evaluator *ev;
    cr_loader *data;
    cr_diag diag;
} part;

/* Places table i by the next kind of all; the holders of a table begin with another one each. */
static void place(cr_job *j, const cr_meet *meet) {
    int *list = CR_NEW_N(&j->cfg.arena, int, meet->n);
    const cr_grad_clip_conf *clip = j->root->train_config->grad_clipping;
    bool norm = cr_grad_clip(clip) == CR_CLIP_NORM && clip->enable_global_grad_clip;
    for (int i = 0; i < j->model->n_tables; i++) {
        cr_model_table *t = j->model->tables[i];
        const cr_optim_type *o = t->optim ? t->optim : j->mo.optim;
        cr_shard_kind kind = (cr_shard_kind)((i + meet->n) % CR_SHARD_KINDS);
        bool cols = kind >= CR_COLUMN_WISE;
        int n = meet->n, n_cols = 0;
        if (cols && (norm || (o && o->whole_row))) kind = CR_ROW_WISE;
        if (kind == CR_TABLE_ROW_WISE || kind == CR_TABLE_COLUMN_WISE) n = n > 2 ? n - 1 : n;
        if (kind == CR_GRID_SHARD) n_cols = n % 2 == 0 ? 2 : n;
        for (int k = 0; k < meet->n; k++)
            list[k] = (i + k) % meet->n;
        cr_placing *p = CR_NEW(&j->cfg.arena, cr_placing);
        *p = cr_placing_make(&j->cfg.arena, kind, t->n_rows, t->D, list, n, n_cols);
        CHECK(!cr_placing_check(p, t->n_rows, t->D, meet->n));
        t->placing = p;
    }
}

static int workers(const cr_meet *meet) {
    int n = 0;
    for (int h = 0; h < meet->n; h++)
        n += !meet->serves || !meet->serves[h];
    return n;
}

static cr_code open_part(part *p, const trial *t, const cr_meet *meet) {
    char size[2][64];
    int share = BATCH / (meet ? workers(meet) : 1), n = 0;
    const char *set[MAX_SET + 3];
    snprintf(size[0], sizeof(size[0]), "data_config.batch_size=%d", share);
    snprintf(size[1], sizeof(size[1]), "data_config.eval_batch_size=%d", share);
    for (; n < MAX_SET && t->set[n]; n++)
        set[n] = t->set[n];
    set[n++] = size[0];
    set[n++] = size[1];
    set[n++] = "train_config.lanes=8";
    cr_config_opts co = {.path = t->config,
                         .model_dir = "unused",
                         .edit_config_json = t->edit,
                         .set = set,
                         .n_set = n};
    cr_job_opts jo = {
        .config = &co, .threads = meet ? 1 : 2, .train = true, .with_labels = true, .meet = meet};
    cr_err err;
    CR_TRY(cr_job_open(&p->j, &jo, &p->diag));
    if (meet && meet->serves)
        CR_TRY(cr_job_server_placings(&p->j, &p->diag));
    else if (meet)
        place(&p->j, meet);
    if (cr_job_alloc(&p->j, &err) != CR_OK || cr_trainer_new(&p->t, &p->j, &err) != CR_OK ||
        cr_train_metrics_new(&p->tm, &p->j, cr_trainer_lanes(p->t), &err) != CR_OK ||
        cr_evaluator_new(&p->ev, &p->j, &err) != CR_OK)
        return cr_diag_err(&p->diag, &err);
    CHECK(!p->j.model->shards == !meet || p->j.model->n_tables == 0);
    CR_TRY(cr_job_begin(&p->j, p->t, false, &p->diag));
    cr_job_data d = {.paths = p->j.root->train_input_path,
                     .key = "train_input_path",
                     .batch_size = p->j.batch,
                     .n_epochs = 2,
                     .shuffle = true};
    return cr_job_loader(&p->j, &d, &p->data, &p->diag);
}

static void close_part(part *p) {
    show(&p->diag);
    if (p->data) cr_loader_free(p->data);
    cr_evaluator_free(p->ev);
    cr_train_metrics_free(p->tm);
    cr_trainer_free(p->t);
    cr_job_close(&p->j);
    cr_diag_clear(&p->diag);
}

/* a line that says what follows, so that a difference can be named, and the bytes */
static void note(cr_buf *out, const char *what, const void *bytes, size_t n) {
    cr_buf_printf(out, "\n%s\n", what);
    cr_buf_add(out, bytes, n);
}

static void note_results(cr_buf *out, const char *what, const cr_eval_result *r) {
    for (int i = 0; i < r->n; i++) {
        char name[256];
        snprintf(name, sizeof(name), "%s %s", what, r->v[i].name);
        note(out, name, &r->v[i].value, sizeof(double));
    }
}

static cr_code train(part *p, cr_buf *out) {
    cr_err err;
    int64_t step = 0;
    cr_batch *b, *next = NULL;
    for (bool done = false, has = false; has || !done;) {
        cr_code code = CR_OK;
        b = next;
        if (!has) code = cr_loader_next(p->data, &b, &done, &err);
        has = code == CR_OK && b;
        if (has) code = cr_loader_next(p->data, &next, &done, &err);
        if (code != CR_OK) return cr_diag_err(&p->diag, &err);
        if (!b) {
            cr_trainer_epoch_end(p->t);
            continue;
        }
        /* in every third step one holder does not know its next batch, in others none is told */
        bool unsure = step % 3 == 2 && p->j.meet && p->j.meet->self == 1;
        if (step % 5 != 4) cr_trainer_ahead(p->t, unsure ? NULL : next);
        code = cr_trainer_step(p->t, b, step++, &err);
        if (code == CR_OK) code = cr_train_metrics_step(p->tm, p->t, b, &err);
        cr_loader_release(p->data, b);
        if (code != CR_OK) return cr_diag_err(&p->diag, &err);
        char what[64];
        snprintf(what, sizeof(what), "losses of step %d", (int)step);
        for (int k = 0; k < p->j.model->n_losses; k++) {
            double loss = cr_trainer_loss(p->t, k);
            note(out, what, &loss, sizeof(loss));
        }
    }
    CHECK_INT(step, 2 * 4);
    return CR_OK;
}

/* Reads a tensor, whose parts may lie with several holders. */
static void read_whole(const cr_ckpt_tensor *t, int64_t count, const cr_meet *meet, float *x) {
    if (t->n_parts == 0) {
        t->get(t->ctx, 0, count, x);
        return;
    }
    float *all = calloc((size_t)(count * meet->n) + 1, sizeof(float)),
          *mine = all + count * meet->self;
    size_t at[MAX_HOLDERS + 1];
    for (int k = 0; k < t->n_parts; k++) {
        const cr_ckpt_part *q = &t->parts[k];
        for (int64_t r = q->row; q->holder == meet->self && r < q->end; r++)
            t->get(t->ctx, r * t->part_width + q->col, q->col_end - q->col,
                   mine + r * t->part_width + q->col);
    }
    for (int h = 0; h <= meet->n; h++)
        at[h] = (size_t)(h * count) * sizeof(float);
    meet->gather(meet->ctx, all, at);
    for (int k = 0; k < t->n_parts; k++) {
        const cr_ckpt_part *q = &t->parts[k];
        for (int64_t r = q->row; r < q->end; r++)
            memcpy(x + r * t->part_width + q->col,
                   all + q->holder * count + r * t->part_width + q->col,
                   (size_t)(q->col_end - q->col) * sizeof(float));
    }
    free(all);
}

static cr_code finish(part *p, cr_buf *out) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_eval_result r;
    cr_eval_run run = {.paths = cr_job_eval_paths(&p->j)};
    cr_trainer_swap_ema(p->t);
    cr_code code = cr_evaluator_run(p->ev, &run, &r, &a, &p->diag);
    cr_trainer_swap_ema(p->t);
    if (code == CR_OK) {
        CHECK_INT(r.rows, EVAL_ROWS);
        note(out, "rows", &r.rows, sizeof(r.rows));
        note_results(out, "metric", &r);
        note_results(out, "training metric", cr_train_metrics_result(p->tm));
    }
    int n;
    cr_ckpt_tensor *v = cr_trainer_tensors(&p->j, p->t, &a, &n);
    for (int i = 0; code == CR_OK && i < n; i++) {
        int64_t count = 1;
        for (int d = 0; d < v[i].n_dims; d++)
            count *= v[i].shape[d];
        float *x = calloc((size_t)count + 1, sizeof(float));
        read_whole(&v[i], count, p->j.meet, x);
        note(out, v[i].name, x, (size_t)count * sizeof(float));
        free(x);
    }
    cr_arena_clear(&a);
    return code;
}

static void run_part(trial *t, const cr_meet *meet, int number) {
    part p;
    memset(&p, 0, sizeof(p));
    cr_diag_init(&p.diag);
    cr_buf *out = &t->seen[number];
    cr_buf_init(out);
    pthread_mutex_lock(&one_at_a_time);
    cr_code code = open_part(&p, t, meet);
    pthread_mutex_unlock(&one_at_a_time);
    if (!meet && code == CR_OK && n_tried < (int)(sizeof(tried) / sizeof(tried[0])))
        tried[n_tried++] = p.j.root->model_config->model.m->key;
    if (code == CR_OK) code = train(&p, out);
    if (code == CR_OK) code = finish(&p, out);
    t->fine[number] = code == CR_OK;
    pthread_mutex_lock(&one_at_a_time);
    close_part(&p);
    pthread_mutex_unlock(&one_at_a_time);
}

static void hold(holder *h, void *ctx) {
    run_part(ctx, &h->meet, h->number);
}

/* names what differs first; true: nothing does */
static bool same(const char *name, const cr_buf *whole, const cr_buf *b, int n_parts, int h) {
    size_t n = whole->n < b->n ? whole->n : b->n, at = 0;
    while (at < n && whole->data[at] == b->data[at])
        at++;
    if (at == n && whole->n == b->n) return true;
    const char *what = "";
    for (size_t i = 0; i + 1 < at; i++)
        if (whole->data[i] == '\n' && whole->data[i + 1] > ' ' && whole->data[i + 1] < 127)
            what = whole->data + i + 1; /* the newest line that may be a name */
    fprintf(stderr, "%s: holder %d of %d differs from one process at byte %zu of %zu: %.*s\n", name,
            h, n_parts, at, whole->n, (int)strcspn(what, "\n"), what);
    return false;
}

static void compare(const char *name, trial *t) {
    run_part(t, NULL, 0);
    CHECK(t->fine[0]);
    for (int s = 0; s < N_SPLITS && t->fine[0]; s++) {
        trial parts = *t;
        holders hs;
        holders_run(&hs, splits[s], hold, &parts);
        for (int h = 0; h < hs.n; h++) {
            CHECK(parts.fine[h] && same(name, &t->seen[0], &parts.seen[h], hs.n, h));
            cr_buf_clear(&parts.seen[h]);
        }
        CHECK(hs.meetings > 0);
    }
    cr_buf_clear(&t->seen[0]);
}

/* ---- configs that others published ---- */

/* data for a config, in a folder of its own */
static const char *data_for(const char *config, const char *name) {
    cr_config_opts c = {.path = config};
    cr_synth_opts o = {
        .rows = ROWS, .eval_rows = EVAL_ROWS, .seed = 3, .scale = 1, .dir = in_root(name)};
    cr_diag diag;
    cr_diag_init(&diag);
    CHECK_INT(cr_synth_for(&c, 2, &o, &diag), CR_OK);
    show(&diag);
    cr_diag_clear(&diag);
    char path[100];
    snprintf(path, sizeof(path), "%s/pipeline.yaml", name);
    return in_root(path);
}

static void published(void) {
    cr_arena a;
    cr_arena_init(&a, 0);
    char **paths, pattern[600];
    size_t n;
    snprintf(pattern, sizeof(pattern), "%s/tests/published/*.config", getenv("CRANK_SOURCE_ROOT"));
    static const char *const exts[] = {".config", NULL};
    CHECK_INT(cr_glob(&a, pattern, exts, &paths, &n, NULL), CR_OK);
    CHECK(n > 25);
    for (size_t i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s", strrchr(paths[i], '/') + 1);
        *strrchr(name, '.') = 0;
        trial t = {.config = data_for(paths[i], name)};
        compare(name, &t);
    }
    cr_arena_clear(&a);
}

/* ---- the other models ---- */

#define IDS                   "cat_0,cat_1,cat_2,cat_3,cat_4,cat_5"
#define NUMBERS               "int_0,int_1,int_2,int_3"
#define GROUP(name, features) "{group_name: " name ", feature_names: [" features "]}"
#define WIDE(features)        "{group_name: wide, group_type: WIDE, feature_names: [" features "]}"
#define ALL                   GROUP("all", NUMBERS "," IDS)
#define ENDS                  ", losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]"
#define MODEL(groups, model)  "model_config={feature_groups: [" groups "], " model ENDS "}"
#define BN                    "{hidden_units: [16,8], use_bn: true, dropout_ratio: [0.2]}"
#define DEEPFM                                                                                     \
    MODEL(WIDE(IDS) "," GROUP("deep", NUMBERS "," IDS) "," GROUP("fm", IDS),                       \
          "deepfm: {deep: " BN ", final: {hidden_units: [8]}}")

static void models_of_criteo(void) {
    static const char *const models[][2] = {
        {"autoint", MODEL(GROUP("fields", IDS) "," GROUP("deep", NUMBERS "," IDS),
                          "autoint: {attention_layers: [{num_heads: 2, head_dim: 4}], deep: " BN
                          ", final: {hidden_units: [8]}}")},
        {"backbone",
         MODEL(WIDE(IDS) "," GROUP("fields", IDS) "," ALL,
               "backbone: {blocks: [{name: wide, inputs: [{feature_group_name: wide}], sum: {}}, "
               "{name: fm, inputs: [{feature_group_name: fields}], fm: {}}, {name: cross, inputs: "
               "[{feature_group_name: all}], cross_v2: {cross_num: 1, low_rank: 4}}, {name: deep, "
               "inputs: [{block_name: cross}], mlp: " BN "}], top_mlp: {hidden_units: [8]}}")},
        {"dcn_v1",
         MODEL(ALL, "dcn_v1: {cross: {cross_num: 2}, deep: " BN ", final: {hidden_units: [8]}}")},
        {"dcn_v2", MODEL(ALL, "dcn_v2: {cross: {cross_num: 2, low_rank: 4}, deep: " BN
                              ", final: {hidden_units: [8]}}")},
        {"deepfm", DEEPFM},
        {"ffm", MODEL(GROUP("ffm", IDS) "," WIDE(NUMBERS "," IDS), "ffm: {embedding_dim: 2}")},
        {"fm", MODEL(GROUP("fm", IDS) "," WIDE(NUMBERS "," IDS), "fm: {embedding_dim: 8}")},
        {"logistic_regression", MODEL(ALL, "logistic_regression: {}")},
        {"variational_dropout",
         MODEL(ALL, "dcn_v1: {cross: {cross_num: 1}, deep: " BN ", final: {hidden_units: [8]}}, "
                    "variational_dropout: {}")},
        {"embedding_regularization",
         MODEL(ALL, "dcn_v1: {cross: {cross_num: 1}, deep: " BN ", final: "
                    "{hidden_units: [8]}}, "
                    "embedding_regularization: 0.001")},
        {"wide_and_deep",
         MODEL(WIDE(IDS) "," GROUP("deep", NUMBERS "," IDS), "wide_and_deep: {deep: " BN "}")},
        {"xdeepfm", MODEL(WIDE(IDS) "," GROUP("deep", NUMBERS "," IDS),
                          "xdeepfm: {cin: {cin_layer_size: [4,2]}, deep: " BN
                          ", final: {hidden_units: [8]}}")},
        {"plugin", MODEL(GROUP("user", "cat_0,cat_1") "," GROUP("item", "cat_2,int_0"),
                         "plugin: {library: '@/libfaded.so', type: faded_towers, params: {dim: 8, "
                         "hidden: 16}}")},
    };
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        trial t = {.config = in_root("criteo/pipeline.yaml"), .set = {placed(models[i][1])}};
        compare(models[i][0], &t);
    }
}

#define USER "user_id,cms_segid,age_level,user_cates"
#define ITEM "adgroup_id,cate_id,brand,price,pid"
#define TOWER(name, label, more)                                                                   \
    "{tower_name: " name ", label_name: " label                                                    \
    ", mlp: {hidden_units: [8]}, losses: [{binary_cross_entropy: {}}" more                         \
    "], metrics: [{auc: {}}]}"
#define TOWERS TOWER("ctr", "clk", "") "," TOWER("cvr", "buy", "")
#define TASKS(model, more)                                                                         \
    "model_config={feature_groups: [" GROUP("all", USER "," ITEM) "], " model more "}"

static void tasks(void) {
    static const char *const models[][2] = {
        {"simple_multi_task",
         TASKS("simple_multi_task: {bottom_mlp: " BN ", task_towers: [" TOWERS "]}", "")},
        {"esmm",
         TASKS("esmm: {bottom_mlp: " BN
               ", ctr_tower: " TOWER("ctr", "clk", "") ", "
                                                       "cvr_tower: " TOWER("cvr", "buy", "") "}",
               "")},
        {"pareto", TASKS("mmoe: {expert_mlp: " BN ", task_towers: [" TOWERS "]}",
                         ", use_pareto_loss_weight: true")},
        {"sessions", TASKS("simple_multi_task: {task_towers: [" TOWER(
                               "ctr", "clk",
                               ", {pairwise_loss: {session_name: user_id, max_negatives: "
                               "2}}") "," TOWER("cvr", "buy",
                                                ", {listwise_rank_loss: {session_name: "
                                                "age_level}}") "]}",
                           "")},
    };
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        trial t = {.config = in_root("taobao/pipeline.yaml"),
                   .set = {models[i][1], "data_config.label_fields=[clk,buy]"}};
        compare(models[i][0], &t);
    }
}

TEST(every_model) {
    published();
    models_of_criteo();
    tasks();
    /* none was forgotten */
    for (const cr_oneof_member *m = cr_model_family.members; m->key; m++) {
        bool found = !m->type || strncmp(m->key, "custom_model", 12) == 0 || strstr(m->key, "_trt");
        for (int i = 0; i < n_tried; i++)
            found |= strcmp(tried[i], m->key) == 0;
        if (!found) fprintf(stderr, "%s was not tried\n", m->key);
        CHECK(found);
    }
}

/* ---- the rest of a step ---- */

static void criteo(const char *name, const char *const *set, const char *edit) {
    trial t = {.config = in_root("criteo/pipeline.yaml"), .edit = edit, .set = {DEEPFM}};
    for (int i = 0; set[i]; i++)
        t.set[i + 1] = set[i];
    compare(name, &t);
}
#define CRITEO(name, ...) criteo(name, (const char *const[]){__VA_ARGS__, NULL}, NULL)

static void optimizers(const char *side, const cr_oneof *family, const char *more) {
    for (const cr_oneof_member *m = family->members; m->key; m++) {
        char set[300];
        snprintf(set, sizeof(set),
                 "train_config.%s_optimizer={%s: {lr: 0.01%s}, constant_learning_rate: {}}", side,
                 m->key, more);
        if (m->type) CRITEO(m->key, set);
    }
}

TEST(sparse_optimizers) {
    optimizers("sparse", &cr_sparse_optim_family, "");
    optimizers("sparse", &cr_sparse_optim_family, ", gradient_clipping: true, max_gradient: 1e-4");
    CRITEO("every row", "train_config.sparse_optimizer={adam_optimizer: {lr: 0.01, mode: DENSE}, "
                        "constant_learning_rate: {}}");
}

TEST(dense_optimizers) {
    optimizers("dense", &cr_dense_optim_family, "");
    CRITEO("averages", "train_config.dense_optimizer.ema={decay: 0.9}");
}

#define CLIP(more) "train_config.grad_clipping={" more "}"
#define ALL_TABLES ", enable_global_grad_clip: true"

TEST(clipping) {
    CRITEO("norm", CLIP("clipping_type: norm, max_gradient: 0.01" ALL_TABLES));
    CRITEO("norm of dense parameters", CLIP("clipping_type: norm, max_gradient: 0.01"));
    CRITEO("norm 1", CLIP("clipping_type: norm, norm_type: 1, max_gradient: 0.01" ALL_TABLES));
    CRITEO("norm inf", CLIP("clipping_type: norm, norm_type: inf, max_gradient: 1e-3" ALL_TABLES));
    CRITEO("values", CLIP("clipping_type: value, max_gradient: 1e-4" ALL_TABLES));
}

TEST(precision) {
    static const char *const kinds[] = {"mixed_precision=BF16", "fp32_matmul=BF16x3",
                                        "fp32_matmul=BF16x6"};
    char config[600];
    snprintf(config, sizeof(config), "%s/tests/published/multi_tower_din.config",
             getenv("CRANK_SOURCE_ROOT"));
    const char *din = data_for(config, "din");
    for (int i = 0; i < 3; i++) { /* blocks of a gradient span the rows of a lane */
        char set[64];
        snprintf(set, sizeof(set), "train_config.%s", kinds[i]);
        CRITEO(kinds[i], set);
        trial t = {.config = din, .set = {set}};
        compare(kinds[i], &t);
    }
    CRITEO("FP16", "train_config.mixed_precision=FP16",
           "train_config.grad_scaler={init_scale: 1024, growth_interval: 2}");
    /* most steps overflow, for some holders */
    CRITEO("overflow",
           "train_config.grad_scaler={init_scale: 1e42, backoff_factor: 0.01, growth_interval: 2}",
           CLIP("clipping_type: norm, max_gradient: 0.01" ALL_TABLES));
    CRITEO("overflow of clipped values",
           "train_config.grad_scaler={init_scale: 1e42, backoff_factor: 0.01, growth_interval: 2}",
           "train_config.sparse_optimizer={adagrad_optimizer: {lr: 0.01, gradient_clipping: true, "
           "max_gradient: 0.01}, constant_learning_rate: {}}");
    criteo("tables of 16 bits", (const char *const[]){NULL},
           "{\"feature_configs[13:].id_feature.data_type\": \"BF16\"}");
}

TEST(accumulation) {
    CRITEO("3 batches", "train_config.gradient_accumulation_steps=3");
    CRITEO("3 batches, and the rest", "train_config.gradient_accumulation_steps=3",
           "train_config.grad_scaler={init_scale: 1024, growth_interval: 2}",
           CLIP("clipping_type: norm, max_gradient: 0.01" ALL_TABLES),
           "train_config.dense_optimizer.ema={decay: 0.9}");
}

TEST(metrics) {
    CRITEO("metrics of evaluation",
           "model_config.metrics=[{auc: {}}, {auc: {exact: false}}, {grouped_auc: {grouping_key: "
           "cat_1}}, {xauc: {}}, {xauc: {in_batch: true}}, {grouped_xauc: {grouping_key: cat_2}}, "
           "{normalized_entropy: {}}, {accuracy: {}}, {logloss: {}}, {precision: {}}, {recall: "
           "{}}, {f1: {}}, {average_output: {}}, {average_label: {}}, {copc: {}}, "
           "{mean_absolute_error: {}}, {mean_squared_error: {}}]");
    CRITEO("metrics of training",
           "model_config.train_metrics=[{auc: {}, decay_step: 2}, {xauc: {}, decay_step: 1}, "
           "{mean_squared_error: {}, decay_step: 3}]");
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(every_model),      CASE(sparse_optimizers),
                                   CASE(dense_optimizers), CASE(clipping),
                                   CASE(precision),        CASE(accumulation),
                                   CASE(metrics)};
    if (!root_open("holders")) return 1;
    make_synth("criteo", in_root("criteo"), ROWS, EVAL_ROWS, 5, 0.0002);
    make_synth("taobao", in_root("taobao"), ROWS, EVAL_ROWS, 5, 0.0005);
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return root_close(rc);
}
