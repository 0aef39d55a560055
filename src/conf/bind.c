/*
 * bind.c - fills a struct from a tree, following the message's table.
 *
 * There is one pass per message: every key is matched with its row, then each row takes its values
 * in file order. So the last of several values wins because it is stored last, and a message that
 * is given twice is bound from the two maps joined. All mistakes are reported, each at its place; a
 * field that could not be read keeps its default. A row's `set` bit means that it was given and
 * read, its `refused` bit that it was given and the user was told what is wrong with it; checks
 * that depend on such a row look at that bit and report nothing. The content of a block of a later
 * version is not read.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/scheme.h"
#include "conf/conf_int.h"

typedef struct binder {
    cr_arena *arena;
    cr_diag *diag;
    cr_map warned;  /* fields without effect that have been warned about */
    cr_syntax from; /* the syntax of the whole tree: edits from the command line do not change it */
    const char *schema; /* schema of the root message, see cr_msg */
    /* for cr_conf_bind_own: the key of the message; NULL: it is part of the schema */
    const char *own;
} binder;

#define wrong(b, at, ...) cr_diag_add((b)->diag, CR_SEV_ERROR, CR_ECONF, (at), __VA_ARGS__)

static void *bind_msg(binder *b, const cr_msg *msg, const cr_conf_node *node, cr_loc at,
                      const char *name, int depth);

/* ---- mistakes ---- */

static const char *next_enum(const void *ctx, size_t i) {
    return ((const cr_enum_value *)ctx)[i].name;
}

/* wanted says what a row takes; the text follows the word "give". */
static const char *wanted(const cr_field *f, char out[128]) {
    char range[96];
    switch (f->type) {
    case CR_T_BOOL: return "true or false";
    case CR_T_INT: snprintf(out, 128, "an integer%s", cr_conf_range_text(f, range)); return out;
    case CR_T_UINT64: return "an integer of at least 0";
    case CR_T_FLOAT: snprintf(out, 128, "a number%s", cr_conf_range_text(f, range)); return out;
    case CR_T_STR: return "a string";
    case CR_T_ENUM: return "one of its names";
    case CR_T_MAP_INT: return "a mapping of names to integers";
    case CR_T_MAP_FLOAT: return "a mapping of names to numbers";
    default: return "a block of keys";
    }
}

static const char *type_word(const cr_field *f) {
    switch (f->type) {
    case CR_T_BOOL: return "a bool";
    case CR_T_INT:
    case CR_T_UINT64: return "an integer";
    case CR_T_STR: return "a string";
    default: return "a number";
    }
}

/* The value has the wrong type. */
static void wrong_type(binder *b, const cr_field *f, const char *name, const cr_conf_node *n) {
    char want[128], show[CR_CONF_SHOW];
    const char *is = cr_conf_show(n, show);
    wanted(f, want);
    if (n->kind != CR_NODE_SCALAR || cr_conf_is_null(n) || f->type > CR_T_ENUM)
        wrong(b, n->at, "%s: found %s; give %s", name, is, wanted(f, want));
    else if (f->type == CR_T_STR)
        wrong(b, n->at, "%s: %s is not in quotes; write \"%.40s\"", name, is, n->text);
    else if (n->quoted && n->from != CR_SYNTAX_JSON)
        wrong(b, n->at, "%s: %s is a string; give %s, without quotes", name, is, wanted(f, want));
    else
        wrong(b, n->at, "%s: %s is not %s; give %s", name, is, type_word(f), wanted(f, want));
}

static void wrong_range(binder *b, const cr_field *f, const char *name, const cr_conf_node *n) {
    char want[128];
    wrong(b, n->at, "%s: %.60s is out of range; give %s", name, n->text, wanted(f, want));
}

/* An integer of more than 64 bits. */
static bool wrong_huge(binder *b, const cr_field *f, const cr_conf_node *n) {
    char limits[96];
    wrong(b, n->at, "%s: %.60s is out of range; give an integer%s", f->name, n->text,
          cr_conf_limits_text(f, limits));
    return false;
}

/* ---- scalars ---- */

typedef union value {
    bool b;
    int64_t i;
    uint64_t u;
    double f;
    const char *s;
    int e;
} value;

