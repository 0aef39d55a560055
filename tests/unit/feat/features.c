/*
 * features.c - features as a whole: columns wanted, modes, defaults, bad rows, counters, config
 * errors and fg.json.
 */
#include "feat_test.h"

#include <pthread.h>
#include <unistd.h>

#include "feat/hash.h"

#define NORMAL    "fg_mode: FG_NORMAL"
#define NONE      "fg_mode: FG_NONE"
#define ID(rest)  "- id_feature: {feature_name: f, expression: 'user:c', embedding_dim: 4, " rest "}"
#define RAW(rest) "- raw_feature: {feature_name: f, expression: 'user:c', " rest "}"

static bool open_ok(t_feats *t, const char *data, const char *features) {
    t_open(t, data, features, false, NULL, 0);
    CHECK(t->fs != NULL);
    if (!t->fs) t_show_diag(t);
    return t->fs != NULL;
}

TEST(wants_each_column_once) {
    t_feats t;
    const char *const reserved[] = {"id", "age"};
    t_open(
        &t, NORMAL ", label_fields: [y, z], sample_weight_fields: [w]",
        "- id_feature: {feature_name: a, expression: 'user:age', num_buckets: 9, embedding_dim: "
        "4}\n"
        "- raw_feature: {feature_name: b, expression: 'item:age'}\n"
        "- raw_feature: {feature_name: v, expression: 'item:vec', value_dim: 3}\n"
        "- id_feature: {feature_name: k, expression: 'const:7', num_buckets: 9, embedding_dim: 4}\n"
        "- raw_feature: {feature_name: p, expression: 'context:price', boundaries: [1, 2], "
        "embedding_dim: 2}",
        true, reserved, 2);
    CHECK(t.fs != NULL);
    if (!t.fs) t_show_diag(&t);
    const char *want[] = {"age", "vec", "price", "y", "z", "w", "id"};
    CHECK_INT(t.fs->n_want, 7);
    for (int i = 0; i < 7; i++) {
        CHECK_STR(t.fs->want[i].name, want[i]);
        CHECK_INT(t.fs->want[i].type, -1);
    }
    CHECK_STR(t.fs->want[0].why, "feature 'a'");
    CHECK_INT(t.fs->want[0].at.line, 3);
    CHECK_STR(t.fs->want[3].why, "label_fields");
    CHECK_INT(t.fs->want[3].at.line, 1);
    CHECK_INT(t.fs->n_sparse, 3);
    CHECK_INT(t.fs->dense_width, 4);
    CHECK_INT(cr_features_find(t.fs, "v")->dense_off, 1);
    CHECK_INT(cr_features_find(t.fs, "v")->value_dim, 3);
    CHECK_INT(cr_features_find(t.fs, "p")->slot, 2);
    CHECK_INT(cr_features_find(t.fs, "p")->num_embeddings, 3);
    CHECK(cr_features_find(t.fs, "nope") == NULL);

    TEXT(&t, "age", "3", "4");
    TEXT(&t, "vec",
         "1\x1d"
         "2\x1d"
         "3",
         "4\x1d"
         "5\x1d"
         "6");
    TEXT(&t, "price", "0.5", "2");
    TEXT(&t, "y", "1", "0");
    TEXT(&t, "z", "0.25", "-2e1");
    TEXT(&t, "w", "2", "1");
    TEXT(&t, "id", "u1", "u2");
    t_encode(&t);
    CHECK(t.rc == CR_OK && t.bad.n == 0);
    CHECK_INT(t.batch.n_rows, 2);
    CHECK_IDS(&t, 0, IDS(3, 4), ONE_EACH);
    CHECK_IDS(&t, 1, IDS(7, 7), ONE_EACH);
    CHECK_IDS(&t, 2, IDS(0, 2), ONE_EACH);
    const float dense[] = {3, 1, 2, 3, 4, 4, 5, 6};
    for (int i = 0; i < 8; i++)
        CHECK(t.batch.dense[i] == dense[i]);
    CHECK_INT(t.batch.n_labels, 2);
    CHECK(t.batch.labels[0][0] == 1 && t.batch.labels[0][1] == 0);
    CHECK(t.batch.labels[1][0] == 0.25f && t.batch.labels[1][1] == -20);
    CHECK(t.batch.weights[0][0] == 2 && t.batch.weights[0][1] == 1);
    CHECK_INT(t.batch.n_reserved, 2);
    CHECK(memcmp(t.batch.reserved[0].bytes + t.batch.reserved[0].beg[1], "u2", 2) == 0);
    t_close(&t);
}

TEST(predict_needs_no_labels) {
    t_feats t;
    t_open(&t, NORMAL ", label_fields: [y]", ID("num_buckets: 9"), false, NULL, 0);
    CHECK(t.fs != NULL && t.fs->n_want == 1 && t.fs->n_labels == 0);
    t_close(&t);
}

