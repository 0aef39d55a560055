/*
 * lookup.c - lookup_feature: the values that a map column holds under the keys of another column.
 *
 * Keys that are not in the map are skipped; when the map has a key twice, the first counts; a row
 * without any hit is missing. There are three forms: tokens (with a vocabulary or need_discrete),
 * numbers that a combiner turns into one, and, with value_dim above 1, the first value found as a
 * vector.
 */
#include "feat/calc_int.h"

#include "feat/number.h"

typedef struct lookup_conf {
    cr_calc_conf op;
    const char *map, *key, *combiner, *value_separator;
    bool need_discrete, need_key;
} lookup_conf;
static const cr_field cr_lookup_fields[] = {
    CR_CALC_NAME,
    CR_STR(lookup_conf, map, NULL, CR_F_REQUIRED, "input that holds key:value pairs"),
    CR_STR(lookup_conf, key, NULL, CR_F_REQUIRED, "input that holds the keys to look up"),
    CR_STR(lookup_conf, combiner, "sum", 0,
           "how several numbers become one: sum, mean, min, max, count; empty: each stays"),
    CR_BOOL(lookup_conf, need_discrete, false, 0, "found values become ids, not numbers"),
    CR_BOOL(lookup_conf, need_key, false, 0, "put the key in front of the value"),
    CR_STR(lookup_conf, value_separator, ",", 0, "text between the numbers of one value"),
    CR_CALC_EMBEDDING,
    CR_CALC_VOCAB,
    CR_CALC_BUCKETS,
    CR_CALC_NUMERIC,
    CR_CALC_NORMALIZER,
    CR_CALC_VALUE_DIM,
    CR_CALC_DEFAULT("0"),
    CR_CALC_VALUE_TYPE,
    CR_CALC_TAIL,
    CR_END,
};
CR_CALC_MSGS(lookup, "LookupFeature", "Values of a map column found by keys", lookup_conf);

enum { MAP, KEY };
typedef struct lookup_self {
    cr_calc op;
    const lookup_conf *c;
    cr_combiner combiner;
    bool tokens, vector;
} lookup_self;

typedef struct scratch {
    cr_pairs map;
    cr_toks key;
    double *x;
    int64_t cap;
} scratch;

static void *begin(const cr_feature *f, cr_arena *arena) {
    (void)f;
    return CR_NEW(arena, scratch);
}

static const cr_pair *find(const cr_pairs *m, cr_tok key) {
    for (int64_t i = 0; i < m->n; i++)
        if (cr_tok_is(m->v[i].key, key)) return &m->v[i];
    return NULL;
}

/* Writes the numbers of one value. */
static void put_vector(cr_calc_run *run, const lookup_self *s, const cr_pair *p) {
    double x = 0;
    if (p->is_num) {
        cr_values_number(run->out, p->x);
        return;
    }
    const char *sep = s->c->value_separator, *q = p->value.p, *end = q + p->value.n;
    size_t n_sep = strlen(sep);
    while (q <= end) {
        const char *cut = memmem(q, (size_t)(end - q), sep, n_sep), *stop = cut ? cut : end;
        if (!cr_num_f64(q, (size_t)(stop - q), &x)) {
            cr_calc_bad(run, MAP, (cr_tok){q, (size_t)(stop - q)}, "not a number");
            return;
        }
        cr_values_number(run->out, x);
        if (!cut) break;
        q = cut + n_sep;
    }
}

static void put_token(cr_calc_run *run, const lookup_self *s, const cr_pair *p) {
    if (s->c->need_key) {
        cr_values_piece(run->out, p->key.p, p->key.n);
        cr_values_piece(run->out, "_", 1);
    }
    cr_values_piece(run->out, p->value.p, p->value.n);
    cr_values_token(run->out);
}

