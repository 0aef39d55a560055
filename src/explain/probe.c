/*
 * probe.c - runs a model again with other values of one unit, at the price of what depends on it.
 *
 * The base plan computes all rows as they are and keeps every value that a second run needs. A
 * probe is a plan of the same graph for one unit: what the unit cannot change is given, lookups
 * copy the row that they made before and look up only the pieces that differ, and only rows in
 * which the unit has another value are run. The ops are the same ones with the same order of sums,
 * so a probe gives the same bits as a run over data that was changed.
 */
#include <string.h>

#include "base/mem.h"
#include "explain/explain_int.h"
#include "op/op.h"

#define BATCH 2016 /* rows at a time: what the base run leaves stays in the last-level cache */

typedef struct probe {
    const cr_unit *unit;
    bool used, whole;      /* whole: it has an op that sees all rows of a batch at once */
    bool *out_used;        /* by output */
    const cr_node **given; /* the values that it reads of the base run */
    int n_given;
    const cr_node **looks; /* the lookups that it makes in part */
    int n_looks;
    const cr_node **shifts; /* the first layers that it shifts */
    int n_shifts;
    bool *bare;           /* by node: lookups that only such layers read */
    bool all_lists;       /* it reads the ids of other features too */
    const float **looked; /* by node: what its lookups gave in the base run */
    cr_plan *plan;
    cr_model_work *work;
} probe;

/* What a thread needs for the probe under way. */
typedef struct bench {
    cr_taken taken;
    int64_t *rows, *donor;
    bool *differs;
    cr_unit_sources from;
    int64_t *at;      /* (rows) in the base run */
    cr_buf *gathered; /* by node */
    cr_arena arena;
} bench;

struct cr_probes {
    cr_probes_opts o;
    cr_arena arena;
    cr_plan *base;
    cr_model_work *work;
    probe *v;
    int n;
    int64_t batch;
    bench *benches; /* by thread */
    int n_benches;
    cr_taken rows;
    int64_t *row_numbers;
    const int32_t *const *axes; /* of the base run */
    float **before;             /* by node: what layers that are shifted gave before their ReLU */
    bool views;                 /* tables have owners, who stage the rows of every list */
    /* the call under way */
    int64_t first, n_rows;
    const int64_t *donor;
    int u0;
    float *const *base_out;
    float *const *const *out;
    int64_t *changed;
    cr_code *codes; /* by unit */
    cr_err *errs;
};

/* Is the layer made from its own value and the columns that differ? Not where most of them do: then
 * that gains nothing, and rounding would tell rows apart that have become the same. */
bool cr_probe_shifts(const cr_node *n, const cr_unit *u) {
    if (!n->op->shift || n->in[0]->op != &cr_op_lookup) return false;
    int count;
    int64_t width = 0;
    const cr_look *v = cr_lookup_pieces(n->in[0], &count);
    for (int k = 0; k < count; k++)
        if (v[k].table ? u->ids[v[k].slot] : u->dense[v[k].dense_off]) width += v[k].width;
    return 2 * width <= n->in[0]->width;
}

/* Finds what a probe runs, and what it reads of the base run. */
static void look_at(cr_probes *p, probe *v, bool *keep, bool *before) {
    const cr_model *m = p->o.j->model;
    const cr_graph *g = &m->graph;
    bool *mark = cr_alloc((size_t)g->n + 1, "nodes"), *need = cr_alloc((size_t)g->n + 1, "nodes");
    cr_unit_changes(v->unit, m, v->unit->lengths, mark);
    v->out_used = CR_NEW_N(&p->arena, bool, p->o.n_outs);
    v->given = CR_NEW_N(&p->arena, const cr_node *, g->n + 1);
    v->looks = CR_NEW_N(&p->arena, const cr_node *, g->n + 1);
    v->shifts = CR_NEW_N(&p->arena, const cr_node *, g->n + 1);
    v->bare = CR_NEW_N(&p->arena, bool, g->n + 1);
    v->looked = CR_NEW_N(&p->arena, const float *, g->n + 1);
    memset(v->bare, true, (size_t)g->n);
    for (int k = 0; k < p->o.n_outs; k++) {
        v->out_used[k] = mark[p->o.outs[k]->id];
        v->used |= v->out_used[k];
        need[p->o.outs[k]->id] |= v->out_used[k];
    }
    for (int i = g->n - 1; i >= 0; i--) {
        const cr_node *n = g->nodes[i];
        if (!need[i] || n->cls == CR_PARAM) continue;
        if (!mark[i]) {
            v->given[v->n_given++] = n;
            keep[i] = true;
            continue;
        }
        v->whole |= n->op->batch;
        v->all_lists |= n->op == &cr_op_codes;
        bool shifts = cr_probe_shifts(n, v->unit);
        for (int k = 0; k < (shifts ? 1 : n->n_in); k++) {
            need[n->in[k]->id] = true;
            v->bare[n->in[k]->id] &= shifts;
        }
        if (shifts) {
            v->shifts[v->n_shifts++] = n;
            before[i] = true;
        }
        /* a sequence whose lengths move is looked up in full */
        bool look = n->op == &cr_op_lookup || (n->op == &cr_op_lookup_seq && !v->unit->lengths);
        if (!look) continue;
        v->looks[v->n_looks++] = n;
        keep[i] = true;
    }
    cr_free(mark);
    cr_free(need);
}

