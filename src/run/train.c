/*
 * train.c - the training loop and nothing else: start.c has what comes before it, rounds.c the
 * steps of workers that do not wait for each other, save.c the checkpoints and evaluations. Steps
 * count from 0 and never reset; saving, evaluation and logging follow TorchEasyRec
 * (docs/guide/training.md lists the differences). A checkpoint holds everything the loop depends
 * on, so that a run that was killed and continued ends with the same bytes.
 */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/kill_point.h"
#include "base/log.h"
#include "comm/life.h"
#include "run/loop_int.h"

/* ---- epochs ---- */

/* Counts features over an epoch, or over the part of it that a run has read. */
static void count_features(loop *l) {
    if (l->data && cr_counter_take(&l->counter, l->data, l->epoch, l->step) && l->ob)
        cr_observer_features(l->ob, &l->counter);
}

/* An epoch without a step: there are no rows, or fewer than drop_remainder keeps. */
static cr_code no_rows(loop *l) {
    cr_err err;
    cr_loader_stats s;
    cr_loader_get_stats(l->data, &s);
    if (l->c->data_config->drop_remainder && s.bytes > 0)
        (void)cr_fail_at(&err, CR_EDATA, cr_conf_at(l->c->data_config, "drop_remainder"),
                         "drop_remainder leaves nothing of '%s' to train on: it holds fewer rows "
                         "than a batch of %lld; lower data_config.batch_size or set it to false",
                         l->c->train_input_path, (long long)l->j.batch);
    else
        (void)cr_fail(&err, CR_EDATA,
                      "'%s' holds no rows to train on; check the path and the files",
                      l->c->train_input_path);
    return cr_diag_err(l->diag, &err);
}

/* Was a rank lost? Then the others save what there is, and all begin again from it. */
bool cr_loop_lost_one(const loop *l) {
    for (int r = 0; l->j.comm && r < cr_comm_size(l->j.comm); r++)
        if (cr_comm_gone(l->j.comm)[r]) return true;
    return false;
}

/* Opens the data again where the next epoch begins, because this one ended before its data. */
static void skip_rest(loop *l) {
    if (l->tc->num_epochs > 0 && l->epoch >= l->tc->num_epochs) return;
    cr_loader_free(l->data);
    l->data = NULL;
    cr_job_data d = cr_loop_rows(l, l->pos);
    d.ids = &l->files;
    d.trace = cr_profile_trace(l->prof);
    if (cr_job_loader(&l->j, &d, &l->data, l->diag) == CR_OK) return;
    l->next = (batch_of){.taken = true, .code = cr_diag_code(l->diag), .told = true};
}

void cr_loop_next_epoch(loop *l) {
    bool full = epoch_is_full(l, 0);
    if (!cr_loop_lost_one(l)) count_features(l);
    if (l->n_batches > 0) cr_loop_tell_step(l, l->o->watch.epoch);
    cr_train_metrics_epoch(l->tm);
    l->n_batches = 0;
    cr_trainer_epoch_end(l->t);
    l->epoch++;
    l->pos = (cr_data_pos){.epoch = l->epoch};
    if (full) skip_rest(l);
}

cr_code cr_loop_end_epoch(loop *l) {
    cr_loop_next_epoch(l);
    if (l->tc->daily) CR_TRY(cr_days_end(l));
    if (l->step < 0) return l->tc->daily ? CR_OK : no_rows(l);
    return ends_save(l->tc, l->epoch) ? cr_loop_save(l, false) : CR_OK;
}

/* ---- steps ---- */

/* Takes the next batch from the loader, or the one that was taken ahead. */
void cr_loop_take_batch(loop *l, batch_of *out) {
    if (l->next.taken) {
        *out = l->next;
        cr_err_copy(&out->err, &l->next.err);
        l->next = (batch_of){0};
        return;
    }
    *out = (batch_of){.taken = true, .done = !l->data};
    if (!l->data) return; /* a pass without files */
    if (epoch_is_full(l, 0)) {
        out->done = l->tc->num_epochs > 0 && l->epoch + 1 >= l->tc->num_epochs;
        return;
    }
    out->code = cr_loader_next(l->data, &out->b, &out->done, &out->err);
    if (out->code == CR_OK && out->b && l->j.meet)
        out->code = cr_model_check_batch(l->j.model, out->b, &out->err);
}

/* Lets the ids of the coming batch travel while this one is computed. After a step that may be the
 * last, none is taken: the counts of features are those of rows that were used. */
