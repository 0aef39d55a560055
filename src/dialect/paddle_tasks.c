/*
 * paddle_tasks.c - PaddleRec's models with readers of their own: mmoe, share_bottom, ple, esmm,
 * escm2, din, ncf, slot_dnn, aitm.
 *
 * The census models predict income and marital status. PaddleRec has two scores per task and a
 * softmax; so have these.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/fs.h"
#include "dialect/paddle_int.h"

#define MAX_ROWS CR_PD_MAX_ROWS

/* The towers of the census models, in PaddleRec's order: income, then marital status. */
static const char *census_towers(cr_pd *p) {
    static const char *const labels[] = {"income", "marital"};
    int64_t width = cr_pd_int(p, p->hyper, "tower_size", CR_PD_REQUIRED, 1, 1048576);
    const char *out = "";
    for (int i = 0; i < 2; i++)
        out = cr_arena_printf(
            &p->doc->arena,
            "%s%s{tower_name: %s, label_name: %s, num_class: 2, mlp: {hidden_units: [%lld]}, "
            "losses: "
            "[{softmax_cross_entropy: {}}], metrics: [{auc: {}}], train_metrics: [{auc: {}, "
            "since_epoch: true}]}",
            out, i ? ", " : "", labels[i], labels[i], (long long)width);
    return out;
}

/* Appends first values as the shipped code of 2.0 has them: all weights of a layer are 10^-power,
 * its biases 0.1. */
static const char *constant(cr_pd *p, const char *list, int64_t power, const char *fmt, ...)
    CR_PRINTF(4, 5);
static const char *constant(cr_pd *p, const char *list, int64_t power, const char *fmt, ...) {
    char name[128];
    va_list args;
    va_start(args, fmt);
    vsnprintf(name, sizeof name, fmt, args);
    va_end(args);
    return cr_arena_printf(
        &p->doc->arena,
        "%s%s{regex_pattern: '%s[.]weight', init_fn: 'nn.init.constant_,val=1e-%lld'}, "
        "{regex_pattern: '%s[.]bias', init_fn: 'nn.init.constant_,val=0.1'}",
        list, *list ? ", " : "", name, (long long)power, name);
}

/* Both layers of the towers; each: those of the second task begin with less. */
static const char *constant_towers(cr_pd *p, const char *list, bool each) {
    for (int t = 0; t < 2; t++)
        list = constant(p, list, each ? t + 1 : 1, "model[.]_task_tower[.]%d[.].*", t);
    return list;
}

/* first: first values, "" for those of crank. */
static void census_group(cr_pd *p, const char *model, const char *first) {
    cr_pd_dense_features(p);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}], %s%s%s%s}",
              cr_pd_dense_names(p), model, *first ? ", first_values: [" : "", first,
              *first ? "]" : "");
}

/* Two tasks are what the reader has labels for. */
static void check_tasks(cr_pd *p, const char *key) {
    int64_t n = cr_pd_int(p, p->hyper, key, 2, 1, 1000);
    if (n != 2)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, key),
                    "%s is %lld, and the data has labels for two tasks; set it to 2", key,
                    (long long)n);
}

void cr_pd_mmoe(cr_pd *p) {
    int64_t experts = cr_pd_int(p, p->hyper, "expert_num", CR_PD_REQUIRED, 1, 4096);
    int64_t size = cr_pd_int(p, p->hyper, "expert_size", CR_PD_REQUIRED, 1, 1048576);
    const char *first = "";
    if (p->o->compat && !p->old) {
        for (int64_t i = 0; i < experts; i++)
            first =
                constant(p, first, i + 1, "model[.]mmoe[.]expert_mlps[.]%lld[.].*", (long long)i);
        for (int t = 0; t < 2; t++)
            first = constant(p, first, t + 1, "model[.]mmoe[.]gate_finals[.]%d", t);
        first = constant_towers(p, first, true);
    }
    census_group(p,
                 cr_arena_printf(&p->doc->arena,
                                 "mmoe: {num_expert: %lld, expert_mlp: {hidden_units: [%lld]}, "
                                 "task_towers: [%s]}",
                                 (long long)experts, (long long)size, census_towers(p)),
                 first);
}

