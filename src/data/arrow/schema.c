/*
 * schema.c - the fields of an Arrow schema: from the message, into a message, as text.
 *
 * A FlatBuffer may name one table many times, so that a few bytes could claim any number of fields;
 * their number and depth are limited.
 */
#include <stdio.h>
#include <string.h>

#include "data/arrow/ipc_int.h"

#define MAX_FIELDS 65536
#define MAX_NESTED 32

/* Slots of the tables, in the order of the format's Schema.fbs. */
enum { S_ENDIAN, S_FIELDS };
enum { F_NAME, F_NULLABLE, F_KIND, F_TYPE, F_DICT, F_CHILDREN, F_SLOTS };
enum { D_ID, D_TYPE };

/* ---- reading ---- */

static int bits_of(cr_flat *b, cr_flat_table t, int slot, int def) {
    int64_t x = cr_flat_int(b, t, slot, 4, true, def);
    return x == 8 || x == 16 || x == 32 || x == 64 || x == 128 || x == 256 ? (int)x : 0;
}

static cr_arrow_unit unit_of(cr_flat *b, cr_flat_table t, int def) {
    int64_t x = cr_flat_int(b, t, 0, 2, true, def);
    if (x < 0 || x > 3) b->bad = true;
    return (cr_arrow_unit)(x & 3);
}

/* Reads the table of the type. It returns NULL or what is wrong. */
static const char *read_type(cr_flat *b, cr_flat_table t, cr_arrow_field *f) {
    int64_t x;
    switch (f->kind) {
    case CR_ARROW_INT:
        f->bits = bits_of(b, t, 0, 0);
        f->is_signed = cr_flat_int(b, t, 1, 1, false, 0) != 0;
        return f->bits == 0 || f->bits > 64 ? "is an integer of no known size" : NULL;
    case CR_ARROW_FLOAT:
        x = cr_flat_int(b, t, 0, 2, true, 0);
        f->bits = x == 0 ? 16 : x == 1 ? 32 : 64;
        return x < 0 || x > 2 ? "is a float of no known size" : NULL;
    case CR_ARROW_DECIMAL:
        f->precision = (int)cr_flat_int(b, t, 0, 4, true, 0);
        f->scale = (int)cr_flat_int(b, t, 1, 4, true, 0);
        f->bits = bits_of(b, t, 2, 128);
        return f->bits < 32 || f->precision < 1 || f->precision > 76 || f->scale < -76 ||
                       f->scale > 76
                   ? "is a decimal of no known size"
                   : NULL;
    case CR_ARROW_DATE:
        x = cr_flat_int(b, t, 0, 2, true, 1);
        f->bits = x == 0 ? 32 : 64;
        return x < 0 || x > 1 ? "is a date of no known unit" : NULL;
    case CR_ARROW_TIME:
        f->unit = unit_of(b, t, CR_ARROW_MILLIS);
        f->bits = bits_of(b, t, 1, 32);
        return f->bits != (f->unit <= CR_ARROW_MILLIS ? 32 : 64) ? "is a time of no known size"
                                                                 : NULL;
    case CR_ARROW_TIMESTAMP:
        f->unit = unit_of(b, t, CR_ARROW_SECONDS);
        f->is_utc = cr_flat_has(b, t, 1);
        return NULL;
    case CR_ARROW_DURATION: f->unit = unit_of(b, t, CR_ARROW_MILLIS); return NULL;
    case CR_ARROW_INTERVAL:
        x = cr_flat_int(b, t, 0, 2, true, 0);
        f->bits = x == 0 ? 32 : x == 1 ? 64 : 128;
        return x < 0 || x > 2 ? "is an interval of no known unit" : NULL;
    case CR_ARROW_FIXED_BINARY:
    case CR_ARROW_FIXED_LIST:
        x = cr_flat_int(b, t, 0, 4, true, 0);
        f->width = (int)x;
        return x < 0 || x > 1 << 28 ? "has a negative or huge width" : NULL;
    case CR_ARROW_UNION: f->width = cr_flat_int(b, t, 0, 2, true, 0) == 1; return NULL;
    default: return NULL;
    }
}

