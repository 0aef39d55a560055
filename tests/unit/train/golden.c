/*
 * golden.c - ten training steps of every model, layer, loss, embedding and table rule against
 * PyTorch (tests/golden/README.md): first logits, gradients, losses, final parameters, scores
 * afterwards.
 */
#include <dirent.h>

#include "base/file.h"
#include "golden/golden.h"
#include "harness.h"
#include "op/op.h"
#include "train/step.h"
#include "unit/train/golden_blocks.h"

/* |a - b| <= tol * (0.01 + |b|); ten times what float32 torch itself is off */
#define TOL_LOGIT 3e-5
#define TOL_GRAD  3e-5
#define TOL_LOSS  2e-6
#define TOL_FINAL 3e-4

static bool near(double a, double b, double tol) {
    return fabs(a - b) <= tol * (0.01 + fabs(b));
}

static int compare(const char *what, const golden_tensor *want, const float *got, int64_t n,
                   int64_t width, int64_t stride, double tol) {
    int bad = 0;
    for (int64_t i = 0; i < n; i++) {
        double g = (double)got[i / width * stride + i % width];
        if (near(g, want->v[i], tol)) continue;
        if (bad++ < 3)
            fprintf(stderr, "  %s %s [%lld]: %.9g, expected %.9g\n", t_name, what, (long long)i, g,
                    want->v[i]);
    }
    return bad;
}

static const struct rebuilt *as_blocks; /* of this case; NULL: the model as it is built in */

static const golden_tensor *find(const golden *g, const char *prefix, const char *name) {
    char key[512];
    static const char model[] = "model.";
    for (int i = 0; as_blocks && as_blocks->renames[i]; i += 2) {
        const char *ours = as_blocks->renames[i];
        size_t n = strlen(ours);
        if (strncmp(name, model, 6) != 0 || strncmp(name + 6, ours, n) != 0) continue;
        snprintf(key, sizeof(key), "%s%s%s%s", prefix, model, as_blocks->renames[i + 1],
                 name + 6 + n);
        return golden_find(g, key);
    }
    snprintf(key, sizeof(key), "%s%s", prefix, name);
    return golden_find(g, key);
}

/* sets every parameter from init/…; each of ours must be there, or be a counter */
static void set_params(cr_job *j, const golden *g) {
    int n;
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_ckpt_tensor *v = cr_job_tensors(j, NULL, &a, &n);
    for (int i = 0; i < n; i++) {
        const golden_tensor *t = find(g, "init/", v[i].name);
        if (!t) {
            if (!strstr(v[i].name, "num_batches_tracked")) {
                fprintf(stderr, "%s: no golden value for %s\n", t_name, v[i].name);
                CHECK(t != NULL);
            }
            continue;
        }
        CHECK_INT(t->n_dims, v[i].n_dims);
        for (int d = 0; d < t->n_dims && d < v[i].n_dims; d++)
            CHECK_INT(t->dims[d], v[i].shape[d]);
        float *x = CR_NEW_N(&a, float, t->n);
        for (int64_t k = 0; k < t->n; k++)
            x[k] = (float)t->v[k];
        v[i].put(v[i].ctx, 0, t->n, x);
    }
    cr_arena_clear(&a);
}

/* parameters, and of the optimizer's state what the case lists */
static void check_final(cr_job *j, const cr_trainer *tr, const golden *g) {
    int n;
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_ckpt_tensor *v = cr_trainer_tensors(j, tr, &a, &n);
    for (int i = 0; i < n; i++) {
        const golden_tensor *t = find(g, "final/", v[i].name);
        if (!t) continue;
        float *x = CR_NEW_N(&a, float, t->n);
        v[i].get(v[i].ctx, 0, t->n, x);
        CHECK_INT(compare(v[i].name, t, x, t->n, t->n, 0, TOL_FINAL), 0);
    }
    cr_arena_clear(&a);
}

