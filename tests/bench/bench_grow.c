/*
 * bench_grow.c - a growing table beside a fixed one of the same size: lookups and updates, with
 * zipf and uniform ids; and its key map beside std::unordered_map and a tuned open-addressing map.
 *
 *   bench_grow [--threads N] [--rows N] [--width D] [--ids PER_BATCH] [--seconds S]
 *   bench_grow --pauses ROWS [--width D]
 *
 * Both tables go the way of a training step: the ids of a batch are grouped, rows are looked up in
 * tiles through views, gradients are summed and applied (rowwise Adagrad). For the fixed table
 * ids are row numbers in a random order; for the growing one the same ids are numbers of 63 bits,
 * and mixing them, finding their rows and staging the weights is part of its time. Every id has its
 * row before the clock starts. They take turns, and the median of their steps counts. Before, the
 * table grows from nothing, and the longest time of a batch is told, with the bytes per row; and
 * full tables let a row go for every id that comes.
 *
 * With --pauses a table gets ROWS rows one after the other, and the longest times of one row are
 * told: by the clock, in which others may have had the core, and of the CPU alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "all_lanes.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "emb/grow.h"
#include "emb/update.h"
#include "emb/views.h"
#include "kern/kern.h"
#include "optim/list.h"

enum { TILE = 252, LANES = 8, MOST = 4096 };

/* bench_grow_std.cc */
void *std_map_new(void);
void std_map_add(void *m, uint64_t key, uint32_t row);
uint64_t std_map_sum(const void *m, const int64_t *keys, int64_t n);
void std_map_free(void *m);

/* ---- ids ---- */

/* The rank of the next id: uniform, or zipf with exponent 1.05, by inversion of its integral. */
static int64_t next_rank(bool zipf, uint64_t i, int64_t rows) {
    double u = cr_rng_f64(7, i);
    if (!zipf) return (int64_t)(u * (double)rows);
    double s = 1 - 1.05, most = pow((double)rows + 1, s) - 1;
    int64_t r = (int64_t)pow(u * most + 1, 1 / s) - 1;
    return r < 0 ? 0 : r < rows ? r : rows - 1;
}
/* Popular ids lie anywhere, in the fixed table too: a bijection of [0, rows). */
static int64_t row_of(int64_t rank, int64_t rows) {
    return (int64_t)((cr_u128)(uint64_t)rank * 2654435761u % (uint64_t)rows);
}
static int64_t id_of(int64_t row) {
    return (int64_t)(cr_mix64((uint64_t)row + 1) >> 1);
}

/* ---- a table in training ---- */

typedef struct side {
    cr_table t;
    cr_grow *g; /* NULL: a fixed table */
    cr_updater *u;
    cr_views *v;
    int64_t *keys;
    double look[MOST], update[MOST], group[MOST], find[MOST];
} side;

typedef struct look_job {
    cr_view v;
    float *y;
    int64_t ld, n;
} look_job;
static void look_tile(void *ctx, int64_t item, int thread) {
    const look_job *j = ctx;
    int64_t r = item * TILE, n = j->n - r < TILE ? j->n - r : TILE;
    cr_view_rows(&j->v, r, NULL, n, 0, j->y + thread * TILE * j->ld, j->ld);
}

typedef struct key_job {
    const int64_t *ids;
    int64_t n, *keys;
} key_job;
static void key_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const key_job *j = ctx;
    int64_t i = item * 1024;
    cr_keys_of(j->ids + i, j->n - i < 1024 ? j->n - i : 1024, j->keys + i);
}

/* One step; its times become number `at` of the side: grouping, with the keys of a growing table;
 * finding rows; all that happens before the update; the update. */
