/*
 * easyrec_model.c - model_config: one row per model of EasyRec, one table per message.
 *
 * Where the defaults of EasyRec differ, they are written into the result: batch norm in every DNN,
 * and a wide part of width 1.
 */
#include <string.h>

#include "dialect/easyrec_int.h"

/* ---- layers ---- */

/* The activations of EasyRec and of crank. The leaky_relu of TensorFlow has a slope of 0.2. */
static const cr_rw_word activations[] = {
    {"tf.nn.relu", -1, "nn.ReLU", NULL},
    {"relu", -1, "nn.ReLU", NULL},
    {"tf.nn.leaky_relu", -1, "nn.LeakyReLU(negative_slope=0.2)", NULL},
    {"leaky_relu", -1, "nn.LeakyReLU(negative_slope=0.2)", NULL},
    {"tf.nn.elu", -1, "nn.ELU", NULL},
    {"elu", -1, "nn.ELU", NULL},
    {"tf.nn.sigmoid", -1, "nn.Sigmoid", NULL},
    {"sigmoid", -1, "nn.Sigmoid", NULL},
    {"tf.nn.tanh", -1, "nn.Tanh", NULL},
    {"tf.tanh", -1, "nn.Tanh", NULL},
    {"tanh", -1, "nn.Tanh", NULL},
    {"tf.nn.swish", -1, "nn.SiLU", NULL},
    {"swish", -1, "nn.SiLU", NULL},
    {"tf.nn.softplus", -1, "nn.Softplus", NULL},
    {"gelu", -1, "nn.GELU(approximate='tanh')", NULL},
    {"prelu", -1, "nn.PReLU", NULL},
    {"dice", -1, "Dice", NULL},
    {"linear", -1, "", NULL},
    {"", -1, "", NULL},
    {"selu", -1, "nn.SELU", NULL},
    {"tf.nn.selu", -1, "nn.SELU", NULL},
    {"tf.nn.relu6", -1, "nn.ReLU6", NULL},
    {"tf.nn.softsign", -1, "nn.Softsign", NULL},
    {NULL, 0, NULL,
     "it is a function in Python, and the layers have ReLU now; write an activation of torch"},
};
const cr_rule cr_er_dnn_rules[] = {
    TAKE("hidden_units", NULL, NULL),
    TAKE("dropout_ratio", NULL, NULL),
    TEXT("activation", NULL, activations),
    TAKE("use_bn", NULL, "true"),
    END,
};
#define LAST_LAYER "the last layer of these layers is like the others"
const cr_rule cr_er_mlp_rules[] = {
    TAKE("hidden_units", NULL, NULL),
    TAKE("dropout_ratio", NULL, NULL),
    TEXT("activation", NULL, activations),
    TAKE("use_bn", NULL, "true"),
    LOST("use_final_bn", "true", LAST_LAYER),
    LOST("final_activation", "relu", LAST_LAYER),
    TAKE("use_bias", "bias", "false"),
    IDLE("initializer", NULL, "layers start as torch starts them"),
    LOST("use_bn_after_activation", "false", "batch norm stands before the activation"),
    LOST("use_final_bias", NULL, LAST_LAYER),
    LOST("add_to_outputs", "false", "predictions are the scores of the model"),
    END,
};

void cr_er_attention(cr_rw *w, const cr_conf_node *dnn, cr_loc at, cr_conf_node *out,
                     const cr_rule *rules) {
    static const double usual[] = {128, 64, 32}; /* EasyRec uses these if seq_dnn is not given. */
    cr_conf_node *mlp = cr_rw_map(w, out, "attn_mlp", at);
    if (!dnn) {
        for (size_t i = 0; i < 3; i++)
            cr_rw_put_num(w, mlp, "hidden_units", at, usual[i]);
        cr_rw_put_bool(w, mlp, "use_bn", at, true);
        return;
    }
    size_t n = cr_rw_count(dnn, "hidden_units"), i = 0;
    cr_conf_node *all = cr_conf_new(w->doc, CR_NODE_MAP, at);
    cr_rw_message(w, rules, dnn, all);
    for (size_t k = 0; k < all->n; k++)
        if (strcmp(all->v[k].key, "hidden_units") != 0)
            cr_conf_push(w->doc, mlp, all->v[k].key, all->v[k].at, all->v[k].val);
    cr_rw_iter it = {.map = dnn, .key = "hidden_units"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it)); i++) {
        bool score =
            i + 1 == n && n > 1 && e->val->kind == CR_NODE_SCALAR && strcmp(e->val->text, "1") == 0;
        if (!score) cr_conf_push(w->doc, mlp, "hidden_units", e->at, e->val);
    }
}

