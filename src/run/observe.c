/*
 * observe.c - see observe_int.h. The tags of events are TorchEasyRec's: loss/<name>, loss/total,
 * lr/g<i>, metric/<name>, <parameter>, <table>/rank:0, <parameter>/gradient,
 * <parameter>/gradient_norm, global_gradient_norm. Gradients are those of the batch, before
 * clipping.
 */
#include "run/observe_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/log.h"
#include "base/secret.h"
#include "conf/conf.h"
#include "obs/jsonlog.h"
#include "obs/tensorboard.h"

#define CHUNK 16384 /* values that go into a histogram at a time */

typedef struct summaries {
    bool parameter, global_norm, norm, gradient;
} summaries;

struct observer {
    cr_arena arena;
    cr_job *j;
    cr_jsonlog *log;
    cr_dll *unified; /* NULL: no --log_format */
    cr_events *events, *eval_events;
    summaries want;
    cr_histo_scale scale;
    cr_histo histo;
    /* CHUNK floats, or as many as the largest parameter has when gradients are wanted */
    float *values;
    int64_t last_rows;
    double last_seconds;
};

static void warn(const cr_err *err, const char *what) {
    char text[1024];
    cr_err_text(err, text, sizeof text);
    CR_WARN("%s; there will be no %s", text, what);
}

static cr_events *open_events(const char *dir) {
    cr_events *e;
    cr_err err;
    if (cr_events_open(&e, dir, &err) != CR_OK) {
        warn(&err, "TensorBoard events");
        return NULL;
    }
    return e;
}

/* ---- start ---- */

static summaries wanted(const cr_strs *names) {
    summaries s = {0};
    for (int64_t i = 0; i < names->n; i++) {
        s.parameter |= strcmp(names->v[i], "parameter") == 0;
        s.global_norm |= strcmp(names->v[i], "global_gradient_norm") == 0;
        s.norm |= strcmp(names->v[i], "gradient_norm") == 0;
        s.gradient |= strcmp(names->v[i], "gradient") == 0;
    }
    return s;
}

/* Writes the effective config as a block that Markdown does not interpret. */
static void config_text(observer *o, int64_t step) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "```\n");
    cr_conf_print(&b, &cr_root_msg, o->j->cfg.doc.root, CR_SYNTAX_PBTXT);
    cr_buf_str(&b, "```\n");
    const char *shown = cr_masked(&o->arena, b.data);
    cr_events_text(o->events, "config/text_summary", shown, strlen(shown));
    cr_events_write(o->events, step);
    cr_buf_clear(&b);
}

static void start_line(observer *o, int64_t step) {
    const cr_root_conf *c = o->j->root;
    cr_jw *w = cr_jsonlog_begin(o->log, "start");
    if (step >= 0)
        cr_jw_i64(w, "from_step", step);
    else
        cr_jw_str(w, "from_step", NULL);
    cr_jw_str(w, "version", CR_VERSION);
    if (*c->train_config->project_name) cr_jw_str(w, "project", c->train_config->project_name);
    if (*c->train_config->experiment_name)
        cr_jw_str(w, "experiment", c->train_config->experiment_name);
    cr_jw_str(w, "model_dir", c->model_dir);
    cr_jw_str(w, "train_input_path", cr_masked(&o->arena, c->train_input_path));
    cr_jw_str(w, "eval_input_path", cr_masked(&o->arena, c->eval_input_path));
    const cr_train_conf *t = c->train_config;
    if (t->num_steps) cr_jw_i64(w, "num_steps", t->num_steps);
    if (t->num_epochs) cr_jw_i64(w, "num_epochs", t->num_epochs);
    cr_jw_i64(w, "batch_size", c->data_config->batch_size);
    cr_jw_i64(w, "seed", (int64_t)c->train_config->seed);
    cr_jw_i64(w, "lanes", o->j->lanes);
    if (o->j->comm) cr_jw_i64(w, "ranks", cr_comm_size(o->j->comm));
    cr_jw_i64(w, "threads", cr_pool_threads(o->j->pool));
    cr_jw_str(w, "cpu", cr_cpu_level_name(cr_cpu_level_max()));
    cr_jsonlog_end(o->log);
}

