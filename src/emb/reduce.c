/*
 * reduce.c - see reduce.h. Most ids occur once in a batch: their gradient is just the row of the
 * lookup's gradient. The other ids have one partial sum per lane, and these are merged in the order
 * of the lanes' tree.
 */
#include "emb/reduce.h"

#include <string.h>

#include "kern/kern.h"

#define FETCHED 16 /* gradient rows of one id that are fetched before they are needed */
#define AHEAD   8  /* gradients are fetched this many ids before they are needed */

/* Returns how many ids are pooled together with the one at pos: those of its row, or of its
 * step. */
static int32_t ids_beside(const cr_reduce *r, const cr_use *use, const cr_jagged *j, int64_t row,
                          int64_t pos) {
    if (!use->seq) return j->off[row + 1] - j->off[row];
    int64_t a = 0, z = j->steps[r->batch->n_rows]; /* a: the step that holds pos */
    while (z - a > 1) {
        int64_t m = (a + z) / 2;
        if (j->off[m] <= pos)
            a = m;
        else
            z = m;
    }
    return j->off[a + 1] - j->off[a];
}

static const cr_use *use_of(const cr_reduce *r, uint32_t e) {
    return &r->uses[r->g->slot ? r->g->slot[e] : 0];
}

static const float *grad_of(const cr_reduce *r, uint32_t e) {
    const cr_use *use = use_of(r, e);
    return use->grad + (int64_t)r->g->row[e] * use->ld;
}

/* Adds to out (or sets it to) the gradient that entry e sends to its id. As in FBGEMM, clipping
 * acts on the gradient of each looked-up value, before equal ids are summed. */
static void add_entry(const cr_reduce *r, uint32_t e, float *out, bool set) {
    const cr_group *g = r->g;
    const cr_use *use = use_of(r, e);
    const cr_jagged *j = &r->batch->sparse[use->slot];
    const float *gr = grad_of(r, e);
    int64_t D = r->D;
    float c = j->w ? j->w[g->pos[e]] : 1.0f, clip = r->clip, unscale = r->unscale;
    if (use->mean && j->off) c = c / (float)ids_beside(r, use, j, g->row[e], g->pos[e]);
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

/* Is the gradient of entry i already part of that of the entry before it, which has the same id and
 * lane? */
static bool counted(const cr_reduce *r, int64_t i) {
    const cr_group *g = r->g;
    uint32_t e = r->entry[i], before = r->entry[i - 1];
    if (g->lane[e] != g->lane[before] || (g->slot && g->slot[e] != g->slot[before])) return false;
    const uint8_t *shared = use_of(r, e)->shared;
    return shared && shared[g->lane[e]];
}

/* Chooses the entries that have gradients. Where rows with equal ids share one gradient, it lies in
 * the first entry of each id, lane and feature. Most often that holds for all lanes, sometimes only
 * for some of them. */
void cr_reduce_begin(cr_reduce *r, const cr_batch *b, const cr_group *g, const cr_lanes *lanes,
                     float unscale) {
    r->batch = b;
    r->g = g;
    r->lanes = lanes;
    r->unscale = unscale;
    int64_t shared = 0, all = (int64_t)r->n_uses * lanes->n;
    for (int k = 0; k < r->n_uses; k++)
        for (int l = 0; r->uses[k].shared && l < lanes->n; l++)
            shared += r->uses[k].shared[l];
    r->entry = shared == all ? g->head : g->entry;
    r->seg = shared == all ? g->head_seg : g->seg;
    r->some = shared > 0 && shared < all;
}

/* The gradients of an id lie far apart in the batch, so they are fetched before they are needed:
 * the first FETCHED of them while earlier ids are summed, the others FETCHED entries ahead. */
CR_FETCH fetch_entry(const cr_reduce *r, int64_t i) {
    const float *gr = grad_of(r, r->entry[i]);
    for (int64_t d = 0; d < r->D; d += 16)
        __builtin_prefetch(gr + d);
    __builtin_prefetch(gr + r->D - 1);
}
CR_FETCH fetch_id(const cr_reduce *r, int64_t k) {
    int64_t i = r->seg[k], end = r->seg[k + 1];
    end = end - i > FETCHED ? i + FETCHED : end;
    for (; i < end; i++)
        fetch_entry(r, i);
}

void cr_reduce_fetch(const cr_reduce *r, int64_t k, int64_t n) {
    for (int64_t end = n < AHEAD ? k + n : k + AHEAD; k < end; k++)
        fetch_id(r, k);
}

void cr_reduce_ahead(const cr_reduce *r, int64_t k, int64_t last) {
    if (k + AHEAD < last) fetch_id(r, k + AHEAD);
}

void cr_reduce_lanes(const cr_reduce *r, int64_t k, cr_row_parts *p) {
    int64_t first = r->seg[k], end = r->seg[k + 1];
    p->n = 0;
    for (int64_t i = first; i < end; i++) {
        uint32_t e = r->entry[i];
        int lane = r->lanes->first + r->g->lane[e];
        if (i + FETCHED < end) fetch_entry(r, i + FETCHED);
        if (r->some && i > first && counted(r, i)) continue;
        bool next = p->n == 0 || lane != p->lane[p->n - 1];
        if (next) p->lane[p->n++] = lane;
        add_entry(r, e, p->part + (p->n - 1) * r->D, next);
    }
}

void cr_parts_join(cr_row_parts *p, int64_t D, const uint16_t *node) {
    for (int width = 2; p->n > 1 && width <= CR_MAX_LANES; width *= 2) {
        int m = 0;
        for (int a = 0; a < p->n; a++, m++) {
            float *to = p->part + m * D, *from = p->part + a * D;
            if (to != from) memcpy(to, from, (size_t)D * sizeof(float));
            p->lane[m] = p->lane[a];
            if (a + 1 == p->n || p->lane[a] / width != p->lane[a + 1] / width) continue;
            if (node && node[p->lane[a]] != node[p->lane[a + 1]]) continue;
            const float *other = p->part + ++a * D;
            for (int64_t d = 0; d < D; d++)
                to[d] = to[d] + other[d];
        }
        p->n = m;
    }
}

void cr_reduce_rows(const cr_reduce *r, int64_t k, int64_t n, int64_t more, float *out) {
    cr_row_parts p;
    for (int64_t end = k + n, last = end + more; k < end; k++, out += r->D) {
        cr_reduce_ahead(r, k, last);
        p.part = out; /* the partial sums use the space of rows that are written later */
        cr_reduce_lanes(r, k, &p);
        cr_parts_join(&p, r->D, NULL);
    }
}

bool cr_reduce_finite(const cr_reduce *r, int64_t k) {
    const cr_group *g = r->g;
    float worst = 0;
    for (int64_t i = g->seg[k]; i < g->seg[k + 1]; i++) {
        const float *gr = grad_of(r, g->entry[i]);
        for (int64_t d = 0; d < r->D; d++)
            worst += gr[d] * 0; /* adds 0, or NaN where gr[d] is not finite */
    }
    return worst == 0;
}
