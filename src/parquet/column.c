/*
 * column.c - a column of the row group that is being written: values go into a page, pages into a
 * chunk.
 *
 * A page collects levels and values: codes while the dictionary saves space, PLAIN values
 * otherwise. A full page is encoded and compressed at once. It ends between two rows, for the page
 * index.
 *
 * A dictionary is tried anew in every row group. It is kept as long as the codes of a page and the
 * entries that the page added take less space than the page's values would. The first page that
 * takes more ends the dictionary of the chunk.
 */
#include <string.h>

#include "parquet/decode_int.h"
#include "parquet/encode_int.h"

cr_code cr_pq_col_fail(cr_pq_writer *w, const cr_pq_col *c, cr_err *err, const char *why) {
    w->failed = true;
    return cr_fail_at(err, CR_EDATA, ((cr_loc){w->path, 0, 0}), "column '%s': %s", c->node->path,
                      why);
}

/* reserve makes room for `more` bytes. Want of memory is an error and does not end the process,
 * because values are as long as the user's data. */
static cr_code reserve(cr_buf *b, size_t more, cr_err *err) {
    if (b->cap > b->n && more < b->cap - b->n) return CR_OK;
    size_t cap = b->n + more + 1 > 2 * b->cap ? b->n + more + 1 : 2 * b->cap;
    void *p;
    CR_TRY(cr_try_alloc(&p, cap, "a page of Parquet", err));
    cr_buf old = *b;
    b->data = p;
    b->cap = cap;
    if (old.n) memcpy(b->data, old.data, old.n);
    if (old.cap) cr_free(old.data);
    return CR_OK;
}

/* ---- values into a page ---- */

static void *room_for_codes(cr_pq_col *c, size_t n) {
    if (!c->codes || c->cap_codes - c->n_codes < n) { /* zero codes need a valid pointer too */
        size_t cap = c->n_codes + n + 1;
        if (cap < 2 * c->cap_codes) cap = 2 * c->cap_codes;
        c->codes = cr_realloc(c->codes, c->n_codes * sizeof(*c->codes), cap * sizeof(*c->codes),
                              "codes of a page");
        c->cap_codes = cap;
    }
    return c->codes + c->n_codes;
}

/* end_dict turns the codes of the page into values, and the dictionary back into what it was before
 * the page. */
static cr_code end_dict(cr_pq_col *c, cr_err *err) {
    CR_TRY(reserve(&c->plain, c->plain_size, err));
    cr_pq_wdict_expand(&c->dict, c->codes, c->n_codes, &c->plain);
    cr_pq_wdict_back(&c->dict);
    c->coded = false;
    c->n_codes = 0;
    return CR_OK;
}

static cr_code add_fixed(cr_pq_col *c, const uint8_t *p, size_t n, cr_err *err) {
    size_t done = 0;
    if (c->coded) {
        done = cr_pq_wdict_fixed(&c->dict, p, n, room_for_codes(c, n));
        c->n_codes += done;
        c->plain_size += done * c->width;
        if (done < n) CR_TRY(end_dict(c, err));
    }
    if (done < n) {
        size_t size = (n - done) * c->width;
        CR_TRY(reserve(&c->plain, size, err));
        cr_buf_add(&c->plain, p + done * c->width, size);
        c->plain_size += size;
    }
    return CR_OK;
}

#define PACK_VALID(T)                                                                              \
    do {                                                                                           \
        const T *from_ = (const T *)(const void *)p;                                               \
        T *to_ = (T *)(void *)w->packed.data;                                                      \
        for (size_t i_ = 0; i_ < n; i_++) {                                                        \
            to_[k] = from_[i_];                                                                    \
            k += valid[i_] != 0;                                                                   \
        }                                                                                          \
    } while (0)

