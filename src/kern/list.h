/*
 * list.h - every kernel, named once: CR_KERNELS(X) with X(return type, name, arguments).
 *
 * The table in kern.h, the per-level prototypes, the tests and the benchmark all expand it. The
 * lines above an entry are its specification; [acc] means: the result replaces the output when acc
 * is false and is added to it when acc is true. Each kernel is pure arithmetic (no allocation,
 * errors or threads), takes any alignment and any n >= 0, and gives the same bits on every CPU
 * level: sums run in the stated order, and outside the gemm family a product and a sum are always
 * rounded one after the other. Outputs must not overlap inputs unless the entry says "in place".
 */
#ifndef CR_KERN_LIST_H
#define CR_KERN_LIST_H

/* ---- matrix products, row-major. See kern.h for the flags, packing and scratch sizes. ----
 *
 * gemm_pack: panels [p0, p1) of CR_GEMM_NR columns each; zeros past N:
 *     dst[p][k][c] = trans ? B[(p * NR + c) * ldb + k] : B[k * ldb + p * NR + c]
 * gemm: for each m < M, n < N
 *     s = flags & ACC ? C[m,n] : 0
 *     for k = 0 .. K-1:  s = fma(A[m,k], B[k,n], s)          one chain, one rounding per step
 *     if ADD: s = C[m,n] + s (not with ACC; K <= 512);
 *     if BIAS: s = s + bias[n];  if RELU: s = s > 0 ? s : 0 (NaN stays NaN);
 *     if MASK (not with BIAS): s = bias[m,n] > 0 ? s : 0, rows of bias ldc apart;  C[m,n] = s
 * gemm_tn: the same with A given as (K, M): s = fma(A[k,m], B[k,n], s); B (K, N) is not packed.
 *     ACC is the only flag. scratch: cr_gemm_tn_scratch(M, N, K) floats.
 * gemm_nz: the same as gemm (without ADD), but only over the k with A[m,k] != 0 (NaN is not 0): for
 *     an A with many zeros. So a zero times an infinity gives no NaN.
 * gemm_nz_tn: the same as gemm_tn, only over the k with A[k,m] != 0. Rows of B are read up to the
 *     next multiple of 16 columns.
 * gemm_nz_pack: rows [k0, k1) of B for gemm_nz, in strips of w = cr_gemm_nz_strip(N) columns; zeros
 *     past N:  dst[s][k][c] = trans ? B[(s * w + c) * ldb + k] : B[k * ldb + s * w + c]
 * peak: runs multiply-adds on all registers n times, for benchmarks; returns the number of
 *     operations and sets *sum to the sum of the results
 */
#define CR_KERNELS_GEMM(X)                                                                         \
    X(void, gemm_pack,                                                                             \
      (float *dst, const float *B, int64_t ldb, bool trans, int64_t K, int64_t N, int64_t p0,      \
       int64_t p1))                                                                                \
    X(void, gemm,                                                                                  \
      (float *C, int64_t ldc, const float *A, int64_t lda, const float *packed, int64_t M,         \
       int64_t N, int64_t K, int flags, const float *bias))                                        \
    X(double, peak, (int64_t n, float *sum))                                                       \
    X(void, gemm_nz_pack,                                                                          \
      (float *dst, const float *B, int64_t ldb, bool trans, int64_t K, int64_t N, int64_t k0,      \
       int64_t k1))                                                                                \
    X(void, gemm_nz,                                                                               \
      (float *C, int64_t ldc, const float *A, int64_t lda, const float *packed, int64_t M,         \
       int64_t N, int64_t K, int flags, const float *bias))                                        \
    X(void, gemm_nz_tn,                                                                            \
      (float *C, int64_t ldc, const float *A, int64_t lda, const float *B, int64_t ldb, int64_t M, \
       int64_t N, int64_t K, int flags))                                                           \
    X(void, gemm_tn,                                                                               \
      (float *C, int64_t ldc, const float *A, int64_t lda, const float *B, int64_t ldb, int64_t M, \
       int64_t N, int64_t K, int flags, float *scratch))

