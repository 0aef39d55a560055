/*
 * bench_train.c - `crank bench train`: steps over batches held in memory, or over the files.
 */
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "op/op.h"
#include "tool/bench_int.h"

double cr_bench_flops(const cr_bench_data *d, bool train) {
    const cr_model *m = d->j.model;
    double *steps = cr_alloc((size_t)(m->n_axes + 1) * sizeof(*steps), "steps"), rows = 0;
    for (int i = 0; i < m->n_axes; i++)
        steps[i] = 0;
    for (int b = 0; b < d->n; b++) {
        const int32_t *const *axes;
        if (cr_model_axes(d->axes, d->v[b], &axes, NULL) != CR_OK) continue;
        rows += (double)d->v[b]->n_rows;
        for (int i = 0; i < m->n_axes; i++)
            steps[i] += axes[i][d->v[b]->n_rows];
    }
    for (int i = 0; i < m->n_axes; i++)
        steps[i] = rows > 0 ? steps[i] / rows : 0;
    double flops = cr_graph_flops(&m->graph, steps, train);
    cr_free(steps);
    return flops;
}

/* What a batch does to one table: how many ids it looks up, and how many of them are distinct. seen
 * has a bit per row, all 0 before and after. */
typedef struct traffic {
    uint64_t *seen;
    int64_t ids, distinct;
} traffic;

static void see(traffic *t, const cr_jagged *j, int64_t from, int64_t end, bool forget) {
    if (j->off) from = j->off[from], end = j->off[end];
    for (int64_t i = from; i < end; i++) {
        uint64_t *word = &t->seen[j->ids[i] >> 6], bit = (uint64_t)1 << (j->ids[i] & 63);
        if (forget) {
            *word = 0;
            continue;
        }
        t->ids++;
        t->distinct += (*word & bit) == 0;
        *word |= bit;
    }
}

static cr_code see_batch(traffic *t, const cr_bench_data *d, const cr_model_table *table,
                         const cr_batch *b, bool forget, cr_err *err) {
    const int32_t *const *axes;
    CR_TRY(cr_model_axes(d->axes, b, &axes, err));
    CR_TRY(cr_model_map_batch(d->axes, b, &b, err));
    for (int k = 0; k < table->n_uses; k++) {
        const cr_node *node = table->uses[k].node;
        int count;
        const cr_look *look = cr_lookup_pieces(node, &count) + table->uses[k].piece;
        const cr_jagged *j = &b->sparse[look->slot];
        if (node->cls != CR_SEQ) {
            see(t, j, 0, b->n_rows, forget);
            continue;
        }
        const int32_t *axis = axes[node->axis];
        for (int64_t r = 0; r < b->n_rows; r++) {
            int64_t len = j->steps[r + 1] - j->steps[r], most = axis[r + 1] - axis[r];
            see(t, j, j->steps[r], j->steps[r] + (len < most ? len : most), forget);
        }
    }
    return CR_OK;
}

/* table_traffic computes the bytes of table rows that training moves per row of the held batches:
 * for every id its weights (lookup) and their gradient (update) once; for every distinct id of a
 * table in a batch, its weights and state read and written. For tables that are not trained only
 * the lookup counts. */
static cr_code table_traffic(const cr_bench_data *d, double *per_row, cr_err *err) {
    const cr_model *m = d->j.model;
    double bytes = 0, rows = 0;
    for (int b = 0; b < d->n; b++)
        rows += (double)d->v[b]->n_rows;
    for (int i = 0; i < m->n_tables; i++) {
        const cr_model_table *table = m->tables[i];
        traffic t = {0};
        void *seen;
        size_t size = (size_t)(table->n_rows / 64 + 1) * sizeof(*t.seen);
        CR_TRY(cr_try_alloc(&seen, size, "a bit per table row", err));
        t.seen = seen;
        cr_code code = CR_OK;
        for (int b = 0; code == CR_OK && b < d->n; b++) {
            code = see_batch(&t, d, table, d->v[b], false, err);
            if (code == CR_OK) code = see_batch(&t, d, table, d->v[b], true, err);
        }
        cr_free(t.seen);
        CR_TRY(code);
        bool trained = table->updater >= 0;
        bytes += 4 * (double)t.ids * (double)(table->table.n_weights + (trained ? table->D : 0));
        if (trained) bytes += 2 * 4 * (double)t.distinct * (double)table->table.stride;
    }
    *per_row = rows > 0 ? bytes / rows : 0;
    return CR_OK;
}

