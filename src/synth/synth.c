/*
 * synth.c - writes synthetic data: rows become text, many threads write files, and the teacher's
 * score is computed. parquet.c writes Parquet files.
 *
 * A file is one item of work; its content depends on nothing but its row numbers. Files are written
 * under temporary names and renamed together when all are done, synth.json last: a folder with
 * synth.json is whole. Nothing is synced to disk: the data can be made again.
 */
#include "synth/synth.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/half.h"
#include "base/json.h"
#include "base/stop.h"
#include "synth/synth_int.h"

#define FILE_ROWS 250000
#define MIN_FILES 4
#define CHUNK     ((size_t)1 << 20)
#define MAX_ROW   ((size_t)8192) /* more than 64 columns of words or bags need */

const char *const cr_synth_formats[] = {"csv", "parquet", NULL};

/* ---- rows to text ---- */

static char *put_u64(char *p, uint64_t x) {
    return p + cr_fmt_u64(p, x);
}

static char *put_fixed(char *p, int64_t k, uint64_t unit) {
    if (k < 0) *p++ = '-';
    uint64_t a = (uint64_t)(k < 0 ? -k : k), frac = a % unit;
    p = put_u64(p, a / unit);
    *p++ = '.';
    for (uint64_t u = unit / 10; u; u /= 10)
        *p++ = (char)('0' + frac / u % 10);
    return p;
}

static char *put_col(char *p, const synth_draw *d, const synth_row *row, int64_t k) {
    switch (d->col->type) {
    case SYNTH_ID: return put_u64(p, cr_synth_id(d, k));
    case SYNTH_REAL: return put_fixed(p, k, 1000);
    case SYNTH_NUM: return d->col->decimals ? put_fixed(p, k, 100) : put_u64(p, (uint64_t)k);
    case SYNTH_WORD: return stpcpy(p, d->col->words[k]);
    case SYNTH_BAG:
        for (int b = 0; b < row->n_bag; b++) {
            if (b) *p++ = '|';
            p = put_u64(p, cr_synth_id(d, row->bag[b]));
        }
        return p;
    }
    return p;
}

static char *put_row(char *p, const synth_teacher *t, const synth_row *row) {
    *p++ = (char)('0' + row->label);
    for (int c = 0; c < t->n; c++) {
        *p++ = ',';
        p = put_col(p, &t->v[c], row, row->k[c]);
    }
    if (t->kind->after) {
        *p++ = ',';
        *p++ = (char)('0' + row->after);
    }
    *p++ = '\n';
    return p;
}

static char *put_header(char *p, const synth_teacher *t) {
    p = stpcpy(p, t->kind->label);
    for (int c = 0; c < t->n; c++) {
        *p++ = ',';
        p = stpcpy(p, t->v[c].col->name);
    }
    if (t->kind->after) {
        *p++ = ',';
        p = stpcpy(p, t->kind->after);
    }
    *p++ = '\n';
    return p;
}

/* ---- files ---- */

typedef struct part_file {
    int part; /* 0: train, 1: eval */
    int64_t first, n;
    char *path, *tmp;
    int64_t bytes;
    cr_code code;
    cr_err err;
} part_file;

typedef struct job {
    synth_teacher teacher;
    synth_tab *tab; /* a described table, which replaces the teacher; NULL: none */
    tab_scores tab_scores;
    part_file *files;
    int n_files;
    synth_scores scores; /* scores of the eval rows */
    char **text;         /* one buffer per thread */
    bool parquet;
    atomic_bool failed;
    cr_synth_dir dir;
} job;

static cr_code write_text(part_file *f, cr_outfile *out, const char *p, size_t n) {
    f->bytes += (int64_t)n;
    return cr_outfile_write(out, p, n, &f->err);
}

