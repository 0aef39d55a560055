/*
 * vector.c - fills a vector from the open page and as many further pages as it takes.
 *
 * A flat column has a slot per row: definition levels become validity, and values are spread over
 * the valid slots. As long as no null was seen there is no validity at all. In a repeated column
 * levels are read in blocks, up to the beginning of the row after the last wanted one; a row may
 * continue in the next page.
 */
#include <string.h>

#include "parquet/decode_int.h"

#define FIRST 65536 /* slots reserved before a page has shown that they exist */

/* ---- room ---- */

static cr_code no_room(const cr_pq_cursor *c, cr_code code, const cr_err *cause, cr_err *err) {
    if (code == CR_ENOMEM) {
        cr_err_copy(err, cause);
        return code;
    }
    return cr_pq_wrong(err, c->f, c->group, c->leaf, c->page.at, cause->why, "%s", cause->msg);
}

/* room makes room for n elements of `size` bytes and keeps the first `keep`. */
static cr_code room(cr_pq_cursor *c, cr_pq_mem *m, int64_t n, int64_t keep, size_t size,
                    const char *what, cr_err *err) {
    const size_t budget = c->f->opts.budget;
    cr_err cause;
    /* more than the budget is refused; the product must not wrap around before that */
    size_t bytes = (uint64_t)n > budget / size ? budget + 1 : (size_t)n * size;
    cr_code code = cr_pq_mem_need(m, bytes, (size_t)keep * size, budget, what, &cause);
    return code == CR_OK ? CR_OK : no_room(c, code, &cause, err);
}

static cr_code room_for_slots(cr_pq_cursor *c, int64_t n, int64_t keep, cr_err *err) {
    static const char what[] = "the values of a vector";
    if (c->node->type != CR_PQ_BYTES)
        return room(c, &c->values, n, keep, (size_t)c->page.v.width, what, err);
    if (c->coded) return room(c, &c->code, n, keep, sizeof(uint32_t), what, err);
    CR_TRY(room(c, &c->beg, n, keep, sizeof(uint32_t), what, err));
    return room(c, &c->fin, n, keep, sizeof(uint32_t), what, err);
}

/* ---- values into slots ---- */

/* spread_text is like cr_pq_values_spread, for strings. */
static const char *spread_text(cr_pq_cursor *c, uint32_t *beg, uint32_t *fin, const uint8_t *valid,
                               size_t n, size_t n_valid) {
    enum { BLOCK = 1024 };
    cr_pq_values *v = &c->page.v;
    const uint8_t *page = c->page.text_n ? c->mem.text.p + c->page.text_at : NULL;
    const uint32_t base = c->page.text_n ? (uint32_t)c->page.text_at : 0;
    if (n_valid == n) return cr_pq_values_text(v, page, base, beg, fin, n);
    uint32_t a[BLOCK + CR_PQ_PAD / 4], b[BLOCK + CR_PQ_PAD / 4];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t m = n - i < BLOCK ? n - i : BLOCK;
        const char *bad =
            cr_pq_values_text(v, page, base, a, b, n_valid ? c->k->count(valid + i, m) : 0);
        if (bad) return bad;
        c->k->expand32(beg + i, a, valid + i, m);
        c->k->expand32(fin + i, b, valid + i, m);
    }
    return NULL;
}

static const char *spread_codes(cr_pq_cursor *c, uint32_t *code, const uint8_t *valid, size_t n,
                                size_t n_valid) {
    enum { BLOCK = 1024 };
    if (n_valid == n) return cr_pq_values_codes(&c->page.v, code, n);
    uint32_t a[BLOCK + CR_PQ_PAD / 4];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t m = n - i < BLOCK ? n - i : BLOCK;
        const char *bad =
            cr_pq_values_codes(&c->page.v, a, n_valid ? c->k->count(valid + i, m) : 0);
        if (bad) return bad;
        c->k->expand32(code + i, a, valid + i, m);
    }
    return NULL;
}

