/*
 * fetch.c - rows of MaxCompute that are read ahead, each run of rows by a thread of its own, a few
 * at a time.
 */
#include <pthread.h>
#include <string.h>

#include "data/odps/odps_int.h"

#define MOST 8 /* runs that are on their way or wait to be taken */

typedef enum state { FREE, ASKED, DONE } state;
typedef struct run {
    state state;
    int64_t file, number;
    cr_odps_rows rows;
    cr_code code;
    cr_err err;
    pthread_t thread;
    struct cr_odps_ahead *of;
} run;

struct cr_odps_ahead {
    cr_odps_get get;
    void *ctx;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    run v[MOST];
};

cr_odps_ahead *cr_odps_ahead_new(cr_odps_get get, void *ctx) {
    cr_odps_ahead *a = cr_alloc(sizeof *a, "rows that are read ahead");
    a->get = get;
    a->ctx = ctx;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    return a;
}

static void *work(void *arg) {
    run *r = arg;
    cr_odps_ahead *a = r->of;
    cr_code code = a->get(a->ctx, r->file, r->number, &r->rows, &r->err);
    pthread_mutex_lock(&a->lock);
    r->code = code;
    r->state = DONE;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static run *find(cr_odps_ahead *a, int64_t file, int64_t number) {
    for (int i = 0; i < MOST; i++)
        if (a->v[i].state != FREE && a->v[i].file == file && a->v[i].number == number)
            return &a->v[i];
    return NULL;
}

void cr_odps_ahead_ask(cr_odps_ahead *a, int64_t file, int64_t number) {
    pthread_mutex_lock(&a->lock);
    run *r = find(a, file, number);
    for (int i = 0; !r && i < MOST; i++) {
        if (a->v[i].state != FREE) continue;
        r = &a->v[i];
        *r = (run){.state = ASKED, .file = file, .number = number, .of = a};
        if (pthread_create(&r->thread, NULL, work, r) != 0) r->state = FREE;
    }
    pthread_mutex_unlock(&a->lock);
}

cr_code cr_odps_ahead_take(cr_odps_ahead *a, int64_t file, int64_t number, cr_odps_rows *out,
                           cr_err *err) {
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&a->lock);
    run *r; /* looked for again after each wait, because another hand may have taken it */
    while ((r = find(a, file, number)) && r->state == ASKED)
        pthread_cond_wait(&a->changed, &a->lock);
    if (!r) {
        pthread_mutex_unlock(&a->lock);
        return a->get(a->ctx, file, number, out, err);
    }
    pthread_t thread = r->thread;
    cr_code code = r->code;
    *out = r->rows;
    if (code != CR_OK) cr_err_copy(err, &r->err);
    r->state = FREE;
    pthread_mutex_unlock(&a->lock);
    pthread_join(thread, NULL);
    return code;
}

void cr_odps_ahead_free(cr_odps_ahead *a) {
    if (!a) return;
    for (int i = 0; i < MOST; i++) {
        if (a->v[i].state == FREE) continue;
        pthread_join(a->v[i].thread, NULL);
        cr_odps_rows_clear(&a->v[i].rows);
    }
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->changed);
    cr_free(a);
}
