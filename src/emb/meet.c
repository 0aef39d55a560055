/*
 * meet.c - see meet.h. Two rounds: first every holder tells how many ids and parts it has for each
 * taker, then the ids, the nodes and the parts follow. What goes to one holder travels in an
 * exchange of pairs, what goes to all of them in a gathering. A holder's own share never travels.
 *
 * Ids are sent as 4 bytes where a shard has fewer than 2^32 rows. Which nodes an id has is a mask
 * of 32 bits, left out by holders of a single node.
 */
#include "emb/meet.h"

#include <string.h>

#include "base/room.h"

#define EVERY (-1) /* instead of a holder: all of them */

/* The place of some ids and parts in a message. */
typedef struct share {
    int64_t n, n_parts;
    char *id; /* [n] 4 bytes each, counted from the first row of the cut; or 8, as they are */
    uint32_t *mask;
    float *part; /* [n_parts][cols] */
} share;

/* A rectangle of a source, which one holder takes, or every holder. */
typedef struct cut {
    int holder; /* or EVERY */
    int64_t row, end, col, cols;
    int wide;      /* bytes of an id */
    int64_t first; /* the first of this holder's distinct ids that lies in it */
    share to;
} cut;

typedef struct source {
    int64_t D;
    cut *cuts; /* by row, then by column */
    int n_cuts;
    const cr_group *g;
    /* by distinct id: the number of its first part; NULL for holders of a single node, where an id
     * has one part */
    void *part_at; /* of int64_t */
    int64_t cap;
} source;

typedef struct target {
    const cut *cut;
    share *by; /* what each holder gave */
    /* the result */
    int64_t n, *id, *seg;
    const float **part;
    uint16_t *lane;
    /* its memory, with room for so many elements */
    void *ids, *segs, *parts, *lanes;
    int64_t cap_ids, cap_segs, cap_parts, cap_lanes;
} target;

/* The messages of one way to travel: to pairs, or to all. */
typedef struct way {
    cut **cuts; /* by taker, then in the order of sources */
    int n_cuts;
    target **targets; /* in the order of sources */
    int n_targets;
    int64_t *counts, *counts_out; /* of the targets by holder; of the cuts */
    void *mem, *out;
    int64_t cap, cap_out; /* bytes */
} way;

struct cr_row_meet {
    const cr_lanes *lanes;
    cr_pool *pool;
    uint8_t node_of[CR_MAX_LANES]; /* by lane of the global batch: the node among its holder's */
    source **sources;
    int n_sources;
    target **targets;
    int n_targets;
    way pairs, all;
    bool planned; /* the ways know all sources */
    /* where the message to or from each holder begins, and the same for counts */
    size_t *at, *out_at;
};

static const char what[] = "meeting of table gradients";

cr_row_meet *cr_row_meet_new(const cr_lanes *lanes, cr_pool *pool) {
    cr_row_meet *m = cr_alloc(sizeof(*m), what);
    size_t holders = (size_t)lanes->meet->n;
    m->lanes = lanes;
    m->pool = pool;
    m->at = cr_alloc((holders + 1) * sizeof(size_t), what);
    m->out_at = cr_alloc((holders + 1) * sizeof(size_t), what);
    for (int h = 0; h < lanes->meet->n; h++)
        for (int k = lanes->node0[h]; k < lanes->node0[h + 1]; k++)
            memset(m->node_of + lanes->node[k].lane, k - lanes->node0[h], (size_t)lanes->node[k].n);
    return m;
}

static void clear_way(way *w) {
    cr_free(w->cuts);
    cr_free(w->targets);
    cr_free(w->counts);
    cr_free(w->counts_out);
    cr_free(w->mem);
    cr_free(w->out);
}

void cr_row_meet_free(cr_row_meet *m) {
    if (!m) return;
    for (int i = 0; i < m->n_sources; i++) {
        cr_free(m->sources[i]->cuts);
        cr_free(m->sources[i]->part_at);
        cr_free(m->sources[i]);
    }
    for (int i = 0; i < m->n_targets; i++) {
        target *t = m->targets[i];
        cr_free(t->by);
        cr_free(t->ids);
        cr_free(t->segs);
        cr_free(t->parts);
        cr_free(t->lanes);
        cr_free(t);
    }
    clear_way(&m->pairs);
    clear_way(&m->all);
    cr_free(m->sources);
    cr_free(m->targets);
    cr_free(m->at);
    cr_free(m->out_at);
    cr_free(m);
}

