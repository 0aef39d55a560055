/*
 * fold.c - folded parameters (graph.h): matrices made of other parameters once per step. Where one
 * linear map follows another at every position of a batch, their product is made here instead, and
 * its gradient is split into those of its factors when the step has summed it.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void shape(cr_node *n, int64_t rows, int64_t cols) {
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i]->cls != CR_PARAM) CR_BUG("fold: not a parameter");
    n->cls = CR_PARAM;
    n->rows = rows;
    n->cols = cols;
    n->width = rows * cols;
    n->n_dims = 2;
}

/* C (M, N) += A (M, K) B (K, N); B is packed into scratch. trans: B is given as (N, K). */
static void add_product(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                        int64_t ldb, bool trans, int64_t M, int64_t N, int64_t K, int flags,
                        float *scratch) {
    cr_gemm_pack(scratch, B, ldb, trans, K, N);
    cr_kern->gemm(C, ldc, A, lda, scratch, M, N, K, flags, NULL);
}

/* ---- product: rows [from, from + rows) of A (.., K) times B (K, M) ---- */

typedef struct part {
    int64_t from, rows;
} part;

static void product_infer(cr_node *n) {
    const part *p = n->attr;
    const cr_node *A = n->in[0], *B = n->in[1];
    if (A->cols != B->rows || p->from + p->rows > A->rows) CR_BUG("fold: sizes do not fit");
    shape(n, p->rows, B->cols);
    n->scratch =
        most(most(cr_gemm_pack_size(B->rows, B->cols), cr_gemm_pack_size(B->cols, B->rows)),
             cr_gemm_tn_scratch(B->rows, B->cols, p->rows));
}

static void product_fold(const cr_node *n, float *scratch) {
    const part *p = n->attr;
    const cr_node *A = n->in[0], *B = n->in[1];
    add_product(n->w, n->cols, A->w + p->from * A->cols, A->cols, B->w, B->cols, false, p->rows,
                B->cols, B->rows, 0, scratch);
}

static void product_unfold(const cr_node *n, const float *g, float *const *d, float *scratch) {
    const part *p = n->attr;
    const cr_node *A = n->in[0], *B = n->in[1];
    int64_t at = p->from * A->cols;
    if (d[0])
        add_product(d[0] + at, A->cols, g, n->cols, B->w, B->cols, true, p->rows, B->rows, B->cols,
                    CR_GEMM_ACC, scratch);
    if (d[1])
        cr_kern->gemm_tn(d[1], B->cols, A->w + at, A->cols, g, n->cols, B->rows, B->cols, p->rows,
                         CR_GEMM_ACC, scratch);
}

static cr_node *param(cr_graph *g, int64_t rows, int64_t cols) {
    return cr_graph_param(g, "p", rows, cols, true, NULL, 0);
}

static cr_node *product_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    cr_node *A = param(g, 12, 5), *B = param(g, 5, 20);
    cr_node *y = cr_matmul(g, cr_feed(g, 20), cr_fold_product(g, A, 3, 7, B), NULL, false);
    if (k == 0) return y;
    /* A is also used by itself, and has a second part */
    cr_node *z = cr_matmul(g, cr_feed(g, 20), cr_fold_product(g, A, 0, 12, B), NULL, false);
    return cr_concat(g, (cr_node *[]){y, z, cr_matmul(g, cr_feed(g, 5), A, NULL, false)}, 3);
}

const cr_op_type cr_op_fold_product = {.name = "fold_product",
                                       .infer = product_infer,
                                       .fold = product_fold,
                                       .unfold = product_unfold,
                                       .example = product_example};

cr_node *cr_fold_product(cr_graph *g, cr_node *A, int64_t from, int64_t rows, cr_node *B) {
    part p = {from, rows};
    return cr_graph_op(g, &cr_op_fold_product, (cr_node *[]){A, B}, 2, &p, sizeof(p));
}

/* ---- affine: the same rows times a vector x (K), plus the same rows of b ---- */

static void affine_infer(cr_node *n) {
    const part *p = n->attr;
    if (n->in[0]->cols != n->in[1]->width || p->from + p->rows > n->in[0]->rows ||
        n->in[2]->width != n->in[0]->rows)
        CR_BUG("fold: sizes do not fit");
    shape(n, 1, p->rows);
}

static void affine_fold(const cr_node *n, float *scratch) {
    (void)scratch;
    const part *p = n->attr;
    int64_t K = n->in[0]->cols;
    for (int64_t i = 0; i < p->rows; i++)
        n->w[i] = cr_kern->dot(n->in[0]->w + (p->from + i) * K, n->in[1]->w, K) +
                  n->in[2]->w[p->from + i];
}

