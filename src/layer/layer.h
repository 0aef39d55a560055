/*
 * layer.h - layers: functions that add a piece of graph. Parameter names follow torch's modules as
 * TorchEasyRec nests them, under the graph's current scope (cr_graph_push).
 */
#ifndef CR_LAYER_LAYER_H
#define CR_LAYER_LAYER_H

#include "base/buf.h"
#include "graph/graph.h"
#include "layer/config.h"

/* cr_linear adds torch's Linear named `name`: name.weight (out, in) and name.bias, both
 * U(+-1/sqrt(in)). */
cr_node *cr_linear(cr_graph *g, const char *name, cr_node *x, int64_t out, bool bias, bool relu);
/* cr_mlp adds TorchEasyRec's MLP module `name`: layer i is name.mlp.i.perceptron.j, where j counts
 * Linear, norm, activation and dropout. If c is NULL or has no units, it returns x itself. Mistakes
 * (activation, dropout_ratio) go to diag. */
cr_node *cr_mlp(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *x, cr_diag *diag);
/* cr_mlp_din does the same at each position of the sequence x, with the input [q; x; q - x; q * x];
 * c has at least one layer. cr_mlp_windows does it with the input [x; q * x; q]. */
cr_node *cr_mlp_din(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *q, cr_node *x,
                    cr_diag *diag);
cr_node *cr_mlp_windows(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *q, cr_node *x,
                        cr_diag *diag);
/* cr_mlp_layers does what cr_mlp does and puts the output of each layer in `each`. */
cr_node *cr_mlp_layers(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *x,
                       cr_node **each, cr_diag *diag);
/* ensemble.c: K members that share matrices; the result is one logit, made by cr_ensemble_mean, or
 * NULL after a mistake. */
#define CR_MAX_MEMBERS 128
typedef enum cr_mean_of { CR_MEAN_OF_PROBABILITIES, CR_MEAN_OF_VALUES } cr_mean_of;
typedef struct cr_ensemble_conf {
    cr_conf_base base;
    int64_t members;
    cr_ints hidden_units;
    cr_floats dropout_ratio; /* empty: 0; one value: all layers; else one per layer */
    const char *activation;
    int mean_of; /* cr_mean_of */
} cr_ensemble_conf;
cr_node *cr_ensemble(cr_graph *g, const char *name, const cr_ensemble_conf *c, cr_node *x,
                     cr_diag *diag);
/* Returns the width of an MLP's output for the input width `in`. */
int64_t cr_mlp_width(const cr_mlp_conf *c, int64_t in);

/* activation.c: activations by torch's names, e.g. "nn.LeakyReLU(negative_slope=0.2)", "Dice",
 * "". */
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
    int act; /* for CR_ACTK_PLAIN: a cr_act of op/op.h */
    /* its parameters; prelu: number of slopes, first slope; rrelu: lowest and highest slope;
     * softmaxes: dim (0: not given) */
    float p[3];
} cr_act_spec;
/* cr_act_parse reads the text; err names a mistake and its cure. */
CR_CHECKED cr_code cr_act_parse(cr_act_spec *out, const char *text, cr_err *err);
/* cr_act_fits checks whether the activation can follow x: the slopes of a PReLU, the dim of a
 * softmax. */
CR_CHECKED cr_code cr_act_fits(const cr_act_spec *s, const cr_node *x, cr_err *err);
/* cr_act_apply adds the activation, with its parameters (if any) under the module name `name`. */
cr_node *cr_act_apply(cr_graph *g, const char *name, const cr_act_spec *s, cr_node *x);
/* cr_act_help returns the help text of activation i and writes to call how to spell it, with its
 * defaults; NULL: i is behind the last. */
const char *cr_act_help(size_t i, cr_buf *call);
/* cr_bn adds torch's BatchNorm1d named `name`. */
cr_node *cr_bn(cr_graph *g, const char *name, cr_node *x, bool affine, bool relu);
/* cr_bn_planes adds torch's BatchNorm2d over a row of w pictures. */
cr_node *cr_bn_planes(cr_graph *g, const char *name, cr_node *x, int64_t w, bool affine, bool relu);

/* cr_ln adds torch's LayerNorm named `name` over parts of width w of each row (w = x->width: the
 * whole row). */
cr_node *cr_ln(cr_graph *g, const char *name, cr_node *x, int64_t w);

