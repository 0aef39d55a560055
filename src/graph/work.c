/*
 * work.c - the memory in which one caller runs batches, and the view of it that ops have.
 */
#include "graph/work.h"

#include <string.h>

#include "graph/work_int.h"

/* The positions of a tile may take more memory than its rows: there are many per row, a tile should
 * not have few rows, and the work of an attention per position outweighs an access to the next
 * cache. */
#define TILE_POSITIONS_BYTES (4 << 20)
#define MOST_POSITIONS       8192

static cr_code big(float **out, size_t *size, int64_t n_floats, const char *what, cr_err *err) {
    void *p;
    size_t bytes = cr_bytes(n_floats > 16 ? n_floats : 16, sizeof(float));
    CR_TRY(cr_big_alloc(&p, bytes, what, err));
    *out = p;
    *size = bytes;
    return CR_OK;
}

static void free_space(space *s) {
    if (s->work) cr_big_free(s->work, s->work_size);
    if (s->wide) cr_big_free(s->wide, s->wide_size);
    *s = (space){0};
}

/* alloc_space makes room for tiles of `tile` rows and a batch of `cap`; after a failure there is no
 * room at all. */
static cr_code alloc_space(cr_work *w, int k, int64_t tile, int64_t cap, cr_err *err) {
    space *s = &w->spaces[k];
    const widths *p = &w->plan->spaces[k];
    int threads = cr_pool_threads(w->pool);
    free_space(s);
    CR_TRY(big(&s->work, &s->work_size, cr_mul_i64(p->work, cr_mul_i64(tile, threads)),
               "tile buffers", err));
    CR_TRY(big(&s->wide, &s->wide_size, cr_mul_i64(p->wide, cap), "batch buffers", err));
    s->tile = tile;
    s->cap = cap;
    return CR_OK;
}

/* choose_positions returns how many positions of a tile fit the cache. */
static int64_t choose_positions(const widths *p) {
    int64_t per_row = p->work * (int64_t)sizeof(float);
    int64_t rows = per_row > 0 ? TILE_POSITIONS_BYTES / per_row : MOST_POSITIONS;
    return rows < CR_MAX_TILE ? CR_MAX_TILE : rows > MOST_POSITIONS ? MOST_POSITIONS : rows;
}

/* fit_space makes room for `rows` of a batch, and for a quarter more, so that growing ends soon. */
static cr_code fit_space(cr_work *w, int k, int64_t tile, int64_t rows, int64_t most, cr_err *err) {
    const space *s = &w->spaces[k];
    if (s->work && s->wide && tile <= s->tile && rows <= s->cap) return CR_OK;
    int64_t cap = rows <= s->cap ? s->cap : cr_add_i64(rows, rows / 4);
    return alloc_space(w, k, tile > s->tile ? tile : s->tile, cap < most ? cap : most, err);
}

cr_code cr_work_fit(cr_work *w, const cr_run *run, cr_err *err) {
    const cr_plan *p = w->plan;
    int64_t all = cr_lanes_all(&p->lanes, run->n_rows, run->all_rows);
    CR_TRY(cr_plan_takes(p, all, err));
    if (run->n_rows != cr_lanes_rows(&p->lanes, all)) CR_BUG("rows of other lanes");
    CR_TRY(fit_space(w, 0, p->tile_rows, run->n_rows, p->max_rows, err));
    CR_TRY(fit_space(w, 1 + p->g->n_axes, 0, all, p->all_max_rows, err));
    for (int a = 0; a < p->g->n_axes; a++) {
        const space *s = &w->spaces[1 + a];
        const int32_t *off = run->axes[a];
        int64_t longest = s->tile ? s->tile : choose_positions(&p->spaces[1 + a]);
        for (int64_t r = 0; r < run->n_rows; r++)
            if (off[r + 1] - off[r] > longest) longest = off[r + 1] - off[r];
        CR_TRY(fit_space(w, 1 + a, longest, off[run->n_rows], INT64_MAX, err));
    }
    return CR_OK;
}

/* Makes the buffers for gradients that holders exchange. What comes is either the gradients of all
 * nodes, or one slice of the other holders' nodes. The holder of lane 0 also gets the gradients of
 * folded parameters. */
cr_code cr_work_slice(cr_work *w, const int64_t *slice, cr_err *err) {
    const cr_lanes *t = &w->plan->lanes;
    const cr_graph *g = w->plan->g;
    int self = t->meet->self;
    int64_t folded = g->n_grads - g->n_trainable,
            met = slice ? slice[self + 1] - slice[self] : g->n_trainable;
    if (w->met_grads) cr_big_free(w->met_grads, w->met_size);
    if (w->sent_grads) cr_big_free(w->sent_grads, w->sent_size);
    w->met_grads = w->sent_grads = NULL;
    w->slice = slice;
    if (self == 0 && folded > met) met = folded;
    CR_TRY(big(&w->met_grads, &w->met_size, cr_mul_i64(met, t->n_nodes), "gradients of other parts",
               err));
    return big(&w->sent_grads, &w->sent_size, cr_mul_i64(g->n_grads, t->n_mine),
               "gradients of other parts", err);
}

