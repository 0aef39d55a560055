/*
 * paddle_meta.c - PaddleRec's models that learn to learn: metaheac (Zhu et al., 2021: learning to
 * expand audience). A task is an advertisement; its rows are users, and ids of the advertisement.
 *
 * `crank run` writes the rows (src/tool/task_rows.c): drawn tasks for a training, a folder for each
 * task for an evaluation. The step is train_config.inner_loop; an evaluation first trains on the
 * users of a task that are known (eval_config.inner_loop), by Adam as PaddleRec's infer.py does.
 *
 * A gate over the advertisement weighs the experts, another one the outputs, and the probabilities
 * of the outputs are added up. As shipped, only the first layer of each expert runs (--compat
 * paddlerec); in the paper all do.
 */
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
    if (n < 1) return;
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
