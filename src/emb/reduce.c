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

void cr_reduce_init(cr_reduce *r, int64_t D, float clip, const cr_use *uses, int n_uses) {
    static const char what[] = "updater tables";
    size_t n = (size_t)n_uses;
    *r = (cr_reduce){.D = D,
                     .clip = clip,
                     .n_uses = n_uses,
                     .uses = cr_alloc(n * sizeof(cr_use), what),
                     .x = cr_alloc(n * sizeof(*r->x), what),
                     .ld = cr_alloc(n * sizeof(*r->ld), what),
                     .shared = cr_alloc(n * sizeof(*r->shared), what)};
    memcpy(r->uses, uses, n * sizeof(cr_use));
}

void cr_reduce_clear(cr_reduce *r) {
    cr_free(r->uses);
    cr_free(r->x);
    cr_free(r->ld);
    cr_free(r->shared);
}

/* Returns how many ids are pooled together with entry i: those of its row, or of its step. */
static int32_t ids_beside(const cr_reduce *r, const cr_use *use, const cr_jagged *j, int64_t i) {
    int64_t row = r->entry[i].row;
    if (!use->seq) return j->off[row + 1] - j->off[row];
    int64_t a = 0, z = j->steps[r->batch->n_rows]; /* a: the step that holds the entry */
    while (z - a > 1) {
        int64_t m = (a + z) / 2;
        if (j->off[m] <= (int64_t)r->pos[i])
            a = m;
        else
            z = m;
    }
    return j->off[a + 1] - j->off[a];
}

static const cr_use *use_of(const cr_reduce *r, cr_entry e) {
    return &r->uses[cr_entry_slot(e)];
}

static const float *grad_of(const cr_reduce *r, cr_entry e) {
    const cr_use *use = use_of(r, e);
    return use->grad + (int64_t)e.row * use->ld;
}

/* Adds to out (or sets it to) the gradient that entry number i sends to its id. As in FBGEMM,
 * clipping acts on the gradient of each looked-up value, before equal ids are summed. */
static void add_entry(const cr_reduce *r, int64_t i, float *out, bool set) {
    cr_entry e = r->entry[i];
    const cr_use *use = use_of(r, e);
    const cr_jagged *j = &r->batch->sparse[use->slot];
    const float *gr = grad_of(r, e);
    int64_t D = r->D;
    float c = j->w ? j->w[r->pos ? r->pos[i] : e.row] : 1.0f, clip = r->clip, unscale = r->unscale;
    if (use->mean && j->off) c = c / (float)ids_beside(r, use, j, i);
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
    cr_entry e = r->entry[i];
    const uint8_t *shared = use_of(r, e)->shared;
    return e.at == r->entry[i - 1].at && shared && shared[cr_entry_lane(e)];
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
    r->pos = shared == all ? NULL : g->pos; /* lookups share no ids of sequences or with weights */
    r->some = shared > 0 && shared < all;
    r->plain = r->clip == 0 && unscale == 1;
    for (int k = 0; k < r->n_uses; k++) {
        const cr_use *use = &r->uses[k];
        const cr_jagged *j = &b->sparse[use->slot];
        r->plain &= !j->w && !(use->mean && j->off);
        r->x[k] = use->grad;
        r->ld[k] = use->ld;
        r->shared[k] = use->shared;
    }
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
        int lane = r->lanes->first + (int)cr_entry_lane(r->entry[i]);
        if (i + FETCHED < end) fetch_entry(r, i + FETCHED);
        if (r->some && i > first && counted(r, i)) continue;
        bool next = p->n == 0 || lane != p->lane[p->n - 1];
        if (next) p->lane[p->n++] = lane;
        add_entry(r, i, p->part + (p->n - 1) * r->D, next);
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
    if (r->plain) {
        cr_kern->lane_sums(out, r->x, r->ld, r->entry, r->seg + k, n, r->seg[k + n + more],
                           r->lanes->first, r->some ? r->shared : NULL, r->D);
        return;
    }
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
    for (uint32_t i = g->seg[k]; i < g->seg[k + 1]; i++) {
        const float *gr = grad_of(r, g->entry[i]);
        for (int64_t d = 0; d < r->D; d++)
            worst += gr[d] * 0; /* adds 0, or NaN where gr[d] is not finite */
    }
    return worst == 0;
}
