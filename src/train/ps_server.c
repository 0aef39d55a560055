/*
 * ps_server.c - see ps_int.h: a server takes letters one after the other, in the order in which
 * they come, and answers. The rows of a letter are distinct, so the threads of the pool share them
 * without a lock.
 */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/kill_point.h"
#include "base/stop.h"
#include "comm/life.h"
#include "train/ps_int.h"

#define PIECE  256  /* rows that a thread takes at a time */
#define SPINS  200  /* looks for a letter before the core is given away, */
#define YIELDS 2000 /* and before the server sleeps between two looks */
#define CHECK  1024 /* sleeps between two looks at the clock */

enum { ANSWER_ROWS, ANSWER_VALUES, N_ANSWERS };

struct ps_server {
    ps_box in;
    ps_box (*answer)[N_ANSWERS]; /* by worker */
    /* by worker */
    int *met; /* how often it has met: again after each TAKE */
    int64_t *met_step;
    int64_t *last; /* the newest step whose gradients came in this round */
    bool *gone;    /* it was lost */
    double *heard; /* when */
    int n_gone, seen_lost;
    int64_t takes; /* TAKE that were sent, or that END tells */
    bool has_end;
    ps_box end;        /* what it says */
    ps_box *order;     /* by holder: TAKE and END */
    cr_take *ended;    /* room for the rows of lost workers */
    int64_t top, stop; /* the newest step that was asked for; the last one of the round */
    bool wish;
    ps_box **kept;  /* by worker: an answer that waits until the last step is known; NULL: none */
    cr_sink *sinks; /* by block */
    float **scratch;
    void *ids, *seg; /* rows of a PUSH; how often keys were seen */
    size_t cap_ids, cap_seg;
    ps_span *span;
    /* of the letter under way */
    const cr_optim_step *steps;
    struct piece {
        int block;
        int64_t first, n;
    } * pieces;
    size_t cap_pieces;
    int64_t n_pieces;
    int64_t *first; /* by block: its first id in ids */
};

static const ps_block *own(const cr_ps *p) {
    return p->blocks[p->index[p->meet->self]];
}
static int n_own(const cr_ps *p) {
    return p->n_blocks[p->index[p->meet->self]];
}

cr_code cr_ps_server_new(cr_ps *p, cr_err *err) {
    (void)err;
    cr_arena *a = &p->arena;
    ps_server *s = p->s = CR_NEW(a, ps_server);
    int64_t scratch = 0;
    s->answer = cr_arena_zalloc(a, (size_t)p->n_workers * sizeof(*s->answer));
    s->met = CR_NEW_N(a, int, p->n_workers);
    s->last = CR_NEW_N(a, int64_t, p->n_workers);
    s->gone = CR_NEW_N(a, bool, p->n_workers);
    s->order = CR_NEW_N(a, ps_box, p->meet->n);
    s->kept = CR_NEW_N(a, ps_box *, p->n_workers);
    s->ended = CR_NEW_N(a, cr_take, p->n_workers + 1);
    s->met_step = CR_NEW_N(a, int64_t, p->n_workers);
    s->heard = CR_NEW_N(a, double, p->n_workers);
    s->sinks = CR_NEW_N(a, cr_sink, n_own(p) + 1);
    s->span = CR_NEW_N(a, ps_span, n_own(p) + 1);
    s->first = CR_NEW_N(a, int64_t, n_own(p) + 1);
    for (int k = 0; k < n_own(p); k++) {
        cr_table *t = own(p)[k].held;
        t->optim_group = p->m->tables[own(p)[k].table]->table.optim_group;
        if (!t->trainable || !t->optim) continue;
        s->sinks[k] = t->owner ? t->owner->sink : cr_table_sink(t);
        if (s->sinks[k].scratch > scratch) scratch = s->sinks[k].scratch;
    }
    int threads = cr_pool_threads(p->j->pool);
    s->scratch = CR_NEW_N(a, float *, threads);
    for (int i = 0; i < threads; i++)
        s->scratch[i] = CR_NEW_N(a, float, scratch + 16);
    return CR_OK;
}

