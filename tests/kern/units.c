/*
 * units.c - BF16 products that follow each other and keep what lies between them as units: the code
 * of the tile unit, on a model of that unit (and on the unit itself where the CPU has one), gives
 * the bits that products between floats give. First the kernels: each form that a product writes,
 * and what the next products make of it. Then layers in a graph, where the engine decides which
 * values are units.
 */
#include "util.h"

#include "base/mem.h"
#include "graph/gradcheck.h"
#include "graph/work.h"
#include "op/op.h"

#define DECLARE(ret, name, args) ret cr_##name##_tile_model args;
CR_KERNELS_BF16_DOT(DECLARE)
CR_KERNELS_UNITS(DECLARE)
#undef DECLARE
#ifdef HAVE_TILE_MODEL_512
#define DECLARE(ret, name, args) ret cr_##name##_tile_model_512 args;
CR_KERNELS_BF16_DOT(DECLARE)
CR_KERNELS_UNITS(DECLARE)
#undef DECLARE
#endif

/* The best level whose products have the same order, with the products of the tile unit. */
enum { PLAIN, VECTOR, UNIT, WAYS };
static const cr_kernels *below(void) {
    const cr_kernels *k = cr_kern_at(CR_CPU_AVX512);
    return k ? k : cr_kern_at(CR_CPU_C);
}
static bool way_of(int i, cr_kernels *k) {
    *k = *below();
    if (i == PLAIN) {
        k->gemm_bf16 = cr_gemm_bf16_tile_model;
        k->gemm_bf16_tn = cr_gemm_bf16_tn_tile_model;
        k->gemm_units = cr_gemm_units_tile_model;
        k->gemm_units_tn = cr_gemm_units_tn_tile_model;
        return true;
    }
#ifdef HAVE_TILE_MODEL_512
    if (i == VECTOR && cr_kern_at(CR_CPU_AVX512)) {
        k->gemm_bf16 = cr_gemm_bf16_tile_model_512;
        k->gemm_bf16_tn = cr_gemm_bf16_tn_tile_model_512;
        k->gemm_units = cr_gemm_units_tile_model_512;
        k->gemm_units_tn = cr_gemm_units_tn_tile_model_512;
        return true;
    }
#endif
    if (i == UNIT && cr_kern_at(CR_CPU_AMX)) {
        *k = *cr_kern_at(CR_CPU_AMX);
        return true;
    }
    return false;
}

/* values with zeros of both signs, denormals, and if `hard` some that are infinite or NaN */
static void fill_mixed(float *x, int64_t n, uint64_t seed, bool hard) {
    fill(x, n, seed);
    for (int64_t i = 0; i < n; i++)
        switch (cr_rng_u64(seed + 1, (uint64_t)i) % 41) {
        case 0: x[i] = 0; break;
        case 1: x[i] = -0.0f; break;
        case 2: x[i] *= 0x1p-130f; break;
        case 3: x[i] *= 0x1p-60f; break;
        case 4:
            if (hard && i % 7 == 0) x[i] = i % 2 ? INFINITY : NAN;
            break;
        default: break;
        }
}
static float *floats(int64_t n, uint64_t seed, bool hard) {
    float *x = cr_alloc((size_t)(n + 1) * 4, "floats");
    fill_mixed(x, n, seed, hard);
    return x;
}
static uint32_t *words(const guarded *g) {
    return (uint32_t *)(void *)g->p;
}

/* The transposes of all tiles of 16 x 16 words. */
static void turn(uint32_t *d, const uint32_t *s, int64_t n) {
    for (int64_t t = 0; t < n; t += 256)
        for (int r = 0; r < 16; r++)
            for (int c = 0; c < 16; c++)
                d[t + 16 * r + c] = s[t + 16 * c + r];
}

