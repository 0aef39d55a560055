/*
 * config.c - the root message of a config, and TrainConfig, EvalConfig and ExportConfig.
 *
 * The input paths and model_dir are not required here because flags may give them. Keys that only
 * crank has (seed, lanes, eval_interval_steps) carry CR_F_OURS.
 */
#include "job/config.h"

#include <string.h>

#include "conf/conf.h"

/* ---- TrainConfig ---- */
#define U32(f, def, flags, help) CR_INT(cr_train_conf, f, def, 0, CR_U32_MAX, flags, help)
#define HELP_TF32                                                                                  \
    "faster matrix products of slightly less precision: each FP32 input is taken as two BF16 "     \
    "values (BF16x3)"
#define HELP_FP32_MATMUL                                                                           \
    "how FP32 inputs of matrix products are taken: BF16x3 (two BF16 values, 16 bits), BF16x6 "     \
    "(three, 24 bits: as exact as FP32) or FP32; faster on CPUs with AMX only"
static const cr_field train_fields[] = {
    CR_MSG_MADE(cr_train_conf, sparse_optimizer, &cr_sparse_optim_msg, 0,
                "how embedding tables are trained"),
    CR_MSG_MADE(cr_train_conf, dense_optimizer, &cr_dense_optim_msg, 0,
                "how everything else is trained"),
    U32(num_steps, 0, 0, "steps of the run; or give num_epochs"),
    U32(num_epochs, 0, 0, "passes over the training data; or give num_steps"),
    U32(save_checkpoints_steps, 1000, 0, "steps between checkpoints; 0: only at the end"),
    U32(save_checkpoints_epochs, 0, 0, "epochs between checkpoints, instead of steps"),
    U32(save_checkpoints_batches, 0, CR_F_OURS,
        "also behind every so many batches of an epoch, beginning with the first; 0: none"),
    CR_K_INT("save_checkpoints_timestamp_interval", 0, 0, CR_U32_MAX, CR_F_LATER,
             "seconds of event time between checkpoints"),
    CR_K_UINT64("save_checkpoints_timestamps", 0, CR_F_REPEATED | CR_F_LATER,
                "event times at which checkpoints are made"),
    CR_K_FLOAT("save_checkpoints_timestamp_quorum", 0.5, 0, 1, CR_F_LATER,
               "share of readers that must have passed an event time"),
    U32(keep_checkpoint_max, 0, 0, "newest checkpoints that are kept; 0: all"),
    CR_STR(cr_train_conf, fine_tune_checkpoint, NULL, CR_F_PATH,
           "checkpoint that a new run starts from; a folder of checkpoints means its newest"),
    CR_STR(cr_train_conf, fine_tune_ckpt_param_map, NULL, CR_F_PATH,
           "file of parameter names: lines of the name here and the name in the checkpoint"),
    CR_ALIAS("fine_tune_ckpt_var_map", CR_T_STR, CR_F_PATH, "fine_tune_ckpt_param_map"),
    U32(log_step_count_steps, 100, 0, "steps between log lines"),
    CR_BOOL(
        cr_train_conf, is_profiling, false, 0,
        "write trace.json, a profile of steps 2 to 11 of the run, and print the shares of time"),
    CR_BOOL(cr_train_conf, use_tensorboard, true, 0, "write TensorBoard events to model_dir"),
    CR_STR(cr_train_conf, tensorboard_summaries, NULL, CR_F_REPEATED,
           "what the events hold besides loss and learning_rate, which are always there: loss, "
           "learning_rate, parameter, global_gradient_norm, "
           "gradient_norm, gradient"),
    CR_K_BOOL("cudnn_allow_tf32", true, CR_F_GPU, "short floats in convolutions"),
    CR_BOOL(cr_train_conf, cuda_matmul_allow_tf32, false, 0, HELP_TF32),
    CR_STR(cr_train_conf, fp32_matmul, "", CR_F_OURS, HELP_FP32_MATMUL),
    CR_MSG(cr_train_conf, global_embedding_constraints, &cr_constraints_msg, CR_F_SPEED,
           "limits on how tables are split over ranks, for all of them"),
    CR_STR(cr_train_conf, mixed_precision, "", 0,
           "BF16 or FP16: matrix products take inputs of 16 bits, sums stay in 32"),
    CR_MSG(cr_train_conf, grad_scaler, &cr_grad_scaler_msg, 0, "scale the loss for FP16"),
    U32(gradient_accumulation_steps, 1, 0, "batches per step of the dense optimizer"),
    CR_INT(cr_train_conf, refeed_steps, 0, 0, 1000, CR_F_OURS,
           "more steps with each batch, in which the outputs that a masked_error block reads are "
           "fed in again where scatter blocks read the data"),
    CR_MSG(cr_train_conf, grad_clipping, &cr_grad_clip_msg, 0, "limit dense gradients"),
    CR_MSG(cr_train_conf, delta_embedding_dump_config, &cr_delta_msg, 0,
           "dump the rows that changed, every so many steps or minutes"),
    CR_STR(cr_train_conf, project_name, "", CR_F_OURS,
           "name of the project, under which crank board and MLflow list the run"),
    CR_STR(cr_train_conf, experiment_name, "", CR_F_OURS,
           "name of the run there; else that of model_dir"),
    CR_UINT64(cr_train_conf, seed, 2026, CR_F_OURS,
              "start of every random number: first weights, dropout, order of rows"),
    CR_INT(
        cr_train_conf, lanes, 0, 0, 1024, CR_F_OURS,
        "parts that a batch is cut into, a power of two, and the most threads that share a step; "
        "results depend on it, not on threads; 0: 8, fewer below 2048 rows, one per 1024 from "
        "16384 on"),
    CR_BOOL(cr_train_conf, save_in_background, true, CR_F_OURS,
            "copy a checkpoint and go on while it is written, if memory allows; false: wait for "
            "it"),
    U32(eval_interval_steps, 0, CR_F_OURS, "steps between evaluations; 0: with checkpoints only"),
    U32(max_steps_per_epoch, 0, CR_F_OURS,
        "steps after which an epoch ends, also where data is left; 0: all data"),
    CR_FLOAT(cr_train_conf, save_checkpoints_fraction, 0, 0, 1, CR_F_OURS,
             "share of an epoch between checkpoints, in place of save_checkpoints_steps; for data "
             "that says how many rows it has, as Parquet does; 0: none"),
    CR_BOOL(cr_train_conf, keep_best_checkpoints, false, CR_F_OURS,
            "keep_checkpoint_max counts the best checkpoints, by best_exporter_metric, and not the "
            "newest ones; the newest one stays too"),
    CR_BOOL(cr_train_conf, metrics_over_epochs, false, CR_F_OURS,
            "train_metrics with since_epoch go on from epoch to epoch, as PaddleRec's"),
    CR_STR(cr_train_conf, checkpoint_link, NULL, CR_F_OURS,
           "second name of each checkpoint, a link in model_dir: {epoch}, {step} and names of "
           "metrics in braces stand for their values"),
    CR_STR(cr_train_conf, mirror_dir, NULL, CR_F_OURS | CR_F_PATH,
           "folder on a disk or a store that gets a copy of model_dir, after each checkpoint and "
           "at the end"),
    CR_MSG(cr_train_conf, servers, &cr_servers_msg, CR_F_OURS,
           "training with parameter servers, which crank launch --ps starts"),
    CR_MSG(cr_train_conf, daily, &cr_daily_msg, CR_F_OURS,
           "train day by day, in the place of train_input_path and num_epochs"),
    CR_STR(cr_train_conf, warmup_model_path, NULL, CR_F_OURS | CR_F_PATH,
           "folder of a text model (a base, or a checkpoint of daily) that a new run starts from"),
    CR_MSG(cr_train_conf, inner_loop, &cr_inner_msg, CR_F_OURS,
           "meta-learning: a batch is tasks, and a step learns weights that a few inner steps fit "
           "to a task"),
    CR_END,
};

