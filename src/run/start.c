/*
 * start.c - what comes before the first step of a training: mistakes, model_dir and its lock, the
 * checkpoint that the run continues from, memory, data; and what a kill kept an earlier run from
 * doing behind its last checkpoint. All ranks make the same calls; only the first one changes
 * files.
 */
#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "conf/conf.h"
#include "job/placing.h"
#include "job/text_model.h"
#include "run/loop_int.h"

/* ---- model_dir ---- */

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

cr_code cr_loop_take_dir(loop *l) {
    cr_err err;
    if (!writes(l) || check_dir(l, &err) == CR_OK) return CR_OK;
    return cr_diag_err(l->diag, &err);
}

/* Lets all ranks continue from the checkpoint that the first rank found. */
void cr_loop_share_resume(loop *l) {
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

/* The config of model_dir belongs to its checkpoints, so a run that trains nothing does not change
 * it. */
cr_code cr_loop_keep_config(loop *l) {
    cr_err err;
    if (!writes(l)) return CR_OK;
    if (is_over(l) &&
        cr_path_exists(cr_path_join(&l->j.cfg.arena, l->c->model_dir, "manifest.json")))
        return CR_OK;
    return write_config(l, &err) == CR_OK ? CR_OK : cr_diag_err(l->diag, &err);
}

/* ---- the values and the data to begin with ---- */

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
cr_code cr_loop_may_start(loop *l) {
    if (!*l->c->train_input_path && !l->tc->daily)
        return cr_diag_err(l->diag, &(cr_err){.code = CR_ECONF,
                                              .msg = "train_input_path is not set; give it in the "
                                                     "config or with --train_input_path"});
    cr_job_check_ema(&l->j, l->diag);
    cr_job_check_servers(&l->j, l->diag);
    cr_job_check_refeed(&l->j, l->diag);
    cr_loop_check_dump(l);
    cr_job_check_ctr(&l->j, l->diag);
    cr_job_check_inner(&l->j, l->diag);
    return cr_diag_code(l->diag);
}

/* The training data from a position on. */
cr_job_data cr_loop_rows(const loop *l, cr_data_pos pos) {
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
cr_code cr_loop_open_data(loop *l) {
    if (l->paths && !*l->paths) return CR_OK;
    cr_job_data d = cr_loop_rows(l, l->pos);
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

/* The metrics of meta-learning see the query rows of each task. */
static cr_code see_task(void *ctx, const cr_batch *query, cr_err *err) {
    loop *l = ctx;
    return cr_train_metrics_step(l->tm, l->t, query, err);
}

cr_code cr_loop_start(loop *l) {
    cr_err err;
    if (cr_job_eval_paths(&l->j)) cr_job_check_best(&l->j, l->diag);
    cr_early_stop_check(&l->j, l->diag);
    CR_TRY(cr_diag_code(l->diag));
    CR_TRY(cr_job_placings(&l->j, l->diag));
    if (cr_job_alloc(&l->j, &err) != CR_OK || cr_trainer_new(&l->t, &l->j, &err) != CR_OK ||
        cr_train_metrics_new(&l->tm, &l->j, cr_trainer_lanes(l->t), &err) != CR_OK ||
        (cr_job_eval_paths(&l->j) && cr_evaluator_new(&l->ev, &l->j, &err) != CR_OK))
        return cr_diag_err(l->diag, &err);
    (void)cr_trainer_watch_tasks(l->t, see_task, l);
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
    CR_TRY(cr_loop_open_data(l));
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
cr_code cr_loop_same_data(loop *l) {
    CR_TRY(cr_job_alike_first(&l->j, l->diag));
    if (!l->paths || *l->paths)
        CR_TRY(cr_job_alike_files(&l->j, l->paths ? "daily.data_dir" : "train_input_path",
                                  l->paths ? l->paths : l->c->train_input_path, &l->files,
                                  l->diag));
    return l->ev ? cr_evaluator_alike(l->ev, cr_job_eval_paths(&l->j), l->diag) : CR_OK;
}

/* ---- what an earlier run has not done ---- */

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
cr_code cr_loop_catch_up(loop *l) {
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
