/*
 * gru.c - a gated recurrent unit over the positions of each row, and its forms with attention.
 *
 * x holds what the gates get from the inputs, [r; z; n] with H numbers each; U (3H, H) and b (3H)
 * are what they get from the state before, as torch names them:
 *   r = sigmoid(x_r + U_r h + b_r), z = sigmoid(x_z + U_z h + b_z)
 *   n = tanh(x_n + r * (U_n h + b_n))       as in torch; or, when the reset comes before,
 *   n = tanh(x_n + U_n (r * h) + b_n)       as in the paper of Cho et al. and in Keras
 *   h' = h + s * (n - h), where s = 1 - z
 * Attention (DIEN's paper): AUGRU has s = a (1 - z), and AGRU s = a, for the number a of a
 * position. The state before the first position is 0, or a row. A GRU can also begin at the last
 * position and go back. The gates are not kept: backward makes them again from the states, which
 * are the op's value.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "op/recur.h"

typedef struct gru {
    int64_t H;
    bool before; /* the reset gate is applied before the product */
    cr_gru_kind kind;
    bool reverse; /* from the last position to the first */
    bool starts;  /* input 3 is the state before the first position */
    float *zeros; /* the state before it without such an input */
} gru;

/* attention, or the first state of a plain GRU */
enum { IN_X, IN_U, IN_B, IN_A };

static void infer(cr_node *n) {
    gru *a = n->attr;
    const cr_node *x = n->in[IN_X], *U = n->in[IN_U];
    a->H = U->cols;
    if (x->cls != CR_SEQ || x->width != 3 * a->H || U->rows != 3 * a->H ||
        n->in[IN_B]->width != 3 * a->H)
        CR_BUG("gru: shapes do not fit");
    if (a->kind != CR_GRU_PLAIN && (n->n_in != 4 || n->in[IN_A]->cls != CR_SEQ ||
                                    n->in[IN_A]->axis != x->axis || n->in[IN_A]->width != 1))
        CR_BUG("gru: no attention per position");
    if (a->starts && (n->in[IN_A]->cls != CR_ROW || n->in[IN_A]->width != a->H))
        CR_BUG("gru: the first state does not fit");
    n->cls = CR_SEQ;
    n->axis = x->axis;
    n->width = a->H;
    n->scratch = 10 * a->H;
}

/* One position: its inputs and what the gates are. */
typedef struct step {
    const float *h;   /* the state before */
    float *r, *z, *n; /* the gates */
    float *m;         /* U_n h + b_n, or, when the reset comes before, r * h */
} step;

static void gates(const gru *a, const float *x, const float *U, const float *b, step *s) {
    int64_t H = a->H;
    cr_gate_product(s->r, U, b, s->h, H, H);
    cr_kern->add(s->r, s->r, x, H);
    cr_kern->sigmoid(s->r, s->r, H);
    cr_gate_product(s->z, U + H * H, b + H, s->h, H, H);
    cr_kern->add(s->z, s->z, x + H, H);
    cr_kern->sigmoid(s->z, s->z, H);
    if (a->before) {
        cr_kern->mul(s->m, s->r, s->h, H, false);
        cr_gate_product(s->n, U + 2 * H * H, b + 2 * H, s->m, H, H);
    } else {
        cr_gate_product(s->m, U + 2 * H * H, b + 2 * H, s->h, H, H);
        cr_kern->mul(s->n, s->r, s->m, H, false);
    }
    cr_kern->add(s->n, s->n, x + 2 * H, H);
    cr_kern->tanh(s->n, s->n, H);
}

/* The state of row r before the first position. */
static const float *start_of(const cr_node *n, const cr_tile *t, int64_t r) {
    const gru *a = n->attr;
    const cr_node *s = a->starts ? n->in[IN_A] : NULL;
    return s ? cr_val(t, s) + r * cr_ld(s) : a->zeros;
}

/* How far the state moves towards n. */
static float strength(const gru *a, float z, float att) {
    return a->kind == CR_GRU_PLAIN ? 1 - z : a->kind == CR_GRU_AUGRU ? att * (1 - z) : att;
}

