/*
 * planner.c - decides which row is in which batch.
 *
 * Rows are taken from the front of the queue of windows, across their borders. The position of a
 * batch is the window that its last row is in, and bad rows are counted up to the begin of that
 * window: a run that goes on from there reads the window again and counts the rest again.
 */
#include "data/load/planner.h"

void cr_planner_init(cr_planner *p, const cr_loader_opts *o, cr_windows *from) {
    *p = (cr_planner){.o = o, .from = from, .epoch_batches = o->start.rows > 0};
    for (int i = 0; i < CR_LOADER_AHEAD; i++) {
        p->v[i].ready = true;
        cr_planner_return(p, &p->v[i]);
    }
}

static cr_parcel *new_parcel(cr_planner *p, cr_parcel_kind kind) {
    cr_parcel *x = p->spare;
    p->spare = x->next;
    x->next = NULL;
    x->kind = kind;
    x->started = x->ready = kind != CR_PARCEL_BATCH;
    x->n_runs = 0;
    x->tally.any = false;
    if (p->tail)
        p->tail->next = x;
    else
        p->head = x;
    p->tail = x;
    return x;
}

/* take_counts gives the counts of a window to the batch that takes its first row. */
static void take_counts(const cr_planner *p, cr_parcel *x, cr_window *w) {
    if (w->tally.any) cr_tally_add(&x->tally, w->tally.sum, p->o);
    w->tally.any = false;
}

static void add_run(cr_parcel *x, cr_window *w, int64_t from, int64_t n, bool shuffled) {
    if (x->n_runs == x->cap_runs) {
        size_t old = (size_t)x->cap_runs, cap = old ? 2 * old : 8;
        x->runs = cr_realloc(x->runs, old * sizeof(*x->runs), cap * sizeof(*x->runs), "a batch");
        x->wins = cr_realloc(x->wins, old * sizeof(*x->wins), cap * sizeof(*x->wins), "a batch");
        x->cap_runs = (int)cap;
    }
    x->wins[x->n_runs] = w;
    x->runs[x->n_runs++] = (cr_row_run){.srcs = w->srcs,
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

/* plan_batch takes `total` rows from the windows; this process's share of them becomes a parcel. */
static void plan_batch(cr_planner *p, int64_t total) {
    const cr_share *own = &p->o->share;
    int64_t lo = total * own->first / own->of, hi = total * own->end / own->of;
    cr_parcel *x = new_parcel(p, CR_PARCEL_BATCH);
    x->shape = NULL;
    p->epoch_batches++;
    for (int64_t at = 0; at < total;) {
        cr_window *w = p->from->head;
        int64_t n = w->n_rows - w->used;
        take_counts(p, x, w);
        if (n > total - at) n = total - at;
        int64_t a = at > lo ? at : lo, z = at + n < hi ? at + n : hi;
        /* A parcel without rows of its own still holds the window whose shape it takes. */
        bool shape_only = !x->shape && lo == hi && n > 0;
        if (a < z || shape_only)
            add_run(x, w, w->used + (a < z ? a - at : 0) - w->lead, a < z ? z - a : 0,
                    p->o->shuffle);
        if (w->n_slots > 0 && !x->shape && x->n_runs > 0) x->shape = w->srcs[0];
        w->used += n;
        at += n;
        after(w, &x->after);
        if (w->used == w->n_rows) cr_windows_pop(p->from);
    }
    p->from->rows -= total;
    x->batch.global_rows = total;
}

/* drop_rows throws away what is left of an epoch (drop_remainder); its counts stay. */
static void drop_rows(cr_planner *p, cr_parcel *x) {
    for (cr_window *w; (w = p->from->head)->kind == CR_WIN_ROWS;) {
        take_counts(p, x, w);
        p->from->rows -= w->n_rows - w->used;
        w->used = w->n_rows;
        cr_windows_pop(p->from);
    }
}

static void plan_end(cr_planner *p) {
    bool nothing = p->epoch_batches == 0 && p->o->n_epochs == 0;
    cr_parcel *x = new_parcel(p, nothing ? CR_PARCEL_FAILED : CR_PARCEL_END);
    drop_rows(p, x);
    if (nothing) {
        cr_fail_at(&x->err, CR_EDATA, ((cr_loc){p->o->paths, 0, 0}), "%s",
                   p->o->drop_remainder
                       ? "fewer rows than one batch, and drop_remainder leaves those out; use a "
                         "smaller batch_size or more data"
                       : "there are no rows; check the path and the files");
        p->over = true;
    }
    x->last = p->from->head->last;
    p->epoch_batches = 0;
    cr_windows_pop(p->from);
}

void cr_planner_run(cr_planner *p) {
    const int64_t G = p->o->batch_size;
    while (p->spare && !p->over) {
        int64_t have = 0;
        const cr_window *w = p->from->head;
        for (; w && w->kind == CR_WIN_ROWS && have < G; w = w->next)
            have += w->n_rows - w->used;
        if (have >= G) {
            plan_batch(p, G);
        } else if (!w) {
            return;
        } else if (w->kind == CR_WIN_FAILED) {
            cr_parcel *x = new_parcel(p, CR_PARCEL_FAILED);
            cr_err_copy(&x->err, &w->err);
            p->over = true;
        } else if (have > 0 && !p->o->drop_remainder) {
            plan_batch(p, have);
        } else {
            plan_end(p);
        }
    }
}

cr_parcel *cr_planner_todo(const cr_planner *p) {
    for (cr_parcel *x = p->head; x; x = x->next)
        if (!x->started) return x;
    return NULL;
}

void cr_planner_done(cr_planner *p, cr_parcel *x) {
    for (int i = 0; i < x->n_runs; i++)
        cr_windows_release(p->from, x->wins[i]);
    x->n_runs = 0;
    x->ready = true;
}

cr_parcel *cr_planner_take(cr_planner *p) {
    cr_parcel *x = p->head;
    if (!x || !x->ready) return NULL;
    p->head = x->next;
    if (!p->head) p->tail = NULL;
    return x;
}

void cr_planner_return(cr_planner *p, cr_parcel *x) {
    x->next = p->spare;
    p->spare = x;
}

void cr_planner_clear(cr_planner *p) {
    for (int i = 0; i < CR_LOADER_AHEAD; i++) {
        cr_parcel *x = &p->v[i];
        if (!x->ready) cr_planner_done(p, x); /* it was planned and is now never assembled */
        cr_region_clear(&x->mem);
        cr_free(x->tally.sum);
        cr_free(x->runs);
        cr_free(x->wins);
    }
}
