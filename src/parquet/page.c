/*
 * page.c - opens one page: checks and decompresses it, and finds the levels and values.
 *
 * The text of strings is decompressed into the memory of the vector (mem->text), so that it is
 * never copied; other pages go through mem->raw, or stay where they were read when they are not
 * compressed. A page of version 1 is compressed as a whole; version 2 leaves the levels as they
 * are.
 */
#include <string.h>

#include "parquet/decode_int.h"

cr_code cr_pq_mem_need(cr_pq_mem *m, size_t size, size_t keep, size_t limit, const char *what,
                       cr_err *err) {
    if (size <= m->cap && m->p) return CR_OK; /* zero bytes need a valid pointer too */
    if (size > limit) {
        return cr_fail_why(err, CR_PQ_BUDGET,
                           cr_fail(err, CR_EDATA, "%s need %zu bytes, the budget is %zu", what,
                                   size, limit));
    }
    size_t cap = size + size / 4; /* pages of a column differ a little */
    if (cap > limit) cap = limit;
    void *p;
    CR_TRY(cr_try_alloc(&p, cap + CR_PQ_PAD, what, err));
    if (keep) memcpy(p, m->p, keep);
    cr_free(m->p);
    m->p = p;
    m->cap = cap;
    return CR_OK;
}

void cr_pq_mem_free(cr_pq_mem *m) {
    cr_free(m->p);
    *m = (cr_pq_mem){0};
}

/* ---- bytes ---- */

static cr_code check_crc(const cr_pq_page_head *h, const cr_pq_page_in *in, const uint8_t *body,
                         cr_err *err) {
    if (!h->has_crc || in->skip_crc) return CR_OK;
    uint32_t crc = in->k->crc(body, (size_t)h->size);
    if (crc == h->crc) return CR_OK;
    return cr_fail_why(err, CR_PQ_CHECKSUM,
                       cr_fail(err, CR_EDATA, "the page's checksum is %08x, its header says %08x",
                               crc, h->crc));
}

static cr_code decompress(const cr_pq_page_in *in, cr_pq_page_mem *mem, cr_pq_codec codec,
                          const uint8_t *body, size_t n, uint8_t *out, size_t out_n, cr_err *err) {
    double t = cr_now();
    cr_code code = cr_pq_decompress(&mem->codec, codec, body, n, out, out_n, err);
    *in->decompress += cr_now() - t;
    return code;
}

static bool is_text(const cr_pq_node *node, int encoding) {
    return node->type == CR_PQ_BYTES && (encoding == CR_PQ_PLAIN || encoding == CR_PQ_DELTA_LENGTH);
}

/* text_limit: the text of a vector is addressed with 32 bits. */
static size_t text_limit(const cr_pq_page_in *in) {
    const size_t max = UINT32_MAX - CR_PQ_PAD;
    return in->budget < max ? in->budget : max;
}

/* place_body gives the decompressed bytes of the page from `from` on. */
static cr_code place_body(cr_pq_page *page, const cr_pq_page_in *in, const uint8_t *body,
                          size_t from, cr_pq_page_mem *mem, const uint8_t **out, size_t *out_n,
                          cr_err *err) {
    const cr_pq_page_head *h = &page->head;
    size_t n = (size_t)h->size - from, raw_n = (size_t)h->raw_size - from;
    bool packed = in->codec != CR_PQ_RAW && (h->type != CR_PQ_DATA2 || h->compressed);
    if (!packed && n != raw_n)
        return cr_fail(err, CR_EDATA, "an uncompressed page has %zu bytes, its header says %zu", n,
                       raw_n);
    *out = body + from;
    *out_n = raw_n;
    page->text_n = 0;
    bool text = is_text(in->node, h->encoding);
    if (!packed && !text) return CR_OK;
    uint8_t *to;
    if (text) {
        CR_TRY(cr_pq_mem_need(&mem->text, in->text_at + raw_n, in->text_at, text_limit(in),
                              "the strings of a vector", err));
        page->text_at = in->text_at;
        page->text_n = raw_n;
        to = mem->text.p + in->text_at;
    } else {
        CR_TRY(cr_pq_mem_need(&mem->raw, raw_n, 0, in->budget, "the bytes of a page", err));
        to = mem->raw.p;
    }
    CR_TRY(decompress(in, mem, packed ? in->codec : CR_PQ_RAW, body + from, n, to, raw_n, err));
    *out = to;
    return CR_OK;
}

/* ---- levels ---- */

