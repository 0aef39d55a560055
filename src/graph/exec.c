/*
 * exec.c - running a plan. Threads take lanes (training) or tiles (inference); the sums of the
 * lanes are combined by one balanced tree, ((0+1)+(2+3))+((4+5)+(6+7)), whichever thread or process
 * computed them. Where other processes hold other lanes of the batch, the executors meet at the end
 * of each phase for its sums, before batch ops for the rows they need, and once for gradients.
 */
#include "graph/exec.h"

#include <string.h>

#include "base/cpu.h"
#include "graph/exec_int.h"

/* Positions of a tile take more: they come to many per row, the rows of a tile should not become
 * few, and what an attention does per position outweighs a trip to the next cache. */
#define TILE_POSITIONS_BYTES (4 << 20)
#define MOST_POSITIONS       8192

int64_t cr_ld(const cr_node *n) {
    if (n->width < 16) return n->width;
    int64_t ld = cr_up16(n->width);
    /* rows a multiple of 4 KiB apart would all fall into the same few cache sets */
    return ld % 64 == 0 ? ld + 16 : ld;
}

/* the buffers of a tile may take three quarters of a core's second-level cache; see
 * docs/design/graph.md. No result depends on it. */
static int64_t choose_tile(const cr_exec *ex) {
    int64_t per_row = ex->spaces[0].work_width * (int64_t)sizeof(float);
    int64_t rows = per_row > 0 ? cr_cpu_l2() / 4 * 3 / per_row : 256;
    if (rows < 56) rows = 56;
    if (rows > 252) rows = 252;
    return rows / 14 * 14; /* whole blocks of the matrix kernel */
}

static cr_code big(float **out, size_t *size, int64_t n_floats, const char *what, cr_err *err) {
    void *p;
    *size = cr_bytes(n_floats > 16 ? n_floats : 16, sizeof(float));
    CR_TRY(cr_big_alloc(&p, *size, what, err));
    *out = p;
    return CR_OK;
}

static void free_space(space *s) {
    if (s->work) cr_big_free(s->work, s->work_size);
    if (s->wide) cr_big_free(s->wide, s->wide_size);
    s->work = s->wide = NULL;
}

static cr_code alloc_space(const cr_exec *ex, space *s, cr_err *err) {
    int threads = cr_pool_threads(ex->pool);
    CR_TRY(big(&s->work, &s->work_size, cr_mul_i64(s->work_width, s->tile * threads), "tile buffers", err));
    return big(&s->wide, &s->wide_size, cr_mul_i64(s->wide_width, s->cap), "batch buffers", err);
}

/* positions of a tile that fit the cache */
static int64_t choose_positions(const space *s) {
    int64_t per_row = s->work_width * (int64_t)sizeof(float);
    int64_t rows = per_row > 0 ? TILE_POSITIONS_BYTES / per_row : MOST_POSITIONS;
    return rows < CR_MAX_TILE ? CR_MAX_TILE : rows > MOST_POSITIONS ? MOST_POSITIONS : rows;
}

cr_code cr_exec_fit(cr_exec *ex, const cr_run *run, cr_err *err) {
    for (int a = 0; a < ex->g->n_axes; a++) {
        space *s = &ex->spaces[1 + a];
        const int32_t *off = run->axes[a];
        int64_t longest = s->tile ? s->tile : choose_positions(s), all = off[run->n_rows];
        for (int64_t r = 0; r < run->n_rows; r++)
            if (off[r + 1] - off[r] > longest) longest = off[r + 1] - off[r];
        if (longest <= s->tile && all <= s->cap) continue;
        free_space(s);
        s->tile = longest;
        if (all > s->cap) s->cap = all + all / 4;
        CR_TRY(alloc_space(ex, s, err));
    }
    return CR_OK;
}