TEST(bad_rows) {
    t_feats t;
    t_open(
        &t, NORMAL ", label_fields: [y], sample_weight_fields: [w]",
        "- id_feature: {feature_name: a, expression: 'user:a', num_buckets: 9, embedding_dim: 4}\n"
        "- raw_feature: {feature_name: b, expression: 'user:b'}\n"
        "- raw_feature: {feature_name: v, expression: 'user:v', value_dim: 2}",
        true, NULL, 0);
    TEXT(&t, "a", "1", "x7", "2", "3", "4", "5", "1\x1dq");
    TEXT(&t, "b", "1", "1", "one", "nan", "1", "1e39", "2");
    TEXT(&t, "v",
         "1\x1d"
         "2",
         "1\x1d"
         "2",
         "1\x1d"
         "2",
         "1\x1d"
         "2",
         "1",
         "1\x1d"
         "2",
         "1\x1d"
         "2");
    TEXT(&t, "y", "1", "1", "1", "", "no", "1", "1");
    TEXT(&t, "w", "1", "1", "1", "1", "1", NULL, "1");
    t_encode(&t);
    CHECK(t.rc == CR_OK);
    bool seen[7] = {false};
    for (int64_t i = 0; i < t.bad.n; i++)
        seen[t.bad.rows[i]] = true;
    for (int r = 1; r < 7; r++)
        CHECK(seen[r]);
    CHECK(!seen[0]);
    CHECK_INT(t.bad.v[0].row, 1);
    CHECK_INT(t.bad.v[0].line, 2);
    CHECK_STR(t.bad.v[0].msg, "column 'a', value 'x7': not an integer");
    CHECK_STR(t.bad.v[1].msg, "column 'b', value 'one': not a number");
    bool found = false;
    for (int64_t i = 0; i < t.bad.n_kept; i++)
        found |= strcmp(t.bad.v[i].msg, "column 'v': 1 value, value_dim is 2") == 0;
    CHECK(found);
    t_close(&t);
}

TEST(id_values) {
    t_feats t;
    /* value_dim takes the first values; empty ones do not count; nothing but separators is missing
     */
    if (open_ok(&t, NORMAL,
                ID("num_buckets: 100, value_dim: 2, separator: ',', default_value: '9'"))) {
        TEXT(&t, "c", "1,2,3", ",4,,5,6", ",", "7", "8,x", "1,2,x");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(1, 2, 4, 5, 9, 7, 0, 1, 2), LENS(2, 2, 1, 1, 1, 2));
        CHECK_INT(t.bad.n, 1); /* "8,x"; the x of "1,2,x" is never looked at */
        CHECK_INT(cr_features_counts(&t.enc)[0].missing, 1);
    }
    t_close(&t);
    /* the default is one token, never split */
    if (open_ok(&t, NORMAL, ID("vocab_list: ['a|b', a], separator: '|', default_value: 'a|b'"))) {
        TEXT(&t, "c", "", "a|b", "a");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(2, 3, 1, 3), LENS(1, 2, 1));
    }
    t_close(&t);
    /* long rows, many values: the array grows */
    if (open_ok(&t, NORMAL, ID("num_buckets: 1000, separator: ';'"))) {
        cr_buf b;
        cr_buf_init(&b);
        for (int i = 0; i < 999; i++)
            cr_buf_printf(&b, "%s%d", i ? ";" : "", i);
        TEXT(&t, "c", "5", b.data, "6", b.data);
        t_encode(&t);
        const cr_jagged *j = &t.batch.sparse[0];
        CHECK_INT(j->n_ids, 2000);
        CHECK(j->off && j->off[1] == 1 && j->off[2] == 1000 && j->off[3] == 1001 &&
              j->off[4] == 2000);
        for (int i = 0; i < 999; i++)
            CHECK(j->ids[1 + i] == i && j->ids[1001 + i] == i);
        cr_buf_clear(&b);
    }
    t_close(&t);
}

