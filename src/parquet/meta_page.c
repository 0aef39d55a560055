/*
 * meta_page.c - page headers, page indexes and statistics: Thrift bytes into structs.
 *
 * Statistics that cannot be trusted (old signed order of strings, NaN, sizes that do not fit the
 * type) are left out, because a wrong minimum would skip rows that match.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "parquet/decode_int.h"
#include "parquet/meta_int.h"

/* ---- statistics ---- */

const cr_pq_raw_stats cr_pq_no_stats = {.max_exact = true,
                                        .min_exact = true,
                                        .n_null = -1,
                                        .n_distinct = -1};

void cr_pq_get_stats(cr_tin *t, int of, cr_pq_raw_stats *r) {
    *r = cr_pq_no_stats;
    if (of != CR_T_STRUCT) {
        cr_tin_skip(t, of);
        return;
    }
    if (!cr_tin_enter(t)) return;
    CR_EACH_FIELD(t, id, type) {
        switch (id) {
        case 1:
        case 2:
        case 5:
        case 6: {
            int k = id < 3 ? id - 1 : id - 3;
            (void)cr_tin_get_bytes(t, type, &r->v[k], &r->n[k]);
            break;
        }
        case 3: (void)cr_tin_get_i64(t, type, &r->n_null); break;
        case 4: (void)cr_tin_get_i64(t, type, &r->n_distinct); break;
        case 7: (void)cr_tin_get_bool(t, type, &r->max_exact); break;
        case 8: (void)cr_tin_get_bool(t, type, &r->min_exact); break;
        default: cr_tin_skip(t, type); break;
        }
    }
    cr_tin_leave(t);
}

static bool is_nan(const cr_pq_node *n, const uint8_t *p, int size) {
    if (n->type == CR_PQ_F32 && size == 4) {
        float x;
        memcpy(&x, p, 4);
        return isnan(x);
    }
    if (n->type == CR_PQ_F64 && size == 8) {
        double x;
        memcpy(&x, p, 8);
        return isnan(x);
    }
    if (n->logical.kind == CR_PQ_FLOAT16 && size == 2)
        return (p[1] & 0x7c) == 0x7c && ((p[1] & 3) || p[0]);
    return false;
}

/* good_bounds: may rows be skipped by min and max? */
static bool good_bounds(const cr_pq_node *n, const cr_pq_stats *s) {
    if (n->type == CR_PQ_I96 || n->logical.kind == CR_PQ_INTERVAL || n->logical.kind == CR_PQ_OTHER)
        return false; /* the format gives these values no order */
    int want = cr_pq_width(n->type, n->type_length);
    /* the bounds may be shortened */
    bool cut = n->type == CR_PQ_FIXED && n->logical.kind != CR_PQ_FLOAT16;
    for (int i = 0; i < 2; i++) {
        const uint8_t *p = i ? s->max : s->min;
        int size = i ? s->max_size : s->min_size;
        if (!p) continue;
        if (want > 0 && size != want && !(cut && size < want)) return false;
        if (is_nan(n, p, size)) return false;
    }
    return true;
}

/* Old fields have a defined order only for signed numbers; when min and max are equal, the order
 * does not matter. */
static bool old_bounds_count(const cr_pq_node *n, const cr_pq_raw_stats *r) {
    bool is_unsigned = n->logical.kind == CR_PQ_INT && !n->logical.is_signed;
    if (n->type <= CR_PQ_F64 && n->type != CR_PQ_I96 && !is_unsigned) return true;
    return r->v[0] && r->v[1] && r->n[0] == r->n[1] && memcmp(r->v[0], r->v[1], r->n[0]) == 0;
}

