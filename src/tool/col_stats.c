/*
 * col_stats.c - one pass over a column of unknown length with bounded memory.
 *
 * Mean and deviation are computed by Welford's method. Quantiles are those of every stride-th
 * number. When the room is full, every second number is dropped and the stride doubles, so the kept
 * numbers are an even sample of the stream and not a random one: the same rows always give the same
 * table. Distinct values are counted by base/kmv.h.
 */
#include "tool/col_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

void cr_stats_init(col_stats *s, bool numbers, cr_arena *a) {
    *s = (col_stats){.stride = 1};
    if (numbers) s->kept = CR_NEW_N(a, float, CR_STATS_KEPT);
    cr_kmv_init(&s->hashes, CR_STATS_HASHES, a);
}

static void thin(col_stats *s) {
    for (int64_t i = 0; 2 * i < s->n_kept; i++)
        s->kept[i] = s->kept[2 * i];
    s->n_kept = (s->n_kept + 1) / 2;
    s->stride *= 2;
}

void cr_stats_number(col_stats *s, float x) {
    uint32_t bits;
    float plain = x == 0 ? 0 : x; /* -0 counts as 0 */
    memcpy(&bits, &plain, sizeof(bits));
    cr_kmv_add(&s->hashes, cr_mix64(bits + CR_RNG_STEP));
    if (s->n % s->stride == 0) {
        if (s->n_kept == CR_STATS_KEPT) thin(s);
        if (s->n % s->stride == 0) s->kept[s->n_kept++] = x;
    }
    double v = (double)x, d = v - s->mean;
    s->min = s->n == 0 || v < s->min ? v : s->min;
    s->max = s->n == 0 || v > s->max ? v : s->max;
    s->n++;
    s->mean += d / (double)s->n;
    s->m2 += d * (v - s->mean);
}

void cr_stats_id(col_stats *s, int64_t id) {
    cr_kmv_add(&s->hashes, cr_mix64((uint64_t)id + CR_RNG_STEP));
    s->n++;
}

void cr_joint_add(col_joint *j, uint64_t value, double number, float label) {
    double y = (double)label, dx = number - j->mean, dy = y - j->label_mean;
    j->n++;
    j->mean += dx / (double)j->n;
    j->label_mean += dy / (double)j->n;
    j->m2 += dx * (number - j->mean);
    j->label_m2 += dy * (y - j->label_mean);
    j->co += dx * (y - j->label_mean);
    if (j->mixed) return;
    int i = 0;
    while (i < j->n_pairs && j->pairs[i].value != value)
        i++;
    if (i < j->n_pairs)
        j->mixed = j->pairs[i].label != label;
    else if (i < CR_STATS_PAIRS)
        j->pairs[j->n_pairs++] = (struct col_pair){value, label};
    else
        j->mixed = true;
}

double cr_joint_correlation(const col_joint *j) {
    double spread = sqrt(j->m2) * sqrt(j->label_m2);
    return spread > 0 ? j->co / spread : 0;
}

double cr_stats_sd(const col_stats *s) {
    return s->n > 1 ? sqrt(s->m2 / (double)s->n) : 0;
}

double cr_stats_scale(const col_stats *s) {
    return s->n > 0 ? sqrt(s->mean * s->mean + s->m2 / (double)s->n) : 0;
}

double cr_stats_distinct(const col_stats *s, bool *exact) {
    return cr_kmv_count(&s->hashes, exact);
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Returns the kept numbers in order; the caller frees them. */
static float *sorted(const col_stats *s) {
    size_t size = sizeof(float) * (size_t)s->n_kept;
    float *v = cr_alloc(size, "a sample of numbers");
    memcpy(v, s->kept, size);
    qsort(v, (size_t)s->n_kept, sizeof(*v), by_value);
    return v;
}

void cr_stats_quantiles(const col_stats *s, const double *q, int n, double *out) {
    for (int i = 0; i < n; i++)
        out[i] = NAN;
    if (s->n_kept == 0) return;
    float *v = sorted(s);
    for (int i = 0; i < n; i++)
        out[i] = (double)v[(int64_t)(q[i] * (double)(s->n_kept - 1) + 0.5)];
    cr_free(v);
}

int cr_stats_cuts(const col_stats *s, int n, double *out) {
    int n_out = 0;
    if (s->n_kept == 0) return 0;
    float *v = sorted(s);
    int64_t from = 0;
    while (from < s->n_kept && v[from] == v[0])
        from++;
    /* many values are the minimum: they get a part of their own */
    bool lump = from * n > s->n_kept;
    int parts = lump ? n - 1 : n;
    if (!lump) from = 0;
    for (int i = !lump; i < parts && from < s->n_kept; i++) {
        double x = (double)v[from + (s->n_kept - from) * i / parts];
        if (n_out == 0 || x > out[n_out - 1]) out[n_out++] = x;
    }
    cr_free(v);
    return n_out;
}
