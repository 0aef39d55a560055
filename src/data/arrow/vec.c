/*
 * vec.c - rows of an Arrow field as a vector of stored values.
 *
 * From a column down to its leaf, each struct adds its nulls and each list its offsets; what is
 * left to take is a run of slots of the next field, or a list of slots where lists that are null
 * hide some. Numbers and text without nulls stay where they are. Every offset, code and view of the
 * rows is checked here; their buffers were checked when the batch was loaded.
 */
#include "data/arrow/vec.h"

#include <string.h>

#include "data/arrow/ipc_int.h"

typedef struct making {
    const cr_arrow_file *f;
    const cr_arrow_field *field;
    const cr_arrow_array *a;
    cr_arena *arena;
    /* the slots that are taken */
    int64_t from, n;
    const int64_t *idx;   /* NULL: [from, from + n) */
    const uint8_t *valid; /* per slot that is taken; NULL: all are */
    int64_t n_null;
    cr_pq_vec *out;
} making;

#define WRONG(t, ...)                                                                              \
    cr_arrow_wrong(err, (t)->f, -1, CR_ARROW_DAMAGED, "column '%.100s': " __VA_ARGS__)

static inline int64_t slot(const making *t, int64_t i) {
    return t->idx ? t->idx[i] : t->from + i;
}

static inline bool is_null(const making *t, int64_t i) {
    return t->valid && !t->valid[i];
}

static void *room(making *t, size_t each) {
    return cr_arena_alloc(t->arena, cr_bytes(t->n + 1, each));
}

/* Adds the nulls of the field to those of what it lies in. */
static void add_nulls(making *t) {
    const uint8_t *bits = t->a->valid;
    if (bits) {
        uint8_t *v = room(t, 1);
        for (int64_t i = 0; i < t->n; i++) {
            int64_t k = slot(t, i);
            v[i] = (uint8_t)((bits[k >> 3] >> (k & 7) & 1) & !is_null(t, i));
        }
        t->valid = v;
    }
    t->n_null = 0;
    for (int64_t i = 0; t->valid && i < t->n; i++)
        t->n_null += !t->valid[i];
    if (t->n_null == 0) t->valid = NULL;
}

static void range_of(const making *t, int64_t k, int64_t *from, int64_t *to) {
    const void *off = t->a->off;
    bool wide = t->field->kind == CR_ARROW_LARGE_LIST || t->field->kind == CR_ARROW_LARGE_UTF8 ||
                t->field->kind == CR_ARROW_LARGE_BINARY;
    if (t->field->kind == CR_ARROW_FIXED_LIST) {
        *from = k * t->field->width;
        *to = *from + t->field->width;
    } else if (wide) {
        *from = ((const int64_t *)off)[k];
        *to = ((const int64_t *)off)[k + 1];
    } else {
        *from = ((const int32_t *)off)[k];
        *to = ((const int32_t *)off)[k + 1];
    }
}

/* ---- lists ---- */

/* Goes from lists to their items, of which the batch has n_items. */
static cr_code into_list(making *t, int64_t n_items, cr_pq_list *out, cr_err *err) {
    int32_t *off = room(t, sizeof(*off));
    int64_t total = 0, first = 0, expect = -1;
    bool whole = true; /* the items lie one behind the other */
    off[0] = 0;
    for (int64_t i = 0; i < t->n; i++) {
        int64_t a = 0, z = 0;
        if (!is_null(t, i)) range_of(t, slot(t, i), &a, &z);
        if (a < 0 || z < a || z > n_items)
            return WRONG(t, "a list is to hold items %lld to %lld of %lld", t->field->name,
                         (long long)a, (long long)z, (long long)n_items);
        if (z > a) {
            if (expect < 0) first = a;
            whole &= expect < 0 || a == expect;
            expect = z;
        }
        total += z - a;
        if (total > INT32_MAX)
            return cr_fail_at(
                err, CR_EDATA, ((cr_loc){t->f->path, 0, 0}),
                "column '%.100s': lists of one block have more than 2^31 items; write "
                "shorter lists",
                t->field->name);
        off[i + 1] = (int32_t)total;
    }
    *out = (cr_pq_list){off, t->valid, t->n};
    int64_t *idx = NULL;
    if (!whole) {
        int64_t at = 0;
        idx = cr_arena_alloc(t->arena, cr_bytes(total + 1, sizeof(*idx)));
        for (int64_t i = 0; i < t->n; i++) {
            int64_t a, z;
            if (is_null(t, i)) continue;
            for (range_of(t, slot(t, i), &a, &z); a < z; a++)
                idx[at++] = a;
        }
    }
    t->from = first;
    t->n = total;
    t->idx = idx;
    t->valid = NULL;
    return CR_OK;
}

