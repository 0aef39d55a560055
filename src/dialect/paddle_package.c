/*
 * paddle_package.c - PaddleRec's iprec (Li et al. 2021: package recommendation with intra- and
 * inter-package attention networks). A package is an item, its publisher and the friends who read
 * it; the model judges one of them for a user, by what the user has seen and by its neighbours.
 *
 *   user      u = ReLU(W [t; u']), where t are the user's friends, items and publishers, each
 *             weighted by attention, and then the three of them
 *   package   friends weighted by k attentions with the item, these by one with the user; then the
 *             friends f, the item i, the publisher b and their products f i, f b, i b, f i b by one
 *   both      u + sum of seen packages, p + sums of neighbours, each through a gate; layers over
 *             [u; p; u p]
 *
 * `crank run` writes the rows (src/tool/package_rows.c), without padding. As shipped, masks are
 * turned around in all attentions but the first one of a package, so that they look at the padding
 * alone; the paper's is computed here.
 */
#include "dialect/paddle_int.h"

cr_paddle_packages cr_pd_package_sizes(cr_pd *p) {
    cr_pd_map h = p->hyper;
    return (cr_paddle_packages){
        .users = cr_pd_int(p, h, "num_users", CR_PD_REQUIRED, 1, CR_PD_MAX_ROWS),
        .items = cr_pd_int(p, h, "num_items", CR_PD_REQUIRED, 1, CR_PD_MAX_ROWS),
        .bizs = cr_pd_int(p, h, "num_bizs", CR_PD_REQUIRED, 1, CR_PD_MAX_ROWS),
        .friends = cr_pd_int(p, h, "f_max_len", 20, 1, 10000),
        .own_items = cr_pd_int(p, h, "u_max_i", 99, 1, 100000),
        .own_friends = cr_pd_int(p, h, "u_max_f", 220, 1, 100000),
        .seen = cr_pd_int(p, h, "u_max_pack", 50, 0, 100000),
        .by_biz = cr_pd_int(p, h, "pack_max_nei_b", 20, 0, 100000),
        .by_friend = cr_pd_int(p, h, "pack_max_nei_f", 20, 0, 100000),
    };
}

void cr_pd_packages(cr_pd *p) {
    static const char *const lists[] = {"own_friends", "own_items", "own_bizs", "items",
                                        "bizs",        "seen",      "by_biz",   "by_friend",
                                        "friends",     "package"};
    cr_buf fields;
    cr_buf_init(&fields);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        bool number = (i >= 5 && i <= 7) || i == 9;
        cr_buf_printf(&fields, ", {input_name: %s, input_type: %s}", lists[i],
                      number ? "ARRAY_FLOAT" : "ARRAY_INT64");
    }
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \";\", list_separator: \" \"}, input_fields: "
              "[{input_name: label, input_type: INT64}, {input_name: user, input_type: INT64}%s]}",
              fields.data);
    cr_buf_clear(&fields);
}

/* Ids at each step, with the vectors of a table. */
static void steps(cr_pd *p, const char *name, const char *table, int64_t rows, int64_t longest,
                  long long dim) {
    cr_pd_feature(p, p->data_at,
                  "sequence_id_feature: {feature_name: %s, sequence_length: %lld, num_buckets: "
                  "%lld, embedding_dim: %lld, embedding_name: %s_emb, init_fn: "
                  "nn.init.xavier_uniform_}",
                  name, (long long)longest, (long long)rows + 1, dim, table);
}

static void numbers(cr_pd *p, const char *name, int64_t longest) {
    cr_pd_feature(p, p->data_at, "sequence_raw_feature: {feature_name: %s, sequence_length: %lld}",
                  name, (long long)longest);
}

static void features(cr_pd *p, const cr_paddle_packages *s, long long dim) {
    int64_t packages = s->seen + s->by_biz + s->by_friend + 1;
    cr_pd_feature(p, p->data_at,
                  "id_feature: {feature_name: user, num_buckets: %lld, embedding_dim: %lld, "
                  "embedding_name: user_emb, init_fn: nn.init.xavier_uniform_}",
                  (long long)s->users + 1, dim);
    steps(p, "own_friends", "user", s->users, s->own_friends, dim);
    steps(p, "own_items", "item", s->items, s->own_items, dim);
    steps(p, "own_bizs", "biz", s->bizs, s->own_items, dim);
    steps(p, "items", "item", s->items, packages, dim);
    steps(p, "bizs", "biz", s->bizs, packages, dim);
    numbers(p, "seen", packages);
    numbers(p, "by_biz", packages);
    numbers(p, "by_friend", packages);
    steps(p, "friends", "user", s->users, packages * s->friends, dim);
    numbers(p, "package", packages * s->friends);
}

/* Packages of a kind, each through a gate with a row, added up. */
static void gated(cr_buf *b, const char *kind, const char *row, long long dim) {
    cr_buf_printf(
        b,
        "{name: %s_near, inputs: [{block_name: packs}, {block_name: %s}], spread: {}}, {name: "
        "%s_linear, inputs: [{block_name: %s_near}], linear: {units: %lld}}, {name: %s_gate, "
        "inputs: [{block_name: %s_linear}], activation: {function: nn.Sigmoid}}, {name: %s_packs, "
        "inputs: [{block_name: %s_gate}, {block_name: packs}, {block_name: %s}], multiply: {}}, "
        "{name: %s_sum, inputs: [{block_name: %s_packs}], pooling: {pooling_type: sum}}, ",
        kind, row, kind, kind, dim, kind, kind, kind, kind, kind, kind, kind);
}

