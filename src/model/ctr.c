/*
 * ctr.c - features whose table has a CTR accessor (emb/ctr.h): what their config means as rules,
 * and their piece of graph. Each such feature has a lookup of its own for each of its tables, and
 * one node behind it (op/ctr.c), however many groups read it: so a show is counted once.
 */
#include <string.h>

#include "base/buf.h"
#include "model/group_int.h"
#include "op/ctr.h"
#include "op/op.h"

#define BOUND 10.0 /* of weights, where the config does not say */

const struct cr_ctr_conf *cr_feature_ctr(const cr_feature *f) {
    return f->grow ? f->grow->ctr_accessor : NULL;
}

/* ---- rules ---- */

static cr_ctr_rule rule_of(const cr_ctr_sgd_conf *c) {
    cr_ctr_rule r = {.kind = CR_CTR_ADAGRAD,
                     .lr = 0.05,
                     .initial_g2sum = 3,
                     .initial_range = 1e-4,
                     .lowest = -BOUND,
                     .highest = BOUND};
    if (!c || !c->rule.m) return r;
    const cr_ctr_rule_conf *s = c->rule.conf;
    r.kind = (cr_ctr_sgd)cr_ctr_rule_number(&c->rule);
    r.lr = s->learning_rate;
    r.initial_g2sum = s->initial_g2sum;
    r.initial_range = s->initial_range;
    r.beta1 = s->beta1_decay_rate;
    r.beta2 = s->beta2_decay_rate;
    r.epsilon = s->ada_epsilon;
    if (s->weight_bounds.n != 2) return r;
    r.lowest = s->weight_bounds.v[0];
    r.highest = s->weight_bounds.v[1];
    return r;
}

cr_ctr_rules cr_ctr_rules_of(const cr_ctr_conf *c) {
    return (cr_ctr_rules){.on = true,
                          .embed = rule_of(c->embed_sgd),
                          .embedx = rule_of(c->embedx_sgd),
                          .embedx_threshold = c->embedx_threshold,
                          .nonclk_coeff = c->nonclk_coeff,
                          .click_coeff = c->click_coeff,
                          .base_threshold = c->base_threshold,
                          .delta_threshold = c->delta_threshold,
                          .delta_keep_days = c->delta_keep_days,
                          .decay = c->show_click_decay_rate,
                          .delete_threshold = c->delete_threshold,
                          .delete_after = c->delete_after_unseen_days,
                          .show_scale = c->show_scale,
                          .zero_init = c->zero_init};
}

static bool same_rule(const cr_ctr_rule *a, const cr_ctr_rule *b) {
    return a->kind == b->kind && a->lr == b->lr && a->initial_g2sum == b->initial_g2sum &&
           a->beta1 == b->beta1 && a->beta2 == b->beta2 && a->epsilon == b->epsilon &&
           a->initial_range == b->initial_range && a->lowest == b->lowest &&
           a->highest == b->highest;
}

const char *cr_ctr_differ(const cr_ctr_conf *p, const cr_ctr_conf *q) {
    if (!p || !q) return p == q ? NULL : "ctr_accessor";
    cr_ctr_rules a = cr_ctr_rules_of(p), b = cr_ctr_rules_of(q);
    return !same_rule(&a.embed, &b.embed)             ? "embed_sgd"
           : !same_rule(&a.embedx, &b.embedx)         ? "embedx_sgd"
           : a.embedx_threshold != b.embedx_threshold ? "embedx_threshold"
           : a.nonclk_coeff != b.nonclk_coeff         ? "nonclk_coeff"
           : a.click_coeff != b.click_coeff           ? "click_coeff"
           : a.base_threshold != b.base_threshold     ? "base_threshold"
           : a.delta_threshold != b.delta_threshold   ? "delta_threshold"
           : a.delta_keep_days != b.delta_keep_days   ? "delta_keep_days"
           : a.decay != b.decay                       ? "show_click_decay_rate"
           : a.delete_threshold != b.delete_threshold ? "delete_threshold"
           : a.delete_after != b.delete_after         ? "delete_after_unseen_days"
           : a.show_scale != b.show_scale             ? "show_scale"
           : a.zero_init != b.zero_init               ? "zero_init"
           : p->sum_gradients != q->sum_gradients     ? "sum_gradients"
                                                      : NULL;
}

cr_ctr_rules cr_model_ctr_rules(const cr_model_table *t) {
    return cr_ctr_rules_of(cr_feature_ctr(t->owner));
}

