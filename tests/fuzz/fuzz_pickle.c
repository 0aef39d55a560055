/*
 * fuzz_pickle.c - any bytes as a pickle: nothing may crash or call anything, and what is accepted
 * is numbers, texts and lists whose texts lie inside of memory.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool x, const char *what) {
    if (x) return;
    fprintf(stderr, "fuzz_pickle: %s\n", what);
    abort();
}

/* Looks at two levels, since a list may hold itself. */
static unsigned look(const cr_pickle *v, int depth) {
    unsigned sum = (unsigned)v->i;
    must(v->kind <= CR_PICKLE_LIST || depth < 2, "a name as a result");
    for (size_t i = 0; v->kind == CR_PICKLE_TEXT && i < v->n; i++)
        sum += (unsigned char)v->text[i];
    for (size_t i = 0; v->kind == CR_PICKLE_LIST && i < v->n && depth > 0; i++)
        sum += look(v->v[i], depth - 1);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cr_arena a;
    cr_err err;
    const cr_pickle *v;
    cr_arena_init(&a, 0);
    if (cr_pickle_read(data, size, "input", &a, &v, &err) == CR_OK) {
        volatile unsigned sink = look(v, 2);
        (void)sink;
    } else {
        must(err.code == CR_EDATA && err.msg[0] && err.at.path, "a refusal without a reason");
    }
    cr_arena_clear(&a);
    return 0;
}