static void look_ahead(loop *l) {
    int64_t step = l->step + 1;
    bool last = saves_behind(l, step, l->n_batches) || evaluates_at(l->tc, step) ||
                dumps_at(l->tc, step) || epoch_is_full(l, 1) ||
                (l->tc->num_steps > 0 && step + 1 >= l->tc->num_steps);
    if (last || !cr_trainer_looks_ahead(l->t)) return;
    cr_loop_take_batch(l, &l->next);
    cr_trainer_ahead(l->t, l->next.code == CR_OK ? l->next.b : NULL);
}

cr_code cr_loop_step(loop *l, cr_batch *b) {
    cr_err err;
    int64_t rows = l->j.meet ? b->global_rows : b->n_rows;
    int64_t sent = l->j.comm ? cr_comm_sent(l->j.comm) : 0;
    cr_data_pos after = cr_loader_after(b);
    cr_kill_point("step");
    look_ahead(l);
    cr_code code = cr_trainer_step(l->t, b, l->step + 1, &err);
    if (code == CR_OK && !l->tc->inner_loop) code = cr_train_metrics_step(l->tm, l->t, b, &err);
    if (code == CR_OK) code = cr_trainer_refeed(l->t, b, l->step + 1, &err);
    cr_loader_release(l->data, b);
    if (code == CR_ESTOP) return code; /* the step was not made */
    if (code != CR_OK) return cr_diag_err(l->diag, &err);
    l->step++;
    l->in_epoch = l->epoch;
    l->pos = after;
    l->res->steps++;
    l->res->rows += rows;
    if (l->j.comm) l->sent += cr_comm_sent(l->j.comm) - sent;
    l->n_batches++;
    l->last_rows = rows;
    cr_loop_log_step(l, false);
    cr_profile_end(l->prof, l->step);
    cr_loop_tell(l);
    cr_loop_tell_step(l, l->o->watch.stepped);
    return CR_OK;
}

/* Does what is due behind a step. */
cr_code cr_loop_after_step(loop *l) {
    CR_TRY(cr_loop_dump(l));
    if (saves_behind(l, l->step, l->n_batches - 1)) CR_TRY(cr_loop_save(l, false));
    return evaluates_at(l->tc, l->step) ? cr_loop_evaluate(l) : CR_OK;
}

static cr_code one_step(loop *l, cr_batch *b) {
    CR_TRY(cr_loop_step(l, b));
    return cr_loop_after_step(l);
}

/* ---- the loop ---- */

static void tell_early_stop(loop *l) {
    l->res->early_stop = cr_early_stop_text(&l->patience, &l->res->arena);
    if (l->res->steps > 0)
        CR_INFO("Training stops early at step %lld: %s", (long long)l->step, l->res->early_stop);
    else
        CR_WARN("training has stopped early at step %lld: %s; to go on, raise "
                "eval_config.early_stopping_patience, which is %lld",
                (long long)l->step, l->res->early_stop, (long long)l->patience.patience);
}

static cr_code stopped(loop *l) {
    return cr_diag_err(l->diag, &(cr_err){.code = CR_ESTOP,
                                          .msg = "stopped by a signal; the checkpoint is saved, "
                                                 "--continue_train goes on from it"});
}

/* Collective: opens the data of the next pass when one has ended. */
static cr_code next_pass(loop *l, bool *done) {
    if (!l->tc->daily || !*done || is_over(l)) return CR_OK;
    *done = false;
    if (l->data) cr_loader_free(l->data);
    l->data = NULL;
    cr_file_ids_clear(&l->files);
    cr_code code = agreed(l, cr_days_find(l));
    if (code == CR_ESTOP && l->step >= 0) CR_TRY(cr_loop_save(l, true));
    CR_TRY(code);
    CR_TRY(agreed(l, cr_loop_open_data(l)));
    if (*l->paths)
        CR_TRY(cr_job_alike_files(&l->j, "daily.data_dir", l->paths, &l->files, l->diag));
    return cr_days_evaluate(l);
}

/* Collective: saves what there is, because a signal came. */
static cr_code stop_here(loop *l) {
    if (l->step < 0)
        return cr_diag_err(l->diag, &(cr_err){.code = CR_ESTOP,
                                              .msg = "stopped by a signal before the first step; "
                                                     "there is nothing to save"});
    CR_TRY(cr_loop_dump_last(l));
    CR_TRY(cr_loop_save(l, true));
    return stopped(l);
}

