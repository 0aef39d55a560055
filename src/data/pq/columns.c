/*
 * columns.c - turns vectors of stored values into columns.
 *
 * Integers, floats and text stay where the cursor has them. Everything else is rewritten, first
 * into the type that loses nothing, then into the type that was asked for. A value that does not
 * fit is 0, and its row is bad.
 */
#include "data/pq/pq_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/half.h"

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

/* One leaf that is being made. */
typedef struct making {
    const cr_pqs_leaf *leaf;
    const cr_pq_vec *v;
    const char *name;
    cr_arena *arena;
    cr_column *out;
    cr_bad *bad;
    int64_t last_bad; /* a bad row is reported once */
} making;

static int64_t list_of(const int32_t *off, int64_t n, int64_t i) {
    int64_t a = 0, z = n; /* finds the last list that begins at or before i */
    while (z - a > 1) {
        int64_t m = (a + z) / 2;
        if (off[m] <= i)
            a = m;
        else
            z = m;
    }
    return a;
}

CR_PRINTF(3, 4) static void not_fit(making *t, int64_t i, const char *fmt, ...) {
    int64_t row = i;
    for (int d = t->v->depth - 1; d >= 0; d--)
        row = list_of(t->v->list[d].off, t->v->list[d].n, row);
    if (row == t->last_bad) return;
    t->last_bad = row;
    char text[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    cr_bad_add(t->bad, row, 0, "column '%s', value '%s", t->name, text);
}

static bool is_null(const making *t, int64_t i) {
    return t->v->n_null > 0 && !t->v->valid[i];
}

static void *room(making *t, size_t width) {
    void *p = cr_arena_alloc(t->arena, (size_t)(t->v->n + 1) * width);
    t->out->v.i64 = p;
    return p;
}

/* ---- into the type that loses nothing ---- */

/* Reads a big-endian two's complement number; false: it has more than 128 bits. */
static bool big_endian(const uint8_t *p, size_t n, i128 *out) {
    u128 x = n && p[0] & 0x80 ? ~(u128)0 : 0;
    for (; n > 16; p++, n--)
        if (*p != (x ? 0xff : 0) || (p[1] & 0x80) != (*p & 0x80)) return false;
    for (; n > 0; n--)
        x = x << 8 | *p++;
    *out = (i128)x;
    return true;
}

static size_t digits_of(char out[48], i128 x) {
    char tmp[48], *p = tmp + sizeof(tmp);
    bool neg = x < 0;
    do {
        int d = (int)(x % 10);
        *--p = (char)('0' + (d < 0 ? -d : d));
        x /= 10;
    } while (x != 0);
    if (neg) *--p = '-';
    size_t n = (size_t)(tmp + sizeof(tmp) - p);
    memcpy(out, p, n);
    out[n] = 0;
    return n;
}

/* Returns the double nearest to x / 10^scale. */
static double scaled(i128 x, int scale) {
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const i128 exact = (i128)1 << 53;
    if (scale >= 0 && scale <= 22 && x <= exact && x >= -exact)
        return (double)(int64_t)x / ten[scale];
    char text[80];
    size_t n = digits_of(text, x);
    n += (size_t)snprintf(text + n, sizeof(text) - n, "e%d", -scale);
    double d = 0;
    return cr_parse_f64(text, n, &d) ? d : NAN;
}

static void from_decimal(making *t) {
    const cr_pq_vec *v = t->v;
    double *f = t->leaf->made == CR_COL_F64 ? room(t, 8) : NULL;
    int64_t *w = f ? NULL : room(t, 8);
    for (int64_t i = 0; i < v->n; i++) {
        i128 x = 0;
        bool fits = true;
        if (is_null(t, i)) {
            x = 0;
        } else if (v->type == CR_PQ_I32) {
            x = v->v.i32[i];
        } else if (v->type == CR_PQ_I64) {
            x = v->v.i64[i];
        } else if (v->type == CR_PQ_FIXED) {
            fits = big_endian(v->v.b8 + (size_t)i * (size_t)v->type_length, (size_t)v->type_length,
                              &x);
        } else {
            size_t k = v->code ? v->code[i] : (size_t)i;
            fits = big_endian((const uint8_t *)v->bytes + v->beg[k], v->end[k] - v->beg[k], &x);
        }
        if (f) {
            f[i] = fits ? scaled(x, t->leaf->scale) : 0;
            if (!fits) not_fit(t, i, "...': a decimal of more than 128 bits");
            continue;
        }
        char text[48] = "...";
        if (fits && (x > INT64_MAX || x < INT64_MIN)) {
            fits = false;
            digits_of(text, x);
        }
        if (!fits) not_fit(t, i, "%s': does not fit in 64 bits", text);
        w[i] = fits ? (int64_t)x : 0;
    }
}

static void from_i96(making *t) {
    const i128 day_ns = (i128)86400 * 1000000000;
    int64_t *out = room(t, 8);
    for (int64_t i = 0; i < t->v->n; i++) {
        const uint8_t *p = t->v->v.b8 + 12 * (size_t)i;
        int64_t ns;
        uint32_t day;
        memcpy(&ns, p, 8);
        memcpy(&day, p + 8, 4);
        i128 x = is_null(t, i) ? 0 : ((i128)day - 2440588) * day_ns + ns;
        bool fits = x >= INT64_MIN && x <= INT64_MAX;
        if (!fits)
            not_fit(t, i, "day %" PRIu32 "': outside 1677 .. 2262, the years of int64 nanoseconds",
                    day);
        out[i] = fits ? (int64_t)x : 0;
    }
}

static void from_uuid(making *t) {
    int64_t n = t->v->n;
    char *text = cr_arena_alloc(t->arena, 36 * (size_t)n + 1);
    uint32_t *at = cr_arena_alloc(t->arena, (size_t)(n + 1) * sizeof(*at));
    static const char hex[] = "0123456789abcdef";
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *p = t->v->v.b8 + 16 * (size_t)i;
        char *q = text + 36 * (size_t)i;
        for (int k = 0; k < 16; k++) {
            if (k == 4 || k == 6 || k == 8 || k == 10) *q++ = '-';
            *q++ = hex[p[k] >> 4];
            *q++ = hex[p[k] & 15];
        }
        at[i] = 36 * (uint32_t)i;
    }
    at[n] = 36 * (uint32_t)n;
    t->out->bytes = text;
    t->out->beg = at;
    t->out->end = at + 1;
}

