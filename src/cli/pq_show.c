/*
 * pq_show.c - shows a Parquet file to people: summary, columns, row groups, pages, schema.
 *
 * A column is shown once, by the name and type that people use, with the sums over its row groups:
 * sizes, nulls, the least and the largest value. A column of several leaves (a struct, a map) has a
 * line of its own and one per leaf below it.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/shown.h"
#include "cli/grid.h"
#include "cli/pq_view.h"

#define TYPE_WIDTH 200
#define L          CR_GRID_LEFT
#define R          CR_GRID_RIGHT
#define S          CR_GRID_SHRINK

/* ---- numbers ---- */

/* Writes 1234567 as "1,234,567". */
static const char *count(cr_arena *a, int64_t x) {
    char s[32];
    int n = snprintf(s, sizeof s, "%lld", (long long)(x < 0 ? -x : x));
    char *out = cr_arena_alloc(a, 48), *p = out;
    if (x < 0) *p++ = '-';
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) *p++ = ',';
        *p++ = s[i];
    }
    *p = 0;
    return out;
}

static const char *bytes(cr_arena *a, int64_t x) {
    char s[32];
    return cr_arena_strdup(a, cr_fmt_bytes(s, (double)x));
}

static const char *ratio(cr_arena *a, int64_t raw, int64_t size) {
    if (size <= 0 || raw <= 0) return "";
    return cr_arena_printf(a, "%.1fx", (double)raw / (double)size);
}

/* ---- names ---- */

/* Returns the name that people use, and the node whose type they mean by it. */
static const char *people_name(cr_pqv *v, int leaf, int *typed) {
    const cr_pq_meta *m = v->m;
    int chain[128] = {m->leaves[leaf]}, n = 1, item, value;
    for (int i = m->nodes[chain[0]].parent; i > 0 && n < 128; i = m->nodes[i].parent)
        chain[n++] = i;
    int node = chain[--n];
    const char *name = m->nodes[node].name;
    bool as_item = false;
    *typed = node;
    for (;;) {
        cr_pq_shape shape = cr_pq_shape_of(m, node, as_item, &item, &value);
        if (shape == CR_PQ_IS_LEAF || n == 0) break;
        if (shape == CR_PQ_IS_LIST) {
            as_item = item <= node + 1;
            while (n > 0 && node != item)
                node = chain[--n];
            node = item;
            continue;
        }
        as_item = false;
        if (shape == CR_PQ_IS_MAP) n--; /* this passes over the repeated node of the map */
        node = chain[--n];
        name = cr_arena_printf(&v->arena, "%s.%s", name, m->nodes[node].name);
        *typed = node;
    }
    return cr_plain(&v->arena, name, strlen(name));
}

const char *cr_pqv_name(cr_pqv *v, int leaf) {
    int typed;
    return people_name(v, leaf, &typed);
}

static const char *type_of(cr_pqv *v, int node) {
    char s[TYPE_WIDTH];
    cr_pq_type_text(v->m, node, s, sizeof s);
    return cr_plain(&v->arena, s, strlen(s));
}

const char *cr_pqv_codecs(cr_pqv *v, uint32_t bits) {
    const char *s = "";
    for (int i = 0; i < 32; i++)
        if (bits >> i & 1)
            s = cr_arena_printf(&v->arena, "%s%s%s", s, *s ? ", " : "",
                                cr_pq_codec_name((cr_pq_codec)i));
    return s;
}

/* Returns the encodings in short words, without those that only levels are written in. */
static const char *short_encodings(cr_pqv *v, uint32_t bits, cr_pq_type type) {
    static const char *const words[] = {"plain", NULL,           "dict",        "rle",  NULL,
                                        "delta", "delta-length", "delta-bytes", "dict", "split"};
    const char *s = "";
    if (type != CR_PQ_BOOL || (bits & 1)) bits &= ~((uint32_t)1 << CR_PQ_RLE);
    if (bits >> CR_PQ_RLE_DICT & 1) bits &= ~((uint32_t)1 << CR_PQ_PLAIN_DICT);
    for (int i = 9; i >= 0; i--)
        if ((bits >> i & 1) && words[i])
            s = cr_arena_printf(&v->arena, "%s%s%s", s, *s ? "+" : "", words[i]);
    return s;
}

/* ---- values ---- */

/* is_text tells whether the n bytes are characters that a person reads, lines and tabs among them.
 */
