/*
 * counts.c - what features count: exact figures for each type, as text, lists and sequences; and
 * through the loader, where they depend on the rows given out alone.
 */
#include <unistd.h>

#include "data/load/loader.h"
#include "feat_test.h"

#define NORMAL "fg_mode: FG_NORMAL"
#define S      "\x1d"

/* what is not 0 */
static const char *told(const cr_feature_counts *c) {
    static char text[2][400];
    static int turn;
    char *out = text[turn = !turn];
    const struct {
        const char *name;
        int64_t n;
    } v[] = {{"rows", c->rows},
             {"steps", c->steps},
             {"ids", c->ids},
             {"missing", c->missing},
             {"out_of_range", c->out_of_range},
             {"first_bad", c->first_bad},
             {"unknown", c->unknown},
             {"not_finite", c->not_finite},
             {"unparsable", c->unparsable},
             {"truncated", c->truncated},
             {"cut", c->cut},
             {"constant", cr_counts_constant(c)}};
    size_t at = 0;
    out[0] = 0;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        if (v[i].n)
            at += (size_t)snprintf(out + at, 400 - at, "%s%s %lld", at ? ", " : "", v[i].name,
                                   (long long)v[i].n);
    return out;
}

static bool open_with(t_feats *t, const char *data, const char *features) {
    t_open(t, data, features, false, NULL, 0);
    CHECK(t->fs != NULL);
    if (!t->fs) t_show_diag(t);
    return t->fs != NULL;
}

/* one feature of columns a and b, texts; what it counts */
#define COUNTS(data, features, a, b, want)                                                         \
    do {                                                                                           \
        t_feats t_;                                                                                \
        if (open_with(&t_, data, features)) {                                                      \
            TEXT(&t_, "a", a);                                                                     \
            if (t_.fs->n_want > 1) TEXT(&t_, "b", b);                                              \
            t_encode(&t_);                                                                         \
            CHECK_INT(t_.rc, CR_OK);                                                               \
            CHECK_STR(told(cr_features_counts(&t_.enc)), want);                                  \
        }                                                                                          \
        t_close(&t_);                                                                              \
    } while (0)
#define COL(...)  __VA_ARGS__
#define ID(rest)  "- id_feature: {feature_name: a, expression: 'user:a', embedding_dim: 4, " rest "}"
#define RAW(rest) "- raw_feature: {feature_name: a, expression: 'user:a', " rest "}"

TEST(ids) {
    COUNTS(NORMAL, ID("num_buckets: 10"), COL("1", "", "12", "x", "-1", NULL), "",
           "rows 6, ids 3, missing 2, out_of_range 2, first_bad 12, unparsable 1");
    COUNTS(NORMAL, ID("num_buckets: 10, default_value: '3'"), COL("1", "", "2"), "",
           "rows 3, ids 2, missing 1");
    COUNTS(NORMAL, ID("hash_bucket_size: 10, value_dim: 2, separator: '|'"),
           COL("a|b|c", "a|b|", "a|b||", "a|b||c", "|a|", "||"), "",
           "rows 6, ids 9, missing 1, cut 2");
    /* default and <OOV> are listed; a missing value is not an unknown one */
    COUNTS(NORMAL, ID("vocab_list: [x, y], default_value: x, separator: '|'"),
           COL("x", "q", "", "y|q|r", "<OOV>"), "", "rows 5, ids 6, missing 1, unknown 3");
    COUNTS(NORMAL, ID("vocab_dict: {x: 2, y: 3}, default_bucketize_value: 2"),
           COL("x", "q", "", "y"), "", "rows 4, ids 3, missing 1, unknown 1");
    COUNTS(NORMAL, ID("vocab_list: [x, y], weighted: true, separator: '|'"),
           COL("x:1|q:2", "q:nan", "y", "y:1"), "", "rows 4, ids 3, unknown 1, unparsable 2");
    COUNTS("fg_mode: FG_NONE", ID("num_buckets: 5"),
           COL("1\x03"
               "7",
               "", "4"),
           "", "rows 3, ids 3, missing 1, out_of_range 1, first_bad 7");
}

