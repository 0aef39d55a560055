/*
 * parse.c - turns one block of slot text into columns.
 *
 * Tokens are read line by line into one list of (field, value). A line that cannot be read is bad
 * and leaves nothing in the list. Then each value goes to its column: values of a field come in the
 * order of rows, so counts per row are enough to place them.
 */
#include "data/slots/slots_int.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/rng.h"
#include "base/shown.h"

/* A value as it is stored; `text` are places in the block. */
typedef union value {
    int64_t i;
    float f;
    struct {
        uint32_t beg, end;
    } text;
} value;

typedef struct parsing {
    const struct cr_slots *t;
    const char *text; /* the block */
    cr_arena *a;
    cr_bad *bad;
    int64_t line;
    /* the list */
    int32_t *field;
    value *val;
    size_t n, cap;
    /* per field */
    int32_t **count; /* values of each row; NULL: not needed */
    int32_t *now;    /* values of this row */
    size_t begin;    /* where the values of this row begin in the list */
    uint64_t row;    /* number of the row in its line */
    uint64_t hash;   /* of the line, for draws; 0: not needed */
    int64_t n_rows, cap_rows;
    int64_t *lines;
} parsing;

bool cr_slots_token(const struct cr_slots *t, const char *p, size_t n, const char **slot,
                    size_t *n_slot, const char **val, size_t *n_val) {
    const char *colon = memchr(p, ':', n);
    if (!colon) return false;
    const char *second = colon + 1;
    size_t left = n - (size_t)(second - p);
    const char *more = memchr(second, ':', left); /* what follows a second colon is nothing */
    if (more) left = (size_t)(more - second);
    bool slot_first = t->form == CR_SLOT_VALUE;
    *slot = slot_first ? p : second;
    *n_slot = slot_first ? (size_t)(colon - p) : left;
    *val = slot_first ? second : p;
    *n_val = slot_first ? left : (size_t)(colon - p);
    return true;
}

#define wrong(p, ...) (cr_bad_add((p)->bad, -1, (p)->line, __VA_ARGS__), false)

static void make_room(parsing *p) {
    size_t cap = 2 * p->cap + 1024;
    int32_t *field = cr_arena_alloc(p->a, cap * sizeof *field);
    value *val = cr_arena_alloc(p->a, cap * sizeof *val);
    if (p->n) {
        memcpy(field, p->field, p->n * sizeof *field);
        memcpy(val, p->val, p->n * sizeof *val);
    }
    p->field = field;
    p->val = val;
    p->cap = cap;
}

/* Stores one value of field f. */
static bool store(parsing *p, int f, value v) {
    const cr_slot *slot = &p->t->v[f];
    if (!slot->many && p->now[f] > 0)
        return wrong(p, "slot '%s' comes twice and is one value", slot->name);
    if (p->n == p->cap) make_room(p);
    p->field[p->n] = f;
    p->val[p->n++] = v;
    p->now[f]++;
    return true;
}

/* Adds one value of field f. */
static bool add(parsing *p, int f, const char *s, size_t n) {
    const cr_slot *slot = &p->t->v[f];
    char shown[CR_SHOW];
    value v = {0};
    double d;
    if (!slot->needed) return true;
    if (slot->type == CR_COL_I64) {
        if (!cr_parse_i64(s, n, &v.i))
            return wrong(p, "slot '%s', value '%s': not a whole number of 64 bits", slot->name,
                         cr_show(shown, s, n));
    } else if (slot->type == CR_COL_F32) {
        if (!cr_parse_f64(s, n, &d) || isnan(d))
            return wrong(p, "slot '%s', value '%s': not a number", slot->name,
                         cr_show(shown, s, n));
        v.f = (float)d;
    } else {
        v.text.beg = (uint32_t)(s - p->text);
        v.text.end = v.text.beg + (uint32_t)n;
    }
    return store(p, f, v);
}

/* Returns the end of the token at s. */
static const char *token_end(const parsing *p, const char *s, const char *end) {
    const char *q = memchr(s, p->t->separator, (size_t)(end - s));
    return q ? q : end;
}