/* pack_valid puts the values without the nulls side by side into w->packed. */
static cr_code pack_valid(cr_pq_writer *w, const cr_pq_col *c, const uint8_t *p,
                          const uint8_t *valid, size_t n, size_t *count, cr_err *err) {
    size_t k = 0;
    cr_buf_reset(&w->packed);
    CR_TRY(reserve(&w->packed, (n + 1) * c->width, err));
    switch (c->width) {
    case 1: PACK_VALID(uint8_t); break;
    case 4: PACK_VALID(uint32_t); break;
    case 8: PACK_VALID(uint64_t); break;
    default:
        for (size_t i = 0; i < n; i++) {
            memcpy(w->packed.data + k * c->width, p + i * c->width, c->width);
            k += valid[i] != 0;
        }
    }
    *count = k;
    return CR_OK;
}

/* new_names returns an array that will hold our code of each entry of the vector's dictionary; none
 * is known yet. NULL: the vector has no dictionary, or one with more entries than values, so that
 * looking up each value is less work. */
static uint32_t *new_names(cr_pq_writer *w, const cr_pq_vec *v, int64_t n) {
    if (!v->code || v->n_dict > n) return NULL;
    size_t size = (size_t)v->n_dict * sizeof(*w->names);
    if (w->cap_names < size) {
        cr_free(w->names);
        w->names = cr_alloc(2 * size, "codes of a dictionary");
        w->cap_names = 2 * size;
    }
    memset(w->names, 0xff, size);
    return w->names;
}

static cr_code add_bytes(cr_pq_writer *w, cr_pq_col *c, const cr_pq_vec *v, int64_t from, int64_t n,
                         size_t size, cr_err *err) {
    uint32_t *codes = c->coded ? room_for_codes(c, (size_t)n) : NULL;
    uint32_t *names = codes ? new_names(w, v, n) : NULL;
    if (!c->coded) CR_TRY(reserve(&c->plain, size, err));
    for (int64_t i = from; i < from + n; i++) {
        if (v->valid && !v->valid[i]) continue;
        int64_t k = v->code ? (int64_t)v->code[i] : i;
        const char *p = v->bytes + v->beg[k];
        uint32_t len = v->end[k] - v->beg[k];
        if (codes) {
            uint32_t code = names ? names[k] : CR_PQ_NO_CODE;
            if (code == CR_PQ_NO_CODE) code = cr_pq_wdict_bytes(&c->dict, p, len);
            if (code != CR_PQ_NO_CODE) {
                if (names) names[k] = code;
                *codes++ = code;
                c->n_codes++;
                c->plain_size += 4 + (size_t)len;
                continue;
            }
            codes = NULL;
            CR_TRY(end_dict(c, err));
            CR_TRY(reserve(&c->plain, size, err));
        }
        cr_buf_add(&c->plain, &len, 4);
        cr_buf_add(&c->plain, p, len);
        c->plain_size += 4 + (size_t)len;
    }
    return CR_OK;
}

size_t cr_pq_col_size(const cr_pq_col *c, const cr_pq_vec *v, int64_t from, int64_t n) {
    int64_t first, slots;
    cr_pq_slots(v, from, from + n, &first, &slots);
    size_t size = (size_t)slots * (c->width ? c->width : 4);
    if (c->shape.max_def) size += (size_t)(slots > n ? slots : n);
    if (c->width) return size;
    for (int64_t i = first; i < first + slots; i++) {
        if (v->valid && !v->valid[i]) continue;
        int64_t k = v->code ? (int64_t)v->code[i] : i;
        size += v->end[k] - v->beg[k];
    }
    return size;
}

