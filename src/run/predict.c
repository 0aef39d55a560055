/*
 * predict.c - computes scores for every row of a data set, in input order, and writes them to a
 * file of the input's format or of the one asked for (pred.h).
 *
 * Several ranks share each global batch as in training, and make the same passes, some of them
 * perhaps without rows. The first rank writes the rows of all (pred_gather.c), or each rank its
 * own. A rank that cannot go on says so in the next vote, and then nothing is left of any file.
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
#include "job/placing.h"
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
    bool writes;            /* this process writes a file */
    const char *output;     /* where the result goes, for people */
    cr_pred_gather *gather; /* brings the rows of all ranks to the one that writes; NULL: no need */
    cr_file_ids files;      /* identity of the input */
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
                       .meet = j->meet,
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

/* Lists this process's rows of the batch, as a file gets them. */
static cr_code rows_of(writer *w, const cr_batch *bt, cr_pred_rows *rows, cr_err *err) {
    *rows = (cr_pred_rows){.n_rows = bt->n_rows,
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
    rows->debug = w->debug.data;
    return CR_OK;
}

/* Writes the rows of the batch that was computed (collective); code says whether it was. */
static cr_code put_batch(writer *w, const cr_batch *bt, cr_code code, cr_err *err) {
    cr_pred_rows rows;
    if (code == CR_OK) code = rows_of(w, bt, &rows, err);
    if (!w->gather) return code == CR_OK ? w->dest.type->write(w->p, &rows, err) : code;
    if (code == CR_OK) cr_pred_pack(w->gather, &rows);
    CR_TRY(cr_job_agree(w->j, code, NULL));
    CR_TRY(cr_job_agree(w->j, cr_pred_meet(w->gather, err), NULL));
    CR_TRY(cr_pred_take(w->gather, bt->reserved, &rows, err));
    return w->writes ? w->dest.type->write(w->p, &rows, err) : CR_OK;
}

/* Opens input and output, on all ranks or on none. */
static cr_code open_files(writer *w, cr_job *j, const cr_predict_opts *o, const cr_job_data *d,
                          cr_loader **l, cr_diag *diag) {
    cr_err err;
    CR_TRY(cr_job_agree(j, cr_job_loader(j, d, l, diag), NULL));
    CR_TRY(cr_job_agree(j,
                        cr_job_alike_files(j, "--predict_input_path", o->predict_input_path,
                                           &w->files, diag),
                        NULL));
    set_shape(w, j, *l);
    if (j->comm && !o->part_per_rank) w->gather = cr_pred_gather_new(j->comm, &w->shape);
    cr_code code = CR_OK;
    if (w->writes && w->dest.type->open(&w->p, w->dest.file, &w->shape, &err) != CR_OK)
        code = cr_diag_err(diag, &err);
    return cr_job_agree(j, code, NULL);
}

/* Gives the parts of all ranks their names, when all are whole (collective). */
static cr_code show_parts(writer *w, cr_job *j, cr_err *err) {
    bool first = cr_job_is_first(j);
    CR_TRY(cr_job_agree(j, first ? cr_pred_dest_begin(&w->dest, err) : CR_OK, NULL));
    cr_code code = cr_job_agree(j, cr_pred_dest_show(&w->dest, err), NULL);
    if (first) cr_pred_dest_end(&w->dest);
    return code;
}

/* Finishes the files of all ranks, or leaves none. */
static cr_code finish(writer *w, cr_job *j, cr_err *err) {
    cr_code code = w->writes ? w->dest.type->finish(w->p, err) : CR_OK;
    bool whole = w->writes && code == CR_OK;
    cr_code all = cr_job_agree(j, code, NULL);
    if (all == CR_OK && w->writes && !w->gather) all = show_parts(w, j, err);
    if (all != CR_OK && whole) cr_pred_dest_undo(&w->dest);
    return all;
}

static void tell(const cr_predict_opts *o, int64_t steps, int64_t rows, double spent) {
    if (!o->watch.progress) return;
    o->watch.progress(o->watch.ctx,
                      &(cr_progress){.stage = "predict",
                                     .step = steps,
                                     .n_steps = o->predict_steps,
                                     .rows = rows,
                                     .rows_per_s = spent > 0 ? (double)rows / spent : 0,
                                     .seconds_left = -1});
}

/* Computes and writes all batches. The result of writing a batch is in the vote of the next. */
static cr_code all_batches(writer *w, cr_job *j, cr_loader *l, const cr_predict_opts *o,
                           cr_profile *prof, cr_predict_result *res, int64_t *n, cr_err *err) {
    double t0 = cr_now();
    cr_code code = CR_OK;
    for (bool done = false; !done && (o->predict_steps == 0 || *n < o->predict_steps);) {
        cr_batch *b = NULL;
        bool stop;
        cr_profile_begin(prof);
        double span = cr_trace_begin(cr_profile_trace(prof));
        code = cr_loader_next(l, &b, &done, err);
        if (code == CR_OK && b && j->comm) code = cr_model_check_batch(j->model, b, err);
        CR_TRY(cr_job_agree(j, code, &stop));
        if (stop) return CR_ESTOP;
        if (!b) continue;
        cr_profile_span(prof, CR_STAGE_WAIT, span);
        cr_kill_point("batch");
        cr_step_input in = {.batch = b};
        cr_run run = {.input = &in};
        code = cr_job_alone(j, cr_model_run(w->work, b, &run, err), err);
        span = cr_trace_begin(cr_profile_trace(prof));
        code = put_batch(w, b, code, err);
        cr_profile_span(prof, CR_STAGE_WRITE, span);
        cr_profile_end(prof, *n);
        res->rows += j->meet ? b->global_rows : b->n_rows;
        ++*n;
        cr_loader_release(l, b);
        CR_TRY(cr_job_agree(j, code, &stop));
        if (cr_profile_full(prof)) cr_profile_finish(prof);
        tell(o, *n, res->rows, cr_now() - t0);
        if (stop) return CR_ESTOP;
    }
    return finish(w, j, err);
}

static cr_code run(writer *w, cr_job *j, const cr_predict_opts *o, cr_predict_result *res,
                   cr_diag *diag) {
    cr_loader *l = NULL;
    cr_err err = {0};
    cr_job_data d = {.paths = o->predict_input_path,
                     .batch_size = cr_job_eval_batch(j),
                     .n_epochs = 1,
                     .ids = j->comm ? &w->files : NULL};
    cr_profile *prof =
        cr_job_profile(j, o->is_profiling,
                       cr_path_join(&j->cfg.arena, o->predict_output_path, CR_PRED_TRACE));
    d.trace = cr_profile_trace(prof);
    double t0 = cr_now();
    int64_t steps = 0;
    cr_code code = open_files(w, j, o, &d, &l, diag);
    if (code != CR_OK) {
        cr_loader_free(l);
        cr_profile_free(prof);
        return code;
    }
    code = all_batches(w, j, l, o, prof, res, &steps, &err);
    /* it stopped between two batches, or while the reader waited for standard input */
    if (code == CR_ESTOP)
        code = cr_pred_is_stream(w->dest.path)
                   ? cr_fail(&err, CR_ESTOP,
                             "stopped by a signal; the predictions end after %lld rows",
                             (long long)res->rows)
                   : cr_fail(&err, CR_ESTOP, "stopped by a signal; no predictions were written");
    cr_counter counts;
    cr_counter_init(&counts, j->features, "predict", &j->cfg.arena);
    counts.made = true;
    counts.meet = code == CR_OK || code == CR_ESTOP ? j->meet : NULL;
    if (code != CR_ECLOSED && cr_counter_take(&counts, l, -1, -1) && code == CR_OK && w->dest.dir &&
        cr_job_is_first(j))
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
                (long long)res->rows, w->output);
    if (code == CR_OK || code == CR_ECLOSED) return code;
    return err.code == CR_OK ? code : cr_diag_err(diag, &err);
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
    CR_TRY(cr_pred_dest_check(o->predict_output_path, o->writer_type,
                              o->is_profiling ? "--is_profiling writes trace.json beside the result"
                              : o->part_per_rank ? "--part_per_rank writes several files"
                                                 : NULL,
                              err));
    if (o->comm && cr_is_stdin(o->predict_input_path))
        return cr_fail(err, CR_EUSAGE,
                       "standard input reaches one rank only; write it to a file and give that to "
                       "--predict_input_path, or start one process");
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
                      .comm = o->comm,
                      .exported = !from_config,
                      .threads = o->threads,
                      .reserved = o->reserved_columns,
                      .data_paths = o->predict_input_path};
    return cr_job_open(j, &jo, diag);
}

