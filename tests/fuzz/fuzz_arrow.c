/*
 * fuzz_arrow.c - any bytes as an Arrow file or stream: opened, every batch loaded, every leaf read
 * in pieces.
 */
#include "data/arrow/vec.h"
#include "pq_touch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void touch_leaf(const cr_arrow_file *f, const cr_arrow_shape *shape, int leaf, int batch,
                       const cr_arrow_batch *b) {
    const cr_pq_node *node = &shape->meta.nodes[shape->meta.leaves[leaf]];
    int field = shape->field[shape->meta.leaves[leaf]];
    cr_arena arena;
    cr_err err;
    cr_pq_vec entries = {0};
    cr_code code = CR_OK;
    if (cr_arrow_unreadable(cr_arrow_get_schema(f), field) >= 0) return;
    cr_arena_init(&arena, 0);
    if (cr_arrow_get_schema(f)->v[field].coded)
        code = cr_arrow_entries(f, shape, leaf, cr_arrow_dict_of(f, batch, field), &arena, &entries,
                                &err);
    int64_t left = b->n_rows < 5000 ? b->n_rows : 5000, from = 0;
    for (int64_t piece = 1; code == CR_OK && from < left; piece = piece * 3 + 1) {
        int64_t n = piece < left - from ? piece : left - from;
        cr_pq_vec v;
        code = cr_arrow_vec(f, shape, leaf, b, from, n, &entries, &arena, &v, &err);
        if (code == CR_OK) pq_touch_vec(node, &v, n);
        from += n;
    }
    if (code != CR_OK) pq_touch_err(&err);
    cr_arena_clear(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const cr_arrow_opts opts = {.budget = 2 << 20};
    cr_arrow_file *f;
    cr_err err;
    if (cr_arrow_open_mem(&f, data, (int64_t)size, "fuzz.arrow", &opts, &err) != CR_OK) {
        pq_touch_err(&err);
        return 0;
    }
    cr_arena arena;
    cr_arrow_shape shape;
    cr_arrow_batch b;
    cr_arena_init(&arena, 0);
    cr_arrow_batch_init(&b);
    if (cr_arrow_shape_of(cr_arrow_get_schema(f), &arena, &shape, &err) == CR_OK) {
        for (int i = 0; i < cr_arrow_n_batches(f) && i < 16; i++) {
            cr_arrow_size room;
            if (cr_arrow_measure(f, i, NULL, &room, &err) != CR_OK) pq_touch_err(&err);
            if (cr_arrow_load(f, i, NULL, &b, &err) != CR_OK) {
                pq_touch_err(&err);
                continue;
            }
            for (int leaf = 0; leaf < shape.meta.n_leaves && leaf < 64; leaf++)
                touch_leaf(f, &shape, leaf, i, &b);
        }
    }
    cr_arrow_batch_clear(&b);
    cr_arena_clear(&arena);
    cr_arrow_close(f);
    return 0;
}
