/*
 * cruise_model.c - the section model: the AutoDis NN of Gandalf becomes a graph of blocks over raw
 * features with an AutoDis embedding of the form GANDALF. n: the normalised slots.
 *
 *   x = [autodis(slots), n, dropout(text vector)]
 *   z = MLP 1024, 512 of x                          _bucket_embedding_bottom
 *   one task:  logit = Linear(128 -> 1) of MLP 256, 128 of z          _classifier_final
 *   two tasks: AITM (Xi et al., 2021) of z                            _aitm_mtl
 *
 * Blocks have the names of Gandalf's modules, so that optimizer.custom_keys finds them. The text
 * encoder is no part of it: its vectors are a column of the data.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dialect/cruise_int.h"
#include "dialect/made_int.h"

#define MAX_SLOTS 100000
#define TEXT_NOTE "the vector of the text is made before; it is read from the column asr"

static const cr_rule model_rules[] = {
    SPENT("type"),
    SPENT("features"),
    SPENT("asr_encoder"),
    SPENT("embedding"),
    SPENT("mtl"),
    SPENT("kwargs"),
    END,
};
static const cr_rule features_rules[] = {
    SPENT("feature_num"),
    SPENT("bucket_num"),
    SPENT("bucket_dim"),
    SPENT("slot_mask"),
    SPENT("layer_conf"),
    IDLE("bucket_output_size", "1024", "the encoder of slots has no layer of this width"),
    IDLE("alpha", "1", "there are no residual blocks that it would act in"),
    END,
};
static const cr_rule asr_rules[] = {
    SPENT("embedding_dim"),
    SPENT("emb_dropout_prob"),
    IDLE("encoder_name", NULL, TEXT_NOTE),
    IDLE("emb_mode", NULL, TEXT_NOTE),
    IDLE("encoder_freeze_layer", NULL, TEXT_NOTE),
    IDLE("num_attention_heads", NULL, TEXT_NOTE),
    IDLE("num_hidden_layers", NULL, TEXT_NOTE),
    END,
};
static const cr_rule embedding_rules[] = {
    IDLE("author_embedding_dim", NULL, "Gandalf's network does not read it"),
    END,
};
static const cr_rule mtl_rules[] = {
    SPENT("shared_out_size"),   SPENT("tower_dims"), SPENT("loss_weight"),
    SPENT("constraint_weight"), SPENT("drop_prob"),  END,
};
static const cr_rule kwargs_rules[] = {
    SPENT("dropout"),
    SPENT("optimizer"),
    SPENT("lr_scheduler"),
    SPENT("enable_asr_embedding"),
    IDLE("enable_author_embedding", "0", "Gandalf's network does not read it"),
    IDLE("asr_embedding_size", NULL, "asr_encoder.embedding_dim is the width of the vector"),
    IDLE("loss_weight", NULL, "Gandalf's network of one task does not use it"),
    IDLE("reset_params", "false", "first weights are those that the network is published with"),
    END,
};

typedef struct network {
    int64_t buckets, dim, hidden;
    double dropout, text_dropout;
    const char *text[64]; /* columns that hold text vectors, and their widths */
    int64_t width[64];
    int n_text;
    cr_loc at;
} network;

/* Adds YAML text to a message. */
static void add(cr_rw *w, cr_conf_node *out, cr_loc at, const char *fmt, ...) CR_PRINTF(4, 5);
static void add(cr_rw *w, cr_conf_node *out, cr_loc at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    cr_made_join(w->doc, out, cr_made_yaml(w->doc, at, fmt, args));
    va_end(args);
}

/* Adds an item, written as YAML text, to a list. */
static void add_item(cr_rw *w, cr_conf_node *list, cr_loc at, const char *fmt, ...) CR_PRINTF(4, 5);
static void add_item(cr_rw *w, cr_conf_node *list, cr_loc at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    cr_conf_push(w->doc, list, NULL, at, cr_made_yaml(w->doc, at, fmt, args));
    va_end(args);
}

/* ---- slots ---- */

