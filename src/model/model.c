/*
 * model.c - the parts that all models share: the way from the logits of the tasks to losses,
 * predictions and metrics; the memory of tables and parameters; the registration of tables for
 * updates.
 */
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/layer.h"
#include "layer/loss.h"
#include "model/group_int.h"
#include "op/distinct.h"
#include "op/input.h"
#include "op/op.h"
#include "op/param.h"

int cr_add_weight(cr_build *b, cr_row_weight w) {
    /* with pareto weights each loss needs a number, since the step weighs it */
    bool alone = !b->conf->use_pareto_loss_weight;
    if (alone && w.field < 0 && w.space < 0 && w.factor == 1) return -1;
    b->m->weights[b->m->n_weights] = w;
    return b->m->n_weights++;
}

double cr_row_weight_of(const cr_row_weight *w, const cr_batch *b, int64_t r) {
    double v = w->field >= 0 ? (double)b->weights[w->field][r] : 1;
    if (w->space >= 0) v *= b->labels[w->space][r] > 0 ? w->in : w->out;
    return v;
}

void cr_model_scales(const cr_model *m, const cr_batch *b, const cr_lanes *lanes,
                     float *const *scale) {
    double few[128 * (CR_MAX_TASKS + 1)], *many = NULL, *sum = few;
    int64_t all = cr_lanes_all(lanes, b->n_rows, b->global_rows), row0 = cr_lanes_row0(lanes, all);
    if (m->n_weights == 0) return;
    int64_t n = (int64_t)(lanes->n + lanes->n_nodes) * m->n_weights;
    if (n > (int64_t)(sizeof few / sizeof *few))
        sum = many = cr_alloc((size_t)n * sizeof(double), "sums of weights");
    for (int l = 0; l < lanes->n; l++) {
        int64_t from = cr_lane_begin(all, lanes->all, lanes->first + l) - row0,
                end = cr_lane_begin(all, lanes->all, lanes->first + l + 1) - row0;
        for (int k = 0; k < m->n_weights; k++) {
            double s = 0;
            for (int64_t i = from; i < end; i++)
                s += cr_row_weight_of(&m->weights[k], b, i);
            sum[l * m->n_weights + k] = s;
        }
    }
    cr_lanes_sum_f64(lanes, sum, m->n_weights);
    for (int k = 0; k < m->n_weights; k++) {
        const cr_row_weight *w = &m->weights[k];
        float inv = sum[k] > 0 ? (float)(w->factor / sum[k]) : 0;
        for (int64_t i = 0; i < b->n_rows; i++)
            scale[k][i] = (float)cr_row_weight_of(w, b, i) * inv;
    }
    cr_free(many);
}

cr_task *cr_add_task(cr_build *b, const char *suffix, cr_node *logits) {
    if (b->n_tasks == CR_MAX_TASKS) CR_BUG("too many tasks");
    cr_task *t = &b->tasks[b->n_tasks++];
    int field = b->o->with_labels && cr_features_row_weights(b->o->features) > 0 ? 0 : -1;
    *t = (cr_task){.suffix = suffix,
                   .logits = logits,
                   .weight = -1,
                   .losses = &b->conf->losses,
                   .metrics = &b->conf->metrics,
                   .train_metrics = &b->conf->train_metrics,
                   .mask = -1};
    /* all tasks that use the field share one number */
    for (int i = 0; i < b->n_tasks - 1; i++)
        if (b->tasks[i].weight >= 0) t->weight = b->tasks[i].weight;
    if (t->weight < 0) t->weight = cr_add_weight(b, (cr_row_weight){field, -1, 1, 1, 1, 0});
    return t;
}

void cr_end_task(cr_build *b, cr_node *logits) {
    (void)cr_add_task(b, "", logits);
}

void cr_output_task(cr_build *b, const char *name, cr_node *x) {
    cr_end_task(b, cr_linear(b->g, name, x, b->conf->num_class, false, false));
}