static cr_code make_base(cr_probes *p, const bool *keep, cr_err *err) {
    const cr_graph *g = &p->o.j->model->graph;
    const cr_node **outs = CR_NEW_N(&p->arena, const cr_node *, g->n + 1);
    int n = 0;
    for (int k = 0; k < p->o.n_outs; k++)
        outs[n++] = p->o.outs[k];
    for (int i = 0; i < g->n; i++)
        if (keep[i]) outs[n++] = g->nodes[i];
    cr_plan_opts po = {.graph = &p->o.j->model->graph,
                       .mode = CR_EVAL,
                       .max_rows = p->batch,
                       .lanes = 1,
                       .outputs = outs,
                       .n_outputs = n};
    CR_TRY(cr_plan_new(&p->base, &po, err));
    return cr_model_work_new(&p->work, p->o.j->model, p->base, p->o.j->pool, err);
}

static cr_code make_probe(cr_probes *p, probe *v, cr_err *err) {
    const cr_node **outs = CR_NEW_N(&p->arena, const cr_node *, p->o.n_outs + 1);
    int n = 0;
    if (!v->used) return CR_OK;
    for (int k = 0; k < p->o.n_outs; k++)
        if (v->out_used[k]) outs[n++] = p->o.outs[k];
    cr_plan_opts po = {.graph = &p->o.j->model->graph,
                       .mode = CR_EVAL,
                       .max_rows = p->batch,
                       .lanes = 1,
                       .outputs = outs,
                       .n_outputs = n,
                       .given = v->given,
                       .n_given = v->n_given,
                       .shifted = v->shifts,
                       .n_shifted = v->n_shifts,
                       .packed = p->base};
    CR_TRY(cr_plan_new(&v->plan, &po, err));
    return cr_model_work_new(&v->work, p->o.j->model, v->plan, NULL, err);
}

static cr_code make(cr_probes *p, cr_err *err) {
    const cr_graph *g = &p->o.j->model->graph;
    bool *keep = CR_NEW_N(&p->arena, bool, g->n + 1), whole = false;
    bool *before = CR_NEW_N(&p->arena, bool, g->n + 1);
    p->n = p->o.units->n;
    p->v = CR_NEW_N(&p->arena, probe, p->n + 1);
    for (int u = 0; u < p->n; u++) {
        p->v[u].unit = &p->o.units->v[u];
        look_at(p, &p->v[u], keep, before);
        whole |= p->v[u].whole;
    }
    /* an op over all rows sees those of a batch of an evaluation */
    int64_t eval = cr_job_eval_batch(p->o.j);
    p->batch = whole || eval < BATCH ? eval : BATCH;
    CR_TRY(make_base(p, keep, err));
    p->views = p->work->views != NULL;
    p->before = CR_NEW_N(&p->arena, float *, g->n + 1);
    for (int i = 0; i < g->n; i++)
        if (before[i])
            p->before[i] = CR_NEW_N(&p->arena, float,
                                    cr_mul_i64(p->batch, g->nodes[i]->op->shift_kept(g->nodes[i])));
    for (int u = 0; u < p->n; u++)
        CR_TRY(make_probe(p, &p->v[u], err));
    p->row_numbers = CR_NEW_N(&p->arena, int64_t, p->batch);
    p->codes = CR_NEW_N(&p->arena, cr_code, p->n + 1);
    p->errs = CR_NEW_N(&p->arena, cr_err, p->n + 1);
    p->n_benches = cr_pool_threads(p->o.j->pool);
    p->benches = CR_NEW_N(&p->arena, bench, p->n_benches);
    for (int t = 0; t < p->n_benches; t++) {
        bench *b = &p->benches[t];
        cr_arena_init(&b->arena, 0);
        b->rows = CR_NEW_N(&b->arena, int64_t, p->batch);
        b->donor = CR_NEW_N(&b->arena, int64_t, p->batch);
        b->differs = CR_NEW_N(&b->arena, bool, p->batch);
        b->gathered = CR_NEW_N(&b->arena, cr_buf, g->n + 1);
        b->at = CR_NEW_N(&b->arena, int64_t, p->batch);
        b->from = cr_unit_sources_new(p->o.kept, &b->arena);
    }
    cr_plan_pack(p->base, p->o.j->pool);
    return CR_OK;
}