/* Marks the slots of slot_mask; returns how many are left. */
static int64_t take_mask(cr_rw *w, const cr_conf_node *in, bool *masked, int64_t n) {
    const cr_conf_node *l = cr_conf_find(in, "slot_mask");
    int64_t left = n;
    double x;
    if (l && l->kind != CR_NODE_LIST)
        cr_rw_tell(w, CR_SEV_ERROR, l->at, "slot_mask must be a list of slots");
    for (size_t i = 0; l && l->kind == CR_NODE_LIST && i < l->n; i++) {
        if (!cr_cruise_is_number(l->v[i].val, &x) || x != floor(x) || x < 0 || x >= (double)n) {
            cr_rw_tell(w, CR_SEV_ERROR, l->v[i].at,
                       "a slot of slot_mask must be a whole number below feature_num, %lld",
                       (long long)n);
            continue;
        }
        left -= !masked[(int64_t)x];
        masked[(int64_t)x] = true;
    }
    return left;
}

/* Returns the normalizer of a slot: the share of its range, 0 for -1, within 0 and 1. */
static const char *normalizer(cr_rw *w, const cr_conf_node *norms, const char *slot) {
    const cr_conf_node *r = norms ? cr_conf_find(norms, slot) : NULL;
    double lo = 0, hi = 1;
    if (r && (r->kind != CR_NODE_LIST || r->n != 2 || !cr_cruise_is_number(r->v[0].val, &lo) ||
              !cr_cruise_is_number(r->v[1].val, &hi) || hi <= lo)) {
        cr_rw_tell(
            w, CR_SEV_ERROR, r->at,
            "feature_norm_info holds [least, largest] of a slot, the second above the first");
        lo = 0, hi = 1;
    }
    char a[32], b[32];
    a[cr_fmt_f64(a, lo)] = 0;
    b[cr_fmt_f64(b, hi - lo)] = 0;
    return cr_arena_printf(&w->doc->arena,
                           "method=expression,expr=x == -1 ? 0 : min(max((x - (%s)) / %s, 0), 1)",
                           a, b);
}

/* Finds entries of feature_norm_info that name no slot. */
static void check_norms(cr_rw *w, const cr_conf_node *norms, int64_t n) {
    for (size_t i = 0; norms && norms->kind == CR_NODE_MAP && i < norms->n; i++) {
        const char *key = norms->v[i].key;
        int64_t slot;
        if (!cr_parse_i64(key, strlen(key), &slot) || slot < 0 || slot >= n)
            cr_rw_tell(w, CR_SEV_ERROR, norms->v[i].at,
                       "feature_norm_info has '%.40s', and slots are whole numbers below "
                       "feature_num, %lld",
                       key, (long long)n);
    }
}

static cr_conf_node *raw(cr_rw *w, cr_conf_node *list, const char *name, const char *column,
                         cr_loc at) {
    cr_conf_node *f = cr_rw_map(w, cr_cruise_item(w, list, at), "raw_feature", at);
    cr_rw_put_str(w, f, "feature_name", at, name);
    cr_rw_put_str(w, f, "expression", at, cr_arena_printf(&w->doc->arena, "item:%s", column));
    return f;
}

/* Makes the features and groups of the slots that are not masked, and of the text vectors. */
static void features(cr_rw *w, cr_cruise *c, const network *net, const bool *masked, int64_t n) {
    cr_loc at = c->provider->at;
    cr_conf_node *list = cr_cruise_list(w, c->root, "feature_configs", at);
    cr_conf_node *groups = cr_cruise_list(w, c->net, "feature_groups", c->model->at);
    cr_conf_node *deep = cr_cruise_item(w, groups, at), *plain = cr_cruise_item(w, groups, at);
    const cr_conf_node *norms = cr_conf_find(c->provider, "feature_norm_info");
    cr_rw_put_str(w, deep, "group_name", at, "autodis");
    cr_rw_put_str(w, plain, "group_name", at, "plain");
    deep = cr_cruise_list(w, deep, "feature_names", at);
    plain = cr_cruise_list(w, plain, "feature_names", at);
    check_norms(w, norms, n);
    for (int64_t i = 0; i < n; i++) {
        char slot[32], name[40], plain_name[40];
        if (masked[i]) continue;
        snprintf(slot, sizeof slot, "%lld", (long long)i);
        snprintf(name, sizeof name, "slot_%s", slot);
        snprintf(plain_name, sizeof plain_name, "n_%s", slot);
        const char *norm = normalizer(w, norms, slot);
        cr_conf_node *f = raw(w, list, name, name, at);
        cr_rw_put_str(w, f, "normalizer", at, norm);
        cr_rw_put_num(w, f, "embedding_dim", at, (double)net->dim);
        cr_conf_node *e = cr_rw_map(w, f, "autodis", at);
        cr_rw_put_word(w, e, "form", at, "GANDALF");
        cr_rw_put_num(w, e, "num_channels", at, (double)net->buckets);
        cr_rw_put_num(w, e, "hidden_dim", at, (double)net->hidden);
        cr_rw_put_str(w, raw(w, list, plain_name, name, at), "normalizer", at, norm);
        cr_cruise_name(w, deep, name);
        cr_cruise_name(w, plain, plain_name);
    }
    for (int i = 0; i < net->n_text; i++) {
        cr_rw_put_num(w, raw(w, list, net->text[i], net->text[i], at), "value_dim", at,
                      (double)net->width[i]);
        cr_conf_node *g = cr_cruise_item(w, groups, at);
        cr_rw_put_str(w, g, "group_name", at, net->text[i]);
        cr_cruise_name(w, cr_cruise_list(w, g, "feature_names", at), net->text[i]);
    }
}

