/*
 * restore_ids.c - a table of a fixed size that begins from one that grew, by name. In the
 * checkpoint a row belongs to an id that the tensors beside it name; here the row of an id is its
 * number. That is the same id only where the data holds ids (fg_mode: FG_NONE): else the ids of a
 * growing table are hashes of values, which lead to no row of another table.
 *
 * The other way round needs nothing of this: a growing table takes row i of a table without ids as
 * the row of id i (job/weights.c).
 */
#include <string.h>

#include "base/log.h"
#include "emb/owner.h"
#include "train/train_int.h"

#define SOME 1024 /* ids that are read at a time */

typedef struct by_id {
    cr_ckpt_tensor to; /* as it was: its rows are ids */
    const cr_table *t;
    const int64_t *id; /* [n] by row of the checkpoint; -1: a row that nothing takes. NULL: none is
                        * taken */
    int64_t n, width;
} by_id;

/* Puts some columns of a row, where they lie here. */
static void put_row(const by_id *b, int64_t id, int64_t col, int64_t n, const float *in) {
    const cr_owner *o = b->t->owner;
    if (!o) b->to.put(b->to.ctx, id * b->width + col, n, in);
    for (int k = 0; o && k < o->n_held; k++) {
        const cr_table *h = &o->held[k];
        int64_t first = b->width == 1 ? 0 : h->col0, end = b->width == 1 ? 1 : first + h->D;
        if (id < h->row0 || id - h->row0 >= h->n_rows) continue;
        if (first < col) first = col;
        if (end > col + n) end = col + n;
        if (first < end)
            b->to.put(b->to.ctx, id * b->width + first, end - first, in + (first - col));
    }
}

static void put_by_id(void *ctx, int64_t first, int64_t n, const float *in) {
    const by_id *b = ctx;
    for (int64_t i = 0, m; i < n; i += m) {
        int64_t row = (first + i) / b->width, col = (first + i) % b->width;
        m = b->width - col < n - i ? b->width - col : n - i;
        if (b->id && row < b->n && b->id[row] >= 0) put_row(b, b->id[row], col, m, in + i);
    }
}

static cr_code fit_by_id(void *ctx, int64_t rows, cr_err *err) {
    const by_id *b = ctx;
    if (rows == b->n) return CR_OK;
    return cr_fail(err, CR_EDATA,
                   "tensor '%s' has %lld rows and %lld ids in the checkpoint; use another one",
                   b->to.name, (long long)rows, (long long)b->n);
}

/* Says how many ids the checkpoint has for a table, -1: none, and reads them by row. check: it only
 * looks whether they can be read. */
static cr_code ids_of(const cr_ckpt *c, const cr_model_table *t, bool check, cr_arena *a,
                      const int64_t **out, int64_t *n, cr_err *err) {
    void *p;
    int64_t none;
    size_t len = strlen(t->table.name);
    *out = NULL;
    *n = -1;
    if (len < 6 || strcmp(t->table.name + len - 6, "weight") != 0) return CR_OK;
    const char *base = cr_arena_strndup(a, t->table.name, len - 6);
    const char *ids = cr_arena_printf(a, "%s_mch_sorted_raw_ids", base);
    const char *rows = cr_arena_printf(a, "%s_mch_remapped_ids_mapping", base);
    const cr_ckpt_info *e = cr_ckpt_find(c, ids), *r = cr_ckpt_find(c, rows);
    if (!e || !r || e->n_elems != r->n_elems) return CR_OK;
    *n = e->n_elems;
    CR_TRY(cr_ckpt_read_whole(c, ids, 0, 0, &none, err));
    CR_TRY(cr_ckpt_read_whole(c, rows, 0, 0, &none, err));
    if (check) return CR_OK;
    /* a number of a file: it may be more than there is memory for */
    CR_TRY(cr_try_alloc(&p, cr_bytes(*n, sizeof(int64_t)), "the ids of a table that grew", err));
    cr_arena_defer(a, cr_free, p);
    int64_t *by_row = p;
    for (int64_t i = 0; i < *n; i++)
        by_row[i] = -1;
    for (int64_t i = 0, m; i < *n; i += m) {
        int64_t id[SOME], row[SOME];
        m = *n - i < SOME ? *n - i : SOME;
        CR_TRY(cr_ckpt_read_whole(c, ids, i, m, id, err));
        CR_TRY(cr_ckpt_read_whole(c, rows, i, m, row, err));
        for (int64_t k = 0; k < m; k++)
            if (row[k] >= 0 && row[k] < *n && id[k] >= 0 && id[k] < t->n_rows)
                by_row[row[k]] = id[k];
    }
    *out = by_row;
    return CR_OK;
}

cr_code cr_restore_by_id(cr_job *j, const cr_ckpt *c, cr_ckpt_tensor *v, int n, bool dry,
                         cr_arena *a, cr_err *err) {
    bool numbers = j->root->data_config->fg_mode == CR_FG_NONE;
    for (int i = 0; i < j->model->n_tables; i++) {
        const cr_model_table *t = j->model->tables[i];
        size_t len = strlen(t->table.name);
        int64_t rows;
        const int64_t *ids;
        if (cr_feature_mapped(t->owner)) continue;
        CR_TRY(ids_of(c, t, dry || !numbers, a, &ids, &rows, err));
        if (rows < 0) continue;
        if (!numbers && !dry)
            CR_WARN("table '%s' has ids in the checkpoint that are hashes, and no row of this "
                    "table belongs to one; it begins anew",
                    t->table.name);
        for (int k = 0; k < n; k++) {
            const char *name = v[k].name;
            bool state = strncmp(name, "state.", 6) == 0 &&
                         strncmp(name + 6, t->table.name, len) == 0 && name[6 + len] == '.';
            if (strcmp(name, t->table.name) != 0 && !state) continue;
            by_id *b = CR_NEW(a, by_id);
            *b = (by_id){v[k], &t->table, ids, rows, v[k].n_dims > 1 ? v[k].shape[1] : 1};
            v[k].put = put_by_id;
            v[k].fit = fit_by_id;
            v[k].ctx = b;
            v[k].resize = CR_RESIZE_FIT;
            v[k].n_parts = 0;
        }
    }
    return CR_OK;
}
