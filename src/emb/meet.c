/*
 * meet.c - see meet.h. The holders meet twice per step. First they exchange how many ids and parts
 * each has of every table, so that every holder knows where each block will lie. Then they exchange
 * the blocks: per table the ids, a bit mask per id that says which nodes have a part of it, and the
 * parts.
 */
#include "emb/meet.h"

#include <string.h>

/* The share of one holder in a table: places in its block. */
typedef struct share {
    int64_t n, n_parts;
    int64_t *id;    /* [n] ascending */
    uint16_t *mask; /* [n] bit k: the holder's node k has a part */
    float *part;    /* [n_parts * D] by id, then by node */
} share;

/* One table: the ids of all holders, merged. */
typedef struct mtable {
    int64_t D;
    const cr_group *g;
    share *by; /* [holders] */
    int64_t n;
    int64_t *id;        /* [n] */
    int64_t *seg;       /* [n + 1] into part and lane */
    const float **part; /* [parts] */
    uint8_t *lane;      /* [parts] first lane of the part's node */
    int64_t *part_at;   /* [n of this holder] the first part of each id */
    int64_t cap, cap_parts, cap_mine;
} mtable;

struct cr_row_meet {
    const cr_lanes *lanes;
    cr_pool *pool;
    mtable *tables;
    int n_tables, cap_tables;
    int node_of[CR_MAX_LANES]; /* by lane of this holder: its number among the holder's nodes */
    int64_t *counts;           /* [holders][2 * tables]: ids, parts */
    char *all;                 /* the blocks of all holders */
    size_t cap;
};

cr_row_meet *cr_row_meet_new(const cr_lanes *lanes, cr_pool *pool) {
    cr_row_meet *m = cr_alloc(sizeof(*m), "meeting of table gradients");
    m->lanes = lanes;
    m->pool = pool;
    CR_ASSERT(lanes->n_mine <= 16);
    for (int k = 0; k < lanes->n_mine; k++) {
        int first = lanes->node[lanes->mine + k].lane - lanes->first;
        for (int l = 0; l < lanes->node[lanes->mine + k].n; l++)
            m->node_of[first + l] = k;
    }
    return m;
}

static void clear_table(mtable *t) {
    cr_free(t->id);
    cr_free(t->seg);
    cr_free(t->part);
    cr_free(t->lane);
    cr_free(t->part_at);
    cr_free(t->by);
}

void cr_row_meet_free(cr_row_meet *m) {
    if (!m) return;
    for (int i = 0; i < m->n_tables; i++)
        clear_table(&m->tables[i]);
    cr_free(m->tables);
    cr_free(m->counts);
    cr_free(m->all);
    cr_free(m);
}

void cr_row_meet_add(cr_row_meet *m, int64_t D) {
    if (m->n_tables == m->cap_tables) {
        int cap = m->cap_tables ? 2 * m->cap_tables : 16;
        m->tables = cr_realloc(m->tables, (size_t)m->cap_tables * sizeof(mtable),
                               (size_t)cap * sizeof(mtable), "meeting of table gradients");
        m->cap_tables = cap;
    }
    size_t holders = (size_t)m->lanes->meet->n;
    mtable *t = &m->tables[m->n_tables++];
    *t = (mtable){.D = D};
    t->by = cr_alloc(holders * sizeof(share), "meeting of table gradients");
    cr_free(m->counts);
    m->counts =
        cr_alloc(holders * (size_t)m->n_tables * 2 * sizeof(int64_t), "meeting of table gradients");
}

/* ---- before: what this holder has, and where every block goes ---- */

static uint16_t mask_of(const cr_row_meet *m, const cr_group *g, int64_t k) {
    unsigned mask = 0;
    for (int64_t i = g->head_seg[k]; i < g->head_seg[k + 1]; i++)
        mask |= 1U << m->node_of[g->lane[g->head[i]]];
    return (uint16_t)mask;
}

static int64_t *counts_of(const cr_row_meet *m, int holder, int t) {
    return m->counts + 2 * ((int64_t)holder * m->n_tables + t);
}

static void *grown(void *p, int64_t *cap, int64_t n, size_t size) {
    if (n <= *cap && p) return p;
    cr_free(p);
    *cap = n + n / 4 + 16;
    return cr_alloc((size_t)*cap * size, "meeting of table gradients");
}

static void count_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    cr_row_meet *m = ctx;
    mtable *t = &m->tables[item];
    int64_t parts = 0;
    t->part_at = grown(t->part_at, &t->cap_mine, t->g->n_uniq, sizeof(int64_t));
    for (int64_t k = 0; k < t->g->n_uniq; k++) {
        t->part_at[k] = parts;
        parts += __builtin_popcount(mask_of(m, t->g, k));
    }
    int64_t *c = counts_of(m, m->lanes->meet->self, (int)item);
    c[0] = t->g->n_uniq;
    c[1] = parts;
}

static void *take(const cr_row_meet *m, size_t *at, int64_t n, size_t size) {
    void *p = m->all ? m->all + *at : NULL;
    *at += ((size_t)n * size + 63) / 64 * 64;
    return p;
}

/* The blocks of all holders lie one behind the other, each with a flag in front. at[h] is where
 * block h begins. */