/* uncode turns the codes of the first n slots into places in the text, because a page without codes
 * follows. */
static cr_code uncode(cr_pq_cursor *c, int64_t n, cr_err *err) {
    c->coded = false;
    CR_TRY(room_for_slots(c, n, 0, err));
    const uint32_t *code = (void *)c->code.p;
    uint32_t *beg = (void *)c->beg.p, *fin = (void *)c->fin.p;
    for (int64_t i = 0; i < n; i++) {
        bool is = c->dict.n && (!c->has_valid || c->valid.p[i]);
        beg[i] = is ? c->dict.beg[code[i]] : 0;
        fin[i] = is ? c->dict.end[code[i]] : 0;
    }
    return CR_OK;
}

/* put fills n slots from `at` on; valid has their validity, NULL when all have a value. As far as
 * is known, at most `want` more slots follow in this vector. */
static cr_code put(cr_pq_cursor *c, int64_t at, int64_t n, const uint8_t *valid, int64_t n_valid,
                   int64_t want, cr_err *err) {
    const size_t k = (size_t)n, kv = (size_t)n_valid;
    cr_pq_values *v = &c->page.v;
    const bool text = c->node->type == CR_PQ_BYTES;
    if (text && n_valid && c->coded && v->form != CR_PQ_F_DICT) CR_TRY(uncode(c, at, err));
    int64_t most = want < FIRST ? want : FIRST;
    CR_TRY(room_for_slots(c, at + n > most ? at + n : most, at, err));
    const char *bad;
    if (!text)
        bad = cr_pq_values_spread(v, c->values.p + (size_t)at * (size_t)v->width, valid, k, kv);
    else if (c->coded)
        bad = spread_codes(c, (uint32_t *)(void *)c->code.p + at, valid, k, kv);
    else
        bad = spread_text(c, (uint32_t *)(void *)c->beg.p + at, (uint32_t *)(void *)c->fin.p + at,
                          valid, k, kv);
    if (bad) return cr_pq_bad_page(c, bad, err);
    c->n_null += n - n_valid;
    return CR_OK;
}

/* ---- flat columns ---- */

/* need_valid makes room for the validity of n slots; when nothing was written so far, the first
 * `at` are valid. */
static cr_code need_valid(cr_pq_cursor *c, int64_t n, int64_t at, cr_err *err) {
    CR_TRY(room(c, &c->valid, n, c->has_valid ? at : 0, 1, "the nulls of a vector", err));
    if (!c->has_valid && at) memset(c->valid.p, 1, (size_t)at);
    c->has_valid = true;
    return CR_OK;
}

/* flat_levels reads the validity of the next n values, for slots from `at` on; *n_valid of them are
 * valid. keep: it keeps the levels too. */
static cr_code flat_levels(cr_pq_cursor *c, int64_t at, int64_t n, bool keep, int64_t *n_valid,
                           cr_err *err) {
    cr_pq_levels *l = &c->page.def;
    const char *bad = NULL;
    int64_t i = 0;
    *n_valid = n;
    if (keep) {
        CR_TRY(room(c, &c->def, at + n, at, 1, "the levels of a vector", err));
        if ((bad = cr_pq_levels_get(l, c->def.p + at, (size_t)n)))
            return cr_pq_bad_page(c, bad, err);
        if (l->max == 0) return CR_OK;
        bool had = c->has_valid;
        CR_TRY(need_valid(c, at + n, at, err));
        *n_valid = (int64_t)c->k->equal(c->def.p + at, (uint8_t)l->max, c->valid.p + at, (size_t)n);
        if (!had && *n_valid == n) c->has_valid = false;
        return CR_OK;
    }
    if (l->max == 0) return CR_OK;
    if (l->form == CR_PQ_LV_RLE) {
        uint32_t x = 0;
        while (!c->has_valid && i < n) {
            uint64_t run = cr_pq_rle_run(&l->rle, &x);
            if (run == 0 || x != (uint32_t)l->max) break;
            if (run > (uint64_t)(n - i)) run = (uint64_t)(n - i);
            i += (int64_t)cr_pq_rle_skip(&l->rle, (size_t)run);
        }
    }
    if (i == n) return CR_OK;
    CR_TRY(need_valid(c, at + n, at + i, err));
    uint8_t *valid = c->valid.p + at;
    if ((bad = cr_pq_levels_get(l, valid + i, (size_t)(n - i)))) return cr_pq_bad_page(c, bad, err);
    *n_valid = i + (int64_t)(l->max == 1 ? c->k->count(valid + i, (size_t)(n - i))
                                         : c->k->equal(valid + i, (uint8_t)l->max, valid + i,
                                                       (size_t)(n - i)));
    return CR_OK;
}

