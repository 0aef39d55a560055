/*
 * op.h - the ops, as functions that add a node; and their registry.
 *
 * Each op is one cr_op_type with infer, forward, backward and examples; the tests run over the
 * registry. x and y are ROW nodes, or SEQ nodes where an op works row by row. Shapes in brackets
 * are per row; -> gives the shape of the result. The caller makes the parameters (op/param.h).
 */
#ifndef CR_OP_OP_H
#define CR_OP_OP_H

#include "graph/graph.h"
#include "op/list.h"

/* Every op, NULL-ended (registry.c). */
extern const cr_op_type *const cr_ops[];

/* Columns of a row or a matrix. */
typedef struct cr_range {
    int64_t from, width;
} cr_range;

/* fold.c: folded parameters (graph.h), which are made of other parameters once per step.
 * cr_fold_product: rows [from, from + rows) of A, times B. */
cr_node *cr_fold_product(cr_graph *g, cr_node *A, int64_t from, int64_t rows, cr_node *B);
/* The same rows of A times the vector x, plus the same rows of b. */
cr_node *cr_fold_affine(cr_graph *g, cr_node *A, int64_t from, int64_t rows, cr_node *x,
                        cr_node *b);
/* Columns of W beside each other; a range from -1 on gives zeros. */
cr_node *cr_fold_columns(cr_graph *g, cr_node *W, const cr_range *v, int n);
/* e^x of one number x, which counts as at most `cap`. */
cr_node *cr_fold_exp(cr_graph *g, cr_node *x, float cap);
/* The weight (D, H (C + 1) + 1) that follows cr_seq_attention, for values V s + v and the layer W y
 * + b. */
cr_node *cr_fold_heads(cr_graph *g, cr_node *V, cr_node *v, cr_node *W, cr_node *b, int64_t H);

/* fold_items.c: n items with k features each, of E (V, D), bias (V, 1) and h (1, D) -> (n, D + 2):
 * [s; 1; b], the sum s of an item's vectors and its own part b of a factorization machine's score.
 * ids (n k), from 0 to V - 1, is copied. */
cr_node *cr_fold_items(cr_graph *g, cr_node *E, cr_node *bias, cr_node *h, const int64_t *ids,
                       int64_t n, int64_t k);
/* Q (n, d) -> Q^T Q (d, d) */
cr_node *cr_fold_gram(cr_graph *g, cr_node *Q);

/* matmul.c: y = x W^T + b, with W (N, K) as in torch's Linear; b may be NULL; relu: a ReLU is fused
 * into it. */
cr_node *cr_matmul(cr_graph *g, cr_node *x, cr_node *W, cr_node *b, bool relu);
/* emb_matmul.c: the same over a lookup's rows, with one product per distinct id. cr_matmul chooses
 * it where it can. NULL: this input does not allow it. */
cr_node *cr_emb_matmul(cr_graph *g, cr_node *x, cr_node *W, cr_node *b, bool relu);
/* y = x W, with W (K, N). */
cr_node *cr_matmul_kn(cr_graph *g, cr_node *x, cr_node *W);
/* The same for each of G vectors that lie side by side in a row of x: (G K) -> (G N). */
cr_node *cr_matmul_each(cr_graph *g, cr_node *x, cr_node *W, cr_node *b, bool relu, int64_t G);
cr_node *cr_matmul_kn_each(cr_graph *g, cr_node *x, cr_node *W, int64_t G);

/* cr_matmul_finish is called when the graph is whole. Where a layer with a ReLU has one user, a
 * product, the gradient that this product sends back includes the slope of the ReLU
 * (cr_node.masked). Layers with BF16 products that follow each other get a form of their own for
 * what lies between them (cr_own), on CPUs that gain by it. */
void cr_matmul_finish(cr_graph *g);

/* act.c: element-wise functions, by torch's names where there are any. Behind each stand the
 * parameters p that it reads. */
