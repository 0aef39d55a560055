/*
 * expr.c - formulas as a little stack machine.
 *
 * A recursive descent parser emits postfix code; its depth and the stack are bounded, so no text
 * can overflow them. && || ?: evaluate both sides (there are no side effects), which keeps the code
 * free of jumps. `rnd` is refused: a feature must give the same value every time.
 */
#include "feat/expr.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/shown.h"
#include "feat/number.h"

#define MAX_CODE  1024 /* instructions of one formula */
#define MAX_STACK 64
#define MAX_DEPTH 64 /* of nested brackets */

typedef enum op {
    OP_NUM,
    OP_VAR,
    OP_NEG,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_POW,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE,
    OP_BIT_AND,
    OP_BIT_OR,
    OP_AND,
    OP_OR,
    OP_COND,
    OP_F1, /* one-argument functions by pointer */
    OP_ROUNDP,
    OP_MOD,
    OP_SPHERE,
    OP_HAVERSINE,
    OP_MIN,
    OP_MAX,
    OP_SUM,
    OP_AVG,
    OP_VECTOR, /* a function of whole variables */
} op;

/* Functions of whole variables, in the order of VECTOR. */
typedef enum vec {
    VEC_LEN,
    VEC_L2_NORM,
    VEC_SQUARED_NORM,
    VEC_DOT,
    VEC_EUCLID_DIST,
    VEC_CORR,
    VEC_STD_DEV,
    VEC_POP_STD_DEV,
    VEC_VARIANCE,
    VEC_POP_VARIANCE,
    VEC_MIN,
    VEC_MAX,
    VEC_SUM,
    VEC_MEAN,
    VEC_PROD,
} vec;

typedef double (*fn1)(double);
typedef struct instr {
    op op;
    int n; /* index of a variable, or number of arguments */
    union {
        double num;
        fn1 f;
        struct {
            vec fn;
            int a, b; /* variables; b only for functions of two */
        } v;
    } u;
} instr;

struct cr_expr {
    instr *code;
    int n;
    uint64_t used, single; /* bit i: the formula uses variable i; it uses it as a single number */
    bool vectors;
};

static double f_isnan(double x) {
    return isnan(x) ? 1 : 0;
}

static double f_sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

static double f_sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static const struct {
    const char *name;
    fn1 f;
} FUNC1[] = {
    {"isnan", f_isnan}, {"sin", sin},     {"cos", cos},           {"tan", tan},
    {"asin", asin},     {"acos", acos},   {"atan", atan},         {"sinh", sinh},
    {"cosh", cosh},     {"tanh", tanh},   {"asinh", asinh},       {"acosh", acosh},
    {"atanh", atanh},   {"log2", log2},   {"log10", log10},       {"log", log},
    {"ln", log},        {"exp", exp},     {"sqrt", sqrt},         {"sign", f_sign},
    {"abs", fabs},      {"rint", rint},   {"floor", floor},       {"ceil", ceil},
    {"trunc", trunc},   {"round", round}, {"sigmoid", f_sigmoid},
};
/* Functions with a fixed number of arguments (> 1), or any number (0). */
static const struct {
    const char *name;
    op op;
    int n;
} FUNCN[] = {
    {"roundp", OP_ROUNDP, 2},
    {"mod", OP_MOD, 2},
    {"sphere_dist", OP_SPHERE, 4},
    {"haversine", OP_HAVERSINE, 4},
    {"min", OP_MIN, 0},
    {"max", OP_MAX, 0},
    {"sum", OP_SUM, 0},
    {"avg", OP_AVG, 0},
};
static const char *const VECTOR[] = {"len",         "l2_norm",      "squared_norm", "dot",
                                     "euclid_dist", "corr",         "std_dev",      "pop_std_dev",
                                     "variance",    "pop_variance", "reduce_min",   "reduce_max",
                                     "reduce_sum",  "reduce_mean",  "reduce_prod",  NULL};
#define N_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

