/*
 * check.c - `crank check` finds everything that can be found wrong without a training step: damaged
 * files of checkpoints and exports, mistakes in the config, the columns of every data set, the
 * values of a sample of rows, labels that do not fit the losses, and too little memory.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/shown.h"
#include "data/files.h"
#include "job/env.h"
#include "tool/doctor_int.h"
#include "train/early_stop.h"
#include "train/step.h"

/* ---- a sample of each data set ---- */

static void begin_stats(report *r, sample *s) {
    cr_arena *a = &r->j.cfg.arena;
    const cr_features *fs = r->j.features;
    s->n_labels = fs->n_labels;
    s->n_weights = fs->n_weights;
    s->labels = CR_NEW_N(a, col_stats, fs->n_labels + 1);
    s->weights = CR_NEW_N(a, col_stats, fs->n_weights + 1);
    s->positives = CR_NEW_N(a, int64_t, fs->n_labels + 1);
    s->counts = CR_NEW_N(a, cr_feature_counts, fs->n + 1);
    s->empty = CR_NEW_N(a, int64_t, fs->n + 1);
    s->stats = CR_NEW_N(a, col_stats, fs->n + 1);
    s->joint = CR_NEW_N(a, col_joint, fs->n * fs->n_labels + 1);
    for (int i = 0; i < fs->n_labels; i++)
        cr_stats_init(&s->labels[i], true, a);
    for (int i = 0; i < fs->n_weights; i++)
        cr_stats_init(&s->weights[i], true, a);
    for (int i = 0; i < fs->n; i++)
        cr_stats_init(&s->stats[i], !fs->v[i]->sparse, a);
}

/* value is the only value of row r. */
static void add_joint(sample *s, int feature, const cr_batch *b, int64_t r, uint64_t value,
                      double number) {
    for (int i = 0; i < s->n_labels; i++)
        cr_joint_add(&s->joint[feature * s->n_labels + i], value, number, b->labels[i][r]);
}

static void add_feature(sample *s, int k, const cr_feature *f, const cr_batch *b) {
    col_stats *c = &s->stats[k];
    if (f->sparse) {
        const cr_jagged *g = &b->sparse[f->slot];
        int64_t steps = g->steps ? g->steps[b->n_rows] : b->n_rows,
                n_ids = g->off ? g->off[steps] : steps;
        for (int64_t i = 0; i < n_ids; i++)
            cr_stats_id(c, g->ids[i]);
        for (int64_t r = 0; r < b->n_rows && !g->steps; r++) {
            int64_t at = g->off ? g->off[r] : r, n = g->off ? g->off[r + 1] - at : 1;
            if (n <= 1) add_joint(s, k, b, r, n ? (uint64_t)g->ids[at] : UINT64_MAX, 0);
        }
    } else if (f->seq) {
        const cr_dense_seq *q = &b->dense_seq[f->slot];
        for (int64_t i = 0; i < q->steps[b->n_rows] * q->width; i++)
            cr_stats_number(c, q->v[i]);
    } else {
        for (int64_t r = 0; r < b->n_rows; r++) {
            const float *x = b->dense + r * b->dense_width + f->dense_off;
            for (int64_t i = 0; i < f->value_dim; i++)
                cr_stats_number(c, x[i]);
            uint32_t bits;
            memcpy(&bits, x, sizeof(bits));
            if (f->value_dim == 1) add_joint(s, k, b, r, bits, (double)x[0]);
        }
    }
}

static int64_t rows_without_steps(const cr_feature *f, const cr_batch *b) {
    int64_t n = 0;
    for (int64_t r = 0; f->seq && r < b->n_rows; r++)
        n += f->sparse ? b->sparse[f->slot].steps[r] == b->sparse[f->slot].steps[r + 1]
                       : b->dense_seq[f->slot].steps[r] == b->dense_seq[f->slot].steps[r + 1];
    return n;
}

static void add_batch(report *r, sample *s, const cr_batch *b) {
    s->rows += b->n_rows;
    for (int k = 0; k < s->n_labels; k++)
        for (int64_t i = 0; i < b->n_rows; i++) {
            cr_stats_number(&s->labels[k], b->labels[k][i]);
            s->positives[k] += b->labels[k][i] == 1;
        }
    for (int k = 0; k < s->n_weights; k++)
        for (int64_t i = 0; i < b->n_rows; i++)
            cr_stats_number(&s->weights[k], b->weights[k][i]);
    for (int k = 0; k < r->j.features->n; k++) {
        const cr_feature *f = r->j.features->v[k];
        if (f->stub) continue;
        add_feature(s, k, f, b);
        s->empty[k] += rows_without_steps(f, b);
    }
}

