/*
 * paddle_attend.c - PaddleRec's models whose attention is of a form of their own: dmr, dpin.
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

/* ---- dpin ---- */

static int64_t dpin_places(cr_pd *p) {
    return cr_pd_int(p, p->hyper, "K", 3, 2, 1000);
}

/* items;categories;places of clicks, then item;category;place;label of the target, with blanks
 * between the values of a list. Clicks of each place are a history of their own; as shipped, item 0
 * stands behind a shorter one. Places count from 1. */
void cr_pd_page(cr_pd *p) {
    int64_t K = dpin_places(p), L = cr_pd_int(p, p->hyper, "L", 10, 1, 1000000);
    const char *fill = p->o->compat ? ", fill: \"0\"" : "";
    cr_buf b, m;
    cr_buf_init(&b);
    cr_buf_init(&m);
    static const char *const lists[][2] = {{"items", "all_items"}, {"cats", "all_cats"}};
    for (int64_t k = 1; k <= K; k++) {
        for (int i = 0; i < 2; i++) {
            cr_buf_printf(&b, ", {input_name: %s%lld, input_type: ARRAY_INT64}", lists[i][0],
                          (long long)k);
            cr_buf_printf(&m,
                          "{name: %s%lld, values_of: %s, where: all_places, is: %lld, most: "
                          "%lld%s}, ",
                          lists[i][0], (long long)k, lists[i][1], (long long)k, (long long)L, fill);
        }
    }
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \";\", list_separator: \" \", made: [%s{name: "
              "place, copy_of: target_place, plus: -1}, {name: place_number, copy_of: "
              "target_place, plus: -1}]}, input_fields: [{input_name: all_items, input_type: "
              "ARRAY_INT64}, {input_name: all_cats, input_type: ARRAY_INT64}, {input_name: "
              "all_places, input_type: ARRAY_INT64}, {input_name: target_item, input_type: INT64}, "
              "{input_name: target_cat, input_type: INT64}, {input_name: target_place, input_type: "
              "INT64}, {input_name: label, input_type: FLOAT}%s, {input_name: place, input_type: "
              "INT64}, {input_name: place_number, input_type: INT64}]}",
              m.data, b.data);
    cr_buf_clear(&b);
    cr_buf_clear(&m);
}

/* A feature of ids; steps: of a sequence of so many, 0: of a row. */
static void dpin_feature(cr_pd *p, const char *name, int64_t steps, int64_t rows, int64_t dim,
                         const char *table) {
    const char *length =
        steps ? cr_arena_printf(&p->doc->arena, "sequence_length: %lld, ", (long long)steps) : "";
    cr_pd_feature(p, p->data_at,
                  "%sid_feature: {feature_name: %s, %snum_buckets: %lld, embedding_dim: %lld, "
                  "embedding_name: %s, init_fn: nn.init.xavier_uniform_}",
                  steps ? "sequence_" : "", name, length, (long long)rows, (long long)dim, table);
}

/* Features of all places, and in groups the groups of each. */
static void dpin_features(cr_pd *p, int64_t K, int64_t E, cr_buf *groups) {
    int64_t L = cr_pd_int(p, p->hyper, "L", 10, 1, 1000000);
    int64_t items = cr_pd_int(p, p->hyper, "max_item", 4975, 1, MAX_ROWS);
    int64_t cats = cr_pd_int(p, p->hyper, "max_context", 1933, 1, MAX_ROWS);
    dpin_feature(p, "target_cat", 0, cats, E, "context_feat_emb");
    dpin_feature(p, "target_item", 0, items, E, "item_feat_emb");
    dpin_feature(p, "place", 0, K, E, "position_emb_2");
    cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: place_number}");
    for (int64_t k = 1; k <= K; k++) {
        const char *n = cr_arena_printf(&p->doc->arena, "%lld", (long long)k);
        dpin_feature(p, cr_arena_printf(&p->doc->arena, "items%s", n), L, items, E,
                     "user_bx_item_emb");
        dpin_feature(p, cr_arena_printf(&p->doc->arena, "cats%s", n), L, cats, E,
                     "user_bx_context_emb");
        cr_buf_printf(groups,
                      ", {group_name: clicks%s, group_type: SEQUENCE, feature_names: [items%s, "
                      "cats%s]}",
                      n, n, n);
    }
}