/* ---- the network ---- */

#define METRICS                                                                                    \
    "metrics: [{auc: {}}, {precision: {none_is_zero: true}}, {recall: {none_is_zero: true}}, "     \
    "{f1: {none_is_zero: true}}, {accuracy: {}}, {average_output: {}}, {average_label: {}}], "     \
    "train_metrics: [{auc: {}, decay_rate: 0, decay_step: 1}, {precision: {none_is_zero: true}, "  \
    "decay_rate: 0, decay_step: 1}, {recall: {none_is_zero: true}, decay_rate: 0, decay_step: "    \
    "1}, {average_output: {}, decay_rate: 0, decay_step: 1}]"

/* Returns a number as text. */
static const char *text_of(cr_rw *w, double x) {
    char text[32];
    text[cr_fmt_f64(text, x)] = 0;
    return cr_arena_strdup(&w->doc->arena, text);
}

/* The layers that both networks begin with. */
static cr_conf_node *bottom(cr_rw *w, cr_cruise *c, const network *net) {
    cr_conf_node *graph = cr_rw_map(w, c->net, "backbone", net->at);
    cr_conf_node *blocks = cr_cruise_list(w, graph, "blocks", net->at);
    const char *more = "";
    for (int i = 0; i < net->n_text; i++) {
        const char *name =
            i ? cr_arena_printf(&w->doc->arena, "_asr_emb_dropout_%d", i) : "_asr_emb_dropout";
        cr_conf_node *b = cr_cruise_item(w, blocks, net->at);
        cr_rw_put_str(w, b, "name", net->at, name);
        cr_conf_node *in = cr_cruise_item(w, cr_cruise_list(w, b, "inputs", net->at), net->at);
        cr_rw_put_str(w, in, "feature_group_name", net->at, net->text[i]);
        add(w, b, net->at, "dropout: {dropout_ratio: %s}", text_of(w, net->text_dropout));
        more = cr_arena_printf(&w->doc->arena, "%s, {block_name: %s}", more, name);
    }
    add_item(w, blocks, net->at,
             "name: _bucket_embedding_bottom\n"
             "inputs: [{feature_group_name: autodis}, {feature_group_name: plain}%s]\n"
             "mlp: {hidden_units: [1024, 512], dropout_ratio: [%s]}",
             more, text_of(w, net->dropout));
    return graph;
}

static void one_task(cr_rw *w, cr_cruise *c, const network *net) {
    cr_conf_node *blocks = cr_conf_find(bottom(w, c, net), "blocks");
    const char *drop = text_of(w, net->dropout);
    add_item(w, blocks, net->at,
             "{name: _classifier_final, inputs: [{block_name: _bucket_embedding_bottom}], mlp: "
             "{hidden_units: [256, 128], dropout_ratio: [%s]}}",
             drop);
    add(w, c->net, net->at, "{losses: [{binary_cross_entropy: {}}], " METRICS "}");
}

