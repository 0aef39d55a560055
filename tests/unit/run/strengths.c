/*
 * strengths.c - each layer over steps and pairs does what it is for: on made-up data with a rule
 * that only such a layer can express, it comes near the best score, and a plain layer mostly does
 * not.
 *
 * All rules are over a history of 1 to 6 items of 20 and a target item:
 *   order      the item 0 comes before the item 1: GRU
 *   beside     the item 0 stands directly before the item 1: seq_conv
 *   both       a step and its partner (two items that belong together) are in the history,
 * anywhere: transformer newest     the target belongs to the group of the newest item: dien either
 * the target belongs to one of two groups that the history mixes: capsules
 *
 * And counterfactual_loss (ESCM2) finds how often rows would be bought, though only clicked ones
 * can be, and clicks are not drawn evenly.
 */
#include "base/rng.h"
#include "unit/run/run_test.h"

#define ROWS  6000
#define ITEMS 20

static uint64_t drawn;
static int below(int n) {
    return (int)cr_rng_below(5, drawn++, (uint64_t)n);
}

/* Makes a history, a target and the labels of all rules. */
static void one_row(cr_buf *out) {
    int n = 2 + below(5), h[6], target = below(ITEMS), label[5];
    for (int i = 0; i < n; i++)
        h[i] = below(ITEMS);
    /* half of the rows hold what the rules are about, in either order */
    if (below(2)) {
        int at = below(n - 1), first = below(2);
        h[at] = first;
        h[at + 1 + below(n - 1 - at)] = 1 - first;
    }
    int where[2] = {-1, -1};
    for (int i = 0; i < n; i++)
        if (h[i] < 2 && where[h[i]] < 0) where[h[i]] = i;
    label[0] = where[0] >= 0 && where[1] >= 0 ? where[0] < where[1] : below(2);
    label[1] = 0;
    for (int i = 0; i + 1 < n; i++)
        label[1] |= h[i] == 0 && h[i + 1] == 1;
    /* two that belong together, or two that do not, among two others */
    int a = below(ITEMS / 2), fits = below(2), turn = below(4), four[4];
    int b = fits ? (a * 3 + 1) % 10 : (a * 3 + 2 + below(9)) % 10;
    for (int i = 0; i < 4; i++)
        four[i] = ITEMS + below(4);
    four[turn] = a;
    four[(turn + 1 + below(3)) % 4] = ITEMS / 2 + b;
    label[2] = fits;
    label[3] = h[n - 1] / 5 == target / 5;
    label[4] = 0;
    for (int i = 0; i < n; i++)
        label[4] |= h[i] / 2 == target / 2;
    for (int i = 0; i < 5; i++)
        cr_buf_printf(out, "%d,", label[i]);
    cr_buf_printf(out, "%d,%d", target, target);
    for (int k = 0; k < 2; k++) /* once more for narrow vectors */
        for (int i = 0; i < n; i++)
            cr_buf_printf(out, "%s%d", i ? ";" : ",", h[i]);
    cr_buf_printf(out, ",%d;%d;%d;%d\n", four[0], four[1], four[2], four[3]);
}

static void make_data(void) {
    for (int f = 0; f < 2; f++) {
        cr_buf b;
        cr_buf_init(&b);
        cr_buf_str(&b, "order,beside,both,newest,either,target,target2,clicks,clicks2,four\n");
        for (int i = 0; i < (f ? ROWS / 4 : ROWS); i++)
            one_row(&b);
        CHECK_INT(cr_file_write(in_root(f ? "eval.csv" : "train.csv"), b.data, b.n, NULL), 0);
        cr_buf_clear(&b);
    }
    const char *config =
        "train_config:\n"
        "  sparse_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}\n"
        "  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}\n"
        "  num_epochs: 6\n"
        "  use_tensorboard: false\n"
        "data_config: {dataset_type: CsvDataset, batch_size: 64, fg_mode: FG_NONE, with_header: "
        "true, label_fields: [order, beside, both, newest, either]}\n"
        "feature_configs:\n"
        "- id_feature: {feature_name: target, num_buckets: 20, embedding_dim: 8, embedding_name: "
        "item}\n"
        "- sequence_id_feature: {feature_name: clicks, sequence_length: 10, sequence_delim: ';', "
        "num_buckets: 20, embedding_dim: 8, embedding_name: item}\n"
        "- id_feature: {feature_name: target2, num_buckets: 20, embedding_dim: 2, embedding_name: "
        "item2}\n"
        "- sequence_id_feature: {feature_name: clicks2, sequence_length: 10, sequence_delim: ';', "
        "num_buckets: 20, embedding_dim: 2, embedding_name: item2}\n"
        "- sequence_id_feature: {feature_name: four, sequence_length: 10, sequence_delim: ';', "
        "num_buckets: 24, embedding_dim: 8}\n";
    CHECK_INT(cr_file_write(in_root("base.yaml"), config, strlen(config), NULL), 0);
}