static bool is_text(const char *s, size_t n) {
    uint32_t c;
    bool plain;
    for (size_t i = 0, len; i < n; i += len) {
        len = cr_shown_char(s + i, n - i, &c, &plain);
        if (len == 0 || (!plain && c != '\t' && c != '\n' && c != '\r')) return false;
    }
    return n > 0;
}

/* as_text returns the bytes that `hex` stands for as text, or NULL when they are no text. */
static const char *as_text(cr_pqv *v, const char *hex, size_t n) {
    cr_buf b;
    cr_buf_init(&b);
    for (size_t i = 0; i + 1 < n; i += 2) {
        int hi = hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10;
        int lo = hex[i + 1] <= '9' ? hex[i + 1] - '0' : hex[i + 1] - 'a' + 10;
        cr_buf_char(&b, (char)(hi << 4 | lo));
    }
    const char *s = is_text(b.data, b.n) ? cr_plain(&v->arena, b.data, b.n) : NULL;
    cr_buf_clear(&b);
    return s;
}

const char *cr_pqv_human(cr_pqv *v, const cr_pq_node *n, const char *json, size_t size) {
    if (size < 2 || json[0] != '"') return cr_arena_strndup(&v->arena, json, size);
    bool raw = (n->type == CR_PQ_BYTES || n->type == CR_PQ_FIXED) &&
               (n->logical.kind == CR_PQ_PHYSICAL || n->logical.kind == CR_PQ_OTHER);
    if (raw && size > 4) {
        const char *s = as_text(v, json + 3, size - 4);
        if (s) return s;
    }
    return cr_plain_json(&v->arena, json, size);
}

/* value_text returns a stored value for people: text without quotes, and bytes as text when they
 * are text. */
static const char *value_text(cr_pqv *v, const cr_pq_node *n, const uint8_t *p, int size) {
    cr_buf b;
    if (!p) return "";
    cr_buf_init(&b);
    cr_pq_value_json(n, p, size, &b);
    const char *s = cr_pqv_human(v, n, b.data, b.n);
    cr_buf_clear(&b);
    return s;
}

cr_pqv_sum cr_pqv_sum_of(const cr_pq_meta *m, int leaf) {
    cr_pqv_sum s = {.has_bounds = true};
    const cr_pq_node *n = &m->nodes[m->leaves[leaf]];
    cr_pq_stats *o = &s.bounds;
    for (int g = 0; g < m->n_groups; g++) {
        const cr_pq_chunk *c = &m->groups[g].chunks[leaf];
        const cr_pq_stats *t = &c->stats;
        s.n_values += c->n_values;
        s.size += c->size;
        s.raw_size += c->raw_size;
        s.encodings |= c->encodings;
        if ((unsigned)c->codec < 32) s.codecs |= (uint32_t)1 << c->codec;
        s.n_null = s.n_null < 0 || t->n_null < 0 ? -1 : s.n_null + t->n_null;
        if (c->n_values == 0 || t->n_null == c->n_values) continue;
        if (!t->min || !t->max) s.has_bounds = false;
        if (!s.has_bounds) continue;
        if (!o->min || cr_pq_value_compare(n, t->min, t->min_size, o->min, o->min_size) < 0) {
            o->min = t->min;
            o->min_size = t->min_size;
            o->min_exact = t->min_exact;
        }
        if (!o->max || cr_pq_value_compare(n, t->max, t->max_size, o->max, o->max_size) > 0) {
            o->max = t->max;
            o->max_size = t->max_size;
            o->max_exact = t->max_exact;
        }
    }
    s.has_bounds = s.has_bounds && o->min;
    return s;
}

/* ---- the summary ---- */

