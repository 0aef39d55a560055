/*
 * sequencer.c - puts slots into windows.
 *
 * Everything here runs in the order of the stream, one slot after the other. Nothing that decides
 * on content looks at the time.
 */
#include "data/load/sequencer.h"

#include <stdio.h>

#include "base/log.h"
#include "data/load/shuffle.h"

#define LOG_BAD 5

int64_t cr_window_rows(const cr_loader_opts *o, bool shuffle) {
    if (!shuffle) return 1;
    int64_t n = o->conf->shuffle_buffer_size > 0 ? o->conf->shuffle_buffer_size : 1;
    const int64_t most = INT64_C(1) << 40;
    return n > most / o->batch_size ? most : n * o->batch_size;
}

void cr_sequencer_init(cr_sequencer *s, const cr_items *in, cr_windows *out,
                       pthread_mutex_t *lock) {
    *s = (cr_sequencer){.in = in,
                        .out = out,
                        .lock = lock,
                        .full = cr_window_rows(in->o, in->o->shuffle)};
}

void cr_sequencer_start(cr_sequencer *s, int64_t skip) {
    const cr_data_pos *p = &s->in->o->start;
    s->skip = skip;
    s->epoch_rows = p->rows - skip;
    s->epoch_bad = p->bad_rows;
}

void cr_sequencer_clear(cr_sequencer *s) {
    if (s->open) cr_windows_drop(s->out, s->open);
    s->open = NULL;
}

/* permute fills the refs of a window that is complete. */
static cr_code permute(const cr_sequencer *s, cr_window *w, cr_err *err) {
    if (!s->in->o->shuffle) return CR_OK;
    if (w->cap_refs < w->n_rows) {
        int64_t cap = w->n_rows + w->n_rows / 8;
        void *p;
        CR_TRY(cr_try_alloc(&p, (size_t)cap * sizeof(*w->refs), "the shuffle buffer", err));
        cr_free(w->refs);
        w->refs = p;
        w->cap_refs = cap;
    }
    int64_t n = 0;
    for (int k = 0; k < w->n_slots; k++) {
        for (int64_t i = 0; i < w->slots[k]->rows.n_rows; i++)
            w->refs[n++] = (cr_rowref){(uint32_t)k, (uint32_t)i};
    }
    cr_shuffle_rows(w->refs, n, s->in->o->seed, w->epoch, w->unit);
    return CR_OK;
}

static void fail_stream(cr_sequencer *s, const cr_err *err) {
    pthread_mutex_lock(s->lock);
    cr_window *w = cr_windows_new(s->out, CR_WIN_FAILED);
    cr_err_copy(&w->err, err);
    cr_windows_push(s->out, w);
    s->over = true;
    pthread_mutex_unlock(s->lock);
}

/* close_window gives the rows of the open window to the batches. */
static bool close_window(cr_sequencer *s) {
    cr_window *w = s->open;
    if (!w && s->skip == 0) return true;
    cr_err err = {0};
    cr_code code = w ? permute(s, w, &err) : CR_OK;
    if (code == CR_OK && (!w || s->skip > w->n_rows))
        code =
            cr_fail_at(&err, CR_EDATA, ((cr_loc){s->in->o->paths, 0, 0}),
                       "the data does not fit the saved position (%lld rows, %lld of them used); "
                       "the files changed since the checkpoint was made",
                       (long long)(w ? w->n_rows : 0), (long long)s->skip);
    if (code != CR_OK) {
        fail_stream(s, &err);
        return false;
    }
    w->used = s->skip;
    s->skip = 0;
    pthread_mutex_lock(s->lock);
    s->open = NULL;
    s->open_rows = 0;
    cr_windows_push(s->out, w);
    pthread_mutex_unlock(s->lock);
    return true;
}

/* place finds where a bad row is: its line, which the reader may have to count, or its number as
 * text in front of the cause. */
static cr_loc place(const cr_sequencer *s, const cr_slot *slot, const cr_bad_row *b, char row[48]) {
    int64_t line = b->line;
    row[0] = 0;
    if (slot->first_row >= 0)
        snprintf(row, 48, "row %lld (from 0): ", (long long)(slot->first_row + b->row));
    if (slot->first_line == 0 && line > 0 && s->in->reader->line_at) {
        int64_t base = 0;
        cr_code code = s->in->reader->line_at(s->in->src, slot->file, slot->offset, &base, NULL);
        line = code == CR_OK ? base + line - 1 : 0;
    }
    return (cr_loc){s->in->reader->path(s->in->src, slot->file), (int)line, 0};
}

