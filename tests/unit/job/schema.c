/*
 * schema.c - the whole config schema, walked from the root message: every table is well formed, and
 * real configs bind to the values they mean. What is known but not in this version is named.
 */
#include "job/config.h"
#include "job/job.h"

#include "layer/loss_list.h"
#include "model/list.h"
#include "optim/adam_int.h"

#include "harness.h"

/* ---- walking ---- */

enum { MAX_MSGS = 512 };
static struct {
    const cr_msg *msgs[MAX_MSGS];
    int n_msgs, n_fields, n_members, n_stored;
} seen;

static void bad(const cr_msg *m, const char *name, const char *what) {
    t_failed_checks++;
    fprintf(stderr, "%s.%s: %s\n", m->name, name, what);
}

static void check_help(const cr_msg *m, const char *name, const char *help) {
    if (!help || !help[0]) {
        bad(m, name, "has no help");
        return;
    }
    size_t n = strlen(help);
    if (help[n - 1] == '.' || strchr(help, '\n'))
        bad(m, name, "help is not one line without a stop");
    if (n > 200) bad(m, name, "help is long");
}

static size_t member_size(const cr_field *f) {
    if (f->flags & CR_F_REPEATED) return sizeof(cr_ints);
    switch (f->type) {
    case CR_T_BOOL: return sizeof(bool);
    case CR_T_ENUM: return sizeof(int);
    case CR_T_ONEOF: return sizeof(cr_choice);
    case CR_T_MAP_INT:
    case CR_T_MAP_FLOAT: return sizeof(cr_conf_map);
    default: return 8;
    }
}

static void check_storage(const cr_msg *m, const cr_field *f) {
    if (f->offset == CR_NO_STORE) return;
    if (m->size == 0) {
        bad(m, f->name, "is stored in a message without a struct");
        return;
    }
    size_t size = member_size(f);
    if (f->offset < sizeof(cr_conf_base) || f->offset + size > m->size)
        bad(m, f->name, "lies outside the struct");
    for (const cr_field *o = m->fields; o < f; o++)
        if (o->offset != CR_NO_STORE && o->offset < f->offset + size &&
            f->offset < o->offset + member_size(o))
            bad(m, f->name, "overlaps another field");
    seen.n_stored++;
}

static void check_default(const cr_msg *m, const cr_field *f) {
    if (f->type == CR_T_ENUM) {
        const cr_enum_value *v = f->ref;
        bool found = false;
        for (; v->name; v++) {
            found |= v->value == (int)f->num;
            if (!v->help) bad(m, v->name, "has no help");
        }
        if (!found && !(f->flags & CR_F_REPEATED)) bad(m, f->name, "default is no value");
    }
    if (f->type == CR_T_UINT64 && f->num < 0) bad(m, f->name, "default is below 0");
    if (f->type != CR_T_INT && f->type != CR_T_FLOAT) return;
    if (f->min > f->max) bad(m, f->name, "range is empty");
    if (f->flags & (CR_F_REPEATED | CR_F_REQUIRED) || isnan(f->num)) return;
    if (f->num < f->min || f->num > f->max) bad(m, f->name, "default is out of range");
}

/* a key that is named like a path says that it is one, so that it is checked and file:// works */
static void check_path(const cr_msg *m, const cr_field *f) {
    static const char *const words[] = {"path",    "dir",       "file",   "checkpoint",
                                        "library", "param_map", "var_map"};
    static const char *const others[] = {"file_prefix", "class_path", "hf_model_name_or_path",
                                         "data_donefile", "checkpoint_link"};
    bool is_path = false, told = f->flags & (CR_F_PATH | CR_F_PATHS);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        is_path |= strstr(f->name, words[i]) != NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        is_path &= strcmp(f->name, others[i]) != 0;
    if (told && f->type != CR_T_STR) bad(m, f->name, "is a path and no string");
    if (f->type == CR_T_STR && is_path && !told)
        bad(m, f->name, "looks like a path; add CR_F_PATH or CR_F_PATHS to its row");
}

static void check_keys(const cr_msg *m) {
    const char *keys[256];
    int n = 0;
    for (const cr_field *f = m->fields; f->name; f++) {
        if (f->type == CR_T_ONEOF)
            for (const cr_oneof_member *o = ((const cr_oneof *)f->ref)->members; o->key && n < 256;
                 o++)
                keys[n++] = o->key;
        else
            keys[n++] = f->name;
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(keys[i], keys[k]) == 0) bad(m, keys[i], "is a key twice");
}

