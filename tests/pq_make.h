/*
 * pq_make.h - Parquet files for tests from text: a schema "id:int64, tags:list<string>,
 * m:map<int64,float>, user.age:int32" and rows of cells with '|' between them. A cell is "null", a
 * value, a list "[1,null,3]", a list of lists "[[1],[2,3]]" or a map "{a:1,b:2}". Every column,
 * list and item may be null; neighbours with the same word before a dot are members of a struct.
 */
#ifndef CR_TESTS_PQ_MAKE_H
#define CR_TESTS_PQ_MAKE_H

#include <ctype.h>

#include "base/buf.h"
#include "harness.h"
#include "parquet/parquet.h"

#define PM_MAX 96

typedef struct pm_leaf { /* being filled */
    cr_pq_type type;
    int length;
    cr_pq_logical logical;
    int depth;
    bool is_map_value; /* takes the part behind ':' and the lists of the leaf before */
    cr_buf values, bytes, beg, end, valid, off[2], list_valid[2];
    int64_t n, n_lists[2], n_null;
} pm_leaf;

typedef struct pm_file {
    cr_pq_meta schema;
    cr_arena arena;
    pm_leaf leaf[PM_MAX];
    int n_leaves;
    int column_leaf[PM_MAX]; /* first leaf of each column */
    int n_columns;
    int64_t n_rows;
    char sep; /* between cells */
} pm_file;

static inline void pm_die(const char *what, const char *text) {
    fprintf(stderr, "pq_make: %s: '%s'\n", what, text);
    abort();
}

static inline void pm_node(pm_file *f, const char *name, cr_pq_type type, cr_pq_rep rep,
                           cr_pq_logical logical, int length, int n_children) {
    f->schema.nodes[f->schema.n_nodes++] = (cr_pq_node){.name = name,
                                                        .type = type,
                                                        .type_length = length,
                                                        .rep = rep,
                                                        .logical = logical,
                                                        .n_children = n_children,
                                                        .field_id = -1};
}

/* "int64", "decimal(9,2)" at *s */
static inline pm_leaf pm_type(const char **s) {
    static const struct {
        const char *word;
        cr_pq_type type;
        int length;
        cr_pq_logical logical;
    } types[] = {
        {"bool", CR_PQ_BOOL, 0, {.kind = CR_PQ_PHYSICAL}},
        {"int8", CR_PQ_I32, 0, {.kind = CR_PQ_INT, .bits = 8, .is_signed = true}},
        {"int16", CR_PQ_I32, 0, {.kind = CR_PQ_INT, .bits = 16, .is_signed = true}},
        {"int32", CR_PQ_I32, 0, {.kind = CR_PQ_PHYSICAL}},
        {"int64", CR_PQ_I64, 0, {.kind = CR_PQ_PHYSICAL}},
        {"int96", CR_PQ_I96, 0, {.kind = CR_PQ_PHYSICAL}},
        {"uint8", CR_PQ_I32, 0, {.kind = CR_PQ_INT, .bits = 8}},
        {"uint16", CR_PQ_I32, 0, {.kind = CR_PQ_INT, .bits = 16}},
        {"uint32", CR_PQ_I32, 0, {.kind = CR_PQ_INT, .bits = 32}},
        {"uint64", CR_PQ_I64, 0, {.kind = CR_PQ_INT, .bits = 64}},
        {"float16", CR_PQ_FIXED, 2, {.kind = CR_PQ_FLOAT16}},
        {"float", CR_PQ_F32, 0, {.kind = CR_PQ_PHYSICAL}},
        {"double", CR_PQ_F64, 0, {.kind = CR_PQ_PHYSICAL}},
        {"string", CR_PQ_BYTES, 0, {.kind = CR_PQ_STRING}},
        {"binary", CR_PQ_BYTES, 0, {.kind = CR_PQ_PHYSICAL}},
        {"bson", CR_PQ_BYTES, 0, {.kind = CR_PQ_BSON}},
        {"fixed4", CR_PQ_FIXED, 4, {.kind = CR_PQ_PHYSICAL}},
        {"uuid", CR_PQ_FIXED, 16, {.kind = CR_PQ_UUID}},
        {"date", CR_PQ_I32, 0, {.kind = CR_PQ_DATE}},
        {"millis", CR_PQ_I64, 0, {.kind = CR_PQ_TIMESTAMP, .unit = CR_PQ_MILLIS, .is_utc = true}},
        {"micros", CR_PQ_I64, 0, {.kind = CR_PQ_TIMESTAMP, .unit = CR_PQ_MICROS, .is_utc = true}},
        {"dec9_2", CR_PQ_I32, 0, {.kind = CR_PQ_DECIMAL, .precision = 9, .scale = 2}},
        {"dec9_0", CR_PQ_I32, 0, {.kind = CR_PQ_DECIMAL, .precision = 9, .scale = 0}},
        {"dec18_4", CR_PQ_I64, 0, {.kind = CR_PQ_DECIMAL, .precision = 18, .scale = 4}},
        {"dec38_3", CR_PQ_FIXED, 16, {.kind = CR_PQ_DECIMAL, .precision = 38, .scale = 3}},
        {"dec38_0", CR_PQ_FIXED, 16, {.kind = CR_PQ_DECIMAL, .precision = 38, .scale = 0}},
        {"decbytes_1", CR_PQ_BYTES, 0, {.kind = CR_PQ_DECIMAL, .precision = 20, .scale = 1}},
        {"nulls", CR_PQ_I32, 0, {.kind = CR_PQ_NULL}},
    };
    size_t n = strspn(*s, "abcdefghijklmnopqrstuvwxyz0123456789_");
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strlen(types[i].word) == n && memcmp(types[i].word, *s, n) == 0) {
            *s += n;
            return (pm_leaf){.type = types[i].type,
                             .length = types[i].length,
                             .logical = types[i].logical};
        }
    pm_die("unknown type", *s);
    return (pm_leaf){0};
}

