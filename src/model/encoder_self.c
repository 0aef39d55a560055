/*
 * encoder_self.c - every step attends to every other step; the result is their mean.
 */
#include "model/encoder_int.h"

typedef struct self_conf {
    cr_encoder_conf head;
    int64_t multihead_attn_dim, num_heads;
    double dropout;
    int64_t max_seq_length;
} self_conf;

static const cr_field fields[] = {
    CR_ENCODER_HEAD,
    CR_INT(self_conf, multihead_attn_dim, 512, 1, 65536, 0, "width of the attention"),
    CR_INT(self_conf, num_heads, 8, 1, 65536, 0, "heads; they divide multihead_attn_dim"),
    CR_FLOAT(self_conf, dropout, 0, 0, 1, 0, "share of attention dropped while training"),
    CR_ENCODER_MAX_SEQ(self_conf),
    CR_END,
};
const cr_msg cr_self_attention_encoder_msg = {
    .name = "SelfAttentionEncoder",
    .help = "Self-attention over the steps, then their mean",
    .fields = fields,
    .size = sizeof(self_conf),
};

static cr_node *build(cr_encoder_in *s) {
    const self_conf *c = (const void *)s->conf;
    int64_t dim = c->multihead_attn_dim, heads = c->num_heads;
    if (dim % heads != 0) {
        cr_encoder_wrong(s, "num_heads",
                         "multihead_attn_dim %lld is not a multiple of num_heads %lld; make it one",
                         (long long)dim, (long long)heads);
        return NULL;
    }
    if ((float)c->dropout >= 1) {
        cr_encoder_wrong(s, "dropout", "a dropout of 1 drops all attention; use a value below 1");
        return NULL;
    }
    return cr_self_attention(s->b->g, s->name, cr_seq_keys(s->b, s->in, c->max_seq_length), dim,
                             heads, c->dropout, cr_seq_all(s->b, s->in));
}

const cr_encoder_type cr_encoder_self_attention_encoder = {.build = build};