void cr_ps_server_free(cr_ps *p) {
    ps_server *s = p->s;
    if (!s) return;
    cr_free(s->in.mem);
    cr_free(s->end.mem);
    for (int i = 0; s->answer && i < p->n_workers; i++)
        for (int k = 0; k < N_ANSWERS; k++)
            cr_free(s->answer[i][k].mem);
    for (int h = 0; s->order && h < p->meet->n; h++)
        cr_free(s->order[h].mem);
    cr_free(s->ids);
    cr_free(s->seg);
    cr_free(s->pieces);
}

/* ---- a letter's rows ---- */

static void nap(int64_t tries) {
    static const struct timespec t = {0, 50000};
    if (tries < SPINS) return;
    if (tries < SPINS + YIELDS)
        sched_yield();
    else
        nanosleep(&t, NULL);
}

/* Cuts the rows of all blocks into pieces, and runs f for each. */
static cr_code each_piece(cr_ps *p, cr_pool_fn f, cr_err *err) {
    ps_server *s = p->s;
    void *mem = s->pieces;
    s->n_pieces = 0;
    for (int k = 0; k < n_own(p); k++) {
        int64_t n = s->span[k].n;
        cr_code code = cr_ps_room(&mem, &s->cap_pieces,
                                  (size_t)(s->n_pieces + n / PIECE + 1) * sizeof(*s->pieces), err);
        s->pieces = mem;
        CR_TRY(code);
        for (int64_t at = 0; at < n; at += PIECE)
            s->pieces[s->n_pieces++] = (struct piece){k, at, n - at < PIECE ? n - at : PIECE};
    }
    cr_pool_run(p->j->pool, s->n_pieces, f, p);
    return CR_OK;
}

static void copy_rows(void *ctx, int64_t item, int thread) {
    (void)thread;
    const cr_ps *p = ctx;
    const struct piece *q = &p->s->pieces[item];
    const ps_span *sp = &p->s->span[q->block];
    const cr_table *t = own(p)[q->block].held;
    const ps_block *b = &own(p)[q->block];
    size_t bytes = cr_ps_row(p, b, PS_WEIGHTS);
    char *has = cr_ps_flags(p, b, PS_WEIGHTS, sp->n, sp->v);
    for (int64_t i = q->first; i < q->first + q->n; i++) {
        bool known;
        const float *row =
            b->grow ? cr_grow_found(b->grow, i, &known) : cr_table_row(t, (int64_t)sp->id[i]);
        memcpy(sp->v + (size_t)i * bytes, row, bytes);
        if (b->grow) has[i] = (char)known;
    }
}

static void apply_rows(void *ctx, int64_t item, int thread) {
    const cr_ps *p = ctx;
    const ps_server *s = p->s;
    const struct piece *q = &s->pieces[item];
    const ps_block *b = &own(p)[q->block];
    const int64_t *id = (const int64_t *)s->ids + s->first[q->block] + q->first;
    cr_row_grads r = {.id = id,
                      .n = q->n,
                      .g = (float *)(void *)s->span[q->block].v + q->first * b->held->D,
                      .step = &s->steps[b->held->optim_group]};
    s->sinks[q->block].take(s->sinks[q->block].ctx, &r, s->scratch[thread]);
}

static void add_rows(void *ctx, int64_t item, int thread) {
    (void)thread;
    const cr_ps *p = ctx;
    const struct piece *q = &p->s->pieces[item];
    const ps_span *sp = &p->s->span[q->block];
    const cr_table *t = own(p)[q->block].held;
    cr_grow *g = own(p)[q->block].grow;
    for (int64_t i = q->first; i < q->first + q->n; i++) {
        bool known = true;
        float *w = g ? cr_grow_found(g, i, &known) : cr_table_row(t, (int64_t)sp->id[i]);
        if (!known) continue; /* the difference of an id without a row goes nowhere */
        const float *d = (const float *)(const void *)sp->v + i * t->D;
        for (int64_t c = 0; c < t->D; c++)
            w[c] += d[c];
    }
}

/* Are the ids and keys of a span rows of its block? */
static bool lies_in(const ps_block *b, const ps_span *sp) {
    uint32_t most = 0;
    if (b->grows) {
        bool out = false;
        for (int64_t i = 0; i < sp->n; i++)
            out |= sp->key[i] < b->sh->row || sp->key[i] >= b->sh->end;
        return !out;
    }
    for (int64_t i = 0; i < sp->n; i++)
        most = sp->id[i] > most ? sp->id[i] : most;
    return sp->n == 0 || (int64_t)most < b->sh->end - b->sh->row;
}

