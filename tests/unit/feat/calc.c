/*
 * calc.c - the feature types that compute: golden vectors of TorchEasyRec's tests and examples of
 * its documentation, every form of input, FG_NONE, bad rows, config errors, fg.json.
 */
#include "feat_test.h"

#define NORMAL "fg_mode: FG_NORMAL"
#define S      "\x1d"

static bool open_with(t_feats *t, const char *data, const char *features) {
    t_open(t, data, features, false, NULL, 0);
    CHECK(t->fs != NULL);
    if (!t->fs) t_show_diag(t);
    return t->fs != NULL;
}

static void check_dense(int line, const t_feats *t, const double *want, int64_t n) {
    bool same = t->rc == CR_OK && t->bad.n == 0 && t->batch.n_rows * t->batch.dense_width == n;
    for (int64_t i = 0; same && i < n; i++)
        same = fabsf(t->batch.dense[i] - (float)want[i]) <= 1e-6f;
    if (same) return;
    t_failed_checks++;
    fprintf(stderr, "%s:%d: %s: got", __FILE__, line, t_name);
    for (int64_t i = 0; i < t->batch.n_rows * t->batch.dense_width; i++)
        fprintf(stderr, " %.8g", (double)t->batch.dense[i]);
    if (t->bad.n) fprintf(stderr, "; bad row: %s", t->bad.v[0].msg);
    fprintf(stderr, "\n");
}
#define DENSE(t, ...)                                                                              \
    check_dense(__LINE__, t, (const double[]){__VA_ARGS__},                                        \
                (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

/* two text columns, then how the steps become one vector */
#define OPEN2(t, features, a, ca, b, cb)                                                           \
    if (open_with(&t, NORMAL, features)) {                                                         \
        TEXT(&t, a, ca);                                                                           \
        TEXT(&t, b, cb);                                                                           \
        t_encode(&t);
#define CLOSE(t)                                                                                   \
    }                                                                                              \
    t_close(&t)
#define COL(...) __VA_ARGS__

/* ---- combo ---- */

#define COMBO(rest)                                                                                \
    "- combo_feature: {feature_name: f, expression: ['user:u', 'item:i'], embedding_dim: 4, " rest \
    "}"
#define COMBO_U "ua" S "ub", "uc" S "ud", "uee" S "uf", "ug", "uh", "uj", "", NULL, ""
#define COMBO_I "ia" S "ib", "ic", "", "id" S "ie", "if", NULL, "ik", "il", ""

TEST(combo) {
    t_feats t;
    OPEN2(t, COMBO("hash_bucket_size: 100"), "u", COL(COMBO_U), "i", COL(COMBO_I))
    CHECK_IDS(&t, 0, IDS(37, 90, 5, 97, 60, 56, 40, 57, 55), LENS(4, 2, 0, 2, 1, 0, 0, 0, 0));
    CLOSE(t);
    OPEN2(t, COMBO("hash_bucket_size: 100, default_value: xyz"), "u", COL(COMBO_U), "i",
          COL(COMBO_I))
    CHECK_IDS(&t, 0, IDS(37, 90, 5, 97, 60, 56, 13, 40, 57, 55, 13, 13, 13, 13),
              LENS(4, 2, 1, 2, 1, 1, 1, 1, 1));
    CHECK_INT(cr_features_counts(&t.enc)[0].missing, 5);
    CLOSE(t);
    /* value_dim keeps the first combinations; integers are their decimal text */
    OPEN2(t, COMBO("vocab_list: [ua_ia, ua_ib], value_dim: 2"), "u", COL("ua" S "ub", "ub"), "i",
          COL("ia" S "ib", "ia"))
    CHECK_IDS(&t, 0, IDS(2, 3, 1), LENS(2, 1));
    CLOSE(t);
    if (open_with(&t, NORMAL, COMBO("vocab_list: [a_1, a_-2], separator: '|'"))) {
        TEXT(&t, "u", "a|b", "a", "a");
        INTS(&t, "i", 1, -2, T_NULL);
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(2, 1, 3), LENS(2, 1, 0));
    }
    t_close(&t);
    /* lists; a constant */
    if (open_with(&t, NORMAL,
                  "- combo_feature: {feature_name: f, expression: ['user:u', 'const:k', 'user:u'], "
                  "embedding_dim: 4, vocab_list: [a_k_a, a_k_b, b_k_a]}")) {
        cr_column *c = t_list(&t, "u", (const int32_t[]){0, 2, 2, 3}, 3);
        t_strings(&t, c, (const char *const[]){"a", "b", "a"}, 3, NULL);
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(2, 3, 4, 1, 2), LENS(4, 0, 1));
    }
    t_close(&t);
}

TEST(combo_of_too_many) {
    t_feats t;
    char *big = malloc(3000);
    for (int i = 0; i < 2999; i++)
        big[i] = i % 2 ? '\x1d' : 'x';
    big[2999] = 0;
    OPEN2(t, COMBO("hash_bucket_size: 100"), "u", COL(big, "a"), "i", COL(big, "b"))
    CHECK_INT(t.bad.n, 1);
    CHECK(strstr(t.bad.v[0].msg, "combinations") != NULL);
    CLOSE(t);
    free(big);
}

/* ---- combine ---- */

#define COMBINE(rest)                                                                              \
    "- combine_feature: {feature_name: f, expression: 'user:u', value_map: {a: 1, b: 2, c: 5}, "   \
    "separator: ',', " rest "}"

