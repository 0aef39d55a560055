/*
 * encoders.c - sequence groups and encoders: every model that reads a DEEP group takes them, every
 * encoder trains to the same bytes with any number of threads and through a pause and predicts the
 * same from an export, and tables are shared between groups as TorchEasyRec shares them.
 */
#include "base/rng.h"
#include "unit/run/run_test.h"

#define ROWS 700

static uint64_t drawn;
static int below(int n) {
    return (int)cr_rng_below(11, drawn++, (uint64_t)n);
}

/* rows with no, few and many steps (more than one block of an attention) */
static void make_data(void) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "clk,buy,user,item,near,thin,small,odd,clicks__item,clicks__price,other\n");
    for (int i = 0; i < ROWS; i++) {
        int n = i == 77 ? 150 : i % 5 == 0 ? 0 : below(9);
        cr_buf_printf(&b, "%d,%d,%d", below(2), below(2), below(20));
        for (int k = 0; k < 5; k++)
            cr_buf_printf(&b, ",%d", below(30));
        cr_buf_char(&b, ',');
        for (int j = 0; j < n; j++)
            cr_buf_printf(&b, "%s%d", j ? ";" : "", below(30));
        cr_buf_char(&b, ',');
        for (int j = 0; j < n; j++)
            cr_buf_printf(&b, "%s%d", j ? ";" : "", below(5));
        cr_buf_char(&b, ',');
        for (int j = 0; j < n; j++)
            cr_buf_printf(&b, "%s%d", j ? ";" : "", below(30));
        cr_buf_char(&b, '\n');
    }
    CHECK_INT(cr_file_write(in_root("data.csv"), b.data, b.n, NULL), 0);
    cr_buf_clear(&b);
    const char *config =
        "train_config:\n"
        "  sparse_optimizer: {adagrad_optimizer: {lr: 0.05}, constant_learning_rate: {}}\n"
        "  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}\n"
        "  num_epochs: 2\n"
        "  use_tensorboard: false\n"
        "data_config: {dataset_type: CsvDataset, batch_size: 64, fg_mode: FG_NONE, with_header: "
        "true, label_fields: [clk, buy]}\n"
        "feature_configs:\n"
        "- id_feature: {feature_name: user, num_buckets: 20, embedding_dim: 8}\n"
        "- id_feature: {feature_name: item, num_buckets: 30, embedding_dim: 8}\n"
        "- id_feature: {feature_name: near, num_buckets: 30, embedding_dim: 8, embedding_name: "
        "item_emb}\n"
        "- id_feature: {feature_name: thin, num_buckets: 30, embedding_dim: 4, embedding_name: "
        "item_emb}\n"
        "- id_feature: {feature_name: small, num_buckets: 31, embedding_dim: 8, embedding_name: "
        "item_emb}\n"
        "- id_feature: {feature_name: odd, num_buckets: 30, embedding_dim: 8, embedding_name: "
        "item_emb_x}\n"
        "- sequence_feature:\n"
        "    sequence_name: clicks\n"
        "    sequence_length: 200\n"
        "    features:\n"
        "    - id_feature: {feature_name: item, num_buckets: 30, embedding_dim: 8, "
        "embedding_name: item_emb}\n"
        "    - raw_feature: {feature_name: price}\n"
        "- sequence_id_feature: {feature_name: other, num_buckets: 30, embedding_dim: 8}\n";
    CHECK_INT(cr_file_write(in_root("base.yaml"), config, strlen(config), NULL), 0);
}

/* opens base.yaml with a model_config; false: mistakes, which stay in diag */
static bool open_job(cr_job *j, cr_diag *diag, const char *model) {
    static char train[600], set[6000];
    snprintf(train, sizeof(train), "%s/data.csv", root);
    snprintf(set, sizeof(set), "model_config={%s}", model);
    const char *sets[] = {set};
    cr_config_opts co = {.path = in_root("base.yaml"),
                         .train_input_path = train,
                         .eval_input_path = train,
                         .model_dir = "unused",
                         .set = sets,
                         .n_set = 1};
    cr_diag_init(diag);
    cr_job_opts jo = {.config = &co, .threads = 2, .train = true, .with_labels = true};
    return cr_job_open(j, &jo, diag) == CR_OK;
}

#define LOSSES "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]"
#define SEQS                                                                                       \
    "sequence_groups: [{feature_names: [item, clicks__item]}], sequence_encoders: [{din_encoder: " \
    "{attn_mlp: {hidden_units: [6]}}}, {pooling_encoder: {}}, {self_attention_encoder: "           \
    "{multihead_attn_dim: 8, num_heads: 2}}]"
