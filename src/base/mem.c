/*
 * mem.c - allocation, big blocks on huge pages, arenas.
 *
 * Linux promises more memory than it has and kills the process at first touch, so a request of
 * user size is compared with what is free before it is made: the user gets a line, not a kill.
 * Under ASan an arena's unused space is poisoned and a red zone follows every piece.
 */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cpu.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#define RED_ZONE       16
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#define RED_ZONE       0
#endif

#define HUGE_PAGE   ((size_t)2 << 20)
#define PAGE        ((size_t)4096)
#define CHECK_ABOVE ((size_t)64 << 20) /* requests above this are compared with free memory */

static atomic_uint_fast64_t n_allocs;
static atomic_uint_fast64_t fail_after;

uint64_t cr_alloc_count(void) {
    return atomic_load_explicit(&n_allocs, memory_order_relaxed);
}
void cr_alloc_fail_after(uint64_t n) {
    atomic_store(&fail_after, n);
}

static void count_alloc(void) {
    atomic_fetch_add_explicit(&n_allocs, 1, memory_order_relaxed);
}

/* injected counts down at each request that may fail, and says whether a test wants this one to
 * fail. */
static bool injected(void) {
    uint_fast64_t n = atomic_load_explicit(&fail_after, memory_order_relaxed);
    while (n > 0) {
        if (atomic_compare_exchange_weak(&fail_after, &n, n - 1)) return n == 1;
    }
    return false;
}

void cr_no_memory(size_t size, const char *what) {
    /* any thread may come here at any place, so nothing is allocated, locked or cleaned up */
    char line[384], need[32] = "";
    if (size && size < SIZE_MAX) cr_fmt_bytes(need, (double)size);
    int n = snprintf(line, sizeof(line),
                     "crank: no memory for %.100s%s%s%s; use a machine with more memory, raise the "
                     "limit (ulimit -v), or make the model or the batch smaller\n",
                     what, *need ? " (" : "", need, *need ? ")" : "");
    if (n > 0) (void)!write(STDERR_FILENO, line, strnlen(line, sizeof(line)));
    _exit(cr_exit_code(CR_ENOMEM));
}

/* fits compares size with free memory; when that is not known, the system decides. */
static bool fits(size_t size) {
    if (size > SIZE_MAX / 2) return false;
    if (size <= CHECK_ABOVE) return true;
    int64_t left = cr_mem_available();
    return left < 0 || size <= (uint64_t)left;
}

/* raw_alloc keeps the exact size, so that ASan sees an access one byte too far. NULL: there is no
 * memory. */
static void *raw_alloc(size_t size) {
    void *p = NULL;
    count_alloc();
    if (!fits(size) || posix_memalign(&p, CR_ALIGN, size ? size : 1) != 0) return NULL;
    return p;
}

void *cr_alloc(size_t size, const char *what) {
    void *p = raw_alloc(size);
    if (!p) cr_no_memory(size, what);
    memset(p, 0, size);
    return p;
}

void *cr_realloc(void *p, size_t old_size, size_t new_size, const char *what) {
    void *q = raw_alloc(new_size);
    if (!q) cr_no_memory(new_size, what);
    if (p) memcpy(q, p, old_size < new_size ? old_size : new_size);
    free(p);
    return q;
}

static cr_code refuse(size_t size, const char *what, cr_err *err) {
    char need[32], have[32];
    cr_fmt_bytes(need, (double)size);
    const char *who;
    int64_t left = cr_mem_room(&who);
    if (left < 0) return cr_fail(err, CR_ENOMEM, "no memory for %s: %s needed", what, need);
    cr_fmt_bytes(have, (double)left);
    return cr_fail(err, CR_ENOMEM,
                   "no memory for %s: %s needed, %s has %s free; make it smaller or allow more "
                   "memory",
                   what, need, who, have);
}

