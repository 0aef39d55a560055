/*
 * pq_rows.c - rows of a Parquet file: JSON lines, and a table of the first ones.
 *
 * Rows come in pieces whose decoded size is a few MiB, one cursor per leaf: memory follows the
 * pages and the rows' own size, never the row group. A table that is too wide is turned: a line per
 * column, the rows side by side.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/grid.h"
#include "cli/pq_view.h"

#define PIECE_BYTES ((int64_t)8 << 20)
#define PIECE_ROWS  4096
#define CELL        40 /* the widest cell of the upright table */
#define TURNED_CELL 12 /* the least width of a row in the turned table */

typedef struct reading {
    cr_pqv *v;
    int *leaves; /* the leaves of all columns, one column after the other */
    int *first;  /* per column: its first place in leaves; v->n + 1 of them */
    int n;
    cr_pq_cursor **cursors;
    cr_pq_vec *vecs;
    cr_pq_pos *at;
    cr_buf *cells;
} reading;

static void start(reading *r, cr_pqv *v) {
    const cr_pq_meta *m = v->m;
    *r = (reading){.v = v};
    int cap = 0;
    for (int i = 0; i < v->n; i++)
        cap += m->nodes[v->nodes[i]].next - v->nodes[i];
    r->leaves = CR_NEW_N(&v->arena, int, cap + 1);
    r->first = CR_NEW_N(&v->arena, int, v->n + 1);
    for (int i = 0; i < v->n; i++) {
        r->first[i] = r->n;
        for (int k = v->nodes[i]; k < m->nodes[v->nodes[i]].next; k++)
            if (m->nodes[k].leaf >= 0) r->leaves[r->n++] = m->nodes[k].leaf;
    }
    r->first[v->n] = r->n;
    r->cursors = CR_NEW_N(&v->arena, cr_pq_cursor *, r->n + 1);
    r->vecs = CR_NEW_N(&v->arena, cr_pq_vec, r->n + 1);
    r->at = CR_NEW_N(&v->arena, cr_pq_pos, r->n + 1);
    r->cells = CR_NEW_N(&v->arena, cr_buf, v->n + 1);
    for (int i = 0; i < r->n; i++)
        r->cursors[i] = cr_pq_cursor_new();
    for (int i = 0; i < v->n; i++)
        cr_buf_init(&r->cells[i]);
}

static void stop(reading *r) {
    for (int i = 0; i < r->n; i++)
        cr_pq_cursor_free(r->cursors[i]);
    for (int i = 0; i < r->v->n; i++)
        cr_buf_clear(&r->cells[i]);
}

/* Returns how many rows have values of about PIECE_BYTES, by the size of the row group. */
static int64_t piece_rows(const reading *r, const cr_pq_group *g) {
    int64_t raw = 1;
    for (int i = 0; i < r->n; i++) {
        int64_t k = g->chunks[r->leaves[i]].raw_size;
        if (k > INT64_MAX / 2 - raw) return 1;
        raw += k;
    }
    double rows = (double)PIECE_BYTES * (double)g->n_rows / (double)raw;
    return rows < 1 ? 1 : rows > PIECE_ROWS ? PIECE_ROWS : (int64_t)rows;
}

/* Reads the next n rows of every leaf, which begin at `row` of the group. */
static cr_code read_piece(reading *r, int group, int64_t row, int64_t n, cr_err *err) {
    const cr_pq_meta *m = r->v->m;
    for (int i = 0; i < r->n; i++) {
        CR_TRY(cr_pq_seek(r->cursors[i], r->v->f, group, r->leaves[i], row, err));
        CR_TRY(cr_pq_read(r->cursors[i], n, true, &r->vecs[i], err));
        r->at[i] = (cr_pq_pos){0, 0};
        if (r->vecs[i].n_rows != n)
            return cr_fail_at(err, CR_EDATA, ((cr_loc){cr_pq_path(r->v->f), 0, 0}),
                              "column '%s', row group %d: it ends at row %lld of %lld",
                              m->nodes[m->leaves[r->leaves[i]]].path, group,
                              (long long)(row + r->vecs[i].n_rows),
                              (long long)m->groups[group].n_rows);
    }
    return CR_OK;
}

