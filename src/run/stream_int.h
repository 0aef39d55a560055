/*
 * stream_int.h - what the rows of a training depend on (stream.c).
 */
#ifndef CR_RUN_STREAM_INT_H
#define CR_RUN_STREAM_INT_H

#include "job/job.h"
#include "train/evaluate.h"

/* cr_train_bytes returns the size of the training files; 0: it is not known. */
int64_t cr_train_bytes(const cr_job *j);
/* cr_train_split returns a text that says which rows are kept for evaluation; "": none are. */
const char *cr_train_split(const cr_job *j, cr_arena *a);
/* cr_train_stream returns a text of what the order of rows depends on besides the seed. A position
 * fits only the same settings and files, so a checkpoint keeps them as text. */
char *cr_train_stream(const cr_job *j, int64_t bytes, cr_arena *a);
/* cr_train_compare: is the data still the same as when the checkpoint s at path was made? The user
 * may want other data, so a difference is reported and not refused; for a position that these files
 * cannot have, the loader fails. files is the digest of the training files, ev NULL: there is no
 * evaluation. */
void cr_train_compare(cr_job *j, const cr_ckpt_state *s, const char *path, int64_t bytes,
                      cr_data_digest files, const cr_evaluator *ev, cr_diag *diag);

#endif