static void walk(const cr_msg *m) {
    for (int i = 0; i < seen.n_msgs; i++) {
        if (seen.msgs[i] == m) return;
        if (strcmp(seen.msgs[i]->name, m->name) == 0) bad(m, "", "two messages have this name");
    }
    if (seen.n_msgs == MAX_MSGS) {
        bad(m, "", "too many messages");
        return;
    }
    seen.msgs[seen.n_msgs++] = m;
    check_help(m, "", m->help);
    if (m->size && m->size < sizeof(cr_conf_base)) bad(m, "", "struct is too small");
    int n = 0;
    for (const cr_field *f = m->fields; f->name; f++, n++) {
        check_help(m, f->name, f->help);
        check_storage(m, f);
        check_default(m, f);
        check_path(m, f);
        unsigned idle = CR_F_LATER | CR_F_SPEED | CR_F_GPU | CR_F_IDLE | CR_F_ALIAS;
        bool usable = m->size && !m->later && !(f->flags & idle);
        if (f->flags & CR_F_ALIAS && (n == 0 || f[-1].type != f->type || f->offset != CR_NO_STORE))
            bad(m, f->name, "is no other name of the row before it");
        if (usable && f->offset == CR_NO_STORE && !(f->type == CR_T_ONEOF || f->type == CR_T_MSG))
            bad(m, f->name, "is usable and stored nowhere");
        if (f->type == CR_T_MSG) walk(f->ref);
        if (f->type != CR_T_ONEOF) continue;
        for (const cr_oneof_member *o = ((const cr_oneof *)f->ref)->members; o->key; o++) {
            seen.n_members++;
            walk(o->msg);
        }
    }
    if (n > 64) bad(m, "", "has more than 64 fields");
    seen.n_fields += n;
    check_keys(m);
}

TEST(tables) {
    memset(&seen, 0, sizeof seen);
    walk(&cr_root_msg);
    int usable = 0;
    for (int i = 0; i < seen.n_msgs; i++)
        usable += !seen.msgs[i]->later;
    printf("%d messages (%d usable), %d fields (%d stored), %d oneof members\n", seen.n_msgs,
           usable, seen.n_fields, seen.n_stored, seen.n_members);
    CHECK(seen.n_msgs > 130 && seen.n_fields > 900);
}

static const cr_oneof *oneof_of(const cr_msg *m, const char *field) {
    const cr_field *f = cr_msg_field(m, field);
    CHECK(f && f->type == CR_T_ONEOF);
    return f->ref;
}
static int count(const cr_oneof *o, int *with_type) {
    int n = 0;
    *with_type = 0;
    for (const cr_oneof_member *m = o->members; m->key; m++, n++)
        *with_type += !m->msg->later;
    return n;
}
static int n_rows(const cr_msg *m) {
    int n = 0;
    while (m->fields[n].name)
        n++;
    return n;
}

/* the numbers of reference section 2 */
TEST(families) {
    int used;
    CHECK_INT(count(&cr_model_family, &used), 36 + 2); /* and our backbone and plugin */
    CHECK_INT(used, 22 + 2);
    CHECK_INT(count(&cr_feature_family, &used), 25);
    CHECK(used >= 4);
    CHECK_INT(count(&cr_loss_family, &used), 6 + 6); /* and ours */
    CHECK_INT(used, 12);
    CHECK_INT(count(&cr_metric_family, &used), 10 + 11);
    CHECK_INT(used, 21);
    CHECK_INT(count(&cr_sparse_optim_family, &used), 11);
    CHECK_INT(used, 11);
    CHECK_INT(count(&cr_dense_optim_family, &used), 6 + 2);
    CHECK_INT(used, 8);
    CHECK_INT(count(&cr_sched_family, &used), 6 + 1);
    CHECK_INT(used, 6 + 1);
    CHECK_INT(count(oneof_of(&cr_data_msg, "sampler"), &used), 5);
    CHECK_INT(used, 0);
    /* rows per message: the reference's and ours */
    CHECK_INT(n_rows(&cr_root_msg), 10);
    CHECK_INT(n_rows(&cr_train_msg), 24 + 20);
    CHECK_INT(n_rows(&cr_eval_msg), 3 + 2);
    CHECK_INT(n_rows(&cr_export_msg), 7 + 1);
    CHECK_INT(n_rows(&cr_data_msg), 29 + 16);
    CHECK_INT(n_rows(&cr_id_msg), 29 + 4);
    CHECK_INT(n_rows(&cr_raw_msg), 21 + 2);
    CHECK_INT(n_rows(&cr_model_msg), 10 + 3);
}

/* ---- binding ---- */

typedef struct bound {
    cr_conf_doc doc;
    cr_arena arena;
    cr_diag diag;
    cr_root_conf *c;
} bound;