/* ---- parts of models ---- */

#define L2                                                                                         \
    SPENT("l2_regularization"), IDLE("wide_regularization", NULL, "EasyRec ignores it, too"),      \
        IDLE("dense_regularization", NULL, "EasyRec ignores it, too")

static const cr_rule tower_rules[] = {
    TAKE("input", NULL, NULL),
    INTO("dnn", "mlp", cr_er_dnn_rules),
    END,
};

static const cr_rule din_names[] = {TAKE("input", NULL, NULL), SPENT("dnn"), END};
static void din_tower(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_conf_node *tower = cr_rw_map(w, out, "din_towers", e->at);
    cr_rw_message(w, din_names, e->val, tower);
    cr_er_attention(w, cr_rw_get(e->val, "dnn"), e->at, tower, cr_er_dnn_rules);
    cr_rw_tell(w, CR_SEV_NOTE, e->at,
               "a DIN tower of EasyRec also hands its key to final_dnn; here the key reaches final "
               "through the tower of a group that has it");
}

#define GROUP_ALL "the model reads the group 'all', in EasyRec too"
static const cr_rule cross_rules[] = {IDLE("input", "all", GROUP_ALL),
                                      TAKE("cross_num", NULL, NULL), END};
static const cr_rule deep_rules[] = {IDLE("input", "all", GROUP_ALL), SPENT("dnn"), END};
static void deep_tower(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    const cr_conf_node *dnn = cr_rw_get(e->val, "dnn");
    cr_rw_message(w, deep_rules, e->val, out);
    cr_rw_message(w, cr_er_dnn_rules, dnn, cr_rw_map(w, out, "deep", e->at));
}

static const cr_rule network_rules[] = {
    TAKE("network_name", NULL, NULL),
    TAKE("expert_num_per_task", NULL, NULL),
    TAKE("share_num", NULL, NULL),
    INTO("task_expert_net", NULL, cr_er_dnn_rules),
    INTO("share_expert_net", NULL, cr_er_dnn_rules),
    END,
};

static void num_expert(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    if (cr_rw_num(cr_er_of(w)->params, "num_expert", 0) > 0)
        cr_conf_push(w->doc, out, "num_expert", e->at, e->val);
}

/* experts { expert_name dnn } is the old form of expert_dnn and num_expert. */
static const cr_rule expert_names[] = {SPENT("expert_name"), SPENT("dnn"), END};
static void old_expert(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    const cr_conf_node *dnn = cr_rw_get(e->val, "dnn");
    cr_rw_message(w, expert_names, e->val, out);
    if (!cr_rw_has(out, "expert_mlp")) {
        cr_rw_message(w, cr_er_dnn_rules, dnn, cr_rw_map(w, out, "expert_mlp", e->at));
        cr_rw_put_num(w, out, "num_expert", e->at,
                      (double)cr_rw_count(cr_er_of(w)->params, "experts"));
        return;
    }
    cr_conf_node *other = cr_conf_new(w->doc, CR_NODE_MAP, e->at);
    cr_rw_message(w, cr_er_dnn_rules, dnn, other);
    size_t n = cr_rw_count(other, "hidden_units");
    const cr_conf_node *first = cr_rw_get(out, "expert_mlp");
    cr_rw_iter a = {.map = first, .key = "hidden_units"}, b = {.map = other, .key = "hidden_units"};
    bool same = n == cr_rw_count(first, "hidden_units");
    for (const cr_conf_entry *x, *y; same && (x = cr_rw_next(&a)) && (y = cr_rw_next(&b));)
        same = strcmp(x->val->text, y->val->text) == 0;
    if (!same)
        cr_rw_tell(w, CR_SEV_WARN, e->at,
                   "experts differ: all of them have the layers of the first now");
}

