/*
 * ctr_accessor.c - config messages of CtrAccessor: rows of a growing table that count shows and
 * clicks (emb/ctr.h). Names and defaults are those of Paddle's CtrCommonAccessor.
 */
#include "feat/config_int.h"

#define RATE(def)                                                                                  \
    CR_FLOAT(cr_ctr_rule_conf, learning_rate, def, 0, CR_INF, 0,                                   \
             "learning rate; schedules do not change it")
#define FIRST                                                                                      \
    CR_FLOAT(cr_ctr_rule_conf, initial_range, 1e-4, 0, CR_INF, 0,                                  \
             "first values lie evenly between minus this and this"),                               \
        CR_FLOAT(cr_ctr_rule_conf, weight_bounds, 0, -CR_INF, CR_INF, CR_F_REPEATED,               \
                 "the lowest and the highest value of a weight; not given: -10 and 10")
#define SQUARES                                                                                    \
    CR_FLOAT(cr_ctr_rule_conf, initial_g2sum, 3, 0, CR_INF, 0,                                     \
             "g0 of sqrt(g0 / (g0 + sum of squares)), which multiplies the learning rate")
#define MOMENTS                                                                                    \
    CR_FLOAT(cr_ctr_rule_conf, beta1_decay_rate, 0.9, 0, 1, 0, "decay of the first moments"),      \
        CR_FLOAT(cr_ctr_rule_conf, beta2_decay_rate, 0.999, 0, 1, 0,                               \
                 "decay of the second moments"),                                                   \
        CR_FLOAT(cr_ctr_rule_conf, ada_epsilon, 1e-8, 0, CR_INF, 0,                                \
                 "added to the root of the second moments")

static void check_rule(const void *self, cr_diag *diag) {
    const cr_ctr_rule_conf *c = self;
    const cr_floats *b = &c->weight_bounds;
    if (b->n != 0 && (b->n != 2 || !(b->v[0] < b->v[1])))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "weight_bounds"),
                    "weight_bounds has two numbers, the lower one first, as in [-10, 10]");
    if (cr_conf_has(c, "initial_g2sum") && c->initial_g2sum <= 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "initial_g2sum"),
                    "initial_g2sum must be above 0: with 0 no weight would ever change");
    if (c->beta1_decay_rate >= 1 || c->beta2_decay_rate >= 1)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF,
                    cr_conf_at(c,
                               c->beta1_decay_rate >= 1 ? "beta1_decay_rate" : "beta2_decay_rate"),
                    "a decay rate of moments must be below 1");
}

static const cr_field naive_fields[] = {RATE(0.05), FIRST, CR_END};
static const cr_field adagrad_fields[] = {RATE(0.05), SQUARES, FIRST, CR_END};
static const cr_field adam_fields[] = {RATE(0.001), MOMENTS, FIRST, CR_END};
#define RULE(var, name_, help_, fields_)                                                           \
    static const cr_msg var = {.name = name_,                                                      \
                               .help = help_,                                                      \
                               .fields = fields_,                                                  \
                               .size = sizeof(cr_ctr_rule_conf),                                   \
                               .ours = true,                                                       \
                               .check = check_rule}
RULE(naive_msg, "CtrNaiveSGD", "w -= learning_rate g", naive_fields);
RULE(adagrad_msg, "CtrAdaGrad", "Adagrad with one sum of squares for all weights of the part",
     adagrad_fields);
RULE(std_msg, "CtrStdAdaGrad", "Adagrad with one sum of squares per weight", adagrad_fields);
RULE(adam_msg, "CtrAdam", "Adam, with powers of the decay rates for each row", adam_fields);
RULE(shared_msg, "CtrSharedAdam", "Adam with one pair of moments for all weights of the part",
     adam_fields);
/* in the order of cr_ctr_sgd (emb/ctr.h) */
static const cr_oneof_member rules[] = {
    {"naive", &naive_msg, &naive_msg},         {"adagrad", &adagrad_msg, &adagrad_msg},
    {"std_adagrad", &std_msg, &std_msg},       {"adam", &adam_msg, &adam_msg},
    {"shared_adam", &shared_msg, &shared_msg}, {NULL, NULL, NULL},
};
static const cr_oneof rule_family = {"rule of a part", true, rules};
static const cr_field sgd_fields[] = {
    CR_ONEOF(cr_ctr_sgd_conf, rule, &rule_family, 0, "the rule"),
    CR_END,
};
static const cr_msg sgd_msg = {.name = "CtrSGD",
                               .help = "The rule that trains one part of a row",
                               .fields = sgd_fields,
                               .size = sizeof(cr_ctr_sgd_conf),
                               .ours = true};

