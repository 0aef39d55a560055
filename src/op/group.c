/*
 * group.c - vectors of a row in groups: the words of several texts, for example. A row is G groups
 * of n vectors of D numbers.
 *
 * group_near: each vector with its neighbours side by side, and zeros outside of the group.
 * group_pool: one vector per group, y = sum_i a_i x_i, where a is the softmax of the scores of the
 * group. With H heads, each has its own scores and its own D / H columns of x. A vector whose mask
 * is 0 takes no part, and a group without any other gives zeros. It also
 * works on each position of a sequence.
 * group_spread: a vector per group, at each of its n places.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

static float *cleared(const cr_node *n, const cr_tile *t, int i) {
    if (!cr_wants_grad(t, n, i)) return NULL;
    const cr_node *x = n->in[i];
    if (cr_first_grad(t, n, i))
        memset(cr_grad(t, x), 0, (size_t)(cr_rows(t, x) * cr_ld(x)) * sizeof(float));
    return cr_grad(t, x);
}

/* ---- near ---- */

typedef struct near {
    int64_t n, D, first, k; /* neighbours from `first` to first + k - 1 away */
} near;

static void near_infer(cr_node *n) {
    const near *a = n->attr;
    if (n->in[0]->width % (a->n * a->D) != 0) CR_BUG("group_near: no whole number of groups");
    n->cls = CR_ROW;
    n->width = n->in[0]->width * a->k;
}

static void near_forward(const cr_node *n, cr_tile *t) {
    const near *a = n->attr;
    int64_t F = n->in[0]->width / a->D;
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, n->in[0]) + r * cr_ld(n->in[0]);
        float *y = cr_val(t, n) + r * cr_ld(n);
        for (int64_t i = 0; i < F; i++)
            for (int64_t k = 0, q = i % a->n + a->first; k < a->k; k++, q++, y += a->D) {
                if (q >= 0 && q < a->n)
                    memcpy(y, x + (i - i % a->n + q) * a->D, (size_t)a->D * sizeof(float));
                else
                    memset(y, 0, (size_t)a->D * sizeof(float));
            }
    }
}

static void near_backward(const cr_node *n, cr_tile *t) {
    const near *a = n->attr;
    int64_t F = n->in[0]->width / a->D;
    float *all = cleared(n, t, 0);
    for (int64_t r = 0; all && r < t->n_rows; r++) {
        float *dx = all + r * cr_ld(n->in[0]);
        const float *dy = cr_grad(t, n) + r * cr_ld(n);
        for (int64_t i = 0; i < F; i++)
            for (int64_t k = 0, q = i % a->n + a->first; k < a->k; k++, q++, dy += a->D)
                if (q >= 0 && q < a->n) cr_kern->axpy(dx + (i - i % a->n + q) * a->D, 1, dy, a->D);
    }
}

static cr_node *near_example(cr_graph *g, int k) {
    switch (k) {
    case 0: return cr_group_near(g, cr_feed(g, 2 * 3 * 2), 3, 2, -1, 3);
    case 1: {
        cr_node *x = cr_feed(g, 5 * 17);
        return cr_concat(g, (cr_node *[]){cr_group_near(g, x, 5, 17, 0, 2), x}, 2);
    }
    default: return NULL;
    }
}

const cr_op_type cr_op_group_near = {.name = "group_near",
                                     .infer = near_infer,
                                     .forward = near_forward,
                                     .backward = near_backward,
                                     .example = near_example};

cr_node *cr_group_near(cr_graph *g, cr_node *x, int64_t n, int64_t D, int64_t first, int64_t k) {
    near a = {n, D, first, k};
    return cr_graph_op(g, &cr_op_group_near, &x, 1, &a, sizeof(a));
}

/* ---- pool ---- */

typedef struct pool {
    int64_t n, H, D; /* D: of a vector */
} pool;

enum { IN_S, IN_X, IN_MASK };

