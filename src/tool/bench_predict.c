/*
 * bench_predict.c - `crank bench predict`: forward passes of the model as `crank predict` runs it,
 * over batches held in memory. The weights are first values drawn from the seed.
 */
#include <time.h>

#include "base/cpu.h"
#include "tool/bench_int.h"

typedef struct run {
    cr_model_work *w;
    const cr_bench_data *d;
} run;

static cr_code one_pass(void *ctx, int64_t call, cr_err *err) {
    run *r = ctx;
    const cr_batch *b = r->d->v[call % r->d->n];
    cr_step_input in = {.batch = b};
    cr_run pass = {.input = &in};
    return cr_model_run(r->w, b, &pass, err);
}

static cr_code measure(const cr_bench_opts *o, const cr_bench_data *d, cr_model_work *w,
                       cr_bench *out, cr_err *err) {
    double B = (double)d->batch_size, per_row = cr_bench_flops(d, false);
    double cpu = (double)clock();
    cr_bench_time t;
    CR_TRY(cr_bench_repeat(o->seconds, one_pass, &(run){w, d}, &t, err));
    cpu = ((double)clock() - cpu) / CLOCKS_PER_SEC;
    double best = B / t.best, calls = (double)t.calls + 1;
    double peak = cr_bench_peak(d->j.pool, d->j.mo.products, 0.3);
    cr_bench_add(out, "rows_per_s", best, "rows/s");
    cr_bench_add(out, "rows_per_s_median", B / t.median, "rows/s");
    cr_bench_add(out, "rows_per_cpu_s", calls * B / cpu, "rows/s");
    cr_bench_add(out, "batch_size", B, "rows");
    cr_bench_add(out, "threads", cr_pool_threads(d->j.pool), "");
    cr_bench_add(out, "steps", calls, "");
    cr_bench_add(out, "flops_per_row", per_row, "operations");
    cr_bench_add(out, "gflops", best * per_row * 1e-9, "GFLOP/s");
    cr_bench_add(out, "peak_gflops", peak, "GFLOP/s");
    cr_bench_add(out, "share_of_peak", 100 * best * per_row * 1e-9 / peak, "%");
    cr_bench_add_memory(out, d);
    return CR_OK;
}

cr_code cr_bench_predict(const cr_bench_opts *o, cr_bench *out, cr_diag *diag) {
    cr_bench_data d;
    cr_err err;
    cr_plan *plan = NULL;
    cr_model_work *w = NULL;
    cr_code code = cr_bench_open(&d, o, false, CR_BENCH_BATCHES, diag);
    if (code == CR_OK) {
        cr_plan_opts po = {.graph = &d.j.model->graph,
                           .mode = CR_EVAL,
                           .max_rows = d.batch_size,
                           .lanes = d.j.lanes};
        code = cr_plan_new(&plan, &po, &err);
        if (code == CR_OK) code = cr_model_work_new(&w, d.j.model, plan, d.j.pool, &err);
        if (code == CR_OK) {
            cr_plan_pack(plan, d.j.pool);
            code = measure(o, &d, w, out, &err);
        }
        if (code != CR_OK) cr_diag_err(diag, &err);
    }
    cr_model_work_free(w);
    cr_plan_free(plan);
    cr_bench_close(&d);
    return code;
}
