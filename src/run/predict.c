/*
 * predict.c - computes scores for every row of a data set, in input order, and writes them to a
 * file of the input's format or of the one asked for (pred.h).
 */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/kill_point.h"
#include "base/log.h"
#include "base/map.h"
#include "base/stop.h"
#include "data/stream.h"
#include "job/counts.h"
#include "job/job.h"
#include "kern/kern.h"
#include "obs/profile.h"
#include "run/pred.h"
#include "run/run.h"

typedef struct writer {
    cr_pred_dest dest;
    cr_pred *p;
    const cr_output **cols;
    int n_cols;
    cr_plan *plan;
    cr_model_work *work;
    const cr_job *j;
    cr_pred_shape shape;
    const float **outputs; /* the outputs of the batch, and the distance between their rows */
    int64_t *ld;
    cr_buf debug;
    uint32_t *debug_off;
} writer;

/* ---- which columns ---- */

static const char *nth_output(const void *ctx, size_t i) {
    const cr_model *m = ctx;
    return (int)i < m->n_outputs ? m->outputs[i].name : NULL;
}

static const char *outputs_of(const cr_model *m, cr_arena *a) {
    const char *text = m->n_outputs ? m->outputs[0].name : "none";
    for (int i = 1; i < m->n_outputs && i < 12; i++)
        text = cr_arena_printf(a, "%s, %s", text, m->outputs[i].name);
    return m->n_outputs > 12 ? cr_arena_printf(a, "%s ...", text) : text;
}

static cr_code choose_columns(writer *w, cr_job *j, const char *list, cr_err *err) {
    cr_arena *a = &j->cfg.arena;
    const cr_model *m = j->model;
    char **names = NULL;
    int n = list && *list ? cr_split_list(a, list, &names) : 0;
    w->cols = CR_NEW_N(a, const cr_output *, (n > m->n_outputs ? n : m->n_outputs) + 1);
    if (n == 0) {
        for (int i = 0; i < m->n_outputs; i++)
            w->cols[w->n_cols++] = &m->outputs[i];
        return CR_OK;
    }
    for (int k = 0; k < n; k++) {
        const char *name = names[k];
        const cr_output *found = NULL;
        for (int i = 0; i < m->n_outputs; i++)
            if (strcmp(m->outputs[i].name, name) == 0) found = &m->outputs[i];
        if (!found) {
            const char *near = cr_nearest(name, nth_output, m);
            return cr_fail(err, CR_EUSAGE,
                           "--output_columns: this model has no output '%s'; %s%s%s", name,
                           near ? "did you mean '" : "it has ", near ? near : outputs_of(m, a),
                           near ? "'?" : "");
        }
        w->cols[w->n_cols++] = found;
    }
    return CR_OK;
}

/* Compiles a plan that makes these columns and nothing else. */
static cr_code compile(writer *w, cr_job *j, cr_err *err) {
    const cr_node **outputs = CR_NEW_N(&j->cfg.arena, const cr_node *, w->n_cols + 1);
    for (int i = 0; i < w->n_cols; i++)
        outputs[i] = w->cols[i]->node;
    cr_plan_opts po = {.graph = &j->model->graph,
                       .mode = CR_EVAL,
                       .max_rows = cr_job_eval_batch(j),
                       .lanes = j->lanes,
                       .outputs = outputs,
                       .n_outputs = w->n_cols};
    CR_TRY(cr_plan_new(&w->plan, &po, err));
    return cr_model_work_new(&w->work, j->model, w->plan, j->pool, err);
}

/* Checks that a name stands for one column only. */
static cr_code check_names(const writer *w, const cr_job *j, cr_err *err) {
    cr_map seen;
    cr_map_init(&seen);
    const char *name = NULL;
    int i = 0, n = j->n_reserved + w->n_cols;
    int64_t before = -1;
    for (; i < n && before < 0; i++) {
        name = i < j->n_reserved ? j->reserved[i] : w->cols[i - j->n_reserved]->name;
        before = cr_map_get(&seen, name, strlen(name), -1);
        (void)cr_map_put(&seen, name, strlen(name), i);
    }
    cr_map_clear(&seen);
    if (before < 0) return CR_OK;
    if (i <= j->n_reserved || before >= j->n_reserved)
        return cr_fail(err, CR_EUSAGE, "--%s_columns names '%s' twice; name it once",
                       i <= j->n_reserved ? "reserved" : "output", name);
    return cr_fail(err, CR_EUSAGE,
                   "'%s' is a reserved column and a prediction; leave it out of "
                   "--reserved_columns, or name other predictions with --output_columns",
                   name);
}

/* ---- writing ---- */