static inline pm_leaf *pm_add_leaf(pm_file *f, const char *name, pm_leaf leaf, int depth) {
    pm_leaf *l = &f->leaf[f->n_leaves++];
    *l = leaf;
    l->depth = depth;
    int32_t zero = 0;
    for (int d = 0; d < depth; d++)
        cr_buf_add(&l->off[d], &zero, sizeof(zero));
    pm_node(f, name, l->type, CR_PQ_OPTIONAL, l->logical, l->length, 0);
    return l;
}

static inline void pm_column(pm_file *f, const char *name, const char **s) {
    const cr_pq_logical none = {.kind = CR_PQ_PHYSICAL}, list = {.kind = CR_PQ_LIST},
                        map = {.kind = CR_PQ_MAP};
    f->column_leaf[f->n_columns++] = f->n_leaves;
    if (strncmp(*s, "map<", 4) == 0) {
        *s += 4;
        pm_node(f, name, CR_PQ_GROUP, CR_PQ_OPTIONAL, map, 0, 1);
        pm_node(f, "key_value", CR_PQ_GROUP, CR_PQ_REPEATED, none, 0, 2);
        pm_leaf key = pm_type(s);
        pm_add_leaf(f, "key", key, 1);
        f->schema.nodes[f->schema.n_nodes - 1].rep = CR_PQ_REQUIRED;
        *s += *(*s) == ',';
        pm_leaf value = pm_type(s);
        pm_add_leaf(f, "value", value, 1)->is_map_value = true;
        *s += *(*s) == '>';
        return;
    }
    int depth = 0;
    const char *n = name;
    for (; strncmp(*s, "list<", 5) == 0; depth++, n = "element") {
        *s += 5;
        pm_node(f, n, CR_PQ_GROUP, CR_PQ_OPTIONAL, list, 0, 1);
        pm_node(f, "list", CR_PQ_GROUP, CR_PQ_REPEATED, none, 0, 1);
    }
    pm_leaf leaf = pm_type(s);
    pm_add_leaf(f, n, leaf, depth);
    for (; depth > 0; depth--)
        *s += *(*s) == '>';
}

static inline void pm_init(pm_file *f, const char *schema) {
    memset(f, 0, sizeof(*f));
    f->sep = '|';
    cr_arena_init(&f->arena, 0);
    f->schema.nodes = CR_NEW_N(&f->arena, cr_pq_node, 8 * PM_MAX);
    pm_node(f, "schema", CR_PQ_GROUP, CR_PQ_REQUIRED, (cr_pq_logical){0}, 0, 0);
    const char *in = ""; /* the struct we are in */
    int at = 0;          /* its node */
    for (const char *s = schema; *s;) {
        while (*s == ' ' || *s == ',')
            s++;
        const char *colon = strchr(s, ':');
        if (!colon) break;
        char *name = cr_arena_strndup(&f->arena, s, (size_t)(colon - s)), *dot = strchr(name, '.');
        s = colon + 1;
        if (dot) {
            *dot = 0;
            if (strcmp(in, name) != 0) {
                at = f->schema.n_nodes;
                f->schema.nodes[0].n_children++;
                pm_node(f, name, CR_PQ_GROUP, CR_PQ_REQUIRED, (cr_pq_logical){0}, 0, 0);
                in = name;
            }
            f->schema.nodes[at].n_children++;
            name = dot + 1;
        } else {
            in = "";
            f->schema.nodes[0].n_children++;
        }
        pm_column(f, name, &s);
    }
    cr_err err = {0};
    if (cr_pq_schema_finish(&f->schema, &f->arena, &err) != CR_OK) pm_die(err.msg, schema);
}

