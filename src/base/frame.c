/*
 * frame.c - finds the columns of a pandas DataFrame in its pickle.
 *
 * The frame's state has a manager of blocks under _mgr (_data before pandas 1.1). Until pandas 1.2
 * a manager has a state, ..., {'0.14.1': {'axes': [...], 'blocks': [{'values': ..., 'mgr_locs':
 * ...}]}}; since then it is made of its blocks, _unpickle_block(values, columns, dimensions), and
 * axes. The first axis names the columns and the second one has the rows; that of a Series has the
 * rows alone.
 */
#include "base/frame.h"

#include <string.h>

#define MAX_COLUMNS 1000000

typedef struct reader {
    cr_arena *a;
    cr_frame *f;
} reader;

/* The data of an axis: an array; NULL: it is not told, as in a range of numbers. */
static const cr_pickle *axis_data(const cr_pickle *axis) {
    if (!cr_pickle_is(axis, "_new_Index") || axis->n != 2) return NULL;
    const cr_pickle *data = cr_pickle_find(axis->v[1], "data");
    return data && data->kind == CR_PICKLE_ARRAY && cr_pickle_dim(data, 1) < 0 ? data : NULL;
}

/* How many columns an axis of numbers from 0 on has; -1: it is another axis. */
static int64_t range(const cr_pickle *axis) {
    const char *const keys[] = {"start", "stop", "step"};
    int64_t v[3];
    if (!cr_pickle_is(axis, "_new_Index") || axis->n != 2) return -1;
    for (int i = 0; i < 3; i++) {
        const cr_pickle *x = cr_pickle_find(axis->v[1], keys[i]);
        if (!x || !cr_pickle_whole(x, 0, &v[i])) return -1;
    }
    return v[0] == 0 && v[2] == 1 && v[1] >= 0 ? v[1] : -1;
}

static bool name_columns(reader *r, const cr_pickle *axis) {
    const cr_pickle *names = axis_data(axis);
    int64_t n = names ? names->items : range(axis);
    if (n < 0 || n > MAX_COLUMNS) return false;
    r->f->n = n;
    r->f->columns = CR_NEW_N(r->a, cr_frame_column, n + 1);
    for (int64_t i = 0; names && i < n; i++) {
        const cr_pickle *name = cr_pickle_item(names, i);
        if (!name || name->kind != CR_PICKLE_TEXT) continue;
        r->f->columns[i].name = name->text;
        r->f->columns[i].n = name->n;
    }
    return true;
}

/* The columns of a block: a slice(start, stop, step), or an array of numbers. k counts them. */
static bool column_at(const cr_pickle *at, int64_t k, int64_t *out) {
    if (at->kind == CR_PICKLE_ARRAY) return cr_pickle_whole(at, k, out);
    int64_t from = 0, step = 1;
    if (!cr_pickle_is(at, "slice") || at->n != 3 || !cr_pickle_whole(at->v[0], 0, &from))
        return false;
    if (at->v[2]->kind != CR_PICKLE_NONE && !cr_pickle_whole(at->v[2], 0, &step)) return false;
    if (from < 0 || from > INT32_MAX || step < -INT32_MAX || step > INT32_MAX) return false;
    *out = from + k * step;
    return true;
}

static bool take_block(reader *r, const cr_pickle *values, const cr_pickle *at) {
    if (!values || !at || values->kind != CR_PICKLE_ARRAY) return false;
    bool lines = cr_pickle_dim(values, 1) >= 0;
    int64_t n = lines ? cr_pickle_dim(values, 0) : 1, rows = cr_pickle_dim(values, lines ? 1 : 0);
    if (rows < 0 || cr_pickle_dim(values, 2) >= 0 || n > r->f->n) return false;
    if (r->f->rows < 0) r->f->rows = rows;
    if (rows != r->f->rows) return false;
    for (int64_t k = 0; k < n; k++) {
        int64_t i = 0;
        if (!column_at(at, k, &i) || i < 0 || i >= r->f->n || r->f->columns[i].block) return false;
        r->f->columns[i].block = values;
        r->f->columns[i].first = k * rows;
    }
    return true;
}

static bool take_manager(reader *r, const cr_pickle *m) {
    const cr_pickle *axes, *blocks, *state = m->state, *one;
    bool single = cr_pickle_is(m, "SingleBlockManager");
    if (!single && !cr_pickle_is(m, "BlockManager")) return false;
    if (state && state->kind == CR_PICKLE_LIST && state->n == 4) {
        const cr_pickle *own = cr_pickle_find(state->v[3], "0.14.1");
        axes = cr_pickle_find(own, "axes");
        blocks = cr_pickle_find(own, "blocks");
    } else if (m->n == 2) {
        axes = m->v[1];
        blocks = m->v[0];
    } else {
        return false;
    }
    if (!axes || !blocks) return false;
    one = single && blocks->kind == CR_PICKLE_OBJECT ? blocks : NULL;
    if (!one && blocks->kind != CR_PICKLE_LIST) return false;
    if (single) {
        r->f->n = 1;
        r->f->columns = CR_NEW_N(r->a, cr_frame_column, 1);
    } else if (axes->kind != CR_PICKLE_LIST || axes->n != 2) {
        return false;
    } else if (!name_columns(r, axes->v[0])) {
        return false;
    }
    for (size_t i = 0; i < (one ? 1 : blocks->n); i++) {
        const cr_pickle *b = one ? one : blocks->v[i];
        bool made = cr_pickle_is(b, "_unpickle_block") && b->n >= 2;
        if (!take_block(r, made ? b->v[0] : cr_pickle_find(b, "values"),
                        made ? b->v[1] : cr_pickle_find(b, "mgr_locs")))
            return false;
    }
    for (int64_t i = 0; i < r->f->n; i++)
        if (!r->f->columns[i].block) return false;
    return true;
}

cr_code cr_frame_of(const cr_pickle *v, const char *path, cr_arena *a, cr_frame *out, cr_err *err) {
    *out = (cr_frame){.rows = -1};
    reader r = {a, out};
    bool ok = cr_pickle_is(v, "DataFrame") || cr_pickle_is(v, "Series");
    const cr_pickle *m = ok && v->state ? cr_pickle_find(v->state, "_mgr") : NULL;
    if (ok && v->state && !m) m = cr_pickle_find(v->state, "_data");
    if (m && take_manager(&r, m)) {
        if (out->rows < 0) out->rows = 0;
        return CR_OK;
    }
    return cr_fail_at(
        err, CR_EDATA, ((cr_loc){path, 0, 0}),
        "it is no DataFrame of pandas with numbers or lists in its columns; write one "
        "with DataFrame.to_pickle");
}

const cr_frame_column *cr_frame_find(const cr_frame *f, const char *name) {
    size_t n = strlen(name);
    for (int64_t i = 0; i < f->n; i++)
        if (f->columns[i].name && f->columns[i].n == n && memcmp(f->columns[i].name, name, n) == 0)
            return &f->columns[i];
    return NULL;
}

bool cr_frame_number(const cr_frame_column *c, int64_t r, double *out) {
    return cr_pickle_number(c->block, c->first + r, out);
}

bool cr_frame_whole(const cr_frame_column *c, int64_t r, int64_t *out) {
    return cr_pickle_whole(c->block, c->first + r, out);
}

const cr_pickle *cr_frame_item(const cr_frame_column *c, int64_t r) {
    return cr_pickle_item(c->block, c->first + r);
}
