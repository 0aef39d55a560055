/*
 * inspect.c - `crank check`: everything that can be found wrong without a training step: config,
 * columns of every data set, the values of a sample of rows, labels against the losses, memory
 * against the machine.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/json.h"
#include "layer/loss.h"
#include "run/run_int.h"

/* below it a sample may well be constant by chance */
enum { MANY_ROWS = 100 };

typedef struct sample {
    const char *name; /* "train", "eval" */
    const char *key;  /* of the config */
    const char *paths;
    int64_t rows, bad_rows;
    int64_t all_rows; /* 0: not known */
    /* per label field */
    int n_labels;
    double *label_sum, *label_squares;
    cr_feature_counts *counts; /* per feature; NULL: not read */
} sample;

typedef struct report {
    job j;
    cr_diag *diag;
    sample samples[2];
    int n_samples;
    int64_t tables, state, dense, buffers, data; /* bytes */
    int n_ops;                                   /* of plug-ins, and is one wrong? */
    bool bad_ops;
} report;

static void add_labels(report *r, sample *s, const cr_batch *b) {
    if (!s->label_sum) {
        s->n_labels = b->n_labels;
        s->label_sum = CR_NEW_N(&r->j.cfg.arena, double, b->n_labels + 1);
        s->label_squares = CR_NEW_N(&r->j.cfg.arena, double, b->n_labels + 1);
    }
    for (int k = 0; k < s->n_labels; k++)
        for (int64_t i = 0; i < b->n_rows; i++) {
            double y = (double)b->labels[k][i];
            s->label_sum[k] += y;
            s->label_squares[k] += y * y;
        }
}

static double mean_label(const sample *s, int k) {
    return s->rows && k < s->n_labels ? s->label_sum[k] / (double)s->rows : NAN;
}

/* l2_loss begins at 0 (or label_mean) and moves by small steps; labels far from there take long */
static void check_mean(const report *r, const sample *s, const cr_msgs *losses, int label) {
    if (label < 0 || label >= s->n_labels) return;
    double n = (double)s->rows, mean = mean_label(s, label),
           spread = sqrt(fmax(s->label_squares[label] / n - mean * mean, 0));
    for (int64_t i = 0; i < losses->n; i++) {
        const cr_loss_conf *l = losses->v[i];
        const cr_loss_type *type = l->loss.m->type;
        if (!type->offset || fabs(mean - type->offset(l->loss.conf)) <= 2 * spread) continue;
        cr_diag_add(
            r->diag, CR_SEV_WARN, CR_ECONF, ((const cr_conf_base *)l->loss.conf)->at,
            "the labels lie around %.4g, %s begins at %.4g and would learn that first; write "
            "%s { label_mean: %.4g }",
            mean, type->name, type->offset(l->loss.conf), type->name, mean);
    }
}

static void check_means(const report *r, const sample *s) {
    const cr_model_conf *m = r->j.root->model_config;
    const cr_task_conf *t = cr_model_tower(m, 0);
    if (s->rows < 100 || strcmp(s->name, "train") != 0) return;
    if (!t) check_mean(r, s, &m->losses, 0);
    for (int64_t i = 0; (t = cr_model_tower(m, i)); i++)
        for (int k = 0; k < r->j.features->n_labels; k++)
            if (strcmp(r->j.features->labels[k], t->label_name) == 0)
                check_mean(r, s, &t->losses, k);
}

static void read_sample(report *r, sample *s, int64_t want) {
    cr_loader *l;
    cr_err err;
    int64_t batch = r->j.root->data_config->batch_size;
    job_data d = {.paths = s->paths,
                  .key = s->key,
                  .batch_size = batch < want ? batch : want,
                  .n_epochs = 1,
                  .any_bad = true,
                  .silent = true};
    if (cr_job_loader(&r->j, &d, &l, r->diag) != CR_OK) return;
    for (bool done = false; !done && s->rows < want;) {
        cr_batch *b;
        if (cr_loader_next(l, &b, &done, &err) != CR_OK) {
            cr_diag_err(r->diag, &err);
            break;
        }
        if (!b) continue;
        s->rows += b->n_rows;
        add_labels(r, s, b);
        cr_loader_release(l, b);
    }
    s->counts = CR_NEW_N(&r->j.cfg.arena, cr_feature_counts, r->j.features->n + 1);
    cr_loader_tally(l, s->counts);
    cr_loader_stats st;
    cr_loader_get_stats(l, &st);
    s->bad_rows = st.bad_rows;
    s->all_rows = st.total_rows;
    int64_t memory = cr_loader_memory(l, r->j.root->data_config->shuffle);
    if (memory > r->data) r->data = memory;
    int64_t max = r->j.root->data_config->max_bad_rows;
    if (cr_loader_first_bad(l, &err))
        cr_diag_add(r->diag, s->bad_rows > max ? CR_SEV_ERROR : CR_SEV_WARN, CR_EDATA, err.at,
                    "%s; %lld bad row%s among %lld, max_bad_rows is %lld%s", err.msg,
                    (long long)s->bad_rows, s->bad_rows == 1 ? "" : "s",
                    (long long)(s->rows + s->bad_rows), (long long)max,
                    s->bad_rows <= max ? ""
                    : s->rows == 0     ? ": correct the data or the config"
                                       : ": correct them or raise it");
    cr_loader_free(l);
    check_means(r, s);
    if (s->rows == 0 && cr_diag_code(r->diag) == CR_OK)
        cr_diag_add(r->diag, CR_SEV_ERROR, CR_EDATA, cr_conf_at(r->j.root, s->key),
                    "%s data '%s' holds no rows; check the path and the files", s->name, s->paths);
}