static void interacting_layers(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    const cr_conf_node *in = cr_er_of(w)->params;
    double n = cr_rw_num(in, "interacting_layer_num", 1);
    for (double i = 0; i < n && i < 1024; i++) {
        cr_conf_node *layer = cr_rw_map(w, out, "attention_layers", e->at);
        cr_rw_put_num(w, layer, "num_heads", cr_rw_at(in, "multi_head_num"),
                      cr_rw_num(in, "multi_head_num", 1));
        cr_rw_put_num(w, layer, "head_dim", e->at, cr_rw_num(in, "multi_head_size", 32));
    }
}

static void interaction(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    const char *op = e->val->kind == CR_NODE_SCALAR ? e->val->text : "";
    (void)out;
    if (strcmp(op, "dot") != 0)
        cr_rw_drop(w, CR_SEV_WARN, e->at, "arch_interaction_op",
                   "dlrm multiplies all pairs of vectors");
}

static void dense_feature(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    (void)out;
    if (!cr_rw_bool(cr_er_of(w)->params, "arch_with_dense_feature", false))
        cr_rw_drop(w, CR_SEV_NOTE, e->at, "arch_with_dense_feature",
                   "the dense vector always enters final as well");
}

/* esmm reads one group. The layers of several groups become one bottom_mlp that is as wide as all
 * of them. */
static const cr_rule bottom_names[] = {SPENT("input"), SPENT("dnn"), END};
static void esmm_group(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_er *er = cr_er_of(w);
    const cr_conf_node *dnn = cr_rw_get(e->val, "dnn");
    cr_rw_message(w, bottom_names, e->val, out);
    if (cr_rw_has(out, "bottom_mlp")) return;
    cr_conf_node *mlp = cr_rw_map(w, out, "bottom_mlp", e->at);
    size_t n_groups = cr_rw_count(er->params, "groups");
    if (n_groups == 1) {
        cr_rw_message(w, cr_er_dnn_rules, dnn, mlp);
        return;
    }
    double units[64] = {0};
    size_t depth = 0;
    cr_rw_iter it = {.map = er->params, .key = "groups"};
    for (const cr_conf_entry *g; (g = cr_rw_next(&it));) {
        size_t i = 0;
        double x;
        cr_rw_iter u = {.map = cr_rw_get(g->val, "dnn"), .key = "hidden_units"};
        for (const cr_conf_entry *h; (h = cr_rw_next(&u)) && i < 64; i++)
            if (h->val->kind == CR_NODE_SCALAR && cr_parse_f64(h->val->text, h->val->len, &x))
                units[i] += x;
        depth = i > depth ? i : depth;
    }
    for (size_t i = 0; i < depth; i++)
        cr_rw_put_num(w, mlp, "hidden_units", e->at, units[i]);
    cr_rw_put_bool(w, mlp, "use_bn", e->at, cr_rw_bool(dnn, "use_bn", true));
    cr_rw_tell(w, CR_SEV_WARN, e->at,
               "groups: esmm reads one group; the features of all groups are in the group 'all' "
               "now, under one bottom_mlp that is as wide as their layers together");
}

static void tower_of_event(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_er *er = cr_er_of(w);
    er->n_task = strcmp(e->key, "ctr_tower") == 0
                     ? 1
                     : 0; /* EasyRec gives the labels in the order cvr, ctr. */
    cr_er_task(w, e, cr_rw_map(w, out, e->key, e->at));
}