TEST(id_lists_and_maps) {
    t_feats t;
    if (open_ok(&t, NORMAL, ID("num_buckets: 100, default_value: '3', weighted: true"))) {
        const int32_t off[] = {0, 2, 2, 3};
        static const int64_t keys[] = {5, 200, 7};
        static const float w[] = {.5f, .25f, 2};
        cr_column *c = t_list(&t, "c", off, 3), *k = CR_NEW(&t.chunk.arena, cr_column);
        k->type = CR_COL_I64;
        k->v.i64 = keys;
        c->type = CR_COL_F32;
        c->v.f32 = w;
        c->keys = k;
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(5, 0, 3, 7), LENS(2, 1, 1));
        const float want[] = {.5f, .25f, 1, 2};
        for (int i = 0; i < 4; i++)
            CHECK(t.batch.sparse[0].w[i] == want[i]);
        CHECK_INT(cr_features_counts(&t.enc)[0].out_of_range, 1);
        CHECK_INT(cr_features_counts(&t.enc)[0].first_bad, 200);
    }
    t_close(&t);
    if (open_ok(&t, NORMAL, ID("hash_bucket_size: 100, value_dim: 1"))) {
        const int32_t off[] = {0, 2, 3, 4};
        cr_column *c = t_list(&t, "c", off, 3);
        t_strings(&t, c, (const char *const[]){"abc", "efg", "hij", "xyz"}, 4, NULL);
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(33, 66, 13), ONE_EACH);
    }
    t_close(&t);
    if (open_ok(&t, NORMAL, ID("hash_bucket_size: 100"))) {
        DOUBLES(&t, "c", 1.5);
        t.rc = cr_features_encode(t.fs, &t.chunk, &t.enc, &t.bad, &t.err);
        CHECK(t.rc == CR_EDATA && strstr(t.err.msg, "holds floats"));
    }
    t_close(&t);
}

/* integers of any type hash as their decimal text; a declared integer column is read as integers */
TEST(integers_are_text) {
    t_feats t;
    if (open_ok(&t, NORMAL, ID("hash_bucket_size: 1000003"))) {
        INTS(&t, "c", 0, 7, -12, INT64_MAX, -INT64_MAX);
        t_encode(&t);
        int64_t ids[5];
        memcpy(ids, t.batch.sparse[0].ids, sizeof(ids));
        t_drop_chunk(&t);
        TEXT(&t, "c", "0", "7", "-12", "9223372036854775807", "-9223372036854775807");
        t_encode(&t);
        CHECK_IDS(&t, 0, ids, 5, ONE_EACH);
    }
    t_close(&t);
    if (open_ok(&t, NORMAL ", input_fields: [{input_name: c, input_type: INT64}]",
                ID("hash_bucket_size: 100"))) {
        TEXT(&t, "c", "1", "+1", "001", "x");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(95, 95, 95, 0), ONE_EACH);
        CHECK_INT(t.bad.n, 1);
    }
    t_close(&t);
}

/* With zch an id is the whole hash, modulo 2^63-1; encoded ids may have 63 bits. The number of rows
 * is that of the table. */
TEST(ids_of_63_bits) {
    t_feats t;
    if (open_ok(&t, NORMAL, ID("zch: {zch_size: 50, lfu: {}}"))) {
        CHECK_INT(t.fs->v[0]->num_embeddings, 50);
        TEXT(&t, "c", "abc", "x", "9223372036854775807");
        t_encode(&t);
        for (int i = 0; i < 3; i++) {
            const char *text = ((const char *[]){"abc", "x", "9223372036854775807"})[i];
            uint64_t hash = cr_hash_choose(false)(text, strlen(text));
            CHECK_INT(t.batch.sparse[0].ids[i], (int64_t)(hash % (uint64_t)INT64_MAX));
        }
        cr_buf b;
        cr_buf_init(&b);
        cr_features_fg_json(t.fs, &b);
        cr_buf_char(&b, 0);
        CHECK(strstr(b.data, "\"hash_bucket_size\": 9223372036854775807") != NULL);
        cr_buf_clear(&b);
    }
    t_close(&t);
    if (open_ok(&t, NONE, ID("zch: {zch_size: 50, lfu: {}}"))) {
        TEXT(&t, "f", "9223372036854775806", "0", "-3", "12345678901234");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(INT64_MAX - 1, 0, 0, 12345678901234), ONE_EACH);
        CHECK_INT(cr_features_counts(&t.enc)[0].out_of_range, 1);
        CHECK_INT(cr_features_counts(&t.enc)[0].first_bad, -3);
    }
    t_close(&t);
}

TEST(encoded_ids) {
    t_feats t;
    if (open_ok(&t, NONE, ID("hash_bucket_size: 10"))) {
        CHECK_STR(t.fs->want[0].name, "f"); /* the feature's name, not the expression's column */
        TEXT(&t, "f",
             "1\x03"
             "2",
             "", NULL, "9", "10", "-1", "x");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(1, 2, 9, 0, 0, 0), LENS(2, 0, 0, 1, 1, 1, 1));
        CHECK_INT(cr_features_counts(&t.enc)[0].out_of_range, 2);
        CHECK_INT(cr_features_counts(&t.enc)[0].first_bad, 10);
        CHECK_INT(cr_features_counts(&t.enc)[0].missing, 2);
        CHECK_INT(t.bad.n, 1);
        CHECK_STR(t.bad.v[0].msg,
                  "column 'f', value 'x': not an integer id; fg_mode FG_NONE does not "
                  "apply hash_bucket_size, set fg_mode: FG_NORMAL in data_config if it is to");
    }
    t_close(&t);
    if (open_ok(&t, NONE ", fg_encoded_multival_sep: '||'",
                ID("vocab_list: [a, b, c], fg_encoded_default_value: '4||1', weighted: true"))) {
        CHECK_INT(t.fs->v[0]->num_embeddings, 5);
        TEXT(&t, "f", "1:0.5||2:2", "", "3:1");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(1, 2, 4, 1, 3), LENS(2, 2, 1));
        const float want[] = {.5f, 2, 1, 1, 1};
        for (int i = 0; i < 5; i++)
            CHECK(t.batch.sparse[0].w[i] == want[i]);
    }
    t_close(&t);
    if (open_ok(&t, NONE,
                RAW("boundaries: [1, 2], embedding_dim: 4, fg_encoded_default_value: '2'"))) {
        TEXT(&t, "f", "0", "", "1");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(0, 2, 1), ONE_EACH);
    }
    t_close(&t);
}

