/*
 * corners.c - runs at the edges of what a config may say: names of any length, group types, runs
 * that are over already, checkpoints chosen and taken over. The data is tiny; what is looked at is
 * what a run writes.
 */
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/stop.h"
#include "ckpt/ckpt.h"
#include "harness.h"
#include "run/run.h"

static char root[256];

static const char config[] =
    "data_config: {dataset_type: CsvDataset, with_header: true, "
    "label_fields: [y], batch_size: 32}\n"
    "train_config:\n"
    "  num_epochs: 2\n"
    "  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, "
    "constant_learning_rate: {}}\n"
    "  dense_optimizer: {adam_optimizer: {lr: 0.01}, "
    "constant_learning_rate: {}}\n"
    "feature_configs:\n"
    "  - id_feature: {feature_name: a, num_buckets: 10, embedding_dim: 8}\n"
    "  - id_feature: {feature_name: b, num_buckets: 7, embedding_dim: 8}\n"
    "  - raw_feature: {feature_name: x}\n"
    "model_config:\n"
    "  feature_groups:\n"
    "    - {group_name: wide, group_type: WIDE, feature_names: [a, b]}\n"
    "    - {group_name: deep, feature_names: [a, b, x]}\n"
    "  wide_and_deep: {deep: {hidden_units: [8]}}\n"
    "  losses: [{binary_cross_entropy: {}}]\n"
    "  metrics: [{auc: {}}]\n";

static const char *in_root(const char *name) {
    static char buf[8][512];
    static int k;
    char *b = buf[k++ % 8];
    snprintf(b, sizeof(buf[0]), "%s/%s", root, name);
    return b;
}

static void write_text(const char *name, const char *text) {
    CHECK_INT(cr_file_write(in_root(name), text, strlen(text), NULL), 0);
}

/* 200 rows: y, a, b, x */
static void make_data(void) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "y,a,b,x\n");
    for (int i = 0; i < 200; i++)
        cr_buf_printf(&b, "%d,%d,%d,%d.5\n", i * 7 % 10 < 4, i * 7 % 10, i % 7, i % 5);
    write_text("data.csv", b.data);
    cr_buf_clear(&b);
    write_text("config.yaml", config);
}

typedef struct outcome {
    cr_code code;
    cr_train_result r;
    char errors[4096]; /* all of them, and warnings */
} outcome;

static void collect(const cr_diag *d, char *out, size_t size) {
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < d->n && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s\n", d->v[i].msg);
}

/* trains the config with edits (a NULL-ended list) into root/<model> */
static outcome *train_opts(cr_train_opts o, const char *model, const char *const *set) {
    static outcome res;
    memset(&res, 0, sizeof(res));
    cr_diag diag;
    cr_diag_init(&diag);
    char dir[512];
    snprintf(dir, sizeof(dir), "%s/%s", root, model);
    if (!o.config.path) o.config.path = in_root("config.yaml");
    o.config.train_input_path = in_root("data.csv");
    o.config.model_dir = dir;
    o.config.set = set;
    while (set && set[o.config.n_set])
        o.config.n_set++;
    o.threads = 2;
    res.code = cr_train(&o, &res.r, &diag);
    collect(&diag, res.errors, sizeof(res.errors));
    cr_arena_clear(&res.r.arena);
    cr_diag_clear(&diag);
    return &res;
}

static outcome *train(const char *model, const char *const *set) {
    return train_opts((cr_train_opts){0}, model, set);
}

/* columns of a tensor of a checkpoint whose name ends so; 0: no such tensor */
static int64_t columns_of(const char *ckpt, const char *ending) {
    cr_ckpt *c;
    int64_t cols = 0;
    CHECK_INT(cr_ckpt_open(&c, ckpt, NULL), 0);
    for (int i = 0; i < cr_ckpt_count(c); i++) {
        const cr_ckpt_info *t = cr_ckpt_at(c, i);
        size_t n = strlen(t->name), k = strlen(ending);
        if (!t->optimizer && n >= k && strcmp(t->name + n - k, ending) == 0)
            cols = t->n_dims > 1 ? t->shape[1] : 1;
    }
    cr_ckpt_close(c);
    return cols;
}

