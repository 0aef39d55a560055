/*
 * body_lanes.c - the gradients of table rows: rows of a matrix, given by entries, are summed inside
 * a lane in order and over lanes by a balanced tree (list.h). The sum of an id stays in registers
 * until it is whole; most ids have one entry or two.
 */
#include "base/mem.h"
#include "kern/kern_int.h"

enum { VW = 16, NV = 4, LEVELS = 10, AHEAD = 16 };
_Static_assert(1 << LEVELS == CR_ENTRY_LANES, "the tree has a level for every bit of a lane");
typedef float vec __attribute__((vector_size(64), aligned(4)));

#define load(p)     (*(const vec *)(const void *)(p))
#define store(p, v) (*(vec *)(void *)(p) = (v))

/* The arguments of lane_sums, for the columns from d on. */
typedef struct sums {
    const float *const *x;
    const int64_t *ld;
    int lane0;
    const uint8_t *const *shared;
    int64_t d;
} sums;

CR_INLINE const float *row_of(const sums *a, cr_entry e) {
    uint32_t s = cr_entry_slot(e);
    return a->x[s] + (int64_t)e.row * a->ld[s] + a->d;
}

/* Is entry i, of the same lane as the one before it, part of that one's sum? */
CR_INLINE bool is_counted(const sums *a, const cr_entry *e, int64_t i) {
    if (!a->shared || e[i].at != e[i - 1].at) return false;
    const uint8_t *lanes = a->shared[cr_entry_slot(e[i])];
    return lanes && lanes[cr_entry_lane(e[i])];
}

/* A partial sum: nv vectors or, where nv is 0, w floats. */
typedef union part {
    vec v[NV];
    float f[VW];
} part;

CR_INLINE void set(const int nv, int64_t w, part *s, const float *r) {
    EACH(v, nv) {
        s->v[v] = load(r + v * VW);
    }
    for (int64_t j = 0; nv == 0 && j < w; j++)
        s->f[j] = r[j];
}
CR_INLINE void add(const int nv, int64_t w, part *s, const float *r) {
    EACH(v, nv) {
        s->v[v] += load(r + v * VW);
    }
    for (int64_t j = 0; nv == 0 && j < w; j++)
        s->f[j] += r[j];
}
CR_INLINE void join(const int nv, int64_t w, part *s, const part *left) {
    EACH(v, nv) {
        s->v[v] = left->v[v] + s->v[v];
    }
    for (int64_t j = 0; nv == 0 && j < w; j++)
        s->f[j] = left->f[j] + s->f[j];
}
CR_INLINE void get(const int nv, int64_t w, float *out, const part *s) {
    EACH(v, nv) {
        store(out + v * VW, s->v[v]);
    }
    for (int64_t j = 0; nv == 0 && j < w; j++)
        out[j] = s->f[j];
}

/* Sums the n entries of one id. Lanes come in order, so a stack holds the sums of finished
 * subtrees: two neighbours meet at the highest bit in which their lanes differ, and those that meet
 * below that bit are added first. */
CR_INLINE void one_id(const int nv, int64_t w, float *out, const sums *a, const cr_entry *e,
                      int64_t n) {
    part s, stack[LEVELS];
    int level[LEVELS], top = 0;
    set(nv, w, &s, row_of(a, e[0]));
    for (int64_t i = 1; i < n; i++) {
        uint32_t p = (uint32_t)a->lane0 + cr_entry_lane(e[i - 1]),
                 q = (uint32_t)a->lane0 + cr_entry_lane(e[i]);
        const float *r = row_of(a, e[i]);
        if (p == q) {
            if (!is_counted(a, e, i)) add(nv, w, &s, r);
            continue;
        }
        int bit = 31 - __builtin_clz(p ^ q);
        while (top > 0 && level[top - 1] < bit)
            join(nv, w, &s, &stack[--top]);
        get(nv, w, stack[top].f, &s);
        level[top++] = bit;
        set(nv, w, &s, r);
    }
    while (top > 0)
        join(nv, w, &s, &stack[--top]);
    get(nv, w, out, &s);
}

CR_INLINE void ids(const int nv, float *out, const sums *a, const cr_entry *e, const uint32_t *seg,
                   int64_t n, int64_t end, int64_t D) {
    for (int64_t u = 0; u < n; u++, out += D) {
        int64_t i = seg[u], last = seg[u + 1];
        for (int64_t k = i; k < last && k + AHEAD < end; k++) {
            const float *r = row_of(a, e[k + AHEAD]);
            __builtin_prefetch(r);
            __builtin_prefetch(r + D - 1);
        }
        one_id(nv, D, out, a, e + i, last - i);
    }
}

/* Rows of any width: 64 columns at a time, then 16, then the rest. */
static void wide(float *out, const sums *a, const cr_entry *e, const uint32_t *seg, int64_t n,
                 int64_t end, int64_t D) {
    for (int64_t u = 0; u < n; u++, out += D) {
        int64_t i = seg[u], last = seg[u + 1];
        sums b = *a;
        for (int64_t k = i; k < last && k + AHEAD < end; k++)
            cr_fetch(row_of(a, e[k + AHEAD]), D * (int64_t)sizeof(float), true);
        for (; b.d + NV * VW <= D; b.d += NV * VW)
            one_id(NV, 0, out + b.d, &b, e + i, last - i);
        for (; b.d + VW <= D; b.d += VW)
            one_id(1, 0, out + b.d, &b, e + i, last - i);
        if (b.d < D) one_id(0, D - b.d, out + b.d, &b, e + i, last - i);
    }
}

void KERN(lane_sums)(float *out, const float *const *x, const int64_t *ld, const cr_entry *e,
                     const uint32_t *seg, int64_t n, int64_t end, int lane0,
                     const uint8_t *const *shared, int64_t D) {
    sums a = {x, ld, lane0, shared, 0};
    switch (D) {
    case 1: ids(0, out, &a, e, seg, n, end, D); break;
    case 4: ids(0, out, &a, e, seg, n, end, D); break;
    case 8: ids(0, out, &a, e, seg, n, end, D); break;
    case VW: ids(1, out, &a, e, seg, n, end, D); break;
    case 2 * VW: ids(2, out, &a, e, seg, n, end, D); break;
    case 4 * VW: ids(4, out, &a, e, seg, n, end, D); break;
    default: wide(out, &a, e, seg, n, end, D);
    }
}
