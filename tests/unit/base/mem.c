/* Allocation, big blocks, arenas; refusal instead of a crash for user-sized requests. */
#include "base/mem.h"

#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#endif

static bool aligned(const void *p, size_t n) {
    return (uintptr_t)p % n == 0;
}

static bool all_zero(const char *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (p[i]) return false;
    }
    return true;
}

TEST(plain) {
    static const size_t sizes[] = {0, 1, 63, 64, 65, 100000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *p = cr_alloc(sizes[i], "a test");
        CHECK(p && aligned(p, CR_ALIGN) && all_zero(p, sizes[i]));
        memset(p, 7, sizes[i]);
        p = cr_realloc(p, sizes[i], sizes[i] + 100, "a test");
        CHECK(aligned(p, CR_ALIGN));
        for (size_t k = 0; k < sizes[i]; k++)
            CHECK(p[k] == 7);
        p = cr_realloc(p, sizes[i] + 100, sizes[i] / 2, "a test");
        for (size_t k = 0; k < sizes[i] / 2; k++)
            CHECK(p[k] == 7);
        cr_free(p);
    }
    cr_free(NULL);
}

TEST(refusals) {
    cr_err e;
    void *p = &e;
    CHECK_INT(cr_try_alloc(&p, SIZE_MAX - 10, "table 'user'", &e), CR_ENOMEM);
    CHECK(p == NULL);
    CHECK(strstr(e.msg, "table 'user'") && strstr(e.msg, "needed"));
    CHECK_INT(cr_try_alloc(&p, (size_t)1 << 46, "table 'user'", &e), CR_ENOMEM);
    CHECK(strstr(e.msg, "70.4 TB needed") != NULL);
    CHECK_INT(cr_big_alloc(&p, (size_t)1 << 46, "table 'user'", &e), CR_ENOMEM);
    CHECK_INT(cr_big_alloc(&p, SIZE_MAX - 10, "table 'user'", NULL), CR_ENOMEM);
    CHECK_INT(cr_try_alloc(&p, 100, "x", &e), CR_OK);
    CHECK(aligned(p, CR_ALIGN) && all_zero(p, 100));
    cr_free(p);
}

TEST(injected_failure) {
    void *p;
    cr_err e;
    cr_alloc_fail_after(2);
    CHECK_INT(cr_try_alloc(&p, 10, "a", &e), CR_OK);
    cr_free(p);
    CHECK_INT(cr_big_alloc(&p, 10, "b", &e), CR_ENOMEM);
    CHECK_INT(cr_big_alloc(&p, 10, "b", &e), CR_OK);
    cr_big_free(p, 10);
    cr_alloc_fail_after(1);
    cr_alloc_fail_after(0);
    CHECK_INT(cr_try_alloc(&p, 10, "a", &e), CR_OK);
    cr_free(p);
}

TEST(sizes_do_not_wrap) {
    CHECK(cr_mul_size(3, 4) == 12 && cr_mul_size(SIZE_MAX / 2, 3) == SIZE_MAX);
    CHECK(cr_bytes(5, 8) == 40 && cr_bytes(INT64_MAX, 8) == SIZE_MAX &&
          cr_bytes(-1, 1) == SIZE_MAX);
    CHECK_INT(cr_mul_i64(3, 4), 12);
    CHECK_INT(cr_mul_i64(INT64_C(1) << 40, INT64_C(1) << 40), INT64_MAX);
    CHECK_INT(cr_mul_i64(-1, 4), INT64_MAX);
    CHECK_INT(cr_mul_i64(INT64_MAX, 0), 0);
    CHECK_INT(cr_add_i64(INT64_MAX, 1), INT64_MAX);
    CHECK_INT(cr_add_i64(INT64_MAX - 1, 1), INT64_MAX);
    CHECK_INT(cr_add_i64(2, 3), 5);
    CHECK_INT(cr_i64_from(1e30), INT64_MAX);
    CHECK_INT(cr_i64_from(-1), INT64_MAX);
    CHECK_INT(cr_i64_from(12.7), 12);
    CHECK_INT(cr_up16(17), 32);
    CHECK_INT(cr_up16(INT64_MAX), INT64_MAX);
}

/* what a child writes to stderr before it ends with exit code 1 */
static void fails_with_a_line(void (*fn)(void), const char *text) {
    int fd[2], status = 0;
    char line[512] = "";
    fflush(NULL);
    if (pipe(fd) != 0) return;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fd[1], STDERR_FILENO);
        fn();
        _exit(0);
    }
    close(fd[1]);
    ssize_t n = read(fd[0], line, sizeof(line) - 1);
    close(fd[0]);
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    CHECK(n > 0 && strstr(line, text) && strchr(line, '\n') == line + n - 1);
}

static void large_alloc(void) {
    cr_free(cr_alloc(SIZE_MAX / 2 - 100, "a test"));
}

static void large_array(void) {
    cr_arena a;
    cr_arena_init(&a, 0);
    int64_t *v = CR_NEW_N(&a, int64_t, INT64_MAX / 4);
    v[0] = 1;
}

TEST(no_memory_is_one_line) {
    fails_with_a_line(large_alloc, "crank: no memory for a test (9.2 EB); ");
    fails_with_a_line(large_array, "crank: no memory for working data (18.4 EB); ");
}