/* count_bad counts the bad rows of a slot; false when they are too many. */
static bool count_bad(cr_sequencer *s, const cr_slot *slot) {
    int64_t max = s->in->o->max_bad_rows, before = s->epoch_bad;
    char row[48];
    s->epoch_bad += slot->n_bad;
    bool too_many = s->epoch_bad > max;
    if (s->first_bad.code == CR_OK && slot->n_bad_kept > 0) {
        cr_err first;
        cr_loc at = place(s, slot, &slot->bad[0], row);
        (void)!cr_fail_at(&first, CR_EDATA, at, "%s%s", row, slot->bad[0].msg);
        pthread_mutex_lock(s->lock);
        cr_err_copy(&s->first_bad, &first);
        pthread_mutex_unlock(s->lock);
    }
    bool log = s->in->o->share.first == 0 && max > 0 && !s->in->o->silent;
    for (int64_t i = 0; log && i < slot->n_bad_kept; i++) {
        if (before + i >= max || s->n_logged >= LOG_BAD) break;
        cr_err e = {0};
        char text[900];
        cr_loc at = place(s, slot, &slot->bad[i], row);
        (void)!cr_fail_at(&e, CR_EDATA, at, "%s%s", row, slot->bad[i].msg);
        cr_err_text(&e, text, sizeof(text));
        CR_WARN("%s; the row is left out%s", text,
                ++s->n_logged == LOG_BAD ? " (further ones are only counted)" : "");
    }
    if (!too_many) return true;
    cr_err err = {0};
    int64_t i =
        max > before ? max - before : 0; /* the row too many; a resumed run may begin past max */
    if (i >= slot->n_bad_kept) i = slot->n_bad_kept - 1;
    const cr_bad_row *b = &slot->bad[i];
    cr_loc at = place(s, slot, b, row);
    if (max == 0)
        cr_fail_at(&err, CR_EDATA, at,
                   "%s%s; correct the row, or leave some out with data_config.max_bad_rows", row,
                   b->msg);
    else
        cr_fail_at(
            &err, CR_EDATA, at,
            "%s%s; more bad rows than data_config.max_bad_rows: %lld, correct them or raise it",
            row, b->msg, (long long)max);
    fail_stream(s, &err);
    return false;
}

static void end_epoch(cr_sequencer *s, const cr_slot *slot) {
    const cr_items *in = s->in;
    cr_err err = {0};
    if (!close_window(s)) return;
    /* A file that was replaced after its last block was read would be another file in the next
     * epoch. */
    for (int64_t f = 0; f < in->n_files; f++)
        if (cr_file_id_check_path(in->reader->file_id(in->src, f), in->reader->path(in->src, f),
                                  &err) != CR_OK) {
            fail_stream(s, &err);
            return;
        }
    if (s->epoch_bad > 0 && s->in->o->share.first == 0 && !s->in->o->silent)
        CR_WARN("%lld bad row%s left out in this pass over %s", (long long)s->epoch_bad,
                s->epoch_bad == 1 ? " was" : "s were", s->in->o->paths);
    pthread_mutex_lock(s->lock);
    cr_window *w = cr_windows_new(s->out, CR_WIN_END);
    w->epoch = slot->epoch;
    w->last = s->in->o->n_epochs > 0 && slot->epoch + 1 >= s->in->o->n_epochs;
    cr_windows_push(s->out, w);
    pthread_mutex_unlock(s->lock);
    s->epoch_rows = s->epoch_bad = 0;
    s->n_logged = 0;
}

/* add puts a slot into the open window; false: the slot has no rows, so the window does not hold
 * it. */
static bool add(cr_sequencer *s, cr_slot *slot, int64_t bad_before) {
    int64_t n = slot->n_stands >= 0 ? slot->n_stands : slot->rows.n_rows;
    bool has_rows = slot->rows.n_rows > 0;
    pthread_mutex_lock(s->lock);
    if (!s->open) {
        s->open = cr_windows_new(s->out, CR_WIN_ROWS);
        s->open->epoch = slot->epoch;
        s->open->unit = slot->unit;
        s->open->rows_before = s->epoch_rows;
        s->open->bad_before = bad_before;
        s->open->base = slot->base;
        s->open->lead = slot->lead;
    }
    cr_window *w = s->open;
    if (has_rows) cr_window_add(w, slot);
    if (slot->tally.any) cr_tally_add(&w->tally, slot->tally.sum, s->in->o);
    w->n_rows += n;
    w->next_unit = slot->next_unit;
    w->block_end = slot->block_end;
    w->bad += slot->n_bad;
    s->epoch_rows += n;
    s->open_rows = w->n_rows;
    s->n_bad += slot->n_bad;
    pthread_mutex_unlock(s->lock);
    if (w->n_rows >= s->full) close_window(s);
    return has_rows;
}

void cr_sequencer_put(cr_sequencer *s, cr_slot *slot) {
    bool kept = false;
    int64_t bad_before = s->epoch_bad;
    if (slot->code != CR_OK)
        fail_stream(s, &slot->err);
    else if (slot->end)
        end_epoch(s, slot);
    else if (slot->n_bad == 0 || count_bad(s, slot))
        kept = add(s, slot, bad_before);
    if (kept) return;
    pthread_mutex_lock(s->lock);
    cr_slots_drop(s->out->slots, slot);
    pthread_mutex_unlock(s->lock);
}
