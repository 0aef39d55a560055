/*
 * task_rows.c - rows of PaddleRec's metaheac. Its data is a pandas frame in a pickle; the column
 * aid names the advertisement, which is the task of a row. A row becomes
 *
 *   label;ids of the user;lists of the user;ids of the advertisement
 *
 * with a semicolon between all columns and blanks in lists, which are cut to their real length (the
 * columns interest1_length ... tell it).
 *
 * Training: a batch is drawn tasks, larger ones more often, each with rows that are drawn for the
 * inner step and rows that are drawn for the step itself. As many batches are drawn as the data has
 * batches of rows. A draw is a function of a seed and its number. PaddleRec draws by NumPy, from a
 * seed as well, so its draws are others.
 *
 * Evaluation: each task has a folder; its support rows are those of the first file, in a drawn
 * order, its query rows those of the second file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/fs.h"
#include "base/rng.h"
#include "tool/drawn.h"
#include "tool/tool.h"

#define SEED    2021
#define COLUMNS 20
enum { MAX_NAME = 64 };

typedef struct column {
    const cr_frame_column *values, *length; /* length NULL: a single id */
} column;

/* The rows of one task: places in `rows`. */
typedef struct task {
    int64_t aid, first, n;
} task;

typedef struct frame {
    cr_arena arena;
    cr_buf bytes;
    const char *path;
    cr_frame f;
    const cr_frame_column *label, *aid;
    column columns[COLUMNS];
    int n_columns;
    int64_t *rows; /* by task, then by their order in the frame */
    task *tasks;
    int64_t n_tasks;
} frame;

/* ---- the frame ---- */

static cr_code find(const frame *x, const char *name, const cr_frame_column **out, cr_err *err) {
    *out = cr_frame_find(&x->f, name);
    if (*out) return CR_OK;
    return cr_fail_at(err, CR_EDATA, ((cr_loc){x->path, 0, 0}),
                      "the frame has no column '%s'; add it, or name another folder", name);
}

static cr_code find_columns(frame *x, const char *const *names, bool lists, cr_err *err) {
    char length[MAX_NAME];
    for (; *names; names++) {
        column *c = &x->columns[x->n_columns++];
        CR_TRY(find(x, *names, &c->values, err));
        if (!lists) continue;
        snprintf(length, sizeof length, "%s_length", *names);
        CR_TRY(find(x, length, &c->length, err));
    }
    return CR_OK;
}

static cr_code bad_value(const frame *x, const cr_frame_column *c, int64_t row, const char *what,
                         cr_err *err) {
    return cr_fail_at(err, CR_EDATA, ((cr_loc){x->path, 0, 0}),
                      "row %lld of column '%.*s' is no %s; correct it", (long long)row, (int)c->n,
                      c->name, what);
}

static cr_code whole(const frame *x, const cr_frame_column *c, int64_t row, int64_t *out,
                     cr_err *err) {
    if (cr_frame_whole(c, row, out)) return CR_OK;
    return bad_value(x, c, row, "whole number", err);
}

typedef struct placed {
    int64_t aid, row;
} placed;

static int by_task(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->aid != y->aid) return x->aid < y->aid ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static cr_code find_tasks(frame *x, cr_err *err) {
    int64_t n = x->f.rows;
    placed *v = CR_NEW_N(&x->arena, placed, n + 1);
    for (int64_t r = 0; r < n; r++) {
        v[r].row = r;
        CR_TRY(whole(x, x->aid, r, &v[r].aid, err));
    }
    qsort(v, (size_t)n, sizeof *v, by_task);
    x->rows = CR_NEW_N(&x->arena, int64_t, n + 1);
    x->tasks = CR_NEW_N(&x->arena, task, n + 1);
    for (int64_t i = 0; i < n; i++) {
        x->rows[i] = v[i].row;
        if (i == 0 || v[i].aid != v[i - 1].aid) x->tasks[x->n_tasks++] = (task){v[i].aid, i, 0};
        x->tasks[x->n_tasks - 1].n++;
    }
    return CR_OK;
}

