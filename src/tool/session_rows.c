/*
 * session_rows.c - rows of PaddleRec's dsin. Its data are four pickles of one prefix, such as
 * train_feat_input.pkl:
 *
 *   feat_input      a DataFrame of pandas: ids of the user and of the advertisement, and its price
 *   sess_input      an array (rows, 2 sessions, steps): categories and brands of each session in
 *                   turn; 0 stands behind the steps of a shorter one
 *   session_length  an array: how many sessions a row has
 *   label           an array, or a Series of pandas
 *
 * A row is label;ids;price;categories;brands;session of each step;its place there;sessions with
 * blanks in the lists: the real steps of the sessions one after the other.
 */
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/frame.h"
#include "tool/tool.h"

enum { FEATURES, SESSIONS, LENGTHS, LABELS, FILES };
static const char *const ends[FILES] = {"_feat_input.pkl", "_sess_input.pkl", "_session_length.pkl",
                                        "_label.pkl"};

typedef struct session_data {
    const cr_paddle_sessions *o;
    cr_arena a;
    cr_buf bytes[FILES];
    const char *path[FILES];
    const cr_pickle *v[FILES];
    cr_frame f;
    const cr_frame_column *ids[CR_PADDLE_SESSION_IDS], *price;
    int64_t rows;
    cr_buf out;
} session_data;

static cr_code wrong(const session_data *x, int file, cr_err *err, const char *what) {
    return cr_fail_at(err, CR_EDATA, ((cr_loc){x->path[file], 0, 0}), "%s", what);
}

/* Finds the four files: one prefix, that of the features. */
static cr_code find_files(session_data *x, const char *dir, cr_err *err) {
    char **names;
    size_t n, len = strlen(ends[FEATURES]);
    const char *prefix = NULL;
    CR_TRY(cr_list_dir(&x->a, dir, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        size_t m = strlen(names[i]);
        if (m < len || strcmp(names[i] + m - len, ends[FEATURES]) != 0) continue;
        if (prefix)
            return cr_fail(err, CR_EDATA,
                           "the folder '%s' has %s%s and %s; keep the files of one of them", dir,
                           prefix, ends[FEATURES], names[i]);
        prefix = cr_arena_strndup(&x->a, names[i], m - len);
    }
    if (!prefix)
        return cr_fail(err, CR_EDATA,
                       "the folder '%s' has no file whose name ends in %s; name the folder of the "
                       "data files",
                       dir, ends[FEATURES]);
    for (int i = 0; i < FILES; i++) {
        const char *name = cr_arena_printf(&x->a, "%s%s", prefix, ends[i]);
        x->path[i] = cr_path_join(&x->a, dir, name);
        CR_TRY(cr_file_read(x->path[i], 0, &x->bytes[i], err));
        CR_TRY(cr_pickle_read(x->bytes[i].data, x->bytes[i].n, x->path[i], &x->a, &x->v[i], err));
    }
    return CR_OK;
}

/* A column of the frame; PaddleRec's own has a blank behind one of its names. */
static const cr_frame_column *column(session_data *x, const char *name) {
    const cr_frame_column *c = cr_frame_find(&x->f, name);
    return c ? c : cr_frame_find(&x->f, cr_arena_printf(&x->a, "%s ", name));
}

static cr_code find_columns(session_data *x, cr_err *err) {
    CR_TRY(cr_frame_of(x->v[FEATURES], x->path[FEATURES], &x->a, &x->f, err));
    x->rows = x->f.rows;
    for (int i = 0; i <= CR_PADDLE_SESSION_IDS; i++) {
        bool last = i == CR_PADDLE_SESSION_IDS;
        const char *name = last ? "price" : cr_paddle_session_ids[i];
        const cr_frame_column *c = column(x, name);
        if (!c)
            return cr_fail_at(err, CR_EDATA, ((cr_loc){x->path[FEATURES], 0, 0}),
                              "the DataFrame has no column '%s'; add it", name);
        if (last)
            x->price = c;
        else
            x->ids[i] = c;
    }
    /* a Series is a frame of one column, which lies in an array */
    if (x->v[LABELS]->kind == CR_PICKLE_OBJECT) {
        cr_frame labels;
        CR_TRY(cr_frame_of(x->v[LABELS], x->path[LABELS], &x->a, &labels, err));
        if (labels.n != 1)
            return wrong(x, LABELS, err, "the labels must be one column; write a Series");
        x->v[LABELS] = labels.columns[0].block;
    }
    return CR_OK;
}

static cr_code check_sizes(const session_data *x, cr_err *err) {
    const cr_pickle *s = x->v[SESSIONS];
    int64_t sessions = cr_pickle_dim(s, 1), steps = cr_pickle_dim(s, 2);
    if (cr_pickle_dim(s, 0) != x->rows || sessions != 2 * x->o->sessions || steps != x->o->steps ||
        cr_pickle_dim(s, 3) >= 0)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){x->path[SESSIONS], 0, 0}),
                          "it is no array of %lld rows, %lld lines (categories and brands of %lld "
                          "sessions) and %lld steps; correct it, or sess_count and sess_max_length",
                          (long long)x->rows, 2 * (long long)x->o->sessions,
                          (long long)x->o->sessions, (long long)x->o->steps);
    for (int i = LENGTHS; i <= LABELS; i++)
        if (x->v[i]->kind != CR_PICKLE_ARRAY || x->v[i]->items != x->rows)
            return cr_fail_at(err, CR_EDATA, ((cr_loc){x->path[i], 0, 0}),
                              "it is no array of %lld numbers, one for each row of the DataFrame; "
                              "write such an array",
                              (long long)x->rows);
    return CR_OK;
}

