/*
 * emb_matmul.c - the layer over looked-up rows against the plain one: values, gradients of weights
 * and of table rows; features with one id, none, several and weighted ones, narrow and frozen
 * tables, dense floats; with and without other users of the same rows. And its own promises: a
 * row's value does not depend on its neighbours, results not on threads or tiles.
 */
#include "all_lanes.h"
#include "base/rng.h"
#include "emb/update.h"
#include "graph/work.h"
#include "harness.h"
#include "kern/kern.h"
#include "op/distinct.h"
#include "op/input.h"
#include "op/op.h"

enum { ROWS = 403, UNITS = 77, N_SPARSE = 6, DENSE = 3, LANES = 8 };

static void plain_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                      int64_t D) {
    (void)conf;
    (void)state;
    for (int64_t d = 0; d < D; d++)
        w[d] -= (float)s->lr * g[d];
}
static const cr_optim_type plain = {.name = "plain", .row = plain_row};
static const cr_optim_conf clipped = {.gradient_clipping = true, .max_gradient = 1e-4};

/* vocabulary, width, kind of rows */
static const struct {
    int64_t vocab, D;
    enum { ONE, SOME, MANY, WEIGHTED } kind;
    bool frozen;
} tables[N_SPARSE] = {{5, 16, ONE, 0},   {40, 24, SOME, 0},    {5000, 8, ONE, 0},
                      {30, 16, MANY, 0}, {12, 5, WEIGHTED, 0}, {7, 48, ONE, 1}};

typedef struct data {
    int32_t off[N_SPARSE][ROWS + 1];
    int64_t ids[N_SPARSE][ROWS * 3];
    float w[N_SPARSE][ROWS * 3], dense[ROWS * DENSE], label[ROWS];
    const float *labels[1];
    cr_jagged sparse[N_SPARSE];
    cr_batch b;
} data;

static data *make(void) {
    data *d = calloc(1, sizeof(*d));
    for (int f = 0; f < N_SPARSE; f++) {
        int32_t n = 0;
        for (int r = 0; r < ROWS; r++) {
            uint64_t k = cr_rng_u64((uint64_t)f + 10, (uint64_t)r);
            int len = tables[f].kind == ONE ? 1 : tables[f].kind == SOME ? k % 5 > 0 : (int)(k % 3);
            for (int i = 0; i < len; i++, n++) {
                double u = cr_rng_f64((uint64_t)f, (uint64_t)n);
                d->ids[f][n] = (int64_t)(u * u * (double)tables[f].vocab);
                d->w[f][n] = cr_rng_f32((uint64_t)f + 20, (uint64_t)n) + 0.5f;
            }
            d->off[f][r + 1] = n;
        }
        d->sparse[f] = (cr_jagged){.off = tables[f].kind == ONE ? NULL : d->off[f],
                                   .ids = d->ids[f],
                                   .w = tables[f].kind == WEIGHTED ? d->w[f] : NULL,
                                   .n_ids = n};
    }
    for (int i = 0; i < ROWS * DENSE; i++)
        d->dense[i] = cr_rng_f32(77, (uint64_t)i) - 0.5f;
    for (int i = 0; i < ROWS; i++)
        d->label[i] = (float)(cr_rng_u64(78, (uint64_t)i) % 2);
    d->labels[0] = d->label;
    d->b = (cr_batch){.n_rows = ROWS,
                      .n_sparse = N_SPARSE,
                      .sparse = d->sparse,
                      .dense_width = DENSE,
                      .dense = d->dense,
                      .n_labels = 1,
                      .labels = d->labels};
    return d;
}

typedef struct net {
    cr_graph g;
    cr_table t[N_SPARSE];
    cr_node *x, *y, *out, *W, *bias;
} net;

typedef struct kind {
    bool shared, relu, other, clip;
    int64_t units;
    int products; /* cr_products */
    bool some;    /* a part of the columns */
} kind;

