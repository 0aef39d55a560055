/*
 * shards.c - tables in shards: a batch gets the rows of its ids, asked for now or ahead; and when
 * there is no memory for them, that is an error with a message. (tests/unit/run/holders.c compares
 * whole trainings over several holders.)
 */
#include "emb/shards.h"

#include "base/rng.h"
#include "harness.h"
#include "holders.h"
#include "kern/kern.h"

enum { ROWS = 5000, D = 12, IDS = 3000, TABLES = 2, BATCHES = 3 };

typedef struct trial {
    bool starved; /* each allocation fails once; for one holder: the others would wait */
    bool ahead;   /* ids are sent ahead where that is possible */
    int failures;
} trial;

static float value(int table, int64_t row, int64_t col) {
    return (float)(table * 1000 + row % 977) + (float)col / 16;
}

/* Ascending ids that differ by batch and holder, some of them close together. */
static int64_t ids_of(int batch, int self, int64_t *id) {
    int64_t n = 0;
    uint64_t key = (uint64_t)(100 * batch + self);
    for (int64_t r = 0; r < ROWS && n < IDS; r++)
        if (cr_rng_below(key, (uint64_t)r, (uint64_t)(2 + batch)) == 0) id[n++] = r;
    return n;
}

/* Does a call again as long as it fails for want of memory: at first the first allocation fails;
 * then one succeeds, and the next one fails. What was sent ahead is asked for anew. */
#define AGAIN(t, code, call)                                                                       \
    do {                                                                                           \
        uint64_t k_ = 1;                                                                           \
        do {                                                                                       \
            cr_alloc_fail_after((t)->starved ? k_ : 0);                                            \
            code = (call);                                                                         \
            cr_alloc_fail_after(0);                                                                \
            k_ = 2;                                                                                \
            if (code == CR_OK) break;                                                              \
            sure = false;                                                                          \
            CHECK_INT(code, CR_ENOMEM);                                                            \
            CHECK(strstr(err.msg, "no memory for rows of a batch from other ranks") != NULL);      \
            (t)->failures++;                                                                       \
        } while ((t)->starved && code == CR_ENOMEM);                                               \
        CHECK_INT(code, CR_OK);                                                                    \
    } while (0)

/* All tables are asked for, then the last call makes them come. */
static cr_code fetch_all(const cr_owner **o, const int64_t *id, int64_t n, float rows[][IDS * D],
                         bool asked, cr_err *err) {
    for (int i = 0; i < TABLES; i++)
        CR_TRY(o[i]->fetch(o[i]->ctx, id, n, rows[i], D, asked, err));
    for (int i = 0; i < TABLES; i++)
        CR_TRY(o[i]->fetched(o[i]->ctx, err));
    return CR_OK;
}

static cr_code ask_all(const cr_owner **o, const int64_t *id, int64_t n, bool *sure, cr_err *err) {
    for (int i = 0; i < TABLES; i++)
        o[i]->ask(o[i]->ctx, id, n, true);
    for (int i = 0; i < TABLES; i++)
        CR_TRY(o[i]->asked(o[i]->ctx, sure, err));
    return CR_OK;
}

static void hold(holder *h, void *ctx) {
    static const cr_shard_kind kinds[TABLES] = {CR_ROW_WISE, CR_COLUMN_WISE};
    static const int everyone[] = {0, 1, 2};
    trial *t = ctx;
    cr_arena a;
    cr_err err;
    cr_code code;
    cr_pool *pool;
    cr_placing placing[TABLES];
    const cr_owner *o[TABLES];
    int64_t *id = calloc(BATCHES * IDS, sizeof *id);
    float(*rows)[IDS * D] = calloc(TABLES, sizeof *rows);
    cr_arena_init(&a, 0);
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    cr_shards *s = cr_shards_new(&h->meet, pool);
    for (int i = 0; i < TABLES; i++) {
        cr_table_spec spec = {.name = "t", .n_rows = ROWS, .D = D};
        placing[i] = cr_placing_make(&a, kinds[i], ROWS, D, everyone, h->of->n, 0);
        CHECK_INT(cr_shards_add(s, &spec, &placing[i], NULL, &o[i], NULL), 0);
        for (int k = 0; k < o[i]->n_held; k++) {
            const cr_table *held = &o[i]->held[k];
            for (int64_t r = 0; r < held->n_rows; r++)
                for (int64_t c = 0; c < held->D; c++)
                    cr_table_row(held, r)[c] = value(i, held->row0 + r, held->col0 + c);
        }
    }
    bool sure = false;
    int64_t n = ids_of(0, h->number, id), wrong = 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        const int64_t *now = id + batch * IDS;
        AGAIN(t, code, fetch_all(o, now, n, rows, sure, &err));
        for (int i = 0; i < TABLES; i++)
            for (int64_t k = 0; k < n; k++)
                for (int64_t c = 0; c < D; c++)
                    wrong += rows[i][k * D + c] != value(i, now[k], c);
        sure = false;
        if (batch + 1 == BATCHES) break;
        n = ids_of(batch + 1, h->number, id + (batch + 1) * IDS);
        if (t->ahead) AGAIN(t, code, ask_all(o, id + (batch + 1) * IDS, n, &sure, &err));
        CHECK(sure == t->ahead);
    }
    CHECK_INT(wrong, 0);
    cr_shards_free(s);
    cr_pool_free(pool);
    cr_arena_clear(&a);
    free(id);
    free(rows);
}

static const int splits[][MAX_HOLDERS + 1] = {{4}, {2, 2}, {1, 2, 1}};

TEST(rows_come) {
    cr_kern_init();
    for (int i = 0; i < 6; i++) {
        holders hs;
        holders_run(&hs, splits[i / 2], hold, &(trial){.ahead = i % 2});
    }
}

TEST(no_memory) {
    cr_kern_init();
    for (int i = 0; i < 2; i++) {
        holders hs;
        trial t = {.starved = true, .ahead = i};
        holders_run(&hs, splits[0], hold, &t);
        CHECK(t.failures > 6);
    }
}

TEST_MAIN(CASE(rows_come), CASE(no_memory))
