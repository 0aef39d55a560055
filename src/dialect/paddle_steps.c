/*
 * paddle_steps.c - PaddleRec's models over histories and texts: bst, dien, gru4rec, ssr, textcnn,
 * tagspace, look_alike_recall.
 */
#include <stdio.h>
#include <string.h>

#include "dialect/paddle_int.h"

#define MAX_ROWS CR_PD_MAX_ROWS
#define ACCURACY "metrics: [{accuracy: {}}], train_metrics: [{accuracy: {}, since_epoch: true}]"

static const char xavier[] = "nn.init.xavier_uniform_";

/* Adds a feature over a column of ids: of one, or of a step each. */
static void id_column(cr_pd *p, bool steps, const char *name, int64_t rows, int64_t dim,
                      const char *table, const char *init) {
    cr_pd_feature(p, p->data_at,
                  "%s: {feature_name: %s, %snum_buckets: %lld, embedding_dim: %lld, "
                  "embedding_name: %s, init_fn: \"%s\", fg_encoded_default_value: \"%s\"}",
                  steps ? "sequence_id_feature" : "id_feature", cr_pd_names(p, &name, 1),
                  steps ? "sequence_length: 1000, " : "", (long long)rows, (long long)dim, table,
                  init, steps ? "" : p->padding);
}

/* ---- bst ---- */

void cr_pd_clicks(cr_pd *p) {
    static const char *const ids[] = {"userid", "history",     "cate",           "position",
                                      "target", "target_cate", "target_position"};
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "{input_name: label, input_type: INT64}");
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        cr_buf_printf(&b, ", {input_name: %s, input_type: ARRAY_INT64}", ids[i]);
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "input_fields: [%s]}",
              b.data);
    cr_buf_clear(&b);
}

/* The shares of dropout; crank's layer has one for all places. */
static double one_dropout(cr_pd *p) {
    double a = cr_pd_num(p, p->hyper, "dropout_rate", 0, 0, 0.999);
    double b = cr_pd_num(p, p->hyper, "relu_dropout", a, 0, 0.999);
    double c = cr_pd_num(p, p->hyper, "prepostprocess_dropout", a, 0, 0.999);
    if (a != b || a != c)
        cr_pd_warn(p, cr_pd_at(p, p->hyper, "dropout_rate"),
                   "dropout_rate, relu_dropout and prepostprocess_dropout differ; dropout_rate is "
                   "used in all three places");
    return a;
}

