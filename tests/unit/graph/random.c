/*
 * random.c - graphs of random shape, run by the engine and computed by hand in double, whole batch
 * after whole batch: values, losses and gradients agree for every number of lanes, threads and rows
 * of a tile. Buffers that overlap, a gradient that is set where it should be added, a phase that
 * begins too early: each of them makes numbers wrong somewhere here.
 */
#include "base/rng.h"
#include "graph/work.h"
#include "unit/graph/toy.h"

#define ROWS     19
#define N_GRAPHS 60
#define MAX_OPS  24
#define MAX_N    (3 * MAX_OPS)

/* one node by hand: value and gradient for the whole batch */
typedef struct hand {
    double v[ROWS * 40], d[ROWS * 40];
} hand;
static hand hands[MAX_N + 8];

static uint64_t key;
static uint64_t drawn;
static int64_t below(int64_t n) {
    return (int64_t)cr_rng_below(key, drawn++, (uint64_t)n);
}

static float data[3][ROWS * 40];
static const toy_input input = {{data[0], data[1], data[2]}};

/* a graph over three sources of one width; its losses are nodes with `loss` */
static void build(cr_graph *g, uint64_t seed) {
    cr_graph_init(g, seed);
    key = cr_rng_key(seed, "graph", NULL);
    drawn = 0;
    int64_t width = 1 + below(40);
    cr_node *row[MAX_N], *param[6];
    int n = 0, n_param = 0;
    for (int k = 0; k < 3; k++)
        row[n++] = toy_source(g, k, width, k < 2);
    param[n_param++] = cr_graph_param(g, "a", 1, width, true, NULL, 0);
    param[n_param++] = cr_graph_param(g, "b", 1, width, true, NULL, 0);
    param[n_param++] = cr_graph_param(g, "c", 1, width, false, NULL, 0);
    param[n_param++] = toy_folded(g, param[below(3)], param[below(3)]);
    int64_t n_ops = 3 + below(MAX_OPS - 3);
    for (int64_t i = 0; i < n_ops; i++) {
        cr_node *x = row[below(n)], *z = row[below(n)], *y;
        switch (below(9)) {
        case 0: y = toy_scale(g, x, (float)(1 + below(3)) / 2); break;
        case 1:
        case 2: y = toy_plus(g, (cr_node *[]){x, z}, 2); break;
        case 3: y = toy_plus(g, (cr_node *[]){x, z, x}, 3); break;
        case 4:
        case 5: y = toy_times(g, x, param[below(n_param)]); break;
        case 6: y = toy_bell(g, x); break;
        case 7: y = toy_shift(g, x, toy_mean(g, z)); break;
        default: y = toy_last(g, x); break;
        }
        row[n++] = y;
        /* large numbers would hide small mistakes */
        row[n++] = toy_bell(g, y);
        if (below(4) == 0) row[n - 1]->output = true;
    }
    toy_total(g, row[n - 1]);
    if (below(2)) toy_total(g, row[below(n)]);
}

static double *val(const cr_node *n) {
    return hands[n->id].v;
}
static double *grad(const cr_node *n) {
    return hands[n->id].d;
}

static void forward(const cr_node *n) {
    int64_t w = n->width;
    double *y = val(n);
    if (!n->op || n->cls == CR_PARAM) {
        for (int64_t j = 0; j < w; j++)
            y[j] = n->op ? val(n->in[0])[j] * val(n->in[1])[j] : (double)n->w[j];
        return;
    }
    const double *x = n->n_in ? val(n->in[0]) : NULL;
    if (n->op == &toy_total_op || n->op == &toy_mean_op) {
        int64_t xw = n->in[0]->width;
        memset(y, 0, (size_t)w * sizeof(double));
        for (int64_t i = 0; i < ROWS * xw; i++)
            if (n->op == &toy_total_op)
                y[0] += (double)(1 + i / xw) * x[i];
            else
                y[i % xw] += x[i];
        return;
    }
    for (int64_t i = 0; i < ROWS * w; i++) {
        if (n->op == &toy_source_op)
            y[i] = (double)data[((const toy_source_attr *)n->attr)->k][i];
        else if (n->op == &toy_scale_op)
            y[i] = (double)*(const float *)n->attr * x[i];
        else if (n->op == &toy_times_op)
            y[i] = x[i] * val(n->in[1])[i % w];
        else if (n->op == &toy_bell_op)
            y[i] = 1 / (1 + x[i] * x[i]);
        else if (n->op == &toy_shift_op)
            y[i] = x[i] - val(n->in[1])[i % w] / ROWS;
        else if (n->op == &toy_last_op)
            y[i] = x[i] + x[(ROWS - 1) * w + i % w];
        else {
            y[i] = 0;
            for (int k = 0; k < n->n_in; k++)
                y[i] += val(n->in[k])[i];
        }
    }
}

