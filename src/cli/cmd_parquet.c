/*
 * cmd_parquet.c - `crank parquet`: shows what is in Parquet files.
 *
 * One file is shown whole: the summary, the columns with their encodings, sizes and statistics, the
 * row groups, and the first rows. Each of several files gets a line, and every column that is not
 * the same in all of them is listed.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/grid.h"
#include "cli/pq_view.h"

#define SOME_COLUMNS   200
#define SOME_GROUPS    10
#define SOME_ROWS      5
#define SOME_DIFFERENT 20

typedef struct args {
    cr_opt_list files;
    const char *columns, *pages;
    int64_t rows, budget;
    bool rows_json, json, schema, row_groups, skip_crc;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, files, CR_O_LIST, 0, CR_O_REQUIRED | CR_O_PATH, "FILE", NULL, NULL, 0, 0,
            "files, folders (their *.parquet) or quoted globs"),
    CR_OPT_STR(args, columns, 0, "A,B", "all", "only these columns; members of structs with dots"),
    CR_OPT_(args, rows, CR_O_COUNT, 0, 0, "N", "-1", "5; all with --rows_json, 0 with --json", -1,
            1e12, "first rows to show"),
    CR_OPT_BOOL(args, rows_json, 0, "print rows only: a JSON object per row and line"),
    CR_OPT_BOOL(args, schema, 0, "print the schema only, as the format writes it"),
    CR_OPT_BOOL(args, row_groups, 0, "print the row groups only, all of them"),
    CR_OPT_STR(args, pages, 0, "COLUMN", "none", "print the pages of this column only"),
    CR_OPT_BOOL(args, json, 0, "print a JSON object per file with everything"),
    CR_OPT_BOOL(args, skip_crc, 0, "read pages whose checksum does not match"),
    CR_OPT_(args, budget, CR_O_COUNT, 0, 0, "BYTES", "0", "1 GiB", 0, 1e15,
            "most memory for one page, dictionary or footer; raise it for files with huge strings"),
    CR_OPT_END,
};

/* ---- which files ---- */

static cr_code find_files(cr_ui *ui, const args *a, char ***paths, size_t *n) {
    static const char *const exts[] = {".parquet", ".parq", ".pq", NULL};
    size_t cap = 0;
    *paths = NULL;
    *n = 0;
    for (int i = 0; i < a->files.n; i++) {
        char **found, *one = cr_arena_strdup(&ui->arena, a->files.v[i]);
        size_t k = 1;
        cr_err err;
        found = &one;
        /* A path that exists is meant as it is, with its commas and brackets. */
        if ((!cr_path_exists(one) || cr_path_is_dir(one)) &&
            cr_glob(&ui->arena, one, exts, &found, &k, &err) != CR_OK)
            return cr_ui_fail(ui, &err);
        if (*n + k > cap) {
            cap = 2 * (*n + k);
            char **more = CR_NEW_N(&ui->arena, char *, cap);
            if (*n) memcpy(more, *paths, *n * sizeof *more);
            *paths = more;
        }
        if (k) memcpy(*paths + *n, found, k * sizeof *found);
        *n += k;
    }
    return CR_OK;
}

/* ---- which columns ---- */

typedef struct names {
    const cr_pq_meta *m;
} names;
static const char *next_name(const void *ctx, size_t i) {
    const cr_pq_meta *m = ((const names *)ctx)->m;
    int node = 1;
    while (i-- > 0 && node < m->n_nodes)
        node = m->nodes[node].next;
    return node < m->n_nodes ? m->nodes[node].name : NULL;
}

static cr_code find_column(cr_ui *ui, const cr_pqv *v, const char *name, int *node) {
    *node = cr_pq_find(v->m, name);
    if (*node >= 0) return CR_OK;
    const names ctx = {v->m};
    const char *near = cr_nearest(name, next_name, &ctx);
    if (near)
        return cr_ui_wrong(ui, "%s: no column '%s'; did you mean '%s'?", cr_pq_path(v->f), name,
                           near);
    return cr_ui_wrong(ui, "%s: no column '%s'; 'crank parquet %s --schema' shows what there is",
                       cr_pq_path(v->f), name, cr_ui_quote(ui, cr_pq_path(v->f)));
}

