/*
 * walk.c - a tree seen through a message's table: which row a key belongs to, all values of a row,
 * protobuf's merge, and google.protobuf.Struct as the plain tree it stands for.
 *
 * A field may be given as one value, as a list, as repeated keys or any mix of these; everybody who
 * reads fields goes through cr_conf_next and need not care. JSON also spells keys in camelCase.
 */
#include <ctype.h>
#include <string.h>

#include "conf/conf_int.h"

/* "num_steps" is "numSteps", "T_max" is "TMax" (protobuf's rule) */
static bool is_camel(const char *key, const char *name) {
    bool up = false;
    for (; *name; name++) {
        if (*name == '_') {
            up = true;
            continue;
        }
        char c = up ? (char)toupper((unsigned char)*name) : *name;
        if (*key++ != c) return false;
        up = false;
    }
    return *key == 0;
}

static bool key_is(const cr_conf_node *map, const char *key, const char *name) {
    return strcmp(key, name) == 0 || (map->from == CR_SYNTAX_JSON && is_camel(key, name));
}

int cr_conf_index(const cr_msg *msg, const cr_conf_node *map, const char *key,
                  const cr_oneof_member **member) {
    if (member) *member = NULL;
    for (int i = 0; msg->fields[i].name; i++) {
        const cr_field *f = &msg->fields[i];
        if (f->type != CR_T_ONEOF) {
            if (key_is(map, key, f->name)) return i;
            continue;
        }
        const cr_oneof *o = f->ref;
        for (const cr_oneof_member *m = o->members; m->key; m++) {
            if (!key_is(map, key, m->key)) continue;
            if (member) *member = m;
            return i;
        }
    }
    return -1;
}

const char *cr_conf_next_key(const void *ctx, size_t i) {
    const cr_msg *msg = ctx;
    for (const cr_field *f = msg->fields; f->name; f++) {
        if (f->type != CR_T_ONEOF) {
            if (i-- == 0) return f->name;
            continue;
        }
        for (const cr_oneof_member *m = ((const cr_oneof *)f->ref)->members; m->key; m++)
            if (i-- == 0) return m->key;
    }
    return NULL;
}

const int16_t *cr_conf_rows(cr_arena *arena, const cr_msg *msg, const cr_conf_node *map) {
    int16_t *rows = CR_NEW_N(arena, int16_t, map->n ? map->n : 1);
    for (size_t i = 0; i < map->n; i++) {
        /* repeated keys stand together: look at the one before first */
        if (i && strcmp(map->v[i].key, map->v[i - 1].key) == 0)
            rows[i] = rows[i - 1];
        else
            rows[i] = (int16_t)cr_conf_index(msg, map, map->v[i].key, NULL);
    }
    return rows;
}

const cr_conf_node *cr_conf_next(cr_conf_iter *it) {
    for (; it->i < it->map->n; it->i++, it->j = 0) {
        if (it->rows[it->i] != it->row) continue;
        const cr_conf_entry *e = &it->map->v[it->i];
        it->key = e->key;
        it->at = e->at;
        it->in_list = false;
        if (e->val->kind == CR_NODE_LIST && it->open) {
            if (it->j < e->val->n) {
                it->at = e->val->v[it->j].at;
                it->in_list = true;
                return e->val->v[it->j++].val;
            }
            continue;
        }
        bool null = cr_conf_is_null(e->val);
        /* a null of JSON is "not given"; a null list is an empty one */
        if (null && (e->val->from == CR_SYNTAX_JSON || it->open)) continue;
        it->i++;
        return e->val;
    }
    return NULL;
}

cr_conf_node *cr_conf_join(cr_arena *arena, const cr_conf_node *a, const cr_conf_node *b) {
    cr_conf_node *n = CR_NEW(arena, cr_conf_node);
    *n = *a;
    n->n = n->cap = a->n + b->n;
    n->v = CR_NEW_N(arena, cr_conf_entry, n->n ? n->n : 1);
    if (a->n) memcpy(n->v, a->v, a->n * sizeof *n->v);
    if (b->n) memcpy(n->v + a->n, b->v, b->n * sizeof *n->v);
    return n;
}

static const cr_conf_node *plain_value(cr_arena *arena, const cr_conf_node *n, int depth);

static bool is_struct_text(const cr_conf_node *n) {
    if (n->kind != CR_NODE_MAP || n->from != CR_SYNTAX_PBTXT) return false;
    for (size_t i = 0; i < n->n; i++)
        if (strcmp(n->v[i].key, "fields") != 0) return false;
    return true;
}

