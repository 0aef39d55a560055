/*
 * sample.h - what the columns of a config hold, told by the features that read them: the
 * description that made-up data is drawn from (data/tab.h).
 *
 * Each feature type says of each of its columns what it can do something with (`sample`): which
 * values, how many, what stands between them, which column holds the keys of a map. A column that
 * several features read gets what suits all of them.
 */
#ifndef CR_FEAT_SAMPLE_H
#define CR_FEAT_SAMPLE_H

#include "data/tab.h"
#include "feat/feat_int.h"

/* cr_sample_column: number of the column that input `name` of a feature is, -1: none */
int cr_sample_column(const cr_sampler *s, const char *name);
/* cr_sample_ids, cr_sample_number: values that become such ids, or pass such a normalizer and
 * fall into all buckets */
void cr_sample_ids(const cr_ids *m, cr_tab_value *out, cr_arena *arena);
void cr_sample_number(const cr_norm *norm, const float *bounds, int64_t n_bounds,
                      cr_tab_value *out);
cr_arena *cr_sample_arena(const cr_sampler *s);
const cr_data_conf *cr_sample_data(const cr_sampler *s);

/* cr_features_sample describes all columns that the features, labels and weights read, and those
 * that input_fields names besides; t->labels are in the order of fs->labels. In Parquet, columns
 * are lists where their readers take them and what input_fields says. */
void cr_features_sample(const cr_features *fs, const cr_data_conf *data, cr_synth_table *t,
                        cr_arena *arena);
/* cr_sample_same_steps: the sequences that these features read have as many steps as each other */
void cr_sample_same_steps(cr_synth_table *t, const cr_features *fs, const char *const *names,
                          int64_t n);

#endif
