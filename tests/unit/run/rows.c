/*
 * rows.c - training with tables whose rows an owner has gives the same bytes as training with
 * tables in memory: pooled, weighted and averaged lookups, tables that features share, sequences
 * that an axis cuts, steps with several ids, 16-bit and frozen tables; with several rules,
 * clipping, a loss scale, mixed precision and accumulation.
 */
#include "base/rng.h"
#include "kern/kern.h"
#include "pile.h"
#include "unit/run/run_test.h"

#define ROWS       500
#define BATCH      96
#define MAX_TABLES 32

static uint64_t drawn;
static int below(int n) {
    double u = cr_rng_f64(5, drawn++);
    return (int)(u * u * n); /* small numbers repeat */
}

/* n values below `top` between marks; weighted: with a weight behind each */
static void values(cr_buf *b, int n, int top, bool weighted) {
    for (int i = 0; i < n; i++) {
        cr_buf_printf(b, "%s%d", i ? "|" : "", below(top));
        if (weighted) cr_buf_printf(b, ":%d.%d", below(3), below(10));
    }
}

static void make_data(void) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "clk,weight,user,item,near,tags,cats,brief,briefs,stone,seen__item,seen__tags,"
                   "price\n");
    for (int i = 0; i < ROWS; i++) {
        cr_buf_printf(&b, "%d,1.%d,%d,%d,%d,", below(2), below(10), below(300), below(60),
                      below(60));
        values(&b, below(6), 400, false);
        cr_buf_char(&b, ',');
        values(&b, below(4), 40, true);
        cr_buf_printf(&b, ",%d,", below(90));
        values(&b, below(4), 90, false);
        cr_buf_printf(&b, ",%d,", below(30));
        int n = i % 7 == 0 ? 0 : below(9);
        for (int j = 0; j < n; j++)
            cr_buf_printf(&b, "%s%d", j ? ";" : "", below(60));
        cr_buf_char(&b, ',');
        for (int j = 0; j < n; j++) {
            if (j) cr_buf_char(&b, ';');
            values(&b, 1 + below(3), 50, false);
        }
        cr_buf_printf(&b, ",%d\n", below(100));
    }
    CHECK_INT(cr_file_write(in_root("data.csv"), b.data, b.n, NULL), 0);
    cr_buf_clear(&b);
#define ID(name, more)                                                                             \
    "- id_feature: {feature_name: " name ", expression: \"user:" name                              \
    "\", embedding_dim: 8, " more "}\n"
    static const char *const config[] = {
        "train_config:\n",
        "  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}\n",
        "  sparse_optimizer: {adagrad_optimizer: {lr: 0.05}, constant_learning_rate: {}}\n",
        "  num_epochs: 1\n",
        "  use_tensorboard: false\n",
        "data_config: {dataset_type: CsvDataset, fg_mode: FG_NORMAL, with_header: true, ",
        "  batch_size: 96, label_fields: [clk], sample_weight_fields: [weight]}\n",
        "feature_configs:\n",
        ID("user", "num_buckets: 300"),
        ID("item", "num_buckets: 60, embedding_name: item_emb"),
        ID("near", "num_buckets: 60, embedding_name: item_emb"),
        ID("tags", "num_buckets: 400, separator: \"|\", pooling: mean"),
        ID("cats", "num_buckets: 40, separator: \"|\", weighted: true"),
        ID("brief", "num_buckets: 90, data_type: BF16"),
        ID("briefs", "num_buckets: 90, data_type: FP16, separator: \"|\""),
        ID("stone", "num_buckets: 30, trainable: false"),
        "- raw_feature: {feature_name: price, expression: \"user:price\"}\n",
        "- sequence_feature:\n",
        "    sequence_name: seen\n",
        "    sequence_length: 6\n",
        "    sequence_delim: ;\n",
        "    features:\n",
        "    " ID("item", "num_buckets: 60, embedding_name: item_emb"),
        "    " ID("tags", "num_buckets: 50, data_type: BF16, separator: \"|\", value_dim: 0, "
                          "pooling: mean"),
    };
    cr_buf_init(&b);
    for (size_t i = 0; i < sizeof(config) / sizeof(*config); i++)
        cr_buf_str(&b, config[i]);
    CHECK_INT(cr_file_write(in_root("base.yaml"), b.data, b.n, NULL), 0);
    cr_buf_clear(&b);
}

#define NAMES  "user, item, near, tags, cats, brief, briefs, stone, price"
#define LOSSES "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]"
/* target attention over a sequence group */
#define DIN                                                                                        \
    "model_config={feature_groups: [{group_name: deep, feature_names: [" NAMES "], group_type: "   \
    "DEEP}, {group_name: seq, feature_names: [item, tags, seen__item, seen__tags], group_type: "   \
    "SEQUENCE}], multi_tower_din: {towers: [{input: deep, mlp: {hidden_units: [16]}}], "           \
    "din_towers: [{input: seq, attn_mlp: {hidden_units: [8]}}], final: {hidden_units: "            \
    "[8]}}, " LOSSES "}"
