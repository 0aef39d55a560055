/*
 * kmv.h - how many different values there are, in bounded memory: the k smallest different hashes.
 *
 * With fewer than k values all of their hashes are there, and the count is exact. With d values the
 * k-th smallest of d even hashes lies near k/d. The count does not depend on the order of the
 * values, nor on how they were divided among several sets that are joined later.
 *
 * The hashes are a hash table without an order, which takes half as many again as are wanted before
 * the largest are dropped: a value that is known already costs one look at the table.
 */
#ifndef CR_BASE_KMV_H
#define CR_BASE_KMV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

typedef struct cr_kmv {
    uint64_t *slots; /* hashes, each in the first free slot from its lowest bits on; 0: empty */
    uint64_t mask;   /* number of slots - 1 */
    int n, cap;      /* n: up to cap + cap / 2, of which the cap smallest count */
    bool more;       /* there were larger hashes, which were not kept */
    uint64_t limit;  /* larger hashes than this one are not kept */
} cr_kmv;

/* cr_kmv_init takes room for cap hashes from the arena. */
void cr_kmv_init(cr_kmv *k, int cap, cr_arena *a);
/* cr_kmv_put adds a hash that may be small enough; cr_kmv_add calls it. */
void cr_kmv_put(cr_kmv *k, uint64_t hash);
static inline void cr_kmv_add(cr_kmv *k, uint64_t hash) {
    if (hash > k->limit)
        k->more = true;
    else
        cr_kmv_put(k, hash);
}
/* cr_kmv_add_all adds n hashes. It changes the order of v and is faster than adding one by one:
 * whether a hash is small enough cannot be predicted where a fair share of them is. */
void cr_kmv_add_all(cr_kmv *k, uint64_t *v, int n);
void cr_kmv_join(cr_kmv *k, const cr_kmv *other);
/* cr_kmv_count returns the number of different hashes; *exact: it is no estimate. With cap 1,024
 * an estimate is right within about 3 %. */
double cr_kmv_count(const cr_kmv *k, bool *exact);

#endif
