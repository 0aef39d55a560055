/*
 * config_check.c - finds mistakes between the messages of a config, without reading any file.
 *
 * Most of it is about names: groups name features, towers name groups, metrics name features. A
 * feature of a type that this version does not have has no struct, but its name is taken from the
 * tree. So there is one error, for its type, and not another one in every group that lists it.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "conf/conf.h"
#include "job/config.h"
#include "layer/loss.h"
#include "model/model.h"

typedef struct names {
    cr_map index; /* name -> number of the first feature_config (or group) of that name */
} names;

static const char *name_at(const void *ctx, size_t i) {
    const names *n = ctx;
    return i < n->index.n ? n->index.entries[i].key : NULL;
}
static int64_t find(const names *n, const char *name) {
    return cr_map_get(&n->index, name, strlen(name), -1);
}

#define wrong(diag, at, ...) cr_diag_add((diag), CR_SEV_ERROR, CR_ECONF, (at), __VA_ARGS__)

/* Reports "<what> names the unknown <kind> 'x'; …" with the nearest name. */
static void unknown_name(cr_diag *diag, cr_loc at, const char *what, const char *kind,
                         const char *name, const names *known) {
    const char *near = cr_nearest(name, name_at, known);
    if (near)
        wrong(diag, at, "%s names the unknown %s '%s'; did you mean '%s'?", what, kind, name, near);
    else if (known->index.n)
        wrong(diag, at, "%s names the unknown %s '%s'; define it or remove the name", what, kind,
              name);
    else
        wrong(diag, at, "%s names the %s '%s', but there is none; define it", what, kind, name);
}

/* Is the field not given? A field that was refused counts as given, since that was reported. */
static bool absent(const void *conf, const char *field) {
    return !cr_conf_has(conf, field) && !cr_conf_refused(conf, field);
}

/* ---- features ---- */

/* Returns the name of a usable feature, and its place; NULL when the feature has another type. */
static const char *feature_name(const cr_feature_conf *fc, cr_loc *at) {
    if (!fc->feature.m || !fc->feature.conf) return NULL;
    *at = cr_conf_at(fc->feature.conf, "feature_name");
    if (!fc->feature.m->type) return NULL;
    const cr_field *row = cr_msg_field(fc->feature.m->msg, "feature_name");
    if (!row || row->offset == CR_NO_STORE) return NULL;
    const char *name;
    memcpy(&name, (const char *)fc->feature.conf + row->offset, sizeof name);
    return name;
}

static void add_feature(names *features, const cr_root_conf *c, const char *name, cr_loc at,
                        int64_t i, cr_diag *diag) {
    if (!name[0]) return;
    int64_t first = find(features, name);
    if (first < 0) {
        cr_map_put(&features->index, name, strlen(name), i);
        return;
    }
    const cr_feature_conf *other = c->feature_configs.v[first];
    wrong(diag, at, "feature '%s' is already defined at line %d; give one of them another name",
          name, other->base.at.line);
}

/* Adds the names of a feature that was refused, from the tree: its own name, or
 * <sequence>__<feature> (with use_rtp: <sequence>_<feature>). */
static void add_tree_feature(names *features, const cr_root_conf *c, const cr_conf_node *n,
                             int64_t i, cr_diag *diag) {
    if (!n || n->kind != CR_NODE_MAP || n->n == 0 || n->v[0].val->kind != CR_NODE_MAP) return;
    const cr_conf_node *member = n->v[0].val;
    add_feature(features, c, cr_conf_find_text(member, "feature_name"), n->v[0].at, i, diag);
    const char *sequence = cr_conf_find_text(member, "sequence_name");
    if (!sequence[0]) return;
    for (size_t k = 0; k < member->n; k++) {
        if (strcmp(member->v[k].key, "features") != 0) continue;
        const cr_conf_node *v = member->v[k].val;
        size_t count = v->kind == CR_NODE_LIST ? v->n : 1;
        for (size_t j = 0; j < count; j++) {
            const cr_conf_node *one = v->kind == CR_NODE_LIST ? v->v[j].val : v;
            if (one->kind != CR_NODE_MAP || one->n == 0) continue;
            const char *name = cr_conf_find_text(one->v[0].val, "feature_name");
            cr_buf full;
            cr_buf_init(&full);
            cr_buf_printf(&full, "%s%s%s", sequence, cr_group_sep(c->data_config), name);
            if (name[0]) add_feature(features, c, full.data, one->v[0].at, i, diag);
            cr_buf_clear(&full);
        }
    }
}