/* ---- the same products of BF16 values ----
 *
 * gemm_bf16_pack, gemm_bf16, gemm_bf16_tn: like the three above (without ADD), for inputs that are
 *     sums of `parts` BF16 values (kern.h): part 0 of x is near(x), part 1 is near(x - part 0), ...
 *     near(x) is the nearest BF16 value, ties to even, and 0 for a denormal x. Differences of x and
 *     its parts that are denormal are zeros of their sign.
 *     For each m < M, n < N, with zeros for A and B past K:
 *     s = flags & ACC ? C[m,n] : 0
 *     for each block of 32 along k, for each pair (p, q) of parts:
 *         even = 0;  for k = 0, 2 .. 30:  even = fma(A_p[m,k], B_q[k,n], even)
 *         odd = 0;   for k = 1, 3 .. 31:  odd = fma(A_p[m,k], B_q[k,n], odd)
 *         s = s + (even + odd)
 *     pairs: (0,0) for 1 part; (0,1) (0,0) (1,0) for 2; (2,0) (1,0) (1,1) (0,1) (0,2) (0,0) for 3
 *     then BIAS, RELU, MASK as above.
 *     Denormal floats are read and written as zeros of their sign: C, bias and mask, the result of
 *     every step. The result of a multiply-add counts as denormal when it would be below the
 *     smallest normal float after rounding with an unbounded exponent (CPUs flush in this way).
 *     On the level avx512_bf16 and with 1 part there is one chain instead (zeros for k = K):
 *         for k = 0, 2 .. K-1:  s = fma(A[m,k+1], B[k+1,n], s);  s = fma(A[m,k], B[k,n], s)
 *     dst[p][k/32][part][c/16][k%32/2][c%16] = near(B[k,n]) | near(B[k+1,n]) << 16 as 16-bit
 *     values, 0 past K and N.  scratch: cr_gemm_bf16_scratch, cr_gemm_bf16_tn_scratch floats.
 * peak_bf16: like peak, for the operations that these products are made of; inputs are random,
 *     because the tile unit lowers its clock with what it multiplies
 */
#define CR_KERNELS_BF16_DOT(X)                                                                     \
    X(void, gemm_bf16_pack,                                                                        \
      (uint32_t * dst, const float *B, int64_t ldb, bool trans, int64_t K, int64_t N, int64_t p0,  \
       int64_t p1, int parts))                                                                     \
    X(void, gemm_bf16,                                                                             \
      (float *C, int64_t ldc, const float *A, int64_t lda, const uint32_t *packed, int64_t M,      \
       int64_t N, int64_t K, int flags, const float *bias, int parts, float *scratch))             \
    X(void, gemm_bf16_tn,                                                                          \
      (float *C, int64_t ldc, const float *A, int64_t lda, const float *B, int64_t ldb, int64_t M, \
       int64_t N, int64_t K, int flags, int parts, float *scratch))                                \
    X(double, peak_bf16, (int64_t n, float *sum))

/* ---- BF16 products that follow each other ----
 *
 * Only levels that gain by it have these (the tile unit); elsewhere they are NULL and values
 * between products are floats. The bits are the same. K > 0.
 * gemm_units: gemm_bf16 whose A may already be there in the form `rows`, and whose C is written in
 *     each form of cr_units that is not NULL, rounded as the next product would round it. ACC needs
 *     C->f and no other form. With RELU, C->above is written; with MASK and bias NULL it is read.
 *     Rows up to the next multiple of 32 are written as zeros. scratch: cr_gemm_units_scratch.
 * gemm_units_tn: gemm_bf16_tn whose A may be there as `turned` and B as `pairs`.
 */