/* Equal words; two BF16 values that are NaN count as equal. */
static bool same_units(const uint32_t *a, const uint32_t *b, int64_t n) {
    for (int64_t i = 0; i < 2 * n; i++) {
        uint32_t x = a[i / 2] >> (i % 2 * 16) & 0xffff, y = b[i / 2] >> (i % 2 * 16) & 0xffff;
        bool nan = (x & 0x7fff) > 0x7f80 && (y & 0x7fff) > 0x7f80;
        if (x != y && !nan) {
            fprintf(stderr, "value %lld of %lld is %04x, expected %04x\n", (long long)i,
                    (long long)(2 * n), x, y);
            return false;
        }
    }
    return true;
}

/* All forms of a matrix. The packing of right-hand matrices is tested in gemm_bf16.c: that of Y are
 * its pairs, and that of its transpose are its rows with turned words. */
typedef struct forms {
    guarded f, rows, pairs, turned, above;
    cr_units u;
} forms;
static forms forms_new(int64_t M, int64_t N, int parts) {
    int64_t n = cr_units_size(M, N, parts);
    forms s = {.f = guard_new(M * (N + 3), 1),
               .rows = guard_new(n, 0),
               .pairs = guard_new(n, 0),
               .turned = guard_new(n, 0),
               .above = guard_new(cr_units_above(M, N), 1)};
    s.u = (cr_units){s.f.p,          N + 3, words(&s.rows), words(&s.pairs), words(&s.turned),
                     words(&s.above)};
    return s;
}
static void forms_free(forms *s) {
    CHECK(guard_intact(&s->f) && guard_intact(&s->rows) && guard_intact(&s->pairs));
    CHECK(guard_intact(&s->turned) && guard_intact(&s->above));
    guard_free(&s->f), guard_free(&s->rows), guard_free(&s->pairs), guard_free(&s->turned);
    guard_free(&s->above);
}
static void check_forms(const forms *s, const float *Y, int64_t M, int64_t N, int parts,
                        bool relu) {
    int64_t n = cr_units_size(M, N, parts);
    uint32_t *want = cr_alloc((size_t)n * 4, "units"), *t = cr_alloc((size_t)n * 4, "units");
    for (int64_t m = 0; m < M; m++)
        CHECK_SAME(s->f.p + m * (N + 3), Y + m * N, N);
    const cr_kernels *c = cr_kern_at(CR_CPU_C);
    c->gemm_bf16_pack(want, Y, N, false, M, N, 0, cr_gemm_panels(N), parts);
    CHECK(same_units(s->u.pairs, want, n));
    turn(t, want, n);
    CHECK(same_units(s->u.turned, t, n));
    c->gemm_bf16_pack(want, Y, N, true, N, M, 0, cr_gemm_panels(M), parts);
    turn(t, want, n);
    CHECK(same_units(s->u.rows, t, n));
    for (int64_t m = 0; relu && m < M; m++)
        for (int64_t i = 0; i < N; i++) {
            const uint32_t *w = s->u.above + (m / 32 * cr_gemm_panels(N) + i / 32) * 32 + m % 32;
            if ((*w >> i % 32 & 1) != (Y[m * N + i] > 0)) {
                fprintf(stderr, "bit of row %lld, column %lld\n", (long long)m, (long long)i);
                CHECK(false);
                m = M;
                break;
            }
        }
    cr_free(want), cr_free(t);
}

/* Y = relu(X W + b), Z = Y V; back: dY = mask(dZ V'), dX = dY W', and the gradients of V and W: by
 * units and by floats. */
