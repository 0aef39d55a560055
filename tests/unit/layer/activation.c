/*
 * activation.c - activations by the names of configs: what the table reads, what it refuses, and
 * values and gradients as torch has them (tests/golden/data/act.txt).
 */
#include <math.h>

#include "graph/work.h"
#include "graph/gradcheck.h"
#include "harness.h"
#include "kern/kern.h"
#include "layer/layer.h"
#include "op/op.h"

#include "../../golden/golden.h"

static cr_act_spec ok(const char *text) {
    cr_act_spec s;
    cr_err err;
    cr_code code = cr_act_parse(&s, text, &err);
    if (code != CR_OK) fprintf(stderr, "%s: %s\n", text, err.msg);
    CHECK_INT(code, 0);
    return s;
}

TEST(names) {
    CHECK_INT(ok("").kind, CR_ACTK_NONE);
    CHECK_INT(ok("  ").kind, CR_ACTK_NONE);
    CHECK_INT(ok("nn.ReLU").act, CR_ACT_RELU);
    CHECK_INT(ok("torch.nn.ReLU()").act, CR_ACT_RELU);
    CHECK_INT(ok(" nn.ReLU( inplace = True ) ").act, CR_ACT_RELU);
    CHECK_INT(ok("nn.GELU").act, CR_ACT_GELU);
    CHECK_INT(ok("nn.GELU(approximate=\"none\")").act, CR_ACT_GELU);
    CHECK_INT(ok("nn.GELU(approximate='tanh')").act, CR_ACT_GELU_TANH);
    CHECK_INT(ok("nn.GELU('tanh')").act, CR_ACT_GELU_TANH);
    CHECK_INT(ok("Dice").kind, CR_ACTK_DICE);
    CHECK_NEAR(ok("nn.LeakyReLU(negative_slope=0.2)").p[0], 0.2, 1e-6, 0);
    CHECK_NEAR(ok("nn.LeakyReLU(0.3, True)").p[0], 0.3, 1e-6, 0);
    CHECK_NEAR(ok("nn.LeakyReLU").p[0], 0.01, 1e-6, 0);
    CHECK_NEAR(ok("nn.ELU(alpha=0.5)").p[0], 0.5, 0, 0);
    CHECK_NEAR(ok("nn.PReLU").p[1], 0.25, 0, 0);
    CHECK_NEAR(ok("nn.PReLU(num_parameters=8)").p[0], 8, 0, 0);
    CHECK_NEAR(ok("nn.PReLU(8, 0.5)").p[1], 0.5, 0, 0);
    CHECK_NEAR(ok("nn.Softplus(threshold=3, beta=2)").p[1], 3, 0, 0);
    CHECK_NEAR(ok("nn.Hardtanh(-2, max_val=3)").p[1], 3, 0, 0);
}

static void bad(const char *text, const char *message) {
    cr_act_spec s;
    cr_err err;
    CHECK_INT(cr_act_parse(&s, text, &err), CR_ECONF);
    CHECK_STR(err.msg, message);
}