void cr_pd_share_bottom(cr_pd *p) {
    int64_t size = cr_pd_int(p, p->hyper, "bottom_size", CR_PD_REQUIRED, 1, 1048576);
    check_tasks(p, p->old ? "tower_nums" : "task_num");
    census_group(p,
                 cr_arena_printf(&p->doc->arena,
                                 "simple_multi_task: {bottom_mlp: {hidden_units: [%lld]}, "
                                 "task_towers: [%s]}",
                                 (long long)size, census_towers(p)),
                 p->o->compat && !p->old ? constant_towers(p, "", false) : "");
}

/* First values of a level of ple: its experts are numbered through all tasks. Those that no task
 * takes, because the shipped code counts them wrongly, are not there. */
static const char *constant_level(cr_pd *p, const char *list, int64_t level, int64_t own,
                                  int64_t shared, bool last) {
    for (int64_t e = 0; e < 2 * own && e < 2 + own; e++)
        if (e < own || e >= 2)
            list = constant(p, list, e + 1,
                            "model[.]_extraction_nets[.]%lld[.]_task_layers[.]%lld[.]%lld[.].*",
                            (long long)level, (long long)(e / own), (long long)(e % own));
    for (int64_t i = 0; i < shared; i++)
        list =
            constant(p, list, i + 1, "model[.]_extraction_nets[.]%lld[.]_shared_layers[.]%lld[.].*",
                     (long long)level, (long long)i);
    for (int t = 0; t < 2; t++)
        list = constant(p, list, t + 1, "model[.]_extraction_nets[.]%lld[.]_task_gates[.]%d",
                        (long long)level, t);
    return last ? list
                : constant(p, list, 1, "model[.]_extraction_nets[.]%lld[.]_shared_gate",
                           (long long)level);
}

void cr_pd_ple(cr_pd *p) {
    int64_t own = cr_pd_int(p, p->hyper, "exp_per_task", CR_PD_REQUIRED, 1, 1024);
    int64_t shared = cr_pd_int(p, p->hyper, "shared_num", CR_PD_REQUIRED, 1, 1024);
    int64_t levels = cr_pd_int(p, p->hyper, "level_number", 1, 1, 16);
    int64_t size = cr_pd_int(p, p->hyper, "expert_size", CR_PD_REQUIRED, 1, 1048576);
    const char *nets = "", *first = "";
    check_tasks(p, "task_num");
    for (int64_t i = 0; i < levels; i++) {
        /* the shipped code lets the experts of task t begin at number t * task_num */
        nets =
            cr_arena_printf(&p->doc->arena,
                            "%s%s{network_name: level%lld, expert_num_per_task: %lld, share_num: "
                            "%lld%s, task_expert_net: {hidden_units: [%lld]}, share_expert_net: "
                            "{hidden_units: [%lld]}}",
                            nets, i ? ", " : "", (long long)i, (long long)own, (long long)shared,
                            p->o->compat ? ", task_step: 2" : "", (long long)size, (long long)size);
        if (p->o->compat) first = constant_level(p, first, i, own, shared, i == levels - 1);
    }
    if (p->o->compat) first = constant_towers(p, first, true);
    census_group(p,
                 cr_arena_printf(&p->doc->arena,
                                 "ple: {extraction_networks: [%s], task_towers: [%s]}", nets,
                                 census_towers(p)),
                 first);
}

void cr_pd_esmm(cr_pd *p) {
    int64_t rows, dim, n;
    const char *ctr, *cvr;
    if (p->old) {
        rows = cr_pd_int(p, p->hyper, "vocab_size", CR_PD_REQUIRED, 1, MAX_ROWS);
        dim = cr_pd_int(p, p->hyper, "embed_size", CR_PD_REQUIRED, 1, 65536);
        ctr = cvr = "[200, 80]";
    } else {
        rows = cr_pd_int(p, p->hyper, "sparse_feature_number", CR_PD_REQUIRED, 1, MAX_ROWS);
        dim = cr_pd_int(p, p->hyper, "sparse_feature_dim", CR_PD_REQUIRED, 1, 65536);
        ctr = cr_pd_widths(p, p->hyper, "ctr_fc_sizes", &n);
        cvr = cr_pd_widths(p, p->hyper, "cvr_fc_sizes", &n);
    }
    cr_pd_id_features(p, rows, dim,
                      p->old ? "nn.init.xavier_uniform_" : "nn.init.uniform_,a=-1,b=1", true);
    static const char tower[] =
        "{tower_name: %s, label_name: %s, mlp: {hidden_units: %s}, losses: [{binary_cross_entropy: "
        "{}}], metrics: [{auc: {}}], train_metrics: [{auc: {}, since_epoch: true}]}";
    const char *click = cr_arena_printf(&p->doc->arena, tower, "ctr", "click", ctr);
    const char *buy = cr_arena_printf(&p->doc->arena, tower, "cvr", "buy", cvr);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}], esmm: "
              "{ctr_tower: %s, cvr_tower: %s}}",
              cr_pd_id_names(p), click, buy);
}

