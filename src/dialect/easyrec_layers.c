/*
 * easyrec_layers.c - the layers of EasyRec's blocks, and its functions in Python.
 *
 * In EasyRec a layer is a class name with parameters; here it becomes one layer or a chain of
 * layers. Functions are recognized by their text: those of EasyRec's documentation have a
 * counterpart, all others are errors.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "dialect/graph_int.h"

void cr_er_cut(cr_er_graph *g, cr_loc at, const char *what, const char *why) {
    cr_diag_add(g->w->diag, CR_SEV_ERROR, CR_ECONF, at, "block '%s': %s has no counterpart; %s",
                g->name, what, why);
}

static cr_conf_node *add(cr_er_graph *g, const char *key, cr_loc at) {
    cr_conf_node *conf = cr_conf_new(g->w->doc, CR_NODE_MAP, at);
    if (g->n_chain < CR_ER_CHAIN)
        g->chain[g->n_chain++] = (cr_er_link){key, conf};
    else
        cr_er_cut(g, at, "a chain of so many layers", "write it as several blocks");
    return conf;
}

/* ---- functions in Python ---- */

cr_er_python cr_er_lambda(const char *text, int *dim) {
    static const struct {
        const char *text; /* without blanks */
        cr_er_python is;
    } known[] = {
        {"lambdax:x", CR_PY_SAME},
        {"lambdax:[x]", CR_PY_SAME},
        {"lambdax:[x,x]", CR_PY_SAME}, /* the x0 and x of cross layers */
        {"lambdax:tf.stack(x,axis=1)", CR_PY_SAME},
        {"lambdax:tf.concat(x,axis=1)", CR_PY_SAME},
        {"lambdax:tf.concat(x,axis=-1)", CR_PY_SAME},
        {"lambdax:tf.add_n(x)", CR_PY_SUM_FIELDS},
        {"lambdax:tf.reduce_sum(x,axis=1,keepdims=True)", CR_PY_SUM},
        {"lambdax:tf.reduce_sum(x,axis=-1,keepdims=True)", CR_PY_SUM},
        {"lambdax:tf.reduce_mean(x,axis=1,keepdims=True)", CR_PY_MEAN},
        {"lambdax:x[0]", CR_PY_FIRST},
        {"lambdax:x[1]", CR_PY_SECOND},
    };
    char plain[256];
    size_t n = 0;
    for (; *text && n + 1 < sizeof(plain); text++)
        if (!isspace((unsigned char)*text)) plain[n++] = *text;
    plain[n] = 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(plain, known[i].text) == 0) return known[i].is;
    int n_fields, end = 0;
    if (sscanf(plain, "lambdax:tf.unstack(tf.reshape(x,[-1,%d,%d]),axis=1)%n", &n_fields, dim,
               &end) == 2 &&
        end > 0 && !plain[end] && *dim > 0)
        return CR_PY_FIELDS;
    return CR_PY_OTHER;
}

bool cr_er_lambda_layer(cr_er_graph *g, const char *text, cr_loc at) {
    int dim = 0;
    cr_er_python is = cr_er_lambda(text, &dim);
    if (is == CR_PY_SUM || is == CR_PY_SUM_FIELDS) {
        cr_conf_node *sum = add(g, "sum", at);
        if (is == CR_PY_SUM_FIELDS) cr_rw_put_bool(g->w, sum, "fields", at, true);
    } else if (is == CR_PY_MEAN) {
        add(g, "mean", at);
    } else if (is == CR_PY_FIELDS) {
        cr_rw_put_num(g->w, add(g, "fields", at), "dim", at, dim);
    } else {
        return is == CR_PY_SAME;
    }
    return true;
}

/* ---- layers ---- */