static void build(net *m, kind k) {
    cr_graph_init(&m->g, 3);
    m->g.products = k.products;
    cr_look look[N_SPARSE + 2] = {0};
    int n = 0;
    look[n++] = (cr_look){.dense_off = 0, .width = 2};
    for (int f = 0; f < N_SPARSE; f++) {
        cr_table_spec s = {"t",
                           tables[f].vocab,
                           tables[f].D,
                           0,
                           !tables[f].frozen,
                           &plain,
                           k.clip && f == 0 ? &clipped : NULL};
        CHECK_INT(cr_table_init(&m->t[f], &s, NULL), 0);
        for (int64_t i = 0; i < s.n_rows; i++)
            for (int64_t d = 0; d < s.D; d++)
                cr_table_row(&m->t[f], i)[d] =
                    cr_rng_f32((uint64_t)f + 40, (uint64_t)(i * s.D + d)) - 0.5f;
        look[n++] = (cr_look){.table = &m->t[f], .slot = f, .mean = f == 3, .width = s.D};
    }
    look[n++] = (cr_look){.dense_off = 2, .width = 1};
    m->x = cr_lookup(&m->g, look, n);
    /* tables 1 to 3, as a group that is part of another has them */
    int64_t from = 2 + tables[0].D;
    cr_node *x =
        k.some ? cr_slice(&m->g, m->x, from, tables[1].D + tables[2].D + tables[3].D) : m->x;
    m->W = cr_graph_param(&m->g, "w", k.units, x->width, true, NULL, 0);
    m->bias = cr_graph_param(&m->g, "b", 1, k.units, true, NULL, 0);
    m->y = k.shared ? cr_emb_matmul(&m->g, x, m->W, m->bias, k.relu)
                    : cr_matmul_each(&m->g, x, m->W, m->bias, k.relu, 1);
    CHECK(m->y != NULL);
    CHECK((m->y->op == &cr_op_emb_matmul) == k.shared);
    m->y->output = true;
    cr_node *W2 = cr_graph_param(&m->g, "w2", 1, k.units, true, NULL, 0);
    cr_node *logit = cr_matmul(&m->g, m->y, W2, NULL, false);
    if (k.other)
        logit = cr_add(&m->g, (cr_node *[]){logit, cr_row_sum(&m->g, cr_mul(&m->g, m->x, m->x))},
                       (float[]){1, 0.1f}, 2);
    logit->output = true;
    m->out = logit;
    cr_mean_loss(&m->g, cr_bce(&m->g, logit, cr_label(&m->g, 0), 0), -1);
    cr_codes_finish(&m->g);
    CHECK_INT(cr_graph_alloc(&m->g, NULL), 0);
    for (int i = 0; i < m->g.n; i++)
        for (int64_t j = 0; m->g.nodes[i]->cls == CR_PARAM && j < m->g.nodes[i]->width; j++)
            m->g.nodes[i]->w[j] =
                (cr_rng_f32(5, (uint64_t)(m->g.nodes[i]->offset + j)) - 0.5f) * 0.3f;
}

static void clear(net *m) {
    for (int f = 0; f < N_SPARSE; f++)
        cr_table_clear(&m->t[f]);
    cr_graph_clear(&m->g);
}

/* what one step gives: values, gradients of the parameters, moved tables */
typedef struct result {
    float *y, *grad, *moved;
    int64_t n_y, n_grad, n_moved;
} result;

static void free_result(result *r) {
    free(r->y), free(r->grad), free(r->moved);
}

static result step(kind k, int threads, int64_t tile) {
    data *d = make();
    net m;
    build(&m, k);
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, threads, NULL), 0);
    cr_plan *plan;
    cr_work *w;
    cr_plan_opts o = {
        .graph = &m.g, .mode = CR_TRAIN, .max_rows = ROWS + 5, .lanes = LANES, .tile_rows = tile};
    CHECK_INT(cr_plan_new(&plan, &o, NULL), 0);
    CHECK_INT(cr_work_new(&w, plan, pool, NULL), 0);
    cr_plan_pack(plan, pool);
    cr_updater *up = cr_updater_new(all_lanes(LANES), pool);
    for (int f = 0; f < N_SPARSE; f++) {
        int count;
        const cr_look *look = cr_lookup_pieces(m.x, &count) + f + 1;
        cr_use use = {.slot = f,
                      .mean = look->mean,
                      .grad = cr_work_grad(w, m.x) + look->out,
                      .ld = cr_ld(m.x),
                      .shared = cr_lookup_shared(w, m.x, f + 1)};
        if (!tables[f].frozen) cr_updater_add(up, &m.t[f], &use, 1);
    }
    cr_updater_group(up, &d->b, NULL);
    cr_step_input in = {.batch = &d->b};
    CHECK_INT(cr_work_run(w, &(cr_run){.input = &in, .n_rows = ROWS, .step = 1}, NULL), 0);
    cr_updater_apply(up, &(cr_optim_step){.lr = 1, .t = 1});
    result r = {.n_y = ROWS * k.units, .n_grad = m.g.n_trainable};
    r.y = calloc((size_t)r.n_y, sizeof(float));
    r.grad = calloc((size_t)r.n_grad, sizeof(float));
    for (int64_t i = 0; i < ROWS; i++)
        memcpy(r.y + i * k.units, cr_work_val(w, m.y) + i * cr_ld(m.y),
               (size_t)k.units * sizeof(float));
    cr_work_sum_grads(w, 0, r.n_grad, r.grad);
    for (int f = 0; f < N_SPARSE; f++)
        r.n_moved += tables[f].vocab * tables[f].D;
    r.moved = calloc((size_t)r.n_moved, sizeof(float));
    int64_t at = 0;
    for (int f = 0; f < N_SPARSE; f++)
        for (int64_t i = 0; i < tables[f].vocab; i++, at += tables[f].D)
            cr_table_get(&m.t[f], i, r.moved + at);
    cr_updater_free(up);
    cr_work_free(w);
    cr_plan_free(plan);
    cr_pool_free(pool);
    clear(&m);
    free(d);
    return r;
}