TEST(mistakes) {
    bad("nn.Relu6", "unknown activation 'nn.Relu6'; did you mean 'nn.ReLU6'? (\"\" means none)");
    bad("dice", "unknown activation 'dice'; did you mean 'Dice'? (\"\" means none)");
    bad("tf.nn.relu", "unknown activation 'tf.nn.relu'; 'crank help activations' lists those that "
                      "there are, and \"\" for none");
    bad("nn.Tanh(1)", "activation 'nn.Tanh(1)': cannot read '1'; Tanh takes no arguments");
    bad("nn.ELU(beta=1)",
        "activation 'nn.ELU(beta=1)': cannot read 'beta=1'; ELU takes alpha=<number>");
    bad("nn.ELU(alpha=1/2)", "activation 'nn.ELU(alpha=1/2)': cannot read the number '1/2'; ELU "
                             "takes alpha=<number>");
    bad("nn.ELU(alpha=inf)", "activation 'nn.ELU(alpha=inf)': cannot read the number 'inf'; ELU "
                             "takes alpha=<number>");
    bad("nn.ELU(1, alpha=1)", "activation 'nn.ELU(1, alpha=1)': an argument is given twice: "
                              "'alpha=1'; ELU takes alpha=<number>");
    bad("nn.Softplus(beta=1, 3)", "activation 'nn.Softplus(beta=1, 3)': cannot read '3'; Softplus "
                                  "takes beta=<number>, threshold=<number>");
    bad("nn.Softplus(beta=0)",
        "activation 'nn.Softplus(beta=0)': beta is 0 and must be other than 0");
    bad("nn.CELU(alpha=-1)", "activation 'nn.CELU(alpha=-1)': alpha is -1 and must be above 0");
    bad("nn.Softshrink(lambd=-1)",
        "activation 'nn.Softshrink(lambd=-1)': lambd is -1 and must be at least 0");
    bad("nn.PReLU(1.5)", "activation 'nn.PReLU(1.5)': num_parameters is 1.5 and must be a whole "
                         "number, 1 or the width of the layer");
    bad("nn.ReLU(inplace=1)", "activation 'nn.ReLU(inplace=1)': inplace is 1; write True or False, "
                              "or leave it out, as it changes nothing here");
    bad("nn.GELU(inplace=True)", "activation 'nn.GELU(inplace=True)': cannot read 'inplace=True'; "
                                 "GELU takes approximate='none' or 'tanh'");
    bad("nn.GELU(approximate='fast')",
        "activation 'nn.GELU(approximate='fast')': approximate cannot be ''fast''; GELU takes "
        "approximate='none' or 'tanh'");
    bad("nn.GELU(approximate=tanh)",
        "activation 'nn.GELU(approximate=tanh)': approximate cannot be 'tanh'; GELU takes "
        "approximate='none' or 'tanh'");
    bad("nn.Threshold(0.1)", "activation 'nn.Threshold(0.1)' needs both of its numbers; write "
                             "nn.Threshold(threshold=0.1, value=0)");
    bad("nn.Hardtanh(1, -1)", "activation 'nn.Hardtanh(1, -1)': min_val must be below max_val");
    bad("nn.Softmax(dim=0)", "activation 'nn.Softmax(dim=0)': Softmax over dim 0 would mix rows; "
                             "write dim=-1, the numbers of a layer");
    bad("nn.GLU", "activation 'nn.GLU': GLU halves the width of a layer, but the next layer "
                  "expects the full width; use nn.SiLU or another one");
    bad("nn.ELU(alpha=1", "activation 'nn.ELU(alpha=1': one closing bracket belongs at its end; "
                          "write ELU(...)");
    bad("nn.ELU(alpha=1) x", "activation 'nn.ELU(alpha=1) x': one closing bracket belongs at its "
                             "end; write ELU(...)");
    bad("nn.ELU(,)", "activation 'nn.ELU(,)': cannot read the number ''; ELU takes alpha=<number>");
}

/* ---- torch's values: the loss is sum(c y) ---- */

static const double *c_of;
static void sum_infer(cr_node *n) {
    n->cls = CR_WHOLE;
    n->width = 1;
    n->loss = true;
}
static void sum_forward(const cr_node *n, cr_tile *t) {
    *cr_lane_sum(t, n) += 0;
}
static void sum_backward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int64_t j = 0; j < x->width; j++)
            cr_grad(t, x)[r * cr_ld(x) + j] = (float)c_of[(cr_global_row(t) + r) * x->width + j];
}
static const cr_op_type sum_op = {.name = "sum",
                                  .infer = sum_infer,
                                  .forward = sum_forward,
                                  .backward = sum_backward};

typedef struct run {
    cr_graph g;
    cr_node *x, *y;
    cr_pool *pool;
    cr_plan *plan;
    cr_work *w;
} run;

static void run_act(run *r, const char *text, const float *x, int64_t width, cr_mode mode) {
    cr_act_spec s = ok(text);
    cr_graph_init(&r->g, 1);
    r->x = cr_feed(&r->g, width);
    memcpy(cr_feed_data(r->x), x, (size_t)(CR_FEED_ROWS * width) * sizeof(float));
    CHECK_INT(cr_act_fits(&s, r->x, NULL), 0);
    cr_node *in = cr_add(&r->g, &r->x, (float[]){1}, 1);
    r->y = cr_add(&r->g, (cr_node *[]){cr_act_apply(&r->g, "act", &s, in)}, (float[]){1}, 1);
    r->y->output = true;
    cr_graph_op(&r->g, &sum_op, &r->y, 1, NULL, 0);
    CHECK_INT(cr_graph_alloc(&r->g, NULL), 0);
    for (int i = 0; i < r->g.n; i++)
        for (int64_t k = 0; r->g.nodes[i]->cls == CR_PARAM && k < r->g.nodes[i]->width; k++)
            r->g.nodes[i]->w[k] = s.p[1]; /* of a PReLU */
    CHECK_INT(cr_pool_new(&r->pool, 2, NULL), 0);
    cr_plan_opts o = {
        .graph = &r->g, .mode = mode, .max_rows = CR_FEED_ROWS, .lanes = 4, .tile_rows = 5};
    CHECK_INT(cr_plan_new(&r->plan, &o, NULL), 0);
    CHECK_INT(cr_work_new(&r->w, r->plan, r->pool, NULL), 0);
    cr_plan_pack(r->plan, r->pool);
    CHECK_INT(cr_work_run(r->w, &(cr_run){.n_rows = CR_FEED_ROWS, .step = 1}, NULL), 0);
}
static void run_end(run *r) {
    cr_work_free(r->w);
    cr_plan_free(r->plan);
    cr_pool_free(r->pool);
    cr_graph_clear(&r->g);
}

