/*
 * compile.c - compiles a graph to a plan: which calls run, in which phase, on which buffers.
 *
 * A call that reads a WHOLE value runs in a later phase than the calls that add to it; the same
 * holds for the gradient of a WHOLE value. Everything else runs as early as its inputs allow, so a
 * network without batch statistics is one phase: forward, loss and backward of a tile in one go.
 * Inside a phase, forward calls run in node order, then backward calls in reverse order. A batch op
 * (one that sees all rows) runs alone at the beginning of a phase, so it too runs in a later phase
 * than its inputs.
 */
#include <string.h>

#include "graph/plan_int.h"

static int imax(int a, int b) {
    return a > b ? a : b;
}

/* reads returns how many inputs a node reads. */
static int reads(const slot *s, const cr_node *n) {
    return s->shifted ? 1 : n->n_in;
}

/* mark_used marks the nodes that the outputs (and losses) need. */
static void mark_used(cr_plan *pl) {
    const cr_graph *g = pl->g;
    for (int i = g->n - 1; i >= 0; i--) {
        const cr_node *n = g->nodes[i];
        slot *s = &pl->slots[i];
        s->used |= s->wanted || (pl->mode == CR_TRAIN && n->loss);
        if (n->op && pl->mode == CR_EVAL && (n->op->train_only || n->cls == CR_WHOLE))
            s->used = false;
        if (!s->used || s->given) continue;
        for (int k = 0; k < reads(s, n); k++)
            pl->slots[n->in[k]->id].used = true;
    }
}

/* mark_lanes finds the nodes that run once per lane. A source does so for the lane nodes that read
 * it; where they are shifted, it runs by tiles too. */
static void mark_lanes(cr_plan *pl) {
    const cr_graph *g = pl->g;
    bool shifts = false;
    for (int i = 0; i < g->n; i++) {
        pl->slots[i].lane = g->nodes[i]->lane && !pl->slots[i].shifted;
        shifts |= pl->slots[i].shifted;
    }
    for (int i = 0; shifts && i < g->n; i++)
        if (g->nodes[i]->op && g->nodes[i]->n_in == 0) pl->slots[i].lane = false;
    for (int i = 0; shifts && i < g->n; i++) {
        const cr_node *n = g->nodes[i];
        for (int k = 0; pl->slots[i].used && pl->slots[i].lane && k < n->n_in; k++)
            if (n->in[k]->lane && n->in[k]->n_in == 0) pl->slots[n->in[k]->id].lane = true;
    }
}

/* mark_grads marks where gradients flow: from the losses down, and only towards trainable nodes. */
static void mark_grads(cr_plan *pl) {
    const cr_graph *g = pl->g;
    if (pl->mode != CR_TRAIN) return;
    for (int i = g->n - 1; i >= 0; i--) {
        const cr_node *n = g->nodes[i];
        slot *s = &pl->slots[i];
        if (!s->used) continue;
        if (n->loss && n->needs_grad) s->grad = true;
        if (!s->grad || !n->op || (!n->op->backward && !n->op->unfold)) continue;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k]->needs_grad) pl->slots[n->in[k]->id].grad = true;
    }
}

static void set_phases(cr_plan *pl) {
    const cr_graph *g = pl->g;
    int last = 0;
    for (int i = 0; i < g->n; i++) {
        const cr_node *n = g->nodes[i];
        slot *s = &pl->slots[i];
        s->ph_b = -1;
        if (!s->used || s->given || !n->op) continue;
        for (int k = 0; k < reads(s, n); k++) {
            const slot *in = &pl->slots[n->in[k]->id];
            if (n->in[k]->op && in->used)
                s->ph_f = imax(s->ph_f, in->ph_f + (n->in[k]->cls == CR_WHOLE || n->op->batch));
        }
        last = imax(last, s->ph_f);
    }
    /* a node's backward runs after that of its users, which come later in node order: walk down */
    for (int i = g->n - 1; i >= 0; i--) {
        const cr_node *n = g->nodes[i];
        slot *s = &pl->slots[i];
        if (!s->grad || !n->op || !n->op->backward) continue;
        s->ph_b = imax(s->ph_b, s->ph_f);
        last = imax(last, s->ph_b);
        for (int k = 0; k < n->n_in; k++) {
            slot *in = &pl->slots[n->in[k]->id];
            if (in->grad && n->in[k]->op)
                in->ph_b =
                    imax(in->ph_b, s->ph_b + (n->in[k]->cls == CR_WHOLE || n->in[k]->op->batch));
        }
    }
    pl->n_phases = last + 1;
}

