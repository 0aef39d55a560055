/*
 * fuzz_safetensors.c - any bytes as a safetensors file: nothing may crash, and what is accepted
 * must lie inside the file, piece after piece.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ckpt/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool x, const char *what) {
    if (x) return;
    fprintf(stderr, "fuzz_safetensors: %s\n", what);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cr_st_file f;
    cr_err err;
    if (cr_st_parse(&f, "input", data, (int64_t)size, &err) != CR_OK) {
        must(err.code == CR_ERUN && err.msg[0], "a refusal without a reason");
        must(err.at.path && strcmp(err.at.path, "input") == 0, "a refusal without a place");
        return 0;
    }
    const uint8_t *end = data + size, *at = NULL;
    float sum = 0, x[64];
    for (int i = 0; i < f.n; i++) {
        const cr_st_tensor *t = &f.v[i];
        const uint8_t *p = t->data;
        must(p >= data && t->n_bytes >= 0 && t->n_bytes <= end - p, "a tensor outside the file");
        must(!at || p == at, "a gap or an overlap");
        at = p + t->n_bytes;
        must(cr_st_find(&f, t->name) == t, "a tensor that is not found by its name");
        for (int64_t k = 0; k < t->n_elems; k += 64) {
            int64_t m = t->n_elems - k < 64 ? t->n_elems - k : 64;
            cr_dtype_to_f32(t->dtype, p + k * cr_dtype_size(t->dtype), m, x);
            sum += x[0];
        }
    }
    must(!at || at == end, "bytes after the last tensor");
    for (int i = 0; i < f.n_meta; i++)
        must(cr_st_get_meta(&f, f.meta[i].key) != NULL, "a key that is not found");
    volatile float sink = sum;
    (void)sink;
    cr_st_close(&f);
    return 0;
}