static const cr_rw_word similarities[] = {
    {"COSINE", 0, "COSINE", NULL},
    {"INNER_PRODUCT", 1, "INNER_PRODUCT", NULL},
    {"EUCLID", 2, "EUCLID", NULL},
    {NULL, 0, NULL, NULL},
};

/* ---- models ---- */

static const cr_rule deepfm_rules[] = {
    INTO("dnn", "deep", cr_er_dnn_rules),
    INTO("final_dnn", "final", cr_er_dnn_rules),
    TAKE("wide_output_dim", "wide_embedding_dim", "1"),
    L2,
    END,
};
static const cr_rule multi_tower_rules[] = {
    EACH("towers", NULL, tower_rules),
    INTO("final_dnn", "final", cr_er_dnn_rules),
    IDLE("din_towers", NULL,
         "EasyRec's MultiTower ignores it, too; model_class: 'MultiTowerDIN' does not"),
    IDLE("bst_towers", NULL, "EasyRec's MultiTower ignores it, too"),
    L2,
    END,
};
static const cr_rule multi_tower_din_rules[] = {
    EACH("towers", NULL, tower_rules),
    CALL("din_towers", din_tower),
    INTO("final_dnn", "final", cr_er_dnn_rules),
    IDLE("bst_towers", NULL, "EasyRec's MultiTowerDIN ignores it, too"),
    L2,
    END,
};
#define NO_IMAGES "images and texts are not read"
static const cr_rule dbmtl_rules[] = {
    CUT("bottom_cmbf", NO_IMAGES),
    CUT("bottom_uniter", NO_IMAGES),
    INTO("bottom_dnn", "bottom_mlp", cr_er_dnn_rules),
    INTO("expert_dnn", "expert_mlp", cr_er_dnn_rules),
    CALL("num_expert", num_expert),
    CALL("task_towers", cr_er_task_towers),
    L2,
    END,
};
static const cr_rule mmoe_rules[] = {
    CALL("experts", old_expert),
    INTO("expert_dnn", "expert_mlp", cr_er_dnn_rules),
    CALL("num_expert", num_expert),
    CALL("task_towers", cr_er_task_towers),
    L2,
    END,
};
static const cr_rule ple_rules[] = {
    EACH("extraction_networks", NULL, network_rules),
    CALL("task_towers", cr_er_task_towers),
    L2,
    END,
};
static const cr_rule esmm_rules[] = {
    CALL("groups", esmm_group),
    CALL("ctr_tower", tower_of_event),
    CALL("cvr_tower", tower_of_event),
    L2,
    END,
};
static const cr_rule simple_rules[] = {CALL("task_towers", cr_er_task_towers), L2, END};
static const cr_rule dcn_rules[] = {
    CALL("deep_tower", deep_tower),
    INTO("cross_tower", "cross", cross_rules),
    INTO("final_dnn", "final", cr_er_dnn_rules),
    L2,
    END,
};
static const cr_rule fm_rules[] = {IDLE("use_variant", NULL, "EasyRec ignores it, too"), L2, END};
static const cr_rule autoint_rules[] = {
    SPENT("multi_head_num"),
    CALL("multi_head_size", interacting_layers),
    SPENT("interacting_layer_num"),
    L2,
    END,
};
static const cr_rule dlrm_rules[] = {
    INTO("top_dnn", "final", cr_er_dnn_rules),
    INTO("bot_dnn", "dense_mlp", cr_er_dnn_rules),
    CALL("arch_interaction_op", interaction),
    LOST("arch_interaction_itself", "false", "a vector is not multiplied with itself"),
    CALL("arch_with_dense_feature", dense_feature),
    L2,
    END,
};
static const cr_rule rocket_rules[] = {
    INTO("share_dnn", "share_mlp", cr_er_dnn_rules),
    INTO("booster_dnn", "booster_mlp", cr_er_dnn_rules),
    INTO("light_dnn", "light_mlp", cr_er_dnn_rules),
    TAKE("feature_based_distillation", NULL, NULL),
    WORD("feature_distillation_function", NULL, similarities, NULL),
    L2,
    END,
};
static const cr_rule dssm_tower_rules[] = {
    IDLE("id", NULL, "the sampler names the columns of ids"),
    INTO("dnn", "mlp", cr_er_dnn_rules),
    END,
};
/* The last layer of a tower in EasyRec has no activation; here it is the output layer, with
 * output_dim. */
