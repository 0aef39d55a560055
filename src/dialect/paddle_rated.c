/*
 * paddle_rated.c - PaddleRec's deeprec (Kuchaiev and Ginsburg 2017): an autoencoder with SELU gives
 * back the ratings of a user, and its loss is over the items that the user has rated. Its outputs
 * are fed in again, in a second step of the optimizer (train_config.refeed_steps).
 *
 * `crank run` writes the rows (src/tool/rating_rows.c). The weight of a row is the number of its
 * ratings, so that each rating of a batch weighs the same.
 *
 * The shipped reader takes reader_batch_size, and not batch_size, which shipped configs also have;
 * its rate halves before the epochs 23, 35, 47, 65 and 71, counted from 0. With the rates of these
 * configs the weights grow without bound, so gradients are limited to a norm of 1, which the
 * shipped code does not do (--compat paddlerec).
 */
#include <stdlib.h>

#include "dialect/paddle_int.h"

#define MOST_ITEMS 65536

/* The numbers of layer_sizes: those of items first, that of the code last. n: how many there are,
 * 0 after a mistake. */
static const int64_t *layer_sizes(cr_pd *p, int64_t *n) {
    static const int64_t none[2] = {1, 1};
    const cr_conf_node *v = cr_pd_get(p, p->hyper, "layer_sizes");
    *n = 0;
    if (!v || v->kind != CR_NODE_LIST || v->n < 2) {
        cr_pd_wrong(p, v ? v->at : p->model_at,
                    "layer_sizes must be a list of two or more widths; the first one is the number "
                    "of items");
        return none;
    }
    int64_t *out = CR_NEW_N(&p->doc->arena, int64_t, v->n), checked;
    if (!cr_pd_widths(p, p->hyper, "layer_sizes", &checked)) return none;
    for (size_t i = 0; i < v->n; i++)
        out[i] = v->v[i].val->text ? strtoll(v->v[i].val->text, NULL, 10) : 0;
    if (out[0] > MOST_ITEMS) {
        cr_pd_wrong(p, v->at, "layer_sizes begins with %lld; %d items are the most",
                    (long long)out[0], MOST_ITEMS);
        return none;
    }
    *n = (int64_t)v->n;
    return out;
}

int64_t cr_pd_rated_items(cr_pd *p) {
    int64_t n;
    return layer_sizes(p, &n)[0];
}

/* The rate of each epoch, and what else its optimizer has. */
static void put_rates(cr_pd *p) {
    static const int before[] = {23, 35, 47, 65, 71};
    double lr = cr_pd_num(p, p->optimizer, "learning_rate", 0.005, 0, 1e6);
    double momentum = cr_pd_num(p, p->optimizer, "momentum", 0.9, 0, 1);
    double decay = cr_pd_num(p, p->optimizer, "weight_decay", 0, 0, 1e6);
    cr_arena *a = &p->doc->arena;
    const char *sizes = "", *rates = "";
    for (int i = 0; i < 5; i++) {
        lr /= 2;
        sizes = cr_arena_printf(a, "%s%s%d", sizes, i ? ", " : "", before[i] - 1);
        rates = cr_arena_printf(a, "%s%s%.17g", rates, i ? ", " : "", lr);
    }
    p->sgd_keys = cr_arena_printf(a, ", momentum: %.9g, weight_decay: %.9g", momentum, decay);
    p->sgd_falls = cr_arena_printf(a,
                                   ", manual_step_learning_rate: {schedule_sizes: [%s], "
                                   "learning_rates: [%s], by_epoch: true}",
                                   sizes, rates);
}

void cr_pd_rated(cr_pd *p) {
    p->batch_key = "reader_batch_size";
    cr_pd_idle(p, p->runner, "train_batch_size");
    int64_t batch = cr_pd_int(p, p->runner, "reader_batch_size", 1, 1, 1000000000);
    int64_t other = cr_pd_int(p, p->runner, "batch_size", batch, 1, 1000000000);
    if (other != batch && p->o->part != CR_DIALECT_INFER)
        cr_pd_note(p, cr_pd_at(p, p->runner, "batch_size"),
                   "PaddleRec's reader does not read batch_size, so a batch has %lld row%s; "
                   "reader_batch_size says how many",
                   (long long)batch, batch == 1 ? "" : "s");
    put_rates(p);
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [weight], "
              "sample_weight_fields: [weight], slot_text: {form: LISTS, separator: \";\", "
              "list_separator: \" \"}, input_fields: [{input_name: items, input_type: "
              "ARRAY_FLOAT}, {input_name: ratings, input_type: ARRAY_FLOAT}, {input_name: rated, "
              "input_type: ARRAY_FLOAT}, {input_name: values, input_type: ARRAY_FLOAT}, "
              "{input_name: weight, input_type: FLOAT}]}");
    cr_pd_put(p, cr_pd_at(p, p->runner, "aug_step"), "train_config: {refeed_steps: %lld%s}",
              (long long)cr_pd_int(p, p->runner, "aug_step", 1, 0, 1000),
              p->o->compat ? "" : ", grad_clipping: {clipping_type: norm, max_gradient: 1}");
}

void cr_pd_deeprec(cr_pd *p) {
    static const char *const columns[] = {"items", "ratings", "rated", "values"};
    int64_t n;
    const int64_t *v = layer_sizes(p, &n);
    double drop = cr_pd_num(p, p->hyper, "dp_drop_prob", 0, 0, 0.999);
    const char *down = "", *up = "", *code = "encoder", *dropout = "";
    cr_arena *a = &p->doc->arena;
    if (n == 0) return;
    for (int64_t i = 1; i < n; i++) {
        down = cr_arena_printf(a, "%s%s%lld", down, i > 1 ? ", " : "", (long long)v[i]);
        up = cr_arena_printf(a, "%s%s%lld", up, i > 1 ? ", " : "", (long long)v[n - 1 - i]);
    }
    for (int i = 0; i < 4; i++)
        cr_pd_feature(p, p->data_at,
                      "sequence_raw_feature: {feature_name: %s, sequence_length: %lld}", columns[i],
                      (long long)v[0]);
    if (drop > 0) {
        dropout = cr_arena_printf(
            a, "{name: code, inputs: [{block_name: encoder}], dropout: {dropout_ratio: %.9g}}, ",
            drop);
        code = "code";
    }
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: own, group_type: SEQUENCE, "
              "feature_names: [items, ratings]}, {group_name: asked, group_type: SEQUENCE, "
              "feature_names: [rated, values]}], num_class: %lld, backbone: {blocks: [{name: own, "
              "inputs: [{feature_group_name: own}], scatter: {columns: %lld}}, {name: asked, "
              "inputs: [{feature_group_name: asked}], scatter: {columns: %lld}}, {name: encoder, "
              "inputs: [{block_name: own}], mlp: {hidden_units: [%s], activation: nn.SELU}}, "
              "%s{name: decoder, inputs: [{block_name: %s}], mlp: {hidden_units: [%s], "
              "activation: nn.SELU}}, {name: ratings, inputs: [{block_name: decoder}, {block_name: "
              "asked}], masked_error: {}}]}, losses: [{l2_loss: {}}]}",
              (long long)v[0], (long long)v[0], (long long)v[0], down, dropout, code, up);
}
