/*
 * activation.c - activations by the names people write in configs: a torch class path with optional
 * arguments. TorchEasyRec evaluates that text as Python; here a table describes each class, with
 * torch's arguments in torch's order. A function that is another one with other numbers (ReLU6 is a
 * Hardtanh, LogSigmoid a Softplus) is just another row.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

/* An argument: the parameters that it sets, as bits of cr_act_spec.p, and the rule for its
 * values. */
typedef enum rule { ANY, ABOVE_0, FROM_0, NOT_0, WHOLE_FROM_1, DIM, METHOD } rule;
typedef struct argument {
    const char *name;
    int sets;
    rule rule;
} argument;

#define MAX_ARGS 2
typedef struct known {
    const char *name;
    cr_act_kind kind;
    int act;
    float p[3]; /* defaults; NaN: the config must give the value */
    argument arg[MAX_ARGS];
    bool inplace; /* torch's class has this argument, which changes nothing here */
    const char *help;
} known;

#define SELU_ALPHA 1.6732632423543772f
#define SELU_SCALE 1.0507009873554805f
#define PLAIN(act) CR_ACTK_PLAIN, CR_ACT_##act
/* clang-format off */
static const known table[] = {
    {"ReLU", PLAIN(RELU), {0}, {{0}}, true,
     "x where x > 0, else 0"},
    {"LeakyReLU", PLAIN(LEAKY), {0.01f}, {{"negative_slope", 1, ANY}}, true,
     "x where x > 0, else negative_slope x"},
    {"PReLU", CR_ACTK_PRELU, 0, {1, 0.25f}, {{"num_parameters", 1, WHOLE_FROM_1}, {"init", 2, ANY}}, false,
     "x where x > 0, else a learned slope times x; num_parameters: 1 or the layer's width"},
    {"RReLU", CR_ACTK_RRELU, 0, {0.125f, 1.0f / 3}, {{"lower", 1, ANY}, {"upper", 2, ANY}}, true,
     "the same with a random slope for each number while training, and the mean of lower and upper otherwise"},
    {"ReLU6", PLAIN(CLAMP), {0, 6}, {{0}}, true,
     "x between 0 and 6"},
    {"Sigmoid", PLAIN(SIGMOID), {0}, {{0}}, false,
     "1 / (1 + e^-x)"},
    {"Tanh", PLAIN(TANH), {0}, {{0}}, false,
     "tanh(x)"},
    {"GELU", PLAIN(GELU), {0}, {{"approximate", 0, METHOD}}, false,
     "x Phi(x), where Phi is the normal distribution; approximate='tanh' computes it with tanh"},
    {"SiLU", PLAIN(SILU), {0}, {{0}}, true,
     "x sigmoid(x), also called swish"},
    {"Mish", PLAIN(MISH), {0}, {{0}}, true,
     "x tanh(log(1 + e^x))"},
    {"ELU", PLAIN(ELU), {1, 1, 1}, {{"alpha", 1, ANY}}, true,
     "x where x > 0, else alpha (e^x - 1)"},
    {"SELU", PLAIN(ELU), {SELU_ALPHA, SELU_SCALE, 1}, {{0}}, true,
     "1.0507 times ELU with alpha = 1.6733"},
    {"CELU", PLAIN(ELU), {1, 1, 1}, {{"alpha", 1 | 4, ABOVE_0}}, true,
     "x where x > 0, else alpha (e^(x / alpha) - 1)"},
    {"Softplus", PLAIN(SOFTPLUS), {1, 20}, {{"beta", 1, NOT_0}, {"threshold", 2, ANY}}, false,
     "log(1 + e^(beta x)) / beta; x where beta x > threshold"},
    {"LogSigmoid", PLAIN(SOFTPLUS), {-1, INFINITY}, {{0}}, false,
     "log(sigmoid(x))"},
    {"Softsign", PLAIN(SOFTSIGN), {0}, {{0}}, false,
     "x / (1 + |x|)"},
    {"Hardsigmoid", PLAIN(HARDSIGMOID), {0}, {{0}}, true,
     "(x + 3) / 6 between 0 and 1"},
    {"Hardswish", PLAIN(HARDSWISH), {0}, {{0}}, true,
     "x Hardsigmoid(x)"},
    {"Hardtanh", PLAIN(CLAMP), {-1, 1}, {{"min_val", 1, ANY}, {"max_val", 2, ANY}}, true,
     "x between min_val and max_val"},
    {"Threshold", PLAIN(THRESHOLD), {NAN, NAN}, {{"threshold", 1, ANY}, {"value", 2, ANY}}, true,
     "x where x > threshold, else value"},
    {"Softshrink", PLAIN(SHRINK), {0.5f, 0.5f}, {{"lambd", 1 | 2, FROM_0}}, false,
     "x moved by lambd towards 0; 0 where |x| <= lambd"},
    {"Hardshrink", PLAIN(SHRINK), {0.5f, 0}, {{"lambd", 1, ANY}}, false,
     "x; 0 where |x| <= lambd"},
    {"Tanhshrink", PLAIN(TANHSHRINK), {0}, {{0}}, false,
     "x - tanh(x)"},
    {"Softmax", CR_ACTK_SOFTMAX, 0, {0}, {{"dim", 1, DIM}}, false,
     "e^x over its sum in the layer"},
    {"Softmin", CR_ACTK_SOFTMIN, 0, {0}, {{"dim", 1, DIM}}, false,
     "Softmax of -x"},
    {"LogSoftmax", CR_ACTK_LOG_SOFTMAX, 0, {0}, {{"dim", 1, DIM}}, false,
     "log(Softmax(x))"},
    {"Dice", CR_ACTK_DICE, 0, {0}, {{0}}, false,
     "p x + alpha (1 - p) x, p = sigmoid(batch norm of x), alpha learned per unit"},
    {"Identity", CR_ACTK_NONE, 0, {0}, {{0}}, false,
     "x, as \"\""},
};
/* clang-format on */
#define N_KNOWN (sizeof(table) / sizeof(table[0]))