void cr_single_task(cr_build *b, cr_node *x, bool bias, cr_node *const *extra, int n_extra) {
    cr_node *parts[4];
    float ones[4] = {1, 1, 1, 1};
    int n = 0;
    for (int i = 0; i < n_extra; i++)
        parts[n++] = extra[i];
    parts[n++] = cr_linear(b->g, "output_mlp", x, b->conf->num_class, bias, false);
    cr_node *logits = n > 1 ? cr_add(b->g, parts, ones, n) : parts[0];
    cr_end_task(b, logits);
}

static cr_node *find_among(const cr_output *v, int n, const char *name, const char *suffix) {
    size_t len = strlen(name);
    for (int i = 0; i < n; i++)
        if (strncmp(v[i].name, name, len) == 0 && strcmp(v[i].name + len, suffix) == 0)
            return v[i].node;
    return NULL;
}

static cr_node *find_output(const cr_build *b, const char *name, const char *suffix) {
    cr_node *n = find_among(b->m->outputs, b->m->n_outputs, name, suffix);
    return n ? n : find_among(b->inner, b->n_inner, name, suffix);
}

/* The suffix of some predictions. With inner they are no columns of the output, since only metrics
 * read them: predictions of a row's own domain, and of a task that is only trained. */
typedef struct names {
    const char *suffix;
    bool inner;
} names;

static void add_output(cr_build *b, const char *name, names to, cr_node *node) {
    cr_model *m = b->m;
    if (find_output(b, name, to.suffix)) return;
    cr_output o = {cr_arena_printf(&m->arena, "%s%s", name, to.suffix), node};
    if (to.inner) {
        b->inner[b->n_inner++] = o;
        return;
    }
    node->output = true;
    m->outputs[m->n_outputs++] = o;
}

/* Returns the buffer that a loss adds to the logits: label_mean is part of the model, saved with it
 * and never trained. NULL: the loss adds nothing. */
static cr_node *shift_of(cr_build *b, const cr_task *t, const cr_loss_type *type,
                         const void *conf) {
    double offset = type->offset ? type->offset(conf) : 0;
    if (offset == 0) return NULL;
    size_t mark = cr_graph_push(b->g, "model");
    cr_node *mean =
        cr_buffer(b->g, cr_arena_printf(&b->m->arena, "label_mean%s", t->suffix), 1, offset);
    cr_graph_pop(b->g, mark);
    return mean;
}

static cr_node *shifted(cr_build *b, cr_node *logits, cr_node *shift) {
    return shift ? cr_bias(b->g, logits, shift) : logits;
}

static void add_predictions(cr_build *b, names to, cr_pred_kind kind, cr_node *logits,
                            cr_node *value) {
    cr_graph *g = b->g;
    switch (kind) {
    case CR_PRED_VALUE: add_output(b, "y", to, value); return;
    case CR_PRED_SIGMOID:
        add_output(b, "logits", to, logits);
        if (!find_output(b, "probs", to.suffix))
            add_output(b, "probs", to, cr_activation(g, CR_ACT_SIGMOID, NULL, logits));
        return;
    case CR_PRED_SOFTMAX: {
        add_output(b, "logits", to, logits);
        cr_node *p = find_output(b, "probs", to.suffix);
        if (p) return;
        p = cr_softmax(g, logits, 1);
        add_output(b, "probs", to, p);
        if (p->width == 2) add_output(b, "probs1", to, cr_slice(g, p, 1, 1));
        return;
    }
    }
}

/* Returns the output that a metric reads. */
static cr_node *metric_input(const cr_build *b, const cr_task *t, const cr_metric_type *type) {
    static const char *const scores[] = {"probs1", "probs", "y"}, *const values[] = {"y", "probs1",
                                                                                     "probs"};
    const char *const *keys = type->wants_value ? values : scores;
    cr_node *pred = NULL;
    for (int k = 0; k < 3 && !pred; k++) {
        /* with several classes some metrics read all of them, the others the second one */
        if (type->wants_classes && strcmp(keys[k], "probs1") == 0) continue;
        pred = find_output(b, keys[k], t->suffix);
    }
    if (pred) pred->output = true;
    return pred;
}

