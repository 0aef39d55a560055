/*
 * combine.c - combine_feature: the numbers of a row become one number.
 *
 * With value_map the values are words, and the map gives the number of each; words that it does not
 * hold are left out. Without value_map the values are numbers. A row without values is missing.
 * With num_buckets the result is cut to an integer, which is the id.
 */
#include "feat/calc_int.h"

typedef struct combine_conf {
    cr_calc_conf op;
    const char *expression;
    cr_conf_map value_map;
    const char *combiner;
} combine_conf;
static const cr_field cr_combine_fields[] = {
    CR_CALC_NAME,
    CR_STR(combine_conf, expression, NULL, 0, HELP_EXPRESSION),
    CR_CALC_EMBEDDING,
    CR_CALC_BUCKETS,
    CR_MAP_FLOAT(combine_conf, value_map, 0,
                 "number of each value, others are left out; not given: values are numbers"),
    CR_STR(combine_conf, combiner, "sum", 0, "how several numbers become one: sum, mean, min, max"),
    CR_CALC_NUMERIC,
    CR_CALC_NORMALIZER,
    CR_CALC_DEFAULT(""),
    CR_CALC_TAIL,
    CR_END,
};
CR_CALC_MSGS(combine, "CombineFeature", "Values mapped to numbers and combined", combine_conf);

typedef struct combine_self {
    cr_calc op;
    cr_vocab map; /* value -> index into map_of; an empty map_of means that values are numbers */
    const cr_conf_map *map_of;
    cr_combiner combiner;
} combine_self;

typedef struct scratch {
    cr_toks words;
    cr_nums x;
} scratch;

static void *begin(const cr_feature *f, cr_arena *arena) {
    (void)f;
    return CR_NEW(arena, scratch);
}

/* Collects the numbers of the row's words. */
static void mapped(const combine_self *s, scratch *t, const cr_column *col, int64_t r,
                   cr_arena *arena) {
    cr_toks_row(&t->words, col, r, s->op.sep, false, arena);
    t->x.n = 0;
    if (t->words.n > t->x.cap) {
        t->x.cap = 2 * t->words.n;
        t->x.v = cr_arena_alloc(arena, sizeof(double) * (size_t)t->x.cap);
    }
    for (int64_t i = 0; i < t->words.n; i++) {
        int64_t k = cr_vocab_get(&s->map, t->words.v[i].p, t->words.v[i].n, NULL);
        if (k >= 0) t->x.v[t->x.n++] = (double)(float)s->map_of->v[k].f;
    }
}

static void row(cr_calc_run *run, int64_t r) {
    const combine_self *s = run->f->self;
    scratch *t = run->scratch;
    cr_tok bad;
    if (s->map_of->n) {
        mapped(s, t, run->in[0], r, run->arena);
    } else if (!cr_nums_row(&t->x, run->in[0], r, s->op.sep, run->arena, &bad)) {
        cr_calc_bad(run, 0, bad, "not a number; give a value_map for words");
        return;
    }
    if (t->x.n) cr_values_number(run->out, cr_combine(s->combiner, t->x.v, t->x.n));
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const combine_conf *c = conf;
    combine_self *s = CR_NEW(arena, combine_self);
    cr_calc_start(&s->op, f, &c->op, data);
    cr_calc_add(&s->op, f, "expression", -1, c->expression,
                c->value_map.n ? CR_IN_TOKENS : CR_IN_NUMBERS, data, arena, diag);
    cr_combiner_of(&s->combiner, f, c, c->combiner, false, diag);
    cr_vocab_init(&s->map, arena, (size_t)c->value_map.n + 1);
    s->map.unknown = -1;
    s->map_of = &c->value_map;
    for (int64_t i = 0; i < c->value_map.n; i++)
        cr_vocab_put(&s->map, c->value_map.v[i].key, strlen(c->value_map.v[i].key), i);
    if (cr_conf_has(c, "num_buckets") && (c->op.boundaries.n || c->op.dense_emb.m))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "num_buckets"),
                    "feature '%s': num_buckets makes ids of the numbers themselves; keep it or %s",
                    f->name, c->op.boundaries.n ? "boundaries" : c->op.dense_emb.m->key);
    s->op.begin = begin;
    s->op.row = row;
    cr_calc_finish(&s->op, f, &c->op, cr_conf_has(c, "num_buckets") ? CR_END_WHOLE : CR_END_NUMBER,
                   1, data, arena, diag);
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const combine_conf *c = f->conf;
    cr_calc_fg_open(f, &c->op, cr_conf_has(c, "num_buckets") ? "int64" : "float", w);
    cr_jw_str(w, "expression", c->expression);
    cr_jw_bool(w, "need_prefix", false);
    if (c->value_map.n) {
        cr_jw_obj(w, "value_map");
        for (int64_t i = 0; i < c->value_map.n; i++)
            cr_jw_f64(w, c->value_map.v[i].key, c->value_map.v[i].f);
        cr_jw_end(w);
    }
    cr_combiner_fg(w, c->combiner);
    if (f->sparse) cr_jw_i64(w, "value_dim", 1);
    cr_calc_fg_close(f, &c->op, w);
}

static void sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    const combine_self *self = f->self;
    if (cr_calc_sample(f, k, s, out) < 0) return;
    if (self->map_of->n == 0) {
        cr_calc_sample_value(f, s, &out->value);
        return;
    }
    const char **words = CR_NEW_N(cr_sample_arena(s), const char *, self->map_of->n);
    for (int64_t i = 0; i < self->map_of->n; i++)
        words[i] = self->map_of->v[i].key;
    out->value = (cr_tab_value){.leaf = CR_TAB_WORD, .card = self->map_of->n, .words = words};
    out->max_values = 3;
}

const cr_feature_type cr_feature_combine = {
    .name = "combine_feature",
    .build = build,
    .encode = cr_calc_encode,
    .fg_json = fg_json,
    .refuses = cr_calc_refuses,
    .gives_numbers = cr_calc_gives_numbers,
    .give = cr_calc_give,
    .sample = sample,
};
