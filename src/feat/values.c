/*
 * values.c - the values of features before they become ids, for users who want to see how a row got
 * its ids (`crank fg`). It runs the same give functions as FG_DAG, in the same order.
 */
#include "feat/feat_int.h"

cr_code cr_features_values(const cr_features *fs, const cr_chunk *chunk, cr_column *out,
                           cr_arena *arena, cr_err *err) {
    cr_bad bad = {0}; /* not used: encoding reports what is wrong */
    cr_chunk all = cr_nulls_hide(fs, chunk, cr_dag_column(fs, fs->n, 0), arena);
    cr_code code = CR_OK;
    for (int k = 0; k < fs->n && code == CR_OK; k++) {
        int i = fs->order[k];
        const cr_feature *f = fs->v[i];
        out[i] = (cr_column){.depth = CR_NO_VALUES};
        if (fs->by_name) continue; /* the file's column already holds the result */
        if (f->given) {
            code = cr_dag_give(fs, i, &all, arena, &bad, err);
            out[i] = all.cols[cr_dag_column(fs, i, 0)];
        } else {
            code = (f->seq ? cr_seq_give : f->type->give)(f, &all, &out[i], arena, &bad, err);
        }
    }
    cr_bad_clear(&bad);
    return code;
}