static void bind(bound *b, const char *text) {
    cr_diag_init(&b->diag);
    cr_arena_init(&b->arena, 0);
    cr_conf_doc_init(&b->doc);
    cr_code e = cr_conf_parse(&b->doc, CR_SYNTAX_PBTXT, "t.config", text, strlen(text), &b->diag);
    CHECK_INT(e, CR_OK);
    b->c = cr_conf_bind(&b->arena, &cr_root_msg, b->doc.root, &b->diag);
    cr_root_finish(b->c, &b->arena, &b->diag);
    cr_root_check(b->c, &b->diag);
}
static void done(bound *b) {
    cr_conf_doc_clear(&b->doc);
    cr_arena_clear(&b->arena);
    cr_diag_clear(&b->diag);
}
static void dump(const bound *b) {
    for (size_t i = 0; i < b->diag.n; i++)
        fprintf(stderr, "  %d:%d: %s\n", b->diag.v[i].at.line, b->diag.v[i].at.col,
                b->diag.v[i].msg);
}
/* a finding that holds the text, at that place (line 0: anywhere) */
static bool says(const bound *b, cr_sev sev, int line, int col, const char *text) {
    for (size_t i = 0; i < b->diag.n; i++) {
        const cr_finding *f = &b->diag.v[i];
        if (f->sev == sev && strstr(f->msg, text) && (!line || f->at.line == line) &&
            (!col || f->at.col == col))
            return true;
    }
    fprintf(stderr, "nobody says at %d:%d: %s; but:\n", line, col, text);
    dump(b);
    return false;
}
#define CHECK_ERRORS(b, n)                                                                         \
    do {                                                                                           \
        if ((b)->diag.n_errors != (n)) dump(b);                                                    \
        CHECK_INT((b)->diag.n_errors, n);                                                          \
    } while (0)

/* the reference's Appendix D */
static const char *const appendix_d =
    "train_input_path: \"data/train/*.parquet\"\n"
    "eval_input_path: \"data/eval/*.parquet\"\n"
    "model_dir: \"experiments/demo\"\n"
    "train_config {\n"
    "  sparse_optimizer { adagrad_optimizer { lr: 0.01 } constant_learning_rate {} }\n"
    "  dense_optimizer { adam_optimizer { lr: 0.001 } exponential_decay_learning_rate { "
    "decay_size: 1000 decay_factor: 0.9 warmup_size: 100 } }\n"
    "  num_epochs: 1\n"
    "}\n"
    "eval_config {}\n"
    "data_config {\n"
    "  batch_size: 4096  dataset_type: ParquetDataset  fg_mode: FG_DAG  num_workers: 4\n"
    "  label_fields: \"click\"\n"
    "}\n"
    "feature_configs { id_feature { feature_name: \"user_id\" expression: \"user:user_id\" "
    "hash_bucket_size: 100000 embedding_dim: 16 } }\n"
    "feature_configs { id_feature { feature_name: \"age\" expression: \"user:age\" num_buckets: 8 "
    "embedding_dim: 16 } }\n"
    "feature_configs { raw_feature { feature_name: \"price\" expression: \"item:price\" "
    "embedding_dim: 16 boundaries: [1, 5.5, 20] } }\n"
    "feature_configs { sequence_feature {\n"
    "  sequence_name: \"clicks\" sequence_length: 50 sequence_delim: \";\"\n"
    "  features { id_feature { feature_name: \"item_id\" expression: \"item:item_id\" "
    "embedding_name: \"item_emb\" hash_bucket_size: 100000 embedding_dim: 16 } } } }\n"
    "feature_configs { id_feature { feature_name: \"item_id\" expression: \"item:item_id\" "
    "embedding_name: \"item_emb\" hash_bucket_size: 100000 embedding_dim: 16 } }\n"
    "model_config {\n"
    "  feature_groups { group_name: \"deep\" feature_names: [\"user_id\", \"age\", \"price\", "
    "\"item_id\"] group_type: DEEP }\n"
    "  feature_groups { group_name: \"seq\" feature_names: [\"item_id\", \"clicks__item_id\"] "
    "group_type: SEQUENCE }\n"
    "  multi_tower_din {\n"
    "    towers { input: \"deep\" mlp { hidden_units: [128, 64] } }\n"
    "    din_towers { input: \"seq\" attn_mlp { hidden_units: [32] activation: \"Dice\" } }\n"
    "    final { hidden_units: [32] dropout_ratio: 0.1 }\n"
    "  }\n"
    "  losses { binary_cross_entropy {} }\n"
    "  metrics { auc {} }\n"
    "}\n";