static void row(cr_calc_run *run, int64_t r) {
    const lookup_self *s = run->f->self;
    scratch *t = run->scratch;
    cr_toks_row(&t->key, run->in[KEY], r, s->op.sep, false, run->arena);
    if (t->key.n == 0) return;
    cr_pairs_row(&t->map, run->in[MAP], r, s->op.sep, ':', run->arena);
    if (t->key.n > t->cap) {
        t->cap = 2 * t->key.n;
        t->x = cr_arena_alloc(run->arena, sizeof(double) * (size_t)t->cap);
    }
    int64_t n = 0;
    for (int64_t i = 0; i < t->key.n; i++) {
        const cr_pair *p = find(&t->map, t->key.v[i]);
        if (!p) continue;
        if (!p->value.p) {
            cr_calc_bad(run, MAP, p->key, "no value; write key:value");
            return;
        }
        if (s->tokens) {
            put_token(run, s, p);
        } else if (s->vector) {
            put_vector(run, s, p);
            return;
        } else if (!cr_pair_number(p, &t->x[n++])) {
            cr_calc_bad(run, MAP, p->value, "not a number");
            return;
        }
    }
    if (n == 0) return;
    if (s->combiner == CR_COMBINE_NONE)
        for (int64_t i = 0; i < n; i++)
            cr_values_number(run->out, t->x[i]);
    else
        cr_values_number(run->out, cr_combine(s->combiner, t->x, n));
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const lookup_conf *c = conf;
    lookup_self *s = CR_NEW(arena, lookup_self);
    s->c = c;
    cr_calc_start(&s->op, f, &c->op, data);
    cr_calc_add(&s->op, f, "map", -1, c->map, CR_IN_PAIRS, data, arena, diag);
    cr_calc_add(&s->op, f, "key", -1, c->key, CR_IN_TOKENS, data, arena, diag);
    cr_combiner_of(&s->combiner, f, c, c->combiner, true, diag);
    s->tokens = c->need_discrete || cr_calc_has_vocab(&c->op);
    s->vector = !s->tokens && c->op.value_dim > 1;
    if (s->vector && !c->value_separator[0])
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "value_separator"),
                    "feature '%s': value_separator is empty; leave it out for \",\"", f->name);
    bool many = s->combiner == CR_COMBINE_NONE && c->op.boundaries.n && !s->vector;
    s->op.begin = begin;
    s->op.row = row;
    cr_calc_end end = s->tokens ? CR_END_TOKENS : many ? CR_END_MANY : CR_END_NUMBER;
    /* TorchEasyRec has 1 when value_dim is not given, and then keeps all values */
    int64_t dim = c->op.value_dim == 1 ? 0 : c->op.value_dim;
    cr_calc_finish(&s->op, f, &c->op, end, dim, data, arena, diag);
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const lookup_conf *c = f->conf;
    const lookup_self *s = f->self;
    if (s->vector) {
        /* TorchEasyRec makes two features of it: the lookup of a text, and its numbers */
        cr_buf def;
        cr_buf_init(&def);
        for (int64_t i = 0; i < c->op.value_dim; i++)
            cr_buf_printf(&def, "%s%s", i ? c->value_separator : "",
                          cr_seq_default(f, c->op.default_value));
        cr_buf name, ref;
        cr_buf_init(&name);
        cr_buf_init(&ref);
        const char *own = c->op.feature_name; /* inside a block: without the name of the block */
        bool alone = f->seq && !f->seq->block;
        cr_buf_printf(&name, "%s__lookup", own);
        cr_buf_printf(&ref, "feature:%s__lookup", own);
        cr_jw_obj(w, NULL);
        cr_jw_str(w, "feature_type", alone ? "sequence_lookup_feature" : "lookup_feature");
        cr_jw_str(w, "feature_name", name.data);
        cr_jw_str(w, "default_value", def.data);
        cr_jw_str(w, "value_type", "string");
        if (strcmp(c->op.separator, "\x1d") != 0) cr_jw_str(w, "separator", c->op.separator);
        cr_jw_str(w, "map", c->map);
        cr_jw_str(w, "key", c->key);
        cr_jw_bool(w, "needDiscrete", true);
        cr_jw_bool(w, "needKey", false);
        cr_jw_str(w, "combiner", "");
        cr_jw_i64(w, "value_dim", 1);
        cr_jw_bool(w, "stub_type", true);
        cr_fg_json_end(f, w);
        cr_fg_json_begin(f, w, "raw_feature", c->op.default_value);
        cr_jw_str(w, "expression", ref.data);
        cr_jw_str(w, "value_type", "float");
        cr_jw_i64(w, "value_dim", c->op.value_dim);
        cr_jw_str(w, "separator", c->value_separator);
        cr_calc_fg_close(f, &c->op, w);
        cr_buf_clear(&def);
        cr_buf_clear(&name);
        cr_buf_clear(&ref);
        return;
    }
    const char *combiner = s->tokens ? "" : c->combiner;
    cr_calc_fg_open(f, &c->op, s->tokens ? "string" : "float", w);
    cr_jw_str(w, "map", c->map);
    cr_jw_str(w, "key", c->key);
    cr_jw_bool(w, "needDiscrete", s->tokens);
    cr_jw_bool(w, "needKey", c->need_key);
    cr_combiner_fg(w, combiner);
    if (!combiner[0]) cr_jw_i64(w, "value_dim", cr_conf_has(c, "value_dim") ? c->op.value_dim : 1);
    cr_calc_fg_close(f, &c->op, w);
}

static void sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    const lookup_self *self = f->self;
    int input = cr_calc_sample(f, k, s, out);
    if (input != MAP) return;
    out->pairs = CR_TAB_PAIRS;
    cr_calc_sample_value(f, s, &out->value);
    cr_calc_sample_link(f, KEY, s, out->keys, &out->n_keys);
    if (!self->vector) return;
    out->dims = (int)self->c->op.value_dim;
    out->dim_sep = self->c->value_separator;
}

const cr_feature_type cr_feature_lookup = {
    .name = "lookup_feature",
    .build = build,
    .encode = cr_calc_encode,
    .fg_json = fg_json,
    .refuses = cr_calc_refuses,
    .gives_numbers = cr_calc_gives_numbers,
    .give = cr_calc_give,
    .sample = sample,
};