static double mean_label(const sample *s, int k) {
    return s->rows && k < s->n_labels ? s->labels[k].mean : NAN;
}

/* Says which part of the files a sample is. */
static const char *part_of(const report *r, const sample *s) {
    const cr_data_conf *d = r->j.root->data_config;
    if (d->eval_fraction <= 0) return "";
    return s->side == CR_TRAIN_ROWS ? " without eval_fraction" : ", eval_fraction";
}

static void list_files(report *r, sample *s) {
    char **paths;
    size_t n;
    if (cr_data_files(r->j.root->data_config, &r->j.cfg.arena, s->paths, r->j.reader->exts, &paths,
                      &n, NULL) != CR_OK)
        return;
    s->files = CR_NEW_N(&r->j.cfg.arena, data_file, n + 1);
    for (size_t i = 0; i < n; i++) {
        cr_fs_stat st;
        if (cr_fs_stat_path(paths[i], true, &st, NULL) == 0)
            s->files[s->n_files++] =
                (data_file){.path = paths[i], .dev = st.dev, .ino = st.ino, .size = st.size};
    }
}

static int64_t rows_of_counts(const report *r, const sample *s, int64_t least) {
    for (int i = 0; i < r->j.features->n; i++)
        if (s->counts[i].rows > least) return s->counts[i].rows;
    return least;
}

static void read_sample(report *r, sample *s, int64_t want) {
    cr_loader *l;
    cr_err err;
    int64_t batch = r->j.root->data_config->batch_size;
    cr_job_data d = {.paths = s->paths,
                     .key = s->key,
                     .side = s->side,
                     .batch_size = batch < want ? batch : want,
                     .n_epochs = 1,
                     .any_bad = true,
                     .silent = true};
    if (cr_job_loader(&r->j, &d, &l, r->diag) != CR_OK) return;
    list_files(r, s);
    begin_stats(r, s);
    bool counted = false;
    for (bool done = false; !done && s->rows < want;) {
        cr_batch *b;
        if (cr_loader_next(l, &b, &done, &err) != CR_OK) {
            cr_diag_err(r->diag, &err);
            break;
        }
        s->complete = done;
        if (!b) continue;
        if (counted && b->n_rows > want - s->rows) b->n_rows = want - s->rows;
        add_batch(r, s, b);
        cr_loader_release(l, b);
        /* Counts are those of whole blocks. When enough rows were seen, the rest of their blocks is
         * read too, so that all numbers are about the same rows. */
        if (counted || s->rows < want) continue;
        counted = true;
        cr_loader_tally(l, s->counts);
        want = rows_of_counts(r, s, want);
    }
    if (!counted) cr_loader_tally(l, s->counts);
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
    if (s->rows == 0 && cr_diag_code(r->diag) == CR_OK)
        cr_diag_add(r->diag, CR_SEV_ERROR, CR_EDATA, cr_conf_at(r->j.root, s->key),
                    "%s data '%s' holds no rows; check the path and the files", s->name,
                    cr_masked(&r->j.cfg.arena, s->paths));
}

static int64_t all_bytes(const report *r) {
    int64_t n = cr_add_i64(r->tables, r->state);
    n = cr_add_i64(n, r->dense);
    n = cr_add_i64(n, r->buffers);
    return cr_add_i64(n, r->data);
}

static void measure(report *r) {
    cr_err err;
    int64_t with;
    const cr_optim_type *o = r->j.mo.optim;
    cr_model_bytes(r->j.model, NULL, &r->tables, &r->dense);
    cr_model_bytes(r->j.model, o, &with, &r->dense);
    r->state = cr_add_i64(with - r->tables, cr_mul_i64(r->dense, cr_dense_planes(&r->j)));
    cr_plan *plan = NULL;
    cr_work *w = NULL;
    cr_plan_opts po = {.graph = &r->j.model->graph,
                       .mode = CR_TRAIN,
                       .max_rows = r->j.root->data_config->batch_size,
                       .lanes = r->j.lanes};
    if (cr_graph_alloc(&r->j.model->graph, &err) != CR_OK ||
        cr_plan_new(&plan, &po, &err) != CR_OK || cr_work_new(&w, plan, r->j.pool, &err) != CR_OK) {
        cr_plan_free(plan);
        cr_diag_err(r->diag, &err);
        return;
    }
    r->buffers = (int64_t)cr_work_bytes(w);
    cr_work_free(w);
    cr_plan_free(plan);
    const char *who;
    int64_t total = all_bytes(r), have = cr_mem_room(&who);
    double reserve = cr_env_reserve();
    if (have > 0 && (double)total > (double)have * (1 - reserve)) {
        char a[32], b[32], kept[96] = "";
        if (reserve > 0)
            snprintf(kept, sizeof(kept), ", of which STORAGE_RESERVE_PERCENT keeps %g %%",
                     100 * reserve);
        cr_diag_add(r->diag, CR_SEV_ERROR, CR_ENOMEM, cr_conf_at(r->j.root, "feature_configs"),
                    "training needs about %s, %s has %s free%s; shrink hash_bucket_size, "
                    "num_buckets or embedding_dim, or use an optimizer "
                    "with less state (rowwise_adagrad)",
                    cr_fmt_bytes(a, (double)total), who, cr_fmt_bytes(b, (double)have), kept);
    }
}

