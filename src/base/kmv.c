/*
 * kmv.c - see kmv.h.
 */
#include "base/kmv.h"

#include <string.h>

void cr_kmv_init(cr_kmv *k, int cap, cr_arena *a) {
    *k = (cr_kmv){.v = CR_NEW_N(a, uint64_t, cap), .cap = cap, .limit = UINT64_MAX};
}

void cr_kmv_put(cr_kmv *k, uint64_t hash) {
    int a = 0, z = k->n;
    while (a < z) {
        int m = (a + z) / 2;
        if (k->v[m] < hash)
            a = m + 1;
        else
            z = m;
    }
    if (a < k->n && k->v[a] == hash) return;
    bool full = k->n == k->cap;
    k->more |= full;
    if (full && a == k->n) return;
    if (!full) k->n++;
    memmove(k->v + a + 1, k->v + a, sizeof(*k->v) * (size_t)(k->n - 1 - a));
    k->v[a] = hash;
    if (k->n == k->cap) k->limit = k->v[k->n - 1];
}

void cr_kmv_join(cr_kmv *k, const cr_kmv *other) {
    for (int i = 0; i < other->n; i++)
        cr_kmv_add(k, other->v[i]);
    k->more |= other->more;
}

double cr_kmv_count(const cr_kmv *k, bool *exact) {
    *exact = !k->more;
    if (*exact) return k->n;
    double share = (double)k->v[k->cap - 1] / 0x1p64;
    return (k->cap - 1) / share;
}