TEST(constant) {
    COUNTS(NORMAL, ID("num_buckets: 10"), COL("1", "1", "1"), "", "rows 3, ids 3, constant 1");
    COUNTS(NORMAL, ID("num_buckets: 10"), COL("", NULL, ""), "", "rows 3, missing 3, constant 1");
    COUNTS(NORMAL, ID("num_buckets: 10, default_value: '1'"), COL("1", "", "1"), "",
           "rows 3, ids 2, missing 1, constant 1");
    COUNTS(NORMAL, ID("num_buckets: 10"), COL("1"), "", "rows 1, ids 1");
    COUNTS(NORMAL, ID("num_buckets: 10, separator: '|'"), COL("1|2", "1|2"), "",
           "rows 2, ids 4, constant 1");
    COUNTS(NORMAL, ID("num_buckets: 10, separator: '|'"), COL("1|2", "1|2|2"), "", "rows 2, ids 5");
    COUNTS(NORMAL, ID("num_buckets: 10, weighted: true"), COL("1:2", "1:3"), "", "rows 2, ids 2");
    COUNTS(NORMAL, RAW("value_dim: 1"), COL("1.5", "1.50"), "", "rows 2, constant 1");
    COUNTS(NORMAL, RAW("value_dim: 2, separator: '|'"), COL("1|2", "1|2.5"), "", "rows 2");
}

TEST(numbers) {
    COUNTS(NORMAL, RAW("default_value: '0'"),
           COL("1", "", "nan", "-Inf", "1e999", "1e39", "x", NULL), "",
           "rows 8, missing 2, not_finite 3, unparsable 2");
    COUNTS(NORMAL, RAW("value_dim: 2, separator: '|', default_value: '0'"),
           COL("1|2", "1|2|3", "1|y", ""), "", "rows 4, missing 1, unparsable 2");
    COUNTS(NORMAL, RAW("boundaries: [1, 2], embedding_dim: 2"), COL("0", "1.5", "", "nan"), "",
           "rows 4, ids 2, missing 1, not_finite 1");
    COUNTS(NORMAL, RAW("normalizer: 'method=expression,expr=1/x'"), COL("2", "0", "4"), "",
           "rows 3, not_finite 1");
    t_feats t;
    if (open_with(&t, NORMAL, RAW("default_value: '0'"))) {
        DOUBLES(&t, "a", 1, NAN, INFINITY, 1e39);
        t_encode(&t);
        CHECK_STR(told(cr_features_counts(&t.enc)), "rows 4, missing 1, not_finite 2");
    }
    t_close(&t);
}

#define CALC(type, rest) "- " type ": {feature_name: f, embedding_dim: 4, " rest "}"
#define TWO              "expression: ['user:a', 'item:b'], "
TEST(computed) {
    COUNTS(NORMAL, CALC("combo_feature", TWO "vocab_list: [x_y], value_dim: 2, separator: '|'"),
           COL("x", "x|q", "", "x|y"), COL("y", "y", "y", "y|z"),
           "rows 4, ids 5, missing 1, unknown 2, cut 1");
    COUNTS(NORMAL,
           CALC("lookup_feature", "map: 'user:a', key: 'item:b', hash_bucket_size: 10, "
                                  "separator: '|', value_dim: 2"),
           COL("k:1|m:2|n:3", "k:1", "k", ""), COL("k|m|n", "z", "k", "k"),
           "rows 4, ids 2, missing 2, unparsable 1, cut 1");
    COUNTS(NORMAL,
           CALC("match_feature", "nested_map: 'user:a', pkey: 'item:b', skey: 'ALL', "
                                 "num_buckets: 5, value_dim: 0"),
           COL("p^1:7,2:3|q^3:1", ""), COL("p", "p"),
           "rows 2, ids 2, missing 1, out_of_range 1, first_bad 7");
    COUNTS(NORMAL,
           CALC("expr_feature", "expression: 'a / b', variables: ['user:a', 'item:b'], "
                                "boundaries: [1]"),
           COL("3", "1", "", "z", "nan"), COL("2", "0", "1", "1", "1"),
           "rows 5, ids 1, missing 1, not_finite 2, unparsable 1");
    COUNTS(NORMAL,
           CALC("overlap_feature", "query: 'user:a', title: 'item:b', method: "
                                   "query_common_ratio, separator: '|', boundaries: [0.5]"),
           COL("x|y", ""), COL("x", "x"), "rows 2, ids 1, missing 1");
    COUNTS(NORMAL,
           "- kv_dot_product: {feature_name: f, query: 'user:a', document: 'item:b', "
           "separator: '|', boundaries: [1], embedding_dim: 4}",
           COL("k:1|m:2", "k:x", ""), COL("k:3", "k:1", "k:1"),
           "rows 3, ids 1, missing 1, unparsable 1");
    COUNTS(NORMAL,
           CALC("custom_feature", TWO "operator_name: EditDistance, boundaries: [1, 3], "
                                      "operator_lib_file: 'pyfg/lib/libedit_distance.so'"),
           COL("ab", "", "abc"), COL("ac", "x", "abc"), "rows 3, ids 2, missing 1");
    /* what value_map does not hold is left out, as if it were not there */
    COUNTS(NORMAL,
           CALC("combine_feature", "expression: 'user:a', value_map: {x: 1, y: 5}, num_buckets: 6, "
                                   "separator: '|'"),
           COL("x", "", "x|y", "q"), "", "rows 4, ids 2, missing 2, out_of_range 1, first_bad 6");
    COUNTS(NORMAL, CALC("bool_mask_feature", TWO "num_buckets: 10, separator: '|'"),
           COL("1|2|30", "1", "4"), COL("true|false|true", "false", "maybe"),
           "rows 3, ids 2, missing 1, out_of_range 1, first_bad 30, unparsable 1");
}

