/*
 * update.c - see update.h. The gradient of one distinct id: most ids occur once in a batch, then it
 * is just the row of the lookup's gradient; else partial sums per lane, merged as the lanes' tree
 * would merge them (lanes without the id are left out, which is adding nothing).
 */
#include "emb/update.h"

#include <string.h>

#include "emb/group.h"
#include "kern/kern.h"

#define PIECE   256  /* distinct ids a thread takes at a time */
#define FETCHED 16   /* gradient rows of an id that are fetched before they are needed */
#define AHEAD   8    /* gradients and records are fetched this many ids before they are needed */
#define SWEEP   1024 /* rows a thread takes at a time of a table that is swept */

typedef struct utable {
    cr_table *t;
    cr_use *uses;
    int n_uses;
    int group;
    float clip;          /* 0: none */
    int64_t first_piece; /* of this table in the list of all pieces */
    /* the entries of each id that have a gradient, [seg[k], seg[k + 1]) of entry; some: those that
     * are counted() have none */
    const uint32_t *entry;
    const int64_t *seg;
    bool some;
} utable;

struct cr_updater {
    const cr_lanes *lanes;
    cr_pool *pool;
    utable *tables;
    int n_tables, cap_tables;
    cr_group *groups;
    int n_groups, cap_groups;
    float **scratch;   /* per thread: partial sums of the lanes, room for cr_table_apply */
    int64_t n_scratch; /* floats of each */
    float *zeros;      /* the gradient of a row that is swept over */
    int64_t n_zeros;
    const cr_batch *batch;
    const int32_t *const *axes;
    const cr_optim_step *steps;
    cr_adjust adjust;
    /* cr_updater_measure */
    double norm;
    double *partial; /* per piece: sum, or largest */
    bool *bad;       /* per piece: something is not finite */
    int64_t cap_partial;
};

cr_updater *cr_updater_new(const cr_lanes *lanes, cr_pool *pool) {
    cr_updater *u = cr_alloc(sizeof(*u), "updater");
    u->lanes = lanes;
    u->pool = pool;
    u->adjust = (cr_adjust){1, 1, 0};
    u->scratch = cr_alloc((size_t)cr_pool_threads(pool) * sizeof(float *), "updater");
    return u;
}

void cr_updater_free(cr_updater *u) {
    if (!u) return;
    for (int i = 0; i < u->n_tables; i++)
        cr_free(u->tables[i].uses);
    for (int i = 0; i < u->n_groups; i++) {
        cr_group_clear(&u->groups[i]);
        cr_free((void *)(uintptr_t)u->groups[i].slots);
    }
    for (int i = 0; i < cr_pool_threads(u->pool); i++)
        cr_free(u->scratch[i]);
    cr_free(u->scratch);
    cr_free(u->zeros);
    cr_free(u->partial);
    cr_free(u->bad);
    cr_free(u->tables);
    cr_free(u->groups);
    cr_free(u);
}

static int find_group(cr_updater *u, const cr_use *uses, int n) {
    for (int i = 0; i < u->n_groups; i++) {
        bool same = u->groups[i].n_slots == n;
        for (int k = 0; same && k < n; k++)
            same = u->groups[i].slots[k].slot == uses[k].slot &&
                   u->groups[i].slots[k].seq == uses[k].seq;
        if (same) return i;
    }
    if (u->n_groups == u->cap_groups) {
        int cap = u->cap_groups ? 2 * u->cap_groups : 16;
        u->groups = cr_realloc(u->groups, (size_t)u->cap_groups * sizeof(cr_group),
                               (size_t)cap * sizeof(cr_group), "id groups");
        u->cap_groups = cap;
    }
    cr_group_slot *slots = cr_alloc((size_t)n * sizeof(*slots), "id groups");
    for (int k = 0; k < n; k++)
        slots[k] = (cr_group_slot){uses[k].slot, uses[k].seq};
    memset(&u->groups[u->n_groups], 0, sizeof(cr_group));
    u->groups[u->n_groups].slots = slots;
    u->groups[u->n_groups].n_slots = n;
    return u->n_groups++;
}

