/*
 * fold_social.c - the convolution of MHCN (social.h) over all users and items, once per step.
 *
 * Four gates make x_1, x_2, x_3 (one for each channel) and s of the users' vectors P: P * sigmoid(P
 * W + b). In each of L layers
 *     m = attend(x_1, x_2, x_3) + s / 2,   x_c <- H_c x_c,   s <- R i,   i <- R^T m,
 * where i are the items, R the items of users, and attend the sum of the channels weighted by the
 * softmax of x_c . v. What comes out of a layer is added up as vectors of length 1, beside what
 * went in at first: X_c, S, I. The users are attend(X_1, X_2, X_3) + S / 2, the items I.
 *
 * All of it is kept in scratch memory; unfold computes it again and then goes back.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"
#include "op/social.h"

#define C    CR_SOCIAL_CHANNELS
#define TINY 1e-12f /* a shorter vector counts as this long */

enum { IN_P, IN_Q, IN_W, IN_B, IN_V };

typedef struct social {
    const cr_social *s;
    int64_t layers;
} social;

/* Where things are in the scratch memory; level k is what goes into layer k. */
typedef struct space {
    float *x, *s, *i;   /* all levels: (levels, C, users, D), (levels, users, D), (.., items) */
    float *sum, *gates; /* X_c: (C, users, D); the sigmoids of the four gates */
    float *dsum, *dx, *ds, *di; /* gradients */
    float *users, *items;       /* temporary rows */
    float *more;
} space;

/* Cuts the scratch memory; returns how many floats it takes. */
static int64_t cut(space *p, float *at, const social *a, int64_t D) {
    int64_t u = a->s->users * D, i = a->s->items * D, levels = a->layers + 1, n = 0;
    struct {
        float **to;
        int64_t n;
    } parts[] = {{&p->x, levels * C * u}, {&p->s, levels * u}, {&p->i, levels * i},
                 {&p->sum, C * u},        {&p->gates, 4 * u},  {&p->dsum, C * u},
                 {&p->dx, C * u},         {&p->ds, u},         {&p->di, i},
                 {&p->users, C * u},      {&p->items, i},      {&p->more, 0}};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        if (at) *parts[k].to = at + n;
        n += (parts[k].n + 15) / 16 * 16;
    }
    return n;
}

static void infer(cr_node *n) {
    const social *a = n->attr;
    const cr_node *P = n->in[IN_P];
    int64_t D = P->cols;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k]->cls != CR_PARAM) CR_BUG("fold: not a parameter");
    if (P->rows != a->s->users || n->in[IN_Q]->width != a->s->items * D ||
        n->in[IN_W]->width != 4 * D * D || n->in[IN_B]->width != 4 * D || n->in[IN_V]->width != D)
        CR_BUG("fold: sizes do not fit");
    n->cls = CR_PARAM;
    n->rows = a->s->users + a->s->items;
    n->cols = D;
    n->width = n->rows * D;
    n->n_dims = 2;
    space none;
    n->scratch = cut(&none, NULL, a, D) + cr_gate_scratch(P->rows, D);
}

/* ---- attention over the channels; x is (C, n, D) ---- */

static void shares(const float *x, const float *v, int64_t n, int64_t D, int64_t r,
                   float share[C]) {
    float z[C], most = -INFINITY, sum = 0;
    for (int c = 0; c < C; c++) {
        z[c] = cr_kern->dot(x + (c * n + r) * D, v, D);
        most = z[c] > most ? z[c] : most;
    }
    for (int c = 0; c < C; c++)
        sum += share[c] = expf(z[c] - most);
    for (int c = 0; c < C; c++)
        share[c] /= sum;
}

static void attend(float *y, const float *x, const float *v, int64_t n, int64_t D) {
    float share[C];
    for (int64_t r = 0; r < n; r++) {
        shares(x, v, n, D, r, share);
        cr_kern->scale(y + r * D, share[0], x + r * D, D);
        for (int c = 1; c < C; c++)
            cr_kern->axpy(y + r * D, share[c], x + (c * n + r) * D, D);
    }
}

