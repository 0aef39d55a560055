/*
 * walk.c - a tree seen through a message's table: which row a key belongs to, all values of a row,
 * protobuf's merge, and google.protobuf.Struct as the plain tree it stands for.
 *
 * A field may be given as one value, as a list, as repeated keys or any mix of these; all code that
 * reads fields calls cr_conf_next and need not care. JSON also spells keys in camelCase.
 */
#include <string.h>

#include "base/map.h"
#include "conf/conf_int.h"

const cr_field cr_no_fields[] = {CR_END};

int cr_conf_index(const cr_msg *msg, const cr_conf_node *map, const char *key,
                  const cr_oneof_member **member) {
    if (member) *member = NULL;
    for (int i = 0; msg->fields[i].name; i++) {
        const cr_field *f = &msg->fields[i];
        if (f->type != CR_T_ONEOF) {
            if (!cr_conf_key_is(map, key, f->name)) continue;
            while (msg->fields[i].flags & CR_F_ALIAS)
                i--;
            return i;
        }
        const cr_oneof *o = f->ref;
        for (const cr_oneof_member *m = o->members; m->key; m++) {
            if (!cr_conf_key_is(map, key, m->key)) continue;
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
        /* repeated keys usually stand together: compare with the previous entry first */
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
        /* a null of JSON means "not given"; a null list is an empty one */
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

/* ---- google.protobuf.Struct ---- */

typedef struct plainer {
    cr_arena *arena;
    cr_loc bad; /* the first place that does not follow the format */
    bool failed;
} plainer;

static const cr_conf_node *plain_value(plainer *p, const cr_conf_node *n, int depth);

static cr_conf_node *new_plain(plainer *p, cr_node_kind kind, cr_loc at) {
    cr_conf_node *n = CR_NEW(p->arena, cr_conf_node);
    *n = (cr_conf_node){.kind = kind, .from = CR_SYNTAX_YAML, .at = at, .text = ""};
    return n;
}

/* bad_part records a wrong part; null stands for it. */
static const cr_conf_node *bad_part(plainer *p, cr_loc at) {
    if (!p->failed) p->bad = at;
    p->failed = true;
    return new_plain(p, CR_NODE_SCALAR, at);
}

static void push_plain(plainer *p, cr_conf_node *to, const char *key, cr_loc at,
                       const cr_conf_node *val) {
    if (to->n == to->cap) {
        size_t cap = to->cap ? to->cap * 2 : 4;
        cr_conf_entry *v = CR_NEW_N(p->arena, cr_conf_entry, cap);
        if (to->n) memcpy(v, to->v, to->n * sizeof *v);
        to->v = v;
        to->cap = cap;
    }
    to->v[to->n++] = (cr_conf_entry){key, at, (cr_conf_node *)(uintptr_t)val};
}

/* items iterates over the values of the one field that the map may have. */
static cr_conf_iter items(plainer *p, const cr_conf_node *map, const char *name) {
    int16_t *rows = CR_NEW_N(p->arena, int16_t, map->n ? map->n : 1);
    for (size_t i = 0; i < map->n; i++) {
        if (strcmp(map->v[i].key, name) == 0) continue;
        bad_part(p, map->v[i].at);
        rows[i] = -1;
    }
    return (cr_conf_iter){.map = map, .rows = rows, .open = true};
}

static const cr_conf_node *plain_struct(plainer *p, const cr_conf_node *n, int depth) {
    if (depth > CR_CONF_MAX_DEPTH || n->kind != CR_NODE_MAP) return bad_part(p, n->at);
    cr_conf_node *to = new_plain(p, CR_NODE_MAP, n->at);
    cr_map index; /* a key given again replaces the first */
    cr_map_init(&index);
    cr_conf_iter it = items(p, n, "fields");
    for (const cr_conf_node *f; (f = cr_conf_next(&it));) {
        const cr_conf_node *key = cr_conf_find(f, "key"), *val = cr_conf_find(f, "value");
        bool ok = key && val && key->quoted && strlen(key->text) == key->len;
        for (size_t k = 0; ok && k < f->n; k++)
            ok = !strcmp(f->v[k].key, "key") || !strcmp(f->v[k].key, "value");
        if (!ok) {
            bad_part(p, it.at);
            continue;
        }
        const cr_conf_node *plain = plain_value(p, val, depth + 1);
        int64_t was = cr_map_get(&index, key->text, key->len, -1);
        if (was >= 0) {
            to->v[was].val = (cr_conf_node *)(uintptr_t)plain;
            continue;
        }
        cr_map_put(&index, key->text, key->len, (int64_t)to->n);
        push_plain(p, to, key->text, key->at, plain);
    }
    cr_map_clear(&index);
    return to;
}

/* plain_value reads a google.protobuf.Value, such as { string_value: "a" }. */
static const cr_conf_node *plain_value(plainer *p, const cr_conf_node *n, int depth) {
    if (depth > CR_CONF_MAX_DEPTH || n->kind != CR_NODE_MAP || n->n != 1) return bad_part(p, n->at);
    const char *kind = n->v[0].key;
    const cr_conf_node *v = n->v[0].val;
    if (strcmp(kind, "struct_value") == 0) return plain_struct(p, v, depth + 1);
    if (strcmp(kind, "list_value") == 0) {
        if (v->kind != CR_NODE_MAP) return bad_part(p, v->at);
        cr_conf_node *to = new_plain(p, CR_NODE_LIST, v->at);
        cr_conf_iter it = items(p, v, "values");
        for (const cr_conf_node *item; (item = cr_conf_next(&it));)
            push_plain(p, to, NULL, it.at, plain_value(p, item, depth + 1));
        return to;
    }
    cr_conf_node *s = new_plain(p, CR_NODE_SCALAR, v->at);
    bool yes;
    double x;
    if (strcmp(kind, "null_value") == 0 && v->kind == CR_NODE_SCALAR) {
        s->text = "null";
    } else if (strcmp(kind, "bool_value") == 0 && cr_conf_read_bool(v, &yes)) {
        s->text = yes ? "true" : "false";
    } else if (strcmp(kind, "number_value") == 0 && cr_conf_read_float(v, &x)) {
        char text[32];
        text[cr_fmt_f64(text, x)] = 0;
        s->text = cr_arena_strdup(p->arena, text);
    } else if (strcmp(kind, "string_value") == 0 && v->kind == CR_NODE_SCALAR && v->quoted) {
        s->text = v->text;
        s->quoted = true;
    } else {
        return bad_part(p, n->v[0].at);
    }
    s->len = s->quoted ? v->len : strlen(s->text);
    return s;
}

const cr_conf_node *cr_conf_struct(cr_arena *arena, const cr_conf_node *n, cr_loc *bad) {
    if (n->kind != CR_NODE_MAP || n->from != CR_SYNTAX_PBTXT) return n;
    plainer p = {.arena = arena};
    const cr_conf_node *plain = plain_struct(&p, n, 0);
    if (p.failed && bad) *bad = p.bad;
    return p.failed && bad ? NULL : plain;
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