static bool read_enum(binder *b, const cr_field *f, const cr_conf_node *n, value *out) {
    const cr_enum_value *values = f->ref, *v = cr_conf_read_enum(n, values);
    cr_buf names;
    cr_buf_init(&names);
    cr_conf_enum_names(values, &names);
    bool ok = v && !v->instead;
    char show[CR_CONF_SHOW];
    if (ok) {
        out->e = v->value;
    } else if (v) {
        wrong(b, n->at, "%s: '%s' is known but not available in this version; %s", f->name, v->name,
              v->instead);
    } else if (n->kind != CR_NODE_SCALAR || cr_conf_is_null(n)) {
        wrong(b, n->at, "%s: found %s; give one of %s", f->name, cr_conf_show(n, show), names.data);
    } else if (n->quoted && n->from == CR_SYNTAX_PBTXT) {
        wrong(b, n->at, "%s: %s is a string; give one of %s, without quotes", f->name,
              cr_conf_show(n, show), names.data);
    } else {
        const char *near = cr_nearest(n->text, next_enum, values);
        if (near)
            wrong(b, n->at, "%s: unknown value %s; did you mean '%s'?", f->name,
                  cr_conf_show(n, show), near);
        else
            wrong(b, n->at, "%s: unknown value %s; give one of %s", f->name, cr_conf_show(n, show),
                  names.data);
    }
    cr_buf_clear(&names);
    return ok;
}

/* read_scalar reads one scalar of the row's type, or reports what is wrong with it. */
static bool read_scalar(binder *b, const cr_field *f, const cr_conf_node *n, value *out) {
    uint64_t u;
    bool neg;
    switch (f->type) {
    case CR_T_BOOL:
        if (cr_conf_read_bool(n, &out->b)) return true;
        break;
    case CR_T_INT:
        if (cr_conf_is_huge(n)) return wrong_huge(b, f, n);
        if (!cr_conf_read_int(n, &u, &neg)) break;
        if (u > (uint64_t)INT64_MAX || !cr_conf_in_range(f, neg ? -(double)u : (double)u)) {
            wrong_range(b, f, f->name, n);
            return false;
        }
        out->i = neg ? -(int64_t)u : (int64_t)u;
        return true;
    case CR_T_UINT64:
        if (cr_conf_is_huge(n)) return wrong_huge(b, f, n);
        if (!cr_conf_read_int(n, &u, &neg)) break;
        if (neg) {
            wrong_range(b, f, f->name, n);
            return false;
        }
        out->u = u;
        return true;
    case CR_T_FLOAT:
        if (!cr_conf_read_float(n, &out->f)) {
            if (!cr_conf_read_int(n, &u, &neg)) break; /* it may be 0x10 */
            out->f = neg ? -(double)u : (double)u;
        }
        if (cr_conf_in_range(f, out->f)) return true;
        wrong_range(b, f, f->name, n);
        return false;
    case CR_T_STR:
        if (!cr_conf_is_str(n)) break;
        if (strlen(n->text) != n->len) {
            wrong(b, n->at, "%s: the string holds a NUL character; remove it", f->name);
            return false;
        }
        out->s = f->flags & CR_F_PATH    ? cr_path_take(b->arena, n->text, n->at, b->diag)
                 : f->flags & CR_F_PATHS ? cr_paths_take(b->arena, n->text, n->at, b->diag)
                                         : n->text;
        if (out->s && f->flags & CR_F_PATH) out->s = cr_path_bare(b->arena, out->s);
        return out->s != NULL;
    case CR_T_ENUM: return read_enum(b, f, n, out);
    default: break;
    }
    wrong_type(b, f, f->name, n);
    return false;
}

static value default_of(const cr_field *f) {
    value v = {0};
    switch (f->type) {
    case CR_T_BOOL: v.b = f->num != 0; break;
    case CR_T_INT: v.i = (int64_t)f->num; break;
    case CR_T_UINT64: v.u = (uint64_t)f->num; break;
    case CR_T_FLOAT: v.f = f->num; break;
    case CR_T_STR: v.s = f->str ? f->str : ""; break;
    case CR_T_ENUM: v.e = (int)f->num; break;
    default: break;
    }
    return v;
}

static void store(const cr_field *f, void *self, value v) {
    if (f->offset == CR_NO_STORE) return;
    char *to = (char *)self + f->offset;
    switch (f->type) {
    case CR_T_BOOL: memcpy(to, &v.b, sizeof v.b); break;
    case CR_T_INT: memcpy(to, &v.i, sizeof v.i); break;
    case CR_T_UINT64: memcpy(to, &v.u, sizeof v.u); break;
    case CR_T_FLOAT: memcpy(to, &v.f, sizeof v.f); break;
    case CR_T_STR: memcpy(to, &v.s, sizeof v.s); break;
    case CR_T_ENUM: memcpy(to, &v.e, sizeof v.e); break;
    default: break;
    }
}