TEST(names_may_be_long) {
    static char name[400], tower[1000], feature[600];
    memset(name, 'n', sizeof(name) - 1);
    snprintf(
        tower, sizeof(tower),
        "model_config={feature_groups: [{group_name: %s, feature_names: [a, x]}], multi_tower: "
        "{towers: [{input: %s, mlp: {hidden_units: [4]}}]}, losses: [{binary_cross_entropy: "
        "{}}]}",
        name, name);
    outcome *o = train("long_group", (const char *[]){tower, NULL});
    CHECK_INT(o->code, 0);
    static char tensor[600];
    snprintf(tensor, sizeof(tensor), "towers.%s.mlp.0.perceptron.0.weight", name);
    CHECK_INT(columns_of(o->r.checkpoint, tensor), 9);

    snprintf(feature, sizeof(feature),
             "feature_configs[2]={raw_feature: {feature_name: x, embedding_name: %s, "
             "embedding_dim: 3, mlp: {}}}",
             name);
    o = train("dense_emb", (const char *[]){feature, NULL});
    CHECK_INT(o->code, 0);
    CHECK_INT(columns_of(o->r.checkpoint, "dense_embs.mlp#3.proj_w_x.weight"), 1);
}

TEST(group_type_decides_on_wide_tables) {
    outcome *o =
        train("wide", (const char *[]){"model_config.wide_and_deep.wide_embedding_dim=3", NULL});
    CHECK_INT(o->code, 0);
    CHECK_INT(columns_of(o->r.checkpoint, ".a_emb_wide.weight"), 3);
    CHECK_INT(columns_of(o->r.checkpoint, ".a_emb.weight"), 8);

    o = train("no_wide", (const char *[]){"model_config.feature_groups[0].group_type=DEEP", NULL});
    CHECK_INT(o->code, 0);
    CHECK(strstr(o->errors, "wide_embedding_dim does not apply") != NULL);
    CHECK_INT(columns_of(o->r.checkpoint, ".a_emb_wide.weight"), 0);
    CHECK_INT(columns_of(o->r.checkpoint, ".a_emb.weight"), 8);

    o = train("wide_tower",
              (const char *[]){"model_config={feature_groups: [{group_name: g, group_type: WIDE, "
                               "feature_names: [a]}], multi_tower: {towers: [{input: g}]}, losses: "
                               "[{binary_cross_entropy: {}}]}",
                               NULL});
    CHECK_INT(o->code, 0);
    CHECK_INT(columns_of(o->r.checkpoint, ".a_emb_wide.weight"), 4);
}

/* the epochs that a checkpoint has finished; -1: no state */
static int64_t epochs_of(const char *ckpt, int64_t *updates) {
    cr_ckpt *c;
    CHECK_INT(cr_ckpt_open(&c, ckpt, NULL), 0);
    const cr_ckpt_state *s = cr_ckpt_get_state(c);
    int64_t n = s ? s->epoch : -1;
    if (s && updates) *updates = s->updates;
    cr_ckpt_close(c);
    return n;
}

/* asking a run that is over to go on changes nothing, and a later one with more epochs trains them
 */
TEST(a_finished_run_stays_as_it_is) {
    const char *two[] = {"train_config.save_checkpoints_epochs=1", NULL};
    const char *three[] = {two[0], "train_config.num_epochs=3", NULL};
    cr_train_opts go_on = {.continue_train = true};
    outcome *o = train("finished", two);
    CHECK_INT(o->code, 0);
    CHECK_INT(o->r.steps, 14);
    static char ckpt[1088];
    snprintf(ckpt, sizeof(ckpt), "%s", o->r.checkpoint);
    CHECK_INT(epochs_of(ckpt, NULL), 2);
    o = train_opts(go_on, "finished", two);
    CHECK_INT(o->code, 0);
    CHECK_INT(o->r.steps, 0);
    CHECK_INT(epochs_of(ckpt, NULL), 2);
    o = train_opts(go_on, "finished", three);
    CHECK_INT(o->code, 0);
    CHECK_INT(o->r.steps, 7);
}