void cr_pq_use_stats(cr_pq_stats *out, const cr_pq_raw_stats *r, const cr_pq_node *n) {
    *out = (cr_pq_stats){.n_null = r->n_null >= 0 ? r->n_null : -1,
                         .n_distinct = r->n_distinct >= 0 ? r->n_distinct : -1,
                         .min_exact = r->min_exact,
                         .max_exact = r->max_exact};
    int k = -1;
    if (r->v[2] || r->v[3])
        k = 2;
    else if ((r->v[0] || r->v[1]) && (!n || old_bounds_count(n, r)))
        k = 0;
    if (k < 0) return;
    if (r->n[k] > INT32_MAX || r->n[k + 1] > INT32_MAX) return;
    out->max = r->v[k];
    out->max_size = (int)r->n[k];
    out->min = r->v[k + 1];
    out->min_size = (int)r->n[k + 1];
    if (n && !good_bounds(n, out)) {
        out->min = out->max = NULL;
        out->min_size = out->max_size = 0;
    }
}

/* ---- pages ---- */

static void get_data1(cr_tin *t, cr_pq_page_head *h, cr_pq_raw_stats *r) {
    if (!cr_tin_enter(t)) return;
    CR_EACH_FIELD(t, id, type) {
        switch (id) {
        case 1: (void)cr_tin_get_i32(t, type, &h->n_values); break;
        case 2: (void)cr_tin_get_i32(t, type, &h->encoding); break;
        case 3: (void)cr_tin_get_i32(t, type, &h->def_encoding); break;
        case 4: (void)cr_tin_get_i32(t, type, &h->rep_encoding); break;
        case 5: cr_pq_get_stats(t, type, r); break;
        default: cr_tin_skip(t, type); break;
        }
    }
    cr_tin_leave(t);
}

static void get_data2(cr_tin *t, cr_pq_page_head *h, cr_pq_raw_stats *r) {
    if (!cr_tin_enter(t)) return;
    CR_EACH_FIELD(t, id, type) {
        switch (id) {
        case 1: (void)cr_tin_get_i32(t, type, &h->n_values); break;
        case 2: (void)cr_tin_get_i32(t, type, &h->n_nulls); break;
        case 3: (void)cr_tin_get_i32(t, type, &h->n_rows); break;
        case 4: (void)cr_tin_get_i32(t, type, &h->encoding); break;
        case 5: (void)cr_tin_get_i32(t, type, &h->def_size); break;
        case 6: (void)cr_tin_get_i32(t, type, &h->rep_size); break;
        case 7: (void)cr_tin_get_bool(t, type, &h->compressed); break;
        case 8: cr_pq_get_stats(t, type, r); break;
        default: cr_tin_skip(t, type); break;
        }
    }
    cr_tin_leave(t);
}

static void get_dict(cr_tin *t, cr_pq_page_head *h) {
    if (!cr_tin_enter(t)) return;
    CR_EACH_FIELD(t, id, type) {
        if (id == 1)
            (void)cr_tin_get_i32(t, type, &h->n_values);
        else if (id == 2)
            (void)cr_tin_get_i32(t, type, &h->encoding);
        else
            cr_tin_skip(t, type);
    }
    cr_tin_leave(t);
}

