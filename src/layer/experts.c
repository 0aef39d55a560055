/*
 * experts.c - mixtures of experts: MMoE's (Ma et al., 2018), a layer of PLE (Tang et al., 2020),
 * and PEPNet's gate (Chang et al., 2023).
 *
 * An expert is an MLP; a gate is a softmax over a linear layer; cr_mix adds the experts up with the
 * gate's weights, so they are never copied side by side. Experts whose outputs are mixed are
 * equally wide.
 */
#include <stdio.h>

#include "layer/layer.h"
#include "op/op.h"

static const cr_field extraction_fields[] = {
    CR_STR(cr_extraction_conf, network_name, NULL, CR_F_REQUIRED, "name of the layer"),
    CR_INT(cr_extraction_conf, expert_num_per_task, 0, 1, CR_MAX_EXPERTS, CR_F_REQUIRED,
           "experts of each task"),
    CR_INT(cr_extraction_conf, share_num, 0, 0, CR_MAX_EXPERTS, 0, "experts shared by all tasks"),
    CR_INT(cr_extraction_conf, task_step, 0, 0, CR_MAX_EXPERTS, CR_F_OURS,
           "the experts of task t begin at the number t * task_step of all experts; less than "
           "expert_num_per_task gives neighbours the same weights, as PaddleRec does by mistake; "
           "0: expert_num_per_task"),
    CR_MSG(cr_extraction_conf, task_expert_net, &cr_mlp_msg, CR_F_REQUIRED,
           "layers of a task's expert"),
    CR_MSG(cr_extraction_conf, share_expert_net, &cr_mlp_msg, 0,
           "layers of a shared expert; they end as wide as those of a task's"),
    CR_END,
};
static void extraction_check(const void *self, cr_diag *diag) {
    const cr_extraction_conf *c = self;
    if (c->share_num == 0) return;
    if (!c->share_expert_net) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "share_num"),
                    "share_num is %lld but there is no share_expert_net; add one, or set share_num "
                    "to 0",
                    (long long)c->share_num);
        return;
    }
    int64_t own = cr_mlp_width(c->task_expert_net, 0),
            shared = cr_mlp_width(c->share_expert_net, 0);
    if (own != shared)
        cr_diag_add(
            diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c->share_expert_net, "hidden_units"),
            "shared experts end in %lld units and those of tasks in %lld, but gates add them "
            "up; make them equal",
            (long long)shared, (long long)own);
}
const cr_msg cr_extraction_network_msg = {
    .name = "ExtractionNetwork",
    .help = "One layer of task and shared experts",
    .fields = extraction_fields,
    .size = sizeof(cr_extraction_conf),
    .check = extraction_check,
};

/* Adds n experts of one kind over x, named prefix.i. It reports a mistake once, not once per
 * expert. */
static bool add_experts(cr_graph *g, const char *prefix, const cr_mlp_conf *c, int64_t n,
                        cr_node *x, cr_node **out, cr_diag *diag) {
    size_t before = diag->n_errors;
    for (int64_t i = 0; i < n && diag->n_errors == before; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%lld", (long long)i);
        size_t mark = cr_graph_push(g, "%s", prefix);
        out[i] = cr_mlp(g, name, c, x, diag);
        cr_graph_pop(g, mark);
    }
    return diag->n_errors == before;
}

/* Adds the experts of task t by their numbers among all experts, behind which the shared ones
 * follow. An expert below *made, or a shared one, takes the weights that are there. */
