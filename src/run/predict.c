/*
 * predict.c - scores for every row of a data set, in input order, written as CSV: reserved columns
 * first, then the predictions. Numbers are the shortest text that reads back as the same float. The
 * file is whole or absent.
 */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/log.h"
#include "kern/kern.h"
#include "run/run_int.h"
#include "run/trace.h"

typedef struct writer {
    cr_outfile *f;
    cr_buf b, cell;
    const cr_output **cols;
    int n_cols;
    const cr_exec *ex;
    const job *j;
    bool debug;
} writer;

/* ---- which columns ---- */

static const char *nth_output(const void *ctx, size_t i) {
    const cr_model *m = ctx;
    return (int)i < m->n_outputs ? m->outputs[i].name : NULL;
}

static cr_code choose_columns(writer *w, job *j, const char *list, cr_err *err) {
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
                           near ? "did you mean '" : "run without the flag to see all",
                           near ? near : "", near ? "'?" : "");
        }
        w->cols[w->n_cols++] = found;
    }
    return CR_OK;
}

/* ---- writing ---- */

/* Makes the folder, clears it of what killed runs left under the name of the result, and says so
 * when an earlier result will be replaced: that is normal, but nobody should find out afterwards.
 */
static cr_code prepare_output(const cr_predict_opts *o, cr_predict_result *res, cr_err *err) {
    char prefix[64], text[1024];
    int n = snprintf(res->output, sizeof(res->output), "%s/part-0.csv", o->predict_output_path);
    if (n < 0 || (size_t)n >= sizeof(res->output))
        return cr_fail(err, CR_EUSAGE, "--predict_output_path is too long; use a shorter path");
    CR_TRY(cr_mkdirs(o->predict_output_path, err));
    snprintf(prefix, sizeof(prefix), "%s.tmp-", cr_path_base(res->output));
    cr_err why;
    if (cr_ckpt_remove_leftovers(o->predict_output_path, prefix, &why) != CR_OK) {
        cr_err_text(&why, text, sizeof(text));
        CR_WARN("%s", text);
    }
    if (cr_path_exists(res->output))
        CR_INFO("%s is there already and will be replaced", res->output);
    return CR_OK;
}

static void put_text(cr_buf *b, const char *s, size_t n) {
    bool quote = false;
    for (size_t i = 0; i < n; i++)
        quote = quote || s[i] == ',' || s[i] == '"' || s[i] == '\n' || s[i] == '\r';
    if (!quote) {
        cr_buf_add(b, s, n);
        return;
    }
    cr_buf_char(b, '"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"') cr_buf_char(b, '"');
        cr_buf_char(b, s[i]);
    }
    cr_buf_char(b, '"');
}

static void put_floats(cr_buf *b, const float *v, int64_t n) {
    char text[32];
    if (n > 1) cr_buf_char(b, '"');
    for (int64_t i = 0; i < n; i++) {
        if (i) cr_buf_char(b, ',');
        cr_buf_add(b, text, cr_fmt_f32(text, v[i]));
    }
    if (n > 1) cr_buf_char(b, '"');
}

/* value i of a column */
static void put_value(cr_buf *b, const cr_column *c, int64_t i) {
    char text[32];
    size_t n;
    switch (c->type) {
    case CR_COL_STR: {
        const char *s = cr_text_at(c, i, &n);
        cr_buf_add(b, s, n);
        break;
    }
    case CR_COL_I32: cr_buf_printf(b, "%d", (int)c->v.i32[i]); break;
    case CR_COL_I64: cr_buf_printf(b, "%lld", (long long)c->v.i64[i]); break;
    case CR_COL_F32: cr_buf_add(b, text, cr_fmt_f32(text, c->v.f32[i])); break;
    case CR_COL_F64: cr_buf_add(b, text, cr_fmt_f64(text, c->v.f64[i])); break;
    }
}

/* a list "[1,2]", a list of lists "[[1],[2,3]]", a map "{k:0.5}" */
static void put_list(cr_buf *b, const cr_column *c, int64_t from, int64_t to) {
    cr_buf_char(b, c->keys ? '{' : '[');
    for (int64_t i = from; i < to; i++) {
        if (i > from) cr_buf_char(b, ',');
        if (c->keys) {
            put_value(b, c->keys, i);
            cr_buf_char(b, ':');
        }
        if (!c->item_valid || c->item_valid[i]) put_value(b, c, i);
    }
    cr_buf_char(b, c->keys ? '}' : ']');
}

/* one row of a reserved column, as it was read; nothing when null */
static void put_row(writer *w, const cr_column *c, int64_t r) {
    if (c->valid && !c->valid[r]) return;
    cr_buf_reset(&w->cell);
    if (c->depth == 0) put_value(&w->cell, c, r);
    if (c->depth == 1) put_list(&w->cell, c, c->row_off[r], c->row_off[r + 1]);
    if (c->depth == 2) {
        cr_buf_char(&w->cell, '[');
        for (int64_t k = c->row_off[r]; k < c->row_off[r + 1]; k++) {
            if (k > c->row_off[r]) cr_buf_char(&w->cell, ',');
            put_list(&w->cell, c, c->item_off[k], c->item_off[k + 1]);
        }
        cr_buf_char(&w->cell, ']');
    }
    if (w->cell.n) put_text(&w->b, w->cell.data, w->cell.n);
}