static cr_code read_group(reading *r, int group, int64_t n_rows, cr_pqv_row_fn *fn, void *ctx,
                          cr_err *err) {
    cr_pqv *v = r->v;
    const cr_pq_group *g = &v->m->groups[group];
    int64_t piece = piece_rows(r, g);
    for (int64_t row = 0; row < n_rows;) {
        int64_t n = n_rows - row < piece ? n_rows - row : piece;
        cr_code code = read_piece(r, group, row, n, err);
        if (code != CR_OK && n > 1) {
            piece = n / 8 + 1; /* the piece is too large for the budget or damaged; smaller pieces
                                  still give the rows before the damage */
            continue;
        }
        CR_TRY(code);
        for (int64_t k = 0; k < n; k++) {
            for (int i = 0; i < v->n; i++) {
                cr_buf_reset(&r->cells[i]);
                cr_pq_row_json(v->m, v->nodes[i], r->vecs + r->first[i], r->at + r->first[i],
                               &r->cells[i]);
            }
            fn(ctx, g->first_row + row + k, r->cells);
        }
        row += n;
    }
    return CR_OK;
}

cr_code cr_pqv_each_row(cr_pqv *v, int64_t max, cr_pqv_row_fn *fn, void *ctx, cr_err *err) {
    reading r;
    cr_code code = CR_OK;
    start(&r, v);
    /* Rows without columns are only a number, and a footer may claim any number. */
    for (int g = 0; r.n > 0 && g < v->m->n_groups && code == CR_OK; g++) {
        int64_t left = max < 0 ? INT64_MAX : max - v->m->groups[g].first_row;
        int64_t n = v->m->groups[g].n_rows < left ? v->m->groups[g].n_rows : left;
        if (left <= 0) break;
        code = read_group(&r, g, n, fn, ctx, err);
    }
    stop(&r);
    return code;
}

/* ---- JSON lines ---- */

typedef struct lines {
    const char **keys; /* "name": in JSON */
    int n;
    cr_buf out;
} lines;

static void flush_lines(lines *l) {
    cr_ui_put(l->out.data, l->out.n);
    cr_buf_reset(&l->out);
}

static void add_line(void *ctx, int64_t row, const cr_buf *cells) {
    lines *l = ctx;
    (void)row;
    cr_buf_char(&l->out, '{');
    for (int i = 0; i < l->n; i++) {
        if (i) cr_buf_char(&l->out, ',');
        cr_buf_str(&l->out, l->keys[i]);
        cr_buf_add(&l->out, cells[i].data, cells[i].n);
    }
    cr_buf_str(&l->out, "}\n");
    if (l->out.n > 64 << 10) flush_lines(l);
}

cr_code cr_pqv_rows_json(cr_pqv *v, int64_t max, cr_err *err) {
    lines l = {.n = v->n, .keys = CR_NEW_N(&v->arena, const char *, v->n + 1)};
    cr_buf_init(&l.out);
    for (int i = 0; i < v->n; i++) {
        const cr_pq_node *n = &v->m->nodes[v->nodes[i]];
        const char *name = n->parent > 0 ? n->path : n->name;
        cr_json_escape(&l.out, name, strlen(name));
        cr_buf_char(&l.out, ':');
        l.keys[i] = cr_arena_strndup(&v->arena, l.out.data, l.out.n);
        cr_buf_reset(&l.out);
    }
    cr_code code = cr_pqv_each_row(v, max, add_line, &l, err);
    if (l.out.n) flush_lines(&l);
    cr_buf_clear(&l.out);
    return code;
}

/* ---- the table ---- */

typedef struct grid {
    cr_pqv *v;
    cr_grid t; /* upright: a line per row */
    int room;  /* longest text a cell keeps */
} grid;