/* levels1 reads the levels of a page of version 1 and moves *p and *n beyond them. */
static cr_code levels1(cr_pq_levels *l, const cr_pq_page_in *in, int max, int encoding,
                       int32_t n_values, const uint8_t **p, size_t *n, cr_err *err) {
    size_t size = 0;
    cr_pq_level_form form = CR_PQ_LV_NONE;
    if (max > 0 && encoding == CR_PQ_RLE) {
        uint32_t len;
        form = CR_PQ_LV_RLE;
        if (*n < 4) return cr_fail(err, CR_EDATA, "the page ends before its levels do");
        memcpy(&len, *p, 4);
        *p += 4;
        *n -= 4;
        size = len;
    } else if (max > 0 && encoding == CR_PQ_BIT_PACKED) {
        form = CR_PQ_LV_BITS;
        size = ((size_t)n_values * (size_t)cr_pq_level_bits(max) + 7) / 8;
    } else if (max > 0) {
        return cr_fail(err, CR_EDATA, "levels cannot have the encoding %s",
                       cr_pq_encoding_name(encoding));
    }
    if (size > *n) return cr_fail(err, CR_EDATA, "the page ends before its levels do");
    cr_pq_levels_init(l, in->k, form, max, *p, size);
    *p += size;
    *n -= size;
    return CR_OK;
}

/* ---- values ---- */

static const char text_short[] = "strings go beyond the end of their page";

/* open_deltas reads the list of numbers, one per string, that begins a page of strings at p, into
 * `to`. mem->beg and mem->fin have room for as many. */
static cr_code open_deltas(cr_pq_page *page, const cr_pq_page_in *in, const uint8_t *p, size_t n,
                           cr_pq_page_mem *mem, const cr_pq_mem *to, size_t *count, cr_err *err) {
    cr_pq_delta *d = &page->v.delta;
    const char *bad = cr_pq_delta_init(d, in->k, p, n);
    uint64_t k = bad ? 0 : cr_pq_delta_count(d);
    if (!bad && k > (uint64_t)page->head.n_values) bad = "there are more strings than values";
    if (bad) return cr_fail(err, CR_EDATA, "%s", bad);
    size_t size = (size_t)k * sizeof(uint32_t);
    CR_TRY(cr_pq_mem_need(&mem->beg, size, 0, in->budget, "the strings of a page", err));
    CR_TRY(cr_pq_mem_need(&mem->fin, size, 0, in->budget, "the strings of a page", err));
    bad = cr_pq_delta_get32(d, (void *)to->p, (size_t)k);
    *count = (size_t)k;
    return bad ? cr_fail(err, CR_EDATA, "%s", bad) : CR_OK;
}

/* open_lengths finds the strings of DELTA_LENGTH_BYTE_ARRAY; `begin` is the page, p its values. */
static cr_code open_lengths(cr_pq_page *page, const cr_pq_page_in *in, const uint8_t *begin,
                            const uint8_t *p, size_t n, cr_pq_page_mem *mem, cr_err *err) {
    cr_pq_values *v = &page->v;
    size_t count;
    CR_TRY(open_deltas(page, in, p, n, mem, &mem->fin, &count, err));
    uint32_t *beg = (void *)mem->beg.p, *fin = (void *)mem->fin.p;
    size_t at = (size_t)(cr_pq_delta_end(&v->delta) - begin), end = (size_t)(p - begin) + n;
    for (size_t i = 0; i < count; i++) {
        if (fin[i] > end - at) return cr_fail(err, CR_EDATA, text_short);
        beg[i] = (uint32_t)at;
        at += fin[i];
        fin[i] = (uint32_t)at;
    }
    *v = (cr_pq_values){.form = CR_PQ_F_OFFSETS, .beg = beg, .fin = fin, .n = count};
    return CR_OK;
}

/* open_prefixes reads DELTA_BYTE_ARRAY, where each value is a prefix of the previous value and a
 * suffix. The values are written out in full, so the sum of their lengths is checked first. */
