/*
 * rows.c - vector, row and interaction kernels: every level against the specification of list.h,
 * written out here element by element, bit by bit. The build forbids contraction for this file.
 */
#include "util.h"

#include "base/mem.h"

TEST(vectors) {
    EACH_LEVEL(k)
    for (int64_t n = 0; n < 150; n += n < 70 ? 1 : 13) {
        guarded x = guard_new(n, (int)(n % 16)), y = guard_new(n, 3), o = guard_new(n, 7);
        guarded r = guard_new(n, 0);
        fill(x.p, n, 1), fill(y.p, n, 2);
        float got[2] = {k->dot(x.p, y.p, n), k->sum(x.p, n)};
        float want[2] = {spec_dot(x.p, y.p, n), spec_sum(x.p, n)};
        CHECK_SAME(got, want, 2);
#define VEC(call, expr)                                                                            \
    do {                                                                                           \
        fill(o.p, n, 3), fill(r.p, n, 3);                                                          \
        call;                                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float a = 0.3f, b = 0.7f, ax = a * x.p[i], by = b * y.p[i], xy = x.p[i] * y.p[i];      \
            (void)a, (void)ax, (void)by, (void)xy;                                                 \
            r.p[i] = expr;                                                                         \
        }                                                                                          \
        CHECK_SAME(o.p, r.p, n);                                                                   \
        CHECK(guard_intact(&o));                                                                   \
    } while (0)
        VEC(k->axpy(o.p, 0.3f, x.p, n), r.p[i] + ax);
        VEC(k->scale_add(o.p, 0.3f, x.p, 0.7f, y.p, n), ax + by);
        VEC(k->scale(o.p, 0.3f, x.p, n), ax);
        VEC(k->add(o.p, x.p, y.p, n), x.p[i] + y.p[i]);
        VEC(k->mul(o.p, x.p, y.p, n, false), xy);
        VEC(k->mul(o.p, x.p, y.p, n, true), r.p[i] + xy);
        CHECK(guard_intact(&x) && guard_intact(&y));
        guard_free(&x), guard_free(&y), guard_free(&o), guard_free(&r);
    }
}

TEST(rows_and_columns) {
    EACH_LEVEL(k)
    for (int64_t D = 1; D < 140; D += 6)
        for (int64_t B = 0; B < 12; B += 5) {
            int64_t ldx = D + D % 3, ldo = D + D % 2;
            guarded x = guard_new(B * ldx, 1), o = guard_new(B * ldo, 2), r = guard_new(B * ldo, 0);
            guarded scale = guard_new(D, 3), shift = guard_new(D, 5), s = guard_new(D, 4);
            guarded t = guard_new(D, 0);
            fill(x.p, x.n, 1), fill(scale.p, D, 2), fill(shift.p, D, 3);
            for (int acc = 0; acc < 2; acc++) {
                fill(o.p, o.n, 4), fill(r.p, o.n, 4);
                k->copy_rows(o.p, ldo, x.p, ldx, B, D, acc);
                for (int64_t b = 0; b < B; b++)
                    for (int64_t d = 0; d < D; d++)
                        r.p[b * ldo + d] = x.p[b * ldx + d] + (acc ? r.p[b * ldo + d] : 0);
                CHECK_SAME(o.p, r.p, o.n);
                k->fill_rows(o.p, ldo, x.p, B, D, acc);
                for (int64_t b = 0; b < B; b++)
                    for (int64_t d = 0; d < D; d++)
                        r.p[b * ldo + d] = x.p[b] + (acc ? r.p[b * ldo + d] : 0);
                CHECK_SAME(o.p, r.p, o.n);
                k->copy_rows(o.p, ldo, x.p, 0, B, D, acc);
                for (int64_t b = 0; b < B; b++)
                    for (int64_t d = 0; d < D; d++)
                        r.p[b * ldo + d] = x.p[d] + (acc ? r.p[b * ldo + d] : 0);
                CHECK_SAME(o.p, r.p, o.n);
            }
            k->row_affine(o.p, ldo, x.p, ldx, scale.p, shift.p, B, D, false);
            fill(s.p, D, 9), fill(t.p, D, 9);
            k->col_sum(s.p, x.p, ldx, B, D);
            double sd[3][140], td[3][140];
            for (int i = 0; i < 3; i++)
                for (int64_t d = 0; d < 140; d++)
                    sd[i][d] = td[i][d] = (double)d * 0.1;
            k->col_sum_d(sd[0], x.p, ldx, B, D);
            k->col_sqdev_d(sd[1], x.p, ldx, scale.p, B, D);
            k->col_dot_d(sd[2], x.p, ldx, x.p, ldx, B, D);
            for (int64_t b = 0; b < B; b++)
                for (int64_t d = 0; d < D; d++) {
                    float v = x.p[b * ldx + d], m = v * scale.p[d];
                    r.p[b * ldo + d] = m + shift.p[d];
                    t.p[d] += v;
                    double e = (double)v - (double)scale.p[d], e2 = e * e;
                    td[0][d] += (double)v, td[1][d] += e2, td[2][d] += (double)v * (double)v;
                }
            CHECK_SAME(o.p, r.p, o.n);
            CHECK_SAME(s.p, t.p, D);
            CHECK(memcmp(sd, td, sizeof sd) == 0);
            CHECK(guard_intact(&o) && guard_intact(&s));
            guard_free(&x), guard_free(&o), guard_free(&r), guard_free(&scale);
            guard_free(&shift), guard_free(&s), guard_free(&t);
        }
}

