/*
 * levels.c - turns levels into lists and validity.
 *
 * A leaf has one pair of levels per value, null or empty list. A repetition level r means that the
 * value begins a new item of the list of depth r (0: a new row), and with it new lists of all
 * greater depths. The definition level tells how much of the path from the root to the leaf exists.
 */
#include <string.h>

#include "parquet/decode_int.h"

int cr_pq_level_bits(int max) {
    int bits = 0;
    for (; max > 0; max >>= 1)
        bits++;
    return bits;
}

void cr_pq_levels_init(cr_pq_levels *l, const cr_pq_kern *k, cr_pq_level_form form, int max,
                       const uint8_t *p, size_t n) {
    *l = (cr_pq_levels){.form = form, .max = max, .bw = cr_pq_level_bits(max)};
    if (max == 0) l->form = CR_PQ_LV_NONE;
    if (l->form == CR_PQ_LV_RLE) cr_pq_rle_init(&l->rle, k, p, n, l->bw);
    l->bits = p;
    l->bit_end = n * 8;
}

void cr_pq_levels_move(cr_pq_levels *l, ptrdiff_t by) {
    if (l->form == CR_PQ_LV_NONE) return;
    l->bits += by;
    if (l->form != CR_PQ_LV_RLE) return;
    l->rle.p += by;
    l->rle.end += by;
    if (l->rle.packed_end) l->rle.packed_end += by;
}

const char *cr_pq_levels_get(cr_pq_levels *l, uint8_t *out, size_t n) {
    if (l->form == CR_PQ_LV_NONE) {
        memset(out, 0, n);
        return NULL;
    }
    if (l->form == CR_PQ_LV_RLE) {
        if (cr_pq_rle_get8(&l->rle, out, n) < n) return "levels end too early";
    } else {
        if (l->bit_end - l->bit_at < n * (size_t)l->bw) return "levels end too early";
        for (size_t i = 0; i < n; i++) {
            int x = 0;
            for (int b = 0; b < l->bw; b++, l->bit_at++)
                x = x << 1 | (l->bits[l->bit_at / 8] >> (7 - l->bit_at % 8) & 1);
            out[i] = (uint8_t)x;
        }
    }
    uint8_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = out[i] > most ? out[i] : most;
    return most > l->max ? "a level is higher than the schema allows" : NULL;
}

bool cr_pq_nest_of(const cr_pq_meta *m, int node, cr_pq_nest *out) {
    const cr_pq_node *n = &m->nodes[node];
    *out = (cr_pq_nest){.max_def = n->max_def, .max_rep = n->max_rep};
    if (n->max_rep > CR_PQ_MAX_DEPTH || n->max_def > UINT8_MAX) return false;
    for (int i = node; i > 0; i = m->nodes[i].parent) {
        if (m->nodes[i].rep == CR_PQ_REPEATED)
            out->item_def[m->nodes[i].max_rep] = m->nodes[i].max_def;
    }
    return true;
}

size_t cr_pq_rows_end(const cr_pq_kern *k, const uint8_t *rep, size_t n, int64_t *rows,
                      bool *more) {
    uint64_t in_row[CR_PQ_LOOK / 64];
    CR_ASSERT(n <= CR_PQ_LOOK);
    k->reach(rep, 1, n, in_row);
    *more = false;
    for (size_t i = 0; i < n; i += 64) {
        uint64_t begins = ~in_row[i / 64];
        if (n - i < 64) begins &= (UINT64_C(1) << (n - i)) - 1;
        int64_t m = __builtin_popcountll(begins);
        if (m <= *rows) {
            *rows -= m;
            continue;
        }
        for (; *rows > 0; --*rows)
            begins &= begins - 1;
        *more = true;
        return i + (size_t)__builtin_ctzll(begins);
    }
    return n;
}

static const char no_item[] = "a list goes on with an item that is not there";

/* add_flat handles one list around the values; except for the offsets it takes 64 levels at
 * once. */
static const char *add_flat(const cr_pq_kern *k, const cr_pq_nest *nest, cr_pq_lists *l,
                            const uint8_t *rep, const uint8_t *def, size_t n, uint8_t *slot_valid,
                            size_t *n_slots, size_t *n_valid) {
    uint64_t begins[CR_PQ_LOOK / 64], item[CR_PQ_LOOK / 64], there[CR_PQ_LOOK / 64],
        full[CR_PQ_LOOK / 64];
    const int least = nest->item_def[1];
    const size_t words = (n + 63) / 64;
    k->reach(rep, 1, n, begins);
    k->reach(def, (uint8_t)least, n, item);
    k->reach(def, (uint8_t)(least - 1), n, there);
    k->reach(def, (uint8_t)nest->max_def, n, full);
    uint64_t bad = 0, null = 0, holes = 0, before = l->last >= least;
    for (size_t i = 0; i < words; i++) {
        const uint64_t all = n - 64 * i < 64 ? (UINT64_C(1) << (n - 64 * i)) - 1 : ~UINT64_C(0);
        /* begins still marks the levels inside a row; each must have an item, and the level before
         * it too */
        bad |= begins[i] & ~(item[i] & (item[i] << 1 | before));
        before = item[i] >> 63;
        begins[i] = ~begins[i] & all;
        null |= begins[i] & ~there[i];
        holes |= item[i] & ~full[i];
    }
    if (bad) return no_item;
    if (n) l->last = def[n - 1];
    if (null) l->has_null[1] = true;
    size_t n_lists = k->lists(begins, item, there, words, (int32_t)l->n[2], l->off[1] + l->n[1],
                              l->valid[1] + l->n[1], n_slots);
    *n_valid = *n_slots;
    if (holes) {
        k->bits_at(full, item, words, slot_valid);
        *n_valid = k->count(slot_valid, *n_slots);
    } else {
        memset(slot_valid, 1, *n_slots);
    }
    l->n[1] += (int64_t)n_lists;
    l->n[2] += (int64_t)*n_slots;
    return NULL;
}

const char *cr_pq_lists_add(const cr_pq_kern *k, const cr_pq_nest *nest, cr_pq_lists *l,
                            const uint8_t *rep, const uint8_t *def, size_t n, uint8_t *slot_valid,
                            size_t *n_slots, size_t *n_valid) {
    const int depth = nest->max_rep, slot_def = nest->item_def[depth];
    if (depth == 1) return add_flat(k, nest, l, rep, def, n, slot_valid, n_slots, n_valid);
    size_t slots = 0, valid = 0;
    int64_t *count = l->n;
    for (size_t i = 0; i < n; i++) {
        int r = rep[i], d = def[i];
        /* the list must have had an item before, and have one more now */
        if (d < nest->item_def[r] || l->last < nest->item_def[r]) return no_item;
        l->last = d;
        for (r++; r <= depth && d >= nest->item_def[r - 1]; r++) {
            uint8_t there = d >= nest->item_def[r] - 1;
            l->off[r][count[r]] = (int32_t)count[r + 1];
            l->valid[r][count[r]++] = there;
            if (!there) l->has_null[r] = true;
        }
        uint8_t has = d == nest->max_def;
        slot_valid[slots] = has;
        valid += has;
        slots += d >= slot_def;
        count[depth + 1] += d >= slot_def;
    }
    *n_slots = slots;
    *n_valid = valid;
    return NULL;
}