/* param returns a value of a google.protobuf.Struct, or NULL if it is not given. */
static const cr_conf_node *param(const cr_conf_node *conf, const char *key) {
    cr_rw_iter it = {.map = conf, .key = "fields"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        if (strcmp(cr_rw_str(e->val, "key", ""), key) == 0) return cr_rw_get(e->val, "value");
    return NULL;
}
static double param_num(const cr_conf_node *conf, const char *key, double absent) {
    return cr_rw_num(param(conf, key), "number_value", absent);
}
static bool param_bool(const cr_conf_node *conf, const char *key, bool absent) {
    return cr_rw_bool(param(conf, key), "bool_value", absent);
}

/* mlp_layer makes one mlp, or two layers if the last layer has another activation or no batch norm.
 */
static void mlp_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    cr_rw *w = g->w;
    bool bn = cr_rw_bool(in, "use_bn", true);
    const char *last = cr_rw_str(in, "final_activation", "relu");
    bool special = (bn && !cr_rw_bool(in, "use_final_bn", true)) ||
                   strcmp(last, cr_rw_str(in, "activation", "relu")) != 0;
    size_t n = cr_rw_count(in, "hidden_units"), i = 0;
    static const cr_rule final_rules[] = {SPENT("hidden_units"), SPENT("use_final_bn"),
                                          SPENT("final_activation"), SPENT("use_final_bias"),
                                          END_THEN(cr_er_mlp_rules)};
    if (!special || n == 0) {
        cr_rw_message(w, cr_er_mlp_rules, in, add(g, "mlp", at));
        return;
    }
    cr_conf_node *most = n > 1 ? add(g, "mlp", at) : cr_conf_new(w->doc, CR_NODE_MAP, at);
    cr_rw_message(w, final_rules, in, most);
    const cr_conf_node *units = cr_rw_get(in, "hidden_units");
    cr_rw_iter it = {.map = in, .key = "hidden_units"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it)); i++)
        if (i + 1 < n) cr_conf_push(w->doc, most, "hidden_units", e->at, e->val);
    bool bias = cr_rw_bool(in, "use_final_bias", false);
    double width = 0;
    (void)!cr_parse_f64(units->text, units->len, &width);
    if (strcmp(last, "linear") == 0 || !*last) {
        cr_conf_node *linear = add(g, "linear", at);
        cr_rw_put_num(w, linear, "units", units->at, width);
        cr_rw_put_bool(w, linear, "bias", at, bias);
        if (bn && cr_rw_bool(in, "use_final_bn", true)) add(g, "batch_norm", at);
        return;
    }
    cr_conf_node *one = add(g, "mlp", at), *given = cr_conf_new(w->doc, CR_NODE_MAP, at);
    cr_rw_put_num(w, given, "hidden_units", units->at, width);
    cr_rw_put_str(w, given, "activation", at, last);
    cr_rw_put_bool(w, given, "use_bn", at, bn && cr_rw_bool(in, "use_final_bn", true));
    cr_rw_put_bool(w, given, "use_bias", at, bias);
    cr_rw_message(w, cr_er_mlp_rules, given, one);
}

static void fm_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    bool vector = cr_rw_bool(in, "use_variant", param_bool(in, "use_variant", false));
    add(g, "fm", at);
    if (!vector) add(g, "sum", at);
}

static void dot_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    if (param_bool(in, "self_interaction", false))
        cr_rw_tell(g->w, CR_SEV_WARN, at,
                   "self_interaction is left out: a vector is not multiplied with itself");
    add(g, "dot_interaction", at);
}

static void cross_layers(cr_er_graph *g, const cr_conf_node *in, cr_loc at, double n) {
    cr_conf_node *cross = add(g, "cross_v2", at);
    double rank = param_num(in, "projection_dim", g->width);
    cr_rw_put_num(g->w, cross, "cross_num", at, n);
    if (rank > 0)
        cr_rw_put_num(g->w, cross, "low_rank", at, rank);
    else
        cr_rw_tell(g->w, CR_SEV_WARN, at,
                   "Cross without projection_dim multiplies by a full matrix; its width is not "
                   "known here and low_rank is 32");
}
static void cross_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    cross_layers(g, in, at, 1);
}

static const cr_rule cin_rules[] = {TAKE("hidden_feature_sizes", "cin_layer_size", NULL), END};
static void cin_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    cr_rw_message(g->w, cin_rules, in, add(g, "cin", at));
}

static const cr_rule senet_rules[] = {
    TAKE("reduction_ratio", NULL, NULL),
    LOST("num_squeeze_group", "1", "the weight of a vector is made from the means of all"),
    SPENT("use_skip_connection"),
    SPENT("use_output_layer_norm"),
    END,
};
static void senet_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    cr_rw_message(g->w, senet_rules, in, add(g, "senet", at));
    if (cr_rw_bool(in, "use_skip_connection", true))
        cr_rw_tell(g->w, CR_SEV_WARN, cr_rw_at(in, "use_skip_connection"),
                   "senet gives the weighted vectors alone; use_skip_connection, which EasyRec has "
                   "unless told otherwise, is left out");
    if (cr_rw_bool(in, "use_output_layer_norm", true)) add(g, "layer_norm", at);
}

