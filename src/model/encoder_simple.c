/*
 * encoder_simple.c - the sum of the steps, weighted by their dot products with the query.
 */
#include "model/encoder_int.h"

typedef struct simple_conf {
    cr_encoder_conf head;
    int64_t max_seq_length;
} simple_conf;

static const cr_field fields[] = {
    CR_ENCODER_HEAD,
    CR_ENCODER_MAX_SEQ(simple_conf),
    CR_END,
};
const cr_msg cr_simple_attention_msg = {
    .name = "SimpleAttention",
    .help = "Dot-product attention of the query",
    .fields = fields,
    .size = sizeof(simple_conf),
};

static cr_node *build(cr_encoder_in *s) {
    const simple_conf *c = (const void *)s->conf;
    if (!cr_seq_comparable(s->b, s->in, s->conf->base.at)) return NULL;
    if (s->in->query.width != s->in->keys.width) {
        cr_encoder_wrong(
            s, "input",
            "simple_attention multiplies the plain features of group '%s' (%lld wide) with "
            "its sequences (%lld wide); make both equally wide, or use din_encoder",
            s->in->g.name, (long long)s->in->query.width, (long long)s->in->keys.width);
        return NULL;
    }
    return cr_simple_attention(s->b->g, cr_seq_query(s->b, s->in),
                               cr_seq_keys(s->b, s->in, c->max_seq_length), false);
}

const cr_encoder_type cr_encoder_simple_attention = {.query = true, .build = build};
