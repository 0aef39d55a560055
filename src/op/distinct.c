/*
 * distinct.c - see distinct.h. Equal ids are found with a small hash table per block; a lane has so
 * few rows that the table stays in the first-level cache.
 */
#include "op/distinct.h"

#include <string.h>

#include "kern/kern.h"
#include "op/input.h"
#include "op/op.h"

#define NARROW    8   /* a narrower table is cheaper in one product with its neighbours */
#define TOGETHER  128 /* columns of such a common block, at most */
#define FEW_ROWS  8   /* with fewer rows nothing is shared */
#define MAX_LANES 64

typedef struct codes {
    cr_block *v;
    int n;
    bool solo;
} codes;

/* Per block, in the state of the node: the lanes that share rows. */
typedef uint8_t lane_flags[MAX_LANES];

static void infer(cr_node *n) {
    const codes *a = n->attr;
    n->cls = CR_ROW;
    n->width = a->n;
    n->lane = true;
    /* the hash table (up to 4 floats per row), then the ids */
    n->scratch = 64;
    n->scratch_row = 4 + 2;
    n->state = a->n * (int64_t)sizeof(lane_flags);
}

static void identity(int32_t *code, int64_t ld, int64_t rows) {
    for (int64_t r = 0; r < rows; r++)
        code[r * ld] = (int32_t)r;
}

#define NONE (-1) /* stands for the id of a row without ids */

/* Writes the codes of one column. Returns false when rows cannot be shared: there are more distinct
 * ids than `limit`, a row has several ids, or an id equals NONE. */
static bool number(int32_t *code, int64_t ld, const cr_jagged *j, int64_t row0, int64_t rows,
                   int64_t limit, float *scratch) {
    if (j->w) return false;
    int64_t *seen = (int64_t *)(void *)scratch, u = 0;
    int32_t *table = (int32_t *)(void *)(scratch + 2 * rows);
    int bits = 5;
    while (((int64_t)1 << bits) < 2 * rows)
        bits++;
    memset(table, 0, sizeof(int32_t) << bits);
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (int64_t r = 0; r < rows; r++) {
        int64_t id;
        if (!j->off) {
            id = j->ids[row0 + r];
        } else {
            int32_t at = j->off[row0 + r], n = j->off[row0 + r + 1] - at;
            if (n > 1 || (n == 1 && j->ids[at] == NONE)) return false;
            id = n == 1 ? j->ids[at] : NONE;
        }
        uint64_t h = ((uint64_t)id * 0x9e3779b97f4a7c15u) >> (64 - bits);
        while (table[h] && seen[table[h] - 1] != id)
            h = (h + 1) & mask;
        if (!table[h]) {
            if (u == limit) return false;
            seen[u++] = id;
            table[h] = (int32_t)u;
        }
        code[r * ld] = table[h] - 1;
    }
    return true;
}

static void forward(const cr_node *n, cr_tile *t) {
    const codes *a = n->attr;
    lane_flags *flags = cr_state(t, n);
    const cr_batch *b = ((const cr_step_input *)cr_tile_input(t))->batch;
    int count;
    const cr_look *look = cr_lookup_pieces(n->in[0], &count);
    int64_t ld = cr_ld(n), limit = t->n_rows * 3 / 4;
    for (int i = 0; i < a->n; i++) {
        int32_t *code = cr_codes_at(t, n) + i;
        const cr_look *k = a->v[i].piece >= 0 ? &look[a->v[i].piece] : NULL;
        bool shared = k && t->n_rows >= FEW_ROWS && !(t->train && cr_table_clips(k->table)) &&
                      number(code, ld, &b->sparse[k->slot], t->row0, t->n_rows, limit, t->scratch);
        if (!shared) identity(code, ld, t->n_rows);
        if (t->train) flags[i][t->lane] = shared;
    }
}

const cr_op_type cr_op_codes = {.name = "codes", .infer = infer, .forward = forward};

static bool can_share(const cr_look *k) {
    return k->table && k->width >= NARROW && k->width <= CR_BLOCK_MAX;
}

