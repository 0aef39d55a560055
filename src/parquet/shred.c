/*
 * shred.c - turns lists and validity of a vector into definition and repetition levels.
 *
 * A repetition level says at which depth a list continues, a definition level how much of the path
 * to the leaf exists. When a vector has the levels it was read with, these are used: they also know
 * about structs that are null. Otherwise the structs on the path are taken to exist, and a null
 * belongs to the innermost node that may be null.
 */
#include <string.h>

#include "parquet/encode_int.h"

void cr_pq_shape_levels_of(const cr_pq_meta *m, int node, cr_pq_shape_levels *out) {
    int path[256], n = 0; /* schema.c refuses trees that are this deep */
    for (int i = node; i > 0 && n < 256; i = m->nodes[i].parent)
        path[n++] = i;
    *out = (cr_pq_shape_levels){.max_def = m->nodes[node].max_def,
                                .max_rep = m->nodes[node].max_rep,
                                .null_value = -1};
    /* definition level when the last optional node since the last list is null; -1: there is
     * none */
    int depth = 0, null = -1;
    while (n-- > 0) {
        const cr_pq_node *x = &m->nodes[path[n]];
        if (x->rep == CR_PQ_OPTIONAL) null = x->max_def - 1;
        if (x->rep != CR_PQ_REPEATED) continue;
        out->item[depth] = x->max_def;
        out->null[depth++] = null;
        out->slot = x->max_def;
        null = -1;
    }
    out->null_value = null;
}

const char *cr_pq_vec_check(const cr_pq_vec *v, const cr_pq_node *leaf) {
    if (v->type != leaf->type) return "the values are of another type";
    if (v->type == CR_PQ_FIXED && v->type_length != leaf->type_length)
        return "the values are of another length";
    if (v->depth != leaf->max_rep) return "the values lie in another number of lists";
    int64_t n = v->n_rows;
    if (v->row_slot) {
        if (!v->def || !v->rep || v->depth == 0) return "rows of slots need levels";
        if (v->row_slot[0] < 0) return "an offset is negative";
        for (int64_t i = 0; i < n; i++)
            if (v->row_slot[i] > v->row_slot[i + 1]) return "its offsets are not in order";
        return v->n < v->row_slot[n] ? "there are fewer values than the rows need" : NULL;
    }
    for (int k = 0; k < v->depth; k++) {
        const cr_pq_list *l = &v->list[k];
        if (l->n != n || (n > 0 && !l->off)) return "a list level has another number of lists";
        if (n > 0 && l->off[0] < 0) return "an offset is negative";
        for (int64_t i = 0; i < n; i++)
            if (l->off[i] > l->off[i + 1]) return "its offsets are not in order";
        n = n > 0 ? l->off[n] : 0;
    }
    if (v->n < n) return "there are fewer values than the lists need";
    if (v->depth == 0 && v->n != n) return "there is not one value per row";
    if (leaf->max_rep > 0 && v->def && !v->rep) return "there are definition levels alone";
    return NULL;
}

void cr_pq_slots(const cr_pq_vec *v, int64_t from, int64_t to, int64_t *first, int64_t *n) {
    if (v->row_slot) {
        *first = v->row_slot[from];
        *n = v->row_slot[to] - v->row_slot[from];
        return;
    }
    for (int k = 0; k < v->depth; k++) {
        from = v->list[k].off[from];
        to = v->list[k].off[to];
    }
    *first = from;
    *n = to - from;
}

/* ---- from levels ---- */

static const char *copy_levels(cr_pq_walk *w, const cr_pq_shape_levels *s, int64_t n, cr_buf *def,
                               cr_buf *rep, int64_t *n_levels) {
    const cr_pq_vec *v = w->v;
    int64_t end = w->level + n, first, slots, seen = 0, values = 0, valid = 0;
    if (s->max_rep > 0) { /* go to the n-th beginning of a row after this one */
        end = w->level;
        if (end < v->n_levels && v->rep[end] != 0) return "its levels do not begin with a row";
        int64_t rows = 0;
        for (; end < v->n_levels; end++)
            if (v->rep[end] == 0 && rows++ == n) break;
        if (rows < n) return "there are fewer levels than rows";
    } else if (end > v->n_levels)
        return "there are fewer levels than rows";
    for (int64_t i = w->level; i < end; i++) {
        if (v->def[i] > s->max_def) return "a definition level is too high";
        seen += v->def[i] >= s->slot;
        values += v->def[i] == s->max_def;
        if (s->max_rep > 0 && v->rep[i] > s->max_rep) return "a repetition level is too high";
    }
    cr_pq_slots(v, w->row, w->row + n, &first, &slots);
    for (int64_t i = first; i < first + slots; i++)
        valid += !v->valid || v->valid[i];
    if (seen != slots || values != valid) return "its levels do not fit its values";
    *n_levels = end - w->level;
    cr_buf_add(def, v->def + w->level, (size_t)*n_levels);
    if (s->max_rep > 0) cr_buf_add(rep, v->rep + w->level, (size_t)*n_levels);
    w->level = end;
    w->row += n;
    return NULL;
}

