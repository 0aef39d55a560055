/*
 * paddle_recall.c - PaddleRec's models that find items: gnn (SR-GNN), fasttext, tdm; match_pyramid,
 * which compares two texts; and the two models of its demo, movie_recommand.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "dialect/paddle_int.h"

#define MAX_ROWS CR_PD_MAX_ROWS

/* ---- gnn ---- */

/* Lines a,b,c<TAB>d. The numbers of items are read as they are, since they are also the nodes of
 * a graph; the scores are those of items from 1 on, so the label is the item less 1. */
void cr_pd_clicked(cr_pd *p) {
    int64_t rows = cr_pd_int(p, p->hyper, "corpus_size", 0, 1, INT64_MAX);
    p->decay_rows = rows > 0 ? rows : 1;
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \"\\t\", list_separator: \",\", made: [{name: "
              "label, copy_of: next, plus: -1}]}, input_fields: [{input_name: history, "
              "input_type: ARRAY_FLOAT}, {input_name: next, input_type: INT64}, {input_name: "
              "label, input_type: INT64}]}");
}

void cr_pd_gnn(cr_pd *p) {
    int64_t items = cr_pd_int(p, p->hyper, "sparse_feature_number", CR_PD_REQUIRED, 3, 65536);
    int64_t hidden = cr_pd_int(p, p->hyper, "sparse_feature_dim", CR_PD_REQUIRED, 1, 65536);
    int64_t steps = cr_pd_int(p, p->hyper, "gnn_propogation_steps", 1, 1, 16);
    long long k = items - 1 < 20 ? items - 1 : 20;
    cr_pd_feature(p, p->data_at,
                  "sequence_raw_feature: {feature_name: history, sequence_length: 1000}");
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: session, group_type: SEQUENCE, "
              "feature_names: [history]}], num_class: %lld, backbone: {blocks: [{name: scores, "
              "inputs: [{feature_group_name: session}], session_graph: {num_items: %lld, "
              "hidden_size: %lld, num_steps: %lld}}]}, losses: [{softmax_cross_entropy: {}}], "
              "metrics: [{accuracy: {top_k: %lld}}], train_metrics: [{accuracy: {top_k: %lld}, "
              "since_epoch: true}]}",
              (long long)items - 1, (long long)items, (long long)hidden, (long long)steps, k, k);
}

/* ---- fasttext ---- */

/* The text is read as that of word2vec; the word in the middle comes with its n-grams. */
void cr_pd_subwords(cr_pd *p) {
    static const char *const idle[] = {"min_n", "max_n"};
    for (int i = 0; i < 2; i++)
        cr_pd_idle(p, p->hyper, idle[i]);
    const char *path = cr_pd_str(p, p->dataset, "word_ngrams_path", true);
    cr_pd_skip_gram_and(p,
                        cr_arena_printf(&p->doc->arena,
                                        ", {name: parts, parts_of: center, parts: %s}",
                                        cr_pd_names(p, &path, 1)),
                        ", {input_name: parts, input_type: ARRAY_INT64}");
}

void cr_pd_fasttext(cr_pd *p) {
    int64_t words = cr_pd_int(p, p->hyper, "sparse_feature_number", CR_PD_REQUIRED, 2, MAX_ROWS);
    int64_t dim = cr_pd_int(p, p->hyper, "sparse_feature_dim", CR_PD_REQUIRED, 1, 65536);
    long long n = (long long)cr_pd_int(p, p->hyper, "neg_num", CR_PD_REQUIRED, 1, 1000) + 1;
    cr_pd_feature(p, p->data_at,
                  "id_feature: {feature_name: parts, expression: \"user:parts\", num_buckets: "
                  "%lld, embedding_dim: %lld, embedding_name: emb, pooling: mean, init_fn: "
                  "\"nn.init.uniform_,a=%.9g,b=%.9g\"}",
                  (long long)words, (long long)dim, -1.0 / (double)dim, 1.0 / (double)dim);
    cr_pd_feature(p, p->data_at,
                  "sequence_id_feature: {feature_name: words, expression: \"user:words\", "
                  "sequence_length: %lld, num_buckets: %lld, embedding_dim: %lld, embedding_name: "
                  "emb_w, init_fn: nn.init.zeros_}",
                  n, (long long)words, (long long)dim);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: center, feature_names: [parts]}, "
              "{group_name: words, group_type: SEQUENCE, feature_names: [words]}], num_class: "
              "%lld, backbone: {blocks: [{name: words, inputs: [{feature_group_name: words}], "
              "unroll: {steps: %lld}}, {name: center, inputs: [{feature_group_name: center}]}, "
              "{name: scores, inputs: [{block_name: center}, {block_name: words}], similarity: "
              "{}}]}, losses: [{negative_sampling_loss: {}}], metrics: [{accuracy: {}}], "
              "train_metrics: [{accuracy: {}, since_epoch: true}]}",
              n, n);
}

