/*
 * ps_worker.c - see ps_int.h: the rows that a worker's step reads, and where its gradients go.
 */
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/log.h"
#include "base/stop.h"
#include "train/ps_int.h"

static const char what[] = "letters of parameter servers";

static ps_box *boxes(cr_ps *p) {
    return CR_NEW_N(&p->arena, ps_box, p->n_servers);
}

/* ---- rows ---- */

static void fetch(void *ctx, int table, const int64_t *id, const uint32_t *seg, int64_t n,
                  float *rows, int64_t stride, bool asked) {
    ps_worker *w = ((cr_ps *)ctx)->w;
    w->want[table].id = id;
    w->want[table].seg = seg;
    w->want[table].has = NULL;
    w->want[table].n = n;
    w->want[table].rows = rows;
    w->want[table].stride = stride;
    w->ahead = asked;
}

/* Writes the letters that ask for rows, and lets them go. */
static cr_code ask_rows(cr_ps *p, int64_t step, cr_err *err) {
    ps_worker *w = p->w;
    CR_TRY(cr_ps_talk_idle(p, &w->pull, err));
    for (int s = 0; s < p->n_servers; s++) {
        int64_t first;
        for (int k = 0; k < p->n_blocks[s]; k++) {
            const ps_block *b = &p->blocks[s][k];
            w->count[k] = cr_ps_part(b, w->want[b->table].id, w->want[b->table].n, &first);
        }
        size_t n = cr_ps_lay(p, s, w->count, PS_IDS_ONLY, NULL, NULL);
        CR_TRY(cr_ps_fit(&w->pull.out[s], sizeof(ps_head) + n, err));
        ps_head h = {.kind = PS_PULL,
                     .step = step,
                     .wish = cr_stop_requested != 0,
                     .day = p->m->day};
        char *at = w->pull.out[s].mem;
        memcpy(at, &h, sizeof h);
        at += sizeof h;
        memcpy(at, w->count, (size_t)p->n_blocks[s] * sizeof(int64_t));
        (void)cr_ps_lay(p, s, w->count, PS_IDS_ONLY, at, w->span);
        for (int k = 0; k < p->n_blocks[s]; k++) {
            const ps_block *b = &p->blocks[s][k];
            const int64_t *id = w->want[b->table].id;
            int64_t m = cr_ps_part(b, id, w->want[b->table].n, &first);
            const uint32_t *seg = w->want[b->table].seg;
            for (int64_t i = 0; i < m; i++)
                cr_ps_put_id(b, &w->span[k], i, id[first + i]);
            for (int64_t i = 0; w->span[k].times && i < m; i++)
                w->span[k].times[i] = seg[first + i + 1] - seg[first + i];
        }
    }
    cr_ps_ask(p, &w->pull);
    return CR_OK;
}

/* Puts the rows that came where they are wanted. */
static cr_code take_rows(cr_ps *p, cr_err *err) {
    ps_worker *w = p->w;
    CR_TRY(cr_ps_answer(p, &w->pull, err));
    for (int s = 0; s < p->n_servers; s++) {
        char *v = w->pull.in[s].mem;
        ps_head h = {0};
        size_t size = sizeof h;
        for (int k = 0; k < p->n_blocks[s]; k++) {
            const ps_block *b = &p->blocks[s][k];
            int64_t at, n = cr_ps_part(b, w->want[b->table].id, w->want[b->table].n, &at);
            size += cr_ps_answer_size(p, b, PS_WEIGHTS, n);
        }
        if (!w->fake && w->pull.in[s].n != size) return cr_ps_wrong(p->server[s], err);
        if (!w->fake) memcpy(&h, v, sizeof h);
        w->seen[s] = h.count;
        v += w->fake ? 0 : sizeof h;
        for (int k = 0; k < p->n_blocks[s]; k++) {
            const ps_block *b = &p->blocks[s][k];
            size_t bytes = cr_ps_row(p, b, PS_WEIGHTS);
            int64_t first, n = cr_ps_part(b, w->want[b->table].id, w->want[b->table].n, &first);
            for (int64_t i = 0; i < n; i++) {
                float *to = w->want[b->table].rows + (first + i) * w->want[b->table].stride;
                if (w->fake)
                    memset(to, 0, bytes);
                else
                    memcpy(to, v + (size_t)i * bytes, bytes);
            }
            if (b->grows && w->want[b->table].has)
                memcpy(w->want[b->table].has + first, cr_ps_flags(p, b, PS_WEIGHTS, n, v),
                       (size_t)n);
            if (!w->fake) v += cr_ps_answer_size(p, b, PS_WEIGHTS, n);
        }
    }
    return cr_ps_talk_idle(p, &w->pull, err);
}

