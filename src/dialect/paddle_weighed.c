/*
 * paddle_weighed.c - PaddleRec's models that weigh the vectors of their fields, or the pairs of
 * them: gatenet (Huang et al., 2020), difm (Lu et al., 2020), deepfefm (Pande, 2020), fat_deepffm
 * (Zhang et al., 2019).
 *
 * gatenet's gate of a field is sigmoid(w . v) here and sigmoid(w sum(v)) as shipped, with one
 * number w. difm's weights are the sum of the two networks here; as shipped they go through a
 * softmax, and a ReLU and batch norm stand behind every layer. --compat paddlerec takes these
 * forms. deepfefm as shipped looks numbers up as rows of a table, each of them a hundred thousandth
 * wide; here a number has a vector that it multiplies, as in the other models.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/npy.h"
#include "dialect/paddle_int.h"

#define IN_ALL "inputs: [{feature_group_name: all}]"

/* ---- gatenet ---- */

/* A gate for each of the fields: gate0, gate1, ..., then the vectors times them: gated. */
static void embedding_gates(cr_pd *p, cr_buf *b, int64_t dim) {
    bool compat = p->o->compat;
    if (compat)
        cr_buf_str(b, "{name: sums, inputs: [{feature_group_name: ids}], sum: {each: true}}, ");
    for (int i = 0; i < p->n_ids; i++)
        cr_buf_printf(b,
                      "{name: field%d, inputs: [%s], slice: {begin: %lld, width: %lld}}, {name: "
                      "gate%d, inputs: [{block_name: field%d}], linear: {units: 1, bias: false}}, ",
                      i, compat ? "{block_name: sums}" : "{feature_group_name: ids}",
                      (long long)(compat ? i : i * dim), (long long)(compat ? 1 : dim), i, i);
    cr_buf_str(b, "{name: gates, inputs: [");
    for (int i = 0; i < p->n_ids; i++)
        cr_buf_printf(b, "%s{block_name: gate%d}", i ? ", " : "", i);
    cr_buf_str(b, "], activation: {function: nn.Sigmoid}}, {name: gated, inputs: "
                  "[{feature_group_name: ids}, {block_name: gates}], multiply: {}}, ");
}

void cr_pd_gatenet(cr_pd *p) {
    cr_pd_sizes s = cr_pd_table(p, true);
    int64_t n;
    (void)cr_pd_widths(p, p->hyper, "fc_sizes", &n);
    const cr_conf_node *fc = cr_pd_get(p, p->hyper, "fc_sizes");
    bool gates = cr_pd_bool(p, p->hyper, "use_embedding_gate", false);
    bool hidden = cr_pd_bool(p, p->hyper, "use_hidden_gate", false);
    cr_buf b;
    cr_pd_check_dense(p);
    cr_pd_id_features(p, s.rows, s.dim, s.init, false);
    cr_pd_dense_features(p);
    cr_buf_init(&b);
    if (gates) embedding_gates(p, &b, s.dim);
    const char *in = gates ? "{block_name: gated}, {feature_group_name: dense}"
                           : "{feature_group_name: ids}, {feature_group_name: dense}";
    for (long long i = 0; i < (long long)n; i++) {
        const char *units = fc->v[i].val->text;
        cr_buf_printf(&b, "{name: layer%lld, inputs: [%s], mlp: {hidden_units: [%s]}}, ", i, in,
                      units);
        if (hidden)
            cr_buf_printf(&b,
                          "{name: inner%lld, inputs: [{block_name: layer%lld}], linear: {units: "
                          "%s, bias: false}}, {name: opens%lld, inputs: [{block_name: "
                          "inner%lld}], activation: {function: nn.Tanh}}, {name: passed%lld, "
                          "inputs: [{block_name: layer%lld}, {block_name: opens%lld}], multiply: "
                          "{}}, ",
                          i, i, units, i, i, i, i, i);
        in =
            cr_arena_printf(&p->doc->arena, "{block_name: %s%lld}", hidden ? "passed" : "layer", i);
    }
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: ids, feature_names: [%s]}, "
              "{group_name: dense, feature_names: [%s]}], backbone: {blocks: [%s{name: score, "
              "inputs: [%s], linear: {units: 1}}]}, " CR_PD_ONE_SCORE "}",
              cr_pd_id_names(p), cr_pd_dense_names(p), b.data, in);
    cr_buf_clear(&b);
}

