/*
 * rows.c - see rows_int.h.
 */
#include "data/rows/rows_int.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "conf/conf.h"

#define FIRST_LIST  5  /* numbers of FieldType: lists begin here, */
#define AFTER_LISTS 10 /* and end here */
#define MAX_COLUMNS CR_CSV_MAX_COLS
#define TOO_FAR     9007199254740992.0 /* whole numbers above it have no exact double */

/* ---- which columns there are ---- */

static void clear_map(void *map) {
    cr_map_clear(map);
}

struct cr_rowset *cr_rowset_new(cr_source *s) {
    struct cr_rowset *t = CR_NEW(&s->arena, struct cr_rowset);
    int *next = CR_NEW_N(&s->arena, int, s->n_want + 1);
    cr_map_init(&t->index);
    cr_map_init(&t->seen);
    cr_arena_defer(&s->arena, clear_map, &t->index);
    cr_arena_defer(&s->arena, clear_map, &t->seen);
    for (int i = s->n_want - 1; i >= 0; i--) {
        const char *name = s->want[i].name;
        next[i] = (int)cr_map_get(&t->index, name, strlen(name), -1);
        (void)cr_map_put(&t->index, name, strlen(name), i);
    }
    t->next = next;
    t->kind = CR_NEW_N(&s->arena, cr_colkind, s->n_want + 1);
    s->rows = t;
    return t;
}

void cr_rowset_saw(cr_source *s, const char *name, size_t n, cr_rowval_kind kind, bool in_list) {
    struct cr_rowset *t = s->rows;
    int64_t i = cr_map_get(&t->seen, name, n, -1);
    if (i < 0) {
        if (t->n_all == MAX_COLUMNS) return;
        if (t->n_all == t->cap_all) {
            int64_t cap = t->cap_all ? 2 * t->cap_all : 64;
            cr_rowseen *v = CR_NEW_N(&s->arena, cr_rowseen, cap);
            if (t->n_all) memcpy(v, t->all, (size_t)t->n_all * sizeof *v);
            t->all = v;
            t->cap_all = cap;
        }
        i = t->n_all++;
        t->all[i] = (cr_rowseen){.name = cr_arena_strndup(&s->arena, name, n)};
        (void)cr_map_put(&t->seen, name, n, i);
    }
    cr_rowseen *c = &t->all[i];
    c->whole |= kind == CR_VAL_I64;
    c->number |= kind == CR_VAL_F64;
    c->text |= kind == CR_VAL_TEXT;
    c->many |= in_list;
    c->one |= !in_list;
}

static const char *nth_seen(const void *ctx, size_t i) {
    const struct cr_rowset *t = ctx;
    return (int64_t)i < t->n_all ? t->all[i].name : NULL;
}

static const cr_field_conf *field_of(const cr_data_conf *c, const char *name) {
    for (int64_t i = 0; i < c->input_fields.n; i++) {
        const cr_field_conf *f = c->input_fields.v[i];
        if (strcmp(f->input_name, name) == 0) return f;
    }
    return NULL;
}

/* Decides what a column holds. */
static void decide(cr_source *s, int i, const cr_rowseen *seen, const char *what, const char *path,
                   cr_diag *diag) {
    const cr_want *w = &s->want[i];
    const cr_field_conf *f = field_of(s->conf, w->name);
    cr_colkind *k = &s->rows->kind[i];
    *k = (cr_colkind){.type = CR_COL_F32, .key = -1};
    if (f && f->input_type >= AFTER_LISTS) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF,
                    s->conf->base.msg ? cr_conf_at(f, "input_type") : w->at,
                    "column '%s' of rows that name their columns holds one value or a list of "
                    "values, not %s",
                    w->name, cr_field_types[f->input_type].name);
        return;
    }
    if (f) {
        k->depth = f->input_type >= FIRST_LIST;
        k->type = (cr_coltype)(f->input_type - (k->depth ? FIRST_LIST : 0));
    } else if (seen) {
        k->depth = seen->many;
        k->type = seen->text ? CR_COL_STR : seen->number ? CR_COL_F64 : CR_COL_I64;
        k->nulls = !seen->text && !seen->number && !seen->whole;
        if (k->nulls) k->type = CR_COL_F32;
    }
    if (!seen && s->rows->n_looked > 0) {
        char cure[CR_WANT_CURE];
        const char *near = cr_nearest(w->name, nth_seen, s->rows);
        cr_diag_add(diag, f ? CR_SEV_WARN : CR_SEV_ERROR, CR_EDATA, w->at,
                    "no %s '%s', which %s needs, is in the first %lld row%s of %s; %s", what,
                    w->name, w->why ? w->why : "the config", (long long)s->rows->n_looked,
                    s->rows->n_looked == 1 ? "" : "s", path,
                    cr_want_cure(cure, w, near, "check the name and the file"));
    } else if (seen && !f && seen->text && (seen->number || seen->whole)) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, w->at,
                    "%s '%s' holds numbers and texts in %s; say in data_config.input_fields what "
                    "it is",
                    what, w->name, path);
    } else if (seen && !f && seen->one && seen->many) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, w->at,
                    "%s '%s' is a list in some rows of %s and one value in others; say in "
                    "data_config.input_fields what it is",
                    what, w->name, path);
    }
}

