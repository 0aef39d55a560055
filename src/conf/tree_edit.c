/*
 * tree_edit.c - rewrites a tree: put, copy, remove.
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
