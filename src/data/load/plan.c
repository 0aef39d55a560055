/*
 * plan.c - which row is in which batch.
 *
 * Everything here runs in the order of the stream, one block after the other: blocks into windows,
 * windows into batches, bad rows counted on the way. The position of a batch is told by the window
 * its last row is in, and bad rows are counted up to the begin of that window: a run that goes on
 * from there reads the window again and counts the rest again.
 */
#include "data/load/loader_int.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "data/load/shuffle.h"

#define LOG_BAD 5

/* ---- windows ---- */

static cr_window *new_window(cr_loader *l, cr_window_kind kind) {
    cr_window *w = l->free_wins;
    if (w)
        l->free_wins = w->next;
    else
        w = cr_alloc(sizeof(*w), "a window of rows");
    cr_window keep = *w;
    *w = (cr_window){.kind = kind,
                     .slots = keep.slots,
                     .srcs = keep.srcs,
                     .recs = keep.recs,
                     .cap_slots = keep.cap_slots,
                     .refs = keep.refs,
                     .cap_refs = keep.cap_refs,
                     .tally = keep.tally};
    return w;
}

static void free_slot(cr_loader *l, cr_slot *s) {
    s->next = l->free_slots;
    l->free_slots = s;
}

static void drop_window(cr_loader *l, cr_window *w) {
    for (int i = 0; i < w->n_slots; i++)
        free_slot(l, w->slots[i]);
    w->n_slots = 0;
    w->next = l->free_wins;
    l->free_wins = w;
}

static void push_window(cr_loader *l, cr_window *w) {
    w->next = NULL;
    if (l->win_tail)
        l->win_tail->next = w;
    else
        l->win_head = w;
    l->win_tail = w;
    l->closed_rows += w->n_rows - w->used;
}

static void pop_window(cr_loader *l) {
    cr_window *w = l->win_head;
    l->win_head = w->next;
    if (!l->win_head) l->win_tail = NULL;
    w->popped = true;
    if (w->readers == 0) drop_window(l, w);
}

/* count adds counts to those of a window or a batch. */
static void count(const cr_loader *l, void **to, bool *counted, const void *from) {
    if (!*to) *to = cr_alloc(l->o.tally_size, "counts of rows");
    if (*counted)
        l->o.tally_add(*to, from, l->o.tally_size);
    else
        memcpy(*to, from, l->o.tally_size);
    *counted = true;
}

/* take_counts: whoever takes the first row of a window takes its counts */
static void take_counts(const cr_loader *l, cr_job *j, cr_window *w) {
    if (w->counted) count(l, &j->tally, &j->counted, w->tally);
    w->counted = false;
}

static void add_slot(cr_window *w, cr_slot *s) {
    if (w->n_slots == w->cap_slots) {
        size_t old = (size_t)w->cap_slots, cap = old ? 2 * old : 8;
        w->slots = cr_realloc(w->slots, old * sizeof(*w->slots), cap * sizeof(*w->slots),
                              "a window of rows");
        w->srcs =
            cr_realloc(w->srcs, old * sizeof(*w->srcs), cap * sizeof(*w->srcs), "a window of rows");
        w->recs =
            cr_realloc(w->recs, old * sizeof(*w->recs), cap * sizeof(*w->recs), "a window of rows");
        w->cap_slots = (int)cap;
    }
    w->slots[w->n_slots] = s;
    w->recs[w->n_slots] = s->rec;
    w->srcs[w->n_slots++] = &s->rows;
}

/* permute fills the refs of a window that is complete. */
static cr_code permute(const cr_loader *l, cr_window *w, cr_err *err) {
    if (!l->o.shuffle) return CR_OK;
    if (w->cap_refs < w->n_rows) {
        int64_t cap = w->n_rows + w->n_rows / 8;
        void *p;
        CR_TRY(cr_try_alloc(&p, (size_t)cap * sizeof(*w->refs), "the shuffle buffer", err));
        cr_free(w->refs);
        w->refs = p;
        w->cap_refs = cap;
    }
    int64_t n = 0;
    for (int s = 0; s < w->n_slots; s++) {
        for (int64_t i = 0; i < w->slots[s]->rows.n_rows; i++)
            w->refs[n++] = (cr_rowref){(uint32_t)s, (uint32_t)i};
    }
    cr_shuffle_rows(w->refs, n, l->o.seed, w->epoch, w->unit);
    return CR_OK;
}

/* ---- slots into windows ---- */