cr_code cr_observer_new(observer **out, cr_job *j, const cr_train_opts *opts, int64_t step,
                        cr_err *err) {
    const char *log_json = opts->log_json;
    observer *o = cr_alloc(sizeof(*o), "a log");
    cr_arena_init(&o->arena, 0);
    o->j = j;
    o->log = cr_jsonlog_new();
    cr_code code = log_json && *log_json ? cr_jsonlog_add(o->log, log_json, err) : CR_OK;
    if (code == CR_OK) code = cr_unified_new(&o->unified, j, opts->log_format, step, err);
    if (code != CR_OK) {
        cr_observer_free(o);
        return code;
    }
    cr_err why;
    const char *dir = j->root->model_dir, *own = cr_path_join(&o->arena, dir, "train_log.jsonl");
    /* --log_json may name this log by another path; its lines must not be written twice */
    bool named = log_json && cr_same_file(log_json, own);
    if (!named && cr_jsonlog_add(o->log, own, &why) != CR_OK) warn(&why, "JSON log");
    start_line(o, step);
    if (j->root->train_config->use_tensorboard) o->events = open_events(dir);
    if (o->events) {
        int64_t most = CHUNK;
        o->want = wanted(&j->root->train_config->tensorboard_summaries);
        cr_histo_scale_init(&o->scale);
        for (int i = 0; i < j->model->graph.n; i++) {
            const cr_node *p = j->model->graph.nodes[i];
            if (p->cls == CR_PARAM && p->width > most) most = p->width;
        }
        o->values = cr_alloc((size_t)most * sizeof(float), "values of a histogram");
        if (step >= 0) cr_events_restart(o->events, step + 1);
        config_text(o, step + 1);
    }
    *out = o;
    return CR_OK;
}

void cr_observer_saved(observer *o) {
    cr_jsonlog_settle(o->log);
    cr_dll_settle(o->unified);
    cr_events_settle(o->events);
    cr_events_settle(o->eval_events);
}

void cr_observer_free(observer *o) {
    if (!o) return;
    cr_jsonlog_close(o->log);
    cr_dll_close(o->unified);
    cr_events_close(o->events);
    cr_events_close(o->eval_events);
    cr_free(o->values);
    cr_arena_clear(&o->arena);
    cr_free(o);
}

/* ---- steps ---- */

static double to_ms(double seconds) {
    return round(seconds * 1e3) / 1e3;
}

/* How far the training has come and where its time went, for those who watch it. */
static void where_line(cr_jw *w, const observed *s) {
    cr_jw_f64(w, "progress", round(s->progress * 1e6) / 1e6);
    cr_jw_f64(w, "seconds_left", round(s->left * 10) / 10);
    cr_jw_f64(w, "seconds.step", to_ms(s->step_s));
    cr_jw_f64(w, "seconds.update", to_ms(s->update_s));
    cr_jw_f64(w, "seconds.group", to_ms(s->group_s));
    cr_jw_f64(w, "seconds.wait", to_ms(s->wait_s));
    cr_jw_f64(w, "seconds.eval", to_ms(s->eval_s));
    cr_jw_f64(w, "seconds.save", to_ms(s->save_s));
    cr_jw_f64(w, "seconds.log", to_ms(s->log_s));
    cr_jw_i64(w, "peak_memory_bytes", cr_peak_rss());
}