/* Puts the steps of the row's sessions that are no padding, one list after the other: what a list
 * has of a step is its category, its brand, its session or its place there. */
static bool put_steps(session_data *x, int64_t row, int64_t sessions) {
    int64_t T = x->o->steps, K = x->o->sessions;
    uint64_t seen = 0; /* sessions with steps */
    for (int list = 0; list < 4; list++) {
        const char *gap = "";
        for (int64_t k = 0; k < sessions; k++)
            for (int64_t t = 0, place = 0, v[2]; t < T; t++) {
                for (int i = 0; i < 2; i++)
                    if (!cr_pickle_whole(x->v[SESSIONS], (row * 2 * K + 2 * k + i) * T + t, &v[i]))
                        return false;
                if (v[0] == 0 && v[1] == 0) continue;
                seen |= UINT64_C(1) << k;
                int64_t shown = list < 2 ? v[list] : list == 2 ? k : place;
                cr_buf_printf(&x->out, "%s%lld", gap, (long long)shown);
                place++;
                gap = " ";
            }
        cr_buf_char(&x->out, ';');
    }
    const char *gap = "";
    for (int64_t k = 0; k < sessions; k++)
        if (seen >> k & 1) {
            cr_buf_printf(&x->out, "%s%lld", gap, (long long)k);
            gap = " ";
        }
    cr_buf_char(&x->out, '\n');
    return true;
}

static cr_code wrong_row(const session_data *x, int file, int64_t row, cr_err *err,
                         const char *what) {
    return cr_fail_at(err, CR_EDATA, ((cr_loc){x->path[file], 0, 0}), "row %lld: %s",
                      (long long)row, what);
}

static cr_code put_row(session_data *x, int64_t row, cr_err *err) {
    int64_t i = 0;
    double price = 0;
    if (!cr_pickle_whole(x->v[LABELS], row, &i))
        return wrong_row(x, LABELS, row, err, "the label is no whole number; write 0 or 1");
    cr_buf_printf(&x->out, "%lld;", (long long)i);
    for (int k = 0; k < CR_PADDLE_SESSION_IDS; k++) {
        if (!cr_frame_whole(x->ids[k], row, &i))
            return cr_fail_at(err, CR_EDATA, ((cr_loc){x->path[FEATURES], 0, 0}),
                              "column '%s' of row %lld is no whole number; correct it",
                              cr_paddle_session_ids[k], (long long)row);
        cr_buf_printf(&x->out, "%lld;", (long long)i);
    }
    if (!cr_frame_number(x->price, row, &price))
        return wrong_row(x, FEATURES, row, err, "the price is no number; correct it");
    cr_buf_printf(&x->out, "%.9g;", price);
    if (!cr_pickle_whole(x->v[LENGTHS], row, &i) || i < 0 || i > x->o->sessions)
        return wrong_row(x, LENGTHS, row, err,
                         "the number of sessions is not from 0 to sess_count; correct it, or raise "
                         "sess_count");
    if (!put_steps(x, row, i))
        return wrong_row(x, SESSIONS, row, err,
                         "a category or brand is no whole number; correct it");
    return CR_OK;
}

cr_code cr_session_rows(const char *raw_dir, const char *out_dir, const cr_paddle_sessions *o,
                        int64_t *rows, cr_err *err) {
    session_data x = {.o = o};
    cr_arena_init(&x.a, 0);
    cr_buf_init(&x.out);
    for (int i = 0; i < FILES; i++)
        cr_buf_init(&x.bytes[i]);
    cr_code code = find_files(&x, raw_dir, err);
    if (code == CR_OK) code = find_columns(&x, err);
    if (code == CR_OK) code = check_sizes(&x, err);
    for (int64_t i = 0; code == CR_OK && i < x.rows; i++)
        code = put_row(&x, i, err);
    if (code == CR_OK && x.rows == 0) code = wrong(&x, FEATURES, err, "it has no rows; add some");
    if (code == CR_OK) code = cr_mkdirs(out_dir, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&x.a, out_dir, "rows.txt"), x.out.data, x.out.n, err);
    *rows = x.rows;
    for (int i = 0; i < FILES; i++)
        cr_buf_clear(&x.bytes[i]);
    cr_buf_clear(&x.out);
    cr_arena_clear(&x.a);
    return code;
}