/* wide tables beside deep ones, and sequences cut to fewer steps than they have */
#define FM                                                                                         \
    "model_config={feature_groups: [{group_name: wide, feature_names: [user, item, tags, cats], "  \
    "group_type: WIDE}, {group_name: fm, feature_names: [user, item, tags, cats, brief], "         \
    "group_type: DEEP}, {group_name: deep, feature_names: [" NAMES "], group_type: DEEP, "         \
    "sequence_groups: [{feature_names: [item, tags, seen__item, seen__tags]}], "                   \
    "sequence_encoders: [{simple_attention: {max_seq_length: 3}}, {pooling_encoder: {}}]}], "      \
    "deepfm: {deep: {hidden_units: [16], dropout_ratio: [0.2]}}, embedding_regularization: "       \
    "0.01, " LOSSES "}"
#define RULE(text) "train_config.sparse_optimizer={" text ", constant_learning_rate: {}}"

static bool open_job(cr_job *j, const char *const *set, int n_set, cr_diag *diag) {
    static char data[600];
    snprintf(data, sizeof(data), "%s/data.csv", root);
    cr_config_opts co = {.path = in_root("base.yaml"),
                         .train_input_path = data,
                         .eval_input_path = data,
                         .model_dir = "unused",
                         .set = set,
                         .n_set = n_set};
    cr_job_opts jo = {.config = &co, .threads = 2, .train = true, .with_labels = true};
    return cr_job_open(j, &jo, diag) == CR_OK;
}

/* all outputs of a batch in prediction */
static float *outputs(cr_job *j, const cr_batch *b, int64_t *n) {
    cr_plan *plan;
    cr_model_work *w;
    cr_plan_opts po = {.graph = &j->model->graph, .mode = CR_EVAL, .max_rows = BATCH, .lanes = 1};
    CHECK_INT(cr_plan_new(&plan, &po, NULL), 0);
    cr_plan_pack(plan, j->pool);
    CHECK_INT(cr_model_work_new(&w, j->model, plan, j->pool, NULL), 0);
    cr_step_input in = {.batch = b};
    cr_run run = {.input = &in};
    CHECK_INT(cr_model_run(w, b, &run, NULL), 0);
    *n = 0;
    for (int i = 0; i < j->model->n_outputs; i++)
        *n += b->n_rows * j->model->outputs[i].node->width;
    float *all = calloc((size_t)*n + 1, sizeof(float)), *at = all;
    for (int i = 0; i < j->model->n_outputs; i++) {
        const cr_node *node = j->model->outputs[i].node;
        for (int64_t r = 0; r < b->n_rows; r++, at += node->width)
            memcpy(at, cr_work_val(w->w, node) + r * cr_ld(node),
                   (size_t)node->width * sizeof(float));
    }
    cr_model_work_free(w);
    cr_plan_free(plan);
    return all;
}

/* job 0 has its tables in memory, job 1 in piles: every table, or every second one */
typedef struct pair {
    cr_job j[2];
    cr_trainer *t[2];
    pile p[MAX_TABLES];
    bool piled[MAX_TABLES];
    int n;
} pair;

static void prepare(pair *x, bool all) {
    static const uint64_t seed = 17;
    x->n = x->j[0].model->n_tables;
    CHECK(x->n > 5 && x->n <= MAX_TABLES && x->n == x->j[1].model->n_tables);
    CHECK_INT(cr_job_alloc(&x->j[0], NULL), 0);
    for (int i = 0; i < x->n; i++) {
        const cr_model_table *m = x->j[0].model->tables[i];
        const cr_table *t = &m->table;
        cr_table_spec spec = {t->name,      t->n_rows, t->D,         t->half,
                              t->trainable, t->optim,  t->optim_conf};
        x->piled[i] = all || i % 2 == 0;
        if (!x->piled[i]) continue;
        CHECK_INT(pile_init(&x->p[i], &spec, &m->init, seed, NULL), 0);
        x->j[1].model->tables[i]->table.owner = &x->p[i].owner;
    }
    CHECK_INT(cr_job_alloc(&x->j[1], NULL), 0);
    for (int k = 0; k < 2; k++) {
        cr_model_fill(x->j[k].model, seed, x->j[k].pool);
        CHECK_INT(cr_trainer_new(&x->t[k], &x->j[k], NULL), 0);
        cr_trainer_begin(x->t[k], true);
    }
}

