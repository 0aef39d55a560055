/*
 * tree_edit.c - rewrites a tree: put, copy, rename, move, drop; and finds keys that were never
 * asked for.
 *
 * A value keeps its place in the user's file whatever happens to it, so that a mistake found later
 * is reported at the line that the user wrote. Entries keep their order: a value that takes the
 * place of another stands where the other stood.
 */
#include <string.h>

#include "conf/conf_int.h"
#include "conf/tree.h"

cr_conf_node *cr_tree_scalar(cr_conf_doc *doc, const char *text, bool quoted, cr_loc at) {
    cr_conf_node *n = cr_conf_new(doc, CR_NODE_SCALAR, at);
    n->quoted = quoted;
    n->text = cr_arena_strdup(&doc->arena, text);
    n->len = strlen(text);
    return n;
}

cr_conf_node *cr_tree_copy(cr_conf_doc *doc, const cr_conf_node *n) {
    size_t budget = CR_CONF_MAX_NODES;
    return cr_conf_copy(doc, n, 0, &budget);
}

/* ---- entries of a map ---- */

/* drop_others removes the entries of the key except the one at `keep` (map->n: none is kept). */
static int drop_others(cr_conf_node *map, const char *key, size_t keep) {
    size_t to = 0, n = map->n;
    for (size_t i = 0; i < n; i++)
        if (i == keep || !cr_conf_key_is(map, map->v[i].key, key)) map->v[to++] = map->v[i];
    map->n = to;
    return (int)(n - to);
}

static size_t last_of(const cr_conf_node *map, const char *key) {
    for (size_t i = map->n; i-- > 0;)
        if (cr_conf_key_is(map, map->v[i].key, key)) return i;
    return map->n;
}

void cr_tree_put(cr_conf_doc *doc, cr_conf_node *map, const char *key, cr_loc at,
                 cr_conf_node *val) {
    size_t i = last_of(map, key);
    if (i == map->n) {
        cr_conf_push(doc, map, cr_arena_strdup(&doc->arena, key), at, val);
        return;
    }
    map->v[i].at = at;
    map->v[i].val = val;
    drop_others(map, key, i);
}

void cr_tree_put_str(cr_conf_doc *doc, cr_conf_node *map, const char *key, cr_loc at,
                     const char *text) {
    cr_tree_put(doc, map, key, at, cr_tree_scalar(doc, text, true, at));
}

cr_conf_node *cr_tree_child(cr_conf_doc *doc, cr_conf_node *map, const char *key, cr_loc at) {
    cr_conf_node *n = cr_conf_find(map, key);
    if (n && n->kind == CR_NODE_MAP) return n;
    n = cr_conf_new(doc, CR_NODE_MAP, at);
    cr_tree_put(doc, map, key, at, n);
    return n;
}

int cr_tree_drop(cr_conf_node *map, const char *key) {
    return drop_others(map, key, map->n);
}

int cr_tree_rename(cr_conf_doc *doc, cr_conf_node *map, const char *key, const char *to) {
    int n = 0;
    const char *name = cr_arena_strdup(&doc->arena, to);
    for (size_t i = 0; i < map->n; i++)
        if (cr_conf_key_is(map, map->v[i].key, key)) map->v[i].key = name, n++;
    return n;
}

int cr_tree_move(cr_conf_doc *doc, cr_conf_node *from, const char *key, cr_conf_node *to,
                 const char *name) {
    int n = 0;
    if (from == to) return cr_tree_rename(doc, from, key, name);
    name = cr_arena_strdup(&doc->arena, name);
    for (size_t i = 0; i < from->n; i++)
        if (cr_conf_key_is(from, from->v[i].key, key)) {
            cr_conf_push(doc, to, name, from->v[i].at, from->v[i].val);
            n++;
        }
    drop_others(from, key, from->n);
    return n;
}

int cr_tree_remove(cr_conf_node *in, const cr_conf_node *what) {
    int n = 0;
    size_t to = 0;
    for (size_t i = 0; i < in->n; i++) {
        if (in->v[i].val == what) {
            n++;
            continue;
        }
        if (in->v[i].val->kind != CR_NODE_SCALAR) n += cr_tree_remove(in->v[i].val, what);
        in->v[to++] = in->v[i];
    }
    in->n = to;
    return n;
}