static cr_code alloc(cr_exec *ex, cr_err *err) {
    int threads = cr_pool_threads(ex->pool);
    ex->spaces[0].tile = ex->tile_rows;
    ex->spaces[0].cap = ex->max_rows;
    CR_TRY(alloc_space(ex, &ex->spaces[0], err));
    space *all = &ex->spaces[1 + ex->g->n_axes];
    all->cap = ex->all_max_rows;
    CR_TRY(alloc_space(ex, all, err));
    CR_TRY(big(&ex->scratch_mem, &ex->scratch_size, cr_mul_i64(cr_up16(cr_add_i64(ex->scratch, 64)), threads), "scratch",
               err));
    CR_TRY(big(&ex->packed, &ex->packed_size, ex->n_packed, "packed weights", err));
    if (ex->mode == CR_TRAIN)
        CR_TRY(big(&ex->lane_grads, &ex->grads_size, cr_mul_i64(ex->g->n_grads, ex->lanes.n),
                   "gradients of the lanes", err));
    if (ex->mode == CR_TRAIN && ex->lanes.meet)
        CR_TRY(big(&ex->node_grads, &ex->node_grads_size, cr_mul_i64(ex->g->n_grads, ex->lanes.n_nodes),
                   "gradients of other parts", err));
    void *p;
    int64_t stride = cr_mul_i64(2, ex->n_sums),
            per_node = stride > ex->g->n_axes ? stride : ex->g->n_axes;
    int64_t n_sums =
        cr_add_i64(cr_mul_i64(stride, ex->lanes.n + 1), cr_mul_i64(per_node, ex->lanes.n_nodes));
    ex->sums_size = cr_bytes(cr_add_i64(n_sums, 1), sizeof(double));
    CR_TRY(cr_try_alloc(&p, ex->sums_size, "batch sums", err));
    ex->lane_sums = p;
    ex->node_sums = ex->lane_sums + stride * ex->lanes.n;
    ex->sums = ex->node_sums + per_node * ex->lanes.n_nodes;
    CR_TRY(cr_try_alloc(&p, cr_bytes(cr_add_i64(stride, 1), sizeof(float)), "batch values", err));
    ex->whole = p;
    return CR_OK;
}

cr_code cr_exec_new(cr_exec **out, const cr_exec_opts *o, cr_pool *pool, cr_err *err) {
    cr_exec *ex = cr_alloc(sizeof(*ex), "executor");
    cr_arena_init(&ex->arena, 0);
    ex->g = o->graph;
    ex->pool = pool;
    ex->mode = o->mode;
    CR_ASSERT(!o->meet || o->mode == CR_TRAIN);
    cr_lanes_init(&ex->lanes, o->lanes, o->meet, &ex->arena);
    ex->all_max_rows = o->max_rows;
    ex->max_rows = cr_lanes_max_rows(&ex->lanes, o->max_rows);
    CR_ASSERT(o->tile_rows <= CR_MAX_TILE);
    cr_exec_compile(ex);
    ex->tile_rows = o->tile_rows ? o->tile_rows : choose_tile(ex);
    cr_code code = alloc(ex, err);
    if (code != CR_OK) {
        cr_exec_free(ex);
        return code;
    }
    *out = ex;
    return CR_OK;
}

void cr_exec_free(cr_exec *ex) {
    if (!ex) return;
    for (int i = 0; ex->spaces && i < 2 + ex->g->n_axes; i++)
        free_space(&ex->spaces[i]);
    if (ex->scratch_mem) cr_big_free(ex->scratch_mem, ex->scratch_size);
    if (ex->packed) cr_big_free(ex->packed, ex->packed_size);
    if (ex->lane_grads) cr_big_free(ex->lane_grads, ex->grads_size);
    if (ex->node_grads) cr_big_free(ex->node_grads, ex->node_grads_size);
    cr_free(ex->lane_sums);
    cr_free(ex->whole);
    cr_arena_clear(&ex->arena);
    cr_free(ex);
}

static void run_calls(cr_exec *ex, cr_tile *t, int first, int count) {
    for (int c = first; c < first + count; c++) {
        const cr_node *n = ex->code[c].n;
        if (ex->code[c].back)
            n->op->backward(n, t);
        else
            n->op->forward(n, t);
    }
}

/* the calls of a tile; a run of calls in one direction is one span of the trace, where there is one
 */
