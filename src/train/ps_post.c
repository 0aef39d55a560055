/*
 * ps_post.c - see ps_int.h: the thread of a worker that sends and receives inside a round, and the
 * queue of gradients in front of it.
 *
 * The queue is Paddle's: gradients are taken one by one and merged, up to max_merge_var_num of
 * them; when the queue is empty, the thread tries again after 10 ms, send_wait_times times, and
 * then goes on with what it has. Paddle has a queue for every variable; as each batch puts a
 * gradient into every one of them, one queue is the same.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "train/ps_int.h"

#define MISS_S 0.01    /* between two looks at an empty queue */
#define NAP_NS 50000   /* between two looks for answers, */
#define OFF_NS 5000000 /* and when none is expected */

/* ---- what the training thread calls ---- */

static void sleep_on(pthread_cond_t *c, pthread_mutex_t *m, int64_t ns) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (long)(ns % 1000000000);
    t.tv_sec += (time_t)(ns / 1000000000) + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(c, m, &t);
}

/* Waits a moment for the other thread; fails when it has failed, or waits for too long. The lock is
 * held. */
static cr_code wait_more(cr_ps *p, double since, const ps_talk *t, const char *what, cr_err *err) {
    ps_worker *w = p->w;
    double most = 1e-3 * (double)p->conf->rpc_deadline * (double)p->conf->rpc_retry_times;
    if (w->failed) {
        cr_err_copy(err, &w->err);
        return err->code;
    }
    if (cr_now() - since > most) {
        char who[128] = "";
        for (int s = 0, n = 0; t && s < p->n_servers && n < 96; s++)
            if (!t->in[s].n)
                n += snprintf(who + n, sizeof who - (size_t)n, "%s%d", n ? ", " : ": rank ",
                              p->server[s]);
        return cr_fail(
            err, CR_ERUN,
            "%s took more than %.0f s, which rpc_deadline and rpc_retry_times of "
            "train_config.servers allow%s; see whether the servers live, then go on with "
            "--continue_train",
            what, most, who);
    }
    sleep_on(&w->news, &w->lock, 100000000);
    return CR_OK;
}

static ps_entry *new_entry(cr_ps *p) {
    ps_entry *e = cr_alloc(sizeof(*e), "gradients for parameter servers");
    e->seen = cr_alloc((size_t)p->n_servers * sizeof(int64_t), "gradients for parameter servers");
    e->rows =
        cr_alloc((size_t)(p->m->n_tables + 1) * sizeof(ps_rows), "gradients for parameter servers");
    e->dense = cr_alloc((size_t)(p->m->graph.n_trainable + 1) * sizeof(float),
                        "gradients for parameter servers");
    return e;
}

cr_code cr_ps_entry(cr_ps *p, ps_entry **out, cr_err *err) {
    ps_worker *w = p->w;
    double since = cr_now();
    cr_code code = CR_OK;
    pthread_mutex_lock(&w->lock);
    while (code == CR_OK && w->n == w->cap)
        code = wait_more(p, since, NULL, "sending gradients", err);
    *out = code != CR_OK ? NULL : w->n_idle > 0 ? w->idle[--w->n_idle] : NULL;
    pthread_mutex_unlock(&w->lock);
    if (code == CR_OK && !*out) *out = new_entry(p);
    return code;
}

cr_code cr_ps_give(cr_ps *p, cr_err *err) {
    ps_worker *w = p->w;
    double since = cr_now();
    cr_code code = CR_OK;
    pthread_mutex_lock(&w->lock);
    w->ring[(w->head + w->n++) % w->cap] = w->now;
    w->now = NULL;
    w->unfinished++;
    pthread_cond_signal(&w->work);
    /* half_async goes on with parameters that have this gradient in them */
    while (code == CR_OK && p->strategy == CR_HALF_ASYNC && w->unfinished > 0)
        code = wait_more(p, since, NULL, "the answer to a gradient", err);
    pthread_mutex_unlock(&w->lock);
    return code;
}