/* Collective: one step, or the end of an epoch. */
static cr_code one_turn(loop *l, bool *done, bool *stop) {
    batch_of take;
    cr_profile_begin(l->prof);
    double span = cr_trace_begin(cr_profile_trace(l->prof));
    cr_loop_take_batch(l, &take);
    *done = take.done;
    if (take.code != CR_OK && take.code != CR_ESTOP && !take.told)
        (void)cr_diag_err(l->diag, &take.err);
    /* The ranks meet in a step, so all must have a good batch. */
    cr_code code = agreed(l, take.code);
    *stop = code == CR_ESTOP; /* a signal ended the wait of a rank for a stream */
    if (*stop && take.b) cr_loader_release(l->data, take.b);
    if (*stop) return CR_OK;
    CR_TRY(code);
    cr_profile_span(l->prof, CR_STAGE_WAIT, span);
    code = take.b ? one_step(l, take.b) : cr_loop_end_epoch(l);
    if (take.b && code == CR_OK) cr_life_step();
    return cr_job_agree(&l->j, code, stop);
}

/* Collective: one round of workers that do not wait for each other. */
static cr_code one_round(loop *l, bool *done, bool *stop) {
    bool signal = false;
    cr_code code = cr_loop_round(l, done, &signal);
    if (l->res->again) return code;
    CR_TRY(cr_job_agree(&l->j, code, stop));
    *stop |= signal;
    return CR_OK;
}

/* Says why no step is left to train. */
static void tell_end(loop *l) {
    const cr_train_conf *tc = l->tc;
    if (cr_early_stop_due(&l->patience)) tell_early_stop(l);
    if (l->res->steps > 0) cr_loop_log_step(l, true);
    if (l->res->steps > 0 || l->res->early_stop) return;
    const char *key = tc->daily ? "daily.end_day" : tc->num_steps > 0 ? "num_steps" : "num_epochs";
    int64_t value = tc->daily           ? tc->daily->end_day
                    : tc->num_steps > 0 ? tc->num_steps
                                        : tc->num_epochs;
    CR_WARN("nothing left to train: the checkpoint is at step %lld already; to go on, raise "
            "train_config.%s, which is %lld",
            (long long)l->step, key, (long long)value);
}

static cr_code run(loop *l) {
    l->t0 = cr_now();
    CR_TRY(cr_loop_catch_up(l));
    bool stop, rounds = cr_trainer_has_rounds(l->t);
    CR_TRY(cr_job_agree(&l->j, CR_OK, &stop));
    if (l->resume && stop) return stopped(l);
    cr_early_stop_init(&l->patience, &l->j, l->step, &l->j.cfg.arena);
    CR_TRY(agreed(l, cr_loop_keep_config(l)));
    if (l->tc->daily && !is_over(l)) {
        CR_TRY(cr_days_first(l));
        CR_TRY(cr_days_evaluate(l));
    }
    for (bool done = false; !done && !is_over(l);) {
        CR_TRY(rounds ? one_round(l, &done, &stop) : one_turn(l, &done, &stop));
        if (stop) return stop_here(l);
        CR_TRY(cr_loop_poll(l));
        CR_TRY(next_pass(l, &done));
    }
    tell_end(l);
    CR_TRY(cr_loop_dump_last(l));
    /* this also covers a kill between the last step and here */
    bool moved = l->res->steps > 0 || l->epoch != l->saved_epoch || l->saved_by_signal;
    if (l->step >= 0 && moved) CR_TRY(cr_loop_save(l, false));
    CR_TRY(cr_loop_evaluate(l));
    CR_TRY(cr_loop_settle(l)); /* a signal may have interrupted the evaluation */
    return l->ev && l->evaluated != l->step ? stopped(l) : CR_OK;
}

/* Collective: copies the last logs and checkpoints, also those of a run that a signal stopped. */
static cr_code mirror_end(loop *l) {
    cr_err err;
    cr_code code = CR_OK;
    if (!*l->tc->mirror_dir || l->res->again) return CR_OK;
    if (l->ob) cr_observer_saved(l->ob);
    cr_loop_links(l);
    if (!l->lost) code = cr_mirror_update(l->mirror, true, &err);
    if (code != CR_OK) (void)cr_diag_err(l->diag, &err);
    return agreed(l, code);
}

