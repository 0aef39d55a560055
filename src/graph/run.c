/*
 * run.c - runs a plan over a batch. Threads take lanes (training) or tiles (inference); the sums of
 * the lanes are combined by one balanced tree, ((0+1)+(2+3))+((4+5)+(6+7)), whichever thread or
 * process computed them. When other processes hold other lanes of the batch, the holders exchange
 * sums at the end of each phase, rows before the batch ops that need them, and gradients once.
 */
#include <string.h>

#include "graph/work_int.h"

static void run_calls(cr_work *w, cr_tile *t, int first, int count) {
    for (int c = first; c < first + count; c++) {
        const cr_node *n = w->plan->code[c].n;
        if (w->plan->code[c].back)
            n->op->backward(n, t);
        else if (w->plan->code[c].shift)
            n->op->shift(n, t);
        else
            n->op->forward(n, t);
    }
}

/* run_tile makes the calls of a tile; a run of calls in one direction is one span of the trace, if
 * there is a trace. */
static void run_tile(cr_work *w, cr_tile *t, int first, int count) {
    int row, end = first + count;
    cr_trace *tr = cr_pool_get_trace(w->pool, t->thread, &row);
    double t0 = cr_trace_begin(tr);
    for (int c = first; t0 > 0 && c < end; first = c) {
        bool back = w->plan->code[c].back;
        while (c < end && w->plan->code[c].back == back)
            c++;
        run_calls(w, t, first, c - first);
        t0 = cr_trace_end(tr, row, back ? CR_STAGE_BACKWARD : CR_STAGE_FORWARD, t0);
    }
    run_calls(w, t, first, end - first);
}

static cr_tile tile_of(cr_work *w, int lane, int thread) {
    return (cr_tile){.w = w,
                     .lane = lane,
                     .thread = thread,
                     .train = w->plan->mode == CR_TRAIN,
                     .scratch = w->scratch + cr_work_scratch(w->plan) * thread};
}

/* run_range makes the calls for all rows of a range at once. */
static void run_range(cr_work *w, cr_tile *t, int64_t row, int64_t end, int first, int count) {
    if (count == 0 || row == end) return;
    t->row0 = row;
    t->n_rows = end - row;
    t->first = t->last = true;
    run_tile(w, t, first, count);
}

/* tile_end returns the end of the tile that begins at row: as many rows as its buffers hold, and at
 * least one. */
static int64_t tile_end(const cr_work *w, int64_t row, int64_t end) {
    if (end - row > w->plan->tile_rows) end = row + w->plan->tile_rows;
    for (int a = 0; a < w->plan->g->n_axes; a++) {
        const int32_t *off = w->run->axes[a];
        while (off[end] - off[row] > w->spaces[1 + a].tile)
            end--;
    }
    return end;
}

static void run_rows(cr_work *w, cr_tile *t, int64_t row, int64_t end) {
    const phase *ph = &w->plan->phases[w->cur_phase];
    int64_t begin = row;
    int c = ph->first + ph->n_batch;
    run_range(w, t, begin, end, c, ph->n_begin);
    c += ph->n_begin;
    for (t->first = true; row < end; row += t->n_rows, t->first = false) {
        t->row0 = row;
        t->n_rows = tile_end(w, row, end) - row;
        t->last = row + t->n_rows == end;
        run_tile(w, t, c, ph->n);
    }
    run_range(w, t, begin, end, c + ph->n, ph->n_end);
}

/* clear_grads clears the parts of a lane's gradients that no tile sets. */
static void clear_grads(const cr_work *w, float *grads, bool all) {
    if (all) {
        memset(grads, 0, (size_t)w->plan->g->n_grads * sizeof(float));
        return;
    }
    for (int i = 0; i < w->plan->g->n; i++)
        if (w->plan->slots[i].clear)
            memset(grads + w->plan->g->nodes[i]->offset, 0,
                   (size_t)w->plan->g->nodes[i]->width * sizeof(float));
}

