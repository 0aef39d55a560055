/*
 * grow_rules.c - admission, eviction and expiry of growing tables beside a plain model of each: an
 * array of all ids, sorted as the rules say. A table that is cut into shards does what the whole
 * one does; one that was saved and loaded goes on as if nothing had happened.
 */
#include "emb/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "harness.h"
#include "kern/kern.h"

enum { D = 4, IDS = 600, STEPS = 60, PER_STEP = 80, SHARDS = 3 };

/* ---- the plain model: one bucket of ids after the other ---- */

typedef struct known {
    bool has_row;
    int64_t count, last, day; /* of the row */
    int64_t waits, wait_last; /* counted without a row; 0: not counted */
} known;

typedef struct plain {
    cr_grow_rules r;
    int64_t buckets, now;
    int64_t order[IDS]; /* ids by their keys: as they come */
    known v[IDS];
} plain;

/* Days pass at different speeds, and one is left out. */
static int64_t day_of(int64_t step_number) {
    return 20000 + step_number / 4 + (step_number > 30) + (step_number > 40) * 2;
}

static int64_t bucket_of(const plain *p, int64_t id) {
    return (int64_t)((cr_u128)cr_key_of(id) * (cr_u128)p->buckets >> 63);
}
static int64_t share(const plain *p, int64_t b, int64_t n) {
    return n * (b + 1) / p->buckets - n * b / p->buckets;
}
static double score(const plain *p, int64_t count, int64_t last) {
    double far = (double)(p->now - last + 1);
    switch (p->r.evict) {
    case CR_EVICT_LRU: return -far;
    case CR_EVICT_LFU: return (double)count;
    case CR_EVICT_DISTANCE_LFU:
        return (double)((float)count / (float)pow((double)(float)far, p->r.exponent));
    default: return 0;
    }
}