static void step(side *s, const int64_t *ids, int64_t n, const cr_optim_step *o, float *y,
                 int64_t ld, cr_pool *pool, int at) {
    double t0 = cr_now();
    cr_jagged j = {.ids = s->g ? s->keys : ids, .n_ids = n};
    cr_batch b = {.n_rows = n, .n_sparse = 1, .sparse = &j};
    if (s->g) {
        cr_pool_run(pool, (n + 1023) / 1024, key_item, &(key_job){ids, n, s->keys});
        if (cr_grow_step(s->g, NULL) != CR_OK) abort();
    }
    cr_updater_group(s->u, &b, NULL);
    double grouped = cr_now();
    look_job l = {.v = cr_table_view(&s->t, ids), .y = y, .ld = ld, .n = n};
    if (s->g) {
        if (cr_views_stage(s->v, &b, NULL, cr_updater_groups(s->u), NULL) != CR_OK) abort();
        l.v = *cr_views_get(s->v);
    }
    double found = cr_now();
    cr_pool_run(pool, (n + TILE - 1) / TILE, look_tile, &l);
    double t1 = cr_now();
    cr_updater_apply(s->u, o);
    if (s->g) cr_grow_rest(s->g);
    s->group[at] = grouped - t0;
    s->find[at] = found - grouped;
    s->look[at] = t1 - t0;
    s->update[at] = cr_now() - t1;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof(*v), by_size);
    return v[n / 2];
}

/* ---- a tuned open-addressing map: 16-byte slots, twice as many as keys ---- */

typedef struct open_map {
    struct {
        int64_t key;
        int64_t row;
    } * slots;
    uint64_t mask;
} open_map;
static void open_add(open_map *m, int64_t key, int64_t row) {
    uint64_t i = cr_mix64((uint64_t)key) & m->mask;
    while (m->slots[i].row)
        i = (i + 1) & m->mask;
    m->slots[i].key = key;
    m->slots[i].row = row + 1;
}
static uint64_t open_sum(const open_map *m, const int64_t *keys, int64_t n) {
    uint64_t sum = 0;
    for (int64_t k = 0; k < n + 16; k++) {
        if (k < n) __builtin_prefetch(&m->slots[cr_mix64((uint64_t)keys[k]) & m->mask]);
        if (k < 16) continue;
        uint64_t i = cr_mix64((uint64_t)keys[k - 16]) & m->mask;
        while (m->slots[i].row && m->slots[i].key != keys[k - 16])
            i = (i + 1) & m->mask;
        sum += (uint64_t)m->slots[i].row;
    }
    return sum;
}

