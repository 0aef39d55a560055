/*
 * paddle_match.c - PaddleRec's models that compare a query with documents, or a word with others:
 * dssm, multiview_simnet, word2vec, mind, and youtube_dnn's classifier.
 *
 * Their data has no label: the first document is the right one. So the label is a constant, 0, the
 * number of the right score. Evaluation has no wrong documents; it then gives one score, and its
 * label is the constant 1.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "dialect/paddle_int.h"

#define MAX_ROWS CR_PD_MAX_ROWS
#define ACCURACY "metrics: [{accuracy: {}}], train_metrics: [{accuracy: {}, since_epoch: true}]"

/* The names neg_1, neg_2, ... with a text before and behind each. */
static const char *negatives(cr_pd *p, int64_t n, const char *before, const char *behind) {
    const char *out = "";
    for (int64_t i = 0; i < n; i++)
        out = cr_arena_printf(&p->doc->arena, "%s%sneg_%lld%s", out, before, (long long)i + 1,
                              behind);
    return out;
}

/* ---- youtube_dnn ---- */

void cr_pd_vectors(cr_pd *p) {
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \";\"}, input_fields: [{input_name: watch_vec, "
              "input_type: ARRAY_FLOAT}, {input_name: search_vec, input_type: ARRAY_FLOAT}, "
              "{input_name: other_feat, input_type: ARRAY_FLOAT}, {input_name: label, input_type: "
              "INT64}]}");
}

void cr_pd_youtube_dnn(cr_pd *p) {
    static const char *const names[] = {"watch_vec", "search_vec", "other_feat"};
    int64_t n, classes = cr_pd_int(p, p->hyper, "output_size", CR_PD_REQUIRED, 2, 65536);
    const char *fc = cr_pd_widths(p, p->hyper, "layers", &n);
    for (int i = 0; i < 3; i++)
        cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: %s, value_dim: %lld}", names[i],
                      (long long)cr_pd_int(p, p->hyper,
                                           cr_arena_printf(&p->doc->arena, "%s_size", names[i]),
                                           CR_PD_REQUIRED, 1, 1000000));
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [watch_vec, "
              "search_vec, other_feat]}], num_class: %lld, backbone: {blocks: [{name: deep, "
              "inputs: [{feature_group_name: all}], mlp: {hidden_units: %s}}]}, losses: "
              "[{softmax_cross_entropy: {}}], " ACCURACY "}",
              (long long)classes, fc);
}

/* ---- dssm ---- */

bool cr_pd_alone(const cr_pd *p) {
    return p->old ? cr_pd_infers(cr_conf_find_text(p->runner.map, "class"))
                  : p->o->part == CR_DIALECT_INFER;
}

void cr_pd_documents(cr_pd *p) {
    int64_t n = cr_pd_int(p, p->hyper, "neg_num", CR_PD_REQUIRED, 1, 1000);
    p->apart = true;
    if (cr_pd_alone(p)) n = 0;
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \"\\t\", made: [{name: label, value: "
              "\"%d\"}]}, input_fields: [{input_name: query, input_type: ARRAY_FLOAT}, "
              "{input_name: doc_pos, input_type: ARRAY_FLOAT}, %s{input_name: label, input_type: "
              "INT64}]}",
              n ? 0 : 1, negatives(p, n, "{input_name: ", ", input_type: ARRAY_FLOAT}, "));
}

/* The activation of all layers of a tower: the list fc_acts, of one word. */
static const char *tower_act(cr_pd *p) {
    const cr_conf_node *v = cr_pd_get(p, p->hyper, "fc_acts");
    const char *act = "relu";
    for (size_t i = 0; v && v->kind == CR_NODE_LIST && i < v->n; i++) {
        const char *one = v->v[i].val->text ? v->v[i].val->text : "";
        if (i > 0 && strcmp(one, act) != 0)
            cr_pd_wrong(p, v->v[i].val->at,
                        "fc_acts: the layers of a tower have one activation here; use the same "
                        "word for all");
        act = one;
    }
    if (strcmp(act, "tanh") == 0) return "nn.Tanh";
    if (strcmp(act, "sigmoid") == 0) return "nn.Sigmoid";
    if (strcmp(act, "relu") != 0)
        cr_pd_wrong(p, v ? v->at : p->model_at, "fc_acts: '%.40s' is not relu, tanh or sigmoid",
                    act);
    return "nn.ReLU";
}