static void fail_stream(cr_loader *l, const cr_err *err) {
    pthread_mutex_lock(&l->lock);
    cr_window *w = new_window(l, CR_WIN_FAILED);
    w->err = *err;
    if (err->at.path == err->path) w->err.at.path = w->err.path;
    push_window(l, w);
    l->seq_over = l->cut_over = true;
    pthread_mutex_unlock(&l->lock);
}

/* close_window gives the rows of the open window to the batches. */
static bool close_window(cr_loader *l) {
    cr_window *w = l->open;
    if (!w && l->skip == 0) return true;
    cr_err err = {0};
    cr_code code = w ? permute(l, w, &err) : CR_OK;
    if (code == CR_OK && (!w || l->skip > w->n_rows))
        code =
            cr_fail_at(&err, CR_EDATA, ((cr_loc){l->o.paths, 0, 0}),
                       "the data does not fit the saved position (%lld rows, %lld of them used); "
                       "the files changed since the checkpoint was made",
                       (long long)(w ? w->n_rows : 0), (long long)l->skip);
    if (code != CR_OK) {
        fail_stream(l, &err);
        return false;
    }
    w->used = l->skip;
    l->skip = 0;
    pthread_mutex_lock(&l->lock);
    l->open = NULL;
    l->open_rows = 0;
    push_window(l, w);
    pthread_mutex_unlock(&l->lock);
    return true;
}

/* place tells where a bad row is: its line, which the reader may have to count, or its number, as
 * text in front of the cause. */
static cr_loc place(const cr_loader *l, const cr_slot *s, const cr_bad_row *b, char row[48]) {
    int64_t line = b->line;
    row[0] = 0;
    if (l->known) snprintf(row, 48, "row %lld (from 0): ", (long long)(s->first_row + b->row));
    if (s->first_line == 0 && line > 0 && l->reader->line_at) {
        int64_t base = 0;
        cr_code code = l->reader->line_at(l->src, s->file, s->offset, &base, NULL);
        line = code == CR_OK ? base + line - 1 : 0;
    }
    return (cr_loc){l->reader->path(l->src, s->file), (int)line, 0};
}

/* count_bad counts the bad rows of a slot; false when they are too many. */
static bool count_bad(cr_loader *l, const cr_slot *s) {
    int64_t max = l->o.max_bad_rows, before = l->epoch_bad;
    char row[48];
    l->epoch_bad += s->n_bad;
    bool too_many = l->epoch_bad > max;
    if (l->first_bad.code == CR_OK && s->n_bad_kept > 0) {
        cr_err first;
        cr_loc at = place(l, s, &s->bad[0], row);
        (void)!cr_fail_at(&first, CR_EDATA, at, "%s%s", row, s->bad[0].msg);
        pthread_mutex_lock(&l->lock);
        l->first_bad = first;
        pthread_mutex_unlock(&l->lock);
    }
    for (int64_t i = 0; i < s->n_bad_kept && l->o.share.first == 0 && max > 0 && !l->o.silent;
         i++) {
        if (before + i >= max || l->n_logged >= LOG_BAD) break;
        cr_err e = {0};
        char text[900];
        cr_loc at = place(l, s, &s->bad[i], row);
        (void)!cr_fail_at(&e, CR_EDATA, at, "%s%s", row, s->bad[i].msg);
        cr_err_text(&e, text, sizeof(text));
        CR_WARN("%s; the row is left out%s", text,
                ++l->n_logged == LOG_BAD ? " (further ones are only counted)" : "");
    }
    if (!too_many) return true;
    cr_err err = {0};
    int64_t i =
        max > before ? max - before : 0; /* the one too many; a resumed run may begin past max */
    if (i >= s->n_bad_kept) i = s->n_bad_kept - 1;
    const cr_bad_row *b = &s->bad[i];
    cr_loc at = place(l, s, b, row);
    if (max == 0)
        cr_fail_at(&err, CR_EDATA, at,
                   "%s%s; correct the row, or leave some out with data_config.max_bad_rows", row,
                   b->msg);
    else
        cr_fail_at(
            &err, CR_EDATA, at,
            "%s%s; more bad rows than data_config.max_bad_rows: %lld, correct them or raise it",
            row, b->msg, (long long)max);
    fail_stream(l, &err);
    return false;
}