typedef struct parser {
    const char *text;
    size_t n, pos;
    const char *const *vars;
    int n_vars;
    instr code[MAX_CODE];
    int n_code, stack, depth;
    uint64_t used, single;
    bool vectors; /* vectors: functions of whole variables are allowed; has_vector: one was used */
    bool has_vector;
    size_t bad; /* place of the first error */
    cr_err *err;
    cr_code rc;
} parser;

#define FAIL(p, at, ...)                                                                           \
    do {                                                                                           \
        if ((p)->rc == CR_OK) {                                                                    \
            (p)->bad = (at);                                                                       \
            (p)->rc = cr_fail((p)->err, CR_ECONF, __VA_ARGS__);                                    \
        }                                                                                          \
    } while (0)

/* Emits an instruction that takes `pops` values from the stack and pushes one. */
static void emit(parser *p, instr in, int pops) {
    if (p->rc != CR_OK) return;
    p->stack += 1 - pops;
    if (p->n_code == MAX_CODE || p->stack > MAX_STACK) {
        FAIL(p, p->pos, "the formula is too long; split it into several features");
        return;
    }
    p->code[p->n_code++] = in;
}

static void emit_op(parser *p, op o, int pops) {
    emit(p, (instr){.op = o, .n = pops}, pops);
}

static char peek(parser *p) {
    while (p->pos < p->n && (p->text[p->pos] == ' ' || p->text[p->pos] == '\t'))
        p->pos++;
    return p->pos < p->n ? p->text[p->pos] : 0;
}

static bool take(parser *p, const char *tok) {
    peek(p);
    size_t k = strlen(tok);
    if (p->n - p->pos < k || memcmp(p->text + p->pos, tok, k) != 0) return false;
    p->pos += k;
    return true;
}

static bool is_name(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
}

static void p_cond(parser *p);

static void p_number(parser *p) {
    size_t a = p->pos, i = a;
    while (i < p->n && ((p->text[i] >= '0' && p->text[i] <= '9') || p->text[i] == '.'))
        i++;
    if (i < p->n && (p->text[i] == 'e' || p->text[i] == 'E')) {
        size_t k = i + 1;
        if (k < p->n && (p->text[k] == '+' || p->text[k] == '-')) k++;
        if (k < p->n && p->text[k] >= '0' && p->text[k] <= '9') {
            while (k < p->n && p->text[k] >= '0' && p->text[k] <= '9')
                k++;
            i = k;
        }
    }
    double x = 0;
    char show[80];
    if (!cr_num_f64(p->text + a, i - a, &x))
        FAIL(p, a, "'%s' is not a number", cr_show(show, p->text + a, i - a));
    p->pos = i;
    emit(p, (instr){.op = OP_NUM, .u.num = x}, 0);
}

/* Reads ( args ) after a function's name and returns how many there are. */
static int p_args(parser *p, const char *name, size_t at) {
    if (!take(p, "(")) {
        FAIL(p, at, "'%s' is a function; write %s(...)", name, name);
        return 0;
    }
    int n = 0;
    do {
        p_cond(p);
        n++;
    } while (p->rc == CR_OK && take(p, ","));
    if (!take(p, ")")) FAIL(p, p->pos, "')' expected to end the arguments of %s", name);
    return n;
}

static const char *name_at(const void *ctx, size_t i) {
    const parser *p = ctx;
    if (i < (size_t)p->n_vars) return p->vars[i];
    i -= (size_t)p->n_vars;
    if (i < (size_t)N_OF(FUNC1)) return FUNC1[i].name;
    i -= (size_t)N_OF(FUNC1);
    return i < (size_t)N_OF(FUNCN) ? FUNCN[i].name : NULL;
}

/* Reads the name of a variable as an argument; -1 after an error. */
static int p_variable(parser *p, const char *func) {
    peek(p);
    size_t at = p->pos, i = at;
    while (i < p->n && is_name(p->text[i], i == at))
        i++;
    p->pos = i;
    for (int v = 0; v < p->n_vars; v++) {
        if (strlen(p->vars[v]) != i - at || memcmp(p->text + at, p->vars[v], i - at) != 0) continue;
        p->used |= (uint64_t)1 << v;
        return v;
    }
    char show[80];
    FAIL(p, at, "%s works on a whole variable, and '%s' is not one; write %s(%s)", func,
         cr_show(show, p->text + at, i > at ? i - at : at < p->n), func,
         p->n_vars ? p->vars[0] : "");
    return -1;
}