static void run_tile(cr_exec *ex, cr_tile *t, int first, int count) {
    int row, end = first + count;
    cr_trace *tr = cr_pool_get_trace(ex->pool, t->thread, &row);
    double t0 = cr_trace_begin(tr);
    for (int c = first; t0 > 0 && c < end; first = c) {
        bool back = ex->code[c].back;
        while (c < end && ex->code[c].back == back)
            c++;
        run_calls(ex, t, first, c - first);
        t0 = cr_trace_end(tr, row, back ? CR_STAGE_BACKWARD : CR_STAGE_FORWARD, t0);
    }
    run_calls(ex, t, first, end - first);
}

static cr_tile tile_of(cr_exec *ex, int lane, int thread) {
    return (cr_tile){.ex = ex,
                     .lane = lane,
                     .thread = thread,
                     .train = ex->mode == CR_TRAIN,
                     .scratch = ex->scratch_mem + cr_up16(ex->scratch + 64) * thread};
}

/* the calls of all rows of a range at once */
static void run_range(cr_exec *ex, cr_tile *t, int64_t row, int64_t end, int first, int count) {
    if (count == 0 || row == end) return;
    t->row0 = row;
    t->n_rows = end - row;
    t->first = true;
    run_tile(ex, t, first, count);
}

/* rows of the tile that begins at row: as many as its buffers hold, and one at least */
static int64_t tile_end(const cr_exec *ex, int64_t row, int64_t end) {
    if (end - row > ex->tile_rows) end = row + ex->tile_rows;
    for (int a = 0; a < ex->g->n_axes; a++) {
        const int32_t *off = ex->run->axes[a];
        while (off[end] - off[row] > ex->spaces[1 + a].tile)
            end--;
    }
    return end;
}

static void run_rows(cr_exec *ex, cr_tile *t, int64_t row, int64_t end) {
    const phase *ph = &ex->phases[ex->cur_phase];
    int64_t begin = row;
    int c = ph->first + ph->n_batch;
    run_range(ex, t, begin, end, c, ph->n_begin);
    c += ph->n_begin;
    for (t->first = true; row < end; row += t->n_rows, t->first = false) {
        t->row0 = row;
        t->n_rows = tile_end(ex, row, end) - row;
        run_tile(ex, t, c, ph->n);
    }
    run_range(ex, t, begin, end, c + ph->n, ph->n_end);
}

/* of a lane: those that no tile sets */
static void clear_grads(const cr_exec *ex, float *grads, bool all) {
    if (all) {
        memset(grads, 0, (size_t)ex->g->n_grads * sizeof(float));
        return;
    }
    for (int i = 0; i < ex->g->n; i++)
        if (ex->slots[i].clear)
            memset(grads + ex->g->nodes[i]->offset, 0,
                   (size_t)ex->g->nodes[i]->width * sizeof(float));
}

static void run_lane(void *ctx, int64_t item, int thread) {
    cr_exec *ex = ctx;
    int lane = (int)item, l = ex->lanes.first + lane;
    int64_t row = cr_lane_begin(ex->all_rows, ex->lanes.all, l) - ex->row0,
            end = cr_lane_begin(ex->all_rows, ex->lanes.all, l + 1) - ex->row0;
    if (ex->cur_phase == 0) {
        memset(ex->lane_sums + 2 * ex->n_sums * lane, 0, (size_t)(2 * ex->n_sums) * sizeof(double));
        clear_grads(ex, ex->lane_grads + ex->g->n_grads * lane, row == end);
    }
    cr_tile t = tile_of(ex, lane, thread);
    run_rows(ex, &t, row, end);
}

/* inference: rows a thread takes at a time */
static int64_t piece_rows(const cr_exec *ex) {
    if (ex->range_rows == 0) return ex->tile_rows;
    int64_t share = (ex->run->n_rows + cr_pool_threads(ex->pool) - 1) / cr_pool_threads(ex->pool);
    return share < ex->range_rows ? share : ex->range_rows;
}

static void run_piece(void *ctx, int64_t item, int thread) {
    cr_exec *ex = ctx;
    int64_t rows = piece_rows(ex), row = item * rows, end = row + rows;
    cr_tile t = tile_of(ex, 0, thread);
    run_rows(ex, &t, row, end < ex->run->n_rows ? end : ex->run->n_rows);
}