cr_code cr_ps_pull(cr_ps *p, cr_err *err) {
    if (!p->w->ahead) CR_TRY(ask_rows(p, p->w->step, err));
    return take_rows(p, err);
}

/* A step behind the last one of the round is not made. */
static cr_code stopped(const cr_ps *p, cr_err *err) {
    pthread_mutex_lock(&p->w->lock); /* rows of the coming batch may tell it meanwhile */
    bool made = p->w->step <= p->w->stop;
    pthread_mutex_unlock(&p->w->lock);
    if (made) return CR_OK;
    return cr_fail(err, CR_ESTOP, "a signal ends the round");
}

static cr_code fetched(void *ctx, cr_err *err) {
    cr_ps *p = ctx;
    if (p->strategy == CR_GEO) return cr_ps_geo_fetched(p, err);
    CR_TRY(cr_ps_pull(p, err));
    return stopped(p, err);
}

static void ask(void *ctx, int table, const int64_t *id, const uint32_t *seg, int64_t n,
                bool sure) {
    ps_worker *w = ((cr_ps *)ctx)->w;
    w->want[table].id = id;
    w->want[table].seg = seg;
    w->want[table].n = n;
    w->unsure |= !sure;
}

static cr_code asked(void *ctx, bool *sure, cr_err *err) {
    cr_ps *p = ctx;
    *sure = p->strategy == CR_ASYNC && !p->w->unsure;
    p->w->unsure = false;
    return *sure ? ask_rows(p, p->w->step + 1, err) : CR_OK;
}

bool cr_ps_looks_ahead(const cr_ps *p) {
    return p->strategy == CR_ASYNC;
}

/* ---- gradients ---- */

static void take_grads(void *ctx, const cr_row_grads *r, float *scratch) {
    (void)scratch;
    const struct ps_sink *s = ctx;
    cr_ps *p = s->p;
    ps_rows *rows = &p->w->now->rows[s->table];
    int64_t D = p->m->tables[s->table]->D, at = cr_ids_find(rows->id, rows->n, r->id[0]);
    memcpy(rows->v + at * D, r->g, (size_t)(r->n * D) * sizeof(float));
}

void cr_ps_sinks(cr_ps *p) {
    for (int t = 0; t < p->m->n_tables; t++) {
        cr_sink sink = {.take = take_grads};
        if (!p->serves) sink.ctx = &p->w->sinks[t];
        if (!p->serves && p->strategy == CR_GEO) sink = cr_ps_geo_sink(p, t);
        cr_shards_sink(p->m->shards, t, sink);
    }
}

/* Makes room for the gradients of this batch's rows. */
static cr_code prepare(cr_ps *p, const cr_updater *up, ps_entry *e, cr_err *err) {
    e->step = p->w->step;
    memcpy(e->seen, p->w->seen, (size_t)p->n_servers * sizeof(int64_t));
    for (int t = 0; t < p->m->n_tables; t++) {
        ps_rows *r = &e->rows[t];
        r->n = 0;
        if (p->m->tables[t]->updater < 0) continue;
        const cr_group *g = cr_updater_ids(up, p->m->tables[t]->updater);
        void *id = r->id, *v = r->v;
        cr_code code = cr_ps_room(&id, &r->cap_id, (size_t)(g->n_uniq + 1) * sizeof(int64_t), err);
        r->id = id;
        CR_TRY(code);
        size_t floats = (size_t)((g->n_uniq + 1) * p->m->tables[t]->D);
        code = cr_ps_room(&v, &r->cap_v, floats * sizeof(float), err);
        r->v = v;
        CR_TRY(code);
        r->n = g->n_uniq;
        memcpy(r->id, g->id, (size_t)g->n_uniq * sizeof(int64_t));
    }
    return CR_OK;
}

cr_code cr_ps_push(cr_ps *p, cr_updater *up, const cr_work *w, cr_err *err) {
    if (p->strategy == CR_GEO) {
        cr_updater_apply(up, p->j->tables.steps);
        return cr_ps_geo_step(p, w, false, err);
    }
    CR_TRY(cr_ps_entry(p, &p->w->now, err));
    ps_entry *e = p->w->now;
    CR_TRY(prepare(p, up, e, err));
    cr_updater_apply(up, p->j->tables.steps);
    cr_dense_grads(p->dense, w, e->dense);
    return cr_ps_give(p, err);
}