void cr_rowset_end(cr_source *s, const char *what, const char *path, cr_diag *diag) {
    struct cr_rowset *t = s->rows;
    const char **names = CR_NEW_N(&s->arena, const char *, t->n_all + 1);
    for (int i = 0; i < s->n_want; i++) {
        int64_t k = cr_map_get(&t->seen, s->want[i].name, strlen(s->want[i].name), -1);
        decide(s, i, k < 0 ? NULL : &t->all[k], what, path, diag);
    }
    for (int64_t i = 0; i < t->n_all; i++)
        names[i] = t->all[i].name;
    s->names = names;
    s->n_names = (int)t->n_all;
}

void cr_rowset_kinds(const cr_source *s, cr_colkind *out) {
    memcpy(out, s->rows->kind, (size_t)s->n_want * sizeof *out);
}

/* ---- rows ---- */

/* Bytes of a value; text is two positions. */
static size_t width_of(cr_coltype t) {
    return t == CR_COL_I32 || t == CR_COL_F32 ? 4 : 8;
}

void cr_rows_init(cr_rows *r, const cr_source *s, int64_t cap, const char *bytes, bool lines,
                  cr_arena *a) {
    *r = (cr_rows){.set = s->rows, .bytes = bytes, .a = a, .n_cols = s->n_want, .cap = cap};
    r->col = CR_NEW_N(a, cr_rowcol, s->n_want + 1);
    if (lines) r->lines = CR_NEW_N(a, int64_t, cap + 1);
    for (int c = 0; c < r->n_cols; c++) {
        cr_rowcol *k = &r->col[c];
        const cr_colkind *kind = &s->rows->kind[c];
        k->valid = CR_NEW_N(a, uint8_t, cap + 1);
        if (kind->depth) k->off = CR_NEW_N(a, int32_t, cap + 1);
        k->cap = kind->depth ? 4 * cap : cap;
        k->v = cr_arena_zalloc(a, (size_t)(k->cap + 1) * width_of(kind->type));
    }
}

void cr_rows_begin(cr_rows *r, int64_t line) {
    CR_ASSERT(r->n < r->cap && !r->open);
    r->open = true;
    if (r->lines) r->lines[r->n] = line;
    for (int c = 0; c < r->n_cols; c++) {
        cr_rowcol *k = &r->col[c];
        k->listed = k->put = false;
        k->valid[r->n] = 0;
        if (!k->off) k->n = r->n;
    }
}

/* Makes room for one more value. */
static bool room(cr_rows *r, cr_rowcol *k, cr_coltype type) {
    if (k->n < k->cap) return true;
    if (k->n >= INT32_MAX / 2) return false;
    int64_t cap = 2 * k->cap + 16;
    size_t width = width_of(type);
    char *v = cr_arena_zalloc(r->a, (size_t)(cap + 1) * width);
    memcpy(v, k->v, (size_t)k->n * width);
    k->v = v;
    k->cap = cap;
    return true;
}

/* Reads text as a number. */
static bool number_of(const cr_rows *r, const cr_rowval *v, double *f, int64_t *i, bool *whole) {
    const char *p = r->bytes + v->beg;
    size_t n = v->end - v->beg;
    *whole = cr_parse_i64(p, n, i);
    if (*whole) *f = (double)*i;
    return *whole || cr_parse_f64(p, n, f);
}