static void run_prep(void *ctx, int64_t item, int thread) {
    (void)thread;
    cr_exec *ex = ctx;
    const prep *p = &ex->preps[item];
    p->n->op->prepare(p->n, ex->packed + ex->slots[p->n->id].pack_off, p->item,
                      ex->mode == CR_TRAIN);
}

/* the doubles [off, off + n) of the lanes of each node that is here, combined, to node_sums + to;
 * the values of a node are `width` */
static void combine_here(cr_exec *ex, int64_t off, int64_t n, int64_t to, int64_t width) {
    const cr_lanes *t = &ex->lanes;
    int64_t stride = 2 * ex->n_sums;
    for (int k = t->mine; k < t->mine + t->n_mine; k++) {
        double *s = ex->lane_sums + (t->node[k].lane - t->first) * stride;
        for (int step = 1; step < t->node[k].n; step *= 2)
            for (int l = 0; l < t->node[k].n; l += 2 * step)
                for (int64_t i = off; i < off + n; i++)
                    s[l * stride + i] += s[(l + step) * stride + i];
        memcpy(ex->node_sums + k * width + to, s + off, (size_t)n * sizeof(double));
    }
}

/* rows of a node in the global batch */
static int64_t batch_rows(const cr_exec *ex, const cr_node *n) {
    return n->cls == CR_SEQ ? ex->positions[n->axis] : ex->all_rows;
}

static void finish_value(cr_exec *ex, const cr_node *n, const double *sum) {
    const slot *s = &ex->slots[n->id];
    float *v = ex->whole + s->sum_off;
    memcpy(ex->sums + s->sum_off, sum, (size_t)n->width * sizeof(double));
    if (n->op->finish)
        n->op->finish(n, sum, v, batch_rows(ex, n->in[0]));
    else
        for (int64_t k = 0; k < n->width; k++)
            v[k] = (float)sum[k];
}

static void finish_grad(cr_exec *ex, const cr_node *n, const double *sum) {
    float *v = ex->whole + ex->n_sums + ex->slots[n->id].sum_off;
    for (int64_t k = 0; k < n->width; k++)
        v[k] = (float)sum[k];
}

/* After a phase: finish the WHOLE values and gradients it completed. First this holder's part of
 * all of them, then one meeting, then the values. */
static void finish_phase(cr_exec *ex, int p) {
    enum { COUNT, COMBINE, FINISH };
    int64_t width = 0;
    for (int pass = COUNT; pass <= FINISH; pass++) {
        int64_t at = 0;
        for (int i = 0; i < ex->g->n; i++) {
            const cr_node *n = ex->g->nodes[i];
            const slot *s = &ex->slots[i];
            if (n->cls != CR_WHOLE || !s->used) continue;
            bool done[] = {s->ph_f == p, s->ph_b == p + 1 && !n->loss};
            for (int k = 0; k < 2; k++) {
                if (!done[k]) continue;
                if (pass == COMBINE)
                    combine_here(ex, k * ex->n_sums + s->sum_off, n->width, at, width);
                if (pass == FINISH) (k ? finish_grad : finish_value)(ex, n, ex->node_sums + at);
                at += n->width;
            }
        }
        if (pass == COUNT) width = at;
        if (pass != COMBINE || width == 0) continue;
        cr_lanes_gather(&ex->lanes, ex->node_sums, width, sizeof(double));
        cr_lanes_join_f64(&ex->lanes, ex->node_sums, width);
    }
}

static void fold_params(const cr_exec *ex) {
    for (int i = 0; i < ex->g->n; i++) {
        const cr_node *n = ex->g->nodes[i];
        if (ex->slots[i].used && n->op && n->op->fold) n->op->fold(n, ex->scratch_mem);
    }
}

static void sum_lanes(const cr_exec *ex, int lane, int lanes, int64_t first, int64_t n, float *out);

/* floats [first, first + n) of the parameters' gradients: this holder's nodes to the others, and
 * theirs here */
