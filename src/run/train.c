/*
 * train.c - the training loop and nothing else (checkpoints and evaluations are in save.c). Steps
 * count from 0 and never reset; saving, evaluation and logging follow TorchEasyRec
 * (docs/guide/training.md lists the differences). A checkpoint holds everything the loop depends
 * on, so that a run that was killed and continued ends with the same bytes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/kill_point.h"
#include "base/log.h"
#include "comm/life.h"
#include "conf/conf.h"
#include "job/placing.h"
#include "job/text_model.h"
#include "run/loop_int.h"

/* ---- start ---- */

static cr_code check_dir(loop *l, cr_err *err) {
    cr_arena *a = &l->j.cfg.arena;
    const char *dir = l->c->model_dir;
    int64_t step, *steps;
    int n;
    if (!*dir)
        return cr_fail(err, CR_ECONF,
                       "model_dir is not set; give it in the config or with --model_dir");
    CR_TRY(cr_mkdirs(dir, err));
    CR_TRY(cr_ckpt_lock_dir(&l->lock, dir, err));
    CR_TRY(cr_ckpt_sweep(dir, cr_ckpt_lock_is_real(l->lock), err));
    CR_TRY(cr_ckpt_steps(a, dir, &steps, &n, err));
    if (n == 0 && l->o->continue_train && *l->tc->mirror_dir)
        CR_TRY(cr_mirror_fetch(dir, l->tc->mirror_dir, err));
    if (n > 0 && !l->o->continue_train)
        return cr_fail(
            err, CR_EUSAGE,
            "%s already holds checkpoints (model.ckpt-%lld); pass --continue_train to go "
            "on from there, or choose another --model_dir",
            dir, (long long)steps[n - 1]);
    CR_TRY(cr_ckpt_latest(a, dir, l->o->ignore_restore_optimizer ? CR_NEED_WEIGHTS : CR_NEED_ALL,
                          l->j.pool, &l->resume, &step, err));
    l->j.verified = l->resume;
    /* steps that are trained again are evaluated again */
    return cr_ckpt_results_cut(dir, step, err);
}

/* Lets all ranks continue from the checkpoint that the first rank found. */
static void share_resume(loop *l) {
    if (!l->j.comm) return;
    int64_t n = l->resume ? (int64_t)strlen(l->resume) + 1 : 0;
    cr_comm_share(l->j.comm, &n, sizeof n, 0);
    if (n > 0 && !writes(l)) l->resume = CR_NEW_N(&l->j.cfg.arena, char, n);
    if (n > 0) cr_comm_share(l->j.comm, l->resume, (size_t)n, 0);
    l->j.verified = l->resume; /* the first rank has compared every byte */
}

static cr_code write_text(const loop *l, const char *name, const char *text, size_t n,
                          cr_manifest *m, cr_err *err) {
    cr_manifest_add(m, name, (int64_t)n, cr_digest_of(text, n));
    return cr_file_write(cr_path_join(&l->res->arena, l->c->model_dir, name), text, n, err);
}

static cr_code write_config(loop *l, cr_err *err) {
    cr_buf b;
    cr_manifest *m = cr_manifest_new();
    cr_buf_init(&b);
    cr_conf_print(&b, &cr_root_msg, l->j.cfg.doc.root, CR_SYNTAX_PBTXT);
    cr_code code = write_text(l, "pipeline.config", b.data, b.n, m, err);
    if (code == CR_OK)
        code = write_text(l, "version", CR_VERSION "\n", strlen(CR_VERSION) + 1, m, err);
    if (code == CR_OK && l->j.plan)
        code = write_text(l, CR_PLAN_FILE, l->j.plan, strlen(l->j.plan), m, err);
    if (code == CR_OK) code = cr_manifest_write(m, l->c->model_dir, err);
    cr_manifest_free(m);
    cr_buf_clear(&b);
    return code;
}

