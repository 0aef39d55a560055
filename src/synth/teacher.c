/*
 * teacher.c - the hidden truth behind synthetic labels.
 *
 * logit = bias + sum of main effects + sum over pairs <v_a[id_a], v_b[id_b]>
 *
 * An effect is a normal number hashed from (seed, column, rank) that falls with the rank of the id.
 * Rare ids matter little, so a model can learn nearly everything from some hundred thousand rows.
 * Effects and vectors are centred and scaled under the true distribution of the ids, so variance,
 * share of ones and best AUC hold for any seed and scale.
 *
 * A draw is one table lookup: the inverse distribution function in 1024 linear pieces. Zipf with a
 * = 1.05 is nearly uniform in the logarithm of the rank, so a piece of the tail spans less than two
 * percent of it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "synth/synth_int.h"

#define ZIPF 1.05

/* Returns the share of draws below rank x, for n ranks. */
static double zipf_cdf(double x, double n) {
    return (1 - pow(x + 1, 1 - ZIPF)) / (1 - pow(n + 1, 1 - ZIPF));
}

double cr_synth_zipf_inv(double u, double n) {
    return pow(1 - u * (1 - pow(n + 1, 1 - ZIPF)), 1 / (1 - ZIPF)) - 1;
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

uint64_t cr_synth_mult(int64_t card) {
    int64_t m = 2654435761 % card;
    while (gcd(m, card) != 1)
        m++;
    return (uint64_t)m;
}

static int n_bounds(const synth_col *c) {
    int n = 0;
    while (c->bounds[n] != 0)
        n++;
    return n;
}

static double unit_of(const synth_col *c) {
    return c->type == SYNTH_REAL ? 1000 : c->decimals == 2 ? 100 : 1;
}

/* ---- how values are drawn ---- */

static void make_draw(synth_teacher *t, synth_draw *d) {
    const synth_col *c = d->col;
    d->quant = CR_NEW_N(&t->arena, double, SYNTH_QUANT + 1);
    if (c->type == SYNTH_WORD || c->type == SYNTH_ID || c->type == SYNTH_BAG) {
        d->card = c->card;
        if (c->type != SYNTH_WORD) {
            double scaled = floor((double)c->card * t->scale + 0.5);
            d->card = scaled < 3 ? 3 : (int64_t)scaled;
        }
        d->k_max = d->card - 1;
        for (int i = 0; i <= SYNTH_QUANT; i++)
            d->quant[i] = cr_synth_zipf_inv((double)i / SYNTH_QUANT, (double)d->card);
        d->mult = cr_synth_mult(d->card);
        return;
    }
    double unit = unit_of(c);
    for (int i = 0; i <= SYNTH_QUANT; i++) {
        double u = (double)i / SYNTH_QUANT;
        if (c->type == SYNTH_NUM)
            d->quant[i] = unit * (c->lo + (c->hi - c->lo) * pow(u, c->skew));
        else
            d->quant[i] = unit * (i == 0 ? -4 : i == SYNTH_QUANT ? 4 : cr_normal_inv(u));
    }
    d->k_min = (int64_t)d->quant[0];
    d->k_max = (int64_t)d->quant[SYNTH_QUANT];
}

int64_t cr_synth_pick(const double *quant, int64_t k_max, uint64_t bits) {
    uint64_t piece = bits >> 54;
    double part = (double)(bits << 10 >> 10) * 0x1p-54;
    double a = quant[piece], b = quant[piece + 1], x = a + (b - a) * part;
    int64_t k = (int64_t)x;
    if ((double)k > x) k--; /* floor of a negative one */
    return k > k_max ? k_max : k;
}

static int64_t draw(const synth_draw *d, uint64_t bits) {
    return cr_synth_pick(d->quant, d->k_max, bits);
}

/* ---- the teacher's effects ---- */

/* Returns the share of draws with rank (or bucket) r. */
static double share_of(const synth_draw *d, int64_t r) {
    const synth_col *c = d->col;
    if (c->type != SYNTH_NUM)
        return zipf_cdf((double)r + 1, (double)d->card) - zipf_cdf((double)r, (double)d->card);
    int n = n_bounds(c);
    double lo = r == 0 ? c->lo : c->bounds[r - 1], hi = r == n ? c->hi : c->bounds[r];
    double range = c->hi - c->lo;
    lo = fmin(fmax((lo - c->lo) / range, 0), 1);
    hi = fmin(fmax((hi - c->lo) / range, 0), 1);
    return pow(hi, 1 / c->skew) - pow(lo, 1 / c->skew);
}

static uint64_t column_key(const synth_teacher *t, const synth_draw *d, const char *purpose) {
    return cr_rng_key(t->seed, purpose, d->col->name);
}

static double fading(const synth_draw *d, int64_t r) {
    return d->col->type == SYNTH_NUM ? 1 : 1 / (1 + (double)r / 6);
}

/* Fills n values (every stride-th of out) with hashed normals, centred and with variance 1 under
 * the shares; returns the centred value of all ranks behind n. */
static double standard_effects(const synth_draw *d, uint64_t key, int64_t n, int stride, int at,
                               float *out) {
    double mean = 0, square = 0, mass = 0;
    double *v = cr_alloc(sizeof(double) * (size_t)n, "effects");
    for (int64_t r = 0; r < n; r++) {
        double p = share_of(d, r);
        v[r] = cr_rng_normal(key, (uint64_t)r) * fading(d, r);
        mean += p * v[r];
        square += p * v[r] * v[r];
        mass += p;
    }
    double var = square - mean * mean;
    if (!(var > 1e-4)) { /* all are alike by chance: the most frequent one is made to stand out */
        double p = share_of(d, 0);
        for (int64_t r = 0; r < n; r++)
            v[r] = r == 0;
        mean = p;
        var = p - p * p;
    }
    double k = 1 / sqrt(var);
    for (int64_t r = 0; r < n; r++)
        out[r * stride + at] = (float)((v[r] - mean) * k);
    cr_free(v);
    return mass < 1 - 1e-9 ? -mean * k : 0;
}

/* The mean of 1 to 5 equal effects, each number as likely, has a variance of 1/5 (1 + 1/2 + ... +
 * 1/5) of one effect's. */
#define BAG_VARIANCE (137.0 / 300.0)

/* Makes the effects of one label: a value per rank or bucket and one for the rest, or a slope. */
static void fill_effect(synth_teacher *t, const synth_draw *d, const char *purpose, double variance,
                        float **effect, float *rest, float *slope) {
    double size = sqrt(variance);
    uint64_t key = column_key(t, d, purpose);
    if (d->col->type == SYNTH_REAL) {
        double sign = cr_rng_normal(key, 0) < 0 ? -1 : 1;
        *slope = (float)(sign * size / 1000);
        return;
    }
    if (d->col->type == SYNTH_BAG) size /= sqrt(BAG_VARIANCE);
    *effect = CR_NEW_N(&t->arena, float, d->n_effect);
    *rest = (float)(standard_effects(d, key, d->n_effect, 1, 0, *effect) * size);
    for (int64_t r = 0; r < d->n_effect; r++)
        (*effect)[r] = (float)((double)(*effect)[r] * size);
}

static void make_effect(synth_teacher *t, synth_draw *d, double variance, double after) {
    const synth_col *c = d->col;
    if (c->type == SYNTH_NUM) {
        double unit = unit_of(c);
        d->n_effect = n_bounds(c) + 1;
        d->bucket = CR_NEW_N(&t->arena, uint8_t, d->k_max - d->k_min + 1);
        for (int64_t k = d->k_min; k <= d->k_max; k++) {
            int b = 0;
            while (c->bounds[b] != 0 && (double)k >= c->bounds[b] * unit)
                b++;
            d->bucket[k - d->k_min] = (uint8_t)b;
        }
    } else if (c->type != SYNTH_REAL)
        d->n_effect = d->card < SYNTH_RANKS ? d->card : SYNTH_RANKS;
    fill_effect(t, d, "synth effect", variance, &d->effect, &d->rest, &d->slope);
    if (t->kind->after)
        fill_effect(t, d, "synth effect after", after, &d->after, &d->after_rest, &d->after_slope);
}

static void make_vectors(synth_teacher *t, synth_draw *d) {
    if (d->vec) return; /* a column may be in two pairs */
    d->n_vec = d->card < SYNTH_VECS ? d->card : SYNTH_VECS;
    d->vec = CR_NEW_N(&t->arena, float, d->n_vec *SYNTH_DIM);
    for (int i = 0; i < SYNTH_DIM; i++) {
        char purpose[32];
        snprintf(purpose, sizeof purpose, "synth vector %d", i);
        (void)standard_effects(d, column_key(t, d, purpose), d->n_vec, SYNTH_DIM, i, d->vec);
    }
}

/* Computes the covariance of the vectors of a column under its shares; ids behind the table have
 * the vector 0. */
static void vector_moments(const synth_draw *d, double m[SYNTH_DIM][SYNTH_DIM]) {
    for (int i = 0; i < SYNTH_DIM; i++)
        for (int j = 0; j < SYNTH_DIM; j++) {
            m[i][j] = 0;
            for (int64_t r = 0; r < d->n_vec; r++)
                m[i][j] += share_of(d, r) * (double)d->vec[r * SYNTH_DIM + i] *
                           (double)d->vec[r * SYNTH_DIM + j];
        }
}

static int find_col(const synth_teacher *t, const char *name) {
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->v[i].col->name, name) == 0) return i;
    CR_BUG("a pair names an unknown column");
}

