/*
 * fast.c - see fast.h. The updater sorts and sums the gradients of rows as in a plain step, and its
 * sinks copy them into one list for each table, in the order of ids. Everything else goes over
 * these lists and over pieces of parameters that do not depend on the number of threads.
 */
#include "train/fast.h"

#include <string.h>

#define PIECE      4096 /* floats of a parameter that are taken at a time */
#define ROWS       256  /* rows of a table that go to its rule at a time */
#define SWEEP      1024 /* rows of a table that move without a gradient, at a time */
#define MAX_PLANES 8

/* Rows of a table by their ids, which ascend, with `width` floats each. */
typedef struct row_list {
    int64_t *id;
    float *v;
    int64_t n, cap, width;
} row_list;

typedef struct fast_table {
    const cr_fast *f;
    cr_table *t;
    int number;     /* in the updater */
    row_list grads; /* those of the last pass */
    row_list kept;  /* what the inner steps overwrote: weights, then planes of the rule's state */
    row_list sums, other;
    int64_t first_piece, first_sweep; /* where cr_fast_apply_rows begins */
} fast_table;

typedef struct piece {
    int64_t first, n;
} piece;

struct cr_fast {
    cr_arena arena;
    cr_job *j;
    cr_plan *plan;
    cr_model_work *w;
    cr_updater *up;
    fast_table *tables; /* by number of the model; t is NULL for those without a gradient */
    int n_tables;
    const cr_choice *rule;
    const cr_optim_type *type;
    cr_optim_step step;
    float *mem, *kept, *state, *sums; /* kept: all parameters; state: planes; sums may be NULL */
    size_t size;
    float **scale, **scratch; /* by thread */
    piece *pieces;
    int64_t n_pieces;
    bool first; /* cr_fast_add is called for the first task */
    const cr_optim_step *steps;
};

/* ---- lists of rows ---- */

static void fit_rows(row_list *l, int64_t n) {
    if (n <= l->cap) return;
    int64_t cap = cr_add_i64(n, n / 2 + 16);
    l->id = cr_realloc(l->id, cr_bytes(l->n, sizeof *l->id), cr_bytes(cap, sizeof *l->id),
                       "rows of a task");
    l->v = cr_realloc(l->v, cr_bytes(cr_mul_i64(l->n, l->width), sizeof *l->v),
                      cr_bytes(cr_mul_i64(cap, l->width), sizeof *l->v), "rows of a task");
    l->cap = cap;
}

static void clear_rows(row_list *l) {
    cr_free(l->id);
    cr_free(l->v);
}

/* Counts the ids that both lists have. */
static int64_t count_both(const row_list *a, const row_list *b) {
    int64_t both = 0;
    for (int64_t i = 0, k = 0; i < a->n && k < b->n;) {
        both += a->id[i] == b->id[k];
        int64_t x = a->id[i], y = b->id[k];
        i += x <= y;
        k += y <= x;
    }
    return both;
}

/* Adds the rows of b to those of a. */
static void add_rows(row_list *a, const row_list *b, row_list *room) {
    int64_t D = a->width, n = 0, i = 0, k = 0;
    size_t bytes = (size_t)D * sizeof(float);
    room->n = 0;
    fit_rows(room, a->n + b->n - count_both(a, b));
    for (; i < a->n || k < b->n; n++) {
        bool from_a = k >= b->n || (i < a->n && a->id[i] <= b->id[k]);
        bool from_b = i >= a->n || (k < b->n && b->id[k] <= a->id[i]);
        float *to = room->v + n * D;
        room->id[n] = from_a ? a->id[i] : b->id[k];
        memcpy(to, from_a ? a->v + i * D : b->v + k * D, bytes);
        for (int64_t c = 0; from_a && from_b && c < D; c++)
            to[c] += b->v[k * D + c];
        i += from_a;
        k += from_b;
    }
    row_list old = *a;
    *a = *room;
    a->n = n;
    *room = old;
}

/* ---- the rows of one pass ---- */

static void take(void *ctx, const cr_row_grads *r, float *scratch) {
    (void)scratch;
    fast_table *x = ctx;
    int64_t k = r->id - cr_updater_ids(x->f->up, x->number)->id, D = x->grads.width;
    memcpy(x->grads.v + k * D, r->g, (size_t)(r->n * D) * sizeof(float));
}

