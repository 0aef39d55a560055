/*
 * paddle_rank.c - the ranking models of PaddleRec as feature groups and blocks.
 *
 * Each function writes feature_configs and model_config of one model, in the form of its paper.
 * Tables start as in PaddleRec; other weights start as everywhere in crank. What PaddleRec's code
 * does differently is in docs/guide/paddlerec.md.
 *
 * `numbers` are the dense slots with a vector per number, the form of the factorization machines of
 * the new kind; in the old kind numbers are values of weighted ids.
 */
#include <math.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "dialect/paddle_int.h"

#define MAX_ROWS  CR_PD_MAX_ROWS
#define MAX_FILE  ((size_t)1 << 20) /* of cat_feat_num */
#define ONE_SCORE CR_PD_ONE_SCORE
typedef cr_pd_sizes sizes;
typedef cr_pd_fields fields;

/* The init of PaddleRec's factorization machines: a normal one of deviation 0.1 / sqrt(dim), cut at
 * two of them. */
const char *cr_pd_cut_normal(cr_pd *p, double std) {
    return cr_arena_printf(&p->doc->arena, "nn.init.trunc_normal_,mean=0,std=%.9g,a=%.9g,b=%.9g",
                           std, -2 * std, 2 * std);
}

sizes cr_pd_table(cr_pd *p, bool uniform) {
    sizes s;
    s.rows = cr_pd_int(p, p->hyper, "sparse_feature_number", CR_PD_REQUIRED, 1, MAX_ROWS);
    s.dim = cr_pd_int(p, p->hyper, "sparse_feature_dim", CR_PD_REQUIRED, 1, 65536);
    if (p->weighted) s.rows++; /* the tables of feat_idx have one row more */
    s.init = uniform ? "nn.init.uniform_,a=-1,b=1" : cr_pd_cut_normal(p, 0.1 / sqrt((double)s.dim));
    return s;
}

/* The number of dense inputs must be what the model says, if it says so. */
void cr_pd_check_dense(cr_pd *p) {
    int64_t sum = 0;
    for (int i = 0; i < p->n_dense; i++)
        sum += p->dense[i].width;
    int64_t said = cr_pd_int(p, p->hyper, "dense_input_dim", sum, 0, 1000000);
    if (said != sum && !p->width_unknown)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "dense_input_dim"),
                    "dense_input_dim is %lld, and the dense slots have %lld numbers; make them "
                    "equal",
                    (long long)said, (long long)sum);
}

/* L1 decay of first-order weights: no rule of crank has it. */
void cr_pd_tell_reg(cr_pd *p) {
    double reg = cr_pd_num(p, p->hyper, "reg", 0, 0, 1e6);
    if (reg > 0)
        cr_pd_warn(
            p, cr_pd_at(p, p->hyper, "reg"),
            "reg is the weight of an L1 penalty on the first-order weights, which crank does "
            "not have; results differ a little, set it to 0 to see no warning");
}

const char *cr_pd_activation(cr_pd *p, const char *absent) {
    const char *act = cr_pd_str(p, p->hyper, "act", false);
    if (!act) act = absent;
    if (strcmp(act, "relu") == 0) return "nn.ReLU";
    if (strcmp(act, "sigmoid") == 0) return "nn.Sigmoid";
    if (strcmp(act, "tanh") == 0) return "nn.Tanh";
    cr_pd_wrong(p, cr_pd_at(p, p->hyper, "act"), "act is '%.40s'; use relu, sigmoid or tanh", act);
    return "nn.ReLU";
}

void cr_pd_dnn(cr_pd *p) {
    sizes s = cr_pd_table(p, true);
    int64_t n;
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &n);
    cr_pd_check_dense(p);
    cr_pd_id_features(p, s.rows, s.dim, s.init, false);
    cr_pd_dense_features(p);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}], "
              "num_class: 2, backbone: {blocks: [{name: deep, inputs: [{feature_group_name: all}], "
              "mlp: {hidden_units: %s}}]}, losses: [{softmax_cross_entropy: {}}], "
              "metrics: [{auc: {}}], train_metrics: [{auc: {}, since_epoch: true}]}",
              cr_pd_all_names(p), fc);
}

