/*
 * ctr.c - what a model reads of a row with a CTR accessor (emb/ctr.h), and what it sends back.
 *
 * The input is one looked-up, summed row: slot, show, click, embed_w, embedx_w. Forward passes on
 * embed_w and embedx_w, and where asked show and click before them, as they are or as Paddle's cvm
 * makes them: log(show + 1), log(click + 1) - log(show + 1). Backward is no slope in the first
 * three columns: they carry the slot times the row's show, its show and its click, which the table
 * adds up per id. The gradients of weights are those of the sum over the batch, not of the mean,
 * where by_sum says so.
 */
#include "op/ctr.h"

#include <math.h>
#include <string.h>

#include "emb/ctr.h"
#include "op/op.h"

static int64_t first_of(const cr_ctr_pull *p) {
    return p->form == CR_CTR_WEIGHTS ? CR_CTR_EMBED : CR_CTR_SHOW;
}

static void ctr_infer(cr_node *n) {
    if (n->in[0]->width < CR_CTR_HEAD) CR_BUG("ctr: the row has no head");
    n->cls = CR_ROW;
    n->width = n->in[0]->width - first_of(n->attr);
}

static void ctr_forward(const cr_node *n, cr_tile *t) {
    const cr_ctr_pull *p = n->attr;
    const float *x = cr_val(t, n->in[0]) + first_of(p);
    float *y = cr_val(t, n);
    for (int64_t r = 0; r < t->n_rows; r++, x += cr_ld(n->in[0]), y += cr_ld(n)) {
        memcpy(y, x, (size_t)n->width * sizeof(float));
        if (p->form != CR_CTR_CVM) continue;
        float show = logf(x[0] + 1), click = logf(x[1] + 1);
        y[0] = show;
        y[1] = click - show;
    }
}

static void ctr_backward(const cr_node *n, cr_tile *t) {
    const cr_ctr_pull *p = n->attr;
    if (!cr_wants_grad(t, n, 0)) return;
    CR_ASSERT(cr_first_grad(t, n, 0)); /* nothing else may read the lookup */
    const cr_batch *b = ((const cr_step_input *)cr_tile_input(t))->batch;
    const float *show = p->show < 0 ? NULL : b->labels[p->show] + t->row0,
                *click = p->click < 0 ? NULL : b->labels[p->click] + t->row0;
    int64_t skip = CR_CTR_EMBED - first_of(p), width = n->width - skip;
    float scale = p->by_sum ? (float)cr_global_rows(t, n) : 1;
    const float *dy = cr_grad(t, n) + skip;
    float *dx = cr_grad(t, n->in[0]);
    for (int64_t r = 0; r < t->n_rows; r++, dy += cr_ld(n), dx += cr_ld(n->in[0])) {
        float shown = show ? show[r] : 1;
        dx[CR_CTR_SLOT] = p->slot * shown;
        dx[CR_CTR_SHOW] = shown;
        dx[CR_CTR_CLICK] = click ? click[r] : 0;
        for (int64_t i = 0; i < width; i++)
            dx[CR_CTR_EMBED + i] = scale * dy[i];
    }
}

const cr_op_type cr_op_ctr = {.name = "ctr",
                              .infer = ctr_infer,
                              .forward = ctr_forward,
                              .backward = ctr_backward};

cr_node *cr_ctr(cr_graph *g, cr_node *lookup, const cr_ctr_pull *p) {
    return cr_graph_op(g, &cr_op_ctr, &lookup, 1, p, sizeof *p);
}
