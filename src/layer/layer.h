/*
 * layer.h - layers: functions that add a piece of graph. Parameter names follow torch's modules as
 * TorchEasyRec nests them, under the graph's current scope (cr_graph_push).
 */
#ifndef CR_LAYER_LAYER_H
#define CR_LAYER_LAYER_H

#include "graph/graph.h"
#include "layer/config.h"

/* cr_linear: torch's Linear named `name`: name.weight (out, in), name.bias; both U(+-1/sqrt(in)).
 */
cr_node *cr_linear(cr_graph *g, const char *name, cr_node *x, int64_t out, bool bias, bool relu);
/* cr_mlp: TorchEasyRec's MLP module `name`: per layer i name.mlp.i.perceptron.j, j counting Linear,
 * norm, activation, dropout. c NULL or without units: x itself. Mistakes (activation,
 * dropout_ratio) go to diag. */
cr_node *cr_mlp(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *x, cr_diag *diag);
/* width of an MLP's output for input width in */
int64_t cr_mlp_width(const cr_mlp_conf *c, int64_t in);

/* activation.c: an activation by torch's name, e.g. "nn.LeakyReLU(negative_slope=0.2)", "Dice", "".
 */
typedef enum cr_act_kind { CR_ACTK_NONE, CR_ACTK_PLAIN, CR_ACTK_PRELU, CR_ACTK_DICE } cr_act_kind;
typedef struct cr_act_spec {
    cr_act_kind kind;
    int act;         /* CR_ACTK_PLAIN: cr_act of op/op.h */
    double param;    /* its parameter; prelu: initial slope */
    int64_t n_param; /* prelu: number of slopes */
} cr_act_spec;
CR_CHECKED cr_code cr_act_parse(cr_act_spec *out, const char *text, cr_err *err);
/* cr_act_apply adds it, with parameters (if any) under the module name `name` */
cr_node *cr_act_apply(cr_graph *g, const char *name, const cr_act_spec *s, cr_node *x);
/* torch's BatchNorm1d named `name` */
cr_node *cr_bn(cr_graph *g, const char *name, cr_node *x, bool affine);

/* dense embeddings of raw features (reference 4.4): x (value_dim) -> dim */
cr_node *cr_autodis(cr_graph *g, const char *feature, cr_node *x, int64_t channels, int64_t dim,
                    double temperature, double keep_prob);
cr_node *cr_mlp_embedding(cr_graph *g, const char *feature, cr_node *x, int64_t dim);

#endif
