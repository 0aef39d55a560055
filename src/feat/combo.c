/*
 * combo.c - combo_feature: every combination of the values of several columns, as one token.
 *
 * The first input changes slowest, and values are joined with '_'. A row in which an input is
 * missing has no combination and gets the default.
 */
#include "feat/calc_int.h"

#include "conf/conf.h"

#define MAX_COMBINATIONS 1048576 /* in one row; more is a mistake in the data */

typedef struct combo_conf {
    cr_calc_conf op;
    cr_strs expression;
} combo_conf;
static const cr_field cr_combo_fields[] = {
    CR_CALC_NAME,      CR_STR(combo_conf, expression, NULL, CR_F_REPEATED, HELP_EXPRESSIONS),
    CR_CALC_EMBEDDING, CR_CALC_VOCAB,
    CR_CALC_VALUE_DIM, CR_CALC_DEFAULT(""),
    CR_CALC_TAIL,      CR_END,
};
CR_CALC_MSGS(combo, "ComboFeature", "Joined values of several columns", combo_conf);

typedef struct combo_self {
    cr_calc op;
    int64_t most; /* number of combinations that are kept; 0: all */
} combo_self;

typedef struct scratch {
    cr_toks in[CR_CALC_MAX_INPUTS];
    int64_t at[CR_CALC_MAX_INPUTS];
} scratch;

static void *begin(const cr_feature *f, cr_arena *arena) {
    (void)f;
    return CR_NEW(arena, scratch);
}

static void row(cr_calc_run *run, int64_t r) {
    const combo_self *s = run->f->self;
    scratch *t = run->scratch;
    int n = s->op.n_in;
    int64_t total = 1;
    for (int i = 0; i < n; i++) {
        cr_toks_row(&t->in[i], run->in[i], r, s->op.sep, false, run->arena);
        if (t->in[i].n == 0) return;
        t->at[i] = 0;
        total = total > MAX_COMBINATIONS ? total : total * t->in[i].n;
    }
    if (s->most && total > s->most) {
        total = s->most;
        run->counts->cut++;
    }
    if (total > MAX_COMBINATIONS) {
        cr_calc_bad(run, 0, t->in[0].v[0], "more than 1048576 combinations in this row");
        return;
    }
    for (int64_t k = 0; k < total; k++) {
        for (int i = 0; i < n; i++) {
            cr_tok x = t->in[i].v[t->at[i]];
            if (i) cr_values_piece(run->out, "_", 1);
            cr_values_piece(run->out, x.p, x.n);
        }
        cr_values_token(run->out);
        for (int i = n - 1; i >= 0 && ++t->at[i] == t->in[i].n; i--)
            t->at[i] = 0;
    }
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const combo_conf *c = conf;
    combo_self *s = CR_NEW(arena, combo_self);
    cr_calc_start(&s->op, f, &c->op, data);
    if (!s->op.encoded && c->expression.n == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, f->at,
                    "feature '%s' has no inputs; write e.g. %s", f->name,
                    CR_SAY(c, "expression", "[\"user:a\", \"item:b\"]"));
    for (int64_t i = 0; i < c->expression.n; i++)
        cr_calc_add(&s->op, f, "expression", i, c->expression.v[i], CR_IN_TOKENS, data, arena,
                    diag);
    s->most = c->op.value_dim;
    s->op.begin = begin;
    s->op.row = row;
    cr_calc_finish(&s->op, f, &c->op, CR_END_TOKENS, c->op.value_dim, data, arena, diag);
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const combo_conf *c = f->conf;
    cr_calc_fg_open(f, &c->op, "string", w);
    cr_jw_arr(w, "expression");
    for (int64_t i = 0; i < c->expression.n; i++)
        cr_jw_str(w, NULL, c->expression.v[i]);
    cr_jw_end(w);
    cr_jw_bool(w, "need_prefix", false);
    cr_jw_i64(w, "value_dim", c->op.value_dim);
    cr_calc_fg_close(f, &c->op, w);
}

const cr_feature_type cr_feature_combo = {
    .name = "combo_feature",
    .build = build,
    .encode = cr_calc_encode,
    .fg_json = fg_json,
    .refuses = cr_calc_refuses,
    .gives_numbers = cr_calc_gives_numbers,
    .give = cr_calc_give,
    .sample = cr_calc_sample_plain,
};
