/*
 * pickle_names.c - the names that a pickle of data may use, and what they make: NumPy's types,
 * numbers and arrays, and objects of pandas, of which only the arguments are kept.
 *
 * NumPy writes a number as scalar(dtype('i8', False, True), bytes), and an array as
 * _reconstruct(ndarray, (0,), b'b') with the state (1, shape, dtype, columns first, bytes) behind
 * it, or since protocol 5 as _frombuffer(bytes, dtype, shape, order). Bytes are a text in latin1
 * before protocol 3. An array points to the bytes where they are, so that it costs no memory of its
 * own; its sizes are compared with their number.
 */
#include <math.h>
#include <string.h>

#include "base/pickle_int.h"

#define MAX_DIMS 32 /* as in NumPy */

typedef enum known { DTYPE, SCALAR, ENCODE, RECONSTRUCT, FROM_BUFFER, NDARRAY, OBJECT } known;

static const struct {
    const char *module, *id, *called;
    known is;
} names[] = {
    {"numpy", "dtype", "numpy.dtype", DTYPE},
    {"numpy", "ndarray", "numpy.ndarray", NDARRAY},
    {"numpy.core.multiarray", "scalar", "numpy.scalar", SCALAR},
    {"numpy._core.multiarray", "scalar", "numpy.scalar", SCALAR},
    {"numpy.core.multiarray", "_reconstruct", "numpy._reconstruct", RECONSTRUCT},
    {"numpy._core.multiarray", "_reconstruct", "numpy._reconstruct", RECONSTRUCT},
    {"numpy.core.numeric", "_frombuffer", "numpy._frombuffer", FROM_BUFFER},
    {"numpy._core.numeric", "_frombuffer", "numpy._frombuffer", FROM_BUFFER},
    {"_codecs", "encode", "encode", ENCODE},
    {"builtins", "slice", "slice", OBJECT},
    {"__builtin__", "slice", "slice", OBJECT},
    {"pandas.core.frame", "DataFrame", "DataFrame", OBJECT},
    {"pandas.core.series", "Series", "Series", OBJECT},
    {"pandas.core.internals.managers", "BlockManager", "BlockManager", OBJECT},
    {"pandas.core.internals.managers", "SingleBlockManager", "SingleBlockManager", OBJECT},
    {"pandas._libs.internals", "_unpickle_block", "_unpickle_block", OBJECT},
    {"pandas.core.indexes.base", "_new_Index", "_new_Index", OBJECT},
    {"pandas.core.indexes.base", "Index", "Index", OBJECT},
    {"pandas.core.indexes.numeric", "Int64Index", "Index", OBJECT},
    {"pandas.core.indexes.range", "RangeIndex", "RangeIndex", OBJECT},
};

static cr_pickle *made(cr_arena *a, cr_pickle_kind kind) {
    cr_pickle *v = CR_NEW(a, cr_pickle);
    v->kind = kind;
    return v;
}

cr_pickle *cr_pickle_named(cr_arena *a, const char *module, size_t n_module, const char *id,
                           size_t n_id) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].module) == n_module && memcmp(names[i].module, module, n_module) == 0 &&
            strlen(names[i].id) == n_id && memcmp(names[i].id, id, n_id) == 0) {
            cr_pickle *v = made(a, CR_PICKLE_NAME);
            v->i = (int64_t)names[i].is;
            v->text = names[i].called;
            return v;
        }
    return NULL;
}

bool cr_pickle_is(const cr_pickle *v, const char *name) {
    return v && v->kind == CR_PICKLE_OBJECT && strcmp(v->text, name) == 0;
}

const cr_pickle *cr_pickle_find(const cr_pickle *map, const char *key) {
    size_t n = strlen(key);
    if (!map || map->kind != CR_PICKLE_MAP) return NULL;
    for (size_t i = map->n; i >= 2; i -= 2) { /* what was set last counts */
        const cr_pickle *k = map->v[i - 2];
        if (k->kind == CR_PICKLE_TEXT && k->n == n && memcmp(k->text, key, n) == 0)
            return map->v[i - 1];
    }
    return NULL;
}

/* ---- types ---- */

/* i8, u4, <i2, f4, b1, O8 */
static bool number_type(cr_arena *a, const cr_pickle *args, cr_pickle **out) {
    const cr_pickle *t = args->n > 0 ? args->v[0] : NULL;
    if (!t || t->kind != CR_PICKLE_TEXT || t->n < 2 || t->n > 3) return false;
    const char *s = t->text;
    bool big = *s == '>';
    if (t->n == 3 && !strchr("<>|=", *s)) return false;
    if (t->n == 3) s++;
    const char *sizes = *s == 'i' || *s == 'u' ? "1248"
                        : *s == 'f'            ? "48"
                        : *s == 'b'            ? "1"
                        : *s == 'O'            ? "8"
                                               : "";
    if (!s[1] || !strchr(sizes, s[1])) return false;
    *out = made(a, CR_PICKLE_TYPE);
    (*out)->letter = *s;
    (*out)->i = s[1] - '0';
    (*out)->swapped = big;
    return true;
}

