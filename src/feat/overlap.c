/*
 * overlap.c - overlap_feature: how much the terms of a query and of a title have in common.
 *
 * The distances (proximity_…) are those between positions in the title, over all pairs of different
 * query terms that occur in it. The nearest occurrences count; one term alone has the distance 0.
 */
#include "feat/calc_int.h"

typedef struct overlap_conf {
    cr_calc_conf op;
    const char *query, *title, *method;
} overlap_conf;
static const cr_field cr_overlap_fields[] = {
    CR_CALC_NAME,
    CR_STR(overlap_conf, query, NULL, CR_F_REQUIRED, "input of the query's terms"),
    CR_STR(overlap_conf, title, NULL, CR_F_REQUIRED, "input of the title's terms"),
    CR_STR(overlap_conf, method, NULL, CR_F_REQUIRED,
           "query_common_ratio, title_common_ratio, is_contain, is_equal, index_of, "
           "proximity_min_cover, proximity_min_dist, proximity_max_dist or proximity_avg_dist"),
    CR_CALC_EMBEDDING,
    CR_CALC_NUMERIC,
    CR_CALC_NORMALIZER,
    CR_STR(cr_calc_conf, separator, "\x1d", 0, HELP_SEPARATOR),
    CR_CALC_TAIL,
    CR_END,
};
CR_CALC_MSGS(overlap, "OverlapFeature", "How much two lists of terms have in common", overlap_conf);

typedef enum method {
    QUERY_RATIO,
    TITLE_RATIO,
    IS_CONTAIN,
    IS_EQUAL,
    INDEX_OF,
    MIN_COVER,
    MIN_DIST,
    MAX_DIST,
    AVG_DIST
} method;
static const char *const METHODS[] = {"query_common_ratio", "title_common_ratio",
                                      "is_contain",         "is_equal",
                                      "index_of",           "proximity_min_cover",
                                      "proximity_min_dist", "proximity_max_dist",
                                      "proximity_avg_dist", NULL};
static const char *method_at(const void *ctx, size_t i) {
    (void)ctx;
    return METHODS[i];
}

typedef struct overlap_self {
    cr_calc op;
    method method;
} overlap_self;

typedef struct scratch {
    cr_toks q, t;
    int32_t *count; /* MIN_COVER: how often each query term is in the window */
    int64_t cap;
} scratch;

static void *begin(const cr_feature *f, cr_arena *arena) {
    (void)f;
    return CR_NEW(arena, scratch);
}

static int64_t place(const cr_toks *in, cr_tok x) {
    for (int64_t i = 0; i < in->n; i++)
        if (cr_tok_is(in->v[i], x)) return i;
    return -1;
}

/* Returns the share of the terms of a that occur in b. */
static double ratio(const cr_toks *a, const cr_toks *b) {
    int64_t n = 0;
    for (int64_t i = 0; i < a->n; i++)
        n += place(b, a->v[i]) >= 0;
    return (double)n / (double)a->n;
}

static bool contains(const cr_toks *q, const cr_toks *t) {
    int64_t k = 0;
    for (int64_t i = 0; i < t->n && k < q->n; i++)
        k += cr_tok_is(t->v[i], q->v[k]);
    return k == q->n;
}

static double index_of(const cr_toks *q, const cr_toks *t) {
    for (int64_t i = 0; i + q->n <= t->n; i++) {
        int64_t k = 0;
        while (k < q->n && cr_tok_is(t->v[i + k], q->v[k]))
            k++;
        if (k == q->n) return (double)i;
    }
    return -1;
}

/* Returns the length of the shortest run of the title that has all query terms; 0: there is
 * none. */
static double min_cover(scratch *s, cr_arena *arena) {
    const cr_toks *q = &s->q, *t = &s->t;
    if (s->cap < q->n) {
        s->cap = 2 * q->n;
        s->count = cr_arena_alloc(arena, sizeof(int32_t) * (size_t)s->cap);
    }
    memset(s->count, 0, sizeof(int32_t) * (size_t)q->n);
    int64_t need = 0, best = 0, from = 0;
    for (int64_t i = 0; i < q->n; i++)
        need += place(q, q->v[i]) == i; /* counts different terms */
    for (int64_t i = 0; i < t->n; i++) {
        int64_t k = place(q, t->v[i]);
        if (k < 0) continue;
        need -= s->count[k]++ == 0;
        while (need == 0) {
            if (best == 0 || i - from + 1 < best) best = i - from + 1;
            int64_t out = place(q, t->v[from++]);
            if (out >= 0) need += --s->count[out] == 0;
        }
    }
    return (double)best;
}

/* Returns the distance between the nearest occurrences of two terms in the title; -1: one does not
 * occur. */
