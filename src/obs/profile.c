/*
 * profile.c - see profile.h. Times in the file are microseconds from the first recorded step. A
 * thread records a wait only when the wait is over, so this file adds the waits that still go on at
 * the end of the recording.
 *
 * Clocks of machines differ. All ranks look at theirs when they leave a meeting, which they do at
 * nearly the same moment; the median of a few meetings is how far a clock is ahead. So the lanes of
 * two machines fit together as well as a small message between them is fast.
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
#define MEETINGS  9     /* in which clocks are compared */

struct cr_profile {
    cr_trace *trace;
    cr_pool *pool;
    char *path;
    int steps_row, n_rows;
    int64_t seen;        /* steps of this run that ended */
    int64_t first, last; /* numbers of the recorded steps */
    double begun;        /* when the current step began; 0: it is not recorded */
    double t0, t1;       /* begin and end of the recording */
    bool written, done, full;
    cr_profile_ranks ranks; /* n is 0 or 1: this process is alone */
    char name[128];
    bool silent; /* another rank writes */
};

/* What one process did, as its bytes travel: a head, then names of threads, then spans. */
typedef struct lane_head {
    double t0, t1; /* begin and end of the recording, on its own clock */
    int64_t n_rows, n_spans;
    char name[128];
} lane_head;
typedef struct lane_span {
    double t0, t1;
    int64_t number;
    int32_t stage, row;
} lane_span;
typedef char row_name[32];

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

void cr_profile_join(cr_profile *p, const cr_profile_ranks *ranks) {
    if (!p) return;
    p->ranks = *ranks;
    snprintf(p->name, sizeof p->name, "%s", ranks->name);
    p->silent = ranks->self > 0;
}

void cr_profile_leave(cr_profile *p) {
    if (p) p->ranks.n = 0;
}

bool cr_profile_full(const cr_profile *p) {
    return p && p->full && !p->done;
}

cr_trace *cr_profile_trace(const cr_profile *p) {
    return p ? p->trace : NULL;
}

void cr_profile_begin(cr_profile *p) {
    if (!p || p->done || p->full) return;
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

static void put_name(cr_jw *w, const char *kind, int pid, int tid, const char *name) {
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "name", kind);
    cr_jw_str(w, "ph", "M");
    cr_jw_i64(w, "pid", pid);
    cr_jw_i64(w, "tid", tid);
    cr_jw_obj(w, "args");
    cr_jw_str(w, "name", name);
    cr_jw_end(w);
    cr_jw_end(w);
}

static double micros(const cr_profile *p, double t) {
    double ns = (t - p->t0) * 1e9;
    return (double)(int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5) / 1e3;
}

static void put_span(cr_jw *w, const cr_profile *p, int pid, const lane_span *s, double ahead) {
    char name[48];
    double t0 = micros(p, s->t0 - ahead), t1 = micros(p, s->t1 - ahead);
    bool step = s->stage == CR_STAGE_STEP;
    snprintf(name, sizeof name, "ProfilerStep#%lld", (long long)s->number);
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "name", step ? name : cr_stage_name((cr_stage)s->stage));
    cr_jw_str(w, "cat", step ? "user_annotation" : "stage");
    cr_jw_str(w, "ph", "X");
    cr_jw_f64(w, "ts", t0);
    cr_jw_f64(w, "dur", nearbyint((t1 - t0) * 1e3) / 1e3);
    cr_jw_i64(w, "pid", pid);
    cr_jw_i64(w, "tid", s->row + 1);
    cr_jw_end(w);
}

/* ---- one file of all ranks ---- */

/* Packs what this process did. */
static void pack_lane(const cr_profile *p, cr_buf *out) {
    lane_head head = {.t0 = p->t0, .t1 = p->t1, .n_rows = p->n_rows};
    cr_span s;
    snprintf(head.name, sizeof head.name, "%s", p->ranks.n > 1 ? p->name : "crank");
    cr_buf_add(out, &head, sizeof head);
    for (int r = 0; r < p->n_rows; r++) {
        row_name name = {0};
        snprintf(name, sizeof name, "%s", cr_trace_row_name(p->trace, r));
        cr_buf_add(out, name, sizeof name);
    }
    for (int r = 0; r < p->n_rows; r++)
        for (int64_t i = 0; next_span(p, r, &i, &s); head.n_spans++)
            cr_buf_add(out, &(lane_span){s.t0, s.t1, s.number, (int32_t)s.stage, r},
                       sizeof(lane_span));
    memcpy(out->data, &head, sizeof head);
}