#define DEEP(name) "{group_name: " name ", feature_names: [user, item], " SEQS "}"
#define TOWER(name, label)                                                                         \
    "{tower_name: " name ", label_name: " label ", mlp: {hidden_units: [4]}, " LOSSES "}"
#define TOWERS "task_towers: [" TOWER("ctr", "clk") "," TOWER("cvr", "buy") "]"
#define MLP(n) "{hidden_units: [" #n "]}"

/* every model of the registry, with encoders in its first group */
TEST(every_model) {
    static const struct {
        const char *key, *groups, *conf;
        const char *refused; /* NULL: it takes encoders */
    } cases[] = {
        {"autoint", DEEP("fields"), "attention_layers: [{num_heads: 2, head_dim: 4}]", NULL},
        {"backbone", DEEP("all"),
         "blocks: [{name: x, inputs: [{feature_group_name: all}], mlp: " MLP(8) "}]", NULL},
        {"dbmtl", DEEP("all"), "bottom_mlp: " MLP(8) ", " TOWERS, NULL},
        {"dcn_v1", DEEP("all"), "cross: {}, deep: " MLP(8) ", final: " MLP(4), NULL},
        {"dcn_v2", DEEP("all"), "cross: {low_rank: 4}, deep: " MLP(8) ", final: " MLP(4), NULL},
        {"deepfm", DEEP("deep") ",{group_name: wide, group_type: WIDE, feature_names: [user]}",
         "deep: " MLP(8), NULL},
        {"dlrm", DEEP("all"), "final: " MLP(4), NULL},
        {"esmm", DEEP("all"), "ctr_tower: " TOWER("ctr", "clk") ", cvr_tower: " TOWER("cvr", "buy"),
         NULL},
        {"ffm", DEEP("ffm"), "", "tables of the model's own width"},
        {"fm", DEEP("fm"), "", "tables of the model's own width"},
        {"logistic_regression", DEEP("all"), "", "tables of the model's own width"},
        {"mask_net", DEEP("all"),
         "mask_net_module: {n_mask_blocks: 1, mask_block: {hidden_dim: 4}, top_mlp: " MLP(4) "}",
         NULL},
        {"mmoe", DEEP("all"), "expert_mlp: " MLP(8) ", num_expert: 2, " TOWERS, NULL},
        {"multi_tower", DEEP("deep"), "towers: [{input: deep, mlp: " MLP(8) "}]", NULL},
        {"multi_tower_din",
         DEEP("deep") ",{group_name: seq, group_type: SEQUENCE, feature_names: [item, other]}",
         "towers: [{input: deep, mlp: " MLP(8) "}], din_towers: [{input: seq, attn_mlp: " MLP(
             8) "}], final: " MLP(4),
         NULL},
        {"pepnet",
         DEEP("all") ",{group_name: domain, feature_names: [user]},{group_name: uia, "
                     "feature_names: [item]}",
         "ppnet_hidden_units: [8], " TOWERS, NULL},
        {"plugin", NULL, NULL, NULL}, /* a library of the user's */
        {"ple", DEEP("all"),
         "extraction_networks: [{network_name: n, expert_num_per_task: 1, share_num: 1, "
         "task_expert_net: " MLP(8) ", share_expert_net: " MLP(8) "}], " TOWERS,
         NULL},
        {"plugin", DEEP("user") ",{group_name: item, feature_names: [item]}",
         "library: '@/libfaded.so', type: faded_towers, params: {dim: 4, hidden: 8}", NULL},
        {"rocket_launching", DEEP("all"),
         "share_mlp: " MLP(8) ", booster_mlp: " MLP(8) ", light_mlp: " MLP(4), NULL},
        {"multi_tower_din_trt", NULL, NULL, NULL}, /* an old name of multi_tower_din */
        {"custom_model", NULL, NULL, NULL},        /* refused: it is written in Python */
        {"simple_multi_task", DEEP("all"), TOWERS, NULL},
        {"wide_and_deep",
         DEEP("deep") ",{group_name: wide, group_type: WIDE, feature_names: [user]}",
         "deep: " MLP(8), NULL},
        {"wukong", DEEP("all"),
         "wukong_layers: [{lcb_feature_num: 2, fmb_feature_num: 2, compressed_feature_num: 2, "
         "feature_num_mlp: " MLP(4) "}], final: " MLP(4),
         NULL},
        {"xdeepfm",
         DEEP("deep") ",{group_name: wide, group_type: WIDE, feature_names: [user, item]}",
         "cin: {cin_layer_size: [2]}, deep: " MLP(8) ", final: " MLP(4), NULL},
    };
    enum { N = sizeof(cases) / sizeof(cases[0]) };
    for (const cr_oneof_member *m = cr_model_family.members; m->key; m++) {
        if (!m->type) continue;
        size_t k = 0;
        while (k < N && strcmp(cases[k].key, m->key) != 0)
            k++;
        if (k == N) fprintf(stderr, "%s has no case here\n", m->key);
        CHECK(k < N);
        if (k == N || !cases[k].conf) continue;
        bool tasks = strstr(cases[k].conf, "tower_name") != NULL;
        char text[4000];
        snprintf(text, sizeof(text), "feature_groups: [%s], %s: {%s}%s", cases[k].groups, m->key,
                 cases[k].conf, tasks ? "" : ", " LOSSES);
        cr_job j;
        cr_diag diag;
        bool ok = open_job(&j, &diag, placed(text));
        if (ok == (cases[k].refused != NULL)) {
            fprintf(stderr, "%s:\n", m->key);
            show(&diag);
        }
        CHECK(ok == (cases[k].refused == NULL));
        bool told = false;
        for (size_t i = 0; cases[k].refused && i < diag.n; i++)
            told = told || strstr(diag.v[i].msg, cases[k].refused);
        CHECK(told == (cases[k].refused != NULL));
        if (ok) {
            cr_trainer *t = NULL;
            cr_loader *l = NULL;
            cr_batch *b = NULL;
            bool done;
            CHECK_INT(cr_job_alloc(&j, NULL), 0);
            CHECK_INT(cr_trainer_new(&t, &j, NULL), 0);
            cr_model_fill(j.model, 1, j.pool);
            cr_job_data d = {.paths = j.root->train_input_path, .batch_size = 64, .n_epochs = 1};
            CHECK_INT(cr_job_loader(&j, &d, &l, &diag), 0);
            CHECK_INT(cr_loader_next(l, &b, &done, NULL), 0);
            CHECK_INT(cr_trainer_step(t, b, 0, NULL), 0);
            CHECK(isfinite(cr_trainer_total(t)));
            int encoder_params = 0;
            float grad[4096];
            for (int i = 0; i < j.model->graph.n; i++) {
                const cr_node *p = j.model->graph.nodes[i];
                if (p->cls != CR_PARAM || !p->trainable || !strstr(p->name, "_seq_encoders"))
                    continue;
                CHECK(p->width <= 4096 && cr_trainer_grad(t, p, grad));
                double sum = 0;
                for (int64_t q = 0; q < p->width; q++)
                    sum += fabs((double)grad[q]);
                if (!(sum > 0)) fprintf(stderr, "%s: no slope for %s\n", m->key, p->name);
                CHECK(sum > 0);
                encoder_params++;
            }
            CHECK_INT(encoder_params, 4 + 10); /* of the two encoders that have any */
            cr_loader_release(l, b);
            cr_loader_free(l);
            cr_trainer_free(t);
        }
        cr_job_close(&j);
        cr_diag_clear(&diag);
    }
}