TEST(diagonals) {
    EACH_LEVEL(k)
    for (int64_t D = 1; D < 140; D += 6)
        for (int64_t B = 0; B < 12; B += 5) {
            int64_t ld = D + D % 3, n = B * ld;
            guarded x = guard_new(n, 1), y = guard_new(n, 2), o = guard_new(n, 3),
                    r = guard_new(n, 0);
            guarded s = guard_new(D + B, 4), ds = guard_new(D, 5), es = guard_new(D, 0);
            guarded dx = guard_new(n, 6), dy = guard_new(n, 7), ex = guard_new(n, 0),
                    ey = guard_new(n, 0);
            fill(x.p, n, 1), fill(y.p, n, 2), fill(s.p, s.n, 3);
            fill(o.p, n, 4), fill(r.p, n, 4);
            k->diag_left(o.p, x.p, s.p, y.p, B, D);
            for (int64_t i = 0; i < B * D; i++) {
                float m = s.p[i / D] * y.p[i];
                r.p[i] = x.p[i] + m;
            }
            CHECK_SAME(o.p, r.p, n);
            k->diag_right(o.p, x.p, s.p, y.p, ld, B, D);
            for (int part = 1; part < 4; part++) { /* 1: of x and y, 2: of s */
                fill(dx.p, n, 5), fill(dy.p, n, 6), fill(ds.p, D, 7);
                fill(ex.p, n, 5), fill(ey.p, n, 6), fill(es.p, D, 7);
                k->diag_right_bwd(part & 1 ? dx.p : NULL, part & 1 ? dy.p : NULL,
                                  part & 2 ? ds.p : NULL, x.p, ld, s.p, y.p, ld, B, D);
                for (int64_t b = 0; b < B; b++)
                    for (int64_t d = 0; d < D; d++) {
                        int64_t i = b * ld + d;
                        float m = s.p[d] * y.p[i], ms = x.p[i] * s.p[d], my = x.p[i] * y.p[i];
                        r.p[i] = x.p[i] + m;
                        if (part & 1) ex.p[i] += x.p[i], ey.p[i] += ms;
                        if (part & 2) es.p[d] += my;
                    }
                CHECK_SAME(o.p, r.p, n);
                CHECK_SAME(dx.p, ex.p, n);
                CHECK_SAME(dy.p, ey.p, n);
                CHECK_SAME(ds.p, es.p, D);
            }
            CHECK(guard_intact(&o) && guard_intact(&dx) && guard_intact(&dy) && guard_intact(&ds));
            guard_free(&x), guard_free(&y), guard_free(&o), guard_free(&r), guard_free(&s);
            guard_free(&ds), guard_free(&es), guard_free(&dx), guard_free(&dy);
            guard_free(&ex), guard_free(&ey);
        }
}

TEST(gathered_sums) {
    enum { ROWS = 9, B = 7, MAX_F = 5 };
    EACH_LEVEL(k)
    for (int64_t D = 1; D < 200; D += D < 70 ? 1 : 29)
        for (int64_t F = 1; F <= MAX_F; F += 2)
            for (int mode = 0; mode < 8; mode++) {
                int flags = (mode & 1 ? CR_GEMM_ADD : 0) | (mode & 2 ? CR_GEMM_BIAS : 0) |
                            (mode & 4 ? CR_GEMM_RELU : 0);
                int64_t ldx = D + D % 4, ldo = D + D % 3, ldk = F + 2;
                guarded x[MAX_F], o = guard_new(B * ldo, 3), r = guard_new(B * ldo, 0);
                guarded bias = guard_new(D, 5);
                const float *px[MAX_F];
                int32_t code[B * (MAX_F + 2)];
                for (int64_t i = 0; i < B * ldk; i++)
                    code[i] = (int32_t)cr_rng_below(11, (uint64_t)i, ROWS);
                for (int f = 0; f < MAX_F; f++) {
                    x[f] = guard_new(ROWS * ldx, f);
                    fill(x[f].p, x[f].n, (uint64_t)f);
                    px[f] = x[f].p;
                }
                fill(bias.p, D, 30), fill(o.p, o.n, 31), fill(r.p, r.n, 31);
                k->gather_sum(o.p, ldo, px, ldx, code, ldk, B, D, F, flags, bias.p);
                for (int64_t b = 0; b < B; b++)
                    for (int64_t d = 0; d < D; d++) {
                        float s = 0;
                        for (int64_t f = 0; f < F; f++) {
                            float v = px[f][code[b * ldk + f] * ldx + d];
                            s = f > 0 ? s + v : flags & CR_GEMM_ADD ? r.p[b * ldo + d] + v : v;
                        }
                        if (flags & CR_GEMM_BIAS) s += bias.p[d];
                        if (flags & CR_GEMM_RELU) s = s <= 0 ? 0 : s;
                        r.p[b * ldo + d] = s;
                    }
                CHECK_SAME(o.p, r.p, o.n);
                CHECK(guard_intact(&o));
                for (int f = 0; f < MAX_F; f++)
                    guard_free(&x[f]);
                guard_free(&o), guard_free(&r), guard_free(&bias);
            }
}

