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

/* A table whose gradients are summed here. */
typedef struct source {
    cr_reduce reduce;
    int group;
    int64_t first_piece; /* number of this table's first piece among those of all sources */
} source;

/* A table, or a shard of one, whose rows are updated here. Where one process has the whole batch,
 * target k is that of source k. */
typedef struct target {
    int source;
    cr_sink sink;
    int64_t D;
    int optim_group;
    int64_t some;        /* rows that go to the sink in one call */
    int64_t first_piece; /* number of its first piece among those of all targets */
    int64_t n_pieces;    /* pieces with rows of the batch; the pieces of the sweep follow them */
    bool everywhere;     /* every holder has this table and updates it */
    /* Tables of the same ids, as a deep and a wide one, are a chain: who takes a piece of the first
     * one takes the same ids of all, while the entries of these ids are in the cache. */
    int next;   /* -1: this is the last one */
    bool after; /* it is not the first one, and has no pieces of its own but those of the sweep */
} target;

struct cr_updater {
    const cr_lanes *lanes;
    cr_pool *pool;
    source *sources;
    int n_sources, cap_sources;
    target *targets;
    int n_targets, cap_targets;
    cr_groups groups, next; /* of this batch, and of the next one */
    cr_group_room *rooms;   /* per thread */
    const cr_batch *next_batch;
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
    uint16_t node[CR_MAX_LANES]; /* by lane of the global batch */
    bool met_bad;                /* some holder has a gradient that is not finite */
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
    u->rooms = cr_alloc((size_t)cr_pool_threads(pool) * sizeof(*u->rooms), "updater");
    if (!lanes->meet) return u;
    u->meet = cr_row_meet_new(lanes, pool);
    for (int k = 0; k < lanes->n_nodes; k++)
        for (int l = 0; l < lanes->node[k].n; l++)
            u->node[lanes->node[k].lane + l] = (uint16_t)k;
    return u;
}

void cr_updater_free(cr_updater *u) {
    if (!u) return;
    for (int i = 0; i < u->n_sources; i++)
        cr_reduce_clear(&u->sources[i].reduce);
    cr_groups_clear(&u->groups);
    cr_groups_clear(&u->next);
    for (int i = 0; i < cr_pool_threads(u->pool); i++) {
        cr_free(u->scratch[i]);
        cr_group_room_clear(&u->rooms[i]);
    }
    cr_free(u->scratch);
    cr_free(u->rooms);
    cr_free(u->tally);
    cr_row_meet_free(u->meet);
    cr_free(u->sources);
    cr_free(u->targets);
    cr_free(u);
}

static int find_group(cr_updater *u, const cr_use *uses, int n) {
    cr_group_slot *slots = cr_alloc((size_t)n * sizeof(*slots), "id groups");
    for (int k = 0; k < n; k++)
        slots[k] = (cr_group_slot){uses[k].slot, uses[k].seq};
    int found = cr_groups_find(&u->groups, slots, n);
    CR_ASSERT(cr_groups_find(&u->next, slots, n) == found);
    cr_free(slots);
    return found;
}

/* Makes room in every thread for the gradients of a table's rows and for its sink. */
static void make_room(cr_updater *u, int64_t rows, int64_t sink) {
    if (rows <= u->n_rows && sink <= u->n_sink) return;
    u->n_rows = rows > u->n_rows ? rows : u->n_rows;
    u->n_sink = sink > u->n_sink ? sink : u->n_sink;
    for (int i = 0; i < cr_pool_threads(u->pool); i++) {
        cr_free(u->scratch[i]);
        u->scratch[i] =
            cr_alloc((size_t)(u->n_rows + u->n_sink) * sizeof(float), "updater scratch");
    }
}

/* Returns the array v of n elements with room for one more, zeroed. */
static void *longer(void *v, int n, int *cap, size_t size) {
    if (n < *cap) return v;
    int before = *cap;
    *cap = before ? 2 * before : 16;
    return cr_realloc(v, (size_t)before * size, (size_t)*cap * size, "updater tables");
}