static cr_code open_frame(frame *x, const char *path, cr_err *err) {
    const cr_pickle *v;
    CR_TRY(cr_file_read(path, 0, &x->bytes, err));
    CR_TRY(cr_pickle_read(x->bytes.data, x->bytes.n, path, &x->arena, &v, err));
    CR_TRY(cr_frame_of(v, path, &x->arena, &x->f, err));
    x->path = path;
    CR_TRY(find(x, "label", &x->label, err));
    CR_TRY(find(x, "aid", &x->aid, err));
    CR_TRY(find_columns(x, cr_paddle_user_columns, false, err));
    CR_TRY(find_columns(x, cr_paddle_list_columns, true, err));
    CR_TRY(find_columns(x, cr_paddle_ad_columns, false, err));
    CR_TRY(find_tasks(x, err));
    if (x->f.rows > 0) return CR_OK;
    return cr_fail_at(err, CR_EDATA, ((cr_loc){path, 0, 0}),
                      "the frame has no rows; name another file");
}

static void init_frame(frame *x) {
    *x = (frame){.f = {0}};
    cr_arena_init(&x->arena, 0);
    cr_buf_init(&x->bytes);
}

static void clear_frame(frame *x) {
    cr_buf_clear(&x->bytes);
    cr_arena_clear(&x->arena);
}

/* File number k of a folder, by name. */
static cr_code nth_file(cr_arena *a, const char *dir, size_t k, const char **path, cr_err *err) {
    char **names;
    size_t n;
    CR_TRY(cr_list_dir(a, dir, &names, &n, err));
    if (k >= n)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){dir, 0, 0}),
                          "the folder has %zu file%s, and %s; add the pickled frame", n,
                          n == 1 ? "" : "s",
                          k ? "an evaluation reads two, rows to learn from and rows to test"
                            : "a training reads one");
    *path = cr_path_join(a, dir, names[k]);
    return CR_OK;
}

/* ---- rows ---- */

static cr_code put_list(const frame *x, const column *c, int64_t row, cr_buf *out, cr_err *err) {
    const cr_pickle *list = cr_frame_item(c->values, row);
    int64_t n = list ? cr_pickle_dim(list, 0) : -1, length, id;
    if (n < 0 || n != list->items) return bad_value(x, c->values, row, "array of ids", err);
    CR_TRY(whole(x, c->length, row, &length, err));
    if (length < 0 || length > n)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){x->path, 0, 0}),
                          "row %lld of column '%.*s' says a length of %lld, and its list has %lld "
                          "ids; correct it",
                          (long long)row, (int)c->length->n, c->length->name, (long long)length,
                          (long long)n);
    for (int64_t i = 0; i < length; i++) {
        if (!cr_pickle_whole(list, i, &id))
            return bad_value(x, c->values, row, "array of whole numbers", err);
        cr_buf_printf(out, i ? " %lld" : "%lld", (long long)id);
    }
    return CR_OK;
}

static cr_code put_row(const frame *x, int64_t row, cr_buf *out, cr_err *err) {
    int64_t v;
    CR_TRY(whole(x, x->label, row, &v, err));
    cr_buf_printf(out, "%lld", (long long)v);
    for (int i = 0; i < x->n_columns; i++) {
        const column *c = &x->columns[i];
        cr_buf_char(out, ';');
        if (c->length) {
            CR_TRY(put_list(x, c, row, out, err));
            continue;
        }
        CR_TRY(whole(x, c->values, row, &v, err));
        cr_buf_printf(out, "%lld", (long long)v);
    }
    cr_buf_char(out, '\n');
    return CR_OK;
}

/* Writes `count` drawn rows of a task. */
static cr_code put_drawn(const frame *x, const task *t, int64_t count, uint64_t key, int64_t *room,
                         cr_buf *out, cr_err *err) {
    cr_draw(room, t->n, count, key);
    for (int64_t i = 0; i < count; i++)
        CR_TRY(put_row(x, x->rows[t->first + room[i]], out, err));
    return CR_OK;
}

/* The task of a drawn row: so larger ones come more often. */
static const task *draw_task(const frame *x, uint64_t key, uint64_t i) {
    int64_t place = (int64_t)cr_rng_below(key, i, (uint64_t)x->f.rows), lo = 0, hi = x->n_tasks - 1;
    while (lo < hi) {
        int64_t mid = (lo + hi + 1) / 2;
        if (x->tasks[mid].first <= place)
            lo = mid;
        else
            hi = mid - 1;
    }
    return &x->tasks[lo];
}

