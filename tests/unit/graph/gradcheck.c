/*
 * gradcheck.c - the checker of gradients itself: right ones pass, wrong ones are found and named,
 * and the hash of a step shows every bit that changes.
 */
#include "graph/gradcheck.h"

#include "unit/graph/toy.h"

#define OPTS(t, l, r)                                                                              \
    { .threads = t, .lanes = l, .tile_rows = r }

TEST(feeds) {
    cr_graph g;
    cr_graph_init(&g, 9);
    cr_node *a = cr_feed(&g, 3), *b = cr_feed(&g, 3);
    CHECK_INT(a->cls, CR_ROW);
    CHECK_INT(a->width, 3);
    CHECK(a->needs_grad && g.n_axes == 0);
    int64_t n = CR_FEED_ROWS * 3, negative = 0, same = 0;
    for (int64_t i = 0; i < n; i++) {
        float x = cr_feed_data(a)[i];
        CHECK(fabsf(x) >= 0.1f && fabsf(x) <= 1);
        negative += x < 0;
        same += x == cr_feed_data(b)[i];
    }
    CHECK(negative > n / 4 && negative < 3 * n / 4); /* of both signs */
    CHECK(same < n / 10);                            /* each feed has its own numbers */
    float again[CR_FEED_ROWS * 3], other[CR_FEED_ROWS * 3];
    cr_feed_fill(again, n, 5);
    cr_feed_fill(other, n, 6);
    CHECK(memcmp(again, other, sizeof(again)) != 0);
    cr_feed_fill(other, n, 5);
    CHECK(memcmp(again, other, sizeof(again)) == 0);
    cr_graph_clear(&g);
    /* sequences in the place of rows */
    cr_graph_init(&g, 9);
    g.feed_seq = true;
    cr_node *s = cr_feed(&g, 2), *t = cr_feed(&g, 2), *u = cr_feed_seq(&g, cr_graph_axis(&g), 2);
    CHECK_INT(s->cls, CR_SEQ);
    CHECK_INT(s->axis, 0);
    CHECK_INT(t->axis, 0); /* of the same lengths */
    CHECK_INT(u->axis, 1);
    CHECK_INT(g.n_axes, 2);
    cr_graph_clear(&g);
}

static double check(cr_graph *g, cr_node *out, const cr_gradcheck_opts *o, char *worst) {
    double bad = -1;
    CHECK_INT(cr_gradcheck(g, out, o, &bad, worst, 200, NULL), CR_OK);
    return bad;
}

TEST(right_gradients_pass) {
    static const cr_gradcheck_opts opts[] = {OPTS(1, 1, 64), OPTS(2, 4, 7), OPTS(3, 8, 1)};
    char worst[200];
    for (int i = 0; i < 6; i++) {
        cr_graph g;
        cr_graph_init(&g, 3);
        g.feed_seq = i >= 3;
        cr_node *w = cr_graph_param(&g, "w", 1, 5, true, NULL, 0);
        cr_node *y = toy_times(&g, toy_bell(&g, cr_feed(&g, 5)), w);
        y = toy_shift(&g, y, toy_mean(&g, toy_bell(&g, y)));
        if (i < 3) y = toy_last(&g, y);
        double bad = check(&g, y, &opts[i % 3], worst);
        if (!(bad < 5e-3)) fprintf(stderr, "%s\n", worst);
        CHECK(bad >= 0 && bad < 5e-3);
        cr_graph_clear(&g);
    }
}

/* a loss of its own needs no probe */
TEST(whole_outputs) {
    char worst[200];
    cr_graph g;
    cr_graph_init(&g, 3);
    cr_node *loss = toy_total(&g, toy_bell(&g, cr_feed(&g, 2)));
    int n = g.n;
    CHECK(check(&g, loss, &(cr_gradcheck_opts)OPTS(1, 2, 8), worst) < 5e-3);
    CHECK_INT(g.n, n);
    cr_graph_clear(&g);
}

/* ---- wrong ones ---- */

static float off_by; /* what the wrong gradient is multiplied with */
static void wrong_backward(const cr_node *n, cr_tile *t) {
    const float *x = cr_val(t, n->in[0]), *y = cr_val(t, n);
    for (int64_t i = 0; i < cr_rows(t, n) * cr_ld(n); i++)
        cr_grad(t, n->in[0])[i] = off_by * -2 * x[i] * y[i] * y[i] * cr_grad(t, n)[i];
}
static const cr_op_type wrong_op = {.name = "wrong",
                                    .infer = toy_rows_infer,
                                    .forward = toy_bell_forward,
                                    .backward = wrong_backward,
                                    .rowwise = true,
                                    .keep_val = true,
                                    .reads_in = true};

TEST(wrong_gradients_are_found) {
    static const float factors[] = {1, 0.95f, 0, -1, NAN};
    char worst[200];
    for (int i = 0; i < 5; i++) {
        cr_graph g;
        cr_graph_init(&g, 1);
        off_by = factors[i];
        cr_node *x = cr_feed(&g, 5), *z = cr_feed(&g, 5);
        cr_node *y =
            toy_plus(&g, (cr_node *[]){toy_bell(&g, z), cr_graph_op(&g, &wrong_op, &x, 1, NULL, 0)},
                     2);
        double bad = check(&g, y, &(cr_gradcheck_opts)OPTS(1, 1, 64), worst);
        CHECK(i == 0 ? bad < 5e-3 : !(bad < 5e-3)); /* NaN is bad, too */
        if (i > 0)
            CHECK(strncmp(worst, "feed#0: slope ", 14) == 0 && strstr(worst, "gradient says "));
        cr_graph_clear(&g);
    }
}

