/*
 * bench_table.c - lookups and updates of embedding tables larger than the last-level cache, by
 * storage type: rows and bytes per second.
 *
 *   bench_table [--threads N] [--mb TABLE] [--width D] [--optim NAME] [--seconds S]
 *
 * Without --width: 16, 64 and 128. A batch is 8192 random ids, one per row, so hardly any repeats.
 * Lookups go through cr_view_rows as the lookup op does it, a tile of rows at a time; updates
 * through the updater, grouping apart. All types have the same number of rows; TABLE is the size in
 * FP32. The types take turns, so that a busy machine slows all of them, and the best turn of each
 * counts. Bytes are the cache lines that a row's weights (lookup: read) or record (update: read and
 * written) lie in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "all_lanes.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "data/batch.h"
#include "emb/table.h"
#include "emb/update.h"
#include "kern/kern.h"
#include "optim/list.h"

enum { B = 8192, TILE = 252, BATCHES = 128, LANES = 8, TYPES = 3 };

static const struct rule {
    const char *name;
    const cr_optim_type *type;
    const cr_msg *msg;
} rules[] = {{"rowwise_adagrad", &cr_optim_rowwise_adagrad, &cr_optim_rowwise_adagrad_msg},
             {"adagrad", &cr_optim_adagrad, &cr_optim_row_adagrad_msg},
             {"sgd", &cr_optim_row_sgd, &cr_optim_row_sgd_msg},
             {"adam", &cr_optim_row_adam, &cr_optim_row_adam_msg}};

typedef struct bench {
    cr_table t;
    cr_updater *u;
    double look, update; /* seconds of the best batch */
} bench;

typedef struct look_job {
    const cr_table *t;
    const int64_t *ids;
    float *y; /* a tile per thread */
    int64_t ld;
} look_job;
static void look_tile(void *ctx, int64_t item, int thread) {
    const look_job *j = ctx;
    int64_t r = item * TILE, n = B - r < TILE ? B - r : TILE;
    cr_view v = cr_table_view(j->t, j->ids);
    cr_view_rows(&v, r, NULL, n, 0, j->y + thread * TILE * j->ld, j->ld);
}

/* cache lines of floats [0, n) of a record, on average over the places a record starts at */
static double lines(const cr_table *t, int64_t n) {
    int64_t sum = 0;
    for (int64_t i = 0; i < 16; i++) {
        int64_t first = i * t->stride / 16, last = (i * t->stride + n - 1) / 16;
        sum += last - first + 1;
    }
    return (double)sum / 16;
}

static double quicker(double best, double start) {
    double s = cr_now() - start;
    return s < best ? s : best;
}