/* ---- numbers ---- */

/* Values of `each` bytes as they are; nulls become zeros. */
static const void *as_is(making *t, size_t each) {
    const uint8_t *p = t->a->data.p;
    if (!t->idx && !t->valid && t->n > 0) return p + (size_t)t->from * each;
    uint8_t *to = room(t, each);
    for (int64_t i = 0; i < t->n; i++) {
        if (is_null(t, i))
            memset(to + (size_t)i * each, 0, each);
        else
            memcpy(to + (size_t)i * each, p + (size_t)slot(t, i) * each, each);
    }
    return to;
}

static int64_t whole_at(const uint8_t *p, int64_t k, int bits, bool is_signed) {
    size_t each = (size_t)bits / 8;
    uint64_t x = 0;
    memcpy(&x, p + (size_t)k * each, each);
    int spare = 64 - bits;
    return is_signed ? (int64_t)(x << spare) >> spare : (int64_t)x;
}

static void widen(making *t) {
    int32_t *to = room(t, 4);
    for (int64_t i = 0; i < t->n; i++)
        to[i] = is_null(t, i) ? 0
                              : (int32_t)whole_at(t->a->data.p, slot(t, i), t->field->bits,
                                                  t->field->is_signed);
    t->out->v.i32 = to;
}

static void bools(making *t) {
    uint8_t *to = room(t, 1);
    const uint8_t *bits = t->a->data.p;
    for (int64_t i = 0; i < t->n; i++) {
        int64_t k = slot(t, i);
        to[i] = (uint8_t)(is_null(t, i) ? 0 : bits[k >> 3] >> (k & 7) & 1);
    }
    t->out->v.b8 = to;
}

/* Decimals are little-endian here and big-endian in Parquet. */
static void decimals(making *t) {
    size_t w = (size_t)t->field->bits / 8;
    uint8_t *to = room(t, w);
    for (int64_t i = 0; i < t->n; i++) {
        const uint8_t *p = is_null(t, i) ? NULL : t->a->data.p + (size_t)slot(t, i) * w;
        for (size_t k = 0; k < w; k++)
            to[(size_t)i * w + k] = p ? p[w - 1 - k] : 0;
    }
    t->out->v.b8 = to;
}

/* Multiplies or divides times, for units that Parquet does not have. */
static cr_code times(making *t, int64_t by, int64_t through, cr_err *err) {
    bool narrow = t->out->type == CR_PQ_I32;
    int bits = t->field->kind == CR_ARROW_TIME ? t->field->bits : 64;
    void *to = room(t, narrow ? 4 : 8);
    for (int64_t i = 0; i < t->n; i++) {
        int64_t x = is_null(t, i) ? 0 : whole_at(t->a->data.p, slot(t, i), bits, true), y;
        bool over = __builtin_mul_overflow(x, by, &y);
        y = y / through - (y % through < 0);
        if (over || (narrow && (y < INT32_MIN || y > INT32_MAX)))
            return cr_fail_at(err, CR_EDATA, ((cr_loc){t->f->path, 0, 0}),
                              "column '%.100s', value %lld: it is no date or time that fits; write "
                              "it as a number",
                              t->field->name, (long long)x);
        if (narrow)
            ((int32_t *)to)[i] = (int32_t)y;
        else
            ((int64_t *)to)[i] = y;
    }
    t->out->v.i64 = to;
    return CR_OK;
}

/* ---- text ---- */