/* ---- tdm ---- */

/* Each line is a vector and an item; it becomes a row per node of the tree that is looked at. */
void cr_pd_tree(cr_pd *p) {
    cr_pd_map tree = {cr_pd_get(p, p->hyper, "tree"), "hyper_parameters.tree"};
    static const char *const idle[] = {"load_tree_from_numpy", "load_paddle_model",
                                       "tree_info_path", "tree_emb_path"};
    int64_t n;
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        cr_pd_idle(p, tree, idle[i]);
    if (cr_pd_alone(p))
        cr_pd_wrong(p, p->data_at,
                    "the evaluation of tdm searches the tree; 'crank run' does it, with the runner "
                    "of the class infer");
    const char *negatives = cr_pd_widths(p, p->hyper, "neg_sampling_list", &n);
    const char *travel = cr_pd_str(p, tree, "tree_travel_path", true);
    const char *layers = cr_pd_str(p, tree, "tree_layer_path", true);
    const cr_conf_node *list = cr_pd_get(p, p->hyper, "neg_sampling_list");
    p->rows_per_line = 0;
    for (size_t i = 0; list && list->kind == CR_NODE_LIST && i < list->n; i++)
        p->rows_per_line += (list->v[i].val->text ? atoll(list->v[i].val->text) : 0) + 1;
    p->sessions = true;
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \"\\t\", list_separator: \" \", tree: {item: "
              "item, travel: %s, layers: %s, negatives: %s}}, input_fields: [{input_name: "
              "input_emb, input_type: ARRAY_FLOAT}, {input_name: item, input_type: INT64}, "
              "{input_name: node, input_type: INT64}, {input_name: layer, input_type: INT64}, "
              "{input_name: label, input_type: INT64}]}",
              cr_pd_names(p, &travel, 1), cr_pd_names(p, &layers, 1), negatives);
}

void cr_pd_tdm(cr_pd *p) {
    int64_t layers = cr_pd_int(p, p->hyper, "max_layers", 4, 1, 64);
    int64_t nodes = cr_pd_int(p, p->hyper, "node_nums", CR_PD_REQUIRED, 2, MAX_ROWS);
    long long width = (long long)cr_pd_int(p, p->hyper, "node_emb_size", 64, 1, 65536);
    int64_t in = cr_pd_int(p, p->hyper, "input_emb_size", 768, 1, 1000000), n;
    const char *act = cr_pd_activation(p, "tanh");
    static const char *const idle[] = {"leaf_node_nums", "layer_node_num_list", "child_nums",
                                       "topK", "learning_rate"};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        cr_pd_idle(p, p->hyper, idle[i]);
    (void)cr_pd_widths(p, p->hyper, "neg_sampling_list", &n);
    if (!cr_pd_bool(p, p->hyper, "output_positive", true))
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "output_positive"),
                    "without the right nodes nothing is learned; remove output_positive");
    if (n != layers)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "max_layers"),
                    "max_layers is %lld, and neg_sampling_list has %lld numbers; make them equal",
                    (long long)layers, (long long)n);
    cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: input_emb, value_dim: %lld}",
                  (long long)in);
    cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: layer}");
    cr_pd_feature(p, p->data_at,
                  "id_feature: {feature_name: node, num_buckets: %lld, embedding_dim: %lld, "
                  "embedding_name: tree_emb, init_fn: nn.init.xavier_uniform_}",
                  (long long)nodes, width);
    cr_buf b, picked;
    cr_buf_init(&b);
    cr_buf_init(&picked);
    for (long long i = 0; i < (long long)layers; i++) {
        cr_buf_printf(&b,
                      "{name: layer%lld, inputs: [{block_name: trans}], mlp: {hidden_units: "
                      "[%lld], activation: %s}}, {name: hidden%lld, inputs: [{block_name: "
                      "layer%lld}, {feature_group_name: node}], mlp: {hidden_units: [%lld], "
                      "activation: %s}}, ",
                      i, width, act, i, i, width, act);
        cr_buf_printf(&picked, ", {block_name: hidden%lld}", i);
    }
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: input, feature_names: [input_emb]}, "
              "{group_name: layer, feature_names: [layer]}, {group_name: node, feature_names: "
              "[node]}], num_class: 2, backbone: {blocks: [{name: trans, inputs: "
              "[{feature_group_name: input}], linear: {units: %lld}}, %s{name: picked, inputs: "
              "[{feature_group_name: layer}%s], pick: {}}, {name: scores, inputs: [{block_name: "
              "picked}], linear: {units: 2}}]}, losses: [{softmax_cross_entropy: {}}], metrics: "
              "[{auc: {}}], train_metrics: [{auc: {}, since_epoch: true}]}",
              width, b.data, picked.data);
    cr_buf_clear(&b);
    cr_buf_clear(&picked);
}