/* ESCM2: a click, a purchase after a click, and both; experts are mixed for each. The loss of the
 * purchase is taken over all rows, clicked or not: each click weighs the inverse of its
 * probability, and in the mode DR a third tower says what the loss would be elsewhere. */
void cr_pd_escm2(cr_pd *p) {
    long long experts = (long long)cr_pd_int(p, p->hyper, "expert_num", CR_PD_REQUIRED, 1, 4096);
    long long size = (long long)cr_pd_int(p, p->hyper, "expert_size", CR_PD_REQUIRED, 1, 1048576);
    long long tower = (long long)cr_pd_int(p, p->hyper, "tower_size", CR_PD_REQUIRED, 1, 1048576);
    double whole = cr_pd_num(p, p->hyper, "global_w", 0.5, 0, 1e6);
    double weight = cr_pd_num(p, p->hyper, "counterfactual_w", 0.5, 0, 1e6);
    const char *mode = cr_pd_str(p, p->runner, "counterfact_mode", false);
    bool dr = mode && strcmp(mode, "DR") == 0;
    static const char *const names[] = {"ctr", "cvr", "imputed"};
    cr_pd_sizes s = cr_pd_table(p, true);
    cr_pd_id_features(p, s.rows, s.dim, s.init, true);
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(&b,
                  "{name: experts, inputs: [{feature_group_name: all}], mmoe: {num_task: %d, "
                  "num_expert: %lld, expert_mlp: {hidden_units: [%lld]}}}, ",
                  dr ? 3 : 2, experts, size);
    for (int i = 0; i < (dr ? 3 : 2); i++)
        cr_buf_printf(&b,
                      "{name: %s_tower, inputs: [{block_name: experts, output: %d}], mlp: "
                      "{hidden_units: [%lld]}}, {name: %s, inputs: [{block_name: %s_tower}], "
                      "linear: {units: 1}}, ",
                      names[i], i, tower, names[i], names[i]);
#define TOWER(name, label, w)                                                                      \
    "{tower_name: " name ", label_name: " label ", weight: " w ", inputs: [{block_name: " name     \
    "}], losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}], train_metrics: "              \
    "[{auc: {}, since_epoch: true}]}, "
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}], backbone: "
              "{blocks: [%s{name: ctcvr, inputs: [{block_name: ctr}, {block_name: cvr}], both: "
              "{}}], task_towers: [" TOWER("ctr", "click", "1") TOWER("cvr", "buy", "0")
                  TOWER("ctcvr", "buy", "%g") "{tower_name: counterfactual, label_name: buy, "
                                              "weight: %g, num_class: %d, inputs: "
                                              "[{block_name: ctr}, {block_name: cvr}%s], "
                                              "losses: [{counterfactual_loss: {condition: "
                                              "click}}]}]}}",
              cr_pd_id_names(p), b.data, whole, weight, dr ? 3 : 2,
              dr ? ", {block_name: imputed}" : "");
    cr_buf_clear(&b);
}

