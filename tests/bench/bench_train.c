/*
 * bench_train.c - rows/s of the training step with the data held in memory: reads batches of a
 * config's training data once, then steps over them again and again. Prints the best and the median
 * window, and the share of each part of the step. bench_train CONFIG THREADS SECONDS [--set
 * a.b=v]...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/log.h"
#include "run/run_int.h"

#define MAX_BATCHES 64

/* a batch that lives as long as the arena */
static cr_batch *keep(const cr_batch *b, cr_arena *a) {
    cr_batch *c = CR_NEW(a, cr_batch);
    *c = *b;
    c->sparse = CR_NEW_N(a, cr_jagged, b->n_sparse);
    for (int i = 0; i < b->n_sparse; i++) {
        const cr_jagged *j = &b->sparse[i];
        int64_t n = j->off ? j->off[b->n_rows] : b->n_rows;
        int64_t *ids = CR_NEW_N(a, int64_t, n + 1);
        memcpy(ids, j->ids, (size_t)n * sizeof(int64_t));
        c->sparse[i] = (cr_jagged){.ids = ids, .n_ids = n};
        if (j->off) {
            int32_t *off = CR_NEW_N(a, int32_t, b->n_rows + 1);
            memcpy(off, j->off, (size_t)(b->n_rows + 1) * sizeof(int32_t));
            c->sparse[i].off = off;
        }
        if (j->w) {
            float *w = CR_NEW_N(a, float, n + 1);
            memcpy(w, j->w, (size_t)n * sizeof(float));
            c->sparse[i].w = w;
        }
    }
    float *dense = CR_NEW_N(a, float, b->n_rows * b->dense_width + 1);
    if (b->dense_width)
        memcpy(dense, b->dense, (size_t)(b->n_rows * b->dense_width) * sizeof(float));
    c->dense = dense;
    const float **labels = CR_NEW_N(a, const float *, b->n_labels + 1);
    for (int i = 0; i < b->n_labels; i++) {
        float *y = CR_NEW_N(a, float, b->n_rows);
        memcpy(y, b->labels[i], (size_t)b->n_rows * sizeof(float));
        labels[i] = y;
    }
    c->labels = labels;
    return c;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: bench_train CONFIG THREADS SECONDS [--set a.b=v]...\n");
        return 2;
    }
    const char *set[32];
    int n_set = 0;
    for (int i = 4; i + 1 < argc && n_set < 32; i += 2)
        set[n_set++] = argv[i + 1];
    double seconds = atof(argv[3]);
    cr_log_set_level(CR_LOG_ERROR);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_config_opts co = {.path = argv[1], .model_dir = "unused", .set = set, .n_set = n_set};
    job j;
    job_opts jo = {.config = &co, .threads = atoi(argv[2]), .train = true, .with_labels = true};
    trainer *t = NULL;
    cr_loader *l = NULL;
    cr_arena a;
    cr_arena_init(&a, 1 << 20);
    cr_code code = cr_job_open(&j, &jo, &diag);
    if (code == CR_OK) code = cr_job_alloc(&j, NULL);
    if (code == CR_OK) code = cr_trainer_new(&t, &j, NULL);
    for (size_t i = 0; i < diag.n; i++)
        fprintf(stderr, "%d: %s\n", diag.v[i].at.line, diag.v[i].msg);
    if (code != CR_OK) return 1;
    cr_model_fill(j.model, 1, j.pool);
    int64_t batch = j.root->data_config->batch_size;
    job_data d = {.paths = j.root->train_input_path,
                  .batch_size = batch,
                  .n_epochs = 1,
                  .drop_remainder = true};
    if (cr_job_loader(&j, &d, &l, &diag) != CR_OK) return 1;
    cr_batch *batches[MAX_BATCHES];
    int n = 0;
    for (bool done = false; !done && n < MAX_BATCHES;) {
        cr_batch *b;
        if (cr_loader_next(l, &b, &done, NULL) != CR_OK) return 1;
        if (!b) continue;
        batches[n++] = keep(b, &a);
        cr_loader_release(l, b);
    }
    cr_loader_free(l);
    if (n == 0) return 1;
    int64_t step = 0;
    for (int i = 0; i < 3; i++)
        if (cr_trainer_step(t, batches[i % n], step++, NULL) != CR_OK) return 1;
    static double per[100000];
    int n_per = 0;
    trainer_times t0 = cr_trainer_get_times(t);
    double start = cr_now(), best = 1e9, cpu = (double)clock();
    while (cr_now() - start < seconds && n_per < 100000) {
        double s = cr_now();
        if (cr_trainer_step(t, batches[step % n], step, NULL) != CR_OK) return 1;
        step++;
        per[n_per] = cr_now() - s;
        n_per++;
    }
    cpu = ((double)clock() - cpu) / CLOCKS_PER_SEC;
    /* best window of about half a second, as the peers report it */
    double sum = 0;
    for (int i = 0, from = 0; i < n_per; i++) {
        sum += per[i];
        while (sum - per[from] > 0.5)
            sum -= per[from++];
        if (sum > 0.4 && sum / (i - from + 1) < best) best = sum / (i - from + 1);
    }
    qsort(per, (size_t)n_per, sizeof(double), by_value);
    trainer_times t1 = cr_trainer_get_times(t);
    double all = (t1.group - t0.group) + (t1.step - t0.step) + (t1.update - t0.update);
    printf("batch %lld threads %d: best %.0f rows/s, median %.0f rows/s, "
           "%.0f rows per CPU second; group %.1f%% step %.1f%% "
           "update %.1f%%; loss %.4f\n",
           (long long)batch, atoi(argv[2]), (double)batch / best, (double)batch / per[n_per / 2],
           (double)batch * n_per / cpu, 100 * (t1.group - t0.group) / all,
           100 * (t1.step - t0.step) / all, 100 * (t1.update - t0.update) / all,
           cr_trainer_loss(t, 0));
    cr_trainer_free(t);
    cr_job_close(&j);
    cr_arena_clear(&a);
    cr_diag_clear(&diag);
    return 0;
}