static bool is_taken(const cr_model *m, const cr_model_metric *v, int n, const char *name) {
    bool taken = false;
    for (int i = 0; i < n; i++)
        taken |= strcmp(v[i].name, name) == 0;
    for (int i = 0; i < m->n_losses; i++)
        taken |= strcmp(m->losses[i].name, name) == 0;
    return taken;
}

/* Returns a result key that neither v nor the losses have yet: the second auc is auc_2. Logs and
 * state.json hold each key once. */
static const char *own_name(cr_model *m, const cr_model_metric *v, int n, const char *name,
                            const char *suffix) {
    const char *own = cr_arena_printf(&m->arena, "%s%s", name, suffix);
    for (int k = 2; is_taken(m, v, n, own); k++)
        own = cr_arena_printf(&m->arena, "%s%s_%d", name, suffix, k);
    return own;
}

static const char *metric_name(cr_model *m, const cr_model_metric *v, int n, const cr_task *t,
                               const cr_choice *c, const char *prefix) {
    char name[64], label[48];
    cr_metric_label(c, label, sizeof(label));
    snprintf(name, sizeof(name), "%s%s", prefix, label);
    return own_name(m, v, n, name, t->suffix);
}

static void add_metric(cr_build *b, const cr_task *t, const cr_metric_conf *mc) {
    const cr_metric_type *type = mc->metric.m->type;
    cr_model *m = b->m;
    cr_node *pred = metric_input(b, t, type);
    if (!pred) return;
    int slot = -1;
    if (type->group_key) {
        const char *key = cr_metric_group_key(&mc->metric);
        const cr_feature *f = cr_features_find(b->o->features, key);
        if (!f || !f->sparse) {
            cr_diag_add(
                b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(mc->metric.conf, "grouping_key"),
                "grouping_key '%s' is not a feature that goes through a table; name an id_feature",
                key);
            return;
        }
        slot = f->slot;
    }
    const char *name = metric_name(m, m->metrics, m->n_metrics, t, &mc->metric, "");
    m->metrics[m->n_metrics++] = (cr_model_metric){.name = name,
                                                   .type = type,
                                                   .conf = mc->metric.conf,
                                                   .pred = pred,
                                                   .K = pred->width,
                                                   .label = t->label,
                                                   .group_slot = slot,
                                                   .mask = t->mask};
}

static void add_train_metric(cr_build *b, const cr_task *t, const cr_train_metric_conf *mc) {
    cr_model *m = b->m;
    cr_node *pred = metric_input(b, t, mc->metric.m->type);
    if (!pred) return;
    const char *name = metric_name(m, m->train_metrics, m->n_train_metrics, t, &mc->metric,
                                   mc->last_steps ? "batch_" : "");
    m->train_metrics[m->n_train_metrics++] = (cr_model_metric){.name = name,
                                                               .type = mc->metric.m->type,
                                                               .conf = mc->metric.conf,
                                                               .pred = pred,
                                                               .K = pred->width,
                                                               .label = t->label,
                                                               .group_slot = -1,
                                                               .mask = t->mask,
                                                               .train = mc};
}

/* Finds the sessions that a loss compares; false: there is a mistake, which was reported. */
static bool session_of(cr_build *b, const cr_task *t, const cr_loss_conf *lc, cr_session *s) {
    const cr_loss_type *type = lc->loss.m->type;
    const char *name = type->session ? type->session(lc->loss.conf) : NULL;
    const cr_row_weight *w = t->weight >= 0 ? &b->m->weights[t->weight] : NULL;
    *s = (cr_session){.slot = -1, .missing = b->m->missing_group};
    if (type->whole_lists && w && (w->field >= 0 || w->space >= 0)) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, lc->base.at,
                    "%s compares whole lists and takes no weight per row; remove %s, or this loss",
                    type->name,
                    w->space >= 0 ? "task_space_indicator_label"
                    : *t->suffix  ? "sample_weight_name"
                                  : "sample_weight_fields");
        return false;
    }
    if (!name || !*name) return true;
    const cr_feature *f = cr_features_find(b->o->features, name);
    if (f && f->sparse) {
        s->slot = f->slot;
        return true;
    }
    cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(lc->loss.conf, "session_name"),
                "session_name '%s' is not a feature that goes through a table; name an id_feature",
                name);
    return false;
}

