/*
 * ctr.c - the CTR accessor beside a plain model of it in Python (tools/golden/ctr.py), row by row
 * and exactly, for every rule; tables of such rows with any number of threads and shards; states
 * that are saved and loaded; lines of text that are written and read back, and wrong ones.
 */
#include "emb/ctr.h"

#include <pthread.h>

#include "base/rng.h"
#include "emb/grow.h"
#include "golden/golden.h"
#include "harness.h"

enum { MOST = 64 };

/* ---- golden rows ---- */

typedef struct gold_row {
    int64_t id;
    bool brief;
    float rec[MOST];
} gold_row;

static cr_ctr_rule rule_from(const double *v) {
    return (cr_ctr_rule){.kind = (cr_ctr_sgd)v[0],
                         .lr = v[1],
                         .initial_range = v[2],
                         .lowest = v[3],
                         .highest = v[4],
                         .initial_g2sum = v[5],
                         .beta1 = v[6],
                         .beta2 = v[7],
                         .epsilon = v[8]};
}

static cr_ctr_rules rules_from(const double *v, int64_t *X) {
    *X = (int64_t)v[0];
    return (cr_ctr_rules){.on = true,
                          .embedx_threshold = v[1],
                          .nonclk_coeff = v[2],
                          .click_coeff = v[3],
                          .base_threshold = v[4],
                          .delta_threshold = v[5],
                          .delta_keep_days = v[6],
                          .decay = v[7],
                          .delete_threshold = v[8],
                          .delete_after = v[9],
                          .show_scale = v[10] != 0,
                          .zero_init = v[11] != 0,
                          .embed = rule_from(v + 12),
                          .embedx = rule_from(v + 21)};
}

static uint64_t stream_of(int64_t id) {
    return cr_mix64((uint64_t)id + 12345);
}

static cr_ctr_row parts(const cr_ctr_rules *r, int64_t X, gold_row *row) {
    return cr_ctr_at(r, X, row->brief, row->rec);
}

/* finds the row of an id, or makes it, in its place */
static gold_row *row_of(gold_row *v, int64_t *n, int64_t id, const cr_ctr_rules *r, int64_t X) {
    int64_t i = 0;
    while (i < *n && v[i].id < id)
        i++;
    if (i < *n && v[i].id == id) return &v[i];
    memmove(&v[i + 1], &v[i], (size_t)(*n - i) * sizeof *v);
    ++*n;
    v[i] = (gold_row){.id = id, .brief = true};
    parts(r, X, &v[i]).days[CR_CTR_UNSEEN] = CR_CTR_UNBORN;
    return &v[i];
}

static void extend(const cr_ctr_rules *r, int64_t X, gold_row *row) {
    gold_row old = *row;
    cr_ctr_row from = parts(r, X, &old);
    row->brief = false;
    cr_ctr_row to = parts(r, X, row);
    memcpy(to.head, from.head, CR_CTR_HEAD * sizeof(float));
    memcpy(to.days, from.days, CR_CTR_DAYS * sizeof(float));
    memcpy(to.embed_state, from.embed_state,
           (size_t)cr_ctr_state(r->embed.kind, 1) * sizeof(float));
    cr_ctr_extend(r, X, to, stream_of(row->id));
}

/* a row as a line of the golden file: id, whether it has its second part, the values of a text
 * line */
static void check_row(const cr_ctr_rules *r, int64_t X, gold_row *row, const double *want,
                      int64_t width, const char *where) {
    cr_buf b;
    cr_buf_init(&b);
    cr_ctr_write(r, X, row->id, parts(r, X, row), &b);
    CHECK_INT(row->id, (int64_t)want[0]);
    CHECK_INT(!row->brief, (int64_t)want[1]);
    char *p = b.data, *end;
    strtod(p, &p);
    for (int64_t k = 2; k < width; k++) {
        float x = strtof(p, &end);
        if (end == p) x = 0; /* the second part is not there */
        p = end;
        if (x != (float)want[k]) {
            fprintf(stderr, "%s: id %lld, value %lld: %.9g, expected %.9g\n", where,
                    (long long)row->id, (long long)k, (double)x, want[k]);
            CHECK(false);
        }
    }
    cr_buf_clear(&b);
}