/* Finds the spans of the list of rows that begins at *at of the letter, and moves *at behind it. */
static cr_code read_spans(cr_ps *p, int from, char **at, ps_values values, cr_err *err) {
    int me = p->index[p->meet->self];
    const ps_box *in = &p->s->in;
    size_t used;
    if (!cr_ps_measure(p, me, *at, (size_t)(in->mem + in->n - *at), values, &used))
        return cr_ps_wrong(from, err);
    (void)cr_ps_lay(p, me, (const int64_t *)(const void *)*at, values, *at, p->s->span);
    for (int k = 0; k < n_own(p); k++)
        if (!lies_in(&own(p)[k], &p->s->span[k])) return cr_ps_wrong(from, err);
    *at += used;
    return CR_OK;
}

/* Do exactly so many bytes of the letter follow `at`? */
static bool ends_with(const cr_ps *p, const char *at, size_t n) {
    return (size_t)(p->s->in.mem + p->s->in.n - at) == n;
}

/* ---- tables that grow ---- */

/* Lets the growing tables learn the keys of a letter. Their step is the newest that any worker has
 * come to. */
static cr_code learn_keys(cr_ps *p, const ps_head *h, cr_err *err) {
    ps_server *s = p->s;
    for (int k = 0; k < n_own(p); k++) {
        const ps_block *b = &own(p)[k];
        const ps_span *sp = &s->span[k];
        if (!b->grow) continue;
        if (sp->times) {
            CR_TRY(cr_ps_room(&s->seg, &s->cap_seg, (size_t)(sp->n + 1) * sizeof(uint32_t), err));
            uint32_t *seg = s->seg;
            seg[0] = 0;
            for (int64_t i = 0; i < sp->n; i++)
                seg[i + 1] = seg[i] + sp->times[i];
        }
        cr_grow_today(b->grow, h->day);
        CR_TRY(cr_grow_step_to(b->grow, p->grown[b->table] + h->step - p->first_step + 1, err));
        CR_TRY(cr_grow_learn(b->grow, sp->key, sp->times ? s->seg : NULL, sp->n, err));
    }
    return CR_OK;
}

static void rest_keys(const cr_ps *p) {
    for (int k = 0; k < n_own(p); k++)
        if (own(p)[k].grow) cr_grow_rest(own(p)[k].grow);
}

/* ---- answers ---- */

static void mark_lost(cr_ps *p, int worker) {
    p->s->n_gone += !p->s->gone[worker];
    p->s->gone[worker] = true;
}

static cr_code look_for_lost(cr_ps *p, cr_err *err) {
    return p->may_lose ? cr_ps_note_lost(p, &p->s->seen_lost, mark_lost, err) : CR_OK;
}

static void post_answer(const cr_ps *p, ps_box *b, int worker) {
    if (!p->s->gone[worker]) cr_ps_post(p, b, p->worker[worker]);
}

/* Returns the box for an answer. One of a worker's letters is answered before it sends the next of
 * its kind, so the box is about to be free. */
static cr_code answer_box(cr_ps *p, int worker, int which, size_t n, ps_box **out, cr_err *err) {
    ps_box *b = &p->s->answer[worker][which];
    for (int64_t tries = 0; !cr_ps_sent(p, b); tries++) {
        nap(tries);
        if (tries % CHECK == CHECK - 1) CR_TRY(look_for_lost(p, err));
        /* MPI may still read it, for a process that does not live */
        if (p->s->gone[worker]) *b = (ps_box){0};
    }
    CR_TRY(cr_ps_fit(b, n, err));
    *out = b;
    return CR_OK;
}

static ps_head head_of(const cr_ps *p, int kind) {
    return (ps_head){.kind = kind,
                     .count = p->counts.batches,
                     .stop = p->index[p->meet->self] == 0 ? p->s->stop : PS_NO_STOP};
}

/* The first server decides which step is the last one: the newest that any worker has asked for, so
 * that nobody is past it. A worker of geo writes behind its steps, so what it has asked for is not
 * known before it writes again. */