/* the logits (or y) of every task: golden <prefix>logits<suffix> */
static void check_logits(cr_job *j, const golden *g, const char *prefix, const cr_batch *b) {
    cr_plan *plan;
    cr_model_work *w;
    cr_plan_opts po = {.graph = &j->model->graph, .mode = CR_EVAL, .max_rows = 64, .lanes = 8};
    CHECK_INT(cr_plan_new(&plan, &po, NULL), 0);
    CHECK_INT(cr_model_work_new(&w, j->model, plan, j->pool, NULL), 0);
    cr_plan_pack(plan, j->pool);
    cr_step_input in = {.batch = b};
    cr_run run = {.input = &in};
    CHECK_INT(cr_model_run(w, b, &run, NULL), 0);
    int checked = 0;
    for (int i = 0; i < j->model->n_outputs; i++) {
        const char *name = j->model->outputs[i].name;
        const cr_node *node = j->model->outputs[i].node;
        bool y = name[0] == 'y';
        if (!y && strncmp(name, "logits", 6) != 0) continue;
        char key[256];
        snprintf(key, sizeof(key), "%slogits%s", prefix, name + (y ? 1 : 6));
        const golden_tensor *t = golden_find(g, key);
        CHECK(t != NULL);
        if (!t) continue;
        CHECK_INT(t->n, b->n_rows * node->width);
        CHECK_INT(compare(key, t, cr_work_val(w->w, node), t->n, node->width, cr_ld(node),
                          TOL_LOGIT),
                  0);
        checked++;
    }
    CHECK(checked > 0);
    cr_model_work_free(w);
    cr_plan_free(plan);
}

/* dense gradients of the first step */
static void check_grads(cr_job *j, const golden *g, const cr_batch *b) {
    cr_plan *plan;
    cr_model_work *w;
    cr_plan_opts po = {.graph = &j->model->graph, .mode = CR_TRAIN, .max_rows = 64, .lanes = 8};
    CHECK_INT(cr_plan_new(&plan, &po, NULL), 0);
    CHECK_INT(cr_model_work_new(&w, j->model, plan, j->pool, NULL), 0);
    cr_plan_pack(plan, j->pool);
    float *scale[CR_MAX_TASKS] = {0};
    for (int k = 0; k < j->model->n_weights; k++)
        scale[k] = calloc((size_t)b->n_rows, sizeof(float));
    cr_model_scales(j->model, b, cr_plan_lanes(plan), scale);
    cr_step_input in = {.batch = b,
                        .scale = (const float *const *)scale,
                        .n_scale = j->model->n_weights};
    cr_run run = {.input = &in};
    CHECK_INT(cr_model_run(w, b, &run, NULL), 0);
    int checked = 0;
    for (int i = 0; i < j->model->graph.n; i++) {
        const cr_node *p = j->model->graph.nodes[i];
        if (p->cls != CR_PARAM || !p->trainable) continue;
        const golden_tensor *t = find(g, "grad/", p->name);
        CHECK(t != NULL);
        if (!t) continue;
        float *x = calloc((size_t)p->width, sizeof(float));
        cr_work_sum_grads(w->w, p->offset, p->width, x);
        CHECK_INT(compare(p->name, t, x, t->n, t->n, 0, TOL_GRAD), 0);
        free(x);
        checked++;
    }
    CHECK(checked > 0);
    for (int k = 0; k < CR_MAX_TASKS; k++)
        free(scale[k]);
    cr_model_work_free(w);
    cr_plan_free(plan);
}

static void restore_buffers(cr_job *j, const golden *g) {
    set_params(j, g);
}

/* groups whose features are part of another group's have no lookup of their own */
static void check_lookups(const cr_job *j, const char *name) {
    static const struct {
        const char *name;
        int n;
    } cases[] = {{"deepfm_fm", 2}, {"deepfm_fm_final", 2}, {"multi_tower_din", 3}};
    int n = 0;
    for (int i = 0; i < j->model->graph.n; i++)
        n += j->model->graph.nodes[i]->op == &cr_op_lookup ||
             j->model->graph.nodes[i]->op == &cr_op_lookup_seq;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, name) == 0) CHECK_INT(n, cases[i].n);
}