/* __features__: what each feature became, "name:1|2;price:0.5" */
static void put_debug(writer *w, const cr_batch *bt, int64_t r) {
    cr_buf t;
    cr_buf_init(&t);
    for (int i = 0; i < w->j->features->n; i++) {
        const cr_feature *f = w->j->features->v[i];
        cr_buf_printf(&t, "%s%s:", i ? ";" : "", f->name);
        if (f->sparse) {
            const cr_jagged *g = &bt->sparse[f->slot];
            int64_t from = g->off ? g->off[r] : r, to = g->off ? g->off[r + 1] : r + 1;
            for (int64_t k = from; k < to; k++) {
                cr_buf_printf(&t, "%s%lld", k > from ? "|" : "", (long long)g->ids[k]);
                if (g->w) cr_buf_printf(&t, "*%g", (double)g->w[k]);
            }
        } else {
            for (int64_t k = 0; k < f->value_dim; k++)
                cr_buf_printf(&t, "%s%.9g", k ? "|" : "",
                              (double)bt->dense[r * bt->dense_width + f->dense_off + k]);
        }
    }
    put_text(&w->b, t.data ? t.data : "", t.n);
    cr_buf_clear(&t);
}

static cr_code put_header(writer *w, cr_err *err) {
    bool first = true;
    cr_buf_reset(&w->b);
    for (int i = 0; i < w->j->n_reserved; i++, first = false) {
        if (!first) cr_buf_char(&w->b, ',');
        put_text(&w->b, w->j->reserved[i], strlen(w->j->reserved[i]));
    }
    for (int i = 0; i < w->n_cols; i++, first = false)
        cr_buf_printf(&w->b, "%s%s", first ? "" : ",", w->cols[i]->name);
    if (w->debug) cr_buf_str(&w->b, ",__features__");
    cr_buf_char(&w->b, '\n');
    return cr_outfile_write(w->f, w->b.data, w->b.n, err);
}

static cr_code put_batch(writer *w, const cr_batch *bt, cr_err *err) {
    cr_buf_reset(&w->b);
    for (int64_t r = 0; r < bt->n_rows; r++) {
        bool first = true;
        for (int i = 0; i < bt->n_reserved; i++, first = false) {
            if (!first) cr_buf_char(&w->b, ',');
            put_row(w, &bt->reserved[i], r);
        }
        for (int i = 0; i < w->n_cols; i++, first = false) {
            const cr_node *n = w->cols[i]->node;
            if (!first) cr_buf_char(&w->b, ',');
            put_floats(&w->b, cr_exec_val(w->ex, n) + r * cr_ld(n), n->width);
        }
        if (w->debug) {
            cr_buf_char(&w->b, ',');
            put_debug(w, bt, r);
        }
        cr_buf_char(&w->b, '\n');
    }
    return cr_outfile_write(w->f, w->b.data, w->b.n, err);
}

