/*
 * seq.c - sequences: the reference's golden vectors, the rules of both modes, text = lists, lengths
 * that disagree, fg.json.
 */
#include "feat_test.h"

#define NORMAL "fg_mode: FG_NORMAL"
#define NONE   "fg_mode: FG_NONE, fg_encoded_multival_sep: '|'"
#define ID(rest)                                                                                   \
    "- sequence_id_feature: {feature_name: f, expression: 'user:c', embedding_dim: 4, " rest "}"
#define RAW(rest) "- sequence_raw_feature: {feature_name: f, expression: 'user:c', " rest "}"

static void open_or_say(t_feats *t, const char *data, const char *features) {
    t_open(t, data, features, false, NULL, 0);
    CHECK(t->fs != NULL);
    if (!t->fs) t_show_diag(t);
}

/* lengths of steps; len NULL: one id per step and no offsets */
static void check_seq(const char *where, int line, const t_feats *t, int slot, const int64_t *ids,
                      int64_t n, const int *len, int64_t n_len, const int *steps, int64_t n_rows) {
    const cr_jagged *j = &t->batch.sparse[slot];
    bool same = j->n_ids == n && j->steps && n_rows == t->batch.n_rows && j->steps[0] == 0;
    for (int64_t r = 0; same && r < n_rows; r++)
        same = j->steps[r + 1] - j->steps[r] == steps[r];
    int64_t n_steps = same ? j->steps[n_rows] : 0;
    same = same && (len ? j->off && n_len == n_steps && j->off[0] == 0 : !j->off && n == n_steps);
    for (int64_t i = 0; same && len && i < n_steps; i++)
        same = j->off[i + 1] - j->off[i] == len[i];
    for (int64_t i = 0; same && i < n; i++)
        same = j->ids[i] == ids[i];
    if (same) return;
    t_failed_checks++;
    fprintf(stderr, "%s:%d: %s: got", where, line, t_name);
    for (int64_t i = 0; i < j->n_ids; i++)
        fprintf(stderr, " %lld", (long long)j->ids[i]);
    fprintf(stderr, ", steps");
    for (int64_t r = 0; j->steps && r < t->batch.n_rows; r++)
        fprintf(stderr, " %d", j->steps[r + 1] - j->steps[r]);
    fprintf(stderr, j->off ? ", of" : ", no offsets");
    for (int64_t i = 0; j->off && i < j->steps[t->batch.n_rows]; i++)
        fprintf(stderr, " %d", j->off[i + 1] - j->off[i]);
    fprintf(stderr, "\n");
}
#define STEPS(...)           LENS(__VA_ARGS__)
#define CHECK_SEQ(t, f, ...) check_seq(__FILE__, __LINE__, t, f, __VA_ARGS__)

#define GOLD(data, features, column, ...)                                                          \
    do {                                                                                           \
        t_feats t;                                                                                 \
        open_or_say(&t, data, features);                                                           \
        if (t.fs) {                                                                                \
            TEXT(&t, t.fs->want[0].name, column);                                                  \
            t_encode(&t);                                                                          \
            CHECK(t.rc == CR_OK && t.bad.n == 0);                                                  \
            CHECK_SEQ(&t, 0, __VA_ARGS__);                                                         \
        }                                                                                          \
        t_close(&t);                                                                               \
    } while (0)
#define COL(...) __VA_ARGS__
#define WORDS                                                                                      \
    "abc\x1d"                                                                                      \
    "efg;hij",                                                                                     \
        "", "hij"

TEST(golden_hash) {
    GOLD(NORMAL, ID("hash_bucket_size: 100, value_dim: 0"), COL(WORDS), IDS(33, 44, 66, 26, 66),
         LENS(2, 1, 1, 1), STEPS(2, 1, 1));
    GOLD(NORMAL, ID("hash_bucket_size: 100, value_dim: 0, default_value: xyz"), COL(WORDS),
         IDS(33, 44, 66, 13, 66), LENS(2, 1, 1, 1), STEPS(2, 1, 1));
    GOLD(NORMAL, ID("hash_bucket_size: 100, value_dim: 1"), COL(WORDS), IDS(33, 66, 26, 66),
         ONE_EACH, STEPS(2, 1, 1));
    /* not given, value_dim is 1 */
    GOLD(NORMAL, ID("hash_bucket_size: 100"), COL(WORDS), IDS(33, 66, 26, 66), ONE_EACH,
         STEPS(2, 1, 1));
}

/* the same inside a block, whose column is clicks__c */
TEST(golden_block) {
    t_feats t;
    open_or_say(&t, NORMAL,
                "- sequence_feature: {sequence_name: clicks, sequence_length: 50, features: ["
                "{id_feature: {feature_name: f, expression: 'item:c', embedding_dim: 4, "
                "hash_bucket_size: 100, value_dim: 0}}]}");
    CHECK_STR(t.fs->v[0]->name, "clicks__f");
    CHECK_STR(t.fs->want[0].name, "clicks__c");
    CHECK_STR(t.fs->v[0]->seq->name, "clicks");
    CHECK_INT(t.fs->v[0]->seq->length, 50);
    TEXT(&t, "clicks__c", WORDS);
    t_encode(&t);
    CHECK_SEQ(&t, 0, IDS(33, 44, 66, 26, 66), LENS(2, 1, 1, 1), STEPS(2, 1, 1));
    t_close(&t);
}

