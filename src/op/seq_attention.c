/*
 * seq_attention.c - multi-head self-attention over the positions of a row, summed over them.
 *
 * Per head A = softmax over j of scale * q_i . k_j. Only the sum over i of A v is wanted, and v is
 * a linear map of s; so with a_j = sum over i of A_ij the op gives sum_j a_j s_j and sum_j a_j for
 * each head, and the map is applied once per row (cr_fold_heads) instead of once per position. All
 * of it is divided by the row's number of steps, which includes steps behind the last one read.
 *
 * A is made in blocks of at most BLOCK x BLOCK. Usually a row has so few positions that one block
 * is enough; else a first pass over the keys finds the rows' maxima and sums. A is not kept but
 * made again in backward. Dropout acts on A, with a mask drawn from (seed, step, node, position,
 * head, key), which is drawn again too.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

#define BLOCK 128

typedef struct att {
    int64_t H, d, C;
    int all; /* the axis that has all steps */
    float scale, p;
    uint64_t key;
    /* offsets into the scratch: the gradient of A (A comes first), a packed side, the work space of
     * gemm_tn */
    int64_t g_off, pack_off, tn_off;
} att;

enum { IN_Q, IN_K, IN_S };

static void infer(cr_node *n) {
    att *a = n->attr;
    const cr_node *q = n->in[IN_Q], *k = n->in[IN_K], *s = n->in[IN_S];
    if (q->cls != CR_SEQ || q->width != a->H * a->d || k->width != q->width || k->axis != q->axis ||
        s->axis != q->axis)
        CR_BUG("seq_attention: sequences do not fit");
    a->C = s->width;
    n->cls = CR_ROW;
    n->width = a->H * (a->C + 1) + 1;
    int64_t p = cr_gemm_pack_size(a->d, BLOCK), r = cr_gemm_pack_size(BLOCK, a->d);
    a->g_off = BLOCK * BLOCK;
    a->pack_off = 2 * a->g_off;
    a->tn_off = a->pack_off + cr_up16(p > r ? p : r);
    n->scratch = a->tn_off + cr_gemm_tn_scratch(BLOCK, a->d, BLOCK);
}

/* One head of one row. Rows of q, k and s, and of their gradients, are ldq, ldk and lds apart. */
typedef struct one {
    const att *a;
    const float *q, *k, *s;
    int64_t ldq, ldk, lds;
    int64_t n;     /* positions */
    uint64_t drop; /* key of the head's draws; 0: no dropout */
    float *S, *G, *pack, *tn;
    float most[BLOCK], sum[BLOCK]; /* of the block's rows: the largest score, the sum of exp */
} one;

static int64_t block(int64_t n, int64_t from) {
    return n - from < BLOCK ? n - from : BLOCK;
}

/* S = q_i . k_j for the block's i and j. */
static void products(one *o, int64_t i0, int64_t ni, int64_t j0, int64_t nj) {
    cr_gemm_pack(o->pack, o->k + j0 * o->ldk, o->ldk, true, o->a->d, nj);
    cr_kern->gemm(o->S, nj, o->q + i0 * o->ldq, o->ldq, o->pack, ni, nj, o->a->d, 0, NULL);
}

/* S = scale * q_i . k_j. */
static void scores(one *o, int64_t i0, int64_t ni, int64_t j0, int64_t nj) {
    products(o, i0, ni, j0, nj);
    cr_kern->scale(o->S, o->a->scale, o->S, ni * nj);
}

/* S = exp(S - most) for the block; also adds up the sums. */
static void powers(one *o, int64_t ni, int64_t nj, bool add) {
    for (int64_t i = 0; i < ni; i++)
        for (int64_t j = 0; j < nj; j++)
            o->S[i * nj + j] -= o->most[i];
    cr_kern->exp(o->S, o->S, ni * nj);
    for (int64_t i = 0; add && i < ni; i++)
        o->sum[i] += cr_kern->sum(o->S + i * nj, nj);
}

/* Finds the largest scores and the sums of the queries [i0, i0 + ni) over all keys, when these are
 * more than one block. */