cr_code cr_pq_parse_page_head(const uint8_t *p, size_t n, cr_pq_page_head *out, size_t *used,
                              cr_err *err) {
    cr_tin t;
    cr_pq_raw_stats r = cr_pq_no_stats;
    int64_t crc = 0;
    int part = -1; /* the struct that the header had, as the type of page it belongs to */
    cr_pq_page_head h = {.type = -1,
                         .raw_size = -1,
                         .size = -1,
                         .n_values = -1,
                         .encoding = -1,
                         .def_encoding = CR_PQ_RLE,
                         .rep_encoding = CR_PQ_RLE,
                         .compressed = true};
    *used = 0;
    cr_tin_init(&t, p, n);
    CR_EACH_FIELD(&t, id, type) {
        switch (id) {
        case 1: (void)cr_tin_get_i32(&t, type, &h.type); break;
        case 2: (void)cr_tin_get_i32(&t, type, &h.raw_size); break;
        case 3: (void)cr_tin_get_i32(&t, type, &h.size); break;
        case 4: h.has_crc = cr_tin_get_i64(&t, type, &crc); break;
        case 5:
        case 7:
        case 8:
            if (type != CR_T_STRUCT) {
                cr_tin_skip(&t, type);
                break;
            }
            part = id == 5 ? CR_PQ_DATA1 : id == 7 ? CR_PQ_DICT : CR_PQ_DATA2;
            if (id == 5)
                get_data1(&t, &h, &r);
            else if (id == 7)
                get_dict(&t, &h);
            else
                get_data2(&t, &h, &r);
            break;
        default: cr_tin_skip(&t, type); break;
        }
    }
    if (t.cut) {
        *out = h;
        return CR_OK;
    }
    if (t.bad) return cr_fail(err, CR_EDATA, "page header, byte %zu of it: %s", t.bad_at, t.bad);
    if (h.type < 0) return cr_fail(err, CR_EDATA, "page header: its type is missing");
    if (h.size < 0 || h.raw_size < 0)
        return cr_fail(err, CR_EDATA, "page header: its sizes are %d and %d", h.size, h.raw_size);
    if (h.type == CR_PQ_DATA1 || h.type == CR_PQ_DATA2 || h.type == CR_PQ_DICT) {
        if (part != h.type)
            return cr_fail(err, CR_EDATA, "page header: the details of type %d are missing",
                           h.type);
        if (h.n_values < 0)
            return cr_fail(err, CR_EDATA, "page header: the number of values is %d", h.n_values);
        if (h.encoding < 0) return cr_fail(err, CR_EDATA, "page header: its encoding is missing");
    }
    if (h.type == CR_PQ_DATA2) {
        if (h.n_nulls < 0 || h.n_nulls > h.n_values)
            return cr_fail(err, CR_EDATA, "page header: %d nulls of %d values", h.n_nulls,
                           h.n_values);
        if (h.n_rows < 0 || h.n_rows > h.n_values)
            return cr_fail(err, CR_EDATA, "page header: %d rows with %d values", h.n_rows,
                           h.n_values);
        if (h.def_size < 0 || h.rep_size < 0 ||
            (int64_t)h.def_size + h.rep_size > (h.size < h.raw_size ? h.size : h.raw_size))
            return cr_fail(err, CR_EDATA,
                           "page header: levels of %d and %d bytes in a page of %d (%d raw)",
                           h.def_size, h.rep_size, h.size, h.raw_size);
    }
    h.crc = (uint32_t)(uint64_t)crc;
    cr_pq_use_stats(&h.stats, &r, NULL);
    *used = (size_t)(t.p - p);
    *out = h;
    return CR_OK;
}

/* ---- page indexes ---- */

static cr_code get_location(cr_pq_parse *s, cr_pq_page_info *page) {
    cr_tin *t = &s->t;
    *page = (cr_pq_page_info){.offset = -1,
                              .size = -1,
                              .first_row = -1,
                              .stats = {.n_null = -1, .n_distinct = -1}};
    if (!cr_tin_enter(t)) return cr_pq_broken(s);
    CR_EACH_FIELD(t, id, type) {
        switch (id) {
        case 1: (void)cr_tin_get_i64(t, type, &page->offset); break;
        case 2: (void)cr_tin_get_i32(t, type, &page->size); break;
        case 3: (void)cr_tin_get_i64(t, type, &page->first_row); break;
        default: cr_tin_skip(t, type); break;
        }
    }
    cr_tin_leave(t);
    return t->bad ? cr_pq_broken(s) : CR_OK;
}

