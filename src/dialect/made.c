/*
 * made.c - see made_int.h.
 */
#include "dialect/made_int.h"

#include <stdio.h>

#include "base/buf.h"

/* Gives all nodes a place, and texts and keys the memory of the document. */
static void stamp(cr_conf_doc *doc, cr_conf_node *n, cr_loc at) {
    n->at = at;
    if (n->kind == CR_NODE_SCALAR) n->text = cr_arena_strndup(&doc->arena, n->text, n->len);
    for (size_t i = 0; i < n->n; i++) {
        n->v[i].at = at;
        if (n->v[i].key) n->v[i].key = cr_arena_strdup(&doc->arena, n->v[i].key);
        stamp(doc, n->v[i].val, at);
    }
}

void cr_made_join(cr_conf_doc *doc, cr_conf_node *to, const cr_conf_node *from) {
    for (size_t i = 0; i < from->n; i++) {
        cr_conf_node *there = cr_conf_find(to, from->v[i].key), *val = from->v[i].val;
        if (there && there->kind == CR_NODE_MAP && val->kind == CR_NODE_MAP)
            cr_made_join(doc, there, val);
        else
            cr_tree_put(doc, to, from->v[i].key, from->v[i].at, val);
    }
}

cr_conf_node *cr_made_yaml(cr_conf_doc *doc, cr_loc at, const char *fmt, va_list args) {
    cr_buf text;
    cr_conf_doc tmp;
    cr_diag diag;
    va_list again;
    cr_buf_init(&text);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    cr_buf_reserve(&text, (size_t)n + 1);
    text.n = (size_t)vsnprintf(text.data, (size_t)n + 1, fmt, args);
    cr_conf_doc_init(&tmp);
    cr_diag_init(&diag);
    if (cr_conf_parse(&tmp, CR_SYNTAX_YAML, doc->path, text.data, text.n, &diag) != CR_OK)
        CR_BUG("a dialect wrote YAML that cannot be read");
    cr_conf_node *copy = cr_tree_copy(doc, tmp.root);
    if (!copy) CR_BUG("a dialect wrote a tree that is too deep");
    stamp(doc, copy, at);
    cr_diag_clear(&diag);
    cr_conf_doc_clear(&tmp);
    cr_buf_clear(&text);
    return copy;
}