/* Text of 32-bit offsets without nulls stays where it is: true. */
static bool text_in_place(making *t) {
    bool wide = t->field->kind == CR_ARROW_LARGE_UTF8 || t->field->kind == CR_ARROW_LARGE_BINARY;
    if (t->idx || t->valid || wide || t->n == 0) return false;
    const int32_t *off = (const int32_t *)t->a->off + t->from;
    int32_t before = off[0], falls = before;
    for (int64_t i = 1; i <= t->n; i++) {
        falls |= off[i] < before ? -1 : off[i];
        before = off[i];
    }
    if (falls < 0 || off[t->n] > t->a->data.n) return false; /* the careful way finds the mistake */
    t->out->beg = (const uint32_t *)off;
    t->out->end = t->out->beg + 1;
    t->out->bytes = t->a->data.n ? (const char *)t->a->data.p : "";
    return true;
}

static cr_code too_long(making *t, cr_err *err) {
    return cr_fail_at(err, CR_EDATA, ((cr_loc){t->f->path, 0, 0}),
                      "column '%.100s': the texts of one block have more than 4 GiB; write shorter "
                      "texts",
                      t->field->name);
}

static cr_code texts(making *t, cr_err *err) {
    if (text_in_place(t)) return CR_OK;
    int64_t lo = INT64_MAX, hi = 0;
    for (int64_t i = 0; i < t->n; i++) {
        int64_t a, z;
        if (is_null(t, i)) continue;
        range_of(t, slot(t, i), &a, &z);
        if (a < 0 || z < a || z > t->a->data.n)
            return WRONG(t, "a text is to be bytes %lld to %lld of %lld", t->field->name,
                         (long long)a, (long long)z, (long long)t->a->data.n);
        if (a < lo) lo = a;
        if (z > hi) hi = z;
    }
    if (lo == INT64_MAX) lo = hi = 0;
    if (hi - lo > UINT32_MAX) return too_long(t, err);
    uint32_t *beg = room(t, 4), *end = room(t, 4);
    beg[0] = end[0] = 0;
    for (int64_t i = 0; i < t->n; i++) {
        int64_t a = lo, z = lo;
        if (!is_null(t, i)) range_of(t, slot(t, i), &a, &z);
        beg[i] = (uint32_t)(a - lo);
        end[i] = (uint32_t)(z - lo);
    }
    t->out->beg = beg;
    t->out->end = end;
    t->out->bytes = t->a->data.n ? (const char *)t->a->data.p + lo : "";
    return CR_OK;
}

/* A view holds a text of at most 12 bytes itself; of a longer one it says which buffer has it, and
 * where. */
static cr_code views(making *t, cr_err *err) {
    int64_t total = 0;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t *beg = NULL, *end = NULL;
        char *to = NULL;
        if (pass == 1) {
            if (total > UINT32_MAX) return too_long(t, err);
            beg = room(t, 4);
            end = room(t, 4);
            beg[0] = end[0] = 0;
            to = cr_arena_alloc(t->arena, (size_t)total + 1);
            t->out->beg = beg;
            t->out->end = end;
            t->out->bytes = to;
            total = 0;
        }
        for (int64_t i = 0; i < t->n; i++) {
            const uint8_t *p = is_null(t, i) ? NULL : t->a->data.p + 16 * (size_t)slot(t, i);
            int64_t n = p ? cr_flat_i32(p) : 0;
            if (n < 0) return WRONG(t, "a text has %lld bytes", t->field->name, (long long)n);
            const uint8_t *from = p ? p + 4 : NULL;
            if (n > 12) {
                int32_t which = cr_flat_i32(p + 8);
                int64_t at = cr_flat_i32(p + 12);
                if (which < 0 || which >= t->a->n_more || at < 0 || at > t->a->more[which].n ||
                    n > t->a->more[which].n - at)
                    return WRONG(t, "a text lies outside its buffer", t->field->name);
                from = t->a->more[which].p + at;
            }
            if (pass == 1) {
                beg[i] = (uint32_t)total;
                end[i] = (uint32_t)(total + n);
                if (n) memcpy(to + total, from, (size_t)n);
            }
            total += n;
        }
    }
    return CR_OK;
}

