/*
 * faded.c - a plug-in for crank: a layer and a model around one op of its own.
 *
 * The op is a product that fades with distance: y_j = w_j u_j v_j / (1 + (u_j - v_j)^2), with a
 * trained weight w_j per column.
 */
#include <crank/model.h>

/* ---- the op: row by row, gradients are added ---- */

static const float *row(const crank_op_rows *x, int64_t r) {
    return x->v + r * x->stride;
}

static int forward(const crank_op_call *c) {
    const float *w = c->weight[0].v;
    for (int64_t r = 0; r < c->n_rows; r++) {
        const float *u = row(&c->in[0], r), *v = row(&c->in[1], r);
        float *y = c->out.v + r * c->out.stride;
        for (int64_t j = 0; j < c->out.width; j++) {
            float d = u[j] - v[j];
            y[j] = w[j] * u[j] * v[j] / (1 + d * d);
        }
    }
    return 0;
}

static int backward(const crank_op_call *c) {
    const float *w = c->weight[0].v;
    for (int64_t r = 0; r < c->n_rows; r++) {
        const float *u = row(&c->in[0], r), *v = row(&c->in[1], r), *g = row(&c->out_grad, r);
        float *du = c->in_grad[0].v ? c->in_grad[0].v + r * c->in_grad[0].stride : 0;
        float *dv = c->in_grad[1].v ? c->in_grad[1].v + r * c->in_grad[1].stride : 0;
        float *dw = c->weight_grad[0].v;
        for (int64_t j = 0; j < c->out.width; j++) {
            float d = u[j] - v[j], q = 1 / (1 + d * d), uv = u[j] * v[j];
            float slope = 2 * d * q * q * uv; /* of q: the same for u and v but for its sign */
            if (du) du[j] += g[j] * w[j] * (v[j] * q - slope);
            if (dv) dv[j] += g[j] * w[j] * (u[j] * q + slope);
            if (dw) dw[j] += g[j] * uv * q;
        }
    }
    return 0;
}

static const crank_op faded = {"faded_product", forward, backward};

static crank_node *faded_product(crank_build *b, const crank_model_api *api, crank_node *u,
                                 crank_node *v) {
    int64_t width = api->width(u);
    crank_weight *w = api->weight(b, "fade.weight", 1, width, "nn.init.ones_");
    return api->op(b, &faded, (crank_node *[]){u, v}, 2, &w, 1, width, 0, 0);
}

/* ---- a layer for backbone.blocks: two inputs of one width ---- */

static int build_layer(crank_build *b, const crank_model_api *api) {
    if (api->n_inputs(b) != 2) return api->fail(b, "reads two inputs; change the block's inputs");
    crank_node *u = api->input(b, 0), *v = api->input(b, 1);
    if (api->width(u) != api->width(v))
        return api->fail(b, "its inputs are %lld and %lld wide; make them equal",
                         (long long)api->width(u), (long long)api->width(v));
    api->output(b, faded_product(b, api, u, v));
    return 0;
}

/* ---- a model: a tower each for the groups user and item, the op between them ---- */

static int build_model(crank_build *b, const crank_model_api *api) {
    int dim = (int)api->get_int(b, "dim"), hidden = (int)api->get_int(b, "hidden");
    crank_node *user = api->group(b, "user"), *item = api->group(b, "item");
    crank_node *u = api->layer(b, "user", "mlp", &user, 1, "hidden_units: [%d, %d]", hidden, dim);
    crank_node *v = api->layer(b, "item", "mlp", &item, 1, "hidden_units: [%d, %d]", hidden, dim);
    crank_node *parts[] = {u, v, faded_product(b, api, u, v)};
    crank_node *top = api->layer(b, "top", "mlp", parts, 3, "hidden_units: [%d]", hidden);
    api->output(b, top);
    return 0;
}

static const crank_model_param model_params[] = {
    {"dim", CRANK_PARAM_INT, 0, 16, 0, 1, 4096, "width of the towers' last layers"},
    {"hidden", CRANK_PARAM_INT, 0, 64, 0, 1, 65536, "width of the other layers"},
    {0},
};

static const crank_model_type types[] = {
    {"faded_product", "a product that fades with distance", 0, build_layer},
    {"faded_towers", "two towers and a product that fades with distance", model_params,
     build_model},
    {0},
};
const crank_model_library crank_model_plugin = {CRANK_MODEL_ABI, types};