static void chain(const cr_kernels *k, int64_t M, int64_t K, int64_t N, int64_t P, int parts,
                  bool hard) {
    const cr_kernels *c = cr_kern_at(CR_CPU_C);
    float *X = floats(M * K, 1, hard), *W = floats(K * N, 2, false), *V = floats(N * P, 3, false);
    float *b = floats(N, 4, false), *dZ = floats(M * P, 5, hard);
    float *Y = floats(M * N, 6, false), *Z = floats(M * P, 7, false), *dY = floats(M * N, 8, false);
    float *dX = floats(M * K, 9, false), *dW = floats(K * N, 10, false),
          *dV = floats(N * P, 10, false), *got = floats(K * N + N * P + M * (K + P), 10, false);
    int64_t most = K > N ? K : N, nn, tn, units;
    most = P > most ? P : most;
    nn = cr_gemm_bf16_scratch(M, most, parts);
    tn = cr_gemm_bf16_tn_scratch(most, most, M, parts);
    units = cr_gemm_units_scratch(M, most, parts);
    guarded S = guard_new(units > tn ? units : tn, 3);
    float *room = cr_alloc((size_t)(nn > tn ? nn : tn) * 4, "scratch");
    uint32_t *w[4];
    const float *from[4] = {W, V, W, V};
    for (int i = 0; i < 4; i++) { /* forwards, then backwards */
        int64_t r = i % 2 ? N : K, q = i % 2 ? P : N;
        w[i] = cr_alloc((size_t)(cr_gemm_bf16_pack_size(most, most, parts)) * 4, "packed");
        if (i < 2)
            c->gemm_bf16_pack(w[i], from[i], q, false, r, q, 0, cr_gemm_panels(q), parts);
        else
            c->gemm_bf16_pack(w[i], from[i], q, true, q, r, 0, cr_gemm_panels(r), parts);
    }
    /* floats */
    const cr_kernels *f = below();
    int relu = CR_GEMM_BIAS | CR_GEMM_RELU;
    f->gemm_bf16(Y, N, X, K, w[0], M, N, K, relu, b, parts, room);
    f->gemm_bf16(Z, P, Y, N, w[1], M, P, N, 0, NULL, parts, room);
    f->gemm_bf16(dY, N, dZ, P, w[3], M, N, P, CR_GEMM_MASK, Y, parts, room);
    f->gemm_bf16(dX, K, dY, N, w[2], M, K, N, CR_GEMM_ACC, NULL, parts, room);
    f->gemm_bf16_tn(dW, N, X, K, dY, N, K, N, M, 0, parts, room);
    f->gemm_bf16_tn(dV, N, dZ, P, Y, N, P, N, M, CR_GEMM_ACC, parts, room);
    /* units */
    forms y = forms_new(M, N, parts), dy = forms_new(M, N, parts);
    const cr_units x = {.f = X, .ld = K}, dz = {.f = dZ, .ld = P};
    k->gemm_units(&y.u, &x, w[0], M, N, K, relu, b, parts, S.p);
    check_forms(&y, Y, M, N, parts, true);
    float *z = got, *dx = z + M * P, *dv = dx + M * K, *dw = dv + N * P;
    k->gemm_units(&(cr_units){.f = z, .ld = P}, &(cr_units){.rows = y.u.rows}, w[1], M, P, N, 0,
                  NULL, parts, S.p);
    CHECK_SAME(z, Z, M * P);
    dy.u.above = y.u.above;
    k->gemm_units(&dy.u, &dz, w[3], M, N, P, CR_GEMM_MASK, NULL, parts, S.p);
    check_forms(&dy, dY, M, N, parts, false);
    /* a mask of floats, and turned alone */
    forms again = forms_new(M, N, parts);
    cr_units t = {.f = again.f.p, .ld = N, .turned = again.u.turned};
    k->gemm_units(&t, &dz, w[3], M, N, P, CR_GEMM_MASK, Y, parts, S.p);
    CHECK_SAME(t.f, dY, M * N);
    CHECK(same_units(t.turned, dy.u.turned, cr_units_size(M, N, parts)));
    fill_mixed(dx, M * K, 9, false);
    k->gemm_units(&(cr_units){.f = dx, .ld = K}, &(cr_units){.rows = dy.u.rows}, w[2], M, K, N,
                  CR_GEMM_ACC, NULL, parts, S.p);
    CHECK_SAME(dx, dX, M * K);
    k->gemm_units_tn(dw, N, &x, &(cr_units){.pairs = dy.u.pairs}, K, N, M, 0, parts, S.p);
    CHECK_SAME(dw, dW, K * N);
    fill_mixed(dv, N * P, 10, false);
    k->gemm_units_tn(dv, N, &dz, &(cr_units){.pairs = y.u.pairs}, P, N, M, CR_GEMM_ACC, parts, S.p);
    CHECK_SAME(dv, dV, N * P);
    /* both sides are there: Y' dY, by floats in tn's way with Y as the left side */
    float *a = floats(N * N, 11, false), *e = floats(N * N, 12, false);
    f->gemm_bf16_tn(a, N, Y, N, dY, N, N, N, M, 0, parts, room);
    k->gemm_units_tn(e, N, &(cr_units){.turned = y.u.turned}, &(cr_units){.pairs = dy.u.pairs}, N,
                     N, M, 0, parts, S.p);
    CHECK_SAME(e, a, N * N);
    CHECK(guard_intact(&S));
    guard_free(&S);
    forms_free(&y), forms_free(&dy), forms_free(&again);
    float *all[] = {X, W, V, b, dZ, Y, Z, dY, dX, dW, dV, got, room, a, e};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        cr_free(all[i]);
    for (int i = 0; i < 4; i++)
        cr_free(w[i]);
}