TEST(appendix) {
    bound b;
    bind(&b, appendix_d);
    const cr_root_conf *c = b.c;
    CHECK_ERRORS(&b, 0u);
    CHECK_INT(c->data_config->fg_mode, CR_FG_DAG);

    CHECK_STR(c->train_input_path, "data/train/*.parquet");
    CHECK_INT(c->train_config->num_epochs, 1);
    CHECK_INT(c->train_config->save_checkpoints_steps, 1000);
    CHECK_INT(c->train_config->seed, 2026);
    CHECK_INT(c->train_config->lanes, 0); /* as many as the batch needs */
    const cr_sparse_optim_conf *so = c->train_config->sparse_optimizer;
    CHECK_STR(so->optimizer.m->key, "adagrad_optimizer");
    CHECK(so->optimizer.m->type != NULL);
    CHECK_NEAR(((const cr_optim_conf *)so->optimizer.conf)->lr, 0.01, 0, 0);
    CHECK_NEAR(((const cr_optim_conf *)so->optimizer.conf)->max_gradient, 1, 0, 0);
    CHECK_STR(so->learning_rate.m->key, "constant_learning_rate");
    const cr_dense_optim_conf *dense = c->train_config->dense_optimizer;
    CHECK_NEAR(((const cr_optim_conf *)dense->optimizer.conf)->lr, 0.001, 0, 0);
    CHECK_STR(dense->learning_rate.m->key, "exponential_decay_learning_rate");
    CHECK_NEAR(cr_optim_rate(&dense->optimizer, &dense->learning_rate, 1100, 0), 0.0009, 0, 1e-12);
    CHECK_INT(c->eval_config->log_step_count_steps, 10);
    CHECK_STR(c->export_config->exporter_type, "latest"); /* not given: defaults */
    CHECK_INT(c->data_config->batch_size, 4096);
    CHECK_INT(c->data_config->num_workers, 4);
    CHECK_STR(c->data_config->label_fields.v[0], "click");
    CHECK_INT(c->feature_configs.n, 5);
    const cr_feature_conf *f0 = c->feature_configs.v[0], *f2 = c->feature_configs.v[2];
    const cr_id_conf *user = f0->feature.conf;
    CHECK_STR(user->feature_name, "user_id");
    CHECK_INT(user->hash_bucket_size, 100000);
    CHECK_STR(user->pooling, "sum");
    CHECK_STR(user->separator, "\x1d");
    CHECK(user->trainable && !cr_conf_has(user, "num_buckets"));
    const cr_raw_conf *price = f2->feature.conf;
    CHECK_INT(price->boundaries.n, 3);
    CHECK_NEAR(price->boundaries.v[1], 5.5, 0, 0);
    CHECK_STR(price->default_value, "0");
    CHECK_INT(price->value_dim, 1);
    const cr_group_conf *g = c->model_config->feature_groups.v[0];
    CHECK_STR(g->group_name, "deep");
    CHECK_INT(g->feature_names.n, 4);
    const cr_loss_conf *loss = c->model_config->losses.v[0];
    CHECK(loss->loss.m->type == &cr_loss_binary_cross_entropy);
    const cr_metric_conf *metric = c->model_config->metrics.v[0];
    CHECK_STR(metric->metric.m->key, "auc");
    done(&b);
}

/* a config that is right, with %s in the places where tests put mistakes */
#define HEAD                                                                                       \
    "train_config {\n"                                                                             \
    " sparse_optimizer { rowwise_adagrad_optimizer { lr: 0.1 } constant_learning_rate {} }\n"      \
    " dense_optimizer { adam_optimizer {} constant_learning_rate {} }\n"
#define DATA " dataset_type: CsvDataset label_fields: \"y\"\n"
#define FEATURES                                                                                   \
    "feature_configs { id_feature { feature_name: \"user\" num_buckets: 9 embedding_dim: 4 } }\n"  \
    "feature_configs { raw_feature { feature_name: \"price\" } }\n"
#define GROUPS                                                                                     \
    " feature_groups { group_name: \"wide\" feature_names: [\"user\"] group_type: WIDE }\n"        \
    " feature_groups { group_name: \"deep\" feature_names: [\"user\", \"price\"] }\n"
#define DEEPFM " deepfm { deep { hidden_units: [8, 4] } }\n losses { binary_cross_entropy {} }\n"

TEST(right) {
    bound b;
    bind(&b, HEAD
         " num_steps: 10 }\ndata_config {\n" DATA "}\n" FEATURES "model_config {\n" GROUPS DEEPFM
         " metrics { grouped_auc { grouping_key: \"user\" } }\n metrics { logloss {} } }\n");
    CHECK_ERRORS(&b, 0u);
    CHECK_INT(b.diag.n, 0);
    const cr_model_conf *m = b.c->model_config;
    CHECK(m->model.m->type == &cr_model_deepfm);
    CHECK(cr_conf_has(m->model.conf, "deep") && !cr_conf_has(m->model.conf, "final"));
    const cr_metric_conf *gauc = m->metrics.v[0], *ll = m->metrics.v[1];
    CHECK_STR(cr_metric_group_key(&gauc->metric), "user");
    CHECK(cr_metric_group_key(&ll->metric) == NULL);
    CHECK_INT(b.c->data_config->fg_mode, CR_FG_NONE);
    done(&b);
}

