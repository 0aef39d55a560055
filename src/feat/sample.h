/*
 * sample.h - describes the columns of a config by asking the features that read them. Made-up data
 * is drawn from this description (data/tab.h).
 *
 * The `sample` function of a feature type describes what each of its columns may hold: which
 * values, how many, what stands between them, which column holds the keys of a map. A column that
 * several features read gets what suits all of them.
 */
#ifndef CR_FEAT_SAMPLE_H
#define CR_FEAT_SAMPLE_H

#include "data/tab.h"
#include "feat/feat_int.h"

/* cr_sample_column returns the number of the column that a feature's input `name` is; -1: none. */
int cr_sample_column(const cr_sampler *s, const char *name);
/* cr_sample_ids describes values that become such ids; cr_sample_number values that pass such a
 * normalizer and fall into all buckets. */
void cr_sample_ids(const cr_ids *m, cr_tab_value *out, cr_arena *arena);
void cr_sample_number(const cr_norm *norm, const float *bounds, int64_t n_bounds,
                      cr_tab_value *out);
cr_arena *cr_sample_arena(const cr_sampler *s);
const cr_data_conf *cr_sample_data(const cr_sampler *s);

/* cr_features_sample describes all columns that the features, labels and weights read, and the
 * other ones that input_fields names. t->labels are in the order of fs->labels. In Parquet a column
 * is a list if its readers accept lists, unless input_fields says otherwise. */
void cr_features_sample(const cr_features *fs, const cr_data_conf *data, cr_synth_table *t,
                        cr_arena *arena);
/* cr_sample_same_steps gives the sequences that these features read the same number of steps. */
void cr_sample_same_steps(cr_synth_table *t, const cr_features *fs, const char *const *names,
                          int64_t n);

#endif