/* ---- every encoder ---- */

static const char *encoder_conf(const char *key) {
    static const char *const confs[][2] = {
        {"din_encoder", "attn_mlp: {hidden_units: [8, 4], dropout_ratio: [0.2]}"},
        {"simple_attention", "max_seq_length: 40"},
        {"pooling_encoder", "pooling_type: mean"},
        {"multi_window_din_encoder", "attn_mlp: {hidden_units: [8]}, windows_len: [1, 3, 5]"},
        {"self_attention_encoder", "multihead_attn_dim: 12, num_heads: 3, dropout: 0.2"},
    };
    for (size_t i = 0; i < sizeof(confs) / sizeof(confs[0]); i++)
        if (strcmp(confs[i][0], key) == 0) return confs[i][1];
    fprintf(stderr, "%s has no case here\n", key);
    return NULL;
}

static void run_train(const char *model, const char *dir, int threads, bool go_on,
                      const char *steps, char *checkpoint, size_t size) {
    char data[600];
    snprintf(data, sizeof(data), "%s/data.csv", root);
    const char *set[] = {model, steps};
    cr_diag diag;
    cr_diag_init(&diag);
    cr_train_opts o = {.config = {.path = in_root("base.yaml"),
                                  .train_input_path = data,
                                  .eval_input_path = data,
                                  .model_dir = dir,
                                  .set = set,
                                  .n_set = steps ? 2 : 1},
                       .threads = threads,
                       .continue_train = go_on};
    cr_train_result r;
    CHECK_INT(train_as_asked(&o, &r, &diag), 0);
    show(&diag);
    snprintf(checkpoint, size, "%s", r.checkpoint);
    cr_arena_clear(&r.arena);
    cr_diag_clear(&diag);
}