cr_code cr_pq_parse_offset_index(const uint8_t *p, size_t n, const cr_pq_chunk *chunk,
                                 int64_t n_rows, size_t budget, cr_arena *arena, cr_pq_index *out,
                                 cr_err *err) {
    cr_pq_parse s = {.arena = arena, .left = budget, .err = err, .what = "page index"};
    *out = (cr_pq_index){0};
    cr_tin_init(&s.t, p, n);
    CR_EACH_FIELD(&s.t, id, type) {
        int64_t k = -1;
        if (id == 1 && !out->pages)
            k = cr_tin_get_list(&s.t, type, CR_T_STRUCT);
        else
            cr_tin_skip(&s.t, type);
        if (k < 0) continue;
        CR_TRY(cr_pq_take(&s, (void **)&out->pages, (size_t)k, sizeof(cr_pq_page_info)));
        for (int i = 0; i < (int)k; i++) {
            cr_pq_page_info *pg = &out->pages[i];
            CR_TRY(get_location(&s, pg));
            const cr_pq_page_info *before = i ? pg - 1 : NULL;
            int64_t low = before ? before->offset + before->size : chunk->start;
            if (pg->size <= 0 || pg->offset < low ||
                pg->offset > chunk->start + chunk->size - pg->size)
                return cr_fail(err, CR_EDATA,
                               "page index: page %d, byte %lld, %d bytes, does not lie in its "
                               "place",
                               i, (long long)pg->offset, pg->size);
            if (before ? pg->first_row < before->first_row : pg->first_row != 0)
                return cr_fail(err, CR_EDATA, "page index: page %d begins at row %lld", i,
                               (long long)pg->first_row);
            if (pg->first_row > n_rows)
                return cr_fail(err, CR_EDATA, "page index: page %d begins at row %lld of %lld", i,
                               (long long)pg->first_row, (long long)n_rows);
        }
        out->n_pages = (int)k;
    }
    return s.t.bad ? cr_pq_broken(&s) : CR_OK;
}

cr_code cr_pq_parse_column_index(const uint8_t *p, size_t n, const cr_pq_node *node,
                                 cr_pq_index *out, cr_err *err) {
    cr_pq_parse s = {.err = err, .what = "page index"};
    cr_tin *t = &s.t;
    /* were null pages, min and max seen; and do all of them fit? */
    bool seen[4] = {false, false, false, false};
    seen[3] = true;
    cr_tin_init(t, p, n);
    CR_EACH_FIELD(t, id, type) {
        if (id < 1 || id > 5 || id == 4) {
            cr_tin_skip(t, type);
            continue;
        }
        int of = id == 1 ? CR_T_TRUE : id == 5 ? CR_T_I64 : CR_T_BYTES;
        int64_t k = cr_tin_get_list(t, type, of);
        if (k < 0) continue;
        bool fits_pages = k == out->n_pages;
        if (id < 4) {
            seen[id - 1] = true;
            seen[3] = seen[3] && fits_pages;
        }
        for (int64_t i = 0; i < k && !t->bad; i++) {
            cr_pq_page_info scratch = {0}, *pg = fits_pages ? &out->pages[i] : &scratch;
            size_t size = 0;
            switch (id) {
            case 1: pg->all_null = cr_tin_i8(t) == 1; break;
            case 2:
                pg->stats.min = cr_tin_bytes(t, &size);
                pg->stats.min_size = size > INT32_MAX ? -1 : (int)size;
                break;
            case 3:
                pg->stats.max = cr_tin_bytes(t, &size);
                pg->stats.max_size = size > INT32_MAX ? -1 : (int)size;
                break;
            default: {
                int64_t nulls = cr_tin_int(t);
                pg->stats.n_null = nulls >= 0 ? nulls : -1;
                break;
            }
            }
        }
    }
    out->has_stats = !t->bad && seen[0] && seen[1] && seen[2] && seen[3];
    for (int i = 0; i < out->n_pages; i++) {
        cr_pq_stats *st = &out->pages[i].stats;
        /* the index may hold shortened values, so they are never exact */
        st->min_exact = st->max_exact = false;
        bool keep = out->has_stats && !out->pages[i].all_null && st->min_size >= 0 &&
                    st->max_size >= 0 && good_bounds(node, st);
        if (keep) continue;
        st->min = st->max = NULL;
        st->min_size = st->max_size = 0;
        if (!out->has_stats) {
            st->n_null = -1;
            out->pages[i].all_null = false;
        }
    }
    return t->bad ? cr_pq_broken(&s) : CR_OK;
}
