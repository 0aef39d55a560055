/*
 * paddle_meta.c - PaddleRec's models that learn to learn: metaheac (Zhu et al., 2021: learning to
 * expand audience) and maml (Finn et al., 2017). A task of metaheac is an advertisement; its rows
 * are users, and ids of the advertisement. A task of maml is a few characters; its rows are
 * pictures of them (src/tool/picture_rows.c).
 *
 * `crank run` writes the rows (src/tool/task_rows.c): drawn tasks for a training, a folder for each
 * task for an evaluation. The step is train_config.inner_loop; an evaluation first trains on the
 * users of a task that are known (eval_config.inner_loop), by Adam as PaddleRec's infer.py does.
 *
 * In metaheac a gate over the advertisement weighs the experts, another one the outputs, and the
 * probabilities of the outputs are added up. As shipped, only the first layer of each expert runs
 * (--compat paddlerec); in the paper all do.
 */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "dialect/paddle_int.h"

const char *const cr_paddle_user_columns[] = {"carrier",   "consumptionAbility",
                                              "LBS",       "age",
                                              "education", "gender",
                                              "house",     NULL};
const char *const cr_paddle_list_columns[] = {"interest1", "interest2", "interest3", "kw1",
                                              "kw2",       "topic1",    "topic2",    NULL};
const char *const cr_paddle_ad_columns[] = {
    "advertiserId", "campaignId", "creativeSize", "adCategoryId", "productId", "productType", NULL};
enum { USER, LISTS, AD, KINDS };
static const char *const *const columns[KINDS] = {cr_paddle_user_columns, cr_paddle_list_columns,
                                                  cr_paddle_ad_columns};

cr_paddle_tasks cr_pd_task_sizes(cr_pd *p) {
    return (cr_paddle_tasks){
        .rows = cr_pd_int(p, p->hyper, "batch_size", 32, 1, 1000000),
        .tasks = cr_pd_int(p, p->hyper, "task_count", 5, 1, 100000),
    };
}

void cr_pd_ad_tasks(cr_pd *p) {
    cr_paddle_tasks s = cr_pd_task_sizes(p);
    cr_buf b;
    cr_buf_init(&b);
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; columns[k][i]; i++)
            cr_buf_printf(&b, ", {input_name: %s, input_type: %s}", columns[k][i],
                          k == LISTS ? "ARRAY_INT64" : "INT64");
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \";\", list_separator: \" \"}, input_fields: "
              "[{input_name: label, input_type: INT64}%s]}",
              b.data);
    cr_buf_clear(&b);
    p->fixed_batch = 2 * s.rows * s.tasks;
    p->fixed_eval = s.rows;
}

/* The features of one kind, each with a table of its own, whose size max_idxs tells; returns their
 * names. */
static const char *features(cr_pd *p, const cr_conf_node *sizes, int kind, int64_t dim) {
    const char *names = "";
    int n = 0;
    for (; columns[kind][n]; n++)
        names = cr_arena_printf(&p->doc->arena, "%s%s%s", names, n ? ", " : "", columns[kind][n]);
    if (!sizes || sizes->kind != CR_NODE_LIST || sizes->n != (size_t)n) {
        cr_pd_wrong(p, sizes ? sizes->at : cr_pd_at(p, p->hyper, "max_idxs"),
                    "max_idxs must be three lists of 7, 7 and 6 largest ids, those of %s, of %s "
                    "and of %s",
                    "the user", "the user's lists", "the advertisement");
        p->no_columns = true;
        return names;
    }
    for (int i = 0; i < n; i++) {
        const cr_conf_node *v = sizes->v[i].val;
        int64_t largest = 0;
        if (v->kind != CR_NODE_SCALAR || !cr_parse_i64(v->text, v->len, &largest) || largest < 0 ||
            largest >= CR_PD_MAX_ROWS)
            cr_pd_wrong(p, v->at, "the largest id of %s must be a whole number from 0 on",
                        columns[kind][i]);
        cr_pd_feature(p, p->data_at,
                      "id_feature: {feature_name: %s, num_buckets: %lld, embedding_dim: %lld, "
                      "init_fn: nn.init.xavier_uniform_%s}",
                      columns[kind][i], (long long)largest + 1, (long long)dim,
                      kind == LISTS ? ", pooling: mean" : "");
    }
    return names;
}