static void survey(one *o, int64_t i0, int64_t ni) {
    if (o->n <= BLOCK) return;
    for (int64_t i = 0; i < ni; i++) {
        o->most[i] = -INFINITY;
        o->sum[i] = 0;
    }
    for (int64_t j0 = 0; j0 < o->n; j0 += BLOCK) {
        int64_t nj = block(o->n, j0);
        scores(o, i0, ni, j0, nj);
        for (int64_t i = 0; i < ni; i++) {
            float most = o->most[i];
            for (int64_t j = 0; j < nj; j++)
                most = o->S[i * nj + j] > most ? o->S[i * nj + j] : most;
            if (j0 > 0) {
                float shrink = o->most[i] - most;
                cr_kern->exp(&shrink, &shrink, 1);
                o->sum[i] *= shrink;
            }
            o->most[i] = most;
        }
        powers(o, ni, nj, true);
    }
}

/* Computes the block's weights A into S; called after survey. */
static void weights(one *o, int64_t i0, int64_t ni, int64_t j0, int64_t nj) {
    if (o->n <= BLOCK) {
        products(o, i0, ni, j0, nj);
        cr_kern->softmax(o->S, o->a->scale, ni, nj);
        return;
    }
    scores(o, i0, ni, j0, nj);
    powers(o, ni, nj, false);
    for (int64_t i = 0; i < ni; i++)
        cr_kern->scale(o->S + i * nj, 1.0f / o->sum[i], o->S + i * nj, nj);
}

/* X = A after dropout. Each row draws separately for each block of keys. */
static void mask(const one *o, float *X, int64_t i0, int64_t ni, int64_t j0, int64_t nj) {
    uint32_t limit = (uint32_t)((double)o->a->p * 65536.0 + 0.5);
    float scale = 1.0f / (1.0f - o->a->p);
    uint16_t rnd[BLOCK];
    for (int64_t i = 0; i < ni; i++, X += nj) {
        uint64_t key = cr_rng_sub(cr_rng_sub(o->drop, (uint64_t)(i0 + i)), (uint64_t)j0);
        cr_kern->draw16(rnd, key, nj);
        cr_kern->drop(X, X, rnd, limit, scale, nj, false);
    }
}

static one head_of(const cr_node *n, const cr_tile *t, int64_t r, int64_t h) {
    const att *a = n->attr;
    const cr_node *q = n->in[IN_Q], *k = n->in[IN_K], *s = n->in[IN_S];
    const int32_t *off = cr_seq_off(t, q->axis);
    int64_t from = off[r] - off[0];
    one o = {.a = a,
             .q = cr_val(t, q) + from * cr_ld(q) + h * a->d,
             .k = cr_val(t, k) + from * cr_ld(k) + h * a->d,
             .s = cr_val(t, s) + from * cr_ld(s),
             .ldq = cr_ld(q),
             .ldk = cr_ld(k),
             .lds = cr_ld(s),
             .n = off[r + 1] - off[r],
             .S = t->scratch,
             .G = t->scratch + a->g_off,
             .pack = t->scratch + a->pack_off,
             .tn = t->scratch + a->tn_off};
    if (a->p > 0 && t->train) {
        uint64_t step = cr_rng_sub(a->key, (uint64_t)cr_tile_step(t));
        o.drop = cr_rng_sub(cr_rng_sub(step, (uint64_t)(cr_global_row(t) + r)), (uint64_t)h) | 1;
    }
    return o;
}

/* Returns 1 / the row's number of steps. */
static float share(const cr_node *n, const cr_tile *t, int64_t r) {
    const int32_t *off = cr_seq_off(t, ((const att *)n->attr)->all);
    return off[r + 1] > off[r] ? 1.0f / (float)(off[r + 1] - off[r]) : 0;
}

