/*
 * ctr.h - see ctr.c: the bridge between a model and rows with a CTR accessor.
 */
#ifndef CR_OP_CTR_H
#define CR_OP_CTR_H

#include "op/input.h"

typedef enum cr_ctr_form {
    CR_CTR_WEIGHTS,    /* embed_w, embedx_w */
    CR_CTR_SHOW_CLICK, /* show, click, embed_w, embedx_w */
    CR_CTR_CVM         /* log(show + 1), log(click + 1) - log(show + 1), embed_w, embedx_w */
} cr_ctr_form;
typedef struct cr_ctr_pull {
    cr_ctr_form form;
    int show, click; /* label fields; -1: every row is shown once, and none is clicked */
    float slot;
    bool by_sum;
} cr_ctr_pull;
/* cr_ctr reads a lookup of one table with an accessor, which nothing else may read. */
cr_node *cr_ctr(cr_graph *g, cr_node *lookup, const cr_ctr_pull *p);

#endif