void cr_pd_din(cr_pd *p) {
    int64_t items = cr_pd_int(p, p->hyper, "item_count", CR_PD_REQUIRED, 1, MAX_ROWS);
    int64_t cats = cr_pd_int(p, p->hyper, "cat_count", CR_PD_REQUIRED, 1, MAX_ROWS);
    int64_t item = cr_pd_int(p, p->hyper, "item_emb_size", CR_PD_REQUIRED, 1, 65536);
    int64_t cat = cr_pd_int(p, p->hyper, "cat_emb_size", CR_PD_REQUIRED, 1, 65536);
    const char *act = cr_pd_str(p, p->hyper, "act", false);
    const char *fn = act && strcmp(act, "relu") == 0 ? "nn.ReLU" : "nn.Sigmoid";
    if (act && strcmp(act, "relu") != 0 && strcmp(act, "sigmoid") != 0)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "act"), "act is '%.40s'; use sigmoid or relu", act);
    /* as shipped, the new kind has a table for the history, one for the target that the attention
     * sees, and one for the target beside it; the old kind and the paper have one for all */
    bool apart = p->o->compat && !p->old;
    const char *hist = apart ? "hist_" : "";
    static const char one[] = "%s: {feature_name: %s, num_buckets: %lld, embedding_dim: %lld, "
                              "embedding_name: %s_emb, init_fn: \"nn.init.xavier_uniform_\"}";
    cr_pd_feature(p, p->data_at, one, "id_feature", "item", (long long)items, (long long)item,
                  "item");
    cr_pd_feature(p, p->data_at, one, "id_feature", "cat", (long long)cats, (long long)cat, "cat");
    cr_pd_feature(
        p, p->data_at,
        "sequence_feature: {sequence_name: hist, sequence_length: 1000, sequence_delim: \" "
        "\", features: [{id_feature: {feature_name: item, num_buckets: %lld, "
        "embedding_dim: %lld, embedding_name: %sitem_emb, init_fn: "
        "\"nn.init.xavier_uniform_\"}}, {id_feature: {feature_name: cat, num_buckets: "
        "%lld, embedding_dim: %lld, embedding_name: %scat_emb, init_fn: "
        "\"nn.init.xavier_uniform_\"}}]}",
        (long long)items, (long long)item, hist, (long long)cats, (long long)cat, hist);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [%s{group_name: bias, group_type: WIDE, feature_names: "
        "[item]}, {group_name: history, group_type: SEQUENCE, feature_names: [item, cat, "
        "hist__item, hist__cat]}], backbone: {wide_embedding_dim: 1, wide_init_fn: nn.init.zeros_, "
        "blocks: [{name: target, inputs: [{feature_group_name: %s}]%s}, {name: pooled, inputs: "
        "[{feature_group_name: history}], din: {attn_mlp: {hidden_units: [80, 40], activation: "
        "%s}, scale: %.9g}}, {name: user, inputs: [{block_name: pooled}], linear: {units: %lld}}, "
        "{name: deep, inputs: [{block_name: user}, {block_name: target}], mlp: {hidden_units: [80, "
        "40], activation: %s}}, {name: top, inputs: [{block_name: deep}], linear: {units: 1}}, "
        "{name: score, inputs: [{block_name: top}, {feature_group_name: bias}], add: {}}]}, "
        "losses: "
        "[{binary_cross_entropy: {}}], metrics: [{auc: {}}], train_metrics: [{auc: {}, "
        "since_epoch: true}]}",
        apart ? "{group_name: target, feature_names: [item, cat]}, " : "",
        apart ? "target" : "history", apart ? "" : ", query: {}", fn,
        p->o->compat ? 1 / sqrt((double)(item + cat)) : 1, (long long)(item + cat), fn);
    /* as shipped, the layers of the attention have the names of others, and are not trained */
    if (apart)
        cr_pd_put(p, p->model_at,
                  "train_config: {dense_optimizer: {part_optimizers: [{sgd_optimizer: {lr: 0}, "
                  "regex_pattern: \"model[.]blocks[.]pooled[.].*\"}]}}");
}

/* The mode of ncf: the product of two vectors, layers over two others, or both. */
static const char *ncf_mode(cr_pd *p) {
    const char *mode = cr_pd_str(p, p->hyper, "mode", false);
    if (!mode) return "NCF_NeuMF";
    if (strcmp(mode, "NCF_NeuMF") != 0 && strcmp(mode, "NCF_GMF") != 0 &&
        strcmp(mode, "NCF_MLP") != 0)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "mode"),
                    "mode is '%.40s' and must be NCF_NeuMF, NCF_GMF or NCF_MLP", mode);
    return mode;
}

