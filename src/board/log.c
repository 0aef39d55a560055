/*
 * log.c - see log.h. A run that was killed and continued repeats the steps behind its last
 * checkpoint, and the last line of a step counts: the tracks are cut back to the step at which the
 * continued run began, or to any step that comes again.
 */
#include "board/log.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define CHUNK    ((size_t)1 << 20)
#define MAX_LINE ((size_t)64 << 20) /* a longer line is damage */
#define PIECES   64
#define PIECE    4096
#define ENDS     16384 /* bytes of the first and the last piece */

void cr_log_init(cr_log_file *l, const char *path) {
    *l = (cr_log_file){.started = NAN, .tip = {.time = NAN, .step = -1}};
    l->sampled_tip = l->tip;
    size_t n = strlen(path) + 1;
    l->path = cr_alloc(n, "a path");
    memcpy(l->path, path, n);
    cr_track_init(&l->train, CR_LOG_BUCKETS);
    cr_track_init(&l->eval, CR_LOG_BUCKETS);
    for (int i = 0; i < 2; i++)
        cr_track_init(&l->sampled[i], CR_LOG_BUCKETS);
}

void cr_log_clear(cr_log_file *l) {
    cr_track_clear(&l->train);
    cr_track_clear(&l->eval);
    for (int i = 0; i < 2; i++)
        cr_track_clear(&l->sampled[i]);
    cr_free(l->dead);
    cr_free(l->path);
    *l = (cr_log_file){0};
}

static void forget(cr_log_file *l) {
    char *path = l->path;
    l->path = NULL;
    cr_log_clear(l);
    cr_log_init(l, path);
    cr_free(path);
}

bool cr_log_look(cr_log_file *l) {
    cr_fs_stat now;
    if (cr_fs_stat_path(l->path, true, &now, NULL) != 0 || now.kind != CR_FS_FILE) return false;
    bool other = l->seen.kind == CR_FS_FILE && (now.dev != l->seen.dev || now.ino != l->seen.ino);
    if (other || now.size < l->read) forget(l);
    l->seen = now;
    l->size = now.size;
    return true;
}

int64_t cr_log_behind(const cr_log_file *l) {
    return l->size == l->stuck ? 0 : l->size - l->read;
}

const cr_log_tip *cr_log_at(const cr_log_file *l) {
    return l->has_samples ? &l->sampled_tip : &l->tip;
}

const cr_track *cr_log_track(const cr_log_file *l, cr_line_event kind) {
    if (l->has_samples) return &l->sampled[kind == CR_LINE_EVAL];
    return kind == CR_LINE_EVAL ? &l->eval : &l->train;
}

/* ---- pieces of the file ---- */

static bool read_part(cr_fs *f, int64_t at, size_t n, cr_buf *out) {
    size_t got;
    cr_buf_reset(out);
    cr_buf_reserve(out, n);
    if (cr_fs_pread(f, at, out->data, n, &got, NULL) != CR_OK) return false;
    out->n = got;
    return true;
}

/* A walk over the lines of [at, end): calls fn for every whole one. */
typedef void (*line_fn)(void *ctx, const char *text, size_t n, int64_t at);
static bool walk(const char *path, int64_t at, int64_t end, line_fn fn, void *ctx) {
    cr_fs *f;
    cr_buf b;
    bool ok = true;
    if (cr_fs_open(&f, path, NULL) != CR_OK) return false;
    cr_buf_init(&b);
    size_t want = CHUNK;
    while (ok && at < end) {
        size_t n = end - at < (int64_t)want ? (size_t)(end - at) : want;
        ok = read_part(f, at, n, &b);
        if (!ok || b.n == 0) break;
        size_t from = 0;
        for (const char *nl; (nl = memchr(b.data + from, '\n', b.n - from)) != NULL;) {
            size_t len = (size_t)(nl - b.data) - from;
            fn(ctx, b.data + from, len, at + (int64_t)from);
            from += len + 1;
        }
        if (from == 0) { /* the line is longer than the chunk, or has no end yet */
            if (b.n < n || n < want || want >= MAX_LINE) break;
            want *= 4;
        } else {
            at += (int64_t)from;
            want = CHUNK;
        }
    }
    cr_buf_clear(&b);
    cr_fs_close(f);
    return ok;
}