static void kernels(int way) {
    cr_kernels k;
    if (!way_of(way, &k)) SKIP("this CPU does not have the level");
    static const int64_t sizes[][4] = {{1, 1, 1, 1},     {32, 32, 32, 32}, {33, 31, 65, 40},
                                       {64, 40, 64, 20}, {7, 70, 33, 5},   {100, 20, 12, 66}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int parts = 1; parts <= 3; parts++)
            chain(&k, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3], parts, i % 2);
    chain(&k, 290, 3, 34, 4, 1, false); /* more rows than are computed at a time */
    chain(&k, 140, 3, 34, 4, 2, false);
    chain(&k, 20, 4, 550, 3, 1, false); /* a long k */
}
TEST(kernels_plain) {
    kernels(PLAIN);
}
TEST(kernels_vector) {
    kernels(VECTOR);
}
TEST(kernels_unit) {
    kernels(UNIT);
}

/* ---- layers ---- */

/* Four layers: ReLU and bias, both missing, a last one of one output; or all alike. */
static cr_node *layers(cr_graph *g, bool alike) {
    static const int64_t widths[] = {45, 70, 33, 40, 96, 1};
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    cr_node *x = cr_feed(g, widths[0]);
    for (int i = 0; i < 5; i++) {
        size_t mark = cr_graph_push(g, "%s", names[i]);
        cr_node *W = cr_graph_param(g, "w", widths[i + 1], widths[i], true, NULL, 0);
        cr_node *b =
            i == 2 && !alike ? NULL : cr_graph_param(g, "b", 1, widths[i + 1], true, NULL, 0);
        x = cr_matmul(g, x, W, b, alike || i != 1);
        cr_graph_pop(g, mark);
    }
    return x;
}

static int n_calls;
static cr_kernels counted;
static void count(const cr_units *C, const cr_units *A, const uint32_t *packed, int64_t M,
                  int64_t N, int64_t K, int flags, const float *bias, int parts, float *scratch) {
    n_calls += C->rows || A->rows;
    counted.gemm_units(C, A, packed, M, N, K, flags, bias, parts, scratch);
}

/* The hash of one step; *own: how many nodes may have their own form; *calls: products with
 * units. */
static uint64_t step_of(const cr_kernels *k, cr_products p, bool alike, cr_gradcheck_opts o,
                        int *own, int *calls) {
    const cr_kernels *was = cr_kern;
    cr_kernels use = *k;
    counted = *k;
    if (use.gemm_units) use.gemm_units = count;
    cr_kern = &use;
    cr_graph g;
    cr_graph_init(&g, 3);
    g.products = (int)p;
    cr_node *out = layers(&g, alike);
    cr_matmul_finish(&g);
    *own = n_calls = 0;
    for (int i = 0; i < g.n; i++)
        *own += g.nodes[i]->own_val > 0;
    cr_grad_bits bits;
    CHECK_INT(cr_grad_hash(&g, out, &o, &bits, NULL), 0);
    *calls = n_calls;
    cr_graph_clear(&g);
    cr_kern = was;
    return bits.whole + bits.rows;
}

