/*
 * dag.c - features that read features: values before ids, order, circles, stubs; FG_BUCKETIZE.
 */
#include "feat_test.h"

#define DAG "fg_mode: FG_DAG"
#define S   "\x1d"

static bool open_ok(t_feats *t, const char *data, const char *features) {
    t_open(t, data, features, false, NULL, 0);
    CHECK(t->fs != NULL);
    if (!t->fs) t_show_diag(t);
    return t->fs != NULL;
}

/* a reader may stand before what it reads */
TEST(chains) {
    t_feats t;
    if (open_ok(&t, DAG,
                "- expr_feature: {feature_name: twice, variables: ['feature:cut'], expression: "
                "'cut*2'}\n"
                "- raw_feature: {feature_name: cut, expression: 'user:x', normalizer: "
                "'method=minmax,min=0,max=10', default_value: '7', stub_type: true}\n"
                "- id_feature: {feature_name: id, expression: 'feature:round', num_buckets: 100, "
                "embedding_dim: 4}\n"
                "- expr_feature: {feature_name: round, variables: ['user:x'], expression: "
                "'floor(x)', stub_type: true, default_value: ''}\n"
                "- combo_feature: {feature_name: cross, expression: ['feature:tag', "
                "'feature:round'], vocab_list: [a_3, b_3, z_12], embedding_dim: 4}\n"
                "- id_feature: {feature_name: tag, expression: 'user:t', embedding_dim: 4, "
                "hash_bucket_size: 100, default_value: z}")) {
        CHECK_INT(t.fs->n_want, 2);
        CHECK_INT(t.fs->n_sparse, 3);
        CHECK_INT(t.fs->dense_width, 1);
        TEXT(&t, "x", "3.5", "12", "");
        TEXT(&t, "t", "a" S "b", "", "a");
        t_encode(&t);
        CHECK(t.rc == CR_OK && t.bad.n == 0);
        CHECK(t.batch.dense[0] == 0.7f && t.batch.dense[1] == 2.4f && t.batch.dense[2] == 14);
        CHECK_IDS(&t, 0, IDS(3, 12), LENS(1, 1, 0));
        CHECK_IDS(&t, 1, IDS(2, 3, 4), LENS(2, 1, 0));
        CHECK_INT(t.batch.sparse[2].n_ids, 4); /* tag itself, hashed */
    }
    t_close(&t);
}

/* without inputs of that kind FG_DAG is FG_NORMAL */
TEST(same_as_normal) {
    const char *features =
        "- id_feature: {feature_name: a, expression: 'user:t', embedding_dim: 4, "
        "hash_bucket_size: 100, default_value: z}\n"
        "- lookup_feature: {feature_name: l, map: 'user:m', key: 'user:t'}";
    for (int i = 0; i < 2; i++) {
        t_feats t;
        if (open_ok(&t, i ? DAG : "fg_mode: FG_NORMAL", features)) {
            TEXT(&t, "t", "abc", "", "efg");
            TEXT(&t, "m", "abc:2", "abc:2", "x:1" S "efg:5");
            t_encode(&t);
            CHECK_IDS(&t, 0, IDS(33, 54, 44), ONE_EACH);
            CHECK(t.batch.dense[0] == 2 && t.batch.dense[1] == 0 && t.batch.dense[2] == 5);
        }
        t_close(&t);
    }
}

/* a lookup of text whose numbers a raw_feature takes apart: how the reference makes vectors */
TEST(vector_through_text) {
    t_feats t;
    if (open_ok(&t, DAG,
                "- lookup_feature: {feature_name: v, map: 'user:m', key: 'user:k', value_dim: 2, "
                "default_value: '9'}\n"
                "- lookup_feature: {feature_name: s, map: 'user:m', key: 'user:k', need_discrete: "
                "true, default_value: '9,9', stub_type: true}\n"
                "- raw_feature: {feature_name: r, expression: 'feature:s', value_dim: 2, "
                "separator: ',', default_value: '0'}")) {
        TEXT(&t, "m", "a:1,2" S "b:3,4", "a:1,2");
        TEXT(&t, "k", "b", "x");
        t_encode(&t);
        CHECK(t.rc == CR_OK && t.bad.n == 0);
        const float want[] = {3, 4, 3, 4, 9, 9, 9, 9};
        for (int i = 0; i < 8; i++)
            CHECK(t.batch.dense[i] == want[i]);
    }
    t_close(&t);
}

/* a feature that is no sequence takes the steps of one as values */
TEST(steps_as_values) {
    t_feats t;
    if (open_ok(
            &t, DAG,
            "- sequence_id_feature: {feature_name: s, expression: 'user:s', value_dim: 0, "
            "separator: '|', default_value: '9', sequence_length: 3, stub_type: true}\n"
            "- sequence_raw_feature: {feature_name: x, expression: 'user:x', stub_type: true, "
            "normalizer: 'method=minmax,min=0,max=10'}\n"
            "- id_feature: {feature_name: i, expression: 'feature:s', num_buckets: 10, "
            "embedding_dim: 4}\n"
            "- combo_feature: {feature_name: c, expression: ['feature:s', 'user:u'], "
            "vocab_list: [1_a, 3_a, 9_b], embedding_dim: 4}\n"
            "- expr_feature: {feature_name: e, variables: ['feature:x'], expression: "
            "'reduce_sum(x)'}\n"
            "- id_feature: {feature_name: t, expression: 'feature:x', vocab_list: ['0.5', '1'], "
            "embedding_dim: 4}\n"
            "- sequence_id_feature: {feature_name: q, expression: 'feature:s', num_buckets: "
            "10, value_dim: 0, embedding_dim: 4}")) {
        TEXT(&t, "s", "1|2;3;4;5", "");
        TEXT(&t, "x", "5;10", "");
        TEXT(&t, "u", "a", "b");
        t_encode(&t);
        CHECK(t.rc == CR_OK && t.bad.n == 0);
        CHECK_IDS(&t, 0, IDS(1, 2, 3, 4, 9), LENS(4, 1));
        CHECK_IDS(&t, 1, IDS(2, 1, 3, 1, 4), LENS(4, 1));
        CHECK(t.batch.dense[0] == 1.5f && t.batch.dense[1] == 0);
        CHECK_IDS(&t, 2, IDS(2, 3, 1), LENS(2, 1));
        CHECK_INT(t.batch.sparse[3].steps[1], 3); /* a sequence still reads steps */
        CHECK_INT(t.batch.sparse[3].n_ids, 5);
    }
    t_close(&t);
}

