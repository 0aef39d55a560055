/*
 * encoder_pooling.c - the sum or the mean of the steps.
 */
#include <string.h>

#include "model/encoder_int.h"

typedef struct pooling_conf {
    cr_encoder_conf head;
    const char *pooling_type;
    int64_t max_seq_length;
} pooling_conf;

static const cr_field fields[] = {
    CR_ENCODER_HEAD,
    CR_STR(pooling_conf, pooling_type, "mean", 0, "sum or mean of the steps"),
    CR_ENCODER_MAX_SEQ(pooling_conf),
    CR_END,
};
const cr_msg cr_pooling_encoder_msg = {
    .name = "PoolingEncoder",
    .help = "Sum or mean of the steps",
    .fields = fields,
    .size = sizeof(pooling_conf),
};

static cr_node *build(cr_encoder_in *s) {
    const pooling_conf *c = (const void *)s->conf;
    bool mean = strcmp(c->pooling_type, "mean") == 0;
    if (!mean && strcmp(c->pooling_type, "sum") != 0) {
        cr_encoder_wrong(s, "pooling_type", "pooling_type is '%.60s'; write mean or sum",
                         c->pooling_type);
        return NULL;
    }
    return cr_seq_pool(s->b->g, cr_seq_keys(s->b, s->in, c->max_seq_length), mean);
}

const cr_encoder_type cr_encoder_pooling_encoder = {.build = build};