static void backward(const cr_node *n) {
    int64_t w = n->width;
    const double *dy = grad(n);
    if (!n->op || n->n_in == 0) return;
    double *dx = grad(n->in[0]);
    const double *x = val(n->in[0]);
    if (n->cls == CR_PARAM) {
        for (int i = 0; i < 2; i++)
            for (int64_t j = 0; j < w; j++)
                grad(n->in[i])[j] += dy[j] * val(n->in[1 - i])[j];
        return;
    }
    if (n->op == &toy_total_op || n->op == &toy_mean_op) {
        int64_t xw = n->in[0]->width;
        for (int64_t i = 0; i < ROWS * xw; i++)
            dx[i] += n->op == &toy_total_op ? (double)(1 + i / xw) : dy[i % xw] / ROWS;
        return;
    }
    for (int64_t i = 0; i < ROWS * w; i++) {
        if (n->op == &toy_scale_op)
            dx[i] += (double)*(const float *)n->attr * dy[i];
        else if (n->op == &toy_bell_op)
            dx[i] += -2 * x[i] * val(n)[i] * val(n)[i] * dy[i];
        else if (n->op == &toy_times_op) {
            dx[i] += dy[i] * val(n->in[1])[i % w];
            grad(n->in[1])[i % w] += dy[i] * x[i];
        } else if (n->op == &toy_shift_op) {
            dx[i] += dy[i];
            grad(n->in[1])[i % w] -= dy[i];
        } else if (n->op == &toy_last_op) {
            dx[i] += dy[i];
            dx[(ROWS - 1) * w + i % w] += dy[i];
        } else {
            for (int k = 0; k < n->n_in; k++)
                grad(n->in[k])[i] += dy[i];
        }
    }
}

static bool near(double got, double want, double size) {
    return fabs(got - want) <= 2e-4 * (size + 1e-3);
}
static double largest(const double *v, int64_t n) {
    double m = 0;
    for (int64_t i = 0; i < n; i++)
        m = fabs(v[i]) > m ? fabs(v[i]) : m;
    return m;
}

/* how many numbers were compared; wrong ones are told once per node */
static int64_t compare_rows(const cr_node *n, const float *got, const double *want,
                            const char *what) {
    double size = largest(want, ROWS * n->width);
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t j = 0; j < n->width; j++) {
            double g = (double)got[r * cr_ld(n) + j], h = want[r * n->width + j];
            if (near(g, h, size)) continue;
            fprintf(stderr, "%s of %s, row %d, column %d: %.9g, by hand %.9g\n", what, n->name,
                    (int)r, (int)j, g, h);
            CHECK(near(g, h, size));
            return 0;
        }
    return ROWS * n->width;
}

static int64_t compare(const cr_graph *g, const toy_rig *k, cr_mode mode) {
    int64_t n_compared = 0;
    for (int i = 0; i < g->n; i++) {
        const cr_node *n = g->nodes[i];
        if (n->output) n_compared += compare_rows(n, cr_work_val(k->w, n), val(n), "the value");
        if (mode == CR_EVAL) continue;
        if (n->loss) CHECK(near(cr_work_whole(k->w, n, 0), val(n)[0], fabs(val(n)[0])));
        if (!cr_plan_has_grad(k->plan, n)) continue;
        if (n->op == &toy_source_op)
            n_compared += compare_rows(n, cr_work_grad(k->w, n), grad(n), "the gradient");
        if (n->cls != CR_PARAM || !n->trainable) continue;
        float d[40];
        cr_work_sum_grads(k->w, n->offset, n->width, d);
        double size = largest(grad(n), n->width);
        for (int64_t j = 0; j < n->width; j++)
            CHECK(near((double)d[j], grad(n)[j], size));
        n_compared += n->width;
    }
    return n_compared;
}

TEST(engine_and_hand_agree) {
    static const toy_opts opts[] = {
        {.threads = 0, .lanes = 1, .tile_rows = 64}, {.threads = 0, .lanes = 1, .tile_rows = 1},
        {.threads = 0, .lanes = 4, .tile_rows = 3},  {.threads = 2, .lanes = 8, .tile_rows = 2},
        {.threads = 3, .lanes = 32, .tile_rows = 5},
    };
    int64_t n_compared = 0;
    for (int k = 0; k < 3; k++)
        toy_fill(data[k], ROWS * 40, 5 + (uint64_t)k);
    for (uint64_t seed = 1; seed <= N_GRAPHS && !t_failed_checks; seed++) {
        cr_graph g;
        build(&g, seed);
        CHECK_INT(cr_graph_alloc(&g, NULL), CR_OK);
        for (int i = 0; i < g.n; i++)
            if (g.nodes[i]->cls == CR_PARAM && !g.nodes[i]->op)
                toy_fill(g.nodes[i]->w, g.nodes[i]->width, seed + (uint64_t)i);
        memset(hands, 0, sizeof(hands));
        for (int i = 0; i < g.n; i++)
            forward(g.nodes[i]);
        for (int i = g.n - 1; i >= 0; i--)
            backward(g.nodes[i]);
        for (size_t i = 0; i < sizeof(opts) / sizeof(opts[0]); i++)
            for (int mode = CR_TRAIN; mode <= CR_EVAL; mode++) {
                bool sums = false; /* inference has none, and no such values to give out */
                for (int k = 0; mode == CR_EVAL && k < g.n; k++)
                    sums = sums || g.nodes[k]->op == &toy_mean_op;
                if (sums) continue;
                toy_opts o = opts[i];
                o.mode = (cr_mode)mode;
                o.max_rows = ROWS;
                toy_rig rig = toy_open(&g, o);
                for (int again = 0; again < 2; again++) {
                    CHECK_INT(toy_run(&rig, &input, ROWS, NULL, NULL), CR_OK);
                    n_compared += compare(&g, &rig, o.mode);
                }
                toy_close(&rig);
            }
        if (t_failed_checks) fprintf(stderr, "graph of seed %d\n", (int)seed);
        cr_graph_clear(&g);
    }
    CHECK(n_compared > 100000);
    printf("%lld numbers compared\n", (long long)n_compared);
}

TEST_MAIN(CASE(engine_and_hand_agree))