static void check_features(const cr_root_conf *c, names *features, cr_diag *diag) {
    if (c->feature_configs.n == 0 && absent(c, "feature_configs"))
        wrong(diag, cr_conf_at(c, "feature_configs"),
              "no feature_configs are given; add one for each input of the model");
    for (int64_t i = 0; i < c->feature_configs.n; i++) {
        const cr_feature_conf *fc = c->feature_configs.v[i];
        cr_loc at = fc->base.at;
        const char *name = feature_name(fc, &at);
        if (!name) {
            add_tree_feature(features, c, fc->base.node, i, diag);
            continue;
        }
        add_feature(features, c, name, at, i, diag);
        /* the inputs of other types are checked when the features are built */
        const char *expression = "";
        if (fc->feature.m->msg == &cr_id_msg)
            expression = ((const cr_id_conf *)fc->feature.conf)->expression;
        else if (fc->feature.m->msg == &cr_raw_msg)
            expression = ((const cr_raw_conf *)fc->feature.conf)->expression;
        else
            continue;
        int mode = c->data_config->fg_mode;
        if ((mode == CR_FG_NORMAL || mode == CR_FG_DAG) && !expression[0])
            wrong(diag, cr_conf_at(fc->feature.conf, "expression"),
                  "feature '%s' has no expression, which fg_mode %s needs; add %s", name,
                  mode == CR_FG_DAG ? "FG_DAG" : "FG_NORMAL",
                  CR_SAY(c, "expression", "\"user:<column>\""));
    }
}

/* Does the feature have an embedding table? The answer is true for types that crank does not
 * know. */
static bool is_sparse(const cr_feature_conf *fc) {
    if (!fc->feature.m || fc->feature.m->msg != &cr_raw_msg) return true;
    return ((const cr_raw_conf *)fc->feature.conf)->boundaries.n > 0;
}

static bool is_sequence(const cr_feature_conf *fc) {
    if (!fc->feature.m) return false;
    const cr_field *tokens = cr_msg_field(fc->feature.m->msg, "tokens_as_sequence");
    bool steps = false;
    if (tokens && fc->feature.conf && tokens->offset != CR_NO_STORE)
        memcpy(&steps, (const char *)fc->feature.conf + tokens->offset, sizeof(steps));
    return steps || strncmp(fc->feature.m->key, "sequence_", 9) == 0;
}

/* ---- groups ---- */

static void check_groups(const cr_root_conf *c, const names *features, names *groups,
                         cr_diag *diag) {
    const cr_model_conf *m = c->model_config;
    if (m->feature_groups.n == 0 && absent(m, "feature_groups"))
        wrong(diag, cr_conf_at(m, "feature_groups"),
              "model_config has no feature_groups; add one that names the model's features");
    for (int64_t i = 0; i < m->feature_groups.n; i++) {
        const cr_group_conf *g = m->feature_groups.v[i];
        const char *name = g->group_name;
        if (name[0]) {
            int64_t first = find(groups, name);
            if (first >= 0) {
                const cr_group_conf *other = m->feature_groups.v[first];
                wrong(diag, cr_conf_at(g, "group_name"),
                      "feature group '%s' is already defined at line %d; give one of them another "
                      "name",
                      name, other->base.at.line);
            } else {
                cr_map_put(&groups->index, name, strlen(name), i);
            }
        }
        char what[160];
        snprintf(what, sizeof what, "feature group '%.120s'", name);
        cr_map seen;
        cr_map_init(&seen);
        for (int64_t k = 0; k < g->feature_names.n; k++) {
            const char *feature = g->feature_names.v[k];
            cr_loc at = cr_conf_at_item(g, "feature_names", k);
            int64_t f = find(features, feature);
            bool pooled = g->group_type == CR_GROUP_DEEP || g->group_type == CR_GROUP_WIDE;
            if (f < 0)
                unknown_name(diag, at, what, "feature", feature, features);
            else if (pooled && is_sequence(c->feature_configs.v[f]))
                wrong(diag, at,
                      "%s names '%s', which is a sequence; use a group of type SEQUENCE or "
                      "sequence_groups",
                      what, feature);
            else if (!cr_map_put(&seen, feature, strlen(feature), k))
                cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, at, "%s names '%s' again; remove it", what,
                            feature);
        }
        cr_map_clear(&seen);
        if (g->feature_names.n == 0 && g->sequence_groups.n == 0 && absent(g, "feature_names"))
            wrong(diag, g->base.at, "%s has no feature_names; name its features or remove it",
                  what);
    }
}

/* ---- the model ---- */