static cr_code write_rows(job *j, part_file *f, cr_outfile *out, char *text) {
    char *p = put_header(text, &j->teacher);
    for (int64_t i = f->first; i < f->first + f->n; i++) {
        synth_row row;
        cr_synth_row_draw(&j->teacher, f->part, i, &row);
        if (f->part == 1) cr_synth_keep(&j->scores, i, &row);
        p = put_row(p, &j->teacher, &row);
        if ((size_t)(p - text) < CHUNK) continue;
        CR_TRY(write_text(f, out, text, (size_t)(p - text)));
        p = text;
        if (atomic_load_explicit(&j->failed, memory_order_relaxed)) return CR_OK;
    }
    return write_text(f, out, text, (size_t)(p - text));
}

static cr_code write_tab_rows(job *j, part_file *f, cr_outfile *out) {
    cr_buf b;
    cr_arena a;
    tab_row row;
    cr_buf_init(&b);
    cr_arena_init(&a, 0);
    cr_tab_row_init(&row, j->tab, &a);
    cr_tab_csv_header(&b, j->tab);
    cr_code code = CR_OK;
    for (int64_t i = f->first; i < f->first + f->n && code == CR_OK; i++) {
        cr_tab_row_draw(j->tab, f->part, i, &row);
        if (f->part == 1) cr_tab_keep(&j->tab_scores, i, j->tab, &row);
        cr_tab_csv_row(&b, j->tab, &row);
        if (b.n < CHUNK) continue;
        code = write_text(f, out, b.data, b.n);
        cr_buf_reset(&b);
        if (atomic_load_explicit(&j->failed, memory_order_relaxed)) break;
    }
    if (code == CR_OK) code = write_text(f, out, b.data, b.n);
    cr_buf_clear(&b);
    cr_arena_clear(&a);
    return code;
}

static void write_parquet(job *j, part_file *f) {
    synth_part p = {f->part, f->first, f->n, f->part == 1 ? &j->scores : NULL, &j->failed};
    if (j->tab) {
        const tab_scores *scores = f->part == 1 ? &j->tab_scores : NULL;
        f->code = cr_tab_parquet(j->tab, scores, &p, f->tmp, &f->err);
        if (f->code == CR_OK) f->code = cr_file_size(f->tmp, &f->bytes, &f->err);
    } else
        f->code = cr_synth_parquet(&j->teacher, &p, f->tmp, &f->bytes, &f->err);
}

static void write_csv(job *j, part_file *f, char *text) {
    cr_outfile *out;
    f->code = cr_outfile_open(&out, f->tmp, &f->err);
    if (f->code != CR_OK) return;
    cr_outfile_no_sync(out); /* not synced, since the data can be made again */
    f->code = j->tab ? write_tab_rows(j, f, out) : write_rows(j, f, out, text);
    if (f->code == CR_OK)
        f->code = cr_outfile_commit(out, &f->err);
    else
        cr_outfile_abort(out);
}

static void write_file(void *ctx, int64_t item, int thread) {
    job *j = ctx;
    part_file *f = &j->files[item];
    if (cr_stop_requested) atomic_store(&j->failed, true);
    if (atomic_load(&j->failed)) return;
    if (j->parquet)
        write_parquet(j, f);
    else
        write_csv(j, f, j->text[thread]);
    if (f->code != CR_OK && f->err.at.path) { /* the final name, which the user knows */
        cr_err why = f->err;
        f->code = cr_fail_at(&f->err, why.code, ((cr_loc){f->path, 0, 0}), "%s", why.msg);
    }
    if (f->code != CR_OK) atomic_store(&j->failed, true);
}

static int files_for(int64_t rows) {
    int64_t n = (rows + FILE_ROWS - 1) / FILE_ROWS;
    if (n < MIN_FILES) n = MIN_FILES;
    return (int)(n < rows ? n : rows);
}