TEST(encoded_floats) {
    t_feats t;
    if (open_ok(&t, NONE,
                RAW("value_dim: 2, normalizer: 'method=log10', fg_encoded_default_value: '7'"))) {
        TEXT(&t, "f",
             "1.5\x03"
             "2",
             "", "1");
        t_encode(&t);
        CHECK(t.batch.dense[0] == 1.5f && t.batch.dense[1] == 2);
        CHECK(t.batch.dense[2] == 7 && t.batch.dense[3] == 7);
        CHECK_INT(t.bad.n, 1);
        CHECK_INT(t.bad.rows[0], 2);
    }
    t_close(&t);
    if (open_ok(&t, NONE, RAW(""))) {
        DOUBLES(&t, "f", 1.5, NAN);
        t_encode(&t);
        CHECK_INT(t.bad.n, 1);
        CHECK_STR(t.bad.v[0].msg,
                  "column 'f' is empty; set fg_encoded_default_value of feature 'f'");
        CHECK(t.batch.dense[0] == 1.5f);
    }
    t_close(&t);
}

TEST(raw_values) {
    t_feats t;
    /* one default for all values; it is not normalized */
    if (open_ok(&t, NORMAL,
                RAW("value_dim: 2, default_value: '5', separator: ',', "
                    "normalizer: 'method=minmax,min=0,max=10'"))) {
        TEXT(&t, "c", "1,2", "", "10, 20", "1,2,3");
        t_encode(&t);
        const float want[] = {.1f, .2f, 5, 5, 1, 2};
        for (int i = 0; i < 6; i++)
            CHECK(t.batch.dense[i] == want[i]);
        CHECK_INT(t.bad.n, 1);
        CHECK_INT(cr_features_counts(&t.enc)[0].missing, 1);
    }
    t_close(&t);
    if (open_ok(&t, NORMAL,
                RAW("value_dim: 2, default_value: \"1\\x1d2\", boundaries: [1, 2, 3], "
                    "embedding_dim: 4"))) {
        TEXT(&t, "c",
             "0\x1d"
             "9",
             "",
             "2.5\x1d"
             "1");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(0, 3, 1, 2, 2, 1), LENS(2, 2, 2));
    }
    t_close(&t);
    if (open_ok(&t, NORMAL, RAW("value_dim: 2"))) {
        const int32_t off[] = {0, 2, 2, 3};
        static const float v[] = {1, 2, 3};
        cr_column *c = t_list(&t, "c", off, 3);
        c->type = CR_COL_F32;
        c->v.f32 = v;
        t_encode(&t);
        const float want[] = {1, 2, 0, 0};
        for (int i = 0; i < 4; i++)
            CHECK(t.batch.dense[i] == want[i]);
        CHECK_INT(t.bad.n, 1);
    }
    t_close(&t);
    /* a formula that gives no number names the value */
    if (open_ok(&t, NORMAL, RAW("normalizer: 'method=expression,expr=log(x)'"))) {
        TEXT(&t, "c", "1", "0", "-1", "");
        t_encode(&t);
        CHECK_INT(t.bad.n, 2);
        CHECK_STR(t.bad.v[0].msg, "column 'c', value '0': the normalizer gives no finite number");
        CHECK(t.batch.dense[3] == 0);
    }
    t_close(&t);
    /* text declared as STRING computes in double, numbers in float */
    for (int k = 0; k < 2; k++) {
        if (open_ok(&t, k ? NORMAL ", input_fields: [{input_name: c, input_type: STRING}]" : NORMAL,
                    RAW("normalizer: 'method=zscore,mean=16777216,standard_deviation=1'"))) {
            TEXT(&t, "c", "16777217");
            t_encode(&t);
            CHECK(t.batch.dense[0] == (k ? 1.0f : 0.0f));
        }
        t_close(&t);
    }
}