/* Finds one factor for all pairs that makes their sum as strong as wanted (pairs are
 * uncorrelated). */
static void make_pairs(synth_teacher *t, double variance) {
    const synth_kind *kind = t->kind;
    while (kind->pairs[t->n_pairs][0])
        t->n_pairs++;
    t->pairs = (int(*)[2])cr_arena_zalloc(&t->arena, sizeof(int[2]) * (size_t)(t->n_pairs + 1));
    double raw = 0;
    for (int i = 0; i < t->n_pairs; i++) {
        double m[2][SYNTH_DIM][SYNTH_DIM];
        for (int s = 0; s < 2; s++) {
            t->pairs[i][s] = find_col(t, kind->pairs[i][s]);
            make_vectors(t, &t->v[t->pairs[i][s]]);
            vector_moments(&t->v[t->pairs[i][s]], m[s]);
        }
        for (int a = 0; a < SYNTH_DIM; a++)
            for (int b = 0; b < SYNTH_DIM; b++)
                raw += m[0][a][b] * m[1][a][b];
    }
    t->pair_scale = (float)(raw > 0 ? sqrt(variance / raw) : 0);
}

/* Finds the bias that gives the wanted share of ones when the logit is normal around it. */
double cr_synth_find_bias(double rate, double sigma) {
    double lo = -20, hi = 20, z[999];
    for (int k = 0; k < 999; k++)
        z[k] = sigma * cr_normal_inv((k + 1) / 1000.0);
    for (int i = 0; i < 60; i++) {
        double b = (lo + hi) / 2, mean = 0;
        for (int k = 0; k < 999; k++)
            mean += 1 / (1 + exp(-(b + z[k]))) / 999;
        if (mean < rate)
            lo = b;
        else
            hi = b;
    }
    return lo;
}