#define SEQ(type, rest) "- sequence_" type ": {feature_name: a, expression: 'user:a', " rest "}"
TEST(sequences) {
    COUNTS(NORMAL, SEQ("id_feature", "embedding_dim: 4, num_buckets: 10, sequence_length: 2"),
           COL("1;2;3", "", "20;;4", "5"), "",
           "rows 4, steps 6, ids 4, missing 2, out_of_range 1, first_bad 20, truncated 2");
    COUNTS(NORMAL, SEQ("id_feature", "embedding_dim: 4, vocab_list: [x, y], separator: '|'"),
           COL("x;q", "y|x;q|q"), "", "rows 2, steps 4, ids 4, unknown 2, cut 2");
    COUNTS(NORMAL, SEQ("raw_feature", "sequence_length: 2"), COL("1;2", "1;2;3", "1;2"), "",
           "rows 3, steps 6, truncated 1, constant 1");
    COUNTS(NORMAL, SEQ("raw_feature", "default_value: '0'"), COL("1;x", ";nan", ""), "",
           "rows 3, steps 5, missing 2, not_finite 1, unparsable 1");
    COUNTS("fg_mode: FG_NONE", SEQ("id_feature", "embedding_dim: 4, num_buckets: 10"),
           COL("1;2", "", "1;2"), "", "rows 3, steps 4, ids 4");
    t_feats t;
    if (open_with(&t, NORMAL,
                  SEQ("id_feature", "embedding_dim: 4, num_buckets: 10, sequence_length: 2"))) {
        cr_column *c = t_list(&t, "a", (const int32_t[]){0, 3, 3, 6, 7}, 4);
        c->type = CR_COL_I64;
        c->v.i64 = (const int64_t[]){1, 2, 3, 20, 0, 4, 5};
        c->item_valid = (const uint8_t[]){1, 1, 1, 1, 0, 1, 1};
        t_encode(&t);
        CHECK_STR(told(cr_features_counts(&t.enc)),
                  "rows 4, steps 6, ids 4, missing 2, out_of_range 1, first_bad 20, truncated 2");
    }
    t_close(&t);
}

/* FG_DAG: what a feature gives is counted once, a stub is no feature of the model */
TEST(given) {
    t_feats t;
    if (open_with(&t, "fg_mode: FG_DAG",
                  "- raw_feature: {feature_name: g, expression: 'user:a', default_value: '1'}\n"
                  "- expr_feature: {feature_name: h, expression: 'g * 2', variables: "
                  "['feature:g']}\n")) {
        TEXT(&t, "a", "3", "", "x");
        t_encode(&t);
        const cr_feature_counts *c = cr_features_counts(&t.enc);
        CHECK_STR(told(&c[0]), "rows 3, missing 1, unparsable 1");
        CHECK_STR(told(&c[1]), "rows 3");
    }
    t_close(&t);
}

/* ---- through the loader ---- */