/* Reads the recorded metrics of a step; false: there are none. */
static bool recall(loop *l, int64_t step, bool *any) {
    cr_ckpt_metric *v;
    cr_err err;
    int n;
    if (cr_ckpt_results_find(&l->res->arena, l->c->model_dir, step, &v, &n, any, &err) != CR_OK ||
        n < 0)
        return false;
    cr_eval_result *r = &l->res->eval;
    memset(r, 0, sizeof(*r));
    for (; r->n < n && r->n < CR_MAX_RESULTS; r->n++)
        r->v[r->n] = (cr_metric_result){.name = v[r->n].name, .value = v[r->n].value};
    l->res->has_eval = true;
    l->evaluated = step;
    return true;
}

/* Restores weights and counters of a checkpoint, and the state of the loop. */
static cr_code restore(loop *l, const char *path) {
    cr_ckpt_state s;
    CR_INFO("Restoring checkpoint from %s...", path);
    cr_model_fill(l->j.model, l->tc->seed, l->j.pool); /* gives new table rows their first values */
    CR_TRY(cr_job_resume(&l->j, l->t, path, l->o->ignore_restore_optimizer, &s, l->diag));
    bool inside = s.data.unit > 0 || s.data.row > 0; /* the position is inside an epoch */
    l->pos = s.data;
    l->step = l->saved = s.step;
    l->epoch = l->saved_epoch = s.epoch;
    l->in_epoch = !inside && s.epoch > 0 ? s.epoch - 1 : s.epoch;
    l->saved_by_signal = s.stopped;
    cr_train_metrics_load(l->tm, s.train_metrics);
    bool any = false, recorded = recall(l, s.step, &any);
    bool due = saves_at(l, s.step) || (!inside && ends_save(l->tc, s.epoch));
    /* older versions did not record that an evaluation was due */
    l->eval_due = s.pending || (!recorded && (s.n_metrics > 0 || (any && due && !s.stopped)));
    l->before = s;
    return CR_OK;
}

/* Finds mistakes before any file is touched. */
static cr_code may_start(loop *l) {
    if (!*l->c->train_input_path && !l->tc->daily)
        return cr_diag_err(l->diag, &(cr_err){.code = CR_ECONF,
                                              .msg = "train_input_path is not set; give it in the "
                                                     "config or with --train_input_path"});
    cr_job_check_ema(&l->j, l->diag);
    cr_job_check_servers(&l->j, l->diag);
    cr_loop_check_dump(l);
    cr_job_check_ctr(&l->j, l->diag);
    return cr_diag_code(l->diag);
}

static cr_code take_dir(loop *l) {
    cr_err err;
    if (!writes(l) || check_dir(l, &err) == CR_OK) return CR_OK;
    return cr_diag_err(l->diag, &err);
}

/* The training data from a position on. */
static cr_job_data rows_from(const loop *l, cr_data_pos pos) {
    bool daily = l->tc->daily;
    return (cr_job_data){.paths = daily ? l->paths : l->c->train_input_path,
                         .key = "train_input_path",
                         .side = CR_TRAIN_ROWS,
                         .batch_size = l->j.batch,
                         .n_epochs = daily ? pos.epoch + 1 : l->tc->num_epochs,
                         .mask = true,
                         .shuffle = l->c->data_config->shuffle,
                         .drop_remainder = l->c->data_config->drop_remainder,
                         .start = pos};
}

/* Opens the training data at the position of the loop; a pass without files has none. */
static cr_code open_data(loop *l) {
    if (l->paths && !*l->paths) return CR_OK;
    cr_job_data d = rows_from(l, l->pos);
    d.places = l->resume ? l->before.places : NULL;
    d.ids = &l->files;
    d.trace = cr_profile_trace(l->prof);
    return cr_job_loader(&l->j, &d, &l->data, l->diag);
}