static void from_fixed(making *t) {
    int64_t n = t->v->n;
    uint32_t *at = cr_arena_alloc(t->arena, (size_t)(n + 1) * sizeof(*at));
    for (int64_t i = 0; i <= n; i++)
        at[i] = (uint32_t)(i * t->v->type_length);
    t->out->bytes = (const char *)t->v->v.b8;
    t->out->beg = at;
    t->out->end = at + 1;
}

static void as_is(making *t) {
    const cr_pq_vec *v = t->v;
    cr_column *c = t->out;
    c->v.i64 = v->v.i64;
    c->bytes = v->bytes;
    c->beg = v->beg;
    c->end = v->end;
    c->code = v->code;
    c->n_dict = v->n_dict;
}

static void nulls(making *t) {
    size_t n = (size_t)t->v->n;
    t->out->v.i64 = cr_arena_zalloc(t->arena, (n + 1) * 8);
    t->out->bytes = "";
    t->out->beg = t->out->end = (const uint32_t *)(const void *)t->out->v.i64;
}

static void make(making *t) {
    const cr_pq_vec *v = t->v;
    t->out->type = t->leaf->made;
    switch (t->leaf->how) {
    case CR_PQS_AS_IS: as_is(t); break;
    case CR_PQS_FROM_BOOL: {
        int32_t *out = room(t, 4);
        for (int64_t i = 0; i < v->n; i++)
            out[i] = v->v.b8[i] != 0;
        break;
    }
    case CR_PQS_FROM_U32: {
        int64_t *out = room(t, 8);
        for (int64_t i = 0; i < v->n; i++)
            out[i] = (int64_t)(uint32_t)v->v.i32[i];
        break;
    }
    case CR_PQS_FROM_U64: {
        t->out->v.i64 = v->v.i64;
        for (int64_t i = 0; i < v->n; i++)
            if (v->v.i64[i] < 0 && !is_null(t, i))
                not_fit(t, i, "%" PRIu64 "': does not fit in a signed 64-bit integer",
                        (uint64_t)v->v.i64[i]);
        break;
    }
    case CR_PQS_FROM_F16: {
        float *out = room(t, 4);
        for (int64_t i = 0; i < v->n; i++) {
            uint16_t h;
            memcpy(&h, v->v.b8 + 2 * i, 2);
            out[i] = cr_fp16_unpack(h);
        }
        break;
    }
    case CR_PQS_FROM_DECIMAL: from_decimal(t); break;
    case CR_PQS_FROM_I96: from_i96(t); break;
    case CR_PQS_FROM_UUID: from_uuid(t); break;
    case CR_PQS_FROM_FIXED: from_fixed(t); break;
    case CR_PQS_FROM_NULLS: nulls(t); break;
    }
}

