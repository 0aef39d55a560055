/*
 * build.c - making a graph: classes, widths and names of nodes, where parameters lie, which nodes
 * take gradients, and what a build that is wrong ends with.
 */
#include "graph/graph.h"

#include "aborts.h"
#include "graph/plan.h"
#include "unit/graph/toy.h"

TEST(parameters) {
    cr_graph g;
    cr_graph_init(&g, 42);
    CHECK_INT(g.seed, 42);
    int init = 4711;
    cr_node *w = cr_graph_param(&g, "weight", 3, 5, true, &init, sizeof(init));
    init = 0;
    CHECK_INT(w->cls, CR_PARAM);
    CHECK_STR(w->name, "weight");
    CHECK_INT(w->rows, 3);
    CHECK_INT(w->cols, 5);
    CHECK_INT(w->width, 15);
    CHECK_INT(w->n_dims, 2);
    CHECK(w->trainable && w->needs_grad && !w->op);
    CHECK(w->init && *(int *)w->init == 4711); /* a copy */
    cr_node *b = cr_graph_param(&g, "mean", 1, 4, false, NULL, 0);
    CHECK(!b->trainable && !b->needs_grad && !b->init);
    CHECK_INT(w->id, 0);
    CHECK_INT(b->id, 1);
    CHECK_INT(g.n, 2);
    CHECK(g.nodes[0] == w && g.nodes[1] == b);
    cr_graph_clear(&g);
    CHECK_INT(g.n, 0);
}

TEST(names) {
    cr_graph g;
    cr_graph_init(&g, 1);
    size_t outer = cr_graph_push(&g, "model");
    size_t inner = cr_graph_push(&g, "mlp.%d", 3);
    CHECK_STR(cr_graph_param(&g, "weight", 1, 1, true, NULL, 0)->name, "model.mlp.3.weight");
    cr_graph_pop(&g, inner);
    CHECK_STR(cr_graph_param(&g, "bias", 1, 1, true, NULL, 0)->name, "model.bias");
    /* a name from a config may be longer than any buffer */
    char longer[1001], want[1100];
    memset(longer, 'x', 1000);
    longer[1000] = 0;
    inner = cr_graph_push(&g, "%s", longer);
    snprintf(want, sizeof(want), "model.%s.w", longer);
    CHECK_STR(cr_graph_param(&g, "w", 1, 1, true, NULL, 0)->name, want);
    cr_graph_pop(&g, inner);
    inner = cr_graph_push(&g, "%s", ""); /* an empty part still has its dot */
    CHECK_STR(cr_graph_param(&g, "w", 1, 1, true, NULL, 0)->name, "model..w");
    cr_graph_pop(&g, inner);
    cr_graph_pop(&g, outer);
    CHECK_STR(cr_graph_param(&g, "w", 1, 1, true, NULL, 0)->name, "w");
    /* an op is named by its type and number */
    CHECK_STR(toy_source(&g, 0, 1, false)->name, "source#5");
    cr_graph_clear(&g);
}

TEST(ops) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 6, false), *w = cr_graph_param(&g, "w", 1, 6, true, NULL, 0);
    cr_node *in[] = {x, w};
    float a = 2;
    cr_node *y = cr_graph_op(&g, &toy_scale_op, in, 1, &a, sizeof(a));
    cr_node *z = cr_graph_op(&g, &toy_times_op, in, 2, NULL, 0);
    a = 3;
    in[0] = NULL; /* the list is the caller's */
    CHECK_INT(y->n_in, 1);
    CHECK(y->in[0] == x && z->in[0] == x && z->in[1] == w);
    CHECK(*(float *)y->attr == 2);
    CHECK_INT(y->width, 6);
    CHECK_INT(y->cls, CR_ROW);
    CHECK(!y->needs_grad); /* nothing below is trained */
    CHECK(z->needs_grad);  /* w is */
    CHECK(toy_scale(&g, z, 1)->needs_grad);
    cr_node *m = toy_mean(&g, z);
    CHECK_INT(m->cls, CR_WHOLE);
    CHECK_INT(m->width, 6);
    CHECK(toy_total(&g, z)->loss);
    cr_graph_clear(&g);
}

static void stop_infer(cr_node *n) {
    cr_infer_rows(n);
    n->width = n->in[0]->width;
}
static const cr_op_type stop_op = {.name = "stop", .infer = stop_infer}; /* no backward */

TEST(gradients_end_where_there_is_no_backward) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 2, true);
    CHECK(x->needs_grad);
    CHECK(!cr_graph_op(&g, &stop_op, &x, 1, NULL, 0)->needs_grad);
    /* a folded parameter has unfold in its place */
    cr_node *a = cr_graph_param(&g, "a", 1, 2, true, NULL, 0),
            *b = cr_graph_param(&g, "b", 1, 2, false, NULL, 0);
    CHECK(toy_folded(&g, a, b)->needs_grad);
    CHECK(!toy_folded(&g, b, b)->needs_grad);
    cr_graph_clear(&g);
}

TEST(many_nodes) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *x = toy_source(&g, 0, 1, false), *first = x;
    for (int i = 0; i < 500; i++)
        x = toy_scale(&g, x, 1);
    CHECK_INT(g.n, 501);
    CHECK_INT(x->id, 500);
    for (int i = 0; i < g.n; i++)
        CHECK(g.nodes[i]->id == i && (i == 0 || g.nodes[i]->in[0] == g.nodes[i - 1]));
    CHECK(g.nodes[0] == first);
    cr_graph_clear(&g);
}

