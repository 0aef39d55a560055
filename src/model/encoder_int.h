/*
 * encoder_int.h - the type of a sequence encoder, for encoder.c and the files of the encoders
 * (encoder_list.h).
 */
#ifndef CR_MODEL_ENCODER_INT_H
#define CR_MODEL_ENCODER_INT_H

#include "conf/conf.h"
#include "layer/layer.h"
#include "model/config_int.h"
#include "model/encoder_list.h"
#include "model/group_int.h"
#include "op/op.h"

/* The first member of every encoder's config, as `head`. */
typedef struct cr_encoder_conf {
    cr_conf_base base;
    const char *name, *input;
} cr_encoder_conf;

/* The input of an encoder. */
typedef struct cr_encoder_in {
    cr_build *b;
    const cr_encoder_conf *conf; /* the head of its own config */
    cr_seq_in *in;
    const char *name; /* scope of its parameters: <group>.<i> */
} cr_encoder_in;
struct cr_encoder_type {
    bool query; /* does it read the plain features of its group? */
    /* build returns NULL when there are mistakes. */
    cr_node *(*build)(cr_encoder_in *s);
};

/* cr_encoder_wrong reports a mistake at a field of the encoder's config. */
void cr_encoder_wrong(const cr_encoder_in *s, const char *field, const char *fmt, ...)
    CR_PRINTF(3, 4);

/* Rows of the fields that encoders share; T is the struct of the encoder's config. */
#define CR_ENCODER_HEAD                                                                            \
    CR_STR(cr_encoder_conf, name, NULL, 0, "name of the encoder; used nowhere"),                   \
        CR_STR(cr_encoder_conf, input, NULL, 0,                                                    \
               "sequence group; not needed when there is only one")
#define CR_ENCODER_ATTN_MLP(T) CR_MSG(T, attn_mlp, &cr_mlp_msg, CR_F_REQUIRED, HELP_ATTN)
#define CR_ENCODER_MAX_SEQ(T)                                                                      \
    CR_INT(T, max_seq_length, 0, 0, 2147483647.0, 0, "steps that are read; 0: all")

#endif
