/*
 * pred_gather.c - brings the rows of a global batch to the rank that writes them. Each rank packs
 * its rows; the first rank gets the bytes of all, in the order of ranks, which is the order of the
 * input, and makes one run of rows of them. So the writer is called with the same rows as in a
 * single process, and writes the same bytes. No more than one global batch is in memory.
 */
#include <string.h>

#include "data/load/gather.h"
#include "data/pack.h"
#include "run/pred.h"

struct cr_pred_gather {
    cr_comm *comm;
    const cr_pred_shape *shape;
    cr_buf own;
    char *all;
    size_t cap;
    size_t *to, *from; /* where what goes to and comes from each rank begins */
    int64_t *sizes;    /* bytes and rows of each rank */
    size_t *sizes_at;
    cr_arena arena;
    cr_region mem;
    const float **outputs;
    int64_t *ld;
};

cr_pred_gather *cr_pred_gather_new(cr_comm *comm, const cr_pred_shape *shape) {
    cr_pred_gather *g = cr_alloc(sizeof(*g), "predictions of all ranks");
    size_t n = (size_t)cr_comm_size(comm) + 1;
    g->comm = comm;
    g->shape = shape;
    cr_buf_init(&g->own);
    cr_arena_init(&g->arena, 0);
    g->to = cr_alloc(n * sizeof(*g->to), "predictions of all ranks");
    g->from = cr_alloc(n * sizeof(*g->from), "predictions of all ranks");
    g->sizes = cr_alloc(2 * n * sizeof(*g->sizes), "predictions of all ranks");
    g->sizes_at = cr_alloc(n * sizeof(*g->sizes_at), "predictions of all ranks");
    size_t k = (size_t)shape->n_outputs + 1;
    g->outputs = cr_alloc(k * sizeof(*g->outputs), "predictions of all ranks");
    g->ld = cr_alloc(k * sizeof(*g->ld), "predictions of all ranks");
    for (size_t r = 0; r < n; r++)
        g->sizes_at[r] = 2 * r * sizeof(*g->sizes);
    return g;
}

void cr_pred_gather_free(cr_pred_gather *g) {
    if (!g) return;
    cr_buf_clear(&g->own);
    cr_arena_clear(&g->arena);
    cr_region_clear(&g->mem);
    cr_free(g->all);
    cr_free(g->to);
    cr_free(g->from);
    cr_free(g->sizes);
    cr_free(g->sizes_at);
    cr_free(g->outputs);
    cr_free(g->ld);
    cr_free(g);
}

void cr_pred_pack(cr_pred_gather *g, const cr_pred_rows *rows) {
    const cr_pred_shape *s = g->shape;
    cr_buf *b = &g->own;
    size_t n = (size_t)rows->n_rows;
    cr_buf_reset(b);
    g->sizes[2 * cr_comm_rank(g->comm) + 1] = rows->n_rows;
    if (n == 0) return;
    for (int i = 0; i < s->n_outputs; i++) {
        for (size_t r = 0; r < n; r++)
            cr_buf_add(b, rows->outputs[i] + (int64_t)r * rows->ld[i],
                       (size_t)s->widths[i] * sizeof(float));
        cr_pack_bytes(b, NULL, 0);
    }
    if (s->debug) {
        cr_pack_bytes(b, rows->debug_off, (n + 1) * sizeof(*rows->debug_off));
        cr_pack_bytes(b, rows->debug, rows->debug_off[n]);
    }
    cr_pack_columns(b, rows->reserved, s->n_reserved, rows->n_rows);
}

/* Makes room for what all ranks bring; the bytes of rank r will lie at g->from[r]. */
static cr_code make_room(cr_pred_gather *g, cr_err *err) {
    int n = cr_comm_size(g->comm), self = cr_comm_rank(g->comm);
    for (int r = 0; r < n; r++) {
        g->from[r + 1] = g->from[r] + (self == 0 ? (size_t)g->sizes[2 * r] : 0);
        g->to[r + 1] = g->own.n; /* everything goes to rank 0 */
    }
    if (g->from[n] <= g->cap) return CR_OK;
    void *p;
    size_t cap = g->from[n] + g->from[n] / 8;
    CR_TRY(cr_try_alloc(&p, cap, "predictions of all ranks", err));
    cr_free(g->all);
    g->all = p;
    g->cap = cap;
    return CR_OK;
}

cr_code cr_pred_meet(cr_pred_gather *g, cr_err *err) {
    g->sizes[2 * cr_comm_rank(g->comm)] = (int64_t)g->own.n;
    cr_comm_gather(g->comm, g->sizes, g->sizes_at);
    return make_room(g, err);
}

