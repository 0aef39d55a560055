/*
 * model_test.h - a model built from text, as a user writes it, for the tests of src/model: small
 * features of every kind, and what was built as one text.
 *
 * The text of model_config begins in line 1 of the config, so a place in a message is a line of it.
 */
#ifndef CR_TESTS_MODEL_TEST_H
#define CR_TESTS_MODEL_TEST_H

#include "base/buf.h"
#include "conf/conf.h"
#include "conf/tree.h"
#include "data/config.h"
#include "feat/config.h"
#include "harness.h"
#include "kern/kern.h"
#include "model/model.h"
#include "op/input.h"

typedef struct m_root {
    cr_conf_base base;
    cr_model_conf *model_config;
    cr_data_conf *data_config;
    cr_msgs feature_configs;
} m_root;
static const cr_field m_root_fields[] = {
    CR_MSG(m_root, model_config, &cr_model_msg, CR_F_REQUIRED, "model"),
    CR_MSG(m_root, data_config, &cr_data_msg, CR_F_REQUIRED, "data"),
    CR_MSG(m_root, feature_configs, &cr_feature_msg, CR_F_REPEATED, "features"),
    CR_END,
};
static const cr_msg m_root_msg = {
    .name = "Root",
    .help = "test root",
    .fields = m_root_fields,
    .size = sizeof(m_root),
};

/* ids a, b, c (width 4) and wide (width 3), a number x, numbers with vectors of their own (width
 * 4), an id that repeats, sequences of one block and of others */
#define M_FEATURES                                                                                 \
    "- id_feature: {feature_name: a, expression: 'user:a', num_buckets: 10, embedding_dim: 4}\n"   \
    "- id_feature: {feature_name: b, expression: 'item:b', num_buckets: 20, embedding_dim: 4}\n"   \
    "- id_feature: {feature_name: c, expression: 'item:c', num_buckets: 5, embedding_dim: 4}\n"    \
    "- id_feature: {feature_name: wide, expression: 'item:wide', num_buckets: 6, "                 \
    "embedding_dim: 3}\n"                                                                          \
    "- id_feature: {feature_name: bare, expression: 'item:bare', num_buckets: 6}\n"                \
    "- raw_feature: {feature_name: x, expression: 'item:x'}\n"                                     \
    "- raw_feature: {feature_name: x2, expression: 'item:x2', value_dim: 2}\n"                     \
    "- raw_feature: {feature_name: m, expression: 'item:m', embedding_dim: 4, mlp: {}}\n"          \
    "- raw_feature: {feature_name: d, expression: 'item:d', embedding_dim: 4, autodis: "           \
    "{num_channels: 3, temperature: 0.1, keep_prob: 0.8}}\n"                                       \
    "- sequence_feature: {sequence_name: hist, sequence_length: 6, sequence_delim: ';', "          \
    "features: [{id_feature: {feature_name: b, expression: 'item:b', num_buckets: 20, "            \
    "embedding_dim: 4}}, {raw_feature: {feature_name: t, expression: 'item:t'}}]}\n"               \
    "- sequence_feature: {sequence_name: other, sequence_length: 9, sequence_delim: ';', "         \
    "features: [{id_feature: {feature_name: c, expression: 'item:c', num_buckets: 5, "             \
    "embedding_dim: 4}}]}\n"
#define M_GROUP(name, features) "{group_name: " name ", feature_names: [" features "]}"
#define M_WIDE(features)        "{group_name: wide, group_type: WIDE, feature_names: [" features "]}"
#define M_SEQ(name, features)                                                                      \
    "{group_name: " name ", group_type: SEQUENCE, feature_names: [" features "]}"
#define M_BCE "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]"
/* a model whose task towers have losses of their own */
#define M_TASKS(groups, model) "{feature_groups: [" groups "], " model "}"
/* a model with one yes-or-no label */
#define M_MODEL(groups, model)                                                                     \
    "{feature_groups: [" groups "], " model                                                        \
    ", losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"