TEST(run_length_and_lanes) {
    bound b;
#define REST "}\ndata_config {\n" DATA "}\n" FEATURES "model_config {\n" GROUPS DEEPFM "}\n"
    bind(&b, HEAD " num_steps: 10\n num_epochs: 2\n" REST);
    CHECK(says(&b, CR_SEV_ERROR, 4, 13, "num_epochs, at 5:14, is 2"));
    CHECK_ERRORS(&b, 1u);
    done(&b);
    bind(&b, HEAD REST);
    CHECK(says(&b, CR_SEV_ERROR, 1, 0, "neither num_steps nor num_epochs"));
    CHECK_ERRORS(&b, 1u);
    done(&b);
    static const struct {
        const char *text;
        int64_t lanes;
    } cases[] = {
        {HEAD " num_steps: 10 }\ndata_config { batch_size: 2048\n" DATA, 8},
        {HEAD " num_steps: 10 }\ndata_config { batch_size: 16383\n" DATA, 8},
        {HEAD " num_steps: 10 }\ndata_config { batch_size: 16384\n" DATA, 16},
        {HEAD " num_steps: 10 }\ndata_config { batch_size: 4194304\n" DATA, 1024},
        {HEAD " num_steps: 10 }\ndata_config { batch_size: 2047\n" DATA, 4},
        {HEAD " num_steps: 10 }\ndata_config { batch_size: 512\n" DATA, 2},
        {HEAD " num_steps: 10 }\ndata_config { batch_size: 1\n" DATA, 2},
        {HEAD " num_steps: 10 lanes: 16 }\ndata_config { batch_size: 64\n" DATA, 16},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[2000];
        snprintf(text, sizeof(text), "%s}\n%s", cases[i].text,
                 FEATURES "model_config {\n" GROUPS DEEPFM "}\n");
        bind(&b, text);
        CHECK_ERRORS(&b, 0u);
        CHECK_INT(cr_lanes_for(b.c->train_config->lanes, b.c->data_config->batch_size),
                  cases[i].lanes);
        done(&b);
    }
    bind(&b, HEAD " num_steps: 10 lanes: 12 tensorboard_summaries: \"los\"\n" REST);
    CHECK(says(&b, CR_SEV_ERROR, 4, 23, "power of two"));
    CHECK(says(&b, CR_SEV_ERROR, 4, 0, "unknown summary 'los'"));
    CHECK_ERRORS(&b, 2u);
    done(&b);
    bind(&b,
         HEAD " num_steps: 10 lanes: 2048 grad_clipping { clipping_type: \"both\" }\n"
              " is_profiling: false gradient_accumulation_steps: 1 cudnn_allow_tf32: true\n" REST
              "export_config { exporter_type: \"newest\" }\n");
    CHECK(says(&b, CR_SEV_ERROR, 4, 0, "lanes"));
    CHECK(says(&b, CR_SEV_ERROR, 4, 0, "unknown clipping_type 'both'"));
    CHECK(says(&b, CR_SEV_ERROR, 0, 0, "use latest or best"));
    CHECK(says(&b, CR_SEV_WARN, 5, 0, "cudnn_allow_tf32"));
    CHECK_ERRORS(&b, 3u);
    done(&b);
#undef REST
}