/* in_place: does one page hold the whole vector as it is needed? */
static bool in_place(cr_pq_cursor *c, int64_t n, int64_t n_valid) {
    cr_pq_values *v = &c->page.v;
    size_t w = (size_t)v->width;
    if (v->form != CR_PQ_F_FIXED || n_valid < n || (w != 4 && w != 8)) return false;
    if ((uintptr_t)v->p % w || (size_t)(v->end - v->p) / w < (size_t)n) return false;
    c->direct = v->p;
    v->p += (size_t)n * w;
    return true;
}

static cr_code short_of_rows(cr_pq_cursor *c, int64_t got, cr_err *err) {
    return cr_pq_fail(err, c->f, c->group, c->leaf, c->pos, "the pages end after %lld of %lld rows",
                      (long long)got, (long long)c->n_rows);
}

static cr_code read_flat(cr_pq_cursor *c, int64_t n, bool dict, bool keep, cr_err *err) {
    for (int64_t at = 0, k; at < n; at += k) {
        if (c->left == 0) {
            bool end;
            int64_t skip = 0;
            CR_TRY(cr_pq_next_page(c, &skip, &end, err));
            if (end) return short_of_rows(c, c->row + at, err);
        }
        k = c->left < n - at ? c->left : n - at;
        if (at == 0) c->coded = dict && c->has_dict;
        int64_t n_valid;
        CR_TRY(flat_levels(c, at, k, keep, &n_valid, err));
        if (!(at == 0 && k == n && in_place(c, n, n_valid)))
            CR_TRY(put(c, at, k, c->has_valid ? c->valid.p + at : NULL, n_valid, n, err));
        c->left -= k;
    }
    return CR_OK;
}

/* ---- repeated columns ---- */

static const char levels_what[] = "the levels of a vector";

/* more_levels reads more levels in advance; *end: the chunk has no more. */
static cr_code more_levels(cr_pq_cursor *c, bool *end, cr_err *err) {
    *end = false;
    if (c->left == 0) {
        int64_t skip = 0;
        CR_TRY(cr_pq_next_page(c, &skip, end, err));
        if (*end) return CR_OK;
    }
    size_t n = c->left < CR_PQ_LOOK ? (size_t)c->left : CR_PQ_LOOK;
    int64_t have = (int64_t)c->look_n, more = have + (int64_t)n;
    if (more >= INT32_MAX) /* offsets have 32 bits */
        return cr_pq_wrong(err, c->f, c->group, c->leaf, c->page.at, CR_PQ_TOLD,
                           "more than 2^31 values in one vector; write shorter lists");
    CR_TRY(room(c, &c->rep, more, have, 1, levels_what, err));
    CR_TRY(room(c, &c->def, more, have, 1, levels_what, err));
    const char *bad = cr_pq_levels_get(&c->page.rep, c->rep.p + have, n);
    if (!bad) bad = cr_pq_levels_get(&c->page.def, c->def.p + have, n);
    if (bad) return cr_pq_bad_page(c, bad, err);
    c->left -= (int64_t)n;
    c->look_n += n;
    return CR_OK;
}