int cr_ctr_rule_number(const cr_choice *c) {
    return (int)(c->m - rules);
}

static const cr_enum_value forms[] = {
    {"WEIGHTS", 0, "embed_w and embedx_w; Paddle's SparseAccessor", NULL},
    {"SHOW_CLICK", 1, "show and click before them; Paddle's CtrCommonAccessor", NULL},
    {"CVM", 2, "log(show + 1) and log(click + 1) - log(show + 1) before them", NULL},
    {NULL, 0, NULL, NULL},
};

static const cr_field fields[] = {
    CR_ENUM(cr_ctr_conf, pull, forms, 0, 0,
            "what the model reads; embedding_dim is the width of it all"),
    CR_FLOAT(cr_ctr_conf, embedx_threshold, 10, -CR_INF, CR_INF, 0,
             "score from which on a row has embedx_w"),
    CR_MSG(cr_ctr_conf, embed_sgd, &sgd_msg, 0, "rule of embed_w; not given: adagrad"),
    CR_MSG(cr_ctr_conf, embedx_sgd, &sgd_msg, 0, "rule of embedx_w; not given: adagrad"),
    CR_FLOAT(cr_ctr_conf, nonclk_coeff, 0.1, -CR_INF, CR_INF, 0,
             "what a show without a click adds to the score"),
    CR_FLOAT(cr_ctr_conf, click_coeff, 1, -CR_INF, CR_INF, 0, "what a click adds to the score"),
    CR_FLOAT(cr_ctr_conf, base_threshold, 1.5, -CR_INF, CR_INF, 0,
             "score of the rows that a base or a delta has"),
    CR_FLOAT(cr_ctr_conf, delta_threshold, 0.25, -CR_INF, CR_INF, 0,
             "change of the score, since the last base or delta, of the rows that a delta has"),
    CR_FLOAT(cr_ctr_conf, delta_keep_days, 16, 0, CR_INF, 0,
             "a base or a delta leaves out rows that were not seen for more days"),
    CR_FLOAT(cr_ctr_conf, show_click_decay_rate, 0.98, 0, 1, 0,
             "show and click are multiplied by this at the end of a day"),
    CR_FLOAT(cr_ctr_conf, delete_threshold, 0.8, -CR_INF, CR_INF, 0,
             "a row with a lower score goes at the end of a day"),
    CR_FLOAT(cr_ctr_conf, delete_after_unseen_days, 30, 0, CR_INF, 0,
             "a row that was not seen for more days goes at the end of a day"),
    CR_BOOL(cr_ctr_conf, show_scale, true, 0,
            "divide the gradient of a row by the shows of its id in the batch"),
    CR_BOOL(cr_ctr_conf, sum_gradients, true, 0,
            "gradients are those of the batch's summed loss, as Paddle scales them; false: of the "
            "mean loss"),
    CR_BOOL(cr_ctr_conf, zero_init, true, 0,
            "embed_w begins with 0; false: within the initial_range of its rule"),
    CR_STR(cr_ctr_conf, click_field, NULL, 0,
           "label field that has the clicks of a row; not given: the first one"),
    CR_STR(cr_ctr_conf, show_field, NULL, 0,
           "label field that has the shows of a row; not given: every row is one show"),
    CR_INT(cr_ctr_conf, slot, 0, 0, 65535, 0,
           "slot of the feature's rows; not given: the feature's name if it is a number, else its "
           "place among the features"),
    CR_END,
};
static void check(const void *self, cr_diag *diag) {
    const cr_ctr_conf *c = self;
    if (c->delta_threshold < 0)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "delta_threshold"),
                    "a delta_threshold below 0 lets rows without a change into every delta");
}
const cr_msg cr_ctr_msg = {
    .name = "CtrAccessor",
    .help = "Rows that count shows and clicks, and get their second part when it is worth it",
    .fields = fields,
    .size = sizeof(cr_ctr_conf),
    .ours = true,
    .check = check,
};