void cr_synth_teacher_init(synth_teacher *t, const synth_kind *kind, uint64_t seed, double scale) {
    memset(t, 0, sizeof *t);
    cr_arena_init(&t->arena, (size_t)1 << 20);
    t->kind = kind;
    t->seed = seed;
    t->scale = scale;
    t->n = kind->n_cols;
    t->v = CR_NEW_N(&t->arena, synth_draw, t->n);
    double shares = 0, var = kind->sigma * kind->sigma,
           after = kind->after_sigma * kind->after_sigma;
    for (int i = 0; i < t->n; i++)
        shares += kind->cols[i].share;
    for (int i = 0; i < t->n; i++) {
        t->v[i].col = &kind->cols[i];
        make_draw(t, &t->v[i]);
        make_effect(t, &t->v[i], var * (1 - kind->pair_share) * kind->cols[i].share / shares,
                    after * kind->cols[i].share / shares);
    }
    make_pairs(t, var * kind->pair_share);
    t->bias = (float)cr_synth_find_bias(kind->rate, kind->sigma);
    if (kind->after) t->after_bias = (float)cr_synth_find_bias(kind->after_rate, kind->after_sigma);
    t->key[0] = cr_rng_key(seed, "synth rows", "train");
    t->key[1] = cr_rng_key(seed, "synth rows", "eval");
}