/* ---- leaves ---- */

static cr_code plain(making *t, cr_err *err) {
    const cr_arrow_field *f = t->field;
    cr_pq_vec *v = t->out;
    switch (f->kind) {
    case CR_ARROW_INT:
        if (f->bits < 32)
            widen(t);
        else
            v->v.i64 = as_is(t, (size_t)f->bits / 8);
        return CR_OK;
    case CR_ARROW_FLOAT: v->v.i64 = as_is(t, (size_t)f->bits / 8); return CR_OK;
    case CR_ARROW_BOOL: bools(t); return CR_OK;
    case CR_ARROW_DECIMAL: decimals(t); return CR_OK;
    case CR_ARROW_FIXED_BINARY: v->v.i64 = as_is(t, (size_t)f->width); return CR_OK;
    case CR_ARROW_DATE:
        if (f->bits == 64) return times(t, 1, 86400000, err);
        v->v.i64 = as_is(t, 4);
        return CR_OK;
    case CR_ARROW_TIME:
        if (f->unit == CR_ARROW_SECONDS) return times(t, 1000, 1, err);
        v->v.i64 = as_is(t, (size_t)f->bits / 8);
        return CR_OK;
    case CR_ARROW_TIMESTAMP:
        if (f->unit == CR_ARROW_SECONDS) return times(t, 1000, 1, err);
        v->v.i64 = as_is(t, 8);
        return CR_OK;
    case CR_ARROW_DURATION: v->v.i64 = as_is(t, 8); return CR_OK;
    case CR_ARROW_UTF8:
    case CR_ARROW_BINARY:
    case CR_ARROW_LARGE_UTF8:
    case CR_ARROW_LARGE_BINARY: return texts(t, err);
    case CR_ARROW_UTF8_VIEW:
    case CR_ARROW_BINARY_VIEW: return views(t, err);
    default: break;
    }
    /* the type that holds nothing but nulls */
    v->v.i32 = cr_arena_zalloc(t->arena, cr_bytes(t->n + 1, 4));
    if (t->n) t->valid = cr_arena_zalloc(t->arena, (size_t)t->n);
    t->n_null = t->n;
    return CR_OK;
}

static size_t width_of(const cr_pq_vec *v) {
    static const size_t width[] = {1, 4, 8, 12, 4, 8};
    return v->type == CR_PQ_FIXED ? (size_t)v->type_length : width[v->type];
}

/* Codes of a dictionary: text keeps them, everything else is looked up. An entry may be null. */
static cr_code coded(making *t, const cr_pq_vec *entries, cr_err *err) {
    const cr_arrow_field *f = t->field;
    uint32_t *code = room(t, 4);
    uint8_t *valid = NULL;
    for (int64_t i = 0; i < t->n; i++) {
        code[i] = 0;
        if (is_null(t, i)) continue;
        int64_t k = whole_at(t->a->data.p, slot(t, i), f->code_bits, f->code_signed);
        if (k < 0 || k >= entries->n)
            return WRONG(t, "code %lld of a dictionary of %lld entries", f->name, (long long)k,
                         (long long)entries->n);
        if (entries->valid && !entries->valid[k]) {
            if (!valid) {
                valid = room(t, 1);
                for (int64_t j = 0; j < t->n; j++)
                    valid[j] = !is_null(t, j);
            }
            valid[i] = 0;
            t->n_null++;
            continue;
        }
        code[i] = (uint32_t)k;
    }
    if (valid) t->valid = valid;
    cr_pq_vec *v = t->out;
    if (v->type == CR_PQ_BYTES) {
        v->bytes = entries->bytes;
        v->beg = entries->beg;
        v->end = entries->end;
        v->n_dict = entries->n > 0 ? entries->n : 1;
        v->code = code;
        return CR_OK;
    }
    size_t w = width_of(v);
    uint8_t *to = room(t, w);
    for (int64_t i = 0; i < t->n; i++) {
        if (is_null(t, i))
            memset(to + (size_t)i * w, 0, w);
        else
            memcpy(to + (size_t)i * w, entries->v.b8 + (size_t)code[i] * w, w);
    }
    v->v.b8 = to;
    return CR_OK;
}