static cr_code open_prefixes(cr_pq_page *page, const cr_pq_page_in *in, const uint8_t *p, size_t n,
                             cr_pq_page_mem *mem, cr_err *err) {
    cr_pq_values *v = &page->v;
    const uint8_t *page_end = p + n;
    size_t count;
    CR_TRY(open_deltas(page, in, p, n, mem, &mem->beg, &count, err));
    uint32_t *beg = (void *)mem->beg.p, *fin = (void *)mem->fin.p;
    p = cr_pq_delta_end(&v->delta);
    const char *bad = cr_pq_delta_init(&v->delta, in->k, p, (size_t)(page_end - p));
    if (!bad && cr_pq_delta_count(&v->delta) != count)
        bad = "prefixes and suffixes differ in number";
    if (!bad) bad = cr_pq_delta_get32(&v->delta, fin, count);
    if (bad) return cr_fail(err, CR_EDATA, "%s", bad);
    p = cr_pq_delta_end(&v->delta);

    bool fixed = in->node->type == CR_PQ_FIXED;
    size_t width = (size_t)in->node->type_length;
    uint64_t left = (uint64_t)(page_end - p), before = 0, total = 0;
    for (size_t i = 0; i < count; i++) {
        if (fin[i] > left) return cr_fail(err, CR_EDATA, text_short);
        if (beg[i] > before)
            return cr_fail(err, CR_EDATA, "a prefix is longer than the value before");
        left -= fin[i];
        before = (uint64_t)beg[i] + fin[i];
        total += before;
        if (fixed && before != width)
            return cr_fail(err, CR_EDATA, "a value does not have the length of its type");
    }
    const size_t limit = text_limit(in);
    const size_t from = fixed ? 0 : in->text_at;
    cr_pq_mem *to = fixed ? &mem->tmp : &mem->text;
    if (total > limit - from) total = (uint64_t)limit + 1 - from; /* the next line refuses it */
    CR_TRY(cr_pq_mem_need(to, from + (size_t)total, from, limit, "the strings of a vector", err));
    uint8_t *out = to->p + from;
    size_t at = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t head = beg[i], tail = fin[i];
        /* the prefix is never longer than the previous value */
        if (head) memcpy(out + at, out + last, head);
        memcpy(out + at + head, p, tail);
        p += tail;
        last = at;
        beg[i] = (uint32_t)at;
        at += head + tail;
        fin[i] = (uint32_t)at;
    }
    if (fixed) {
        *v = (cr_pq_values){.form = CR_PQ_F_FIXED, .p = out, .end = out + at};
    } else {
        page->text_at = from;
        page->text_n = at;
        *v = (cr_pq_values){.form = CR_PQ_F_OFFSETS, .beg = beg, .fin = fin, .n = count};
    }
    return CR_OK;
}

static cr_code open_dict(cr_pq_values *v, const cr_pq_page_in *in, const uint8_t *p, size_t n,
                         cr_err *err) {
    if (!in->dict) return cr_fail(err, CR_EDATA, "values refer to a dictionary that is not there");
    int bw = p[0];
    if (bw > 32) return cr_fail(err, CR_EDATA, "codes of a dictionary have %d bits", bw);
    v->form = CR_PQ_F_DICT;
    v->dict = in->dict;
    cr_pq_rle_init(&v->rle, in->k, p + 1, n - 1, bw);
    return CR_OK;
}

static cr_code open_runs(cr_pq_values *v, const cr_pq_page_in *in, const uint8_t *p, size_t n,
                         cr_err *err) {
    uint32_t len = 0;
    if (n >= 4) memcpy(&len, p, 4);
    if (n < 4 || len > n - 4)
        return cr_fail(err, CR_EDATA, "booleans go beyond the end of their page");
    v->form = CR_PQ_F_RLE;
    cr_pq_rle_init(&v->rle, in->k, p + 4, len, 1);
    return CR_OK;
}

static cr_code open_values(cr_pq_page *page, const cr_pq_page_in *in, const uint8_t *begin,
                           const uint8_t *p, size_t n, cr_pq_page_mem *mem, cr_err *err) {
    cr_pq_values *v = &page->v;
    const cr_pq_type t = in->node->type;
    const int width = cr_pq_width(t, in->node->type_length), e = page->head.encoding;
    cr_code code = CR_OK;
    bool known = true;
    v->form = CR_PQ_F_NONE;
    v->p = p;
    v->end = p + n;
    v->at = 0;
    v->n = n;
    if (n == 0) {
        /* all values are null, or the page is empty */
    } else if (e == CR_PQ_PLAIN) {
        v->form = t == CR_PQ_BOOL ? CR_PQ_F_BITS : t == CR_PQ_BYTES ? CR_PQ_F_TEXT : CR_PQ_F_FIXED;
        if (t == CR_PQ_BYTES) {
            v->at = (size_t)(p - begin);
            v->n = v->at + n;
        }
    } else if ((e == CR_PQ_PLAIN_DICT || e == CR_PQ_RLE_DICT) && t != CR_PQ_BOOL) {
        code = open_dict(v, in, p, n, err);
    } else if (e == CR_PQ_RLE && t == CR_PQ_BOOL) {
        code = open_runs(v, in, p, n, err);
    } else if (e == CR_PQ_DELTA_BINARY && (t == CR_PQ_I32 || t == CR_PQ_I64)) {
        v->form = CR_PQ_F_DELTA;
        const char *bad = cr_pq_delta_init(&v->delta, in->k, p, n);
        if (bad) code = cr_fail(err, CR_EDATA, "%s", bad);
    } else if (e == CR_PQ_SPLIT && t != CR_PQ_BOOL && t != CR_PQ_BYTES && t != CR_PQ_I96) {
        v->form = CR_PQ_F_SPLIT;
        v->n = n / (size_t)width;
        if (n % (size_t)width)
            code = cr_fail(err, CR_EDATA, "%zu bytes are no whole number of split values", n);
    } else if (e == CR_PQ_DELTA_LENGTH && t == CR_PQ_BYTES) {
        code = open_lengths(page, in, begin, p, n, mem, err);
    } else if (e == CR_PQ_DELTA_BYTES && (t == CR_PQ_BYTES || t == CR_PQ_FIXED)) {
        code = open_prefixes(page, in, p, n, mem, err);
    } else {
        known = false;
    }
    v->k = in->k;
    v->type = t;
    v->width = width;
    if (known) return code;
    return cr_fail(err, CR_EDATA, "%s values cannot have the encoding %s", cr_pq_type_name(t),
                   cr_pq_encoding_name(e));
}