TEST(golden_buckets) {
    GOLD(NORMAL, ID("num_buckets: 10, value_dim: 0"),
         COL("1;2", "", "3",
             "4\x1d"
             "5;6"),
         IDS(1, 2, 0, 3, 4, 5, 6), LENS(1, 1, 1, 1, 2, 1), STEPS(2, 1, 1, 2));
    t_feats t;
    open_or_say(&t, NORMAL, ID("num_buckets: 10, value_dim: 0"));
    cr_column *c = t_list(&t, "c", (const int32_t[]){0, 2, 2, 3, 5}, 4);
    c->type = CR_COL_I64;
    c->v.i64 = (const int64_t[]){1, 2, 3, 4, 6};
    t_encode(&t);
    CHECK_SEQ(&t, 0, IDS(1, 2, 0, 3, 4, 6), ONE_EACH, STEPS(2, 1, 1, 2));
    CHECK_INT(cr_features_counts(&t.enc)[0].missing, 1);
    t_close(&t);
}

/* FG cuts to the first steps, every step is a step: empty ones too, also behind the last delimiter
 */
TEST(steps_of_text) {
    GOLD(NORMAL, ID("num_buckets: 100, default_value: '9'"), COL(";", "1;", ";;12345678;2", "5"),
         IDS(9, 9, 1, 9, 9, 9, 0, 2, 5), ONE_EACH, STEPS(2, 2, 4, 1));
    GOLD(NORMAL, ID("num_buckets: 100, sequence_length: 3"),
         COL("1;2;3;4", "10;20;30", "11;12;13;14;15;16;17;18;19", "7", NULL),
         IDS(1, 2, 3, 10, 20, 30, 11, 12, 13, 7, 0), ONE_EACH, STEPS(3, 3, 3, 1, 1));
    GOLD(NORMAL, ID("num_buckets: 100, sequence_length: 1"), COL("1;2;3;4", "", "3"), IDS(1, 0, 3),
         ONE_EACH, STEPS(1, 1, 1));
    GOLD(NORMAL, ID("num_buckets: 100, sequence_delim: '::', sequence_length: 3"),
         COL("1::2::3::4", "::",
             "5:"
             ":6"),
         IDS(1, 2, 3, 0, 0, 5, 6), ONE_EACH, STEPS(3, 2, 2));
    /* separators of value_dim: the first values */
    GOLD(NORMAL, ID("num_buckets: 100, separator: '|', value_dim: 2"), COL("1|2|3;4", "|;5|6"),
         IDS(1, 2, 4, 0, 5, 6), LENS(2, 1, 1, 2), STEPS(2, 2));
    t_feats t;
    open_or_say(&t, NORMAL, ID("num_buckets: 100, sequence_length: 2"));
    TEXT(&t, "c", "1;2;3", "1", "1;2", "4;5;6;7", "");
    t_encode(&t);
    CHECK_INT(cr_features_counts(&t.enc)[0].truncated, 2);
    CHECK_INT(cr_features_counts(&t.enc)[0].missing, 1);
    t_close(&t);
}

/* long rows: every place of a delimiter in a word of eight bytes */
TEST(cut_anywhere) {
    char text[200];
    size_t n = 0;
    int64_t want[40];
    for (int i = 0; i < 40; i++) {
        static const int64_t size[] = {1, 12, 123, 1234, 12345, 7};
        want[i] = size[i * 7 % 6];
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d", i ? ";" : "", (int)want[i]);
    }
    for (int cut = 1; cut <= 40; cut++) {
        t_feats t;
        char conf[200];
        snprintf(conf, sizeof(conf), ID("num_buckets: 99999, sequence_length: %d"), cut);
        open_or_say(&t, NORMAL, conf);
        TEXT(&t, "c", text);
        t_encode(&t);
        CHECK_SEQ(&t, 0, want, cut, ONE_EACH, &cut, 1);
        t_close(&t);
    }
}

TEST(encoded) {
    GOLD(NONE, ID("num_buckets: 100"), COL("1;2", "", NULL, "3"), IDS(1, 2, 3), ONE_EACH,
         STEPS(2, 0, 0, 1));
    GOLD(NONE, ID("num_buckets: 100, fg_encoded_default_value: '8'"), COL("1;2", "", NULL, "3"),
         IDS(1, 2, 8, 8, 3), ONE_EACH, STEPS(2, 1, 1, 1));
    GOLD(NONE, ID("num_buckets: 100, value_dim: 0, fg_encoded_default_value: '8|9'"),
         COL("1|4;2", "", "3;"), IDS(1, 4, 2, 8, 9, 3, 8, 9), LENS(2, 1, 2, 1, 2), STEPS(2, 1, 2));
    /* not cut; an empty step has no id */
    GOLD(NONE, ID("num_buckets: 100, sequence_length: 1"), COL("1;2;3", "4;;5"), IDS(1, 2, 3, 4, 5),
         LENS(1, 1, 1, 1, 0, 1), STEPS(3, 3));
    GOLD(NONE, ID("num_buckets: 100"), COL("", NULL), NULL, 0, ONE_EACH, STEPS(0, 0));
    t_feats t;
    open_or_say(&t, NONE, ID("num_buckets: 100"));
    TEXT(&t, "f", "1;2|3", "4");
    t_encode(&t);
    CHECK_INT(t.bad.n, 1);
    CHECK_INT(t.bad.v[0].row, 0);
    CHECK_STR(t.bad.v[0].msg, "column 'f': 2 ids in one step, value_dim is 1; set value_dim: 0 in "
                              "feature 'f' for any number");
    t_close(&t);
}

TEST(weighted) {
    t_feats t;
    open_or_say(&t, NORMAL, ID("num_buckets: 1000, weighted: true, value_dim: 0, separator: '|'"));
    TEXT(&t, "c", "12:0.5|7:2;13:0.25", "", "14:3");
    t_encode(&t);
    CHECK_SEQ(&t, 0, IDS(12, 7, 13, 0, 14), LENS(2, 1, 1, 1), STEPS(2, 1, 1));
    const float w[] = {0.5f, 2, 0.25f, 1, 3};
    for (int i = 0; i < 5; i++)
        CHECK(t.batch.sparse[0].w[i] == w[i]);
    t_close(&t);
}

