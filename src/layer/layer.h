/*
 * layer.h - layers: functions that add a piece of graph. Parameter names follow torch's modules as
 * TorchEasyRec nests them, under the graph's current scope (cr_graph_push).
 */
#ifndef CR_LAYER_LAYER_H
#define CR_LAYER_LAYER_H

#include "base/buf.h"
#include "graph/graph.h"
#include "layer/config.h"

/* cr_linear: torch's Linear named `name`: name.weight (out, in), name.bias; both U(+-1/sqrt(in)).
 */
cr_node *cr_linear(cr_graph *g, const char *name, cr_node *x, int64_t out, bool bias, bool relu);
/* cr_mlp: TorchEasyRec's MLP module `name`: per layer i name.mlp.i.perceptron.j, j counting Linear,
 * norm, activation, dropout. c NULL or without units: x itself. Mistakes (activation,
 * dropout_ratio) go to diag. */
cr_node *cr_mlp(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *x, cr_diag *diag);
/* cr_mlp_din: the same at each position of the sequence x, with [q; x; q - x; q * x] going in; c
 * has at least one layer. cr_mlp_windows: with [x; q * x; q]. */
cr_node *cr_mlp_din(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *q, cr_node *x,
                    cr_diag *diag);
cr_node *cr_mlp_windows(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *q, cr_node *x,
                        cr_diag *diag);
/* cr_mlp_layers: cr_mlp, with the output of each layer in each */
cr_node *cr_mlp_layers(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *x,
                       cr_node **each, cr_diag *diag);
/* width of an MLP's output for input width in */
int64_t cr_mlp_width(const cr_mlp_conf *c, int64_t in);

/* activation.c: an activation by torch's name, e.g. "nn.LeakyReLU(negative_slope=0.2)", "Dice", "".
 */
typedef enum cr_act_kind {
    CR_ACTK_NONE,
    CR_ACTK_PLAIN,
    CR_ACTK_PRELU,
    CR_ACTK_RRELU,
    CR_ACTK_DICE,
    CR_ACTK_SOFTMAX,
    CR_ACTK_SOFTMIN,
    CR_ACTK_LOG_SOFTMAX,
} cr_act_kind;
typedef struct cr_act_spec {
    cr_act_kind kind;
    int act;    /* CR_ACTK_PLAIN: cr_act of op/op.h */
    float p[3]; /* its parameters; prelu: number of slopes, first slope; rrelu: lowest, highest
                   slope; softmaxes: dim, 0: not given */
} cr_act_spec;
/* cr_act_parse reads the text; a mistake is named in err, with its cure */
CR_CHECKED cr_code cr_act_parse(cr_act_spec *out, const char *text, cr_err *err);
/* cr_act_fits: whether it can stand behind x: the slopes of a PReLU, the dim of a softmax. */
CR_CHECKED cr_code cr_act_fits(const cr_act_spec *s, const cr_node *x, cr_err *err);
/* cr_act_apply adds it, with parameters (if any) under the module name `name` */
cr_node *cr_act_apply(cr_graph *g, const char *name, const cr_act_spec *s, cr_node *x);
/* cr_act_help: what activation i is, with the way to write it and its defaults in call; NULL behind
 * the last */
const char *cr_act_help(size_t i, cr_buf *call);
/* torch's BatchNorm1d named `name` */
cr_node *cr_bn(cr_graph *g, const char *name, cr_node *x, bool affine, bool relu);

/* torch's LayerNorm named `name` over parts of w of each row (w = x->width: the whole row) */
cr_node *cr_ln(cr_graph *g, const char *name, cr_node *x, int64_t w);

/* dense embeddings of raw features (reference 4.4, dense_emb.c): x (value_dim) -> dim */
typedef enum cr_autodis_pick {
    CR_AUTODIS_WEIGHTED, /* mixture by softmax */
    CR_AUTODIS_MAX,      /* the vector of the largest score */
    CR_AUTODIS_TOP_K,    /* the sum of those of the top_k largest */
} cr_autodis_pick;
typedef struct cr_autodis_spec {
    int64_t channels, dim;
    double temperature, keep_prob;
    /* TorchEasyRec's form has the following as zero (slope: 0.01) */
    double slope;       /* of LeakyReLU below zero */
    bool powers;        /* from x, x^2 and sqrt(x) instead of x */
    int64_t hidden;     /* width before the scores; 0: channels */
    int64_t blocks;     /* residual blocks of that width */
    double block_alpha; /* weight of their skip connection */
    bool bias;          /* linear layers have one */
    bool score_act;     /* LeakyReLU on the scores */
    bool learned_scale; /* scores times a learned factor each instead of over the temperature */
    bool kaiming;       /* initial values: Kaiming uniform weights, N(0, 1) biases */
    int pick;           /* cr_autodis_pick */
    int64_t top_k;
} cr_autodis_spec;
cr_node *cr_autodis(cr_graph *g, const char *feature, cr_node *x, const cr_autodis_spec *s);
cr_node *cr_mlp_embedding(cr_graph *g, const char *feature, cr_node *x, int64_t dim);

