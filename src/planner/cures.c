/*
 * cures.c - what would make a training fit whose tables do not fit into the memory of its ranks.
 *
 * Each cure is tried with the plan that takes the least memory: every table cut over as many ranks
 * as its constraints allow.
 */
#include "planner/planner_int.h"

#define MOST_RANKS (1 << 16)

/* The memory of the fullest rank. */
static double lean_memory(const cr_planner_job *j, const cr_planner_machine *m) {
    cr_arena a;
    cr_planner_result r = {0};
    cr_arena_init(&a, 0);
    r.tables = CR_NEW_N(&a, cr_planned, j->n + 1);
    for (int t = 0; t < j->n && m->ranks > 1; t++)
        r.tables[t] = cr_planner_leanest(m, &j->tables[t], t);
    cr_planner_judge(j, m, &a, &r);
    double most = r.ranks[r.fullest_rank].memory;
    cr_arena_clear(&a);
    return most;
}

/* The fewest machines with which it fits; the global batch grows with them. 0: no number of them
 * is enough. */
static int ranks_needed(const cr_planner_job *j, const cr_planner_machine *m) {
    cr_planner_machine more = *m;
    int per = m->per_node < m->ranks ? m->per_node : m->ranks, lo = 1, hi = 1;
    for (;; lo = hi, hi *= 2) { /* hi machines fit, lo do not */
        if ((int64_t)hi * per > MOST_RANKS) return 0;
        more.ranks = hi * per;
        more.per_node = per;
        if (lean_memory(j, &more) <= m->memory) break;
    }
    if (hi == 1) return per;
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        more.ranks = mid * per;
        if (lean_memory(j, &more) <= m->memory)
            hi = mid;
        else
            lo = mid;
    }
    return hi * per;
}

static bool smaller_fits(const cr_planner_job *j, const cr_planner_machine *m, bool half,
                         bool no_state) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_planner_job small = *j;
    cr_planner_table *v = CR_NEW_N(&a, cr_planner_table, j->n + 1);
    for (int t = 0; t < j->n; t++) {
        v[t] = j->tables[t];
        int64_t weights = v[t].D * v[t].weight_bytes;
        if (no_state && v[t].row_bytes > weights + 4) v[t].row_bytes = weights + 4;
        if (half && v[t].weight_bytes == 4) v[t].row_bytes -= 2 * v[t].D, v[t].weight_bytes = 2;
    }
    small.tables = v;
    bool fits = lean_memory(&small, m) <= m->memory;
    cr_arena_clear(&a);
    return fits;
}

cr_planner_cures cr_planner_find_cures(const cr_planner_job *j, const cr_planner_machine *m) {
    cr_planner_cures c = {.memory = lean_memory(j, m)};
    cr_planner_job none = *j;
    none.n = 0;
    c.fixed = lean_memory(&none, m);
    c.half = smaller_fits(j, m, true, false);
    c.no_state = smaller_fits(j, m, false, true);
    c.both = smaller_fits(j, m, true, true);
    if (c.fixed < m->memory) c.ranks = ranks_needed(j, m);
    return c;
}
