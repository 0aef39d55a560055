/*
 * profile.c - see profile.h. Times in the file are microseconds from the first recorded step. A
 * thread records a wait only when the wait is over, so this file adds the waits that still go on at
 * the end of the recording.
 */
#include "obs/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"

#define WAIT 1 /* steps that are not recorded */
/* steps recorded and thrown away, so that spans that cross the start are whole */
#define WARM_UP   1
#define ACTIVE    10    /* steps kept */
#define MAX_SPANS 65536 /* per thread: ten steps of a large batch in small tiles */

struct cr_profile {
    cr_trace *trace;
    cr_pool *pool;
    char *path;
    int steps_row, n_rows;
    int64_t seen;        /* steps of this run that ended */
    int64_t first, last; /* numbers of the recorded steps */
    double begun;        /* when the current step began; 0: it is not recorded */
    double t0, t1;       /* begin and end of the recording */
    bool written, done;
};

cr_profile *cr_profile_new(cr_pool *pool, int n_workers, const char *path) {
    cr_profile *p = cr_alloc(sizeof(*p), "a profile");
    p->pool = pool;
    p->path = cr_alloc(strlen(path) + 1, "a profile");
    memcpy(p->path, path, strlen(path) + 1);
    p->trace = cr_trace_new(1 + cr_pool_threads(pool) + n_workers, MAX_SPANS);
    p->steps_row = cr_trace_row(p->trace, "steps", 0);
    cr_pool_trace(pool, p->trace);
    return p;
}

void cr_profile_free(cr_profile *p) {
    if (!p) return;
    cr_pool_trace(p->pool, NULL);
    cr_trace_free(p->trace);
    cr_free(p->path);
    cr_free(p);
}

cr_trace *cr_profile_trace(const cr_profile *p) {
    return p ? p->trace : NULL;
}

void cr_profile_begin(cr_profile *p) {
    if (!p || p->done) return;
    if (p->seen == WAIT) cr_trace_switch(p->trace, true);
    p->begun = cr_trace_begin(p->trace);
    if (p->seen == WAIT + WARM_UP && p->t0 == 0) p->t0 = p->begun;
}

void cr_profile_span(cr_profile *p, cr_stage s, double t0) {
    int row;
    if (!p) return;
    cr_trace *t = cr_pool_get_trace(p->pool, 0, &row);
    cr_trace_end(t, row, s, t0);
}

/* ---- the recorded window ---- */

/* next_span gives the next of spans[*i...], cut to the window, and at last the wait that goes on at
 * its end. */
static bool next_span(const cr_profile *p, int row, int64_t *i, cr_span *out) {
    int64_t n;
    const cr_span *s = cr_trace_spans(p->trace, row, &n);
    for (; *i < n; (*i)++) {
        *out = s[*i];
        if (out->t0 < p->t0) out->t0 = p->t0;
        if (out->t1 > p->t1) out->t1 = p->t1;
        if (out->t1 <= out->t0) continue;
        (*i)++;
        return true;
    }
    int main_row;
    cr_pool_get_trace(p->pool, 0, &main_row);
    if (*i > n || row == p->steps_row || row == main_row) return false;
    double from = n > 0 && s[n - 1].t1 > p->t0 ? s[n - 1].t1 : p->t0;
    *out = (cr_span){from, p->t1, 0, CR_STAGE_WAIT};
    *i = n + 1;
    return from < p->t1;
}

static void put_name(cr_jw *w, const char *kind, int tid, const char *name) {
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "name", kind);
    cr_jw_str(w, "ph", "M");
    cr_jw_i64(w, "pid", 0);
    cr_jw_i64(w, "tid", tid);
    cr_jw_obj(w, "args");
    cr_jw_str(w, "name", name);
    cr_jw_end(w);
    cr_jw_end(w);
}

static double micros(const cr_profile *p, double t) {
    return (double)(int64_t)((t - p->t0) * 1e9 + 0.5) / 1e3;
}

static void put_span(cr_jw *w, const cr_profile *p, int tid, const cr_span *s) {
    char name[48];
    snprintf(name, sizeof name, "ProfilerStep#%lld", (long long)s->number);
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "name", s->stage == CR_STAGE_STEP ? name : cr_stage_name(s->stage));
    cr_jw_str(w, "cat", s->stage == CR_STAGE_STEP ? "user_annotation" : "stage");
    cr_jw_str(w, "ph", "X");
    cr_jw_f64(w, "ts", micros(p, s->t0));
    cr_jw_f64(w, "dur", nearbyint((micros(p, s->t1) - micros(p, s->t0)) * 1e3) / 1e3);
    cr_jw_i64(w, "pid", 0);
    cr_jw_i64(w, "tid", tid);
    cr_jw_end(w);
}