cr_code cr_probes_new(cr_probes **out, const cr_probes_opts *o, cr_err *err) {
    cr_probes *p = cr_alloc(sizeof(*p), "probes");
    cr_arena_init(&p->arena, 0);
    p->o = *o;
    cr_code code = make(p, err);
    if (code != CR_OK) {
        cr_probes_free(p);
        return code;
    }
    *out = p;
    return CR_OK;
}

void cr_probes_free(cr_probes *p) {
    if (!p) return;
    for (int u = 0; u < p->n; u++) {
        cr_model_work_free(p->v[u].work);
        cr_plan_free(p->v[u].plan);
    }
    for (int t = 0; t < p->n_benches; t++) {
        bench *b = &p->benches[t];
        cr_taken_clear(&b->taken);
        for (int i = 0; i < p->o.j->model->graph.n; i++)
            cr_buf_clear(&b->gathered[i]);
        cr_arena_clear(&b->arena);
    }
    cr_taken_clear(&p->rows);
    cr_model_work_free(p->work);
    cr_plan_free(p->base);
    cr_arena_clear(&p->arena);
    cr_free(p);
}

bool cr_probes_used(const cr_probes *p, int u, int k) {
    return k < 0 ? p->v[u].used : p->v[u].out_used[k];
}
int64_t cr_probes_batch(const cr_probes *p) {
    return p->batch;
}

cr_code cr_probes_base(cr_probes *p, int64_t from, int64_t n, float *const *out, cr_err *err) {
    for (int64_t i = 0; i < n; i++)
        p->row_numbers[i] = from + i;
    CR_TRY(cr_kept_take(p->o.kept, &(cr_sources){.n = n, .rows = p->row_numbers}, &p->rows, err));
    cr_step_input in = {.batch = &p->rows.b, .before = p->before};
    cr_run run = {.input = &in};
    CR_TRY(cr_model_run(p->work, &p->rows.b, &run, err));
    p->axes = run.axes;
    for (int u = 0; u < p->n; u++)
        for (int i = 0; i < p->v[u].n_looks; i++)
            p->v[u].looked[p->v[u].looks[i]->id] = cr_work_val(p->work->w, p->v[u].looks[i]);
    for (int k = 0; k < p->o.n_outs; k++)
        memcpy(out[k] + from, cr_work_val(p->work->w, p->o.outs[k]), (size_t)n * sizeof(float));
    return CR_OK;
}

/* Copies the rows (or the positions of the rows) of a value of the base run that a probe reads. */
static const float *gather(const cr_probes *p, bench *b, const cr_node *n, int64_t count) {
    const float *from = cr_work_val(p->work->w, n);
    int64_t ld = cr_ld(n), all = 0;
    if (count == p->n_rows) return from;
    const int32_t *off = n->cls == CR_SEQ ? p->axes[n->axis] : NULL;
    for (int64_t i = 0; i < count; i++) {
        int64_t r = b->rows[i] - p->first;
        all += off ? off[r + 1] - off[r] : 1;
    }
    cr_buf *to = &b->gathered[n->id];
    cr_buf_reset(to);
    cr_buf_reserve(to, (size_t)(all * ld) * sizeof(float) + 64);
    float *y = (float *)(void *)to->data;
    for (int64_t i = 0; i < count; i++) {
        int64_t r = b->rows[i] - p->first, at = off ? off[r] : r,
                many = off ? off[r + 1] - off[r] : 1;
        memcpy(y, from + at * ld, (size_t)(many * ld) * sizeof(float));
        y += many * ld;
    }
    return (const float *)(void *)to->data;
}