static void note_step(cr_ps *p, const ps_head *h) {
    ps_server *s = p->s;
    if (h->step > s->top) s->top = h->step;
    s->wish |= h->wish != 0 || cr_stop_requested != 0;
    if (s->wish && s->stop == PS_NO_STOP && p->strategy != CR_GEO) s->stop = s->top;
}

/* Sends the answers that were kept, once every worker of geo that lives has told its step since the
 * signal, or has ended the round. */
static void give_kept(cr_ps *p) {
    ps_server *s = p->s;
    for (int k = 0; k < p->n_workers; k++)
        if (!s->gone[k] && !s->kept[k] && s->met[k] <= s->takes) return;
    s->stop = s->top;
    for (int k = 0; k < p->n_workers; k++) {
        ps_head h;
        if (!s->kept[k]) continue;
        memcpy(&h, s->kept[k]->mem, sizeof h);
        h.stop = s->stop;
        memcpy(s->kept[k]->mem, &h, sizeof h);
        post_answer(p, s->kept[k], k);
        s->kept[k] = NULL;
        s->heard[k] = cr_now();
    }
}

static bool keeps(const cr_ps *p) {
    const ps_server *s = p->s;
    return p->strategy == CR_GEO && p->index[p->meet->self] == 0 && s->wish &&
           s->stop == PS_NO_STOP;
}

/* Answers a letter that tells the step which a worker has made. The first server of geo waits with
 * it when a signal came, until it knows the last step of the round. */
static void give(cr_ps *p, ps_box *b, int worker) {
    if (keeps(p))
        p->s->kept[worker] = b;
    else
        post_answer(p, b, worker);
}

static size_t slice_bytes(const cr_ps *p) {
    int self = p->meet->self;
    return (size_t)(p->slice[self + 1] - p->slice[self]) * sizeof(float);
}
static float *slice(const cr_ps *p) {
    return p->m->graph.params + p->slice[p->meet->self];
}

/* Says where the rows of an answer lie, from v on, and returns what lies behind them. */
static char *lay_answer(cr_ps *p, char *v, ps_values values) {
    for (int k = 0; k < n_own(p); k++) {
        p->s->span[k].v = v;
        v += cr_ps_answer_size(p, &own(p)[k], values, p->s->span[k].n);
    }
    return v;
}

static cr_code send_rows(cr_ps *p, int worker, const ps_head *h, cr_err *err) {
    ps_server *s = p->s;
    ps_box *b;
    char *at = s->in.mem + sizeof(*h);
    CR_TRY(read_spans(p, p->worker[worker], &at, PS_IDS_ONLY, err));
    if (!ends_with(p, at, 0)) return cr_ps_wrong(p->worker[worker], err);
    if (p->strategy != CR_GEO) note_step(p, h);
    CR_TRY(learn_keys(p, h, err));
    size_t n = sizeof(*h);
    for (int k = 0; k < n_own(p); k++)
        n += cr_ps_answer_size(p, &own(p)[k], PS_WEIGHTS, s->span[k].n);
    CR_TRY(answer_box(p, worker, ANSWER_ROWS, n, &b, err));
    (void)lay_answer(p, b->mem + sizeof(*h), PS_WEIGHTS);
    CR_TRY(each_piece(p, copy_rows, err));
    rest_keys(p);
    ps_head answer = head_of(p, PS_ROWS);
    memcpy(b->mem, &answer, sizeof answer);
    post_answer(p, b, worker);
    return CR_OK;
}

static cr_code send_values(cr_ps *p, int worker, cr_err *err) {
    ps_box *b;
    CR_TRY(answer_box(p, worker, ANSWER_VALUES, sizeof(ps_head) + slice_bytes(p), &b, err));
    ps_head answer = head_of(p, PS_VALUES);
    memcpy(b->mem, &answer, sizeof answer);
    memcpy(b->mem + sizeof answer, slice(p), slice_bytes(p));
    post_answer(p, b, worker);
    return CR_OK;
}