typedef enum cr_act {
    CR_ACT_RELU,
    CR_ACT_LEAKY, /* negative slope */
    CR_ACT_SIGMOID,
    CR_ACT_TANH,
    CR_ACT_GELU,
    CR_ACT_GELU_TANH, /* GELU(approximate='tanh') */
    CR_ACT_SILU,
    CR_ACT_MISH,
    CR_ACT_ELU,      /* alpha, s, c: s x above zero, s alpha (e^(x / c) - 1) below it */
    CR_ACT_SOFTPLUS, /* beta, threshold: log(1 + e^(beta x)) / beta, x where beta x > threshold */
    CR_ACT_SOFTSIGN,
    CR_ACT_HARDSIGMOID,
    CR_ACT_HARDSWISH,
    CR_ACT_CLAMP,     /* lowest, highest */
    CR_ACT_THRESHOLD, /* at, value: x where x > at, else value */
    CR_ACT_SHRINK,    /* limit, by: 0 where |x| <= limit, else x moved towards zero by `by` */
    CR_ACT_TANHSHRINK,
} cr_act;
/* p may be NULL for a function that reads none. */
cr_node *cr_activation(cr_graph *g, cr_act act, const float p[3], cr_node *x);
/* rrelu: x > 0 ? x : a x. In training a is drawn between lower and upper, as dropout's mask is;
 * else it is their mean. */
cr_node *cr_rrelu(cr_graph *g, cr_node *x, float lower, float upper);
/* prelu: x > 0 ? x : a x, where a is one number (1, 1) or one per channel (1, w). */
cr_node *cr_prelu(cr_graph *g, cr_node *x, cr_node *a);
/* dice: p = sigmoid(xn); y = alpha (1 - p) x + p x; xn is x after batch norm, alpha (1, w). */
cr_node *cr_dice(cr_graph *g, cr_node *x, cr_node *xn, cr_node *alpha);
/* cr_softmax: softmax of scale * x over the row. cr_log_softmax: the logarithm of the softmax of
 * x. */
cr_node *cr_softmax(cr_graph *g, cr_node *x, float scale);
cr_node *cr_log_softmax(cr_graph *g, cr_node *x);

/* norm.c, batch norm: gamma and beta may both be NULL; mean, var and count are buffers (1,w) (1,w)
 * (1,1); relu: a ReLU follows in the same pass. A row that is wider than these is w planes of
 * numbers that share them. */
cr_node *cr_batch_norm(cr_graph *g, cr_node *x, cr_node *gamma, cr_node *beta, cr_node *mean,
                       cr_node *var, cr_node *count, float eps, float momentum, bool relu);
/* Layer norm over the row; where the row is several times as wide as gamma, over each part of that
 * width. */
cr_node *cr_layer_norm(cr_graph *g, cr_node *x, cr_node *gamma, cr_node *beta, float eps);

/* dropout.c: active in training only; the mask is a function of (seed, step, this node, row,
 * column). */
cr_node *cr_dropout(cr_graph *g, cr_node *x, float p);

/* variational.c: cr_drop_gate gives the share of each of F features that is kept, from theta (F);
 * in training it is drawn anew for each row. */
cr_node *cr_drop_gate(cr_graph *g, cr_node *theta, const char *group);
/* x, which is features of these widths side by side, with each feature multiplied by its gate. */
cr_node *cr_drop_fields(cr_graph *g, cr_node *x, cr_node *gate, const int64_t *widths);
/* In each row lambda / B times the sum of the shares that are kept on average. */
cr_node *cr_drop_penalty(cr_graph *g, cr_node *theta, double lambda);

/* shape.c */
cr_node *cr_concat(cr_graph *g, cr_node *const *x, int n); /* one input: returned as it is */
cr_node *cr_slice(cr_graph *g, cr_node *x, int64_t from, int64_t width);
/* x with zeros behind it, up to the width. */
cr_node *cr_pad(cr_graph *g, cr_node *x, int64_t width);
/* cr_slice_of returns the node that a slice is cut from, and its first column; any other node is
 * all of itself. */
cr_node *cr_slice_of(cr_node *n, int64_t *from);
/* y = sum_i c_i x_i; the inputs have the same width, or width 1 (added to every column). */
cr_node *cr_add(cr_graph *g, cr_node *const *x, const float *c, int n);
cr_node *cr_row_sum(cr_graph *g, cr_node *x);