/* ---- reporting ---- */

/* The statistics of a data set's features: the numbers of the table and of the JSON. */
static const double quantiles[] = {0.25, 0.5, 0.75};
enum { N_QUANTILES = 3 };

static void tell_number(cr_buf *out, double x) {
    char text[32];
    snprintf(text, sizeof(text), "%.5g", x);
    cr_buf_printf(out, " %10s", text);
}

/* Returns how many rows or steps have no value, together with rows without steps. */
static int64_t missing(const sample *s, int k) {
    return s->counts[k].missing + s->empty[k];
}

static void tell_feature(report *r, const sample *s, int k, int width, cr_buf *out) {
    const cr_feature *f = r->j.features->v[k];
    const col_stats *c = &s->stats[k];
    bool exact;
    double distinct = cr_stats_distinct(c, &exact), q[N_QUANTILES];
    char about[32];
    snprintf(about, sizeof(about), "%s%.0f", exact ? "" : "~", distinct);
    cr_buf_printf(out, "  %-*s %9lld %9s", width, cr_shown(&r->j.cfg.arena, f->name),
                  (long long)missing(s, k), about);
    if (f->sparse) {
        cr_buf_printf(out, "  ids, %.3g per row\n", (double)c->n / (double)s->rows);
        return;
    }
    if (c->n == 0) {
        cr_buf_str(out, "  no numbers\n");
        return;
    }
    cr_stats_quantiles(c, quantiles, N_QUANTILES, q);
    tell_number(out, c->min);
    for (int i = 0; i < N_QUANTILES; i++)
        tell_number(out, q[i]);
    tell_number(out, c->max);
    tell_number(out, c->mean);
    tell_number(out, cr_stats_sd(c));
    cr_buf_char(out, '\n');
}

static void tell_features(report *r, const sample *s, cr_buf *out) {
    static const char *const titles[] = {"min", "25%", "50%", "75%", "max", "mean", "sd"};
    int width = 7;
    for (int i = 0; i < r->j.features->n; i++) {
        int n = (int)strlen(cr_shown(&r->j.cfg.arena, r->j.features->v[i]->name));
        if (n > width) width = n;
    }
    if (width > 40) width = 40;
    cr_buf_printf(out, "features  of the %lld rows of %s data, as the model gets them\n",
                  (long long)s->rows, s->name);
    cr_buf_printf(out, "  %-*s %9s %9s", width, "feature", "missing", "distinct");
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        cr_buf_printf(out, " %10s", titles[i]);
    cr_buf_char(out, '\n');
    for (int i = 0; i < r->j.features->n; i++)
        if (!r->j.features->v[i]->stub) tell_feature(r, s, i, width, out);
}