static void p_vector(parser *p, const char *name, vec fn, size_t at) {
    bool two = fn == VEC_DOT || fn == VEC_EUCLID_DIST || fn == VEC_CORR;
    if (!take(p, "(")) {
        FAIL(p, at, "'%s' is a function; write %s(...)", name, name);
        return;
    }
    int a = p_variable(p, name), b = 0;
    if (p->rc != CR_OK) return;
    if (two) {
        if (!take(p, ",")) FAIL(p, p->pos, "%s takes two variables; ',' expected", name);
        b = p_variable(p, name);
    }
    if (!take(p, ")")) FAIL(p, p->pos, "')' expected to end the arguments of %s", name);
    p->has_vector = true;
    emit(p, (instr){.op = OP_VECTOR, .u.v = {fn, a, b}}, 0);
}

static void p_name(parser *p) {
    size_t at = p->pos, i = at;
    while (i < p->n && is_name(p->text[i], i == at))
        i++;
    char name[64];
    if (i - at >= sizeof(name)) {
        FAIL(p, at, "the name is too long");
        return;
    }
    memcpy(name, p->text + at, i - at);
    name[i - at] = 0;
    p->pos = i;
    for (int v = 0; v < p->n_vars; v++) {
        if (strcmp(name, p->vars[v]) != 0) continue;
        p->used |= (uint64_t)1 << v;
        p->single |= (uint64_t)1 << v;
        emit(p, (instr){.op = OP_VAR, .n = v}, 0);
        return;
    }
    bool pi = strcmp(name, "_pi") == 0;
    if (pi || strcmp(name, "_e") == 0) {
        emit(p, (instr){.op = OP_NUM, .u.num = pi ? M_PI : M_E}, 0);
        return;
    }
    for (int f = 0; f < N_OF(FUNC1); f++) {
        if (strcmp(name, FUNC1[f].name) != 0) continue;
        int n = p_args(p, name, at);
        if (n != 1) FAIL(p, at, "%s takes one argument, %d given", name, n);
        emit(p, (instr){.op = OP_F1, .n = 1, .u.f = FUNC1[f].f}, 1);
        return;
    }
    for (int f = 0; f < N_OF(FUNCN); f++) {
        if (strcmp(name, FUNCN[f].name) != 0) continue;
        int n = p_args(p, name, at);
        if (FUNCN[f].n && n != FUNCN[f].n)
            FAIL(p, at, "%s takes %d arguments, %d given", name, FUNCN[f].n, n);
        emit_op(p, FUNCN[f].op, n);
        return;
    }
    if (strcmp(name, "rnd") == 0) {
        FAIL(p, at,
             "rnd gives another value every time, so training and prediction would differ; "
             "leave it out");
        return;
    }
    for (int v = 0; VECTOR[v]; v++) {
        if (strcmp(name, VECTOR[v]) != 0) continue;
        if (p->vectors)
            p_vector(p, name, (vec)v, at);
        else
            FAIL(p, at, "%s works on vectors; here each value stands alone", name);
        return;
    }
    const char *near = cr_nearest(name, name_at, p);
    if (near)
        FAIL(p, at, "unknown name '%s'; did you mean '%s'?", name, near);
    else
        FAIL(p, at, "unknown name '%s'; the variable is '%s'", name, p->n_vars ? p->vars[0] : "");
}

static void p_atom(parser *p) {
    char c = peek(p);
    if (c == '(') {
        size_t at = p->pos++;
        p_cond(p);
        if (!take(p, ")")) FAIL(p, at, "this '(' is never closed");
    } else if ((c >= '0' && c <= '9') || c == '.') {
        p_number(p);
    } else if (is_name(c, true)) {
        p_name(p);
    } else if (c == 0) {
        FAIL(p, p->pos, "the formula ends too early; a number, a name or '(' is expected");
    } else {
        char show[80];
        FAIL(p, p->pos, "unexpected '%s'; a number, a name or '(' is expected",
             cr_show(show, &c, 1));
    }
}