/* members.c: one logit (or value) from those of K members, z (K). cr_ensemble_of returns z of such
 * a node, NULL of any other: losses are those of the members. */
cr_node *cr_ensemble_mean(cr_graph *g, cr_node *z, bool values);
cr_node *cr_ensemble_of(cr_node *n);

/* product.c: x * y. y has the width of x, or is F numbers for F vectors of one width side by side
 * (1: for the whole row), or is a parameter (1, w). cr_bias: x + b, with b (1, w). */
cr_node *cr_mul(cr_graph *g, cr_node *x, cr_node *y);
cr_node *cr_bias(cr_graph *g, cr_node *x, cr_node *b);
/* A cross layer: x0 * u + b + x; u has the same width or width 1; b is (1, w) or NULL. */
cr_node *cr_cross(cr_graph *g, cr_node *x0, cr_node *u, cr_node *x, cr_node *b);
/* x (1) -> x, x^2, sqrt(max(x, 0)) */
cr_node *cr_powers(cr_graph *g, cr_node *x);
/* number.c: encodings of one number x (1). cr_piecewise: n ascending points -> n - 1 numbers, how
 * far x has come from each point to the next, between 0 and 1. cr_periodic: c (1, k) -> sin(2 pi
 * c_i x), then cos(2 pi c_i x). */
cr_node *cr_piecewise(cr_graph *g, cr_node *x, const double *points, int64_t n);
cr_node *cr_periodic(cr_graph *g, cr_node *x, cr_node *c);
/* product.c: 1 where x is among the k largest of the row, else 0; passes no gradient. */
cr_node *cr_top(cr_graph *g, cr_node *x, int64_t k);

/* field.c: a row is taken as a matrix (n, m). */
cr_node *cr_transpose(cr_graph *g, cr_node *x, int64_t n, int64_t m); /* -> (m, n) */
cr_node *cr_field_sum(cr_graph *g, cr_node *x, int64_t n, int64_t m); /* -> m */
/* x (n, k) times y (k, m) -> (n, m) */
cr_node *cr_bmm(cr_graph *g, cr_node *x, cr_node *y, int64_t n, int64_t k, int64_t m);

/* cin.c: x (D, H), x0 (D, F), W (N, H F), b (1, N) -> (D, N): W outer(x[d], x0[d]) + b for each d
 */
cr_node *cr_cin(cr_graph *g, cr_node *x, cr_node *x0, cr_node *W, cr_node *b, int64_t D, int64_t H,
                int64_t F);
/* attention.c: q, k, v (F, H d) -> (F, H d); softmax of scale * q k^T per head */
cr_node *cr_attention(cr_graph *g, cr_node *q, cr_node *k, cr_node *v, int64_t F, int64_t H,
                      int64_t d, float scale);
/* ffm.c: x (F, F, D), where [i, j] is what field i shows to field j -> 1: sum over i < j of x_ij .
 * x_ji */
cr_node *cr_ffm(cr_graph *g, cr_node *x, int64_t F, int64_t D);
/* ffm_mul.c: the same without the sum: x_ij * x_ji for all i < j -> (F (F-1) / 2, D) */
cr_node *cr_ffm_mul(cr_graph *g, cr_node *x, int64_t F, int64_t D);

/* group.c: a row is G groups of n vectors of D. Each vector with k - 1 others of its group side by
 * side, the first of the k `first` away -> (G n, k D). */
cr_node *cr_group_near(cr_graph *g, cr_node *x, int64_t n, int64_t D, int64_t first, int64_t k);
/* The sums of the vectors, weighted by the softmax of their scores s (G n, H) over the group ->
 * (G, D); each of H heads has its columns. Vectors whose mask (G n) is 0 are left out; NULL: none
 * is. */
cr_node *cr_group_pool(cr_graph *g, cr_node *s, cr_node *x, cr_node *mask, int64_t n, int64_t H,
                       int64_t D);
