/*
 * loss_prob.c - losses of probabilities: log_loss, of an output that is a probability itself; and
 * counterfact, the loss of a second event that is seen only where a first one happened (Wang et
 * al., 2022: ESCM2).
 *
 * log_loss: -y ln(p + eps) - (1 - y) ln(1 - p + eps); p below 0 counts as 0, p above 1 as 1.
 * counterfact: rows in which the first event happened weigh w = min(1 / P(first), limit), the
 * others 0; w passes no gradient. With l, the log loss of the second event: w l, or with an imputed
 * loss i in (0, 1): i + w e + w e^2, where e = l - i.
 */
#include <math.h>

#include "graph/gradcheck.h"
#include "op/loss_int.h"
#include "op/op.h"

static void one_number(cr_node *n) {
    n->cls = CR_ROW;
    n->width = 1;
}

/* ---- log_loss: inputs p (1), y (1) ---- */

static float log_loss_at(float p, float y, float eps) {
    p = fminf(fmaxf(p, 0), 1);
    return -y * logf(p + eps) - (1 - y) * logf(1 - p + eps);
}

static void log_loss_infer(cr_node *n) {
    if (n->in[0]->width != 1) CR_BUG("log_loss: needs one probability");
    one_number(n);
}

static void log_loss_forward(const cr_node *n, cr_tile *t) {
    const float *p = cr_val(t, n->in[0]), *y = cr_val(t, n->in[1]);
    float *l = cr_val(t, n), eps = *(const float *)n->attr;
    for (int64_t r = 0; r < t->n_rows; r++)
        l[r * cr_ld(n)] = log_loss_at(p[r * cr_ld(n->in[0])], y[r * cr_ld(n->in[1])], eps);
}

static void log_loss_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const float *ps = cr_val(t, n->in[0]), *ys = cr_val(t, n->in[1]), *dl = cr_grad(t, n);
    float *dp = cr_grad(t, n->in[0]), eps = *(const float *)n->attr;
    int64_t ld = cr_ld(n->in[0]);
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float p = ps[r * ld], y = ys[r * cr_ld(n->in[1])];
        float v = p < 0 || p > 1 ? 0 : dl[r * cr_ld(n)] * ((1 - y) / (1 - p + eps) - y / (p + eps));
        dp[r * ld] = first ? v : dp[r * ld] + v;
    }
}

static cr_node *log_loss_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    cr_node *p = cr_activation(g, CR_ACT_SIGMOID, NULL, cr_feed(g, 1));
    return cr_log_loss(g, p, cr_example_labels(g, 2), 1e-4f);
}

const cr_op_type cr_op_log_loss = {.name = "log_loss",
                                   .infer = log_loss_infer,
                                   .forward = log_loss_forward,
                                   .backward = log_loss_backward,
                                   .example = log_loss_example,
                                   .reads_in = true};

cr_node *cr_log_loss(cr_graph *g, cr_node *p, cr_node *y, float eps) {
    return cr_graph_op(g, &cr_op_log_loss, (cr_node *[]){p, y}, 2, &eps, sizeof(eps));
}

/* ---- counterfact: inputs l (1), first event's logit (1), whether it happened (1), [i (1)] ---- */

static void counterfact_infer(cr_node *n) {
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k]->width != 1) CR_BUG("counterfact: needs one number of each");
    one_number(n);
}

static float of(const cr_tile *t, const cr_node *n, int k, int64_t r) {
    return cr_val(t, n->in[k])[r * cr_ld(n->in[k])];
}

/* The weight of a row. 1 / sigmoid(z) is 1 + exp(-z). */
static float weight_of(const cr_node *n, const cr_tile *t, int64_t r) {
    float limit = *(const float *)n->attr;
    return of(t, n, 2, r) > 0 ? fminf(1 + expf(-of(t, n, 1, r)), limit) : 0;
}

static void counterfact_forward(const cr_node *n, cr_tile *t) {
    for (int64_t r = 0; r < t->n_rows; r++) {
        float w = weight_of(n, t, r), l = of(t, n, 0, r), y = w * l;
        if (n->n_in > 3) {
            float i = of(t, n, 3, r), e = l - i;
            y = i + w * e + w * e * e;
        }
        cr_val(t, n)[r * cr_ld(n)] = y;
    }
}

static void counterfact_backward(const cr_node *n, cr_tile *t) {
    bool wants_l = cr_wants_grad(t, n, 0), wants_i = n->n_in > 3 && cr_wants_grad(t, n, 3);
    bool first_l = cr_first_grad(t, n, 0), first_i = n->n_in > 3 && cr_first_grad(t, n, 3);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float w = weight_of(n, t, r), d = cr_grad(t, n)[r * cr_ld(n)];
        float slope = n->n_in > 3 ? w + 2 * w * (of(t, n, 0, r) - of(t, n, 3, r)) : w;
        if (wants_l) {
            float *dl = cr_grad(t, n->in[0]) + r * cr_ld(n->in[0]);
            *dl = (first_l ? 0 : *dl) + d * slope;
        }
        if (wants_i) {
            float *di = cr_grad(t, n->in[3]) + r * cr_ld(n->in[3]);
            *di = (first_i ? 0 : *di) + d * (1 - slope);
        }
    }
}

static cr_node *counterfact_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    cr_node *first = cr_example_labels(g, 3), *l = cr_feed(g, 1);
    return cr_counterfact(g, l, first, cr_example_labels(g, 2), k ? cr_feed(g, 1) : NULL, 2.5f);
}

const cr_op_type cr_op_counterfact = {.name = "counterfact",
                                      .infer = counterfact_infer,
                                      .forward = counterfact_forward,
                                      .backward = counterfact_backward,
                                      .example = counterfact_example,
                                      .reads_in = true};

cr_node *cr_counterfact(cr_graph *g, cr_node *l, cr_node *first, cr_node *happened,
                        cr_node *imputed, float limit) {
    return cr_graph_op(g, &cr_op_counterfact, (cr_node *[]){l, first, happened, imputed},
                       imputed ? 4 : 3, &limit, sizeof(limit));
}
