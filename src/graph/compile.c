/*
 * compile.c - from a graph to a plan: which calls, in which phase, on which buffers.
 *
 * A call that reads a WHOLE value runs in a later phase than the calls that add to it; the same
 * holds for the gradient of a WHOLE value. Everything else runs as early as its inputs allow, so a
 * network without batch statistics is one phase: forward, loss and backward of a tile in one go.
 * Inside a phase: forward calls in node order, then backward calls in reverse order. A batch op
 * (one that sees all rows) runs alone at the beginning of a phase, so it too waits for its inputs'
 * phase.
 */
#include <string.h>

#include "graph/exec_int.h"

static int imax(int a, int b) {
    return a > b ? a : b;
}

/* marks what the outputs (and losses) need */
static void mark_used(cr_exec *ex) {
    const cr_graph *g = ex->g;
    for (int i = g->n - 1; i >= 0; i--) {
        const cr_node *n = g->nodes[i];
        slot *s = &ex->slots[i];
        if (ex->mode == CR_TRAIN ? n->output || n->loss : n->output) s->used = true;
        if (n->op && ex->mode == CR_EVAL && (n->op->train_only || n->cls == CR_WHOLE))
            s->used = false;
        if (!s->used) continue;
        for (int k = 0; k < n->n_in; k++)
            ex->slots[n->in[k]->id].used = true;
    }
}

/* marks where gradients flow: down from the losses, only towards trainable things */
static void mark_grads(cr_exec *ex) {
    const cr_graph *g = ex->g;
    if (ex->mode != CR_TRAIN) return;
    for (int i = g->n - 1; i >= 0; i--) {
        const cr_node *n = g->nodes[i];
        slot *s = &ex->slots[i];
        if (!s->used) continue;
        if (n->loss && n->needs_grad) s->grad = true;
        if (!s->grad || !n->op || (!n->op->backward && !n->op->unfold)) continue;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k]->needs_grad) ex->slots[n->in[k]->id].grad = true;
    }
}

static void set_phases(cr_exec *ex) {
    const cr_graph *g = ex->g;
    int last = 0;
    for (int i = 0; i < g->n; i++) {
        const cr_node *n = g->nodes[i];
        slot *s = &ex->slots[i];
        s->ph_b = -1;
        if (!s->used || !n->op) continue;
        for (int k = 0; k < n->n_in; k++) {
            const slot *in = &ex->slots[n->in[k]->id];
            if (n->in[k]->op && in->used)
                s->ph_f = imax(s->ph_f, in->ph_f + (n->in[k]->cls == CR_WHOLE || n->op->batch));
        }
        last = imax(last, s->ph_f);
    }
    /* backward: users come later in node order, so walk down */
    for (int i = g->n - 1; i >= 0; i--) {
        const cr_node *n = g->nodes[i];
        slot *s = &ex->slots[i];
        if (!s->grad || !n->op || !n->op->backward) continue;
        s->ph_b = imax(s->ph_b, s->ph_f);
        last = imax(last, s->ph_b);
        for (int k = 0; k < n->n_in; k++) {
            slot *in = &ex->slots[n->in[k]->id];
            if (in->grad && n->in[k]->op)
                in->ph_b =
                    imax(in->ph_b, s->ph_b + (n->in[k]->cls == CR_WHOLE || n->in[k]->op->batch));
        }
    }
    ex->n_phases = last + 1;
}

typedef enum kind { TILE, LANE, BATCH } kind;

static kind kind_of(const cr_node *n, bool back) {
    return n->op->batch ? BATCH : n->lane || (back && n->lane_back) ? LANE : TILE;
}

/* the forward calls of phase p of one kind of node; returns how many there are */
static int emit_forward(cr_exec *ex, int p, kind k) {
    int before = ex->n_code;
    for (int i = 0; i < ex->g->n; i++) {
        const cr_node *n = ex->g->nodes[i];
        if (ex->slots[i].used && n->op && n->op->forward && kind_of(n, false) == k &&
            ex->slots[i].ph_f == p)
            ex->code[ex->n_code++] = (instr){n, false};
    }
    return ex->n_code - before;
}