static void forward(const cr_node *n, cr_tile *t) {
    const att *a = n->attr;
    int64_t C1 = a->C + 1;
    float sums[BLOCK];
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n), c = share(n, t, r);
        memset(y, 0, (size_t)n->width * sizeof(float));
        for (int64_t h = 0; h < a->H; h++, y += C1) {
            one o = head_of(n, t, r, h);
            for (int64_t i0 = 0; i0 < o.n; i0 += BLOCK) {
                int64_t ni = block(o.n, i0);
                survey(&o, i0, ni);
                for (int64_t j0 = 0; j0 < o.n; j0 += BLOCK) {
                    int64_t nj = block(o.n, j0);
                    weights(&o, i0, ni, j0, nj);
                    if (o.drop) mask(&o, o.S, i0, ni, j0, nj);
                    memset(sums, 0, sizeof(sums));
                    cr_kern->col_sum(sums, o.S, nj, ni, nj);
                    for (int64_t j = 0; j < nj; j++) {
                        cr_kern->axpy(y, c * sums[j], o.s + (j0 + j) * o.lds, a->C);
                        y[a->C] += c * sums[j];
                    }
                }
            }
            if (h == 0) y[n->width - 1] = c * (float)o.n;
        }
    }
}

/* Where the gradients of a head go; NULL: not wanted. */
typedef struct slopes {
    float *q, *k, *s;
    const float *dy; /* the gradient of the head's output, already divided by the row's steps */
} slopes;

/* Computes the gradient of A's column sums at the keys [j0, j0 + nj): dy . [s_j; 1]. */
static void sum_slopes(const one *o, const slopes *g, int64_t j0, int64_t nj, float *out) {
    for (int64_t j = 0; j < nj; j++)
        out[j] = cr_kern->dot(g->dy, o->s + (j0 + j) * o->lds, o->a->C) + g->dy[o->a->C];
}

/* S holds A of the block; this leaves A after dropout in G. */
static void masked(one *o, int64_t i0, int64_t ni, int64_t j0, int64_t nj) {
    memcpy(o->G, o->S, (size_t)(ni * nj) * sizeof(float));
    if (o->drop) mask(o, o->G, i0, ni, j0, nj);
}

/* Adds the gradient of s; X is A of the block after dropout. */
static void back_s(const one *o, const slopes *g, const float *X, int64_t ni, int64_t j0,
                   int64_t nj) {
    if (!g->s) return;
    float sums[BLOCK] = {0};
    cr_kern->col_sum(sums, X, nj, ni, nj);
    for (int64_t j = 0; j < nj; j++)
        cr_kern->axpy(g->s + (j0 + j) * o->lds, sums[j], g->dy, o->a->C);
}

/* Adds the gradients of q and k; G is the gradient of the block's q_i . k_j. */
static void back_qk(one *o, const slopes *g, int64_t i0, int64_t ni, int64_t j0, int64_t nj) {
    int64_t d = o->a->d;
    if (g->q) {
        cr_gemm_pack(o->pack, o->k + j0 * o->ldk, o->ldk, false, nj, d);
        cr_kern->gemm(g->q + i0 * o->ldq, o->ldq, o->G, nj, o->pack, ni, d, nj, CR_GEMM_ACC, NULL);
    }
    if (g->k)
        cr_kern->gemm_tn(g->k + j0 * o->ldk, o->ldk, o->G, nj, o->q + i0 * o->ldq, o->ldq, nj, d,
                         ni, CR_GEMM_ACC, o->tn);
}

static void back_block(one *o, const slopes *g, const float *da, const float *mean, int64_t i0,
                       int64_t ni, int64_t j0, int64_t nj) {
    back_s(o, g, o->G, ni, j0, nj);
    if (!g->q && !g->k) return;
    for (int64_t i = 0; i < ni; i++) {
        float *x = o->G + i * nj;
        const float *A = o->S + i * nj;
        for (int64_t j = 0; j < nj; j++)
            x[j] = o->a->scale * (x[j] * da[j] - A[j] * mean[i]);
    }
    back_qk(o, g, i0, ni, j0, nj);
}

