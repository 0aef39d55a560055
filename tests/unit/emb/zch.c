/*
 * zch.c - the zero-collision map beside a plain one that keeps all ids in an ascending array and
 * sorts everything at each update, as TorchRec does it: the same rows after every step, for every
 * policy and filter, full and not full. The result does not depend on holders, and a state that is
 * saved and loaded, or read where it lies, is the map itself. Damaged states are refused.
 */
#include "emb/zch.h"

#include <math.h>

#include "base/rng.h"
#include "harness.h"
#include "holders.h"

enum { SIZE = 40, STEPS = 60, IDS = 90, MOST = 4096 };

/* ---- the plain map ---- */
typedef struct plain {
    cr_zch_opts o;
    int64_t id[MOST], row[MOST], count[MOST],
        last[MOST]; /* ascending ids; the last: the fallback */
    int64_t hist[1 << 16], when[1 << 16];
    int64_t n_hist, now, updated;
    int64_t fresh; /* rows that got a new id */
} plain;

static plain *plain_new(const cr_zch_opts *o) {
    plain *p = calloc(1, sizeof(*p));
    p->o = *o;
    for (int64_t i = 0; i < o->size; i++) {
        p->id[i] = INT64_MAX;
        p->row[i] = i;
    }
    return p;
}

static float plain_score(const plain *p, int64_t count, int64_t last) {
    float w = powf((float)(p->now - last + 1), (float)p->o.exponent);
    if (p->o.policy == CR_ZCH_LFU) return (float)count; /* small here */
    return p->o.policy == CR_ZCH_LRU ? -w : (float)count / w;
}

