/*
 * toy.c - a feature: a number, doubled.
 */
#include "feat/calc_int.h"

typedef struct toy_conf {
    cr_calc_conf op;
    const char *expression;
} toy_conf;

static const cr_field cr_toy_number_fields[] = {
    CR_CALC_NAME,       CR_STR(toy_conf, expression, NULL, CR_F_REQUIRED, HELP_EXPRESSION),
    CR_CALC_EMBEDDING,  CR_CALC_NUMERIC,
    CR_CALC_NORMALIZER, CR_CALC_DEFAULT("0"),
    CR_CALC_TAIL,       CR_END,
};
CR_CALC_MSGS(toy_number, "ToyNumber", "A number, doubled", toy_conf);

static void *begin(const cr_feature *f, cr_arena *arena) {
    (void)f;
    return CR_NEW(arena, cr_nums);
}

static void row(cr_calc_run *run, int64_t r) {
    const cr_calc *op = run->f->self;
    cr_nums *x = run->scratch;
    cr_tok bad;
    if (!cr_nums_row(x, run->in[0], r, op->sep, run->arena, &bad)) {
        cr_calc_bad(run, 0, bad, "not a number");
        return;
    }
    if (x->n > 0) cr_values_number(run->out, 2 * x->v[0]);
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const toy_conf *c = conf;
    cr_calc *op = CR_NEW(arena, cr_calc);
    cr_calc_start(op, f, &c->op, data);
    cr_calc_add(op, f, "expression", -1, c->expression, CR_IN_NUMBERS, data, arena, diag);
    op->begin = begin;
    op->row = row;
    cr_calc_finish(op, f, &c->op, CR_END_NUMBER, 1, data, arena, diag);
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const toy_conf *c = f->conf;
    cr_calc_fg_open(f, &c->op, "float", w);
    cr_jw_str(w, "expression", c->expression);
    cr_calc_fg_close(f, &c->op, w);
}

const cr_feature_type cr_feature_toy_number = {
    .name = "toy_number",
    .build = build,
    .encode = cr_calc_encode,
    .fg_json = fg_json,
    .refuses = cr_calc_refuses,
    .gives_numbers = cr_calc_gives_numbers,
    .give = cr_calc_give,
    .sample = cr_calc_sample_plain,
};