static void lay_out(cr_row_meet *m, size_t *at) {
    size_t end = 0;
    for (int h = 0; h < m->lanes->meet->n; h++) {
        at[h] = end;
        (void)take(m, &end, 1, sizeof(int64_t));
        for (int i = 0; i < m->n_tables; i++) {
            mtable *t = &m->tables[i];
            const int64_t *c = counts_of(m, h, i);
            share *s = &t->by[h];
            s->n = c[0];
            s->n_parts = c[1];
            s->id = take(m, &end, s->n, sizeof(int64_t));
            s->mask = take(m, &end, s->n, sizeof(uint16_t));
            s->part = take(m, &end, s->n_parts, (size_t)t->D * sizeof(float));
        }
    }
    at[m->lanes->meet->n] = end;
}

static void fill_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    cr_row_meet *m = ctx;
    const mtable *t = &m->tables[item];
    const share *s = &t->by[m->lanes->meet->self];
    if (s->n > 0) memcpy(s->id, t->g->id, (size_t)s->n * sizeof(int64_t));
    for (int64_t k = 0; k < s->n; k++)
        s->mask[k] = mask_of(m, t->g, k);
}

void cr_row_meet_ids_here(cr_row_meet *m, int t, const cr_group *g) {
    m->tables[t].g = g;
}

void cr_row_meet_open(cr_row_meet *m) {
    const cr_meet *meet = m->lanes->meet;
    size_t at[CR_MAX_LANES + 1], one = 2 * (size_t)m->n_tables * sizeof(int64_t);
    cr_pool_run(m->pool, m->n_tables, count_item, m);
    for (int h = 0; h <= meet->n; h++)
        at[h] = (size_t)h * one;
    meet->gather(meet->ctx, m->counts, at);
    lay_out(m, at);
    if (at[meet->n] > m->cap) {
        cr_free(m->all);
        m->cap = at[meet->n] + at[meet->n] / 4;
        m->all = cr_alloc(m->cap, "meeting of table gradients");
    }
    lay_out(m, at);
    cr_pool_run(m->pool, m->n_tables, fill_item, m);
}

float *cr_row_meet_parts(const cr_row_meet *m, int t, int64_t k) {
    const mtable *mt = &m->tables[t];
    return mt->by[m->lanes->meet->self].part + mt->part_at[k] * mt->D;
}

/* ---- after: the ids of all holders ---- */

/* Adds the parts that a holder has of id k behind the n parts that are there; returns how many
 * there are then. */
static int64_t add_parts(const cr_row_meet *m, mtable *t, int holder, int64_t k, int64_t *from,
                         int64_t n) {
    const share *s = &t->by[holder];
    for (int node = 0; node < 16; node++) {
        if (!(s->mask[k] >> node & 1)) continue;
        t->part[n] = s->part + (*from)++ * t->D;
        t->lane[n++] = (uint8_t)m->lanes->node[m->lanes->node0[holder] + node].lane;
    }
    return n;
}

static void merge_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const cr_row_meet *m = ctx;
    mtable *t = &m->tables[item];
    int holders = m->lanes->meet->n;
    int64_t n = 0, parts = 0, next[CR_MAX_LANES] = {0}, from[CR_MAX_LANES] = {0};
    for (int h = 0; h < holders; h++) {
        n += t->by[h].n;
        parts += t->by[h].n_parts;
    }
    if (n + 1 > t->cap || !t->id) {
        int64_t cap = 0;
        t->id = grown(t->id, &cap, n + 1, sizeof(int64_t));
        t->seg = grown(t->seg, &t->cap, n + 1, sizeof(int64_t));
    }
    if (parts > t->cap_parts || !t->part) {
        int64_t cap = 0;
        t->part = grown((void *)t->part, &cap, parts, sizeof(float *));
        t->lane = grown(t->lane, &t->cap_parts, parts, sizeof(uint8_t));
    }
    for (t->n = 0, parts = 0;; t->n++) {
        const int64_t *least = NULL; /* ids use all 64 bits and are sorted as unsigned numbers */
        for (int h = 0; h < holders; h++) {
            const int64_t *id = &t->by[h].id[next[h]];
            if (next[h] < t->by[h].n && (!least || (uint64_t)*id < (uint64_t)*least)) least = id;
        }
        t->seg[t->n] = parts;
        if (!least) return;
        int64_t id = t->id[t->n] = *least;
        for (int h = 0; h < holders; h++)
            if (next[h] < t->by[h].n && t->by[h].id[next[h]] == id)
                parts = add_parts(m, t, h, next[h]++, &from[h], parts);
    }
}

bool cr_row_meet_close(cr_row_meet *m, bool bad) {
    const cr_meet *meet = m->lanes->meet;
    size_t at[CR_MAX_LANES + 1];
    int64_t flag = bad;
    lay_out(m, at);
    memcpy(m->all + at[meet->self], &flag, sizeof(flag));
    meet->gather(meet->ctx, m->all, at);
    for (int h = 0; h < meet->n; h++) {
        memcpy(&flag, m->all + at[h], sizeof(flag));
        bad |= flag != 0;
    }
    cr_pool_run(m->pool, m->n_tables, merge_item, m);
    return bad;
}

cr_met_ids cr_row_meet_ids(const cr_row_meet *m, int t) {
    return (cr_met_ids){m->tables[t].n, m->tables[t].id};
}

void cr_row_meet_get(const cr_row_meet *m, int t, int64_t k, cr_row_parts *p) {
    const mtable *mt = &m->tables[t];
    int64_t first = mt->seg[k];
    p->n = (int)(mt->seg[k + 1] - first);
    for (int i = 0; i < p->n; i++) {
        memcpy(p->part + i * mt->D, mt->part[first + i], (size_t)mt->D * sizeof(float));
        p->lane[i] = mt->lane[first + i];
    }
}
