/*
 * registry.c - the two families of the metrics of list.h: MetricConfig and TrainMetricConfig.
 */
#include "metric/list.h"

#include <stdio.h>
#include <string.h>

#define ENTRY(m)          {#m, &cr_metric_##m##_msg, &cr_metric_##m},
#define ENTRY3(key, m, t) {#key, &cr_metric_##m##_msg, &cr_metric_##t},
#define SKIP(m)
#define SKIP3(key, m, t)

static const cr_oneof_member metrics[] = {
    CR_METRICS(ENTRY, SKIP3, ENTRY){NULL, NULL, NULL},
};
const cr_oneof cr_metric_family = {"metric", true, metrics};
static const cr_field metric_fields[] = {
    CR_ONEOF(cr_metric_conf, metric, &cr_metric_family, 0, "what is measured"),
    CR_END,
};
const cr_msg cr_metric_msg = {
    .name = "MetricConfig",
    .help = "One metric of evaluation",
    .fields = metric_fields,
    .size = sizeof(cr_metric_conf),
};

static const cr_oneof_member train_metrics[] = {
    CR_METRICS(SKIP, ENTRY3, ENTRY){NULL, NULL, NULL},
};
static const cr_oneof train_metric_family = {"training metric", true, train_metrics};
static const cr_field train_metric_fields[] = {
    CR_ONEOF(cr_train_metric_conf, metric, &train_metric_family, 0, "what is measured"),
    CR_FLOAT(cr_train_metric_conf, decay_rate, 0.90, 0, 1, 0, "how much of the old value is kept"),
    CR_INT(cr_train_metric_conf, decay_step, 100, 1, CR_U32_MAX, 0, "steps between two values"),
    CR_BOOL(cr_train_metric_conf, since_epoch, false, CR_F_OURS,
            "the value of all rows since the epoch began, in place of a decaying one"),
    CR_INT(cr_train_metric_conf, last_steps, 0, 0, 10000, CR_F_OURS,
           "auc: the value of the rows of so many steps up to now, as PaddleRec's BATCH_AUC"),
    CR_END,
};
static void train_metric_check(const void *self, cr_diag *diag) {
    const cr_train_metric_conf *c = self;
    const cr_metric_type *type = c->metric.m ? c->metric.m->type : NULL;
    if (!c->last_steps || !type) return;
    if (c->since_epoch)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "last_steps"),
                    "since_epoch and last_steps say two things about one value; give one of them");
    else if (!type->value_of)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "last_steps"),
                    "last_steps is for auc; %s has no counts that can be added up", type->name);
}
const cr_msg cr_train_metric_msg = {
    .name = "TrainMetricConfig",
    .help = "One metric of the training log",
    .fields = train_metric_fields,
    .size = sizeof(cr_train_metric_conf),
    .check = train_metric_check,
};

const char *cr_metric_group_key(const cr_choice *c) {
    const cr_metric_type *type = c->m && c->conf ? c->m->type : NULL;
    return type && type->group_key ? type->group_key(c->conf) : NULL;
}

void cr_metric_label(const cr_choice *c, char *out, size_t size) {
    const cr_metric_type *type = c->m->type;
    if (type->label)
        type->label(c->conf, out, size);
    else
        snprintf(out, size, "%s", type->name);
}

bool cr_metric_is_error(const char *result) {
    for (const cr_oneof_member *m = cr_metric_family.members; m->key; m++) {
        const cr_metric_type *type = m->type;
        size_t n = type ? strlen(type->name) : 0;
        if (n && type->is_error && strncmp(result, type->name, n) == 0 &&
            (!result[n] || result[n] == '_'))
            return true;
    }
    return false;
}