static cr_code choose_columns(cr_ui *ui, cr_pqv *v, const char *list) {
    const cr_pq_meta *m = v->m;
    v->n = 0;
    if (!list) {
        v->nodes = CR_NEW_N(&v->arena, int, m->n_nodes);
        for (int i = 1; i < m->n_nodes; i = m->nodes[i].next)
            v->nodes[v->n++] = i;
        return CR_OK;
    }
    int cap = 1;
    for (const char *p = list; *p; p++)
        cap += *p == ',';
    v->nodes = CR_NEW_N(&v->arena, int, cap);
    for (const char *p = list;; p++) {
        size_t n = strcspn(p, ",");
        if (n) CR_TRY(find_column(ui, v, cr_arena_strndup(&v->arena, p, n), &v->nodes[v->n++]));
        p += n;
        if (!*p) break;
    }
    return v->n ? CR_OK : cr_ui_wrong(ui, "--columns names no column; write --columns A,B");
}

/* ---- one file ---- */

/* fail adds the flag that helps in this case to the message. */
static cr_code fail(cr_ui *ui, cr_err *err) {
    size_t n = strlen(err->msg);
    const char *more = "";
    switch ((cr_pq_why)err->why) {
    case CR_PQ_BUDGET:
        more = err->n_cure ? ", or raise the budget with --budget BYTES"
                           : "; raise it with --budget BYTES";
        break;
    case CR_PQ_CHECKSUM: more = "; --skip_crc reads it all the same"; break;
    case CR_PQ_FOREIGN: more = "; check the path"; break;
    case CR_PQ_DAMAGED:
    case CR_PQ_TOLD: break;
    }
    snprintf(err->msg + n, sizeof err->msg - n, "%s", more);
    return cr_ui_fail(ui, err);
}

static cr_code open_view(cr_ui *ui, const char *path, const args *a, cr_pqv *v) {
    cr_err err;
    cr_pq_file *f;
    const cr_pq_opts o = {.keep_levels = true,
                          .skip_crc = a->skip_crc,
                          .budget = (size_t)a->budget};
    *v = (cr_pqv){.width = cr_screen_width()};
    cr_arena_init(&v->arena, 0);
    if (cr_pq_open(&f, path, &o, &err) != CR_OK) {
        cr_arena_clear(&v->arena);
        return fail(ui, &err);
    }
    v->f = f;
    v->m = cr_pq_get_meta(f);
    if (cr_file_size(path, &v->size, &err) != CR_OK) v->size = 0; /* it may have gone meanwhile */
    cr_code code = choose_columns(ui, v, a->columns);
    if (code != CR_OK) {
        cr_pq_close(f);
        cr_arena_clear(&v->arena);
    }
    return code;
}

static void close_view(cr_pqv *v) {
    cr_pq_close((cr_pq_file *)v->f);
    cr_arena_clear(&v->arena);
}

static cr_code show(cr_ui *ui, const args *a, cr_pqv *v) {
    cr_err err;
    cr_code code = CR_OK;
    if (a->rows_json) {
        code = cr_pqv_rows_json(v, a->rows, &err);
    } else if (a->json) {
        code = cr_pqv_json(v, a->rows, &err);
    } else if (a->pages) {
        int node;
        CR_TRY(find_column(ui, v, a->pages, &node));
        code = cr_pqv_pages(v, node, &err);
    } else if (a->schema) {
        cr_pqv_schema(v);
    } else if (a->row_groups) {
        cr_pqv_summary(v);
        cr_pqv_groups(v, 0);
    } else {
        cr_pqv_summary(v);
        cr_pqv_columns(v, a->columns ? 0 : SOME_COLUMNS);
        if (v->m->n_groups > 1) cr_pqv_groups(v, SOME_GROUPS);
        if (!a->columns && v->n > SOME_COLUMNS) v->n = SOME_COLUMNS;
        code = cr_pqv_rows_table(v, a->rows < 0 ? SOME_ROWS : a->rows, &err);
    }
    return code == CR_OK ? CR_OK : fail(ui, &err);
}