/* runs: is the node computed here? */
static bool runs(const slot *s) {
    return s->used && !s->given;
}

typedef enum kind { TILE, LANE, BATCH } kind;

static kind kind_of(const slot *s, const cr_node *n, bool back) {
    return n->op->batch ? BATCH : s->lane || (back && n->lane_back) ? LANE : TILE;
}

/* emit_forward adds the forward calls of phase p for one kind of node; returns their number. */
static int emit_forward(cr_plan *pl, int p, kind k) {
    int before = pl->n_code;
    for (int i = 0; i < pl->g->n; i++) {
        const cr_node *n = pl->g->nodes[i];
        if (runs(&pl->slots[i]) && n->op && n->op->forward &&
            kind_of(&pl->slots[i], n, false) == k && pl->slots[i].ph_f == p)
            pl->code[pl->n_code++] = (instr){n, false, pl->slots[i].shifted};
    }
    return pl->n_code - before;
}

static int emit_backward(cr_plan *pl, int p, kind k) {
    int before = pl->n_code;
    for (int i = pl->g->n - 1; i >= 0; i--) {
        const cr_node *n = pl->g->nodes[i];
        if (pl->slots[i].grad && n->op && n->op->backward && kind_of(&pl->slots[i], n, true) == k &&
            pl->slots[i].ph_b == p)
            pl->code[pl->n_code++] = (instr){n, true, false};
    }
    return pl->n_code - before;
}

static void emit(cr_plan *pl) {
    pl->code = CR_NEW_N(&pl->arena, instr, 2 * pl->g->n + 1);
    pl->phases = CR_NEW_N(&pl->arena, phase, pl->n_phases);
    for (int p = 0; p < pl->n_phases; p++) {
        phase *ph = &pl->phases[p];
        ph->first = pl->n_code;
        ph->n_batch = emit_forward(pl, p, BATCH);
        ph->n_batch += emit_backward(pl, p, BATCH);
        ph->n_begin = emit_forward(pl, p, LANE);
        ph->n = emit_forward(pl, p, TILE);
        ph->n += emit_backward(pl, p, TILE);
        ph->n_end = emit_backward(pl, p, LANE);
    }
}

/* The life of a buffer: from the first call that writes it to the last that touches it. */
typedef struct life {
    int first, last;             /* positions in the code */
    int first_phase, last_phase; /* phases of these two calls */
} life;

static void touch(life *l, int pos, int ph) {
    if (l->first < 0) {
        l->first = pos;
        l->first_phase = ph;
    }
    l->last = pos;
    l->last_phase = ph;
}

/* Buffers that are alive at the same time, in the order of their places; each is placed into the
 * first gap that fits. */
typedef struct placed {
    int64_t off, width;
    int last;
} placed;

static int64_t place(placed *live, int *n_live, int64_t width, int now, int last, int64_t *top) {
    int m = 0;
    for (int i = 0; i < *n_live; i++)
        if (live[i].last >= now) live[m++] = live[i];
    int64_t off = 0;
    int at = 0;
    for (; at < m && live[at].off < off + width; at++)
        off = live[at].off + live[at].width;
    memmove(&live[at + 1], &live[at], (size_t)(m - at) * sizeof *live);
    live[at] = (placed){off, width, last};
    *n_live = m + 1;
    if (off + width > *top) *top = off + width;
    return off;
}

static int n_calls(const phase *p) {
    return p->n_batch + p->n_begin + p->n + p->n_end;
}