void cr_pd_logistic_regression(cr_pd *p) {
    int64_t rows = cr_pd_int(p, p->hyper, "sparse_feature_number", CR_PD_REQUIRED, 1, MAX_ROWS);
    cr_pd_tell_reg(p);
    cr_pd_id_features(p, rows + 1, 1, cr_pd_cut_normal(p, 0.1), true);
    cr_pd_dense_features(p);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: wide, group_type: WIDE, feature_names: "
              "[%s]}], logistic_regression: {wide_init_fn: \"%s\"}, " ONE_SCORE "}",
              cr_pd_all_names(p), cr_pd_cut_normal(p, 0.1));
}

/* fm and ffm have models of their own. */
static void machine(cr_pd *p, const char *key) {
    sizes s = cr_pd_table(p, false);
    cr_pd_tell_reg(p);
    cr_pd_check_dense(p);
    cr_pd_idle(p, p->hyper, "num_field");
    cr_pd_id_features(p, s.rows, s.dim, s.init, true);
    const char *names = cr_pd_number_features(p, 0);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: wide, group_type: WIDE, feature_names: "
        "[%s%s]}], %s: {embedding_dim: %lld, init_fn: \"%s\", wide_init_fn: \"%s\"}, " ONE_SCORE
        "}",
        cr_pd_id_names(p), names, key, (long long)s.dim, s.init, s.init);
}

void cr_pd_fm(cr_pd *p) {
    machine(p, "fm");
}

void cr_pd_ffm(cr_pd *p) {
    machine(p, "ffm");
}

fields cr_pd_first_and_fields(cr_pd *p, const sizes *s) {
    cr_arena *a = &p->doc->arena;
    cr_pd_id_features(p, s->rows, s->dim, s->init, true);
    const char *names = cr_pd_number_features(p, s->dim);
    bool dense = p->n_dense > 0;
    if (dense) cr_pd_dense_features(p);
    fields f;
    f.groups = cr_arena_printf(
        a,
        "{group_name: wide, group_type: WIDE, feature_names: [%s]}, {group_name: all, "
        "feature_names: [%s%s]}%s%s%s",
        cr_pd_id_names(p), cr_pd_id_names(p), names,
        dense ? ", {group_name: dense, feature_names: [" : "", dense ? cr_pd_dense_names(p) : "",
        dense ? "]}" : "");
    f.first = cr_arena_printf(
        a, "{name: wide, inputs: [{feature_group_name: wide}], sum: {}}, %s",
        dense ? "{name: numbers, inputs: [{feature_group_name: dense}], linear: {units: 1}}, "
              : "");
    f.adds = cr_arena_printf(a, "{block_name: wide}, %s", dense ? "{block_name: numbers}, " : "");
    return f;
}

void cr_pd_deepfm(cr_pd *p) {
    sizes s = cr_pd_table(p, false);
    int64_t n;
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &n), *act = cr_pd_activation(p, "relu");
    cr_pd_check_dense(p);
    cr_pd_tell_reg(p);
    cr_pd_idle(p, p->hyper, "num_field");
    fields f = cr_pd_first_and_fields(p, &s);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [%s], backbone: {wide_embedding_dim: 1, "
        "wide_init_fn: \"%s\", blocks: [%s{name: pairs, inputs: [{feature_group_name: all}], "
        "fm: {}}, {name: second, inputs: [{block_name: pairs}], sum: {}}, {name: deep, inputs: "
        "[{feature_group_name: all}], mlp: {hidden_units: %s, activation: %s}}, {name: third, "
        "inputs: [{block_name: deep}], linear: {units: 1}}, {name: score, inputs: [%s"
        "{block_name: second}, {block_name: third}], add: {}}]}, " ONE_SCORE "}",
        f.groups, s.init, f.first, fc, act, f.adds);
}