TEST(segment_sums) {
    static const int32_t row[] = {4, 0, 2, 2, 5, 1, 3}, seg[] = {0, 1, 4, 6, 7};
    enum { U = 4, ROWS = 6 };
    EACH_LEVEL(k)
    for (int64_t D = 1; D < 200; D += D < 70 ? 1 : 29) {
        int64_t ldx = D + D % 4, ldo = D + D % 3;
        guarded x = guard_new(ROWS * ldx, 1), o = guard_new(U * ldo, 2), r = guard_new(U * ldo, 0);
        fill(x.p, x.n, 1), fill(o.p, o.n, 2), fill(r.p, r.n, 2);
        k->seg_sum(o.p, ldo, x.p, ldx, row, seg, U, D);
        for (int64_t u = 0; u < U; u++)
            for (int64_t d = 0; d < D; d++) {
                float s = x.p[row[seg[u]] * ldx + d];
                for (int32_t i = seg[u] + 1; i < seg[u + 1]; i++)
                    s += x.p[row[i] * ldx + d];
                r.p[u * ldo + d] = s;
            }
        CHECK_SAME(o.p, r.p, o.n);
        fill(o.p, o.n, 2), fill(r.p, r.n, 2);
        k->take_rows(o.p, ldo, x.p, ldx, row, U, D);
        for (int64_t u = 0; u < U; u++)
            for (int64_t d = 0; d < D; d++)
                r.p[u * ldo + d] = x.p[row[u] * ldx + d];
        CHECK_SAME(o.p, r.p, o.n);
        CHECK(guard_intact(&o) && guard_intact(&x));
        guard_free(&x), guard_free(&o), guard_free(&r);
    }
}

/* The sum of lanes [from, end) by the balanced tree; false: none of them has an entry. */
static bool lanes_sum(float *out, const cr_entry *e, int64_t n, const float *const *x,
                      const int64_t *ld, const uint8_t *const *shared, int lane0, int from, int end,
                      int64_t d) {
    if (end - from > 1) {
        float right;
        int mid = (from + end) / 2;
        bool a = lanes_sum(out, e, n, x, ld, shared, lane0, from, mid, d),
             b = lanes_sum(&right, e, n, x, ld, shared, lane0, mid, end, d);
        if (b) *out = a ? *out + right : right;
        return a || b;
    }
    bool any = false;
    for (int64_t i = 0; i < n; i++) {
        uint32_t s = cr_entry_slot(e[i]), lane = cr_entry_lane(e[i]);
        if ((int)lane + lane0 != from) continue;
        if (i > 0 && e[i].at == e[i - 1].at && shared && shared[s] && shared[s][lane]) continue;
        float v = x[s][e[i].row * ld[s] + d];
        *out = any ? *out + v : v;
        any = true;
    }
    return any;
}

/* ids with 1 to 40 entries in up to 21 lanes of two matrices, some of which share sums, in two
 * calls; the entries end with their block of memory */
