/*
 * views.c - staged views: what a lookup reads through them are the rows of the batch's ids, for ids
 * of 64 bits, several features and tables, rows with several ids or none, and sequences that an
 * axis cuts; each distinct row is fetched once.
 */
#include "emb/views.h"

#include "base/rng.h"
#include "harness.h"
#include "kern/kern.h"
#include "pile.h"

enum { ROWS = 90, N = 40, IDS = 4 * ROWS };

/* ids that lie anywhere in 64 bits */
static int64_t key_of(uint64_t i) {
    return (int64_t)(i * 0x9e3779b97f4a7c15u);
}

typedef struct feature {
    int32_t off[IDS + 1], steps[ROWS + 1];
    int64_t ids[IDS];
    cr_jagged j;
} feature;

/* one id per row; or 0 to 3 per row, or per step of a sequence of 0 to 2 steps */
static void make(feature *f, uint64_t seed, bool bags, bool seq) {
    int64_t rows = ROWS, n = 0;
    for (int r = 0; seq && r < ROWS; r++)
        f->steps[r + 1] = f->steps[r] + (int32_t)cr_rng_below(seed + 1, (uint64_t)r, 3);
    if (seq) rows = f->steps[ROWS];
    for (int64_t r = 0; r < rows; r++) {
        int64_t len = bags ? (int64_t)cr_rng_below(seed + 2, (uint64_t)r, seq ? 3 : 4) : 1;
        for (int64_t k = 0; k < len && n < IDS; k++, n++)
            f->ids[n] = key_of(cr_rng_below(seed, (uint64_t)n, N));
        f->off[r + 1] = (int32_t)n;
    }
    f->j = (cr_jagged){.off = bags ? f->off : NULL,
                       .ids = f->ids,
                       .n_ids = n,
                       .steps = seq ? f->steps : NULL};
}

/* id number i of a view is the row of `id` */
static int64_t wrong(const cr_view *v, int64_t i, int64_t id, pile *p) {
    float got[16], want[16], sum[16];
    cr_view_rows(v, i, NULL, 1, 0, got, 16);
    cr_view_pool(v, i, NULL, 1, sum);
    cr_table_get(&p->t, pile_row(p, id), want);
    size_t size = (size_t)v->D * sizeof(float);
    return memcmp(got, want, size) != 0 || memcmp(sum, want, size) != 0;
}

TEST(rows_of_the_batch) {
    static feature f[4];
    static const struct {
        bool bags, seq;
    } kinds[] = {{false, false}, {true, false}, {false, true}, {true, true}};
    cr_jagged sparse[4];
    pile p[3];
    cr_table t[3];
    cr_init init = CR_INIT_U(1);
    for (int i = 0; i < 3; i++) {
        cr_table_spec spec = {"t", N, 5 + 4 * i, i, false, NULL, NULL}; /* 32 bits, BF16, FP16 */
        CHECK_INT(pile_init(&p[i], &spec, &init, (uint64_t)i, NULL), 0);
        cr_table_describe(&t[i], &spec, &p[i].owner);
    }
    /* table 0 reads features 0, 1 and 0 again; table 1 the same, so they share; table 2 sequences
     */
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    cr_views *s = cr_views_new(9, pool);
    cr_group_slot plain[] = {{0, 0}, {1, 0}, {0, 0}}, seqs[] = {{2, 1}, {3, 1}};
    cr_views_add(s, &t[0], plain, (int[]){4, 1, 7}, 3);
    cr_views_add(s, &t[1], plain, (int[]){0, 2, 3}, 3);
    cr_views_add(s, &t[2], seqs, (int[]){8, 5}, 2);
    for (uint64_t batch = 0; batch < 3; batch++) {
        for (int i = 0; i < 4; i++) {
            make(&f[i], 10 * batch + (uint64_t)i, kinds[i].bags, kinds[i].seq);
            sparse[i] = f[i].j;
        }
        cr_batch b = {.n_rows = ROWS - 20 * (int64_t)batch, .n_sparse = 4, .sparse = sparse};
        b.global_rows = 1000;         /* some rows of a larger batch */
        int32_t axis[ROWS + 1] = {0}; /* the first step of each sequence */
        for (int r = 0; r < ROWS; r++)
            axis[r + 1] = axis[r] + (f[2].steps[r + 1] > f[2].steps[r]);
        const int32_t *axes = axis;
        int64_t fetched = p[0].fetched;
        CHECK_INT(cr_views_stage(s, &b, &axes, NULL, NULL), 0);
        CHECK(p[0].fetched - fetched <= N && p[0].fetches == (int64_t)batch + 1);
        const cr_view *v = cr_views_get(s);
        int64_t bad = 0, seen = 0;
        for (int64_t r = 0; r < b.n_rows; r++) {
            bad += wrong(&v[4], r, f[0].ids[r], &p[0]) + wrong(&v[7], r, f[0].ids[r], &p[0]) +
                   wrong(&v[0], r, f[0].ids[r], &p[1]) + wrong(&v[3], r, f[0].ids[r], &p[1]);
            for (int32_t k = f[1].off[r]; k < f[1].off[r + 1]; k++)
                bad += wrong(&v[1], k, f[1].ids[k], &p[0]) + wrong(&v[2], k, f[1].ids[k], &p[1]);
            for (int32_t i = f[2].steps[r]; i < f[2].steps[r] + axis[r + 1] - axis[r]; i++, seen++)
                bad += wrong(&v[8], i, f[2].ids[i], &p[2]);
            /* the sequence of feature 3 may have no step where the axis has one */
            int32_t first = f[3].steps[r], len = f[3].steps[r + 1] - first;
            if (axis[r + 1] == axis[r] || len == 0) continue;
            for (int32_t k = f[3].off[first]; k < f[3].off[first + 1]; k++, seen++)
                bad += wrong(&v[5], k, f[3].ids[k], &p[2]);
        }
        CHECK_INT(bad, 0);
        CHECK(seen > 20);
    }
    /* an owner that fails is heard */
    p[1].fail_at = p[1].fetches + 1;
    cr_batch b = {.n_rows = ROWS, .n_sparse = 4, .sparse = sparse};
    int32_t none[ROWS + 1] = {0};
    const int32_t *axes = none;
    cr_err err;
    CHECK_INT(cr_views_stage(s, &b, &axes, NULL, &err), CR_ERUN);
    CHECK_STR(err.msg, "the server is gone");
    CHECK_INT(cr_views_stage(s, &b, &axes, NULL, NULL), 0);
    cr_views_free(s);
    cr_pool_free(pool);
    for (int i = 0; i < 3; i++)
        pile_clear(&p[i]);
}

/* a view of a table in memory is free: its own memory, the ids as they are */
TEST(local_tables) {
    cr_table t;
    int64_t ids[] = {2, 0};
    CHECK_INT(cr_table_init(&t, &(cr_table_spec){"t", 3, 2, 0, false, NULL, NULL}, NULL), 0);
    cr_view v = cr_table_view(&t, ids);
    CHECK(v.base == cr_table_row(&t, 0) && v.stride == t.stride && v.ids == ids);
    CHECK(cr_view_row(&v, 0) == cr_table_row(&t, 2));
    cr_table_clear(&t);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(rows_of_the_batch), CASE(local_tables)};
    cr_kern_init();
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
