/*
 * paddle_digits.c - PaddleRec's dselect_k (Hazimeh et al., 2021): two tasks over one picture,
 * which shows two digits. Experts are small convolutional networks, and a gate chooses few of them.
 *
 * `crank run` writes the rows (src/tool/digit_rows.c). In the paper each task has a gate; as
 * shipped both tasks have the same one, and a softmax stands in front of the cross entropy, which
 * has one itself (--compat paddlerec).
 */
#include <math.h>
#include <stdlib.h>

#include "dialect/paddle_int.h"

enum { CLASSES = 10, KERNEL = 5, POOL = 2 };
static const char *const tasks[] = {"left", "right"};

int64_t cr_pd_digit_size(cr_pd *p) {
    return cr_pd_int(p, p->hyper, "feature_size", 1296, 1, 1048576);
}

void cr_pd_digits(cr_pd *p) {
    long long size = (long long)cr_pd_digit_size(p);
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [left, "
              "right], slot_text: {form: LISTS, separator: \";\", list_separator: \" \"}, "
              "input_fields: [{input_name: left, input_type: INT64}, {input_name: right, "
              "input_type: INT64}, {input_name: pixels, input_type: ARRAY_FLOAT}]}");
    cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: pixels, value_dim: %lld}", size);
}

/* One number of a list that PaddleRec's code has as a constant. */
static long long one_of(cr_pd *p, const char *key, int i, long long shipped) {
    int64_t n = 0;
    const cr_conf_node *list = cr_pd_get(p, p->hyper, key);
    if (!list) return shipped;
    (void)cr_pd_widths(p, p->hyper, key, &n);
    if (n == 2) return atoll(list->v[i].val->text);
    if (i == 0)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, key), "%s has %lld numbers; give two", key,
                    (long long)n);
    return shipped;
}

/* An expert: two convolutions with batch norm, each with the largest of four numbers behind it, and
 * two layers. */
static void put_expert(cr_pd *p, cr_buf *b, long long i, long long side, long long width) {
    long long filters[] = {one_of(p, "conv_filters", 0, 10), one_of(p, "conv_filters", 1, 20)};
    long long hidden = (long long)cr_pd_int(p, p->hyper, "expert_fc_size", 50, 1, 65536);
    long long channels = 1;
    const char *in = "picture";
    for (int k = 0; k < 2; k++) {
        const char *name = cr_arena_printf(&p->doc->arena, "conv%lld_%d", i, k + 1);
        cr_buf_printf(b,
                      "{name: %s, inputs: [{block_name: %s}], conv: {channels: %lld, height: %lld, "
                      "filters: %lld, kernel_height: %d, kernel_width: %d, use_bn: true, "
                      "pool_height: %d, pool_width: %d}}, ",
                      name, in, channels, side, filters[k], KERNEL, KERNEL, POOL, POOL);
        in = name;
        side = (side - KERNEL + 1) / POOL;
        channels = filters[k];
    }
    cr_buf_printf(b,
                  "{name: expert%lld, inputs: [{block_name: %s}], mlp: {hidden_units: [%lld, "
                  "%lld]}}, ",
                  i, in, hidden, width);
}

void cr_pd_dselect_k(cr_pd *p) {
    cr_pd_map h = p->hyper;
    int64_t size = cr_pd_digit_size(p), side = (int64_t)(sqrt((double)size) + 0.5);
    int64_t n = cr_pd_int(p, h, "expert_num", CR_PD_REQUIRED, 2, 256);
    long long width = (long long)cr_pd_int(p, h, "expert_size", CR_PD_REQUIRED, 1, 65536);
    long long chosen = (long long)cr_pd_int(p, h, "top_k", 2, 1, 64);
    int64_t gates = cr_pd_int(p, h, "gate_num", 2, 1, 1000);
    double entropy = cr_pd_num(p, h, "entropy_reg", 0, 0, 1e6);
    const char *experts = "", *towers = "";
    int64_t n_fc;
    const char *fc =
        cr_pd_get(p, h, "fc_sizes") ? cr_pd_widths(p, h, "fc_sizes", &n_fc) : "[50, 50]";
    if (gates != 2)
        cr_pd_wrong(p, cr_pd_at(p, h, "gate_num"),
                    "gate_num is %lld, and the data has labels for two tasks; set it to 2",
                    (long long)gates);
    if (side * side != size || side < 16)
        cr_pd_wrong(p, cr_pd_at(p, h, "feature_size"),
                    "feature_size is %lld, and a picture is a square of 16 lines or more; use for "
                    "example 1296",
                    (long long)size);
    cr_buf b;
    cr_buf_init(&b);
    for (int64_t i = 1; i <= n; i++) {
        put_expert(p, &b, (long long)i, (long long)side, width);
        experts = cr_arena_printf(&p->doc->arena, "%s%s{block_name: expert%lld}", experts,
                                  i > 1 ? ", " : "", (long long)i);
    }
    bool compat = p->o->compat;
    for (int t = 0; t < 2; t++) {
        const char *gate = compat ? "both" : tasks[t];
        if (t == 0 || !compat)
            cr_buf_printf(&b,
                          "{name: %s_gate, inputs: [%s], dselect_k: {num_selected: %lld, "
                          "entropy_weight: %.9g}}, ",
                          gate, experts, chosen, entropy);
        cr_buf_printf(&b,
                      "{name: %s_tower, inputs: [{block_name: %s_gate}], mlp: {hidden_units: "
                      "%s}}, {name: %s_score, inputs: [{block_name: %s_tower}], linear: {units: "
                      "%d}}, ",
                      tasks[t], gate, fc, tasks[t], tasks[t], CLASSES);
        if (compat)
            cr_buf_printf(&b, "{name: %s_share, inputs: [{block_name: %s_score}], softmax: {}}, ",
                          tasks[t], tasks[t]);
        towers = cr_arena_printf(
            &p->doc->arena,
            "%s%s{tower_name: %s, label_name: %s, num_class: %d, inputs: [{block_name: %s_%s}], "
            "losses: [{softmax_cross_entropy: {}}], metrics: [{accuracy: {}}], train_metrics: "
            "[{accuracy: {}, since_epoch: true}]}",
            towers, t ? ", " : "", tasks[t], tasks[t], CLASSES, tasks[t],
            compat ? "share" : "score");
    }
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [pixels]}], "
              "backbone: {blocks: [{name: picture, inputs: [{feature_group_name: all}], add: "
              "{weights: [%.9g]}}, %s], task_towers: [%s]}}",
              1.0 / 255, cr_arena_strndup(&p->doc->arena, b.data, b.n - 2), towers);
    cr_buf_clear(&b);
}