TEST(dense_embeddings) {
    t_feats t;
    if (open_ok(&t, NORMAL,
                "- raw_feature: {feature_name: a, expression: 'user:a', embedding_dim: 8, autodis: "
                "{num_channels: 3}}\n"
                "- raw_feature: {feature_name: m, expression: 'user:m', embedding_dim: 8, "
                "value_dim: 2, mlp: {}}")) {
        const cr_feature *a = cr_features_find(t.fs, "a"), *m = cr_features_find(t.fs, "m");
        CHECK(!a->sparse && a->dense_emb == CR_DENSE_AUTODIS && a->embedding_dim == 8);
        const cr_autodis_conf *dense = a->dense_conf;
        CHECK_INT(dense->num_channels, 3);
        CHECK(fabs(dense->temperature - 0.1) < 1e-6 && fabs(dense->keep_prob - 0.8) < 1e-6);
        CHECK(!m->sparse && m->dense_emb == CR_DENSE_MLP && m->value_dim == 2 && m->dense_off == 1);
    }
    t_close(&t);
}

TEST(feature_facts) {
    t_feats t;
    if (open_ok(&t, NORMAL,
                ID("num_buckets: 7, embedding_name: shared, pooling: mean, trainable: false, "
                   "init_fn: 'nn.init.normal_,std=0.1'"))) {
        const cr_feature *f = t.fs->v[0];
        CHECK(f->sparse && f->mean && !f->weighted && !f->trainable);
        CHECK_INT(f->num_embeddings, 7);
        CHECK_INT(f->embedding_dim, 4);
        CHECK_STR(f->embedding_name, "shared");
        CHECK_STR(f->init_fn, "nn.init.normal_,std=0.1");
        CHECK_STR(f->type->name, "id_feature");
    }
    t_close(&t);
    static const struct {
        const char *conf;
        int64_t n;
    } size[] = {{ID("vocab_list: [a, b]"), 4},
                {ID("vocab_list: [a, b], default_bucketize_value: 1"), 2},
                {ID("vocab_dict: {a: 2, b: 9}"), 10},
                {ID("hash_bucket_size: 9223372036854775807"), INT64_MAX},
                {ID("hash_bucket_size: 5, num_buckets: 6"), 5},
                {ID("num_buckets: 2, vocab_list: [a, b, c]"), 2}};
    for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
        if (open_ok(&t, NORMAL, size[i].conf)) CHECK_INT(t.fs->v[0]->num_embeddings, size[i].n);
        t_close(&t);
    }
    /* several sources: the vocabulary maps, the buckets give the size, ids outside become 0 */
    if (open_ok(&t, NORMAL, ID("num_buckets: 3, vocab_list: [a, b, c]"))) {
        TEXT(&t, "c", "a", "b", "q");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(2, 0, 1), ONE_EACH);
        CHECK_INT(cr_features_counts(&t.enc)[0].out_of_range, 1);
    }
    t_close(&t);
}

/* every mistake of a config: what is said and where */
TEST(config_errors) {
    static const struct {
        const char *conf, *say;
        int line, col; /* 0: not checked */
    } v[] = {
        {"- id_feature: {feature_name: f, embedding_dim: 4, num_buckets: 9}",
         "this fg_mode needs an expression", 3, 0},
        {"- id_feature: {feature_name: f, expression: c, embedding_dim: 4, num_buckets: 9}",
         "must be side:column", 3, 45},
        {"- id_feature: {feature_name: f, expression: 'users:c', embedding_dim: 4, num_buckets: 9}",
         "unknown side 'users'; did you mean 'user'?", 3, 46},
        {"- id_feature: {feature_name: f, expression: 'feature:c', embedding_dim: 4, num_buckets: "
         "9}",
         "needs fg_mode FG_DAG", 3, 0},
        {ID(""), "no table size", 3, 0},
        {ID("default_value: abc"), "no table size", 3, 0},
        {ID("num_buckets: 9, default_value: abc"), "default_value 'abc': not an integer", 3, 0},
        {ID("vocab_list: [a, b], default_bucketize_value: 2"), "below the number of tokens", 3, 0},
        {ID("vocab_list: [a, b], default_bucketize_value: 18446744073709551615"),
         "below the number of tokens", 3, 0},
        {ID("vocab_dict: {a: 3}, default_bucketize_value: 9223372036854775808"),
         "must not be above the highest id", 3, 0},
        {ID("vocab_dict: {a: 3}, default_bucketize_value: 4"), "must not be above the highest id",
         3, 0},
        {ID("vocab_file: nope.txt, default_bucketize_value: 0"), "nope.txt", 3, 0},
        {RAW("default_value: x"), "default_value 'x' is not a number", 3, 0},
        {RAW("value_dim: 3, default_value: \"1\\x1d2\""), "holds 2 values, value_dim is 3", 3, 0},
        {RAW("value_dim: 100000"), "at most 65536", 3, 0},
        {"- raw_feature: {feature_name: f, expression: 'user:c', normalizer: "
         "'method=expression,expr=x+q'}",
         "unknown name 'q'", 3, 94},
        {RAW("normalizer: 'method=log11'"), "unknown method 'log11'", 3, 0},
        {ID("num_buckets: 9") "\n" RAW(""), "feature 'f' is defined twice, first at line 3", 4, 0},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        t_feats t;
        t_open(&t, NORMAL, v[i].conf, false, NULL, 0);
        CHECK(t.fs == NULL);
        bool found = false;
        for (size_t k = 0; k < t.diag.n; k++) {
            const cr_finding *d = &t.diag.v[k];
            if (d->sev != CR_SEV_ERROR || !strstr(d->msg, v[i].say)) continue;
            found = d->at.line == v[i].line && (!v[i].col || d->at.col == v[i].col);
        }
        CHECK(found);
        if (!found) {
            fprintf(stderr, "expected %d:%d: %s; got\n", v[i].line, v[i].col, v[i].say);
            t_show_diag(&t);
        }
        t_close(&t);
    }
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    if (!f) return;
    fputs(text, f);
    fclose(f);
}