/* Runs rows b->rows with the values of b->donor. */
static cr_code run_probe(const cr_probes *p, probe *v, bench *b, int64_t count, bool removed,
                         cr_err *err) {
    const cr_unit *u = v->unit;
    cr_unit_from(u, &b->from, b->donor);
    cr_sources s = {.n = count,
                    .rows = b->rows,
                    .ids = b->from.ids,
                    .seqs = b->from.seqs,
                    .dense = b->from.dense,
                    .keep_lengths = removed || !u->lengths,
                    .only = !p->views && !v->all_lists};
    cr_code code = cr_kept_take(p->o.kept, &s, &b->taken, err);
    cr_unit_from(u, &b->from, NULL);
    CR_TRY(code);
    for (int i = 0; i < v->n_given; i++)
        cr_work_give(v->work->w, v->given[i], gather(p, b, v->given[i], count));
    for (int64_t i = 0; i < count; i++)
        b->at[i] = b->rows[i] - p->first;
    cr_patch patch = {.at = b->at,
                      .rows = v->looked,
                      .axes = p->axes,
                      .bare = v->bare,
                      .before = (const float *const *)p->before,
                      .sparse = u->ids,
                      .dense_seq = u->seqs,
                      .dense = u->dense};
    cr_step_input in = {.batch = &b->taken.b, .patch = &patch};
    cr_run run = {.input = &in};
    return cr_model_run(v->work, &b->taken.b, &run, err);
}

static cr_code probe_unit(cr_probes *p, int u, bench *b, cr_err *err) {
    probe *v = &p->v[u];
    for (int kind = 0; v->used && kind < 2; kind++) {
        int64_t count = 0;
        cr_unit_differ(v->unit, p->o.kept, p->first, p->n_rows, kind == 1 ? NULL : p->donor,
                       b->differs);
        for (int64_t i = 0; i < p->n_rows; i++) {
            int64_t r = p->first + i;
            p->changed[2 * u + kind] += b->differs[i];
            /* no branch: whether a row differs cannot be predicted */
            b->rows[count] = r;
            b->donor[count] = kind == 1 ? CR_NO_ROW : p->donor[r];
            count += b->differs[i] || v->whole;
        }
        if (count > 0) CR_TRY(run_probe(p, v, b, count, kind == 1, err));
        for (int k = 0; k < p->o.n_outs; k++) {
            if (!v->out_used[k]) continue;
            float *to = p->out[u - p->u0][2 * k + kind];
            memcpy(to + p->first, p->base_out[k] + p->first, (size_t)p->n_rows * sizeof(float));
            const float *y = count > 0 ? cr_work_val(v->work->w, p->o.outs[k]) : NULL;
            for (int64_t i = 0; i < count; i++)
                to[b->rows[i]] = y[i];
        }
    }
    return CR_OK;
}

static void probe_item(void *ctx, int64_t item, int thread) {
    cr_probes *p = ctx;
    int u = p->u0 + (int)item;
    p->codes[u] = probe_unit(p, u, &p->benches[thread], &p->errs[u]);
}

cr_code cr_probes_units(cr_probes *p, int64_t from, int64_t n, const int64_t *donor, int u0, int u1,
                        float *const *base, float *const *const *out, int64_t *changed,
                        cr_err *err) {
    p->first = from;
    p->n_rows = n;
    p->donor = donor;
    p->u0 = u0;
    p->base_out = base;
    p->out = out;
    p->changed = changed;
    cr_pool_run(p->o.j->pool, u1 - u0, probe_item, p);
    for (int u = u0; u < u1; u++)
        if (p->codes[u] != CR_OK) {
            *err = p->errs[u];
            return p->codes[u];
        }
    return CR_OK;
}
