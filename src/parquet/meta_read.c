/*
 * meta_read.c - the footer: Thrift bytes into the structs of the header.
 *
 * A field that is unknown, or has another type than the format says, is skipped, so newer files can
 * be read. Everything that is used is checked here, once, and the rest of the library relies on it:
 * counts, offsets and sizes lie in the file, every row group has one chunk per leaf, of the leaf's
 * type.
 *
 * The memory of every array is subtracted from `left`, which starts as the budget.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "parquet/meta_int.h"

#define MAX_PRECISION 154 /* digits of a decimal that fit in 64 bytes */
#define MAX_ODD       100 /* unexpected paths that are searched among all others */

cr_code cr_pq_broken(cr_pq_parse *s) {
    return cr_fail(s->err, CR_EDATA, "%s, byte %zu: %s", s->what, s->t.bad_at, s->t.bad);
}

cr_code cr_pq_take(cr_pq_parse *s, void **out, size_t n, size_t size) {
    *out = NULL;
    if (n > s->left / size) {
        cr_fail(s->err, CR_EDATA, "%s: %zu elements of %zu bytes do not fit in the budget", s->what,
                n, size);
        return cr_fail_why(s->err, CR_PQ_BUDGET, CR_EDATA);
    }
    s->left -= n * size;
    *out = cr_arena_zalloc(s->arena, n * size);
    return CR_OK;
}

/* names are C strings: a NUL inside is shown as the replacement character */
static cr_code get_text(cr_pq_parse *s, int type, const char **out) {
    const uint8_t *p;
    size_t n, nuls = 0;
    if (!cr_tin_get_bytes(&s->t, type, &p, &n)) return CR_OK;
    for (size_t i = 0; i < n; i++)
        nuls += p[i] == 0;
    void *memory;
    CR_TRY(cr_pq_take(s, &memory, n + 2 * nuls + 1, 1));
    CR_ASSERT(memory); /* at least the end of the text */
    char *q = memory;
    *out = q;
    if (n && !nuls) memcpy(q, p, n);
    for (size_t i = 0; i < n && nuls; i++) {
        if (p[i])
            *q++ = (char)p[i];
        else {
            memcpy(q, "\xef\xbf\xbd", 3);
            q += 3;
        }
    }
    return CR_OK;
}

#define OTHER_MOST 65536 /* bytes of an unknown type that are kept */

/* ---- the schema ---- */

static const cr_pq_logical signed_int[4] = {{.kind = CR_PQ_INT, .bits = 8, .is_signed = true},
                                            {.kind = CR_PQ_INT, .bits = 16, .is_signed = true},
                                            {.kind = CR_PQ_INT, .bits = 32, .is_signed = true},
                                            {.kind = CR_PQ_INT, .bits = 64, .is_signed = true}};

static cr_pq_logical from_converted(int c, const cr_pq_node *n, int precision, int scale) {
    cr_pq_logical l = {.kind = CR_PQ_PHYSICAL};
    switch (c) {
    case 0: l.kind = CR_PQ_STRING; break;
    case 1: l.kind = CR_PQ_MAP; break;
    case 2: /* some writers give it to the outer node, most to the repeated one */
        if (n->rep != CR_PQ_REPEATED) l.kind = CR_PQ_MAP;
        break;
    case 3: l.kind = CR_PQ_LIST; break;
    case 4: l.kind = CR_PQ_ENUM; break;
    case 5:
        l = (cr_pq_logical){.kind = CR_PQ_DECIMAL, .precision = precision, .scale = scale};
        break;
    case 6: l.kind = CR_PQ_DATE; break;
    case 7:
    case 8:
        l = (cr_pq_logical){.kind = CR_PQ_TIME,
                            .is_utc = true,
                            .unit = c == 7 ? CR_PQ_MILLIS : CR_PQ_MICROS};
        break;
    case 9:
    case 10:
        l = (cr_pq_logical){.kind = CR_PQ_TIMESTAMP,
                            .is_utc = true,
                            .unit = c == 9 ? CR_PQ_MILLIS : CR_PQ_MICROS};
        break;
    case 11:
    case 12:
    case 13:
    case 14:
        l = signed_int[c - 11];
        l.is_signed = false;
        break;
    case 15:
    case 16:
    case 17:
    case 18: l = signed_int[c - 15]; break;
    case 19: l.kind = CR_PQ_JSON; break;
    case 20: l.kind = CR_PQ_BSON; break;
    case 21: l.kind = CR_PQ_INTERVAL; break;
    default: l.kind = CR_PQ_OTHER; break;
    }
    return l;
}