/* ---- the tables ---- */

static void add_target(cr_row_meet *m, const cut *c) {
    target *t = cr_alloc(sizeof(*t), what);
    t->cut = c;
    t->by = cr_alloc((size_t)m->lanes->meet->n * sizeof(share), what);
    m->targets = cr_realloc(m->targets, (size_t)m->n_targets * sizeof(target *),
                            (size_t)(m->n_targets + 1) * sizeof(target *), what);
    m->targets[m->n_targets++] = t;
}

int cr_row_meet_add(cr_row_meet *m, int64_t n_rows, int64_t D, const cr_placing *placing) {
    source *s = cr_alloc(sizeof(*s), what);
    int n = placing ? placing->n : 1, before = m->n_targets;
    s->D = D;
    s->cuts = cr_alloc((size_t)n * sizeof(cut), what);
    s->n_cuts = n;
    for (int i = 0; i < n; i++) {
        cr_shard all = {EVERY, 0, n_rows, 0, D}, *sh = placing ? &placing->shards[i] : &all;
        cut *c = &s->cuts[i];
        *c = (cut){.holder = sh->holder, .row = sh->row, .end = sh->end, .col = sh->col};
        c->cols = sh->col_end - sh->col;
        /* ids of a table without a number of rows use all 64 bits */
        c->wide = n_rows > 0 && sh->end - sh->row <= UINT32_MAX ? 4 : 8;
        if (sh->holder == EVERY || sh->holder == m->lanes->meet->self) add_target(m, c);
    }
    m->sources = cr_realloc(m->sources, (size_t)m->n_sources * sizeof(source *),
                            (size_t)(m->n_sources + 1) * sizeof(source *), what);
    m->sources[m->n_sources++] = s;
    m->planned = false;
    return m->n_targets - before;
}

/* Lists the cuts that travel one way, taker by taker, and the targets here that they reach. */
static void plan_way(cr_row_meet *m, way *w, bool all) {
    int holders = m->lanes->meet->n;
    clear_way(w);
    *w = (way){0};
    for (int i = 0; i < m->n_sources; i++)
        w->n_cuts += m->sources[i]->n_cuts;
    w->cuts = cr_alloc((size_t)(w->n_cuts + 1) * sizeof(cut *), what);
    w->targets = cr_alloc((size_t)(m->n_targets + 1) * sizeof(target *), what);
    w->n_cuts = 0;
    for (int h = all ? EVERY : 0; h < (all ? 0 : holders); h++)
        for (int i = 0; i < m->n_sources; i++)
            for (int k = 0; k < m->sources[i]->n_cuts; k++)
                if (m->sources[i]->cuts[k].holder == h)
                    w->cuts[w->n_cuts++] = &m->sources[i]->cuts[k];
    for (int i = 0; i < m->n_targets; i++)
        if ((m->targets[i]->cut->holder == EVERY) == all)
            w->targets[w->n_targets++] = m->targets[i];
    w->counts = cr_alloc(((size_t)holders * (size_t)w->n_targets + 1) * 2 * sizeof(int64_t), what);
    w->counts_out = cr_alloc(((size_t)w->n_cuts + 1) * 2 * sizeof(int64_t), what);
}

/* ---- what this holder has, and where it goes ---- */

void cr_row_meet_ids_here(cr_row_meet *m, int from, const cr_group *g) {
    m->sources[from]->g = g;
}

static uint32_t mask_of(const cr_row_meet *m, const cr_group *g, int64_t k) {
    unsigned mask = 0;
    for (uint32_t i = g->head_seg[k]; i < g->head_seg[k + 1]; i++)
        mask |= 1U << m->node_of[m->lanes->first + (int)cr_entry_lane(g->head[i])];
    return mask;
}

/* A batch decides how many elements an array has, so a failure has a message. */
static cr_code grow(void **p, int64_t *cap, int64_t n, size_t size, cr_err *err) {
    return cr_try_room(p, cap, n, size, false, "gradients of the table rows of a batch", err);
}