void cr_synth_teacher_clear(synth_teacher *t) {
    cr_arena_clear(&t->arena);
    memset(t, 0, sizeof *t);
}

static float effect_of(const synth_draw *d, int64_t k) {
    switch (d->col->type) {
    case SYNTH_REAL: return d->slope * (float)k;
    case SYNTH_NUM: return d->effect[d->bucket[k - d->k_min]];
    default: return k < d->n_effect ? d->effect[k] : d->rest;
    }
}

static float after_effect(const synth_draw *d, int64_t k) {
    switch (d->col->type) {
    case SYNTH_REAL: return d->after_slope * (float)k;
    case SYNTH_NUM: return d->after[d->bucket[k - d->k_min]];
    default: return k < d->n_effect ? d->after[k] : d->after_rest;
    }
}

/* Draws the label that can follow the first. */
static void draw_after(const synth_teacher *t, uint64_t key, synth_row *row) {
    float logit = t->after_bias;
    for (int c = 0; c < t->n; c++) {
        const synth_draw *d = &t->v[c];
        if (d->col->type != SYNTH_BAG) {
            logit += after_effect(d, row->k[c]);
            continue;
        }
        float sum = 0;
        for (int b = 0; b < row->n_bag; b++)
            sum += after_effect(d, row->bag[b]);
        logit += sum / (float)row->n_bag;
    }
    row->after_logit = logit;
    row->after = row->label && cr_rng_f64(key, 998) < 1 / (1 + exp(-(double)logit));
}

void cr_synth_row_draw(const synth_teacher *t, int part, int64_t i, synth_row *row) {
    uint64_t key = cr_rng_sub(t->key[part], (uint64_t)i);
    float logit = t->bias;
    row->n_bag = 0;
    for (int c = 0; c < t->n; c++) {
        const synth_draw *d = &t->v[c];
        uint64_t bits = cr_rng_u64(key, (uint64_t)c);
        if (d->col->type == SYNTH_BAG) {
            float sum = 0;
            row->n_bag = 1 + (int)(bits % SYNTH_BAG_MAX);
            for (int b = 0; b < row->n_bag; b++) {
                row->bag[b] = draw(d, cr_rng_u64(key, 1000 + (uint64_t)b));
                sum += effect_of(d, row->bag[b]);
            }
            row->k[c] = row->bag[0];
            logit += sum / (float)row->n_bag;
            continue;
        }
        row->k[c] = draw(d, bits);
        logit += effect_of(d, row->k[c]);
    }
    for (int p = 0; p < t->n_pairs; p++) {
        const synth_draw *a = &t->v[t->pairs[p][0]], *b = &t->v[t->pairs[p][1]];
        int64_t ka = row->k[t->pairs[p][0]], kb = row->k[t->pairs[p][1]];
        if (ka >= a->n_vec || kb >= b->n_vec) continue;
        const float *x = a->vec + ka * SYNTH_DIM, *y = b->vec + kb * SYNTH_DIM;
        float dot = 0;
        for (int j = 0; j < SYNTH_DIM; j++)
            dot += x[j] * y[j];
        logit += t->pair_scale * dot;
    }
    row->logit = logit;
    row->p = 1 / (1 + exp(-(double)logit));
    row->label = cr_rng_f64(key, 999) < row->p;
    row->after_logit = 0;
    row->after = 0;
    if (t->kind->after) draw_after(t, key, row);
}