void cr_ps_ask(cr_ps *p, ps_talk *t) {
    ps_worker *w = p->w;
    pthread_mutex_lock(&w->lock);
    for (int s = 0; s < p->n_servers; s++)
        t->in[s].n = 0;
    t->come = 0;
    t->since = cr_now();
    t->state = w->fake ? PS_COME : PS_WANTED;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
}

cr_code cr_ps_answer(cr_ps *p, ps_talk *t, cr_err *err) {
    ps_worker *w = p->w;
    cr_code code = CR_OK;
    pthread_mutex_lock(&w->lock);
    while (code == CR_OK && t->state != PS_COME)
        code = wait_more(p, t->since, t, "the answer of a parameter server", err);
    pthread_mutex_unlock(&w->lock);
    return code;
}

cr_code cr_ps_talk_idle(cr_ps *p, ps_talk *t, cr_err *err) {
    ps_worker *w = p->w;
    double since = cr_now();
    cr_code code = CR_OK;
    pthread_mutex_lock(&w->lock);
    for (bool busy = true; code == CR_OK && busy;) {
        busy = t->state == PS_WANTED || t->state == PS_SENT;
        for (int s = 0; s < p->n_servers; s++)
            busy |= t->out[s].busy;
        if (busy) code = wait_more(p, since, t, "the answer of a parameter server", err);
    }
    if (code == CR_OK) t->state = PS_IDLE;
    pthread_mutex_unlock(&w->lock);
    return code;
}

/* ---- merging ---- */

/* Merges the rows of b into those of a; both ascend. */
static cr_code merge_rows(ps_worker *w, ps_rows *a, const ps_rows *b, int64_t D, cr_err *err) {
    ps_rows *o = &w->sum;
    void *id = o->id, *v = o->v;
    cr_code code = cr_ps_room(&id, &o->cap_id, (size_t)(a->n + b->n) * sizeof(int64_t), err);
    o->id = id;
    CR_TRY(code);
    code = cr_ps_room(&v, &o->cap_v, (size_t)((a->n + b->n) * D) * sizeof(float), err);
    o->v = v;
    CR_TRY(code);
    int64_t i = 0, k = 0;
    for (o->n = 0; i < a->n || k < b->n; o->n++) {
        bool first = k == b->n || (i < a->n && (uint64_t)a->id[i] <= (uint64_t)b->id[k]);
        bool both = first && k < b->n && a->id[i] == b->id[k];
        float *to = o->v + o->n * D;
        o->id[o->n] = first ? a->id[i] : b->id[k];
        memcpy(to, first ? a->v + i * D : b->v + k * D, (size_t)D * sizeof(float));
        for (int64_t c = 0; both && c < D; c++)
            to[c] += b->v[k * D + c];
        i += first;
        k += !first || both;
    }
    ps_rows x = *a;
    *a = *o;
    *o = x;
    return CR_OK;
}

static void scale(float *v, int64_t n, float by) {
    for (int64_t i = 0; i < n; i++)
        v[i] *= by;
}

/* Merges the entries that were taken into the first one, or, where rows stay apart, their dense
 * parts only. mean: the mean is taken instead of the sum. */
static cr_code merge(cr_ps *p, bool mean, cr_err *err) {
    ps_worker *w = p->w;
    ps_entry *a = w->have[0];
    int64_t n = p->m->graph.n_trainable;
    for (int e = 1; e < w->n_have; e++) {
        const ps_entry *b = w->have[e];
        for (int64_t i = 0; i < n; i++)
            a->dense[i] += b->dense[i];
        for (int s = 0; s < p->n_servers; s++)
            if (b->seen[s] < a->seen[s]) a->seen[s] = b->seen[s];
        for (int t = 0; p->conf->merge_sparse_grad && t < p->m->n_tables; t++)
            CR_TRY(merge_rows(w, &a->rows[t], &b->rows[t], p->m->tables[t]->D, err));
    }
    if (!mean || w->n_have == 1) return CR_OK;
    float by = 1.0F / (float)w->n_have;
    scale(a->dense, n, by);
    for (int e = 0; e < (p->conf->merge_sparse_grad ? 1 : w->n_have); e++)
        for (int t = 0; t < p->m->n_tables; t++)
            scale(w->have[e]->rows[t].v, w->have[e]->rows[t].n * p->m->tables[t]->D, by);
    return CR_OK;
}

