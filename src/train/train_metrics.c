/*
 * train_metrics.c - updates, shows, saves and restores the metrics of training batches.
 *
 * Their state is doubles (counts and sums), and a resumed run must show the same values as a run
 * without a break. Tensors of floats hold only 24 bits of each number, so the state is text in
 * state.json: per metric a name and the bits of each number as 16 hex digits,
 * "auc=3ff0000000000000,...;accuracy=...".
 */
#include "train/train_metrics.h"
#include "train/train_int.h"

#include <math.h>
#include <string.h>

#include "base/log.h"

struct cr_train_metrics {
    cr_job *j;
    cr_train_metric **v;
    cr_all_rows *all;
    cr_eval_result result;
    bool ended; /* an epoch has ended, and there was no step since: its values are still shown */
};

cr_code cr_train_metrics_new(cr_train_metrics **out, cr_job *j, const cr_lanes *lanes,
                             cr_err *err) {
    const cr_model *m = j->model;
    cr_train_metrics *t = cr_alloc(sizeof *t, "training metrics");
    t->j = j;
    t->ended = false;
    t->v = cr_alloc((size_t)(m->n_train_metrics + 1) * sizeof *t->v, "training metrics");
    int64_t K = 1;
    cr_code code = CR_OK;
    for (int i = 0; i < m->n_train_metrics && i < CR_MAX_RESULTS && code == CR_OK; i++) {
        const cr_model_metric *mm = &m->train_metrics[i];
        if (mm->K > K) K = mm->K;
        code = cr_train_metric_new(&t->v[i], mm->train, mm->K, err);
        if (code == CR_OK) t->result.v[t->result.n++] = (cr_metric_result){.name = mm->name};
    }
    if (code == CR_OK) code = cr_all_rows_new(&t->all, lanes, j->batch, K, err);
    if (code == CR_OK)
        *out = t;
    else
        cr_train_metrics_free(t);
    return code;
}

void cr_train_metrics_free(cr_train_metrics *m) {
    if (!m) return;
    for (int i = 0; i < m->result.n; i++)
        cr_train_metric_free(m->v[i]);
    cr_all_rows_free(m->all);
    cr_free(m->v);
    cr_free(m);
}

cr_code cr_train_metrics_step(cr_train_metrics *m, const cr_trainer *t, const cr_batch *b,
                              cr_err *err) {
    m->ended = false;
    for (int i = 0; i < m->result.n; i++) {
        const cr_model_metric *mm = &m->j->model->train_metrics[i];
        cr_metric_rows rows = {.in = {.n_rows = b->n_rows,
                                      .K = mm->K,
                                      .pred = cr_trainer_val(t, mm->pred),
                                      .pred_stride = cr_ld(mm->pred),
                                      .label = b->labels[mm->label]}};
        cr_all_rows_take(m->all, b->global_rows, &rows);
        CR_TRY(cr_train_metric_step(m->v[i], &rows.in, err));
    }
    return CR_OK;
}

void cr_train_metrics_epoch(cr_train_metrics *m) {
    (void)cr_train_metrics_result(m);
    m->ended = true;
    for (int i = 0; i < m->result.n && !m->j->root->train_config->metrics_over_epochs; i++)
        cr_train_metric_epoch(m->v[i]);
}

const cr_eval_result *cr_train_metrics_result(cr_train_metrics *m) {
    for (int i = 0; i < m->result.n && !m->ended; i++)
        m->result.v[i].value = cr_train_metric_value(m->v[i]);
    return &m->result;
}

void cr_train_metrics_text(cr_train_metrics *m, cr_buf *out) {
    const cr_eval_result *r = cr_train_metrics_result(m);
    for (int i = 0; i < r->n; i++)
        cr_buf_printf(out, " %s:%.5f", r->v[i].name, r->v[i].value);
}

/* ---- in a checkpoint ---- */

char *cr_train_metrics_save(const cr_train_metrics *m, cr_arena *a) {
    if (m->result.n == 0) return NULL;
    cr_buf b;
    cr_buf_init(&b);
    for (int i = 0; i < m->result.n; i++) {
        int64_t n = cr_train_metric_n_state(m->v[i]);
        double *state = cr_alloc((size_t)n * sizeof *state, "training metrics");
        cr_train_metric_get(m->v[i], state);
        cr_buf_printf(&b, "%s%s=", i ? ";" : "", m->result.v[i].name);
        for (int64_t k = 0; k < n; k++) {
            uint64_t bits;
            memcpy(&bits, &state[k], sizeof bits);
            cr_buf_printf(&b, "%s%016llx", k ? "," : "", (unsigned long long)bits);
        }
        cr_free(state);
    }
    char *text = cr_arena_strdup(a, b.data);
    cr_buf_clear(&b);
    return text;
}

/* Reads 16 hex digits at the end of the text; the number must be one that a metric can have
 * saved. */
static bool read_number(const char *s, double *out) {
    uint64_t bits = 0;
    for (int i = 0; i < 16; i++) {
        const char *digits = "0123456789abcdef", *d = s[i] ? strchr(digits, s[i]) : NULL;
        if (!d) return false;
        bits = bits << 4 | (uint64_t)(d - digits);
    }
    memcpy(out, &bits, sizeof bits);
    return isfinite(*out) && fabs(*out) < 0x1p53;
}

static bool read_state(const char *s, double *state, int64_t n) {
    for (int64_t k = 0; k < n; k++, s += 17) {
        if (!read_number(s, &state[k]) || !(state[k] >= 0 && state[k] < 0x1p62)) return false;
        if (s[16] != (k + 1 < n ? ',' : ';') && !(k + 1 == n && s[16] == 0)) return false;
    }
    return true;
}

/* Returns where the numbers of a metric begin; NULL: it is not in the text. */
static const char *find(const char *text, const char *name) {
    size_t len = strlen(name);
    for (const char *s = text; s; s = (s = strchr(s, ';')) ? s + 1 : NULL)
        if (strncmp(s, name, len) == 0 && s[len] == '=') return s + len + 1;
    return NULL;
}

void cr_train_metrics_load(cr_train_metrics *m, const char *text) {
    for (int i = 0; i < m->result.n; i++) {
        int64_t n = cr_train_metric_n_state(m->v[i]);
        double *state = cr_alloc((size_t)n * sizeof *state, "training metrics");
        const char *s = text ? find(text, m->result.v[i].name) : NULL;
        if (s && read_state(s, state, n))
            cr_train_metric_set(m->v[i], state);
        else
            CR_WARN("training metric %s begins anew: the checkpoint %s", m->result.v[i].name,
                    s ? "kept it with other settings" : "does not have it");
        cr_free(state);
    }
}