/* Classes that torch lists among its activations but that cannot follow a layer. */
static const char *const not_here[][2] = {
    {"GLU", "GLU halves the width of a layer, but the next layer expects the full width"},
    {"Softmax2d", "Softmax2d is for pictures"},
    {"MultiheadAttention", "MultiheadAttention is not a function of one layer"},
};

static const char *nth(const void *ctx, size_t i) {
    (void)ctx;
    return i < N_KNOWN ? table[i].name : NULL;
}

const char *cr_act_help(size_t i, cr_buf *call) {
    if (i >= N_KNOWN) return NULL;
    const known *k = &table[i];
    cr_buf_printf(call, "%s%s", k->kind == CR_ACTK_DICE ? "" : "nn.", k->name);
    for (int j = 0; j < MAX_ARGS && k->arg[j].name; j++) {
        const argument *a = &k->arg[j];
        float p = k->p[a->sets == 2];
        cr_buf_printf(call, "%s%s=", j ? ", " : "(", a->name);
        if (a->rule == METHOD || a->rule == DIM)
            cr_buf_str(call, a->rule == DIM ? "-1" : "'none'");
        else if (isnan(p))
            cr_buf_str(call, "...");
        else
            cr_buf_printf(call, "%.3g", (double)p);
    }
    if (k->arg[0].name) cr_buf_str(call, ")");
    return k->help;
}

/* A piece of the text, without blanks around it. */
typedef struct piece {
    const char *s;
    int n;
} piece;
static piece trim(const char *s, const char *end) {
    while (s < end && *s == ' ')
        s++;
    while (end > s && end[-1] == ' ')
        end--;
    return (piece){s, (int)(end - s)};
}
static bool is(piece p, const char *word) {
    return strlen(word) == (size_t)p.n && memcmp(p.s, word, (size_t)p.n) == 0;
}

/* Returns the class name without the torch module in front of it. */
static piece class_of(piece p) {
    static const char *const paths[] = {
        "torch.nn.modules.activation.", "torch.nn.modules.", "torch.nn.",
        "nn.modules.activation.",       "nn.modules.",       "nn."};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        int n = (int)strlen(paths[i]);
        if (p.n > n && memcmp(p.s, paths[i], (size_t)n) == 0) return (piece){p.s + n, p.n - n};
    }
    return p;
}

static cr_code unknown(const char *text, piece name, cr_err *err) {
    for (size_t i = 0; i < sizeof(not_here) / sizeof(not_here[0]); i++)
        if (is(name, not_here[i][0]))
            return cr_fail(err, CR_ECONF, "activation '%s': %s; use nn.SiLU or another one", text,
                           not_here[i][1]);
    char word[32];
    snprintf(word, sizeof(word), "%.*s", name.n, name.s);
    const char *near = cr_nearest(word, nth, NULL);
    const char *module = near && strcmp(near, "Dice") == 0 ? "" : "nn.";
    if (near)
        return cr_fail(err, CR_ECONF,
                       "unknown activation '%s'; did you mean '%s%s'? (\"\" means none)", text,
                       module, near);
    return cr_fail(err, CR_ECONF,
                   "unknown activation '%s'; 'crank help activations' lists those that there are, "
                   "and \"\" for none",
                   text);
}