static void dssm_tower(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_conf_node *tower = cr_rw_map(w, out, e->key, e->at);
    cr_rw_put_str(w, tower, "input", e->at, strcmp(e->key, "user_tower") == 0 ? "user" : "item");
    cr_rw_message(w, dssm_tower_rules, e->val, tower);
    cr_conf_node *mlp = cr_conf_find(tower, "mlp");
    size_t n = cr_rw_count(mlp, "hidden_units"), i = 0;
    if (n == 0) return;
    cr_conf_node *rest = cr_conf_new(w->doc, CR_NODE_MAP, mlp->at);
    for (size_t k = 0; k < mlp->n; k++)
        if (strcmp(mlp->v[k].key, "hidden_units") != 0)
            cr_conf_push(w->doc, rest, mlp->v[k].key, mlp->v[k].at, mlp->v[k].val);
    cr_rw_iter it = {.map = mlp, .key = "hidden_units"};
    for (const cr_conf_entry *u; (u = cr_rw_next(&it)); i++) {
        if (i + 1 < n)
            cr_conf_push(w->doc, rest, "hidden_units", u->at, u->val);
        else if (!cr_rw_has(out, "output_dim"))
            cr_conf_push(w->doc, out, "output_dim", u->at, u->val);
    }
    *mlp = *rest;
}
static const cr_rule dssm_rules[] = {
    CALL("user_tower", dssm_tower),
    CALL("item_tower", dssm_tower),
    WORD("simi_func", "similarity", similarities, "COSINE"),
    TAKE("temperature", NULL, NULL),
    LOST("scale_simi", "false", "similarities are divided by temperature alone"),
    IDLE("item_id", NULL, "the sampler names the item's column"),
    LOST("ignore_in_batch_neg_sam", "false", "see in_batch_negative"),
    L2,
    END,
};

typedef struct model_kind {
    const char *model_class;
    const char *from, *to; /* keys of the model's message in EasyRec and here */
    const cr_rule *rules;
    cr_er_plan plan;
    bool tasks;
    double l2; /* EasyRec's default */
} model_kind;
static const model_kind model_kinds[] = {
    {"DeepFM", "deepfm", "deepfm", deepfm_rules, {NULL, NULL, NULL}, false, 1e-4},
    {"WideAndDeep",
     "wide_and_deep",
     "wide_and_deep",
     deepfm_rules,
     {NULL, NULL, NULL},
     false,
     1e-4},
    {"MultiTower",
     "multi_tower",
     "multi_tower",
     multi_tower_rules,
     {NULL, NULL, NULL},
     false,
     1e-4},
    {"MultiTowerDIN",
     "multi_tower",
     "multi_tower_din",
     multi_tower_din_rules,
     {NULL, NULL, NULL},
     false,
     1e-4},
    {"DBMTL", "dbmtl", "dbmtl", dbmtl_rules, {"all", NULL, NULL}, true, 1e-4},
    {"MMoE", "mmoe", "mmoe", mmoe_rules, {"all", NULL, NULL}, true, 1e-4},
    {"PLE", "ple", "ple", ple_rules, {"all", NULL, NULL}, true, 1e-4},
    {"ESMM", "esmm", "esmm", esmm_rules, {NULL, NULL, NULL}, true, 1e-4},
    {"SimpleMultiTask",
     "simple_multi_task",
     "simple_multi_task",
     simple_rules,
     {"all", NULL, NULL},
     true,
     1e-4},
    {"DCN", "dcn", "dcn_v1", dcn_rules, {"all", NULL, NULL}, false, 1e-4},
    {"FM", "fm", "fm", fm_rules, {NULL, "deep", "fm"}, false, 1e-4},
    {"AutoInt", "autoint", "autoint", autoint_rules, {"all", NULL, NULL}, false, 1e-4},
    {"DLRM", "dlrm", "dlrm", dlrm_rules, {NULL, NULL, NULL}, false, 1e-5},
    {"RocketLaunching",
     "rocket_launching",
     "rocket_launching",
     rocket_rules,
     {"all", NULL, NULL},
     false,
     1e-4},
    {"DSSM", "dssm", "dssm", dssm_rules, {NULL, NULL, NULL}, false, 1e-4},
    {"RankModel", "model_params", "backbone", NULL, {NULL, NULL, NULL}, false, 0},
    {"MultiTaskModel", "model_params", "backbone", NULL, {NULL, NULL, NULL}, true, 0},
};