__extension__ typedef __int128 pm_i128;
static inline void pm_big(uint8_t *out, int n, const char *s) {
    bool neg = *s == '-';
    pm_i128 x = 0;
    for (s += neg; isdigit((unsigned char)*s); s++)
        x = x * 10 + (*s - '0');
    if (neg) x = -x;
    for (int i = 0; i < n; i++)
        out[n - 1 - i] = (uint8_t)(x >> 8 * i);
}

/* one value, n bytes of text, or null */
static inline void pm_value(pm_leaf *l, const char *s, size_t n) {
    bool null = (n == 4 && memcmp(s, "null", 4) == 0) || (n == 0 && l->type != CR_PQ_BYTES);
    char text[80];
    snprintf(text, sizeof(text), "%.*s", (int)(n < 79 ? n : 79), s);
    cr_buf_char(&l->valid, null ? 0 : 1);
    l->n_null += null;
    l->n++;
    uint8_t raw[16] = {0};
    if (l->type == CR_PQ_BYTES) {
        uint32_t at = (uint32_t)l->bytes.n;
        cr_buf_add(&l->beg, &at, 4);
        if (!null && l->logical.kind == CR_PQ_DECIMAL) {
            pm_big(raw, 5, text);
            cr_buf_add(&l->bytes, raw, 5);
        } else if (!null) {
            cr_buf_add(&l->bytes, s, n);
        }
        at = (uint32_t)l->bytes.n;
        cr_buf_add(&l->end, &at, 4);
        return;
    }
    int32_t i32 = null ? 0 : (int32_t)strtoll(text, NULL, 10);
    int64_t i64 = null ? 0 : (int64_t)strtoull(text, NULL, 10);
    if (text[0] == '-') i64 = strtoll(text, NULL, 10);
    float f32 = null ? 0 : strtof(text, NULL);
    double f64 = null ? 0 : strtod(text, NULL);
    switch (l->type) {
    case CR_PQ_BOOL: cr_buf_char(&l->values, !null && (text[0] == 't' || text[0] == '1')); break;
    case CR_PQ_I32: cr_buf_add(&l->values, &i32, 4); break;
    case CR_PQ_I64: cr_buf_add(&l->values, &i64, 8); break;
    case CR_PQ_F32: cr_buf_add(&l->values, &f32, 4); break;
    case CR_PQ_F64: cr_buf_add(&l->values, &f64, 8); break;
    case CR_PQ_I96: { /* "day nanoseconds", the day a Julian one */
        char *end;
        uint32_t day = (uint32_t)strtoull(text, &end, 10);
        int64_t ns = null ? 0 : strtoll(end, NULL, 10);
        cr_buf_add(&l->values, &ns, 8);
        cr_buf_add(&l->values, &day, 4);
        break;
    }
    default: /* fixed: a decimal, or hex digits */
        if (!null && l->logical.kind == CR_PQ_DECIMAL)
            pm_big(raw, l->length, text);
        else
            for (int i = 0; i < l->length && !null && text[2 * i]; i++) {
                unsigned x = 0;
                sscanf(text + 2 * i, "%2x", &x);
                raw[i] = (uint8_t)x;
            }
        cr_buf_add(&l->values, raw, (size_t)l->length);
    }
}

static inline void pm_close_list(pm_leaf *l, int d, bool null) {
    int32_t to = (int32_t)(d == 0 && l->depth == 2 ? l->n_lists[1] : l->n);
    cr_buf_add(&l->off[d], &to, 4);
    cr_buf_char(&l->list_valid[d], null ? 0 : 1);
    l->n_lists[d]++;
}

/* values up to the end of a list; returns its ']' */
static inline const char *pm_values(pm_leaf *l, const char *s) {
    for (; *s != ']'; s += *s == ',') {
        const char *e = s + strcspn(s, ",]");
        pm_value(l, s, (size_t)(e - s));
        s = e;
    }
    return s;
}