static bool pairs(parsing *p, const char *s, const char *end) {
    int column = 0;
    for (const char *q; s <= end; s = q + 1) {
        q = token_end(p, s, end);
        if (column < p->t->n_columns) {
            int f = p->t->columns[column++];
            if (f >= 0 && !add(p, f, s, (size_t)(q - s))) return false;
            continue;
        }
        if (q == s) continue;
        const char *slot, *val;
        size_t n_slot, n_val;
        char shown[CR_SHOW];
        if (!cr_slots_token(p->t, s, (size_t)(q - s), &slot, &n_slot, &val, &n_val))
            return wrong(p, "'%s' has no colon; a token is %s", cr_show(shown, s, (size_t)(q - s)),
                         p->t->form == CR_SLOT_VALUE ? "slot:value" : "value:slot");
        int64_t f = cr_map_get(&p->t->index, slot, n_slot, -1);
        if (f >= 0 && !add(p, (int)f, val, n_val)) return false;
    }
    if (column < p->t->n_columns)
        return wrong(p, "the row has %d column%s and slot_text.columns has %d", column,
                     column == 1 ? "" : "s", p->t->n_columns);
    return true;
}

/* Moves over empty tokens; false: the line is over. */
static bool skip_empty(const parsing *p, const char **s, const char *end) {
    while (*s < end && **s == p->t->separator)
        ++*s;
    return *s < end;
}

/* Reads the fields in order, each with as many values as `widths` says; an empty value counts, and
 * is `missing`. */
static bool every_value(parsing *p, const char *s, const char *end) {
    const char *missing = p->t->missing;
    int64_t left = 0;
    int f = -1;
    for (const char *q; s <= end; s = q + 1, left--) {
        while (left == 0 && ++f < p->t->n)
            if (p->t->v[f].weights < 0 && !p->t->v[f].draw) left = p->t->v[f].width;
        if (f == p->t->n) return wrong(p, "the row goes on behind the last slot of input_fields");
        q = token_end(p, s, end);
        bool none = q == s || (q - s == 4 && strncasecmp(s, "NULL", 4) == 0);
        none = none && p->t->v[f].type != CR_COL_STR; /* texts are places in the block */
        if (!(none ? add(p, f, missing, strlen(missing)) : add(p, f, s, (size_t)(q - s))))
            return false;
    }
    while (left == 0 && ++f < p->t->n)
        if (p->t->v[f].weights < 0 && !p->t->v[f].draw) left = p->t->v[f].width;
    if (f == p->t->n) return true;
    return wrong(p, "the row ends inside slot '%s'; %lld value%s missing", p->t->v[f].name,
                 (long long)left, left == 1 ? " is" : "s are");
}

/* Reads the fields in order, each with its number of values: in front of them, or from `widths`. */
static bool counted(parsing *p, const char *s, const char *end) {
    for (int f = 0; f < p->t->n; f++) {
        const cr_slot *slot = &p->t->v[f];
        char shown[CR_SHOW];
        int64_t k;
        if (slot->weights >= 0 || slot->draw) continue; /* it is made of others */
        if (!skip_empty(p, &s, end))
            return wrong(p, "the row ends before slot '%s', the %dth of input_fields", slot->name,
                         f + 1);
        const char *q = s;
        if (p->t->form == CR_SLOT_FIXED) {
            k = p->t->v[f].width;
        } else {
            q = token_end(p, s, end);
            if (!cr_parse_i64(s, (size_t)(q - s), &k) || k < 0)
                return wrong(p, "slot '%s': '%s' is not a number of values", slot->name,
                             cr_show(shown, s, (size_t)(q - s)));
        }
        for (s = q; k > 0; k--, s = q) {
            if (!skip_empty(p, &s, end))
                return wrong(p, "the row ends inside slot '%s'; %lld value%s missing", slot->name,
                             (long long)k, k == 1 ? " is" : "s are");
            q = token_end(p, s, end);
            if (!add(p, f, s, (size_t)(q - s))) return false;
        }
    }
    if (skip_empty(p, &s, end))
        return wrong(p, "the row goes on behind the last slot of input_fields");
    return true;
}

