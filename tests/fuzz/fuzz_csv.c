/*
 * fuzz_csv.c - any bytes as a CSV file: nothing may crash, and the rows must not depend on the CPU
 * level or, when the text is front-to-back (gzip or zstd), be anything but rows or one error.
 *
 * The first byte chooses header, delimiter and block size; the rest is the file.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "data/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_rows(cr_buf *out, const cr_chunk *c) {
    for (int64_t i = 0; i < c->n_rows; i++) {
        const cr_column *a = &c->cols[0], *b = &c->cols[1];
        cr_buf_add(out, a->bytes + a->beg[i], a->end[i] - a->beg[i]);
        cr_buf_printf(out, "|%d %g|", b->valid ? b->valid[i] : 1, (double)b->v.f32[i]);
    }
}

static void read_all(const char *path, const cr_data_conf *conf, size_t block, cr_buf *out) {
    static const cr_want want[] = {{.name = "a", .type = -1, .why = "the fuzzer"},
                                   {.name = "b", .type = CR_COL_F32, .why = "the fuzzer"}};
    const cr_reader_type *r = cr_reader_find("CsvDataset");
    cr_diag diag;
    cr_diag_init(&diag);
    cr_source *s;
    cr_err err = {0};
    if (r->open(&s, conf, path, want, 2, &diag) == CR_OK) {
        r->set_block(s, block);
        cr_raw raw = {0};
        cr_chunk chunk = {0};
        cr_arena_init(&chunk.arena, 0);
        cr_bad bad = {0};
        int64_t n;
        bool end = false;
        if (r->n_blocks(s, 0, &n, &err) != CR_OK) abort();
        for (int64_t b = 0; b < 4096 && (n < 0 || b < n); b++) {
            if (r->cut(s, 0, b, &raw, &end, &err) != CR_OK || end) break;
            cr_bad_reset(&bad);
            if (r->parse(s, &raw, &chunk, &bad, &err) != CR_OK) break;
            if (raw.offset >= 0 && raw.first_line == 0) {
                int64_t line;
                if (r->line_at(s, 0, raw.offset, &line, &err) != CR_OK || line < 1) abort();
            }
            add_rows(out, &chunk);
        }
        cr_free(raw.text);
        cr_arena_clear(&chunk.arena);
        cr_bad_clear(&bad);
        r->close(s);
    }
    cr_diag_clear(&diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size > 1 << 16) return 0;
    static const char *const delims[] = {",", "\t", "||", "\x01"};
    cr_field_conf fields[3] = {{.input_name = "a", .input_type = CR_COL_STR},
                               {.input_name = "b", .input_type = CR_COL_F32},
                               {.input_name = "c", .input_type = CR_COL_STR}};
    void *list[3] = {&fields[0], &fields[1], &fields[2]};
    cr_data_conf conf = {.with_header = data[0] & 1, .delimiter = delims[data[0] >> 1 & 3]};
    conf.input_fields.v = list;
    conf.input_fields.n = data[0] & 8 ? 3 : 2;
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1)) abort();
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    cr_buf a, b;
    cr_buf_init(&a);
    cr_buf_init(&b);
    size_t block = (size_t)16 << (data[0] >> 4);
    read_all(path, &conf, block, &a);
    setenv("CRANK_CPU", "c", 1);
    read_all(path, &conf, block, &b);
    unsetenv("CRANK_CPU");
    if (a.n != b.n || (a.n && memcmp(a.data, b.data, a.n) != 0)) {
        fprintf(stderr, "fuzz_csv: rows depend on the CPU level\n");
        abort();
    }
    cr_buf_clear(&a);
    cr_buf_clear(&b);
    close(fd);
    return 0;
}