/* The number of a type that begins at p; false: a whole number of more than 63 bits. */
static bool number_at(const cr_pickle *type, const char *p, bool *is_whole, int64_t *i, double *x) {
    size_t n = (size_t)type->i;
    uint64_t bits = 0;
    for (size_t k = 0; k < n; k++)
        bits |= (uint64_t)(unsigned char)p[type->swapped ? n - 1 - k : k] << (8 * k);
    *is_whole = type->letter != 'f';
    if (type->letter == 'f' && n == 4) {
        uint32_t half = (uint32_t)bits;
        float f;
        memcpy(&f, &half, sizeof f);
        *x = (double)f;
        return true;
    }
    if (type->letter == 'f') {
        memcpy(x, &bits, sizeof *x);
        return true;
    }
    if (type->letter == 'i' && n < 8 && bits >> (8 * n - 1)) bits |= ~UINT64_C(0) << (8 * n);
    if (type->letter != 'i' && n == 8 && bits > INT64_MAX) return false;
    memcpy(i, &bits, sizeof *i);
    return true;
}

/* ---- calls ---- */

/* Bytes that are written as the text of their numbers. The text keeps them, so that they are made
 * once. */
static bool latin1(cr_arena *a, cr_pickle *args, cr_pickle **out) {
    if (args->n != 2 || args->v[0]->kind != CR_PICKLE_TEXT || args->v[1]->kind != CR_PICKLE_TEXT ||
        args->v[1]->n != 6 || memcmp(args->v[1]->text, "latin1", 6) != 0)
        return false;
    *out = args->v[0]->bytes;
    if (*out) return true;
    const unsigned char *s = (const unsigned char *)args->v[0]->text, *end = s + args->v[0]->n;
    char *bytes = cr_arena_alloc(a, args->v[0]->n + 1);
    size_t n = 0;
    while (s < end) {
        unsigned c = *s++;
        if (c >= 0x80) { /* two bytes of UTF-8 for the numbers from 128 to 255 */
            if ((c != 0xc2 && c != 0xc3) || s == end || (*s & 0xc0) != 0x80) return false;
            c = (c & 3) << 6 | (*s++ & 0x3f);
        }
        bytes[n++] = (char)c;
    }
    *out = args->v[0]->bytes = made(a, CR_PICKLE_TEXT);
    (*out)->text = bytes;
    (*out)->n = n;
    return true;
}

static bool one_number(cr_arena *a, const cr_pickle *args, cr_pickle **out) {
    bool whole;
    int64_t i = 0;
    double x = 0;
    if (args->n != 2 || args->v[0]->kind != CR_PICKLE_TYPE || args->v[0]->letter == 'O' ||
        args->v[1]->kind != CR_PICKLE_TEXT || args->v[1]->n != (size_t)args->v[0]->i ||
        !number_at(args->v[0], args->v[1]->text, &whole, &i, &x))
        return false;
    *out = made(a, whole ? CR_PICKLE_INT : CR_PICKLE_FLOAT);
    (*out)->i = i;
    (*out)->x = x;
    return true;
}

/* Gives an array its shape, type and values, when they fit together. */
static bool fill(cr_arena *a, cr_pickle *v, const cr_pickle *shape, const cr_pickle *type,
                 const cr_pickle *values) {
    int64_t items = 1;
    if (shape->kind != CR_PICKLE_LIST || shape->n > MAX_DIMS || type->kind != CR_PICKLE_TYPE)
        return false;
    int64_t *sizes = CR_NEW_N(a, int64_t, shape->n + 1); /* a list can grow later */
    bool other = type->letter == 'O';
    if (values->kind != (other ? CR_PICKLE_LIST : CR_PICKLE_TEXT)) return false;
    for (size_t d = 0; d < shape->n; d++) {
        const cr_pickle *k = shape->v[d];
        if (k->kind != CR_PICKLE_INT || k->i < 0 || (k->i > 0 && items > INT64_MAX / 8 / k->i))
            return false;
        items *= sizes[d] = k->i;
    }
    if ((uint64_t)items * (other ? 1 : (uint64_t)type->i) != (uint64_t)values->n) return false;
    v->type = type;
    v->shape = sizes;
    v->dims = shape->n;
    v->items = items;
    v->text = values->text;
    v->v = values->v;
    v->n = values->n;
    return true;
}

