/*
 * loss.c - the losses by their config messages. See op/loss*.c for the arithmetic.
 */
#include "layer/loss.h"

#include <math.h>

#include "op/op.h"
#include "op/param.h"

static cr_label_kind class_labels(const void *conf) {
    (void)conf;
    return CR_LABEL_CLASS;
}

static cr_label_kind any_labels(const void *conf) {
    (void)conf;
    return CR_LABEL_ANY;
}

static cr_label_kind bce_labels(const void *conf) {
    return ((const cr_bce_conf *)conf)->soft_labels ? CR_LABEL_SHARE : CR_LABEL_CLASS;
}

static cr_node *bce_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                        const cr_session *s) {
    (void)s;
    return cr_bce(g, logits, label, (float)((const cr_bce_conf *)conf)->label_smoothing);
}

static cr_node *softmax_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                            const cr_session *s) {
    (void)s;
    const cr_cross_entropy_conf *c = conf;
    return cr_softmax_ce(g, logits, label, (float)c->label_smoothing);
}

static double l2_offset(const void *conf) {
    return ((const cr_l2_conf *)conf)->label_mean;
}

static cr_node *l2_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                       const cr_session *s) {
    (void)s;
    (void)conf;
    return cr_l2(g, logits, label);
}

static cr_node *focal_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                          const cr_session *s) {
    (void)s;
    const cr_focal_conf *c = conf;
    return cr_focal(g, logits, label, (float)c->gamma, (float)c->alpha);
}

static const char *jrc_session(const void *conf) {
    return ((const cr_jrc_conf *)conf)->session_name;
}

static cr_node *jrc_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                        const cr_session *s) {
    return cr_jrc(g, logits, label, s, (float)((const cr_jrc_conf *)conf)->alpha);
}

static const char *pairwise_session(const void *conf) {
    return ((const cr_pairwise_conf *)conf)->session_name;
}

static cr_node *pairwise_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                             const cr_session *s) {
    const cr_pairwise_conf *c = conf;
    cr_pairwise_opts o = {c->kind == CR_PAIR_HINGE, c->margin, c->max_negatives};
    return cr_pairwise(g, logits, label, s, &o);
}

static const char *listwise_session(const void *conf) {
    return ((const cr_listwise_conf *)conf)->session_name;
}

/* the temperature as its inverse's logarithm, which is at most ln 100 */
static cr_node *listwise_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                             const cr_session *s) {
    const cr_listwise_conf *c = conf;
    double first = -log(c->temperature_init);
    cr_node *scale = c->learnable_temperature ? cr_weight(g, "logit_scale", 1, 1, CR_INIT_C(first))
                                              : cr_buffer(g, "logit_scale", 0, first);
    scale->n_dims = 0;
    cr_node *z = cr_mul(g, logits, cr_fold_exp(g, scale, (float)log(100)));
    return cr_listwise(g, z, label, s);
}

extern const cr_loss_type cr_loss_bce, cr_loss_softmax, cr_loss_l2, cr_loss_focal, cr_loss_jrc,
    cr_loss_pairwise, cr_loss_listwise;
const cr_loss_type cr_loss_bce = {.name = "binary_cross_entropy",
                                  .pred = CR_PRED_SIGMOID,
                                  .min_class = 1,
                                  .max_class = 1,
                                  .labels = bce_labels,
                                  .row = bce_row};
const cr_loss_type cr_loss_softmax = {.name = "softmax_cross_entropy",
                                      .pred = CR_PRED_SOFTMAX,
                                      .min_class = 2,
                                      .labels = class_labels,
                                      .row = softmax_row};
const cr_loss_type cr_loss_l2 = {.name = "l2_loss",
                                 .pred = CR_PRED_VALUE,
                                 .min_class = 1,
                                 .max_class = 1,
                                 .labels = any_labels,
                                 .offset = l2_offset,
                                 .row = l2_row};
const cr_loss_type cr_loss_focal = {.name = "binary_focal_loss",
                                    .pred = CR_PRED_SIGMOID,
                                    .min_class = 1,
                                    .max_class = 1,
                                    .labels = class_labels,
                                    .row = focal_row};
const cr_loss_type cr_loss_jrc = {.name = "jrc_loss",
                                  .pred = CR_PRED_SOFTMAX,
                                  .min_class = 2,
                                  .max_class = 2,
                                  .labels = class_labels,
                                  .session = jrc_session,
                                  .row = jrc_row};
const cr_loss_type cr_loss_pairwise = {.name = "pairwise_loss",
                                       .pred = CR_PRED_SIGMOID,
                                       .min_class = 1,
                                       .max_class = 1,
                                       .labels = class_labels,
                                       .session = pairwise_session,
                                       .row = pairwise_row};
const cr_loss_type cr_loss_listwise = {.name = "listwise_rank_loss",
                                       .pred = CR_PRED_SIGMOID,
                                       .min_class = 1,
                                       .max_class = 1,
                                       .labels = any_labels,
                                       .session = listwise_session,
                                       .whole_lists = true,
                                       .row = listwise_row};
