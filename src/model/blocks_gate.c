/*
 * blocks_gate.c - block layers that weigh their inputs: PEPNet's gate, SENet (Huang et al., 2019:
 * FiBiNET), and MMoE's experts.
 */
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"

typedef struct gate_nu_conf {
    cr_conf_base base;
    int64_t hidden_dim;
    double gamma;
} gate_nu_conf;
static const cr_field gate_nu_fields[] = {
    CR_INT(gate_nu_conf, hidden_dim, 0, 0, 1048576, CR_F_OURS,
           "width of the gate's inner layer; 0: as wide as what is gated"),
    CR_FLOAT(gate_nu_conf, gamma, 2, 0, CR_INF, CR_F_OURS, "the most a number is multiplied by"),
    CR_END,
};
const cr_msg cr_block_gate_nu_msg = {
    .name = "GateNUBlock",
    .help = "The first input times a gate made from the second",
    .fields = gate_nu_fields,
    .size = sizeof(gate_nu_conf),
};
/* The last input makes the gate; a single input makes the gate for itself. */
static void gate_nu(cr_block_call *c, const void *conf) {
    const gate_nu_conf *n = conf;
    cr_node *v = c->in[0].node, *e = c->in[c->n_in - 1].node;
    int64_t hidden = n->hidden_dim ? n->hidden_dim : v->width;
    cr_node *gate = cr_gate_nu(c->g, c->path, e, hidden, v->width, n->gamma);
    cr_block_give_like(c, cr_mul(c->g, v, gate), &c->in[0]);
}
const cr_block_type cr_block_gate_nu = {
    .name = "gate_nu",
    .takes = CR_TAKES_EACH,
    .min_in = 1,
    .max_in = 2,
    .build = gate_nu,
};

typedef struct senet_conf {
    cr_conf_base base;
    int64_t reduction_ratio;
    int squeeze; /* a senet_squeeze */
    bool bias;
} senet_conf;
typedef enum senet_squeeze { SQUEEZE_MEAN, SQUEEZE_MAX } senet_squeeze;
static const cr_enum_value senet_squeezes[] = {
    {"MEAN", SQUEEZE_MEAN, "the mean of its numbers", NULL},
    {"MAX", SQUEEZE_MAX, "its largest number", NULL},
    {NULL, 0, NULL, NULL},
};
static const cr_field senet_fields[] = {
    CR_INT(senet_conf, reduction_ratio, 4, 1, 65536, CR_F_OURS,
           "how many times fewer units than vectors the inner layer has"),
    CR_ENUM(senet_conf, squeeze, senet_squeezes, SQUEEZE_MEAN, CR_F_OURS,
            "what stands for a vector"),
    CR_BOOL(senet_conf, bias, false, CR_F_OURS, "the two layers add a learned vector"),
    CR_END,
};
const cr_msg cr_block_senet_msg = {
    .name = "SENetBlock",
    .help = "Each vector times a weight made from all",
    .fields = senet_fields,
    .size = sizeof(senet_conf),
};
/* z_f = mean of vector f, a = ReLU(W_2 ReLU(W_1 z)), y_f = a_f x_f. With the largest number in the
 * place of the mean it is the attention of FAT-DeepFFM (Zhang et al., 2019). */
static void senet(cr_block_call *c, const void *conf) {
    const senet_conf *s = conf;
    int64_t D = c->x.D, F = c->x.node->width / D, inner = F / s->reduction_ratio;
    cr_graph *g = c->g;
    cr_node *x = c->x.node, *z;
    if (s->squeeze == SQUEEZE_MAX) {
        cr_picture in = {1, F, D}, out;
        z = cr_max_pool(g, x, &in, 1, D, &out);
    } else {
        z = cr_field_sum(g, cr_transpose(g, x, F, D), D, F);
        z = cr_add(g, &z, (float[]){1.0f / (float)D}, 1);
    }
    size_t mark = cr_graph_push(g, "%s", c->path);
    cr_node *a = cr_linear(g, "excitation.0", z, inner > 0 ? inner : 1, s->bias, true);
    a = cr_linear(g, "excitation.2", a, F, s->bias, true);
    cr_graph_pop(g, mark);
    cr_block_give_fields(c, cr_mul(g, x, a), D);
}
const cr_block_type cr_block_senet = {
    .name = "senet",
    .takes = CR_TAKES_FIELDS,
    .min_in = 1,
    .build = senet,
};

typedef struct mmoe_conf {
    cr_conf_base base;
    int64_t num_task, num_expert;
    cr_mlp_conf *expert_mlp, *gate_mlp;
} mmoe_conf;
static const cr_field mmoe_fields[] = {
    CR_INT(mmoe_conf, num_task, 0, 1, CR_MAX_TASKS, CR_F_REQUIRED | CR_F_OURS,
           "number of outputs, each with a gate of its own"),
    CR_INT(mmoe_conf, num_expert, 3, 1, CR_MAX_EXPERTS, CR_F_OURS, "number of experts"),
    CR_MSG(mmoe_conf, expert_mlp, &cr_mlp_msg, CR_F_REQUIRED | CR_F_OURS, "layers of each expert"),
    CR_MSG(mmoe_conf, gate_mlp, &cr_mlp_msg, CR_F_OURS, "layers of each gate"),
    CR_END,
};
const cr_msg cr_block_mmoe_msg = {
    .name = "MMoEBlock",
    .help = "Experts mixed by a gate per output",
    .fields = mmoe_fields,
    .size = sizeof(mmoe_conf),
};
static void mmoe(cr_block_call *c, const void *conf) {
    const mmoe_conf *m = conf;
    cr_node *out[CR_MAX_TASKS];
    if (!cr_mmoe(c->g, c->path, m->expert_mlp, m->gate_mlp, m->num_expert, c->x.node,
                 (int)m->num_task, out, c->b->diag))
        return;
    for (int64_t i = 0; i < m->num_task; i++)
        cr_block_give(c, out[i]);
}
const cr_block_type cr_block_mmoe = {
    .name = "mmoe",
    .min_in = 1,
    .build = mmoe,
};
