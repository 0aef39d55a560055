/*
 * quant.c - embedding rows in 8 bits: per row a scale and an offset, per value one byte.
 *
 * A tensor with int8_rows is written as three: <name> (U8), <name>.scale and <name>.offset (F32,
 * one per row); the file's metadata says quant.<name> = int8_rows, and load.c puts them together
 * again. A row is quantised whenever a piece of it is asked for, so no copy of the table is needed.
 */
#include "ckpt/save_int.h"

#include <math.h>
#include <string.h>

#define F16_MAX 65504.0f
#define PIECE   65536

void cr_int8_row(const float *x, int64_t n, uint8_t *q, float *scale, float *offset) {
    float lo = n > 0 ? x[0] : 0, hi = lo;
    for (int64_t i = 1; i < n; i++) {
        if (x[i] < lo) lo = x[i];
        if (x[i] > hi) hi = x[i];
    }
    *offset = lo;
    *scale = (float)(((double)hi - (double)lo) / 255);
    for (int64_t i = 0; i < n && q; i++) {
        double k = *scale > 0 ? rint(((double)x[i] - (double)lo) / (double)*scale) : 0;
        q[i] = k > 255 ? 255 : (uint8_t)k;
    }
}

typedef struct source {
    const cr_ckpt_tensor *t;
    int64_t width;
    float *row;
    uint8_t *q;
} source;

static void get_bytes(void *ctx, int64_t first, int64_t n, float *out) {
    const source *s = ctx;
    while (n > 0) {
        int64_t row = first / s->width, col = first % s->width, m = s->width - col;
        float scale, offset;
        if (m > n) m = n;
        s->t->get(s->t->ctx, row * s->width, s->width, s->row);
        cr_int8_row(s->row, s->width, s->q, &scale, &offset);
        for (int64_t i = 0; i < m; i++)
            out[i] = (float)s->q[col + i];
        out += m;
        first += m;
        n -= m;
    }
}

static void get_scale(void *ctx, int64_t first, int64_t n, float *out) {
    const source *s = ctx;
    float offset;
    for (int64_t i = 0; i < n; i++) {
        s->t->get(s->t->ctx, (first + i) * s->width, s->width, s->row);
        cr_int8_row(s->row, s->width, NULL, &out[i], &offset);
    }
}

static void get_offset(void *ctx, int64_t first, int64_t n, float *out) {
    const source *s = ctx;
    float scale;
    for (int64_t i = 0; i < n; i++) {
        s->t->get(s->t->ctx, (first + i) * s->width, s->width, s->row);
        cr_int8_row(s->row, s->width, NULL, &scale, &out[i]);
    }
}

/* 8-bit rows take finite values only, and 16-bit floats end at 65504. */
static cr_code check_values(const cr_ckpt_tensor *t, int self, float *tmp, cr_err *err) {
    int64_t total = 1, width = 1;
    for (int d = 0; d < t->n_dims; d++)
        total *= t->shape[d];
    for (int d = 1; d < t->n_dims; d++)
        width *= t->shape[d];
    for (int64_t at = 0; at < total; at += PIECE) {
        int64_t first, n;
        int of;
        ckpt_walk w = {t, at, at + PIECE < total ? at + PIECE : total, self, 0, 0};
        while (cr_ckpt_run(&w, &first, &n, &of)) {
            t->get(t->ctx, first, n, tmp);
            for (int64_t i = 0; i < n; i++) {
                if (t->int8_rows ? isfinite(tmp[i]) : !isfinite(tmp[i]) || fabsf(tmp[i]) <= F16_MAX)
                    continue;
                return cr_fail(err, CR_ERUN,
                               "parameter '%s', row %lld holds %g, which %s cannot store; use FP32",
                               t->name, (long long)((first + i) / width), (double)tmp[i],
                               t->int8_rows ? "INT8" : "FP16");
            }
        }
    }
    return CR_OK;
}

cr_code cr_ckpt_expand(cr_arena *a, const cr_ckpt_tensor *v, int n, int self, cr_ckpt_tensor **out,
                       int *n_out, cr_err *err) {
    *out = CR_NEW_N(a, cr_ckpt_tensor, 3 * n + 1);
    *n_out = 0;
    float *tmp = NULL;
    cr_code code = CR_OK;
    for (int i = 0; i < n && code == CR_OK; i++) {
        if (v[i].int8_rows || v[i].dtype == CR_DT_F16) {
            if (!tmp) tmp = cr_alloc(sizeof(float) * PIECE, "piece of a tensor");
            code = check_values(&v[i], self, tmp, err);
        }
        if (!v[i].int8_rows) {
            (*out)[(*n_out)++] = v[i];
            continue;
        }
        CR_ASSERT(v[i].n_dims == 2 && v[i].shape[1] <= PIECE && v[i].n_parts == 0);
        source *s = CR_NEW(a, source);
        *s = (source){&v[i], v[i].shape[1], CR_NEW_N(a, float, v[i].shape[1] + 1),
                      CR_NEW_N(a, uint8_t, v[i].shape[1] + 1)};
        cr_ckpt_tensor *t = *out + *n_out;
        *n_out += 3;
        t[0] = v[i];
        t[0].dtype = CR_DT_U8;
        t[0].get = get_bytes;
        t[0].ctx = s;
        for (int k = 1; k < 3; k++) {
            t[k] = t[0];
            t[k].int8_rows = false;
            t[k].n_dims = 1;
            t[k].dtype = CR_DT_F32;
            t[k].get = k == 1 ? get_scale : get_offset;
            t[k].name = cr_arena_printf(a, "%s%s", v[i].name,
                                        k == 1 ? CKPT_QUANT_SCALE : CKPT_QUANT_OFFSET);
        }
    }
    cr_free(tmp);
    return code;
}
