/*
 * update.c - see update.h. The gradient of one distinct id: most ids occur once in a batch, then it
 * is just the row of the lookup's gradient; else partial sums per lane, merged as the lanes' tree
 * would merge them (lanes without the id are left out, which is adding nothing).
 */
#include "emb/update.h"

#include <string.h>

#include "emb/group.h"
#include "kern/kern.h"

#define PIECE     256 /* distinct ids a thread takes at a time */
#define MAX_LANES 64
#define FETCH     12 /* entries between fetching a gradient row and adding it */
#define AHEAD     8  /* records are fetched this many ids before they are needed */

typedef struct utable {
    cr_table *t;
    cr_use *uses;
    int n_uses;
    int group;
    float clip;          /* 0: none */
    int64_t first_piece; /* of this table in the list of all pieces */
} utable;

struct cr_updater {
    int lanes;
    cr_pool *pool;
    utable *tables;
    int n_tables, cap_tables;
    cr_group *groups;
    int n_groups, cap_groups;
    float **scratch; /* per thread: (lanes + 1) * widest D */
    int64_t max_D;
    const cr_batch *batch;
    const cr_optim_step *step;
};

cr_updater *cr_updater_new(int lanes, cr_pool *pool) {
    if (lanes > MAX_LANES) CR_BUG("too many lanes");
    cr_updater *u = cr_alloc(sizeof(*u), "updater");
    u->lanes = lanes;
    u->pool = pool;
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
    cr_free(u->tables);
    cr_free(u->groups);
    cr_free(u);
}

static int find_group(cr_updater *u, const cr_use *uses, int n) {
    for (int i = 0; i < u->n_groups; i++) {
        bool same = u->groups[i].n_slots == n;
        for (int k = 0; same && k < n; k++)
            same = u->groups[i].slots[k] == uses[k].slot;
        if (same) return i;
    }
    if (u->n_groups == u->cap_groups) {
        int cap = u->cap_groups ? 2 * u->cap_groups : 16;
        u->groups = cr_realloc(u->groups, (size_t)u->cap_groups * sizeof(cr_group),
                               (size_t)cap * sizeof(cr_group), "id groups");
        u->cap_groups = cap;
    }
    int *slots = cr_alloc((size_t)n * sizeof(int), "id groups");
    for (int k = 0; k < n; k++)
        slots[k] = uses[k].slot;
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
    if (t->D > u->max_D) {
        u->max_D = t->D;
        for (int i = 0; i < cr_pool_threads(u->pool); i++) {
            cr_free(u->scratch[i]);
            u->scratch[i] =
                cr_alloc((size_t)((u->lanes + 1) * u->max_D) * sizeof(float), "updater scratch");
        }
    }
    return u->n_tables++;
}

static void group_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    cr_updater *u = ctx;
    cr_group_run(&u->groups[item], u->batch, u->lanes);
}

void cr_updater_group(cr_updater *u, const cr_batch *b) {
    u->batch = b;
    cr_pool_run(u->pool, u->n_groups, group_item, u);
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
    float c = j->w ? j->w[g->pos[e]] : 1.0f, clip = ut->clip;
    if (use->mean && j->off) c = c / (float)(j->off[row + 1] - j->off[row]);
    if (clip > 0) {
        for (int64_t d = 0; d < D; d++) {
            float v = gr[d] > clip ? clip : gr[d] < -clip ? -clip : gr[d];
            out[d] = set ? c * v : out[d] + c * v;
        }
        return;
    }
    if (set)
        cr_kern->scale(out, c, gr, D);
    else
        cr_kern->axpy(out, c, gr, D);
}

/* the gradient row that an entry will read: entries of one id lie far apart in the batch */
static void fetch_entry(const utable *ut, const cr_group *g, int64_t i) {
    if (i >= g->n) return;
    uint32_t e = g->entry[i];
    const cr_use *use = &ut->uses[g->slot ? g->slot[e] : 0];
    const float *gr = use->grad + (int64_t)g->row[e] * use->ld;
    __builtin_prefetch(gr);
    if (ut->t->D > 16) __builtin_prefetch(gr + 16);
}

/* gradient of distinct id number k into part[0 .. D) */
static void sum_id(const cr_updater *u, const utable *ut, const cr_group *g, int64_t k,
                   float *part) {
    int64_t D = ut->t->D, i = g->seg[k], end = g->seg[k + 1];
    fetch_entry(ut, g, i + FETCH);
    add_entry(u, ut, g, g->entry[i], part, true);
    if (end - i == 1) return;
    int lane[MAX_LANES], n = 0;
    lane[n++] = g->lane[g->entry[i]];
    for (i++; i < end; i++) {
        uint32_t e = g->entry[i];
        fetch_entry(ut, g, i + FETCH);
        bool next = g->lane[e] != lane[n - 1];
        if (next) lane[n++] = g->lane[e];
        add_entry(u, ut, g, e, part + (n - 1) * D, next);
    }
    for (int level = 1; n > 1; level++) {
        int m = 0;
        for (int a = 0; a < n; a++, m++) {
            float *to = part + m * D, *from = part + a * D;
            if (to != from) memcpy(to, from, (size_t)D * sizeof(float));
            lane[m] = lane[a];
            if (a + 1 < n && lane[a] >> level == lane[a + 1] >> level) {
                const float *other = part + ++a * D;
                for (int64_t d = 0; d < D; d++)
                    to[d] = to[d] + other[d];
            }
        }
        n = m;
    }
}

static void apply_item(void *ctx, int64_t item, int thread) {
    cr_updater *u = ctx;
    int lo = 0, hi = u->n_tables - 1;
    while (lo < hi) { /* the table this piece belongs to */
        int mid = (lo + hi + 1) / 2;
        if (u->tables[mid].first_piece <= item)
            lo = mid;
        else
            hi = mid - 1;
    }
    const utable *ut = &u->tables[lo];
    const cr_group *g = &u->groups[ut->group];
    const cr_table *t = ut->t;
    float *part = u->scratch[thread];
    int64_t k = (item - ut->first_piece) * PIECE,
            end = k + PIECE < g->n_uniq ? k + PIECE : g->n_uniq;
    for (; k < end; k++) {
        if (k + AHEAD < end) __builtin_prefetch(cr_table_row(t, g->id[k + AHEAD]), 1);
        sum_id(u, ut, g, k, part);
        t->optim->row(t->optim_conf, u->step, cr_table_row(t, g->id[k]), part, t->D);
    }
}

void cr_updater_apply(cr_updater *u, const cr_optim_step *step) {
    u->step = step;
    int64_t pieces = 0;
    for (int i = 0; i < u->n_tables; i++) {
        u->tables[i].first_piece = pieces;
        pieces += (u->groups[u->tables[i].group].n_uniq + PIECE - 1) / PIECE;
    }
    cr_pool_run(u->pool, pieces, apply_item, u);
}
