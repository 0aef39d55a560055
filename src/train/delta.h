/*
 * delta.h - dumps of the rows that changed (train_config.delta_embedding_dump_config): every so
 * often the ids that training has met since the last dump, with their vectors as they are now, as
 * Parquet. Files and columns are those of TorchEasyRec.
 */
#ifndef CR_TRAIN_DELTA_H
#define CR_TRAIN_DELTA_H

#include "emb/update.h"
#include "job/job.h"

typedef struct cr_delta cr_delta;
/* cr_delta_new: *out becomes NULL where the config asks for no dumps. It fails when a table is cut
 * in a way that a dump cannot have. */
CR_CHECKED cr_code cr_delta_new(cr_delta **out, cr_job *j, cr_err *err);
void cr_delta_free(cr_delta *d);
/* cr_delta_note notes the ids of a step: b is the batch of the loader, up has the ids of the step
 * that was made. */
CR_CHECKED cr_code cr_delta_note(cr_delta *d, const cr_batch *b, const cr_updater *up, cr_err *err);
/* cr_delta_write (collective) writes what was noted and forgets it. */
CR_CHECKED cr_code cr_delta_write(cr_delta *d, int64_t step, cr_err *err);

/* cr_delta_pack writes a row of n floats as n bytes with a scale and an offset, 16-bit floats,
 * behind them (QUint8RowwiseF16); false: they cannot be numbers of 16 bits. */
bool cr_delta_pack(const float *w, int64_t n, int32_t *out);

#endif