/* ---- numbers ---- */

static void check_dense(const t_feats *t, int slot, int64_t width, const float *want,
                        const int *steps) {
    const cr_dense_seq *d = &t->batch.dense_seq[slot];
    CHECK_INT(d->width, width);
    CHECK_INT(d->steps[0], 0);
    int64_t n = 0;
    for (int64_t r = 0; r < t->batch.n_rows; r++) {
        CHECK_INT(d->steps[r + 1] - d->steps[r], steps[r]);
        n += steps[r];
    }
    for (int64_t i = 0; i < n * width; i++)
        CHECK_NEAR(d->v[i], want[i], 0, 2e-7);
}

TEST(dense_text) {
    t_feats t;
    open_or_say(&t, NORMAL,
                RAW("default_value: '-1', sequence_length: 3, normalizer: 'method=minmax,min=0,"
                    "max=2'"));
    CHECK(!t.fs->v[0]->sparse && t.fs->dense_width == 0 && t.fs->n_dense_seq == 1);
    TEXT(&t, "c", "1;2;4;6", "", "0.5;;1", NULL);
    t_encode(&t);
    CHECK_INT(t.bad.n, 0);
    check_dense(&t, 0, 1, (const float[]){0.5f, 1, 2, -1, 0.25f, -1, 0.5f, -1},
                (const int[]){3, 1, 3, 1});
    t_close(&t);
    open_or_say(&t, NORMAL, RAW("value_dim: 2, separator: '|'"));
    TEXT(&t, "c", "1|2;3|4", "5|6", "");
    t_encode(&t);
    check_dense(&t, 0, 2, (const float[]){1, 2, 3, 4, 5, 6, 0, 0}, (const int[]){2, 1, 1});
    t_close(&t);
    /* "" as a default of numbers is 0 too */
    open_or_say(&t, NORMAL, RAW("default_value: ''"));
    CHECK(t_has(&t, "a sequence cannot have an empty default_value"));
    TEXT(&t, "c", "1;2", "");
    t_encode(&t);
    check_dense(&t, 0, 1, (const float[]){1, 2, 0}, (const int[]){2, 1});
    t_close(&t);
    open_or_say(&t, NONE, RAW("value_dim: 2"));
    TEXT(&t, "f", "1|2;3|4", "", "5|6");
    t_encode(&t);
    CHECK_INT(t.bad.n, 0);
    check_dense(&t, 0, 2, (const float[]){1, 2, 3, 4, 5, 6}, (const int[]){2, 0, 1});
    t_close(&t);
}

TEST(dense_lists) {
    t_feats t;
    open_or_say(&t, NORMAL, RAW("value_dim: 2, sequence_length: 2, default_value: '7'"));
    cr_column *c = t_list(&t, "c", (const int32_t[]){0, 3, 3, 5}, 3);
    c->depth = 2;
    c->item_off = (const int32_t[]){0, 2, 4, 6, 6, 8};
    c->type = CR_COL_F32;
    c->v.f32 = (const float[]){1, 2, 3, 4, 5, 6, 7, 8};
    t_encode(&t);
    CHECK_INT(t.bad.n, 0);
    check_dense(&t, 0, 2, (const float[]){1, 2, 3, 4, 7, 7, 7, 7, 7, 8}, (const int[]){2, 1, 2});
    t_close(&t);
}

TEST(boundaries) {
    GOLD(NORMAL, RAW("boundaries: [1, 5, 10], embedding_dim: 4"), COL("0;1;7;100", "", "3"),
         IDS(0, 1, 2, 3, 0, 1), ONE_EACH, STEPS(4, 1, 1));
    GOLD(NORMAL, RAW("boundaries: [1, 5], embedding_dim: 4, value_dim: 2, separator: '|'"),
         COL("0|1;7|7"), IDS(0, 1, 2, 2), LENS(2, 2), STEPS(2));
}

/* ---- lists, dictionaries, single values ---- */

TEST(lists_of_lists) {
    t_feats t;
    open_or_say(&t, NORMAL, ID("num_buckets: 100, value_dim: 0, sequence_length: 2"));
    cr_column *c = t_list(&t, "c", (const int32_t[]){1, 3, 3, 6, 7}, 4); /* from its item 1 on */
    c->depth = 2;
    c->item_off = (const int32_t[]){0, 1, 3, 4, 4, 6, 7, 8};
    c->list_valid = (const uint8_t[]){1, 1, 1, 0, 1, 1, 1};
    c->item_valid = (const uint8_t[]){1, 1, 0, 1, 1, 1, 1, 1};
    c->valid = (const uint8_t[]){1, 1, 1, 0};
    c->type = CR_COL_I32;
    c->v.i32 = (const int32_t[]){90, 1, 91, 2, 3, 4, 5, 6};
    t_encode(&t);
    CHECK_INT(t.bad.n, 0);
    CHECK_SEQ(&t, 0, IDS(1, 2, 0, 0, 3, 4, 0), LENS(1, 1, 1, 1, 2, 1), STEPS(2, 1, 2, 1));
    t_close(&t);
}