static void run_lane(void *ctx, int64_t item, int thread) {
    cr_work *w = ctx;
    int lane = (int)item, l = w->plan->lanes.first + lane;
    int64_t row = cr_lane_begin(w->all_rows, w->plan->lanes.all, l) - w->row0,
            end = cr_lane_begin(w->all_rows, w->plan->lanes.all, l + 1) - w->row0;
    if (w->cur_phase == 0) {
        memset(w->lane_sums + 2 * w->plan->n_sums * lane, 0,
               (size_t)(2 * w->plan->n_sums) * sizeof(double));
        clear_grads(w, w->lane_grads + w->plan->g->n_grads * lane, row == end);
    }
    cr_tile t = tile_of(w, lane, thread);
    run_rows(w, &t, row, end);
}

/* piece_rows returns the rows that a thread takes at a time in inference. */
static int64_t piece_rows(const cr_work *w) {
    if (w->plan->range_rows == 0) return w->plan->tile_rows;
    int64_t share = (w->run->n_rows + cr_pool_threads(w->pool) - 1) / cr_pool_threads(w->pool);
    return share < w->plan->range_rows ? share : w->plan->range_rows;
}

static void run_piece(void *ctx, int64_t item, int thread) {
    cr_work *w = ctx;
    int64_t rows = piece_rows(w), row = item * rows, end = row + rows;
    cr_tile t = tile_of(w, 0, thread);
    run_rows(w, &t, row, end < w->run->n_rows ? end : w->run->n_rows);
}

/* combine_here combines the doubles [off, off + n) of the lanes of each node of this holder into
 * node_sums + to; a node has `width` values. */
static void combine_here(cr_work *w, int64_t off, int64_t n, int64_t to, int64_t width) {
    const cr_lanes *t = &w->plan->lanes;
    int64_t stride = 2 * w->plan->n_sums;
    for (int k = t->mine; k < t->mine + t->n_mine; k++) {
        double *s = w->lane_sums + (t->node[k].lane - t->first) * stride + off;
        cr_lanes_add_f64(s, t->node[k].n, stride, n);
        memcpy(w->node_sums + k * width + to, s, (size_t)n * sizeof(double));
    }
}

static void finish_value(cr_work *w, const cr_node *n, const double *sum) {
    const slot *s = &w->plan->slots[n->id];
    float *v = w->whole + s->sum_off;
    memcpy(w->sums + s->sum_off, sum, (size_t)n->width * sizeof(double));
    if (n->op->finish)
        n->op->finish(n, sum, v, cr_work_rows(w, n->in[0]));
    else
        for (int64_t k = 0; k < n->width; k++)
            v[k] = (float)sum[k];
}

static void finish_grad(cr_work *w, const cr_node *n, const double *sum) {
    float *v = w->whole + w->plan->n_sums + w->plan->slots[n->id].sum_off;
    for (int64_t k = 0; k < n->width; k++)
        v[k] = (float)sum[k];
}

/* finish_phase finishes the WHOLE values and gradients that a phase has completed: first this
 * holder's part of all of them, then one exchange with the other holders, then the values. */
static void finish_phase(cr_work *w, int p) {
    enum { COUNT, COMBINE, FINISH };
    int64_t width = 0;
    for (int pass = COUNT; pass <= FINISH; pass++) {
        int64_t at = 0;
        for (int i = 0; i < w->plan->g->n; i++) {
            const cr_node *n = w->plan->g->nodes[i];
            const slot *s = &w->plan->slots[i];
            if (n->cls != CR_WHOLE || !s->used) continue;
            bool done[] = {s->ph_f == p, s->ph_b == p + 1 && !n->loss};
            for (int k = 0; k < 2; k++) {
                if (!done[k]) continue;
                if (pass == COMBINE)
                    combine_here(w, k * w->plan->n_sums + s->sum_off, n->width, at, width);
                if (pass == FINISH) (k ? finish_grad : finish_value)(w, n, w->node_sums + at);
                at += n->width;
            }
        }
        if (pass == COUNT) width = at;
        if (pass != COMBINE || width == 0) continue;
        cr_lanes_gather(&w->plan->lanes, w->node_sums, width, sizeof(double));
        cr_lanes_join_f64(&w->plan->lanes, w->node_sums, width);
    }
}