int cr_updater_add(cr_updater *u, cr_table *t, const cr_use *uses, int n_uses) {
    if (u->n_tables == u->cap_tables) {
        int cap = u->cap_tables ? 2 * u->cap_tables : 16;
        u->tables = cr_realloc(u->tables, (size_t)u->cap_tables * sizeof(utable),
                               (size_t)cap * sizeof(utable), "updater tables");
        u->cap_tables = cap;
    }
    utable *ut = &u->tables[u->n_tables];
    *ut = (utable){.t = t, .n_uses = n_uses, .group = find_group(u, uses, n_uses)};
    ut->uses = cr_alloc((size_t)n_uses * sizeof(cr_use), "updater tables");
    const cr_optim_conf *oc = t->optim_conf;
    if (oc && oc->gradient_clipping) ut->clip = (float)oc->max_gradient;
    memcpy(ut->uses, uses, (size_t)n_uses * sizeof(cr_use));
    if (t->optim->every_row && t->D > u->n_zeros) {
        u->n_zeros = t->D;
        cr_free(u->zeros);
        u->zeros = cr_alloc((size_t)t->D * sizeof(float), "updater scratch");
    }
    int64_t need = u->lanes->n * t->D + t->D + cr_table_scratch(t);
    if (need > u->n_scratch) {
        u->n_scratch = need;
        for (int i = 0; i < cr_pool_threads(u->pool); i++) {
            cr_free(u->scratch[i]);
            u->scratch[i] = cr_alloc((size_t)need * sizeof(float), "updater scratch");
        }
    }
    return u->n_tables++;
}

static void group_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    cr_updater *u = ctx;
    cr_group_run(&u->groups[item], u->batch, u->axes, u->lanes);
}

void cr_updater_set_grad(cr_updater *u, int t, int k, const float *grad) {
    u->tables[t].uses[k].grad = grad;
}

void cr_updater_group(cr_updater *u, const cr_batch *b, const int32_t *const *axes) {
    u->batch = b;
    u->axes = axes;
    cr_pool_run(u->pool, u->n_groups, group_item, u);
}

/* how many ids are pooled with the one at pos, of a row or of a step */
static int32_t ids_beside(const cr_updater *u, const cr_use *use, const cr_jagged *j, int64_t row,
                          int64_t pos) {
    if (!use->seq) return j->off[row + 1] - j->off[row];
    int64_t a = 0, z = j->steps[u->batch->n_rows]; /* the step of pos */
    while (z - a > 1) {
        int64_t m = (a + z) / 2;
        if (j->off[m] <= pos)
            a = m;
        else
            z = m;
    }
    return j->off[a + 1] - j->off[a];
}

/* out (+)= the gradient that entry e sends to its id. Clipping is of the looked-up value's
 * gradient, before equal ids are summed, as FBGEMM does it. */
static void add_entry(const cr_updater *u, const utable *ut, const cr_group *g, uint32_t e,
                      float *out, bool set) {
    const cr_use *use = &ut->uses[g->slot ? g->slot[e] : 0];
    const cr_jagged *j = &u->batch->sparse[use->slot];
    uint32_t row = g->row[e];
    const float *gr = use->grad + (int64_t)row * use->ld;
    int64_t D = ut->t->D;
    float c = j->w ? j->w[g->pos[e]] : 1.0f, clip = ut->clip, unscale = u->adjust.unscale;
    if (use->mean && j->off) c = c / (float)ids_beside(u, use, j, row, g->pos[e]);
    if (clip > 0) {
        for (int64_t d = 0; d < D; d++) {
            float x = gr[d] * unscale;
            float v = x > clip ? clip : x < -clip ? -clip : x;
            out[d] = set ? c * v : out[d] + c * v;
        }
        return;
    }
    c *= unscale;
    if (set)
        cr_kern->scale(out, c, gr, D);
    else
        cr_kern->axpy(out, c, gr, D);
}

/* is entry i's gradient in that of the entry before, of the same id and lane? */
static bool counted(const utable *ut, const cr_group *g, int64_t i) {
    uint32_t e = ut->entry[i], before = ut->entry[i - 1];
    if (g->lane[e] != g->lane[before] || (g->slot && g->slot[e] != g->slot[before])) return false;
    const uint8_t *shared = ut->uses[g->slot ? g->slot[e] : 0].shared;
    return shared && shared[g->lane[e]];
}

/* Whose gradients lie in the first entry of each id, lane and feature: those of all lanes, most
 * often; or of some. */
static void choose_entries(const cr_updater *u, utable *ut) {
    const cr_group *g = &u->groups[ut->group];
    int64_t shared = 0, all = (int64_t)ut->n_uses * u->lanes->n;
    for (int k = 0; k < ut->n_uses; k++)
        for (int l = 0; ut->uses[k].shared && l < u->lanes->n; l++)
            shared += ut->uses[k].shared[l];
    ut->entry = shared == all ? g->head : g->entry;
    ut->seg = shared == all ? g->head_seg : g->seg;
    ut->some = shared > 0 && shared < all;
}

