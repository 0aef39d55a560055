/*
 * paddle_attend.c - PaddleRec's models whose attention is of a form of their own: dmr.
 */
#include <stdlib.h>
#include <string.h>

#include "dialect/paddle_int.h"

#define MAX_ROWS CR_PD_MAX_ROWS

/* ---- dmr ---- */

enum { HISTORY = 50 }; /* steps of a line, padded in front */

/* Plain columns of a line, in order; the place of the price is between brand and pid. */
static const struct {
    const char *name, *size;
    bool wide; /* as wide as main_embedding_size; else other_embedding_size */
} plain[] = {
    {"uid", "user_size", true},
    {"cms_segid", "cms_segid_size", false},
    {"cms_group_id", "cms_group_id_size", false},
    {"final_gender_code", "final_gender_code_size", false},
    {"age_level", "age_level_size", false},
    {"pvalue_level", "pvalue_level_size", false},
    {"shopping_level", "shopping_level_size", false},
    {"occupation", "occupation_size", false},
    {"new_user_class_level", "new_user_class_level_size", false},
    {"adgroup_id", "adgroup_id_size", true},
    {"cate", "cate_size", true},
    {"campaign_id", "campaign_id_size", true},
    {"customer", "customer_size", true},
    {"brand", "brand_size", true},
    {"pid", "pid_size", false},
};
enum { N_PLAIN = sizeof plain / sizeof *plain, N_USER = 9 };

/* 50 actions, categories and brands, two masks of the same length, and the rest; steps that the
 * first mask leaves out are padding. The auxiliary loss has the weight of the step before the last
 * one in the second mask. */
void cr_pd_behaviour(cr_pd *p) {
    static const char *const lists[] = {"all_actions", "all_cates", "all_brands", "mask",
                                        "match_before"};
    static const char *const made[][2] = {
        {"cates", "values_of: all_cates"},        {"brands", "values_of: all_brands"},
        {"places", "places_of: all_cates"},       {"actions", "values_of: all_actions"},
        {"dm_places", "places_of: all_cates"},    {"dm_actions", "values_of: all_actions"},
        {"cate_numbers", "values_of: all_cates"},
    };
    cr_buf b, w, m;
    cr_buf_init(&b);
    cr_buf_init(&w);
    cr_buf_init(&m);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        cr_buf_printf(&b, "{input_name: %s, input_type: ARRAY_INT64}, ", lists[i]);
        cr_buf_printf(&w, "%d, ", i < 4 ? HISTORY : HISTORY - 2);
    }
    cr_buf_str(&b, "{input_name: match, input_type: FLOAT}, {input_name: match_last, input_type: "
                   "INT64}");
    for (int i = 0; i < N_PLAIN; i++) {
        if (i == N_PLAIN - 1) cr_buf_str(&b, ", {input_name: price, input_type: FLOAT}");
        cr_buf_printf(&b, ", {input_name: %s, input_type: INT64}", plain[i].name);
    }
    cr_buf_str(&w, "1");
    for (int i = 0; i < N_PLAIN + 3; i++) /* match_last, the price and the label, too */
        cr_buf_str(&w, ", 1");
    cr_buf_str(&b, ", {input_name: label, input_type: INT64}, {input_name: cate_number, "
                   "input_type: INT64}");
    cr_buf_str(&m, "{name: cate_number, copy_of: cate}");
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        bool number = strcmp(made[i][0], "cate_numbers") == 0;
        cr_buf_printf(&b, ", {input_name: %s, input_type: %s}", made[i][0],
                      number ? "ARRAY_FLOAT" : "ARRAY_INT64");
        cr_buf_printf(&m, ", {name: %s, %s, where: mask}", made[i][0], made[i][1]);
    }
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: FIXED, separator: \",\", missing: \"0\", widths: [%s], made: "
              "[%s]}, input_fields: [%s]}",
              w.data, m.data, b.data);
    cr_buf_clear(&b);
    cr_buf_clear(&w);
    cr_buf_clear(&m);
}

/* A layer with a slope of its own for each unit. */
static const char *sloped(cr_pd *p, int64_t width) {
    return cr_arena_printf(&p->doc->arena,
                           "mlp: {hidden_units: [%lld], activation: "
                           "\"nn.PReLU(num_parameters=%lld, init=0.1)\"}",
                           (long long)width, (long long)width);
}

