/*
 * mem_store.h - a store in memory, with the manners of an object store: no folders, no rename, no
 * append; each request takes a while, may give fewer bytes than asked for, and may fail on purpose.
 * Paths are mem://bucket/name. Requests are counted.
 */
#ifndef CR_TESTS_MEM_STORE_H
#define CR_TESTS_MEM_STORE_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"

typedef struct mem_object {
    char *name, *data;
    size_t n;
    uint64_t version;
    bool gone;
    struct mem_object *next;
} mem_object;

static struct {
    pthread_mutex_t lock;
    mem_object *objects;
    uint64_t clock;
    int delay_us;
    size_t most;      /* bytes of a read; 0: any */
    int fail_each;    /* every n-th request fails once, with ECONNRESET */
    const char *dead; /* requests for names that hold this fail always */
    int dead_with;
    int gather; /* reads are held until so many are there at once, or for half a second */
    pthread_cond_t gathered;
    /* counted */
    int opens, reads, puts, stats, lists, failed, at_once, most_at_once;
    int64_t bytes;
} mem = {.lock = PTHREAD_MUTEX_INITIALIZER, .gathered = PTHREAD_COND_INITIALIZER};

static void mem_count_anew(void) {
    pthread_mutex_lock(&mem.lock);
    mem.opens = mem.reads = mem.puts = mem.stats = mem.lists = mem.failed = 0;
    mem.most_at_once = 0;
    mem.bytes = 0;
    pthread_mutex_unlock(&mem.lock);
}

/* request counts, waits and decides whether it fails */
static int mem_request(int *what, const char *path, cr_fs_why *why) {
    static int n;
    pthread_mutex_lock(&mem.lock);
    ++*what;
    if (++mem.at_once > mem.most_at_once) mem.most_at_once = mem.at_once;
    int e = mem.fail_each && ++n % mem.fail_each == 0 ? ECONNRESET : 0;
    if (mem.dead && strstr(path, mem.dead)) e = mem.dead_with;
    mem.failed += e != 0;
    int wait = mem.delay_us;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 500000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (what == &mem.reads && mem.gather > mem.most_at_once &&
           pthread_cond_timedwait(&mem.gathered, &mem.lock, &until) == 0)
        ;
    if (mem.gather && mem.gather <= mem.most_at_once) pthread_cond_broadcast(&mem.gathered);
    pthread_mutex_unlock(&mem.lock);
    if (wait) usleep((useconds_t)wait);
    pthread_mutex_lock(&mem.lock);
    mem.at_once--;
    pthread_mutex_unlock(&mem.lock);
    if (e == EACCES && why) {
        snprintf(why->text, sizeof why->text, "403 AccessDenied, request 17");
        snprintf(why->cure, sizeof why->cure, "; ask the owner of the bucket");
    }
    return e;
}

static mem_object *mem_find(const char *path) {
    for (mem_object *o = mem.objects; o; o = o->next)
        if (!o->gone && strcmp(o->name, path) == 0) return o;
    return NULL;
}

typedef struct mem_file {
    mem_object *o;
} mem_file;

static int mem_info(const char *path, cr_fs_stat *st) {
    size_t n = strlen(path);
    mem_object *o = mem_find(path);
    *st = (cr_fs_stat){0};
    if (o) {
        *st = (cr_fs_stat){.kind = CR_FS_FILE, .size = (int64_t)o->n, .version = o->version};
        return 0;
    }
    for (o = mem.objects; o; o = o->next)
        if (!o->gone && strncmp(o->name, path, n) == 0 &&
            (o->name[n] == '/' || (n && path[n - 1] == '/'))) {
            st->kind = CR_FS_DIR;
            return 0;
        }
    return ENOENT;
}

static int mem_open(void **file, const char *path, bool wait, cr_fs_stat *st, cr_fs_why *why) {
    (void)wait;
    int e = mem_request(&mem.opens, path, why);
    if (e) return e;
    pthread_mutex_lock(&mem.lock);
    e = mem_info(path, st);
    mem_file *f = malloc(sizeof *f);
    f->o = mem_find(path);
    pthread_mutex_unlock(&mem.lock);
    if (e)
        free(f);
    else
        *file = f;
    return e;
}

static int mem_pread(void *file, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why) {
    const mem_file *f = file;
    int e = mem_request(&mem.reads, f->o->name, why);
    if (e) return e;
    pthread_mutex_lock(&mem.lock);
    if (f->o->gone) e = ESTALE;
    if (mem.most && n > mem.most) n = 1 + (size_t)(at % 7) * (mem.most - 1) / 7;
    if ((size_t)at >= f->o->n) n = 0;
    if (n > f->o->n - (size_t)at) n = f->o->n - (size_t)at;
    if (!e) memcpy(buf, f->o->data + at, n);
    *got = e ? 0 : n;
    mem.bytes += (int64_t)*got;
    pthread_mutex_unlock(&mem.lock);
    return e;
}