/* An attention over the advertisement: two layers and a softmax over n. */
static void put_gate(cr_buf *b, const char *name, long long units, long long n) {
    cr_buf_printf(b,
                  "{name: %s_hidden, inputs: [{block_name: about}], mlp: {hidden_units: [%lld]}}, "
                  "{name: %s_scores, inputs: [{block_name: %s_hidden}], linear: {units: %lld}}, "
                  "{name: %s, inputs: [{block_name: %s_scores}], softmax: {}}, ",
                  name, units, name, name, n, name, name);
}

static void put_loops(cr_pd *p, const cr_paddle_tasks *s) {
    double inner = cr_pd_num(p, p->hyper, "local_lr", 0.0002, 0, 1e6);
    double fit = cr_pd_num(p, p->optimizer, "local_test_learning_rate", 0.001, 0, 1e6);
    int64_t passes = cr_pd_int(p, p->runner, "infer_train_epoch", 2, 1, 1000000);
    cr_pd_put(p, cr_pd_at(p, p->hyper, "local_lr"),
              "train_config: {inner_loop: {support_rows: %lld, query_rows: %lld, sgd_optimizer: "
              "{lr: %.9g, momentum: 0}}}",
              (long long)s->rows, (long long)s->rows, inner);
    if (p->o->part != CR_DIALECT_TRAIN)
        cr_pd_put(p, cr_pd_at(p, p->optimizer, "local_test_learning_rate"),
                  "eval_config: {inner_loop: {steps: %lld, adam_optimizer: {lr: %.9g}}}",
                  (long long)passes, fit);
}

void cr_pd_metaheac(cr_pd *p) {
    cr_pd_map h = p->hyper;
    cr_paddle_tasks s = cr_pd_task_sizes(p);
    long long dim = (long long)cr_pd_int(p, h, "embed_dim", CR_PD_REQUIRED, 1, 65536);
    long long experts = (long long)cr_pd_int(p, h, "num_expert", CR_PD_REQUIRED, 1, 1024);
    long long outputs = (long long)cr_pd_int(p, h, "num_output", CR_PD_REQUIRED, 1, 1024);
    int64_t n = 0;
    const char *layers = cr_pd_widths(p, h, "mlp_dims", &n);
    const cr_conf_node *widths = cr_pd_get(p, h, "mlp_dims");
    const cr_conf_node *sizes = cr_pd_get(p, h, "max_idxs");
    if (sizes) cr_tree_ask_all(&p->use, sizes);
    if (n < 1 || widths->v[0].val->kind != CR_NODE_SCALAR ||
        widths->v[n - 1].val->kind != CR_NODE_SCALAR)
        return; /* it was told */
    const char *last = widths->v[n - 1].val->text, *first = widths->v[0].val->text;
    int64_t units = 0;
    if (!cr_parse_i64(last, strlen(last), &units)) return;
    if (p->o->compat && strcmp(first, last) != 0)
        cr_pd_wrong(p, widths->at,
                    "as shipped only the first layer of an expert runs, so it must be as wide as "
                    "the last one; change mlp_dims, or leave --compat paddlerec out");
    const char *names[KINDS];
    for (int k = 0; k < KINDS; k++)
        names[k] =
            features(p,
                     sizes && sizes->kind == CR_NODE_LIST && sizes->n == KINDS ? sizes->v[k].val
                                                                               : NULL,
                     k, dim);
    put_loops(p, &s);
    cr_buf b, list;
    cr_buf_init(&b);
    cr_buf_init(&list);
    put_gate(&b, "gate", units, experts);
    put_gate(&b, "choice", units, outputs);
    for (long long i = 1; i <= experts; i++) {
        cr_buf_printf(&b,
                      "{name: expert_%lld, inputs: [{feature_group_name: user}], mlp: "
                      "{hidden_units: %s}}, ",
                      i, p->o->compat ? cr_arena_printf(&p->doc->arena, "[%s]", first) : layers);
        cr_buf_printf(&list, "%s{block_name: expert_%lld}", i > 1 ? ", " : "", i);
    }
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: user, feature_names: [%s, %s]}, "
              "{group_name: ad, feature_names: [%s]}], backbone: {blocks: [{name: usual, inputs: "
              "[{feature_group_name: user}], mean: {fields: true}}, {name: about, inputs: "
              "[{block_name: usual}, {feature_group_name: ad}], concat: {}}, %s{name: experts, "
              "inputs: [%s], concat: {}}, {name: weighed, inputs: [{block_name: experts}, "
              "{block_name: gate}], multiply: {}}, {name: mixed, inputs: [{block_name: weighed}], "
              "sum: {fields: true}}, {name: outputs, inputs: [{block_name: mixed}], linear: "
              "{units: %lld}}, {name: chances, inputs: [{block_name: outputs}], activation: "
              "{function: nn.Sigmoid}}, {name: shares, inputs: [{block_name: chances}, "
              "{block_name: choice}], multiply: {}}, {name: chance, inputs: [{block_name: "
              "shares}], sum: {}}]}, losses: [{log_loss: {epsilon: 1e-12}}], metrics: [{auc: {}}], "
              "train_metrics: [{auc: {}, since_epoch: true}]}",
              names[USER], names[LISTS], names[AD], b.data, list.data, outputs);
    cr_buf_clear(&b);
    cr_buf_clear(&list);
}