/* a stable sort by falling score: order[] are places */
static void argsort(const float *score, int64_t n, int64_t *order) {
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i;
        for (; k > 0 && score[order[k - 1]] < score[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

static void plain_update(plain *p) {
    static int64_t id[MOST], count[MOST], last[MOST], order[2 * MOST], by[MOST];
    static float score[2 * MOST];
    int64_t n = 0, total = p->n_hist, size = p->o.size;
    for (int64_t i = 0; i < p->n_hist; i++) { /* distinct ids, ascending */
        int64_t k = 0;
        while (k < n && id[k] < p->hist[i])
            k++;
        if (k == n || id[k] != p->hist[i]) {
            memmove(id + k + 1, id + k, (size_t)(n - k) * 8);
            memmove(count + k + 1, count + k, (size_t)(n - k) * 8);
            memmove(last + k + 1, last + k, (size_t)(n - k) * 8);
            id[k] = p->hist[i];
            count[k] = 0;
            n++;
        }
        count[k]++;
        last[k] = p->when[i];
    }
    p->n_hist = 0;
    int64_t all = n, pass = 0;
    for (int64_t k = 0; k < all; k++) {
        bool in = true;
        if (p->o.pass == CR_ZCH_ABOVE) in = (double)count[k] > p->o.arg;
        if (p->o.pass == CR_ZCH_AT_LEAST) in = (double)count[k] >= p->o.arg;
        if (p->o.pass == CR_ZCH_DYNAMIC)
            in = (double)count[k] * (double)all > p->o.arg * (double)total;
        if (p->o.pass == CR_ZCH_AVERAGE) in = count[k] * all > total;
        if (!in) continue;
        id[pass] = id[k];
        count[pass] = count[k];
        last[pass++] = last[k];
    }
    n = pass;
    for (int64_t k = 0; k < n; k++)
        score[k] = (float)count[k];
    argsort(score, n, by); /* by frequency */
    int64_t n_new = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t at = 0, c = by[k];
        while (at < size && p->id[at] != id[c])
            at++;
        if (at < size) {
            p->count[at] += count[c];
            p->last[at] = last[c];
        } else {
            order[n_new++] = c;
        }
    }
    static int64_t news[MOST];
    memcpy(news, order, (size_t)n_new * 8);
    for (int64_t i = 0; i < size; i++)
        score[i] = i == size - 1 ? INFINITY : plain_score(p, p->count[i], p->last[i]);
    for (int64_t k = 0; k < n_new; k++)
        score[size + k] = plain_score(p, count[news[k]], last[news[k]]);
    argsort(score, size + n_new, order);
    int64_t in = 0;
    for (int64_t k = size; k < size + n_new; k++) { /* those that fall out, and who comes instead */
        if (order[k] >= size) continue;
        while (order[in] < size)
            in++;
        int64_t c = news[order[in++] - size], at = order[k];
        p->id[at] = id[c];
        p->count[at] = count[c];
        p->last[at] = last[c];
        p->fresh++;
    }
    for (int64_t i = 1; i < size; i++) /* sort again, stable */
        for (int64_t k = i; k > 0 && p->id[k - 1] > p->id[k]; k--) {
#define SWAP(v)                                                                                    \
    do {                                                                                           \
        int64_t t_ = p->v[k];                                                                      \
        p->v[k] = p->v[k - 1];                                                                     \
        p->v[k - 1] = t_;                                                                          \
    } while (0)
            SWAP(id);
            SWAP(row);
            SWAP(count);
            SWAP(last);
        }
}

static void plain_step(plain *p, const int64_t *ids, int64_t n) {
    p->now++;
    for (int64_t i = 0; i < n; i++) {
        p->hist[p->n_hist] = ids[i];
        p->when[p->n_hist++] = p->now;
    }
    if (p->now - p->updated < p->o.interval) return;
    p->updated = p->now;
    plain_update(p);
}

static int64_t plain_find(const plain *p, int64_t id) {
    for (int64_t i = 0; i < p->o.size - 1; i++)
        if (p->id[i] == id) return p->row[i];
    return p->o.size - 1;
}

/* ---- comparison ---- */

/* Ids of a step: few are frequent, they change slowly, and they use 63 bits. */
static void draw(int64_t *ids, int64_t n, int64_t step) {
    for (int64_t i = 0; i < n; i++) {
        double x = cr_rng_f64(11 + (uint64_t)step, (uint64_t)i);
        int64_t k = (int64_t)(x * x * x * 120) + step / 8;
        ids[i] = (int64_t)(cr_mix64((uint64_t)k) >> 1);
    }
}

static void count_fresh(void *ctx, int64_t row, int64_t id, int64_t left) {
    (void)row;
    (void)id;
    (void)left;
    ++*(int64_t *)ctx;
}

static int64_t differences(const cr_zch *z, const plain *p, int64_t step) {
    int64_t ids[200], rows[200], wrong = 0;
    for (int64_t i = 0; i < 200; i++)
        ids[i] = (int64_t)(cr_mix64((uint64_t)(i + step / 16)) >> 1);
    cr_zch_find(z, ids, 200, rows, NULL);
    for (int64_t i = 0; i < 200; i++)
        wrong += rows[i] != plain_find(p, ids[i]);
    return wrong;
}

static const struct {
    cr_zch_policy policy;
    double exponent;
    cr_zch_pass pass;
    double arg;
    int64_t size, interval;
} policies[] = {
    {CR_ZCH_LFU, 1, CR_ZCH_ALL, 0, SIZE, 5},
    {CR_ZCH_LFU, 1, CR_ZCH_ALL, 0, 300, 2}, /* never full */
    {CR_ZCH_LFU, 1, CR_ZCH_ALL, 0, 2, 1},   /* one row and the fallback */
    {CR_ZCH_LRU, 1, CR_ZCH_ALL, 0, SIZE, 1},
    {CR_ZCH_LRU, 2, CR_ZCH_ALL, 0, 100, 3},
    {CR_ZCH_LRU, 0, CR_ZCH_ALL, 0, SIZE, 3}, /* all scores are equal: nobody comes in */
    {CR_ZCH_DISTANCE_LFU, 1, CR_ZCH_ALL, 0, SIZE, 4},
    {CR_ZCH_DISTANCE_LFU, 0.5, CR_ZCH_ALL, 0, SIZE, 3},
    {CR_ZCH_LFU, 1, CR_ZCH_ABOVE, 3, SIZE, 4},
    {CR_ZCH_LRU, 1, CR_ZCH_AT_LEAST, 3, SIZE, 4},
    {CR_ZCH_LFU, 1, CR_ZCH_DYNAMIC, 1.5, SIZE, 4},
    {CR_ZCH_DISTANCE_LFU, 1, CR_ZCH_AVERAGE, 0, SIZE, 4},
};
#define N_POLICIES (int)(sizeof(policies) / sizeof(policies[0]))

static cr_zch_opts opts_of(int c) {
    return (cr_zch_opts){.name = "t",
                         .size = policies[c].size,
                         .interval = policies[c].interval,
                         .policy = policies[c].policy,
                         .exponent = policies[c].exponent,
                         .pass = policies[c].pass,
                         .arg = policies[c].arg,
                         .seed = 3};
}

TEST(as_arrays_that_are_sorted) {
    for (int c = 0; c < N_POLICIES; c++) {
        cr_zch_opts o = opts_of(c);
        cr_zch *z;
        plain *p = plain_new(&o);
        int64_t fresh = 0, wrong = 0, ids[IDS];
        CHECK_INT(cr_zch_new(&z, &o, NULL), 0);
        for (int64_t step = 0; step < STEPS; step++) {
            draw(ids, IDS, step);
            CHECK_INT(cr_zch_count(z, ids, 30, NULL), 0);
            CHECK_INT(cr_zch_count(z, ids + 30, IDS - 30, NULL), 0);
            CHECK_INT(cr_zch_step(z, NULL, count_fresh, &fresh, NULL), 0);
            plain_step(p, ids, IDS);
            wrong += differences(z, p, step);
        }
        CHECK_INT(wrong, 0);
        CHECK_INT(fresh, p->fresh);
        if (policies[c].exponent > 0) CHECK(fresh > 0);
        free(p);
        cr_zch_free(z);
    }
}

/* ---- states ---- */

static bool same_state(const cr_zch_state *a, const cr_zch_state *b) {
    int64_t size = a->size;
    return size == b->size && memcmp(a->rows.id, b->rows.id, (size_t)(4 * size) * 8) == 0 &&
           a->seen.n == b->seen.n &&
           memcmp(a->seen.id, b->seen.id, (size_t)(3 * a->seen.n) * 8) == 0 &&
           memcmp(a->steps, b->steps, sizeof a->steps) == 0;
}

static void copy_state(cr_zch_state *to, const cr_zch_state *from) {
    int64_t size = from->size;
    memcpy(to->rows.id, from->rows.id, (size_t)(4 * size) * 8);
    memcpy(to->seen.id, from->seen.id, (size_t)(3 * from->seen.n) * 8);
    memcpy(to->steps, from->steps, sizeof to->steps);
}

TEST(a_state_is_the_map) {
    for (int c = 0; c < N_POLICIES; c++) {
        cr_zch_opts o = opts_of(c);
        cr_zch *z, *other;
        cr_zch_state s = {0}, copy = {0}, end[2];
        memset(end, 0, sizeof end);
        int64_t fresh = 0, ids[IDS], rows[2][IDS];
        CHECK_INT(cr_zch_new(&z, &o, NULL), 0);
        CHECK_INT(cr_zch_new(&other, &o, NULL), 0);
        for (int64_t step = 0; step < STEPS; step++) {
            draw(ids, IDS, step);
            for (int k = 0; k < 2; k++) {
                if (k && step <= 20) continue;
                cr_zch *m = k ? other : z;
                CHECK_INT(cr_zch_count(m, ids, IDS, NULL), 0);
                CHECK_INT(cr_zch_step(m, NULL, count_fresh, &fresh, NULL), 0);
            }
            if (step != 20) continue;
            CHECK_INT(cr_zch_save(z, NULL, &s, NULL), 0);
            CHECK_INT(cr_zch_room(s.size, 1, &copy, NULL), 0); /* then another number */
            CHECK_INT(cr_zch_room(s.size, s.seen.n, &copy, NULL), 0);
            copy_state(&copy, &s);
            CHECK_INT(cr_zch_load(other, &copy, true, NULL), 0);
            CHECK_INT(cr_zch_known(other), cr_zch_known(z));
            cr_zch *view = cr_zch_view(&o, s.rows.id, s.rows.row);
            ids[0] = INT64_MAX;
            cr_zch_find(z, ids, IDS, rows[0], NULL);
            cr_zch_find(view, ids, IDS, rows[1], NULL);
            int64_t wrong = 0;
            for (int i = 0; i < IDS; i++)
                wrong += rows[0][i] != rows[1][i];
            CHECK_INT(wrong, 0);
            CHECK_INT(s.size, o.size);
            cr_zch_free(view);
        }
        CHECK_INT(cr_zch_save(z, NULL, &end[0], NULL), 0);
        CHECK_INT(cr_zch_save(other, NULL, &end[1], NULL), 0);
        CHECK(same_state(&end[0], &end[1]));
        CHECK(!same_state(&s, &end[0]));
        cr_zch_state_clear(&s);
        cr_zch_state_clear(&copy);
        cr_zch_state_clear(&end[0]);
        cr_zch_state_clear(&end[1]);
        cr_zch_free(z);
        cr_zch_free(other);
    }
}

/* A wider map takes the state of a narrower one: rows are as far from the end as they were. */
TEST(a_wider_map) {
    for (int c = 0; c < N_POLICIES; c++) {
        cr_zch_opts o = opts_of(c), more = o;
        cr_zch *z, *wide;
        cr_zch_state s = {0};
        int64_t fresh = 0, ids[IDS], rows[2][IDS];
        more.size += 7;
        CHECK_INT(cr_zch_new(&z, &o, NULL), 0);
        CHECK_INT(cr_zch_new(&wide, &more, NULL), 0);
        for (int64_t step = 0; step < 20; step++) {
            draw(ids, IDS, step);
            CHECK_INT(cr_zch_count(z, ids, IDS, NULL), 0);
            CHECK_INT(cr_zch_step(z, NULL, count_fresh, &fresh, NULL), 0);
        }
        CHECK_INT(cr_zch_save(z, NULL, &s, NULL), 0);
        CHECK_INT(cr_zch_load(wide, &s, true, NULL), 0);
        cr_zch_find(z, ids, IDS, rows[0], NULL);
        cr_zch_find(wide, ids, IDS, rows[1], NULL);
        int64_t wrong = 0;
        for (int i = 0; i < IDS; i++)
            wrong += rows[1][i] != rows[0][i] + 7;
        CHECK_INT(wrong, 0);
        CHECK_INT(cr_zch_known(wide), cr_zch_known(z));
        /* and back: it is left alone, unless it fits without its free rows */
        CHECK_INT(cr_zch_save(wide, NULL, &s, NULL), 0);
        CHECK_INT(cr_zch_load(z, &s, true, NULL), 0);
        CHECK_INT(cr_zch_known(wide), cr_zch_known(z));
        cr_zch_state_clear(&s);
        cr_zch_free(z);
        cr_zch_free(wide);
    }
}

TEST(damaged_states) {
    cr_zch_opts o = opts_of(0);
    cr_zch *z;
    cr_zch_state s = {0};
    int64_t fresh = 0, ids[IDS], rows[IDS];
    cr_err err;
    CHECK_INT(cr_zch_new(&z, &o, NULL), 0);
    o.interval = 2;
    for (int64_t step = 0; step < 7; step++) {
        draw(ids, IDS, step);
        CHECK_INT(cr_zch_count(z, ids, IDS, NULL), 0);
        CHECK_INT(cr_zch_step(z, NULL, count_fresh, &fresh, NULL), 0);
    }
    CHECK_INT(cr_zch_save(z, NULL, &s, NULL), 0);
    CHECK(s.seen.n > 1 && s.rows.id[3] != INT64_MAX);
    int64_t *at[] = {&s.rows.id[1],  &s.rows.id[2],   &s.rows.row[0], &s.rows.row[1],
                     &s.rows.row[2], &s.rows.row[39], &s.rows.id[39], &s.seen.id[1],
                     &s.steps[0],    &s.steps[1]};
    int64_t bad[] = {-5, s.rows.id[1], -1, 39, s.rows.row[3], 3, 7, s.seen.id[0], 0, -1};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        int64_t was = *at[i];
        *at[i] = bad[i];
        CHECK_INT(cr_zch_load(z, &s, true, &err), CR_EDATA);
        CHECK(strstr(err.msg, "the zch map of table t is damaged") != NULL);
        *at[i] = was;
    }
    CHECK_INT(cr_zch_load(z, &s, true, &err), 0);
    /* a damaged view finds rows of the table all the same */
    s.rows.row[0] = 1000;
    s.rows.row[1] = -1;
    cr_zch *view = cr_zch_view(&o, s.rows.id, s.rows.row);
    cr_zch_find(view, s.rows.id, SIZE, rows, NULL);
    for (int i = 0; i < SIZE; i++)
        CHECK(rows[i] >= 0 && rows[i] < SIZE);
    CHECK(rows[0] == SIZE - 1 && rows[1] == SIZE - 1);
    cr_zch_free(view);
    cr_zch_state_clear(&s);
    cr_zch_free(z);
}

/* ---- holders ---- */
typedef struct shared {
    int c;
    cr_zch_state state[MAX_HOLDERS][2];
} shared;

static void work(holder *h, void *ctx) {
    shared *s = ctx;
    cr_zch_opts o = opts_of(s->c);
    cr_zch *z;
    int64_t ids[IDS], fresh = 0, n = h->of->n;
    int64_t first = IDS * h->number / n, end = IDS * (h->number + 1) / n;
    if (cr_zch_new(&z, &o, NULL) != CR_OK) abort();
    for (int64_t step = 0; step < STEPS; step++) {
        draw(ids, IDS, step);
        if (cr_zch_count(z, ids + first, end - first, NULL) != CR_OK ||
            cr_zch_step(z, &h->meet, count_fresh, &fresh, NULL) != CR_OK)
            abort();
        if ((step == 21 || step == STEPS - 1) &&
            cr_zch_save(z, &h->meet, &s->state[h->number][step != 21], NULL) != CR_OK)
            abort();
    }
    cr_zch_free(z);
}

TEST(any_number_of_holders) {
    static const int lanes[][5] = {{8, 0}, {4, 4, 0}, {3, 3, 2, 0}, {1, 2, 3, 2, 0}};
    for (int c = 0; c < N_POLICIES; c++) {
        shared one = {.c = c};
        for (int k = 0; k < 4; k++) {
            holders hs;
            shared many = {.c = c};
            holders_run(&hs, lanes[k], work, k ? &many : &one);
            for (int h = 0; k && h < hs.n; h++)
                for (int i = 0; i < 2; i++)
                    CHECK(same_state(&one.state[0][i], &many.state[h][i]));
            for (int h = 0; h < MAX_HOLDERS; h++)
                for (int i = 0; i < 2; i++)
                    cr_zch_state_clear(&many.state[h][i]);
        }
        cr_zch_state_clear(&one.state[0][0]);
        cr_zch_state_clear(&one.state[0][1]);
    }
}

/* With a chance of 0.01 an id that is seen 100 times comes in with a chance of 0.63. */
TEST(chance) {
    cr_zch_opts o = {.name = "t",
                     .size = 5000,
                     .interval = 1,
                     .policy = CR_ZCH_LFU,
                     .pass = CR_ZCH_CHANCE,
                     .arg = 0.01,
                     .seed = 3};
    cr_zch *z;
    int64_t fresh = 0;
    CHECK_INT(cr_zch_new(&z, &o, NULL), 0);
    for (int64_t i = 0; i < 100 * 2000; i++)
        CHECK_INT(cr_zch_count(z, &(int64_t){i % 2000}, 1, NULL), 0);
    CHECK_INT(cr_zch_step(z, NULL, count_fresh, &fresh, NULL), 0);
    CHECK_NEAR((double)fresh / 2000, 1 - pow(0.99, 100), 0.04, 0);
    CHECK_INT(cr_zch_known(z), fresh);
    cr_zch_free(z);
}

TEST_MAIN(CASE(as_arrays_that_are_sorted), CASE(a_state_is_the_map), CASE(a_wider_map),
          CASE(damaged_states), CASE(any_number_of_holders), CASE(chance))