/* Returns the last target whose ids are those of a group; -1: there is none, or targets have other
 * ids than the groups. */
static int last_of_ids(const cr_updater *u, int group) {
    int i = u->meet ? -1 : u->n_targets - 1;
    while (i >= 0 && u->sources[u->targets[i].source].group != group)
        i--;
    return i;
}

static void add_target(cr_updater *u, int from, cr_sink sink, const cr_table *t, bool everywhere) {
    u->targets = longer(u->targets, u->n_targets, &u->cap_targets, sizeof(target));
    int parts = u->lanes->n > u->lanes->n_nodes ? u->lanes->n : u->lanes->n_nodes;
    int64_t some = t->D * SOME <= FLOATS ? SOME : 1 + (FLOATS - 1) / t->D;
    int before = last_of_ids(u, u->sources[from].group);
    if (before >= 0) u->targets[before].next = u->n_targets;
    u->targets[u->n_targets++] = (target){.source = from,
                                          .sink = sink,
                                          .D = t->D,
                                          .optim_group = t->optim_group,
                                          .some = some,
                                          .everywhere = everywhere,
                                          .next = -1,
                                          .after = before >= 0};
    make_room(u, (some + parts) * t->D, sink.scratch);
}

static void add_source(cr_updater *u, const cr_table *t, const cr_use *uses, int n_uses) {
    u->sources = longer(u->sources, u->n_sources, &u->cap_sources, sizeof(source));
    source *s = &u->sources[u->n_sources];
    const cr_optim_conf *oc = t->optim_conf;
    *s = (source){.group = find_group(u, uses, n_uses)};
    float clip = oc && oc->gradient_clipping ? (float)oc->max_gradient : 0;
    cr_reduce_init(&s->reduce, t->D, clip, uses, n_uses);
    make_room(u, (1 + u->lanes->n) * t->D, 0); /* for the parts of one id */
}

int cr_updater_add_to(cr_updater *u, cr_table *t, const cr_use *uses, int n_uses, cr_sink sink) {
    CR_ASSERT(!t->owner && !u->meet);
    add_source(u, t, uses, n_uses);
    add_target(u, u->n_sources, sink, t, true);
    return u->n_sources++;
}

int cr_updater_add(cr_updater *u, cr_table *t, const cr_use *uses, int n_uses) {
    const cr_owner *o = t->owner;
    /* a batch without other holders goes to the owner's sink, wherever the rows lie */
    const cr_placing *placing = o && u->meet ? o->placing : NULL;
    CR_ASSERT(!o || placing || o->sink.take);
    add_source(u, t, uses, n_uses);
    if (u->meet) {
        int n = cr_row_meet_add(u->meet, o && !placing ? 0 : t->n_rows, t->D, placing);
        CR_ASSERT(n == (placing ? o->n_held : 1));
    }
    for (int k = 0; placing && k < o->n_held; k++) {
        o->held[k].optim_group = t->optim_group;
        const cr_owner *grown = o->held[k].owner;
        add_target(u, u->n_sources, grown ? grown->sink : cr_table_sink(&o->held[k]), &o->held[k],
                   false);
    }
    if (!placing) add_target(u, u->n_sources, o ? o->sink : cr_table_sink(t), t, true);
    return u->n_sources++;
}

void cr_updater_set_grad(cr_updater *u, int t, int k, const float *grad) {
    u->sources[t].reduce.uses[k].grad = grad;
}

static void group_item(void *ctx, int64_t item, int thread) {
    cr_updater *u = ctx;
    cr_group_run(&u->groups.v[item], &u->rooms[thread], u->batch, u->axes, u->lanes);
}

static void swap_groups(cr_updater *u) {
    cr_groups g = u->groups;
    u->groups = u->next;
    u->next = g;
}

static void group(cr_updater *u, const cr_batch *b, const int32_t *const *axes) {
    u->batch = b;
    u->axes = axes;
    cr_pool_run(u->pool, u->groups.n, group_item, u);
}

