/*
 * encoder_din.c - attention of a query over the steps, as in the Deep Interest Network.
 */
#include "model/encoder_int.h"

typedef struct din_conf {
    cr_encoder_conf head;
    cr_mlp_conf *attn_mlp;
    int64_t max_seq_length;
} din_conf;

static const cr_field fields[] = {
    CR_ENCODER_HEAD,
    CR_ENCODER_ATTN_MLP(din_conf),
    CR_ENCODER_MAX_SEQ(din_conf),
    CR_END,
};
const cr_msg cr_din_encoder_msg = {
    .name = "DINEncoder",
    .help = "Attention of the query over the steps",
    .fields = fields,
    .size = sizeof(din_conf),
};

static cr_node *build(cr_encoder_in *s) {
    const din_conf *c = (const void *)s->conf;
    if (!cr_seq_comparable(s->b, s->in, s->conf->base.at)) return NULL;
    return cr_din_encoder(s->b->g, s->name, c->attn_mlp, cr_seq_query(s->b, s->in),
                          cr_seq_keys(s->b, s->in, c->max_seq_length), 1, s->b->diag);
}

const cr_encoder_type cr_encoder_din_encoder = {.query = true, .build = build};