void cr_pd_wide_deep(cr_pd *p) {
    int64_t n;
    if (p->old && p->n_ids == 0) { /* the Adult data: two dense slots, wide and deep */
        int64_t h[3];
        for (int i = 0; i < 3; i++) {
            char key[16];
            snprintf(key, sizeof key, "hidden%d_units", i + 1);
            h[i] = cr_pd_int(p, p->hyper, key, CR_PD_REQUIRED, 1, 1048576);
        }
        if (p->n_dense != 2) {
            cr_pd_wrong(p, cr_pd_at(p, p->dataset, "dense_slots"),
                        "wide_deep reads two dense slots, wide_input and deep_input");
            return;
        }
        cr_pd_dense_features(p);
        cr_pd_put(p, p->model_at,
                  "model_config: {feature_groups: [{group_name: wide, feature_names: [%s]}, "
                  "{group_name: deep, feature_names: [%s]}], backbone: {blocks: [{name: wide, "
                  "inputs: [{feature_group_name: wide}], linear: {units: 1}}, {name: deep, inputs: "
                  "[{feature_group_name: deep}], mlp: {hidden_units: [%lld, %lld, %lld]}}, {name: "
                  "score_deep, inputs: [{block_name: deep}], linear: {units: 1}}, {name: score, "
                  "inputs: [{block_name: wide}, {block_name: score_deep}], add: {}}]}, " ONE_SCORE
                  "}",
                  cr_pd_names(p, &p->dense[0].name, 1), cr_pd_names(p, &p->dense[1].name, 1),
                  (long long)h[0], (long long)h[1], (long long)h[2]);
        return;
    }
    sizes s = cr_pd_table(p, true);
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &n);
    cr_pd_check_dense(p);
    cr_pd_id_features(p, s.rows, s.dim, s.init, false);
    cr_pd_dense_features(p);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: dense, feature_names: [%s]}, "
        "{group_name: all, feature_names: [%s]}], backbone: {blocks: [{name: wide, inputs: "
        "[{feature_group_name: dense}], linear: {units: 1}}, {name: deep, inputs: "
        "[{feature_group_name: all}], mlp: {hidden_units: %s}}, {name: score_deep, inputs: "
        "[{block_name: deep}], linear: {units: 1}}, {name: score, inputs: [{block_name: wide}, "
        "{block_name: score_deep}], add: {}}]}, " ONE_SCORE "}",
        cr_pd_dense_names(p), cr_pd_all_names(p), fc);
}

/* Finds the size of a field's table in the text of cat_feat_num, lines of a name and a number; 0:
 * the field is not in it. */
static int64_t rows_of(const char *text, const char *field) {
    size_t n = strlen(field);
    for (const char *s = text; s && *s; s = strchr(s, '\n'), s = s ? s + 1 : NULL)
        if (strncmp(s, field, n) == 0 && (s[n] == ' ' || s[n] == '\t')) return atoll(s + n + 1);
    return 0;
}

/* The dcn of 1.8.5 has a table per field, whose sizes are in a file: a vocabulary of V values has
 * vectors of 6 floor(V^(1/4)). */
static void old_dcn(cr_pd *p, int64_t layers) {
    int64_t n;
    cr_err err;
    cr_buf text;
    const char *fc = cr_pd_widths(p, p->hyper, "dnn_hidden_units", &n);
    const char *path = cr_pd_str(p, p->hyper, "cat_feat_num", true);
    cr_loc at = cr_pd_at(p, p->hyper, "cat_feat_num");
    bool bn = cr_pd_bool(p, p->hyper, "dnn_use_bn", false);
    if (!*path) return;
    cr_buf_init(&text);
    if (cr_file_read(path, MAX_FILE, &text, &err) != CR_OK) {
        cr_pd_wrong(p, at, "cat_feat_num: '%s': %s", path, err.msg);
        cr_buf_clear(&text);
        return;
    }
    for (int i = 0; i < p->n_ids; i++) {
        int64_t rows = text.n ? rows_of(text.data, p->ids[i]) : 0;
        if (rows < 1)
            cr_pd_wrong(p, at, "the file '%s' has no line with '%s' and a number of values", path,
                        p->ids[i]);
        int64_t dim = 6 * (int64_t)floor(pow(rows > 0 ? (double)rows : 1, 0.25));
        cr_pd_feature(p, p->data_at,
                      "id_feature: {feature_name: %s, num_buckets: %lld, embedding_dim: %lld, "
                      "init_fn: nn.init.xavier_uniform_, fg_encoded_default_value: \"%s\"}",
                      cr_pd_names(p, &p->ids[i], 1), (long long)rows + 1, (long long)dim,
                      p->padding);
    }
    cr_buf_clear(&text);
    cr_pd_dense_features(p);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}], "
              "backbone: {blocks: [{name: cross, inputs: [{feature_group_name: all}], cross: "
              "{cross_num: %lld}}, {name: deep, inputs: [{feature_group_name: all}], mlp: "
              "{hidden_units: %s, use_bn: %s}}], concat_blocks: [deep, cross]}, " ONE_SCORE "}",
              cr_pd_both(p, cr_pd_dense_names(p), cr_pd_id_names(p)), (long long)layers, fc,
              bn ? "true" : "false");
}

/* The cross layers as shipped: one weight and one bias for all of them, and a penalty of the
 * squares of x_l * w, summed over the batch, without a factor. Returns the last block. */