/* A new training begins with what the config says. */
static cr_code begin(loop *l) {
    CR_TRY(cr_job_begin(&l->j, l->t, l->o->ignore_restore_optimizer, l->diag));
    const char *warm = l->tc->warmup_model_path;
    int64_t files = l->tc->daily ? l->tc->daily->shard_num : CR_SHARD_NUM;
    if (!*warm) return CR_OK;
    CR_INFO("Loading the text model %s", warm);
    return cr_text_model_load(&l->j, warm, files, l->diag);
}

/* Turns save_checkpoints_fraction into steps. */
static cr_code find_save_every(loop *l) {
    double share = l->tc->save_checkpoints_fraction;
    cr_loader_stats s;
    if (share == 0) return CR_OK;
    cr_loop_stats(l, &s);
    int64_t steps = (s.total_rows + l->j.batch - 1) / l->j.batch, most = l->tc->max_steps_per_epoch;
    if (most > 0 && (steps == 0 || steps > most)) steps = most;
    l->save_every = (int64_t)(share * (double)steps);
    if (l->save_every < 1) l->save_every = 1;
    if (steps > 0) return CR_OK;
    cr_diag_add(l->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(l->tc, "save_checkpoints_fraction"),
                "the training data does not say how many rows it has, so a share of an epoch is no "
                "number of steps; give save_checkpoints_steps, or Parquet files");
    return CR_ECONF;
}

static cr_code start(loop *l) {
    cr_err err;
    if (cr_job_eval_paths(&l->j)) cr_job_check_best(&l->j, l->diag);
    cr_early_stop_check(&l->j, l->diag);
    CR_TRY(cr_diag_code(l->diag));
    CR_TRY(cr_job_placings(&l->j, l->diag));
    if (cr_job_alloc(&l->j, &err) != CR_OK || cr_trainer_new(&l->t, &l->j, &err) != CR_OK ||
        cr_train_metrics_new(&l->tm, &l->j, cr_trainer_lanes(l->t), &err) != CR_OK ||
        (cr_job_eval_paths(&l->j) && cr_evaluator_new(&l->ev, &l->j, &err) != CR_OK))
        return cr_diag_err(l->diag, &err);
    if (l->resume) { /* its sessions are wanted before any data is opened */
        cr_ckpt_state s;
        if (cr_ckpt_read_state(&l->j.cfg.arena, l->resume, &s, NULL) == CR_OK)
            l->j.kept_sessions = s.sessions;
    }
    if (l->ev) CR_TRY(cr_evaluator_probe(l->ev, cr_job_eval_paths(&l->j), l->diag));
    l->total_bytes = cr_train_bytes(&l->j);
    CR_TRY(l->resume ? restore(l, l->resume) : begin(l));
    if (l->tc->daily) CR_TRY(cr_days_resume(l));
    if (l->tc->daily && !is_over(l)) CR_TRY(cr_days_find(l));
    if (l->tc->daily && is_over(l)) l->paths = "";
    l->prof = cr_job_profile(&l->j, l->tc->is_profiling,
                             cr_path_join(&l->j.cfg.arena, l->c->model_dir, "trace.json"));
    CR_TRY(open_data(l));
    CR_TRY(find_save_every(l));
    if (writes(l) && *l->tc->mirror_dir)
        l->mirror = cr_mirror_new(l->c->model_dir, l->tc->mirror_dir);
    bool same =
        !l->tc->daily || l->pos.unit > 0 || l->pos.row > 0; /* else they are of a new pass */
    if (l->resume && same)
        cr_train_compare(&l->j, &l->before, l->resume, l->total_bytes,
                         cr_file_ids_digest(&l->files), l->ev, l->diag);
    cr_counter_init(&l->counter, l->j.features, "train", &l->j.cfg.arena);
    l->counter.meet = l->j.meet;
    if (!writes(l)) return CR_OK;
    if (cr_observer_new(&l->ob, &l->j, l->o, l->step, &err) != CR_OK)
        return cr_diag_err(l->diag, &err);
    if (l->o->watch.logs) l->o->watch.logs(l->o->watch.ctx, l->c->model_dir);
    return CR_OK;
}

