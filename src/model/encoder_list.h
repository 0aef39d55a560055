/*
 * encoder_list.h - every sequence encoder, under its key of SeqEncoderConfig. An encoder is one
 * line here, one line of meson.build and one file, which holds the struct of its config, its
 * message cr_<key>_msg and its type cr_encoder_<key> (encoder_int.h).
 */
#ifndef CR_MODEL_ENCODER_LIST_H
#define CR_MODEL_ENCODER_LIST_H

#include "model/config.h"

#define CR_ENCODERS(X)                                                                             \
    X(din_encoder)                                                                                 \
    X(simple_attention)                                                                            \
    X(pooling_encoder)                                                                             \
    X(multi_window_din_encoder)                                                                    \
    X(self_attention_encoder)

typedef struct cr_encoder_type cr_encoder_type;
#define CR_ENCODER_DECLARE(e)                                                                      \
    extern const cr_msg cr_##e##_msg;                                                              \
    extern const cr_encoder_type cr_encoder_##e;
CR_ENCODERS(CR_ENCODER_DECLARE)

#endif
