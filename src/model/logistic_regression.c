/*
 * logistic_regression.c - y = sum of one weight per id + w . numbers + bias, for each class. The
 * model reads the group `wide` (or, without it, the first group), with tables of width num_class.
 * Not in TorchEasyRec.
 */
#include "model/config_int.h"
#include "model/model.h"

typedef struct lr_conf {
    cr_conf_base base;
    const char *wide_init_fn;
} lr_conf;

static const cr_field fields[] = {
    CR_STR(lr_conf, wide_init_fn, NULL, CR_F_OURS, HELP_WIDE_INIT),
    CR_END,
};
const cr_msg cr_logistic_regression_msg = {
    .name = "LogisticRegression",
    .help = "A weight per id and per number, added up",
    .ours = true,
    .fields = fields,
    .size = sizeof(lr_conf),
};

static void build(cr_build *b, const void *conf) {
    const lr_conf *c = conf;
    const char *group = "wide";
    if (!cr_group_find(b->conf, group))
        group = cr_group_first(b, "logistic_regression", c->base.at);
    cr_node *y = group ? cr_linear_part(b, group, c->wide_init_fn, c->base.at) : NULL;
    if (y) cr_end_task(b, y);
}

const cr_model_type cr_model_logistic_regression = {.name = "logistic_regression", .build = build};
