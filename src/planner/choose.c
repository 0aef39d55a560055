/*
 * choose.c - which table goes where: greedy, then improved.
 *
 * The goal is the time of the slowest rank, with memory as a limit. Tables are placed one after the
 * other, those that cost most first; each in the way that leaves the slowest rank fastest at that
 * moment. Then tables are placed again, and pairs of them swapped, as long as that helps. Simple
 * plans (everything by rows, everything everywhere) are tried too. All ties are broken by numbers,
 * so that the result depends on the input alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner_int.h"

#define MOST_OPTIONS 24
#define WORK         3e6  /* ranks looked at while improving, and half of all for each table */
#define COPY_SHARE   0.02 /* of a rank's memory: the most that a table may have to lie everywhere */
#define COPY_BYTES   64e6 /* the same where memory has no limit */
#define COPY_LEAST   1e6  /* and what is always small */
#define PASSES       12   /* over all tables while improving */
#define SMALL        1e6  /* tables times ranks */

/* How good a state is: bytes beyond the memory of ranks, seconds of the slowest rank, and of all.
 */
typedef struct score {
    double over, slowest, sum;
} score;

static score score_of(const cr_planner_state *s) {
    score c = {0, 0, 0};
    const cr_planner_machine *m = s->m;
    double limit = m->memory > 0 ? m->memory : HUGE_VAL;
    for (int node = 0; node < s->nodes; node++) {
        cr_planner_load base = s->all;
        cr_planner_put(&base, &s->node[node], 1);
        int r = node * m->per_node, end = r + cr_planner_node_size(m, node);
        for (; r < end; r++) {
            cr_planner_load l = base;
            cr_planner_put(&l, &s->rank[r], 1);
            double t = cr_planner_seconds(s, &l);
            if (t > c.slowest) c.slowest = t;
            c.sum += t;
            if (l.memory > limit) c.over += l.memory - limit;
        }
    }
    c.slowest += cr_planner_messages(s, 0);
    return c;
}

static int compare(double a, double b) {
    double least = 1e-9 * (fabs(a) + fabs(b));
    return a < b - least ? -1 : a > b + least;
}

static bool better(const score *a, const score *b) {
    int c = compare(a->over, b->over);
    if (c == 0) c = compare(a->slowest, b->slowest);
    if (c == 0) c = compare(a->sum, b->sum);
    return c < 0;
}

/* ---- options of one table ---- */

/* Where tables begin that are cut over all ranks: neighbours in number begin far from each other,
 * and their low ids, which are often the popular ones, lie with different ranks. */
static int rotated(int number, int n) {
    return (int)(((uint64_t)number * 0x9E3779B97F4A7C15U >> 32) * (uint64_t)n >> 32);
}

static int at_most(int64_t n, int most) {
    return n < most ? (int)n : most;
}

static bool allowed(const cr_planner_table *t, cr_shard_kind kind) {
    return (t->kinds & 1U << kind) != 0;
}

/* Small tables only: what the copies of a large one cost besides a step (memory, first values,
 * checkpoints) is not in the estimate. */
bool cr_planner_may_copy(const cr_planner_machine *m, const cr_planner_table *t) {
    double limit = m->memory > 0 ? COPY_SHARE * m->memory : COPY_BYTES;
    if (limit < COPY_LEAST) limit = COPY_LEAST;
    if (t->kinds == 1U << CR_DATA_PARALLEL) return true;
    return allowed(t, CR_DATA_PARALLEL) && (double)t->n_rows * (double)t->row_bytes <= limit;
}

/* The most ranges of columns that a table of width D can have; their bounds are multiples of 4. */
static int most_cols(int64_t D, int ranks) {
    return at_most((D + 3) / 4, ranks);
}

