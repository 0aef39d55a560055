/*
 * paddle_news.c - PaddleRec's models of news: naml (Wu et al., 2019), and fastformer (Wu et al.,
 * 2021), in which the layers of that name read the words and the browsed articles.
 *
 * `crank run` writes the rows (src/tool/news.c): the candidates and then the browsed articles, each
 * with a category, a subcategory, a title and a text. All articles of a row go through the same
 * layers at once, as vectors in groups: a word's vector and its neighbours become a new vector
 * (group_conv), those of a text one vector (group_attention), and the four views of an article one.
 * The articles that a user has browsed make the user, whose products with the candidates are the
 * scores.
 *
 * As shipped, the scores of the attention have no tanh (--compat paddlerec), and texts are
 * convolved with the weights of titles, which is not available.
 */
#include <string.h>

#include "dialect/paddle_int.h"

/* Constants of PaddleRec's code, which the config may give. */
static long long conv_units(cr_pd *p) {
    return (long long)cr_pd_int(p, p->hyper, "conv_out_channel_size", 400, 1, 65536);
}
static long long attention_units(cr_pd *p) {
    return (long long)cr_pd_int(p, p->hyper, "attention_projection_size", 100, 1, 65536);
}

cr_paddle_news cr_pd_news_sizes(cr_pd *p) {
    cr_pd_map h = p->hyper;
    return (cr_paddle_news){
        .masks = h.map && cr_conf_find(h.map, "pooler_type") != NULL,
        .title = cr_pd_int(p, h, "article_title_size", CR_PD_REQUIRED, 1, 100000),
        .content = cr_pd_int(p, h, "article_content_size", CR_PD_REQUIRED, 1, 100000),
        .browsed = cr_pd_int(p, h, "browse_size", CR_PD_REQUIRED, 1, 100000),
        .others = cr_pd_int(p, h, "neg_condidate_sample_size", CR_PD_REQUIRED, 1, 10000),
        .words = cr_pd_int(p, h, "word_dict_size", CR_PD_REQUIRED, 1, CR_PD_MAX_ROWS),
        .categories = cr_pd_int(p, h, "category_size", CR_PD_REQUIRED, 1, CR_PD_MAX_ROWS),
        .subcategories = cr_pd_int(p, h, "sub_category_size", CR_PD_REQUIRED, 1, CR_PD_MAX_ROWS),
    };
}

void cr_pd_news(cr_pd *p) {
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [place], "
              "slot_text: {form: LISTS, separator: \"\\t\", list_separator: \" \"}, input_fields: "
              "[{input_name: place, input_type: INT64}, {input_name: category, input_type: "
              "ARRAY_INT64}, {input_name: subcategory, input_type: ARRAY_INT64}, {input_name: "
              "title, input_type: ARRAY_INT64}, {input_name: content, input_type: ARRAY_INT64}%s]}",
              cr_pd_news_sizes(p).masks
                  ? ", {input_name: title_mask, input_type: ARRAY_FLOAT}, {input_name: "
                    "content_mask, input_type: ARRAY_FLOAT}"
                  : "");
}

static void steps(cr_pd *p, const char *name, int64_t n, int64_t rows, int64_t dim,
                  const char *table, const char *init) {
    cr_pd_feature(p, p->data_at,
                  "sequence_id_feature: {feature_name: %s, sequence_length: %lld, num_buckets: "
                  "%lld, embedding_dim: %lld, embedding_name: %s, init_fn: \"%s\"}",
                  name, (long long)n, (long long)rows, (long long)dim, table, init);
}

/* The features, and a row of vectors for each: words of titles and of texts, and the layers over
 * the two categories. */
static void views(cr_pd *p, cr_buf *b, const cr_paddle_news *s) {
    int64_t word = cr_pd_int(p, p->hyper, "word_dimension", CR_PD_REQUIRED, 1, 65536);
    int64_t cat = cr_pd_int(p, p->hyper, "category_dimension", CR_PD_REQUIRED, 1, 65536);
    int64_t n = s->others + 1 + s->browsed;
    static const char normal[] = "nn.init.normal_,mean=0,std=0.1";
    static const char uniform[] = "nn.init.uniform_,a=-1,b=1";
    steps(p, "category", n, s->categories + 1, cat, "cate_embedding", normal);
    steps(p, "subcategory", n, s->subcategories + 1, cat, "sub_cate_embedding", normal);
    steps(p, "title", n * s->title, s->words + 1, word, "word2vec_embedding", uniform);
    steps(p, "content", n * s->content, s->words + 1, word, "word2vec_embedding", uniform);
    const struct {
        const char *name;
        int64_t steps;
    } v[] = {{"category", n},
             {"subcategory", n},
             {"title", n * s->title},
             {"content", n * s->content}};
    for (int i = 0; i < 4; i++)
        cr_buf_printf(b,
                      "{name: %s_vectors, inputs: [{feature_group_name: %s}], unroll: {steps: "
                      "%lld}}, ",
                      v[i].name, v[i].name, (long long)v[i].steps);
    for (int i = 0; i < 2; i++)
        cr_buf_printf(b,
                      "{name: %s_view, inputs: [{block_name: %s_vectors}], field_linear: {units: "
                      "%lld, relu: true}}, ",
                      v[i].name, v[i].name, conv_units(p));
}

/* The words of a text with their neighbours. */
static void convolve(cr_pd *p, cr_buf *b, const char *name, int64_t words) {
    cr_buf_printf(
        b,
        "{name: %s_words, inputs: [{block_name: %s_vectors}], group_conv: {vectors: %lld, "
        "filters: %lld}}, ",
        name, name, (long long)words, conv_units(p));
}

