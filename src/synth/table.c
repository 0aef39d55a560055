/*
 * table.c - draws rows of a described table, and has the teacher of its labels.
 *
 * z = bias + sum over columns of share * (mean effect of the column's values), per label
 *
 * The effect of a token is a normal number hashed from (seed, column, label, rank) that fades with
 * the rank; the effect of a real number is linear. Labels share most of their effects. A sample of
 * rows shows how strong each column is, and the column is scaled to its share, so that columns of
 * any shape (lists, sequences, maps of which a few values are found) count alike. In a map only the
 * values under the keys of the same row count, since a lookup sees no others.
 *
 * Everything is a function of (seed, part, row, column): no order of threads or files matters.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "synth/synth_int.h"

#define SAMPLE    1024 /* rows of the sample that shows how much a column varies */
#define EFFECTS   512  /* ranks with an individual effect */
#define SIGMA     1.8
#define RATE      0.3 /* share of ones of a label */
#define MAX_PAIRS 24  /* in one map */
#define EMPTY     50  /* one sequence in so many has no steps */
#define UNKNOWN   32  /* one word in so many is in no vocabulary */

/* ---- draws ---- */

static void draw_init(tab_draw *d, const cr_tab_value *v, cr_arena *arena) {
    d->value = v;
    d->quant = CR_NEW_N(arena, double, SYNTH_QUANT + 1);
    if (v->leaf == CR_TAB_REAL) {
        int n = v->n_knots - 1;
        double lo = v->knots[0], hi = v->knots[n], mean = 0, square = 0;
        for (int i = 0; i <= SYNTH_QUANT; i++) {
            double at = (double)i / SYNTH_QUANT * n;
            int k = (int)at < n ? (int)at : n - 1;
            d->quant[i] = v->knots[k] + (v->knots[k + 1] - v->knots[k]) * (at - k);
            mean += d->quant[i] / (SYNTH_QUANT + 1);
            square += d->quant[i] * d->quant[i] / (SYNTH_QUANT + 1);
        }
        double var = square - mean * mean;
        d->mean = mean;
        d->slope = var > 0 ? 1 / sqrt(var) : 0;
        /* gives about four digits over the middle of the range */
        double width = v->knots[n - n / 4] - v->knots[n / 4];
        if (!(width > 0)) width = hi - lo;
        d->unit = width > 0 ? pow(10, 4 - floor(log10(width))) : 1;
        if (d->unit < 1) d->unit = 1;
        return;
    }
    for (int i = 0; i <= SYNTH_QUANT; i++)
        d->quant[i] = cr_synth_zipf_inv((double)i / SYNTH_QUANT, (double)v->card);
    d->mult = cr_synth_mult(v->card);
}

static tab_num draw(const tab_draw *d, uint64_t bits) {
    const cr_tab_value *v = d->value;
    tab_num out;
    if (v->leaf == CR_TAB_REAL) {
        double at = (double)(bits >> 11) * 0x1p-53 * SYNTH_QUANT;
        int i = (int)at;
        double x = d->quant[i] + (d->quant[i + 1] - d->quant[i]) * (at - i);
        out.x = rint(x * d->unit) / d->unit + 0.0; /* no -0 */
        return out;
    }
    if (v->leaf == CR_TAB_WORD && !v->closed && cr_mix64(bits) % UNKNOWN == 0)
        out.k = v->card + (int64_t)(bits % 3);
    else
        out.k = cr_synth_pick(d->quant, v->card - 1, bits);
    return out;
}

int64_t cr_tab_int(const tab_draw *d, int64_t k) {
    uint64_t card = (uint64_t)d->value->card;
    return d->value->lo + (int64_t)((cr_u128)(uint64_t)k * d->mult % card);
}

/* ---- cells of one row ---- */

static uint64_t col_key(uint64_t row, int col) {
    return cr_rng_sub(row, (uint64_t)col + 1);
}

static int n_steps(const synth_tab *t, uint64_t row, int col) {
    const cr_tab_col *c = &t->table->cols[col];
    if (c->steps_of >= 0) {
        col = c->steps_of;
        c = &t->table->cols[col];
    }
    uint64_t bits = cr_rng_u64(col_key(row, col), 1u << 30);
    if (bits % EMPTY == 0) return 0;
    return 1 + (int)(cr_mix64(bits) % (uint64_t)c->max_steps);
}