static int emit_backward(cr_exec *ex, int p, kind k) {
    int before = ex->n_code;
    for (int i = ex->g->n - 1; i >= 0; i--) {
        const cr_node *n = ex->g->nodes[i];
        if (ex->slots[i].grad && n->op && n->op->backward && kind_of(n, true) == k &&
            ex->slots[i].ph_b == p)
            ex->code[ex->n_code++] = (instr){n, true};
    }
    return ex->n_code - before;
}

static void emit(cr_exec *ex) {
    ex->code = CR_NEW_N(&ex->arena, instr, 2 * ex->g->n + 1);
    ex->phases = CR_NEW_N(&ex->arena, phase, ex->n_phases);
    for (int p = 0; p < ex->n_phases; p++) {
        phase *ph = &ex->phases[p];
        ph->first = ex->n_code;
        ph->n_batch = emit_forward(ex, p, BATCH);
        ph->n_batch += emit_backward(ex, p, BATCH);
        ph->n_begin = emit_forward(ex, p, LANE);
        ph->n = emit_forward(ex, p, TILE);
        ph->n += emit_backward(ex, p, TILE);
        ph->n_end = emit_backward(ex, p, LANE);
    }
}

/* A buffer: from the first call that writes it to the last that touches it. */
typedef struct life {
    int first, last;             /* positions in the code */
    int first_phase, last_phase; /* phases of those */
} life;

static void touch(life *l, int pos, int ph) {
    if (l->first < 0) {
        l->first = pos;
        l->first_phase = ph;
    }
    l->last = pos;
    l->last_phase = ph;
}

/* first fit over the buffers that are alive at the same time */
typedef struct placed {
    int64_t off, width;
    int last;
} placed;

static int64_t place(placed *live, int *n_live, int64_t width, int now, int last, int64_t *top) {
    int m = 0;
    for (int i = 0; i < *n_live; i++)
        if (live[i].last >= now) live[m++] = live[i];
    *n_live = m;
    int64_t off = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < m; i++)
            if (off < live[i].off + live[i].width && live[i].off < off + width) {
                off = live[i].off + live[i].width;
                moved = true;
            }
    }
    live[(*n_live)++] = (placed){off, width, last};
    if (off + width > *top) *top = off + width;
    return off;
}

static int n_calls(const phase *p) {
    return p->n_batch + p->n_begin + p->n + p->n_end;
}

static void plan_buffers(cr_exec *ex) {
    const cr_graph *g = ex->g;
    life *val = CR_NEW_N(&ex->arena, life, g->n), *grad = CR_NEW_N(&ex->arena, life, g->n);
    for (int i = 0; i < g->n; i++)
        val[i].first = grad[i].first = -1;
    for (int p = 0, pos = 0; p < ex->n_phases; p++)
        for (int c = 0; c < n_calls(&ex->phases[p]); c++, pos++) {
            const cr_node *n = ex->code[pos].n;
            slot *s = &ex->slots[n->id];
            if (!ex->code[pos].back) {
                touch(&val[n->id], pos, p);
                for (int k = 0; k < n->n_in; k++)
                    touch(&val[n->in[k]->id], pos, p);
                continue;
            }
            if (n->op->keep_val) touch(&val[n->id], pos, p);
            touch(&grad[n->id], pos, p);
            for (int k = 0; k < n->n_in; k++) {
                const cr_node *in = n->in[k];
                if (n->op->reads_in) touch(&val[in->id], pos, p);
                if (!ex->slots[in->id].grad) continue;
                s->first[k] = true; /* of a repeated input only the first place counts */
                for (int j = 0; j < k; j++)
                    if (n->in[j] == in) s->first[k] = false;
                if (grad[in->id].first >= 0) s->first[k] = false;
                touch(&grad[in->id], pos, p);
            }
        }
    for (int i = 0; i < g->n; i++)
        ex->slots[i].clear = g->nodes[i]->cls == CR_PARAM && ex->slots[i].grad && grad[i].first < 0;
    placed **live = CR_NEW_N(&ex->arena, placed *, 2 + g->n_axes);
    int *n_live = CR_NEW_N(&ex->arena, int, 2 + g->n_axes);
    for (int i = 0; i < 2 + g->n_axes; i++)
        live[i] = CR_NEW_N(&ex->arena, placed, 2 * g->n + 1);
    for (int pos = 0; pos < ex->n_code; pos++)
        for (int i = 0; i < g->n; i++) {
            const cr_node *n = g->nodes[i];
            slot *s = &ex->slots[i];
            if (n->cls != CR_ROW && n->cls != CR_SEQ) continue;
            space *sp = cr_space_of(ex, n);
            int64_t k = sp - ex->spaces;
            int64_t w = cr_up16(cr_ld(n)); /* buffers begin at 64 bytes */
            if (val[i].first == pos) {
                s->val_wide =
                    n->output || n->op->batch || n->lane || val[i].first_phase != val[i].last_phase;
                if (s->val_wide) {
                    s->val_off = sp->wide_width;
                    sp->wide_width = cr_add_i64(sp->wide_width, w);
                } else {
                    s->val_off = place(live[k], &n_live[k], w, pos, val[i].last, &sp->work_width);
                }
            }
            if (grad[i].first == pos) {
                s->grad_wide = n->op->keep_grad || s->batch_user || n->lane ||
                               grad[i].first_phase != grad[i].last_phase;
                if (s->grad_wide) {
                    s->grad_off = sp->wide_width;
                    sp->wide_width = cr_add_i64(sp->wide_width, w);
                } else {
                    s->grad_off = place(live[k], &n_live[k], w, pos, grad[i].last, &sp->work_width);
                }
            }
        }
}

