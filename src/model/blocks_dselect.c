/*
 * blocks_dselect.c - dselect_k, a gate over experts that chooses few of them (DSelect-k, Hazimeh et
 * al., 2021). It is smooth, so that it is trained as everything else, and its weights become
 * exactly 0 for all but k experts.
 */
#include <math.h>

#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

typedef struct dselect_conf {
    cr_conf_base base;
    int64_t num_selected;
    double gamma, entropy_weight;
    bool by_row;
} dselect_conf;
static const cr_field dselect_fields[] = {
    CR_INT(dselect_conf, num_selected, 2, 1, 64, CR_F_OURS, "how many experts it chooses at most"),
    CR_FLOAT(dselect_conf, gamma, 1, 1e-6, 1e6, CR_F_OURS,
             "width of the smooth steps; smaller ones choose earlier"),
    CR_FLOAT(dselect_conf, entropy_weight, 0, 0, CR_INF, CR_F_OURS,
             "factor of a penalty on choices that are still open, which is added to the loss"),
    CR_BOOL(dselect_conf, by_row, false, CR_F_OURS,
            "the last input is what the choice is made from, row by row; false: all rows have the "
            "same choice"),
    CR_END,
};
const cr_msg cr_block_dselect_k_msg = {
    .name = "DSelectKBlock",
    .help = "A mixture of few of its inputs, the experts, which it learns to choose: DSelect-k",
    .fields = dselect_fields,
    .size = sizeof(dselect_conf),
};

/* Adds the penalties: open choices, and digits that no expert has. */
static void penalize(cr_block_call *c, const dselect_conf *k, cr_node *gate, int64_t n) {
    cr_build *b = c->b;
    bool whole = (n & (n - 1)) == 0;
    if (!b->o->with_labels || (k->entropy_weight == 0 && whole)) return;
    if (b->n_extra == CR_MAX_EXTRA) {
        cr_block_wrong(c, c->at, "the model has more than %d additional losses; use fewer",
                       CR_MAX_EXTRA);
        return;
    }
    cr_node *parts[2] = {cr_slice(c->g, gate, n, 1), cr_slice(c->g, gate, n + 1, 1)};
    b->extra[b->n_extra++] =
        (cr_extra_loss){.name = cr_arena_printf(&b->m->arena, "%s_gate_loss", c->block),
                        .row = cr_add(c->g, parts, (float[]){(float)k->entropy_weight, 1},
                                      whole ? 1 : 2),
                        .weight = -1};
}

static void dselect_k(cr_block_call *c, const void *conf) {
    const dselect_conf *k = conf;
    int64_t n = c->n_in - k->by_row, sel = k->num_selected, m = cr_selector_digits(n);
    cr_node **experts = CR_NEW_N(&c->b->m->arena, cr_node *, c->n_in);
    for (int64_t i = 0; i < n; i++) {
        experts[i] = c->in[i].node;
        if (experts[i]->width == experts[0]->width) continue;
        cr_block_wrong(c, c->at,
                       "expert %lld is %lld wide and the first one %lld; make them equally wide",
                       (long long)i + 1, (long long)experts[i]->width,
                       (long long)experts[0]->width);
        return;
    }
    if (n < 2 || sel > n) {
        cr_block_wrong(c, cr_conf_at(k, "num_selected"),
                       "it chooses %lld of %lld experts; give it two or more, and choose no more "
                       "than there are",
                       (long long)sel, (long long)n);
        return;
    }
    cr_init near = CR_INIT_U(k->gamma / 100);
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    cr_node *z, *w;
    if (k->by_row) {
        cr_node *x = c->in[n].node;
        cr_init wide = CR_INIT_U(1.0 / sqrt((double)x->width));
        cr_node *Z = cr_weight(c->g, "z_logits.weight", sel * m, x->width, near);
        cr_node *W = cr_weight(c->g, "w_logits.weight", sel, x->width, wide);
        z = cr_matmul(c->g, x, Z, cr_vector(c->g, "z_logits.bias", sel * m, near), false);
        w = cr_matmul(c->g, x, W, cr_vector(c->g, "w_logits.bias", sel, wide), false);
    } else {
        z = cr_weight(c->g, "z_logits", sel, m, near);
        w = cr_vector(c->g, "w_logits", sel, CR_INIT_U(1));
    }
    cr_graph_pop(c->g, mark);
    cr_node *gate = cr_selectors(c->g, z, w, n, sel, (float)k->gamma);
    penalize(c, k, gate, n);
    cr_block_give(c, cr_mix(c->g, cr_slice(c->g, gate, 0, n), experts, (int)n));
}
const cr_block_type cr_block_dselect_k = {
    .name = "dselect_k",
    .takes = CR_TAKES_EACH,
    .min_in = 2,
    .build = dselect_k,
};
