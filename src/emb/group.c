/*
 * group.c - a least-significant-digit radix sort of (id, entry) pairs with 11-bit digits. It makes
 * as many passes as the distance from the smallest to the largest id of the batch needs (one for a
 * small vocabulary), and skips the passes whose digit is the same in all ids. One read takes all
 * histograms; each has as many bins as its digit can have in that range.
 *
 * The sort is stable: the entries of one id stay in lane order, which is the order in which their
 * gradients are summed.
 */
#include "emb/group.h"

#include <string.h>

#define DIGIT      11
#define BINS       (1 << DIGIT)
#define MAX_PASSES 6
#define ALL_BINS   (5 * BINS + (1 << (64 - 5 * DIGIT))) /* the last digit has fewer bits */

typedef struct pair {
    uint64_t id;
    uint32_t entry;
} pair;

void cr_group_clear(cr_group *g) {
    cr_free(g->mem);
    g->mem = NULL;
    g->cap = 0;
}

typedef struct arrays {
    pair *a, *b;
    int64_t *id, *seg, *head_seg;
    uint32_t *entry, *head, *row, *pos, *slot;
    uint16_t *lane;
} arrays;

static size_t up64(size_t n) {
    return (n + 63) / 64 * 64;
}

/* Returns how many ids to allocate for when a batch has n of them. */
static size_t room_for(const cr_group *g, int64_t n) {
    return (size_t)(g->mem && n <= g->cap ? g->cap : n + n / 4 + 64);
}

/* One block of memory holds everything. It is kept while no batch is larger than all before it. */
static size_t size_of(size_t c) {
    return 2 * up64(c * sizeof(pair)) + 3 * up64((c + 1) * sizeof(int64_t)) +
           5 * up64(c * sizeof(uint32_t)) + up64(c * sizeof(uint16_t));
}

static void give(cr_group *g, void *mem, size_t c) {
    cr_group_clear(g);
    g->mem = mem;
    g->cap = (int64_t)c;
}

static arrays carve(cr_group *g, int64_t n) {
    size_t c = room_for(g, n);
    if (c != (size_t)g->cap) give(g, cr_alloc(size_of(c), "grouping of ids"), c);
    char *p = g->mem;
    arrays m;
#define TAKE(member, T, count)                                                                     \
    m.member = (T *)(void *)p;                                                                     \
    p += up64((count) * sizeof(T))
    TAKE(a, pair, c);
    TAKE(b, pair, c);
    TAKE(id, int64_t, c + 1);
    TAKE(seg, int64_t, c + 1);
    TAKE(head_seg, int64_t, c + 1);
    TAKE(entry, uint32_t, c);
    TAKE(head, uint32_t, c);
    TAKE(row, uint32_t, c);
    TAKE(pos, uint32_t, c);
    TAKE(slot, uint32_t, c);
    TAKE(lane, uint16_t, c);
#undef TAKE
    return m;
}

static uint32_t add(arrays *m, uint32_t e, int64_t id, int64_t row, int64_t pos, int slot,
                    int lane) {
    m->a[e] = (pair){(uint64_t)id, e};
    m->row[e] = (uint32_t)row;
    m->pos[e] = (uint32_t)pos;
    m->slot[e] = (uint32_t)slot;
    m->lane[e] = (uint16_t)lane;
    return e + 1;
}

/* Finds the rows of a slot that hold the ids of sample r: [*from, returned). Without an axis that
 * is row r itself, otherwise the steps of the sample, as many of them as the axis has. */
static int64_t rows_of(const cr_jagged *j, const int32_t *axis, int64_t r, int64_t *from) {
    *from = axis ? j->steps[r] : r;
    if (!axis) return r + 1;
    int64_t len = j->steps[r + 1] - j->steps[r], most = axis[r + 1] - axis[r];
    return *from + (len < most ? len : most);
}

