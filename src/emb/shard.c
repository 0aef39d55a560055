/*
 * shard.c - see shard.h: cutting a table into rectangles.
 */
#include "emb/shard.h"

#include <string.h>

#define COLS 4 /* bounds of columns are multiples of it, which keeps records aligned */

static const char *const names[CR_SHARD_KINDS] = {
    [CR_DATA_PARALLEL] = "data_parallel", [CR_TABLE_WISE] = "table_wise",
    [CR_ROW_WISE] = "row_wise",           [CR_TABLE_ROW_WISE] = "table_row_wise",
    [CR_COLUMN_WISE] = "column_wise",     [CR_TABLE_COLUMN_WISE] = "table_column_wise",
    [CR_GRID_SHARD] = "grid_shard",
};

const char *cr_shard_name(cr_shard_kind kind) {
    return names[kind];
}

int cr_shard_find(const char *name) {
    for (int k = 0; k < CR_SHARD_KINDS; k++)
        if (strcmp(names[k], name) == 0) return k;
    return -1;
}

/* Returns the first of the n_all things that part i of n has. */
static int64_t cut(int64_t n_all, int i, int n, int64_t unit) {
    int64_t units = (n_all + unit - 1) / unit, at = units * i / n * unit;
    return at < n_all ? at : n_all;
}

cr_placing cr_placing_make(cr_arena *a, cr_shard_kind kind, int64_t n_rows, int64_t D,
                           const int *holders, int n, int n_cols) {
    cr_placing p = {.kind = kind};
    if (kind == CR_DATA_PARALLEL) return p;
    int rows = 1, cols = 1;
    if (kind == CR_ROW_WISE || kind == CR_TABLE_ROW_WISE) rows = n;
    if (kind == CR_COLUMN_WISE || kind == CR_TABLE_COLUMN_WISE) cols = n;
    if (kind == CR_GRID_SHARD) {
        CR_ASSERT(n_cols > 0 && n % n_cols == 0);
        cols = n_cols;
        rows = n / n_cols;
    }
    p.shards = CR_NEW_N(a, cr_shard, (size_t)rows * (size_t)cols);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            cr_shard s = {holders[c * rows + r], cut(n_rows, r, rows, 1),
                          cut(n_rows, r + 1, rows, 1), cut(D, c, cols, COLS),
                          cut(D, c + 1, cols, COLS)};
            if (s.row < s.end && s.col < s.col_end) p.shards[p.n++] = s;
        }
    return p;
}

const char *cr_placing_check(const cr_placing *p, int64_t n_rows, int64_t D, int n_holders) {
    int64_t row = 0, col = 0, end = 0; /* the next shard begins at (row, col) */
    if (p->n == 0) return p->kind == CR_DATA_PARALLEL ? NULL : "it has no shards";
    for (int i = 0; i < p->n; i++) {
        const cr_shard *s = &p->shards[i];
        if (s->holder < 0 || s->holder >= n_holders) return "a shard lies with no rank";
        if (s->row != row || s->col != col || s->end <= s->row || s->col_end <= s->col)
            return "its shards leave a gap or overlap";
        if (col > 0 && s->end != end) return "shards of the same rows have different lengths";
        end = s->end;
        col = s->col_end;
        if (col > D || end > n_rows) return "a shard reaches beyond the table";
        if (col < D) continue;
        col = 0;
        row = end;
    }
    return row == n_rows && col == 0 ? NULL : "its shards do not cover the table";
}