/* what one data set shows of a feature, by the most telling cause; false: nothing to tell */
static bool check_feature(const report *r, const cr_feature *f, const sample *s,
                          const cr_feature_counts *c) {
    if (cr_counts_absent(f, c))
        cr_diag_add(r->diag, CR_SEV_WARN, CR_EDATA, f->at,
                    "feature '%s' is missing in all %lld sampled rows of %s data; is its column "
                    "right?",
                    f->name, (long long)c->rows, s->name);
    else if (c->unknown > 0 && c->unknown == c->ids)
        cr_diag_add(r->diag, CR_SEV_WARN, CR_EDATA, f->at,
                    "feature '%s': none of the %lld sampled values of %s data is in its "
                    "vocabulary; compare it with what the column holds (a bool is 0 or 1, a date a "
                    "number)",
                    f->name, (long long)c->unknown, s->name);
    else if (c->out_of_range > 0)
        cr_diag_add(r->diag, CR_SEV_WARN, CR_EDATA, f->at,
                    "feature '%s': %lld of %lld sampled ids of %s data lie outside 0 .. %lld (e.g. "
                    "%lld) and are taken as 0; raise num_buckets or fix the data",
                    f->name, (long long)c->out_of_range, (long long)c->ids, s->name,
                    (long long)f->num_embeddings - 1, (long long)c->first_bad);
    else if (cr_counts_constant(c) && s->rows >= MANY_ROWS && f->n_columns > 0)
        cr_diag_add(r->diag, CR_SEV_WARN, CR_EDATA, f->at,
                    "feature '%s' is the same in all %lld sampled rows of %s data and tells "
                    "nothing apart; check its column, or remove the feature",
                    f->name, (long long)c->rows, s->name);
    else
        return false;
    return true;
}

/* Each data set by itself: a column that only the training data lacks is what one wants to know.
 * Of a mistake in both the first is told. */
static void check_features(const report *r) {
    for (int i = 0; i < r->j.features->n; i++) {
        const cr_feature *f = r->j.features->v[i];
        for (int k = 0; k < r->n_samples && !f->stub; k++) {
            const sample *s = &r->samples[k];
            if (s->counts && check_feature(r, f, s, &s->counts[i])) break;
        }
    }
}

static void measure(report *r) {
    cr_err err;
    int64_t with;
    const cr_optim_type *o = r->j.mo.optim;
    cr_model_bytes(r->j.model, NULL, &r->tables, &r->dense);
    cr_model_bytes(r->j.model, o, &with, &r->dense);
    r->state = with - r->tables + r->dense * cr_dense_planes(&r->j);
    cr_exec *ex;
    cr_exec_opts eo = {&r->j.model->graph, CR_TRAIN, r->j.root->data_config->batch_size,
                       (int)r->j.root->train_config->lanes, 0};
    if (cr_graph_alloc(&r->j.model->graph, &err) != CR_OK ||
        cr_exec_new(&ex, &eo, r->j.pool, &err) != CR_OK) {
        cr_diag_err(r->diag, &err);
        return;
    }
    cr_exec_info info;
    cr_exec_get_info(ex, &info);
    r->buffers = (int64_t)info.bytes;
    cr_exec_free(ex);
    int64_t total = r->tables + r->state + r->dense + r->buffers + r->data,
            have = cr_mem_available();
    if (have > 0 && total > have) {
        char a[32], b[32];
        cr_diag_add(r->diag, CR_SEV_ERROR, CR_ENOMEM, cr_conf_at(r->j.root, "feature_configs"),
                    "training needs about %s, this machine has %s free; shrink hash_bucket_size, "
                    "num_buckets or embedding_dim, or use an optimizer "
                    "with less state (rowwise_adagrad)",
                    cr_fmt_bytes(a, (double)total), cr_fmt_bytes(b, (double)have));
    }
}