static int n_values(const synth_tab *t, uint64_t row, int col, int step) {
    const cr_tab_col *c = &t->table->cols[col];
    if (c->values_of >= 0) {
        col = c->values_of;
        c = &t->table->cols[col];
    }
    uint64_t more = (uint64_t)(c->max_values - c->min_values + 1);
    uint64_t bits = cr_rng_u64(col_key(row, col), (1u << 29) + (uint64_t)step);
    return c->min_values + (int)(bits % more);
}

static void draw_values(const synth_tab *t, uint64_t row, int col, tab_cells *x) {
    const cr_tab_col *c = &t->table->cols[col];
    uint64_t key = col_key(row, col);
    x->n_steps = c->seq ? n_steps(t, row, col) : 1;
    x->n = 0;
    for (int s = 0; s < x->n_steps; s++) {
        int n = n_values(t, row, col, s);
        for (int i = 0; i < n; i++, x->n++)
            x->v[x->n] = draw(&t->v[col], cr_rng_u64(key, (uint64_t)x->n));
        x->end[s] = x->n;
    }
}

static bool add_pair(tab_cells *x, int src, int64_t key, int src2, int64_t key2, bool hit) {
    for (int i = 0; i < x->n; i++)
        if (x->src[i] == src && x->key[i] == key && x->src2[i] == src2 && x->key2[i] == key2)
            return false;
    if (x->n == MAX_PAIRS) return false;
    x->src[x->n] = src;
    x->key[x->n] = key;
    x->src2[x->n] = src2;
    x->key2[x->n] = key2;
    x->hit[x->n++] = hit;
    return true;
}

/* The keys of one level: nearly always those of the row's own columns, and some more. */
typedef struct keys {
    int src[MAX_PAIRS];
    int64_t k[MAX_PAIRS];
    bool own[MAX_PAIRS];
    int n;
} keys;

static void some_keys(const synth_tab *t, const int *from, int n_from, const tab_cells *cells,
                      uint64_t key, int own, int more, keys *out) {
    uint64_t i = 0;
    out->n = 0;
    for (int f = 0; f < n_from; f++)
        for (int j = 0; j < cells[from[f]].n && j < own; j++) {
            if (out->n == MAX_PAIRS || cr_rng_u64(key, i++) % 8 == 0) continue;
            out->src[out->n] = from[f];
            out->own[out->n] = true;
            out->k[out->n++] = cells[from[f]].v[j].k;
        }
    for (int j = 0; j < more && out->n < MAX_PAIRS; j++) {
        int src = n_from ? from[j % n_from] : -1;
        const tab_draw *d = src >= 0 ? &t->v[src] : t->own_key;
        out->src[out->n] = src;
        out->own[out->n] = n_from == 0; /* without key columns a reader may use any key */
        out->k[out->n++] = draw(d, cr_rng_u64(key, 100 + i++)).k;
    }
}

static void draw_pairs(const synth_tab *t, uint64_t row, int col, const tab_cells *cells,
                       tab_cells *x) {
    const cr_tab_col *c = &t->table->cols[col];
    uint64_t key = col_key(row, col);
    bool nested = c->pairs == CR_TAB_NESTED;
    keys a, b = {.n = 1, .src = {-1}, .own = {true}};
    some_keys(t, c->keys, c->n_keys, cells, cr_rng_sub(key, 1), nested ? 2 : 5, c->n_keys ? 2 : 4,
              &a);
    if (nested)
        some_keys(t, c->skeys, c->n_skeys, cells, cr_rng_sub(key, 2), 2, c->n_skeys ? 1 : 2, &b);
    x->n = 0;
    x->n_steps = 1;
    for (int i = 0; i < a.n; i++)
        for (int j = 0; j < b.n; j++)
            (void)add_pair(x, a.src[i], a.k[i], nested ? b.src[j] : -2, nested ? b.k[j] : 0,
                           a.own[i] && b.own[j]);
    for (int i = 0; i < x->n * c->dims; i++)
        x->v[i] = draw(&t->v[col], cr_rng_u64(key, 1000 + (uint64_t)i));
    x->end[0] = x->n;
}

/* ---- the teacher ---- */

static double effect_of(const synth_tab *t, int col, int label, tab_num v) {
    const tab_draw *d = &t->v[col];
    const float *e = d->effect + (int64_t)label * d->n_effect;
    if (d->value->leaf == CR_TAB_REAL) return (double)e[0] * (v.x - d->mean) * d->slope;
    return v.k < d->n_effect ? (double)e[v.k] : 0;
}