/* Tables come in the order of their numbers in the updater. */
static cr_sink sink_of(void *ctx, int table) {
    cr_fast *f = ctx;
    fast_table *x = &f->tables[table];
    int number = 0;
    for (int i = 0; i < table; i++)
        number += f->tables[i].t != NULL;
    x->f = f;
    x->t = &f->j->model->tables[table]->table;
    x->number = number;
    x->grads.width = x->sums.width = x->other.width = x->t->D;
    x->kept.width = x->t->D * (1 + f->type->elem_state);
    return (cr_sink){.ctx = x, .take = take};
}

static void find_rows(cr_fast *f) {
    for (int i = 0; i < f->n_tables; i++) {
        fast_table *x = &f->tables[i];
        if (!x->t) continue;
        const cr_group *g = cr_updater_ids(f->up, x->number);
        x->grads.n = 0;
        fit_rows(&x->grads, g->n_uniq);
        x->grads.n = g->n_uniq;
        if (g->n_uniq) memcpy(x->grads.id, g->id, (size_t)g->n_uniq * sizeof *g->id);
    }
}

/* ---- a task ---- */

static int64_t cut_pieces(const cr_fast *f, piece *out) {
    int64_t n = 0;
    const cr_graph *g = &f->j->model->graph;
    for (int i = 0; i < g->n; i++) {
        const cr_node *p = g->nodes[i];
        if (p->cls != CR_PARAM || !p->trainable || !cr_plan_has_grad(f->plan, p)) continue;
        for (int64_t at = 0; at < p->width; at += PIECE, n++)
            if (out)
                out[n] = (piece){p->offset + at, p->width - at < PIECE ? p->width - at : PIECE};
    }
    return n;
}

static int64_t scratch_of(const cr_model *m) {
    int64_t most = 0;
    for (int i = 0; i < m->n_tables; i++) {
        const cr_table *t = &m->tables[i]->table;
        int64_t n = t->optim ? cr_table_scratch(t) + t->D : 0;
        if (3 * t->D > n) n = 3 * t->D; /* a row and zeros in cr_fast_step */
        if (n > most) most = n;
    }
    return most;
}

cr_code cr_fast_new(cr_fast **out, cr_job *j, const cr_inner_conf *c, int64_t max_rows, bool sums,
                    cr_err *err) {
    cr_fast *f = cr_alloc(sizeof(*f), "fast weights");
    cr_model *m = j->model;
    cr_arena_init(&f->arena, 0);
    f->j = j;
    f->rule = &c->optimizer;
    f->type = cr_optim_of(f->rule);
    f->n_tables = m->n_tables;
    f->tables = CR_NEW_N(&f->arena, fast_table, m->n_tables + 1);
    CR_ASSERT(f->type->elem_state <= MAX_PLANES);
    cr_plan_opts po = {.graph = &m->graph,
                       .mode = CR_TRAIN,
                       .max_rows = max_rows,
                       .lanes = cr_lanes_for(j->root->train_config->lanes, max_rows)};
    cr_code code = cr_plan_new(&f->plan, &po, err);
    if (code == CR_OK) code = cr_model_work_new(&f->w, m, f->plan, j->pool, err);
    int64_t n = m->graph.n_trainable, all = m->graph.n_params;
    void *mem = NULL;
    f->size = cr_bytes(all + n * (f->type->elem_state + sums) + 16, sizeof(float));
    if (code == CR_OK) code = cr_big_alloc(&mem, f->size, "fast weights", err);
    if (code != CR_OK) {
        cr_fast_free(f);
        return code;
    }
    f->mem = f->kept = mem;
    f->state = f->kept + all;
    if (sums) f->sums = f->state + n * f->type->elem_state;
    f->up = cr_model_updater_to(m, f->w->w, j->pool, sink_of, f);
    f->n_pieces = cut_pieces(f, NULL);
    f->pieces = CR_NEW_N(&f->arena, piece, f->n_pieces + 1);
    cut_pieces(f, f->pieces);
    f->scale = CR_NEW_N(&f->arena, float *, m->n_weights + 1);
    for (int i = 0; i < m->n_weights; i++)
        f->scale[i] = CR_NEW_N(&f->arena, float, max_rows);
    int threads = cr_pool_threads(j->pool);
    f->scratch = CR_NEW_N(&f->arena, float *, threads);
    for (int i = 0; i < threads; i++)
        f->scratch[i] = CR_NEW_N(&f->arena, float, scratch_of(m) + 1);
    *out = f;
    return CR_OK;
}

