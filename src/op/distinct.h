/*
 * distinct.h - cuts a looked-up row into blocks of columns, and finds which rows of a lane share a
 * block.
 *
 * Real click logs repeat ids: within the rows of a lane most features have far fewer distinct ids
 * than rows. A layer over looked-up rows then needs its product once per distinct id. A block is
 * either the columns of one table, whose rows are shared where the id is the same, or neighbouring
 * columns that are not worth sharing (dense floats, very narrow tables), taken together.
 *
 * A code is a number for each row of a lane and each block. Codes are given in the order of first
 * occurrence, and rows with equal ids have equal codes. Where sharing does not pay, code r is row
 * r.
 */
#ifndef CR_OP_DISTINCT_H
#define CR_OP_DISTINCT_H

#include "graph/work.h"

#define CR_BLOCK_MAX 512 /* columns of a block at most: CR_GEMM_ADD takes no more */

typedef struct cr_block {
    int64_t off, width; /* columns of the looked-up row */
    int piece;          /* the piece whose rows may be shared; -1: none */
    bool grad;          /* it has columns of a trainable table */
} cr_block;

/* cr_codes returns the codes of a lookup's rows, which are made once per lookup: int32 numbers in
 * place of floats, one column per block. The lookup becomes a lane node. NULL: no block of the
 * lookup can be shared. */
cr_node *cr_codes(cr_graph *g, cr_node *lookup);
const cr_block *cr_codes_blocks(const cr_node *codes_node, int *n);
/* cr_codes_solo: do only layers over shared rows (emb_matmul) send gradients to the lookup? Then
 * only the first row of each code has a gradient; the others are left unset. */
bool cr_codes_solo(const cr_node *codes);
/* cr_codes_finish is called when the graph is whole: other lookups of the same features then use
 * the codes too, for their gradients. */
void cr_codes_finish(cr_graph *g);
/* cr_codes_shared returns flags per lane, filled by each training step of this caller: do rows with
 * equal ids share their code in this column? */
const uint8_t *cr_codes_shared(const cr_work *w, const cr_node *codes, int column);

static inline int32_t *cr_codes_at(const cr_tile *t, const cr_node *codes) {
    return (int32_t *)(void *)cr_val(t, codes);
}

#endif
