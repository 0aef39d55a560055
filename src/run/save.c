/*
 * save.c - the checkpoints of a training and their evaluations.
 *
 * A checkpoint is begun, written by a thread while training goes on, and ended: then it has its
 * name, and older ones may be deleted. One checkpoint is written at a time. Whoever adds a call
 * here must know where the other ranks are then: what one rank alone finds wrong is agreed on
 * before the next meeting.
 */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/kill_point.h"
#include "base/log.h"
#include "run/loop_int.h"

/* Called before anything is written: is model_dir still that of this run? */
static cr_code owns_dir(loop *l, cr_err *err) {
    if (!writes(l)) return CR_OK;
    if (l->lost) return cr_fail(err, CR_ERUN, "model_dir belongs to another run now");
    /* the rank that held the lock was lost, and this one takes its place */
    if (!l->lock) return cr_ckpt_lock_dir(&l->lock, l->c->model_dir, err);
    cr_code code = cr_ckpt_lock_keep(&l->lock, l->c->model_dir, err);
    l->lost = code != CR_OK;
    return code;
}

/* Collective: reports a failure of this rank. Returns whether all ranks can continue. */
static cr_code reported(loop *l, cr_code code, const cr_err *err) {
    if (code != CR_OK) (void)cr_diag_err(l->diag, err);
    return agreed(l, code);
}

/* While an evaluation runs, a checkpoint that has been written gets its name. */
static cr_code poll_between(void *ctx) {
    return cr_loop_poll(ctx);
}

cr_code cr_loop_evaluate(loop *l) {
    if (!l->ev || l->evaluated == l->step) return CR_OK;
    double t0 = cr_now(), saves = l->res->save_s;
    char title[96];
    snprintf(title, sizeof(title), "Evaluating Epoch-%lld model-%lld", (long long)l->in_epoch,
             (long long)l->step);
    cr_eval_run r = {.paths = cr_job_eval_paths(&l->j),
                     .max_steps = l->c->eval_config->num_steps,
                     .log_every = l->c->eval_config->log_step_count_steps,
                     .title = title,
                     .watch = &l->o->watch,
                     .between = poll_between,
                     .ctx = l};
    cr_kill_point("evaluate");
    cr_trainer_swap_ema(l->t);
    cr_diag told;
    cr_eval_result result;
    cr_diag_init(&told);
    cr_code ran = cr_evaluator_run(l->ev, &r, &result, &l->res->arena, &told);
    cr_trainer_swap_ema(l->t);
    if (ran != CR_ESTOP) cr_diag_append(l->diag, &told);
    cr_diag_clear(&told);
    if (ran == CR_ESTOP) return CR_OK; /* the loop handles the signal */
    CR_TRY(ran);
    /* what is recorded about a checkpoint is about one that is there */
    if (l->saved == l->step) CR_TRY(cr_loop_settle(l));
    cr_kill_point("evaluated");
    l->res->eval = result;
    l->res->has_eval = true;
    l->told = 0; /* the progress line has a new metric */
    l->evaluated = l->step;
    double spent = cr_now() - t0 - (l->res->save_s - saves);
    l->res->eval_s += spent;
    cr_early_stop_note(&l->patience, l->step, &l->res->eval);
    if (l->ob) cr_observer_eval(l->ob, l->step, l->in_epoch, &l->res->eval, spent);
    cr_buf b;
    cr_buf_init(&b);
    cr_eval_text(&b, &l->res->eval);
    CR_INFO("Eval Result Epoch-%lld model-%lld: %s", (long long)l->in_epoch, (long long)l->step,
            b.data);
    cr_buf_reset(&b);
    cr_eval_line(&b, l->step, &l->res->eval);
    cr_err err;
    cr_code code = owns_dir(l, &err);
    if (code == CR_OK && writes(l))
        code = cr_file_append(cr_path_join(&l->res->arena, l->c->model_dir, CR_CKPT_RESULTS),
                              b.data, b.n, &err);
    cr_buf_clear(&b);
    return reported(l, code, &err);
}

