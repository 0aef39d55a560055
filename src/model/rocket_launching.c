/*
 * rocket_launching.c - Rocket Launching (Zhou et al., 2018): a large net (booster) teaches a small
 * one (light); only light is evaluated and exported. s = share_mlp(x), where x is the first group;
 * light = FC(light_mlp(s)) passes no gradient into s; booster = FC(booster_mlp(s)) exists in
 * training only.
 *
 * The losses are: that of each net against the label; hint_l2_loss, the squared difference of their
 * logits; and, with feature_based_distillation, similarity_i_j for each layer i of light and the
 * first layer j of booster that is as wide. The booster never learns from light.
 */
#include <stdio.h>

#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"
#include "op/op.h"

typedef struct rocket_conf {
    cr_conf_base base;
    cr_mlp_conf *share_mlp; /* NULL: none */
    cr_mlp_conf *booster_mlp, *light_mlp;
    bool feature_based_distillation;
    int feature_distillation_function; /* cr_similarity */
} rocket_conf;
static const cr_field fields[] = {
    CR_MSG(rocket_conf, share_mlp, &cr_mlp_msg, 0, "layers below both nets"),
    CR_MSG(rocket_conf, booster_mlp, &cr_mlp_msg, CR_F_REQUIRED,
           "layers of the large net that teaches"),
    CR_MSG(rocket_conf, light_mlp, &cr_mlp_msg, CR_F_REQUIRED,
           "layers of the small net that serves"),
    CR_BOOL(rocket_conf, feature_based_distillation, false, 0, "layers of equal width also teach"),
    CR_ENUM(rocket_conf, feature_distillation_function, cr_similarities, CR_COSINE, 0,
            "how such layers are compared; all but COSINE: by distance"),
    CR_END,
};
static void check(const void *self, cr_diag *diag) {
    const rocket_conf *c = self;
    const cr_ints *light = &c->light_mlp->hidden_units, *booster = &c->booster_mlp->hidden_units;
    for (int64_t i = 0; i < light->n; i++)
        for (int64_t j = 0; j < booster->n; j++)
            if (light->v[i] == booster->v[j]) return;
    if (c->feature_based_distillation)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "feature_based_distillation"),
                    "feature_based_distillation has no effect: no layer of light_mlp is as wide as "
                    "one of booster_mlp; make two of them equal, or remove it");
}
const cr_msg cr_rocket_launching_msg = {
    .name = "RocketLaunching",
    .help = "A small net taught by a large one in training",
    .fields = fields,
    .size = sizeof(rocket_conf),
    .check = check,
};

static cr_node *minus(cr_graph *g, cr_node *x, cr_node *y) {
    return cr_add(g, (cr_node *[]){x, y}, (float[]){1, -1}, 2);
}

static cr_node *distance(cr_graph *g, cr_node *x, cr_node *y, double scale) {
    cr_range all = {0, x->width};
    return cr_squares(g, minus(g, x, y), &all, 1, (float)scale);
}

static void teach(cr_build *b, const rocket_conf *c, cr_node *const *light,
                  cr_node *const *booster) {
    for (int64_t i = 0; i < c->light_mlp->hidden_units.n; i++)
        for (int64_t j = 0; j < c->booster_mlp->hidden_units.n; j++) {
            if (light[i]->width != booster[j]->width) continue;
            if (b->n_extra == CR_MAX_EXTRA - 1) return;
            cr_node *y = cr_detach(b->g, booster[j]), *row;
            int weight = b->tasks[0].weight;
            if (c->feature_distillation_function == CR_COSINE) {
                row = cr_cosine(b->g, light[i], y);
                row = cr_add(b->g, &row, (float[]){-0.1f}, 1);
            } else {
                row = cr_root(b->g, distance(b->g, light[i], y, 1), weight);
            }
            b->extra[b->n_extra++] =
                (cr_extra_loss){.name = cr_arena_printf(&b->m->arena, "similarity_%d_%d", (int)i,
                                                        (int)j),
                                .row = row,
                                .weight = weight};
            break;
        }
}

static void build(cr_build *b, const void *conf) {
    const rocket_conf *c = conf;
    const char *group = cr_group_first(b, "rocket_launching", c->base.at);
    cr_group_out in = group ? cr_group_build(b, group, c->base.at) : (cr_group_out){0};
    if (!in.node) return;
    int64_t K = b->conf->num_class, most = c->light_mlp->hidden_units.n;
    if (c->booster_mlp->hidden_units.n > most) most = c->booster_mlp->hidden_units.n;
    cr_node **light_layers = CR_NEW_N(&b->m->arena, cr_node *, most),
            **booster_layers = CR_NEW_N(&b->m->arena, cr_node *, most), *booster = NULL;
    cr_node *s = cr_mlp(b->g, "share_mlp", c->share_mlp, in.node, b->diag);
    cr_node *light =
        cr_mlp_layers(b->g, "light_mlp", c->light_mlp, cr_detach(b->g, s), light_layers, b->diag);
    light = cr_linear(b->g, "light_linear", light, K, true, false);
    if (b->o->with_labels) {
        booster = cr_mlp_layers(b->g, "booster_mlp", c->booster_mlp, s, booster_layers, b->diag);
        booster = cr_linear(b->g, "booster_linear", booster, K, true, false);
        cr_add_task(b, "_booster", booster)->train_only = true;
    }
    (void)cr_add_task(b, "_light", light);
    if (!booster) return;
    if (c->feature_based_distillation) teach(b, c, light_layers, booster_layers);
    b->extra[b->n_extra++] =
        (cr_extra_loss){.name = "hint_l2_loss",
                        .row = distance(b->g, light, cr_detach(b->g, booster), 1.0 / (double)K),
                        .weight = b->tasks[0].weight};
}

const cr_model_type cr_model_rocket_launching = {.name = "rocket_launching", .build = build};