static void attend(cr_pd *p, cr_buf *b, const char *name, const char *input, int64_t vectors) {
    cr_buf_printf(b,
                  "{name: %s, inputs: [{block_name: %s}], group_attention: {vectors: %lld, units: "
                  "%lld, tanh: %s}}, ",
                  name, input, (long long)vectors, attention_units(p),
                  p->o->compat ? "false" : "true");
}

/* What follows the views of articles: one vector per article, candidates and browsed ones. */
static void articles(cr_pd *p, cr_buf *b, const cr_paddle_news *s) {
    cr_buf_str(b,
               "{name: views, inputs: [{block_name: title_view}, {block_name: content_view}, "
               "{block_name: category_view}, {block_name: subcategory_view}], interleave: {}}, ");
    attend(p, b, "articles", "views", 4);
    cr_buf_printf(b,
                  "{name: candidates, inputs: [{block_name: articles}], slice: {begin: 0, width: "
                  "%lld}}, {name: browsed, inputs: [{block_name: articles}], slice: {begin: %lld, "
                  "width: %lld}}, ",
                  (long long)(s->others + 1) * conv_units(p),
                  (long long)(s->others + 1) * conv_units(p),
                  (long long)s->browsed * conv_units(p));
}

/* The model of these blocks, whose last one is `user`. */
static void put_model(cr_pd *p, const cr_buf *b, const cr_paddle_news *s, const char *groups) {
#define SEQ(name) "{group_name: " name ", group_type: SEQUENCE, feature_names: [" name "]}"
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [" SEQ("category") ", " SEQ("subcategory") ", " SEQ(
                  "title") ", " SEQ("content") "%s], num_class: %lld, backbone: {blocks: [%s{name: "
                                               "scores, inputs: [{block_name: user}, {block_name: "
                                               "candidates}], similarity: {}}]}, losses: "
                                               "[{softmax_cross_entropy: {}}], metrics: [{auc: "
                                               "{candidates: true}}], train_metrics: [{auc: "
                                               "{candidates: true}, since_epoch: true}]}",
              groups, (long long)s->others + 1, b->data);
}

void cr_pd_naml(cr_pd *p) {
    cr_paddle_news s = cr_pd_news_sizes(p);
    cr_buf b;
    cr_buf_init(&b);
    views(p, &b, &s);
    convolve(p, &b, "title", s.title);
    convolve(p, &b, "content", s.content);
    attend(p, &b, "title_view", "title_words", s.title);
    attend(p, &b, "content_view", "content_words", s.content);
    articles(p, &b, &s);
    attend(p, &b, "user", "browsed", s.browsed);
    put_model(p, &b, &s, "");
    cr_buf_clear(&b);
}

/* A block of fastformer; mask: the group of the mask, NULL: none. */
static void fast(cr_pd *p, cr_buf *b, const char *name, const char *input, const char *mask,
                 int64_t vectors) {
    cr_pd_map h = p->hyper;
    long long heads = (long long)cr_pd_int(p, h, "num_attention_heads", 16, 1, 4096);
    long long layers = (long long)cr_pd_int(p, h, "num_hidden_layers", 2, 1, 128);
    long long ff = (long long)cr_pd_int(p, h, "intermediate_size", CR_PD_REQUIRED, 1, 65536);
    double drop = cr_pd_num(p, h, "hidden_dropout_prob", 0.2, 0, 0.999);
    double eps = cr_pd_num(p, h, "layer_norm_eps", 1e-12, 0, 1);
    double std = cr_pd_num(p, h, "initializer_range", 0.02, 0, 1);
    cr_buf_printf(b, "{name: %s, inputs: [{block_name: %s}", name, input);
    if (mask) cr_buf_printf(b, ", {feature_group_name: %s}", mask);
    cr_buf_printf(b,
                  "], fastformer: {vectors: %lld, num_heads: %lld, num_layers: %lld, ff_units: "
                  "%lld, dropout_ratio: %.9g, eps: %.9g, init_std: %.9g}}, ",
                  (long long)vectors, heads, layers, ff, drop, eps, std);
}

void cr_pd_fastformer(cr_pd *p) {
    cr_paddle_news s = cr_pd_news_sizes(p);
    long long n = (long long)(s.others + 1 + s.browsed);
    const char *pooler = cr_pd_str(p, p->hyper, "pooler_type", true);
    if (*pooler && strcmp(pooler, "weightpooler") != 0)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "pooler_type"),
                    "pooler_type is '%.40s' and must be weightpooler", pooler);
    cr_buf b;
    cr_buf_init(&b);
    views(p, &b, &s);
    cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: title_mask, value_dim: %lld}",
                  n * (long long)s.title);
    cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: content_mask, value_dim: %lld}",
                  n * (long long)s.content);
    convolve(p, &b, "title", s.title);
    convolve(p, &b, "content", s.content);
    fast(p, &b, "title_view", "title_words", "title_mask", s.title);
    fast(p, &b, "content_view", "content_words", "content_mask", s.content);
    articles(p, &b, &s);
    fast(p, &b, "user", "browsed", NULL, s.browsed);
    put_model(p, &b, &s,
              ", {group_name: title_mask, feature_names: [title_mask]}, {group_name: content_mask, "
              "feature_names: [content_mask]}");
    cr_buf_clear(&b);
}