TEST(names) {
    bound b;
    bind(
        &b, HEAD
        " num_steps: 1 }\ndata_config { dataset_type: CsvDataset fg_mode: FG_NORMAL }\n" /* 5 */
        FEATURES                                                                         /* 6 */
        "feature_configs { raw_feature { feature_name: \"user\" expression: \"item:x\" } }\n" /* 8
                                                                                               */
        "feature_configs { custom_feature { feature_name: \"cross\" operator_name: \"x\" } }\n"
        "model_config {\n"
        " feature_groups { group_name: \"a\" feature_names: [\"user\", \"prise\", \"cross\"] }\n"
        " feature_groups { group_name: \"a\" feature_names: \"qqqqqqqqq\" }\n"
        " feature_groups { group_name: \"empty\" }\n"
        " multi_tower { towers { input: \"a\" } towers { input: \"empt\" mlp { hidden_units: 4 } } "
        "}\n"
        " losses { softmax_cross_entropy {} }\n"
        " metrics { grouped_auc { grouping_key: \"price\" } }\n"
        " metrics { grouped_auc { grouping_key: \"usr\" } }\n"
        "}\n");
    CHECK(says(&b, CR_SEV_ERROR, 5, 0, "label_fields"));
    CHECK(says(&b, CR_SEV_ERROR, 6, 0, "'user' has no expression"));
    CHECK(says(&b, CR_SEV_ERROR, 7, 0, "'price' has no expression"));
    CHECK(says(&b, CR_SEV_ERROR, 8, 0, "feature 'user' is already defined at line 6"));
    CHECK(says(&b, CR_SEV_ERROR, 9, 0, "custom_feature"));
    CHECK(says(&b, CR_SEV_ERROR, 11, 59,
               "feature group 'a' names the unknown feature 'prise'; did you mean 'price'?"));
    CHECK(says(&b, CR_SEV_ERROR, 12, 0, "feature group 'a' is already defined at line 11"));
    CHECK(says(&b, CR_SEV_ERROR, 12, 0, "'qqqqqqqqq'; define it or remove the name"));
    CHECK(says(&b, CR_SEV_ERROR, 13, 0, "feature group 'empty' has no feature_names"));
    CHECK(says(&b, CR_SEV_ERROR, 14, 0,
               "tower names the unknown feature group 'empt'; did you mean 'empty'?"));
    CHECK(says(&b, CR_SEV_ERROR, 15, 0, "num_class of 2 or more"));
    CHECK(says(&b, CR_SEV_ERROR, 16, 0, "'price' is a dense feature"));
    CHECK(says(&b, CR_SEV_ERROR, 17, 0, "unknown feature 'usr'; did you mean 'user'?"));
    CHECK_ERRORS(&b, 13u);
    done(&b);
    bind(&b,
         HEAD " num_steps: 1 }\ndata_config {\n" DATA "}\n" FEATURES
              "model_config {\n feature_groups { group_name: \"dep\" feature_names: \"user\" }\n"
              " num_class: 3\n" DEEPFM "}\n");
    CHECK(says(&b, CR_SEV_ERROR, 13, 0, "deepfm needs a feature group named 'wide'"));
    CHECK(says(&b, CR_SEV_ERROR, 13, 0, "named 'deep'; is 'dep' meant?"));
    CHECK(says(&b, CR_SEV_ERROR, 14, 0, "binary_cross_entropy needs num_class 1, it is 3"));
    CHECK_ERRORS(&b, 3u);
    done(&b);
}

TEST(one_message) {
    bound b;
    bind(&b, HEAD
         " num_steps: 1 }\ndata_config {\n" DATA " delimiter: \"\" }\n"
         "feature_configs { id_feature { feature_name: \"a\" hash_bucket_size: 5 vocab_list: \"x\" "
         "embedding_dim: 4 pooling: \"max\" separator: \"ab\" data_type: \"FP16\" } }\n"
         "feature_configs { raw_feature { feature_name: \"b\" boundaries: [1, 3, 2, 1] } }\n"
         "feature_configs { raw_feature { feature_name: \"c\" autodis { num_channels: 4 } "
         "value_dim: 3 } }\n"
         "feature_configs { id_feature { feature_name: \"d\" num_buckets: 0 embedding_dim: 4\n"
         "  zch { zch_size: 4 } } }\n"
         "feature_configs { id_feature { feature_name: \"e\" num_buckets: 0 embedding_dim: 4\n"
         "  embedding_constraints { sharding_types: [\"row_wise\", \"tabel_wise\"] } } }\n"
         "feature_configs { id_feature { feature_name: \"f\" num_buckets: 0 embedding_dim: 4 } }\n"
         "model_config {\n feature_groups { group_name: \"deep\" feature_names: \"a\" }\n"
         " dlrm { final { hidden_units: [4, 2] dropout_ratio: [0.1, 0.2, 0.3] } }\n"
         " losses {}\n losses { l2_loss {} } }\n");
    CHECK(says(&b, CR_SEV_ERROR, 7, 13, "delimiter must not be empty"));
    CHECK(says(&b, CR_SEV_WARN, 8, 0, "vocab_list is given beside hash_bucket_size"));
    CHECK(says(&b, CR_SEV_ERROR, 8, 0, "unknown pooling 'max'"));
    CHECK(says(&b, CR_SEV_ERROR, 8, 0, "separator 'ab' has 2 bytes"));
    CHECK(says(&b, CR_SEV_ERROR, 9, 0, "2 follows 3"));
    CHECK(says(&b, CR_SEV_ERROR, 10, 0, "value_dim is 3"));
    CHECK(says(&b, CR_SEV_ERROR, 12, 0, "eviction policy"));
    CHECK(says(&b, CR_SEV_ERROR, 14, 0, "did you mean 'table_wise'?"));
    CHECK(says(&b, CR_SEV_ERROR, 15, 0, "num_buckets must lie between 1"));
    CHECK(says(&b, CR_SEV_ERROR, 18, 0, "dropout_ratio has 3 values for 2 layers"));
    CHECK(says(&b, CR_SEV_ERROR, 19, 0, "this message names no loss"));
    CHECK_ERRORS(&b, 10u);
    done(&b);
}