void cr_fast_free(cr_fast *f) {
    if (!f) return;
    cr_updater_free(f->up);
    cr_model_work_free(f->w);
    cr_plan_free(f->plan);
    for (int i = 0; i < f->n_tables; i++) {
        clear_rows(&f->tables[i].grads);
        clear_rows(&f->tables[i].kept);
        clear_rows(&f->tables[i].sums);
        clear_rows(&f->tables[i].other);
    }
    if (f->mem) cr_big_free(f->mem, f->size);
    cr_arena_clear(&f->arena);
    cr_free(f);
}

cr_model_work *cr_fast_work(const cr_fast *f) {
    return f->w;
}
const cr_plan *cr_fast_plan(const cr_fast *f) {
    return f->plan;
}
cr_updater *cr_fast_updater(const cr_fast *f) {
    return f->up;
}
double cr_fast_loss(const cr_fast *f, int k) {
    return cr_work_whole(f->w->w, f->j->model->losses[k].mean, 0);
}
const float *cr_fast_dense_sums(const cr_fast *f) {
    return f->sums;
}

void cr_fast_begin(cr_fast *f) {
    const cr_graph *g = &f->j->model->graph;
    memcpy(f->kept, g->params, (size_t)g->n_params * sizeof(float));
    f->step.t = 0;
    for (int k = 0; k < f->type->elem_state; k++) {
        float v = f->type->state_init ? f->type->state_init(f->rule->conf, k) : 0,
              *plane = f->state + k * g->n_trainable;
        for (int64_t i = 0; i < g->n_trainable; i++)
            plane[i] = v;
    }
    for (int i = 0; i < f->n_tables; i++)
        f->tables[i].kept.n = 0;
}

void cr_fast_end(cr_fast *f, bool all) {
    cr_graph *g = &f->j->model->graph;
    memcpy(g->params, f->kept, (size_t)(all ? g->n_params : g->n_trainable) * sizeof(float));
    for (int i = 0; i < f->n_tables; i++) {
        row_list *l = &f->tables[i].kept;
        for (int64_t k = 0; k < l->n; k++)
            cr_table_put_part(f->tables[i].t, l->id[k], 0, f->tables[i].t->D, l->v + k * l->width);
        l->n = 0;
    }
}

cr_code cr_fast_pass(cr_fast *f, const cr_batch *b, int64_t step, double slope, cr_err *err) {
    cr_model *m = f->j->model;
    cr_pool *pool = f->j->pool;
    const int32_t *const *axes;
    cr_model_scales(m, b, cr_plan_lanes(f->plan), f->scale);
    CR_TRY(cr_model_axes(f->w, b, &axes, err));
    CR_TRY(cr_updater_fit(f->up, b, err));
    cr_updater_group(f->up, b, axes);
    cr_step_input in = {.batch = b,
                        .scale = (const float *const *)f->scale,
                        .n_scale = m->n_weights,
                        .slope = slope};
    cr_run run = {.input = &in, .n_rows = b->n_rows, .step = step};
    cr_plan_pack(f->plan, pool);
    CR_TRY(cr_model_run(f->w, b, &run, err));
    cr_model_seq_grads(f->w, f->up);
    find_rows(f);
    cr_updater_apply(f->up, f->j->tables.steps ? f->j->tables.steps : &f->step);
    return CR_OK;
}

/* ---- inner steps ---- */

static void step_piece(cr_fast *f, const piece *p) {
    float g[PIECE], *planes[MAX_PLANES];
    const cr_graph *graph = &f->j->model->graph;
    cr_work_sum_grads(f->w->w, p->first, p->n, g);
    for (int k = 0; k < f->type->elem_state; k++)
        planes[k] = f->state + k * graph->n_trainable + p->first;
    f->type->dense(f->rule->conf, &f->step, graph->params + p->first, g, planes, p->n);
}

/* Lets the list of kept rows have those of the last pass, too. */
static void keep_rows(fast_table *x) {
    row_list *l = &x->kept;
    const row_list *g = &x->grads;
    const cr_fast *f = x->f;
    int64_t D = x->t->D, n = l->n + g->n - count_both(l, g), i = l->n - 1, k = g->n - 1;
    fit_rows(l, n);
    int64_t to = n - 1;
    l->n = n;
    for (; k >= 0 && to > i; to--) { /* from behind, so that nothing is overwritten */
        bool old = i >= 0 && l->id[i] >= g->id[k];
        k -= i < 0 || l->id[i] <= g->id[k];
        float *row = l->v + to * l->width;
        if (old) {
            l->id[to] = l->id[i];
            memmove(row, l->v + i * l->width, (size_t)l->width * sizeof(float));
            i--;
            continue;
        }
        l->id[to] = g->id[k + 1];
        cr_table_get_part(x->t, l->id[to], 0, D, row);
        for (int p = 0; p < f->type->elem_state; p++)
            for (int64_t c = 0; c < D; c++)
                row[D + p * D + c] =
                    f->type->state_init ? f->type->state_init(f->rule->conf, p) : 0;
    }
}

