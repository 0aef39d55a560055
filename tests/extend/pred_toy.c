/*
 * pred_toy.c - a writer of predictions: one line per row, the first prediction with two digits.
 */
#include <stdio.h>

#include "base/file.h"
#include "run/pred_list.h"

struct cr_pred {
    cr_outfile *f;
};

static cr_code toy_open(cr_pred **out, const char *path, const cr_pred_shape *shape, cr_err *err) {
    cr_pred *p = cr_alloc(sizeof *p, "a toy file");
    (void)shape;
    cr_code code = cr_outfile_open(&p->f, path, err);
    if (code != CR_OK) cr_free(p);
    *out = code == CR_OK ? p : NULL;
    return code;
}

static cr_code toy_write(cr_pred *p, const cr_pred_rows *rows, cr_err *err) {
    char line[32];
    for (int64_t r = 0; r < rows->n_rows; r++) {
        int n = snprintf(line, sizeof line, "%.2f\n", (double)rows->outputs[0][r * rows->ld[0]]);
        CR_TRY(cr_outfile_write(p->f, line, (size_t)n, err));
    }
    return CR_OK;
}

static cr_code toy_finish(cr_pred *p, cr_err *err) {
    cr_outfile *f = p->f;
    p->f = NULL;
    return cr_outfile_commit(f, err);
}

static void toy_free(cr_pred *p) {
    if (p) cr_outfile_abort(p->f);
    cr_free(p);
}

static const char *const ends[] = {".toy", NULL};

const cr_pred_type cr_pred_toy = {
    .name = "ToyWriter",
    .dataset = "no data set's",
    .ext = "toy",
    .ends = ends,
    .open = toy_open,
    .write = toy_write,
    .finish = toy_finish,
    .free = toy_free,
};
