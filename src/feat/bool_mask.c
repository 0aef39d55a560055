/*
 * bool_mask.c - bool_mask_feature: keeps the values of one column where a second column says true.
 *
 * The two columns are matched place by place, so an empty value keeps its place and is dropped only
 * afterwards.
 */
#include "feat/calc_int.h"

#include "conf/conf.h"

typedef struct mask_conf {
    cr_calc_conf op;
    cr_strs expression;
} mask_conf;
static const cr_field cr_bool_mask_fields[] = {
    CR_CALC_NAME,
    CR_STR(mask_conf, expression, NULL, CR_F_REPEATED,
           "two inputs as side:column: the values, and true or false for each"),
    CR_CALC_EMBEDDING,
    CR_CALC_VOCAB,
    CR_CALC_BUCKETS,
    CR_CALC_VALUE_DIM,
    CR_CALC_DEFAULT(""),
    CR_CALC_VALUE_TYPE,
    CR_CALC_TAIL,
    CR_END,
};
CR_CALC_MSGS(bool_mask, "BoolMaskFeature", "Values of one column kept where another is true",
             mask_conf);

typedef struct scratch {
    cr_toks value, mask;
} scratch;

static void *begin(const cr_feature *f, cr_arena *arena) {
    (void)f;
    return CR_NEW(arena, scratch);
}

/* Returns 1 for true, 0 for false, -1 for neither. */
static int truth(cr_tok x) {
    if (x.n == 1 && (x.p[0] == '0' || x.p[0] == '1')) return x.p[0] == '1';
    if (x.n == 4 && strncasecmp(x.p, "true", 4) == 0) return 1;
    if (x.n == 5 && strncasecmp(x.p, "false", 5) == 0) return 0;
    return x.n == 0 ? 0 : -1;
}

static void row(cr_calc_run *run, int64_t r) {
    const cr_calc *op = run->f->self;
    scratch *t = run->scratch;
    cr_toks_row(&t->value, run->in[0], r, op->sep, true, run->arena);
    cr_toks_row(&t->mask, run->in[1], r, op->sep, true, run->arena);
    if (t->value.n == 0 || t->mask.n == 0) return;
    if (t->value.n != t->mask.n) {
        cr_calc_bad(run, 1, t->mask.v[0], "not as many true and false as there are values");
        return;
    }
    for (int64_t i = 0; i < t->value.n; i++) {
        int keep = truth(t->mask.v[i]);
        if (keep < 0) {
            cr_calc_bad(run, 1, t->mask.v[i], "neither true nor false; write true, false, 1 or 0");
            return;
        }
        if (!keep || t->value.v[i].n == 0) continue;
        cr_values_piece(run->out, t->value.v[i].p, t->value.v[i].n);
        cr_values_token(run->out);
    }
}

/* Returns how many values are kept: all of a row; of a step only one, unless the config asks for
 * more. */
static int64_t value_dim(const cr_feature *f, const mask_conf *c) {
    return f->seq && !cr_conf_has(c, "value_dim") ? 1 : c->op.value_dim;
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const mask_conf *c = conf;
    cr_calc *op = CR_NEW(arena, cr_calc);
    cr_calc_start(op, f, &c->op, data);
    if (!op->encoded && c->expression.n != 2)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "expression"),
                    "feature '%s' has %lld inputs and needs two: the values and their mask; write "
                    "e.g. %s",
                    f->name, (long long)c->expression.n,
                    CR_SAY(c, "expression", "[\"user:items\", \"user:valid\"]"));
    for (int64_t i = 0; i < c->expression.n; i++)
        cr_calc_add(op, f, "expression", i, c->expression.v[i], CR_IN_TOKENS, data, arena, diag);
    op->begin = begin;
    op->row = row;
    cr_calc_finish(op, f, &c->op, CR_END_TOKENS, value_dim(f, c), data, arena, diag);
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const mask_conf *c = f->conf;
    cr_calc_fg_open(f, &c->op, c->op.fg_value_type[0] ? c->op.fg_value_type : "string", w);
    cr_jw_arr(w, "expression");
    for (int64_t i = 0; i < c->expression.n; i++)
        cr_jw_str(w, NULL, c->expression.v[i]);
    cr_jw_end(w);
    cr_jw_i64(w, "value_dim", value_dim(f, c));
    cr_calc_fg_close(f, &c->op, w);
}

static void sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    static const char *const words[] = {"true", "false"};
    int input = cr_calc_sample(f, k, s, out), n = 0, value = -1;
    if (input < 0) return;
    out->max_values = 4;
    if (input == 0) {
        cr_calc_sample_value(f, s, &out->value);
        return;
    }
    cr_calc_sample_link(f, 0, s, &value, &n);
    out->values_of = value;
    out->value = (cr_tab_value){.leaf = CR_TAB_WORD, .card = 2, .words = words, .closed = true};
    out->share = 0;
}

const cr_feature_type cr_feature_bool_mask = {
    .name = "bool_mask_feature",
    .build = build,
    .encode = cr_calc_encode,
    .fg_json = fg_json,
    .refuses = cr_calc_refuses,
    .gives_numbers = cr_calc_gives_numbers,
    .give = cr_calc_give,
    .sample = sample,
};