static void plan_files(job *j, cr_arena *a, const char *dir, int part, int64_t rows) {
    int n = files_for(rows);
    for (int i = 0; i < n; i++) {
        part_file *f = &j->files[j->n_files++];
        f->part = part;
        f->first = rows * i / n;
        f->n = rows * (i + 1) / n - f->first;
        const char *ext = j->parquet ? "parquet" : "csv", *sub = part ? "eval" : "train";
        const char *name = cr_arena_printf(a, "part-%05d.%s", i, ext);
        f->path = cr_arena_printf(a, "%s/%s/%s", dir, sub, name);
        f->tmp = cr_synth_tmp_name(a, dir, sub, name);
    }
}

/* ---- the teacher's score ---- */

/* Maps a float to an unsigned number with the same order. */
static uint32_t order_bits(float x) {
    uint32_t u = cr_f32_bits(x);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

static void radix_sort(uint64_t *v, uint64_t *tmp, int64_t n) {
    for (int shift = 8; shift < 40; shift += 11) { /* the key lies in bits 8 to 39 */
        int64_t at[2048] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++)
            at[v[i] >> shift & 2047]++;
        for (int b = 0; b < 2048; b++) {
            int64_t c = at[b];
            at[b] = sum;
            sum += c;
        }
        for (int64_t i = 0; i < n; i++)
            tmp[at[v[i] >> shift & 2047]++] = v[i];
        uint64_t *swap = v;
        v = tmp;
        tmp = swap;
    }
    /* after three passes the result lies in the other array */
    memcpy(tmp, v, sizeof *v * (size_t)n);
}

/* The exact AUC: the share of (one, zero) pairs in the right order, where ties count half; NaN if
 * there is only one class. */
static cr_code exact_auc(const float *logit, const uint8_t *label, int64_t n, double *out,
                         cr_err *err) {
    void *mem;
    *out = NAN;
    if (n == 0) return CR_OK;
    CR_TRY(cr_try_alloc(&mem, sizeof(uint64_t) * 2 * (size_t)n, "sorting the eval rows", err));
    uint64_t *v = mem;
    for (int64_t i = 0; i < n; i++)
        v[i] = (uint64_t)order_bits(logit[i]) << 8 | label[i];
    radix_sort(v, v + n, n);
    double right = 0, ones = 0, zeros = 0;
    for (int64_t i = 0; i < n;) {
        double one = 0, zero = 0;
        uint64_t key = v[i] >> 8;
        for (; i < n && v[i] >> 8 == key; i++)
            (v[i] & 1) ? one++ : zero++;
        right += one * (zeros + zero / 2);
        ones += one;
        zeros += zero;
    }
    cr_free(mem);
    *out = ones > 0 && zeros > 0 ? right / (ones * zeros) : NAN;
    return CR_OK;
}

/* Scores the second label: among the rows where the first is 1, and for both together. It
 * overwrites the scores. */
static cr_code score_after(synth_scores *s, int64_t n, cr_synth_result *r, cr_err *err) {
    int64_t ones = 0;
    for (int64_t i = 0; i < n; i++) {
        double a = (double)s->logit[i], b = (double)s->after_logit[i];
        bool can = s->label[i];
        /* the logit of the product of both probabilities */
        s->logit[i] = (float)-log(exp(-a) + exp(-b) + exp(-a - b));
        s->label[i] = s->after[i];
        if (!can) continue;
        s->after_logit[ones] = (float)b;
        s->after[ones++] = s->label[i];
        r->after_rate += s->label[i];
    }
    if (ones > 0) r->after_rate /= (double)ones;
    CR_TRY(exact_auc(s->logit, s->label, n, &r->both_auc, err));
    return exact_auc(s->after_logit, s->after, ones, &r->after_auc, err);
}

static cr_code score(job *j, int64_t n, cr_synth_result *r, cr_err *err) {
    const synth_scores *s = &j->scores;
    double loss = 0, ones = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = s->label[i] ? -(double)s->logit[i] : (double)s->logit[i];
        loss += x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
        ones += s->label[i];
    }
    r->logloss = loss / (double)n;
    r->label_rate = ones / (double)n;
    CR_TRY(exact_auc(s->logit, s->label, n, &r->auc, err));
    return j->teacher.kind->after ? score_after(&j->scores, n, r, err) : CR_OK;
}