/* Do the slots of pairs have equal lengths, and every wanted place? */
static bool pairs_fit(parsing *p) {
    for (int f = 0; f < p->t->n; f++) {
        const cr_slot *s = &p->t->v[f];
        if (s->weights < 0 || !s->needed) continue;
        const char *weights = p->t->v[s->weights].name;
        int32_t n = p->now[s->weights], m = s->ids < 0 ? n : p->now[s->ids];
        if (n != m)
            return wrong(p, "slot '%s' has %d value%s and slot '%s' has %d; they belong together",
                         p->t->v[s->ids].name, m, m == 1 ? "" : "s", weights, n);
        if (n && s->place >= n)
            return wrong(p, "slot '%s' has %d value%s, and '%s' needs %lld", weights, n,
                         n == 1 ? "" : "s", s->name, (long long)s->place + 1);
    }
    return true;
}

/* The first field from f on that is in the lines. */
static int next_listed(const struct cr_slots *t, int f) {
    const cr_slot_tree *tree = t->tree;
    while (f < t->n && (t->v[f].weights >= 0 || t->v[f].draw ||
                        (tree && (f == tree->node || f == tree->layer || f == tree->label))))
        f++;
    return f;
}

static bool is_padding(const struct cr_slots *t, const char *v, size_t n) {
    return *t->padding && strlen(t->padding) == n && memcmp(t->padding, v, n) == 0;
}

/* Reads the fields in order, each with its values between list_separators. */
static bool lists(parsing *p, const char *s, const char *end) {
    int f = 0;
    for (const char *q; s <= end; s = q + 1, f++) {
        f = next_listed(p->t, f);
        if (f >= p->t->n)
            return s == end || wrong(p, "the row goes on behind the last slot of input_fields");
        q = token_end(p, s, end);
        for (const char *v = s, *e; v <= q; v = e + 1) {
            e = memchr(v, p->t->list_separator, (size_t)(q - v));
            if (!e) e = q;
            bool none = is_padding(p->t, v, (size_t)(e - v));
            if (e > v && !none && !add(p, f, v, (size_t)(e - v))) return false;
        }
    }
    f = next_listed(p->t, f);
    if (f < p->t->n)
        return wrong(p, "the row ends before slot '%s', the %dth of input_fields", p->t->v[f].name,
                     f + 1);
    return true;
}

/* ---- made columns ---- */

/* Value number k of a field in this row. */
static bool value_at(const parsing *p, int f, int64_t k, int64_t *out) {
    for (size_t i = p->begin; i < p->n; i++)
        if (p->field[i] == f && k-- == 0) {
            *out = p->val[i].i;
            return true;
        }
    return false;
}

static bool draw_column(parsing *p, int f, const cr_slot_draw *d) {
    int64_t n = d->conf->count, ban = 0, first = 0;
    uint64_t key = cr_rng_sub(cr_rng_sub(d->key, p->hash), p->row);
    if (d->as_many_as >= 0) n = p->now[d->as_many_as];
    bool bans = d->other_than >= 0 && value_at(p, d->other_than, 0, &ban);
    if (d->begin_with >= 0 && value_at(p, d->begin_with, 0, &first) &&
        !store(p, f, (value){.i = first}))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (!store(p, f, (value){.i = cr_slots_draw(d, key, (uint64_t)i, bans, ban)})) return false;
    return true;
}

static bool log_column(parsing *p, int f, const cr_slot_draw *d) {
    const cr_slot_draw *of = p->t->v[d->log_of].draw;
    int64_t n = p->now[d->log_of], drawn = of->conf->count, id = 0;
    for (int64_t k = 0; k < n; k++) {
        if (!value_at(p, d->log_of, k, &id)) break;
        double share = cr_slots_share(of, id), most = (double)(drawn ? drawn : n) * share;
        if (!store(p, f, (value){.f = (float)log(most > 1e-30 ? most : 1e-30)})) return false;
    }
    return true;
}

