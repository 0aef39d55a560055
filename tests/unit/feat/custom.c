/*
 * custom.c - custom_feature: the reference's values for the built-in operators, operators of a
 * library with values of every kind, what a library may do wrong, sequences, any split of rows.
 */
#include <dlfcn.h>
#include <unistd.h>

#include "base/plugin.h"
#include "feat_test.h"

/* the libraries of this test are ours */
__attribute__((constructor)) static void allow(void) {
    cr_plugin_allow();
}

#define NORMAL "fg_mode: FG_NORMAL"

static char lib_path[4096];

static const char *lib_named(const char *name) {
    ssize_t n = readlink("/proc/self/exe", lib_path, 3000);
    lib_path[n > 0 ? n : 0] = 0;
    char *slash = strrchr(lib_path, '/');
    if (!slash) slash = lib_path;
    snprintf(slash, sizeof(lib_path) - (size_t)(slash - lib_path), "/unit/feat/lib%s.so", name);
    return lib_path;
}

static const char *lib(void) {
    return lib_named("custom_plug");
}

static void open_or_say(t_feats *t, const char *data, const char *features) {
    t_open(t, data, features, false, NULL, 0);
    CHECK(t->fs != NULL);
    if (!t->fs) t_show_diag(t);
}

/* a feature of our library: rest begins with its operator's name */
static void open_ours(t_feats *t, const char *data, const char *kind, const char *rest) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(&b, "- %s: {feature_name: f, operator_lib_file: '%s', operator_name: %s}", kind,
                  lib(), rest);
    t_open(t, data, b.data, false, NULL, 0);
    cr_buf_clear(&b);
}

static void check_dense(const t_feats *t, const float *want, int64_t n) {
    CHECK(t->rc == CR_OK && t->bad.n == 0);
    for (int64_t i = 0; i < n; i++)
        CHECK_NEAR(t->batch.dense[i], want[i], 0, 1e-6);
}

static void check_seq(const t_feats *t, const float *want, const int *steps, int64_t n_rows) {
    const cr_dense_seq *d = &t->batch.dense_seq[0];
    CHECK(t->rc == CR_OK && t->bad.n == 0);
    for (int64_t r = 0, k = 0; r < n_rows; r++) {
        CHECK_INT(d->steps[r + 1] - d->steps[r], steps[r]);
        for (int i = 0; i < steps[r]; i++, k++)
            CHECK_NEAR(d->v[k], want[k], 0, 1e-6);
    }
}

/* ---- the reference's own operators ---- */

#define EDIT(rest)                                                                                 \
    "- custom_feature: {feature_name: f, operator_name: EditDistance, "                            \
    "operator_lib_file: 'pyfg/lib/libedit_distance.so', expression: ['user:q', 'item:t']" rest "}"

TEST(golden_edit_distance) {
    t_feats t;
    open_or_say(&t, NORMAL, EDIT(", operator_params: {encoding: utf-8}"));
    TEXT(&t, "q", "裙子", "", "kitten", NULL);
    TEXT(&t, "t", "连衣裙", "abc", "sitting", NULL);
    t_encode(&t);
    check_dense(&t, (const float[]){3, 0, 3, 0}, 4);
    CHECK_INT(cr_features_counts(&t.enc)[0].missing, 2);
    t_close(&t);
    open_or_say(&t, NORMAL,
                EDIT(", operator_params: {encoding: utf-8}, boundaries: [0, 5, 10], "
                     "embedding_dim: 16"));
    TEXT(&t, "q", "裙子");
    TEXT(&t, "t", "连衣裙");
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(1), ONE_EACH);
    t_close(&t);
    /* latin: bytes */
    open_or_say(&t, NORMAL, EDIT(", num_buckets: 100, embedding_dim: 4, default_value: '7'"));
    TEXT(&t, "q", "裙子", "", "a");
    TEXT(&t, "t", "连衣裙", "x", "\xff");
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(8, 7, 1), ONE_EACH);
    t_close(&t);
    /* a row that would take minutes is a bad one */
    open_or_say(&t, NORMAL, EDIT(""));
    char *big = cr_alloc(30001, "a long text");
    memset(big, 'a', 30000);
    TEXT(&t, "q", big, "a");
    TEXT(&t, "t", big, big);
    t_encode(&t);
    CHECK(t.rc == CR_OK && t.bad.n == 1 && t.bad.v[0].row == 0);
    CHECK_STR(t.bad.v[0].msg, "feature 'f': texts whose lengths multiply to more than 400000000");
    CHECK(t.batch.dense[1] == 29999);
    cr_free(big);
    t_close(&t);
    /* the documentation's example: a normalizer before the buckets */
    open_or_say(&t, NORMAL,
                EDIT(", num_buckets: 100, embedding_dim: 4, normalizer: "
                     "'method=expression,expr=x>2?2:x'"));
    TEXT(&t, "q", "abcdef", "a");
    TEXT(&t, "t", "x", "b");
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(2, 1), ONE_EACH);
    t_close(&t);
}