/* Scores a described table: every label that is 0 or 1. */
static cr_code score_tab(const job *j, int64_t n, cr_synth_result *r, cr_err *err) {
    const cr_synth_table *tab = j->tab->table;
    r->auc = r->logloss = NAN;
    for (int l = 0; l < tab->n_labels && l < CR_SYNTH_LABELS; l++) {
        const float *logit = j->tab_scores.logit + l * n;
        const uint8_t *y = j->tab_scores.label + l * n;
        cr_synth_label *out = &r->labels[r->n_labels++];
        *out = (cr_synth_label){.mean = NAN, .auc = NAN};
        snprintf(out->name, sizeof out->name, "%s", tab->labels[l].name);
        if (tab->labels[l].K != 1 && tab->labels[l].K != 2) continue;
        out->mean = 0;
        for (int64_t i = 0; i < n; i++)
            out->mean += y[i] / (double)n;
        CR_TRY(exact_auc(logit, y, n, &out->auc, err));
    }
    return CR_OK;
}

static void write_tab_json(cr_jw *w, const cr_synth_table *tab, const cr_synth_result *r) {
    static const char *const leaves[] = {"token", "word", "integer", "number"};
    cr_jw_arr(w, "labels");
    for (int l = 0; l < r->n_labels; l++) {
        cr_jw_obj(w, NULL);
        cr_jw_str(w, "label", r->labels[l].name);
        if (!isnan(r->labels[l].mean)) cr_jw_f64(w, "label_rate", r->labels[l].mean);
        if (!isnan(r->labels[l].auc)) cr_jw_f64(w, "auc", r->labels[l].auc);
        cr_jw_end(w);
    }
    cr_jw_end(w);
    cr_jw_arr(w, "columns");
    for (int i = 0; i < tab->n_cols; i++) {
        const cr_tab_col *c = &tab->cols[i];
        cr_jw_obj(w, NULL);
        cr_jw_str(w, "name", c->name);
        cr_jw_str(w, "type", leaves[c->value.leaf]);
        if (c->value.leaf != CR_TAB_REAL) cr_jw_i64(w, "cardinality", c->value.card);
        cr_jw_end(w);
    }
    cr_jw_end(w);
}

static void write_kind_json(cr_jw *w, const synth_teacher *t, const cr_synth_result *r) {
    static const char *const types[] = {"id", "word", "bag", "real", "number"};
    cr_jw_str(w, "label", t->kind->label);
    cr_jw_f64(w, "label_rate", r->label_rate);
    cr_jw_obj(w, "teacher");
    cr_jw_f64(w, "auc", r->auc);
    cr_jw_f64(w, "logloss", r->logloss);
    cr_jw_end(w);
    if (t->kind->after) {
        cr_jw_obj(w, "after");
        cr_jw_str(w, "label", t->kind->after);
        cr_jw_f64(w, "label_rate", r->after_rate);
        cr_jw_f64(w, "auc", r->after_auc);
        cr_jw_f64(w, "both_auc", r->both_auc);
        cr_jw_end(w);
    }
    cr_jw_arr(w, "columns");
    for (int i = 0; i < t->n; i++) {
        cr_jw_obj(w, NULL);
        cr_jw_str(w, "name", t->v[i].col->name);
        cr_jw_str(w, "type", types[t->v[i].col->type]);
        if (t->v[i].card) cr_jw_i64(w, "cardinality", t->v[i].card);
        cr_jw_end(w);
    }
    cr_jw_end(w);
}