int main(int argc, char **argv) {
    int threads = 2;
    double mb = 1024, seconds = 6;
    int64_t width = 0;
    const struct rule *rule = &rules[0];
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--threads") == 0) threads = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--mb") == 0) mb = atof(argv[i + 1]);
        if (strcmp(argv[i], "--width") == 0) width = atoll(argv[i + 1]);
        if (strcmp(argv[i], "--seconds") == 0) seconds = atof(argv[i + 1]);
        for (size_t r = 0; r < sizeof(rules) / sizeof(rules[0]); r++)
            if (strcmp(argv[i], "--optim") == 0 && strcmp(argv[i + 1], rules[r].name) == 0)
                rule = &rules[r];
    }
    cr_arena arena;
    cr_diag diag;
    cr_arena_init(&arena, 0);
    cr_diag_init(&diag);
    const void *conf = cr_conf_bind(&arena, rule->msg, NULL, &diag);
    static const char *const names[TYPES] = {"FP32", "BF16", "FP16"};
    static const int64_t widths[] = {16, 64, 128};
    cr_kern_init();
    cr_pool *pool;
    if (cr_pool_new(&pool, threads, NULL) != CR_OK) return 1;
    printf("%s, %d threads, %s, tables of %.0f MB in FP32\n", rule->name, threads,
           cr_cpu_level_name(cr_cpu_level_max()), mb);
    for (int w = 0; w < 3; w++) {
        int64_t D = widths[w], ld = D + 16;
        if (width && D != width) continue;
        int64_t rows = (int64_t)(mb * 1e6) / (4 * cr_table_stride(D, 0, rule->type));
        int64_t *ids = cr_alloc(BATCHES * B * sizeof(int64_t), "ids");
        float *grad = cr_alloc((size_t)(B * ld) * sizeof(float), "grad");
        float *y = cr_alloc((size_t)(threads * TILE * ld) * sizeof(float), "y");
        for (uint64_t i = 0; i < BATCHES * B; i++)
            ids[i] = (int64_t)cr_rng_below(7, i, (uint64_t)rows);
        for (int64_t i = 0; i < B * ld; i++)
            grad[i] = cr_rng_f32(8, (uint64_t)i) - 0.5f;
        bench b[TYPES];
        cr_init init = {.kind = CR_INIT_UNIFORM, .a = -0.1, .b = 0.1};
        for (int k = 0; k < TYPES; k++) {
            cr_table_spec spec = {.name = names[k],
                                  .n_rows = rows,
                                  .D = D,
                                  .half = k,
                                  .trainable = true,
                                  .optim = rule->type,
                                  .optim_conf = conf};
            b[k] = (bench){.look = 1e9, .update = 1e9};
            if (cr_table_init(&b[k].t, &spec, NULL) != CR_OK) return 1;
            cr_table_fill(&b[k].t, &init, 1, pool);
            b[k].u = cr_updater_new(all_lanes(LANES), pool);
            cr_updater_add(b[k].u, &b[k].t, &(cr_use){.grad = grad, .ld = ld}, 1);
        }
        double start = cr_now();
        for (int64_t step = 0; cr_now() - start < seconds / 3 || step < 2; step++) {
            int64_t *batch_ids = ids + step % BATCHES * B;
            cr_jagged sparse = {.ids = batch_ids, .n_ids = B};
            cr_batch batch = {.n_rows = B, .n_sparse = 1, .sparse = &sparse};
            cr_optim_step s = {.lr = 0.01, .t = step + 1};
            if (rule->type->prepare) rule->type->prepare(conf, &s);
            for (int k = 0; k < TYPES; k++) {
                look_job j = {&b[k].t, batch_ids, y, ld};
                double at = cr_now();
                cr_pool_run(pool, (B + TILE - 1) / TILE, look_tile, &j);
                b[k].look = quicker(b[k].look, at);
            }
            /* another batch: what was looked up is in the cache, as in training, but this measures
             * memory */
            sparse.ids = ids + (step + BATCHES / 2) % BATCHES * B;
            for (int k = 0; k < TYPES; k++) {
                cr_updater_group(b[k].u, &batch, NULL);
                double at = cr_now();
                cr_updater_apply(b[k].u, &s);
                b[k].update = quicker(b[k].update, at);
            }
        }
        for (int k = 0; k < TYPES; k++) {
            const cr_table *t = &b[k].t;
            double look = 64 * lines(t, cr_table_state_at(t)), upd = 128 * lines(t, t->stride);
            printf(
                "D %3lld %s: %5.2f GB, record %4lld bytes; lookup %6.1f M rows/s (%.2f x), %5.1f "
                "GB/s; update %6.1f M rows/s (%.2f x), %5.1f GB/s\n",
                (long long)D, names[k], (double)t->size * 1e-9, (long long)t->stride * 4,
                B / b[k].look * 1e-6, b[0].look / b[k].look, B / b[k].look * look * 1e-9,
                B / b[k].update * 1e-6, b[0].update / b[k].update, B / b[k].update * upd * 1e-9);
            fflush(stdout);
        }
        for (int k = 0; k < TYPES; k++) {
            cr_updater_free(b[k].u);
            cr_table_clear(&b[k].t);
        }
        cr_free(ids);
        cr_free(grad);
        cr_free(y);
    }
    cr_arena_clear(&arena);
    cr_pool_free(pool);
    return 0;
}