static void put_ids(cr_buf *t, const cr_jagged *g, int64_t from, int64_t to) {
    for (int64_t k = from; k < to; k++) {
        cr_buf_printf(t, "%s%lld", k > from ? "|" : "", (long long)g->ids[k]);
        if (g->w) cr_buf_printf(t, "*%g", (double)g->w[k]);
    }
}

static void put_floats(cr_buf *t, const float *v, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        cr_buf_printf(t, "%s%.9g", k ? "|" : "", (double)v[k]);
}

/* Writes __features__, the result of each feature: "name:1|2;price:0.5;clicks:3|4,5". */
static void put_debug(writer *w, const cr_batch *bt, int64_t r) {
    cr_buf *t = &w->debug;
    for (int i = 0; i < w->j->features->n; i++) {
        const cr_feature *f = w->j->features->v[i];
        const cr_jagged *g = f->sparse ? &bt->sparse[f->slot] : NULL;
        const cr_dense_seq *d = !g && f->seq ? &bt->dense_seq[f->slot] : NULL;
        const int32_t *steps = g ? g->steps : d ? d->steps : NULL;
        cr_buf_printf(t, "%s%s:", i ? ";" : "", f->name);
        for (int64_t k = steps ? steps[r] : r, end = steps ? steps[r + 1] : r + 1; k < end; k++) {
            if (steps && k > steps[r]) cr_buf_str(t, ",");
            if (g)
                put_ids(t, g, g->off ? g->off[k] : k, g->off ? g->off[k + 1] : k + 1);
            else if (d)
                put_floats(t, d->v + k * d->width, d->width);
            else
                put_floats(t, bt->dense + k * bt->dense_width + f->dense_off, f->value_dim);
        }
    }
}

/* Sets the columns of the file: the reserved ones, as the loader found them, and the outputs. */
static void set_shape(writer *w, cr_job *j, const cr_loader *l) {
    cr_arena *a = &j->cfg.arena;
    const cr_features *fs = j->features;
    cr_colkind *all = CR_NEW_N(a, cr_colkind, fs->n_want + 1);
    cr_colkind *kinds = CR_NEW_N(a, cr_colkind, j->n_reserved + 1);
    const char **names = CR_NEW_N(a, const char *, w->n_cols + 1);
    int64_t *widths = CR_NEW_N(a, int64_t, w->n_cols + 1);
    cr_loader_kinds(l, all);
    for (int i = 0; i < j->n_reserved; i++)
        kinds[i] = all[fs->reserved_col[i]];
    for (int i = 0; i < w->n_cols; i++) {
        names[i] = w->cols[i]->name;
        widths[i] = w->cols[i]->node->width;
    }
    w->outputs = CR_NEW_N(a, const float *, w->n_cols + 1);
    w->ld = CR_NEW_N(a, int64_t, w->n_cols + 1);
    if (w->shape.debug) w->debug_off = CR_NEW_N(a, uint32_t, cr_job_eval_batch(j) + 1);
    w->shape.n_reserved = j->n_reserved;
    w->shape.reserved = (const char *const *)j->reserved;
    w->shape.kinds = kinds;
    w->shape.n_outputs = w->n_cols;
    w->shape.outputs = names;
    w->shape.widths = widths;
}

static cr_code put_batch(writer *w, const cr_batch *bt, cr_err *err) {
    cr_pred_rows rows = {.n_rows = bt->n_rows,
                         .reserved = bt->reserved,
                         .outputs = w->outputs,
                         .ld = w->ld,
                         .debug_off = w->debug_off};
    for (int i = 0; i < w->n_cols; i++) {
        const cr_node *n = w->cols[i]->node;
        w->outputs[i] = cr_work_val(w->work->w, n);
        w->ld[i] = cr_ld(n);
    }
    cr_buf_reset(&w->debug);
    for (int64_t r = 0; w->shape.debug && r < bt->n_rows; r++) {
        put_debug(w, bt, r);
        w->debug_off[r + 1] = (uint32_t)w->debug.n;
        if (w->debug.n > INT32_MAX)
            return cr_fail(err, CR_EUSAGE,
                           "__features__ of one batch pass 2 GiB; use a smaller "
                           "--batch_size");
    }
    rows.debug = w->debug.data;
    return w->dest.type->write(w->p, &rows, err);
}