/* What a line means for the axes. */
static void place(const cr_log_file *l, const cr_line *line, double rows, double x[CR_AXES]) {
    x[CR_AXIS_STEP] = (double)line->step;
    x[CR_AXIS_TIME] = line->time - l->started;
    x[CR_AXIS_ROWS] = rows;
}

/* ---- lines that are read again ---- */

typedef struct detail {
    const cr_log_file *l;
    cr_line_event kind;
    cr_axis axis;
    double from, to;
    double rows, before; /* rows so far; those of earlier runs in this file, NAN: not known yet */
    cr_line *line;
    cr_track *out;
} detail;

static bool is_dead(const cr_log_file *l, cr_line_event kind, int64_t at) {
    for (int i = 0; i < l->n_dead; i++)
        if (l->dead[i].kind == kind && at >= l->dead[i].at && at < l->dead[i].end) return true;
    return false;
}

static void add_detail(void *ctx, const char *text, size_t n, int64_t at) {
    detail *d = ctx;
    double x[CR_AXES];
    if (!cr_line_scan(d->line, text, n)) return;
    if (d->line->event == CR_LINE_START) d->before = d->rows; /* its rows count from 0 again */
    if (d->line->step < 0 || is_dead(d->l, d->line->event, at)) return;
    if (d->line->event == CR_LINE_TRAIN && isfinite(d->line->rows)) {
        if (isnan(d->before)) d->before = d->rows - d->line->rows;
        d->rows = d->before + d->line->rows;
    }
    if (d->line->event != d->kind) return;
    place(d->l, d->line, d->rows, x);
    if (x[d->axis] < d->from || x[d->axis] > d->to) return;
    cr_track_add(d->out, d->line, x, at, at + (int64_t)n + 1);
}

/* Reads the lines of one bucket. */
static bool walk_bucket(detail *d, const cr_bucket *b) {
    d->rows = b->x[CR_AXIS_ROWS][0]; /* of the first line of the bucket */
    d->before = NAN;
    return walk(d->l->path, b->at, b->end, add_detail, d);
}

/* ---- one line ---- */

/* Drops the lines of a kind behind a step, because the line at `here` has come to that step again.
 */
static void cut(cr_log_file *l, cr_track *t, cr_line_event kind, double step, int64_t here) {
    cr_bucket b;
    if (cr_track_cut(t, step, &b)) {
        detail d = {.l = l,
                    .kind = kind,
                    .axis = CR_AXIS_STEP,
                    .from = -INFINITY,
                    .to = step,
                    .line = cr_alloc(sizeof *d.line, "a line of a log"),
                    .out = t};
        (void)!walk_bucket(&d, &b); /* lines that cannot be read are only missing in a chart */
        cr_free(d.line);
    }
    cr_dead dead = {kind, t->n ? t->b[t->n - 1].end : 0, here};
    int m = 0;
    for (int i = 0; i < l->n_dead; i++) /* what lies inside of the new one is not needed */
        if (l->dead[i].kind != kind || l->dead[i].at < dead.at) l->dead[m++] = l->dead[i];
    l->n_dead = m;
    if (l->n_dead == l->cap_dead) {
        int cap = l->cap_dead ? 2 * l->cap_dead : 4;
        l->dead = cr_realloc(l->dead, sizeof *l->dead * (size_t)l->cap_dead,
                             sizeof *l->dead * (size_t)cap, "repeated parts of a log");
        l->cap_dead = cap;
    }
    l->dead[l->n_dead++] = dead;
}