/* Is the sum of merged gradients taken, and not their mean? */
static bool adds_up(const cr_ps *p) {
    if (cr_conf_has(p->conf, "is_sgd_optimizer")) return p->conf->is_sgd_optimizer;
    return cr_job_is_sgd(p->j);
}

/* ---- sending ---- */

/* Writes the rows of one entry that lie with a server. */
static void write_rows(cr_ps *p, int s, const ps_entry *e, char *at, ps_span *span) {
    for (int k = 0; k < p->n_blocks[s]; k++) {
        const ps_block *b = &p->blocks[s][k];
        const ps_rows *r = &e->rows[b->table];
        int64_t first;
        ((int64_t *)(void *)at)[k] = cr_ps_part(b, r->id, r->n, &first);
    }
    (void)cr_ps_lay(p, s, (const int64_t *)(void *)at, PS_FLOATS, at, span);
    for (int k = 0; k < p->n_blocks[s]; k++) {
        const ps_block *b = &p->blocks[s][k];
        const ps_rows *r = &e->rows[b->table];
        int64_t D = p->m->tables[b->table]->D, first, n = cr_ps_part(b, r->id, r->n, &first);
        for (int64_t i = 0; i < n; i++)
            cr_ps_put_id(b, &span[k], i, r->id[first + i]);
        memcpy(span[k].v, r->v + first * D, (size_t)(n * D) * sizeof(float));
    }
}

static size_t rows_size(cr_ps *p, int s, const ps_entry *e, int64_t *n) {
    for (int k = 0; k < p->n_blocks[s]; k++) {
        int64_t first;
        const ps_rows *r = &e->rows[p->blocks[s][k].table];
        n[k] = cr_ps_part(&p->blocks[s][k], r->id, r->n, &first);
    }
    return cr_ps_lay(p, s, n, PS_FLOATS, NULL, NULL);
}

static cr_code push(cr_ps *p, cr_err *err) {
    ps_worker *w = p->w;
    int parts = p->conf->merge_sparse_grad ? 1 : w->n_have;
    int64_t *n = cr_alloc((size_t)(p->most_blocks + 1) * sizeof(int64_t), "a letter");
    ps_span *span = cr_alloc((size_t)(p->most_blocks + 1) * sizeof(ps_span), "a letter");
    cr_code code = merge(p, !adds_up(p), err);
    for (int s = 0; s < p->n_servers && code == CR_OK; s++) {
        int h = p->server[s];
        size_t dense = (size_t)(p->slice[h + 1] - p->slice[h]) * sizeof(float);
        size_t size = sizeof(ps_head) + dense;
        for (int e = 0; e < parts; e++)
            size += rows_size(p, s, w->have[e], n);
        code = cr_ps_fit(&w->push[s], size, err);
        if (code != CR_OK) break;
        ps_head head = {.kind = PS_PUSH,
                        .parts = parts,
                        .step = w->have[w->n_have - 1]->step,
                        .count = w->n_have,
                        .seen = w->have[0]->seen[s]};
        char *at = w->push[s].mem;
        memcpy(at, &head, sizeof head);
        at += sizeof head;
        for (int e = 0; e < parts; e++) {
            write_rows(p, s, w->have[e], at, span);
            at += rows_size(p, s, w->have[e], n);
        }
        memcpy(at, w->have[0]->dense + p->slice[h], dense);
        cr_ps_post(p, &w->push[s], h);
    }
    cr_free(span);
    cr_free(n);
    return code;
}