static cr_code run(writer *w, job *j, const cr_predict_opts *o, cr_exec *ex, cr_predict_result *res,
                   cr_diag *diag) {
    cr_loader *l;
    cr_err err;
    job_data d = {.paths = o->predict_input_path,
                  .batch_size = cr_job_eval_batch(j),
                  .n_epochs = 1};
    cr_profile *prof = NULL;
    if (o->is_profiling) {
        prof = cr_profile_new(j->pool, cr_pool_threads(j->pool),
                              cr_path_join(&j->cfg.arena, o->predict_output_path, "trace.json"));
        d.trace = cr_profile_trace(prof);
    }
    if (cr_job_loader(j, &d, &l, diag) != CR_OK) {
        cr_profile_free(prof);
        return cr_diag_code(diag);
    }
    cr_code code = cr_outfile_open(&w->f, res->output, &err);
    if (code == CR_OK) code = put_header(w, &err);
    double t0 = cr_now();
    int64_t steps = 0;
    for (bool done = false;
         code == CR_OK && !done && (o->predict_steps == 0 || steps < o->predict_steps);) {
        cr_batch *b;
        cr_profile_begin(prof);
        double span = cr_trace_begin(cr_profile_trace(prof));
        if ((code = cr_loader_next(l, &b, &done, &err)) != CR_OK || !b) continue;
        cr_profile_span(prof, CR_STAGE_WAIT, span);
        cr_step_input in = {.batch = b};
        cr_run run = {&in, b->n_rows, 0, steps == 0};
        cr_exec_run(ex, &run);
        span = cr_trace_begin(cr_profile_trace(prof));
        code = put_batch(w, b, &err);
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
        if (code == CR_OK && cr_stop_requested)
            code = cr_fail(&err, CR_ESTOP, "stopped by a signal; no predictions were written");
    }
    cr_loader_free(l);
    if (code == CR_OK) cr_profile_finish(prof);
    const char *text = code == CR_OK ? cr_profile_text(prof, &j->cfg.arena) : NULL;
    if (text) {
        res->profile = cr_alloc(strlen(text) + 1, "a profile");
        memcpy(res->profile, text, strlen(text) + 1);
    }
    cr_profile_free(prof);
    if (code == CR_OK) {
        code = cr_outfile_commit(w->f, &err);
        w->f = NULL;
    }
    res->seconds = cr_now() - t0;
    cr_features_report(j->features);
    if (code == CR_OK)
        CR_INFO("Predicting: %lldit, %lld rows written to %s", (long long)steps,
                (long long)res->rows, res->output);
    return code == CR_OK ? CR_OK : cr_diag_err(diag, &err);
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
    if (o->writer_type && *o->writer_type && strcmp(o->writer_type, "CsvWriter") != 0)
        return cr_fail(err, CR_EUSAGE, "writer_type '%s' is not in this version; use CsvWriter",
                       o->writer_type);
    if (!from_config && !cr_path_is_dir(o->scripted_model_path))
        return cr_fail(
            err, CR_EIO,
            "%s is not a directory; --scripted_model_path names what `crank export` wrote",
            o->scripted_model_path);
    char index[1200], schema[1200];
    snprintf(index, sizeof(index), "%s/index.json", o->scripted_model_path);
    snprintf(schema, sizeof(schema), "%s/schema.json", o->scripted_model_path);
    if (!from_config && (!cr_path_exists(index) || !cr_path_exists(schema)))
        return cr_fail(
            err, CR_EUSAGE,
            "%s is not an export; make one with `crank export`, or give "
            "--pipeline_config_path (and --checkpoint_path) to predict from a checkpoint",
            o->scripted_model_path);
    return CR_OK;
}

/* the config of an export or of a model_dir, with the flags that change it */
static cr_code open_job(job *j, const cr_predict_opts *o, cr_diag *diag) {
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
    if (o->dataset_type && *o->dataset_type) {
        snprintf(edits[2], sizeof(edits[2]), "data_config.dataset_type=%s", o->dataset_type);
        set[c.n_set++] = edits[2];
    }
    c.set = set;
    job_opts jo = {.config = &c,
                   .exported = !from_config,
                   .threads = o->threads,
                   .reserved = o->reserved_columns,
                   .data_paths = o->predict_input_path};
    return cr_job_open(j, &jo, diag);
}

/* tables that an export holds in 16 bits stay so in memory; the values are the same */
static cr_code keep_types(job *j, const char *path, cr_err *err) {
    cr_ckpt *c;
    CR_TRY(cr_ckpt_open(&c, path, err));
    for (int i = 0; i < j->model->n_tables; i++) {
        cr_model_table *t = j->model->tables[i];
        const cr_ckpt_info *p = cr_ckpt_find(c, t->table.name);
        if (p && p->dtype == CR_DT_F16) t->half = CR_HALF_FP16;
        if (p && p->dtype == CR_DT_BF16) t->half = CR_HALF_BF16;
    }
    cr_ckpt_close(c);
    return CR_OK;
}

cr_code cr_predict(const cr_predict_opts *o, cr_predict_result *res, cr_diag *diag) {
    memset(res, 0, sizeof(*res));
    cr_err err;
    if (check_flags(o, &err) != CR_OK) return cr_diag_err(diag, &err);
    job j;
    bool from_config = o->config.path && *o->config.path;
    cr_exec *ex = NULL;
    writer w = {.j = &j, .debug = o->debug_level > 0};
    cr_buf_init(&w.b);
    cr_buf_init(&w.cell);
    cr_code code = open_job(&j, o, diag);
    char *path = (char *)(uintptr_t)o->scripted_model_path;
    int64_t step;
    if (code == CR_OK) {
        cr_exec_opts eo = {&j.model->graph, CR_EVAL, cr_job_eval_batch(&j),
                           (int)j.root->train_config->lanes, 0};
        if ((from_config &&
             cr_job_checkpoint(&j, o->checkpoint_path, false, &path, &step, &err) != CR_OK) ||
            choose_columns(&w, &j, o->output_columns, &err) != CR_OK ||
            prepare_output(o, res, &err) != CR_OK ||
            (!from_config && keep_types(&j, path, &err) != CR_OK) ||
            cr_job_alloc(&j, &err) != CR_OK || cr_exec_new(&ex, &eo, j.pool, &err) != CR_OK)
            code = cr_diag_err(diag, &err);
    }
    if (code == CR_OK) code = cr_job_load_weights(&j, path, diag);
    if (code == CR_OK) {
        w.ex = ex;
        code = run(&w, &j, o, ex, res, diag);
    }
    if (w.f) cr_outfile_abort(w.f);
    cr_buf_clear(&w.b);
    cr_buf_clear(&w.cell);
    cr_exec_free(ex);
    cr_job_close(&j);
    return code;
}