static void forward(const cr_node *n, cr_tile *t) {
    const gru *a = n->attr;
    const cr_node *x = n->in[IN_X], *att = a->kind == CR_GRU_PLAIN ? NULL : n->in[IN_A];
    int64_t H = a->H, ld = cr_ld(n);
    float *w = t->scratch;
    for (int64_t r = 0; r < t->n_rows; r++) {
        cr_path way = cr_path_of(t, n->axis, r, a->reverse);
        const float *start = start_of(n, t, r);
        for (int64_t i0 = 0, p = way.first; i0 < way.n; i0++, p += way.step) {
            float *y = cr_val(t, n) + p * ld;
            step s = {i0 ? y - way.step * ld : start, w, w + H, w + 2 * H, w + 3 * H};
            gates(a, cr_val(t, x) + p * cr_ld(x), n->in[IN_U]->w, n->in[IN_B]->w, &s);
            float c = att ? cr_val(t, att)[p * cr_ld(att)] : 0;
            for (int64_t i = 0; i < H; i++)
                y[i] = s.h[i] + strength(a, s.z[i], c) * (s.n[i] - s.h[i]);
        }
    }
}

/* What backward adds to; NULL: not wanted. */
typedef struct slopes {
    float *U, *b;
    const float *u; /* the weights */
    float *d;       /* the slope of one gate before its function */
    float *dh;      /* of the state before */
} slopes;

/* A gate was f(x + U v + b), and d is the slope of what f gets: adds to U, b, and U^T d to to. */
static void back_product(const slopes *g, int64_t gate, const float *v, float *to, int64_t H) {
    cr_gate_back(g->U ? g->U + gate * H * H : NULL, g->b ? g->b + gate * H : NULL,
                 g->u + gate * H * H, g->d, v, to, H, H);
}

static void put(float *dx, const float *d, int64_t H, bool first) {
    if (!dx) return;
    for (int64_t i = 0; i < H; i++)
        dx[i] = first ? d[i] : dx[i] + d[i];
}

/* One position. dy: the slope of the new state; g->dh receives that of the one before. */
static float back_step(const gru *a, const step *s, float c, const float *dy, slopes *g, float *dx,
                       bool first, float *tmp) {
    int64_t H = a->H;
    float *dz = tmp, *dr = tmp + H, da = 0;
    memset(g->dh, 0, (size_t)H * sizeof(float));
    for (int64_t i = 0; i < H; i++) {
        float k = strength(a, s->z[i], c), dk = dy[i] * (s->n[i] - s->h[i]);
        da += a->kind == CR_GRU_AUGRU ? dk * (1 - s->z[i]) : dk;
        float slope = a->kind == CR_GRU_PLAIN ? -dk : a->kind == CR_GRU_AUGRU ? -c * dk : 0;
        dz[i] = slope * s->z[i] * (1 - s->z[i]);
        g->d[i] = dy[i] * k * (1 - s->n[i] * s->n[i]);
        g->dh[i] = dy[i] * (1 - k);
    }
    put(dx ? dx + 2 * H : NULL, g->d, H, first);
    if (a->before) {
        float *dm = tmp + 2 * H;
        memset(dm, 0, (size_t)H * sizeof(float));
        back_product(g, 2, s->m, dm, H);
        for (int64_t i = 0; i < H; i++) {
            dr[i] = dm[i] * s->h[i];
            g->dh[i] += dm[i] * s->r[i];
        }
    } else {
        cr_kern->mul(dr, g->d, s->m, H, false);
        cr_kern->mul(g->d, g->d, s->r, H, false);
        back_product(g, 2, s->h, g->dh, H);
    }
    for (int64_t i = 0; i < H; i++)
        g->d[i] = dr[i] * s->r[i] * (1 - s->r[i]);
    put(dx, g->d, H, first);
    back_product(g, 0, s->h, g->dh, H);
    memcpy(g->d, dz, (size_t)H * sizeof(float));
    put(dx ? dx + H : NULL, g->d, H, first);
    back_product(g, 1, s->h, g->dh, H);
    return da;
}