#define SEQ_EXPR(kind, rest)                                                                       \
    "- " kind ": {feature_name: f, operator_name: SeqExpr, operator_lib_file: "                    \
    "'pyfg/lib/libseq_expr.so', " rest "}"
#define TIMES                                                                                      \
    "sequence_delim: '|', sequence_length: 50, expression: ['user:now', 'user:then'], "            \
    "operator_params: {formula: 'now-then'}"

TEST(golden_seq_expr) {
    t_feats t;
    open_or_say(&t, NORMAL, SEQ_EXPR("sequence_custom_feature", TIMES));
    TEXT(&t, "now", "10", NULL, NULL);
    TEXT(&t, "then", "2|3", "4", NULL);
    t_encode(&t);
    check_seq(&t, (const float[]){8, 7, 0, 0}, (const int[]){2, 1, 1}, 3);
    t_drop_chunk(&t);
    /* lists and single numbers are the same */
    cr_column *c = t_list(&t, "then", (const int32_t[]){0, 2, 3}, 2);
    static const double then[] = {2, 3, 4};
    c->type = CR_COL_F64;
    c->v.f64 = then;
    DOUBLES(&t, "now", 10, 10);
    t_encode(&t);
    check_seq(&t, (const float[]){8, 7, 6}, (const int[]){2, 1}, 2);
    t_drop_chunk(&t);
    /* the input with many steps is cut, whichever it is */
    cr_buf many;
    cr_buf_init(&many);
    for (int i = 0; i < 60; i++)
        cr_buf_str(&many, i ? "|1" : "1");
    TEXT(&t, "now", "10", "10");
    TEXT(&t, "then", many.data, "1");
    t_encode(&t);
    CHECK_INT(t.batch.dense_seq[0].steps[1], 50);
    CHECK_INT(cr_features_counts(&t.enc)[0].truncated, 1);
    cr_buf_clear(&many);
    t_drop_chunk(&t);
    /* both longer than one, and not the same */
    TEXT(&t, "now", "1|2|3", "5|6");
    TEXT(&t, "then", "1|1", "1|2");
    t_encode(&t);
    CHECK_INT(t.bad.n, 1);
    CHECK_STR(t.bad.v[0].msg, "columns 'now' and 'then' have 3 and 2 steps; those of one feature "
                              "must agree, or be one");
    t_close(&t);
}