TEST(slopes_fit_their_layer) {
    outcome *o =
        train("slopes",
              (const char *[]){
                  "model_config.wide_and_deep.deep.activation=nn.PReLU(num_parameters=3)", NULL});
    CHECK_INT(o->code, CR_ECONF);
    CHECK(strstr(o->errors, "PReLU has 3 slopes for a layer of 8 units; give 1 or 8"));
    o = train("slopes8",
              (const char *[]){
                  "model_config.wide_and_deep.deep.activation=nn.PReLU(num_parameters=8)", NULL});
    CHECK_INT(o->code, 0);
    o = train("slopes9",
              (const char *[]){
                  "model_config.wide_and_deep.deep.activation=nn.PReLU(num_parameters=1e300)",
                  NULL});
    CHECK_INT(o->code, CR_ECONF);
}

/* a position fits the data it was made with; anything else is told */
TEST(other_data_after_a_pause_is_told) {
    const char *set[] = {"train_config.num_epochs=0", "train_config.num_steps=4", NULL, NULL};
    CHECK_INT(train("position", set)->code, 0);
    set[1] = "train_config.num_steps=5";
    cr_train_opts go_on = {.continue_train = true};
    outcome *o = train_opts(go_on, "position", set);
    CHECK_INT(o->code, 0);
    CHECK_STR(o->errors, "");
    set[1] = "train_config.num_steps=6";
    set[2] = "data_config.batch_size=16";
    o = train_opts(go_on, "position", set);
    CHECK_INT(o->code, 0);
    CHECK(strstr(o->errors, "made with batch_size 32, no shuffle, ") &&
          strstr(o->errors, "now it is batch_size 16"));
}

TEST(a_batch_too_large_is_one_line) {
    char eval[600];
    snprintf(eval, sizeof(eval), "eval_input_path=%s", in_root("data.csv"));
    outcome *o =
        train("huge", (const char *[]){eval, "data_config.eval_batch_size=4000000000", NULL});
    CHECK_INT(o->code, CR_ENOMEM);
    CHECK(strstr(o->errors, "no memory for") != NULL);
}

static void stop_at_2(void *ctx, const cr_progress *p) {
    (void)ctx;
    if (strcmp(p->stage, "train") == 0 && p->step == 2) cr_stop_requested = 1;
}

TEST(a_signal_saves_and_does_not_evaluate) {
    char eval[600];
    snprintf(eval, sizeof(eval), "eval_input_path=%s", in_root("data.csv"));
    outcome *o = train_opts((cr_train_opts){.watch = {.progress = stop_at_2}}, "stopped",
                            (const char *[]){eval, NULL});
    cr_stop_requested = 0;
    CHECK_INT(o->code, CR_ESTOP);
    CHECK(strstr(o->errors, "the checkpoint is saved") != NULL);
    CHECK_INT(epochs_of(o->r.checkpoint, NULL), 0);
}

/* Adam's moments that were taken over go on with their own count of updates */
TEST(fine_tuning_takes_the_age_of_the_moments_over) {
    static char from[1088];
    int64_t updates = 0;
    outcome *o = train("before", NULL);
    CHECK_INT(o->code, 0);
    snprintf(from, sizeof(from), "%s", o->r.checkpoint);
    CHECK_INT(epochs_of(from, &updates), 2);
    CHECK_INT(updates, 14);
    cr_train_opts fine = {.config = {.fine_tune_checkpoint = from}};
    o = train_opts(fine, "after", NULL);
    CHECK_INT(o->code, 0);
    CHECK_INT(o->r.steps, 14);
    CHECK_INT(epochs_of(o->r.checkpoint, &updates), 2);
    CHECK_INT(updates, 28);
    fine.ignore_restore_optimizer = true;
    o = train_opts(fine, "weights_only", NULL);
    CHECK_INT(o->code, 0);
    epochs_of(o->r.checkpoint, &updates);
    CHECK_INT(updates, 14);
    o = train_opts((cr_train_opts){.continue_train = true, .ignore_restore_optimizer = true},
                   "after", (const char *[]){"train_config.num_epochs=3", NULL});
    CHECK_INT(o->code, 0);
    CHECK_INT(epochs_of(o->r.checkpoint, &updates), 3);
    CHECK_INT(updates, 7);
}