/* ---- match_pyramid ---- */

void cr_pd_texts(cr_pd *p) {
    int64_t words = cr_pd_int(p, p->hyper, "vocab_size", CR_PD_REQUIRED, 2, MAX_ROWS);
    /* the last word fills texts up. As shipped, 1.8.5 takes it for a word like others */
    const char *padding =
        p->o->compat && p->old
            ? ""
            : cr_arena_printf(&p->doc->arena, ", padding: \"%lld\"", (long long)words - 1);
    /* the lines of an evaluation go on with a grade, 0 to 2, and the number of the query */
    bool alone = cr_pd_alone(p);
    p->apart = true;
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \"\\t\", list_separator: \",\"%s, made: [{name: "
              "label, %s}]}, input_fields: [{input_name: left, input_type: ARRAY_INT64}, "
              "{input_name: right, input_type: ARRAY_INT64}, %s{input_name: label, input_type: "
              "INT64}]}",
              padding, alone ? "copy_of: grade, at_most: 1" : "value: \"0\"",
              alone ? "{input_name: grade, input_type: INT64}, {input_name: query, input_type: "
                      "INT64}, "
                    : "");
}

/* Refuses what crank's layer does not do. */
static void want_text(cr_pd *p, const char *key, const char *only) {
    const char *s = cr_pd_str(p, p->hyper, key, false);
    if (s && strcmp(s, only) != 0)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, key), "%s is '%.40s'; crank has %s only", key, s,
                    only);
}

/* The two numbers of a list. */
static void two_of(cr_pd *p, const char *key, long long out[2]) {
    int64_t n;
    (void)cr_pd_widths(p, p->hyper, key, &n);
    const cr_conf_node *v = cr_pd_get(p, p->hyper, key);
    out[0] = out[1] = 1;
    if (n != 2) {
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, key), "%s is two numbers, lines and columns", key);
        return;
    }
    for (int i = 0; i < 2; i++)
        out[i] = atoll(v->v[i].val->text);
}

void cr_pd_match_pyramid(cr_pd *p) {
    int64_t words = cr_pd_int(p, p->hyper, "vocab_size", CR_PD_REQUIRED, 2, MAX_ROWS);
    int64_t dim = cr_pd_int(p, p->hyper, "emb_size", CR_PD_REQUIRED, 1, 65536);
    long long left = (long long)cr_pd_int(p, p->hyper, "sentence_left_size", 20, 1, 10000);
    long long right = (long long)cr_pd_int(p, p->hyper, "sentence_right_size", 500, 1, 10000);
    long long filters = (long long)cr_pd_int(p, p->hyper, "kernel_num", CR_PD_REQUIRED, 1, 65536);
    long long hidden = (long long)cr_pd_int(p, p->hyper, "hidden_size", CR_PD_REQUIRED, 1, 65536);
    long long kernel[2], pool[2], stride[2];
    two_of(p, "conv_filter", kernel);
    two_of(p, "pool_size", pool);
    two_of(p, "pool_stride", stride);
    if (pool[0] != stride[0] || pool[1] != stride[1])
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "pool_stride"),
                    "pool_stride differs from pool_size; windows do not overlap here");
    want_text(p, "pool_type", "max");
    want_text(p, "pool_padding", "VALID");
    want_text(p, "conv_act", "relu");
    want_text(p, "hidden_act", "relu");
    static const char *const ones[] = {"channels", "out_size"};
    for (int i = 0; i < 2; i++)
        if (cr_pd_int(p, p->hyper, ones[i], 1, 1, 65536) != 1)
            cr_pd_wrong(p, cr_pd_at(p, p->hyper, ones[i]), "%s must be 1", ones[i]);
    const char *vectors = cr_pd_str(p, p->hyper, "emb_path", false);
    if (vectors && cr_path_exists(vectors))
        cr_pd_warn(p, cr_pd_at(p, p->hyper, "emb_path"),
                   "the vectors of words in '%s' are not read; they begin at random", vectors);
    bool alone = cr_pd_alone(p);
    if (!alone && p->batch % 2 != 0)
        cr_pd_wrong(p, cr_pd_at(p, p->dataset, p->old ? "batch_size" : "train_batch_size"),
                    "the first half of a batch are right texts and the second half wrong ones, so "
                    "%lld rows are no batch; use an even number",
                    (long long)p->batch);
    if (alone)
        cr_pd_feature(p, p->data_at,
                      "id_feature: {feature_name: query, num_buckets: 2000000000, embedding_dim: "
                      "1}");
    static const char *const names[] = {"left", "right"};
    for (int i = 0; i < 2; i++)
        cr_pd_feature(p, p->data_at,
                      "sequence_id_feature: {feature_name: %s, sequence_length: %lld, num_buckets: "
                      "%lld, embedding_dim: %lld, embedding_name: word_embedding, init_fn: "
                      "nn.init.xavier_%s_}",
                      names[i], i ? right : left, (long long)words, (long long)dim,
                      p->old ? "uniform" : "normal");
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: left, group_type: SEQUENCE, "
              "feature_names: [left]}, {group_name: right, group_type: SEQUENCE, feature_names: "
              "[right]}], backbone: {blocks: [{name: left, inputs: [{feature_group_name: left}], "
              "unroll: {steps: %lld}}, {name: right, inputs: [{feature_group_name: right}], "
              "unroll: {steps: %lld}}, {name: alike, inputs: [{block_name: left}, {block_name: "
              "right}], similarity: {}}, {name: picture, inputs: [{block_name: alike}], conv: "
              "{height: %lld, filters: %lld, kernel_height: %lld, kernel_width: %lld, padding: "
              "SAME, pool_height: %lld, pool_width: %lld}}, {name: deep, inputs: [{block_name: "
              "picture}], mlp: {hidden_units: [%lld]}}]}, losses: [%s}",
              left, right, left, filters, kernel[0], kernel[1], pool[0], pool[1], hidden,
              alone ? "{binary_cross_entropy: {}}], metrics: [{grouped_auc: {grouping_key: query}}]"
                    : "{pairwise_loss: {kind: HINGE, margin: 1, halves: true}}]");
}