typedef struct m_model {
    cr_conf_doc doc;
    cr_arena arena;
    cr_diag diag;
    const char *text; /* of the config */
    m_root *root;
    cr_features *fs;
    cr_model_opts o;
    cr_model *m; /* NULL: errors in diag */
} m_model;

typedef struct m_opts {
    bool no_labels;
    const char *weights;  /* sample_weight_fields; NULL: none */
    const char *features; /* behind M_FEATURES; NULL: none */
    const cr_optim_type *optim;
    cr_products products;
} m_opts;

/* m_open builds the model of a model_config; its mistakes are in diag. Labels: y, z, domain. */
static inline m_model *m_open(const char *config, m_opts o) {
    m_model *t = cr_alloc(sizeof(*t), "a model under test");
    cr_conf_doc_init(&t->doc);
    cr_arena_init(&t->arena, 0);
    cr_diag_init(&t->diag);
    const char *text = t->text = cr_arena_printf(
        &t->arena,
        "model_config: %s\ndata_config: {dataset_type: CsvDataset, fg_mode: FG_DAG, "
        "label_fields: [y, z, domain], sample_weight_fields: [%s]}\nfeature_configs:\n%s%s",
        config, o.weights ? o.weights : "", M_FEATURES, o.features ? o.features : "");
    if (cr_conf_parse(&t->doc, CR_SYNTAX_YAML, "t.yaml", text, strlen(text), &t->diag) != CR_OK)
        return t;
    t->root = cr_conf_bind(&t->arena, &m_root_msg, t->doc.root, &t->diag);
    if (t->diag.n_errors) return t;
    cr_data_conf_finish(t->root->data_config, &t->arena, &t->diag);
    t->fs = cr_features_new(&t->arena, &t->root->feature_configs, t->root->data_config,
                            !o.no_labels, NULL, 0, &t->diag);
    if (t->diag.n_errors) return t;
    t->o = (cr_model_opts){.conf = t->root->model_config,
                           .features = t->fs,
                           .with_labels = !o.no_labels,
                           .optim = o.optim,
                           .seed = 1,
                           .products = o.products};
    t->m = cr_model_new(&t->o, &t->diag);
    return t;
}

static inline void m_close(m_model *t) {
    cr_model_free(t->m);
    cr_conf_doc_clear(&t->doc);
    cr_diag_clear(&t->diag);
    cr_arena_clear(&t->arena);
    cr_free(t);
}

/* the findings, a line each: "line:col: text" */
static inline const char *m_findings(m_model *t) {
    cr_buf b;
    cr_buf_init(&b);
    for (size_t i = 0; i < t->diag.n; i++)
        cr_buf_printf(&b, "%d:%d: %s%s\n", t->diag.v[i].at.line, t->diag.v[i].at.col,
                      t->diag.v[i].sev == CR_SEV_WARN ? "warning: " : "", t->diag.v[i].msg);
    const char *text = cr_arena_printf(&t->arena, "%s", b.n ? b.data : "");
    cr_buf_clear(&b);
    return text;
}

/* what stands in the config at the place of a finding; "" without a place */
static inline const char *m_at(const m_model *t, cr_loc at) {
    const char *line = t->text;
    for (int i = 1; i < at.line && line; i++)
        line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
    if (at.line <= 0 || at.col <= 0 || !line || (size_t)at.col > strlen(line)) return "";
    return line + at.col - 1;
}