/* ---- keys that were asked for ---- */

struct cr_tree_asked {
    const cr_conf_node *map;
    const char *key;
    cr_tree_asked *next;
};

void cr_tree_use_init(cr_tree_use *u) {
    *u = (cr_tree_use){0};
    cr_arena_init(&u->arena, 0);
}

void cr_tree_use_clear(cr_tree_use *u) {
    cr_arena_clear(&u->arena);
    *u = (cr_tree_use){0};
}

const cr_conf_node *cr_tree_ask(cr_tree_use *u, const cr_conf_node *map, const char *key) {
    if (!map || map->kind != CR_NODE_MAP) return NULL;
    cr_tree_asked *a = u->asked;
    while (a && (a->map != map || strcmp(a->key, key) != 0))
        a = a->next;
    if (!a) {
        a = CR_NEW(&u->arena, cr_tree_asked);
        *a = (cr_tree_asked){map, cr_arena_strdup(&u->arena, key), u->asked};
        u->asked = a;
    }
    return cr_conf_find(map, key);
}

void cr_tree_ask_all(cr_tree_use *u, const cr_conf_node *map) {
    for (size_t i = 0; map && map->kind != CR_NODE_SCALAR && i < map->n; i++) {
        if (map->kind == CR_NODE_MAP) (void)cr_tree_ask(u, map, map->v[i].key);
        cr_tree_ask_all(u, map->v[i].val);
    }
}

typedef struct candidates {
    const cr_tree_use *u;
    const cr_conf_node *map;
} candidates;

/* name i of those that were asked for in the map and are not there */
static const char *next_asked(const void *ctx, size_t i) {
    const candidates *c = ctx;
    for (const cr_tree_asked *a = c->u->asked; a; a = a->next)
        if (a->map == c->map && !cr_conf_find(a->map, a->key) && i-- == 0) return a->key;
    return NULL;
}

/* ... and of those that are there */
static const char *next_given(const void *ctx, size_t i) {
    const candidates *c = ctx;
    for (const cr_tree_asked *a = c->u->asked; a; a = a->next)
        if (a->map == c->map && cr_conf_find(a->map, a->key) && i-- == 0) return a->key;
    return NULL;
}

static bool was_asked(const cr_tree_use *u, const cr_conf_node *map, const char *key) {
    for (const cr_tree_asked *a = u->asked; a; a = a->next)
        if (a->map == map && cr_conf_key_is(map, key, a->key)) return true;
    return false;
}

static void tell_unused(const cr_tree_use *u, const cr_conf_node *n, cr_sev sev, cr_diag *diag,
                        int depth) {
    if (n->kind == CR_NODE_SCALAR || depth > CR_CONF_MAX_DEPTH) return;
    for (size_t i = 0; i < n->n; i++) {
        const cr_conf_entry *e = &n->v[i];
        if (n->kind == CR_NODE_LIST || was_asked(u, n, e->key)) {
            tell_unused(u, e->val, sev, diag, depth + 1);
            continue;
        }
        candidates c = {u, n};
        const char *near = cr_nearest(e->key, next_asked, &c);
        const char *given = near ? NULL : cr_nearest(e->key, next_given, &c);
        if (near)
            cr_diag_add(diag, sev, CR_ECONF, e->at, "unknown key '%.100s'; did you mean '%s'?",
                        e->key, near);
        else if (given)
            cr_diag_add(diag, sev, CR_ECONF, e->at,
                        "unknown key '%.100s'; did you mean '%s', which is given too?", e->key,
                        given);
        else
            cr_diag_add(diag, sev, CR_ECONF, e->at, "nothing reads the key '%.100s'; remove it",
                        e->key);
    }
}

void cr_tree_tell_unused(const cr_tree_use *u, const cr_conf_node *root, cr_sev sev,
                         cr_diag *diag) {
    tell_unused(u, root, sev, diag, 0);
    cr_diag_sort(diag);
}
