/*
 * grow_rules.c - which ids get a row of a growing table, and which rows go.
 *
 * A bucket is a range of keys. Keys of a batch ascend, so those of a bucket are neighbours, and the
 * rows of a bucket are neighbours in the key map: to find the worst of them costs the time of one
 * bucket, whatever the size of the table. Ids of different buckets never compete, which is how a
 * hash table on a GPU does it too. The parts of a sketch are ranges of buckets, and a shard has
 * whole ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "emb/grow_int.h"

#define BUCKETS 1024 /* of a table without a limit, at least of any */

/* ---- buckets ---- */

static int64_t buckets_of(const cr_grow_rules *r) {
    return r->most > 0 ? (r->most + r->bucket - 1) / r->bucket : BUCKETS;
}

/* Returns the first key of a bucket. */
static uint64_t first_key(int64_t bucket, int64_t n) {
    return (uint64_t)(((cr_u128)bucket * CR_KEYS + (cr_u128)n - 1) / (cr_u128)n);
}

/* Returns how many parts the sketch of a table has. */
static int64_t parts_of(int64_t buckets) {
    return buckets < BUCKETS ? buckets : BUCKETS;
}

int64_t cr_grow_cut(const cr_grow_rules *r, int i, int n) {
    int64_t all = buckets_of(r), bucket = (int64_t)((cr_u128)all * (cr_u128)i / (cr_u128)n);
    if (r->cells > 0) { /* where a part of the sketch begins */
        uint64_t parts = (uint64_t)parts_of(all), part = parts * (uint64_t)i / (uint64_t)n;
        bucket = (int64_t)((part * (uint64_t)all + parts - 1) / parts);
    }
    uint64_t key = first_key(bucket, all);
    return key >= CR_KEYS ? INT64_MAX : (int64_t)key;
}

static int64_t bucket_of(const cr_grow *g, int64_t key) {
    return (int64_t)((cr_u128)key * (cr_u128)g->n_buckets >> 63);
}
int64_t cr_grow_bucket(const cr_grow *g, int64_t key) {
    return bucket_of(g, key) - g->bucket0;
}

static int64_t part_of(const cr_grow *g, int64_t bucket) {
    return (int64_t)((cr_u128)bucket * (cr_u128)parts_of(g->n_buckets) / (cr_u128)g->n_buckets);
}
int64_t cr_grow_part(const cr_grow *g, int64_t key) {
    return part_of(g, bucket_of(g, key));
}

/* Returns bucket b's share of n things. */
static int64_t share(const cr_grow *g, int64_t b, int64_t n) {
    uint64_t at = (uint64_t)b;
    cr_u128 all = (uint64_t)n, of = (uint64_t)g->n_buckets;
    return (int64_t)(all * (at + 1) / of) - (int64_t)(all * at / of);
}

cr_code cr_grow_buckets(cr_grow *g, const cr_shard *shard, cr_err *err) {
    g->n_buckets = buckets_of(&g->rules);
    g->key0 = shard ? shard->row : 0;
    g->key_end = shard ? shard->end : INT64_MAX;
    g->bucket0 = bucket_of(g, g->key0);
    g->n_here = bucket_of(g, g->key_end - 1) + 1 - g->bucket0;
    size_t size = (size_t)g->n_here * sizeof(uint32_t);
    if (g->rules.most > 0) g->fill = cr_alloc(size, "buckets of a growing table");
    if (g->rules.admit <= 1) return CR_OK;
    if (g->rules.cells == 0) {
        g->waiting = cr_alloc(size, "buckets of a growing table");
        return CR_OK;
    }
    int64_t first = part_of(g, g->bucket0), last = part_of(g, g->bucket0 + g->n_here - 1);
    return cr_sketch_init(&g->sketch, g->rules.cells, g->rules.error, parts_of(g->n_buckets), first,
                          last + 1 - first, err);
}

/* ---- ids that wait ---- */