/* Writes the names of a lane's threads, or its spans. */
static void put_lane(cr_jw *w, cr_buf *b, const cr_profile *p, int pid, const char *lane,
                     double ahead, bool names) {
    lane_head head;
    memcpy(&head, lane, sizeof head);
    const row_name *rows = (const row_name *)(const void *)(lane + sizeof head);
    const lane_span *spans = (const lane_span *)(const void *)(rows + head.n_rows);
    if (names) put_name(w, "process_name", pid, 0, head.name);
    for (int64_t r = 0; names && r < head.n_rows; r++)
        put_name(w, "thread_name", pid, (int)r + 1, rows[r]);
    for (int64_t i = 0; !names && i < head.n_spans; i++) {
        cr_buf_char(b, '\n');
        put_span(w, p, pid, &spans[i], ahead);
    }
}

/* Writes the file: at[r] is where the lane of rank r begins. */
static void write_file(cr_profile *p, const char *lanes, const size_t *at, int n,
                       const double *ahead) {
    cr_buf b;
    cr_jw w;
    cr_buf_init(&b);
    cr_jw_init(&w, &b);
    cr_jw_obj(&w, NULL);
    cr_jw_i64(&w, "schemaVersion", 1);
    cr_jw_str(&w, "displayTimeUnit", "ms");
    cr_jw_arr(&w, "traceEvents");
    for (int names = 1; names >= 0; names--)
        for (int r = 0; r < n; r++)
            put_lane(&w, &b, p, r, lanes + at[r], ahead[r], names);
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

/* Finds how far the clock of each rank is ahead of that of the first one (collective). */
static void compare_clocks(const cr_profile *p, double *ahead) {
    const cr_profile_ranks *k = &p->ranks;
    size_t *at = cr_alloc(((size_t)k->n + 1) * sizeof *at, "clocks");
    double *now = cr_alloc((size_t)k->n * sizeof *now, "clocks");
    double *seen = cr_alloc((size_t)k->n * MEETINGS * sizeof *seen, "clocks");
    for (int r = 0; r <= k->n; r++)
        at[r] = (size_t)r * sizeof *now;
    for (int m = 0; m < MEETINGS; m++) {
        k->gather(k->ctx, now, at); /* all leave it together */
        now[k->self] = cr_now();
        k->gather(k->ctx, now, at);
        for (int r = 0; r < k->n; r++) { /* sorted, for the median */
            double *v = seen + r * MEETINGS, d = now[r] - now[0];
            int i = m;
            for (; i > 0 && v[i - 1] > d; i--)
                v[i] = v[i - 1];
            v[i] = d;
        }
    }
    for (int r = 0; r < k->n; r++)
        ahead[r] = seen[r * MEETINGS + MEETINGS / 2];
    cr_free(seen);
    cr_free(now);
    cr_free(at);
}

/* Brings the lanes of all ranks to the first one, which writes the file (collective). */
static void write_ranks(cr_profile *p, const cr_buf *own) {
    const cr_profile_ranks *k = &p->ranks;
    size_t n = (size_t)k->n + 1;
    size_t *at = cr_alloc(n * sizeof *at, "a profile"), *to = cr_alloc(n * sizeof *to, "a profile");
    int64_t *sizes = cr_alloc(n * sizeof *sizes, "a profile");
    double *ahead = cr_alloc(n * sizeof *ahead, "a profile");
    compare_clocks(p, ahead);
    for (size_t r = 0; r < n; r++)
        at[r] = r * sizeof *sizes;
    sizes[k->self] = (int64_t)own->n;
    k->gather(k->ctx, sizes, at);
    at[0] = 0;
    for (int r = 0; r < k->n; r++) {
        at[r + 1] = at[r] + (k->self == 0 ? (size_t)sizes[r] : 0);
        to[r + 1] = own->n; /* everything goes to the first rank */
    }
    char *all = cr_alloc(at[k->n] + 1, "profiles of all ranks");
    k->exchange(k->ctx, own->data, to, all, at);
    if (k->self == 0) write_file(p, all, at, k->n, ahead);
    cr_free(all);
    cr_free(ahead);
    cr_free(sizes);
    cr_free(to);
    cr_free(at);
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
    cr_buf own;
    cr_buf_init(&own);
    pack_lane(p, &own);
    if (p->ranks.n > 1)
        write_ranks(p, &own);
    else if (!p->silent)
        write_file(p, own.data, (const size_t[]){0}, 1, (const double[]){0});
    cr_buf_clear(&own);
}

void cr_profile_end(cr_profile *p, int64_t step) {
    if (!p || p->done || p->full) return;
    if (++p->seen > WAIT + WARM_UP) {
        if (p->seen == WAIT + WARM_UP + 1) p->first = step;
        cr_trace_step(p->trace, p->steps_row, step, p->begun);
        p->last = step;
        p->t1 = cr_now();
    }
    if (p->seen < WAIT + WARM_UP + ACTIVE) return;
    cr_trace_switch(p->trace, false);
    p->full = true;
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
