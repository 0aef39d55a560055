/*
 * mem.h - plain allocation, arenas, big blocks.
 *
 * When memory is gone, cr_alloc and the arenas write one line and end the process with exit code 1.
 * Anything large whose size comes from a config or a file uses cr_try_alloc, and its failure is
 * reported. Everything is 64-byte aligned.
 */
#ifndef CR_BASE_MEM_H
#define CR_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/checked.h"
#include "base/err.h"

#define CR_ALIGN 64
/* cr_up16 rounds a count of floats up to whole lines of CR_ALIGN bytes. The largest count stays as
 * it is, so that no allocation accepts it. */
static inline int64_t cr_up16(int64_t n) {
    return n > INT64_MAX - 15 ? INT64_MAX : (n + 15) / 16 * 16;
}

/* cr_alloc returns zeroed memory. When there is none, cr_no_memory ends the process. */
void *cr_alloc(size_t size, const char *what) __attribute__((malloc, returns_nonnull));
/* cr_realloc keeps the first old_size bytes; new bytes are not set. */
void *cr_realloc(void *p, size_t old_size, size_t new_size, const char *what);
/* cr_try_alloc: zeroed memory or CR_ENOMEM with a message naming size and purpose. */
CR_CHECKED cr_code cr_try_alloc(void **out, size_t size, const char *what, cr_err *err);
void cr_free(void *p);
/* cr_no_memory writes one line that names the size (0: not known) and the purpose, and ends the
 * process with exit code 1. Unfinished files keep their temporary names; the next run sweeps them.
 */
__attribute__((noreturn)) void cr_no_memory(size_t size, const char *what);

/* cr_big_alloc maps zeroed memory on huge pages where the system has them (tables, workspaces). */
CR_CHECKED cr_code cr_big_alloc(void **out, size_t size, const char *what, cr_err *err);
void cr_big_free(void *p, size_t size);
/* A range of addresses for a block that grows in place. cr_big_reserve takes `size` bytes of them,
 * or half, a quarter ... of that where the system does not give so many, and tells how many in
 * *size; they are no memory yet. cr_big_commit makes bytes [from, to) of the range zeroed memory;
 * both are multiples of CR_BIG_STEP. cr_big_release gives all of it back. */
#define CR_BIG_STEP ((size_t)2 << 20)
CR_CHECKED cr_code cr_big_reserve(void **out, size_t *size, const char *what, cr_err *err);
CR_CHECKED cr_code cr_big_commit(void *p, size_t from, size_t to, const char *what, cr_err *err);
void cr_big_release(void *p, size_t size);
/* cr_big_idle: the content is not needed any more, and the system may take pages of the block when
 * memory is short. Those that it left are there at once when the block is written again; fresh
 * pages cost several times as much as writing them. */
void cr_big_idle(void *p, size_t size);

/* Counts every cr_alloc/cr_realloc/cr_try_alloc/cr_big_alloc and arena growth since start;
 * the "a step allocates nothing" test reads it. */
uint64_t cr_alloc_count(void);
/* Test hook: makes the n-th next cr_try_alloc/cr_big_alloc fail (0: never). */
void cr_alloc_fail_after(uint64_t n);

/* An arena owns everything taken from it and drops it whole. */
typedef struct cr_arena_block cr_arena_block;
typedef struct cr_arena_hook cr_arena_hook;
typedef struct cr_arena {
    cr_arena_block *head; /* newest block */
    size_t block_size;
    cr_arena_hook *hooks; /* newest first */
} cr_arena;
void cr_arena_init(cr_arena *a, size_t block_size); /* 0: 64 KiB */
void cr_arena_clear(cr_arena *a);
/* cr_arena_reset drops the content and keeps the memory (merged into one block). */
void cr_arena_reset(cr_arena *a);
/* cr_arena_used: bytes taken from it since it was reset, about */
size_t cr_arena_used(const cr_arena *a);
/* cr_arena_alloc returns memory aligned to 16 (64 for sizes >= 64), not zeroed. */
void *cr_arena_alloc(cr_arena *a, size_t size) __attribute__((returns_nonnull));
void *cr_arena_zalloc(cr_arena *a, size_t size) __attribute__((returns_nonnull));
/* cr_arena_defer: fn(ctx) is called when the content is dropped, the last one given first. It
 * releases what an object in the arena holds besides memory of the arena. */
void cr_arena_defer(cr_arena *a, void (*fn)(void *ctx), void *ctx);
char *cr_arena_strdup(cr_arena *a, const char *s);
char *cr_arena_strndup(cr_arena *a, const char *s, size_t n);
char *cr_arena_printf(cr_arena *a, const char *fmt, ...) CR_PRINTF(2, 3);
#define CR_NEW(arena, T)      ((T *)cr_arena_zalloc((arena), sizeof(T)))
#define CR_NEW_N(arena, T, n) ((T *)cr_arena_zalloc((arena), cr_bytes((int64_t)(n), sizeof(T))))

/* cr_fetch prefetches bytes that will be read or written soon. It asks only for the first cache
 * lines; the CPU itself asks for the rest. Trap: gcc leaves out calls of a function that only
 * fetches, so this is always inline, and so are functions that do nothing else. */
#define CR_FETCH static inline __attribute__((always_inline)) void
CR_FETCH cr_fetch(const void *from, int64_t bytes, bool write) {
    enum { CR_LINE = 64, CR_LINES = 16 };
    const char *p = (const char *)from, *end = p + bytes;
    if (end - p > CR_LINES * CR_LINE) end = p + CR_LINES * CR_LINE;
    for (p -= (uintptr_t)p % CR_LINE; p < end; p += CR_LINE) {
        if (write)
            __builtin_prefetch(p, 1);
        else
            /* into L2: more requests may be under way there than into L1 */
            __builtin_prefetch(p, 0, 2);
    }
}

#endif
