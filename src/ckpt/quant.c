/*
 * quant.c - embedding rows in 8 bits: per row a scale and an offset, per value one byte.
 *
 * A tensor with int8_rows is written as three: <name> (U8), <name>.scale and <name>.offset (F32,
 * one per row); the file's metadata says quant.<name> = int8_rows, and load.c puts them together
 * again. Rows are quantised whenever a piece of them is asked for, so no copy of the table is
 * needed.
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

/* One of the three tensors of a table t. */
typedef struct source {
    const cr_ckpt_tensor *t;
    int64_t width;
    int what; /* one of these: */
} source;
enum { BYTES, SCALE, OFFSET };

/* Writes elements [from, end) of a row, or the row's one number. */
static int64_t put_row(const source *s, const float *row, uint8_t *q, int64_t from, int64_t end,
                       float *out) {
    float scale, offset;
    cr_int8_row(row, s->width, s->what == BYTES ? q : NULL, &scale, &offset);
    if (s->what != BYTES) {
        *out = s->what == SCALE ? scale : offset;
        return 1;
    }
    for (int64_t i = from; i < end; i++)
        out[i - from] = (float)q[i];
    return end - from;
}

/* Reads whole rows, a piece at a time, and quantises them. It has its own memory, since several
 * threads may be here. */
static void get_int8(void *ctx, int64_t first, int64_t n, float *out) {
    const source *s = ctx;
    int64_t per_row = s->what == BYTES ? s->width : 1, end = first + n, block = PIECE / s->width;
    float *rows = cr_alloc(sizeof(float) * PIECE, "rows to quantise");
    uint8_t *q = cr_alloc((size_t)s->width, "a quantised row");
    for (int64_t row = first / per_row; first < end;) {
        int64_t m = (end + per_row - 1) / per_row - row;
        if (m > block) m = block;
        s->t->get(s->t->ctx, row * s->width, m * s->width, rows);
        for (int64_t r = 0; r < m; r++, row++) {
            int64_t at = row * per_row, to = end - at < per_row ? end - at : per_row;
            int64_t done = put_row(s, rows + r * s->width, q, first - at, to, out);
            first += done;
            out += done;
        }
    }
    cr_free(rows);
    cr_free(q);
}

/* Returns where the share of holder h of `total` elements begins. */
static int64_t share(int64_t total, int h, int n) {
    return total / n * h + total % n * h / n;
}

/* 8-bit rows take finite values only, and 16-bit floats end at 65504. A holder looks at the
 * elements that it has; those that all have are divided evenly. */
static cr_code check_values(const cr_ckpt_tensor *t, const cr_meet *meet, float *tmp, cr_err *err) {
    int64_t total = 1, width = 1;
    for (int d = 0; d < t->n_dims; d++)
        total *= t->shape[d];
    for (int d = 1; d < t->n_dims; d++)
        width *= t->shape[d];
    int64_t from = 0, end = total;
    if (meet && t->n_parts == 0) {
        from = share(total, meet->self, meet->n);
        end = share(total, meet->self + 1, meet->n);
    }
    for (int64_t at = from; at < end; at += PIECE) {
        int64_t first, n;
        int of;
        ckpt_walk w = {t, at, at + PIECE < end ? at + PIECE : end, meet ? meet->self : 0, 0, 0};
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

cr_code cr_ckpt_expand(cr_arena *a, const cr_ckpt_tensor *v, int n, const cr_meet *meet,
                       cr_ckpt_tensor **out, int *n_out, cr_err *err) {
    *out = CR_NEW_N(a, cr_ckpt_tensor, 3 * n + 1);
    *n_out = 0;
    float *tmp = NULL;
    cr_code code = CR_OK;
    for (int i = 0; i < n && code == CR_OK; i++) {
        if (v[i].int8_rows || v[i].dtype == CR_DT_F16) {
            if (!tmp) tmp = cr_alloc(sizeof(float) * PIECE, "piece of a tensor");
            code = check_values(&v[i], meet, tmp, err);
        }
        if (!v[i].int8_rows) {
            (*out)[(*n_out)++] = v[i];
            continue;
        }
        CR_ASSERT(v[i].n_dims == 2 && v[i].shape[1] <= PIECE && v[i].n_parts == 0);
        static const char *const endings[] = {"", CKPT_QUANT_SCALE, CKPT_QUANT_OFFSET};
        for (int k = 0; k < 3; k++) {
            cr_ckpt_tensor *t = &(*out)[(*n_out)++];
            source *s = CR_NEW(a, source);
            *s = (source){&v[i], v[i].shape[1], k};
            *t = v[i];
            t->get = get_int8;
            t->ctx = s;
            t->dtype = k == BYTES ? CR_DT_U8 : CR_DT_F32;
            t->int8_rows = k == BYTES;
            t->n_dims = k == BYTES ? 2 : 1;
            t->name = cr_arena_printf(a, "%s%s", v[i].name, endings[k]);
        }
    }
    cr_free(tmp);
    return code;
}