static void mask_block(cr_rw *w, const cr_conf_node *in, cr_conf_node *out) {
    static const cr_rule rules[] = {
        TAKE("reduction_factor", "reduction_ratio", NULL),
        TAKE("output_size", "hidden_dim", NULL),
        TAKE("aggregation_size", "aggregation_dim", NULL),
        IDLE("input_layer_norm", NULL, "the input of a mask block is not normed"),
        LOST("projection_dim", NULL, "a mask block has one inner layer"),
        END,
    };
    cr_rw_message(w, rules, in, out);
    if (!cr_rw_has(in, "reduction_factor")) /* otherwise aggregation_dim would not count */
        cr_rw_put_num(w, out, "reduction_ratio", in ? in->at : out->at, 0);
}
static void mask_block_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    mask_block(g->w, in, add(g, "mask_block", at));
}

static const cr_rule mask_net_rules[] = {
    SPENT("mask_blocks"),
    TAKE("use_parallel", NULL, NULL),
    INTO("mlp", "top_mlp", cr_er_mlp_rules),
    IDLE("input_layer_norm", "true", "the input of the first block is normed"),
    END,
};
static void mask_net_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    cr_conf_node *net = add(g, "mask_net", at);
    const cr_conf_node *first = NULL;
    static const char *const keys[] = {"output_size", "aggregation_size", "reduction_factor"};
    cr_rw_message(g->w, mask_net_rules, in, net);
    cr_rw_put_num(g->w, net, "n_mask_blocks", at, (double)cr_rw_count(in, "mask_blocks"));
    cr_rw_iter it = {.map = in, .key = "mask_blocks"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        bool same = true;
        for (size_t k = 0; first && k < 3; k++)
            same &= strcmp(cr_rw_str(first, keys[k], ""), cr_rw_str(e->val, keys[k], "")) == 0;
        if (!same)
            cr_rw_tell(g->w, CR_SEV_WARN, e->at,
                       "mask_blocks differ: all of them are like the first now");
        if (first) continue;
        first = e->val;
        mask_block(g->w, first, cr_rw_map(g->w, net, "mask_block", e->at));
    }
}

static const cr_rule mmoe_rules[] = {
    TAKE("num_task", NULL, NULL),
    INTO("expert_mlp", NULL, cr_er_mlp_rules),
    TAKE("num_expert", NULL, NULL),
    END,
};
static void mmoe_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    cr_rw_message(g->w, mmoe_rules, in, add(g, "mmoe", at));
    cr_map_put(&g->mmoe, g->name, strlen(g->name), 1);
}

static const cr_rule din_rules[] = {
    SPENT("attention_dnn"),
    IDLE("need_target_feature", "false",
         "the target reaches the layers above through a group that has it"),
    LOST("attention_normalizer", "softmax", "scores go through a softmax"),
    END,
};
static void din_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    static const cr_rule attention_rules[] = {TAKE("use_bias", "bias", NULL), SPENT("use_final_bn"),
                                              SPENT("final_activation"), SPENT("use_final_bias"),
                                              END_THEN(cr_er_mlp_rules)};
    cr_conf_node *din = add(g, "din", at);
    cr_rw_message(g->w, din_rules, in, din);
    cr_er_attention(g->w, cr_rw_get(in, "attention_dnn"), at, din, attention_rules);
}

static void dense_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    const cr_conf_node *act = param(in, "activation");
    const char *name = cr_rw_str(act, "string_value", "");
    double units = param_num(in, "units", 0);
    bool bias = param_bool(in, "use_bias", true);
    if (!*name || strcmp(name, "linear") == 0) {
        cr_conf_node *linear = add(g, "linear", at);
        cr_rw_put_num(g->w, linear, "units", at, units);
        cr_rw_put_bool(g->w, linear, "bias", at, bias);
        return;
    }
    cr_conf_node *given = cr_conf_new(g->w->doc, CR_NODE_MAP, at);
    cr_rw_put_num(g->w, given, "hidden_units", at, units);
    cr_rw_put_str(g->w, given, "activation", act ? act->at : at, name);
    cr_rw_put_bool(g->w, given, "use_bn", at, false);
    cr_rw_put_bool(g->w, given, "use_bias", at, bias);
    cr_rw_message(g->w, cr_er_mlp_rules, given, add(g, "mlp", at));
}

static void dropout_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    cr_rw_put_num(g->w, add(g, "dropout", at), "dropout_ratio", at, param_num(in, "rate", 0.5));
}
static void add_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    (void)in;
    add(g, "add", at);
}
static void multiply_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    (void)in;
    add(g, "multiply", at);
}
static void concat_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    (void)in;
    add(g, "concat", at);
}
static void batch_norm_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    (void)in;
    add(g, "batch_norm", at);
}
static void layer_norm_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    (void)in;
    add(g, "layer_norm", at);
}