static cr_code run(writer *w, cr_job *j, const cr_predict_opts *o, cr_predict_result *res,
                   cr_diag *diag) {
    cr_loader *l;
    cr_err err;
    cr_job_data d = {.paths = o->predict_input_path,
                     .batch_size = cr_job_eval_batch(j),
                     .n_epochs = 1};
    cr_profile *prof = NULL;
    if (o->is_profiling) {
        prof = cr_profile_new(j->pool, cr_pool_threads(j->pool),
                              cr_path_join(&j->cfg.arena, w->dest.dir, CR_PRED_TRACE));
        d.trace = cr_profile_trace(prof);
    }
    if (cr_job_loader(j, &d, &l, diag) != CR_OK) {
        cr_profile_free(prof);
        return cr_diag_code(diag);
    }
    set_shape(w, j, l);
    cr_code code = w->dest.type->open(&w->p, w->dest.path, &w->shape, &err);
    double t0 = cr_now();
    int64_t steps = 0;
    for (bool done = false;
         code == CR_OK && !done && (o->predict_steps == 0 || steps < o->predict_steps);) {
        cr_batch *b;
        cr_profile_begin(prof);
        double span = cr_trace_begin(cr_profile_trace(prof));
        if ((code = cr_loader_next(l, &b, &done, &err)) != CR_OK || !b) continue;
        cr_profile_span(prof, CR_STAGE_WAIT, span);
        cr_kill_point("batch");
        cr_step_input in = {.batch = b};
        cr_run run = {.input = &in};
        code = cr_model_run(w->work, b, &run, &err);
        span = cr_trace_begin(cr_profile_trace(prof));
        if (code == CR_OK) code = put_batch(w, b, &err);
        cr_profile_span(prof, CR_STAGE_WRITE, span);
        cr_profile_end(prof, steps);
        res->rows += b->n_rows;
        steps++;
        cr_loader_release(l, b);
        double spent = cr_now() - t0;
        if (o->watch.progress)
            o->watch.progress(o->watch.ctx,
                              &(cr_progress){.stage = "predict",
                                             .step = steps,
                                             .n_steps = o->predict_steps,
                                             .rows = res->rows,
                                             .rows_per_s =
                                                 spent > 0 ? (double)res->rows / spent : 0,
                                             .seconds_left = -1});
        if (code == CR_OK && cr_stop_requested) code = CR_ESTOP;
    }
    /* it stopped between two batches, or while the reader waited for standard input */
    if (code == CR_ESTOP)
        code = cr_pred_is_stream(w->dest.path)
                   ? cr_fail(&err, CR_ESTOP,
                             "stopped by a signal; the predictions end after %lld rows",
                             (long long)res->rows)
                   : cr_fail(&err, CR_ESTOP, "stopped by a signal; no predictions were written");
    if (code == CR_OK) code = w->dest.type->finish(w->p, &err);
    cr_counter counts;
    cr_counter_init(&counts, j->features, "predict", &j->cfg.arena);
    counts.made = true;
    if (code != CR_ECLOSED && cr_counter_take(&counts, l, -1, -1) && code == CR_OK && w->dest.dir)
        cr_counter_write(&counts, cr_path_join(&j->cfg.arena, w->dest.dir, CR_PRED_COUNTS));
    cr_loader_free(l);
    if (code == CR_OK) cr_profile_finish(prof);
    const char *text = code == CR_OK ? cr_profile_text(prof, &j->cfg.arena) : NULL;
    if (text) {
        res->profile = cr_alloc(strlen(text) + 1, "a profile");
        memcpy(res->profile, text, strlen(text) + 1);
    }
    cr_profile_free(prof);
    res->seconds = cr_now() - t0;
    if (code == CR_OK)
        CR_INFO("Predicting: %lldit, %lld rows written to %s", (long long)steps,
                (long long)res->rows,
                cr_pred_is_stream(w->dest.path) ? "standard output" : w->dest.path);
    if (code == CR_OK || code == CR_ECLOSED) return code;
    return cr_diag_err(diag, &err);
}

static cr_code check_flags(const cr_predict_opts *o, cr_err *err) {
    bool from_config = o->config.path && *o->config.path;
    if (!from_config && (!o->scripted_model_path || !*o->scripted_model_path))
        return cr_fail(err, CR_EUSAGE,
                       "nothing to predict with; give --scripted_model_path (an export) or "
                       "--pipeline_config_path");
    if (!o->predict_input_path || !*o->predict_input_path)
        return cr_fail(err, CR_EUSAGE, "--predict_input_path is missing");
    if (!o->predict_output_path || !*o->predict_output_path)
        return cr_fail(err, CR_EUSAGE, "--predict_output_path is missing");
    CR_TRY(cr_pred_dest_check(o->predict_output_path, o->writer_type, o->is_profiling, err));
    if (!from_config && !cr_path_is_dir(o->scripted_model_path))
        return cr_fail(
            err, CR_EIO,
            "%s is not a directory; --scripted_model_path names what `crank export` wrote",
            o->scripted_model_path);
    if (from_config) return CR_OK;
    bool is_export;
    CR_TRY(cr_export_look(o->scripted_model_path, &is_export, err));
    if (!is_export)
        return cr_fail(
            err, CR_EUSAGE,
            "%s is not an export; make one with `crank export`, or give "
            "--pipeline_config_path (and --checkpoint_path) to predict from a checkpoint",
            o->scripted_model_path);
    return CR_OK;
}

