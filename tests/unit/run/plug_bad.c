/*
 * plug_bad.c - a plug-in whose types are each wrong in one way, for own_models.c; and two that are
 * right: one that looks at all kinds of parameters, one that reads sequences.
 */
#include <crank/model.h>
#include <math.h>
#include <string.h>

typedef crank_build build;
typedef crank_model_api api;

/* a layer over the first input, as output */
#define END(...) (a->output(b, __VA_ARGS__), 0)
static crank_node *first(build *b, const api *a) {
    return a->input(b, 0);
}

static int says(build *b, const api *a) {
    return a->fail(b, "no %s;\ntry again", "luck");
}
static int silent(build *b, const api *a) {
    (void)b, (void)a;
    return 3;
}
static int nothing(build *b, const api *a) {
    (void)b, (void)a;
    return 0;
}
static int layer_unknown(build *b, const api *a) {
    crank_node *x = first(b, a);
    return END(a->layer(b, "x", "mlpp", &x, 1, "%s", ""));
}
static int layer_plugin(build *b, const api *a) {
    crank_node *x = first(b, a);
    return END(a->layer(b, "x", "plugin", &x, 1, "library: a, type: b"));
}
static int layer_key(build *b, const api *a) {
    crank_node *x = first(b, a);
    x = a->layer(b, "x", "mlp", &x, 1, "hidden_unit: [%d]", 3);
    x = a->layer(b, "y", "mlp", &x, 1, "hidden_units: [%d]", 3); /* of what is not there */
    return END(x);
}
static int layer_text(build *b, const api *a) {
    crank_node *x = first(b, a);
    return END(a->layer(b, "x", "mlp", &x, 1, "hidden_units: ["));
}
static int layer_widths(build *b, const api *a) {
    crank_node *x = first(b, a), *v[] = {x, a->layer(b, "y", "linear", &x, 1, "units: 3")};
    return END(a->layer(b, "sum", "add", v, 2, "%s", ""));
}
static int layer_empty(build *b, const api *a) {
    return END(a->layer(b, "sum", "add", 0, 0, "%s", ""));
}
static int layer_null(build *b, const api *a) {
    crank_node *x = first(b, a);
    return END(a->layer(b, "y", 0, &x, 1, "units: 3"));
}
static int input_null(build *b, const api *a) {
    crank_node *x = 0;
    return END(a->layer(b, "y", "linear", &x, 1, "units: 3"));
}
static int inputs_null(build *b, const api *a) {
    return END(a->layer(b, "y", "linear", 0, 1, "units: 3"));
}
static int group_null(build *b, const api *a) {
    return END(a->group(b, 0));
}
static int asks_null(build *b, const api *a) {
    return a->get_int(b, 0) == 0 ? END(first(b, a)) : 0;
}
static int end_twice(build *b, const api *a) { /* crank's own last layer is called so */
    crank_node *x = first(b, a);
    return END(a->layer(b, "output_mlp", "linear", &x, 1, "units: 3"));
}
static int twice(build *b, const api *a) {
    crank_node *x = first(b, a);
    x = a->layer(b, "y", "linear", &x, 1, "units: 3");
    return END(a->layer(b, "y", "linear", &x, 1, "units: 3"));
}
static int name_blank(build *b, const api *a) {
    crank_node *x = first(b, a);
    return END(a->layer(b, "a b", "linear", &x, 1, "units: 3"));
}
static int asks(build *b, const api *a) {
    return a->get_int(b, "size") == 0 ? END(first(b, a)) : 0;
}
static int input_9(build *b, const api *a) {
    return END(a->input(b, 9));
}
static int group_zz(build *b, const api *a) {
    return END(a->group(b, "row"));
}
static int two_outputs(build *b, const api *a) {
    a->output(b, first(b, a));
    return END(first(b, a));
}

/* ---- ops ---- */

static int copy(const crank_op_call *c) {
    for (int64_t r = 0; r < c->n_rows; r++)
        memcpy(c->out.v + r * c->out.stride, c->in[0].v + r * c->in[0].stride,
               (size_t)c->out.width * sizeof(float));
    return 0;
}
static int copy_back(const crank_op_call *c) {
    for (int64_t r = 0; c->in_grad[0].v && r < c->n_rows; r++)
        for (int64_t j = 0; j < c->out.width; j++)
            c->in_grad[0].v[r * c->in_grad[0].stride + j] +=
                c->out_grad.v[r * c->out_grad.stride + j];
    return 0;
}
static int broken(const crank_op_call *c) {
    (void)c;
    return 7;
}
static int half_back(const crank_op_call *c) {
    for (int64_t r = 0; c->in_grad[0].v && r < c->n_rows; r++)
        for (int64_t j = 0; j < c->out.width; j++)
            c->in_grad[0].v[r * c->in_grad[0].stride + j] +=
                c->out_grad.v[r * c->out_grad.stride + j] * *(const float *)c->data;
    return 0;
}
/* y = w x; the gradient of w is summed over the tile first: other tiles, other bits */
static int scaled(const crank_op_call *c) {
    for (int64_t r = 0; r < c->n_rows; r++)
        for (int64_t j = 0; j < c->out.width; j++)
            c->out.v[r * c->out.stride + j] =
                c->weight[0].v[j] * c->in[0].v[r * c->in[0].stride + j];
    return 0;
}
static int scaled_back(const crank_op_call *c) {
    for (int64_t j = 0; j < c->out.width; j++) {
        float sum = 0;
        for (int64_t r = 0; r < c->n_rows; r++) {
            float d = c->out_grad.v[r * c->out_grad.stride + j];
            if (c->in_grad[0].v)
                c->in_grad[0].v[r * c->in_grad[0].stride + j] += d * c->weight[0].v[j];
            sum += d * c->in[0].v[r * c->in[0].stride + j];
        }
        if (c->weight_grad[0].v) c->weight_grad[0].v[j] += sum;
    }
    return 0;
}

