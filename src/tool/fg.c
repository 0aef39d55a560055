/*
 * fg.c - `crank fg`: shows rows of a data set, and the result of every feature for them.
 *
 * Reading, parsing and encoding use the same calls as training, in the same order, but one row at a
 * time: a row cut out of its chunk is a chunk of one row, so the counts of encoding (missing, out
 * of range ...) are those of this row.
 */
#include "tool/fg_int.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "conf/conf.h"

typedef struct fg {
    const cr_fg_opts *o;
    cr_config cfg;
    cr_root_conf *root;
    const cr_reader_type *reader;
    cr_source *src;
    cr_features *fs;
    bool *shown;
    const char *paths;
    int64_t skip, left; /* rows that are still to be skipped, and to be shown */
    bool any_row;       /* a row was shown */
    /* the current block */
    cr_raw raw;
    cr_chunk chunk;
    cr_bad bad;     /* bad rows of the block */
    int64_t n_told; /* how many of bad.v were shown */
    int64_t first_row, line_base;
    /* the current row */
    cr_chunk_rows enc;
    cr_bad row_bad;
    cr_column *cols, *values;
    cr_buf text;
} fg;

/* ---- opening ---- */

static const char *feature_at(const void *ctx, size_t i) {
    const cr_features *fs = ctx;
    return i < (size_t)fs->n ? fs->v[i]->name : NULL;
}

static cr_code choose_features(fg *g, cr_err *err) {
    char **names;
    g->shown = CR_NEW_N(&g->cfg.arena, bool, g->fs->n + 1);
    int n = g->o->features ? cr_split_list(&g->cfg.arena, g->o->features, &names) : 0;
    for (int i = 0; n == 0 && i < g->fs->n; i++)
        g->shown[i] = true;
    for (int k = 0; k < n; k++) {
        int i = 0;
        while (i < g->fs->n && strcmp(g->fs->v[i]->name, names[k]) != 0)
            i++;
        if (i < g->fs->n) {
            g->shown[i] = true;
            continue;
        }
        const char *near = cr_nearest(names[k], feature_at, g->fs);
        return cr_fail(err, CR_EUSAGE, "--features names the unknown feature '%s'; %s%s%s",
                       names[k], near ? "did you mean '" : "see feature_configs", near ? near : "",
                       near ? "'?" : "");
    }
    return CR_OK;
}

/* Data to predict from has no labels. */
static bool has_labels(fg *g, cr_diag *diag) {
    cr_source *src;
    const char *const *names;
    if (g->reader->open(&src, g->root->data_config, g->paths, NULL, 0, diag) != CR_OK) return false;
    int n = g->reader->columns(src, &names);
    const cr_strs *want[] = {&g->root->data_config->label_fields,
                             &g->root->data_config->sample_weight_fields};
    bool all = true;
    for (int w = 0; w < 2; w++)
        for (int64_t k = 0; k < want[w]->n; k++) {
            int i = 0;
            while (i < n && strcmp(names[i], want[w]->v[k]) != 0)
                i++;
            all = all && i < n;
        }
    g->reader->close(src);
    return all;
}

static cr_code open_data(fg *g, cr_diag *diag) {
    cr_err err;
    g->reader = cr_reader_of(g->root->data_config);
    if (!g->reader)
        return cr_diag_err(diag, &(cr_err){.code = CR_ECONF,
                                           .at = cr_conf_at(g->root->data_config, "dataset_type"),
                                           .msg = "no reader for this dataset_type in this "
                                                  "version; use CsvDataset or ParquetDataset"});
    g->paths = g->o->input && *g->o->input ? g->o->input : g->root->train_input_path;
    if (!*g->paths)
        return cr_diag_err(diag, &(cr_err){.code = CR_EUSAGE,
                                           .msg = "no rows are named; add --input FILE"});
    bool labels = has_labels(g, diag);
    CR_TRY(cr_diag_code(diag));
    g->fs = cr_features_new(&g->cfg.arena, &g->root->feature_configs, g->root->data_config, labels,
                            NULL, 0, diag);
    if (!g->fs) return cr_diag_code(diag);
    if (choose_features(g, &err) != CR_OK) return cr_diag_err(diag, &err);
    CR_TRY(
        g->reader->open(&g->src, g->root->data_config, g->paths, g->fs->want, g->fs->n_want, diag));
    cr_colkind *kinds = CR_NEW_N(&g->cfg.arena, cr_colkind, g->fs->n_want + 1);
    g->reader->kinds(g->src, kinds);
    cr_features_check(g->fs, kinds, diag);
    g->cols = CR_NEW_N(&g->cfg.arena, cr_column, g->fs->n_want + 1);
    g->values = CR_NEW_N(&g->cfg.arena, cr_column, g->fs->n + 1);
    return cr_diag_code(diag);
}