static cr_code fit(cr_updater *u, cr_groups *gs, const cr_batch *b, cr_err *err) {
    for (int i = 0; i < gs->n; i++)
        CR_TRY(cr_group_fit(&gs->v[i], u->rooms, cr_pool_threads(u->pool), b, err));
    return CR_OK;
}

cr_code cr_updater_fit(cr_updater *u, const cr_batch *b, cr_err *err) {
    return u->next_batch == b ? CR_OK : fit(u, &u->groups, b, err);
}

void cr_updater_group(cr_updater *u, const cr_batch *b, const int32_t *const *axes) {
    if (u->next_batch == b) {
        swap_groups(u);
        u->batch = b;
        u->axes = axes;
    } else {
        group(u, b, axes);
    }
    u->next_batch = NULL;
}

cr_code cr_updater_group_next(cr_updater *u, const cr_batch *next, const int32_t *const *axes,
                              const cr_groups **out, cr_err *err) {
    CR_TRY(fit(u, &u->next, next, err));
    const cr_batch *now = u->batch;
    const int32_t *const *now_axes = u->axes;
    swap_groups(u);
    group(u, next, axes);
    swap_groups(u);
    u->batch = now;
    u->axes = now_axes;
    u->next_batch = next;
    *out = &u->next;
    return CR_OK;
}

const cr_group *cr_updater_ids(const cr_updater *u, int t) {
    return &u->groups.v[u->sources[t].group];
}

const cr_groups *cr_updater_groups(const cr_updater *u) {
    return &u->groups;
}

void cr_updater_adjust(cr_updater *u, cr_adjust a) {
    u->adjust = a;
}

/* ---- pieces ---- */

/* Returns the distinct ids of a target in the whole batch. */
static cr_met_ids ids_of(const cr_updater *u, const target *t) {
    const cr_group *g = &u->groups.v[u->sources[t->source].group];
    if (u->meet) return cr_row_meet_ids(u->meet, (int)(t - u->targets));
    return (cr_met_ids){g->n_uniq, g->id};
}

static void begin_sources(cr_updater *u) {
    for (int i = 0; i < u->n_sources; i++)
        cr_reduce_begin(&u->sources[i].reduce, u->batch, &u->groups.v[u->sources[i].group],
                        u->lanes, u->adjust.unscale);
}

/* Numbers the pieces of all targets and returns how many there are. */
static int64_t cut_targets(cr_updater *u, bool sweep) {
    int64_t pieces = 0;
    for (int i = 0; i < u->n_targets; i++) {
        target *t = &u->targets[i];
        t->first_piece = pieces;
        t->n_pieces = t->after ? 0 : (ids_of(u, t).n + PIECE - 1) / PIECE;
        pieces += t->n_pieces + (sweep ? (t->sink.sweep + SWEEP - 1) / SWEEP : 0);
    }
    return pieces;
}

static const target *target_of(const cr_updater *u, int64_t item) {
    int lo = 0, hi = u->n_targets - 1;
    while (lo < hi) { /* finds the target that this piece belongs to */
        int mid = (lo + hi + 1) / 2;
        if (u->targets[mid].first_piece <= item)
            lo = mid;
        else
            hi = mid - 1;
    }
    return &u->targets[lo];
}

/* ---- meet ---- */

static int64_t cut_sources(cr_updater *u) {
    int64_t pieces = 0;
    for (int i = 0; i < u->n_sources; i++) {
        u->sources[i].first_piece = pieces;
        pieces += (u->groups.v[u->sources[i].group].n_uniq + PIECE - 1) / PIECE;
    }
    return pieces;
}

