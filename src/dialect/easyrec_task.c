/*
 * easyrec_task.c - losses, metrics and task towers: what a model learns and how the result is
 * measured.
 *
 * EasyRec says CLASSIFICATION and looks at num_class; here the two losses have names. A loss
 * without a counterpart is left out and never replaced: another loss would be another model.
 */
#include <string.h>

#include "dialect/easyrec_int.h"

/* ---- metrics ---- */

static void grouping_key(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    const char *column = e->val->kind == CR_NODE_SCALAR ? e->val->text : "";
    cr_rw_put_str(w, out, "grouping_key", e->at, cr_er_group_key(cr_er_of(w), column, e->at));
}

static void reduction(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    const char *how = e->val->kind == CR_NODE_SCALAR ? e->val->text : "";
    if (strcmp(how, "mean_by_sample_num") == 0)
        cr_rw_put_bool(w, out, "weighted", e->at, true);
    else if (strcmp(how, "mean") != 0)
        cr_rw_tell(w, CR_SEV_WARN, e->at,
                   "reduction: groups weigh the same, or as much as their rows (weighted: true); "
                   "'%s' became the plain mean",
                   how);
}

static const cr_rule no_rules[] = {END};
static const cr_rule auc_rules[] = {TAKE("num_thresholds", "thresholds", NULL), END};
static const cr_rule top_k_rules[] = {TAKE("topk", "top_k", NULL), END};
static const cr_rule gauc_rules[] = {
    CALL("uid_field", grouping_key),
    CALL("reduction", reduction),
    END,
};
static const cr_rule session_auc_rules[] = {
    CALL("session_id_field", grouping_key),
    CALL("reduction", reduction),
    END,
};

static const struct {
    const char *from, *to;
    const cr_rule *rules;
    const char *why;
} metrics[] = {
    {"auc", "auc", auc_rules, NULL},
    {"recall_at_topk", "recall_at_k", top_k_rules, NULL},
    {"mean_absolute_error", "mean_absolute_error", no_rules, NULL},
    {"mean_squared_error", "mean_squared_error", no_rules, NULL},
    {"root_mean_squared_error", "mean_squared_error", no_rules,
     "root_mean_squared_error became mean_squared_error, its square"},
    {"accuracy", "accuracy", no_rules, NULL},
    {"precision", "precision", no_rules, NULL},
    {"recall", "recall", no_rules, NULL},
    {"gauc", "grouped_auc", gauc_rules, NULL},
    {"session_auc", "grouped_auc", session_auc_rules, NULL},
    {"max_f1", NULL, NULL,
     "max_f1 is left out: f1 is measured at one threshold (f1 { threshold: 0.5 })"},
    {"precision_at_topk", NULL, NULL, "precision_at_topk is left out: it has no counterpart"},
};

void cr_er_metric(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    if (e->val->kind != CR_NODE_MAP) {
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, e->at, "metrics_set must be a message");
        return;
    }
    for (size_t k = 0; k < e->val->n; k++) {
        const cr_conf_entry *m = &e->val->v[k];
        size_t i = 0, n = sizeof(metrics) / sizeof(*metrics);
        while (i < n && !cr_conf_key_is(e->val, m->key, metrics[i].from))
            i++;
        if (i == n) {
            cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, m->at, "EasyRec has no metric '%s'",
                        m->key);
            continue;
        }
        if (metrics[i].why)
            cr_rw_tell(w, metrics[i].to ? CR_SEV_NOTE : CR_SEV_WARN, m->at, "%s", metrics[i].why);
        if (!metrics[i].to) continue;
        cr_conf_node *one = cr_rw_map(w, out, "metrics", m->at);
        cr_rw_message(w, metrics[i].rules, m->val, cr_rw_map(w, one, metrics[i].to, m->at));
    }
}

/* ---- losses ---- */

static void session(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    const char *column = e->val->kind == CR_NODE_SCALAR ? e->val->text : "";
    cr_rw_put_str(w, out, "session_name", e->at, cr_er_group_key(cr_er_of(w), column, e->at));
}

#define NO_KEY "the loss has no such key here"
static const cr_rule jrc_rules[] = {
    CALL("session_name", session),
    TAKE("alpha", NULL, NULL),
    LOST("same_label_loss", "true", NO_KEY),
    LOST("loss_weight_strategy", "fixed", NO_KEY),
    END,
};
static const cr_rule focal_rules[] = {
    TAKE("gamma", NULL, NULL),
    TAKE("alpha", NULL, NULL),
    LOST("ohem_ratio", "1", NO_KEY),
    LOST("label_smoothing", "0", NO_KEY),
    END,
};
static const cr_rule pairwise_rules[] = {
    LOST("margin", "0", "pairs are compared without a margin (see kind: HINGE)"),
    CALL("session_name", session),
    LOST("temperature", "1", NO_KEY),
    LOST("hinge_margin", NULL, NO_KEY),
    LOST("ohem_ratio", "1", NO_KEY),
    LOST("use_label_margin", "false", NO_KEY),
    END,
};
static const cr_rule hinge_rules[] = {
    TAKE("margin", NULL, "1"),
    CALL("session_name", session),
    LOST("temperature", "1", NO_KEY),
    LOST("ohem_ratio", "1", NO_KEY),
    LOST("label_is_logits", NULL, NO_KEY),
    LOST("use_label_margin", "false", NO_KEY),
    LOST("use_exponent", "false", NO_KEY),
    END,
};

