/*
 * easyrec.c - configs of EasyRec, TorchEasyRec's predecessor on TensorFlow: the root, data_config,
 * eval_config and export_config.
 *
 * The two schemas look alike and differ in meaning: EasyRec reads raw columns and makes features of
 * them while it reads (fg_mode: FG_NORMAL here), has all metrics in eval_config, and counts epochs
 * in data_config.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "dialect/easyrec_int.h"
#include "dialect/list.h"

cr_er *cr_er_of(cr_rw *w) {
    return w->ctx;
}

cr_arena *cr_er_arena(cr_er *er) {
    return &er->w.doc->arena;
}

#define ONE_PROCESS "this is one process on a CPU; results do not depend on it"
#define SPEED       "results do not depend on it"

/* ---- columns ---- */

int cr_er_expand(cr_er *er, const char *name, void (*each)(cr_er *er, const char *name, void *ctx),
                 void *ctx) {
    const char *open = strchr(name, '[');
    char *end;
    if (open && open > name) {
        long from = strtol(open + 1, &end, 10), to;
        if (end > open + 1 && *end == '-') {
            const char *second = end + 1;
            to = strtol(second, &end, 10);
            bool whole = end > second && *end == ']' && !end[1];
            if (whole && from >= 0 && to >= from && to - from < 100000) {
                for (long i = from; i <= to; i++)
                    each(er,
                         cr_arena_printf(cr_er_arena(er), "%.*s%ld", (int)(open - name), name, i),
                         ctx);
                return (int)(to - from + 1);
            }
        }
    }
    each(er, name, ctx);
    return 1;
}

typedef struct field_ctx {
    const cr_conf_node *conf;
    bool count;
} field_ctx;

static void add_field(cr_er *er, const char *name, void *ctx) {
    const field_ctx *c = ctx;
    if (!c->count) {
        er->fields[er->n_fields] = (cr_er_field){.name = name,
                                                 .type = cr_rw_str(c->conf, "input_type", "STRING"),
                                                 .absent = cr_rw_str(c->conf, "default_val", "")};
        cr_map_put(&er->field_index, name, strlen(name), (int64_t)er->n_fields);
    }
    er->n_fields++;
}

static void field_names(cr_er *er, const char *name, field_ctx *c) {
    if (cr_rw_bool(er->data, "auto_expand_input_fields", false))
        cr_er_expand(er, name, add_field, c);
    else
        add_field(er, name, c);
}

static void collect_fields(cr_er *er) {
    for (int pass = 0; pass < 2; pass++) { /* The first pass counts, the second one fills. */
        if (pass) er->fields = CR_NEW_N(cr_er_arena(er), cr_er_field, er->n_fields + 1);
        er->n_fields = 0;
        cr_rw_iter it = {.map = er->data, .key = "input_fields"};
        for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
            const char *name = cr_rw_str(e->val, "input_name", NULL);
            field_ctx c = {e->val, pass == 0};
            if (name) field_names(er, name, &c);
        }
    }
}

const cr_er_field *cr_er_field_of(const cr_er *er, const char *name) {
    int64_t i = name ? cr_map_get(&er->field_index, name, strlen(name), -1) : -1;
    return i < 0 ? NULL : &er->fields[i];
}

double cr_er_batch_size(const cr_er *er) {
    double n = cr_rw_num(er->data, "batch_size", 32);
    return n >= 1 ? n : 32;
}

const char *cr_er_label(const cr_er *er, int i) {
    cr_rw_iter it = {.map = er->data, .key = "label_fields"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it)); i--)
        if (i == 0 && e->val->kind == CR_NODE_SCALAR) return e->val->text;
    return "";
}

/* ---- data_config ---- */

static const cr_rw_word field_types[] = {
    {"INT32", 0, "INT32", NULL},
    {"INT64", 1, "INT64", NULL},
    {"STRING", 2, "STRING", NULL},
    {"FLOAT", 4, "FLOAT", NULL},
    {"DOUBLE", 5, "DOUBLE", NULL},
    {"BOOL", 6, "STRING", "BOOL became STRING, of which features read the text"},
    {NULL, 0, NULL, NULL},
};