static void mem_close(void *file) {
    free(file);
}

static int mem_stat(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why) {
    (void)follow;
    int e = mem_request(&mem.stats, path, why);
    if (e) return e;
    pthread_mutex_lock(&mem.lock);
    e = mem_info(path, st);
    pthread_mutex_unlock(&mem.lock);
    return e;
}

static int mem_list(const char *path, cr_fs_each each, void *ctx, cr_fs_why *why) {
    int e = mem_request(&mem.lists, path, why);
    if (e) return e;
    size_t n = strlen(path);
    while (n && path[n - 1] == '/')
        n--;
    char *names[4096];
    int count = 0;
    pthread_mutex_lock(&mem.lock);
    for (mem_object *o = mem.objects; o && count < 4096; o = o->next) {
        if (o->gone || strncmp(o->name, path, n) != 0 || o->name[n] != '/') continue;
        const char *rest = o->name + n + 1;
        size_t k = strcspn(rest, "/");
        char *name = strndup(rest, k + (rest[k] == '/'));
        bool twice = false;
        for (int i = 0; i < count; i++)
            twice = twice || strcmp(names[i], name) == 0;
        if (twice)
            free(name);
        else
            names[count++] = name;
    }
    pthread_mutex_unlock(&mem.lock);
    for (int i = 0; i < count; i++) {
        size_t k = strlen(names[i]);
        bool dir = k && names[i][k - 1] == '/';
        if (dir) names[i][k - 1] = 0;
        each(ctx, names[i], dir ? CR_FS_DIR : CR_FS_FILE);
        free(names[i]);
    }
    return count ? 0 : ENOENT;
}

static int mem_remove(const char *path, bool tree, cr_fs_why *why) {
    int e = mem_request(&mem.puts, path, why), n = 0;
    if (e) return e;
    size_t len = strlen(path);
    pthread_mutex_lock(&mem.lock);
    for (mem_object *o = mem.objects; o; o = o->next) {
        bool hit = strcmp(o->name, path) == 0 ||
                   (tree && strncmp(o->name, path, len) == 0 && o->name[len] == '/');
        if (o->gone || !hit) continue;
        o->gone = true; /* open files find out */
        n++;
    }
    pthread_mutex_unlock(&mem.lock);
    return n ? 0 : ENOENT;
}

typedef struct mem_out {
    char *path, *data;
    size_t n;
} mem_out;

static int mem_put(void **out, const char *path, unsigned flags, cr_fs_why *why) {
    (void)why;
    if (flags & (CR_PUT_APPEND | CR_PUT_STDOUT)) return ENOTSUP;
    mem_out *o = calloc(1, sizeof *o);
    o->path = strdup(path);
    *out = o;
    return 0;
}

static int mem_write(void *out, const void *data, size_t n, cr_fs_why *why) {
    mem_out *o = out;
    int e = mem_request(&mem.puts, o->path, why);
    if (e) return e;
    o->data = realloc(o->data, o->n + n + 1);
    if (n) memcpy(o->data + o->n, data, n);
    o->n += n;
    return 0;
}

static int mem_commit(void *out, bool sync, cr_fs_why *why) {
    (void)sync;
    mem_out *o = out;
    int e = mem_request(&mem.puts, o->path, why);
    if (e) return e;
    pthread_mutex_lock(&mem.lock);
    mem_object *old = mem_find(o->path), *now = calloc(1, sizeof *now);
    if (old) old->gone = true;
    *now = (mem_object){
        .name = o->path, .data = o->data, .n = o->n, .version = ++mem.clock, .next = mem.objects};
    mem.objects = now;
    pthread_mutex_unlock(&mem.lock);
    o->path = o->data = NULL;
    return 0;
}

static void mem_end(void *out) {
    mem_out *o = out;
    free(o->path);
    free(o->data);
    free(o);
}

static const cr_store mem_store = {
    .scheme = "mem",
    .can = CR_FS_FAR,
    .tries = 4,
    .wait_ms = 1,
    .open = mem_open,
    .pread = mem_pread,
    .close = mem_close,
    .stat = mem_stat,
    .list = mem_list,
    .remove = mem_remove,
    .put = mem_put,
    .write = mem_write,
    .commit = mem_commit,
    .end = mem_end,
};

/* mem_clear forgets all objects; no file may be open. */
static void mem_clear(void) {
    for (mem_object *o = mem.objects, *next; o; o = next) {
        next = o->next;
        free(o->name);
        free(o->data);
        free(o);
    }
    mem.objects = NULL;
}

#endif