/* take adds the next m levels to the vector. */
static cr_code take(cr_pq_cursor *c, cr_pq_lists *l, size_t m, int64_t want, cr_err *err) {
    const int depth = c->nest.max_rep;
    const int64_t slots = l->n[depth + 1], more = (int64_t)m;
    size_t n_slots = 0, n_valid = 0;
    CR_TRY(room(c, &c->valid, slots + more, slots, 1, levels_what, err));
    for (int r = 1; r <= depth; r++) {
        const int64_t n = l->n[r];
        CR_TRY(room(c, &c->off[r], n + more + 1, n, sizeof(int32_t), levels_what, err));
        CR_TRY(room(c, &c->list_valid[r], n + more, n, 1, levels_what, err));
        l->off[r] = (void *)c->off[r].p;
        l->valid[r] = c->list_valid[r].p;
    }
    const char *bad =
        cr_pq_lists_add(c->k, &c->nest, l, c->rep.p + c->look_at, c->def.p + c->look_at, m,
                        c->valid.p + slots, &n_slots, &n_valid);
    if (bad) return cr_pq_bad_page(c, bad, err);
    c->look_at += m;
    return put(c, slots, (int64_t)n_slots, c->valid.p + slots, (int64_t)n_valid, want, err);
}

static cr_code read_nested(cr_pq_cursor *c, int64_t n, bool dict, cr_pq_lists *l, cr_err *err) {
    int64_t to_begin = n; /* rows of the vector that have not begun yet */
    bool done = n == 0;
    /* levels that the last vector left come first */
    const size_t rest = c->look_n - c->look_at;
    if (rest && c->look_at) {
        memmove(c->rep.p, c->rep.p + c->look_at, rest);
        memmove(c->def.p, c->def.p + c->look_at, rest);
    }
    c->look_at = 0;
    c->look_n = rest;
    c->has_valid = true; /* it is always written here */
    while (!done) {
        if (c->look_at == c->look_n) {
            /* pages of version 2 always begin with a new row */
            if (to_begin == 0 && c->left == 0 && c->page.head.type == CR_PQ_DATA2) break;
            bool end;
            CR_TRY(more_levels(c, &end, err));
            if (end) break;
        }
        if (c->look_at == 0) {
            c->coded = dict && c->has_dict;
            if (c->rep.p[0]) return cr_pq_bad_page(c, "a row begins in the middle of a list", err);
        }
        size_t m = c->look_n - c->look_at;
        m = cr_pq_rows_end(c->k, c->rep.p + c->look_at, m, &to_begin, &done);
        if (m) CR_TRY(take(c, l, m, n, err));
    }
    if (to_begin) return short_of_rows(c, c->row + n - to_begin, err);
    if (c->row + n == c->n_rows && (c->look_at < c->look_n || c->left))
        return cr_pq_bad_page(c, "the pages have more rows than the row group", err);
    return CR_OK;
}

/* ---- the vector ---- */

/* begin_text makes room at the front of the text for this vector: the text of the last vector is
 * not needed any more, except for the page that is still open. */
static void begin_text(cr_pq_cursor *c) {
    cr_pq_page *p = &c->page;
    const bool open = c->left > 0 || c->look_at < c->look_n;
    if (!open || p->text_n == 0) {
        c->text_n = c->dict_text;
        return;
    }
    if (p->text_at == c->dict_text || c->mem.text.cap - c->text_n >= p->text_n) return;
    memmove(c->mem.text.p + c->dict_text, c->mem.text.p + p->text_at, p->text_n);
    if (p->levels_in_text) {
        ptrdiff_t by = (ptrdiff_t)c->dict_text - (ptrdiff_t)p->text_at;
        cr_pq_levels_move(&p->rep, by);
        cr_pq_levels_move(&p->def, by);
    }
    p->text_at = c->dict_text;
    c->text_n = p->text_at + p->text_n;
}

