/*
 * group_attend.c - attention between vectors in groups: the n queries of a group read the m values
 * of a group, whose keys say how much of each.
 *
 * Per head, with the scores z_ij = scale * q_i . k_j + b_j: y_i is the sum over j of a_ij v_j,
 * where a_i is the softmax of z_i, or z_i itself. Groups of queries and of keys go together, or a
 * row has one group of either, which then goes with each of the others. The scores of a group are
 * made again in backward.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

enum { IN_Q, IN_K, IN_V, IN_B };

typedef struct attend {
    cr_group_attend_opts o;
    int64_t Gq, Gk, d, dv; /* groups, and the widths of a head's query and value */
    /* offsets into the scratch memory: scores (n, m), their gradients, the work space of gemm_tn; a
     * packed matrix comes first */
    int64_t s_off, g_off, tn_off;
} attend;

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void infer(cr_node *n) {
    attend *a = n->attr;
    int64_t N = a->o.n, M = a->o.m, H = a->o.heads, q = n->in[IN_Q]->width;
    int64_t k = n->in[IN_K]->width, v = n->in[IN_V]->width;
    a->d = a->o.width / H;
    a->Gq = q / (N * a->o.width);
    a->Gk = k / (M * a->o.width);
    a->dv = v / (a->Gk * M * H);
    if (a->o.width % H != 0 || q != a->Gq * N * a->o.width || k != a->Gk * M * a->o.width ||
        v != a->Gk * M * H * a->dv || (a->Gq != a->Gk && a->Gq != 1 && a->Gk != 1) ||
        (n->n_in > IN_B && n->in[IN_B]->width != a->Gk * M))
        CR_BUG("group_attend: shapes do not fit");
    n->cls = CR_ROW;
    n->width = most(a->Gq, a->Gk) * N * H * a->dv;
    int64_t pack = most(most(cr_gemm_pack_size(a->d, M), cr_gemm_pack_size(M, a->d)),
                        most(cr_gemm_pack_size(a->dv, M), cr_gemm_pack_size(M, a->dv)));
    a->s_off = cr_up16(pack);
    a->g_off = a->s_off + cr_up16(N * M);
    a->tn_off = a->g_off + cr_up16(N * M);
    n->scratch = a->tn_off + most(cr_gemm_tn_scratch(M, a->d, N), cr_gemm_tn_scratch(M, a->dv, N));
}

/* One head of one group of a row: where its parts begin. */
typedef struct place {
    int64_t q, k, v, b, y;
} place;

static place place_of(const attend *a, int64_t g, int64_t h) {
    int64_t gq = a->Gq > 1 ? g : 0, gk = a->Gk > 1 ? g : 0, wide = a->o.heads * a->dv;
    return (place){gq * a->o.n * a->o.width + h * a->d, gk * a->o.m * a->o.width + h * a->d,
                   gk * a->o.m * wide + h * a->dv, gk * a->o.m, g * a->o.n * wide + h * a->dv};
}

static const float *row_of(const cr_tile *t, const cr_node *x, int64_t r) {
    return cr_val(t, x) + r * cr_ld(x);
}

/* Computes the weights of a head into S. */
static void weigh(const attend *a, const float *q, const float *k, const float *b, float *S,
                  float *pack) {
    int64_t N = a->o.n, M = a->o.m, ld = a->o.width;
    cr_gemm_pack(pack, k, ld, true, a->d, M);
    cr_kern->gemm(S, M, q, ld, pack, N, M, a->d, 0, NULL);
    cr_kern->scale(S, a->o.scale, S, N * M);
    for (int64_t i = 0; b && i < N; i++)
        cr_kern->add(S + i * M, S + i * M, b, M);
    if (a->o.softmax) cr_kern->softmax(S, 1, N, M);
}

static void forward(const cr_node *n, cr_tile *t) {
    const attend *a = n->attr;
    float *pack = t->scratch, *S = pack + a->s_off;
    int64_t wide = a->o.heads * a->dv, G = most(a->Gq, a->Gk);
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int64_t g = 0; g < G; g++)
            for (int64_t h = 0; h < a->o.heads; h++) {
                place p = place_of(a, g, h);
                weigh(a, row_of(t, n->in[IN_Q], r) + p.q, row_of(t, n->in[IN_K], r) + p.k,
                      n->n_in > IN_B ? row_of(t, n->in[IN_B], r) + p.b : NULL, S, pack);
                cr_gemm_pack(pack, row_of(t, n->in[IN_V], r) + p.v, wide, false, a->o.m, a->dv);
                cr_kern->gemm(cr_val(t, n) + r * cr_ld(n) + p.y, wide, S, a->o.m, pack, a->o.n,
                              a->dv, a->o.m, 0, NULL);
            }
}

