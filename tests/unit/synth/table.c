/*
 * Rows of a described table: what its columns and labels promise holds in the text, maps hold the
 * keys of their rows, and the teacher's score is that of an independent computation.
 */
#include <math.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "harness.h"
#include "synth/synth_int.h"

static char root[] = "/tmp/crank_test_XXXXXX";
static cr_arena arena;

enum { ID, WORD, NUM, LIST, SEQ, SEQ2, MAP, NEST, N_COLS };
static cr_tab_col cols[N_COLS];
static const char *const words[] = {"red", "green", "bl,\"ue"};
static cr_tab_label labels[] = {{"click", 2, -1, NULL, false},
                                {"buy", 1, 0, NULL, false},
                                {"grade", 5, -1, NULL, false},
                                {"time", 0, -1, NULL, false}};
static const char *const weights[] = {"w"};
static int order[N_COLS + 5];

static cr_synth_table table(void) {
    static const char *const names[] = {"id", "word", "num", "list", "seq", "seq2", "map", "nest"};
    for (int i = 0; i < N_COLS; i++)
        cr_tab_col_init(&cols[i], names[i]);
    cols[ID].value = (cr_tab_value){.leaf = CR_TAB_INT, .lo = 10, .card = 20};
    cols[WORD].value = (cr_tab_value){.leaf = CR_TAB_WORD, .card = 3, .words = words};
    cols[NUM].value = (cr_tab_value){.leaf = CR_TAB_REAL, .knots = {-1, 0, 100}, .n_knots = 3};
    cols[LIST].value = (cr_tab_value){.leaf = CR_TAB_INT, .card = 8};
    cols[LIST].max_values = 4;
    cols[LIST].sep = "|";
    cols[SEQ].seq = cols[SEQ2].seq = true;
    cols[SEQ].max_steps = 6;
    cols[SEQ2].steps_of = SEQ;
    cols[SEQ2].min_values = cols[SEQ2].max_values = 2;
    cols[SEQ2].sep = "+";
    cols[MAP].pairs = CR_TAB_PAIRS;
    cols[MAP].value = (cr_tab_value){.leaf = CR_TAB_INT, .card = 5};
    cols[MAP].keys[0] = ID;
    cols[MAP].n_keys = 1;
    cols[MAP].sep = "|";
    cols[NEST].pairs = CR_TAB_NESTED;
    cols[NEST].keys[0] = ID;
    cols[NEST].n_keys = 1;
    cols[NEST].skeys[0] = LIST;
    cols[NEST].n_skeys = 1;
    for (int i = 0; i < N_COLS + 5; i++)
        order[i] = i;
    return (cr_synth_table){.name = "test",
                            .cols = cols,
                            .n_cols = N_COLS,
                            .labels = labels,
                            .n_labels = 4,
                            .weights = weights,
                            .n_weights = 1,
                            .order = order,
                            .n_order = N_COLS + 5,
                            .delimiter = ",",
                            .header = true,
                            .config = "# nothing\n"};
}

static int count(const char *s, char c) {
    int n = 0;
    for (; *s; s++)
        n += *s == c;
    return n;
}

TEST(cells) {
    cr_synth_table t = table();
    synth_tab s;
    cr_tab_init(&s, &t, 3);
    tab_row r;
    cr_tab_row_init(&r, &s, &arena);
    cr_buf b;
    cr_buf_init(&b);
    int hits = 0, nested = 0, negative = 0, unseen = 0, empty = 0, quoted = 0, n = 4000;
    int ones = 0, both = 0, grades[5] = {0};
    for (int i = 0; i < n; i++) {
        cr_tab_row_draw(&s, 0, i, &r);
        int64_t id = cr_tab_int(&s.v[ID], r.cells[ID].v[0].k);
        CHECK(id >= 10 && id < 30);
        double x = r.cells[NUM].v[0].x;
        CHECK(x >= -1 && x <= 100);
        negative += x < 0;
        unseen += r.cells[WORD].v[0].k >= 3;
        CHECK(r.cells[LIST].n >= 1 && r.cells[LIST].n <= 4);
        CHECK(r.cells[SEQ].n_steps <= 6);
        CHECK_INT(r.cells[SEQ2].n_steps, r.cells[SEQ].n_steps);
        CHECK_INT(r.cells[SEQ2].n, 2 * r.cells[SEQ].n_steps);
        empty += r.cells[SEQ].n_steps == 0;
        cr_buf_reset(&b);
        cr_tab_csv_row(&b, &s, &r);
        char *key = cr_arena_printf(&arena, "%lld:", (long long)id);
        char *at = strstr(b.data, key);
        hits += at && (at[-1] == ',' || at[-1] == '|');
        nested += strstr(b.data, cr_arena_printf(&arena, "%lld^", (long long)id)) != NULL;
        quoted += strstr(b.data, "\"bl,\"\"ue\"") != NULL;
        CHECK_INT(count(b.data, '\n'), 1);
        ones += r.y[0] == 1;
        both += r.y[1] == 1;
        CHECK(r.y[1] == 0 || r.y[0] == 1);
        CHECK(r.y[2] >= 0 && r.y[2] <= 4 && r.y[2] == rint(r.y[2]));
        grades[(int)r.y[2]]++;
        CHECK(r.w[0] >= 5 && r.w[0] <= 20);
    }
    CHECK(hits > n * 8 / 10);
    CHECK(nested > n * 8 / 10);
    CHECK_NEAR(negative, n / 2.0, 0, 0.1); /* half of the draws lie in each stretch */
    CHECK(unseen > n / 64 && unseen < n / 16);
    CHECK(empty > n / 100 && empty < n / 25);
    CHECK(quoted > n / 10);
    CHECK_NEAR(ones, 0.3 * n, 0, 0.15);
    CHECK(both > n / 20 && both < ones);
    for (int k = 0; k < 5; k++)
        CHECK(grades[k] > n / 20);
    cr_buf_clear(&b);
    cr_tab_clear(&s);
}

