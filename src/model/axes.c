/*
 * axes.c - the sequences of a model: whose lengths an axis of the graph has, what a batch says of
 * them, and a pass of the graph over a batch with them.
 *
 * An axis is a feature and the most steps that an encoder reads. The others of its group have the
 * same lengths: feat/ checks that within a sequence_feature, check_lengths() across them. Where an
 * axis keeps all steps, the batch's own numbers are used.
 */
#include <string.h>

#include "model/model.h"
#include "op/custom.h"
#include "op/input.h"

int cr_model_axis(cr_build *b, const cr_feature *f, int64_t most) {
    cr_model *m = b->m;
    for (int i = 0; i < m->n_axes; i++)
        if (m->axes[i].slot == f->slot && m->axes[i].sparse == f->sparse && m->axes[i].most == most)
            return i;
    int n = m->n_axes++;
    m->axes = cr_realloc(m->axes, (size_t)n * sizeof(*m->axes), (size_t)(n + 1) * sizeof(*m->axes),
                         "axes");
    m->axis_off = cr_realloc(m->axis_off, (size_t)n * sizeof(*m->axis_off),
                             (size_t)(n + 1) * sizeof(*m->axis_off), "axes");
    m->axes[n] = (cr_seq_axis){.slot = f->slot, .sparse = f->sparse, .most = most, .name = f->name};
    if (cr_graph_axis(b->g) != n) CR_BUG("an axis that is not the model's");
    return n;
}

void cr_model_axis_also(cr_build *b, int axis, const cr_feature *f) {
    cr_seq_axis *a = &b->m->axes[axis];
    const cr_feature **v = CR_NEW_N(&b->m->arena, const cr_feature *, a->n_others + 1);
    for (int i = 0; i < a->n_others; i++) {
        if (a->others[i] == f) return;
        v[i] = a->others[i];
    }
    v[a->n_others++] = f;
    a->others = v;
}

void cr_model_axes_clear(cr_model *m) {
    for (int i = 0; i < m->n_axes; i++)
        cr_free(m->axes[i].off);
    cr_free(m->axes);
    cr_free(m->axis_off);
}

/* steps cut to the most that an axis has */
static const int32_t *cut(cr_seq_axis *a, const int32_t *steps, int64_t n_rows) {
    if (n_rows >= a->cap) {
        cr_free(a->off);
        a->cap = n_rows + n_rows / 4 + 1;
        a->off = cr_alloc((size_t)a->cap * sizeof(int32_t), "lengths of sequences");
    }
    for (int64_t r = 0; r < n_rows; r++) {
        int64_t len = steps[r + 1] - steps[r];
        a->off[r + 1] = a->off[r] + (int32_t)(len < a->most ? len : a->most);
    }
    return a->off;
}

static const int32_t *steps_of(const cr_batch *b, bool sparse, int slot) {
    return sparse ? b->sparse[slot].steps : b->dense_seq[slot].steps;
}

const int32_t *const *cr_model_axes(cr_model *m, const cr_batch *b) {
    for (int i = 0; i < m->n_axes; i++) {
        cr_seq_axis *a = &m->axes[i];
        const int32_t *steps = steps_of(b, a->sparse, a->slot);
        m->axis_off[i] = a->most > 0 ? cut(a, steps, b->n_rows) : steps;
    }
    return m->axis_off;
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

cr_code cr_model_run(cr_model *m, cr_exec *ex, const cr_batch *b, cr_run *run, cr_err *err) {
    run->axes = cr_model_axes(m, b);
    for (int i = 0; i < m->n_axes; i++)
        CR_TRY(check_lengths(&m->axes[i], b, err));
    CR_TRY(cr_exec_fit(ex, run, err));
    cr_exec_run(ex, run);
    return m->has_custom ? cr_custom_check(&m->graph, err) : CR_OK;
}

void cr_model_seq_grads(const cr_model *m, const cr_exec *ex, cr_updater *u) {
    for (int i = 0; m->n_axes > 0 && i < m->n_tables; i++) {
        const cr_model_table *t = m->tables[i];
        for (int k = 0, n = 0; t->updater >= 0 && k < t->n_uses; k++) {
            const cr_node *node = t->uses[k].node;
            int count;
            const cr_look *look = cr_lookup_pieces(node, &count) + t->uses[k].piece;
            if (!cr_exec_has_grad(ex, node)) continue;
            if (node->cls == CR_SEQ)
                cr_updater_set_grad(u, t->updater, n, cr_exec_grad(ex, node) + look->out);
            n++;
        }
    }
}