/* ---- difm ---- */

/* All sizes of a list but the last, as YAML text. */
static const char *but_last(cr_pd *p, const cr_conf_node *list) {
    const char *out = "";
    for (size_t i = 0; list && list->kind == CR_NODE_LIST && i + 1 < list->n; i++)
        out = cr_arena_printf(&p->doc->arena, "%s%s%s", out, i ? ", " : "", list->v[i].val->text);
    return out;
}

/* The weights of the fields: a network over all numbers (bit) and one over attention between
 * vectors (vec). `fields` are the fields as inputs. Returns the block. */
static const char *difm_weights(cr_pd *p, cr_buf *b, const char *fields, int64_t F,
                                const cr_conf_node *fen) {
    long long heads = (long long)cr_pd_int(p, p->hyper, "att_head_num", CR_PD_REQUIRED, 1, 1024);
    long long dim = (long long)cr_pd_int(p, p->hyper, "att_factor_dim", CR_PD_REQUIRED, 1, 65536);
    cr_arena *a = &p->doc->arena;
    cr_buf_printf(b,
                  "{name: attention, inputs: [%s], autoint_layer: {num_heads: %lld, head_dim: "
                  "%lld, use_scale: true, use_relu: false}}, ",
                  fields, heads, dim);
    const char *in = "{block_name: attention}", *bit, *vec = "{block_name: vec}";
    if (!p->o->compat) {
        const char *inner = but_last(p, fen);
        if (*inner)
            cr_buf_printf(b, "{name: deep, inputs: [%s], mlp: {hidden_units: [%s]}}, ", fields,
                          inner);
        cr_buf_printf(b,
                      "{name: bit, inputs: [%s], linear: {units: %lld}}, {name: vec, inputs: [%s], "
                      "linear: {units: %lld}}, {name: weights, inputs: [{block_name: bit}, "
                      "{block_name: vec}], add: {}}, ",
                      *inner ? "{block_name: deep}" : fields, (long long)F, in, (long long)F);
        return "{block_name: weights}";
    }
    bit = cr_pd_shipped_layers(p, b, "bit", fields, fen);
    cr_buf_printf(b,
                  "{name: vec0, inputs: [%s], mlp: {hidden_units: [%lld]}}, {name: vec, inputs: "
                  "[{block_name: vec0}], batch_norm: {}}, {name: both, inputs: [%s, %s], add: {}}, "
                  "{name: weights, inputs: [{block_name: both}], softmax: {}}, ",
                  in, (long long)F, bit, vec);
    return cr_arena_strdup(a, "{block_name: weights}");
}

