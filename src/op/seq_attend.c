/*
 * seq_attend.c - multi-head attention to the positions of a row: for each query the values of the
 * positions, weighted by the softmax of scale * q . k.
 *
 * The queries are the positions of the same row (then each attends to all) or one per row. One more
 * key and value of the row itself may stand behind the positions, so that a target takes part in
 * the attention of its history without being written into it. A row without keys gives zeros.
 * Positions may have numbers: then a position attends to those around it with the same number, a
 * run of them such as a session, and to no others.
 *
 * Keys are taken in blocks, so that a row may have any number of them. Weights are not kept:
 * backward makes them again, and gets the softmax's own term from dy . y. Dropout acts on the
 * weights, with a mask drawn from (seed, step, node, row, head, query, block).
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

#define BLOCK 128

typedef struct att {
    int64_t H, d;
    float scale, p;
    uint64_t key;
} att;

enum { IN_Q, IN_K, IN_V, IN_K0, IN_V0, IN_RUNS = IN_K0 };

static void infer(cr_node *n) {
    const att *a = n->attr;
    const cr_node *q = n->in[IN_Q], *k = n->in[IN_K], *v = n->in[IN_V];
    bool same = q->cls == CR_ROW || (q->cls == CR_SEQ && q->axis == k->axis);
    if (!same || k->cls != CR_SEQ || v->cls != CR_SEQ || v->axis != k->axis ||
        q->width != a->H * a->d || k->width != q->width || v->width != q->width)
        CR_BUG("seq_attend: sequences do not fit");
    if (n->n_in == 5 && (n->in[IN_K0]->cls != CR_ROW || n->in[IN_K0]->width != q->width ||
                         n->in[IN_V0]->cls != CR_ROW || n->in[IN_V0]->width != q->width))
        CR_BUG("seq_attend: the key of the row does not fit");
    if (n->n_in == 4 && (q->cls != CR_SEQ || n->in[IN_RUNS]->cls != CR_SEQ ||
                         n->in[IN_RUNS]->axis != k->axis || n->in[IN_RUNS]->width != 1))
        CR_BUG("seq_attend: no number per position");
    n->cls = q->cls;
    if (q->cls == CR_SEQ) n->axis = q->axis;
    n->width = q->width;
}

/* One row: where its keys begin; the last of n is the row's own when there is one. */
typedef struct keys {
    const float *k, *v, *k0, *v0; /* k0 NULL: none */
    float *dk, *dv, *dk0, *dv0;   /* slopes; NULL: not wanted */
    int64_t ldk, ldv, n;
    uint64_t drop; /* key of the row's draws; 0: no dropout */
} keys;

static const float *at(const float *v, const float *own, int64_t ld, int64_t j, int64_t n) {
    return own && j == n - 1 ? own : v + j * ld;
}

/* Scores of the keys [j0, j0 + nj) of one head, which begins at column c. */
static void scores(const att *a, const keys *s, const float *q, int64_t c, int64_t j0, int64_t nj,
                   float *out) {
    for (int64_t j = 0; j < nj; j++)
        out[j] = a->scale * cr_kern->dot(q + c, at(s->k, s->k0, s->ldk, j0 + j, s->n) + c, a->d);
}

static int64_t block(int64_t n, int64_t from) {
    return n - from < BLOCK ? n - from : BLOCK;
}

/* Finds the largest score of a query and the sum of exp(score - largest). */
static void survey(const att *a, const keys *s, const float *q, int64_t c, float *most,
                   float *sum) {
    float x[BLOCK];
    *most = -INFINITY;
    *sum = 0;
    for (int64_t j0 = 0; j0 < s->n; j0 += BLOCK) {
        int64_t nj = block(s->n, j0);
        float before = *most;
        scores(a, s, q, c, j0, nj, x);
        for (int64_t j = 0; j < nj; j++)
            *most = x[j] > *most ? x[j] : *most;
        for (int64_t j = 0; j < nj; j++)
            x[j] -= *most;
        cr_kern->exp(x, x, nj);
        if (j0 > 0) {
            float shrink = before - *most;
            cr_kern->exp(&shrink, &shrink, 1);
            *sum *= shrink;
        }
        *sum += cr_kern->sum(x, nj);
    }
}

/* Weights of a block of keys; keep receives what dropout multiplies them with (1: no dropout). */
static void weights(const att *a, const keys *s, const float *q, int64_t c, uint64_t query,
                    int64_t j0, int64_t nj, float most, float sum, float *x, float *keep) {
    scores(a, s, q, c, j0, nj, x);
    for (int64_t j = 0; j < nj; j++) {
        x[j] -= most;
        keep[j] = 1;
    }
    cr_kern->exp(x, x, nj);
    cr_kern->scale(x, 1 / sum, x, nj);
    if (!s->drop) return;
    uint16_t rnd[BLOCK];
    uint64_t key = cr_rng_sub(cr_rng_sub(s->drop, query), (uint64_t)(c / a->d));
    cr_kern->draw16(rnd, cr_rng_sub(key, (uint64_t)j0), nj);
    cr_kern->drop(keep, keep, rnd, (uint32_t)((double)a->p * 65536.0 + 0.5), 1 / (1 - a->p), nj,
                  false);
}

