/*
 * zch_state.c - the state of a zero-collision map as a checkpoint keeps it: TorchRec's arrays in
 * the order of ids, and what was counted since the last update. It is the same for any number of
 * holders.
 */
#include <stdlib.h>
#include <string.h>

#include "emb/zch_int.h"

static const char what[] = "the state of a zero-collision map";

void cr_zch_state_clear(cr_zch_state *s) {
    cr_free(s->rows.id);
    cr_free(s->seen.id);
    cr_free(s->kept);
    *s = (cr_zch_state){0};
}

cr_code cr_zch_room(int64_t size, int64_t n_seen, cr_zch_state *s, cr_err *err) {
    void *p;
    if (s->size != size) {
        CR_TRY(cr_try_alloc(&p, cr_bytes(4 * size, sizeof(int64_t)), what, err));
        cr_free(s->rows.id);
        s->size = size;
        s->rows.id = p;
        s->rows.row = s->rows.id + size;
        s->rows.count = s->rows.row + size;
        s->rows.last = s->rows.count + size;
    }
    if (s->seen.id && s->seen.n == n_seen) return CR_OK;
    CR_TRY(cr_try_alloc(&p, cr_bytes(3 * n_seen + 1, sizeof(int64_t)), what, err));
    cr_free(s->seen.id);
    s->seen = (cr_zch_seen){.n = n_seen, .id = p};
    s->seen.count = s->seen.id + n_seen;
    s->seen.last = s->seen.count + n_seen;
    return CR_OK;
}

cr_code cr_zch_room_kept(int64_t n, cr_zch_state *s, cr_err *err) {
    void *p;
    CR_TRY(cr_try_alloc(&p, cr_bytes(n + 1, sizeof(int64_t)), what, err));
    cr_free(s->kept);
    s->kept = p;
    s->n_kept = n;
    return CR_OK;
}

static int by_id(const void *pa, const void *pb) {
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return a < b ? -1 : a > b;
}

/* Writes the rows in the order of their ids; free ones and the fallback follow. */
static cr_code save_rows(const cr_zch *z, cr_zch_rows *to, cr_err *err) {
    int64_t size = z->o.size, n = 0;
    typedef struct pair {
        int64_t id, row;
    } pair;
    void *p;
    CR_TRY(cr_try_alloc(&p, cr_bytes(size, sizeof(pair)), what, err));
    pair *v = p;
    for (int64_t r = z->free; r < z->o.size - 1; r++)
        v[n++] = (pair){z->id[r], r};
    qsort(v, (size_t)n, sizeof(*v), by_id);
    for (int64_t r = 0; r < z->free; r++)
        v[n++] = (pair){INT64_MAX, r};
    v[n] = (pair){INT64_MAX, size - 1};
    for (int64_t i = 0; i < size; i++) {
        bool known = v[i].id != INT64_MAX;
        to->id[i] = v[i].id;
        to->row[i] = v[i].row;
        to->count[i] = known ? z->count[v[i].row] : 0;
        to->last[i] = known ? z->last[v[i].row] : 0;
    }
    cr_free(v);
    return CR_OK;
}

cr_code cr_zch_save(cr_zch *z, const cr_meet *meet, cr_zch_state *out, cr_err *err) {
    CR_TRY(cr_zch_join(z, meet, err));
    CR_TRY(cr_zch_room(z->o.size, z->n_seen, out, err));
    CR_TRY(save_rows(z, &out->rows, err));
    if (z->n_seen > 0) qsort(z->seen, (size_t)z->n_seen, sizeof(*z->seen), by_id);
    for (int64_t i = 0; i < out->seen.n; i++) {
        out->seen.id[i] = z->seen[i].id;
        out->seen.count[i] = z->seen[i].count;
        out->seen.last[i] = z->seen[i].last;
    }
    out->steps[0] = z->steps[0];
    out->steps[1] = z->steps[1];
    /* They were sorted. What all have counted stays with one holder. */
    cr_zch_forget(z);
    for (int64_t i = 0; (!meet || meet->self == 0) && i < out->seen.n; i++)
        CR_TRY(cr_zch_add_seen(z,
                               &(zch_seen){out->seen.id[i], out->seen.count[i], out->seen.last[i]},
                               err));
    return CR_OK;
}

static cr_code wrong(const cr_zch *z, const char *why, cr_err *err) {
    return cr_fail(err, CR_EDATA, "the zch map of table %s is damaged: %s; use another checkpoint",
                   z->o.name, why);
}

/* Compares the arrays with what cr_zch_save writes. known becomes the number of ids. */
static cr_code check(const cr_zch *z, const cr_zch_state *s, int64_t *known, cr_err *err) {
    int64_t size = s->size, n = 0;
    const cr_zch_rows *r = &s->rows;
    if (size < 1) return wrong(z, "it has no rows", err);
    while (n < size - 1 && r->id[n] != INT64_MAX) {
        if (r->id[n] < 0 || (n > 0 && r->id[n] <= r->id[n - 1]))
            return wrong(z, "its ids do not ascend", err);
        n++;
    }
    if (r->id[size - 1] != INT64_MAX || r->row[size - 1] != size - 1)
        return wrong(z, "its last row is not the fallback", err);
    int64_t n_free = size - 1 - n;
    for (int64_t i = 0; i < n_free; i++)
        if (r->id[n + i] != INT64_MAX || r->row[n + i] != i)
            return wrong(z, "its free rows are not the first ones", err);
    void *p;
    CR_TRY(cr_try_alloc(&p, (size_t)size, what, err));
    char *taken = p;
    bool fine = true;
    for (int64_t i = 0; i < n && fine; i++) {
        fine = r->row[i] >= n_free && r->row[i] < size - 1 && !taken[r->row[i]];
        if (fine) taken[r->row[i]] = 1;
    }
    cr_free(p);
    if (!fine) return wrong(z, "a row is outside the table, or two ids have it", err);
    for (int64_t i = 1; i < s->seen.n; i++)
        if (s->seen.id[i] <= s->seen.id[i - 1])
            return wrong(z, "its counted ids do not ascend", err);
    if (s->steps[0] < s->steps[1] || s->steps[1] < 0)
        return wrong(z, "its steps are not those of a training", err);
    *known = n;
    return CR_OK;
}

cr_code cr_zch_load(cr_zch *z, const cr_zch_state *s, bool first, cr_err *err) {
    int64_t n = 0, more = z->o.size - s->size; /* rows that the table has more */
    if (more < 0) return CR_OK;
    CR_TRY(check(z, s, &n, err));
    cr_keymap_clear(&z->map);
    cr_zch_forget(z);
    z->free = z->o.size - 1 - n;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = s->rows.row[i] + more;
        z->id[row] = s->rows.id[i];
        z->count[row] = s->rows.count[i];
        z->last[row] = s->rows.last[i];
        CR_TRY(cr_keymap_add(&z->map, (uint64_t)z->id[row], row, err));
    }
    for (int64_t i = 0; first && i < s->seen.n; i++)
        CR_TRY(
            cr_zch_add_seen(z, &(zch_seen){s->seen.id[i], s->seen.count[i], s->seen.last[i]}, err));
    z->steps[0] = s->steps[0];
    z->steps[1] = s->steps[1];
    return CR_OK;
}