/* y = x, and a jump where the first three numbers of the batch all lie above what they were: a step
 * in some directions crosses it, in most it does not */
static const float *jump_at;
static void jump_forward(const cr_node *n, cr_tile *t) {
    const float *x = cr_val(t, n->in[0]);
    bool above = t->row0 == 0 && x[0] > jump_at[0] && x[1] > jump_at[1] && x[2] > jump_at[2];
    for (int64_t i = 0; i < cr_rows(t, n) * cr_ld(n); i++)
        cr_val(t, n)[i] = x[i] + (above ? 1 : 0);
}
static void jump_backward(const cr_node *n, cr_tile *t) {
    for (int64_t i = 0; i < cr_rows(t, n) * cr_ld(n); i++)
        cr_grad(t, n->in[0])[i] = cr_grad(t, n)[i];
}
static const cr_op_type jump_op = {.name = "jump",
                                   .infer = toy_rows_infer,
                                   .forward = jump_forward,
                                   .backward = jump_backward};

TEST(a_step_across_a_kink_is_no_mistake) {
    char worst[200];
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = cr_feed(&g, 5);
    float was[3];
    memcpy(was, cr_feed_data(x), sizeof(was));
    jump_at = was;
    cr_node *y = cr_graph_op(&g, &jump_op, &x, 1, NULL, 0);
    double bad = check(&g, y, &(cr_gradcheck_opts)OPTS(1, 1, 64), worst);
    if (!(bad < 5e-3)) fprintf(stderr, "%s\n", worst);
    CHECK(bad < 5e-3);
    cr_graph_clear(&g);
}

TEST(nothing_to_check) {
    char worst[200];
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *w = cr_graph_param(&g, "w", 1, 1, false, NULL, 0);
    cr_node *x = cr_feed(&g, 1);
    x->needs_grad = false;
    CHECK(isinf(check(&g, toy_times(&g, x, w), &(cr_gradcheck_opts)OPTS(1, 1, 8), worst)));
    CHECK_STR(worst, "no leaf has a gradient");
    cr_graph_clear(&g);
}

/* a parameter keeps its values */
TEST(values_come_back) {
    char worst[200];
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = cr_feed(&g, 1), *w = cr_graph_param(&g, "w", 1, 1, true, NULL, 0);
    cr_node *y = toy_times(&g, x, w);
    cr_grad_bits bits;
    cr_gradcheck_opts o = OPTS(1, 1, 8);
    CHECK_INT(cr_grad_hash(&g, y, &o, &bits, NULL), CR_OK); /* fills */
    float before = w->w[0], first = cr_feed_data(x)[0];
    CHECK(check(&g, y, &o, worst) < 5e-3);
    CHECK(w->w[0] == before && cr_feed_data(x)[0] == first);
    cr_graph_clear(&g);
}

/* ---- the hash ---- */

static cr_grad_bits hash(float factor, float weight, float buffer, const cr_gradcheck_opts *o) {
    cr_graph g;
    cr_graph_init(&g, 4);
    cr_node *x = cr_feed(&g, 3), *w = cr_graph_param(&g, "w", 1, 3, true, NULL, 0),
            *c = cr_graph_param(&g, "c", 1, 3, false, NULL, 0);
    cr_node *y = toy_bell(&g, toy_times(&g, toy_times(&g, toy_scale(&g, x, factor), w), c));
    cr_grad_bits b = {0, 0};
    CHECK_INT(cr_grad_hash(&g, y, o, &b, NULL), CR_OK); /* makes and fills the parameters */
    w->w[1] *= weight;
    c->w[1] *= buffer;
    CHECK_INT(cr_grad_hash(&g, y, o, &b, NULL), CR_OK);
    cr_graph_clear(&g);
    return b;
}

TEST(hashes) {
    static const cr_gradcheck_opts a = OPTS(1, 8, 64), b = OPTS(3, 8, 2), c = OPTS(1, 1, 64);
    cr_grad_bits want = hash(2, 1, 1, &a), got = hash(2, 1, 1, &b);
    CHECK(want.whole != 0 && want.rows != 0);
    CHECK(got.whole == want.whole && got.rows == want.rows); /* threads and tiles */
    got = hash(2, 1, 1, &c);                                 /* other lanes: other sums */
    CHECK(got.whole != want.whole && got.rows == want.rows);
    const float more = 1 + 1e-7f;
    got = hash(2 * more, 1, 1, &a);
    CHECK(got.rows != want.rows);
    got = hash(2, more, 1, &a);
    CHECK(got.whole != want.whole && got.rows != want.rows);
    got = hash(2, 1, more, &a);
    CHECK(got.whole != want.whole);
}

TEST(no_memory) {
    cr_err err;
    char worst[200];
    int failed = 0;
    for (uint64_t n = 1; n < 40; n++) {
        cr_graph g;
        cr_graph_init(&g, 1);
        cr_node *y = toy_bell(&g, cr_feed(&g, 2));
        double bad;
        cr_gradcheck_opts o = OPTS(1, 1, 8);
        cr_alloc_fail_after(n);
        cr_code code = cr_gradcheck(&g, y, &o, &bad, worst, sizeof(worst), &err);
        cr_alloc_fail_after(0);
        cr_graph_clear(&g);
        if (code == CR_OK) break;
        CHECK_INT(code, CR_ENOMEM);
        failed++;
    }
    CHECK(failed > 5);
}

TEST_MAIN(CASE(feeds), CASE(right_gradients_pass), CASE(whole_outputs),
          CASE(wrong_gradients_are_found), CASE(a_step_across_a_kink_is_no_mistake),
          CASE(nothing_to_check), CASE(values_come_back), CASE(hashes), CASE(no_memory))
