/*
 * plugin_check.c - are the ops of a library right? Each op of a model once more, over random rows:
 * its gradient against the slope of its forward, and its bits for other tiles and threads.
 */
#include "graph/gradcheck.h"
#include "model/model.h"
#include "op/custom.h"

#define TOLERANCE 1e-2 /* kinks included; a wrong term is off by far more */

/* the op alone, over feeds and weights of the same sizes */
static cr_node *alone(cr_graph *g, const cr_node *n, const cr_custom_spec *s, const char *what) {
    cr_node *in[CRANK_MAX_OP_INPUTS];
    for (int i = 0; i < n->n_in; i++) {
        const cr_node *x = n->in[i];
        in[i] = x->cls != CR_PARAM ? cr_feed(g, x->width)
                                   : cr_graph_param(g, x->name, x->rows, x->cols, true, NULL, 0);
    }
    return cr_custom(g, s, in, what);
}

static cr_code check_slope(const cr_node *n, const cr_custom_spec *s, const char *what, double *off,
                           char *worst, size_t size, cr_err *err) {
    static const cr_gradcheck_opts o = {.threads = 1, .lanes = 4, .tile_rows = 7};
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *out = alone(&g, n, s, what);
    cr_code code = cr_gradcheck(&g, out, &o, off, worst, size, err);
    if (code == CR_OK) code = cr_custom_check(&g, err);
    cr_graph_clear(&g);
    return code;
}

static cr_code hash_of(const cr_node *n, const cr_custom_spec *s, const char *what,
                       const cr_gradcheck_opts *o, uint64_t *hash, cr_err *err) {
    cr_graph g;
    cr_graph_init(&g, 9);
    cr_node *out = alone(&g, n, s, what);
    cr_code code = cr_grad_hash(&g, out, o, hash, err);
    if (code == CR_OK) code = cr_custom_check(&g, err);
    cr_graph_clear(&g);
    return code;
}

int cr_model_check_ops(const cr_model *m, cr_diag *diag) {
    static const cr_gradcheck_opts few = {1, 8, 64}, many = {3, 8, 3};
    int n_ops = 0;
    for (int i = 0; i < m->graph.n; i++) {
        const cr_node *n = m->graph.nodes[i];
        const char *what;
        const cr_custom_spec *s = cr_custom_of(n, &what);
        if (!s) continue;
        n_ops++;
        double off = 0;
        char worst[200] = "";
        uint64_t a = 0, b = 0;
        cr_err err;
        cr_code code = CR_OK;
        if (s->op->backward) code = check_slope(n, s, what, &off, worst, sizeof(worst), &err);
        if (code == CR_OK) code = hash_of(n, s, what, &few, &a, &err);
        if (code == CR_OK) code = hash_of(n, s, what, &many, &b, &err);
        if (code != CR_OK)
            cr_diag_add(diag, CR_SEV_ERROR, code, CR_NOWHERE, "%s", err.msg);
        else if (!(off < TOLERANCE))
            cr_diag_add(diag, CR_SEV_ERROR, CR_ERUN, CR_NOWHERE,
                        "%s: its gradient is not the slope of its forward (%s, off by %.2g); "
                        "correct backward",
                        what, worst, off);
        else if (a != b)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ERUN, CR_NOWHERE,
                        "%s: other tiles or threads give other bits; work on each row by itself "
                        "and add to a weight's gradient row after row",
                        what);
    }
    return n_ops;
}