static void meet_grads(cr_exec *ex, int64_t first, int64_t n) {
    const cr_lanes *t = &ex->lanes;
    if (!t->meet || n == 0) return;
    /* one node after the other, as the meeting wants them; apart again where others read them */
    float *met = ex->node_grads;
    for (int k = t->mine; k < t->mine + t->n_mine; k++)
        sum_lanes(ex, t->node[k].lane - t->first, t->node[k].n, first, n, met + k * n);
    cr_lanes_gather(t, met, n, sizeof(float));
}

/* the gradients of folded parameters on to what they are made of: into lane 0, by its holder, in
 * reverse order of making, so that a folded input is complete when its turn comes */
static void unfold_grads(cr_exec *ex) {
    int64_t folded = ex->g->n_grads - ex->g->n_trainable;
    meet_grads(ex, ex->g->n_trainable, folded);
    ex->met_first = ex->g->n_trainable;
    ex->met_n = folded;
    if (ex->lanes.first > 0) return;
    for (int i = ex->g->n - 1; i >= 0; i--) {
        const cr_node *n = ex->g->nodes[i];
        if (!ex->slots[i].grad || !n->op || !n->op->unfold) continue;
        float *d[CR_FOLD_INPUTS] = {NULL};
        CR_ASSERT(n->n_in <= CR_FOLD_INPUTS);
        for (int k = 0; k < n->n_in; k++)
            if (ex->slots[n->in[k]->id].grad) d[k] = ex->lane_grads + n->in[k]->offset;
        float *grad = ex->lane_grads + n->offset;
        cr_exec_sum_grads(ex, n->offset, n->width, grad);
        n->op->unfold(n, grad, d, ex->scratch_mem);
    }
}

/* what this holder and the others have of the batch */
static void begin(cr_exec *ex, const cr_run *run) {
    const cr_lanes *t = &ex->lanes;
    ex->run = run;
    ex->all_rows = run->all_rows ? run->all_rows : run->n_rows;
    ex->row0 = cr_lanes_row0(t, ex->all_rows);
    CR_ASSERT(ex->all_rows <= ex->all_max_rows && run->n_rows <= ex->max_rows);
    CR_ASSERT(run->n_rows == cr_lanes_rows(t, ex->all_rows));
    for (int a = 0; a < ex->g->n_axes; a++) {
        ex->positions[a] = run->axes[a][run->n_rows];
        CR_ASSERT(ex->positions[a] <= ex->spaces[1 + a].cap);
    }
    if (!t->meet || ex->g->n_axes == 0) return;
    /* positions are whole numbers: their sum as doubles is exact in any order */
    int64_t n = ex->g->n_axes;
    double *v = ex->node_sums;
    for (int k = t->mine; k < t->mine + t->n_mine; k++)
        for (int a = 0; a < n; a++)
            v[k * n + a] = k == t->mine ? (double)ex->positions[a] : 0;
    cr_lanes_gather(t, v, n, sizeof(double));
    cr_lanes_join_f64(t, v, n);
    for (int a = 0; a < n; a++)
        ex->positions[a] = (int64_t)v[a];
}

/* A batch op sees the rows of the global batch: those of other holders come to this one first. */
static void meet_rows(cr_exec *ex, const instr *c) {
    const space *all = &ex->spaces[1 + ex->g->n_axes];
    for (int k = 0; k < (c->back ? 1 : c->n->n_in); k++) {
        const cr_node *x = c->back ? c->n : c->n->in[k];
        const slot *s = &ex->slots[x->id];
        if (!s->all) continue;
        float *rows = all->wide + (c->back ? s->grad_off : s->val_off) * all->cap;
        cr_lanes_gather_rows(&ex->lanes, rows, ex->all_rows, (size_t)cr_ld(x) * sizeof(float));
    }
}

static void run_batch_ops(cr_exec *ex, const phase *ph) {
    cr_tile all = tile_of(ex, 0, 0);
    all.row0 = -ex->row0;
    all.n_rows = ex->all_rows;
    all.first = true;
    for (int c = ph->first; c < ph->first + ph->n_batch; c++) {
        meet_rows(ex, &ex->code[c]);
        run_tile(ex, &all, c, 1);
    }
}

