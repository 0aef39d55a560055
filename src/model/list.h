/*
 * list.h - every model, under its key of ModelConfig. A model is one line of CR_MODELS, one line of
 * meson.build and one file, which holds the struct of its config, its message cr_<key>_msg and its
 * type cr_model_<key>. Those of CR_MODELS_LATER are known by their messages and refused by name.
 */
#ifndef CR_MODEL_LIST_H
#define CR_MODEL_LIST_H

#include "model/config.h"

#define CR_MODELS(X)                                                                               \
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
#define CR_MODELS_LATER(X)                                                                         \
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

#define CR_MODEL_DECLARE(m)                                                                        \
    extern const cr_msg cr_##m##_msg;                                                              \
    extern const cr_model_type cr_model_##m;
#define CR_MODEL_DECLARE_LATER(key, msg) extern const cr_msg msg;
CR_MODELS(CR_MODEL_DECLARE)
CR_MODELS_LATER(CR_MODEL_DECLARE_LATER)

#endif
