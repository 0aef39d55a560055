/*
 * input.c - source nodes: looked-up embeddings with dense floats beside them, and labels. See
 * input.h.
 *
 * A lookup writes every feature straight to its place in the group's row: there is no concat. A
 * feature with one id per row is a copied record; others are pooled. A row without ids gives zeros.
 */
#include "op/input.h"

#include <string.h>

#include "kern/kern.h"
#include "op/distinct.h"
#include "op/op.h"

#define AHEAD 16 /* ids between fetching a record and pooling it */

typedef struct lookup {
    cr_look *v;
    int n;
    int64_t width;
    int axis;             /* only for lookup_seq */
    const cr_node *codes; /* codes of rows with equal ids; NULL: not known */
    const int *col;       /* per piece: its column in codes, or -1 */
} lookup;

static void lookup_infer(cr_node *n) {
    lookup *a = n->attr;
    n->cls = CR_ROW;
    n->width = a->width;
    for (int i = 0; i < a->n; i++)
        n->needs_grad |= a->v[i].table && a->v[i].table->trainable;
}

static void look_dense(const cr_look *k, const cr_batch *b, const cr_tile *t, int64_t from,
                       int64_t to, float *y, int64_t ld) {
    const float *x = b->dense + t->row0 * b->dense_width + k->dense_off;
    for (int64_t r = from; r < to; r++)
        memcpy(y + r * ld, x + r * b->dense_width, (size_t)k->width * sizeof(float));
}

/* Returns where the rows of a piece's ids lie in this batch. */
static cr_view view_of(const cr_look *k, const cr_step_input *in) {
    if (k->table->owner) return in->views[k->view];
    return cr_table_view(k->table, in->batch->sparse[k->slot].ids);
}

/* Pools the ids [from, from + n) into one row. */
static void look_bag(const cr_look *k, const cr_view *v, const cr_jagged *j, int32_t from,
                     int32_t n, float *y) {
    cr_view_pool(v, from, j->w ? j->w + from : NULL, n, y);
    if (k->mean && n > 1)
        for (int64_t d = 0; d < v->D; d++)
            y[d] /= (float)n;
}

static void look_bags(const cr_look *k, const cr_view *v, const cr_jagged *j, const cr_tile *t,
                      int64_t from, int64_t to, float *y, int64_t ld) {
    const int32_t *off = j->off + t->row0;
    int64_t last = off[t->n_rows], fetched = from == 0 ? off[0] : off[from] + AHEAD;
    for (int64_t r = from; off[to] == off[from] && r < to; r++)
        memset(y + r * ld, 0, (size_t)v->D * sizeof(float));
    for (int64_t r = off[to] == off[from] ? to : from; r < to; r++) {
        for (; fetched < last && fetched < off[r + 1] + AHEAD; fetched++)
            cr_view_fetch(v, fetched);
        look_bag(k, v, j, off[r], off[r + 1] - off[r], y + r * ld);
    }
}

bool cr_look_differs(const cr_look *k, const cr_patch *p, bool seq) {
    if (k->table) return p->sparse[k->slot];
    return seq ? p->dense_seq[k->slot] : p->dense[k->dense_off];
}

const float *cr_lookup_then(const cr_tile *t, const cr_node *n, int64_t r) {
    const cr_patch *p = ((const cr_step_input *)cr_tile_input(t))->patch;
    return p->rows[n->id] + p->at[t->row0 + r] * cr_ld(n);
}

float *cr_before(const cr_tile *t, const cr_node *n) {
    const cr_step_input *in = cr_tile_input(t);
    if (!in || !in->before || !in->before[n->id]) return NULL;
    return in->before[n->id] + t->row0 * n->op->shift_kept(n);
}
const float *cr_before_of(const cr_tile *t, const cr_node *n, int64_t r) {
    const cr_patch *p = ((const cr_step_input *)cr_tile_input(t))->patch;
    return p->before[n->id] + p->at[t->row0 + r] * n->op->shift_kept(n);
}

/* Is only a part of this lookup made? */
static bool patched(const cr_node *n, const cr_step_input *in) {
    return in->patch && in->patch->rows[n->id];
}

/* Looks up all features of a few rows at a time: a cache line that two features share is then still
 * in the first-level cache when the second feature writes it. */
#define ROWS 32