void cr_pqv_summary(cr_pqv *v) {
    const cr_pq_meta *m = v->m;
    cr_arena *a = &v->arena;
    int64_t size = 0, raw = 0;
    int n_top = 0;
    for (int g = 0; g < m->n_groups; g++)
        for (int i = 0; i < m->n_leaves; i++) {
            size += m->groups[g].chunks[i].size;
            raw += m->groups[g].chunks[i].raw_size;
        }
    for (int i = 1; i < m->n_nodes; i = m->nodes[i].next)
        n_top++;
    cr_ui_say("%s\n", cr_pq_path(v->f));
    cr_ui_say("  %s row%s in %s row group%s, %s column%s", count(a, m->n_rows),
              m->n_rows == 1 ? "" : "s", count(a, m->n_groups), m->n_groups == 1 ? "" : "s",
              count(a, n_top), n_top == 1 ? "" : "s");
    if (n_top != m->n_leaves) cr_ui_say(" (%s leaves)", count(a, m->n_leaves));
    cr_ui_say("\n  file %s: data %s", bytes(a, v->size), bytes(a, size));
    if (raw > 0 && size > 0)
        cr_ui_say(", %s uncompressed (%s)", bytes(a, raw), ratio(a, raw, size));
    cr_ui_say(", footer %s\n", bytes(a, m->footer_size));
    const char *by = m->created_by ? cr_plain(a, m->created_by, strlen(m->created_by)) : "not told";
    cr_ui_say("  written by %s, format version %d\n", cr_shown_cut(a, by, v->width - 34),
              m->version);
    for (int i = 0; i < m->n_pairs; i++) {
        const cr_pq_pair *p = &m->pairs[i];
        const char *key = cr_plain(a, p->key, strlen(p->key));
        const char *value = p->value ? p->value : "";
        /* A schema of some system in base64 can be long; only the part that is shown is made. */
        size_t n = strlen(value), most = (size_t)v->width * 4;
        value = cr_plain(a, value, n < most ? n : most);
        const char *line = cr_arena_printf(a, "metadata %s%s%s", key, *value ? ": " : "", value);
        cr_ui_say("  %s\n", cr_shown_cut(a, line, v->width - 2));
    }
}

/* ---- columns ---- */

enum { C_NAME, C_TYPE, C_NULL, C_CODEC, C_ENCODINGS, C_SIZE, C_RATIO, C_NULLS, C_MIN, C_MAX, C_N };

static void column_line(cr_pqv *v, cr_grid *t, const char *name, int typed, const cr_pqv_sum *s,
                        const cr_pq_node *leaf) {
    cr_arena *a = &v->arena;
    const char **c = cr_grid_row(t);
    c[C_NAME] = cr_shown_cut(a, name, v->width / 3);
    c[C_TYPE] = type_of(v, typed);
    c[C_NULL] = v->m->nodes[typed].rep == CR_PQ_OPTIONAL ? "yes" : "no";
    c[C_CODEC] = cr_pqv_codecs(v, s->codecs);
    c[C_SIZE] = bytes(a, s->size);
    c[C_RATIO] = ratio(a, s->raw_size, s->size);
    if (!leaf) return;
    c[C_ENCODINGS] = short_encodings(v, s->encodings, leaf->type);
    if (s->n_null >= 0) c[C_NULLS] = count(a, s->n_null);
    if (!s->has_bounds) return;
    c[C_MIN] = value_text(v, leaf, s->bounds.min, s->bounds.min_size);
    c[C_MAX] = value_text(v, leaf, s->bounds.max, s->bounds.max_size);
    /* A value that the writer has cut is only a bound. */
    if (!s->bounds.min_exact) c[C_MIN] = cr_arena_printf(a, "%s...", c[C_MIN]);
    if (!s->bounds.max_exact) c[C_MAX] = cr_arena_printf(a, "%s...", c[C_MAX]);
}

void cr_pqv_columns(cr_pqv *v, int max) {
    static const unsigned flags[C_N] = {L, L | S, L, L, L | S, R, R, R, L | S, L | S};
    const cr_pq_meta *m = v->m;
    cr_grid t;
    cr_grid_init(&t, &v->arena, C_N, flags);
    const char **head = cr_grid_row(&t);
    static const char *const names[C_N] = {"column", "type",  "nullable", "codec", "encodings",
                                           "size",   "ratio", "nulls",    "min",   "max"};
    memcpy(head, names, sizeof names);
    int shown = 0;
    for (; shown < v->n && (!max || t.n_rows <= max); shown++) {
        int node = v->nodes[shown], first = -1, leaves = 0;
        cr_pqv_sum all = {.n_null = -1};
        for (int i = node; i < m->nodes[node].next; i++) {
            if (m->nodes[i].leaf < 0) continue;
            cr_pqv_sum s = cr_pqv_sum_of(m, m->nodes[i].leaf);
            if (first < 0) first = m->nodes[i].leaf;
            leaves++;
            all.size += s.size;
            all.raw_size += s.raw_size;
            all.codecs |= s.codecs;
        }
        const char *name = m->nodes[node].path;
        name = cr_plain(&v->arena, name, strlen(name));
        if (leaves == 1) {
            cr_pqv_sum s = cr_pqv_sum_of(m, first);
            column_line(v, &t, name, node, &s, &m->nodes[m->leaves[first]]);
            continue;
        }
        column_line(v, &t, name, node, &all, NULL);
        for (int k = first; k < first + leaves && (!max || t.n_rows <= max); k++) {
            cr_pqv_sum s = cr_pqv_sum_of(m, k);
            int typed;
            const char *path = cr_arena_printf(&v->arena, "  %s", people_name(v, k, &typed));
            column_line(v, &t, path, typed, &s, &m->nodes[m->leaves[k]]);
        }
    }
    cr_ui_say("\ncolumns\n");
    cr_grid_print(&t, v->width);
    if (shown < v->n)
        cr_ui_say("  ... and %s more; --columns A,B chooses, --json has all\n",
                  count(&v->arena, v->n - shown));
}

