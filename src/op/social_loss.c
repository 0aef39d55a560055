/*
 * social_loss.c - the loss of MHCN (social.h): rows compare an item that a user has with a drawn
 * one, and all users learn to tell their own neighbourhood from that of others.
 *
 * The contrast of a channel H, for e = Z * sigmoid(Z W + b) and h = H e: with a shuffle p of the
 * users and h' = h with its users and its columns shuffled, the sum over users r of
 *     -log sigmoid(e_r . h_r - e_p(r) . h_r) - log sigmoid(e_p(r) . h_r - e_r . h'_r)
 *     -log sigmoid(h_r . m - h''_r . m),
 * where m is the mean of h, and h'' another shuffle of it. Shuffles are a function of the seed and
 * the step. The lane that has row 0 of the batch computes it, at that row; a mean over the n rows
 * of the batch follows, so what stands in rows is n times as much.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"
#include "op/social.h"

enum { IN_Z, IN_W, IN_B, IN_X };

typedef struct contrast {
    const cr_social *s;
    float weight;
    uint64_t key;
} contrast;

/* ---- one channel ---- */

/* Shuffles of users and of columns. */
enum { OTHER, USERS, COLUMNS, USERS2, COLUMNS2, N_SHUFFLES };

typedef struct channel {
    float *gate, *e, *h, *de, *dh, *temp; /* (users, D) */
    float *mean, *dmean, *row;            /* (D) */
    int32_t *shuffle[N_SHUFFLES];
    float *more;
} channel;

/* Cuts the scratch memory; returns how many floats it takes. */
static int64_t cut(channel *p, float *at, int64_t users, int64_t D) {
    float *shuffled[N_SHUFFLES];
    struct {
        float **to;
        int64_t n;
    } parts[] = {{&p->gate, users * D},
                 {&p->e, users * D},
                 {&p->h, users * D},
                 {&p->de, users * D},
                 {&p->dh, users * D},
                 {&p->temp, users * D},
                 {&p->mean, D},
                 {&p->dmean, D},
                 {&p->row, D},
                 {&shuffled[OTHER], users},
                 {&shuffled[USERS], users},
                 {&shuffled[COLUMNS], D},
                 {&shuffled[USERS2], users},
                 {&shuffled[COLUMNS2], D},
                 {&p->more, 0}};
    int64_t n = 0;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        if (at) *parts[k].to = at + n;
        n += (parts[k].n + 15) / 16 * 16;
    }
    for (int k = 0; at && k < N_SHUFFLES; k++)
        p->shuffle[k] = (int32_t *)(void *)shuffled[k];
    return n;
}

static void shuffle(int32_t *v, int64_t n, uint64_t key) {
    for (int64_t i = 0; i < n; i++)
        v[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)cr_rng_below(key, (uint64_t)i, (uint64_t)i + 1);
        int32_t x = v[i];
        v[i] = v[k];
        v[k] = x;
    }
}

/* Fills gate, e, h, mean and the shuffles of channel c. */
static void begin(const cr_node *n, const cr_tile *t, const channel *p, int c) {
    const contrast *a = n->attr;
    int64_t D = n->in[IN_Z]->cols, users = a->s->users;
    uint64_t key = cr_rng_sub(cr_rng_sub(a->key, (uint64_t)cr_tile_step(t)), (uint64_t)c);
    for (int k = 0; k < N_SHUFFLES; k++)
        shuffle(p->shuffle[k], k == COLUMNS || k == COLUMNS2 ? D : users,
                cr_rng_sub(key, (uint64_t)k));
    cr_gate(p->e, p->gate, n->in[IN_Z]->w, users, D, n->in[IN_W]->w + c * D * D,
            n->in[IN_B]->w + c * D, p->more);
    cr_sparse_apply(p->h, &a->s->channel[c], p->e, D, false);
    memset(p->mean, 0, (size_t)D * sizeof(float));
    for (int64_t r = 0; r < users; r++)
        cr_kern->axpy(p->mean, 1 / (float)users, p->h + r * D, D);
}

/* The row of h that two shuffles put at place r; it is in p->row. */
static const float *shuffled(const channel *p, int by, int64_t r, int64_t D) {
    const float *from = p->h + p->shuffle[by][r] * D;
    for (int64_t j = 0; j < D; j++)
        p->row[j] = from[p->shuffle[by + 1][j]];
    return p->row;
}

/* Adds f x to the gradient of that row. */
static void shuffled_back(const channel *p, int by, int64_t r, float f, const float *x, int64_t D) {
    float *to = p->dh + p->shuffle[by][r] * D;
    for (int64_t j = 0; j < D; j++)
        to[p->shuffle[by + 1][j]] += f * x[j];
}

static float sigmoid(float x) {
    return 1 / (1 + expf(-x));
}

/* -log sigmoid(x) */
static double cost(float x) {
    double z = -(double)x;
    return z > 0 ? z + log1p(exp(-z)) : log1p(exp(z));
}