/* x (G, D) -> (G n, D): the vector of each group n times. */
cr_node *cr_group_spread(cr_graph *g, cr_node *x, int64_t n, int64_t D);

/* group_attend.c: n queries q (H d) of each group read m values v (H dv) of a group with keys k (H
 * d): the sum of the values, weighted by the softmax over the group of scale * q . k, or by these
 * scores themselves, in H heads -> (G n, H dv). b (1) of a key is added to its scores; NULL: none.
 * A row with one group of queries, or one of keys, has it for all groups of the others. */
typedef struct cr_group_attend_opts {
    int64_t n, m, heads, width; /* width: H d */
    float scale;
    bool softmax;
} cr_group_attend_opts;
cr_node *cr_group_attend(cr_graph *g, cr_node *q, cr_node *k, cr_node *v, cr_node *b,
                         const cr_group_attend_opts *o);

/* interact.c: x is F vectors of D; fm takes those that begin with column `from` */
cr_node *cr_fm(cr_graph *g, cr_node *x, int64_t from, int64_t F, int64_t D); /* -> D */
cr_node *cr_pairs(cr_graph *g, cr_node *x, int64_t F, int64_t D);            /* -> F (F-1) / 2 */

/* pair_mul.c: u_i * v_j for all i < j, with `self` also for i = j, of u and v (F, D) -> (P, D); P
 * is F (F-1) / 2 or F (F+1) / 2 */
cr_node *cr_pair_mul(cr_graph *g, cr_node *u, cr_node *v, int64_t F, int64_t D, bool self);
/* pair_mean.c: in the same order of pairs, m (P, D) and its gates s (P) -> (F, D): for each field
 * the mean of s_p m_p over the pairs with s_p > 0 that the field is in, or, without `both`, is the
 * second of. A field without such a pair has zeros. */
cr_node *cr_pair_mean(cr_graph *g, cr_node *m, cr_node *s, int64_t F, bool self, bool both);
/* hard_concrete.c: gates between 0 and 1 that are 0 or 1 in many rows (Louizos et al., 2018). name
 * tells its random numbers apart from those of other gates. */
typedef struct cr_gate_opts {
    double temperature;
    double low, high; /* what a gate reaches before it is cut: below 0, above 1 */
    bool noise;       /* in training it is drawn; else it is a function of x alone */
    bool binary_log;  /* logarithms of base 2 in place of natural ones */
} cr_gate_opts;
cr_node *cr_hard_concrete(cr_graph *g, cr_node *x, const cr_gate_opts *o, const char *name);
/* scale times the sum over a row of the probabilities that its gates are not 0 -> 1 */
cr_node *cr_gates_open(cr_graph *g, cr_node *x, const cr_gate_opts *o, double scale);

/* leave_out.c: x (n), but a score that is never chosen at the numbers k (1) of the row's positions;
 * in training x itself. */
cr_node *cr_leave_out(cr_graph *g, cr_node *x, cr_node *k);

/* selectors.c: the gate of DSelect-k, over n experts: g (n), the entropy of its k selectors, and a
 * penalty for digits that no expert has -> (n + 2). z (k digits) and w (k) are parameters or rows,
 * gamma is the width of the steps. */
int64_t cr_selector_digits(int64_t n);
cr_node *cr_selectors(cr_graph *g, cr_node *z, cr_node *w, int64_t n, int64_t k, float gamma);
/* mix.c: sum over i of gate_i x_i; gate (n). */
cr_node *cr_mix(cr_graph *g, cr_node *gate, cr_node *const *x, int n);
/* x_k, where k (1) is a number in the row. */
cr_node *cr_pick(cr_graph *g, cr_node *k, cr_node *const *x, int n);
/* x, which passes no gradient back. */
cr_node *cr_detach(cr_graph *g, cr_node *x);
/* The logit of sigmoid(a) sigmoid(b). */
cr_node *cr_both(cr_graph *g, cr_node *a, cr_node *b);
/* norms.c: sqrt(sum_f (W_nf x_f)^2), for the rows n of W. */
cr_node *cr_norms(cr_graph *g, cr_node *x, cr_node *W);
/* The cosine of x and y -> 1. */
cr_node *cr_cosine(cr_graph *g, cr_node *x, cr_node *y);
/* In training only: rows whose weighted mean is the square root of the weighted sum of x (1);
 * weight is as in cr_mean_loss. */
