/*
 * kv_dot.c - kv_dot_product: the sum over common keys of the products of their values.
 *
 * A key without a value has the value 1, so two sets give the number of keys that they have in
 * common.
 */
#include "feat/calc_int.h"

typedef struct kv_conf {
    cr_calc_conf op;
    const char *query, *document, *kv_delimiter;
} kv_conf;
static const cr_field cr_kv_dot_fields[] = {
    CR_CALC_NAME,
    CR_STR(kv_conf, query, NULL, CR_F_REQUIRED, "input of the first key:value collection"),
    CR_STR(kv_conf, document, NULL, CR_F_REQUIRED, "input of the second one"),
    CR_STR(kv_conf, kv_delimiter, ":", 0, "the one byte between key and value"),
    CR_CALC_EMBEDDING,
    CR_CALC_NUMERIC,
    CR_CALC_NORMALIZER,
    CR_CALC_DEFAULT("0"),
    CR_CALC_TAIL,
    CR_END,
};
CR_CALC_MSGS(kv_dot, "KvDotProduct", "Dot product of two key:value collections", kv_conf);

typedef struct kv_self {
    cr_calc op;
    char kv;
} kv_self;

typedef struct scratch {
    cr_pairs q, d;
} scratch;

static void *begin(const cr_feature *f, cr_arena *arena) {
    (void)f;
    return CR_NEW(arena, scratch);
}

static bool number(cr_calc_run *run, int input, const cr_pair *p, double *x) {
    *x = 1;
    if (!p->value.p || cr_pair_number(p, x)) return true;
    cr_calc_bad(run, input, p->value, "not a number");
    return false;
}

static void row(cr_calc_run *run, int64_t r) {
    const kv_self *s = run->f->self;
    scratch *t = run->scratch;
    cr_pairs_row(&t->q, run->in[0], r, s->op.sep, s->kv, run->arena);
    cr_pairs_row(&t->d, run->in[1], r, s->op.sep, s->kv, run->arena);
    if (t->q.n == 0 || t->d.n == 0) return;
    double sum = 0;
    for (int64_t i = 0; i < t->q.n; i++)
        for (int64_t k = 0; k < t->d.n; k++) {
            double x, y;
            if (!cr_tok_is(t->q.v[i].key, t->d.v[k].key)) continue;
            if (!number(run, 0, &t->q.v[i], &x) || !number(run, 1, &t->d.v[k], &y)) return;
            sum += x * y;
            break;
        }
    cr_values_number(run->out, sum);
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const kv_conf *c = conf;
    kv_self *s = CR_NEW(arena, kv_self);
    cr_calc_start(&s->op, f, &c->op, data);
    cr_calc_add(&s->op, f, "query", -1, c->query, CR_IN_PAIRS, data, arena, diag);
    cr_calc_add(&s->op, f, "document", -1, c->document, CR_IN_PAIRS, data, arena, diag);
    if (strlen(c->kv_delimiter) != 1)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "kv_delimiter"),
                    "feature '%s': kv_delimiter '%s' must be one byte; leave it out for \":\"",
                    f->name, c->kv_delimiter);
    s->kv = c->kv_delimiter[0];
    cr_calc_conf *plain = CR_NEW(arena, cr_calc_conf);
    *plain = c->op;
    if (!plain->default_value[0])
        plain->default_value = "0"; /* nothing in common gives 0, as TorchEasyRec's tests have it */
    if (c->op.normalizer[0]) {
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "normalizer"),
                    "feature '%s': a normalizer has no effect on kv_dot_product, as in "
                    "TorchEasyRec; remove it",
                    f->name);
        plain->normalizer = "";
    }
    s->op.begin = begin;
    s->op.row = row;
    cr_calc_finish(&s->op, f, plain, CR_END_NUMBER, 1, data, arena, diag);
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const kv_conf *c = f->conf;
    cr_calc_conf plain = c->op;
    plain.normalizer = "";
    cr_calc_fg_open(f, &c->op, "float", w);
    cr_jw_str(w, "query", c->query);
    cr_jw_str(w, "document", c->document);
    cr_jw_str(w, "kv_delimiter", c->kv_delimiter);
    cr_calc_fg_close(f, &plain, w);
}

static void sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    const kv_self *self = f->self;
    if (cr_calc_sample(f, k, s, out) < 0) return;
    out->pairs = CR_TAB_PAIRS;
    out->kv = self->kv;
    out->value = (cr_tab_value){.leaf = CR_TAB_REAL, .knots = {0, 3}, .n_knots = 2};
    out->share = 0;
}

const cr_feature_type cr_feature_kv_dot = {
    .name = "kv_dot_product",
    .build = build,
    .encode = cr_calc_encode,
    .fg_json = fg_json,
    .refuses = cr_calc_refuses,
    .gives_numbers = cr_calc_gives_numbers,
    .give = cr_calc_give,
    .sample = sample,
};