static void run_case(const char *name, int threads) {
    char rel[320], path[512], data[512];
    snprintf(rel, sizeof(rel), "%s/expect.txt", name);
    golden g;
    golden_load(&g, rel);
    snprintf(rel, sizeof(rel), "%s/pipeline.config", name);
    golden_path(path, sizeof(path), rel);
    snprintf(rel, sizeof(rel), "%s/data.csv", name);
    golden_path(data, sizeof(data), rel);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_config_opts co = {.path = path, .train_input_path = data, .model_dir = "unused"};
    if (as_blocks) {
        co.set = &as_blocks->config;
        co.n_set = 1;
    }
    cr_job j;
    cr_job_opts jo = {.config = &co, .threads = threads, .train = true, .with_labels = true};
    cr_code code = cr_job_open(&j, &jo, &diag);
    for (size_t i = 0; i < diag.n; i++)
        if (diag.v[i].sev == CR_SEV_ERROR)
            fprintf(stderr, "%s:%d: %s\n", name, diag.v[i].at.line, diag.v[i].msg);
    CHECK_INT(code, 0);
    cr_trainer *t = NULL;
    cr_loader *l = NULL;
    if (code == CR_OK && cr_job_alloc(&j, NULL) == CR_OK && cr_trainer_new(&t, &j, NULL) == CR_OK) {
        check_lookups(&j, name);
        cr_model_fill(j.model, 1, j.pool);
        set_params(&j, &g);
        cr_job_data d = {.paths = data,
                         .batch_size = j.root->data_config->batch_size,
                         .n_epochs = 1};
        CHECK_INT(cr_job_loader(&j, &d, &l, &diag), 0);
    }
    const golden_tensor *loss = golden_find(&g, "loss");
    CHECK(loss != NULL);
    int64_t step = 0;
    for (bool done = false; l && !done;) {
        cr_batch *b;
        cr_err err;
        code = cr_loader_next(l, &b, &done, &err);
        if (code != CR_OK) fprintf(stderr, "%s: %s\n", name, err.msg);
        CHECK_INT(code, 0);
        if (code != CR_OK) break;
        if (!b) continue;
        if (step == 0) {
            bool differ = strstr(name, "bn") || strstr(name, "dice") || strstr(name, "variational");
            if (!differ) check_logits(&j, &g, "", b); /* golden logits are of training mode */
            check_grads(&j, &g, b);
            restore_buffers(&j, &g); /* the running statistics moved */
        }
        CHECK_INT(cr_trainer_step(t, b, step, NULL), 0);
        double sum = cr_trainer_total(t);
        if (loss && step < loss->n && !near(sum, loss->v[step], TOL_LOSS)) {
            fprintf(stderr, "%s: loss of step %d is %.9g, expected %.9g\n", name, (int)step, sum,
                    loss->v[step]);
            CHECK(false);
        }
        step++;
        cr_loader_release(l, b);
    }
    CHECK_INT(step, 10);
    if (step == 10) check_final(&j, t, &g);
    cr_loader_free(l);
    l = NULL;
    if (step == 10) {
        cr_job_data d = {.paths = data,
                         .batch_size = j.root->data_config->batch_size,
                         .n_epochs = 1};
        bool done;
        cr_batch *b = NULL;
        CHECK_INT(cr_job_loader(&j, &d, &l, &diag), 0);
        CHECK_INT(cr_loader_next(l, &b, &done, NULL), 0);
        if (b) check_logits(&j, &g, "eval_", b);
        cr_loader_free(l);
    }
    cr_trainer_free(t);
    cr_job_close(&j);
    cr_diag_clear(&diag);
    golden_clear(&g);
}

static int only_dirs(const struct dirent *e) {
    return e->d_type == DT_DIR && e->d_name[0] != '.';
}

int main(int argc, char **argv) {
    char dir[512];
    golden_path(dir, sizeof(dir), "");
    struct dirent **list = NULL;
    int n = scandir(dir, &list, only_dirs, alphasort), passed = 0, failed = 0;
    for (int i = 0; i < n; i++) {
        t_name = list[i]->d_name;
        t_failed_checks = 0;
        if (argc < 2 || strcmp(argv[1], t_name) == 0) {
            run_case(t_name, 1 + i % 3);
            if (t_failed_checks) fprintf(stderr, "%s: failed\n", t_name);
            t_failed_checks ? failed++ : passed++;
        }
    }
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
    for (size_t i = 0; i < sizeof(rebuilt) / sizeof(rebuilt[0]); i++) {
        t_name = rebuilt[i].name;
        t_failed_checks = 0;
        if (argc > 1 && strcmp(argv[1], t_name) != 0) continue;
        as_blocks = &rebuilt[i];
        run_case(rebuilt[i].of, 1 + (int)i % 3);
        if (t_failed_checks) fprintf(stderr, "%s: failed\n", t_name);
        t_failed_checks ? failed++ : passed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || passed == 0;
}
