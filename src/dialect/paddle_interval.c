/*
 * paddle_interval.c - PaddleRec's tisas (TiSASRec, Li et al. 2020): at each step of a user, the
 * items so far and the times between them tell the next item from a drawn one.
 *
 * `crank run` writes the rows (src/tool/interval_rows.c). All steps of a row are learned at once by
 * step_pairs; each weighs the same, so a row weighs as much as it has steps. The scores of a row
 * are those of the candidates of an evaluation, of which the first is right.
 *
 * As shipped, padding in front of a short row takes part as keys and values; here there is none.
 */
#include <math.h>
#include <strings.h>

#include "dialect/paddle_int.h"

#define DROPOUT 0.2 /* PaddleRec's code has it, unless the config has dropout_rate */

cr_paddle_interval cr_pd_interval_sizes(cr_pd *p) {
    return (cr_paddle_interval){
        .items = cr_pd_int(p, p->hyper, "num_items", CR_PD_REQUIRED, 2, CR_PD_MAX_ROWS - 1),
        .longest = cr_pd_int(p, p->hyper, "maxlen", CR_PD_REQUIRED, 1, 65536),
    };
}

void cr_pd_intervals(cr_pd *p) {
    p->sessions = true; /* a row is a user, and the last batch may have fewer */
    cr_pd_idle(p, p->runner, "mode");
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "sample_weight_fields: [weight], slot_text: {form: LISTS, separator: \";\", "
              "list_separator: \" \"}, input_fields: [{input_name: items, input_type: "
              "ARRAY_INT64}, {input_name: times, input_type: ARRAY_FLOAT}, {input_name: places, "
              "input_type: ARRAY_FLOAT}, {input_name: next, input_type: ARRAY_INT64}, {input_name: "
              "others, input_type: ARRAY_INT64}, {input_name: weight, input_type: FLOAT}, "
              "{input_name: label, input_type: INT64}, {input_name: candidates, input_type: "
              "ARRAY_INT64}]}");
}

/* Adam's second mean forgets faster than usual. */
static void put_beta(cr_pd *p) {
    const char *name = cr_pd_str(p, p->optimizer, "class", false);
    if (name && strcasecmp(name, "adam") != 0 && !p->o->compat) return;
    cr_pd_put(p, cr_pd_at(p, p->optimizer, "class"),
              "train_config: {sparse_optimizer: {adam_optimizer: {beta2: 0.98}}, dense_optimizer: "
              "{adam_optimizer: {beta2: 0.98}}}");
}

void cr_pd_tisas(cr_pd *p) {
    cr_pd_map h = p->hyper;
    cr_paddle_interval s = cr_pd_interval_sizes(p);
    long long D = (long long)cr_pd_int(p, h, "hidden_units", CR_PD_REQUIRED, 1, 65536);
    long long span = (long long)cr_pd_int(p, h, "time_span", CR_PD_REQUIRED, 1, 1000000);
    long long layers = (long long)cr_pd_int(p, h, "num_blocks", CR_PD_REQUIRED, 1, 64);
    long long heads = (long long)cr_pd_int(p, h, "num_heads", CR_PD_REQUIRED, 1, 1024);
    double drop = cr_pd_num(p, h, "dropout_rate", DROPOUT, 0, 0.999);
    long long longest = (long long)s.longest;
    if (D % heads != 0)
        cr_pd_wrong(p, cr_pd_at(p, h, "num_heads"),
                    "hidden_units %lld is not a multiple of num_heads %lld; make it one", D, heads);
    /* a training names no candidates: its scores, which nothing reads, are those of the next items
     */
    bool some = p->o->part != CR_DIALECT_TRAIN;
    static const char *const ids[] = {"items", "next", "others", "candidates"};
    for (int i = 0; i < 3 + some; i++)
        cr_pd_feature(p, p->data_at,
                      "sequence_id_feature: {feature_name: %s, sequence_length: %lld, num_buckets: "
                      "%lld, embedding_dim: %lld, embedding_name: item_emb, init_fn: "
                      "nn.init.xavier_uniform_}",
                      ids[i], i < 3 ? longest : CR_PADDLE_CANDIDATES, (long long)s.items + 1, D);
    cr_pd_feature(p, p->data_at,
                  "sequence_raw_feature: {feature_name: times, sequence_length: %lld}", longest);
    cr_pd_feature(p, p->data_at,
                  "sequence_raw_feature: {feature_name: places, sequence_length: %lld}", longest);
    put_beta(p);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: steps, group_type: SEQUENCE, feature_names: "
        "[items, next, others, times, places]}%s], num_class: %d, backbone: {blocks: [{name: item, "
        "inputs: [{feature_group_name: steps}], slice: {begin: 0, width: %lld}}, {name: next, "
        "inputs: [{feature_group_name: steps}], slice: {begin: %lld, width: %lld}}, {name: other, "
        "inputs: [{feature_group_name: steps}], slice: {begin: %lld, width: %lld}}, {name: time, "
        "inputs: [{feature_group_name: steps}], slice: {begin: %lld, width: 1}}, {name: place, "
        "inputs: [{feature_group_name: steps}], slice: {begin: %lld, width: 1}}, {name: larger, "
        "inputs: [{block_name: item}], add: {weights: [%.9g]}}, {name: some, inputs: [{block_name: "
        "larger}], dropout: {dropout_ratio: %.9g}}, {name: states, inputs: [{block_name: some}, "
        "{block_name: time}, {block_name: place}], interval_transformer: {num_heads: %lld, "
        "num_layers: %lld, max_seq_length: %lld, time_span: %lld, dropout: %.9g}}, {name: user, "
        "inputs: [{block_name: states}, {block_name: next}, {block_name: other}], step_pairs: "
        "{}}, {name: candidates, inputs: [{%s}], unroll: {steps: %d}}, {name: scores, inputs: "
        "[{block_name: user}, {block_name: candidates}], similarity: {}}]}, losses: "
        "[{softmax_cross_entropy: {}}], metrics: [{recall_at_k: {top_k: 10}}, {ndcg_at_k: {top_k: "
        "10}}]}",
        some ? ", {group_name: candidates, group_type: SEQUENCE, feature_names: [candidates]}" : "",
        CR_PADDLE_CANDIDATES, D, D, D, 2 * D, D, 3 * D, 3 * D + 1, sqrt((double)D), drop, heads,
        layers, longest, span, drop, some ? "feature_group_name: candidates" : "block_name: next",
        CR_PADDLE_CANDIDATES);
}