cr_code cr_pq_page_open(cr_pq_page *page, const cr_pq_page_in *in, const uint8_t *body,
                        cr_pq_page_mem *mem, cr_err *err) {
    const cr_pq_page_head *h = &page->head;
    const int max_rep = in->node->max_rep, max_def = in->node->max_def;
    const uint8_t *begin = NULL, *p;
    size_t n = 0, levels = 0;
    page->levels_in_text = false;
    CR_TRY(check_crc(h, in, body, err));
    if (h->type == CR_PQ_DATA2) {
        size_t rep = (size_t)h->rep_size, def = (size_t)h->def_size;
        levels = rep + def;
        if (levels > (size_t)h->size || levels > (size_t)h->raw_size)
            return cr_fail(err, CR_EDATA, "the page ends before its levels do");
        cr_pq_levels_init(&page->rep, in->k, CR_PQ_LV_RLE, max_rep, body, rep);
        cr_pq_levels_init(&page->def, in->k, CR_PQ_LV_RLE, max_def, body + rep, def);
    }
    CR_TRY(place_body(page, in, body, levels, mem, &begin, &n, err));
    p = begin;
    if (h->type == CR_PQ_DATA1) {
        CR_TRY(levels1(&page->rep, in, max_rep, h->rep_encoding, h->n_values, &p, &n, err));
        CR_TRY(levels1(&page->def, in, max_def, h->def_encoding, h->n_values, &p, &n, err));
        page->levels_in_text = page->text_n > 0;
    }
    return open_values(page, in, begin, p, n, mem, err);
}

cr_code cr_pq_dict_open(cr_pq_dict *dict, const cr_pq_page_head *h, const cr_pq_page_in *in,
                        const uint8_t *body, cr_pq_mem *v, cr_pq_page_mem *mem, size_t *text_n,
                        cr_err *err) {
    const cr_pq_type t = in->node->type;
    const size_t width = (size_t)cr_pq_width(t, in->node->type_length);
    const size_t n = (size_t)h->n_values, raw_n = (size_t)h->raw_size;
    *dict = (cr_pq_dict){0};
    *text_n = 0;
    if (h->encoding != CR_PQ_PLAIN && h->encoding != CR_PQ_PLAIN_DICT)
        return cr_fail(err, CR_EDATA, "a dictionary cannot have the encoding %s",
                       cr_pq_encoding_name(h->encoding));
    if (t == CR_PQ_BOOL) return cr_fail(err, CR_EDATA, "booleans cannot have a dictionary");
    CR_TRY(check_crc(h, in, body, err));
    if (n > raw_n / (t == CR_PQ_BYTES ? 4 : width))
        return cr_fail(err, CR_EDATA, "a dictionary of %zu values has only %zu bytes", n, raw_n);
    cr_pq_mem *to = t == CR_PQ_BYTES ? &mem->text : v;
    CR_TRY(cr_pq_mem_need(to, raw_n, 0, in->budget, "the bytes of a dictionary", err));
    CR_TRY(decompress(in, mem, in->codec, body, (size_t)h->size, to->p, raw_n, err));
    dict->n = (int64_t)n;
    dict->v = v->p;
    if (t != CR_PQ_BYTES) return CR_OK;
    size_t half = n * sizeof(uint32_t) + CR_PQ_PAD, at = 0;
    CR_TRY(cr_pq_mem_need(v, 2 * half, 0, in->budget, "the places in a dictionary", err));
    uint32_t *beg = (void *)v->p, *end = (void *)(v->p + half);
    if (in->k->walk(to->p, &at, raw_n, 0, beg, end, n) < n)
        return cr_fail(err, CR_EDATA,
                       "the strings of a dictionary go beyond the end of their page");
    dict->beg = beg;
    dict->end = end;
    *text_n = raw_n;
    return CR_OK;
}