/* Dense embeddings of raw features (dense_emb.c): x (value_dim) -> dim. */
typedef enum cr_autodis_pick {
    CR_AUTODIS_WEIGHTED, /* a mixture of all vectors, weighted by softmax */
    CR_AUTODIS_MAX,      /* the vector with the largest score */
    CR_AUTODIS_TOP_K,    /* the sum of the vectors with the top_k largest scores */
} cr_autodis_pick;
typedef struct cr_autodis_spec {
    int64_t channels, dim;
    double temperature, keep_prob;
    /* in TorchEasyRec's form all of the following are zero (slope: 0.01) */
    double slope;       /* of LeakyReLU below zero */
    bool powers;        /* starts from x, x^2 and sqrt(x) instead of x */
    int64_t hidden;     /* width of the layer before the scores; 0: channels */
    int64_t blocks;     /* residual blocks of that width */
    double block_alpha; /* weight of their skip connection */
    bool bias;          /* linear layers have a bias */
    bool score_act;     /* a LeakyReLU acts on the scores */
    /* each score is multiplied by a learned factor instead of divided by the temperature */
    bool learned_scale;
    bool kaiming; /* initial values: Kaiming uniform weights, N(0, 1) biases */
    int pick;     /* cr_autodis_pick */
    int64_t top_k;
} cr_autodis_spec;
cr_node *cr_autodis(cr_graph *g, const char *feature, cr_node *x, const cr_autodis_spec *s);
cr_node *cr_mlp_embedding(cr_graph *g, const char *feature, cr_node *x, int64_t dim);
/* the place of a number between points, and waves of learned frequencies, then a linear layer */
cr_node *cr_piecewise_embedding(cr_graph *g, const char *feature, cr_node *x, const double *points,
                                int64_t n, int64_t dim, bool relu);
cr_node *cr_periodic_embedding(cr_graph *g, const char *feature, cr_node *x, int64_t frequencies,
                               double sigma, int64_t dim, bool relu);

/* seq.c: encoders that turn a sequence s, with the query q of its row, into a row. Their parameters
 * are name.mlp and name.linear. The scores are multiplied by scale. */
cr_node *cr_din_encoder(cr_graph *g, const char *name, const cr_mlp_conf *attn, cr_node *q,
                        cr_node *s, double scale, cr_diag *diag);
/* q must be as wide as s; tanh: the softmax is that of tanh(q . s). */
cr_node *cr_simple_attention(cr_graph *g, cr_node *q, cr_node *s, bool tanh);
/* Sums over windows of len steps, with q behind them; parameters name.mlp, name.linear,
 * name.active. */
cr_node *cr_window_encoder(cr_graph *g, const char *name, const cr_mlp_conf *attn, cr_node *q,
                           cr_node *s, const cr_ints *len, cr_diag *diag);
/* The mean of a multi-head self-attention, dim wide; parameters name._query, name._key,
 * name._value, name._multihead_attn. The mean divides by the number of steps on the axis `all`,
 * which has all steps. */
cr_node *cr_self_attention(cr_graph *g, const char *name, cr_node *s, int64_t dim, int64_t heads,
                           double dropout, int all);

/* session_graph.c: SR-GNN's scores of all items (0 among them) for the session whose item numbers
 * are at the positions of k (1). */
cr_node *cr_session_graph(cr_graph *g, const char *name, cr_node *k, int64_t items, int64_t H,
                          int64_t steps);

/* recurrent.c: a GRU over the steps of x gives its H states; att and kind (cr_gru_kind) as in
 * cr_gru. Parameters name.weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0. */
cr_node *cr_gru_layer(cr_graph *g, const char *name, cr_node *x, int64_t H, cr_node *att, int kind,
                      bool reset_before);
/* The same without attention, with a first state and a direction, as in cr_gru_from. */
cr_node *cr_gru_layer_from(cr_graph *g, const char *name, cr_node *x, int64_t H, cr_node *start,
                           bool reverse, bool reset_before);
/* Layers of LSTM over the steps of x, each H wide; both_ways: each layer goes in both directions,
 * and the next one reads both. Gives the states of the last layer, those from the last step to the
 * first in *back (NULL: one direction). Parameters as torch names them: name.weight_ih_l0, ...,
 * name.bias_hh_l0_reverse. */
cr_node *cr_lstm_layers(cr_graph *g, const char *name, cr_node *x, int64_t H, int64_t layers,
                        bool both_ways, cr_node **back);
/* DIEN: a GRU over x, whose states are compared with the query q, and a second one in which this
 * attention acts; its last state is the result. *states are those of the first. q may not be wider
 * than the states. */
