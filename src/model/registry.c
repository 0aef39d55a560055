/*
 * registry.c - the models of list.h as a family of config messages.
 */
#include "model/config_int.h"

#define LATER(key, name, help) static const cr_msg key##_msg = CR_MSG_LATER(name, help);
CR_MODELS_LATER(LATER)
static const cr_msg custom_model_msg =
    CR_MSG_LATER("CustomModel", "A model in Python; use plugin or backbone");
#define ENTRY(m)                     {#m, &cr_##m##_msg, &cr_model_##m},
#define LATER_ENTRY(key, name, help) {#key, &key##_msg, NULL},
static const char python[] =
    "it is Python code, which crank does not run; write the model in C as a library and name it "
    "with plugin { library: … type: … }, or build it of blocks with backbone "
    "(docs/guide/own_models.md)";
static const cr_oneof_member members[] = {
    CR_MODELS(ENTRY)
    /* the name that older releases used for exports to TensorRT */
    {"multi_tower_din_trt", &cr_multi_tower_din_msg, &cr_model_multi_tower_din},
    CR_MODELS_LATER(LATER_ENTRY){"custom_model", &custom_model_msg, python},
    {NULL, NULL, NULL},
};
const cr_oneof cr_model_family = {"model", true, members};
