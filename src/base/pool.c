/*
 * pool.c - threads that wait for a job of n items.
 *
 * One word, `state`, holds the job's number, whether it is open, and how many workers are in it. A
 * worker joins an open job by adding itself to the word; the caller works too, closes the job when
 * no item is left and waits only for the workers that joined. So a short job never waits for a
 * worker that is still asleep, and a late worker can never touch a job that is over.
 */
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/cpu.h"
#include "base/guard.h"
#include "base/mem.h"

#define OPEN        ((uint64_t)1)
#define JOINED      ((uint64_t)2) /* one worker in the job; bits 1..31 count the workers */
#define JOINED_MASK ((uint64_t)0xfffffffe)
#define JOB         ((uint64_t)1 << 32) /* bits 32..63 number the jobs */
#define SPIN        20e-6               /* seconds */
#define MAX_THREADS 1024

struct cr_pool {
    int n_threads, n_started;
    pthread_t *threads; /* n_threads - 1 threads */
    struct worker *workers;
    cr_pool_fn fn; /* the job; written while it is closed and no worker is in it */
    void *ctx;
    int64_t n_items;
    cr_trace *trace; /* NULL: no trace; trace and stage are written between jobs */
    cr_stage stage;
    int *rows; /* row of each thread in the trace */
    pthread_mutex_t lock;
    pthread_cond_t job_opened, job_left;
    atomic_int n_asleep, caller_asleep;
    atomic_bool stop, busy;
    _Alignas(64) _Atomic uint64_t state;
    _Alignas(64) _Atomic int64_t next; /* the next item */
    char pad[56];
};

struct worker {
    cr_pool *pool;
    int thread;
};

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* take runs items until none is left. */
static void take(cr_pool *p, int thread) {
    int64_t i;
    double t0 = cr_trace_begin(p->trace);
    while ((i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed)) < p->n_items)
        p->fn(p->ctx, i, thread);
    if (p->stage != CR_STAGE_NONE) cr_trace_end(p->trace, p->rows[thread], p->stage, t0);
}

/* has_news: a job other than `done` is open, or the pool ends. */
static bool has_news(cr_pool *p, uint64_t done) {
    uint64_t s = atomic_load(&p->state);
    return atomic_load(&p->stop) || ((s & OPEN) && s / JOB != done);
}

/* one turn of a wait that does not sleep yet; true: it is time to. *end is 0 at first */
static inline bool spun_enough(unsigned turn, double *end) {
    relax();
    if (turn % 32 != 31) return false;
    double now = cr_now();
    if (*end == 0) *end = now + SPIN;
    return now > *end;
}

static void wait_for_job(cr_pool *p, uint64_t done) {
    double end = 0;
    for (unsigned turn = 0;; turn++) {
        if (has_news(p, done)) return;
        if (spun_enough(turn, &end)) break;
    }
    /* the caller opens the job first and then reads n_asleep; a worker does it the other way round,
     * so at least one of the two sees the other */
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->n_asleep, 1);
    while (!has_news(p, done))
        pthread_cond_wait(&p->job_opened, &p->lock);
    atomic_fetch_sub(&p->n_asleep, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg) {
    struct worker *w = arg;
    cr_pool *p = w->pool;
    uint64_t done = 0;
    double idle = 0; /* when the thread became idle, for the trace */
    for (;;) {
        wait_for_job(p, done);
        if (atomic_load(&p->stop)) return NULL;
        uint64_t s = atomic_load(&p->state);
        if (!(s & OPEN) || s / JOB == done) continue;
        if (!atomic_compare_exchange_strong(&p->state, &s, s + JOINED)) continue;
        cr_trace_end(p->trace, p->rows[w->thread], CR_STAGE_WAIT, idle);
        take(p, w->thread);
        idle = cr_trace_begin(p->trace);
        done = s / JOB;
        s = atomic_fetch_sub(&p->state, JOINED) - JOINED;
        if ((s & (OPEN | JOINED_MASK)) == 0 && atomic_load(&p->caller_asleep)) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->job_left);
            pthread_mutex_unlock(&p->lock);
        }
    }
}

static bool all_left(cr_pool *p) {
    return (atomic_load(&p->state) & JOINED_MASK) == 0;
}

