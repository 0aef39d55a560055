/*
 * conv.c - convolution and maximum over a row that is taken as C pictures of (h, w) numbers.
 *
 * conv: out[n, y, x] = b[n] + sum over c, i, j of W[n, c, i, j] in[c, y + i - top, x + j - left];
 * numbers outside of the picture are 0. Some lines of the output at a time are a matrix product:
 * the picture is unrolled into a matrix with a row for each weight of a filter and a column for
 * each number of these lines. Products along the lines of the picture, one weight at a time, need
 * no such memory and were ten times slower. max_pool: the largest number in each window; windows do
 * not overlap, and what is left over at the right and at the bottom is not read (torch: MaxPool2d
 * with floor).
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

#define UNROLLED 262144 /* numbers of the unrolled picture, unless one line has more */

static int64_t size_of(const cr_picture *p) {
    return p->c * p->h * p->w;
}

/* ---- conv ---- */

typedef struct conv {
    cr_picture in, out;
    int64_t kh, kw, top, left;
} conv;

enum { IN_X, IN_W, IN_B };

/* The stretch of an output line that column j of a kernel reaches: [*from, *from + n). */
static int64_t stretch(const conv *a, int64_t j, int64_t *from) {
    int64_t lo = a->left - j, hi = a->in.w + a->left - j;
    *from = lo > 0 ? lo : 0;
    if (hi > a->out.w) hi = a->out.w;
    return hi > *from ? hi - *from : 0;
}

/* Unrolls the picture x for the output lines [y0, y0 + lines): to is (K, lines * out.w). With
 * `back` it adds the slopes `to` to those of the picture instead. */
static void unroll(const conv *a, float *x, int64_t y0, int64_t lines, float *to, bool back) {
    int64_t w = a->out.w;
    for (int64_t c = 0; c < a->in.c; c++)
        for (int64_t i = 0; i < a->kh; i++)
            for (int64_t j = 0, from; j < a->kw; j++) {
                int64_t n = stretch(a, j, &from);
                for (int64_t y = y0; y < y0 + lines; y++, to += w) {
                    int64_t line = y + i - a->top;
                    bool none = line < 0 || line >= a->in.h || n == 0;
                    if (!back && (none || n < w)) memset(to, 0, (size_t)w * sizeof(float));
                    if (none) continue;
                    float *at = x + (c * a->in.h + line) * a->in.w + from + j - a->left;
                    if (!back) memcpy(to + from, at, (size_t)n * sizeof(float));
                    for (int64_t k = 0; back && k < n; k++)
                        at[k] += to[from + k];
                }
            }
}

static int64_t weights_of(const conv *a) {
    return a->in.c * a->kh * a->kw;
}

/* Output lines that are computed at a time. */
static int64_t lines_of(const conv *a) {
    int64_t n = UNROLLED / (weights_of(a) * a->out.w);
    return n < 1 ? 1 : n > a->out.h ? a->out.h : n;
}

static void conv_infer(cr_node *n) {
    const conv *a = n->attr;
    if (n->in[IN_X]->width != size_of(&a->in) || n->in[IN_W]->rows != a->out.c ||
        n->in[IN_W]->cols != weights_of(a) || n->in[IN_B]->width != a->out.c)
        CR_BUG("conv: shapes do not fit");
    n->cls = CR_ROW;
    n->width = size_of(&a->out);
    /* the unrolled picture, and one of the packed matrices or what gemm_tn needs */
    int64_t K = weights_of(a), N = lines_of(a) * a->out.w, O = a->out.c;
    int64_t more = cr_gemm_pack_size(K, N), other = cr_gemm_pack_size(N, K);
    if (other > more) more = other;
    if (cr_gemm_tn_scratch(K, N, O) > more) more = cr_gemm_tn_scratch(K, N, O);
    n->scratch = (K * N + 15) / 16 * 16 + more;
}

static void conv_forward(const cr_node *n, cr_tile *t) {
    const conv *a = n->attr;
    int64_t plane = a->out.h * a->out.w, K = weights_of(a), lines = lines_of(a);
    float *cols = t->scratch, *packed = cols + (K * lines * a->out.w + 15) / 16 * 16;
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *x = cr_val(t, n->in[IN_X]) + r * cr_ld(n->in[IN_X]),
              *y = cr_val(t, n) + r * cr_ld(n);
        for (int64_t i = 0; i < n->width; i++)
            y[i] = n->in[IN_B]->w[i / plane];
        for (int64_t y0 = 0; y0 < a->out.h; y0 += lines) {
            int64_t some = a->out.h - y0 < lines ? a->out.h - y0 : lines, N = some * a->out.w;
            unroll(a, x, y0, some, cols, false);
            cr_gemm_pack(packed, cols, N, false, K, N);
            cr_kern->gemm(y + y0 * a->out.w, plane, n->in[IN_W]->w, K, packed, a->out.c, N, K,
                          CR_GEMM_ACC, NULL);
        }
    }
}