/* is_default: is the scalar equal to the row's default? Reports nothing. */
static bool is_default(const cr_field *f, const cr_conf_node *n) {
    if (f->flags & CR_F_REPEATED || n->kind != CR_NODE_SCALAR) return false;
    bool yes, neg;
    uint64_t u;
    double x;
    const cr_enum_value *e;
    switch (f->type) {
    case CR_T_BOOL: return cr_conf_read_bool(n, &yes) && yes == (f->num != 0);
    case CR_T_INT:
    case CR_T_UINT64:
        return cr_conf_read_int(n, &u, &neg) && (neg ? -(double)u : (double)u) == f->num;
    case CR_T_FLOAT: return cr_conf_read_float(n, &x) && x == f->num;
    case CR_T_STR: return cr_conf_is_str(n) && strcmp(n->text, f->str ? f->str : "") == 0;
    case CR_T_ENUM: e = cr_conf_read_enum(n, f->ref); return e && e->value == (int)f->num;
    default: return false;
    }
}

/* ---- rows ---- */

/* The functions that bind rows clear *ok when a value could not be read. */
static void bind_list(binder *b, const cr_field *f, cr_conf_iter it, void *self, bool *ok) {
    size_t n = 0, size = f->type == CR_T_ENUM ? sizeof(int) : 8;
    cr_conf_iter count = it;
    while (cr_conf_next(&count))
        n++;
    if (n == 0) return;
    char *v = cr_arena_zalloc(b->arena, n * size);
    int64_t got = 0;
    const cr_conf_node *x;
    while ((x = cr_conf_next(&it))) {
        value one;
        if (!read_scalar(b, f, x, &one)) {
            *ok = false;
            continue;
        }
        char *to = v + (size_t)got++ * size;
        if (f->type == CR_T_ENUM)
            memcpy(to, &one.e, sizeof one.e);
        else if (f->type == CR_T_STR)
            memcpy(to, &one.s, sizeof one.s);
        else
            memcpy(to, &one.u, sizeof one.u);
    }
    if (f->offset != CR_NO_STORE) {
        /* all list types are a pointer and a count */
        cr_ints list = {(int64_t *)(void *)v, got};
        memcpy((char *)self + f->offset, &list, sizeof list);
    }
}

/* as_map returns the map of a value that must be a message, or NULL after it has reported a
 * mistake. */
static const cr_conf_node *as_map(binder *b, const char *name, const cr_msg *msg,
                                  const cr_conf_node *n) {
    if (n->kind == CR_NODE_MAP) return n;
    if (cr_conf_is_null(n)) {
        cr_conf_node *empty = CR_NEW(b->arena, cr_conf_node);
        *empty = *n;
        empty->kind = CR_NODE_MAP;
        return empty;
    }
    char show[CR_CONF_SHOW];
    wrong(b, n->at, "%s: found %s; give a block of keys (see 'crank help %s')", name,
          cr_conf_show(n, show), msg->name);
    return NULL;
}

static void bind_msgs(binder *b, const cr_field *f, cr_conf_iter it, void *self, int depth,
                      bool *ok) {
    const cr_msg *msg = f->ref;
    size_t n = 0;
    cr_conf_iter count = it;
    while (cr_conf_next(&count))
        n++;
    if (n == 0) return;
    cr_msgs list = {CR_NEW_N(b->arena, void *, n), 0};
    const cr_conf_node *x;
    cr_loc last = it.at;
    while ((x = cr_conf_next(&it))) {
        last = it.at;
        const cr_conf_node *map = as_map(b, f->name, msg, x);
        if (map)
            list.v[list.n++] = bind_msg(b, msg, map, it.at, f->name, depth + 1);
        else
            *ok = false;
    }
    if (f->max > 0 && (double)n > f->max)
        wrong(b, last, "%s: %zu items are given; at most %.0f are allowed", f->name, n, f->max);
    if (f->offset != CR_NO_STORE) memcpy((char *)self + f->offset, &list, sizeof list);
}

