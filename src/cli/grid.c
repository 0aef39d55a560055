/*
 * grid.c - aligned tables of text within the width of the terminal.
 */
#include "cli/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/shown.h"
#include "base/utf8.h"
#include "cli/cli.h"

#define MIN_SHRUNK 6
#define OTHERWISE  100

/* ---- what a terminal shows ---- */

static uint32_t next_char(const char **s) {
    uint32_t c;
    *s += cr_utf8_get(*s, strlen(*s), &c);
    return c;
}

/* Returns how many columns a character takes. The blocks of wide and of combining characters are
 * good enough for tables. */
static int char_width(uint32_t c) {
    static const uint32_t wide[][2] = {
        {0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
        {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
        {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
    };
    static const uint32_t none[][2] = {{0x300, 0x36f},
                                       {0x200b, 0x200f},
                                       {0x20d0, 0x20ff},
                                       {0xfe00, 0xfe0f}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (c >= none[i][0] && c <= none[i][1]) return 0;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (c >= wide[i][0] && c <= wide[i][1]) return 2;
    return 1;
}

int cr_shown_width(const char *s) {
    int n = 0;
    while (s && *s)
        n += char_width(next_char(&s));
    return n;
}

const char *cr_shown_cut(cr_arena *arena, const char *s, int width) {
    if (cr_shown_width(s) <= width) return s;
    const char *p = s;
    int n = 0, room = width > 3 ? width - 3 : 0;
    for (;;) {
        const char *q = p;
        int w = char_width(next_char(&q));
        if (n + w > room) break;
        n += w;
        p = q;
    }
    return cr_arena_printf(arena, "%.*s%.*s", (int)(p - s), s, width < 3 ? width : 3, "...");
}

const char *cr_plain(cr_arena *arena, const char *s, size_t n) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_shown(&b, s, n, false);
    const char *out = cr_arena_strndup(arena, b.data, b.n);
    cr_buf_clear(&b);
    return out;
}

const char *cr_plain_json(cr_arena *arena, const char *json, size_t n) {
    char *out = cr_arena_strndup(arena, json + 1, n - 2), *to = out;
    for (const char *p = out; *p; p++) {
        if (p[0] == '\\' && (p[1] == '"' || p[1] == '\\')) p++; /* both are harmless as they are */
        *to++ = *p;
    }
    *to = 0;
    return out;
}

int cr_screen_width(void) {
    struct winsize w;
    const char *columns = getenv("COLUMNS");
    int64_t n;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 20)
        return w.ws_col;
    if (columns && cr_parse_i64(columns, strlen(columns), &n) && n >= 20 && n <= 10000)
        return (int)n;
    return OTHERWISE;
}

/* ---- tables ---- */

void cr_grid_init(cr_grid *t, cr_arena *arena, int n_cols, const unsigned *flags) {
    *t = (cr_grid){.arena = arena, .n_cols = n_cols, .flags = flags};
}

const char **cr_grid_row(cr_grid *t) {
    if (t->n_rows == t->cap) {
        int cap = t->cap ? 2 * t->cap : 16;
        const char **cells = CR_NEW_N(t->arena, const char *, (size_t)cap *(size_t)t->n_cols);
        if (t->n_rows)
            memcpy(cells, t->cells, sizeof *cells * (size_t)t->n_rows * (size_t)t->n_cols);
        t->cells = cells;
        t->cap = cap;
    }
    return t->cells + (size_t)t->n_rows++ * (size_t)t->n_cols;
}

const char *cr_grid_cell(const cr_grid *t, int row, int col) {
    const char *s = t->cells[(size_t)row * (size_t)t->n_cols + (size_t)col];
    return s ? cr_shown(t->arena, s) : NULL;
}

/* Finds the natural width of every column; -1: the column is empty and is not shown. The first row
 * is the head, which does not keep a column alive. */
static int measure(const cr_grid *t, int *w) {
    int sum = 0;
    for (int c = 0; c < t->n_cols; c++) {
        bool any = false;
        w[c] = 0;
        for (int r = 0; r < t->n_rows; r++) {
            const char *s = cr_grid_cell(t, r, c);
            if (!s || !*s) continue;
            any = any || r > 0;
            int k = cr_shown_width(s);
            if (k > w[c]) w[c] = k;
        }
        if (!any) w[c] = -1;
        if (any) sum += w[c] + 2;
    }
    return sum;
}

int cr_grid_width(const cr_grid *t) {
    int *w = CR_NEW_N(t->arena, int, t->n_cols);
    return measure(t, w);
}

void cr_grid_print(const cr_grid *t, int width) {
    int *w = CR_NEW_N(t->arena, int, t->n_cols);
    int sum = measure(t, w), last = -1;
    while (sum > width) {
        int widest = -1;
        for (int c = 0; c < t->n_cols; c++)
            if ((t->flags[c] & CR_GRID_SHRINK) && w[c] > MIN_SHRUNK &&
                (widest < 0 || w[c] > w[widest]))
                widest = c;
        if (widest < 0) break;
        w[widest]--;
        sum--;
    }
    for (int c = 0; c < t->n_cols; c++)
        if (w[c] >= 0) last = c;
    for (int r = 0; r < t->n_rows; r++) {
        int owed = 0; /* blanks are written only when text follows */
        for (int c = 0; c <= last; c++) {
            if (w[c] < 0) continue;
            const char *s = cr_grid_cell(t, r, c);
            s = cr_shown_cut(t->arena, s ? s : "", w[c]);
            int pad = w[c] - cr_shown_width(s);
            bool right = t->flags[c] & CR_GRID_RIGHT;
            owed += 2;
            if (!*s) {
                owed += w[c];
                continue;
            }
            cr_ui_say("%*s%s", owed + (right ? pad : 0), "", s);
            owed = right ? 0 : pad;
        }
        cr_ui_say("\n");
    }
}

#define MIN_NAME 24 /* columns that a name keeps */

/* Cuts the beginning of a long name, because many names have that in common. */
static const char *cut_front(cr_arena *a, const char *s, int width) {
    if (cr_shown_width(s) <= width) return s;
    uint32_t c;
    while (*s && cr_shown_width(s) > width - 3)
        s += cr_utf8_get(s, strlen(s), &c);
    return cr_arena_printf(a, "...%s", s);
}

void cr_grid_print_names(cr_grid *t) {
    int width = cr_screen_width(), over = cr_grid_width(t) - width, longest = 0;
    for (int r = 1; r < t->n_rows; r++) {
        int n = cr_shown_width(cr_grid_cell(t, r, 0));
        longest = n > longest ? n : longest;
    }
    int room = longest - over > MIN_NAME ? longest - over : MIN_NAME;
    for (int r = 1; over > 0 && r < t->n_rows; r++) {
        const char **name = &t->cells[(size_t)r * (size_t)t->n_cols];
        *name = cut_front(t->arena, *name, room);
    }
    fflush(stdout);
    cr_grid_print(t, width);
}