static void precision_check(const void *conf, const char *mixed, const char *matmul,
                            cr_diag *diag) {
    if (*mixed && strcmp(mixed, "BF16") != 0 && strcmp(mixed, "FP16") != 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf, "mixed_precision"),
                    "unknown mixed_precision '%s'; use BF16 or FP16, or leave it out for FP32",
                    mixed);
    bool known = strcmp(matmul, "BF16x3") == 0 || strcmp(matmul, "BF16x6") == 0;
    if (*matmul && !known && strcmp(matmul, "FP32") != 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf, "fp32_matmul"),
                    "unknown fp32_matmul '%s'; use BF16x3, BF16x6 or FP32", matmul);
    else if (known && *mixed)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf, "fp32_matmul"),
                    "fp32_matmul is for products of FP32 inputs, and mixed_precision is %s; remove "
                    "one of them",
                    mixed);
}

cr_products cr_conf_products(const char *mixed, const char *matmul, bool tf32) {
    if (*mixed) return cr_products_of(mixed);
    if (*matmul) return cr_products_of(matmul);
    return tf32 ? CR_PRODUCTS_BF16X3 : CR_PRODUCTS_FP32;
}

/* A link stays in model_dir and names every checkpoint in its own way. */
static void link_check(const cr_train_conf *c, cr_diag *diag) {
    const char *p = c->checkpoint_link;
    if (!*p) return;
    if (*p == '/' || strstr(p, "..") || strncmp(p, "model.ckpt-", 11) == 0 || !strstr(p, "{step}"))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "checkpoint_link"),
                    "checkpoint_link must be a path in model_dir that holds {step}; write for "
                    "example %s",
                    CR_SAY(c, "checkpoint_link", "\"checkpoints/step={step}.ckpt\""));
}