void cr_pd_bst(cr_pd *p) {
    static const char *const names[] = {"item", "cat", "position"};
    static const char *const steps[] = {"history", "cate", "position"};
    static const char *const targets[] = {"target", "target_cate", "target_position"};
    int64_t width = 0, n, heads = cr_pd_int(p, p->hyper, "n_head", CR_PD_REQUIRED, 1, 1024);
    cr_arena *a = &p->doc->arena;
    for (int i = 0; i < 3; i++) {
        int64_t rows = cr_pd_int(p, p->hyper, cr_arena_printf(a, "%s_count", names[i]),
                                 CR_PD_REQUIRED, 1, MAX_ROWS);
        int64_t dim = cr_pd_int(p, p->hyper, cr_arena_printf(a, "%s_emb_size", names[i]),
                                CR_PD_REQUIRED, 1, 65536);
        const char *table = cr_arena_printf(a, "%s_emb", names[i]);
        id_column(p, false, targets[i], rows, dim, table, xavier);
        id_column(p, true, steps[i], rows, dim, table, xavier);
        width += dim;
    }
    int64_t d_model = cr_pd_int(p, p->hyper, "d_model", width, 1, 1048576);
    int64_t key = cr_pd_int(p, p->hyper, "d_key", width / heads, 1, 65536);
    int64_t value = cr_pd_int(p, p->hyper, "d_value", key, 1, 65536);
    if (d_model != width || key * heads != width || value != key)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "d_model"),
                    "d_model is the width of a step, the sum of the three emb_size, %lld, and "
                    "d_key and d_value are that by n_head; make them fit",
                    (long long)width);
    int64_t layers = cr_pd_int(p, p->hyper, "n_encoder_layers", 1, 1, 64);
    int64_t inner = cr_pd_int(p, p->hyper, "d_inner_hid", 4 * width, 1, 1048576);
    double drop = one_dropout(p);
    const char *fc = cr_pd_widths(p, p->hyper, "fc_sizes", &n);
    const char *act = cr_pd_activation(p, "relu");
    static const char *const idle[] = {"postprocess_cmd", "preprocess_cmd"};
    for (int i = 0; i < 2; i++)
        cr_pd_idle(p, p->hyper, idle[i]);
    bool user = !p->old;
    if (user)
        id_column(p, false, "userid",
                  cr_pd_int(p, p->hyper, "user_count", CR_PD_REQUIRED, 1, MAX_ROWS), width,
                  "user_emb", xavier);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [%s{group_name: clicks, group_type: SEQUENCE, "
        "feature_names: [target, target_cate, target_position, history, cate, position]}], "
        "backbone: {blocks: [{name: encoder, inputs: [{feature_group_name: clicks}], transformer: "
        "{num_heads: %lld, num_layers: %lld, ff_units: %lld, dropout: %g, norm: %s, activation: "
        "\"%s\"}}, {name: deep, inputs: [{block_name: encoder}%s], mlp: {hidden_units: %s, "
        "activation: %s}}]}, " CR_PD_ONE_SCORE "}",
        user ? "{group_name: user, feature_names: [userid]}, " : "", (long long)heads,
        (long long)layers, (long long)inner, drop,
        !p->o->compat ? "POST"
        : p->old      ? "NONE"
                      : "PRE",
        p->old ? "nn.ReLU" : "nn.LeakyReLU", user ? ", {feature_group_name: user}" : "", fc, act);
}

/* ---- dien ---- */

void cr_pd_histories(cr_pd *p) {
    int64_t items = cr_pd_int(p, p->hyper, "item_count", CR_PD_REQUIRED, 2, MAX_ROWS);
    int64_t cats = cr_pd_int(p, p->hyper, "cat_count", CR_PD_REQUIRED, 2, MAX_ROWS);
    cr_pd_put(
        p, p->data_at,
        "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
        "slot_text: {form: LISTS, separator: \";\", list_separator: \" \", made: [{name: "
        "other_items, as_many_as: items, first: 1, last: %lld}, {name: other_cats, as_many_as: "
        "cats, first: 1, last: %lld}]}, input_fields: [{input_name: items, input_type: "
        "ARRAY_INT64}, {input_name: cats, input_type: ARRAY_INT64}, {input_name: item, input_type: "
        "INT64}, {input_name: cat, input_type: INT64}, {input_name: label, input_type: FLOAT}, "
        "{input_name: other_items, input_type: ARRAY_INT64}, {input_name: other_cats, input_type: "
        "ARRAY_INT64}]}",
        (long long)items - 1, (long long)cats - 1);
}