static void run_case(const golden *g, const char *name) {
    char at[64];
    int64_t X, n = 0, seen = 0;
    gold_row *rows = calloc(MOST, sizeof *rows);
    snprintf(at, sizeof at, "%s/rules", name);
    cr_ctr_rules r = rules_from(golden_get(g, at)->v, &X);
    snprintf(at, sizeof at, "%s/events", name);
    const golden_tensor *events = golden_get(g, at);
    for (int64_t e = 0; e < events->dims[0]; e++) {
        const double *v = events->v + e * events->dims[1];
        if (v[0] == 0) {
            float grad[MOST];
            for (int64_t i = 0; i < CR_CTR_HEAD + X; i++)
                grad[i] = (float)v[2 + i];
            gold_row *row = row_of(rows, &n, (int64_t)v[1], &r, X);
            if (cr_ctr_push(&r, X, parts(&r, X, row), stream_of(row->id), grad)) extend(&r, X, row);
        } else if (v[0] == 1) {
            int64_t kept = 0;
            for (int64_t i = 0; i < n; i++)
                if (!cr_ctr_shrink(&r, parts(&r, X, &rows[i]))) rows[kept++] = rows[i];
            n = kept;
        } else {
            cr_ctr_mode mode = (cr_ctr_mode)((int)v[0] - 2);
            snprintf(at, sizeof at, "%s/saved%lld", name, (long long)seen);
            const golden_tensor *saved = golden_get(g, at);
            int64_t k = 0;
            for (int64_t i = 0; i < n; i++) {
                if (!cr_ctr_saves(&r, parts(&r, X, &rows[i]), mode)) continue;
                CHECK(k < saved->n && rows[i].id == (int64_t)saved->v[k]);
                cr_ctr_saved(parts(&r, X, &rows[i]), mode);
                k++;
            }
            CHECK_INT(k, saved->n);
        }
        if (e % 5 != 4) continue;
        snprintf(at, sizeof at, "%s/rows%lld", name, (long long)seen++);
        const golden_tensor *want = golden_get(g, at);
        CHECK_INT(n, want->dims[0]);
        for (int64_t i = 0; i < n && i < want->dims[0]; i++)
            check_row(&r, X, &rows[i], want->v + i * want->dims[1], want->dims[1], at);
    }
    CHECK(seen > 10);
    free(rows);
}

TEST(golden_rows) {
    static const char *const names[] = {"naive", "adagrad", "std_adagrad", "adam", "shared_adam"};
    golden g = {0};
    golden_load(&g, "ctr.txt");
    for (int i = 0; i < CR_CTR_RULES; i++)
        run_case(&g, names[i]);
    golden_clear(&g);
}

/* ---- tables ---- */

static const cr_ctr_rules some = {.on = true,
                                  .embed = {.kind = CR_CTR_ADAM,
                                            .lr = 0.01,
                                            .beta1 = 0.9,
                                            .beta2 = 0.999,
                                            .epsilon = 1e-8,
                                            .lowest = -10,
                                            .highest = 10},
                                  .embedx = {.kind = CR_CTR_ADAGRAD,
                                             .lr = 0.05,
                                             .initial_g2sum = 3,
                                             .initial_range = 0.1,
                                             .lowest = -10,
                                             .highest = 10},
                                  .embedx_threshold = 2,
                                  .nonclk_coeff = 0.1,
                                  .click_coeff = 1,
                                  .base_threshold = 1,
                                  .delta_threshold = 0.25,
                                  .delta_keep_days = 3,
                                  .decay = 0.9,
                                  .delete_threshold = 0.3,
                                  .delete_after = 2,
                                  .show_scale = true,
                                  .zero_init = true};
enum { X = 5, D = CR_CTR_HEAD + X, IDS = 4000, ROWS = 700, STEPS = 12, SHARDS = 3 };