typedef enum cr_evolve_kind { CR_EVOLVE_AUGRU, CR_EVOLVE_AGRU, CR_EVOLVE_AIGRU } cr_evolve_kind;
typedef struct cr_evolution_conf {
    int64_t hidden_size;
    const cr_mlp_conf *attn_mlp;
    int kind; /* a cr_evolve_kind */
    bool reset_before;
} cr_evolution_conf;
cr_node *cr_evolution(cr_graph *g, const char *name, const cr_evolution_conf *c, cr_node *q,
                      cr_node *x, cr_node **states, cr_diag *diag);
/* transformer.c: layers of a transformer's encoder over *steps, which they replace. *target is a
 * row that takes part as one more step and is replaced too; NULL: none. num_heads divides the
 * width. The activation has no parameters. */
typedef enum cr_norm_kind { CR_NORM_POST, CR_NORM_PRE, CR_NORM_NONE } cr_norm_kind;
typedef struct cr_transformer_conf {
    int64_t num_heads, num_layers, ff_units; /* ff_units 0: four times the width */
    double dropout;
    int norm;          /* a cr_norm_kind */
    bool no_bias;      /* the linear layers have none */
    cr_node *sessions; /* steps with the same number (1) attend to each other alone; NULL: to all */
} cr_transformer_conf;
void cr_transformer(cr_graph *g, const char *name, const cr_transformer_conf *c, cr_node **steps,
                    cr_node **target, const cr_act_spec *act);

/* interact.c: cross nets. Parameters of v1: name.w.i.weight, name.b.i; of v2: name.u_kernels.i,
 * name.v_kernels.i. */
cr_node *cr_cross_v1(cr_graph *g, const char *name, const cr_cross_conf *c, cr_node *x);
cr_node *cr_cross_v2(cr_graph *g, const char *name, const cr_cross_conf *c, cr_node *x);
/* x (F, D) -> the sum over d of all feature maps of all layers; parameters name.cin_layers.i. */
cr_node *cr_cin_net(cr_graph *g, const char *name, const cr_cin_conf *c, cr_node *x, int64_t F,
                    int64_t D);
/* x (F, D) -> (lcb + fmb, D); parameters name.lcb, name.fmb, name.norm,
 * name.residual_projection. */
cr_node *cr_wukong_layer(cr_graph *g, const char *name, const cr_wukong_layer_conf *c, cr_node *x,
                         int64_t F, int64_t D, cr_diag *diag);
/* x (F, D) -> (F, num_heads head_dim); parameters name.w_q, w_k, w_v, w_res. */
cr_node *cr_autoint_layer(cr_graph *g, const char *name, const cr_autoint_layer_conf *c, cr_node *x,
                          int64_t F);
/* masknet.c: the whole module; parameters name.ln_emb, name.mask_blocks.i, name.top_mlp. Returns
 * NULL with a mistake in diag when the mask's inner layer would be empty. */
cr_node *cr_mask_net(cr_graph *g, const char *name, const cr_mask_net_conf *c, cr_node *x,
                     cr_diag *diag);

/* One block of that module: v is gated by a mask made from e. Returns NULL as cr_mask_net does. */
cr_node *cr_mask_block(cr_graph *g, const char *name, const cr_mask_block_conf *c, cr_node *v,
                       cr_node *e, cr_diag *diag);

/* experts.c: MMoE's module has num_expert experts over x and one gate per task; out (n_task)
 * receives their mixtures. Parameters: name.expert_mlps.i, name.gate_mlps.t, name.gate_finals.t.
 * gate may be NULL. Returns false with a mistake in diag. */
bool cr_mmoe(cr_graph *g, const char *name, const cr_mlp_conf *expert, const cr_mlp_conf *gate,
             int64_t num_expert, cr_node *x, int n_task, cr_node **out, cr_diag *diag);
/* PLE's layer has experts of each task over x[t] and shared experts over *shared. Its outputs
 * replace x[t] and, with keep_shared, *shared. Parameters: name._task_layers.t.i, _shared_layers.i,
 * _task_gates.t, _shared_gate. */
bool cr_extraction(cr_graph *g, const char *name, const cr_extraction_conf *c, bool keep_shared,
                   cr_node **x, cr_node **shared, int n_task, cr_diag *diag);
/* PEPNet's gate, gamma * sigmoid(FC(ReLU(FC_hidden(x)))), is `out` wide; parameters
 * name.dense_layers.0 and 2. */
cr_node *cr_gate_nu(cr_graph *g, const char *name, cr_node *x, int64_t hidden, int64_t out,
                    double gamma);

#endif