static void step_rows(fast_table *x, float *scratch) {
    const cr_fast *f = x->f;
    row_list *l = &x->kept;
    int64_t D = x->t->D, k = 0;
    float *w = scratch, *zeros = w + D, *planes[MAX_PLANES];
    memset(zeros, 0, (size_t)D * sizeof(float));
    keep_rows(x);
    for (int64_t i = 0; i < l->n; i++) {
        const float *g = zeros;
        if (k < x->grads.n && x->grads.id[k] == l->id[i]) g = x->grads.v + k++ * D;
        for (int p = 0; p < f->type->elem_state; p++)
            planes[p] = l->v + i * l->width + (1 + p) * D;
        cr_table_get_part(x->t, l->id[i], 0, D, w);
        f->type->dense(f->rule->conf, &f->step, w, g, planes, D);
        cr_table_put_part(x->t, l->id[i], 0, D, w);
    }
}

static void step_item(void *ctx, int64_t item, int thread) {
    cr_fast *f = ctx;
    if (item >= f->n_tables)
        step_piece(f, &f->pieces[item - f->n_tables]);
    else if (f->tables[item].t)
        step_rows(&f->tables[item], f->scratch[thread]);
}

void cr_fast_step(cr_fast *f) {
    f->step = (cr_optim_step){.lr = ((const cr_optim_conf *)f->rule->conf)->lr, .t = f->step.t + 1};
    if (f->type->prepare) f->type->prepare(f->rule->conf, &f->step);
    cr_pool_run(f->j->pool, f->n_tables + f->n_pieces, step_item, f);
}

/* ---- sums over tasks ---- */

static void add_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    cr_fast *f = ctx;
    float g[PIECE];
    if (item < f->n_tables) {
        fast_table *x = &f->tables[item];
        if (f->first) x->sums.n = 0;
        if (x->t) add_rows(&x->sums, &x->grads, &x->other);
        return;
    }
    const piece *p = &f->pieces[item - f->n_tables];
    float *sum = f->sums + p->first;
    cr_work_sum_grads(f->w->w, p->first, p->n, f->first ? sum : g);
    for (int64_t i = 0; !f->first && i < p->n; i++)
        sum[i] += g[i];
}

void cr_fast_add(cr_fast *f, bool first) {
    f->first = first;
    cr_pool_run(f->j->pool, f->n_tables + f->n_pieces, add_item, f);
}

/* A piece of a table's rows, or of those that move without a gradient. */
static void apply_item(void *ctx, int64_t item, int thread) {
    cr_fast *f = ctx;
    int i = f->n_tables - 1;
    while (!f->tables[i].t || f->tables[i].first_piece > item)
        i--;
    fast_table *x = &f->tables[i];
    row_list *l = &x->sums;
    cr_sink s = cr_table_sink(x->t);
    const cr_optim_step *step = &f->steps[x->t->optim_group];
    if (item < x->first_sweep) {
        int64_t k = (item - x->first_piece) * ROWS, n = l->n - k < ROWS ? l->n - k : ROWS;
        cr_row_grads r = {l->id + k, n, 0, l->v + k * l->width, step};
        s.take(s.ctx, &r, f->scratch[thread]);
        return;
    }
    int64_t first = s.row0 + (item - x->first_sweep) * SWEEP, end = s.row0 + s.sweep;
    if (end - first > SWEEP) end = first + SWEEP;
    int64_t k = cr_ids_find(l->id, l->n, first), n = cr_ids_find(l->id + k, l->n - k, end);
    s.rest(s.ctx, first, end, l->id + k, n, step, f->scratch[thread]);
}

void cr_fast_apply_rows(cr_fast *f, const cr_optim_step *steps) {
    int64_t pieces = 0;
    for (int i = 0; i < f->n_tables; i++) {
        fast_table *x = &f->tables[i];
        if (!x->t) continue;
        x->first_piece = pieces;
        x->first_sweep = pieces + (x->sums.n + ROWS - 1) / ROWS;
        pieces = x->first_sweep + (cr_table_sink(x->t).sweep + SWEEP - 1) / SWEEP;
    }
    f->steps = steps;
    cr_pool_run(f->j->pool, pieces, apply_item, f);
}