static void step_line(observer *o, const cr_trainer *t, const observed *s) {
    const cr_model *m = o->j->model;
    char key[300];
    double seconds = s->seconds - o->last_seconds;
    const double *lr;
    cr_jw *w = cr_jsonlog_begin(o->log, "train");
    cr_jw_i64(w, "epoch", s->epoch);
    cr_jw_i64(w, "step", s->step);
    cr_jw_i64(w, "train.rows", s->rows);
    cr_jw_f64(w, "train.loss", cr_trainer_total(t));
    for (int k = 0; k < m->n_losses; k++) {
        snprintf(key, sizeof key, "train.%s", m->losses[k].name);
        cr_jw_f64(w, key, cr_trainer_loss(t, k));
    }
    for (int i = 0; s->metrics && i < s->metrics->n; i++) {
        snprintf(key, sizeof key, "train.%s", s->metrics->v[i].name);
        cr_jw_f64(w, key, s->metrics->v[i].value);
    }
    double ips = seconds > 0 ? round((double)(s->rows - o->last_rows) / seconds * 10) / 10 : NAN;
    cr_jw_f64(w, "train.ips", ips);
    for (int i = 0, n = cr_trainer_lrs(t, &lr); i < n; i++) {
        snprintf(key, sizeof key, "lr.g%d", i);
        cr_jw_f64(w, key, lr[i]);
    }
    where_line(w, s);
    cr_jsonlog_end(o->log);
    cr_unified_step(o->unified, o->j, t, s, ips);
    o->last_rows = s->rows;
    o->last_seconds = s->seconds;
}

static const char *tag2(observer *o, const char *a, const char *b) {
    return cr_arena_printf(&o->arena, "%s%s", a, b);
}

static const cr_node *dense_param(const cr_graph *g, const char *name) {
    for (int i = 0; i < g->n; i++)
        if (g->nodes[i]->cls == CR_PARAM && strcmp(g->nodes[i]->name, name) == 0)
            return g->nodes[i];
    return NULL;
}

/* Adds the elements [at, end) of a tensor to the histogram. */
static void add_values(observer *o, const cr_ckpt_tensor *t, int64_t at, int64_t end) {
    for (int64_t k; at < end; at += k) {
        k = end - at < CHUNK ? end - at : CHUNK;
        t->get(t->ctx, at, k, o->values);
        cr_histo_add(&o->histo, &o->scale, o->values, k);
    }
}

/* Adds the rows of a table that this rank has, as TorchEasyRec does. */
static void add_shards(observer *o, const cr_ckpt_tensor *t) {
    for (int k = 0; k < t->n_parts; k++) {
        const cr_ckpt_part *p = &t->parts[k];
        for (int64_t r = p->row; p->holder == o->j->meet->self && r < p->end; r++)
            add_values(o, t, r * t->part_width + p->col, r * t->part_width + p->col_end);
    }
}

/* Writes all weights: dense parameters that are trained, then tables. */
static void parameter_histos(observer *o) {
    cr_arena a;
    cr_arena_init(&a, 0);
    int n;
    const cr_ckpt_tensor *v = cr_job_tensors(o->j, NULL, &a, &n);
    for (int i = 0; i < n; i++) {
        const cr_node *p = dense_param(&o->j->model->graph, v[i].name);
        if ((p && !p->trainable) || v[i].get_whole) continue;
        int64_t count = 1;
        for (int d = 0; d < v[i].n_dims; d++)
            count *= v[i].shape[d];
        cr_histo_init(&o->histo);
        if (v[i].n_parts > 0)
            add_shards(o, &v[i]);
        else
            add_values(o, &v[i], 0, count);
        cr_events_histo(o->events, tag2(o, v[i].name, p ? "" : "/rank:0"), &o->scale, &o->histo);
    }
    cr_arena_clear(&a);
}

static void gradient_summaries(observer *o, const cr_trainer *t) {
    const cr_graph *g = &o->j->model->graph;
    double all = 0;
    bool any = false;
    for (int i = 0; i < g->n; i++) {
        const cr_node *p = g->nodes[i];
        if (p->cls != CR_PARAM || !cr_trainer_grad(t, p, o->values)) continue;
        double squares = 0;
        any = true;
        for (int64_t k = 0; k < p->width; k++)
            squares += (double)o->values[k] * (double)o->values[k];
        all += squares;
        if (o->want.gradient) {
            cr_histo_init(&o->histo);
            cr_histo_add(&o->histo, &o->scale, o->values, p->width);
            cr_events_histo(o->events, tag2(o, p->name, "/gradient"), &o->scale, &o->histo);
        }
        if (o->want.norm)
            cr_events_scalar(o->events, tag2(o, p->name, "/gradient_norm"), sqrt(squares));
    }
    if (any && o->want.global_norm) cr_events_scalar(o->events, "global_gradient_norm", sqrt(all));
}

