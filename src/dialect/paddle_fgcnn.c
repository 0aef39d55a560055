/*
 * paddle_fgcnn.c - PaddleRec's fgcnn (Liu et al., 2019): convolutions over the fields, each
 * followed by new fields that are made from what it saw; then products of all fields, old and new.
 *
 * In 1.8.5 the rows are weighted ids of one table, which the convolutions and the products share.
 * Since 2.0 the rows are a matrix in HDF5 files, which `crank run` writes as lines
 * (src/tool/matrix_rows.c); every field has two tables, one for the convolutions and one for the
 * products, and batch norm stands behind every convolution and every layer.
 */
#include <math.h>
#include <stdlib.h>

#include "dialect/paddle_int.h"

/* The sizes of the layers: the names of their keys differ. */
typedef struct layers {
    const char *filters, *made, *pools, *kernels; /* kernels NULL: 9 lines each */
    int64_t n, dim, fields;
    const char *from; /* the input of the first convolution */
    bool bn;
} layers;

/* Number i of a list of widths. */
static int64_t width_at(cr_pd *p, const char *key, int64_t i) {
    const cr_conf_node *v = cr_pd_get(p, p->hyper, key);
    return v && v->kind == CR_NODE_LIST && (size_t)i < v->n && v->v[i].val->text
               ? atoll(v->v[i].val->text)
               : 1;
}

/* Are there as many numbers in each list? */
static bool check_layers(cr_pd *p, layers *l) {
    int64_t n_made, n_pools, n_kernels;
    (void)cr_pd_widths(p, p->hyper, l->filters, &l->n);
    (void)cr_pd_widths(p, p->hyper, l->made, &n_made);
    (void)cr_pd_widths(p, p->hyper, l->pools, &n_pools);
    n_kernels = l->n;
    if (l->kernels) (void)cr_pd_widths(p, p->hyper, l->kernels, &n_kernels);
    if (l->n == n_made && l->n == n_pools && l->n == n_kernels) return true;
    cr_pd_wrong(p, cr_pd_at(p, p->hyper, l->filters),
                "%s, %s and %s have %lld, %lld and %lld numbers; give each layer one of each",
                l->filters, l->made, l->n == n_kernels ? l->pools : l->kernels, (long long)l->n,
                (long long)n_made, (long long)(l->n == n_kernels ? n_pools : n_kernels));
    return false;
}

/* Adds the blocks of the layers. Returns the inputs `all` and the new fields behind them. */
static const char *add_layers(cr_pd *p, cr_buf *b, const layers *l, const char *all) {
    const char *before = l->from;
    int64_t height = l->fields, channels = 1;
    cr_arena *a = &p->doc->arena;
    for (long long i = 0; i < (long long)l->n; i++) {
        int64_t filters = width_at(p, l->filters, i), pool = width_at(p, l->pools, i);
        int64_t kernel = l->kernels ? width_at(p, l->kernels, i) : 9;
        int64_t left = height / pool, fields = left * width_at(p, l->made, i);
        if (left == 0) {
            cr_pd_wrong(p, cr_pd_at(p, p->hyper, l->pools),
                        "layer %lld has %lld lines and pools %lld; use fewer layers or smaller "
                        "pools",
                        i + 1, (long long)height, (long long)pool);
            break;
        }
        cr_buf_printf(b,
                      "{name: conv%lld, inputs: [%s], conv: {channels: %lld, height: %lld, "
                      "filters: %lld, kernel_height: %lld, kernel_width: 1, padding: SAME, "
                      "%sactivation: nn.Tanh, pool_height: %lld}}, {name: made%lld, inputs: "
                      "[{block_name: conv%lld}], mlp: {hidden_units: [%lld], activation: "
                      "nn.Tanh}}, {name: new%lld, inputs: [{block_name: made%lld}], fields: {dim: "
                      "%lld}}, ",
                      i, before, (long long)channels, (long long)height, (long long)filters,
                      (long long)kernel, l->bn ? "use_bn: true, " : "", (long long)pool, i, i,
                      (long long)(fields * l->dim), i, i, (long long)l->dim);
        before = cr_arena_printf(a, "{block_name: conv%lld}", i);
        all = cr_arena_printf(a, "%s, {block_name: new%lld}", all, i);
        channels = filters;
        height = left;
    }
    return all;
}