void cr_exec_run(cr_exec *ex, const cr_run *run) {
    begin(ex, run);
    if (run->weights_changed || !ex->prepared) {
        cr_pool_stage(ex->pool, CR_STAGE_PACK);
        fold_params(ex);
        cr_pool_run(ex->pool, ex->n_preps, run_prep, ex);
        cr_pool_stage(ex->pool, CR_STAGE_NONE);
        ex->prepared = true;
    }
    for (int p = 0; p < ex->n_phases; p++) {
        ex->cur_phase = p;
        run_batch_ops(ex, &ex->phases[p]);
        if (ex->mode == CR_TRAIN) {
            cr_pool_run(ex->pool, ex->lanes.n, run_lane, ex);
            finish_phase(ex, p);
        } else {
            cr_pool_run(ex->pool, (run->n_rows + piece_rows(ex) - 1) / piece_rows(ex), run_piece,
                        ex);
        }
    }
    if (ex->mode != CR_TRAIN) return;
    unfold_grads(ex);
    ex->met_first = 0;
    ex->met_n = ex->g->n_trainable;
    meet_grads(ex, 0, ex->met_n);
}

/* row 0 of this run in a buffer of the whole batch */
static const float *wide_rows(const cr_exec *ex, const cr_node *n, int64_t off) {
    const space *sp = cr_space_of(ex, n);
    return sp->wide + off * sp->cap + (ex->slots[n->id].all ? ex->row0 * cr_ld(n) : 0);
}

const float *cr_exec_val(const cr_exec *ex, const cr_node *n) {
    const slot *s = &ex->slots[n->id];
    CR_ASSERT(s->used && s->val_wide);
    return wide_rows(ex, n, s->val_off);
}

const float *cr_exec_grad(const cr_exec *ex, const cr_node *n) {
    const slot *s = &ex->slots[n->id];
    return s->grad && s->grad_wide ? wide_rows(ex, n, s->grad_off) : NULL;
}

double cr_exec_whole(const cr_exec *ex, const cr_node *n, int64_t i) {
    return ex->sums[ex->slots[n->id].sum_off + i];
}

bool cr_exec_has_grad(const cr_exec *ex, const cr_node *n) {
    return ex->slots[n->id].grad;
}

/* the tree over lanes [lane, lane + lanes) of this holder */
static void sum_lanes(const cr_exec *ex, int lane, int lanes, int64_t first, int64_t n,
                      float *out) {
    int64_t stride = ex->g->n_grads;
    const float *g = ex->lane_grads + lane * stride + first;
    if (lanes == 8) { /* without temporary arrays */
        for (int64_t i = 0; i < n; i++)
            out[i] =
                ((g[i] + g[i + stride]) + (g[i + 2 * stride] + g[i + 3 * stride])) +
                ((g[i + 4 * stride] + g[i + 5 * stride]) + (g[i + 6 * stride] + g[i + 7 * stride]));
        return;
    }
    float v[CR_MAX_LANES];
    for (int64_t i = 0; i < n; i++) {
        for (int l = 0; l < lanes; l++)
            v[l] = g[i + l * stride];
        for (int step = 1; step < lanes; step *= 2)
            for (int l = 0; l < lanes; l += 2 * step)
                v[l] += v[l + step];
        out[i] = v[0];
    }
}

void cr_exec_sum_grads(const cr_exec *ex, int64_t first, int64_t n, float *out) {
    const cr_lanes *t = &ex->lanes;
    if (!t->meet) {
        sum_lanes(ex, 0, t->all, first, n, out);
        return;
    }
    CR_ASSERT(first >= ex->met_first && first + n <= ex->met_first + ex->met_n);
    float v[CR_MAX_LANES];
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < t->n_nodes; k++)
            v[k] = ex->node_grads[k * ex->met_n + first - ex->met_first + i];
        for (int k = t->mine; k < t->mine + t->n_mine; k++) /* unfolding changes them */
            sum_lanes(ex, t->node[k].lane - t->first, t->node[k].n, first + i, 1, &v[k]);
        for (int k = 0; k < t->n_joins; k++)
            v[t->join[k].to] += v[t->join[k].from];
        out[i] = v[0];
    }
}