static void meet_item(void *ctx, int64_t item, int thread) {
    cr_updater *u = ctx;
    int number = 0;
    while (number + 1 < u->n_sources && u->sources[number + 1].first_piece <= item)
        number++;
    const source *s = &u->sources[number];
    const cr_reduce *r = &s->reduce;
    int64_t n = u->groups.v[s->group].n_uniq, k = (item - s->first_piece) * PIECE,
            end = k + PIECE < n ? k + PIECE : n;
    cr_row_parts p;
    p.part = u->scratch[thread];
    cr_reduce_fetch(r, k, end - k);
    for (int64_t some = end - k; r->plain && k < end; k += some, some = end - k) {
        float *sums = cr_row_meet_room(u->meet, number, k, &some);
        if (!sums) break;
        cr_reduce_rows(r, k, some, end - k - some, sums);
    }
    for (; k < end; k++) {
        cr_reduce_ahead(r, k, end);
        cr_reduce_lanes(r, k, &p);
        cr_parts_join(&p, r->D, u->node);
        cr_row_meet_put(u->meet, number, k, &p);
        if (r->clip > 0) u->tally[thread].bad |= !cr_reduce_finite(r, k);
    }
}

cr_code cr_updater_meet(cr_updater *u, cr_err *err) {
    if (!u->meet) return CR_OK;
    for (int i = 0; i < u->n_sources; i++)
        cr_row_meet_ids_here(u->meet, i, &u->groups.v[u->sources[i].group]);
    CR_TRY(cr_row_meet_open(u->meet, err));
    int threads = cr_pool_threads(u->pool);
    for (int i = 0; i < threads; i++)
        u->tally[i].bad = false;
    begin_sources(u);
    cr_pool_run(u->pool, cut_sources(u), meet_item, u);
    u->met_bad = false;
    for (int i = 0; i < threads; i++)
        u->met_bad |= u->tally[i].bad;
    return cr_row_meet_close(u->meet, err);
}