cr_planned cr_planner_leanest(const cr_planner_machine *m, const cr_planner_table *t, int number) {
    int P = m->ranks, Q = m->per_node < P ? m->per_node : P, nodes = (P + Q - 1) / Q;
    int node = rotated(number, nodes), size = cr_planner_node_size(m, node);
    if (allowed(t, CR_ROW_WISE))
        return (cr_planned){CR_ROW_WISE, rotated(number, P), at_most(t->n_rows, P), 0};
    if (allowed(t, CR_GRID_SHARD) && P % Q == 0) {
        int n_cols = most_cols(t->D, nodes);
        return (cr_planned){CR_GRID_SHARD, node * Q, n_cols * Q, n_cols};
    }
    if (allowed(t, CR_TABLE_ROW_WISE))
        return (cr_planned){CR_TABLE_ROW_WISE, node * Q + rotated(number, size),
                            at_most(t->n_rows, size), 0};
    if (allowed(t, CR_COLUMN_WISE))
        return (cr_planned){CR_COLUMN_WISE, rotated(number, P), most_cols(t->D, P), 0};
    if (allowed(t, CR_TABLE_COLUMN_WISE))
        return (cr_planned){CR_TABLE_COLUMN_WISE, node * Q + rotated(number, size),
                            most_cols(t->D, size), 0};
    if (allowed(t, CR_TABLE_WISE)) return (cr_planned){CR_TABLE_WISE, rotated(number, P), 1, 0};
    return (cr_planned){CR_DATA_PARALLEL, 0, 0, 0};
}

/* The rank and the machine with the least work that have room, or else with the most room. */
typedef struct places {
    int rank, node;
} places;

static places find_places(const cr_planner_state *s, double rank_bytes, int64_t number) {
    const cr_planner_machine *m = s->m;
    int P = m->ranks, start = rotated((int)number, P);
    double best = HUGE_VAL, best_node = HUGE_VAL;
    places p = {0, 0};
    bool found = false, found_node = false;
    double *sum = s->node_sum, *full = s->node_full;
    memset(sum, 0, (size_t)s->nodes * sizeof(*sum));
    memset(full, 0, (size_t)s->nodes * sizeof(*full));
    for (int i = 0; i < P; i++) {
        int r = start + i < P ? start + i : start + i - P, node = r / m->per_node;
        cr_planner_load l = cr_planner_load_of(s, r);
        double t = cr_planner_seconds(s, &l);
        bool room = m->memory <= 0 || l.memory + rank_bytes <= m->memory;
        double key = room ? t : l.memory;
        if (room > found || (room == found && key < best * (1 - 1e-9))) {
            best = key;
            p.rank = r;
            found = room;
        }
        sum[node] += t;
        full[node] += l.memory;
    }
    for (int i = 0; i < s->nodes; i++) {
        int node = (start / m->per_node + i) % s->nodes, size = cr_planner_node_size(m, node);
        bool room = m->memory <= 0 || full[node] + rank_bytes <= m->memory * size;
        double key = (room ? sum[node] : full[node]) / size;
        if (room > found_node || (room == found_node && key < best_node * (1 - 1e-9))) {
            best_node = key;
            p.node = node;
            found_node = room;
        }
    }
    return p;
}

/* The ways to place a table beside those that are placed already. A table that may be cut by rows
 * is not cut by columns: each id would go to all holders of its row instead of to one. */