/* Finds the format of standard input: a Parquet file begins with its mark. */
static const char *type_of_stdin(cr_err *err) {
    cr_stream *s;
    char mark[4];
    size_t n = 0, got = 1;
    if (cr_stream_open(&s, CR_STDIN, err) != CR_OK) return NULL;
    cr_code code = CR_OK;
    while (code == CR_OK && n < sizeof(mark) && got > 0) {
        code = cr_stream_read(s, mark + n, sizeof(mark) - n, &got, err);
        n += got;
    }
    cr_stream_close(s);
    if (code != CR_OK) return NULL;
    return n == 4 && memcmp(mark, "PAR1", 4) == 0 ? "ParquetDataset" : "CsvDataset";
}

/* Opens the config of an export or of a model_dir, with the flags that change it. */
static cr_code open_job(cr_job *j, const cr_predict_opts *o, cr_diag *diag) {
    memset(j, 0, sizeof(*j));
    bool from_config = o->config.path && *o->config.path;
    cr_config_opts c = o->config;
    char path[1200], edits[3][96];
    const char *set[64];
    if (c.n_set > 60)
        return cr_diag_err(diag,
                           &(cr_err){.code = CR_EUSAGE,
                                     .msg = "more than 60 --set flags; put them into the config"});
    if (!from_config) {
        snprintf(path, sizeof(path), "%s/pipeline.config", o->scripted_model_path);
        c.path = path;
        c.asset_dir = o->scripted_model_path;
    }
    for (int i = 0; i < c.n_set; i++)
        set[i] = c.set[i];
    if (o->batch_size > 0) {
        snprintf(edits[0], sizeof(edits[0]), "data_config.batch_size=%lld",
                 (long long)o->batch_size);
        snprintf(edits[1], sizeof(edits[1]), "data_config.eval_batch_size=%lld",
                 (long long)o->batch_size);
        set[c.n_set++] = edits[0];
        set[c.n_set++] = edits[1];
    }
    /* a model that was trained on one format may predict from another: the ending tells which */
    const cr_reader_type *ending = cr_reader_by_path(o->predict_input_path);
    const char *type = o->dataset_type && *o->dataset_type ? o->dataset_type
                       : ending                            ? ending->name
                                                           : NULL;
    if (!type && cr_is_stdin(o->predict_input_path)) {
        cr_err err;
        if (!(type = type_of_stdin(&err))) return cr_diag_err(diag, &err);
    }
    if (type) {
        snprintf(edits[2], sizeof(edits[2]), "data_config.dataset_type=%s", type);
        set[c.n_set++] = edits[2];
    }
    c.set = set;
    cr_job_opts jo = {.config = &c,
                      .exported = !from_config,
                      .threads = o->threads,
                      .reserved = o->reserved_columns,
                      .data_paths = o->predict_input_path};
    return cr_job_open(j, &jo, diag);
}

cr_code cr_predict(const cr_predict_opts *o, cr_predict_result *res, cr_diag *diag) {
    memset(res, 0, sizeof(*res));
    cr_err err;
    if (check_flags(o, &err) != CR_OK) return cr_diag_err(diag, &err);
    cr_job j;
    bool from_config = o->config.path && *o->config.path;
    writer w = {.j = &j, .shape.debug = o->debug_level > 0};
    cr_buf_init(&w.debug);
    cr_code code = open_job(&j, o, diag);
    char *path = (char *)(uintptr_t)o->scripted_model_path;
    int64_t step;
    if (code == CR_OK) {
        if ((from_config &&
             cr_job_checkpoint(&j, o->checkpoint_path, false, &path, &step, &err) != CR_OK) ||
            choose_columns(&w, &j, o->output_columns, &err) != CR_OK ||
            check_names(&w, &j, &err) != CR_OK ||
            cr_pred_dest_make(&w.dest, o->predict_output_path, o->writer_type, j.reader->name,
                              &err) != CR_OK ||
            cr_job_map(&j, path, &err) != CR_OK || cr_job_alloc(&j, &err) != CR_OK ||
            compile(&w, &j, &err) != CR_OK)
            code = cr_diag_err(diag, &err);
    }
    if (code == CR_OK) code = cr_job_load_weights(&j, path, diag);
    if (code == CR_OK) {
        cr_plan_pack(w.plan, j.pool);
        code = run(&w, &j, o, res, diag);
    }
    if (w.p) w.dest.type->free(w.p);
    snprintf(res->output, sizeof(res->output), "%s", w.dest.path);
    if (code != CR_OK) cr_pred_dest_fail(&w.dest);
    cr_buf_clear(&w.debug);
    cr_model_work_free(w.work);
    cr_plan_free(w.plan);
    cr_job_close(&j);
    return code;
}