/* ---- movie_recommand ---- */

#define USER_SLOTS  "userid", "gender", "age", "occupation"
#define MOVIE_SLOTS "movieid", "title", "genres"
static const char *const movie_slots[] = {USER_SLOTS, MOVIE_SLOTS};

/* Slots of a rating, which is the last one and not the first. */
void cr_pd_movies(cr_pd *p) {
    cr_buf b;
    cr_buf_init(&b);
    p->ids = CR_NEW_N(&p->doc->arena, const char *, 7);
    memcpy((void *)(uintptr_t)p->ids, movie_slots, sizeof movie_slots);
    p->n_ids = 7;
    for (int i = 0; i < 7; i++)
        cr_buf_printf(&b, "{input_name: %s, input_type: ARRAY_INT64}, ", movie_slots[i]);
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "input_fields: [%s{input_name: label, input_type: FLOAT}]}",
              b.data);
    cr_buf_clear(&b);
}

/* A rating is five times a sigmoid (rank) or a cosine (recall). */
static void movie(cr_pd *p, const char *blocks) {
    cr_pd_sizes s = cr_pd_table(p, true);
    static const char *const user[] = {USER_SLOTS}, *const film[] = {MOVIE_SLOTS};
    cr_pd_idle(p, p->hyper, "dense_input_dim");
    cr_pd_id_features(p, s.rows, s.dim, s.init, false);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: user, feature_names: [%s]}, "
              "{group_name: movie, feature_names: [%s]}], backbone: {blocks: [%s]}, losses: "
              "[{l2_loss: {}}], metrics: [{mean_absolute_error: {}}], train_metrics: "
              "[{mean_absolute_error: {}, since_epoch: true}]}",
              cr_pd_names(p, user, 4), cr_pd_names(p, film, 3), blocks);
}

void cr_pd_movie_rank(cr_pd *p) {
    int64_t n;
    movie(p, cr_arena_printf(&p->doc->arena,
                             "{name: deep, inputs: [{feature_group_name: user}, "
                             "{feature_group_name: movie}], mlp: {hidden_units: %s}}, {name: one, "
                             "inputs: [{block_name: deep}], linear: {units: 1}}, {name: share, "
                             "inputs: [{block_name: one}], activation: {function: nn.Sigmoid}}, "
                             "{name: score, inputs: [{block_name: share}], add: {weights: [5]}}",
                             cr_pd_widths(p, p->hyper, "fc_sizes", &n)));
}

void cr_pd_movie_recall(cr_pd *p) {
    int64_t n;
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &n);
    movie(p, cr_arena_printf(&p->doc->arena,
                             "{name: user, inputs: [{feature_group_name: user}], mlp: "
                             "{hidden_units: %s}}, {name: movie, inputs: [{feature_group_name: "
                             "movie}], mlp: {hidden_units: %s}}, {name: score, inputs: "
                             "[{block_name: user}, {block_name: movie}], similarity: {kind: "
                             "COSINE, scale: 5}}",
                             fc, fc));
}
