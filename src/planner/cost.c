/*
 * cost.c - what a table costs with a placing: bytes that travel, seconds of computing, memory.
 *
 * The exchange that is counted (docs/design/planner.md): each distinct id of a rank's batch goes to
 * the holder of its row, the row comes back, and one gradient part per distinct id and node of the
 * lane tree follows. A data_parallel table sends nothing before the step; the gradient parts of all
 * ranks go to all of them afterwards. Formulas stand beside the code; the constants were measured
 * (tools/plan_check.py compares predictions with measured steps).
 */
#include <math.h>
#include <string.h>

#include "planner/planner_int.h"

/* Seconds on one core of an AMD EPYC (Zen 4), measured with crank bench train; those of the
 * exchange (STAGE and below) are estimates. */
#define GROUP  12e-9 /* an id is sorted among those of its batch */
#define LOOK   4e-9  /* an id is looked up; without what its bytes cost, as all of these */
#define REDUCE 4e-9  /* the gradient of an id is added to a sum */
#define UPDATE 15e-9 /* a row is updated */
#define STAGE  12e-9 /* a row is copied for another rank, or from it */
#define AGAIN  8e-9  /* an id is written again, as the place of its staged row */
#define MERGE  15e-9 /* a gradient part is brought to the others of its id */
#define PIECE  1e-7  /* what one table sends to one rank at once, however little */

/* bytes that go with the ids of one table to one rank: the numbers of ids and of gradient parts */
#define HEAD 16
#define MASK 4 /* bytes that say which nodes of the lane tree have a gradient part of an id */

const cr_planner_machine cr_planner_machine_default = {
    .ranks = 1,
    .per_node = 1,
    .cores = 1,
    .flops = 60e9,
    .stream = 10e9,
    .miss = 20e-9,
    .cache = 4e6,
    .bandwidth = {5e9, 3.2e9},
    .message = {1e-6, 10e-6},
};

int cr_planner_node_size(const cr_planner_machine *m, int node) {
    int first = node * m->per_node, left = m->ranks - first;
    return left < m->per_node ? left : m->per_node;
}

static int node_of(const cr_planner_machine *m, int rank) {
    return rank / m->per_node;
}

/* ---- the lane tree ---- */

/* Adds up the distinct ids of each node of the first rank's lanes: the largest whole subtrees that
 * lie in [lane, end). */
static double parts_of(double draws, double V, double s, int lane, int end, double *nodes) {
    double sum = 0;
    int lanes = end - lane;
    *nodes = 0;
    while (lane < end) {
        int size = 1;
        while (lane % (2 * size) == 0 && lane + 2 * size <= end)
            size *= 2;
        sum += cr_expect_distinct(draws * size / lanes, V, s);
        *nodes += 1;
        lane += size;
    }
    return sum;
}

/* The rank whose lanes make most nodes stands for all. */
static void worst_lanes(int lanes, int ranks, int *lane, int *end) {
    double most = -1, nodes;
    *lane = 0, *end = 1;
    for (int r = 0; r < ranks && lanes >= ranks; r++) {
        int from = (int)((int64_t)lanes * r / ranks), to = (int)((int64_t)lanes * (r + 1) / ranks);
        parts_of(0, 1, 0, from, to, &nodes);
        if (nodes > most) most = nodes, *lane = from, *end = to;
    }
}

/* ---- the dense part ---- */

static cr_planner_load dense_load(const cr_planner_job *j, const cr_planner_machine *m) {
    cr_planner_load l = {0};
    double P = m->ranks, Q = m->per_node < m->ranks ? m->per_node : m->ranks, nodes = 1;
    int lane, end;
    if (j->lanes > 0) {
        worst_lanes(j->lanes, m->ranks, &lane, &end);
        parts_of(0, 1, 0, lane, end, &nodes);
    }
    /* each other rank gets its slice of the gradient, per node, and later a slice of the weights */
    double slice = j->dense_bytes / P * (nodes + 1);
    l.in[0] = l.out[0] = (Q - 1) * slice;
    l.in[1] = l.out[1] = (P - Q) * slice;
    /* the products; the slice with its state is read and written, and weights are packed */
    double stream = m->stream * m->cores;
    l.compute = j->flops * (double)j->batch / (m->flops * m->cores);
    l.compute += (2 * j->dense_planes + 3) * j->dense_bytes / P / stream;
    l.compute += 3 * j->dense_bytes / stream;
    l.memory = j->dense_bytes * (2 + j->dense_planes / P) + j->buffers;
    return l;
}