static void end_epoch(cr_loader *l, const cr_slot *s) {
    cr_err err = {0};
    if (!close_window(l)) return;
    /* a file that was replaced after its last block was read would be another one in the next epoch
     */
    for (int64_t f = 0; f < l->n_files; f++)
        if (cr_file_id_check_path(l->reader->file_id(l->src, f), l->reader->path(l->src, f),
                                  &err) != CR_OK) {
            fail_stream(l, &err);
            return;
        }
    if (l->epoch_bad > 0 && l->o.share.first == 0 && !l->o.silent)
        CR_WARN("%lld bad row%s left out in this pass over %s", (long long)l->epoch_bad,
                l->epoch_bad == 1 ? " was" : "s were", l->o.paths);
    pthread_mutex_lock(&l->lock);
    cr_window *w = new_window(l, CR_WIN_END);
    w->epoch = s->epoch;
    w->last = l->o.n_epochs > 0 && s->epoch + 1 >= l->o.n_epochs;
    push_window(l, w);
    pthread_mutex_unlock(&l->lock);
    l->epoch_rows = l->epoch_bad = 0;
    l->n_logged = 0;
}

void cr_plan_slot(cr_loader *l, cr_slot *s) {
    bool kept = false;
    if (s->code != CR_OK)
        fail_stream(l, &s->err);
    else if (s->end)
        end_epoch(l, s);
    else {
        int64_t bad_before = l->epoch_bad;
        bool fine = s->n_bad == 0 || count_bad(l, s);
        if (fine) {
            pthread_mutex_lock(&l->lock);
            if (!l->open) {
                l->open = new_window(l, CR_WIN_ROWS);
                l->open->epoch = s->epoch;
                l->open->unit = s->unit;
                l->open->rows_before = l->epoch_rows;
                l->open->bad_before = bad_before;
                l->open->base = s->base;
                l->open->lead = s->lead;
            }
            cr_window *w = l->open;
            int64_t n = s->n_stands >= 0 ? s->n_stands : s->rows.n_rows;
            kept = s->rows.n_rows > 0;
            if (kept) add_slot(w, s);
            if (s->counted) count(l, &w->tally, &w->counted, s->tally);
            w->n_rows += n;
            w->next_unit = s->next_unit;
            w->block_end = s->block_end;
            w->bad += s->n_bad;
            l->epoch_rows += n;
            l->open_rows = w->n_rows;
            l->stats.bad_rows += s->n_bad;
            pthread_mutex_unlock(&l->lock);
            if (w->n_rows >= l->W) close_window(l);
        }
    }
    pthread_mutex_lock(&l->lock);
    if (!kept) free_slot(l, s);
    pthread_mutex_unlock(&l->lock);
}

/* ---- windows into batches ---- */

static cr_job *new_job(cr_loader *l, cr_job_kind kind) {
    cr_job *j = l->free_jobs;
    l->free_jobs = j->next;
    j->next = NULL;
    j->kind = kind;
    j->started = j->ready = kind != CR_JOB_BATCH;
    j->n_runs = 0;
    j->counted = false;
    if (l->job_tail)
        l->job_tail->next = j;
    else
        l->job_head = j;
    l->job_tail = j;
    return j;
}

static void add_run(cr_job *j, cr_window *w, int64_t from, int64_t n, bool shuffled) {
    if (j->n_runs == j->cap_runs) {
        size_t old = (size_t)j->cap_runs, cap = old ? 2 * old : 8;
        j->runs = cr_realloc(j->runs, old * sizeof(*j->runs), cap * sizeof(*j->runs), "a batch");
        j->wins = cr_realloc(j->wins, old * sizeof(*j->wins), cap * sizeof(*j->wins), "a batch");
        j->cap_runs = (int)cap;
    }
    j->wins[j->n_runs] = w;
    j->runs[j->n_runs++] = (cr_row_run){.srcs = w->srcs,
                                        .recs = shuffled ? w->recs : NULL,
                                        .n_srcs = w->n_slots,
                                        .refs = shuffled ? w->refs + from : NULL,
                                        .from = shuffled ? 0 : from,
                                        .n = n};
    w->readers++;
}

static void after(const cr_window *w, cr_data_pos *pos) {
    bool all = w->used == w->n_rows && w->block_end;
    *pos = (cr_data_pos){.epoch = w->epoch,
                         .unit = all ? w->next_unit : w->unit,
                         .row = all ? 0 : w->base + w->used,
                         .rows = w->rows_before + w->used,
                         .bad_rows = w->bad_before + (all ? w->bad : 0)};
}