#define LABEL_FN "functions on labels have no counterpart; store the label as it is to be learned"
static const cr_rule field_rules[] = {
    SPENT("input_name"),
    WORD("input_type", NULL, field_types, "STRING"),
    SPENT("default_val"),
    IDLE("input_dim", "1", "a column is as wide as its feature says"),
    IDLE("input_shape", "1", "a column is as wide as its feature says"),
    LOST("user_define_fn", NULL, LABEL_FN),
    LOST("user_define_fn_path", NULL, LABEL_FN),
    LOST("user_define_fn_res_type", NULL, LABEL_FN),
    LOST("ignore_val", NULL,
         "no value of a column is ignored; leave the field of such a row empty"),
    END,
};

typedef struct put_field {
    const cr_conf_entry *e;
    cr_conf_node *out;
} put_field;

static void write_field(cr_er *er, const char *name, void *ctx) {
    put_field *p = ctx;
    cr_rw *w = &er->w;
    cr_conf_node *f = cr_rw_map(w, p->out, "input_fields", p->e->at);
    cr_rw_put_str(w, f, "input_name", cr_rw_at(p->e->val, "input_name"), name);
    cr_rw_message(w, field_rules, p->e->val, f);
    const cr_er_field *field = cr_er_field_of(er, name);
    if (field && *field->absent && field->n_readers == 0)
        cr_rw_tell(w, CR_SEV_NOTE, cr_rw_at(p->e->val, "default_val"),
                   "'data_config.input_fields.default_val' is left out where no feature reads the "
                   "column alone; defaults belong to features here");
}

static void input_field(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_er *er = cr_er_of(w);
    const char *name = cr_rw_str(e->val, "input_name", NULL);
    put_field p = {e, out};
    if (!name) {
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, e->at, "input_fields lacks its input_name");
        return;
    }
    if (er->fg) {
        cr_rw_tell(w, CR_SEV_NOTE, e->at,
                   "'data_config.input_fields' is left out: it names columns behind the feature "
                   "generator; with fg.json columns are those that its expressions name");
        return;
    }
    if (cr_rw_bool(er->data, "auto_expand_input_fields", false))
        cr_er_expand(er, name, write_field, &p);
    else
        write_field(er, name, &p);
}

#define NO_READER                                                                                  \
    "crank reads CSV and Parquet files: write the rows as Parquet with a column per input field; " \
    "dataset_type became ParquetDataset"
static const cr_rw_word input_types[] = {
    {"CSVInput", 10, "CsvDataset", NULL},
    {"CSVInputV2", 11, "CsvDataset", NULL},
    {"CSVInputEx", 12, "CsvDataset", NULL},
    {"ParquetInput", 19, "ParquetDataset", NULL},
    {"ParquetInputV2", 20, "ParquetDataset", NULL},
    {"ParquetInputV3", 21, "ParquetDataset", NULL},
    {"HiveParquetInput", 18, "ParquetDataset", NULL},
    {"OdpsInput", 2, "OdpsDataset", NULL},
    {"OdpsInputV2", 3, "OdpsDataset", NULL},
    {"OdpsInputV3", 9, "OdpsDataset", NULL},
    {"DataHubInput", 15, "ParquetDataset", NO_READER},
    {"RTPInput", 4, "ParquetDataset", NO_READER},
    {"RTPInputV2", 5, "ParquetDataset", NO_READER},
    {"OdpsRTPInput", 601, "ParquetDataset", NO_READER},
    {"OdpsRTPInputV2", 602, "ParquetDataset", NO_READER},
    {"TFRecordInput", 7, "ParquetDataset", NO_READER},
    {"BatchTFRecordInput", 14, "ParquetDataset", NO_READER},
    {"DummyInput", 8, "ParquetDataset", NO_READER},
    {"KafkaInput", 13, "ParquetDataset", NO_READER},
    {"HiveInput", 16, "ParquetDataset", NO_READER},
    {"HiveRTPInput", 17, "ParquetDataset", NO_READER},
    {"CriteoInput", 1001, "ParquetDataset", NO_READER},
    {NULL, 0, NULL, NULL},
};

static bool is_csv(const cr_er *er) {
    return strncmp(cr_rw_str(er->data, "input_type", ""), "CSV", 3) == 0;
}

static void separator(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    if (is_csv(cr_er_of(w)))
        cr_conf_push(w->doc, out, "delimiter", e->at, e->val);
    else
        cr_rw_drop(w, CR_SEV_NOTE, e->at, "separator", "only CSV files have one");
}

static void ignore_error(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    if (!cr_rw_bool(cr_er_of(w)->data, "ignore_error", false)) return;
    cr_rw_put_num(w, out, "max_bad_rows", e->at, 1000000);
    cr_rw_tell(w, CR_SEV_NOTE, e->at,
               "ignore_error became max_bad_rows: 1000000; bad rows are counted and named");
}

