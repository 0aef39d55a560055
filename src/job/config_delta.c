/*
 * config_delta.c - config message of DeltaEmbeddingDumpConfig: dumps of the rows that changed
 * (train/delta.h). The keys are TorchEasyRec's.
 */
#include "conf/conf.h"
#include "job/config.h"

static const cr_enum_value quants[] = {
    {"DELTA_EMBEDDING_QUANT_NONE", CR_DELTA_F32, "vectors of 32-bit floats", NULL},
    {"DELTA_EMBEDDING_QUANT_INT8", CR_DELTA_INT8,
     "a byte per number, then scale and offset of the row in 16 bits each", NULL},
    {NULL, 0, NULL, NULL},
};

static const cr_msg feature_store_msg =
    CR_MSG_LATER("FeatureStoreConfig", "Upload of dumps to a service of Alibaba Cloud");

static const cr_field delta_fields[] = {
    CR_INT(cr_delta_conf, dump_interval_steps, 1000, 1, CR_U32_MAX, 0,
           "training steps between two dumps"),
    CR_INT(cr_delta_conf, dump_interval_minutes, 0, 0, CR_U32_MAX, 0,
           "minutes between two dumps, instead of steps"),
    CR_STR(cr_delta_conf, output_dir, NULL, CR_F_PATH,
           "folder of the dumps; not given: delta_embedding_dump in model_dir"),
    CR_STR(cr_delta_conf, file_prefix, "delta_embedding", 0, "how the names of the files begin"),
    CR_K_INSTEAD("feature_store_config", &feature_store_msg,
                 "crank uploads nothing; remove it and upload the files of output_dir", 0,
                 "upload of the dumps to a service"),
    CR_ENUM(cr_delta_conf, quant_type, quants, CR_DELTA_F32, 0, "how vectors are written"),
    CR_END,
};

static void check(const void *self, cr_diag *diag) {
    const cr_delta_conf *c = self;
    if (cr_conf_has(c, "dump_interval_steps") && cr_conf_has(c, "dump_interval_minutes"))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "dump_interval_minutes"),
                    "dump_interval_steps and dump_interval_minutes both say when to dump; remove "
                    "one of them");
    else if (cr_conf_has(c, "dump_interval_minutes") && c->dump_interval_minutes == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "dump_interval_minutes"),
                    "dump_interval_minutes is 0; set it to 1 or more, or remove it");
    for (const char *p = c->file_prefix; *p; p++)
        if (*p == '/') {
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "file_prefix"),
                        "file_prefix '%s' has a slash; use output_dir for the folder",
                        c->file_prefix);
            break;
        }
}

const cr_msg cr_delta_msg = {
    .name = "DeltaEmbeddingDumpConfig",
    .help = "Dumps of the rows that changed, while a model is trained",
    .fields = delta_fields,
    .size = sizeof(cr_delta_conf),
    .check = check,
};