static void write_json(cr_buf *b, const cr_synth_opts *o, const job *j, const cr_synth_result *r) {
    const synth_teacher *t = &j->teacher;
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)o->seed);
    cr_jw w;
    cr_jw_init(&w, b);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, j->tab ? "for" : "kind", j->tab ? j->tab->table->name : t->kind->name);
    cr_jw_str(&w, "format", j->parquet ? "parquet" : "csv");
    cr_jw_str(&w, "seed", seed);
    if (!j->tab) cr_jw_f64(&w, "scale", t->scale);
    cr_jw_i64(&w, "rows", r->rows);
    cr_jw_i64(&w, "eval_rows", r->eval_rows);
    cr_jw_i64(&w, "train_files", r->n_files);
    cr_jw_i64(&w, "eval_files", r->n_eval_files);
    cr_jw_i64(&w, "bytes", r->bytes);
    if (j->tab)
        write_tab_json(&w, j->tab->table, r);
    else
        write_kind_json(&w, t, r);
    cr_jw_str(&w, "crank_version", CR_VERSION);
    cr_jw_end(&w);
    cr_buf_char(b, '\n');
}

/* ---- the whole run ---- */

static cr_code check_opts(const cr_synth_opts *o, const synth_kind **kind, cr_err *err) {
    *kind = o->table ? NULL : cr_synth_kind_find(o->kind);
    if (!*kind && !o->table)
        return cr_fail(err, CR_EUSAGE, "no data set '%s'; choose criteo, taobao or census",
                       o->kind);
    if (o->rows < 1 || o->rows > (int64_t)1e12)
        return cr_fail(err, CR_EUSAGE, "%lld rows cannot be made; give --rows from 1 on",
                       (long long)o->rows);
    if (o->eval_rows < 0 || o->eval_rows > (int64_t)1e9)
        return cr_fail(err, CR_EUSAGE, "%lld eval rows cannot be made; give 1 to 1000000000",
                       (long long)o->eval_rows);
    if (!(o->scale >= 0) || o->scale > 100)
        return cr_fail(err, CR_EUSAGE, "scale %g cannot be used; give more than 0, at most 100",
                       o->scale);
    if (o->format && strcmp(o->format, "csv") != 0 && strcmp(o->format, "parquet") != 0)
        return cr_fail(err, CR_EUSAGE, "no format '%s'; choose csv or parquet", o->format);
    if (!o->dir || !o->dir[0]) return cr_fail(err, CR_EUSAGE, "no output directory; give -o DIR");
    return CR_OK;
}

static cr_code publish(job *j, cr_arena *a, const char *dir, const cr_synth_opts *o,
                       const cr_synth_result *r, cr_err *err) {
    char *json = cr_path_join(a, dir, "synth.json");
    CR_TRY(cr_synth_dir_begin(&j->dir, err));
    CR_TRY(cr_file_remove(json, err));
    CR_TRY(cr_synth_drop_parts(a, dir, err));
    for (int i = 0; i < j->n_files; i++)
        CR_TRY(cr_rename(j->files[i].tmp, j->files[i].path, err));
    cr_buf b;
    cr_buf_init(&b);
    if (j->tab)
        cr_buf_str(&b, j->tab->table->config);
    else
        cr_synth_yaml(&b, &j->teacher, o, dir);
    cr_code code = cr_file_write(cr_path_join(a, dir, "pipeline.yaml"), b.data, b.n, err);
    if (code == CR_OK) {
        uint64_t digest = cr_digest_of(b.data, b.n);
        cr_buf_reset(&b);
        write_json(&b, o, j, r);
        code = cr_file_write(json, b.data, b.n, err);
        if (code == CR_OK) code = cr_synth_dir_end(&j->dir, digest, err);
    }
    cr_buf_clear(&b);
    return code;
}