/* Does what cr_reduce_rows does, for the whole batch. */
static void sum_rows(const cr_updater *u, const target *t, int64_t k, int64_t n, int64_t more,
                     float *out) {
    if (!u->meet) {
        cr_reduce_rows(&u->sources[t->source].reduce, k, n, more, out);
        return;
    }
    cr_row_meet_sums(u->meet, (int)(t - u->targets), k, n, out);
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

static void sweep_piece(const cr_updater *u, const target *t, int64_t first, float *scratch) {
    cr_met_ids ids = ids_of(u, t);
    const cr_sink *s = &t->sink;
    int64_t end = s->row0 + (first + SWEEP < s->sweep ? first + SWEEP : s->sweep);
    first += s->row0;
    int64_t k = cr_ids_find(ids.id, ids.n, first), n = cr_ids_find(ids.id + k, ids.n - k, end);
    s->rest(s->ctx, first, end, ids.id + k, n, &u->steps[t->optim_group], scratch);
}

/* Updates the rows of distinct ids [k, end) of a target. */
static void apply_rows(const cr_updater *u, const target *t, int64_t k, int64_t end, float *rows,
                       float *for_sink) {
    cr_met_ids ids = ids_of(u, t);
    cr_row_grads r = {.g = rows, .step = &u->steps[t->optim_group]};
    if (!u->meet) cr_reduce_fetch(&u->sources[t->source].reduce, k, end - k);
    for (; k < end; k += r.n) {
        r.id = ids.id + k;
        r.n = end - k < t->some ? end - k : t->some;
        r.more = end - k - r.n;
        sum_rows(u, t, k, r.n, r.more, rows);
        adjust_rows(u, rows, r.n * t->D);
        t->sink.take(t->sink.ctx, &r, for_sink);
    }
}

static void apply_item(void *ctx, int64_t item, int thread) {
    cr_updater *u = ctx;
    const target *t = target_of(u, item);
    float *rows = u->scratch[thread], *for_sink = rows + u->n_rows;
    item -= t->first_piece;
    if (item >= t->n_pieces) {
        sweep_piece(u, t, (item - t->n_pieces) * SWEEP, for_sink);
        return;
    }
    int64_t n = ids_of(u, t).n, k = item * PIECE, end = k + PIECE < n ? k + PIECE : n;
    apply_rows(u, t, k, end, rows, for_sink);
    for (; t->next >= 0; apply_rows(u, t, k, end, rows, for_sink))
        t = &u->targets[t->next];
}

void cr_updater_apply(cr_updater *u, const cr_optim_step *steps) {
    u->steps = steps;
    if (!u->meet) begin_sources(u);
    cr_pool_run(u->pool, cut_targets(u, true), apply_item, u);
    for (int i = 0; i < u->n_targets; i++)
        if (u->targets[i].sink.end) u->targets[i].sink.end(u->targets[i].sink.ctx);
}

/* ---- norms ---- */

/* Does this holder measure a piece? A table that every holder has is measured by all of them
 * together, piece by piece in turn. */
static bool measures(const cr_updater *u, const target *t, int64_t item) {
    const cr_meet *meet = u->lanes->meet;
    return !meet || !t->everywhere || item % meet->n == meet->self;
}

static void measure_rows(cr_updater *u, const target *t, int64_t k, int64_t end, int thread) {
    const cr_reduce *r = &u->sources[t->source].reduce;
    tally *found = &u->tally[thread];
    float *row = u->scratch[thread];
    for (; k < end; k++) {
        double sum = 0;
        sum_rows(u, t, k, 1, end - k - 1, row);
        found->bad |= !cr_norm_add(&sum, row, t->D, u->norm);
        if (isinf(u->norm))
            cr_norm_join(&found->most, sum, u->norm);
        else
            cr_exact_add(&found->sum, sum);
        /* A table's own clipping turns infinity into its limit; a loss scaler must still learn of
         * it. */
        if (r->clip > 0 && !u->meet) found->bad |= !cr_reduce_finite(r, k);
    }
}

static void measure_item(void *ctx, int64_t item, int thread) {
    cr_updater *u = ctx;
    const target *t = target_of(u, item);
    int64_t n = ids_of(u, t).n, k = (item - t->first_piece) * PIECE,
            end = k + PIECE < n ? k + PIECE : n;
    if (!measures(u, t, item - t->first_piece)) return;
    measure_rows(u, t, k, end, thread);
    for (; t->next >= 0; measure_rows(u, t, k, end, thread))
        t = &u->targets[t->next];
}

/* Adds what the other holders found. */
static void meet_tally(const cr_updater *u, tally *all, double p) {
    enum { STATE = CR_EXACT_STATE + 2 };
    const cr_meet *meet = u->lanes->meet;
    double *v = cr_alloc((size_t)meet->n * STATE * sizeof(double), "norms"),
           *mine = v + meet->self * STATE;
    size_t *at = cr_alloc(((size_t)meet->n + 1) * sizeof(size_t), "norms");
    for (int h = 0; h <= meet->n; h++)
        at[h] = (size_t)h * STATE * sizeof(double);
    cr_exact_get(&all->sum, mine);
    mine[CR_EXACT_STATE] = all->most;
    mine[CR_EXACT_STATE + 1] = all->bad;
    meet->gather(meet->ctx, v, at);
    cr_exact_reset(&all->sum);
    for (int h = 0; h < meet->n; h++) {
        cr_exact one = {0};
        cr_exact_set(&one, v + h * STATE);
        cr_exact_join(&all->sum, &one);
        cr_norm_join(&all->most, v[h * STATE + CR_EXACT_STATE], p);
        all->bad |= v[h * STATE + CR_EXACT_STATE + 1] != 0;
    }
    cr_free(v);
    cr_free(at);
}

bool cr_updater_measure(cr_updater *u, double p, double *sum) {
    int threads = cr_pool_threads(u->pool);
    tally all = {.bad = u->met_bad};
    memset(u->tally, 0, (size_t)threads * sizeof(tally));
    u->norm = p;
    if (!u->meet) begin_sources(u);
    cr_pool_run(u->pool, cut_targets(u, false), measure_item, u);
    for (int i = 0; i < threads; i++) {
        all.bad |= u->tally[i].bad;
        cr_exact_join(&all.sum, &u->tally[i].sum);
        cr_norm_join(&all.most, u->tally[i].most, p);
    }
    if (u->meet) meet_tally(u, &all, p);
    cr_norm_join(sum, isinf(p) ? all.most : cr_exact_value(&all.sum), p);
    return !all.bad;
}
