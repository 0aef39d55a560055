/*
 * holders.c - training with the lanes of every batch divided among several holders gives the bits
 * of training in one process: losses, all parameters, tables and optimizer state, metrics of
 * training and of evaluation. Holders are threads (holders.h), each with a model of its own.
 *
 * The data ends with a batch of fewer rows than lanes, so that some holders have none.
 */
#include "holders.h"
#include "run/train_metrics.h"
#include "unit/run/run_test.h"

#define BATCH     96 /* of all holders; a multiple of 2, 3 and 4 */
#define ROWS      (3 * BATCH + 5)
#define EVAL_ROWS (BATCH + 4)
#define MAX_SET   8

static const int splits[][MAX_HOLDERS + 1] = {{4, 4}, {2, 2, 2, 2}, {3, 3, 2}};
#define N_SPLITS ((int)(sizeof(splits) / sizeof(splits[0])))

typedef struct trial {
    const char *config, *set[MAX_SET];
    cr_buf seen[MAX_HOLDERS];
    bool fine[MAX_HOLDERS];
} trial;

/* opening a job is not made for several threads at once */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

typedef struct part {
    job j;
    trainer *t;
    train_metrics *tm;
    evaluator *ev;
    cr_loader *data;
    cr_diag diag;
} part;

static cr_code open_part(part *p, const trial *t, const cr_meet *meet) {
    char size[2][64];
    int share = BATCH / (meet ? meet->n : 1), n = 0;
    const char *set[MAX_SET + 3];
    snprintf(size[0], sizeof(size[0]), "data_config.batch_size=%d", share);
    snprintf(size[1], sizeof(size[1]), "data_config.eval_batch_size=%d", share);
    for (; n < MAX_SET && t->set[n]; n++)
        set[n] = t->set[n];
    set[n++] = size[0];
    set[n++] = size[1];
    set[n++] = "train_config.lanes=8";
    cr_config_opts co = {.path = t->config, .model_dir = "unused", .set = set, .n_set = n};
    job_opts jo = {
        .config = &co, .threads = meet ? 1 : 2, .train = true, .with_labels = true, .meet = meet};
    cr_err err;
    CR_TRY(cr_job_open(&p->j, &jo, &p->diag));
    if (cr_job_alloc(&p->j, &err) != CR_OK || cr_trainer_new(&p->t, &p->j, &err) != CR_OK ||
        cr_train_metrics_new(&p->tm, &p->j, cr_trainer_lanes(p->t), &err) != CR_OK ||
        cr_evaluator_new(&p->ev, &p->j, &err) != CR_OK)
        return cr_diag_err(&p->diag, &err);
    CR_TRY(cr_job_begin(&p->j, p->t, false, &p->diag));
    job_data d = {.paths = p->j.root->train_input_path,
                  .key = "train_input_path",
                  .batch_size = p->j.batch,
                  .n_epochs = 2,
                  .shuffle = true};
    return cr_job_loader(&p->j, &d, &p->data, &p->diag);
}

static void close_part(part *p) {
    show(&p->diag);
    if (p->data) cr_loader_free(p->data);
    cr_evaluator_free(p->ev);
    cr_train_metrics_free(p->tm);
    cr_trainer_free(p->t);
    cr_job_close(&p->j);
    cr_diag_clear(&p->diag);
}

/* a line that says what follows, so that a difference can be named, and the bytes */
static void note(cr_buf *out, const char *what, const void *bytes, size_t n) {
    cr_buf_printf(out, "\n%s\n", what);
    cr_buf_add(out, bytes, n);
}

static void note_results(cr_buf *out, const char *what, const cr_eval_result *r) {
    for (int i = 0; i < r->n; i++) {
        char name[256];
        snprintf(name, sizeof(name), "%s %s", what, r->v[i].name);
        note(out, name, &r->v[i].value, sizeof(double));
    }
}

static cr_code train(part *p, cr_buf *out) {
    cr_err err;
    int64_t step = 0;
    for (bool done = false; !done;) {
        cr_batch *b;
        if (cr_loader_next(p->data, &b, &done, &err) != CR_OK) return cr_diag_err(&p->diag, &err);
        if (!b) {
            cr_trainer_epoch_end(p->t);
            continue;
        }
        cr_code code = cr_trainer_step(p->t, b, step++, &err);
        if (code == CR_OK) code = cr_train_metrics_step(p->tm, p->t, b, &err);
        cr_loader_release(p->data, b);
        if (code != CR_OK) return cr_diag_err(&p->diag, &err);
        char what[64];
        snprintf(what, sizeof(what), "losses of step %d", (int)step);
        for (int k = 0; k < p->j.model->n_losses; k++) {
            double loss = cr_trainer_loss(p->t, k);
            note(out, what, &loss, sizeof(loss));
        }
    }
    CHECK_INT(step, 2 * 4);
    return CR_OK;
}

