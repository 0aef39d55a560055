/*
 * paddle_pairs.c - PaddleRec's models over products of pairs of fields: afm, pnn, fibinet, flen.
 *
 * They are those of the papers. PaddleRec's afm takes its softmax over one number, so that all
 * weights are 1; its pnn sums over the wrong axis; its fibinet has a matrix per pair where the type
 * `all` shares one. --compat paddlerec takes these forms.
 */
#include <stdlib.h>
#include <string.h>

#include "dialect/paddle_int.h"

#define IN_ALL "inputs: [{feature_group_name: all}]"

/* A model over weighted ids: a linear part and blocks that give one number, `second`. */
static void with_first(cr_pd *p, const cr_pd_sizes *s, const char *blocks) {
    cr_pd_tell_reg(p);
    cr_pd_idle(p, p->hyper, "num_field");
    cr_pd_fields f = cr_pd_first_and_fields(p, s);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [%s], backbone: {wide_embedding_dim: 1, "
              "wide_init_fn: \"%s\", blocks: [%s%s, {name: score, inputs: [%s{block_name: "
              "second}], add: {}}]}, " CR_PD_ONE_SCORE "}",
              f.groups, s->init, f.first, blocks, f.adds);
}

void cr_pd_afm(cr_pd *p) {
    cr_pd_sizes s = cr_pd_table(p, false);
    int64_t units = cr_pd_int(p, p->hyper, "hidden1_attention_size", 16, 1, 65536);
    cr_pd_idle(p, p->hyper, "act");
    const char *pairs =
        p->o->compat ? "fm: {}"
                     : cr_arena_printf(&p->doc->arena, "pair_attention: {attention_units: %lld}",
                                       (long long)units);
    with_first(p, &s,
               cr_arena_printf(&p->doc->arena,
                               "{name: pairs, " IN_ALL ", %s}, {name: second, inputs: "
                               "[{block_name: pairs}], linear: {units: 1, bias: false}}",
                               pairs));
}

void cr_pd_pnn(cr_pd *p) {
    cr_pd_sizes s = cr_pd_table(p, false);
    int64_t n, units = cr_pd_int(p, p->hyper, "deep_input_size", 50, 1, 65536);
    bool inner = cr_pd_bool(p, p->hyper, "use_inner_product", true);
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &n);
    const char *act = cr_pd_activation(p, "relu");
    with_first(p, &s,
               cr_arena_printf(
                   &p->doc->arena,
                   "{name: linear, " IN_ALL
                   ", linear: {units: %lld, bias: %s}}, {name: products, " IN_ALL
                   ", product: {units: %lld, kind: %s}}, {name: sum, inputs: [{block_name: "
                   "linear}, {block_name: products}], add: {}}, {name: first_layer, inputs: "
                   "[{block_name: sum}], activation: {function: nn.ReLU}}, {name: deep, inputs: "
                   "[{block_name: first_layer}], mlp: {hidden_units: %s, activation: %s}}, {name: "
                   "second, inputs: [{block_name: deep}], linear: {units: 1}}",
                   (long long)units, p->o->compat ? "false" : "true", (long long)units,
                   !inner         ? "OUTER"
                   : p->o->compat ? "NORM"
                                  : "INNER",
                   fc, act));
}

void cr_pd_fibinet(cr_pd *p) {
    cr_pd_sizes s = cr_pd_table(p, true);
    const char *type = cr_pd_str(p, p->hyper, "bilinear_type", false), *kind = "ALL";
    int64_t ratio = cr_pd_int(p, p->hyper, "reduction_ratio", 3, 1, 65536);
    double drop = cr_pd_num(p, p->hyper, "dropout_rate", 0.5, 0, 0.999);
    int64_t n;
    const char *fc = cr_pd_get(p, p->hyper, "fc_sizes") ? cr_pd_widths(p, p->hyper, "fc_sizes", &n)
                                                        : "[400, 400, 400]";
    if (type && strcmp(type, "each") == 0)
        kind = "EACH";
    else if (type && strcmp(type, "interaction") == 0)
        kind = "INTERACTION";
    else if (type && strcmp(type, "all") != 0)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "bilinear_type"),
                    "bilinear_type is '%.40s' and must be all, each or interaction", type);
    if (p->o->compat && strcmp(kind, "ALL") == 0) kind = "INTERACTION";
    cr_pd_check_dense(p);
    cr_pd_id_features(p, s.rows, s.dim, s.init, false);
    cr_pd_dense_features(p);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}, "
              "{group_name: dense, feature_names: [%s]}], backbone: {blocks: [{name: senet, " IN_ALL
              ", senet: {reduction_ratio: %lld}}, {name: raw_pairs, " IN_ALL
              ", bilinear: {kind: %s}}, {name: senet_pairs, inputs: [{block_name: senet}], "
              "bilinear: {kind: %s}}, {name: deep, inputs: [{block_name: raw_pairs}, {block_name: "
              "senet_pairs}, {feature_group_name: dense}], mlp: {hidden_units: %s, "
              "dropout_ratio: [%g]}}]}, " CR_PD_ONE_SCORE "}",
              cr_pd_id_names(p), cr_pd_dense_names(p), (long long)ratio, kind, kind, fc, drop);
}