/* alloc_train makes memory for gradients and sums. */
static cr_code alloc_train(cr_work *w, cr_err *err) {
    const cr_plan *p = w->plan;
    const cr_lanes *t = &p->lanes;
    CR_TRY(alloc_space(w, 0, p->tile_rows, p->max_rows, err));
    CR_TRY(alloc_space(w, 1 + p->g->n_axes, 0, p->all_max_rows, err));
    CR_TRY(big(&w->lane_grads, &w->grads_size, cr_mul_i64(p->g->n_grads, t->n),
               "gradients of the lanes", err));
    if (t->meet) {
        w->met_at = CR_NEW_N(&w->arena, size_t, t->meet->n + 1);
        w->out_at = CR_NEW_N(&w->arena, size_t, t->meet->n + 1);
        CR_TRY(cr_work_slice(w, NULL, err));
    }
    void *mem;
    int64_t stride = cr_mul_i64(2, p->n_sums),
            per_node = stride > p->g->n_axes ? stride : p->g->n_axes;
    int64_t n_sums = cr_add_i64(cr_mul_i64(stride, t->n + 1), cr_mul_i64(per_node, t->n_nodes));
    w->sums_size = cr_bytes(cr_add_i64(n_sums, 1), sizeof(double));
    CR_TRY(cr_try_alloc(&mem, w->sums_size, "batch sums", err));
    w->lane_sums = mem;
    w->node_sums = w->lane_sums + stride * t->n;
    w->sums = w->node_sums + per_node * t->n_nodes;
    CR_TRY(cr_try_alloc(&mem, cr_bytes(cr_add_i64(stride, 1), sizeof(float)), "batch values", err));
    w->whole = mem;
    return CR_OK;
}

static cr_code alloc(cr_work *w, cr_err *err) {
    const cr_plan *p = w->plan;
    CR_TRY(big(&w->scratch, &w->scratch_size,
               cr_mul_i64(cr_work_scratch(p), cr_pool_threads(w->pool)), "scratch", err));
    void *mem;
    CR_TRY(cr_try_alloc(&mem, cr_bytes(cr_add_i64(p->n_state, 1), 1), "states of nodes", err));
    w->states = mem;
    return p->mode == CR_TRAIN ? alloc_train(w, err) : CR_OK;
}

cr_code cr_work_new(cr_work **out, const cr_plan *plan, cr_pool *pool, cr_err *err) {
    cr_work *w = cr_alloc(sizeof(*w), "work");
    cr_arena_init(&w->arena, 0);
    w->plan = plan;
    w->pool = pool;
    w->spaces = CR_NEW_N(&w->arena, space, cr_n_spaces(plan));
    w->given = CR_NEW_N(&w->arena, const float *, plan->g->n + 1);
    w->positions = CR_NEW_N(&w->arena, int64_t, plan->g->n_axes + 1);
    cr_code code = alloc(w, err);
    if (code != CR_OK) {
        cr_work_free(w);
        return code;
    }
    *out = w;
    return CR_OK;
}

void cr_work_free(cr_work *w) {
    if (!w) return;
    for (int i = 0; i < cr_n_spaces(w->plan); i++)
        free_space(&w->spaces[i]);
    if (w->scratch) cr_big_free(w->scratch, w->scratch_size);
    if (w->lane_grads) cr_big_free(w->lane_grads, w->grads_size);
    if (w->met_grads) cr_big_free(w->met_grads, w->met_size);
    if (w->sent_grads) cr_big_free(w->sent_grads, w->sent_size);
    cr_free(w->lane_sums);
    cr_free(w->whole);
    cr_free(w->states);
    cr_arena_clear(&w->arena);
    cr_free(w);
}

void cr_work_give(cr_work *w, const cr_node *n, const float *rows) {
    CR_ASSERT(w->plan->slots[n->id].given);
    w->given[n->id] = rows;
}

const cr_plan *cr_work_plan(const cr_work *w) {
    return w->plan;
}

/* wide_rows returns row 0 of this run in a buffer of the whole batch. */
static const float *wide_rows(const cr_work *w, const cr_node *n, int64_t off) {
    const space *sp = &w->spaces[cr_space_of(w->plan, n)];
    return sp->wide + off * sp->cap + (w->plan->slots[n->id].all ? w->row0 * cr_ld(n) : 0);
}

const float *cr_work_val(const cr_work *w, const cr_node *n) {
    const slot *s = &w->plan->slots[n->id];
    CR_ASSERT(s->used && s->val_wide);
    return wide_rows(w, n, s->val_off);
}