static void step_events(observer *o, const cr_trainer *t, const observed *s) {
    const cr_model *m = o->j->model;
    const double *lr;
    char tag[32];
    for (int k = 0; k < m->n_losses; k++)
        cr_events_scalar(o->events, tag2(o, "loss/", m->losses[k].name), cr_trainer_loss(t, k));
    cr_events_scalar(o->events, "loss/total", cr_trainer_total(t));
    for (int i = 0, n = cr_trainer_lrs(t, &lr); i < n; i++) {
        snprintf(tag, sizeof tag, "lr/g%d", i);
        cr_events_scalar(o->events, tag, lr[i]);
    }
    for (int i = 0; s->metrics && i < s->metrics->n; i++)
        cr_events_scalar(o->events, tag2(o, "metric/", s->metrics->v[i].name),
                         s->metrics->v[i].value);
    if (o->want.parameter) parameter_histos(o);
    if (o->want.gradient || o->want.norm || o->want.global_norm) gradient_summaries(o, t);
    cr_events_write(o->events, s->step);
    cr_arena_reset(&o->arena);
}

void cr_observer_step(observer *o, const cr_trainer *t, const observed *s) {
    step_line(o, t, s);
    if (o->events) step_events(o, t, s);
}

/* ---- other ranks ---- */

struct rank_observer {
    cr_jsonlog *log;
    int64_t last_rows;
    double last_seconds;
};

rank_observer *cr_rank_observer_new(const cr_job *j, int64_t step) {
    rank_observer *o = cr_alloc(sizeof *o, "a log");
    cr_arena a;
    cr_err err;
    cr_arena_init(&a, 0);
    int rank = cr_comm_rank(j->comm);
    const char *dir = j->root->model_dir,
               *path = cr_path_join(&a, dir, cr_arena_printf(&a, "train_log.rank-%d.jsonl", rank));
    o->log = cr_jsonlog_new();
    cr_jsonlog_rank(o->log, rank);
    if (cr_path_is_dir(dir) && cr_jsonlog_add(o->log, path, &err) != CR_OK) warn(&err, "JSON log");
    cr_jw *w = cr_jsonlog_begin(o->log, "start");
    if (step >= 0) cr_jw_i64(w, "from_step", step);
    cr_jsonlog_end(o->log);
    cr_arena_clear(&a);
    return o;
}

void cr_rank_observer_step(rank_observer *o, const observed *s) {
    double seconds = s->seconds - o->last_seconds;
    cr_jw *w = cr_jsonlog_begin(o->log, "train");
    cr_jw_i64(w, "epoch", s->epoch);
    cr_jw_i64(w, "step", s->step);
    cr_jw_i64(w, "train.rows", s->rows);
    cr_jw_f64(w, "train.ips",
              seconds > 0 ? round((double)(s->rows - o->last_rows) / seconds * 10) / 10 : NAN);
    where_line(w, s);
    cr_jsonlog_end(o->log);
    o->last_rows = s->rows;
    o->last_seconds = s->seconds;
}

void cr_rank_observer_free(rank_observer *o) {
    if (!o) return;
    cr_jsonlog_close(o->log);
    cr_free(o);
}

/* ---- evaluations ---- */

static void metric_events(cr_events *e, int64_t step, const cr_eval_result *r) {
    char tag[300];
    for (int i = 0; i < r->n; i++) {
        snprintf(tag, sizeof tag, "metric/%s", r->v[i].name);
        cr_events_scalar(e, tag, r->v[i].value);
    }
    cr_events_write(e, step);
}