/* ---- one table ---- */

/* The part of reads that miss the caches. */
static double misses(const cr_planner_machine *m, double bytes) {
    return bytes / (bytes + m->cache);
}

/* Lanes [lane, end) are those of the rank with most nodes. */
static void fill_trait(cr_planner_trait *x, const cr_planner_table *t, const cr_planner_job *j,
                       const cr_planner_machine *m, int lane, int end) {
    double V = (double)t->n_rows, nodes;
    x->draws = t->ids * (double)j->batch;
    x->u = cr_expect_distinct(x->draws, V, t->zipf);
    x->parts = x->u;
    if (end - lane > 1) {
        x->parts = parts_of(x->draws, V, t->zipf, lane, end, &nodes);
        if (nodes > 1) x->mask = MASK;
    }
    x->G = m->ranks == 1 ? x->u : cr_expect_distinct(x->draws * m->ranks, V, t->zipf);
}

void cr_planner_begin(cr_planner_state *s, const cr_planner_job *j, const cr_planner_machine *m,
                      cr_arena *a) {
    memset(s, 0, sizeof(*s));
    s->j = j;
    s->m = m;
    s->nodes = (m->ranks + m->per_node - 1) / m->per_node;
    for (int k = 0; k < 2; k++)
        s->per_byte[k] = 1 / m->bandwidth[k];
    s->trait = CR_NEW_N(a, cr_planner_trait, j->n + 1);
    s->node = CR_NEW_N(a, cr_planner_load, s->nodes);
    s->rank = CR_NEW_N(a, cr_planner_load, m->ranks);
    s->node_sum = CR_NEW_N(a, double, s->nodes);
    s->node_full = CR_NEW_N(a, double, s->nodes);
    s->arena = a;
    int lane = 0, end = 1;
    if (j->lanes > 0 && m->ranks > 1) worst_lanes(j->lanes, m->ranks, &lane, &end);
    for (int t = 0; t < j->n; t++)
        fill_trait(&s->trait[t], &j->tables[t], j, m, lane, end);
    cr_planner_reset(s);
}

/* What every rank does for its own rows of a batch, wherever the tables lie: ids are grouped, rows
 * are pooled into activations, gradients are summed. */
static void add_own(cr_planner_state *s, int t) {
    const cr_planner_table *v = &s->j->tables[t];
    double ids = s->trait[t].draws / s->m->cores, move = 8 * (double)v->D / s->m->stream;
    s->all.compute += ids * (LOOK + move / 2);
    if (!v->trained) return;
    if (!v->grouped) s->all.compute += ids * GROUP;
    s->all.update += ids * (REDUCE + move);
}

void cr_planner_reset(cr_planner_state *s) {
    s->all = dense_load(s->j, s->m);
    memset(s->node, 0, (size_t)s->nodes * sizeof(*s->node));
    memset(s->rank, 0, (size_t)s->m->ranks * sizeof(*s->rank));
    for (int t = 0; t < s->j->n; t++)
        add_own(s, t);
    s->n_copies = s->n_cut = 0;
}

/* Updates of n distinct rows of which a rank has the share `cols` of the columns; n_rows rows are
 * swept when the rule moves all rows. */
static double update_seconds(const cr_planner_state *s, const cr_planner_table *v, double n,
                             double n_rows, double cols) {
    if (!v->trained) return 0;
    double bytes = 2 * (double)v->row_bytes * cols / s->m->stream;
    return (n * (UPDATE + bytes) + (v->every_row ? n_rows * bytes : 0)) / s->m->cores;
}

/* Bytes of an id on its way to a holder of so many rows: ids are counted from the first of them. */
static double id_bytes(double rows) {
    return rows <= UINT32_MAX ? 4 : 8;
}

/* Bytes of the gradients that one rank has of a table's rows, D columns of them: an id of so many
 * bytes with its mask, and its parts. */
static double gradient_bytes(const cr_planner_trait *x, double D, double id) {
    return x->u * (id + x->mask) + x->parts * 4 * D;
}