/* choose_form decides which buffers of a node hold the whole batch, and whether they hold the
 * node's own form: where both are buffers of a tile, and tiles have whole blocks of rows. */
static void choose_form(const cr_plan *pl, const cr_node *n, const life *val, const life *grad,
                        bool whole_blocks) {
    slot *s = &pl->slots[n->id];
    if ((n->cls != CR_ROW && n->cls != CR_SEQ) || s->given) return;
    if (val->first >= 0)
        s->val_wide = s->wanted || n->op->batch || s->lane || val->first_phase != val->last_phase;
    if (grad->first >= 0)
        s->grad_wide =
            n->op->keep_grad || s->batch_user || n->lane || grad->first_phase != grad->last_phase;
    s->own = n->own_val > 0 && whole_blocks && n->cls == CR_ROW && val->first >= 0 &&
             !s->val_wide && !s->grad_wide;
}

static void plan_buffers(cr_plan *pl, bool whole_blocks) {
    const cr_graph *g = pl->g;
    life *val = CR_NEW_N(&pl->arena, life, g->n), *grad = CR_NEW_N(&pl->arena, life, g->n);
    for (int i = 0; i < g->n; i++)
        val[i].first = grad[i].first = -1;
    for (int p = 0, pos = 0; p < pl->n_phases; p++)
        for (int c = 0; c < n_calls(&pl->phases[p]); c++, pos++) {
            const cr_node *n = pl->code[pos].n;
            slot *s = &pl->slots[n->id];
            if (!pl->code[pos].back) {
                touch(&val[n->id], pos, p);
                for (int k = 0; k < reads(s, n); k++)
                    touch(&val[n->in[k]->id], pos, p);
                continue;
            }
            if (n->op->keep_val) touch(&val[n->id], pos, p);
            touch(&grad[n->id], pos, p);
            for (int k = 0; k < n->n_in; k++) {
                const cr_node *in = n->in[k];
                if (n->op->reads_in) touch(&val[in->id], pos, p);
                if (!pl->slots[in->id].grad) continue;
                s->first[k] = true; /* when an input is repeated, only its first place counts */
                for (int j = 0; j < k; j++)
                    if (n->in[j] == in) s->first[k] = false;
                if (grad[in->id].first >= 0) s->first[k] = false;
                touch(&grad[in->id], pos, p);
            }
        }
    for (int i = 0; i < g->n; i++)
        pl->slots[i].clear = g->nodes[i]->cls == CR_PARAM && pl->slots[i].grad && grad[i].first < 0;
    for (int i = 0; i < g->n; i++)
        choose_form(pl, g->nodes[i], &val[i], &grad[i], whole_blocks);
    placed **live = CR_NEW_N(&pl->arena, placed *, cr_n_spaces(pl));
    int *n_live = CR_NEW_N(&pl->arena, int, cr_n_spaces(pl));
    for (int i = 0; i < cr_n_spaces(pl); i++)
        live[i] = CR_NEW_N(&pl->arena, placed, 2 * g->n + 1);
    for (int pos = 0; pos < pl->n_code; pos++)
        for (int i = 0; i < g->n; i++) {
            const cr_node *n = g->nodes[i];
            slot *s = &pl->slots[i];
            if ((n->cls != CR_ROW && n->cls != CR_SEQ) || s->given) continue;
            int k = cr_space_of(pl, n);
            widths *sp = &pl->spaces[k];
            /* buffers begin at 64 bytes */
            if (val[i].first == pos) {
                int64_t w = cr_up16(s->own ? n->own_val : cr_ld(n));
                if (s->val_wide) {
                    s->val_off = sp->wide;
                    sp->wide = cr_add_i64(sp->wide, w);
                } else {
                    s->val_off = place(live[k], &n_live[k], w, pos, val[i].last, &sp->work);
                }
            }
            if (grad[i].first == pos) {
                int64_t w = cr_up16(s->own ? n->own_grad : cr_ld(n));
                if (s->grad_wide) {
                    s->grad_off = sp->wide;
                    sp->wide = cr_add_i64(sp->wide, w);
                } else {
                    s->grad_off = place(live[k], &n_live[k], w, pos, grad[i].last, &sp->work);
                }
            }
        }
}

