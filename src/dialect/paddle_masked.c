/*
 * paddle_masked.c - PaddleRec's bert4rec (Sun et al. 2019): some items of a session are masked, a
 * transformer sees the rest from both sides, and each masked place is to tell its item among all.
 *
 * `crank run` writes the rows (src/tool/masked_rows.c), without the padding. All places of a row
 * are learned at once: take_steps takes them from the states, and item_scores is the loss. The
 * scores of a row are those of its last place, among the candidates that an evaluation names.
 *
 * As shipped, all steps have one more vector (sent_emb) and each place of the batch weighs the
 * same; in the paper each row does. The vector is not available, the weights are (--compat
 * paddlerec).
 */
#include <string.h>

#include "dialect/paddle_int.h"

cr_paddle_masked cr_pd_masked_sizes(cr_pd *p) {
    return (cr_paddle_masked){
        .items = cr_pd_int(p, p->hyper, "_voc_size", CR_PD_REQUIRED, 2, 65536),
        .positions = cr_pd_int(p, p->hyper, "_max_position_seq_len", CR_PD_REQUIRED, 1, 100000),
    };
}

void cr_pd_masked(cr_pd *p) {
    int64_t one = cr_pd_int(p, p->runner, "train_batch_size", 1, 1, 1000000000);
    if (one != 1)
        cr_pd_wrong(p, cr_pd_at(p, p->runner, "train_batch_size"),
                    "a batch has data_batch_size lines, and train_batch_size counts such batches; "
                    "it must be 1");
    p->rows_per_line = cr_pd_int(p, p->runner, "data_batch_size", CR_PD_REQUIRED, 1, 1000000);
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [item], "
              "%sslot_text: {form: LISTS, separator: \";\", list_separator: \" \"}, input_fields: "
              "[{input_name: items, input_type: ARRAY_FLOAT}, {input_name: positions, input_type: "
              "ARRAY_FLOAT}, {input_name: places, input_type: ARRAY_FLOAT}, {input_name: labels, "
              "input_type: ARRAY_FLOAT}, {input_name: item, input_type: INT64}, {input_name: "
              "weight, input_type: FLOAT}, {input_name: candidates, input_type: ARRAY_FLOAT}]}",
              p->o->compat ? "sample_weight_fields: [weight], " : "");
}

void cr_pd_bert4rec(cr_pd *p) {
    cr_pd_map h = p->hyper;
    cr_paddle_masked s = cr_pd_masked_sizes(p);
    long long dim = (long long)cr_pd_int(p, h, "_emb_size", CR_PD_REQUIRED, 1, 65536);
    long long layers = (long long)cr_pd_int(p, h, "_n_layer", CR_PD_REQUIRED, 1, 64);
    long long heads = (long long)cr_pd_int(p, h, "_n_head", CR_PD_REQUIRED, 1, 1024);
    double drop = cr_pd_num(p, h, "_dropout", 0, 0, 0.999);
    double inner = cr_pd_num(p, h, "_attention_dropout", 0, 0, 0.999);
    double std = cr_pd_num(p, h, "_param_initializer", 0.02, 0, 1);
    const char *act = cr_pd_str(p, h, "hidden_act", false);
    act = act && strcmp(act, "gelu") == 0 ? "nn.GELU" : "nn.ReLU";
    if (dim % heads != 0)
        cr_pd_wrong(p, cr_pd_at(p, h, "_n_head"),
                    "_emb_size %lld is not a multiple of _n_head %lld; make it one", dim, heads);
    static const char *const steps[] = {"items", "positions", "places", "labels", "candidates"};
    /* a training names no candidates */
    bool some = p->o->part != CR_DIALECT_TRAIN;
    for (int i = 0; i < 4 + some; i++)
        cr_pd_feature(p, p->data_at,
                      "sequence_raw_feature: {feature_name: %s, sequence_length: %lld}", steps[i],
                      i < 4 ? (long long)s.positions : (long long)s.items);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: session, group_type: SEQUENCE, "
        "feature_names: [items, positions]}, {group_name: masked, group_type: SEQUENCE, "
        "feature_names: [places, labels]}%s], num_class: %lld, backbone: {blocks: [{name: item, "
        "inputs: "
        "[{feature_group_name: session}], slice: {begin: 0, width: 1}}, {name: position, inputs: "
        "[{feature_group_name: session}], slice: {begin: 1, width: 1}}, {name: place, inputs: "
        "[{feature_group_name: masked}], slice: {begin: 0, width: 1}}, {name: label, inputs: "
        "[{feature_group_name: masked}], slice: {begin: 1, width: 1}}, {name: item_emb, inputs: "
        "[{block_name: item}], item_vectors: {num_items: %lld, dim: %lld, init_std: %.9g}}, {name: "
        "position_emb, inputs: [{block_name: position}], item_vectors: {num_items: %lld, dim: "
        "%lld, init_std: %.9g}}, {name: both, inputs: [{block_name: item_emb}, {block_name: "
        "position_emb}], add: {}}, {name: norm, inputs: [{block_name: both}], layer_norm: {}}, "
        "{name: steps, inputs: [{block_name: norm}], dropout: {dropout_ratio: %.9g}}, {name: "
        "encoder, inputs: [{block_name: steps}], transformer: {num_heads: %lld, num_layers: %lld, "
        "dropout: %.9g, activation: %s, output: STEPS}}, {name: states, inputs: [{block_name: "
        "encoder}, {block_name: place}], take_steps: {}}, {name: turned, inputs: [{block_name: "
        "states}], mlp: {hidden_units: [%lld], activation: %s}}, {name: even, inputs: "
        "[{block_name: turned}], layer_norm: {}}, {name: scores, inputs: [{block_name: even}, "
        "{block_name: label}%s], item_scores: {items_of: item_emb}}]}, losses: "
        "[{softmax_cross_entropy: {}}], metrics: [{recall_at_k: {top_k: "
        "%d}}, {ndcg_at_k: {top_k: 10}}, {mean_reciprocal_rank: {}}]}",
        some ? ", {group_name: candidates, group_type: SEQUENCE, feature_names: [candidates]}" : "",
        (long long)s.items, (long long)s.items, dim, std, (long long)s.positions, dim, std, drop,
        heads, layers, inner, act, dim, act, some ? ", {feature_group_name: candidates}" : "",
        s.items < 10 ? (int)s.items : 10);
}