static void train_check(const void *self, cr_diag *diag) {
    const cr_train_conf *c = self;
    if (c->daily && (c->num_steps || c->num_epochs)) {
        const char *key = c->num_steps ? "num_steps" : "num_epochs";
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, key),
                    "%s does not go with daily, which trains every pass from start_day to end_day "
                    "once; remove it",
                    key);
    } else if (c->daily) {
        if (c->save_checkpoints_epochs || cr_conf_has(c, "save_checkpoints_steps"))
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF,
                        cr_conf_at(c, c->save_checkpoints_epochs ? "save_checkpoints_epochs"
                                                                 : "save_checkpoints_steps"),
                        "checkpoints of daily follow passes: daily.checkpoint_per_pass counts");
    } else if (c->num_steps && c->num_epochs) {
        cr_loc steps = cr_conf_at(c, "num_steps"), epochs = cr_conf_at(c, "num_epochs");
        bool other = steps.path && epochs.path && strcmp(steps.path, epochs.path) != 0;
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, steps,
                    "num_steps is %lld and num_epochs, at %.200s%s%d:%d, is %lld; set one of them "
                    "to 0 or remove it",
                    (long long)c->num_steps, other ? epochs.path : "", other ? ":" : "",
                    epochs.line, epochs.col, (long long)c->num_epochs);
    } else if (!c->num_steps && !c->num_epochs) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF,
                    cr_conf_at(c, cr_conf_has(c, "num_steps") ? "num_steps" : "num_epochs"),
                    "neither num_steps nor num_epochs says how long to train; add for example %s",
                    CR_SAY(c, "num_epochs", "1"));
    }
    precision_check(c, c->mixed_precision, c->fp32_matmul, diag);
    if (c->save_checkpoints_epochs && c->save_checkpoints_steps &&
        cr_conf_has(c, "save_checkpoints_steps"))
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "save_checkpoints_steps"),
                    "save_checkpoints_steps has no effect beside save_checkpoints_epochs: "
                    "checkpoints are saved at the end of epochs; remove one of them");
    if (c->save_checkpoints_fraction > 0 &&
        (c->save_checkpoints_epochs > 0 || cr_conf_has(c, "save_checkpoints_steps")))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "save_checkpoints_fraction"),
                    "save_checkpoints_fraction and %s both say when checkpoints are saved; remove "
                    "one of them",
                    c->save_checkpoints_epochs > 0 ? "save_checkpoints_epochs"
                                                   : "save_checkpoints_steps");
    link_check(c, diag);
    if (c->lanes & (c->lanes - 1))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "lanes"),
                    "lanes is %lld and must be a power of two; use 1, 2, 4, 8 … 1024, or leave "
                    "it out",
                    (long long)c->lanes);
    if (c->log_step_count_steps == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "log_step_count_steps"),
                    "log_step_count_steps must be above 0; leave it out for 100");
    if (*c->fine_tune_ckpt_param_map && !*c->fine_tune_checkpoint)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "fine_tune_ckpt_param_map"),
                    "fine_tune_ckpt_param_map has no effect without fine_tune_checkpoint");
    static const char *const summaries[] = {"loss",          "learning_rate",
                                            "parameter",     "global_gradient_norm",
                                            "gradient_norm", "gradient"};
    for (int64_t i = 0; i < c->tensorboard_summaries.n; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof summaries / sizeof *summaries; k++)
            known |= strcmp(summaries[k], c->tensorboard_summaries.v[i]) == 0;
        if (!known)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF,
                        cr_conf_at_item(c, "tensorboard_summaries", i),
                        "unknown summary '%s'; use loss, learning_rate, parameter, "
                        "global_gradient_norm, gradient_norm or gradient",
                        c->tensorboard_summaries.v[i]);
    }
}
const cr_msg cr_train_msg = {
    .name = "TrainConfig",
    .help = "How long and with what to train",
    .fields = train_fields,
    .size = sizeof(cr_train_conf),
    .check = train_check,
};

