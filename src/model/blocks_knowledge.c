/*
 * blocks_knowledge.c - the block layer knowledge_match: how well candidate articles match those
 * that a user has clicked, by their titles and by the entities in them (Qi et al., 2021: KIM,
 * personalized news recommendation with knowledge-aware interactive matching).
 *
 * A row has C candidates and B clicked articles, each with S words, N entities and N neighbours of
 * each entity in a graph. Words see each other within a title (a convolution and self-attention).
 * Then each candidate is read beside each clicked article: the words of both weigh each other, and
 * so do the neighbours of their entities and the entities themselves. What comes out are B vectors
 * of the user as the candidate shows them, and B of the candidate as the user does; their weighted
 * sums give the score. What does not depend on the other article is made once for each article.
 */
#include <math.h>

#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"
#include "op/param.h"

#define CROSS_WORDS 0.001F /* weight of what the words of the other title say */
#define CROSS_NEWS  0.01F  /* ... and of what the other articles say */

typedef struct know_conf {
    cr_conf_base base;
    int64_t candidates, words, entities, units, num_heads, attention_units, entity_heads;
    double dropout_ratio;
} know_conf;
static const cr_field know_fields[] = {
    CR_INT(know_conf, candidates, 1, 1, 1000, CR_F_OURS, "articles at the beginning of the row"),
    CR_INT(know_conf, words, 0, 1, 10000, CR_F_REQUIRED | CR_F_OURS, "words of a title"),
    CR_INT(know_conf, entities, 0, 1, 1000, CR_F_REQUIRED | CR_F_OURS,
           "entities of an article, and neighbours of each"),
    CR_INT(know_conf, units, 400, 1, 65536, CR_F_OURS, "width of an article's vector"),
    CR_INT(know_conf, num_heads, 20, 1, 4096, CR_F_OURS, "heads of the words; they divide units"),
    CR_INT(know_conf, attention_units, 200, 1, 65536, CR_F_OURS,
           "units of the layers that score words and neighbours; half as many score articles"),
    CR_INT(know_conf, entity_heads, 5, 1, 4096, CR_F_OURS,
           "heads of the entities; they divide the width of their vectors"),
    CR_FLOAT(know_conf, dropout_ratio, 0.2, 0, 0.999, CR_F_OURS,
             "share of numbers that become 0 while training"),
    CR_END,
};
const cr_msg cr_block_knowledge_match_msg = {
    .name = "KnowledgeMatchBlock",
    .help = "KIM: scores of articles for a user, by their words and entities",
    .fields = know_fields,
    .size = sizeof(know_conf),
};

/* A linear layer; b is NULL where it has none. */
typedef struct linear {
    cr_node *W, *b;
} linear;

/* Attention between entities (co-attention of a graph), by the names of PaddleRec. */
typedef struct coatt {
    linear q, k, v, dense1, dense2, dense3, dense5;
} coatt;

typedef struct know {
    cr_graph *g;
    const know_conf *f;
    int64_t A, B, C, S, N, D, E; /* articles, their parts, and the widths of words and entities */
    linear att1, att2, match1, match2, reduce, merge_layer, gat_fuse, merge, pool1, pool2;
    coatt gcat, gcat0;
} know;

static linear layer(cr_graph *g, const char *name, int64_t out, int64_t in, bool bias) {
    size_t mark = cr_graph_push(g, "%s", name);
    linear l = {cr_weight(g, "weight", out, in, CR_INIT_U(sqrt(6.0 / (double)(in + out)))), NULL};
    if (bias) l.b = cr_vector(g, "bias", out, CR_INIT_C(0));
    cr_graph_pop(g, mark);
    return l;
}

static coatt make_coatt(cr_graph *g, const char *name, int64_t E) {
    size_t mark = cr_graph_push(g, "%s", name);
    coatt a;
    a.q = layer(g, "q_proj", E, E, false);
    a.k = layer(g, "k_proj", E, E, false);
    a.v = layer(g, "v_proj", E, E, false);
    a.dense1 = layer(g, "dense1", E, E, true);
    a.dense2 = layer(g, "dense2", E, E, true);
    a.dense3 = layer(g, "dense3", E, E, true);
    a.dense5 = layer(g, "dense5", 1, E, true);
    cr_graph_pop(g, mark);
    return a;
}