static void maps(int64_t rows) {
    enum { ASK = 1 << 20 };
    int64_t *keys = cr_alloc(ASK * sizeof(int64_t), "keys"),
            *found = cr_alloc(ASK * sizeof(int64_t), "rows");
    cr_keymap m;
    open_map o = {.mask = 1};
    cr_keymap_init_mixed(&m);
    while ((int64_t)o.mask + 1 < 2 * rows)
        o.mask = 2 * o.mask + 1;
    void *p, *std = std_map_new();
    size_t size = (o.mask + 1) * sizeof(*o.slots);
    if (cr_big_alloc(&p, size, "map", NULL) != CR_OK) exit(1);
    o.slots = p;
    double t[3], t0 = cr_now();
    for (int64_t i = 0; i < rows; i++)
        if (cr_keymap_add(&m, (uint64_t)cr_key_of(id_of(i)), i, NULL) != CR_OK) exit(1);
    t[0] = cr_now() - t0;
    for (int64_t i = 0; i < rows; i++)
        std_map_add(std, (uint64_t)cr_key_of(id_of(i)), (uint32_t)i);
    t[1] = cr_now() - t0 - t[0];
    for (int64_t i = 0; i < rows; i++)
        open_add(&o, cr_key_of(id_of(i)), i);
    t[2] = cr_now() - t0 - t[0] - t[1];
    printf("maps of %lld keys, one thread; adding a key: ours %.0f ns, std::unordered_map %.0f ns, "
           "open addressing with its size known %.0f ns\n",
           (long long)rows, t[0] / (double)rows * 1e9, t[1] / (double)rows * 1e9,
           t[2] / (double)rows * 1e9);
    printf("bytes per key: ours %.1f, open addressing %.1f\n",
           (double)cr_keymap_bytes(&m) / (double)rows, (double)size / (double)rows);
    for (int zipf = 1; zipf >= 0; zipf--) {
        double best[3] = {1e9, 1e9, 1e9};
        uint64_t sum[3];
        for (uint64_t i = 0; i < ASK; i++)
            keys[i] = cr_key_of(id_of(row_of(next_rank(zipf, i, rows), rows)));
        for (int turn = 0; turn < 5; turn++) {
            double s = cr_now();
            cr_keymap_find_all(&m, keys, ASK, found);
            sum[0] = 0;
            for (int64_t i = 0; i < ASK; i++)
                sum[0] += (uint64_t)found[i] + 1;
            double e = cr_now();
            if (e - s < best[0]) best[0] = e - s;
            sum[1] = std_map_sum(std, keys, ASK);
            s = cr_now();
            if (s - e < best[1]) best[1] = s - e;
            sum[2] = open_sum(&o, keys, ASK);
            if (cr_now() - s < best[2]) best[2] = cr_now() - s;
        }
        if (sum[0] != sum[1] || sum[0] != sum[2]) abort();
        printf(
            "finding %s keys: ours %.1f ns, std::unordered_map %.1f ns, open addressing %.1f ns\n",
            zipf ? "zipf" : "uniform", best[0] / ASK * 1e9, best[1] / ASK * 1e9,
            best[2] / ASK * 1e9);
    }
    std_map_free(std);
    cr_keymap_clear(&m);
    cr_big_free(p, size);
    cr_free(keys);
    cr_free(found);
}

/* ---- growing, and letting rows go ---- */

static double longest(side *s, int64_t rows, int64_t ids, const cr_optim_step *o, float *y,
                      int64_t ld, cr_pool *pool, int64_t first, double *mean) {
    int64_t *v = cr_alloc((size_t)ids * sizeof(int64_t), "ids");
    double most = 0, sum = 0;
    int64_t n = 0;
    for (int64_t at = first; at + ids <= first + rows; at += ids, n++) {
        for (int64_t i = 0; i < ids; i++)
            v[i] = id_of(at + i);
        step(s, v, ids, o, y, ld, pool, 0);
        double t = s->look[0] + s->update[0];
        sum += t;
        if (t > most) most = t;
    }
    cr_free(v);
    *mean = sum / (double)(n > 0 ? n : 1);
    return most;
}

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns 1 when a row took more than 10 ms of the CPU. */
static int pauses(int64_t rows, int64_t D, const cr_optim_type *rule, const void *conf) {
    enum { CLASSES = 8 };
    cr_table_spec spec = {"t", 0, D, 0, true, rule, conf};
    cr_init init = CR_INIT_N(0.1);
    cr_grow_rules rules = {.decay = 1, .counts = true};
    cr_grow *g;
    double wall = 0, cpu = 0, sum = 0;
    int64_t at = 0, longer[CLASSES] = {0}; /* than 1, 2, 4 ... times 10 us */
    cr_grow_opts go = {.spec = &spec, .init = &init, .seed = 1, .rules = &rules};
    if (cr_grow_new(&g, &go, NULL) != CR_OK) return 1;
    for (int64_t i = 0; i < rows; i++) {
        float *rec;
        double t0 = cr_now(), c0 = cpu_now();
        if (cr_grow_make(g, cr_key_of(id_of(i)), &rec, NULL) != CR_OK) return 1;
        double c = cpu_now() - c0, w = cr_now() - t0;
        sum += c;
        if (w > wall) wall = w;
        if (c > cpu) at = i;
        if (c > cpu) cpu = c;
        for (int k = 0; k < CLASSES && c > 1e-5 * (1 << k); k++)
            longer[k]++;
    }
    printf("%lld rows of width %lld, one by one: %.0f ns each, the longest %.3f ms of the CPU (row "
           "%lld), %.3f ms by the clock\n",
           (long long)rows, (long long)D, sum / (double)rows * 1e9, cpu * 1e3, (long long)at,
           wall * 1e3);
    for (int k = 0; k < CLASSES; k++)
        printf("longer than %5d us of the CPU: %lld rows\n", 10 << k, (long long)longer[k]);
    cr_grow_free(g);
    return cpu > 0.01;
}

