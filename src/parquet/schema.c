/*
 * schema.c - the schema tree: parents, levels and paths that follow from its shape, and the names
 * that users write.
 *
 * The format writes a list as three nodes (the list, a repeated group, the item) and a map as four.
 * Users see a column `tags` of strings, not `tags.list.element`. Older writers left out one or two
 * of the nodes; cr_pq_shape_of knows the format's rules for telling the layouts apart.
 */
#include <limits.h>
#include <string.h>

#include "parquet/parquet_int.h"

#define MAX_NESTED 100 /* deeper trees are refused: functions that walk them recurse */

/* ---- parents, levels, leaves and paths ---- */

static cr_code bad_node(cr_err *err, const cr_pq_node *n, const char *cause) {
    return cr_fail(err, CR_EDATA, "schema: '%.100s' %s", n->name ? n->name : "", cause);
}

static cr_code check_node(const cr_pq_node *n, bool root, cr_err *err) {
    if (!n->name) return cr_fail(err, CR_EDATA, "schema: a node has no name");
    if (n->type < CR_PQ_GROUP || n->type > CR_PQ_FIXED)
        return bad_node(err, n, "has no valid type");
    if (n->n_children < 0) return bad_node(err, n, "has a negative number of children");
    if (root) return n->type == CR_PQ_GROUP ? CR_OK : bad_node(err, n, "is the root and no group");
    if (n->rep < CR_PQ_REQUIRED || n->rep > CR_PQ_REPEATED)
        return bad_node(err, n, "is neither required, optional nor repeated");
    if (n->type != CR_PQ_GROUP && n->n_children)
        return bad_node(err, n, "has a type of its own and children");
    if (n->type == CR_PQ_FIXED && n->type_length <= 0)
        return bad_node(err, n, "is of fixed length, and its length is missing");
    return CR_OK;
}

/* path_bytes returns the bytes of all paths; it stops soon after it has passed limit. */
static size_t path_bytes(const cr_pq_meta *m, size_t limit) {
    size_t sum = 0;
    for (int i = 1; i < m->n_nodes && sum <= limit; i++) {
        int depth = 0;
        for (int k = i; k > 0 && depth <= MAX_NESTED; k = m->nodes[k].parent, depth++)
            sum += strlen(m->nodes[k].name) + 1;
    }
    return sum;
}

cr_code cr_pq_schema_fill(cr_pq_meta *m, cr_arena *arena, size_t *budget, cr_err *err) {
    int open[MAX_NESTED + 1], left[MAX_NESTED + 1], depth = 0;
    if (m->n_nodes < 1) return cr_fail(err, CR_EDATA, "schema: it has no root");
    if ((size_t)m->n_nodes > *budget / sizeof(int))
        return cr_fail_why(err, CR_PQ_BUDGET,
                           cr_fail(err, CR_EDATA, "schema: %d nodes do not fit in the budget",
                                   m->n_nodes));
    *budget -= (size_t)m->n_nodes * sizeof(int);
    m->n_leaves = 0;
    m->leaves = CR_NEW_N(arena, int, m->n_nodes);
    for (int i = 0; i < m->n_nodes; i++) {
        cr_pq_node *n = &m->nodes[i];
        CR_TRY(check_node(n, i == 0, err));
        while (depth > 0 && left[depth - 1] == 0)
            m->nodes[open[--depth]].next = i;
        if (i > 0 && depth == 0)
            return cr_fail(err, CR_EDATA, "schema: %d of its %d nodes belong to no group",
                           m->n_nodes - i, m->n_nodes);
        const cr_pq_node *up = depth ? &m->nodes[open[depth - 1]] : NULL;
        if (depth) left[depth - 1]--;
        n->parent = depth ? open[depth - 1] : -1;
        n->max_def = up ? up->max_def + (n->rep != CR_PQ_REQUIRED) : 0;
        n->max_rep = up ? up->max_rep + (n->rep == CR_PQ_REPEATED) : 0;
        n->next = i + 1;
        n->leaf = -1;
        n->path = "";
        if (n->max_rep > CR_PQ_MAX_DEPTH) return bad_node(err, n, "lies in too many lists");
        if (n->type != CR_PQ_GROUP) {
            n->leaf = m->n_leaves;
            m->leaves[m->n_leaves++] = i;
            continue;
        }
        if (depth == MAX_NESTED) return bad_node(err, n, "lies in too many groups");
        open[depth] = i;
        left[depth++] = n->n_children;
    }
    while (depth > 0 && left[depth - 1] == 0)
        m->nodes[open[--depth]].next = m->n_nodes;
    if (depth) return bad_node(err, &m->nodes[open[depth - 1]], "has fewer children than it says");

    size_t bytes = path_bytes(m, *budget);
    if (bytes > *budget)
        return cr_fail_why(err, CR_PQ_BUDGET,
                           cr_fail(err, CR_EDATA, "schema: its names do not fit in the budget"));
    *budget -= bytes;
    for (int i = 1; i < m->n_nodes; i++) {
        cr_pq_node *n = &m->nodes[i];
        n->path = n->parent > 0 ? cr_arena_printf(arena, "%s.%s", m->nodes[n->parent].path, n->name)
                                : n->name;
    }
    return CR_OK;
}

