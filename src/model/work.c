/*
 * work.c - one caller's side of a model: the lengths of the sequences in a batch, and a pass of the
 * graph over a batch. Where an axis keeps all steps, it uses the batch's own numbers.
 */
#include <string.h>

#include "model/model.h"
#include "op/input.h"

/* Makes the views of the tables that have an owner. */
static void add_views(cr_model_work *w, cr_pool *pool) {
    for (int i = 0; i < w->m->n_tables; i++) {
        const cr_model_table *t = w->m->tables[i];
        if (!t->table.owner) continue;
        cr_group_slot *slots = cr_alloc((size_t)t->n_uses * sizeof(*slots), "staged rows");
        int *views = cr_alloc((size_t)t->n_uses * sizeof(*views), "staged rows"), count;
        for (int k = 0; k < t->n_uses; k++) {
            const cr_node *n = t->uses[k].node;
            const cr_look *look = cr_lookup_pieces(n, &count) + t->uses[k].piece;
            slots[k] = (cr_group_slot){look->slot, n->cls == CR_SEQ ? 1 + n->axis : 0};
            views[k] = look->view;
        }
        if (!w->views) w->views = cr_views_new(w->m->n_views, pool);
        cr_views_add(w->views, &t->table, slots, views, t->n_uses);
        cr_free(slots);
        cr_free(views);
    }
}

cr_code cr_model_work_new(cr_model_work **out, const cr_model *m, const cr_plan *plan,
                          cr_pool *pool, cr_err *err) {
    cr_model_work *w = cr_alloc(sizeof(*w), "work");
    w->m = m;
    w->off = cr_alloc((size_t)(m->n_axes + 1) * sizeof(*w->off), "axes");
    w->cut = cr_alloc((size_t)(m->n_axes + 1) * sizeof(*w->cut), "axes");
    w->pool = pool;
    if (m->n_mapped > 0) {
        size_t lists = (size_t)(m->features->n_sparse + m->n_mapped);
        w->mapped = cr_alloc(sizeof(*w->mapped), "lists of ids");
        w->mapped->sparse = cr_alloc(lists * sizeof(cr_jagged), "lists of ids");
    }
    add_views(w, pool);
    cr_code code = plan ? cr_work_new(&w->w, plan, pool, err) : CR_OK;
    if (code != CR_OK) {
        cr_model_work_free(w);
        return code;
    }
    *out = w;
    return CR_OK;
}

void cr_model_work_free(cr_model_work *w) {
    if (!w) return;
    cr_work_free(w->w);
    cr_views_free(w->views);
    for (int i = 0; i < w->m->n_axes; i++)
        cr_free(w->cut[i].off);
    if (w->mapped) {
        cr_free(w->mapped->sparse);
        cr_free(w->mapped->rows);
        cr_free(w->mapped);
    }
    cr_free(w->cut);
    cr_free(w->off);
    cr_free(w);
}

/* Cuts the steps of each row to the most that an axis has. */
static cr_code cut(struct cr_axis_cut *c, int64_t most, const int32_t *steps, int64_t n_rows,
                   cr_err *err) {
    if (n_rows >= c->cap) {
        int64_t cap = cr_add_i64(n_rows, n_rows / 4 + 1);
        void *p;
        CR_TRY(cr_try_alloc(&p, cr_bytes(cap, sizeof(int32_t)), "lengths of sequences", err));
        cr_free(c->off);
        c->off = p;
        c->cap = cap;
    }
    for (int64_t r = 0; r < n_rows; r++) {
        int64_t len = steps[r + 1] - steps[r];
        c->off[r + 1] = c->off[r] + (int32_t)(len < most ? len : most);
    }
    return CR_OK;
}

static const int32_t *steps_of(const cr_batch *b, bool sparse, int slot) {
    return sparse ? b->sparse[slot].steps : b->dense_seq[slot].steps;
}

cr_code cr_model_axes(cr_model_work *w, const cr_batch *b, const int32_t *const **axes,
                      cr_err *err) {
    for (int i = 0; i < w->m->n_axes; i++) {
        const cr_seq_axis *a = &w->m->axes[i];
        const int32_t *steps = steps_of(b, a->sparse, a->slot);
        if (a->most > 0) CR_TRY(cut(&w->cut[i], a->most, steps, b->n_rows, err));
        w->off[i] = a->most > 0 ? w->cut[i].off : steps;
    }
    *axes = w->off;
    return CR_OK;
}

static cr_code check_lengths(const cr_seq_axis *a, const cr_batch *b, cr_err *err) {
    const int32_t *steps = steps_of(b, a->sparse, a->slot);
    for (int i = 0; i < a->n_others; i++) {
        const cr_feature *f = a->others[i];
        const int32_t *other = steps_of(b, f->sparse, f->slot);
        if (memcmp(steps, other, (size_t)(b->n_rows + 1) * sizeof(int32_t)) == 0) continue;
        int64_t r = 0;
        while (steps[r + 1] - steps[r] == other[r + 1] - other[r])
            r++;
        return cr_fail(err, CR_EDATA,
                       "in row %lld of a batch the sequence '%s' has %d steps and '%s' has %d; "
                       "sequences of one group must be equally long: correct the data, or give "
                       "each a group of its own",
                       (long long)r, a->name, steps[r + 1] - steps[r], f->name,
                       other[r + 1] - other[r]);
    }
    return CR_OK;
}

cr_code cr_model_check_batch(const cr_model *m, const cr_batch *b, cr_err *err) {
    for (int i = 0; i < m->n_axes; i++)
        CR_TRY(check_lengths(&m->axes[i], b, err));
    return CR_OK;
}

cr_code cr_model_run(cr_model_work *w, const cr_batch *b, cr_run *run, cr_err *err) {
    CR_TRY(cr_plan_takes(cr_work_plan(w->w), b->n_rows, err));
    CR_TRY(cr_model_axes(w, b, &run->axes, err));
    CR_TRY(cr_model_check_batch(w->m, b, err));
    CR_TRY(cr_model_map_batch(w, b, &b, err));
    run->n_rows = b->n_rows;
    run->all_rows = b->global_rows;
    const cr_step_input *given = run->input;
    cr_step_input in = *given;
    if (w->views) {
        CR_TRY(cr_views_stage(w->views, b, run->axes, w->grouped, err));
        if (w->asks) CR_TRY(cr_views_ask(w->views, w->next, err));
        w->asks = false;
        in.views = cr_views_get(w->views);
    }
    in.batch = b;
    run->input = &in;
    cr_code code = cr_work_run(w->w, run, err);
    run->input = given;
    return code;
}

void cr_model_seq_grads(const cr_model_work *w, cr_updater *u) {
    const cr_model *m = w->m;
    for (int i = 0; m->n_axes > 0 && i < m->n_tables; i++) {
        const cr_model_table *t = m->tables[i];
        for (int k = 0, n = 0; t->updater >= 0 && k < t->n_uses; k++) {
            const cr_node *node = t->uses[k].node;
            int count;
            const cr_look *look = cr_lookup_pieces(node, &count) + t->uses[k].piece;
            if (!cr_plan_has_grad(cr_work_plan(w->w), node)) continue;
            if (node->cls == CR_SEQ)
                cr_updater_set_grad(u, t->updater, n, cr_work_grad(w->w, node) + look->out);
            n++;
        }
    }
}