/* Measured from the end of the first step, which fills caches and tables. */
typedef struct run {
    cr_trainer *t;
    cr_bench_data *d;
    int64_t step;
    cr_trainer_times times;
    /* warm: their values at that time; finish: the difference since then */
    double cpu, read_wait, sent;
} run;

static double sent(const run *r) {
    return r->d->j.comm ? (double)cr_comm_sent(r->d->j.comm) : 0;
}

static void warm(run *r, double read_wait) {
    r->times = cr_trainer_get_times(r->t);
    r->cpu = (double)clock() / CLOCKS_PER_SEC;
    r->read_wait = read_wait;
    r->sent = sent(r);
}
static void finish(run *r, double read_wait) {
    cr_trainer_times t = cr_trainer_get_times(r->t);
    r->times = (cr_trainer_times){t.group - r->times.group, t.step - r->times.step,
                                  t.update - r->times.update};
    r->cpu = (double)clock() / CLOCKS_PER_SEC - r->cpu;
    r->read_wait = read_wait - r->read_wait;
    r->sent = sent(r) - r->sent;
}

static cr_code one_step(void *ctx, int64_t call, cr_err *err) {
    run *r = ctx;
    int64_t step = r->step++;
    CR_TRY(cr_trainer_step(r->t, r->d->v[step % r->d->n], step, err));
    if (call == 0) warm(r, 0);
    return CR_OK;
}

static double waited(cr_loader *l) {
    cr_loader_stats s;
    cr_loader_get_stats(l, &s);
    return s.wait_s;
}

/* Makes steps over the files, again and again, for `seconds` after the first step. */
static cr_code from_files(run *r, double seconds, double *best, double *median, cr_diag *diag) {
    cr_bench_data *d = r->d;
    cr_err err;
    cr_job_data jd = {.paths = d->j.root->train_input_path,
                      .key = "train_input_path",
                      .batch_size = d->batch_size,
                      .n_epochs = 0,
                      .drop_remainder = true};
    cr_loader *l = NULL;
    cr_bench_windows *w = CR_NEW(&d->arena, cr_bench_windows);
    cr_code code = cr_job_loader(&d->j, &jd, &l, diag);
    double end = 0;
    while (code == CR_OK && (w->n < 3 || cr_now() < end)) {
        cr_batch *b;
        bool done; /* never: the number of epochs is unlimited */
        code = cr_loader_next(l, &b, &done, &err);
        if (code == CR_OK && b) {
            code = cr_trainer_step(r->t, b, r->step++, &err);
            if (r->step == 1) {
                warm(r, waited(l));
                end = cr_now() + seconds;
                cr_bench_window_begin(w, seconds);
            } else {
                cr_bench_window_add(w, (double)b->n_rows);
            }
            cr_loader_release(l, b);
        }
        if (code != CR_OK) cr_diag_err(diag, &err);
    }
    if (code == CR_OK) finish(r, waited(l));
    cr_bench_window_rates(w, best, median);
    cr_loader_free(l);
    return code;
}

static void add_times(const cr_bench_opts *o, const run *r, cr_bench *out) {
    static const char *const keys[][2] = {{"group_s", "group_share"},
                                          {"step_s", "step_share"},
                                          {"update_s", "update_share"},
                                          {"read_wait_s", "read_wait_share"}};
    double v[] = {r->times.group, r->times.step, r->times.update, r->read_wait}, all = 0;
    int n = o->files ? 4 : 3;
    for (int i = 0; i < n; i++)
        all += v[i];
    for (int i = 0; i < n; i++) {
        cr_bench_add(out, keys[i][0], v[i] / (double)(r->step - 1), "s");
        cr_bench_add(out, keys[i][1], 100 * v[i] / all, "%");
    }
}