#define CR_KERNELS_UNITS(X)                                                                        \
    X(void, gemm_units,                                                                            \
      (const cr_units *C, const cr_units *A, const uint32_t *packed, int64_t M, int64_t N,         \
       int64_t K, int flags, const float *bias, int parts, float *scratch))                        \
    X(void, gemm_units_tn,                                                                         \
      (float *C, int64_t ldc, const cr_units *A, const cr_units *B, int64_t M, int64_t N,          \
       int64_t K, int flags, int parts, float *scratch))

/* ---- vectors ----
 *
 * dot, sum: element i goes to partial sum i % 16, in order; the 16 are then added as a tree:
 *     p[j] += p[j+8] (j<8), p[j] += p[j+4], p[j] += p[j+2], p[0] + p[1]
 * axpy:      y[i] = y[i] + a * x[i]
 * scale_add: out[i] = a * x[i] + b * y[i]          in place on x or y
 * scale:     out[i] = a * x[i]                     in place
 * add:       out[i] = x[i] + y[i]                  in place on x or y
 * mul:       out[i] = x[i] * y[i]  [acc]           in place on x or y
 * drop: out[i] = rnd[i] < limit ? 0 : x[i] * scale, [acc]; in place
 */
#define CR_KERNELS_VEC(X)                                                                          \
    X(void, drop,                                                                                  \
      (float *out, const float *x, const uint16_t *rnd, uint32_t limit, float scale, int64_t n,    \
       bool acc))                                                                                  \
    X(float, dot, (const float *x, const float *y, int64_t n))                                     \
    X(float, sum, (const float *x, int64_t n))                                                     \
    X(void, axpy, (float *y, float a, const float *x, int64_t n))                                  \
    X(void, scale_add, (float *out, float a, const float *x, float b, const float *y, int64_t n))  \
    X(void, scale, (float *out, float a, const float *x, int64_t n))                               \
    X(void, add, (float *out, const float *x, const float *y, int64_t n))                          \
    X(void, mul, (float *out, const float *x, const float *y, int64_t n, bool acc))

/* ---- functions of one element; all forward ones work in place ----
 *
 * Worst errors found against double libm over the whole range, in units in the last place, are in
 * docs/design/kern.md and are asserted by tests/kern. NaN gives NaN; infinities give the limits.
 * exp, sigmoid 1/(1+e^-x), tanh, silu x*sigmoid(x), mish x*tanh(log(1+e^x)), softsign x/(1+|x|)
 * gelu: x * Phi(x), the exact (erf) form;  gelu_tanh: x * sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))
 * softplus: beta*x > limit ? x : log(1+e^(beta*x)) / beta
 * elu: x > 0 ? pos * x : neg * (e^(in*x) - 1), in > 0
 * hardsigmoid: (x+3)/6 between 0 and 1;  hardswish: x * hardsigmoid(x);  tanhshrink: x - tanh(x)
 * relu: x > 0 ? x : 0;  leaky: x > 0 ? x : slope * x;  clamp: x, at least lo and at most hi
 * threshold: x > at ? x : value;  shrink: |x| > limit ? x - less with the sign of x : 0
 *
 * The _bwd kernels [acc]: dx = dy * f'(.), from the output y (relu, sigmoid, tanh) or the input x
 *     relu y > 0 ? dy : 0;  leaky x > 0 ? dy : slope * dy;  sigmoid dy * (y * (1 - y));
 *     tanh dy * (1 - y * y);  softplus dy * sigmoid(beta*x);  silu dy * (s + x * s * (1 - s));
 *     gelu dy * (Phi(x) + x * phi(x));  elu dy * (x > 0 ? pos : neg * in * e^(in*x));
 *     between_bwd lo < x < hi ? a * dy : 0, for clamp, threshold and hardsigmoid
 * dx may be dy (in place) when acc is false.
 * leaky_draw: out = x > 0 ? v : (lo + step * rnd) * v  [acc]; v may be x; in place
 *
 * Learned slopes: B rows of D, ld floats from row to row of all but the D slopes a (and da). In the
 * _bwd kernels any output may be NULL, and sums over rows run in order.
 * prelu: x > 0 ? x : a[d] * x
 * prelu_bwd: dx = x > 0 ? dy : a[d] * dy  [acc];  da[d] += x > 0 ? 0 : dy * x
 * leaky_dot: like dot, with 0 for x[i] * y[i] where x[i] > 0; the gradient of a shared slope
 * dice: p = sigmoid(xn), in the D floats that p points to;  (a[d] * (1 - p) + p) * x
 * dice_bwd: dx = dy * (a[d] * (1 - p) + p)  [acc];  da[d] += (dy * x) * (1 - p);
 *     dxn = (dy * x) * (1 - a[d]) * (p * (1 - p))  [acc_n]
 *
 * layer_norm: B rows of D without gaps; sums of a row in dot's order:
 *     mean = sum of x / D;  rstd = 1 / sqrt((sum of (x - mean)^2) / D + eps);
 *     h = (x - mean) * rstd;  out = h * gamma[d] + beta[d]
 * layer_norm_bwd: g = dy * gamma[d];  s = sum of g / D;  t = sum of g * h / D;
 *     dx = rstd * ((g - s) - h * t)  [acc];  dgamma[d] += dy * h;  dbeta[d] += dy, rows in order;
 *     any output may be NULL
 */