static void check_model(const cr_model_conf *m, cr_diag *diag) {
    const cr_model_type *type = m->model.m && m->model.conf ? m->model.m->type : NULL;
    if (type && type->check) type->check(m, m->model.conf, diag);
}

static void check_session(const cr_root_conf *c, const cr_loss_type *type, const void *conf,
                          const names *features, cr_diag *diag) {
    const char *name = type->session && conf ? type->session(conf) : NULL;
    if (!name || !name[0]) return;
    cr_loc at = cr_conf_at(conf, "session_name");
    int64_t f = find(features, name);
    if (f < 0)
        unknown_name(diag, at, "session_name", "feature", name, features);
    else if (is_sequence(c->feature_configs.v[f]))
        wrong(diag, at, "session_name '%s' is a sequence; use a feature with one id per row", name);
    else if (!is_sparse(c->feature_configs.v[f]))
        wrong(diag, at,
              "session_name '%s' is a dense feature and has no ids; use an id_feature or give it "
              "boundaries",
              name);
}

/* The losses and metrics of one task: those of model_config, or those of a task tower. */
typedef struct task {
    int64_t num_class;
    const cr_msgs *losses, *metrics, *train_metrics;
} task;

static void check_losses(const cr_root_conf *c, const task *t, const names *features,
                         cr_diag *diag) {
    for (int64_t i = 0; i < t->losses->n; i++) {
        const cr_loss_conf *l = t->losses->v[i];
        if (!l->loss.m) continue;
        const cr_loss_type *type = l->loss.m->type;
        if (!type) continue;
        check_session(c, type, l->loss.conf, features, diag);
        long long K = t->num_class;
        if (K >= type->min_class && (type->max_class == 0 || K <= type->max_class)) continue;
        /* l2_loss then says only that the outputs are values */
        bool values = type->pred == CR_PRED_VALUE && cr_model_own_loss(c->model_config);
        if (values && (!type->offset || type->offset(l->loss.conf) == 0)) continue;
        if (type->max_class == 1)
            wrong(diag, l->base.at,
                  "%s needs num_class 1, it is %lld; remove num_class or use "
                  "softmax_cross_entropy",
                  type->name, K);
        else
            wrong(diag, l->base.at,
                  "%s needs num_class %s, it is %lld; set num_class or use binary_cross_entropy",
                  type->name, type->max_class == 2 ? "2" : "of 2 or more", K);
    }
}

/* Does the metric fit the outputs that num_class and the losses give? */
static void check_fit(const task *t, const cr_choice *metric, cr_diag *diag) {
    if (!metric->m || !metric->conf) return;
    const cr_metric_type *type = metric->m->type;
    cr_loc at = ((const cr_conf_base *)metric->conf)->at;
    bool probs = t->losses->n == 0;
    for (int64_t i = 0; i < t->losses->n; i++) {
        const cr_loss_conf *l = t->losses->v[i];
        const cr_loss_type *loss = l->loss.m ? l->loss.m->type : NULL;
        if (!loss || loss->pred != CR_PRED_VALUE) probs = true;
    }
    if (type->needs_prob && !probs) {
        wrong(diag, at,
              "metric %s needs probabilities, l2_loss makes plain values; use mean_squared_error "
              "instead",
              type->name);
        return;
    }
    /* with two classes the second one is a score */
    int64_t K = t->num_class == 2 && !type->wants_classes ? 1 : t->num_class;
    cr_metric *made;
    cr_err err;
    if (type->new_(&made, metric->conf, K, &err) == CR_OK)
        type->free_(made);
    else
        cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at.path ? err.at : at, "%s", err.msg);
}

static void check_metrics(const cr_root_conf *c, const task *t, const names *features,
                          cr_diag *diag) {
    for (int64_t i = 0; i < t->train_metrics->n; i++)
        check_fit(t, &((const cr_train_metric_conf *)t->train_metrics->v[i])->metric, diag);
    for (int64_t i = 0; i < t->metrics->n; i++)
        check_fit(t, &((const cr_metric_conf *)t->metrics->v[i])->metric, diag);
    for (int64_t i = 0; i < t->metrics->n; i++) {
        const cr_metric_conf *metric = t->metrics->v[i];
        const char *key = cr_metric_group_key(&metric->metric);
        if (!key || !key[0]) continue;
        cr_loc at = cr_conf_at(metric->metric.conf, "grouping_key");
        int64_t f = find(features, key);
        if (f < 0)
            unknown_name(diag, at, "grouping_key", "feature", key, features);
        else if (is_sequence(c->feature_configs.v[f]))
            wrong(diag, at, "grouping_key '%s' is a sequence; use a feature with one id per row",
                  key);
        else if (!is_sparse(c->feature_configs.v[f]))
            wrong(
                diag, at,
                "grouping_key '%s' is a dense feature and has no ids; use an id_feature or give it "
                "boundaries",
                key);
    }
}

