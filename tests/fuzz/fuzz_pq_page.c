/*
 * fuzz_pq_page.c - any bytes as the pages of a column chunk.
 *
 * Four bytes choose the column: type and codec, its lists and nulls, and how many values it has.
 * The rest is the chunk: page headers and pages, as they lie in a file.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "parquet/parquet_int.h"
#include "pq_touch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD   4
#define BUDGET ((size_t)1 << 20)

/* the schema for a choice: 0 required, 1 optional, 2 repeated, 3 list, 4 list of lists, 5 in a
 * struct */
static int make_nodes(cr_pq_node *n, int shape, int type) {
    const cr_pq_node leaf = {.name = "element",
                             .type = (cr_pq_type)type,
                             .type_length = type == CR_PQ_FIXED ? 5 : 0,
                             .rep = CR_PQ_OPTIONAL,
                             .logical = {.kind =
                                             type == CR_PQ_BYTES ? CR_PQ_STRING : CR_PQ_PHYSICAL}};
    const cr_pq_node list = {.name = "l",
                             .type = CR_PQ_GROUP,
                             .rep = CR_PQ_OPTIONAL,
                             .n_children = 1,
                             .logical = {.kind = CR_PQ_LIST}};
    const cr_pq_node repeated = {.name = "list",
                                 .type = CR_PQ_GROUP,
                                 .rep = CR_PQ_REPEATED,
                                 .n_children = 1};
    const cr_pq_node plain = {.name = "s",
                              .type = CR_PQ_GROUP,
                              .rep = CR_PQ_OPTIONAL,
                              .n_children = 1};
    int k = 0;
    n[k++] = (cr_pq_node){.name = "root", .type = CR_PQ_GROUP, .n_children = 1};
    for (int i = 0; i < shape - 2 && shape < 5; i++) {
        n[k++] = list;
        n[k++] = repeated;
    }
    if (shape == 5) n[k++] = plain;
    n[k] = leaf;
    if (shape == 0) n[k].rep = CR_PQ_REQUIRED;
    if (shape == 2) n[k].rep = CR_PQ_REPEATED;
    return k + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int fd = -1;
    static cr_fs *fs; /* of the same bytes, opened once */
    char path[64];
    if (size < HEAD) return 0;
    if (fd < 0) fd = memfd_create("page", 0);
    size_t n = size - HEAD;
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data + HEAD, n, 4) != (ssize_t)n) return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!fs && cr_fs_open(&fs, path, NULL) != CR_OK) return 0;
    cr_pq_node nodes[8];
    int type = data[0] & 7, codec = data[0] >> 3 & 7, shape = (data[1] & 7) % 6;
    int64_t n_values = data[2] | data[3] << 8;
    cr_pq_chunk chunk = {.codec = (cr_pq_codec)codec,
                         .n_values = n_values,
                         .start = 4,
                         .data_start = 4,
                         .size = (int64_t)n,
                         .raw_size = (int64_t)n};
    /* of lists any number of rows can be right */
    int64_t n_rows = shape >= 2 && shape < 5 ? n_values * (data[1] >> 3) / 31 : n_values;
    cr_pq_group group = {.n_rows = n_rows, .chunks = &chunk};
    cr_pq_file f = {.path = "input",
                    .fs = fs,
                    .size = (int64_t)n + 4,
                    .opts = {.budget = BUDGET, .skip_crc = true, .keep_levels = data[0] >> 6 & 1}};
    cr_err err;
    cr_arena_init(&f.arena, 0);
    f.meta = (cr_pq_meta){.nodes = nodes,
                          .n_nodes = make_nodes(nodes, shape, type),
                          .n_rows = n_rows,
                          .n_groups = 1,
                          .groups = &group};
    pq_must(cr_pq_schema_finish(&f.meta, &f.arena, &err) == CR_OK, "the schema is good");
    (void)pq_touch_file(&f, 5000);
    cr_arena_clear(&f.arena);
    return 0;
}
