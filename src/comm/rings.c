/*
 * rings.c - see rings.h.
 *
 * Layout: one page with the mark, then the counters of all rings, then the rings. A ring's two
 * counters count all bytes since the start and have a cache line each, since each is written by one
 * rank and read by the other.
 */
#include "comm/rings.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define PAGE 4096
#define LINE 64
/* The rings of a machine take at most about ALL_RINGS bytes together, as long as one of them has
 * LEAST. */
#define ALL_RINGS ((size_t)64 << 20)
#define MOST      ((size_t)1 << 20)
#define LEAST     ((size_t)16 << 10)

typedef struct counters {
    _Alignas(LINE) _Atomic uint64_t put;
    _Alignas(LINE) _Atomic uint64_t taken;
} counters;

/* Sets the sizes for n ranks; a ring is a power of two. */
static void set_sizes(cr_rings *r, int n, int slots, int self) {
    size_t rings = (size_t)n * (size_t)n * (size_t)slots;
    r->n = n;
    r->slots = slots;
    r->self = self;
    for (r->cap = MOST; r->cap > LEAST && r->cap * rings > ALL_RINGS;)
        r->cap /= 2;
    r->size = PAGE + rings * (sizeof(counters) + r->cap);
    r->fd = -1;
    r->mem = NULL;
}

static bool map(cr_rings *r, int fd) {
    void *mem = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mem == MAP_FAILED) return false;
    r->mem = mem;
    return true;
}

bool cr_rings_make(cr_rings *r, int n, int slots, cr_rings_name *name) {
    set_sizes(r, n, slots, 0);
    *name = (cr_rings_name){.pid = getpid(), .fd = -1};
    r->fd = memfd_create("crank-rings", MFD_CLOEXEC);
    if (r->fd < 0) return false;
    if (ftruncate(r->fd, (off_t)r->size) != 0 || !map(r, r->fd) ||
        getrandom(&name->mark, sizeof name->mark, 0) != (ssize_t)sizeof name->mark) {
        cr_rings_close(r);
        return false;
    }
    memcpy(r->mem, &name->mark, sizeof name->mark);
    name->fd = r->fd;
    return true;
}

/* The mark tells whether it is the right memory: ranks may not see each other's processes. */
bool cr_rings_open(cr_rings *r, const cr_rings_name *name, int n, int slots, int self) {
    char path[64];
    uint64_t mark = 0;
    set_sizes(r, n, slots, self);
    if (name->fd < 0) return false;
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)name->pid, (long long)name->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return false;
    bool fine = lseek(fd, 0, SEEK_END) == (off_t)r->size && map(r, fd);
    close(fd);
    if (fine) memcpy(&mark, r->mem, sizeof mark);
    if (fine && mark == name->mark) return true;
    cr_rings_close(r);
    return false;
}

void cr_rings_joined(cr_rings *r) {
    if (r->fd >= 0) close(r->fd);
    r->fd = -1;
}

void cr_rings_close(cr_rings *r) {
    cr_rings_joined(r);
    if (r->mem) munmap(r->mem, r->size);
    r->mem = NULL;
}

static size_t number(const cr_rings *r, int from, int to, int slot) {
    return ((size_t)from * (size_t)r->n + (size_t)to) * (size_t)r->slots + (size_t)slot;
}

static counters *counters_of(const cr_rings *r, size_t ring) {
    return (counters *)(void *)(r->mem + PAGE) + ring;
}

static char *bytes_of(const cr_rings *r, size_t ring) {
    size_t rings = (size_t)r->n * (size_t)r->n * (size_t)r->slots;
    return r->mem + PAGE + rings * sizeof(counters) + ring * r->cap;
}

size_t cr_rings_put(const cr_rings *r, int to, int slot, const void *data, size_t n) {
    size_t ring = number(r, r->self, to, slot);
    counters *c = counters_of(r, ring);
    uint64_t put = atomic_load_explicit(&c->put, memory_order_relaxed),
             taken = atomic_load_explicit(&c->taken, memory_order_acquire);
    size_t room = r->cap - (size_t)(put - taken), at = (size_t)put & (r->cap - 1);
    if (n > room) n = room;
    if (n == 0) return 0;
    size_t first = n < r->cap - at ? n : r->cap - at;
    memcpy(bytes_of(r, ring) + at, data, first);
    if (n > first) memcpy(bytes_of(r, ring), (const char *)data + first, n - first);
    atomic_store_explicit(&c->put, put + n, memory_order_release);
    return n;
}

size_t cr_rings_take(const cr_rings *r, int from, int slot, void *data, size_t n) {
    size_t ring = number(r, from, r->self, slot);
    counters *c = counters_of(r, ring);
    uint64_t taken = atomic_load_explicit(&c->taken, memory_order_relaxed),
             put = atomic_load_explicit(&c->put, memory_order_acquire);
    size_t there = (size_t)(put - taken), at = (size_t)taken & (r->cap - 1);
    if (n > there) n = there;
    if (n == 0) return 0;
    size_t first = n < r->cap - at ? n : r->cap - at;
    memcpy(data, bytes_of(r, ring) + at, first);
    if (n > first) memcpy((char *)data + first, bytes_of(r, ring), n - first);
    atomic_store_explicit(&c->taken, taken + n, memory_order_release);
    return n;
}
