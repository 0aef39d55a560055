/*
 * toy.c - a reader: a .toy file holds one number n per line; its row has the columns item (n),
 * price (n / 10) and label (1 where n is odd). A file is one block.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/fs.h"
#include "data/reader.h"

static const char *const columns[] = {"item", "price", "label"};
enum { ITEM, PRICE, LABEL, N_COLUMNS };

struct cr_source {
    cr_arena arena;
    char **paths;
    size_t n_files;
    cr_file_id *ids;
    int *column; /* of each wanted one */
    int n_want;
};

static void toy_close(cr_source *s) {
    if (!s) return;
    cr_arena_clear(&s->arena);
    cr_free(s);
}

static const char *const exts[] = {".toy", NULL};

static cr_code find_files(cr_source *s, const char *paths, cr_err *err) {
    CR_TRY(cr_glob(&s->arena, paths, exts, &s->paths, &s->n_files, err));
    s->ids = CR_NEW_N(&s->arena, cr_file_id, s->n_files);
    for (size_t i = 0; i < s->n_files; i++) {
        cr_fs *f;
        CR_TRY(cr_fs_open(&f, s->paths[i], err));
        cr_code code = cr_file_id_read(&s->ids[i], f, err);
        cr_fs_close(f);
        CR_TRY(code);
    }
    return CR_OK;
}

static cr_code toy_open(cr_source **out, const cr_data_conf *conf, const char *paths,
                        const cr_want *want, int n_want, cr_diag *diag) {
    (void)conf;
    size_t errors = diag->n_errors;
    cr_source *s = cr_alloc(sizeof *s, "a data set");
    cr_arena_init(&s->arena, 0);
    s->n_want = n_want;
    s->column = CR_NEW_N(&s->arena, int, n_want + 1);
    for (int i = 0; i < n_want; i++) {
        int k = 0;
        while (k < N_COLUMNS && strcmp(columns[k], want[i].name) != 0)
            k++;
        s->column[i] = k;
        if (k == N_COLUMNS)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, want[i].at, "there is no column '%s'",
                        want[i].name);
    }
    cr_err err;
    if (diag->n_errors == errors && find_files(s, paths, &err) != CR_OK)
        cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
    if (diag->n_errors > errors) {
        toy_close(s);
        return cr_diag_code(diag);
    }
    *out = s;
    return CR_OK;
}

static int64_t toy_n_files(const cr_source *s) {
    return (int64_t)s->n_files;
}

static const char *toy_path(const cr_source *s, int64_t file) {
    return s->paths[file];
}

static const cr_file_id *toy_file_id(const cr_source *s, int64_t file) {
    return &s->ids[file];
}

static cr_code toy_n_blocks(cr_source *s, int64_t file, int64_t *out, cr_err *err) {
    (void)s;
    (void)file;
    (void)err;
    *out = 1;
    return CR_OK;
}

static cr_code read_all(cr_source *s, cr_fs *f, cr_raw *raw, cr_err *err) {
    size_t size = (size_t)cr_fs_info(f)->size, got;
    CR_TRY(cr_file_id_check(&s->ids[raw->file], f, err));
    cr_free(raw->text);
    raw->text = NULL;
    void *text;
    CR_TRY(cr_try_alloc(&text, size + CR_RAW_PAD, "a toy file", err));
    raw->text = text;
    raw->cap = size + CR_RAW_PAD;
    CR_TRY(cr_fs_pread(f, 0, raw->text, size, &got, err));
    raw->size = got;
    return CR_OK;
}

static cr_code toy_cut(cr_source *s, int64_t file, int64_t block, cr_raw *raw, bool *end,
                       cr_err *err) {
    raw->file = file;
    raw->block = block;
    raw->first_row = 0;
    raw->first_line = 1;
    raw->offset = 0;
    *end = block > 0;
    if (*end) return CR_OK;
    cr_fs *f;
    CR_TRY(cr_fs_open(&f, s->paths[file], err));
    cr_code code = read_all(s, f, raw, err);
    cr_fs_close(f);
    return code;
}

static cr_code toy_parse(const cr_source *s, const cr_raw *raw, cr_chunk *chunk, cr_bad *bad,
                         cr_err *err) {
    (void)bad;
    (void)err;
    cr_arena *a = &chunk->arena;
    cr_arena_reset(a);
    int64_t n = 0;
    for (size_t i = 0; i < raw->size; i++)
        n += raw->text[i] == '\n';
    int64_t *item = CR_NEW_N(a, int64_t, n + 1), *label = CR_NEW_N(a, int64_t, n + 1);
    int64_t *lines = CR_NEW_N(a, int64_t, n + 1);
    double *price = CR_NEW_N(a, double, n + 1);
    const char *at = raw->text;
    for (int64_t i = 0; i < n; i++, at = strchr(at, '\n') + 1) {
        item[i] = strtoll(at, NULL, 10);
        price[i] = (double)item[i] / 10;
        label[i] = item[i] % 2;
        lines[i] = i + 1;
    }
    chunk->n_rows = n;
    chunk->n_cols = s->n_want;
    chunk->path = s->paths[raw->file];
    chunk->first_row = 0;
    chunk->lines = lines;
    chunk->cols = CR_NEW_N(a, cr_column, s->n_want + 1);
    for (int i = 0; i < s->n_want; i++) {
        cr_column *c = &chunk->cols[i];
        c->type = s->column[i] == PRICE ? CR_COL_F64 : CR_COL_I64;
        if (s->column[i] == PRICE)
            c->v.f64 = price;
        else
            c->v.i64 = s->column[i] == ITEM ? item : label;
    }
    return CR_OK;
}

static int toy_columns(const cr_source *s, const char *const **names) {
    (void)s;
    *names = columns;
    return N_COLUMNS;
}

static void toy_set_block(cr_source *s, size_t bytes) {
    (void)s;
    (void)bytes;
}

static void toy_kinds(const cr_source *s, cr_colkind *out) {
    for (int i = 0; i < s->n_want; i++)
        out[i] = (cr_colkind){.type = s->column[i] == PRICE ? CR_COL_F64 : CR_COL_I64, .key = -1};
}

const cr_reader_type cr_reader_toy = {
    .name = "ToyDataset",
    .exts = exts,
    .open = toy_open,
    .close = toy_close,
    .n_files = toy_n_files,
    .path = toy_path,
    .file_id = toy_file_id,
    .n_blocks = toy_n_blocks,
    .cut = toy_cut,
    .parse = toy_parse,
    .set_block = toy_set_block,
    .columns = toy_columns,
    .kinds = toy_kinds,
    .typed = true,
};
