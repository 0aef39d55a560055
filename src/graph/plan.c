/*
 * plan.c - makes a plan and prepares its weights. After cr_plan_pack nothing in a plan changes, so
 * many threads may read it.
 */
#include "graph/plan.h"

#include "base/cpu.h"
#include "graph/plan_int.h"
#include "kern/kern.h"

int64_t cr_ld(const cr_node *n) {
    if (n->width < 16) return n->width;
    int64_t ld = cr_up16(n->width);
    /* rows that lie a multiple of 4 KiB apart would all fall into the same few cache sets */
    return ld % 64 == 0 ? ld + 16 : ld;
}

/* choose_tile: the buffers of a tile may take three quarters of a core's second-level cache; see
 * docs/design/graph.md. The tile unit multiplies faster than weights and their gradients come from
 * the third level, so there a tile has as many rows as it can. No result depends on the size of a
 * tile. */
static int64_t choose_tile(const cr_plan *p) {
    bool parts = cr_products_parts((cr_products)p->g->products) > 0;
    if (parts && cr_kern->gemm_units) return CR_MAX_TILE;
    int64_t per_row = p->spaces[0].work * (int64_t)sizeof(float);
    int64_t rows = per_row > 0 ? cr_cpu_l2() / 4 * 3 / per_row : CR_MAX_TILE;
    if (rows < 56) rows = 56;
    /* whole blocks of the matrix kernel; of the tile unit where products take BF16 parts */
    int64_t block = parts ? CR_BF16_BLOCK : 14;
    rows = rows > CR_MAX_TILE ? CR_MAX_TILE : rows < block ? block : rows;
    return rows / block * block;
}

/* alloc makes memory for the packed weights and, after them, for the scratch of folding. */
static cr_code alloc(cr_plan *p, cr_err *err) {
    int64_t fold = 0;
    for (int i = 0; i < p->g->n; i++) {
        const cr_node *n = p->g->nodes[i];
        if (p->slots[i].used && n->op && n->op->fold && n->scratch > fold) fold = n->scratch;
    }
    void *mem;
    p->packed_size =
        cr_bytes(cr_add_i64(cr_up16(p->n_packed), cr_add_i64(fold, 16)), sizeof(float));
    CR_TRY(cr_big_alloc(&mem, p->packed_size, "packed weights", err));
    p->packed = mem;
    p->fold_scratch = p->packed + cr_up16(p->n_packed);
    return CR_OK;
}

cr_code cr_plan_new(cr_plan **out, const cr_plan_opts *o, cr_err *err) {
    cr_plan *p = cr_alloc(sizeof(*p), "plan");
    cr_arena_init(&p->arena, 0);
    p->g = o->graph;
    p->mode = o->mode;
    CR_ASSERT(o->tile_rows <= CR_MAX_TILE);
    cr_lanes_init(&p->lanes, o->lanes, o->meet, &p->arena);
    p->all_max_rows = o->max_rows;
    p->max_rows = cr_lanes_max_rows(&p->lanes, o->max_rows);
    p->packed_in = o->packed;
    cr_plan_compile(p, o);
    p->tile_rows = o->tile_rows ? o->tile_rows : choose_tile(p);
    cr_code code = o->packed ? CR_OK : alloc(p, err);
    if (code != CR_OK) {
        cr_plan_free(p);
        return code;
    }
    *out = p;
    return CR_OK;
}

void cr_plan_free(cr_plan *p) {
    if (!p) return;
    if (p->packed) cr_big_free(p->packed, p->packed_size);
    cr_arena_clear(&p->arena);
    cr_free(p);
}

static void run_prep(void *ctx, int64_t item, int thread) {
    (void)thread;
    cr_plan *p = ctx;
    const prep *q = &p->preps[item];
    q->n->op->prepare(q->n, p->packed + p->slots[q->n->id].pack_off, q->item, p->mode == CR_TRAIN);
}

void cr_plan_pack(cr_plan *p, cr_pool *pool) {
    cr_pool_stage(pool, CR_STAGE_PACK);
    for (int i = 0; i < p->g->n; i++) {
        const cr_node *n = p->g->nodes[i];
        if (p->slots[i].used && n->op && n->op->fold) n->op->fold(n, p->fold_scratch);
    }
    cr_pool_run(pool, p->n_preps, run_prep, p);
    cr_pool_stage(pool, CR_STAGE_NONE);
    p->is_packed = true;
}

cr_code cr_plan_takes(const cr_plan *p, int64_t n_rows, cr_err *err) {
    if (n_rows >= 0 && n_rows <= p->all_max_rows) return CR_OK;
    return cr_fail(
        err, CR_EUSAGE,
        "the batch has %lld rows, but the model was prepared for at most %lld; give fewer "
        "rows at a time",
        (long long)n_rows, (long long)p->all_max_rows);
}

bool cr_plan_has_grad(const cr_plan *p, const cr_node *n) {
    return p->slots[n->id].grad;
}

const cr_lanes *cr_plan_lanes(const cr_plan *p) {
    return &p->lanes;
}
