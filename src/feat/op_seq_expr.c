/*
 * op_seq_expr.c - SeqExpr: a formula over the inputs, which it calls by their column names, or
 * spherical_distance of the four inputs lng1, lat1, lng2, lat2.
 *
 * In sequences it runs step by step; in other features value by value, as expr_feature does. The
 * language is that of expr.c.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "feat/expr.h"
#include "feat/ops.h"

typedef struct seq_expr {
    const crank_host *host;
    cr_arena arena;
    cr_expr *expr;
    int n;
} seq_expr;

static void expr_close(void *self) {
    seq_expr *x = self;
    cr_arena_clear(&x->arena);
    cr_free(x);
}

static void *expr_open(const crank_host *host, const crank_params *p, char *why, size_t size) {
    const char *formula = host->param(p, "formula", 0);
    if (!formula) {
        snprintf(why, size, "no formula; add it to operator_params");
        return NULL;
    }
    seq_expr *x = cr_alloc(sizeof(*x), "SeqExpr");
    x->host = host;
    x->n = host->n_inputs(p);
    cr_arena_init(&x->arena, 0);
    static const char *const places[] = {"lng1", "lat1", "lng2", "lat2"};
    const char **names = CR_NEW_N(&x->arena, const char *, x->n + 1);
    bool sphere = strcmp(formula, "spherical_distance") == 0;
    for (int i = 0; i < x->n; i++)
        names[i] = sphere && i < 4 ? places[i] : host->input_name(p, i);
    if (sphere) formula = "sphere_dist(lng1, lat1, lng2, lat2)";
    size_t where = 0;
    cr_err err;
    if (sphere && x->n != 4)
        snprintf(why, size, "spherical_distance takes 4 inputs, lng1, lat1, lng2, lat2, not %d",
                 x->n);
    else if (cr_expr_compile_row(&x->expr, &x->arena, formula, strlen(formula), names, x->n, &where,
                                 &err) != CR_OK)
        snprintf(why, size, "formula, character %zu: %s", where + 1, err.msg);
    if (x->expr) return x;
    expr_close(x);
    return NULL;
}

static int expr_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    const seq_expr *x = self;
    cr_expr_var *vars = cr_alloc(sizeof(*vars) * (size_t)(x->n + 1), "SeqExpr");
    bool whole = cr_expr_vectors(x->expr);
    (void)why;
    (void)size;
    for (int64_t r = 0; r < in->n_rows; r++) {
        int64_t n = 1;
        bool missing = false, fine = true;
        for (int i = 0; i < x->n; i++) {
            const crank_input *v = &in->inputs[i];
            vars[i] = (cr_expr_var){v->floats + v->offsets[r], v->offsets[r + 1] - v->offsets[r]};
            missing |= vars[i].n == 0;
            if (!whole && vars[i].n > n && cr_expr_uses(x->expr, i)) n = vars[i].n;
        }
        for (int64_t k = 0; !missing && fine && k < n; k++) {
            double y = cr_expr_eval_row(x->expr, vars, k, NAN);
            fine = isfinite((float)y);
            if (fine) x->host->put_float(out, y);
        }
        if (fine)
            x->host->end_row(out);
        else
            x->host->bad_row(out, "the formula gives no finite number");
    }
    cr_free(vars);
    return 0;
}

static const crank_type inputs[] = {CRANK_FLOAT, 0};
const crank_operator cr_op_seq_expr = {
    .name = "SeqExpr",
    .min_inputs = 1,
    .inputs = inputs,
    .output = CRANK_FLOAT,
    .flags = CRANK_THREAD_SAFE,
    .open = expr_open,
    .run = expr_run,
    .close = expr_close,
};