/* Returns the flags that decide what all ranks do, and are not part of the config. */
static const char *flags_text(const cr_predict_opts *o, cr_arena *a) {
    const char *const v[] = {o->scripted_model_path, o->checkpoint_path,  o->predict_input_path,
                             o->predict_output_path, o->reserved_columns, o->output_columns,
                             o->writer_type};
    char *text = cr_arena_printf(a, "%lld %d %d %d", (long long)o->predict_steps, o->debug_level,
                                 o->is_profiling, o->part_per_rank);
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        text = cr_arena_printf(a, "%s\n%s", text, v[i] ? v[i] : "");
    return text;
}

/* Where this process writes. The first rank makes the folder, before the others look for it. */
static cr_code choose_output(writer *w, cr_job *j, const cr_predict_opts *o, cr_diag *diag) {
    int n = j->comm && o->part_per_rank ? cr_comm_size(j->comm) : 1;
    int self = n > 1 ? cr_comm_rank(j->comm) : 0;
    cr_err err;
    cr_code code = CR_OK;
    w->writes = n > 1 || cr_job_is_first(j);
    w->output = n > 1                                       ? o->predict_output_path
                : cr_pred_is_stream(o->predict_output_path) ? "standard output"
                                                            : w->dest.path;
    for (int turn = 0; turn < 2; turn++) {
        bool mine = w->writes && turn == (cr_job_is_first(j) ? 0 : 1);
        if (mine && cr_pred_dest_make(&w->dest, o->predict_output_path, o->writer_type,
                                      j->reader->name, (cr_pred_part){self, n}, &err) != CR_OK)
            code = cr_diag_err(diag, &err);
        CR_TRY(cr_job_agree(j, code, NULL));
    }
    /* whoever removes the last file of a run that failed removes the folder */
    if (n > 1) cr_comm_share(j->comm, &w->dest.made, sizeof(w->dest.made), 0);
    return CR_OK;
}