TEST(golden_spherical_distance) {
    static const char *const inputs[] = {
        "expression: ['item:ilng', 'item:ilat', 'user:ulng', 'user:ulat']",
        "expression: ['user:ilng', 'user:ilat', 'user:ulng', 'user:ulat'], sequence_fields: [ilng, "
        "ilat]"};
    for (int i = 0; i < 2; i++) {
        cr_buf b;
        cr_buf_init(&b);
        cr_buf_printf(&b,
                      "- sequence_feature: {sequence_name: clk, sequence_delim: '|', "
                      "sequence_length: 50, features: [{custom_feature: {feature_name: f, "
                      "operator_name: SeqExpr, operator_lib_file: 'pyfg/lib/libseq_expr.so', "
                      "boundaries: [0, 150, 1500], embedding_dim: 16, operator_params: {formula: "
                      "spherical_distance}, %s}}]}",
                      inputs[i]);
        t_feats t;
        open_or_say(&t, NORMAL, b.data);
        TEXT(&t, "clk__ilng", "113.728|116.4074", "121.4737", NULL);
        TEXT(&t, "clk__ilat", "23.002|39.9042", "31.2304", NULL);
        TEXT(&t, "ulng", "113.1057", "116.4074", NULL);
        TEXT(&t, "ulat", "22.5614", "39.9042", NULL);
        t_encode(&t);
        CHECK(t.rc == CR_OK && t.bad.n == 0);
        const cr_jagged *j = &t.batch.sparse[0];
        static const int64_t want[] = {1, 3, 2, 1};
        CHECK_INT(j->n_ids, 4);
        for (int k = 0; k < 4 && j->n_ids == 4; k++)
            CHECK_INT(j->ids[k], want[k]);
        CHECK(j->steps[1] == 2 && j->steps[2] == 3 && j->steps[3] == 4);
        t_close(&t);
        cr_buf_clear(&b);
    }
}

#define REGEX(rest)                                                                                \
    "- custom_feature: {feature_name: f, operator_name: RegexReplace, embedding_dim: 16, "         \
    "default_value: '', operator_lib_file: 'pyfg/lib/libregex_replace.so', "                       \
    "expression: ['item:t'], " rest "}"
#define GOLD_REGEX(features, column, ...)                                                          \
    do {                                                                                           \
        t_feats t;                                                                                 \
        open_or_say(&t, NORMAL, features);                                                         \
        if (t.fs) {                                                                                \
            TEXT(&t, "t", column);                                                                 \
            t_encode(&t);                                                                          \
            CHECK(t.rc == CR_OK && t.bad.n == 0);                                                  \
            CHECK_IDS(&t, 0, __VA_ARGS__);                                                         \
        }                                                                                          \
        t_close(&t);                                                                               \
    } while (0)
#define COL(...) __VA_ARGS__

TEST(golden_regex_replace) {
    GOLD_REGEX(REGEX("operator_params: {regex_patten: '\\|', replacement: ' '}, "
                     "vocab_list: ['中华 人民 共和国', abc]"),
               COL("中华|人民|共和国", "abc", NULL), IDS(2, 3), LENS(1, 1, 0));
    GOLD_REGEX(REGEX("operator_params: {regex_pattern: '\\|', replacement: ' ', replace_all: "
                     "false}, vocab_list: ['中华 人民|共和国', abc]"),
               COL("中华|人民|共和国", "abc", NULL), IDS(2, 3), LENS(1, 1, 0));
    GOLD_REGEX(REGEX("operator_params: {regex_pattern: ['\\|', '#', '\\(.*\\)'], replacement: ''}, "
                     "vocab_list: [abc]"),
               COL("a|b#c(d)", "abc", NULL), IDS(2, 2), LENS(1, 1, 0));
    GOLD_REGEX(REGEX("operator_params: {regex_pattern: abc, replacement: x, icase: true}, "
                     "vocab_list: [xd]"),
               COL("ABCd", "abcd", NULL), IDS(2, 2), LENS(1, 1, 0));
    GOLD_REGEX(REGEX("operator_params: {regex_pattern: '(?s)^(.{0,3}).*$', replacement: '\\1<e>', "
                     "replace_all: false}, vocab_list: ['abc<e>', '中华人<e>']"),
               COL("abcdef", "中华人民共和国", NULL), IDS(2, 3), LENS(1, 1, 0));
    GOLD_REGEX(REGEX("operator_params: {regex_pattern: '[^0-9]', replacement: ''}, num_buckets: "
                     "100"),
               COL("id7", "id42"), IDS(7, 42), ONE_EACH);
    /* matches of nothing, groups, a replacement that ends up empty, bytes that are no text */
    GOLD_REGEX(REGEX("operator_params: {regex_pattern: 'a*', replacement: '-'}, vocab_list: "
                     "['-b-c-', '-']"),
               COL("baaac", "", "aa"), IDS(2, 3), LENS(1, 0, 1));
    GOLD_REGEX(REGEX("operator_params: {regex_pattern: '(\\w)(\\w)', replacement: '\\2\\1\\\\'}, "
                     "vocab_list: ['ba\\dc\\e']"),
               COL("abcde", "\xff"
                            "a"),
               IDS(2, 1), ONE_EACH);
    GOLD_REGEX(REGEX("operator_params: {regex_pattern: '.', replacement: ''}, vocab_list: [a]"),
               COL("abc", "x", "\n"), IDS(1), LENS(0, 0, 1));
}