void cr_pd_ncf(cr_pd *p) {
    int64_t users = cr_pd_int(p, p->hyper, "num_users", CR_PD_REQUIRED, 1, MAX_ROWS);
    int64_t items = cr_pd_int(p, p->hyper, "num_items", CR_PD_REQUIRED, 1, MAX_ROWS), n;
    int64_t mf = cr_pd_int(p, p->hyper, p->old ? "latent_dim" : "mf_dim", CR_PD_REQUIRED, 1, 65536);
    const char *mode = ncf_mode(p), *fc = cr_pd_widths(p, p->hyper, "fc_layers", &n);
    const cr_conf_node *list = cr_pd_get(p, p->hyper, "fc_layers");
    int64_t width = n > 1 ? atoll(list->v[0].val->text) : 0;
    if (n < 2 || width % 2) {
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "fc_layers"),
                    "fc_layers begins with the width of both vectors, an even number, and goes on "
                    "with the layers over them");
        return;
    }
    const char *rest = strchr(fc, ',');
    bool gmf = strcmp(mode, "NCF_MLP") != 0, mlp = strcmp(mode, "NCF_GMF") != 0;
    static const char id[] = "id_feature: {feature_name: %s, num_buckets: %lld, embedding_dim: "
                             "%lld, init_fn: \"nn.init.normal_,mean=0,std=0.01\"%s}";
    cr_loc at = p->data_at;
    cr_pd_put(p, at, "data_config: {fg_mode: FG_NORMAL}"); /* columns are read twice */
    if (gmf) {
        cr_pd_feature(p, at, id, "user", (long long)users + 1, (long long)mf,
                      ", expression: \"user:user\"");
        cr_pd_feature(p, at, id, "item", (long long)items + 1, (long long)mf,
                      ", expression: \"user:item\"");
    }
    if (mlp) {
        cr_pd_feature(p, at, id, "user_mlp", (long long)users + 1, (long long)(width / 2),
                      ", expression: \"user:user\"");
        cr_pd_feature(p, at, id, "item_mlp", (long long)items + 1, (long long)(width / 2),
                      ", expression: \"user:item\"");
    }
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [%s%s%s], "
              "backbone: {blocks: [%s%s%s]}, losses: [{binary_cross_entropy: {}}], metrics: [{auc: "
              "{}}], train_metrics: [{auc: {}, since_epoch: true}]}",
              gmf ? "{group_name: user, feature_names: [user]}, {group_name: item, feature_names: "
                    "[item]}"
                  : "",
              gmf && mlp ? ", " : "",
              mlp ? "{group_name: both, feature_names: [user_mlp, item_mlp]}" : "",
              gmf ? "{name: product, inputs: [{feature_group_name: user}, {feature_group_name: "
                    "item}], multiply: {}}"
                  : "",
              gmf && mlp ? ", " : "",
              mlp ? cr_arena_printf(&p->doc->arena,
                                    "{name: deep, inputs: [{feature_group_name: both}], mlp: "
                                    "{hidden_units: [%s}}",
                                    rest + 1)
                  : "");
}

void cr_pd_slot_dnn(cr_pd *p) {
    int64_t rows = cr_pd_int(p, p->hyper, "dict_dim", CR_PD_REQUIRED, 1, MAX_ROWS), n;
    int64_t dim = cr_pd_int(p, p->hyper, "sparse_feature_dim", CR_PD_REQUIRED, 1, 65536);
    const char *fc = cr_pd_widths(p, p->hyper, "layer_sizes", &n);
    const char *table = cr_pd_accessor(p, &dim); /* its rows come with their ids */
    if (!table) table = cr_arena_printf(&p->doc->arena, "hash_bucket_size: %lld", (long long)rows);
    for (int i = 0; i < p->n_ids; i++)
        cr_pd_feature(p, p->data_at,
                      "id_feature: {feature_name: %s, expression: \"user:%s\", %s, embedding_dim: "
                      "%lld, embedding_name: embedding}",
                      cr_pd_names(p, &p->ids[i], 1), p->ids[i], table, (long long)dim);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}], backbone: "
              "{blocks: [{name: deep, inputs: [{feature_group_name: all}], mlp: {hidden_units: "
              "%s}}]}, losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}], train_metrics: "
              "[{auc: {}, since_epoch: true}]}",
              cr_pd_id_names(p), fc);
}

/* ---- aitm ---- */

enum { MAX_FEATURES = 4096 };

/* The number of values of a feature of feature_vocabulary; 0: it is not a pair of a name and a
 * number. */
static int64_t values_of(const cr_conf_node *f) {
    int64_t rows = 0;
    bool pair = f->kind == CR_NODE_LIST && f->n == 2 && f->v[0].val->kind == CR_NODE_SCALAR &&
                f->v[1].val->kind == CR_NODE_SCALAR &&
                cr_parse_i64(f->v[1].val->text, f->v[1].val->len, &rows);
    return pair && rows > 0 && rows <= MAX_ROWS ? rows : 0;
}