/* seq.c: encoders of a sequence s, with the query q of its row, into a row (reference 5.1). Named
 * `name`: name.mlp, name.linear. */
cr_node *cr_din_encoder(cr_graph *g, const char *name, const cr_mlp_conf *attn, cr_node *q,
                        cr_node *s, cr_diag *diag);
/* q is as wide as s */
cr_node *cr_simple_attention(cr_graph *g, cr_node *q, cr_node *s);
/* sums over windows of len steps, and q: name.mlp, name.linear, name.active */
cr_node *cr_window_encoder(cr_graph *g, const char *name, const cr_mlp_conf *attn, cr_node *q,
                           cr_node *s, const cr_ints *len, cr_diag *diag);
/* the mean of a multi-head self-attention, dim wide: name._query, name._key, name._value,
 * name._multihead_attn. all: the axis of all steps, by whose number is divided. */
cr_node *cr_self_attention(cr_graph *g, const char *name, cr_node *s, int64_t dim, int64_t heads,
                           double dropout, int all);

/* interact.c. Cross nets named `name`: name.w.i.weight, name.b.i; name.u_kernels.i, v_kernels.i */
cr_node *cr_cross_v1(cr_graph *g, const char *name, const cr_cross_conf *c, cr_node *x);
cr_node *cr_cross_v2(cr_graph *g, const char *name, const cr_cross_conf *c, cr_node *x);
/* x (F, D) -> the sum over d of all feature maps of all layers: name.cin_layers.i */
cr_node *cr_cin_net(cr_graph *g, const char *name, const cr_cin_conf *c, cr_node *x, int64_t F,
                    int64_t D);
/* x (F, D) -> (lcb + fmb, D): name.lcb, name.fmb, name.norm, name.residual_projection */
cr_node *cr_wukong_layer(cr_graph *g, const char *name, const cr_wukong_layer_conf *c, cr_node *x,
                         int64_t F, int64_t D, cr_diag *diag);
/* x (F, D) -> (F, num_heads head_dim): name.w_q, w_k, w_v, w_res */
cr_node *cr_autoint_layer(cr_graph *g, const char *name, const cr_autoint_layer_conf *c, cr_node *x,
                          int64_t F);
/* masknet.c: name.ln_emb, name.mask_blocks.i, name.top_mlp. NULL with a mistake in diag when the
 * mask's inner layer would be empty. */
cr_node *cr_mask_net(cr_graph *g, const char *name, const cr_mask_net_conf *c, cr_node *x,
                     cr_diag *diag);

/* one block of it named `name`: v gated by a mask made from e; NULL as above */
cr_node *cr_mask_block(cr_graph *g, const char *name, const cr_mask_block_conf *c, cr_node *v,
                       cr_node *e, cr_diag *diag);

/* experts.c: MMoE's module: num_expert experts over x, one gate per task, out (n_task) their
 * mixtures: name.expert_mlps.i, name.gate_mlps.t, name.gate_finals.t. gate may be NULL. false with
 * a mistake in diag. */
bool cr_mmoe(cr_graph *g, const char *name, const cr_mlp_conf *expert, const cr_mlp_conf *gate,
             int64_t num_expert, cr_node *x, int n_task, cr_node **out, cr_diag *diag);
/* PLE's layer: experts of each task over x[t] and shared ones over *shared; both become what comes
 * out, *shared only if keep_shared: name._task_layers.t.i, _shared_layers.i, _task_gates.t,
 * _shared_gate. */
bool cr_extraction(cr_graph *g, const char *name, const cr_extraction_conf *c, bool keep_shared,
                   cr_node **x, cr_node **shared, int n_task, cr_diag *diag);
/* PEPNet's gate: gamma * sigmoid(FC(ReLU(FC_hidden(x)))), out wide: name.dense_layers.0 and 2 */
cr_node *cr_gate_nu(cr_graph *g, const char *name, cr_node *x, int64_t hidden, int64_t out,
                    double gamma);

#endif