/* y = log(x) z: for x above 0 only */
static int log_times(const crank_op_call *c) {
    for (int64_t r = 0; r < c->n_rows; r++)
        for (int64_t j = 0; j < c->out.width; j++)
            c->out.v[r * c->out.stride + j] =
                logf(c->in[0].v[r * c->in[0].stride + j]) * c->in[1].v[r * c->in[1].stride + j];
    return 0;
}
static int log_times_back(const crank_op_call *c) {
    for (int64_t r = 0; r < c->n_rows; r++)
        for (int64_t j = 0; j < c->out.width; j++) {
            float d = c->out_grad.v[r * c->out_grad.stride + j];
            float x = c->in[0].v[r * c->in[0].stride + j], z = c->in[1].v[r * c->in[1].stride + j];
            if (c->in_grad[0].v) c->in_grad[0].v[r * c->in_grad[0].stride + j] += d * z / x;
            if (c->in_grad[1].v) c->in_grad[1].v[r * c->in_grad[1].stride + j] += d * logf(x);
        }
    return 0;
}
/* y = x + z, but the gradient of x is NaN */
static int plus(const crank_op_call *c) {
    for (int64_t r = 0; r < c->n_rows; r++)
        for (int64_t j = 0; j < c->out.width; j++)
            c->out.v[r * c->out.stride + j] =
                c->in[0].v[r * c->in[0].stride + j] + c->in[1].v[r * c->in[1].stride + j];
    return 0;
}
static int plus_back(const crank_op_call *c) {
    for (int i = 0; i < 2; i++)
        for (int64_t r = 0; c->in_grad[i].v && r < c->n_rows; r++)
            for (int64_t j = 0; j < c->out.width; j++)
                c->in_grad[i].v[r * c->in_grad[i].stride + j] +=
                    i == 0 ? NAN : c->out_grad.v[r * c->out_grad.stride + j];
    return 0;
}

static const crank_op good = {"copy", copy, copy_back}, no_forward = {"empty", 0, copy_back},
                      broken_forward = {"broken_forward", broken, copy_back},
                      broken_backward = {"broken_backward", copy, broken},
                      wrong_slope = {"wrong_slope", copy, half_back},
                      wrong_bits = {"wrong_bits", scaled, scaled_back},
                      log_op = {"log_times", log_times, log_times_back},
                      nan_op = {"nan_back", plus, plus_back};

static int one_op(build *b, const api *a, const crank_op *op, int64_t width) {
    static const float half = 0.5f;
    crank_node *x = first(b, a);
    return END(a->op(b, op, &x, 1, 0, 0, width < 0 ? a->width(x) : width, &half, sizeof(half)));
}
static int op_none(build *b, const api *a) {
    return one_op(b, a, &no_forward, -1);
}
static int op_wide(build *b, const api *a) {
    return one_op(b, a, &good, 0);
}
static int op_forward(build *b, const api *a) {
    return one_op(b, a, &broken_forward, -1);
}
static int op_backward(build *b, const api *a) {
    return one_op(b, a, &broken_backward, -1);
}
static int op_slope(build *b, const api *a) {
    return one_op(b, a, &wrong_slope, -1);
}
static int op_bits(build *b, const api *a) {
    crank_node *x = first(b, a);
    crank_weight *w = a->weight(b, "w", 1, a->width(x), 0);
    return END(a->op(b, &wrong_bits, &x, 1, &w, 1, a->width(x), 0, 0));
}
static int two_inputs(build *b, const api *a, const crank_op *op) {
    crank_node *x = first(b, a),
               *v[] = {a->layer(b, "p", "activation", &x, 1, "function: nn.Softplus"), x};
    return END(a->op(b, op, v, 2, 0, 0, a->width(x), 0, 0));
}
static int op_log(build *b, const api *a) {
    return two_inputs(b, a, &log_op);
}
static int op_nan(build *b, const api *a) {
    return two_inputs(b, a, &nan_op);
}
static int op_sums(build *b, const api *a) { /* more in all than an int holds */
    crank_node *x = first(b, a);
    return END(a->op(b, &good, &x, 2147483647, 0, 1, 1, 0, 0));
}
static int op_null(build *b, const api *a) {
    return END(a->op(b, &good, 0, 1, 0, 0, 1, 0, 0));
}
static int weights_null(build *b, const api *a) {
    crank_node *x = first(b, a);
    return END(a->op(b, &wrong_bits, &x, 1, 0, 1, 1, 0, 0));
}
static int op_many(build *b, const api *a) {
    crank_node *x[40];
    for (int i = 0; i < 40; i++)
        x[i] = first(b, a);
    return END(a->op(b, &good, x, 40, 0, 0, 1, 0, 0));
}
static int weight_size(build *b, const api *a) {
    crank_node *x = first(b, a);
    crank_weight *w = a->weight(b, "w", 0, 5, 0);
    return END(a->op(b, &wrong_bits, &x, 1, &w, 1, 5, 0, 0));
}
static int weight_init(build *b, const api *a) {
    crank_node *x = first(b, a);
    crank_weight *w = a->weight(b, "w", 1, 5, "nn.init.nosuch_");
    return END(a->op(b, &wrong_bits, &x, 1, &w, 1, 5, 0, 0));
}