/* what is best is the first AUC unless the config says a name, which evaluation must give; that is
 * checked before the first step */
TEST(the_best_metric_is_checked_first) {
    char eval[600];
    snprintf(eval, sizeof(eval), "eval_input_path=%s", in_root("data.csv"));
    outcome *o = train("best0", (const char *[]){eval, "export_config.exporter_type=best", NULL});
    CHECK_INT(o->code, 0);
    o = train("best1", (const char *[]){eval, "export_config.exporter_type=best",
                                        "export_config.best_exporter_metric=aux", NULL});
    CHECK_INT(o->code, CR_ECONF);
    CHECK(strstr(o->errors,
                 "no metric or loss is called 'aux'; set best_exporter_metric to one of: "
                 "auc, binary_cross_entropy"));
    o = train("best2", (const char *[]){eval, "export_config.exporter_type=best",
                                        "export_config.best_exporter_metric=auc",
                                        "train_config.save_checkpoints_steps=4",
                                        "train_config.keep_checkpoint_max=1", NULL});
    CHECK_INT(o->code, 0);
    /* the checkpoint knows how good it is */
    cr_ckpt *c;
    CHECK_INT(cr_ckpt_open(&c, o->r.checkpoint, NULL), 0);
    const cr_ckpt_state *s = cr_ckpt_get_state(c);
    CHECK(s && s->n_metrics == 2 && strcmp(s->metrics[0].name, "auc") == 0 &&
          s->metrics[0].value == o->r.eval.v[0].value);
    cr_ckpt_close(c);
}

static cr_code export_to(const char *config_path, const char *model, const char *dir,
                         const char *assets, char *errors, size_t size) {
    cr_diag diag;
    cr_diag_init(&diag);
    char ckpt[1088], model_dir[512], to[512];
    snprintf(model_dir, sizeof(model_dir), "%s/%s", root, model);
    snprintf(to, sizeof(to), "%s/%s", root, dir);
    cr_export_opts o = {.config = {.path = config_path, .model_dir = model_dir},
                        .export_dir = to,
                        .asset_files = assets,
                        .threads = 1};
    cr_code code = cr_export(&o, ckpt, &diag);
    collect(&diag, errors, size);
    cr_diag_clear(&diag);
    return code;
}

/* an export holds its vocabularies also when the config spells its keys as JSON does */
TEST(an_export_is_whole_in_every_spelling) {
    static char json[2000], errors[4096], path[512];
    write_text("words.txt", "0\n1\n2\n3\n4\n5\n6\n");
    snprintf(json, sizeof(json),
             "{\"dataConfig\": {\"datasetType\": \"CsvDataset\", \"withHeader\": true, "
             "\"fgMode\": \"FG_NORMAL\", \"labelFields\": [\"y\"]}, \"trainConfig\": "
             "{\"numEpochs\": 1, \"sparseOptimizer\": {\"sgdOptimizer\": {}, "
             "\"constantLearningRate\": {}}, \"denseOptimizer\": {\"sgdOptimizer\": {}, "
             "\"constantLearningRate\": {}}}, \"featureConfigs\": [{\"idFeature\": "
             "{\"featureName\": \"b\", \"expression\": \"user:b\", \"vocabFile\": \"%s\", "
             "\"defaultBucketizeValue\": 0, \"embeddingDim\": 4}}], \"modelConfig\": "
             "{\"featureGroups\": [{\"groupName\": \"g\", \"featureNames\": [\"b\"]}], "
             "\"multiTower\": {\"towers\": [{\"input\": \"g\"}]}, \"losses\": "
             "[{\"binaryCrossEntropy\": {}}]}}",
             in_root("words.txt"));
    write_text("config.json", json);
    snprintf(path, sizeof(path), "%s", in_root("config.json"));
    outcome *o = train_opts((cr_train_opts){.config = {.path = path}}, "json", NULL);
    CHECK_INT(o->code, 0);
    if (o->code) fprintf(stderr, "%s", o->errors);
    CHECK_INT(export_to(path, "json", "json_export", NULL, errors, sizeof(errors)), 0);
    CHECK_INT(unlink(in_root("words.txt")), 0);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_predict_result r;
    cr_predict_opts po = {.scripted_model_path = in_root("json_export"),
                          .predict_input_path = in_root("data.csv"),
                          .predict_output_path = in_root("json_out"),
                          .threads = 1};
    CHECK_INT(cr_predict(&po, &r, &diag), 0);
    CHECK_INT(r.rows, 200);
    collect(&diag, errors, sizeof(errors));
    if (*errors) fprintf(stderr, "%s", errors);
    cr_diag_clear(&diag);
}