static const char *shipped_cross(cr_pd *p, cr_buf *b, int64_t layers) {
    const char *x = "{feature_group_name: all}";
    for (long long l = 0; l < (long long)layers; l++) {
        cr_buf_printf(b, "{name: times%lld, inputs: [%s], ", l, x);
        cr_buf_str(b, l ? "weights_of: times0}, " : "scale: {random: true}}, ");
        cr_buf_printf(b,
                      "{name: costs%lld, inputs: [{block_name: times%lld}], penalty: {factor: "
                      "%lld}}, {name: dot%lld, inputs: [{block_name: costs%lld}], sum: {}}, {name: "
                      "cross%lld, inputs: [{feature_group_name: all}, {block_name: dot%lld}], "
                      "multiply: {}}, {name: plus%lld, inputs: [{block_name: cross%lld}, %s], add: "
                      "{}}, {name: x%lld, inputs: [{block_name: plus%lld}], ",
                      l, l, (long long)p->batch, l, l, l, l, l, l, x, l, l);
        cr_buf_str(b, l ? "weights_of: x0}, " : "scale: {weight: false, bias: true}}, ");
        x = cr_arena_printf(&p->doc->arena, "{block_name: x%lld}", l);
    }
    return cr_arena_printf(&p->doc->arena, "x%lld", (long long)layers - 1);
}

void cr_pd_dcn(cr_pd *p) {
    int64_t n, layers = cr_pd_int(p, p->hyper, "cross_num", CR_PD_REQUIRED, 1, 1024);
    if (p->old) {
        old_dcn(p, layers);
        return;
    }
    sizes s = cr_pd_table(p, false);
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &n);
    cr_pd_check_dense(p);
    cr_pd_id_features(p, s.rows, s.dim, s.init, true);
    cr_pd_dense_features(p);
    const char *last = "cross";
    cr_buf b;
    cr_buf_init(&b);
    if (p->o->compat)
        last = shipped_cross(p, &b, layers);
    else
        cr_buf_printf(&b,
                      "{name: cross, inputs: [{feature_group_name: all}], cross: {cross_num: "
                      "%lld}}, ",
                      (long long)layers);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}], "
              "backbone: {blocks: [%s{name: deep, inputs: [{feature_group_name: all}], mlp: "
              "{hidden_units: %s}}], concat_blocks: [deep, %s]}, " ONE_SCORE "}",
              cr_pd_all_names(p), b.data, fc, last);
    cr_buf_clear(&b);
}

/* One layer of a mixture of low-rank crosses: each expert is x0 * (U tanh(C tanh(V x)) + b), and a
 * softmax over one score per expert mixes them. */
static void mixture(cr_buf *b, int64_t layer, int64_t experts, int64_t rank, int64_t width,
                    const char *x) {
    long long l = (long long)layer;
    for (long long i = 0; i < (long long)experts; i++) {
        cr_buf_printf(
            b,
            "{name: v%lld_%lld, inputs: [%s], linear: {units: %lld, bias: false}}, "
            "{name: w%lld_%lld, inputs: [{block_name: v%lld_%lld}], activation: "
            "{function: nn.Tanh}}, {name: c%lld_%lld, inputs: [{block_name: w%lld_%lld}], "
            "linear: {units: %lld, bias: false}}, ",
            l, i, x, (long long)rank, l, i, l, i, l, i, l, i, (long long)rank);
        cr_buf_printf(
            b,
            "{name: d%lld_%lld, inputs: [{block_name: c%lld_%lld}], activation: {function: "
            "nn.Tanh}}, {name: u%lld_%lld, inputs: [{block_name: d%lld_%lld}], linear: "
            "{units: %lld}}, {name: e%lld_%lld, inputs: [{block_name: u%lld_%lld}, "
            "{block_name: x0}], multiply: {}}, ",
            l, i, l, i, l, i, l, i, (long long)width, l, i, l, i);
        cr_buf_printf(
            b,
            "{name: p%lld_%lld, inputs: [{block_name: g%lld}], slice: {begin: %lld, width: "
            "1}}, {name: m%lld_%lld, inputs: [{block_name: e%lld_%lld}, {block_name: "
            "p%lld_%lld}], multiply: {}}, ",
            l, i, l, i, l, i, l, i, l, i);
    }
    cr_buf_printf(b,
                  "{name: h%lld, inputs: [%s], linear: {units: %lld}}, {name: g%lld, inputs: "
                  "[{block_name: h%lld}], softmax: {}}, {name: x%lld, inputs: [%s",
                  l, x, (long long)experts, l, l, l + 1, x);
    for (long long i = 0; i < (long long)experts; i++)
        cr_buf_printf(b, ", {block_name: m%lld_%lld}", l, i);
    cr_buf_str(b, "], add: {}}, ");
}