static void add_cells(void *ctx, int64_t row, const cr_buf *cells) {
    grid *g = ctx;
    const char **c = cr_grid_row(&g->t);
    (void)row;
    for (int i = 0; i < g->v->n; i++) {
        /* Only the beginning of a long value can be seen, so only a few bytes of it are kept. */
        size_t n = cells[i].n, most = (size_t)g->room * 4 + 16;
        cr_pqv *v = g->v;
        const char *s = cells[i].data;
        if (n > most) {
            s = cr_arena_strndup(&v->arena, s, most - 1);
            s = cr_arena_printf(&v->arena, "%s%s", s, s[0] == '"' ? "\"" : "");
            n = strlen(s);
        }
        c[i] = cr_shown_cut(&v->arena, cr_pqv_human(v, &v->m->nodes[v->nodes[i]], s, n), g->room);
    }
}

/* Prints a line per column, with as many rows side by side as fit, and the next rows below. */
static void print_turned(const cr_pqv *v, const cr_grid *t, cr_arena *arena) {
    int name = 0, rows = t->n_rows - 1;
    for (int i = 0; i < v->n; i++) {
        int w = cr_shown_width(t->cells[i]);
        if (w > name) name = w;
    }
    if (name > v->width / 3) name = v->width / 3;
    int fit = (v->width - 2 - name) / (TURNED_CELL + 2);
    if (fit < 1) fit = 1;
    for (int from = 0; from < rows; from += fit) {
        int k = rows - from < fit ? rows - from : fit;
        unsigned *flags = CR_NEW_N(arena, unsigned, k + 1);
        cr_grid turned;
        for (int i = 0; i <= k; i++)
            flags[i] = i ? CR_GRID_SHRINK : CR_GRID_LEFT;
        cr_grid_init(&turned, arena, k + 1, flags);
        const char **c = cr_grid_row(&turned);
        c[0] = "row";
        for (int i = 0; i < k; i++)
            c[1 + i] = cr_arena_printf(arena, "%d", from + i);
        for (int i = 0; i < v->n; i++) {
            c = cr_grid_row(&turned);
            c[0] = cr_shown_cut(arena, t->cells[i], name);
            for (int j = 0; j < k; j++)
                c[1 + j] = cr_grid_cell(t, 1 + from + j, i);
        }
        if (from) cr_ui_say("\n");
        cr_grid_print(&turned, v->width);
    }
}

cr_code cr_pqv_rows_table(cr_pqv *v, int64_t max, cr_err *err) {
    grid g = {.v = v, .room = v->width / 2 > CELL ? CELL : v->width / 2};
    if (max == 0 || v->m->n_rows == 0 || v->m->n_leaves == 0) return CR_OK;
    unsigned *flags = CR_NEW_N(&v->arena, unsigned, v->n);
    cr_grid_init(&g.t, &v->arena, v->n, flags);
    const char **head = cr_grid_row(&g.t);
    for (int i = 0; i < v->n; i++) {
        const cr_pq_node *n = &v->m->nodes[v->nodes[i]];
        const char *name = n->parent > 0 ? n->path : n->name;
        head[i] = cr_shown_cut(&v->arena, cr_plain(&v->arena, name, strlen(name)), g.room);
        cr_pq_kind kind = n->logical.kind;
        bool number = (kind == CR_PQ_PHYSICAL || kind == CR_PQ_INT || kind == CR_PQ_DECIMAL) &&
                      n->type >= CR_PQ_BOOL && n->type <= CR_PQ_F64 && n->type != CR_PQ_I96 &&
                      n->rep != CR_PQ_REPEATED;
        flags[i] = number ? CR_GRID_RIGHT : CR_GRID_LEFT;
    }
    CR_TRY(cr_pqv_each_row(v, max, add_cells, &g, err));
    int rows = g.t.n_rows - 1;
    cr_ui_say("\n%s%d row%s\n", rows < v->m->n_rows ? "first " : "", rows, rows == 1 ? "" : "s");
    if (cr_grid_width(&g.t) <= v->width)
        cr_grid_print(&g.t, v->width);
    else
        print_turned(v, &g.t, &v->arena);
    return CR_OK;
}