void cr_loop_name(loop *l) {
    snprintf(l->res->checkpoint, sizeof(l->res->checkpoint), "%s/model.ckpt-%lld", l->c->model_dir,
             (long long)l->step);
}

static const char *sessions_of(const loop *l, cr_arena *a) {
    cr_buf b;
    if (!l->data) return NULL; /* a pass without files */
    cr_buf_init(&b);
    cr_loader_kept(l->data, &b);
    const char *text = b.n ? cr_arena_strndup(a, b.data, b.n) : NULL;
    cr_buf_clear(&b);
    return text;
}

void cr_loop_places(const loop *l, cr_buf *out) {
    if (l->j.reader->stream && l->data) cr_loader_mark(l->data, l->pos, out);
}

static const char *places_of(const loop *l, cr_arena *a) {
    cr_buf text;
    cr_buf_init(&text);
    cr_loop_places(l, &text);
    const char *out = text.n > 0 ? cr_arena_strdup(a, text.data) : NULL;
    cr_buf_clear(&text);
    return out;
}

/* Makes the state.json of this step's checkpoint, with the metrics if they are known. */
static cr_ckpt_state state_of(const loop *l, cr_arena *a) {
    cr_ckpt_state s = {.step = l->step,
                       .epoch = l->epoch,
                       .data = l->pos,
                       .places = places_of(l, a),
                       .train_files = cr_file_ids_digest(&l->files),
                       .eval_files = l->ev ? cr_evaluator_data(l->ev) : (cr_data_digest){0},
                       .seed = l->tc->seed,
                       .lanes = l->j.lanes,
                       .extra = cr_train_stream(&l->j, l->total_bytes, a),
                       .split = cr_train_split(&l->j, a),
                       .sessions = sessions_of(l, a),
                       .stopped = l->saved_by_signal,
                       .train_metrics = cr_train_metrics_save(l->tm, a)};
    cr_trainer_save(l->t, &s);
    s.pending = l->ev && l->evaluated != l->step && (!s.stopped || evaluates_at(l->tc, l->step));
    if (l->evaluated != l->step || !l->res->has_eval) return s;
    const cr_eval_result *r = &l->res->eval;
    cr_ckpt_metric *m = CR_NEW_N(a, cr_ckpt_metric, r->n + 1);
    for (int i = 0; i < r->n; i++)
        m[i] = (cr_ckpt_metric){r->v[i].name, r->v[i].value};
    s.metrics = m;
    s.n_metrics = r->n;
    return s;
}

cr_code cr_loop_save_state(loop *l) {
    cr_err err;
    cr_arena a;
    cr_code code = CR_OK;
    l->saved_epoch = l->epoch;
    cr_arena_init(&a, 0);
    if (l->ob) cr_observer_saved(l->ob);
    if (writes(l)) {
        cr_ckpt_state s = state_of(l, &a);
        code = cr_ckpt_save_state(l->res->checkpoint, &s, &err);
    }
    cr_arena_clear(&a);
    return reported(l, code, &err);
}

/* Returns the memory that a copy of this rank's share of a checkpoint may take: half of what is
 * free, which the ranks of a machine share. */
static int64_t room_for_copy(const loop *l) {
    int64_t room = cr_mem_available() / 2;
    if (l->j.comm) room /= cr_comm_local_size(l->j.comm);
    return room > 0 ? room : 0;
}

/* Collective: begins to write this step's checkpoint. wait: nothing goes on meanwhile, so no copy
 * is made. */