/* Ends the work of both threads. */
static void fail(ps_worker *w, const cr_err *err) {
    pthread_mutex_lock(&w->lock);
    if (!w->failed) cr_err_copy(&w->err, err);
    w->failed = true;
    pthread_cond_broadcast(&w->news);
    pthread_mutex_unlock(&w->lock);
}

/* Takes gradients from the queue; true: those that were taken are to be sent now. */
static bool collect(cr_ps *p, bool *moved) {
    ps_worker *w = p->w;
    int64_t most = p->strategy == CR_HALF_ASYNC ? 1 : p->conf->max_merge_var_num;
    pthread_mutex_lock(&w->lock);
    bool closing = w->closing;
    while (w->n > 0 && w->n_have < most) {
        w->have[w->n_have++] = w->ring[w->head];
        w->head = (w->head + 1) % w->cap;
        w->n--;
        w->misses = 0;
        w->next_try = cr_now() + MISS_S;
        *moved = true;
        pthread_cond_signal(&w->news);
    }
    pthread_mutex_unlock(&w->lock);
    if (w->n_have == 0) return false;
    if (w->n_have == most || closing || w->misses >= p->conf->send_wait_times) return true;
    if (cr_now() < w->next_try) return false;
    w->misses++;
    w->next_try = cr_now() + MISS_S;
    return w->misses >= p->conf->send_wait_times;
}

static bool all_sent(const cr_ps *p, ps_box *v) {
    bool all = true;
    for (int s = 0; s < p->n_servers; s++)
        all &= cr_ps_sent(p, &v[s]);
    return all;
}

/* Sends gradients, and asks for dense parameters when it is time. */
static bool send_grads(cr_ps *p, cr_err *err) {
    ps_worker *w = p->w;
    bool moved = false;
    if (w->pushing) {
        if (!all_sent(p, w->push)) return false;
        w->pushing = false;
    }
    pthread_mutex_lock(&w->lock);
    bool receiving = w->recv.state != PS_IDLE;
    pthread_mutex_unlock(&w->lock);
    if (w->inline_recv && receiving) return false;
    if (!collect(p, &moved)) return moved;
    if (!w->fake) {
        if (push(p, err) != CR_OK) {
            fail(w, err);
            return false;
        }
        w->pushing = true;
    }
    int n = w->n_have;
    w->counter += n;
    bool ask = !w->fake && !receiving &&
               (w->inline_recv || w->counter > p->conf->min_send_grad_num_before_recv);
    if (ask) w->counter = 0;
    pthread_mutex_lock(&w->lock);
    for (int e = 0; e < n; e++)
        w->idle[w->n_idle++] = w->have[e];
    w->n_have = 0;
    w->misses = 0;
    if (ask) w->recv.state = PS_WANTED;
    if (ask && w->inline_recv)
        w->merged = n; /* finished when the parameters have come */
    else
        w->unfinished -= n;
    pthread_cond_broadcast(&w->news);
    pthread_mutex_unlock(&w->lock);
    return true;
}

/* Sends the letters of a talk that the training thread has filled. */
static bool send_talk(cr_ps *p, ps_talk *t) {
    ps_worker *w = p->w;
    pthread_mutex_lock(&w->lock);
    bool wanted = t->state == PS_WANTED;
    for (int s = 0; s < p->n_servers; s++)
        (void)cr_ps_sent(p, &t->out[s]);
    for (int s = 0; wanted && s < p->n_servers; s++)
        wanted &= !t->out[s].busy;
    if (wanted) {
        t->state = PS_SENT;
        t->come = 0;
        t->since = cr_now();
        for (int s = 0; s < p->n_servers; s++)
            cr_ps_post(p, &t->out[s], p->server[s]);
    }
    pthread_mutex_unlock(&w->lock);
    return wanted;
}

/* ---- receiving ---- */

static void swap_boxes(ps_box *a, ps_box *b) {
    ps_box x = *a;
    *a = *b;
    *b = x;
}