/* Reads a list of n numbers of at least lo. */
static void numbers(cr_rw *w, const cr_conf_node *in, const char *key, double lo, double *out,
                    size_t n) {
    const cr_conf_node *l = cr_conf_find(in, key);
    double v[8];
    bool good = l && l->kind == CR_NODE_LIST && l->n == n;
    for (size_t i = 0; good && i < n; i++)
        good = cr_cruise_is_number(l->v[i].val, &v[i]) && v[i] >= lo;
    if (good)
        memcpy(out, v, n * sizeof *out);
    else if (l)
        cr_rw_tell(w, CR_SEV_ERROR, l->at, "%s must be a list of %zu numbers, each at least %g",
                   key, n, lo);
}

/* AITM: two towers over a shared layer; what the first has found out goes, through a layer and an
 * attention over both, into the second. The second event cannot be likelier than the first, and
 * where it is, the difference costs constraint_weight. */
static void two_tasks(cr_rw *w, cr_cruise *c, const network *net, const cr_conf_node *mtl) {
    double dims[3] = {256, 128, 64}, weight[2] = {1, 1}, drop[3] = {0.1, 0.3, 0.3};
    int64_t shared = cr_cruise_whole(w, mtl, "shared_out_size", 256, 1, 65536);
    double constraint = cr_cruise_number(w, mtl, "constraint_weight", 0.3);
    double batch = cr_rw_num(c->factory, "batch_size", 128);
    numbers(w, mtl, "tower_dims", 1, dims, 3);
    numbers(w, mtl, "loss_weight", 0, weight, 2);
    numbers(w, mtl, "drop_prob", 0, drop, 3);
    cr_conf_node *graph = bottom(w, c, net), *blocks = cr_conf_find(graph, "blocks");
    cr_loc at = net->at;
    long long d = (long long)dims[2];
    const char *scale = text_of(w, 1 / sqrt(dims[2]));
    add_item(w, blocks, at,
             "{name: _bn, inputs: [{block_name: _bucket_embedding_bottom}], batch_norm: {}}");
    add_item(w, blocks, at, "{name: _shared, inputs: [{block_name: _bn}], linear: {units: %lld}}",
             (long long)shared);
    static const char *const tasks[] = {"censor", "reject"};
    for (int t = 0; t < 2; t++) {
        const char *in = "_shared";
        for (int i = 0; i < 3; i++) {
            add_item(w, blocks, at, "{name: _%s_bn_%d, inputs: [{block_name: %s}], batch_norm: {}}",
                     tasks[t], i, in);
            in = cr_arena_printf(&w->doc->arena, "_%s_tower_%d", tasks[t], i);
            add_item(w, blocks, at,
                     "{name: %s, inputs: [{block_name: _%s_bn_%d}], mlp: {hidden_units: [%lld], "
                     "dropout_ratio: [%s]}}",
                     in, tasks[t], i, (long long)dims[i], text_of(w, drop[i]));
        }
    }
    add_item(w, blocks, at,
             "{name: _info, inputs: [{block_name: _censor_tower_2}], mlp: {hidden_units: [%lld], "
             "dropout_ratio: [%s]}}",
             d, text_of(w, drop[2]));
    /* attention over [tower, info]: scores are the products of queries and keys */
    static const char *const from[] = {"_reject_tower_2", "_info"};
    for (int i = 0; i < 2; i++) {
        static const char *const kinds[] = {"q", "k", "v"};
        for (int k = 0; k < 3; k++) {
            if (i == 0)
                add_item(w, blocks, at,
                         "{name: _%s_0, inputs: [{block_name: %s}], linear: {units: %lld, bias: "
                         "false}}",
                         kinds[k], from[i], d);
            else
                add_item(w, blocks, at,
                         "{name: _%s_1, inputs: [{block_name: %s}], weights_of: _%s_0}", kinds[k],
                         from[i], kinds[k]);
        }
        add_item(w, blocks, at,
                 "{name: _qk_%d, inputs: [{block_name: _q_%d}, {block_name: _k_%d}], multiply: {}}",
                 i, i, i);
        add_item(w, blocks, at, "{name: _sum_%d, inputs: [{block_name: _qk_%d}], sum: {}}", i, i);
        add_item(w, blocks, at,
                 "{name: _score_%d, inputs: [{block_name: _sum_%d}], add: {weights: [%s]}}", i, i,
                 scale);
    }
    add_item(w, blocks, at,
             "{name: _scores, inputs: [{block_name: _score_0}, {block_name: _score_1}], softmax: "
             "{}}");
    for (int i = 0; i < 2; i++) {
        add_item(w, blocks, at,
                 "{name: _share_%d, inputs: [{block_name: _scores}], slice: {begin: %d, width: 1}}",
                 i, i);
        add_item(w, blocks, at,
                 "{name: _part_%d, inputs: [{block_name: _v_%d}, {block_name: _share_%d}], "
                 "multiply: {}}",
                 i, i, i);
    }
    add_item(w, blocks, at,
             "{name: _ait, inputs: [{block_name: _part_0}, {block_name: _part_1}], add: {}}");
    static const char *const ends[] = {"_censor_tower_2", "_ait"};
    for (int t = 0; t < 2; t++) {
        add_item(w, blocks, at, "{name: _%s_layer, inputs: [{block_name: %s}], linear: {units: 1}}",
                 tasks[t], ends[t]);
        add_item(w, blocks, at,
                 "{name: _%s_prob, inputs: [{block_name: _%s_layer}], activation: {function: "
                 "nn.Sigmoid}}",
                 tasks[t], tasks[t]);
    }
    add_item(w, blocks, at,
             "{name: _excess, inputs: [{block_name: _reject_prob}, {block_name: _censor_prob}], "
             "add: {weights: [1, -1]}}");
    cr_conf_node *towers = cr_cruise_list(w, graph, "task_towers", at);
    for (int t = 0; t < 2; t++)
        add_item(w, towers, at,
                 "{tower_name: %s, label_name: %s_label, weight: %s, inputs: [{block_name: "
                 "_%s_layer}], losses: [{binary_cross_entropy: {}}], " METRICS "}",
                 tasks[t], tasks[t], text_of(w, weight[t]), tasks[t]);
    /* Gandalf adds the differences of a batch up and does not take their mean */
    add_item(w, towers, at,
             "{tower_name: constraint, label_name: reject_label, weight: %s, inputs: [{block_name: "
             "_excess}], losses: [{excess_loss: {}}], metrics: [{average_output: {}}]}",
             text_of(w, constraint * batch));
}