static void check_one_task(const cr_root_conf *c, const names *features, cr_diag *diag) {
    const cr_model_conf *m = c->model_config;
    task t = {m->num_class, &m->losses, &m->metrics, &m->train_metrics};
    check_losses(c, &t, features, diag);
    check_metrics(c, &t, features, diag);
    if (m->use_pareto_loss_weight)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(m, "use_pareto_loss_weight"),
                    "use_pareto_loss_weight has no effect on a model with one task; remove it");
    const cr_strs *labels = &c->data_config->label_fields;
    if (labels->n > 1 && m->model.m)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at_item(c->data_config, "label_fields", 1),
                    "label_fields names %lld columns; a model with one task learns the first, '%s'",
                    (long long)labels->n, labels->v[0]);
}

/* ---- tasks ---- */

static void names_of(names *n, const cr_strs *v) {
    cr_map_init(&n->index);
    for (int64_t i = 0; i < v->n; i++)
        cr_map_put(&n->index, v->v[i], strlen(v->v[i]), i);
}

/* Checks a name of data_config that a tower gives; it may be empty. */
static void need_name(const cr_task_conf *t, const char *field, const char *name, const char *list,
                      const names *known, cr_diag *diag) {
    if (!name[0] || find(known, name) >= 0) return;
    cr_loc at = cr_conf_at(t, field);
    const char *near = cr_nearest(name, name_at, known);
    if (near)
        wrong(diag, at, "task '%s': '%s' is not among %s; did you mean '%s'?", t->tower_name, name,
              list, near);
    else
        wrong(diag, at, "task '%s': '%s' is not among %s; add it there", t->tower_name, name, list);
}

static void check_space(const cr_task_conf *t, cr_diag *diag) {
    static const char *const keys[] = {"in_task_space_weight", "out_task_space_weight"};
    for (int i = 0; i < 2 && !t->task_space_indicator_label[0]; i++)
        if (cr_conf_has(t, keys[i]))
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(t, keys[i]),
                        "task '%s': %s has no effect without task_space_indicator_label; name the "
                        "label, or remove it",
                        t->tower_name, keys[i]);
    if (t->task_space_indicator_label[0] && t->in_task_space_weight == 0 &&
        t->out_task_space_weight == 0)
        wrong(
            diag, cr_conf_at(t, "in_task_space_weight"),
            "task '%s': no row counts, in_task_space_weight and out_task_space_weight are both 0; "
            "give one of them a weight",
            t->tower_name);
}

/* towers has the names of the towers before t. */
static void check_relation(const cr_task_conf *t, const names *towers, const names *all,
                           cr_diag *diag) {
    for (int64_t i = 0; i < t->relation_tower_names.n; i++) {
        const char *name = t->relation_tower_names.v[i];
        cr_loc at = cr_conf_at_item(t, "relation_tower_names", i);
        if (find(towers, name) >= 0) continue;
        if (strcmp(name, t->tower_name) == 0)
            wrong(diag, at, "task '%s' depends on itself; name an earlier tower", name);
        else if (find(all, name) >= 0)
            wrong(diag, at,
                  "task '%s' depends on '%s', which is not an earlier tower; list '%s' before it",
                  t->tower_name, name, name);
        else
            unknown_name(diag, at, "relation_tower_names", "tower", name, all);
    }
    if (t->relation_tower_names.n > 0 && !t->relation_mlp)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(t, "relation_tower_names"),
                    "task '%s': relation_tower_names has no effect without relation_mlp; add one, "
                    "or remove it",
                    t->tower_name);
}

static void check_least(const cr_model_conf *m, cr_diag *diag) {
    const cr_task_conf *t;
    double sum = 0;
    for (int64_t i = 0; (t = cr_model_tower(m, i)); i++) {
        sum += t->pareto_min_loss_weight;
        if (sum > 1 + 1e-9 && m->use_pareto_loss_weight) {
            wrong(diag, cr_conf_at(t, "pareto_min_loss_weight"),
                  "the pareto_min_loss_weight of all tasks add up to %g; make it 1 at most", sum);
            return;
        }
        if (cr_conf_has(t, "pareto_min_loss_weight") && !m->use_pareto_loss_weight)
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(t, "pareto_min_loss_weight"),
                        "task '%s': pareto_min_loss_weight has no effect without "
                        "use_pareto_loss_weight; set that, or remove it",
                        t->tower_name);
    }
}