static void get_unit(cr_tin *t, int type, cr_pq_unit *unit) {
    if (type != CR_T_STRUCT || !cr_tin_enter(t)) {
        cr_tin_skip(t, type);
        return;
    }
    CR_EACH_FIELD(t, id, of) {
        if (id == 2) *unit = CR_PQ_MICROS;
        if (id == 3) *unit = CR_PQ_NANOS;
        cr_tin_skip(t, of);
    }
    cr_tin_leave(t);
}

/* get_params reads the parameters of a logical type; a type without parameters is an empty
 * struct. */
static void get_params(cr_tin *t, cr_pq_logical *l) {
    if (!cr_tin_enter(t)) return;
    CR_EACH_FIELD(t, id, type) {
        if (l->kind == CR_PQ_DECIMAL && id == 1)
            (void)cr_tin_get_i32(t, type, &l->scale);
        else if (l->kind == CR_PQ_DECIMAL && id == 2)
            (void)cr_tin_get_i32(t, type, &l->precision);
        else if ((l->kind == CR_PQ_TIME || l->kind == CR_PQ_TIMESTAMP) && id == 1)
            (void)cr_tin_get_bool(t, type, &l->is_utc);
        else if ((l->kind == CR_PQ_TIME || l->kind == CR_PQ_TIMESTAMP) && id == 2)
            get_unit(t, type, &l->unit);
        else if (l->kind == CR_PQ_INT && id == 1 && type == CR_T_I8)
            l->bits = cr_tin_i8(t);
        else if (l->kind == CR_PQ_INT && id == 2)
            (void)cr_tin_get_bool(t, type, &l->is_signed);
        else
            cr_tin_skip(t, type);
    }
    cr_tin_leave(t);
}

static void get_logical(cr_tin *t, cr_pq_logical *l) {
    static const cr_pq_kind kinds[] = {
        [1] = CR_PQ_STRING,  [2] = CR_PQ_MAP,      [3] = CR_PQ_LIST,  [4] = CR_PQ_ENUM,
        [5] = CR_PQ_DECIMAL, [6] = CR_PQ_DATE,     [7] = CR_PQ_TIME,  [8] = CR_PQ_TIMESTAMP,
        [10] = CR_PQ_INT,    [11] = CR_PQ_NULL,    [12] = CR_PQ_JSON, [13] = CR_PQ_BSON,
        [14] = CR_PQ_UUID,   [15] = CR_PQ_FLOAT16,
    };
    const uint8_t *begin = t->p;
    *l = (cr_pq_logical){.kind = CR_PQ_PHYSICAL};
    if (!cr_tin_enter(t)) return;
    CR_EACH_FIELD(t, id, type) {
        *l = (cr_pq_logical){.kind = CR_PQ_OTHER};
        if (id > 0 && id < (int)(sizeof kinds / sizeof kinds[0]) && kinds[id]) l->kind = kinds[id];
        if (type == CR_T_STRUCT)
            get_params(t, l);
        else
            cr_tin_skip(t, type);
    }
    cr_tin_leave(t);
    if (l->kind != CR_PQ_OTHER || t->p - begin > OTHER_MOST) return;
    l->other = begin;
    l->other_size = (int)(t->p - begin);
}