static inline void pm_cell(pm_leaf *l, const char *s, const char *end) {
    bool null = *s != '[';
    if (l->depth == 0) {
        pm_value(l, s, (size_t)(end - s));
        return;
    }
    for (s++; l->depth == 2 && !null && *s != ']'; s += *s == ',') {
        bool no_list = *s != '[';
        if (!no_list) s = pm_values(l, s + 1) - 3;
        pm_close_list(l, 1, no_list);
        s += 4; /* behind "null", or the ']' */
    }
    if (l->depth == 1 && !null) pm_values(l, s);
    pm_close_list(l, 0, null);
}

static inline void pm_map(pm_leaf *key, pm_leaf *value, const char *s, const char *end) {
    bool null = *s != '{';
    for (s++; !null && s < end && *s != '}'; s += *s == ',') {
        const char *colon = strchr(s, ':'), *e = colon;
        while (*e != ',' && *e != '}')
            e++;
        pm_value(key, s, (size_t)(colon - s));
        pm_value(value, colon + 1, (size_t)(e - colon - 1));
        s = e;
    }
    pm_close_list(key, 0, null);
    pm_close_list(value, 0, null);
}

/* one row: cells with '|' between them */
static inline void pm_row(pm_file *f, const char *row) {
    for (int c = 0; c < f->n_columns; c++) {
        const char *end = strchrnul(row, f->sep);
        if (c + 1 < f->n_columns && !*end) pm_die("too few cells", row);
        pm_leaf *l = &f->leaf[f->column_leaf[c]];
        if (f->column_leaf[c] + 1 < f->n_leaves && l[1].is_map_value)
            pm_map(l, l + 1, row, end);
        else
            pm_cell(l, row, end);
        row = *end ? end + 1 : end;
    }
    f->n_rows++;
}

static inline void pm_write(pm_file *f, const char *path, const cr_pq_write_opts *opts) {
    cr_pq_vec v[PM_MAX];
    for (int i = 0; i < f->n_leaves; i++) {
        pm_leaf *l = &f->leaf[i];
        cr_buf_reserve(&l->values, 64);
        cr_buf_reserve(&l->bytes, 1);
        cr_buf_reserve(&l->beg, 4);
        cr_buf_reserve(&l->end, 4);
        v[i] = (cr_pq_vec){.type = l->type,
                           .type_length = l->length,
                           .n_rows = f->n_rows,
                           .n = l->n,
                           .n_null = l->n_null,
                           .valid = l->n_null ? (const uint8_t *)l->valid.data : NULL,
                           .depth = l->depth,
                           .bytes = l->bytes.data,
                           .beg = (const uint32_t *)(const void *)l->beg.data,
                           .end = (const uint32_t *)(const void *)l->end.data};
        v[i].v.b8 = (const uint8_t *)l->values.data;
        for (int d = 0; d < l->depth; d++)
            v[i].list[d] = (cr_pq_list){.off = (const int32_t *)(const void *)l->off[d].data,
                                        .valid = (const uint8_t *)l->list_valid[d].data,
                                        .n = l->n_lists[d]};
    }
    cr_err err = {0};
    cr_pq_writer *w;
    cr_pq_write_opts none = {0};
    if (cr_pq_writer_new(&w, path, &f->schema, opts ? opts : &none, &err) != CR_OK ||
        (f->n_rows > 0 && cr_pq_write(w, v, &err) != CR_OK) ||
        cr_pq_writer_finish(w, &err) != CR_OK)
        pm_die(err.msg, path);
    cr_pq_writer_free(w);
}

static inline void pm_clear(pm_file *f) {
    for (int i = 0; i < f->n_leaves; i++) {
        pm_leaf *l = &f->leaf[i];
        cr_buf *const all[] = {&l->values, &l->bytes,         &l->beg,
                               &l->end,    &l->valid,         &l->off[0],
                               &l->off[1], &l->list_valid[0], &l->list_valid[1]};
        for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
            cr_buf_clear(all[k]);
    }
    cr_arena_clear(&f->arena);
}

/* a whole file from rows, NULL-ended */
static inline const char *pm_make(const char *path, const char *schema, const char *const *rows,
                                  const cr_pq_write_opts *opts) {
    pm_file *f = cr_alloc(sizeof(*f), "a test file");
    pm_init(f, schema);
    for (; *rows; rows++)
        pm_row(f, *rows);
    pm_write(f, path, opts);
    pm_clear(f);
    cr_free(f);
    return path;
}
#define PM_FILE(path, schema, ...)                                                                 \
    pm_make(path, schema, (const char *const[]){__VA_ARGS__, NULL}, NULL)

#endif