static int newest_first(const void *pa, const void *pb) {
    const grow_cand *a = pa, *b = pb;
    if (a->last != b->last) return a->last > b->last ? -1 : 1;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static cr_code stop_waiting(cr_grow *g, int64_t key, cr_err *err) {
    int64_t at = cr_keymap_remove(&g->waits_at, (uint64_t)key), end = g->n_waits - 1;
    if (at < 0) return CR_OK;
    g->waiting[cr_grow_bucket(g, key)]--;
    g->n_waits = end;
    if (at == end) return CR_OK;
    g->waits[at] = g->waits[end];
    (void)cr_keymap_remove(&g->waits_at, (uint64_t)g->waits[at].key);
    return cr_keymap_add(&g->waits_at, (uint64_t)g->waits[at].key, at, err);
}

/* A list of rows, or of waiting ids, of one bucket. */
typedef struct listing {
    cr_grow *g;
    grow_cand *v;
    int64_t n;
} listing;

static void list_wait(void *ctx, uint64_t key, int64_t at) {
    listing *l = ctx;
    const grow_wait *w = &l->g->waits[at];
    l->v[l->n++] = (grow_cand){.key = (int64_t)key,
                               .id = cr_key_id((int64_t)key),
                               .count = w->count,
                               .last = w->last};
}

static cr_code room_out(cr_grow *g, int64_t n, cr_err *err) {
    void *p = g->out;
    cr_code code = cr_grow_room(&p, &g->cap_out, n, sizeof(grow_cand), err);
    g->out = p;
    return code;
}

/* Forgets those waiting ids of a bucket that were seen longest ago, but for `keep` of them. */
static cr_code forget(cr_grow *g, int64_t bucket, int64_t keep, cr_err *err) {
    CR_TRY(room_out(g, g->waiting[bucket - g->bucket0], err));
    listing l = {.g = g, .v = g->out};
    cr_keymap_range(&g->waits_at, first_key(bucket, g->n_buckets),
                    first_key(bucket + 1, g->n_buckets), list_wait, &l);
    qsort(l.v, (size_t)l.n, sizeof(*l.v), newest_first);
    for (int64_t i = keep; i < l.n; i++)
        CR_TRY(stop_waiting(g, l.v[i].key, err));
    return CR_OK;
}

/* Makes room for one more id that waits. */
static cr_code room_waits(cr_grow *g, cr_err *err) {
    size_t used = cr_bytes(g->n_waits + 1, sizeof(*g->waits));
    if (cr_grow_soon(used, g->waits_mem.size)) {
        cr_code code = cr_stretch_grow(&g->waits_mem, g->waits_mem.size + 1, g->spec.name, err);
        g->waits = (grow_wait *)(void *)g->waits_mem.p;
        if (used > g->waits_mem.size) return code;
    }
    cr_grow_touch(&g->waits_at,
                  &(grow_fresh){g->waits_mem.p, g->waits_mem.size, used, &g->waits_touched}, 1);
    return CR_OK;
}

cr_code cr_grow_wait(cr_grow *g, int64_t key, uint32_t count, uint32_t last, uint32_t *sum,
                     cr_err *err) {
    int64_t at = cr_keymap_find(&g->waits_at, (uint64_t)key), b = bucket_of(g, key);
    if (at < 0) {
        int64_t most = g->rules.waiting > 0 ? share(g, b, g->rules.waiting) : INT64_MAX;
        if (most < 1) most = 1;
        if (g->waiting[b - g->bucket0] >= most) CR_TRY(forget(g, b, most / 2, err));
        CR_TRY(room_waits(g, err));
        CR_TRY(cr_keymap_add(&g->waits_at, (uint64_t)key, g->n_waits, err));
        at = g->n_waits++;
        g->waiting[b - g->bucket0]++;
        g->waits[at] = (grow_wait){.key = key};
    }
    grow_wait *w = &g->waits[at];
    w->count = grow_add(w->count, count);
    w->last = last;
    *sum = w->count;
    return CR_OK;
}

/* ---- ids that come ---- */

static double score_of(const cr_grow *g, uint32_t count, uint32_t last) {
    if (g->rules.evict == CR_EVICT_LFU) return count;
    if (g->rules.evict == CR_EVICT_NONE) return 0;
    int64_t steps = g->now - last + 1; /* a server may have looked ahead of the last step */
    float d = (float)(steps < 1 ? 1 : steps), e = (float)g->rules.exponent;
    float w = e == 1 ? d : (float)pow((double)d, (double)e);
    return g->rules.evict == CR_EVICT_LRU ? (double)-w : (double)((float)count / w);
}

/* Orders by rank: the one that stays longer comes first. Below 0: a does. */
static int by_rank(const void *pa, const void *pb) {
    const grow_cand *a = pa, *b = pb;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    bool na = a->row < 0, nb = b->row < 0;
    if (na != nb) return na ? 1 : -1;
    if (na && a->count != b->count) return a->count > b->count ? -1 : 1;
    int64_t x = cr_key_id(a->key), y = cr_key_id(b->key);
    return x < y ? -1 : x > y;
}

static void list_row(void *ctx, uint64_t key, int64_t row) {
    listing *l = ctx;
    const cr_grow *g = l->g;
    grow_cand c = {.row = row, .key = (int64_t)key};
    if (g->notes) {
        c.count = grow_note_of(g, row)->count;
        c.last = grow_note_of(g, row)->last;
    }
    c.score = score_of(g, c.count, c.last);
    l->v[l->n++] = c;
}

static cr_code list_bucket(cr_grow *g, int64_t bucket, listing *l, cr_err *err) {
    CR_TRY(room_out(g, g->fill[bucket - g->bucket0], err));
    *l = (listing){.g = g, .v = g->out};
    cr_keymap_range(&g->map, first_key(bucket, g->n_buckets), first_key(bucket + 1, g->n_buckets),
                    list_row, l);
    return CR_OK;
}

static cr_code let_in(cr_grow *g, const grow_cand *c, cr_err *err) {
    int64_t row;
    CR_TRY(cr_grow_new_row(g, c->key, &row, err));
    if (g->notes) *grow_note_of(g, row) = (grow_note){c->count, c->last};
    return g->waiting ? stop_waiting(g, c->key, err) : CR_OK;
}

/* Lets the newcomers of a bucket in. Where there is no room left, each takes the row of the worst
 * that is behind it in rank. */
static cr_code settle(cr_grow *g, int64_t bucket, grow_cand *v, int64_t n, cr_err *err) {
    int64_t room = n;
    if (g->rules.most > 0) room = share(g, bucket, g->rules.most) - g->fill[bucket - g->bucket0];
    if (n > room) qsort(v, (size_t)n, sizeof(*v), by_rank);
    for (int64_t i = 0; i < n && i < room; i++)
        CR_TRY(let_in(g, &v[i], err));
    if (n <= room || g->rules.evict == CR_EVICT_NONE) return CR_OK;
    listing l;
    CR_TRY(list_bucket(g, bucket, &l, err));
    for (int64_t i = room > 0 ? room : 0; i < n && l.n > 0; i++) {
        int64_t worst = 0;
        for (int64_t k = 1; k < l.n; k++)
            if (by_rank(&l.v[worst], &l.v[k]) < 0) worst = k;
        if (by_rank(&v[i], &l.v[worst]) >= 0) break;
        (void)cr_grow_drop(g, l.v[worst].key);
        CR_TRY(let_in(g, &v[i], err));
        l.v[worst] = l.v[--l.n];
    }
    return CR_OK;
}

/* Does an id without a row, seen `count` times in this step, want one now? */
static cr_code admitted(cr_grow *g, grow_cand *c, bool *yes, cr_err *err) {
    *yes = true;
    if (g->rules.chance > 0 && g->rules.chance < 1) {
        uint64_t key = cr_rng_sub(cr_rng_key(g->seed, "admit", g->spec.name), (uint64_t)g->now);
        *yes = cr_rng_f64(key, (uint64_t)c->id) < g->rules.chance;
    }
    if (g->rules.admit <= 1 || !*yes) return CR_OK;
    uint32_t sum, unit = grow_unit(g);
    if (g->rules.cells > 0)
        sum = unit * cr_sketch_add(&g->sketch, cr_grow_part(g, c->key), c->key, c->count / unit);
    else
        CR_TRY(cr_grow_wait(g, c->key, c->count, c->last, &sum, err));
    c->count = sum;
    *yes = sum / unit >= g->rules.admit;
    return CR_OK;
}

cr_code cr_grow_arrive(cr_grow *g, const int64_t *id, const uint32_t *seg, int64_t n, int64_t *row,
                       cr_err *err) {
    int64_t bucket = -1, wants = 0;
    bool came = false;
    for (int64_t i = 0; i < n; i++) {
        if (row[i] > 0) continue;
        int64_t b = bucket_of(g, id[i]);
        if (b != bucket && wants > 0) CR_TRY(settle(g, bucket, g->cand, wants, err));
        if (b != bucket) wants = 0;
        bucket = b;
        void *p = g->cand;
        cr_code code = cr_grow_room(&p, &g->cap_cand, wants + 1, sizeof(grow_cand), err);
        g->cand = p;
        CR_TRY(code);
        grow_cand *c = &g->cand[wants];
        *c = (grow_cand){.row = -1,
                         .id = cr_key_id(id[i]),
                         .key = id[i],
                         .count = grow_unit(g) * (seg ? seg[i + 1] - seg[i] : 1),
                         .last = (uint32_t)g->now};
        bool yes;
        CR_TRY(admitted(g, c, &yes, err));
        if (!yes) continue;
        c->score = score_of(g, c->count, c->last);
        wants++;
        came = true;
    }
    if (wants > 0) CR_TRY(settle(g, bucket, g->cand, wants, err));
    /* who came, and who left, is known now */
    if (!came) return CR_OK;
    cr_keymap_find_all(&g->map, id, n, row);
    for (int64_t i = 0; i < n; i++)
        row[i] = row[i] < 0 ? 0 : row[i];
    return CR_OK;
}

/* ---- rows that go ---- */

cr_code cr_grow_thin(cr_grow *g, cr_err *err) {
    for (int64_t b = g->bucket0; g->fill && b < g->bucket0 + g->n_here; b++) {
        int64_t most = share(g, b, g->rules.most);
        listing l;
        if (g->fill[b - g->bucket0] <= most) continue;
        CR_TRY(list_bucket(g, b, &l, err));
        qsort(l.v, (size_t)l.n, sizeof(*l.v), by_rank);
        for (int64_t i = most; i < l.n; i++)
            (void)cr_grow_drop(g, l.v[i].key);
    }
    return CR_OK;
}

/* ---- days ---- */

static bool past(const cr_grow *g, int64_t i) {
    return g->today - g->days[i].day >= g->rules.unseen_days;
}

cr_code cr_grow_note_day(cr_grow *g, int64_t step, cr_err *err) {
    if (g->rules.unseen_days == 0 || g->today == INT64_MIN) return CR_OK;
    if (g->n_days > 0 && g->days[g->n_days - 1].day >= g->today) return CR_OK;
    void *p = g->days;
    cr_code code = cr_grow_room(&p, &g->cap_days, g->n_days + 1, sizeof(grow_day), err);
    g->days = p;
    CR_TRY(code);
    /* what was seen before the first day that is known was seen on this day, as far as we know */
    g->days[g->n_days] = (grow_day){g->today, g->n_days > 0 ? step : 0};
    g->n_days++;
    int64_t drop = 0;
    while (drop + 1 < g->n_days && past(g, drop + 1))
        drop++;
    g->n_days -= drop;
    memmove(g->days, g->days + drop, (size_t)g->n_days * sizeof(grow_day));
    return CR_OK;
}

/* Returns the first step of the oldest day that is not past: ids that were last seen before it go.
 */
static int64_t first_kept(const cr_grow *g) {
    for (int64_t i = 1; i < g->n_days; i++)
        if (!past(g, i) && past(g, i - 1)) return g->days[i].step;
    return 0;
}

typedef struct looking {
    cr_grow *g;
    int64_t kept; /* ids that were last seen before this step go */
    int64_t n;
    cr_err *err;
    cr_code code;
} looking;

static void look_row(void *ctx, uint64_t key, int64_t row) {
    looking *l = ctx;
    cr_grow *g = l->g;
    grow_note *n = grow_note_of(g, row);
    if (g->rules.decay < 1) n->count = (uint32_t)((double)n->count * g->rules.decay);
    bool goes = g->rules.unseen > 0 && g->now - n->last >= g->rules.unseen;
    goes |= n->last < l->kept;
    goes |= (double)n->count < g->rules.least * grow_unit(g);
    if (!goes || l->code != CR_OK) return;
    l->code = room_out(g, l->n + 1, l->err);
    if (l->code == CR_OK) g->out[l->n++].key = (int64_t)key;
}

/* One of `interval` parts of the buckets is looked at in each step, so no step looks at all. */
cr_code cr_grow_look(cr_grow *g, cr_err *err) {
    int64_t every = g->rules.interval, first = g->bucket0 + every - 1;
    for (int64_t b = first - (first - g->now % every) % every; b < g->bucket0 + g->n_here;
         b += every) {
        looking l = {.g = g, .kept = first_kept(g), .err = err};
        cr_keymap_range(&g->map, first_key(b, g->n_buckets), first_key(b + 1, g->n_buckets),
                        look_row, &l);
        CR_TRY(l.code);
        for (int64_t i = 0; i < l.n; i++)
            (void)cr_grow_drop(g, g->out[i].key);
    }
    return CR_OK;
}