cr_code cr_pq_col_add(cr_pq_writer *w, cr_pq_col *c, int64_t n, size_t size, cr_err *err) {
    const cr_pq_vec *v = c->walk.v;
    int64_t first, slots, levels;
    cr_pq_slots(v, c->walk.row, c->walk.row + n, &first, &slots);
    CR_TRY(reserve(&c->def, (size_t)(n + slots), err));
    const char *bad = cr_pq_shred(&c->walk, &c->shape, n, &c->def, &c->rep, &levels);
    if (bad) return cr_pq_col_fail(w, c, err, bad);
    size_t count = (size_t)slots;
    if (c->width) {
        const uint8_t *p = v->v.b8 + (size_t)first * c->width;
        if (v->valid) {
            CR_TRY(pack_valid(w, c, p, v->valid + first, count, &count, err));
            p = (const uint8_t *)w->packed.data;
        }
        CR_TRY(add_fixed(c, p, count, err));
    } else {
        for (int64_t i = first; v->valid && i < first + slots; i++)
            count -= !v->valid[i];
        CR_TRY(add_bytes(w, c, v, first, slots, size, err));
    }
    c->n_levels += levels;
    c->n_values += (int64_t)count;
    c->n_rows += n;
    return CR_OK;
}

/* ---- a page into the chunk ---- */

/* put_levels writes levels; a page of version 1 has their length in front. */
static size_t put_levels(cr_buf *b, const cr_buf *levels, int max, bool with_length) {
    size_t at = b->n;
    if (max == 0) return 0;
    if (with_length) cr_buf_add(b, "\0\0\0", 4);
    size_t from = b->n;
    cr_pq_put_rle8(b, (const uint8_t *)levels->data, levels->n, cr_pq_level_bits(max));
    uint32_t size = (uint32_t)(b->n - from);
    if (with_length) memcpy(b->data + at, &size, 4);
    return size;
}

static int code_bits(uint32_t n) {
    return n > 2 ? 32 - __builtin_clz(n - 1) : 1;
}

/* put_plain writes values that are not codes, and returns the encoding. */
static int put_plain(cr_pq_writer *w, cr_pq_col *c) {
    cr_buf *b = &w->raw;
    const cr_buf *v = &c->plain;
    size_t n = (size_t)c->n_values, at = b->n;
    bool v2 = w->opts.page_version == 2;
    if (c->node->type == CR_PQ_BOOL) {
        if (v2) {
            cr_buf_add(b, "\0\0\0", 4);
            cr_pq_put_rle8(b, (const uint8_t *)v->data, n, 1);
            uint32_t size = (uint32_t)(b->n - at - 4);
            memcpy(b->data + at, &size, 4);
            if (size + 4 < (n + 7) / 8) return CR_PQ_RLE;
            b->n = at;
        }
        cr_pq_put_bools(b, (const uint8_t *)v->data, n);
        return CR_PQ_PLAIN;
    }
    if (v2 && (c->node->type == CR_PQ_I32 || c->node->type == CR_PQ_I64)) {
        cr_pq_put_delta(b, v->data, n, c->width == 8);
        if (b->n - at < v->n / 4 * 3) return CR_PQ_DELTA_BINARY;
        b->n = at;
    }
    /* DuckDB knows this encoding only for texts and bytes */
    if (v2 && c->node->type == CR_PQ_BYTES && c->node->logical.kind != CR_PQ_DECIMAL) {
        cr_pq_put_delta_length(b, (const uint8_t *)v->data, n);
        if (b->n - at < v->n) return CR_PQ_DELTA_LENGTH;
        b->n = at;
    }
    cr_buf_add(b, v->data, v->n);
    return CR_PQ_PLAIN;
}

static void page_range(cr_pq_writer *w, const cr_pq_col *c, cr_pq_range *r) {
    memset(r, 0, sizeof(*r));
    if (w->opts.no_stats || c->n_values == 0) return;
    if (!c->coded) {
        cr_pq_range_add(r, c->node, (const uint8_t *)c->plain.data, (size_t)c->n_values, NULL);
        return;
    }
    if (w->cap_seen < c->dict.n) {
        cr_free(w->seen);
        w->cap_seen = 2 * (size_t)c->dict.n;
        w->seen = cr_alloc(w->cap_seen, "entries of a dictionary");
    }
    memset(w->seen, 0, c->dict.n);
    for (size_t i = 0; i < c->n_codes; i++)
        w->seen[c->codes[i]] = 1;
    cr_pq_range_add(r, c->node, (const uint8_t *)c->dict.plain.data, c->dict.n, w->seen);
}

