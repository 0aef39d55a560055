/*
 * arrow_tool.c - for tests/arrow/run.sh: a Parquet file as an Arrow file by our writer, and the
 * rows of a file as our readers give them.
 *
 *   arrow_tool convert IN.parquet OUT plain|lz4|zstd file|stream ROWS_OF_A_BATCH
 *   arrow_tool rows ParquetDataset|ArrowDataset PATH
 */
#include "data/arrow/sink.h"
#include "data/load/loader.h"
#include "unit/data/rows_text.h"

static void die(const char *what, const cr_diag *diag, const cr_err *err) {
    fprintf(stderr, "arrow_tool: %s: %s\n", what, diag && diag->n ? diag->v[0].msg : err->msg);
    exit(1);
}

static cr_code carry(void *ctx, const cr_chunk *chunk, cr_chunk_rows *to, cr_bad *bad,
                     cr_err *err) {
    (void)ctx;
    (void)bad;
    (void)err;
    to->rows.n_rows = chunk->n_rows;
    to->rows.n_reserved = chunk->n_cols;
    to->rows.reserved = chunk->cols;
    return CR_OK;
}

/* the names of all columns of a file, with commas */
static void names_of(const char *dataset, const char *path, char *out, size_t size) {
    const cr_reader_type *rt = cr_reader_find(dataset);
    cr_data_conf conf = {0};
    cr_diag diag;
    cr_err err = {0};
    cr_source *s;
    cr_diag_init(&diag);
    if (!rt || rt->open(&s, &conf, path, NULL, 0, &diag) != CR_OK) die(path, &diag, &err);
    const char *const *names;
    int n = rt->columns(s, &names);
    out[0] = 0;
    for (int i = 0; i < n; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s%s", i ? "," : "", names[i]);
    rt->close(s);
    cr_diag_clear(&diag);
}

static void convert(char **arg) {
    char names[512];
    names_of("ParquetDataset", arg[0], names, sizeof names);
    h_wants w;
    h_want(&w, names);
    for (int i = 0; i < w.n; i++)
        w.v[i].form = CR_WANT_STORED;
    cr_data_conf conf = {0};
    cr_loader_opts o = {.conf = &conf,
                        .reader = cr_reader_find("ParquetDataset"),
                        .paths = arg[0],
                        .want = w.v,
                        .n_want = w.n,
                        .encode = carry,
                        .batch_size = atoi(arg[4]),
                        .n_threads = 1,
                        .n_epochs = 1,
                        .silent = true};
    cr_loader *l;
    cr_diag diag;
    cr_err err = {0};
    cr_diag_init(&diag);
    if (cr_loader_new(&l, &o, &diag) != CR_OK) die(arg[0], &diag, &err);
    cr_colkind kinds[64];
    cr_sink_col cols[64];
    cr_loader_kinds(l, kinds);
    for (int i = 0; i < w.n; i++)
        cols[i] = (cr_sink_col){.name = w.v[i].name, .kind = kinds[i]};
    cr_arrow_sink_opts so = {.codec = strcmp(arg[2], "lz4") == 0    ? CR_ARROW_LZ4
                                      : strcmp(arg[2], "zstd") == 0 ? CR_ARROW_ZSTD
                                                                    : CR_ARROW_PLAIN,
                             .stream = strcmp(arg[3], "stream") == 0};
    cr_arrow_sink *s;
    if (cr_arrow_sink_open(&s, arg[1], cols, w.n, &so, &err) != CR_OK) die(arg[1], NULL, &err);
    for (bool done = false; !done;) {
        cr_batch *b;
        if (cr_loader_next(l, &b, &done, &err) != CR_OK) die(arg[0], NULL, &err);
        if (!b) continue;
        const cr_column *v[64];
        for (int i = 0; i < w.n; i++)
            v[i] = &b->reserved[i];
        if (cr_arrow_sink_write(s, v, b->n_rows, &err) != CR_OK) die(arg[1], NULL, &err);
        cr_loader_release(l, b);
    }
    if (cr_arrow_sink_finish(s, &err) != CR_OK) die(arg[1], NULL, &err);
    cr_arrow_sink_free(s);
    cr_loader_free(l);
    cr_diag_clear(&diag);
}

/* rows of the columns that can be read as numbers, text, lists and maps; structs are left out */
static void rows(char **arg) {
    char names[512];
    cr_diag diag;
    cr_buf out;
    cr_err err = {0};
    cr_diag_init(&diag);
    cr_buf_init(&out);
    rows_dataset = arg[0];
    if (arg[2])
        snprintf(names, sizeof names, "%s", arg[2]);
    else
        names_of(arg[0], arg[1], names, sizeof names);
    if (read_all(&out, arg[1], names, NO_FIELDS, 0, &diag) != CR_OK) die(arg[1], &diag, &err);
    for (size_t i = 0; i + 1 < out.n; i++)
        putchar(out.data[i] == '/' ? '\n' : out.data[i]);
    cr_buf_clear(&out);
    cr_diag_clear(&diag);
}

int main(int argc, char **argv) {
    t_name = argv[0];
    if (argc == 7 && strcmp(argv[1], "convert") == 0)
        convert(argv + 2);
    else if ((argc == 4 || argc == 5) && strcmp(argv[1], "rows") == 0)
        rows(argv + 2);
    else {
        fprintf(stderr, "arrow_tool: see the head of arrow_tool.c\n");
        return 2;
    }
    return t_failed_checks > 0;
}