static const char *store(cr_rows *r, cr_rowcol *k, cr_coltype type, const cr_rowval *v) {
    double f = v->f;
    int64_t i = v->i;
    bool whole = v->kind == CR_VAL_I64;
    if (type == CR_COL_STR) {
        if (v->kind != CR_VAL_TEXT && v->beg == v->end) return "is a number, not a text";
        uint32_t *at = (uint32_t *)k->v + 2 * k->n;
        at[0] = v->beg;
        at[1] = v->end;
        return NULL;
    }
    if (v->kind == CR_VAL_TEXT && !number_of(r, v, &f, &i, &whole)) return "is not a number";
    if (v->kind == CR_VAL_I64) f = (double)i;
    if (!whole && (type == CR_COL_I64 || type == CR_COL_I32)) {
        if (f != floor(f) || fabs(f) > TOO_FAR) return "is not a whole number";
        i = (int64_t)f;
    }
    switch (type) {
    case CR_COL_I64: ((int64_t *)k->v)[k->n] = i; break;
    case CR_COL_I32:
        if (i < INT32_MIN || i > INT32_MAX) return "is no whole number of 32 bits";
        ((int32_t *)k->v)[k->n] = (int32_t)i;
        break;
    case CR_COL_F32: ((float *)k->v)[k->n] = (float)f; break;
    default: ((double *)k->v)[k->n] = f;
    }
    return NULL;
}

const char *cr_rows_list(cr_rows *r, int col) {
    for (int c = col; c >= 0; c = r->set->next[c]) {
        cr_rowcol *k = &r->col[c];
        if (k->put || k->listed) return "is there twice";
        if (!k->off) return "is a list; if that is right, say so in data_config.input_fields";
        k->listed = true;
        k->valid[r->n] = 1;
    }
    return NULL;
}

const char *cr_rows_put(cr_rows *r, int col, const cr_rowval *v, bool in_list) {
    for (int c = col; c >= 0; c = r->set->next[c]) {
        cr_rowcol *k = &r->col[c];
        cr_coltype type = r->set->kind[c].type;
        if (k->put && !in_list) return "is there twice";
        if (!in_list && k->off && k->listed) return "is there twice";
        if (!room(r, k, type)) return "has too many values in a block of rows";
        const char *why = store(r, k, type, v);
        if (why) return why;
        k->n++;
        k->put = true;
        k->valid[r->n] = 1; /* one value of a list that is written alone */
    }
    return NULL;
}

void cr_rows_end(cr_rows *r, bool keep) {
    r->open = false;
    for (int c = 0; c < r->n_cols; c++) {
        cr_rowcol *k = &r->col[c];
        if (!k->off) continue;
        if (keep)
            k->off[r->n + 1] = (int32_t)k->n;
        else
            k->n = k->off[r->n];
    }
    if (keep) r->n++;
}

void cr_rows_chunk(cr_rows *r, cr_chunk *chunk) {
    chunk->n_rows = r->n;
    chunk->n_cols = r->n_cols;
    chunk->cols = CR_NEW_N(r->a, cr_column, r->n_cols + 1);
    chunk->lines = r->lines;
    for (int c = 0; c < r->n_cols; c++) {
        const cr_rowcol *k = &r->col[c];
        const cr_colkind *kind = &r->set->kind[c];
        cr_column *out = &chunk->cols[c];
        *out = (cr_column){.type = kind->type, .depth = kind->depth};
        bool nulls = memchr(k->valid, 0, (size_t)r->n) != NULL;
        if (nulls) out->valid = k->valid;
        if (k->off) out->row_off = k->off;
        int64_t n = k->off ? k->off[r->n] : r->n;
        if (kind->type != CR_COL_STR) {
            out->v.i64 = k->v;
            continue;
        }
        uint32_t *beg = CR_NEW_N(r->a, uint32_t, n + 1), *end = CR_NEW_N(r->a, uint32_t, n + 1);
        for (int64_t i = 0; i < n; i++) {
            beg[i] = ((const uint32_t *)k->v)[2 * i];
            end[i] = ((const uint32_t *)k->v)[2 * i + 1];
        }
        out->bytes = r->bytes;
        out->beg = beg;
        out->end = end;
    }
}