/* Finds the other label that a loss reads. */
static bool condition_of(cr_build *b, const cr_loss_conf *lc, cr_session *s) {
    const cr_loss_type *type = lc->loss.m->type;
    if (!type->condition) return true;
    int k =
        cr_find_label(b, type->condition(lc->loss.conf), cr_conf_at(lc->loss.conf, "condition"));
    if (k >= 0) s->condition = cr_label(b->g, k);
    return k >= 0;
}

/* Adds one loss per row, times the loss's weight; parameters have the names of TorchEasyRec's loss
 * modules. */
static cr_node *loss_row(cr_build *b, const cr_loss_conf *lc, const char *name, cr_node *logits,
                         cr_node *label, const cr_session *s) {
    const cr_loss_type *type = lc->loss.m->type;
    size_t mark = cr_graph_push(b->g, "model._loss_modules.%s", name);
    cr_node *row = type->row(b->g, lc->loss.conf, logits, label, s);
    cr_graph_pop(b->g, mark);
    return lc->weight == 1 ? row : cr_add(b->g, &row, (float[]){(float)lc->weight}, 1);
}

/* The loss of an ensemble is the mean of its members' losses, so that each learns by itself. */
static cr_node *task_row(cr_build *b, const cr_loss_conf *lc, const char *name, cr_node *logits,
                         cr_node *shift, cr_node *label, const cr_session *s) {
    cr_node *z = cr_ensemble_of(logits);
    if (!z) return loss_row(b, lc, name, shifted(b, logits, shift), label, s);
    int64_t K = z->width;
    cr_node **rows = CR_NEW_N(&b->m->arena, cr_node *, K);
    float *c = CR_NEW_N(&b->m->arena, float, K);
    for (int64_t k = 0; k < K; k++) {
        rows[k] = loss_row(b, lc, name, shifted(b, cr_slice(b->g, z, k, 1), shift), label, s);
        c[k] = 1 / (float)K;
    }
    return cr_add(b->g, rows, c, (int)K);
}

static int64_t label_values(const cr_loss_type *type, const void *conf, int64_t K) {
    switch (type->labels(conf)) {
    case CR_LABEL_ANY: return 0;
    case CR_LABEL_SHARE: return 1;
    case CR_LABEL_CLASS: break;
    }
    return K > 2 ? K : 2;
}

/* Adds the predictions of each domain of a task. */
static void predict_task(cr_build *b, const cr_task *t, cr_pred_kind kind, cr_node *shift) {
    for (int d = 0; d < t->n_domains; d++) {
        names to = {cr_arena_printf(&b->m->arena, "%s_%d", t->suffix, d), false};
        add_predictions(b, to, kind, t->domains[d], shifted(b, t->domains[d], shift));
    }
}

/* Has a task only losses that are for training alone? */
static bool only_trained(const cr_task *t) {
    for (int64_t i = 0; i < t->losses->n; i++)
        if (!((const cr_loss_type *)((const cr_loss_conf *)t->losses->v[i])->loss.m->type)
                 ->train_only)
            return false;
    return t->losses->n > 0;
}

