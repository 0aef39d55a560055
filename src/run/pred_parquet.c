/*
 * pred_parquet.c - writes predictions as Parquet. Reserved columns keep the type they were read
 * with. A prediction is a float; one of several numbers is a list of doubles, as TorchEasyRec
 * writes it, with the same values.
 */
#include <string.h>

#include "data/pq/sink.h"
#include "run/pred_list.h"

struct cr_pred {
    cr_pq_sink *sink;
    const cr_pred_shape *shape;
    const cr_column **cols; /* all columns, in the order of the file */
    cr_column *made;        /* predictions, then __features__ */
    cr_arena arena, rows;
};

static void pq_free(cr_pred *w) {
    if (!w) return;
    cr_pq_sink_free(w->sink);
    cr_arena_clear(&w->arena);
    cr_arena_clear(&w->rows);
    cr_free(w);
}

static cr_code pq_open(cr_pred **out, const char *path, const cr_pred_shape *s, cr_err *err) {
    cr_pred *w = cr_alloc(sizeof(*w), "a file of predictions");
    cr_arena_init(&w->arena, 0);
    cr_arena_init(&w->rows, 0);
    w->shape = s;
    int n = s->n_reserved + s->n_outputs + s->debug;
    cr_sink_col *cols = CR_NEW_N(&w->arena, cr_sink_col, n + 1), *c = cols;
    w->cols = CR_NEW_N(&w->arena, const cr_column *, n + 1);
    w->made = CR_NEW_N(&w->arena, cr_column, s->n_outputs + 1);
    for (int i = 0; i < s->n_reserved; i++)
        *c++ = (cr_sink_col){.name = s->reserved[i], .kind = s->kinds[i]};
    for (int i = 0; i < s->n_outputs; i++) {
        bool list = s->widths[i] != 1;
        *c++ = (cr_sink_col){.name = s->outputs[i],
                             .kind = {.type = list ? CR_COL_F64 : CR_COL_F32,
                                      .depth = list,
                                      .key = -1},
                             .required = true};
    }
    if (s->debug)
        *c = (cr_sink_col){.name = "__features__",
                           .kind = {.type = CR_COL_STR, .key = -1},
                           .required = true};
    cr_pq_write_opts o = {.codec = CR_PQ_SNAPPY};
    cr_code code = cr_pq_sink_open(&w->sink, path, cols, n, &o, err);
    if (code != CR_OK) {
        pq_free(w);
        w = NULL;
    }
    *out = w;
    return code;
}

static void numbers(cr_pred *w, const cr_pred_rows *rows, int i, cr_column *out) {
    float *v = CR_NEW_N(&w->rows, float, rows->n_rows + 1);
    for (int64_t r = 0; r < rows->n_rows; r++)
        v[r] = rows->outputs[i][r * rows->ld[i]];
    *out = (cr_column){.type = CR_COL_F32, .v.f32 = v};
}

static cr_code lists(cr_pred *w, const cr_pred_rows *rows, int i, cr_column *out, cr_err *err) {
    int64_t width = w->shape->widths[i], n = rows->n_rows;
    if (n * width > INT32_MAX)
        return cr_fail(err, CR_EUSAGE,
                       "'%s' of one batch has more than 2^31 values; use a smaller --batch_size",
                       w->shape->outputs[i]);
    double *v = CR_NEW_N(&w->rows, double, n *width + 1), *to = v;
    int32_t *off = CR_NEW_N(&w->rows, int32_t, n + 1);
    for (int64_t r = 0; r < n; r++) {
        off[r + 1] = off[r] + (int32_t)width;
        for (int64_t k = 0; k < width; k++)
            *to++ = (double)rows->outputs[i][r * rows->ld[i] + k];
    }
    *out = (cr_column){.type = CR_COL_F64, .depth = 1, .row_off = off, .v.f64 = v};
    return CR_OK;
}

static cr_code pq_write(cr_pred *w, const cr_pred_rows *rows, cr_err *err) {
    const cr_pred_shape *s = w->shape;
    const cr_column **c = w->cols;
    cr_arena_reset(&w->rows);
    for (int i = 0; i < s->n_reserved; i++)
        *c++ = &rows->reserved[i];
    for (int i = 0; i < s->n_outputs; i++) {
        if (s->widths[i] == 1)
            numbers(w, rows, i, &w->made[i]);
        else
            CR_TRY(lists(w, rows, i, &w->made[i], err));
        *c++ = &w->made[i];
    }
    if (s->debug) {
        w->made[s->n_outputs] = (cr_column){.type = CR_COL_STR,
                                            .bytes = rows->debug,
                                            .beg = rows->debug_off,
                                            .end = rows->debug_off + 1};
        *c = &w->made[s->n_outputs];
    }
    return cr_pq_sink_write(w->sink, w->cols, rows->n_rows, err);
}

static cr_code pq_finish(cr_pred *w, cr_err *err) {
    return cr_pq_sink_finish(w->sink, err);
}

static const char *const ends[] = {".parquet", NULL};

const cr_pred_type cr_pred_parquet = {
    .name = "ParquetWriter",
    .dataset = "ParquetDataset",
    .ext = "parquet",
    .ends = ends,
    .open = pq_open,
    .write = pq_write,
    .finish = pq_finish,
    .free = pq_free,
};