/* Writes "ELU takes alpha=<number>" to out. */
static const char *takes(const known *k, char *out, size_t size) {
    int at = snprintf(out, size, "%s takes", k->name);
    for (int i = 0; i < MAX_ARGS && k->arg[i].name; i++)
        at += snprintf(out + at, size - (size_t)at, "%s %s=%s", i ? "," : "", k->arg[i].name,
                       k->arg[i].rule == METHOD         ? "'none' or 'tanh'"
                       : k->arg[i].rule == DIM          ? "-1"
                       : k->arg[i].rule == WHOLE_FROM_1 ? "<whole number>"
                                                        : "<number>");
    if (!k->arg[0].name) snprintf(out + at, size - (size_t)at, " no arguments");
    return out;
}

static cr_code wrong(const known *k, const char *text, piece what, const char *why, cr_err *err) {
    char t[160];
    return cr_fail(err, CR_ECONF, "activation '%s': %s '%.*s'; %s", text, why, what.n, what.s,
                   takes(k, t, sizeof(t)));
}

static cr_code set(cr_act_spec *out, const known *k, const argument *a, piece v, const char *text,
                   cr_err *err) {
    if (a->rule == METHOD) {
        bool quoted = v.n >= 2 && (*v.s == '\'' || *v.s == '"') && v.s[v.n - 1] == *v.s;
        piece in = quoted ? (piece){v.s + 1, v.n - 2} : v;
        if (!quoted || !(is(in, "none") || is(in, "tanh")))
            return wrong(k, text, v, "approximate cannot be", err);
        if (is(in, "tanh")) out->act = CR_ACT_GELU_TANH;
        return CR_OK;
    }
    double x;
    if (!cr_parse_f64(v.s, (size_t)v.n, &x) || !isfinite((float)x))
        return wrong(k, text, v, "cannot read the number", err);
    if (a->rule == DIM && !(x == -1 || x == 1 || x == 2))
        return cr_fail(
            err, CR_ECONF,
            "activation '%s': %s over dim %.*s would mix rows; write dim=-1, the numbers "
            "of a layer",
            text, k->name, v.n, v.s);
    const char *must = a->rule == ABOVE_0 && !(x > 0)      ? "above 0"
                       : a->rule == FROM_0 && !(x >= 0)    ? "at least 0"
                       : a->rule == NOT_0 && (float)x == 0 ? "other than 0"
                       : a->rule == WHOLE_FROM_1 && !(x >= 1 && x <= 1048576 && x == floor(x))
                           ? "a whole number, 1 or the width of the layer"
                           : NULL;
    if (must)
        return cr_fail(err, CR_ECONF, "activation '%s': %s is %.*s and must be %s", text, a->name,
                       v.n, v.s, must);
    for (int i = 0; i < 3; i++)
        if (a->sets >> i & 1) out->p[i] = (float)x;
    return CR_OK;
}

/* Reads one argument; position counts those without a name. */
static cr_code argument_of(cr_act_spec *out, const known *k, piece part, int position, int *seen,
                           const char *text, cr_err *err) {
    const char *eq = memchr(part.s, '=', (size_t)part.n), *end = part.s + part.n;
    piece name = trim(part.s, eq ? eq : part.s), v = trim(eq ? eq + 1 : part.s, end);
    int n = 0, i = -1;
    while (n < MAX_ARGS && k->arg[n].name)
        n++;
    for (int j = 0; j < n && eq; j++)
        if (is(name, k->arg[j].name)) i = j;
    if (k->inplace && (eq ? is(name, "inplace") : position == n)) i = n;
    if (!eq && position < n) i = position;
    if (i < 0) return wrong(k, text, part, "cannot read", err);
    if (*seen >> i & 1) return wrong(k, text, part, "an argument is given twice:", err);
    *seen |= 1 << i;
    if (i < n) return set(out, k, &k->arg[i], v, text, err);
    if (is(v, "True") || is(v, "False")) return CR_OK;
    return cr_fail(err, CR_ECONF,
                   "activation '%s': inplace is %.*s; write True or False, or "
                   "leave it out, as it changes nothing here",
                   text, v.n, v.s);
}