void cr_pd_dien(cr_pd *p) {
    int64_t items = cr_pd_int(p, p->hyper, "item_count", CR_PD_REQUIRED, 2, MAX_ROWS);
    int64_t cats = cr_pd_int(p, p->hyper, "cat_count", CR_PD_REQUIRED, 2, MAX_ROWS);
    int64_t item = cr_pd_int(p, p->hyper, "item_emb_size", CR_PD_REQUIRED, 1, 65536);
    int64_t cat = cr_pd_int(p, p->hyper, "cat_emb_size", CR_PD_REQUIRED, 1, 65536);
    const char *act = cr_pd_activation(p, "sigmoid");
    id_column(p, false, "item", items, item, "item_emb", xavier);
    id_column(p, false, "cat", cats, cat, "cat_emb", xavier);
    id_column(p, true, "items", items, item, "item_emb", xavier);
    id_column(p, true, "cats", cats, cat, "cat_emb", xavier);
    id_column(p, true, "other_items", items, item, "item_emb", xavier);
    id_column(p, true, "other_cats", cats, cat, "cat_emb", xavier);
    long long w = (long long)(item + cat);
    /* as shipped: one more GRU below, and the attention scales the inputs */
    const char *below =
        p->o->compat ? cr_arena_printf(&p->doc->arena,
                                       "{name: states, inputs: [{block_name: clicks}], gru: "
                                       "{hidden_size: %lld, output: STEPS, reset_before: true}}, ",
                                       w)
                     : "";
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: bias, group_type: WIDE, feature_names: "
        "[item]}, {group_name: history, group_type: SEQUENCE, feature_names: [item, cat, items, "
        "cats, other_items, other_cats]}], backbone: {wide_embedding_dim: 1, wide_init_fn: "
        "nn.init.zeros_, blocks: [{name: target, inputs: [{feature_group_name: history}], query: "
        "{}}, {name: clicks, inputs: [{feature_group_name: history}], slice: {begin: 0, width: "
        "%lld}}, {name: others, "
        "inputs: [{feature_group_name: history}], slice: {begin: %lld, width: %lld}}, %s{name: "
        "interest, inputs: [{block_name: %s}, {block_name: others}], dien: {attn_mlp: "
        "{hidden_units: [80, 40], activation: %s}, evolution: %s, reset_before: true}}, {name: "
        "deep, inputs: [{block_name: interest}, {block_name: target}], mlp: "
        "{hidden_units: [80, 40], activation: %s}}, {name: top, inputs: [{block_name: deep}], "
        "linear: {units: 1}}, {name: score, inputs: [{block_name: top}, {feature_group_name: "
        "bias}], add: {}}]}, " CR_PD_ONE_SCORE "}",
        w, w, w, below, p->o->compat ? "states" : "clicks", act, p->o->compat ? "AIGRU" : "AUGRU",
        act);
}

/* ---- sessions ---- */

static void session(cr_pd *p, const char *form, const char *made, const char *more) {
    p->sessions = true;
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [%s], "
              "slot_text: {form: %s%s}, input_fields: [{input_name: history, input_type: "
              "ARRAY_INT64}, {input_name: next, input_type: INT64}%s]}",
              *made ? "label" : "next", form, made, more);
}

void cr_pd_sessions(cr_pd *p) {
    session(p, "NEXT", "", "");
}

void cr_pd_last_item(cr_pd *p) {
    int64_t items = cr_pd_int(p, p->hyper, "vocab_size", CR_PD_REQUIRED, 2, MAX_ROWS);
    session(p, "LAST",
            cr_arena_printf(&p->doc->arena,
                            ", made: [{name: other, count: 1, first: 0, last: %lld, other_than: "
                            "next}, {name: label, value: \"0\"}]",
                            (long long)items - 1),
            ", {input_name: other, input_type: ARRAY_INT64}, {input_name: label, input_type: "
            "INT64}");
}

void cr_pd_gru4rec(cr_pd *p) {
    int64_t items = cr_pd_int(p, p->hyper, "vocab_size", CR_PD_REQUIRED, 2, 65536);
    int64_t hid = cr_pd_int(p, p->hyper, "hid_size", CR_PD_REQUIRED, 1, 65536);
    int64_t k = cr_pd_int(p, p->hyper, "recall_k", 20, 1, 65536);
    double lo = cr_pd_num(p, p->hyper, "init_low_bound", -0.04, -100, 100);
    double hi = cr_pd_num(p, p->hyper, "init_high_bound", 0.04, -100, 100);
    static const char *const rates[] = {"emb_lr_x", "gru_lr_x", "fc_lr_x"};
    for (int i = 0; i < 3; i++)
        if (cr_pd_num(p, p->hyper, rates[i], 1, 0, 1e6) != 1)
            cr_pd_note(p, cr_pd_at(p, p->hyper, rates[i]),
                       "%s is a factor of the learning rate of one layer, which has no effect here",
                       rates[i]);
    id_column(p, true, "history", items, hid, "item_emb",
              cr_arena_printf(&p->doc->arena, "nn.init.uniform_,a=%g,b=%g", lo, hi));
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: session, group_type: SEQUENCE, "
              "feature_names: [history]}], num_class: %lld, backbone: {blocks: [{name: state, "
              "inputs: [{feature_group_name: session}], gru: {hidden_size: %lld, reset_before: "
              "true}}]}, losses: [{softmax_cross_entropy: {}}], metrics: [{accuracy: {top_k: "
              "%lld}}], train_metrics: [{accuracy: {top_k: %lld}, since_epoch: true}]}",
              (long long)items, (long long)hid, (long long)k, (long long)k);
}