void cr_pd_dcn_v2(cr_pd *p) {
    sizes s = cr_pd_table(p, false);
    int64_t n, layers = cr_pd_int(p, p->hyper, "cross_num", CR_PD_REQUIRED, 1, 64);
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &n);
    bool stacked = cr_pd_bool(p, p->hyper, "is_Stacked", true);
    bool mixed = cr_pd_bool(p, p->hyper, "use_low_rank_mixture", true);
    int64_t rank = cr_pd_int(p, p->hyper, "low_rank", 256, 1, 1048576);
    int64_t experts = cr_pd_int(p, p->hyper, "num_experts", 4, 1, 64);
    double drop = cr_pd_num(p, p->hyper, "dropout_rate", 0.5, 0, 0.999);
    int64_t dense = 0;
    cr_pd_check_dense(p);
    for (int i = 0; i < p->n_dense; i++)
        dense += p->dense[i].width;
    int64_t width = (p->n_ids + dense) * s.dim;
    cr_pd_id_features(p, s.rows, s.dim, s.init, true);
    cr_pd_dense_features(p);
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(&b,
                  "{name: numbers, inputs: [{feature_group_name: dense}], linear: {units: %lld}}, "
                  "{name: x0, inputs: [{feature_group_name: ids}, {block_name: numbers}], concat: "
                  "{}}, ",
                  (long long)(dense * s.dim));
    for (int64_t l = 0; l < layers; l++) {
        char x[48];
        snprintf(x, sizeof x, "{block_name: x%lld}", (long long)l);
        if (mixed)
            mixture(&b, l, experts, rank, width, x);
        else
            cr_buf_printf(
                &b,
                "{name: u%lld, inputs: [%s], linear: {units: %lld}}, {name: e%lld, inputs: "
                "[{block_name: u%lld}, {block_name: x0}], multiply: {}}, {name: x%lld, "
                "inputs: [%s, {block_name: e%lld}], add: {}}, ",
                (long long)l, x, (long long)width, (long long)l, (long long)l, (long long)l + 1, x,
                (long long)l);
    }
    char last[16];
    snprintf(last, sizeof last, "x%lld", (long long)layers);
    cr_buf_printf(&b,
                  "{name: deep, inputs: [{block_name: %s}], mlp: {hidden_units: %s, dropout_ratio: "
                  "[%g]}}",
                  stacked ? last : "x0", fc, drop);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: ids, feature_names: [%s]}, {group_name: "
        "dense, feature_names: [%s]}], backbone: {blocks: [%s], concat_blocks: "
        "[deep%s%s]}, " ONE_SCORE "}",
        cr_pd_id_names(p), cr_pd_dense_names(p), b.data, stacked ? "" : ", ", stacked ? "" : last);
    cr_pd_put(p, p->model_at,
              "train_config: {grad_clipping: {clipping_type: norm, max_gradient: 10}}");
    cr_buf_clear(&b);
}

void cr_pd_xdeepfm(cr_pd *p) {
    sizes s = cr_pd_table(p, false);
    int64_t n;
    const char *cin = cr_pd_widths(p, p->hyper, "layer_sizes_cin", &n);
    const char *fc = cr_pd_widths(p, p->hyper, "layer_sizes_dnn", &n);
    cr_pd_check_dense(p);
    fields f = cr_pd_first_and_fields(p, &s);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [%s], backbone: {wide_embedding_dim: 1, "
              "wide_init_fn: \"%s\", blocks: [%s{name: cin, inputs: [{feature_group_name: all}], "
              "cin: {cin_layer_size: %s}}, {name: score_cin, inputs: [{block_name: cin}], linear: "
              "{units: 1}}, {name: deep, inputs: [{feature_group_name: all}], mlp: {hidden_units: "
              "%s}}, {name: score_deep, inputs: [{block_name: deep}], linear: {units: 1}}, {name: "
              "score, inputs: [%s{block_name: score_cin}, {block_name: score_deep}], add: "
              "{}}]}, " ONE_SCORE "}",
              f.groups, s.init, f.first, cin, fc, f.adds);
}