static bool one_node(const cr_row_meet *m, int holder) {
    return m->lanes->node0[holder + 1] - m->lanes->node0[holder] == 1;
}

static int64_t first_part(const source *s, int64_t k) {
    return s->part_at ? ((const int64_t *)s->part_at)[k] : k;
}

static void count_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    cr_row_meet *m = ctx;
    source *s = m->sources[item];
    const cr_group *g = s->g;
    if (!one_node(m, m->lanes->meet->self)) {
        int64_t parts = 0, *part_at = s->part_at;
        for (int64_t k = 0; k < g->n_uniq; k++) {
            part_at[k] = parts;
            parts += __builtin_popcount(mask_of(m, g, k));
        }
        part_at[g->n_uniq] = parts;
    }
    for (int i = 0; i < s->n_cuts; i++) {
        cut *c = &s->cuts[i];
        bool whole = c->holder == EVERY;
        int64_t end = whole ? g->n_uniq : cr_ids_find(g->id, g->n_uniq, c->end);
        c->first = whole ? 0 : cr_ids_find(g->id, g->n_uniq, c->row);
        c->to.n = end - c->first;
        c->to.n_parts = first_part(s, end) - first_part(s, c->first);
    }
}

static void *take(char *mem, size_t *at, int64_t n, size_t size) {
    void *p = mem ? mem + *at : NULL;
    *at += ((size_t)n * size + 7) / 8 * 8;
    return p;
}

/* Finds the place of a share in a message of `from`; mem may be NULL to learn the size. */
static void lay(const cr_row_meet *m, const cut *c, share *s, int from, char *mem, size_t *at) {
    s->id = take(mem, at, s->n, (size_t)c->wide);
    s->mask = one_node(m, from) ? NULL : take(mem, at, s->n, sizeof(uint32_t));
    s->part = take(mem, at, s->n_parts, (size_t)c->cols * sizeof(float));
}

/* Exchanges the counts of a way: two numbers for each cut, so that every holder knows what comes.
 */
static void tell_counts(cr_row_meet *m, way *w, bool all) {
    const cr_meet *meet = m->lanes->meet;
    size_t each = 2 * sizeof(int64_t);
    int64_t *mine = w->counts + 2 * (int64_t)meet->self * w->n_targets,
            *out = all ? mine : w->counts_out;
    for (int i = 0; i < w->n_cuts; i++) {
        out[2 * i] = w->cuts[i]->to.n;
        out[2 * i + 1] = w->cuts[i]->to.n_parts;
    }
    for (int h = 0; h <= meet->n; h++)
        m->at[h] = (size_t)h * (size_t)w->n_targets * each;
    if (all) {
        meet->gather(meet->ctx, w->counts, m->at);
        return;
    }
    for (int h = 0, i = 0; h <= meet->n; h++) {
        while (i < w->n_cuts && w->cuts[i]->holder < h)
            i++;
        m->out_at[h] = (size_t)i * each;
    }
    meet->exchange(meet->ctx, w->counts_out, m->out_at, w->counts, m->at);
}

/* Lays out what comes to this holder; at[h] is where the message of holder h begins. The share of
 * this holder lies behind those of the others when only pairs exchange. */
static size_t lay_in(cr_row_meet *m, way *w, bool all, char *mem) {
    const cr_meet *meet = m->lanes->meet;
    size_t end = 0;
    for (int i = 0; i < meet->n; i++) {
        int h = all || i < meet->self ? i : i + 1 < meet->n ? i + 1 : meet->self;
        m->at[h] = end;
        for (int t = 0; t < w->n_targets; t++) {
            const int64_t *c = w->counts + 2 * ((int64_t)h * w->n_targets + t);
            share *s = &w->targets[t]->by[h];
            s->n = c[0];
            s->n_parts = c[1];
            lay(m, w->targets[t]->cut, s, h, mem, &end);
        }
    }
    if (all) {
        m->at[meet->n] = end;
        return end;
    }
    /* nothing comes from itself: the others' messages lie side by side without it */
    size_t own = m->at[meet->self];
    m->at[meet->self] = meet->self + 1 < meet->n ? m->at[meet->self + 1] : own;
    m->at[meet->n] = own;
    return end;
}

