/*
 * state.c - the two small JSON files of a checkpoint: it writes and reads state.json (step, data
 * position, schedules) and reads index.json. Both are compared with their digests before anything
 * in them is used. 64-bit seeds are written as text, because many JSON readers round large numbers.
 */
#include "ckpt/ckpt_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"

static void write_files(cr_jw *w, const char *key, cr_data_digest d) {
    char text[CR_DIGEST_TEXT + 1];
    if (d.content == 0 && d.times == 0) return;
    cr_jw_obj(w, key);
    cr_digest_text(d.content, text);
    cr_jw_str(w, "content", text);
    cr_digest_text(d.times, text);
    cr_jw_str(w, "times", text);
    cr_jw_end(w);
}

/* The positions of several sources: lists of epoch, unit, row, rows, bad_rows, done. */
static void write_sources(cr_jw *w, const cr_data_pos *p) {
    if (p->n_more == 0) return;
    cr_jw_arr(w, "sources");
    for (int i = 0; i < p->n_more; i++) {
        const cr_data_more *m = &p->more[i];
        const int64_t v[] = {m->epoch, m->unit, m->row, m->rows, m->bad_rows, m->done};
        cr_jw_arr(w, NULL);
        for (int k = 0; k < 6; k++)
            cr_jw_i64(w, NULL, v[k]);
        cr_jw_end(w);
    }
    cr_jw_end(w);
}

void cr_ckpt_state_write(cr_buf *out, const cr_ckpt_state *s) {
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->seed);
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_jw_i64(&w, "format_version", CKPT_VERSION);
    cr_jw_i64(&w, "step", s->step);
    cr_jw_i64(&w, "epoch", s->epoch);
    cr_jw_obj(&w, "data");
    cr_jw_i64(&w, "epoch", s->data.epoch);
    cr_jw_i64(&w, "unit", s->data.unit);
    cr_jw_i64(&w, "row", s->data.row);
    cr_jw_i64(&w, "rows", s->data.rows);
    cr_jw_i64(&w, "bad_rows", s->data.bad_rows);
    if (s->places) cr_jw_str(&w, "places", s->places);
    write_sources(&w, &s->data);
    cr_jw_end(&w);
    write_files(&w, "train_files", s->train_files);
    write_files(&w, "eval_files", s->eval_files);
    cr_jw_i64(&w, "updates", s->updates);
    cr_jw_i64(&w, "dense_updates", s->dense_updates);
    cr_jw_i64(&w, "averages", s->averages);
    cr_jw_i64(&w, "accumulated", s->accumulated);
    if (s->loss_scale > 0) {
        cr_jw_obj(&w, "grad_scaler");
        cr_jw_f64(&w, "scale", s->loss_scale);
        cr_jw_i64(&w, "quiet", s->scale_quiet);
        cr_jw_i64(&w, "overflow", s->overflow);
        cr_jw_end(&w);
    }
    cr_jw_i64(&w, "sched_steps", s->sched_steps);
    cr_jw_i64(&w, "sched_epochs", s->sched_epochs);
    cr_jw_str(&w, "seed", seed);
    cr_jw_i64(&w, "lanes", s->lanes);
    if (s->pending) {
        cr_jw_str(&w, "metrics", NULL);
    } else {
        cr_jw_obj(&w, "metrics");
        for (int i = 0; i < s->n_metrics; i++)
            cr_jw_f64(&w, s->metrics[i].name, s->metrics[i].value);
        cr_jw_end(&w);
    }
    if (s->stopped) cr_jw_bool(&w, "stopped", true);
    cr_jw_str(&w, "crank_version", s->version);
    cr_jw_str(&w, "cpu", s->cpu);
    if (s->extra) cr_jw_str(&w, "extra", s->extra);
    if (s->split) cr_jw_str(&w, "split", s->split);
    if (s->sessions) cr_jw_str(&w, "sessions", s->sessions);
    if (s->train_metrics) cr_jw_str(&w, "train_metrics", s->train_metrics);
    cr_jw_end(&w);
    cr_buf_char(out, '\n');
    cr_ckpt_seal(out);
}

#define BAD(path, ...) cr_fail_at(err, CR_ERUN, cr_ckpt_at_path(path), __VA_ARGS__)

