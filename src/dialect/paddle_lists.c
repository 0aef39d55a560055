/*
 * paddle_lists.c - PaddleRec's listwise (Wang et al., 2019: the evaluator of lists): a GRU in both
 * directions over the items of a list, from the state of the user, gives each item a chance of a
 * click that depends on all others.
 *
 * PaddleRec has no data for it: its reader draws lists, a batch for each epoch. `crank run` draws
 * them once (src/tool/list_rows.c), and a row is an item of a list: label;user;items;here, where
 * `here` is 1 at the item's place and 0 elsewhere. So scores, loss and AUC are those of rows.
 *
 * As shipped, both directions have one matrix for their inputs; here each has its own.
 */
#include <string.h>

#include "dialect/paddle_int.h"

#define MAX_ROWS CR_PD_MAX_ROWS

cr_paddle_lists cr_pd_list_sizes(cr_pd *p, cr_pd_map dataset) {
    int64_t batch = cr_pd_int(p, dataset, "batch_size", CR_PD_REQUIRED, 1, 1000000000);
    return (cr_paddle_lists){
        .count = cr_pd_int(p, p->hyper, "list_num", batch, 1, 1000000000),
        .length = cr_pd_int(p, p->hyper, "item_len", CR_PD_REQUIRED, 1, 1000),
        .users = cr_pd_int(p, p->hyper, "user_vocab", CR_PD_REQUIRED, 1, MAX_ROWS),
        .items = cr_pd_int(p, p->hyper, "item_vocab", CR_PD_REQUIRED, 1, MAX_ROWS),
    };
}

void cr_pd_lists(cr_pd *p) {
    p->rows_per_line = cr_pd_list_sizes(p, p->dataset).length;
    p->sessions = true; /* the last batch may have fewer lists */
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \";\", list_separator: \" \", made: [{name: "
              "places, places_of: items}]}, input_fields: [{input_name: label, input_type: INT64}, "
              "{input_name: user, input_type: INT64}, {input_name: items, input_type: "
              "ARRAY_INT64}, {input_name: here, input_type: ARRAY_FLOAT}, {input_name: places, "
              "input_type: ARRAY_INT64}]}");
}

void cr_pd_listwise(cr_pd *p) {
    cr_paddle_lists s = cr_pd_list_sizes(p, p->dataset);
    long long dim = (long long)cr_pd_int(p, p->hyper, "embed_size", CR_PD_REQUIRED, 1, 65536);
    long long hidden = (long long)cr_pd_int(p, p->hyper, "hidden_size", CR_PD_REQUIRED, 1, 65536);
    long long length = (long long)s.length;
    static const char feature[] =
        "%s: {feature_name: %s, %snum_buckets: %lld, embedding_dim: %lld, embedding_name: %s_emb, "
        "init_fn: nn.init.xavier_uniform_}";
    const char *steps = cr_arena_printf(&p->doc->arena, "sequence_length: %lld, ", length);
    cr_pd_feature(p, p->data_at, feature, "id_feature", "user", "", (long long)s.users, dim,
                  "user");
    cr_pd_feature(p, p->data_at, feature, "sequence_id_feature", "items", steps, (long long)s.items,
                  dim, "item");
    /* PaddleRec's table of places has as many rows as that of users */
    cr_pd_feature(p, p->data_at, feature, "sequence_id_feature", "places", steps, length, dim,
                  "place");
    cr_pd_feature(p, p->data_at, "sequence_raw_feature: {feature_name: here, %.*s}",
                  (int)strcspn(steps, ","), steps);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: user, feature_names: [user]}, {group_name: "
        "list, group_type: SEQUENCE, feature_names: [items, places, here]}], num_class: 2, "
        "backbone: {blocks: [{name: items, inputs: [{feature_group_name: list}], slice: {begin: "
        "0, width: %lld}}, {name: places, inputs: [{feature_group_name: list}], slice: {begin: "
        "%lld, width: %lld}}, {name: here, inputs: [{feature_group_name: list}], slice: {begin: "
        "%lld, width: 1}}, {name: user, inputs: [{feature_group_name: user}], mlp: {hidden_units: "
        "[%lld]}}, {name: encoded, inputs: [{block_name: items}], mlp: {hidden_units: [%lld]}}, "
        "{name: steps, inputs: [{block_name: encoded}, {block_name: places}], concat: {}}, {name: "
        "forward, inputs: [{block_name: steps}, {block_name: user}], gru: {hidden_size: %lld, "
        "output: STEPS, reset_before: true, start: true}}, {name: backward, inputs: [{block_name: "
        "steps}, {block_name: user}], gru: {hidden_size: %lld, output: STEPS, reset_before: true, "
        "start: true, reverse: true}}, {name: states, inputs: [{block_name: forward}, "
        "{block_name: backward}], concat: {}}, {name: state, inputs: [{block_name: here}, "
        "{block_name: states}], weigh_steps: {softmax: false}}, {name: deep, inputs: "
        "[{block_name: state}], mlp: {hidden_units: [%lld]}}, {name: scores, inputs: [{block_name: "
        "deep}], linear: {units: 2}}]}, losses: [{softmax_cross_entropy: {}}], metrics: [{auc: "
        "{}}], train_metrics: [{auc: {}, since_epoch: true}]}",
        dim, dim, dim, 2 * dim, hidden, hidden, hidden, hidden, hidden);
}