TEST(text_of_dictionaries) {
    const char *const entries[] = {"abc", "efg", "hij", ""};
    const int32_t off[] = {0, 3, 3, 4};
    for (int memo = 0; memo < 2; memo++) {
        t_feats t;
        cr_memo m = {0};
        open_or_say(&t, NORMAL, ID("hash_bucket_size: 100, sequence_length: 2"));
        for (int turn = 0; turn < 2; turn++) {
            cr_column *c = t_list(&t, "c", off, 3);
            t_strings(&t, c, entries, 4, NULL);
            c->code = (const uint32_t[]){0, 2, 1, 2};
            c->n_dict = 4;
            c->memo = memo ? &m : NULL;
            t_encode(&t);
            CHECK_SEQ(&t, 0, IDS(33, 66, 26, 66), ONE_EACH, STEPS(2, 1, 1));
        }
        /* whole sequences as entries */
        t_drop_chunk(&t);
        const char *const rows[] = {"abc;hij", "hij"};
        cr_column *c = t_col(&t, "c", 3);
        t_strings(&t, c, rows, 2, NULL);
        c->code = (const uint32_t[]){1, 0, 1};
        c->n_dict = 2;
        t_encode(&t);
        CHECK_SEQ(&t, 0, IDS(66, 33, 66, 66), ONE_EACH, STEPS(1, 2, 1));
        cr_memo_clear(&m);
        t_close(&t);
    }
}

TEST(single_values) {
    t_feats t;
    open_or_say(&t, NORMAL, ID("num_buckets: 100"));
    INTS(&t, "c", 4, T_NULL, 5);
    t_encode(&t);
    CHECK_SEQ(&t, 0, IDS(4, 0, 5), ONE_EACH, STEPS(1, 1, 1));
    t_close(&t);
    open_or_say(&t, NONE, ID("num_buckets: 100"));
    INTS(&t, "f", 4, T_NULL, 5);
    t_encode(&t);
    CHECK_SEQ(&t, 0, IDS(4, 5), ONE_EACH, STEPS(1, 0, 1));
    t_close(&t);
}

/* ---- types with several inputs: those of the item side are sequences ---- */

#define SEP  "\x1d"
#define S50  "- sequence_feature: {sequence_name: click_50_seq, sequence_length: 50, features: ["
#define SIDE "map: 'user:kv', key: 'item:cate', default_value: '0', "

TEST(combo_steps) {
    static const struct {
        const char *def;
        int dim, n;
        int64_t ids[5];
    } cases[] = {{"", 0, 5, {2, 42, 3, 26, 23}},
                 {"xyz", 0, 5, {2, 42, 3, 13, 23}},
                 {"", 1, 4, {2, 3, 26, 23}},
                 {"xyz", 1, 4, {2, 3, 13, 23}}};
    for (int i = 0; i < 4; i++) {
        char conf[400];
        t_feats t;
        snprintf(conf, sizeof(conf),
                 S50 "{combo_feature: {feature_name: f, expression: ['user:id', 'item:iid'], "
                     "hash_bucket_size: 100, embedding_dim: 4, default_value: '%s', value_dim: "
                     "%d}}]}",
                 cases[i].def, cases[i].dim);
        open_or_say(&t, NORMAL, conf);
        CHECK_STR(t.fs->v[0]->columns[0], "id");
        CHECK_STR(t.fs->v[0]->columns[1], "click_50_seq__iid");
        TEXT(&t, "id", "ua", "", "ub");
        TEXT(&t, "click_50_seq__iid", "abc" SEP "efg;hij", "", "hij");
        t_encode(&t);
        CHECK_INT(t.bad.n, 0);
        if (cases[i].dim)
            CHECK_SEQ(&t, 0, cases[i].ids, cases[i].n, ONE_EACH, STEPS(2, 1, 1));
        else
            CHECK_SEQ(&t, 0, cases[i].ids, cases[i].n, LENS(2, 1, 1, 1), STEPS(2, 1, 1));
        t_close(&t);
    }
}

static void lookup_columns(t_feats *t) {
    const char *kv = "ca:1" SEP "cb:2";
    TEXT(t, "kv", kv, kv, kv, kv, kv, "", "");
    TEXT(t, "click_50_seq__cate", "ca" SEP "cb;ca", "ca", "ca" SEP "cd;ce", "cd", "", "ca", "");
    t_encode(t);
    CHECK_INT(t->bad.n, 0);
}

TEST(lookup_steps) {
    t_feats t;
    open_or_say(&t, NORMAL,
                S50 "{lookup_feature: {feature_name: f, " SIDE
                    "boundaries: [-0.5, 0.5, 1.5, 2.5], embedding_dim: 16, combiner: sum}}, "
                    "{lookup_feature: {feature_name: g, " SIDE
                    "boundaries: [-0.5, 0.5, 1.5, 2.5], embedding_dim: 16, combiner: ''}}, "
                    "{lookup_feature: {feature_name: h, " SIDE "value_dim: 1, combiner: mean}}]}");
    lookup_columns(&t);
    CHECK_SEQ(&t, 0, IDS(4, 2, 2, 2, 1, 1, 1, 1, 1), ONE_EACH, STEPS(2, 1, 2, 1, 1, 1, 1));
    CHECK_SEQ(&t, 1, IDS(2, 3, 2, 2, 2, 1, 1, 1, 1, 1), LENS(2, 1, 1, 1, 1, 1, 1, 1, 1),
              STEPS(2, 1, 2, 1, 1, 1, 1));
    check_dense(&t, 0, 1, (const float[]){1.5f, 1, 1, 1, 0, 0, 0, 0, 0},
                (const int[]){2, 1, 2, 1, 1, 1, 1});
    t_close(&t);
    open_or_say(&t, NORMAL,
                S50 "{lookup_feature: {feature_name: f, " SIDE "value_dim: 2, combiner: ''}}]}");
    const char *kv = "ca:1,2" SEP "cb:3,4";
    TEXT(&t, "kv", kv, kv, kv, "", kv);
    TEXT(&t, "click_50_seq__cate", "ca;cb", "cd;ca", "", "ca", "");
    t_encode(&t);
    check_dense(&t, 0, 2, (const float[]){1, 2, 3, 4, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0},
                (const int[]){2, 2, 1, 1, 1});
    t_close(&t);
}

