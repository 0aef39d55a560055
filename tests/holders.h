/*
 * holders.h - several holders of one batch in one process: a thread each, which meet at a barrier
 * and copy from each other's memory. What MPI does between processes, for tests.
 */
#ifndef CR_TESTS_HOLDERS_H
#define CR_TESTS_HOLDERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "comm/mail.h"
#include "graph/part.h"

#define MAX_HOLDERS 8

typedef struct holders {
    int n;
    int lane[MAX_HOLDERS + 1];
    bool serves[MAX_HOLDERS], any_serves;
    pthread_barrier_t gate;
    void *all[MAX_HOLDERS]; /* what each brought to the meeting under way */
    const void *out[MAX_HOLDERS];
    const size_t *out_at[MAX_HOLDERS];
    int64_t meetings;
    pthread_mutex_t post; /* of the letters of all */
    struct holder {
        struct holders *of;
        int number;
        cr_meet meet;
        cr_mail mail;
        struct letter { /* in the order in which they came */
            struct letter *next;
            int from;
            size_t n;
            char data[];
        } * letters;
        void (*work)(struct holder *h, void *ctx);
        void *ctx;
        pthread_t thread;
        struct { /* an exchange that was started */
            const void *out;
            const size_t *out_at;
            void *in;
            const size_t *in_at;
        } started;
    } v[MAX_HOLDERS];
} holders;
typedef struct holder holder;

static inline void holders_gather(void *ctx, void *all, const size_t *at) {
    holder *h = ctx;
    holders *of = h->of;
    of->all[h->number] = all;
    if (h->number == 0) of->meetings++;
    pthread_barrier_wait(&of->gate);
    for (int k = 0; k < of->n; k++)
        if (k != h->number)
            memcpy((char *)all + at[k], (const char *)of->all[k] + at[k], at[k + 1] - at[k]);
    pthread_barrier_wait(&of->gate);
}

static inline void holders_exchange(void *ctx, const void *out, const size_t *out_at, void *in,
                                    const size_t *in_at) {
    holder *h = ctx;
    holders *of = h->of;
    int self = h->number;
    of->out[self] = out;
    of->out_at[self] = out_at;
    if (self == 0) of->meetings++;
    pthread_barrier_wait(&of->gate);
    for (int k = 0; k < of->n; k++) {
        size_t from = of->out_at[k][self], n = of->out_at[k][self + 1] - from;
        if (n != in_at[k + 1] - in_at[k]) abort(); /* the two sides do not agree */
        if (n > 0) memcpy((char *)in + in_at[k], (const char *)of->out[k] + from, n);
    }
    pthread_barrier_wait(&of->gate);
}

/* The bytes move at the end, so what must stay until then is really needed. */
static inline void holders_start(void *ctx, const void *out, const size_t *out_at, void *in,
                                 const size_t *in_at) {
    holder *h = ctx;
    if (h->started.out_at) abort(); /* one at a time */
    h->started.out = out;
    h->started.out_at = out_at;
    h->started.in = in;
    h->started.in_at = in_at;
}

static inline void holders_end(void *ctx) {
    holder *h = ctx;
    holders_exchange(ctx, h->started.out, h->started.out_at, h->started.in, h->started.in_at);
    h->started.out_at = NULL;
}

/* ---- letters ---- */

static inline int holders_post(void *ctx, int to, const void *data, size_t n) {
    holder *h = ctx;
    struct letter *l = malloc(sizeof(*l) + n), **at = &h->of->v[to].letters;
    *l = (struct letter){.from = h->number, .n = n};
    memcpy(l->data, data, n);
    pthread_mutex_lock(&h->of->post);
    while (*at)
        at = &(*at)->next;
    *at = l;
    pthread_mutex_unlock(&h->of->post);
    return 0;
}

static inline bool holders_posted(void *ctx, int ticket) {
    (void)ctx;
    return ticket == 0;
}

static inline bool holders_peek(void *ctx, int *from, size_t *n) {
    const holder *h = ctx;
    pthread_mutex_lock(&h->of->post);
    const struct letter *l = h->letters;
    if (l) *from = l->from;
    if (l) *n = l->n;
    pthread_mutex_unlock(&h->of->post);
    return l != NULL;
}

static inline bool holders_take(void *ctx, int from, void *data, size_t n) {
    holder *h = ctx;
    pthread_mutex_lock(&h->of->post);
    struct letter *l = h->letters;
    h->letters = l->next;
    pthread_mutex_unlock(&h->of->post);
    if (l->from != from || l->n != n) abort();
    memcpy(data, l->data, n);
    free(l);
    return true;
}

static inline void *holders_thread(void *p) {
    holder *h = p;
    h->work(h, h->ctx);
    return NULL;
}

/* holders_run: holder k has the next lanes[k] lanes (0 ends the list, SERVER is a parameter server)
 * and calls work(holder, ctx) in a thread of its own; h->number is k. Returns when all are done. */
#define SERVER (-1)
static inline void holders_run(holders *hs, const int *lanes, void (*work)(holder *, void *),
                               void *ctx) {
    memset(hs, 0, sizeof(*hs));
    for (; lanes[hs->n]; hs->n++) {
        hs->serves[hs->n] = lanes[hs->n] == SERVER;
        hs->any_serves |= hs->serves[hs->n];
        hs->lane[hs->n + 1] = hs->lane[hs->n] + (lanes[hs->n] == SERVER ? 0 : lanes[hs->n]);
    }
    pthread_barrier_init(&hs->gate, NULL, (unsigned)hs->n);
    pthread_mutex_init(&hs->post, NULL);
    for (int k = 0; k < hs->n; k++) {
        holder *h = &hs->v[k];
        *h = (holder){.of = hs, .number = k, .work = work, .ctx = ctx};
        h->meet = (cr_meet){hs->n,
                            k,
                            hs->lane,
                            holders_gather,
                            holders_exchange,
                            holders_start,
                            holders_end,
                            h,
                            hs->any_serves ? hs->serves : NULL,
                            NULL};
        h->mail = (cr_mail){.self = k,
                            .n = hs->n,
                            .post = holders_post,
                            .posted = holders_posted,
                            .peek = holders_peek,
                            .take = holders_take,
                            .ctx = h};
    }
    for (int k = 0; k < hs->n; k++)
        pthread_create(&hs->v[k].thread, NULL, holders_thread, &hs->v[k]);
    for (int k = 0; k < hs->n; k++)
        pthread_join(hs->v[k].thread, NULL);
    pthread_barrier_destroy(&hs->gate);
    pthread_mutex_destroy(&hs->post);
}

#endif