TEST(big_blocks) {
    static const size_t sizes[] = {0,      1, 4096, 4097, (2 << 20) - 1, 2 << 20, (2 << 20) + 1,
                                   9 << 20};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        void *v;
        CHECK_INT(cr_big_alloc(&v, sizes[i], "a test", NULL), CR_OK);
        char *p = v;
        CHECK(aligned(p, sizes[i] >= 2 << 20 ? 2 << 20 : 4096));
        CHECK(all_zero(p, sizes[i]));
        if (sizes[i]) p[0] = p[sizes[i] - 1] = 1;
        cr_big_free(p, sizes[i]);
    }
    cr_big_free(NULL, 5);
}

TEST(arena_pieces) {
    cr_arena a;
    cr_arena_init(&a, 256);
    char *pieces[300];
    for (size_t i = 0; i < 300; i++) {
        pieces[i] = cr_arena_alloc(&a, i);
        CHECK(aligned(pieces[i], i >= 64 ? 64 : 16));
        memset(pieces[i], (int)(i % 251), i);
    }
    for (size_t i = 0; i < 300; i++) {
        for (size_t k = 0; k < i; k++)
            CHECK((unsigned char)pieces[i][k] == i % 251);
    }
    char *big = cr_arena_zalloc(&a, 10 << 20);
    CHECK(all_zero(big, 10 << 20));
    CHECK_STR(cr_arena_strdup(&a, "hello"), "hello");
    CHECK_STR(cr_arena_strndup(&a, "hello", 2), "he");
    CHECK_STR(cr_arena_strndup(&a, NULL, 0), "");
    CHECK_STR(cr_arena_printf(&a, "%s-%d", "x", 5), "x-5");
    char *padded = cr_arena_printf(&a, "%1000d", 7);
    CHECK(strlen(padded) == 1000 && padded[999] == '7');
    int64_t *v = CR_NEW_N(&a, int64_t, 3);
    CHECK(v[0] == 0 && v[2] == 0);
    cr_arena_clear(&a);
    CHECK(a.head == NULL);
    CHECK_STR(cr_arena_strdup(&a, "usable after clear"), "usable after clear");
    cr_arena_clear(&a);
    cr_arena zero = {0};
    CHECK_STR(cr_arena_strdup(&zero, "zeros are a valid start"), "zeros are a valid start");
    cr_arena_clear(&zero);
}

static void fill(cr_arena *a) {
    for (size_t i = 0; i < 500; i++)
        memset(cr_arena_alloc(a, 37 * i % 1000), 1, 37 * i % 1000);
}

TEST(reset_settles) {
    /* the same work again and again must stop allocating after the first reset */
    cr_arena a;
    cr_arena_init(&a, 1024);
    fill(&a);
    cr_arena_reset(&a);
    fill(&a);
    cr_arena_reset(&a);
    uint64_t before = cr_alloc_count();
    for (int i = 0; i < 5; i++) {
        fill(&a);
        cr_arena_reset(&a);
    }
    CHECK_INT(cr_alloc_count() - before, 0);
    cr_arena_clear(&a);
    cr_arena_reset(&a); /* of an empty one: nothing */
}

static int order[4], n_order;
static void first(void *ctx) {
    order[n_order++] = 10 + *(int *)ctx;
}
static void second(void *ctx) {
    order[n_order++] = 20 + *(int *)ctx;
}

/* what is deferred runs once, newest first, while the arena's memory is still there */
TEST(deferred) {
    cr_arena a;
    cr_arena_init(&a, 0);
    int *x = CR_NEW(&a, int);
    *x = 7;
    cr_arena_defer(&a, first, x);
    cr_arena_defer(&a, second, x);
    cr_arena_reset(&a);
    CHECK(n_order == 2 && order[0] == 27 && order[1] == 17);
    cr_arena_reset(&a);
    CHECK_INT(n_order, 2);
    x = CR_NEW(&a, int);
    *x = 3;
    cr_arena_defer(&a, first, x);
    cr_arena_clear(&a);
    cr_arena_clear(&a);
    CHECK(n_order == 3 && order[2] == 13);
}

TEST(counts) {
    uint64_t before = cr_alloc_count();
    void *p = cr_alloc(10, "x");
    p = cr_realloc(p, 10, 20, "x");
    cr_free(p);
    CHECK_INT(cr_try_alloc(&p, 10, "x", NULL), CR_OK);
    cr_free(p);
    CHECK_INT(cr_big_alloc(&p, 10, "x", NULL), CR_OK);
    cr_big_free(p, 10);
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_arena_alloc(&a, 10);
    cr_arena_alloc(&a, 10);
    cr_arena_clear(&a);
    CHECK_INT(cr_alloc_count() - before, 5);
}

TEST(arena_is_poisoned) {
#ifdef HAVE_ASAN
    cr_arena a;
    cr_arena_init(&a, 0);
    char *p = cr_arena_alloc(&a, 20), *q = cr_arena_alloc(&a, 20);
    CHECK(!__asan_address_is_poisoned(p) && !__asan_address_is_poisoned(p + 19));
    CHECK(__asan_address_is_poisoned(p + 20));
    CHECK(__asan_address_is_poisoned(q + 20));
    cr_arena_reset(&a);
    CHECK(__asan_address_is_poisoned(p) && __asan_address_is_poisoned(q));
    cr_arena_clear(&a);
    void *big;
    CHECK_INT(cr_big_alloc(&big, 100, "x", NULL), CR_OK);
    CHECK(__asan_address_is_poisoned((char *)big + 104));
    cr_big_free(big, 100);
#else
    SKIP("built without ASan");
#endif
}

TEST_MAIN(CASE(plain), CASE(refusals), CASE(injected_failure), CASE(sizes_do_not_wrap),
          CASE(no_memory_is_one_line), CASE(big_blocks), CASE(arena_pieces), CASE(reset_settles),
          CASE(deferred), CASE(counts), CASE(arena_is_poisoned))