/* ---- row groups ---- */

void cr_pqv_groups(cr_pqv *v, int max) {
    static const unsigned flags[] = {R, R, R, R, R, R, R};
    static const char *const names[] = {"#",     "rows",         "first row", "size",
                                        "ratio", "uncompressed", "at byte"};
    const cr_pq_meta *m = v->m;
    cr_arena *a = &v->arena;
    cr_grid t;
    cr_grid_init(&t, a, 7, flags);
    memcpy(cr_grid_row(&t), names, sizeof names);
    int g = 0;
    for (; g < m->n_groups && (!max || g < max); g++) {
        const cr_pq_group *group = &m->groups[g];
        int64_t size = 0, raw = 0, start = INT64_MAX;
        for (int i = 0; i < m->n_leaves; i++) {
            const cr_pq_chunk *k = &group->chunks[i];
            size += k->size;
            raw += k->raw_size;
            if (k->start > 0 && k->start < start) start = k->start;
        }
        const char **c = cr_grid_row(&t);
        c[0] = count(a, g);
        c[1] = count(a, group->n_rows);
        c[2] = count(a, group->first_row);
        c[3] = bytes(a, size);
        c[4] = ratio(a, raw, size);
        c[5] = bytes(a, raw);
        if (start < INT64_MAX) c[6] = count(a, start);
    }
    cr_ui_say("\nrow groups\n");
    cr_grid_print(&t, v->width);
    if (g < m->n_groups)
        cr_ui_say("  ... and %s more; --row_groups shows all\n", count(a, m->n_groups - g));
}

/* ---- pages ---- */

enum {
    P_N,
    P_BYTE,
    P_TYPE,
    P_ENCODING,
    P_VALUES,
    P_ROW,
    P_NULLS,
    P_SIZE,
    P_RAW,
    P_CRC,
    P_MIN,
    P_MAX,
    P_COLS
};

static void page_bounds(cr_pqv *v, const char **c, const cr_pq_node *n, const cr_pq_stats *s) {
    static const int sizes[] = {1, 4, 8, 12, 4, 8};
    for (int i = 0; i < 2; i++) {
        const uint8_t *p = i ? s->max : s->min;
        int size = i ? s->max_size : s->min_size;
        if (!p || (n->type <= CR_PQ_F64 && size != sizes[n->type])) continue;
        c[i ? P_MAX : P_MIN] = value_text(v, n, p, size);
    }
}