/* what was built: tables, parameters, axes, outputs, losses, metrics, a line each */
static inline const char *m_text(m_model *t) {
    const cr_model *m = t->m;
    cr_buf b;
    cr_buf_init(&b);
    if (!m) return m_findings(t);
    for (int i = 0; i < m->n_tables; i++) {
        const cr_model_table *e = m->tables[i];
        const char *name = strstr(e->table.name, e->seq ? "ec_dict." : "embedding_bags.");
        cr_buf_printf(&b, "table %s [%lld, %lld]%s%s x%d\n", name ? name : e->table.name,
                      (long long)e->n_rows, (long long)e->D, e->mean ? " mean" : "",
                      e->trainable ? "" : " fixed", e->n_uses);
    }
    for (int i = 0; i < m->graph.n; i++) {
        const cr_node *n = m->graph.nodes[i];
        if (n->cls != CR_PARAM || n->op) continue;
        cr_buf_printf(&b, "%s", n->name);
        if (n->n_dims == 1) cr_buf_printf(&b, " [%lld]", (long long)n->width);
        if (n->n_dims >= 2)
            cr_buf_printf(&b, " [%lld, %lld%s]", (long long)n->rows, (long long)n->cols,
                          n->n_dims == 3 ? ", 1" : "");
        cr_buf_printf(&b, "%s\n", n->trainable ? "" : " fixed");
    }
    for (int i = 0; i < m->n_axes; i++)
        cr_buf_printf(&b, "axis of %s, at most %lld, beside %d\n", m->axes[i].name,
                      (long long)m->axes[i].most, m->axes[i].n_others);
    for (int i = 0; i < m->n_outputs; i++)
        cr_buf_printf(&b, "output %s (%lld)\n", m->outputs[i].name,
                      (long long)m->outputs[i].node->width);
    for (int i = 0; i < m->n_losses; i++)
        cr_buf_printf(&b, "loss %s of label %d, weight %d, K %lld%s\n", m->losses[i].name,
                      m->losses[i].label, m->losses[i].weight, (long long)m->losses[i].K,
                      m->losses[i].train_only ? ", in training only" : "");
    for (int i = 0; i < m->n_metrics; i++)
        cr_buf_printf(&b, "metric %s of label %d, mask %d, K %lld\n", m->metrics[i].name,
                      m->metrics[i].label, m->metrics[i].mask, (long long)m->metrics[i].K);
    for (int i = 0; i < m->n_train_metrics; i++)
        cr_buf_printf(&b, "train metric %s of label %d\n", m->train_metrics[i].name,
                      m->train_metrics[i].label);
    const char *text = cr_arena_printf(&t->arena, "%s", b.n ? b.data : "");
    cr_buf_clear(&b);
    return text;
}

/* ---- batches ---- */