static const model_kind *kind_of(const cr_er *er) {
    for (size_t i = 0; i < sizeof(model_kinds) / sizeof(*model_kinds); i++)
        if (strcmp(model_kinds[i].model_class, er->model_class) == 0) return &model_kinds[i];
    return NULL;
}

void cr_er_find_model(cr_er *er) {
    er->model_class = cr_rw_str(er->model, "model_class", "");
    const model_kind *k = kind_of(er);
    er->params = k ? cr_rw_get(er->model, k->from) : NULL;
    er->tasks = k && k->tasks;
}

double cr_er_l2(const cr_er *er) {
    const model_kind *k = kind_of(er);
    return k ? cr_rw_num(er->params, "l2_regularization", k->l2) : 0;
}

/* ---- model_config ---- */

/* EasyRec adds half the sum of the squares over the batch; crank adds the squares per row. */
static void embedding_l2(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_er *er = cr_er_of(w);
    double x = cr_rw_num(er->model, "embedding_regularization", 0);
    if (x <= 0) return;
    cr_rw_put_num(w, out, "embedding_regularization", e->at, x * cr_er_batch_size(er) / 2);
    cr_rw_tell(w, CR_SEV_NOTE, e->at,
               "embedding_regularization became %g: EasyRec sums half the squares over the batch, "
               "here they are averaged over its rows",
               x * cr_er_batch_size(er) / 2);
}

static const cr_rule variational_rules[] = {
    TAKE("regularization_lambda", NULL, NULL),
    TAKE("embedding_wise_variational_dropout", NULL, NULL),
    END,
};

#define EV                                                                                         \
    "tables have as many rows as hash_bucket_size or num_buckets says; choose them large enough"
/* The keys of model_config that belong to no single model. */
static const cr_rule model_rules[] = {
    SPENT("model_class"),
    IDLE("model_name", NULL, "a model is called by its key"),
    SPENT("feature_groups"),
    SPENT("seq_att_groups"),
    CALL("embedding_regularization", embedding_l2),
    SPENT("loss_type"),
    SPENT("losses"),
    SPENT("num_class"),
    LOST("ev_params", NULL, EV),
    LOST("kd", NULL, "models are not taught by others, except rocket_launching"),
    IDLE("restore_filters", NULL, "there is no TensorFlow checkpoint to restore"),
    INTO("variational_dropout", NULL, variational_rules),
    LOST("loss_weight_strategy", "Fixed",
         "weights of losses are given; see use_pareto_loss_weight"),
    SPENT("backbone"),
    SPENT("label_name"),
    SPENT("model_params"),
    END,
};
/* The messages of the models. The message of the chosen model has a row before these. */
#define OTHER(k) LOST(k, NULL, "model_class is another one")
static const cr_rule message_rules[] = {
    OTHER("dummy"),
    OTHER("wide_and_deep"),
    OTHER("deepfm"),
    OTHER("multi_tower"),
    OTHER("fm"),
    OTHER("dcn"),
    OTHER("autoint"),
    OTHER("dlrm"),
    OTHER("cmbf"),
    OTHER("uniter"),
    OTHER("multi_tower_recall"),
    OTHER("dssm"),
    OTHER("mind"),
    OTHER("dropoutnet"),
    OTHER("metric_learning"),
    OTHER("pdn"),
    OTHER("dssm_senet"),
    OTHER("dat"),
    OTHER("mmoe"),
    OTHER("esmm"),
    OTHER("dbmtl"),
    OTHER("simple_multi_task"),
    OTHER("ple"),
    OTHER("rocket_launching"),
    END_THEN(model_rules),
};

