/*
 * stored.c - columns that are carried as they are stored: the schema of one column, and the vectors
 * of its leaves.
 *
 * Files may disagree on what can be null, and on the names inside lists and maps. The column can
 * then be null where that of any file can, and definition levels are translated. A file that holds
 * nothing but nulls agrees with every other. Columns that differ in anything else cannot be carried
 * this way.
 */
#include <string.h>

#include "data/pq/pq_int.h"
#include "data/pq/stored.h"

/* ---- the schema ---- */

static cr_pq_meta *copy_nodes(const cr_pq_node *from, int n, cr_arena *a) {
    cr_pq_meta *t = CR_NEW(a, cr_pq_meta);
    t->n_nodes = n + 1;
    t->nodes = CR_NEW_N(a, cr_pq_node, n + 1);
    t->nodes[0] =
        (cr_pq_node){.name = "schema", .type = CR_PQ_GROUP, .n_children = 1, .field_id = -1};
    for (int i = 0; i < n; i++)
        t->nodes[i + 1] = cr_pq_node_copy(&from[i], a);
    return t;
}

const cr_pq_meta *cr_pqs_tree_of(const cr_pq_meta *m, int node, const char *name, cr_arena *a) {
    for (int i = m->nodes[node].parent; i > 0; i = m->nodes[i].parent)
        if (m->nodes[i].rep == CR_PQ_REPEATED) return NULL;
    cr_pq_meta *t = copy_nodes(&m->nodes[node], m->nodes[node].next - node, a);
    t->nodes[1].name = cr_arena_strdup(a, name); /* a member of a struct is named with its dots */
    cr_err err;
    return cr_pq_schema_finish(t, a, &err) == CR_OK && t->n_leaves > 0 ? t : NULL;
}

static bool is_nulls(const cr_pq_meta *t) {
    return t->n_nodes == 2 && t->nodes[1].logical.kind == CR_PQ_NULL &&
           t->nodes[1].rep != CR_PQ_REPEATED;
}

/* Is this a name that the format puts into lists and maps? Writers choose their own. */
static bool has_free_name(const cr_pq_meta *t, int i) {
    const cr_pq_node *up = &t->nodes[t->nodes[i].parent];
    if (up->logical.kind == CR_PQ_LIST || up->logical.kind == CR_PQ_MAP) return true;
    if (up->rep != CR_PQ_REPEATED || up->parent <= 0) return false;
    cr_pq_kind kind = t->nodes[up->parent].logical.kind;
    return kind == CR_PQ_MAP || (kind == CR_PQ_LIST && up->n_children == 1);
}

static bool same_tree(const cr_pq_meta *a, const cr_pq_meta *b) {
    if (a->n_nodes != b->n_nodes) return false;
    for (int i = 1; i < a->n_nodes; i++) {
        const cr_pq_node *x = &a->nodes[i], *y = &b->nodes[i];
        if (x->type != y->type || x->type_length != y->type_length ||
            x->n_children != y->n_children ||
            (x->rep == CR_PQ_REPEATED) != (y->rep == CR_PQ_REPEATED) ||
            !cr_pq_same_logical(&x->logical, &y->logical))
            return false;
        if (i > 1 && !has_free_name(a, i) && strcmp(x->name, y->name) != 0) return false;
    }
    return true;
}

bool cr_pqs_tree_join(cr_pq_meta **all, const cr_pq_meta *t, int above, cr_arena *a) {
    bool null = above > 0;
    if (!*all || (is_nulls(*all) && !is_nulls(t))) {
        null |= *all != NULL;
        *all = copy_nodes(t->nodes + 1, t->n_nodes - 1, a);
    } else if (is_nulls(t)) {
        null = true;
    } else {
        if (!same_tree(*all, t)) return false;
        for (int i = 1; i < t->n_nodes; i++)
            if (t->nodes[i].rep == CR_PQ_OPTIONAL) (*all)->nodes[i].rep = CR_PQ_OPTIONAL;
    }
    cr_pq_node *top = &(*all)->nodes[1];
    if (null && top->rep == CR_PQ_REQUIRED) top->rep = CR_PQ_OPTIONAL;
    cr_err err;
    return cr_pq_schema_finish(*all, a, &err) == CR_OK;
}

/* ---- levels ---- */

/* Returns the levels of leaf k of the file (t, under `above` levels) as levels of `all`; NULL: they
 * are the same. */
static const uint8_t *levels_of(const cr_pq_meta *all, const cr_pq_meta *t, int above, int k,
                                cr_arena *a) {
    int path[256], n = 0, level = 0, to = 0; /* trees this deep are refused */
    for (int i = t->leaves[k]; i > 0 && n < 256; i = t->nodes[i].parent)
        path[n++] = i;
    uint8_t *map = cr_arena_zalloc(a, 256);
    for (; level < above; level++)
        map[level] = 0; /* here a struct around it is null */
    while (n-- > 0) {
        if (t->nodes[path[n]].rep != CR_PQ_REQUIRED) map[level++] = (uint8_t)to;
        to += all->nodes[path[n]].rep != CR_PQ_REQUIRED;
    }
    map[level] = (uint8_t)to;
    for (int i = 0; i <= level; i++)
        if (map[i] != i) return map;
    return NULL;
}