/* Blocks that score each step of `items` by the queries <at>_query: <at>_score. A bias counts only
 * where the scores are used without a softmax, too. */
static void dmr_scores(cr_buf *b, const char *at, bool bias) {
    cr_buf_printf(
        b,
        "{name: %s_less, inputs: [{block_name: %s_query}, {block_name: items}], add: {weights: [1, "
        "-1]}}, {name: %s_times, inputs: [{block_name: %s_query}, {block_name: items}], multiply: "
        "{}}, {name: %s_att, inputs: [{block_name: %s_query}, {block_name: items}, {block_name: "
        "%s_less}, {block_name: %s_times}], mlp: {hidden_units: [80, 40], activation: "
        "nn.Sigmoid}}, {name: %s_score, inputs: [{block_name: %s_att}], linear: {units: 1, bias: "
        "%s}}, ",
        at, at, at, at, at, at, at, at, at, at, bias ? "true" : "false");
}

static void dmr_features(cr_pd *p, int64_t wide, int64_t thin) {
    static const char init[] = "nn.init.uniform_,a=-1,b=1";
    static const struct {
        const char *name, *table, *size;
        bool wide;
    } steps[] = {
        {"cates", "cate_emb", "cate_size", true},
        {"brands", "brand_emb", "brand_size", true},
        {"places", "place_emb", NULL, false},
        {"actions", "action_emb", "btag_size", false},
        {"dm_places", "dm_place_emb", NULL, false},
        {"dm_actions", "dm_action_emb", "btag_size", false},
    };
    for (int i = 0; i < N_PLAIN; i++)
        cr_pd_feature(p, p->data_at,
                      "id_feature: {feature_name: %s, num_buckets: %lld, embedding_dim: %lld, "
                      "embedding_name: %s_emb, init_fn: \"%s\"}",
                      plain[i].name,
                      (long long)cr_pd_int(p, p->hyper, plain[i].size, CR_PD_REQUIRED, 1, MAX_ROWS),
                      (long long)(plain[i].wide ? wide : thin), plain[i].name, init);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int64_t rows = steps[i].size
                           ? cr_pd_int(p, p->hyper, steps[i].size, CR_PD_REQUIRED, 1, MAX_ROWS)
                           : HISTORY;
        cr_pd_feature(p, p->data_at,
                      "sequence_id_feature: {feature_name: %s, sequence_length: %d, num_buckets: "
                      "%lld, embedding_dim: %lld, embedding_name: %s, init_fn: \"%s\"}",
                      steps[i].name, HISTORY, (long long)rows,
                      (long long)(steps[i].wide ? wide : thin), steps[i].table, init);
    }
    cr_pd_feature(p, p->data_at,
                  "sequence_raw_feature: {feature_name: cate_numbers, sequence_length: %d}",
                  HISTORY);
    static const char *const numbers[] = {"price", "cate_number", "match"};
    for (int i = 0; i < 3; i++)
        cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: %s}", numbers[i]);
}

/* Deep Match to Rank. Two attentions over the history: one by place and kind of action, whose sum
 * is the user's vector (its product with the item's category is one input, and an auxiliary loss
 * lets the steps before the last one tell the last category), and one by the target. */