/* Numbers that shift all scores of a softmax alike change nothing, so some layers have no bias. */
static void make_layers(know *o) {
    cr_graph *g = o->g;
    int64_t H = o->f->units, A = o->f->attention_units, M = (A + 1) / 2, E = o->E;
    o->att1 = layer(g, "attn_layer1", A, H, true);
    o->att2 = layer(g, "attn_layer2", 1, A, false);
    o->pool1 = layer(g, "entity_encoder.dense1", A, E, true);
    o->pool2 = layer(g, "entity_encoder.dense2", 1, A, false);
    o->gat_fuse = layer(g, "gat_fuse", E, 2 * E, true);
    o->gcat = make_coatt(g, "gcat", E);
    o->merge = layer(g, "merge", E, 2 * E, true);
    o->gcat0 = make_coatt(g, "gcat0", E);
    o->merge_layer = layer(g, "merge_layer", H, H + E, true);
    o->match1 = layer(g, "match_att1", M, H, true);
    o->match2 = layer(g, "match_att2", 1, M, false);
    o->reduce = layer(g, "match_reduce", M, H, true);
}

/* ---- pieces ---- */

static cr_node *each(const know *o, cr_node *x, const linear *l) {
    return cr_matmul_each(o->g, x, l->W, l->b, false, x->width / l->W->cols);
}

static cr_node *drop(const know *o, cr_node *x) {
    double p = o->f->dropout_ratio;
    return p > 0 ? cr_dropout(o->g, x, (float)p) : x;
}

static cr_node *sum_of(const know *o, cr_node *a, float fa, cr_node *b, float fb) {
    return cr_add(o->g, (cr_node *[]){a, b}, (float[]){fa, fb}, 2);
}

static cr_node *tanh_of(const know *o, cr_node *x) {
    return cr_activation(o->g, CR_ACT_TANH, NULL, x);
}

/* W [x; y] + b for vectors x and y that lie in two rows. */
static cr_node *both(const know *o, cr_node *x, cr_node *y, const linear *l, int64_t wx) {
    cr_range left = {0, wx}, right = {wx, l->W->cols - wx};
    linear a = {cr_fold_columns(o->g, l->W, &left, 1), l->b};
    linear b = {cr_fold_columns(o->g, l->W, &right, 1), NULL};
    return sum_of(o, each(o, x, &a), 1, each(o, y, &b), 1);
}

/* The part of a row that belongs to the candidate c, or to the clicked articles (c = -1). */
static cr_node *part(const know *o, cr_node *x, int64_t c) {
    int64_t one = x->width / o->A;
    return c < 0 ? cr_slice(o->g, x, o->C * one, o->B * one) : cr_slice(o->g, x, c * one, one);
}

/* Sums of n vectors (D), weighted by the numbers w, without a softmax. */
static cr_node *weighted(const know *o, cr_node *w, cr_node *x, int64_t n, int64_t D) {
    int64_t G = x->width / (n * D);
    cr_group_attend_opts a = {.n = 1, .m = n, .heads = 1, .width = 1, .scale = 1};
    cr_node *one =
        cr_activation(o->g, CR_ACT_CLAMP, (const float[3]){1, 1, 0}, cr_slice(o->g, w, 0, G));
    return cr_group_attend(o->g, one, w, x, NULL, &a);
}

/* ---- words ---- */

static cr_node *read_words(const know *o, cr_node *x) {
    cr_graph *g = o->g;
    int64_t H = o->f->units, heads = o->f->num_heads;
    cr_init init = CR_INIT_N(sqrt(2.0 / (double)(3 * o->D)));
    size_t mark = cr_graph_push(g, "context_encoder");
    cr_node *W = cr_weight(g, "conv.weight", H, 3 * o->D, init);
    cr_node *b = cr_vector(g, "conv.bias", H, CR_INIT_C(0));
    linear q = layer(g, "q_proj", H, o->D, false), k = layer(g, "k_proj", H, o->D, false);
    linear v = layer(g, "v_proj", H, o->D, false);
    cr_graph_pop(g, mark);
    int64_t width = H / heads; /* of a head */
    cr_group_attend_opts a = {o->S, o->S, heads, H, (float)(1 / sqrt((double)width)), true};
    x = drop(o, x);
    cr_node *near =
        cr_matmul_each(g, cr_group_near(g, x, o->S, o->D, -1, 3), W, b, true, o->A * o->S);
    cr_node *all = cr_group_attend(g, each(o, x, &q), each(o, x, &k), each(o, x, &v), NULL, &a);
    return drop(o, sum_of(o, near, 1, cr_activation(g, CR_ACT_RELU, NULL, all), 1));
}

