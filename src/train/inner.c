/*
 * inner.c - one step of meta-learning, as MAML of first order (Finn et al., 2017) takes it. A batch
 * is tasks, each of support_rows rows and query_rows rows behind them. For each task the weights
 * make some inner steps on the support rows; the gradient of the query rows is taken at the weights
 * that this gives, as if it were one at the weights before, and the weights are put back. The mean
 * of the tasks' gradients is the gradient of the step.
 */
#include <math.h>

#include "data/part.h"
#include "train/fast.h"
#include "train/train_int.h"

struct inner {
    cr_arena arena;
    cr_job *j;
    const cr_inner_conf *c;
    cr_fast *fast;
    cr_batch_part support, query;
    double *losses;
};

cr_code cr_inner_new(inner **out, cr_job *j, cr_err *err) {
    const cr_inner_conf *c = j->root->train_config->inner_loop;
    inner *n = cr_alloc(sizeof(*n), "inner steps");
    cr_arena_init(&n->arena, 0);
    n->j = j;
    n->c = c;
    n->losses = CR_NEW_N(&n->arena, double, j->model->n_losses + 1);
    int64_t rows = c->support_rows > c->query_rows ? c->support_rows : c->query_rows;
    cr_code code = cr_fast_new(&n->fast, j, c, rows, true, err);
    if (code == CR_OK)
        *out = n;
    else
        cr_inner_free(n);
    return code;
}

void cr_inner_free(inner *n) {
    if (!n) return;
    cr_fast_free(n->fast);
    cr_batch_part_clear(&n->support);
    cr_batch_part_clear(&n->query);
    cr_arena_clear(&n->arena);
    cr_free(n);
}

struct cr_fast *cr_inner_fast(const inner *n) {
    return n->fast;
}

double cr_inner_loss(const inner *n, int k) {
    return n->losses[k];
}

static cr_code one_task(inner *n, int64_t task, int64_t tasks, int64_t step, inner_seen seen,
                        cr_err *err) {
    for (int64_t i = 0; i < n->c->steps; i++) {
        CR_TRY(cr_fast_pass(n->fast, &n->support.b, step, 1, err));
        cr_fast_step(n->fast);
    }
    CR_TRY(cr_fast_pass(n->fast, &n->query.b, step, 1 / (double)tasks, err));
    for (int k = 0; k < n->j->model->n_losses; k++)
        n->losses[k] += cr_fast_loss(n->fast, k) / (double)tasks;
    cr_fast_add(n->fast, task == 0);
    return seen.fn ? seen.fn(seen.ctx, &n->query.b, err) : CR_OK;
}

cr_code cr_inner_step(inner *n, const cr_batch *b, int64_t step, inner_seen seen, cr_err *err) {
    int64_t S = n->c->support_rows, Q = n->c->query_rows, tasks = b->n_rows / (S + Q);
    if (b->n_rows % (S + Q))
        return cr_fail(err, CR_EDATA,
                       "a batch of %lld rows is no number of tasks, which have %lld support rows "
                       "and %lld query rows each; correct the data, or set "
                       "data_config.drop_remainder",
                       (long long)b->n_rows, (long long)S, (long long)Q);
    for (int k = 0; k < n->j->model->n_losses; k++)
        n->losses[k] = 0;
    for (int64_t i = 0; i < tasks; i++) {
        cr_batch_part_take(&n->support, b, i * (S + Q), S);
        cr_batch_part_take(&n->query, b, i * (S + Q) + S, Q);
        cr_fast_begin(n->fast);
        cr_code code = one_task(n, i, tasks, step, seen, err);
        cr_fast_end(n->fast, false);
        CR_TRY(code);
    }
    return CR_OK;
}
