/*
 * update.c - see update.h: the list of tables, and the way of their gradients through reduce,
 * adjust and sink, in pieces that any thread may take.
 */
#include "emb/update.h"

#include <math.h>
#include <string.h>

#include "base/exact.h"
#include "emb/meet.h"
#include "emb/owner.h"

#define PIECE  256  /* distinct ids a thread takes at a time */
#define SWEEP  1024 /* rows of a swept table that a thread takes at a time */
#define SOME   32   /* rows that are summed before the sink takes them, */
#define FLOATS 4096 /* or fewer: no more than this many floats */

typedef struct utable {
    cr_reduce reduce;
    cr_sink sink;
    int optim_group;
    int group;
    int64_t some;        /* rows that go to the sink in one call */
    int64_t first_piece; /* number of this table's first piece among all pieces */
    int64_t n_pieces;    /* pieces with rows of the batch; the pieces of the sweep follow them */
} utable;

struct cr_updater {
    const cr_lanes *lanes;
    cr_pool *pool;
    utable *tables;
    int n_tables, cap_tables;
    cr_groups groups;
    float **scratch;        /* per thread: rows of gradients, then the sink's scratch */
    int64_t n_rows, n_sink; /* floats of these two parts */
    const cr_batch *batch;
    const int32_t *const *axes;
    const cr_optim_step *steps;
    cr_adjust adjust;
    double norm;
    struct tally *tally;
    /* the rows of all holders; NULL: this process has the whole batch */
    cr_row_meet *meet;
    uint8_t node[CR_MAX_LANES]; /* by lane of the global batch */
    bool met_bad;               /* some holder has a gradient that is not finite */
};

/* What a thread found in the rows that it saw. */
typedef struct tally {
    cr_exact sum; /* the sum of |g|^p */
    double most;  /* the largest |g|, for an infinite p */
    bool bad;     /* a gradient is not finite */
} tally;

cr_updater *cr_updater_new(const cr_lanes *lanes, cr_pool *pool) {
    cr_updater *u = cr_alloc(sizeof(*u), "updater");
    u->lanes = lanes;
    u->pool = pool;
    u->adjust = (cr_adjust){1, 1, 0};
    u->scratch = cr_alloc((size_t)cr_pool_threads(pool) * sizeof(float *), "updater");
    u->tally = cr_alloc((size_t)cr_pool_threads(pool) * sizeof(tally), "updater");
    if (!lanes->meet) return u;
    u->meet = cr_row_meet_new(lanes, pool);
    for (int k = 0; k < lanes->n_nodes; k++)
        memset(u->node + lanes->node[k].lane, k, (size_t)lanes->node[k].n);
    return u;
}

void cr_updater_free(cr_updater *u) {
    if (!u) return;
    for (int i = 0; i < u->n_tables; i++)
        cr_free(u->tables[i].reduce.uses);
    cr_groups_clear(&u->groups);
    for (int i = 0; i < cr_pool_threads(u->pool); i++)
        cr_free(u->scratch[i]);
    cr_free(u->scratch);
    cr_free(u->tally);
    cr_row_meet_free(u->meet);
    cr_free(u->tables);
    cr_free(u);
}

static int find_group(cr_updater *u, const cr_use *uses, int n) {
    cr_group_slot *slots = cr_alloc((size_t)n * sizeof(*slots), "id groups");
    for (int k = 0; k < n; k++)
        slots[k] = (cr_group_slot){uses[k].slot, uses[k].seq};
    int found = cr_groups_find(&u->groups, slots, n);
    cr_free(slots);
    return found;
}

/* Makes room in every thread for a table's rows and for its sink. */
static void make_room(cr_updater *u, const utable *ut) {
    int parts = u->lanes->n > u->lanes->n_nodes ? u->lanes->n : u->lanes->n_nodes;
    int64_t rows = (ut->some + parts) * ut->reduce.D, sink = ut->sink.scratch;
    if (rows <= u->n_rows && sink <= u->n_sink) return;
    u->n_rows = rows > u->n_rows ? rows : u->n_rows;
    u->n_sink = sink > u->n_sink ? sink : u->n_sink;
    for (int i = 0; i < cr_pool_threads(u->pool); i++) {
        cr_free(u->scratch[i]);
        u->scratch[i] =
            cr_alloc((size_t)(u->n_rows + u->n_sink) * sizeof(float), "updater scratch");
    }
}