static const cr_conf_node *vocabulary(cr_pd *p) {
    const cr_conf_node *v = cr_pd_get(p, p->hyper, "feature_vocabulary");
    if (v) cr_tree_ask_all(&p->use, v);
    if (v && v->kind == CR_NODE_LIST && v->n > 0 && v->n <= MAX_FEATURES) return v;
    cr_pd_wrong(p, cr_pd_at(p, p->hyper, "feature_vocabulary"),
                "hyper_parameters.feature_vocabulary must be a list of names and numbers of "
                "values, such as [['101', 238635], ['121', 98]]");
    return NULL;
}

/* Does the first file of a folder begin with a line of names? */
static bool has_names(cr_pd *p, const char *key) {
    const char *dir = cr_pd_str(p, p->runner, key, false);
    cr_arena *a = &p->doc->arena;
    char **names, first = 0;
    size_t n, got = 0;
    cr_fs *f;
    cr_err err;
    if (!dir || !*dir) return false;
    dir = cr_path_join(a, cr_path_dir(a, p->path), dir);
    if (cr_list_dir(a, dir, &names, &n, &err) != CR_OK || n == 0) return false;
    if (cr_fs_open(&f, cr_path_join(a, dir, names[0]), &err) != CR_OK) return false;
    if (cr_fs_pread(f, 0, &first, 1, &got, &err) != CR_OK || got == 0) first = 0;
    cr_fs_close(f);
    return first >= 'A';
}

/* The training file of the sample begins with names and the file of its evaluation does not;
 * PaddleRec leaves the first line of both out. */
void cr_pd_purchases(cr_pd *p) {
    const cr_conf_node *v = vocabulary(p);
    bool names = has_names(p, cr_pd_alone(p) ? "test_data_dir" : "train_data_dir");
    cr_buf b;
    p->apart = true;
    cr_buf_init(&b);
    cr_buf_str(&b, "{input_name: click, input_type: FLOAT}, {input_name: purchase, input_type: "
                   "FLOAT}");
    if (v) p->ids = CR_NEW_N(&p->doc->arena, const char *, v->n);
    for (size_t i = 0; v && i < v->n; i++) {
        const cr_conf_node *f = v->v[i].val;
        int64_t rows = values_of(f);
        if (rows == 0) {
            cr_pd_wrong(p, f->at,
                        "feature_vocabulary: item %zu must be a name and a number of values, such "
                        "as ['101', 238635]",
                        i + 1);
            continue;
        }
        const char *name = cr_pd_names(p, &f->v[0].val->text, 1);
        p->ids[p->n_ids++] = f->v[0].val->text;
        cr_buf_printf(&b, ", {input_name: %s, input_type: INT64}", name);
    }
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: CsvDataset, fg_mode: FG_NONE, with_header: %s, "
              "label_fields: [click, purchase], input_fields: [%s]}",
              names ? "true" : "false", b.data);
    cr_buf_clear(&b);
}

/* The attention of AITM over the tower of purchases (0) and what the clicks tell (1): scores are
 * products of queries and keys. The block ait is the sum of the weighted values. */
static void aitm_attention(cr_buf *b, int64_t dim) {
    static const char *const from[] = {"purchase_tower", "info"};
    static const char *const kinds[] = {"q", "k", "v"};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++) {
            cr_buf_printf(b, "{name: %s%d, inputs: [{block_name: %s}], ", kinds[k], i, from[i]);
            if (i == 0)
                cr_buf_printf(b, "linear: {units: %lld, bias: false}}, ", (long long)dim);
            else
                cr_buf_printf(b, "weights_of: %s0}, ", kinds[k]);
        }
        cr_buf_printf(b,
                      "{name: qk%d, inputs: [{block_name: q%d}, {block_name: k%d}], multiply: {}}, "
                      "{name: sum%d, inputs: [{block_name: qk%d}], sum: {}}, {name: score%d, "
                      "inputs: [{block_name: sum%d}], add: {weights: [%.9g]}}, ",
                      i, i, i, i, i, i, i, 1 / sqrt((double)dim));
    }
    cr_buf_str(b, "{name: values, inputs: [{block_name: v0}, {block_name: v1}], concat: {}}, "
                  "{name: scores, inputs: [{block_name: score0}, {block_name: score1}], softmax: "
                  "{}}, {name: shares, inputs: [{block_name: values}, {block_name: scores}], "
                  "multiply: {}}, {name: ait, inputs: [{block_name: shares}], sum: {fields: "
                  "true}}, ");
}