static void finish_task(cr_build *b, cr_task *t) {
    cr_model *m = b->m;
    if (only_trained(t)) t->train_only = true;
    cr_node *label = b->o->with_labels ? cr_label(b->g, t->label) : NULL;
    names own = {t->suffix, t->n_domains > 0 || t->train_only};
    for (int64_t i = 0; i < t->losses->n; i++) {
        const cr_loss_conf *lc = t->losses->v[i];
        const cr_loss_type *type = lc->loss.m->type;
        cr_node *shift = shift_of(b, t, type, lc->loss.conf);
        predict_task(b, t, type->pred, shift);
        if (!t->logits) continue;
        cr_node *logits = shifted(b, t->logits, shift);
        add_predictions(b, own, type->pred, t->logits, logits);
        if (!label || t->no_loss) continue;
        if (type->max_class && t->logits->width > type->max_class) {
            cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, lc->base.at,
                        "%s needs num_class %d, it is %lld, and no block that is read brings a "
                        "loss; correct num_class, or read that block",
                        type->name, (int)type->max_class, (long long)t->logits->width);
            continue;
        }
        cr_session session;
        if (!session_of(b, t, lc, &session) || !condition_of(b, lc, &session)) continue;
        const char *name = own_name(m, m->metrics, m->n_metrics, type->name, t->suffix);
        cr_node *row = task_row(b, lc, name, t->logits, shift, label, &session);
        row->output = !t->train_only;
        m->losses[m->n_losses++] =
            (cr_model_loss){.name = name,
                            .row = row,
                            .mean = cr_mean_loss(b->g, row, t->weight),
                            .weight = t->weight,
                            .train_only = t->train_only,
                            .lists = type->whole_lists,
                            .label = t->label,
                            .K = label_values(type, lc->loss.conf, t->logits->width)};
    }
    for (int64_t i = 0; label && !t->train_only && i < t->metrics->n; i++)
        add_metric(b, t, t->metrics->v[i]);
    for (int64_t i = 0; label && t->train_metrics && i < t->train_metrics->n; i++)
        add_train_metric(b, t, t->train_metrics->v[i]);
}

static void add_extra_losses(cr_build *b) {
    cr_model *m = b->m;
    for (int i = 0; i < b->n_extra; i++) {
        const cr_extra_loss *x = &b->extra[i];
        int weight = x->whole && b->n_tasks > 0 ? b->tasks[0].weight : x->weight;
        if (x->whole) x->row->output = true;
        m->losses[m->n_losses++] = (cr_model_loss){.name = x->name,
                                                   .row = x->row,
                                                   .mean = cr_mean_loss(b->g, x->row, weight),
                                                   .weight = weight,
                                                   .train_only = !x->whole,
                                                   .label = -1};
    }
}

/* L2 on embeddings: the mean over rows of lambda times the squares of all looked-up vectors. */
static void add_embedding_loss(cr_build *b, double lambda) {
    cr_model *m = b->m;
    cr_node **parts = CR_NEW_N(&m->arena, cr_node *, b->g->n + 1);
    int n_parts = 0, n_nodes = b->g->n;
    for (int i = 0; i < n_nodes; i++) {
        cr_node *node = b->g->nodes[i];
        if (node->op != &cr_op_lookup) continue;
        int count, n = 0;
        const cr_look *v = cr_lookup_pieces(node, &count);
        cr_range *ranges = CR_NEW_N(&m->arena, cr_range, count + 1);
        for (int k = 0; k < count; k++)
            if (v[k].table && v[k].table->trainable) ranges[n++] = (cr_range){v[k].out, v[k].width};
        if (n > 0) parts[n_parts++] = cr_squares(b->g, node, ranges, n, (float)lambda);
    }
    if (n_parts == 0) return;
    float *ones = CR_NEW_N(&m->arena, float, n_parts);
    for (int i = 0; i < n_parts; i++)
        ones[i] = 1;
    cr_node *row = n_parts > 1 ? cr_add(b->g, parts, ones, n_parts) : parts[0];
    row->output = true;
    m->losses[m->n_losses++] = (cr_model_loss){.name = "embedding_regularization",
                                               .row = row,
                                               .mean = cr_mean_loss(b->g, row, -1),
                                               .weight = -1,
                                               .label = -1};
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const cr_output *)a)->name, ((const cr_output *)b)->name);
}