/* The sums of all nodes are joined for so many floats at a time. */
#define SOME  64   /* floats that are summed at a time, */
#define BLOCK 8192 /* or fewer: those of all nodes have so much room */

/* sum_lanes adds up lanes [lane, lane + lanes) of this holder by the tree; the usual numbers of
 * lanes need no temporary arrays. */
static void sum_lanes(const cr_work *w, int lane, int lanes, int64_t first, int64_t n, float *out) {
    int64_t d = w->plan->g->n_grads;
    const float *g = w->lane_grads + lane * d + first;
    switch (lanes) {
    case 1: memmove(out, g, (size_t)n * sizeof(float)); return;
    case 2:
        for (int64_t i = 0; i < n; i++)
            out[i] = g[i] + g[i + d];
        return;
    case 4:
        for (int64_t i = 0; i < n; i++)
            out[i] = (g[i] + g[i + d]) + (g[i + 2 * d] + g[i + 3 * d]);
        return;
    case 8:
        for (int64_t i = 0; i < n; i++)
            out[i] = ((g[i] + g[i + d]) + (g[i + 2 * d] + g[i + 3 * d])) +
                     ((g[i + 4 * d] + g[i + 5 * d]) + (g[i + 6 * d] + g[i + 7 * d]));
        return;
    default: break;
    }
    float v[CR_MAX_LANES];
    for (int64_t i = 0; i < n; i++) {
        for (int l = 0; l < lanes; l++)
            v[l] = g[i + l * d];
        for (int step = 1; step < lanes; step *= 2)
            for (int l = 0; l < lanes; l += 2 * step)
                v[l] += v[l + step];
        out[i] = v[0];
    }
}

void cr_work_sum_grads(const cr_work *w, int64_t first, int64_t n, float *out) {
    const cr_lanes *t = &w->plan->lanes;
    if (!t->meet) {
        sum_lanes(w, 0, t->all, first, n, out);
        return;
    }
    CR_ASSERT(first >= w->met_first && first + n <= w->met_first + w->met_n);
    float all[BLOCK];
    int64_t some = BLOCK / t->n_nodes < SOME ? BLOCK / t->n_nodes : SOME;
    for (int64_t i = 0; i < n; i += some, first += some) {
        int64_t m = n - i < some ? n - i : some;
        for (int k = 0; k < t->n_nodes; k++)
            if (k >= t->mine && k < t->mine + t->n_mine) /* unfolding changes these */
                sum_lanes(w, t->node[k].lane - t->first, t->node[k].n, first, m, all + k * some);
            else
                memcpy(all + k * some, w->node_at[k] + first - w->met_first,
                       (size_t)m * sizeof(float));
        for (int k = 0; k < t->n_joins; k++)
            for (int64_t q = 0; q < m; q++)
                all[t->join[k].to * some + q] += all[t->join[k].from * some + q];
        memcpy(out + i, all, (size_t)m * sizeof(float));
    }
}

/* The sum of a node's lanes, cut into chunks that any thread may take. */
typedef struct node_sum {
    const cr_work *w;
    int lane, lanes;
    int64_t first, n;
    float *out;
} node_sum;
#define CHUNK 16384

static void sum_chunk(void *ctx, int64_t item, int thread) {
    (void)thread;
    const node_sum *s = ctx;
    int64_t at = item * CHUNK, n = s->n - at < CHUNK ? s->n - at : CHUNK;
    sum_lanes(s->w, s->lane, s->lanes, s->first + at, n, s->out + at);
}