void cr_observer_eval(observer *o, int64_t step, int64_t epoch, const cr_eval_result *r,
                      double seconds) {
    char key[300];
    cr_jw *w = cr_jsonlog_begin(o->log, "eval");
    cr_jw_i64(w, "epoch", epoch);
    cr_jw_i64(w, "step", step);
    cr_jw_i64(w, "val.rows", r->rows);
    for (int i = 0; i < r->n; i++) {
        snprintf(key, sizeof key, "val.%s", r->v[i].name);
        cr_jw_f64(w, key, r->v[i].value);
    }
    double ips = seconds > 0 ? round((double)r->rows / seconds * 10) / 10 : NAN;
    cr_jw_f64(w, "val.ips", ips);
    cr_jsonlog_end(o->log);
    cr_unified_eval(o->unified, o->j, step, epoch, r, ips);
    if (!o->j->root->train_config->use_tensorboard || !o->events) return;
    if (!o->eval_events) {
        o->eval_events = open_events(cr_path_join(&o->arena, o->j->root->model_dir, "eval_val"));
        /* an event file that cannot be made is reported once */
        if (!o->eval_events) {
            cr_events_close(o->events);
            o->events = NULL;
            return;
        }
    }
    metric_events(o->eval_events, step, r);
}

void cr_eval_events(const char *dir, int64_t step, const cr_eval_result *r) {
    cr_events *e = open_events(dir);
    metric_events(e, step, r);
    cr_events_close(e);
}

/* ---- epochs ---- */

void cr_observer_features(observer *o, const cr_counter *c) {
    cr_counter_json(c, cr_jsonlog_begin(o->log, "features"));
    cr_jsonlog_end(o->log);
    cr_counter_write(c, cr_path_join(&o->arena, o->j->root->model_dir, "feature_counts.json"));
}

/* ---- the end ---- */

void cr_observer_end(observer *o, cr_code code, int64_t step, int64_t epoch,
                     const cr_train_result *r) {
    cr_jw *w = cr_jsonlog_begin(o->log, "end");
    cr_jw_i64(w, "epoch", epoch);
    cr_jw_i64(w, "step", step);
    cr_jw_str(w, "status", code == CR_OK ? "finished" : code == CR_ESTOP ? "stopped" : "failed");
    cr_jw_i64(w, "steps", r->steps);
    cr_jw_i64(w, "rows", r->rows);
    cr_jw_i64(w, "bad_rows", r->bad_rows);
    if (o->j->comm) cr_jw_f64(w, "sent_bytes_per_row", r->sent);
    cr_jw_f64(w, "seconds", r->seconds);
    cr_jw_f64(w, "seconds.step", r->step_s);
    cr_jw_f64(w, "seconds.update", r->update_s);
    cr_jw_f64(w, "seconds.group", r->group_s);
    cr_jw_f64(w, "seconds.wait", r->data_wait_s);
    cr_jw_f64(w, "seconds.eval", r->eval_s);
    cr_jw_f64(w, "seconds.save", r->save_s);
    cr_jw_f64(w, "seconds.log", r->log_s);
    cr_jw_i64(w, "peak_memory_bytes", cr_peak_rss());
    cr_jw_str(w, "checkpoint", r->checkpoint[0] ? r->checkpoint : NULL);
    if (r->early_stop) cr_jw_str(w, "early_stop", r->early_stop);
    if (r->best.metric) {
        cr_jw_i64(w, "best.step", r->best.step);
        cr_jw_str(w, "best.metric", r->best.metric);
        cr_jw_f64(w, "best.value", r->best.value);
    }
    cr_jsonlog_end(o->log);
    cr_unified_end(o->unified, r);
}

/* Losses are shown as such; of the other results an AUC is the one that users look at. */
const cr_metric_result *cr_main_metric(const cr_eval_result *r) {
    for (int i = 0; i < r->n; i++)
        if (strncmp(r->v[i].name, "auc", 3) == 0) return &r->v[i];
    return NULL;
}

void cr_best_result(const cr_job *j, cr_train_result *res) {
    const char *metric = cr_job_best_metric(j), *dir = j->root->model_dir;
    cr_ckpt_eval any, saved;
    if (!metric || !cr_ckpt_best_eval(dir, metric, cr_job_larger(j, metric), &any, &saved)) return;
    res->best.metric = cr_arena_strdup(&res->arena, metric);
    res->best.step = any.step;
    res->best.value = any.value;
    res->best.is_saved = any.step == saved.step;
    if (saved.step < 0) return;
    res->best.checkpoint_value = saved.value;
    res->best.checkpoint =
        cr_arena_printf(&res->arena, "%s/model.ckpt-%lld", dir, (long long)saved.step);
}