static cr_code read_json(const char *path, const cr_manifest *m, cr_json **out, cr_err *err) {
    cr_buf text;
    cr_buf_init(&text);
    int64_t size;
    CR_TRY(cr_ckpt_file_size(path, &size, err));
    cr_code code = cr_file_read(path, CKPT_SMALL, &text, err);
    if (code == CR_OK && m)
        code = cr_manifest_content(m, path, text.data ? text.data : "", text.n, err);
    else if (code == CR_OK && cr_ckpt_is_sealed(text.data ? text.data : "", text.n))
        /* a folder of version 1 has no manifest */
        code = cr_ckpt_check_seal(path, text.data, text.n, err);
    if (code == CR_OK) {
        cr_err why;
        if (cr_json_parse(out, text.data, text.n, &why) != CR_OK)
            code = CKPT_DAMAGED(path, "%s; the file is damaged", why.msg);
        else if (!cr_json_is_obj(*out)) {
            cr_json_free(*out);
            code = CKPT_DAMAGED(path, "not a JSON object; the file is damaged");
        }
    }
    cr_buf_clear(&text);
    return code;
}

static cr_code need_i64(const char *path, const cr_json *obj, const char *key, int64_t *out,
                        cr_err *err) {
    if (!cr_json_i64(cr_json_get(obj, key), out) || *out < 0)
        return CKPT_DAMAGED(path, "'%s' is missing or not a count; the file is damaged", key);
    return CR_OK;
}

static const char *copy(cr_arena *a, const char *s) {
    return s ? cr_arena_strdup(a, s) : NULL;
}

static cr_code fill_scaler(const char *path, const cr_json *j, cr_ckpt_state *s, cr_err *err) {
    const cr_json *g = cr_json_get(j, "grad_scaler");
    int64_t overflow;
    if (!g) return CR_OK;
    if (!cr_json_f64(cr_json_get(g, "scale"), &s->loss_scale) || !isfinite(s->loss_scale) ||
        s->loss_scale <= 0)
        return CKPT_DAMAGED(path,
                            "'scale' is missing or not a positive number; the file is damaged");
    CR_TRY(need_i64(path, g, "quiet", &s->scale_quiet, err));
    CR_TRY(need_i64(path, g, "overflow", &overflow, err));
    s->overflow = overflow != 0;
    return CR_OK;
}

static cr_data_digest read_files(const cr_json *j) {
    cr_data_digest d = {0};
    const char *content = j ? cr_json_str(cr_json_get(j, "content")) : NULL;
    const char *times = j ? cr_json_str(cr_json_get(j, "times")) : NULL;
    if (!content || !times || !cr_digest_parse(content, &d.content) ||
        !cr_digest_parse(times, &d.times))
        return (cr_data_digest){0};
    return d;
}

static cr_code fill_sources(const char *path, const cr_json *list, cr_data_pos *p, cr_err *err) {
    size_t n = list ? cr_json_len(list) : 0;
    if (!list) return CR_OK;
    bool good = cr_json_is_arr(list) && n <= CR_MAX_SOURCES;
    for (size_t i = 0; good && i < n; i++) {
        const cr_json *one = cr_json_at(list, i);
        int64_t v[6] = {0};
        good = cr_json_is_arr(one) && cr_json_len(one) == 6;
        for (size_t k = 0; good && k < 6; k++)
            good = cr_json_i64(cr_json_at(one, k), &v[k]) && v[k] >= 0;
        p->more[i] = (cr_data_more){v[0], v[1], v[2], v[3], v[4], v[5] != 0};
    }
    if (!good) return CKPT_DAMAGED(path, "'sources' has another form; the file is damaged");
    p->n_more = (int)n;
    return CR_OK;
}