static void pool_infer(cr_node *n) {
    const pool *a = n->attr;
    int64_t F = n->in[IN_X]->width / a->D;
    if (n->in[IN_S]->width != F * a->H || n->in[IN_X]->width != F * a->D || F % a->n != 0 ||
        a->D % a->H != 0 || (n->n_in > IN_MASK && n->in[IN_MASK]->width != F))
        CR_BUG("group_pool: shapes do not fit");
    cr_infer_rows(n);
    n->width = F / a->n * a->D;
}

/* One head of one group: its scores (H apart), the mask (NULL: all take part), the largest score
 * and the sum of the exponentials, which is 0 where none takes part. */
typedef struct part {
    const float *s, *mask;
    int64_t n, H;
    float most, sum;
} part;

static void start_part(part *p) {
    p->most = -INFINITY;
    p->sum = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (!p->mask || p->mask[i] != 0) p->most = fmaxf(p->most, p->s[i * p->H]);
    for (int64_t i = 0; i < p->n; i++)
        if (!p->mask || p->mask[i] != 0) p->sum += expf(p->s[i * p->H] - p->most);
}

static float share(const part *p, int64_t i) {
    if (p->sum == 0 || (p->mask && p->mask[i] == 0)) return 0;
    return expf(p->s[i * p->H] - p->most) / p->sum;
}

/* The part of group k and head h of row r. */
static part part_of(const cr_node *n, const cr_tile *t, int64_t r, int64_t k, int64_t h) {
    const pool *a = n->attr;
    part p = {.s = cr_val(t, n->in[IN_S]) + r * cr_ld(n->in[IN_S]) + k * a->n * a->H + h,
              .n = a->n,
              .H = a->H};
    if (n->n_in > IN_MASK)
        p.mask = cr_val(t, n->in[IN_MASK]) + r * cr_ld(n->in[IN_MASK]) + k * a->n;
    start_part(&p);
    return p;
}

static void pool_forward(const cr_node *n, cr_tile *t) {
    const pool *a = n->attr;
    int64_t G = n->width / a->D, d = a->D / a->H;
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t k = 0; k < G; k++)
            for (int64_t h = 0; h < a->H; h++) {
                part p = part_of(n, t, r, k, h);
                const float *x =
                    cr_val(t, n->in[IN_X]) + r * cr_ld(n->in[IN_X]) + k * a->n * a->D + h * d;
                float *y = cr_val(t, n) + r * cr_ld(n) + k * a->D + h * d;
                memset(y, 0, (size_t)d * sizeof(float));
                for (int64_t i = 0; i < a->n; i++)
                    cr_kern->axpy(y, share(&p, i), x + i * a->D, d);
            }
}

/* da_i = a_i (dy . x_i - dy . y), dx_i = a_i dy */
static void pool_backward(const cr_node *n, cr_tile *t) {
    const pool *a = n->attr;
    int64_t G = n->width / a->D, d = a->D / a->H;
    float *ds = cleared(n, t, IN_S), *dx = cleared(n, t, IN_X);
    if (n->n_in > IN_MASK) (void)cleared(n, t, IN_MASK); /* no score depends on its size */
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t k = 0; k < G; k++)
            for (int64_t h = 0; h < a->H; h++) {
                part p = part_of(n, t, r, k, h);
                int64_t at = r * cr_ld(n) + k * a->D + h * d;
                const float *dy = cr_grad(t, n) + at, *y = cr_val(t, n) + at;
                float mean = cr_kern->dot(dy, y, d);
                int64_t from = r * cr_ld(n->in[IN_X]) + k * a->n * a->D + h * d;
                const float *x = cr_val(t, n->in[IN_X]) + from;
                for (int64_t i = 0; i < a->n; i++) {
                    float w = share(&p, i);
                    if (dx) cr_kern->axpy(dx + from + i * a->D, w, dy, d);
                    if (ds)
                        ds[r * cr_ld(n->in[IN_S]) + (k * a->n + i) * a->H + h] +=
                            w * (cr_kern->dot(dy, x + i * a->D, d) - mean);
                }
            }
}