static keys keys_of(const cr_node *n, const cr_tile *t, int64_t r) {
    const att *a = n->attr;
    const cr_node *k = n->in[IN_K], *v = n->in[IN_V];
    const int32_t *off = cr_seq_off(t, k->axis);
    int64_t from = off[r] - off[0];
    keys s = {.k = cr_val(t, k) + from * cr_ld(k),
              .v = cr_val(t, v) + from * cr_ld(v),
              .ldk = cr_ld(k),
              .ldv = cr_ld(v),
              .n = off[r + 1] - off[r]};
    if (n->n_in == 5) {
        s.k0 = cr_val(t, n->in[IN_K0]) + r * cr_ld(n->in[IN_K0]);
        s.v0 = cr_val(t, n->in[IN_V0]) + r * cr_ld(n->in[IN_V0]);
        s.n++;
    }
    if (a->p > 0 && t->train) {
        uint64_t now = cr_rng_sub(a->key, (uint64_t)cr_tile_step(t));
        s.drop = cr_rng_sub(now, (uint64_t)(cr_global_row(t) + r)) | 1;
    }
    return s;
}

/* Finds the queries of row r: [*from, returned) among those of the tile. */
static int64_t queries(const cr_node *n, const cr_tile *t, int64_t r, int64_t *from) {
    *from = r;
    if (n->cls == CR_ROW) return r + 1;
    const int32_t *off = cr_seq_off(t, n->axis);
    *from = off[r] - off[0];
    return off[r + 1] - off[0];
}

/* The keys of the queries from position i on that have the same ones: those of their run, among the
 * keys `all` of a row whose positions are [from, end). *stop: where other queries begin. */
static keys run_of(const cr_node *n, const cr_tile *t, const keys *all, int64_t from, int64_t i,
                   int64_t end, int64_t *stop) {
    keys s = *all;
    *stop = end;
    if (n->n_in != 4) return s;
    const float *x = cr_val(t, n->in[IN_RUNS]);
    int64_t ld = cr_ld(n->in[IN_RUNS]), j = i + 1;
    while (j < end && x[j * ld] == x[i * ld])
        j++;
    *stop = j;
    s.n = j - i;
    s.k += (i - from) * s.ldk;
    s.v += (i - from) * s.ldv;
    if (s.dk) s.dk += (i - from) * s.ldk;
    if (s.dv) s.dv += (i - from) * s.ldv;
    return s;
}

static void forward(const cr_node *n, cr_tile *t) {
    const att *a = n->attr;
    const cr_node *q = n->in[IN_Q];
    float x[BLOCK], keep[BLOCK], most, sum;
    for (int64_t r = 0, i; r < t->n_rows; r++) {
        keys all = keys_of(n, t, r), s = all;
        int64_t end = queries(n, t, r, &i), from = i, stop = i;
        for (uint64_t query = 0; i < end; i++, query++) {
            if (i == stop) s = run_of(n, t, &all, from, i, end, &stop);
            float *y = cr_val(t, n) + i * cr_ld(n);
            const float *qi = cr_val(t, q) + i * cr_ld(q);
            memset(y, 0, (size_t)n->width * sizeof(float));
            for (int64_t c = 0; s.n && c < n->width; c += a->d) {
                survey(a, &s, qi, c, &most, &sum);
                for (int64_t j0 = 0; j0 < s.n; j0 += BLOCK) {
                    int64_t nj = block(s.n, j0);
                    weights(a, &s, qi, c, query, j0, nj, most, sum, x, keep);
                    for (int64_t j = 0; j < nj; j++)
                        cr_kern->axpy(y + c, x[j] * keep[j], at(s.v, s.v0, s.ldv, j0 + j, s.n) + c,
                                      a->d);
                }
            }
        }
    }
}

/* One query and one head. */
static void back_head(const att *a, const keys *s, const float *q, const float *y, const float *dy,
                      float *dq, int64_t c, uint64_t query) {
    float x[BLOCK], keep[BLOCK], most, sum, own = cr_kern->dot(dy + c, y + c, a->d);
    survey(a, s, q, c, &most, &sum);
    for (int64_t j0 = 0; j0 < s->n; j0 += BLOCK) {
        int64_t nj = block(s->n, j0);
        weights(a, s, q, c, query, j0, nj, most, sum, x, keep);
        for (int64_t j = 0; j < nj; j++) {
            bool last = s->k0 && j0 + j == s->n - 1;
            const float *k = at(s->k, s->k0, s->ldk, j0 + j, s->n) + c;
            const float *v = at(s->v, s->v0, s->ldv, j0 + j, s->n) + c;
            float *dk = last ? s->dk0 : s->dk ? s->dk + (j0 + j) * s->ldk : NULL;
            float *dv = last ? s->dv0 : s->dv ? s->dv + (j0 + j) * s->ldv : NULL;
            float slope = a->scale * x[j] * (keep[j] * cr_kern->dot(dy + c, v, a->d) - own);
            if (dv) cr_kern->axpy(dv + c, x[j] * keep[j], dy + c, a->d);
            if (dk) cr_kern->axpy(dk + c, slope, q + c, a->d);
            if (dq) cr_kern->axpy(dq + c, slope, k, a->d);
        }
    }
}