/* Does a flat leaf need its levels? If not, its nulls give them. */
static bool needs_levels(const cr_pq_node *n) {
    return n->max_rep == 0 && n->max_def > 1;
}

void cr_pqs_place_join(cr_pqs_place *p, const cr_pq_meta *all, bool *keep, cr_arena *a) {
    if (is_nulls(p->tree) && !is_nulls(all)) {
        p->none = true;
        return;
    }
    p->levels = CR_NEW_N(a, const uint8_t *, all->n_leaves);
    for (int k = 0; k < all->n_leaves; k++) {
        p->levels[k] = levels_of(all, p->tree, p->above, k, a);
        if (needs_levels(&all->nodes[all->leaves[k]])) keep[p->slots[k]] = true;
    }
}

/* ---- vectors ---- */

static void row_offsets(cr_pq_vec *v, cr_arena *a) {
    size_t size = (size_t)(v->n_rows + 1) * sizeof(int32_t);
    int32_t *level = cr_arena_alloc(a, size), *slot = cr_arena_alloc(a, size);
    int64_t row = 0;
    for (int64_t i = 0; i < v->n_levels && row < v->n_rows; i++)
        if (v->rep[i] == 0) level[row++] = (int32_t)i;
    while (row <= v->n_rows)
        level[row++] = (int32_t)v->n_levels;
    for (int64_t i = 0; i <= v->n_rows; i++) {
        int32_t at = v->list[0].off[i];
        for (int k = 1; k < v->depth; k++)
            at = v->list[k].off[at];
        slot[i] = at;
    }
    v->row_level = level;
    v->row_slot = slot;
}

static void null_rows(const cr_pq_node *n, int64_t n_rows, cr_arena *a, cr_pq_vec *v) {
    uint8_t *zeros = cr_arena_zalloc(a, (size_t)n_rows + 1);
    *v = (cr_pq_vec){.type = n->type,
                     .type_length = n->type_length,
                     .n_rows = n_rows,
                     .depth = n->max_rep,
                     .bytes = ""};
    if (n->max_rep == 0) { /* it has no values: the code that copies them writes zeros */
        v->n = v->n_null = n_rows;
        v->valid = zeros;
    }
    if (n->max_rep > 0 || needs_levels(n)) {
        v->n_levels = n_rows;
        v->def = zeros;
    }
    if (n->max_rep == 0) return;
    int32_t *each = CR_NEW_N(a, int32_t, n_rows + 1);
    for (int64_t i = 0; i <= n_rows; i++)
        each[i] = (int32_t)i;
    v->rep = zeros;
    v->row_level = each;
    v->row_slot = CR_NEW_N(a, int32_t, n_rows + 1);
}

/* Leaves under one list must agree on its items; otherwise a row would be put together wrongly. */
static cr_code check_lists(const cr_pqs_place *p, const cr_pq_meta *all, const cr_pq_vec *slots,
                           int k, cr_err *err) {
    int x = all->leaves[k - 1], y = all->leaves[k];
    while (x != y) /* climbs to the node that both share; parents come first */
        if (x > y)
            x = all->nodes[x].parent;
        else
            y = all->nodes[y].parent;
    const cr_pq_vec *v = &slots[p->slots[k - 1]], *w = &slots[p->slots[k]];
    for (int d = 0; d < all->nodes[x].max_rep; d++) {
        const cr_pq_list *i = &v->list[d], *j = &w->list[d];
        if (i->n == j->n && memcmp(i->off, j->off, (size_t)(i->n + 1) * sizeof(*i->off)) == 0)
            continue;
        return cr_fail(err, CR_EDATA,
                       "columns '%s' and '%s' disagree on the items of a list they are in; the "
                       "file is damaged",
                       all->nodes[all->leaves[k - 1]].path, all->nodes[all->leaves[k]].path);
    }
    return CR_OK;
}

cr_code cr_pqs_stored(const cr_pqs_place *p, const cr_pq_meta *all, const cr_pq_vec *slots,
                      int64_t n_rows, cr_arena *a, cr_column *out, cr_err *err) {
    cr_pq_vec *v = CR_NEW_N(a, cr_pq_vec, all->n_leaves);
    cr_pq_stored *stored = CR_NEW(a, cr_pq_stored);
    *stored = (cr_pq_stored){{&cr_pq_stored_type}, v, all->n_leaves};
    out->stored = &stored->base;
    for (int k = 0; k < all->n_leaves; k++, v++) {
        const cr_pq_node *n = &all->nodes[all->leaves[k]];
        if (p->none) {
            null_rows(n, n_rows, a, v);
            continue;
        }
        *v = slots[p->slots[k]];
        if (k > 0) CR_TRY(check_lists(p, all, slots, k, err));
        if (v->depth > 0) row_offsets(v, a);
        if (v->depth == 0 && !needs_levels(n)) {
            v->def = NULL;
            v->n_levels = 0;
        } else if (p->levels[k]) {
            uint8_t *def = cr_arena_alloc(a, (size_t)v->n_levels + 1);
            for (int64_t i = 0; i < v->n_levels; i++)
                def[i] = p->levels[k][v->def[i]];
            v->def = def;
        }
    }
    return CR_OK;
}