/* without value_map values are numbers */
#define NUMBERS(rest) "- combine_feature: {feature_name: f, expression: 'user:u', " rest "}"
TEST(combine_numbers) {
    t_feats t;
    static const char *const combiners[] = {"sum", "mean"};
    for (int i = 0; i < 2; i++) {
        char text[256];
        snprintf(text, sizeof text, NUMBERS("default_value: '0', combiner: %s"), combiners[i]);
        if (open_with(&t, NORMAL, text)) {
            TEXT(&t, "u", "1.0" S "2.0", "3.0", "", NULL);
            t_encode(&t);
            DENSE(&t, i ? 1.5 : 3, 3, 0, 0);
        }
        t_close(&t);
        snprintf(text, sizeof text,
                 NUMBERS("boundaries: [-0.5, 0.5, 1.5, 2.5], embedding_dim: 16, default_value: "
                         "'0', combiner: %s"),
                 combiners[i]);
        if (open_with(&t, NORMAL, text)) {
            TEXT(&t, "u", "1.0" S "2.0", "0.0", "", NULL);
            t_encode(&t);
            CHECK_IDS(&t, 0, IDS(i ? 3 : 4, 1, 1, 1), ONE_EACH);
        }
        t_close(&t);
        snprintf(text, sizeof text,
                 NUMBERS("num_buckets: 10, embedding_dim: 16, default_value: '0', combiner: %s"),
                 combiners[i]);
        if (open_with(&t, NORMAL, text)) {
            TEXT(&t, "u", "1" S "2", "3", "", NULL);
            t_encode(&t);
            CHECK_IDS(&t, 0, IDS(i ? 1 : 3, 3, 0, 0), ONE_EACH);
        }
        t_close(&t);
    }
    /* typed columns, and words */
    if (open_with(&t, NORMAL, NUMBERS("combiner: max"))) {
        DOUBLES(&t, "u", 2.5, NAN);
        t_encode(&t);
        DENSE(&t, 2.5, 0);
        TEXT(&t, "u", "1" S "x", "2");
        t_encode(&t);
        CHECK_INT(t.bad.n, 1);
        CHECK(strstr(t.bad.v[0].msg, "value 'x': not a number; give a value_map") != NULL);
    }
    t_close(&t);
}

/* the table of a vocab_list has a row that no id leads to, as TorchEasyRec's */
TEST(match_rows) {
    static const struct {
        const char *source;
        int64_t rows, spare;
    } want[] = {{"vocab_list: [a, b, c]", 6, 1},
                {"vocab_list: [a, b, c], default_bucketize_value: 1", 4, 1},
                {"vocab_dict: {a: 2, b: 3}", 4, 0},
                {"num_buckets: 5", 5, 0},
                {"hash_bucket_size: 5", 5, 0}};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        t_feats t;
        char conf[300];
        snprintf(conf, sizeof(conf),
                 "- match_feature: {feature_name: m, nested_map: 'user:m', pkey: 'user:k', skey: "
                 "'user:k2', need_discrete: true, embedding_dim: 4, %s}",
                 want[i].source);
        if (!open_with(&t, NORMAL, conf)) continue;
        CHECK_INT(t.fs->v[0]->num_embeddings, want[i].rows);
        CHECK_INT(t.fs->v[0]->spare_rows, want[i].spare);
        t_close(&t);
    }
}

/* boundaries and default_value "": a row without a number has no id */
TEST(no_number_no_id) {
    t_feats t;
#define NO_ID "embedding_dim: 4, boundaries: [-0.5, 0.5, 1.5, 2.5], default_value: ''"
    if (open_with(&t, NORMAL,
                  "- match_feature: {feature_name: m, nested_map: 'user:m', pkey: 'user:k', skey: "
                  "'user:k2', " NO_ID "}\n"
                  "- expr_feature: {feature_name: e, variables: ['user:x', 'user:y'], expression: "
                  "'x+y', " NO_ID "}\n"
                  "- expr_feature: {feature_name: d, variables: ['user:x', 'user:y'], expression: "
                  "'dot(x,y)', " NO_ID "}\n"
                  "- lookup_feature: {feature_name: l, map: 'user:l', key: 'user:k', " NO_ID "}\n"
                  "- lookup_feature: {feature_name: l2, map: 'user:l', key: 'user:k', combiner: "
                  "'', " NO_ID "}\n"
                  "- combine_feature: {feature_name: c, expression: 'user:x', " NO_ID "}")) {
        TEXT(&t, "m", "ca^ba:1,bb:2|cb^ba:3,bb:4", "ca^ba:1,bb:2|cb^ba:3,bb:4", "");
        TEXT(&t, "k", "ca", "", "ca");
        TEXT(&t, "k2", "ba", "", "ba");
        DOUBLES(&t, "x", 1, NAN, NAN);
        DOUBLES(&t, "y", 1, 1, 1);
        TEXT(&t, "l", "ca:1", "ca:1", "");
        t_encode(&t);
        static const int64_t first[] = {2, 3, 2, 2, 2, 2};
        for (int i = 0; i < 6; i++) {
            CHECK_IDS(&t, i, IDS(first[i]), LENS(1, 0, 0));
            CHECK_INT(cr_features_counts(&t.enc)[i].missing, 2);
        }
    }
    t_close(&t);
}

TEST(combine) {
    static const struct {
        const char *combiner;
        double y[4];
    } cases[] = {{"sum", {3, 8, 0, 0}},
                 {"mean", {1.5, 8.0 / 3, 0, 0}},
                 {"min", {1, 1, 0, 0}},
                 {"max", {2, 5, 0, 0}}};
    for (int i = 0; i < 4; i++) {
        char text[256];
        snprintf(text, sizeof text, COMBINE("combiner: %s"), cases[i].combiner);
        t_feats t;
        if (open_with(&t, NORMAL, text)) {
            TEXT(&t, "u", "a,b", "a,x,b,c", "x", NULL);
            t_encode(&t);
            check_dense(__LINE__, &t, cases[i].y, 4);
        }
        t_close(&t);
    }
    t_feats t;
    if (open_with(&t, NORMAL, COMBINE("combiner: mean, num_buckets: 10, embedding_dim: 4"))) {
        TEXT(&t, "u", "a,b", "c", "x", "");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(1, 5), LENS(1, 1, 0, 0));
        CHECK_INT(t.fs->v[0]->num_embeddings, 10);
    }
    t_close(&t);
    if (open_with(&t, NORMAL,
                  COMBINE("boundaries: [0, 2, 4], embedding_dim: 4, default_value: '3', "
                          "normalizer: 'method=minmax,min=0,max=2'"))) {
        TEXT(&t, "u", "a,b", "c,c", "");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(1, 3, 2), ONE_EACH); /* the default is not normalized */
    }
    t_close(&t);
}

/* ---- lookup ---- */

#define LOOKUP(rest) "- lookup_feature: {feature_name: f, map: 'user:m', key: 'item:k', " rest "}"
#define MAP          "ca:1" S "cb:2"
#define MAP5         MAP, MAP, MAP, MAP, MAP
#define KEYS5        "ca" S "cb", "ca", "ca" S "cd", "cd", ""

