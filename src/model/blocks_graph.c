/*
 * blocks_graph.c - block layers that choose: session_graph (SR-GNN's scores of the next item), and
 * pick, which takes one of its inputs by a number in the row.
 */
#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"

/* ---- session_graph ---- */

#define MAX_ITEMS 16777216 /* whole numbers that a float holds exactly */

typedef struct graph_conf {
    cr_conf_base base;
    int64_t num_items, hidden_size, num_steps;
} graph_conf;
static const cr_field graph_fields[] = {
    CR_INT(graph_conf, num_items, 0, 2, MAX_ITEMS, CR_F_REQUIRED | CR_F_OURS,
           "number of items; the scores are those of items 1, 2, ... in order, since 0 is no item"),
    CR_INT(graph_conf, hidden_size, 0, 1, 65536, CR_F_REQUIRED | CR_F_OURS,
           "width of the vectors of items and states"),
    CR_INT(graph_conf, num_steps, 1, 1, 16, CR_F_OURS,
           "how often the nodes of a session send to their neighbours"),
    CR_END,
};
const cr_msg cr_block_session_graph_msg = {
    .name = "SessionGraphBlock",
    .help = "SR-GNN: scores of all items for a session, whose items are the nodes of a graph",
    .fields = graph_fields,
    .size = sizeof(graph_conf),
};
static void session_graph(cr_block_call *c, const void *conf) {
    const graph_conf *s = conf;
    if (c->x.node->width != 1) {
        cr_block_wrong(c, c->at,
                       "a step is %lld wide; session_graph reads the numbers of items as they are, "
                       "one per step (a sequence_raw_feature)",
                       (long long)c->x.node->width);
        return;
    }
    cr_node *y =
        cr_session_graph(c->g, c->path, c->x.node, s->num_items, s->hidden_size, s->num_steps);
    cr_block_give(c, cr_slice(c->g, y, 1, s->num_items - 1));
}
const cr_block_type cr_block_session_graph = {
    .name = "session_graph",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .max_in = 1,
    .build = session_graph,
};

/* ---- pick ---- */

CR_BLOCK_PLAIN(pick, "PickBlock",
               "One of the inputs behind the first, whose number (from 0) is in the first");
static void pick(cr_block_call *c, const void *conf) {
    (void)conf;
    cr_node **x = CR_NEW_N(&c->b->m->arena, cr_node *, c->n_in);
    for (int i = 1; i < c->n_in; i++) {
        x[i - 1] = c->in[i].node;
        if (x[i - 1]->width == x[0]->width) continue;
        cr_block_wrong(c, c->at, "input %d is %lld wide and input 2 is %lld wide; make them equal",
                       i + 1, (long long)x[i - 1]->width, (long long)x[0]->width);
        return;
    }
    if (c->in[0].node->width != 1) {
        cr_block_wrong(c, c->at,
                       "the first input is %lld wide; it is one number, that of the input to take",
                       (long long)c->in[0].node->width);
        return;
    }
    cr_block_give_fields(c, cr_pick(c->g, c->in[0].node, x, c->n_in - 1), c->in[1].D);
}
const cr_block_type cr_block_pick = {
    .name = "pick",
    .takes = CR_TAKES_EACH,
    .min_in = 3,
    .build = pick,
};
