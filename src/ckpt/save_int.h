/*
 * save_int.h - how a checkpoint is cut into files, and how the bytes of the files come together.
 */
#ifndef CR_CKPT_SAVE_INT_H
#define CR_CKPT_SAVE_INT_H

#include "ckpt/ckpt_int.h"

#define CKPT_PIECE 65536 /* elements that get and put move at once */

/* ---- parts.c: which holder has which elements ---- */

/* A walk over the elements [first, end) of a tensor as runs of consecutive elements that lie in one
 * rectangle of a holder, in the order of the rectangles. Fill the first four fields. */
typedef struct ckpt_walk {
    const cr_ckpt_tensor *t;
    int64_t first, end;
    int holder; /* runs of this holder; -1: of all */
    int part;
    int64_t row;
} ckpt_walk;
/* cr_ckpt_run returns the next run in *first, *n and the holder in *of; -1 stands for a tensor that
 * every holder has. It returns false at the end. */
bool cr_ckpt_run(ckpt_walk *w, int64_t *first, int64_t *n, int *of);
/* cr_ckpt_in_part: how many of the elements [first, end) lie in part p? */
int64_t cr_ckpt_in_part(const cr_ckpt_tensor *t, const cr_ckpt_part *p, int64_t first, int64_t end);
/* cr_ckpt_agree is collective: when a holder has failed, every holder gets the code of the first
 * one and its message. meet NULL: there is one holder. */
CR_CHECKED cr_code cr_ckpt_agree(const cr_meet *meet, cr_code mine, cr_err *err);

/* ---- cut.c: which rows of which tensor go to which file, and who writes the file ---- */

typedef struct ckpt_item {
    const cr_ckpt_tensor *t;
    int64_t first_row, n_rows, total_rows;
    int64_t row_elems;
    int64_t first, n; /* the same as elements of the tensor: [first, first + n) */
    int file;
} ckpt_item;

typedef struct ckpt_cut_file {
    char name[64];
    ckpt_item **items; /* as they lie in the file */
    int n;
    cr_buf head;   /* what stands before their bytes */
    int64_t bytes; /* of all items; the file has head.n more */
    int writer;
    uint64_t digest; /* known to the writer when the file is written */
} ckpt_cut_file;

typedef struct ckpt_cut {
    cr_arena arena;
    ckpt_cut_file *files; /* those of the model, then those of the optimizer */
    int n_files;
    int64_t bytes; /* of all tensors */
    bool travels;  /* a tensor has parts: holders need bytes of each other */
    cr_buf index;  /* text of index.json */
} ckpt_cut;

/* cr_ckpt_cut_init cuts the tensors into files of about `limit` bytes (0: chosen by the size of all
 * of them) and gives each file to a holder of m. The result depends on nothing else, except that
 * who writes a file also depends on the places of the elements. */
CR_CHECKED cr_code cr_ckpt_cut_init(ckpt_cut *c, const cr_ckpt_tensor *v, int n, int64_t limit,
                                    bool whole, const cr_meet *m, cr_err *err);
void cr_ckpt_cut_clear(ckpt_cut *c);

/* ---- fill.c: the bytes of this holder's files ---- */

typedef struct ckpt_fill {
    const ckpt_cut *cut;
    const cr_meet *meet;
    cr_pool *pool;
    int64_t round_bytes; /* 0: chosen */
    /* where[f]: place for the bytes of own file f; NULL: they are given to take, in order */
    char **where;
    /* take gets bytes of an own file; last: the file ends with them */
    cr_code (*take)(void *ctx, int file, const void *data, size_t n, bool last, cr_err *err);
    void *ctx;
} ckpt_fill;
/* cr_ckpt_fill is collective. It returns the first failure on this holder, of take or for want of
 * memory; CR_OK when another holder has failed: cr_ckpt_agree tells. */
CR_CHECKED cr_code cr_ckpt_fill(const ckpt_fill *o, cr_err *err);

#endif