static cr_code begin_save(loop *l, bool wait) {
    cr_err err;
    cr_arena a;
    int n;
    double t0 = cr_now(), span = cr_trace_begin(cr_profile_trace(l->prof));
    l->saved_epoch = l->epoch;
    if (writes(l)) CR_INFO("Saving checkpoint to %s...", l->res->checkpoint);
    cr_arena_init(&a, 0);
    if (l->ob) cr_observer_saved(l->ob);
    cr_ckpt_state s = state_of(l, &a);
    cr_code code = cr_job_alone(&l->j, cr_model_maps_save(l->j.model, l->j.meet, &err), &err);
    if (code != CR_OK) {
        cr_arena_clear(&a);
        return cr_diag_err(l->diag, &err);
    }
    cr_ckpt_tensor *v = cr_trainer_tensors(&l->j, l->t, &a, &n);
    cr_ckpt_save_opts so = {.features = cr_job_meaning(&l->j, &a),
                            .meet = l->j.meet,
                            .pool = l->j.pool,
                            .memory = wait ? 0 : room_for_copy(l),
                            .room = &l->saving.room};
    code = cr_ckpt_save_begin(&l->saving.s, l->c->model_dir, &s, v, n, &so, &err);
    cr_model_maps_saved(l->j.model);
    cr_profile_span(l->prof, CR_STAGE_SAVE, span);
    cr_arena_clear(&a);
    memcpy(l->saving.path, l->res->checkpoint, sizeof l->saving.path);
    l->saving.batch = l->n_batches - 1;
    l->saving.stall = cr_now() - t0;
    return code == CR_OK ? CR_OK : cr_diag_err(l->diag, &err);
}

static void tell_saved(const loop *l, const cr_ckpt_saved *done) {
    char size[32];
    if (!writes(l)) return;
    CR_INFO("Saved checkpoint to %s: %s in %d file%s, training stood still for %.3f s%s",
            l->saving.path, cr_fmt_bytes(size, (double)done->bytes), done->files,
            done->files == 1 ? "" : "s", l->saving.stall,
            done->in_background ? " and went on while it was written" : "");
    if (l->o->watch.saved)
        l->o->watch.saved(l->o->watch.ctx, l->saving.path, l->saved_epoch, l->saving.batch);
}

/* Collective: waits until the checkpoint that is being written is whole, if there is one, and gives
 * it its name. This needs no vote of the ranks, so it also works after a vote that has failed. */
static cr_code end_save(loop *l) {
    cr_err err;
    cr_ckpt_saved done;
    cr_ckpt_saving *s = l->saving.s;
    if (!s) return CR_OK;
    l->saving.s = NULL;
    double t0 = cr_now(), span = cr_trace_begin(cr_profile_trace(l->prof));
    bool known = l->lost; /* whoever lost model_dir before has said so */
    cr_code code = cr_ckpt_save_end(s, owns_dir(l, &err), &done, &err);
    if (code != CR_OK) return known ? code : cr_diag_err(l->diag, &err);
    cr_profile_span(l->prof, CR_STAGE_SAVE, span);
    l->saving.stall += cr_now() - t0;
    tell_saved(l, &done);
    if (l->saving.instead >= 0 && writes(l)) cr_ckpt_delete(l->c->model_dir, l->saving.instead);
    return CR_OK;
}

/* Deletes what keep_checkpoint_max does not keep. */
static cr_code prune(loop *l, cr_err *err) {
    const char *metric = cr_job_best_metric(&l->j), *dir = l->c->model_dir;
    int64_t best = -1, keep = l->tc->keep_checkpoint_max;
    bool larger = cr_job_larger(&l->j, metric);
    if (keep == 0) return CR_OK;
    if (l->tc->keep_best_checkpoints && metric)
        return cr_ckpt_prune_worst(dir, keep, metric, larger, err);
    if (strcmp(l->c->export_config->exporter_type, "best") == 0)
        CR_TRY(cr_ckpt_best_step(dir, metric, larger, &best, err));
    return cr_ckpt_prune(dir, keep, best, err);
}

