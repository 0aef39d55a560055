/*
 * text.c - types, values and rows as text.
 *
 * A row is put together from the levels of its leaves. The definition level of a leaf says how much
 * of its path exists; the repetition level says which list continues. For every list the first leaf
 * under it decides how many items there are; the other leaves follow. A file whose leaves disagree
 * gives a wrong row, never a wrong access: positions are checked, and after each row every leaf
 * goes on to its next row.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "base/json.h"
#include "parquet/decode_int.h"

/* ---- names ---- */

const char *cr_pq_type_name(cr_pq_type t) {
    static const char *const names[] = {"BOOLEAN", "INT32",  "INT64",      "INT96",
                                        "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
    if (t == CR_PQ_GROUP) return "group";
    return t >= 0 && t <= CR_PQ_FIXED ? names[t] : "unknown";
}

const char *cr_pq_codec_name(cr_pq_codec c) {
    static const char *const names[] = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                        "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};
    return (unsigned)c < sizeof names / sizeof *names ? names[c] : "unknown";
}

const char *cr_pq_encoding_name(int e) {
    static const char *const names[] = {"PLAIN",
                                        NULL,
                                        "PLAIN_DICTIONARY",
                                        "RLE",
                                        "BIT_PACKED",
                                        "DELTA_BINARY_PACKED",
                                        "DELTA_LENGTH_BYTE_ARRAY",
                                        "DELTA_BYTE_ARRAY",
                                        "RLE_DICTIONARY",
                                        "BYTE_STREAM_SPLIT"};
    bool known = e >= 0 && e < (int)(sizeof names / sizeof *names) && names[e];
    return known ? names[e] : "unknown";
}

const char *cr_pq_page_name(int type) {
    static const char *const names[] = {"data", "index", "dictionary", "data v2"};
    return type >= 0 && type < 4 ? names[type] : "unknown";
}

/* ---- types ---- */

/* Text that stops at `size`; the caller marks the cut. */
typedef struct bounded {
    char *p;
    size_t n, size;
    bool cut;
} bounded;

static void put(bounded *b, const char *s) {
    for (; *s; s++) {
        if (b->n + 1 >= b->size) {
            b->cut = true;
            return;
        }
        b->p[b->n++] = *s;
    }
}

static const char *unit_name(cr_pq_unit u) {
    return u == CR_PQ_MILLIS ? "ms" : u == CR_PQ_MICROS ? "us" : "ns";
}

static void leaf_type(bounded *b, const cr_pq_node *n) {
    static const char *const plain[] = {"bool",  "int32",  "int64", "timestamp(int96)",
                                        "float", "double", "bytes"};
    const cr_pq_logical *l = &n->logical;
    char s[64] = "";
    switch (l->kind) {
    case CR_PQ_STRING: put(b, "string"); return;
    case CR_PQ_ENUM: put(b, "enum"); return;
    case CR_PQ_JSON: put(b, "json"); return;
    case CR_PQ_BSON: put(b, "bson"); return;
    case CR_PQ_UUID: put(b, "uuid"); return;
    case CR_PQ_DATE: put(b, "date"); return;
    case CR_PQ_INTERVAL: put(b, "interval"); return;
    case CR_PQ_FLOAT16: put(b, "float16"); return;
    case CR_PQ_NULL: put(b, "null"); return;
    case CR_PQ_INT: snprintf(s, sizeof s, "%sint%d", l->is_signed ? "" : "u", l->bits); break;
    case CR_PQ_DECIMAL: snprintf(s, sizeof s, "decimal(%d, %d)", l->precision, l->scale); break;
    case CR_PQ_TIME:
    case CR_PQ_TIMESTAMP:
        snprintf(s, sizeof s, "%s(%s%s)", l->kind == CR_PQ_TIME ? "time" : "timestamp",
                 unit_name(l->unit), l->is_utc ? ", UTC" : "");
        break;
    default:
        if (n->type == CR_PQ_FIXED)
            snprintf(s, sizeof s, "fixed(%d)", n->type_length);
        else
            snprintf(s, sizeof s, "%s", plain[n->type]);
        break;
    }
    put(b, s);
}

static void type_text(bounded *b, const cr_pq_meta *m, int node, bool as_item) {
    const cr_pq_node *n = &m->nodes[node];
    int item, value;
    if (b->cut) return;
    switch (cr_pq_shape_of(m, node, as_item, &item, &value)) {
    case CR_PQ_IS_LEAF: leaf_type(b, n); break;
    case CR_PQ_IS_STRUCT:
        put(b, "struct<");
        for (int c = node + 1; c < n->next && !b->cut; c = m->nodes[c].next) {
            if (c > node + 1) put(b, ", ");
            put(b, m->nodes[c].name);
            put(b, ": ");
            type_text(b, m, c, false);
        }
        put(b, ">");
        break;
    case CR_PQ_IS_LIST:
        put(b, "list<");
        type_text(b, m, item, item <= node + 1);
        put(b, ">");
        break;
    case CR_PQ_IS_MAP:
        put(b, "map<");
        type_text(b, m, item, false);
        put(b, ", ");
        type_text(b, m, value, false);
        put(b, ">");
        break;
    }
}

void cr_pq_type_text(const cr_pq_meta *m, int node, char *out, size_t size) {
    bounded b = {.p = out, .size = size};
    if (size == 0) return;
    type_text(&b, m, node, false);
    out[b.n] = 0;
    if (b.cut && size >= 4) memcpy(out + size - 4, "...", 4);
}

/* ---- values ---- */

static void hex(cr_buf *out, const uint8_t *p, size_t n) {
    static const char digits[] = "0123456789abcdef";
    cr_buf_reserve(out, 2 * n + 4);
    cr_buf_str(out, "\"0x");
    for (size_t i = 0; i < n; i++) {
        cr_buf_char(out, digits[p[i] >> 4]);
        cr_buf_char(out, digits[p[i] & 15]);
    }
    cr_buf_char(out, '"');
}

static void number(cr_buf *out, double x, bool single) {
    char s[32];
    if (isnan(x))
        cr_buf_str(out, "\"NaN\"");
    else if (isinf(x))
        cr_buf_str(out, x < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    else
        cr_buf_add(out, s, single ? cr_fmt_f32(s, (float)x) : cr_fmt_f64(s, x));
}

double cr_pq_half(const uint8_t *p) {
    return (double)cr_fp16_unpack((uint16_t)(p[0] | p[1] << 8));
}

#define MAX_DECIMAL 64 /* bytes; longer values are not real decimals */

/* decimal writes a big-endian two's complement number, n <= MAX_DECIMAL, as digits with a point. */
static void decimal(cr_buf *out, const uint8_t *p, size_t n, int scale) {
    uint8_t mag[MAX_DECIMAL] = {0};
    char digits[MAX_DECIMAL * 3]; /* in reverse order */
    size_t k = 0;
    bool minus = n && (p[0] & 0x80);
    unsigned carry = 1;
    for (size_t i = n; i-- > 0;) {
        mag[i] = p[i];
        if (!minus) continue;
        carry += (uint8_t)~p[i];
        mag[i] = (uint8_t)carry;
        carry >>= 8;
    }
    for (size_t beg = 0;;) {
        while (beg < n && !mag[beg])
            beg++;
        if (beg == n) break;
        unsigned rest = 0;
        for (size_t i = beg; i < n; i++) {
            rest = rest << 8 | mag[i];
            mag[i] = (uint8_t)(rest / 10);
            rest %= 10;
        }
        digits[k++] = (char)('0' + rest);
    }
    cr_buf_char(out, '"');
    if (minus) cr_buf_char(out, '-');
    size_t point = scale > 0 ? (size_t)scale : 0;
    for (size_t i = k > point + 1 ? k : point + 1; i-- > 0;) {
        cr_buf_char(out, i < k ? digits[i] : '0');
        if (i == point && point) cr_buf_char(out, '.');
    }
    cr_buf_char(out, '"');
}

static int64_t floor_div(int64_t a, int64_t b, int64_t *rest) {
    int64_t q = a / b;
    *rest = a % b;
    if (*rest < 0) {
        *rest += b;
        q--;
    }
    return q;
}

/* date writes days since 1970-01-01 as a date of the Gregorian calendar, which is extended to all
 * times. Years begin in March here, so that the leap day is the last day of its year. */
static void date(cr_buf *out, int64_t days) {
    static const uint8_t length[] = {31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 29};
    int64_t d, era = floor_div(days, 146097, &d); /* an era is 400 years */
    d += 719468;                                  /* counted from 0000-03-01 */
    era += d / 146097;
    d %= 146097;
    int64_t century = d / 36524 > 3 ? 3 : d / 36524;
    d -= century * 36524;
    int64_t four = d / 1461;
    d -= four * 1461;
    int64_t one = d / 365 > 3 ? 3 : d / 365;
    d -= one * 365;
    int64_t year = era * 400 + century * 100 + four * 4 + one;
    int month = 0;
    for (; d >= length[month]; month++)
        d -= length[month];
    month += 3;
    if (month > 12) {
        month -= 12;
        year++;
    }
    cr_buf_printf(out, year > 9999 || year < 0 ? "%+05lld-%02d-%02d" : "%04lld-%02d-%02d",
                  (long long)year, month, (int)d + 1);
}

/* clock_time writes a time of day; the fraction has 0, 3, 6 or 9 digits, as many as it needs. */
static void clock_time(cr_buf *out, int64_t seconds, int64_t nanos) {
    cr_buf_printf(out, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60),
                  (int)(seconds % 60));
    if (nanos == 0) return;
    if (nanos % 1000000 == 0)
        cr_buf_printf(out, ".%03d", (int)(nanos / 1000000));
    else if (nanos % 1000 == 0)
        cr_buf_printf(out, ".%06d", (int)(nanos / 1000));
    else
        cr_buf_printf(out, ".%09d", (int)nanos);
}

static const int64_t per_second[] = {1000, 1000000, 1000000000};

static void timestamp(cr_buf *out, int64_t x, const cr_pq_logical *l) {
    int64_t part, second, s = floor_div(x, per_second[l->unit], &part);
    int64_t days = floor_div(s, 86400, &second);
    cr_buf_char(out, '"');
    date(out, days);
    cr_buf_char(out, 'T');
    clock_time(out, second, part * (1000000000 / per_second[l->unit]));
    cr_buf_str(out, l->is_utc ? "Z\"" : "\"");
}

/* timestamp96 reads the timestamps of Impala, Hive and Spark: nanoseconds of the day, then the
 * Julian day. */
static void timestamp96(cr_buf *out, const uint8_t *p) {
    int64_t nanos, second, part;
    int32_t day;
    memcpy(&nanos, p, 8);
    memcpy(&day, p + 8, 4);
    int64_t s = floor_div(nanos, 1000000000, &part);
    int64_t days = (int64_t)day - 2440588 + floor_div(s, 86400, &second);
    cr_buf_char(out, '"');
    date(out, days);
    cr_buf_char(out, 'T');
    clock_time(out, second, part);
    cr_buf_char(out, '"');
}

static void integer(cr_buf *out, const cr_pq_node *n, const uint8_t *p, int size) {
    const cr_pq_logical *l = &n->logical;
    int64_t x;
    int32_t x32;
    if (size == 4) {
        memcpy(&x32, p, 4);
        x = x32;
    } else
        memcpy(&x, p, 8);
    switch (l->kind) {
    case CR_PQ_DATE:
        cr_buf_char(out, '"');
        date(out, x);
        cr_buf_char(out, '"');
        return;
    case CR_PQ_TIME:
        if (x < 0 || x / per_second[l->unit] >= 86400) break;
        cr_buf_char(out, '"');
        clock_time(out, x / per_second[l->unit],
                   x % per_second[l->unit] * (1000000000 / per_second[l->unit]));
        cr_buf_char(out, '"');
        return;
    case CR_PQ_TIMESTAMP: timestamp(out, x, l); return;
    case CR_PQ_DECIMAL: {
        uint8_t big[8];
        for (int i = 0; i < 8; i++)
            big[i] = (uint8_t)((uint64_t)x >> (56 - 8 * i));
        decimal(out, big, 8, l->scale);
        return;
    }
    case CR_PQ_INT:
        if (l->is_signed) break;
        if (size == 4) x = (uint32_t)x;
        cr_buf_printf(out, "%llu", (unsigned long long)x);
        return;
    default: break;
    }
    cr_buf_i64(out, x);
}

static void interval(cr_buf *out, const uint8_t *p) {
    uint32_t v[3]; /* months, days, milliseconds */
    memcpy(v, p, 12);
    cr_buf_printf(out, "\"P%uM%uDT%u", v[0], v[1], v[2] / 1000);
    if (v[2] % 1000) cr_buf_printf(out, ".%03u", v[2] % 1000);
    cr_buf_str(out, "S\"");
}

static void uuid(cr_buf *out, const uint8_t *p) {
    cr_buf_char(out, '"');
    for (int i = 0; i < 16; i++)
        cr_buf_printf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", p[i]);
    cr_buf_char(out, '"');
}

static void bytes(cr_buf *out, const cr_pq_node *n, const uint8_t *p, size_t size) {
    switch (n->logical.kind) {
    case CR_PQ_STRING:
    case CR_PQ_ENUM:
    case CR_PQ_JSON: cr_json_escape(out, (const char *)p, size); return;
    case CR_PQ_DECIMAL:
        if (size > MAX_DECIMAL) break;
        decimal(out, p, size, n->logical.scale);
        return;
    case CR_PQ_UUID:
        if (size != 16) break;
        uuid(out, p);
        return;
    case CR_PQ_INTERVAL:
        if (size != 12) break;
        interval(out, p);
        return;
    case CR_PQ_FLOAT16:
        if (size != 2) break;
        number(out, cr_pq_half(p), true);
        return;
    default: break;
    }
    hex(out, p, size);
}

void cr_pq_value_json(const cr_pq_node *n, const uint8_t *value, int size, cr_buf *out) {
    if (n->logical.kind == CR_PQ_NULL) {
        cr_buf_str(out, "null");
        return;
    }
    if (n->type <= CR_PQ_F64 && size != cr_pq_width(n->type, 0)) {
        hex(out, value, size > 0 ? (size_t)size : 0);
        return;
    }
    switch (n->type) {
    case CR_PQ_BOOL: cr_buf_str(out, *value ? "true" : "false"); return;
    case CR_PQ_I32:
    case CR_PQ_I64: integer(out, n, value, size); return;
    case CR_PQ_I96: timestamp96(out, value); return;
    case CR_PQ_F32: {
        float x;
        memcpy(&x, value, 4);
        number(out, (double)x, true);
        return;
    }
    case CR_PQ_F64: {
        double x;
        memcpy(&x, value, 8);
        number(out, x, false);
        return;
    }
    default: bytes(out, n, value, size > 0 ? (size_t)size : 0); return;
    }
}

/* ---- rows ---- */

typedef struct rows {
    const cr_pq_meta *m;
    const cr_pq_vec *vecs; /* vectors of the leaves from `first` on */
    cr_pq_pos *at;
    int first;
    cr_buf *out;
} rows;

static int first_leaf(const cr_pq_meta *m, int node) {
    for (int i = node; i < m->nodes[node].next; i++)
        if (m->nodes[i].leaf >= 0) return m->nodes[i].leaf;
    return -1;
}

/* slot_level returns the definition level from which a leaf's innermost list has an item, so that
 * the leaf has a slot. */
static int slot_level(const cr_pq_meta *m, int node) {
    while (node > 0 && m->nodes[node].rep != CR_PQ_REPEATED)
        node = m->nodes[node].parent;
    return node > 0 ? m->nodes[node].max_def : 0;
}

static bool at_end(const rows *r, int leaf) {
    const cr_pq_vec *v = &r->vecs[leaf - r->first];
    return r->at[leaf - r->first].level >= (v->def || v->rep ? v->n_levels : v->n_rows);
}

/* def_level returns the definition level of the leaf's next entry; a flat column may come without
 * levels. */
static int def_level(const rows *r, int leaf) {
    const cr_pq_vec *v = &r->vecs[leaf - r->first];
    const cr_pq_pos *p = &r->at[leaf - r->first];
    int max = r->m->nodes[r->m->leaves[leaf]].max_def;
    if (at_end(r, leaf)) return 0;
    if (v->def) return v->def[p->level];
    return v->valid && max > 0 && p->slot < v->n && !v->valid[p->slot] ? max - 1 : max;
}

static int rep_level(const rows *r, int leaf) {
    const cr_pq_vec *v = &r->vecs[leaf - r->first];
    if (!v->rep || at_end(r, leaf)) return 0;
    return v->rep[r->at[leaf - r->first].level];
}

static void pass_leaf(rows *r, int leaf) {
    cr_pq_pos *p = &r->at[leaf - r->first];
    if (at_end(r, leaf)) return;
    if (def_level(r, leaf) >= slot_level(r->m, r->m->leaves[leaf])) p->slot++;
    p->level++;
}

/* pass skips one entry of every leaf under the node. */
static void pass(rows *r, int node) {
    for (int i = node; i < r->m->nodes[node].next; i++)
        if (r->m->nodes[i].leaf >= 0) pass_leaf(r, r->m->nodes[i].leaf);
}

static void put_value(rows *r, const cr_pq_node *n) {
    const cr_pq_vec *v = &r->vecs[n->leaf - r->first];
    int64_t i = r->at[n->leaf - r->first].slot;
    if (i >= v->n)
        cr_buf_str(r->out, "null");
    else if (n->type == CR_PQ_BYTES) {
        int64_t k = v->code ? v->code[i] : i;
        bytes(r->out, n, (const uint8_t *)v->bytes + v->beg[k], v->end[k] - v->beg[k]);
    } else {
        int size = cr_pq_width(n->type, n->type_length);
        cr_pq_value_json(n, v->v.b8 + i * size, size, r->out);
    }
}

static void put_node(rows *r, int node, bool as_item);

static void put_struct(rows *r, int node) {
    const cr_pq_meta *m = r->m;
    cr_buf_char(r->out, '{');
    for (int c = node + 1; c < m->nodes[node].next; c = m->nodes[c].next) {
        if (c > node + 1) cr_buf_char(r->out, ',');
        cr_json_escape(r->out, m->nodes[c].name, strlen(m->nodes[c].name));
        cr_buf_char(r->out, ':');
        put_node(r, c, false);
    }
    cr_buf_char(r->out, '}');
}

/* put_items writes a list when value is -1, else a map. */
static void put_items(rows *r, int repeated, int item, int value) {
    int leaf = first_leaf(r->m, repeated), level = r->m->nodes[repeated].max_rep;
    for (bool more = true; more;) {
        if (value < 0)
            put_node(r, item, item == repeated);
        else {
            cr_buf_char(r->out, '[');
            put_node(r, item, false);
            cr_buf_char(r->out, ',');
            put_node(r, value, false);
            cr_buf_char(r->out, ']');
        }
        more = rep_level(r, leaf) >= level;
        if (more) cr_buf_char(r->out, ',');
    }
}

static void put_node(rows *r, int node, bool as_item) {
    const cr_pq_meta *m = r->m;
    const cr_pq_node *n = &m->nodes[node];
    int item, value, leaf = first_leaf(m, node);
    cr_pq_shape shape = cr_pq_shape_of(m, node, as_item, &item, &value);
    if (leaf < 0) { /* a group without leaves: nothing tells whether it is null */
        cr_buf_str(r->out, shape == CR_PQ_IS_STRUCT ? "{}" : "null");
        return;
    }
    int def = def_level(r, leaf), repeated = item == node ? node : node + 1;
    /* a repeated node that counts as a list exists, perhaps without items */
    if (def < n->max_def && !(shape == CR_PQ_IS_LIST && repeated == node)) {
        cr_buf_str(r->out, "null");
        pass(r, node);
        return;
    }
    switch (shape) {
    case CR_PQ_IS_LEAF:
        put_value(r, n);
        pass_leaf(r, n->leaf);
        break;
    case CR_PQ_IS_STRUCT: put_struct(r, node); break;
    case CR_PQ_IS_LIST:
    case CR_PQ_IS_MAP:
        cr_buf_char(r->out, '[');
        if (def < m->nodes[repeated].max_def)
            pass(r, repeated);
        else
            put_items(r, repeated, item, value);
        cr_buf_char(r->out, ']');
        break;
    }
}

void cr_pq_row_json(const cr_pq_meta *m, int node, const cr_pq_vec *vecs, cr_pq_pos *at,
                    cr_buf *out) {
    int first = first_leaf(m, node);
    rows r = {.m = m, .vecs = vecs, .at = at, .first = first, .out = out};
    put_node(&r, node, false);
    for (int i = node; i < m->nodes[node].next; i++)
        if (m->nodes[i].leaf >= 0)
            while (rep_level(&r, m->nodes[i].leaf) > 0)
                pass_leaf(&r, m->nodes[i].leaf);
}