#define N_ROWS 1000
static void write_rows(const char *path) {
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    if (!f) return;
    fputs("y,a,b\n", f);
    for (int i = 0; i < N_ROWS; i++) {
        fprintf(f, "%d,", i % 2);
        if (i % 3) fprintf(f, "%d", i);
        fprintf(f, ",%s\n", i % 500 == 499 ? "oops" : "7");
    }
    fclose(f);
}

typedef struct way {
    int threads;
    int64_t batch, n_batches; /* 0: all */
    bool shuffle, drop;
    size_t block;
} way;

static void read_with(const char *path, const way *w, cr_feature_counts *out) {
    t_feats t;
    t_open(&t, NORMAL ", with_header: true, label_fields: [y]",
           "- id_feature: {feature_name: i, expression: 'user:a', num_buckets: 900, "
           "embedding_dim: 4}\n"
           "- raw_feature: {feature_name: x, expression: 'user:b'}",
           true, NULL, 0);
    CHECK(t.fs != NULL);
    t_root *root = cr_conf_bind(&t.arena, &t_root_msg, t.doc.root, &t.diag);
    root->data_config->shuffle_buffer_size = 2;
    cr_loader_opts o = {.conf = root->data_config,
                        .reader = cr_reader_find("CsvDataset"),
                        .paths = path,
                        .want = t.fs->want,
                        .n_want = t.fs->n_want,
                        .encode = cr_features_encode,
                        .encode_ctx = t.fs,
                        .tally_size = cr_features_counts_size(t.fs),
                        .tally_add = cr_features_counts_add,
                        .batch_size = w->batch,
                        .shuffle = w->shuffle,
                        .drop_remainder = w->drop,
                        .seed = 3,
                        .n_threads = w->threads,
                        .n_epochs = 2,
                        .max_bad_rows = 10,
                        .silent = true,
                        .block_bytes = w->block};
    cr_loader *l = NULL;
    cr_err err = {0};
    CHECK_INT(cr_loader_new(&l, &o, &t.diag), CR_OK);
    cr_batch *b;
    int64_t n = 0;
    bool done = false;
    do { /* the first epoch; the second is read ahead and must not count */
        CHECK_INT(cr_loader_next(l, &b, &done, &err), CR_OK);
        if (b) cr_loader_release(l, b);
    } while (b && ++n != w->n_batches);
    cr_loader_tally(l, out);
    if (w->n_batches == 0) { /* and the second counts alone */
        cr_feature_counts two[2];
        do {
            CHECK_INT(cr_loader_next(l, &b, &done, &err), CR_OK);
            if (b) cr_loader_release(l, b);
        } while (b);
        cr_loader_tally(l, two);
        CHECK_INT(two[0].rows, N_ROWS);
        CHECK_INT(two[0].missing, out[0].missing);
        CHECK_INT(two[1].unparsable, 2);
    }
    cr_loader_free(l);
    t_close(&t);
}

TEST(loader) {
    char path[] = "/tmp/crank_counts_XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) SKIP("no temporary file");
    close(fd);
    write_rows(path);
    const way ways[] = {
        {1, 64, 0, false, false, 0}, {3, 64, 0, false, false, 700}, {2, 1000, 0, false, false, 900},
        {2, 7, 0, false, true, 500}, {3, 2000, 0, false, true, 0},  {2, 64, 0, false, false, 1},
    };
    cr_feature_counts c[2];
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        read_with(path, &ways[i], c);
        CHECK_STR(told(&c[0]), "rows 1000, ids 666, missing 334, out_of_range 66, first_bad 901");
        CHECK_STR(told(&c[1]), "rows 1000, unparsable 2");
    }
    /* shuffled: the same sums; in the middle of an epoch: the same for any number of threads */
    for (int all = 0; all < 2; all++) {
        cr_feature_counts want[2] = {{0}};
        for (int threads = 1; threads < 4; threads++) {
            read_with(path, &(way){threads, 32, all ? 0 : 5, true, false, 600}, c);
            if (threads == 1) memcpy(want, c, sizeof(want));
            CHECK(memcmp(want, c, sizeof(want)) == 0);
        }
        CHECK(all ? c[0].rows == N_ROWS && c[0].missing == 334 && c[0].out_of_range == 66
                  : c[0].rows >= 160 && c[0].rows < N_ROWS);
    }
    unlink(path);
}

TEST_MAIN(CASE(ids), CASE(constant), CASE(numbers), CASE(computed), CASE(sequences), CASE(given),
          CASE(loader))