/* plan_batch takes `total` rows from the windows; this process's share of them becomes a job. */
static void plan_batch(cr_loader *l, int64_t total) {
    const cr_share *own = &l->o.share;
    int64_t lo = total * own->first / own->of, hi = total * own->end / own->of;
    cr_job *j = new_job(l, CR_JOB_BATCH);
    j->shape = NULL;
    l->epoch_batches++;
    for (int64_t at = 0; at < total;) {
        cr_window *w = l->win_head;
        int64_t n = w->n_rows - w->used;
        take_counts(l, j, w);
        if (n > total - at) n = total - at;
        int64_t a = at > lo ? at : lo, z = at + n < hi ? at + n : hi;
        /* without rows of its own the job still holds the window whose shape it takes */
        bool shape_only = !j->shape && lo == hi && n > 0;
        if (a < z || shape_only)
            add_run(j, w, w->used + (a < z ? a - at : 0) - w->lead, a < z ? z - a : 0,
                    l->o.shuffle);
        if (w->n_slots > 0 && !j->shape && j->n_runs > 0) j->shape = w->srcs[0];
        w->used += n;
        at += n;
        after(w, &j->batch.after);
        if (w->used == w->n_rows) pop_window(l);
    }
    l->closed_rows -= total;
    j->batch.global_row = lo;
    j->batch.global_rows = total;
}

/* drop_rows throws away what is left of an epoch (drop_remainder); its counts stay. */
static void drop_rows(cr_loader *l, cr_job *j) {
    while (l->win_head->kind == CR_WIN_ROWS) {
        take_counts(l, j, l->win_head);
        l->closed_rows -= l->win_head->n_rows - l->win_head->used;
        l->win_head->used = l->win_head->n_rows;
        pop_window(l);
    }
}

static void plan_end(cr_loader *l) {
    bool nothing = l->epoch_batches == 0 && l->o.n_epochs == 0;
    cr_job *j = new_job(l, nothing ? CR_JOB_FAILED : CR_JOB_END);
    drop_rows(l, j);
    cr_window *w = l->win_head;
    if (nothing) {
        cr_fail_at(&j->err, CR_EDATA, ((cr_loc){l->o.paths, 0, 0}), "%s",
                   l->o.drop_remainder
                       ? "fewer rows than one batch, and drop_remainder leaves those out; use a "
                         "smaller batch_size or more data"
                       : "there are no rows; check the path and the files");
        l->plan_over = l->cut_over = true;
    }
    j->last = w->last;
    l->epoch_batches = 0;
    pop_window(l);
}

void cr_plan_jobs(cr_loader *l) {
    while (l->free_jobs && !l->plan_over) {
        int64_t have = 0;
        const cr_window *w = l->win_head;
        for (; w && w->kind == CR_WIN_ROWS && have < l->G; w = w->next)
            have += w->n_rows - w->used;
        if (have >= l->G) {
            plan_batch(l, l->G);
        } else if (!w) {
            return;
        } else if (w->kind == CR_WIN_FAILED) {
            cr_job *j = new_job(l, CR_JOB_FAILED);
            j->err = w->err;
            if (w->err.at.path == w->err.path) j->err.at.path = j->err.path;
            l->plan_over = true;
        } else if (have > 0 && !l->o.drop_remainder) {
            plan_batch(l, have);
        } else {
            plan_end(l);
        }
    }
}

void cr_plan_done(cr_loader *l, cr_job *j) {
    for (int i = 0; i < j->n_runs; i++) {
        cr_window *w = j->wins[i];
        if (--w->readers == 0 && w->popped) drop_window(l, w);
    }
    j->n_runs = 0;
    j->ready = true;
}

static void clear_slots(cr_slot *s) {
    while (s) {
        cr_slot *next = s->next;
        cr_region_clear(&s->mem);
        cr_free(s->tally);
        cr_free(s->bad);
        cr_free(s);
        s = next;
    }
}

void cr_plan_clear(cr_loader *l) {
    for (int i = 0; i < CR_LOADER_AHEAD; i++) {
        cr_job *j = &l->jobs[i];
        if (!j->ready) cr_plan_done(l, j); /* planned, and now never assembled */
        cr_region_clear(&j->mem);
        cr_free(j->tally);
        cr_free(j->runs);
        cr_free(j->wins);
    }
    while (l->win_head)
        pop_window(l);
    if (l->open) drop_window(l, l->open);
    clear_slots(l->head);
    clear_slots(l->free_slots);
    while (l->free_wins) {
        cr_window *w = l->free_wins;
        l->free_wins = w->next;
        cr_free(w->slots);
        cr_free(w->srcs);
        cr_free(w->recs);
        cr_free(w->refs);
        cr_free(w->tally);
        cr_free(w);
    }
}
