/*
 * grid.h - aligned tables of text within the width of the terminal.
 *
 * Control characters in cells are escaped (base/shown.h). Width is what a terminal shows:
 * wide characters count two, combining ones none. Columns that may shrink are cut with "..." until
 * a row fits.
 */
#ifndef CR_CLI_GRID_H
#define CR_CLI_GRID_H

#include "base/buf.h"
#include "base/mem.h"

enum {
    CR_GRID_LEFT = 0,
    CR_GRID_RIGHT = 1,
    CR_GRID_SHRINK = 2, /* may be cut */
};

typedef struct cr_grid {
    cr_arena *arena;
    int n_cols, n_rows, cap;
    const unsigned *flags; /* per column */
    const char **cells;    /* n_rows x n_cols; NULL: empty */
} cr_grid;

void cr_grid_init(cr_grid *t, cr_arena *arena, int n_cols, const unsigned *flags);
/* cr_grid_row adds an empty row; its cells are set through the pointer, until the next row. */
const char **cr_grid_row(cr_grid *t);
const char *cr_grid_cell(const cr_grid *t, int row, int col);
/* cr_grid_width: how wide a row is, uncut and with an indent of 2 */
int cr_grid_width(const cr_grid *t);
/* cr_grid_print writes the rows to stdout, two blanks in front and between, nothing behind.
 * Columns of which every cell is empty are left out. */
void cr_grid_print(const cr_grid *t, int width);
/* cr_grid_print_names prints within the screen: the names in the first column are cut first, at
 * their beginnings, then the columns that may shrink. */
void cr_grid_print_names(cr_grid *t);

/* cr_shown_width: columns of a terminal that s takes */
int cr_shown_width(const char *s);
/* cr_shown_cut: s, or its beginning with "..." when it is wider */
const char *cr_shown_cut(cr_arena *arena, const char *s, int width);
/* cr_plain: s with control characters and what is no UTF-8 made visible */
const char *cr_plain(cr_arena *arena, const char *s, size_t n);
/* the same of a text in JSON, quotes around it included */
const char *cr_plain_json(cr_arena *arena, const char *json, size_t n);
/* cr_screen_width: of the terminal on stdout; COLUMNS, or 100, when it is none */
int cr_screen_width(void);

#endif