TEST(assets_do_not_replace_the_export) {
    static char errors[4096], path[512];
    CHECK_INT(train("assets", NULL)->code, 0);
    write_text("index.json", "{}");
    snprintf(path, sizeof(path), "%s", in_root("config.yaml"));
    CHECK_INT(export_to(path, "assets", "assets_export", in_root("index.json"), errors,
                        sizeof(errors)),
              CR_EUSAGE);
    CHECK(strstr(errors, "has a file 'index.json' already"));
    CHECK(!cr_path_exists(in_root("assets_export")));
}

TEST(lists_of_names_may_hold_blanks) {
    static char errors[4096], path[512], model[512];
    CHECK_INT(train("lists", NULL)->code, 0);
    snprintf(path, sizeof(path), "%s", in_root("config.yaml"));
    snprintf(model, sizeof(model), "%s", in_root("lists"));
    cr_predict_result r;
    cr_predict_opts po = {.config = {.path = path, .model_dir = model},
                          .predict_input_path = in_root("data.csv"),
                          .predict_output_path = in_root("lists_out"),
                          .reserved_columns = "y, b",
                          .output_columns = "probs , logits",
                          .threads = 1};
    cr_diag diag;
    cr_diag_init(&diag);
    CHECK_INT(cr_predict(&po, &r, &diag), 0);
    cr_buf text;
    cr_buf_init(&text);
    CHECK_INT(cr_file_read(r.output, 0, &text, NULL), 0);
    CHECK(strncmp(text.data, "y,b,probs,logits\n", 17) == 0);
    cr_buf_clear(&text);
    po.reserved_columns = "z";
    CHECK_INT(cr_predict(&po, &r, &diag), CR_ECONF);
    collect(&diag, errors, sizeof(errors));
    CHECK(strstr(errors, "has no column 'z', which --reserved_columns needs"));
    cr_diag_clear(&diag);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(names_may_be_long),
                                   CASE(group_type_decides_on_wide_tables),
                                   CASE(a_finished_run_stays_as_it_is),
                                   CASE(slopes_fit_their_layer),
                                   CASE(other_data_after_a_pause_is_told),
                                   CASE(a_batch_too_large_is_one_line),
                                   CASE(a_signal_saves_and_does_not_evaluate),
                                   CASE(fine_tuning_takes_the_age_of_the_moments_over),
                                   CASE(the_best_metric_is_checked_first),
                                   CASE(an_export_is_whole_in_every_spelling),
                                   CASE(assets_do_not_replace_the_export),
                                   CASE(lists_of_names_may_hold_blanks)};
    cr_log_set_level(CR_LOG_ERROR);
    const char *tmp = getenv("TMPDIR");
    snprintf(root, sizeof(root), "%s/crank-corners-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(root)) return 1;
    make_data();
    int rc = t_run(cases, (int)(sizeof(cases) / sizeof(cases[0])), argc, argv);
    if (cr_rmtree(root, NULL) != CR_OK) rc = 1;
    return rc;
}