static void affine_unfold(const cr_node *n, const float *g, float *const *d, float *scratch) {
    (void)scratch;
    const part *p = n->attr;
    int64_t K = n->in[0]->cols;
    for (int64_t i = 0; i < p->rows; i++) {
        int64_t row = p->from + i;
        if (d[0]) cr_kern->axpy(d[0] + row * K, g[i], n->in[1]->w, K);
        if (d[1]) cr_kern->axpy(d[1], g[i], n->in[0]->w + row * K, K);
        if (d[2]) d[2][row] += g[i];
    }
}

static cr_node *affine_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    cr_node *b = cr_fold_affine(g, param(g, 9, 4), 2, 6, param(g, 1, 4), param(g, 1, 9));
    return cr_bias(g, cr_feed(g, 6), b);
}

const cr_op_type cr_op_fold_affine = {.name = "fold_affine",
                                      .infer = affine_infer,
                                      .fold = affine_fold,
                                      .unfold = affine_unfold,
                                      .example = affine_example};

cr_node *cr_fold_affine(cr_graph *g, cr_node *A, int64_t from, int64_t rows, cr_node *x,
                        cr_node *b) {
    part p = {from, rows};
    return cr_graph_op(g, &cr_op_fold_affine, (cr_node *[]){A, x, b}, 3, &p, sizeof(p));
}

/* ---- columns: columns of W beside each other, or zeros ---- */

typedef struct columns {
    const cr_range *v; /* a range from -1 on stands for zeros */
    int n;
} columns;

static void columns_infer(cr_node *n) {
    columns *a = n->attr;
    int64_t cols = 0;
    for (int i = 0; i < a->n; i++) {
        if (a->v[i].from >= 0 && a->v[i].from + a->v[i].width > n->in[0]->cols)
            CR_BUG("fold: no such columns");
        cols += a->v[i].width;
    }
    shape(n, n->in[0]->rows, cols);
}

static void columns_fold(const cr_node *n, float *scratch) {
    (void)scratch;
    const columns *a = n->attr;
    float *to = n->w;
    for (int64_t r = 0; r < n->rows; r++)
        for (int i = 0; i < a->n; to += a->v[i++].width) {
            size_t size = (size_t)a->v[i].width * sizeof(float);
            if (a->v[i].from < 0)
                memset(to, 0, size);
            else
                memcpy(to, n->in[0]->w + r * n->in[0]->cols + a->v[i].from, size);
        }
}

static void columns_unfold(const cr_node *n, const float *g, float *const *d, float *scratch) {
    (void)scratch;
    const columns *a = n->attr;
    for (int64_t r = 0; d[0] && r < n->rows; r++)
        for (int i = 0; i < a->n; g += a->v[i++].width) {
            if (a->v[i].from < 0) continue;
            float *to = d[0] + r * n->in[0]->cols + a->v[i].from;
            cr_kern->add(to, to, g, a->v[i].width);
        }
}

static cr_node *columns_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    /* in the second there are more zeros than W has columns */
    static const cr_range v[][4] = {{{4, 3}, {0, 2}, {-1, 2}, {1, 4}},
                                    {{1, 1}, {-1, 9}, {0, 2}, {-1, 1}}};
    static const int64_t cols[] = {7, 2}, width[] = {11, 13};
    cr_node *W = cr_fold_columns(g, param(g, 6, cols[k]), v[k], 4);
    return cr_matmul(g, cr_feed(g, width[k]), W, NULL, false);
}

const cr_op_type cr_op_fold_columns = {.name = "fold_columns",
                                       .infer = columns_infer,
                                       .fold = columns_fold,
                                       .unfold = columns_unfold,
                                       .example = columns_example};

cr_node *cr_fold_columns(cr_graph *g, cr_node *W, const cr_range *v, int n) {
    cr_range *own = CR_NEW_N(&g->arena, cr_range, n);
    memcpy(own, v, (size_t)n * sizeof(*v));
    columns a = {own, n};
    return cr_graph_op(g, &cr_op_fold_columns, &W, 1, &a, sizeof(a));
}

/* ---- heads: the weight that follows the pooled heads of an attention. For head h (d rows of V, v;
 * d columns of W) it has the columns W_h [V_h, v_h]; b follows all of them ---- */

enum { IN_V, IN_VB, IN_W, IN_B };

static void heads_infer(cr_node *n) {
    int64_t H = *(const int64_t *)n->attr;
    const cr_node *V = n->in[IN_V], *W = n->in[IN_W];
    int64_t d = V->rows / H, C1 = V->cols + 1;
    if (V->rows != H * d || n->in[IN_VB]->width != V->rows || W->cols != V->rows ||
        n->in[IN_B]->width != W->rows)
        CR_BUG("fold: sizes do not fit");
    shape(n, W->rows, H * C1 + 1);
    n->scratch =
        2 * cr_up16(d * C1) + most(most(cr_gemm_pack_size(d, C1), cr_gemm_pack_size(C1, d)),
                                   cr_gemm_tn_scratch(d, C1, W->rows));
}