/* Collective: do all ranks read the same files? */
static cr_code same_data(loop *l) {
    CR_TRY(cr_job_alike_first(&l->j, l->diag));
    if (!l->paths || *l->paths)
        CR_TRY(cr_job_alike_files(&l->j, l->paths ? "daily.data_dir" : "train_input_path",
                                  l->paths ? l->paths : l->c->train_input_path, &l->files,
                                  l->diag));
    return l->ev ? cr_evaluator_alike(l->ev, cr_job_eval_paths(&l->j), l->diag) : CR_OK;
}

/* ---- the loop ---- */

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
static bool lost_one(const loop *l) {
    for (int r = 0; l->j.comm && r < cr_comm_size(l->j.comm); r++)
        if (cr_comm_gone(l->j.comm)[r]) return true;
    return false;
}

/* Opens the data again where the next epoch begins, because this one ended before its data. */
static void skip_rest(loop *l) {
    if (l->tc->num_epochs > 0 && l->epoch >= l->tc->num_epochs) return;
    cr_loader_free(l->data);
    l->data = NULL;
    cr_job_data d = rows_from(l, l->pos);
    d.ids = &l->files;
    d.trace = cr_profile_trace(l->prof);
    if (cr_job_loader(&l->j, &d, &l->data, l->diag) == CR_OK) return;
    l->next = (batch_of){.taken = true, .code = cr_diag_code(l->diag), .told = true};
}

static void next_epoch(loop *l) {
    bool full = epoch_is_full(l, 0);
    if (!lost_one(l)) count_features(l);
    if (l->n_batches > 0) cr_loop_tell_step(l, l->o->watch.epoch);
    cr_train_metrics_epoch(l->tm);
    l->n_batches = 0;
    cr_trainer_epoch_end(l->t);
    l->epoch++;
    l->pos = (cr_data_pos){.epoch = l->epoch};
    if (full) skip_rest(l);
}

static cr_code end_epoch(loop *l) {
    next_epoch(l);
    if (l->tc->daily) CR_TRY(cr_days_end(l));
    if (l->step < 0) return l->tc->daily ? CR_OK : no_rows(l);
    return ends_save(l->tc, l->epoch) ? cr_loop_save(l, false) : CR_OK;
}

/* Takes the next batch from the loader, or the one that was taken ahead. */
static void take_batch(loop *l, batch_of *out) {
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
    take_batch(l, &l->next);
    cr_trainer_ahead(l->t, l->next.code == CR_OK ? l->next.b : NULL);
}

