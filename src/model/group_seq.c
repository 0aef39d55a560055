/*
 * group_seq.c - sequences in groups, as a query per row and keys per step: feature groups of type
 * SEQUENCE, and the sequence_groups inside other groups.
 *
 * They have separate tables, even where a pooled table has the same name. Sequences of one
 * sequence_feature have the same lengths; those of different ones are compared batch by batch.
 */
#include "conf/conf.h"
#include "model/group_int.h"
#include "op/op.h"

static cr_seq_side new_side(cr_arena *a, int64_t n) {
    return (cr_seq_side){CR_NEW_N(a, cr_look, n), CR_NEW_N(a, cr_model_table *, n), 0, 0};
}

static bool add(cr_build *b, const cr_members *g, const cr_feature *f, cr_seq_side *s) {
    if (f->sparse && cr_group_width(b, g, f) == 0) return false;
    if (!f->sparse && f->dense_emb != CR_DENSE_PLAIN) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, f->at,
                    "feature '%s' has autodis or mlp, which a sequence group does not take; use "
                    "boundaries, or leave them out",
                    f->name);
        return false;
    }
    if (f->sparse && cr_feature_ctr(f)) {
        cr_diag_add(
            b->diag, CR_SEV_ERROR, CR_ECONF, f->at,
            "feature '%s' has a ctr_accessor, whose rows are summed, and is in the sequence "
            "group '%s'; use growing without ctr_accessor there",
            f->name, g->name);
        return false;
    }
    cr_model_table *t =
        f->sparse ? cr_group_table(b, f, f->embedding_dim, f->init_fn, g->suffix, "", true) : NULL;
    s->tables[s->n] = t;
    s->v[s->n] = (cr_look){.table = t ? &t->table : NULL,
                           .slot = t ? cr_maps_slot(b->m, b->o->features, t, f) : f->slot,
                           .mean = f->mean,
                           .dense_off = f->dense_off,
                           .width = t ? f->embedding_dim : f->value_dim};
    s->width += s->v[s->n++].width;
    return true;
}

bool cr_seq_open(cr_build *b, cr_seq_in *in, const cr_members *g, cr_loc at) {
    cr_arena *a = &b->m->arena;
    int64_t n = g->names->n;
    *in = (cr_seq_in){.g = *g,
                      .query = new_side(a, n),
                      .keys = new_side(a, n),
                      .seqs = CR_NEW_N(a, const cr_feature *, n)};
    bool ok = true;
    for (int64_t i = 0; i < n; i++) {
        const cr_feature *f = cr_group_feature(b, g, i);
        ok = f && add(b, g, f, f->seq ? &in->keys : &in->query) && ok;
        if (f && f->seq) in->seqs[in->n_seqs++] = f;
    }
    if (!ok) return false;
    if (in->keys.n > 0) return true;
    cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                "%s '%s' has no sequence among its features; add one of a sequence_feature (named "
                "sequence__feature)",
                cr_members_kind(g), g->name);
    return false;
}

static cr_node *note_uses(cr_build *b, const cr_seq_side *s, cr_node *node) {
    for (int i = 0; i < s->n; i++)
        if (s->tables[i]) cr_group_use(b->m, s->tables[i], node, i);
    return node;
}

cr_node *cr_seq_query(cr_build *b, cr_seq_in *in) {
    if (!in->query_node && in->query.n > 0)
        in->query_node = note_uses(b, &in->query, cr_lookup(b->g, in->query.v, in->query.n));
    return in->query_node;
}

/* Returns the axis that has at most `most` steps of the group's sequences. */
static int axis_of(cr_build *b, const cr_seq_in *in, int64_t most) {
    const cr_feature *first = in->seqs[0];
    if (first->seq->length > 0 && most >= first->seq->length) most = 0; /* nothing to cut */
    int axis = cr_model_axis(b, first, most);
    for (int i = 1; i < in->n_seqs; i++)
        if (!in->seqs[i]->seq->block || in->seqs[i]->seq->block != first->seq->block)
            cr_model_axis_also(b, axis, in->seqs[i]);
    return axis;
}

int cr_seq_all(cr_build *b, const cr_seq_in *in) {
    return axis_of(b, in, 0);
}

cr_node *cr_seq_keys(cr_build *b, cr_seq_in *in, int64_t most) {
    for (const struct cr_seq_keys *k = in->made; k; k = k->next)
        if (k->most == most) return k->node;
    cr_node *node = cr_lookup_seq(b->g, axis_of(b, in, most), in->keys.v, in->keys.n);
    struct cr_seq_keys *k = CR_NEW(&b->m->arena, struct cr_seq_keys);
    *k = (struct cr_seq_keys){most, note_uses(b, &in->keys, node), in->made};
    in->made = k;
    return node;
}

bool cr_seq_comparable(cr_build *b, const cr_seq_in *in, cr_loc at) {
    if (in->query.n > 0 && in->query.width <= in->keys.width) return true;
    cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                "attention compares the plain features of group '%s' (%lld wide) with its "
                "sequences (%lld wide); %s",
                in->g.name, (long long)in->query.width, (long long)in->keys.width,
                in->query.n > 0 ? "the plain ones may not be wider" : "add the target's features");
    return false;
}

cr_seq_out cr_group_build_seq(cr_build *b, const char *name, int64_t most, cr_loc at) {
    cr_seq_out out = {NULL, NULL};
    const cr_group_conf *gc = cr_group_wanted(b, name, at);
    if (!gc) return out;
    if (!cr_group_type_seq(gc->group_type)) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(gc, "group_type"),
                    "feature group '%s' is read as a query and its sequences; write %s", name,
                    CR_SAY(gc, "group_type", "SEQUENCE"));
        return out;
    }
    if (!cr_encoders_fit(b, gc)) return out;
    cr_members g = cr_group_members(gc);
    cr_seq_in in;
    if (!cr_seq_open(b, &in, &g, at) || !cr_seq_comparable(b, &in, at)) return out;
    out.query = cr_seq_query(b, &in);
    out.keys = cr_seq_keys(b, &in, most);
    return out;
}
