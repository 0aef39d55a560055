/*
 * sparse.c - constant sparse matrices (sparse.h). A product is made row by row (Gustavson, 1978):
 * one row of sums as wide as the result, and the list of the columns that the row has reached.
 */
#include "op/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "kern/kern.h"

static cr_sparse sized(cr_arena *a, int64_t rows, int64_t cols, int64_t n) {
    cr_sparse m = {rows, cols, CR_NEW_N(a, int64_t, rows + 1), CR_NEW_N(a, int32_t, n + 1),
                   CR_NEW_N(a, float, n + 1)};
    return m;
}

static int by_column(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

cr_sparse cr_sparse_pairs(cr_arena *a, int64_t rows, int64_t cols, const int64_t *pairs,
                          int64_t n) {
    cr_sparse m = sized(a, rows, cols, n);
    int64_t *at = cr_alloc((size_t)(rows + 1) * sizeof *at, "pairs"), to = 0;
    for (int64_t i = 0; i < n; i++)
        at[pairs[2 * i] + 1]++;
    for (int64_t r = 0; r < rows; r++)
        at[r + 1] += at[r];
    memcpy(m.off, at, (size_t)(rows + 1) * sizeof *at);
    for (int64_t i = 0; i < n; i++)
        m.col[at[pairs[2 * i]]++] = (int32_t)pairs[2 * i + 1];
    for (int64_t r = 0, from = 0, end; r < rows; r++, from = end) { /* a pair counts once */
        end = m.off[r + 1];
        qsort(m.col + from, (size_t)(end - from), sizeof *m.col, by_column);
        m.off[r] = to;
        for (int64_t i = from; i < end; i++) {
            if (i > from && to > m.off[r] && m.col[to - 1] == m.col[i]) continue;
            m.col[to] = m.col[i];
            m.v[to++] = 1;
        }
    }
    m.off[rows] = to;
    cr_free(at);
    return m;
}

cr_sparse cr_sparse_turn(cr_arena *a, const cr_sparse *m) {
    int64_t n = m->off[m->rows];
    cr_sparse t = sized(a, m->cols, m->rows, n);
    int64_t *at = cr_alloc((size_t)(m->cols + 1) * sizeof *at, "transpose");
    for (int64_t i = 0; i < n; i++)
        at[m->col[i] + 1]++;
    for (int64_t c = 0; c < m->cols; c++)
        at[c + 1] += at[c];
    memcpy(t.off, at, (size_t)(m->cols + 1) * sizeof *at);
    for (int64_t r = 0; r < m->rows; r++)
        for (int64_t i = m->off[r]; i < m->off[r + 1]; i++) {
            int64_t to = at[m->col[i]]++;
            t.col[to] = (int32_t)r;
            t.v[to] = m->v[i];
        }
    cr_free(at);
    return t;
}

/* One row of a product. */
typedef struct sums {
    double *v;     /* the sum of each column */
    char *reached; /* is the column in `some`? */
    int32_t *some;
    int64_t n;
} sums;

static void reach(sums *s, const cr_sparse *x, const cr_sparse *y, int64_t r) {
    s->n = 0;
    for (int64_t i = x->off[r]; i < x->off[r + 1]; i++)
        for (int64_t k = y->off[x->col[i]]; k < y->off[x->col[i] + 1]; k++) {
            int32_t c = y->col[k];
            if (!s->reached[c]) s->some[s->n++] = c;
            s->reached[c] = 1;
            s->v[c] += (double)x->v[i] * (double)y->v[k];
        }
}

static void forget(sums *s) {
    for (int64_t i = 0; i < s->n; i++) {
        s->v[s->some[i]] = 0;
        s->reached[s->some[i]] = 0;
    }
}

/* Adds a number to the end of row r. */
static void put(cr_sparse *m, int64_t r, int32_t c, double v) {
    if (v == 0) return;
    m->col[m->off[r + 1]] = c;
    m->v[m->off[r + 1]++] = (float)v;
}

cr_sparse cr_sparse_product(cr_arena *a, const cr_sparse *x, const cr_sparse *y,
                            const cr_sparse *mask) {
    sums s = {cr_alloc((size_t)(y->cols + 1) * sizeof *s.v, "product"),
              cr_alloc((size_t)(y->cols + 1), "product"),
              cr_alloc((size_t)(y->cols + 1) * sizeof *s.some, "product"), 0};
    int64_t most = 0;
    for (int64_t r = 0; r < x->rows && !mask; r++, forget(&s)) {
        reach(&s, x, y, r);
        most += s.n;
    }
    cr_sparse m = sized(a, x->rows, y->cols, mask ? mask->off[mask->rows] : most);
    for (int64_t r = 0; r < x->rows; r++, forget(&s)) {
        m.off[r + 1] = m.off[r];
        reach(&s, x, y, r);
        for (int64_t i = mask ? mask->off[r] : 0; mask && i < mask->off[r + 1]; i++)
            put(&m, r, mask->col[i], s.v[mask->col[i]] * (double)mask->v[i]);
        if (mask) continue;
        qsort(s.some, (size_t)s.n, sizeof *s.some, by_column);
        for (int64_t i = 0; i < s.n; i++)
            put(&m, r, s.some[i], s.v[s.some[i]]);
    }
    cr_free(s.v);
    cr_free(s.reached);
    cr_free(s.some);
    return m;
}

cr_sparse cr_sparse_sum(cr_arena *a, const cr_sparse *x, float fx, const cr_sparse *y, float fy) {
    cr_sparse m = sized(a, x->rows, x->cols, x->off[x->rows] + y->off[y->rows]);
    for (int64_t r = 0; r < x->rows; r++) {
        int64_t i = x->off[r], k = y->off[r], ni = x->off[r + 1], nk = y->off[r + 1];
        m.off[r + 1] = m.off[r];
        while (i < ni || k < nk) {
            bool left = k == nk || (i < ni && x->col[i] <= y->col[k]);
            bool right = i == ni || (k < nk && y->col[k] <= x->col[i]);
            int32_t c = left ? x->col[i] : y->col[k];
            double v = 0;
            if (left) v += (double)fx * (double)x->v[i++];
            if (right) v += (double)fy * (double)y->v[k++];
            put(&m, r, c, v);
        }
    }
    return m;
}

cr_sparse cr_sparse_means(cr_arena *a, const cr_sparse *m, float limit) {
    cr_sparse out = sized(a, m->rows, m->cols, m->off[m->rows]);
    for (int64_t r = 0; r < m->rows; r++) {
        double sum = 0;
        for (int64_t i = m->off[r]; i < m->off[r + 1]; i++)
            if (m->v[i] > limit) sum += (double)m->v[i];
        out.off[r + 1] = out.off[r];
        for (int64_t i = m->off[r]; i < m->off[r + 1]; i++)
            if (m->v[i] > limit) put(&out, r, m->col[i], (double)m->v[i] / sum);
    }
    return out;
}

void cr_sparse_apply(float *out, const cr_sparse *m, const float *x, int64_t D, bool add) {
    for (int64_t r = 0; r < m->rows; r++, out += D) {
        if (!add) memset(out, 0, (size_t)D * sizeof *out);
        for (int64_t i = m->off[r]; i < m->off[r + 1]; i++)
            cr_kern->axpy(out, m->v[i], x + m->col[i] * D, D);
    }
}
