/*
 * write_samples.c - files by our writer, with what was put into them.
 *
 *   write_samples DIR
 *
 * Rows are made at random as trees, by the schema: the same walk writes the row as text and gives
 * every leaf its levels. Values, lists and validity of the vectors follow from the levels. For each
 * case there is NAME.parquet and NAME.want (a JSON array per row, values as in canon.js but floats
 * as "f" and the bits of the double); cases.txt has a line per case. ours.js does the rest.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "parquet/parquet.h"

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

static uint64_t seed;
static uint64_t rnd(void) {
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static int64_t below(int64_t n) {
    return (int64_t)(rnd() % (uint64_t)n);
}

/* ---- what is to be written ---- */

typedef struct sample {
    const char *name, *what;
    const cr_pq_node *nodes;
    int n_nodes;
    int64_t rows;
    int64_t step;      /* rows per call of the writer; 0: all */
    int nulls;         /* percent */
    int64_t distinct;  /* about so many different values; 0: all differ */
    size_t longest;    /* of texts; 0: 20 */
    bool without_lvls; /* lists and validity only, where they tell all */
    cr_pq_write_opts o;
} sample;

/* everything a leaf collects */
typedef struct leaf {
    cr_buf def, rep, values, valid, beg, end, bytes;
    cr_buf off[CR_PQ_MAX_DEPTH], list_valid[CR_PQ_MAX_DEPTH];
    int64_t n[CR_PQ_MAX_DEPTH]; /* items so far at that depth */
    int64_t slots, n_null;
    int item[CR_PQ_MAX_DEPTH]; /* definition level of an item of list k */
    bool null_struct;          /* a group on the path that may be null and is no list or map */
} leaf;

typedef struct maker {
    const sample *s;
    const cr_pq_meta *m;
    leaf *leaves;
    cr_buf text;
} maker;

static void fail(const char *where, const cr_err *err) {
    char s[1024];
    cr_err_text(err, s, sizeof s);
    fprintf(stderr, "write_samples: %s: %s\n", where, s);
    exit(1);
}

/* ---- values ---- */

/* a number to derive a value from: few different ones when asked for */
static uint64_t pick(const maker *k) {
    if (k->s->distinct == 0) return rnd();
    uint64_t z = (uint64_t)below(k->s->distinct) + 77, keep = seed;
    seed = z;
    z = rnd();
    seed = keep;
    return z;
}

static void put_hex(cr_buf *b, const void *p, size_t n) {
    const uint8_t *u = p;
    for (size_t i = 0; i < n; i++)
        cr_buf_printf(b, "%02x", u[i]);
}

/* digits with a point; big-endian two's complement of at most 16 bytes */
static void put_decimal(cr_buf *b, i128 x, int scale) {
    char s[64];
    int n = 0;
    bool minus = x < 0;
    u128 u = minus ? -(u128)x : (u128)x;
    for (; u || n <= scale; u /= 10) {
        if (n == scale && scale) s[n] = '.';
        int at = n >= scale && scale ? n + 1 : n;
        s[at] = (char)('0' + (int)(u % 10));
        n++;
    }
    if (scale) n++;
    cr_buf_str(b, minus ? "\"d-" : "\"d");
    while (n > 0)
        cr_buf_char(b, s[--n]);
    cr_buf_char(b, '"');
}

static void put_float(cr_buf *b, double x) {
    uint64_t u;
    memcpy(&u, &x, 8);
    cr_buf_printf(b, "\"f%016" PRIx64 "\"", u);
}

static double some_double(uint64_t z) {
    static const double odd[] = {0.0, -0.0, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0, 5e-324, 1.5, -1e300};
    if (z % 5 == 0) return odd[z / 5 % 8];
    return (double)(int64_t)(z >> 8) / 1048576.0;
}

static float some_float(uint64_t z) {
    static const float odd[] = {0.0f,        -0.0f,  1.0f / 0.0f, -1.0f / 0.0f,
                                0.0f / 0.0f, 1e-45f, 1.5f,        -3e38f};
    if (z % 5 == 0) return odd[z / 5 % 8];
    return (float)(int64_t)(z >> 30) / 1024.0f;
}

static double half(uint16_t h) {
    int e = h >> 10 & 31, f = h & 1023;
    double x = e == 31 ? (f ? 0.0 / 0.0 : 1.0 / 0.0) : (double)(e ? f + 1024 : f) / 16777216.0;
    for (int i = 1; i < e && e < 31; i++)
        x *= 2;
    return h & 0x8000 ? -x : x;
}