static cr_code make(job *j, cr_arena *a, const cr_synth_opts *o, const char *dir, cr_pool *pool,
                    cr_synth_result *r, cr_err *err) {
    void *mem;
    CR_TRY(cr_synth_dir_open(&j->dir, a, dir, err));
    float **scores[] = {&j->scores.logit, &j->scores.after_logit, &j->tab_scores.logit};
    uint8_t **labels[] = {&j->scores.label, &j->scores.after, &j->tab_scores.label};
    size_t n = (size_t)r->eval_rows * (size_t)(j->tab ? j->tab->table->n_labels : 1);
    j->tab_scores.n_rows = r->eval_rows;
    for (int i = j->tab ? 2 : 0; i < (j->tab ? 3 : 2); i++) {
        CR_TRY(cr_try_alloc(&mem, sizeof(float) * n, "scores of eval rows", err));
        *scores[i] = mem;
        CR_TRY(cr_try_alloc(&mem, n, "labels of eval rows", err));
        *labels[i] = mem;
    }
    cr_pool_run(pool, j->n_files, write_file, j);
    if (cr_stop_requested)
        return cr_fail(err, CR_ESTOP, "stopped by a signal; %s is as it was before", dir);
    for (int i = 0; i < j->n_files; i++) {
        if (j->files[i].code != CR_OK) {
            cr_err_copy(err, &j->files[i].err);
            return j->files[i].code;
        }
        r->bytes += j->files[i].bytes;
    }
    CR_TRY(j->tab ? score_tab(j, r->eval_rows, r, err) : score(j, r->eval_rows, r, err));
    return publish(j, a, dir, o, r, err);
}

cr_code cr_synth(const cr_synth_opts *o, cr_pool *pool, cr_err *err) {
    const synth_kind *kind;
    CR_TRY(check_opts(o, &kind, err));
    cr_arena a;
    cr_arena_init(&a, 0);
    size_t len = strlen(o->dir);
    while (len > 1 && o->dir[len - 1] == '/')
        len--;
    char *dir = cr_arena_strndup(&a, o->dir, len);
    cr_synth_result r = {.rows = o->rows, .eval_rows = o->eval_rows};
    if (r.eval_rows == 0) {
        r.eval_rows = o->rows / 5;
        if (r.eval_rows < 1000) r.eval_rows = 1000;
        if (r.eval_rows > 1000000) r.eval_rows = 1000000;
    }
    r.n_files = files_for(r.rows);
    r.n_eval_files = files_for(r.eval_rows);
    job *j = CR_NEW(&a, job);
    j->dir.fd = -1;
    j->parquet = o->format && strcmp(o->format, "parquet") == 0;
    if (o->table) {
        j->tab = CR_NEW(&a, synth_tab);
        cr_tab_init(j->tab, o->table, o->seed);
    } else
        cr_synth_teacher_init(&j->teacher, kind, o->seed, o->scale > 0 ? o->scale : 1);
    j->files = CR_NEW_N(&a, part_file, r.n_files + r.n_eval_files);
    plan_files(j, &a, dir, 0, r.rows);
    plan_files(j, &a, dir, 1, r.eval_rows);
    int n_threads = cr_pool_threads(pool);
    j->text = CR_NEW_N(&a, char *, n_threads);
    for (int i = 0; i < n_threads; i++)
        j->text[i] = cr_alloc(CHUNK + MAX_ROW, "text of rows");
    cr_code code = make(j, &a, o, dir, pool, &r, err);
    if (code != CR_OK)
        for (int i = 0; i < j->n_files; i++)
            (void)!cr_file_remove(j->files[i].tmp, NULL);
    else if (o->result)
        *o->result = r;
    cr_synth_dir_close(&j->dir, &a);
    for (int i = 0; i < n_threads; i++)
        cr_free(j->text[i]);
    cr_free(j->scores.logit);
    cr_free(j->scores.label);
    cr_free(j->scores.after_logit);
    cr_free(j->scores.after);
    cr_free(j->tab_scores.logit);
    cr_free(j->tab_scores.label);
    if (j->tab)
        cr_tab_clear(j->tab);
    else
        cr_synth_teacher_clear(&j->teacher);
    cr_arena_clear(&a);
    return code;
}
