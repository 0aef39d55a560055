/*
 * text_model.h - a model as a folder of text, as Paddle's servers save it: 000 has the dense
 * parameters, 001 and so on the tables with a CTR accessor, in the order of the model. Each is a
 * folder with files; a table has part-SSS-NNNNN, where file N has the rows of ids with id mod files
 * = N, in the order of ids, and S is the server that Paddle would have them on.
 */
#ifndef CR_JOB_TEXT_MODEL_H
#define CR_JOB_TEXT_MODEL_H

#include "job/job.h"

/* Files of a table where the config does not say. */
#define CR_SHARD_NUM 1000
/* cr_text_model_save (collective) writes the folder at path, whole or not at all; what was there is
 * replaced. Afterwards the rows are changed as a save of this mode changes them. *rows becomes the
 * number of rows that were saved. All ranks get the same code; the one that failed has reported
 * it. */
CR_CHECKED cr_code cr_text_model_save(cr_job *j, const char *path, cr_ctr_mode mode, int64_t files,
                                      int64_t *rows, cr_diag *diag);
/* cr_text_model_load takes the dense parameters and the rows of a folder; every rank reads all of
 * it and takes what it holds. files: the number of files that each table must have. */
CR_CHECKED cr_code cr_text_model_load(cr_job *j, const char *path, int64_t files, cr_diag *diag);
/* cr_text_model_shrink (collective) ends a day of all tables with an accessor. *gone becomes the
 * number of rows that went, *left that of those that are left. */
CR_CHECKED cr_code cr_text_model_shrink(cr_job *j, int64_t *gone, int64_t *left, cr_err *err);

/* ctr_files.c: the files of one table. _save is collective and writes into a folder that exists;
 * *rows becomes the number of this process's rows among them. */
CR_CHECKED cr_code cr_ctr_files_save(const cr_job *j, const cr_model_table *t, cr_ctr_mode mode,
                                     int64_t files, const char *dir, int64_t *rows, cr_err *err);
CR_CHECKED cr_code cr_ctr_files_load(cr_model_table *t, int64_t files, const char *dir,
                                     cr_err *err);

#endif