/* ---- maml ---- */

#define TASKS 3200 /* that PaddleRec's reader draws for an epoch */

/* PaddleRec's evaluation takes the first task of each batch. */
cr_paddle_pictures cr_pd_picture_sizes(cr_pd *p, bool infer) {
    cr_pd_map h = p->hyper;
    int64_t batch = cr_pd_int(p, p->runner, "infer_batch_size", 32, 1, TASKS);
    return (cr_paddle_pictures){
        .tasks = infer ? TASKS / batch : TASKS,
        .ways = cr_pd_int(p, h, "n_way", 5, 2, 10000),
        .support = cr_pd_int(p, h, "k_spt", 1, 1, 10000),
        .query = cr_pd_int(p, h, "k_query", 15, 1, 10000),
        .size = cr_pd_int(p, h, "imgsize", 28, 16, 1024),
    };
}

void cr_pd_pictures(cr_pd *p) {
    cr_paddle_pictures s = cr_pd_picture_sizes(p, false);
    p->rows_per_line = s.ways * (s.support + s.query);
    p->fixed_eval = s.ways * (s.support > s.query ? s.support : s.query);
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \";\", list_separator: \" \"}, input_fields: "
              "[{input_name: label, input_type: INT64}, {input_name: picture, input_type: "
              "ARRAY_FLOAT}]}");
}

/* Four convolutions of 3 x 3 over `size` lines, each with a batch norm and the largest of 2 x 2. */
static void put_layers(cr_pd *p, cr_buf *b, int64_t size, int64_t filters) {
    for (int i = 1; i <= 4; i++, size /= 2) {
        const char *from = i == 1 ? "feature_group_name: picture"
                                  : cr_arena_printf(&p->doc->arena, "block_name: conv_%d", i - 1);
        cr_buf_printf(b,
                      "{name: conv_%d, inputs: [{%s}], conv: {channels: %lld, height: %lld, "
                      "filters: %lld, padding: SAME, use_bn: true, pool_height: 2, pool_width: "
                      "2}}, ",
                      i, from, (long long)(i == 1 ? 1 : filters), (long long)size,
                      (long long)filters);
    }
}

