/*
 * fuzz_pickle.c - any bytes as a pickle: nothing may crash or call anything, and what is accepted
 * is numbers, texts, lists and arrays that lie inside of memory; and as a frame of pandas.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool x, const char *what) {
    if (x) return;
    fprintf(stderr, "fuzz_pickle: %s\n", what);
    abort();
}

/* Looks at two levels, since a list may hold itself. */
static unsigned look(const cr_pickle *v, int depth) {
    unsigned sum = (unsigned)v->i;
    must(v->kind <= CR_PICKLE_OBJECT || depth < 2, "a name as a result");
    for (size_t i = 0; v->kind == CR_PICKLE_TEXT && i < v->n; i++)
        sum += (unsigned char)v->text[i];
    bool values = v->kind >= CR_PICKLE_LIST && v->kind <= CR_PICKLE_OBJECT && v->v;
    for (size_t i = 0; values && i < v->n && depth > 0; i++)
        sum += look(v->v[i], depth - 1);
    int64_t whole = 0;
    double number = 0;
    for (int64_t i = 0; v->kind == CR_PICKLE_ARRAY && i < v->items; i++) {
        if (cr_pickle_number(v, i, &number) && number > 0) sum++;
        if (cr_pickle_whole(v, i, &whole)) sum += (unsigned)whole;
    }
    return sum;
}

static unsigned look_at_frame(const cr_pickle *v, cr_arena *a) {
    cr_frame f;
    cr_err err;
    unsigned sum = 0;
    if (cr_frame_of(v, "input", a, &f, &err) != CR_OK) {
        must(err.code == CR_EDATA && err.msg[0], "a refusal without a reason");
        return 0;
    }
    for (int64_t i = 0; i < f.n; i++) {
        double x = 0;
        must(f.columns[i].block != NULL, "a column without values");
        for (int64_t r = 0; r < f.rows; r++) {
            const cr_pickle *item = cr_frame_item(&f.columns[i], r);
            if (item)
                sum += look(item, 1);
            else
                sum += cr_frame_number(&f.columns[i], r, &x);
        }
        for (size_t k = 0; f.columns[i].name && k < f.columns[i].n; k++)
            sum += (unsigned char)f.columns[i].name[k];
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cr_arena a;
    cr_err err;
    const cr_pickle *v;
    cr_arena_init(&a, 0);
    if (cr_pickle_read(data, size, "input", &a, &v, &err) == CR_OK) {
        volatile unsigned sink = look(v, 2) + look_at_frame(v, &a);
        (void)sink;
    } else {
        must(err.code == CR_EDATA && err.msg[0] && err.at.path, "a refusal without a reason");
    }
    cr_arena_clear(&a);
    return 0;
}