static void tell_text(report *r, cr_buf *out) {
    char a[32], b[32], c[32], d[32], e[32], f[32], all[48];
    const cr_model *m = r->j.model;
    int64_t rows = 0;
    for (int i = 0; i < m->n_tables; i++)
        rows = cr_add_i64(rows, m->tables[i]->n_rows);
    cr_buf_printf(out, "model     %s, %d feature%s, %d table%s with %s rows\n",
                  r->j.root->model_config->model.m->key, r->j.features->n,
                  r->j.features->n == 1 ? "" : "s", m->n_tables, m->n_tables == 1 ? "" : "s",
                  cr_fmt_count(a, (double)rows));
    for (int i = 0; i < r->n_samples; i++) {
        const sample *s = &r->samples[i];
        if (!s->counts) {
            cr_buf_printf(out, "%-9s not read: %s\n", s->name,
                          cr_masked(&r->j.cfg.arena, s->paths));
            continue;
        }
        all[0] = 0;
        if (s->all_rows) snprintf(all, sizeof(all), " of %lld", (long long)s->all_rows);
        cr_buf_printf(out, "%-9s %lld%s row%s sampled", s->name, (long long)s->rows, all,
                      s->rows == 1 ? "" : "s");
        if (s->rows > 0 && s->n_labels > 0) cr_buf_str(out, ", mean label");
        for (int k = 0; s->rows > 0 && k < s->n_labels; k++)
            cr_buf_printf(out, "%s%s %.4f", s->n_labels > 1 ? " " : "",
                          s->n_labels > 1 ? r->j.features->labels[k] : "", mean_label(s, k));
        cr_buf_printf(out, ", %lld bad row%s: %s%s\n", (long long)s->bad_rows,
                      s->bad_rows == 1 ? "" : "s", cr_masked(&r->j.cfg.arena, s->paths),
                      part_of(r, s));
    }
    if (r->n_samples > 0 && r->samples[0].rows > 0) tell_features(r, &r->samples[0], out);
    cr_buf_printf(
        out, "memory    %s: tables %s, optimizer state %s, dense %s, step buffers %s, data %s\n",
        cr_fmt_bytes(a, (double)all_bytes(r)), cr_fmt_bytes(b, (double)r->tables),
        cr_fmt_bytes(c, (double)r->state), cr_fmt_bytes(d, (double)r->dense),
        cr_fmt_bytes(e, (double)r->buffers), cr_fmt_bytes(f, (double)r->data));
    if (r->n_ops > 0)
        cr_buf_printf(out, "plug-in   %d op%s tried: %s\n", r->n_ops, r->n_ops == 1 ? "" : "s",
                      r->bad_ops ? "see below" : "gradients are right, bits are the same");
    cr_buf_printf(out, "machine   %d cores, %s free, kernels %s\n", cr_cpu_count(),
                  cr_fmt_bytes(a, (double)cr_mem_available()),
                  cr_cpu_level_name(cr_cpu_level_max()));
}

static void json_features(const report *r, const sample *s, cr_jw *w) {
    static const char *const names[N_QUANTILES] = {"q25", "q50", "q75"};
    for (int i = 0; i < s->n_labels; i++) {
        if (i == 0) cr_jw_obj(w, "positives");
        cr_jw_i64(w, r->j.features->labels[i], s->positives[i]);
        if (i == s->n_labels - 1) cr_jw_end(w);
    }
    cr_jw_arr(w, "features");
    for (int i = 0; i < r->j.features->n; i++) {
        const cr_feature *f = r->j.features->v[i];
        const col_stats *c = &s->stats[i];
        bool exact;
        if (f->stub) continue;
        cr_jw_obj(w, NULL);
        cr_jw_str(w, "name", f->name);
        cr_jw_i64(w, "missing", missing(s, i));
        cr_jw_i64(w, "distinct", (int64_t)(cr_stats_distinct(c, &exact) + 0.5));
        cr_jw_bool(w, "distinct_is_exact", exact);
        if (f->sparse) {
            cr_jw_i64(w, "ids", c->n);
        } else {
            double q[N_QUANTILES];
            cr_stats_quantiles(c, quantiles, N_QUANTILES, q);
            double none = c->n ? 0 : NAN; /* null in JSON */
            cr_jw_i64(w, "numbers", c->n);
            cr_jw_f64(w, "min", c->min + none);
            for (int k = 0; k < N_QUANTILES; k++)
                cr_jw_f64(w, names[k], q[k]);
            cr_jw_f64(w, "max", c->max + none);
            cr_jw_f64(w, "mean", c->mean + none);
            cr_jw_f64(w, "sd", cr_stats_sd(c) + none);
        }
        cr_jw_end(w);
    }
    cr_jw_end(w);
}