static cr_code open_config(fg *g, cr_diag *diag) {
    cr_config_opts c = g->o->config;
    char path[1200], edit[96];
    cr_config_of_dir(&c, path);
    const cr_reader_type *ending = g->o->input ? cr_reader_by_path(g->o->input) : NULL;
    const char **set = cr_alloc(sizeof(char *) * (size_t)(c.n_set + 1), "edits of the config");
    for (int i = 0; i < c.n_set; i++)
        set[i] = c.set[i];
    if (ending) { /* as in predict, the ending of a file tells its format */
        snprintf(edit, sizeof(edit), "data_config.dataset_type=%s", ending->name);
        set[c.n_set++] = edit;
    }
    c.set = set;
    cr_code code = cr_config_load(&g->cfg, &c, diag);
    cr_free(set);
    g->root = g->cfg.root;
    return code;
}

/* ---- rows ---- */

/* Returns row r of a column as a column of one row. */
static cr_column row_of(const cr_column *c, int64_t r) {
    cr_column x = *c;
    if (c->valid) x.valid = c->valid + r;
    if (c->depth > 0) {
        x.row_off = c->row_off + r;
    } else if (c->type != CR_COL_STR) {
        bool wide = c->type == CR_COL_I64 || c->type == CR_COL_F64;
        x.v.i32 = c->v.i32 + (wide ? 2 * r : r);
    } else if (c->code) {
        x.code = c->code + r;
    } else {
        x.beg = c->beg + r;
        x.end = c->end + r;
    }
    return x;
}

static int64_t line_of(const fg *g, int64_t line) {
    return line > 0 ? line + g->line_base : 0;
}

static void show(fg *g, const cr_fg_row *row) {
    cr_buf_reset(&g->text);
    (g->o->json ? cr_fg_json : cr_fg_text)(&g->text, row);
    g->any_row = true;
    if (!g->o->put(g->o->ctx, g->text.data, g->text.n)) g->left = 0;
}

/* Shows the lines before `line` that could not be cut into columns and so are not rows. */
static void show_unread(fg *g, int64_t line) {
    for (; g->n_told < g->bad.n_kept && g->bad.v[g->n_told].line < line; g->n_told++) {
        const cr_bad_row *b = &g->bad.v[g->n_told];
        if (b->row >= 0 || g->skip > 0) continue;
        cr_fg_row row = {.path = g->chunk.path ? g->chunk.path : g->paths,
                         .row = -1,
                         .line = line_of(g, b->line),
                         .bad = b->msg,
                         .fs = g->fs,
                         .shown = g->shown};
        show(g, &row);
    }
}

static cr_code show_row(fg *g, int64_t r, cr_err *err) {
    int64_t line = g->chunk.lines ? g->chunk.lines[r] : 0;
    cr_chunk one = {.n_rows = 1,
                    .n_cols = g->fs->n_want,
                    .cols = g->cols,
                    .path = g->chunk.path,
                    .first_row = g->first_row + r,
                    .lines = g->chunk.lines ? &line : NULL};
    for (int i = 0; i < g->fs->n_want; i++)
        g->cols[i] = row_of(&g->chunk.cols[i], r);
    cr_arena arena = g->enc.arena;
    cr_arena_reset(&arena);
    g->enc = (cr_chunk_rows){.arena = arena, .rows.n_rows = 1};
    cr_bad_reset(&g->row_bad);
    CR_TRY(cr_features_encode(g->fs, &one, &g->enc, &g->row_bad, err));
    CR_TRY(cr_features_values(g->fs, &one, g->values, &g->enc.arena, err));
    cr_fg_row row = {.path = g->chunk.path ? g->chunk.path : g->paths,
                     .row = g->first_row + r,
                     .line = line_of(g, line),
                     .fs = g->fs,
                     .shown = g->shown,
                     .chunk = &one,
                     .batch = &g->enc.rows,
                     .values = g->values,
                     .counts = cr_features_counts(&g->enc)};
    if (g->row_bad.n_kept) row.bad = g->row_bad.v[0].msg;
    /* the row was found bad while it was parsed */
    for (int64_t i = 0; !row.bad && i < g->bad.n_kept; i++)
        if (g->bad.v[i].row == r) row.bad = g->bad.v[i].msg;
    show(g, &row);
    return CR_OK;
}