/* shuffle_buffer_size counts rows in EasyRec and batches here. */
static void shuffle_rows(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_er *er = cr_er_of(w);
    double rows = cr_rw_num(er->data, "shuffle_buffer_size", 32);
    double batches = ceil(rows / cr_er_batch_size(er));
    cr_rw_put_num(w, out, "shuffle_buffer_size", e->at, batches < 1 ? 1 : batches);
}

static void label_fields(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    const cr_er *er = cr_er_of(w);
    /* A model with one task learns the first label. data_end puts the chosen label there. */
    const char *chosen = er->tasks ? NULL : cr_rw_str(er->model, "label_name", NULL);
    if (chosen && e->val->kind == CR_NODE_SCALAR && strcmp(chosen, e->val->text) == 0) return;
    cr_conf_push(w->doc, out, "label_fields", e->at, e->val);
}

#define TABLE_ONLY "it is about MaxCompute tables and streams; " SPEED
static const cr_rule sampler_rules[] = {
    TAKE("input_path", NULL, NULL),
    TAKE("user_input_path", NULL, NULL),
    TAKE("item_input_path", NULL, NULL),
    TAKE("pos_edge_input_path", NULL, NULL),
    TAKE("hard_neg_edge_input_path", NULL, NULL),
    TAKE("num_sample", NULL, NULL),
    TAKE("num_hard_sample", NULL, NULL),
    TAKE("attr_fields", NULL, NULL),
    TAKE("item_id_field", NULL, NULL),
    TAKE("user_id_field", NULL, NULL),
    TAKE("attr_delimiter", NULL, NULL),
    TAKE("num_eval_sample", NULL, NULL),
    TAKE("field_delimiter", NULL, NULL),
    END,
};
static const cr_rule data_rules[] = {
    TAKE("batch_size", NULL, "32"),
    SPENT("auto_expand_input_fields"),
    CALL("input_fields", input_field),
    CALL("label_fields", label_fields),
    LOST("label_sep", NULL, "a label is one number here"),
    LOST("label_dim", "1", "a label is one number here"),
    LOST("extra_label_func", NULL, LABEL_FN),
    TAKE("shuffle", NULL, "true"),
    CALL("shuffle_buffer_size", shuffle_rows),
    SPENT("num_epochs"),
    IDLE("prefetch_size", NULL, SPEED),
    IDLE("shard", NULL, ONE_PROCESS),
    IDLE("file_shard", NULL, ONE_PROCESS),
    WORD("input_type", "dataset_type", input_types, NULL),
    CALL("separator", separator),
    IDLE("num_parallel_calls", NULL, SPEED),
    IDLE("selected_cols", "", "columns are found by their names"),
    IDLE("selected_col_types", "", "columns are found by their names"),
    IDLE("rtp_separator", NULL, "each feature has a column of its own"),
    CALL("ignore_error", ignore_error),
    IDLE("pai_worker_queue", "false", TABLE_ONLY),
    IDLE("pai_worker_slice_num", NULL, TABLE_ONLY),
    IDLE("chief_redundant", "false", ONE_PROCESS),
    TAKE("sample_weight", "sample_weight_fields", NULL),
    IDLE("data_compression_type", "", "the ending of a file tells"),
    IDLE("n_data_batch_tfrecord", NULL, "each row is a row here"),
    TAKE("with_header", NULL, NULL),
    IDLE("feature_fields", NULL, "each feature names its column"),
    INTO("negative_sampler", NULL, sampler_rules),
    INTO("negative_sampler_v2", NULL, sampler_rules),
    INTO("hard_negative_sampler", NULL, sampler_rules),
    INTO("hard_negative_sampler_v2", NULL, sampler_rules),
    INTO("negative_sampler_in_memory", "negative_sampler", sampler_rules),
    TAKE("eval_batch_size", NULL, NULL),
    TAKE("drop_remainder", NULL, NULL),
    END,
};