void cr_pd_difm(cr_pd *p) {
    int64_t rows = cr_pd_int(p, p->hyper, "sparse_feature_num", CR_PD_REQUIRED, 1, CR_PD_MAX_ROWS);
    int64_t dim = cr_pd_int(p, p->hyper, "sparse_feature_dim", CR_PD_REQUIRED, 1, 65536);
    int64_t said = cr_pd_int(p, p->hyper, "sparse_field_num", p->n_ids, 1, 1000000), n, n_dense;
    const char *dense_fc = cr_pd_widths(p, p->hyper, "dense_layers_size", &n_dense);
    (void)cr_pd_widths(p, p->hyper, "fen_layers_size", &n);
    const cr_conf_node *fen = cr_pd_get(p, p->hyper, "fen_layers_size");
    const cr_conf_node *dense = cr_pd_get(p, p->hyper, "dense_layers_size");
    cr_pd_check_dense(p);
    cr_pd_idle(p, p->hyper, "dense_feature_dim");
    if (said != p->n_ids)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "sparse_field_num"),
                    "sparse_field_num is %lld, and the data has %d fields; make them equal",
                    (long long)said, p->n_ids);
    if (n < 1 || n_dense < 1 || atoll(fen->v[n - 1].val->text) != p->n_ids + 1 ||
        atoll(dense->v[n_dense - 1].val->text) != dim) {
        cr_pd_wrong(p, p->model_at,
                    "the last of fen_layers_size must be the number of fields and 1, %d, and the "
                    "last of dense_layers_size that of sparse_feature_dim, %lld",
                    p->n_ids + 1, (long long)dim);
        return;
    }
    /* without the softmax, weights of the sizes that PaddleRec begins with give scores of hundreds
     */
    const char *init =
        p->o->compat ? "nn.init.uniform_,a=-1,b=1" : cr_pd_cut_normal(p, 0.1 / sqrt((double)dim));
    cr_pd_id_features(p, rows, dim, init, false);
    cr_pd_dense_features(p);
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "{name: number, inputs: [{feature_group_name: dense}], linear: {units: 1}}, ");
    const char *numbers = "{block_name: numbers}", *last = "{block_name: last}";
    if (p->o->compat) {
        numbers = cr_pd_shipped_layers(p, &b, "numbers", "{feature_group_name: dense}", dense);
        cr_buf_printf(&b,
                      "{name: last0, inputs: [%s], mlp: {hidden_units: [1]}}, {name: last, inputs: "
                      "[{block_name: last0}], batch_norm: {}}, ",
                      numbers);
    } else {
        cr_buf_printf(&b,
                      "{name: numbers, inputs: [{feature_group_name: dense}], mlp: "
                      "{hidden_units: %s}}, {name: last, inputs: [%s], linear: {units: 1}}, ",
                      dense_fc, numbers);
    }
    const char *fields = cr_arena_printf(&p->doc->arena, "%s, {feature_group_name: ids}", numbers);
    const char *weights = difm_weights(p, &b, fields, p->n_ids + 1, fen);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: wide, group_type: WIDE, feature_names: "
              "[%s]}, {group_name: ids, feature_names: [%s]}, {group_name: dense, feature_names: "
              "[%s]}], backbone: {wide_embedding_dim: 1, wide_init_fn: \"%s\", blocks: [%s{name: "
              "fields, inputs: [%s], concat: {}}, {name: weighed, inputs: [{block_name: fields}, "
              "%s], multiply: {}}, {name: ones, inputs: [{block_name: number}, "
              "{feature_group_name: wide}], concat: {}}, {name: weighed_ones, inputs: "
              "[{block_name: ones}, %s], multiply: {}}, {name: first, inputs: [{block_name: "
              "weighed_ones}], sum: {}}, {name: pairs, inputs: [{block_name: weighed}], fm: {}}, "
              "{name: second, inputs: [{block_name: pairs}], sum: {}}, {name: score, inputs: "
              "[{block_name: first}, {block_name: second}, %s], add: {}}]}, " CR_PD_ONE_SCORE "}",
              cr_pd_id_names(p), cr_pd_id_names(p), cr_pd_dense_names(p), init, b.data, fields,
              weights, weights, last);
    cr_buf_clear(&b);
}

/* ---- deepfefm ---- */

void cr_pd_deepfefm(cr_pd *p) {
    cr_pd_sizes s = cr_pd_table(p, false);
    int64_t n;
    double drop = cr_pd_num(p, p->hyper, "dropout_rate", 0.2, 0, 0.999);
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &n);
    cr_pd_check_dense(p);
    cr_pd_fields f = cr_pd_first_and_fields(p, &s);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [%s, {group_name: ids, feature_names: [%s]}], "
              "backbone: {wide_embedding_dim: 1, wide_init_fn: \"%s\", blocks: [%s{name: "
              "matrices, " IN_ALL
              ", bilinear: {kind: INTERACTION, symmetric: true}}, {name: pairs, inputs: "
              "[{block_name: matrices}], sum: {each: true}}, {name: second, inputs: [{block_name: "
              "pairs}], sum: {}}, {name: deep, inputs: [{feature_group_name: ids}, "
              "{feature_group_name: dense}, {block_name: pairs}], mlp: {hidden_units: %s, "
              "dropout_ratio: [%g]}}, {name: third, inputs: [{block_name: deep}], linear: {units: "
              "1}}, {name: score, inputs: [%s{block_name: second}, {block_name: third}], add: "
              "{}}]}, " CR_PD_ONE_SCORE "}",
              f.groups, cr_pd_id_names(p), s.init, f.first, fc, drop, f.adds);
}

