/*
 * observe_dll.c - see observe_int.h: what a run tells in the unified logs of other platforms. Names
 * are those of the JSON log: train.loss, train.ips, val.<metric>. Readers of TCAP's console look
 * for "rank : 0  train.loss : <number>", so the loss comes first.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "conf/conf.h"
#include "run/observe_int.h"

#define SPEED "samples/s"

/* Declares what kind of number a metric is, the first time it occurs. */
static void declare(cr_dll *l, const cr_job *j, const char *stage, const char *front,
                    const char *name) {
    char key[300];
    bool loss = strcmp(name, "loss") == 0;
    for (int k = 0; k < j->model->n_losses; k++)
        loss |= strcmp(name, j->model->losses[k].name) == 0;
    snprintf(key, sizeof key, "%s.%s", front, name);
    cr_dll_meta(l, key, "", -1, !loss && cr_job_larger(j, name) ? "MAXIMIZE" : "MINIMIZE", stage);
}

static void add(cr_dll *l, const char *front, const char *name, double value) {
    char key[300];
    snprintf(key, sizeof key, "%s.%s", front, name);
    cr_dll_f64(l, key, value);
}

/* Writes the parameters of the run: what its results depend on, and the machine. */
static void parameters(cr_dll *l, const cr_job *j) {
    const cr_root_conf *c = j->root;
    cr_dll_begin(l, -1, NULL);
    cr_dll_str(l, "version", "crank " CR_VERSION);
    if (*c->train_config->project_name) cr_dll_str(l, "project", c->train_config->project_name);
    if (*c->train_config->experiment_name)
        cr_dll_str(l, "experiment", c->train_config->experiment_name);
    cr_dll_str(l, "model_dir", c->model_dir);
    cr_dll_str(l, "train_input_path", c->train_input_path);
    cr_dll_str(l, "eval_input_path", c->eval_input_path);
    cr_dll_i64(l, "batch_size", c->data_config->batch_size);
    cr_dll_i64(l, "num_epochs", c->train_config->num_epochs);
    cr_dll_i64(l, "num_steps", c->train_config->num_steps);
    cr_dll_i64(l, "seed", (int64_t)c->train_config->seed);
    cr_dll_i64(l, "ranks", j->comm ? cr_comm_size(j->comm) : 1);
    cr_dll_i64(l, "threads", cr_pool_threads(j->pool));
    cr_dll_str(l, "cpu", cr_cpu_level_name(cr_cpu_level_max()));
    cr_dll_end(l);
}

cr_code cr_unified_new(cr_dll **out, const cr_job *j, const char *format, int64_t step,
                       cr_err *err) {
    cr_dll_form form;
    *out = NULL;
    if (!format) return CR_OK;
    if (!cr_dll_form_of(format, &form)) CR_BUG("an unknown format of logs");
    cr_arena a;
    cr_arena_init(&a, 0);
    const char *path =
        cr_path_join(&a, j->root->model_dir, form == CR_DLL_TCAP ? "tcap.json" : "dllogger.json");
    cr_code code = cr_dll_open(out, form, path, step >= 0, true, err);
    cr_arena_clear(&a);
    if (code != CR_OK) return code;
    cr_dll_meta(*out, "train.loss", "", -1, "MINIMIZE", "TRAIN");
    cr_dll_meta(*out, "train.ips", SPEED, 3, "MAXIMIZE", "TRAIN");
    cr_dll_meta(*out, "val.ips", SPEED, 3, "MAXIMIZE", "VAL");
    parameters(*out, j);
    return CR_OK;
}

void cr_unified_step(cr_dll *l, const cr_job *j, const cr_trainer *t, const observed *s,
                     double ips) {
    const cr_model *m = j->model;
    const double *lr;
    char key[32];
    if (!l) return;
    for (int k = 0; k < m->n_losses; k++)
        declare(l, j, "TRAIN", "train", m->losses[k].name);
    for (int i = 0; s->metrics && i < s->metrics->n; i++)
        declare(l, j, "TRAIN", "train", s->metrics->v[i].name);
    cr_dll_begin(l, 2, (int64_t[]){s->epoch, s->step});
    cr_dll_f64(l, "train.loss", cr_trainer_total(t));
    cr_dll_f64(l, "train.ips", ips);
    for (int k = 0; k < m->n_losses; k++)
        add(l, "train", m->losses[k].name, cr_trainer_loss(t, k));
    for (int i = 0; s->metrics && i < s->metrics->n; i++)
        add(l, "train", s->metrics->v[i].name, s->metrics->v[i].value);
    for (int i = 0, n = cr_trainer_lrs(t, &lr); i < n; i++) {
        snprintf(key, sizeof key, "lr.g%d", i);
        cr_dll_f64(l, key, lr[i]);
    }
    cr_dll_end(l);
}

void cr_unified_eval(cr_dll *l, const cr_job *j, int64_t step, int64_t epoch,
                     const cr_eval_result *r, double ips) {
    if (!l) return;
    for (int i = 0; i < r->n; i++)
        declare(l, j, "VAL", "val", r->v[i].name);
    cr_dll_begin(l, 2, (int64_t[]){epoch, step});
    /* the loss of the model stands for all when it is the only one */
    if (j->model->n_losses == 1)
        for (int i = 0; i < r->n; i++)
            if (strcmp(r->v[i].name, j->model->losses[0].name) == 0)
                cr_dll_f64(l, "val.loss", r->v[i].value);
    cr_dll_f64(l, "val.ips", ips);
    for (int i = 0; i < r->n; i++)
        add(l, "val", r->v[i].name, r->v[i].value);
    cr_dll_end(l);
}

/* Writes the summary of the run: the mean speed, and the last and the best result. */
void cr_unified_end(cr_dll *l, const cr_train_result *r) {
    double train = r->step_s + r->update_s + r->group_s + r->data_wait_s;
    if (!l) return;
    cr_dll_begin(l, 0, NULL);
    cr_dll_f64(l, "train.ips", train > 0 ? round((double)r->rows / train * 10) / 10 : NAN);
    cr_dll_i64(l, "train.steps", r->steps);
    cr_dll_i64(l, "train.rows", r->rows);
    cr_dll_f64(l, "train.total_time", round(r->seconds * 1e3) / 1e3);
    for (int i = 0; r->has_eval && i < r->eval.n; i++)
        add(l, "val", r->eval.v[i].name, r->eval.v[i].value);
    if (r->best.metric) add(l, "best", r->best.metric, r->best.value);
    cr_dll_end(l);
}