/* Every rank has the whole table: lookups are local; the gradient parts of all ranks come to all.
 */
static void add_everywhere(cr_planner_state *s, int t, double sign) {
    const cr_planner_table *v = &s->j->tables[t];
    const cr_planner_trait *x = &s->trait[t];
    const cr_planner_machine *m = s->m;
    double P = m->ranks, Q = m->per_node < m->ranks ? m->per_node : m->ranks;
    double V = (double)v->n_rows, D = (double)v->D, bytes = V * (double)v->row_bytes;
    double sent = gradient_bytes(x, D, id_bytes(V)) + HEAD;
    double c = update_seconds(s, v, x->G, V, 1);
    s->all.compute += sign * x->u * m->miss * misses(m, bytes) / m->cores;
    s->all.memory += sign * bytes;
    if (P > 1 && v->trained) {
        c += (P * x->parts * (MERGE + 8 * D / m->stream) + P * PIECE) / m->cores;
        s->all.in[0] += sign * (Q - 1) * sent;
        s->all.out[0] += sign * (Q - 1) * sent;
        s->all.in[1] += sign * (P - Q) * sent;
        s->all.out[1] += sign * (P - Q) * sent;
        s->all.memory += sign * P * sent;
    }
    s->all.update += sign * c;
}

/* One holder's piece of a table: the shares of a rank's distinct ids and of the global batch's that
 * it is asked for, the share of the columns, and how many rows it has. */
typedef struct piece {
    double asked, touched, cols, rows;
} piece;

/* The load of the holder of a piece, as the one who is asked by P ranks (himself among them), of
 * which q are on his machine. ask and answer are the bytes of one asking rank. */
static cr_planner_load holder_load(const cr_planner_state *s, int t, const piece *p, double q,
                                   double ask, double answer) {
    const cr_planner_table *v = &s->j->tables[t];
    const cr_planner_trait *x = &s->trait[t];
    const cr_planner_machine *m = s->m;
    double P = m->ranks, D = (double)v->D * p->cols, stream = m->stream;
    double bytes = p->rows * (double)v->row_bytes * p->cols, rows = P * x->u * p->asked;
    cr_planner_load l = {0};
    l.compute = rows * (STAGE + 2 * v->weight_bytes * D / stream) + 2 * P * PIECE;
    l.compute += (rows < x->G * p->touched ? rows : x->G * p->touched) * m->miss * misses(m, bytes);
    l.compute /= m->cores;
    if (v->trained)
        l.update = (P * x->parts * p->asked * (MERGE + 8 * D / stream) + P * PIECE) / m->cores;
    l.update += update_seconds(s, v, x->G * p->touched, p->rows, p->cols);
    l.in[0] = (q - 1) * ask;
    l.in[1] = (P - q) * ask;
    l.out[0] = (q - 1) * answer;
    l.out[1] = (P - q) * answer;
    l.memory = bytes + P * (ask + answer);
    return l;
}

/* The bytes between one rank and the holder of a piece. */
static void piece_bytes(const cr_planner_state *s, int t, const piece *p, double *ask,
                        double *answer) {
    const cr_planner_table *v = &s->j->tables[t];
    const cr_planner_trait *x = &s->trait[t];
    double D = (double)v->D * p->cols, id = id_bytes(p->rows);
    *ask = HEAD + x->u * p->asked * id;
    if (v->trained) *ask += p->asked * gradient_bytes(x, D, id);
    *answer = x->u * p->asked * v->weight_bytes * D;
}

static void add_piece(cr_planner_state *s, int t, const piece *p, int holder, double sign) {
    double ask, answer;
    int node = node_of(s->m, holder);
    piece_bytes(s, t, p, &ask, &answer);
    cr_planner_load l = holder_load(s, t, p, cr_planner_node_size(s->m, node), ask, answer);
    /* the others ask him from outside, from inside his machine, and he asks himself */
    s->all.out[1] += sign * ask;
    s->all.in[1] += sign * answer;
    s->node[node].out[1] -= sign * ask;
    s->node[node].in[1] -= sign * answer;
    s->node[node].out[0] += sign * ask;
    s->node[node].in[0] += sign * answer;
    l.out[0] -= ask;
    l.in[0] -= answer;
    cr_planner_put(&s->rank[holder], &l, sign);
}