#define CR_KERNELS_ACT(X)                                                                          \
    X(void, exp, (float *out, const float *x, int64_t n))                                          \
    X(void, sigmoid, (float *out, const float *x, int64_t n))                                      \
    X(void, tanh, (float *out, const float *x, int64_t n))                                         \
    X(void, gelu, (float *out, const float *x, int64_t n))                                         \
    X(void, gelu_tanh, (float *out, const float *x, int64_t n))                                    \
    X(void, silu, (float *out, const float *x, int64_t n))                                         \
    X(void, mish, (float *out, const float *x, int64_t n))                                         \
    X(void, hardswish, (float *out, const float *x, int64_t n))                                    \
    X(void, hardsigmoid, (float *out, const float *x, int64_t n))                                  \
    X(void, softsign, (float *out, const float *x, int64_t n))                                     \
    X(void, tanhshrink, (float *out, const float *x, int64_t n))                                   \
    X(void, clamp, (float *out, const float *x, float lo, float hi, int64_t n))                    \
    X(void, threshold, (float *out, const float *x, float at, float value, int64_t n))             \
    X(void, shrink, (float *out, const float *x, float limit, float less, int64_t n))              \
    X(void, softplus, (float *out, const float *x, float beta, float limit, int64_t n))            \
    X(void, elu, (float *out, const float *x, float neg, float pos, float in, int64_t n))          \
    X(void, relu, (float *out, const float *x, int64_t n))                                         \
    X(void, leaky, (float *out, const float *x, float slope, int64_t n))                           \
    X(void, sigmoid_bwd, (float *dx, const float *dy, const float *y, int64_t n, bool acc))        \
    X(void, tanh_bwd, (float *dx, const float *dy, const float *y, int64_t n, bool acc))           \
    X(void, gelu_bwd, (float *dx, const float *dy, const float *x, int64_t n, bool acc))           \
    X(void, gelu_tanh_bwd, (float *dx, const float *dy, const float *x, int64_t n, bool acc))      \
    X(void, silu_bwd, (float *dx, const float *dy, const float *x, int64_t n, bool acc))           \
    X(void, mish_bwd, (float *dx, const float *dy, const float *x, int64_t n, bool acc))           \
    X(void, hardswish_bwd, (float *dx, const float *dy, const float *x, int64_t n, bool acc))      \
    X(void, softsign_bwd, (float *dx, const float *dy, const float *x, int64_t n, bool acc))       \
    X(void, tanhshrink_bwd, (float *dx, const float *dy, const float *x, int64_t n, bool acc))     \
    X(void, softplus_bwd,                                                                          \
      (float *dx, const float *dy, const float *x, float beta, float limit, int64_t n, bool acc))  \
    X(void, shrink_bwd,                                                                            \
      (float *dx, const float *dy, const float *x, float limit, int64_t n, bool acc))              \
    X(void, between_bwd,                                                                           \
      (float *dx, const float *dy, const float *x, float lo, float hi, float a, int64_t n,         \
       bool acc))                                                                                  \
    X(void, elu_bwd,                                                                               \
      (float *dx, const float *dy, const float *x, float neg, float pos, float in, int64_t n,      \
       bool acc))                                                                                  \
    X(void, leaky_draw,                                                                            \
      (float *out, const float *v, const float *x, const uint16_t *rnd, float lo, float step,      \
       int64_t n, bool acc))                                                                       \
    X(void, relu_bwd, (float *dx, const float *dy, const float *y, int64_t n, bool acc))           \
    X(void, leaky_bwd,                                                                             \
      (float *dx, const float *dy, const float *x, float slope, int64_t n, bool acc))              \
    X(void, prelu, (float *out, const float *x, int64_t ld, const float *a, int64_t B, int64_t D)) \
    X(void, prelu_bwd,                                                                             \
      (float *dx, float *da, const float *dy, const float *x, int64_t ld, const float *a,          \
       int64_t B, int64_t D, bool acc))                                                            \
    X(float, leaky_dot, (const float *x, const float *y, int64_t n))                               \
    X(void, dice,                                                                                  \
      (float *out, const float *x, const float *xn, int64_t ld, const float *a, float *p,          \
       int64_t B, int64_t D))                                                                      \
    X(void, dice_bwd,                                                                              \
      (float *dx, float *dxn, float *da, const float *dy, const float *x, const float *xn,         \
       int64_t ld, const float *a, float *p, int64_t B, int64_t D, bool acc, bool acc_n))          \
    X(void, layer_norm,                                                                            \
      (float *out, const float *x, const float *gamma, const float *beta, float eps, int64_t B,    \
       int64_t D))                                                                                 \
    X(void, layer_norm_bwd,                                                                        \
      (float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,                    \
       const float *gamma, float eps, int64_t B, int64_t D, bool acc))

