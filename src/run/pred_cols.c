/*
 * pred_cols.c - makes columns of predictions.
 */
#include "run/pred_cols.h"

void cr_pred_cols_init(cr_pred_cols *c, const cr_pred_shape *s) {
    *c = (cr_pred_cols){.shape = s, .n = s->n_reserved + s->n_outputs + s->debug};
    cr_arena_init(&c->arena, 0);
    cr_arena_init(&c->rows, 0);
    c->sink = CR_NEW_N(&c->arena, cr_sink_col, c->n + 1);
    c->cols = CR_NEW_N(&c->arena, const cr_column *, c->n + 1);
    c->made = CR_NEW_N(&c->arena, cr_column, s->n_outputs + 1);
    cr_sink_col *to = c->sink;
    for (int i = 0; i < s->n_reserved; i++)
        *to++ = (cr_sink_col){.name = s->reserved[i], .kind = s->kinds[i]};
    for (int i = 0; i < s->n_outputs; i++) {
        bool list = s->widths[i] != 1;
        *to++ = (cr_sink_col){.name = s->outputs[i],
                              .kind = {.type = list ? CR_COL_F64 : CR_COL_F32,
                                       .depth = list,
                                       .key = -1},
                              .required = true};
    }
    if (s->debug)
        *to = (cr_sink_col){.name = "__features__",
                            .kind = {.type = CR_COL_STR, .key = -1},
                            .required = true};
}

void cr_pred_cols_clear(cr_pred_cols *c) {
    cr_arena_clear(&c->arena);
    cr_arena_clear(&c->rows);
}

static void numbers(cr_pred_cols *c, const cr_pred_rows *rows, int i, cr_column *out) {
    float *v = CR_NEW_N(&c->rows, float, rows->n_rows + 1);
    for (int64_t r = 0; r < rows->n_rows; r++)
        v[r] = rows->outputs[i][r * rows->ld[i]];
    *out = (cr_column){.type = CR_COL_F32, .v.f32 = v};
}

static cr_code lists(cr_pred_cols *c, const cr_pred_rows *rows, int i, cr_column *out,
                     cr_err *err) {
    int64_t width = c->shape->widths[i], n = rows->n_rows;
    if (n * width > INT32_MAX)
        return cr_fail(err, CR_EUSAGE,
                       "'%s' of one batch has more than 2^31 values; use a smaller --batch_size",
                       c->shape->outputs[i]);
    double *v = CR_NEW_N(&c->rows, double, n *width + 1), *to = v;
    int32_t *off = CR_NEW_N(&c->rows, int32_t, n + 1);
    for (int64_t r = 0; r < n; r++) {
        off[r + 1] = off[r] + (int32_t)width;
        for (int64_t k = 0; k < width; k++)
            *to++ = (double)rows->outputs[i][r * rows->ld[i] + k];
    }
    *out = (cr_column){.type = CR_COL_F64, .depth = 1, .row_off = off, .v.f64 = v};
    return CR_OK;
}

cr_code cr_pred_cols_make(cr_pred_cols *c, const cr_pred_rows *rows, cr_err *err) {
    const cr_pred_shape *s = c->shape;
    const cr_column **to = c->cols;
    cr_arena_reset(&c->rows);
    for (int i = 0; i < s->n_reserved; i++)
        *to++ = &rows->reserved[i];
    for (int i = 0; i < s->n_outputs; i++) {
        if (s->widths[i] == 1)
            numbers(c, rows, i, &c->made[i]);
        else
            CR_TRY(lists(c, rows, i, &c->made[i], err));
        *to++ = &c->made[i];
    }
    if (!s->debug) return CR_OK;
    c->made[s->n_outputs] = (cr_column){.type = CR_COL_STR,
                                        .bytes = rows->debug,
                                        .beg = rows->debug_off,
                                        .end = rows->debug_off + 1};
    *to = &c->made[s->n_outputs];
    return CR_OK;
}