static cr_code fill_state(cr_arena *a, const char *path, const cr_json *j, cr_ckpt_state *s,
                          cr_err *err) {
    int64_t version, lanes;
    CR_TRY(need_i64(path, j, "format_version", &version, err));
    if (version > CKPT_VERSION)
        return BAD(path, "format version %lld; this crank reads up to %d, use a newer one",
                   (long long)version, CKPT_VERSION);
    CR_TRY(need_i64(path, j, "step", &s->step, err));
    CR_TRY(need_i64(path, j, "epoch", &s->epoch, err));
    const cr_json *d = cr_json_get(j, "data");
    if (!d || !cr_json_is_obj(d))
        return CKPT_DAMAGED(path, "'data' is missing; the file is damaged");
    CR_TRY(need_i64(path, d, "epoch", &s->data.epoch, err));
    CR_TRY(need_i64(path, d, "unit", &s->data.unit, err));
    CR_TRY(need_i64(path, d, "row", &s->data.row, err));
    CR_TRY(need_i64(path, d, "rows", &s->data.rows, err));
    CR_TRY(need_i64(path, d, "bad_rows", &s->data.bad_rows, err));
    s->places = copy(a, cr_json_str(cr_json_get(d, "places")));
    CR_TRY(fill_sources(path, cr_json_get(d, "sources"), &s->data, err));
    s->train_files = read_files(cr_json_get(j, "train_files"));
    s->eval_files = read_files(cr_json_get(j, "eval_files"));
    CR_TRY(need_i64(path, j, "updates", &s->updates, err));
    s->dense_updates = s->updates; /* files from before accumulation have one count */
    if (cr_json_get(j, "dense_updates"))
        CR_TRY(need_i64(path, j, "dense_updates", &s->dense_updates, err));
    if (cr_json_get(j, "averages")) CR_TRY(need_i64(path, j, "averages", &s->averages, err));
    if (cr_json_get(j, "accumulated"))
        CR_TRY(need_i64(path, j, "accumulated", &s->accumulated, err));
    CR_TRY(fill_scaler(path, j, s, err));
    CR_TRY(need_i64(path, j, "sched_steps", &s->sched_steps, err));
    CR_TRY(need_i64(path, j, "sched_epochs", &s->sched_epochs, err));
    CR_TRY(need_i64(path, j, "lanes", &lanes, err));
    if (lanes > 1 << 20)
        return CKPT_DAMAGED(path, "'lanes' is %lld; the file is damaged", (long long)lanes);
    s->lanes = (int)lanes;
    const char *seed = cr_json_str(cr_json_get(j, "seed"));
    if (!seed || !cr_parse_u64(seed, strlen(seed), &s->seed))
        return CKPT_DAMAGED(path,
                            "'seed' is missing or not a number in quotes; the file is damaged");
    const cr_json *m = cr_json_get(j, "metrics");
    s->pending = m && !cr_json_is_obj(m); /* null: no evaluation is recorded yet */
    (void)cr_json_bool(cr_json_get(j, "stopped"), &s->stopped);
    if (m && cr_json_is_obj(m)) {
        cr_ckpt_metric *v = CR_NEW_N(a, cr_ckpt_metric, cr_json_len(m) + 1);
        const char *key;
        const cr_json *val;
        for (void *it = NULL; cr_json_next(m, &it, &key, &val);) {
            double x;
            if (!cr_json_f64(val, &x)) x = NAN;
            v[s->n_metrics++] = (cr_ckpt_metric){cr_arena_strdup(a, key), x};
        }
        s->metrics = v;
    }
    s->version = copy(a, cr_json_str(cr_json_get(j, "crank_version")));
    s->cpu = copy(a, cr_json_str(cr_json_get(j, "cpu")));
    s->extra = copy(a, cr_json_str(cr_json_get(j, "extra")));
    s->split = copy(a, cr_json_str(cr_json_get(j, "split")));
    s->sessions = copy(a, cr_json_str(cr_json_get(j, "sessions")));
    s->train_metrics = copy(a, cr_json_str(cr_json_get(j, "train_metrics")));
    return CR_OK;
}

cr_code cr_ckpt_state_read(cr_arena *a, const char *path, const cr_manifest *m, cr_ckpt_state *s,
                           cr_err *err) {
    cr_json *j = NULL;
    CR_TRY(read_json(path, m, &j, err));
    memset(s, 0, sizeof *s);
    cr_code code = fill_state(a, path, j, s, err);
    cr_json_free(j);
    return code;
}

/* A name from an index is a plain file name: it must not lead out of the directory. */
static bool plain_name(const char *s) {
    return s && s[0] && s[0] != '.' && strchr(s, '/') == NULL;
}

