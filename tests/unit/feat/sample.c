/*
 * What columns of made-up data hold: each reader's wish, and one column that suits all of them.
 */
#include "feat/sample.h"

#include <math.h>

#include "feat_test.h"

static t_feats t;
static cr_synth_table tab;

static const cr_data_conf *open_(const char *data, const char *features) {
    memset(&tab, 0, sizeof tab);
    t_open(&t, data, features, true, NULL, 0);
    if (!t.fs) t_show_diag(&t);
    CHECK(t.fs != NULL);
    t_root *r = cr_conf_bind(&t.arena, &t_root_msg, t.doc.root, &t.diag);
    cr_data_conf_finish(r->data_config, &t.arena, &t.diag);
    if (t.fs) cr_features_sample(t.fs, r->data_config, &tab, &t.arena);
    return r->data_config;
}

static const cr_tab_col *col(const char *name) {
    static const cr_tab_col none;
    for (int i = 0; i < tab.n_cols; i++)
        if (strcmp(tab.cols[i].name, name) == 0) return &tab.cols[i];
    fprintf(stderr, "  no column %s\n", name);
    CHECK(false);
    return &none;
}

static int index_of(const char *name) {
    return (int)(col(name) - tab.cols);
}

#define F(type, body) "- " type ": {" body "}\n"
#define RAW           "fg_mode: FG_NORMAL, label_fields: [y], sample_weight_fields: [w]"

TEST(one_reader) {
    open_(RAW,
          F("id_feature",
            "feature_name: a, expression: 'user:a', num_buckets: 50, embedding_dim: 4")
              F("id_feature",
                "feature_name: b, expression: 'user:b', hash_bucket_size: 70, embedding_dim: 4")
                  F("id_feature", "feature_name: c, expression: 'user:c', vocab_list: [x, yy, z], "
                                  "embedding_dim: 4, separator: '|'")
                      F("id_feature", "feature_name: d, expression: 'user:d', num_buckets: 9, "
                                      "weighted: true, embedding_dim: 4")
                          F("raw_feature", "feature_name: e, expression: 'user:e'")
                              F("raw_feature", "feature_name: f, expression: 'user:f', boundaries: "
                                               "[2, 5], embedding_dim: 4")
                                  F("raw_feature", "feature_name: g, expression: 'user:g', "
                                                   "value_dim: 3, separator: ','")
                                      F("raw_feature",
                                        "feature_name: h, expression: 'user:h', normalizer: "
                                        "'method=minmax,min=3,max=9'"));
    CHECK_INT(col("a")->value.leaf, CR_TAB_INT);
    CHECK_INT(col("a")->value.lo, 0);
    CHECK_INT(col("a")->value.card, 50);
    CHECK_INT(col("a")->form, CR_TAB_PLAIN);
    CHECK_INT(col("b")->value.leaf, CR_TAB_TOKEN);
    CHECK_INT(col("b")->value.card, 70);
    CHECK_INT(col("c")->value.leaf, CR_TAB_WORD);
    CHECK_INT(col("c")->value.card, 3);
    CHECK_STR(col("c")->value.words[1], "yy");
    CHECK_INT(col("c")->max_values, 5);
    CHECK_STR(col("c")->sep, "|");
    CHECK_INT(col("c")->form, CR_TAB_LIST);
    CHECK(col("d")->weighted);
    CHECK_INT(col("d")->form, CR_TAB_TEXT);
    CHECK_INT(col("e")->value.leaf, CR_TAB_REAL);
    CHECK(col("e")->single);
    /* on both sides of all boundaries, and no price below nothing */
    CHECK_INT(col("f")->value.n_knots, 4);
    CHECK(col("f")->value.knots[0] >= 0 && col("f")->value.knots[0] < 2);
    CHECK(col("f")->value.knots[3] > 5);
    CHECK_INT(col("g")->min_values, 3);
    CHECK_INT(col("g")->max_values, 3);
    CHECK_INT(col("g")->form, CR_TAB_LIST);
    CHECK_NEAR(col("h")->value.knots[0], 3, 1e-6, 0);
    CHECK_NEAR(col("h")->value.knots[col("h")->value.n_knots - 1], 9, 1e-6, 0);
    CHECK_INT(tab.n_labels, 1);
    CHECK_INT(tab.n_weights, 1);
    CHECK_INT(tab.n_order, tab.n_cols + 2);
    t_close(&t);
}

TEST(several_readers) {
    open_(RAW, F("id_feature", "feature_name: a, expression: 'user:x', hash_bucket_size: 99, "
                               "embedding_dim: 4, separator: '|'")
                   F("raw_feature", "feature_name: b, expression: 'user:x'") /* a number, one */
          F("id_feature",
            "feature_name: c, expression: 'user:k', num_buckets: 40, embedding_dim: 4")
              F("id_feature",
                "feature_name: d, expression: 'user:k', num_buckets: 30, embedding_dim: 4")
                  F("raw_feature", "feature_name: e, expression: 'user:k', boundaries: [5, 20], "
                                   "embedding_dim: 4")
                      F("id_feature", "feature_name: f, expression: 'user:v', vocab_list: ['1', "
                                      "'3'], embedding_dim: 4")
                          F("raw_feature", "feature_name: g, expression: 'user:v'")
                              F("id_feature", "feature_name: h, expression: 'user:u', vocab_list: "
                                              "[low, top], embedding_dim: 4")
                                  F("raw_feature", "feature_name: i, expression: 'user:u'"));
    CHECK_INT(col("x")->value.leaf, CR_TAB_REAL);
    CHECK_INT(col("x")->max_values, 1);
    /* whole numbers that all of them take */
    CHECK_INT(col("k")->value.leaf, CR_TAB_INT);
    CHECK(col("k")->value.lo >= 0);
    CHECK(col("k")->value.lo + col("k")->value.card <= 30);
    CHECK(col("k")->value.card > 15);
    /* words that are numbers, and none besides; words that are not give way */
    CHECK_INT(col("v")->value.leaf, CR_TAB_WORD);
    CHECK(col("v")->value.closed);
    CHECK_INT(col("u")->value.leaf, CR_TAB_REAL);
    t_close(&t);
}