/* Fills in what the result says of the whole run. */
static void sum_up(loop *l) {
    cr_train_result *res = l->res;
    cr_loader_stats s;
    cr_loop_stats(l, &s);
    cr_trainer_times tt = cr_trainer_get_times(l->t);
    res->seconds = cr_now() - l->t0;
    res->bad_rows = s.bad_rows;
    res->data_wait_s = s.wait_s;
    res->group_s = tt.group;
    res->step_s = tt.step;
    res->update_s = tt.update;
    if (l->sent_by_all > 0 && res->rows > 0)
        res->sent = (double)l->sent_by_all / (double)res->rows;
    else if (l->j.meet && res->rows > 0)
        res->sent = (double)l->sent * l->j.meet->n / (double)res->rows;
}

cr_code cr_train(const cr_train_opts *o, cr_train_result *res, cr_diag *diag) {
    memset(res, 0, sizeof(*res));
    cr_arena_init(&res->arena, 0);
    loop l = {.o = o,
              .res = res,
              .diag = diag,
              .step = -1,
              .saved = -1,
              .evaluated = -1,
              .logged_step = -1,
              .observed_step = -1};
    cr_job_opts jo = {.config = &o->config,
                      .comm = o->comm,
                      .threads = o->threads,
                      .train = true,
                      .rounds = true,
                      .with_labels = true};
    cr_code code = cr_job_open(&l.j, &jo, diag);
    if (code == CR_OK) {
        l.c = l.j.root;
        l.tc = l.c->train_config;
        snprintf(res->model_dir, sizeof(res->model_dir), "%s", l.c->model_dir);
        code = cr_loop_may_start(&l);
    }
    /* also set when the config could not be loaded, since all ranks must learn of that */
    l.j.comm = o->comm;
    code = agreed(&l, code);
    if (code == CR_OK) {
        const char *flags =
            cr_arena_printf(&res->arena, "%s%s", o->continue_train ? "--continue_train " : "",
                            o->ignore_restore_optimizer ? "--ignore_restore_optimizer" : "");
        code = agreed(&l, cr_job_alike(&l.j, flags, diag));
    }
    if (code == CR_OK) code = agreed(&l, cr_job_unite(&l.j, diag));
    if (code == CR_OK) code = agreed(&l, cr_loop_take_dir(&l));
    if (code == CR_OK) {
        cr_loop_share_resume(&l);
        code = agreed(&l, cr_job_alike_weights(&l.j, l.resume, diag));
    }
    if (code == CR_OK) code = agreed(&l, cr_loop_start(&l));
    if (code == CR_OK) code = agreed(&l, cr_loop_same_data(&l));
    if (code == CR_OK) {
        if (o->watch.begins) o->watch.begins(o->watch.ctx);
        code = agreed(&l, run(&l)); /* a rank may fail where the next vote of the others is far */
        /* what failed afterwards does not harm a checkpoint that was complete in memory */
        cr_code settled = cr_loop_settle(&l);
        if (code == CR_OK) code = settled;
        cr_code copied = mirror_end(&l);
        if (code == CR_OK) code = copied;
        sum_up(&l);
        if (code != CR_OK && code != CR_ESTOP) cr_profile_leave(l.prof);
        cr_profile_finish(l.prof);
        res->profile = cr_profile_text(l.prof, &res->arena);
        if (writes(&l)) cr_best_result(&l.j, res);
        res->exports_best = strcmp(l.c->export_config->exporter_type, "best") == 0;
        bool apart = (code != CR_OK && code != CR_ESTOP) || res->again;
        if (apart) l.counter.meet = NULL; /* no rank waits for others */
        if (!l.lost) count_features(&l);
        if (l.ob) cr_observer_end(l.ob, code, l.step, l.in_epoch, res);
        if (code == CR_OK) CR_INFO("Train and Evaluate Finished.");
    }
    if (l.data) cr_loader_free(l.data);
    cr_ckpt_room_clear(&l.saving.room);
    cr_file_ids_clear(&l.files);
    cr_observer_free(l.ob);
    cr_rank_observer_free(l.rank_ob);
    cr_mirror_free(l.mirror);
    cr_profile_free(l.prof);
    cr_evaluator_free(l.ev);
    cr_train_metrics_free(l.tm);
    cr_trainer_free(l.t);
    cr_job_close(&l.j);
    cr_ckpt_unlock(l.lock); /* last of all: this run writes nothing any more */
    return code;
}
