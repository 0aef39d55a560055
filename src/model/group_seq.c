/*
 * group_seq.c - feature groups of type SEQUENCE: a query per row, keys per position.
 *
 * Their tables are parameters of their own, also where a pooled table has the same name. Sequences
 * of one sequence_feature have the same lengths; others of the group are compared batch by batch.
 */
#include "model/group_int.h"
#include "op/input.h"
#include "op/op.h"

typedef struct side {
    cr_look *v;
    cr_model_table **tables;
    int n;
} side;

static side new_side(cr_arena *a, int64_t n) {
    return (side){CR_NEW_N(a, cr_look, n), CR_NEW_N(a, cr_model_table *, n), 0};
}

static bool add(cr_build *b, const cr_group_conf *gc, const cr_feature *f, side *s) {
    if (f->sparse && f->embedding_dim <= 0) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, f->at,
                    "feature '%s' goes through a table but has no embedding_dim; set it", f->name);
        return false;
    }
    if (!f->sparse && f->dense_emb != CR_DENSE_PLAIN) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, f->at,
                    "feature '%s' has autodis or mlp, which a sequence group does not take; use "
                    "boundaries, or leave them out",
                    f->name);
        return false;
    }
    cr_model_table *t = f->sparse ? cr_group_table(b, f, f->embedding_dim, f->init_fn,
                                                   gc->embedding_name_suffix, "", true)
                                  : NULL;
    s->tables[s->n] = t;
    s->v[s->n++] = (cr_look){.table = t ? &t->table : NULL,
                             .slot = f->slot,
                             .mean = f->mean,
                             .dense_off = f->dense_off,
                             .width = t ? f->embedding_dim : f->value_dim};
    return true;
}

static void note_uses(cr_build *b, const side *s, cr_node *node) {
    for (int i = 0; i < s->n; i++)
        if (s->tables[i]) cr_group_use(b->m, s->tables[i], node, i);
}

cr_seq_out cr_group_build_seq(cr_build *b, const char *name, int64_t most, cr_loc at) {
    cr_seq_out out = {NULL, NULL};
    const cr_group_conf *gc = cr_group_wanted(b, name, at);
    if (!gc) return out;
    side query = new_side(&b->m->arena, gc->feature_names.n),
         keys = new_side(&b->m->arena, gc->feature_names.n);
    const cr_feature *first = NULL;
    int axis = -1;
    bool ok = true;
    for (int64_t i = 0; i < gc->feature_names.n; i++) {
        const cr_feature *f = cr_group_feature(b, gc, i);
        ok = f && add(b, gc, f, f->seq ? &keys : &query) && ok;
        if (!f || !f->seq) continue;
        if (!first) {
            first = f;
            axis = cr_model_axis(b, f, most);
        } else if (!f->seq->block || f->seq->block != first->seq->block) {
            cr_model_axis_also(b, axis, f);
        }
    }
    if (ok && keys.n == 0) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                    "feature group '%s' has no sequence among its features; add one of a "
                    "sequence_feature (named sequence__feature)",
                    name);
        return out;
    }
    if (!ok) return out;
    if (query.n > 0) note_uses(b, &query, out.query = cr_lookup(b->g, query.v, query.n));
    note_uses(b, &keys, out.keys = cr_lookup_seq(b->g, axis, keys.v, keys.n));
    return out;
}