static void steps(int way) {
    cr_kernels k;
    if (!way_of(way, &k)) SKIP("this CPU does not have the level");
    for (int p = 0; p < CR_PRODUCTS_KINDS; p++)
        for (int alike = 0; alike < 2; alike++) {
            int own, calls, parts = cr_products_parts((cr_products)p);
            cr_gradcheck_opts o = {.threads = 1, .lanes = 1, .tile_rows = 32};
            uint64_t want = step_of(below(), (cr_products)p, alike, o, &own, &calls);
            CHECK_INT(own, 0);
            CHECK(want == step_of(&k, (cr_products)p, alike, o, &own, &calls));
            CHECK_INT(own, parts ? 3 : 0);       /* the last layer is FP32 */
            CHECK_INT(calls, parts ? 2 * 8 : 0); /* tiles of 32 and of 5 rows, both ways */
            /* two lanes; tiles of all rows; tiles that are no whole blocks keep floats */
            o.lanes = 2, o.threads = way == PLAIN ? 1 : 2;
            want = step_of(below(), (cr_products)p, alike, o, &own, &calls);
            CHECK(want == step_of(&k, (cr_products)p, alike, o, &own, &calls));
            o.tile_rows = 64;
            CHECK(want == step_of(&k, (cr_products)p, alike, o, &own, &calls));
            o.tile_rows = 9;
            CHECK(want == step_of(&k, (cr_products)p, alike, o, &own, &calls));
            CHECK_INT(calls, 0);
            /* lanes without rows; once, since each row is then a block of its own */
            if (p != CR_PRODUCTS_BF16 || alike) continue;
            o.tile_rows = 32, o.lanes = 64;
            want = step_of(below(), (cr_products)p, alike, o, &own, &calls);
            CHECK(want == step_of(&k, (cr_products)p, alike, o, &own, &calls));
            CHECK(calls > 0);
        }
}
TEST(layers_plain) {
    steps(PLAIN);
}
TEST(layers_vector) {
    steps(VECTOR);
}
TEST(layers_unit) {
    steps(UNIT);
}

/* ---- target attention ---- */

static int n_bf16, n_fp32;
static void count_bf16(float *C, int64_t ldc, const float *A, int64_t lda, const uint32_t *packed,
                       int64_t M, int64_t N, int64_t K, int flags, const float *bias, int parts,
                       float *scratch) {
    n_bf16++;
    counted.gemm_bf16(C, ldc, A, lda, packed, M, N, K, flags, bias, parts, scratch);
}
static void count_bf16_tn(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                          int64_t ldb, int64_t M, int64_t N, int64_t K, int flags, int parts,
                          float *scratch) {
    n_bf16++;
    counted.gemm_bf16_tn(C, ldc, A, lda, B, ldb, M, N, K, flags, parts, scratch);
}
static void count_fp32(float *C, int64_t ldc, const float *A, int64_t lda, const float *packed,
                       int64_t M, int64_t N, int64_t K, int flags, const float *bias) {
    n_fp32++;
    counted.gemm(C, ldc, A, lda, packed, M, N, K, flags, bias);
}

/* The hash of one step of an attention of two layers over sequences; counts its products. */
static uint64_t attend(const cr_kernels *k, cr_products p, int threads) {
    const cr_kernels *was = cr_kern;
    cr_kernels use = *k;
    counted = *k;
    use.gemm_bf16 = count_bf16;
    use.gemm_bf16_tn = count_bf16_tn;
    use.gemm = use.gemm_nz = count_fp32;
    cr_kern = &use;
    cr_graph g;
    cr_graph_init(&g, 5);
    g.products = (int)p;
    cr_node *q = cr_feed(&g, 20), *s = cr_feed_seq(&g, cr_graph_axis(&g), 20);
    cr_node *V = cr_graph_param(&g, "v", 70, 80, true, NULL, 0);
    cr_node *a = cr_graph_param(&g, "a", 1, 70, true, NULL, 0);
    cr_node *W = cr_graph_param(&g, "w", 33, 70, true, NULL, 0);
    cr_node *b = cr_graph_param(&g, "b", 1, 33, true, NULL, 0);
    cr_node *out = cr_matmul(&g, cr_din(&g, q, s, V, a, true), W, b, true);
    cr_matmul_finish(&g);
    cr_gradcheck_opts o = {.threads = threads, .lanes = 1, .tile_rows = 32};
    cr_grad_bits bits;
    n_bf16 = n_fp32 = 0;
    CHECK_INT(cr_grad_hash(&g, out, &o, &bits, NULL), 0);
    cr_graph_clear(&g);
    cr_kern = was;
    return bits.whole + bits.rows;
}
/* All products of positions are the tile unit's; the row's part of the first layer alone is FP32,
 * forward and backward in each of two tiles. */
