/*
 * take.c - makes a column of some rows of another: the places of the values are found level by
 * level, then the values are copied. Text is not copied, only its positions are.
 */
#include "data/load/take.h"

#include <string.h>

size_t cr_col_width(cr_coltype t) {
    return t == CR_COL_I32 || t == CR_COL_F32 ? 4 : 8;
}

/* Copies the leaf values `idx` of from. */
static void take_leaf(cr_column *to, const cr_column *from, const int32_t *idx, int64_t n,
                      cr_arena *arena) {
    size_t bytes = (size_t)(n + 1);
    if (from->type != CR_COL_STR) {
        size_t w = cr_col_width(from->type);
        char *v = cr_arena_alloc(arena, bytes * w);
        const char *src = (const char *)from->v.i32;
        for (int64_t i = 0; i < n; i++) {
            if (idx[i] < 0)
                memset(v + (size_t)i * w, 0, w);
            else
                memcpy(v + (size_t)i * w, src + (size_t)idx[i] * w, w);
        }
        to->v.i32 = (const int32_t *)(void *)v;
        return;
    }
    to->bytes = from->bytes;
    uint32_t *a = cr_arena_alloc(arena, bytes * sizeof(uint32_t));
    if (from->code) {
        for (int64_t i = 0; i < n; i++)
            a[i] = idx[i] < 0 ? 0 : from->code[idx[i]];
        to->beg = from->beg;
        to->end = from->end;
        to->code = a;
        to->n_dict = from->n_dict;
        to->memo = from->memo;
        return;
    }
    uint32_t *b = cr_arena_alloc(arena, bytes * sizeof(uint32_t));
    for (int64_t i = 0; i < n; i++) {
        a[i] = idx[i] < 0 ? 0 : from->beg[idx[i]];
        b[i] = idx[i] < 0 ? 0 : from->end[idx[i]];
    }
    to->beg = a;
    to->end = b;
}

/* Returns NULL where all are valid. */
static const uint8_t *take_valid(const uint8_t *valid, const int32_t *idx, int64_t n,
                                 cr_arena *arena) {
    uint8_t *v = cr_arena_alloc(arena, (size_t)n + 1), all = 1;
    for (int64_t i = 0; i < n; i++)
        all &= v[i] = idx[i] >= 0 && (!valid || valid[idx[i]]);
    return all ? NULL : v;
}

/* Finds where the items of rows idx lie, and the offsets of these rows; *total becomes the number
 * of items. */
static int32_t *take_items(const int32_t *from_off, const int32_t *idx, int64_t n, int32_t **items,
                           int64_t *total, cr_arena *arena) {
    int32_t *off = cr_arena_alloc(arena, sizeof(int32_t) * (size_t)(n + 1));
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        off[i] = (int32_t)sum;
        if (idx[i] >= 0) sum += from_off[idx[i] + 1] - from_off[idx[i]];
    }
    CR_ASSERT(sum <= INT32_MAX);
    off[n] = (int32_t)sum;
    int32_t *v = cr_arena_alloc(arena, sizeof(int32_t) * (size_t)(sum + 1));
    for (int64_t i = 0; i < n; i++)
        for (int32_t k = off[i]; k < off[i + 1]; k++)
            v[k] = from_off[idx[i]] + (k - off[i]);
    *items = v;
    *total = sum;
    return off;
}

void cr_column_take(cr_column *to, const cr_column *from, const int32_t *idx, int64_t n,
                    cr_arena *arena) {
    *to = (cr_column){.type = from->type, .depth = from->depth};
    to->valid = take_valid(from->valid, idx, n, arena);
    if (from->depth == 0) {
        take_leaf(to, from, idx, n, arena);
        return;
    }
    int32_t *values;
    int64_t total;
    to->row_off = take_items(from->row_off, idx, n, &values, &total, arena);
    if (from->depth == 2) {
        const int32_t *lists = values;
        int64_t n_lists = total;
        if (from->list_valid) to->list_valid = take_valid(from->list_valid, lists, n_lists, arena);
        to->item_off = take_items(from->item_off, lists, n_lists, &values, &total, arena);
    }
    take_leaf(to, from, values, total, arena);
    if (from->item_valid) to->item_valid = take_valid(from->item_valid, values, total, arena);
    if (!from->keys) return;
    cr_column *keys = CR_NEW(arena, cr_column);
    *keys = (cr_column){.type = from->keys->type, .depth = from->keys->depth};
    keys->row_off = to->row_off;
    take_leaf(keys, from->keys, values, total, arena);
    if (from->keys->item_valid)
        keys->item_valid = take_valid(from->keys->item_valid, values, total, arena);
    to->keys = keys;
}