static void p_unary(parser *p);

static void p_power(parser *p) {
    p_atom(p);
    if (p->rc == CR_OK && take(p, "^")) {
        p_unary(p); /* from right to left; also allows 2^-1 */
        emit_op(p, OP_POW, 2);
    }
}

static void p_unary(parser *p) {
    if (p->rc != CR_OK) return;
    if (++p->depth > MAX_DEPTH) {
        FAIL(p, p->pos, "the formula is nested too deeply");
    } else if (take(p, "-")) {
        p_unary(p);
        emit_op(p, OP_NEG, 1);
    } else if (take(p, "+")) {
        p_unary(p);
    } else {
        p_power(p);
    }
    p->depth--;
}

/* Binary operators by rising precedence; a longer spelling comes before its prefix. */
static const struct {
    const char *tok;
    const char *not_before; /* the operator is another one when one of these bytes follows */
    op op;
    int level;
} BINARY[] = {
    {"||", "", OP_OR, 0},      {"&&", "", OP_AND, 1}, {"|", "|", OP_BIT_OR, 2},
    {"&", "&", OP_BIT_AND, 3}, {"<=", "", OP_LE, 4},  {">=", "", OP_GE, 4},
    {"!=", "", OP_NE, 4},      {"==", "", OP_EQ, 4},  {">", "=", OP_GT, 4},
    {"<", "=", OP_LT, 4},      {"+", "", OP_ADD, 5},  {"-", "", OP_SUB, 5},
    {"*", "", OP_MUL, 6},      {"/", "", OP_DIV, 6},
};
#define TOP_LEVEL 7

static void p_binary(parser *p, int level) {
    if (level == TOP_LEVEL) {
        p_unary(p);
        return;
    }
    p_binary(p, level + 1);
    for (bool more = true; more && p->rc == CR_OK;) {
        more = false;
        for (int i = 0; i < N_OF(BINARY) && !more; i++) {
            size_t at = p->pos;
            if (BINARY[i].level != level || !take(p, BINARY[i].tok)) continue;
            if (BINARY[i].not_before[0] && p->pos < p->n &&
                p->text[p->pos] == BINARY[i].not_before[0]) {
                p->pos = at;
                continue;
            }
            p_binary(p, level + 1);
            emit_op(p, BINARY[i].op, 2);
            more = true;
        }
    }
}

static void p_cond(parser *p) {
    if (p->rc != CR_OK) return;
    if (++p->depth > MAX_DEPTH) {
        FAIL(p, p->pos, "the formula is nested too deeply");
        return;
    }
    p_binary(p, 0);
    if (p->rc == CR_OK && take(p, "?")) {
        size_t at = p->pos - 1;
        p_cond(p);
        if (!take(p, ":")) FAIL(p, at, "this '?' has no ':'");
        p_cond(p);
        emit_op(p, OP_COND, 3);
    }
    p->depth--;
}

static cr_code compile(cr_expr **out, cr_arena *arena, const char *text, size_t n,
                       const char *const *vars, int n_vars, bool vectors, size_t *where,
                       cr_err *err) {
    CR_ASSERT(n_vars <= 64);
    parser p = {
        .text = text, .n = n, .vars = vars, .n_vars = n_vars, .vectors = vectors, .err = err};
    p_cond(&p);
    if (p.rc == CR_OK && peek(&p)) {
        char show[80];
        FAIL(&p, p.pos, "unexpected '%s'; an operator or the end is expected",
             cr_show(show, p.text + p.pos, 1));
    }
    *where = p.bad;
    if (p.rc != CR_OK) return p.rc;
    cr_expr *e = CR_NEW(arena, cr_expr);
    e->code = CR_NEW_N(arena, instr, p.n_code);
    memcpy(e->code, p.code, sizeof(instr) * (size_t)p.n_code);
    e->n = p.n_code;
    e->used = p.used;
    e->single = p.single;
    e->vectors = p.has_vector;
    *out = e;
    return CR_OK;
}

