/*
 * labels.c - warns once when a label has the same value in all rows, so that there is nothing to
 * learn: label_fields may name the wrong column, or the rows are sorted by the label.
 *
 * The watch ends at the first row with another value, which is nearly always in the first batch, so
 * it costs nothing. A warning comes after SOME_BATCHES batches, or after the first epoch when that
 * is shorter. It depends on the data and the batch size alone. Where ranks share the batches, the
 * first one speaks of its own rows.
 */
#include "train/train_int.h"

#include <string.h>

#include "base/log.h"

#define SOME_BATCHES 100

/* Is the label a constant of the config (slot_text.made)? */
static bool is_made(const cr_job *j, int label) {
    const cr_slot_text_conf *st = j->root->data_config->slot_text;
    for (int64_t i = 0; st && i < st->made.n; i++)
        if (strcmp(((const cr_slot_made_conf *)st->made.v[i])->name,
                   j->model->features->labels[label]) == 0)
            return true;
    return false;
}

void cr_label_watch_init(label_watch *w, const cr_job *j, cr_arena *a) {
    const cr_model *m = j->model;
    *w = (label_watch){.j = j,
                       .first = CR_NEW_N(a, float, m->n_losses + 1),
                       .varies = CR_NEW_N(a, bool, m->n_losses + 1)};
    for (int i = 0; i < m->n_losses; i++) {
        w->varies[i] = m->losses[i].label < 0 || is_made(j, m->losses[i].label);
        for (int k = 0; k < i; k++) /* losses of one label are one case */
            if (m->losses[k].label == m->losses[i].label) w->varies[i] = true;
        w->n_same += !w->varies[i];
    }
    if (j->meet && j->meet->self > 0) w->n_same = 0;
}

void cr_label_watch_step(label_watch *w, const cr_batch *b) {
    const cr_model *m = w->j->model;
    if (w->n_same == 0 || b->n_rows == 0) return;
    for (int i = 0; i < m->n_losses; i++) {
        if (w->varies[i]) continue;
        const float *label = b->labels[m->losses[i].label];
        if (w->n_batches == 0) w->first[i] = label[0];
        for (int64_t r = 0; r < b->n_rows && !w->varies[i]; r++)
            w->varies[i] = label[r] != w->first[i];
        w->n_same -= w->varies[i];
    }
    w->n_rows += b->n_rows;
    if (++w->n_batches == SOME_BATCHES) cr_label_watch_end(w);
}

void cr_label_watch_end(label_watch *w) {
    const cr_model *m = w->j->model;
    for (int i = 0; i < m->n_losses && w->n_same > 0 && w->n_rows > 1; i++)
        if (!w->varies[i])
            CR_WARN("label '%s' is %.6g in all %lld rows so far, so there is nothing to learn; "
                    "check data_config.label_fields, or shuffle the rows if they are sorted by the "
                    "label",
                    w->j->features->labels[m->losses[i].label], (double)w->first[i],
                    (long long)w->n_rows);
    w->n_same = 0;
}