cr_code cr_pq_col_put_page(cr_pq_writer *w, const cr_pq_col *c, cr_pq_page_head *h, size_t plain,
                           cr_buf *out, cr_err *err) {
    const cr_buf *raw = &w->raw;
    cr_buf *body = &w->packed;
    if (raw->n > INT32_MAX)
        return cr_pq_col_fail(w, c, err,
                              "a page of 2 GiB is the largest that can be; write shorter rows");
    cr_buf_reset(body);
    CR_TRY(reserve(body, raw->n + raw->n / 8 + 1024, err));
    cr_buf_add(body, raw->data, plain);
    h->raw_size = (int32_t)raw->n;
    h->compressed = w->opts.codec != CR_PQ_RAW;
    if (h->compressed) {
        cr_err why;
        if (cr_pq_compress(w->opts.codec, w->opts.level, raw->data + plain, raw->n - plain, body,
                           &why) != CR_OK)
            return cr_pq_col_fail(w, c, err, why.msg);
        if (h->type == CR_PQ_DATA2 && body->n >= raw->n) h->compressed = false;
    }
    if (!h->compressed) {
        body->n = plain;
        cr_buf_add(body, raw->data + plain, raw->n - plain);
    }
    if (body->n > INT32_MAX)
        return cr_pq_col_fail(w, c, err,
                              "a page of 2 GiB is the largest that can be; write shorter rows");
    h->size = (int32_t)body->n;
    h->has_crc = !w->opts.no_crc;
    if (h->has_crc)
        h->crc = cr_pq_kern_for(cr_cpu_level_max())->crc((const uint8_t *)body->data, body->n);
    cr_buf_reset(&w->head);
    cr_pq_put_page_head(&w->head, h);
    CR_TRY(reserve(out, w->head.n + body->n, err));
    cr_buf_add(out, w->head.data, w->head.n);
    cr_buf_add(out, body->data, body->n);
    return CR_OK;
}

static cr_pq_page_info *next_info(cr_pq_col *c) {
    if (c->n_pages == c->cap_pages) {
        int cap = c->cap_pages ? 2 * c->cap_pages : 8;
        c->info = cr_realloc(c->info, (size_t)c->cap_pages * sizeof(*c->info),
                             (size_t)cap * sizeof(*c->info), "a list of pages");
        c->cap_pages = cap;
    }
    return &c->info[c->n_pages++];
}

static void begin_page(cr_pq_col *c) {
    cr_buf_reset(&c->def);
    cr_buf_reset(&c->rep);
    cr_buf_reset(&c->plain);
    c->n_codes = 0;
    c->n_levels = c->n_values = c->n_rows = 0;
    c->plain_size = 0;
    cr_pq_wdict_mark(&c->dict);
}