cr_code cr_expr_compile(cr_expr **out, cr_arena *arena, const char *text, size_t n,
                        const char *const *vars, int n_vars, size_t *where, cr_err *err) {
    return compile(out, arena, text, n, vars, n_vars, false, where, err);
}

cr_code cr_expr_compile_row(cr_expr **out, cr_arena *arena, const char *text, size_t n,
                            const char *const *vars, int n_vars, size_t *where, cr_err *err) {
    return compile(out, arena, text, n, vars, n_vars, true, where, err);
}

bool cr_expr_uses(const cr_expr *e, int i) {
    return e->used >> i & 1;
}

static int64_t whole(double x) {
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : 0;
}

/* Returns the great-circle distance in kilometres, by cosines or by haversines. */
static double sphere(const double *a, bool haversine) {
    const double R = 6371.0, rad = M_PI / 180;
    double lng1 = a[0] * rad, lat1 = a[1] * rad, lng2 = a[2] * rad, lat2 = a[3] * rad;
    if (haversine) {
        double s = sin((lat2 - lat1) / 2), t = sin((lng2 - lng1) / 2);
        return 2 * R * asin(sqrt(fmin(1, s * s + cos(lat1) * cos(lat2) * t * t)));
    }
    double c = sin(lat1) * sin(lat2) + cos(lat1) * cos(lat2) * cos(lng2 - lng1);
    return R * acos(fmax(-1, fmin(1, c)));
}

static double fold(op o, const double *a, int n) {
    double r = a[0];
    for (int i = 1; i < n; i++)
        r = o == OP_MIN ? fmin(r, a[i]) : o == OP_MAX ? fmax(r, a[i]) : r + a[i];
    return o == OP_AVG ? r / n : r;
}

/* Returns value k of a variable: a single value stands for all, missing values are `fill`. */
static double item(const cr_expr_var *x, int64_t k, double fill) {
    return x->n == 1 ? x->v[0] : k < x->n ? x->v[k] : fill;
}

static double variance(const cr_expr_var *x, bool less_one) {
    double mean = 0, s = 0;
    for (int64_t i = 0; i < x->n; i++)
        mean += x->v[i];
    mean /= (double)x->n;
    for (int64_t i = 0; i < x->n; i++)
        s += (x->v[i] - mean) * (x->v[i] - mean);
    return s / (double)(less_one ? x->n - 1 : x->n);
}

/* Returns the sum of (a - ma) * (b - mb) over the length of the longer variable. */
static double product(const cr_expr_var *a, double ma, const cr_expr_var *b, double mb,
                      double fill) {
    int64_t n = a->n > b->n ? a->n : b->n;
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += (item(a, i, fill) - ma) * (item(b, i, fill) - mb);
    return s;
}

static double reduce(vec fn, const cr_expr_var *x) {
    if (x->n == 0) return NAN;
    double r = x->v[0];
    for (int64_t i = 1; i < x->n; i++)
        r = fn == VEC_MIN    ? fmin(r, x->v[i])
            : fn == VEC_MAX  ? fmax(r, x->v[i])
            : fn == VEC_PROD ? r * x->v[i]
                             : r + x->v[i];
    return fn == VEC_MEAN ? r / (double)x->n : r;
}