/* ---- into the type that was asked for ---- */

static int64_t whole(const cr_column *c, int64_t i) {
    return c->type == CR_COL_I32 ? c->v.i32[i] : c->v.i64[i];
}

static double number(const cr_column *c, int64_t i) {
    return c->type == CR_COL_F32   ? (double)c->v.f32[i]
           : c->type == CR_COL_F64 ? c->v.f64[i]
                                   : (double)whole(c, i);
}

static bool is_whole(cr_coltype t) {
    return t == CR_COL_I32 || t == CR_COL_I64;
}

static void to_whole(making *t, cr_coltype type) {
    cr_column from = *t->out;
    int64_t min = type == CR_COL_I32 ? INT32_MIN : INT64_MIN;
    int64_t max = type == CR_COL_I32 ? INT32_MAX : INT64_MAX;
    void *to = room(t, type == CR_COL_I32 ? 4 : 8);
    for (int64_t i = 0; i < t->v->n; i++) {
        int64_t x = 0;
        if (is_whole(from.type)) {
            x = whole(&from, i);
            if ((x < min || x > max) && !is_null(t, i))
                not_fit(t, i, "%" PRId64 "': does not fit in 32 bits, which input_fields ask for",
                        x);
        } else {
            double d = number(&from, i);
            bool fits = d == floor(d) && d >= (double)min && d < -(double)min;
            if (fits)
                x = (int64_t)d;
            else if (!is_null(t, i))
                not_fit(t, i, "%.17g': not a whole number, which input_fields ask for", d);
        }
        if (type == CR_COL_I32)
            ((int32_t *)to)[i] = (int32_t)x;
        else
            ((int64_t *)to)[i] = x;
    }
}

static void to_float(making *t, cr_coltype type) {
    cr_column from = *t->out;
    void *to = room(t, type == CR_COL_F32 ? 4 : 8);
    for (int64_t i = 0; i < t->v->n; i++) {
        if (type == CR_COL_F32)
            ((float *)to)[i] =
                is_whole(from.type) ? (float)whole(&from, i) : (float)number(&from, i);
        else
            ((double *)to)[i] = number(&from, i);
    }
}

static void to_text(making *t) {
    cr_column from = *t->out;
    size_t n = (size_t)t->v->n;
    char *text = cr_arena_alloc(t->arena, 21 * n + 1);
    uint32_t *at = cr_arena_alloc(t->arena, (n + 1) * sizeof(*at)), k = 0;
    for (size_t i = 0; i < n; i++) {
        at[i] = k;
        if (!is_null(t, (int64_t)i))
            k += (uint32_t)snprintf(text + k, 22, "%" PRId64, whole(&from, (int64_t)i));
    }
    at[n] = k;
    t->out->bytes = text;
    t->out->beg = at;
    t->out->end = at + 1;
}

static void convert(making *t) {
    cr_coltype type = t->leaf->type;
    if (t->out->type == type || t->leaf->how == CR_PQS_FROM_NULLS) {
        t->out->type = type;
        return;
    }
    if (type == CR_COL_STR)
        to_text(t);
    else if (is_whole(type))
        to_whole(t, type);
    else
        to_float(t, type);
    t->out->type = type;
}