/* Writes [V_h, v_h] to E. */
static void head(const cr_node *n, int64_t h, int64_t d, float *E) {
    const cr_node *V = n->in[IN_V];
    for (int64_t i = h * d; i < (h + 1) * d; i++, E += V->cols + 1) {
        memcpy(E, V->w + i * V->cols, (size_t)V->cols * sizeof(float));
        E[V->cols] = n->in[IN_VB]->w[i];
    }
}

static void heads_fold(const cr_node *n, float *scratch) {
    int64_t H = *(const int64_t *)n->attr, d = n->in[IN_V]->rows / H, C1 = n->in[IN_V]->cols + 1;
    const cr_node *W = n->in[IN_W];
    float *E = scratch, *room = scratch + 2 * cr_up16(d * C1);
    for (int64_t h = 0; h < H; h++) {
        head(n, h, d, E);
        add_product(n->w + h * C1, n->cols, W->w + h * d, W->cols, E, C1, false, W->rows, C1, d, 0,
                    room);
    }
    for (int64_t i = 0; i < n->rows; i++)
        n->w[i * n->cols + H * C1] = n->in[IN_B]->w[i];
}

static void heads_unfold(const cr_node *n, const float *g, float *const *d, float *scratch) {
    int64_t H = *(const int64_t *)n->attr, dim = n->in[IN_V]->rows / H, C1 = n->in[IN_V]->cols + 1;
    const cr_node *W = n->in[IN_W];
    float *E = scratch, *dE = scratch + cr_up16(dim * C1), *room = scratch + 2 * cr_up16(dim * C1);
    for (int64_t h = 0; h < H; h++) {
        const float *gh = g + h * C1;
        if (d[IN_W]) {
            head(n, h, dim, E);
            add_product(d[IN_W] + h * dim, W->cols, gh, n->cols, E, C1, true, W->rows, dim, C1,
                        CR_GEMM_ACC, room);
        }
        cr_kern->gemm_tn(dE, C1, W->w + h * dim, W->cols, gh, n->cols, dim, C1, W->rows, 0, room);
        for (int64_t i = 0; i < dim; i++) {
            float *to = d[IN_V] ? d[IN_V] + (h * dim + i) * (C1 - 1) : NULL;
            if (to) cr_kern->add(to, to, dE + i * C1, C1 - 1);
            if (d[IN_VB]) d[IN_VB][h * dim + i] += dE[i * C1 + C1 - 1];
        }
    }
    for (int64_t i = 0; d[IN_B] && i < n->rows; i++)
        d[IN_B][i] += g[i * n->cols + H * C1];
}

static cr_node *heads_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    cr_node *W =
        cr_fold_heads(g, param(g, 6, 4), param(g, 1, 6), param(g, 7, 6), param(g, 1, 7), 2);
    return cr_matmul(g, cr_feed(g, 11), W, NULL, false);
}

const cr_op_type cr_op_fold_heads = {.name = "fold_heads",
                                     .infer = heads_infer,
                                     .fold = heads_fold,
                                     .unfold = heads_unfold,
                                     .example = heads_example};

cr_node *cr_fold_heads(cr_graph *g, cr_node *V, cr_node *v, cr_node *W, cr_node *b, int64_t H) {
    return cr_graph_op(g, &cr_op_fold_heads, (cr_node *[]){V, v, W, b}, 4, &H, sizeof(H));
}

/* ---- exp: e^x of one number, with an upper limit ---- */

static void exp_infer(cr_node *n) {
    if (n->in[0]->width != 1) CR_BUG("fold: not one number");
    shape(n, 1, 1);
}

static void exp_fold(const cr_node *n, float *scratch) {
    (void)scratch;
    float x = *n->in[0]->w, cap = *(const float *)n->attr;
    *n->w = (float)exp((double)(x > cap ? cap : x));
}

/* As for torch's clamp, there is no gradient above the limit. */
static void exp_unfold(const cr_node *n, const float *g, float *const *d, float *scratch) {
    (void)scratch;
    if (d[0] && !(*n->in[0]->w > *(const float *)n->attr)) *d[0] += *g * *n->w;
}

static cr_node *exp_example(cr_graph *g, int k) {
    if (k > 1) return NULL; /* one case below the limit, one above it */
    return cr_mul(g, cr_feed(g, 1), cr_fold_exp(g, param(g, 1, 1), k ? -2 : 2));
}

const cr_op_type cr_op_fold_exp = {.name = "fold_exp",
                                   .infer = exp_infer,
                                   .fold = exp_fold,
                                   .unfold = exp_unfold,
                                   .example = exp_example};

cr_node *cr_fold_exp(cr_graph *g, cr_node *x, float cap) {
    return cr_graph_op(g, &cr_op_fold_exp, &x, 1, &cap, sizeof(cap));
}