cr_code cr_ps_refresh(cr_ps *p, int64_t step, cr_err *err) {
    ps_worker *w = p->w;
    w->step = step;
    pthread_mutex_lock(&w->lock);
    if (w->has_fresh)
        memcpy(p->m->graph.params, w->fresh, (size_t)p->m->graph.n_trainable * sizeof(float));
    w->has_fresh = false;
    pthread_mutex_unlock(&w->lock);
    (void)err;
    return CR_OK;
}

bool cr_ps_stops(const cr_ps *p, int64_t step) {
    ps_worker *w = p->w;
    pthread_mutex_lock(&w->lock);
    bool stops = step >= w->stop || (w->fake && cr_stop_requested != 0);
    pthread_mutex_unlock(&w->lock);
    return stops;
}

cr_code cr_ps_dry(cr_ps *p, int64_t step, cr_err *err) {
    ps_talk *t = &p->w->delta;
    ps_head h = {.kind = PS_DRY, .step = step, .wish = 1};
    CR_TRY(cr_ps_talk_idle(p, t, err));
    for (int s = 0; s < p->n_servers; s++) {
        CR_TRY(cr_ps_fit(&t->out[s], sizeof h, err));
        memcpy(t->out[s].mem, &h, sizeof h);
    }
    cr_ps_ask(p, t);
    CR_TRY(cr_ps_answer(p, t, err));
    return cr_ps_talk_idle(p, t, err);
}

/* ---- life ---- */

static void init_talk(cr_ps *p, ps_talk *t) {
    t->out = boxes(p);
    t->in = boxes(p);
}

cr_code cr_ps_worker_new(cr_ps *p, cr_err *err) {
    cr_arena *a = &p->arena;
    ps_worker *w = p->w = CR_NEW(a, ps_worker);
    pthread_condattr_t attr;
    int n = p->m->n_tables;
    w->cap = p->strategy == CR_HALF_ASYNC ? 1 : (int)p->conf->send_queue_size;
    int most = w->cap + (int)p->conf->max_merge_var_num + 2;
    w->fake = p->conf->fake_rpc;
    w->inline_recv = p->strategy == CR_HALF_ASYNC || !p->conf->independent_recv_thread;
    w->ring = CR_NEW_N(a, ps_entry *, w->cap);
    w->idle = CR_NEW_N(a, ps_entry *, most);
    w->have = CR_NEW_N(a, ps_entry *, p->conf->max_merge_var_num + 1);
    init_talk(p, &w->pull);
    init_talk(p, &w->recv);
    init_talk(p, &w->delta);
    w->push = boxes(p);
    w->want = cr_arena_zalloc(a, (size_t)(n + 1) * sizeof(*w->want));
    w->count = CR_NEW_N(a, int64_t, p->most_blocks + 1);
    w->span = CR_NEW_N(a, ps_span, p->most_blocks + 1);
    w->seen = CR_NEW_N(a, int64_t, p->n_servers);
    w->sinks = cr_arena_zalloc(a, (size_t)(n + 1) * sizeof(*w->sinks));
    for (int t = 0; t < n; t++)
        w->sinks[t] = (struct ps_sink){p, t};
    w->fresh = cr_alloc((size_t)(p->m->graph.n_trainable + 1) * sizeof(float), what);
    w->way = (cr_shards_way){p, fetch, fetched, ask, asked};
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->news, &attr);
    pthread_cond_init(&w->work, &attr);
    pthread_condattr_destroy(&attr);
    ps_head h = {.kind = PS_DENSE};
    for (int s = 0; s < p->n_servers; s++) {
        CR_TRY(cr_ps_fit(&w->recv.out[s], sizeof h, err));
        memcpy(w->recv.out[s].mem, &h, sizeof h);
    }
    if (w->fake)
        CR_WARN(
            "fake_rpc: nothing is sent to the parameter servers and nothing comes from them; the "
            "speed is that of computing alone, and nothing is learned");
    return p->strategy == CR_GEO ? cr_ps_geo_new(p, err) : CR_OK;
}

static void free_boxes(const cr_ps *p, ps_box *v) {
    for (int s = 0; v && s < p->n_servers; s++)
        cr_free(v[s].mem);
}

static void free_entry(const cr_ps *p, ps_entry *e) {
    for (int t = 0; e && t < p->m->n_tables; t++) {
        cr_free(e->rows[t].id);
        cr_free(e->rows[t].v);
    }
    if (!e) return;
    cr_free(e->rows);
    cr_free(e->seen);
    cr_free(e->dense);
    cr_free(e);
}