static inline uint64_t m_draw(uint64_t *state, uint64_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* steps of row r: of no, few and many steps; the same for every sequence */
static inline int32_t m_steps(int64_t r) {
    return (int32_t)(r % 3 == 1 ? 0 : 1 + r % 5);
}

/* m_batch: ids, numbers, labels (0 or 1; the domain too) and weights, all drawn; sequences of
 * m_steps. It lives in the model's arena. */
static inline cr_batch *m_batch(m_model *t, int64_t n) {
    cr_arena *a = &t->arena;
    uint64_t seed = 12345;
    cr_batch *b = CR_NEW(a, cr_batch);
    b->n_rows = b->global_rows = n;
    b->n_sparse = t->fs->n_sparse;
    b->sparse = CR_NEW_N(a, cr_jagged, b->n_sparse + 1);
    b->dense_width = t->fs->dense_width;
    float *dense = CR_NEW_N(a, float, n * b->dense_width + 1);
    for (int64_t i = 0; i < n * b->dense_width; i++)
        dense[i] = (float)m_draw(&seed, 200) / 100 - 1;
    b->dense = dense;
    b->n_dense_seq = t->fs->n_dense_seq;
    b->dense_seq = CR_NEW_N(a, cr_dense_seq, b->n_dense_seq + 1);
    int32_t *steps = CR_NEW_N(a, int32_t, n + 1);
    for (int64_t r = 0; r < n; r++)
        steps[r + 1] = steps[r] + m_steps(r);
    for (int i = 0; i < t->fs->n; i++) {
        const cr_feature *f = t->fs->v[i];
        int64_t count = f->seq ? steps[n] : n;
        if (f->sparse) {
            int64_t *ids = CR_NEW_N(a, int64_t, count + 1);
            for (int64_t k = 0; k < count; k++)
                ids[k] = (int64_t)m_draw(&seed, (uint64_t)f->num_embeddings);
            b->sparse[f->slot] =
                (cr_jagged){.ids = ids, .n_ids = count, .steps = f->seq ? steps : NULL};
        } else if (f->seq) {
            float *v = CR_NEW_N(a, float, count * f->value_dim + 1);
            for (int64_t k = 0; k < count * f->value_dim; k++)
                v[k] = (float)m_draw(&seed, 100) / 100;
            b->dense_seq[f->slot] = (cr_dense_seq){steps, v, f->value_dim};
        }
    }
    b->n_labels = t->fs->n_labels;
    b->n_weights = t->fs->n_weights;
    float **labels = CR_NEW_N(a, float *, b->n_labels + 1),
          **weights = CR_NEW_N(a, float *, b->n_weights + 1);
    for (int k = 0; k < b->n_labels; k++) {
        labels[k] = CR_NEW_N(a, float, n + 1);
        for (int64_t r = 0; r < n; r++)
            labels[k][r] = (float)m_draw(&seed, 2);
    }
    for (int k = 0; k < b->n_weights; k++) {
        weights[k] = CR_NEW_N(a, float, n + 1);
        for (int64_t r = 0; r < n; r++)
            weights[k][r] = (float)(1 + m_draw(&seed, 4));
    }
    b->labels = (const float *const *)labels;
    b->weights = (const float *const *)weights;
    return b;
}

/* ---- runs ---- */

typedef struct m_run {
    cr_plan *plan;
    cr_model_work *w;
    cr_step_input in;
    cr_run run;
} m_run;

/* m_ready: a plan and a work; memory and first values when there are none yet */
static inline void m_ready(m_run *k, m_model *t, cr_mode mode, int lanes, int64_t max_rows) {
    memset(k, 0, sizeof(*k));
    if (!t->m->graph.params) {
        CHECK_INT(cr_model_alloc(t->m, &t->o, NULL), CR_OK);
        cr_model_fill(t->m, 7, NULL);
    }
    cr_plan_opts po = {.graph = &t->m->graph, .mode = mode, .max_rows = max_rows, .lanes = lanes};
    CHECK_INT(cr_plan_new(&k->plan, &po, NULL), CR_OK);
    CHECK_INT(cr_model_work_new(&k->w, t->m, k->plan, NULL, NULL), CR_OK);
}
/* m_step packs and runs a batch */
static inline cr_code m_step(m_run *k, m_model *t, cr_batch *b, cr_err *err) {
    float **scale = CR_NEW_N(&t->arena, float *, t->m->n_weights + 1);
    for (int i = 0; i < t->m->n_weights; i++)
        scale[i] = CR_NEW_N(&t->arena, float, b->n_rows + 1);
    cr_model_scales(t->m, b, cr_plan_lanes(k->plan), scale);
    k->in = (cr_step_input){.batch = b,
                            .scale = (const float *const *)scale,
                            .n_scale = t->m->n_weights};
    k->run = (cr_run){.input = &k->in, .step = 1};
    cr_plan_pack(k->plan, NULL);
    return cr_model_run(k->w, b, &k->run, err);
}
static inline void m_done(m_run *k) {
    cr_model_work_free(k->w);
    cr_plan_free(k->plan);
}
/* row r of an output */
static inline double m_out(const m_run *k, const m_model *t, const char *name, int64_t r) {
    for (int i = 0; i < t->m->n_outputs; i++) {
        const cr_output *o = &t->m->outputs[i];
        if (strcmp(o->name, name) == 0)
            return (double)cr_work_val(k->w->w, o->node)[r * cr_ld(o->node)];
    }
    fprintf(stderr, "no output %s\n", name);
    return NAN;
}
/* the loss of that name, over the batch */
static inline double m_loss(const m_run *k, const m_model *t, const char *name) {
    for (int i = 0; i < t->m->n_losses; i++)
        if (strcmp(t->m->losses[i].name, name) == 0)
            return cr_work_whole(k->w->w, t->m->losses[i].mean, 0);
    fprintf(stderr, "no loss %s\n", name);
    return NAN;
}

#endif