/* ---- several files ---- */

typedef struct several {
    const char **names, **types; /* top-level columns of the first file */
    int n;
    const char *path; /* of the first file */
    cr_arena *arena;  /* for everything that outlives a file */
    int files, bad;
    int64_t rows, bytes;
    cr_map notes; /* the text of a difference and its number; the first ones have: */
    const char *first[SOME_DIFFERENT];
    int more[SOME_DIFFERENT]; /* how many other files differ in the same way */
} several;

static void note(several *s, cr_pqv *v, const char *fmt, ...) CR_PRINTF(3, 4);
static void note(several *s, cr_pqv *v, const char *fmt, ...) {
    char text[1500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const char *path = cr_pq_path(v->f);
    int64_t n = (int64_t)s->notes.n, k = cr_map_get(&s->notes, text, strlen(text), n);
    if (k == n) cr_map_put(&s->notes, text, strlen(text), n);
    if (k >= SOME_DIFFERENT) return;
    if (k == n)
        s->first[k] = cr_plain(s->arena, path, strlen(path));
    else
        s->more[k]++;
}

static void print_notes(const several *s) {
    if (s->notes.n == 0) {
        if (s->files > 1) cr_ui_say("the same columns and types in all\n");
        return;
    }
    cr_ui_say("schemas differ:\n");
    size_t n = s->notes.n < SOME_DIFFERENT ? s->notes.n : SOME_DIFFERENT;
    for (size_t i = 0; i < n; i++) {
        cr_ui_say("  %s", s->first[i]);
        if (s->more[i]) cr_ui_say(" and %d more", s->more[i]);
        cr_ui_say(": %s\n", s->notes.entries[i].key);
    }
    if (s->notes.n > n) cr_ui_say("  ... and %zu more\n", s->notes.n - n);
}

static const char *column_type(cr_pqv *v, int node) {
    char s[512];
    cr_pq_type_text(v->m, node, s, sizeof s);
    return cr_plain(&v->arena, s, strlen(s));
}

/* Compares the top-level columns with those of the first file by name; the order does not count. */
static void compare_schema(cr_ui *ui, several *s, cr_pqv *v) {
    if (!s->path) {
        s->path = cr_pq_path(v->f);
        s->path = cr_arena_strdup(&ui->arena, s->path);
        s->names = CR_NEW_N(&ui->arena, const char *, v->n + 1);
        s->types = CR_NEW_N(&ui->arena, const char *, v->n + 1);
        for (int i = 0; i < v->n; i++) {
            s->names[i] = cr_arena_strdup(&ui->arena, v->m->nodes[v->nodes[i]].name);
            s->types[i] = cr_arena_strdup(&ui->arena, column_type(v, v->nodes[i]));
        }
        s->n = v->n;
        return;
    }
    cr_map seen;
    cr_map_init(&seen);
    for (int i = 0; i < s->n; i++)
        cr_map_put(&seen, s->names[i], strlen(s->names[i]), i);
    bool *found = CR_NEW_N(&v->arena, bool, s->n + 1);
    for (int i = 0; i < v->n; i++) {
        const char *name = v->m->nodes[v->nodes[i]].name, *type = column_type(v, v->nodes[i]);
        const char *shown = cr_plain(&v->arena, name, strlen(name));
        int64_t k = cr_map_get(&seen, name, strlen(name), -1);
        if (k < 0) {
            note(s, v, "column '%.100s' (%.200s) is not in %.200s", shown, type, s->path);
            continue;
        }
        found[k] = true;
        if (strcmp(type, s->types[k]) != 0)
            note(s, v, "column '%.100s' is %.200s, in %.200s it is %.200s", shown, type, s->path,
                 s->types[k]);
    }
    for (int i = 0; i < s->n; i++)
        if (!found[i])
            note(s, v, "column '%.100s' (%.200s) is missing",
                 cr_plain(&v->arena, s->names[i], strlen(s->names[i])), s->types[i]);
    cr_map_clear(&seen);
}

static cr_code show_several(cr_ui *ui, const args *a, char **paths, size_t n) {
    enum { PATH, ROWS, GROUPS, COLUMNS, SIZE, BY, N };
    static const unsigned flags[N] = {CR_GRID_LEFT,  CR_GRID_RIGHT, CR_GRID_RIGHT,
                                      CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_SHRINK};
    static const char *const head[N] = {"file", "rows", "groups", "columns", "size", "written by"};
    several s = {.arena = &ui->arena};
    cr_grid t;
    cr_code worst = CR_OK;
    char bytes[32];
    cr_map_init(&s.notes);
    cr_grid_init(&t, &ui->arena, N, flags);
    memcpy(cr_grid_row(&t), head, sizeof head);
    for (size_t i = 0; i < n; i++) {
        cr_pqv v;
        cr_code code = open_view(ui, paths[i], a, &v);
        if (code != CR_OK) {
            worst = code;
            s.bad++;
            continue;
        }
        const cr_pq_meta *m = v.m;
        const char **c = cr_grid_row(&t);
        cr_arena *arena = &ui->arena;
        c[PATH] = cr_plain(arena, paths[i], strlen(paths[i]));
        c[ROWS] = cr_arena_printf(arena, "%lld", (long long)m->n_rows);
        c[GROUPS] = cr_arena_printf(arena, "%d", m->n_groups);
        c[COLUMNS] = cr_arena_printf(arena, "%d", v.n);
        c[SIZE] = cr_arena_strdup(arena, cr_fmt_bytes(bytes, (double)v.size));
        if (m->created_by) c[BY] = cr_plain(arena, m->created_by, strlen(m->created_by));
        compare_schema(ui, &s, &v);
        s.files++;
        s.rows = m->n_rows < INT64_MAX - s.rows ? s.rows + m->n_rows : INT64_MAX;
        s.bytes += v.size;
        close_view(&v);
    }
    cr_grid_print(&t, cr_screen_width());
    cr_ui_say("\n%d file%s, %lld row%s, %s", s.files, s.files == 1 ? "" : "s", (long long)s.rows,
              s.rows == 1 ? "" : "s", cr_fmt_bytes(bytes, (double)s.bytes));
    if (s.bad) cr_ui_say("; %d more cannot be read", s.bad);
    cr_ui_say("\n");
    print_notes(&s);
    cr_map_clear(&s.notes);
    return worst;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    char **paths;
    size_t n;
    int forms = a->rows_json + a->json + (a->pages != NULL) + a->schema + a->row_groups;
    if (forms > 1)
        return cr_ui_wrong(ui, "--rows_json, --json, --pages, --schema and --row_groups are "
                               "different outputs; choose one");
    signal(SIGPIPE, SIG_DFL); /* when the reader leaves (| head), nothing is left to do */
    CR_TRY(find_files(ui, a, &paths, &n));
    if (n > 1 && forms == 0 && a->rows >= 0)
        return cr_ui_wrong(ui,
                           "--rows shows rows of one file, these are %zu; name one, or add "
                           "--rows_json",
                           n);
    if (n > 1 && forms == 0) return show_several(ui, a, paths, n);
    cr_code worst = CR_OK;
    for (size_t i = 0; i < n; i++) {
        cr_pqv v;
        cr_code code = open_view(ui, paths[i], a, &v);
        if (code == CR_OK) {
            if (n > 1 && (a->schema || a->pages)) cr_ui_say("%s%s\n", i ? "\n" : "", paths[i]);
            code = show(ui, a, &v);
            close_view(&v);
        }
        if (code != CR_OK) worst = code;
    }
    return worst;
}

static const char *const examples[] = {
    "crank parquet data/train/part-0.parquet",
    "crank parquet data/train --columns label,price",
    "crank parquet part-0.parquet --pages price",
    "crank parquet part-0.parquet --rows_json --rows 100 | jq .price",
    NULL,
};

const cr_cmd cr_cmd_parquet = {
    .name = "parquet",
    .help = "Show schema, sizes, statistics and rows of Parquet files",
    .about = "Shows one file in full; of several files it shows a line each, and the columns that "
             "differ.\n",
    .operand = "FILE",
    .operand_opt = "files",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