/* Deep Position-wise Interaction Network. What a user has clicked at each place of the page becomes
 * an interest, the places act on each other, and the score is that of the place at which the target
 * is shown. PaddleRec computes those of all places and then takes that one. */
void cr_pd_dpin(cr_pd *p) {
    int64_t K = dpin_places(p), E = cr_pd_int(p, p->hyper, "embedding_dim", 8, 1, 65536);
    long long D = (long long)cr_pd_int(p, p->hyper, "d_model", 64, 1, 65536);
    long long H = (long long)cr_pd_int(p, p->hyper, "h", 2, 1, 4096);
    long long layers = (long long)cr_pd_int(p, p->hyper, "num_layers", 12, 1, 64);
    const cr_conf_node *sizes = cr_pd_get(p, p->hyper, "fc_sizes");
    int64_t n_sizes = 0;
    const char *deep = sizes ? cr_pd_widths(p, p->hyper, "fc_sizes", &n_sizes) : "[1024, 512, 128]";
    const char *last = n_sizes ? sizes->v[n_sizes - 1].val->text : "128";
    if (D % H != 0)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "h"),
                    "d_model %lld is not a multiple of h, the number of heads; make it one", D);
    cr_buf b, groups, fields, places;
    cr_buf_init(&b);
    cr_buf_init(&groups);
    cr_buf_init(&fields);
    cr_buf_init(&places);
    dpin_features(p, K, E, &groups);
    for (long long k = 1; k <= K; k++) {
        const char *hidden =
            cr_arena_printf(&p->doc->arena, "mlp: {hidden_units: [%lld]}", 2 * (long long)E);
        const char *score =
            cr_arena_printf(&p->doc->arena, "linear: {units: %lld, bias: false}", 2 * (long long)E);
        cr_buf_printf(&b,
                      "{name: hidden%lld, inputs: [{feature_group_name: clicks%lld}], %s}, {name: "
                      "weight%lld, inputs: [{block_name: hidden%lld}], %s}, {name: interest%lld, "
                      "inputs: [{block_name: weight%lld}, {feature_group_name: clicks%lld}], "
                      "weigh_steps: {}}, ",
                      k, k, k == 1 ? hidden : "weights_of: hidden1", k, k,
                      k == 1 ? score : "weights_of: weight1", k, k, k);
        cr_buf_printf(&fields, "%s{block_name: interest%lld}", k == 1 ? "" : ", ", k);
    }
    cr_buf_printf(
        &b,
        "{name: placed, inputs: [%s], place_vectors: {dim: %lld}}, {name: places, inputs: "
        "[{block_name: placed}], field_linear: {units: %lld, relu: true}}, {name: "
        "page, inputs: [{block_name: places}], field_transformer: {num_heads: %lld, "
        "num_layers: %lld, ff_units: %lld, norm: %s}}, ",
        fields.data, (long long)E, D, H, layers, D, p->o->compat ? "ROW" : "VECTOR");
    for (long long k = 1; k <= K; k++) {
        cr_buf_printf(&b,
                      "{name: page%lld, inputs: [{block_name: page}], slice: {begin: %lld, width: "
                      "%lld}}, ",
                      k, (k - 1) * D, D);
        cr_buf_printf(&places, ", {block_name: page%lld}", k);
    }
    cr_buf_printf(&b,
                  "{name: shown, inputs: [{feature_group_name: place_number}%s], pick: {}}, {name: "
                  "item, inputs: [{feature_group_name: target}], mlp: {hidden_units: %s}}, {name: "
                  "combined, inputs: [{block_name: item}, {block_name: shown}, "
                  "{feature_group_name: place}], mlp: {hidden_units: [%s]}}, {name: score, inputs: "
                  "[{block_name: combined}], linear: {units: 1}}",
                  places.data, deep, last);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: target, feature_names: [target_cat, "
              "target_item]}, {group_name: place, feature_names: [place]}, {group_name: "
              "place_number, feature_names: [place_number]}%s], backbone: {blocks: [%s]}, losses: "
              "[{binary_cross_entropy: {}}], metrics: [{auc: {}}, {grouped_auc: {grouping_key: "
              "place, weighted: true}}], train_metrics: [{auc: {}, since_epoch: true}]}",
              groups.data, b.data);
    cr_buf_clear(&b);
    cr_buf_clear(&groups);
    cr_buf_clear(&fields);
    cr_buf_clear(&places);
}