/* Groups query, doc_pos and neg_i that go through towers, one for queries and one for documents. */
static void two_towers(cr_pd *p, int64_t n, const char *groups, const char *query, const char *doc,
                       const char *loss) {
    cr_buf b;
    bool all = !cr_pd_alone(p);
    cr_buf_init(&b);
    cr_buf_printf(&b, "%s, %s", query, doc);
    for (long long i = 1; all && i <= (long long)n; i++) {
        /* as shipped, in the old kind: a tower for each document, with weights of its own */
        if (p->o->compat && p->old)
            cr_buf_printf(&b, ", {name: neg_%lld, inputs: [{feature_group_name: neg_%lld}], %s", i,
                          i, strstr(doc, "mlp:"));
        else
            cr_buf_printf(&b,
                          ", {name: neg_%lld, inputs: [{feature_group_name: neg_%lld}], "
                          "weights_of: doc}",
                          i, i);
    }
    cr_buf_printf(&b,
                  ", {name: scores, inputs: [{block_name: query}, {block_name: doc}%s], "
                  "similarity: {kind: COSINE}}",
                  all ? negatives(p, n, ", {block_name: ", "}") : "");
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [%s], num_class: %lld, backbone: {blocks: [%s]}, %s}",
              groups, all ? (long long)n + 1 : 1, b.data,
              all ? loss : "losses: [{l2_loss: {}}], metrics: [{mean_absolute_error: {}}]");
    cr_buf_clear(&b);
}

void cr_pd_dssm(cr_pd *p) {
    int64_t width = cr_pd_int(p, p->hyper, "trigram_d", CR_PD_REQUIRED, 1, 1000000), m;
    int64_t n = cr_pd_int(p, p->hyper, "neg_num", CR_PD_REQUIRED, 1, 1000);
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &m), *act = tower_act(p);
    cr_arena *a = &p->doc->arena;
    cr_pd_idle(p, p->hyper, "slice_end");
    int64_t shown = cr_pd_alone(p) ? 0 : n;
    const char *groups = "{group_name: query, feature_names: [query]}, {group_name: doc_pos, "
                         "feature_names: [doc_pos]}";
    cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: query, value_dim: %lld}",
                  (long long)width);
    cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: doc_pos, value_dim: %lld}",
                  (long long)width);
    for (long long i = 1; i <= (long long)shown; i++) {
        cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: neg_%lld, value_dim: %lld}", i,
                      (long long)width);
        groups = cr_arena_printf(a, "%s, {group_name: neg_%lld, feature_names: [neg_%lld]}", groups,
                                 i, i);
    }
    static const char tower[] = "{name: %s, inputs: [{feature_group_name: %s}], mlp: "
                                "{hidden_units: %s, activation: %s}}";
    two_towers(p, n, groups, cr_arena_printf(a, tower, "query", "query", fc, act),
               cr_arena_printf(a, tower, "doc", "doc_pos", fc, act),
               "losses: [{softmax_cross_entropy: {}}], " ACCURACY);
}

/* ---- multiview_simnet ---- */