/* Trains a model and returns the metric of its evaluation whose name begins so. */
static double value_of(const char *set, const char *metric) {
    static char dir[600], train[600], eval[600];
    snprintf(dir, sizeof dir, "%s/model", root);
    CHECK_INT(cr_rmtree(dir, NULL), 0);
    snprintf(train, sizeof train, "%s/train.csv", root);
    snprintf(eval, sizeof eval, "%s/eval.csv", root);
    const char *sets[] = {set};
    cr_train_opts o = {.config = {.path = in_root("base.yaml"),
                                  .train_input_path = train,
                                  .eval_input_path = eval,
                                  .model_dir = dir,
                                  .set = sets,
                                  .n_set = 1},
                       .threads = 2};
    cr_diag diag;
    cr_diag_init(&diag);
    cr_train_result r;
    CHECK_INT(cr_train(&o, &r, &diag), 0);
    double value = NAN;
    for (int k = 0; k < r.eval.n; k++)
        if (strncmp(r.eval.v[k].name, metric, strlen(metric)) == 0) value = r.eval.v[k].value;
    for (size_t i = 0; i < diag.n; i++)
        if (diag.v[i].sev == CR_SEV_ERROR) fprintf(stderr, "%s\n", diag.v[i].msg);
    cr_arena_clear(&r.arena);
    cr_diag_clear(&diag);
    return value;
}

/* The AUC of a model of these blocks for one of the labels. */
static double auc_of(const char *label, const char *blocks) {
    static char set[4000];
    snprintf(set, sizeof set,
             "model_config={feature_groups: [{group_name: seq, group_type: SEQUENCE, "
             "feature_names: [target, clicks]}, {group_name: target, feature_names: [target]}, "
             "{group_name: seq2, group_type: SEQUENCE, feature_names: [clicks2]}, {group_name: "
             "target2, feature_names: [target2]}, {group_name: four, group_type: SEQUENCE, "
             "feature_names: [four]}], "
             "backbone: {blocks: [%s], task_towers: [{tower_name: t, label_name: %s, mlp: "
             "{hidden_units: [16]}, losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}], "
             "inputs: [{block_name: x}]}]}}",
             blocks, label);
    return value_of(set, "auc");
}

#define IN_SEQ     "inputs: [{feature_group_name: seq}]"
#define IN_TARGET  "{feature_group_name: target}"
#define IN_TARGET2 "{feature_group_name: target2}"

TEST(each_where_it_is_strong) {
    static const struct {
        const char *label, *blocks, *plain;
        double least, most; /* of the AUC of the layer, of the plain one */
    } cases[] = {
        {"order", "{name: x, " IN_SEQ ", gru: {hidden_size: 12}}",
         "{name: x, " IN_SEQ ", pooling: {pooling_type: sum}}", 0.72, 0.62},
        {"beside",
         "{name: c, " IN_SEQ ", seq_conv: {filters: 12, width: 2}}, {name: a, inputs: "
         "[{block_name: c}], activation: {}}, {name: x, inputs: [{block_name: a}], pooling: "
         "{pooling_type: max}}",
         "{name: x, " IN_SEQ ", pooling: {pooling_type: sum}}", 0.99, 0.93},
        {"both",
         "{name: x, inputs: [{feature_group_name: four}], transformer: {num_heads: 4, ff_units: "
         "32, num_layers: 2}}",
         "{name: x, inputs: [{feature_group_name: four}], pooling: {pooling_type: sum}}", 0.95,
         1.01},
        {"newest",
         "{name: d, " IN_SEQ ", dien: {attn_mlp: {hidden_units: [16]}}}, {name: x, inputs: "
         "[{block_name: d}, " IN_TARGET "], concat: {}}",
         "{name: d, " IN_SEQ ", din: {attn_mlp: {hidden_units: [16]}}}, {name: x, inputs: "
         "[{block_name: d}, " IN_TARGET "], concat: {}}",
         0.97, 0.93},
        {"either",
         "{name: k, inputs: [{feature_group_name: seq2}], capsules: {num_interests: 5, dim: 2, "
         "max_seq_length: 6}}, {name: m, inputs: [{block_name: k}, " IN_TARGET2
         "], label_attention: {power: 3}}, {name: x, inputs: [" IN_TARGET2
         ", {block_name: m}, {block_name: k}], similarity: {}}",
         "{name: p, inputs: [{feature_group_name: seq2}], pooling: {}}, {name: m, inputs: "
         "[{block_name: p}], linear: {units: 2}}, {name: x, inputs: [" IN_TARGET2
         ", {block_name: m}], similarity: {}}",
         0.83, 0.83},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double strong = auc_of(cases[i].label, cases[i].blocks);
        double plain = auc_of(cases[i].label, cases[i].plain);
        fprintf(stderr, "%s: AUC %.4f, plain %.4f\n", cases[i].label, strong, plain);
        CHECK(strong > cases[i].least);
        CHECK(plain < cases[i].most);
        if (cases[i].most < 1) CHECK(strong > plain + 0.03);
    }
}