static double vector(const instr *in, const cr_expr_var *vars, double fill) {
    const cr_expr_var *a = &vars[in->u.v.a], *b = &vars[in->u.v.b];
    switch (in->u.v.fn) {
    case VEC_LEN: return (double)a->n;
    case VEC_L2_NORM: return sqrt(product(a, 0, a, 0, fill));
    case VEC_SQUARED_NORM: return product(a, 0, a, 0, fill);
    case VEC_DOT: return product(a, 0, b, 0, fill);
    case VEC_EUCLID_DIST: {
        double s = 0;
        for (int64_t i = 0; i < a->n || i < b->n; i++) {
            double d = item(a, i, fill) - item(b, i, fill);
            s += d * d;
        }
        return sqrt(s);
    }
    case VEC_CORR: {
        double ma = reduce(VEC_MEAN, a), mb = reduce(VEC_MEAN, b);
        return product(a, ma, b, mb, fill) /
               sqrt(product(a, ma, a, ma, fill) * product(b, mb, b, mb, fill));
    }
    case VEC_STD_DEV: return sqrt(variance(a, false));
    case VEC_POP_STD_DEV: return sqrt(variance(a, true));
    case VEC_VARIANCE: return variance(a, false);
    case VEC_POP_VARIANCE: return variance(a, true);
    case VEC_MIN:
    case VEC_MAX:
    case VEC_SUM:
    case VEC_MEAN:
    case VEC_PROD: return reduce(in->u.v.fn, a);
    }
    return NAN;
}

bool cr_expr_vectors(const cr_expr *e) {
    return e->vectors;
}

bool cr_expr_single(const cr_expr *e, int i) {
    return e->single >> i & 1;
}

static double eval(const cr_expr *e, const double *vars, const cr_expr_var *rows, int64_t k,
                   double fill);

double cr_expr_eval(const cr_expr *e, const double *vars) {
    return eval(e, vars, NULL, 0, 0);
}

double cr_expr_eval_row(const cr_expr *e, const cr_expr_var *vars, int64_t k, double fill) {
    return eval(e, NULL, vars, k, fill);
}

static double eval(const cr_expr *e, const double *vars, const cr_expr_var *rows, int64_t k,
                   double fill) {
    double s[MAX_STACK + 1];
    s[0] = 0;
    int t = -1; /* index of the top value */
    for (const instr *in = e->code, *end = in + e->n; in != end; in++) {
        if (in->op == OP_NUM) {
            s[++t] = in->u.num;
            continue;
        }
        if (in->op == OP_VAR) {
            s[++t] = rows ? item(&rows[in->n], k, fill) : vars[in->n];
            continue;
        }
        if (in->op == OP_VECTOR) {
            s[++t] = vector(in, rows, fill);
            continue;
        }
        t -= in->n - 1; /* the result takes the first argument's place */
        double *a = s + t, x = a[0], y = in->n > 1 ? a[1] : 0;
        switch (in->op) {
        case OP_NEG: a[0] = -x; break;
        case OP_ADD: a[0] = x + y; break;
        case OP_SUB: a[0] = x - y; break;
        case OP_MUL: a[0] = x * y; break;
        case OP_DIV: a[0] = x / y; break;
        case OP_POW: a[0] = pow(x, y); break;
        case OP_LT: a[0] = x < y; break;
        case OP_LE: a[0] = x <= y; break;
        case OP_GT: a[0] = x > y; break;
        case OP_GE: a[0] = x >= y; break;
        case OP_EQ: a[0] = x == y; break;
        case OP_NE: a[0] = x != y; break;
        case OP_BIT_AND: a[0] = (double)(whole(x) & whole(y)); break;
        case OP_BIT_OR: a[0] = (double)(whole(x) | whole(y)); break;
        case OP_AND: a[0] = x != 0 && y != 0; break;
        case OP_OR: a[0] = x != 0 || y != 0; break;
        case OP_COND: a[0] = x != 0 ? a[1] : a[2]; break;
        case OP_F1: a[0] = in->u.f(x); break;
        case OP_ROUNDP: {
            double scale = pow(10, rint(y));
            a[0] = round(x * scale) / scale;
            break;
        }
        case OP_MOD: a[0] = fmod(x, y); break;
        case OP_SPHERE: a[0] = sphere(a, false); break;
        case OP_HAVERSINE: a[0] = sphere(a, true); break;
        case OP_MIN:
        case OP_MAX:
        case OP_SUM:
        case OP_AVG: a[0] = fold(in->op, a, in->n); break;
        case OP_NUM:
        case OP_VECTOR:
        case OP_VAR: break;
        }
    }
    return s[0];
}
