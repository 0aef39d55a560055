/*
 * seq_members.c - at each position of one sequence the positions of another that belong to it, such
 * as the friends in each of a row's packages: y_p = sum_j a_j s_j over the members j whose number
 * k_j is p, where a is the softmax of their scores over these. Numbers count the positions of the
 * row, from 0. A position without members gets zeros, and a member without a position counts
 * nowhere. Sums run in the order of the members.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

/* scores (1), members (w) and numbers (1) of one axis; to: any node of the other */
enum { IN_A, IN_S, IN_K, IN_TO };

static void infer(cr_node *n) {
    const cr_node *a = n->in[IN_A], *s = n->in[IN_S], *k = n->in[IN_K], *to = n->in[IN_TO];
    if (a->cls != CR_SEQ || s->cls != CR_SEQ || k->cls != CR_SEQ || to->cls != CR_SEQ ||
        a->axis != s->axis || a->axis != k->axis || a->width != 1 || k->width != 1)
        CR_BUG("seq_members: not scores, members and numbers of one sequence");
    n->cls = CR_SEQ;
    n->axis = to->axis;
    n->width = s->width;
}

/* The members of row r are [from, end) of the tile's positions, the row's own positions are `len`
 * and begin with `at`. */
typedef struct here {
    const float *a, *k;
    int64_t lda, ldk, from, end, at, len;
} here;

static here here_of(const cr_node *n, const cr_tile *t, int64_t r) {
    const int32_t *so = cr_seq_off(t, n->in[IN_S]->axis), *to = cr_seq_off(t, n->axis);
    return (here){.a = cr_val(t, n->in[IN_A]),
                  .k = cr_val(t, n->in[IN_K]),
                  .lda = cr_ld(n->in[IN_A]),
                  .ldk = cr_ld(n->in[IN_K]),
                  .from = so[r] - so[0],
                  .end = so[r + 1] - so[0],
                  .at = to[r] - to[0],
                  .len = to[r + 1] - to[r]};
}

/* The position, from 0, that member j belongs to; -1: none. */
static int64_t place(const here *h, int64_t j) {
    float k = h->k[j * h->ldk];
    return k >= 0 && k < (float)h->len ? (int64_t)k : -1;
}

/* The largest score of position p, and the sum of the exponentials; 0: it has no members. */
static float total(const here *h, int64_t p, float *most) {
    float sum = 0;
    *most = -INFINITY;
    for (int64_t j = h->from; j < h->end; j++)
        if (place(h, j) == p) *most = fmaxf(*most, h->a[j * h->lda]);
    for (int64_t j = h->from; j < h->end; j++)
        if (place(h, j) == p) sum += expf(h->a[j * h->lda] - *most);
    return sum;
}

static void forward(const cr_node *n, cr_tile *t) {
    const cr_node *s = n->in[IN_S];
    for (int64_t r = 0; r < t->n_rows; r++) {
        here h = here_of(n, t, r);
        for (int64_t p = 0; p < h.len; p++) {
            float most, sum = total(&h, p, &most), *y = cr_val(t, n) + (h.at + p) * cr_ld(n);
            memset(y, 0, (size_t)n->width * sizeof(float));
            for (int64_t j = h.from; j < h.end; j++)
                if (place(&h, j) == p)
                    cr_kern->axpy(y, expf(h.a[j * h.lda] - most) / sum, cr_val(t, s) + j * cr_ld(s),
                                  n->width);
        }
    }
}

/* da_j = a_j (dy . s_j - dy . y), ds_j = a_j dy */
static void backward(const cr_node *n, cr_tile *t) {
    const cr_node *s = n->in[IN_S], *a = n->in[IN_A];
    float *ds = cr_wants_grad(t, n, IN_S) ? cr_grad(t, s) : NULL;
    float *da = cr_wants_grad(t, n, IN_A) ? cr_grad(t, a) : NULL;
    if (ds && cr_first_grad(t, n, IN_S))
        memset(ds, 0, (size_t)(cr_rows(t, s) * cr_ld(s)) * sizeof(float));
    if (da && cr_first_grad(t, n, IN_A))
        memset(da, 0, (size_t)(cr_rows(t, a) * cr_ld(a)) * sizeof(float));
    for (int i = IN_K; i <= IN_TO; i++) { /* nothing depends on their size */
        const cr_node *x = n->in[i];
        if (cr_wants_grad(t, n, i) && cr_first_grad(t, n, i))
            memset(cr_grad(t, x), 0, (size_t)(cr_rows(t, x) * cr_ld(x)) * sizeof(float));
    }
    for (int64_t r = 0; r < t->n_rows; r++) {
        here h = here_of(n, t, r);
        for (int64_t p = 0; p < h.len; p++) {
            float most, sum = total(&h, p, &most);
            const float *dy = cr_grad(t, n) + (h.at + p) * cr_ld(n);
            float mean = cr_kern->dot(dy, cr_val(t, n) + (h.at + p) * cr_ld(n), n->width);
            for (int64_t j = h.from; j < h.end; j++) {
                if (place(&h, j) != p) continue;
                float w = expf(h.a[j * h.lda] - most) / sum;
                if (ds) cr_kern->axpy(ds + j * cr_ld(s), w, dy, n->width);
                if (da)
                    da[j * cr_ld(a)] +=
                        w * (cr_kern->dot(dy, cr_val(t, s) + j * cr_ld(s), n->width) - mean);
            }
        }
    }
}

static cr_node *example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    int members = cr_graph_axis(g), things = cr_graph_axis(g);
    return cr_seq_members(g, cr_feed_seq(g, members, 1), cr_feed_seq(g, members, k ? 17 : 3),
                          cr_example_numbers(g, members, 3), cr_feed_seq(g, things, 2));
}

const cr_op_type cr_op_seq_members = {.name = "seq_members",
                                      .infer = infer,
                                      .forward = forward,
                                      .backward = backward,
                                      .example = example,
                                      .reads_in = true,
                                      .keep_val = true,
                                      .seq = true};

cr_node *cr_seq_members(cr_graph *g, cr_node *a, cr_node *s, cr_node *k, cr_node *to) {
    return cr_graph_op(g, &cr_op_seq_members, (cr_node *[]){a, s, k, to}, 4, NULL, 0);
}