/* What a rank does to ask for rows and to give its gradients away: n is the number of holders. */
static void add_asking(cr_planner_state *s, int t, double n, double sign) {
    const cr_planner_table *v = &s->j->tables[t];
    const cr_planner_trait *x = &s->trait[t];
    double D = (double)v->D, width = v->weight_bytes * D;
    cr_planner_load l = {0};
    l.compute = x->u * (STAGE + 2 * width / s->m->stream) + x->draws * AGAIN + 2 * n * PIECE;
    l.compute /= s->m->cores;
    if (v->trained) l.update = n * PIECE / s->m->cores;
    double id = id_bytes((double)v->n_rows); /* of the largest piece that there may be */
    l.memory = x->u * (width + id);
    if (v->trained) l.memory += gradient_bytes(x, D, id);
    cr_planner_put(&s->all, &l, sign);
}

static void fill_profile(const cr_planner_state *s, int t, int n, cr_planner_profile *p) {
    const cr_planner_table *v = &s->j->tables[t];
    const cr_planner_trait *x = &s->trait[t];
    cr_expect one, all;
    cr_expect_init(&one, x->draws, (double)v->n_rows, v->zipf);
    cr_expect_init(&all, x->draws * s->m->ranks, (double)v->n_rows, v->zipf);
    double a0 = 0, t0 = 0;
    int head = n < CR_PLANNER_HEAD ? n : CR_PLANNER_HEAD;
    for (int i = 0; i < head; i++) {
        double rows = floor((double)v->n_rows * (i + 1) / n);
        double a1 = cr_expect_below(&one, rows) / x->u, t1 = cr_expect_below(&all, rows) / x->G;
        p->asked[i] = a1 - a0;
        p->touched[i] = t1 - t0;
        a0 = a1;
        t0 = t1;
    }
    p->asked[head] = n > head ? (1 - a0) / (n - head) : 0;
    p->touched[head] = n > head ? (1 - t0) / (n - head) : 0;
    p->n = n;
}

static bool is_even(const cr_planner_table *v) {
    return !v->ordered || v->zipf <= 0;
}

static const cr_planner_profile *profile_of(cr_planner_state *s, int t, int n) {
    const cr_planner_table *v = &s->j->tables[t];
    if (is_even(v)) {
        s->other.n = n;
        for (int i = 0; i <= CR_PLANNER_HEAD; i++)
            s->other.asked[i] = s->other.touched[i] = 1.0 / n;
        return &s->other;
    }
    for (int k = 0; k < 2; k++) {
        int ranks = k == 0 || s->m->per_node > s->m->ranks ? s->m->ranks : s->m->per_node;
        if (n != (v->n_rows < ranks ? (int)v->n_rows : ranks)) continue;
        cr_planner_profile *p = s->trait[t].cut[k];
        if (!p) {
            s->trait[t].cut[k] = p = CR_NEW(s->arena, cr_planner_profile);
            fill_profile(s, t, n, p);
        }
        return p;
    }
    fill_profile(s, t, n, &s->other);
    return &s->other;
}

/* Adds a table that is cut into as many equal pieces as there are ranks: the same for all. */
static void add_even(cr_planner_state *s, int t, const piece *e, double sign) {
    double ask, answer, P = s->m->ranks, Q = s->m->per_node < P ? s->m->per_node : P;
    piece_bytes(s, t, e, &ask, &answer);
    cr_planner_load l = holder_load(s, t, e, Q, ask, answer);
    l.out[0] += (Q - 1) * ask;
    l.in[0] += (Q - 1) * answer;
    l.out[1] += (P - Q) * ask;
    l.in[1] += (P - Q) * answer;
    cr_planner_put(&s->all, &l, sign);
}

int cr_planned_holder(const cr_planned *p, int i, int ranks, int per_node) {
    bool local =
        p->kind == CR_TABLE_ROW_WISE || p->kind == CR_TABLE_COLUMN_WISE || p->kind == CR_GRID_SHARD;
    if (!local) return (p->first + i) % ranks;
    int nodes = ranks / per_node > 0 ? (ranks + per_node - 1) / per_node : 1;
    int node = p->first / per_node, at = p->first % per_node;
    if (p->kind == CR_GRID_SHARD) {
        int rows = p->n / p->n_cols;
        node = (node + i / rows) % nodes;
        i %= rows;
    }
    int base = node * per_node, size = ranks - base < per_node ? ranks - base : per_node;
    return base + (at + i) % size;
}