TEST(vocab_files) {
    char dir[] = "/tmp/crank_vocab_XXXXXX", path[64], conf[512];
    if (!mkdtemp(dir)) SKIP("no temporary directory");
    snprintf(path, sizeof(path), "%s/v.txt", dir);
    write_file(path, "abc\nefg\nxyz\n");
    t_feats t;
    snprintf(conf, sizeof(conf),
             ID("asset_dir: '%s', vocab_file: v.txt, default_bucketize_value: 2"), dir);
    if (open_ok(&t, NORMAL, conf)) {
        CHECK_INT(t.fs->v[0]->num_embeddings, 3);
        CHECK_STR(t.fs->v[0]->assets[0].path, path);
        CHECK(strncmp(t.fs->v[0]->assets[0].name, "v_", 2) == 0 &&
              strstr(t.fs->v[0]->assets[0].name, ".txt"));
        TEXT(&t, "c",
             "abc\x1d"
             "efg",
             NULL, "hij");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(0, 1, 2), LENS(2, 0, 1));
        cr_buf b;
        cr_buf_init(&b);
        cr_features_fg_json(t.fs, &b);
        CHECK(strstr(b.data, t.fs->v[0]->assets[0].name) != NULL);
        cr_buf_clear(&b);
    }
    t_close(&t);
    write_file(path, "abc 4\nefg 7\n");
    snprintf(conf, sizeof(conf),
             ID("vocab_file: '%s', default_bucketize_value: 0, default_value: efg"), path);
    if (open_ok(&t, NORMAL, conf)) {
        CHECK_INT(t.fs->v[0]->num_embeddings, 8);
        TEXT(&t, "c", "abc", "", "q");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(4, 7, 0), ONE_EACH);
    }
    t_close(&t);
    snprintf(conf, sizeof(conf), ID("vocab_file: '%s'"), path);
    t_open(&t, NORMAL, conf, false, NULL, 0);
    CHECK(t.fs == NULL && t_has(&t, "needs default_bucketize_value"));
    t_close(&t);
    write_file(path, "abc 4\nefg\n");
    snprintf(conf, sizeof(conf), ID("vocab_file: '%s', default_bucketize_value: 0"), path);
    t_open(&t, NORMAL, conf, false, NULL, 0);
    CHECK(t.fs == NULL && t_has(&t, "no id after the token"));
    CHECK(t.diag.n && t.diag.v[0].at.line == 2 && strcmp(t.diag.v[0].at.path, path) == 0);
    t_close(&t);
    unlink(path);
    rmdir(dir);
}

