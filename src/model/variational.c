/*
 * variational.c - model_config.variational_dropout: between a feature group and the layers that
 * read it, each feature is multiplied by the share of it that is kept (op/variational.c). After
 * training, model.group_variational_dropouts.<group>.feature_p tells which features the model can
 * do without.
 */
#include "model/group_int.h"

#include "op/op.h"
#include "op/param.h"

/* The dropout that was made for a group; a group that is built with different tables (fm, wide) has
 * several. */
struct cr_dropped {
    const cr_group_conf *group;
    cr_node *gate, *x, *y;
    struct cr_dropped *next;
};

/* Returns the gate of a group. The first call adds the group's parameter and its part of the
 * loss. */
static cr_node *gate_of(cr_build *b, const cr_group_conf *gc, int64_t F) {
    for (const struct cr_dropped *d = b->dropped; d; d = d->next)
        if (d->group == gc) return d->gate;
    size_t mark = cr_graph_push(b->g, "group_variational_dropouts.%s", gc->group_name);
    cr_node *theta = cr_vector(b->g, "feature_p", F, CR_INIT_N(1));
    cr_graph_pop(b->g, mark);
    if (b->n_extra == CR_MAX_EXTRA) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(gc, "group_name"),
                    "variational_dropout is for at most %d feature groups; use fewer",
                    CR_MAX_EXTRA);
    } else if (b->o->with_labels) {
        b->extra[b->n_extra++] = (cr_extra_loss){
            .name = cr_arena_printf(&b->m->arena, "%s_feature_p_loss", gc->group_name),
            .row =
                cr_drop_penalty(b->g, theta, b->conf->variational_dropout->regularization_lambda),
            .weight = -1};
    }
    return cr_drop_gate(b->g, theta, gc->group_name);
}

cr_node *cr_group_drop(cr_build *b, const cr_group_conf *gc, const cr_group_out *g) {
    if (!b->conf->variational_dropout || g->F < 2) return g->node;
    for (const struct cr_dropped *d = b->dropped; d; d = d->next)
        if (d->group == gc && d->x == g->node) return d->y;
    struct cr_dropped *d = CR_NEW(&b->m->arena, struct cr_dropped);
    *d = (struct cr_dropped){gc, gate_of(b, gc, g->F), g->node, NULL, b->dropped};
    d->y = cr_drop_fields(b->g, d->x, d->gate, g->widths);
    b->dropped = d;
    return d->y;
}
