/*
 * kmv.c - see kmv.h. A hash of 0 counts as 1, because 0 stands for an empty slot.
 */
#include "base/kmv.h"

#include <string.h>

void cr_kmv_init(cr_kmv *k, int cap, cr_arena *a) {
    uint64_t slots = 1;
    while (slots < 2 * (uint64_t)cap)
        slots *= 2;
    *k = (cr_kmv){.slots = CR_NEW_N(a, uint64_t, slots),
                  .mask = slots - 1,
                  .cap = cap,
                  .limit = UINT64_MAX};
}

/* Puts the hash into the table; false: it is there. */
static bool insert(cr_kmv *k, uint64_t hash) {
    uint64_t i = hash & k->mask;
    for (; k->slots[i]; i = (i + 1) & k->mask)
        if (k->slots[i] == hash) return false;
    k->slots[i] = hash;
    return true;
}

/* Brings the `most` smallest of n different numbers to the front. */
static void select_least(uint64_t *v, int n, int most) {
    int from = 0, to = n; /* all before `from` belong there, none from `to` on */
    while (from < most && most < to) {
        uint64_t pivot = v[from + (to - from) / 2];
        int i = from, j = to - 1;
        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i > j) break;
            uint64_t t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
        if (most <= j + 1)
            to = j + 1;
        else if (most >= i)
            from = i;
        else
            break;
    }
}

/* Returns the hashes, the cap smallest in front, and the largest of these; the caller frees them.
 */
static uint64_t *listed(const cr_kmv *k, uint64_t *largest) {
    uint64_t *v = cr_alloc(sizeof(*v) * (size_t)(k->n + 1), "hashes");
    int n = 0;
    for (uint64_t i = 0; i <= k->mask; i++) {
        v[n] = k->slots[i];
        n += k->slots[i] != 0;
    }
    select_least(v, n, k->cap);
    *largest = 0;
    for (int i = 0; i < n && i < k->cap; i++)
        *largest = v[i] > *largest ? v[i] : *largest;
    return v;
}

static void drop_largest(cr_kmv *k) {
    uint64_t *v = listed(k, &k->limit);
    memset(k->slots, 0, sizeof(*k->slots) * (size_t)(k->mask + 1));
    for (int i = 0; i < k->cap; i++)
        insert(k, v[i]);
    k->n = k->cap;
    k->more = true;
    cr_free(v);
}

void cr_kmv_put(cr_kmv *k, uint64_t hash) {
    if (!insert(k, hash | (hash == 0))) return;
    if (++k->n > k->cap + k->cap / 2) drop_largest(k);
}

void cr_kmv_add_all(cr_kmv *k, uint64_t *v, int n) {
    int small = 0;
    for (int i = 0; i < n; i++) {
        uint64_t hash = v[i];
        v[small] = hash;
        small += hash <= k->limit;
    }
    k->more |= small < n;
    for (int i = 0; i < small; i++)
        cr_kmv_add(k, v[i]);
}

void cr_kmv_join(cr_kmv *k, const cr_kmv *other) {
    for (uint64_t i = 0; i <= other->mask; i++)
        if (other->slots[i]) cr_kmv_add(k, other->slots[i]);
    k->more |= other->more;
}

double cr_kmv_count(const cr_kmv *k, bool *exact) {
    uint64_t largest;
    *exact = !k->more && k->n <= k->cap;
    if (*exact) return k->n;
    cr_free(listed(k, &largest));
    return (k->cap - 1) / ((double)largest / 0x1p64);
}