/* The stream comes last, because its arrays would count in the peak of memory. */
/* Returns what all ranks reach together of a limit that each of them measured, all at the same
 * time. */
static double of_ranks(const cr_bench_data *d, double here) {
    return d->j.comm ? cr_bench_total(d->j.comm, here) : here;
}

static void add_bytes(cr_bench *out, const cr_bench_data *d, double rows_per_s, double per_row) {
    double stream = of_ranks(d, cr_bench_stream(d->j.pool, 0.3));
    cr_bench_add(out, "bytes_per_row", per_row, "bytes");
    cr_bench_add(out, "bytes_per_s", rows_per_s * per_row, "bytes/s");
    if (!(stream > 0)) return;
    cr_bench_add(out, "stream_bytes_per_s", stream, "bytes/s");
    cr_bench_add(out, "share_of_stream", 100 * rows_per_s * per_row / stream, "%");
}

/* Adds what the ranks send to each other, and how much of it must be. */
static cr_code add_sent(const run *r, cr_bench *out, cr_err *err) {
    cr_comm *comm = r->d->j.comm;
    double least, rows = (double)(r->step - 1) * (double)r->d->batch_size;
    if (!comm) return CR_OK;
    CR_TRY(cr_bench_least(r->d, &least, err));
    double all = cr_bench_total(comm, r->sent) / rows;
    cr_bench_add(out, "ranks", cr_comm_size(comm), "");
    cr_bench_add(out, "sent_bytes_per_row", all, "bytes");
    cr_bench_add(out, "least_bytes_per_row", least, "bytes");
    if (least > 0) cr_bench_add(out, "sent_to_least", all / least, "");
    return CR_OK;
}

static cr_code measure(const cr_bench_opts *o, cr_bench_data *d, run *r, cr_bench *out,
                       cr_diag *diag) {
    cr_err err;
    double B = (double)d->batch_size, per_row = cr_bench_flops(d, true), bytes, best, median;
    if (table_traffic(d, &bytes, &err) != CR_OK) return cr_diag_err(diag, &err);
    if (o->files) {
        CR_TRY(from_files(r, o->seconds, &best, &median, diag));
    } else {
        cr_bench_time t;
        if (cr_bench_repeat_all(o->comm, o->seconds, one_step, r, &t, &err) != CR_OK)
            return cr_diag_err(diag, &err);
        finish(r, 0);
        best = B / t.best;
        median = B / t.median;
    }
    double peak = of_ranks(d, cr_bench_peak(d->j.pool, d->j.mo.products, 0.3));
    cr_bench_add(out, "rows_per_s", best, "rows/s");
    cr_bench_add(out, "rows_per_s_median", median, "rows/s");
    cr_bench_add(out, "rows_per_cpu_s", (double)(r->step - 1) * B / of_ranks(d, r->cpu), "rows/s");
    cr_bench_add(out, "batch_size", B, "rows");
    cr_bench_add(out, "threads", cr_pool_threads(d->j.pool), "");
    cr_bench_add(out, "steps", (double)r->step, "");
    add_times(o, r, out);
    cr_bench_add(out, "flops_per_row", per_row, "operations");
    cr_bench_add(out, "gflops", best * per_row * 1e-9, "GFLOP/s");
    cr_bench_add(out, "peak_gflops", peak, "GFLOP/s");
    cr_bench_add(out, "share_of_peak", 100 * best * per_row * 1e-9 / peak, "%");
    cr_bench_add_memory(out, d);
    if (add_sent(r, out, &err) != CR_OK) return cr_diag_err(diag, &err);
    add_bytes(out, d, best, bytes);
    cr_bench_add(out, "loss", cr_trainer_loss(r->t, 0), "");
    return CR_OK;
}

cr_code cr_bench_train(const cr_bench_opts *o, cr_bench *out, cr_diag *diag) {
    cr_bench_data d;
    cr_err err;
    run r = {.d = &d};
    cr_code code = cr_bench_open(&d, o, true, o->files ? CR_BENCH_COUNTED : CR_BENCH_BATCHES, diag);
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