/* ---- flen ---- */

/* 24 columns: the first is not read, 13 of the user, 3 of the item, 6 of the context, the label. */
void cr_pd_avazu(cr_pd *p) {
    static const char *const names[] = {"user", "item", "contex"};
    static const int n[] = {13, 3, 6};
    cr_buf b;
    int k = 0;
    cr_buf_init(&b);
    cr_buf_str(&b, "{input_name: first, input_type: INT64}");
    p->ids = CR_NEW_N(&p->doc->arena, const char *, 22);
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < n[g]; i++) {
            p->ids[k] = cr_arena_printf(&p->doc->arena, "%s_%d", names[g], i);
            cr_buf_printf(&b, ", {input_name: %s, input_type: INT64}", p->ids[k++]);
        }
    p->n_ids = k;
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: CsvDataset, fg_mode: FG_NONE, label_fields: [click], "
              "input_fields: [%s, {input_name: click, input_type: FLOAT}]}",
              b.data);
    cr_buf_clear(&b);
}

/* The ids of one field of FLEN, by their names; NULL: there is none. */
static const char *of_field(cr_pd *p, const char *field) {
    const char **v = CR_NEW_N(&p->doc->arena, const char *, p->n_ids + 1);
    int n = 0;
    for (int i = 0; i < p->n_ids; i++)
        if (strncmp(p->ids[i], field, strlen(field)) == 0 && p->ids[i][strlen(field)] == '_')
            v[n++] = p->ids[i];
    return n ? cr_pd_names(p, v, n) : NULL;
}

void cr_pd_flen(cr_pd *p) {
    static const char *const names[] = {"user", "item", "contex"};
    cr_pd_sizes s = cr_pd_table(p, false);
    int64_t n;
    const char *fc = p->old ? "[64, 32]" : cr_pd_widths(p, p->hyper, "layer_sizes_dnn", &n);
    double drop = cr_pd_num(p, p->hyper, "dropout_rate", 0.2, 0, 0.999);
    const char *field[3];
    for (int i = 0; i < 3; i++) {
        field[i] = of_field(p, names[i]);
        if (field[i]) continue;
        cr_pd_wrong(p, p->data_at,
                    "flen reads slots user_0, ..., item_0, ..., contex_0, ...; there "
                    "is none of '%s'",
                    names[i]);
        return;
    }
    cr_pd_id_features(p, s.rows, s.dim, "nn.init.xavier_uniform_", false);
#define ONE(x)                                                                                     \
    "{name: " x "_sum, inputs: [{feature_group_name: " x "}], sum: {fields: true}}, {name: " x     \
    "_pairs, inputs: [{feature_group_name: " x "}], fm: {}}, "
#define TWO(x, y)                                                                                  \
    "{name: " x "_" y ", inputs: [{block_name: " x "_sum}, {block_name: " y "_sum}], multiply: "   \
    "{}}, "
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: user, feature_names: [%s]}, "
              "{group_name: item, feature_names: [%s]}, {group_name: contex, feature_names: [%s]}, "
              "{group_name: all, feature_names: [%s]}], backbone: {blocks: [" ONE("user") ONE(
                  "item") ONE("contex") TWO("user", "item") TWO("user", "contex")
                  TWO("item", "contex") "{name: between, inputs: [{block_name: user_item}, "
                                        "{block_name: user_contex}, {block_name: item_contex}], "
                                        "mix_fields: {units: 1}}, {name: inside, inputs: "
                                        "[{block_name: user_pairs}, {block_name: item_pairs}, "
                                        "{block_name: contex_pairs}], mix_fields: {units: 1}}, "
                                        "{name: both, inputs: [{block_name: between}, {block_name: "
                                        "inside}], add: {}}, {name: second, inputs: [{block_name: "
                                        "both}], mlp: {hidden_units: [%lld], use_bn: true, "
                                        "dropout_ratio: [%g]}}, {name: deep, " IN_ALL
                                        ", mlp: {hidden_units: %s, dropout_ratio: [%g]}}], "
                                        "concat_blocks: [second, deep]}, " CR_PD_ONE_SCORE "}",
              field[0], field[1], field[2], cr_pd_id_names(p), (long long)s.dim, drop, fc, drop);
}