static void conv_backward(const cr_node *n, cr_tile *t) {
    const conv *a = n->attr;
    const cr_node *in = n->in[IN_X];
    int64_t plane = a->out.h * a->out.w, K = weights_of(a), lines = lines_of(a), O = a->out.c;
    float *cols = t->scratch, *more = cols + (K * lines * a->out.w + 15) / 16 * 16;
    float *dW = cr_param_sum(t, n, IN_W), *db = cr_param_sum(t, n, IN_B);
    bool wants = cr_wants_grad(t, n, IN_X), first = cr_first_grad(t, n, IN_X);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *x = cr_val(t, in) + r * cr_ld(in), *dy = cr_grad(t, n) + r * cr_ld(n);
        float *dx = wants ? cr_grad(t, in) + r * cr_ld(in) : NULL;
        if (dx && first) memset(dx, 0, (size_t)in->width * sizeof(float));
        for (int64_t o = 0; db && o < O; o++)
            db[o] += cr_kern->sum(dy + o * plane, plane);
        for (int64_t y0 = 0; y0 < a->out.h; y0 += lines) {
            int64_t some = a->out.h - y0 < lines ? a->out.h - y0 : lines, N = some * a->out.w;
            const float *d = dy + y0 * a->out.w;
            if (dW) {
                unroll(a, x, y0, some, cols, false);
                cr_gemm_pack(more, cols, N, true, N, K);
                cr_kern->gemm(dW, K, d, plane, more, O, K, N, CR_GEMM_ACC, NULL);
            }
            if (!dx) continue;
            cr_kern->gemm_tn(cols, N, n->in[IN_W]->w, K, d, plane, K, N, O, 0, more);
            unroll(a, dx, y0, some, cols, true);
        }
    }
}

static cr_node *conv_example(cr_graph *g, int k) {
    static const cr_picture in[] = {{1, 5, 4}, {3, 4, 20}, {2, 3, 1}};
    static const int64_t kh[] = {2, 3, 3}, kw[] = {3, 2, 1};
    if (k > 2) return NULL;
    cr_node *W = cr_graph_param(g, "w", 2, in[k].c * kh[k] * kw[k], true, NULL, 0);
    cr_node *b = cr_graph_param(g, "b", 1, 2, true, NULL, 0);
    cr_picture out;
    return cr_conv(g, cr_feed(g, size_of(&in[k])), W, b, &in[k], kh[k], kw[k], k > 0, &out);
}

const cr_op_type cr_op_conv = {.name = "conv",
                               .infer = conv_infer,
                               .forward = conv_forward,
                               .backward = conv_backward,
                               .example = conv_example,
                               .reads_in = true};

cr_node *cr_conv(cr_graph *g, cr_node *x, cr_node *W, cr_node *b, const cr_picture *in, int64_t kh,
                 int64_t kw, bool same, cr_picture *out) {
    conv a = {.in = *in, .kh = kh, .kw = kw};
    a.top = same ? (kh - 1) / 2 : 0;
    a.left = same ? (kw - 1) / 2 : 0;
    a.out = (cr_picture){W->rows, same ? in->h : in->h - kh + 1, same ? in->w : in->w - kw + 1};
    *out = a.out;
    return cr_graph_op(g, &cr_op_conv, (cr_node *[]){x, W, b}, 3, &a, sizeof(a));
}

/* ---- the largest number of each window ---- */

typedef struct pool {
    cr_picture in, out;
    int64_t ph, pw;
} pool;

static void pool_infer(cr_node *n) {
    const pool *a = n->attr;
    if (n->in[0]->width != size_of(&a->in)) CR_BUG("max_pool: not a picture");
    n->cls = CR_ROW;
    n->width = size_of(&a->out);
}

/* The number of the picture that output o takes: the first of the largest. */
static int64_t largest(const pool *a, const float *x, int64_t o) {
    int64_t c = o / (a->out.h * a->out.w), y = o / a->out.w % a->out.h, at = -1;
    for (int64_t i = 0; i < a->ph; i++)
        for (int64_t j = 0; j < a->pw; j++) {
            int64_t k = (c * a->in.h + y * a->ph + i) * a->in.w + o % a->out.w * a->pw + j;
            if (at < 0 || x[k] > x[at]) at = k;
        }
    return at;
}

static void pool_forward(const cr_node *n, cr_tile *t) {
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, n->in[0]) + r * cr_ld(n->in[0]);
        float *y = cr_val(t, n) + r * cr_ld(n);
        for (int64_t o = 0; o < n->width; o++)
            y[o] = x[largest(n->attr, x, o)];
    }
}

static void pool_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *in = n->in[0];
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, in) + r * cr_ld(in), *dy = cr_grad(t, n) + r * cr_ld(n);
        float *dx = cr_grad(t, in) + r * cr_ld(in);
        if (first) memset(dx, 0, (size_t)in->width * sizeof(float));
        for (int64_t o = 0; o < n->width; o++)
            dx[largest(n->attr, x, o)] += dy[o];
    }
}

static cr_node *pool_example(cr_graph *g, int k) {
    static const cr_picture in[] = {{1, 5, 4}, {3, 4, 21}};
    cr_picture out;
    return k > 1 ? NULL : cr_max_pool(g, cr_feed(g, size_of(&in[k])), &in[k], 2, k ? 5 : 1, &out);
}

const cr_op_type cr_op_max_pool = {.name = "max_pool",
                                   .infer = pool_infer,
                                   .forward = pool_forward,
                                   .backward = pool_backward,
                                   .example = pool_example,
                                   .reads_in = true};

cr_node *cr_max_pool(cr_graph *g, cr_node *x, const cr_picture *in, int64_t ph, int64_t pw,
                     cr_picture *out) {
    pool a = {*in, {in->c, in->h / ph, in->w / pw}, ph, pw};
    *out = a.out;
    return cr_graph_op(g, &cr_op_max_pool, &x, 1, &a, sizeof(a));
}