static const char *wrong_children(const cr_arrow_schema *s, const cr_arrow_field *f) {
    const cr_arrow_field *child = f + 1;
    switch (f->kind) {
    case CR_ARROW_LIST:
    case CR_ARROW_LARGE_LIST:
    case CR_ARROW_FIXED_LIST:
    case CR_ARROW_LIST_VIEW:
    case CR_ARROW_LARGE_LIST_VIEW:
        return f->n_children == 1 ? NULL : "is a list without items, or of several kinds";
    case CR_ARROW_MAP:
        return f->n_children == 1 && child->kind == CR_ARROW_STRUCT && child->n_children == 2
                   ? NULL
                   : "is a map without keys and values";
    case CR_ARROW_RUN_END:
        return f->n_children == 2 ? NULL : "is run-end encoded without ends and values";
    case CR_ARROW_STRUCT:
    case CR_ARROW_UNION: return NULL;
    default: (void)s; return f->n_children == 0 ? NULL : "has members, which its type cannot have";
    }
}

typedef struct reading {
    cr_flat *b;
    cr_arrow_schema *s;
    int cap;
    cr_arena *arena;
    const char *wrong;
    const char *name; /* of the field that is wrong */
} reading;

static void read_fields(reading *r, cr_flat_vec list, int parent, int depth) {
    for (size_t i = 0; i < list.n && !r->wrong && !r->b->bad; i++) {
        if (r->s->n >= MAX_FIELDS || depth > MAX_NESTED) {
            r->wrong = "is nested too deeply, or one of too many fields";
            return;
        }
        if (r->s->n == r->cap) {
            int cap = r->cap ? 2 * r->cap : 32;
            cr_arrow_field *v = CR_NEW_N(r->arena, cr_arrow_field, cap);
            if (r->s->n) memcpy(v, r->s->v, (size_t)r->s->n * sizeof(*v));
            r->s->v = v;
            r->cap = cap;
        }
        int k = r->s->n++;
        cr_flat_table t = cr_flat_item(r->b, list, i);
        size_t n;
        const char *name = cr_flat_text(r->b, t, F_NAME, &n);
        cr_arrow_field f = {.name = cr_arena_strndup(r->arena, name, n), .parent = parent};
        int64_t kind = cr_flat_int(r->b, t, F_KIND, 1, false, 0);
        f.kind = (cr_arrow_kind)kind;
        f.nullable = cr_flat_int(r->b, t, F_NULLABLE, 1, false, 0) != 0;
        r->name = f.name;
        r->wrong = kind < CR_ARROW_NULL || kind >= CR_ARROW_KINDS
                       ? "has a type that this version does not know"
                       : read_type(r->b, cr_flat_sub(r->b, t, F_TYPE), &f);
        f.coded = cr_flat_has(r->b, t, F_DICT);
        if (f.coded) {
            cr_flat_table d = cr_flat_sub(r->b, t, F_DICT);
            cr_flat_table type = cr_flat_sub(r->b, d, D_TYPE);
            f.dict = cr_flat_int(r->b, d, D_ID, 8, true, 0);
            f.code_bits = type.size ? bits_of(r->b, type, 0, 0) : 32;
            f.code_signed = !type.size || cr_flat_int(r->b, type, 1, 1, false, 0) != 0;
            if (!r->wrong && (f.code_bits == 0 || f.code_bits > 64))
                r->wrong = "has codes of no known size";
        }
        cr_flat_vec children = cr_flat_list(r->b, t, F_CHILDREN, 4);
        f.n_children = children.n > MAX_FIELDS ? MAX_FIELDS : (int)children.n;
        r->s->v[k] = f;
        if (r->wrong || r->b->bad) return;
        read_fields(r, children, k, depth + 1);
        if (r->wrong || r->b->bad) return;
        r->s->v[k].next = r->s->n;
        r->name = r->s->v[k].name;
        r->wrong = wrong_children(r->s, &r->s->v[k]);
    }
}

const char *cr_arrow_read_schema(cr_flat *b, cr_flat_table t, cr_arrow_schema *out, cr_arena *a) {
    *out = (cr_arrow_schema){0};
    if (cr_flat_int(b, t, S_ENDIAN, 2, true, 0) != 0)
        return "its numbers are big-endian; write it on a little-endian machine";
    cr_flat_vec fields = cr_flat_list(b, t, S_FIELDS, 4);
    reading r = {.b = b, .s = out, .arena = a};
    read_fields(&r, fields, -1, 0);
    if (r.wrong && !b->bad)
        return cr_arena_printf(a, "field '%.100s' %s", r.name ? r.name : "", r.wrong);
    out->n_columns = (int)fields.n;
    return NULL;
}