static void bind_one_msg(binder *b, const cr_field *f, cr_conf_iter it, void *self, int depth,
                         bool *ok) {
    const cr_msg *msg = f->ref;
    const cr_conf_node *x, *all = NULL;
    cr_loc at = CR_NOWHERE;
    bool given = false;
    while ((x = cr_conf_next(&it))) {
        if (!given) at = it.at;
        given = true;
        const cr_conf_node *map = as_map(b, f->name, msg, x);
        if (!map)
            *ok = false;
        else
            all = all ? cr_conf_join(b->arena, all, map) : map;
    }
    if (all) {
        void *conf = bind_msg(b, msg, all, at, f->name, depth + 1);
        if (f->offset != CR_NO_STORE) memcpy((char *)self + f->offset, &conf, sizeof conf);
    }
}

static void bind_oneof(binder *b, const cr_msg *msg, const cr_field *f, cr_conf_iter it, void *self,
                       int depth, bool *ok) {
    const cr_oneof *o = f->ref;
    const cr_oneof_member *chosen = NULL, *m;
    const cr_conf_node *x, *all = NULL;
    cr_loc at = CR_NOWHERE;
    while ((x = cr_conf_next(&it))) {
        cr_conf_index(msg, it.map, it.key, &m);
        if (chosen && m != chosen) {
            wrong(b, it.at, "%s: '%s' and '%s' (line %d) are both given; keep one", o->name, m->key,
                  chosen->key, at.line);
            *ok = false;
            continue;
        }
        if (!chosen) at = it.at;
        chosen = m;
        if (m->msg->later) {
            cr_buf names;
            cr_buf_init(&names);
            cr_conf_member_names(o, &names);
            if (m->type)
                wrong(b, it.at, "%s '%s' cannot be used: %s", o->name, m->key,
                      (const char *)m->type);
            else
                wrong(b, it.at, "%s '%s' is known but not available in this version; available: %s",
                      o->name, m->key, names.data);
            cr_buf_clear(&names);
            *ok = false;
            continue;
        }
        const cr_conf_node *map = as_map(b, m->key, m->msg, x);
        if (!map)
            *ok = false;
        else
            all = all ? cr_conf_join(b->arena, all, map) : map;
    }
    if (!all) return;
    cr_choice c = {chosen, bind_msg(b, chosen->msg, all, at, chosen->key, depth + 1)};
    if (f->offset != CR_NO_STORE) memcpy((char *)self + f->offset, &c, sizeof c);
}

typedef struct map_state {
    cr_conf_map map;
    int64_t cap;
    cr_map index; /* leads from a key to its place in map.v: a key given again replaces the first */
} map_state;

static bool put_entry(binder *b, const cr_field *f, map_state *s, const char *key, size_t len,
                      cr_loc at, const cr_conf_node *val) {
    /* the value of a map's entry is a number without a range */
    cr_field row = {f->name, f->type == CR_T_MAP_INT ? CR_T_UINT64 : CR_T_FLOAT,
                    0,       CR_NO_STORE,
                    0,       NULL,
                    0,       0,
                    NULL,    NULL};
    cr_conf_map_entry e = {key, 0, 0, at};
    value v;
    if (strlen(key) != len) {
        wrong(b, at, "%s: a key holds a NUL character; remove it", f->name);
        return false;
    }
    if (!read_scalar(b, &row, val, &v)) return false;
    if (f->type == CR_T_MAP_INT)
        e.i = v.u;
    else
        e.f = v.f;
    int64_t i = cr_map_get(&s->index, key, len, -1);
    if (i < 0) {
        if (s->map.n == s->cap) {
            int64_t cap = s->cap ? s->cap * 2 : 8;
            cr_conf_map_entry *grown = CR_NEW_N(b->arena, cr_conf_map_entry, cap);
            if (s->map.n) memcpy(grown, s->map.v, (size_t)s->map.n * sizeof *grown);
            s->map.v = grown;
            s->cap = cap;
        }
        i = s->map.n++;
        cr_map_put(&s->index, key, len, i);
    }
    s->map.v[i] = e;
    return true;
}

/* put_pair adds an entry of a map in the form that protobuf writes: {key: "a", value: 2}. */
static bool put_pair(binder *b, const cr_field *f, map_state *s, const cr_conf_node *n, cr_loc at) {
    const cr_conf_node *key = cr_conf_find(n, "key"), *val = cr_conf_find(n, "value");
    bool ok = true;
    for (size_t i = 0; i < n->n; i++) {
        if (strcmp(n->v[i].key, "key") == 0 || strcmp(n->v[i].key, "value") == 0) continue;
        wrong(b, n->v[i].at,
              "unknown key '%.100s' in an entry of %s; an entry has 'key' and 'value'", n->v[i].key,
              f->name);
        ok = false;
    }
    if (key && !cr_conf_is_str(key)) {
        cr_field row = {.name = "key", .type = CR_T_STR};
        wrong_type(b, &row, "key", key);
        return false;
    }
    static const cr_conf_node zero = {.kind = CR_NODE_SCALAR, .text = "0", .len = 1};
    if (!ok) return false;
    /* absent parts have their type's default, as in protobuf */
    return put_entry(b, f, s, key ? key->text : "", key ? key->len : 0, key ? key->at : at,
                     val ? val : &zero);
}