cr_node *cr_root(cr_graph *g, cr_node *x, int weight);

/* seq.c: between rows and their sequences (SEQ nodes). A sum over no positions is 0. cr_seq_spread:
 * the row's x at each of its positions. */
cr_node *cr_seq_spread(cr_graph *g, cr_node *x, int axis);
/* The sum, or mean, of a row's positions. */
cr_node *cr_seq_pool(cr_graph *g, cr_node *s, bool mean);
/* Softmax of scale * x over a row's positions, per column. */
cr_node *cr_seq_softmax(cr_graph *g, cr_node *x, float scale);
/* The same over all but a row's last `leave` positions, whose share is 0. */
cr_node *cr_seq_softmax_but(cr_graph *g, cr_node *x, float scale, int64_t leave);
/* The sum over a row's positions of a (1) times s. */
cr_node *cr_seq_weigh(cr_graph *g, cr_node *a, cr_node *s);
/* The same sum for each of m windows of len[i] positions, which follow one another from the start,
 * divided by the number of positions that the row has in the window -> (m w). Positions behind the
 * last window do not count. */
cr_node *cr_seq_windows(cr_graph *g, cr_node *a, cr_node *s, const int64_t *len, int m);
/* seq_attention.c: self-attention of H heads over a row's positions. A is the softmax of scale *
 * q_i . k_j, of which a share p is dropped in training. For s (C) the op gives per head [sum_ij
 * A_ij s_j; sum_ij A_ij], and behind them the number of positions, all divided by the row's
 * positions on the axis `all` -> (H (C + 1) + 1); cr_fold_heads makes the weight that turns this
 * into the attention's output. */
cr_node *cr_seq_attention(cr_graph *g, cr_node *q, cr_node *k, cr_node *s, int64_t H, float scale,
                          float p, int all);
/* seq_attend.c: attention of H heads to a row's positions: for each query q (a position of the same
 * row, or the row itself) the sum of v, weighted by the softmax of scale * q . k; a share p of the
 * weights is dropped in training. k0 and v0 are one more key and value, of the row; NULL: none. */
cr_node *cr_seq_attend(cr_graph *g, cr_node *q, cr_node *k, cr_node *v, cr_node *k0, cr_node *v0,
                       int64_t H, float scale, float p);
/* The same among positions that follow each other with the same number runs (1). */
cr_node *cr_seq_attend_runs(cr_graph *g, cr_node *q, cr_node *k, cr_node *v, cr_node *runs,
                            int64_t H, float scale, float p);
/* seq_shape.c: the last position of a row, or the largest value in each column. */
cr_node *cr_seq_end(cr_graph *g, cr_node *s, bool largest);
/* The first positions of a row side by side, with zeros behind them -> (steps w). */
cr_node *cr_seq_row(cr_graph *g, cr_node *s, int64_t steps);
/* Each position with n neighbours side by side, the first of them `first` away -> (n w). */
cr_node *cr_seq_near(cr_graph *g, cr_node *s, int64_t first, int64_t n);
/* The loss -log sigmoid(h_t . e_t+1) - log(1 - sigmoid(h_t . other_t+1)), summed over a row's
 * positions but the last -> 1. */
cr_node *cr_seq_next(cr_graph *g, cr_node *h, cr_node *e, cr_node *other);
/* gru.c: a gated recurrent unit over a row's positions. x (3H) is what its gates get from the
 * inputs, U (3H, H) and b (1, 3H) are their weights of the state; att (1) is the attention of a
 * position, NULL for CR_GRU_PLAIN. */
typedef enum cr_gru_kind {
    CR_GRU_PLAIN,
    CR_GRU_AUGRU, /* the attention scales the update */
    CR_GRU_AGRU,  /* the attention is the update */
} cr_gru_kind;
cr_node *cr_gru(cr_graph *g, cr_node *x, cr_node *U, cr_node *b, cr_node *att, cr_gru_kind kind,
                bool reset_before);
