/*
 * placing.c - the tables of a config as the planner sees them, and the placings of a job.
 */
#include "job/placing.h"

#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "harness.h"

static char dir[256], config[300];

static const char text[] =
    "model_dir: %s/model\n"
    "train_config:\n"
    "  sparse_optimizer: {%s: {lr: 0.1}, constant_learning_rate: {}}\n"
    "  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}\n"
    "  num_epochs: 1\n"
    "%s"
    "data_config: {dataset_type: CsvDataset, batch_size: 1024, fg_mode: FG_NORMAL, with_header: "
    "true, label_fields: [label]}\n"
    "feature_configs:\n"
    "  - id_feature: {feature_name: tiny, expression: \"item:tiny\", num_buckets: 6, "
    "embedding_dim: 8}\n"
    "  - id_feature: {feature_name: user, expression: \"user:user\", hash_bucket_size: 3000000, "
    "embedding_dim: 16%s}\n"
    "  - id_feature: {feature_name: item, expression: \"item:item\", embedding_name: item_emb, "
    "num_buckets: 200000, embedding_dim: 8, value_dim: 3}\n"
    "  - sequence_feature:\n"
    "      sequence_name: clicks\n"
    "      sequence_length: 20\n"
    "      features:\n"
    "      - id_feature: {feature_name: item, expression: \"item:item\", embedding_name: item_emb, "
    "num_buckets: 200000, embedding_dim: 8}\n"
    "model_config:\n"
    "  feature_groups:\n"
    "    - {group_name: deep, group_type: DEEP, feature_names: [tiny, user, item]}\n"
    "    - {group_name: seq, group_type: SEQUENCE, feature_names: [item, clicks__item]}\n"
    "  multi_tower_din:\n"
    "    towers: [{input: deep, mlp: {hidden_units: [16]}}]\n"
    "    din_towers: [{input: seq, attn_mlp: {hidden_units: [16]}}]\n"
    "    final: {hidden_units: [16]}\n"
    "  losses: [{binary_cross_entropy: {}}]\n";

/* Opens a job of n ranks, of which this is the first. */
static cr_code open_job(cr_job *j, const char *optim, const char *more, const char *user, int n,
                        cr_diag *diag) {
    static int lane[9];
    static cr_meet meet;
    cr_diag_clear(diag);
    cr_diag_init(diag);
    cr_err err;
    for (int i = 0; i <= n; i++)
        lane[i] = 8 * i / n;
    meet = (cr_meet){.n = n, .lane = lane};
    char all[4000];
    int size = snprintf(all, sizeof all, text, dir, optim, more, user);
    CHECK_INT(cr_file_write(config, all, (size_t)size, &err), CR_OK);
    cr_config_opts co = {.path = config};
    cr_job_opts o = {.config = &co, .threads = 1, .train = true, .with_labels = true};
    if (n > 1) o.meet = &meet;
    return cr_job_open(j, &o, diag);
}

static int find(const cr_job *j, const char *name, bool seq) {
    for (int i = 0; i < j->model->n_tables; i++)
        if (strcmp(j->model->tables[i]->short_name, name) == 0 && j->model->tables[i]->seq == seq)
            return i;
    fprintf(stderr, "no table is called %s\n", name);
    CHECK(false);
    return 0;
}

TEST(tables) {
    cr_job j;
    cr_diag diag;
    cr_planner_job p;
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_diag_init(&diag);
    CHECK_INT(open_job(&j, "adagrad_optimizer", "", "", 4, &diag), CR_OK);
    CHECK_INT(cr_job_planner(&j, 4, 4, 1.05, &a, &p, &diag), CR_OK);
    CHECK_INT(p.n, j.model->n_tables);
    CHECK_INT(p.batch, 1024);
    const cr_planner_table *user = &p.tables[find(&j, "user_emb", false)],
                           *item = &p.tables[find(&j, "item_emb", false)],
                           *seq = &p.tables[find(&j, "item_emb", true)];
    CHECK_INT(user->n_rows, 3000000);
    CHECK_INT(user->row_bytes, 128); /* 16 weights and the state of Adagrad */
    CHECK(!user->ordered && item->ordered);
    CHECK_NEAR(user->ids, 1, 0, 0);
    CHECK_NEAR(item->ids, 3, 0, 0);
    CHECK_NEAR(seq->ids, 3 + 20, 0, 0); /* the query, which is pooled, and the steps */
    CHECK_INT(user->kinds & 1U << CR_GRID_SHARD, 0);
    CHECK((user->kinds & 1U << CR_COLUMN_WISE) != 0);
    CHECK(p.dense_bytes > 0);
    CHECK(p.flops > 0);
    CHECK_NEAR(p.dense_planes, 2, 0, 0);
    cr_job_close(&j);
    cr_diag_clear(&diag);
    cr_arena_clear(&a);
}