TEST(attention) {
    for (int way = 0; way < WAYS; way++) {
        cr_kernels k;
        if (!way_of(way, &k)) continue;
        for (int p = CR_PRODUCTS_BF16; p < CR_PRODUCTS_KINDS; p++) {
            if (!cr_products_parts((cr_products)p)) continue;
            uint64_t want = attend(below(), (cr_products)p, 1);
            int calls = n_bf16;
            CHECK(want == attend(&k, (cr_products)p, 1));
            CHECK_INT(n_bf16, calls);
            CHECK(calls >= 2 * (2 + 3 + 3)); /* two layers: y; dx and, in two pieces for one, dW */
            CHECK_INT(n_fp32, 4);
        }
    }
}

/* Scores of a plan for inference; an output in the middle keeps floats. */
static void scores_of(const cr_kernels *k, bool middle, float *scores, int *calls) {
    const cr_kernels *was = cr_kern;
    cr_kernels use = *k;
    counted = *k;
    if (use.gemm_units) use.gemm_units = count;
    cr_kern = &use;
    cr_graph g;
    cr_graph_init(&g, 4);
    g.products = CR_PRODUCTS_BF16;
    cr_node *out = layers(&g, true);
    out->output = true;
    if (middle)
        out->in[0]->output = out->in[0]->in[0]->output = out->in[0]->in[0]->in[0]->output = true;
    cr_matmul_finish(&g);
    CHECK_INT(cr_graph_alloc(&g, NULL), 0);
    for (int i = 0; i < g.n; i++)
        if (g.nodes[i]->cls == CR_PARAM)
            cr_feed_fill(g.nodes[i]->w, g.nodes[i]->width, 77 + (uint64_t)i);
    cr_plan *plan = NULL;
    cr_work *w = NULL;
    cr_plan_opts o = {.graph = &g, .mode = CR_EVAL, .max_rows = CR_FEED_ROWS, .lanes = 1};
    CHECK_INT(cr_plan_new(&plan, &o, NULL), 0);
    CHECK_INT(cr_work_new(&w, plan, NULL, NULL), 0);
    cr_plan_pack(plan, NULL);
    n_calls = 0;
    CHECK_INT(cr_work_run(w, &(cr_run){.n_rows = CR_FEED_ROWS}, NULL), 0);
    for (int64_t r = 0; r < CR_FEED_ROWS; r++)
        scores[r] = cr_work_val(w, out)[r * cr_ld(out)];
    *calls = n_calls;
    cr_work_free(w);
    cr_plan_free(plan);
    cr_graph_clear(&g);
    cr_kern = was;
}
TEST(inference) {
    float want[CR_FEED_ROWS], got[CR_FEED_ROWS];
    int calls;
    scores_of(below(), false, want, &calls);
    for (int way = 0; way < WAYS; way++) {
        cr_kernels k;
        if (!way_of(way, &k)) continue;
        for (int middle = 0; middle < 2; middle++) {
            scores_of(&k, middle, got, &calls);
            CHECK_SAME(got, want, CR_FEED_ROWS);
            CHECK_INT(calls, middle ? 2 : 4);
        }
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(kernels_plain), CASE(kernels_vector), CASE(kernels_unit),
                                   CASE(layers_plain),  CASE(layers_vector),  CASE(layers_unit),
                                   CASE(attention),     CASE(inference)};
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