/* Adds a worker's differences and tells it the new values of the same rows. */
static cr_code take_delta(cr_ps *p, int worker, const ps_head *h, cr_err *err) {
    ps_server *s = p->s;
    ps_box *b;
    char *at = s->in.mem + sizeof(*h);
    size_t n = sizeof(*h);
    CR_TRY(read_spans(p, p->worker[worker], &at, PS_DIFFS, err));
    if (!ends_with(p, at, slice_bytes(p))) return cr_ps_wrong(p->worker[worker], err);
    note_step(p, h);
    CR_TRY(learn_keys(p, h, err));
    CR_TRY(each_piece(p, add_rows, err));
    const float *d = (const float *)(const void *)at;
    float *w = slice(p);
    for (size_t i = 0; i < slice_bytes(p) / sizeof(float); i++)
        w[i] += d[i];
    p->counts.batches += h->count;
    p->counts.pushes++;
    for (int k = 0; k < n_own(p); k++)
        n += cr_ps_answer_size(p, &own(p)[k], PS_FLOATS, s->span[k].n);
    CR_TRY(answer_box(p, worker, ANSWER_ROWS, n + slice_bytes(p), &b, err));
    char *v = lay_answer(p, b->mem + sizeof(*h), PS_FLOATS);
    CR_TRY(each_piece(p, copy_rows, err));
    rest_keys(p);
    memcpy(v, w, slice_bytes(p));
    ps_head answer = head_of(p, PS_NEWS);
    memcpy(b->mem, &answer, sizeof answer);
    give(p, b, worker);
    return CR_OK;
}

/* Tells a worker that gets no more rows which step is the last one. */
static cr_code take_dry(cr_ps *p, int worker, const ps_head *h, cr_err *err) {
    ps_box *b;
    if (!ends_with(p, p->s->in.mem + sizeof *h, 0)) return cr_ps_wrong(p->worker[worker], err);
    note_step(p, h);
    CR_TRY(answer_box(p, worker, ANSWER_ROWS, sizeof *h, &b, err));
    ps_head answer = head_of(p, PS_NEWS);
    memcpy(b->mem, &answer, sizeof answer);
    give(p, b, worker);
    return CR_OK;
}

static void note_stale(cr_ps *p, const ps_head *h) {
    int64_t stale = p->counts.batches - h->seen;
    int k = 0;
    while (k + 1 < PS_STALE && stale >> k)
        k++;
    p->counts.stale[k] += h->count;
    if (stale > p->counts.most) p->counts.most = stale;
}

/* One optimizer step. A schedule counts batches of all workers as one step. */
static cr_code take_push(cr_ps *p, int worker, const ps_head *h, cr_err *err) {
    ps_server *s = p->s;
    const cr_trainer_state *c = &p->base;
    int64_t sched = c->sched_steps + p->counts.batches / p->n_workers;
    note_stale(p, h);
    p->counts.pushes++;
    p->counts.batches += h->count;
    cr_rules_step(&p->j->tables, sched, c->sched_epochs, c->updates + p->counts.pushes);
    cr_rules_step(&p->j->dense, sched, c->sched_epochs, c->dense_updates + p->counts.pushes);
    s->steps = p->j->tables.steps;
    char *at = s->in.mem + sizeof(*h);
    for (int part = 0; part < h->parts; part++) {
        CR_TRY(read_spans(p, p->worker[worker], &at, PS_FLOATS, err));
        int64_t n = 0;
        for (int k = 0; k < n_own(p); k++) {
            s->first[k] = n;
            n += s->span[k].n;
        }
        CR_TRY(cr_ps_room(&s->ids, &s->cap_ids, (size_t)n * sizeof(int64_t), err));
        for (int k = 0; k < n_own(p); k++)
            for (int64_t i = 0; i < s->span[k].n; i++)
                ((int64_t *)s->ids)[s->first[k] + i] = cr_ps_id(&own(p)[k], &s->span[k], i);
        CR_TRY(each_piece(p, apply_rows, err));
    }
    if (!ends_with(p, at, slice_bytes(p))) return cr_ps_wrong(p->worker[worker], err);
    cr_dense_take(p->dense, p->j->pool, (const float *)(const void *)at);
    return CR_OK;
}

/* ---- the loop ---- */