cr_ctr_plane cr_model_ctr_plane(const cr_model_table *t, int k) {
    cr_ctr_rules r = cr_model_ctr_rules(t);
    return cr_ctr_plane_of(&r, t->D - CR_CTR_HEAD, k);
}

/* ---- the piece of graph ---- */

/* Returns the columns of a lookup besides embedx_w that the model reads. */
static int64_t read_before(const cr_ctr_conf *c) {
    return c->pull == CR_CTR_WEIGHTS ? 1 : 3;
}

static bool wrong(cr_build *b, const cr_feature *f, const char *why) {
    cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, f->at, "feature '%s' has a ctr_accessor, %s",
                f->name, why);
    return false;
}

static bool fits(cr_build *b, const cr_feature *f, const cr_ctr_conf *c, int64_t width) {
    if (f->mean) return wrong(b, f, "which counts shows of summed ids; set pooling: sum");
    if (f->weighted) return wrong(b, f, "which takes no weights of ids; remove weighted");
    if (f->half) return wrong(b, f, "whose rows are in 32 bits; remove data_type");
    if (!f->trainable) return wrong(b, f, "which needs training; remove trainable: false");
    if (f->init_fn && *f->init_fn)
        return wrong(b, f,
                     "which has first values of its own; use initial_range in the place of "
                     "init_fn");
    if (width >= read_before(c)) return true;
    return wrong(b, f,
                 c->pull == CR_CTR_WEIGHTS
                     ? "and no column for embed_w; raise embedding_dim"
                     : "and show, click and embed_w take 3 columns; raise embedding_dim");
}

static float slot_of(const cr_feature *f, const cr_ctr_conf *c) {
    uint64_t n;
    if (cr_conf_has(c, "slot")) return (float)c->slot;
    bool number = cr_parse_u64(f->name, strlen(f->name), &n) && n <= 65535;
    return number ? (float)n : (float)(f->slot + 1);
}

/* Returns the label fields of a row's show and click; predictions have none. */
static bool labels_of(cr_build *b, const cr_ctr_conf *c, cr_ctr_pull *p) {
    p->show = p->click = -1;
    if (b->o->features->n_labels == 0) return true;
    p->click = *c->click_field ? cr_find_label(b, c->click_field, cr_conf_at(c, "click_field")) : 0;
    if (*c->show_field) p->show = cr_find_label(b, c->show_field, cr_conf_at(c, "show_field"));
    return p->click >= 0 && (!*c->show_field || p->show >= 0);
}

/* Gives the table a rule of its own, whose state is what its rows have besides weights. */
static void own_rule(cr_build *b, cr_model_table *t, const cr_ctr_conf *c) {
    static const char *const no_names[] = {NULL};
    static const cr_optim_conf none = {.lr = 0};
    if (!b->o->optim) return; /* nothing is trained */
    cr_ctr_rules r = cr_ctr_rules_of(c);
    cr_optim_type *o = CR_NEW(&b->m->arena, cr_optim_type);
    *o = (cr_optim_type){.name = "ctr_accessor", .state_names = no_names, .whole_row = true};
    o->row_state = (int)(cr_ctr_floats(&r, t->D - CR_CTR_HEAD, false) - t->D);
    t->optim = o;
    t->optim_conf = &none;
}

cr_node *cr_group_ctr(cr_build *b, const cr_feature *f, int64_t width, const char *suffix,
                      const char *kind) {
    const cr_ctr_conf *c = cr_feature_ctr(f);
    cr_ctr_pull p = {.form = (cr_ctr_form)c->pull,
                     .slot = slot_of(f, c),
                     .by_sum = c->sum_gradients};
    if (!fits(b, f, c, width) || !labels_of(b, c, &p)) return NULL;
    int64_t D = CR_CTR_HEAD + width - read_before(c);
    cr_model_table *t = cr_group_table(b, f, D, NULL, suffix, kind, false);
    own_rule(b, t, c);
    int list = cr_maps_slot(b->m, b->o->features, t, f);
    for (int i = 0; i < b->g->n; i++) {
        cr_node *n = b->g->nodes[i];
        int count;
        if (n->op != &cr_op_ctr) continue;
        const cr_look *v = cr_lookup_pieces(n->in[0], &count);
        if (v->table == &t->table && v->slot == list) return n;
    }
    cr_look look = {.table = &t->table, .slot = list, .width = D};
    cr_node *x = cr_lookup(b->g, &look, 1);
    cr_group_use(b->m, t, x, 0);
    return cr_ctr(b->g, x, &p);
}