/* Makes everything ready to read rows. All ranks agree after each part. */
static cr_code prepare(writer *w, cr_job *j, const cr_predict_opts *o, cr_diag *diag) {
    cr_err err;
    char *path = (char *)(uintptr_t)o->scripted_model_path;
    int64_t step = -1;
    CR_TRY(
        cr_job_agree(j, cr_job_alike(j, j->comm ? flags_text(o, &j->cfg.arena) : "", diag), NULL));
    if (o->config.path && *o->config.path)
        CR_TRY(cr_job_checkpoint_of_all(j, o->checkpoint_path, false, &path, &step, diag));
    CR_TRY(cr_job_agree(j, cr_job_alike_weights(j, path, diag), NULL));
    cr_code code = CR_OK;
    if (choose_columns(w, j, o->output_columns, &err) != CR_OK || check_names(w, j, &err) != CR_OK)
        code = cr_diag_err(diag, &err);
    CR_TRY(cr_job_agree(j, code, NULL));
    CR_TRY(choose_output(w, j, o, diag));
    if (cr_job_map(j, path, &err) != CR_OK) code = cr_diag_err(diag, &err);
    if (code == CR_OK) code = cr_job_placings(j, diag);
    if (code == CR_OK && (cr_job_alloc(j, &err) != CR_OK || compile(w, j, &err) != CR_OK))
        code = cr_diag_err(diag, &err);
    if (code == CR_OK) code = cr_job_load_weights(j, path, diag);
    return cr_job_agree(j, code, NULL);
}

cr_code cr_predict(const cr_predict_opts *o, cr_predict_result *res, cr_diag *diag) {
    memset(res, 0, sizeof(*res));
    cr_err err;
    if (check_flags(o, &err) != CR_OK) return cr_diag_err(diag, &err);
    cr_job j;
    writer w = {.j = &j, .shape.debug = o->debug_level > 0, .output = ""};
    cr_buf_init(&w.debug);
    cr_code code = open_job(&j, o, diag);
    j.comm = o->comm; /* also when the config could not be loaded: all ranks must hear of it */
    code = cr_job_agree(&j, code, NULL);
    if (code == CR_OK) code = prepare(&w, &j, o, diag);
    if (code == CR_OK) {
        cr_plan_pack(w.plan, j.pool);
        code = run(&w, &j, o, res, diag);
    }
    if (w.p) w.dest.type->free(w.p);
    snprintf(res->output, sizeof(res->output), "%s", w.output);
    if (code != CR_OK) cr_pred_dest_fail(&w.dest);
    cr_buf_clear(&w.debug);
    cr_pred_gather_free(w.gather);
    cr_file_ids_clear(&w.files);
    cr_model_work_free(w.work);
    cr_plan_free(w.plan);
    cr_job_close(&j);
    return code;
}
