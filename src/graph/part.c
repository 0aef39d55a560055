/*
 * part.c - see part.h: the nodes of the lane tree that each holder owns, and the rest of the tree.
 */
#include "graph/part.h"

#include <string.h>

/* add_nodes adds the largest whole subtrees inside lanes [from, to). */
static void add_nodes(cr_lanes *t, int from, int to) {
    while (from < to) {
        int n = 1;
        while (from % (2 * n) == 0 && from + 2 * n <= to)
            n *= 2;
        t->node[t->n_nodes].lane = from;
        t->node[t->n_nodes++].n = n;
        from += n;
    }
}

/* add_joins lists the additions of ((0+1)+(2+3))+((4+5)+(6+7)) that lie above the nodes, from the
 * leaves up. */
static void add_joins(cr_lanes *t) {
    /* indexed by first lane: the node, and how many lanes it has */
    int at[CR_MAX_LANES], width[CR_MAX_LANES] = {0};
    for (int k = 0; k < t->n_nodes; k++) {
        at[t->node[k].lane] = k;
        width[t->node[k].lane] = t->node[k].n;
    }
    for (int n = 1; n < t->all; n *= 2)
        for (int l = 0; l < t->all; l += 2 * n) {
            if (width[l] != n) continue; /* one node holds both halves */
            t->join[t->n_joins].to = at[l];
            t->join[t->n_joins++].from = at[l + n];
            width[l] = 2 * n;
        }
}

int cr_meet_keepers(const cr_meet *meet, int *list) {
    int n = 0;
    for (int h = 0; h < meet->n; h++)
        if (!meet->serves || meet->serves[h]) list[n++] = h;
    return n;
}

int cr_meet_first(const cr_meet *meet) {
    int h = 0;
    while (meet->gone && meet->gone[h])
        h++;
    return h;
}

void cr_lanes_init(cr_lanes *t, int all, const cr_meet *meet, cr_arena *arena) {
    CR_ASSERT(all >= 1 && all <= CR_MAX_LANES && (all & (all - 1)) == 0);
    memset(t, 0, sizeof(*t));
    t->all = all;
    t->meet = meet;
    if (!meet) {
        t->n = all;
        add_nodes(t, 0, all);
        t->n_mine = 1;
        return;
    }
    CR_ASSERT(meet->lane[0] == 0 && meet->lane[meet->n] == all);
    t->first = meet->lane[meet->self];
    t->n = meet->lane[meet->self + 1] - t->first;
    t->node0 = CR_NEW_N(arena, int, meet->n + 1);
    for (int h = 0; h < meet->n; h++) {
        t->node0[h] = t->n_nodes;
        add_nodes(t, meet->lane[h], meet->lane[h + 1]);
    }
    t->node0[meet->n] = t->n_nodes;
    t->mine = t->node0[meet->self];
    t->n_mine = t->node0[meet->self + 1] - t->mine;
    add_joins(t);
}

int64_t cr_lanes_row0(const cr_lanes *t, int64_t n) {
    return cr_lane_begin(n, t->all, t->first);
}

int64_t cr_lanes_rows(const cr_lanes *t, int64_t n) {
    return cr_lane_begin(n, t->all, t->first + t->n) - cr_lanes_row0(t, n);
}

int64_t cr_lanes_max_rows(const cr_lanes *t, int64_t n) {
    return t->n == t->all ? n : t->n * ((n + t->all - 1) / t->all);
}

/* gather: `at` tells where the items of each holder begin, as numbers of items. */
static void gather(const cr_lanes *t, void *v, size_t *at, size_t size) {
    for (int h = 0; h <= t->meet->n; h++)
        at[h] *= size;
    t->meet->gather(t->meet->ctx, v, at);
}

void cr_lanes_gather(const cr_lanes *t, void *v, int64_t n, size_t size) {
    if (!t->meet || n == 0) return;
    size_t at[CR_MAX_LANES + 1];
    for (int h = 0; h <= t->meet->n; h++)
        at[h] = (size_t)t->node0[h] * (size_t)n;
    gather(t, v, at, size);
}

void cr_lanes_gather_rows(const cr_lanes *t, void *rows, int64_t n, size_t size) {
    if (!t->meet) return;
    size_t at[CR_MAX_LANES + 1];
    for (int h = 0; h <= t->meet->n; h++)
        at[h] = (size_t)cr_lane_begin(n, t->all, t->meet->lane[h]);
    gather(t, rows, at, size);
}

void cr_lanes_add_f64(double *v, int lanes, int64_t stride, int64_t n) {
    for (int step = 1; step < lanes; step *= 2)
        for (int l = 0; l < lanes; l += 2 * step)
            for (int64_t i = 0; i < n; i++)
                v[l * stride + i] += v[(l + step) * stride + i];
}

void cr_lanes_join_f64(const cr_lanes *t, double *v, int64_t n) {
    for (int k = 0; k < t->n_joins; k++) {
        double *to = v + t->join[k].to * n;
        const double *from = v + t->join[k].from * n;
        for (int64_t i = 0; i < n; i++)
            to[i] += from[i];
    }
}

void cr_lanes_sum_f64(const cr_lanes *t, double *v, int64_t n) {
    double *nodes = v + t->n * n;
    for (int k = t->mine; k < t->mine + t->n_mine; k++) {
        double *s = v + (t->node[k].lane - t->first) * n;
        cr_lanes_add_f64(s, t->node[k].n, n, n);
        memcpy(nodes + k * n, s, (size_t)n * sizeof(double));
    }
    cr_lanes_gather(t, nodes, n, sizeof(double));
    cr_lanes_join_f64(t, nodes, n);
    memcpy(v, nodes, (size_t)n * sizeof(double));
}