TEST(every_encoder) {
    int n = 0;
    for (const cr_oneof_member *m = cr_encoder_family.members; m->key; m++, n++) {
        const char *conf = encoder_conf(m->key);
        CHECK(conf != NULL && m->type != NULL);
        if (!conf) continue;
        char model[2000], dir[600], a[1100], b[1100];
        snprintf(model, sizeof(model),
                 "model_config={feature_groups: [{group_name: deep, feature_names: [user, item], "
                 "sequence_groups: [{feature_names: [item, clicks__item]}], sequence_encoders: "
                 "[{%s: {%s}}]}], multi_tower: {towers: [{input: deep, mlp: {hidden_units: [8]}}], "
                 "final: {hidden_units: [4]}}, " LOSSES "}",
                 m->key, conf);
        snprintf(dir, sizeof(dir), "%s/%s_1", root, m->key);
        run_train(model, dir, 1, false, NULL, a, sizeof(a));
        for (int threads = 2; threads <= 3; threads++) {
            snprintf(dir, sizeof(dir), "%s/%s_%d", root, m->key, threads);
            run_train(model, dir, threads, false, NULL, b, sizeof(b));
            same_weights(a, b);
        }
        snprintf(dir, sizeof(dir), "%s/%s_parts", root, m->key);
        run_train(model, dir, 2, false,
                  "train_config={sparse_optimizer: {adagrad_optimizer: {lr: 0.05}, "
                  "constant_learning_rate: {}}, dense_optimizer: {adam_optimizer: {lr: 0.01}, "
                  "constant_learning_rate: {}}, num_steps: 9, use_tensorboard: false}",
                  b, sizeof(b));
        run_train(model, dir, 1, true, NULL, b, sizeof(b));
        same_weights(a, b);
    }
    CHECK_INT(n, 5);
}

/* ---- tables ---- */

/* the tables of a model with these groups, sorted by name, as one text */
static void tables_of(const char *groups, char *out, size_t size) {
    char text[3000];
    snprintf(text, sizeof(text),
             "feature_groups: [%s], multi_tower: {towers: [{input: deep, mlp: {hidden_units: "
             "[4]}}]}, " LOSSES,
             groups);
    cr_job j;
    cr_diag diag;
    bool ok = open_job(&j, &diag, text);
    out[0] = 0;
    size_t at = 0;
    if (!ok) {
        for (size_t i = 0; i < diag.n && at < size; i++)
            if (diag.v[i].sev == CR_SEV_ERROR)
                at += (size_t)snprintf(out + at, size - at, "!%s", diag.v[i].msg);
    } else {
        for (int i = 0; i < j.model->n_tables && at < size; i++) {
            const cr_model_table *t = j.model->tables[i];
            at += (size_t)snprintf(out + at, size - at, "%s%s%s:%lld*%d", i ? " " : "",
                                   t->seq ? "seq/" : "", t->short_name, (long long)t->D, t->n_uses);
        }
    }
    cr_job_close(&j);
    cr_diag_clear(&diag);
}

#define POOLED(names, more) "{group_name: deep, feature_names: [" names "]" more "}"
#define SEQ(names, more)                                                                           \
    ", sequence_groups: [{feature_names: [" names "]" more                                         \
    "}], sequence_encoders: [{simple_attention: {}}]"