static void refused(const char *data, const char *features, int line, const char *message) {
    t_feats t;
    t_open(&t, data, features, false, NULL, 0);
    bool found = false;
    for (size_t i = 0; i < t.diag.n; i++)
        found |= t.diag.v[i].at.line == line && strstr(t.diag.v[i].msg, message) != NULL;
    CHECK(t.fs == NULL && found);
    if (!found) t_show_diag(&t);
    t_close(&t);
}

TEST(mistakes) {
    refused(DAG,
            "- expr_feature: {feature_name: a, variables: ['feature:b'], expression: 'b+1'}\n"
            "- expr_feature: {feature_name: b, variables: ['feature:c'], expression: 'c+1'}\n"
            "- expr_feature: {feature_name: c, variables: ['feature:a'], expression: 'a+1'}",
            5, "feature 'c' reads 'a', which needs 'c' itself; break the circle");
    refused(DAG, "- raw_feature: {feature_name: a, expression: 'feature:a'}", 3,
            "reads 'a', which needs 'a' itself");
    refused(DAG,
            "- raw_feature: {feature_name: price, expression: 'user:p'}\n"
            "- raw_feature: {feature_name: b, expression: 'feature:prise'}",
            4, "reads the unknown feature 'prise'; did you mean 'price'?");
    refused("fg_mode: FG_NORMAL",
            "- raw_feature: {feature_name: a, expression: 'user:a', stub_type: true}", 3,
            "stub_type needs fg_mode FG_DAG");
}

/* stubs are nobody's business when columns hold what features became */
TEST(stubs_in_fg_none) {
    t_feats t;
    if (open_ok(&t, "fg_mode: FG_NONE",
                "- raw_feature: {feature_name: a, expression: 'user:a', stub_type: true}\n"
                "- id_feature: {feature_name: s, expression: 'user:a', stub_type: true}\n"
                "- combo_feature: {feature_name: c, expression: ['user:a', 'user:b'], stub_type: "
                "true}\n"
                "- expr_feature: {feature_name: b, variables: ['feature:a'], expression: 'a+1'}")) {
        CHECK_INT(t.fs->n_want, 1);
        TEXT(&t, "b", "4");
        t_encode(&t);
        CHECK(t.rc == CR_OK && t.bad.n == 0 && t.batch.dense[0] == 4);
    }
    t_close(&t);
}

/* FG_BUCKETIZE: the column holds what the feature made, only ids are looked up */
TEST(bucketize) {
    t_feats t;
    if (open_ok(&t, "fg_mode: FG_BUCKETIZE",
                "- id_feature: {feature_name: i, expression: 'user:a', embedding_dim: 2, "
                "hash_bucket_size: 100, default_value: xyz}\n"
                "- combo_feature: {feature_name: c, expression: ['user:a', 'user:b'], "
                "embedding_dim: 2, hash_bucket_size: 100}\n"
                "- raw_feature: {feature_name: r, expression: 'user:x', boundaries: [1, 2], "
                "embedding_dim: 2, normalizer: 'method=minmax,min=0,max=10'}\n"
                "- expr_feature: {feature_name: e, variables: ['user:x'], expression: 'x*100', "
                "boundaries: [1, 2], embedding_dim: 2}\n"
                "- combine_feature: {feature_name: n, expression: 'user:a', value_map: {a: 1}, "
                "num_buckets: 10, embedding_dim: 2}\n"
                "- lookup_feature: {feature_name: l, map: 'user:m', key: 'user:k', normalizer: "
                "'method=minmax,min=0,max=10'}\n"
                "- raw_feature: {feature_name: s, expression: 'user:x', stub_type: true}")) {
        CHECK_INT(t.fs->n_want, 6);
        TEXT(&t, "i", "abc" S "efg", "");
        TEXT(&t, "c", "ua_ia", "");
        DOUBLES(&t, "r", 1.5, 0.5);
        TEXT(&t, "e", "1.5" S "3", "");
        DOUBLES(&t, "n", 1.5, NAN);
        TEXT(&t, "l", "2.5", "3");
        t_encode(&t);
        CHECK(t.rc == CR_OK && t.bad.n == 0);
        CHECK_IDS(&t, 0, IDS(33, 44, 13), LENS(2, 1));
        CHECK_IDS(&t, 1, IDS(37), LENS(1, 0));
        CHECK_IDS(&t, 2, IDS(1, 0), ONE_EACH);
        CHECK_IDS(&t, 3, IDS(1, 2, 0), LENS(2, 1));
        CHECK_IDS(&t, 4, IDS(1), LENS(1, 0));
        CHECK(t.batch.dense[0] == 2.5f && t.batch.dense[1] == 3);
    }
    t_close(&t);
}

TEST_MAIN(CASE(chains), CASE(same_as_normal), CASE(vector_through_text), CASE(steps_as_values),
          CASE(mistakes), CASE(stubs_in_fg_none), CASE(bucketize))