void cr_pd_dmr(cr_pd *p) {
    int64_t M = cr_pd_int(p, p->hyper, "main_embedding_size", CR_PD_REQUIRED, 1, 65536);
    int64_t O = cr_pd_int(p, p->hyper, "other_embedding_size", CR_PD_REQUIRED, 1, 65536);
    int64_t cates = cr_pd_int(p, p->hyper, "cate_size", CR_PD_REQUIRED, 2, 16777216);
    static const int64_t shipped[] = {512, 256, 128};
    const cr_conf_node *sizes = cr_pd_get(p, p->hyper, "fc_sizes");
    int64_t n_deep = 3;
    if (sizes) (void)cr_pd_widths(p, p->hyper, "fc_sizes", &n_deep);
    dmr_features(p, M, O);
    const char *user = plain[0].name;
    for (int i = 1; i < N_USER; i++)
        user = cr_arena_printf(&p->doc->arena, "%s, %s", user, plain[i].name);
    const struct {
        const char *name;
        int64_t from, width;
    } cuts[] = {{"items", 0, 2 * M},
                {"context", 2 * M, 2 * O},
                {"dm_context", 2 * M + 2 * O, 2 * O},
                {"numbers", 2 * M + 4 * O, 1}};
    cr_buf b;
    cr_buf_init(&b);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        cr_buf_printf(&b,
                      "{name: %s, inputs: [{feature_group_name: history}], slice: {begin: %lld, "
                      "width: %lld}}, ",
                      cuts[i].name, (long long)cuts[i].from, (long long)cuts[i].width);
    cr_buf_printf(&b,
                  "{name: target, inputs: [{feature_group_name: history}], query: {}}, {name: "
                  "dm_query, inputs: [{block_name: dm_context}], %s}, ",
                  sloped(p, 2 * M));
    dmr_scores(&b, "dm", false);
    cr_buf_printf(
        &b,
        "{name: dm_now, inputs: [{block_name: dm_score}, {block_name: items}], weigh_steps: {}}, "
        "{name: dm_before, inputs: [{block_name: dm_score}, {block_name: items}], weigh_steps: "
        "{leave_out: 1}}, {name: user_now, inputs: [{block_name: dm_now}], %s}, {name: "
        "user_before, inputs: [{block_name: dm_before}], weights_of: user_now}, {name: last_cate, "
        "inputs: [{block_name: numbers}], pooling: {pooling_type: last}}, ",
        sloped(p, M));
    /* as shipped, a row without weight has a vector of zeros, which adds a constant to the loss */
    if (p->o->compat)
        cr_buf_str(&b, "{name: user_match, inputs: [{block_name: user_before}, "
                       "{feature_group_name: match}], multiply: {}}, ");
    cr_buf_printf(&b,
                  "{name: user_to_item, inputs: [{block_name: user_now}, {feature_group_name: "
                  "number}, {block_name: %s}, {block_name: last_cate}%s], next_item: {num_items: "
                  "%lld, aux_weight: 0.1, init_range: 1}}, {name: tg_context, inputs: "
                  "[{block_name: context}, {block_name: target}], spread: {}}, {name: tg_query, "
                  "inputs: [{block_name: tg_context}], %s}, ",
                  p->o->compat ? "user_match" : "user_before",
                  p->o->compat ? "" : ", {feature_group_name: match}", (long long)cates,
                  sloped(p, 2 * M));
    dmr_scores(&b, "tg", true);
    cr_buf_str(
        &b,
        "{name: item_to_item, inputs: [{block_name: tg_score}], pooling: {pooling_type: sum}}, "
        "{name: attended, inputs: [{block_name: tg_score}, {block_name: items}], weigh_steps: {}}, "
        "{name: seen, inputs: [{block_name: items}], pooling: {pooling_type: sum}}, {name: match, "
        "inputs: [{block_name: target}, {block_name: seen}], multiply: {}}, {name: all, inputs: "
        "[{feature_group_name: user}, {block_name: target}, {feature_group_name: item}, "
        "{block_name: seen}, {block_name: match}, {block_name: user_to_item}, {block_name: "
        "item_to_item}, {block_name: attended}], batch_norm: {}}, ");
    const char *top = "all";
    for (int64_t i = 0; i < n_deep; i++) {
        const char *name = cr_arena_printf(&p->doc->arena, "deep%lld", (long long)i);
        cr_buf_printf(&b, "{name: %s, inputs: [{block_name: %s}], %s}, ", name, top,
                      sloped(p, sizes ? atoll(sizes->v[i].val->text) : shipped[i]));
        top = name;
    }
    cr_buf_printf(&b, "{name: score, inputs: [{block_name: %s}], linear: {units: 1}}", top);
    if (p->o->compat)
        cr_buf_str(&b, ", {name: sloped_score, inputs: [{block_name: score}], activation: "
                       "{function: \"nn.PReLU(init=0.1)\"}}");
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: user, feature_names: [%s]}, "
              "{group_name: item, feature_names: [adgroup_id, campaign_id, customer, price, pid]}, "
              "{group_name: number, feature_names: [cate_number]}, {group_name: match, "
              "feature_names: [match]}, {group_name: history, group_type: SEQUENCE, feature_names: "
              "[cate, brand, cates, brands, places, actions, dm_places, dm_actions, "
              "cate_numbers]}], backbone: {blocks: [%s]}, " CR_PD_ONE_SCORE "}",
              user, b.data);
    cr_buf_clear(&b);
}