static void wait_for_workers(cr_pool *p) {
    double end = 0;
    for (unsigned turn = 0;; turn++) {
        if (all_left(p)) return;
        if (spun_enough(turn, &end)) break;
    }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->caller_asleep, 1);
    while (!all_left(p))
        pthread_cond_wait(&p->job_left, &p->lock);
    atomic_store(&p->caller_asleep, 0);
    pthread_mutex_unlock(&p->lock);
}

cr_code cr_pool_new(cr_pool **out, int n_threads, cr_err *err) {
    *out = NULL;
    if (n_threads < 1 || n_threads > MAX_THREADS)
        return cr_fail(err, CR_EUSAGE, "cannot use %d threads; give a number from 1 to %d",
                       n_threads, MAX_THREADS);
    cr_pool *p = cr_alloc(sizeof(*p), "the thread pool");
    p->n_threads = n_threads;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->job_opened, NULL);
    pthread_cond_init(&p->job_left, NULL);
    p->threads = cr_alloc((size_t)n_threads * sizeof(*p->threads), "the thread pool");
    p->workers = cr_alloc((size_t)n_threads * sizeof(*p->workers), "the thread pool");
    p->rows = cr_alloc((size_t)n_threads * sizeof(*p->rows), "the thread pool");
    /* only the main thread takes signals */
    sigset_t all, before;
    sigfillset(&all);
    cr_guard_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int e = 0;
    for (int i = 1; i < n_threads && e == 0; i++) {
        p->workers[i] = (struct worker){p, i};
        e = pthread_create(&p->threads[i - 1], NULL, work, &p->workers[i]);
        if (e == 0) p->n_started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (e != 0) {
        cr_fail(err, CR_ERUN, "cannot start thread %d of %d: %s%s", p->n_started + 2, n_threads,
                strerror(e), cr_errno_cure(e));
        cr_pool_free(p);
        return CR_ERUN;
    }
    *out = p;
    return CR_OK;
}

void cr_pool_free(cr_pool *p) {
    if (!p) return;
    atomic_store(&p->stop, true);
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->job_opened);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_started; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->job_left);
    pthread_cond_destroy(&p->job_opened);
    pthread_mutex_destroy(&p->lock);
    cr_free(p->workers);
    cr_free(p->rows);
    cr_free(p->threads);
    cr_free(p);
}

int cr_pool_threads(const cr_pool *p) {
    return p ? p->n_threads : 1;
}

/* run_alone is for callers without a pool, and for calls while the pool has another job. */
static void run_alone(int64_t n_items, cr_pool_fn fn, void *ctx) {
    for (int64_t i = 0; i < n_items; i++)
        fn(ctx, i, 0);
}

void cr_pool_run(cr_pool *p, int64_t n_items, cr_pool_fn fn, void *ctx) {
    if (n_items <= 0) return;
    if (!p || atomic_exchange(&p->busy, true)) {
        run_alone(n_items, fn, ctx);
        return;
    }
    if (p->n_threads == 1 || n_items == 1) {
        double t0 = cr_trace_begin(p->trace);
        run_alone(n_items, fn, ctx);
        if (p->stage != CR_STAGE_NONE) cr_trace_end(p->trace, p->rows[0], p->stage, t0);
        atomic_store(&p->busy, false);
        return;
    }
    p->fn = fn;
    p->ctx = ctx;
    p->n_items = n_items;
    atomic_store(&p->next, 0);
    uint64_t s = atomic_load(&p->state);
    uint64_t job = (uint32_t)(s / JOB + 1);
    if (job == 0) job = 1; /* 0 means that there was no job yet */
    atomic_store(&p->state, job * JOB | OPEN);
    if (atomic_load(&p->n_asleep) > 0) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->job_opened);
        pthread_mutex_unlock(&p->lock);
    }
    take(p, 0);
    atomic_fetch_and(&p->state, ~OPEN);
    double t0 = cr_trace_begin(p->trace);
    wait_for_workers(p);
    cr_trace_end(p->trace, p->rows[0], CR_STAGE_WAIT, t0);
    atomic_store(&p->busy, false);
}

void cr_pool_trace(cr_pool *p, cr_trace *t) {
    p->trace = t;
    for (int i = 0; i < p->n_threads; i++)
        p->rows[i] = cr_trace_row(t, i ? "compute" : "main", i);
}

void cr_pool_stage(cr_pool *p, cr_stage s) {
    if (p) p->stage = s;
}

cr_trace *cr_pool_get_trace(const cr_pool *p, int thread, int *row) {
    *row = p ? p->rows[thread] : 0;
    return p ? p->trace : NULL;
}
