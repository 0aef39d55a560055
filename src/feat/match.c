/*
 * match.c - match_feature: the value of a two-level map under a first and a second key.
 *
 * The map is text "pk^sk:v,sk:v|pk2^sk:v", or a map column from first keys to "sk:v,sk:v". ALL as a
 * key takes every key of its level. Hits come in the order of the map. As in TorchEasyRec, a token
 * that is hashed begins with the feature's name; the default and the tokens of a vocabulary do not.
 */
#include "feat/calc_int.h"

#include "feat/number.h"

typedef struct match_conf {
    cr_calc_conf op;
    const char *nested_map, *pkey, *skey;
    bool need_discrete, show_pkey, show_skey;
} match_conf;
static const cr_field cr_match_fields[] = {
    CR_CALC_NAME,
    CR_STR(match_conf, nested_map, NULL, CR_F_REQUIRED, "input that holds the two-level map"),
    CR_STR(match_conf, pkey, NULL, CR_F_REQUIRED, "input of the first key, or ALL"),
    CR_STR(match_conf, skey, NULL, CR_F_REQUIRED, "input of the second key, or ALL"),
    CR_BOOL(match_conf, need_discrete, false, 0, "found values become ids, not numbers"),
    CR_BOOL(match_conf, show_pkey, false, 0, "put the first key in front of the value"),
    CR_BOOL(match_conf, show_skey, false, 0, "put the second key in front of the value"),
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
CR_CALC_MSGS(match, "MatchFeature", "Values of a two-level map found by two keys", match_conf);

typedef struct match_self {
    cr_calc op;
    const match_conf *c;
    int pkey, skey; /* numbers of the inputs; -1: ALL */
    bool tokens, prefix;
} match_self;

typedef struct scratch {
    cr_toks pkey, skey;
    cr_pairs map;
    double sum;
    int64_t hits;
    bool bad;
} scratch;

static void *begin(const cr_feature *f, cr_arena *arena) {
    (void)f;
    return CR_NEW(arena, scratch);
}

static bool among(const cr_toks *keys, int input, cr_tok key) {
    if (input < 0) return true;
    for (int64_t i = 0; i < keys->n; i++)
        if (cr_tok_is(keys->v[i], key)) return true;
    return false;
}

static void hit(cr_calc_run *run, cr_tok pk, cr_tok sk, cr_tok value) {
    const match_self *s = run->f->self;
    scratch *t = run->scratch;
    double x = 0;
    t->hits++;
    if (!s->tokens) {
        if (!cr_num_f64(value.p, value.n, &x)) {
            cr_calc_bad(run, 0, value, "not a number");
            t->bad = true;
        }
        t->sum += x;
        return;
    }
    if (s->prefix) {
        cr_values_piece(run->out, run->f->name, strlen(run->f->name));
        cr_values_piece(run->out, "_", 1);
    }
    if (s->c->show_pkey) {
        cr_values_piece(run->out, pk.p, pk.n);
        cr_values_piece(run->out, "_", 1);
    }
    if (s->c->show_skey) {
        cr_values_piece(run->out, sk.p, sk.n);
        cr_values_piece(run->out, "_", 1);
    }
    cr_values_piece(run->out, value.p, value.n);
    cr_values_token(run->out);
}

/* Reads "sk:v,sk:v" under a first key that matches. */
static void second(cr_calc_run *run, cr_tok pk, cr_tok items) {
    const match_self *s = run->f->self;
    scratch *t = run->scratch;
    const char *p = items.p, *end = p + items.n;
    while (p < end && !t->bad) {
        const char *cut = memchr(p, ',', (size_t)(end - p)), *stop = cut ? cut : end;
        const char *colon = memchr(p, ':', (size_t)(stop - p));
        cr_tok sk = {p, (size_t)((colon ? colon : stop) - p)};
        if (stop > p && among(&t->skey, s->skey, sk)) {
            if (!colon) {
                cr_calc_bad(run, 0, sk, "no value; write key:value");
                t->bad = true;
                return;
            }
            hit(run, pk, sk, (cr_tok){colon + 1, (size_t)(stop - colon - 1)});
        }
        p = stop + 1;
    }
}

static void row(cr_calc_run *run, int64_t r) {
    const match_self *s = run->f->self;
    scratch *t = run->scratch;
    const cr_column *map = run->in[0];
    t->sum = 0;
    t->hits = 0;
    t->bad = false;
    if (s->pkey >= 0) cr_toks_row(&t->pkey, run->in[s->pkey], r, s->op.sep, false, run->arena);
    if (s->skey >= 0) cr_toks_row(&t->skey, run->in[s->skey], r, s->op.sep, false, run->arena);
    if ((s->pkey >= 0 && t->pkey.n == 0) || (s->skey >= 0 && t->skey.n == 0)) return;
    if (map->keys) {
        cr_pairs_row(&t->map, map, r, s->op.sep, ':', run->arena);
        for (int64_t i = 0; i < t->map.n && !t->bad; i++)
            if (t->map.v[i].value.p && among(&t->pkey, s->pkey, t->map.v[i].key))
                second(run, t->map.v[i].key, t->map.v[i].value);
    } else if (!map->valid || map->valid[r]) {
        size_t n;
        const char *p = cr_text_at(map, r, &n), *end = p + n;
        while (p < end && !t->bad) {
            const char *cut = memchr(p, '|', (size_t)(end - p)), *stop = cut ? cut : end;
            const char *hat = memchr(p, '^', (size_t)(stop - p));
            cr_tok pk = {p, (size_t)((hat ? hat : stop) - p)};
            if (stop > p && !hat) {
                cr_calc_bad(run, 0, pk, "no '^' after the first key; write pkey^skey:value");
                return;
            }
            if (stop > p && among(&t->pkey, s->pkey, pk))
                second(run, pk, (cr_tok){hat + 1, (size_t)(stop - hat - 1)});
            p = stop + 1;
        }
    }
    if (!s->tokens && t->hits && !t->bad) cr_values_number(run->out, t->sum);
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const match_conf *c = conf;
    match_self *s = CR_NEW(arena, match_self);
    s->c = c;
    s->pkey = s->skey = -1;
    cr_calc_start(&s->op, f, &c->op, data);
    cr_calc_add(&s->op, f, "nested_map", -1, c->nested_map, CR_IN_NESTED, data, arena, diag);
    bool all = strcmp(c->pkey, "ALL") == 0 || strcmp(c->skey, "ALL") == 0;
    if (strcmp(c->pkey, "ALL") != 0)
        s->pkey = cr_calc_add(&s->op, f, "pkey", -1, c->pkey, CR_IN_TOKENS, data, arena, diag);
    if (strcmp(c->skey, "ALL") != 0)
        s->skey = cr_calc_add(&s->op, f, "skey", -1, c->skey, CR_IN_TOKENS, data, arena, diag);
    s->tokens = c->need_discrete || cr_calc_has_vocab(&c->op);
    s->prefix =
        c->op.zch || c->op.dynamicemb || c->op.growing || cr_conf_has(c, "hash_bucket_size");
    s->op.begin = begin;
    s->op.row = row;
    int64_t dim = !s->tokens ? 1 : cr_conf_has(c, "value_dim") ? c->op.value_dim : all ? 0 : 1;
    cr_calc_finish(&s->op, f, &c->op, s->tokens ? CR_END_TOKENS : CR_END_NUMBER, dim, data, arena,
                   diag);
    /* TorchEasyRec's table has one row more than the vocabulary has ids; the shapes must agree, so
     * that weights can move between both */
    if (f->sparse && cr_conf_has(c, "vocab_list")) {
        f->spare_rows = 1;
        f->num_embeddings++;
    }
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const match_conf *c = f->conf;
    const match_self *s = f->self;
    bool all = strcmp(c->pkey, "ALL") == 0 || strcmp(c->skey, "ALL") == 0;
    cr_calc_fg_open(f, &c->op, s->tokens ? "string" : "float", w);
    cr_jw_str(w, "user", c->nested_map);
    cr_jw_str(w, "category", c->pkey);
    cr_jw_str(w, "item", c->skey);
    cr_jw_str(w, "matchType", all ? "multihit" : "hit");
    cr_jw_bool(w, "needDiscrete", s->tokens);
    cr_jw_bool(w, "show_category", c->show_pkey);
    cr_jw_bool(w, "show_item", c->show_skey);
    if (s->tokens) cr_jw_i64(w, "value_dim", cr_conf_has(c, "value_dim") ? c->op.value_dim : 1);
    cr_calc_fg_close(f, &c->op, w);
}

static void sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    const match_self *self = f->self;
    int input = cr_calc_sample(f, k, s, out);
    if (input < 0) return;
    out->value.card = 20;
    if (input != 0) return;
    out->pairs = CR_TAB_NESTED;
    cr_calc_sample_value(f, s, &out->value);
    cr_calc_sample_link(f, self->pkey, s, out->keys, &out->n_keys);
    cr_calc_sample_link(f, self->skey, s, out->skeys, &out->n_skeys);
}

const cr_feature_type cr_feature_match = {
    .name = "match_feature",
    .build = build,
    .encode = cr_calc_encode,
    .fg_json = fg_json,
    .refuses = cr_calc_refuses,
    .gives_numbers = cr_calc_gives_numbers,
    .give = cr_calc_give,
    .sample = sample,
};
