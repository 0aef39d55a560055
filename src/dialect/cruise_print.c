/*
 * cruise_print.c - the defaults of all keys of a Cruise config, for --print_config. What is printed
 * can be read again and means the same.
 *
 * A default that depends on another key stands as that key makes it; keys whose absence means
 * something that no value says (checkpoint_path of a run that goes on) are left out.
 */
#include <string.h>

#include "dialect/cruise_int.h"
#include "dialect/dialect.h"
#include "dialect/made_int.h"

static const char trainer_defaults[] =
    "default_root_dir: null\ndefault_hdfs_dir: null\nlogger: true\nlog_every_n_steps: 50\n"
    "enable_versions: true\nenable_speedmonitor: true\nbenchmark: false\ndeterministic: false\n"
    "detect_anomaly: false\naccelerator: cpu\naccelerator_kwargs: {}\nstrategy: ddp\n"
    "precision: 32\nmax_epochs: 1\nmax_steps: -1\nlimit_train_batches: -1\n"
    "limit_val_batches: -1\nlimit_test_batches: -1\nval_check_interval: 1.0\n"
    "accumulate_grad_batches: null\ngradient_clip_val: null\nseed: 42\nsync_batchnorm: true\n"
    "find_unused_parameters: true\nsync_fit_metrics: true\nsummarize_model_depth: 5\n"
    "resume_ckpt_path: auto\nresume_loader_state: true\nenable_checkpoint: [30, 30]\n"
    "checkpoint_monitor: loss\ncheckpoint_mode: min\ncallbacks: null\ndataloader_timeout: -1\n"
    "dataloader_retry_limit: 100\ndataloader_retry_persistent_limit: 5\n"
    "reload_dataloaders_every_n_epochs: -1\nproject_name: null\nexperiment_name: null\n"
    "enable_trace: false\nenable_qat: false\nqat_kwargs: {}\noptimizer_kwargs: null\n"
    "grad_norm_layers: []\n";
static const char model_defaults[] =
    "features: {feature_num: 150, bucket_num: 8, bucket_dim: 128, slot_mask: [], layer_conf: [64, "
    "64, 64], alpha: 1}\n"
    "kwargs: {dropout: 0.3}\n";
static const char asr_defaults[] = "asr_encoder: {embedding_dim: 768, emb_dropout_prob: 0}\n";
static const char mtl_defaults[] =
    "mtl: {shared_out_size: 256, tower_dims: [256, 128, 64], loss_weight: [1, 1], "
    "constraint_weight: 0.3, drop_prob: [0.1, 0.3, 0.3]}\n";
static const char optimizer_defaults[] =
    "optimizer: {optimizer_name: AdamW, learning_rate: 0.001, wd: 0, wd_ignore_bias: false, "
    "custom_keys: {}, amsgrad: false}\n";
static const char data_defaults[] =
    "dataset: {val_input_dir: null, test_input_dir: null, train_folder: '', val_folder: '', "
    "test_folder: ''}\n"
    "feature_provider: {feature_num: 150, slot_mask: [], feature_norm_info: {}, embedding_conf: "
    "{}, filtered_tags: null, save_extra: false, eval_mode: false, trace_mode: false}\n"
    "data_factory: {batch_size: 128, batch_size_val: -1, num_workers: null, num_parallel_reads: 4, "
    "drop_last: false, shuffle: true, shuffle_files: false, train_max_iteration: -1, "
    "val_max_iteration: -1, test_max_iteration: -1, fast_resume: true, parquet_cache_on: true, "
    "multiplex_mix_batch: true, multiplex_dataset_weights: null, filename_pattern: null, "
    "file_min_size: null}\n";

static cr_conf_node *parsed(cr_conf_doc *doc, cr_loc at, const char *fmt, ...) CR_PRINTF(3, 4);
static cr_conf_node *parsed(cr_conf_doc *doc, cr_loc at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    cr_conf_node *n = cr_made_yaml(doc, at, fmt, args);
    va_end(args);
    return n;
}

/* Adds what `to` lacks, at any depth. */
static void fill(cr_conf_doc *doc, cr_conf_node *to, const cr_conf_node *from) {
    for (size_t i = 0; i < from->n; i++) {
        cr_conf_node *there = cr_conf_find(to, from->v[i].key), *val = from->v[i].val;
        if (!there)
            cr_conf_push(doc, to, from->v[i].key, from->v[i].at, val);
        else if (there->kind == CR_NODE_MAP && val->kind == CR_NODE_MAP)
            fill(doc, there, val);
    }
}

static cr_conf_node *section(cr_conf_doc *doc, const char *key) {
    cr_conf_node *n = cr_tree_child(doc, doc->root, key, doc->root->at);
    return n->kind == CR_NODE_MAP ? n : NULL;
}

void cr_cruise_defaults(cr_conf_doc *doc) {
    cr_loc at = doc->root->at;
    cr_conf_node *trainer = section(doc, "trainer"), *model = section(doc, "model"),
                 *data = section(doc, "data");
    if (!trainer || !model || !data) return;
    cr_conf_node *n = parsed(doc, at, "%s", trainer_defaults);
    /* max_steps takes the place of max_epochs; the direction of a metric is known */
    bool steps = cr_rw_num(trainer, "max_steps", -1) > 0;
    bool loss = strstr(cr_rw_str(trainer, "checkpoint_monitor", "loss"), "loss") != NULL;
    size_t k = 0;
    for (size_t i = 0; i < n->n; i++)
        if (!(steps && strcmp(n->v[i].key, "max_epochs") == 0) &&
            !(!loss && strcmp(n->v[i].key, "checkpoint_mode") == 0))
            n->v[k++] = n->v[i];
    n->n = k;
    fill(doc, trainer, n);
    const char *type = cr_rw_str(model, "type", "");
    fill(doc, model, parsed(doc, at, "%s", model_defaults));
    if (strncmp(type, "EcomLive", 8) == 0) fill(doc, model, parsed(doc, at, "%s", asr_defaults));
    if (strstr(type, "Aitm")) fill(doc, model, parsed(doc, at, "%s", mtl_defaults));
    cr_conf_node *kwargs = cr_conf_find(model, "kwargs");
    const cr_conf_node *python = cr_conf_find(trainer, "optimizer_kwargs");
    bool named = cr_rw_has(kwargs, "optimizer") || cr_rw_has(kwargs, "lr_scheduler");
    if (kwargs->kind == CR_NODE_MAP && (named || !python || python->n == 0))
        fill(doc, kwargs, parsed(doc, at, "%s", optimizer_defaults));
    fill(doc, data, parsed(doc, at, "%s", data_defaults));
    if (!cr_conf_find(doc->root, "log_level"))
        cr_conf_push(doc, doc->root, "log_level", at, cr_tree_scalar(doc, "INFO", false, at));
}