static void data_end(cr_er *er) {
    cr_conf_node *out = cr_rw_child(&er->w, er->out, "data_config", er->root->at);
    cr_loc at = out->at;
    const char *chosen = er->tasks ? NULL : cr_rw_str(er->model, "label_name", NULL);
    cr_rw_put_word(&er->w, out, "fg_mode", at, "FG_NORMAL");
    if (er->data && !cr_rw_has(er->data, "input_type")) {
        cr_rw_put_word(&er->w, out, "dataset_type", at, "CsvDataset");
        cr_diag_add(er->w.diag, CR_SEV_ERROR, CR_ECONF, er->data->at,
                    "data_config has no input_type; EasyRec needs it, too");
    }
    if (er->fg && is_csv(er) && !cr_rw_has(er->data, "with_header"))
        cr_rw_put_bool(&er->w, out, "with_header", at, true);
    if (!chosen) return;
    bool known = false;
    for (int i = 0; *cr_er_label(er, i); i++)
        known |= strcmp(cr_er_label(er, i), chosen) == 0;
    if (!known)
        cr_diag_add(er->w.diag, CR_SEV_ERROR, CR_ECONF, cr_rw_at(er->model, "label_name"),
                    "label_name '%s' is not among data_config.label_fields", chosen);
    cr_conf_node *list =
        cr_conf_new(er->w.doc, CR_NODE_MAP, at); /* The chosen label comes before the others. */
    cr_rw_put_str(&er->w, list, "label_fields", cr_rw_at(er->model, "label_name"), chosen);
    for (size_t i = 0; i < out->n; i++)
        cr_conf_push(er->w.doc, list, out->v[i].key, out->v[i].at, out->v[i].val);
    *out = *list;
}

/* ---- eval_config ---- */

static void metric_of_model(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_er *er = cr_er_of(w);
    (void)out;
    if (er->tasks)
        cr_rw_tell(w, CR_SEV_NOTE, e->at,
                   "'eval_config.metrics_set' is left out: a model with several tasks has its "
                   "metrics in the task towers, in EasyRec too");
    else
        cr_er_metric(w, e, cr_rw_child(w, er->out, "model_config", e->at));
}

static void num_examples(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_er *er = cr_er_of(w);
    double rows = cr_rw_num(cr_rw_get(er->root, "eval_config"), "num_examples", 0);
    double batch = cr_rw_num(er->data, "eval_batch_size", cr_er_batch_size(er));
    if (rows > 0 && batch >= 1) cr_rw_put_num(w, out, "num_steps", e->at, ceil(rows / batch));
}

static const cr_rule eval_rules[] = {
    CALL("num_examples", num_examples),
    IDLE("eval_interval_secs", NULL,
         "evaluation runs after every checkpoint; see train_config.eval_interval_steps"),
    IDLE("max_evals", NULL, "evaluation ends with training"),
    IDLE("save_graph", NULL, "there is no TensorFlow graph"),
    CALL("metrics_set", metric_of_model),
    IDLE("eval_online", "false", "metrics of training batches are model_config.train_metrics"),
    END,
};

/* ---- export_config ---- */

static const cr_rw_word exporter_types[] = {
    {"final", -1, "latest", NULL},
    {"latest", -1, "latest", NULL},
    {"best", -1, "best", NULL},
    {"none", -1, NULL, "nothing is exported before crank export is called"},
    {NULL, 0, NULL, NULL},
};

/* max_check_steps counts training steps; early_stopping_patience counts evaluations, and there is
 * one evaluation per checkpoint. */
static void early_stop(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_er *er = cr_er_of(w);
    const cr_conf_node *conf = cr_rw_get(er->root, "export_config");
    double steps = cr_rw_num(conf, "max_check_steps", 10000);
    double every = cr_rw_num(cr_rw_get(er->root, "train_config"), "save_checkpoints_steps", 1000);
    (void)out;
    if (!cr_rw_bool(conf, "enable_early_stop", false)) return;
    double n = every >= 1 ? ceil(steps / every) : 1;
    cr_rw_put_num(w, cr_rw_child(w, er->out, "eval_config", e->at), "early_stopping_patience",
                  e->at, n < 1 ? 1 : n);
}

#define SERVING "it is about the inputs of a TensorFlow graph; an export here reads columns by name"
static const cr_rule export_rules[] = {
    IDLE("batch_size", "-1", SERVING),
    TEXT("exporter_type", NULL, exporter_types),
    SPENT("best_exporter_metric"),
    TAKE("metric_bigger", "metric_larger_is_better", NULL),
    CALL("enable_early_stop", early_stop),
    LOST("early_stop_func", NULL,
         "functions of your own cannot stop a training; see eval_config.early_stopping_patience"),
    LOST("early_stop_params", NULL, "it belongs to early_stop_func"),
    SPENT("max_check_steps"),
    IDLE("multi_placeholder", NULL, SERVING),
    IDLE("exports_to_keep", NULL, "an export is made once, by crank export"),
    IDLE("multi_value_fields", NULL, SERVING),
    IDLE("auto_multi_value", NULL, SERVING),
    IDLE("placeholder_named_by_input", NULL, SERVING),
    IDLE("filter_inputs", NULL, SERVING),
    IDLE("export_features", "false", SERVING),
    IDLE("export_rtp_outputs", "false", SERVING),
    IDLE("asset_files", NULL, "give them to crank export --asset_files"),
    END,
};