/* ---- rows: B rows, ld* floats from row to row ----
 *
 * copy_rows:   dst[b,d] = src[b,d]  [acc]; lds may be 0 (the same row B times)
 * fill_rows:   dst[b,d] = s[b]  [acc]
 * row_affine:  out[b,d] = x[b,d] * scale[d] + shift[d]; relu: 0 where that is <= 0; in place
 * diag_left:   out[b,d] = x[b,d] + s[b] * y[b,d], rows without gaps
 * diag_right:  out[b,d] = x[b,d] + s[d] * y[b,d], ld from row to row of all three
 * diag_right_bwd: dx[b,d] += dout[b,d];  dy[b,d] += dout[b,d] * s[d];
 *     ds[d] += dout[b,d] * y[b,d], rows in order; ldy from row to row of y, dx and dy, ldo of dout.
 *     dx with dy, or ds, may be NULL
 * col_sum:     sum[d] += x[b,d], rows in order, in float
 * col_sum_d, col_sqdev_d, col_dot_d: rows in order, in double
 *     sum[d] += x[b,d];  sum[d] += (x[b,d] - mean[d])^2;  sum[d] += x[b,d] * y[b,d]
 * gather_sum: out[b,d] = x[0][code[b*ldk + 0] * ldx + d] + x[1][code[b*ldk + 1] * ldx + d] + ..,
 *     F of them in order, starting from the first, or from out when ADD;
 *     then BIAS and RELU as in gemm
 * take_rows: out[i*ldo + d] = x[row[i] * ldx + d], i < n
 * put_rows:  out[to[i]*ldo + d] = x[r*ldx + d], or += when acc; r = from ? from[i] : i; i < n in
 *     order. x may be out where no row of it is both read and written
 * look_rows: out[i*ldo + d] = table[ids[i] * stride + d], i < n. ids has n + more elements: the
 *     rows of the last `more`, which the next call needs, may be fetched in advance
 * seg_sum:   out[u*ldo + d] = sum over i = seg[u] .. seg[u+1]-1 in order of x[row[i] * ldx + d],
 *     starting from the first; no segment is empty
 * lane_sums: out[u*D + d] = sum over i = seg[u] .. seg[u+1]-1 of x[s][row * ld[s] + d], where e[i]
 *     names row, lane and slot s; u < n. Entries of one lane follow each other, lanes ascend, and
 *     no segment is empty. Inside a lane the sum runs in order; lanes are added by a balanced tree,
 *     in which lane l of e is lane lane0 + l and a lane without entries is left out. If shared is
 *     not NULL, an entry of the same lane and slot as the one before it is left out where
 *     shared[s] && shared[s][lane]. e has `end` elements: those behind seg[n], which the next call
 *     needs, may be fetched in advance
 * pool:      one bag of n ids: out[d] = sum over i in order of
 *     (w ? w[i] : 1) * table[ids[i]*stride + d], starting from 0, or from out when acc
 */
