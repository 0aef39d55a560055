/*
 * track.c - see track.h. Values are kept as float32: a chart has a thousand pixels. The last value
 * of each name is kept as it is, because tables show it.
 */
#include "board/track.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

void cr_track_init(cr_track *t, int max) {
    *t = (cr_track){.max = max < 2 ? 2 : max & ~1, .stride = 1};
    cr_map_init(&t->names);
}

void cr_track_clear(cr_track *t) {
    for (int i = 0; i < t->n_c; i++) {
        cr_free(t->c[i].lo);
        cr_free(t->c[i].hi);
        cr_free(t->c[i].mean);
    }
    cr_free(t->c);
    cr_free(t->b);
    cr_map_clear(&t->names);
    *t = (cr_track){.max = t->max, .stride = 1};
}

static float *grown(float *v, int was, int cap) {
    v = cr_realloc(v, sizeof *v * (size_t)was, sizeof *v * (size_t)cap, "values of a chart");
    for (int i = was; i < cap; i++)
        v[i] = NAN;
    return v;
}

static void grow(cr_track *t) {
    int cap = t->cap ? 2 * t->cap : 16;
    if (cap > t->max) cap = t->max;
    t->b = cr_realloc(t->b, sizeof *t->b * (size_t)t->cap, sizeof *t->b * (size_t)cap,
                      "buckets of a chart");
    for (int i = 0; i < t->n_c; i++) {
        cr_track_col *c = &t->c[i];
        c->lo = grown(c->lo, t->cap, cap);
        c->hi = grown(c->hi, t->cap, cap);
        c->mean = grown(c->mean, t->cap, cap);
    }
    t->cap = cap;
}

static float smaller(float a, float b) {
    return isnan(a) || b < a ? b : a;
}
static float larger(float a, float b) {
    return isnan(a) || b > a ? b : a;
}

/* The mean of two buckets with x and y lines; one without a number does not count. */
static float both(float a, float b, int64_t x, int64_t y) {
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    return (float)(((double)a * (double)x + (double)b * (double)y) / (double)(x + y));
}

/* Merges neighbours in pairs. */
static void halve(cr_track *t) {
    int m = 0;
    for (int i = 0; i < t->n; i += 2, m++) {
        int k = i + 1 < t->n ? i + 1 : i;
        int64_t x = t->b[i].n_lines, y = t->b[k].n_lines;
        for (int j = 0; j < t->n_c; j++) {
            cr_track_col *c = &t->c[j];
            c->lo[m] = k == i ? c->lo[i] : smaller(c->lo[i], c->lo[k]);
            c->hi[m] = k == i ? c->hi[i] : larger(c->hi[i], c->hi[k]);
            c->mean[m] = k == i ? c->mean[i] : both(c->mean[i], c->mean[k], x, y);
        }
        t->b[m] = t->b[i];
        t->b[m].end = t->b[k].end;
        t->b[m].n_lines = k == i ? x : x + y;
        for (int a = 0; a < CR_AXES; a++)
            t->b[m].x[a][1] = t->b[k].x[a][1];
    }
    t->n = m;
    t->stride *= 2;
    t->open = false;
}

/* Clears the values of the bucket that begins. */
static void begin(cr_track *t, const double x[CR_AXES], int64_t at) {
    int k = t->n++;
    t->b[k] = (cr_bucket){.at = at};
    for (int a = 0; a < CR_AXES; a++)
        t->b[k].x[a][0] = x[a];
    for (int i = 0; i < t->n_c; i++) {
        cr_track_col *c = &t->c[i];
        c->lo[k] = c->hi[k] = c->mean[k] = NAN;
        c->sum = 0;
        c->n = 0;
    }
    t->open = true;
}

/* Returns the column of a name; NULL when there are too many, or when it is no text: two such names
 * would look alike in an answer. guess: its likely index, because lines have their names in the
 * same order. */
static cr_track_col *column(cr_track *t, const char *name, size_t n, int guess) {
    if (guess < t->n_c && t->names.entries[guess].len == n &&
        memcmp(t->names.entries[guess].key, name, n) == 0)
        return &t->c[guess];
    int64_t i = cr_map_get(&t->names, name, n, -1);
    if (i >= 0) return &t->c[i];
    if (t->n_c == CR_TRACK_NAMES || !cr_utf8_all(name, n)) return NULL;
    if (t->n_c == t->cap_c) {
        int cap = t->cap_c ? 2 * t->cap_c : 16;
        t->c = cr_realloc(t->c, sizeof *t->c * (size_t)t->cap_c, sizeof *t->c * (size_t)cap,
                          "names of charts");
        t->cap_c = cap;
    }
    cr_track_col *c = &t->c[t->n_c];
    *c = (cr_track_col){.last = NAN};
    c->lo = grown(NULL, 0, t->cap);
    c->hi = grown(NULL, 0, t->cap);
    c->mean = grown(NULL, 0, t->cap);
    (void)cr_map_put(&t->names, name, n, t->n_c++);
    return c;
}

void cr_track_add(cr_track *t, const cr_line *l, const double x[CR_AXES], int64_t at, int64_t end) {
    if (!t->open || t->b[t->n - 1].n_lines >= t->stride) {
        if (t->n == t->max) halve(t);
        if (t->n == t->cap) grow(t);
        begin(t, x, at);
    }
    int k = t->n - 1;
    cr_bucket *b = &t->b[k];
    b->n_lines++;
    b->end = end;
    for (int a = 0; a < CR_AXES; a++)
        b->x[a][1] = x[a];
    for (int i = 0; i < l->n; i++) {
        cr_track_col *c = column(t, l->v[i].name, (size_t)l->v[i].n, i);
        double v = l->v[i].value;
        if (!c) continue;
        c->last = v;
        if (!isfinite(v)) continue;
        c->sum += v;
        c->n++;
        c->lo[k] = smaller(c->lo[k], (float)v);
        c->hi[k] = larger(c->hi[k], (float)v);
        c->mean[k] = (float)(c->sum / (double)c->n);
    }
    t->n_lines++;
}

bool cr_track_cut(cr_track *t, double step, cr_bucket *again) {
    int n = t->n;
    bool both_sides = false;
    while (t->n > 0 && t->b[t->n - 1].x[CR_AXIS_STEP][0] > step)
        t->n_lines -= t->b[--t->n].n_lines;
    if (t->n > 0 && t->b[t->n - 1].x[CR_AXIS_STEP][1] > step) {
        *again = t->b[--t->n];
        t->n_lines -= again->n_lines;
        both_sides = true;
    }
    if (t->n < n) t->open = false;
    return both_sides;
}

const cr_track_col *cr_track_find(const cr_track *t, const char *name, size_t n) {
    int64_t i = cr_map_get(&t->names, name, n, -1);
    return i < 0 ? NULL : &t->c[i];
}

size_t cr_track_bytes(const cr_track *t) {
    return (size_t)t->cap * (sizeof *t->b + 3 * sizeof(float) * (size_t)t->n_c) +
           (size_t)t->cap_c * sizeof *t->c + t->names.cap * sizeof *t->names.entries +
           t->names.n_slots * sizeof *t->names.slots;
}