static void compare(const char *name, const cr_node *n, const float *got, const double *want) {
    for (int64_t r = 0; r < CR_FEED_ROWS; r++)
        for (int64_t j = 0; j < n->width; j++) {
            double g = (double)got[r * cr_ld(n) + j], w = want[r * n->width + j];
            if (!(fabs(g - w) <= 2e-6 * fabs(w) + 1e-6)) {
                fprintf(stderr, "%s, row %lld, column %lld: %.9g, torch has %.9g\n", name,
                        (long long)r, (long long)j, g, w);
                CHECK(false);
            }
        }
}

TEST(as_torch) {
    golden gold;
    golden_load(&gold, "act.txt");
    const golden_tensor *x = golden_get(&gold, "x");
    float *in = golden_f32(x);
    c_of = golden_get(&gold, "c")->v;
    bool seen[64] = {false};
    int n_seen = 0, n = 0;
    for (int64_t i = 0; i < gold.n; i++) {
        char text[80];
        const char *slash = strrchr(gold.v[i].name, '/');
        if (!slash) continue;
        snprintf(text, sizeof(text), "%.*s", (int)(slash - gold.v[i].name), gold.v[i].name);
        bool grad = strcmp(slash, "/dx") == 0;
        run r;
        run_act(&r, text, in, x->dims[1], grad ? CR_TRAIN : CR_EVAL);
        if (grad)
            compare(gold.v[i].name, r.x, cr_work_grad(r.w, r.x), gold.v[i].v);
        else
            compare(gold.v[i].name, r.y, cr_work_val(r.w, r.y), gold.v[i].v);
        run_end(&r);
        /* which row of the table that was */
        cr_buf call;
        cr_buf_init(&call);
        size_t len = strcspn(text, "(");
        for (n = 0; cr_act_help((size_t)n, &call); n++, cr_buf_reset(&call))
            if (strcspn(call.data, "(") == len && memcmp(call.data, text, len) == 0 && !seen[n])
                seen[n] = true, n_seen++;
        cr_buf_clear(&call);
    }
    CHECK_INT(n_seen, n - 1); /* all but Dice, which golden runs of models have */
    free(in);
    golden_clear(&gold);
}

/* slopes of RReLU lie in its range, differ, and have its mean */
TEST(random_slopes) {
    float x[CR_FEED_ROWS * 50];
    for (int i = 0; i < CR_FEED_ROWS * 50; i++)
        x[i] = i % 2 ? -2.0f : 3.0f;
    double c[CR_FEED_ROWS * 50];
    for (int i = 0; i < CR_FEED_ROWS * 50; i++)
        c[i] = 1;
    c_of = c;
    run r;
    run_act(&r, "nn.RReLU(lower=0.2, upper=0.6)", x, 50, CR_TRAIN);
    const float *y = cr_work_val(r.w, r.y), *dx = cr_work_grad(r.w, r.x);
    double sum = 0, lo = 1, hi = 0;
    int n = 0;
    for (int64_t b = 0; b < CR_FEED_ROWS; b++)
        for (int64_t j = 0; j < 50; j++) {
            float in = x[b * 50 + j], out = y[b * cr_ld(r.y) + j], d = dx[b * cr_ld(r.x) + j];
            CHECK(out == in * d); /* forward and backward have the same slope */
            if (in > 0) {
                CHECK(out == in);
                continue;
            }
            sum += (double)d, n++;
            lo = fmin(lo, (double)d), hi = fmax(hi, (double)d);
        }
    CHECK(lo >= 0.2 && hi <= 0.6 && lo < 0.21 && hi > 0.59);
    CHECK_NEAR(sum / n, 0.4, 0.02, 0);
    run_end(&r);
}

TEST(fits) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *row = cr_feed(&g, 8);
    g.feed_seq = true;
    cr_node *steps = cr_feed(&g, 8);
    struct {
        const char *text;
        bool row, steps;
    } const cases[] = {
        {"nn.Softmax", true, false},
        {"nn.Softmax(dim=1)", true, false},
        {"nn.Softmax(dim=2)", false, true},
        {"nn.LogSoftmax(dim=-1)", true, true},
        {"nn.PReLU(8)", true, true},
        {"nn.PReLU(7)", false, false},
        {"nn.Mish", true, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_act_spec s = ok(cases[i].text);
        cr_err err;
        CHECK_INT(cr_act_fits(&s, row, &err) == CR_OK, cases[i].row);
        CHECK_INT(cr_act_fits(&s, steps, &err) == CR_OK, cases[i].steps);
    }
    cr_graph_clear(&g);
}

TEST_MAIN(CASE(names), CASE(mistakes), CASE(as_torch), CASE(random_slopes), CASE(fits))