/* stand-alone: the item side, or what sequence_fields names */
TEST(overlap_and_dot_steps) {
    static const char *const sides[] = {"title: 'item:t'", "title: 'user:t', sequence_fields: [t]"};
    static const char *const docs[] = {"document: 'item:t'",
                                       "document: 'user:t', sequence_fields: [t]"};
    for (int i = 0; i < 2; i++) {
        char conf[400];
        t_feats t;
        snprintf(conf, sizeof(conf),
                 "- sequence_overlap_feature: {feature_name: f, query: 'user:q', %s, method: "
                 "query_common_ratio}",
                 sides[i]);
        open_or_say(&t, NORMAL, conf);
        TEXT(&t, "q", "abc" SEP "efg", "abc" SEP "efg");
        TEXT(&t, "t", "abc" SEP "rty;abc" SEP "efg", "qwe");
        t_encode(&t);
        CHECK_INT(t.bad.n, 0);
        check_dense(&t, 0, 1, (const float[]){0.5f, 1, 0}, (const int[]){2, 1});
        t_close(&t);
        snprintf(conf, sizeof(conf),
                 "- sequence_kv_dot_product: {feature_name: f, query: 'user:q', %s, separator: "
                 "'|', default_value: '0.1'}",
                 docs[i]);
        open_or_say(&t, NORMAL, conf);
        TEXT(&t, "q", "a:0.5|b:0.5", "a|b|c");
        TEXT(&t, "t", "a:0.5|b:0.5;a|b", "a|b");
        t_encode(&t);
        CHECK_INT(t.bad.n, 0);
        check_dense(&t, 0, 1, (const float[]){0.5f, 1, 2}, (const int[]){2, 1});
        t_close(&t);
    }
}

#define SEQ_COMBINE(combiner)                                                                      \
    "- sequence_combine_feature: {feature_name: f, expression: 'user:c', num_buckets: 10, "        \
    "embedding_dim: 16, sequence_length: 50, combiner: " combiner "}"
TEST(combine_steps) {
    GOLD(NORMAL,
         "- sequence_combine_feature: {feature_name: f, expression: 'user:c', num_buckets: 10, "
         "embedding_dim: 4, value_map: {'1': 1}}",
         COL("1", "", NULL, "1;1"), IDS(1, 0, 0, 1, 1), ONE_EACH, STEPS(1, 1, 1, 2));
    for (int i = 0; i < 3; i++)
        GOLD(NORMAL,
             i == 0   ? SEQ_COMBINE("sum, default_value: '0'")
             : i == 1 ? SEQ_COMBINE("sum, default_value: ''")
                      : SEQ_COMBINE("mean, default_value: '0'"),
             COL("1\x1d"
                 "2;3",
                 "4", ""),
             IDS(i == 2 ? 1 : 3, 3, 4, 0), ONE_EACH, STEPS(2, 1, 1));
    GOLD(NONE,
         S50 "{combine_feature: {feature_name: f, num_buckets: 10, embedding_dim: 4, "
             "fg_encoded_default_value: '0', value_map: {tag1: 1.0, tag2: 2.0}}}]}",
         COL("1", NULL, NULL), IDS(1, 0, 0), ONE_EACH, STEPS(1, 1, 1));
}

/* a formula calls a column of a block by its own name */
TEST(formula_steps) {
    t_feats t;
    open_or_say(&t, NORMAL,
                S50 "{expr_feature: {feature_name: f, expression: 'a*b+c', variables: ['user:a', "
                    "'item:b', 'item:c'], default_value: '-1'}}]}");
    INTS(&t, "a", 10, 20, 30);
    TEXT(&t, "click_50_seq__b", "1;2", "3", "");
    TEXT(&t, "click_50_seq__c", "0.5;1", "4", "");
    t_encode(&t);
    CHECK_INT(t.bad.n, 0);
    check_dense(&t, 0, 1, (const float[]){10.5f, 21, 64, -1}, (const int[]){2, 1, 1});
    /* its sequences must have the same steps */
    TEXT(&t, "click_50_seq__c", "0.5;1", "4;5", "");
    t_encode(&t);
    CHECK_INT(t.bad.n, 1);
    CHECK_INT(t.bad.v[0].row, 1);
    CHECK_STR(t.bad.v[0].msg, "columns 'click_50_seq__b' and 'click_50_seq__c' have 1 and 2 steps; "
                              "those of one feature must agree");
    t_close(&t);
}

/* a mask per step */
TEST(mask_steps) {
    t_feats t;
    open_or_say(&t, NORMAL,
                "- sequence_bool_mask_feature: {feature_name: f, expression: ['item:v', 'item:m'], "
                "separator: '|', num_buckets: 100, embedding_dim: 4, value_dim: 0}");
    TEXT(&t, "v", "1;2|3;4", "5", "");
    TEXT(&t, "m", "1;0|true;false", "1", "");
    t_encode(&t);
    CHECK(t.rc == CR_OK && t.bad.n == 0);
    CHECK_SEQ(&t, 0, IDS(1, 3, 0, 5, 0), ONE_EACH, STEPS(3, 1, 1));
    t_close(&t);
}