static cr_code draw_tasks(const frame *x, const cr_paddle_tasks *o, const char *dir, int64_t *room,
                          int64_t *rows, int64_t *tasks, cr_err *err) {
    uint64_t key = cr_rng_key(SEED, "tasks", "train");
    int64_t n = (x->f.rows + o->rows - 1) / o->rows * o->tasks;
    int files = 0;
    cr_buf out;
    cr_code code = CR_OK;
    cr_buf_init(&out);
    for (int64_t i = 0; code == CR_OK && i < n; i++) {
        const task *t = draw_task(x, key, (uint64_t)i);
        if (t->n < o->rows)
            code = cr_fail_at(err, CR_EDATA, ((cr_loc){x->path, 0, 0}),
                              "the advertisement %lld has %lld rows, and %lld are drawn for a "
                              "task; lower hyper_parameters.batch_size, or leave it out of the "
                              "data",
                              (long long)t->aid, (long long)t->n, (long long)o->rows);
        for (uint64_t side = 0; code == CR_OK && side < 2; side++)
            code =
                put_drawn(x, t, o->rows, cr_rng_sub(key, 2 * (uint64_t)i + side), room, &out, err);
        if (code == CR_OK && (out.n >= CR_DRAWN_FLUSH || i + 1 == n))
            code = cr_write_drawn(dir, files++, &out, err);
    }
    *tasks = n;
    *rows = 2 * o->rows * n;
    cr_buf_clear(&out);
    return code;
}

cr_code cr_task_rows_train(const char *raw_dir, const char *out_dir, const cr_paddle_tasks *o,
                           int64_t *rows, int64_t *tasks, cr_err *err) {
    frame x;
    const char *path;
    init_frame(&x);
    cr_code code = nth_file(&x.arena, raw_dir, 0, &path, err);
    if (code == CR_OK) code = open_frame(&x, path, err);
    if (code == CR_OK) (void)cr_fs_remove(out_dir, true, NULL); /* rows of an earlier run */
    if (code == CR_OK)
        code =
            draw_tasks(&x, o, out_dir, CR_NEW_N(&x.arena, int64_t, x.f.rows + 1), rows, tasks, err);
    clear_frame(&x);
    return code;
}

/* Writes one task of an evaluation: all its rows of both frames. */
static cr_code put_task(const frame *support, const task *t, const frame *query, const char *dir,
                        int64_t *rows, cr_err *err) {
    cr_arena a;
    cr_buf out;
    cr_arena_init(&a, 0);
    cr_buf_init(&out);
    const char *own = cr_path_join(&a, dir, cr_arena_printf(&a, "%lld", (long long)t->aid));
    uint64_t key = cr_rng_sub(cr_rng_key(SEED, "tasks", "test"), (uint64_t)t->aid);
    const task *q = NULL;
    for (int64_t i = 0; !q && i < query->n_tasks; i++)
        if (query->tasks[i].aid == t->aid) q = &query->tasks[i];
    cr_code code = CR_OK;
    if (!q)
        code = cr_fail_at(err, CR_EDATA, ((cr_loc){query->path, 0, 0}),
                          "the advertisement %lld of '%s' has no row to test here; add some, or "
                          "leave it out there",
                          (long long)t->aid, support->path);
    if (code == CR_OK)
        code = put_drawn(support, t, t->n, key, CR_NEW_N(&a, int64_t, t->n), &out, err);
    if (code == CR_OK) code = cr_write_drawn(cr_path_join(&a, own, "support"), 0, &out, err);
    for (int64_t i = 0; code == CR_OK && i < q->n; i++)
        code = put_row(query, query->rows[q->first + i], &out, err);
    if (code == CR_OK) code = cr_write_drawn(cr_path_join(&a, own, "query"), 0, &out, err);
    if (code == CR_OK) *rows += t->n + q->n;
    cr_buf_clear(&out);
    cr_arena_clear(&a);
    return code;
}

cr_code cr_task_rows_test(const char *raw_dir, const char *out_dir, const cr_paddle_tasks *o,
                          int64_t *rows, int64_t *tasks, cr_err *err) {
    (void)o;
    frame x[2];
    cr_code code = CR_OK;
    *rows = 0;
    init_frame(&x[0]);
    init_frame(&x[1]);
    for (int i = 0; i < 2 && code == CR_OK; i++) {
        const char *path;
        code = nth_file(&x[i].arena, raw_dir, (size_t)i, &path, err);
        if (code == CR_OK) code = open_frame(&x[i], path, err);
    }
    if (code == CR_OK) (void)cr_fs_remove(out_dir, true, NULL); /* tasks of an earlier run */
    for (int64_t i = 0; code == CR_OK && i < x[0].n_tasks; i++)
        code = put_task(&x[0], &x[0].tasks[i], &x[1], out_dir, rows, err);
    *tasks = x[0].n_tasks;
    clear_frame(&x[0]);
    clear_frame(&x[1]);
    return code;
}