TEST(axes) {
    cr_graph g;
    cr_graph_init(&g, 1);
    CHECK_INT(cr_graph_axis(&g), 0);
    CHECK_INT(cr_graph_axis(&g), 1);
    CHECK_INT(g.n_axes, 2);
    cr_node *s = toy_source_seq(&g, 0, 1, 3), *y = toy_scale(&g, s, 2);
    CHECK_INT(y->cls, CR_SEQ);
    CHECK_INT(y->axis, 1);
    /* a parameter beside a sequence does not decide the class */
    cr_node *z = toy_times(&g, s, cr_graph_param(&g, "w", 1, 3, true, NULL, 0));
    CHECK_INT(z->cls, CR_SEQ);
    CHECK_INT(z->axis, 1);
    cr_graph_clear(&g);
}

/* rows of buffers: whole cache lines from 16 floats on, never a multiple of 4 KiB apart */
TEST(row_strides) {
    static const int64_t width[][2] = {{1, 1},   {15, 15},   {16, 16},     {17, 32},
                                       {48, 48}, {49, 80},   {64, 80},     {65, 80},
                                       {80, 80}, {128, 144}, {1024, 1040}, {1000, 1008}};
    for (size_t i = 0; i < sizeof(width) / sizeof(width[0]); i++)
        CHECK_INT(cr_ld(&(cr_node){.width = width[i][0]}), width[i][1]);
}

TEST(one_block_of_parameters) {
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *buf = cr_graph_param(&g, "buf", 1, 3, false, NULL, 0);
    cr_node *a = cr_graph_param(&g, "a", 2, 9, true, NULL, 0);
    cr_node *b = cr_graph_param(&g, "b", 1, 18, true, NULL, 0);
    cr_node *f = toy_folded(&g, a, b);
    cr_node *c = cr_graph_param(&g, "c", 1, 1, true, NULL, 0);
    CHECK_INT(cr_graph_alloc(&g, NULL), CR_OK);
    /* trained ones first, then folded ones, then buffers; each from a multiple of 16 on */
    CHECK_INT(a->offset, 0);
    CHECK_INT(b->offset, 32);
    CHECK_INT(c->offset, 64);
    CHECK_INT(g.n_trainable, 80);
    CHECK_INT(f->offset, 80);
    CHECK_INT(g.n_grads, 112);
    CHECK_INT(buf->offset, 112);
    CHECK_INT(g.n_params, 128);
    for (int i = 0; i < g.n; i++)
        CHECK(g.nodes[i]->w == g.params + g.nodes[i]->offset);
    CHECK_INT((uintptr_t)g.params % 64, 0);
    bool zero = true;
    for (int64_t i = 0; i < g.n_params; i++)
        zero = zero && g.params[i] == 0;
    CHECK(zero);
    cr_graph_clear(&g);
}

TEST(no_parameters) {
    cr_graph g;
    cr_graph_init(&g, 1);
    CHECK_INT(cr_graph_alloc(&g, NULL), CR_OK);
    CHECK(g.params != NULL);
    CHECK_INT(g.n_trainable, 0);
    cr_graph_clear(&g);
}

TEST(no_memory) {
    cr_graph g;
    cr_err err;
    cr_graph_init(&g, 1);
    cr_graph_param(&g, "w", 1000, 1000, true, NULL, 0);
    cr_alloc_fail_after(1);
    CHECK_INT(cr_graph_alloc(&g, &err), CR_ENOMEM);
    CHECK(strstr(err.msg, "dense parameters") != NULL);
    CHECK(g.params == NULL);
    CHECK_INT(cr_graph_alloc(&g, &err), CR_OK); /* there is memory again */
    cr_graph_clear(&g);
}

/* ---- mistakes of the caller ---- */

static void add_after_alloc(void *ctx) {
    (void)ctx;
    cr_graph g;
    cr_graph_init(&g, 1);
    if (cr_graph_alloc(&g, NULL) == CR_OK) toy_source(&g, 0, 1, false);
}
static void seq_into_batch(void *ctx) {
    (void)ctx;
    cr_graph g;
    cr_graph_init(&g, 1);
    toy_last(&g, toy_source_seq(&g, 0, cr_graph_axis(&g), 1));
}
static void two_axes(void *ctx) {
    (void)ctx;
    cr_graph g;
    cr_graph_init(&g, 1);
    int a = cr_graph_axis(&g), b = cr_graph_axis(&g);
    cr_node *s = toy_source_seq(&g, 0, a, 1), *t = toy_source_seq(&g, 0, b, 1);
    toy_plus(&g, (cr_node *[]){s, t}, 2);
}
static void rows_and_seq(void *ctx) {
    (void)ctx;
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *s = toy_source_seq(&g, 0, cr_graph_axis(&g), 1), *x = toy_source(&g, 0, 1, false);
    toy_plus(&g, (cr_node *[]){x, s}, 2);
}
static void no_rows(void *ctx) {
    (void)ctx;
    cr_graph g;
    cr_graph_init(&g, 1);
    cr_node *w = cr_graph_param(&g, "w", 1, 1, true, NULL, 0);
    toy_plus(&g, &w, 1);
}

TEST(bugs) {
    CHECK_ABORTS(add_after_alloc, NULL, "node added after cr_graph_alloc");
    CHECK_ABORTS(seq_into_batch, NULL, "an op that does not take sequences got one");
    CHECK_ABORTS(two_axes, NULL, "rows of different classes or axes");
    CHECK_ABORTS(rows_and_seq, NULL, "rows of different classes or axes");
    CHECK_ABORTS(no_rows, NULL, "no rows among the inputs");
}

TEST_MAIN(CASE(parameters), CASE(names), CASE(ops), CASE(gradients_end_where_there_is_no_backward),
          CASE(many_nodes), CASE(axes), CASE(row_strides), CASE(one_block_of_parameters),
          CASE(no_parameters), CASE(no_memory), CASE(bugs))
