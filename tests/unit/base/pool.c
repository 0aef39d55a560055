/* The pool: every item once, from 1 to many threads, short and long jobs, idle pauses between. */
#include "base/pool.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

static void nested(void *ctx, int64_t item, int thread) {
    (void)item;
    (void)thread;
    cr_pool_run(ctx, 2, nested, ctx);
}

TEST(not_reentrant) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        cr_pool *p;
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        if (!freopen("/dev/null", "w", stderr)) _exit(3);
        signal(SIGABRT, SIG_DFL);
        if (cr_pool_new(&p, 1, NULL) != CR_OK) _exit(4);
        cr_pool_run(p, 2, nested, p);
        _exit(0);
    }
    int status = 0;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST_MAIN(CASE(one_thread), CASE(two_threads), CASE(more_threads_than_cores),
          CASE(starts_and_stops), CASE(allocates_nothing), CASE(bad_counts), CASE(not_reentrant))
