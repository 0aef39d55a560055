/*
 * pepnet.c - PEPNet (Chang et al., 2023): embeddings gated by the domain, layers gated by the
 * person.
 *
 * x is the group all. With a group domain (EPNet) e = x * gate([domain; x]), else e = x. With a
 * group uia (PPNet) each task has layers h <- dropout(act(FC(h)) * gate([uia; e])). A gate is gamma
 * sigmoid(FC(ReLU( FC(.)))) and sees x and e without passing a gradient back. With
 * domain_input_name each task has a tower per domain: there are predictions of all of them, while
 * loss and metrics use that of the row's own domain.
 */
#include <stdio.h>

#include "layer/layer.h"
#include "model/config_int.h"
#include "model/model.h"
#include "op/input.h"
#include "op/op.h"

#define MAX_DOMAINS 256
/* Keys of TorchEasyRec's first version, which its example still had. */
#define HELP_GROUP(g) "another name for the group " g
typedef struct pepnet_conf {
    cr_conf_base base;
    int64_t epnet_hidden_unit;
    double epnet_gamma;
    cr_ints ppnet_hidden_units;
    const char *ppnet_activation;
    cr_floats ppnet_dropout_ratio;
    double ppnet_gamma;
    const char *domain_input_name;
    const char *main_group_name, *domain_group_name, *uia_group_name;
    int64_t task_domain_num;
    cr_msgs task_towers; /* cr_task_conf */
} pepnet_conf;
static const cr_field fields[] = {
    CR_INT(pepnet_conf, epnet_hidden_unit, 0, 0, 1048576, 0,
           "width of the domain gate; 0: the input's"),
    CR_FLOAT(pepnet_conf, epnet_gamma, 2.0, 0, CR_INF, 0, "highest factor of the domain gate"),
    CR_INT(pepnet_conf, ppnet_hidden_units, 0, 1, 1048576, CR_F_REPEATED,
           "width of each gated layer"),
    CR_STR(pepnet_conf, ppnet_activation, "nn.ReLU", 0, "function after each gated layer"),
    CR_FLOAT(pepnet_conf, ppnet_dropout_ratio, 0, 0, 1, CR_F_REPEATED,
             "share of units dropped per layer"),
    CR_FLOAT(pepnet_conf, ppnet_gamma, 2.0, 0, CR_INF, 0, "highest factor of the personal gates"),
    CR_STR(pepnet_conf, domain_input_name, NULL, 0, "label column that holds the row's domain"),
    CR_STR(pepnet_conf, main_group_name, "all", CR_F_OURS, HELP_GROUP("all")),
    CR_STR(pepnet_conf, domain_group_name, "domain", CR_F_OURS, HELP_GROUP("domain")),
    CR_STR(pepnet_conf, uia_group_name, "uia", CR_F_OURS, HELP_GROUP("uia")),
    CR_INT(pepnet_conf, task_domain_num, 1, 1, MAX_DOMAINS, 0, "towers per task, one per domain"),
    CR_MSG(pepnet_conf, task_towers, &cr_task_tower_msg, CR_F_REPEATED, HELP_TASKS),
    CR_END,
};
static void check(const void *self, cr_diag *diag) {
    const pepnet_conf *c = self;
    int64_t n = c->ppnet_dropout_ratio.n, layers = c->ppnet_hidden_units.n;
    if (n > 1 && n != layers)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "ppnet_dropout_ratio"),
                    "ppnet_dropout_ratio has %lld values for %lld layers; give one for all or one "
                    "per layer",
                    (long long)n, (long long)layers);
    for (int64_t i = 0; i < n; i++)
        if ((float)c->ppnet_dropout_ratio.v[i] >= 1)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at_item(c, "ppnet_dropout_ratio", i),
                        "a dropout ratio of 1 drops every unit; use a value below 1");
    if (cr_conf_has(c, "task_domain_num") && !c->domain_input_name[0])
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "task_domain_num"),
                    "task_domain_num has no effect without domain_input_name; name the label that "
                    "holds the domain, or remove it");
    if (c->domain_input_name[0] && c->task_domain_num < 2)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "domain_input_name"),
                    "task_domain_num is 1, so '%s' chooses among one tower; set it to the number "
                    "of domains, or remove domain_input_name",
                    c->domain_input_name);
}
const cr_msg cr_pepnet_msg = {
    .name = "PEPNet",
    .help = "Layers gated by domain and by person",
    .fields = fields,
    .size = sizeof(pepnet_conf),
    .check = check,
};

