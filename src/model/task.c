/*
 * task.c - task towers of multi-task models: their messages, their layers, and the task that a
 * tower describes: label, loss weight, losses, metrics.
 *
 * Names between messages (labels, weights, towers) are checked in job/config_check.c; here an
 * unknown name is only refused.
 */
#include <stdio.h>
#include <string.h>

#include "layer/layer.h"
#include "metric/metric.h"
#include "model/config_int.h"
#include "model/model.h"

#define TASK_ROWS(label_flags)                                                                     \
    CR_STR(cr_task_conf, tower_name, NULL, CR_F_REQUIRED, "name of the task"),                     \
        CR_STR(cr_task_conf, label_name, NULL, label_flags, "label column of the task"),           \
        CR_MSG(cr_task_conf, metrics, &cr_metric_msg, CR_F_REPEATED, HELP_METRICS),                \
        CR_MSG(cr_task_conf, train_metrics, &cr_train_metric_msg, CR_F_REPEATED,                   \
               "metrics shown while training"),                                                    \
        CR_MSG(cr_task_conf, losses, &cr_loss_msg, CR_F_REPEATED, HELP_LOSSES),                    \
        CR_INT(cr_task_conf, num_class, 1, 1, 65536, 0, "outputs of the task"),                    \
        CR_MSG(cr_task_conf, mlp, &cr_mlp_msg, 0, "layers of the task"),                           \
        CR_FLOAT(cr_task_conf, weight, 1.0, 0, CR_INF, 0, "weight of the task's loss"),            \
        CR_STR(cr_task_conf, sample_weight_name, NULL, 0, "row weight column of the task"),        \
        CR_STR(cr_task_conf, task_space_indicator_label, NULL, 0,                                  \
               "label that says which rows the task is about"),                                    \
        CR_FLOAT(cr_task_conf, in_task_space_weight, 1.0, 0, CR_INF, 0, "weight of those rows"),   \
        CR_FLOAT(cr_task_conf, out_task_space_weight, 1.0, 0, CR_INF, 0, "weight of the others"),  \
        CR_FLOAT(cr_task_conf, pareto_min_loss_weight, 0.0, 0, 1, 0,                               \
                 "least weight of the task's loss with use_pareto_loss_weight")

static const cr_field task_fields[] = {TASK_ROWS(CR_F_REQUIRED), CR_END};
const cr_msg cr_task_tower_msg = {
    .name = "TaskTower",
    .help = "One task of a multi-task model",
    .fields = task_fields,
    .size = sizeof(cr_task_conf),
};
static const cr_field bayes_fields[] = {
    TASK_ROWS(0),
    CR_STR(cr_task_conf, relation_tower_names, NULL, CR_F_REPEATED,
           "earlier towers this one depends on"),
    CR_MSG(cr_task_conf, relation_mlp, &cr_mlp_msg, 0, "layers over this tower and those"),
    CR_END,
};
const cr_msg cr_bayes_tower_msg = {
    .name = "BayesTaskTower",
    .help = "A task that depends on earlier tasks",
    .fields = bayes_fields,
    .size = sizeof(cr_task_conf),
};

static const cr_field block_fields[] = {
    TASK_ROWS(CR_F_REQUIRED),
    CR_MSG(cr_task_conf, inputs, &cr_block_input_msg, CR_F_REPEATED,
           "blocks it reads; none: concat_blocks through top_mlp"),
    CR_END,
};
const cr_msg cr_block_tower_msg = {
    .name = "BlockTower",
    .help = "One task of a backbone",
    .fields = block_fields,
    .size = sizeof(cr_task_conf),
};

bool cr_is_tower_msg(const void *msg) {
    return msg == &cr_task_tower_msg || msg == &cr_bayes_tower_msg || msg == &cr_block_tower_msg;
}

const cr_task_conf *cr_model_tower(const cr_model_conf *c, int64_t i) {
    if (!c->model.m || !c->model.conf || c->model.m->msg->size == 0) return NULL;
    for (const cr_field *f = c->model.m->msg->fields; f->name; f++) {
        if (!cr_is_tower_msg(f->ref)) continue;
        const void *at = (const char *)c->model.conf + f->offset;
        cr_msgs list;
        if (f->flags & CR_F_REPEATED) {
            memcpy(&list, at, sizeof(list));
            if (i < list.n) return list.v[i];
            i -= list.n;
            continue;
        }
        const cr_task_conf *one;
        memcpy(&one, at, sizeof(one));
        if (one && i-- == 0) return one;
    }
    return NULL;
}

static int find(const char *const *v, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(v[i], name) == 0) return i;
    return -1;
}

int cr_find_label(cr_build *b, const char *name, cr_loc at) {
    const cr_features *fs = b->o->features;
    int i = find(fs->labels, fs->n_labels, name);
    if (i < 0)
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                    "'%s' is not among label_fields; add it there", name);
    return i;
}

static int weight_of(cr_build *b, const cr_task_conf *t) {
    const cr_features *fs = b->o->features;
    cr_row_weight w = {-1,
                       -1,
                       t->in_task_space_weight,
                       t->out_task_space_weight,
                       t->weight,
                       t->pareto_min_loss_weight};
    if (t->sample_weight_name[0]) {
        w.field = find(fs->weights, cr_features_row_weights(fs), t->sample_weight_name);
        if (w.field < 0)
            cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(t, "sample_weight_name"),
                        "'%s' is not among sample_weight_fields; add it there",
                        t->sample_weight_name);
    }
    if (t->task_space_indicator_label[0])
        w.space = cr_find_label(b, t->task_space_indicator_label,
                                cr_conf_at(t, "task_space_indicator_label"));
    return cr_add_weight(b, w);
}

cr_task *cr_tower_task(cr_build *b, const cr_task_conf *t, cr_node *logits) {
    size_t before = b->diag->n_errors;
    int label = 0, weight = -1;
    if (b->o->with_labels) {
        label = cr_find_label(b, t->label_name, cr_conf_at(t, "label_name"));
        weight = weight_of(b, t);
    }
    if (b->diag->n_errors != before) return NULL;
    cr_task *task = &b->tasks[b->n_tasks++];
    *task = (cr_task){.suffix = cr_arena_printf(&b->m->arena, "_%s", t->tower_name),
                      .logits = logits,
                      .label = label,
                      .weight = weight,
                      .losses = &t->losses,
                      .metrics = &t->metrics,
                      .train_metrics = &t->train_metrics,
                      .mask = -1};
    return task;
}

cr_node *cr_tower_logits(cr_build *b, const char *name, const cr_task_conf *t, cr_node *x) {
    size_t mark = cr_graph_push(b->g, "%s", name);
    x = cr_mlp(b->g, "tower_mlp", t->mlp, x, b->diag);
    x = cr_linear(b->g, "linear", x, t->num_class, true, false);
    cr_graph_pop(b->g, mark);
    return x;
}

void cr_end_towers(cr_build *b, const cr_msgs *towers, cr_node *const *x) {
    for (int64_t i = 0; i < towers->n; i++) {
        const cr_task_conf *t = towers->v[i];
        char name[40];
        snprintf(name, sizeof(name), "_task_tower.%d", (int)i);
        (void)cr_tower_task(b, t, cr_tower_logits(b, name, t, x[i]));
    }
}
