/*
 * want.c - finds the wanted columns in the schemas of all files.
 *
 * Every wanted column is looked for in every file before the first row is read. A column that is
 * missing, or has another type than in the files before, is reported with both types and both
 * files. Files with the schema of the file before share what was found.
 */
#include <string.h>

#include "base/buf.h"
#include "data/pq/pq_int.h"

/* ---- what is asked for ---- */

static const cr_field_conf *declared(const cr_data_conf *c, const char *name) {
    for (int64_t k = 0; k < c->input_fields.n; k++) {
        const cr_field_conf *f = c->input_fields.v[k];
        if (strcmp(f->input_name, name) == 0)
            return !f->base.msg || cr_conf_has(f, "input_type") ? f : NULL;
    }
    return NULL;
}

/* Takes FieldType apart. Its numbers are scalars, lists, lists of lists, and maps from text, int64
 * and int32; there are five of each. */
static cr_pqs_asked asked_of(int type) {
    static const int keys[] = {CR_COL_STR, CR_COL_I64, CR_COL_I32};
    int family = type / 5;
    return (cr_pqs_asked){.depth = family < 3 ? family : 1,
                          .key = family < 3 ? -1 : keys[family - 3],
                          .type = (cr_coltype)(type % 5)};
}

void cr_pqs_wants_init(cr_pqs_wants *w, const cr_data_conf *conf, const cr_want *want, int n,
                       cr_arena *arena) {
    *w = (cr_pqs_wants){.conf = conf,
                        .v = want,
                        .n = n,
                        .otherwise = "`crank parquet` shows its columns",
                        .arena = arena};
    w->twin = CR_NEW_N(w->arena, int, w->n + 1);
    w->asked = CR_NEW_N(w->arena, cr_pqs_asked, w->n + 1);
    w->kind = CR_NEW_N(w->arena, cr_pqs_place, w->n + 1);
    w->kind_text = CR_NEW_N(w->arena, const char *, w->n + 1);
    w->kind_path = CR_NEW_N(w->arena, const char *, w->n + 1);
    w->stored = CR_NEW_N(w->arena, cr_pq_meta *, w->n + 1);
    w->differs = CR_NEW_N(w->arena, bool, w->n + 1);
    w->valueless = CR_NEW_N(w->arena, bool, w->n + 1);
    w->told = CR_NEW_N(w->arena, bool, w->n + 1);
    for (int i = 0; i < w->n; i++) {
        const cr_want *x = &w->v[i];
        w->twin[i] = -1;
        for (int j = 0; j < i && w->twin[i] < 0; j++)
            if (w->v[j].type == x->type && w->v[j].form == x->form &&
                strcmp(w->v[j].name, x->name) == 0)
                w->twin[i] = j;
        const cr_field_conf *f = x->type < 0 ? declared(w->conf, x->name) : NULL;
        w->asked[i].depth = -1;
        if (x->type >= 0) w->asked[i] = asked_of(x->type);
        if (f) w->asked[i] = asked_of(f->input_type);
    }
}

/* ---- schemas ---- */

typedef struct names {
    const cr_pq_meta *m;
    const cr_pqs_wants *w;
    bool all;
} names;
/* nth_name returns the top-level names, "" for labels and, unless `all` is set, for columns that
 * are wanted: a misspelt one is more likely among the rest. */
static const char *nth_name(const void *ctx, size_t i) {
    const names *x = ctx;
    int node = 1;
    for (size_t k = 0; node < x->m->n_nodes && k < i; k++)
        node = x->m->nodes[node].next;
    if (node >= x->m->n_nodes) return NULL;
    const char *name = x->m->nodes[node].name;
    for (int k = 0; !x->all && k < x->w->n; k++)
        if (strcmp(x->w->v[k].name, name) == 0) return "";
    return cr_data_is_label(x->w->conf, name) ? "" : name;
}

static const char *nth_known(const void *ctx, size_t i) {
    const cr_pqs_wants *w = ctx;
    if (i >= (size_t)w->n_known) return NULL;
    return cr_data_is_label(w->conf, w->names[i]) ? "" : w->names[i];
}