TEST(sums_over_lanes) {
    enum { N = 60, LANES = 21, ROWS = 9, FIRST = 17 };
    static uint8_t flags[LANES];
    const uint8_t *const some[] = {flags, NULL};
    uint32_t seg[N + 1] = {0};
    cr_entry *all = cr_alloc((size_t)N * 40 * sizeof(*all), "entries");
    for (int l = 0; l < LANES; l++)
        flags[l] = l % 3 == 0;
    for (uint32_t u = 0; u < N; u++) {
        uint32_t lane = (uint32_t)cr_rng_below(5, u, 4), slot = 0, k = seg[u], count = 1 + u % 40;
        for (; k < seg[u] + count && lane < LANES; k++) {
            uint64_t what = cr_rng_below(6, k, 6);
            all[k] = (cr_entry){(uint32_t)cr_rng_below(7, k, ROWS), lane + CR_ENTRY_LANES * slot};
            if (what == 0 && slot == 0) slot = 1;
            if (what > (u % 2 ? 1 : 3)) lane += 1 + (uint32_t)cr_rng_below(8, k, 5), slot = 0;
        }
        seg[u + 1] = k;
    }
    cr_entry *e = cr_alloc(seg[N] * sizeof(*e), "entries");
    memcpy(e, all, seg[N] * sizeof(*e));
    EACH_LEVEL(k)
    for (int64_t D = 1; D < 200; D += D < 70 ? 1 : 29)
        for (int mode = 0; mode < 4; mode++) {
            const uint8_t *const *shared = mode % 2 ? some : NULL;
            int lane0 = mode / 2 * 5;
            int64_t ld[2] = {D + D % 4, D + 3};
            guarded x = guard_new(ROWS * ld[0], 1), y = guard_new(ROWS * ld[1], 2);
            guarded o = guard_new(N * D, 3), r = guard_new(N * D, 0);
            const float *const px[] = {x.p, y.p};
            fill(x.p, x.n, 1), fill(y.p, y.n, 2), fill(o.p, o.n, 3);
            k->lane_sums(o.p, px, ld, e, seg, FIRST, seg[N], lane0, shared, D);
            k->lane_sums(o.p + FIRST * D, px, ld, e, seg + FIRST, N - FIRST, seg[N], lane0, shared,
                         D);
            for (int64_t u = 0; u < N; u++)
                for (int64_t d = 0; d < D; d++)
                    CHECK(lanes_sum(&r.p[u * D + d], e + seg[u], seg[u + 1] - seg[u], px, ld,
                                    shared, lane0, 0, 32, d));
            CHECK_SAME(o.p, r.p, o.n);
            CHECK(guard_intact(&o) && guard_intact(&x) && guard_intact(&y));
            guard_free(&x), guard_free(&y), guard_free(&o), guard_free(&r);
        }
    cr_free(all);
    cr_free(e);
}

/* more rows than are fetched ahead, in calls of N; the ids end with their block of memory */
TEST(rows_looked_up) {
    enum { N = 20, ALL = 3 * N - 7, ROWS = 23 };
    int64_t *ids = cr_alloc(ALL * sizeof(*ids), "ids");
    for (int64_t i = 0; i < ALL; i++)
        ids[i] = i * 7 % ROWS;
    EACH_LEVEL(k)
    for (int64_t D = 1; D < 400; D += D < 70 ? 1 : 67) {
        int64_t stride = D + D % 4, ldo = D + D % 3;
        guarded x = guard_new(ROWS * stride, 1), o = guard_new(ALL * ldo, 2);
        guarded r = guard_new(ALL * ldo, 0);
        fill(x.p, x.n, 1), fill(o.p, o.n, 2), fill(r.p, r.n, 2);
        for (int64_t i = 0; i < ALL; i += N) {
            int64_t n = ALL - i < N ? ALL - i : N;
            k->look_rows(o.p + i * ldo, ldo, x.p, stride, ids + i, n, ALL - i - n, D);
        }
        for (int64_t i = 0; i < ALL; i++)
            for (int64_t d = 0; d < D; d++)
                r.p[i * ldo + d] = x.p[ids[i] * stride + d];
        CHECK_SAME(o.p, r.p, o.n);
        CHECK(guard_intact(&o) && guard_intact(&x));
        guard_free(&x), guard_free(&o), guard_free(&r);
    }
    cr_free(ids);
}

TEST(rows_put_in_their_places) {
    static const int32_t to[] = {3, 0, 3, 1, 1}, from[] = {2, 4, 0, 1, 3};
    static const int32_t apart[] = {2, 4, 5, 5, 2};
    enum { N = 5, ROWS = 6 };
    EACH_LEVEL(k)
    for (int64_t D = 1; D < 200; D += D < 70 ? 1 : 29)
        for (int mode = 0; mode < 4; mode++) {
            bool acc = mode & 1, in_order = mode & 2;
            int64_t ldx = D + D % 4, ldo = D + D % 3;
            guarded x = guard_new(ROWS * ldx, 1), o = guard_new(ROWS * ldo, 2);
            guarded r = guard_new(ROWS * ldo, 0);
            fill(x.p, x.n, 1), fill(o.p, o.n, 2), fill(r.p, r.n, 2);
            k->put_rows(o.p, ldo, to, x.p, ldx, in_order ? NULL : from, N, D, acc);
            for (int64_t i = 0; i < N; i++)
                for (int64_t d = 0; d < D; d++) {
                    float v = x.p[(in_order ? i : from[i]) * ldx + d], *at = r.p + to[i] * ldo + d;
                    *at = acc ? *at + v : v;
                }
            CHECK_SAME(o.p, r.p, o.n);
            /* rows of the same matrix that are not written */
            k->put_rows(o.p, ldo, to, o.p, ldo, apart, N, D, acc);
            for (int64_t i = 0; i < N; i++)
                for (int64_t d = 0; d < D; d++) {
                    float v = r.p[apart[i] * ldo + d], *at = r.p + to[i] * ldo + d;
                    *at = acc ? *at + v : v;
                }
            CHECK_SAME(o.p, r.p, o.n);
            CHECK(guard_intact(&o) && guard_intact(&x));
            guard_free(&x), guard_free(&o), guard_free(&r);
        }
}