/* A new run begins in this file behind step `from`; -1: from the first step on. */
static void begin_run(cr_log_file *l, double from, int64_t here) {
    cut(l, &l->train, CR_LINE_TRAIN, from, here);
    cut(l, &l->eval, CR_LINE_EVAL, from, here);
    l->rows_before = l->train.n ? l->train.b[l->train.n - 1].x[CR_AXIS_ROWS][1] : 0;
    l->tip.rows = l->rows_before;
}

static double member(const cr_line *line, const char *name) {
    size_t n = strlen(name);
    for (int i = 0; i < line->n; i++)
        if ((size_t)line->v[i].n == n && memcmp(line->v[i].name, name, n) == 0)
            return line->v[i].value;
    return NAN;
}

static void add_line(cr_log_file *l, cr_line *line, const char *text, size_t n, int64_t at) {
    double x[CR_AXES];
    l->n_lines++;
    if (n == 0) return;
    if (!cr_line_scan(line, text, n)) {
        if (l->n_bad++ == 0) l->first_bad = l->n_lines;
        return;
    }
    if (isnan(l->started)) l->started = line->time;
    if (isfinite(line->time)) l->tip.time = line->time;
    cr_line_at here = {at, (int64_t)n};
    cr_track *t = line->event == CR_LINE_EVAL ? &l->eval : &l->train;
    switch (line->event) {
    case CR_LINE_START: {
        double from = member(line, "from_step");
        begin_run(l, isfinite(from) ? from : -1, at);
        l->tip.start = here;
        l->tip.end = (cr_line_at){0};
        break;
    }
    case CR_LINE_END: l->tip.end = here; break;
    case CR_LINE_FEATURES: l->tip.features = here; break;
    case CR_LINE_TRAIN:
    case CR_LINE_EVAL:
        if (line->step < 0) return;
        if (line->event == CR_LINE_TRAIN && isfinite(line->rows))
            l->tip.rows = l->rows_before + line->rows;
        if (t->n && t->b[t->n - 1].x[CR_AXIS_STEP][1] >= (double)line->step)
            cut(l, t, line->event, (double)line->step - 0.5, at);
        place(l, line, l->tip.rows, x);
        cr_track_add(t, line, x, at, at + (int64_t)n + 1);
        break;
    default: break;
    }
    if (line->step >= 0) l->tip.step = line->step;
}

/* ---- reading on ---- */

typedef struct reading {
    cr_log_file *l;
    cr_line *line;
    int64_t n;
} reading;
static void take(void *ctx, const char *text, size_t n, int64_t at) {
    reading *r = ctx;
    add_line(r->l, r->line, text, n, at);
    r->l->read = at + (int64_t)n + 1;
    r->n++;
}

int64_t cr_log_read(cr_log_file *l, int64_t most) {
    reading r = {l, cr_alloc(sizeof *r.line, "a line of a log"), 0};
    int64_t end = most < l->size - l->read ? l->read + most : l->size, from = l->read;
    (void)!walk(l->path, from, end, take, &r); /* what cannot be read now is read later */
    /* a single line may be longer than what was asked for */
    if (l->read == from && end < l->size) (void)!walk(l->path, from, l->size, take, &r);
    cr_free(r.line);
    l->stuck = r.n == 0 ? l->size : 0;
    if (l->has_samples && (l->stuck || l->size - l->read < PIECE)) {
        l->has_samples = false;
        for (int i = 0; i < 2; i++)
            cr_track_clear(&l->sampled[i]);
    }
    return r.n;
}

/* ---- samples ---- */

