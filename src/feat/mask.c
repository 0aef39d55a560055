/*
 * mask.c - use_mask: in hidden rows of training data (data_config.sample_mask_prob) a feature has
 * no value, so that a model learns to do without it. The loader says which rows are hidden; they
 * are the same for all features. As in TorchEasyRec, the first input that is not a map becomes null
 * in these rows, and the feature's own rules for missing values apply.
 */
#include "feat/feat_int.h"

static bool asks(const cr_feature *f) {
    return cr_conf_flag(f->conf, "use_mask");
}

static void check(const cr_features *fs, const cr_feature *f, const cr_data_conf *data,
                  cr_diag *diag) {
    cr_loc at = cr_conf_at(f->conf, "use_mask");
    if (cr_fg_encoded(data) && !f->sparse && !f->seq &&
        !*cr_conf_text(f->conf, "fg_encoded_default_value"))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                    "feature '%s': use_mask needs the number that stands for a hidden one; set "
                    "fg_encoded_default_value",
                    f->name);
    for (int i = 0; f->seq && f->seq->block && i < fs->n; i++) {
        const cr_feature *other = fs->v[i];
        if (!other->seq || other->seq->block != f->seq->block || asks(other)) continue;
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                    "feature '%s' has use_mask and '%s' of the same sequence has not, so their "
                    "steps would differ; give it to all features of sequence '%s' or to none",
                    f->name, other->name, f->seq->name);
        return;
    }
}

void cr_mask_make(cr_features *fs, const cr_data_conf *data, cr_diag *diag) {
    if (data->sample_mask_prob <= 0) return;
    cr_loc at = cr_conf_at(data, "sample_mask_prob");
    bool works = data->fg_mode == CR_FG_NONE || data->fg_mode == CR_FG_NORMAL;
    int n = 0;
    for (int i = 0; i < fs->n; i++) {
        cr_feature *f = fs->v[i];
        if (!asks(f) || f->stub) continue;
        n++;
        f->mask = works;
        if (works) check(fs, f, data, diag);
    }
    if (n == 0)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, at,
                    "sample_mask_prob does nothing: no feature has use_mask: true; set it where "
                    "values are to be hidden");
    else if (!works)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, at,
                    "sample_mask_prob does nothing in this fg_mode, as in TorchEasyRec; use "
                    "FG_NORMAL or FG_NONE to hide values");
}

cr_chunk cr_mask_hide(const cr_feature *f, const cr_chunk *chunk, cr_arena *arena,
                      cr_feature_counts *counts) {
    cr_chunk out = *chunk;
    int k = 0;
    while (k < f->n_columns && chunk->cols[f->col_idx[k]].keys)
        k++;
    if (k == f->n_columns) return out; /* it has only maps, or a constant */
    int64_t n = chunk->n_rows;
    out.cols = cr_arena_alloc(arena, sizeof(cr_column) * (size_t)chunk->n_cols);
    memcpy(out.cols, chunk->cols, sizeof(cr_column) * (size_t)chunk->n_cols);
    cr_column *col = &out.cols[f->col_idx[k]];
    uint8_t *valid = cr_arena_alloc(arena, (size_t)n + 1);
    for (int64_t r = 0; r < n; r++) {
        valid[r] = (!col->valid || col->valid[r]) && !chunk->hidden[r];
        counts->masked += chunk->hidden[r];
    }
    col->valid = valid;
    return out;
}