static void lookup_forward(const cr_node *n, cr_tile *t) {
    const lookup *a = n->attr;
    const cr_step_input *in = cr_tile_input(t);
    const cr_batch *b = in->batch;
    int64_t ld = cr_ld(n), R = t->n_rows;
    const cr_patch *p = patched(n, in) ? in->patch : NULL;
    for (int64_t from = 0; from < R; from += ROWS) {
        int64_t to = from + ROWS < R ? from + ROWS : R;
        for (int64_t r = from; p && !p->bare[n->id] && r < to; r++)
            memcpy(cr_val(t, n) + r * ld, p->rows[n->id] + p->at[t->row0 + r] * ld,
                   (size_t)n->width * sizeof(float));
        for (int i = 0; i < a->n; i++) {
            const cr_look *k = &a->v[i];
            if (p && !cr_look_differs(k, p, false)) continue;
            float *y = cr_val(t, n) + k->out;
            if (!k->table) {
                look_dense(k, b, t, from, to, y, ld);
                continue;
            }
            const cr_jagged *j = &b->sparse[k->slot];
            cr_view v = view_of(k, in);
            if (!j->off)
                cr_view_rows(&v, t->row0 + from, j->w ? j->w + t->row0 + from : NULL, to - from,
                             R - to, y + from * ld, ld);
            else
                look_bags(k, &v, j, t, from, to, y, ld);
        }
    }
}

/* Sums the rows of each code into the first of them. at has room for 3 numbers per row. The
 * processor cannot predict whether a code is new, so both outcomes are written and one is kept. */
static void gather(float *dx, int64_t ldx, int64_t width, const int32_t *code, int64_t ld,
                   int64_t rows, int32_t *at) {
    int32_t *first = at, *to = at + rows, *from = to + rows, u = 0;
    int64_t n = 0;
    for (int64_t r = 0; r < rows; r++) {
        int32_t c = code[r * ld];
        bool next = c == u;
        first[u] = next ? (int32_t)r : first[u];
        to[n] = first[c];
        from[n] = (int32_t)r;
        n += !next;
        u += next;
    }
    cr_kern->put_rows(dx, ldx, to, dx, ldx, from, n, width, true);
}

/* The gradient stays where it is; emb/update.c reads it after the step. */
static void lookup_backward(const cr_node *n, cr_tile *t) {
    const lookup *a = n->attr;
    if (!a->codes || (n->lane && cr_codes_solo(a->codes))) return;
    for (int i = 0; i < a->n; i++) {
        const uint8_t *shared = cr_lookup_shared(t->w, n, i);
        if (shared && shared[t->lane] && a->v[i].table->trainable)
            gather(cr_grad(t, n) + a->v[i].out, cr_ld(n), a->v[i].width,
                   cr_codes_at(t, a->codes) + a->col[i], cr_ld(a->codes), t->n_rows,
                   (int32_t *)(void *)t->scratch);
    }
}

const cr_op_type cr_op_lookup = {.name = "lookup",
                                 .infer = lookup_infer,
                                 .forward = lookup_forward,
                                 .backward = lookup_backward,
                                 .keep_grad = true};

static lookup pieces_of(cr_graph *g, const cr_look *v, int n) {
    lookup a = {.v = CR_NEW_N(&g->arena, cr_look, n), .n = n};
    for (int i = 0; i < n; i++) {
        a.v[i] = v[i];
        a.v[i].out = a.width;
        a.width += v[i].width;
    }
    return a;
}

cr_node *cr_lookup(cr_graph *g, const cr_look *v, int n) {
    lookup a = pieces_of(g, v, n);
    return cr_graph_op(g, &cr_op_lookup, NULL, 0, &a, sizeof(a));
}

const cr_look *cr_lookup_pieces(const cr_node *n, int *count) {
    const lookup *a = n->attr;
    *count = a->n;
    return a->v;
}

void cr_lookup_set_view(cr_node *n, int piece, int view) {
    ((lookup *)n->attr)->v[piece].view = view;
}

void cr_lookup_set_codes(cr_node *n, const cr_node *codes, const int *col, bool forward) {
    lookup *a = n->attr;
    a->codes = codes;
    a->col = col;
    n->lane = forward;
    n->lane_back = !forward;
    n->scratch_row = 3; /* for gather */
}

