/*
 * encoder_toy.c - a sequence encoder: the sum of the steps.
 */
#include "model/encoder_int.h"

typedef struct toy_conf {
    cr_encoder_conf head;
    int64_t max_seq_length;
} toy_conf;

static const cr_field fields[] = {CR_ENCODER_HEAD, CR_ENCODER_MAX_SEQ(toy_conf), CR_END};
const cr_msg cr_toy_encoder_msg = {
    .name = "ToyEncoder",
    .help = "Sum of the steps",
    .ours = true,
    .fields = fields,
    .size = sizeof(toy_conf),
};

static cr_node *build(cr_encoder_in *s) {
    const toy_conf *c = (const void *)s->conf;
    return cr_seq_pool(s->b->g, cr_seq_keys(s->b, s->in, c->max_seq_length), false);
}

const cr_encoder_type cr_encoder_toy_encoder = {.build = build};