static const char *near_name(const cr_pqs_wants *w, const cr_pq_meta *m, const char *name) {
    const char *near = cr_nearest(name, nth_name, &(names){m, w, false});
    if (!near) near = cr_nearest(name, nth_name, &(names){m, w, true});
    if (near) return near;
    near = cr_nearest(name, nth_known, w); /* members of structs of the first file */
    return near && cr_pq_find(m, near) >= 0 ? near : NULL;
}

/* Names a few of the columns that nothing reads, because the missing one may be there under another
 * name. */
static const char *some_names(cr_pqs_wants *w, const cr_pq_meta *m) {
    cr_buf b;
    cr_buf_init(&b);
    const char *name;
    int n = 0;
    for (size_t i = 0; (name = nth_name(&(names){m, w, false}, i)); i++) {
        if (!*name) continue;
        if (n < 6) cr_buf_printf(&b, "%s'%.40s'", n ? ", " : "", name);
        n++;
    }
    if (n > 6) cr_buf_printf(&b, " and %d more", n - 6);
    const char *text = cr_arena_strndup(w->arena, b.n ? b.data : "no others", b.n ? b.n : 9);
    cr_buf_clear(&b);
    return text;
}

static int n_named(const cr_pq_meta *m, const char *name) {
    int n = 0;
    for (int i = 1; i < m->n_nodes; i = m->nodes[i].next)
        n += strcmp(m->nodes[i].name, name) == 0;
    return n;
}

static const char *why_of(const cr_want *w) {
    return w->why ? w->why : "the config";
}

/* two_types reports a column that files hold in different types. */
static void two_types(const cr_pqs_wants *w, int i, const char *type, const char *path,
                      const char *cure, cr_diag *diag) {
    const cr_want *x = &w->v[i];
    cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, x->at.path ? x->at : (cr_loc){path, 0, 0},
                "column '%s', which %s needs, has the type %s in %s and %s in %s; write all "
                "files alike%s",
                x->name, why_of(x), type, path, w->kind_text[i], w->kind_path[i], cure);
}

/* place_stored finds a column that is wanted as it is stored. Where files differ, its values are
 * used instead. */
static bool place_stored(cr_pqs_wants *w, int i, const cr_pq_meta *m, int node, const char *type,
                         const char *path, cr_pqs_place *out, cr_diag *diag) {
    const cr_want *x = &w->v[i];
    int up = m->nodes[node].parent;
    out->tree = cr_pqs_tree_of(m, node, x->name, w->arena);
    out->above = up > 0 ? m->nodes[up].max_def : 0;
    if (!out->tree || !cr_pqs_tree_join(&w->stored[i], out->tree, out->above, w->arena))
        w->differs[i] = true;
    if (!w->differs[i] || !w->valueless[i]) return true;
    if (out->tree)
        two_types(w, i, type, path, "", diag);
    else
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){path, 0, 0},
                    "column '%s', which %s needs, has the type %s and %s", x->name, why_of(x), type,
                    m->nodes[node].max_rep > 0
                        ? "lies in a list of structs; name the whole list"
                        : "no members, so that it cannot be written; leave it out");
    return false;
}

/* note_kind notes what a column is, from the first file where it is not all null. */
static void note_kind(cr_pqs_wants *w, int i, const char *type, const char *path,
                      const cr_pqs_place *p) {
    if (w->kind_text[i] && !(cr_pqs_is_nulls(&w->kind[i]) && !cr_pqs_is_nulls(p))) return;
    w->kind[i] = *p;
    w->kind_text[i] = cr_arena_strdup(w->arena, type);
    w->kind_path[i] = path;
}

