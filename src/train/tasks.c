/*
 * tasks.c - see tasks.h.
 */
#include "train/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* Numbers by their value and in front, other names by their bytes. */
static int by_name(const void *a, const void *b) {
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    int64_t i, k;
    bool xn = cr_parse_i64(x, strlen(x), &i), yn = cr_parse_i64(y, strlen(y), &k);
    if (xn && yn && i != k) return i < k ? -1 : 1;
    if (xn != yn) return xn ? -1 : 1;
    return strcmp(x, y);
}

cr_code cr_tasks_list(const cr_job *j, const char *dir, cr_arena *a, char ***names, size_t *n,
                      cr_err *err) {
    cr_loc at = cr_conf_at(j->root, "eval_input_path");
    size_t found = 0;
    *n = 0;
    if (!cr_path_is_dir(dir))
        return cr_fail_at(err, CR_EIO, at,
                          "'%s' is no folder; eval_config.inner_loop needs a folder with a folder "
                          "for each task",
                          dir);
    CR_TRY(cr_list_dir(a, dir, names, &found, err));
    for (size_t i = 0; i < found; i++)
        if ((*names)[i][0] != '.' && cr_path_is_dir(cr_path_join(a, dir, (*names)[i])))
            (*names)[(*n)++] = (*names)[i];
    if (*n == 0)
        return cr_fail_at(err, CR_EDATA, at,
                          "'%s' has no folder of a task; write <task>/support and <task>/query "
                          "into it",
                          dir);
    qsort(*names, *n, sizeof **names, by_name);
    return CR_OK;
}

cr_job_data cr_task_rows(cr_job *j, const char *dir, const char *task, const char *side,
                         int64_t batch) {
    cr_arena *a = &j->cfg.arena;
    const char *folder = cr_path_join(a, cr_path_join(a, dir, task), side);
    return (cr_job_data){.paths = cr_path_join(a, folder, "*"),
                         .key = cr_job_eval_key(j),
                         .batch_size = batch,
                         .n_epochs = 1};
}

cr_code cr_task_fit(cr_fast *f, cr_job *j, cr_job_data support, cr_diag *diag) {
    cr_loader *l;
    cr_err err;
    cr_batch *b;
    cr_code code = CR_OK;
    support.n_epochs = j->root->eval_config->inner_loop->steps;
    CR_TRY(cr_job_loader(j, &support, &l, diag));
    int64_t step = 0;
    for (bool done = false; code == CR_OK && !done;) {
        code = cr_loader_next(l, &b, &done, &err);
        if (code != CR_OK || !b) continue;
        code = cr_fast_pass(f, b, step++, 1, &err);
        if (code == CR_OK) cr_fast_step(f);
        cr_loader_release(l, b);
    }
    cr_loader_free(l);
    return code == CR_OK ? CR_OK : cr_diag_err(diag, &err);
}
