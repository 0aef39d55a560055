/*
 * callers.c - one plan, several callers at once: every golden model predicts the same bits whether
 * its batches come one by one on one thread, or at the same time from threads that have a pool of
 * their own, share one, or have none. Also: what a batch sizes is an error and no abort.
 */
#include <dirent.h>
#include <pthread.h>

#include "golden/golden.h"
#include "tool/bench_int.h"
#include "unit/run/run_test.h"

#define CALLERS     6
#define ROUNDS      3
#define MAX_BATCHES 8
#define BATCH       40 /* a golden case has 160 rows */

/* What one caller after the other would get: the outputs of every batch. */
typedef struct expected {
    const cr_bench_data *d;
    const cr_plan *plan;
    float *v[MAX_BATCHES]; /* outputs side by side, without gaps */
    int64_t width;
} expected;

static cr_code predict(cr_model_work *w, const cr_batch *b, cr_err *err) {
    cr_step_input in = {.batch = b};
    cr_run run = {.input = &in};
    return cr_model_run(w, b, &run, err);
}

static void take_outputs(const cr_model_work *w, int64_t rows, int64_t width, float *to) {
    const cr_model *m = w->m;
    int64_t at = 0;
    for (int i = 0; i < m->n_outputs; at += m->outputs[i++].node->width)
        for (int64_t r = 0; r < rows; r++)
            memcpy(to + r * width + at,
                   cr_work_val(w->w, m->outputs[i].node) + r * cr_ld(m->outputs[i].node),
                   (size_t)m->outputs[i].node->width * sizeof(float));
}

/* the first rows of a batch as a batch */
static cr_batch first_rows(const cr_batch *b, int64_t n) {
    cr_batch c = *b;
    c.n_rows = n < b->n_rows ? n : b->n_rows;
    return c;
}

/* how many rows of batch k differ from what is expected, among the first n */
static int64_t differs(const expected *e, cr_model_work *w, int k, int64_t n, float *some) {
    cr_batch b = first_rows(e->d->v[k], n);
    cr_err err;
    if (predict(w, &b, &err) != CR_OK) {
        fprintf(stderr, "%s: %s\n", t_name, err.msg);
        return b.n_rows;
    }
    take_outputs(w, b.n_rows, e->width, some);
    int64_t bad = 0;
    for (int64_t r = 0; r < b.n_rows; r++)
        bad += memcmp(some + r * e->width, e->v[k] + r * e->width,
                      (size_t)e->width * sizeof(float)) != 0;
    return bad;
}

typedef struct caller {
    const expected *e;
    cr_pool *pool;
    int number;
    int64_t bad;
    pthread_barrier_t *gate;
    pthread_t thread;
} caller;

static void *call(void *arg) {
    static const int64_t sizes[] = {BATCH, 1, 17, 0};
    caller *c = arg;
    const expected *e = c->e;
    cr_model_work *w;
    float *some = calloc((size_t)(BATCH * e->width + 1), sizeof(float));
    pthread_barrier_wait(c->gate);
    if (cr_model_work_new(&w, e->d->j.model, e->plan, c->pool, NULL) != CR_OK) {
        c->bad = 1;
        w = NULL;
    }
    for (int r = 0; w && r < ROUNDS; r++)
        for (int k = 0; k < e->d->n; k++)
            c->bad += differs(e, w, (k + c->number) % e->d->n, sizes[(r + k) % 4], some);
    cr_model_work_free(w);
    free(some);
    return NULL;
}