static void near(const float *a, const float *b, int64_t n, double tol) {
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++)
        bad += !(fabs((double)a[i] - (double)b[i]) <= tol);
    CHECK_INT(bad, 0);
}

TEST(as_the_plain_layer) {
    for (int i = 0; i < 24; i++) {
        kind k = {true, i & 1, i & 2, i & 4, i % 12 < 8 ? UNITS : 300, 0, i >= 12};
        result a = step(k, 2, 0);
        k.shared = false;
        result b = step(k, 2, 0);
        near(a.y, b.y, a.n_y, 2e-6);
        near(a.grad, b.grad, a.n_grad, 2e-6);
        near(a.moved, b.moved, a.n_moved, 2e-6);
        free_result(&a), free_result(&b);
    }
}

/* also of the plain layer with rounded products, which are never shared */
TEST(same_bits) {
    static const int kinds[] = {0, CR_PRODUCTS_BF16, CR_PRODUCTS_BF16X3};
    for (int i = 0; i < 24; i++) {
        kind k = {!kinds[i / 4 % 3], i & 1, i & 2, false, 300, kinds[i / 4 % 3], i >= 12};
        result a = step(k, 1, 0);
        for (int threads = 1; threads <= 3 + CR_CPU_LEVELS; threads++) {
            cr_cpu_level level = threads > 3 ? (cr_cpu_level)(threads - 4) : cr_cpu_level_max();
            if (!cr_kern_at(level)) continue;
            /* one part: the order of sums is the same on most levels only */
            if (k.products == CR_PRODUCTS_BF16 &&
                strcmp(cr_kern_order(level), cr_kern_order(cr_cpu_level_max())) != 0)
                continue;
            setenv("CRANK_CPU", cr_cpu_level_name(level), 1);
            cr_kern_init();
            result b = step(k, threads > 3 ? 2 : threads, threads == 1 ? 14 : 56);
            unsetenv("CRANK_CPU");
            cr_kern_init();
            CHECK(memcmp(a.y, b.y, (size_t)a.n_y * sizeof(float)) == 0);
            CHECK(memcmp(a.grad, b.grad, (size_t)a.n_grad * sizeof(float)) == 0);
            CHECK(memcmp(a.moved, b.moved, (size_t)a.n_moved * sizeof(float)) == 0);
            free_result(&b);
        }
        free_result(&a);
    }
}

/* columns that end within a block, and rounded products, are another layer's work */
TEST(odd_columns) {
    cr_graph g;
    cr_graph_init(&g, 3);
    cr_table t = {.n_rows = 9, .D = 16, .trainable = true};
    cr_look look[3] = {{.dense_off = 0, .width = 2},
                       {.table = &t, .slot = 0, .width = 16},
                       {.table = &t, .slot = 1, .width = 16}};
    cr_node *x = cr_lookup(&g, look, 3), *W = cr_graph_param(&g, "w", 40, 20, true, NULL, 0);
    cr_node *V = cr_graph_param(&g, "v", 40, 16, true, NULL, 0);
    CHECK(cr_emb_matmul(&g, cr_slice(&g, x, 2, 20), W, NULL, false) == NULL);
    CHECK(cr_emb_matmul(&g, cr_slice(&g, x, 6, 20), W, NULL, false) == NULL);
    CHECK(cr_emb_matmul(&g, cr_slice(&g, x, 18, 16), V, NULL, false) != NULL);
    g.products = CR_PRODUCTS_BF16;
    CHECK(cr_emb_matmul(&g, cr_slice(&g, x, 18, 16), V, NULL, false) == NULL);
    cr_graph_clear(&g);
}