/* ---- EvalConfig, ExportConfig ---- */
#define HELP_EMA "use the averaged dense parameters; not given: where training has them"
static const cr_field eval_fields[] = {
    CR_INT(cr_eval_conf, num_steps, 0, 0, CR_U32_MAX, 0, "batches to evaluate; 0: all"),
    CR_INT(cr_eval_conf, log_step_count_steps, 10, 0, CR_U32_MAX, 0, "batches between log lines"),
    CR_BOOL(cr_eval_conf, use_dense_ema, false, 0, HELP_EMA),
    CR_INT(
        cr_eval_conf, early_stopping_patience, 0, 0, CR_U32_MAX, CR_F_OURS,
        "training ends after this many evaluations in a row that are not better than the best one, "
        "compared by export_config.best_exporter_metric (not set: the first AUC); 0: never"),
    CR_MSG(cr_eval_conf, inner_loop, &cr_inner_msg, CR_F_OURS,
           "the weights are fitted to each task before it is tested; eval_input_path is a folder "
           "with a folder for each task"),
    CR_END,
};
static void eval_check(const void *self, cr_diag *diag) {
    const cr_eval_conf *c = self;
    if (c->log_step_count_steps == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "log_step_count_steps"),
                    "log_step_count_steps must be above 0; leave it out for 10");
}
const cr_msg cr_eval_msg = {
    .name = "EvalConfig",
    .help = "How evaluation runs",
    .fields = eval_fields,
    .size = sizeof(cr_eval_conf),
    .check = eval_check,
};

