/*
 * dense.c - the dense parameters during training: their optimizer state, accumulated gradients and
 * averages, and one update of all of them.
 *
 * Everything runs over fixed pieces of parameters, so any thread may take any piece, and norms are
 * the same for any number of threads. Where nothing needs all gradients at once (no norm, no
 * accumulation, no loss scale) the lanes' gradients are combined and applied in one pass and never
 * written.
 *
 * Several holders of a batch share the work: each has the optimizer state of some consecutive
 * pieces, its slice, updates these, and gives the new weights to the others.
 */
#include <string.h>

#include "train/train_int.h"

#define PIECE      4096 /* floats of a parameter that are taken at a time */
#define MAX_PLANES 8

typedef struct piece {
    const cr_node *p;
    int rule;
    int64_t first, n;
} piece;

struct dense_side {
    cr_arena arena;
    cr_job *j;
    const cr_model *m;
    const cr_work *w;
    cr_rules *rules;
    int planes;   /* planes of state: the most that a rule has */
    float *state; /* the planes, then ema, then grad, with n floats each */
    size_t size;
    /* floats [at, at + n) of the parameter block have their state here; slice says so for all
     * holders (NULL: there are no others) */
    int64_t at, n, *slice;
    size_t *bytes_at, *pieces_at; /* by holder: bytes of the block and of the sums of pieces */
    float *ema, *grad;            /* NULL: not kept */
    const float *given;           /* gradients of this slice from elsewhere; NULL: those of w */
    bool accumulates;             /* grad is part of a checkpoint */
    float decay;
    piece *pieces; /* of all parameters; those of this holder are [mine, mine_end) */
    int64_t n_pieces, mine, mine_end;
    /* of the current pass */
    bool first;
    float unscale;
    double norm;
    struct found {
        double sum, bad; /* bad is 0 or 1 */
    } * found;           /* by piece */
    cr_adjust adjust;
};

/* Counts the pieces of all parameters that get a gradient and, when out is not NULL, lists them. */
static int64_t cut_pieces(const dense_side *d, piece *out) {
    int64_t n = 0;
    for (int i = 0; i < d->m->graph.n; i++) {
        const cr_node *p = d->m->graph.nodes[i];
        if (p->cls != CR_PARAM || !p->trainable || !cr_plan_has_grad(cr_work_plan(d->w), p))
            continue;
        for (int64_t first = 0; first < p->width; first += PIECE, n++)
            if (out)
                out[n] = (piece){p, d->rules->of[i], first,
                                 p->width - first < PIECE ? p->width - first : PIECE};
    }
    return n;
}

/* Cuts the block of parameters into slices of about the same number of floats. */
static void cut_slices(dense_side *d) {
    const cr_meet *meet = d->j->meet;
    d->n = d->m->graph.n_trainable;
    d->mine_end = d->n_pieces;
    if (!meet) return;
    int64_t all = 0, so_far = 0;
    int h = 0;
    for (int64_t i = 0; i < d->n_pieces; i++)
        all += d->pieces[i].n;
    d->slice = CR_NEW_N(&d->arena, int64_t, meet->n + 1);
    d->bytes_at = CR_NEW_N(&d->arena, size_t, meet->n + 1);
    d->pieces_at = CR_NEW_N(&d->arena, size_t, meet->n + 1);
    int *keeper = CR_NEW_N(&d->arena, int, meet->n), n = cr_meet_keepers(meet, keeper), k = 0;
    /* a slice begins where the one before it ends: h is the next holder whose begin is not known,
     * k the next keeper */
    for (int64_t i = 0; i < d->n_pieces; so_far += d->pieces[i++].n)
        for (; k < n && so_far * n >= all * k; k++)
            for (; h <= keeper[k]; h++) {
                d->slice[h] = d->pieces[i].p->offset + d->pieces[i].first;
                d->pieces_at[h] = (size_t)i * sizeof(*d->found);
            }
    for (; h <= meet->n; h++) {
        d->slice[h] = d->n;
        d->pieces_at[h] = (size_t)d->n_pieces * sizeof(*d->found);
    }
    for (h = 0; h <= keeper[0]; h++) {
        d->slice[h] = 0; /* parameters without a gradient may lie in front */
        d->pieces_at[h] = 0;
    }
    for (h = 0; h <= meet->n; h++)
        d->bytes_at[h] = (size_t)d->slice[h] * sizeof(float);
    d->at = d->slice[meet->self];
    d->n = d->slice[meet->self + 1] - d->at;
    d->mine = (int64_t)(d->pieces_at[meet->self] / sizeof(*d->found));
    d->mine_end = (int64_t)(d->pieces_at[meet->self + 1] / sizeof(*d->found));
}

