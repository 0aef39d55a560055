/*
 * dict.c - text as codes of a dictionary gives the same batch, the same bad rows and the same
 * counts as the text itself: for every mapping, weights, lists, maps, nulls, with and without a
 * memo.
 */
#include "base/rng.h"
#include "feat_test.h"

#define N_ROWS 300
#define N_DICT 40

static const char *const CONF =
    "- id_feature: {feature_name: hash, expression: 'user:s', hash_bucket_size: 1000, "
    "embedding_dim: "
    "4, separator: '|', default_value: none}\n"
    "- id_feature: {feature_name: buckets, expression: 'user:n', num_buckets: 50, embedding_dim: "
    "4, "
    "separator: '|'}\n"
    "- id_feature: {feature_name: vocab, expression: 'user:s', vocab_list: [a, b, c], "
    "embedding_dim: 4, value_dim: 2, separator: '|'}\n"
    "- id_feature: {feature_name: weighted, expression: 'user:w', num_buckets: 50, embedding_dim: "
    "4, "
    "separator: '|', weighted: true}\n"
    "- id_feature: {feature_name: list, expression: 'user:l', hash_bucket_size: 1000, "
    "embedding_dim: "
    "4}\n"
    "- id_feature: {feature_name: pairs, expression: 'user:m', hash_bucket_size: 1000, "
    "embedding_dim: 4, weighted: true}\n"
    "- id_feature: {feature_name: keys, expression: 'user:m', hash_bucket_size: 1000, "
    "embedding_dim: 4}\n"
    "- raw_feature: {feature_name: x, expression: 'user:n', default_value: '7'}\n"
    "- raw_feature: {feature_name: two, expression: 'user:v', value_dim: 2, separator: '|', "
    "default_value: '1|2'}\n"
    "- raw_feature: {feature_name: b, expression: 'user:n', boundaries: [3, 20], embedding_dim: 4, "
    "default_value: '0'}\n";

static uint64_t key, draws;
static int64_t n_bad;
static uint64_t draw(uint64_t below) {
    return cr_rng_below(key, draws++, below);
}

/* text columns by codes; `plain` gets the same values without a dictionary */
typedef struct made {
    cr_column coded, plain;
} made;

static void text_of(cr_buf *b, char kind, bool wrong) {
    int n = (int)draw(4);
    switch (kind) {
    case 's':
        for (int i = 0; i < n; i++)
            cr_buf_printf(b, "%s%c%s", i ? "|" : "", (int)('a' + draw(6)), draw(2) ? "" : "xyz");
        break;
    case 'n':
        if (n) cr_buf_printf(b, wrong && draw(20) == 0 ? "x%d" : "%d", (int)draw(60));
        break;
    case 'w':
        for (int i = 0; i < n; i++)
            cr_buf_printf(b, wrong && draw(40) == 0 ? "%s%d" : "%s%d:0.%d", i ? "|" : "",
                          (int)draw(60), (int)draw(10));
        break;
    case 'v':
        if (n)
            cr_buf_printf(b, wrong && draw(20) == 0 ? "%d" : "%d|%d", (int)draw(60), (int)draw(9));
        break;
    default:
        if (n) cr_buf_printf(b, "k%d", (int)draw(100));
        break;
    }
}

static made make(cr_arena *a, char kind, int64_t n, bool wrong, bool nulls, cr_memo *memo) {
    cr_buf b;
    cr_buf_init(&b);
    uint32_t *beg = CR_NEW_N(a, uint32_t, N_DICT + 1), *end = CR_NEW_N(a, uint32_t, N_DICT + 1);
    for (int i = 0; i < N_DICT; i++) {
        beg[i] = (uint32_t)b.n;
        text_of(&b, kind, wrong);
        end[i] = (uint32_t)b.n;
    }
    made m = {.coded = {.type = CR_COL_STR, .n_dict = N_DICT, .memo = memo}};
    m.coded.bytes = cr_arena_strndup(a, b.data ? b.data : "", b.n);
    m.coded.beg = beg;
    m.coded.end = end;
    uint32_t *code = CR_NEW_N(a, uint32_t, n + 1), *pb = CR_NEW_N(a, uint32_t, n + 1),
             *pe = CR_NEW_N(a, uint32_t, n + 1);
    uint8_t *valid = CR_NEW_N(a, uint8_t, n + 1);
    for (int64_t i = 0; i < n; i++) {
        valid[i] = !(nulls && draw(10) == 0);
        code[i] = valid[i] ? (uint32_t)draw(N_DICT) : 0;
        pb[i] = beg[code[i]];
        pe[i] = end[code[i]];
    }
    m.coded.code = code;
    m.coded.valid = nulls ? valid : NULL;
    m.plain = m.coded;
    m.plain.code = NULL;
    m.plain.memo = NULL;
    m.plain.beg = pb;
    m.plain.end = pe;
    cr_buf_clear(&b);
    return m;
}

/* everything of a batch and its bad rows as text */
static char *shown(const t_feats *t) {
    cr_buf b;
    cr_buf_init(&b);
    const cr_batch *x = &t->batch;
    for (int f = 0; f < x->n_sparse; f++) {
        const cr_jagged *j = &x->sparse[f];
        cr_buf_printf(&b, "\n%d%s:", f, j->off ? "" : " (one each)");
        for (int64_t r = 0; j->off && r <= x->n_rows; r++)
            cr_buf_printf(&b, " %d", j->off[r]);
        for (int64_t i = 0; i < j->n_ids; i++)
            cr_buf_printf(&b, " %lld*%g", (long long)j->ids[i], j->w ? (double)j->w[i] : 1.0);
    }
    for (int64_t i = 0; i < x->n_rows * x->dense_width; i++)
        cr_buf_printf(&b, " %g", (double)x->dense[i]);
    for (int64_t i = 0; i < t->bad.n; i++)
        cr_buf_printf(&b, " %lld", (long long)t->bad.rows[i]);
    for (int64_t i = 0; i < t->bad.n_kept; i++)
        cr_buf_printf(&b, "\n%lld: %s", (long long)t->bad.v[i].row, t->bad.v[i].msg);
    char *s = strdup(b.data);
    cr_buf_clear(&b);
    return s;
}

