/*
 * loop_int.h - the state of a training, which its files share: start.c has what comes before the
 * first step, train.c the loop, rounds.c the steps of workers that do not wait for each other,
 * save.c the checkpoints and their evaluations.
 */
#ifndef CR_RUN_LOOP_INT_H
#define CR_RUN_LOOP_INT_H

#include "obs/profile.h"
#include "run/observe_int.h"
#include "run/stream_int.h"
#include "train/train_metrics.h"

/* A batch of the loader, or why there is none. b NULL: an epoch ended. */
typedef struct batch_of {
    bool taken; /* it is one at all */
    cr_batch *b;
    bool done; /* the last epoch ended */
    cr_code code;
    bool told; /* what is wrong was reported */
    cr_err err;
} batch_of;

typedef struct cr_mirror cr_mirror; /* mirror.c */

typedef struct loop {
    const cr_train_opts *o;
    cr_train_result *res;
    cr_diag *diag;
    cr_job j;
    cr_trainer *t;
    cr_evaluator *ev;
    cr_train_metrics *tm;
    cr_loader *data;
    cr_file_ids files; /* identity of the training data's files */
    const cr_root_conf *c;
    const cr_train_conf *tc;
    cr_data_pos pos;          /* position after the last step */
    int64_t step;             /* step of the last batch that was trained; -1: none */
    int64_t epoch;            /* number of finished epochs */
    int64_t in_epoch;         /* epoch of the last step, for messages */
    int64_t n_batches;        /* steps of this run in that epoch */
    int64_t last_rows;        /* rows of the last step */
    int64_t saved, evaluated; /* steps; -1: never */
    int64_t saved_epoch;      /* the epoch that the state of this checkpoint has */
    bool saved_by_signal;     /* that checkpoint was made because a signal ended a run */
    /* the checkpoint that is being written while training goes on */
    struct {
        cr_ckpt_saving *s; /* NULL: none */
        cr_ckpt_room room; /* memory of its copy, kept for the next one */
        char path[sizeof((cr_train_result *)NULL)->checkpoint];
        int64_t batch;   /* of its epoch, behind which it was made; -1: behind the last one */
        double stall;    /* seconds that training has stood still for it */
        int64_t instead; /* the checkpoint that a signal made, which it replaces; -1: none */
    } saving;
    bool eval_due;        /* the checkpoint that the run continues from was not evaluated */
    char *resume;         /* path of that checkpoint; NULL: the run begins anew */
    cr_ckpt_state before; /* what that checkpoint says about the data */
    int64_t total_bytes;  /* size of the training files; 0: not known */
    double t0, logged;
    int64_t logged_step, observed_step;
    observer *ob;
    rank_observer *rank_ob; /* of a rank above 0 */
    double told;            /* when the progress line last got a metric */
    cr_metric_result shown; /* that metric */
    cr_profile *prof;       /* NULL: none */
    cr_counter counter;     /* counts what features met */
    cr_early_stop patience;
    cr_ckpt_lock *lock;  /* lock of model_dir */
    batch_of next;       /* taken ahead */
    int64_t sent;        /* bytes that this rank sent in steps */
    int64_t sent_by_all; /* bytes that all ranks sent in rounds */
    bool lost;           /* another run owns model_dir now */
    int64_t dumped;      /* step of the last dump (dump.c); -1: none */
    double next_dump;    /* when the next one is due */
    const char *paths;   /* daily: the files of this pass, which may be none; NULL: not daily */
    int64_t save_every;  /* steps between checkpoints by save_checkpoints_fraction; 0: not used */
    cr_mirror *mirror;   /* NULL: none */
} loop;

/* Is this the process that writes files? Among several ranks it is the first. */
static inline bool writes(const loop *l) {
    return cr_job_is_first(&l->j);
}

/* Collective: can all ranks continue? A rank that could continue by itself reports nothing; the one
 * that cannot has reported its mistake. */
static inline cr_code agreed(loop *l, cr_code mine) {
    return cr_job_agree(&l->j, mine, NULL);
}

/* ---- when ---- */

static inline bool saves_at(const loop *l, int64_t step) {
    const cr_train_conf *tc = l->tc;
    int64_t every = l->save_every > 0 ? l->save_every : tc->save_checkpoints_steps;
    bool by_step = tc->save_checkpoints_epochs == 0 && every > 0;
    return by_step && step > 0 && step % every == 0;
}

