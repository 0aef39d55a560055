/*
 * stream.h - what a loader gives from its start to its end, for tests that compare such streams.
 * Include it behind a function show(cr_buf *, const cr_batch *) that writes a batch as text.
 */
#ifndef CR_TESTS_STREAM_H
#define CR_TESTS_STREAM_H

#include "csv_help.h"
#include "data/load/loader.h"

/* a whole stream: texts of batches ("" ends an epoch) and the positions after them */
#define MAX_EVENTS 512
typedef struct stream {
    char *text[MAX_EVENTS];
    cr_data_pos after[MAX_EVENTS];
    int n;
    cr_code code;
    cr_err err;
    int64_t bad_rows;
} stream;

static void run(stream *s, const cr_loader_opts *o) {
    memset(s, 0, sizeof(*s));
    cr_diag diag;
    cr_diag_init(&diag);
    cr_loader *l;
    s->code = cr_loader_new(&l, o, &diag);
    if (s->code != CR_OK) {
        cr_diag_first(&diag, &s->err);
        cr_diag_clear(&diag);
        return;
    }
    cr_data_pos pos = o->start;
    bool done = false;
    while (!done && s->n < MAX_EVENTS) {
        cr_batch *b;
        s->code = cr_loader_next(l, &b, &done, &s->err);
        if (s->code != CR_OK) {
            cr_err again = {0};
            CHECK(cr_loader_next(l, &b, &done, &again) == s->code);
            CHECK_STR(again.msg, s->err.msg);
            break;
        }
        cr_buf t;
        cr_buf_init(&t);
        cr_buf_reserve(&t, 1);
        t.data[0] = 0;
        if (b) {
            show(&t, b);
            pos = cr_loader_after(b);
            cr_loader_release(l, b);
        } else
            pos = (cr_data_pos){.epoch = pos.epoch + 1};
        s->text[s->n] = strdup(t.data);
        s->after[s->n++] = pos;
        cr_buf_clear(&t);
    }
    CHECK(s->code != CR_OK || done);
    cr_loader_stats st;
    cr_loader_get_stats(l, &st);
    s->bad_rows = st.bad_rows;
    cr_loader_free(l);
    cr_diag_clear(&diag);
}

static void drop(stream *s) {
    for (int i = 0; i < s->n; i++)
        free(s->text[i]);
    s->n = 0;
}

/* positions: they must be the same too; else only the number of rows given out */
static void same(const stream *a, int from, const stream *b, bool positions, const char *what) {
    bool ok = a->n - from == b->n && a->code == b->code;
    for (int i = 0; ok && i < b->n; i++) {
        ok = strcmp(a->text[from + i], b->text[i]) == 0;
        if (ok && positions)
            ok = memcmp(&a->after[from + i], &b->after[i], sizeof(cr_data_pos)) == 0;
        else if (ok)
            ok = a->after[from + i].rows == b->after[i].rows;
    }
    if (!ok) fprintf(stderr, "%s: from %d: streams differ\n", what, from);
    CHECK(ok);
}

#endif