#define CR_KERNELS_ROW(X)                                                                          \
    X(void, copy_rows,                                                                             \
      (float *dst, int64_t ldd, const float *src, int64_t lds, int64_t B, int64_t D, bool acc))    \
    X(void, fill_rows, (float *dst, int64_t ldd, const float *s, int64_t B, int64_t D, bool acc))  \
    X(void, row_affine,                                                                            \
      (float *out, int64_t ldo, const float *x, int64_t ldx, const float *scale,                   \
       const float *shift, int64_t B, int64_t D, bool relu))                                       \
    X(void, diag_left,                                                                             \
      (float *out, const float *x, const float *s, const float *y, int64_t B, int64_t D))          \
    X(void, diag_right,                                                                            \
      (float *out, const float *x, const float *s, const float *y, int64_t ld, int64_t B,          \
       int64_t D))                                                                                 \
    X(void, diag_right_bwd,                                                                        \
      (float *dx, float *dy, float *ds, const float *dout, int64_t ldo, const float *s,            \
       const float *y, int64_t ldy, int64_t B, int64_t D))                                         \
    X(void, col_sum, (float *sum, const float *x, int64_t ldx, int64_t B, int64_t D))              \
    X(void, col_sum_d, (double *sum, const float *x, int64_t ldx, int64_t B, int64_t D))           \
    X(void, col_sqdev_d,                                                                           \
      (double *sum, const float *x, int64_t ldx, const float *mean, int64_t B, int64_t D))         \
    X(void, col_dot_d,                                                                             \
      (double *sum, const float *x, int64_t ldx, const float *y, int64_t ldy, int64_t B,           \
       int64_t D))                                                                                 \
    X(void, gather_sum,                                                                            \
      (float *out, int64_t ldo, const float *const *x, int64_t ldx, const int32_t *code,           \
       int64_t ldk, int64_t B, int64_t D, int64_t F, int flags, const float *bias))                \
    X(void, take_rows,                                                                             \
      (float *out, int64_t ldo, const float *x, int64_t ldx, const int32_t *row, int64_t n,        \
       int64_t D))                                                                                 \
    X(void, put_rows,                                                                              \
      (float *out, int64_t ldo, const int32_t *to, const float *x, int64_t ldx,                    \
       const int32_t *from, int64_t n, int64_t D, bool acc))                                       \
    X(void, look_rows,                                                                             \
      (float *out, int64_t ldo, const float *table, int64_t stride, const int64_t *ids, int64_t n, \
       int64_t more, int64_t D))                                                                   \
    X(void, seg_sum,                                                                               \
      (float *out, int64_t ldo, const float *x, int64_t ldx, const int32_t *row,                   \
       const int32_t *seg, int64_t U, int64_t D))                                                  \
    X(void, lane_sums,                                                                             \
      (float *out, const float *const *x, const int64_t *ld, const cr_entry *e,                    \
       const uint32_t *seg, int64_t n, int64_t end, int lane0, const uint8_t *const *shared,       \
       int64_t D))                                                                                 \
    X(void, pool,                                                                                  \
      (float *out, const float *table, int64_t stride, const int64_t *ids, const float *w,         \
       int64_t n, int64_t D, bool acc))

