/*
 * fuzz_ctr.c - any bytes as a text file of a table with a CTR accessor: nothing may crash, and a
 * row that is taken is written as a line that reads back as the same row.
 *
 * The first byte chooses the rules and the width; the rest is the file, which may be compressed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emb/ctr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct table {
    cr_ctr_rules r;
    int64_t X;
} table;

static void must(bool x, const char *what) {
    if (x) return;
    fprintf(stderr, "fuzz_ctr: %s\n", what);
    abort();
}

static cr_code take(void *ctx, int64_t id, const float *record, bool brief, cr_err *err) {
    (void)err;
    const table *t = ctx;
    float parts[64] = {0}, again[64];
    int64_t n = cr_ctr_floats(&t->r, t->X, false), same_id;
    bool same_brief;
    must(id >= 0 && id < INT64_MAX && n <= 64, "an id or a row out of range");
    cr_ctr_row from = cr_ctr_at(&t->r, t->X, false, (float *)(uintptr_t)record);
    if (brief) { /* the second part is not there */
        for (int64_t i = 0; i < t->X; i++)
            must(from.embedx[i] == 0, "a brief row has a second part");
        cr_ctr_row to = cr_ctr_at(&t->r, t->X, true, parts);
        memcpy(to.head, from.head, CR_CTR_HEAD * sizeof(float));
        memcpy(to.days, from.days, CR_CTR_DAYS * sizeof(float));
        memcpy(to.embed_state, from.embed_state,
               (size_t)cr_ctr_state(t->r.embed.kind, 1) * sizeof(float));
        from = to;
    }
    cr_buf b;
    cr_buf_init(&b);
    cr_ctr_write(&t->r, t->X, id, from, &b);
    must(cr_ctr_read(&t->r, t->X, b.data, b.n - 1, &same_id, again, &same_brief, NULL) == CR_OK,
         "a line that was written is refused");
    must(same_id == id && (same_brief == brief || t->X == 0) &&
             memcmp(again, record, (size_t)n * sizeof(float)) == 0,
         "another row came back");
    cr_buf_clear(&b);
    return CR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    table t = {.X = data[0] % 8};
    t.r.embed.kind = (cr_ctr_sgd)(data[0] / 8 % CR_CTR_RULES);
    t.r.embedx.kind = (cr_ctr_sgd)(data[0] / 8 % 32 / CR_CTR_RULES % CR_CTR_RULES);
    int fd = memfd_create("fuzz_ctr", 0);
    char path[64];
    if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1)) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    cr_err err = {0};
    cr_code code = cr_ctr_read_file(&t.r, t.X, path, take, &t, &err);
    must(code == CR_OK || err.msg[0], "a mistake without a message");
    close(fd);
    return 0;
}
