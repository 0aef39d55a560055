/*
 * fill.c - adds defaults that are whole messages to the tree, before it is bound. The defaults are
 * in the tables (cr_field.str of a message or a oneof). So the printed tree shows the config that
 * is really used.
 *
 * Scalars are left to the binding: a tree full of them would hide what the user has written. A
 * message with a key that its table does not know gets no oneof, because that key may be the
 * misspelled choice.
 */
#include <string.h>

#include "conf/conf.h"
#include "conf/conf_int.h"

typedef void (*each_fn)(const cr_fill *f);

static bool is_given(const cr_conf_node *v) {
    bool none = v->kind == CR_NODE_LIST && v->n == 0;
    return !none && !(v->from == CR_SYNTAX_JSON && cr_conf_is_null(v));
}

const cr_conf_node *cr_fill_find(const cr_fill *f, const char *key) {
    for (int i = f->n; i-- > 0;) {
        const cr_conf_node *v = cr_conf_find(f->maps[i], key);
        if (v && is_given(v)) return v;
    }
    return NULL;
}

static void place_all(cr_conf_node *n, cr_loc at) {
    n->at = at;
    for (size_t i = 0; n->kind != CR_NODE_SCALAR && i < n->n; i++) {
        n->v[i].at = at;
        place_all(n->v[i].val, at);
    }
}

void cr_fill_put(const cr_fill *f, const char *text) {
    cr_conf_doc sub = *f->doc; /* the same arena */
    cr_diag diag;
    cr_diag_init(&diag);
    if (cr_conf_parse(&sub, CR_SYNTAX_YAML, "default", text, strlen(text), &diag) != CR_OK)
        CR_BUG("a default that is no YAML");
    f->doc->arena = sub.arena;
    cr_diag_clear(&diag);
    cr_conf_node *to = f->maps[f->n - 1];
    place_all(sub.root, to->at);
    for (size_t i = 0; i < sub.root->n; i++)
        cr_conf_push(f->doc, to, sub.root->v[i].key, to->at, sub.root->v[i].val);
}

static void fill_msg(cr_conf_doc *doc, const cr_msg *msg, cr_conf_node **maps, int n, int depth,
                     each_fn each);

static int count_entries(cr_conf_node *const *maps, int n) {
    size_t k = 0;
    for (int i = 0; i < n; i++)
        for (size_t j = 0; j < maps[i]->n; j++) {
            const cr_conf_node *v = maps[i]->v[j].val;
            k += v->kind == CR_NODE_LIST ? v->n + 1 : 1;
        }
    return (int)k;
}

/* values_of lists the maps that are values of the row (of the member, in a oneof). An empty value
 * of YAML means an empty message and becomes an empty map. It returns their number; *given says
 * whether there is any value. */
static int values_of(const cr_fill *f, int row, const cr_oneof_member *member, cr_conf_node **out,
                     bool *given) {
    int n = 0;
    *given = false;
    for (int i = 0; i < f->n; i++) {
        cr_conf_node *map = f->maps[i];
        for (size_t k = 0; k < map->n; k++) {
            const cr_oneof_member *m;
            cr_conf_node *v = map->v[k].val;
            if (cr_conf_index(f->msg, map, map->v[k].key, &m) != row) continue;
            if (!is_given(v) || (member && m != member)) continue;
            *given = true;
            if (v->kind == CR_NODE_SCALAR && cr_conf_is_null(v))
                v = map->v[k].val = cr_conf_new(f->doc, CR_NODE_MAP, v->at);
            if (v->kind == CR_NODE_MAP) out[n++] = v;
            for (size_t j = 0; v->kind == CR_NODE_LIST && j < v->n; j++)
                if (v->v[j].val->kind == CR_NODE_MAP) out[n++] = v->v[j].val;
        }
    }
    return n;
}

static bool has_unknown(const cr_fill *f) {
    for (int i = 0; i < f->n; i++)
        for (size_t k = 0; k < f->maps[i]->n; k++)
            if (cr_conf_index(f->msg, f->maps[i], f->maps[i]->v[k].key, NULL) < 0) return true;
    return false;
}

static void fill_oneof(const cr_fill *f, int row, cr_conf_node **v, int depth, each_fn each) {
    const cr_field *field = &f->msg->fields[row];
    bool given;
    values_of(f, row, NULL, v, &given);
    const char *made = cr_conf_made(field);
    if (!given && made && !has_unknown(f)) cr_fill_put(f, made);
    for (const cr_oneof_member *m = ((const cr_oneof *)field->ref)->members; m->key; m++) {
        int n = values_of(f, row, m, v, &given);
        if (n > 0 && !m->msg->later) fill_msg(f->doc, m->msg, v, n, depth + 1, each);
    }
}

static void fill_row(const cr_fill *f, int row, cr_conf_node **v, int depth, each_fn each) {
    const cr_field *field = &f->msg->fields[row];
    bool given;
    int n = values_of(f, row, NULL, v, &given);
    if (!given && cr_conf_made(field)) {
        cr_conf_node *to = f->maps[f->n - 1];
        v[n++] = cr_conf_new(f->doc, CR_NODE_MAP, to->at);
        cr_conf_push(f->doc, to, field->name, to->at, v[0]);
    }
    if (n == 0) return;
    if (!(field->flags & CR_F_REPEATED)) fill_msg(f->doc, field->ref, v, n, depth + 1, each);
    for (int i = 0; field->flags & CR_F_REPEATED && i < n; i++)
        fill_msg(f->doc, field->ref, v + i, 1, depth + 1, each);
}

/* fill_msg fills one message, which protobuf text may give in parts. */
static void fill_msg(cr_conf_doc *doc, const cr_msg *msg, cr_conf_node **maps, int n, int depth,
                     each_fn each) {
    if (depth > CR_CONF_MAX_DEPTH || msg->size == 0) return;
    cr_fill f = {doc, msg, maps, n};
    for (int row = 0; msg->fields[row].name; row++) {
        cr_ftype type = msg->fields[row].type;
        if (type != CR_T_MSG && type != CR_T_ONEOF) continue;
        int room = count_entries(maps, n) + 2; /* includes the entries that are added now */
        cr_conf_node **v = CR_NEW_N(&doc->arena, cr_conf_node *, room);
        if (type == CR_T_ONEOF)
            fill_oneof(&f, row, v, depth, each);
        else
            fill_row(&f, row, v, depth, each);
    }
    if (each) each(&f);
}

void cr_conf_fill(cr_conf_doc *doc, const cr_msg *root, void (*each)(const cr_fill *f)) {
    fill_msg(doc, root, &doc->root, 1, 0, each);
}