void cr_exec_compile(cr_exec *ex) {
    cr_graph *g = ex->g;
    ex->slots = CR_NEW_N(&ex->arena, slot, g->n + 1);
    ex->spaces = CR_NEW_N(&ex->arena, space, 2 + g->n_axes);
    ex->positions = CR_NEW_N(&ex->arena, int64_t, g->n_axes + 1);
    for (int i = 0; i < g->n; i++)
        if (g->nodes[i]->lane || g->nodes[i]->lane_back) ex->range_rows = cr_range_rows(ex);
    mark_used(ex);
    mark_grads(ex);
    for (int i = 0; i < g->n; i++) {
        const cr_node *n = g->nodes[i];
        slot *s = &ex->slots[i];
        s->first = CR_NEW_N(&ex->arena, bool, n->n_in + 1);
        if (!s->used) continue;
        if (n->cls == CR_WHOLE) {
            s->sum_off = ex->n_sums;
            ex->n_sums = cr_add_i64(ex->n_sums, n->width);
        }
        int64_t rows = n->op && n->op->batch     ? ex->all_max_rows
                       : n->lane || n->lane_back ? ex->range_rows
                                                 : CR_MAX_TILE;
        int64_t scratch = cr_add_i64(n->scratch, cr_mul_i64(n->scratch_row, rows));
        if (scratch > ex->scratch) ex->scratch = scratch;
        for (int k = 0; n->lane && k < n->n_in; k++)
            if (n->in[k]->cls != CR_PARAM && !n->in[k]->lane) CR_BUG("a lane node reads tiles");
        for (int k = 0; n->op && n->op->batch && k < n->n_in; k++) {
            if (n->in[k]->cls == CR_PARAM) CR_BUG("a batch op cannot have parameters");
            ex->slots[n->in[k]->id].batch_user = true;
            ex->slots[n->in[k]->id].all = n->in[k]->cls == CR_ROW;
        }
        if (n->op && n->op->batch) s->all = true;
        s->pack_off = ex->n_packed;
        ex->n_packed = cr_add_i64(ex->n_packed, cr_up16(n->pack));
        ex->n_preps += n->n_prepare;
    }
    set_phases(ex);
    emit(ex);
    plan_buffers(ex);
    ex->preps = CR_NEW_N(&ex->arena, prep, ex->n_preps + 1);
    int64_t k = 0;
    for (int i = 0; i < g->n; i++)
        for (int64_t j = 0; ex->slots[i].used && j < g->nodes[i]->n_prepare; j++)
            ex->preps[k++] = (prep){g->nodes[i], j};
}