cr_model *cr_model_new(const cr_model_opts *o, cr_diag *diag) {
    size_t before = diag->n_errors;
    cr_model *m = cr_alloc(sizeof(*m), "model");
    cr_arena_init(&m->arena, 0);
    cr_graph_init(&m->graph, o->seed);
    m->graph.products = (int)o->products;
    m->features = o->features;
    cr_build *b = CR_NEW(&m->arena, cr_build);
    *b = (cr_build){
        .m = m, .g = &m->graph, .o = o, .conf = o->conf, .diag = diag, .wide_dim = CR_WIDE_DIM};
    m->weights = CR_NEW_N(&m->arena, cr_row_weight, CR_MAX_TASKS + 1);
    m->domain_label = -1;
    m->missing_group = o->conf->missing_id_is_zero ? 0 : -1;
    const cr_model_type *type = o->conf->model.m->type;
    size_t mark = cr_graph_push(&m->graph, "model");
    type->build(b, o->conf->model.conf);
    cr_graph_pop(&m->graph, mark);
    if (diag->n_errors == before) {
        if (o->with_labels && o->conf->variational_dropout && !b->dropped)
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(o->conf, "variational_dropout"),
                        "variational_dropout has no effect: no feature group that the model reads "
                        "has several features; add features, or remove it");
        int n_losses = b->n_extra, n_metrics = 0, n_train = 0, n_outputs = 0;
        for (int i = 0; i < b->n_tasks; i++) {
            n_losses += (int)b->tasks[i].losses->n;
            n_outputs += (int)b->tasks[i].losses->n * (b->tasks[i].n_domains + 1) * 4;
            n_metrics += (int)b->tasks[i].metrics->n;
            n_train += b->tasks[i].train_metrics ? (int)b->tasks[i].train_metrics->n : 0;
        }
        m->losses = CR_NEW_N(&m->arena, cr_model_loss, n_losses + 2);
        m->train_metrics = CR_NEW_N(&m->arena, cr_model_metric, n_train + 1);
        m->metrics = CR_NEW_N(&m->arena, cr_model_metric, n_metrics + 1);
        m->outputs = CR_NEW_N(&m->arena, cr_output, n_outputs + 1);
        b->inner = CR_NEW_N(&m->arena, cr_output, n_outputs + 1);
        bool whole = false;
        for (int i = 0; i < b->n_extra; i++)
            whole = whole || b->extra[i].whole;
        for (int i = 0; i < b->n_tasks; i++) {
            b->tasks[i].no_loss = b->tasks[i].no_loss || whole;
            finish_task(b, &b->tasks[i]);
        }
        if (o->with_labels) add_extra_losses(b);
        if (o->with_labels && o->conf->embedding_regularization > 0)
            add_embedding_loss(b, o->conf->embedding_regularization);
        qsort(m->outputs, (size_t)m->n_outputs, sizeof(cr_output), by_name);
        cr_first_values(m, &o->conf->first_values, diag);
        cr_codes_finish(&m->graph);
        cr_matmul_finish(&m->graph);
    }
    if (diag->n_errors == before) return m;
    cr_model_free(m);
    return NULL;
}

void cr_model_free(cr_model *m) {
    if (!m) return;
    for (int i = 0; i < m->n_tables; i++)
        cr_table_clear(&m->tables[i]->table);
    cr_maps_clear(m);
    cr_shards_free(m->shards);
    cr_free(m->tables);
    cr_free(m->axes);
    cr_graph_clear(&m->graph);
    cr_arena_clear(&m->arena);
    cr_free(m);
}

void cr_model_bytes(const cr_model *m, const cr_optim_type *optim, int64_t *tables,
                    int64_t *dense) {
    *tables = *dense = 0;
    for (int i = 0; i < m->n_tables; i++) {
        const cr_model_table *t = m->tables[i];
        if (t->table.owner) continue;
        const cr_optim_type *o = !t->trainable || !optim ? NULL : t->optim ? t->optim : optim;
        int64_t row = 4 * cr_table_stride(t->D, t->half, o);
        *tables = cr_add_i64(*tables, cr_mul_i64(t->n_rows, row));
        if (cr_feature_mapped(t->owner))
            *tables = cr_add_i64(*tables, cr_model_map_bytes(t, t->n_rows));
    }
    for (int i = 0; i < m->graph.n; i++)
        if (m->graph.nodes[i]->cls == CR_PARAM && !m->graph.nodes[i]->op)
            *dense = cr_add_i64(*dense, cr_mul_i64(m->graph.nodes[i]->width, 4));
}

