/*
 * blocks_scatter.c - block layers for models that give back the values that a row has, such as
 * autoencoders of ratings (Kuchaiev and Ginsburg 2017: training deep autoencoders for collaborative
 * filtering): scatter makes a vector with a column for each item, and masked_error brings the loss
 * of the model, over the columns that have a value.
 *
 * With train_config.refeed_steps what masked_error reads is fed to scatter again, in steps of the
 * optimizer behind that of the batch (train/step.c).
 */
#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/blocks_list.h"
#include "op/op.h"

#define MAX_COLUMNS 16777216 /* whole numbers that a float holds exactly */

/* ---- scatter ---- */

typedef struct scatter_conf {
    cr_conf_base base;
    int64_t columns;
} scatter_conf;
static const cr_field scatter_fields[] = {
    CR_INT(scatter_conf, columns, 0, 1, MAX_COLUMNS, CR_F_REQUIRED | CR_F_OURS,
           "width of the vector; numbers from 0 on are columns, and any other is left out"),
    CR_END,
};
const cr_msg cr_block_scatter_msg = {
    .name = "ScatterBlock",
    .help = "A vector of the values of a sequence, each in the column that its step names, and 0 "
            "elsewhere; refeed_steps feeds outputs in here",
    .fields = scatter_fields,
    .size = sizeof(scatter_conf),
};
static void scatter(cr_block_call *c, const void *conf) {
    const scatter_conf *s = conf;
    if (c->x.node->cls != CR_SEQ || c->x.node->width != 2) {
        cr_block_wrong(c, c->at,
                       "scatter reads a sequence with a number and a value at each step, two "
                       "sequence_raw_features in this order");
        return;
    }
    cr_node *y = cr_scatter(c->g, c->x.node, s->columns);
    if (c->b->m->n_refed == 0 || c->b->m->refed_width != s->columns) c->b->m->n_refed++;
    c->b->m->refed_width = s->columns;
    cr_block_give(c, y);
}
const cr_block_type cr_block_scatter = {
    .name = "scatter",
    .takes = CR_TAKES_POSITIONS,
    .min_in = 1,
    .max_in = 2,
    .build = scatter,
};

/* ---- masked_error ---- */

CR_BLOCK_PLAIN(masked_error, "MaskedErrorBlock",
               "The first input as it is; the loss of the model is its squared difference to the "
               "second, the mean over the columns where that is not 0");
static void masked_error(cr_block_call *c, const void *conf) {
    (void)conf;
    cr_node *x = c->in[0].node, *y = c->in[1].node;
    if (x->width != y->width) {
        cr_block_wrong(c, c->at,
                       "its inputs are %lld and %lld wide; masked_error compares vectors of one "
                       "width",
                       (long long)x->width, (long long)y->width);
        return;
    }
    if (cr_block_learns(c)) {
        cr_block_loss(c, cr_masked_error(c->g, x, y));
        x->output = true; /* training reads it */
        c->b->m->refeeds = x;
        c->b->m->n_refeeds++;
    }
    cr_block_give(c, x);
}
const cr_block_type cr_block_masked_error = {
    .name = "masked_error",
    .takes = CR_TAKES_EACH,
    .min_in = 2,
    .max_in = 2,
    .loss = true,
    .build = masked_error,
};