TEST(fg_json) {
    t_feats t;
    if (open_ok(&t, NORMAL,
                "- id_feature: {feature_name: a, expression: 'user:a', hash_bucket_size: 10, "
                "embedding_dim: 4, separator: '|'}\n"
                "- id_feature: {feature_name: b, expression: 'user:b', vocab_list: [x], "
                "default_value: d, embedding_dim: 4}\n"
                "- id_feature: {feature_name: c, expression: 'user:c', vocab_dict: {x: 2}, "
                "embedding_dim: 4, weighted: true}\n"
                "- raw_feature: {feature_name: r, expression: 'item:r', boundaries: [0.5, 2], "
                "embedding_dim: 4}")) {
        cr_buf b;
        cr_buf_init(&b);
        cr_features_fg_json(t.fs, &b);
        cr_json *j = NULL;
        cr_err err = {0};
        CHECK(cr_json_parse(&j, b.data, b.n, &err) == CR_OK);
        if (j) {
            const cr_json *fs = cr_json_get(j, "features");
            CHECK_INT(cr_json_len(fs), 4);
            const cr_json *a = cr_json_at(fs, 0), *v = cr_json_at(fs, 1), *d = cr_json_at(fs, 2),
                          *r = cr_json_at(fs, 3);
            int64_t x = 0;
            double y = 0;
            CHECK_STR(cr_json_str(cr_json_get(a, "feature_type")), "id_feature");
            CHECK_STR(cr_json_str(cr_json_get(a, "separator")), "|");
            CHECK(cr_json_i64(cr_json_get(a, "hash_bucket_size"), &x) && x == 10);
            CHECK(cr_json_get(v, "separator") == NULL);
            CHECK_INT(cr_json_len(cr_json_get(v, "vocab_list")), 3);
            CHECK_STR(cr_json_str(cr_json_at(cr_json_get(v, "vocab_list"), 0)), "d");
            CHECK(cr_json_i64(cr_json_get(v, "default_bucketize_value"), &x) && x == 1);
            CHECK(cr_json_i64(cr_json_get(cr_json_get(d, "vocab_dict"), "x"), &x) && x == 2);
            CHECK(cr_json_i64(cr_json_get(cr_json_get(d, "vocab_dict"), ""), &x) && x == 0);
            CHECK_STR(cr_json_str(cr_json_get(r, "value_type")), "float");
            CHECK(cr_json_f64(cr_json_at(cr_json_get(r, "boundaries"), 1), &y) && y == 2);
            CHECK(cr_json_get(r, "value_dim") == NULL);
        }
        cr_json_free(j);
        cr_buf_clear(&b);
    }
    t_close(&t);
}

/* many threads encode the same chunk: same result, same counts */
typedef struct job {
    const cr_features *fs;
    const cr_chunk *chunk;
    bool same;
    const cr_chunk_rows *want;
} job;
static void *work(void *arg) {
    job *j = arg;
    cr_chunk_rows b = {0};
    cr_bad bad = {0};
    cr_err err;
    j->same = true;
    for (int i = 0; i < 50; i++) {
        cr_arena_reset(&b.arena);
        cr_bad_reset(&bad);
        if (cr_features_encode((void *)(uintptr_t)j->fs, j->chunk, &b, &bad, &err) != CR_OK)
            j->same = false;
        else
            j->same &= b.rows.sparse[0].n_ids == j->want->rows.sparse[0].n_ids &&
                       memcmp(b.rows.sparse[0].ids, j->want->rows.sparse[0].ids,
                              8 * (size_t)b.rows.sparse[0].n_ids) == 0 &&
                       memcmp(b.tally, j->want->tally, cr_features_counts_size(j->fs)) == 0;
    }
    cr_bad_clear(&bad);
    cr_arena_clear(&b.arena);
    return NULL;
}

TEST(threads) {
    t_feats t;
    if (open_ok(&t, NORMAL, ID("num_buckets: 10"))) {
        TEXT(&t, "c", "1", "20", "",
             "3\x1d"
             "30");
        t_encode(&t);
        job j[4];
        pthread_t id[4];
        for (int i = 0; i < 4; i++) {
            j[i] = (job){t.fs, &t.chunk, false, &t.enc};
            CHECK(pthread_create(&id[i], NULL, work, &j[i]) == 0);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(id[i], NULL);
            CHECK(j[i].same);
        }
        CHECK_INT(cr_features_counts(&t.enc)[0].missing, 1);
        CHECK_INT(cr_features_counts(&t.enc)[0].out_of_range, 2);
    }
    t_close(&t);
}

/* texts that mean a missing value, in cells, dictionaries and items of lists; what is carried along
 * keeps its text */
