/*
 * eval.c - `crank eval`: computes the metrics of a checkpoint and appends them as one JSON line to
 * a file in model_dir.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "job/placing.h"
#include "run/observe_int.h"

/* Finds the file that gets the line, and checks before the work that it can be written. */
static cr_code result_file(const char *dir, const char *name, cr_arena *a, char **path,
                           cr_err *err) {
    *path = cr_path_join(a, dir, name && *name ? name : "eval_result.txt");
    CR_TRY(cr_mkdirs(dir, err));
    cr_err why;
    if (cr_can_write(*path, &why) == CR_OK) return CR_OK;
    return cr_fail_at(err, CR_EIO, why.at, "%s; or name another file with --eval_result_filename",
                      why.msg);
}

/* Returns the folder for results: model_dir. The model_dir of an export belongs to the machine that
 * trained it and may not exist here. */
static const char *result_dir(const cr_job *j, bool exported) {
    const char *dir = j->root->model_dir;
    return !*dir || (exported && !cr_path_is_dir(dir)) ? "." : dir;
}

typedef struct evaluation {
    const cr_eval_opts *o;
    cr_arena *arena;
    cr_diag *diag;
    cr_job j;
    cr_evaluator *ev;
    bool exported;          /* the config is in an export */
    const char *from, *dir; /* what to evaluate, as the user says; where results go */
    char *path, *result;    /* the checkpoint; the file of results */
    int64_t step;
} evaluation;

static cr_code open_job(evaluation *e) {
    const cr_eval_opts *o = e->o;
    cr_err err;
    cr_config_opts c = o->config;
    if (c.path && cr_path_is_dir(c.path) && cr_export_look(c.path, &e->exported, &err) != CR_OK)
        return cr_diag_err(e->diag, &err);
    if (e->exported) {
        c.asset_dir = o->config.path;
        c.path = cr_path_join(e->arena, o->config.path, "pipeline.config");
        if (!e->from) e->from = o->config.path;
    }
    cr_job_opts jo = {.config = &c,
                      .comm = o->comm,
                      .exported = e->exported,
                      .threads = o->threads,
                      .with_labels = true};
    CR_TRY(cr_job_open(&e->j, &jo, e->diag));
    cr_job_check_inner(&e->j, e->diag);
    CR_TRY(cr_diag_code(e->diag));
    if (cr_job_eval_paths(&e->j)) return CR_OK;
    return cr_diag_err(
        e->diag,
        &(cr_err){
            .code = CR_ECONF,
            .msg = "eval_input_path is not set; give it in the config or with --eval_input_path, "
                   "or keep a part of the training data with data_config.eval_fraction"});
}

static cr_code restore(evaluation *e) {
    cr_err err;
    cr_job *j = &e->j;
    e->dir = result_dir(j, e->exported);
    if (e->exported && j->root->eval_config->inner_loop)
        return cr_diag_err(e->diag,
                           &(cr_err){.code = CR_EUSAGE,
                                     .msg = "eval_config.inner_loop fits the weights to tasks, and "
                                            "those of an export are read only; name the config "
                                            "and a checkpoint"});
    if ((cr_job_is_first(j) &&
         result_file(e->dir, e->o->eval_result_filename, e->arena, &e->result, &err) != CR_OK) ||
        cr_job_map(j, e->path, &err) != CR_OK)
        return cr_diag_err(e->diag, &err);
    CR_TRY(cr_job_placings(j, e->diag));
    if (cr_job_alloc(j, &err) != CR_OK || cr_evaluator_new(&e->ev, j, &err) != CR_OK)
        return cr_diag_err(e->diag, &err);
    CR_INFO("Restoring checkpoint from %s...", e->path);
    return cr_job_load_weights(j, e->path, e->diag);
}

static cr_code evaluate(evaluation *e, cr_eval_result *res) {
    cr_job *j = &e->j;
    cr_counter counts;
    cr_counter_init(&counts, j->features, "eval", &j->cfg.arena);
    counts.made = true;
    counts.meet = j->meet;
    cr_eval_run r = {.paths = cr_job_eval_paths(j),
                     .max_steps = j->root->eval_config->num_steps,
                     .log_every = j->root->eval_config->log_step_count_steps,
                     .title = "Evaluating",
                     .watch = &e->o->watch,
                     .counter = &counts,
                     .once = *j->root->eval_input_path != 0};
    cr_code code = cr_evaluator_run(e->ev, &r, res, e->arena, e->diag);
    if (counts.passes > 0 && cr_job_is_first(j))
        cr_counter_write(&counts, cr_path_join(e->arena, e->dir, "feature_counts_eval.json"));
    return code;
}

static cr_code write_results(const evaluation *e, const cr_eval_result *res) {
    cr_err err;
    cr_buf b;
    cr_code code = CR_OK;
    cr_buf_init(&b);
    cr_eval_text(&b, res);
    CR_INFO("Eval Result: %s", b.data);
    cr_buf_reset(&b);
    cr_eval_line(&b, e->step, res);
    if (cr_file_append(e->result, b.data, b.n, &err) != CR_OK) code = cr_diag_err(e->diag, &err);
    if (code == CR_OK)
        cr_eval_events(cr_path_join(e->arena, e->dir, "eval"), e->step > 0 ? e->step : 0, res);
    if (code == CR_OK) CR_INFO("Evaluate Finished.");
    cr_buf_clear(&b);
    return code;
}

/* Between the parts all ranks agree whether they can go on. */
cr_code cr_eval(const cr_eval_opts *o, cr_eval_result *res, cr_arena *arena, char *checkpoint,
                cr_diag *diag) {
    evaluation e = {
        .o = o, .arena = arena, .diag = diag, .from = o->checkpoint_path, .dir = ".", .step = -1};
    cr_code code = open_job(&e);
    e.j.comm = o->comm; /* also when the config could not be loaded: all ranks must hear of it */
    code = cr_job_agree(&e.j, code, NULL);
    if (code == CR_OK)
        code = cr_job_agree(&e.j, cr_job_alike(&e.j, o->checkpoint_path, diag), NULL);
    if (code == CR_OK) code = cr_job_agree(&e.j, cr_job_unite(&e.j, diag), NULL);
    if (code == CR_OK) code = cr_job_checkpoint_of_all(&e.j, e.from, false, &e.path, &e.step, diag);
    if (code == CR_OK) code = cr_job_agree(&e.j, cr_job_alike_weights(&e.j, e.path, diag), NULL);
    if (code == CR_OK) code = cr_job_agree(&e.j, restore(&e), NULL);
    if (code == CR_OK) {
        snprintf(checkpoint, 1088, "%s", e.path);
        if (o->watch.begins) o->watch.begins(o->watch.ctx);
        code = evaluate(&e, res);
        if (code == CR_OK && cr_job_is_first(&e.j)) code = write_results(&e, res);
        code = cr_job_agree(&e.j, code, NULL);
    }
    cr_evaluator_free(e.ev);
    cr_job_close(&e.j);
    return code;
}