cr_code cr_pq_vector(cr_pq_cursor *c, int64_t n, int how, cr_pq_vec *out, cr_err *err) {
    const int depth = c->nest.max_rep;
    const bool dict = how & CR_PQ_READ_DICT;
    const bool keep = c->f->opts.keep_levels || how & CR_PQ_READ_LEVELS;
    cr_pq_lists l = {0};
    int64_t slots = n;
    c->has_valid = c->coded = false;
    c->n_null = 0;
    c->direct = NULL;
    begin_text(c);
    if (depth == 0)
        CR_TRY(read_flat(c, n, dict, keep, err));
    else
        CR_TRY(read_nested(c, n, dict, &l, err));

    out->type = c->node->type;
    out->type_length = c->node->type_length;
    out->n_rows = n;
    out->depth = depth;
    out->n_null = c->n_null;
    for (int r = 1; r <= depth; r++) {
        CR_TRY(room(c, &c->off[r], l.n[r] + 1, l.n[r], sizeof(int32_t), "a vector", err));
        int32_t *off = (void *)c->off[r].p;
        off[l.n[r]] = (int32_t)l.n[r + 1];
        out->list[r - 1] = (cr_pq_list){off, l.has_null[r] ? c->list_valid[r].p : NULL, l.n[r]};
        slots = l.n[r + 1];
    }
    out->n = slots;
    out->valid = c->n_null ? c->valid.p : NULL;
    if (depth) {
        out->n_levels = (int64_t)c->look_at;
        out->rep = c->rep.p;
        out->def = c->def.p;
    } else if (keep) {
        out->n_levels = n;
        out->def = c->def.p;
    }
    if (out->type != CR_PQ_BYTES) {
        out->v.b8 = c->direct ? c->direct : c->values.p;
        return CR_OK;
    }
    out->bytes = c->mem.text.p ? (const char *)c->mem.text.p : "";
    if (c->coded) {
        out->code = (void *)c->code.p;
        out->beg = c->dict.beg;
        out->end = c->dict.end;
        out->n_dict = c->dict.n;
    } else {
        out->beg = (void *)c->beg.p;
        out->end = (void *)c->fin.p;
    }
    return CR_OK;
}

/* ---- skipping rows ---- */

/* pass_values skips n values of the open page of a flat column. */
static cr_code pass_values(cr_pq_cursor *c, int64_t n, cr_err *err) {
    enum { BLOCK = 1024 };
    uint8_t levels[BLOCK + CR_PQ_PAD];
    const uint8_t *page = c->page.text_n ? c->mem.text.p + c->page.text_at : NULL;
    cr_pq_levels *l = &c->page.def;
    size_t n_valid = (size_t)n;
    const char *bad = NULL;
    if (l->max) {
        n_valid = 0;
        for (int64_t i = 0; i < n && !bad; i += BLOCK) {
            size_t m = n - i < BLOCK ? (size_t)(n - i) : BLOCK;
            bad = cr_pq_levels_get(l, levels, m);
            n_valid += c->k->equal(levels, (uint8_t)l->max, levels, m);
        }
    }
    if (!bad) bad = cr_pq_values_skip(&c->page.v, page, n_valid);
    return bad ? cr_pq_bad_page(c, bad, err) : CR_OK;
}

cr_code cr_pq_pass(cr_pq_cursor *c, int64_t n, cr_err *err) {
    while (n > 0) {
        int64_t before = n, k;
        if (c->left == 0 && c->look_at == c->look_n) {
            bool end;
            begin_text(c);
            CR_TRY(cr_pq_next_page(c, &n, &end, err));
            c->row += before - n;
            if (n == 0) break; /* the open page is the wanted one */
            if (end) return short_of_rows(c, c->row, err);
        }
        if (c->nest.max_rep == 0) {
            k = c->left < n ? c->left : n;
            CR_TRY(pass_values(c, k, err));
            c->left -= k;
        } else {
            cr_pq_vec none = {0};
            k = n < CR_PQ_LOOK ? n : CR_PQ_LOOK;
            CR_TRY(cr_pq_vector(c, k, CR_PQ_READ_DICT, &none, err));
        }
        n -= k;
        c->row += k;
    }
    return CR_OK;
}