/* Backward in the usual case: one block, no dropout. */
static void back_single(one *o, const slopes *g) {
    float da[BLOCK];
    int64_t n = o->n;
    weights(o, 0, n, 0, n);
    sum_slopes(o, g, 0, n, da);
    back_s(o, g, o->S, n, 0, n);
    if (!g->q && !g->k) return;
    cr_kern->softmax_bwd(o->G, o->S, da, 0, o->a->scale, n, n);
    back_qk(o, g, 0, n, 0, n);
}

static void back_head(one *o, const slopes *g) {
    float da[BLOCK], mean[BLOCK];
    bool single = o->n <= BLOCK;
    if (single && !o->drop) {
        back_single(o, g);
        return;
    }
    for (int64_t i0 = 0; i0 < o->n; i0 += BLOCK) {
        int64_t ni = block(o->n, i0);
        survey(o, i0, ni);
        memset(mean, 0, sizeof(mean));
        for (int pass = single ? 1 : 0; pass < 2; pass++)
            for (int64_t j0 = 0; j0 < o->n; j0 += BLOCK) {
                int64_t nj = block(o->n, j0);
                weights(o, i0, ni, j0, nj);
                masked(o, i0, ni, j0, nj);
                sum_slopes(o, g, j0, nj, da);
                for (int64_t i = 0; (single || pass == 0) && i < ni; i++)
                    mean[i] += cr_kern->dot(o->G + i * nj, da, nj);
                if (pass == 1) back_block(o, g, da, mean, i0, ni, j0, nj);
            }
    }
}

static float *cleared(const cr_node *n, const cr_tile *t, int i) {
    if (!cr_wants_grad(t, n, i)) return NULL;
    float *d = cr_grad(t, n->in[i]);
    if (cr_first_grad(t, n, i))
        memset(d, 0, (size_t)(cr_rows(t, n->in[i]) * cr_ld(n->in[i])) * sizeof(float));
    return d;
}

static void backward(const cr_node *n, cr_tile *t) {
    const att *a = n->attr;
    const cr_node *q = n->in[IN_Q];
    float *dq = cleared(n, t, IN_Q), *dk = cleared(n, t, IN_K), *ds = cleared(n, t, IN_S);
    const int32_t *off = cr_seq_off(t, q->axis);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *dy = cr_grad(t, n) + r * cr_ld(n);
        int64_t from = off[r] - off[0];
        cr_kern->scale(dy, share(n, t, r), dy, n->width);
        for (int64_t h = 0; h < a->H; h++) {
            one o = head_of(n, t, r, h);
            slopes g = {dq ? dq + from * o.ldq + h * a->d : NULL,
                        dk ? dk + from * o.ldk + h * a->d : NULL, ds ? ds + from * o.lds : NULL,
                        dy + h * (a->C + 1)};
            back_head(&o, &g);
        }
    }
}

static cr_node *example(cr_graph *g, int k) {
    if (k > 3) return NULL;
    static const int64_t H[] = {1, 2, 3, 2}, d[] = {3, 4, 17, 5}, C[] = {4, 3, 20, 6};
    int axis = cr_graph_axis(g);
    cr_node *q = cr_feed_seq(g, axis, H[k] * d[k]), *s = cr_feed_seq(g, axis, C[k]);
    cr_node *key = k == 1 ? q : cr_feed_seq(g, axis, H[k] * d[k]);
    return cr_seq_attention(g, q, key, s, H[k], 0.7f, k == 3 ? 0.3f : 0, axis);
}

const cr_op_type cr_op_seq_attention = {.name = "seq_attention",
                                        .infer = infer,
                                        .forward = forward,
                                        .backward = backward,
                                        .example = example,
                                        .reads_in = true,
                                        .seq = true};

cr_node *cr_seq_attention(cr_graph *g, cr_node *q, cr_node *k, cr_node *s, int64_t H, float scale,
                          float p, int all) {
    att a = {.H = H,
             .d = q->width / H,
             .all = all,
             .scale = scale,
             .p = p,
             .key = cr_rng_sub(cr_rng_key(g->seed, "attention", NULL), (uint64_t)g->n)};
    return cr_graph_op(g, &cr_op_seq_attention, (cr_node *[]){q, k, s}, 3, &a, sizeof(a));
}
