/*
 * loss_listwise.c - softmax cross entropy over the rows of one list (InfoNCE), as TorchEasyRec's
 * listwise_rank_loss has it.
 *
 * A list is a session. With p = softmax of its logits, the loss of a list is the mean of -log p
 * over its positive rows (label not 0); a list without a positive or without a negative row has
 * none. The batch's loss is the mean over all its lists, those without a loss included. As a loss
 * per row that is n / L times -log p / P for a positive row, where the batch has n rows and L lists
 * and the list has P positives. So the mean over rows works as for any loss.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "graph/plan.h"
#include "op/loss_int.h"
#include "op/op.h"

static void listwise_infer(cr_node *n) {
    if (n->in[0]->width != 1) CR_BUG("listwise: needs one logit");
    n->cls = CR_ROW;
    n->width = 1;
    n->scratch_row = CR_SESSION_SCRATCH;
}

/* Computes one list: forward where loss is given, else backward from dl, which adds to dz. scale is
 * n / L. */
static void one_list(const uint32_t *row, int64_t n, const float *z, const float *y, double scale,
                     float *loss, const float *dl, float *dz) {
    double most = -INFINITY, sum = 0, pull = 0;
    int64_t P = 0;
    for (int64_t k = 0; k < n; k++) {
        most = fmax(most, (double)z[row[k]]);
        P += y[row[k]] != 0;
        if (loss) loss[row[k]] = 0;
    }
    if (P == 0 || P == n) return;
    for (int64_t k = 0; k < n; k++)
        sum += exp((double)z[row[k]] - most);
    double share = scale / (double)P;
    for (int64_t k = 0; k < n; k++) {
        uint32_t r = row[k];
        if (y[r] == 0) continue;
        if (loss) {
            loss[r] = (float)(share * (log(sum) + most - (double)z[r]));
        } else {
            dz[r] -= (float)(share * (double)dl[r]);
            pull += share * (double)dl[r];
        }
    }
    for (int64_t k = 0; k < n && !loss; k++)
        dz[row[k]] += (float)(pull * exp((double)z[row[k]] - most) / sum);
}

static void listwise_run(const cr_node *n, cr_tile *t, float *loss, const float *dl, float *dz) {
    const uint64_t *keys;
    const uint32_t *row = cr_session_order(n, t, t->scratch, &keys);
    int64_t rows = t->n_rows, lists = 0;
    for (int64_t at = 0; at < rows; at = cr_session_end(keys, at, rows))
        lists++;
    double scale = lists > 0 ? (double)rows / (double)lists : 0;
    for (int64_t at = 0, end; at < rows; at = end) {
        end = cr_session_end(keys, at, rows);
        one_list(row + at, end - at, cr_val(t, n->in[0]), cr_val(t, n->in[1]), scale, loss, dl, dz);
    }
}

static void listwise_forward(const cr_node *n, cr_tile *t) {
    listwise_run(n, t, cr_val(t, n), NULL, NULL);
}

static void listwise_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    float *dz = cr_grad(t, n->in[0]);
    if (cr_first_grad(t, n, 0)) memset(dz, 0, (size_t)t->n_rows * sizeof(float));
    listwise_run(n, t, NULL, cr_grad(t, n), dz);
}

static cr_node *listwise_example(cr_graph *g, int k) {
    if (k > 2) return NULL;
    cr_session s = k ? cr_example_session(g) : (cr_session){.slot = -1};
    cr_node *z = cr_feed(g, 1), *y = cr_example_labels(g, k == 2 ? 4 : 2);
    if (k == 2) { /* has a learned temperature and another user of the logits */
        cr_node *x = cr_graph_param(g, "x", 1, 1, true, NULL, 0);
        cr_node *l = cr_listwise(g, cr_mul(g, z, cr_fold_exp(g, x, 5)), y, &s);
        return cr_add(g, (cr_node *[]){l, z}, (float[]){1, 1}, 2);
    }
    return cr_listwise(g, z, y, &s);
}

const cr_op_type cr_op_listwise = {.name = "listwise",
                                   .infer = listwise_infer,
                                   .forward = listwise_forward,
                                   .backward = listwise_backward,
                                   .example = listwise_example,
                                   .batch = true,
                                   .reads_in = true};

cr_node *cr_listwise(cr_graph *g, cr_node *logit, cr_node *y, const cr_session *s) {
    return cr_session_op(g, &cr_op_listwise, logit, y, s, NULL, 0);
}