/* esmm_groups puts the features of all groups that the model names into one group. */
static void esmm_groups(cr_er *er, cr_conf_node *out) {
    cr_rw *w = &er->w;
    if (cr_rw_count(er->params, "groups") < 2) {
        const cr_conf_node *g = cr_rw_get(er->params, "groups");
        cr_er_groups(er, &(cr_er_plan){cr_rw_str(g, "input", "all"), NULL, NULL}, out);
        return;
    }
    cr_conf_node *each = cr_conf_new(w->doc, CR_NODE_MAP, out->at);
    cr_er_groups(er, &(cr_er_plan){NULL, NULL, NULL}, each);
    cr_conf_node *all = cr_rw_map(w, out, "feature_groups", out->at);
    cr_rw_put_str(w, all, "group_name", out->at, "all");
    cr_rw_put_word(w, all, "group_type", out->at, "DEEP");
    for (size_t i = 0; i < each->n; i++) {
        const cr_conf_node *g = each->v[i].val;
        const char *name = cr_rw_str(g, "group_name", "");
        bool named = false;
        cr_rw_iter it = {.map = er->params, .key = "groups"};
        for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
            named |= strcmp(cr_rw_str(e->val, "input", ""), name) == 0;
        if (!named) continue;
        for (size_t k = 0; k < g->n; k++)
            if (strcmp(g->v[k].key, "group_name") != 0 && strcmp(g->v[k].key, "group_type") != 0)
                cr_conf_push(w->doc, all, g->v[k].key, g->v[k].at, g->v[k].val);
    }
    er->res->n_groups = 1;
}

void cr_er_model(cr_rw *w, const cr_conf_entry *e, cr_conf_node *root) {
    cr_er *er = cr_er_of(w);
    const cr_conf_node *in = e->val;
    const model_kind *k = kind_of(er);
    cr_conf_node *out = cr_rw_child(w, root, "model_config", e->at);
    /* The row of the chosen model comes before the others. */
    cr_rule own[] = {INTO(k ? k->from : "", k ? k->to : NULL, k ? k->rules : NULL),
                     END_THEN(message_rules)};
    size_t n = w->path.n;
    bool blocks = k && strcmp(k->to, "backbone") == 0;
    if (in->kind != CR_NODE_MAP) return;
    if (!k)
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, cr_rw_at(in, "model_class"),
                    "the model '%s' has no counterpart and is left out; a graph of blocks "
                    "(docs/guide/own_models.md) or another model must stand in",
                    er->model_class);
    else if (!er->params && !blocks)
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, in->at,
                    "model_class is '%s' and there is no %s { ... }; EasyRec needs it, too",
                    er->model_class, k->from);
    cr_buf_str(&w->path, "model_config");
    cr_rw_message(w, k && !blocks ? own : message_rules, in, out);
    w->path.n = n;
    w->path.data[n] = 0;
    if (k && strcmp(k->to, "esmm") == 0)
        esmm_groups(er, out);
    else
        cr_er_groups(er, k ? &k->plan : &(cr_er_plan){NULL, NULL, NULL}, out);
    cr_conf_node *model = k && !blocks ? cr_conf_find(out, k->to) : NULL;
    if (model && k->rules == fm_rules) cr_rw_put_num(w, model, "embedding_dim", model->at, 0);
    if (blocks) cr_er_backbone(er, in, e->at, out);
    if (k) er->res->model = k->to;
    if (er->tasks) return;
    if (cr_rw_has(in, "num_class"))
        cr_rw_put_num(w, out, "num_class", cr_rw_at(in, "num_class"),
                      cr_rw_num(in, "num_class", 1));
    cr_er_losses(w, in, out);
}
