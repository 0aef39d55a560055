/*
 * blocks_sessions.c - block layers of DSIN (Feng et al., 2019): session_interests makes a vector of
 * each session of a history, and lstm lets the sessions act on each other in their order.
 *
 * A history is one sequence of steps, each with the number of its session and its place there; the
 * sessions are a second sequence, of their numbers. Steps attend to the steps of their session, and
 * the vector of a session is the mean of its steps. The bias encoding of step t of session k adds
 * w_k + w_t to all of its numbers and a vector w of its own.
 */
#include <math.h>

#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

/* ---- session_interests ---- */

typedef enum encoding { ENCODE_BIAS, ENCODE_WAVES, ENCODE_NONE } encoding;
static const cr_enum_value encodings[] = {
    {"BIAS", ENCODE_BIAS,
     "a number of the session, one of the place, and a vector, as in the paper", NULL},
    {"WAVES", ENCODE_WAVES,
     "steps times the root of their width, and a learned vector of the place, which begins with "
     "sines and cosines",
     NULL},
    {"NONE", ENCODE_NONE, "nothing is added", NULL},
    {NULL, 0, NULL, NULL},
};
typedef struct interests_conf {
    cr_conf_base base;
    int64_t num_heads, num_layers, ff_units, max_sessions, max_places;
    double dropout;
    int encoding;
    bool bias;
} interests_conf;
static const cr_field interests_fields[] = {
    CR_INT(interests_conf, num_heads, 4, 1, 65536, CR_F_OURS,
           "heads; they divide the width of a step"),
    CR_INT(interests_conf, num_layers, 1, 1, 64, CR_F_OURS, "number of layers"),
    CR_INT(interests_conf, ff_units, 0, 0, 1048576, CR_F_OURS,
           "width of the inner layer; 0: four times that of a step"),
    CR_FLOAT(interests_conf, dropout, 0, 0, 0.999, CR_F_OURS,
             "share of attention and units dropped while training"),
    CR_INT(interests_conf, max_sessions, 5, 1, 65536, CR_F_OURS,
           "sessions that have a bias of their own, from number 0 on"),
    CR_INT(interests_conf, max_places, 10, 1, 65536, CR_F_OURS,
           "places of a session that have a bias or a vector of their own, from 0 on"),
    CR_ENUM(interests_conf, encoding, encodings, ENCODE_BIAS, CR_F_OURS,
            "what tells the places of steps"),
    CR_BOOL(interests_conf, bias, true, CR_F_OURS, "linear layers have a bias"),
    CR_END,
};
const cr_msg cr_block_session_interests_msg = {
    .name = "SessionInterestsBlock",
    .help = "A vector of each session, by attention inside of it: DSIN; reads steps, their "
            "sessions, their places, and the sessions",
    .fields = interests_fields,
    .size = sizeof(interests_conf),
};

static cr_node *plus(cr_graph *g, cr_node *a, cr_node *b) {
    return cr_add(g, (cr_node *[]){a, b}, (float[]){1, 1}, 2);
}

/* The steps with what tells their places. */
static cr_node *encoded(cr_block_call *c, const interests_conf *k) {
    cr_graph *g = c->g;
    cr_node *x = c->in[0].node, *session = c->in[1].node, *place = c->in[2].node;
    int64_t D = x->width;
    if (k->encoding == ENCODE_NONE) return x;
    if (k->encoding == ENCODE_WAVES) {
        float root = (float)sqrt((double)D);
        cr_node *W = cr_weight(g, "position", k->max_places, D,
                               (cr_init){.kind = CR_INIT_WAVES, .a = (double)D});
        return plus(g, cr_add(g, &x, &root, 1), cr_gather_rows(g, W, place));
    }
    cr_node *of_session = cr_weight(g, "session_bias", k->max_sessions, 1, CR_INIT_N(0.01));
    cr_node *of_place = cr_weight(g, "place_bias", k->max_places, 1, CR_INIT_N(0.01));
    x = cr_bias(g, x, cr_vector(g, "unit_bias", D, CR_INIT_N(0.01)));
    cr_node *number =
        plus(g, cr_gather_rows(g, of_session, session), cr_gather_rows(g, of_place, place));
    return plus(g, x, number);
}