static bool from_buffer(cr_arena *a, const cr_pickle *args, cr_pickle **out) {
    if (args->n != 4 || args->v[3]->kind != CR_PICKLE_TEXT || args->v[3]->n != 1) return false;
    *out = made(a, CR_PICKLE_ARRAY);
    (*out)->columns_first = *args->v[3]->text == 'F';
    return fill(a, *out, args->v[2], args->v[1], args->v[0]);
}

bool cr_pickle_call(cr_arena *a, const cr_pickle *f, cr_pickle *args, cr_pickle **out) {
    switch ((known)f->i) {
    case DTYPE: return number_type(a, args, out);
    case SCALAR: return one_number(a, args, out);
    case ENCODE: return latin1(a, args, out);
    case FROM_BUFFER: return from_buffer(a, args, out);
    case RECONSTRUCT: /* its state follows; without one it has no numbers and no size */
        if (args->n != 3 || args->v[0]->kind != CR_PICKLE_NAME || args->v[0]->i != NDARRAY)
            return false;
        *out = made(a, CR_PICKLE_ARRAY);
        return true;
    case OBJECT:
        *out = made(a, CR_PICKLE_OBJECT);
        (*out)->text = f->text;
        (*out)->v = args->v;
        (*out)->n = args->n;
        return true;
    case NDARRAY: break;
    }
    return false;
}

bool cr_pickle_build(cr_arena *a, cr_pickle *v, const cr_pickle *state) {
    if (v->kind == CR_PICKLE_OBJECT) {
        v->state = state;
        return true;
    }
    if (state->kind != CR_PICKLE_LIST) return false;
    if (v->kind == CR_PICKLE_TYPE) { /* its order of bytes */
        if (state->n < 2 || state->v[1]->kind != CR_PICKLE_TEXT || state->v[1]->n != 1)
            return false;
        v->swapped = *state->v[1]->text == '>';
        return true;
    }
    if (v->kind != CR_PICKLE_ARRAY || v->type || state->n != 5 ||
        state->v[3]->kind != CR_PICKLE_INT)
        return false;
    v->columns_first = state->v[3]->i != 0;
    return fill(a, v, state->v[1], state->v[2], state->v[4]);
}

/* ---- what an array holds ---- */

int64_t cr_pickle_dim(const cr_pickle *array, size_t d) {
    if (array->kind != CR_PICKLE_ARRAY || d >= array->dims) return -1;
    return array->shape[d];
}

/* Where item k lies: with the first place varying fastest, its places are counted anew. */
static int64_t place(const cr_pickle *v, int64_t k) {
    if (!v->columns_first) return k;
    int64_t at = 0, step = v->items;
    for (size_t d = v->dims; d-- > 0;) {
        int64_t size = v->shape[d];
        step /= size;
        at += k % size * step;
        k /= size;
    }
    return at;
}

const cr_pickle *cr_pickle_item(const cr_pickle *array, int64_t k) {
    if (array->kind != CR_PICKLE_ARRAY || !array->type || array->type->letter != 'O' || k < 0 ||
        k >= array->items)
        return NULL;
    return array->v[place(array, k)];
}

/* Reads item k as a whole number or as another one. */
static bool value_at(const cr_pickle *v, int64_t k, bool *is_whole, int64_t *i, double *x) {
    const cr_pickle *other = cr_pickle_item(v, k);
    if (other) {
        v = other;
        k = 0;
    }
    if (v->kind == CR_PICKLE_INT || v->kind == CR_PICKLE_FLOAT) {
        *is_whole = v->kind == CR_PICKLE_INT;
        *i = v->i;
        *x = v->x;
        return k == 0;
    }
    if (v->kind != CR_PICKLE_ARRAY || !v->type || v->type->letter == 'O' || k < 0 || k >= v->items)
        return false;
    return number_at(v->type, v->text + place(v, k) * v->type->i, is_whole, i, x);
}

bool cr_pickle_number(const cr_pickle *v, int64_t k, double *out) {
    bool whole;
    int64_t i;
    if (!value_at(v, k, &whole, &i, out)) return false;
    if (whole) *out = (double)i;
    return true;
}

bool cr_pickle_whole(const cr_pickle *v, int64_t k, int64_t *out) {
    bool whole;
    double x;
    if (!value_at(v, k, &whole, out, &x)) return false;
    if (whole) return true;
    if (!(fabs(x) < 9e18) || floor(x) != x) return false;
    *out = (int64_t)x;
    return true;
}