TEST(lookup_numbers) {
    t_feats t;
    OPEN2(t, LOOKUP("combiner: sum"), "m", COL(MAP5), "k", COL(KEYS5))
    DENSE(&t, 3, 1, 1, 0, 0);
    CLOSE(t);
    OPEN2(t, LOOKUP("combiner: MEAN"), "m", COL(MAP5), "k", COL(KEYS5))
    DENSE(&t, 1.5, 1, 1, 0, 0);
    CLOSE(t);
    OPEN2(t, LOOKUP("combiner: count, default_value: '-1'"), "m", COL(MAP5), "k", COL(KEYS5))
    DENSE(&t, 2, 1, 1, -1, -1);
    CLOSE(t);
#define BOUNDS "embedding_dim: 4, boundaries: [-0.5, 0.5, 1.5, 2.5]"
    OPEN2(t, LOOKUP(BOUNDS), "m", COL(MAP5), "k", COL(KEYS5))
    CHECK_IDS(&t, 0, IDS(4, 2, 2, 1, 1), ONE_EACH);
    CLOSE(t);
    OPEN2(t, LOOKUP(BOUNDS ", combiner: mean"), "m", COL(MAP5), "k", COL(KEYS5))
    CHECK_IDS(&t, 0, IDS(3, 2, 2, 1, 1), ONE_EACH);
    CLOSE(t);
    OPEN2(t, LOOKUP(BOUNDS ", combiner: ''"), "m", COL(MAP5), "k", COL(KEYS5))
    CHECK_IDS(&t, 0, IDS(2, 3, 2, 2, 1, 1), LENS(2, 1, 1, 1, 1));
    CHECK_INT(t.fs->v[0]->num_embeddings, 5);
    CLOSE(t);
    /* vectors: the first found value; the default repeats */
    OPEN2(t, LOOKUP("value_dim: 2, default_value: '9', value_separator: '|'"), "m",
          COL("a:1|2" S "b:3|4", "a:1|2", "a:1"), "k", COL("b" S "a", "x", "x"))
    DENSE(&t, 3, 4, 9, 9, 9, 9);
    CLOSE(t);
    OPEN2(t, LOOKUP("normalizer: 'method=expression,expr=x*2', default_value: '7'"), "m", COL(MAP5),
          "k", COL(KEYS5))
    DENSE(&t, 6, 2, 2, 7, 7);
    CLOSE(t);
}

/* a map column of n pairs in one row, values as numbers */
static void one_map(t_feats *t, const char *name, const char *const *keys, const double *x, int n) {
    cr_column *c = t_list(t, name, (const int32_t[]){0, n}, 1);
    cr_column *k = CR_NEW(&t->chunk.arena, cr_column);
    k->depth = 1;
    k->row_off = c->row_off;
    t_strings(t, k, keys, n, NULL);
    double *v = CR_NEW_N(&t->chunk.arena, double, n + 1);
    memcpy(v, x, sizeof(double) * (size_t)n);
    c->type = CR_COL_F64;
    c->v.f64 = v;
    c->keys = k;
}

TEST(lookup_maps_and_tokens) {
    t_feats t;
    if (open_with(&t, NORMAL, LOOKUP("combiner: sum"))) {
        one_map(&t, "m", (const char *const[]){"1", "2", "3"}, (const double[]){0.5, 1, 2}, 3);
        cr_column *k = t_list(&t, "k", (const int32_t[]){0, 3}, 1);
        k->type = CR_COL_I64;
        k->v.i64 = (const int64_t[]){3, 7, 1};
        t_encode(&t);
        DENSE(&t, 2.5);
    }
    t_close(&t);
    OPEN2(t, LOOKUP("embedding_dim: 4, vocab_list: ['1', '2'], value_dim: 0"), "m", COL(MAP5), "k",
          COL(KEYS5))
    CHECK_IDS(&t, 0, IDS(2, 3, 2, 2, 0, 0), LENS(2, 1, 1, 1, 1));
    CLOSE(t);
    OPEN2(t, LOOKUP("embedding_dim: 4, num_buckets: 10"), "m", COL(MAP5), "k", COL(KEYS5))
    CHECK_IDS(&t, 0, IDS(1, 2, 1, 1, 0, 0), LENS(2, 1, 1, 1, 1)); /* all that were found */
    CLOSE(t);
    OPEN2(t, LOOKUP("embedding_dim: 4, num_buckets: 10, default_value: ''"), "m",
          COL(MAP5, "", NULL), "k", COL("ca" S "cb", "ca", "ca" S "cd", "cd", NULL, "ca", ""))
    CHECK_IDS(&t, 0, IDS(1, 2, 1, 1), LENS(2, 1, 1, 0, 0, 0, 0));
    CLOSE(t);
    OPEN2(t, LOOKUP("embedding_dim: 4, hash_bucket_size: 100, default_value: z"), "m",
          COL("ca:x" S "cb:y", "ca:x" S "cb:y", ""), "k", COL("ca" S "cb", "cd", "ca"))
    CHECK_IDS(&t, 0, IDS(35, 30, 54, 54), LENS(2, 1, 1));
    CLOSE(t);
    /* 1 means the same as none given, in TorchEasyRec's fg.json too; more: the first ones */
    OPEN2(t, LOOKUP("embedding_dim: 4, num_buckets: 10, value_dim: 1"), "m", COL(MAP), "k",
          COL("cb" S "ca"))
    CHECK_IDS(&t, 0, IDS(2, 1), LENS(2));
    CLOSE(t);
    OPEN2(t, LOOKUP("embedding_dim: 4, num_buckets: 10, value_dim: 2"), "m", COL(MAP S "cc:3"), "k",
          COL("cb" S "ca" S "cc"))
    CHECK_IDS(&t, 0, IDS(2, 1), LENS(2));
    CLOSE(t);
    OPEN2(t, LOOKUP("embedding_dim: 4, vocab_list: [ca_1, cb_2], value_dim: 0, need_key: true"),
          "m", COL(MAP, MAP), "k", COL("ca" S "cb", "cc"))
    CHECK_IDS(&t, 0, IDS(2, 3, 0), LENS(2, 1));
    CLOSE(t);
}

/* ---- match ---- */

#define MATCH(rest)                                                                                \
    "- match_feature: {feature_name: match_feat, nested_map: 'user:m', pkey: 'item:p', "           \
    "skey: 'item:s', " rest "}"