static const int64_t nanos_of[] = {1000000, 1000, 1};

static void put_nanos(cr_buf *b, char tag, i128 x) {
    char s[64];
    int n = 0;
    bool minus = x < 0;
    u128 u = minus ? -(u128)x : (u128)x;
    do
        s[n++] = (char)('0' + (int)(u % 10));
    while (u /= 10);
    cr_buf_printf(b, "\"%c%s", tag, minus ? "-" : "");
    while (n > 0)
        cr_buf_char(b, s[--n]);
    cr_buf_char(b, '"');
}

static int64_t pow10_of(int n) {
    int64_t p = 1;
    while (n-- > 0)
        p *= 10;
    return p;
}

static void add_int(leaf *l, cr_buf *b, const cr_pq_node *n, uint64_t z) {
    const cr_pq_logical *g = &n->logical;
    int64_t x = n->type == CR_PQ_I32 ? (int32_t)z : (int64_t)z;
    int64_t day = 86400000000000 / nanos_of[g->unit];
    switch (g->kind) {
    case CR_PQ_INT:
        if (g->bits < 32) {
            x &= ((int64_t)1 << g->bits) - 1;
            if (g->is_signed && x >> (g->bits - 1)) x -= (int64_t)1 << g->bits;
        }
        if (g->is_signed)
            cr_buf_printf(b, "\"%" PRId64 "\"", x);
        else if (n->type == CR_PQ_I32)
            cr_buf_printf(b, "\"%" PRIu32 "\"", (uint32_t)x);
        else
            cr_buf_printf(b, "\"%" PRIu64 "\"", (uint64_t)x);
        break;
    case CR_PQ_DECIMAL:
        x %= pow10_of(g->precision);
        put_decimal(b, x, g->scale);
        break;
    case CR_PQ_DATE:
        x = (int32_t)z % 1000000;
        cr_buf_printf(b, "\"D%" PRId64 "\"", x);
        break;
    case CR_PQ_TIME:
        x = (int64_t)(z % (uint64_t)day);
        put_nanos(b, 't', (i128)x * nanos_of[g->unit]);
        break;
    case CR_PQ_TIMESTAMP: /* within what 64 bits of nanoseconds hold */
        x = (int64_t)z % (day * 100000);
        put_nanos(b, 'T', (i128)x * nanos_of[g->unit]);
        break;
    default: cr_buf_printf(b, "\"%" PRId64 "\"", x); break;
    }
    int32_t x32 = (int32_t)x;
    if (n->type == CR_PQ_I32)
        cr_buf_add(&l->values, &x32, 4);
    else
        cr_buf_add(&l->values, &x, 8);
}

/* z as n bytes of a decimal */
static i128 decimal_bytes(uint8_t *p, int n, uint64_t z, int precision) {
    i128 most = 1;
    for (int i = 0; i < precision; i++)
        most *= 10;
    seed ^= z;
    i128 x = (i128)((u128)rnd() << 64 | rnd()) % most;
    for (int i = 0; i < n; i++)
        p[i] = (uint8_t)((u128)x >> (8 * (n - 1 - i) < 127 ? 8 * (n - 1 - i) : 127));
    return x;
}