/* what is compared: a resident, or a newcomer */
typedef struct rival {
    double score;
    bool is_new;
    int64_t count, id;
} rival;
static int by_rank(const void *pa, const void *pb) {
    const rival *a = pa, *b = pb;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    if (a->is_new != b->is_new) return a->is_new ? 1 : -1;
    if (a->is_new && a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}
static int newest(const void *pa, const void *pb) {
    const rival *a = pa, *b = pb;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

static void plain_wait(plain *p, int64_t id, int64_t n) {
    known *k = &p->v[id];
    int64_t b = bucket_of(p, id), waiting = 0, most = share(p, b, p->r.waiting);
    rival v[IDS];
    for (int64_t i = 0; i < IDS; i++)
        if (bucket_of(p, i) == b && p->v[i].waits > 0)
            v[waiting++] = (rival){(double)p->v[i].wait_last, false, p->v[i].waits, i};
    if (most < 1) most = 1;
    if (k->waits == 0 && p->r.waiting > 0 && waiting >= most) {
        qsort(v, (size_t)waiting, sizeof(*v), newest);
        for (int64_t i = most / 2; i < waiting; i++)
            p->v[v[i].id].waits = 0;
    }
    k->waits += n;
    k->wait_last = p->now;
}

static void plain_expire(plain *p, int64_t unit) {
    if (p->r.interval == 0) return;
    for (int64_t id = 0; id < IDS; id++) {
        known *k = &p->v[id];
        if (!k->has_row || bucket_of(p, id) % p->r.interval != p->now % p->r.interval) continue;
        if (p->r.decay < 1) k->count = (int64_t)((double)k->count * p->r.decay);
        if ((p->r.unseen > 0 && p->now - k->last >= p->r.unseen) ||
            (p->r.unseen_days > 0 && day_of(p->now) - k->day >= p->r.unseen_days) ||
            (double)k->count < p->r.least * (double)unit)
            k->has_row = false;
    }
}

static int by_key_of(const void *pa, const void *pb) {
    int64_t a = cr_key_of(*(const int64_t *)pa), b = cr_key_of(*(const int64_t *)pb);
    return a < b ? -1 : a > b;
}
static void plain_init(plain *p, const cr_grow_rules *r) {
    *p = (plain){.r = *r, .buckets = r->most > 0 ? (r->most + r->bucket - 1) / r->bucket : 1024};
    for (int64_t i = 0; i < IDS; i++)
        p->order[i] = i;
    qsort(p->order, IDS, sizeof(*p->order), by_key_of);
}

static void plain_step(plain *p, const int64_t *seen) {
    int64_t unit = p->r.interval > 0 && p->r.decay < 1 ? 256 : 1;
    uint64_t dice = cr_rng_sub(cr_rng_key(9, "admit", "t"), (uint64_t)++p->now);
    bool wants[IDS] = {false};
    plain_expire(p, unit);
    for (int64_t i = 0; i < IDS; i++) {
        known *k = &p->v[i];
        if (seen[i] == 0 || !k->has_row) continue;
        k->count += unit * seen[i];
        k->last = p->now;
        k->day = day_of(p->now);
    }
    for (int64_t o = 0; o < IDS; o++) {
        int64_t id = p->order[o];
        if (seen[id] == 0 || p->v[id].has_row) continue;
        if (p->r.chance > 0 && cr_rng_f64(dice, (uint64_t)id) >= p->r.chance) continue;
        if (p->r.admit > 1) plain_wait(p, id, unit * seen[id]);
        wants[id] = p->r.admit <= 1 || p->v[id].waits / unit >= p->r.admit;
    }
    for (int64_t b = 0; b < p->buckets; b++) {
        rival v[IDS];
        int64_t n = 0, most = p->r.most > 0 ? share(p, b, p->r.most) : IDS;
        for (int64_t id = 0; id < IDS; id++) {
            const known *k = &p->v[id];
            int64_t count = p->r.admit > 1 ? k->waits : unit * seen[id];
            if (bucket_of(p, id) != b) continue;
            if (k->has_row) v[n++] = (rival){score(p, k->count, k->last), false, k->count, id};
            if (wants[id]) v[n++] = (rival){score(p, count, p->now), true, count, id};
        }
        if (p->r.evict == CR_EVICT_NONE) /* residents stay */
            for (int64_t i = 0; i < n; i++)
                v[i].score = !v[i].is_new;
        qsort(v, (size_t)n, sizeof(*v), by_rank);
        for (int64_t i = 0; i < n; i++) {
            known *k = &p->v[v[i].id];
            if (i >= most) {
                k->has_row = false;
            } else if (v[i].is_new) {
                *k = (known){.has_row = true,
                             .count = v[i].count,
                             .last = p->now,
                             .day = day_of(p->now)};
            }
        }
    }
}

/* ---- the table, in one piece or in shards ---- */

static void new_tables(cr_grow **g, int n, const cr_grow_rules *r) {
    cr_table_spec spec = {"t", 0, D, 0, false, NULL, NULL};
    cr_init init = CR_INIT_N(0.1);
    for (int k = 0; k < n; k++) {
        cr_shard s = {.row = cr_grow_cut(r, k, n), .end = cr_grow_cut(r, k + 1, n)};
        cr_grow_opts o = {.spec = &spec, .init = &init, .seed = 9, .rules = r, .shard = &s};
        g[k] = NULL;
        if (s.row < s.end) CHECK_INT(cr_grow_new(&g[k], &o, NULL), 0);
    }
}

static void free_tables(cr_grow **g, int n) {
    for (int k = 0; k < n; k++)
        cr_grow_free(g[k]);
}

static int by_key(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void step(cr_grow **g, int n, const cr_grow_rules *r, const int64_t *seen, int64_t number) {
    int64_t keys[IDS];
    int n_keys = 0;
    for (int64_t i = 0; i < IDS; i++)
        if (seen[i] > 0) keys[n_keys++] = cr_key_of(i);
    qsort(keys, (size_t)n_keys, sizeof(*keys), by_key);
    for (int k = 0, at = 0; k < n; k++) {
        uint32_t seg[IDS + 1] = {0};
        int first = at;
        for (; at < n_keys && keys[at] < cr_grow_cut(r, k + 1, n); at++)
            seg[at - first + 1] = seg[at - first] + (uint32_t)seen[cr_key_id(keys[at])];
        if (!g[k]) continue;
        cr_grow_today(g[k], day_of(number) - (number % 3 == 1)); /* a day never goes back */
        cr_grow_today(g[k], day_of(number));
        CHECK_INT(cr_grow_step(g[k], NULL), 0);
        CHECK(cr_grow_due(g[k]));
        CHECK_INT(cr_grow_learn(g[k], keys + first, seg, at - first, NULL), 0);
        CHECK(!cr_grow_due(g[k]));
        cr_grow_rest(g[k]);
    }
}

static bool has_row(cr_grow *const *g, int n, const cr_grow_rules *r, int64_t id) {
    int k = 0;
    while (k + 1 < n && cr_key_of(id) >= cr_grow_cut(r, k + 1, n))
        k++;
    return g[k] && cr_grow_record(g[k], cr_key_of(id));
}

static void draw(int64_t *seen, int step_number) {
    memset(seen, 0, IDS * sizeof(*seen));
    for (int i = 0; i < PER_STEP; i++) {
        double x = cr_rng_f64(77, (uint64_t)(step_number * PER_STEP + i));
        seen[(int64_t)(x * x * x * IDS)]++;
    }
}

static const struct {
    const char *name;
    cr_grow_rules r;
} kinds[] = {
    {"no rule", {.counts = true, .decay = 1}},
    {"lru", {.most = 100, .bucket = 128, .evict = CR_EVICT_LRU, .exponent = 1, .decay = 1}},
    {"lru in buckets",
     {.most = 90, .bucket = 16, .evict = CR_EVICT_LRU, .exponent = 1, .decay = 1}},
    {"lfu", {.most = 70, .bucket = 16, .evict = CR_EVICT_LFU, .decay = 1}},
    {"distance_lfu",
     {.most = 70, .bucket = 32, .evict = CR_EVICT_DISTANCE_LFU, .exponent = 0.5, .decay = 1}},
    {"full", {.most = 50, .bucket = 16, .decay = 1}},
    {"frequency", {.admit = 4, .decay = 1}},
    {"few counters",
     {.most = 64,
      .bucket = 8,
      .evict = CR_EVICT_LRU,
      .exponent = 1,
      .admit = 3,
      .waiting = 60,
      .decay = 1}},
    {"frequency, lfu", {.most = 40, .bucket = 20, .evict = CR_EVICT_LFU, .admit = 3, .decay = 1}},
    {"probability", {.chance = 0.2, .decay = 1}},
    {"unseen", {.interval = 7, .unseen = 10, .decay = 1}},
    {"days unseen", {.interval = 2, .unseen_days = 3, .decay = 1}},
    {"a large sketch", {.admit = 4, .cells = 1 << 20, .error = 1e6, .decay = 1}},
    {"a small sketch", {.admit = 4, .cells = 1024 * 32, .error = 3, .decay = 1}},
    {"a sketch, lfu, days",
     {.most = 80,
      .bucket = 8,
      .evict = CR_EVICT_LFU,
      .admit = 3,
      .cells = 512,
      .error = 2,
      .interval = 3,
      .unseen_days = 2,
      .decay = 0.9}},
    {"score", {.interval = 5, .decay = 0.5, .least = 1.2}},
    {"all of it",
     {.most = 80,
      .bucket = 16,
      .evict = CR_EVICT_LFU,
      .admit = 2,
      .waiting = 50,
      .interval = 3,
      .unseen = 25,
      .decay = 0.9,
      .least = 0.5}},
};
enum { CASES = sizeof(kinds) / sizeof(*kinds) };

/* Counts of a small sketch may be too high, so the plain model has other rows. */
static bool is_rough(const cr_grow_rules *r) {
    return r->cells > 0 && r->error < 1000;
}

TEST(as_the_plain_model) {
    cr_kern_init();
    plain *p = malloc(sizeof(*p));
    for (int c = 0; c < CASES; c++) {
        const cr_grow_rules *r = &kinds[c].r;
        cr_grow *whole[1], *cut[SHARDS];
        int64_t seen[IDS], wrong = 0, apart = 0, rows = 0;
        plain_init(p, r);
        new_tables(whole, 1, r);
        new_tables(cut, SHARDS, r);
        for (int s = 0; s < STEPS; s++) {
            draw(seen, s);
            plain_step(p, seen);
            step(whole, 1, r, seen, s + 1);
            step(cut, SHARDS, r, seen, s + 1);
            for (int64_t id = 0; id < IDS; id++) {
                bool has = has_row(whole, 1, r, id);
                wrong += has != p->v[id].has_row && !is_rough(r);
                apart += has != has_row(cut, SHARDS, r, id);
            }
        }
        for (int64_t id = 0; id < IDS; id++)
            rows += p->v[id].has_row;
        if (wrong || apart || rows == 0 || rows == IDS)
            printf("# %s: %lld wrong, %lld apart, %lld rows\n", kinds[c].name, (long long)wrong,
                   (long long)apart, (long long)rows);
        CHECK_INT(wrong, 0);
        CHECK_INT(apart, 0);
        CHECK(rows > 20 && rows < IDS);
        free_tables(whole, 1);
        free_tables(cut, SHARDS);
    }
    free(p);
}

/* half the steps, a state, and the other half from it, in other shards */
TEST(saved_and_loaded) {
    cr_kern_init();
    for (int c = 0; c < CASES; c++) {
        const cr_grow_rules *r = &kinds[c].r;
        cr_grow *all[1], *before[1], *after[SHARDS];
        int64_t seen[IDS], rows[2], wrong = 0;
        cr_zch_state s = {0};
        new_tables(all, 1, r);
        new_tables(before, 1, r);
        new_tables(after, SHARDS, r);
        for (int i = 0; i < STEPS / 2; i++) {
            draw(seen, i);
            step(all, 1, r, seen, i + 1);
            step(before, 1, r, seen, i + 1);
        }
        CHECK_INT(cr_grow_save(before[0], NULL, &s, rows, NULL), 0);
        s.steps[0] = STEPS / 2;
        CHECK_INT(rows[1], cr_grow_rows(before[0]));
        CHECK_INT(s.size, rows[1] + 1);
        CHECK_INT(s.n_kept > 0, cr_grow_keeps(r));
        for (int64_t i = 0; i < rows[1]; i++) { /* a row has the record of its id */
            cr_table *block;
            int64_t at;
            CHECK(cr_grow_at(before[0], s.rows.row[i], &block, &at) ==
                  cr_grow_record(before[0], cr_key_of(s.rows.id[i])));
        }
        int64_t loaded = 0;
        for (int k = 0; k < SHARDS; k++) {
            if (!after[k]) continue;
            CHECK_INT(cr_grow_load(after[k], &s, s.size, NULL), 0);
            loaded += cr_grow_rows(after[k]);
            cr_grow_saved(after[k]);
        }
        CHECK_INT(loaded, rows[1]);
        cr_grow_saved(before[0]);
        cr_zch_state_clear(&s);
        for (int i = STEPS / 2; i < STEPS; i++) {
            draw(seen, i);
            step(all, 1, r, seen, i + 1);
            step(after, SHARDS, r, seen, i + 1);
            for (int64_t id = 0; id < IDS; id++)
                wrong += has_row(all, 1, r, id) != has_row(after, SHARDS, r, id);
        }
        if (wrong) printf("# %s\n", kinds[c].name);
        CHECK_INT(wrong, 0);
        free_tables(all, 1);
        free_tables(before, 1);
        free_tables(after, SHARDS);
    }
}

/* a state with more rows than there may be: the best of each bucket stay */
TEST(fewer_rows) {
    cr_kern_init();
    cr_grow_rules wide = {.most = 400, .bucket = 400, .evict = CR_EVICT_LFU, .decay = 1},
                  narrow = {.most = 20, .bucket = 20, .evict = CR_EVICT_LFU, .decay = 1};
    cr_grow *a, *b;
    int64_t seen[IDS], rows[2];
    cr_zch_state s = {0};
    new_tables(&a, 1, &wide);
    new_tables(&b, 1, &narrow);
    for (int64_t i = 0; i < IDS; i++)
        seen[i] = i < 100 ? i + 1 : 0;
    step(&a, 1, &wide, seen, 1);
    CHECK_INT(cr_grow_save(a, NULL, &s, rows, NULL), 0);
    CHECK_INT(rows[1], 100);
    CHECK_INT(cr_grow_load(b, &s, s.size, NULL), 0);
    CHECK_INT(cr_grow_rows(b), 20);
    for (int64_t i = 0; i < 100; i++)
        CHECK((cr_grow_record(b, cr_key_of(i)) != NULL) == (i >= 80));
    cr_err err;
    s.rows.row[3] = s.rows.row[4];
    cr_grow_free(b);
    new_tables(&b, 1, &narrow);
    CHECK_INT(cr_grow_load(b, &s, s.size, &err), CR_EDATA);
    CHECK_STR(err.msg, "the ids of table t are damaged: a row is not one of its own; use another "
                       "checkpoint");
    cr_zch_state_clear(&s);
    cr_grow_free(a);
    cr_grow_free(b);
}

/* arrays that contradict each other, in a table that has a part of the keys only */
TEST(damaged_states) {
    static const char *const why[] = {"a row is not one of its own",
                                      "those that wait do not ascend",
                                      "those that wait do not ascend",
                                      "a count of those that wait is not one",
                                      "a count of those that wait is not one",
                                      "their steps are not those of a training"};
    cr_kern_init();
    cr_grow_rules r = {.admit = 3, .decay = 1};
    cr_grow *a;
    int64_t seen[IDS], rows[2];
    cr_zch_state s = {0};
    cr_err err;
    char text[200];
    new_tables(&a, 1, &r);
    for (int64_t i = 0; i < IDS; i++)
        seen[i] = i < 100 ? 1 + i % 3 : 0;
    step(&a, 1, &r, seen, 1);
    CHECK_INT(cr_grow_save(a, NULL, &s, rows, NULL), 0);
    CHECK(rows[1] > 30 && s.seen.n > 30);
    for (int c = 0; c < 6; c++) {
        cr_grow *cut[SHARDS];
        int64_t *at[] = {&s.rows.row[3],   &s.seen.id[0],   &s.seen.id[5],
                         &s.seen.count[2], &s.seen.last[2], &s.steps[0]};
        int64_t value[] = {s.rows.row[4], -7, s.seen.id[4], -1, (int64_t)1 << 40, -1}, was = *at[c];
        new_tables(cut, SHARDS, &r);
        snprintf(text, sizeof text, "the ids of table t are damaged: %s; use another checkpoint",
                 why[c]);
        for (int k = 0; k < SHARDS; k++) {
            if (!cut[k]) continue;
            *at[c] = value[c];
            CHECK_INT(cr_grow_load(cut[k], &s, s.size, &err), CR_EDATA);
            CHECK_STR(err.msg, text);
            *at[c] = was;
        }
        free_tables(cut, SHARDS);
    }
    cr_zch_state_clear(&s);
    cr_grow_free(a);
}

TEST_MAIN(CASE(as_the_plain_model), CASE(saved_and_loaded), CASE(fewer_rows), CASE(damaged_states))