/* The AutoInt of 1.8.5 has no linear part, and its vectors are as wide as the attention. */
static void old_autoint(cr_pd *p) {
    sizes s = cr_pd_table(p, false);
    int64_t layers = cr_pd_int(p, p->hyper, "n_interacting_layers", 1, 1, 64);
    int64_t heads = cr_pd_int(p, p->hyper, "n_head", CR_PD_REQUIRED, 1, 1024);
    int64_t dim = cr_pd_int(p, p->hyper, "d_key", CR_PD_REQUIRED, 1, 65536);
    int64_t value = cr_pd_int(p, p->hyper, "d_value", dim, 1, 65536);
    double drop = cr_pd_num(p, p->hyper, "dropout_rate", 0, 0, 0.999);
    cr_pd_idle(p, p->hyper, "d_model");
    cr_pd_tell_reg(p);
    if (value != dim)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "d_value"), "d_value must be d_key, %lld",
                    (long long)dim);
    if (drop > 0)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "dropout_rate"),
                    "dropout inside the attention between fields is not in this version of crank; "
                    "set dropout_rate to 0");
    cr_pd_id_features(p, s.rows, s.dim, s.init, true);
    cr_buf b;
    cr_buf_init(&b);
    for (long long i = 0; i < (long long)layers; i++) {
        char in[48];
        snprintf(in, sizeof in, "block_name: attention%lld", i - 1);
        cr_buf_printf(&b,
                      "{name: attention%lld, inputs: [{%s}], autoint_layer: {num_heads: %lld, "
                      "head_dim: %lld}}%s",
                      i, i ? in : "feature_group_name: all", (long long)heads, (long long)dim,
                      i + 1 < (long long)layers ? ", " : "");
    }
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}], backbone: "
              "{blocks: [%s]}, " ONE_SCORE "}",
              cr_pd_id_names(p), b.data);
    cr_buf_clear(&b);
}

void cr_pd_autoint(cr_pd *p) {
    sizes s;
    int64_t n, heads;
    cr_buf b;
    const char *last = "{feature_group_name: all}";
    char name[64];
    if (p->old) {
        old_autoint(p);
        return;
    }
    s.rows = cr_pd_int(p, p->hyper, "feature_number", CR_PD_REQUIRED, 1, MAX_ROWS) + 1;
    s.dim = cr_pd_int(p, p->hyper, "embedding_dim", CR_PD_REQUIRED, 1, 65536);
    s.init = cr_pd_cut_normal(p, 0.1 / sqrt((double)s.dim));
    heads = cr_pd_int(p, p->hyper, "head_num", CR_PD_REQUIRED, 1, 1024);
    const char *sizes_text = cr_pd_widths(p, p->hyper, "attn_layer_sizes", &n);
    const cr_conf_node *layers = cr_pd_get(p, p->hyper, "attn_layer_sizes");
    const cr_conf_node *fc = cr_pd_get(p, p->hyper, "fc_sizes");
    bool residual = cr_pd_bool(p, p->hyper, "use_residual", true);
    bool scaling = cr_pd_bool(p, p->hyper, "scaling", true);
    bool wide = cr_pd_bool(p, p->hyper, "use_wide", true);
    (void)sizes_text;
    fields f = cr_pd_first_and_fields(p, &s);
    cr_buf_init(&b);
    for (int64_t i = 0; i < n; i++) {
        int64_t size = atoll(layers->v[i].val->text);
        if (size % heads)
            cr_pd_wrong(p, layers->v[i].val->at,
                        "attn_layer_sizes: %lld is not a multiple of head_num, %lld",
                        (long long)size, (long long)heads);
        cr_buf_printf(
            &b,
            "{name: attention%lld, inputs: [%s], autoint_layer: {num_heads: %lld, head_dim: "
            "%lld, use_residual: %s, use_scale: %s}}, ",
            (long long)i, last, (long long)heads, (long long)(size / heads > 0 ? size / heads : 1),
            residual ? "true" : "false", scaling ? "true" : "false");
        snprintf(name, sizeof name, "{block_name: attention%lld}", (long long)i);
        last = cr_arena_strdup(&p->doc->arena, name);
    }
    cr_buf_printf(&b, "{name: second, inputs: [%s], linear: {units: 1}}, ", last);
    bool deep = fc && fc->kind == CR_NODE_LIST && fc->n > 0;
    if (deep)
        cr_buf_printf(&b,
                      "{name: deep, inputs: [{feature_group_name: all}], mlp: {hidden_units: %s}}, "
                      "{name: third, inputs: [{block_name: deep}], linear: {units: 1}}, ",
                      cr_pd_widths(p, p->hyper, "fc_sizes", &n));
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [%s], backbone: {wide_embedding_dim: 1, wide_init_fn: "
        "\"%s\", blocks: [%s%s{name: score, inputs: [%s{block_name: second}%s], add: "
        "{}}]}, " ONE_SCORE "}",
        wide ? f.groups
             : cr_arena_printf(&p->doc->arena, "{group_name: all, feature_names: [%s]}",
                               cr_pd_id_names(p)),
        s.init, wide ? f.first : "", b.data, wide ? f.adds : "",
        deep ? ", {block_name: third}" : "");
    cr_buf_clear(&b);
}