/* Writes the entries in lane order and returns how many there are. */
static int64_t collect(cr_group *g, const cr_batch *b, const int32_t *const *axes,
                       const cr_lanes *lanes, arrays *m) {
    uint32_t e = 0;
    int64_t all = cr_lanes_all(lanes, b->n_rows, b->global_rows), row0 = cr_lanes_row0(lanes, all);
    for (int lane = 0; lane < lanes->n; lane++) {
        int64_t r0 = cr_lane_begin(all, lanes->all, lanes->first + lane) - row0,
                r1 = cr_lane_begin(all, lanes->all, lanes->first + lane + 1) - row0;
        for (int s = 0; s < g->n_slots; s++) {
            const cr_jagged *j = &b->sparse[g->slots[s].slot];
            const int32_t *axis = g->slots[s].seq ? axes[g->slots[s].seq - 1] : NULL;
            if (!j->off && !axis) {
                for (int64_t r = r0; r < r1; r++)
                    e = add(m, e, j->ids[r], r, r, s, lane);
                continue;
            }
            for (int64_t r = r0; r < r1; r++) {
                int64_t from, end = rows_of(j, axis, r, &from), row = axis ? axis[r] : r;
                for (int64_t i = from; i < end; i++, row++)
                    for (int64_t k = j->off ? j->off[i] : i; k < (j->off ? j->off[i + 1] : i + 1);
                         k++)
                        e = add(m, e, j->ids[k], row, k, s, lane);
            }
        }
    }
    return e;
}

static int digit(uint64_t id, int p) {
    return (int)((id >> (p * DIGIT)) & (BINS - 1));
}

/* Sorts the entries by id, taken as an unsigned number. *passes receives how often they were
 * moved. */
static pair *sort(arrays *m, int64_t n, int *passes) {
    uint32_t counts[ALL_BINS];
    uint64_t low = n > 0 ? m->a[0].id : 0, high = low;
    for (int64_t i = 0; i < n; i++) {
        low = m->a[i].id < low ? m->a[i].id : low;
        high = m->a[i].id > high ? m->a[i].id : high;
    }
    uint64_t range = high - low;
    int digits = 0, bins[MAX_PASSES]; /* bins: how many values each digit can have */
    for (; digits < MAX_PASSES && range >> (digits * DIGIT) != 0; digits++) {
        uint64_t most = range >> (digits * DIGIT);
        bins[digits] = most < BINS ? (int)most + 1 : BINS;
        memset(counts + digits * BINS, 0, (size_t)bins[digits] * sizeof(*counts));
    }
    for (int64_t i = 0; i < n; i++)
        for (int p = 0; p < digits; p++)
            counts[p * BINS + digit(m->a[i].id - low, p)]++;
    pair *from = m->a, *to = m->b;
    *passes = 0;
    for (int p = 0; p < digits; p++) {
        uint32_t *count = counts + p * BINS, at = 0;
        if (count[digit(from[0].id - low, p)] == n) continue;
        ++*passes;
        for (int k = 0; k < bins[p]; k++) {
            uint32_t c = count[k];
            count[k] = at;
            at += c;
        }
        for (int64_t i = 0; i < n; i++)
            to[count[digit(from[i].id - low, p)]++] = from[i];
        pair *t = from;
        from = to;
        to = t;
    }
    return from;
}

int64_t cr_group_ids(const cr_batch *b, int slot) {
    const cr_jagged *j = &b->sparse[slot];
    int64_t rows = j->steps ? j->steps[b->n_rows] : b->n_rows;
    return j->off ? j->off[rows] : rows;
}

static int64_t all_ids(const cr_group *g, const cr_batch *b) {
    int64_t n = 0;
    for (int s = 0; s < g->n_slots; s++)
        n += cr_group_ids(b, g->slots[s].slot);
    return n;
}