/* The products of all fields, and the layers over both. */
static void add_deep(cr_buf *b, const char *all, const char *fc, const char *act, bool bn,
                     double drop) {
    cr_buf_printf(b,
                  "{name: pairs, inputs: [%s], dot_interaction: {}}, {name: deep, inputs: [%s, "
                  "{block_name: pairs}], mlp: {hidden_units: %s, activation: %s%s",
                  all, all, fc, act, bn ? ", use_bn: true" : "");
    if (drop > 0) cr_buf_printf(b, ", dropout_ratio: [%g]", drop);
    cr_buf_str(b, "}}, {name: second, inputs: [{block_name: deep}], linear: {units: 1}}");
}

/* ---- 1.8.5 ---- */

static void old_fgcnn(cr_pd *p) {
    cr_pd_sizes s = cr_pd_table(p, false);
    layers l = {.filters = "filters",
                .made = "new_filters",
                .pools = "pooling_size",
                .dim = s.dim,
                .fields = p->n_ids,
                .from = "{feature_group_name: all}"};
    int64_t n_fc;
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &n_fc);
    const char *act = cr_pd_activation(p, "relu");
    bool bn = cr_pd_bool(p, p->hyper, "use_batchnorm", false);
    if (!check_layers(p, &l)) return;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "");
    const char *all = add_layers(p, &b, &l, "{feature_group_name: all}");
    add_deep(&b, all, fc, act, bn, 0);
    cr_pd_idle(p, p->hyper, "reg"); /* of first-order weights, which the model has not */
    cr_pd_idle(p, p->hyper, "num_field");
    cr_pd_id_features(p, s.rows, s.dim, s.init, true);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}], backbone: "
              "{blocks: [%s]}, " CR_PD_ONE_SCORE "}",
              cr_pd_id_names(p), b.data);
    cr_buf_clear(&b);
}

/* ---- 2.0 and later ---- */

int64_t cr_pd_matrix_fields(cr_pd *p) {
    const cr_conf_node *v = cr_pd_get(p, p->hyper, "feature_name");
    return v && v->kind == CR_NODE_LIST ? (int64_t)v->n : 0;
}

/* The name of a field's second column, for the convolutions. */
static const char *conv_name(cr_pd *p, int i) {
    return cr_arena_printf(&p->doc->arena, "%s_fg", p->ids[i]);
}

/* A line is the label and an id for each field of feature_name. */
static void matrix_lines(cr_pd *p) {
    const cr_conf_node *v = cr_pd_get(p, p->hyper, "feature_name");
    int64_t n = cr_pd_matrix_fields(p);
    int64_t ids = cr_pd_int(p, p->hyper, "sparse_inputs_slots", n, 0, 1000000);
    int64_t numbers = cr_pd_int(p, p->hyper, "dense_inputs_slots", n - ids, 0, 1000000);
    cr_buf fields, made;
    if (n < 2 || n != ids + numbers) {
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "feature_name"),
                    "feature_name lists %lld fields and must list as many as sparse_inputs_slots "
                    "and dense_inputs_slots say, %lld, and at least 2",
                    (long long)n, (long long)(ids + numbers));
        return;
    }
    cr_buf_init(&fields);
    cr_buf_init(&made);
    cr_buf_str(&fields, "{input_name: label, input_type: INT64}");
    p->ids = CR_NEW_N(&p->doc->arena, const char *, n + 1);
    p->n_ids = (int)n;
    for (int i = 0; i < (int)n; i++) {
        const cr_conf_node *name = v->v[i].val;
        if (name->kind != CR_NODE_SCALAR || !name->len)
            cr_pd_wrong(p, name->at, "feature_name: item %d must be a name", i + 1);
        p->ids[i] = name->kind == CR_NODE_SCALAR && name->len
                        ? name->text
                        : cr_arena_printf(&p->doc->arena, "field_%d", i + 1);
        const char *copy = conv_name(p, i);
        cr_buf_printf(&fields,
                      ", {input_name: %s, input_type: INT64}, {input_name: %s, input_type: "
                      "INT64}",
                      cr_pd_names(p, &p->ids[i], 1), cr_pd_names(p, &copy, 1));
        cr_buf_printf(&made, "%s{name: %s, copy_of: %s}", i ? ", " : "", cr_pd_names(p, &copy, 1),
                      cr_pd_names(p, &p->ids[i], 1));
    }
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \" \", list_separator: \",\", made: [%s]}, "
              "input_fields: [%s]}",
              made.data, fields.data);
    cr_buf_clear(&fields);
    cr_buf_clear(&made);
}