static cr_grow *table(cr_pool *pool, int shard, int shards) {
    static const cr_init none = {0};
    cr_grow *g;
    cr_grow_rules rules = {.ctr = some};
    cr_table_spec spec = {"t", 0, D, 0, true, NULL, NULL};
    cr_shard s = {0, cr_grow_cut(&rules, shard, shards), cr_grow_cut(&rules, shard + 1, shards), 0,
                  D};
    CHECK_INT(cr_grow_new(&g,
                          &(cr_grow_opts){.spec = &spec,
                                          .init = &none,
                                          .seed = 9,
                                          .rules = &rules,
                                          .pool = pool,
                                          .shard = shards > 1 ? &s : NULL},
                          NULL),
              0);
    return g;
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* the distinct keys of a step in [from, end) with their gradients */
static int64_t step_of(int64_t step, int64_t from, int64_t end, int64_t *keys, float *g) {
    int64_t n = 0, m = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        double x = cr_rng_f64(70 + (uint64_t)step, (uint64_t)i);
        keys[n++] = cr_key_of((int64_t)(x * x * x * IDS));
    }
    qsort(keys, (size_t)n, sizeof *keys, by_number);
    for (int64_t i = 0; i < n; i++)
        if ((i == 0 || keys[i] != keys[i - 1]) && keys[i] >= from && keys[i] < end)
            keys[m++] = keys[i];
    for (int64_t i = 0; i < m; i++) {
        uint64_t key = cr_rng_sub((uint64_t)step, (uint64_t)keys[i]);
        float show = 1 + (float)cr_rng_below(key, 0, 3);
        g[i * D + CR_CTR_SHOW] = show;
        g[i * D + CR_CTR_SLOT] = 7 * show;
        g[i * D + CR_CTR_CLICK] = cr_rng_f32(key, 1) < 0.3F ? 1 : 0;
        for (int64_t k = CR_CTR_EMBED; k < D; k++)
            g[i * D + k] = cr_rng_f32(key, 2 + (uint64_t)k) - 0.5F;
    }
    return m;
}

#define PUSHED 100 /* rows that a sink gets at a time, which may be any number */
typedef struct pushing {
    const cr_owner *o;
    const int64_t *keys;
    float *g;
    int64_t n;
} pushing;
static void push_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const pushing *p = ctx;
    int64_t i = item * PUSHED, n = p->n - i < PUSHED ? p->n - i : PUSHED;
    cr_row_grads r = {.id = p->keys + i, .n = n, .g = p->g + i * D};
    p->o->sink.take(p->o->sink.ctx, &r, NULL);
}

static void train(cr_grow *g, cr_pool *pool, int64_t from, int64_t end, int64_t first,
                  int64_t last) {
    static int64_t keys[ROWS];
    static float grads[ROWS * D], rows[ROWS * D];
    const cr_owner *o = cr_grow_owner(g);
    for (int64_t step = first; step < last; step++) {
        int64_t n = step_of(step, from, end, keys, grads), gone;
        CHECK_INT(cr_grow_step(g, NULL), 0);
        CHECK_INT(o->fetch(o->ctx, keys, n, rows, D, false, NULL), 0);
        cr_pool_run(pool, (n + PUSHED - 1) / PUSHED, push_item, &(pushing){o, keys, grads, n});
        o->sink.end(o->sink.ctx);
        cr_grow_rest(g);
        /* what is read is what the push left */
        CHECK_INT(o->fetch(o->ctx, keys, n, rows, D, false, NULL), 0);
        for (int64_t i = 0; i < n; i++)
            CHECK(rows[i * D + CR_CTR_SLOT] == 7 && rows[i * D + CR_CTR_SHOW] > 0);
        if (step % 4 == 3) {
            cr_grow_noted(g, CR_CTR_BATCH);
            CHECK_INT(cr_grow_shrink(g, &gone, NULL), 0);
            CHECK(gone > 0);
        }
    }
}

/* all rows as text, in the order of ids */
static void write_all(cr_grow *const *v, int n, cr_ctr_mode mode, cr_buf *out) {
    int64_t *ids[SHARDS], count[SHARDS], at[SHARDS] = {0};
    cr_buf_reset(out);
    for (int k = 0; k < n; k++)
        CHECK_INT(cr_grow_listed(v[k], mode, 1, &ids[k], &count[k], NULL), 0);
    for (;;) {
        int best = -1;
        for (int k = 0; k < n; k++)
            if (at[k] < count[k] && (best < 0 || ids[k][at[k]] < ids[best][at[best]])) best = k;
        if (best < 0) break;
        cr_grow_write(v[best], ids[best][at[best]++], out);
    }
    for (int k = 0; k < n; k++)
        cr_free(ids[k]);
}