static void take_values(cr_ps *p, int s) {
    ps_worker *w = p->w;
    int h = p->server[s];
    memcpy(w->fresh + p->slice[h], w->spare.mem + sizeof(ps_head), w->spare.n - sizeof(ps_head));
    if (++w->recv.come < p->n_servers) return;
    w->recv.state = PS_IDLE;
    w->has_fresh = true;
    w->unfinished -= w->merged;
    w->merged = 0;
}

static bool take_letters(cr_ps *p, cr_err *err) {
    ps_worker *w = p->w;
    bool moved = false;
    int from;
    size_t n;
    while (p->mail->peek(p->mail->ctx, &from, &n)) {
        ps_head h = {0};
        if (cr_ps_fit(&w->spare, n, err) != CR_OK) {
            fail(w, err);
            return false;
        }
        /* a server that was lost ends all ranks */
        if (!p->mail->take(p->mail->ctx, from, w->spare.mem, n)) return false;
        int s = p->index[from];
        size_t slice = 0;
        if (p->meet->serves[from])
            slice = (size_t)(p->slice[from + 1] - p->slice[from]) * sizeof(float);
        if (n >= sizeof h) memcpy(&h, w->spare.mem, sizeof h);
        if (n < sizeof h || !p->meet->serves[from] ||
            (h.kind != PS_ROWS && h.kind != PS_NEWS && h.kind != PS_VALUES) ||
            (h.kind == PS_VALUES && n != sizeof h + slice)) {
            (void)cr_ps_wrong(from, err);
            fail(w, err);
            return false;
        }
        pthread_mutex_lock(&w->lock);
        ps_talk *t = h.kind == PS_ROWS ? &w->pull : h.kind == PS_NEWS ? &w->delta : NULL;
        if (s == 0 && t && (h.kind == PS_NEWS || p->strategy != CR_GEO)) w->stop = h.stop;
        if (t) {
            swap_boxes(&t->in[s], &w->spare);
            if (++t->come == p->n_servers) t->state = PS_COME;
        } else {
            take_values(p, s);
        }
        pthread_cond_broadcast(&w->news);
        pthread_mutex_unlock(&w->lock);
        moved = true;
    }
    return moved;
}

/* ---- the thread ---- */

static bool is_quiet(const cr_ps *p, const ps_talk *t) {
    bool quiet = t->state == PS_IDLE || t->state == PS_COME;
    for (int s = 0; s < p->n_servers; s++)
        quiet &= !t->out[s].busy;
    return quiet;
}

static void *post_thread(void *arg) {
    cr_ps *p = arg;
    ps_worker *w = p->w;
    for (;;) {
        cr_err err;
        bool moved = take_letters(p, &err);
        moved |= send_talk(p, &w->pull);
        moved |= send_talk(p, &w->delta);
        if (!w->failed) moved |= send_grads(p, &err);
        moved |= send_talk(p, &w->recv);
        pthread_mutex_lock(&w->lock);
        bool quiet = is_quiet(p, &w->pull) && is_quiet(p, &w->recv) && is_quiet(p, &w->delta) &&
                     !w->pushing && w->n_have == 0;
        bool done = w->closing && (w->failed || (quiet && w->n == 0));
        if (!done && !moved) sleep_on(&w->work, &w->lock, quiet ? OFF_NS : NAP_NS);
        pthread_mutex_unlock(&w->lock);
        if (done) return NULL;
    }
}

cr_code cr_ps_post_begin(cr_ps *p, cr_err *err) {
    ps_worker *w = p->w;
    w->closing = w->failed = false;
    w->counter = 0;
    w->has_fresh = false;
    int e = pthread_create(&w->thread, NULL, post_thread, p);
    if (e != 0)
        return cr_fail(err, CR_ERUN, "a thread for letters cannot be started: %s", strerror(e));
    w->runs = true;
    return CR_OK;
}

void cr_ps_post_end(cr_ps *p) {
    ps_worker *w = p->w;
    if (!w->runs) return;
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    w->runs = false;
}
