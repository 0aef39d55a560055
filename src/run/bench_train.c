/*
 * bench_train.c - `crank bench train`: steps over batches held in memory, or over the files.
 */
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "op/op.h"
#include "run/bench_int.h"

/* rows of a node per row of a batch: 1, or the mean length of its sequences */
static double rows_per_row(const cr_bench_data *d, const cr_node *n) {
    if (n->cls != CR_SEQ) return 1;
    double positions = 0, rows = 0;
    for (int b = 0; b < d->n; b++) {
        positions += cr_model_axes(d->j.model, d->v[b])[n->axis][d->v[b]->n_rows];
        rows += (double)d->v[b]->n_rows;
    }
    return rows > 0 ? positions / rows : 0;
}

/* multiplications and additions of a node's product for one of its rows; NULL: it is none */
static const cr_node *product_of(const cr_node *n, double *flops) {
    if (n->op == &cr_op_emb_matmul || n->op == &cr_op_din) {
        *flops = 2 * (double)n->in[2]->width;
        return n->in[2];
    }
    if (n->op != &cr_op_matmul) return NULL;
    const cr_node *W = n->in[1]; /* one product per group of columns */
    *flops = 2 * (double)W->width *
             ((double)n->width / (double)(n->in[0]->width == W->cols ? W->rows : W->cols));
    return W;
}

double cr_bench_flops(const cr_bench_data *d, bool train) {
    const cr_graph *g = &d->j.model->graph;
    double sum = 0, flops;
    for (int i = 0; i < g->n; i++) {
        const cr_node *n = g->nodes[i], *W = product_of(n, &flops);
        if (!W) continue;
        int back = W->needs_grad + (n->in[0]->needs_grad || n->op == &cr_op_din);
        sum += rows_per_row(d, n) * flops * (1 + (train ? back : 0));
    }
    return sum;
}

typedef struct run {
    trainer *t;
    cr_bench_data *d;
    int64_t step;
} run;

static cr_code one_step(void *ctx, int64_t call, cr_err *err) {
    run *r = ctx;
    (void)call;
    int64_t step = r->step++;
    return cr_trainer_step(r->t, r->d->v[step % r->d->n], step, err);
}

/* one pass over the files, or as much of it as the time allows */
static cr_code pass(run *r, double seconds, double *rows_per_s, cr_diag *diag) {
    cr_bench_data *d = r->d;
    cr_err err;
    job_data jd = {.paths = d->j.root->train_input_path,
                   .key = "train_input_path",
                   .batch_size = d->batch_size,
                   .n_epochs = 0,
                   .drop_remainder = true};
    cr_loader *l = NULL;
    cr_code code = cr_job_loader(&d->j, &jd, &l, diag);
    double start = cr_now(), t0 = 0;
    int64_t rows = 0;
    bool done = false, any = true;
    while (code == CR_OK && !done && (t0 == 0 || cr_now() - t0 < seconds)) {
        cr_batch *b;
        code = cr_loader_next(l, &b, &done, &err);
        if (code == CR_OK && b) {
            code = cr_trainer_step(r->t, b, r->step++, &err);
            if (t0 > 0) rows += b->n_rows; /* the first batch fills caches and tables */
            if (t0 == 0) t0 = cr_now();
            cr_loader_release(l, b);
            any = true;
        } else if (code == CR_OK) {
            if (!any || cr_now() - start > 60) break; /* an epoch without a batch */
            any = false;
        }
        if (code != CR_OK) cr_diag_err(diag, &err);
    }
    *rows_per_s = t0 > 0 ? (double)rows / (cr_now() - t0) : 0;
    cr_loader_free(l);
    return code;
}

static cr_code measure(const cr_bench_opts *o, cr_bench_data *d, run *r, cr_bench *out,
                       cr_diag *diag) {
    cr_err err;
    double B = (double)d->batch_size, per_row = cr_bench_flops(d, true);
    int threads = cr_pool_threads(d->j.pool);
    cr_bench_time t = {0};
    double best, median;
    trainer_times t0 = cr_trainer_get_times(r->t);
    double cpu = (double)clock();
    if (o->files) {
        CR_TRY(pass(r, o->seconds, &best, diag));
        median = best;
    } else {
        if (cr_bench_repeat(o->seconds, one_step, r, &t, &err) != CR_OK)
            return cr_diag_err(diag, &err);
        best = B / t.best;
        median = B / t.median;
    }
    cpu = ((double)clock() - cpu) / CLOCKS_PER_SEC;
    trainer_times t1 = cr_trainer_get_times(r->t);
    double group = t1.group - t0.group, step = t1.step - t0.step, update = t1.update - t0.update;
    double all = group + step + update, peak = cr_bench_peak(d->j.pool, 0.3);
    cr_bench_add(out, "rows_per_s", best, "rows/s");
    cr_bench_add(out, "rows_per_s_median", median, "rows/s");
    cr_bench_add(out, "rows_per_cpu_s", (double)r->step * B / cpu, "rows/s");
    cr_bench_add(out, "batch_size", B, "rows");
    cr_bench_add(out, "threads", threads, "");
    cr_bench_add(out, "steps", (double)r->step, "");
    cr_bench_add(out, "group_share", 100 * group / all, "%");
    cr_bench_add(out, "step_share", 100 * step / all, "%");
    cr_bench_add(out, "update_share", 100 * update / all, "%");
    cr_bench_add(out, "flops_per_row", per_row, "");
    cr_bench_add(out, "gflops", best * per_row * 1e-9, "GFLOP/s");
    cr_bench_add(out, "peak_gflops", peak, "GFLOP/s");
    cr_bench_add(out, "share_of_peak", 100 * best * per_row * 1e-9 / peak, "%");
    cr_bench_add_memory(out, d);
    cr_bench_add(out, "loss", cr_trainer_loss(r->t, 0), "");
    return CR_OK;
}

cr_code cr_bench_train(const cr_bench_opts *o, cr_bench *out, cr_diag *diag) {
    cr_bench_data d;
    cr_err err;
    run r = {.d = &d};
    cr_code code = cr_bench_open(&d, o, true, o->files ? 0 : CR_BENCH_BATCHES, diag);
    if (code == CR_OK) {
        code = cr_trainer_new(&r.t, &d.j, &err);
        if (code != CR_OK) cr_diag_err(diag, &err);
    }
    if (code == CR_OK) {
        cr_trainer_begin(r.t, true);
        code = measure(o, &d, &r, out, diag);
    }
    if (r.t) cr_trainer_free(r.t);
    cr_bench_close(&d);
    return code;
}