TEST(pooling) {
    enum { ROWS = 50 };
    EACH_LEVEL(k)
    for (int64_t D = 1; D < 150; D += D < 40 ? 1 : 12)
        for (int64_t n = 0; n < 9; n += 2) /* the empty bag too */
            for (int mode = 0; mode < 4; mode++) {
                int64_t stride = 2 * D + 3, ids[9];
                float w[9];
                guarded table = guard_new(ROWS * stride, 3), o = guard_new(D, (int)(D % 16));
                guarded r = guard_new(D, 0);
                fill(table.p, table.n, 1), fill(w, 9, 2);
                fill(o.p, D, 3), fill(r.p, D, 3);
                for (int64_t i = 0; i < 9; i++)
                    ids[i] = (int64_t)cr_rng_below(5, (uint64_t)i, ROWS);
                bool acc = mode & 1, weighted = mode & 2;
                k->pool(o.p, table.p, stride, ids, weighted ? w : NULL, n, D, acc);
                for (int64_t d = 0; d < D; d++) {
                    float s = acc ? r.p[d] : 0;
                    for (int64_t i = 0; i < n; i++) {
                        float m = (weighted ? w[i] : 1.0f) * table.p[ids[i] * stride + d];
                        s += m;
                    }
                    r.p[d] = s;
                }
                CHECK_SAME(o.p, r.p, D);
                CHECK(guard_intact(&o));
                guard_free(&table), guard_free(&o), guard_free(&r);
            }
}

TEST(batch_norm_and_dropout) {
    enum { B = 7 };
    EACH_LEVEL(k)
    for (int64_t D = 1; D < 100; D += D < 40 ? 1 : 13)
        for (int mode = 0; mode < 8; mode++) {
            bool acc = mode & 1, relu = mode & 2, no_dx = mode & 4;
            int64_t ld = D + D % 3;
            guarded x = guard_new(B * ld, 1), dy = guard_new(B * ld, 2), dx = guard_new(B * ld, 3);
            guarded rx = guard_new(B * ld, 0), col = guard_new(4 * D, 5), s = guard_new(2 * D, 4);
            guarded rs = guard_new(2 * D, 0);
            double st[2][200];
            fill(x.p, x.n, 1), fill(dy.p, dy.n, 2), fill(col.p, col.n, 3);
            fill(dx.p, dx.n, 4), fill(rx.p, rx.n, 4), fill(s.p, s.n, 5), fill(rs.p, rs.n, 5);
            for (int64_t d = 0; d < 200; d++)
                st[0][d] = st[1][d] = (double)d * 0.1;
            k->bn_bwd(no_dx ? NULL : dx.p, s.p, s.p + D, st[0], dy.p, x.p, ld, col.p, B, D, relu,
                      acc);
            const float *mean = col.p, *rstd = mean + D, *scale = rstd + D, *shift = scale + D;
            for (int64_t b = 0; b < B; b++)
                for (int64_t d = 0; d < D; d++) {
                    float v = x.p[b * ld + d], on = v * scale[d], g = dy.p[b * ld + d];
                    on = on + shift[d];
                    if (relu && !(on > 0)) g = 0;
                    float dev = v - mean[d], gx = g * scale[d], gd = g * dev, t = gd * rstd[d];
                    float half = 0.5f * scale[d];
                    half = half * rstd[d];
                    half = half * rstd[d];
                    rs.p[d] = rs.p[d] + t;
                    rs.p[D + d] += g;
                    t = gd * half;
                    st[1][d] -= (double)gx;
                    st[1][D + d] -= (double)t;
                    float *o = rx.p + b * ld + d;
                    if (!no_dx) *o = acc ? *o + gx : gx;
                }
            CHECK_SAME(s.p, rs.p, s.n);
            CHECK_SAME(dx.p, rx.p, dx.n);
            CHECK(memcmp(st[0], st[1], (size_t)(2 * D) * sizeof(double)) == 0);
            k->center_rows(dx.p, ld, x.p, mean, scale, B, D, acc);
            for (int64_t b = 0; b < B; b++)
                for (int64_t d = 0; d < D; d++) {
                    float t = x.p[b * ld + d] - mean[d], *o = rx.p + b * ld + d;
                    t = shift[d] * t;
                    t = scale[d] + t;
                    *o = acc ? *o + t : t;
                }
            CHECK_SAME(dx.p, rx.p, dx.n);
            k->row_affine(dx.p, ld, x.p, ld, scale, shift, B, D, relu);
            for (int64_t b = 0; b < B; b++)
                for (int64_t d = 0; d < D; d++) {
                    float t = x.p[b * ld + d] * scale[d];
                    t = t + shift[d];
                    rx.p[b * ld + d] = relu && t <= 0 ? 0 : t;
                }
            CHECK_SAME(dx.p, rx.p, dx.n);
            uint16_t rnd[7 * 120];
            for (int64_t i = 0; i < x.n; i++)
                rnd[i] = (uint16_t)cr_rng_u64(9, (uint64_t)i);
            k->drop(dx.p, x.p, rnd, relu ? 30000 : 0, 1.7f, x.n, acc);
            for (int64_t i = 0; i < x.n; i++) {
                float t = x.p[i] * 1.7f;
                t = relu && rnd[i] < 30000 ? 0 : t;
                rx.p[i] = acc ? rx.p[i] + t : t;
            }
            CHECK_SAME(dx.p, rx.p, dx.n);
            CHECK(guard_intact(&x) && guard_intact(&dx) && guard_intact(&s));
            guard_free(&x), guard_free(&dy), guard_free(&dx), guard_free(&rx), guard_free(&col);
            guard_free(&s), guard_free(&rs);
        }
}

