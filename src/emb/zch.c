/*
 * zch.c - see zch.h. Rows that never had an id are [0, free); newcomers take the last of them
 * first, so the free rows stay a range.
 *
 * TorchRec keeps its ids in an ascending array, in which free rows and the fallback lie at the end,
 * and breaks ties of scores by the place in it, residents before newcomers, newcomers by count and
 * id. The order of places is that of ids, and of rows among free ones; so the array is not needed,
 * except to write it (zch_state.c).
 */
#include "emb/zch_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/room.h"

#define PIECE   2048 /* ids that a thread looks up at a time */
#define AT_ONCE 16   /* ids whose bisections go in step */

static const char what[] = "a zero-collision map";

cr_code cr_zch_new(cr_zch **out, const cr_zch_opts *o, cr_err *err) {
    CR_ASSERT(o->size >= 2 && o->size <= CR_ZCH_ROWS && o->interval >= 1);
    cr_zch *z = cr_alloc(sizeof(*z), what);
    z->o = *o;
    z->free = o->size - 1;
    cr_keymap_init(&z->map, cr_rng_key(o->seed, "keys", o->name));
    cr_keymap_init(&z->seen_at, cr_rng_key(o->seed, "seen", o->name));
    void *p;
    cr_code code = cr_big_alloc(&p, cr_bytes(3 * o->size, sizeof(int64_t)), what, err);
    if (code != CR_OK) {
        cr_free(z);
        return code;
    }
    z->id = p;
    z->count = z->id + o->size;
    z->last = z->count + o->size;
    *out = z;
    return CR_OK;
}

cr_zch *cr_zch_view(const cr_zch_opts *o, const int64_t *ids, const int64_t *rows) {
    cr_zch *z = cr_alloc(sizeof(*z), what);
    z->o = *o;
    z->sorted = ids;
    z->rows = rows;
    return z;
}

void cr_zch_free(cr_zch *z) {
    if (!z) return;
    if (z->id) cr_big_free(z->id, cr_bytes(3 * z->o.size, sizeof(int64_t)));
    cr_keymap_clear(&z->map);
    cr_keymap_clear(&z->seen_at);
    cr_free(z->seen);
    cr_free(z->post);
    cr_free(z->cand);
    cr_free(z);
}

bool cr_zch_learns(const cr_zch *z) {
    return z->id != NULL;
}
int64_t cr_zch_free_rows(const cr_zch *z) {
    return z->free;
}
int64_t cr_zch_known(const cr_zch *z) {
    return z->o.size - 1 - z->free;
}
int64_t cr_zch_bytes(int64_t size) {
    return size * (3 * (int64_t)sizeof(int64_t) + 16);
}

/* ---- lookups ---- */

/* Bisects the sorted ids for n <= AT_ONCE keys at a time, so that their cache misses overlap. */
static void bisect(const cr_zch *z, const int64_t *keys, int64_t n, int64_t *rows) {
    const int64_t *ids = z->sorted, size = z->o.size;
    int64_t at[AT_ONCE] = {0};
    for (int64_t left = size; left > 1;) {
        int64_t half = left / 2;
        for (int64_t i = 0; i < n; i++)
            at[i] += ids[at[i] + half] <= keys[i] ? half : 0;
        left -= half;
    }
    for (int64_t i = 0; i < n; i++) {
        /* the fallback's own id is no id of a feature */
        int64_t row = ids[at[i]] == keys[i] && keys[i] != INT64_MAX ? z->rows[at[i]] : size - 1;
        rows[i] = row >= 0 && row < size ? row : size - 1;
    }
}

typedef struct finding {
    const cr_zch *z;
    const int64_t *ids;
    int64_t n, *rows;
} finding;

static void find_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const finding *f = ctx;
    const cr_zch *z = f->z;
    int64_t at = item * PIECE, end = f->n - at < PIECE ? f->n : at + PIECE;
    if (z->sorted) {
        for (; at < end; at += AT_ONCE)
            bisect(z, f->ids + at, end - at < AT_ONCE ? end - at : AT_ONCE, f->rows + at);
        return;
    }
    cr_keymap_find_all(&z->map, f->ids + at, end - at, f->rows + at);
    for (; at < end; at++)
        if (f->rows[at] < 0) f->rows[at] = z->o.size - 1;
}