static cr_code finish_leaf(making *t, const cr_pq_vec *entries, cr_err *err) {
    add_nulls(t);
    CR_TRY(t->field->coded ? coded(t, entries, err) : plain(t, err));
    t->out->n = t->n;
    t->out->n_null = t->n_null;
    t->out->valid = t->n_null > 0 ? t->valid : NULL;
    return CR_OK;
}

static int leaf_field(const cr_arrow_shape *shape, int leaf) {
    return shape->field[shape->meta.leaves[leaf]];
}

cr_code cr_arrow_vec(const cr_arrow_file *f, const cr_arrow_shape *shape, int leaf,
                     const cr_arrow_batch *b, int64_t from, int64_t n, const cr_pq_vec *entries,
                     cr_arena *arena, cr_pq_vec *out, cr_err *err) {
    const cr_arrow_field *fields = f->schema.v;
    const cr_pq_node *node = &shape->meta.nodes[shape->meta.leaves[leaf]];
    int path[CR_PQ_MAX_DEPTH * 4], depth = 0;
    *out = (cr_pq_vec){.type = node->type, .type_length = node->type_length, .n_rows = n};
    for (int i = leaf_field(shape, leaf); i >= 0; i = fields[i].parent) {
        if (depth == CR_PQ_MAX_DEPTH * 4)
            return cr_fail_at(err, CR_EDATA, ((cr_loc){f->path, 0, 0}),
                              "column '%.100s' is nested too deeply; write it flatter",
                              fields[i].name);
        path[depth++] = i;
    }
    making t = {.f = f, .arena = arena, .from = from, .n = n, .out = out};
    while (depth-- > 0) {
        int i = path[depth];
        t.field = &fields[i];
        t.a = &b->v[i];
        if (depth == 0) break;
        add_nulls(&t);
        if (t.field->kind == CR_ARROW_STRUCT) continue;
        if (out->depth == CR_PQ_MAX_DEPTH)
            return WRONG(&t, "it has too many lists inside each other", t.field->name);
        CR_TRY(into_list(&t, b->v[path[depth - 1]].n, &out->list[out->depth++], err));
    }
    return finish_leaf(&t, entries, err);
}

static void drop_batch(void *b) {
    cr_arrow_batch_clear(b);
}

cr_code cr_arrow_entries(const cr_arrow_file *f, const cr_arrow_shape *shape, int leaf,
                         cr_arrow_dict d, cr_arena *arena, cr_pq_vec *out, cr_err *err) {
    int field = leaf_field(shape, leaf);
    const cr_pq_node *node = &shape->meta.nodes[shape->meta.leaves[leaf]];
    cr_arrow_field plain_field = f->schema.v[field];
    plain_field.coded = false;
    if (d.n == 0)
        return cr_arrow_wrong(err, f, -1, CR_ARROW_DAMAGED,
                              "column '%.100s': its dictionary is missing", plain_field.name);
    cr_pq_vec *parts = CR_NEW_N(arena, cr_pq_vec, d.n);
    for (int i = 0; i < d.n; i++) {
        cr_arrow_batch *b = CR_NEW(arena, cr_arrow_batch);
        cr_arrow_batch_init(b);
        cr_arena_defer(arena, drop_batch, b);
        CR_TRY(cr_arrow_load_dict(f, field, d, i, b, err));
        if (b->n_rows > INT32_MAX)
            return cr_arrow_wrong(err, f, -1, CR_ARROW_DAMAGED,
                                  "column '%.100s': a dictionary of %lld entries", plain_field.name,
                                  (long long)b->n_rows);
        parts[i] =
            (cr_pq_vec){.type = node->type, .type_length = node->type_length, .n_rows = b->n_rows};
        making t = {.f = f,
                    .field = &plain_field,
                    .a = &b->v[0],
                    .arena = arena,
                    .n = b->n_rows,
                    .out = &parts[i]};
        CR_TRY(finish_leaf(&t, NULL, err));
    }
    return cr_arrow_join(parts, d.n, arena, out, err);
}