static const cr_rule listwise_rules[] = {
    CALL("session_name", session),
    TAKE("temperature", "temperature_init", "1"),
    LOST("transform_fn", NULL, "labels are not transformed"),
    LOST("label_is_logits", "false", NO_KEY),
    LOST("scale_logits", "false", NO_KEY),
    END,
};

typedef struct loss_kind {
    const char *from;
    int number;
    const char *one, *many; /* for one output, and for num_class outputs; NULL: none */
    const char *params;     /* key of its parameters */
    const cr_rule *rules;
} loss_kind;
static const loss_kind loss_kinds[] = {
    {"CLASSIFICATION", 0, "binary_cross_entropy", "softmax_cross_entropy", NULL, NULL},
    {"L2_LOSS", 1, "l2_loss", "l2_loss", NULL, NULL},
    {"SIGMOID_L2_LOSS", 2, NULL, NULL, NULL, NULL},
    {"CROSS_ENTROPY_LOSS", 3, "binary_cross_entropy", "binary_cross_entropy", NULL, NULL},
    {"SOFTMAX_CROSS_ENTROPY", 4, "softmax_cross_entropy", "softmax_cross_entropy", NULL, NULL},
    {"CIRCLE_LOSS", 5, NULL, NULL, "circle_loss", NULL},
    {"MULTI_SIMILARITY_LOSS", 6, NULL, NULL, "multi_simi_loss", NULL},
    {"SOFTMAX_CROSS_ENTROPY_WITH_NEGATIVE_MINING", 7, NULL, NULL, "softmax_loss", NULL},
    {"PAIR_WISE_LOSS", 8, "pairwise_loss", "pairwise_loss", "pairwise_loss", pairwise_rules},
    {"F1_REWEIGHTED_LOSS", 9, NULL, NULL, "f1_reweighted_loss", NULL},
    {"BINARY_FOCAL_LOSS", 10, "binary_focal_loss", "binary_focal_loss", "binary_focal_loss",
     focal_rules},
    {"PAIRWISE_FOCAL_LOSS", 11, NULL, NULL, "pairwise_focal_loss", NULL},
    {"PAIRWISE_LOGISTIC_LOSS", 12, "pairwise_loss", "pairwise_loss", "pairwise_logistic_loss",
     pairwise_rules},
    {"JRC_LOSS", 13, "jrc_loss", "jrc_loss", "jrc_loss", jrc_rules},
    {"ORDER_CALIBRATE_LOSS", 14, NULL, NULL, NULL, NULL},
    {"BINARY_CROSS_ENTROPY_LOSS", 15, "binary_cross_entropy", "binary_cross_entropy", NULL, NULL},
    {"KL_DIVERGENCE_LOSS", 16, NULL, NULL, NULL, NULL},
    {"PAIRWISE_HINGE_LOSS", 17, "pairwise_loss", "pairwise_loss", "pairwise_hinge_loss",
     hinge_rules},
    {"LISTWISE_RANK_LOSS", 18, "listwise_rank_loss", "listwise_rank_loss", "listwise_rank_loss",
     listwise_rules},
    {"LISTWISE_DISTILL_LOSS", 19, NULL, NULL, "listwise_distill_loss", NULL},
    {"ZILN_LOSS", 20, NULL, NULL, "ziln_loss", NULL},
};

static const loss_kind *kind_of(const char *text) {
    int64_t number = -1;
    (void)!cr_parse_i64(text, strlen(text), &number);
    for (size_t i = 0; i < sizeof(loss_kinds) / sizeof(*loss_kinds); i++)
        if (strcmp(text, loss_kinds[i].from) == 0 || number == loss_kinds[i].number)
            return &loss_kinds[i];
    return NULL;
}