static cr_code chunk_pages(cr_pqv *v, int group, int leaf, cr_buf *head, cr_err *err) {
    static const unsigned flags[P_COLS] = {R, R, L, L, R, R, R, R, R, L, L | S, L | S};
    static const char *const names[P_COLS] = {"#",        "at byte", "page",
                                              "encoding", "values",  "first row",
                                              "nulls",    "size",    "uncompressed",
                                              "crc",      "min",     "max"};
    const cr_pq_meta *m = v->m;
    const cr_pq_node *n = &m->nodes[m->leaves[leaf]];
    cr_arena arena, *a = &v->arena;
    cr_pq_index ix = {0};
    cr_grid t;
    int64_t at = 0;
    cr_arena_init(&arena, 0);
    cr_grid_init(&t, a, P_COLS, flags);
    memcpy(cr_grid_row(&t), names, sizeof names);
    cr_code code = cr_pq_read_index(v->f, group, leaf, &arena, &ix, err);
    int i_index = 0;
    for (int i = 0; code == CR_OK; i++) {
        cr_pq_page_note p;
        bool more;
        code = cr_pq_list_page(v->f, group, leaf, &at, head, &p, &more, err);
        if (code != CR_OK || !more) break;
        const char **c = cr_grid_row(&t);
        c[P_N] = count(a, i);
        c[P_BYTE] = count(a, p.offset);
        c[P_TYPE] = cr_pq_page_name(p.type);
        if (p.encoding >= 0) c[P_ENCODING] = cr_pq_encoding_name(p.encoding);
        if (p.n_values >= 0) c[P_VALUES] = count(a, p.n_values);
        if (p.n_nulls >= 0) c[P_NULLS] = count(a, p.n_nulls);
        c[P_SIZE] = count(a, p.size);
        c[P_RAW] = count(a, p.raw_size);
        if (p.has_crc) c[P_CRC] = "yes";
        page_bounds(v, c, n, &p.stats);
        while (i_index < ix.n_pages && ix.pages[i_index].offset < p.offset)
            i_index++;
        if (i_index >= ix.n_pages || ix.pages[i_index].offset != p.offset) continue;
        const cr_pq_page_info *info = &ix.pages[i_index];
        c[P_ROW] = count(a, info->first_row);
        if (info->stats.n_null >= 0) c[P_NULLS] = count(a, info->stats.n_null);
        page_bounds(v, c, n, &info->stats);
    }
    if (t.n_rows > 1) {
        const cr_pq_chunk *k = &m->groups[group].chunks[leaf];
        cr_ui_say("\ncolumn %s, row group %d: %s values in %d page%s, %s%s\n", cr_pqv_name(v, leaf),
                  group, count(a, k->n_values), t.n_rows - 1, t.n_rows == 2 ? "" : "s",
                  cr_pq_codec_name(k->codec), ix.n_pages ? ", page index" : "");
        cr_grid_print(&t, v->width);
    }
    cr_arena_clear(&arena);
    return code;
}

cr_code cr_pqv_pages(cr_pqv *v, int node, cr_err *err) {
    const cr_pq_meta *m = v->m;
    cr_buf head;
    cr_code code = CR_OK;
    cr_buf_init(&head);
    for (int i = node; i < m->nodes[node].next && code == CR_OK; i++)
        for (int g = 0; g < m->n_groups && code == CR_OK && m->nodes[i].leaf >= 0; g++)
            code = chunk_pages(v, g, m->nodes[i].leaf, &head, err);
    cr_buf_clear(&head);
    return code;
}

/* ---- the schema as the format writes it ---- */

static const char *annotation(cr_pqv *v, int node) {
    const cr_pq_node *n = &v->m->nodes[node];
    switch (n->logical.kind) {
    case CR_PQ_PHYSICAL: return "";
    case CR_PQ_LIST: return " (LIST)";
    case CR_PQ_MAP: return " (MAP)";
    case CR_PQ_OTHER: return " (unknown)";
    default: return cr_arena_printf(&v->arena, " (%s)", type_of(v, node));
    }
}

void cr_pqv_schema(cr_pqv *v) {
    static const char *const reps[] = {"required", "optional", "repeated"};
    const cr_pq_meta *m = v->m;
    int ends[128], depth = 0;
    for (int i = 0; i < m->n_nodes; i++) {
        const cr_pq_node *n = &m->nodes[i];
        const char *name = cr_plain(&v->arena, n->name, strlen(n->name));
        while (depth > 0 && ends[depth - 1] == i)
            cr_ui_say("%*s}\n", 2 * --depth, "");
        if (i == 0) {
            cr_ui_say("message %s {\n", name);
        } else if (n->type == CR_PQ_GROUP) {
            cr_ui_say("%*s%s group %s%s {\n", 2 * depth, "", reps[n->rep], name, annotation(v, i));
        } else {
            cr_ui_say("%*s%s %s", 2 * depth, "", reps[n->rep], cr_pq_type_name(n->type));
            if (n->type == CR_PQ_FIXED) cr_ui_say("(%d)", n->type_length);
            cr_ui_say(" %s%s", name, annotation(v, i));
            if (n->field_id >= 0) cr_ui_say(" = %d", n->field_id);
            cr_ui_say(";\n");
        }
        if (n->type == CR_PQ_GROUP && depth < 128) ends[depth++] = n->next;
    }
    while (depth > 0)
        cr_ui_say("%*s}\n", 2 * --depth, "");
}