/* place finds one wanted column in a file; false: a mistake was reported. */
static bool place(cr_pqs_wants *w, int i, const cr_pq_meta *m, const char *path, cr_pqs_place *out,
                  cr_diag *diag) {
    const cr_want *x = &w->v[i];
    cr_loc at = x->at.path ? x->at : (cr_loc){path, 0, 0};
    char type[200];
    int node = cr_pq_find(m, x->name);
    if (node < 0) {
        char cure[CR_WANT_CURE];
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at, "%s has no column '%s', which %s needs; %s",
                    x->at.path ? path : "it", x->name, why_of(x),
                    cr_want_cure(cure, x, near_name(w, m, x->name), w->otherwise));
        return false;
    }
    if (n_named(m, x->name) > 1) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){path, 0, 0},
                    "%d columns are named '%s', which %s needs; rename all but one",
                    n_named(m, x->name), x->name, why_of(x));
        return false;
    }
    const char *why = cr_pqs_place_of(m, node, out);
    cr_pq_type_text(m, node, type, sizeof(type));
    if (x->form == CR_WANT_STORED) {
        if (why || cr_pqs_place_ask(out, &w->asked[i]) ||
            (w->kind_text[i] && !cr_pqs_same(&w->kind[i], out)))
            w->valueless[i] = true;
        if (!place_stored(w, i, m, node, type, path, out, diag)) return false;
        note_kind(w, i, type, path, out);
        return true;
    }
    if (why) {
        int item, value;
        bool members = cr_pq_shape_of(m, node, false, &item, &value) == CR_PQ_IS_STRUCT;
        cr_diag_add(
            diag, CR_SEV_ERROR, CR_EDATA, at,
            "column '%s', which %s needs, has the type %s in %s, which %s%s%.100s%s%.100s%s",
            x->name, why_of(x), type, path, why, members ? ", such as '" : "",
            members ? x->name : "", members ? "." : "", members ? m->nodes[node + 1].name : "",
            members ? "'" : "");
        return false;
    }
    why = cr_pqs_place_ask(out, &w->asked[i]);
    if (why) {
        const cr_field_conf *f = declared(w->conf, x->name);
        const char *asked = "the type that was asked for";
        for (const cr_enum_value *e = cr_field_types; f && e->name; e++)
            if (e->value == f->input_type) asked = e->name;
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF,
                    f && f->base.msg ? cr_conf_at(f, "input_type") : at,
                    "column '%s' has the type %s in %s, which %s to %s; correct input_type or "
                    "leave it out",
                    x->name, type, path, why, asked);
        return false;
    }
    if (w->kind_text[i] && !cr_pqs_same(&w->kind[i], out)) {
        two_types(w, i, type, path,
                  out->depth == w->kind[i].depth && out->map == w->kind[i].map
                      ? ", or give its input_type in input_fields"
                      : "",
                  diag);
        return false;
    }
    if (x->form == CR_WANT_VALUES_STORED && !place_stored(w, i, m, node, type, path, out, diag))
        return false;
    note_kind(w, i, type, path, out);
    return true;
}

static bool same_schema(const cr_pq_meta *a, const cr_pq_meta *b) {
    if (a->n_nodes != b->n_nodes) return false;
    for (int i = 1; i < a->n_nodes; i++) {
        const cr_pq_node *x = &a->nodes[i], *y = &b->nodes[i];
        if (x->type != y->type || x->rep != y->rep || x->n_children != y->n_children ||
            x->type_length != y->type_length || strcmp(x->name, y->name) != 0 ||
            !cr_pq_same_logical(&x->logical, &y->logical))
            return false;
    }
    return true;
}

/* Lists the members of a struct, with their dots. */
static void list_members(cr_pqs_wants *w, const cr_pq_meta *m, int node, const char *name) {
    int item, value;
    if (cr_pq_shape_of(m, node, false, &item, &value) != CR_PQ_IS_STRUCT) return;
    for (int i = node + 1; i < m->nodes[node].next; i = m->nodes[i].next) {
        const char *member = cr_arena_printf(w->arena, "%s.%s", name, m->nodes[i].name);
        w->names[w->n_known++] = member;
        list_members(w, m, i, member);
    }
}