/* Writes the gradients [first, first + n) of this holder's node k. */
static void sum_node(cr_work *w, int k, int64_t first, int64_t n, float *out) {
    const cr_lanes *t = &w->plan->lanes;
    node_sum s = {w, t->node[k].lane - t->first, t->node[k].n, first, n, out};
    cr_pool_run(w->pool, (n + CHUNK - 1) / CHUNK, sum_chunk, &s);
}

/* The bounds of what each holder gets: floats [cut_at(h), cut_at(h + 1)), counted from the first.
 */
typedef struct cut {
    int64_t n;
    const int64_t *slice; /* NULL: holder 0 gets all of them */
} cut;
static int64_t cut_at(const cut *c, int h) {
    return c->slice ? c->slice[h] : h == 0 ? 0 : c->n;
}

/* Sends the gradients of this holder's nodes, cut into slices, and receives its own slice of the
 * others' nodes. */
static void meet_slices(cr_work *w, int64_t first, cut c) {
    const cr_lanes *t = &w->plan->lanes;
    const cr_meet *meet = t->meet;
    int64_t own = cut_at(&c, meet->self + 1) - cut_at(&c, meet->self), out = 0, in = 0;
    for (int h = 0; h < meet->n; h++) {
        int64_t from = first + cut_at(&c, h), n = cut_at(&c, h + 1) - cut_at(&c, h);
        w->out_at[h] = (size_t)out * sizeof(float);
        w->met_at[h] = (size_t)in * sizeof(float);
        if (h == meet->self) continue;
        for (int k = t->mine; k < t->mine + t->n_mine; k++, out += n)
            sum_node(w, k, from, n, w->sent_grads + out);
        for (int k = t->node0[h]; k < t->node0[h + 1]; k++, in += own)
            w->node_at[k] = w->met_grads + in;
    }
    w->out_at[meet->n] = (size_t)out * sizeof(float);
    w->met_at[meet->n] = (size_t)in * sizeof(float);
    meet->exchange(meet->ctx, w->sent_grads, w->out_at, w->met_grads, w->met_at);
    w->met_first = first + cut_at(&c, meet->self);
    w->met_n = own;
}

/* meet_grads exchanges the gradients of the trainable parameters. */
static void meet_grads(cr_work *w) {
    const cr_lanes *t = &w->plan->lanes;
    int64_t n = w->plan->g->n_trainable;
    if (!t->meet || n == 0) return;
    if (w->slice) {
        meet_slices(w, 0, (cut){n, w->slice});
        return;
    }
    for (int k = 0; k < t->n_nodes; k++)
        w->node_at[k] = w->met_grads + k * n;
    for (int k = t->mine; k < t->mine + t->n_mine; k++)
        sum_node(w, k, 0, n, w->met_grads + k * n);
    cr_lanes_gather(t, w->met_grads, n, sizeof(float));
    w->met_first = 0;
    w->met_n = n;
}

/* unfold_grads passes the gradients of folded parameters on to the parameters they are made of. The
 * holder of lane 0 adds them to lane 0, in reverse order of making, so that a folded input is
 * complete when its turn comes. */
static void unfold_grads(cr_work *w) {
    int64_t folded = w->plan->g->n_grads - w->plan->g->n_trainable;
    if (w->plan->lanes.meet && folded > 0)
        meet_slices(w, w->plan->g->n_trainable, (cut){folded, NULL});
    if (w->plan->lanes.first > 0) return;
    for (int i = w->plan->g->n - 1; i >= 0; i--) {
        const cr_node *n = w->plan->g->nodes[i];
        if (!w->plan->slots[i].grad || !n->op || !n->op->unfold) continue;
        float *d[CR_FOLD_INPUTS] = {NULL};
        CR_ASSERT(n->n_in <= CR_FOLD_INPUTS);
        for (int k = 0; k < n->n_in; k++)
            if (w->plan->slots[n->in[k]->id].grad) d[k] = w->lane_grads + n->in[k]->offset;
        float *grad = w->lane_grads + n->offset;
        cr_work_sum_grads(w, n->offset, n->width, grad);
        n->op->unfold(n, grad, d, w->scratch);
    }
}