static const cr_field export_fields[] = {
    CR_STR(cr_export_conf, exporter_type, "latest", 0,
           "which checkpoint is exported: latest or best"),
    CR_STR(cr_export_conf, best_exporter_metric, "auc", 0, "metric that decides which one is best"),
    CR_BOOL(cr_export_conf, metric_larger_is_better, true, 0,
            "a larger value of it is better; not given: yes, except for losses and errors"),
    CR_STR(cr_export_conf, mixed_precision, "", 0, "BF16 or FP16 in predictions of the export"),
    CR_K_BOOL("cudnn_allow_tf32", true, CR_F_GPU, "short floats in convolutions"),
    CR_BOOL(cr_export_conf, cuda_matmul_allow_tf32, false, 0, HELP_TF32),
    CR_STR(cr_export_conf, fp32_matmul, "", CR_F_OURS, HELP_FP32_MATMUL),
    CR_BOOL(cr_export_conf, use_dense_ema, false, 0, HELP_EMA),
    CR_END,
};
static void export_check(const void *self, cr_diag *diag) {
    const cr_export_conf *c = self;
    precision_check(c, c->mixed_precision, c->fp32_matmul, diag);
    if (strcmp(c->exporter_type, "latest") != 0 && strcmp(c->exporter_type, "best") != 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "exporter_type"),
                    "unknown exporter_type '%s'; use latest or best", c->exporter_type);
}
const cr_msg cr_export_msg = {
    .name = "ExportConfig",
    .help = "What is exported",
    .fields = export_fields,
    .size = sizeof(cr_export_conf),
    .check = export_check,
};

/* ---- EasyRecConfig ---- */
static const cr_field root_fields[] = {
    CR_STR(cr_root_conf, train_input_path, NULL, CR_F_PATHS,
           "training data: paths or globs, with commas"),
    CR_STR(cr_root_conf, eval_input_path, NULL, CR_F_PATHS,
           "evaluation data: paths or globs, with commas"),
    CR_STR(cr_root_conf, model_dir, NULL, CR_F_PATH, "folder of checkpoints, logs and results"),
    CR_MSG(cr_root_conf, train_config, &cr_train_msg, CR_F_REQUIRED, "how to train"),
    CR_MSG(cr_root_conf, eval_config, &cr_eval_msg, 0, "how to evaluate"),
    CR_MSG(cr_root_conf, export_config, &cr_export_msg, 0, "what to export"),
    CR_MSG(cr_root_conf, data_config, &cr_data_msg, CR_F_REQUIRED, "how data is read"),
    CR_MSG(cr_root_conf, feature_configs, &cr_feature_msg, CR_F_REPEATED, "the features"),
    CR_MSG(cr_root_conf, model_config, &cr_model_msg, CR_F_REQUIRED, "the model"),
    CR_K_TREE("prompt_config", CR_F_LATER, "the prompt of a language model"),
    CR_END,
};
const cr_msg cr_root_msg = {
    .name = "EasyRecConfig",
    .schema = "TorchEasyRec 1.4",
    .help = "A whole run: data, features, model, training",
    .fields = root_fields,
    .size = sizeof(cr_root_conf),
};

void cr_root_finish(cr_root_conf *c, cr_arena *arena, cr_diag *diag) {
    /* binding has reported missing required keys; the defaults are filled in without reporting them
     * again */
    cr_diag quiet;
    cr_diag_init(&quiet);
    for (const cr_field *f = cr_root_msg.fields; f->name; f++) {
        if (f->type != CR_T_MSG || f->flags & CR_F_REPEATED) continue;
        cr_conf_base **part = (cr_conf_base **)(void *)((char *)c + f->offset);
        if (*part) continue;
        *part = cr_conf_bind(arena, f->ref, NULL, &quiet);
        (*part)->from = c->base.from;
    }
    cr_diag_clear(&quiet);
    if (c->train_config->daily && diag->n_errors == 0) {
        c->train_config->num_epochs = cr_daily_total(c->train_config->daily);
        c->train_config->save_checkpoints_steps = c->train_config->save_checkpoints_epochs = 0;
    }
    if (c->data_config->base.node) cr_data_conf_finish(c->data_config, arena, diag);
    if (*c->eval_input_path && c->data_config->eval_fraction > 0) {
        cr_loc at = cr_conf_at(c, "eval_input_path"); /* given as a flag it is meant for one run */
        if (!at.path || strncmp(at.path, "--", 2) != 0)
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c->data_config, "eval_fraction"),
                        "eval_fraction does nothing beside eval_input_path, so training reads all "
                        "rows; remove one of them");
        c->data_config->eval_fraction = 0;
    }
}