/* The titles of the clicked articles beside candidate c, and c beside each of them. */
static void match_titles(const know *o, cr_node *words, cr_node *vecs, cr_node *att, int64_t c,
                         cr_node *out[2]) {
    cr_graph *g = o->g;
    int64_t A = o->f->attention_units, S = o->S;
    cr_node *key = part(o, vecs, c), *score = part(o, att, c), *mine = part(o, vecs, -1);
    cr_group_attend_opts cross = {o->B * S, S, 1, A, 1, true};
    cr_node *s = sum_of(o, part(o, att, -1), 1, cr_group_attend(g, mine, key, score, NULL, &cross),
                        CROSS_WORDS);
    out[0] = cr_group_pool(g, s, part(o, words, -1), NULL, S, 1, o->f->units);
    cr_group_attend_opts back = {o->B, S, 1, A, CROSS_WORDS, true};
    out[1] = cr_group_attend(g, cr_group_pool(g, s, mine, NULL, S, 1, A), key, part(o, words, c),
                             score, &back);
}

/* ---- entities ---- */

/* What co-attention needs of entities before it is known what they are compared with. */
typedef struct entities {
    cr_node *vecs, *query, *own;
} entities;

/* Entities that see each other in groups of n. */
static entities see(const know *o, const coatt *a, cr_node *x) {
    int64_t H = o->f->entity_heads, width = o->E / H; /* of a head */
    cr_group_attend_opts k = {o->N, o->N, H, o->E, (float)(1 / sqrt((double)width)), true};
    cr_node *v =
        cr_group_attend(o->g, each(o, x, &a->q), each(o, x, &a->k), each(o, x, &a->v), NULL, &k);
    return (entities){v, each(o, v, &a->dense1), each(o, v, &a->dense3)};
}

/* One vector for each group of N entities, of which `per` belong to an article, as the entities x
 * of the other article show them. */
static cr_node *coattend(const know *o, const coatt *a, entities e, cr_node *x, int64_t per) {
    cr_group_attend_opts k = {per, o->N, 1, o->E, 1, false};
    cr_node *co = cr_group_attend(o->g, e.query, each(o, x, &a->dense2), x, NULL, &k);
    if (co->width > e.own->width) { /* a candidate beside each of the clicked articles */
        e.own = cr_group_spread(o->g, e.own, o->B, e.own->width);
        e.vecs = cr_group_spread(o->g, e.vecs, o->B, e.vecs->width);
    }
    cr_node *w = each(o, tanh_of(o, sum_of(o, e.own, 1, co, 1)), &a->dense5);
    return weighted(o, w, e.vecs, o->N, o->E);
}

static entities part_of(const know *o, const entities *e, int64_t c) {
    return (entities){part(o, e->vecs, c), part(o, e->query, c), part(o, e->own, c)};
}

/* What an article has of entities: they, what they are with their neighbours, the neighbours. */
typedef struct facts {
    cr_node *zero, *fused;
    entities near;
} facts;

static facts read_facts(const know *o, cr_node *zero, cr_node *near) {
    cr_node *x = drop(o, drop(o, near));
    cr_node *s = each(o, tanh_of(o, each(o, x, &o->pool1)), &o->pool2);
    cr_node *pooled = cr_group_pool(o->g, s, x, NULL, o->N, 1, o->E);
    return (facts){zero, both(o, pooled, zero, &o->gat_fuse, o->E), see(o, &o->gcat, near)};
}

/* One vector for each clicked article: those of side a as side b shows them; one is candidate c. */
static cr_node *match_facts(const know *o, const facts *f, int64_t a, int64_t b) {
    entities e = part_of(o, &f->near, a);
    cr_node *near = coattend(o, &o->gcat, e, part(o, f->fused, b), o->N * o->N);
    cr_node *zero = part(o, f->zero, a);
    if (a >= 0) zero = cr_group_spread(o->g, zero, o->B, zero->width);
    cr_node *x = both(o, zero, near, &o->merge, o->E);
    return coattend(o, &o->gcat0, see(o, &o->gcat0, x), part(o, f->zero, b), o->N);
}

/* ---- articles ---- */