static const struct {
    const char *class_name, *params;
    void (*fn)(cr_er_graph *g, const cr_conf_node *in, cr_loc at);
} layers[] = {
    {"MLP", "mlp", mlp_layer},
    {"FM", "fm", fm_layer},
    {"DotInteraction", "st_params", dot_layer},
    {"Cross", "st_params", cross_layer},
    {"CIN", "cin", cin_layer},
    {"SENet", "senet", senet_layer},
    {"MaskBlock", "mask_block", mask_block_layer},
    {"MaskNet", "masknet", mask_net_layer},
    {"MMoE", "mmoe", mmoe_layer},
    {"DIN", "din", din_layer},
    {"Dense", "st_params", dense_layer},
    {"Dropout", "st_params", dropout_layer},
    {"Add", "st_params", add_layer},
    {"Multiply", "st_params", multiply_layer},
    {"Concatenate", "st_params", concat_layer},
    {"BatchNormalization", "st_params", batch_norm_layer},
    {"LayerNormalization", "st_params", layer_norm_layer},
};

static void keras_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    const char *name = cr_rw_str(in, "class_name", "");
    for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++)
        if (strcmp(layers[i].class_name, name) == 0) {
            const cr_conf_node *params = cr_rw_get(in, layers[i].params);
            layers[i].fn(g, params ? params : cr_rw_get(in, "st_params"), at);
            return;
        }
    char what[96] = "the layer ";
    strncat(what, name, sizeof(what) - 16);
    cr_er_cut(g, cr_rw_at(in, "class_name"), what, "the layers are in docs/guide/own_models.md");
}

static void recurrent(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    const cr_conf_node *layer = cr_rw_get(in, "keras_layer");
    double n = cr_rw_num(in, "num_steps", 1);
    if (strcmp(cr_rw_str(layer, "class_name", ""), "Cross") == 0) {
        cross_layers(g, cr_rw_get(layer, "st_params"), at, n);
        return;
    }
    if (cr_rw_has(in, "fixed_input_index")) {
        cr_er_cut(g, at, "recurrent with fixed_input_index", "write a block for each step");
        return;
    }
    for (double i = 0; i < n && i < CR_ER_CHAIN; i++)
        keras_layer(g, layer, at);
}

static const cr_rule input_rules[] = {
    SPENT("do_batch_norm"),
    SPENT("do_layer_norm"),
    SPENT("dropout_rate"),
    LOST("feature_dropout_rate", "0", "numbers are dropped one by one; see variational_dropout"),
    SPENT("only_output_feature_list"),
    SPENT("only_output_3d_tensor"),
    SPENT("output_2d_tensor_and_feature_list"),
    SPENT("output_seq_and_normal_feature"),
    SPENT("wide_output_dim"),
    SPENT("concat_seq_feature"),
    END,
};

void cr_er_input_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at) {
    double rate = cr_rw_num(in, "dropout_rate", 0);
    cr_rw_message(g->w, input_rules, in, NULL);
    if (cr_rw_num(in, "wide_output_dim", 0) > 0 && !cr_rw_has(g->out, "wide_embedding_dim"))
        cr_rw_put_num(g->w, g->out, "wide_embedding_dim", at, cr_rw_num(in, "wide_output_dim", 1));
    if (cr_rw_bool(in, "do_batch_norm", false)) add(g, "batch_norm", at);
    if (cr_rw_bool(in, "do_layer_norm", false)) add(g, "layer_norm", at);
    if (rate > 0) cr_rw_put_num(g->w, add(g, "dropout", at), "dropout_ratio", at, rate);
}

void cr_er_any_layer(cr_er_graph *g, const cr_conf_node *in) {
    const cr_conf_node *x;
    if ((x = cr_rw_get(in, "input_layer"))) cr_er_input_layer(g, x, cr_rw_at(in, "input_layer"));
    if ((x = cr_rw_get(in, "keras_layer"))) keras_layer(g, x, cr_rw_at(in, "keras_layer"));
    if ((x = cr_rw_get(in, "recurrent"))) recurrent(g, x, cr_rw_at(in, "recurrent"));
    if ((x = cr_rw_get(in, "lambda"))) {
        const char *text = cr_rw_str(x, "expression", "");
        if (!cr_er_lambda_layer(g, text, cr_rw_at(in, "lambda")))
            cr_er_cut(g, cr_rw_at(in, "lambda"), "this lambda",
                      "write a block for each step of it");
    }
    static const char *const no[] = {"repeat", "raw_input", "embedding_layer"};
    for (size_t i = 0; i < 3; i++)
        if (cr_rw_has(in, no[i]))
            cr_er_cut(g, cr_rw_at(in, no[i]), no[i], "write the blocks it stands for");
}