static bool copy_column(parsing *p, int f, const cr_slot_draw *d) {
    int64_t x;
    if (!value_at(p, d->copy_of, 0, &x)) return true; /* the column it is made of has no value */
    x = (int64_t)((uint64_t)x + (uint64_t)d->conf->plus);
    return store(p, f, (value){.i = x < d->conf->at_most ? x : d->conf->at_most});
}

static bool parts_column(parsing *p, int f, const cr_slot_draw *d) {
    int64_t id;
    const cr_slot_parts *parts = d->parts;
    if (!value_at(p, d->parts_of, 0, &id)) return true;
    if (!store(p, f, (value){.i = id})) return false;
    if (!parts || id < 0 || id >= parts->n) return true;
    for (int64_t i = parts->off[id]; i < parts->off[id + 1]; i++)
        if (!store(p, f, (value){.i = parts->part[i]})) return false;
    return true;
}

/* Finds the next value of field f at or after place *at of the list; *at is then behind it. */
static const value *next_value(const parsing *p, int f, size_t end, size_t *at) {
    while (*at < end)
        if (p->field[(*at)++] == f) return &p->val[*at - 1];
    return NULL;
}

/* A whole number as a value of a slot of ids, or of floats. */
static value number(bool whole, int64_t x) {
    value v = {.i = x};
    if (!whole) v.f = (float)x;
    return v;
}

/* The values, or the places, of another column where a third one says so. */
static bool choose_column(parsing *p, int f, const cr_slot_draw *d) {
    const cr_slot_made_conf *c = d->conf;
    int from = d->values_of >= 0 ? d->values_of : d->places_of;
    bool whole = p->t->v[f].type == CR_COL_I64;
    size_t i = p->begin, j = i, end = p->n;
    int64_t n = 0, fill = 0;
    if (d->where >= 0 && p->now[from] != p->now[d->where])
        return wrong(p, "slot '%s' has %d value%s and slot '%s', which chooses among them, has %d",
                     p->t->v[from].name, p->now[from], p->now[from] == 1 ? "" : "s",
                     p->t->v[d->where].name, p->now[d->where]);
    const value *v;
    for (int64_t place = 0; (v = next_value(p, from, end, &i)); place++) {
        int64_t x = d->values_of >= 0 ? v->i : place;
        if (d->where >= 0 && next_value(p, d->where, end, &j)->i != c->is) continue;
        if (c->most && n == c->most) break;
        if (!store(p, f, number(whole, x))) return false;
        n++;
    }
    if (!*c->fill || !cr_parse_i64(c->fill, strlen(c->fill), &fill)) return true;
    for (; n < c->most; n++)
        if (!store(p, f, number(whole, fill))) return false;
    return true;
}

static bool make_columns(parsing *p) {
    for (int i = 0; i < p->t->n_made; i++) {
        int f = p->t->made[i];
        const cr_slot_draw *d = p->t->v[f].draw;
        if (!p->t->v[f].needed) continue;
        bool ok = d->log_of >= 0                           ? log_column(p, f, d)
                  : d->copy_of >= 0                        ? copy_column(p, f, d)
                  : d->parts_of >= 0                       ? parts_column(p, f, d)
                  : d->values_of >= 0 || d->places_of >= 0 ? choose_column(p, f, d)
                  : d->conf->count > 0 || d->as_many_as >= 0
                      ? draw_column(p, f, d)
                      : add(p, f, d->conf->value, strlen(d->conf->value));
        if (!ok) return false;
    }
    return true;
}

/* ---- rows ---- */

static void more_rows(parsing *p) {
    int64_t cap = 2 * p->cap_rows + 64;
    int64_t *old = p->lines;
    p->lines = cr_arena_alloc(p->a, (size_t)cap * sizeof *p->lines);
    if (p->n_rows) memcpy(p->lines, old, (size_t)p->n_rows * sizeof *old);
    for (int f = 0; f < p->t->n; f++) {
        int32_t *count = p->count[f];
        if (!count) continue;
        p->count[f] = cr_arena_alloc(p->a, (size_t)cap * sizeof(int32_t));
        if (p->n_rows) memcpy(p->count[f], count, (size_t)p->n_rows * sizeof *count);
    }
    p->cap_rows = cap;
}