/* write_loss writes one loss. `in` is the message of the loss; NULL: there is only a loss_type. */
static void write_loss(cr_rw *w, const char *type, cr_loc at, double num_class,
                       const cr_conf_node *in, cr_conf_node *out) {
    const loss_kind *k = kind_of(type);
    if (!k) {
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, at, "EasyRec has no loss_type '%s'", type);
        return;
    }
    const char *to = num_class > 1 ? k->many : k->one;
    if (!to) {
        cr_rw_tell(w, CR_SEV_WARN, at,
                   "the loss %s is left out: it has no counterpart; choose one (crank help losses)",
                   k->from);
        return;
    }
    const cr_conf_node *params = k->params ? cr_rw_get(in, k->params) : NULL;
    double weight = cr_rw_num(in, "weight", 1);
    cr_conf_node *one = cr_rw_map(w, out, "losses", at), *loss = cr_rw_map(w, one, to, at);
    if (weight != 1) cr_rw_put_num(w, one, "weight", cr_rw_at(in, "weight"), weight);
    if (k->rules == hinge_rules) cr_rw_put_word(w, loss, "kind", at, "HINGE");
    if (k->rules == hinge_rules && !params) cr_rw_put_num(w, loss, "margin", at, 1);
    if (k->rules == listwise_rules) cr_rw_put_bool(w, loss, "learnable_temperature", at, false);
    if (k->rules == listwise_rules && !params) cr_rw_put_num(w, loss, "temperature_init", at, 1);
    if (params && k->rules) cr_rw_message(w, k->rules, params, loss);
}

static const cr_rule loss_rules[] = {
    SPENT("loss_type"),
    SPENT("weight"),
    IDLE("loss_name", NULL, "losses have names of their own"),
    LOST("learn_loss_weight", "false", "weights of losses are given, not learned"),
    SPENT("f1_reweighted_loss"),
    SPENT("softmax_loss"),
    SPENT("circle_loss"),
    SPENT("multi_simi_loss"),
    SPENT("binary_focal_loss"),
    SPENT("pairwise_loss"),
    SPENT("pairwise_focal_loss"),
    SPENT("pairwise_logistic_loss"),
    SPENT("jrc_loss"),
    SPENT("pairwise_hinge_loss"),
    SPENT("listwise_rank_loss"),
    SPENT("listwise_distill_loss"),
    SPENT("ziln_loss"),
    END,
};

void cr_er_losses(cr_rw *w, const cr_conf_node *in, cr_conf_node *out) {
    double num_class = cr_rw_num(in, "num_class", 1);
    cr_loc at = cr_rw_at(in, "loss_type");
    if (!cr_rw_has(in, "losses")) {
        write_loss(w, cr_rw_str(in, "loss_type", "CLASSIFICATION"), at, num_class, NULL, out);
        return;
    }
    if (cr_rw_has(in, "loss_type"))
        cr_rw_tell(w, CR_SEV_NOTE, at,
                   "loss_type is left out: losses is given too, and EasyRec uses losses then");
    cr_rw_iter it = {.map = in, .key = "losses"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        cr_rw_message(w, loss_rules, e->val, out);
        write_loss(w, cr_rw_str(e->val, "loss_type", ""), cr_rw_at(e->val, "loss_type"), num_class,
                   e->val, out);
    }
}

/* ---- task towers ---- */

#define SPACE "rows of a task are chosen by a label; see task_space_indicator_label"
static const cr_rule task_rules[] = {
    TAKE("tower_name", NULL, NULL),
    TAKE("label_name", NULL, NULL),
    CALL("metrics_set", cr_er_metric),
    SPENT("loss_type"),
    SPENT("losses"),
    TAKE("num_class", NULL, NULL),
    INTO("dnn", "mlp", cr_er_dnn_rules),
    TAKE("relation_tower_names", NULL, NULL),
    INTO("relation_dnn", "relation_mlp", cr_er_dnn_rules),
    SPENT("weight"),
    TAKE("task_space_indicator_label", NULL, NULL),
    TAKE("in_task_space_weight", NULL, NULL),
    TAKE("out_task_space_weight", NULL, NULL),
    SPENT("use_sample_weight"),
    LOST("task_space_indicator_name", NULL, SPACE),
    LOST("task_space_indicator_value", NULL, SPACE),
    END,
};

void cr_er_task(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_er *er = cr_er_of(w);
    const cr_conf_node *in = e->val;
    const char *sample_weight = cr_rw_str(er->data, "sample_weight", NULL);
    const char *label = cr_er_label(er, er->n_task++);
    cr_rw_message(w, task_rules, in, out);
    double weight = cr_rw_num(in, "weight", 1);
    cr_er_losses(w, in, out);
    if (!cr_rw_has(in, "label_name") && *label) cr_rw_put_str(w, out, "label_name", e->at, label);
    if (weight != 1) cr_rw_put_num(w, out, "weight", cr_rw_at(in, "weight"), weight);
    if (sample_weight && cr_rw_bool(in, "use_sample_weight", true))
        cr_rw_put_str(w, out, "sample_weight_name", e->at, sample_weight);
}

void cr_er_task_towers(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_er_task(w, e, cr_rw_map(w, out, "task_towers", e->at));
}