void cr_pd_titles(cr_pd *p) {
    bool one = cr_pd_alone(p);
    p->apart = true;
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {made: [{name: label, value: \"%d\"}]}, input_fields: [{input_name: "
              "\"0\", input_type: ARRAY_INT64}, {input_name: \"1\", input_type: ARRAY_INT64}, "
              "%s{input_name: label, input_type: INT64}]}",
              one ? 1 : 0, one ? "" : "{input_name: \"2\", input_type: ARRAY_INT64}, ");
}

/* The blocks that make a vector of a text: bow, cnn or gru, and a layer. shared: those of `doc`. */
static const char *text_tower(cr_pd *p, const char *name, const char *group, const char *key,
                              int64_t hid, bool shared) {
    const char *kind = cr_pd_str(p, p->hyper, key, false);
    char size_key[40];
    snprintf(size_key, sizeof size_key, "%.5s_encode_dim", key);
    long long dim = (long long)cr_pd_int(p, p->hyper, size_key, 128, 1, 65536);
    cr_arena *a = &p->doc->arena;
    const char *steps, *pool = "last";
    const char *enc = shared ? "weights_of: doc_steps" : NULL;
    if (kind && strcmp(kind, "bow") == 0) {
        return cr_arena_printf(a,
                               "{name: %s_sum, inputs: [{feature_group_name: %s}], pooling: "
                               "{pooling_type: sum}}, {name: %s, inputs: [{block_name: %s_sum}], "
                               "%s}",
                               name, group, name, name,
                               shared ? "weights_of: doc"
                                      : cr_arena_printf(a, "mlp: {hidden_units: [%lld]}",
                                                        (long long)hid));
    }
    if (kind && strcmp(kind, "cnn") == 0) {
        steps = cr_arena_printf(a, "seq_conv: {filters: %lld, width: 3}", dim);
        pool = "max";
    } else {
        steps =
            cr_arena_printf(a, "gru: {hidden_size: %lld, output: STEPS, reset_before: true}", dim);
        if (kind && strcmp(kind, "gru") != 0)
            cr_pd_wrong(p, cr_pd_at(p, p->hyper, key), "%s is '%.40s' and must be bow, cnn or gru",
                        key, kind);
    }
    return cr_arena_printf(
        a,
        "{name: %s_steps, inputs: [{feature_group_name: %s}], %s}, {name: %s_end, inputs: "
        "[{block_name: %s_steps}], pooling: {pooling_type: %s}}, {name: %s, inputs: [{block_name: "
        "%s_end}], %s}",
        name, group, enc ? enc : steps, name, name, pool, name, name,
        shared ? "weights_of: doc"
               : cr_arena_printf(a, "mlp: {hidden_units: [%lld]}", (long long)hid));
}

void cr_pd_simnet(cr_pd *p) {
    int64_t words = cr_pd_int(p, p->hyper, "sparse_feature_dim", CR_PD_REQUIRED, 2, MAX_ROWS);
    int64_t dim = cr_pd_int(p, p->hyper, "embedding_dim", CR_PD_REQUIRED, 1, 65536);
    int64_t hid = cr_pd_int(p, p->hyper, "hidden_size", CR_PD_REQUIRED, 1, 65536);
    double margin = cr_pd_num(p, p->hyper, "margin", 0.1, 0, 1e6);
    static const char *const idle[] = {"query_len", "pos_len", "neg_len"};
    static const char *const slots[] = {"0", "1", "2"};
    cr_arena *a = &p->doc->arena;
    for (int i = 0; i < 3; i++) {
        cr_pd_idle(p, p->hyper, idle[i]);
        if (i < 2 || !cr_pd_alone(p))
            cr_pd_feature(p, p->data_at,
                          "sequence_id_feature: {feature_name: %s, sequence_length: 1000, "
                          "num_buckets: %lld, embedding_dim: %lld, embedding_name: emb, init_fn: "
                          "nn.init.xavier_uniform_}",
                          cr_pd_names(p, &slots[i], 1), (long long)words, (long long)dim);
    }
#define SEQ(name, slot)                                                                            \
    "{group_name: " name ", group_type: SEQUENCE, feature_names: [\"" slot "\"]}"
    const char *query = text_tower(p, "query", "query", "query_encoder", hid, false);
    const char *doc = text_tower(p, "doc", "doc_pos", "title_encoder", hid, false);
    const char *neg = text_tower(p, "neg", "doc_neg", "title_encoder", hid, true);
    bool all = !cr_pd_alone(p);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [" SEQ("query", "0") ", " SEQ(
                  "doc_pos",
                  "1") "%s], "
                       "num_class: %d, backbone: {blocks: [%s, %s%s%s, {name: scores, inputs: "
                       "[{block_name: "
                       "query}, {block_name: doc}%s], similarity: {kind: COSINE}}]}, %s}",
              all ? ", " SEQ("doc_neg", "2") : "", all ? 2 : 1, query, doc, all ? ", " : "",
              all ? neg : "", all ? ", {block_name: neg}" : "",
              all ? cr_arena_printf(a, "losses: [{multi_margin_loss: {margin: %g}}], " ACCURACY,
                                    margin)
                  : "losses: [{l2_loss: {}}], metrics: [{mean_absolute_error: {}}]");
}

/* ---- word2vec ---- */

void cr_pd_skip_gram_and(cr_pd *p, const char *made, const char *fields) {
    int64_t n = cr_pd_int(p, p->hyper, "neg_num", CR_PD_REQUIRED, 1, 1000);
    int64_t window = cr_pd_int(p, p->hyper, "window_size", 5, 1, 1000);
    if (cr_pd_alone(p))
        cr_pd_wrong(p, p->data_at,
                    "the questions of %s (a is to b as c is to ...) need word_id_dict_path; 'crank "
                    "run --infer' asks them",
                    p->model->name);
    const char *path = cr_pd_str(p, p->dataset, "word_count_dict_path", true);
    if (!p->old) path = cr_path_join(&p->doc->arena, cr_path_dir(&p->doc->arena, p->path), path);
    if (cr_pd_bool(p, p->hyper, "with_shuffle_batch", false))
        cr_pd_note(p, cr_pd_at(p, p->hyper, "with_shuffle_batch"),
                   "the other words are drawn by their counts; words of the same batch are not "
                   "taken");
    cr_pd_idle(p, p->dataset, "word_id_dict_path");
    p->sessions = p->apart = true;
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NORMAL, label_fields: [label], "
              "slot_text: {form: WINDOWS, window: %lld, made: [{name: words, count: %lld, sampler: "
              "COUNTS, counts: %s, begin_with: context, other_than: context}, {name: label, value: "
              "\"0\"}%s]}, input_fields: [{input_name: center, input_type: INT64}, {input_name: "
              "context, input_type: INT64}, {input_name: words, input_type: ARRAY_INT64}, "
              "{input_name: label, input_type: INT64}%s]}",
              (long long)window, (long long)n, cr_pd_names(p, &path, 1), made, fields);
}

