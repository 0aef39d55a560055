/*
 * trace.c - see trace.h. A row has one writer; its count is published after the span, so a reader
 * sees whole spans while threads go on writing.
 */
#include "base/trace.h"

#include <stdio.h>

#include "base/cpu.h"
#include "base/mem.h"

typedef struct row {
    char name[32];
    cr_span *spans;
    _Atomic int64_t n;
    char pad[16]; /* keeps the rows of two writers off one cache line */
} row;

struct cr_trace {
    int max_rows;
    int64_t max_spans;
    atomic_int n_rows;
    atomic_bool on;
    _Atomic int64_t dropped;
    row *rows;
};

const char *cr_stage_name(cr_stage s) {
    static const char *const names[CR_STAGES] = {
        "",        "step",     "read",   "parse", "features", "batch", "group", "pack",
        "forward", "backward", "update", "log",   "save",     "write", "wait",
    };
    return (unsigned)s < CR_STAGES ? names[s] : "";
}

cr_trace *cr_trace_new(int max_rows, int64_t max_spans) {
    cr_trace *t = cr_alloc(sizeof(*t), "a trace");
    t->max_rows = max_rows;
    t->max_spans = max_spans;
    t->rows = cr_alloc((size_t)max_rows * sizeof(row), "a trace");
    for (int i = 0; i < max_rows; i++)
        t->rows[i].spans = cr_alloc((size_t)max_spans * sizeof(cr_span), "a trace");
    return t;
}

void cr_trace_free(cr_trace *t) {
    if (!t) return;
    for (int i = 0; i < t->max_rows; i++)
        cr_free(t->rows[i].spans);
    cr_free(t->rows);
    cr_free(t);
}

int cr_trace_row(cr_trace *t, const char *name, int n) {
    if (!t) return -1;
    int i = atomic_load(&t->n_rows);
    do {
        if (i >= t->max_rows) return -1;
    } while (!atomic_compare_exchange_weak(&t->n_rows, &i, i + 1));
    if (n > 0)
        snprintf(t->rows[i].name, sizeof(t->rows[i].name), "%s %d", name, n);
    else
        snprintf(t->rows[i].name, sizeof(t->rows[i].name), "%s", name);
    return i;
}

void cr_trace_switch(cr_trace *t, bool on) {
    if (t) atomic_store(&t->on, on);
}

double cr_trace_begin(const cr_trace *t) {
    return t && atomic_load_explicit(&t->on, memory_order_relaxed) ? cr_now() : 0;
}

static double end(cr_trace *t, int r, cr_stage s, int64_t number, double t0) {
    if (!t || t0 == 0) return 0;
    double now = cr_now();
    if (r < 0) return now;
    row *w = &t->rows[r];
    int64_t n = atomic_load_explicit(&w->n, memory_order_relaxed);
    if (n >= t->max_spans) {
        atomic_fetch_add(&t->dropped, 1);
        return now;
    }
    w->spans[n] = (cr_span){t0, now, number, s};
    atomic_store_explicit(&w->n, n + 1, memory_order_release);
    return now;
}

double cr_trace_end(cr_trace *t, int r, cr_stage s, double t0) {
    return end(t, r, s, 0, t0);
}

void cr_trace_step(cr_trace *t, int r, int64_t number, double t0) {
    end(t, r, CR_STAGE_STEP, number, t0);
}

int cr_trace_rows(const cr_trace *t) {
    return atomic_load(&t->n_rows);
}

const char *cr_trace_row_name(const cr_trace *t, int r) {
    return t->rows[r].name;
}

const cr_span *cr_trace_spans(const cr_trace *t, int r, int64_t *n) {
    *n = atomic_load_explicit(&t->rows[r].n, memory_order_acquire);
    return t->rows[r].spans;
}

int64_t cr_trace_dropped(const cr_trace *t) {
    return atomic_load(&t->dropped);
}