/* ---- what is right ---- */

static int all_kinds(build *b, const api *a) {
    const double *ints, *floats;
    int64_t n_ints = a->get_list(b, "ints", &ints), n_floats = a->get_list(b, "floats", &floats);
    if (a->get_int(b, "size") != 5 || a->get_int(b, "more") != 12 ||
        fabs(a->get_float(b, "rate") - 0.25) > 1e-12 || a->get_int(b, "on") != 1 ||
        strcmp(a->get_text(b, "text"), "hello") != 0 || strcmp(a->get_text(b, "word"), "w") != 0 ||
        n_ints != 2 || ints[1] != 4 || n_floats != 1 || floats[0] != 0.5 || a->num_class(b) != 1 ||
        a->n_inputs(b) != 1 || a->field_width(first(b, a)) != 8 || a->width(first(b, a)) != 32)
        return a->fail(b, "parameters are not what the config says");
    crank_node *x = first(b, a);
    return END(a->layer(b, "moe", "mmoe", &x, 1,
                        "num_task: 2\nnum_expert: 2\nexpert_mlp: {hidden_units: [4]}"));
}
static const crank_model_param kinds[] = {
    {"size", CRANK_PARAM_INT, 1, 0, 0, 1, 10, "how many"},
    {"more", CRANK_PARAM_INT, 0, 12, 0, 0, 0, 0},
    {"rate", CRANK_PARAM_FLOAT, 0, 0.25, 0, 0, 1, 0},
    {"on", CRANK_PARAM_BOOL, 0, 1, 0, 0, 0, 0},
    {"text", CRANK_PARAM_TEXT, 0, 0, 0, 0, 0, 0},
    {"word", CRANK_PARAM_TEXT, 0, 0, "w", 0, 0, 0},
    {"ints", CRANK_PARAM_INTS, 0, 0, 0, 0, 9, 0},
    {"floats", CRANK_PARAM_FLOATS, 0, 0, 0, 0, 0, 0},
    {0},
};

/* an op at each step of a sequence, then target attention */
static int steps(build *b, const api *a) {
    crank_node *x = first(b, a);
    x = a->op(b, &good, &x, 1, 0, 0, a->width(x), 0, 0);
    return END(a->layer(b, "din", "din", &x, 1, "attn_mlp: {hidden_units: [4]}"));
}

static const crank_model_param odd_kind[] = {{"size", 77, 0, 0, 0, 0, 0, 0}, {0}};

#define TYPE(name)                                                                                 \
    { #name, "", 0, name }
static const crank_model_type types[] = {TYPE(says),
                                         TYPE(silent),
                                         TYPE(nothing),
                                         TYPE(layer_unknown),
                                         TYPE(layer_plugin),
                                         TYPE(layer_key),
                                         TYPE(layer_text),
                                         TYPE(layer_widths),
                                         TYPE(layer_empty),
                                         TYPE(layer_null),
                                         TYPE(input_null),
                                         TYPE(inputs_null),
                                         TYPE(group_null),
                                         TYPE(asks_null),
                                         TYPE(end_twice),
                                         TYPE(twice),
                                         TYPE(name_blank),
                                         TYPE(asks),
                                         TYPE(input_9),
                                         TYPE(group_zz),
                                         TYPE(two_outputs),
                                         TYPE(op_none),
                                         TYPE(op_wide),
                                         TYPE(op_forward),
                                         TYPE(op_backward),
                                         TYPE(op_slope),
                                         TYPE(op_bits),
                                         TYPE(op_many),
                                         TYPE(op_sums),
                                         TYPE(op_null),
                                         TYPE(op_log),
                                         TYPE(op_nan),
                                         TYPE(weights_null),
                                         TYPE(weight_size),
                                         TYPE(weight_init),
                                         TYPE(steps),
                                         {"all_kinds", "", kinds, all_kinds},
                                         {"odd_kind", "", odd_kind, nothing},
                                         {"no_build", "", 0, 0},
                                         {0}};
#ifndef PLUG_ABI
#define PLUG_ABI CRANK_MODEL_ABI
#endif
const crank_model_library crank_model_plugin = {PLUG_ABI, types};
