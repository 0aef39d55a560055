/*
 * list.h - every model, under its key of ModelConfig. A model is one line of CR_MODELS, one line of
 * meson.build and one file, which holds the struct of its config, its message cr_<key>_msg and its
 * type cr_model_<key>. The models of CR_MODELS_LATER are known by name only; a config that asks for
 * one is refused.
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
    X(dat, "DAT", "Two towers that mimic each other through augmented vectors")                    \
    X(dc2vr, "DC2VR", "Tasks corrected by interventions of earlier ones")                          \
    X(dlrm_hstu, "DlrmHSTU", "Ranks candidates with a sequential transducer")                      \
    X(dlrm_hstu_onerank, "DlrmHSTUOneRank", "Ranks candidates, each task in the transducer")       \
    X(dssm, "DSSM", "User and item towers with tables of their own")                               \
    X(dssm_v2, "DSSMV2", "User and item towers that share tables")                                 \
    X(genrec_causal_lm_model, "GenRecCausalLMModel", "Generates items with a language model")      \
    X(hstu_match, "HSTUMatch", "A transducer's user vector against items")                         \
    X(mind, "MIND", "Several interests per user against one vector per item")                      \
    X(sid_rqkmeans, "SidRqkmeans", "Semantic ids from residual k-means")                           \
    X(sid_rqvae, "SidRqvae", "Semantic ids from a residual quantised autoencoder")                 \
    X(tdm, "TDM", "Scores nodes of an item tree")                                                  \
    X(ultra_hstu, "UltraHSTU", "Ranks candidates with several transducers")

#define CR_MODEL_DECLARE(m)                                                                        \
    extern const cr_msg cr_##m##_msg;                                                              \
    extern const cr_model_type cr_model_##m;
CR_MODELS(CR_MODEL_DECLARE)

#endif