static void cut(codes *a, const cr_look *v, int n) {
    for (int i = 0; i < n; i++) {
        bool grad = v[i].table && v[i].table->trainable;
        if (can_share(&v[i])) {
            a->v[a->n++] = (cr_block){v[i].out, v[i].width, i, grad};
            continue;
        }
        for (int64_t d = 0; d < v[i].width;) {
            cr_block *last = a->n > 0 ? &a->v[a->n - 1] : NULL;
            if (!last || last->piece >= 0 || last->width == TOGETHER) {
                last = &a->v[a->n++];
                *last = (cr_block){v[i].out + d, 0, -1, false};
            }
            int64_t w = v[i].width - d, room = TOGETHER - last->width;
            w = w < room ? w : room;
            last->width += w;
            last->grad |= grad;
            d += w;
        }
    }
}

static cr_node *find(const cr_graph *g, const cr_node *lookup) {
    for (int i = 0; i < g->n; i++)
        if (g->nodes[i]->op == &cr_op_codes && g->nodes[i]->in[0] == lookup) return g->nodes[i];
    return NULL;
}

cr_node *cr_codes(cr_graph *g, cr_node *lookup) {
    cr_node *there = find(g, lookup);
    if (there) return there;
    int n;
    const cr_look *v = cr_lookup_pieces(lookup, &n);
    bool any = false;
    int64_t most = lookup->width / TOGETHER + 1;
    for (int i = 0; i < n; i++) {
        any |= can_share(&v[i]);
        most += 2;
    }
    if (!any) return NULL;
    codes a = {.v = CR_NEW_N(&g->arena, cr_block, most)};
    cut(&a, v, n);
    there = cr_graph_op(g, &cr_op_codes, (cr_node *[]){lookup}, 1, &a, sizeof(a));
    int *col = CR_NEW_N(&g->arena, int, n);
    for (int i = 0; i < n; i++)
        col[i] = -1;
    for (int i = 0; i < a.n; i++)
        if (a.v[i].piece >= 0) col[a.v[i].piece] = i;
    cr_lookup_set_codes(lookup, there, col, true);
    return there;
}

const cr_block *cr_codes_blocks(const cr_node *codes_node, int *n) {
    const codes *a = codes_node->attr;
    *n = a->n;
    return a->v;
}

bool cr_codes_solo(const cr_node *n) {
    return ((const codes *)n->attr)->solo;
}

const uint8_t *cr_codes_shared(const cr_work *w, const cr_node *n, int column) {
    const lane_flags *flags = cr_work_state(w, n);
    return &flags[column][0];
}

static void see_users(const cr_graph *g, cr_node *n) {
    codes *a = n->attr;
    a->solo = true;
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->nodes[i]->n_in; k++)
            if (g->nodes[i]->in[k] == n->in[0] && g->nodes[i]->op != &cr_op_codes &&
                g->nodes[i]->op != &cr_op_emb_matmul)
                a->solo = false;
}

/* Returns the column that has a feature's codes; -1: there is none. */
static int column_of(const cr_node *n, int slot) {
    const codes *a = n->attr;
    int count;
    const cr_look *look = cr_lookup_pieces(n->in[0], &count);
    for (int i = 0; i < a->n; i++)
        if (a->v[i].piece >= 0 && look[a->v[i].piece].slot == slot) return i;
    return -1;
}

void cr_codes_finish(cr_graph *g) {
    for (int c = 0; c < g->n; c++) {
        if (g->nodes[c]->op != &cr_op_codes) continue;
        see_users(g, g->nodes[c]);
        for (int i = 0; i < g->n; i++) {
            cr_node *n = g->nodes[i];
            if (n->op != &cr_op_lookup || !n->needs_grad || n->lane || n->lane_back) continue;
            int count, used = 0;
            const cr_look *look = cr_lookup_pieces(n, &count);
            int *col = CR_NEW_N(&g->arena, int, count);
            for (int k = 0; k < count; k++) {
                col[k] = look[k].table ? column_of(g->nodes[c], look[k].slot) : -1;
                used += col[k] >= 0;
            }
            if (used > 0) cr_lookup_set_codes(n, g->nodes[c], col, false);
        }
    }
}
