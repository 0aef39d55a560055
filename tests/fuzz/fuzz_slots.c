/*
 * fuzz_slots.c - any bytes as slot text: nothing may crash, every value lies inside the block, and
 * the rows do not depend on the size of blocks.
 *
 * The first byte chooses the form, the separator and the size of blocks; the rest is the file. A
 * second form of the same number is that of lists and sessions, with drawn columns.
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

static void add_values(cr_buf *out, const cr_column *c, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) {
        size_t n;
        if (c->keys) cr_buf_printf(out, "%lld:", (long long)c->keys->v.i64[i]);
        if (c->type == CR_COL_STR) {
            const char *p = cr_text_at(c, i, &n);
            cr_buf_add(out, p, n);
        } else if (c->type == CR_COL_I64) {
            cr_buf_printf(out, "%lld", (long long)c->v.i64[i]);
        } else {
            cr_buf_printf(out, "%g", (double)c->v.f32[i]);
        }
        cr_buf_char(out, ' ');
    }
    cr_buf_char(out, '|');
}

static void add_rows(cr_buf *out, const cr_chunk *c) {
    for (int64_t r = 0; r < c->n_rows; r++)
        for (int k = 0; k < c->n_cols; k++) {
            const cr_column *col = &c->cols[k];
            cr_buf_char(out, col->valid && !col->valid[r] ? '-' : '+');
            add_values(out, col, col->depth ? col->row_off[r] : r,
                       col->depth ? col->row_off[r + 1] : r + 1);
        }
}

static void read_all(const char *path, const cr_data_conf *conf, const cr_want *want, int n_want,
                     size_t block, cr_buf *out) {
    const cr_reader_type *r = cr_reader_find("SlotDataset");
    cr_diag diag;
    cr_diag_init(&diag);
    cr_source *s;
    cr_err err = {0};
    if (r->open(&s, conf, path, want, n_want, &diag) == CR_OK) {
        r->set_block(s, block);
        cr_raw raw = {0};
        cr_chunk chunk = {0};
        cr_arena_init(&chunk.arena, 0);
        cr_bad bad = {0};
        int64_t n;
        bool end = false;
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
    }
    cr_diag_clear(&diag);
}

/* The forms that make columns: lists, next, last, windows. */
static void read_made(const uint8_t *data, const char *path) {
    cr_field_conf fields[] = {{.input_name = "history", .input_type = 6},
                              {.input_name = "next", .input_type = 1},
                              {.input_name = "w", .input_type = 6},
                              {.input_name = "q", .input_type = 8}};
    cr_slot_made_conf w = {.name = "w",
                           .value = "",
                           .as_many_as = "",
                           .begin_with = "next",
                           .other_than = "next",
                           .log_of = "",
                           .counts = "",
                           .count = 2,
                           .first = 1,
                           .last = 1 + (data[0] >> 4),
                           .sampler = data[0] & 8 ? CR_DRAW_LOG_UNIFORM : CR_DRAW_UNIFORM};
    cr_slot_made_conf q = w;
    q.name = "q";
    q.log_of = "w";
    q.begin_with = q.other_than = "";
    q.count = 0;
    void *made[] = {&w, &q}, *list[] = {&fields[0], &fields[1], &fields[2], &fields[3]};
    static const char *const names[] = {"history", "next", "w", "q"};
    static const char *const pairs[] = {"center", "context"};
    int form = CR_SLOT_LISTS + (data[0] & 3);
    bool windows = form == CR_SLOT_WINDOWS;
    if (windows)
        for (int i = 0; i < 2; i++) {
            fields[i].input_name = pairs[i];
            fields[i].input_type = 1;
        }
    cr_slot_text_conf text = {.form = form,
                              .separator = data[0] & 4 ? "," : " ",
                              .list_separator = ";",
                              .shortest = 1,
                              .longest = data[0] >> 6,
                              .window = 2,
                              .made = {made, windows ? 0 : 2}};
    cr_data_conf conf = {.slot_text = &text, .input_fields = {list, windows ? 2 : 4}};
    cr_want want[4] = {0};
    for (int i = 0; i < 4; i++)
        want[i] = (cr_want){.name = windows && i < 2 ? pairs[i] : names[i], .type = -1};
    cr_buf a, b;
    cr_buf_init(&a);
    cr_buf_init(&b);
    read_all(path, &conf, want, windows ? 2 : 4, (size_t)1 << 19, &a);
    read_all(path, &conf, want, windows ? 2 : 4, (size_t)16 << (data[0] >> 4), &b);
    if (a.n != b.n || (a.n && memcmp(a.data, b.data, a.n) != 0)) {
        fprintf(stderr, "fuzz_slots: rows of form %d depend on the size of blocks\n", form);
        abort();
    }
    cr_buf_clear(&a);
    cr_buf_clear(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size > 1 << 16) return 0;
    static const cr_want want[] = {{.name = "y", .type = -1},
                                   {.name = "i", .type = -1},
                                   {.name = "f", .type = -1},
                                   {.name = "s", .type = -1},
                                   {.name = "p_1", .type = -1}};
    cr_field_conf fields[] = {{.input_name = "y", .input_type = 1},
                              {.input_name = "i", .input_type = 6},
                              {.input_name = "f", .input_type = 8},
                              {.input_name = "s", .input_type = 7},
                              {.input_name = "p_1", .input_type = 23}};
    void *list[] = {&fields[0], &fields[1], &fields[2], &fields[3], &fields[4]};
    static const char *columns[] = {"y"};
    static cr_slot_pair_conf pair = {.name = "p", .ids = "i", .weights = "f"};
    void *pairs[] = {&pair};
    static int64_t widths[] = {1, 2, 2, 1};
    cr_slot_text_conf text = {.form = data[0] & 3,
                              .separator = data[0] & 4 ? "," : " ",
                              .columns = {columns, data[0] & 8 ? 1 : 0},
                              .widths = {widths, 4},
                              .pairs = {pairs, 1}};
    cr_data_conf conf = {.slot_text = &text, .input_fields = {list, 5}};
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1)) abort();
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    cr_buf a, b;
    cr_buf_init(&a);
    cr_buf_init(&b);
    read_all(path, &conf, want, 5, (size_t)1 << 19, &a);
    read_all(path, &conf, want, 5, (size_t)16 << (data[0] >> 4), &b);
    if (a.n != b.n || (a.n && memcmp(a.data, b.data, a.n) != 0)) {
        fprintf(stderr, "fuzz_slots: rows depend on the size of blocks\n");
        abort();
    }
    cr_buf_clear(&a);
    cr_buf_clear(&b);
    read_made(data, path);
    close(fd);
    return 0;
}
