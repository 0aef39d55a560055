/*
 * attention.c - multi-head attention between the fields of a row, from queries, keys and values.
 *
 * q, k, v are F vectors of H heads of d side by side, (F, H d). Per head: A = softmax over j of
 * scale * q_i . k_j, y_i = sum over j of A_ij v_j. All four products of a head are matrix products
 * of one row; A is not kept but made again in backward, which is cheaper than writing F F H floats.
 */
#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

typedef struct att {
    int64_t F, H, d;
    float scale;
    /* offsets into the scratch: A (F, F), its gradient, the work space of gemm_tn; a packed side
     * comes first */
    int64_t a_off, g_off, tn_off;
} att;

static void infer(cr_node *n) {
    att *a = n->attr;
    for (int i = 0; i < 3; i++)
        if (n->in[i]->width != a->F * a->H * a->d) CR_BUG("attention: width is not F * H * d");
    n->cls = CR_ROW;
    n->width = n->in[0]->width;
    int64_t p = cr_gemm_pack_size(a->d, a->F), q = cr_gemm_pack_size(a->F, a->d);
    a->a_off = cr_up16(p > q ? p : q);
    a->g_off = a->a_off + cr_up16(a->F * a->F);
    a->tn_off = a->g_off + cr_up16(a->F * a->F);
    n->scratch = a->tn_off + cr_gemm_tn_scratch(a->F, a->d, a->F);
}

/* Computes A of one head into S. */
static void weights(const att *a, const float *q, const float *k, float *S, float *pack) {
    int64_t F = a->F, ld = a->H * a->d;
    cr_gemm_pack(pack, k, ld, true, a->d, F);
    cr_kern->gemm(S, F, q, ld, pack, F, F, a->d, 0, NULL);
    cr_kern->softmax(S, a->scale, F, F);
}

static void forward(const cr_node *n, cr_tile *t) {
    const att *a = n->attr;
    const cr_node *q = n->in[0], *k = n->in[1], *v = n->in[2];
    float *pack = t->scratch, *S = pack + a->a_off;
    int64_t ld = a->H * a->d;
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int64_t h = 0; h < a->H; h++) {
            int64_t at = h * a->d;
            weights(a, cr_val(t, q) + r * cr_ld(q) + at, cr_val(t, k) + r * cr_ld(k) + at, S, pack);
            cr_gemm_pack(pack, cr_val(t, v) + r * cr_ld(v) + at, ld, false, a->F, a->d);
            cr_kern->gemm(cr_val(t, n) + r * cr_ld(n) + at, ld, S, a->F, pack, a->F, a->d, a->F, 0,
                          NULL);
        }
}

static void backward(const cr_node *n, cr_tile *t) {
    const att *a = n->attr;
    const cr_node *q = n->in[0], *k = n->in[1], *v = n->in[2];
    float *pack = t->scratch, *S = pack + a->a_off, *dS = pack + a->g_off, *tn = pack + a->tn_off;
    int64_t ld = a->H * a->d, F = a->F;
    bool wants[3];
    int acc[3];
    for (int i = 0; i < 3; i++) {
        wants[i] = cr_wants_grad(t, n, i);
        acc[i] = cr_first_grad(t, n, i) ? 0 : CR_GEMM_ACC;
    }
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int64_t h = 0; h < a->H; h++) {
            int64_t at = h * a->d;
            const float *dy = cr_grad(t, n) + r * cr_ld(n) + at;
            const float *qv = cr_val(t, q) + r * cr_ld(q) + at;
            const float *kv = cr_val(t, k) + r * cr_ld(k) + at;
            weights(a, qv, kv, S, pack);
            if (wants[0] || wants[1]) {
                cr_gemm_pack(pack, cr_val(t, v) + r * cr_ld(v) + at, ld, true, a->d, F);
                cr_kern->gemm(dS, F, dy, ld, pack, F, F, a->d, 0, NULL);
                cr_kern->softmax_bwd(dS, S, dS, F, a->scale, F, F);
            }
            /* in the order of the inputs, since two of them may be one node */
            if (wants[0]) {
                cr_gemm_pack(pack, kv, ld, false, F, a->d);
                cr_kern->gemm(cr_grad(t, q) + r * cr_ld(q) + at, ld, dS, F, pack, F, a->d, F,
                              acc[0], NULL);
            }
            if (wants[1])
                cr_kern->gemm_tn(cr_grad(t, k) + r * cr_ld(k) + at, ld, dS, F, qv, ld, F, a->d, F,
                                 acc[1], tn);
            if (wants[2])
                cr_kern->gemm_tn(cr_grad(t, v) + r * cr_ld(v) + at, ld, S, F, dy, ld, F, a->d, F,
                                 acc[2], tn);
        }
}

static cr_node *example(cr_graph *g, int k) {
    switch (k) {
    case 0: return cr_attention(g, cr_feed(g, 24), cr_feed(g, 24), cr_feed(g, 24), 4, 2, 3, 1);
    case 1:
        return cr_attention(g, cr_feed(g, 35 * 8), cr_feed(g, 35 * 8), cr_feed(g, 35 * 8), 35, 1, 8,
                            0.5f);
    case 2: {
        cr_node *x = cr_feed(g, 20);
        return cr_attention(g, x, x, x, 5, 1, 4, 1);
    }
    default: return NULL;
    }
}

const cr_op_type cr_op_attention = {.name = "attention",
                                    .infer = infer,
                                    .forward = forward,
                                    .backward = backward,
                                    .example = example,
                                    .reads_in = true};

cr_node *cr_attention(cr_graph *g, cr_node *q, cr_node *k, cr_node *v, int64_t F, int64_t H,
                      int64_t d, float scale) {
    if (!(scale > 0)) CR_BUG("attention: scale must be positive");
    att a = {.F = F, .H = H, .d = d, .scale = scale};
    return cr_graph_op(g, &cr_op_attention, (cr_node *[]){q, k, v}, 3, &a, sizeof(a));
}