static void write_file(cr_profile *p) {
    cr_buf b;
    cr_jw w;
    cr_buf_init(&b);
    cr_jw_init(&w, &b);
    cr_jw_obj(&w, NULL);
    cr_jw_i64(&w, "schemaVersion", 1);
    cr_jw_str(&w, "displayTimeUnit", "ms");
    cr_jw_arr(&w, "traceEvents");
    put_name(&w, "process_name", 0, "crank");
    for (int r = 0; r < p->n_rows; r++)
        put_name(&w, "thread_name", r + 1, cr_trace_row_name(p->trace, r));
    cr_span s;
    for (int r = 0; r < p->n_rows; r++)
        for (int64_t i = 0; next_span(p, r, &i, &s);) {
            cr_buf_char(&b, '\n');
            put_span(&w, p, r + 1, &s);
        }
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "name", "Record Window End");
    cr_jw_str(&w, "ph", "i");
    cr_jw_str(&w, "s", "g");
    cr_jw_f64(&w, "ts", micros(p, p->t1));
    cr_jw_i64(&w, "pid", 0);
    cr_jw_i64(&w, "tid", 0);
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_buf_char(&b, '\n');
    cr_err err;
    p->written = cr_file_write(p->path, b.data, b.n, &err) == CR_OK;
    if (!p->written) {
        char text[1024];
        cr_err_text(&err, text, sizeof text);
        CR_WARN("%s; there is no trace, the run goes on", text);
    }
    cr_buf_clear(&b);
}

void cr_profile_finish(cr_profile *p) {
    if (!p || p->done) return;
    cr_trace_switch(p->trace, false);
    p->done = true;
    if (p->t1 <= p->t0) {
        CR_WARN("the run is too short for a profile; it looks at steps %d to %d", WAIT + WARM_UP,
                WAIT + WARM_UP + ACTIVE - 1);
        return;
    }
    p->n_rows = cr_trace_rows(p->trace);
    write_file(p);
}

void cr_profile_end(cr_profile *p, int64_t step) {
    if (!p || p->done) return;
    if (++p->seen > WAIT + WARM_UP) {
        if (p->seen == WAIT + WARM_UP + 1) p->first = step;
        cr_trace_step(p->trace, p->steps_row, step, p->begun);
        p->last = step;
        p->t1 = cr_now();
    }
    if (p->seen == WAIT + WARM_UP + ACTIVE) cr_profile_finish(p);
}

/* ---- shares ---- */

const char *cr_profile_text(const cr_profile *p, cr_arena *a) {
    if (!p || p->t1 <= p->t0) return NULL;
    /* the last entry is for all threads */
    double(*busy)[CR_STAGES] = cr_arena_zalloc(a, sizeof(*busy) * (size_t)(p->n_rows + 1));
    double *all = busy[p->n_rows], window = p->t1 - p->t0;
    cr_span s;
    int n_threads = 0;
    for (int r = 0; r < p->n_rows; r++) {
        if (r == p->steps_row) continue;
        n_threads++;
        for (int64_t i = 0; next_span(p, r, &i, &s);)
            busy[r][s.stage] += s.t1 - s.t0;
        for (int k = 0; k < CR_STAGES; k++)
            all[k] += busy[r][k];
    }
    cr_buf b;
    char per_step[32];
    cr_buf_init(&b);
    double step = window / (double)(p->last - p->first + 1);
    snprintf(per_step, sizeof per_step, step < 0.1 ? "%.2f ms" : "%.0f ms", step * 1e3);
    cr_buf_printf(&b, "profile of steps %lld to %lld, %s each: shares of each thread's time\n",
                  (long long)p->first, (long long)p->last, per_step);
    cr_buf_printf(&b, "  %-12s", "thread");
    for (int k = 0; k < CR_STAGES; k++)
        if (all[k] > 0) cr_buf_printf(&b, " %8s", cr_stage_name((cr_stage)k));
    cr_buf_printf(&b, " %8s\n", "other");
    for (int r = 0; r <= p->n_rows; r++) {
        if (r == p->steps_row) continue;
        double total = r == p->n_rows ? window * n_threads : window, other = total;
        cr_buf_printf(&b, "  %-12s",
                      r == p->n_rows ? "all threads" : cr_trace_row_name(p->trace, r));
        for (int k = 0; k < CR_STAGES; k++) {
            other -= busy[r][k];
            if (all[k] > 0) cr_buf_printf(&b, " %7.1f%%", 100 * busy[r][k] / total);
        }
        cr_buf_printf(&b, " %7.1f%%\n", other > 0 ? 100 * other / total : 0);
    }
    if (cr_trace_dropped(p->trace) > 0)
        cr_buf_printf(&b, "  %lld spans did not fit and are missing\n",
                      (long long)cr_trace_dropped(p->trace));
    if (p->written) cr_buf_printf(&b, "  trace        %s (open it in ui.perfetto.dev)\n", p->path);
    const char *text = cr_arena_strdup(a, b.data);
    cr_buf_clear(&b);
    return text;
}