/* ---- interactions: per row, x is F vectors of D side by side (F * D floats) ----
 *
 * fm:     s = sum over f in order of x[f,d]; q = sum over f of x[f,d]^2; out[d] = 0.5 * (s*s - q)
 * fm_bwd: dx[f,d] = dy[d] * (s - x[f,d])  [acc]
 * pairs:  out[i,j] = sum over d in order of x[i,d] * x[j,d], for i < j, row-major: (0,1) (0,2) ..
 * pairs_bwd: dx[i,d] = sum over j != i, ascending, of dy[i,j] * x[j,d], starting from 0; [acc]: the
 *     sum is then added to dx
 */
#define CR_KERNELS_INTER(X)                                                                        \
    X(void, fm,                                                                                    \
      (float *out, int64_t ldo, const float *x, int64_t ldx, int64_t B, int64_t F, int64_t D))     \
    X(void, fm_bwd,                                                                                \
      (float *dx, int64_t lddx, const float *dy, int64_t lddy, const float *x, int64_t ldx,        \
       int64_t B, int64_t F, int64_t D, bool acc))                                                 \
    X(void, pairs,                                                                                 \
      (float *out, int64_t ldo, const float *x, int64_t ldx, int64_t B, int64_t F, int64_t D))     \
    X(void, pairs_bwd,                                                                             \
      (float *dx, int64_t lddx, const float *dy, int64_t lddy, const float *x, int64_t ldx,        \
       int64_t B, int64_t F, int64_t D, bool acc))

/* ---- 16-bit floats; half: CR_HALF_BF16 or CR_HALF_FP16 ----
 *
 * round16: out[i] = the nearest 16-bit value of x[i] (ties to even), as a float    in place
 * from16, to16: 16-bit values to floats; floats to the nearest 16-bit values
 * to16_chance: rounds up with the probability of the distance from the lower value, using rnd[i],
 *     which is uniform in 0 .. 65535; finite values stay finite
 * draw16: draws such numbers, rnd[i] = 16 bits of cr_rng_u64(key, i - i % 4) from bit 16 (i % 4)
 *     on
 * pool16: like pool, over rows of 16-bit values; stride counts these values
 */
#define CR_KERNELS_HALF(X)                                                                         \
    X(void, round16, (float *out, const float *x, int64_t n, int half))                            \
    X(void, from16, (float *out, const uint16_t *x, int64_t n, int half))                          \
    X(void, to16, (uint16_t * out, const float *x, int64_t n, int half))                           \
    X(void, to16_chance,                                                                           \
      (uint16_t * out, const float *x, const uint16_t *rnd, int64_t n, int half))                  \
    X(void, draw16, (uint16_t * rnd, uint64_t key, int64_t n))                                     \
    X(void, pool16,                                                                                \
      (float *out, const uint16_t *table, int64_t stride, const int64_t *ids, const float *w,      \
       int64_t n, int64_t D, int half))

/* ---- keys ----
 *
 * mix63: key[i] = cr_mix63(id[i]) (base/rng.h); in place
 */
#define CR_KERNELS_KEY(X) X(void, mix63, (int64_t * key, const int64_t *id, int64_t n))

/* ---- batch norm ----
 *
 * bn_bwd: col is 4 rows of D: mean, rstd, scale, shift. For each d, rows in order, with
 *     g = dy[b,d], or 0 where relu and not x[b,d] * scale[d] + shift[d] > 0;  v = x[b,d] - mean[d]:
 *     dgamma[d] += (g * v) * rstd[d];  dbeta[d] += g;  dx[b,d] = g * scale[d], [acc]; in double
 *     dstat[d] -= g * scale[d];  dstat[D+d] -= (g * v) * (0.5 * scale[d] * rstd[d] * rstd[d]).
 *     Rows of dx, dy and x lie ld apart; dx may be NULL
 * center_rows: out[b,d] = c[d] + c[D+d] * (x[b,d] - mean[d]), [acc]; rows lie ld apart
 */