const char *cr_pd_shipped_layers(cr_pd *p, cr_buf *b, const char *name, const char *inputs,
                                 const cr_conf_node *sizes_) {
    for (size_t i = 0; sizes_ && sizes_->kind == CR_NODE_LIST && i < sizes_->n; i++) {
        if (sizes_->v[i].val->kind != CR_NODE_SCALAR) continue; /* it was told */
        cr_buf_printf(b,
                      "{name: %s%d, inputs: [%s], mlp: {hidden_units: [%s]}}, {name: %s_norm%d, "
                      "inputs: [{block_name: %s%d}], batch_norm: {}}, ",
                      name, (int)i, inputs, sizes_->v[i].val->text, name, (int)i, name, (int)i);
        inputs = cr_arena_printf(&p->doc->arena, "{block_name: %s_norm%d}", name, (int)i);
    }
    return inputs;
}

/* The lines of dlrm alone show the accuracy, too. */
#define TWO_SCORES_AND_ACCURACY                                                                    \
    "losses: [{softmax_cross_entropy: {}}], metrics: [{auc: {}}, {accuracy: {}}], "                \
    "train_metrics: [{auc: {}, since_epoch: true}, {accuracy: {}, since_epoch: true}]"

/* dlrm as shipped: batch norm behind every layer, also behind the scores, and a ReLU before it. */
static void shipped_dlrm(cr_pd *p) {
    const cr_conf_node *bot = cr_pd_get(p, p->hyper, "bot_layer_sizes");
    const cr_conf_node *top = cr_pd_get(p, p->hyper, "top_layer_sizes");
    cr_buf b;
    cr_buf_init(&b);
    const char *d = cr_pd_shipped_layers(p, &b, "bottom", "{feature_group_name: dense}", bot);
    cr_buf_printf(&b,
                  "{name: dots, inputs: [%s, {feature_group_name: sparse}], dot_interaction: {}}, ",
                  d);
    (void)cr_pd_shipped_layers(p, &b, "top",
                               cr_arena_printf(&p->doc->arena, "%s, {block_name: dots}", d), top);
    b.data[b.n - 2] = 0; /* the last comma */
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: dense, feature_names: [%s]}, "
              "{group_name: sparse, feature_names: [%s]}], num_class: 2, backbone: {blocks: "
              "[%s]}, " TWO_SCORES_AND_ACCURACY "}",
              cr_pd_dense_names(p), cr_pd_id_names(p), b.data);
    cr_buf_clear(&b);
}

void cr_pd_dlrm(cr_pd *p) {
    sizes s = cr_pd_table(p, false);
    int64_t n_bot, n_top;
    const char *bot = cr_pd_widths(p, p->hyper, "bot_layer_sizes", &n_bot);
    const char *top = cr_pd_widths(p, p->hyper, "top_layer_sizes", &n_top);
    const cr_conf_node *list = cr_pd_get(p, p->hyper, "top_layer_sizes");
    cr_pd_check_dense(p);
    if (n_top < 2 || atoll(list->v[n_top - 1].val->text) != 2) {
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "top_layer_sizes"),
                    "top_layer_sizes ends in 2, the scores of the two classes, and has a layer "
                    "before it");
        return;
    }
    (void)top;
    cr_buf b;
    cr_buf_init(&b);
    for (int64_t i = 0; i + 1 < n_top; i++)
        cr_buf_printf(&b, "%s%s", i ? ", " : "", list->v[i].val->text);
    cr_pd_id_features(p, s.rows, s.dim, cr_pd_cut_normal(p, 1.0), false);
    cr_pd_dense_features(p);
    if (p->o->compat) {
        shipped_dlrm(p);
        cr_buf_clear(&b);
        return;
    }
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: dense, feature_names: [%s]}, "
              "{group_name: sparse, feature_names: [%s]}], num_class: 2, dlrm: {dense_mlp: "
              "{hidden_units: %s}, arch_with_sparse: false, final: {hidden_units: "
              "[%s]}}, " TWO_SCORES_AND_ACCURACY "}",
              cr_pd_dense_names(p), cr_pd_id_names(p), bot, b.data);
    cr_buf_clear(&b);
}