TEST(fg_json_of_inputs) {
    t_feats t;
    open_or_say(&t, NORMAL,
                "- sequence_overlap_feature: {feature_name: f, query: 'user:q', title: 'user:t', "
                "sequence_fields: [t], method: is_equal, sequence_length: 9}\n" S50
                "{lookup_feature: {feature_name: g, map: 'user:m', key: 'item:k', value_dim: 2, "
                "combiner: '', "
                "default_value: ''}}]}");
    cr_buf b;
    cr_buf_init(&b);
    cr_features_fg_json(t.fs, &b);
    CHECK(
        strstr(b.data, "\"feature_type\": \"sequence_overlap_feature\", \"feature_name\": \"f\""));
    CHECK(strstr(b.data, "\"sequence_delim\": \";\", \"sequence_length\": 9, \"sequence_fields\": "
                         "[\"t\"]}"));
    CHECK(strstr(b.data, "{\"feature_type\": \"lookup_feature\", \"feature_name\": \"g__lookup\", "
                         "\"default_value\": \"0,0\""));
    CHECK(strstr(b.data, "{\"feature_type\": \"raw_feature\", \"feature_name\": \"g\""));
    CHECK(strstr(b.data, "\"expression\": \"feature:g__lookup\""));
    cr_buf_clear(&b);
    t_close(&t);
}

/* FG_DAG: sequences give sequences; what is none counts for every step */
TEST(steps_of_features) {
    t_feats t;
    open_or_say(
        &t, "fg_mode: FG_DAG",
        S50 "{expr_feature: {feature_name: twice, variables: ['feature:b', 'feature:scale'], "
            "expression: 'b*scale', default_value: '-1'}}, "
            "{raw_feature: {feature_name: b, expression: 'item:b', normalizer: "
            "'method=minmax,min=0,max=10', stub_type: true, default_value: '9'}}, "
            "{combo_feature: {feature_name: cross, expression: ['user:u', 'feature:word'], "
            "vocab_list: [x_a, x_b, y_0], embedding_dim: 4}}, "
            "{id_feature: {feature_name: word, expression: 'item:w', stub_type: true, value_dim: "
            "0, num_buckets: 1, embedding_dim: 4}}]}\n"
            "- expr_feature: {feature_name: scale, variables: ['user:s'], expression: 's+1', "
            "stub_type: true}\n"
            "- sequence_id_feature: {feature_name: bucket, expression: "
            "'feature:click_50_seq__twice', num_buckets: 100, embedding_dim: 4}");
    if (t.fs) {
        CHECK_INT(t.fs->n_sparse, 2);
        CHECK_INT(t.fs->n_dense_seq, 1);
        INTS(&t, "s", 9, 19, 0);
        TEXT(&t, "u", "x", "x", "y");
        TEXT(&t, "click_50_seq__b", "5;10", "20;;1", "");
        TEXT(&t, "click_50_seq__w", "a;b" SEP "a", "c;a;b", "");
        t_encode(&t);
        CHECK_INT(t.bad.n, 0);
        check_dense(&t, 0, 1, (const float[]){5, 10, 40, 180, 2, 9}, (const int[]){2, 3, 1});
        CHECK_SEQ(&t, 0, IDS(2, 3, 2, 1, 2, 3, 4), LENS(1, 2, 1, 1, 1, 1), STEPS(2, 3, 1));
        CHECK_SEQ(&t, 1, IDS(5, 10, 40, 0, 2, 9), ONE_EACH, STEPS(2, 3, 1));
        CHECK_INT(cr_features_counts(&t.enc)[5].out_of_range, 1);
        /* a bad step is told with its row */
        TEXT(&t, "click_50_seq__b", "5;10", "20;x;1", "");
        t_encode(&t);
        CHECK(t.bad.n_kept == 1 && t.bad.v[0].row == 1 && t.bad.v[0].line == 2);
    }
    t_close(&t);
}

/* FG_BUCKETIZE: the column has the feature's name, only ids are looked up */
TEST(buckets_of_steps) {
    const char *mode = "fg_mode: FG_BUCKETIZE";
    GOLD(mode, ID("hash_bucket_size: 100, value_dim: 0"), COL(WORDS), IDS(33, 44, 66, 26, 66),
         LENS(2, 1, 1, 1), STEPS(2, 1, 1));
    GOLD(mode, RAW("boundaries: [1, 5], embedding_dim: 4, normalizer: 'method=log10'"),
         COL("0;7;2", "3"), IDS(0, 2, 1, 1), ONE_EACH, STEPS(3, 1));
    GOLD(mode,
         S50 "{combine_feature: {feature_name: f, expression: 'item:c', num_buckets: 10, "
             "embedding_dim: 4, value_map: {a: 1}}}]}",
         COL("3;4.9", "", "7"), IDS(3, 4, 0, 7), ONE_EACH, STEPS(2, 1, 1));
}

/* ---- bad rows ---- */

#define BLOCK(...)                                                                                 \
    "- sequence_feature: {sequence_name: s, sequence_length: 10, features: [" __VA_ARGS__ "]}"
#define IN_BLOCK(name)                                                                             \
    "{id_feature: {feature_name: " name ", expression: 'item:" name                                \
    "', num_buckets: 100, embedding_dim: 4}}"

TEST(wrong_delimiter) {
    static const char *const several[] = {"1|2", "7, 8,9", "1:2:3"}, *const one[] = {"x|y", "1.5",
                                                                                     "2024-01-02"};
    for (int i = 0; i < 6; i++) {
        const char *v = i < 3 ? several[i] : one[i - 3];
        t_feats t;
        open_or_say(&t, NORMAL, ID("num_buckets: 100"));
        TEXT(&t, "c", v);
        t_encode(&t);
        CHECK_INT(t.bad.n_kept, 1);
        CHECK(strstr(t.bad.v[0].msg, "not an integer") != NULL);
        CHECK_INT(strstr(t.bad.v[0].msg, "check the delimiter") != NULL, i < 3);
        t_close(&t);
    }
}

