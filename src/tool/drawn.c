/*
 * drawn.c - see drawn.h.
 */
#include "tool/drawn.h"

#include <stdio.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/stop.h"

void cr_draw(int64_t *v, int64_t n, int64_t k, uint64_t key) {
    for (int64_t i = 0; i < n; i++)
        v[i] = i;
    for (int64_t i = 0; i < k; i++) {
        int64_t j = i + (int64_t)cr_rng_below(key, (uint64_t)i, (uint64_t)(n - i)), was = v[i];
        v[i] = v[j];
        v[j] = was;
    }
}

cr_code cr_write_drawn(const char *dir, int64_t number, cr_buf *out, cr_err *err) {
    char path[1200];
    CR_TRY(cr_mkdirs(dir, err));
    snprintf(path, sizeof path, "%s/rows-%05lld.txt", dir, (long long)number);
    cr_code code = cr_file_write(path, out->data, out->n, err);
    cr_buf_reset(out);
    if (code == CR_OK && atomic_load(&cr_stop_requested))
        return cr_fail(err, CR_ESTOP,
                       "stopped by a signal while rows were written to '%s'; they are drawn anew "
                       "by the next run",
                       dir);
    return code;
}