static cr_code make_step(loop *l, cr_batch *b) {
    cr_err err;
    int64_t rows = l->j.meet ? b->global_rows : b->n_rows;
    int64_t sent = l->j.comm ? cr_comm_sent(l->j.comm) : 0;
    cr_data_pos after = cr_loader_after(b);
    cr_kill_point("step");
    look_ahead(l);
    cr_code code = cr_trainer_step(l->t, b, l->step + 1, &err);
    if (code == CR_OK) code = cr_train_metrics_step(l->tm, l->t, b, &err);
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
static cr_code after_step(loop *l) {
    CR_TRY(cr_loop_dump(l));
    if (saves_behind(l, l->step, l->n_batches - 1)) CR_TRY(cr_loop_save(l, false));
    return evaluates_at(l->tc, l->step) ? cr_loop_evaluate(l) : CR_OK;
}

static cr_code one_step(loop *l, cr_batch *b) {
    CR_TRY(make_step(l, b));
    return after_step(l);
}

/* What a round leaves behind; the first worker tells all. */
typedef struct round_end {
    cr_data_pos pos;
    int64_t step, steps, rows, in_epoch, n_batches;
    int64_t done, ended, stop; /* no epoch is left; an epoch ended; a signal came */
} round_end;

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

/* A worker's steps up to the next place where all ranks meet. A mistake ends all ranks: nobody
 * listens to this one before the end of the round. */
static void work_round(loop *l, round_end *r) {
    for (;;) {
        batch_of take;
        take_batch(l, &take);
        if (take.code != CR_OK) {
            if (!take.told) (void)cr_diag_err(l->diag, &take.err);
            give_up(l);
        }
        r->done = take.done;
        r->ended = !take.b;
        if (!take.b) return;
        cr_code code = make_step(l, take.b);
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

/* Trains the part of the rows of lost workers that is this one's. pos and first are those where the
 * round began. A plan has room for the rows of its own lanes, so others come in as many at a time.
 */
static void take_over(loop *l, const cr_takes *more, cr_data_pos pos, int64_t first) {
    const cr_meet *m = l->j.meet;
    int own = m->lane[m->self + 1] - m->lane[m->self];
    for (int i = 0; i < more->n; i++) {
        const cr_take *x = &more->v[i];
        int end = m->lane[x->holder + 1];
        for (int a = m->lane[x->holder]; a < end && x->from <= x->to; a += own) {
            cr_err err;
            cr_loader *data;
            int lanes[2] = {a, a + own < end ? a + own : end};
            cr_job_data d = rows_from(l, pos);
            d.lanes = lanes;
            d.silent = true;
            if (cr_job_loader(&l->j, &d, &data, l->diag) != CR_OK) give_up(l);
            for (int64_t step = first; step <= x->to; step++) {
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
static void meet_round(loop *l, cr_data_pos pos, int64_t first) {
    cr_err err;
    cr_takes more;
    do {
        if (cr_trainer_round_meet(l->t, l->step, &more, &err) != CR_OK) {
            (void)cr_diag_err(l->diag, &err);
            give_up(l);
        }
        take_over(l, &more, pos, first);
    } while (more.n > 0);
}

/* Collective: saves what there is without the ranks that were lost, for all to begin again. */
static cr_code leave(loop *l, bool ended) {
    if (ended) next_epoch(l);
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
static cr_code round_of_all(loop *l, bool *done, bool *stop) {
    cr_err err;
    const cr_meet *meet = l->j.meet;
    int64_t rows = l->res->rows, n_steps = l->res->steps, first = l->step + 1;
    cr_data_pos pos = l->pos;
    round_end r = {0};
    cr_trainer_round_begin(l->t, first);
    if (meet->serves[meet->self]) {
        CR_TRY(cr_trainer_serve(l->t, &err));
    } else {
        work_round(l, &r);
        meet_round(l, pos, first);
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
    if (lost_one(l)) return leave(l, r.ended);
    return r.ended ? end_epoch(l) : r.stop ? CR_OK : after_step(l);
}

static void tell_early_stop(loop *l) {
    l->res->early_stop = cr_early_stop_text(&l->patience, &l->res->arena);
    if (l->res->steps > 0)
        CR_INFO("Training stops early at step %lld: %s", (long long)l->step, l->res->early_stop);
    else
        CR_WARN("training has stopped early at step %lld: %s; to go on, raise "
                "eval_config.early_stopping_patience, which is %lld",
                (long long)l->step, l->res->early_stop, (long long)l->patience.patience);
}

/* Handles checkpoints before the one that the run continues from: those of a signal are deleted,
 * and those whose evaluation was due and never made are listed. The first rank does it, since files
 * change here, and the others get its list. */
static cr_code list_older(loop *l, cr_arena *a, int64_t **due, int64_t *n_due) {
    cr_err err;
    int64_t *steps;
    int n = 0;
    cr_code code = CR_OK;
    *n_due = 0;
    if (writes(l) && cr_ckpt_steps(a, l->c->model_dir, &steps, &n, &err) != CR_OK)
        code = cr_diag_err(l->diag, &err);
    CR_TRY(agreed(l, code));
    *due = CR_NEW_N(a, int64_t, n + 1);
    for (int i = 0; i < n && steps[i] < l->step; i++) {
        cr_ckpt_state s;
        const char *path =
            cr_arena_printf(a, "%s/model.ckpt-%lld", l->c->model_dir, (long long)steps[i]);
        /* it is damaged and of no use */
        if (cr_ckpt_read_state(a, path, &s, NULL) != CR_OK) continue;
        if (s.stopped) cr_ckpt_delete(l->c->model_dir, steps[i]);
        if (!s.stopped && s.pending && l->ev) (*due)[(*n_due)++] = steps[i];
    }
    if (!l->j.comm) return CR_OK;
    cr_comm_share(l->j.comm, n_due, sizeof *n_due, 0);
    if (!writes(l)) *due = CR_NEW_N(a, int64_t, *n_due + 1);
    cr_comm_share(l->j.comm, *due, (size_t)*n_due * sizeof **due, 0);
    return CR_OK;
}

/* Makes the evaluations that are due. *moved: memory holds other weights now. */
static cr_code catch_up_older(loop *l, bool *moved) {
    cr_arena a;
    int64_t *due, n;
    cr_arena_init(&a, 0);
    cr_code code = list_older(l, &a, &due, &n);
    for (int64_t i = 0; code == CR_OK && i < n; i++) {
        *moved = true;
        code = agreed(l, restore(l, cr_arena_printf(&a, "%s/model.ckpt-%lld", l->c->model_dir,
                                                    (long long)due[i])));
        cr_loop_name(l);
        if (code == CR_OK)
            code = l->evaluated == l->step ? cr_loop_save_state(l) : cr_loop_evaluate_saved(l);
    }
    cr_arena_clear(&a);
    return code;
}

/* Does what a kill kept an earlier run from doing after its last checkpoint. */
static cr_code catch_up(loop *l) {
    cr_err err;
    bool moved = false;
    if (!l->resume) return CR_OK;
    CR_TRY(catch_up_older(l, &moved));
    if (moved) CR_TRY(agreed(l, restore(l, l->resume)));
    if (moved && writes(l) && cr_ckpt_results_cut(l->c->model_dir, l->step, &err) != CR_OK)
        return cr_diag_err(l->diag, &err);
    cr_loop_name(l);
    /* the evaluation is recorded, but not in the checkpoint yet */
    if (l->eval_due && l->evaluated == l->step) {
        CR_TRY(cr_loop_save_state(l));
    } else if (l->eval_due && l->ev) {
        CR_INFO("%s has no metrics: its evaluation was cut off", l->res->checkpoint);
        CR_TRY(cr_loop_evaluate_saved(l));
    }
    return l->saved_by_signal ? CR_OK : cr_loop_prune(l);
}

static cr_code stopped(loop *l) {
    return cr_diag_err(l->diag, &(cr_err){.code = CR_ESTOP,
                                          .msg = "stopped by a signal; the checkpoint is saved, "
                                                 "--continue_train goes on from it"});
}

/* The config of model_dir belongs to its checkpoints, so a run that trains nothing does not change
 * it. */
static cr_code keep_config(loop *l) {
    cr_err err;
    if (!writes(l)) return CR_OK;
    if (is_over(l) &&
        cr_path_exists(cr_path_join(&l->j.cfg.arena, l->c->model_dir, "manifest.json")))
        return CR_OK;
    return write_config(l, &err) == CR_OK ? CR_OK : cr_diag_err(l->diag, &err);
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
    CR_TRY(agreed(l, open_data(l)));
    if (*l->paths)
        CR_TRY(cr_job_alike_files(&l->j, "daily.data_dir", l->paths, &l->files, l->diag));
    return cr_days_evaluate(l);
}

static cr_code run(loop *l) {
    l->t0 = cr_now();
    CR_TRY(catch_up(l));
    bool stop;
    CR_TRY(cr_job_agree(&l->j, CR_OK, &stop));
    if (l->resume && stop) return stopped(l);
    cr_early_stop_init(&l->patience, &l->j, l->step, &l->j.cfg.arena);
    CR_TRY(agreed(l, keep_config(l)));
    if (l->tc->daily && !is_over(l)) {
        CR_TRY(cr_days_first(l));
        CR_TRY(cr_days_evaluate(l));
    }
    for (bool done = false; !done && !is_over(l);) {
        batch_of take;
        if (cr_trainer_has_rounds(l->t)) {
            bool signal = false;
            cr_code code = round_of_all(l, &done, &signal);
            if (l->res->again) return code;
            CR_TRY(cr_job_agree(&l->j, code, &stop));
            if (!stop && !signal) {
                CR_TRY(cr_loop_poll(l));
                CR_TRY(next_pass(l, &done));
                continue;
            }
            CR_TRY(cr_loop_dump_last(l));
            CR_TRY(cr_loop_save(l, true));
            return stopped(l);
        }
        cr_profile_begin(l->prof);
        double span = cr_trace_begin(cr_profile_trace(l->prof));
        take_batch(l, &take);
        done = take.done;
        if (take.code == CR_ESTOP && !l->j.comm) { /* a stream was waited for */
            if (l->step < 0) return cr_diag_err(l->diag, &take.err);
            CR_TRY(cr_loop_save(l, true));
            return stopped(l);
        }
        if (take.code != CR_OK && !take.told) (void)cr_diag_err(l->diag, &take.err);
        CR_TRY(agreed(l, take.code)); /* the ranks meet in a step, so all must have a good batch */
        cr_profile_span(l->prof, CR_STAGE_WAIT, span);
        cr_code code = take.b ? one_step(l, take.b) : end_epoch(l);
        if (take.b && code == CR_OK) cr_life_step();
        CR_TRY(cr_job_agree(&l->j, code, &stop));
        if (!stop) {
            CR_TRY(cr_loop_poll(l));
            CR_TRY(next_pass(l, &done));
            continue;
        }
        CR_TRY(cr_loop_dump_last(l));
        CR_TRY(cr_loop_save(l, true));
        return stopped(l);
    }
    if (cr_early_stop_due(&l->patience)) tell_early_stop(l);
    if (l->res->steps > 0)
        cr_loop_log_step(l, true);
    else if (!l->res->early_stop)
        CR_WARN("nothing left to train: the checkpoint is at step %lld already; to go on, raise "
                "train_config.%s, which is %lld",
                (long long)l->step,
                l->tc->daily           ? "daily.end_day"
                : l->tc->num_steps > 0 ? "num_steps"
                                       : "num_epochs",
                (long long)(l->tc->daily           ? l->tc->daily->end_day
                            : l->tc->num_steps > 0 ? l->tc->num_steps
                                                   : l->tc->num_epochs));
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
        code = may_start(&l);
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
    if (code == CR_OK) code = agreed(&l, take_dir(&l));
    if (code == CR_OK) {
        share_resume(&l);
        code = agreed(&l, cr_job_alike_weights(&l.j, l.resume, diag));
    }
    if (code == CR_OK) code = agreed(&l, start(&l));
    if (code == CR_OK) code = agreed(&l, same_data(&l));
    if (code == CR_OK) {
        if (o->watch.begins) o->watch.begins(o->watch.ctx);
        code = agreed(&l, run(&l)); /* a rank may fail where the next vote of the others is far */
        /* what failed afterwards does not harm a checkpoint that was complete in memory */
        cr_code settled = cr_loop_settle(&l);
        if (code == CR_OK) code = settled;
        cr_code copied = mirror_end(&l);
        if (code == CR_OK) code = copied;
        res->seconds = cr_now() - l.t0;
        cr_loader_stats s;
        cr_loop_stats(&l, &s);
        res->bad_rows = s.bad_rows;
        res->data_wait_s = s.wait_s;
        cr_trainer_times tt = cr_trainer_get_times(l.t);
        res->group_s = tt.group;
        res->step_s = tt.step;
        res->update_s = tt.update;
        if (l.sent_by_all > 0 && res->rows > 0)
            res->sent = (double)l.sent_by_all / (double)res->rows;
        else if (l.j.meet && res->rows > 0)
            res->sent = (double)l.sent * l.j.meet->n / (double)res->rows;
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