TEST(maps_and_formulas) {
    open_(RAW,
          F("lookup_feature", "feature_name: a, map: 'user:m', key: 'item:k'")
              F("lookup_feature", "feature_name: b, map: 'user:m', key: 'item:k2', value_dim: 2")
                  F("match_feature", "feature_name: c, nested_map: 'user:n', pkey: 'item:k', skey: "
                                     "ALL, num_buckets: 7, embedding_dim: 4")
                      F("expr_feature",
                        "feature_name: d, expression: 'sqrt(p) / (q - 50)', variables: ['user:p', "
                        "'user:q']")
                          F("bool_mask_feature", "feature_name: e, expression: ['user:v', "
                                                 "'user:s'], hash_bucket_size: 9, embedding_dim: 4")
                              F("kv_dot_product", "feature_name: f, query: 'user:kq', document: "
                                                  "'item:kd', kv_delimiter: '='"));
    CHECK_INT(col("m")->pairs, CR_TAB_PAIRS);
    CHECK_INT(col("m")->n_keys, 2);
    CHECK_INT(col("m")->keys[0], index_of("k"));
    CHECK_INT(col("m")->keys[1], index_of("k2"));
    CHECK_INT(col("m")->dims, 2);
    CHECK_INT(col("n")->pairs, CR_TAB_NESTED);
    CHECK_INT(col("n")->n_skeys, 0);
    CHECK_INT(col("n")->value.leaf, CR_TAB_INT);
    CHECK_INT(col("n")->value.card, 7);
    CHECK(col("p")->value.knots[0] >= 0); /* the root is finite there */
    CHECK_INT(col("s")->values_of, index_of("v"));
    CHECK_INT(col("kq")->kv, '=');
    CHECK(col("kq")->share == 0);
    t_close(&t);
}

TEST(sequences) {
    const char *block =
        "- sequence_feature:\n"
        "    sequence_name: s\n"
        "    sequence_length: 9\n"
        "    sequence_delim: '|'\n"
        "    features:\n"
        "    - id_feature: {feature_name: a, expression: 'item:a', num_buckets: 5, embedding_dim: "
        "4}\n"
        "    - raw_feature: {feature_name: b, expression: 'item:b'}\n"
        "    - combo_feature: {feature_name: c, expression: ['user:u', 'item:a'], "
        "hash_bucket_size: 9, embedding_dim: 4}\n"
        "- sequence_id_feature: {feature_name: o, expression: 'user:o', num_buckets: 5, "
        "embedding_dim: 4, sequence_length: 4, value_dim: 0}\n";
    open_(RAW, block);
    CHECK(col("s__a")->seq && col("s__b")->seq && !col("u")->seq);
    CHECK_INT(col("s__a")->max_steps, 9);
    CHECK_STR(col("s__a")->delim, "|");
    CHECK_INT(col("s__b")->steps_of, index_of("s__a"));
    CHECK_INT(col("s__a")->form, CR_TAB_LIST);
    CHECK_INT(col("o")->steps_of, -1);
    CHECK_INT(col("o")->form, CR_TAB_LISTS);
    /* a group of the model joins them; the shorter one decides */
    static const char *const both[] = {"s__a", "o", "nothing"};
    cr_sample_same_steps(&tab, t.fs, both, 3);
    CHECK_INT(col("o")->steps_of, index_of("s__a"));
    CHECK_INT(col("s__a")->max_steps, 4);
    t_close(&t);
    /* encoded: one id per step; what would be computed has its own column */
    open_("fg_mode: FG_NONE, label_fields: [y]", block);
    CHECK_INT(col("s__a")->value.leaf, CR_TAB_INT);
    CHECK_INT(col("s__c")->value.card, 9);
    CHECK_INT(col("s__c")->steps_of, index_of("s__a"));
    t_close(&t);
}

TEST(declared_types) {
    open_(
        "fg_mode: FG_NORMAL, label_fields: [y], input_fields: [{input_name: y}, {input_name: a, "
        "input_type: INT32}, {input_name: spare, input_type: DOUBLE}, {input_name: k, input_type: "
        "STRING}]",
        F("id_feature", "feature_name: a, expression: 'user:a', hash_bucket_size: 50, "
                        "embedding_dim: 4")
            F("id_feature",
              "feature_name: k, expression: 'user:k', num_buckets: 50, embedding_dim: 4")
                F("raw_feature", "feature_name: r, expression: 'user:r'"));
    CHECK_INT(col("a")->value.leaf, CR_TAB_INT);
    CHECK(col("a")->narrow);
    CHECK_INT(col("k")->form, CR_TAB_TEXT);
    CHECK_INT(col("spare")->value.leaf, CR_TAB_REAL);
    CHECK(col("spare")->share == 0);
    /* input_fields first, in its order */
    CHECK_INT(tab.order[0], tab.n_cols); /* the label */
    CHECK_INT(tab.order[1], index_of("a"));
    CHECK_INT(tab.order[2], index_of("spare"));
    CHECK_INT(tab.order[3], index_of("k"));
    CHECK_INT(tab.order[4], index_of("r"));
    t_close(&t);
}

TEST_MAIN(CASE(one_reader), CASE(several_readers), CASE(maps_and_formulas), CASE(sequences),
          CASE(declared_types))