const float *cr_work_grad(const cr_work *w, const cr_node *n) {
    const slot *s = &w->plan->slots[n->id];
    return s->grad && s->grad_wide ? wide_rows(w, n, s->grad_off) : NULL;
}

double cr_work_whole(const cr_work *w, const cr_node *n, int64_t i) {
    return w->sums[w->plan->slots[n->id].sum_off + i];
}

size_t cr_work_bytes(const cr_work *w) {
    size_t n = w->plan->packed_size + w->scratch_size + w->grads_size + w->met_size + w->sent_size +
               w->sums_size;
    for (int i = 0; i < cr_n_spaces(w->plan); i++)
        n += w->spaces[i].work_size + w->spaces[i].wide_size;
    return n;
}

void *cr_work_state(const cr_work *w, const cr_node *n) {
    return w->states + w->plan->slots[n->id].state_off;
}

/* ---- the ops' view ---- */

const int32_t *cr_seq_off(const cr_tile *t, int axis) {
    return t->w->run->axes[axis] + t->row0;
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
    int k = cr_space_of(t->w->plan, n);
    const space *s = &t->w->spaces[k];
    int64_t row0 = cr_row0(t, n) + (t->w->plan->slots[n->id].all ? t->w->row0 : 0);
    return wide ? s->wide + off * s->cap + row0 * cr_ld(n)
                : s->work + (t->thread * t->w->plan->spaces[k].work + off) * s->tile;
}

float *cr_val(const cr_tile *t, const cr_node *n) {
    const slot *s = &t->w->plan->slots[n->id];
    /* ops that read a value do not write it */
    if (s->given) return (float *)(uintptr_t)t->w->given[n->id] + cr_row0(t, n) * cr_ld(n);
    return row_buf(t, n, s->val_wide, s->val_off);
}

float *cr_grad(const cr_tile *t, const cr_node *n) {
    const slot *s = &t->w->plan->slots[n->id];
    CR_ASSERT(s->grad);
    return row_buf(t, n, s->grad_wide, s->grad_off);
}

bool cr_own(const cr_tile *t, const cr_node *n) {
    return t->w->plan->slots[n->id].own;
}

bool cr_wants_grad(const cr_tile *t, const cr_node *n, int i) {
    return t->w->plan->slots[n->in[i]->id].grad;
}

bool cr_first_grad(const cr_tile *t, const cr_node *n, int i) {
    const cr_node *x = n->in[i];
    return t->w->plan->slots[n->id].first[i] && (x->cls == CR_ROW || x->cls == CR_SEQ || t->first);
}

float *cr_param_grad(const cr_tile *t, const cr_node *p) {
    return t->w->lane_grads + t->w->plan->g->n_grads * t->lane + p->offset;
}
float *cr_param_sum(const cr_tile *t, const cr_node *n, int i) {
    if (!cr_wants_grad(t, n, i)) return NULL;
    float *d = cr_param_grad(t, n->in[i]);
    if (cr_first_grad(t, n, i)) memset(d, 0, (size_t)n->in[i]->width * sizeof(float));
    return d;
}

const float *cr_whole(const cr_tile *t, const cr_node *n) {
    return t->w->whole + t->w->plan->slots[n->id].sum_off;
}

const float *cr_whole_grad(const cr_tile *t, const cr_node *n) {
    return t->w->whole + t->w->plan->n_sums + t->w->plan->slots[n->id].sum_off;
}

double *cr_lane_sum(const cr_tile *t, const cr_node *n) {
    return t->w->lane_sums + 2 * t->w->plan->n_sums * t->lane + t->w->plan->slots[n->id].sum_off;
}

double *cr_lane_grad(const cr_tile *t, const cr_node *n) {
    return cr_lane_sum(t, n) + t->w->plan->n_sums;
}

const float *cr_packed(const cr_tile *t, const cr_node *n) {
    const cr_plan *p = t->w->plan;
    return (p->packed_in ? p->packed_in->packed : p->packed) + p->slots[n->id].pack_off;
}

float *cr_carry(const cr_tile *t, const cr_node *n) {
    return t->scratch + cr_work_carry(t->w->plan) + t->w->plan->slots[n->id].carry_off;
}

void *cr_state(const cr_tile *t, const cr_node *n) {
    return cr_work_state(t->w, n);
}

const void *cr_tile_input(const cr_tile *t) {
    return t->w->run->input;
}
int64_t cr_tile_step(const cr_tile *t) {
    return t->w->run->step;
}
int64_t cr_global_row(const cr_tile *t) {
    return t->w->row0 + t->row0;
}
int64_t cr_global_rows(const cr_tile *t, const cr_node *n) {
    return cr_work_rows(t->w, n);
}