void cr_ps_worker_free(cr_ps *p) {
    ps_worker *w = p->w;
    if (!w) return;
    cr_ps_post_end(p);
    cr_ps_geo_free(p);
    ps_talk *talks[] = {&w->pull, &w->recv, &w->delta};
    for (int i = 0; i < 3; i++) {
        free_boxes(p, talks[i]->out);
        free_boxes(p, talks[i]->in);
    }
    free_boxes(p, w->push);
    for (int i = 0; i < w->n_idle; i++)
        free_entry(p, w->idle[i]);
    for (int i = 0; i < w->n; i++)
        free_entry(p, w->ring[(w->head + i) % w->cap]);
    for (int i = 0; i < w->n_have; i++)
        free_entry(p, w->have[i]);
    free_entry(p, w->now);
    cr_free(w->sum.id);
    cr_free(w->sum.v);
    cr_free(w->spare.mem);
    cr_free(w->fresh);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->news);
    pthread_cond_destroy(&w->work);
}

void cr_ps_worker_begin(cr_ps *p) {
    ps_worker *w = p->w;
    cr_err err;
    w->stop = PS_NO_STOP;
    if (p->m->shards) cr_shards_via(p->m->shards, &w->way);
    if (p->strategy == CR_GEO) cr_ps_geo_begin(p);
    /* the others are about to wait for letters of this worker, so it cannot end by itself */
    if (cr_ps_post_begin(p, &err) != CR_OK) (void)cr_job_alone(p->j, err.code, &err);
}

/* Tells the servers that this worker's steps are done, behind all its other letters. */
static cr_code say_meet(cr_ps *p, int64_t step, cr_err *err) {
    ps_worker *w = p->w;
    static const struct timespec nap = {0, 50000};
    ps_head h = {.kind = PS_MEET, .step = step};
    for (int s = 0; s < p->n_servers; s++) {
        CR_TRY(cr_ps_fit(&w->push[s], sizeof h, err));
        memcpy(w->push[s].mem, &h, sizeof h);
        cr_ps_post(p, &w->push[s], p->server[s]);
    }
    for (int s = 0; s < p->n_servers; s++)
        while (!cr_ps_sent(p, &w->push[s]))
            nanosleep(&nap, NULL);
    return CR_OK;
}

/* Waits for END, or for the rows of lost workers (TAKE). The first server watches those that are
 * not here yet, and its agent watches it, so this needs no limit of its own. */
static cr_code hear_end(cr_ps *p, cr_takes *more, cr_err *err) {
    ps_worker *w = p->w;
    static const struct timespec nap = {0, 200000};
    ps_head h = {0};
    int from;
    size_t n;
    while (!p->mail->peek(p->mail->ctx, &from, &n))
        nanosleep(&nap, NULL);
    CR_TRY(cr_ps_fit(&w->spare, n, err));
    if (!p->mail->take(p->mail->ctx, from, w->spare.mem, n) || n < sizeof h)
        return cr_fail(err, CR_ERUN, "the first parameter server was lost at the end of a round");
    memcpy(&h, w->spare.mem, sizeof h);
    if (h.count < 0 || h.count > p->n_workers || n != sizeof h + (size_t)h.count * sizeof(cr_take))
        return cr_ps_wrong(from, err);
    if (h.kind == PS_END) {
        cr_ps_read_end(p, &w->spare);
        return CR_OK;
    }
    if (h.kind != PS_TAKE || h.parts < 0 || h.seen <= h.parts) return cr_ps_wrong(from, err);
    more->n = (int)h.count;
    more->part = (int)h.parts;
    more->parts = (int)h.seen;
    more->v = CR_NEW_N(&p->arena, cr_take, more->n);
    memcpy(more->v, w->spare.mem + sizeof h, (size_t)more->n * sizeof(cr_take));
    cr_ps_worker_begin(p);
    return CR_OK;
}

cr_code cr_ps_meet(cr_ps *p, int64_t step, cr_takes *more, cr_err *err) {
    ps_worker *w = p->w;
    *more = (cr_takes){0};
    if (p->serves) return CR_OK;
    if (p->strategy == CR_GEO) CR_TRY(cr_ps_geo_step(p, NULL, true, err));
    CR_TRY(cr_ps_talk_idle(p, &w->pull, err)); /* rows of a batch that is not trained any more */
    cr_ps_post_end(p);
    if (w->failed) {
        cr_err_copy(err, &w->err);
        return err->code;
    }
    w->has_fresh = false;
    if (p->m->shards) cr_shards_via(p->m->shards, NULL);
    CR_TRY(say_meet(p, step, err));
    return p->may_lose ? hear_end(p, more, err) : CR_OK;
}