#define NESTED "pa^sa:1,sb:2|pb^sa:3,sc:4"
#define MATCH_COLUMNS(t)                                                                           \
    do {                                                                                           \
        TEXT(t, "m", NESTED, NESTED, NESTED, NULL, NESTED);                                        \
        TEXT(t, "p", "pa", "pb", "px", "pa", "");                                                  \
        TEXT(t, "s", "sa", "sc", "sa", "sa", "sa");                                                \
        t_encode(t);                                                                               \
    } while (0)

TEST(match) {
    t_feats t;
    if (open_with(&t, NORMAL, MATCH("embedding_dim: 4, hash_bucket_size: 100, default_value: z"))) {
        MATCH_COLUMNS(&t);
        CHECK_INT(t.batch.sparse[0].ids[0], 71); /* "match_feat_1" */
        CHECK_INT(t.batch.sparse[0].ids[2], 54); /* "z" */
        CHECK(t.batch.sparse[0].n_ids == 5 && t.batch.sparse[0].off == NULL);
    }
    t_close(&t);
    if (open_with(&t, NORMAL, MATCH("embedding_dim: 4, num_buckets: 10"))) {
        MATCH_COLUMNS(&t);
        CHECK_IDS(&t, 0, IDS(1, 4, 0, 0, 0), ONE_EACH);
    }
    t_close(&t);
    if (open_with(&t, NORMAL, MATCH("default_value: '-1'"))) {
        MATCH_COLUMNS(&t);
        DENSE(&t, 1, 4, -1, -1, -1);
    }
    t_close(&t);
    if (open_with(&t, NORMAL,
                  MATCH("embedding_dim: 4, vocab_list: [pa_sa_1, pb_sc_4], show_pkey: true, "
                        "show_skey: true, default_value: ''"))) {
        MATCH_COLUMNS(&t);
        CHECK_IDS(&t, 0, IDS(2, 3), LENS(1, 1, 0, 0, 0));
    }
    t_close(&t);
    /* ALL: every key of a level */
    if (open_with(&t, NORMAL,
                  "- match_feature: {feature_name: f, nested_map: 'user:m', pkey: ALL, skey: "
                  "'item:s', embedding_dim: 4, num_buckets: 10, default_value: ''}\n"
                  "- match_feature: {feature_name: g, nested_map: 'user:m', pkey: 'item:p', skey: "
                  "ALL}")) {
        MATCH_COLUMNS(&t);
        CHECK_IDS(&t, 0, IDS(1, 3, 4, 1, 3, 1, 3), LENS(2, 1, 2, 0, 2));
        DENSE(&t, 3, 7, 0, 0, 0);
    }
    t_close(&t);
    /* a map column from first keys to text */
    if (open_with(&t, NORMAL, MATCH(""))) {
        one_map(&t, "m", (const char *const[]){"pa", "pb"}, (const double[]){0, 0}, 2);
        cr_column *m = t_col(&t, "m", 1);
        t_strings(&t, m, (const char *const[]){"sa:1,sb:2", "sa:3"}, 2, NULL);
        TEXT(&t, "p", "pb");
        TEXT(&t, "s", "sa");
        t_encode(&t);
        DENSE(&t, 3);
    }
    t_close(&t);
}

/* ---- expr ---- */

#define EXPR(formula, rest)                                                                        \
    "- expr_feature: {feature_name: f, variables: ['user:a', 'item:b'], expression: '" formula     \
    "', " rest "}"

TEST(formula) {
    t_feats t;
    OPEN2(t, EXPR("a+b", "default_value: '0.1'"), "a", COL("0.2", "", "0.3", NULL), "b",
          COL("0.2", "0.2", "0.2", "0.2"))
    DENSE(&t, 0.4, 0.1, 0.5, 0.1);
    CLOSE(t);
    OPEN2(t, EXPR("a+b", "default_value: '0.1', boundaries: [0.15, 0.25, 0.35], embedding_dim: 4"),
          "a", COL("0.2", "0.1", ""), "b", COL("0.2", "0.2", "1"))
    CHECK_IDS(&t, 0, IDS(3, 2, 0), ONE_EACH);
    CLOSE(t);
    OPEN2(t, EXPR("dot(a,b)", "boundaries: [0.05, 0.1, 0.15], embedding_dim: 4"), "a",
          COL("0.2" S "0.3", ""), "b", COL("0.2" S "0.2", "1"))
    CHECK_IDS(&t, 0, IDS(2, 0), ONE_EACH);
    CLOSE(t);
    if (open_with(&t, NORMAL, EXPR("a==b ? 1 : 0", ""))) { /* typed columns */
        INTS(&t, "a", 3, 4, T_NULL);
        DOUBLES(&t, "b", 3, 5, 6);
        t_encode(&t);
        DENSE(&t, 1, 0, 0);
    }
    t_close(&t);
    /* several values: one stands for all, short ones are filled up */
    OPEN2(t, EXPR("a*b", "fill_missing: 10, boundaries: [0.5, 5, 50], embedding_dim: 4"), "a",
          COL("1" S "2" S "9", "1" S "2"), "b", COL("3", "0.1" S "30"))
    CHECK_IDS(&t, 0, IDS(1, 2, 2, 0, 3), LENS(3, 2));
    CLOSE(t);
    OPEN2(t, EXPR("a*b", "fill_missing: 10, value_dim: 3"), "a", COL("1" S "2" S "9"), "b",
          COL("1" S "2"))
    DENSE(&t, 1, 4, 90);
    CLOSE(t);
    static const struct {
        const char *formula;
        double y;
    } cases[] = {
        {"len(a)", 3},
        {"l2_norm(a)", 3},
        {"squared_norm(a)", 9},
        {"dot(a,a)+b", 10},
        {"euclid_dist(a,a)", 0},
        {"corr(a,a)", 1},
        {"variance(a)", 2.0 / 9},
        {"pop_variance(a)", 1.0 / 3},
        {"reduce_min(a)", 1},
        {"reduce_max(a)", 2},
        {"reduce_sum(a)*b", 5},
        {"reduce_mean(a)", 5.0 / 3},
        {"reduce_prod(a)", 4},
        {"std_dev(a)^2", 2.0 / 9},
        {"pop_std_dev(a)^2", 1.0 / 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "- expr_feature: {feature_name: f, variables: ['user:a', 'item:b'], expression: "
                 "'%s'}",
                 cases[i].formula);
        OPEN2(t, text, "a", COL("1" S "2" S "2"), "b", COL("1"))
        check_dense(__LINE__, &t, &cases[i].y, 1);
        CLOSE(t);
    }
}