/* a group repeated over a long text, which RE2 takes, too */
TEST(long_text) {
    t_feats t;
    open_or_say(&t, NORMAL,
                REGEX("operator_params: {regex_pattern: '(?:a|b)*c', replacement: 'x'}, "
                      "vocab_list: [x]"));
    char *big = cr_alloc(40002, "a long text");
    for (int i = 0; i < 40000; i++)
        big[i] = "ab"[i & 1];
    big[40000] = 'c';
    TEXT(&t, "t", big);
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(2), ONE_EACH);
    cr_free(big);
    t_close(&t);
}

TEST(wrong_parameters) {
    static const struct {
        const char *features, *says;
    } cases[] = {
        {EDIT(", operator_params: {encoding: gbk}"),
         "feature 'f': operator 'EditDistance': unknown encoding 'gbk'; use latin or utf-8"},
        {REGEX("operator_params: {replacement: x}, num_buckets: 3"),
         "no regex_pattern; add it to operator_params"},
        {REGEX("operator_params: {regex_pattern: '(a'}, num_buckets: 3"),
         "regex_pattern '(a': regular expression, character 3: missing closing parenthesis"},
        {REGEX("operator_params: {regex_pattern: a, replacement: '\\x'}, num_buckets: 3"),
         "a backslash stands before a digit or a backslash"},
        {REGEX("operator_params: {regex_pattern: a}"),
         "feature 'f': operator 'RegexReplace' makes text, which needs a table; add "
         "hash_bucket_size, num_buckets or a vocabulary"},
        {SEQ_EXPR("custom_feature", "expression: ['user:a'], operator_params: {formula: 'a+'}"),
         "operator 'SeqExpr': formula, character 3: "},
        {SEQ_EXPR("custom_feature",
                  "expression: ['user:a'], operator_params: {formula: spherical_distance}"),
         "spherical_distance takes 4 inputs, lng1, lat1, lng2, lat2, not 1"},
        {"- custom_feature: {feature_name: f, operator_name: EditDistanc, operator_lib_file: "
         "libedit_distance.so, expression: ['user:a', 'user:b']}",
         "feature 'f': crank itself has no operator 'EditDistanc'; did you mean 'EditDistance'?"},
        {"- custom_feature: {feature_name: f, operator_name: EditDistance, operator_lib_file: "
         "pyfg/lib/x.so, expression: ['user:a']}",
         "operator 'EditDistance' takes 2 inputs, expression has 1; name them as side:column"},
        {"- custom_feature: {feature_name: f, operator_name: x, operator_lib_file: nix.so, "
         "expression: ['user:a']}",
         "feature 'f': cannot read library 'nix.so'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        t_feats t;
        t_open(&t, NORMAL, cases[i].features, false, NULL, 0);
        CHECK(t.fs == NULL);
        CHECK_INT(t.diag.n_errors, 1);
        CHECK(t_has(&t, cases[i].says));
        if (!t_has(&t, cases[i].says)) t_show_diag(&t);
        t_close(&t);
    }
}

/* ---- a library ---- */

TEST(values_of_every_kind) {
    t_feats t;
    open_ours(&t, NORMAL, "custom_feature",
              "TwiceTokens, expression: ['user:c'], separator: '|', hash_bucket_size: 100, "
              "embedding_dim: 4, default_value: xyz, value_dim: 0");
    TEXT(&t, "c", "a|b", NULL, "q");
    t_encode(&t);
    CHECK(t.rc == CR_OK && t.bad.n == 0);
    CHECK_INT(t.batch.sparse[0].n_ids, 4);
    CHECK_INT(t.batch.sparse[0].ids[2], 13);
    t_close(&t);
    open_ours(&t, NORMAL, "custom_feature",
              "TwiceText, expression: ['user:c'], separator: '|', vocab_list: ['a|ba|b', '77'], "
              "embedding_dim: 4");
    TEXT(&t, "c", "a|b", NULL, "7");
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(2, 0, 3), ONE_EACH);
    t_drop_chunk(&t);
    INTS(&t, "c", 7, T_NULL);
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(3, 0), ONE_EACH);
    t_close(&t);
    open_ours(&t, NORMAL, "custom_feature",
              "TwiceInt, expression: ['user:c'], num_buckets: 100, embedding_dim: 4, "
              "default_value: '9', value_dim: 2");
    TEXT(&t, "c",
         "4\x1d"
         "5\x1d"
         "6",
         "", "x", "400");
    t_encode(&t);
    CHECK_INT(t.bad.n, 1);
    CHECK_INT(t.bad.v[0].row, 2);
    CHECK_STR(t.bad.v[0].msg, "column 'c', value 'x': not an integer of 64 bits (feature 'f')");
    CHECK(t.batch.sparse[0].ids[0] == 8 && t.batch.sparse[0].ids[1] == 10);
    CHECK_INT(cr_features_counts(&t.enc)[0].out_of_range, 1);
    t_close(&t);
    open_ours(&t, NORMAL, "custom_feature",
              "TwiceFloat, expression: ['user:c', 'user:d'], value_dim: 2, default_value: '1'");
    DOUBLES(&t, "c", 0.25, NAN, 3);
    TEXT(&t, "d", "1.5", "", "-1");
    t_encode(&t);
    check_dense(&t, (const float[]){0.5f, 3, 1, 1, 6, -2}, 6);
    t_close(&t);
    /* numbers as tokens */
    open_ours(&t, NORMAL, "custom_feature",
              "TwiceFloat, expression: ['user:c'], vocab_list: ['1', '0.5'], embedding_dim: 4");
    DOUBLES(&t, "c", 0.25, 0.5);
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(3, 2), ONE_EACH);
    t_close(&t);
}