void cr_pd_ssr(cr_pd *p) {
    int64_t items = cr_pd_int(p, p->hyper, "vocab_size", CR_PD_REQUIRED, 2, MAX_ROWS);
    int64_t dim = cr_pd_int(p, p->hyper, "emb_dim", CR_PD_REQUIRED, 1, 65536);
    long long hid = (long long)cr_pd_int(p, p->hyper, "hidden_size", CR_PD_REQUIRED, 1, 65536);
    id_column(p, true, "history", items, dim, "item_emb", xavier);
    id_column(p, false, "next", items, dim, "item_emb", xavier);
    id_column(p, false, "other", items, dim, "item_emb", xavier);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: session, group_type: SEQUENCE, "
              "feature_names: [history]}, {group_name: good, feature_names: [next]}, {group_name: "
              "bad, feature_names: [other]}], num_class: 2, backbone: {blocks: [{name: states, "
              "inputs: [{feature_group_name: session}], gru: {hidden_size: %lld, output: STEPS, "
              "reset_before: true}}, {name: most, inputs: [{block_name: states}], pooling: "
              "{pooling_type: max}}, {name: user, inputs: [{block_name: most}], linear: {units: "
              "%lld}}, {name: good, inputs: [{feature_group_name: good}], linear: {units: %lld}}, "
              "{name: bad, inputs: [{feature_group_name: bad}], weights_of: good}, {name: scores, "
              "inputs: [{block_name: user}, {block_name: good}, {block_name: bad}], similarity: "
              "{kind: COSINE}}]}, losses: [{multi_margin_loss: {margin: 0.8}}], " ACCURACY "}",
              (long long)dim, hid, hid);
}

/* ---- texts ---- */

void cr_pd_words(cr_pd *p) {
    int64_t n = cr_pd_int(p, p->hyper, "max_len", 100, 1, 100000);
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: FIXED, widths: [%lld, 1, 1]}, input_fields: [{input_name: words, "
              "input_type: ARRAY_INT64}, {input_name: seq_len, input_type: INT64}, {input_name: "
              "label, input_type: INT64}]}",
              (long long)n);
}