/* assign_slots lists the leaves that the columns of a file need. */
static void assign_slots(cr_pqs_wants *w, const cr_pq_meta *m, cr_pqs_schema *s) {
    int *slot = cr_alloc(((size_t)m->n_leaves + 1) * sizeof(*slot), "columns"); /* + 1; 0: none */
    s->leaf = CR_NEW_N(w->arena, int, m->n_leaves + 1);
    s->keep = CR_NEW_N(w->arena, bool, m->n_leaves + 1);
    for (int i = 0; i < w->n; i++) {
        cr_pqs_place *p = &s->places[i];
        int first = 0, n = p->tree ? p->tree->n_leaves : 0;
        for (int k = p->node; n > 0; k++)
            if ((first = m->nodes[k].leaf) >= 0) break;
        p->slots = CR_NEW_N(w->arena, int, n + 1);
        for (int k = -2; k < n; k++) {
            int leaf = k == -2 ? p->value.leaf : k == -1 ? p->key.leaf : first + k;
            if (leaf < 0) continue;
            if (slot[leaf] == 0) {
                s->leaf[s->n_slots] = leaf;
                slot[leaf] = ++s->n_slots;
            }
            *(k == -2 ? &p->value.slot : k == -1 ? &p->key.slot : &p->slots[k]) = slot[leaf] - 1;
        }
    }
    cr_free(slot);
    if (s->n_slots > w->n_slots) w->n_slots = s->n_slots;
}

/* A file that has none of the columns is one mistake, not many. */
static bool foreign(cr_pqs_wants *w, const cr_pq_meta *m, const char *path, cr_diag *diag) {
    for (int i = 0; i < w->n; i++)
        if (cr_pq_find(m, w->v[i].name) >= 0) return false;
    if (w->n < 2) return false;
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, (cr_loc){path, 0, 0},
                "it has none of the %d columns that the config needs, it has %s; is it the right "
                "file?",
                w->n, some_names(w, m));
    return true;
}

const cr_pqs_schema *cr_pqs_wants_look(cr_pqs_wants *w, const char *path, const cr_pq_meta *m,
                                       const cr_pq_meta *before, cr_diag *diag) {
    if (!w->names) {
        w->names = CR_NEW_N(w->arena, const char *, m->n_nodes + 1);
        for (int i = 1; i < m->n_nodes; i = m->nodes[i].next)
            w->names[w->n_known++] = cr_arena_strdup(w->arena, m->nodes[i].name);
        w->n_names = w->n_known;
        for (int i = 1; i < m->n_nodes; i = m->nodes[i].next)
            list_members(w, m, i, m->nodes[i].name);
    }
    if (before && same_schema(before, m)) return w->schemas;
    cr_pqs_schema *s = CR_NEW(w->arena, cr_pqs_schema);
    s->places = CR_NEW_N(w->arena, cr_pqs_place, w->n + 1);
    bool fine = !foreign(w, m, path, diag);
    for (int i = 0; i < w->n && fine; i++)
        if (!w->told[i] && !place(w, i, m, path, &s->places[i], diag)) w->told[i] = true;
    for (int i = 0; i < w->n; i++)
        fine &= !w->told[i];
    if (fine) assign_slots(w, m, s);
    s->next = w->schemas;
    w->schemas = s;
    return s;
}

void cr_pqs_wants_end(cr_pqs_wants *w) {
    for (int i = 0; i < w->n; i++) {
        cr_pqs_place *k = &w->kind[i];
        const cr_pqs_asked *asked = &w->asked[i];
        if (w->differs[i]) w->stored[i] = NULL;
        if (cr_pqs_is_nulls(k) && asked->depth >= 0) {
            k->depth = asked->depth;
            k->map = asked->key >= 0;
            k->value.type = asked->type;
            if (k->map) k->key.type = (cr_coltype)asked->key;
        }
        for (cr_pqs_schema *x = w->schemas; x; x = x->next) {
            cr_pqs_nulls_as(&x->places[i], k);
            if (w->stored[i]) cr_pqs_place_join(&x->places[i], w->stored[i], x->keep, w->arena);
        }
    }
}

void cr_pqs_kinds(const cr_pqs_wants *w, cr_colkind *out) {
    for (int i = 0; i < w->n; i++) {
        const cr_pqs_place *k = &w->kind[i];
        out[i] = (cr_colkind){.type = k->value.type,
                              .depth = k->depth,
                              .key = k->map ? (int)k->key.type : -1,
                              .nulls = k->value.how == CR_PQS_FROM_NULLS,
                              .text = w->kind_text[i],
                              .stored = w->stored[i]};
    }
}