static cr_node *pool_example(cr_graph *g, int k) {
    switch (k) {
    case 0: return cr_group_pool(g, cr_feed(g, 6), cr_feed(g, 24), NULL, 3, 1, 4);
    case 1: {
        /* a mask of zeros and ones: the largest two of six */
        cr_node *mask = cr_top(g, cr_feed(g, 6), 2);
        return cr_group_pool(g, cr_feed(g, 6 * 2), cr_feed(g, 6 * 34), mask, 3, 2, 34);
    }
    case 2: {
        cr_node *x = cr_feed(g, 8);
        return cr_concat(g, (cr_node *[]){cr_group_pool(g, x, x, NULL, 4, 2, 2), x}, 2);
    }
    case 3: { /* a mask that wants a gradient, which is 0 */
        cr_node *mask = cr_mul(g, cr_feed(g, 6), cr_feed(g, 6));
        return cr_row_sum(g, cr_group_pool(g, cr_feed(g, 6), cr_feed(g, 24), mask, 3, 1, 4));
    }
    case 4: { /* each step of a sequence has its groups */
        int axis = cr_graph_axis(g);
        return cr_group_pool(g, cr_feed_seq(g, axis, 6), cr_feed_seq(g, axis, 24), NULL, 3, 1, 4);
    }
    default: return NULL;
    }
}

const cr_op_type cr_op_group_pool = {.name = "group_pool",
                                     .infer = pool_infer,
                                     .forward = pool_forward,
                                     .backward = pool_backward,
                                     .example = pool_example,
                                     .seq = true,
                                     .keep_val = true,
                                     .reads_in = true};

cr_node *cr_group_pool(cr_graph *g, cr_node *s, cr_node *x, cr_node *mask, int64_t n, int64_t H,
                       int64_t D) {
    pool a = {n, H, D};
    cr_node *in[] = {s, x, mask};
    return cr_graph_op(g, &cr_op_group_pool, in, mask ? 3 : 2, &a, sizeof(a));
}

/* ---- spread ---- */

typedef struct spread {
    int64_t n, D;
} spread;

static void spread_infer(cr_node *n) {
    const spread *a = n->attr;
    if (n->in[0]->width % a->D != 0) CR_BUG("group_spread: no whole number of vectors");
    n->cls = CR_ROW;
    n->width = n->in[0]->width * a->n;
}

static void spread_forward(const cr_node *n, cr_tile *t) {
    const spread *a = n->attr;
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, n->in[0]) + r * cr_ld(n->in[0]);
        float *y = cr_val(t, n) + r * cr_ld(n);
        for (int64_t i = 0; i < n->width / a->D; i++)
            memcpy(y + i * a->D, x + i / a->n * a->D, (size_t)a->D * sizeof(float));
    }
}

static void spread_backward(const cr_node *n, cr_tile *t) {
    const spread *a = n->attr;
    float *all = cleared(n, t, 0);
    for (int64_t r = 0; all && r < t->n_rows; r++)
        for (int64_t i = 0; i < n->width / a->D; i++)
            cr_kern->axpy(all + r * cr_ld(n->in[0]) + i / a->n * a->D, 1,
                          cr_grad(t, n) + r * cr_ld(n) + i * a->D, a->D);
}

static cr_node *spread_example(cr_graph *g, int k) {
    return k > 1 ? NULL : cr_group_spread(g, cr_feed(g, k ? 34 : 3), k ? 2 : 4, k ? 17 : 3);
}

const cr_op_type cr_op_group_spread = {.name = "group_spread",
                                       .infer = spread_infer,
                                       .forward = spread_forward,
                                       .backward = spread_backward,
                                       .example = spread_example};

cr_node *cr_group_spread(cr_graph *g, cr_node *x, int64_t n, int64_t D) {
    spread a = {n, D};
    return cr_graph_op(g, &cr_op_group_spread, &x, 1, &a, sizeof(a));
}
