/*
 * social_graph.c - the channels of MHCN (social.h), and the gate that its ops share.
 *
 * With the relations S, those that go both ways B = S * S^T and the others U = S - B (products of
 * elements), and Y, who has which item, the triangles of users that a pair of users is part of are
 * counted by ten motifs (Yu et al., 2021, table 1). The first channel adds up motifs 1 to 7, three
 * users of whom each pair is related; the second 8 and 9, two related users of one item; the third
 * has users of at least two common items without a relation. Rows are divided by their sums. An
 * item of a user weighs 1 / sqrt(items of the user) / sqrt(users of the item).
 */
#include <math.h>
#include <string.h>

#include "kern/kern.h"
#include "op/social.h"

/* ---- motifs ---- */

/* Adds (x y) * mask to a sum of motifs. */
static void add_motif(cr_arena *a, cr_sparse *sum, const cr_sparse *x, const cr_sparse *y,
                      const cr_sparse *mask) {
    cr_sparse m = cr_sparse_product(a, x, y, mask);
    *sum = cr_sparse_sum(a, sum, 1, &m, 1);
}

/* m + m^T */
static cr_sparse both_ways(cr_arena *a, const cr_sparse *m) {
    cr_sparse t = cr_sparse_turn(a, m);
    return cr_sparse_sum(a, m, 1, &t, 1);
}

static cr_sparse none(cr_arena *a, int64_t n) {
    return cr_sparse_pairs(a, n, n, NULL, 0);
}

/* Motifs 1 to 7; V is the transpose of U. */
static cr_sparse related(cr_arena *a, const cr_sparse *B, const cr_sparse *U, const cr_sparse *V) {
    cr_sparse one_way = none(a, B->rows), rest = none(a, B->rows);
    const cr_sparse *const turned[][3] = {
        {U, U, V},                       /* 1 */
        {B, U, V}, {U, B, V}, {U, U, B}, /* 2 */
        {B, B, U}, {B, U, B}, {U, B, B}, /* 3 */
        {U, U, U}, {U, V, U}, {V, U, U}, /* 5 */
    };
    const cr_sparse *const once[][3] = {
        {B, B, B},                       /* 4 */
        {U, B, U}, {B, V, V}, {V, U, B}, /* 6 */
        {V, B, V}, {B, U, U}, {U, V, B}, /* 7 */
    };
    for (size_t i = 0; i < sizeof turned / sizeof *turned; i++)
        add_motif(a, &one_way, turned[i][0], turned[i][1], turned[i][2]);
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        add_motif(a, &rest, once[i][0], once[i][1], once[i][2]);
    one_way = both_ways(a, &one_way);
    return cr_sparse_sum(a, &one_way, 1, &rest, 1);
}

/* Weighs the items of users, from pairs that are 1. */
static void weigh(cr_sparse *m, const cr_sparse *turned) {
    for (int64_t u = 0; u < m->rows; u++)
        for (int64_t i = m->off[u]; i < m->off[u + 1]; i++) {
            double mine = (double)(m->off[u + 1] - m->off[u]);
            int32_t k = m->col[i];
            m->v[i] = (float)(1 / sqrt(mine) / sqrt((double)(turned->off[k + 1] - turned->off[k])));
        }
}

const cr_social *cr_social_new(cr_graph *g, int64_t users, int64_t items, const int64_t *rated,
                               int64_t n_rated, const int64_t *trusts, int64_t n_trusts) {
    cr_social *s = CR_NEW(&g->arena, cr_social);
    cr_arena own, *a = &own;
    cr_arena_init(a, 0);
    s->users = users;
    s->items = items;
    cr_sparse S = cr_sparse_pairs(a, users, users, trusts, n_trusts), T = cr_sparse_turn(a, &S);
    cr_sparse Y = cr_sparse_pairs(a, users, items, rated, n_rated), W = cr_sparse_turn(a, &Y);
    /* the product of S and its transpose, element by element */
    cr_sparse one = cr_sparse_sum(a, &S, 1, &T, 1), B = cr_sparse_means(a, &one, 1);
    for (int64_t i = 0; i < B.off[users]; i++)
        B.v[i] = 1;
    cr_sparse U = cr_sparse_sum(a, &S, 1, &B, -1), V = cr_sparse_turn(a, &U);
    cr_sparse common = cr_sparse_product(a, &Y, &W, NULL);
    cr_sparse joint = cr_sparse_product(a, &Y, &W, &U), two = cr_sparse_product(a, &Y, &W, &B);
    joint = both_ways(a, &joint);
    joint = cr_sparse_sum(a, &joint, 1, &two, 1);
    cr_sparse apart = cr_sparse_sum(a, &common, 1, &joint, -1), social = related(a, &B, &U, &V);
    s->channel[0] = cr_sparse_means(&g->arena, &social, 0);
    s->channel[1] = cr_sparse_means(&g->arena, &joint, 0);
    s->channel[2] = cr_sparse_means(&g->arena, &apart, 1);
    for (int c = 0; c < CR_SOCIAL_CHANNELS; c++)
        s->turned[c] = cr_sparse_turn(&g->arena, &s->channel[c]);
    weigh(&Y, &W);
    s->rated_turned = cr_sparse_turn(&g->arena, &Y);
    s->rated = cr_sparse_turn(&g->arena, &s->rated_turned);
    cr_arena_clear(a);
    return s;
}

const cr_social *cr_social_example(cr_graph *g) {
    /* user 5 has items and no relation, user 6 has neither; a pair comes twice */
    static const int64_t rated[] = {0, 0, 0, 1, 1, 0, 1, 1, 1, 2, 2, 1, 2, 2, 3,
                                    0, 3, 3, 4, 3, 4, 2, 5, 0, 5, 1, 5, 2, 0, 0};
    static const int64_t trusts[] = {0, 1, 1, 0, 1, 2, 2, 0, 2, 3, 3, 2, 3, 1, 4, 3, 0, 4, 4, 1};
    return cr_social_new(g, 7, 5, rated, sizeof rated / sizeof *rated / 2, trusts,
                         sizeof trusts / sizeof *trusts / 2);
}

/* ---- the gate ---- */

int64_t cr_gate_scratch(int64_t n, int64_t D) {
    int64_t a = cr_gemm_pack_size(D, D), b = cr_gemm_tn_scratch(D, D, n);
    return a > b ? a : b;
}

void cr_gate(float *y, float *gate, const float *x, int64_t n, int64_t D, const float *W,
             const float *b, float *scratch) {
    cr_gemm_pack(scratch, W, D, false, D, D);
    cr_kern->gemm(gate, D, x, D, scratch, n, D, D, CR_GEMM_BIAS, b);
    cr_kern->sigmoid(gate, gate, n * D);
    cr_kern->mul(y, x, gate, n * D, false);
}

void cr_gate_back(const float *dy, const float *gate, const float *x, int64_t n, int64_t D,
                  const float *W, float *dx, float *dW, float *db, float *temp, float *scratch) {
    for (int64_t i = 0; i < n * D; i++)
        temp[i] = dy[i] * x[i] * gate[i] * (1 - gate[i]);
    for (int64_t r = 0; db && r < n; r++)
        cr_kern->axpy(db, 1, temp + r * D, D);
    if (dW) cr_kern->gemm_tn(dW, D, x, D, temp, D, D, D, n, CR_GEMM_ACC, scratch);
    if (!dx) return;
    cr_kern->mul(dx, dy, gate, n * D, true);
    cr_gemm_pack(scratch, W, D, true, D, D);
    cr_kern->gemm(dx, D, temp, D, scratch, n, D, D, CR_GEMM_ACC, NULL);
}
