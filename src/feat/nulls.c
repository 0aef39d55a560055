/*
 * nulls.c - data_config.null_values: cells whose text is listed there have no value.
 *
 * Such cells become nulls of their column, once per chunk, before any feature, label or weight sees
 * it. The columns of the file stay as they are, because predictions carry reserved columns along
 * unchanged. Columns of numbers have no texts; for those the CSV reader compares the texts when it
 * parses them.
 */
#include "feat/feat_int.h"

/* Returns validity bytes with a 0 for each of n values whose text is listed; before NULL: all were
 * valid. */
static const uint8_t *without(const cr_nulls *nulls, const cr_column *col, const uint8_t *before,
                              int64_t n, cr_arena *arena) {
    uint8_t *valid = NULL;
    for (int64_t i = 0; i < n; i++) {
        size_t len;
        const char *p = cr_text_at(col, i, &len);
        if (!cr_nulls_has(nulls, p, len)) continue;
        if (!valid) {
            valid = cr_arena_alloc(arena, (size_t)n + 1);
            if (before)
                memcpy(valid, before, (size_t)n);
            else
                memset(valid, 1, (size_t)n);
        }
        valid[i] = 0;
    }
    return valid ? valid : before;
}

/* Returns the number of values of a list column, over all rows. */
static int64_t n_items(const cr_column *col, int64_t n_rows) {
    int64_t n = col->row_off[n_rows];
    return col->depth == 2 ? col->item_off[n] : n;
}

cr_chunk cr_nulls_hide(const cr_features *fs, const cr_chunk *chunk, int n_cols, cr_arena *arena) {
    cr_chunk out = *chunk;
    out.n_cols = n_cols;
    out.cols = CR_NEW_N(arena, cr_column, n_cols + 1);
    memcpy(out.cols, chunk->cols, sizeof(cr_column) * (size_t)fs->n_want);
    for (int c = 0; fs->nulls.n > 0 && c < fs->n_want; c++) {
        cr_column *col = &out.cols[c];
        if (col->type != CR_COL_STR || fs->want[c].form == CR_WANT_STORED) continue;
        if (col->depth == 0)
            col->valid = without(&fs->nulls, col, col->valid, chunk->n_rows, arena);
        else
            col->item_valid =
                without(&fs->nulls, col, col->item_valid, n_items(col, chunk->n_rows), arena);
    }
    return out;
}