void cr_pd_skip_gram(cr_pd *p) {
    cr_pd_skip_gram_and(p, "", "");
}

void cr_pd_word2vec(cr_pd *p) {
    int64_t words = cr_pd_int(p, p->hyper, "sparse_feature_number", CR_PD_REQUIRED, 2, MAX_ROWS);
    int64_t dim = cr_pd_int(p, p->hyper, "sparse_feature_dim", CR_PD_REQUIRED, 1, 65536);
    long long n = (long long)cr_pd_int(p, p->hyper, "neg_num", CR_PD_REQUIRED, 1, 1000) + 1;
    cr_pd_feature(p, p->data_at,
                  "id_feature: {feature_name: center, expression: \"user:center\", num_buckets: "
                  "%lld, embedding_dim: %lld, embedding_name: emb, init_fn: "
                  "\"nn.init.uniform_,a=%.9g,b=%.9g\"}",
                  (long long)words, (long long)dim, -0.5 / (double)dim, 0.5 / (double)dim);
    cr_pd_feature(p, p->data_at,
                  "sequence_id_feature: {feature_name: words, expression: \"user:words\", "
                  "sequence_length: %lld, num_buckets: %lld, embedding_dim: %lld, embedding_name: "
                  "emb_w, init_fn: nn.init.zeros_}",
                  n, (long long)words, (long long)dim);
    cr_pd_feature(p, p->data_at,
                  "sequence_id_feature: {feature_name: words_b, expression: \"user:words\", "
                  "sequence_length: %lld, num_buckets: %lld, embedding_dim: 1, embedding_name: "
                  "emb_b, init_fn: nn.init.zeros_}",
                  n, (long long)words);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: center, feature_names: [center]}, "
              "{group_name: words, group_type: SEQUENCE, feature_names: [words]}, {group_name: "
              "biases, group_type: SEQUENCE, feature_names: [words_b]}], num_class: %lld, "
              "backbone: {blocks: [{name: words, inputs: [{feature_group_name: words}], unroll: "
              "{steps: %lld}}, {name: biases, inputs: [{feature_group_name: biases}], unroll: "
              "{steps: %lld}}, {name: center, inputs: [{feature_group_name: center}]}, {name: "
              "alike, inputs: [{block_name: center}, {block_name: words}], similarity: {}}, {name: "
              "scores, inputs: [{block_name: alike}, {block_name: biases}], add: {}}]}, losses: "
              "[{negative_sampling_loss: {}}], " ACCURACY "}",
              n, n, n);
}

/* ---- mind ---- */

/* Training: each item of a user's log from the fifth on is a row, with the items before it. The
 * candidates are this item and drawn ones. Evaluation: lines with slots, and the first of the
 * items to find. */
