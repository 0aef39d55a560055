/*
 * pred_parquet.c - writes predictions as Parquet.
 */
#include "run/pred_cols.h"
#include "run/pred_list.h"

struct cr_pred {
    cr_pq_sink *sink;
    cr_pred_cols cols;
};

static void pq_free(cr_pred *w) {
    if (!w) return;
    cr_pq_sink_free(w->sink);
    cr_pred_cols_clear(&w->cols);
    cr_free(w);
}

static cr_code pq_open(cr_pred **out, const char *path, const cr_pred_shape *s, cr_err *err) {
    cr_pred *w = cr_alloc(sizeof(*w), "a file of predictions");
    cr_pred_cols_init(&w->cols, s);
    cr_pq_write_opts o = {.codec = CR_PQ_SNAPPY};
    cr_code code = cr_pq_sink_open(&w->sink, path, w->cols.sink, w->cols.n, &o, err);
    if (code != CR_OK) {
        pq_free(w);
        w = NULL;
    }
    *out = w;
    return code;
}

static cr_code pq_write(cr_pred *w, const cr_pred_rows *rows, cr_err *err) {
    CR_TRY(cr_pred_cols_make(&w->cols, rows, err));
    return cr_pq_sink_write(w->sink, w->cols.cols, rows->n_rows, err);
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