static cr_code finish(part *p, cr_buf *out) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_eval_result r;
    eval_run run = {.paths = cr_job_eval_paths(&p->j)};
    cr_trainer_swap_ema(p->t);
    cr_code code = cr_evaluator_run(p->ev, &run, &r, &a, &p->diag);
    cr_trainer_swap_ema(p->t);
    if (code == CR_OK) {
        CHECK_INT(r.rows, EVAL_ROWS);
        note(out, "rows", &r.rows, sizeof(r.rows));
        note_results(out, "metric", &r);
        note_results(out, "training metric", cr_train_metrics_result(p->tm));
    }
    int n;
    cr_ckpt_tensor *v = cr_job_tensors(&p->j, p->t, &a, &n);
    for (int i = 0; code == CR_OK && i < n; i++) {
        int64_t count = 1;
        for (int d = 0; d < v[i].n_dims; d++)
            count *= v[i].shape[d];
        float *x = calloc((size_t)count + 1, sizeof(float));
        v[i].get(v[i].ctx, 0, count, x);
        note(out, v[i].name, x, (size_t)count * sizeof(float));
        free(x);
    }
    cr_arena_clear(&a);
    return code;
}

static void run_part(trial *t, const cr_meet *meet, int number) {
    part p;
    memset(&p, 0, sizeof(p));
    cr_diag_init(&p.diag);
    cr_buf *out = &t->seen[number];
    cr_buf_init(out);
    pthread_mutex_lock(&one_at_a_time);
    cr_code code = open_part(&p, t, meet);
    pthread_mutex_unlock(&one_at_a_time);
    if (code == CR_OK) code = train(&p, out);
    if (code == CR_OK) code = finish(&p, out);
    t->fine[number] = code == CR_OK;
    pthread_mutex_lock(&one_at_a_time);
    close_part(&p);
    pthread_mutex_unlock(&one_at_a_time);
}

static void hold(holder *h, void *ctx) {
    run_part(ctx, &h->meet, h->number);
}

/* names what differs first; true: nothing does */
static bool same(const char *name, const cr_buf *whole, const cr_buf *b, int n_parts, int h) {
    size_t n = whole->n < b->n ? whole->n : b->n, at = 0;
    while (at < n && whole->data[at] == b->data[at])
        at++;
    if (at == n && whole->n == b->n) return true;
    const char *what = "";
    for (size_t i = 0; i + 1 < at; i++)
        if (whole->data[i] == '\n' && whole->data[i + 1] > ' ' && whole->data[i + 1] < 127)
            what = whole->data + i + 1; /* the newest line that may be a name */
    fprintf(stderr, "%s: holder %d of %d differs from one process at byte %zu of %zu: %.*s\n", name,
            h, n_parts, at, whole->n, (int)strcspn(what, "\n"), what);
    return false;
}

static void compare(const char *name, trial *t) {
    run_part(t, NULL, 0);
    CHECK(t->fine[0]);
    for (int s = 0; s < N_SPLITS && t->fine[0]; s++) {
        trial parts = *t;
        holders hs;
        holders_run(&hs, splits[s], hold, &parts);
        for (int h = 0; h < hs.n; h++) {
            CHECK(parts.fine[h] && same(name, &t->seen[0], &parts.seen[h], hs.n, h));
            cr_buf_clear(&parts.seen[h]);
        }
        CHECK(hs.meetings > 0);
    }
    cr_buf_clear(&t->seen[0]);
}

/* data for a config that others published, in a folder of its own */
static const char *data_for(const char *config, const char *name) {
    cr_config_opts c = {.path = config};
    cr_synth_opts o = {
        .rows = ROWS, .eval_rows = EVAL_ROWS, .seed = 3, .scale = 1, .dir = in_root(name)};
    cr_diag diag;
    cr_diag_init(&diag);
    CHECK_INT(cr_synth_for(&c, 2, &o, &diag), CR_OK);
    show(&diag);
    cr_diag_clear(&diag);
    char path[100];
    snprintf(path, sizeof(path), "%s/pipeline.yaml", name);
    return in_root(path);
}

TEST(published) {
    static const char *const names[] = {"dbmtl_dropout",
                                        "dbmtl_jrc_grouped",
                                        "dbmtl_weighted",
                                        "deepfm_encoded",
                                        "dlrm",
                                        "mask_net",
                                        "mmoe_space",
                                        "mmoe_weighted",
                                        "multi_tower",
                                        "multi_tower_din_mixed",
                                        "pepnet",
                                        "ple_seq",
                                        "rocket_launching_classes",
                                        "wukong"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[600];
        snprintf(path, sizeof(path), "%s/tests/published/%s.config", getenv("CRANK_SOURCE_ROOT"),
                 names[i]);
        trial t = {.config = data_for(path, names[i])};
        compare(names[i], &t);
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(published)};
    if (!root_open("holders")) return 1;
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return root_close(rc);
}