static double forward_channel(const channel *p, int64_t users, int64_t D) {
    double sum = 0;
    for (int64_t r = 0; r < users; r++) {
        const float *e = p->e + r * D, *h = p->h + r * D;
        float own = cr_kern->dot(e, h, D);
        float other = cr_kern->dot(p->e + p->shuffle[OTHER][r] * D, h, D);
        float worst = cr_kern->dot(shuffled(p, USERS, r, D), e, D);
        float near = cr_kern->dot(h, p->mean, D);
        float far = cr_kern->dot(shuffled(p, USERS2, r, D), p->mean, D);
        sum += cost(own - other) + cost(other - worst) + cost(near - far);
    }
    return sum;
}

/* Fills de and dh for a slope of the sum. */
static void backward_channel(const channel *p, const cr_sparse *turned, int64_t users, int64_t D,
                             float slope) {
    memset(p->de, 0, (size_t)(users * D) * sizeof(float));
    memset(p->dh, 0, (size_t)(users * D) * sizeof(float));
    memset(p->dmean, 0, (size_t)D * sizeof(float));
    for (int64_t r = 0; r < users; r++) {
        const float *e = p->e + r * D, *h = p->h + r * D;
        int64_t o = p->shuffle[OTHER][r];
        float own = cr_kern->dot(e, h, D), other = cr_kern->dot(p->e + o * D, h, D);
        const float *row = shuffled(p, USERS, r, D);
        float worst = cr_kern->dot(row, e, D);
        float a = -slope * sigmoid(other - own), b = slope * sigmoid(worst - other);
        cr_kern->axpy(p->de + r * D, a, h, D);
        cr_kern->axpy(p->dh + r * D, a, e, D);
        cr_kern->axpy(p->de + o * D, -a - b, h, D);
        cr_kern->axpy(p->dh + r * D, -a - b, p->e + o * D, D);
        cr_kern->axpy(p->de + r * D, b, row, D);
        shuffled_back(p, USERS, r, b, e, D);
        row = shuffled(p, USERS2, r, D);
        float c = slope * sigmoid(cr_kern->dot(row, p->mean, D) - cr_kern->dot(h, p->mean, D));
        cr_kern->axpy(p->dmean, c, row, D);
        shuffled_back(p, USERS2, r, c, p->mean, D);
        cr_kern->axpy(p->dmean, -c, h, D);
        cr_kern->axpy(p->dh + r * D, -c, p->mean, D);
    }
    for (int64_t r = 0; r < users; r++)
        cr_kern->axpy(p->dh + r * D, 1 / (float)users, p->dmean, D);
    cr_sparse_apply(p->de, turned, p->dh, D, true);
}

/* ---- social_loss: Z (users + items, D), W (3 D, D), b (3, D), x (1) ---- */

static void loss_infer(cr_node *n) {
    const contrast *a = n->attr;
    int64_t D = n->in[IN_Z]->cols;
    if (n->in[IN_Z]->cls != CR_PARAM || n->in[IN_Z]->rows < a->s->users ||
        n->in[IN_W]->width != CR_SOCIAL_CHANNELS * D * D ||
        n->in[IN_B]->width != CR_SOCIAL_CHANNELS * D || n->in[IN_X]->cls != CR_ROW ||
        n->in[IN_X]->width != 1)
        CR_BUG("social_loss: shapes");
    n->cls = CR_ROW;
    n->width = 1;
    channel none;
    n->scratch = cut(&none, NULL, a->s->users, D) + cr_gate_scratch(a->s->users, D);
}

static void loss_forward(const cr_node *n, cr_tile *t) {
    const contrast *a = n->attr;
    const cr_node *x = n->in[IN_X];
    float rows = t->train ? (float)cr_global_rows(t, n) : 1;
    for (int64_t r = 0; r < t->n_rows; r++)
        cr_val(t, n)[r * cr_ld(n)] = rows * cr_val(t, x)[r * cr_ld(x)];
    if (!t->train || t->n_rows == 0 || cr_global_row(t) != 0) return;
    channel p;
    double sum = 0;
    (void)cut(&p, t->scratch, a->s->users, n->in[IN_Z]->cols);
    for (int c = 0; c < CR_SOCIAL_CHANNELS; c++) {
        begin(n, t, &p, c);
        sum += forward_channel(&p, a->s->users, n->in[IN_Z]->cols);
    }
    cr_val(t, n)[0] += (float)((double)(rows * a->weight) * sum);
}