/* First values as Kaiming and Xavier have them. */
static const char *first_values(cr_pd *p, int64_t filters, int64_t last, int64_t ways) {
    const char *out = cr_arena_printf(
        &p->doc->arena,
        "{regex_pattern: 'model[.].*[.]bias', init_fn: nn.init.zeros_}, {regex_pattern: "
        "'model[.]blocks[.]scores[.]weight', init_fn: 'nn.init.normal_,std=%.9g'}",
        sqrt(2.0 / (double)(last + ways)));
    for (int i = 1; i <= 4; i++)
        out = cr_arena_printf(&p->doc->arena,
                              "%s, {regex_pattern: 'model[.]blocks[.]conv_%d[.]weight', init_fn: "
                              "'nn.init.normal_,std=%.9g'}",
                              out, i, sqrt(2.0 / (9.0 * (double)(i == 1 ? 1 : filters))));
    return out;
}

/* The kernel is 3 x 3 with a step of 1, and zeros keep the size of the picture. */
static void check_kernel(cr_pd *p) {
    cr_pd_map h = p->hyper;
    int64_t n = 0, stride = cr_pd_int(p, h, "conv_stride", 1, 1, 1000),
            padding = cr_pd_int(p, h, "conv_padding", 1, 0, 1000);
    const char *kernel = cr_pd_widths(p, h, "conv_kernal", &n);
    if (stride != 1 || padding != 1 || strcmp(kernel, "[3, 3]") != 0)
        cr_pd_wrong(p, cr_pd_at(p, h, "conv_kernal"),
                    "conv_kernal must be [3, 3] with conv_stride 1 and conv_padding 1, as "
                    "PaddleRec's config has them");
}

void cr_pd_maml(cr_pd *p) {
    cr_pd_map h = p->hyper,
              base = {cr_pd_get(p, h, "base_optimizer"), "hyper_parameters.base_optimizer"};
    cr_paddle_pictures s = cr_pd_picture_sizes(p, false);
    int64_t filters = cr_pd_int(p, h, "bn_channel", 64, 1, 4096), end = s.size / 16;
    int64_t steps = cr_pd_int(p, h, "update_step", 5, 1, 1000000);
    int64_t tests = cr_pd_int(p, h, "update_step_test", 5, 1, 1000000);
    double rate = cr_pd_num(p, base, "learning_rate", 0.1, 0, 1e6);
    cr_pd_idle(p, base, "class"); /* as shipped it is SGD */
    cr_pd_idle(p, base, "strategy");
    check_kernel(p);
    cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: picture, value_dim: %lld}",
                  (long long)(s.size * s.size));
    cr_pd_put(p, p->model_at,
              "train_config: {inner_loop: {support_rows: %lld, query_rows: %lld, steps: %lld, "
              "sgd_optimizer: {lr: %.9g, momentum: 0}}}",
              (long long)(s.ways * s.support), (long long)(s.ways * s.query), (long long)steps,
              rate);
    if (p->o->part != CR_DIALECT_TRAIN)
        cr_pd_put(p, p->model_at,
                  "eval_config: {inner_loop: {steps: %lld, sgd_optimizer: {lr: %.9g, momentum: 0}, "
                  "batch_statistics: true}}",
                  (long long)tests, rate);
    cr_buf b;
    cr_buf_init(&b);
    put_layers(p, &b, s.size, filters);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: picture, feature_names: [picture]}], "
              "num_class: %lld, backbone: {blocks: [%s{name: scores, inputs: [{block_name: "
              "conv_4}], linear: {units: %lld}}]}, losses: [{softmax_cross_entropy: {}}], metrics: "
              "[{accuracy: {}}], train_metrics: [{accuracy: {}, since_epoch: true}], first_values: "
              "[%s]}",
              (long long)s.ways, b.data, (long long)s.ways,
              first_values(p, filters, filters * end * end, s.ways));
    cr_buf_clear(&b);
}
