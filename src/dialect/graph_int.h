/*
 * graph_int.h - a backbone of EasyRec while it is converted to a graph of blocks
 * (easyrec_blocks.c), and the layers of one block (easyrec_layers.c).
 */
#ifndef CR_DIALECT_GRAPH_INT_H
#define CR_DIALECT_GRAPH_INT_H

#include "dialect/easyrec_int.h"

enum { CR_ER_CHAIN = 32 }; /* the most layers of one block */

typedef struct cr_er_link {
    const char *key; /* the layer's key */
    cr_conf_node *conf;
} cr_er_link;

typedef struct cr_er_graph {
    cr_er *er;
    cr_rw *w;
    cr_conf_node *out;         /* the backbone */
    const cr_conf_node *block; /* the block that is being read */
    const char *name;
    cr_conf_node *inputs; /* the inputs of the block, under the key inputs */
    cr_er_link chain[CR_ER_CHAIN];
    int n_chain;
    double width;               /* the width of the block's input; 0: not known */
    cr_map aliases;             /* blocks that are groups: name to index in alias_groups */
    cr_conf_node *alias_groups; /* its entries are the names of the groups */
    cr_map mmoe;                /* blocks with several outputs */
    cr_map read;                /* blocks that are read */
} cr_er_graph;

/* Functions in Python, recognized by their text. */
typedef enum cr_er_python {
    CR_PY_SAME,
    CR_PY_SUM,
    CR_PY_SUM_FIELDS,
    CR_PY_MEAN,
    CR_PY_FIELDS, /* the row as vectors of a given width */
    CR_PY_FIRST,
    CR_PY_SECOND,
    CR_PY_OTHER
} cr_er_python;
cr_er_python cr_er_lambda(const char *text, int *dim);
/* cr_er_lambda_layer adds a layer that does the same to the chain; false: there is no such
 * layer. */
bool cr_er_lambda_layer(cr_er_graph *g, const char *text, cr_loc at);

/* cr_er_cut reports that a part of the block has no counterpart. */
void cr_er_cut(cr_er_graph *g, cr_loc at, const char *what, const char *why);
/* cr_er_any_layer adds the layers of a block, or of one of its `layers`, to the chain. */
void cr_er_any_layer(cr_er_graph *g, const cr_conf_node *in);
void cr_er_input_layer(cr_er_graph *g, const cr_conf_node *in, cr_loc at);

#endif
