/*
 * loss_focal.c - focal loss (Lin et al., 2017) and the squares of looked-up vectors.
 *
 * focal: w * bce with w = alpha y (1-p)^gamma + (1-alpha) (1-y) p^gamma. As in TorchEasyRec w is a
 * constant weight that is not differentiated. So only examples with gamma 0, where w does not move,
 * can be compared with numeric gradients; the golden run checks the rest. squares: scale * sum of
 * x^2 over chosen columns of a lookup (L2 on embeddings).
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "graph/plan.h"
#include "kern/kern.h"
#include "op/loss_int.h"
#include "op/op.h"

typedef struct focal {
    float gamma, alpha;
} focal;

static void focal_infer(cr_node *n) {
    if (n->in[0]->width != 1) CR_BUG("focal: needs one logit");
    n->cls = CR_ROW;
    n->width = 1;
    n->scratch = CR_MAX_TILE;
}

static float focal_weight(const focal *a, float y, float p) {
    float w = 0;
    if (y != 0) w += a->alpha * y * (a->gamma == 0 ? 1 : powf(1 - p, a->gamma));
    if (y != 1) w += (1 - a->alpha) * (1 - y) * (a->gamma == 0 ? 1 : powf(p, a->gamma));
    return w;
}

static void focal_forward(const cr_node *n, cr_tile *t) {
    const float *z = cr_val(t, n->in[0]), *y = cr_val(t, n->in[1]);
    float *l = cr_val(t, n), *p = t->scratch;
    cr_kern->sigmoid(p, z, t->n_rows);
    cr_kern->softplus(l, z, 1, INFINITY, t->n_rows);
    for (int64_t r = 0; r < t->n_rows; r++)
        l[r] = focal_weight(n->attr, y[r], p[r]) * (l[r] - y[r] * z[r]);
}

static void focal_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const float *z = cr_val(t, n->in[0]), *y = cr_val(t, n->in[1]), *dl = cr_grad(t, n);
    float *dz = cr_grad(t, n->in[0]), *p = t->scratch;
    bool first = cr_first_grad(t, n, 0);
    cr_kern->sigmoid(p, z, t->n_rows);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float v = dl[r] * focal_weight(n->attr, y[r], p[r]) * (p[r] - y[r]);
        dz[r] = first ? v : dz[r] + v;
    }
}

static cr_node *focal_example(cr_graph *g, int k) {
    return k > 0 ? NULL : cr_focal(g, cr_feed(g, 1), cr_example_labels(g, 2), 0, 0.3f);
}

const cr_op_type cr_op_focal = {.name = "focal",
                                .infer = focal_infer,
                                .forward = focal_forward,
                                .backward = focal_backward,
                                .example = focal_example,
                                .reads_in = true};

cr_node *cr_focal(cr_graph *g, cr_node *logit, cr_node *y, float gamma, float alpha) {
    focal a = {gamma, alpha};
    return cr_graph_op(g, &cr_op_focal, (cr_node *[]){logit, y}, 2, &a, sizeof(a));
}

/* ---- squares ---- */

typedef struct squares {
    cr_range *v;
    int n;
    float scale;
} squares;

static void squares_infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = 1;
}

static void squares_forward(const cr_node *n, cr_tile *t) {
    const squares *a = n->attr;
    const float *x = cr_val(t, n->in[0]);
    float *y = cr_val(t, n);
    for (int64_t r = 0; r < t->n_rows; r++, x += cr_ld(n->in[0])) {
        float sum = 0;
        for (int i = 0; i < a->n; i++)
            sum += cr_kern->dot(x + a->v[i].from, x + a->v[i].from, a->v[i].width);
        y[r] = a->scale * sum;
    }
}

static void squares_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const squares *a = n->attr;
    const float *x = cr_val(t, n->in[0]), *dy = cr_grad(t, n);
    float *dx = cr_grad(t, n->in[0]);
    int64_t ld = cr_ld(n->in[0]);
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++, x += ld, dx += ld) {
        if (first) memset(dx, 0, (size_t)n->in[0]->width * sizeof(float));
        for (int i = 0; i < a->n; i++)
            cr_kern->axpy(dx + a->v[i].from, 2 * a->scale * dy[r], x + a->v[i].from, a->v[i].width);
    }
}

static cr_node *squares_example(cr_graph *g, int k) {
    static const cr_range parts[] = {{0, 3}, {5, 17}};
    return k > 0 ? NULL : cr_squares(g, cr_feed(g, 24), parts, 2, 0.7f);
}

const cr_op_type cr_op_squares = {.name = "squares",
                                  .infer = squares_infer,
                                  .forward = squares_forward,
                                  .backward = squares_backward,
                                  .example = squares_example,
                                  .reads_in = true};

cr_node *cr_squares(cr_graph *g, cr_node *x, const cr_range *v, int n, float scale) {
    squares a = {CR_NEW_N(&g->arena, cr_range, n), n, scale};
    memcpy(a.v, v, (size_t)n * sizeof(*v));
    return cr_graph_op(g, &cr_op_squares, &x, 1, &a, sizeof(a));
}