/* The plain form with a row `start` (H) as the state before the first position (NULL: 0), from the
 * last position to the first when it is in reverse. */
cr_node *cr_gru_from(cr_graph *g, cr_node *x, cr_node *U, cr_node *b, cr_node *start, bool reverse,
                     bool reset_before);
/* lstm.c: long short-term memory over a row's positions. x (4H) is what its gates get from the
 * inputs, U (4H, H) and b (1, 4H) are their weights of the state. Gives [h; c] (2H) of each. */
cr_node *cr_lstm(cr_graph *g, cr_node *x, cr_node *U, cr_node *b, bool reverse);
/* capsules.c: a row's positions low (D) as K vectors by dynamic routing -> (K D); b (K, most) are
 * the first routing logits, and positions behind `most` are not read. */
cr_node *cr_capsules(cr_graph *g, cr_node *low, cr_node *b, int64_t rounds, bool over_steps);
/* by_number.c: at each position of the numbers k (1) the step of s that it names, from 0; a number
 * without a step gives zeros. */
cr_node *cr_seq_take(cr_graph *g, cr_node *s, cr_node *k);
/* At each position of the numbers k (1) the mean of the steps of s whose number of (1) is the same;
 * zeros: there are none. */
cr_node *cr_seq_mean_by(cr_graph *g, cr_node *s, cr_node *of, cr_node *k);
/* The columns of x that the row's numbers c (1) name; all others are `others`. A row without
 * numbers keeps all. */
cr_node *cr_among(cr_graph *g, cr_node *x, cr_node *c, float others);
/* scatter.c: columns that hold the values of the positions of s (2: a number and a value); the
 * input of a step that is fed with outputs. */
cr_node *cr_scatter(cr_graph *g, cr_node *s, int64_t columns);
/* The mean of (x - y)^2 over the columns whose y is not 0; y takes no gradient. */
cr_node *cr_masked_error(cr_graph *g, cr_node *x, cr_node *y);
/* seq_members.c: at each position of the node `to` the sum of its members s, weighted by the
 * softmax of their scores a (1); k (1) is the number of the position that a member belongs to, from
 * 0. */
cr_node *cr_seq_members(cr_graph *g, cr_node *a, cr_node *s, cr_node *k, cr_node *to);
/* vectors.c: vectors side by side, number by number: (F D) -> (D F). cr_there: a 1 for each vector
 * that is not all zeros, else a 0; no gradient passes. */
cr_node *cr_turn(cr_graph *g, cr_node *x, int64_t vectors);
cr_node *cr_there(cr_graph *g, cr_node *x, int64_t vectors);
/* For examples: whole numbers below m at the positions of an axis, without a gradient. */
cr_node *cr_example_numbers(cr_graph *g, int axis, int64_t m);
/* session_graph.c: row number k (1) of W; a number without a row gives zeros. */
cr_node *cr_gather_rows(cr_graph *g, cr_node *W, cr_node *k);
/* Positions with the same number k (1) are one node, and consecutive positions an edge: x = [a; b]
 * -> [mean of a over the nodes before; mean of b over the nodes behind]. */
cr_node *cr_graph_mix(cr_graph *g, cr_node *x, cr_node *k);
/* conv.c: a row as c pictures of (h, w). W (N, c kh kw), b (1, N); same: zeros around the picture
 * keep its size. *out is the picture of the result. */
typedef struct cr_picture {
    int64_t c, h, w;
} cr_picture;
cr_node *cr_conv(cr_graph *g, cr_node *x, cr_node *W, cr_node *b, const cr_picture *in, int64_t kh,
                 int64_t kw, bool same, cr_picture *out);
/* The largest number of each window of (ph, pw), which do not overlap. */
cr_node *cr_max_pool(cr_graph *g, cr_node *x, const cr_picture *in, int64_t ph, int64_t pw,
                     cr_picture *out);