cr_code cr_act_parse(cr_act_spec *out, const char *text, cr_err *err) {
    *out = (cr_act_spec){CR_ACTK_NONE, 0, {0}};
    piece all = trim(text, text + strlen(text));
    if (all.n == 0) return CR_OK;
    const char *end = all.s + all.n, *open = memchr(all.s, '(', (size_t)all.n);
    piece name = class_of(trim(all.s, open ? open : end));
    const known *k = NULL;
    for (size_t i = 0; i < N_KNOWN && !k; i++)
        if (is(name, table[i].name)) k = &table[i];
    if (!k) return unknown(text, name, err);
    *out = (cr_act_spec){k->kind, k->act, {k->p[0], k->p[1], k->p[2]}};
    if (open && memchr(open, ')', (size_t)(end - open)) != end - 1)
        return cr_fail(err, CR_ECONF,
                       "activation '%s': one closing bracket belongs at its end; write %.*s(...)",
                       text, name.n, name.s);
    if (open && trim(open + 1, end - 1).n > 0) {
        int seen = 0, position = 0;
        for (const char *s = open + 1, *to; s < end; s = to + 1) {
            to = memchr(s, ',', (size_t)(end - 1 - s));
            if (!to) to = end - 1;
            piece part = trim(s, to);
            CR_TRY(argument_of(out, k, part, position, &seen, text, err));
            position = memchr(part.s, '=', (size_t)part.n) ? MAX_ARGS + 1 : position + 1;
        }
    }
    if (isnan(out->p[0]) || isnan(out->p[1]))
        return cr_fail(err, CR_ECONF,
                       "activation '%s' needs both of its numbers; write "
                       "nn.Threshold(threshold=0.1, value=0)",
                       text);
    bool ordered = out->p[0] < out->p[1];
    if (k->kind == CR_ACTK_RRELU) ordered = out->p[0] <= out->p[1];
    if ((strcmp(k->name, "Hardtanh") == 0 || k->kind == CR_ACTK_RRELU) && !ordered)
        return cr_fail(err, CR_ECONF, "activation '%s': %s must be below %s", text, k->arg[0].name,
                       k->arg[1].name);
    return CR_OK;
}

cr_code cr_act_fits(const cr_act_spec *s, const cr_node *x, cr_err *err) {
    bool soft =
        s->kind == CR_ACTK_SOFTMAX || s->kind == CR_ACTK_SOFTMIN || s->kind == CR_ACTK_LOG_SOFTMAX;
    if (s->kind == CR_ACTK_PRELU && s->p[0] != 1 && (int64_t)s->p[0] != x->width)
        return cr_fail(err, CR_ECONF,
                       "PReLU has %lld slopes for a layer of %lld units; give 1 or %lld",
                       (long long)s->p[0], (long long)x->width, (long long)x->width);
    /* over the steps of a sequence torch takes dim 0 if none is given */
    bool steps = x->cls == CR_SEQ;
    if (soft && s->p[0] != -1 && (steps ? s->p[0] != 2 : s->p[0] == 2))
        return cr_fail(err, CR_ECONF,
                       "a softmax of this layer would not run over its %lld units; "
                       "write dim=-1",
                       (long long)x->width);
    return CR_OK;
}

cr_node *cr_bn_planes(cr_graph *g, const char *name, cr_node *x, int64_t w, bool affine,
                      bool relu) {
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *gamma = affine ? cr_vector(g, "weight", w, CR_INIT_C(1)) : NULL;
    cr_node *beta = affine ? cr_vector(g, "bias", w, CR_INIT_C(0)) : NULL;
    cr_node *mean = cr_buffer(g, "running_mean", w, 0);
    cr_node *var = cr_buffer(g, "running_var", w, 1);
    cr_node *count = cr_buffer(g, "num_batches_tracked", 0, 0);
    cr_graph_pop(g, mark);
    return cr_batch_norm(g, x, gamma, beta, mean, var, count, 1e-5f, 0.1f, relu);
}

cr_node *cr_bn(cr_graph *g, const char *name, cr_node *x, bool affine, bool relu) {
    return cr_bn_planes(g, name, x, x->width, affine, relu);
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
    case CR_ACTK_PLAIN: return cr_activation(g, (cr_act)s->act, s->p, x);
    case CR_ACTK_RRELU: return cr_rrelu(g, x, s->p[0], s->p[1]);
    case CR_ACTK_SOFTMAX: return cr_softmax(g, x, 1);
    case CR_ACTK_SOFTMIN: return cr_softmax(g, cr_add(g, &x, (float[]){-1}, 1), 1);
    case CR_ACTK_LOG_SOFTMAX: return cr_log_softmax(g, x);
    case CR_ACTK_PRELU: {
        size_t mark = cr_graph_push(g, "%s", name);
        int64_t n = s->p[0] > 1 ? x->width : 1;
        cr_node *a = cr_vector(g, "weight", n, CR_INIT_C((double)s->p[1]));
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