static void plain_field(cr_arena *arena, cr_conf_node *to, const cr_conf_node *f, cr_loc at,
                        int depth) {
    const cr_conf_node *key = cr_conf_find(f, "key"), *val = cr_conf_find(f, "value");
    cr_conf_entry e = {key && key->kind == CR_NODE_SCALAR ? key->text : "", key ? key->at : at,
                       NULL};
    if (val) {
        e.val = (cr_conf_node *)(uintptr_t)plain_value(arena, val, depth + 1);
    } else {
        e.val = CR_NEW(arena, cr_conf_node);
        *e.val =
            (cr_conf_node){.kind = CR_NODE_SCALAR, .from = CR_SYNTAX_YAML, .at = at, .text = ""};
    }
    to->v[to->n++] = e;
}

static const cr_conf_node *plain_struct(cr_arena *arena, const cr_conf_node *n, int depth) {
    if (depth > CR_CONF_MAX_DEPTH || !is_struct_text(n)) return n;
    cr_conf_node *to = CR_NEW(arena, cr_conf_node);
    *to = (cr_conf_node){.kind = CR_NODE_MAP, .from = CR_SYNTAX_YAML, .at = n->at, .text = ""};
    for (size_t i = 0; i < n->n; i++)
        to->cap += n->v[i].val->kind == CR_NODE_LIST ? n->v[i].val->n : 1;
    to->v = CR_NEW_N(arena, cr_conf_entry, to->cap ? to->cap : 1);
    for (size_t i = 0; i < n->n; i++) {
        const cr_conf_node *v = n->v[i].val;
        if (v->kind != CR_NODE_LIST)
            plain_field(arena, to, v, n->v[i].at, depth);
        else
            for (size_t j = 0; j < v->n; j++)
                plain_field(arena, to, v->v[j].val, v->v[j].at, depth);
    }
    return to;
}

/* google.protobuf.Value: { string_value: "a" } and its kin */
static const cr_conf_node *plain_value(cr_arena *arena, const cr_conf_node *n, int depth) {
    if (depth > CR_CONF_MAX_DEPTH || n->kind != CR_NODE_MAP || n->n == 0) return n;
    const char *kind = n->v[n->n - 1].key;
    const cr_conf_node *v = n->v[n->n - 1].val;
    if (strcmp(kind, "struct_value") == 0) return plain_struct(arena, v, depth + 1);
    if (strcmp(kind, "list_value") == 0 && v->kind == CR_NODE_MAP) {
        cr_conf_node *to = CR_NEW(arena, cr_conf_node);
        *to = (cr_conf_node){.kind = CR_NODE_LIST, .from = CR_SYNTAX_YAML, .at = v->at, .text = ""};
        for (size_t i = 0; i < v->n; i++)
            to->cap += v->v[i].val->kind == CR_NODE_LIST ? v->v[i].val->n : 1;
        to->v = CR_NEW_N(arena, cr_conf_entry, to->cap ? to->cap : 1);
        for (size_t i = 0; i < v->n; i++) {
            const cr_conf_node *x = v->v[i].val;
            size_t items = x->kind == CR_NODE_LIST ? x->n : 1;
            for (size_t j = 0; j < items; j++) {
                const cr_conf_node *item = x->kind == CR_NODE_LIST ? x->v[j].val : x;
                const cr_conf_node *p = plain_value(arena, item, depth + 1);
                to->v[to->n++] = (cr_conf_entry){NULL, item->at, (cr_conf_node *)(uintptr_t)p};
            }
        }
        return to;
    }
    if (v->kind != CR_NODE_SCALAR) return n;
    cr_conf_node *s = CR_NEW(arena, cr_conf_node);
    *s = *v;
    s->from = CR_SYNTAX_YAML;
    if (strcmp(kind, "null_value") == 0) s->text = "null", s->len = 4, s->quoted = false;
    bool b;
    if (strcmp(kind, "bool_value") == 0 && cr_conf_read_bool(v, &b)) {
        s->text = b ? "true" : "false";
        s->len = strlen(s->text);
    }
    return s;
}

const cr_conf_node *cr_conf_struct(cr_arena *arena, const cr_conf_node *n) {
    return plain_struct(arena, n, 0);
}

const cr_field *cr_msg_field(const cr_msg *msg, const char *name) {
    for (const cr_field *f = msg->fields; f->name; f++)
        if (strcmp(f->name, name) == 0) return f;
    return NULL;
}

const cr_oneof_member *cr_msg_member(const cr_msg *msg, const char *key, const cr_field **field) {
    for (const cr_field *f = msg->fields; f->name; f++) {
        if (f->type != CR_T_ONEOF) continue;
        for (const cr_oneof_member *m = ((const cr_oneof *)f->ref)->members; m->key; m++) {
            if (strcmp(m->key, key) != 0) continue;
            if (field) *field = f;
            return m;
        }
    }
    return NULL;
}