static cr_node *match(const know *o, cr_node *user, cr_node *news) {
    cr_graph *g = o->g;
    int64_t H = o->f->units;
    cr_node *v[2] = {user, news}, *own[2], *less[2], *sum[2];
    for (int i = 0; i < 2; i++) {
        own[i] = each(o, tanh_of(o, each(o, v[i], &o->match1)), &o->match2);
        less[i] = each(o, v[i], &o->reduce);
    }
    cr_group_attend_opts k = {o->B, o->B, 1, o->reduce.W->rows, 1, true};
    for (int i = 0; i < 2; i++) {
        cr_node *cross = cr_group_attend(g, less[i], less[1 - i], own[1 - i], NULL, &k);
        sum[i] = cr_group_pool(g, sum_of(o, own[i], 1, cross, CROSS_NEWS), v[i], NULL, o->B, 1, H);
    }
    return cr_row_sum(g, cr_mul(g, sum[0], sum[1]));
}

/* Are the sizes those of the inputs? Reports a mistake if not. */
static bool sizes_fit(cr_block_call *c, know *o) {
    const know_conf *f = o->f;
    for (int i = 0; i < 3; i++)
        if (c->in[i].node->cls != CR_ROW || c->in[i].D == 0) {
            cr_block_wrong(c, c->at, "input %d is not vectors of one width; see unroll", i + 1);
            return false;
        }
    o->D = c->in[0].D;
    o->E = c->in[1].D;
    o->A = c->in[1].node->width / (o->E * o->N);
    o->B = o->A - o->C;
    if (o->B < 1 || c->in[0].node->width != o->A * o->S * o->D || c->in[2].D != o->E ||
        c->in[1].node->width != o->A * o->N * o->E ||
        c->in[2].node->width != o->A * o->N * o->N * o->E) {
        cr_block_wrong(c, c->at,
                       "its inputs are the words of the articles, %lld for each, their entities, "
                       "%lld for each, and as many neighbours of each entity, of more articles "
                       "than the %lld candidates; correct words, entities or the inputs",
                       (long long)o->S, (long long)o->N, (long long)o->C);
        return false;
    }
    if (f->units % f->num_heads != 0 || o->E % f->entity_heads != 0) {
        cr_block_wrong(c, c->at,
                       "num_heads must divide units %lld, and entity_heads the width %lld of an "
                       "entity; change them",
                       (long long)f->units, (long long)o->E);
        return false;
    }
    int64_t wide = f->units > f->attention_units ? f->units : f->attention_units;
    if (wide > CR_BLOCK_MAX_ROW / (o->A * o->S) || 3 * o->D > CR_BLOCK_MAX_ROW / (o->A * o->S) ||
        (o->E > wide ? o->E : wide) > CR_BLOCK_MAX_ROW / (o->A * o->N * o->N)) {
        cr_block_wrong(c, c->at, "its rows would be too wide; use fewer articles, words or units");
        return false;
    }
    return true;
}

static void knowledge_match(cr_block_call *c, const void *conf) {
    const know_conf *f = conf;
    know o = {.g = c->g, .f = f, .C = f->candidates, .S = f->words, .N = f->entities};
    if (!sizes_fit(c, &o)) return;
    cr_node **score = CR_NEW_N(&c->b->m->arena, cr_node *, o.C);
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    make_layers(&o);
    cr_node *words = read_words(&o, c->in[0].node);
    facts known = read_facts(&o, c->in[1].node, c->in[2].node);
    cr_node *vecs = tanh_of(&o, each(&o, words, &o.att1)), *att = each(&o, vecs, &o.att2);
    for (int64_t i = 0; i < o.C; i++) {
        cr_node *title[2];
        match_titles(&o, words, vecs, att, i, title);
        cr_node *user =
            both(&o, title[0], match_facts(&o, &known, -1, i), &o.merge_layer, f->units);
        cr_node *news =
            both(&o, title[1], match_facts(&o, &known, i, -1), &o.merge_layer, f->units);
        score[i] = match(&o, user, news);
    }
    cr_graph_pop(c->g, mark);
    cr_block_give(c, cr_concat(c->g, score, (int)o.C));
}
const cr_block_type cr_block_knowledge_match = {
    .name = "knowledge_match",
    .takes = CR_TAKES_EACH,
    .min_in = 3,
    .max_in = 3,
    .build = knowledge_match,
};