cr_code cr_try_alloc(void **out, size_t size, const char *what, cr_err *err) {
    *out = NULL;
    void *p = injected() ? NULL : raw_alloc(size);
    if (!p) return refuse(size, what, err);
    memset(p, 0, size);
    *out = p;
    return CR_OK;
}

void cr_free(void *p) {
    free(p);
}

/* big_size returns the bytes that are really mapped for a request: whole huge pages once one
 * fits. */
static size_t big_size(size_t size) {
    size_t unit = size >= HUGE_PAGE ? HUGE_PAGE : PAGE;
    if (size == 0) size = 1;
    return (size + unit - 1) / unit * unit;
}

cr_code cr_big_alloc(void **out, size_t size, const char *what, cr_err *err) {
    *out = NULL;
    count_alloc();
    if (injected() || !fits(size)) return refuse(size, what, err);
    size_t n = big_size(size), extra = n >= HUGE_PAGE ? HUGE_PAGE : 0;
    char *p = mmap(NULL, n + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return refuse(size, what, err);
    if (extra) {
        /* cut the ends off so that the block starts on a huge page */
        size_t head = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
        if (head) munmap(p, head);
        if (extra - head) munmap(p + head + n, extra - head);
        p += head;
#ifdef MADV_HUGEPAGE
        /* only a wish: without huge pages the block is slower */
        (void)madvise(p, n, MADV_HUGEPAGE);
#endif
    }
    POISON(p + size, n - size);
    *out = p;
    return CR_OK;
}

void cr_big_free(void *p, size_t size) {
    if (!p) return;
    size_t n = big_size(size);
    UNPOISON(p, n);
    if (munmap(p, n) != 0) CR_BUG("cr_big_free: not a block of this size");
}

cr_code cr_big_reserve(void **out, size_t *size, const char *what, cr_err *err) {
    size_t n = (*size + CR_BIG_STEP - 1) / CR_BIG_STEP * CR_BIG_STEP;
    *out = NULL;
    if (injected()) return refuse(n, what, err);
    for (;; n = n / 2 / CR_BIG_STEP * CR_BIG_STEP) {
        if (n < CR_BIG_STEP) return refuse(*size, what, err);
        char *p = mmap(NULL, n + CR_BIG_STEP, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) continue;
        size_t head = (CR_BIG_STEP - (uintptr_t)p % CR_BIG_STEP) % CR_BIG_STEP;
        if (head) munmap(p, head);
        if (CR_BIG_STEP - head) munmap(p + head + n, CR_BIG_STEP - head);
        *out = p + head;
        *size = n;
        return CR_OK;
    }
}

cr_code cr_big_commit(void *p, size_t from, size_t to, const char *what, cr_err *err) {
    char *at = (char *)p + from;
    count_alloc();
    if (injected() || !fits(to - from)) return refuse(to - from, what, err);
    if (mprotect(at, to - from, PROT_READ | PROT_WRITE) != 0) return refuse(to - from, what, err);
#ifdef MADV_HUGEPAGE
    (void)madvise(at, to - from, MADV_HUGEPAGE);
#endif
    return CR_OK;
}

void cr_big_release(void *p, size_t size) {
    if (p && munmap(p, size) != 0) CR_BUG("cr_big_release: not a range of this size");
}

void cr_big_idle(void *p, size_t size) {
#ifdef MADV_FREE
    (void)madvise(p, big_size(size), MADV_FREE); /* an old system keeps the pages */
#else
    (void)p;
    (void)size;
#endif
}

/* ---- arenas ---- */

struct cr_arena_block {
    cr_arena_block *prev;
    size_t size, used; /* bytes of data() */
};
#define BLOCK_HEAD    ((size_t)CR_ALIGN)
#define DEFAULT_BLOCK ((size_t)64 << 10)
#define GROW_TO       ((size_t)4 << 20)
_Static_assert(sizeof(struct cr_arena_block) <= BLOCK_HEAD, "the head fits in front of the data");

static char *data(cr_arena_block *b) {
    return (char *)b + BLOCK_HEAD;
}

static cr_arena_block *new_block(size_t size) {
    if (size > SIZE_MAX / 4) cr_no_memory(size, "working data");
    cr_arena_block *b = raw_alloc(BLOCK_HEAD + size);
    if (!b) cr_no_memory(size, "working data");
    *b = (cr_arena_block){NULL, size, 0};
    POISON(data(b), size);
    return b;
}

static void free_block(cr_arena_block *b) {
    UNPOISON(data(b), b->size);
    free(b);
}

void cr_arena_init(cr_arena *a, size_t block_size) {
    a->head = NULL;
    a->block_size = block_size ? block_size : DEFAULT_BLOCK;
    a->hooks = NULL;
}

struct cr_arena_hook {
    cr_arena_hook *next;
    void (*fn)(void *ctx);
    void *ctx;
};

void cr_arena_defer(cr_arena *a, void (*fn)(void *ctx), void *ctx) {
    cr_arena_hook *h = cr_arena_alloc(a, sizeof(*h));
    *h = (cr_arena_hook){a->hooks, fn, ctx};
    a->hooks = h;
}

static void run_hooks(cr_arena *a) {
    cr_arena_hook *h = a->hooks;
    a->hooks = NULL;
    for (; h; h = h->next)
        h->fn(h->ctx);
}

void cr_arena_clear(cr_arena *a) {
    run_hooks(a);
    for (cr_arena_block *b = a->head, *prev; b; b = prev) {
        prev = b->prev;
        free_block(b);
    }
    a->head = NULL;
}

void cr_arena_reset(cr_arena *a) {
    if (!a->head) return;
    run_hooks(a);
    if (a->head->prev) {
        size_t total = 0;
        for (const cr_arena_block *b = a->head; b; b = b->prev)
            total += b->size;
        cr_arena_clear(a);
        a->head = new_block(total);
    }
    a->head->used = 0;
    POISON(data(a->head), a->head->size);
}

size_t cr_arena_used(const cr_arena *a) {
    size_t total = 0;
    for (const cr_arena_block *b = a->head; b; b = b->prev)
        total += b->used;
    return total;
}

void *cr_arena_alloc(cr_arena *a, size_t size) {
    size_t align = size >= 64 ? 64 : 16;
    if (size > SIZE_MAX / 4) cr_no_memory(size, "working data");
    cr_arena_block *b = a->head;
    size_t at = b ? (b->used + align - 1) & ~(align - 1) : 0;
    if (!b || at > b->size || size + RED_ZONE > b->size - at) {
        /* blocks double up to GROW_TO, so that neither small nor large arenas waste much */
        size_t n = a->block_size ? a->block_size : DEFAULT_BLOCK;
        if (b && 2 * b->size > n) n = 2 * b->size < GROW_TO || n > GROW_TO ? 2 * b->size : GROW_TO;
        if (n < size + RED_ZONE) n = size + RED_ZONE;
        cr_arena_block *fresh = new_block(n);
        fresh->prev = b;
        a->head = b = fresh;
        at = 0;
    }
    b->used = at + size + RED_ZONE;
    void *p = data(b) + at;
    UNPOISON(p, size);
    return p;
}

void *cr_arena_zalloc(cr_arena *a, size_t size) {
    return memset(cr_arena_alloc(a, size), 0, size);
}

char *cr_arena_strdup(cr_arena *a, const char *s) {
    return cr_arena_strndup(a, s, strlen(s));
}

char *cr_arena_strndup(cr_arena *a, const char *s, size_t n) {
    char *p = cr_arena_alloc(a, n + 1);
    if (n) memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *cr_arena_printf(cr_arena *a, const char *fmt, ...) {
    char few[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(few, sizeof(few), fmt, ap);
    va_end(ap);
    if (n < 0) CR_BUG("bad format");
    if ((size_t)n < sizeof(few)) return cr_arena_strndup(a, few, (size_t)n);
    char *p = cr_arena_alloc(a, (size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}