/* rows [from, from + n) of the data as a batch of their own */
static void part(const data *d, data *to, int64_t from, int64_t n) {
    *to = *d;
    for (int f = 0; f < N_SPARSE; f++) {
        to->sparse[f].off = d->sparse[f].off ? d->off[f] + from : NULL;
        to->sparse[f].ids = d->sparse[f].off ? d->ids[f] : d->ids[f] + from;
        to->sparse[f].w = d->sparse[f].w ? d->w[f] : NULL;
    }
    to->b.sparse = to->sparse;
    to->b.n_rows = n;
    to->b.dense = d->dense + from * DENSE;
    to->labels[0] = d->label + from;
    to->b.labels = to->labels;
}

static void neighbours(int products) {
    data *d = make(), *p = malloc(sizeof(*p));
    kind k = {!products, true, true, false, UNITS, products, false};
    net m;
    build(&m, k);
    result train = step(k, 1, 0);
    for (int threads = 1; threads <= 2; threads++)
        for (int64_t n = 1; n <= ROWS; n = n * 3 + 1) {
            cr_pool *pool;
            CHECK_INT(cr_pool_new(&pool, threads, NULL), 0);
            cr_plan *plan;
            cr_work *w;
            cr_plan_opts o = {.graph = &m.g, .mode = CR_EVAL, .max_rows = n, .lanes = LANES};
            CHECK_INT(cr_plan_new(&plan, &o, NULL), 0);
            CHECK_INT(cr_work_new(&w, plan, pool, NULL), 0);
            cr_plan_pack(plan, pool);
            int64_t bad = 0;
            for (int64_t r = 0; r < ROWS; r += n) {
                part(d, p, r, ROWS - r < n ? ROWS - r : n);
                cr_step_input in = {.batch = &p->b};
                CHECK_INT(cr_work_run(w, &(cr_run){.input = &in, .n_rows = p->b.n_rows}, NULL), 0);
                for (int64_t i = 0; i < p->b.n_rows; i++)
                    bad += memcmp(cr_work_val(w, m.y) + i * cr_ld(m.y), train.y + (r + i) * UNITS,
                                  UNITS * sizeof(float)) != 0;
            }
            CHECK_INT(bad, 0);
            cr_work_free(w);
            cr_plan_free(plan);
            cr_pool_free(pool);
        }
    free_result(&train);
    clear(&m);
    free(d);
    free(p);
}

TEST(neighbours_do_not_matter) {
    neighbours(0);
    neighbours(CR_PRODUCTS_BF16);
    neighbours(CR_PRODUCTS_BF16X3);
}

/* the cases above must really share: few codes where ids repeat, one per row where they do not */
TEST(codes_of_equal_ids) {
    data *d = make();
    kind k = {true, true, false, true, UNITS, 0, false};
    net m;
    build(&m, k);
    cr_node *codes = cr_codes(&m.g, m.x);
    codes->output = true;
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, 1, NULL), 0);
    cr_plan *plan;
    cr_work *w;
    cr_plan_opts o = {.graph = &m.g, .mode = CR_TRAIN, .max_rows = ROWS, .lanes = 1};
    CHECK_INT(cr_plan_new(&plan, &o, NULL), 0);
    CHECK_INT(cr_work_new(&w, plan, pool, NULL), 0);
    cr_plan_pack(plan, pool);
    cr_step_input in = {.batch = &d->b};
    CHECK_INT(cr_work_run(w, &(cr_run){.input = &in, .n_rows = ROWS, .step = 1}, NULL), 0);
    int n;
    const cr_block *b = cr_codes_blocks(codes, &n);
    const int32_t *code = (const int32_t *)(const void *)cr_work_val(w, codes);
    int64_t width = 0;
    for (int i = 0; i < n; i++) {
        int32_t most = 0;
        for (int64_t r = 0; r < ROWS; r++) {
            int32_t c = code[r * cr_ld(codes) + i];
            CHECK(c <= most);
            if (c == most) most++;
        }
        int f = b[i].piece - 1;
        bool repeats = b[i].piece >= 0 && tables[f].vocab < 100 && tables[f].kind != MANY;
        if (f == 0) repeats = false; /* clipped: every row has its own gradient */
        CHECK_INT(most < ROWS, repeats);
        if (repeats) CHECK(most <= tables[f].vocab + 1);
        CHECK_INT(b[i].off, width);
        width += b[i].width;
    }
    CHECK_INT(width, m.x->width);
    CHECK(n >= 5);
    cr_work_free(w);
    cr_plan_free(plan);
    cr_pool_free(pool);
    clear(&m);
    free(d);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(as_the_plain_layer), CASE(same_bits), CASE(odd_columns),
                                   CASE(neighbours_do_not_matter), CASE(codes_of_equal_ids)};
    cr_kern_init();
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
