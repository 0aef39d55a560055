/*
 * paddle_tasks.c - PaddleRec's models with readers of their own: mmoe, share_bottom, ple, esmm,
 * din, ncf, slot_dnn.
 *
 * The census models predict income and marital status. PaddleRec has two scores per task and a
 * softmax; so have these.
 */
#include <stdlib.h>
#include <string.h>

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

static void census_group(cr_pd *p, const char *model) {
    cr_pd_dense_features(p);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: all, feature_names: [%s]}], %s}",
              cr_pd_dense_names(p), model);
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
    census_group(p, cr_arena_printf(&p->doc->arena,
                                    "mmoe: {num_expert: %lld, expert_mlp: {hidden_units: [%lld]}, "
                                    "task_towers: [%s]}",
                                    (long long)experts, (long long)size, census_towers(p)));
}

void cr_pd_share_bottom(cr_pd *p) {
    int64_t size = cr_pd_int(p, p->hyper, "bottom_size", CR_PD_REQUIRED, 1, 1048576);
    check_tasks(p, p->old ? "tower_nums" : "task_num");
    census_group(p, cr_arena_printf(&p->doc->arena,
                                    "simple_multi_task: {bottom_mlp: {hidden_units: [%lld]}, "
                                    "task_towers: [%s]}",
                                    (long long)size, census_towers(p)));
}

void cr_pd_ple(cr_pd *p) {
    int64_t own = cr_pd_int(p, p->hyper, "exp_per_task", CR_PD_REQUIRED, 1, 1024);
    int64_t shared = cr_pd_int(p, p->hyper, "shared_num", CR_PD_REQUIRED, 1, 1024);
    int64_t levels = cr_pd_int(p, p->hyper, "level_number", 1, 1, 16);
    int64_t size = cr_pd_int(p, p->hyper, "expert_size", CR_PD_REQUIRED, 1, 1048576);
    const char *nets = "";
    check_tasks(p, "task_num");
    for (int64_t i = 0; i < levels; i++)
        nets =
            cr_arena_printf(&p->doc->arena,
                            "%s%s{network_name: level%lld, expert_num_per_task: %lld, share_num: "
                            "%lld, task_expert_net: {hidden_units: [%lld]}, share_expert_net: "
                            "{hidden_units: [%lld]}}",
                            nets, i ? ", " : "", (long long)i, (long long)own, (long long)shared,
                            (long long)size, (long long)size);
    census_group(p, cr_arena_printf(&p->doc->arena,
                                    "ple: {extraction_networks: [%s], task_towers: [%s]}", nets,
                                    census_towers(p)));
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

void cr_pd_din(cr_pd *p) {
    int64_t items = cr_pd_int(p, p->hyper, "item_count", CR_PD_REQUIRED, 1, MAX_ROWS);
    int64_t cats = cr_pd_int(p, p->hyper, "cat_count", CR_PD_REQUIRED, 1, MAX_ROWS);
    int64_t item = cr_pd_int(p, p->hyper, "item_emb_size", CR_PD_REQUIRED, 1, 65536);
    int64_t cat = cr_pd_int(p, p->hyper, "cat_emb_size", CR_PD_REQUIRED, 1, 65536);
    const char *act = cr_pd_str(p, p->hyper, "act", false);
    const char *fn = act && strcmp(act, "relu") == 0 ? "nn.ReLU" : "nn.Sigmoid";
    if (act && strcmp(act, "relu") != 0 && strcmp(act, "sigmoid") != 0)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "act"), "act is '%.40s'; use sigmoid or relu", act);
    static const char one[] = "%s: {feature_name: %s, num_buckets: %lld, embedding_dim: %lld, "
                              "embedding_name: %s_emb, init_fn: \"nn.init.xavier_uniform_\"}";
    cr_pd_feature(p, p->data_at, one, "id_feature", "item", (long long)items, (long long)item,
                  "item");
    cr_pd_feature(p, p->data_at, one, "id_feature", "cat", (long long)cats, (long long)cat, "cat");
    cr_pd_feature(
        p, p->data_at,
        "sequence_feature: {sequence_name: hist, sequence_length: 1000, sequence_delim: \" "
        "\", features: [{id_feature: {feature_name: item, num_buckets: %lld, "
        "embedding_dim: %lld, embedding_name: item_emb, init_fn: "
        "\"nn.init.xavier_uniform_\"}}, {id_feature: {feature_name: cat, num_buckets: "
        "%lld, embedding_dim: %lld, embedding_name: cat_emb, init_fn: "
        "\"nn.init.xavier_uniform_\"}}]}",
        (long long)items, (long long)item, (long long)cats, (long long)cat);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: target, feature_names: [item, cat]}, "
        "{group_name: bias, group_type: WIDE, feature_names: [item]}, {group_name: history, "
        "group_type: SEQUENCE, feature_names: [item, cat, hist__item, hist__cat]}], backbone: "
        "{wide_embedding_dim: 1, wide_init_fn: nn.init.zeros_, blocks: [{name: pooled, inputs: "
        "[{feature_group_name: history}], din: {attn_mlp: {hidden_units: [80, 40], activation: "
        "%s}}}, {name: user, inputs: [{block_name: pooled}], linear: {units: %lld}}, {name: "
        "deep, inputs: [{block_name: user}, {feature_group_name: target}], mlp: {hidden_units: "
        "[80, 40], activation: %s}}, {name: top, inputs: [{block_name: deep}], linear: {units: "
        "1}}, {name: score, inputs: [{block_name: top}, {feature_group_name: bias}], add: "
        "{}}]}, losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}], train_metrics: "
        "[{auc: {}, since_epoch: true}]}",
        fn, (long long)(item + cat), fn);
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