/* ---- fat_deepffm ---- */

/* Each field has a vector for each field; attention over all of them, then products of what two
 * fields show each other. */
void cr_pd_fat_deepffm(cr_pd *p) {
    cr_pd_sizes s = cr_pd_table(p, false);
    int64_t n, dim = s.dim, F = p->n_ids;
    const char *fc = cr_pd_widths(p, p->hyper, "layer_sizes_dnn", &n);
    double drop = cr_pd_num(p, p->hyper, "dropout_rate", 0.5, 0, 0.999);
    cr_pd_check_dense(p);
    for (int i = 0; i < p->n_dense; i++)
        F += p->dense[i].width;
    if (dim > 1000000 / F) {
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "sparse_feature_dim"),
                    "a row of the table would have %lld numbers; use smaller vectors",
                    (long long)(dim * F));
        return;
    }
    cr_pd_id_features(p, s.rows, dim * F, s.init, false);
    const char *numbers = cr_pd_number_features(p, dim * F);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s%s]}], "
              "backbone: {blocks: [{name: cut, " IN_ALL ", fields: {dim: %lld}}, {name: weighed, "
              "inputs: [{block_name: cut}], senet: {reduction_ratio: 1, squeeze: MAX, bias: "
              "true}}, {name: first, inputs: [{block_name: weighed}], sum: {}}, {name: pairs, "
              "inputs: [{block_name: weighed}], aware_pairs: {}}, {name: deep, inputs: "
              "[{block_name: pairs}], mlp: {hidden_units: %s, dropout_ratio: [%g]}}, {name: "
              "second, inputs: [{block_name: deep}], linear: {units: 1}}, {name: score, inputs: "
              "[{block_name: first}, {block_name: second}], add: {}}]}, " CR_PD_ONE_SCORE "}",
              cr_pd_id_names(p), numbers, (long long)dim, fc, drop);
}

/* ---- autofis ---- */

/* The numbers of the pairs that comb_mask.npy names, as a list; "" when it cannot be read. */
static const char *chosen_pairs(cr_pd *p, int64_t pairs, cr_loc at) {
    int64_t *v, shape[2], left = 0;
    cr_err err;
    cr_buf b;
    if (cr_npy_read_i64("comb_mask.npy", &p->doc->arena, &v, shape, &err) != CR_OK) {
        cr_pd_wrong(p, at, "stage 1 reads the pairs that stage 0 has left over: %s", err.msg);
        return "";
    }
    cr_buf_init(&b);
    for (int64_t i = 0; i < shape[0] * shape[1] && i < pairs; i++)
        if (v[i]) cr_buf_printf(&b, "%s%lld", left++ ? ", " : "", (long long)i);
    if (shape[0] * shape[1] != pairs || left == 0)
        cr_pd_wrong(
            p, at,
            "comb_mask.npy has %lld numbers, of which %lld are not 0, for the %lld pairs of "
            "the fields; train stage 0 anew",
            (long long)(shape[0] * shape[1]), (long long)left, (long long)pairs);
    const char *list = cr_arena_strdup(&p->doc->arena, left ? b.data : "");
    cr_buf_clear(&b);
    return list;
}

/* A DeepFM whose pairs have a weight each (Liu et al., 2020). Stage 0 searches: GRDA sets weights
 * to 0. Stage 1 trains with the pairs that are left. As shipped, the batch norm of the products
 * learns a scale and a shift, too. */