cr_code cr_pq_schema_finish(cr_pq_meta *m, cr_arena *arena, cr_err *err) {
    size_t budget = (size_t)1 << 30;
    return cr_pq_schema_fill(m, arena, &budget, err);
}

/* ---- nodes ---- */

bool cr_pq_same_logical(const cr_pq_logical *a, const cr_pq_logical *b) {
    return a->kind == b->kind && a->bits == b->bits && a->is_signed == b->is_signed &&
           a->is_utc == b->is_utc && a->unit == b->unit && a->scale == b->scale &&
           a->precision == b->precision && a->other_size == b->other_size &&
           (a->other_size == 0 || memcmp(a->other, b->other, (size_t)a->other_size) == 0);
}

cr_pq_node cr_pq_node_copy(const cr_pq_node *n, cr_arena *arena) {
    cr_pq_node out = *n;
    out.path = NULL;
    if (n->name) out.name = cr_arena_strdup(arena, n->name);
    if (n->logical.other_size == 0) return out;
    uint8_t *p = cr_arena_alloc(arena, (size_t)n->logical.other_size);
    memcpy(p, n->logical.other, (size_t)n->logical.other_size);
    out.logical.other = p;
    return out;
}

/* ---- lists and maps ---- */

/* list_item returns the node of a list's items; rep is the repeated child of the list. */
static int list_item(const cr_pq_meta *m, int list, int rep) {
    const cr_pq_node *r = &m->nodes[rep];
    if (r->type != CR_PQ_GROUP || r->n_children != 1) return rep; /* a layout of two levels */
    if (m->nodes[rep + 1].rep == CR_PQ_REPEATED) return rep;
    /* old writers of two levels used these names */
    if (strcmp(r->name, "array") == 0) return rep;
    const char *name = m->nodes[list].name;
    size_t n = strlen(name);
    if (strncmp(r->name, name, n) == 0 && strcmp(r->name + n, "_tuple") == 0) return rep;
    return rep + 1;
}

cr_pq_shape cr_pq_shape_of(const cr_pq_meta *m, int node, bool as_item, int *item, int *value) {
    const cr_pq_node *n = &m->nodes[node];
    *item = *value = -1;
    if (n->rep == CR_PQ_REPEATED && !as_item && node > 0) {
        *item = node;
        return CR_PQ_IS_LIST;
    }
    if (n->type != CR_PQ_GROUP) return CR_PQ_IS_LEAF;
    bool list = n->logical.kind == CR_PQ_LIST, map = n->logical.kind == CR_PQ_MAP;
    if ((!list && !map) || n->n_children != 1 || m->nodes[node + 1].rep != CR_PQ_REPEATED)
        return CR_PQ_IS_STRUCT;
    const cr_pq_node *r = &m->nodes[node + 1];
    if (map && r->type == CR_PQ_GROUP && r->n_children == 2) {
        *item = node + 2;
        *value = m->nodes[node + 2].next;
        return CR_PQ_IS_MAP;
    }
    /* a map without values is the list of its keys */
    *item = list_item(m, node, node + 1);
    return CR_PQ_IS_LIST;
}

/* ---- names ---- */

/* find_in looks in the children of node as users see them: for a list those of its items; for a map
 * the key, the value and the members of the value. */
static int find_in(const cr_pq_meta *m, int node, bool as_item, const char *name, int depth);

static int find_child(const cr_pq_meta *m, int group, const char *name, int depth) {
    for (int c = group + 1; c < m->nodes[group].next; c = m->nodes[c].next) {
        const char *s = m->nodes[c].name;
        size_t n = strlen(s);
        if (strcmp(s, name) == 0) return c;
        if (strncmp(s, name, n) != 0 || name[n] != '.') continue;
        int found = find_in(m, c, false, name + n + 1, depth + 1);
        if (found >= 0) return found;
    }
    return -1;
}

static int find_in(const cr_pq_meta *m, int node, bool as_item, const char *name, int depth) {
    if (depth > 2 * MAX_NESTED) return -1;
    int item, value, found = -1;
    switch (cr_pq_shape_of(m, node, as_item, &item, &value)) {
    case CR_PQ_IS_LEAF: return -1;
    case CR_PQ_IS_STRUCT: return find_child(m, node, name, depth);
    case CR_PQ_IS_LIST: {
        bool self = item == node || item == node + 1;
        found = find_in(m, item, self, name, depth + 1);
        break;
    }
    case CR_PQ_IS_MAP:
        found = find_child(m, node + 1, name, depth);
        if (found < 0) found = find_in(m, value, false, name, depth + 1);
        break;
    }
    /* the names as they are in the file are accepted too */
    return found >= 0 || m->nodes[node].type != CR_PQ_GROUP ? found
                                                            : find_child(m, node, name, depth);
}

int cr_pq_find(const cr_pq_meta *m, const char *name) {
    /* look for exactly that name first, also when it has dots; then for members */
    for (int c = 1; c < m->n_nodes; c = m->nodes[c].next)
        if (strcmp(m->nodes[c].name, name) == 0) return c;
    return m->n_nodes > 1 ? find_child(m, 0, name, 0) : -1;
}