static void session_interests(cr_block_call *c, const void *conf) {
    const interests_conf *k = conf;
    cr_node *x = c->in[0].node, *session = c->in[1].node, *none = NULL;
    bool fits = c->in[3].node->cls == CR_SEQ && c->in[3].node->width == 1;
    for (int i = 0; i < 3; i++)
        fits = fits && c->in[i].node->cls == CR_SEQ && c->in[i].node->axis == x->axis &&
               (i == 0 || c->in[i].node->width == 1);
    if (!fits) {
        cr_block_wrong(c, c->at,
                       "session_interests reads steps, the number of each step's session and of "
                       "its place (sequence_raw_features of the same group), and a sequence of the "
                       "sessions' numbers");
        return;
    }
    if (x->width % k->num_heads != 0) {
        cr_block_wrong(c, cr_conf_at(k, "num_heads"),
                       "a step is %lld wide, which is not a multiple of num_heads %lld; make it "
                       "one",
                       (long long)x->width, (long long)k->num_heads);
        return;
    }
    cr_transformer_conf t = {k->num_heads, k->num_layers, k->ff_units, k->dropout,
                             CR_NORM_POST, !k->bias,      session};
    cr_act_spec relu = {.kind = CR_ACTK_PLAIN, .act = CR_ACT_RELU};
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    x = encoded(c, k);
    cr_transformer(c->g, "transformer", &t, &x, &none, &relu);
    cr_graph_pop(c->g, mark);
    cr_block_give(c, cr_seq_mean_by(c->g, x, session, c->in[3].node));
}
const cr_block_type cr_block_session_interests = {
    .name = "session_interests",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH | CR_TAKES_MIXED,
    .min_in = 4,
    .max_in = 4,
    .build = session_interests,
};

/* ---- lstm ---- */

typedef enum steps_out { OUT_LAST, OUT_STEPS } steps_out;
static const cr_enum_value steps_outs[] = {
    {"LAST", OUT_LAST, "the state behind the last step of each direction, as a row", NULL},
    {"STEPS", OUT_STEPS, "the states of all steps, as a sequence", NULL},
    {NULL, 0, NULL, NULL},
};
typedef enum merging { MERGE_CONCAT, MERGE_MEAN } merging;
static const cr_enum_value mergings[] = {
    {"CONCAT", MERGE_CONCAT, "both side by side", NULL},
    {"MEAN", MERGE_MEAN, "their mean", NULL},
    {NULL, 0, NULL, NULL},
};
typedef struct lstm_conf {
    cr_conf_base base;
    int64_t hidden_size, num_layers;
    bool both_ways;
    int output, merge;
} lstm_conf;
static const cr_field lstm_fields[] = {
    CR_INT(lstm_conf, hidden_size, 0, 1, 65536, CR_F_REQUIRED | CR_F_OURS,
           "width of the state of a direction"),
    CR_INT(lstm_conf, num_layers, 1, 1, 64, CR_F_OURS, "layers above each other"),
    CR_BOOL(lstm_conf, both_ways, false, CR_F_OURS,
            "each layer goes from the first step to the last and back"),
    CR_ENUM(lstm_conf, merge, mergings, MERGE_CONCAT, CR_F_OURS,
            "what becomes of the two directions at the end"),
    CR_ENUM(lstm_conf, output, steps_outs, OUT_LAST, CR_F_OURS, "what the block gives"),
    CR_END,
};
const cr_msg cr_block_lstm_msg = {
    .name = "LSTMBlock",
    .help = "Long short-term memory over the steps",
    .fields = lstm_fields,
    .size = sizeof(lstm_conf),
};
static void lstm(cr_block_call *c, const void *conf) {
    const lstm_conf *k = conf;
    cr_node *back, *y = cr_lstm_layers(c->g, c->path, c->x.node, k->hidden_size, k->num_layers,
                                       k->both_ways, &back);
    if (k->output == OUT_LAST) {
        y = cr_seq_end(c->g, y, false);
        if (back) back = cr_seq_row(c->g, back, 1);
    }
    if (back)
        y = k->merge == MERGE_CONCAT
                ? cr_concat(c->g, (cr_node *[]){y, back}, 2)
                : cr_add(c->g, (cr_node *[]){y, back}, (float[]){0.5f, 0.5f}, 2);
    cr_block_give_val(c, (cr_block_val){y, y->width, k->output == OUT_STEPS ? c->x.query : NULL});
}
const cr_block_type cr_block_lstm = {
    .name = "lstm",
    .takes = CR_TAKES_SEQUENCE,
    .min_in = 1,
    .max_in = 1,
    .shares = true,
    .build = lstm,
};