static void all_at_once(const expected *e) {
    caller v[CALLERS];
    pthread_barrier_t gate;
    cr_pool *own;
    CHECK_INT(cr_pool_new(&own, 2, NULL), 0);
    pthread_barrier_init(&gate, NULL, CALLERS);
    for (int i = 0; i < CALLERS; i++) {
        v[i] = (caller){.e = e, .number = i, .gate = &gate};
        v[i].pool = i == 0 ? own : i < 3 ? e->d->j.pool : NULL;
        CHECK_INT(pthread_create(&v[i].thread, NULL, call, &v[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(v[i].thread, NULL);
        CHECK_INT(v[i].bad, 0);
    }
    pthread_barrier_destroy(&gate);
    cr_pool_free(own);
}

/* too many rows, and memory that cannot be had at any one place: an error, and then as before */
static void refusals(const expected *e) {
    const cr_model *m = e->d->j.model;
    cr_model_work *w;
    cr_err err;
    float *some = calloc((size_t)(BATCH * e->width + 1), sizeof(float));
    CHECK_INT(cr_model_work_new(&w, m, e->plan, NULL, NULL), 0);
    cr_batch many = *e->d->v[0], less = many;
    many.n_rows = BATCH + 1;
    less.n_rows = -1;
    CHECK_INT(predict(w, &many, &err), CR_EUSAGE);
    CHECK(strstr(err.msg, "41 rows") && strstr(err.msg, "at most 40") && strstr(err.msg, "fewer"));
    CHECK_INT(predict(w, &less, &err), CR_EUSAGE);
    CHECK_INT(differs(e, w, 0, 1, some), 0);
    int failed = 0;
    for (uint64_t n = 1; n < 100; n++) {
        cr_alloc_fail_after(n);
        cr_code code = predict(w, e->d->v[0], &err); /* the first with all rows */
        cr_alloc_fail_after(0);
        if (code == CR_OK) break;
        failed++;
        CHECK_INT(code, CR_ENOMEM);
        CHECK_INT(differs(e, w, 0, 1, some), 0);
    }
    CHECK(failed > 0 && failed < 99);
    CHECK_INT(differs(e, w, 0, BATCH, some), 0);
    cr_model_work_free(w);
    free(some);
}

/* a plan of one output has its bits, and fewer calls */
static void one_output(const expected *e) {
    const cr_model *m = e->d->j.model;
    cr_plan *plan;
    cr_model_work *w;
    const cr_node *n = m->outputs[m->n_outputs - 1].node;
    cr_plan_opts po = {.graph = &e->d->j.model->graph,
                       .mode = CR_EVAL,
                       .max_rows = BATCH,
                       .lanes = 8,
                       .outputs = &n,
                       .n_outputs = 1};
    CHECK_INT(cr_plan_new(&plan, &po, NULL), 0);
    cr_plan_pack(plan, NULL);
    CHECK_INT(cr_model_work_new(&w, m, plan, NULL, NULL), 0);
    CHECK_INT(predict(w, e->d->v[0], NULL), 0);
    const float *got = cr_work_val(w->w, n);
    int64_t bad = 0;
    for (int64_t r = 0; r < e->d->v[0]->n_rows; r++)
        bad += memcmp(got + r * cr_ld(n), e->v[0] + (r + 1) * e->width - n->width,
                      (size_t)n->width * sizeof(float)) != 0;
    CHECK_INT(bad, 0);
    cr_model_work_free(w);
    cr_plan_free(plan);
}

static void run_case(const char *name) {
    char rel[320], path[512], data[512];
    snprintf(rel, sizeof(rel), "%s/pipeline.config", name);
    golden_path(path, sizeof(path), rel);
    snprintf(rel, sizeof(rel), "%s/data.csv", name);
    golden_path(data, sizeof(data), rel);
    cr_diag diag;
    cr_diag_init(&diag);
    const char *set[] = {"data_config.batch_size=40", "data_config.eval_batch_size=40"};
    cr_bench_opts o = {.config = {.path = path,
                                  .train_input_path = data,
                                  .model_dir = "unused",
                                  .set = set,
                                  .n_set = 2},
                       .threads = 3};
    cr_bench_data d;
    cr_code code = cr_bench_open(&d, &o, false, MAX_BATCHES, &diag);
    show(&diag);
    CHECK_INT(code, 0);
    expected e = {.d = &d};
    cr_plan *plan = NULL;
    cr_model_work *w = NULL;
    if (code == CR_OK) {
        cr_plan_opts po = {.graph = &d.j.model->graph,
                           .mode = CR_EVAL,
                           .max_rows = BATCH,
                           .lanes = 8};
        CHECK_INT(cr_plan_new(&plan, &po, NULL), 0);
        CHECK_INT(cr_model_work_new(&w, d.j.model, plan, NULL, NULL), 0);
        cr_plan_pack(plan, d.j.pool);
        e.plan = plan;
        for (int i = 0; i < d.j.model->n_outputs; i++)
            e.width += d.j.model->outputs[i].node->width;
        CHECK(d.n > 1 && e.width > 0);
        for (int k = 0; k < d.n; k++) {
            e.v[k] = calloc((size_t)(BATCH * e.width), sizeof(float));
            CHECK_INT(predict(w, d.v[k], NULL), 0);
            take_outputs(w, d.v[k]->n_rows, e.width, e.v[k]);
        }
        all_at_once(&e);
        refusals(&e);
        one_output(&e);
    }
    for (int k = 0; k < MAX_BATCHES; k++)
        free(e.v[k]);
    cr_model_work_free(w);
    cr_plan_free(plan);
    cr_bench_close(&d);
    cr_diag_clear(&diag);
}

static int only_dirs(const struct dirent *e) {
    /* configs of PaddleRec are not read here: tests/unit/train/golden.c runs them */
    if (strncmp(e->d_name, "paddle_", 7) == 0) return 0;
    return e->d_type == DT_DIR && e->d_name[0] != '.';
}

int main(int argc, char **argv) {
    char dir[512];
    cr_log_set_level(CR_LOG_ERROR);
    golden_path(dir, sizeof(dir), "");
    struct dirent **list = NULL;
    int n = scandir(dir, &list, only_dirs, alphasort), passed = 0, failed = 0;
    for (int i = 0; i < n; i++) {
        t_name = list[i]->d_name;
        t_failed_checks = 0;
        if (argc < 2 || strcmp(argv[1], t_name) == 0) {
            run_case(t_name);
            if (t_failed_checks) fprintf(stderr, "%s: failed\n", t_name);
            t_failed_checks ? failed++ : passed++;
        }
        free(list[i]);
    }
    free(list);
    printf("%d passed, %d failed\n", passed, failed);
    return failed || passed == 0;
}