/* The rows of one rank. */
typedef struct part {
    const char *at;
    int64_t n_rows;
    const uint32_t *debug_off;
    cr_batch reserved;
    const cr_batch *src;
} part;

static float *copy_floats(cr_pred_gather *g, part *parts, int n, int64_t n_rows, int64_t width) {
    float *v = CR_NEW_N(&g->arena, float, n_rows *width + 1), *to = v;
    for (int r = 0; r < n; r++) {
        size_t size = (size_t)(parts[r].n_rows * width) * sizeof(float);
        if (parts[r].n_rows == 0) continue;
        memcpy(to, cr_unpack_bytes(&parts[r].at, size), size);
        to += parts[r].n_rows * width;
    }
    return v;
}

static cr_code copy_debug(cr_pred_gather *g, part *parts, int n, cr_pred_rows *out, cr_err *err) {
    size_t size = 0, row = 0;
    for (int r = 0; r < n; r++) {
        if (parts[r].n_rows == 0) continue;
        parts[r].debug_off = cr_unpack_bytes(&parts[r].at, ((size_t)parts[r].n_rows + 1) *
                                                               sizeof(*parts[r].debug_off));
        size += parts[r].debug_off[parts[r].n_rows];
    }
    if (size > INT32_MAX)
        return cr_fail(err, CR_EUSAGE,
                       "__features__ of one global batch pass 2 GiB; use a smaller --batch_size");
    char *text = CR_NEW_N(&g->arena, char, size + 1);
    uint32_t *off = CR_NEW_N(&g->arena, uint32_t, out->n_rows + 1), at = 0;
    for (int r = 0; r < n; r++) {
        if (parts[r].n_rows == 0) continue;
        uint32_t all = parts[r].debug_off[parts[r].n_rows];
        memcpy(text + at, cr_unpack_bytes(&parts[r].at, all), all);
        for (int64_t i = 0; i < parts[r].n_rows; i++)
            off[row++] = at + parts[r].debug_off[i];
        at += all;
    }
    off[row] = at;
    out->debug = text;
    out->debug_off = off;
    return CR_OK;
}

static cr_code copy_reserved(cr_pred_gather *g, part *parts, int n, const cr_column *like,
                             cr_pred_rows *out, cr_err *err) {
    int k = g->shape->n_reserved, n_runs = 0;
    cr_row_run *runs = CR_NEW_N(&g->arena, cr_row_run, n);
    cr_batch shape = {.n_reserved = k, .reserved = like}, all = {0};
    if (k == 0) return CR_OK;
    for (int r = 0; r < n; r++) {
        part *p = &parts[r];
        if (p->n_rows == 0) continue;
        cr_column *cols = CR_NEW_N(&g->arena, cr_column, k);
        (void)cr_unpack_columns(p->at, like, k, p->n_rows, cols, &g->arena);
        p->reserved = (cr_batch){.n_rows = p->n_rows, .n_reserved = k, .reserved = cols};
        p->src = &p->reserved;
        runs[n_runs++] = (cr_row_run){.srcs = &p->src, .n_srcs = 1, .n = p->n_rows};
    }
    CR_TRY(cr_gather(&all, NULL, &g->mem, &shape, runs, n_runs, err));
    out->reserved = all.reserved;
    return CR_OK;
}

cr_code cr_pred_take(cr_pred_gather *g, const cr_column *like, cr_pred_rows *out, cr_err *err) {
    int n = cr_comm_size(g->comm);
    const cr_pred_shape *s = g->shape;
    cr_comm_exchange(g->comm, g->own.data, g->to, g->all, g->from);
    *out = (cr_pred_rows){.outputs = g->outputs, .ld = g->ld};
    if (cr_comm_rank(g->comm) > 0) return CR_OK;
    cr_arena_reset(&g->arena);
    part *parts = CR_NEW_N(&g->arena, part, n);
    for (int r = 0; r < n; r++) {
        parts[r] = (part){.at = g->all + g->from[r], .n_rows = g->sizes[2 * r + 1]};
        out->n_rows += parts[r].n_rows;
    }
    for (int i = 0; i < s->n_outputs; i++) {
        g->outputs[i] = copy_floats(g, parts, n, out->n_rows, s->widths[i]);
        g->ld[i] = s->widths[i];
    }
    if (s->debug) CR_TRY(copy_debug(g, parts, n, out, err));
    return copy_reserved(g, parts, n, like, out, err);
}
