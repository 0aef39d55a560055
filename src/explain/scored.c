/*
 * scored.c - opens a model with its weights for a look at its scores. The steps are those of
 * `crank eval` in a process that is alone.
 */
#include <string.h>

#include "base/file.h"
#include "base/scheme.h"
#include "explain/explain_int.h"
#include "job/placing.h"

cr_code cr_scored_open(cr_job *j, const cr_scored_opts *o, char **path, cr_diag *diag) {
    cr_config_opts c = *o->config;
    char file[1200];
    const char *given = c.path, *wanted = o->checkpoint_path;
    memset(j, 0, sizeof(*j));
    cr_config_of_dir(&c, file);
    bool dir = c.path != given, exported = c.asset_dir != NULL;
    if (exported && !wanted) wanted = given;
    if (dir && !exported && !c.model_dir) c.model_dir = given;
    cr_job_opts jo = {.config = &c,
                      .exported = exported,
                      .threads = o->threads,
                      .with_labels = true,
                      .reserved = o->reserved};
    CR_TRY(cr_job_open(j, &jo, diag));
    cr_err err;
    int64_t step;
    if (cr_job_checkpoint(j, wanted, false, path, &step, &err) != CR_OK ||
        cr_job_map(j, *path, &err) != CR_OK)
        return cr_diag_err(diag, &err);
    CR_TRY(cr_job_placings(j, diag));
    if (cr_job_alloc(j, &err) != CR_OK) return cr_diag_err(diag, &err);
    return cr_job_load_weights(j, *path, diag);
}

const char *cr_scored_dir(const cr_job *j, const cr_config_opts *config, cr_arena *arena) {
    cr_config_opts c = *config;
    char file[1200];
    const char *dir = j->root->model_dir;
    cr_config_of_dir(&c, file);
    if (c.asset_dir || !*dir || cr_scheme_len(dir) > 0 || !cr_path_is_dir(dir)) return NULL;
    return cr_arena_strdup(arena, dir);
}

cr_code cr_scored_data(const cr_job *j, cr_kept_opts *o, cr_diag *diag) {
    o->paths = cr_job_eval_paths(j);
    o->key = cr_job_eval_key(j);
    o->side = CR_EVAL_ROWS;
    if (o->paths) return CR_OK;
    return cr_diag_err(diag, &(cr_err){.code = CR_ECONF,
                                       .msg = "eval_input_path is not set; name the data with "
                                              "--eval_input_path, or set it in the config"});
}