void cr_planner_add(cr_planner_state *s, int t, const cr_planned *p, double sign) {
    const cr_planner_table *v = &s->j->tables[t];
    const cr_planner_machine *m = s->m;
    int P = m->ranks, Q = m->per_node < P ? m->per_node : P;
    if (P < 1 || Q < 1) CR_BUG("a machine without ranks");
    bool alike = P % Q == 0; /* all machines have as many ranks */
    if (p->kind == CR_DATA_PARALLEL) {
        s->n_copies += v->trained ? (sign > 0 ? 1 : -1) : 0;
        add_everywhere(s, t, sign);
        return;
    }
    s->n_cut += sign > 0 ? 1 : -1;
    add_asking(s, t, p->n, sign);
    bool by_cols = p->kind == CR_COLUMN_WISE || p->kind == CR_TABLE_COLUMN_WISE;
    int n_cols = by_cols ? p->n : p->kind == CR_GRID_SHARD ? p->n_cols : 1, n_rows = p->n / n_cols;
    const cr_planner_profile *f = profile_of(s, t, n_rows);
    double rows = (double)v->n_rows / n_rows;
    piece tail = {f->asked[CR_PLANNER_HEAD], f->touched[CR_PLANNER_HEAD], 1, rows};
    if (p->kind == CR_ROW_WISE && p->n == P && alike && (is_even(v) || P > CR_PLANNER_HEAD)) {
        add_even(s, t, &tail, sign); /* all pieces are like the last, but some of the first */
        for (int i = 0; i < CR_PLANNER_HEAD && !is_even(v); i++) {
            piece e = {f->asked[i], f->touched[i], 1, rows};
            int holder = cr_planned_holder(p, i, P, m->per_node);
            add_piece(s, t, &e, holder, sign);
            add_piece(s, t, &tail, holder, -sign);
        }
        return;
    }
    for (int c = 0; c < n_cols; c++)
        for (int r = 0; r < n_rows; r++) {
            int k = r < CR_PLANNER_HEAD ? r : CR_PLANNER_HEAD;
            piece e = {f->asked[k], f->touched[k], 1.0 / n_cols, rows};
            add_piece(s, t, &e, cr_planned_holder(p, c * n_rows + r, P, m->per_node), sign);
        }
}

cr_planner_load cr_planner_load_of(const cr_planner_state *s, int rank) {
    cr_planner_load l = s->all;
    cr_planner_put(&l, &s->node[node_of(s->m, rank)], 1);
    cr_planner_put(&l, &s->rank[rank], 1);
    return l;
}

/* ---- a whole plan ---- */

typedef struct ways { /* which of the two exchanges a plan needs */
    bool copies, cut;
} ways;

static ways ways_of(const cr_planner_job *j, const cr_planned *plan) {
    ways w = {false, false};
    for (int t = 0; t < j->n; t++) {
        if (plan[t].kind == CR_DATA_PARALLEL)
            w.copies |= j->tables[t].trained;
        else
            w.cut = true;
    }
    return w;
}

/* Messages of a step. Every rank asks each holder and each holder answers every rank; gradients go
 * the way of the questions. The gradient parts of data_parallel tables, and the dense part, go from
 * every rank to every other. Small gatherings (counts, votes, weights of rows) take as many rounds
 * as a tree is high. */
static double message_seconds(const cr_planner_machine *m, ways w, int rank, double *n) {
    int P = m->ranks, Q = cr_planner_node_size(m, node_of(m, rank));
    *n = 0;
    if (P == 1) return 0;
    double to_all = (Q - 1) * m->message[0] + (P - Q) * m->message[1];
    double rounds = ceil(log2(P)), small = rounds * m->message[m->per_node < P];
    double large = 2; /* the dense part: gradients, then weights */
    double few = 2;   /* the vote, the weights of rows */
    if (w.copies) large += 1, few += 1;
    if (w.cut) large += 3, few += 1; /* ids, rows, gradients; and counts */
    *n = large * (P - 1) + few * rounds;
    return large * to_all + few * small;
}

