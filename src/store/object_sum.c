/*
 * object_sum.c - see object_sum.h.
 */
#include "store/object_sum.h"

#include <string.h>

#include "store/crc64.h"

void cr_obj_sum_init(cr_obj_sum *s) {
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
}

void cr_obj_sum_clear(cr_obj_sum *s) {
    pthread_mutex_destroy(&s->lock);
}

/* Joins range i with the one behind it. */
static void join(cr_obj_sum *s, int i) {
    cr_obj_range *a = &s->v[i], *b = a + 1;
    a->crc = cr_crc64_join(a->crc, b->crc, b->n);
    a->n += b->n;
    memmove(b, b + 1, (size_t)(--s->n - i - 1) * sizeof *b);
}

static void add(cr_obj_sum *s, cr_obj_range r) {
    int i = 0;
    while (i < s->n && s->v[i].at < r.at)
        i++;
    bool before = i > 0 && s->v[i - 1].at + s->v[i - 1].n > r.at;
    bool behind = i < s->n && r.at + r.n > s->v[i].at;
    if (before || behind) return;
    s->over = s->n == CR_OBJ_RANGES;
    if (s->over) return;
    memmove(&s->v[i + 1], &s->v[i], (size_t)(s->n++ - i) * sizeof r);
    s->v[i] = r;
    if (i + 1 < s->n && r.at + r.n == s->v[i + 1].at) join(s, i);
    if (i > 0 && s->v[i - 1].at + s->v[i - 1].n == r.at) join(s, i - 1);
}

bool cr_obj_sum_add(cr_obj_sum *s, int64_t at, const void *data, size_t n, int64_t size,
                    uint64_t *out) {
    pthread_mutex_lock(&s->lock);
    bool over = s->over;
    pthread_mutex_unlock(&s->lock);
    if (over || n == 0) return false;
    cr_obj_range r = {.at = at, .n = (int64_t)n, .crc = cr_crc64(0, data, n)};
    pthread_mutex_lock(&s->lock);
    if (!s->over) add(s, r);
    bool whole = !s->over && s->n == 1 && s->v[0].at == 0 && s->v[0].n == size;
    if (whole) *out = s->v[0].crc;
    pthread_mutex_unlock(&s->lock);
    return whole;
}