void cr_pd_interests(cr_pd *p) {
    int64_t items = cr_pd_int(p, p->hyper, "item_count", CR_PD_REQUIRED, 3, MAX_ROWS);
    int64_t n = cr_pd_int(p, p->hyper, "neg_samples", CR_PD_REQUIRED, 1, 65535);
    int64_t most = cr_pd_int(p, p->hyper, "maxlen", 30, 1, 100000);
    bool eval = cr_pd_alone(p);
    p->sessions = p->apart = true;
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NORMAL, label_fields: [label], "
              "slot_text: {%smade: [{name: candidates, count: %lld, first: 1, last: %lld, sampler: "
              "LOG_UNIFORM, begin_with: %s, other_than: %s}, {name: log_counts, log_of: "
              "candidates}, {name: label, value: \"0\"}]}, input_fields: [{input_name: "
              "hist_item, input_type: ARRAY_INT64}, {input_name: %s, input_type: %s}, {input_name: "
              "candidates, input_type: ARRAY_INT64}, {input_name: log_counts, input_type: "
              "ARRAY_FLOAT}, {input_name: label, input_type: INT64}]}",
              eval ? ""
                   : cr_arena_printf(&p->doc->arena,
                                     "form: NEXT, history: hist_item, shortest: 4, longest: %lld, ",
                                     (long long)most),
              (long long)n, (long long)items - 1, eval ? "eval_item" : "next",
              eval ? "eval_item" : "next", eval ? "eval_item" : "next",
              eval ? "ARRAY_INT64" : "INT64");
}

void cr_pd_mind(cr_pd *p) {
    int64_t items = cr_pd_int(p, p->hyper, "item_count", CR_PD_REQUIRED, 3, MAX_ROWS);
    int64_t dim = cr_pd_int(p, p->hyper, "embedding_dim", CR_PD_REQUIRED, 1, 65536);
    int64_t hidden = cr_pd_int(p, p->hyper, "hidden_size", dim, 1, 65536);
    long long n = (long long)cr_pd_int(p, p->hyper, "neg_samples", CR_PD_REQUIRED, 1, 65535) + 1;
    long long most = (long long)cr_pd_int(p, p->hyper, "maxlen", 30, 1, 100000);
    double power = cr_pd_num(p, p->hyper, "pow_p", 1, 0, 64);
    if (hidden != dim)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "hidden_size"),
                    "hidden_size is %lld; an interest is compared with items, so it must be as "
                    "wide as they are, %lld",
                    (long long)hidden, (long long)dim);
    if (power != (double)(int)power)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "pow_p"),
                    "pow_p is %g and must be a whole number: similarities may be below 0", power);
    static const char steps[] = "sequence_id_feature: {feature_name: %s, expression: \"user:%s\", "
                                "sequence_length: %lld, num_buckets: %lld, embedding_dim: %lld, "
                                "embedding_name: item_emb, init_fn: nn.init.xavier_uniform_}";
    cr_pd_feature(p, p->data_at, steps, "clicks", "hist_item", most, (long long)items,
                  (long long)dim);
    cr_pd_feature(p, p->data_at, steps, "items", "candidates", n, (long long)items, (long long)dim);
    cr_pd_feature(p, p->data_at,
                  "raw_feature: {feature_name: log_counts, expression: \"user:log_counts\", "
                  "value_dim: %lld}",
                  n);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: clicks, group_type: SEQUENCE, feature_names: "
        "[clicks]}, {group_name: items, group_type: SEQUENCE, feature_names: [items]}, "
        "{group_name: counts, feature_names: [log_counts]}], num_class: %lld, backbone: {blocks: "
        "[{name: capsules, inputs: [{feature_group_name: clicks}], capsules: {num_interests: 3, "
        "rounds: 3, max_seq_length: %lld, over_steps: %s}}, {name: interests, inputs: "
        "[{block_name: capsules}], field_linear: {units: %lld, relu: true}}, {name: items, inputs: "
        "[{feature_group_name: items}], unroll: {steps: %lld}}, {name: target, inputs: "
        "[{block_name: items}], slice: {begin: 0, width: %lld}}, {name: user, inputs: "
        "[{block_name: interests}, {block_name: target}], label_attention: {power: %d}}, {name: "
        "alike, inputs: [{block_name: user}, {block_name: items}], similarity: {}}, {name: scores, "
        "inputs: [{block_name: alike}, {feature_group_name: counts}], add: {weights: [1, -1]}}]}, "
        "losses: [{softmax_cross_entropy: {}}], metrics: [{accuracy: {top_k: %lld}}], "
        "train_metrics: [{accuracy: {top_k: %lld}, since_epoch: true}]}",
        n, most, p->o->compat ? "true" : "false", (long long)hidden, n, (long long)dim, (int)power,
        n < 50 ? n : 50LL, n < 50 ? n : 50LL);
}