cr_code cr_group_fit(cr_group *g, const cr_batch *b, cr_err *err) {
    int64_t n = all_ids(g, b);
    if (n > UINT32_MAX)
        return cr_fail(err, CR_EDATA, "a batch has %lld ids for one table; use smaller batches",
                       (long long)n);
    size_t c = room_for(g, n);
    if (c == (size_t)g->cap) return CR_OK;
    void *mem;
    CR_TRY(cr_try_alloc(&mem, size_of(c), "grouping of ids", err));
    give(g, mem, c);
    return CR_OK;
}

void cr_group_run(cr_group *g, const cr_batch *b, const int32_t *const *axes,
                  const cr_lanes *lanes) {
    int64_t n = all_ids(g, b);
    if (n > UINT32_MAX) CR_BUG("a batch has more ids than entries can be numbered");
    arrays m = carve(g, n);
    n = collect(g, b, axes, lanes, &m);
    const pair *p = sort(&m, n, &g->passes);
    int64_t u = 0, h = 0, before = -1; /* no entry has the place -1 */
    for (int64_t i = 0; i < n; i++) {
        uint32_t e = p[i].entry;
        int64_t place = (int64_t)m.lane[e] * g->n_slots + m.slot[e];
        bool next = i == 0 || p[i].id != p[i - 1].id;
        m.entry[i] = e;
        m.head[h] = e;
        m.id[u] = (int64_t)p[i].id;
        m.seg[u] = i;
        m.head_seg[u] = h;
        h += next || place != before;
        u += next;
        before = place;
    }
    m.seg[u] = n;
    m.head_seg[u] = h;
    g->n = n;
    g->n_uniq = u;
    g->id = m.id;
    g->seg = m.seg;
    g->entry = m.entry;
    g->head = m.head;
    g->head_seg = m.head_seg;
    g->row = m.row;
    g->pos = m.pos;
    g->slot = g->n_slots > 1 ? m.slot : NULL;
    g->lane = m.lane;
}

int64_t cr_ids_find(const int64_t *ids, int64_t n, int64_t id) {
    int64_t lo = 0;
    while (n > 0) {
        int64_t half = n / 2;
        if ((uint64_t)ids[lo + half] < (uint64_t)id) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

/* ---- the lists of features that are grouped ---- */

void cr_groups_clear(cr_groups *gs) {
    for (int i = 0; i < gs->n; i++) {
        cr_group_clear(&gs->v[i]);
        cr_free((void *)(uintptr_t)gs->v[i].slots);
    }
    cr_free(gs->v);
    memset(gs, 0, sizeof(*gs));
}

/* Returns the number of the group of these features; -1: there is none. */
static int find(const cr_groups *gs, const cr_group_slot *slots, int n) {
    for (int i = 0; i < gs->n; i++) {
        bool same = gs->v[i].n_slots == n;
        for (int k = 0; same && k < n; k++)
            same = gs->v[i].slots[k].slot == slots[k].slot && gs->v[i].slots[k].seq == slots[k].seq;
        if (same) return i;
    }
    return -1;
}

const cr_group *cr_groups_same(const cr_groups *gs, const cr_group *g) {
    int i = find(gs, g->slots, g->n_slots);
    return i < 0 ? NULL : &gs->v[i];
}

int cr_groups_find(cr_groups *gs, const cr_group_slot *slots, int n) {
    int found = find(gs, slots, n);
    if (found >= 0) return found;
    if (gs->n == gs->cap) {
        int cap = gs->cap ? 2 * gs->cap : 16;
        gs->v = cr_realloc(gs->v, (size_t)gs->cap * sizeof(cr_group),
                           (size_t)cap * sizeof(cr_group), "id groups");
        gs->cap = cap;
    }
    cr_group_slot *copy = cr_alloc((size_t)n * sizeof(*copy), "id groups");
    memcpy(copy, slots, (size_t)n * sizeof(*copy));
    gs->v[gs->n] = (cr_group){.slots = copy, .n_slots = n};
    return gs->n++;
}