/* The sizes of textcnn_pretrain stand in its Python file; a config may give others. */
void cr_pd_textcnn(cr_pd *p) {
    bool sized = strcmp(p->model->name, "textcnn_pretrain") == 0;
    int64_t words =
        cr_pd_int(p, p->hyper, "dict_dim", sized ? 2000001 : CR_PD_REQUIRED, 2, MAX_ROWS);
    int64_t dim = cr_pd_int(p, p->hyper, "emb_dim", sized ? 128 : CR_PD_REQUIRED, 1, 65536);
    int64_t filters = cr_pd_int(p, p->hyper, "cnn_dim", sized ? 128 : CR_PD_REQUIRED, 1, 65536);
    int64_t hid = cr_pd_int(p, p->hyper, "hid_dim", sized ? 96 : CR_PD_REQUIRED, 1, 65536);
    int64_t classes = cr_pd_int(p, p->hyper, "class_dim", 2, 2, 65536);
    id_column(p, true, "words", words, dim, "word_emb", xavier);
    cr_buf b;
    cr_buf_init(&b);
    for (int i = 1; i <= 3; i++) {
        char key[32];
        int n = snprintf(key, sizeof key, "cnn_filter_size%d", i);
        (void)n;
        int64_t width = cr_pd_int(p, p->hyper, key, i, 1, 1024);
        cr_buf_printf(&b,
                      "{name: conv%d, inputs: [{feature_group_name: text}], seq_conv: {filters: "
                      "%lld, width: %lld}}, {name: act%d, inputs: [{block_name: conv%d}], "
                      "activation: {function: nn.Tanh}}, {name: most%d, inputs: [{block_name: "
                      "act%d}], pooling: {pooling_type: max}}, ",
                      i, (long long)filters, (long long)width, i, i, i, i);
    }
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: text, group_type: SEQUENCE, "
              "feature_names: [words]}], num_class: %lld, backbone: {blocks: [%s{name: deep, "
              "inputs: [{block_name: most1}, {block_name: most2}, {block_name: most3}], mlp: "
              "{hidden_units: [%lld], activation: nn.Tanh}}]}, losses: [{softmax_cross_entropy: "
              "{}}], " ACCURACY "}",
              (long long)classes, b.data, (long long)hid);
    cr_buf_clear(&b);
}

/* All tags are constants, so that a text is compared with each. */
void cr_pd_tagged(cr_pd *p) {
    int64_t tags = cr_pd_int(p, p->hyper, "vocab_tag_size", CR_PD_REQUIRED, 2, 1000);
    cr_buf made, columns;
    cr_buf_init(&made);
    cr_buf_init(&columns);
    for (int i = 0; i < (int)tags; i++) {
        cr_buf_printf(&made, "%s{name: tag_%d, value: \"%d\"}", i ? ", " : "", i, i);
        cr_buf_printf(&columns, ", {input_name: tag_%d, input_type: INT64}", i);
    }
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [tag], "
              "slot_text: {form: LISTS, separator: \",\", list_separator: \" \", made: [%s]}, "
              "input_fields: [{input_name: tag, input_type: INT64}, {input_name: words, "
              "input_type: ARRAY_INT64}%s]}",
              made.data, columns.data);
    cr_buf_clear(&made);
    cr_buf_clear(&columns);
}

void cr_pd_tagspace(cr_pd *p) {
    int64_t words = cr_pd_int(p, p->hyper, "vocab_text_size", CR_PD_REQUIRED, 2, MAX_ROWS);
    int64_t tags = cr_pd_int(p, p->hyper, "vocab_tag_size", CR_PD_REQUIRED, 2, 1000);
    int64_t dim = cr_pd_int(p, p->hyper, "emb_dim", CR_PD_REQUIRED, 1, 65536);
    int64_t hid = cr_pd_int(p, p->hyper, "hid_dim", CR_PD_REQUIRED, 1, 65536);
    int64_t width = cr_pd_int(p, p->hyper, "win_size", 5, 1, 1024);
    double margin = cr_pd_num(p, p->hyper, "margin", 0.1, 0, 1e6);
    static const char *const idle[] = {"neg_size", "num_devices", "text_len"};
    for (int i = 0; i < 3; i++)
        cr_pd_idle(p, p->hyper, idle[i]);
    id_column(p, true, "words", words, dim, "word_emb", xavier);
    cr_buf names;
    cr_buf_init(&names);
    for (int i = 0; i < (int)tags; i++) {
        const char *name = cr_arena_printf(&p->doc->arena, "tag_%d", i);
        id_column(p, false, name, tags, dim, "tag_emb", xavier);
        cr_buf_printf(&names, "%s%s", i ? ", " : "", name);
    }
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: text, group_type: SEQUENCE, "
              "feature_names: [words]}, {group_name: tags, feature_names: [%s]}], num_class: %lld, "
              "backbone: {blocks: [{name: conv, inputs: [{feature_group_name: text}], seq_conv: "
              "{filters: %lld, width: %lld}}, {name: act, inputs: [{block_name: conv}], "
              "activation: {function: nn.Tanh}}, {name: most, inputs: [{block_name: act}], "
              "pooling: {pooling_type: max}}, {name: text, inputs: [{block_name: most}], linear: "
              "{units: %lld}}, {name: scores, inputs: [{block_name: text}, {feature_group_name: "
              "tags}], similarity: {kind: COSINE}}]}, losses: [{multi_margin_loss: {margin: %g, "
              "hardest: true}}], " ACCURACY "}",
              names.data, (long long)tags, (long long)hid, (long long)width, (long long)dim,
              margin);
    cr_buf_clear(&names);
}

