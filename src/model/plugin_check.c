/*
 * plugin_check.c - checks the ops of a library. Each op of a model is run once more, over random
 * rows: its gradient is compared with the slope of its forward function, and its bits with those of
 * other tiles and threads. An op that gives NaN there is also tried over positive rows, because
 * logarithms and roots may be meant for them.
 */
#include <math.h>

#include "graph/gradcheck.h"
#include "model/model.h"
#include "op/custom.h"

#define TOLERANCE 1e-2 /* allows for kinks; a wrong term is off by far more */

/* An op and how it is tried. */
typedef struct trial {
    const cr_node *n;
    const cr_custom_spec *s;
    const char *what; /* for messages */
    bool positive;    /* inputs are above 0 only */
    double off;       /* distance of the gradient from the slope */
    char worst[200];
    bool differs; /* bits depend on tiles or threads */
} trial;

/* Adds the op alone, over feeds and weights of the same sizes. */
static cr_node *alone(cr_graph *g, const trial *t) {
    cr_node *in[CRANK_MAX_OP_INPUTS];
    for (int i = 0; i < t->n->n_in; i++) {
        const cr_node *x = t->n->in[i];
        if (x->cls == CR_PARAM) {
            in[i] = cr_graph_param(g, x->name, x->rows, x->cols, true, NULL, 0);
            continue;
        }
        in[i] = cr_feed(g, x->width);
        float *v = cr_feed_data(in[i]);
        for (int64_t k = 0; t->positive && k < CR_FEED_ROWS * x->width; k++)
            v[k] = fabsf(v[k]);
    }
    return cr_custom(g, t->s, in, t->what);
}

static cr_code check_slope(trial *t, cr_err *err) {
    static const cr_gradcheck_opts o = {.threads = 1, .lanes = 4, .tile_rows = 7};
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_code code = cr_gradcheck(&g, alone(&g, t), &o, &t->off, t->worst, sizeof(t->worst), err);
    cr_graph_clear(&g);
    return code;
}

static cr_code hash_of(const trial *t, const cr_gradcheck_opts *o, cr_grad_bits *bits,
                       cr_err *err) {
    cr_graph g;
    cr_graph_init(&g, 9);
    cr_code code = cr_grad_hash(&g, alone(&g, t), o, bits, err);
    cr_graph_clear(&g);
    return code;
}

static cr_code run_trial(trial *t, cr_err *err) {
    static const cr_gradcheck_opts few = {.threads = 1, .lanes = 8, .tile_rows = 64},
                                   many = {.threads = 3, .lanes = 8, .tile_rows = 3};
    cr_grad_bits a, b;
    if (t->s->op->backward) {
        CR_TRY(check_slope(t, err));
        t->positive = isnan(t->off);
        if (t->positive) CR_TRY(check_slope(t, err));
    }
    CR_TRY(hash_of(t, &few, &a, err));
    CR_TRY(hash_of(t, &many, &b, err));
    t->differs = a.whole != b.whole || a.rows != b.rows;
    return CR_OK;
}

static void tell(const trial *t, cr_diag *diag) {
    if (isnan(t->off))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ERUN, CR_NOWHERE,
                    "%s: gives NaN for inputs from 0.1 to 1 (%s); guard logarithms, roots and "
                    "divisions",
                    t->what, t->worst);
    else if (!(t->off < TOLERANCE))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ERUN, CR_NOWHERE,
                    "%s: its gradient is not the slope of its forward (%s, off by %.2g); "
                    "correct backward",
                    t->what, t->worst, t->off);
    else if (t->differs)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ERUN, CR_NOWHERE,
                    "%s: other tiles or threads give other bits; work on each row by itself "
                    "and add to a weight's gradient row after row",
                    t->what);
    else if (t->positive)
        cr_diag_add(diag, CR_SEV_WARN, CR_ERUN, CR_NOWHERE,
                    "%s: gives NaN for inputs below 0; see that it gets none, or guard it",
                    t->what);
}

int cr_model_check_ops(const cr_model *m, cr_diag *diag) {
    int n_ops = 0;
    for (int i = 0; i < m->graph.n; i++) {
        trial t = {.n = m->graph.nodes[i]};
        t.s = cr_custom_of(t.n, &t.what);
        if (!t.s) continue;
        n_ops++;
        cr_err err;
        cr_code code = run_trial(&t, &err);
        if (code != CR_OK)
            cr_diag_add(diag, CR_SEV_ERROR, code, CR_NOWHERE, "%s", err.msg);
        else
            tell(&t, diag);
    }
    return n_ops;
}
