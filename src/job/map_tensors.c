/*
 * map_tensors.c - the maps of tables (zch, dynamicemb) as tensors of whole numbers. Names and
 * layout are TorchRec's where it has them. A checkpoint has all of them; an export only the ids
 * with their rows, which prediction reads where they lie.
 */
#include "job/map_tensors.h"

#include <stdio.h>
#include <string.h>

enum { ROW_ID, ROW, COUNT, LAST, STEP, UPDATED, SEEN_ID, SEEN_COUNT, SEEN_LAST, KEPT, N_KINDS };
#define N_EXPORTED 2
static const char *const names[N_KINDS] = {[ROW_ID] = "_mch_sorted_raw_ids",
                                           [ROW] = "_mch_remapped_ids_mapping",
                                           [COUNT] = "_mch_counts",
                                           [LAST] = "_mch_last_access_iter",
                                           [STEP] = "_current_iter_tensor",
                                           [UPDATED] = "_last_eviction_iter",
                                           [SEEN_ID] = "_history_ids",
                                           [SEEN_COUNT] = "_history_counts",
                                           [SEEN_LAST] = "_history_last_access_iter",
                                           [KEPT] = "_days_and_sketch"};

typedef struct part {
    cr_model_table *t;
    int kind;
} part;

static int64_t *numbers(const part *p) {
    cr_zch_state *s = &p->t->map_state;
    switch (p->kind) {
    case ROW_ID: return s->rows.id;
    case ROW: return s->rows.row;
    case COUNT: return s->rows.count;
    case LAST: return s->rows.last;
    case STEP: return &s->steps[0];
    case UPDATED: return &s->steps[1];
    case SEEN_ID: return s->seen.id;
    case SEEN_COUNT: return s->seen.count;
    case KEPT: return s->kept;
    default: return s->seen.last;
    }
}

static void get(void *ctx, int64_t first, int64_t n, int64_t *out) {
    memcpy(out, numbers(ctx) + first, (size_t)n * sizeof(*out));
}

static void put(void *ctx, int64_t first, int64_t n, const int64_t *in) {
    memcpy(numbers(ctx) + first, in, (size_t)n * sizeof(*in));
}

static cr_code fit(void *ctx, int64_t rows, cr_err *err) {
    const part *p = ctx;
    cr_zch_state *s = &p->t->map_state;
    if (p->kind == STEP || p->kind == UPDATED) return CR_OK;
    if (p->kind == KEPT) return cr_zch_room_kept(rows, s, err);
    if (p->kind < STEP) return cr_zch_room(rows, s->seen.n, s, err);
    return cr_zch_room(s->size, rows, s, err);
}

int cr_map_tensors_max(const cr_model *m) {
    return N_KINDS * m->n_tables;
}

void cr_map_sizes(cr_model *m, const cr_ckpt *c) {
    for (int i = 0; i < m->n_tables; i++) {
        cr_model_table *t = m->tables[i];
        const cr_ckpt_info *p = cr_feature_grows(t->owner) ? cr_ckpt_find(c, t->table.name) : NULL;
        if (p && p->n_dims == 2 && p->shape[0] > 0) t->n_rows = t->table.n_rows = p->shape[0];
    }
}

int cr_map_tensors(cr_model_table *t, bool training, cr_arena *a, cr_ckpt_tensor *v) {
    int n = !t->map && !t->grows ? 0 : training ? N_KINDS : N_EXPORTED;
    if (n == N_KINDS && !(t->grows && cr_model_grown_keeps(t))) n = KEPT;
    for (int k = 0; k < n; k++) {
        part *p = CR_NEW(a, part);
        *p = (part){t, k};
        bool seen = k >= SEEN_ID, one = k == STEP || k == UPDATED;
        v[k] = (cr_ckpt_tensor){.name = cr_arena_printf(a, "%s%s", t->map_name, names[k]),
                                .n_dims = 1,
                                .shape = {one         ? 1
                                          : k == KEPT ? t->map_state.n_kept
                                          : seen      ? t->map_state.seen.n
                                          : t->grows  ? t->map_state.size
                                                      : t->n_rows},
                                .dtype = CR_DT_I64,
                                .get_whole = get,
                                .put_whole = put,
                                .fit = fit,
                                .ctx = p,
                                .may_lack = t->grows,
                                .resize = one ? CR_RESIZE_NO : CR_RESIZE_FIT,
                                .in_place = t->map_ids != NULL};
    }
    return n;
}

static const int64_t *view(const cr_model_table *t, const cr_ckpt *c, int kind) {
    char name[1024];
    snprintf(name, sizeof name, "%s%s", t->map_name, names[kind]);
    const cr_ckpt_info *p = cr_ckpt_find(c, name);
    const void *at = p && p->dtype == CR_DT_I64 && p->n_dims == 1 && p->shape[0] == t->n_rows
                         ? cr_ckpt_view(c, name)
                         : NULL;
    return (uintptr_t)at % sizeof(int64_t) ? NULL : at;
}

void cr_map_view(cr_model_table *t, const cr_ckpt *c) {
    if (!cr_feature_mapped(t->owner)) return;
    const int64_t *ids = view(t, c, ROW_ID), *rows = view(t, c, ROW);
    if (!ids || !rows) return;
    t->map_ids = ids;
    t->map_rows = rows;
}