/* fits: can the physical type hold the logical one? If not, the logical type is ignored. */
static bool fits(const cr_pq_node *n, const cr_pq_logical *l) {
    switch (l->kind) {
    case CR_PQ_STRING:
    case CR_PQ_ENUM:
    case CR_PQ_JSON:
    case CR_PQ_BSON: return n->type == CR_PQ_BYTES || n->type == CR_PQ_FIXED;
    case CR_PQ_UUID: return n->type == CR_PQ_FIXED && n->type_length == 16;
    case CR_PQ_INT:
        return (n->type == CR_PQ_I32 && (l->bits == 8 || l->bits == 16 || l->bits == 32)) ||
               (n->type == CR_PQ_I64 && l->bits == 64);
    case CR_PQ_DECIMAL:
        if (l->precision < 1 || l->precision > MAX_PRECISION) return false;
        if (l->scale < 0 || l->scale > l->precision) return false;
        return n->type == CR_PQ_I32 || n->type == CR_PQ_I64 || n->type == CR_PQ_BYTES ||
               n->type == CR_PQ_FIXED;
    case CR_PQ_DATE: return n->type == CR_PQ_I32;
    case CR_PQ_TIME: return n->type == (l->unit == CR_PQ_MILLIS ? CR_PQ_I32 : CR_PQ_I64);
    case CR_PQ_TIMESTAMP: return n->type == CR_PQ_I64;
    case CR_PQ_INTERVAL: return n->type == CR_PQ_FIXED && n->type_length == 12;
    case CR_PQ_FLOAT16: return n->type == CR_PQ_FIXED && n->type_length == 2;
    case CR_PQ_LIST:
    case CR_PQ_MAP: return n->type == CR_PQ_GROUP;
    case CR_PQ_NULL: return n->type != CR_PQ_GROUP;
    default: return true;
    }
}

static cr_code get_node(cr_pq_parse *s, bool root, cr_pq_node *n) {
    cr_tin *t = &s->t;
    int type_id = -1, converted = -1, precision = 0, scale = 0, rep = -1;
    cr_pq_logical logical = {.kind = CR_PQ_PHYSICAL};
    n->field_id = -1;
    if (!cr_tin_enter(t)) return cr_pq_broken(s);
    CR_EACH_FIELD(t, id, type) {
        switch (id) {
        case 1:
            if (cr_tin_get_i32(t, type, &type_id) && (type_id < 0 || type_id > CR_PQ_FIXED))
                return cr_fail(s->err, CR_EDATA, "schema: physical type %d is not known", type_id);
            break;
        case 2: (void)cr_tin_get_i32(t, type, &n->type_length); break;
        case 3: (void)cr_tin_get_i32(t, type, &rep); break;
        case 4: CR_TRY(get_text(s, type, &n->name)); break;
        case 5: (void)cr_tin_get_i32(t, type, &n->n_children); break;
        case 6: (void)cr_tin_get_i32(t, type, &converted); break;
        case 7: (void)cr_tin_get_i32(t, type, &scale); break;
        case 8: (void)cr_tin_get_i32(t, type, &precision); break;
        case 9: (void)cr_tin_get_i32(t, type, &n->field_id); break;
        case 10:
            if (type == CR_T_STRUCT)
                get_logical(t, &logical);
            else
                cr_tin_skip(t, type);
            break;
        default: cr_tin_skip(t, type); break;
        }
    }
    cr_tin_leave(t);
    if (t->bad) return cr_pq_broken(s);
    if (!n->name) n->name = "";
    /* the root does not need the rest, and writers put all kinds of things there */
    n->type = root || n->n_children > 0 || type_id < 0 ? CR_PQ_GROUP : (cr_pq_type)type_id;
    if (n->type != CR_PQ_FIXED) n->type_length = 0;
    if (root) return CR_OK;
    if (rep < CR_PQ_REQUIRED || rep > CR_PQ_REPEATED)
        return cr_fail(s->err, CR_EDATA,
                       "schema: '%.100s' is neither required, optional nor repeated", n->name);
    n->rep = (cr_pq_rep)rep;
    if ((logical.kind == CR_PQ_PHYSICAL || logical.kind == CR_PQ_OTHER || !fits(n, &logical)) &&
        converted >= 0) {
        cr_pq_logical c = from_converted(converted, n, precision, scale);
        if (c.kind != CR_PQ_OTHER || logical.kind == CR_PQ_PHYSICAL) logical = c;
    }
    if (fits(n, &logical)) n->logical = logical;
    return CR_OK;
}

static cr_code get_schema(cr_pq_parse *s, size_t n) {
    cr_pq_meta *m = s->m;
    CR_TRY(cr_pq_take(s, (void **)&m->nodes, n, sizeof(cr_pq_node)));
    m->n_nodes = (int)n;
    for (size_t i = 0; i < n; i++)
        CR_TRY(get_node(s, i == 0, &m->nodes[i]));
    return cr_pq_schema_fill(m, s->arena, &s->left, s->err);
}