/* Adds to dx, and to dv unless it is NULL. */
static void attend_back(const float *dy, const float *x, const float *v, int64_t n, int64_t D,
                        float *dx, float *dv) {
    float share[C], d[C];
    for (int64_t r = 0; r < n; r++) {
        float mean = 0;
        shares(x, v, n, D, r, share);
        for (int c = 0; c < C; c++) {
            d[c] = cr_kern->dot(dy + r * D, x + (c * n + r) * D, D);
            mean += share[c] * d[c];
        }
        for (int c = 0; c < C; c++) {
            int64_t at = (c * n + r) * D;
            float slope = share[c] * (d[c] - mean);
            cr_kern->axpy(dx + at, share[c], dy + r * D, D);
            cr_kern->axpy(dx + at, slope, v, D);
            if (dv) cr_kern->axpy(dv, slope, x + at, D);
        }
    }
}

/* ---- vectors of length 1 ---- */

static void add_units(float *y, const float *x, int64_t n, int64_t D) {
    for (int64_t r = 0; r < n; r++, x += D, y += D) {
        float len = sqrtf(cr_kern->dot(x, x, D));
        cr_kern->axpy(y, 1 / (len > TINY ? len : TINY), x, D);
    }
}

/* A vector of zeros is one because nothing leads to it, so its slope does not matter. */
static void add_units_back(float *dx, const float *dy, const float *x, int64_t n, int64_t D) {
    for (int64_t r = 0; r < n; r++, x += D, dx += D, dy += D) {
        float len = sqrtf(cr_kern->dot(x, x, D));
        if (!(len > TINY)) continue;
        cr_kern->axpy(dx, 1 / len, dy, D);
        cr_kern->axpy(dx, -cr_kern->dot(x, dy, D) / (len * len * len), x, D);
    }
}

/* ---- the whole ---- */

static size_t bytes(int64_t n) {
    return (size_t)n * sizeof(float);
}

/* Fills p and writes the result to out. */
static void convolve(const cr_node *n, const space *p, float *out) {
    const social *a = n->attr;
    const cr_social *g = a->s;
    const float *v = n->in[IN_V]->w;
    int64_t D = n->cols, u = g->users * D, i = g->items * D;
    float *S = out, *I = out + u;
    for (int c = 0; c <= C; c++)
        cr_gate(c < C ? p->x + c * u : p->s, p->gates + c * u, n->in[IN_P]->w, g->users, D,
                n->in[IN_W]->w + c * D * D, n->in[IN_B]->w + c * D, p->more);
    memcpy(p->i, n->in[IN_Q]->w, bytes(i));
    memcpy(p->sum, p->x, bytes(C * u));
    memcpy(S, p->s, bytes(u));
    memcpy(I, p->i, bytes(i));
    for (int64_t k = 0; k < a->layers; k++) {
        const float *x = p->x + k * C * u, *s = p->s + k * u, *items = p->i + k * i;
        float *x2 = p->x + (k + 1) * C * u, *s2 = p->s + (k + 1) * u, *i2 = p->i + (k + 1) * i;
        attend(p->users, x, v, g->users, D);
        cr_kern->axpy(p->users, 0.5F, s, u);
        for (int c = 0; c < C; c++)
            cr_sparse_apply(x2 + c * u, &g->channel[c], x + c * u, D, false);
        cr_sparse_apply(i2, &g->rated_turned, p->users, D, false);
        cr_sparse_apply(s2, &g->rated, items, D, false);
        add_units(p->sum, x2, C * g->users, D);
        add_units(S, s2, g->users, D);
        add_units(I, i2, g->items, D);
    }
    attend(p->users, p->sum, v, g->users, D);
    cr_kern->scale_add(out, 0.5F, S, 1, p->users, u);
}

static void fold(const cr_node *n, float *scratch) {
    space p;
    (void)cut(&p, scratch, n->attr, n->cols);
    convolve(n, &p, n->w);
}