static const int64_t inter[][2] = {{1, 1},   {2, 3},  {3, 16}, {27, 16}, {5, 17}, {4, 33},
                                   {26, 10}, {8, 64}, {9, 5},  {2, 128}, {70, 20}};
enum { N_INTER = sizeof(inter) / sizeof(inter[0]) };

TEST(factorization_machine) {
    EACH_LEVEL(k)
    for (int c = 0; c < N_INTER; c++) {
        int64_t F = inter[c][0], D = inter[c][1], B = 5, ldx = F * D + c, ldy = D + c % 3;
        guarded x = guard_new(B * ldx, 1), y = guard_new(B * ldy, 2), g = guard_new(B * ldx, 3);
        guarded ry = guard_new(B * ldy, 0), rg = guard_new(B * ldx, 0);
        fill(x.p, x.n, 1);
        for (int acc = 0; acc < 2; acc++) {
            fill(y.p, y.n, 2), fill(ry.p, y.n, 2), fill(g.p, g.n, 3), fill(rg.p, g.n, 3);
            k->fm_bwd(g.p, ldx, y.p, ldy, x.p, ldx, B, F, D, acc);
            k->fm(y.p, ldy, x.p, ldx, B, F, D);
            for (int64_t b = 0; b < B; b++)
                for (int64_t d = 0; d < D; d++) {
                    const float *v = x.p + b * ldx + d;
                    float s = 0, q = 0, dy = ry.p[b * ldy + d];
                    for (int64_t f = 0; f < F; f++) {
                        float m = v[f * D] * v[f * D];
                        s += v[f * D], q += m;
                    }
                    float ss = s * s;
                    ry.p[b * ldy + d] = 0.5f * (ss - q);
                    for (int64_t f = 0; f < F; f++) {
                        float *o = &rg.p[b * ldx + f * D + d], m = dy * (s - v[f * D]);
                        *o = acc ? *o + m : m;
                    }
                }
            CHECK_SAME(y.p, ry.p, y.n);
            CHECK_SAME(g.p, rg.p, g.n);
            CHECK(guard_intact(&y) && guard_intact(&g));
        }
        guard_free(&x), guard_free(&y), guard_free(&g), guard_free(&ry), guard_free(&rg);
    }
}

TEST(pairs) {
    EACH_LEVEL(k)
    for (int c = 0; c < N_INTER; c++) {
        int64_t F = inter[c][0], D = inter[c][1], B = 5, np = F * (F - 1) / 2;
        int64_t ldx = F * D + c, ldy = np + c % 3;
        guarded x = guard_new(B * ldx, 1), y = guard_new(B * ldy, 2), g = guard_new(B * ldx, 3);
        guarded ry = guard_new(B * ldy, 0), rg = guard_new(B * ldx, 0);
        fill(x.p, x.n, 1);
        for (int acc = 0; acc < 2; acc++) {
            fill(y.p, y.n, 2), fill(ry.p, y.n, 2), fill(g.p, g.n, 3), fill(rg.p, g.n, 3);
            k->pairs_bwd(g.p, ldx, y.p, ldy, x.p, ldx, B, F, D, acc);
            k->pairs(y.p, ldy, x.p, ldx, B, F, D);
            static float dy[70][70];
            for (int64_t b = 0; b < B; b++) {
                const float *v = x.p + b * ldx;
                int64_t p = b * ldy;
                for (int64_t i = 0; i < F; i++)
                    for (int64_t j = i + 1; j < F; j++, p++) {
                        dy[i][j] = dy[j][i] = ry.p[p];
                        ry.p[p] = 0;
                        for (int64_t d = 0; d < D; d++) {
                            float m = v[i * D + d] * v[j * D + d];
                            ry.p[p] += m;
                        }
                    }
                for (int64_t i = 0; i < F; i++)
                    for (int64_t d = 0; d < D; d++) {
                        float s = 0;
                        for (int64_t j = 0; j < F; j++) {
                            float m = i == j ? 0 : dy[i][j] * v[j * D + d];
                            if (i != j) s += m;
                        }
                        float *o = &rg.p[b * ldx + i * D + d];
                        *o = acc ? *o + s : s;
                    }
            }
            CHECK_SAME(y.p, ry.p, y.n);
            CHECK_SAME(g.p, rg.p, g.n);
            CHECK(guard_intact(&y) && guard_intact(&g));
        }
        guard_free(&x), guard_free(&y), guard_free(&g), guard_free(&ry), guard_free(&rg);
    }
}