TEST(threads_and_shards) {
    cr_buf want, got;
    cr_buf_init(&want);
    cr_buf_init(&got);
    cr_grow *one = table(NULL, 0, 1);
    train(one, NULL, 0, INT64_MAX, 0, STEPS);
    CHECK(cr_grow_extended(one) > 20 && cr_grow_extended(one) < cr_grow_rows(one) / 2);
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, 4, NULL), 0);
    cr_grow *many = table(pool, 0, 1), *cut[SHARDS];
    train(many, pool, 0, INT64_MAX, 0, STEPS);
    for (int k = 0; k < SHARDS; k++) {
        cr_grow_rules rules = {.ctr = some};
        cut[k] = table(pool, k, SHARDS);
        train(cut[k], pool, cr_grow_cut(&rules, k, SHARDS), cr_grow_cut(&rules, k + 1, SHARDS), 0,
              STEPS);
    }
    for (int mode = 0; mode < CR_CTR_MODES; mode++) {
        write_all(&one, 1, (cr_ctr_mode)mode, &want);
        CHECK(want.n > 1000);
        write_all(&many, 1, (cr_ctr_mode)mode, &got);
        CHECK_STR(got.data, want.data);
        write_all(cut, SHARDS, (cr_ctr_mode)mode, &got);
        CHECK_STR(got.data, want.data);
    }
    /* a brief row takes no more than it has: what a fixed layout would take is more than twice that
     */
    int64_t rows = cr_grow_rows(one), full = cr_ctr_floats(&some, X, false) * 4;
    CHECK(cr_grow_bytes(one) - rows * 20 - (1 << 22) < rows * full);
    cr_grow_free(one);
    cr_grow_free(many);
    for (int k = 0; k < SHARDS; k++)
        cr_grow_free(cut[k]);
    cr_pool_free(pool);
    cr_buf_clear(&want);
    cr_buf_clear(&got);
}

/* evaluation reads, and makes no rows */
TEST(resting) {
    cr_grow *g = table(NULL, 0, 1);
    const cr_owner *o = cr_grow_owner(g);
    train(g, NULL, 0, INT64_MAX, 0, 3);
    int64_t rows = cr_grow_rows(g), key = cr_key_of(IDS * 10);
    float w[D];
    CHECK_INT(o->fetch(o->ctx, &key, 1, w, D, false, NULL), 0);
    for (int64_t i = 0; i < D; i++)
        CHECK(w[i] == 0);
    CHECK_INT(cr_grow_rows(g), rows);
    cr_grow_free(g);
}

/* a state that is saved and loaded, into other shards, is the table: training goes on with the same
 * bits */
static void copy_planes(cr_grow *from, cr_grow *to, int64_t n) {
    float v[64];
    for (int64_t row = 0; row < n; row++)
        for (int plane = -1; plane < CR_CTR_PLANES; plane++) {
            int64_t width = plane < 0 ? D : cr_ctr_plane_of(&some, X, plane).width;
            if (!cr_grow_get(from, row, plane, 0, width, v)) continue;
            (void)cr_grow_put(to, row, plane, 0, width, v);
        }
}

TEST(state) {
    cr_buf want, got;
    cr_buf_init(&want);
    cr_buf_init(&got);
    cr_grow *g = table(NULL, 0, 1), *cut[SHARDS];
    cr_grow_rules rules = {.ctr = some};
    train(g, NULL, 0, INT64_MAX, 0, 6);
    cr_zch_state s = {0};
    int64_t rows[2];
    CHECK_INT(cr_grow_save(g, NULL, &s, rows, NULL), 0);
    for (int k = 0; k < SHARDS; k++) {
        cut[k] = table(NULL, k, SHARDS);
        CHECK_INT(cr_grow_load(cut[k], &s, s.size, NULL), 0);
        copy_planes(g, cut[k], rows[1]);
        cr_grow_saved(cut[k]);
    }
    cr_grow_saved(g);
    cr_zch_state_clear(&s);
    train(g, NULL, 0, INT64_MAX, 6, STEPS);
    for (int k = 0; k < SHARDS; k++)
        train(cut[k], NULL, cr_grow_cut(&rules, k, SHARDS), cr_grow_cut(&rules, k + 1, SHARDS), 6,
              STEPS);
    write_all(&g, 1, CR_CTR_ALL, &want);
    write_all(cut, SHARDS, CR_CTR_ALL, &got);
    CHECK_STR(got.data, want.data);
    int64_t extended = 0;
    for (int k = 0; k < SHARDS; k++) {
        extended += cr_grow_extended(cut[k]);
        cr_grow_free(cut[k]);
    }
    CHECK_INT(extended, cr_grow_extended(g));
    cr_grow_free(g);
    cr_buf_clear(&want);
    cr_buf_clear(&got);
}