double cr_planner_messages(const cr_planner_state *s, int rank) {
    double n;
    return message_seconds(s->m, (ways){s->n_copies > 0, s->n_cut > 0}, rank, &n);
}

static cr_planner_time time_of(const cr_planner_machine *m, const cr_planner_load *dense, ways w,
                               const cr_planner_load *l, int rank) {
    cr_planner_time t = {.dense = dense->compute, .lookup = l->compute - dense->compute};
    double n;
    t.update = l->update;
    for (int k = 0; k < 2; k++) {
        double in = l->in[k] - dense->in[k], out = l->out[k] - dense->out[k];
        t.network += (in > out ? in : out) / m->bandwidth[k];
        t.sync += dense->out[k] / m->bandwidth[k];
    }
    t.messages = message_seconds(m, w, rank, &n);
    t.all = t.dense + t.lookup + t.update + t.network + t.sync + t.messages;
    return t;
}

cr_planner_time cr_planner_rank_time(const cr_planner_job *j, const cr_planner_machine *m,
                                     const cr_planner_result *r, int rank) {
    cr_planner_load dense = dense_load(j, m);
    return time_of(m, &dense, ways_of(j, r->tables), &r->ranks[rank], rank);
}

void cr_planner_judge(const cr_planner_job *j, const cr_planner_machine *m, cr_arena *a,
                      cr_planner_result *out) {
    cr_planner_state s;
    cr_planner_begin(&s, j, m, a);
    for (int t = 0; t < j->n; t++)
        cr_planner_add(&s, t, &out->tables[t], 1);
    cr_planner_load dense = dense_load(j, m);
    ways w = ways_of(j, out->tables);
    out->ranks = CR_NEW_N(a, cr_planner_load, m->ranks);
    out->slowest.all = -1;
    out->fullest_rank = 0;
    for (int r = 0; r < m->ranks; r++) {
        double n;
        out->ranks[r] = cr_planner_load_of(&s, r);
        cr_planner_time t = time_of(m, &dense, w, &out->ranks[r], r);
        if (t.all > out->slowest.all) out->slowest = t, out->slowest_rank = r;
        if (out->ranks[r].memory > out->ranks[out->fullest_rank].memory) out->fullest_rank = r;
        message_seconds(m, w, r, &n);
        out->messages = n;
    }
    out->fits = m->memory <= 0 || out->ranks[out->fullest_rank].memory <= m->memory;
}

cr_planner_cost cr_planner_table_cost(const cr_planner_job *j, const cr_planner_machine *m, int t,
                                      const cr_planned *p) {
    cr_arena a;
    cr_planner_state s;
    cr_planner_job one = *j;
    one.tables = &j->tables[t];
    one.n = 1;
    one.dense_bytes = one.buffers = 0;
    cr_arena_init(&a, 0);
    cr_planner_begin(&s, &one, m, &a);
    const cr_planner_table *v = &j->tables[t];
    double whole = (double)v->n_rows * (double)v->row_bytes;
    cr_planner_cost c = {.distinct = s.trait[0].u, .distinct_global = s.trait[0].G};
    cr_planner_add(&s, 0, p, 1);
    for (int r = 0; r < m->ranks; r++) {
        cr_planner_load l = cr_planner_load_of(&s, r);
        c.bytes += l.out[0] + l.out[1];
    }
    bool copies = p->kind == CR_DATA_PARALLEL;
    c.memory = copies ? whole * m->ranks : whole;
    c.largest = copies ? whole : whole / p->n;
    if (p->n > 0 && p->n > v->n_rows) c.largest = (double)v->row_bytes;
    cr_arena_clear(&a);
    return c;
}

cr_placing cr_planned_placing(cr_arena *a, const cr_planned *p, int64_t n_rows, int64_t D,
                              int ranks, int per_node) {
    int *holders = CR_NEW_N(a, int, p->n + 1);
    for (int i = 0; i < p->n; i++)
        holders[i] = cr_planned_holder(p, i, ranks, per_node);
    return cr_placing_make(a, p->kind, n_rows, D, holders, p->n,
                           p->kind == CR_GRID_SHARD ? p->n_cols : 0);
}