/* ---- row groups ---- */

typedef struct raw_chunk {
    bool has_meta, encrypted;
    int type, codec;
    int64_t data, dict;
    cr_pq_raw_stats stats;
    cr_tin path; /* at the first element of path_in_schema */
    size_t n_path;
} raw_chunk;

static void get_column_meta(cr_tin *t, raw_chunk *r, cr_pq_chunk *c) {
    r->has_meta = true;
    r->codec = r->type = -1;
    if (!cr_tin_enter(t)) return;
    CR_EACH_FIELD(t, id, type) {
        switch (id) {
        case 1: (void)cr_tin_get_i32(t, type, &r->type); break;
        case 2: {
            int64_t n = cr_tin_get_list(t, type, CR_T_I32);
            for (int64_t i = 0; i < n && !t->bad; i++) {
                int64_t e = cr_tin_int(t);
                if (e >= 0 && e < 32) c->encodings |= (uint32_t)1 << e;
            }
            break;
        }
        case 3: {
            int64_t n = cr_tin_get_list(t, type, CR_T_BYTES);
            r->path = *t;
            r->n_path = n > 0 ? (size_t)n : 0;
            for (int64_t i = 0; i < n && !t->bad; i++)
                cr_tin_skip(t, CR_T_BYTES);
            break;
        }
        case 4: (void)cr_tin_get_i32(t, type, &r->codec); break;
        case 5: (void)cr_tin_get_i64(t, type, &c->n_values); break;
        case 6: (void)cr_tin_get_i64(t, type, &c->raw_size); break;
        case 7: (void)cr_tin_get_i64(t, type, &c->size); break;
        case 9: (void)cr_tin_get_i64(t, type, &r->data); break;
        case 11: (void)cr_tin_get_i64(t, type, &r->dict); break;
        case 12: cr_pq_get_stats(t, type, &r->stats); break;
        case 14: (void)cr_tin_get_i64(t, type, &c->bloom); break;
        default: cr_tin_skip(t, type); break;
        }
    }
    cr_tin_leave(t);
}