TEST(outer_products) {
    static const int64_t shapes[][3] = {{1, 1, 1}, {3, 4, 5}, {2, 7, 16}, {4, 3, 33}, {2, 18, 50}};
    EACH_LEVEL(k)
    for (size_t c = 0; c < sizeof(shapes) / sizeof(shapes[0]); c++) {
        int64_t M = shapes[c][0], H = shapes[c][1], F = shapes[c][2], lda = H + (int64_t)c % 3;
        guarded a = guard_new(M * lda, 1), b = guard_new(M * F, 5), z = guard_new(M * H * F, 2);
        guarded r = guard_new(M * H * F, 0), ra = guard_new(M * lda, 0), rb = guard_new(M * F, 0);
        fill(a.p, a.n, 1), fill(b.p, b.n, 2);
        k->outer(z.p, a.p, lda, b.p, M, H, F);
        for (int64_t i = 0; i < z.n; i++)
            r.p[i] = a.p[i / (H * F) * lda + i / F % H] * b.p[i / (H * F) * F + i % F];
        CHECK_SAME(z.p, r.p, z.n);
        CHECK(guard_intact(&z));
        fill(z.p, z.n, 3);
        for (int acc = 0; acc < 2; acc++) {
            guarded da = guard_new(M * lda, 3), db = guard_new(M * F, 4);
            fill(da.p, da.n, 4), fill(ra.p, da.n, 4), fill(db.p, db.n, 5), fill(rb.p, db.n, 5);
            k->outer_bwd_a(da.p, lda, z.p, b.p, M, H, F, acc);
            k->outer_bwd_b(db.p, z.p, a.p, lda, M, H, F, acc);
            for (int64_t i = 0; i < M * H; i++) {
                float s = spec_dot(z.p + i * F, b.p + i / H * F, F);
                float *to = ra.p + i / H * lda + i % H;
                *to = acc ? *to + s : s;
            }
            for (int64_t i = 0; i < M * F; i++) {
                float s = 0;
                for (int64_t h = 0; h < H; h++) {
                    float m = a.p[i / F * lda + h] * z.p[(i / F * H + h) * F + i % F];
                    s += m;
                }
                rb.p[i] = acc ? rb.p[i] + s : s;
            }
            CHECK_SAME(da.p, ra.p, da.n);
            CHECK_SAME(db.p, rb.p, db.n);
            CHECK(guard_intact(&da) && guard_intact(&db));
            guard_free(&da), guard_free(&db);
        }
        guard_free(&a), guard_free(&b), guard_free(&z), guard_free(&r), guard_free(&ra);
        guard_free(&rb);
    }
}

/* B rows of n, from the steps that list.h names */
static void spec_softmax(const cr_kernels *k, float *x, float scale, int64_t B, int64_t n) {
    for (int64_t b = 0; b < B; b++, x += n) {
        float most = -INFINITY;
        for (int64_t j = 0; j < n; j++)
            most = x[j] > most ? x[j] : most;
        for (int64_t j = 0; j < n; j++)
            x[j] = (x[j] - most) * scale;
        k->exp(x, x, n);
        float s = 1.0f / spec_sum(x, n);
        for (int64_t j = 0; j < n; j++)
            x[j] = s * x[j];
    }
}

TEST(softmax_rows) {
    static const int64_t shapes[][2] = {{1, 1}, {3, 2}, {2, 7}, {5, 8}, {4, 16}, {3, 26}, {2, 45}};
    EACH_LEVEL(k)
    for (size_t c = 0; c < sizeof(shapes) / sizeof(shapes[0]); c++)
        for (int odd = 0; odd < 4; odd++) {
            int64_t B = shapes[c][0], n = shapes[c][1], all = B * n;
            guarded x = guard_new(all, 1), y = guard_new(all, 3), g = guard_new(all, 2);
            guarded r = guard_new(all, 0);
            fill(x.p, all, 1), fill(g.p, all, 2);
            if (odd == 1) x.p[all - 1] = 90.0f;
            if (odd == 2) x.p[all / 2] = NAN;
            if (odd == 3) x.p[all - 1] = -INFINITY;
            memcpy(y.p, x.p, (size_t)all * 4);
            memcpy(r.p, x.p, (size_t)all * 4);
            k->softmax(y.p, 0.7f, B, n);
            spec_softmax(cr_kern_at(CR_CPU_C), r.p, 0.7f, B, n);
            CHECK_SAME(y.p, r.p, all);
            for (int64_t ldd = 0; ldd <= n; ldd += n) {
                for (int64_t i = 0; i < all; i++) {
                    float dot = spec_dot(y.p + i / n * n, g.p + i / n * ldd, n);
                    float a = 0.7f * y.p[i], d = g.p[i / n * ldd + i % n] - dot;
                    r.p[i] = a * d;
                }
                k->softmax_bwd(ldd ? g.p : x.p, y.p, g.p, ldd, 0.7f, B, n);
                CHECK_SAME(ldd ? g.p : x.p, r.p, all);
            }
            CHECK(guard_intact(&x) && guard_intact(&y) && guard_intact(&g));
            guard_free(&x), guard_free(&y), guard_free(&g), guard_free(&r);
        }
}