/* Returns the mean effect of a column's values; 0 without values. */
static double column_effect(const synth_tab *t, int col, int label, const tab_cells *x) {
    const cr_tab_col *c = &t->table->cols[col];
    double sum = 0;
    int n = 0;
    for (int i = 0; i < x->n; i++) {
        if (c->pairs && !x->hit[i]) continue;
        sum += effect_of(t, col, label, x->v[i * (c->pairs ? c->dims : 1)]);
        n++;
    }
    return n ? sum / n : 0;
}

static void draw_labels(const synth_tab *t, uint64_t row, tab_row *r) {
    const cr_synth_table *tab = t->table;
    for (int i = 0; i < tab->n_labels; i++) {
        int l = t->labels[i];
        const cr_tab_label *y = &tab->labels[l];
        double z = 0;
        for (int c = 0; c < tab->n_cols; c++)
            if (tab->cols[c].share > 0)
                z += t->factor[c * tab->n_labels + l] *
                     (column_effect(t, c, l, &r->cells[c]) - t->mean[c * tab->n_labels + l]);
        uint64_t key = cr_rng_sub(row, (uint64_t)(1 << 20) + (uint64_t)l);
        if (y->K == 1 || y->K == 2) {
            double p = 1 / (1 + exp(-(z + t->bias)));
            bool can = y->after < 0 || r->y[y->after] == 1;
            r->y[l] = can && cr_rng_f64(key, 0) < p;
            r->p[l] = y->after < 0 ? p : p * r->p[y->after];
        } else {
            double noise = cr_rng_normal(key, 0);
            double u = 0.5 * erfc(-(0.8 * z / SIGMA + 0.6 * noise) * M_SQRT1_2);
            int64_t k = (int64_t)(u * (double)y->K);
            r->p[l] = u;
            double x = z + 0.5 * SIGMA * noise;
            r->y[l] = y->K       ? (double)(k < y->K ? k : y->K - 1)
                      : y->whole ? rint(4 * x) + 0.0
                                 : rint(1000 * x) / 1000 + 0.0;
        }
    }
}

void cr_tab_row_draw(const synth_tab *t, int part, int64_t i, tab_row *r) {
    const cr_synth_table *tab = t->table;
    uint64_t row = cr_rng_sub(t->key[part], (uint64_t)i);
    for (int c = 0; c < tab->n_cols; c++)
        if (!tab->cols[c].pairs) draw_values(t, row, c, &r->cells[c]);
    for (int c = 0; c < tab->n_cols; c++)
        if (tab->cols[c].pairs) draw_pairs(t, row, c, r->cells, &r->cells[c]);
    if (t->factor) draw_labels(t, row, r);
    uint64_t key = cr_rng_sub(row, 1u << 21);
    for (int w = 0; w < tab->n_weights; w++)
        r->w[w] = 5 + (int)(cr_rng_u64(key, (uint64_t)w) % 16);
}

void cr_tab_row_init(tab_row *r, const synth_tab *t, cr_arena *a) {
    const cr_synth_table *tab = t->table;
    r->cells = CR_NEW_N(a, tab_cells, tab->n_cols + 1);
    r->y = CR_NEW_N(a, double, tab->n_labels + 1);
    r->p = CR_NEW_N(a, double, tab->n_labels + 1);
    r->w = CR_NEW_N(a, int, tab->n_weights + 1);
    for (int i = 0; i < tab->n_cols; i++) {
        const cr_tab_col *c = &tab->cols[i];
        tab_cells *x = &r->cells[i];
        const cr_tab_col *steps = c->steps_of >= 0 ? &tab->cols[c->steps_of] : c;
        const cr_tab_col *values = c->values_of >= 0 ? &tab->cols[c->values_of] : c;
        int n_steps = c->seq ? steps->max_steps : 1;
        int n = c->pairs ? MAX_PAIRS * c->dims : n_steps * values->max_values;
        x->v = CR_NEW_N(a, tab_num, n + 1);
        x->end = CR_NEW_N(a, int, n_steps + 1);
        if (!c->pairs) continue;
        x->src = CR_NEW_N(a, int, MAX_PAIRS);
        x->src2 = CR_NEW_N(a, int, MAX_PAIRS);
        x->key = CR_NEW_N(a, int64_t, MAX_PAIRS);
        x->key2 = CR_NEW_N(a, int64_t, MAX_PAIRS);
        x->hit = CR_NEW_N(a, bool, MAX_PAIRS);
    }
}