/* Makes the column of a file that holds nothing but nulls where other files hold lists. */
static void null_lists(const cr_pqs_place *p, int64_t n_rows, cr_arena *a, cr_column *out) {
    int32_t *off = CR_NEW_N(a, int32_t, n_rows + 1);
    *out = (cr_column){.type = p->value.type,
                       .depth = p->depth,
                       .valid = CR_NEW_N(a, uint8_t, n_rows + 1),
                       .row_off = off,
                       .item_off = p->depth == 2 ? off : NULL,
                       .bytes = "",
                       .beg = (const uint32_t *)off,
                       .end = (const uint32_t *)off};
    out->v.i32 = off;
    if (!p->map) return;
    cr_column *k = CR_NEW(a, cr_column);
    *k = *out;
    k->type = p->key.type;
    out->keys = k;
}

cr_code cr_pqs_column(const cr_pqs_place *p, const char *name, const cr_pq_vec *value,
                      const cr_pq_vec *key, cr_arena *a, cr_column *out, cr_bad *bad, cr_err *err) {
    making t = {&p->value, value, name, a, out, bad, -1};
    if (value->depth < p->depth) {
        null_lists(p, value->n_rows, a, out);
        return CR_OK;
    }
    *out = (cr_column){.depth = p->depth};
    make(&t);
    convert(&t);
    if (p->depth == 0) {
        out->valid = value->n_null > 0 ? value->valid : NULL;
        return CR_OK;
    }
    out->valid = value->list[0].valid;
    out->row_off = value->list[0].off;
    out->item_valid = value->n_null > 0 ? value->valid : NULL;
    if (p->depth == 2) {
        out->item_off = value->list[1].off;
        out->list_valid = value->list[1].valid;
    }
    if (!p->map) return CR_OK;
    if (key->n != value->n ||
        memcmp(key->list[0].off, value->list[0].off, (size_t)(value->n_rows + 1) * 4) != 0)
        return cr_fail(err, CR_EDATA, "column '%s': a map has %lld keys and %lld values", name,
                       (long long)key->n, (long long)value->n);
    cr_column *k = CR_NEW(a, cr_column);
    making tk = {&p->key, key, name, a, k, bad, -1};
    k->depth = 1;
    make(&tk);
    convert(&tk);
    k->row_off = out->row_off;
    k->valid = out->valid;
    out->keys = k;
    for (int64_t i = 0; key->n_null > 0 && i < key->n; i++) /* the format forbids null keys */
        if (!key->valid[i]) not_fit(&tk, i, "null': a map's key cannot be null");
    return CR_OK;
}

cr_code cr_pqs_chunk(const cr_pqs_wants *w, const cr_pqs_schema *schema, const char *path,
                     const cr_pq_vec *slots, cr_memo *memos, cr_chunk *chunk, cr_bad *bad,
                     cr_err *err) {
    cr_arena *a = &chunk->arena;
    chunk->cols = CR_NEW_N(a, cr_column, w->n + 1);
    for (int i = 0; i < w->n; i++) {
        const cr_pqs_place *p = &schema->places[i];
        const cr_pq_meta *stored = w->stored[i];
        cr_column *c = &chunk->cols[i];
        if (w->twin[i] >= 0) {
            *c = chunk->cols[w->twin[i]];
            continue;
        }
        cr_code code = CR_OK;
        if (!stored || w->v[i].form != CR_WANT_STORED) {
            const cr_pq_vec *key = p->map && p->key.leaf >= 0 ? &slots[p->key.slot] : NULL;
            code = cr_pqs_column(p, w->v[i].name, &slots[p->value.slot], key, a, c, bad, err);
        }
        if (code == CR_OK && stored)
            code = cr_pqs_stored(p, stored, slots, chunk->n_rows, a, c, err);
        if (code != CR_OK) return cr_fail_at(err, code, ((cr_loc){path, 0, 0}), "%s", err->msg);
        if (c->code) c->memo = &memos[p->value.slot];
        if (c->keys && c->keys->code) ((cr_column *)(uintptr_t)c->keys)->memo = &memos[p->key.slot];
    }
    return CR_OK;
}