static void tell_text(const report *r, cr_buf *out) {
    char a[32], b[32], c[32], d[32], e[32], f[32], all[48];
    const cr_model *m = r->j.model;
    int64_t rows = 0;
    for (int i = 0; i < m->n_tables; i++)
        rows += m->tables[i]->n_rows;
    cr_buf_printf(out, "model     %s, %d feature%s, %d table%s with %s rows\n",
                  r->j.root->model_config->model.m->key, r->j.features->n,
                  r->j.features->n == 1 ? "" : "s", m->n_tables, m->n_tables == 1 ? "" : "s",
                  cr_fmt_count(a, (double)rows));
    for (int i = 0; i < r->n_samples; i++) {
        const sample *s = &r->samples[i];
        if (!s->counts) {
            cr_buf_printf(out, "%-9s not read: %s\n", s->name, s->paths);
            continue;
        }
        all[0] = 0;
        if (s->all_rows) snprintf(all, sizeof(all), " of %lld", (long long)s->all_rows);
        cr_buf_printf(out, "%-9s %lld%s rows sampled, mean label", s->name, (long long)s->rows,
                      all);
        for (int k = 0; k < s->n_labels; k++)
            cr_buf_printf(out, "%s%s %.4f", s->n_labels > 1 ? " " : "",
                          s->n_labels > 1 ? r->j.features->labels[k] : "", mean_label(s, k));
        cr_buf_printf(out, "%s, %lld bad row%s: %s\n", s->n_labels == 0 ? " 0" : "",
                      (long long)s->bad_rows, s->bad_rows == 1 ? "" : "s", s->paths);
    }
    cr_buf_printf(
        out, "memory    %s: tables %s, optimizer state %s, dense %s, step buffers %s, data %s\n",
        cr_fmt_bytes(a, (double)(r->tables + r->state + r->dense + r->buffers + r->data)),
        cr_fmt_bytes(b, (double)r->tables), cr_fmt_bytes(c, (double)r->state),
        cr_fmt_bytes(d, (double)r->dense), cr_fmt_bytes(e, (double)r->buffers),
        cr_fmt_bytes(f, (double)r->data));
    if (r->n_ops > 0)
        cr_buf_printf(out, "plug-in   %d op%s tried: %s\n", r->n_ops, r->n_ops == 1 ? "" : "s",
                      r->bad_ops ? "see below" : "gradients are right, bits are the same");
    cr_buf_printf(out, "machine   %d cores, %s free, kernels %s\n", cr_cpu_count(),
                  cr_fmt_bytes(a, (double)cr_mem_available()),
                  cr_cpu_level_name(cr_cpu_level_max()));
}

static void tell_json(const report *r, cr_buf *out) {
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "model", r->j.root->model_config->model.m->key);
    cr_jw_i64(&w, "features", r->j.features->n);
    cr_jw_i64(&w, "tables", r->j.model->n_tables);
    if (r->n_ops > 0) cr_jw_i64(&w, "plugin_ops", r->n_ops);
    cr_jw_arr(&w, "data");
    for (int i = 0; i < r->n_samples; i++) {
        const sample *s = &r->samples[i];
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "name", s->name);
        cr_jw_str(&w, "paths", s->paths);
        cr_jw_i64(&w, "rows", s->rows);
        cr_jw_i64(&w, "bad_rows", s->bad_rows);
        if (s->all_rows) cr_jw_i64(&w, "all_rows", s->all_rows);
        cr_jw_f64(&w, "mean_label", mean_label(s, 0));
        if (s->n_labels > 1) {
            cr_jw_obj(&w, "mean_labels");
            for (int k = 0; k < s->n_labels; k++)
                cr_jw_f64(&w, r->j.features->labels[k], mean_label(s, k));
            cr_jw_end(&w);
        }
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_obj(&w, "bytes");
    cr_jw_i64(&w, "tables", r->tables);
    cr_jw_i64(&w, "optimizer_state", r->state);
    cr_jw_i64(&w, "dense", r->dense);
    cr_jw_i64(&w, "step_buffers", r->buffers);
    cr_jw_i64(&w, "data", r->data);
    cr_jw_i64(&w, "available", cr_mem_available());
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_buf_char(out, '\n');
}

cr_code cr_check(const cr_check_opts *o, cr_buf *out, cr_diag *diag) {
    report r = {.diag = diag};
    char path[1200];
    cr_config_opts c = o->config;
    cr_config_of_dir(&c, path);
    job_opts jo = {.config = &c, .threads = o->threads, .train = true, .with_labels = true};
    cr_code code = cr_job_open(&r.j, &jo, diag);
    if (code == CR_OK) {
        const cr_root_conf *root = r.j.root;
        int64_t want = o->sample_rows > 0 ? o->sample_rows : 10000;
        if (*root->train_input_path)
            r.samples[r.n_samples++] = (sample){.name = "train",
                                                .key = "train_input_path",
                                                .paths = root->train_input_path};
        else
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, CR_NOWHERE,
                        "train_input_path is not set: the data was not looked at");
        if (*root->eval_input_path)
            r.samples[r.n_samples++] =
                (sample){.name = "eval", .key = "eval_input_path", .paths = root->eval_input_path};
        if (*root->eval_input_path) cr_job_check_best(&r.j, diag);
        cr_job_check_ema(&r.j, diag);
        cr_job_check_begin(&r.j, diag);
        for (int i = 0; i < r.n_samples; i++)
            read_sample(&r, &r.samples[i], want);
        check_features(&r);
        measure(&r);
        size_t before = diag->n_errors;
        r.n_ops = cr_model_check_ops(r.j.model, diag);
        r.bad_ops = diag->n_errors != before;
        if (o->json)
            tell_json(&r, out);
        else
            tell_text(&r, out);
    }
    cr_diag_sort(diag);
    code = cr_diag_code(diag);
    cr_job_close(&r.j);
    return code;
}