/* ---- a fixed and two growing tables in turns ---- */

typedef struct compared {
    int64_t rows, ids;
    double seconds;
    const cr_optim_step *o;
    float *y;
    int64_t ld;
    cr_pool *pool;
} compared;

static void compare(side *s, bool zipf, const compared *c) {
    enum { SIDES = 3 };
    static const char *const names[SIDES] = {"fixed", "growing", "growing with counts"};
    int64_t *here = cr_alloc((size_t)c->ids * sizeof(int64_t), "ids"),
            *there = cr_alloc((size_t)c->ids * sizeof(int64_t), "ids");
    double start = cr_now(), fixed = 0;
    int turns = 0;
    for (; turns < MOST && (turns < 20 || cr_now() - start < c->seconds); turns++) {
        for (int64_t i = 0; i < c->ids; i++) {
            here[i] = row_of(next_rank(zipf, (uint64_t)(turns * c->ids + i), c->rows), c->rows);
            there[i] = id_of(here[i]);
        }
        for (int k = 0; k < SIDES; k++)
            step(&s[k], k ? there : here, c->ids, c->o, c->y, c->ld, c->pool, turns);
    }
    for (int k = 0; k < SIDES; k++) {
        double both[MOST];
        for (int i = 0; i < turns; i++)
            both[i] = s[k].look[i] + s[k].update[i];
        double all = median(both, turns), look = median(s[k].look, turns);
        double group = median(s[k].group, turns), find = median(s[k].find, turns);
        if (k == 0) fixed = all;
        printf("%-7s ids, %s: %.3f ms (grouping %.3f, finding rows %.3f, lookup %.3f, update "
               "%.3f), %.2f times\n",
               zipf ? "zipf" : "uniform", names[k], all * 1e3, group * 1e3, find * 1e3,
               (look - group - find) * 1e3, median(s[k].update, turns) * 1e3, all / fixed);
    }
    cr_free(here);
    cr_free(there);
}