typedef struct sampling {
    cr_log_file *l;
    cr_line *line;
} sampling;
static void sample(void *ctx, const char *text, size_t n, int64_t at) {
    sampling *s = ctx;
    cr_log_file *l = s->l;
    cr_log_tip *tip = &l->sampled_tip;
    double x[CR_AXES];
    cr_bucket b;
    if (n == 0 || !cr_line_scan(s->line, text, n)) return;
    if (isnan(l->started)) l->started = s->line->time;
    if (isfinite(s->line->time)) tip->time = s->line->time;
    cr_line_at here = {at, (int64_t)n};
    if (s->line->event == CR_LINE_START) tip->start = here;
    if (s->line->event == CR_LINE_END) tip->end = here;
    if (s->line->event == CR_LINE_FEATURES) tip->features = here;
    if (s->line->event == CR_LINE_START && at > 0) tip->end = (cr_line_at){0};
    if ((s->line->event != CR_LINE_TRAIN && s->line->event != CR_LINE_EVAL) || s->line->step < 0)
        return;
    cr_track *t = &l->sampled[s->line->event == CR_LINE_EVAL];
    if (isfinite(s->line->rows)) tip->rows = s->line->rows;
    if (t->n && t->b[t->n - 1].x[CR_AXIS_STEP][1] >= (double)s->line->step)
        (void)cr_track_cut(t, (double)s->line->step - 0.5, &b);
    place(l, s->line, tip->rows, x);
    cr_track_add(t, s->line, x, at, at + (int64_t)n + 1);
    tip->step = s->line->step;
}

void cr_log_sample(cr_log_file *l) {
    cr_fs *f;
    cr_buf b;
    if (l->read > 0 || cr_fs_open(&f, l->path, NULL) != CR_OK) return;
    cr_buf_init(&b);
    sampling s = {l, cr_alloc(sizeof *s.line, "a line of a log")};
    l->has_samples = true;
    for (int k = 0; k < PIECES; k++) {
        bool last = k == PIECES - 1;
        size_t n = k == 0 || last ? ENDS : PIECE;
        int64_t at = last ? l->size - (int64_t)n : l->size / PIECES * k;
        if (at < 0) at = 0;
        if (!read_part(f, at, n, &b)) break;
        const char *from = k == 0 ? b.data : memchr(b.data, '\n', b.n), *end = b.data + b.n;
        if (from && k > 0) from++;
        for (const char *nl; from && from < end; from = nl + 1) {
            nl = memchr(from, '\n', (size_t)(end - from));
            if (!nl) break;
            sample(&s, from, (size_t)(nl - from), at + (from - b.data));
        }
    }
    cr_free(s.line);
    cr_buf_clear(&b);
    cr_fs_close(f);
}

/* ---- reading again ---- */

bool cr_log_detail(const cr_log_file *l, cr_line_event kind, cr_axis axis, double from, double to,
                   cr_track *out) {
    const cr_track *t = kind == CR_LINE_EVAL ? &l->eval : &l->train;
    detail d = {.l = l,
                .kind = kind,
                .axis = axis,
                .from = from,
                .to = to,
                .line = cr_alloc(sizeof *d.line, "a line of a log"),
                .out = out};
    bool ok = true;
    for (int i = 0; ok && i < t->n; i++)
        if (t->b[i].x[axis][1] >= from && t->b[i].x[axis][0] <= to) ok = walk_bucket(&d, &t->b[i]);
    cr_free(d.line);
    return ok;
}

bool cr_log_text(const cr_log_file *l, cr_line_at at, cr_buf *out) {
    cr_fs *f;
    if (at.n <= 0 || at.n > (int64_t)MAX_LINE || cr_fs_open(&f, l->path, NULL) != CR_OK)
        return false;
    bool ok = read_part(f, at.at, (size_t)at.n, out) && (int64_t)out->n == at.n;
    cr_fs_close(f);
    return ok;
}

typedef struct all_lines {
    cr_log_fn fn;
    void *ctx;
    cr_line *line;
} all_lines;
static void give(void *ctx, const char *text, size_t n, int64_t at) {
    all_lines *a = ctx;
    (void)at;
    if (cr_line_scan(a->line, text, n)) a->fn(a->ctx, a->line, text, n);
}

bool cr_log_each(const cr_log_file *l, cr_log_fn fn, void *ctx) {
    all_lines a = {fn, ctx, cr_alloc(sizeof *a.line, "a line of a log")};
    bool ok = walk(l->path, 0, l->size, give, &a);
    cr_free(a.line);
    return ok;
}