/* Is the epoch over after this many more steps, though data is left? */
static inline bool epoch_is_full(const loop *l, int64_t more) {
    int64_t most = l->tc->max_steps_per_epoch, G = l->j.batch;
    return most > 0 && (l->pos.rows + G - 1) / G + more >= most;
}

/* Is a checkpoint saved behind this step, which is this batch of its epoch (from 0)? */
static inline bool saves_behind(const loop *l, int64_t step, int64_t batch) {
    const cr_train_conf *tc = l->tc;
    return saves_at(l, step) ||
           (tc->save_checkpoints_batches > 0 && batch % tc->save_checkpoints_batches == 0);
}

static inline bool evaluates_at(const cr_train_conf *tc, int64_t step) {
    return tc->eval_interval_steps > 0 && step > 0 && step % tc->eval_interval_steps == 0;
}

/* Are the changed rows dumped behind a step? */
static inline bool dumps_at(const cr_train_conf *tc, int64_t step) {
    const cr_delta_conf *c = tc->delta_embedding_dump_config;
    return c && c->dump_interval_minutes == 0 && step > 0 && step % c->dump_interval_steps == 0;
}

/* Is a checkpoint saved after this many epochs? */
static inline bool ends_save(const cr_train_conf *tc, int64_t epochs) {
    if (tc->daily) return cr_daily_checkpoint(tc->daily, epochs);
    return tc->save_checkpoints_epochs > 0 && epochs % tc->save_checkpoints_epochs == 0;
}

/* Is there no step left to train? */
static inline bool is_over(const loop *l) {
    return cr_early_stop_due(&l->patience) ||
           (l->tc->num_steps > 0 && l->step + 1 >= l->tc->num_steps) ||
           (l->tc->num_epochs > 0 && l->epoch >= l->tc->num_epochs);
}

/* ---- start.c ----
 * A failure has been reported to l->diag. cr_loop_may_start finds mistakes before any file is
 * touched. cr_loop_take_dir makes and locks model_dir and finds the checkpoint to continue from;
 * cr_loop_share_resume (collective) tells it to all ranks. cr_loop_start (collective) makes the
 * memory, gives it its values and opens the data. cr_loop_same_data (collective) compares the data
 * of all ranks. cr_loop_catch_up (collective) does what a kill kept an earlier run from doing.
 * cr_loop_keep_config writes the config of a run that trains to model_dir. */
CR_CHECKED cr_code cr_loop_may_start(loop *l);
CR_CHECKED cr_code cr_loop_take_dir(loop *l);
void cr_loop_share_resume(loop *l);
CR_CHECKED cr_code cr_loop_start(loop *l);
CR_CHECKED cr_code cr_loop_same_data(loop *l);
CR_CHECKED cr_code cr_loop_catch_up(loop *l);
CR_CHECKED cr_code cr_loop_keep_config(loop *l);
/* cr_loop_rows describes the training data from a position on; cr_loop_open_data opens it at the
 * position of the loop. A pass without files has none. */
cr_job_data cr_loop_rows(const loop *l, cr_data_pos pos);
CR_CHECKED cr_code cr_loop_open_data(loop *l);

/* ---- train.c: what a round needs of the loop ----
 * cr_loop_take_batch takes the next batch from the loader, or the one that was taken ahead.
 * cr_loop_step trains it; CR_ESTOP: the step was not made. cr_loop_after_step does what is due
 * behind it. cr_loop_next_epoch counts an epoch that has ended, and cr_loop_end_epoch also does
 * what is due behind it. cr_loop_lost_one: was a rank lost? Then the others save what there is, and
 * all begin again from it. */
void cr_loop_take_batch(loop *l, batch_of *out);
CR_CHECKED cr_code cr_loop_step(loop *l, cr_batch *b);
CR_CHECKED cr_code cr_loop_after_step(loop *l);
void cr_loop_next_epoch(loop *l);
CR_CHECKED cr_code cr_loop_end_epoch(loop *l);
bool cr_loop_lost_one(const loop *l);

/* ---- rounds.c: cr_loop_round (collective) makes one round and what is due behind it. *done: no
 * epoch is left; *stop: a signal came. ---- */
CR_CHECKED cr_code cr_loop_round(loop *l, bool *done, bool *stop);

/* ---- tell.c ---- */
/* cr_loop_stats: of the data that is open; zeros: none is */
void cr_loop_stats(const loop *l, cr_loader_stats *s);
/* cr_loop_log_step writes the JSON line, the events and TorchEasyRec's line, when they are due;
 * last: in any case */
