/*
 * rounds.c - the steps between two places where all ranks meet, in a training with parameter
 * servers whose workers do not wait for each other (docs/design/servers.md). A worker runs by
 * itself in a round, so a mistake of its own cannot be put to a vote: it ends all ranks.
 */
#include <stdio.h>

#include "base/buf.h"
#include "base/cpu.h"
#include "comm/life.h"
#include "run/loop_int.h"

/* What a round leaves behind; the first worker tells all. */
typedef struct round_end {
    cr_data_pos pos;
    int64_t step, steps, rows, in_epoch, n_batches;
    int64_t done, ended, stop; /* no epoch is left; an epoch ended; a signal came */
} round_end;

typedef struct start { /* where a round began */
    cr_data_pos pos;
    cr_buf places; /* of a stream; empty: the data is files */
    int64_t step;  /* its first */
} start;

/* Ends all ranks with what this one has found. */
static void give_up(loop *l) {
    cr_err err = {.code = CR_ERUN};
    for (size_t i = 0; i < l->diag->n; i++)
        if (l->diag->v[i].sev == CR_SEV_ERROR) {
            const cr_finding *f = &l->diag->v[i];
            err.code = f->code;
            if (f->at.path && f->at.line > 0)
                snprintf(err.msg, sizeof err.msg, "%s:%d: %s", f->at.path, f->at.line, f->msg);
            else
                snprintf(err.msg, sizeof err.msg, "%s%s%s", f->at.path ? f->at.path : "",
                         f->at.path ? ": " : "", f->msg);
        }
    (void)cr_job_alone(&l->j, err.code, &err);
}

/* Opens the data again behind the last step, because a wait for it was ended. */
static void open_again(loop *l) {
    cr_buf places;
    cr_job_data d = cr_loop_rows(l, l->pos);
    cr_buf_init(&places);
    cr_loop_places(l, &places);
    d.places = places.n ? places.data : NULL;
    d.ids = &l->files;
    d.trace = cr_profile_trace(l->prof);
    cr_loader_free(l->data);
    l->data = NULL;
    if (cr_job_loader(&l->j, &d, &l->data, l->diag) != CR_OK) give_up(l);
    cr_buf_clear(&places);
}

/* A signal ended this worker's wait for the rows of a stream. True: the round ends behind its last
 * step. Else another worker has read more of the stream, so this one must find the same rows there.
 * since: when the first of its waits in vain was ended, 0: none was. */
static bool ends_dry(loop *l, double *since) {
    cr_err err;
    double most = (double)l->tc->servers->worker_update_interval_secs;
    if (cr_trainer_round_dry(l->t, l->step, &err) != CR_OK) {
        (void)cr_diag_err(l->diag, &err);
        give_up(l);
    }
    if (cr_trainer_round_stops(l->t, l->step)) return true;
    if (*since == 0) *since = cr_now();
    if (cr_now() - *since > most) {
        (void)cr_fail(&err, CR_ERUN,
                      "another worker has trained on rows behind step %lld, and '%s' has not given "
                      "them to this one in %.0f s; go on from the last checkpoint with "
                      "--continue_train",
                      (long long)l->step, l->c->train_input_path, most);
        (void)cr_diag_err(l->diag, &err);
        give_up(l);
    }
    open_again(l);
    return false;
}

/* A worker's steps up to the next place where all ranks meet. A mistake ends all ranks: nobody
 * listens to this one before the end of the round. */
static void work_round(loop *l, round_end *r) {
    for (double since = 0;;) {
        batch_of take;
        cr_loop_take_batch(l, &take);
        if (take.code == CR_ESTOP) {
            r->stop = ends_dry(l, &since);
            if (r->stop) return;
            continue;
        }
        since = 0;
        if (take.code != CR_OK) {
            if (!take.told) (void)cr_diag_err(l->diag, &take.err);
            give_up(l);
        }
        r->done = take.done;
        r->ended = !take.b;
        if (!take.b) return;
        cr_code code = cr_loop_step(l, take.b);
        r->stop = code == CR_ESTOP;
        if (r->stop) return;
        if (code != CR_OK) give_up(l);
        cr_life_step();
        r->steps++;
        r->stop = cr_trainer_round_stops(l->t, l->step);
        if (r->stop || saves_behind(l, l->step, l->n_batches - 1) || evaluates_at(l->tc, l->step) ||
            dumps_at(l->tc, l->step) || (l->tc->num_steps > 0 && l->step + 1 >= l->tc->num_steps))
            return;
    }
}