void cr_pd_matrix(cr_pd *p) {
    if (p->old)
        cr_pd_feat(p);
    else
        matrix_lines(p);
}

/* A table of its own for each field and each use. Returns the names. */
static const char *tables(cr_pd *p, const char **names, int64_t rows, int64_t dim) {
    double reach = sqrt(6.0 / (double)(rows + dim)); /* Xavier's, as Paddle's tables begin */
    for (int i = 0; i < p->n_ids; i++)
        cr_pd_feature(p, p->data_at,
                      "id_feature: {feature_name: %s, num_buckets: %lld, embedding_dim: %lld, "
                      "init_fn: \"nn.init.uniform_,a=%.9g,b=%.9g\"}",
                      cr_pd_names(p, &names[i], 1), (long long)rows, (long long)dim, -reach, reach);
    return cr_pd_names(p, names, p->n_ids);
}

/* The convolutions move by one line and one column. */
static void check_stride(cr_pd *p) {
    const cr_conf_node *v = cr_pd_get(p, p->hyper, "stride");
    int64_t n = 0;
    if (!v) return;
    (void)cr_pd_widths(p, p->hyper, "stride", &n);
    for (int64_t i = 0; i < n; i++)
        if (width_at(p, "stride", i) != 1)
            cr_pd_wrong(p, v->at,
                        "stride must be [1, 1]: a convolution keeps the number of fields, and "
                        "pooling_width makes it smaller");
}

static void new_fgcnn(cr_pd *p) {
    int64_t rows = cr_pd_int(p, p->hyper, "sparse_feature_size", CR_PD_REQUIRED, 1, CR_PD_MAX_ROWS);
    layers l = {.filters = "conv_filters",
                .made = "new_maps",
                .pools = "pooling_width",
                .kernels = "conv_kernel_width",
                .dim = cr_pd_int(p, p->hyper, "feature_dim", 20, 1, 65536),
                .fields = p->n_ids,
                .from = "{feature_group_name: seen}",
                .bn = true};
    int64_t n_fc;
    const char *fc = cr_pd_widths(p, p->hyper, "dnn_hidden_units", &n_fc);
    double drop = cr_pd_num(p, p->hyper, "dnn_dropout", 0, 0, 0.999);
    check_stride(p);
    if (p->n_ids == 0 || !check_layers(p, &l)) return;
    const char **seen = CR_NEW_N(&p->doc->arena, const char *, p->n_ids);
    for (int i = 0; i < p->n_ids; i++)
        seen[i] = conv_name(p, i);
    const char *all_names = tables(p, p->ids, rows, l.dim);
    const char *seen_names = tables(p, seen, rows, l.dim);
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "");
    const char *all = add_layers(p, &b, &l, "{feature_group_name: all}");
    add_deep(&b, all, fc, "nn.ReLU", true, drop);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}, "
              "{group_name: seen, feature_names: [%s]}], backbone: {blocks: [%s]}, " CR_PD_ONE_SCORE
              "}",
              all_names, seen_names, b.data);
    cr_buf_clear(&b);
}

void cr_pd_fgcnn(cr_pd *p) {
    if (p->old)
        old_fgcnn(p);
    else
        new_fgcnn(p);
}