static void begin_row(parsing *p) {
    p->begin = p->n;
    for (int f = 0; f < p->t->n; f++)
        p->now[f] = 0;
}

/* Ends a row; a bad one leaves nothing in the list. */
static void end_row(parsing *p, bool good) {
    if (!good || !make_columns(p) || !pairs_fit(p)) {
        p->n = p->begin;
        return;
    }
    if (p->n_rows == p->cap_rows) more_rows(p);
    for (int f = 0; f < p->t->n; f++)
        if (p->count[f]) p->count[f][p->n_rows] = p->now[f];
    p->lines[p->n_rows++] = p->line;
    p->row++;
}

/* Reads the ids of a session; NULL: the line is bad. */
static const int64_t *session_ids(parsing *p, const char *s, const char *end, int64_t *n) {
    int64_t cap = 0;
    char shown[CR_SHOW];
    for (const char *q = s; q <= end; q++)
        cap += q == end || *q == p->t->separator;
    int64_t *ids = cr_arena_alloc(p->a, (size_t)(cap + 1) * sizeof *ids);
    *n = 0;
    while (skip_empty(p, &s, end)) {
        const char *q = token_end(p, s, end);
        if (!cr_parse_i64(s, (size_t)(q - s), &ids[*n])) {
            (void)wrong(p, "'%s' is not a whole number of 64 bits",
                        cr_show(shown, s, (size_t)(q - s)));
            return NULL;
        }
        ++*n;
        s = q;
    }
    return ids;
}

static bool put_id(parsing *p, int f, int64_t id) {
    return f < 0 || !p->t->v[f].needed || store(p, f, (value){.i = id});
}

static void next_rows(parsing *p, const int64_t *ids, int64_t n) {
    const struct cr_slots *t = p->t;
    int64_t k = t->form == CR_SLOT_LAST ? n - 1 : t->shortest;
    for (k = k < t->shortest ? t->shortest : k; k < n; k++) {
        bool good = true;
        begin_row(p);
        for (int64_t i = t->longest && k > t->longest ? k - t->longest : 0; i < k; i++)
            good = good && put_id(p, t->history, ids[i]);
        end_row(p, good && put_id(p, t->next, ids[k]));
    }
}

static void window_rows(parsing *p, const int64_t *ids, int64_t n) {
    const struct cr_slots *t = p->t;
    for (int64_t i = 0; i < n; i++) {
        int64_t far = 1 + (int64_t)cr_rng_below(p->hash, (uint64_t)i, (uint64_t)t->window);
        for (int64_t j = i > far ? i - far : 0; j <= i + far && j < n; j++) {
            if (j == i) continue;
            begin_row(p);
            end_row(p, put_id(p, t->center, ids[i]) && put_id(p, t->context, ids[j]));
        }
    }
}

/* The rows of a line over the tree: each has the values of the line, a node, its layer, and whether
 * it is above the item. */
static void tree_rows(parsing *p, const char *s, const char *end) {
    const cr_slot_tree *tree = p->t->tree;
    int64_t item = 0, *nodes = NULL;
    begin_row(p);
    bool good = lists(p, s, end);
    size_t from = p->n, n_values = p->n - p->begin;
    if (good && (!value_at(p, tree->item, 0, &item) || item < 0 || item >= tree->n_items))
        good = wrong(p, "item %lld is not in the tree, which has the items 0 to %lld",
                     (long long)item, (long long)tree->n_items - 1);
    if (!good) {
        p->n = p->begin;
        return;
    }
    /* the values of the line, which every row gets */
    int32_t *field = cr_arena_alloc(p->a, (n_values + 1) * sizeof *field);
    value *val = cr_arena_alloc(p->a, (n_values + 1) * sizeof *val);
    memcpy(field, p->field + p->begin, n_values * sizeof *field);
    memcpy(val, p->val + p->begin, n_values * sizeof *val);
    p->n = from - n_values;
    nodes = cr_arena_alloc(p->a, (size_t)cr_slots_tree_most(tree) * sizeof *nodes);
    for (int64_t layer = 0; layer < tree->n_layers; layer++) {
        int64_t k = cr_slots_tree_nodes(tree, item, layer, p->hash, nodes);
        for (int64_t i = 0; i < k; i++) {
            bool ok = true;
            begin_row(p);
            for (size_t j = 0; ok && j < n_values; j++)
                ok = store(p, field[j], val[j]);
            end_row(p, ok && put_id(p, tree->node, nodes[i]) && put_id(p, tree->layer, layer) &&
                           put_id(p, tree->label, i == 0));
        }
    }
}