TEST(optimizers) {
    bound b;
    bind(&b, "train_config { num_steps: 1\n"
             " sparse_optimizer { rowwise_adagrad_optimizer { weight_decay: 0.1 } }\n"
             " dense_optimizer { sgd_optimizer { nesterov: true momentum: 0 }\n"
             "  exponential_decay_learning_rate {} ema { decay: 0.9 } } }\n"
             "data_config {\n" DATA "}\n" FEATURES "model_config {\n" GROUPS DEEPFM "}\n");
    CHECK(says(&b, CR_SEV_WARN, 2, 0, "weight_decay has no effect"));
    CHECK(says(&b, CR_SEV_ERROR, 3, 0, "nesterov needs a momentum"));
    CHECK(says(&b, CR_SEV_ERROR, 4, 0, "decay_size must be given and above 0"));
    CHECK_ERRORS(&b, 2u);
    CHECK(b.c->train_config->dense_optimizer->ema->decay == 0.9);
    done(&b);
#define TAIL "data_config {\n" DATA "}\n" FEATURES "model_config {\n" GROUPS DEEPFM "}\n"
    bind(&b, "train_config { num_steps: 1\n"
             " sparse_optimizer { lamb_optimizer {} manual_step_learning_rate {\n"
             "   schedule_sizes: [10, 30, 20] learning_rates: [0.1, 0.01] } }\n"
             " dense_optimizer { adamw_optimizer {} cosine_annealing_learning_rate { T_max: 0 }\n"
             "  part_optimizers { sgd_optimizer {} regex_pattern: \"a(b\" }\n"
             "  part_optimizers { sgd_optimizer {} regex_pattern: \"c\" "
             "cosine_annealing_warm_restarts_learning_rate {} }\n"
             "  part_optimizers { sgd_optimizer {} regex_pattern: \"(?<=a*)b\" } }\n"
             " grad_clipping { clipping_type: \"norm\" norm_type: 0 } grad_scaler { init_scale: 0 "
             "} }\n" TAIL);
    CHECK(says(&b, CR_SEV_ERROR, 3, 0, "schedule_sizes has 3 values and learning_rates 2"));
    CHECK(says(&b, CR_SEV_ERROR, 3, 0, "schedule_sizes must rise, but 20 follows 30"));
    CHECK(says(&b, CR_SEV_ERROR, 4, 0, "T_max must be given and above 0"));
    CHECK(says(&b, CR_SEV_ERROR, 5, 0, "'a(b' cannot be read: regular expression"));
    CHECK(says(&b, CR_SEV_ERROR, 6, 0, "T_0 must be given and above 0"));
    CHECK(says(&b, CR_SEV_ERROR, 7, 0, "lookbehind assertion is not fixed length"));
    CHECK(says(&b, CR_SEV_ERROR, 8, 0, "norm_type must be above 0"));
    CHECK(says(&b, CR_SEV_ERROR, 8, 0, "init_scale is 0"));
    CHECK_ERRORS(&b, 8u);
    done(&b);
    bind(&b, "train_config { num_steps: 1\n"
             " sparse_optimizer { adam_optimizer { mode: DENSE } constant_learning_rate {}\n"
             "  part_optimizers { ftrl_optimizer { l1: 0.1 } regex_pattern: \".*_wide.*\" } }\n"
             " dense_optimizer { adam_optimizer { amsgrad: true } constant_learning_rate {} }\n"
             " gradient_accumulation_steps: 4 grad_clipping { clipping_type: \"norm\" norm_type: "
             "inf } }\n" TAIL);
    CHECK_ERRORS(&b, 0u);
    const cr_train_conf *tc = b.c->train_config;
    CHECK(cr_optim_of(&tc->sparse_optimizer->optimizer) == &cr_optim_adam_all_rows);
    CHECK_INT(cr_optim_of(&tc->dense_optimizer->optimizer)->elem_state, 3);
    CHECK_INT(tc->sparse_optimizer->part_optimizers.n, 1);
    CHECK_INT(tc->gradient_accumulation_steps, 4);
    CHECK_INT(cr_grad_clip(tc->grad_clipping), CR_CLIP_NORM);
    CHECK(isinf(tc->grad_clipping->norm_type));
    done(&b);
#undef TAIL
}

static void bind_data(bound *b, const char *data) {
    char text[2048];
    snprintf(text, sizeof text,
             HEAD " num_steps: 1 }\ndata_config {\n" DATA "%s\n}\n" FEATURES
                  "model_config {\n" GROUPS DEEPFM "}\n",
             data);
    bind(b, text);
}