static int64_t distance(const cr_toks *t, cr_tok a, cr_tok b) {
    int64_t last_a = -1, last_b = -1, best = -1;
    for (int64_t i = 0; i < t->n; i++) {
        if (cr_tok_is(t->v[i], a))
            last_a = i;
        else if (cr_tok_is(t->v[i], b))
            last_b = i;
        else
            continue;
        int64_t d = last_a > last_b ? last_a - last_b : last_b - last_a;
        if (last_a >= 0 && last_b >= 0 && (best < 0 || d < best)) best = d;
    }
    return best;
}

static double proximity(const cr_toks *q, const cr_toks *t, method how) {
    int64_t pairs = 0, matched = 0, min = 0, max = 0, sum = 0;
    for (int64_t i = 0; i < q->n; i++) {
        if (place(q, q->v[i]) != i || place(t, q->v[i]) < 0) continue;
        matched++;
        for (int64_t k = i + 1; k < q->n; k++) {
            if (place(q, q->v[k]) != k) continue;
            int64_t d = distance(t, q->v[i], q->v[k]);
            if (d < 0) continue;
            if (pairs == 0 || d < min) min = d;
            if (d > max) max = d;
            sum += d;
            pairs++;
        }
    }
    if (matched == 0) return (double)(t->n + 1);
    if (pairs == 0) return 0;
    return how == MIN_DIST   ? (double)min
           : how == MAX_DIST ? (double)max
                             : (double)sum / (double)pairs;
}

static void row(cr_calc_run *run, int64_t r) {
    const overlap_self *s = run->f->self;
    scratch *x = run->scratch;
    cr_toks *q = &x->q, *t = &x->t;
    cr_toks_row(q, run->in[0], r, s->op.sep, false, run->arena);
    cr_toks_row(t, run->in[1], r, s->op.sep, false, run->arena);
    if (q->n == 0 || t->n == 0) return;
    double y = 0;
    switch (s->method) {
    case QUERY_RATIO: y = ratio(q, t); break;
    case TITLE_RATIO: y = ratio(t, q); break;
    case IS_CONTAIN: y = contains(q, t); break;
    case IS_EQUAL: y = q->n == t->n && index_of(q, t) == 0; break;
    case INDEX_OF: y = index_of(q, t); break;
    case MIN_COVER: y = min_cover(x, run->arena); break;
    case MIN_DIST:
    case MAX_DIST:
    case AVG_DIST: y = proximity(q, t, s->method); break;
    }
    cr_values_number(run->out, y);
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const overlap_conf *c = conf;
    overlap_self *s = CR_NEW(arena, overlap_self);
    cr_calc_start(&s->op, f, &c->op, data);
    cr_calc_add(&s->op, f, "query", -1, c->query, CR_IN_TOKENS, data, arena, diag);
    cr_calc_add(&s->op, f, "title", -1, c->title, CR_IN_TOKENS, data, arena, diag);
    int m = 0;
    while (METHODS[m] && strcmp(METHODS[m], c->method) != 0)
        m++;
    if (!METHODS[m]) {
        const char *near = cr_nearest(c->method, method_at, NULL);
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "method"),
                    "feature '%s': unknown method '%s'; %s%s%s", f->name, c->method,
                    near ? "did you mean '"
                         : "use one of those that `crank help overlap_feature` lists",
                    near ? near : "", near ? "'?" : "");
    }
    s->method = METHODS[m] ? (method)m : QUERY_RATIO;
    s->op.begin = begin;
    s->op.row = row;
    cr_calc_finish(&s->op, f, &c->op, CR_END_NUMBER, 1, data, arena, diag);
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const overlap_conf *c = f->conf;
    cr_calc_fg_open(f, &c->op, "float", w);
    cr_jw_str(w, "query", c->query);
    cr_jw_str(w, "title", c->title);
    cr_jw_str(w, "method", c->method);
    if (strcmp(c->op.separator, "\x1d") == 0) cr_jw_str(w, "separator", c->op.separator);
    cr_calc_fg_close(f, &c->op, w);
}

/* Both sides get the same few words, so that some words are on both. */
static void sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    static const char *const terms[] = {"red",  "blue",  "shirt", "shoes", "long", "short",
                                        "silk", "linen", "coat",  "dress", "bag",  "belt"};
    if (cr_calc_sample(f, k, s, out) < 0) return;
    out->value = (cr_tab_value){.leaf = CR_TAB_WORD,
                                .card = sizeof(terms) / sizeof(*terms),
                                .words = terms,
                                .closed = true};
    out->min_values = 2;
    out->max_values = 5;
    out->share = 0;
}

const cr_feature_type cr_feature_overlap = {
    .name = "overlap_feature",
    .build = build,
    .encode = cr_calc_encode,
    .fg_json = fg_json,
    .refuses = cr_calc_refuses,
    .gives_numbers = cr_calc_gives_numbers,
    .give = cr_calc_give,
    .sample = sample,
};