static void tell_json(report *r, cr_buf *out) {
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_verify_json(r->files, r->n_files, &w);
    cr_jw_str(&w, "model", r->j.root->model_config->model.m->key);
    cr_jw_i64(&w, "features", r->j.features->n);
    cr_jw_i64(&w, "tables", r->j.model->n_tables);
    if (r->n_ops > 0) cr_jw_i64(&w, "plugin_ops", r->n_ops);
    cr_jw_arr(&w, "data");
    for (int i = 0; i < r->n_samples; i++) {
        const sample *s = &r->samples[i];
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "name", s->name);
        cr_jw_str(&w, "paths", cr_masked(&r->j.cfg.arena, s->paths));
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
        if (s->rows > 0) json_features(r, s, &w);
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_arr(&w, "findings");
    for (int i = 0; i < r->n_findings; i++) {
        const finding *f = &r->findings[i];
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "check", f->check);
        cr_jw_str(&w, "data", f->data);
        cr_jw_str(&w, "subject", f->subject);
        cr_jw_str(&w, "message", f->message);
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

/* Is the data there? An export may lie on a machine that does not have its data; a note says so. */
static bool has_data(report *r, cr_folder kind, const char *paths) {
    char **found;
    size_t n;
    if (kind != CR_FOLDER_EXPORT || cr_data_files(r->j.root->data_config, &r->j.cfg.arena, paths,
                                                  r->j.reader->exts, &found, &n, NULL) == CR_OK)
        return true;
    cr_diag_add(r->diag, CR_SEV_NOTE, CR_OK, CR_NOWHERE,
                "'%s' is not here, so the export's data was not looked at", paths);
    return false;
}

/* Checks the files of a folder that crank wrote, before they are used. */
static cr_code check_files(report *r, const cr_check_opts *o, cr_folder kind, cr_arena *a,
                           cr_diag *diag) {
    cr_err err;
    cr_pool *pool;
    if (cr_pool_new(&pool, o->threads > 0 ? o->threads : cr_cpu_count(), &err) != CR_OK)
        return cr_diag_err(diag, &err);
    cr_code code = cr_verify(o->config.path, kind, pool, a, &r->files, &r->n_files, diag);
    cr_pool_free(pool);
    return code;
}

static void tell_files(const report *r, bool json, cr_buf *out) {
    if (!json) {
        cr_verify_text(r->files, r->n_files, out);
        return;
    }
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_verify_json(r->files, r->n_files, &w);
    cr_jw_end(&w);
    cr_buf_char(out, '\n');
}

static void check_job(report *r, const cr_check_opts *o, cr_folder kind, cr_buf *out,
                      cr_diag *diag) {
    char path[1200];
    cr_config_opts c = o->config;
    cr_config_of_dir(&c, path);
    cr_job_opts jo = {.config = &c, .threads = o->threads, .train = true, .with_labels = true};
    if (cr_job_open(&r->j, &jo, diag) != CR_OK) {
        tell_files(r, o->json, out);
        return;
    }
    const cr_root_conf *root = r->j.root;
    int64_t want = o->sample_rows > 0 ? o->sample_rows : 10000;
    const cr_daily_conf *daily = root->train_config->daily;
    const char *train =
        daily ? cr_daily_folder(daily, 0, 0, &r->j.cfg.arena) : root->train_input_path;
    cr_job_check_ctr(&r->j, diag);
    cr_job_check_inner(&r->j, diag);
    cr_job_check_refeed(&r->j, diag);
    if (!*train)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, CR_NOWHERE,
                    "train_input_path is not set: the data was not looked at");
    else if (daily && !cr_path_is_dir(train))
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(daily, "data_dir"),
                    "%s, the first folder of daily, is not there yet: the data was not looked at",
                    train);
    else if (has_data(r, kind, train))
        r->samples[r->n_samples++] = (sample){.name = "train",
                                              .key = "train_input_path",
                                              .paths = train,
                                              .side = CR_TRAIN_ROWS};
    const char *eval = cr_job_eval_files(&r->j, cr_job_eval_paths(&r->j), &r->j.cfg.arena);
    if (eval && has_data(r, kind, eval))
        r->samples[r->n_samples++] = (sample){.name = "eval",
                                              .key = cr_job_eval_key(&r->j),
                                              .paths = eval,
                                              .side = CR_EVAL_ROWS};
    if (eval) cr_job_check_best(&r->j, diag);
    cr_early_stop_check(&r->j, diag);
    cr_job_check_ema(&r->j, diag);
    cr_job_check_begin(&r->j, diag);
    for (int i = 0; i < r->n_samples; i++)
        read_sample(r, &r->samples[i], want);
    cr_doctor(r);
    measure(r);
    size_t before = diag->n_errors;
    r->n_ops = cr_model_check_ops(r->j.model, diag);
    r->bad_ops = diag->n_errors != before;
    if (!o->json) tell_files(r, false, out);
    (o->json ? tell_json : tell_text)(r, out);
}

cr_code cr_check(const cr_check_opts *o, cr_buf *out, cr_diag *diag) {
    report r = {.diag = diag};
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_folder kind = cr_folder_kind(o->config.path);
    cr_code code = kind == CR_FOLDER_NONE ? CR_OK : check_files(&r, o, kind, &a, diag);
    /* a checkpoint alone has no config; and the content of damaged files is not checked */
    if (code == CR_OK && kind != CR_FOLDER_CHECKPOINT)
        check_job(&r, o, kind, out, diag);
    else
        tell_files(&r, o->json, out);
    cr_diag_sort(diag);
    code = cr_diag_code(diag);
    cr_job_close(&r.j);
    cr_arena_clear(&a);
    return code;
}