static void counts(const t_feats *t, cr_feature_counts *out) {
    memcpy(out, cr_features_counts(&t->enc), cr_features_counts_size(t->fs));
}

static void one_round(t_feats *t, uint64_t round) {
    key = cr_rng_sub(cr_rng_key(5, "test", "dict"), round);
    draws = 0;
    bool wrong = round % 2, nulls = round % 3 > 0, with_memo = round % 4 > 1;
    /* without a memo a dictionary larger than the chunk is left alone */
    int64_t n_rows = round % 5 == 4 ? N_DICT : N_ROWS;
    cr_arena *a = &t->chunk.arena;
    cr_memo memo[6] = {{0}};
    static const char names[] = "snwvlm";
    made m[6];
    int32_t *off = CR_NEW_N(a, int32_t, n_rows + 1);
    for (int64_t r = 0; r < n_rows; r++)
        off[r + 1] = off[r] + (int32_t)draw(4);
    for (int i = 0; i < 6; i++) {
        bool list = names[i] == 'l' || names[i] == 'm';
        m[i] = make(a, names[i], list ? off[n_rows] : n_rows, wrong, nulls,
                    with_memo ? &memo[i] : NULL);
        if (!list) continue;
        for (int k = 0; k < 2; k++) {
            cr_column *c = k ? &m[i].plain : &m[i].coded;
            c->item_valid = c->valid;
            c->valid = NULL;
            c->depth = 1;
            c->row_off = off;
        }
    }
    float *w = CR_NEW_N(a, float, off[n_rows] + 1);
    uint8_t *ok = CR_NEW_N(a, uint8_t, off[n_rows] + 1);
    for (int32_t i = 0; i < off[n_rows]; i++) {
        w[i] = (float)draw(9);
        ok[i] = !(wrong && draw(50) == 0);
    }
    char *want = NULL;
    static cr_feature_counts counted[2][20];
    CHECK(t->fs->n <= 20);
    /* plain; then coded twice: the second time a memo knows all */
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < 6; i++) {
            cr_column *c = t_col(t, (const char[]){names[i], 0}, n_rows);
            cr_column *from = pass ? &m[i].coded : &m[i].plain;
            *c = *from;
            if (names[i] == 'm')
                *c = (cr_column){.type = CR_COL_F32,
                                 .depth = 1,
                                 .row_off = off,
                                 .item_valid = ok,
                                 .v.f32 = w,
                                 .keys = from};
        }
        t_encode(t);
        CHECK_INT(t->rc, CR_OK);
        CHECK(wrong || t->bad.n == 0);
        n_bad += t->bad.n;
        char *got = shown(t);
        counts(t, counted[pass > 0]);
        if (pass) {
            CHECK_STR(got, want);
            CHECK(memcmp(counted[0], counted[1], cr_features_counts_size(t->fs)) == 0);
            free(got);
        } else {
            want = got;
        }
    }
    free(want);
    for (int i = 0; i < 6; i++)
        cr_memo_clear(&memo[i]);
    t_drop_chunk(t);
}

TEST(same_as_text) {
    t_feats t;
    t_open(&t, "fg_mode: FG_NORMAL", CONF, false, NULL, 0);
    CHECK(t.fs != NULL);
    if (!t.fs) t_show_diag(&t);
    for (uint64_t round = 0; t.fs && round < 120; round++)
        one_round(&t, round);
    CHECK(n_bad > 1000);
    t_close(&t);
}

/* entries are looked at once: a memo keeps what was made although the text behind it changes */
TEST(memo_is_used) {
    t_feats t;
    t_open(&t, "fg_mode: FG_NORMAL",
           "- id_feature: {feature_name: f, expression: 'user:s', num_buckets: 100, embedding_dim: "
           "4}\n- raw_feature: {feature_name: g, expression: 'user:s'}",
           false, NULL, 0);
    CHECK(t.fs != NULL);
    if (!t.fs) return;
    char text[] = "1234";
    uint32_t at[] = {0, 1, 2, 3, 4}, code[] = {3, 0, 3};
    cr_memo memo = {0};
    cr_column *c = t_col(&t, "s", 3);
    *c = (cr_column){.type = CR_COL_STR,
                     .bytes = text,
                     .beg = at,
                     .end = at + 1,
                     .code = code,
                     .n_dict = 4,
                     .memo = &memo};
    for (int pass = 0; pass < 2; pass++) {
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(4, 1, 4), ONE_EACH);
        CHECK(t.batch.dense[0] == 4 && t.batch.dense[1] == 1 && t.batch.dense[2] == 4);
        memcpy(text, "5678", 4);
    }
    code[1] = 2; /* not looked at before */
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(4, 7, 4), ONE_EACH);
    cr_memo_reset(&memo);
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(8, 7, 8), ONE_EACH);
    cr_memo_clear(&memo);
    t_close(&t);
}

TEST_MAIN(CASE(same_as_text), CASE(memo_is_used))