/* ---- from lists ---- */

typedef struct shredder {
    const cr_pq_vec *v;
    const cr_pq_shape_levels *s;
    uint8_t *def, *rep; /* where the next levels go */
    const char *bad;
} shredder;

static void put(shredder *x, int def, int rep) {
    *x->def++ = (uint8_t)def;
    *x->rep++ = (uint8_t)rep;
}

/* put_list writes list i of depth k; rep is the repetition level of its first entry. */
static void put_list(shredder *x, int k, int64_t i, int rep) {
    const cr_pq_list *l = &x->v->list[k];
    const uint8_t *valid = x->v->valid;
    int32_t from = l->off[i], to = l->off[i + 1];
    if (l->valid && !l->valid[i]) {
        if (from != to)
            x->bad = "a null list has items";
        else if (x->s->null[k] < 0)
            x->bad = "a list is null and may not be";
        put(x, x->s->null[k] < 0 ? 0 : x->s->null[k], rep);
        return;
    }
    if (from == to) {
        put(x, x->s->item[k] - 1, rep);
        return;
    }
    if (k + 1 < x->v->depth) {
        for (int32_t j = from; j < to; j++, rep = k + 1)
            put_list(x, k + 1, j, rep);
        return;
    }
    int def = x->s->max_def, null = x->s->null_value;
    for (int32_t j = from; j < to; j++, rep = k + 1) {
        if (valid && !valid[j]) {
            if (null < 0) x->bad = "a value is null and may not be";
            put(x, null < 0 ? 0 : null, rep);
        } else
            put(x, def, rep);
    }
}

/* most_levels returns how many levels rows [from, to) can have at most. */
static size_t most_levels(const cr_pq_vec *v, int64_t from, int64_t to) {
    size_t n = 0;
    for (int k = 0; k < v->depth; k++) {
        n += (size_t)(to - from);
        from = v->list[k].off[from];
        to = v->list[k].off[to];
    }
    return n + (size_t)(to - from);
}

const char *cr_pq_shred(cr_pq_walk *w, const cr_pq_shape_levels *s, int64_t n, cr_buf *def,
                        cr_buf *rep, int64_t *n_levels) {
    const cr_pq_vec *v = w->v;
    *n_levels = n;
    if (s->max_def > 0 && v->def) return copy_levels(w, s, n, def, rep, n_levels);
    int64_t row = w->row;
    w->row += n;
    if (v->depth == 0) {
        const uint8_t *valid = v->valid ? v->valid + row : NULL;
        if (s->null_value < 0) {
            for (int64_t i = 0; valid && i < n; i++)
                if (!valid[i]) return "a value is null and may not be";
        }
        if (s->max_def == 0) return NULL;
        cr_buf_reserve(def, (size_t)n);
        uint8_t *d = (uint8_t *)def->data + def->n;
        def->n += (size_t)n;
        if (!valid) {
            memset(d, s->max_def, (size_t)n);
            return NULL;
        }
        uint8_t yes = (uint8_t)s->max_def, no = (uint8_t)(s->null_value < 0 ? 0 : s->null_value);
        for (int64_t i = 0; i < n; i++)
            d[i] = valid[i] ? yes : no;
        return NULL;
    }
    size_t most = most_levels(v, row, row + n);
    cr_buf_reserve(def, most);
    cr_buf_reserve(rep, most);
    shredder x = {v, s, (uint8_t *)def->data + def->n, (uint8_t *)rep->data + rep->n, NULL};
    for (int64_t i = row; i < row + n; i++)
        put_list(&x, 0, i, 0);
    size_t added = (size_t)(x.def - (uint8_t *)def->data) - def->n;
    def->n += added;
    rep->n += added;
    *n_levels = (int64_t)added;
    return x.bad;
}