TEST(features_read_it) {
    t_feats t;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(&b,
                  "- custom_feature: {feature_name: s, operator_lib_file: '%s', operator_name: "
                  "TwiceText, expression: ['user:c'], stub_type: true}\n"
                  "- id_feature: {feature_name: f, expression: 'feature:s', vocab_list: [aa, 00], "
                  "embedding_dim: 4}\n",
                  lib());
    t_open(&t, "fg_mode: FG_DAG", b.data, false, NULL, 0);
    CHECK(t.fs != NULL);
    if (!t.fs) t_show_diag(&t);
    if (t.fs) {
        TEXT(&t, "c", "a", "0", "");
        t_encode(&t);
        CHECK(t.rc == CR_OK && t.bad.n == 0);
        /* the default of a custom_feature is 0, which is not doubled */
        CHECK_IDS(&t, 0, IDS(2, 3, 1), ONE_EACH);
    }
    t_close(&t);
    cr_buf_clear(&b);
}

TEST(operators_that_are_wrong) {
    static const struct {
        const char *op, *says;
    } cases[] = {
        {"Fails", "feature 'f': operator 'Fails' failed: the moon is full"},
        {"Short", "feature 'f': operator 'Short' ended 1 of 2 rows; correct the operator"},
        {"Long", "feature 'f': operator 'Long' ended 5 of 2 rows; correct the operator"},
        {"Mixed", "feature 'f': operator 'Mixed' puts values of another type than its output says"},
        {"Flood", "feature 'f': operator 'Flood' puts more than 1048576 values into one row"},
        {"Huge", "feature 'f': operator 'Huge' puts a text of 18446744073709551615 bytes, more"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        t_feats t;
        char rest[128];
        snprintf(rest, sizeof(rest), "%s, expression: ['user:c']%s", cases[i].op,
                 i == 5 ? ", hash_bucket_size: 9, embedding_dim: 4" : "");
        open_ours(&t, NORMAL, "custom_feature", rest);
        CHECK(t.fs != NULL);
        TEXT(&t, "c", "a", "b");
        t_encode(&t);
        CHECK_INT(t.rc, CR_ERUN);
        CHECK(strstr(t.err.msg, cases[i].says) != NULL);
        t_close(&t);
    }
    t_feats t;
    open_ours(&t, NORMAL, "custom_feature", "Bad, expression: ['user:c']");
    TEXT(&t, "c", "a", "b", "c");
    t_encode(&t);
    CHECK(t.rc == CR_OK && t.bad.n == 1 && t.bad.v[0].row == 1);
    CHECK_STR(t.bad.v[0].msg, "column 'c': the second row is never good (feature 'f')");
    CHECK(t.batch.dense[0] == 0 && t.batch.dense[2] == 2);
    t_close(&t);
    open_ours(&t, NORMAL, "custom_feature", "Mute, expression: ['user:c']");
    TEXT(&t, "c", "a");
    t_encode(&t);
    CHECK(t.rc == CR_OK && t.bad.n == 1);
    CHECK_STR(t.bad.v[0].msg, "column 'c': the operator gives no reason (feature 'f')");
    t_close(&t);
    open_ours(&t, NORMAL, "custom_feature", "Broken, expression: ['user:c']");
    CHECK(t.fs == NULL);
    CHECK(t_has(&t, "operator 'Broken' has an input of an unknown type; see crank/feature.h"));
    t_close(&t);
    open_ours(&t, NORMAL, "custom_feature",
              "TwiceInt, expression: ['user:c'], operator_params: {refuse: 'not today'}");
    CHECK(t_has(&t, "feature 'f': operator 'TwiceInt': not today"));
    t_close(&t);
    open_ours(&t, NORMAL, "custom_feature", "TwiceIn, expression: ['user:c']");
    CHECK(t_has(&t, "has no operator 'TwiceIn'; did you mean 'TwiceInt'?"));
    t_close(&t);
    open_ours(&t, NORMAL, "custom_feature", "TwiceInt, expression: ['user:c', 'user:d', 'user:e']");
    CHECK(t_has(&t, "operator 'TwiceInt' takes at most 2 inputs, expression has 3"));
    t_close(&t);
}

TEST(libraries_that_are_wrong) {
    static const struct {
        const char *lib, *says;
    } cases[] = {
        {"custom_none", "libcustom_none.so' names no operators; see crank/feature.h"},
        {"custom_nameless", "libcustom_nameless.so' has an operator without a name; see crank"},
    };
    for (size_t i = 0; i < 2; i++) {
        t_feats t;
        cr_buf b;
        cr_buf_init(&b);
        cr_buf_printf(&b,
                      "- custom_feature: {feature_name: f, operator_lib_file: '%s', operator_name: "
                      "x, expression: ['user:c']}",
                      lib_named(cases[i].lib));
        t_open(&t, NORMAL, b.data, false, NULL, 0);
        CHECK(t.fs == NULL);
        CHECK(t_has(&t, cases[i].says));
        t_close(&t);
        cr_buf_clear(&b);
    }
}

/* in FG_NONE nothing of a library is needed */
TEST(encoded) {
    t_feats t;
    open_or_say(&t, "fg_mode: FG_NONE",
                "- custom_feature: {feature_name: f, operator_name: x, operator_lib_file: nix.so, "
                "hash_bucket_size: 10, embedding_dim: 4}\n"
                "- custom_feature: {feature_name: g, operator_name: x, operator_lib_file: nix.so}");
    TEXT(&t, "f", "3", "4");
    TEXT(&t, "g", "0.5", "1");
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(3, 4), ONE_EACH);
    CHECK(t.batch.dense[0] == 0.5f && t.batch.dense[1] == 1);
    t_close(&t);
    open_or_say(&t, "fg_mode: FG_BUCKETIZE",
                "- custom_feature: {feature_name: f, operator_name: x, operator_lib_file: nix.so, "
                "vocab_list: [a, b], embedding_dim: 4}\n"
                "- custom_feature: {feature_name: g, operator_name: x, operator_lib_file: nix.so, "
                "boundaries: [1, 2], embedding_dim: 4}");
    TEXT(&t, "f", "b", "a");
    TEXT(&t, "g", "0.5", "1");
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(3, 2), ONE_EACH);
    CHECK(t.batch.sparse[1].ids[0] == 0 && t.batch.sparse[1].ids[1] == 1);
    t_close(&t);
}