const int64_t *cr_dense_slices(const dense_side *d) {
    return d->slice;
}

/* Gives the weights of every slice to all holders. */
static void share_weights(const dense_side *d) {
    const cr_meet *meet = d->j->meet;
    if (meet) meet->gather(meet->ctx, d->m->graph.params, d->bytes_at);
}

/* Finds which elements [*first, *end) of a parameter have their state here. */
static bool part_here(const dense_side *d, const cr_node *p, int64_t *first, int64_t *end) {
    *first = d->at > p->offset ? d->at - p->offset : 0;
    *end = d->at + d->n < p->offset + p->width ? d->at + d->n - p->offset : p->width;
    return *first < *end;
}

static void init_state(dense_side *d) {
    for (int i = 0; i < d->m->graph.n; i++) {
        const cr_node *p = d->m->graph.nodes[i];
        int64_t first, end;
        if (p->cls != CR_PARAM || !p->trainable || !part_here(d, p, &first, &end)) continue;
        const cr_rule *r = &d->rules->v[d->rules->of[i]];
        for (int k = 0; r->type->state_init && k < r->type->elem_state; k++) {
            float v = r->type->state_init(r->optim->conf, k),
                  *s = d->state + k * d->n + p->offset - d->at;
            for (int64_t q = first; q < end; q++)
                s[q] = v;
        }
    }
}

cr_code cr_dense_new(dense_side **out, cr_job *j, const cr_work *w, cr_err *err) {
    const cr_train_conf *tc = j->root->train_config;
    const cr_ema_conf *ema = tc->dense_optimizer->ema;
    dense_side *d = cr_alloc(sizeof(*d), "dense parameters");
    cr_arena_init(&d->arena, 0);
    d->j = j;
    d->m = j->model;
    d->w = w;
    d->rules = &j->dense;
    d->n_pieces = cut_pieces(d, NULL);
    d->pieces = CR_NEW_N(&d->arena, piece, d->n_pieces + 1);
    d->found = CR_NEW_N(&d->arena, struct found, d->n_pieces + 1);
    cut_pieces(d, d->pieces);
    cut_slices(d);
    int all = cr_dense_planes(j);
    bool keeps = cr_dense_keeps_grad(tc);
    d->planes = all - (ema != NULL) - keeps;
    CR_ASSERT(d->planes <= MAX_PLANES);
    d->size = (size_t)(d->n * all + 16) * sizeof(float);
    void *p;
    cr_code code = cr_big_alloc(&p, d->size, "optimizer state", err);
    if (code != CR_OK) {
        cr_dense_free(d);
        return code;
    }
    d->state = p;
    if (ema) d->ema = d->state + d->planes * d->n;
    if (ema) d->decay = (float)ema->decay;
    if (keeps) d->grad = d->state + (all - 1) * d->n;
    d->accumulates = tc->gradient_accumulation_steps > 1;
    init_state(d);
    *out = d;
    return CR_OK;
}

void cr_dense_free(dense_side *d) {
    if (!d) return;
    if (d->state) cr_big_free(d->state, d->size);
    cr_arena_clear(&d->arena);
    cr_free(d);
}

/* ---- gradients ---- */

static void gather_piece(void *ctx, int64_t item, int thread) {
    (void)thread;
    dense_side *d = ctx;
    const piece *pc = &d->pieces[d->mine + item];
    struct found *found = &d->found[d->mine + item];
    int64_t at = pc->p->offset + pc->first;
    float some[PIECE], *g = d->grad + at - d->at;
    double sum = 0, own = 0;
    cr_work_sum_grads(d->w, at, pc->n, some);
    found->bad = !cr_norm_add(&own, some, pc->n, 2);
    for (int64_t i = 0; i < pc->n; i++) {
        g[i] = d->first ? some[i] : g[i] + some[i];
        some[i] = g[i] * d->unscale;
    }
    cr_norm_add(&sum, some, pc->n, d->norm);
    found->sum = sum;
}

bool cr_dense_gather(dense_side *d, cr_pool *pool, bool first, float unscale, double p,
                     double *sum) {
    d->first = first;
    d->unscale = unscale;
    d->norm = p;
    const cr_meet *meet = d->j->meet;
    cr_pool_run(pool, d->mine_end - d->mine, gather_piece, d);
    if (meet) meet->gather(meet->ctx, d->found, d->pieces_at);
    bool fine = true;
    for (int64_t i = 0; i < d->n_pieces; i++) {
        fine &= d->found[i].bad == 0;
        cr_norm_join(sum, d->found[i].sum, p);
    }
    return fine;
}

