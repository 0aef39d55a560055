/* The pool: every item once, from 1 to many threads, short and long jobs, idle pauses between. */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/mem.h"
#include "harness.h"

#define MAX_ITEMS 5000

typedef struct job {
    int hits[MAX_ITEMS]; /* plain: an item has one owner */
    atomic_int bad_thread;
    int n_threads;
    int64_t sum[MAX_ITEMS];
} job;

static void mark(void *ctx, int64_t item, int thread) {
    job *j = ctx;
    if (thread < 0 || thread >= j->n_threads) atomic_store(&j->bad_thread, 1);
    j->hits[item]++;
    int64_t s = 0;
    for (int64_t i = 0; i < item % 50; i++)
        s += i * item;
    j->sum[item] = s;
}

static void run_many(int n_threads, int rounds) {
    cr_pool *p;
    cr_err e;
    CHECK_INT(cr_pool_new(&p, n_threads, &e), CR_OK);
    CHECK_INT(cr_pool_threads(p), n_threads);
    job *j = cr_alloc(sizeof(*j), "a job");
    j->n_threads = n_threads;
    static const int sizes[] = {0, 1, 2, 3, 7, 100, 5000};
    int want[MAX_ITEMS] = {0};
    for (int r = 0; r < rounds; r++) {
        int n = sizes[r % 7];
        cr_pool_run(p, n, mark, j);
        for (int i = 0; i < n; i++)
            want[i]++;
        /* all items are done and visible when run returns */
        CHECK(memcmp(want, j->hits, sizeof(want)) == 0);
        if (r % 50 == 0) nanosleep(&(struct timespec){0, 200000}, NULL); /* let them fall asleep */
    }
    CHECK(!j->bad_thread);
    cr_free(j);
    cr_pool_free(p);
}

TEST(one_thread) {
    run_many(1, 200);
}
TEST(two_threads) {
    run_many(2, 700);
}
TEST(more_threads_than_cores) {
    run_many(7, 400);
}

TEST(starts_and_stops) {
    for (int i = 0; i < 30; i++) {
        cr_pool *p;
        CHECK_INT(cr_pool_new(&p, 1 + i % 5, NULL), CR_OK);
        cr_pool_free(p);
    }
    cr_pool_free(NULL);
}

TEST(allocates_nothing) {
    cr_pool *p;
    CHECK_INT(cr_pool_new(&p, 3, NULL), CR_OK);
    job *j = cr_alloc(sizeof(*j), "a job");
    j->n_threads = 3;
    uint64_t before = cr_alloc_count();
    for (int r = 0; r < 20; r++)
        cr_pool_run(p, 100, mark, j);
    CHECK_INT(cr_alloc_count() - before, 0);
    cr_free(j);
    cr_pool_free(p);
}

TEST(bad_counts) {
    cr_pool *p;
    cr_err e;
    CHECK_INT(cr_pool_new(&p, 0, &e), CR_EUSAGE);
    CHECK(p == NULL && strstr(e.msg, "from 1 to"));
    CHECK_INT(cr_pool_new(&p, -3, &e), CR_EUSAGE);
    CHECK_INT(cr_pool_new(&p, 1000000, &e), CR_EUSAGE);
}

/* a job that gives its own pool another one */
typedef struct outer {
    cr_pool *p;
    atomic_int sum;
} outer;

static void add(void *ctx, int64_t item, int thread) {
    atomic_fetch_add((atomic_int *)ctx, (int)item + 1);
    CHECK_INT(thread, 0);
}

static void nested(void *ctx, int64_t item, int thread) {
    (void)item;
    (void)thread;
    outer *o = ctx;
    cr_pool_run(o->p, 4, add, &o->sum);
}

TEST(job_in_a_job) {
    outer o = {.p = NULL};
    CHECK_INT(cr_pool_new(&o.p, 3, NULL), 0);
    cr_pool_run(o.p, 50, nested, &o);
    CHECK_INT(atomic_load(&o.sum), 50 * (1 + 2 + 3 + 4));
    cr_pool_free(o.p);
}

TEST(no_pool) {
    atomic_int sum = 0;
    CHECK_INT(cr_pool_threads(NULL), 1);
    cr_pool_stage(NULL, CR_STAGE_PACK);
    cr_pool_run(NULL, 4, add, &sum);
    CHECK_INT(atomic_load(&sum), 1 + 2 + 3 + 4);
}

/* one of several callers of a pool; items of its own */
enum { CALLERS = 4, ROUNDS = 200, ITEMS = 37 };
typedef struct caller {
    cr_pool *p;
    int seen[ITEMS]; /* every item once per round, by any thread */
    pthread_t thread;
} caller;

static void see(void *ctx, int64_t item, int thread) {
    caller *c = ctx;
    (void)thread;
    c->seen[item]++;
}

static void *call(void *arg) {
    caller *c = arg;
    for (int i = 0; i < ROUNDS; i++)
        cr_pool_run(c->p, ITEMS, see, c);
    return NULL;
}

TEST(several_callers) {
    static caller v[CALLERS];
    cr_pool *p;
    CHECK_INT(cr_pool_new(&p, 3, NULL), 0);
    for (int i = 0; i < CALLERS; i++) {
        v[i].p = p;
        CHECK_INT(pthread_create(&v[i].thread, NULL, call, &v[i]), 0);
    }
    int bad = 0;
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(v[i].thread, NULL);
        for (int k = 0; k < ITEMS; k++)
            bad += v[i].seen[k] != ROUNDS;
    }
    CHECK_INT(bad, 0);
    cr_pool_free(p);
}

TEST_MAIN(CASE(one_thread), CASE(two_threads), CASE(more_threads_than_cores),
          CASE(starts_and_stops), CASE(allocates_nothing), CASE(bad_counts), CASE(job_in_a_job),
          CASE(no_pool), CASE(several_callers))