static size_t lay_out(cr_row_meet *m, way *w, char *mem) {
    const cr_meet *meet = m->lanes->meet;
    size_t end = 0;
    int i = 0;
    for (int h = 0; h < meet->n; h++) {
        m->out_at[h] = end;
        for (; i < w->n_cuts && w->cuts[i]->holder == h; i++)
            if (h != meet->self) lay(m, w->cuts[i], &w->cuts[i]->to, meet->self, mem, &end);
    }
    m->out_at[meet->n] = end;
    return end;
}

/* What a holder has for itself it writes where the others' shares come to. */
static void keep_own(cr_row_meet *m, way *w) {
    int self = m->lanes->meet->self;
    for (int t = 0; t < w->n_targets; t++) {
        /* the cut belongs to a source of this holder, so it may be written */
        cut *c = (cut *)(uintptr_t)w->targets[t]->cut;
        c->to = w->targets[t]->by[self];
    }
}

static cr_code open_way(cr_row_meet *m, way *w, bool all, cr_err *err) {
    if (w->n_cuts == 0) return CR_OK; /* then no holder has any */
    tell_counts(m, w, all);
    CR_TRY(grow(&w->mem, &w->cap, (int64_t)lay_in(m, w, all, NULL), 1, err));
    lay_in(m, w, all, w->mem);
    keep_own(m, w);
    if (all) return CR_OK;
    CR_TRY(grow(&w->out, &w->cap_out, (int64_t)lay_out(m, w, NULL), 1, err));
    lay_out(m, w, w->out);
    return CR_OK;
}

cr_code cr_row_meet_open(cr_row_meet *m, cr_err *err) {
    if (!m->planned) {
        plan_way(m, &m->pairs, false);
        plan_way(m, &m->all, true);
        m->planned = true;
    }
    for (int i = 0; i < m->n_sources && !one_node(m, m->lanes->meet->self); i++) {
        source *s = m->sources[i];
        CR_TRY(grow(&s->part_at, &s->cap, s->g->n_uniq + 1, sizeof(int64_t), err));
    }
    cr_pool_run(m->pool, m->n_sources, count_item, m);
    CR_TRY(open_way(m, &m->pairs, false, err));
    return open_way(m, &m->all, true, err);
}

/* ---- the parts ---- */

static void put_id(const cut *c, int64_t at, int64_t id) {
    if (c->wide == 8) {
        memcpy(c->to.id + 8 * at, &id, 8);
    } else {
        uint32_t small = (uint32_t)(id - c->row);
        memcpy(c->to.id + 4 * at, &small, 4);
    }
}

static int64_t get_id(const cut *c, const share *s, int64_t at) {
    if (c->wide == 8) {
        int64_t id;
        memcpy(&id, s->id + 8 * at, 8);
        return id;
    }
    uint32_t small;
    memcpy(&small, s->id + 4 * at, 4);
    return c->row + small;
}

static void put_cut(const cr_row_meet *m, const source *s, const cut *c, int64_t k,
                    const cr_row_parts *p) {
    int64_t at = k - c->first, part = first_part(s, k) - first_part(s, c->first);
    unsigned mask = 0;
    put_id(c, at, s->g->id[k]);
    for (int i = 0; i < p->n; i++) {
        memcpy(c->to.part + (part + i) * c->cols, p->part + i * s->D + c->col,
               (size_t)c->cols * sizeof(float));
        mask |= 1U << m->node_of[p->lane[i]];
    }
    if (c->to.mask) c->to.mask[at] = mask;
}

