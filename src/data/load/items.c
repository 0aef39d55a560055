/*
 * items.c - lists what an epoch is made of: blocks of plain files, and whole compressed files.
 */
#include "data/load/items.h"

cr_code cr_items_open(cr_items *in, const cr_loader_opts *o, cr_source *src, cr_err *err) {
    *in = (cr_items){.o = o, .reader = o->reader, .src = src};
    in->n_files = in->reader->n_files(src);
    in->first = cr_alloc((size_t)(in->n_files + 1) * sizeof(int64_t), "a list of files");
    in->front = cr_alloc((size_t)in->n_files + 1, "a list of files");
    for (int64_t f = 0; f < in->n_files; f++) {
        int64_t n;
        CR_TRY(in->reader->n_blocks(src, f, &n, err));
        in->front[f] = n < 0;
        in->first[f + 1] = in->first[f] + (n < 0 ? 1 : n);
    }
    in->n = in->first[in->n_files];
    if (in->n >= INT32_MAX)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){o->paths, 0, 0}),
                          "%lld blocks of rows are too many for one run; use fewer files",
                          (long long)in->n);
    return CR_OK;
}

void cr_items_close(cr_items *in) {
    in->reader->close(in->src);
    cr_free(in->first);
    cr_free(in->front);
}

int64_t cr_items_file(const cr_items *in, int64_t item) {
    int64_t a = 0, z = in->n_files;
    while (z - a > 1) {
        int64_t m = (a + z) / 2;
        if (in->first[m] <= item)
            a = m;
        else
            z = m;
    }
    return a;
}