static void loss_backward(const cr_node *n, cr_tile *t) {
    const contrast *a = n->attr;
    const cr_node *x = n->in[IN_X];
    int64_t D = n->in[IN_Z]->cols, users = a->s->users;
    float rows = (float)cr_global_rows(t, n);
    /* each of these clears its sum at the first call */
    float *dZ = cr_param_sum(t, n, IN_Z), *dW = cr_param_sum(t, n, IN_W);
    float *db = cr_param_sum(t, n, IN_B);
    bool first = cr_first_grad(t, n, IN_X);
    for (int64_t r = 0; cr_wants_grad(t, n, IN_X) && r < t->n_rows; r++) {
        float *dx = cr_grad(t, x) + r * cr_ld(x), d = rows * cr_grad(t, n)[r * cr_ld(n)];
        *dx = first ? d : *dx + d;
    }
    if (t->n_rows == 0 || cr_global_row(t) != 0) return;
    channel p;
    (void)cut(&p, t->scratch, users, D);
    for (int c = 0; c < CR_SOCIAL_CHANNELS; c++) {
        begin(n, t, &p, c);
        backward_channel(&p, &a->s->turned[c], users, D, rows * a->weight * cr_grad(t, n)[0]);
        cr_gate_back(p.de, p.gate, n->in[IN_Z]->w, users, D, n->in[IN_W]->w + c * D * D, dZ,
                     dW ? dW + c * D * D : NULL, db ? db + c * D : NULL, p.temp, p.more);
    }
}

static cr_node *loss_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    const cr_social *s = cr_social_example(g);
    int64_t D = k ? 17 : 3;
    /* larger vectors: slopes would drown in the rounding of a sum over all users */
    cr_node *A = cr_graph_param(g, "A", s->users + s->items, 24, true, NULL, 0);
    cr_node *B = cr_graph_param(g, "B", 24, D, true, NULL, 0);
    cr_node *Z = cr_fold_product(g, A, 0, A->rows, B);
    cr_node *W = cr_graph_param(g, "W", CR_SOCIAL_CHANNELS * D, D, true, NULL, 0);
    cr_node *b = cr_graph_param(g, "b", CR_SOCIAL_CHANNELS, D, true, NULL, 0);
    return cr_social_loss(g, Z, W, b, cr_feed(g, 1), s, 0.3);
}

const cr_op_type cr_op_social_loss = {.name = "social_loss",
                                      .infer = loss_infer,
                                      .forward = loss_forward,
                                      .backward = loss_backward,
                                      .example = loss_example};

cr_node *cr_social_loss(cr_graph *g, cr_node *Z, cr_node *W, cr_node *b, cr_node *x,
                        const cr_social *s, double weight) {
    contrast a = {s, (float)weight, cr_rng_key(g->seed, "social_loss", NULL)};
    return cr_graph_op(g, &cr_op_social_loss, (cr_node *[]){Z, W, b, x}, 4, &a, sizeof(a));
}

/* ---- social_draw: user (1), item (1) -> 3 ---- */

typedef struct drawn {
    const cr_social *s;
    uint64_t key;
} drawn;

static void draw_infer(cr_node *n) {
    for (int i = 0; i < 2; i++)
        if (n->in[i]->cls != CR_ROW || n->in[i]->width != 1) CR_BUG("social_draw: not numbers");
    n->cls = CR_ROW;
    n->width = 3;
}

/* A whole number below n, or -1. */
static int64_t number(float x, int64_t n) {
    return x >= 0 && x < (float)n ? (int64_t)x : -1;
}

/* The item with number k among those that the user does not have. */
static int64_t missing(const cr_sparse *rated, int64_t user, int64_t k) {
    for (int64_t i = rated->off[user]; i < rated->off[user + 1] && rated->col[i] <= k; i++)
        k++;
    return k;
}

static void draw_forward(const cr_node *n, cr_tile *t) {
    const drawn *a = n->attr;
    const cr_social *s = a->s;
    uint64_t key = cr_rng_sub(a->key, t->train ? (uint64_t)cr_tile_step(t) : 0);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        int64_t user = number(cr_val(t, n->in[0])[r * cr_ld(n->in[0])], s->users);
        int64_t item = number(cr_val(t, n->in[1])[r * cr_ld(n->in[1])], s->items);
        int64_t free = user < 0 ? 0 : s->items - (s->rated.off[user + 1] - s->rated.off[user]);
        uint64_t row = (uint64_t)(cr_global_row(t) + r);
        y[0] = (float)user;
        y[1] = item < 0 ? -1 : (float)(s->users + item);
        y[2] = -1;
        if (free > 0)
            y[2] = (float)(s->users + missing(&s->rated, user,
                                              (int64_t)cr_rng_below(key, row, (uint64_t)free)));
    }
}

const cr_op_type cr_op_social_draw = {.name = "social_draw",
                                      .infer = draw_infer,
                                      .forward = draw_forward};

cr_node *cr_social_draw(cr_graph *g, cr_node *user, cr_node *item, const cr_social *s) {
    drawn a = {s, cr_rng_key(g->seed, "social_draw", NULL)};
    return cr_graph_op(g, &cr_op_social_draw, (cr_node *[]){user, item}, 2, &a, sizeof(a));
}