/* ---- look_alike_recall ---- */

void cr_pd_seeds(cr_pd *p) {
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "input_fields: [{input_name: label, input_type: INT64}, {input_name: user_seeds, "
              "input_type: ARRAY_INT64}, {input_name: target_user, input_type: ARRAY_INT64}]}");
}

/* Seeds that attend to the target (local) and to each other (global), against the target. */
void cr_pd_look_alike(cr_pd *p) {
    int64_t users = cr_pd_int(p, p->hyper, "user_count", CR_PD_REQUIRED, 2, MAX_ROWS);
    int64_t dim = cr_pd_int(p, p->hyper, "user_emb_size", CR_PD_REQUIRED, 1, 65536);
    long long width =
        (long long)cr_pd_int(p, p->hyper, "transformed_size", CR_PD_REQUIRED, 1, 65536);
    static const char *const idle[] = {"seeds_num", "use_DataLoader"};
    for (int i = 0; i < 2; i++)
        cr_pd_idle(p, p->hyper, idle[i]);
    id_column(p, true, "user_seeds", users, dim, "user_emb", xavier);
    id_column(p, false, "target_user", users, dim, "user_emb", xavier);
    /* as shipped: matrices between seeds and target, and between seeds; and the cosine itself is
     * the probability */
    const char *attention = cr_arena_printf(
        &p->doc->arena,
        p->o->compat
            ? "{name: asked, inputs: [{block_name: target}], linear: {units: %lld, bias: false}}, "
              "{name: local, inputs: [{block_name: seeds}, {block_name: asked}], "
              "simple_attention: {tanh: true}}, {name: turned, inputs: [{block_name: seeds}], "
              "linear: {units: %lld, bias: false}}, {name: asking, inputs: [{block_name: turned}], "
              "activation: {function: nn.Tanh}}, {name: each, inputs: [{block_name: asking}, "
              "{block_name: seeds}], step_attention: {}}, {name: global, inputs: [{block_name: "
              "each}], pooling: {pooling_type: sum}}"
            : "{name: local, inputs: [{block_name: seeds}, {block_name: target}], "
              "simple_attention: {}}, {name: global, inputs: [{block_name: seeds}], "
              "self_attention: {multihead_attn_dim: %lld, num_heads: 1}}",
        width, width);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: seeds, group_type: SEQUENCE, "
              "feature_names: [user_seeds]}, {group_name: target, feature_names: [target_user]}], "
              "backbone: {blocks: [{name: target, inputs: [{feature_group_name: target}], linear: "
              "{units: %lld, bias: false}}, {name: seeds, inputs: [{feature_group_name: seeds}], "
              "linear: {units: %lld, bias: false}}, %s, {name: tower, inputs: [{block_name: "
              "local}, {block_name: global}], add: {}}, {name: alike, inputs: [{block_name: "
              "tower}, {block_name: target}], similarity: {kind: COSINE}}%s",
              width, width, attention,
              p->o->compat
                  ? "]}, losses: [{log_loss: {}}], metrics: [{auc: {}}], train_metrics: [{auc: "
                    "{}, since_epoch: true}]}"
                  : ", {name: score, inputs: [{block_name: alike}], linear: {units: "
                    "1}}]}, " CR_PD_ONE_SCORE "}");
}