static void bind_map(binder *b, const cr_field *f, cr_conf_iter it, void *self, bool *ok) {
    map_state s = {0};
    const cr_conf_node *x;
    cr_map_init(&s.index);
    while ((x = cr_conf_next(&it))) {
        if (x->kind != CR_NODE_MAP) {
            wrong_type(b, f, f->name, x);
            *ok = false;
        } else if (it.in_list || x->from == CR_SYNTAX_PBTXT) {
            *ok &= put_pair(b, f, &s, x, it.at);
        } else {
            for (size_t i = 0; i < x->n; i++)
                *ok &=
                    put_entry(b, f, &s, x->v[i].key, strlen(x->v[i].key), x->v[i].at, x->v[i].val);
        }
    }
    cr_map_clear(&s.index);
    if (f->offset != CR_NO_STORE) memcpy((char *)self + f->offset, &s.map, sizeof s.map);
    if (s.map.n == 0) *ok = false; /* an empty map counts as not given */
}

static void bind_tree(binder *b, const cr_field *f, cr_conf_iter it, void *self, bool *ok) {
    const cr_conf_node *x, *all = NULL;
    while ((x = cr_conf_next(&it))) {
        if (x->kind != CR_NODE_MAP && !cr_conf_is_null(x)) {
            wrong_type(b, f, f->name, x);
            *ok = false;
        } else if (x->kind == CR_NODE_MAP) {
            all = all ? cr_conf_join(b->arena, all, x) : x;
        }
    }
    if (!all) {
        *ok = false;
        return;
    }
    cr_loc bad = all->at;
    all = cr_conf_struct(b->arena, all, &bad);
    if (!all) {
        wrong(b, bad,
              "%s: not a google.protobuf.Struct; write fields { key: \"a\" value { string_value: "
              "\"b\" } }",
              f->name);
        *ok = false;
        return;
    }
    if (f->offset != CR_NO_STORE) memcpy((char *)self + f->offset, &all, sizeof all);
}

/* Does the row, or the message it holds, belong to a later version? */
static bool is_later(const cr_field *f) {
    return f->flags & CR_F_LATER || (f->type == CR_T_MSG && ((const cr_msg *)f->ref)->later);
}

/* refuse_later reports a row of a later version and returns true; a scalar equal to its default is
 * accepted. */
static bool refuse_later(binder *b, const cr_field *f, cr_conf_iter it) {
    if (!is_later(f)) return false;
    const cr_conf_node *x;
    bool used = false;
    while ((x = cr_conf_next(&it))) {
        if (is_default(f, x)) continue;
        used = true;
        wrong(b, it.at, "'%s' is known but not available in this version; %s", it.key,
              f->type == CR_T_MSG && f->str ? f->str : "remove it");
    }
    return used;
}

/* warn_idle returns true when the row has no effect here; it warns once for each name. */
static bool warn_idle(binder *b, const cr_field *f, cr_conf_iter it) {
    if (!(f->flags & (CR_F_GPU | CR_F_IDLE)) || !cr_conf_next(&it)) return false;
    if (cr_map_put(&b->warned, f->name, strlen(f->name), 1))
        cr_diag_add(b->diag, CR_SEV_WARN, CR_OK, it.at, "'%s' has no effect %s; %s", f->name,
                    f->flags & CR_F_GPU ? "on a CPU" : "in this version",
                    f->type == CR_T_MSG && f->str ? f->str : "it is ignored");
    return true;
}