int cr_updater_add(cr_updater *u, cr_table *t, const cr_use *uses, int n_uses) {
    if (u->n_tables == u->cap_tables) {
        int cap = u->cap_tables ? 2 * u->cap_tables : 16;
        u->tables = cr_realloc(u->tables, (size_t)u->cap_tables * sizeof(utable),
                               (size_t)cap * sizeof(utable), "updater tables");
        u->cap_tables = cap;
    }
    utable *ut = &u->tables[u->n_tables];
    const cr_optim_conf *oc = t->optim_conf;
    *ut = (utable){.reduce = {.D = t->D, .n_uses = n_uses},
                   .sink = t->owner ? t->owner->sink : cr_table_sink(t),
                   .optim_group = t->optim_group,
                   .group = find_group(u, uses, n_uses),
                   .some = t->D * SOME <= FLOATS ? SOME : 1 + (FLOATS - 1) / t->D};
    if (oc && oc->gradient_clipping) ut->reduce.clip = (float)oc->max_gradient;
    ut->reduce.uses = cr_alloc((size_t)n_uses * sizeof(cr_use), "updater tables");
    memcpy(ut->reduce.uses, uses, (size_t)n_uses * sizeof(cr_use));
    make_room(u, ut);
    if (u->meet) cr_row_meet_add(u->meet, t->D);
    return u->n_tables++;
}

void cr_updater_set_grad(cr_updater *u, int t, int k, const float *grad) {
    u->tables[t].reduce.uses[k].grad = grad;
}

static void group_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    cr_updater *u = ctx;
    cr_group_run(&u->groups.v[item], u->batch, u->axes, u->lanes);
}

void cr_updater_group(cr_updater *u, const cr_batch *b, const int32_t *const *axes) {
    u->batch = b;
    u->axes = axes;
    cr_pool_run(u->pool, u->groups.n, group_item, u);
}

void cr_updater_adjust(cr_updater *u, cr_adjust a) {
    u->adjust = a;
}

/* ---- pieces ---- */

/* Returns the distinct ids of a table: those of the rows here (local), or of the whole batch. */
static cr_met_ids ids_of(const cr_updater *u, const utable *ut, bool local) {
    const cr_group *g = &u->groups.v[ut->group];
    if (!local && u->meet) return cr_row_meet_ids(u->meet, (int)(ut - u->tables));
    return (cr_met_ids){g->n_uniq, g->id};
}

/* Numbers the pieces of all tables and returns how many there are. */
static int64_t cut(cr_updater *u, bool local, bool sweep) {
    int64_t pieces = 0;
    for (int i = 0; i < u->n_tables; i++) {
        utable *ut = &u->tables[i];
        const cr_group *g = &u->groups.v[ut->group];
        cr_reduce_begin(&ut->reduce, u->batch, g, u->lanes, u->adjust.unscale);
        ut->first_piece = pieces;
        ut->n_pieces = (ids_of(u, ut, local).n + PIECE - 1) / PIECE;
        pieces += ut->n_pieces + (sweep ? (ut->sink.sweep + SWEEP - 1) / SWEEP : 0);
    }
    return pieces;
}

static const utable *table_of(const cr_updater *u, int64_t item) {
    int lo = 0, hi = u->n_tables - 1;
    while (lo < hi) { /* finds the table that this piece belongs to */
        int mid = (lo + hi + 1) / 2;
        if (u->tables[mid].first_piece <= item)
            lo = mid;
        else
            hi = mid - 1;
    }
    return &u->tables[lo];
}

/* ---- meet ---- */

static void meet_item(void *ctx, int64_t item, int thread) {
    cr_updater *u = ctx;
    const utable *ut = table_of(u, item);
    const cr_reduce *r = &ut->reduce;
    int64_t n = ids_of(u, ut, true).n, k = (item - ut->first_piece) * PIECE,
            end = k + PIECE < n ? k + PIECE : n;
    cr_row_parts p = {.part = u->scratch[thread]};
    for (; k < end; k++) {
        cr_reduce_lanes(r, k, &p);
        cr_parts_join(&p, r->D, u->node);
        memcpy(cr_row_meet_parts(u->meet, (int)(ut - u->tables), k), p.part,
               (size_t)(p.n * r->D) * sizeof(float));
        if (r->clip > 0) u->tally[thread].bad |= !cr_reduce_finite(r, k);
    }
}

void cr_updater_meet(cr_updater *u) {
    if (!u->meet) return;
    for (int i = 0; i < u->n_tables; i++)
        cr_row_meet_ids_here(u->meet, i, &u->groups.v[u->tables[i].group]);
    cr_row_meet_open(u->meet);
    int threads = cr_pool_threads(u->pool);
    for (int i = 0; i < threads; i++)
        u->tally[i].bad = false;
    cr_pool_run(u->pool, cut(u, true, false), meet_item, u);
    bool bad = false;
    for (int i = 0; i < threads; i++)
        bad |= u->tally[i].bad;
    u->met_bad = cr_row_meet_close(u->meet, bad);
}

/* Does what cr_reduce_rows does, for the whole batch. */
static void sum_rows(const cr_updater *u, const utable *ut, int64_t k, int64_t n, int64_t more,
                     float *out) {
    if (!u->meet) {
        cr_reduce_rows(&ut->reduce, k, n, more, out);
        return;
    }
    cr_row_parts p;
    for (int64_t end = k + n; k < end; k++, out += ut->reduce.D) {
        p.part = out;
        cr_row_meet_get(u->meet, (int)(ut - u->tables), k, &p);
        cr_parts_join(&p, ut->reduce.D, NULL);
    }
}