void cr_arrow_schema_link(cr_arrow_schema *s) {
    s->n_columns = 0;
    for (int i = s->n - 1; i >= 0; i--) { /* children lie behind, so their ends are known */
        int end = i + 1;
        for (int k = 0; k < s->v[i].n_children; k++) {
            s->v[end].parent = i;
            end = s->v[end].next;
        }
        s->v[i].next = end;
        s->v[i].parent = -1; /* until its parent's turn comes */
    }
    for (int i = 0; i < s->n; i = s->v[i].next)
        s->n_columns++;
}

bool cr_arrow_same_schema(const cr_arrow_schema *a, const cr_arrow_schema *b) {
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++) {
        const cr_arrow_field *x = &a->v[i], *y = &b->v[i];
        if (x->kind != y->kind || x->bits != y->bits || x->is_signed != y->is_signed ||
            x->unit != y->unit || x->scale != y->scale || x->width != y->width ||
            x->next != y->next || x->nullable != y->nullable || strcmp(x->name, y->name) != 0)
            return false;
    }
    return true;
}

/* ---- writing ---- */

static size_t put_type(cr_flat_out *o, const cr_arrow_field *f) {
    cr_flat_put v[3] = {{0}};
    int n = 0;
    switch (f->kind) {
    case CR_ARROW_INT:
        v[n++] = (cr_flat_put){4, f->bits};
        v[n++] = (cr_flat_put){1, f->is_signed};
        break;
    case CR_ARROW_FLOAT:
        v[n++] = (cr_flat_put){2, f->bits == 16 ? 0 : f->bits == 32 ? 1 : 2};
        break;
    case CR_ARROW_DATE: v[n++] = (cr_flat_put){2, f->bits == 64}; break;
    case CR_ARROW_TIMESTAMP:
    case CR_ARROW_DURATION: v[n++] = (cr_flat_put){2, f->unit}; break;
    case CR_ARROW_DECIMAL:
        v[n++] = (cr_flat_put){4, f->precision};
        v[n++] = (cr_flat_put){4, f->scale};
        v[n++] = (cr_flat_put){4, f->bits};
        break;
    case CR_ARROW_FIXED_BINARY:
    case CR_ARROW_FIXED_LIST: v[n++] = (cr_flat_put){4, f->width}; break;
    case CR_ARROW_MAP: v[n++] = (cr_flat_put){1, 0}; break; /* keys are not sorted */
    default: break;
    }
    return cr_flat_put_table(o, v, n, NULL);
}

static size_t put_field(cr_flat_out *o, const cr_arrow_schema *s, int i) {
    const cr_arrow_field *f = &s->v[i];
    cr_flat_put v[F_SLOTS] = {{0}};
    size_t place[F_SLOTS];
    v[F_NAME] = v[F_TYPE] = v[F_CHILDREN] = (cr_flat_put){4, 0};
    v[F_NULLABLE] = (cr_flat_put){1, f->nullable};
    v[F_KIND] = (cr_flat_put){1, f->kind};
    if (f->coded) v[F_DICT] = (cr_flat_put){4, 0};
    size_t at = cr_flat_put_table(o, v, F_SLOTS, place);
    cr_flat_link(o, place[F_NAME], cr_flat_put_text(o, f->name));
    cr_flat_link(o, place[F_TYPE], put_type(o, f));
    if (f->coded) {
        cr_flat_put d[2] = {{8, f->dict}, {4, 0}},
                    type[2] = {{4, f->code_bits}, {1, f->code_signed}};
        size_t to[2];
        cr_flat_link(o, place[F_DICT], cr_flat_put_table(o, d, 2, to));
        cr_flat_link(o, to[D_TYPE], cr_flat_put_table(o, type, 2, NULL));
    }
    size_t list = cr_flat_put_list(o, (size_t)f->n_children, 4);
    cr_flat_link(o, place[F_CHILDREN], list);
    for (int k = 0, c = i + 1; k < f->n_children; k++, c = s->v[c].next)
        cr_flat_link(o, list + 4 + 4 * (size_t)k, put_field(o, s, c));
    return at;
}