static void backward(const cr_node *n, cr_tile *t) {
    const gru *a = n->attr;
    const cr_node *x = n->in[IN_X], *att = a->kind == CR_GRU_PLAIN ? NULL : n->in[IN_A];
    const cr_node *from = a->starts ? n->in[IN_A] : NULL;
    int64_t H = a->H, ld = cr_ld(n);
    float *w = t->scratch;
    float *dx = cr_wants_grad(t, n, IN_X) ? cr_grad(t, x) : NULL;
    float *da = att && cr_wants_grad(t, n, IN_A) ? cr_grad(t, att) : NULL;
    float *ds = from && cr_wants_grad(t, n, IN_A) ? cr_grad(t, from) : NULL;
    bool first_x = cr_first_grad(t, n, IN_X), first_a = n->n_in > IN_A && cr_first_grad(t, n, IN_A);
    slopes g = {cr_param_sum(t, n, IN_U), cr_param_sum(t, n, IN_B), n->in[IN_U]->w, w + 4 * H,
                w + 5 * H};
    for (int64_t r = 0; r < t->n_rows; r++) {
        cr_path way = cr_path_of(t, n->axis, r, a->reverse);
        const float *start = start_of(n, t, r);
        float *d0 = ds ? ds + r * cr_ld(from) : NULL;
        if (d0 && first_a) memset(d0, 0, (size_t)H * sizeof(float));
        for (int64_t i = way.n - 1; i >= 0; i--) {
            int64_t p = way.first + i * way.step;
            float *dy = cr_grad(t, n) + p * ld;
            const float *y = cr_val(t, n) + p * ld;
            step s = {i ? y - way.step * ld : start, w, w + H, w + 2 * H, w + 3 * H};
            gates(a, cr_val(t, x) + p * cr_ld(x), n->in[IN_U]->w, n->in[IN_B]->w, &s);
            float c = att ? cr_val(t, att)[p * cr_ld(att)] : 0;
            float d =
                back_step(a, &s, c, dy, &g, dx ? dx + p * cr_ld(x) : NULL, first_x, w + 6 * H);
            if (da) da[p * cr_ld(att)] = first_a ? d : da[p * cr_ld(att)] + d;
            float *to = i ? dy - way.step * ld : d0;
            if (to) cr_kern->add(to, to, g.dh, H);
        }
    }
}

static cr_node *example(cr_graph *g, int k) {
    static const int64_t H[] = {3, 18, 4, 5, 2, 3, 4, 5};
    static const cr_gru_kind kind[] = {CR_GRU_PLAIN, CR_GRU_PLAIN, CR_GRU_AUGRU, CR_GRU_AGRU,
                                       CR_GRU_AUGRU, CR_GRU_PLAIN, CR_GRU_PLAIN, CR_GRU_PLAIN};
    if (k > 7) return NULL;
    int axis = cr_graph_axis(g);
    cr_node *x = cr_feed_seq(g, axis, 3 * H[k]);
    cr_node *U = cr_graph_param(g, "u", 3 * H[k], H[k], true, NULL, 0);
    cr_node *b = cr_graph_param(g, "b", 1, 3 * H[k], true, NULL, 0);
    if (k > 4) return cr_gru_from(g, x, U, b, k > 5 ? cr_feed(g, H[k]) : NULL, k != 6, k % 2 == 1);
    return cr_gru(g, x, U, b, kind[k] ? cr_feed_seq(g, axis, 1) : NULL, kind[k], k % 2 == 1);
}

const cr_op_type cr_op_gru = {.name = "gru",
                              .infer = infer,
                              .forward = forward,
                              .backward = backward,
                              .example = example,
                              .keep_val = true,
                              .reads_in = true,
                              .seq = true};

cr_node *cr_gru(cr_graph *g, cr_node *x, cr_node *U, cr_node *b, cr_node *att, cr_gru_kind kind,
                bool reset_before) {
    gru a = {.H = U->cols, .before = reset_before, .kind = kind};
    a.zeros = CR_NEW_N(&g->arena, float, U->cols);
    return cr_graph_op(g, &cr_op_gru, (cr_node *[]){x, U, b, att}, att ? 4 : 3, &a, sizeof(a));
}

cr_node *cr_gru_from(cr_graph *g, cr_node *x, cr_node *U, cr_node *b, cr_node *start, bool reverse,
                     bool reset_before) {
    gru a = {.H = U->cols, .before = reset_before, .reverse = reverse, .starts = start != NULL};
    a.zeros = CR_NEW_N(&g->arena, float, U->cols);
    return cr_graph_op(g, &cr_op_gru, (cr_node *[]){x, U, b, start}, start ? 4 : 3, &a, sizeof(a));
}