TEST(formula_bad_rows) {
    t_feats t;
    OPEN2(t, EXPR("a/b", ""), "a", COL("1", "x", "1"), "b", COL("0", "1", "2"))
    CHECK_INT(t.bad.n, 2);
    CHECK_STR(t.bad.v[0].msg, "feature 'f', value 'inf': the formula gives no finite number");
    CHECK_STR(t.bad.v[1].msg, "column 'a', value 'x': not a number (feature 'f')");
    CHECK(t.batch.dense[2] == 0.5f);
    CLOSE(t);
    OPEN2(t, EXPR("dot(a,a)*b", ""), "a", COL("1" S "2"), "b", COL("1" S "2"))
    CHECK_INT(t.bad.n, 1);
    CLOSE(t);
    OPEN2(t, EXPR("a+b", ""), "a", COL("1" S "2"), "b", COL("1")) /* value_dim is 1 */
    CHECK_INT(t.bad.n, 1);
    CLOSE(t);
}

static void formula_fails(const char *formula, int at, const char *message) {
    char text[300];
    snprintf(text, sizeof text,
             "- expr_feature: {feature_name: f, variables: ['user:a', 'item:b'], expression: "
             "\"%s\"}",
             formula);
    t_feats t;
    t_open(&t, NORMAL, text, false, NULL, 0);
    CHECK(t.fs == NULL);
    bool found = false;
    const char *quote = strstr(text, "expression: \"");
    int col = (int)(quote - text) + 13 + at; /* columns count from 1, and there is the quote */
    for (size_t i = 0; i < t.diag.n; i++)
        found |= strstr(t.diag.v[i].msg, message) != NULL && t.diag.v[i].at.line == 3 &&
                 t.diag.v[i].at.col == col + 1 - 1;
    CHECK(found);
    if (!found) {
        fprintf(stderr, "wanted column %d: %s\n", col, message);
        t_show_diag(&t);
    }
    t_close(&t);
}

TEST(formula_errors_have_a_place) {
    formula_fails("a + c", 5, "unknown name 'c'");
    formula_fails("dot(a, 3)", 8, "works on a whole variable");
    formula_fails("dot(a)", 6, "takes two variables");
    formula_fails("a + ", 5, "ends too early");
    formula_fails("rnd()", 1, "leave it out");
    formula_fails("len(a", 6, "')' expected");
}

/* ---- overlap ---- */

TEST(overlap) {
    static const struct {
        const char *method;
        double y[5];
    } cases[] = {
        /* [b c] in [a b c d] is TorchEasyRec's test of every method */
        {"query_common_ratio", {1, 0.5, 1, 0, 0}},
        {"title_common_ratio", {0.5, 0.25, 2.0 / 3, 0, 0}},
        {"is_contain", {1, 0, 1, 0, 0}},
        {"is_equal", {0, 0, 0, 0, 0}},
        {"index_of", {1, -1, 0, 0, 0}},
        {"proximity_min_dist", {1, 0, 1, 0, 0}},
        {"proximity_max_dist", {1, 0, 1, 0, 0}},
        {"proximity_avg_dist", {1, 0, 1, 0, 0}},
        {"proximity_min_cover", {2, 0, 2, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "- overlap_feature: {feature_name: f, query: 'user:q', title: 'item:t', method: "
                 "%s}",
                 cases[i].method);
        t_feats t;
        OPEN2(t, text, "q", COL("b" S "c", "abc" S "efg", "abc" S "efg", "", NULL), "t",
              COL("a" S "b" S "c" S "d", "abc" S "qwe" S "rty" S "uio", "abc" S "efg" S "rty",
                  "abc", "abc"))
        check_dense(__LINE__, &t, cases[i].y, 5);
        CLOSE(t);
    }
    t_feats t;
    OPEN2(t,
          "- overlap_feature: {feature_name: f, query: 'user:q', title: 'item:t', separator: ' ', "
          "method: proximity_max_dist}\n"
          "- overlap_feature: {feature_name: g, query: 'user:q', title: 'item:t', separator: ' ', "
          "method: proximity_avg_dist}\n"
          "- overlap_feature: {feature_name: h, query: 'user:q', title: 'item:t', separator: ' ', "
          "method: proximity_min_cover}\n"
          "- overlap_feature: {feature_name: i, query: 'user:q', title: 'item:t', separator: ' ', "
          "method: is_equal}\n"
          "- overlap_feature: {feature_name: j, query: 'user:q', title: 'item:t', separator: ' ', "
          "method: query_common_ratio, boundaries: [0.1, 0.6], embedding_dim: 2}",
          "q", COL("x y z", "x z", "q"), "t", COL("x a y b b z x", "x z", "a b"))
    /* x-y 2, x-z 1, y-z 3; all three in "y b b z x" */
    DENSE(&t, 3, 2, 5, 0, 1, 1, 2, 1, 3, 3, 0, 0);
    CHECK_IDS(&t, 0, IDS(2, 2, 0), ONE_EACH);
    CLOSE(t);
}

/* ---- kv_dot_product ---- */

#define KV(rest)                                                                                   \
    "- kv_dot_product: {feature_name: f, query: 'user:q', document: 'item:d', separator: "         \
    "'|', " rest "}"

TEST(kv_dot) {
    t_feats t;
    OPEN2(t, KV(""), "q", COL("a:0.5|b:0.5", "a|b|c", "a:0.5|b:0.5", "", "a:2", "x:1"), "d",
          COL("a:0.5|b:0.5", "a|b", "d:0.5|b:0.5", "a", NULL, "y:1"))
    DENSE(&t, 0.5, 2, 0.25, 0, 0, 0);
    CLOSE(t);
#define KV_BOUNDS "boundaries: [0.05, 0.15, 1.0], embedding_dim: 4"
    OPEN2(t, KV(KV_BOUNDS ", default_value: '0.1'"), "q", COL("a:0.5|b:0.5", "a|b|c", ""), "d",
          COL("a:0.5|b:0.5", "a|b", "a"))
    CHECK_IDS(&t, 0, IDS(2, 3, 1), ONE_EACH);
    CLOSE(t);
    OPEN2(t, KV(KV_BOUNDS ", default_value: ''"), "q", COL(""), "d", COL("a"))
    CHECK_IDS(&t, 0, IDS(0), ONE_EACH);
    CLOSE(t);
    if (open_with(&t, NORMAL, KV("kv_delimiter: '='"))) { /* list of text with a map */
        cr_column *q = t_list(&t, "q", (const int32_t[]){0, 3}, 1);
        t_strings(&t, q, (const char *const[]){"a", "b=2", "c"}, 3, NULL);
        one_map(&t, "d", (const char *const[]){"a", "b"}, (const double[]){0.5, 0.5}, 2);
        t_encode(&t);
        DENSE(&t, 1.5);
    }
    t_close(&t);
    OPEN2(t, KV(""), "q", COL("a:x"), "d", COL("a:1"))
    CHECK_INT(t.bad.n, 1);
    CHECK_STR(t.bad.v[0].msg, "column 'q', value 'x': not a number (feature 'f')");
    CLOSE(t);
}

/* ---- bool_mask ---- */

#define MASK(rest)                                                                                 \
    "- bool_mask_feature: {feature_name: f, expression: ['user:v', 'user:m'], separator: ',', "    \
    "embedding_dim: 4, num_buckets: 1000, " rest "}"

TEST(bool_mask) {
    t_feats t;
    OPEN2(t, MASK(""), "v", COL("1,2,3,4", "123,456,90,80", "1,,3", "", "1,2"), "m",
          COL("true,false,true,false", "1,0,1,0", "True,TRUE,1", "1", "0,0"))
    CHECK_IDS(&t, 0, IDS(1, 3, 123, 90, 1, 3), LENS(2, 2, 2, 0, 0));
    CLOSE(t);
    if (open_with(&t, NORMAL, MASK("default_value: '7', value_dim: 1"))) {
        cr_column *v = t_list(&t, "v", (const int32_t[]){0, 4, 4}, 2);
        v->type = CR_COL_I64;
        v->v.i64 = (const int64_t[]){1, 2, 3, 4};
        cr_column *m = t_list(&t, "m", (const int32_t[]){0, 4, 4}, 2);
        m->type = CR_COL_I32;
        m->v.i32 = (const int32_t[]){0, 1, 1, 0};
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(2, 7), ONE_EACH);
    }
    t_close(&t);
    OPEN2(t, MASK(""), "v", COL("1,2,3", "1,2", "5"), "m", COL("1,0", "1,maybe", "1"))
    CHECK_INT(t.bad.n, 2);
    CHECK(strstr(t.bad.v[0].msg, "not as many") && strstr(t.bad.v[1].msg, "'maybe'"));
    CLOSE(t);
}

