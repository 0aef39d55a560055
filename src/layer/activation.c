/*
 * activation.c - activations by the names people write in configs: a torch class path with optional
 * keyword arguments. TorchEasyRec evaluates that text as Python; here it is read by a table.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

typedef struct known {
    const char *name;
    cr_act_kind kind;
    int act;
    double def;      /* default of the parameter */
    const char *arg; /* its keyword; NULL: takes none */
} known;

static const known table[] = {
    {"ReLU", CR_ACTK_PLAIN, CR_ACT_RELU, 0, NULL},
    {"LeakyReLU", CR_ACTK_PLAIN, CR_ACT_LEAKY, 0.01, "negative_slope"},
    {"PReLU", CR_ACTK_PRELU, 0, 0.25, "init"},
    {"Sigmoid", CR_ACTK_PLAIN, CR_ACT_SIGMOID, 0, NULL},
    {"Tanh", CR_ACTK_PLAIN, CR_ACT_TANH, 0, NULL},
    {"GELU", CR_ACTK_PLAIN, CR_ACT_GELU, 0, NULL},
    {"SiLU", CR_ACTK_PLAIN, CR_ACT_SILU, 0, NULL},
    {"ELU", CR_ACTK_PLAIN, CR_ACT_ELU, 1, "alpha"},
    {"Softplus", CR_ACTK_PLAIN, CR_ACT_SOFTPLUS, 0, NULL},
    {"Identity", CR_ACTK_NONE, 0, 0, NULL},
    {"Dice", CR_ACTK_DICE, 0, 0, NULL},
    {NULL, CR_ACTK_NONE, 0, 0, NULL},
};

static const char *nth(const void *ctx, size_t i) {
    (void)ctx;
    return table[i].name;
}

cr_code cr_act_parse(cr_act_spec *out, const char *text, cr_err *err) {
    *out = (cr_act_spec){CR_ACTK_NONE, 0, 0, 1};
    if (!*text) return CR_OK;
    const char *s = text;
    const char *const prefixes[] = {"torch.nn.", "nn."};
    for (size_t i = 0; i < 2; i++)
        if (strncmp(s, prefixes[i], strlen(prefixes[i])) == 0) {
            s += strlen(prefixes[i]);
            break;
        }
    char name[32];
    size_t len = strcspn(s, "(");
    snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name) - 1), s);
    const known *k = table;
    while (k->name && strcmp(k->name, name) != 0)
        k++;
    if (!k->name) {
        const char *near = cr_nearest(name, nth, NULL);
        return cr_fail(err, CR_ECONF, "unknown activation '%s'; %s%s%s, or \"\" for none", text,
                       near ? "did you mean 'nn."
                            : "known are nn.ReLU, nn.LeakyReLU, nn.PReLU, nn.Sigmoid, nn.Tanh, "
                              "nn.GELU, nn.SiLU, nn.ELU, nn.Softplus, Dice",
                       near ? near : "", near ? "'" : "");
    }
    *out = (cr_act_spec){k->kind, k->act, k->def, 1};
    for (s += len; *s; s += strcspn(s, ",)")) {
        while (*s == '(' || *s == ',' || *s == ' ')
            s++;
        if (*s == ')' || !*s) break;
        size_t n = strcspn(s, "=,)"), end = strcspn(s, ",)");
        const char *v = s[n] == '=' ? s + n + 1 : s;
        size_t v_len = end - (size_t)(v - s);
        while (n > 0 && s[n - 1] == ' ')
            n--;
        bool positional = v == s, number;
        double x;
        number = cr_parse_f64(v, v_len, &x);
        if (n == 7 && strncmp(s, "inplace", 7) == 0) continue;
        if (k->kind == CR_ACTK_PRELU && number &&
            (positional || (n == 14 && strncmp(s, "num_parameters", 14) == 0))) {
            if (!(x >= 1 && x <= 1048576))
                return cr_fail(
                    err, CR_ECONF,
                    "activation '%s': PReLU has 1 slope, or as many as the layer is wide", text);
            out->n_param = (int64_t)x;
            continue;
        }
        if (!k->arg || !number ||
            (!positional && (strlen(k->arg) != n || strncmp(s, k->arg, n) != 0)))
            return cr_fail(err, CR_ECONF, "activation '%s': cannot read '%.*s'; %s takes %s%s",
                           text, (int)end, s, name, k->arg ? k->arg : "no arguments",
                           k->arg ? "=<number>" : "");
        out->param = x;
    }
    return CR_OK;
}

cr_node *cr_bn(cr_graph *g, const char *name, cr_node *x, bool affine, bool relu) {
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *gamma = affine ? cr_vector(g, "weight", x->width, CR_INIT_C(1)) : NULL;
    cr_node *beta = affine ? cr_vector(g, "bias", x->width, CR_INIT_C(0)) : NULL;
    cr_node *mean = cr_buffer(g, "running_mean", x->width, 0);
    cr_node *var = cr_buffer(g, "running_var", x->width, 1);
    cr_node *count = cr_buffer(g, "num_batches_tracked", 0, 0);
    cr_graph_pop(g, mark);
    return cr_batch_norm(g, x, gamma, beta, mean, var, count, 1e-5f, 0.1f, relu);
}

cr_node *cr_ln(cr_graph *g, const char *name, cr_node *x, int64_t w) {
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *gamma = cr_vector(g, "weight", w, CR_INIT_C(1));
    cr_node *beta = cr_vector(g, "bias", w, CR_INIT_C(0));
    cr_graph_pop(g, mark);
    return cr_layer_norm(g, x, gamma, beta, 1e-5f);
}

cr_node *cr_act_apply(cr_graph *g, const char *name, const cr_act_spec *s, cr_node *x) {
    switch (s->kind) {
    case CR_ACTK_NONE: return x;
    case CR_ACTK_PLAIN: return cr_activation(g, (cr_act)s->act, (float)s->param, x);
    case CR_ACTK_PRELU: {
        size_t mark = cr_graph_push(g, "%s", name);
        cr_node *a =
            cr_vector(g, "weight", s->n_param == x->width ? x->width : 1, CR_INIT_C(s->param));
        cr_graph_pop(g, mark);
        return cr_prelu(g, x, a);
    }
    case CR_ACTK_DICE: {
        size_t mark = cr_graph_push(g, "%s", name);
        cr_node *xn = cr_bn(g, "bn", x, false, false);
        cr_node *alpha = cr_vector(g, "alpha", x->width, CR_INIT_C(0));
        cr_graph_pop(g, mark);
        return cr_dice(g, x, xn, alpha);
    }
    }
    CR_BUG("unknown activation kind");
}
