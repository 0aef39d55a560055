/*
 * toy.c - a metric: how many rows there were, times a factor.
 */
#include "base/mem.h"
#include "metric/check_int.h"
#include "metric/list.h"

typedef struct toy_conf {
    cr_conf_base base;
    double factor;
} toy_conf;

static const cr_field fields[] = {
    CR_FLOAT(toy_conf, factor, 1, 0, CR_INF, CR_F_OURS, "what a row counts"),
    CR_END,
};
const cr_msg cr_metric_toy_rows_msg = {
    .name = "ToyRows",
    .help = "Number of rows",
    .ours = true,
    .fields = fields,
    .size = sizeof(toy_conf),
};

struct cr_metric {
    double factor;
    int64_t n;
};

static cr_code toy_new(cr_metric **out, const void *conf, int64_t K, cr_err *err) {
    (void)K;
    (void)err;
    *out = cr_alloc(sizeof **out, "toy_rows");
    (*out)->factor = ((const toy_conf *)conf)->factor;
    return CR_OK;
}

static void toy_free(cr_metric *m) {
    cr_free(m);
}

static void toy_reset(cr_metric *m) {
    m->n = 0;
}

static cr_code toy_update(cr_metric *m, const cr_metric_in *in, cr_err *err) {
    (void)err;
    m->n += in->n_rows;
    return CR_OK;
}

static double toy_value(const cr_metric *m) {
    return m->factor * (double)m->n;
}

static void toy_pack(const cr_metric *m, cr_buf *out) {
    cr_buf_add(out, &m->n, sizeof m->n);
}

static cr_code toy_merge(cr_metric *m, const void *state, size_t size, cr_err *err) {
    int64_t n = 0;
    CR_TRY(cr_metric_fits("toy_rows", size == sizeof n, err));
    memcpy(&n, state, sizeof n);
    m->n += n;
    return CR_OK;
}

const cr_metric_type cr_metric_toy_rows = {
    .name = "toy_rows",
    .new_ = toy_new,
    .free_ = toy_free,
    .reset = toy_reset,
    .update = toy_update,
    .value = toy_value,
    .pack = toy_pack,
    .merge = toy_merge,
};
