/*
 * encoder_window.c - attention of a query, summed over windows of steps.
 */
#include "model/encoder_int.h"

#define MAX_WINDOWS 1024

typedef struct window_conf {
    cr_encoder_conf head;
    cr_mlp_conf *attn_mlp;
    cr_ints windows_len;
} window_conf;

static const cr_field fields[] = {
    CR_ENCODER_HEAD,
    CR_ENCODER_ATTN_MLP(window_conf),
    CR_INT(window_conf, windows_len, 0, 1, CR_U32_MAX, CR_F_REPEATED, HELP_WINDOWS),
    CR_END,
};
const cr_msg cr_multi_window_din_encoder_msg = {
    .name = "MultiWindowDINEncoder",
    .help = "Attention summed over windows of steps",
    .fields = fields,
    .size = sizeof(window_conf),
};

static cr_node *build(cr_encoder_in *s) {
    const window_conf *c = (const void *)s->conf;
    const cr_ints *len = &c->windows_len;
    if (!cr_seq_comparable(s->b, s->in, s->conf->base.at)) return NULL;
    int64_t all = 0, steps = s->in->seqs[0]->seq->length;
    for (int64_t i = 0; i < len->n && all < INT32_MAX; i++)
        all += len->v[i];
    if (len->n == 0 || len->n > MAX_WINDOWS || all > INT32_MAX) {
        cr_encoder_wrong(s, "windows_len",
                         "windows_len is %s; give from 1 to %d windows of some steps each",
                         len->n == 0 ? "empty" : "too long", MAX_WINDOWS);
        return NULL;
    }
    if (steps > all)
        cr_diag_add(s->b->diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "windows_len"),
                    "the windows hold %lld steps and sequences may have %lld (sequence_length); "
                    "steps behind the last window do not count, add a window to read them",
                    (long long)all, (long long)steps);
    return cr_window_encoder(s->b->g, s->name, c->attn_mlp, cr_seq_query(s->b, s->in),
                             cr_seq_keys(s->b, s->in, all), len, s->b->diag);
}

const cr_encoder_type cr_encoder_multi_window_din_encoder = {.query = true, .build = build};