/* Returns the last of a source's cuts that begins at or before the row of an id. */
static int cut_of(const source *s, int64_t id) {
    int lo = 0, hi = s->n_cuts - 1;
    while (lo < hi) {
        int mid = (lo + hi + 1) / 2;
        if ((uint64_t)s->cuts[mid].row <= (uint64_t)id)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

void cr_row_meet_put(const cr_row_meet *m, int from, int64_t k, const cr_row_parts *p) {
    const source *s = m->sources[from];
    int last = cut_of(s, s->g->id[k]);
    for (int i = last; i >= 0 && s->cuts[i].row == s->cuts[last].row; i--)
        put_cut(m, s, &s->cuts[i], k, p);
}

float *cr_row_meet_room(const cr_row_meet *m, int from, int64_t k, int64_t *n) {
    const source *s = m->sources[from];
    const cut *c = &s->cuts[cut_of(s, s->g->id[k])];
    int64_t at = k - c->first;
    if (c->cols != s->D || !one_node(m, m->lanes->meet->self)) return NULL;
    if (*n > c->to.n - at) *n = c->to.n - at;
    for (int64_t i = 0; i < *n; i++)
        put_id(c, at + i, s->g->id[k + i]);
    return c->to.part + at * c->cols;
}

/* ---- after: the ids of all holders ---- */

/* Adds the parts that a holder has of its id k behind the n parts that are there; returns how many
 * there are then. */
static int64_t add_parts(const cr_row_meet *m, target *t, int holder, int64_t k, int64_t *from,
                         int64_t n) {
    const share *s = &t->by[holder];
    unsigned mask = s->mask ? s->mask[k] : 1;
    for (; mask; mask &= mask - 1) {
        int node = __builtin_ctz(mask);
        t->part[n] = s->part + (*from)++ * t->cut->cols;
        t->lane[n++] = (uint16_t)m->lanes->node[m->lanes->node0[holder] + node].lane;
    }
    return n;
}

/* The holders that have ids left, as a heap: the one with the least id comes first, of equal ids
 * that of the least holder. Ids use all 64 bits and are sorted as unsigned numbers. */
typedef struct heap {
    int n, holder[CR_MAX_LANES];
    uint64_t id[CR_MAX_LANES]; /* by holder: the next one */
} heap;

static bool comes_first(const heap *h, int a, int b) {
    uint64_t x = h->id[h->holder[a]], y = h->id[h->holder[b]];
    return x < y || (x == y && h->holder[a] < h->holder[b]);
}

static void swap(heap *h, int a, int b) {
    int x = h->holder[a];
    h->holder[a] = h->holder[b];
    h->holder[b] = x;
}

static void sink_down(heap *h, int at) {
    for (int child; (child = 2 * at + 1) < h->n; at = child) {
        if (child + 1 < h->n && comes_first(h, child + 1, child)) child++;
        if (comes_first(h, at, child)) return;
        swap(h, at, child);
    }
}

/* Makes room for what all holders together gave to a target. */
static cr_code fit_target(const cr_row_meet *m, target *t, cr_err *err) {
    int64_t n = 0, parts = 0;
    for (int h = 0; h < m->lanes->meet->n; h++) {
        n += t->by[h].n;
        parts += t->by[h].n_parts;
    }
    CR_TRY(grow(&t->ids, &t->cap_ids, n + 1, sizeof(int64_t), err));
    CR_TRY(grow(&t->segs, &t->cap_segs, n + 1, sizeof(int64_t), err));
    /* one more than there are: merge_two writes ahead */
    CR_TRY(grow(&t->parts, &t->cap_parts, parts + 1, sizeof(float *), err));
    CR_TRY(grow(&t->lanes, &t->cap_lanes, parts + 1, sizeof(uint16_t), err));
    t->id = t->ids;
    t->seg = t->segs;
    t->part = t->parts;
    t->lane = t->lanes;
    return CR_OK;
}

/* merge_two is for two holders of one node each. Which id comes next cannot be predicted, so the
 * loop has no branch on it: both parts are written, and those that count stay. */
static void merge_two(const cr_row_meet *m, target *t) {
    const share *a = &t->by[0], *b = &t->by[1];
    const cr_lanes *lanes = m->lanes;
    uint16_t lane_a = (uint16_t)lanes->node[lanes->node0[0]].lane,
             lane_b = (uint16_t)lanes->node[lanes->node0[1]].lane;
    int64_t i = 0, j = 0, n = 0, parts = 0, cols = t->cut->cols;
    while (i < a->n || j < b->n) {
        bool both = i < a->n && j < b->n;
        int64_t x = get_id(t->cut, i < a->n ? a : b, i < a->n ? i : j),
                y = both ? get_id(t->cut, b, j) : x;
        int take_a = both ? (uint64_t)x <= (uint64_t)y : i < a->n,
            take_b = both ? (uint64_t)y <= (uint64_t)x : j < b->n;
        t->seg[n] = parts;
        t->id[n++] = take_a ? x : y;
        t->part[parts] = a->part + i * cols;
        t->lane[parts] = lane_a;
        parts += take_a;
        i += take_a;
        t->part[parts] = b->part + j * cols;
        t->lane[parts] = lane_b;
        parts += take_b;
        j += take_b;
    }
    t->n = n;
    t->seg[n] = parts;
}

static void merge_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const cr_row_meet *m = ctx;
    target *t = m->targets[item];
    if (m->lanes->meet->n == 2 && one_node(m, 0) && one_node(m, 1)) {
        merge_two(m, t);
        return;
    }
    int64_t parts = 0, next[CR_MAX_LANES], from[CR_MAX_LANES]; /* those of holders are set */
    heap left;
    left.n = 0;
    for (int h = 0; h < m->lanes->meet->n; h++) {
        next[h] = from[h] = 0;
        if (t->by[h].n == 0) continue;
        left.id[h] = (uint64_t)get_id(t->cut, &t->by[h], 0);
        left.holder[left.n++] = h;
    }
    for (int at = left.n / 2 - 1; at >= 0; at--)
        sink_down(&left, at);
    t->n = 0;
    while (left.n > 0) {
        int h = left.holder[0];
        int64_t id = (int64_t)left.id[h];
        if (t->n == 0 || t->id[t->n - 1] != id) {
            t->seg[t->n] = parts;
            t->id[t->n++] = id;
        }
        parts = add_parts(m, t, h, next[h]++, &from[h], parts);
        if (next[h] < t->by[h].n)
            left.id[h] = (uint64_t)get_id(t->cut, &t->by[h], next[h]);
        else
            left.holder[0] = left.holder[--left.n];
        sink_down(&left, 0);
    }
    t->seg[t->n] = parts;
}

cr_code cr_row_meet_close(cr_row_meet *m, cr_err *err) {
    const cr_meet *meet = m->lanes->meet;
    if (m->pairs.n_cuts > 0) {
        lay_in(m, &m->pairs, false, m->pairs.mem);
        lay_out(m, &m->pairs, m->pairs.out);
        keep_own(m, &m->pairs);
        meet->exchange(meet->ctx, m->pairs.out, m->out_at, m->pairs.mem, m->at);
    }
    if (m->all.n_cuts > 0) {
        lay_in(m, &m->all, true, m->all.mem);
        meet->gather(meet->ctx, m->all.mem, m->at);
    }
    for (int i = 0; i < m->n_targets; i++)
        CR_TRY(fit_target(m, m->targets[i], err));
    cr_pool_run(m->pool, m->n_targets, merge_item, m);
    return CR_OK;
}

cr_met_ids cr_row_meet_ids(const cr_row_meet *m, int to) {
    return (cr_met_ids){m->targets[to]->n, m->targets[to]->id};
}

/* Adds two rows, or copies one where b is NULL. Most tables have 16 columns, which the compiler
 * then knows. */
CR_INLINE void add_rows(float *out, const float *a, const float *b, int64_t cols) {
    for (int64_t d = 0; d < cols; d++)
        out[d] = b ? a[d] + b[d] : a[d];
}

void cr_row_meet_sums(const cr_row_meet *m, int to, int64_t k, int64_t n, float *out) {
    const target *t = m->targets[to];
    int64_t cols = t->cut->cols;
    for (int64_t end = k + n; k < end; k++, out += cols) {
        const float **part = t->part + t->seg[k];
        int64_t parts = t->seg[k + 1] - t->seg[k];
        if (parts <= 2) {
            const float *b = parts == 2 ? part[1] : NULL;
            if (cols == 16)
                add_rows(out, part[0], b, 16);
            else
                add_rows(out, part[0], b, cols);
            continue;
        }
        cr_row_parts p; /* not set to zeros: it is large */
        p.n = (int)parts;
        p.part = out;
        for (int i = 0; i < p.n; i++) {
            memcpy(out + i * cols, part[i], (size_t)cols * sizeof(float));
            p.lane[i] = t->lane[t->seg[k] + i];
        }
        cr_parts_join(&p, cols, NULL);
    }
}