TEST(input_fields_str) {
    bound b;
    bind_data(&b,
              " input_fields_str: \" a : int32;b:BIGINT; c:String ;d:float;e : DOUBLE;f:Int;\"");
    CHECK_ERRORS(&b, 0u);
    const cr_msgs *f = &b.c->data_config->input_fields;
    static const struct {
        const char *name;
        int type;
    } want[] = {{"a", 0}, {"b", 1}, {"c", 2}, {"d", 3}, {"e", 4}, {"f", 0}};
    CHECK_INT(f->n, 6);
    for (int64_t i = 0; i < f->n && i < 6; i++) {
        const cr_field_conf *one = f->v[i];
        CHECK_STR(one->input_name, want[i].name);
        CHECK_INT(one->input_type, want[i].type);
        CHECK(cr_conf_has(one, "input_name") && cr_conf_has(one, "input_type"));
    }
    CHECK_INT(cr_conf_at(f->v[1], "input_name").line, 7);
    done(&b);

    /* the string's first byte is at column 21 */
    bind_data(&b, " input_fields_str: \"a:INT64;b:INTT;a:FLOAT;c;:INT32;d:MAP<STRING,FLOAT>;"
                  "e:array< array<bigint> >;f:MAP<FLOAT,INT32>\"");
    CHECK(says(&b, CR_SEV_ERROR, 7, 31,
               "entry 2 of input_fields_str: unknown type 'INTT'; did you mean"));
    CHECK(says(&b, CR_SEV_ERROR, 7, 36, "names column 'a' again"));
    CHECK(says(&b, CR_SEV_ERROR, 7, 44, "entry 4 of input_fields_str, 'c', has no type"));
    CHECK(says(&b, CR_SEV_ERROR, 7, 46, "entry 5 of input_fields_str has no name"));
    CHECK(says(&b, CR_SEV_ERROR, 7, 55, "a column of a CSV file cannot be MAP_STRING_FLOAT"));
    CHECK(says(&b, CR_SEV_ERROR, 7, 75, "a column of a CSV file cannot be ARRAY_ARRAY_INT64"));
    CHECK(says(&b, CR_SEV_ERROR, 7, 100, "unknown type 'MAP<FLOAT,INT32>'"));
    CHECK_ERRORS(&b, 7u);
    done(&b);

    bind_data(&b,
              " input_fields { input_name: \"x\" input_type: INT64 } input_fields { input_name: "
              "\"x\" } input_fields_str: \" ; \"");
    CHECK(says(&b, CR_SEV_ERROR, 7, 0, "names no column"));
    CHECK_ERRORS(&b, 1u);
    done(&b);
    bind_data(&b,
              " input_fields { input_name: \"x\" input_type: INT64 }\n"
              " input_fields { input_name: \"x\" } input_fields { input_name: \"y\" input_type: "
              "ARRAY_INT32 }");
    CHECK(says(&b, CR_SEV_ERROR, 8, 0, "names column 'x' again"));
    CHECK(says(&b, CR_SEV_ERROR, 8, 0, "ARRAY_INT32"));
    CHECK_ERRORS(&b, 2u);
    done(&b);
}

TEST(fg_encoded) {
    bound b;
    bind_data(&b, " fg_encoded: true fg_mode: FG_NORMAL");
    CHECK_INT(b.c->data_config->fg_mode, CR_FG_NONE);
    CHECK_ERRORS(&b, 0u);
    done(&b);
    bind_data(&b, " fg_encoded: false");
    CHECK_INT(b.c->data_config->fg_mode, CR_FG_DAG);
    CHECK_ERRORS(&b, 2u); /* the two features have no expression */
    done(&b);
    bind_data(&b, " fg_encoded: false fg_threads: 0");
    CHECK_INT(b.c->data_config->fg_mode, CR_FG_NORMAL);
    CHECK_ERRORS(&b, 2u); /* the same */
    done(&b);
}

TEST(nothing) {
    bound b;
    bind(&b, "model_dir: \"m\"\n");
    CHECK(b.c->train_config && b.c->eval_config && b.c->export_config && b.c->data_config &&
          b.c->model_config);
    CHECK(says(&b, CR_SEV_ERROR, 0, 0, "'train_config' is missing"));
    CHECK(says(&b, CR_SEV_ERROR, 0, 0, "'data_config' is missing"));
    CHECK(says(&b, CR_SEV_ERROR, 0, 0, "'model_config' is missing"));
    CHECK(says(&b, CR_SEV_ERROR, 0, 0, "no feature_configs"));
    CHECK_ERRORS(&b, 4u);
    done(&b);
}

TEST_MAIN(CASE(tables), CASE(families), CASE(appendix), CASE(right), CASE(run_length_and_lanes),
          CASE(names), CASE(one_message), CASE(optimizers), CASE(input_fields_str),
          CASE(fg_encoded), CASE(nothing))