/* The gradient of a head, added to those of the inputs that want one. */
static void back(const attend *a, const place *p, const float *const *x, float *const *d,
                 const float *dy, float *scratch) {
    int64_t N = a->o.n, M = a->o.m, ld = a->o.width, wide = a->o.heads * a->dv;
    float *S = scratch + a->s_off, *dS = scratch + a->g_off, *tn = scratch + a->tn_off;
    const float *q = x[IN_Q] + p->q, *k = x[IN_K] + p->k;
    weigh(a, q, k, x[IN_B] ? x[IN_B] + p->b : NULL, S, scratch);
    if (d[IN_V])
        cr_kern->gemm_tn(d[IN_V] + p->v, wide, S, M, dy, wide, M, a->dv, N, CR_GEMM_ACC, tn);
    if (!d[IN_Q] && !d[IN_K] && !d[IN_B]) return;
    cr_gemm_pack(scratch, x[IN_V] + p->v, wide, true, a->dv, M);
    cr_kern->gemm(dS, M, dy, wide, scratch, N, M, a->dv, 0, NULL);
    if (a->o.softmax) cr_kern->softmax_bwd(dS, S, dS, M, 1, N, M);
    for (int64_t i = 0; d[IN_B] && i < N; i++)
        cr_kern->add(d[IN_B] + p->b, d[IN_B] + p->b, dS + i * M, M);
    cr_kern->scale(dS, a->o.scale, dS, N * M);
    if (d[IN_Q]) {
        cr_gemm_pack(scratch, k, ld, false, M, a->d);
        cr_kern->gemm(d[IN_Q] + p->q, ld, dS, M, scratch, N, a->d, M, CR_GEMM_ACC, NULL);
    }
    if (d[IN_K]) cr_kern->gemm_tn(d[IN_K] + p->k, ld, dS, M, q, ld, M, a->d, N, CR_GEMM_ACC, tn);
}

static void backward(const cr_node *n, cr_tile *t) {
    const attend *a = n->attr;
    float *d[4] = {NULL};
    const float *x[4] = {NULL};
    for (int i = 0; i < n->n_in; i++) { /* groups share keys or queries, so all of it only adds */
        const cr_node *in = n->in[i];
        if (!cr_wants_grad(t, n, i)) continue;
        if (cr_first_grad(t, n, i))
            memset(cr_grad(t, in), 0, (size_t)(t->n_rows * cr_ld(in)) * sizeof(float));
        d[i] = cr_grad(t, in);
    }
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *dr[4];
        for (int i = 0; i < 4; i++) {
            x[i] = i < n->n_in ? row_of(t, n->in[i], r) : NULL;
            dr[i] = d[i] ? d[i] + r * cr_ld(n->in[i]) : NULL;
        }
        for (int64_t g = 0; g < most(a->Gq, a->Gk); g++)
            for (int64_t h = 0; h < a->o.heads; h++) {
                place p = place_of(a, g, h);
                back(a, &p, x, dr, cr_grad(t, n) + r * cr_ld(n) + p.y, t->scratch);
            }
    }
}

static cr_node *example(cr_graph *g, int k) {
    cr_group_attend_opts o = {.n = 3, .m = 4, .heads = 2, .width = 6, .scale = 0.7F};
    o.softmax = k != 2;
    switch (k) {
    case 0: /* groups side by side, with a number for each key */
        return cr_group_attend(g, cr_feed(g, 36), cr_feed(g, 48), cr_feed(g, 32), cr_feed(g, 8),
                               &o);
    case 1: { /* one node in three places */
        cr_node *x = cr_feed(g, 2 * 3 * 34);
        o.m = 3;
        o.width = 34;
        return cr_group_attend(g, x, x, x, NULL, &o);
    }
    case 2: /* one group of keys, no softmax */
        return cr_group_attend(g, cr_feed(g, 36), cr_feed(g, 24), cr_feed(g, 40), NULL, &o);
    case 3: /* one group of queries */
        return cr_group_attend(g, cr_feed(g, 18), cr_feed(g, 48), cr_feed(g, 16), cr_feed(g, 8),
                               &o);
    default: return NULL;
    }
}

const cr_op_type cr_op_group_attend = {.name = "group_attend",
                                       .infer = infer,
                                       .forward = forward,
                                       .backward = backward,
                                       .example = example,
                                       .reads_in = true};

cr_node *cr_group_attend(cr_graph *g, cr_node *q, cr_node *k, cr_node *v, cr_node *b,
                         const cr_group_attend_opts *o) {
    attend a = {.o = *o};
    return cr_graph_op(g, &cr_op_group_attend, (cr_node *[]){q, k, v, b}, b ? 4 : 3, &a, sizeof(a));
}
