/*
 * golden.c - the golden vectors of TorchEasyRec's own tests for id_feature and raw_feature.
 */
#include "feat_test.h"

#define NORMAL    "fg_mode: FG_NORMAL"
#define ID(rest)  "- id_feature: {feature_name: f, expression: 'user:c', embedding_dim: 4, " rest "}"
#define RAW(rest) "- raw_feature: {feature_name: f, expression: 'user:c', " rest "}"

/* data_config of the coming cases */
static const char *data_lines = NORMAL;

static void open_or_say(t_feats *t, const char *features) {
    t_open(t, data_lines, features, false, NULL, 0);
    CHECK(t->fs != NULL);
    if (!t->fs) t_show_diag(t);
}

#define STRINGS                                                                                    \
    "abc\x1d"                                                                                      \
    "efg",                                                                                         \
        NULL, "hij"
#define GOLD_TEXT(features, column, ids, lens)                                                     \
    do {                                                                                           \
        t_feats t;                                                                                 \
        open_or_say(&t, features);                                                                 \
        if (t.fs) {                                                                                \
            TEXT(&t, "c", column);                                                                 \
            t_encode(&t);                                                                          \
            CHECK(t.rc == CR_OK && t.bad.n == 0);                                                  \
            CHECK_IDS(&t, 0, ids, lens);                                                           \
        }                                                                                          \
        t_close(&t);                                                                               \
    } while (0)
#define COL(...) __VA_ARGS__

TEST(id_hash) {
    GOLD_TEXT(ID("hash_bucket_size: 100"), COL(STRINGS), IDS(33, 44, 66), LENS(2, 0, 1));
    GOLD_TEXT(ID("hash_bucket_size: 100, default_value: xyz"), COL(STRINGS), IDS(33, 44, 13, 66),
              LENS(2, 1, 1));
    t_feats t;
    open_or_say(&t, ID("hash_bucket_size: 100, default_value: '4'"));
    INTS(&t, "c", 1, 2, T_NULL, 3);
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(95, 70, 56, 13), ONE_EACH);
    CHECK_INT(cr_features_counts(&t.enc)[0].missing, 1);
    t_close(&t);
}

TEST(id_vocab_list) {
    GOLD_TEXT(ID("vocab_list: [abc, efg]"), COL(STRINGS), IDS(2, 3, 1), LENS(2, 0, 1));
    GOLD_TEXT(ID("vocab_list: [abc, efg], default_value: xyz"), COL(STRINGS), IDS(2, 3, 0, 1),
              LENS(2, 1, 1));
    GOLD_TEXT(ID("vocab_list: [abc, efg], default_value: abc"), COL(STRINGS), IDS(2, 3, 2, 1),
              LENS(2, 1, 1));
    GOLD_TEXT(ID("vocab_list: [xyz, abc, efg], default_bucketize_value: 0"), COL(STRINGS),
              IDS(1, 2, 0), LENS(2, 0, 1));
}

TEST(id_vocab_dict) {
    GOLD_TEXT(ID("vocab_dict: {abc: 2, efg: 2}"), COL(STRINGS), IDS(2, 2, 1), LENS(2, 0, 1));
    GOLD_TEXT(ID("vocab_dict: {abc: 2, efg: 2}, default_value: xyz"), COL(STRINGS), IDS(2, 2, 0, 1),
              LENS(2, 1, 1));
    GOLD_TEXT(ID("vocab_dict: {abc: 2, efg: 2}, default_value: abc"), COL(STRINGS), IDS(0, 2, 0, 1),
              LENS(2, 1, 1));
    GOLD_TEXT(ID("vocab_dict: {abc: 1, efg: 1}, default_bucketize_value: 0"), COL(STRINGS),
              IDS(1, 1, 0), LENS(2, 0, 1));
}

TEST(id_num_buckets) {
    GOLD_TEXT(ID("num_buckets: 10, default_value: '3'"),
              COL("0\x1d"
                  "1",
                  NULL, "2"),
              IDS(0, 1, 3, 2), LENS(2, 1, 1));
    GOLD_TEXT(ID("num_buckets: 100"),
              COL("+01", "00099", "100", "9223372036854775807", "-1", "123456789012345678901"),
              IDS(1, 99, 0, 0, 0, 0), ONE_EACH);
    t_feats t;
    open_or_say(&t, ID("num_buckets: 100"));
    INTS(&t, "c", -1, 0, 99, 100, INT64_MAX);
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(0, 0, 99, 0, 0), ONE_EACH);
    CHECK_INT(cr_features_counts(&t.enc)[0].out_of_range, 3);
    CHECK_INT(cr_features_counts(&t.enc)[0].first_bad, -1);
    t_close(&t);
}