/* begin counts the rows and positions of the batch, here and at the other holders. */
static void begin(cr_work *w, const cr_run *run) {
    const cr_lanes *t = &w->plan->lanes;
    w->run = run;
    w->all_rows = cr_lanes_all(t, run->n_rows, run->all_rows);
    w->row0 = cr_lanes_row0(t, w->all_rows);
    for (int a = 0; a < w->plan->g->n_axes; a++) {
        w->positions[a] = run->axes[a][run->n_rows];
        CR_ASSERT(w->positions[a] <= w->spaces[1 + a].cap);
    }
    /* only training needs means over positions */
    if (!t->meet || w->plan->g->n_axes == 0 || w->plan->mode == CR_EVAL) return;
    /* positions are whole numbers: their sum as doubles is exact in any order */
    int64_t n = w->plan->g->n_axes;
    double *v = w->node_sums;
    for (int k = t->mine; k < t->mine + t->n_mine; k++)
        for (int a = 0; a < n; a++)
            v[k * n + a] = k == t->mine ? (double)w->positions[a] : 0;
    cr_lanes_gather(t, v, n, sizeof(double));
    cr_lanes_join_f64(t, v, n);
    for (int a = 0; a < n; a++)
        w->positions[a] = (int64_t)v[a];
}

/* meet_rows: a batch op sees the rows of the global batch, so the rows of other holders come here
 * first. */
static void meet_rows(cr_work *w, const instr *c) {
    const space *all = &w->spaces[1 + w->plan->g->n_axes];
    for (int k = 0; k < (c->back ? 1 : c->n->n_in); k++) {
        const cr_node *x = c->back ? c->n : c->n->in[k];
        const slot *s = &w->plan->slots[x->id];
        if (!s->all) continue;
        float *rows = all->wide + (c->back ? s->grad_off : s->val_off) * all->cap;
        cr_lanes_gather_rows(&w->plan->lanes, rows, w->all_rows, (size_t)cr_ld(x) * sizeof(float));
    }
}

static void run_batch_ops(cr_work *w, const phase *ph) {
    cr_tile all = tile_of(w, 0, 0);
    all.row0 = -w->row0;
    all.n_rows = w->all_rows;
    all.first = all.last = true;
    for (int c = ph->first; c < ph->first + ph->n_batch; c++) {
        meet_rows(w, &w->plan->code[c]);
        run_tile(w, &all, c, 1);
    }
}

/* check_nodes collects the failures of calls, which cannot stop a run themselves. */
static cr_code check_nodes(const cr_work *w, cr_err *err) {
    const cr_plan *p = w->plan;
    for (int i = 0; p->has_check && i < p->g->n; i++) {
        const cr_node *n = p->g->nodes[i];
        if (p->slots[i].used && !p->slots[i].given && n->op && n->op->check)
            CR_TRY(n->op->check(n, cr_work_state(w, n), err));
    }
    return CR_OK;
}

cr_code cr_work_run(cr_work *w, const cr_run *run, cr_err *err) {
    const cr_plan *p = w->plan;
    if (!(p->packed_in ? p->packed_in : p)->is_packed)
        CR_BUG("a plan whose weights were not packed");
    CR_TRY(cr_work_fit(w, run, err));
    begin(w, run);
    for (int k = 0; k < p->n_phases; k++) {
        w->cur_phase = k;
        run_batch_ops(w, &p->phases[k]);
        if (p->mode == CR_TRAIN) {
            cr_pool_run(w->pool, p->lanes.n, run_lane, w);
            finish_phase(w, k);
        } else {
            int64_t rows = piece_rows(w);
            cr_pool_run(w->pool, rows > 0 ? (run->n_rows + rows - 1) / rows : 0, run_piece, w);
        }
    }
    if (p->mode == CR_TRAIN) {
        unfold_grads(w);
        meet_grads(w);
    }
    return check_nodes(w, err);
}