static cr_code show_block(fg *g, int64_t file, cr_err *err) {
    cr_bad_reset(&g->bad);
    g->n_told = 0;
    CR_TRY(g->reader->parse(g->src, &g->raw, &g->chunk, &g->bad, err));
    if (g->chunk.first_row >= 0) g->first_row = g->chunk.first_row;
    g->line_base = 0;
    if (g->raw.first_line == 0 && g->reader->line_at && g->chunk.lines) {
        int64_t line = 1;
        CR_TRY(g->reader->line_at(g->src, file, g->raw.offset, &line, err));
        g->line_base = line - 1;
    }
    for (int64_t r = 0; r < g->chunk.n_rows && g->left > 0; r++) {
        if (g->skip > 0) {
            g->skip--;
            continue;
        }
        show_unread(g, g->chunk.lines ? g->chunk.lines[r] : 0);
        CR_TRY(show_row(g, r, err));
        if (g->left > 0) g->left--;
    }
    if (g->left > 0) show_unread(g, INT64_MAX);
    g->first_row += g->chunk.n_rows;
    return CR_OK;
}

static cr_code show_file(fg *g, int64_t file, cr_err *err) {
    int64_t n = 0;
    bool end = false;
    g->first_row = 0;
    CR_TRY(g->reader->n_blocks(g->src, file, &n, err));
    for (int64_t b = 0; g->left > 0 && (n < 0 || b < n); b++) {
        if (g->reader->block_rows) {
            cr_block_rows rows;
            g->reader->block_rows(g->src, file, b, &rows);
            if (g->skip >= rows.n_rows) {
                g->skip -= rows.n_rows;
                continue;
            }
            g->raw.from = g->skip;
            g->raw.n_rows = rows.n_rows - g->skip < g->left ? rows.n_rows - g->skip : g->left;
            g->first_row = rows.first_row + g->skip;
            g->skip = 0;
        }
        CR_TRY(g->reader->cut(g->src, file, b, &g->raw, &end, err));
        if (end) break;
        CR_TRY(show_block(g, file, err));
    }
    return CR_OK;
}

cr_code cr_fg(const cr_fg_opts *o, cr_diag *diag) {
    fg g = {.o = o, .skip = o->skip, .left = o->rows};
    cr_err err;
    cr_arena_init(&g.chunk.arena, 0);
    cr_arena_init(&g.enc.arena, 0);
    cr_buf_init(&g.text);
    cr_code code = open_config(&g, diag);
    if (code == CR_OK) code = open_data(&g, diag);
    if (code == CR_OK) {
        int64_t n = g.reader->n_files(g.src);
        for (int64_t i = 0; i < n && g.left > 0 && code == CR_OK; i++)
            code = show_file(&g, i, &err);
        if (code != CR_OK) cr_diag_err(diag, &err);
        if (code == CR_OK && !g.any_row)
            cr_diag_add(diag, CR_SEV_WARN, CR_EDATA, CR_NOWHERE,
                        o->skip > g.skip ? "--skip passes over all %lld rows; lower it"
                                         : "the input holds %lld rows; check the path",
                        (long long)(o->skip - g.skip));
    }
    if (g.src && g.reader->raw_clear) g.reader->raw_clear(g.src, &g.raw);
    if (g.src) g.reader->close(g.src);
    cr_free(g.raw.text);
    cr_arena_clear(&g.chunk.arena);
    cr_arena_clear(&g.enc.arena);
    cr_bad_clear(&g.bad);
    cr_bad_clear(&g.row_bad);
    cr_buf_clear(&g.text);
    cr_config_clear(&g.cfg);
    return code;
}
