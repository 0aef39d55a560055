/*
 * graph.c - makes nodes. A node's inputs exist before it, so the order of making is a topological
 * order and no sort is ever needed.
 */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

void cr_graph_init(cr_graph *g, uint64_t seed) {
    memset(g, 0, sizeof(*g));
    cr_arena_init(&g->arena, 0);
    g->seed = seed;
    g->cap_prefix = 128;
    g->prefix = cr_alloc(g->cap_prefix, "scope of names");
}

void cr_graph_clear(cr_graph *g) {
    if (g->params) cr_big_free(g->params, (size_t)g->n_params * sizeof(float));
    cr_free(g->nodes);
    cr_free(g->prefix);
    cr_arena_clear(&g->arena);
    memset(g, 0, sizeof(*g));
}

static cr_node *add(cr_graph *g) {
    if (g->params) CR_BUG("node added after cr_graph_alloc");
    if (g->n == g->cap) {
        int cap = g->cap ? 2 * g->cap : 64;
        g->nodes = cr_realloc(g->nodes, (size_t)g->cap * sizeof(cr_node *),
                              (size_t)cap * sizeof(cr_node *), "graph nodes");
        g->cap = cap;
    }
    cr_node *n = CR_NEW(&g->arena, cr_node);
    n->id = g->n;
    g->nodes[g->n++] = n;
    return n;
}

/* The parameter of this name that is there already; NULL: none that can be used once more. */
static cr_node *shared(cr_graph *g, const char *name, int64_t rows, int64_t cols) {
    const char *full = cr_arena_printf(&g->arena, "%s%s", g->prefix, name);
    for (int i = 0; i < g->n; i++) {
        cr_node *n = g->nodes[i];
        if (n->cls == CR_PARAM && !n->op && strcmp(n->name, full) == 0 && n->trainable &&
            n->rows == rows && n->cols == cols)
            return n;
    }
    g->unlike++;
    return NULL;
}

cr_node *cr_graph_param(cr_graph *g, const char *name, int64_t rows, int64_t cols, bool trainable,
                        const void *init, size_t init_size) {
    cr_node *there = g->share ? shared(g, name, rows, cols) : NULL;
    if (there) return there;
    cr_node *n = add(g);
    n->cls = CR_PARAM;
    n->name = cr_arena_printf(&g->arena, "%s%s", g->prefix, name);
    n->rows = rows;
    n->cols = cols;
    n->width = cr_mul_i64(rows, cols);
    n->n_dims = 2;
    n->trainable = n->needs_grad = trainable;
    if (init_size) {
        n->init = cr_arena_alloc(&g->arena, init_size);
        memcpy(n->init, init, init_size);
    }
    return n;
}

cr_node *cr_graph_op(cr_graph *g, const cr_op_type *op, cr_node *const *in, int n_in,
                     const void *attr, size_t attr_size) {
    cr_node *n = add(g);
    n->op = op;
    n->name = cr_arena_printf(&g->arena, "%s#%d", op->name, n->id);
    n->n_in = n_in;
    n->in = CR_NEW_N(&g->arena, cr_node *, n_in ? n_in : 1);
    for (int i = 0; i < n_in; i++) {
        n->in[i] = in[i];
        n->needs_grad |= in[i]->needs_grad && (op->backward || op->unfold);
    }
    if (attr_size) {
        n->attr = cr_arena_alloc(&g->arena, attr_size);
        memcpy(n->attr, attr, attr_size);
    }
    op->infer(n);
    for (int i = 0; i < n_in; i++)
        if (in[i]->cls == CR_SEQ && !op->seq && !op->rowwise)
            CR_BUG("an op that does not take sequences got one");
    return n;
}

int cr_graph_axis(cr_graph *g) {
    return g->n_axes++;
}

void cr_infer_rows(cr_node *n) {
    const cr_node *like = NULL;
    for (int i = 0; i < n->n_in; i++) {
        const cr_node *x = n->in[i];
        if (x->cls != CR_ROW && x->cls != CR_SEQ) continue;
        if (like && (like->cls != x->cls || like->axis != x->axis))
            CR_BUG("rows of different classes or axes");
        like = x;
    }
    if (!like) CR_BUG("no rows among the inputs");
    n->cls = like->cls;
    n->axis = like->axis;
}

size_t cr_graph_push(cr_graph *g, const char *fmt, ...) {
    size_t mark = strlen(g->prefix);
    va_list ap;
    va_start(ap, fmt);
    int k = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (k < 0) CR_BUG("bad format");
    size_t need = mark + (size_t)k + 2; /* names come from configs and may be long */
    if (need > g->cap_prefix) {
        g->prefix = cr_realloc(g->prefix, mark + 1, 2 * need, "scope of names");
        g->cap_prefix = 2 * need;
    }
    va_start(ap, fmt);
    vsnprintf(g->prefix + mark, (size_t)k + 1, fmt, ap);
    va_end(ap);
    memcpy(g->prefix + need - 2, ".", 2);
    return mark;
}

void cr_graph_pop(cr_graph *g, size_t mark) {
    g->prefix[mark] = 0;
}

cr_code cr_graph_alloc(cr_graph *g, cr_err *err) {
    int64_t at = 0;
    int64_t *ends[] = {&g->n_trainable, &g->n_grads, &g->n_params};
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < g->n; i++) {
            cr_node *n = g->nodes[i];
            if (n->cls != CR_PARAM || pass != (n->trainable ? 0 : n->op ? 1 : 2)) continue;
            n->offset = at;
            at = cr_add_i64(at, cr_up16(n->width));
        }
        *ends[pass] = at;
    }
    g->n_params = at > 0 ? at : 16;
    void *p;
    CR_TRY(cr_big_alloc(&p, cr_bytes(g->n_params, sizeof(float)), "dense parameters", err));
    g->params = p;
    for (int i = 0; i < g->n; i++)
        if (g->nodes[i]->cls == CR_PARAM) g->nodes[i]->w = g->params + g->nodes[i]->offset;
    return CR_OK;
}