static void unfold(const cr_node *n, const float *g, float *const *d, float *scratch) {
    const social *a = n->attr;
    const cr_social *s = a->s;
    const float *v = n->in[IN_V]->w;
    int64_t D = n->cols, u = s->users * D, i = s->items * D;
    const float *dS = g, *dI = g + u; /* twice the slope of S, and the slope of I */
    space p;
    (void)cut(&p, scratch, a, D);
    convolve(n, &p, n->w);
    memset(p.dsum, 0, bytes(C * u));
    attend_back(g, p.sum, v, s->users, D, p.dsum, d[IN_V]);
    memset(p.dx, 0, bytes(C * u));
    memset(p.ds, 0, bytes(u));
    memset(p.di, 0, bytes(i));
    float *half = p.gates + 3 * u; /* the last gate is needed again only at the end */
    for (int64_t k = a->layers - 1; k >= 0; k--) {
        cr_kern->scale(half, 0.5F, dS, u);
        add_units_back(p.dx, p.dsum, p.x + (k + 1) * C * u, C * s->users, D);
        add_units_back(p.ds, half, p.s + (k + 1) * u, s->users, D);
        add_units_back(p.di, dI, p.i + (k + 1) * i, s->items, D);
        /* what layer k got: x and s by the channels and by m, the items by s */
        cr_sparse_apply(p.items, &s->rated_turned, p.ds, D, false);
        cr_sparse_apply(half, &s->rated, p.di, D, false);
        for (int c = 0; c < C; c++)
            cr_sparse_apply(p.users + c * u, &s->turned[c], p.dx + c * u, D, false);
        memcpy(p.dx, p.users, bytes(C * u));
        attend_back(half, p.x + k * C * u, v, s->users, D, p.dx, d[IN_V]);
        cr_kern->scale(p.ds, 0.5F, half, u);
        memcpy(p.di, p.items, bytes(i));
    }
    cr_kern->axpy(p.dx, 1, p.dsum, C * u);
    cr_kern->axpy(p.ds, 0.5F, dS, u);
    if (d[IN_Q]) {
        cr_kern->axpy(d[IN_Q], 1, p.di, i);
        cr_kern->axpy(d[IN_Q], 1, dI, i);
    }
    /* the gate that gave its memory away, once more */
    cr_gate(p.users, half, n->in[IN_P]->w, s->users, D, n->in[IN_W]->w + C * D * D,
            n->in[IN_B]->w + C * D, p.more);
    for (int c = 0; c <= C; c++)
        cr_gate_back(c < C ? p.dx + c * u : p.ds, p.gates + c * u, n->in[IN_P]->w, s->users, D,
                     n->in[IN_W]->w + c * D * D, d[IN_P], d[IN_W] ? d[IN_W] + c * D * D : NULL,
                     d[IN_B] ? d[IN_B] + c * D : NULL, p.users, p.more);
}

static cr_node *example(cr_graph *g, int k) {
    if (k > 2) return NULL;
    const cr_social *s = cr_social_example(g);
    int64_t D = k == 1 ? 17 : 3;
    cr_node *Z = cr_fold_social(g, cr_graph_param(g, "P", s->users, D, true, NULL, 0),
                                cr_graph_param(g, "Q", s->items, D, true, NULL, 0),
                                cr_graph_param(g, "W", 4 * D, D, true, NULL, 0),
                                cr_graph_param(g, "b", 4, D, true, NULL, 0),
                                cr_graph_param(g, "v", D, 1, true, NULL, 0), s, k == 2 ? 1 : 2);
    return cr_matmul(g, cr_feed(g, D), Z, NULL, false);
}

const cr_op_type cr_op_fold_social = {
    .name = "fold_social", .infer = infer, .fold = fold, .unfold = unfold, .example = example};

cr_node *cr_fold_social(cr_graph *g, cr_node *P, cr_node *Q, cr_node *W, cr_node *b, cr_node *v,
                        const cr_social *s, int64_t layers) {
    social a = {s, layers};
    return cr_graph_op(g, &cr_op_fold_social, (cr_node *[]){P, Q, W, b, v}, 5, &a, sizeof(a));
}