/* ---- models of 1.8.5 over weighted ids ---- */

static void flat_input(cr_pd *p, const char *blocks, sizes *s) {
    cr_pd_tell_reg(p);
    cr_pd_idle(p, p->hyper, "num_field");
    fields f = cr_pd_first_and_fields(p, s);
    (void)f;
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: wide, group_type: WIDE, feature_names: "
              "[%s]}, {group_name: all, feature_names: [%s]}], backbone: {wide_embedding_dim: 1, "
              "wide_init_fn: \"%s\", blocks: [%s]}, " ONE_SCORE "}",
              cr_pd_id_names(p), cr_pd_id_names(p), s->init, blocks);
}

void cr_pd_fnn(cr_pd *p) {
    sizes s = cr_pd_table(p, false);
    int64_t n;
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &n);
    flat_input(p,
               cr_arena_printf(&p->doc->arena,
                               "{name: deep, inputs: [{feature_group_name: all}, "
                               "{feature_group_name: wide}], mlp: {hidden_units: %s}}",
                               fc),
               &s);
}

void cr_pd_deep_crossing(cr_pd *p) {
    sizes s = cr_pd_table(p, false);
    int64_t units = cr_pd_int(p, p->hyper, "residual_unit_num", 4, 1, 64);
    int64_t width = cr_pd_int(p, p->hyper, "residual_w_dim", 128, 1, 1048576);
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "{name: x0, inputs: [{feature_group_name: all}, {feature_group_name: wide}], "
                   "concat: {}}");
    for (long long i = 0; i < (long long)units; i++)
        cr_buf_printf(
            &b,
            ", {name: a%lld, inputs: [{block_name: x%lld}], mlp: {hidden_units: [%lld]}}, "
            "{name: b%lld, inputs: [{block_name: a%lld}], linear: {units: %lld}}, {name: "
            "c%lld, inputs: [{block_name: b%lld}, {block_name: x%lld}], add: {}}, {name: "
            "x%lld, inputs: [{block_name: c%lld}], activation: {}}",
            i, i, (long long)width, i, i, (long long)(p->n_ids * (s.dim + 1)), i, i, i, i + 1, i);
    flat_input(p, b.data, &s);
    cr_buf_clear(&b);
}

void cr_pd_nfm(cr_pd *p) {
    sizes s = cr_pd_table(p, false);
    int64_t n;
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &n), *act = cr_pd_activation(p, "relu");
    bool bn = cr_pd_bool(p, p->hyper, "use_batchnorm", false);
    double drop = cr_pd_num(p, p->hyper, "dropout_prob", 0, 0, 0.999);
    if (!cr_pd_bool(p, p->hyper, "use_dropout", false)) drop = 0;
    const char *loss = cr_pd_str(p, p->hyper, "loss_type", false);
    if (loss && strcmp(loss, "log_loss") != 0)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "loss_type"),
                    "loss_type is '%.40s'; this version of crank has log_loss only", loss);
    cr_arena *a = &p->doc->arena;
    const char *norm = bn ? "{name: normed, inputs: [{block_name: pairs}], batch_norm: {}}, " : "";
    const char *dropped =
        drop > 0 ? cr_arena_printf(a,
                                   "{name: dropped, inputs: [{block_name: %s}], dropout: "
                                   "{dropout_ratio: %g}}, ",
                                   bn ? "normed" : "pairs", drop)
                 : "";
    flat_input(
        p,
        cr_arena_printf(a,
                        "{name: first, inputs: [{feature_group_name: wide}], sum: {}}, {name: "
                        "pairs, inputs: [{feature_group_name: all}], fm: {}}, %s%s{name: deep, "
                        "inputs: [{block_name: %s}], mlp: {hidden_units: %s, activation: "
                        "%s}}, {name: second, inputs: [{block_name: deep}], linear: {units: "
                        "1}}, {name: score, inputs: [{block_name: first}, {block_name: "
                        "second}], add: {}}",
                        norm, dropped,
                        drop > 0 ? "dropped"
                        : bn     ? "normed"
                                 : "pairs",
                        fc, act),
        &s);
}