/* ---- all of them ---- */

#define ALL_TYPES                                                                                  \
    "- combo_feature: {feature_name: c, expression: ['user:a', 'item:b'], embedding_dim: 4, "      \
    "hash_bucket_size: 100}\n"                                                                     \
    "- combine_feature: {feature_name: n, expression: 'user:a', value_map: {x: 1, y: 2.5}, "       \
    "boundaries: [1, 2], embedding_dim: 4}\n"                                                      \
    "- lookup_feature: {feature_name: l, map: 'user:m', key: 'user:a', value_dim: 0, "             \
    "embedding_dim: 4, vocab_list: ['1', '2']}\n"                                                  \
    "- lookup_feature: {feature_name: l2, map: 'user:m', key: 'user:a', boundaries: [1], "         \
    "embedding_dim: 2, combiner: ''}\n"                                                            \
    "- match_feature: {feature_name: t, nested_map: 'user:nested', pkey: 'user:a', skey: 'item:b'" \
    ", default_value: '2'}\n"                                                                      \
    "- expr_feature: {feature_name: e, variables: ['user:x', 'item:y'], expression: 'x*y+1'}\n"    \
    "- overlap_feature: {feature_name: o, query: 'user:a', title: 'item:b', method: "              \
    "query_common_ratio}\n"                                                                        \
    "- kv_dot_product: {feature_name: k, query: 'user:m', document: 'user:a'}\n"                   \
    "- bool_mask_feature: {feature_name: b, expression: ['user:a', 'user:mask'], "                 \
    "embedding_dim: 4, hash_bucket_size: 50}"
#define ROWS 6
static const char *const all_columns[][1 + ROWS] = {
    {"a", "x" S "y", "y", "", "x", "z", "y" S "x"},
    {"b", "x", "", "x" S "q", "y", "y" S "x", "x" S "y" S "y"},
    {"m", "x:1" S "y:2", "y:1", "x:2", NULL, "q:1", "x:2"},
    {"nested", "x^x:1", "", "x^x:2", "x^y:5|y^x:1", "x^x:2", "x^x:2,y:9"},
    {"x", "1", "2", "", "4", "5", "6"},
    {"y", "1", NULL, "2", "3", "4", "0.5"},
    {"mask", "1" S "0", "true", "", "false", "1", "1" S "1"},
};
#define N_ALL (sizeof all_columns / sizeof *all_columns)

/* any cut of the rows gives the same */
TEST(row_by_row_is_the_batch) {
    t_feats t, one;
    if (open_with(&t, NORMAL, ALL_TYPES) && open_with(&one, NORMAL, ALL_TYPES)) {
        for (size_t c = 0; c < N_ALL; c++)
            t_text(&t, all_columns[c][0], all_columns[c] + 1, ROWS);
        t_encode(&t);
        CHECK(t.rc == CR_OK && t.bad.n == 0);
        for (int r = 0; r < ROWS; r++) {
            t_drop_chunk(&one);
            for (size_t c = 0; c < N_ALL; c++)
                t_text(&one, all_columns[c][0], all_columns[c] + 1 + r, 1);
            t_encode(&one);
            for (int64_t d = 0; d < t.batch.dense_width; d++)
                CHECK(one.batch.dense[d] == t.batch.dense[r * t.batch.dense_width + d]);
            for (int s = 0; s < t.batch.n_sparse; s++) {
                const cr_jagged *all = &t.batch.sparse[s], *j = &one.batch.sparse[s];
                int64_t a = all->off ? all->off[r] : r, b = all->off ? all->off[r + 1] : r + 1;
                CHECK_INT(j->n_ids, b - a);
                for (int64_t i = 0; i < b - a && j->n_ids == b - a; i++)
                    CHECK_INT(j->ids[i], all->ids[a + i]);
            }
        }
        for (int s = 0; s < t.batch.n_sparse; s++)
            for (int64_t i = 0; i < t.batch.sparse[s].n_ids; i++)
                CHECK(t.batch.sparse[s].ids[i] >= 0);
    }
    t_close(&t);
    t_close(&one);
}