TEST(field_aware) {
    static const int64_t shapes[][2] = {{1, 4}, {2, 1}, {3, 4}, {5, 8}, {4, 16}, {3, 19}, {2, 40}};
    EACH_LEVEL(k)
    for (size_t c = 0; c < sizeof(shapes) / sizeof(shapes[0]); c++) {
        int64_t F = shapes[c][0], D = shapes[c][1], n = F * F * D;
        guarded x = guard_new(n, 1), g = guard_new(n, 3), r = guard_new(n, 0);
        fill(x.p, n, 1);
        float p[16] = {0};
        for (int64_t i = 0; i < F; i++)
            for (int64_t j = i + 1; j < F; j++)
                for (int64_t d = 0; d < D; d++) {
                    float m = x.p[(i * F + j) * D + d] * x.p[(j * F + i) * D + d];
                    p[d % 16] += m;
                }
        float got = k->ffm(x.p, F, D), want = spec_tree(p);
        CHECK_SAME(&got, &want, 1);
        for (int acc = 0; acc < 2; acc++) {
            fill(g.p, n, 3), fill(r.p, n, 3);
            k->ffm_bwd(g.p, 0.3f, x.p, F, D, acc);
            for (int64_t i = 0; i < F; i++)
                for (int64_t j = 0; j < F; j++)
                    for (int64_t d = 0; d < D; d++) {
                        float m = i == j ? 0 : 0.3f * x.p[(j * F + i) * D + d];
                        float *o = &r.p[(i * F + j) * D + d];
                        *o = acc ? *o + m : m;
                    }
            CHECK_SAME(g.p, r.p, n);
            CHECK(guard_intact(&g));
        }
        guard_free(&x), guard_free(&g), guard_free(&r);
    }
}

/* a step of DLRM or DeepFM on criteo's 26 + 1 vectors of 16, per row */
static void bench(void) {
    enum { B = 64, F = 27, D = 16, P = F * (F - 1) / 2 };
    float *x = cr_alloc(B * F * D * 4, "x"), *y = cr_alloc(B * P * 4, "y");
    float *g = cr_alloc(B * F * D * 4, "g");
    double *sd = cr_alloc(F * D * 8, "sums");
    int64_t ids[F];
    fill(x, B * F * D, 1), fill(y, B * P, 2);
    for (int i = 0; i < F; i++)
        ids[i] = (i * 37) % (B * F);
    volatile float sink = 0;
    TIME(B, "dot 432", for (int b = 0; b < B; b++) sink += k->dot(x + b * F * D, g, F * D));
    TIME(B, "dot 16", for (int b = 0; b < B; b++) sink += k->dot(x + b * F * D, g, D));
    TIME(B, "dot 27", for (int b = 0; b < B; b++) sink += k->dot(x + b * F * D, g, 27));
    TIME(B, "axpy 432", for (int b = 0; b < B; b++) k->axpy(g, 0.5f, x + b * F * D, F * D));
    TIME(B, "fm", k->fm(y, D, x, F * D, B, F, D));
    TIME(B, "fm_bwd", k->fm_bwd(g, F * D, y, D, x, F * D, B, F, D, true));
    TIME(B, "pairs", k->pairs(y, P, x, F * D, B, F, D));
    TIME(B, "pairs_bwd", k->pairs_bwd(g, F * D, y, P, x, F * D, B, F, D, true));
    TIME(B, "pool 27x16", for (int b = 0; b < B; b++) k->pool(y, x, D, ids, NULL, F, D, false));
    TIME(B, "col_sum", k->col_sum(g, x, F * D, B, F * D));
    TIME(B, "col_sum_d", k->col_sum_d(sd, x, F * D, B, F * D));
    TIME(B, "row_affine", k->row_affine(g, F * D, x, F * D, y, y, B, F * D, false));
    TIME(B, "copy_rows 27",
         for (int f = 0; f < F; f++) k->copy_rows(g + f * D, F * D, x + f * D, F * D, B, D, false));
    (void)sink;
    cr_free(x), cr_free(y), cr_free(g), cr_free(sd);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(vectors),
                                   CASE(rows_and_columns),
                                   CASE(diagonals),
                                   CASE(gathered_sums),
                                   CASE(segment_sums),
                                   CASE(sums_over_lanes),
                                   CASE(rows_looked_up),
                                   CASE(rows_put_in_their_places),
                                   CASE(batch_norm_and_dropout),
                                   CASE(pooling),
                                   CASE(factorization_machine),
                                   CASE(pairs),
                                   CASE(outer_products),
                                   CASE(field_aware),
                                   CASE(softmax_rows)};
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        bench();
        return 0;
    }
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