void cr_zch_find(const cr_zch *z, const int64_t *ids, int64_t n, int64_t *rows, cr_pool *pool) {
    finding f = {z, ids, n, rows};
    int64_t pieces = (n + PIECE - 1) / PIECE;
    if (pool && pieces > 1)
        cr_pool_run(pool, pieces, find_item, &f);
    else
        for (int64_t i = 0; i < pieces; i++)
            find_item(&f, i, 0);
}

/* ---- counting ---- */

static cr_code room_for(cr_zch *z, int64_t n, cr_err *err) {
    void *p = z->seen;
    cr_code code = cr_try_room(&p, &z->cap_seen, z->n_seen + n, sizeof(*z->seen), true, what, err);
    z->seen = p;
    return code;
}

cr_code cr_zch_add_seen(cr_zch *z, const zch_seen *v, cr_err *err) {
    int64_t at = cr_keymap_find(&z->seen_at, (uint64_t)v->id);
    if (at >= 0) {
        z->seen[at].count += v->count;
        if (v->last > z->seen[at].last) z->seen[at].last = v->last;
        return CR_OK;
    }
    if (z->n_seen > CR_KEYMAP_ROWS)
        return cr_fail(err, CR_ERUN,
                       "table %s: more than %lld distinct ids between two updates of its zch; "
                       "lower eviction_interval",
                       z->o.name, (long long)CR_KEYMAP_ROWS);
    CR_TRY(room_for(z, 1, err));
    CR_TRY(cr_keymap_add(&z->seen_at, (uint64_t)v->id, z->n_seen, err));
    z->seen[z->n_seen++] = *v;
    return CR_OK;
}

cr_code cr_zch_count(cr_zch *z, const int64_t *ids, int64_t n, cr_err *err) {
    int64_t now = z->steps[0] + 1;
    for (int64_t i = 0; i < n; i += AT_ONCE) {
        int64_t at[AT_ONCE], some = n - i < AT_ONCE ? n - i : AT_ONCE;
        cr_keymap_find_all(&z->seen_at, ids + i, some, at);
        for (int64_t k = 0; k < some; k++) {
            if (at[k] < 0) { /* new, or added since the search */
                CR_TRY(cr_zch_add_seen(z, &(zch_seen){ids[i + k], 1, now}, err));
                continue;
            }
            z->seen[at[k]].count++;
            z->seen[at[k]].last = now;
        }
    }
    return CR_OK;
}

void cr_zch_forget(cr_zch *z) {
    cr_keymap_reset(&z->seen_at);
    z->n_seen = 0;
}

cr_code cr_zch_join(cr_zch *z, const cr_meet *meet, cr_err *err) {
    if (!meet) return CR_OK;
    size_t *at = cr_alloc((size_t)(meet->n + 1) * sizeof(*at), what);
    int64_t *n = cr_alloc((size_t)meet->n * sizeof(*n), what), all = 0;
    for (int h = 0; h <= meet->n; h++)
        at[h] = (size_t)h * sizeof(*n);
    n[meet->self] = z->n_seen;
    meet->gather(meet->ctx, n, at);
    for (int h = 0; h < meet->n; h++) {
        at[h] = cr_bytes(all, sizeof(zch_seen));
        all += n[h];
    }
    at[meet->n] = cr_bytes(all, sizeof(zch_seen));
    void *p = z->post;
    cr_code code = cr_try_room(&p, &z->cap_post, all, sizeof(zch_seen), true, what, err);
    z->post = p;
    if (code == CR_OK) {
        char *mine = (char *)z->post + at[meet->self];
        if (z->n_seen > 0) memcpy(mine, z->seen, cr_bytes(z->n_seen, sizeof(zch_seen)));
        meet->gather(meet->ctx, z->post, at);
    }
    for (int64_t h = 0, k = 0; h < meet->n && code == CR_OK; k += n[h++])
        for (int64_t i = k; h != meet->self && i < k + n[h] && code == CR_OK; i++)
            code = cr_zch_add_seen(z, &z->post[i], err);
    cr_free(at);
    cr_free(n);
    return code;
}

