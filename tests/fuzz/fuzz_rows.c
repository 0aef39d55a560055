/*
 * fuzz_rows.c - any bytes as JSON lines and as a TFRecord file: nothing may crash, every value lies
 * inside the block, and the rows of JSON do not depend on the size of blocks.
 *
 * The first byte chooses the reader, whether input_fields says what columns hold, and the size of
 * blocks; the rest is the file. Records of a third kind get their frames and checksums here, so
 * that the bytes reach the parser of messages.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "data/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_values(cr_buf *out, const cr_column *c, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) {
        size_t n;
        if (c->type == CR_COL_STR) {
            const char *p = cr_text_at(c, i, &n);
            cr_buf_add(out, p, n);
        } else if (c->type == CR_COL_I64) {
            cr_buf_printf(out, "%lld", (long long)c->v.i64[i]);
        } else if (c->type == CR_COL_I32) {
            cr_buf_printf(out, "%d", c->v.i32[i]);
        } else {
            cr_buf_printf(out, "%g", c->type == CR_COL_F32 ? (double)c->v.f32[i] : c->v.f64[i]);
        }
        cr_buf_char(out, ' ');
    }
    cr_buf_char(out, '|');
}

static void add_rows(cr_buf *out, const cr_chunk *c) {
    for (int64_t r = 0; r < c->n_rows; r++)
        for (int k = 0; k < c->n_cols; k++) {
            const cr_column *col = &c->cols[k];
            bool none = col->valid && !col->valid[r];
            cr_buf_char(out, none ? '-' : '+');
            if (none && !col->depth) continue;
            add_values(out, col, col->depth ? col->row_off[r] : r,
                       col->depth ? col->row_off[r + 1] : r + 1);
        }
}

static void read_all(const char *reader, const char *path, const cr_data_conf *conf, size_t block,
                     cr_buf *out) {
    static const cr_want want[] = {{.name = "y", .type = -1},
                                   {.name = "s", .type = -1},
                                   {.name = "v", .type = -1},
                                   {.name = "s", .type = -1},
                                   {.name = "i", .type = -1}};
    const cr_reader_type *r = cr_reader_find(reader);
    cr_diag diag;
    cr_source *s;
    cr_err err = {0};
    cr_diag_init(&diag);
    if (r->open(&s, conf, path, want, 5, &diag) == CR_OK) {
        cr_raw raw = {0};
        cr_chunk chunk = {0};
        cr_bad bad = {0};
        int64_t n;
        bool end = false;
        cr_arena_init(&chunk.arena, 0);
        r->set_block(s, block);
        if (r->n_blocks(s, 0, &n, &err) != CR_OK) abort();
        for (int64_t b = 0; n < 0 || b < n; b++) {
            if (r->cut(s, 0, b, &raw, &end, &err) != CR_OK || end) break;
            cr_bad_reset(&bad);
            if (r->parse(s, &raw, &chunk, &bad, &err) != CR_OK) break;
            add_rows(out, &chunk);
        }
        cr_free(raw.text);
        cr_arena_clear(&chunk.arena);
        cr_bad_clear(&bad);
        r->close(s);
    } else if (diag.n_errors == 0) {
        abort(); /* refused without a word */
    }
    cr_diag_clear(&diag);
}

/* Frames each line of the bytes as one record. */
static void frame(cr_buf *out, const uint8_t *data, size_t size) {
    while (size > 0) {
        const uint8_t *nl = memchr(data, '\n', size);
        size_t n = nl ? (size_t)(nl - data) : size;
        uint64_t length = n;
        uint32_t a = cr_crc32c_masked(&length, 8), b = cr_crc32c_masked(data, n);
        cr_buf_add(out, (const char *)&length, 8);
        cr_buf_add(out, (const char *)&a, 4);
        cr_buf_add(out, (const char *)data, n);
        cr_buf_add(out, (const char *)&b, 4);
        data += n + (nl != NULL);
        size -= n + (nl != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size > 1 << 16) return 0;
    cr_field_conf fields[] = {{.input_name = "y", .input_type = 1},
                              {.input_name = "s", .input_type = 2},
                              {.input_name = "v", .input_type = 8},
                              {.input_name = "i", .input_type = 0}};
    void *list[] = {&fields[0], &fields[1], &fields[2], &fields[3]};
    cr_data_conf conf = {.input_fields = {list, data[0] & 4 ? 4 : 0}};
    int kind = data[0] & 3;
    cr_buf file, a, b;
    char path[64];
    cr_buf_init(&file);
    cr_buf_init(&a);
    cr_buf_init(&b);
    if (kind == 2)
        frame(&file, data + 1, size - 1);
    else
        cr_buf_add(&file, (const char *)data + 1, size - 1);
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, file.data, file.n) != (ssize_t)file.n) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *reader = kind == 0 || kind == 3 ? "JsonDataset" : "TFRecordDataset";
    read_all(reader, path, &conf, (size_t)1 << 19, &a);
    read_all(reader, path, &conf, (size_t)16 << (data[0] >> 4), &b);
    /* without input_fields the first block decides what columns hold */
    if (data[0] & 4 && (a.n != b.n || (a.n && memcmp(a.data, b.data, a.n) != 0))) {
        fprintf(stderr, "fuzz_rows: rows depend on the size of blocks\n");
        abort();
    }
    cr_buf_clear(&file);
    cr_buf_clear(&a);
    cr_buf_clear(&b);
    close(fd);
    return 0;
}
