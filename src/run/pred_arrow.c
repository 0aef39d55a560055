/*
 * pred_arrow.c - writes predictions as an Arrow file, which other programs map and use in place, so
 * nothing in it is compressed.
 */
#include "data/arrow/sink.h"
#include "run/pred_cols.h"
#include "run/pred_list.h"

struct cr_pred {
    cr_arrow_sink *sink;
    cr_pred_cols cols;
};

static void arrow_free(cr_pred *w) {
    if (!w) return;
    cr_arrow_sink_free(w->sink);
    cr_pred_cols_clear(&w->cols);
    cr_free(w);
}

static cr_code arrow_open(cr_pred **out, const char *path, const cr_pred_shape *s, cr_err *err) {
    cr_pred *w = cr_alloc(sizeof(*w), "a file of predictions");
    cr_pred_cols_init(&w->cols, s);
    cr_arrow_sink_opts o = {.codec = CR_ARROW_PLAIN};
    cr_code code = cr_arrow_sink_open(&w->sink, path, w->cols.sink, w->cols.n, &o, err);
    if (code != CR_OK) {
        arrow_free(w);
        w = NULL;
    }
    *out = w;
    return code;
}

static cr_code arrow_write(cr_pred *w, const cr_pred_rows *rows, cr_err *err) {
    CR_TRY(cr_pred_cols_make(&w->cols, rows, err));
    return cr_arrow_sink_write(w->sink, w->cols.cols, rows->n_rows, err);
}

static cr_code arrow_finish(cr_pred *w, cr_err *err) {
    return cr_arrow_sink_finish(w->sink, err);
}

static const char *const ends[] = {".arrow", ".feather", NULL};

const cr_pred_type cr_pred_arrow = {
    .name = "ArrowWriter",
    .dataset = "ArrowDataset",
    .ext = "arrow",
    .ends = ends,
    .open = arrow_open,
    .write = arrow_write,
    .finish = arrow_finish,
    .free = arrow_free,
};
