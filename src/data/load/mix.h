/*
 * mix.h - several sources of training data in one stream of batches (data_config.mixing).
 *
 * Each source has a loader of its own. A batch has rows of all sources, each with its share: floor
 * of the batch times its weight, and the rest goes one by one to the first sources. With
 * whole_batches a batch is of one source, which is drawn from the seed, the epoch and the number of
 * the batch. An epoch ends when every source was read through once; a source that ends before
 * begins again. Batches are always full, so that the last rows of a pass may be left out of it.
 *
 * Every epoch begins all sources anew, with orders of their own, so that its begin is a function of
 * its number. A position holds those of all sources.
 */
#ifndef CR_DATA_LOAD_MIX_H
#define CR_DATA_LOAD_MIX_H

#include "data/load/loader.h"

typedef struct cr_mix cr_mix;
/* The functions are those of loader.h, for a loader with several sources. */
CR_CHECKED cr_code cr_mix_new(cr_mix **out, const cr_loader_opts *o, cr_diag *diag);
void cr_mix_free(cr_mix *m);
CR_CHECKED cr_code cr_mix_next(cr_mix *m, cr_batch **out, bool *done, cr_err *err);
void cr_mix_release(cr_mix *m, cr_batch *b);
void cr_mix_tally(cr_mix *m, void *out);
void cr_mix_get_stats(cr_mix *m, cr_loader_stats *out);
int64_t cr_mix_memory(cr_mix *m, bool shuffle);
bool cr_mix_first_bad(cr_mix *m, cr_err *out);
/* cr_mix_one returns the loader of the first source: what all of them have in common is its. */
cr_loader *cr_mix_one(const cr_mix *m);

#endif