/* ---- several into one ---- */

static const uint8_t *join_valid(const cr_pq_vec *v, int n, int list, int64_t total, cr_arena *a) {
    bool any = false;
    for (int i = 0; i < n; i++)
        any |= (list < 0 ? v[i].valid : v[i].list[list].valid) != NULL;
    if (!any) return NULL;
    uint8_t *out = cr_arena_alloc(a, (size_t)total + 1), *to = out;
    for (int i = 0; i < n; i++) {
        const uint8_t *from = list < 0 ? v[i].valid : v[i].list[list].valid;
        size_t k = (size_t)(list < 0 ? v[i].n : v[i].list[list].n);
        if (from)
            memcpy(to, from, k);
        else
            memset(to, 1, k);
        to += k;
    }
    return out;
}

/* Texts keep their bytes apart in each vector, so they are copied; codes of different dictionaries
 * too. */
static cr_code join_texts(const cr_pq_vec *v, int n, int64_t total, cr_arena *a, cr_pq_vec *out,
                          cr_err *err) {
    size_t bytes = 0;
    uint32_t *at = cr_arena_alloc(a, cr_bytes(total + 1, 4)), *to = at;
    for (int i = 0; i < n; i++)
        for (int64_t j = 0; j < v[i].n; j++) {
            size_t k = v[i].code ? v[i].code[j] : (size_t)j;
            bytes += v[i].end[k] - v[i].beg[k];
        }
    if (bytes > UINT32_MAX)
        return cr_fail(err, CR_EDATA,
                       "the texts of one block have more than 4 GiB; write shorter "
                       "texts");
    char *text = cr_arena_alloc(a, bytes + 1), *p = text;
    for (int i = 0; i < n; i++)
        for (int64_t j = 0; j < v[i].n; j++) {
            size_t k = v[i].code ? v[i].code[j] : (size_t)j, m = v[i].end[k] - v[i].beg[k];
            *to++ = (uint32_t)(p - text);
            memcpy(p, v[i].bytes + v[i].beg[k], m);
            p += m;
        }
    *to = (uint32_t)(p - text);
    out->bytes = text;
    out->beg = at;
    out->end = at + 1;
    out->code = NULL;
    out->n_dict = 0;
    return CR_OK;
}

cr_code cr_arrow_join(const cr_pq_vec *v, int n, cr_arena *a, cr_pq_vec *out, cr_err *err) {
    *out = v[0];
    if (n == 1) return CR_OK;
    int64_t rows = 0, total = 0, nulls = 0;
    for (int i = 0; i < n; i++) {
        rows += v[i].n_rows;
        total += v[i].n;
        nulls += v[i].n_null;
    }
    if (total > INT32_MAX)
        return cr_fail(err, CR_EDATA,
                       "the lists of one block have more than 2^31 items; write shorter lists");
    out->n_rows = rows;
    out->n = total;
    out->n_null = nulls;
    out->valid = join_valid(v, n, -1, total, a);
    for (int d = 0; d < v[0].depth; d++) {
        int64_t lists = 0, at = 0, items = 0;
        for (int i = 0; i < n; i++)
            lists += v[i].list[d].n;
        int32_t *off = cr_arena_alloc(a, cr_bytes(lists + 1, 4));
        off[0] = 0;
        for (int i = 0; i < n; i++) {
            const cr_pq_list *l = &v[i].list[d];
            for (int64_t k = 0; k < l->n; k++)
                off[++at] = (int32_t)(items + l->off[k + 1]);
            items += l->off[l->n];
        }
        out->list[d] = (cr_pq_list){off, join_valid(v, n, d, lists, a), lists};
    }
    if (v[0].type == CR_PQ_BYTES) return join_texts(v, n, total, a, out, err);
    size_t w = width_of(&v[0]);
    uint8_t *p = cr_arena_alloc(a, cr_bytes(total + 1, w));
    out->v.b8 = p;
    for (int i = 0; i < n; i++) {
        memcpy(p, v[i].v.b8, (size_t)v[i].n * w);
        p += (size_t)v[i].n * w;
    }
    return CR_OK;
}