TEST(bad_values) {
    t_feats t;
    open_or_say(&t, NORMAL, ID("num_buckets: 100"));
    TEXT(&t, "c", "1;2", "", "3;x;4;y", "5", "z");
    t_encode(&t);
    CHECK_INT(t.rc, CR_OK);
    CHECK_INT(t.bad.n_kept, 2);
    CHECK_INT(t.bad.v[0].row, 2);
    CHECK_INT(t.bad.v[0].line, 3);
    CHECK_STR(t.bad.v[0].msg, "column 'c', value 'x': not an integer");
    CHECK_INT(t.bad.v[1].row, 4);
    CHECK_INT(t.bad.v[1].line, 5);
    for (int64_t i = 0; i < t.bad.n; i++)
        CHECK(t.bad.rows[i] == 2 || t.bad.rows[i] == 4);
    CHECK(t.batch.sparse[0].steps[5] == 9);
    t_close(&t);
    open_or_say(&t, NORMAL, RAW("value_dim: 2, separator: '|'"));
    TEXT(&t, "c", "1|2", "", "1|2;3;4|5", "nan|1");
    t_encode(&t);
    CHECK_INT(t.bad.n_kept, 2);
    CHECK_INT(t.bad.v[0].row, 2);
    CHECK_STR(t.bad.v[0].msg, "column 'c': 1 value, value_dim is 2");
    CHECK_INT(t.bad.v[1].row, 3);
    t_close(&t);
    /* a number that lacks in FG_NONE */
    open_or_say(&t, NONE, RAW("value_dim: 1"));
    TEXT(&t, "f", "1;2", "1;;2", "");
    t_encode(&t);
    CHECK_INT(t.bad.n, 1);
    CHECK_INT(t.bad.v[0].row, 1);
    CHECK_STR(t.bad.v[0].msg, "column 'f' is empty; set fg_encoded_default_value of feature 'f'");
    t_close(&t);
}

TEST(lengths_disagree) {
    t_feats t;
    open_or_say(&t, NORMAL,
                BLOCK(IN_BLOCK("a") ", " IN_BLOCK("b") ", {raw_feature: {feature_name: "
                                                       "p, expression: 'user:p'}}"));
    CHECK_INT(t.fs->n, 3);
    CHECK_STR(t.fs->v[2]->name, "s__p");
    CHECK_INT(t.fs->v[2]->seq->first, 0);
    TEXT(&t, "s__a", "1;2", "3", "4;5;6", "");
    TEXT(&t, "s__b", "1;2", "3;4", "4;5;6", "");
    TEXT(&t, "s__p", "0.5;1", "1;2", "1;2", "");
    t_encode(&t);
    CHECK_INT(t.bad.n_kept, 2);
    CHECK_INT(t.bad.v[0].row, 1);
    CHECK_INT(t.bad.v[0].line, 2);
    CHECK_STR(t.bad.v[0].msg,
              "columns 's__a' and 's__b' have 1 and 2 steps; those of sequence 's' must agree");
    CHECK_INT(t.bad.v[1].row, 2);
    CHECK_STR(t.bad.v[1].msg,
              "columns 's__a' and 's__p' have 3 and 2 steps; those of sequence 's' must agree");
    t_close(&t);
    /* what is cut does not count */
    open_or_say(&t, NORMAL, BLOCK(IN_BLOCK("a") ", " IN_BLOCK("b")));
    TEXT(&t, "s__a", "1;2;3;4;5;6;7;8;9;10;11");
    TEXT(&t, "s__b", "1;2;3;4;5;6;7;8;9;10;11;12");
    t_encode(&t);
    CHECK_INT(t.bad.n, 0);
    CHECK_INT(t.batch.sparse[1].steps[1], 10);
    t_close(&t);
}

/* ---- config ---- */

TEST(columns_of_blocks) {
    t_feats t;
    /* FG_NONE: by name */
    open_or_say(&t, NONE, BLOCK(IN_BLOCK("a")));
    CHECK_STR(t.fs->want[0].name, "s__a");
    t_close(&t);
    /* the side does not matter with one input, and the name is that of the expression */
    open_or_say(&t, NORMAL,
                BLOCK("{id_feature: {feature_name: f, expression: 'user:a', num_buckets: 9, "
                      "embedding_dim: 4}}, {id_feature: {feature_name: g, expression: 'item:a', "
                      "num_buckets: 9, embedding_dim: 4}}"));
    CHECK_INT(t.fs->n_want, 1);
    CHECK_STR(t.fs->want[0].name, "s__a");
    CHECK_STR(t.fs->v[1]->name, "s__g");
    CHECK_INT(t.fs->v[1]->slot, 1);
    t_close(&t);
}

static void refused(const char *data, const char *features, const char *text) {
    t_feats t;
    t_open(&t, data, features, false, NULL, 0);
    CHECK(t.fs == NULL);
    CHECK(t_has(&t, text));
    if (!t_has(&t, text)) t_show_diag(&t);
    t_close(&t);
}

TEST(mistakes) {
    refused(NORMAL, RAW("embedding_dim: 4, mlp: {}"), "takes neither autodis nor mlp");
    refused(NORMAL, ID("num_buckets: 9, sequence_delim: ''"), "sequence_delim is empty");
    refused(NORMAL, ID("num_buckets: 9, sequence_fields: [other]"),
            "feature 'f' has no input that is a sequence");
    refused(NORMAL, BLOCK(""), "sequence_feature 's' has no features");
    refused("fg_mode: FG_DAG",
            "- sequence_id_feature: {feature_name: f, expression: 'feature:g', num_buckets: 9, "
            "embedding_dim: 4}\n"
            "- id_feature: {feature_name: g, expression: 'user:g', num_buckets: 9, embedding_dim: "
            "4}",
            "feature 'f' has no input that is a sequence");
    refused(NORMAL, BLOCK(IN_BLOCK("a") ", " IN_BLOCK("a")), "feature 's__a' is defined twice");
    refused(NORMAL, "- sequence_feature: {sequence_length: 3, features: [" IN_BLOCK("a") "]}",
            "sequence_name");
    refused(NORMAL, "- sequence_feature: {sequence_name: s, features: [" IN_BLOCK("a") "]}",
            "sequence_length");
}