/* The gradients of an id lie far apart in the batch: they are fetched before they are needed, the
 * first FETCHED some ids ahead, the others as many entries ahead. */
CR_FETCH fetch_entry(const utable *ut, const cr_group *g, int64_t i) {
    uint32_t e = ut->entry[i];
    const cr_use *use = &ut->uses[g->slot ? g->slot[e] : 0];
    const float *gr = use->grad + (int64_t)g->row[e] * use->ld;
    for (int64_t d = 0; d < ut->t->D; d += 16)
        __builtin_prefetch(gr + d);
    __builtin_prefetch(gr + ut->t->D - 1);
}
CR_FETCH fetch_parts(const utable *ut, const cr_group *g, int64_t k) {
    int64_t i = ut->seg[k], end = ut->seg[k + 1];
    end = end - i > FETCHED ? i + FETCHED : end;
    for (; i < end; i++)
        fetch_entry(ut, g, i);
}

/* partial sums per lane: lane[0 .. n), as numbered in the global batch, and D floats each */
typedef struct sums {
    int lane[CR_MAX_LANES], n;
    float *part;
} sums;

static void add_part(const cr_updater *u, const utable *ut, const cr_group *g, uint32_t e,
                     sums *s) {
    int lane = u->lanes->first + g->lane[e];
    bool next = s->n == 0 || lane != s->lane[s->n - 1];
    if (next) s->lane[s->n++] = lane;
    add_entry(u, ut, g, e, s->part + (s->n - 1) * ut->t->D, next);
}

/* gradient of distinct id number k into part[0 .. D) */
static void sum_id(const cr_updater *u, const utable *ut, const cr_group *g, int64_t k,
                   float *part) {
    int64_t D = ut->t->D, first = ut->seg[k], end = ut->seg[k + 1];
    sums s;
    s.n = 0;
    s.part = part;
    for (int64_t i = first; i < end; i++) {
        if (i + FETCHED < end) fetch_entry(ut, g, i + FETCHED);
        if (!ut->some || i == first || !counted(ut, g, i)) add_part(u, ut, g, ut->entry[i], &s);
    }
    for (int level = 1; s.n > 1; level++) {
        int m = 0;
        for (int a = 0; a < s.n; a++, m++) {
            float *to = part + m * D, *from = part + a * D;
            if (to != from) memcpy(to, from, (size_t)D * sizeof(float));
            s.lane[m] = s.lane[a];
            if (a + 1 < s.n && s.lane[a] >> level == s.lane[a + 1] >> level) {
                const float *other = part + ++a * D;
                for (int64_t d = 0; d < D; d++)
                    to[d] = to[d] + other[d];
            }
        }
        s.n = m;
    }
}

/* one row of a table: the only place that calls its rule */
static void update_row(const cr_updater *u, const cr_table *t, int64_t id, float *grad,
                       float *scratch) {
    cr_table_apply(t, id, &u->steps[t->optim_group], grad, scratch);
}

/* what clipping over all parameters does to the summed gradient of a row */
static void adjust_row(const cr_updater *u, float *g, int64_t D) {
    float f = u->adjust.factor, limit = u->adjust.limit;
    if (f != 1)
        for (int64_t d = 0; d < D; d++)
            g[d] *= f;
    if (limit > 0)
        for (int64_t d = 0; d < D; d++)
            g[d] = g[d] > limit ? limit : g[d] < -limit ? -limit : g[d];
}