static cr_code bad_chunk(cr_pq_parse *s, int group, int leaf, const char *fmt, ...) CR_PRINTF(4, 5);
static cr_code bad_chunk(cr_pq_parse *s, int group, int leaf, const char *fmt, ...) {
    char msg[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    return cr_fail(s->err, CR_EDATA, "column '%.100s', row group %d: %s",
                   s->m->nodes[s->m->leaves[leaf]].path, group, msg);
}

/* same_path: is path_in_schema the path of this leaf? */
static bool same_path(const raw_chunk *r, const char *path) {
    cr_tin t = r->path;
    for (size_t i = 0; i < r->n_path; i++) {
        size_t n;
        const uint8_t *p = cr_tin_bytes(&t, &n);
        if (i > 0 && *path++ != '.') return false;
        /* strncmp would stop at a NUL in both and not compare the rest */
        if (!p || memchr(p, 0, n) || strncmp(path, (const char *)p, n) != 0) return false;
        path += n;
    }
    return *path == 0;
}

/* Chunks lie in the order of the leaves. A chunk whose path is that of another leaf is refused: it
 * would give that leaf's values. A path that belongs to no leaf is accepted as another spelling.
 * Only the first MAX_ODD unexpected paths are searched, because the search takes chunks times
 * columns. */
static cr_code check_path(cr_pq_parse *s, int group, int leaf, const raw_chunk *r) {
    const cr_pq_meta *m = s->m;
    if (!r->n_path || same_path(r, m->nodes[m->leaves[leaf]].path)) return CR_OK;
    if (++s->n_odd > MAX_ODD) return CR_OK;
    for (int i = 0; i < m->n_leaves; i++)
        if (i != leaf && same_path(r, m->nodes[m->leaves[i]].path))
            return bad_chunk(s, group, leaf, "the chunk in its place is that of column '%.100s'",
                             m->nodes[m->leaves[i]].path);
    return CR_OK;
}

/* check_index removes a page index whose place is not inside the file. */
static void check_index(cr_pq_parse *s, int64_t *at, int *size) {
    if (*at < 4 || *size <= 0 || *at > s->file_size - *size) *at = *size = 0;
}

/* add_up adds to a sum and returns false when the sum would become too large, so that sums over
 * chunks never wrap around. */
static bool add_up(int64_t *sum, int64_t x) {
    if (x > INT64_MAX / 2 - *sum) return false;
    *sum += x;
    return true;
}

static cr_code get_chunk(cr_pq_parse *s, int group, int leaf, cr_pq_chunk *c) {
    cr_tin *t = &s->t;
    const cr_pq_node *node = &s->m->nodes[s->m->leaves[leaf]];
    raw_chunk r = {.stats = cr_pq_no_stats};
    const uint8_t *path = NULL;
    size_t n_path = 0;
    *c = (cr_pq_chunk){.n_values = -1, .size = -1};
    r.data = -1;
    if (!cr_tin_enter(t)) return cr_pq_broken(s);
    CR_EACH_FIELD(t, id, type) {
        switch (id) {
        case 1: (void)cr_tin_get_bytes(t, type, &path, &n_path); break;
        case 3:
            if (type == CR_T_STRUCT)
                get_column_meta(t, &r, c);
            else
                cr_tin_skip(t, type);
            break;
        case 4: (void)cr_tin_get_i64(t, type, &c->offset_index); break;
        case 5: (void)cr_tin_get_i32(t, type, &c->offset_index_size); break;
        case 6: (void)cr_tin_get_i64(t, type, &c->column_index); break;
        case 7: (void)cr_tin_get_i32(t, type, &c->column_index_size); break;
        case 8:
        case 9:
            r.encrypted = true;
            cr_tin_skip(t, type);
            break;
        default: cr_tin_skip(t, type); break;
        }
    }
    cr_tin_leave(t);
    if (t->bad) return cr_pq_broken(s);
    if (r.encrypted)
        return cr_fail_why(
            s->err, CR_PQ_TOLD,
            bad_chunk(s, group, leaf,
                      "it is encrypted, which is not supported; write it without encryption"));
    if (n_path)
        return cr_fail_why(s->err, CR_PQ_TOLD,
                           bad_chunk(s, group, leaf,
                                     "its data lies in another file, '%.*s'; name the data files, "
                                     "not a summary of them",
                                     n_path > 200 ? 200 : (int)n_path, (const char *)path));
    if (!r.has_meta) return bad_chunk(s, group, leaf, "the chunk has no metadata");
    if (r.type != (int)node->type)
        return bad_chunk(s, group, leaf, "its type is %d, in the schema it is %d", r.type,
                         (int)node->type);
    if (r.codec < 0) return bad_chunk(s, group, leaf, "the chunk names no codec");
    c->codec = (cr_pq_codec)r.codec;
    if (c->n_values < 0) return bad_chunk(s, group, leaf, "its number of values is missing");
    CR_TRY(check_path(s, group, leaf, &r));
    cr_pq_use_stats(&c->stats, &r.stats, node);
    if (c->stats.n_null > c->n_values) c->stats.n_null = -1;
    if (c->raw_size < 0) c->raw_size = 0;
    /* a dictionary lies before the data; 0 and places after the data are writers' mistakes */
    c->data_start = r.data;
    c->start = r.dict > 0 && r.dict < r.data ? r.dict : r.data;
    check_index(s, &c->offset_index, &c->offset_index_size);
    check_index(s, &c->column_index, &c->column_index_size);
    if (c->bloom < 4 || c->bloom >= s->file_size) c->bloom = 0;
    bool inside = c->size >= 0 && c->start >= 4 && c->size <= s->file_size &&
                  c->start <= s->file_size - c->size;
    if (!inside && c->n_values == 0) { /* there is nothing to read */
        c->start = c->data_start = c->size = c->raw_size = 0;
        c->offset_index = c->offset_index_size = 0;
        return CR_OK;
    }
    if (!inside)
        return bad_chunk(s, group, leaf,
                         "its %lld bytes at byte %lld are not in the file, which has %lld",
                         (long long)c->size, (long long)c->start, (long long)s->file_size);
    if (c->data_start > c->start + c->size)
        return bad_chunk(s, group, leaf, "its data begins at byte %lld, behind the chunk's end",
                         (long long)c->data_start);
    if (!add_up(&s->n_values, c->n_values) || !add_up(&s->size, c->size) ||
        !add_up(&s->raw_size, c->raw_size))
        return bad_chunk(s, group, leaf, "%lld values in %lld bytes (%lld uncompressed) cannot be",
                         (long long)c->n_values, (long long)c->size, (long long)c->raw_size);
    return CR_OK;
}

static cr_code get_group(cr_pq_parse *s, int group, cr_pq_group *g) {
    cr_tin *t = &s->t;
    bool has_columns = false;
    g->n_rows = -1;
    if (!cr_tin_enter(t)) return cr_pq_broken(s);
    CR_EACH_FIELD(t, id, type) {
        switch (id) {
        case 1: {
            int64_t n = cr_tin_get_list(t, type, CR_T_STRUCT);
            if (n < 0) break;
            if (n != s->m->n_leaves || has_columns)
                return cr_fail(s->err, CR_EDATA, "row group %d has %lld columns, the schema has %d",
                               group, (long long)n, s->m->n_leaves);
            has_columns = true;
            CR_TRY(cr_pq_take(s, (void **)&g->chunks, (size_t)n, sizeof(cr_pq_chunk)));
            for (int i = 0; i < (int)n; i++)
                CR_TRY(get_chunk(s, group, i, &g->chunks[i]));
            break;
        }
        case 2: (void)cr_tin_get_i64(t, type, &g->raw_size); break;
        case 3: (void)cr_tin_get_i64(t, type, &g->n_rows); break;
        default: cr_tin_skip(t, type); break;
        }
    }
    cr_tin_leave(t);
    if (t->bad) return cr_pq_broken(s);
    if (g->n_rows < 0)
        return cr_fail(s->err, CR_EDATA, "row group %d: its number of rows is missing", group);
    if (!has_columns && s->m->n_leaves)
        return cr_fail(s->err, CR_EDATA, "row group %d has no columns", group);
    return CR_OK;
}

/* get_pairs reads the list of key-value pairs. */
static cr_code get_pairs(cr_pq_parse *s, size_t n) {
    cr_tin *t = &s->t;
    CR_TRY(cr_pq_take(s, (void **)&s->m->pairs, n, sizeof(cr_pq_pair)));
    for (size_t i = 0; i < n; i++) {
        cr_pq_pair *p = &s->m->pairs[i];
        if (!cr_tin_enter(t)) return cr_pq_broken(s);
        CR_EACH_FIELD(t, id, type) {
            if (id == 1)
                CR_TRY(get_text(s, type, &p->key));
            else if (id == 2)
                CR_TRY(get_text(s, type, &p->value));
            else
                cr_tin_skip(t, type);
        }
        cr_tin_leave(t);
        if (t->bad) return cr_pq_broken(s);
        if (!p->key) p->key = "";
    }
    s->m->n_pairs = (int)n;
    return CR_OK;
}

/* ---- the footer ---- */

/* drop_unordered removes the bounds of columns whose order we do not know. orders is at the first
 * of n unions. */
static void drop_unordered(cr_pq_meta *m, cr_tin *orders, int64_t n) {
    for (int leaf = 0; leaf < m->n_leaves; leaf++) {
        bool known = false;
        if (leaf < n && cr_tin_enter(orders)) {
            CR_EACH_FIELD(orders, id, type) {
                known = id == 1 || id == 2; /* 1: the order of the type; 2: IEEE 754 total order */
                cr_tin_skip(orders, type);
            }
            cr_tin_leave(orders);
        }
        const cr_pq_node *node = &m->nodes[m->leaves[leaf]];
        bool is_unsigned = node->logical.kind == CR_PQ_INT && !node->logical.is_signed;
        bool same_either_way = node->type <= CR_PQ_F64 && node->type != CR_PQ_I96 && !is_unsigned;
        if (known || same_either_way) continue;
        for (int g = 0; g < m->n_groups; g++) {
            cr_pq_stats *st = &m->groups[g].chunks[leaf].stats;
            st->min = st->max = NULL;
            st->min_size = st->max_size = 0;
        }
    }
}

/* mend_sizes: parquet-cpp before 1.2.9 left the dictionary's header out of the size of a chunk. */
static void mend_sizes(cr_pq_meta *m, int64_t file_size) {
    int a = 0, b = 0, c = 0;
    const char *by = m->created_by;
    if (!by || sscanf(by, "parquet-cpp version %3d.%3d.%3d", &a, &b, &c) != 3) return;
    if (a > 1 || (a == 1 && (b > 2 || (b == 2 && c >= 9)))) return;
    for (int g = 0; g < m->n_groups; g++)
        for (int i = 0; i < m->n_leaves; i++) {
            cr_pq_chunk *k = &m->groups[g].chunks[i];
            if (!k->size) continue;
            int64_t room = file_size - k->start - k->size;
            k->size += room < 100 ? room : 100;
        }
}

cr_code cr_pq_parse_footer(const uint8_t *p, size_t n, int64_t file_size, size_t budget,
                           cr_arena *arena, cr_pq_meta *out, cr_err *err) {
    cr_pq_parse s = {.arena = arena,
                     .left = budget,
                     .file_size = file_size,
                     .m = out,
                     .err = err,
                     .what = "footer"};
    cr_tin *t = &s.t, groups = {0}, orders = {0};
    int64_t n_groups = -1, n_orders = 0, rows = 0, told = 0;
    *out = (cr_pq_meta){.footer_size = (int64_t)n};
    if (!cr_pq_seal_fits(p, n)) return cr_fail(err, CR_EDATA, "footer: it does not fit its digest");
    cr_tin_init(t, p, n);
    CR_EACH_FIELD(t, id, type) {
        int64_t k;
        switch (id) {
        case 1: (void)cr_tin_get_i32(t, type, &out->version); break;
        case 2:
            k = cr_tin_get_list(t, type, CR_T_STRUCT);
            if (k < 0) break;
            if (out->nodes) return cr_fail(err, CR_EDATA, "footer: it has two schemas");
            CR_TRY(get_schema(&s, (size_t)k));
            break;
        case 3: (void)cr_tin_get_i64(t, type, &told); break;
        case 4: /* it is read when the schema is known */
            n_groups = cr_tin_get_list(t, type, CR_T_STRUCT);
            groups = *t;
            for (k = 0; k < n_groups && !t->bad; k++)
                cr_tin_skip(t, CR_T_STRUCT);
            break;
        case 5:
            k = cr_tin_get_list(t, type, CR_T_STRUCT);
            if (k >= 0 && !out->pairs) CR_TRY(get_pairs(&s, (size_t)k));
            break;
        case 6: CR_TRY(get_text(&s, type, &out->created_by)); break;
        case 7:
            n_orders = cr_tin_get_list(t, type, CR_T_STRUCT);
            orders = *t;
            for (k = 0; k < n_orders && !t->bad; k++)
                cr_tin_skip(t, CR_T_STRUCT);
            break;
        default: cr_tin_skip(t, type); break;
        }
    }
    if (t->bad) return cr_pq_broken(&s);
    if (!out->nodes) return cr_fail(err, CR_EDATA, "footer: it has no schema");
    if (n_groups < 0) return cr_fail(err, CR_EDATA, "footer: it has no list of row groups");
    if (n_groups > 0) {
        CR_TRY(cr_pq_take(&s, (void **)&out->groups, (size_t)n_groups, sizeof(cr_pq_group)));
        s.t = groups;
        for (int g = 0; g < (int)n_groups; g++) {
            cr_pq_group *group = &out->groups[g];
            CR_TRY(get_group(&s, g, group));
            group->first_row = rows;
            if (group->n_rows > INT64_MAX - rows)
                return cr_fail(err, CR_EDATA, "row group %d: it has too many rows", g);
            rows += group->n_rows;
            out->n_groups = g + 1;
        }
    }
    /* some writers leave 0 in the footer; the sum over the groups is right */
    if (told != 0 && told != rows)
        return cr_fail(err, CR_EDATA, "footer: it tells of %lld rows, its row groups have %lld",
                       (long long)told, (long long)rows);
    out->n_rows = rows;
    drop_unordered(out, &orders, n_orders);
    mend_sizes(out, file_size);
    return CR_OK;
}