static void check_towers(const cr_root_conf *c, const names *features, cr_diag *diag) {
    const cr_model_conf *m = c->model_config;
    static const char *const idle[] = {"losses", "metrics", "train_metrics", "num_class"};
    for (int i = 0; i < 4; i++)
        if (cr_conf_has(m, idle[i]))
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(m, idle[i]),
                        "%s of model_config has no effect: %s has its own in each task tower; "
                        "remove it",
                        idle[i], m->model.m->key);
    names labels, weights, towers, all;
    names_of(&labels, &c->data_config->label_fields);
    names_of(&weights, &c->data_config->sample_weight_fields);
    cr_map_init(&towers.index);
    cr_map_init(&all.index);
    const cr_task_conf *t;
    for (int64_t i = 0; (t = cr_model_tower(m, i)); i++)
        cr_map_put(&all.index, t->tower_name, strlen(t->tower_name), i);
    for (int64_t i = 0; (t = cr_model_tower(m, i)); i++) {
        if (i == CR_MAX_TASKS)
            wrong(diag, t->base.at, "%s has more than %d task towers; remove some", m->model.m->key,
                  CR_MAX_TASKS);
        if (!t->tower_name[0])
            wrong(diag, cr_conf_at(t, "tower_name"),
                  "tower_name is empty, but scores and metrics carry it; give the task a name");
        if (!t->label_name[0] && absent(t, "label_name"))
            wrong(diag, t->base.at, "task '%s' has no label_name; name one of label_fields",
                  t->tower_name);
        need_name(t, "label_name", t->label_name, "label_fields", &labels, diag);
        need_name(t, "task_space_indicator_label", t->task_space_indicator_label, "label_fields",
                  &labels, diag);
        need_name(t, "sample_weight_name", t->sample_weight_name, "sample_weight_fields", &weights,
                  diag);
        check_space(t, diag);
        check_relation(t, &towers, &all, diag);
        task one = {t->num_class, &t->losses, &t->metrics, &t->train_metrics};
        check_losses(c, &one, features, diag);
        check_metrics(c, &one, features, diag);
        int64_t first = find(&towers, t->tower_name);
        if (first >= 0)
            wrong(diag, cr_conf_at(t, "tower_name"),
                  "task tower '%s' is already defined at line %d; give one of them another name",
                  t->tower_name, cr_model_tower(m, first)->base.at.line);
        else
            cr_map_put(&towers.index, t->tower_name, strlen(t->tower_name), i);
    }
    check_least(m, diag);
    cr_map_clear(&labels.index);
    cr_map_clear(&weights.index);
    cr_map_clear(&towers.index);
    cr_map_clear(&all.index);
}

/* Is this a model of task towers? For a model that may have none (a key that only crank has), the
 * towers count when there are some. */
static bool has_towers(const cr_model_conf *m) {
    if (!m->model.m || m->model.m->msg->size == 0) return false;
    for (const cr_field *f = m->model.m->msg->fields; f->name; f++)
        if (cr_is_tower_msg(f->ref) && !(f->flags & CR_F_OURS)) return true;
    return cr_model_tower(m, 0) != NULL;
}

static void check_tasks(const cr_root_conf *c, const names *features, cr_diag *diag) {
    const cr_model_conf *m = c->model_config;
    if (!has_towers(m)) {
        check_one_task(c, features, diag);
        return;
    }
    if (!m->model.conf) return;
    if (!cr_model_tower(m, 0) && diag->n_errors == 0)
        wrong(diag, ((const cr_conf_base *)m->model.conf)->at,
              "%s has no task_towers; add one for each task", m->model.m->key);
    check_towers(c, features, diag);
}

void cr_root_check(const cr_root_conf *c, cr_diag *diag) {
    names features, groups;
    cr_map_init(&features.index);
    cr_map_init(&groups.index);
    const cr_data_conf *data = c->data_config;
    const cr_model_conf *model = c->model_config;
    /* labels, losses and metrics are checked against the model; nothing is known about a model that
     * was refused */
    bool known = !cr_conf_refused(model, "model");
    if (known && data->base.node && data->label_fields.n == 0 && absent(data, "label_fields"))
        wrong(diag, data->base.at, "data_config names no label_fields; add %s",
              CR_SAY(c, "label_fields", "[\"<column>\"]"));
    check_features(c, &features, diag);
    if (model->base.node) {
        check_groups(c, &features, &groups, diag);
        check_model(model, diag);
        if (known) check_tasks(c, &features, diag);
    }
    cr_map_clear(&features.index);
    cr_map_clear(&groups.index);
    cr_diag_sort(diag);
}