static cr_code answer(cr_ps *p, int worker, const ps_head *h, cr_err *err) {
    ps_server *s = p->s;
    switch (h->kind) {
    case PS_PULL: return send_rows(p, worker, h, err);
    case PS_DENSE: return send_values(p, worker, err);
    case PS_PUSH:
        cr_kill_point("push");
        s->last[worker] = h->step;
        return take_push(p, worker, h, err);
    case PS_DELTA:
        cr_kill_point("push");
        s->last[worker] = h->step;
        return take_delta(p, worker, h, err);
    case PS_DRY: return take_dry(p, worker, h, err);
    case PS_MEET:
        s->met[worker]++;
        s->met_step[worker] = h->step;
        return CR_OK;
    default: return cr_ps_wrong(p->worker[worker], err);
    }
}

/* Takes what the first server says of the end of a round. */
static cr_code take_end(cr_ps *p, int from, const ps_head *h, cr_err *err) {
    ps_server *s = p->s;
    if (h->count < 0 || h->count > p->n_workers ||
        !ends_with(p, s->in.mem + sizeof *h, (size_t)h->count * sizeof(cr_take)))
        return cr_ps_wrong(from, err);
    for (int64_t i = 0; i < h->count; i++) {
        cr_take x;
        memcpy(&x, s->in.mem + sizeof *h + (size_t)i * sizeof x, sizeof x);
        if (x.holder < 0 || x.holder >= p->meet->n || p->meet->serves[x.holder])
            return cr_ps_wrong(from, err);
        mark_lost(p, p->index[x.holder]);
    }
    s->has_end = true;
    s->takes = h->takes;
    ps_box b = s->end;
    s->end = s->in;
    s->in = b;
    return CR_OK;
}

static cr_code handle(cr_ps *p, int from, cr_err *err) {
    ps_server *s = p->s;
    ps_head h;
    if (s->in.n < sizeof h) return cr_ps_wrong(from, err);
    memcpy(&h, s->in.mem, sizeof h);
    if (p->meet->serves[from] != (h.kind == PS_END)) return cr_ps_wrong(from, err);
    if (h.kind == PS_END) return take_end(p, from, &h, err);
    int worker = p->index[from];
    double t0 = s->heard[worker] = cr_now();
    cr_code code = answer(p, worker, &h, err);
    double spent = cr_now() - t0;
    if (h.kind == PS_PULL) {
        p->counts.pulls++;
        p->counts.pull_s += spent;
    } else if (h.kind == PS_PUSH || h.kind == PS_DELTA) {
        p->counts.push_s += spent;
    }
    return code;
}

static cr_code check_silence(cr_ps *p, cr_err *err) {
    const ps_server *s = p->s;
    double now = cr_now(), most = (double)p->conf->worker_update_interval_secs;
    for (int k = 0; k < p->n_workers; k++)
        if (!s->gone[k] && !s->kept[k] && s->met[k] <= s->takes && now - s->heard[k] > most)
            return cr_fail(err, CR_ERUN,
                           "worker %d (rank %d) has sent nothing for %.0f s, which is the limit of "
                           "train_config.servers.worker_update_interval_secs; look for what holds "
                           "it, then go on with --continue_train",
                           k, p->worker[k], most);
    return CR_OK;
}

/* Sends the same letter, with the lost workers in it, to a process that lives. */
static cr_code send_order(cr_ps *p, int to, ps_head h, const cr_take *v, int n, cr_err *err) {
    ps_box *b = &p->s->order[to];
    for (int64_t tries = 0; !cr_ps_sent(p, b); tries++)
        nap(tries);
    CR_TRY(cr_ps_fit(b, sizeof h + (size_t)n * sizeof *v, err));
    h.count = n;
    memcpy(b->mem, &h, sizeof h);
    if (n > 0) memcpy(b->mem + sizeof h, v, (size_t)n * sizeof *v);
    cr_ps_post(p, b, to);
    return CR_OK;
}

/* The first server ends the round when all workers that live have met. Rows that lost workers have
 * not trained are dealt to the others first, if that is configured: once, so that the loss of one
 * more cannot keep the round from ending. */
