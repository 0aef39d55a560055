/*
 * eval.c - `crank eval`: computes the metrics of a checkpoint and appends them as one JSON line to
 * a file in model_dir.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
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

cr_code cr_eval(const cr_eval_opts *o, cr_eval_result *res, cr_arena *arena, char *checkpoint,
                cr_diag *diag) {
    cr_job j;
    cr_err err;
    cr_evaluator *ev = NULL;
    char *path = NULL, *result = NULL;
    const char *from = o->checkpoint_path, *dir = ".";
    int64_t step = -1;
    cr_buf b;
    cr_config_opts c = o->config;
    bool exported = false;
    if (c.path && cr_path_is_dir(c.path) && cr_export_look(c.path, &exported, &err) != CR_OK)
        return cr_diag_err(diag, &err);
    if (exported) {
        c.asset_dir = o->config.path;
        c.path = cr_path_join(arena, o->config.path, "pipeline.config");
        if (!from) from = o->config.path;
    }
    cr_buf_init(&b);
    cr_job_opts jo = {.config = &c,
                      .exported = exported,
                      .threads = o->threads,
                      .with_labels = true};
    cr_code code = cr_job_open(&j, &jo, diag);
    if (code == CR_OK && !cr_job_eval_paths(&j))
        code = cr_diag_err(
            diag,
            &(cr_err){
                .code = CR_ECONF,
                .msg =
                    "eval_input_path is not set; give it in the config or with --eval_input_path, "
                    "or keep a part of the training data with data_config.eval_fraction"});
    if (code == CR_OK) dir = result_dir(&j, exported);
    if (code == CR_OK &&
        (cr_job_checkpoint(&j, from, false, &path, &step, &err) != CR_OK ||
         result_file(dir, o->eval_result_filename, arena, &result, &err) != CR_OK ||
         cr_job_map(&j, path, &err) != CR_OK || cr_job_alloc(&j, &err) != CR_OK ||
         cr_evaluator_new(&ev, &j, &err) != CR_OK))
        code = cr_diag_err(diag, &err);
    if (code == CR_OK) {
        snprintf(checkpoint, 1088, "%s", path);
        CR_INFO("Restoring checkpoint from %s...", path);
        code = cr_job_load_weights(&j, path, diag);
    }
    if (code == CR_OK) {
        if (o->watch.begins) o->watch.begins(o->watch.ctx);
        cr_counter counts;
        cr_counter_init(&counts, j.features, "eval", &j.cfg.arena);
        counts.made = true;
        cr_eval_run r = {cr_job_eval_paths(&j),
                         j.root->eval_config->num_steps,
                         j.root->eval_config->log_step_count_steps,
                         "Evaluating",
                         &o->watch,
                         &counts,
                         *j.root->eval_input_path != 0};
        code = cr_evaluator_run(ev, &r, res, arena, diag);
        if (counts.passes > 0)
            cr_counter_write(&counts, cr_path_join(arena, dir, "feature_counts_eval.json"));
    }
    if (code == CR_OK) {
        cr_eval_text(&b, res);
        CR_INFO("Eval Result: %s", b.data);
        cr_buf_reset(&b);
        cr_eval_line(&b, step, res);
        if (cr_file_append(result, b.data, b.n, &err) != CR_OK) code = cr_diag_err(diag, &err);
        if (code == CR_OK)
            cr_eval_events(cr_path_join(arena, dir, "eval"), step > 0 ? step : 0, res);
    }
    if (code == CR_OK) CR_INFO("Evaluate Finished.");
    cr_buf_clear(&b);
    cr_evaluator_free(ev);
    cr_job_close(&j);
    return code;
}