/* FNV-1a */
static uint64_t hash_line(const char *s, const char *end) {
    uint64_t h = 14695981039346656037u;
    for (; s < end; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h;
}

static void one_line(parsing *p, const char *s, const char *end) {
    const struct cr_slots *t = p->t;
    int64_t n;
    p->row = 0;
    p->hash = t->n_made || t->tree || t->form == CR_SLOT_WINDOWS ? hash_line(s, end) : 0;
    if (t->tree) {
        tree_rows(p, s, end);
        return;
    }
    if (t->form >= CR_SLOT_NEXT) {
        const int64_t *ids = session_ids(p, s, end, &n);
        if (ids) (t->form == CR_SLOT_WINDOWS ? window_rows : next_rows)(p, ids, n);
        return;
    }
    begin_row(p);
    bool in_order = t->form == CR_SLOT_COUNTED || t->form == CR_SLOT_FIXED;
    end_row(p, *t->missing                ? every_value(p, s, end)
               : in_order                 ? counted(p, s, end)
               : t->form == CR_SLOT_LISTS ? lists(p, s, end)
                                          : pairs(p, s, end));
}

/* ---- columns ---- */

/* The values of one field. */
typedef struct gathered {
    int32_t *off; /* n_rows + 1 */
    value *v;
    int32_t n;
} gathered;

static void gather(const parsing *p, gathered *g) {
    for (int f = 0; f < p->t->n; f++) {
        if (!p->count[f]) continue;
        g[f].off = cr_arena_alloc(p->a, (size_t)(p->n_rows + 1) * sizeof(int32_t));
        g[f].off[0] = 0;
        for (int64_t r = 0; r < p->n_rows; r++)
            g[f].off[r + 1] = g[f].off[r] + p->count[f][r];
        g[f].v = cr_arena_alloc(p->a, ((size_t)g[f].off[p->n_rows] + 1) * sizeof(value));
        g[f].v[g[f].off[p->n_rows]] = (value){0}; /* what a row without a value gets */
    }
    for (size_t i = 0; i < p->n; i++) {
        gathered *x = &g[p->field[i]];
        x->v[x->n++] = p->val[i];
    }
}

/* Writes the k values v[at[i]] into a column. at NULL: all in order. */
static void put_values(const parsing *p, cr_column *c, const value *v, const int32_t *at,
                       int64_t k) {
    size_t n = (size_t)(k ? k : 1);
    if (c->type == CR_COL_STR) {
        uint32_t *beg = cr_arena_alloc(p->a, n * sizeof *beg);
        uint32_t *end = cr_arena_alloc(p->a, n * sizeof *end);
        for (int64_t i = 0; i < k; i++) {
            beg[i] = v[at ? at[i] : i].text.beg;
            end[i] = v[at ? at[i] : i].text.end;
        }
        c->bytes = p->text;
        c->beg = beg;
        c->end = end;
    } else if (c->type == CR_COL_I64) {
        int64_t *out = cr_arena_alloc(p->a, n * sizeof *out);
        for (int64_t i = 0; i < k; i++)
            out[i] = v[at ? at[i] : i].i;
        c->v.i64 = out;
    } else {
        float *out = cr_arena_alloc(p->a, n * sizeof *out);
        for (int64_t i = 0; i < k; i++)
            out[i] = v[at ? at[i] : i].f;
        c->v.f32 = out;
    }
}

/* Marks the rows without a value; returns NULL when all have one. */
static const uint8_t *validity(const parsing *p, const int32_t *off) {
    uint8_t *valid = NULL;
    for (int64_t r = 0; r < p->n_rows; r++) {
        if (off[r + 1] > off[r]) continue;
        if (!valid) {
            valid = cr_arena_alloc(p->a, (size_t)p->n_rows);
            memset(valid, 1, (size_t)p->n_rows);
        }
        valid[r] = 0;
    }
    return valid;
}

static void make_column(const parsing *p, const cr_slot *s, const gathered *g, int f,
                        cr_column *c) {
    bool part = s->weights >= 0;
    const gathered *from = &g[part ? s->weights : f];
    const int32_t *off = from->off;
    c->type = s->type;
    c->valid = validity(p, off);
    if (!part && s->many) {
        c->depth = 1;
        c->row_off = off;
        put_values(p, c, from->v, NULL, off[p->n_rows]);
        return;
    }
    /* one value per row: the only one, or the one at the place of the part */
    int32_t *at = cr_arena_alloc(p->a, (size_t)(p->n_rows + 1) * sizeof *at);
    int32_t *one = cr_arena_alloc(p->a, (size_t)(p->n_rows + 1) * sizeof *one);
    int64_t k = 0;
    one[0] = 0;
    for (int64_t r = 0; r < p->n_rows; r++) {
        bool has = off[r + 1] > off[r];
        if (has || s->ids < 0) at[k++] = has ? off[r] + (int32_t)s->place : off[p->n_rows];
        one[r + 1] = (int32_t)k;
    }
    put_values(p, c, from->v, at, k);
    if (s->ids < 0) return;
    cr_column *keys = CR_NEW(p->a, cr_column);
    keys->type = CR_COL_I64;
    keys->depth = 1;
    keys->row_off = one;
    put_values(p, keys, g[s->ids].v, at, k);
    c->depth = 1;
    c->row_off = one;
    c->keys = keys;
}

cr_code cr_slots_parse(const cr_source *s, const cr_raw *raw, cr_chunk *chunk, cr_bad *bad,
                       cr_err *err) {
    (void)err;
    const struct cr_slots *t = s->slots;
    cr_arena *a = &chunk->arena;
    cr_arena_reset(a);
    int64_t n_lines = 1;
    for (const char *q = raw->text, *end = q + raw->size;
         q < end && (q = memchr(q, '\n', (size_t)(end - q))); q++)
        n_lines++;
    parsing p = {.t = t, .text = raw->text, .a = a, .bad = bad};
    p.line = raw->first_line ? raw->first_line : 1;
    p.count = CR_NEW_N(a, int32_t *, t->n + 1);
    p.now = CR_NEW_N(a, int32_t, t->n + 1);
    p.lines = cr_arena_alloc(a, (size_t)n_lines * sizeof *p.lines);
    p.cap_rows = n_lines;
    for (int f = 0; f < t->n; f++)
        if (t->v[f].needed && t->v[f].weights < 0)
            p.count[f] = cr_arena_alloc(a, (size_t)n_lines * sizeof(int32_t));
    for (const char *q = raw->text, *end = q + raw->size, *nl; q < end; q = nl + 1, p.line++) {
        nl = memchr(q, '\n', (size_t)(end - q));
        if (!nl) nl = end;
        const char *last = nl > q && nl[-1] == '\r' ? nl - 1 : nl;
        if (last > q) one_line(&p, q, last);
    }
    gathered *g = CR_NEW_N(a, gathered, t->n + 1);
    gather(&p, g);
    chunk->n_rows = p.n_rows;
    chunk->n_cols = s->n_want;
    chunk->path = s->files[raw->file].path;
    chunk->first_row = raw->first_row;
    chunk->lines = p.lines;
    chunk->cols = CR_NEW_N(a, cr_column, s->n_want ? s->n_want : 1);
    for (int c = 0; c < s->n_want; c++)
        make_column(&p, &t->v[t->col[c]], g, t->col[c], &chunk->cols[c]);
    return CR_OK;
}
