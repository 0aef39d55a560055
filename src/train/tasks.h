/*
 * tasks.h - the data of an evaluation by tasks: a folder with a folder for each task, which holds
 * the folders support and query with files of rows.
 */
#ifndef CR_TRAIN_TASKS_H
#define CR_TRAIN_TASKS_H

#include "train/fast.h"

/* cr_tasks_list lists the tasks of a folder; names that are whole numbers come in their order. */
CR_CHECKED cr_code cr_tasks_list(const cr_job *j, const char *dir, cr_arena *a, char ***names,
                                 size_t *n, cr_err *err);
/* cr_task_rows describes the rows of a task's folder `side`, support or query. */
cr_job_data cr_task_rows(cr_job *j, const char *dir, const char *task, const char *side,
                         int64_t batch);
/* cr_task_fit makes the inner steps of a task over its support rows. */
CR_CHECKED cr_code cr_task_fit(cr_fast *f, cr_job *j, cr_job_data support, cr_diag *diag);

#endif