#define CR_KERNELS_NORM(X)                                                                         \
    X(void, bn_bwd,                                                                                \
      (float *dx, float *dgamma, float *dbeta, double *dstat, const float *dy, const float *x,     \
       int64_t ld, const float *col, int64_t B, int64_t D, bool relu, bool acc))                   \
    X(void, center_rows,                                                                           \
      (float *out, int64_t ld, const float *x, const float *mean, const float *c, int64_t B,       \
       int64_t D, bool acc))

/* ---- softmax: B rows of n scores without gaps ----
 *
 * softmax: in place, scale > 0; for each row, most = the largest x[j], NaN left out (or -infinity):
 *     x[j] = exp((x[j] - most) * scale);  s = 1 / sum of x, in sum's order;  x[j] = s * x[j]
 * softmax_bwd: out[b,j] = (scale * y[b,j]) * (dy[b * ldd + j] - dot of y[b,:] and dy's row)
 *     ldd may be 0: one row of dy for all rows of y. In place on dy when ldd is n
 */
#define CR_KERNELS_SOFT(X)                                                                         \
    X(void, softmax, (float *x, float scale, int64_t B, int64_t n))                                \
    X(void, softmax_bwd,                                                                           \
      (float *out, const float *y, const float *dy, int64_t ldd, float scale, int64_t B,           \
       int64_t n))

/* ---- products between fields ----
 *
 * outer: for each m < M: z[m,h,f] = a[m,h] * b[m,f]; rows of a (and da) are lda apart, the rest is
 *     without gaps
 * outer_bwd_a: da[m,h] = dot of dz[m,h,:] and b[m,:], in dot's order  [acc]
 * outer_bwd_b: db[m,f] = sum over h in order of a[m,h] * dz[m,h,f], starting from 0  [acc]
 * ffm: x (F, F, D); sum over i < j, (0,1) (0,2) .., and d of x[i,j,d] * x[j,i,d]: element d goes to
 *     partial sum d % 16, in order; the 16 are then added as in dot
 * ffm_bwd: dx[i,j,d] = dy * x[j,i,d], 0 for i = j  [acc]
 */
#define CR_KERNELS_FIELD(X)                                                                        \
    X(void, outer,                                                                                 \
      (float *z, const float *a, int64_t lda, const float *b, int64_t M, int64_t H, int64_t F))    \
    X(void, outer_bwd_a,                                                                           \
      (float *da, int64_t lda, const float *dz, const float *b, int64_t M, int64_t H, int64_t F,   \
       bool acc))                                                                                  \
    X(void, outer_bwd_b,                                                                           \
      (float *db, const float *dz, const float *a, int64_t lda, int64_t M, int64_t H, int64_t F,   \
       bool acc))                                                                                  \
    X(float, ffm, (const float *x, int64_t F, int64_t D))                                          \
    X(void, ffm_bwd, (float *dx, float dy, const float *x, int64_t F, int64_t D, bool acc))

/* The levels above avx512 have their own version of CR_KERNELS_BF16_DOT, and of nothing else. */
#define CR_KERNELS(X)                                                                              \
    CR_KERNELS_REST(X)                                                                             \
    CR_KERNELS_BF16_DOT(X)
#define CR_KERNELS_REST(X)                                                                         \
    CR_KERNELS_GEMM(X)                                                                             \
    CR_KERNELS_VEC(X)                                                                              \
    CR_KERNELS_ACT(X)                                                                              \
    CR_KERNELS_ROW(X)                                                                              \
    CR_KERNELS_SOFT(X)                                                                             \
    CR_KERNELS_FIELD(X)                                                                            \
    CR_KERNELS_INTER(X)                                                                            \
    CR_KERNELS_HALF(X)                                                                             \
    CR_KERNELS_KEY(X)                                                                              \
    CR_KERNELS_NORM(X)

#endif