const uint8_t *cr_lookup_shared(const cr_work *w, const cr_node *n, int piece) {
    const lookup *a = n->attr;
    bool has = a->codes && a->col[piece] >= 0 && !cr_table_clips(a->v[piece].table);
    return has ? cr_codes_shared(w, a->codes, a->col[piece]) : NULL;
}

/* ---- lookup_seq ---- */

static void seq_infer(cr_node *n) {
    lookup_infer(n);
    n->cls = CR_SEQ;
    n->axis = ((const lookup *)n->attr)->axis;
}

/* Looks up the steps [from, from + count) of a sequence of ids; the next calls take the steps up to
 * `last`. */
static void look_steps(const cr_look *k, const cr_view *v, const cr_jagged *j, int64_t from,
                       int64_t count, int64_t last, float *y, int64_t ld) {
    if (!j->off) {
        cr_view_rows(v, from, j->w ? j->w + from : NULL, count, last - from - count, y, ld);
        return;
    }
    for (int64_t i = from; i < from + count; i++, y += ld)
        look_bag(k, v, j, j->off[i], j->off[i + 1] - j->off[i], y);
}

static void seq_piece(const cr_node *n, const cr_tile *t, const cr_look *k,
                      const cr_step_input *in) {
    const cr_jagged *j = k->table ? &in->batch->sparse[k->slot] : NULL;
    const cr_dense_seq *d = k->table ? NULL : &in->batch->dense_seq[k->slot];
    const int32_t *steps = (j ? j->steps : d->steps) + t->row0, *off = cr_seq_off(t, n->axis);
    cr_view v = j ? view_of(k, in) : (cr_view){0};
    int64_t ld = cr_ld(n);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + (off[r] - off[0]) * ld + k->out;
        int64_t want = off[r + 1] - off[r], has = steps[r + 1] - steps[r];
        int64_t count = want < has ? want : has;
        if (j)
            look_steps(k, &v, j, steps[r], count, steps[t->n_rows], y, ld);
        else
            for (int64_t i = 0; i < count; i++)
                memcpy(y + i * ld, d->v + (steps[r] + i) * k->width,
                       (size_t)k->width * sizeof(float));
        for (int64_t i = count; i < want; i++)
            memset(y + i * ld, 0, (size_t)k->width * sizeof(float));
    }
}

static void seq_forward(const cr_node *n, cr_tile *t) {
    const lookup *a = n->attr;
    const cr_step_input *in = cr_tile_input(t);
    const cr_patch *p = patched(n, in) ? in->patch : NULL;
    const int32_t *off = cr_seq_off(t, n->axis);
    for (int64_t r = 0; p && r < t->n_rows; r++)
        memcpy(cr_val(t, n) + (off[r] - off[0]) * cr_ld(n),
               p->rows[n->id] + p->axes[n->axis][p->at[t->row0 + r]] * cr_ld(n),
               (size_t)((off[r + 1] - off[r]) * cr_ld(n)) * sizeof(float));
    for (int i = 0; i < a->n; i++)
        if (!p || cr_look_differs(&a->v[i], p, true)) seq_piece(n, t, &a->v[i], in);
}

/* The gradient is only kept. */
static void seq_backward(const cr_node *n, cr_tile *t) {
    (void)n;
    (void)t;
}

const cr_op_type cr_op_lookup_seq = {.name = "lookup_seq",
                                     .infer = seq_infer,
                                     .forward = seq_forward,
                                     .backward = seq_backward,
                                     .keep_grad = true};

cr_node *cr_lookup_seq(cr_graph *g, int axis, const cr_look *v, int n) {
    lookup a = pieces_of(g, v, n);
    a.axis = axis;
    return cr_graph_op(g, &cr_op_lookup_seq, NULL, 0, &a, sizeof(a));
}

/* ---- label ---- */

static void label_infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = 1;
}

static void label_forward(const cr_node *n, cr_tile *t) {
    const cr_batch *b = ((const cr_step_input *)cr_tile_input(t))->batch;
    memcpy(cr_val(t, n), b->labels[*(const int *)n->attr] + t->row0,
           (size_t)t->n_rows * sizeof(float));
}

const cr_op_type cr_op_label = {.name = "label", .infer = label_infer, .forward = label_forward};

cr_node *cr_label(cr_graph *g, int k) {
    return cr_graph_op(g, &cr_op_label, NULL, 0, &k, sizeof(k));
}