/* Two towers over the vectors of the features; the second also sees, through attention, what the
 * first has found. Where a purchase seems likelier than a click, the difference is a cost: its mean
 * here, its sum over the batch as shipped. */
void cr_pd_aitm(cr_pd *p) {
    int64_t dim = cr_pd_int(p, p->hyper, "embedding_size", CR_PD_REQUIRED, 1, 65536), n;
    const char *dims = cr_pd_widths(p, p->hyper, "dims", &n), *drops = "";
    const cr_conf_node *sizes = cr_pd_get(p, p->hyper, "dims");
    const cr_conf_node *drop = cr_pd_get(p, p->hyper, "drop_prob");
    const cr_conf_node *v = cr_pd_get(p, p->hyper, "feature_vocabulary");
    double last = 0;
    if (n < 1 || !v || v->kind != CR_NODE_LIST) return;
    int64_t top = atoll(sizes->v[n - 1].val->text);
    if (drop) cr_tree_ask_all(&p->use, drop);
    for (size_t i = 0; drop && drop->kind == CR_NODE_LIST && i < drop->n; i++) {
        const cr_conf_node *d = drop->v[i].val;
        if (d->kind != CR_NODE_SCALAR || !cr_parse_f64(d->text, d->len, &last) || last < 0 ||
            last >= 1) {
            cr_pd_wrong(p, d->at, "drop_prob: item %zu must be a number from 0 to 1", i + 1);
            return;
        }
        drops = cr_arena_printf(&p->doc->arena, "%s%s%g", drops, i ? ", " : "", last);
    }
    if (drop && (drop->kind != CR_NODE_LIST || drop->n != (size_t)n)) {
        cr_pd_wrong(p, drop->at, "drop_prob must have a number for each of dims, %lld",
                    (long long)n);
        return;
    }
    for (size_t i = 0, k = 0; i < v->n && (int)k < p->n_ids; i++) {
        int64_t rows = values_of(v->v[i].val);
        if (rows == 0) continue;
        cr_pd_feature(p, p->data_at,
                      "id_feature: {feature_name: %s, num_buckets: %lld, embedding_dim: %lld}",
                      cr_pd_names(p, &p->ids[k], 1), (long long)rows, (long long)dim);
        k++;
    }
    cr_buf b;
    cr_buf_init(&b);
    static const char *const towers[] = {"click", "purchase"};
    for (int t = 0; t < 2; t++)
        cr_buf_printf(&b,
                      "{name: %s_tower, inputs: [{feature_group_name: all}], mlp: {hidden_units: "
                      "%s, dropout_ratio: [%s]}}, ",
                      towers[t], dims, drops);
    cr_buf_printf(&b,
                  "{name: info, inputs: [{block_name: click_tower}], mlp: {hidden_units: [%lld], "
                  "dropout_ratio: [%g]}}, ",
                  (long long)top, last);
    aitm_attention(&b, top);
    cr_buf_str(&b, "{name: click_layer, inputs: [{block_name: click_tower}], linear: {units: 1}}, "
                   "{name: purchase_layer, inputs: [{block_name: ait}], linear: {units: 1}}, ");
    for (int t = 0; t < 2; t++)
        cr_buf_printf(&b,
                      "{name: %s_prob, inputs: [{block_name: %s_layer}], activation: {function: "
                      "nn.Sigmoid}}, ",
                      towers[t], towers[t]);
    cr_buf_str(&b, "{name: excess, inputs: [{block_name: purchase_prob}, {block_name: "
                   "click_prob}], add: {weights: [1, -1]}}");
    const char *ends = "";
    for (int t = 0; t < 2; t++)
        ends = cr_arena_printf(&p->doc->arena,
                               "%s{tower_name: %s, label_name: %s, inputs: [{block_name: "
                               "%s_layer}], losses: [{binary_cross_entropy: {}}], metrics: [{auc: "
                               "{}}], train_metrics: [{auc: {}, since_epoch: true}]}, ",
                               ends, towers[t], towers[t], towers[t]);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}], backbone: "
              "{blocks: [%s], task_towers: [%s{tower_name: constraint, label_name: purchase, "
              "weight: %g, inputs: [{block_name: excess}], losses: [{excess_loss: {}}], metrics: "
              "[{average_output: {}}]}]}}",
              cr_pd_id_names(p), b.data, ends, 0.6 * (p->o->compat ? (double)p->batch : 1));
    cr_buf_clear(&b);
}