static float *cleared(const cr_node *n, const cr_tile *t, int i) {
    if (i >= n->n_in || !cr_wants_grad(t, n, i)) return NULL;
    float *d = cr_grad(t, n->in[i]);
    if (cr_first_grad(t, n, i))
        memset(d, 0, (size_t)(cr_rows(t, n->in[i]) * cr_ld(n->in[i])) * sizeof(float));
    return d;
}

static void backward(const cr_node *n, cr_tile *t) {
    const att *a = n->attr;
    const cr_node *q = n->in[IN_Q];
    float *d[5];
    bool own = n->n_in == 5; /* input 3 is a key, and no number */
    for (int i = 0; i < 5; i++)
        d[i] = i < IN_K0 || own ? cleared(n, t, i) : NULL;
    const int32_t *off = cr_seq_off(t, n->in[IN_K]->axis);
    for (int64_t r = 0, i; r < t->n_rows; r++) {
        keys all = keys_of(n, t, r), s;
        int64_t from = off[r] - off[0], end = queries(n, t, r, &i), stop = i;
        if (d[IN_K]) all.dk = d[IN_K] + from * all.ldk;
        if (d[IN_V]) all.dv = d[IN_V] + from * all.ldv;
        if (d[IN_K0]) all.dk0 = d[IN_K0] + r * cr_ld(n->in[IN_K0]);
        if (d[IN_V0]) all.dv0 = d[IN_V0] + r * cr_ld(n->in[IN_V0]);
        s = all;
        for (uint64_t query = 0; i < end; i++, query++) {
            if (i == stop) s = run_of(n, t, &all, from, i, end, &stop);
            for (int64_t c = 0; s.n && c < n->width; c += a->d)
                back_head(a, &s, cr_val(t, q) + i * cr_ld(q), cr_val(t, n) + i * cr_ld(n),
                          cr_grad(t, n) + i * cr_ld(n), d[IN_Q] ? d[IN_Q] + i * cr_ld(q) : NULL, c,
                          query);
        }
    }
}

static cr_node *example(cr_graph *g, int k) {
    static const int64_t H[] = {1, 2, 3, 2, 2, 1}, d[] = {3, 4, 17, 5, 3, 17};
    if (k > 5) return NULL;
    int axis = cr_graph_axis(g);
    int64_t w = H[k] * d[k];
    if (k > 3)
        return cr_seq_attend_runs(g, cr_feed_seq(g, axis, w), cr_feed_seq(g, axis, w),
                                  cr_feed_seq(g, axis, w), cr_example_numbers(g, axis, 3), H[k],
                                  0.7f, k > 4 ? 0.3f : 0);
    cr_node *q = k == 2 ? cr_feed(g, w) : cr_feed_seq(g, axis, w), *key = cr_feed_seq(g, axis, w);
    cr_node *own = k ? cr_feed(g, w) : NULL, *value = k == 1 ? key : cr_feed_seq(g, axis, w);
    return cr_seq_attend(g, q, key, value, own,
                         k == 1 ? own
                         : own  ? cr_feed(g, w)
                                : NULL,
                         H[k], 0.7f, k == 3 ? 0.3f : 0);
}

const cr_op_type cr_op_seq_attend = {.name = "seq_attend",
                                     .infer = infer,
                                     .forward = forward,
                                     .backward = backward,
                                     .example = example,
                                     .keep_val = true,
                                     .reads_in = true,
                                     .seq = true};

static cr_node *attend(cr_graph *g, cr_node *const *in, int n, int64_t H, float scale, float p) {
    att a = {.H = H,
             .d = in[IN_Q]->width / H,
             .scale = scale,
             .p = p,
             .key = cr_rng_sub(cr_rng_key(g->seed, "attend", NULL), (uint64_t)g->n)};
    return cr_graph_op(g, &cr_op_seq_attend, in, n, &a, sizeof(a));
}

cr_node *cr_seq_attend(cr_graph *g, cr_node *q, cr_node *k, cr_node *v, cr_node *k0, cr_node *v0,
                       int64_t H, float scale, float p) {
    return attend(g, (cr_node *[]){q, k, v, k0, v0}, k0 ? 5 : 3, H, scale, p);
}

cr_node *cr_seq_attend_runs(cr_graph *g, cr_node *q, cr_node *k, cr_node *v, cr_node *runs,
                            int64_t H, float scale, float p) {
    return attend(g, (cr_node *[]){q, k, v, runs}, 4, H, scale, p);
}