/* din.c: W [q; k; q - k; q * k] + b at each position, where q (C) belongs to the row and k (C) to
 * the position. W (N, 4 C) has no other user; b may be NULL; relu: a ReLU is fused into it. */
cr_node *cr_din(cr_graph *g, cr_node *q, cr_node *k, cr_node *W, cr_node *b, bool relu);
/* din_parts.c: the same with products of so many BF16 parts; cr_din uses it in such graphs. */
cr_node *cr_din_parts(cr_graph *g, cr_node *q, cr_node *k, cr_node *W, cr_node *b, bool relu,
                      int parts);

/* loss.c: one loss per row; y (1) is the label and gets no gradient. */
cr_node *cr_bce(cr_graph *g, cr_node *logit, cr_node *y, float smoothing);
/* Rows, or positions of one sequence with a label each. */
cr_node *cr_softmax_ce(cr_graph *g, cr_node *logits, cr_node *y, float smoothing);
cr_node *cr_l2(cr_graph *g, cr_node *pred, cr_node *y);
/* loss_prob.c: of a probability; and l, the loss of an event that is seen where another one
 * happened, weighed by the logit of that one, whose gradient is not passed. imputed: what the loss
 * is taken to be elsewhere; NULL: 0. */
cr_node *cr_log_loss(cr_graph *g, cr_node *p, cr_node *y, float eps);
cr_node *cr_counterfact(cr_graph *g, cr_node *l, cr_node *first, cr_node *happened,
                        cr_node *imputed, float limit);
/* loss_classes.c: the right class must lead each other one, or only the best of them, by m. */
cr_node *cr_margin(cr_graph *g, cr_node *logits, cr_node *y, float m, bool hardest);
/* A binary cross entropy per class, added up. */
cr_node *cr_each_class(cr_graph *g, cr_node *logits, cr_node *y);
/* loss_focal.c */
cr_node *cr_focal(cr_graph *g, cr_node *logit, cr_node *y, float gamma, float alpha);
/* scale * sum of x^2 over the columns in v. */
cr_node *cr_squares(cr_graph *g, cr_node *x, const cr_range *v, int n, float scale);
/* Where a loss that compares rows finds the session of a row. */
typedef struct cr_session {
    /* the sparse feature whose first id is the session; -1: all rows are one session */
    int slot;
    int64_t missing;    /* the session of rows without an id */
    const int64_t *ids; /* for examples: the sessions themselves; NULL: they come from the batch */
    cr_node *condition; /* another label of the row (cr_loss_type.condition); NULL: none */
} cr_session;
/* loss_session.c, loss_pairwise.c, loss_listwise.c: losses that compare the rows of one session. */
cr_node *cr_jrc(cr_graph *g, cr_node *logits, cr_node *y, const cr_session *s, float alpha);
typedef struct cr_pairwise_opts {
    bool hinge; /* hinge loss; else logistic */
    double margin;
    int64_t max_negatives; /* per positive; where there are more, this many are drawn */
    /* row i of the first half of the batch is compared with row i of the second half; labels and
     * sessions are not read */
    bool halves;
} cr_pairwise_opts;
cr_node *cr_pairwise(cr_graph *g, cr_node *logit, cr_node *y, const cr_session *s,
                     const cr_pairwise_opts *o);
cr_node *cr_listwise(cr_graph *g, cr_node *logit, cr_node *y, const cr_session *s);
/* WHOLE: the sum over the batch of scale_i x_i, with the scale that input.h gives for row weight
 * `weight` (-1: 1/n). The node is marked as a loss. */
cr_node *cr_mean_loss(cr_graph *g, cr_node *x, int weight);

/* flops.c: cr_graph_flops returns the operations of a graph per row of the batch: the multiply-adds
 * of its products forward and, when training, backward where gradients go. Axis i has steps[i]
 * positions per row. */
double cr_graph_flops(const cr_graph *g, const double *steps, bool train);
/* cr_node_flops returns those of one node forward, for one of its rows or positions; 0: it is no
 * product. */
double cr_node_flops(const cr_node *n);

#endif