static cr_code fill_files(cr_arena *a, const char *path, const cr_json *j, ckpt_index *x,
                          cr_err *err) {
    const cr_json *files = cr_json_get(j, "files");
    if (!files || !cr_json_is_arr(files))
        return CKPT_DAMAGED(path, "'files' is missing; the file is damaged");
    x->files = CR_NEW_N(a, ckpt_file, cr_json_len(files) + 1);
    for (size_t i = 0; i < cr_json_len(files); i++) {
        const cr_json *f = cr_json_at(files, i);
        ckpt_file *o = &x->files[i];
        const char *name = cr_json_str(cr_json_get(f, "name"));
        const char *crc = cr_json_str(cr_json_get(f, "crc32"));
        bool old = x->version < CKPT_MANIFEST;
        if (!plain_name(name) ||
            (old && (!crc || strlen(crc) != 8 || strspn(crc, "0123456789abcdef") != 8)))
            return CKPT_DAMAGED(path, "entry %zu of 'files' is wrong; the file is damaged", i);
        CR_TRY(need_i64(path, f, "size", &o->size, err));
        o->name = cr_arena_strdup(a, name);
        if (old) o->crc = (uint32_t)strtoul(crc, NULL, 16);
        x->n_files++;
    }
    return CR_OK;
}

static cr_code fill_tensors(cr_arena *a, const char *path, const cr_json *j, ckpt_index *x,
                            cr_err *err) {
    const cr_json *ts = cr_json_get(j, "tensors");
    if (!ts || !cr_json_is_arr(ts))
        return CKPT_DAMAGED(path, "'tensors' is missing; the file is damaged");
    x->tensors = CR_NEW_N(a, cr_ckpt_info, cr_json_len(ts) + 1);
    for (size_t i = 0; i < cr_json_len(ts); i++) {
        const cr_json *t = cr_json_at(ts, i), *shape = cr_json_get(t, "shape");
        const char *name = cr_json_str(cr_json_get(t, "name"));
        if (!name || !shape || !cr_json_is_arr(shape) || cr_json_len(shape) > CR_ST_MAX_DIMS)
            return CKPT_DAMAGED(path, "entry %zu of 'tensors' is wrong; the file is damaged", i);
        cr_ckpt_info *o = &x->tensors[i];
        const cr_json *parts = cr_json_get(t, "parts");
        const char *file = parts && cr_json_is_arr(parts) && cr_json_len(parts) > 0
                               ? cr_json_str(cr_json_get(cr_json_at(parts, 0), "file"))
                               : NULL;
        o->name = cr_arena_strdup(a, name);
        o->optimizer = file && cr_ckpt_is_optimizer(file);
        o->n_dims = (int)cr_json_len(shape);
        for (int d = 0; d < o->n_dims; d++)
            if (!cr_json_i64(cr_json_at(shape, (size_t)d), &o->shape[d]))
                return CKPT_DAMAGED(path, "tensor '%s': shape is wrong; the file is damaged", name);
        x->n_tensors++;
    }
    return CR_OK;
}

static cr_code fill_index(cr_arena *a, const char *path, const cr_json *j, ckpt_index *x,
                          cr_err *err) {
    const char *format = cr_json_str(cr_json_get(j, "format"));
    if (!format || strcmp(format, CKPT_FORMAT) != 0)
        return BAD(path, "not the index of a crank checkpoint");
    int64_t version;
    CR_TRY(need_i64(path, j, "format_version", &version, err));
    if (version > CKPT_VERSION)
        return BAD(path, "format version %lld; this crank reads up to %d, use a newer one",
                   (long long)version, CKPT_VERSION);
    x->version = version;
    CR_TRY(fill_files(a, path, j, x, err));
    return fill_tensors(a, path, j, x, err);
}

cr_code cr_ckpt_index_read(cr_arena *a, const char *dir, const cr_manifest *m, ckpt_index *out,
                           cr_err *err) {
    char *path = cr_path_join(a, dir, CKPT_INDEX);
    cr_json *j = NULL;
    CR_TRY(read_json(path, m, &j, err));
    memset(out, 0, sizeof *out);
    cr_code code = fill_index(a, path, j, out, err);
    cr_json_free(j);
    if (code == CR_OK && !m && out->version >= CKPT_MANIFEST)
        code = CKPT_DAMAGED(cr_path_join(a, dir, CR_MANIFEST),
                            "the file is missing; the folder is damaged");
    return code;
}