/* ---- the whole ---- */

/* Finds the text vectors: that of asr_encoder, or those of embedding_conf. */
static void texts(cr_rw *w, cr_cruise *c, network *net, bool published, bool asr) {
    const cr_conf_node *enc = cr_cruise_part(w, c->model, "asr_encoder", false);
    const cr_conf_node *l = cr_conf_find(c->provider, "embedding_conf");
    cr_cruise_section(w, "model.asr_encoder", asr_rules, enc, NULL);
    net->text_dropout = net->dropout;
    if (published || enc->n > 0) {
        net->text[0] = "asr";
        net->width[0] = cr_cruise_whole(w, enc, "embedding_dim", 768, 1, 65536);
        net->n_text = 1;
        net->text_dropout = cr_cruise_number(w, enc, "emb_dropout_prob", published ? 0 : 0.3);
        if (published && l && l->n > 0)
            cr_rw_tell(w, CR_SEV_NOTE, l->at,
                       "'data.feature_provider.embedding_conf' is left out: this network reads no "
                       "vectors but asr");
        return;
    }
    if (l && l->kind != CR_NODE_MAP)
        cr_rw_tell(w, CR_SEV_ERROR, l->at, "embedding_conf holds names and widths");
    for (size_t i = 0; l && l->kind == CR_NODE_MAP && i < l->n; i++) {
        double width;
        if (!cr_cruise_is_number(l->v[i].val, &width) || width < 1 || width > 65536 ||
            width != floor(width)) {
            cr_rw_tell(w, CR_SEV_ERROR, l->v[i].at,
                       "embedding_conf holds names and widths, whole numbers from 1 to 65536");
            continue;
        }
        if (net->n_text == 64) {
            cr_rw_tell(w, CR_SEV_ERROR, l->v[i].at, "embedding_conf has more than 64 vectors");
            break;
        }
        net->text[net->n_text] = l->v[i].key;
        net->width[net->n_text++] = (int64_t)width;
    }
    if (asr && net->n_text == 0)
        cr_rw_tell(w, CR_SEV_ERROR, c->provider->at,
                   "AutoDisNNASR reads text vectors; add embedding_conf with their widths, for "
                   "example {asr: 768}");
}