void cr_loop_log_step(loop *l, bool last);
void cr_loop_tell(loop *l); /* the progress line */
/* cr_loop_tell_step tells fn, one of l->o->watch; NULL: nobody */
void cr_loop_tell_step(loop *l, void (*fn)(void *ctx, const cr_stepped *s));

/* ---- save.c: checkpoints and their evaluations ----
 * All of it is collective, and all ranks get the same code; a failure has been reported to l->diag
 * by the rank that failed. */

/* cr_loop_save saves a checkpoint of this step, unless there is one, and does what is due with it:
 * evaluation, deletion of old ones. by_signal: the checkpoint is made because a signal ends the
 * run. It may return while the checkpoint is still being written. */
CR_CHECKED cr_code cr_loop_save(loop *l, bool by_signal);
/* cr_loop_save_left saves one without the ranks that were lost, and waits for it. It is evaluated
 * by the run that goes on from it. due: one was due at this step, and not only because of the loss.
 */
CR_CHECKED cr_code cr_loop_save_left(loop *l, bool due);
/* cr_loop_places writes where a stream stands behind the last step; nothing: the data is files. */
void cr_loop_places(const loop *l, cr_buf *out);
/* cr_loop_poll ends the checkpoint that is being written if that needs no waiting;
 * cr_loop_settle waits for it. Both do nothing when there is none. */
CR_CHECKED cr_code cr_loop_poll(loop *l);
CR_CHECKED cr_code cr_loop_settle(loop *l);
/* cr_loop_evaluate evaluates the weights of this step, unless that is done, and records the result
 * in model_dir. If a signal interrupts it, nothing is recorded, and the run that continues
 * evaluates again. */
CR_CHECKED cr_code cr_loop_evaluate(loop *l);

/* The following are for a run that continues: its weights are those of a checkpoint.
 * cr_loop_name says which one is meant, that of this step; cr_loop_evaluate_saved evaluates it and
 * stores the metrics in it, cr_loop_save_state stores metrics that are known, cr_loop_prune deletes
 * checkpoints beyond keep_checkpoint_max. */
void cr_loop_name(loop *l);
CR_CHECKED cr_code cr_loop_evaluate_saved(loop *l);
CR_CHECKED cr_code cr_loop_save_state(loop *l);
CR_CHECKED cr_code cr_loop_prune(loop *l);

/* ---- dump.c: cr_loop_check_dump finds mistakes and begins; cr_loop_dump (collective) dumps what
 * changed when it is time; cr_loop_dump_last (collective) what changed since, when training ends.
 */
void cr_loop_check_dump(loop *l);
CR_CHECKED cr_code cr_loop_dump(loop *l);
CR_CHECKED cr_code cr_loop_dump_last(loop *l);
/* ---- days.c: training day by day. Its passes are the epochs. ----
 * cr_days_find waits for the data of the next pass and sets l->paths; CR_ESTOP: a signal came. The
 * others are collective. cr_days_resume makes the donefiles those of the passes before.
 * cr_days_first saves what comes before the first pass, cr_days_evaluate evaluates the next pass
 * before it is trained, and cr_days_end does what is due behind the pass that has just ended. */
CR_CHECKED cr_code cr_days_find(loop *l);
CR_CHECKED cr_code cr_days_resume(loop *l);
CR_CHECKED cr_code cr_days_first(loop *l);
CR_CHECKED cr_code cr_days_evaluate(loop *l);
CR_CHECKED cr_code cr_days_end(loop *l);

/* ---- links.c ---- */
/* cr_loop_links gives every checkpoint of model_dir its second name (checkpoint_link). */
void cr_loop_links(loop *l);

/* ---- mirror.c: one process calls these ---- */
cr_mirror *cr_mirror_new(const char *model_dir, const char *to);
void cr_mirror_free(cr_mirror *m); /* NULL is fine */
/* cr_mirror_update copies what is new. A failure is a warning; at the end of a run it is an error.
 * m NULL: it does nothing. */
CR_CHECKED cr_code cr_mirror_update(cr_mirror *m, bool end, cr_err *err);
/* cr_mirror_fetch copies the newest checkpoint of the mirror, if there is one, into model_dir. */
CR_CHECKED cr_code cr_mirror_fetch(const char *model_dir, const char *mirror_dir, cr_err *err);

#endif