/* ---- text ---- */

TEST(text_and_back) {
    cr_buf want, got;
    cr_buf_init(&want);
    cr_buf_init(&got);
    cr_grow *g = table(NULL, 0, 1), *again = table(NULL, 0, 1);
    train(g, NULL, 0, INT64_MAX, 0, STEPS);
    write_all(&g, 1, CR_CTR_ALL, &want);
    for (int twice = 0; twice < 2; twice++)
        for (const char *p = want.data; *p;) {
            const char *end = strchr(p, '\n');
            int64_t id;
            float record[64];
            bool brief;
            CHECK_INT(cr_ctr_read(&some, X, p, (size_t)(end - p), &id, record, &brief, NULL), 0);
            CHECK_INT(cr_grow_read(again, id, record, brief, NULL), 0);
            p = end + 1;
        }
    write_all(&again, 1, CR_CTR_ALL, &got);
    CHECK_STR(got.data, want.data);
    CHECK_INT(cr_grow_extended(again), cr_grow_extended(g));
    train(g, NULL, 0, INT64_MAX, STEPS, STEPS + 3);
    train(again, NULL, 0, INT64_MAX, STEPS, STEPS + 3);
    write_all(&g, 1, CR_CTR_ALL, &want);
    write_all(&again, 1, CR_CTR_ALL, &got);
    CHECK_STR(got.data, want.data);
    cr_grow_free(g);
    cr_grow_free(again);
    cr_buf_clear(&want);
    cr_buf_clear(&got);
}

TEST(wrong_lines) {
    static const struct {
        const char *line, *says;
    } v[] = {
        {"", "column 1: '' is no id"},
        {"x 1 0 0 1 0 0 0 0 0.9 0.999", "column 1: 'x' is no id"},
        {"-1 1 0 0 1 0 0 0 0 0.9 0.999", "column 1: '-1' is no id"},
        {"9223372036854775807 1 0 0 1 0 0 0 0 0.9 0.999",
         "column 1: '9223372036854775807' is no id"},
        {"5", "column 2: a value is missing"},
        {"5 1 0 0 1 0 0 0 0 0.9", "column 11: a value is missing"},
        {"5 1 0 0 one 0 0 0 0 0.9 0.999", "column 5: 'one' is no such value"},
        {"5 1 0 0 nan 0 0 0 0 0.9 0.999", "column 5: 'nan' is no such value"},
        {"5 1 0 0 1e39 0 0 0 0 0.9 0.999", "column 5: '1e39' is no such value"},
        {"5  1 0 0 1 0 0 0 0 0.9 0.999", "column 2: a value is missing"},
        {"5 1 0 0 1 0 0 0 0 0.9 0.999 ", "column 12: a value is missing"},
        {"5 1 0 0 1 0 0 0 0 0.9 0.999 1", "column 13: a value is missing"},
        {"5 1 0 0 1 0 0 0 0 0.9 0.999 1 2 3 4 5 6 7", "column 18: there are more values"},
    };
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        cr_err err = {0};
        int64_t id;
        float record[64];
        bool brief;
        CHECK_INT(cr_ctr_read(&some, X, v[i].line, strlen(v[i].line), &id, record, &brief, &err),
                  CR_EDATA);
        if (strncmp(err.msg, v[i].says, strlen(v[i].says)) != 0) CHECK_STR(err.msg, v[i].says);
    }
    int64_t id;
    float record[64];
    bool brief;
    const char *full = "5 1 0 0 1 0 0 0 0 0.9 0.999 1 2 3 4 5 6",
               *less = "5 1 0 0 1 0 0 0 0 0.9 0.999";
    CHECK_INT(cr_ctr_read(&some, X, full, strlen(full), &id, record, &brief, NULL), 0);
    CHECK(!brief && id == 5);
    CHECK_INT(cr_ctr_read(&some, X, less, strlen(less), &id, record, &brief, NULL), 0);
    CHECK(brief);
}

TEST_MAIN(CASE(golden_rows), CASE(threads_and_shards), CASE(resting), CASE(state),
          CASE(text_and_back), CASE(wrong_lines))