/* ---- reduce, adjust, sink ---- */

/* Applies the clipping over all parameters to the summed gradients of rows. */
static void adjust_rows(const cr_updater *u, float *g, int64_t n) {
    float f = u->adjust.factor, limit = u->adjust.limit;
    if (f != 1)
        for (int64_t i = 0; i < n; i++)
            g[i] *= f;
    if (limit > 0)
        for (int64_t i = 0; i < n; i++)
            g[i] = g[i] > limit ? limit : g[i] < -limit ? -limit : g[i];
}

/* Returns the place of the first of ids[0 .. n) that is not below id. */
static int64_t lower_bound(const int64_t *ids, int64_t n, int64_t id) {
    int64_t lo = 0;
    while (n > 0) {
        int64_t half = n / 2;
        if (ids[lo + half] < id) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

static void sweep_piece(const cr_updater *u, const utable *ut, int64_t first, float *scratch) {
    cr_met_ids ids = ids_of(u, ut, false);
    const cr_sink *s = &ut->sink;
    int64_t end = first + SWEEP < s->sweep ? first + SWEEP : s->sweep;
    int64_t k = lower_bound(ids.id, ids.n, first), n = lower_bound(ids.id + k, ids.n - k, end);
    s->rest(s->ctx, first, end, ids.id + k, n, &u->steps[ut->optim_group], scratch);
}

static void apply_item(void *ctx, int64_t item, int thread) {
    cr_updater *u = ctx;
    const utable *ut = table_of(u, item);
    cr_met_ids ids = ids_of(u, ut, false);
    float *rows = u->scratch[thread], *for_sink = rows + u->n_rows;
    item -= ut->first_piece;
    if (item >= ut->n_pieces) {
        sweep_piece(u, ut, (item - ut->n_pieces) * SWEEP, for_sink);
        return;
    }
    int64_t k = item * PIECE, end = k + PIECE < ids.n ? k + PIECE : ids.n;
    cr_row_grads r = {.g = rows, .step = &u->steps[ut->optim_group]};
    if (!u->meet) cr_reduce_fetch(&ut->reduce, k, end - k);
    for (; k < end; k += r.n) {
        r.id = ids.id + k;
        r.n = end - k < ut->some ? end - k : ut->some;
        r.more = end - k - r.n;
        sum_rows(u, ut, k, r.n, r.more, rows);
        adjust_rows(u, rows, r.n * ut->reduce.D);
        ut->sink.take(ut->sink.ctx, &r, for_sink);
    }
}

void cr_updater_apply(cr_updater *u, const cr_optim_step *steps) {
    u->steps = steps;
    cr_pool_run(u->pool, cut(u, false, true), apply_item, u);
    for (int i = 0; i < u->n_tables; i++)
        if (u->tables[i].sink.end) u->tables[i].sink.end(u->tables[i].sink.ctx);
}

/* ---- norms ---- */

static void measure_item(void *ctx, int64_t item, int thread) {
    cr_updater *u = ctx;
    const utable *ut = table_of(u, item);
    const cr_reduce *r = &ut->reduce;
    tally *t = &u->tally[thread];
    float *row = u->scratch[thread];
    int64_t n = ids_of(u, ut, false).n, k = (item - ut->first_piece) * PIECE,
            end = k + PIECE < n ? k + PIECE : n;
    for (; k < end; k++) {
        double sum = 0;
        sum_rows(u, ut, k, 1, end - k - 1, row);
        t->bad |= !cr_norm_add(&sum, row, r->D, u->norm);
        if (isinf(u->norm))
            cr_norm_join(&t->most, sum, u->norm);
        else
            cr_exact_add(&t->sum, sum);
        /* A table's own clipping turns infinity into its limit; a loss scaler must still learn of
         * it. */
        if (r->clip > 0 && !u->meet) t->bad |= !cr_reduce_finite(r, k);
    }
}

bool cr_updater_measure(cr_updater *u, double p, double *sum) {
    int threads = cr_pool_threads(u->pool);
    tally all = {.bad = u->met_bad};
    memset(u->tally, 0, (size_t)threads * sizeof(tally));
    u->norm = p;
    cr_pool_run(u->pool, cut(u, false, false), measure_item, u);
    for (int i = 0; i < threads; i++) {
        all.bad |= u->tally[i].bad;
        cr_exact_join(&all.sum, &u->tally[i].sum);
        cr_norm_join(&all.most, u->tally[i].most, p);
    }
    cr_norm_join(sum, isinf(p) ? all.most : cr_exact_value(&all.sum), p);
    return !all.bad;
}