/* Makes the effects of a column: a row per label; later labels take most of the first one's
 * effects. */
static void make_effects(synth_tab *t, int col, uint64_t seed) {
    tab_draw *d = &t->v[col];
    const cr_tab_col *c = &t->table->cols[col];
    bool real = c->value.leaf == CR_TAB_REAL;
    d->n_effect = real ? 1 : c->value.card < EFFECTS ? c->value.card : EFFECTS;
    d->effect = CR_NEW_N(&t->arena, float, d->n_effect * t->table->n_labels + 1);
    for (int l = 0; l < t->table->n_labels; l++) {
        uint64_t key = cr_rng_sub(cr_rng_key(seed, "synth table effect", c->name), (uint64_t)l);
        for (int64_t k = 0; k < d->n_effect; k++) {
            double e = real ? (cr_rng_u64(key, 0) & 1 ? 1 : -1)
                            : cr_rng_normal(key, (uint64_t)k) / (1 + (double)k / 6);
            if (l > 0) e = 0.8 * (double)d->effect[k] + 0.6 * e;
            d->effect[l * d->n_effect + k] = (float)e;
        }
    }
}

/* Measures on a sample what each column adds, and scales it to its share. */
static void make_factors(synth_tab *t) {
    const cr_synth_table *tab = t->table;
    int n = tab->n_cols * tab->n_labels;
    double *sum = CR_NEW_N(&t->arena, double, n + 1), *square = CR_NEW_N(&t->arena, double, n + 1);
    double *factor = CR_NEW_N(&t->arena, double, n + 1), shares = 0;
    tab_row r;
    cr_tab_row_init(&r, t, &t->arena);
    for (int i = 0; i < SAMPLE; i++) {
        cr_tab_row_draw(t, 2, i, &r);
        for (int c = 0; c < tab->n_cols; c++)
            for (int l = 0; l < tab->n_labels; l++) {
                double e = column_effect(t, c, l, &r.cells[c]);
                sum[c * tab->n_labels + l] += e / SAMPLE;
                square[c * tab->n_labels + l] += e * e / SAMPLE;
            }
    }
    for (int c = 0; c < tab->n_cols; c++)
        shares += tab->cols[c].share;
    for (int i = 0; i < n; i++) {
        double var = square[i] - sum[i] * sum[i], share = tab->cols[i / tab->n_labels].share;
        if (var > 1e-9 && share > 0) factor[i] = SIGMA * sqrt(share / shares / var);
    }
    t->mean = sum;
    t->factor = factor;
    t->bias = cr_synth_find_bias(RATE, SIGMA);
}

/* A label comes after the label it depends on; labels that depend on each other come last. */
static void order_labels(synth_tab *t) {
    const cr_synth_table *tab = t->table;
    bool *done = CR_NEW_N(&t->arena, bool, tab->n_labels + 1);
    t->labels = CR_NEW_N(&t->arena, int, tab->n_labels + 1);
    int n = 0;
    for (int pass = 0; n < tab->n_labels; pass++)
        for (int l = 0; l < tab->n_labels; l++) {
            int after = tab->labels[l].after;
            if (done[l] || (after >= 0 && !done[after] && pass < tab->n_labels)) continue;
            done[l] = true;
            t->labels[n++] = l;
        }
}

void cr_tab_init(synth_tab *t, const cr_synth_table *table, uint64_t seed) {
    memset(t, 0, sizeof *t);
    cr_arena_init(&t->arena, (size_t)1 << 20);
    t->table = table;
    t->v = CR_NEW_N(&t->arena, tab_draw, table->n_cols + 1);
    t->own_key = CR_NEW(&t->arena, tab_draw);
    static const cr_tab_value own = {.leaf = CR_TAB_TOKEN, .card = 30};
    draw_init(t->own_key, &own, &t->arena);
    static const char *const parts[] = {"train", "eval", "sample"};
    for (int i = 0; i < 3; i++)
        t->key[i] = cr_rng_key(seed, "synth table rows", parts[i]);
    for (int i = 0; i < table->n_cols; i++) {
        draw_init(&t->v[i], &table->cols[i].value, &t->arena);
        make_effects(t, i, seed);
    }
    order_labels(t);
    make_factors(t);
}

void cr_tab_clear(synth_tab *t) {
    cr_arena_clear(&t->arena);
    memset(t, 0, sizeof *t);
}