static void cut(cr_buf *b, const char *name, const char *group, long long begin, long long width) {
    cr_buf_printf(b,
                  "{name: %s, inputs: [{feature_group_name: %s}], slice: {begin: %lld, width: "
                  "%lld}}, ",
                  name, group, begin, width);
}

void cr_pd_iprec(cr_pd *p) {
    cr_paddle_packages s = cr_pd_package_sizes(p);
    long long dim = (long long)cr_pd_int(p, p->hyper, "hidden_units", CR_PD_REQUIRED, 1, 4096);
    long long heads = (long long)cr_pd_int(p, p->hyper, "k", CR_PD_REQUIRED, 1, 256);
    double drop = cr_pd_num(p, p->hyper, "dropout_rate", 0, 0, 0.999);
    static const char *const kinds[] = {"friends", "items", "bizs"};
    cr_buf b;
    cr_buf_init(&b);
    features(p, &s, dim);
    /* the user's vector comes from the table of the friends */
    cr_buf_str(&b, "{name: self, inputs: [{feature_group_name: own_friends}], query: {}}, ");
    for (int i = 0; i < 3; i++)
        cr_buf_printf(&b,
                      "{name: type_%s, inputs: [{block_name: self}, {feature_group_name: own_%s}], "
                      "query_attention: {use_bn: true, dropout_ratio: %.9g}}, ",
                      kinds[i], kinds[i], drop);
    cr_buf_printf(
        &b,
        "{name: types, inputs: [{block_name: type_friends}, {block_name: type_items}, {block_name: "
        "type_bizs}], concat: {}}, {name: type, inputs: [{block_name: self}, {block_name: types}], "
        "vector_attention: {use_bn: true, dropout_ratio: %.9g}}, {name: user, inputs: "
        "[{block_name: type}, {block_name: self}], mlp: {hidden_units: [%lld], bias: "
        "false}}, ",
        drop, dim);
    cut(&b, "item", "packages", 0, dim);
    cut(&b, "biz", "packages", dim, dim);
    cut(&b, "seen", "packages", 2 * dim, 1);
    cut(&b, "by_biz", "packages", 2 * dim + 1, 1);
    cut(&b, "by_friend", "packages", 2 * dim + 2, 1);
    cut(&b, "friends", "members", 0, dim);
    cut(&b, "package", "members", dim, 1);
    cr_buf_printf(
        &b,
        "{name: heads, inputs: [{block_name: friends}, {block_name: package}, {block_name: item}], "
        "member_attention: {heads: %lld}}, {name: friend, inputs: [{block_name: user}, "
        "{block_name: heads}], vector_attention: {dropout_ratio: %.9g}}, {name: fi, inputs: "
        "[{block_name: friend}, {block_name: item}], multiply: {}}, {name: fb, inputs: "
        "[{block_name: friend}, {block_name: biz}], multiply: {}}, {name: ib, inputs: "
        "[{block_name: item}, {block_name: biz}], multiply: {}}, {name: fib, inputs: [{block_name: "
        "fi}, {block_name: biz}], multiply: {}}, {name: parts, inputs: [{block_name: friend}, "
        "{block_name: item}, {block_name: biz}, {block_name: fi}, {block_name: fb}, {block_name: "
        "ib}, {block_name: fib}], concat: {}}, {name: packs, inputs: [{block_name: user}, "
        "{block_name: parts}], vector_attention: {use_bn: true, dropout_ratio: %.9g}}, {name: "
        "judged, inputs: [{block_name: packs}], pooling: {pooling_type: last}}, ",
        heads, drop, drop);
    gated(&b, "seen", "user", dim);
    gated(&b, "by_biz", "judged", dim);
    gated(&b, "by_friend", "judged", dim);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: own_friends, group_type: SEQUENCE, "
        "feature_names: [user, own_friends]}, {group_name: own_items, "
        "group_type: SEQUENCE, feature_names: [own_items]}, {group_name: own_bizs, group_type: "
        "SEQUENCE, feature_names: [own_bizs]}, {group_name: packages, group_type: SEQUENCE, "
        "feature_names: [items, bizs, seen, by_biz, by_friend]}, {group_name: members, group_type: "
        "SEQUENCE, feature_names: [friends, package]}], backbone: {blocks: [%s{name: whom, inputs: "
        "[{block_name: user}, {block_name: seen_sum}], add: {}}, {name: what, inputs: "
        "[{block_name: judged}, {block_name: by_biz_sum}, {block_name: by_friend_sum}], add: {}}, "
        "{name: both, inputs: [{block_name: whom}, {block_name: what}], multiply: {}}, {name: "
        "deep, inputs: [{block_name: whom}, {block_name: what}, {block_name: both}], mlp: "
        "{hidden_units: [64, 32], dropout_ratio: [%.9g, %.9g]}}]}, " CR_PD_ONE_SCORE "}",
        b.data, drop, drop);
    cr_buf_clear(&b);
}