static cr_code end_round(cr_ps *p, cr_err *err) {
    ps_server *s = p->s;
    cr_take *v = s->ended;
    int n = 0, living = p->n_workers - s->n_gone, k = 0, missing = 0;
    int64_t end = 0;
    for (int w = 0; w < p->n_workers; w++)
        if (!s->gone[w]) end = s->met_step[w];
    for (int w = 0; w < p->n_workers; w++) {
        if (!s->gone[w]) continue;
        bool done = s->met[w] > 0 || p->conf->fake_rpc;
        v[n++] =
            (cr_take){.holder = p->worker[w], .from = done ? end + 1 : s->last[w] + 1, .to = end};
        missing += v[n - 1].from <= end;
    }
    if (missing > 0 && s->takes == 0 && strcmp(p->conf->lost_worker, "take_over") == 0) {
        for (int w = 0; w < p->n_workers; w++) {
            if (s->gone[w]) continue;
            ps_head h = {.kind = PS_TAKE, .parts = k++, .seen = living};
            CR_TRY(send_order(p, p->worker[w], h, v, n, err));
            s->heard[w] = cr_now();
        }
        s->takes = 1;
        return CR_OK;
    }
    ps_head h = {.kind = PS_END, .takes = s->takes};
    for (int to = 0; to < p->meet->n; to++)
        if (to != p->meet->self && (p->meet->serves[to] || !s->gone[p->index[to]]))
            CR_TRY(send_order(p, to, h, v, n, err));
    CR_TRY(cr_ps_fit(&s->end, sizeof h + (size_t)n * sizeof *v, err));
    h.count = n;
    memcpy(s->end.mem, &h, sizeof h);
    memcpy(s->end.mem + sizeof h, v, (size_t)n * sizeof *v);
    for (int to = 0; to < p->meet->n; to++) {
        /* a TAKE that a lost worker has not got may be on its way for ever */
        bool lives = p->meet->serves[to] || !s->gone[p->index[to]];
        for (int64_t tries = 0; lives && !cr_ps_sent(p, &s->order[to]); tries++)
            nap(tries);
    }
    s->has_end = true;
    return CR_OK;
}

/* Have all workers that live ended their steps? */
static bool all_met(const cr_ps *p) {
    const ps_server *s = p->s;
    for (int k = 0; k < p->n_workers; k++)
        if (!s->gone[k] && s->met[k] <= s->takes) return false;
    return true;
}

/* Takes one letter; false: there was none. */
static cr_code take_one(cr_ps *p, bool *found, cr_err *err) {
    ps_server *s = p->s;
    int from;
    size_t n;
    *found = p->mail->peek(p->mail->ctx, &from, &n);
    if (!*found) return CR_OK;
    CR_TRY(cr_ps_fit(&s->in, n, err));
    if (!p->mail->take(p->mail->ctx, from, s->in.mem, n)) {
        s->in = (ps_box){0}; /* MPI may still write there */
        return CR_OK;
    }
    return handle(p, from, err);
}

cr_code cr_ps_serve(cr_ps *p, cr_err *err) {
    ps_server *s = p->s;
    bool first = p->index[p->meet->self] == 0, found;
    s->top = -1;
    s->stop = PS_NO_STOP;
    s->wish = s->has_end = false;
    s->takes = 0;
    for (int k = 0; k < p->n_workers; k++) {
        s->met[k] = 0;
        s->last[k] = p->first_step - 1;
        s->heard[k] = cr_now();
        s->kept[k] = NULL;
    }
    for (int64_t idle = 0; !all_met(p) || (p->may_lose && !s->has_end);) {
        CR_TRY(take_one(p, &found, err));
        if (found) {
            idle = 0;
            if (p->counts.pushes == 1) cr_life_step();
        } else {
            nap(idle++);
            if (idle % CHECK == 0) CR_TRY(check_silence(p, err));
        }
        if (!found || s->seen_lost == 0) CR_TRY(look_for_lost(p, err));
        if (keeps(p)) give_kept(p);
        if (p->may_lose && first && !found && all_met(p)) CR_TRY(end_round(p, err));
    }
    for (int k = 1; k < p->n_workers && s->n_gone == 0 && !p->conf->fake_rpc; k++)
        if (s->met_step[k] != s->met_step[0]) CR_BUG("workers end a round at different steps");
    for (int k = 0; k < p->n_workers; k++)
        for (int q = 0; q < N_ANSWERS && !s->gone[k]; q++)
            for (int64_t tries = 0; !cr_ps_sent(p, &s->answer[k][q]); tries++)
                nap(tries);
    p->counts.round_s = cr_now() - p->began;
    if (p->may_lose) cr_ps_read_end(p, &s->end);
    return CR_OK;
}