TEST(id_weighted) {
    t_feats t;
    open_or_say(&t, ID("num_buckets: 10000, weighted: true"));
    TEXT(&t, "c", "123:0.5", "1391:0.3", NULL,
         "12:0.9\x1d"
         "123:0.21",
         "");
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(123, 1391, 12, 123), LENS(1, 1, 0, 2, 0));
    const float want[] = {.5f, .3f, .9f, .21f};
    for (int i = 0; i < 4; i++)
        CHECK(t.batch.sparse[0].w[i] == want[i]);
    t_close(&t);
}

TEST(id_farm_hash) {
    data_lines = NORMAL ", use_farm_hash: true";
    GOLD_TEXT(ID("hash_bucket_size: 100, default_value: xyz"), COL(STRINGS), IDS(85, 59, 20, 95),
              LENS(2, 1, 1));
    GOLD_TEXT(ID("hash_bucket_size: 100, separator: '|'"),
              COL("Action|Adventure|Comedy", "unknown"), IDS(40, 46, 39, 55), LENS(3, 1));
    data_lines = NORMAL;
}

#define GOLD_NUM(features, column, ids, lens)                                                      \
    do {                                                                                           \
        t_feats t;                                                                                 \
        open_or_say(&t, features);                                                                 \
        if (t.fs) {                                                                                \
            DOUBLES(&t, "c", column);                                                              \
            t_encode(&t);                                                                          \
            CHECK(t.rc == CR_OK && t.bad.n == 0);                                                  \
            CHECK_IDS(&t, 0, ids, lens);                                                           \
        }                                                                                          \
        t_close(&t);                                                                               \
    } while (0)

TEST(raw_boundaries) {
    GOLD_NUM(RAW("embedding_dim: 4, boundaries: [0.05, 0.15, 0.25]"), COL(0.1, 0.2, 0.3, -1),
             IDS(1, 2, 3, 0), ONE_EACH);
    GOLD_NUM(RAW("embedding_dim: 4, boundaries: [0, 5, 10]"), COL(3), IDS(1), ONE_EACH);
    GOLD_NUM(RAW("embedding_dim: 4, boundaries: [0.1, 0.2, 0.3], default_value: ''"),
             COL(0.05, 0.1, 0.2, 0.3, NAN), IDS(0, 1, 2, 3, 0), ONE_EACH);
    GOLD_NUM(RAW("embedding_dim: 4, boundaries: [0.01, 0.1], default_value: '0.1', "
                 "normalizer: 'method=zscore,mean=0.1,standard_deviation=10'"),
             COL(0.2, NAN), IDS(1, 2), ONE_EACH);
    /* the same as CSV text without a declared type, which the reference reads as numbers */
    GOLD_TEXT(RAW("embedding_dim: 4, boundaries: [0.1, 0.2, 0.3], default_value: ''"),
              COL("0.05", "0.1", "0.2", "0.3", ""), IDS(0, 1, 2, 3, 0), ONE_EACH);
}

TEST(raw_text_null_has_no_id) {
    t_feats t;
    t_open(&t, NORMAL ", input_fields: [{input_name: c, input_type: STRING}]",
           RAW("embedding_dim: 4, boundaries: [0.1, 0.2, 0.3], default_value: ''"), false, NULL, 0);
    CHECK(t.fs != NULL);
    TEXT(&t, "c", "0.05", "", "0.3");
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(0, 3), LENS(1, 0, 1));
    t_close(&t);
}

static void check_dense(const char *features, const double *in, const float *want, int n) {
    t_feats t;
    open_or_say(&t, features);
    if (t.fs) {
        t_f64(&t, "c", in, n);
        t_encode(&t);
        CHECK(t.rc == CR_OK && t.bad.n == 0);
        for (int i = 0; i < n; i++)
            CHECK_NEAR(t.batch.dense[i], want[i], 0, 2e-7);
    }
    t_close(&t);
}

TEST(raw_log10) {
    check_dense(RAW("default_value: '0.1', normalizer: 'method=log10,threshold=0.05,default=-5'"),
                (const double[]){0.1, 0.01, 10, NAN}, (const float[]){-1, -5, 1, 0.1f}, 4);
    check_dense(RAW("normalizer: 'method=log10'"), (const double[]){0, 0.05, 0.1, 1, 10},
                (const float[]){0, 0, 0, 0, 1}, 5);
}

TEST_MAIN(CASE(id_hash), CASE(id_vocab_list), CASE(id_vocab_dict), CASE(id_num_buckets),
          CASE(id_weighted), CASE(id_farm_hash), CASE(raw_boundaries),
          CASE(raw_text_null_has_no_id), CASE(raw_log10))