static int options(const cr_planner_state *s, int t, cr_planned *out) {
    const cr_planner_table *v = &s->j->tables[t];
    const cr_planner_machine *m = s->m;
    int P = m->ranks, Q = m->per_node < P ? m->per_node : P, n = 0;
    places at = find_places(s, (double)v->n_rows * (double)v->row_bytes, t);
    int node = at.node * Q, size = cr_planner_node_size(m, at.node), turn = rotated(t, size);
    bool skewed = v->ordered && v->zipf > 0;
    if (cr_planner_may_copy(m, v)) out[n++] = (cr_planned){CR_DATA_PARALLEL, 0, 0, 0};
    if (allowed(v, CR_TABLE_WISE)) out[n++] = (cr_planned){CR_TABLE_WISE, at.rank, 1, 0};
    if (allowed(v, CR_ROW_WISE))
        out[n++] =
            (cr_planned){CR_ROW_WISE, skewed ? at.rank : rotated(t, P), at_most(v->n_rows, P), 0};
    if (allowed(v, CR_TABLE_ROW_WISE) && (s->nodes > 1 || !allowed(v, CR_ROW_WISE)))
        out[n++] = (cr_planned){CR_TABLE_ROW_WISE, node + turn, at_most(v->n_rows, size), 0};
    if (allowed(v, CR_ROW_WISE) || allowed(v, CR_TABLE_ROW_WISE)) return n;
    for (int k = 2; allowed(v, CR_COLUMN_WISE) && n < MOST_OPTIONS / 2; k *= 2) {
        int most = most_cols(v->D, P);
        out[n++] = (cr_planned){CR_COLUMN_WISE, at.rank, k < most ? k : most, 0};
        if (k >= most) break;
    }
    for (int k = 2; allowed(v, CR_TABLE_COLUMN_WISE) && n < MOST_OPTIONS - 4; k *= 2) {
        int most = most_cols(v->D, size);
        out[n++] = (cr_planned){CR_TABLE_COLUMN_WISE, node + turn, k < most ? k : most, 0};
        if (k >= most) break;
    }
    if (allowed(v, CR_GRID_SHARD) && P % Q == 0) {
        int n_cols = most_cols(v->D, s->nodes);
        out[n++] = (cr_planned){CR_GRID_SHARD, node, n_cols * Q, n_cols};
        if (n_cols > 1) out[n++] = (cr_planned){CR_GRID_SHARD, node, Q, 1};
    }
    if (n == 0) out[n++] = cr_planner_leanest(m, v, t);
    return n;
}

/* Adds table t in the best way; it was not in the state. */
static score place(cr_planner_state *s, int t, cr_planned *out) {
    cr_planned v[MOST_OPTIONS];
    int n = options(s, t, v), best = 0;
    score least = {0, 0, 0};
    for (int i = 0; i < n; i++) {
        cr_planner_add(s, t, &v[i], 1);
        score c = score_of(s);
        if (i == 0 || better(&c, &least)) least = c, best = i;
        cr_planner_add(s, t, &v[i], -1);
    }
    *out = v[best];
    cr_planner_add(s, t, out, 1);
    return least;
}

/* ---- the order of tables ---- */

typedef struct item {
    int t;
    double key;
} item;

static int by_key(const void *a, const void *b) {
    const item *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? 1 : -1) : x->t - y->t;
}

static item *order_of(const cr_planner_state *s, cr_arena *a) {
    const cr_planner_job *j = s->j;
    item *v = CR_NEW_N(a, item, j->n + 1);
    double bytes = 0, traffic = 0;
    for (int t = 0; t < j->n; t++) {
        bytes += (double)j->tables[t].n_rows * (double)j->tables[t].row_bytes;
        traffic += s->trait[t].u * (double)j->tables[t].D;
    }
    for (int t = 0; t < j->n; t++) {
        double mine = (double)j->tables[t].n_rows * (double)j->tables[t].row_bytes;
        double moved = s->trait[t].u * (double)j->tables[t].D;
        v[t] = (item){t, (bytes > 0 ? mine / bytes : 0) + (traffic > 0 ? moved / traffic : 0)};
    }
    qsort(v, (size_t)j->n, sizeof(*v), by_key);
    return v;
}

/* ---- improving ---- */

static void swap_in(cr_planner_state *s, cr_planned *plan, int a, int b) {
    cr_planner_add(s, a, &plan[a], -1);
    cr_planner_add(s, b, &plan[b], -1);
    int first = plan[a].first;
    plan[a].first = plan[b].first;
    plan[b].first = first;
    cr_planner_add(s, a, &plan[a], 1);
    cr_planner_add(s, b, &plan[b], 1);
}