/* a text column as a list of its values */
static void split_column(t_feats *t, const char *name, const char *const *rows) {
    const char *items[64];
    int32_t off[ROWS + 1] = {0};
    int64_t n = 0;
    for (int r = 0; r < ROWS; r++) {
        char *copy = cr_arena_strdup(&t->chunk.arena, rows[r] ? rows[r] : "");
        for (char *p = strtok(copy, S); p && n < 64; p = strtok(NULL, S))
            items[n++] = p;
        off[r + 1] = (int32_t)n;
    }
    t_strings(t, t_list(t, name, off, ROWS), items, n, NULL);
}

/* lists and numbers give what text gives */
TEST(text_is_typed) {
    t_feats t, typed;
    if (open_with(&t, NORMAL, ALL_TYPES) && open_with(&typed, NORMAL, ALL_TYPES)) {
        for (size_t c = 0; c < N_ALL; c++) {
            const char *name = all_columns[c][0];
            const char *const *rows = all_columns[c] + 1;
            t_text(&t, name, rows, ROWS);
            if (strcmp(name, "nested") == 0) {
                t_text(&typed, name, rows, ROWS);
            } else if (strcmp(name, "x") == 0 || strcmp(name, "y") == 0) {
                double x[ROWS];
                for (int r = 0; r < ROWS; r++)
                    x[r] = rows[r] && rows[r][0] ? strtod(rows[r], NULL) : NAN;
                t_f64(&typed, name, x, ROWS);
            } else {
                split_column(&typed, name, rows);
            }
        }
        t_encode(&t);
        t_encode(&typed);
        CHECK(typed.rc == CR_OK && typed.bad.n == 0);
        CHECK(memcmp(t.batch.dense, typed.batch.dense,
                     sizeof(float) * (size_t)(ROWS * t.batch.dense_width)) == 0);
        for (int s = 0; s < t.batch.n_sparse; s++) {
            const cr_jagged *a = &t.batch.sparse[s], *b = &typed.batch.sparse[s];
            CHECK_INT(a->n_ids, b->n_ids);
            CHECK((a->off == NULL) == (b->off == NULL));
            CHECK(memcmp(a->ids, b->ids, sizeof(int64_t) * (size_t)a->n_ids) == 0);
            CHECK(!a->off || !b->off || memcmp(a->off, b->off, sizeof(int32_t) * (ROWS + 1)) == 0);
        }
    }
    t_close(&t);
    t_close(&typed);
}

/* whatever the columns hold: nothing breaks, ids lie in their tables, numbers are finite */
TEST(any_text) {
    static const char alphabet[] = "xy1290.-:,|^" S S S "e+ ";
    t_feats t;
    if (open_with(&t, NORMAL, ALL_TYPES)) {
        uint64_t s = 88172645463325252u;
        for (int round = 0; round < 300; round++) {
            static char text[N_ALL][ROWS][24];
            const char *rows[ROWS];
            t_drop_chunk(&t);
            for (size_t c = 0; c < N_ALL; c++) {
                for (int r = 0; r < ROWS; r++) {
                    size_t n = 0;
                    for (;; n++) {
                        s ^= s << 13;
                        s ^= s >> 7;
                        s ^= s << 17;
                        if (n == 23 || s % 9 == 0) break;
                        text[c][r][n] = alphabet[(s >> 20) % (sizeof alphabet - 1)];
                    }
                    text[c][r][n] = 0;
                    rows[r] = s % 31 == 0 ? NULL : text[c][r];
                }
                t_text(&t, all_columns[c][0], rows, ROWS);
            }
            t_encode(&t);
            CHECK(t.rc == CR_OK);
            for (int i = 0; i < t.fs->n; i++) {
                const cr_feature *f = t.fs->v[i];
                const cr_jagged *j = f->sparse ? &t.batch.sparse[f->slot] : NULL;
                for (int64_t k = 0; j && k < j->n_ids; k++)
                    CHECK(j->ids[k] >= 0 && j->ids[k] < f->num_embeddings);
            }
            for (int64_t k = 0; k < ROWS * t.batch.dense_width; k++)
                CHECK(isfinite(t.batch.dense[k]));
        }
    }
    t_close(&t);
}

/* FG_NONE: the feature's own column holds ids or numbers */
TEST(encoded) {
    t_feats t;
    if (open_with(&t, "fg_mode: FG_NONE", ALL_TYPES)) {
        CHECK_INT(t.fs->n_want, 9);
        TEXT(&t, "c",
             "1\x03"
             "2",
             "");
        TEXT(&t, "n", "2", "1");
        INTS(&t, "l", 3, T_NULL);
        TEXT(&t, "l2", "1",
             "0\x03"
             "1");
        TEXT(&t, "t", "0.5", "2");
        DOUBLES(&t, "e", 1.5, 2);
        TEXT(&t, "o", "1", "0");
        TEXT(&t, "k", "1", "0");
        TEXT(&t, "b", "49", "50"); /* the second is outside */
        t_encode(&t);
        CHECK(t.rc == CR_OK && t.bad.n == 0);
        CHECK_IDS(&t, 0, IDS(1, 2), LENS(2, 0));
        CHECK_IDS(&t, 1, IDS(2, 1), ONE_EACH);
        CHECK_IDS(&t, 2, IDS(3), LENS(1, 0));
        CHECK_IDS(&t, 3, IDS(1, 0, 1), LENS(1, 2));
        CHECK_IDS(&t, 4, IDS(49, 0), ONE_EACH);
        DENSE(&t, 0.5, 1.5, 1, 1, 2, 2, 0, 0);
    }
    t_close(&t);
}

static void refused(const char *features, const char *message) {
    t_feats t;
    t_open(&t, NORMAL, features, false, NULL, 0);
    bool found = t.fs == NULL && t_has(&t, message);
    CHECK(found);
    if (!found) {
        fprintf(stderr, "wanted: %s\n", message);
        t_show_diag(&t);
    }
    for (size_t i = 0; i < t.diag.n; i++)
        CHECK(t.diag.v[i].at.line > 0);
    t_close(&t);
}

