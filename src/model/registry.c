/*
 * registry.c - every model crank knows, under its key of ModelConfig.
 *
 * A model that can be used is a line of MODELS; the others are known by their messages and refused
 * by name.
 */
#include "model/config.h"

#include "model/config_int.h"

#define MODELS(X)                                                                                  \
    X(autoint)                                                                                     \
    X(backbone)                                                                                    \
    X(dbmtl)                                                                                       \
    X(dcn_v1)                                                                                      \
    X(dcn_v2)                                                                                      \
    X(deepfm)                                                                                      \
    X(dlrm)                                                                                        \
    X(esmm)                                                                                        \
    X(ffm)                                                                                         \
    X(fm)                                                                                          \
    X(logistic_regression)                                                                         \
    X(mask_net)                                                                                    \
    X(mmoe)                                                                                        \
    X(multi_tower)                                                                                 \
    X(multi_tower_din)                                                                             \
    X(pepnet)                                                                                      \
    X(ple)                                                                                         \
    X(plugin)                                                                                      \
    X(rocket_launching)                                                                            \
    X(simple_multi_task)                                                                           \
    X(wide_and_deep)                                                                               \
    X(wukong)                                                                                      \
    X(xdeepfm)
#define LATER(X)                                                                                   \
    X(dat, cr_dat_msg)                                                                             \
    X(dc2vr, cr_dc2vr_msg)                                                                         \
    X(dlrm_hstu, cr_dlrm_hstu_msg)                                                                 \
    X(dlrm_hstu_onerank, cr_dlrm_hstu_onerank_msg)                                                 \
    X(dssm, cr_dssm_msg)                                                                           \
    X(dssm_v2, cr_dssm_v2_msg)                                                                     \
    X(genrec_causal_lm_model, cr_genrec_msg)                                                       \
    X(hstu_match, cr_hstu_match_msg)                                                               \
    X(mind, cr_mind_msg)                                                                           \
    X(sid_rqkmeans, cr_sid_rqkmeans_msg)                                                           \
    X(sid_rqvae, cr_sid_rqvae_msg)                                                                 \
    X(tdm, cr_tdm_msg)                                                                             \
    X(ultra_hstu, cr_ultra_hstu_msg)

#define DECLARE(m)            extern const cr_model_type cr_model_##m;
#define ENTRY(m)              {#m, &cr_##m##_msg, &cr_model_##m},
#define LATER_ENTRY(key, msg) {#key, &msg, NULL},
MODELS(DECLARE)
static const char python[] =
    "it is Python code, which crank does not run; write the model in C as a library and name it "
    "with plugin { library: … type: … }, or build it of blocks with backbone "
    "(docs/guide/own_models.md)";
static const cr_oneof_member members[] = {
    MODELS(ENTRY)
    /* a name of older releases, whose export went to TensorRT */
    {"multi_tower_din_trt", &cr_multi_tower_din_msg, &cr_model_multi_tower_din},
    LATER(LATER_ENTRY){"custom_model", &cr_custom_model_msg, python},
    {NULL, NULL, NULL},
};
const cr_oneof cr_model_family = {"model", true, members};