TEST(refused_columns) {
    t_feats t;
    open_or_say(
        &t, NORMAL,
        ID("num_buckets: 9") "\n"
                             "- sequence_raw_feature: {feature_name: x, expression: 'user:d', "
                             "value_dim: 2}");
    cr_diag diag;
    cr_diag_init(&diag);
    cr_colkind kinds[2] = {
        {.type = CR_COL_F64, .depth = 2, .key = -1, .text = "list<list<double>>"},
        {.type = CR_COL_F64, .depth = 1, .key = -1, .text = "list<double>"}};
    cr_features_check(t.fs, kinds, &diag);
    CHECK_INT(diag.n, 2);
    CHECK(strstr(diag.v[0].msg, "column 'c' holds list<list<double>>; feature 'f' needs in "
                                "each step integers"));
    CHECK_STR(diag.v[1].msg, "column 'd' holds list<double>; feature 'x' needs in each step "
                             "lists because its value_dim is more than 1");
    cr_diag_clear(&diag);
    cr_diag_init(&diag);
    kinds[0] = (cr_colkind){.type = CR_COL_I64, .depth = 2, .key = -1, .text = "list<list<int64>>"};
    kinds[1] = (cr_colkind){.type = CR_COL_F32, .depth = 2, .key = -1, .text = "list<list<float>>"};
    cr_features_check(t.fs, kinds, &diag);
    CHECK_INT(diag.n, 0);
    kinds[0] = (cr_colkind){.type = CR_COL_F32, .depth = 1, .key = CR_COL_STR, .text = "map<…>"};
    cr_features_check(t.fs, kinds, &diag);
    CHECK_INT(diag.n, 1);
    cr_diag_clear(&diag);
    t_close(&t);
}

TEST(fg_json) {
    t_feats t;
    open_or_say(
        &t, NORMAL,
        BLOCK(IN_BLOCK(
            "a") ", {raw_feature: {feature_name: p, expression: 'item:p', "
                 "sequence_fields: [p]}}") "\n"
                                           "- sequence_id_feature: {feature_name: f, expression: "
                                           "'user:c', embedding_dim: 4, "
                                           "vocab_list: [x], sequence_length: 5, value_dim: 0}\n"
                                           "- id_feature: {feature_name: g, expression: 'user:g', "
                                           "embedding_dim: 4, num_buckets: 3}");
    cr_buf b;
    cr_buf_init(&b);
    cr_features_fg_json(t.fs, &b);
    cr_buf plain; /* without blanks */
    cr_buf_init(&plain);
    for (size_t i = 0; i < b.n; i++)
        if (b.data[i] != ' ' && b.data[i] != '\n') cr_buf_char(&plain, b.data[i]);
    CHECK_STR(
        plain.data,
        "{\"features\":[{\"sequence_name\":\"s\",\"sequence_length\":10,\"sequence_delim\":\";\","
        "\"sequence_pk\":\"user:s\",\"features\":[{\"feature_type\":\"id_feature\","
        "\"feature_name\":\"a\",\"default_value\":\"0\",\"expression\":\"item:a\",\"value_type\":"
        "\"string\",\"need_prefix\":false,\"num_buckets\":100,\"value_dim\":1},"
        "{\"feature_type\":\"raw_feature\",\"feature_name\":\"p\",\"default_value\":\"0\","
        "\"expression\":\"item:p\",\"value_type\":\"float\",\"sequence_fields\":[\"p\"]}]},"
        "{\"feature_type\":\"sequence_id_feature\",\"feature_name\":\"f\",\"default_value\":\"0\","
        "\"expression\":\"user:c\",\"value_type\":\"string\",\"need_prefix\":false,"
        "\"vocab_list\":[\"0\",\"<OOV>\",\"x\"],\"default_bucketize_value\":1,\"value_dim\":0,"
        "\"sequence_delim\":\";\",\"sequence_length\":5},"
        "{\"feature_type\":\"id_feature\",\"feature_name\":\"g\",\"default_value\":\"\","
        "\"expression\":\"user:g\",\"value_type\":\"string\",\"need_prefix\":false,"
        "\"num_buckets\":3,\"value_dim\":0}]}");
    cr_buf_clear(&plain);
    cr_buf_clear(&b);
    t_close(&t);
}

TEST_MAIN(CASE(golden_hash), CASE(golden_block), CASE(golden_buckets), CASE(steps_of_text),
          CASE(cut_anywhere), CASE(encoded), CASE(weighted), CASE(dense_text), CASE(dense_lists),
          CASE(boundaries), CASE(lists_of_lists), CASE(text_of_dictionaries), CASE(single_values),
          CASE(combo_steps), CASE(lookup_steps), CASE(overlap_and_dot_steps), CASE(combine_steps),
          CASE(formula_steps), CASE(mask_steps), CASE(fg_json_of_inputs), CASE(steps_of_features),
          CASE(buckets_of_steps), CASE(wrong_delimiter), CASE(bad_values), CASE(lengths_disagree),
          CASE(columns_of_blocks), CASE(mistakes), CASE(refused_columns), CASE(fg_json))