static void add_fixed(leaf *l, cr_buf *b, const cr_pq_node *n, uint64_t z) {
    uint8_t p[64];
    int len = n->type == CR_PQ_I96 ? 12 : n->type_length;
    for (int i = 0; i < len; i++)
        p[i] = (uint8_t)(z >> (8 * (i % 8))) ^ (uint8_t)(i / 8);
    if (n->type == CR_PQ_I96) {
        int64_t t = (int64_t)(z % 86400000000000u);
        int32_t day = 2440588 + (int32_t)(z >> 40) % 100000;
        memcpy(p, &t, 8);
        memcpy(p + 8, &day, 4);
        put_nanos(b, 'T', (i128)(day - 2440588) * 86400000000000 + t);
    } else if (n->logical.kind == CR_PQ_FLOAT16) {
        uint16_t h = (uint16_t)z;
        memcpy(p, &h, 2);
        put_float(b, half(h));
    } else if (n->logical.kind == CR_PQ_DECIMAL) {
        uint64_t keep = seed;
        put_decimal(b, decimal_bytes(p, len, z, n->logical.precision), n->logical.scale);
        seed = keep;
    } else if (n->logical.kind == CR_PQ_UUID) {
        cr_buf_str(b, "\"u");
        for (int i = 0; i < 16; i++)
            cr_buf_printf(b, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", p[i]);
        cr_buf_char(b, '"');
    } else if (n->logical.kind == CR_PQ_INTERVAL) {
        uint32_t v[3] = {(uint32_t)(z % 1000), (uint32_t)(z / 1000 % 1000),
                         (uint32_t)(z % 86400000)};
        memcpy(p, v, 12);
        cr_buf_printf(b, "\"I%u %u %u\"", v[0], v[1], v[2]);
    } else {
        cr_buf_str(b, "\"0x");
        put_hex(b, p, (size_t)len);
        cr_buf_char(b, '"');
    }
    cr_buf_add(&l->values, p, (size_t)len);
}

static void add_bytes(maker *k, leaf *l, const cr_pq_node *n, uint64_t z) {
    static const char *const parts[] = {"a", "bc", "Ü", "世", "7", " ", "end", "😀"};
    cr_buf *b = &k->text;
    uint32_t beg = (uint32_t)l->bytes.n;
    size_t longest = k->s->longest ? k->s->longest : 20, len = z % (longest + 1);
    cr_pq_kind kind = n->logical.kind;
    if (kind == CR_PQ_DECIMAL) {
        uint8_t p[16];
        uint64_t keep = seed;
        put_decimal(b, decimal_bytes(p, 16, z, n->logical.precision), n->logical.scale);
        seed = keep;
        cr_buf_add(&l->bytes, p, 16);
    } else if (kind == CR_PQ_STRING || kind == CR_PQ_ENUM || kind == CR_PQ_JSON) {
        if (kind == CR_PQ_JSON)
            cr_buf_printf(&l->bytes, "[%u]", (unsigned)(z % 1000));
        else if (len > 1000) {
            cr_buf_reserve(&l->bytes, len);
            for (size_t i = 0; i < len; i++)
                cr_buf_char(&l->bytes, (char)('0' + (z >> (i % 40)) % 10));
        } else
            for (uint64_t y = z; l->bytes.n - beg < len; y = y / 7 + 13)
                cr_buf_str(&l->bytes, parts[y % 8]);
        cr_buf_str(b, "\"'");
        cr_buf_add(b, l->bytes.data + beg, l->bytes.n - beg);
        cr_buf_char(b, '"');
    } else {
        for (size_t i = 0; i < len; i++)
            cr_buf_char(&l->bytes, (char)(z >> (i % 56)));
        cr_buf_str(b, "\"0x");
        put_hex(b, l->bytes.data + beg, l->bytes.n - beg);
        cr_buf_char(b, '"');
    }
    uint32_t end = (uint32_t)l->bytes.n;
    cr_buf_add(&l->beg, &beg, 4);
    cr_buf_add(&l->end, &end, 4);
}

static void add_value(maker *k, leaf *l, const cr_pq_node *n) {
    uint64_t z = pick(k);
    switch (n->type) {
    case CR_PQ_BOOL:
        cr_buf_char(&l->values, z & 1 ? 1 : 0);
        cr_buf_str(&k->text, z & 1 ? "true" : "false");
        break;
    case CR_PQ_I32:
    case CR_PQ_I64: add_int(l, &k->text, n, z); break;
    case CR_PQ_F32: {
        float x = some_float(z);
        cr_buf_add(&l->values, &x, 4);
        put_float(&k->text, (double)x);
        break;
    }
    case CR_PQ_F64: {
        double x = some_double(z);
        cr_buf_add(&l->values, &x, 8);
        put_float(&k->text, x);
        break;
    }
    case CR_PQ_BYTES: add_bytes(k, l, n, z); break;
    default: add_fixed(l, &k->text, n, z); break;
    }
}

/* the slot of a null: zeros */
static void add_nothing(leaf *l, const cr_pq_node *n) {
    static const uint8_t zero[64];
    static const size_t sizes[] = {1, 4, 8, 12, 4, 8};
    uint32_t at = (uint32_t)l->bytes.n;
    if (n->type == CR_PQ_BYTES) {
        cr_buf_add(&l->beg, &at, 4);
        cr_buf_add(&l->end, &at, 4);
    } else
        cr_buf_add(&l->values, zero,
                   n->type == CR_PQ_FIXED ? (size_t)n->type_length : sizes[n->type]);
}

/* ---- rows ---- */

/* one entry of a leaf, and what follows from it for lists and validity */
static void add_entry(maker *k, int node, int def, int rep) {
    const cr_pq_node *n = &k->m->nodes[node];
    leaf *l = &k->leaves[n->leaf];
    cr_buf_char(&l->def, (char)def);
    cr_buf_char(&l->rep, (char)rep);
    bool there = true;
    for (int d = 0; d < n->max_rep; d++) {
        if (d >= rep) { /* a list begins */
            int32_t at = (int32_t)(d + 1 < n->max_rep ? l->n[d + 1] : l->slots);
            cr_buf_add(&l->off[d], &at, 4);
            cr_buf_char(&l->list_valid[d], def >= l->item[d] - 1);
            l->n[d]++;
        }
        if (def < l->item[d]) {
            there = false;
            break;
        }
    }
    if (!there) return;
    l->slots++;
    cr_buf_char(&l->valid, def == n->max_def);
    l->n_null += def < n->max_def;
    if (def < n->max_def) add_nothing(l, n);
}

/* everything under a node is absent */
static void absent(maker *k, int node, int def, int rep) {
    for (int i = node; i < k->m->nodes[node].next; i++)
        if (k->m->nodes[i].leaf >= 0) add_entry(k, i, def, rep);
}

static void put_node(maker *k, int node, int def, int rep);

static void put_content(maker *k, int node, int def, int rep) {
    const cr_pq_meta *m = k->m;
    const cr_pq_node *n = &m->nodes[node];
    if (n->leaf >= 0) {
        add_entry(k, node, def, rep);
        add_value(k, &k->leaves[n->leaf], n);
        return;
    }
    if (n->logical.kind == CR_PQ_LIST || n->logical.kind == CR_PQ_MAP) {
        put_node(k, node + 1, def, rep);
        return;
    }
    cr_buf_char(&k->text, '{');
    for (int c = node + 1; c < n->next; c = m->nodes[c].next) {
        cr_buf_printf(&k->text, "%s\"%s\":", c > node + 1 ? "," : "", m->nodes[c].name);
        put_node(k, c, def, rep);
    }
    cr_buf_char(&k->text, '}');
}

/* items of a repeated node */
static void put_items(maker *k, int node, int def, int rep) {
    const cr_pq_meta *m = k->m;
    const cr_pq_node *n = &m->nodes[node], *parent = &m->nodes[n->parent];
    cr_pq_kind kind = n->parent > 0 ? parent->logical.kind : CR_PQ_PHYSICAL;
    int64_t count = below(4) ? below(5) : 0;
    cr_buf_char(&k->text, '[');
    if (count == 0) absent(k, node, def, rep);
    for (int64_t i = 0; i < count; i++, rep = n->max_rep) {
        if (i) cr_buf_char(&k->text, ',');
        if (kind == CR_PQ_LIST)
            put_node(k, node + 1, def + 1, rep);
        else if (kind == CR_PQ_MAP) {
            cr_buf_char(&k->text, '[');
            put_node(k, node + 1, def + 1, rep);
            cr_buf_char(&k->text, ',');
            put_node(k, m->nodes[node + 1].next, def + 1, rep);
            cr_buf_char(&k->text, ']');
        } else
            put_content(k, node, def + 1, rep);
    }
    cr_buf_char(&k->text, ']');
}

static void put_node(maker *k, int node, int def, int rep) {
    const cr_pq_node *n = &k->m->nodes[node];
    if (n->rep == CR_PQ_REPEATED)
        put_items(k, node, def, rep);
    else if (n->rep == CR_PQ_REQUIRED)
        put_content(k, node, def, rep);
    else if (below(100) < k->s->nulls || n->logical.kind == CR_PQ_NULL) {
        cr_buf_str(&k->text, "null");
        absent(k, node, def, rep);
    } else
        put_content(k, node, def + 1, rep);
}

/* ---- files ---- */

static void leaf_init(leaf *l, const cr_pq_meta *m, int node) {
    memset(l, 0, sizeof *l);
    int d = m->nodes[node].max_rep;
    for (int i = node; i > 0; i = m->nodes[i].parent) {
        const cr_pq_node *n = &m->nodes[i];
        if (n->rep == CR_PQ_REPEATED) l->item[--d] = n->max_def;
        if (n->leaf < 0 && n->rep == CR_PQ_OPTIONAL && n->logical.kind != CR_PQ_LIST &&
            n->logical.kind != CR_PQ_MAP)
            l->null_struct = true;
    }
}

static void leaf_vec(leaf *l, const cr_pq_node *n, int64_t rows, bool levels, cr_pq_vec *v) {
    *v = (cr_pq_vec){.type = n->type,
                     .type_length = n->type_length,
                     .n_rows = rows,
                     .n = l->slots,
                     .n_null = l->n_null,
                     .depth = n->max_rep};
    v->valid = l->n_null ? (const uint8_t *)l->valid.data : NULL;
    v->v.b8 = (const uint8_t *)l->values.data;
    v->bytes = l->bytes.data;
    v->beg = (const uint32_t *)(void *)l->beg.data;
    v->end = (const uint32_t *)(void *)l->end.data;
    for (int d = 0; d < n->max_rep; d++) {
        int32_t end = (int32_t)(d + 1 < n->max_rep ? l->n[d + 1] : l->slots);
        cr_buf_add(&l->off[d], &end, 4);
        v->list[d] = (cr_pq_list){.off = (const int32_t *)(void *)l->off[d].data,
                                  .valid = (const uint8_t *)l->list_valid[d].data,
                                  .n = l->n[d]};
    }
    if (!levels && !l->null_struct) return;
    v->n_levels = (int64_t)l->def.n;
    v->def = (const uint8_t *)l->def.data;
    v->rep = n->max_rep ? (const uint8_t *)l->rep.data : NULL;
}

static void leaf_clear(leaf *l) {
    cr_buf *all[] = {&l->def, &l->rep, &l->values, &l->valid, &l->beg, &l->end, &l->bytes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cr_buf_clear(all[i]);
    for (int d = 0; d < CR_PQ_MAX_DEPTH; d++) {
        cr_buf_clear(&l->off[d]);
        cr_buf_clear(&l->list_valid[d]);
    }
}

static void write_rows(cr_pq_writer *w, maker *k, int64_t rows, FILE *want) {
    const cr_pq_meta *m = k->m;
    cr_err err;
    cr_pq_vec *vecs = cr_alloc(sizeof *vecs * (size_t)m->n_leaves, "vectors");
    for (int i = 0; i < m->n_leaves; i++)
        leaf_init(&k->leaves[i], m, m->leaves[i]);
    for (int64_t i = 0; i < rows; i++) {
        cr_buf_reset(&k->text);
        cr_buf_char(&k->text, '[');
        for (int node = 1; node < m->n_nodes; node = m->nodes[node].next) {
            if (node > 1) cr_buf_char(&k->text, ',');
            put_node(k, node, 0, 0);
        }
        cr_buf_str(&k->text, "]\n");
        fwrite(k->text.data, 1, k->text.n, want);
    }
    for (int i = 0; i < m->n_leaves; i++)
        leaf_vec(&k->leaves[i], &m->nodes[m->leaves[i]], rows, !k->s->without_lvls, &vecs[i]);
    if (cr_pq_write(w, vecs, &err) != CR_OK) fail(k->s->name, &err);
    for (int i = 0; i < m->n_leaves; i++)
        leaf_clear(&k->leaves[i]);
    cr_free(vecs);
}

static void write_sample(const char *dir, const sample *s, FILE *list) {
    char path[1024], want_path[1024];
    cr_err err;
    cr_arena arena;
    cr_pq_writer *w;
    cr_arena_init(&arena, 0);
    cr_pq_meta m = {.n_nodes = s->n_nodes, .nodes = CR_NEW_N(&arena, cr_pq_node, s->n_nodes)};
    memcpy(m.nodes, s->nodes, sizeof *s->nodes * (size_t)s->n_nodes);
    if (cr_pq_schema_finish(&m, &arena, &err) != CR_OK) fail(s->name, &err);
    snprintf(path, sizeof path, "%s/crank_%s.parquet", dir, s->name);
    snprintf(want_path, sizeof want_path, "%s/crank_%s.want", dir, s->name);
    FILE *want = fopen(want_path, "w");
    if (!want) {
        fprintf(stderr, "write_samples: %s: %s\n", want_path, strerror(errno));
        exit(1);
    }
    seed = 1;
    maker k = {.s = s, .m = &m, .leaves = cr_alloc(sizeof(leaf) * (size_t)m.n_leaves, "leaves")};
    if (cr_pq_writer_new(&w, path, &m, &s->o, &err) != CR_OK) fail(s->name, &err);
    for (int64_t done = 0, n; done < s->rows; done += n) {
        n = s->step && s->rows - done > s->step ? s->step : s->rows - done;
        write_rows(w, &k, n, want);
    }
    if (cr_pq_writer_finish(w, &err) != CR_OK) fail(s->name, &err);
    cr_pq_writer_free(w);
    if (fclose(want) != 0) exit(1);
    fprintf(list, "crank_%s\t%s\n", s->name, s->what);
    cr_buf_clear(&k.text);
    cr_free(k.leaves);
    cr_arena_clear(&arena);
}

/* ---- schemas ---- */

/* tables, a row each */
/* clang-format off */
#define NODE(nm, t, len, r, n, ...)                                                                \
    { .name = nm, .type = t, .type_length = len, .rep = r, .n_children = n, .field_id = -1, .logical = {.kind = __VA_ARGS__} }
#define ROOT(n)             NODE("schema", CR_PQ_GROUP, 0, CR_PQ_REQUIRED, n, 0)
#define LEAF(nm, t, r, ...) NODE(nm, CR_PQ_##t, 0, r, 0, __VA_ARGS__)
#define FIX(nm, len, r, ...) NODE(nm, CR_PQ_FIXED, len, r, 0, __VA_ARGS__)
#define STRUCT(nm, r, n)    NODE(nm, CR_PQ_GROUP, 0, r, n, 0)
#define LIST(nm, r)         NODE(nm, CR_PQ_GROUP, 0, r, 1, CR_PQ_LIST), STRUCT("list", CR_PQ_REPEATED, 1)
#define MAP(nm, r)          NODE(nm, CR_PQ_GROUP, 0, r, 1, CR_PQ_MAP), STRUCT("key_value", CR_PQ_REPEATED, 2)
#define OPT                 CR_PQ_OPTIONAL
#define REQ                 CR_PQ_REQUIRED
#define TIME(u, utc)        CR_PQ_TIME, .unit = CR_PQ_##u, .is_utc = utc
#define STAMP(u, utc)       CR_PQ_TIMESTAMP, .unit = CR_PQ_##u, .is_utc = utc
#define INT(b, s)           CR_PQ_INT, .bits = b, .is_signed = s
#define DEC(p, s)           CR_PQ_DECIMAL, .precision = p, .scale = s

#define FLAT(r) ROOT(32),                                                                          \
    LEAF("bool", BOOL, r, 0), LEAF("i32", I32, r, 0), LEAF("i64", I64, r, 0), LEAF("i96", I96, r, 0), \
    LEAF("f32", F32, r, 0), LEAF("f64", F64, r, 0), LEAF("bytes", BYTES, r, 0), FIX("fixed", 7, r, 0), \
    LEAF("string", BYTES, r, CR_PQ_STRING), LEAF("enum", BYTES, r, CR_PQ_ENUM), LEAF("json", BYTES, r, CR_PQ_JSON), \
    FIX("uuid", 16, r, CR_PQ_UUID), LEAF("i8", I32, r, INT(8, true)), LEAF("i16", I32, r, INT(16, true)), \
    LEAF("i32l", I32, r, INT(32, true)), LEAF("i64l", I64, r, INT(64, true)), LEAF("u8", I32, r, INT(8, false)), \
    LEAF("u16", I32, r, INT(16, false)), LEAF("u32", I32, r, INT(32, false)), LEAF("u64", I64, r, INT(64, false)), \
    LEAF("dec32", I32, r, DEC(9, 2)), LEAF("dec64", I64, r, DEC(18, 5)), FIX("decfix", 9, r, DEC(21, 4)), \
    FIX("dec38", 16, r, DEC(38, 0)), LEAF("date", I32, r, CR_PQ_DATE), LEAF("t_ms", I32, r, TIME(MILLIS, true)), \
    LEAF("t_us", I64, r, TIME(MICROS, false)), LEAF("t_ns", I64, r, TIME(NANOS, false)),           \
    LEAF("ts_ms", I64, r, STAMP(MILLIS, true)), LEAF("ts_us", I64, r, STAMP(MICROS, false)),       \
    LEAF("ts_ns", I64, r, STAMP(NANOS, true)), FIX("half", 2, r, CR_PQ_FLOAT16)
static const cr_pq_node flat_optional[] = {FLAT(OPT)};
static const cr_pq_node flat_required[] = {FLAT(REQ)};

/* types that not everybody reads */
static const cr_pq_node rare[] = {ROOT(3),
    LEAF("decbytes", BYTES, OPT, DEC(30, 7)), FIX("interval", 12, OPT, CR_PQ_INTERVAL), LEAF("null", I32, OPT, CR_PQ_NULL)};
static const cr_pq_node bson[] = {ROOT(1), LEAF("bson", BYTES, OPT, CR_PQ_BSON)};

static const cr_pq_node nested[] = {ROOT(9),
    LIST("l", OPT), LEAF("element", I64, OPT, 0),
    LIST("lr", REQ), LEAF("element", F32, REQ, 0),
    LIST("ls", OPT), LEAF("element", BYTES, OPT, CR_PQ_STRING),
    LIST("ll", OPT), LIST("element", OPT), LEAF("element", I32, OPT, 0),
    LIST("lll", REQ), LIST("element", REQ), LIST("element", OPT), LEAF("element", BYTES, REQ, CR_PQ_STRING),
    MAP("m", OPT), LEAF("key", I64, REQ, 0), LEAF("value", F64, OPT, 0),
    MAP("ml", REQ), LEAF("key", BYTES, REQ, CR_PQ_STRING), LIST("value", OPT), LEAF("element", BOOL, OPT, 0),
    LIST("lm", OPT), MAP("element", OPT), LEAF("key", I32, REQ, 0), LEAF("value", BYTES, REQ, CR_PQ_STRING),
    LEAF("flat", I32, OPT, 0)};

static const cr_pq_node structs[] = {ROOT(5),
    STRUCT("s", OPT, 2), LEAF("a", I64, OPT, 0), LEAF("b", BYTES, REQ, CR_PQ_STRING),
    STRUCT("r", REQ, 2), LEAF("a", F64, REQ, 0), LEAF("b", BOOL, OPT, 0),
    STRUCT("deep", OPT, 2), STRUCT("in", OPT, 2), LEAF("x", I32, OPT, 0), LIST("y", OPT), LEAF("element", I32, OPT, 0), LEAF("z", I32, REQ, 0),
    LIST("ls", OPT), STRUCT("element", OPT, 2), LEAF("a", I32, OPT, 0), LIST("t", OPT), LEAF("element", BYTES, OPT, CR_PQ_STRING),
    MAP("ms", OPT), LEAF("key", BYTES, REQ, CR_PQ_STRING), STRUCT("value", OPT, 1), LEAF("w", F32, OPT, 0)};

static const cr_pq_node text[] = {ROOT(2), LEAF("id", I32, REQ, 0), LEAF("s", BYTES, OPT, CR_PQ_STRING)};

/* ---- cases ---- */

#define NODES(a) .nodes = a, .n_nodes = (int)(sizeof(a) / sizeof *(a))

/* for every codec and page version */
static const sample basic[] = {
    {"flat", "all flat types with nulls", NODES(flat_optional), .rows = 700, .nulls = 20, .distinct = 90},
    {"required", "all flat types, required", NODES(flat_required), .rows = 500},
    {"nested", "lists and maps", NODES(nested), .rows = 600, .nulls = 15, .distinct = 200, .without_lvls = true},
    {"structs", "structs, lists of them", NODES(structs), .rows = 600, .nulls = 25},
};

#define PAGES  {.codec = CR_PQ_SNAPPY, .page_bytes = 256}
#define GROUPS {.codec = CR_PQ_ZSTD, .group_rows = 100}
#define BARE   {.codec = CR_PQ_ZSTD, .no_dict = true, .no_stats = true}
#define ZSTD   {.codec = CR_PQ_ZSTD}
/* for both page versions */
static const sample special[] = {
    {"flat_pages", "small pages", NODES(flat_optional), .rows = 3000, .nulls = 10, .distinct = 500, .step = 170, .o = PAGES},
    {"nested_pages", "nested, small pages", NODES(nested), .rows = 2000, .nulls = 10, .distinct = 50, .step = 333, .o = PAGES},
    {"structs_pages", "structs, small pages", NODES(structs), .rows = 2000, .nulls = 10, .distinct = 50, .step = 333, .o = PAGES},
    {"flat_groups", "many row groups", NODES(flat_optional), .rows = 1010, .nulls = 30, .distinct = 12, .step = 99, .o = GROUPS},
    {"nested_groups", "nested, many row groups", NODES(nested), .rows = 1010, .nulls = 30, .step = 1, .o = GROUPS},
    {"flat_plain", "no dictionary, no statistics", NODES(flat_optional), .rows = 2000, .nulls = 50, .o = BARE},
    {"nested_plain", "nested, no dictionary, no statistics", NODES(nested), .rows = 2000, .nulls = 50, .o = BARE},
    {"flat_same", "one value", NODES(flat_required), .rows = 5000, .distinct = 1, .o = ZSTD},
    {"flat_null", "nulls only", NODES(flat_optional), .rows = 1000, .nulls = 100, .o = ZSTD},
    {"nested_null", "nested, nulls only", NODES(nested), .rows = 1000, .nulls = 100, .o = ZSTD},
    {"rare", "decimals in bytes, intervals, nulls", NODES(rare), .rows = 1000, .nulls = 20, .o = ZSTD},
    {"bson", "BSON", NODES(bson), .rows = 100, .nulls = 20, .o = ZSTD},
    {"flat_0", "0 rows", NODES(flat_optional), .o = ZSTD},
    {"nested_0", "nested, 0 rows", NODES(nested), .o = ZSTD},
    {"structs_0", "structs, 0 rows", NODES(structs), .o = ZSTD},
    {"flat_1", "1 row", NODES(flat_optional), .rows = 1, .o = ZSTD},
    {"nested_1", "nested, 1 row", NODES(nested), .rows = 1, .o = ZSTD},
    {"text_many", "texts, dictionary given up", NODES(text), .rows = 60000, .nulls = 5, .step = 7000, .o = ZSTD},
    {"text_few", "texts, dictionary", NODES(text), .rows = 60000, .nulls = 5, .distinct = 300, .step = 7000, .o = ZSTD},
    {"text_long", "strings of up to 100 MB", NODES(text), .rows = 4, .longest = 100 << 20, .o = ZSTD},
};
/* clang-format on */

static void write_one(const char *dir, const sample *from, const char *codec, FILE *list) {
    char name[128], what[256];
    sample s = *from;
    snprintf(name, sizeof name, "%s%s%s_V%d", s.name, *codec ? "_" : "", codec, s.o.page_version);
    snprintf(what, sizeof what, "%s%s%s, V%d", s.what, *codec ? ", " : "", codec, s.o.page_version);
    s.name = name;
    s.what = what;
    write_sample(dir, &s, list);
}

static void write_wide(const char *dir, int version, FILE *list) {
    static const cr_pq_type types[] = {CR_PQ_I32, CR_PQ_F64, CR_PQ_BYTES};
    static cr_pq_node nodes[10001];
    static char names[10000][8];
    nodes[0] = (cr_pq_node)ROOT(10000);
    for (int i = 0; i < 10000; i++) {
        snprintf(names[i], sizeof names[i], "c%d", i);
        nodes[i + 1] = (cr_pq_node)NODE(names[i], types[i % 3], 0, i % 2 ? OPT : REQ, 0, 0);
    }
    sample s = {"wide", "10,000 columns", NODES(nodes), .rows = 4, .nulls = 20, .o = ZSTD};
    s.o.page_version = version;
    write_one(dir, &s, "", list);
}

int main(int argc, char **argv) {
    static const char *const codecs[] = {"raw",    "snappy", "gzip", NULL,
                                         "brotli", "lz4",    "zstd", "lz4_raw"}; /* NULL: LZO */
    char path[1024];
    if (argc != 2) {
        fprintf(stderr, "write_samples: usage: write_samples DIR\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/cases.txt", argv[1]);
    FILE *list = fopen(path, "w");
    if (!list) {
        fprintf(stderr, "write_samples: %s: %s\n", path, strerror(errno));
        return 1;
    }
    for (int version = 1; version <= 2; version++) {
        for (int c = 0; c <= CR_PQ_LZ4; c++)
            for (size_t i = 0; codecs[c] && i < sizeof basic / sizeof *basic; i++) {
                sample s = basic[i];
                s.o = (cr_pq_write_opts){.codec = (cr_pq_codec)c,
                                         .page_version = version,
                                         .no_crc = c % 2 == 0};
                write_one(argv[1], &s, codecs[c], list);
            }
        for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
            sample s = special[i];
            s.o.page_version = version;
            write_one(argv[1], &s, "", list);
        }
        write_wide(argv[1], version, list);
    }
    return fclose(list) == 0 ? 0 : 1;
}