/* bind_values binds the values of one row according to the row's type. */
static void bind_values(binder *b, const cr_msg *msg, const cr_field *f, cr_conf_iter it,
                        cr_conf_base *self, int depth, bool *ok) {
    const cr_conf_node *x;
    switch (f->type) {
    case CR_T_MSG:
        if (f->flags & CR_F_REPEATED)
            bind_msgs(b, f, it, self, depth, ok);
        else
            bind_one_msg(b, f, it, self, depth, ok);
        return;
    case CR_T_ONEOF: bind_oneof(b, msg, f, it, self, depth, ok); return;
    case CR_T_MAP_INT:
    case CR_T_MAP_FLOAT: bind_map(b, f, it, self, ok); return;
    case CR_T_TREE: bind_tree(b, f, it, self, ok); return;
    default: break;
    }
    if (f->flags & CR_F_REPEATED) {
        bind_list(b, f, it, self, ok);
        return;
    }
    const char *key = NULL;
    for (cr_loc before = CR_NOWHERE; (x = cr_conf_next(&it)); before = it.at, key = it.key) {
        value v;
        if (key && strcmp(key, it.key) != 0)
            wrong(b, it.at, "%s and %s are one thing; keep one", it.key, key);
        /* TorchEasyRec accepts it; it is a slip of the user all the same */
        else if (before.line && !(f->flags & CR_F_GPU))
            cr_diag_add(b->diag, CR_SEV_WARN, CR_OK, it.at,
                        "'%s' was given on line %d already; this one counts, remove the other",
                        it.key, (int)before.line);
        *ok = read_scalar(b, f, x, &v);
        store(f, self, *ok ? v : default_of(f));
    }
}

static void bind_row(binder *b, const cr_msg *msg, int row, cr_conf_iter it, cr_conf_base *self,
                     int depth, cr_fieldset *given) {
    const cr_field *f = &msg->fields[row];
    it.row = row;
    it.open = f->flags & CR_F_REPEATED || f->type == CR_T_MAP_INT || f->type == CR_T_MAP_FLOAT;
    cr_conf_iter probe = it;
    if (!cr_conf_next(&probe)) return;
    cr_fieldset_add(given, row);
    size_t errors = b->diag->n_errors;
    bool ok = true, idle = warn_idle(b, f, it) && is_later(f);
    bool later = idle || refuse_later(b, f, it);
    if (!later) bind_values(b, msg, f, it, self, depth, &ok);
    if (ok && !later)
        cr_fieldset_add(&self->set, row);
    else if (b->diag->n_errors != errors)
        cr_fieldset_add(&self->refused, row);
}

/* ---- messages ---- */

static void *bind_msg(binder *b, const cr_msg *msg, const cr_conf_node *node, cr_loc at,
                      const char *name, int depth) {
    size_t size = msg->size > sizeof(cr_conf_base) ? msg->size : sizeof(cr_conf_base);
    cr_conf_base *self = cr_arena_zalloc(b->arena, size);
    self->msg = msg;
    self->node = node;
    self->at = at;
    self->from = b->from;
    int n = 0;
    for (; msg->fields[n].name; n++) {
        const cr_field *f = &msg->fields[n];
        if (msg->size && !(f->flags & CR_F_REPEATED)) store(f, self, default_of(f));
    }
    CR_ASSERT(n <= CR_CONF_MAX_ROWS);
    if (depth > CR_CONF_MAX_DEPTH) {
        wrong(b, at, "the config is nested deeper than %d levels; make it flatter",
              (int)CR_CONF_MAX_DEPTH);
        return self;
    }
    size_t errors = b->diag->n_errors;
    cr_fieldset given = {0};
    if (node) {
        cr_conf_iter it = {.map = node, .rows = cr_conf_rows(b->arena, msg, node)};
        for (int i = 0; i < n; i++)
            bind_row(b, msg, i, it, self, depth, &given);
        cr_conf_unknown_keys(self, node, it.rows, name, &given, b->own, b->schema, b->diag);
        cr_conf_missing(self, name, &given, b->diag);
    }
    if (msg->check && b->diag->n_errors == errors) msg->check(self, b->diag);
    return self;
}

void *cr_conf_bind_own(cr_arena *arena, const cr_msg *msg, const char *key,
                       const cr_conf_node *node, cr_diag *diag) {
    binder b = {.arena = arena, .diag = diag, .own = key, .schema = msg->schema};
    if (node) b.from = node->from;
    cr_map_init(&b.warned);
    void *self = bind_msg(&b, msg, node, node ? node->at : CR_NOWHERE, NULL, 0);
    cr_map_clear(&b.warned);
    cr_diag_sort(diag);
    return self;
}

void *cr_conf_bind(cr_arena *arena, const cr_msg *msg, const cr_conf_node *node, cr_diag *diag) {
    return cr_conf_bind_own(arena, msg, NULL, node, diag);
}