/* first of ids[0 .. n) that is not below id */
static int64_t lower_bound(const int64_t *ids, int64_t n, int64_t id) {
    int64_t lo = 0;
    while (n > 0) {
        int64_t half = n / 2;
        if (ids[lo + half] < id) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

/* rows [first, first + SWEEP): those of the batch with their gradient, the others with none */
static void sweep_rows(const cr_updater *u, const utable *ut, int64_t first, float *part) {
    const cr_group *g = &u->groups[ut->group];
    const cr_table *t = ut->t;
    int64_t end = first + SWEEP < t->n_rows ? first + SWEEP : t->n_rows;
    int64_t k = lower_bound(g->id, g->n_uniq, first);
    for (int64_t row = first; row < end; row++) {
        if (k < g->n_uniq && g->id[k] == row) {
            sum_id(u, ut, g, k++, part);
            adjust_row(u, part, t->D);
            update_row(u, t, row, part, part + u->lanes->n * t->D);
        } else {
            update_row(u, t, row, u->zeros, part + u->lanes->n * t->D);
        }
    }
}

static const utable *table_of(const cr_updater *u, int64_t item) {
    int lo = 0, hi = u->n_tables - 1;
    while (lo < hi) { /* the table this piece belongs to */
        int mid = (lo + hi + 1) / 2;
        if (u->tables[mid].first_piece <= item)
            lo = mid;
        else
            hi = mid - 1;
    }
    return &u->tables[lo];
}

static void apply_item(void *ctx, int64_t item, int thread) {
    cr_updater *u = ctx;
    const utable *ut = table_of(u, item);
    const cr_group *g = &u->groups[ut->group];
    const cr_table *t = ut->t;
    float *part = u->scratch[thread];
    if (t->optim->every_row) {
        sweep_rows(u, ut, (item - ut->first_piece) * SWEEP, part);
        return;
    }
    int64_t k = (item - ut->first_piece) * PIECE,
            end = k + PIECE < g->n_uniq ? k + PIECE : g->n_uniq;
    for (int64_t a = k; a < end && a < k + AHEAD; a++)
        fetch_parts(ut, g, a);
    for (; k < end; k++) {
        if (k + AHEAD < end) {
            fetch_parts(ut, g, k + AHEAD);
            cr_table_fetch(t, g->id[k + AHEAD], true);
        }
        sum_id(u, ut, g, k, part);
        adjust_row(u, part, t->D);
        update_row(u, t, g->id[k], part, part + u->lanes->n * t->D);
    }
}

/* numbers the pieces of all tables; returns how many there are */
static int64_t cut(cr_updater *u, bool by_row) {
    int64_t pieces = 0;
    for (int i = 0; i < u->n_tables; i++) {
        utable *ut = &u->tables[i];
        choose_entries(u, ut);
        ut->first_piece = pieces;
        pieces += by_row && ut->t->optim->every_row
                      ? (ut->t->n_rows + SWEEP - 1) / SWEEP
                      : (u->groups[ut->group].n_uniq + PIECE - 1) / PIECE;
    }
    return pieces;
}

void cr_updater_apply(cr_updater *u, const cr_optim_step *steps) {
    u->steps = steps;
    cr_pool_run(u->pool, cut(u, true), apply_item, u);
}

/* ---- norms ---- */

void cr_updater_adjust(cr_updater *u, cr_adjust a) {
    u->adjust = a;
}

/* A table's own clipping turns infinity into its limit; a loss scaler must hear of it all the same.
 */
static bool entries_finite(const utable *ut, const cr_group *g, int64_t k) {
    float worst = 0;
    for (int64_t i = g->seg[k]; i < g->seg[k + 1]; i++) {
        uint32_t e = g->entry[i];
        const cr_use *use = &ut->uses[g->slot ? g->slot[e] : 0];
        const float *gr = use->grad + (int64_t)g->row[e] * use->ld;
        for (int64_t d = 0; d < ut->t->D; d++)
            worst += gr[d] * 0; /* 0, or NaN for what is not finite */
    }
    return worst == 0;
}

static void measure_item(void *ctx, int64_t item, int thread) {
    cr_updater *u = ctx;
    const utable *ut = table_of(u, item);
    const cr_group *g = &u->groups[ut->group];
    float *part = u->scratch[thread];
    double sum = 0;
    bool bad = false;
    int64_t k = (item - ut->first_piece) * PIECE,
            end = k + PIECE < g->n_uniq ? k + PIECE : g->n_uniq;
    for (; k < end; k++) {
        sum_id(u, ut, g, k, part);
        bad |= !cr_norm_add(&sum, part, ut->t->D, u->norm);
        if (ut->clip > 0) bad |= !entries_finite(ut, g, k);
    }
    u->partial[item] = sum;
    u->bad[item] = bad;
}

bool cr_updater_measure(cr_updater *u, double p, double *sum) {
    int64_t n = cut(u, false);
    if (n > u->cap_partial) {
        cr_free(u->partial);
        cr_free(u->bad);
        u->cap_partial = 2 * n;
        u->partial = cr_alloc((size_t)u->cap_partial * sizeof(double), "norms of gradients");
        u->bad = cr_alloc((size_t)u->cap_partial * sizeof(bool), "norms of gradients");
    }
    u->norm = p;
    cr_pool_run(u->pool, n, measure_item, u);
    bool fine = true;
    for (int64_t i = 0; i < n; i++) {
        fine &= !u->bad[i];
        cr_norm_join(sum, u->partial[i], p);
    }
    return fine;
}