cr_code cr_pq_col_end_page(cr_pq_writer *w, cr_pq_col *c, cr_err *err) {
    if (c->n_rows == 0) return CR_OK;
    bool v2 = w->opts.page_version == 2;
    cr_pq_page_head h = {.type = v2 ? CR_PQ_DATA2 : CR_PQ_DATA1,
                         .n_values = (int32_t)c->n_levels,
                         .def_encoding = CR_PQ_RLE,
                         .rep_encoding = CR_PQ_RLE,
                         .n_nulls = (int32_t)(c->n_levels - c->n_values),
                         .n_rows = (int32_t)c->n_rows,
                         .stats = {.n_null = -1, .n_distinct = -1}};
    if (c->n_levels > INT32_MAX)
        return cr_pq_col_fail(w, c, err, "one row has more than 2^31 values; write shorter lists");
    cr_buf *b = &w->raw;
    cr_buf_reset(b);
    CR_TRY(reserve(b, c->plain_size + c->def.n + c->rep.n + 64, err));
    h.rep_size = (int32_t)put_levels(b, &c->rep, c->shape.max_rep, !v2);
    h.def_size = (int32_t)put_levels(b, &c->def, c->shape.max_def, !v2);
    size_t levels = b->n;
    /* also for a page without values, which does not use the dictionary */
    h.encoding = CR_PQ_PLAIN;
    if (c->coded && c->n_values > 0) {
        int bits = code_bits(c->dict.n);
        cr_buf_char(b, (char)bits);
        cr_pq_put_rle32(b, c->codes, c->n_codes, bits);
        size_t added = c->dict.plain.n - c->dict.mark_bytes;
        if (b->n - levels + added < c->plain_size)
            h.encoding = CR_PQ_RLE_DICT;
        else {
            b->n = levels;
            CR_TRY(end_dict(c, err));
        }
    }
    if (!c->coded && c->n_values > 0) h.encoding = put_plain(w, c);

    cr_pq_range r;
    page_range(w, c, &r);
    size_t at = c->pages.n;
    CR_TRY(cr_pq_col_put_page(w, c, &h, v2 ? levels : 0, &c->pages, err));
    cr_pq_page_info *info = next_info(c);
    *info = (cr_pq_page_info){.offset = (int64_t)at,
                              .size = (int32_t)(c->pages.n - at),
                              .first_row = c->rows,
                              .stats = {.n_null = h.n_nulls, .n_distinct = -1},
                              .all_null = c->n_values == 0};
    if (!w->opts.no_stats) {
        cr_pq_range_stats(&r, c->node, &w->page_mem, &info->stats);
        cr_pq_range_merge(&c->range, &r, c->node);
    }
    /* a page that holds only NaN has values but no bounds: then there may be no column index */
    if (!info->all_null && !(info->stats.min && info->stats.max)) c->no_index = true;
    c->raw_size += (int64_t)w->head.n + h.raw_size;
    c->encodings |= 1u << h.encoding;
    if (c->shape.max_def) c->encodings |= 1u << CR_PQ_RLE;
    c->rows += c->n_rows;
    c->levels += c->n_levels;
    c->nulls += h.n_nulls;
    begin_page(c);
    return CR_OK;
}

void cr_pq_col_begin(cr_pq_writer *w, cr_pq_col *c) {
    cr_buf_reset(&c->pages);
    cr_pq_wdict_reset(&c->dict);
    c->coded = c->can_dict && !w->opts.no_dict;
    c->n_pages = 0;
    c->rows = c->levels = c->nulls = c->raw_size = 0;
    c->encodings = 0;
    memset(&c->range, 0, sizeof(c->range));
    c->no_index = w->opts.no_stats || cr_pq_order_of(c->node) == CR_PQ_ORDER_NONE;
    begin_page(c);
}

void cr_pq_col_init(cr_pq_writer *w, cr_pq_col *c, int node) {
    c->node = &w->meta.nodes[node];
    cr_pq_shape_levels_of(&w->meta, node, &c->shape);
    c->width = (size_t)cr_pq_width(c->node->type, c->node->type_length);
    c->can_dict = c->node->type != CR_PQ_BOOL;
    cr_pq_wdict_init(&c->dict, c->width, w->opts.page_bytes);
    cr_buf_init(&c->def);
    cr_buf_init(&c->rep);
    cr_buf_init(&c->plain);
    cr_buf_init(&c->pages);
    cr_pq_col_begin(w, c);
}

void cr_pq_col_clear(cr_pq_col *c) {
    cr_buf_clear(&c->def);
    cr_buf_clear(&c->rep);
    cr_buf_clear(&c->plain);
    cr_buf_clear(&c->pages);
    cr_free(c->codes);
    cr_free(c->info);
    cr_pq_wdict_clear(&c->dict);
}