/* Adds the gated layers of task t; act is already parsed. */
static cr_node *personal(cr_build *b, const pepnet_conf *c, const cr_act_spec *act, int64_t t,
                         cr_node *h, cr_node *gate_in) {
    int64_t n = c->ppnet_hidden_units.n, nd = c->ppnet_dropout_ratio.n;
    size_t mark = cr_graph_push(b->g, "ppnet");
    for (int64_t j = 0; j < n; j++) {
        char name[48];
        long long k = (long long)(t * n + j);
        int64_t width = c->ppnet_hidden_units.v[j];
        bool relu = act->kind == CR_ACTK_PLAIN && act->act == CR_ACT_RELU;
        snprintf(name, sizeof(name), "linears.%lld", k);
        h = cr_linear(b->g, name, h, width, true, relu);
        snprintf(name, sizeof(name), "activations.%lld", k);
        cr_err err;
        if (cr_act_fits(act, h, &err) != CR_OK)
            cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "ppnet_activation"), "%s",
                        err.msg);
        if (!relu && act->kind != CR_ACTK_NONE) h = cr_act_apply(b->g, name, act, h);
        snprintf(name, sizeof(name), "gate_nus.%lld", k);
        h = cr_mul(b->g, h, cr_gate_nu(b->g, name, gate_in, width, width, c->ppnet_gamma));
        double p = nd == 0 ? 0 : c->ppnet_dropout_ratio.v[nd == 1 ? 0 : j];
        if (p > 0) h = cr_dropout(b->g, h, (float)p);
    }
    cr_graph_pop(b->g, mark);
    return h;
}

/* Adds a tower per domain, and picks the one of the row's own domain. */
static void end_domains(cr_build *b, const pepnet_conf *c, int64_t t, cr_node *x) {
    const cr_task_conf *tc = c->task_towers.v[t];
    int64_t n = c->task_domain_num;
    cr_node **domains = CR_NEW_N(&b->m->arena, cr_node *, n);
    for (int64_t d = 0; d < n; d++) {
        char name[48];
        snprintf(name, sizeof(name), "_task_tower.%lld", (long long)(t * n + d));
        domains[d] = cr_tower_logits(b, name, tc, x);
    }
    cr_node *own = NULL;
    if (b->o->with_labels) own = cr_pick(b->g, cr_label(b->g, b->m->domain_label), domains, (int)n);
    cr_task *task = cr_tower_task(b, tc, own);
    if (!task) return;
    task->domains = domains;
    task->n_domains = (int)n;
}

static void build(cr_build *b, const void *conf) {
    const pepnet_conf *c = conf;
    cr_loc at = c->base.at;
    cr_group_out all = cr_group_build(b, c->main_group_name, at), domain = all, uia = all;
    bool has_domain =
        cr_conf_has(c, "domain_group_name") || cr_group_find(b->conf, c->domain_group_name);
    bool has_uia = cr_conf_has(c, "uia_group_name") || cr_group_find(b->conf, c->uia_group_name);
    if (has_domain) domain = cr_group_build(b, c->domain_group_name, at);
    if (has_uia) uia = cr_group_build(b, c->uia_group_name, at);
    cr_act_spec act = {CR_ACTK_NONE, 0, {0}};
    cr_err err;
    if (cr_act_parse(&act, c->ppnet_activation, &err) != CR_OK)
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "ppnet_activation"), "%s",
                    err.msg);
    if (has_uia && c->ppnet_hidden_units.n == 0)
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                    "pepnet has a group 'uia' but no ppnet_hidden_units; give the width of each "
                    "gated layer, or remove the group");
    if (!has_uia && c->ppnet_hidden_units.n > 0)
        cr_diag_add(b->diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "ppnet_hidden_units"),
                    "ppnet_hidden_units has no effect without a feature group 'uia'; add that "
                    "group, or remove it");
    if (c->domain_input_name[0] && b->o->with_labels) {
        b->m->domain_label =
            cr_find_label(b, c->domain_input_name, cr_conf_at(c, "domain_input_name"));
        b->m->n_domains = c->task_domain_num;
    }
    if (!all.node || !domain.node || !uia.node || (has_uia && c->ppnet_hidden_units.n == 0) ||
        (b->o->with_labels && c->domain_input_name[0] && b->m->domain_label < 0))
        return;
    cr_node *e = all.node, *x[CR_MAX_TASKS];
    if (has_domain) {
        cr_node *in = cr_concat(b->g, (cr_node *[]){domain.node, cr_detach(b->g, e)}, 2);
        int64_t hidden = c->epnet_hidden_unit ? c->epnet_hidden_unit : e->width;
        e = cr_mul(b->g, e,
                   cr_gate_nu(b->g, "epnet.gate_nu", in, hidden, e->width, c->epnet_gamma));
    }
    cr_node *gate_in = NULL;
    if (has_uia) gate_in = cr_concat(b->g, (cr_node *[]){uia.node, cr_detach(b->g, e)}, 2);
    for (int64_t t = 0; t < c->task_towers.n; t++) {
        x[t] = has_uia ? personal(b, c, &act, t, e, gate_in) : e;
        if (c->domain_input_name[0]) end_domains(b, c, t, x[t]);
    }
    if (!c->domain_input_name[0]) cr_end_towers(b, &c->task_towers, x);
}

const cr_model_type cr_model_pepnet = {.name = "pepnet", .build = build};