/* Makes the shards of a table that lie here. */
static cr_code alloc_shards(cr_model *m, const cr_model_opts *o, cr_model_table *t,
                            const cr_table_spec *spec, cr_err *err) {
    const cr_owner *owner;
    if (!m->shards) m->shards = cr_shards_new(o->meet, o->pool);
    CR_TRY(cr_shards_add(m->shards, spec, t->placing, NULL, &owner, err));
    cr_table_describe(&t->table, spec, owner);
    return CR_OK;
}

cr_code cr_model_alloc(cr_model *m, const cr_model_opts *o, cr_err *err) {
    for (int i = 0; i < m->n_tables; i++) {
        cr_model_table *t = m->tables[i];
        bool own = t->optim != NULL;
        cr_table_spec spec = {.name = t->table.name,
                              .n_rows = t->n_rows,
                              .D = t->D,
                              .half = t->half,
                              .trainable = t->trainable,
                              .optim = own ? t->optim : o->optim,
                              .optim_conf = own ? t->optim_conf : o->optim_conf};
        if (o->optim && cr_feature_grows(t->owner) && !t->table.owner)
            CR_TRY(cr_grown_alloc(m, o, t, &spec, err));
        else if (t->table.owner || t->in_file)
            cr_table_describe(&t->table, &spec, t->table.owner);
        else if (t->mapped)
            cr_table_map(&t->table, &spec, t->mapped);
        else if (o->meet && t->placing && t->placing->n > 0)
            CR_TRY(alloc_shards(m, o, t, &spec, err));
        else
            CR_TRY(cr_table_init(&t->table, &spec, err));
    }
    CR_TRY(cr_maps_alloc(m, o, err));
    return cr_graph_alloc(&m->graph, err);
}

void cr_model_fill(cr_model *m, uint64_t seed, cr_pool *pool) {
    for (int i = 0; i < m->n_tables; i++) {
        const cr_model_table *t = m->tables[i];
        const cr_owner *o = t->table.owner;
        for (int k = 0; k < (o ? o->n_held : 1); k++) {
            cr_table *one = o ? &o->held[k] : &m->tables[i]->table;
            /* rows of a table that grows get values, and memory, when their ids come */
            if (!cr_feature_grows(t->owner)) cr_table_fill(one, &t->init, seed, pool);
        }
    }
    cr_params_fill(&m->graph, seed);
    cr_model_rest_rows(m);
}

cr_updater *cr_model_updater_to(cr_model *m, const cr_work *w, cr_pool *pool,
                                cr_sink (*sink)(void *ctx, int table), void *ctx) {
    const cr_plan *plan = cr_work_plan(w);
    cr_updater *u = cr_updater_new(cr_plan_lanes(plan), pool);
    for (int i = 0; i < m->n_tables; i++) {
        cr_model_table *t = m->tables[i];
        cr_use *uses = CR_NEW_N(&m->arena, cr_use, t->n_uses);
        int n = 0;
        for (int k = 0; k < t->n_uses; k++) {
            int count;
            const cr_look *look = cr_lookup_pieces(t->uses[k].node, &count) + t->uses[k].piece;
            const cr_node *node = t->uses[k].node;
            if (!cr_plan_has_grad(plan, node)) continue;
            /* the gradient of a sequence has no place before the first run */
            bool seq = node->cls == CR_SEQ;
            uses[n++] = (cr_use){.slot = look->slot,
                                 .mean = look->mean,
                                 .grad = seq ? NULL : cr_work_grad(w, node) + look->out,
                                 .ld = cr_ld(node),
                                 .shared = seq ? NULL : cr_lookup_shared(w, node, t->uses[k].piece),
                                 .seq = seq ? 1 + node->axis : 0};
        }
        if (n > 0 && t->table.trainable && sink)
            t->updater = cr_updater_add_to(u, &t->table, uses, n, sink(ctx, i));
        else if (n > 0 && t->table.trainable && t->table.optim)
            t->updater = cr_updater_add(u, &t->table, uses, n);
    }
    return u;
}

cr_updater *cr_model_updater(cr_model *m, const cr_work *w, cr_pool *pool) {
    return cr_model_updater_to(m, w, pool, NULL, NULL);
}
