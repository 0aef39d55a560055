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
    CHECK_INT(t.fs->v[0]->counts->missing, 1);
    t_close(&t);
}

TEST_MAIN(CASE(golden_hash), CASE(golden_block), CASE(golden_buckets))