/* Reads the one width of layer_conf. */
static int64_t hidden(cr_rw *w, const cr_conf_node *f) {
    const cr_conf_node *l = cr_conf_find(f, "layer_conf");
    double first = 64, x;
    for (size_t i = 0; l && l->kind == CR_NODE_LIST && i < l->n; i++) {
        if (cr_cruise_is_number(l->v[i].val, &x) && x >= 1 && x <= 65536 && x == floor(x) &&
            (i == 0 || x == first)) {
            first = x;
            continue;
        }
        cr_rw_tell(w, CR_SEV_ERROR, l->at,
                   "layer_conf holds one width from 1 to 65536, repeated: the layers after the "
                   "first are those of residual blocks, which this network does not have");
        break;
    }
    return (int64_t)first;
}

void cr_cruise_model(cr_rw *w, cr_cruise *c) {
    static const char *const types[] = {"AutoDisNN",
                                        "AutoDisNNASR",
                                        "EcomLiveGandalfAutoDisNNAsrCruiseModel",
                                        "EcomLiveGandalfAutoDisNNAsrSimcseCruiseModel",
                                        "EcomLiveGandalfAutoDisNNAsrAitmCruiseModel",
                                        NULL};
    int type = cr_cruise_type(w, c->model, "model", types);
    bool aitm = type == 4;
    cr_cruise_section(w, "model", model_rules, c->model, NULL);
    const cr_conf_node *f = cr_cruise_part(w, c->model, "features", false);
    const cr_conf_node *k = cr_cruise_part(w, c->model, "kwargs", false);
    const cr_conf_node *mtl = cr_cruise_part(w, c->model, "mtl", false);
    cr_cruise_section(w, "model.features", features_rules, f, NULL);
    cr_cruise_section(w, "model.kwargs", kwargs_rules, k, NULL);
    cr_cruise_section(w, "model.mtl", mtl_rules, mtl, NULL);
    cr_cruise_section(w, "model.embedding", embedding_rules,
                      cr_cruise_part(w, c->model, "embedding", false), NULL);
    if (!aitm && mtl->n > 0)
        cr_rw_tell(w, CR_SEV_ERROR, mtl->at, "model.mtl belongs to %s; remove it, or use that type",
                   types[4]);
    if (aitm != c->two_tasks)
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(c->model, "type"),
                   "model.type and data.feature_provider.type do not fit: one is of two tasks and "
                   "the other of one");
    (void)cr_cruise_bool(w, k, "enable_asr_embedding", true);
    int64_t n = cr_cruise_whole(w, c->provider, "feature_num", 150, 1, MAX_SLOTS);
    int64_t own = cr_cruise_whole(w, f, "feature_num", n, 1, MAX_SLOTS);
    network net = {.buckets = cr_cruise_whole(w, f, "bucket_num", 8, 1, 65536),
                   .dim = cr_cruise_whole(w, f, "bucket_dim", 128, 1, 65536),
                   .hidden = hidden(w, f),
                   .dropout = cr_cruise_number(w, k, "dropout", 0.3),
                   .at = c->model->at};
    bool *masked = CR_NEW_N(&w->doc->arena, bool, MAX_SLOTS);
    bool *model_masked = CR_NEW_N(&w->doc->arena, bool, MAX_SLOTS);
    int64_t left = take_mask(w, c->provider, masked, n);
    bool same = own == n;
    if (cr_rw_has(f, "slot_mask")) {
        (void)take_mask(w, f, model_masked, own);
        same = same && memcmp(masked, model_masked, MAX_SLOTS) == 0;
    }
    if (!same)
        cr_rw_tell(w, CR_SEV_ERROR, f->at,
                   "feature_num and slot_mask of model.features and of data.feature_provider "
                   "differ; they describe the same slots, so give both the same values");
    if (left == 0)
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(c->provider, "slot_mask"),
                   "slot_mask leaves no slot; remove some of its numbers");
    texts(w, c, &net, type >= 2, type == 1);
    cr_cruise_optimizers(w, c, k);
    features(w, c, &net, masked, n);
    if (aitm)
        two_tasks(w, c, &net, mtl);
    else
        one_task(w, c, &net);
}