const cr_lanes *cr_exec_lanes(const cr_exec *ex) {
    return &ex->lanes;
}

void cr_exec_get_info(const cr_exec *ex, cr_exec_info *out) {
    *out = (cr_exec_info){ex->tile_rows, ex->n_phases, ex->g->n,
                          ex->scratch_size + ex->packed_size + ex->grads_size + ex->sums_size};
    for (int i = 0; i < 2 + ex->g->n_axes; i++)
        out->bytes += ex->spaces[i].work_size + ex->spaces[i].wide_size;
}

/* ---- the ops' view ---- */

const int32_t *cr_seq_off(const cr_tile *t, int axis) {
    return t->ex->run->axes[axis] + t->row0;
}

int64_t cr_rows(const cr_tile *t, const cr_node *n) {
    if (n->cls != CR_SEQ) return t->n_rows;
    const int32_t *off = cr_seq_off(t, n->axis);
    return off[t->n_rows] - off[0];
}

int64_t cr_row0(const cr_tile *t, const cr_node *n) {
    return n->cls == CR_SEQ ? *cr_seq_off(t, n->axis) : t->row0;
}

static float *row_buf(const cr_tile *t, const cr_node *n, bool wide, int64_t off) {
    const space *s = cr_space_of(t->ex, n);
    int64_t row0 = cr_row0(t, n) + (t->ex->slots[n->id].all ? t->ex->row0 : 0);
    return wide ? s->wide + off * s->cap + row0 * cr_ld(n)
                : s->work + (t->thread * s->work_width + off) * s->tile;
}

float *cr_val(const cr_tile *t, const cr_node *n) {
    const slot *s = &t->ex->slots[n->id];
    return row_buf(t, n, s->val_wide, s->val_off);
}

float *cr_grad(const cr_tile *t, const cr_node *n) {
    const slot *s = &t->ex->slots[n->id];
    CR_ASSERT(s->grad);
    return row_buf(t, n, s->grad_wide, s->grad_off);
}

bool cr_wants_grad(const cr_tile *t, const cr_node *n, int i) {
    return t->ex->slots[n->in[i]->id].grad;
}

bool cr_first_grad(const cr_tile *t, const cr_node *n, int i) {
    const cr_node *x = n->in[i];
    return t->ex->slots[n->id].first[i] && (x->cls == CR_ROW || x->cls == CR_SEQ || t->first);
}

float *cr_param_grad(const cr_tile *t, const cr_node *p) {
    return t->ex->lane_grads + t->ex->g->n_grads * t->lane + p->offset;
}
float *cr_param_sum(const cr_tile *t, const cr_node *n, int i) {
    if (!cr_wants_grad(t, n, i)) return NULL;
    float *d = cr_param_grad(t, n->in[i]);
    if (cr_first_grad(t, n, i)) memset(d, 0, (size_t)n->in[i]->width * sizeof(float));
    return d;
}

const float *cr_whole(const cr_tile *t, const cr_node *n) {
    return t->ex->whole + t->ex->slots[n->id].sum_off;
}

const float *cr_whole_grad(const cr_tile *t, const cr_node *n) {
    return t->ex->whole + t->ex->n_sums + t->ex->slots[n->id].sum_off;
}

double *cr_lane_sum(const cr_tile *t, const cr_node *n) {
    return t->ex->lane_sums + 2 * t->ex->n_sums * t->lane + t->ex->slots[n->id].sum_off;
}

double *cr_lane_grad(const cr_tile *t, const cr_node *n) {
    return cr_lane_sum(t, n) + t->ex->n_sums;
}

const float *cr_packed(const cr_tile *t, const cr_node *n) {
    return t->ex->packed + t->ex->slots[n->id].pack_off;
}

const void *cr_tile_input(const cr_tile *t) {
    return t->ex->run->input;
}
int64_t cr_tile_step(const cr_tile *t) {
    return t->ex->run->step;
}
int64_t cr_global_row(const cr_tile *t) {
    return t->ex->row0 + t->row0;
}
int64_t cr_global_rows(const cr_tile *t, const cr_node *n) {
    return batch_rows(t->ex, n);
}