/* ---- the root ---- */

#define STREAM                                                                                     \
    "it names a stream, a table or files that crank does not read; give train_input_path and "     \
    "eval_input_path"
static const cr_rule feature_v2_rules[] = {
    SPENT("features"),
    IDLE("embedding_on_cpu", NULL, ONE_PROCESS),
    END,
};
static void feature_v2(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_rw_message(w, feature_v2_rules, e->val, out);
}

static const cr_rule root_rules[] = {
    TAKE("train_input_path", NULL, NULL),
    LOST("kafka_train_input", NULL, STREAM),
    LOST("datahub_train_input", NULL, STREAM),
    LOST("hive_train_input", NULL, STREAM),
    LOST("binary_train_input", NULL, STREAM),
    TAKE("parquet_train_input", "train_input_path", NULL),
    TAKE("eval_input_path", NULL, NULL),
    LOST("kafka_eval_input", NULL, STREAM),
    LOST("datahub_eval_input", NULL, STREAM),
    LOST("hive_eval_input", NULL, STREAM),
    LOST("binary_eval_input", NULL, STREAM),
    TAKE("parquet_eval_input", "eval_input_path", NULL),
    TAKE("model_dir", NULL, NULL),
    INTO("train_config", NULL, cr_er_train_rules),
    INTO("eval_config", NULL, eval_rules),
    INTO("data_config", NULL, data_rules),
    SPENT("feature_configs"),
    CALL("feature_config", feature_v2),
    CALL("model_config", cr_er_model),
    INTO("export_config", NULL, export_rules),
    SPENT("fg_json_path"),
    END,
};

/* ---- is this a config of EasyRec? ---- */

static const cr_conf_entry *easyrec_sign(const cr_conf_doc *doc) {
    static const char *const keys[][2] = {
        {"train_config", "optimizer_config"}, {"eval_config", "metrics_set"},
        {"data_config", "input_type"},        {"feature_configs", "feature_type"},
        {"feature_configs", "input_names"},   {"feature_config", "features"},
        {"model_config", "model_class"},      {NULL, NULL},
    };
    return cr_dialect_key(doc, keys);
}

/* Results of a converted config differ in places, which the user has to see; so it is not converted
 * silently. */
static cr_code easyrec_rewrite(cr_conf_doc *doc, const cr_conf_entry *sign,
                               const cr_dialect_opts *o, cr_diag *diag) {
    (void)o;
    const char *base = cr_path_base(doc->path), *dot = strrchr(base, '.');
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, sign->at,
                "'%s' is a key of EasyRec, the predecessor of TorchEasyRec; convert the "
                "config: crank convert %s -o %.*s_tzrec.config",
                sign->key, doc->path, dot ? (int)(dot - base) : (int)strlen(base), base);
    return CR_ECONF;
}

const cr_dialect cr_dialect_easyrec = {
    .name = "EasyRec",
    .sign = easyrec_sign,
    .rewrite = easyrec_rewrite,
};

static cr_code look(const cr_conf_doc *in, cr_diag *diag) {
    const cr_conf_node *root = in->root;
    cr_loc at = {in->path, 0, 0};
    const cr_conf_entry *ours = cr_dialect_native.sign(in);
    if (root->kind != CR_NODE_MAP || root->n == 0) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                    "there is no config in it; give a pipeline config of EasyRec");
        return CR_ECONF;
    }
    if (ours) {
        cr_diag_add(
            diag, CR_SEV_ERROR, CR_ECONF, ours->at,
            "'%s' says that this is a config for TorchEasyRec already; crank takes it as it "
            "is: crank check %s",
            ours->key, in->path);
        return CR_ECONF;
    }
    if (!cr_rw_has(root, "model_config") && !cr_rw_has(root, "feature_config") &&
        !cr_rw_has(root, "feature_configs") && !cr_rw_has(root, "data_config")) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                    "this is not a pipeline config of EasyRec: there is neither data_config nor "
                    "feature_config nor model_config");
        return CR_ECONF;
    }
    return CR_OK;
}

