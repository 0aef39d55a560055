/*
 * shim.c - makes the n-th call of a kind fail, in a program that was not built for it (LD_PRELOAD).
 *
 * FAULT_CALL names the kind (a name of `kinds`), FAULT_N the call, counted from 1; with FAULT_ON=1
 * all calls after it fail, too, as when a disk is full or memory is gone for good. FAULT_COUNT names a
 * file that gets the number of calls of each kind when the program ends. A write to stderr never
 * fails: the line that the tests ask for goes there. The 64-bit names are what programs with large
 * files call; on 64-bit machines they are the same functions.
 */
#undef _FILE_OFFSET_BITS /* both names of each function are defined here */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum kind { OPEN, READ, WRITE, FSYNC, RENAME, MKDIR, MMAP, MEMORY, THREAD, N_KINDS } kind;
static const char *const kinds[N_KINDS] = {"open",  "read", "write",  "fsync", "rename",
                                           "mkdir", "mmap", "memory", "thread"};
static atomic_long counts[N_KINDS];
static int bad_kind = -1;
static long bad_n;
static int go_on;

/* glibc's own names: looking the functions up with dlsym would allocate */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

static int fails(kind k) {
    long n = atomic_fetch_add(&counts[k], 1) + 1;
    return (int)k == bad_kind && (n == bad_n || (go_on && n > bad_n));
}

/* real: the function that would have been called. ISO C has no way from void * to a function but a copy of
 * the bytes. */
#define REAL(type, name, args)                                                                     \
    static type(*real) args;                                                                       \
    if (!real) {                                                                                   \
        void *found = dlsym(RTLD_NEXT, name);                                                      \
        memcpy(&real, &found, sizeof(real));                                                       \
    }

__attribute__((constructor)) static void begin(void) {
    const char *call = getenv("FAULT_CALL"), *n = getenv("FAULT_N"), *on = getenv("FAULT_ON");
    for (int i = 0; call && n && i < N_KINDS; i++)
        if (strcmp(call, kinds[i]) == 0) bad_kind = i;
    bad_n = n ? atol(n) : 0;
    go_on = on && *on == '1';
    for (int i = 0; i < N_KINDS; i++)
        atomic_store(&counts[i], 0);
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAULT_COUNT");
    bad_kind = -1;
    FILE *f = path ? fopen(path, "w") : NULL;
    for (int i = 0; f && i < N_KINDS; i++)
        fprintf(f, "%s %ld\n", kinds[i], atomic_load(&counts[i]));
    if (f) fclose(f);
}

/* ---- memory ---- */

void *malloc(size_t n) {
    if (!fails(MEMORY)) return __libc_malloc(n);
    errno = ENOMEM;
    return NULL;
}
void *calloc(size_t n, size_t size) {
    if (!fails(MEMORY)) return __libc_calloc(n, size);
    errno = ENOMEM;
    return NULL;
}
void *realloc(void *p, size_t n) {
    if (!fails(MEMORY)) return __libc_realloc(p, n);
    errno = ENOMEM;
    return NULL;
}
int posix_memalign(void **out, size_t align, size_t n) {
    if (fails(MEMORY)) return ENOMEM;
    void *p = __libc_memalign(align, n);
    if (!p) return ENOMEM;
    *out = p;
    return 0;
}
void *aligned_alloc(size_t align, size_t n) {
    if (!fails(MEMORY)) return __libc_memalign(align, n);
    errno = ENOMEM;
    return NULL;
}
void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off) {
    REAL(void *, "mmap", (void *, size_t, int, int, int, off_t))
    if (!fails(MMAP)) return real(at, n, prot, flags, fd, off);
    errno = ENOMEM;
    return MAP_FAILED;
}
void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t off)
    __attribute__((alias("mmap")));

/* ---- files ---- */

static int wants_mode(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}
int open(const char *path, int flags, ...) {
    REAL(int, "open", (const char *, int, ...))
    va_list ap;
    va_start(ap, flags);
    mode_t mode = wants_mode(flags) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    if (!fails(OPEN)) return real(path, flags, mode);
    errno = EMFILE;
    return -1;
}
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
FILE *fopen(const char *path, const char *how) {
    REAL(FILE *, "fopen", (const char *, const char *))
    if (!fails(OPEN)) return real(path, how);
    errno = EMFILE;
    return NULL;
}
FILE *fopen64(const char *path, const char *how) __attribute__((alias("fopen")));
ssize_t read(int fd, void *p, size_t n) {
    REAL(ssize_t, "read", (int, void *, size_t))
    if (!fails(READ)) return real(fd, p, n);
    errno = EIO;
    return -1;
}
ssize_t pread(int fd, void *p, size_t n, off_t at) {
    REAL(ssize_t, "pread", (int, void *, size_t, off_t))
    if (!fails(READ)) return real(fd, p, n, at);
    errno = EIO;
    return -1;
}
ssize_t pread64(int fd, void *p, size_t n, off64_t at) __attribute__((alias("pread")));
ssize_t write(int fd, const void *p, size_t n) {
    REAL(ssize_t, "write", (int, const void *, size_t))
    if (fd == STDERR_FILENO || !fails(WRITE)) return real(fd, p, n);
    errno = ENOSPC;
    return -1;
}
ssize_t pwrite(int fd, const void *p, size_t n, off_t at) {
    REAL(ssize_t, "pwrite", (int, const void *, size_t, off_t))
    if (!fails(WRITE)) return real(fd, p, n, at);
    errno = ENOSPC;
    return -1;
}
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at) __attribute__((alias("pwrite")));
int fsync(int fd) {
    REAL(int, "fsync", (int))
    if (!fails(FSYNC)) return real(fd);
    errno = EIO;
    return -1;
}
int rename(const char *from, const char *to) {
    REAL(int, "rename", (const char *, const char *))
    if (!fails(RENAME)) return real(from, to);
    errno = EIO;
    return -1;
}
/* a folder appears under its name by this call */
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
    REAL(int, "renameat2", (int, const char *, int, const char *, unsigned))
    if (!fails(RENAME)) return real(from_dir, from, to_dir, to, flags);
    errno = EIO;
    return -1;
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", (const char *, mode_t))
    if (!fails(MKDIR)) return real(path, mode);
    errno = ENOSPC;
    return -1;
}

/* ---- threads ---- */

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg) {
    REAL(int, "pthread_create",
         (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))
    if (!fails(THREAD)) return real(t, a, fn, arg);
    return EAGAIN;
}
