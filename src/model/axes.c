/*
 * axes.c - the sequence axes of a model's graph. An axis says how many positions each row has.
 *
 * An axis belongs to a feature and to the most steps that an encoder reads of it. The other
 * sequences of its group have the same lengths: feat/ checks that within a sequence_feature, work.c
 * checks it in each batch across several of them.
 */
#include "model/model.h"

int cr_model_axis(cr_build *b, const cr_feature *f, int64_t most) {
    cr_model *m = b->m;
    for (int i = 0; i < m->n_axes; i++)
        if (m->axes[i].slot == f->slot && m->axes[i].sparse == f->sparse && m->axes[i].most == most)
            return i;
    int n = m->n_axes++;
    m->axes = cr_realloc(m->axes, (size_t)n * sizeof(*m->axes), (size_t)(n + 1) * sizeof(*m->axes),
                         "axes");
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
