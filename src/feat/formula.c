/*
 * formula.c - expr_feature: a formula over columns, in the language of expr.c.
 *
 * Columns with several values per row are computed value by value: a single value stands for all,
 * and a short column is filled up with fill_missing. With a function of whole columns (dot, len
 * ...) the result is one number, and all other columns must have single values. A row in which an
 * input is missing gets the default.
 */
#include "feat/calc_int.h"

#include <math.h>

#include "base/rng.h"
#include "conf/conf.h"

typedef struct formula_conf {
    cr_calc_conf op;
    const char *expression;
    cr_strs variables;
    double fill_missing;
} formula_conf;
static const cr_field cr_expr_fields[] = {
    CR_CALC_NAME,
    CR_STR(formula_conf, expression, NULL, 0, "formula over the variables"),
    CR_STR(formula_conf, variables, NULL, CR_F_REPEATED,
           "inputs of the formula, each as side:column"),
    CR_FLOAT(formula_conf, fill_missing, __builtin_nan(""), -CR_INF, CR_INF, 0,
             "number that fills up short inputs; not given: not a number"),
    CR_CALC_EMBEDDING,
    CR_CALC_NUMERIC,
    CR_CALC_VALUE_DIM,
    CR_CALC_DEFAULT("0"),
    CR_CALC_TAIL,
    CR_END,
};
CR_CALC_MSGS(expr, "ExprFeature", "A formula over columns", formula_conf);

typedef struct formula_self {
    cr_calc op;
    const cr_expr *expr;
    double fill;
} formula_self;

typedef struct scratch {
    cr_nums in[CR_CALC_MAX_INPUTS];
    cr_expr_var vars[CR_CALC_MAX_INPUTS];
} scratch;

static void *begin(const cr_feature *f, cr_arena *arena) {
    (void)f;
    return CR_NEW(arena, scratch);
}

static void row(cr_calc_run *run, int64_t r) {
    const formula_self *s = run->f->self;
    scratch *t = run->scratch;
    int64_t n = 1;
    bool whole = cr_expr_vectors(s->expr);
    for (int i = 0; i < s->op.n_in; i++) {
        cr_nums *x = &t->in[i];
        cr_tok bad;
        if (!cr_nums_row(x, run->in[i], r, s->op.sep, run->arena, &bad)) {
            cr_calc_bad(run, i, bad, "not a number");
            return;
        }
        if (x->n == 0) return;
        t->vars[i] = (cr_expr_var){x->v, x->n};
        if (whole && x->n > 1 && cr_expr_single(s->expr, i)) {
            cr_calc_bad(
                run, i, (cr_tok){NULL, 0},
                "several values where the formula takes one number beside a function of vectors");
            return;
        }
        if (!whole && x->n > n && cr_expr_uses(s->expr, i)) n = x->n;
    }
    for (int64_t k = 0; k < n; k++) {
        double y = cr_expr_eval_row(s->expr, t->vars, k, s->fill);
        if (!isfinite((float)y)) {
            cr_calc_bad(run, -1, isnan(y) ? (cr_tok){"nan", 3} : (cr_tok){"inf", 3},
                        "the formula gives no finite number");
            return;
        }
        cr_values_number(run->out, y);
    }
}

static void compile(formula_self *s, cr_feature *f, const formula_conf *c, cr_arena *arena,
                    cr_diag *diag) {
    const char **names = CR_NEW_N(arena, const char *, s->op.n_in + 1);
    for (int i = 0; i < s->op.n_in; i++)
        names[i] = s->op.in[i].name;
    cr_expr *e = NULL;
    size_t where = 0;
    cr_err err = {0};
    if (cr_expr_compile_row(&e, arena, c->expression, strlen(c->expression), names, s->op.n_in,
                            &where, &err) != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_at_char(c, "expression", where),
                    "feature '%s': expression, character %zu: %s", f->name, where + 1, err.msg);
        return;
    }
    s->expr = e;
    for (int i = 0; i < s->op.n_in; i++)
        if (!cr_expr_uses(e, i))
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at_item(c, "variables", i),
                        "feature '%s': the formula does not use '%s'; remove it", f->name,
                        names[i]);
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const formula_conf *c = conf;
    formula_self *s = CR_NEW(arena, formula_self);
    cr_calc_start(&s->op, f, &c->op, data);
    size_t errors = diag->n_errors;
    if (!s->op.encoded && c->variables.n == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, f->at,
                    "feature '%s' has no variables; write e.g. %s", f->name,
                    CR_SAY(c, "variables", "[\"user:price\"]"));
    for (int64_t i = 0; i < c->variables.n; i++)
        cr_calc_add(&s->op, f, "variables", i, c->variables.v[i], CR_IN_NUMBERS, data, arena, diag);
    s->fill = c->fill_missing;
    if (!s->op.encoded && diag->n_errors == errors) compile(s, f, c, arena, diag);
    s->op.begin = begin;
    s->op.row = row;
    cr_calc_finish(&s->op, f, &c->op, c->op.boundaries.n ? CR_END_MANY : CR_END_NUMBER,
                   c->op.value_dim, data, arena, diag);
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const formula_conf *c = f->conf;
    cr_calc_fg_open(f, &c->op, "float", w);
    cr_jw_str(w, "expression", c->expression);
    cr_jw_arr(w, "variables");
    for (int64_t i = 0; i < c->variables.n; i++)
        cr_jw_str(w, NULL, c->variables.v[i]);
    cr_jw_end(w);
    if (cr_conf_has(c, "fill_missing")) cr_jw_f64(w, "fill_missing", c->fill_missing);
    if (cr_conf_has(c, "value_dim")) cr_jw_i64(w, "value_dim", c->op.value_dim);
    cr_calc_fg_close(f, &c->op, w);
}

/* Finds the first of some ranges in which the formula was finite at all points that were tried. */
static void good_range(const formula_self *s, cr_tab_value *out) {
    static const double ranges[][2] = {{0, 10}, {1, 100}, {0.05, 0.95}, {-1, 1}, {100, 1000}};
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        double lo = ranges[r][0], width = ranges[r][1] - lo, x[CR_CALC_MAX_INPUTS][3];
        cr_expr_var v[CR_CALC_MAX_INPUTS];
        bool good = true;
        for (uint64_t t = 0; t < 64 && good; t++) {
            for (int i = 0; i < s->op.n_in; i++) {
                for (int j = 0; j < 3; j++)
                    x[i][j] = lo + width * cr_rng_f64(t, (uint64_t)(3 * i + j));
                v[i] = (cr_expr_var){x[i], cr_expr_single(s->expr, i) ? 1 : 3};
            }
            good = isfinite((float)cr_expr_eval_row(s->expr, v, 0, 0));
        }
        *out = (cr_tab_value){.leaf = CR_TAB_REAL, .knots = {lo, lo + width}, .n_knots = 2};
        if (good) return;
    }
}

static void sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    const formula_self *self = f->self;
    int input = cr_calc_sample(f, k, s, out);
    if (input < 0 || !self->expr) return;
    good_range(self, &out->value);
    if (!cr_expr_vectors(self->expr) || cr_expr_single(self->expr, input)) return;
    out->single = false;
    out->min_values = out->max_values = 3;
}

const cr_feature_type cr_feature_expr = {
    .name = "expr_feature",
    .build = build,
    .encode = cr_calc_encode,
    .fg_json = fg_json,
    .refuses = cr_calc_refuses,
    .gives_numbers = cr_calc_gives_numbers,
    .give = cr_calc_give,
    .sample = sample,
};