/* Trains one step in the place of a lost worker. */
static void take_step(loop *l, const cr_batch *b, int64_t step) {
    cr_err err;
    cr_code code = cr_model_check_batch(l->j.model, b, &err);
    if (code == CR_OK) code = cr_trainer_step(l->t, b, step, &err);
    if (code == CR_OK || code == CR_ESTOP) return;
    (void)cr_diag_err(l->diag, &err);
    give_up(l);
}

/* Trains the part of the rows of lost workers that is this one's. A plan has room for the rows of
 * its own lanes, so others come in as many at a time. */
static void take_over(loop *l, const cr_takes *more, const start *at) {
    const cr_meet *m = l->j.meet;
    int own = m->lane[m->self + 1] - m->lane[m->self];
    for (int i = 0; i < more->n; i++) {
        const cr_take *x = &more->v[i];
        int end = m->lane[x->holder + 1];
        for (int a = m->lane[x->holder]; a < end && x->from <= x->to; a += own) {
            cr_err err;
            cr_loader *data;
            int lanes[2] = {a, a + own < end ? a + own : end};
            cr_job_data d = cr_loop_rows(l, at->pos);
            d.places = at->places.n ? at->places.data : NULL;
            d.lanes = lanes;
            d.silent = true;
            if (cr_job_loader(&l->j, &d, &data, l->diag) != CR_OK) give_up(l);
            for (int64_t step = at->step; step <= x->to; step++) {
                cr_batch *b = NULL;
                bool done;
                if (cr_loader_next(data, &b, &done, &err) != CR_OK) {
                    (void)cr_diag_err(l->diag, &err);
                    give_up(l);
                }
                if (!b) break;
                if (step >= x->from && (step - x->from) % more->parts == more->part)
                    take_step(l, b, step);
                cr_loader_release(data, b);
            }
            cr_loader_free(data);
        }
    }
}

/* The end of a worker's steps in a round, with those of lost workers that it takes over. */
static void meet_round(loop *l, const start *at) {
    cr_err err;
    cr_takes more;
    do {
        if (cr_trainer_round_meet(l->t, l->step, &more, &err) != CR_OK) {
            (void)cr_diag_err(l->diag, &err);
            give_up(l);
        }
        take_over(l, &more, at);
    } while (more.n > 0);
}

/* Collective: saves what there is without the ranks that were lost, for all to begin again. */
static cr_code leave(loop *l, bool ended) {
    if (ended) cr_loop_next_epoch(l);
    bool due = is_over(l) || (ended ? ends_save(l->tc, l->epoch) : saves_at(l, l->step));
    CR_TRY(cr_loop_dump_last(l));
    CR_TRY(cr_loop_save_left(l, due));
    l->res->again = true;
    return cr_diag_err(l->diag,
                       &(cr_err){.code = CR_ESTOP,
                                 .msg = "a worker was lost; the checkpoint is saved, and the ranks "
                                        "begin again from it"});
}

/* Collective: one round, and what is due behind it. */
cr_code cr_loop_round(loop *l, bool *done, bool *stop) {
    cr_err err;
    const cr_meet *meet = l->j.meet;
    int64_t rows = l->res->rows, n_steps = l->res->steps;
    start at_first = {.pos = l->pos, .step = l->step + 1};
    round_end r = {0};
    cr_trainer_round_begin(l->t, at_first.step);
    if (meet->serves[meet->self]) {
        if (cr_trainer_serve(l->t, &err) != CR_OK) return cr_diag_err(l->diag, &err);
    } else {
        cr_buf_init(&at_first.places);
        cr_loop_places(l, &at_first.places);
        work_round(l, &r);
        meet_round(l, &at_first);
        cr_buf_clear(&at_first.places);
    }
    cr_trainer_round_end(l->t, r.steps);
    l->sent_by_all += cr_trainer_round_sent(l->t);
    r.pos = l->pos;
    r.step = l->step;
    r.rows = l->res->rows - rows;
    r.in_epoch = l->in_epoch;
    r.n_batches = l->n_batches;
    size_t at[CR_MAX_LANES + 1];
    int worker = 0; /* the first that is left; holder 0 is a worker */
    while (meet->serves[worker] || (meet->gone && meet->gone[worker]))
        worker++;
    for (int h = 0; h <= meet->n; h++)
        at[h] = h > worker ? sizeof r : 0;
    meet->gather(meet->ctx, &r, at);
    l->pos = r.pos;
    l->step = r.step;
    l->in_epoch = r.in_epoch;
    l->n_batches = r.n_batches;
    l->res->rows = rows + r.rows;
    l->res->steps = n_steps + r.steps;
    *done = r.done;
    *stop = r.stop;
    if (cr_loop_lost_one(l)) return leave(l, r.ended);
    return r.ended ? cr_loop_end_epoch(l) : r.stop ? CR_OK : cr_loop_after_step(l);
}