static bool add_numbered(cr_graph *g, const cr_extraction_conf *c, int t, int n_task, cr_node *x,
                         cr_node **out, int64_t *made, cr_diag *diag) {
    int64_t own = c->expert_num_per_task;
    size_t before = diag->n_errors;
    for (int64_t j = 0; j < own && diag->n_errors == before; j++) {
        int64_t e = t * c->task_step + j;
        bool is_shared = e >= n_task * own;
        char name[32];
        if (is_shared && e - n_task * own >= c->share_num) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "task_step"),
                        "task_step is %lld, so task %d would begin behind the last expert; it is "
                        "at most expert_num_per_task",
                        (long long)c->task_step, t);
            break;
        }
        size_t mark = is_shared ? cr_graph_push(g, "_shared_layers")
                                : cr_graph_push(g, "_task_layers.%lld", (long long)(e / own));
        snprintf(name, sizeof(name), "%lld", (long long)(is_shared ? e - n_task * own : e % own));
        bool share = g->share;
        g->share = share || is_shared || e < *made;
        out[j] = cr_mlp(g, name, c->task_expert_net, x, diag);
        g->share = share;
        cr_graph_pop(g, mark);
        if (!is_shared && e >= *made) *made = e + 1;
    }
    return diag->n_errors == before;
}

static cr_node *mixed(cr_graph *g, const char *gate, cr_node *x, cr_node *const *experts, int n) {
    return cr_mix(g, cr_softmax(g, cr_linear(g, gate, x, n, true, false), 1), experts, n);
}

bool cr_mmoe(cr_graph *g, const char *name, const cr_mlp_conf *expert, const cr_mlp_conf *gate,
             int64_t num_expert, cr_node *x, int n_task, cr_node **out, cr_diag *diag) {
    cr_node **experts = CR_NEW_N(&g->arena, cr_node *, num_expert),
            **gates = CR_NEW_N(&g->arena, cr_node *, n_task);
    size_t mark = cr_graph_push(g, "%s", name);
    bool ok = add_experts(g, "expert_mlps", expert, num_expert, x, experts, diag) &&
              add_experts(g, "gate_mlps", gate, n_task, x, gates, diag);
    for (int t = 0; ok && t < n_task; t++) {
        char final[32];
        snprintf(final, sizeof(final), "gate_finals.%d", t);
        out[t] = mixed(g, final, gates[t], experts, (int)num_expert);
    }
    cr_graph_pop(g, mark);
    return ok;
}

bool cr_extraction(cr_graph *g, const char *name, const cr_extraction_conf *c, bool keep_shared,
                   cr_node **x, cr_node **shared, int n_task, cr_diag *diag) {
    int64_t own = c->expert_num_per_task, n_shared = c->share_num, n_all = n_task * own + n_shared;
    int64_t made = 0; /* experts of tasks that have weights */
    /* the experts of task 0, those of task 1, and so on, then the shared ones */
    cr_node **all = CR_NEW_N(&g->arena, cr_node *, n_all),
            **some = CR_NEW_N(&g->arena, cr_node *, own + n_shared);
    size_t mark = cr_graph_push(g, "%s", name);
    bool ok = n_shared == 0 || add_experts(g, "_shared_layers", c->share_expert_net, n_shared,
                                           *shared, all + n_task * own, diag);
    for (int t = 0; ok && t < n_task; t++) {
        char part[32];
        snprintf(part, sizeof(part), "_task_layers.%d", t);
        ok = c->task_step
                 ? add_numbered(g, c, t, n_task, x[t], all + t * own, &made, diag)
                 : add_experts(g, part, c->task_expert_net, own, x[t], all + t * own, diag);
    }
    for (int t = 0; ok && t < n_task; t++) {
        char part[32];
        snprintf(part, sizeof(part), "_task_gates.%d", t);
        for (int64_t i = 0; i < own + n_shared; i++)
            some[i] = i < own ? all[t * own + i] : all[n_task * own + i - own];
        x[t] = mixed(g, part, x[t], some, (int)(own + n_shared));
    }
    if (ok && keep_shared) *shared = mixed(g, "_shared_gate", *shared, all, (int)n_all);
    cr_graph_pop(g, mark);
    return ok;
}

cr_node *cr_gate_nu(cr_graph *g, const char *name, cr_node *x, int64_t hidden, int64_t out,
                    double gamma) {
    size_t mark = cr_graph_push(g, "%s.dense_layers", name);
    x = cr_linear(g, "0", x, hidden, true, true);
    x = cr_activation(g, CR_ACT_SIGMOID, NULL, cr_linear(g, "2", x, out, true, false));
    cr_graph_pop(g, mark);
    return cr_add(g, &x, (float[]){(float)gamma}, 1);
}