size_t cr_arrow_put_schema(cr_flat_out *o, const cr_arrow_schema *s) {
    cr_flat_put v[2] = {{2, 0}, {4, 0}};
    size_t place[2];
    size_t at = cr_flat_put_table(o, v, 2, place);
    size_t list = cr_flat_put_list(o, (size_t)s->n_columns, 4);
    cr_flat_link(o, place[S_FIELDS], list);
    for (int i = 0, k = 0; i < s->n; i = s->v[i].next, k++)
        cr_flat_link(o, list + 4 + 4 * (size_t)k, put_field(o, s, i));
    return at;
}

/* ---- text ---- */

static void add(char *out, size_t size, const char *fmt, const char *text) {
    size_t n = strlen(out);
    if (n < size) snprintf(out + n, size - n, fmt, text);
}

static void type_text(const cr_arrow_schema *s, int i, char *out, size_t size) {
    static const char *const names[CR_ARROW_KINDS] = {
        [CR_ARROW_NULL] = "null",
        [CR_ARROW_BINARY] = "binary",
        [CR_ARROW_UTF8] = "utf8",
        [CR_ARROW_BOOL] = "bool",
        [CR_ARROW_INTERVAL] = "interval",
        [CR_ARROW_LIST] = "list",
        [CR_ARROW_STRUCT] = "struct",
        [CR_ARROW_UNION] = "union",
        [CR_ARROW_FIXED_LIST] = "fixed_size_list",
        [CR_ARROW_MAP] = "map",
        [CR_ARROW_LARGE_BINARY] = "large_binary",
        [CR_ARROW_LARGE_UTF8] = "large_utf8",
        [CR_ARROW_LARGE_LIST] = "large_list",
        [CR_ARROW_RUN_END] = "run_end_encoded",
        [CR_ARROW_BINARY_VIEW] = "binary_view",
        [CR_ARROW_UTF8_VIEW] = "utf8_view",
        [CR_ARROW_LIST_VIEW] = "list_view",
        [CR_ARROW_LARGE_LIST_VIEW] = "large_list_view",
    };
    static const char *const units[] = {"s", "ms", "us", "ns"};
    const cr_arrow_field *f = &s->v[i];
    char text[64] = "";
    if (f->coded) add(out, size, "%s", "dictionary<");
    switch (f->kind) {
    case CR_ARROW_INT:
        snprintf(text, sizeof text, "%sint%d", f->is_signed ? "" : "u", f->bits);
        break;
    case CR_ARROW_FLOAT: snprintf(text, sizeof text, "float%d", f->bits); break;
    case CR_ARROW_DECIMAL:
        snprintf(text, sizeof text, "decimal%d(%d, %d)", f->bits, f->precision, f->scale);
        break;
    case CR_ARROW_DATE: snprintf(text, sizeof text, "date%d", f->bits); break;
    case CR_ARROW_TIME: snprintf(text, sizeof text, "time%d(%s)", f->bits, units[f->unit]); break;
    case CR_ARROW_TIMESTAMP: snprintf(text, sizeof text, "timestamp(%s)", units[f->unit]); break;
    case CR_ARROW_DURATION: snprintf(text, sizeof text, "duration(%s)", units[f->unit]); break;
    case CR_ARROW_FIXED_BINARY:
        snprintf(text, sizeof text, "fixed_size_binary(%d)", f->width);
        break;
    default: snprintf(text, sizeof text, "%s", names[f->kind]);
    }
    add(out, size, "%s", text);
    bool map = f->kind == CR_ARROW_MAP, members = f->kind == CR_ARROW_STRUCT;
    int first = map ? i + 2 : i + 1, n = map ? 2 : f->n_children;
    for (int k = 0, c = first; k < n; k++, c = s->v[c].next) {
        add(out, size, "%s", k == 0 ? "<" : ", ");
        if (members) add(out, size, "%.60s: ", s->v[c].name);
        type_text(s, c, out, size);
    }
    if (n > 0) add(out, size, "%s", ">");
    if (f->coded) add(out, size, "%s", ">");
}

void cr_arrow_type_text(const cr_arrow_schema *s, int field, char *out, size_t size) {
    out[0] = 0;
    type_text(s, field, out, size);
}