TEST(null_values) {
    t_feats t;
    const char *const reserved[] = {"a"};
    t_open(&t, NONE ", fg_encoded_multival_sep: '|', null_values: [NA, '?'], label_fields: [y]",
           "- id_feature: {feature_name: a, num_buckets: 9, embedding_dim: 4, "
           "fg_encoded_default_value: '5'}\n"
           "- raw_feature: {feature_name: b, fg_encoded_default_value: '7'}\n"
           "- id_feature: {feature_name: l, num_buckets: 9, embedding_dim: 4}\n"
           "- id_feature: {feature_name: d, num_buckets: 9, embedding_dim: 4, "
           "fg_encoded_default_value: '8'}",
           true, reserved, 1);
    CHECK(t.fs != NULL);
    if (!t.fs) {
        t_show_diag(&t);
        return;
    }
    TEXT(&t, "a", "1", "NA", "", "4");
    TEXT(&t, "b", "?", "2", "3", NULL);
    cr_column *list = t_list(&t, "l", (const int32_t[]){0, 2, 3, 3, 5}, 4);
    t_strings(&t, list, (const char *const[]){"1", "NA", "?", "3", "4"}, 5, NULL);
    TEXT(&t, "d", "?", "6", "?", "6");
    cr_column *dict = &t.chunk.cols[3];
    dict->code = (const uint32_t[]){0, 1, 0, 1};
    dict->n_dict = 2;
    TEXT(&t, "y", "1", "0", "1", "NA");
    t_encode(&t);
    CHECK(t.rc == CR_OK);
    CHECK_IDS(&t, 0, IDS(1, 5, 5, 4), ONE_EACH);
    CHECK(t.batch.dense[0] == 7 && t.batch.dense[1] == 2 && t.batch.dense[3] == 7);
    CHECK_IDS(&t, 1, IDS(1, 3, 4), LENS(1, 0, 0, 2));
    CHECK_IDS(&t, 2, IDS(8, 6, 8, 6), ONE_EACH);
    CHECK_INT(t.bad.n, 1);
    CHECK_STR(t.bad.v[0].msg, "column 'y' is empty; a label must be a number");
    size_t n;
    const char *p = cr_text_at(&t.batch.reserved[0], 1, &n);
    CHECK(n == 2 && memcmp(p, "NA", 2) == 0);
    CHECK(!t.batch.reserved[0].valid || t.batch.reserved[0].valid[1]);
    t_close(&t);
    /* what is not listed is a mistake whose cure is told, where it would help */
    CHECK(open_ok(&t, NONE ", fg_encoded_multival_sep: '|'",
                  "- id_feature: {feature_name: f, num_buckets: 9, embedding_dim: 4}"));
    TEXT(&t, "f", "NA", "1|NA", "x", "\\N");
    t_encode(&t);
    CHECK_INT(t.bad.n, 4);
    CHECK_STR(t.bad.v[0].msg, "column 'f', value 'NA': not an integer id; if it means a missing "
                              "value, list it in data_config.null_values");
    CHECK_STR(t.bad.v[1].msg, "column 'f', value 'NA': not an integer id");
    CHECK_STR(t.bad.v[2].msg, "column 'f', value 'x': not an integer id");
    CHECK_STR(t.bad.v[3].msg, "column 'f', value '\\N': not an integer id; if it means a missing "
                              "value, list it in data_config.null_values");
    t_close(&t);
    CHECK(open_ok(&t, NORMAL, RAW("")));
    TEXT(&t, "c", "1", "n/a");
    t_encode(&t);
    CHECK_STR(t.bad.v[0].msg, "column 'c', value 'n/a': not a number; if it means a missing "
                              "value, list it in data_config.null_values");
    t_close(&t);
}

/* whole numbers that were written as floats are ids; where ids come from texts, the text counts */
TEST(whole_floats) {
    t_feats t;
    CHECK(open_ok(&t, NONE ", fg_encoded_multival_sep: '|'",
                  "- id_feature: {feature_name: f, num_buckets: 99, embedding_dim: 4}"));
    TEXT(&t, "f", "7.0", "8|9.00|10.", " -0.0 ", "7.5", "7.01", ".0", "7e0", "1.0.0");
    t_encode(&t);
    CHECK_INT(t.bad.n, 5);
    CHECK_INT(t.bad.v[0].row, 3);
    CHECK_STR(t.bad.v[0].msg, "column 'f', value '7.5': not an integer id");
    CHECK_IDS(&t, 0, IDS(7, 8, 9, 10, 0, 0, 0, 0, 0, 0), LENS(1, 3, 1, 1, 1, 1, 1, 1));
    t_close(&t);
    CHECK(open_ok(&t, NORMAL, ID("num_buckets: 9")));
    TEXT(&t, "c", "7.0", "7");
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(7, 7), ONE_EACH);
    CHECK_INT(t.bad.n, 0);
    t_close(&t);
    CHECK(open_ok(&t, NORMAL, ID("vocab_list: ['7', '7.0']")));
    TEXT(&t, "c", "7.0", "7");
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(3, 2), ONE_EACH);
    t_close(&t);
    CHECK(open_ok(&t, NORMAL, ID("hash_bucket_size: 1000000")));
    TEXT(&t, "c", "7.0", "7");
    t_encode(&t);
    CHECK(t.batch.sparse[0].ids[0] != t.batch.sparse[0].ids[1]);
    t_close(&t);
}

TEST_MAIN(CASE(wants_each_column_once), CASE(predict_needs_no_labels), CASE(bad_rows),
          CASE(id_values), CASE(id_lists_and_maps), CASE(integers_are_text), CASE(ids_of_63_bits),
          CASE(encoded_ids), CASE(encoded_floats), CASE(raw_values), CASE(dense_embeddings),
          CASE(feature_facts), CASE(config_errors), CASE(vocab_files), CASE(fg_json), CASE(threads),
          CASE(null_values), CASE(whole_floats))