/* ---- the update ---- */

static void apply_piece(void *ctx, int64_t item, int thread) {
    (void)thread;
    dense_side *d = ctx;
    const piece *pc = &d->pieces[d->mine + item];
    const cr_rule *r = &d->rules->v[pc->rule];
    float g[PIECE], *planes[MAX_PLANES];
    int64_t at = pc->p->offset + pc->first, n = pc->n;
    if (d->given || d->grad)
        memcpy(g, (d->given ? d->given : d->grad) + at - d->at, (size_t)n * sizeof(float));
    else
        cr_work_sum_grads(d->w, at, n, g);
    cr_adjust a = d->adjust;
    if (a.unscale != 1 || a.factor != 1)
        for (int64_t i = 0; i < n; i++)
            g[i] = g[i] * a.unscale * a.factor;
    if (a.limit > 0)
        for (int64_t i = 0; i < n; i++)
            g[i] = g[i] > a.limit ? a.limit : g[i] < -a.limit ? -a.limit : g[i];
    for (int k = 0; k < r->type->elem_state; k++)
        planes[k] = d->state + k * d->n + at - d->at;
    float *w = d->m->graph.params + at;
    r->type->dense(r->optim->conf, &d->rules->steps[pc->rule], w, g, planes, n);
    if (!d->ema || d->first) return;
    float *e = d->ema + at - d->at, keep = d->decay, rest = 1 - keep;
    for (int64_t i = 0; i < n; i++)
        e[i] = keep * e[i] + rest * w[i];
}

void cr_dense_apply(dense_side *d, cr_pool *pool, cr_adjust a, bool first) {
    d->adjust = a;
    d->first = first;
    cr_pool_run(pool, d->mine_end - d->mine, apply_piece, d);
    share_weights(d);
    if (first) cr_dense_begin_ema(d);
}

void cr_dense_apply_given(dense_side *d, cr_pool *pool, const float *grads, bool first) {
    d->given = grads;
    cr_dense_apply(d, pool, (cr_adjust){1, 1, 0}, first);
    d->given = NULL;
}

void cr_dense_take(dense_side *d, cr_pool *pool, const float *grads) {
    d->adjust = (cr_adjust){1, 1, 0};
    d->given = grads;
    cr_pool_run(pool, d->mine_end - d->mine, apply_piece, d);
    d->given = NULL;
}

typedef struct grads_of {
    const dense_side *d;
    const cr_work *w;
    float *out;
} grads_of;

static void copy_grads(void *ctx, int64_t item, int thread) {
    (void)thread;
    const grads_of *g = ctx;
    const piece *pc = &g->d->pieces[item];
    int64_t at = pc->p->offset + pc->first;
    cr_work_sum_grads(g->w, at, pc->n, g->out + at);
}

void cr_dense_grads(const dense_side *d, const cr_work *w, float *out) {
    grads_of g = {d, w, out};
    cr_pool_run(d->j->pool, d->n_pieces, copy_grads, &g);
}

void cr_dense_share(dense_side *d) {
    share_weights(d);
}

void cr_dense_begin_ema(dense_side *d) {
    if (d->ema) memcpy(d->ema, d->m->graph.params + d->at, (size_t)d->n * sizeof(float));
}

void cr_dense_swap_ema(dense_side *d) {
    if (!d->ema) return;
    float *w = d->m->graph.params + d->at;
    for (int64_t i = 0; i < d->n; i++) {
        float x = w[i];
        w[i] = d->ema[i];
        d->ema[i] = x;
    }
    share_weights(d);
}

/* ---- as tensors: the planes of the rule, then the average, then waiting gradients ---- */

int cr_dense_count(const dense_side *d, const cr_node *p) {
    return d->rules->v[d->rules->of[p->id]].type->elem_state + (d->ema != NULL) + d->accumulates;
}

const char *cr_dense_plane(const dense_side *d, const cr_node *p, int k, float **data) {
    const cr_optim_type *type = d->rules->v[d->rules->of[p->id]].type;
    int64_t first, end;
    bool ema = d->ema && k == type->elem_state;
    *data = k < type->elem_state ? d->state + k * d->n : ema ? d->ema : d->grad;
    *data = part_here(d, p, &first, &end) ? *data + (p->offset + first - d->at) : NULL;
    if (k < type->elem_state) return type->state_names[k];
    return ema ? "ema" : "grad";
}