static void compare(pair *x, const cr_batch *b, const char *what) {
    const cr_graph *g[2] = {&x->j[0].model->graph, &x->j[1].model->graph};
    CHECK_INT(g[0]->n_params, g[1]->n_params);
    CHECK(memcmp(g[0]->params, g[1]->params, (size_t)g[0]->n_params * sizeof(float)) == 0);
    for (int i = 0; i < x->n; i++) {
        const cr_table *a = &x->j[0].model->tables[i]->table, *z = &x->j[1].model->tables[i]->table;
        int64_t bad = 0;
        if (x->piled[i]) {
            CHECK(z->records == NULL && x->p[i].fetched > 0);
            bad = pile_same(&x->p[i], a);
        } else {
            for (int64_t r = 0; r < a->n_rows; r++)
                bad += memcmp(cr_table_row(a, r), cr_table_row(z, r),
                              (size_t)a->stride * sizeof(float)) != 0;
        }
        if (bad) fprintf(stderr, "%s: %lld rows of %s differ\n", what, (long long)bad, a->name);
        CHECK_INT(bad, 0);
    }
    int64_t n[2];
    float *y[2] = {outputs(&x->j[0], b, &n[0]), outputs(&x->j[1], b, &n[1])};
    CHECK(n[0] > 0 && n[0] == n[1] && memcmp(y[0], y[1], (size_t)n[0] * sizeof(float)) == 0);
    free(y[0]);
    free(y[1]);
}

static void train_both(const char *const *set, int n_set, bool all) {
    static pair x;
    cr_diag diag;
    cr_diag_init(&diag);
    memset(&x, 0, sizeof(x));
    bool open = open_job(&x.j[0], set, n_set, &diag) && open_job(&x.j[1], set, n_set, &diag);
    show(&diag);
    CHECK(open);
    if (open) {
        prepare(&x, all);
        cr_job_data d = {.paths = x.j[0].root->train_input_path,
                         .batch_size = BATCH,
                         .n_epochs = 2};
        cr_loader *l;
        CHECK_INT(cr_job_loader(&x.j[0], &d, &l, &diag), 0);
        cr_batch *b, *before = NULL;
        bool done = false;
        int64_t step = 0;
        while (cr_loader_next(l, &b, &done, NULL) == CR_OK && !(!b && done)) {
            if (!b) continue; /* the end of an epoch */
            for (int k = 0; k < 2; k++)
                CHECK_INT(cr_trainer_step(x.t[k], b, step, NULL), 0);
            double loss[2] = {cr_trainer_total(x.t[0]), cr_trainer_total(x.t[1])};
            CHECK(memcmp(&loss[0], &loss[1], sizeof(double)) == 0);
            if (before) cr_loader_release(l, before);
            before = b;
            step++;
        }
        CHECK(step >= 10);
        if (before) compare(&x, before, set[1]);
        if (before) cr_loader_release(l, before);
        cr_loader_free(l);
        for (int k = 0; k < 2; k++)
            cr_trainer_free(x.t[k]);
        for (int i = 0; i < x.n; i++)
            if (x.piled[i]) pile_clear(&x.p[i]);
    }
    for (int k = 1; k >= 0; k--)
        cr_job_close(&x.j[k]);
    cr_diag_clear(&diag);
}

static void train_with(const char *how, const char *more) {
    const char *models[] = {DIN, FM};
    for (int m = 0; m < 2; m++) {
        const char *set[] = {models[m], how, more};
        train_both(set, more ? 3 : 2, m == 0 || !more);
    }
}

TEST(several_rules) {
    train_with(RULE("sgd_optimizer: {lr: 0.05}"), NULL);
    train_with(RULE("adagrad_optimizer: {lr: 0.05, gradient_clipping: true, max_gradient: 0.001}"),
               NULL);
    train_with(RULE("adam_optimizer: {lr: 0.01}"), NULL);
    train_with(RULE("adam_optimizer: {lr: 0.01, mode: DENSE}"), NULL);
    train_with(RULE("rowwise_adagrad_optimizer: {lr: 0.05}"), NULL);
    train_with(RULE("lamb_optimizer: {lr: 0.01}"), NULL);
    train_with(RULE("ftrl_optimizer: {lr: 0.05}"), NULL);
}

#define ADAGRAD RULE("adagrad_optimizer: {lr: 0.05}")
TEST(whole_steps) {
    train_with(ADAGRAD, "train_config.grad_clipping={clipping_type: norm, max_gradient: 0.01, "
                        "enable_global_grad_clip: true}");
    train_with(ADAGRAD, "train_config.gradient_accumulation_steps=3");
    train_with(ADAGRAD, "train_config.mixed_precision=BF16");
    train_with(ADAGRAD, "train_config={mixed_precision: FP16, grad_scaler: {init_scale: 1024}, "
                        "num_epochs: 1}");
    train_with(RULE("adagrad_optimizer: {lr: 0.05}, part_optimizers: [{regex_pattern: "
                    "\".*item_emb.*\", adam_optimizer: {lr: 0.01}}]"),
               NULL);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(several_rules), CASE(whole_steps)};
    if (!root_open("rows")) return 1;
    cr_kern_init();
    make_data();
    return root_close(t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv));
}