TEST(tables_are_shared) {
    static const struct {
        const char *rule, *groups, *want;
    } cases[] = {
        {"one embedding_name is one table", POOLED("item, near", ""), "item_emb:8*2"},
        {"a suffix makes it the group's own", POOLED("item", ", embedding_name_suffix: y"),
         "item_emb_y:8*1"},
        {"sequence groups have tables of their own, shared by query and steps",
         POOLED("item", SEQ("item, clicks__item", "")), "item_emb:8*1 seq/item_emb:8*2"},
        {"a group may hold sequences only", "{group_name: deep" SEQ("item, clicks__item", "") "}",
         "seq/item_emb:8*2"},
        {"all sequence groups of a name share one",
         POOLED("user", ", sequence_groups: [{group_name: a, feature_names: [item, clicks__item]}, "
                        "{group_name: b, feature_names: [near, other]}], sequence_encoders: "
                        "[{simple_attention: {input: a}}, {simple_attention: {input: b}}]"),
         "user_emb:8*1 seq/item_emb:8*3 seq/other_emb:8*1"},
        {"encoders that read equally many steps share the lookup",
         POOLED("user", ", sequence_groups: [{feature_names: [item, clicks__item]}], "
                        "sequence_encoders: [{simple_attention: {}}, {pooling_encoder: {}}]"),
         "user_emb:8*1 seq/item_emb:8*2"},
        {"of other steps they do not",
         POOLED("user",
                ", sequence_groups: [{feature_names: [item, clicks__item]}], sequence_encoders: "
                "[{simple_attention: {max_seq_length: 3}}, {pooling_encoder: {}}]"),
         "user_emb:8*1 seq/item_emb:8*3"},
        {"another width is another table there",
         POOLED("user", ", sequence_groups: [{feature_names: [thin, clicks__item]}], "
                        "sequence_encoders: [{din_encoder: {attn_mlp: {hidden_units: [4]}}}]"),
         "user_emb:8*1 seq/item_emb:4*1 seq/item_emb:8*1"},
        {"a suffix of the feature group is the sequence group's too",
         POOLED("item", ", embedding_name_suffix: y" SEQ("item, clicks__item", "")),
         "item_emb_y:8*1 seq/item_emb_y:8*2"},
        {"its own counts more",
         POOLED("item", ", embedding_name_suffix: y" SEQ("item, clicks__item",
                                                         ", embedding_name_suffix: z")),
         "item_emb_y:8*1 seq/item_emb_z:8*2"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char got[600];
        tables_of(cases[i].groups, got, sizeof(got));
        if (strcmp(got, cases[i].want) != 0)
            fprintf(stderr, "%s: %s, expected %s\n", cases[i].rule, got, cases[i].want);
        CHECK_STR(got, cases[i].want);
    }
    static const char *const wrong[][2] = {
        {POOLED("item, thin", ""), "features 'item' and 'thin' share the table 'item_emb' but "
                                   "differ in embedding_dim"},
        {POOLED("item, small", ""), "differ in number of rows"},
        {POOLED("user", SEQ("small, clicks__item", "")), "differ in number of rows"},
        {POOLED("user", ", sequence_groups: [{group_name: a, feature_names: [item, clicks__item], "
                        "embedding_name_suffix: x}, {group_name: b, feature_names: [odd, other]}], "
                        "sequence_encoders: [{simple_attention: {input: a}}, {simple_attention: "
                        "{input: b}}]"),
         "come to the same table name 'item_emb_x' with the embedding_name_suffix 'x' and ''"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char got[2000];
        tables_of(wrong[i][0], got, sizeof(got));
        if (!strstr(got, wrong[i][1])) fprintf(stderr, "%s, expected %s\n", got, wrong[i][1]);
        CHECK(got[0] == '!' && strstr(got, wrong[i][1]));
    }
}

/* DEEP, WIDE and sequence groups of one feature in one model */
TEST(tables_of_all_kinds) {
    cr_job j;
    cr_diag diag;
    CHECK(
        open_job(&j, &diag,
                 "feature_groups: [{group_name: wide, group_type: WIDE, feature_names: [item]}, "
                 "{group_name: deep, feature_names: [item]" SEQ(
                     "item, clicks__item", "") "}], deepfm: {deep: {hidden_units: [4]}}, " LOSSES));
    show(&diag);
    static const char *const names[] = {
        "model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags.item_emb_wide.weight",
        "model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags.item_emb.weight",
        "model.embedding_group.seq_emb_impls.__BASE__.ec_dict.8.embeddings.item_emb.weight"};
    CHECK_INT(j.model->n_tables, 3);
    for (int i = 0; i < 3 && i < j.model->n_tables; i++)
        CHECK_STR(j.model->tables[i]->table.name, names[i]);
    cr_job_close(&j);
    cr_diag_clear(&diag);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(every_model), CASE(every_encoder), CASE(tables_are_shared),
                                   CASE(tables_of_all_kinds)};
    if (!root_open("encoders")) return 1;
    make_data();
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return root_close(rc);
}