void cr_pd_autofis(cr_pd *p) {
    int64_t rows = cr_pd_int(p, p->hyper, "input_size", CR_PD_REQUIRED, 1, CR_PD_MAX_ROWS);
    int64_t dim = cr_pd_int(p, p->hyper, "embedding_size", CR_PD_REQUIRED, 1, 65536);
    long long width = (long long)cr_pd_int(p, p->hyper, "width", CR_PD_REQUIRED, 1, 1048576);
    int64_t depth = cr_pd_int(p, p->hyper, "depth", CR_PD_REQUIRED, 1, 1000);
    int64_t real = (int64_t)p->n_ids * (p->n_ids - 1) / 2;
    int64_t pairs = cr_pd_int(p, p->hyper, "pairs", real, 1, 1000000000);
    double c = cr_pd_num(p, p->hyper, "grad_c", 0.0005, 0, 1e6);
    double mu = cr_pd_num(p, p->hyper, "grad_mu", 0.8, 0, 1);
    cr_pd_map root = {p->in, "the config"};
    int64_t stage = cr_pd_int(p, root, "stage", 0, 0, 1);
    if (pairs != real) {
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "pairs"),
                    "pairs is %lld, and %d fields have %lld pairs; set it to that",
                    (long long)pairs, p->n_ids, (long long)real);
        return;
    }
    const char *chosen = "", *in = "products";
    if (stage == 1) {
        const char *list = chosen_pairs(p, pairs, cr_pd_at(p, root, "stage"));
        if (!*list) return;
        in = "chosen";
        chosen = cr_arena_printf(&p->doc->arena,
                                 "{name: chosen, inputs: [{block_name: products}], choose: "
                                 "{columns: [%s]}}, ",
                                 list);
    } else {
        cr_pd_put(p, cr_pd_at(p, p->hyper, "grad_c"),
                  "train_config: {dense_optimizer: {part_optimizers: [{grda_optimizer: {lr: 1, c: "
                  "%.9g, mu: %.9g}, regex_pattern: \"model[.]blocks[.]weighed[.]weight\", "
                  "constant_learning_rate: {}}]}}",
                  c, mu);
    }
    double init = sqrt(6.0 / (double)rows), both = sqrt(6.0 / (double)(rows + dim));
    cr_pd_id_features(p, rows, dim,
                      cr_arena_printf(&p->doc->arena, "nn.init.uniform_,a=%.9g,b=%.9g", -both,
                                      both),
                      true);
    cr_buf units;
    cr_buf_init(&units);
    for (int64_t i = 0; i < depth; i++)
        cr_buf_printf(&units, "%s%lld", i ? ", " : "", width);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: wide, group_type: WIDE, feature_names: "
        "[%s]}, {group_name: all, feature_names: [%s]}], backbone: {wide_embedding_dim: 1, "
        "wide_init_fn: \"nn.init.uniform_,a=%.9g,b=%.9g\", blocks: [{name: first, inputs: "
        "[{feature_group_name: wide}], sum: {}}, {name: products, " IN_ALL ", dot_interaction: "
        "{}}, %s{name: normed, inputs: [{block_name: %s}], batch_norm: {affine: %s}}, {name: "
        "weighed, inputs: [{block_name: normed}], scale: {value: 0.6, spread: 0.001}}, {name: "
        "second, inputs: [{block_name: weighed}], sum: {}}, {name: deep, " IN_ALL ", mlp: "
        "{hidden_units: [%s], use_bn: true}}, {name: third, inputs: [{block_name: deep}], linear: "
        "{units: 1}}, {name: score, inputs: [{block_name: first}, {block_name: second}, "
        "{block_name: third}], add: {}}]}, losses: [{binary_cross_entropy: {}}], metrics: [{auc: "
        "{}}, {logloss: {}}], train_metrics: [{auc: {}, since_epoch: true}, {logloss: {}, "
        "since_epoch: true}]}",
        cr_pd_id_names(p), cr_pd_id_names(p), -init, init, chosen, in,
        p->o->compat ? "true" : "false", units.data);
    cr_buf_clear(&units);
}