int main(int argc, char **argv) {
    int threads = 2;
    int64_t rows = 4000000, D = 16, ids = 8192, paused = 0;
    double seconds = 10;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--threads") == 0) threads = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--rows") == 0) rows = atoll(argv[i + 1]);
        if (strcmp(argv[i], "--width") == 0) D = atoll(argv[i + 1]);
        if (strcmp(argv[i], "--pauses") == 0) paused = atoll(argv[i + 1]);
        if (strcmp(argv[i], "--ids") == 0) ids = atoll(argv[i + 1]);
        if (strcmp(argv[i], "--seconds") == 0) seconds = atof(argv[i + 1]);
    }
    const cr_optim_type *rule = &cr_optim_rowwise_adagrad;
    cr_arena arena;
    cr_diag diag;
    cr_arena_init(&arena, 0);
    cr_diag_init(&diag);
    const void *conf = cr_conf_bind(&arena, &cr_optim_rowwise_adagrad_msg, NULL, &diag);
    cr_optim_step o = {.lr = 0.01, .t = 1};
    if (rule->prepare) rule->prepare(conf, &o);
    cr_pool *pool;
    cr_kern_init();
    if (paused > 0) {
        int late = pauses(paused, D, rule, conf);
        cr_arena_clear(&arena);
        return late;
    }
    if (cr_pool_new(&pool, threads, NULL) != CR_OK) return 1;
    int64_t ld = D + 16;
    float *grad = cr_alloc((size_t)(ids * ld) * sizeof(float), "grad");
    float *y = cr_alloc((size_t)(threads * TILE * ld) * sizeof(float), "y");
    for (int64_t i = 0; i < ids * ld; i++)
        grad[i] = cr_rng_f32(8, (uint64_t)i) - 0.5f;
    cr_init init = CR_INIT_N(0.1);
    cr_grow_rules plain = {.decay = 1}, counted = {.decay = 1, .counts = true};
    cr_grow_rules lru = {
        .most = rows, .bucket = 128, .evict = CR_EVICT_LRU, .exponent = 1, .decay = 1};
    side *s = cr_alloc(4 * sizeof(side), "tables");
    for (int k = 0; k < 4; k++) { /* fixed, growing, growing with counts, growing with a limit */
        cr_table_spec spec = {"t", rows, D, 0, true, rule, conf};
        if (k == 0) {
            if (cr_table_init(&s[k].t, &spec, NULL) != CR_OK) return 1;
            cr_table_fill(&s[k].t, &init, 1, pool);
        } else {
            cr_grow_opts go = {.spec = &spec,
                               .init = &init,
                               .seed = 1,
                               .rules = k == 1   ? &plain
                                        : k == 2 ? &counted
                                                 : &lru,
                               .pool = pool};
            if (cr_grow_new(&s[k].g, &go, NULL) != CR_OK) return 1;
            cr_table_describe(&s[k].t, &spec, cr_grow_owner(s[k].g));
            s[k].v = cr_views_new(1, pool);
            cr_views_add(s[k].v, &s[k].t, &(cr_group_slot){.slot = 0}, (const int[]){0}, 1);
        }
        s[k].keys = cr_alloc((size_t)ids * sizeof(int64_t), "keys");
        s[k].u = cr_updater_new(all_lanes(LANES), pool);
        cr_updater_add(s[k].u, &s[k].t, &(cr_use){.grad = grad, .ld = ld}, 1);
    }
    printf("%s, %d threads, %lld rows of width %lld, rowwise Adagrad, %lld ids per step\n",
           cr_cpu_level_name(cr_cpu_level_max()), threads, (long long)rows, (long long)D,
           (long long)ids);
    double mean, most = longest(&s[1], rows, ids, &o, y, ld, pool, 0, &mean);
    int64_t bytes = cr_grow_bytes(s[1].g), n = cr_grow_rows(s[1].g);
    printf("growing: %.2f ms for a step of new ids on average, %.2f ms at most; %.1f bytes per row "
           "beside weights and state\n",
           mean * 1e3, most * 1e3,
           (double)bytes / (double)n - 4.0 * (double)cr_table_stride(D, 0, rule));
    for (int64_t i = 0; i < 2 * rows; i++) { /* those of the last batch that was not whole, too */
        float *rec;
        if (cr_grow_make(s[1 + i / rows].g, cr_key_of(id_of(i % rows)), &rec, NULL) != CR_OK)
            return 1;
    }
    longest(&s[3], rows, ids, &o, y, ld, pool, 0, &mean);
    most = longest(&s[3], 40 * ids, ids, &o, y, ld, pool, rows, &mean);
    printf("a full table with lru: %.2f ms for a step of new ids on average, %.2f ms at most\n",
           mean * 1e3, most * 1e3);
    for (int zipf = 1; zipf >= 0; zipf--)
        compare(s, zipf, &(compared){rows, ids, seconds / 2, &o, y, ld, pool});
    for (int k = 0; k < 4; k++) {
        cr_updater_free(s[k].u);
        cr_views_free(s[k].v);
        cr_grow_free(s[k].g);
        cr_table_clear(&s[k].t);
        cr_free(s[k].keys);
    }
    cr_free(s);
    cr_free(grad);
    cr_free(y);
    maps(rows);
    cr_arena_clear(&arena);
    cr_pool_free(pool);
    return 0;
}