/* Constraints are followed; those that leave nothing are refused with their place and a cure. */
TEST(constraints) {
    static const struct {
        const char *optim, *more, *user;
        int kind; /* of the table of users; -1: refused */
        const char *wrong;
    } cases[] = {
        {"adagrad_optimizer", "", ", embedding_constraints: {sharding_types: [table_wise]}",
         CR_TABLE_WISE, NULL},
        {"adagrad_optimizer", "", ", embedding_constraints: {sharding_types: [grid_shard]}",
         CR_GRID_SHARD, NULL},
        {"adagrad_optimizer", "", ", embedding_constraints: {sharding_types: [column_wise]}",
         CR_COLUMN_WISE, NULL},
        {"adagrad_optimizer", "  global_embedding_constraints: {sharding_types: [data_parallel]}\n",
         "", CR_DATA_PARALLEL, NULL},
        {"adagrad_optimizer", "  global_embedding_constraints: {sharding_types: [data_parallel]}\n",
         ", embedding_constraints: {sharding_types: [table_row_wise]}", CR_TABLE_ROW_WISE, NULL},
        {"rowwise_adagrad_optimizer", "",
         ", embedding_constraints: {sharding_types: [column_wise, table_column_wise]}", -1,
         "column_wise, table_column_wise: its optimizer looks at whole rows; add row_wise"},
        {"lamb_optimizer", "", ", embedding_constraints: {sharding_types: [grid_shard]}", -1,
         "its optimizer looks at whole rows"},
        {"adagrad_optimizer",
         "  grad_clipping: {clipping_type: norm, max_gradient: 1.0, enable_global_grad_clip: "
         "true}\n",
         ", embedding_constraints: {sharding_types: [column_wise]}", -1,
         "enable_global_grad_clip measures whole rows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int n = 1; n <= 4; n += 3) {
            cr_job j;
            cr_diag diag;
            cr_diag_init(&diag);
            CHECK_INT(open_job(&j, cases[i].optim, cases[i].more, cases[i].user, n, &diag), CR_OK);
            bool fine = cases[i].kind >= 0 || n == 1;
            CHECK_INT(cr_job_placings(&j, &diag), fine ? CR_OK : CR_ECONF);
            const cr_model_table *t = j.model->tables[find(&j, "user_emb", false)];
            if (n == 1)
                CHECK(!t->placing);
            else if (fine)
                CHECK_INT(t->placing->kind, cases[i].kind);
            else
                CHECK(diag.n > 0 && strstr(diag.v[0].msg, cases[i].wrong) && diag.v[0].at.line > 0);
            cr_job_close(&j);
            cr_diag_clear(&diag);
        }
}

/* Small tables with every rank, large ones cut; the file is followed when that is asked for. */
TEST(files) {
    cr_job j;
    cr_diag diag;
    cr_err err;
    char path[320];
    cr_diag_init(&diag);
    CHECK_INT(open_job(&j, "adagrad_optimizer", "", "", 2, &diag), CR_OK);
    CHECK_INT(cr_job_placings(&j, &diag), CR_OK);
    CHECK_INT(j.model->tables[find(&j, "tiny_emb", false)]->placing->kind, CR_DATA_PARALLEL);
    int user = find(&j, "user_emb", false);
    CHECK_INT(j.model->tables[user]->placing->kind, CR_ROW_WISE);
    CHECK(j.plan && strstr(j.plan, "\"sharding_type\": \"row_wise\""));
    /* the products are a part of the predicted step */
    const char *dense = j.plan ? strstr(j.plan, "\"dense_s\": ") : NULL;
    CHECK(dense && strtod(dense + strlen("\"dense_s\": "), NULL) > 1e-4);
    CHECK_INT(cr_mkdirs(j.root->model_dir, &err), CR_OK);
    snprintf(path, sizeof path, "%s/model/plan.json", dir);
    CHECK_INT(cr_file_write(path, j.plan, strlen(j.plan), &err), CR_OK);
    cr_job_close(&j);

    /* another plan in the file: kept when FORCE_LOAD_SHARDING_PLAN says so */
    cr_buf b;
    cr_buf_init(&b);
    CHECK_INT(cr_file_read(path, 0, &b, &err), CR_OK);
    char *at = strstr(b.data, "\"sharding_type\": \"row_wise\"");
    memcpy(at, "\"sharding_type\": \"wor_wise\"", 27);
    CHECK_INT(cr_file_write(path, b.data, b.n, &err), CR_OK);
    CHECK_INT(open_job(&j, "adagrad_optimizer", "", "", 2, &diag), CR_OK);
    CHECK_INT(cr_job_placings(&j, &diag), CR_OK); /* planned again */
    cr_job_close(&j);
    setenv("FORCE_LOAD_SHARDING_PLAN", "1", 1);
    CHECK_INT(open_job(&j, "adagrad_optimizer", "", "", 2, &diag), CR_OK);
    CHECK_INT(cr_job_placings(&j, &diag), CR_ECONF);
    CHECK(diag.n > 0 && strstr(diag.v[diag.n - 1].msg, "(wor_wise) is not possible on 2 ranks"));
    cr_job_close(&j);
    memcpy(at, "\"sharding_type\": \"row_wise\"", 27);
    for (char *c = b.data; (c = strstr(c, "\"first_rank\": 0")) != NULL; c++)
        c[14] = '1';
    CHECK_INT(cr_file_write(path, b.data, b.n, &err), CR_OK);
    CHECK_INT(open_job(&j, "adagrad_optimizer", "", "", 2, &diag), CR_OK);
    CHECK_INT(cr_job_placings(&j, &diag), CR_OK);
    for (int i = 0; i < j.model->n_tables; i++) {
        const cr_placing *p = j.model->tables[i]->placing;
        if (p->kind != CR_DATA_PARALLEL) CHECK_INT(p->shards[0].holder, 1);
    }
    cr_job_close(&j);
    CHECK_INT(open_job(&j, "adagrad_optimizer", "", "", 4, &diag), CR_OK);
    CHECK_INT(cr_job_placings(&j, &diag), CR_ECONF); /* made for two */
    cr_job_close(&j);
    /* a plan with columns, and then an optimizer that needs whole rows */
    unsetenv("FORCE_LOAD_SHARDING_PLAN");
    const char *columns = ", embedding_constraints: {sharding_types: [column_wise]}";
    CHECK_INT(open_job(&j, "adagrad_optimizer", "", columns, 2, &diag), CR_OK);
    CHECK_INT(cr_job_placings(&j, &diag), CR_OK);
    CHECK_INT(cr_file_write(path, j.plan, strlen(j.plan), &err), CR_OK);
    cr_job_close(&j);
    setenv("FORCE_LOAD_SHARDING_PLAN", "1", 1);
    CHECK_INT(open_job(&j, "adagrad_optimizer", "", "", 2, &diag), CR_OK);
    CHECK_INT(cr_job_placings(&j, &diag), CR_OK);
    cr_job_close(&j);
    CHECK_INT(open_job(&j, "rowwise_adagrad_optimizer", "", "", 2, &diag), CR_OK);
    CHECK_INT(cr_job_placings(&j, &diag), CR_ECONF);
    CHECK(strstr(diag.v[diag.n - 1].msg, "cut by columns: its optimizer looks at whole rows"));
    cr_job_close(&j);
    CHECK_INT(cr_file_write(path, "{", 1, &err), CR_OK);
    CHECK_INT(open_job(&j, "adagrad_optimizer", "", "", 2, &diag), CR_OK);
    CHECK(cr_job_placings(&j, &diag) != CR_OK);
    cr_job_close(&j);
    unsetenv("FORCE_LOAD_SHARDING_PLAN");
    cr_buf_clear(&b);
    cr_diag_clear(&diag);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(tables), CASE(constraints), CASE(files)};
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/crank-placing-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir)) return 1;
    snprintf(config, sizeof config, "%s/c.yaml", dir);
    cr_log_set_level(CR_LOG_ERROR);
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return cr_rmtree(dir, NULL) == CR_OK ? rc : 1;
}