/* the share of (one, zero) pairs in the right order, by counting */
TEST(teacher_score) {
    cr_synth_table t = table();
    cr_pool *pool;
    cr_err err;
    CHECK_INT(cr_pool_new(&pool, 2, &err), CR_OK);
    cr_synth_result res = {0};
    cr_synth_opts o = {.table = &t,
                       .rows = 500,
                       .eval_rows = 1500,
                       .seed = 3,
                       .dir = cr_arena_printf(&arena, "%s/score", root),
                       .result = &res};
    CHECK_INT(cr_synth(&o, pool, &err), CR_OK);
    synth_tab s;
    cr_tab_init(&s, &t, 3);
    tab_row r;
    cr_tab_row_init(&r, &s, &arena);
    double p[1500], right = 0, pairs = 0;
    bool y[1500];
    for (int i = 0; i < 1500; i++) {
        cr_tab_row_draw(&s, 1, i, &r);
        p[i] = (double)(float)log(r.p[1] / (1 - r.p[1]));
        y[i] = r.y[1] == 1;
    }
    for (int i = 0; i < 1500; i++)
        for (int k = 0; k < 1500; k++)
            if (y[i] && !y[k]) {
                pairs++;
                right += p[i] > p[k] ? 1 : p[i] == p[k] ? 0.5 : 0;
            }
    CHECK_INT(res.n_labels, 4);
    CHECK_STR(res.labels[1].name, "buy");
    CHECK_NEAR(res.labels[1].auc, right / pairs, 1e-9, 0);
    CHECK(res.labels[0].auc > 0.8 && res.labels[0].auc < 0.9);
    CHECK(isnan(res.labels[2].auc) && isnan(res.labels[3].auc));
    cr_buf b;
    cr_buf_init(&b);
    CHECK_INT(cr_file_read(cr_arena_printf(&arena, "%s/score/pipeline.yaml", root), 0, &b, &err),
              CR_OK);
    CHECK_STR(b.data, "# nothing\n");
    cr_buf_clear(&b);
    cr_tab_clear(&s);
    /* a folder that cannot be made is told, and nothing is left */
    o.dir = "/proc/nowhere";
    CHECK(cr_synth(&o, pool, &err) != CR_OK);
    cr_pool_free(pool);
}

/* labels that wait for each other are drawn all the same */
TEST(labels_in_a_circle) {
    cr_synth_table t = table();
    cr_tab_label circle[] = {{"a", 2, 1, NULL, false},
                             {"b", 2, 0, NULL, false},
                             {"c", 2, 0, NULL, false}};
    t.labels = circle;
    t.n_labels = 3;
    synth_tab s;
    cr_tab_init(&s, &t, 1);
    bool seen[3] = {false};
    for (int i = 0; i < 3; i++)
        seen[s.labels[i]] = true;
    CHECK(seen[0] && seen[1] && seen[2]);
    cr_tab_clear(&s);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(cells), CASE(teacher_score), CASE(labels_in_a_circle)};
    if (!mkdtemp(root)) return 1;
    cr_arena_init(&arena, 0);
    int rc = t_run(cases, sizeof cases / sizeof *cases, argc, argv);
    if (cr_rmtree(root, NULL) != CR_OK) rc = 1;
    cr_arena_clear(&arena);
    return rc;
}