/* ---- an update ---- */

/* A row, or an id that wants one. */
typedef struct zch_cand cand;

static double score_of(const cr_zch *z, int64_t count, int64_t last) {
    if (z->o.policy == CR_ZCH_LFU) return (double)count;
    float d = (float)(z->steps[0] - last + 1), e = (float)z->o.exponent;
    float w = e == 1 ? d : (float)pow((double)d, (double)e);
    return z->o.policy == CR_ZCH_LRU ? (double)-w : (double)((float)count / w);
}

/* Orders by rank: the one that stays longer comes first. Below 0: a does. */
static int by_rank(const void *pa, const void *pb) {
    const cand *a = pa, *b = pb;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    bool na = a->row < 0, nb = b->row < 0;
    if (na != nb) return na ? 1 : -1;
    if (na && a->count != b->count) return a->count > b->count ? -1 : 1;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Puts c into a heap of n whose root is the first in rank, from place i downwards. */
static void sift(cand *heap, int64_t n, int64_t i, cand c) {
    for (int64_t k; (k = 2 * i + 1) < n; i = k) {
        if (k + 1 < n && by_rank(&heap[k + 1], &heap[k]) < 0) k++;
        if (by_rank(&c, &heap[k]) <= 0) break;
        heap[i] = heap[k];
    }
    heap[i] = c;
}

static cand row_of(const cr_zch *z, int64_t r) {
    bool is_free = r < z->free;
    cand c = {.row = r,
              .id = is_free ? INT64_MAX : z->id[r],
              .count = is_free ? 0 : z->count[r],
              .last = is_free ? 0 : z->last[r]};
    c.score = score_of(z, c.count, c.last);
    return c;
}

/* Leaves out the newcomers that are behind every row: there is no room for them. Most ids are rare,
 * so few remain. Returns how many. */
static int64_t only_better(const cr_zch *z, cand *v, int64_t n) {
    cand worst = row_of(z, 0);
    int64_t left = 0;
    for (int64_t r = 1; r < z->o.size - 1; r++) {
        cand c = row_of(z, r);
        if (by_rank(&worst, &c) < 0) worst = c;
    }
    for (int64_t i = 0; i < n; i++)
        if (by_rank(&v[i], &worst) < 0) v[left++] = v[i];
    return left;
}

/* Finds the n rows that are last in rank; v has room for them. */
static void worst_rows(const cr_zch *z, cand *v, int64_t n) {
    int64_t have = 0;
    for (int64_t r = 0; n > 0 && r < z->o.size - 1; r++) {
        cand c = row_of(z, r);
        if (have < n) {
            v[have++] = c;
            for (int64_t i = n / 2 - 1; have == n && i >= 0; i--)
                sift(v, n, i, v[i]);
        } else if (by_rank(&v[0], &c) < 0) {
            sift(v, n, 0, c);
        }
    }
}

/* Returns whether an id that was counted passes the filter. sum and n: of all counts. */
static bool passes(const cr_zch *z, const zch_seen *s, int64_t sum, int64_t n) {
    float count = (float)s->count;
    switch (z->o.pass) {
    case CR_ZCH_ALL: return true;
    case CR_ZCH_ABOVE: return (double)s->count > z->o.arg;
    case CR_ZCH_AT_LEAST: return (double)s->count >= z->o.arg;
    case CR_ZCH_DYNAMIC: return count > (float)(1.0 / (double)n * z->o.arg) * (float)sum;
    case CR_ZCH_AVERAGE: return count > (float)((double)sum / (double)n);
    case CR_ZCH_CHANCE: break;
    }
    uint64_t key = cr_rng_sub(cr_rng_key(z->o.seed, "zch", z->o.name), (uint64_t)z->steps[0]);
    double score = 1 - pow((double)(float)(1 - z->o.arg), (double)s->count);
    return (float)score > cr_rng_f32(key, (uint64_t)s->id);
}

/* Adds what was seen to the rows, and writes the ids without one to v. Returns how many. */
static int64_t newcomers(cr_zch *z, cand *v) {
    int64_t sum = 0, n = 0;
    for (int64_t i = 0; i < z->n_seen; i++)
        sum += z->seen[i].count;
    for (int64_t i = 0; i < z->n_seen; i++) {
        const zch_seen *s = &z->seen[i];
        if (!passes(z, s, sum, z->n_seen)) continue;
        int64_t row = cr_keymap_find(&z->map, (uint64_t)s->id);
        if (row < 0) {
            v[n++] = (cand){.row = -1,
                            .id = s->id,
                            .count = s->count,
                            .last = s->last,
                            .score = score_of(z, s->count, s->last)};
            continue;
        }
        z->count[row] += s->count;
        z->last[row] = s->last;
    }
    return n;
}

/* Gives a row to a newcomer; out: the id that leaves it, if it had one. */
static cr_code move_in(cr_zch *z, const cand *in, int64_t row, const cand *out, cr_err *err) {
    if (out && out->id != INT64_MAX) (void)cr_keymap_remove(&z->map, (uint64_t)out->id);
    z->id[row] = in->id;
    z->count[row] = in->count;
    z->last[row] = in->last;
    return cr_keymap_add(&z->map, (uint64_t)in->id, row, err);
}

typedef struct fresh {
    void (*f)(void *ctx, int64_t row, int64_t id, int64_t left);
    void *ctx;
} fresh;

/* There is a free row for every newcomer, and no score of theirs is as low as that of free rows. */
static bool all_fit(const cr_zch *z, const cand *v, int64_t n) {
    double none = score_of(z, 0, 0);
    for (int64_t i = 0; i < n && n <= z->free; i++)
        if (!(v[i].score > none)) return false;
    return n <= z->free;
}

static cr_code update(cr_zch *z, const fresh *f, cr_err *err) {
    void *p = z->cand;
    cr_code code = cr_try_room(&p, &z->cap_cand, 2 * z->n_seen, sizeof(cand), true, what, err);
    z->cand = p;
    CR_TRY(code);
    cand *v = z->cand;
    int64_t n = newcomers(z, v), rows = z->o.size - 1;
    if (n == 0) return CR_OK;
    if (all_fit(z, v, n)) {
        qsort(v, (size_t)n, sizeof(*v), by_rank);
        z->free -= n;
        for (int64_t i = 0; i < n; i++) {
            CR_TRY(move_in(z, &v[i], z->free + i, NULL, err));
            f->f(f->ctx, z->free + i, v[i].id, INT64_MAX);
        }
        return CR_OK;
    }
    n = only_better(z, v, n);
    int64_t left = n < rows ? n : rows;
    /* of the worst rows and the newcomers, as many stay as there are rows among them */
    worst_rows(z, v + n, left);
    qsort(v, (size_t)(n + left), sizeof(*v), by_rank);
    int64_t in = 0, out = left, went = 0;
    for (;; in++, out++) {
        while (in < left && v[in].row >= 0)
            in++;
        while (out < n + left && v[out].row < 0)
            out++;
        if (in >= left) break;
        CR_ASSERT(out < n + left);
        went += v[out].id == INT64_MAX;
        CR_TRY(move_in(z, &v[in], v[out].row, &v[out], err));
        f->f(f->ctx, v[out].row, v[in].id, v[out].id);
    }
    z->free -= went; /* free rows leave from the end of their range */
    return CR_OK;
}

cr_code cr_zch_step(cr_zch *z, const cr_meet *meet,
                    void (*f)(void *ctx, int64_t row, int64_t id, int64_t left), void *ctx,
                    cr_err *err) {
    z->steps[0]++;
    if (z->steps[0] - z->steps[1] < z->o.interval) return CR_OK;
    z->steps[1] = z->steps[0];
    CR_TRY(cr_zch_join(z, meet, err));
    CR_TRY(update(z, &(fresh){f, ctx}, err));
    cr_zch_forget(z);
    return CR_OK;
}