cr_code cr_loop_prune(loop *l) {
    cr_err err;
    cr_code code = CR_OK;
    bool follows = l->tc->keep_checkpoint_max > 0 || l->mirror || *l->tc->checkpoint_link ||
                   *l->tc->mirror_dir;
    if (!follows) return CR_OK;
    if (writes(l)) {
        code = prune(l, &err);
        cr_loop_links(l);
        if (code == CR_OK) code = cr_mirror_update(l->mirror, false, &err);
    }
    return reported(l, code, &err);
}

cr_code cr_loop_evaluate_saved(loop *l) {
    bool stop;
    if (!l->ev || l->evaluated == l->step) return CR_OK;
    CR_TRY(cr_job_agree(&l->j, CR_OK, &stop));
    if (stop) return CR_OK;
    CR_TRY(cr_loop_evaluate(l));
    return l->evaluated == l->step ? cr_loop_save_state(l) : CR_OK;
}

cr_code cr_loop_settle(loop *l) {
    if (!l->saving.s) return CR_OK;
    double t0 = cr_now();
    cr_code code = end_save(l);
    if (code == CR_OK) code = cr_loop_prune(l);
    l->res->save_s += cr_now() - t0;
    return code;
}

cr_code cr_loop_poll(loop *l) {
    return l->saving.s && cr_ckpt_save_ready(l->saving.s) ? cr_loop_settle(l) : CR_OK;
}

/* A checkpoint that was made because of a signal is not evaluated, does not count for
 * keep_checkpoint_max, and is deleted when there is a later one. So a run that was stopped and
 * continued leaves the same checkpoints as one that was not. */
static cr_code save_now(loop *l, bool by_signal) {
    bool fresh = l->saved != l->step, due = l->ev && l->evaluated != l->step;
    bool last = is_over(l) && !due; /* nothing goes on meanwhile */
    bool wait = by_signal || last || !l->tc->save_in_background;
    int64_t before = l->saved_by_signal && fresh ? l->saved : -1;
    l->saved_by_signal = by_signal && (fresh || l->saved_by_signal);
    cr_err err;
    cr_loop_name(l);
    CR_TRY(reported(l, owns_dir(l, &err), &err));
    if (!fresh) {
        bool ended = l->saved_epoch != l->epoch; /* a step's checkpoint is that of its epoch, too */
        CR_TRY(cr_loop_save_state(l));
        if (ended && writes(l) && l->o->watch.saved)
            l->o->watch.saved(l->o->watch.ctx, l->res->checkpoint, l->epoch, -1);
    } else {
        l->saving.instead = before;
        CR_TRY(begin_save(l, wait));
        l->saved = l->step;
        if (wait) CR_TRY(end_save(l));
        if (!wait && !due) return CR_OK; /* cr_loop_settle does the rest */
    }
    if (l->saved_by_signal) return CR_OK;
    CR_TRY(cr_loop_evaluate_saved(l));
    return l->saving.s ? CR_OK : cr_loop_prune(l);
}

cr_code cr_loop_save_left(loop *l, bool due) {
    cr_err err;
    CR_TRY(cr_loop_settle(l));
    bool fresh = l->saved != l->step;
    l->saving.instead = l->saved_by_signal && fresh ? l->saved : -1;
    l->saved_by_signal = !due && (fresh || l->saved_by_signal);
    cr_loop_name(l);
    CR_TRY(reported(l, owns_dir(l, &err), &err));
    if (!fresh) return cr_loop_save_state(l);
    CR_TRY(begin_save(l, true));
    l->saved = l->step;
    return end_save(l);
}

cr_code cr_loop_save(loop *l, bool by_signal) {
    double t0 = cr_now(), evals = l->res->eval_s, saves = l->res->save_s;
    cr_code code = cr_loop_settle(l);
    if (code == CR_OK) code = save_now(l, by_signal);
    l->res->save_s = saves + cr_now() - t0 - (l->res->eval_s - evals);
    return code;
}