void cr_plan_compile(cr_plan *pl, const cr_plan_opts *o) {
    cr_graph *g = pl->g;
    pl->slots = CR_NEW_N(&pl->arena, slot, g->n + 1);
    pl->spaces = CR_NEW_N(&pl->arena, widths, cr_n_spaces(pl));
    for (int i = 0; !o->outputs && i < g->n; i++)
        pl->slots[i].wanted = g->nodes[i]->output;
    for (int i = 0; o->outputs && i < o->n_outputs; i++)
        pl->slots[o->outputs[i]->id].wanted = true;
    for (int i = 0; i < o->n_given; i++)
        pl->slots[o->given[i]->id].given = true;
    for (int i = 0; i < g->n; i++)
        if (g->nodes[i]->lane || g->nodes[i]->lane_back) pl->range_rows = cr_range_rows(pl);
    for (int i = 0; i < o->n_shifted; i++)
        pl->slots[o->shifted[i]->id].shifted = true;
    mark_used(pl);
    mark_lanes(pl);
    mark_grads(pl);
    for (int i = 0; i < g->n; i++) {
        const cr_node *n = g->nodes[i];
        slot *s = &pl->slots[i];
        s->first = CR_NEW_N(&pl->arena, bool, n->n_in + 1);
        s->state_off = pl->n_state;
        pl->n_state = cr_add_i64(pl->n_state, cr_add_i64(n->state, 63) / 64 * 64);
        if (!runs(s)) continue;
        pl->has_check |= n->op && n->op->check;
        if (n->cls == CR_WHOLE) {
            s->sum_off = pl->n_sums;
            pl->n_sums = cr_add_i64(pl->n_sums, n->width);
        }
        int64_t rows = n->op && n->op->batch     ? pl->all_max_rows
                       : s->lane || n->lane_back ? pl->range_rows
                                                 : CR_MAX_TILE;
        int64_t scratch = s->shifted ? n->op->shift_scratch(n)
                                     : cr_add_i64(n->scratch, cr_mul_i64(n->scratch_row, rows));
        if (scratch > pl->scratch) pl->scratch = scratch;
        s->carry_off = pl->carry;
        if (pl->mode == CR_TRAIN && s->grad) pl->carry = cr_add_i64(pl->carry, cr_up16(n->carry));
        for (int k = 0; s->lane && k < n->n_in; k++)
            if (n->in[k]->cls != CR_PARAM && !pl->slots[n->in[k]->id].lane &&
                !pl->slots[n->in[k]->id].given)
                CR_BUG("a lane node reads tiles");
        for (int k = 0; n->op && n->op->batch && k < n->n_in; k++) {
            if (n->in[k]->cls == CR_PARAM) CR_BUG("a batch op cannot have parameters");
            pl->slots[n->in[k]->id].batch_user = true;
            pl->slots[n->in[k]->id].all = n->in[k]->cls == CR_ROW;
        }
        if (n->op && n->op->batch) s->all = true;
        s->pack_off = o->packed ? o->packed->slots[i].pack_off : pl->n_packed;
        if (o->packed) continue;
        pl->n_packed = cr_add_i64(pl->n_packed, cr_up16(n->pack));
        pl->n_preps += n->n_prepare;
    }
    set_phases(pl);
    emit(pl);
    /* sequences end tiles anywhere */
    plan_buffers(pl, g->n_axes == 0 && o->tile_rows % CR_OWN_BLOCK == 0);
    pl->preps = CR_NEW_N(&pl->arena, prep, pl->n_preps + 1);
    int64_t k = 0;
    for (int i = 0; i < g->n; i++)
        for (int64_t j = 0; !o->packed && runs(&pl->slots[i]) && j < g->nodes[i]->n_prepare; j++)
            pl->preps[k++] = (prep){g->nodes[i], j};
}