/* Swaps a table of the slowest rank with one of another rank where that helps. */
static bool swap_some(cr_planner_state *s, cr_planned *plan, score *now, double *work) {
    int slowest = 0;
    double most = -1;
    for (int r = 0; r < s->m->ranks; r++) {
        cr_planner_load l = cr_planner_load_of(s, r);
        double t = cr_planner_seconds(s, &l);
        if (t > most) most = t, slowest = r;
    }
    for (int a = 0; a < s->j->n; a++) {
        if (plan[a].kind != CR_TABLE_WISE || plan[a].first != slowest) continue;
        for (int b = 0; b<s->j->n && * work> 0; b++) {
            if (plan[b].kind != CR_TABLE_WISE || plan[b].first == slowest) continue;
            swap_in(s, plan, a, b);
            *work -= s->m->ranks;
            score c = score_of(s);
            if (better(&c, now)) {
                *now = c;
                return true;
            }
            swap_in(s, plan, a, b);
        }
    }
    return false;
}

static score improve(cr_planner_state *s, const item *order, cr_planned *plan) {
    double work = WORK + 0.5 * s->j->n * s->m->ranks;
    score now = score_of(s);
    bool changed = true;
    for (int pass = 0; pass < PASSES && changed && work > 0; pass++) {
        changed = false;
        for (int i = 0; i < s->j->n && work > 0; i++) {
            int t = order[i].t;
            cr_planned was = plan[t], next;
            cr_planner_add(s, t, &was, -1);
            score c = place(s, t, &next);
            work -= 6.0 * s->m->ranks;
            if (better(&c, &now)) {
                plan[t] = next;
                now = c;
                changed = true;
                continue;
            }
            cr_planner_add(s, t, &next, -1);
            cr_planner_add(s, t, &was, 1);
        }
        while (swap_some(s, plan, &now, &work))
            changed = true;
    }
    return now;
}

/* ---- plans to begin with ---- */

typedef enum start { GREEDY, LEAN, COPIES, STARTS } start;

static score begin_with(cr_planner_state *s, start how, const item *order, cr_planned *plan) {
    score c = {0, 0, 0};
    cr_planner_reset(s);
    for (int i = 0; i < s->j->n; i++) {
        int t = order[i].t;
        const cr_planner_table *v = &s->j->tables[t];
        if (how == GREEDY) {
            c = place(s, t, &plan[t]);
            continue;
        }
        plan[t] = how == COPIES && cr_planner_may_copy(s->m, v)
                      ? (cr_planned){CR_DATA_PARALLEL, 0, 0, 0}
                      : cr_planner_leanest(s->m, v, t);
        cr_planner_add(s, t, &plan[t], 1);
    }
    return how == GREEDY && s->j->n > 0 ? c : score_of(s);
}

void cr_planner_choose(const cr_planner_job *j, const cr_planner_machine *m, cr_arena *a,
                       cr_planner_result *out) {
    memset(out, 0, sizeof(*out));
    out->tables = CR_NEW_N(a, cr_planned, j->n + 1); /* zeros: all data_parallel */
    if (m->ranks > 1 && j->n > 0) {
        cr_planner_state s;
        cr_planner_begin(&s, j, m, a);
        const item *order = order_of(&s, a);
        cr_planned *plan = CR_NEW_N(a, cr_planned, j->n);
        score best = {0, 0, 0};
        for (start how = 0; how < STARTS; how++) {
            score c = begin_with(&s, how, order, plan);
            /* a simple plan of a large job is taken as it is, or not at all */
            if (how == GREEDY || (double)j->n * m->ranks < SMALL) c = improve(&s, order, plan);
            if (how > 0 && !better(&c, &best)) continue;
            best = c;
            memcpy(out->tables, plan, (size_t)j->n * sizeof(*plan));
        }
    }
    cr_planner_judge(j, m, a, out);
    if (out->fits || m->ranks == 1) return;
    for (int t = 0; t < j->n; t++) /* what comes closest to the memory that there is */
        out->tables[t] = cr_planner_leanest(m, &j->tables[t], t);
    cr_planner_judge(j, m, a, out);
}