/* a row is the same alone and among others */
TEST(row_by_row) {
    static const char *const q[] = {"abc", "", "kitten|sitting", "裙子", NULL, "a b c"};
    t_feats all, one;
    open_or_say(&all, NORMAL,
                REGEX("operator_params: {regex_pattern: '[aeiou|]', replacement: '<\\0>'}, "
                      "hash_bucket_size: 1000"));
    open_or_say(&one, NORMAL,
                REGEX("operator_params: {regex_pattern: '[aeiou|]', replacement: '<\\0>'}, "
                      "hash_bucket_size: 1000"));
    t_text(&all, "t", q, 6);
    t_encode(&all);
    const cr_jagged *j = &all.batch.sparse[0];
    for (int r = 0; r < 6; r++) {
        t_text(&one, "t", q + r, 1);
        t_encode(&one);
        const cr_jagged *k = &one.batch.sparse[0];
        int64_t n = j->off[r + 1] - j->off[r];
        CHECK_INT(k->n_ids, n);
        CHECK(n == 0 || k->ids[0] == j->ids[j->off[r]]);
        t_drop_chunk(&one);
    }
    t_close(&all);
    t_close(&one);
}

TEST(fg_json) {
    t_feats t;
    open_or_say(&t, NORMAL,
                "- sequence_custom_feature: {feature_name: f, operator_name: SeqExpr, "
                "operator_lib_file: 'pyfg/lib/libseq_expr.so', sequence_length: 5, expression: "
                "['user:a'], operator_params: {formula: a*2, deep: {x: [1, true, '3']}}}");
    cr_buf b;
    cr_buf_init(&b);
    cr_features_fg_json(t.fs, &b);
    CHECK_STR(
        b.data,
        "{\"features\": [{\"feature_type\": \"custom_feature\", \"feature_name\": \"f\", "
        "\"default_value\": \"0\", \"operator_name\": \"SeqExpr\", \"operator_lib_file\": "
        "\"pyfg/lib/libseq_expr.so\", \"is_op_thread_safe\": false, \"expression\": "
        "[\"user:a\"], \"value_type\": \"float\", \"formula\": \"a*2\", \"deep\": {\"x\": [1, "
        "true, \"3\"]}, \"value_dim\": 1, \"is_sequence\": true, \"sequence_delim\": \";\", "
        "\"sequence_length\": 5}]}");
    cr_buf_clear(&b);
    t_close(&t);
}

/* last: every instance that was made was closed with its features */
TEST(all_closed) {
    void *h = dlopen(lib(), RTLD_NOW);
    CHECK(h != NULL);
    int (*open_now)(void) = NULL;
    void *sym = h ? dlsym(h, "crank_test_open") : NULL;
    memcpy(&open_now, &sym, sizeof(sym));
    CHECK(open_now && open_now() == 0);
    if (h) dlclose(h);
}

TEST_MAIN(CASE(golden_edit_distance), CASE(golden_seq_expr), CASE(golden_spherical_distance),
          CASE(golden_regex_replace), CASE(long_text), CASE(wrong_parameters),
          CASE(values_of_every_kind), CASE(features_read_it), CASE(operators_that_are_wrong),
          CASE(libraries_that_are_wrong), CASE(encoded), CASE(row_by_row), CASE(fg_json),
          CASE(all_closed))