/* ---- purchases after clicks ---- */

/* Rows with a = 1 are clicked in 9 of 10 cases and then bought in 8 of 10, those with a = 0 in 1
 * and 2 of 10. If all rows were clicked, half of them would be bought; of the clicked ones it is
 * about three quarters. The network of purchases sees only b, which tells nothing. */
static void make_clicks(void) {
    for (int f = 0; f < 2; f++) {
        cr_buf b;
        cr_buf_init(&b);
        cr_buf_str(&b, "click,buy,a,b\n");
        for (int i = 0; i < (f ? ROWS / 4 : ROWS); i++) {
            int a = below(2), click = below(10) < (a ? 9 : 1);
            int buy = click && below(10) < (a ? 8 : 2);
            cr_buf_printf(&b, "%d,%d,%d,%d\n", click, buy, a, below(4));
        }
        CHECK_INT(cr_file_write(in_root(f ? "eval.csv" : "train.csv"), b.data, b.n, NULL), 0);
        cr_buf_clear(&b);
    }
    const char *config =
        "train_config:\n"
        "  sparse_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}\n"
        "  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}\n"
        "  num_epochs: 6\n"
        "  use_tensorboard: false\n"
        "data_config: {dataset_type: CsvDataset, batch_size: 64, fg_mode: FG_NONE, with_header: "
        "true, label_fields: [click, buy]}\n"
        "feature_configs:\n"
        "- id_feature: {feature_name: a, num_buckets: 2, embedding_dim: 4}\n"
        "- id_feature: {feature_name: b, num_buckets: 4, embedding_dim: 4}\n";
    CHECK_INT(cr_file_write(in_root("base.yaml"), config, strlen(config), NULL), 0);
}

/* The mean prediction of a purchase over all rows; more: keys of its tower, behind: other towers.
 */
static double bought(const char *more, const char *behind) {
    static char set[2000];
    snprintf(set, sizeof set,
             "model_config={feature_groups: [{group_name: a, feature_names: [a]}, {group_name: b, "
             "feature_names: [b]}], backbone: {blocks: [{name: ctr, inputs: [{feature_group_name: "
             "a}], linear: {units: 1}}, {name: cvr, inputs: [{feature_group_name: b}], linear: "
             "{units: 1}}%s], task_towers: [{tower_name: ctr, label_name: click, losses: "
             "[{binary_cross_entropy: {}}], metrics: [{auc: {}}], inputs: [{block_name: ctr}]}, "
             "{tower_name: cvr, label_name: buy, losses: [{binary_cross_entropy: {}}], metrics: "
             "[{average_output: {}}], inputs: [{block_name: cvr}]%s}%s]}}",
             strstr(behind, "other") ? ", {name: other, inputs: [{feature_group_name: b}], linear: "
                                       "{units: 1}}"
                                     : "",
             more, behind);
    return value_of(set, "average_output");
}

TEST(clicks_that_are_not_drawn_evenly) {
#define LOSS(n, more)                                                                              \
    ", {tower_name: all, label_name: buy, num_class: " #n                                          \
    ", losses: [{counterfactual_loss: {condition: click}}], inputs: [{block_name: ctr}, "          \
    "{block_name: cvr}" more "]}"
    make_clicks();
    double clicked = bought(", task_space_indicator_label: click, out_task_space_weight: 0", "");
    double weighed = bought(", weight: 0", LOSS(2, ""));
    double doubly = bought(", weight: 0", LOSS(3, ", {block_name: other}"));
    fprintf(stderr, "bought: %.3f of the clicked, %.3f weighed, %.3f doubly robust\n", clicked,
            weighed, doubly);
    CHECK(clicked > 0.68);
    CHECK(fabs(weighed - 0.5) < 0.06);
    CHECK(fabs(doubly - 0.5) < 0.08);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(each_where_it_is_strong),
                                   CASE(clicks_that_are_not_drawn_evenly)};
    if (!root_open("strengths")) return 1;
    t_name = "data";
    make_data();
    int rc = t_run(cases, sizeof cases / sizeof cases[0], argc, argv);
    return root_close(rc);
}