/* export_end writes the metric that decides which checkpoint is best. The default of EasyRec is
 * written only if the config asks for the best checkpoint or for early stopping. */
static void export_end(cr_er *er) {
    const cr_conf_node *in = cr_rw_get(er->root, "export_config");
    const char *metric = cr_rw_str(in, "best_exporter_metric", NULL);
    bool best = strcmp(cr_rw_str(in, "exporter_type", "final"), "best") == 0 ||
                cr_rw_bool(in, "enable_early_stop", false);
    if (metric || (best && !er->tasks))
        cr_rw_put_str(&er->w, cr_rw_child(&er->w, er->out, "export_config", er->root->at),
                      "best_exporter_metric", cr_rw_at(in, "best_exporter_metric"),
                      metric ? metric : "auc");
}

/* need reports a message that is missing and that the result must have. */
static void need(cr_er *er, const char *key) {
    if (!cr_rw_has(er->root, key))
        cr_diag_add(er->w.diag, CR_SEV_ERROR, CR_ECONF, (cr_loc){er->root->at.path, 0, 0},
                    "there is no %s; EasyRec needs one, too", key);
}

/* joined returns the root with every message once. Protobuf joins the parts of a message that is
 * given several times. */
static cr_conf_node *joined(cr_conf_doc *doc, const cr_conf_node *root) {
    static const char *const once[] = {"train_config",   "eval_config",  "data_config",
                                       "feature_config", "model_config", "export_config"};
    cr_conf_node *out = cr_conf_new(doc, CR_NODE_MAP, root->at);
    out->from = root->from;
    for (size_t i = 0; i < root->n; i++) {
        const cr_conf_entry *e = &root->v[i];
        cr_conf_node *had = NULL;
        for (size_t k = 0; k < 6; k++)
            if (cr_conf_key_is(root, e->key, once[k])) had = cr_conf_find(out, once[k]);
        if (!had || had->kind != CR_NODE_MAP || e->val->kind != CR_NODE_MAP) {
            cr_conf_push(doc, out, e->key, e->at, e->val);
            continue;
        }
        cr_conf_node *both = cr_conf_new(doc, CR_NODE_MAP, had->at);
        both->from = had->from;
        for (size_t k = 0; k < had->n; k++)
            cr_conf_push(doc, both, had->v[k].key, had->v[k].at, had->v[k].val);
        for (size_t k = 0; k < e->val->n; k++)
            cr_conf_push(doc, both, e->val->v[k].key, e->val->v[k].at, e->val->v[k].val);
        for (size_t k = 0; k < out->n; k++)
            if (out->v[k].val == had) out->v[k].val = both;
    }
    return out;
}

cr_code cr_easyrec_convert(cr_conf_doc *out, const cr_conf_doc *in, const cr_easyrec_opts *o,
                           cr_easyrec_result *res, cr_diag *diag) {
    cr_er er = {.out = out->root, .opts = o, .res = res};
    *res = (cr_easyrec_result){0};
    CR_TRY(look(in, diag));
    er.root = joined(out, in->root);
    out->syntax = CR_SYNTAX_PBTXT;
    out->root->from = CR_SYNTAX_PBTXT;
    cr_rw_init(&er.w, out, "EasyRec", &er, diag);
    cr_map_init(&er.field_index);
    cr_map_init(&er.feature_index);
    cr_map_init(&er.keys_made);
    er.data = cr_rw_get(er.root, "data_config");
    er.model = cr_rw_get(er.root, "model_config");
    cr_code code = cr_er_fg_load(&er);
    if (code == CR_OK) {
        cr_er_find_model(&er);
        collect_fields(&er);
        cr_er_collect_features(&er);
        cr_er_collect_groups(&er);
        if (er.model) cr_rw_map(&er.w, er.out, "model_config", cr_rw_at(er.root, "model_config"));
        cr_rw_message(&er.w, root_rules, er.root, er.out);
        cr_er_train_end(&er, cr_rw_child(&er.w, er.out, "train_config", er.root->at));
        cr_er_features(&er);
        data_end(&er);
        export_end(&er);
        need(&er, "data_config");
        need(&er, "model_config");
        cr_rw_flush(&er.w);
        res->n_left = er.w.n_left;
        res->n_lost = er.w.n_lost;
    }
    cr_map_clear(&er.field_index);
    cr_map_clear(&er.feature_index);
    cr_map_clear(&er.keys_made);
    cr_rw_clear(&er.w);
    return code;
}
