/*
 * open_many.c - see open_many.h.
 */
#include "data/open_many.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/cpu.h"
#include "base/fs.h"

#define NEAR_THREADS 8
#define FAR_THREADS  16 /* they only wait, so there may be more of them than cores */

typedef struct opening {
    void (*open)(void *ctx, int64_t i);
    void *ctx;
    int64_t n;
    atomic_llong next;
} opening;

static void *open_some(void *arg) {
    opening *o = arg;
    for (int64_t i; (i = atomic_fetch_add(&o->next, 1)) < o->n;)
        o->open(o->ctx, i);
    return NULL;
}

void cr_open_many(const char *path, int64_t n, void (*open)(void *ctx, int64_t i), void *ctx) {
    pthread_t t[FAR_THREADS];
    opening o = {.open = open, .ctx = ctx, .n = n};
    bool far = cr_store_can(path, CR_FS_FAR);
    int most = far ? FAR_THREADS : cr_cpu_count() < NEAR_THREADS ? cr_cpu_count() : NEAR_THREADS;
    int started = 0;
    while ((n >= NEAR_THREADS || (far && n > started + 1)) && started < most - 1 &&
           pthread_create(&t[started], NULL, open_some, &o) == 0)
        started++;
    open_some(&o);
    for (int i = 0; i < started; i++)
        pthread_join(t[i], NULL);
}