TEST(config_errors) {
    refused("- combo_feature: {feature_name: f, embedding_dim: 4, hash_bucket_size: 9}",
            "has no inputs; write");
    refused("- combo_feature: {feature_name: f, expression: ['user:a', 'itm:b'], embedding_dim: "
            "4, hash_bucket_size: 9}",
            "unknown side 'itm'; did you mean 'item'?");
    refused("- combo_feature: {feature_name: f, expression: ['user:a', 'featur:b'], embedding_dim: "
            "4, hash_bucket_size: 9}",
            "unknown side 'featur'; did you mean 'feature'?");
    refused("- combo_feature: {feature_name: f, expression: [a, 'item:b'], embedding_dim: 4, "
            "hash_bucket_size: 9}",
            "must be side:column; write e.g. user:a");
    refused("- combo_feature: {feature_name: f, expression: ['user:a', 'feature:b'], "
            "embedding_dim: 4, hash_bucket_size: 9}",
            "needs fg_mode FG_DAG");
    refused("- combo_feature: {feature_name: f, expression: ['user:a', 'user:b'], "
            "embedding_dim: "
            "4}",
            "no table size; set one of");
    refused(LOOKUP("need_discrete: true"), "no table size; set one of");
    refused(LOOKUP("combiner: summ"), "unknown combiner 'summ'; did you mean 'sum'?");
    refused(LOOKUP("boundaries: [2, 1], embedding_dim: 4"), "boundaries must ascend");
    refused(LOOKUP("embedding_dim: 4, piecewise: {points: [1]}"), "needs two at least");
    refused(LOOKUP("embedding_dim: 4, piecewise: {points: [1, 3, 3]}"), "points must ascend");
    refused("- raw_feature: {feature_name: f, expression: 'user:a', embedding_dim: 4, value_dim: "
            "2, periodic: {}}",
            "periodic takes one number per row");
    refused("- raw_feature: {feature_name: f, expression: 'user:a', embedding_dim: 4, boundaries: "
            "[1], periodic: {}}",
            "boundaries make the feature sparse, periodic needs a dense one");
    refused(LOOKUP("normalizer: 'method=zsc'"), "normalizer, character");
    refused(LOOKUP("separator: '||'"), "must have exactly one");
    refused(LOOKUP("default_value: x"), "is not a number");
    refused("- overlap_feature: {feature_name: f, query: 'user:a', title: 'item:b', method: "
            "is_common}",
            "unknown method 'is_common'");
    refused("- bool_mask_feature: {feature_name: f, expression: ['user:a'], embedding_dim: 4, "
            "num_buckets: 9}",
            "needs two: the values and their mask");
    refused("- expr_feature: {feature_name: f, expression: 'a+1'}", "has no variables");
    refused("- kv_dot_product: {feature_name: f, query: 'user:a', document: 'item:b', "
            "kv_delimiter: '::'}",
            "must be one byte");
}

/* what columns may hold */
TEST(kinds) {
    t_feats t;
    if (open_with(&t, NORMAL, ALL_TYPES)) {
        cr_colkind kinds[N_ALL];
        for (size_t i = 0; i < N_ALL; i++)
            kinds[i] = (cr_colkind){.type = CR_COL_STR, .key = -1, .text = "string"};
        cr_features_check(t.fs, kinds, &t.diag);
        CHECK_INT((int)t.diag.n_errors, 0);
        for (int i = 0; i < t.fs->n_want; i++) {
            const char *name = t.fs->want[i].name;
            if (strcmp(name, "a") == 0) kinds[i].type = CR_COL_F32;
            if (strcmp(name, "x") == 0) kinds[i].depth = 2;
        }
        cr_features_check(t.fs, kinds, &t.diag);
        CHECK(t_has(&t, "column 'a' holds string; feature 'c' needs text, integers or lists"));
        CHECK(t_has(&t, "column 'x' holds string; feature 'e' needs numbers or lists of numbers"));
        CHECK(!t_has(&t, "column 'b'"));
    }
    t_close(&t);
}

TEST(fg_json) {
    t_feats t;
    if (open_with(&t, NORMAL,
                  ALL_TYPES "\n- lookup_feature: {feature_name: v, map: 'user:m', key: 'user:a', "
                            "value_dim: 2}")) {
        cr_buf b;
        cr_buf_init(&b);
        cr_features_fg_json(t.fs, &b);
        cr_buf_str(&b, "");
        static const char *const parts[] = {
            "\"feature_type\":\"combo_feature\"",
            "\"expression\":[\"user:a\",\"item:b\"]",
            "\"value_map\":{\"x\":1,\"y\":2.5},\"combiner\":\"sum\",\"value_dim\":1",
            "\"needDiscrete\":true,\"needKey\":false,\"combiner\":\"\",\"value_dim\":0",
            "\"vocab_list\":[\"0\",\"<OOV>\",\"1\",\"2\"],\"default_bucketize_value\":1",
            "\"category\":\"user:a\",\"item\":\"item:b\",\"matchType\":\"hit\"",
            "\"expression\":\"x*y+1\",\"variables\":[\"user:x\",\"item:y\"]}",
            "\"method\":\"query_common_ratio\",\"separator\":",
            "\"kv_delimiter\":\":\"",
            "\"feature_type\":\"bool_mask_feature\"",
            "\"feature_name\":\"v__lookup\",\"default_value\":\"0,0\"",
            "\"expression\":\"feature:v__lookup\"",
        };
        cr_buf flat; /* without the blanks of printing */
        cr_buf_init(&flat);
        for (size_t i = 0; i < b.n; i++)
            if (b.data[i] != ' ' && b.data[i] != '\n') cr_buf_printf(&flat, "%c", b.data[i]);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            bool found = strstr(flat.data, parts[i]) != NULL;
            CHECK(found);
            if (!found) fprintf(stderr, "not there: %s\n", parts[i]);
        }
        CHECK(strstr(flat.data, "\"variables\":[\"user:x\",\"item:y\"],\"value_dim\"") == NULL);
        if (t_failed_checks) fprintf(stderr, "%s\n", flat.data);
        cr_buf_clear(&flat);
        cr_buf_clear(&b);
    }
    t_close(&t);
}

TEST_MAIN(CASE(combo), CASE(combo_of_too_many), CASE(combine), CASE(combine_numbers),
          CASE(match_rows), CASE(no_number_no_id), CASE(lookup_numbers),
          CASE(lookup_maps_and_tokens), CASE(match), CASE(formula), CASE(formula_bad_rows),
          CASE(formula_errors_have_a_place), CASE(overlap), CASE(kv_dot), CASE(bool_mask),
          CASE(row_by_row_is_the_batch), CASE(text_is_typed), CASE(any_text), CASE(encoded),
          CASE(config_errors), CASE(kinds), CASE(fg_json))
