/*
 * cursor.c - column chunks made of random pages, read in random steps.
 *
 * A case is a leaf (any type, flat or in one to three lists, nulls of all kinds), random rows as
 * levels and values, and pages: both versions, every encoding the type may have, changing from page
 * to page, every codec, with and without checksum, empty pages, rows that go on in the next page.
 * The chunk is read whole, in steps, and from random rows; every vector is turned back into levels
 * and values and compared. Then the bytes are damaged: an error is fine, anything else is not.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "encode.h"
#include "parquet/decode_int.h"

enum { MAX_LEVELS = 6000, MAX_LEN = 40 };

typedef struct value {
    uint32_t len;
    uint8_t b[MAX_LEN];
} value;

typedef struct model {
    cr_pq_node nodes[16];
    int leaves[1];
    cr_pq_group group;
    cr_pq_chunk chunk;
    cr_pq_file file;
    cr_arena arena;
    int64_t n_rows, n_levels, n_values;
    uint8_t rep[MAX_LEVELS], def[MAX_LEVELS];
    int64_t row_at[MAX_LEVELS + 1]; /* first level of each row */
    value v[MAX_LEVELS];
    uint32_t code[MAX_LEVELS]; /* in the dictionary */
    int64_t n_dict;
    value dict[MAX_LEVELS];
    cr_buf bytes;
    char path[64];
    cr_pq_page_info pages[MAX_LEVELS];
    int n_pages;
} model;

/* ---- schema and rows ---- */

static void add_node(model *m, cr_pq_type t, cr_pq_rep rep, int n_children, int type_length) {
    m->nodes[m->file.meta.n_nodes++] = (cr_pq_node){.name = "x",
                                                    .type = t,
                                                    .rep = rep,
                                                    .n_children = n_children,
                                                    .type_length = type_length,
                                                    .field_id = -1};
}

/* depth lists; opt_list, opt_value, and `structs` optional groups around it all */
static void make_schema(model *m, cr_pq_type t, int type_length, int depth, bool opt_list,
                        bool opt_value, int structs) {
    cr_err err;
    m->file.meta = (cr_pq_meta){.nodes = m->nodes};
    add_node(m, CR_PQ_GROUP, CR_PQ_REQUIRED, 1, 0);
    for (int i = 0; i < structs; i++)
        add_node(m, CR_PQ_GROUP, CR_PQ_OPTIONAL, 1, 0);
    for (int i = 0; i < depth; i++) {
        add_node(m, CR_PQ_GROUP, opt_list ? CR_PQ_OPTIONAL : CR_PQ_REQUIRED, 1, 0);
        add_node(m, CR_PQ_GROUP, CR_PQ_REPEATED, 1, 0);
    }
    add_node(m, t, opt_value ? CR_PQ_OPTIONAL : CR_PQ_REQUIRED, 0, type_length);
    CHECK_INT(cr_pq_schema_finish(&m->file.meta, &m->arena, &err), CR_OK);
}

static const cr_pq_node *leaf_of(const model *m) {
    return &m->nodes[m->file.meta.leaves[0]];
}

static int width_of(const model *m) {
    return cr_pq_width(leaf_of(m)->type, leaf_of(m)->type_length);
}

static value any_value(const model *m, int64_t i, int style) {
    value x = {0};
    int w = width_of(m);
    x.len = w ? (uint32_t)w : style % 3 == 0 ? 5 : (uint32_t)e_below(MAX_LEN);
    for (uint32_t k = 0; k < x.len; k++)
        x.b[k] = (uint8_t)(style == 2 ? 'a' : e_rnd());
    if (w == 0 && x.len > 2) x.b[x.len - 1] = (uint8_t)i;
    if (leaf_of(m)->type == CR_PQ_BOOL) x.b[0] &= 1;
    if (style == 1 && (w == 4 || w == 8)) { /* numbers near each other */
        uint64_t near = (uint64_t)i * 3 + e_below(10);
        memcpy(x.b, &near, (size_t)w);
    }
    return x;
}

/* Emits the levels of one value, or of what is missing of it. rep: of the first level; node: the
 * schema node to go on from; def: so far. */
static void emit(model *m, int node, int rep, int def, int null_percent) {
    const cr_pq_node *n = &m->nodes[node];
    if (m->n_levels >= MAX_LEVELS - 200) null_percent = 100;
    if (n->rep == CR_PQ_REPEATED) {
        size_t items = e_below(100) < (size_t)null_percent ? 0 : e_below(4);
        if (e_below(200) == 0 && m->n_levels < MAX_LEVELS / 2) items = 300;
        if (items == 0) {
            m->rep[m->n_levels] = (uint8_t)rep;
            m->def[m->n_levels++] = (uint8_t)def;
        }
        for (size_t i = 0; i < items && m->n_levels < MAX_LEVELS - 100; i++)
            emit(m, node + 1, i ? n->max_rep : rep, def + 1, null_percent);
        return;
    }
    if (n->rep == CR_PQ_OPTIONAL) {
        if (e_below(100) < (size_t)null_percent) {
            m->rep[m->n_levels] = (uint8_t)rep;
            m->def[m->n_levels++] = (uint8_t)def;
            return;
        }
        def++;
    }
    if (n->type == CR_PQ_GROUP) {
        emit(m, node + 1, rep, def, null_percent);
        return;
    }
    m->rep[m->n_levels] = (uint8_t)rep;
    m->def[m->n_levels++] = (uint8_t)def;
    m->n_values++;
}

static void make_rows(model *m, int64_t n_rows, int null_percent, int style) {
    m->n_levels = m->n_values = m->n_rows = 0;
    while (m->n_rows < n_rows && m->n_levels < MAX_LEVELS - 400) {
        m->row_at[m->n_rows++] = m->n_levels;
        /* stretches without nulls and of nothing else */
        emit(m, 1, 0, 0, e_below(50) == 0 ? 100 : (m->n_rows / 100) % 3 == 1 ? 0 : null_percent);
    }
    m->row_at[m->n_rows] = m->n_levels;
    m->n_dict = 1 + (int64_t)e_below(style % 2 ? 5 : 300);
    for (int64_t i = 0; i < m->n_dict; i++)
        m->dict[i] = any_value(m, i, style);
    for (int64_t i = 0; i < m->n_values; i++) {
        m->code[i] = (uint32_t)e_below((size_t)m->n_dict);
        m->v[i] = m->dict[m->code[i]];
    }
}

/* ---- pages ---- */

static void put_plain(cr_buf *b, const model *m, const value *v, int64_t n) {
    cr_pq_type t = leaf_of(m)->type;
    if (t == CR_PQ_BOOL) {
        uint64_t *bits = cr_alloc((size_t)n * 8 + 8, "test");
        for (int64_t i = 0; i < n; i++)
            bits[i] = v[i].b[0];
        e_bits(b, bits, (size_t)n, 1);
        cr_free(bits);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (t == CR_PQ_BYTES) e_u32(b, v[i].len);
        cr_buf_add(b, v[i].b, v[i].len);
    }
}

static uint64_t as_int(const value *v) {
    uint64_t x = 0;
    memcpy(&x, v->b, v->len);
    return x;
}

static void put_lengths(cr_buf *b, const uint64_t *len, int64_t n) {
    e_delta(b, len, (size_t)n, 4, 128, 4, false);
}

static void put_values(cr_buf *b, const model *m, int encoding, int64_t from, int64_t n) {
    const value *v = m->v + from;
    uint64_t *x = cr_alloc((size_t)n * 8 + 8, "test"), *y = cr_alloc((size_t)n * 8 + 8, "test");
    switch (encoding) {
    case CR_PQ_PLAIN: put_plain(b, m, v, n); break;
    case CR_PQ_PLAIN_DICT:
    case CR_PQ_RLE_DICT: {
        int bw = cr_pq_level_bits((int)m->n_dict - 1) + (int)e_below(3);
        for (int64_t i = 0; i < n; i++)
            x[i] = m->code[from + i];
        e_byte(b, (unsigned)bw);
        e_rle(b, x, (size_t)n, bw, 0);
        break;
    }
    case CR_PQ_RLE: {
        cr_buf part;
        cr_buf_init(&part);
        for (int64_t i = 0; i < n; i++)
            x[i] = v[i].b[0];
        e_rle(&part, x, (size_t)n, 1, 0);
        e_u32(b, (uint32_t)part.n);
        cr_buf_add(b, part.data, part.n);
        cr_buf_clear(&part);
        break;
    }
    case CR_PQ_DELTA_BINARY:
        for (int64_t i = 0; i < n; i++)
            x[i] = as_int(&v[i]);
        e_delta(b, x, (size_t)n, width_of(m), 128, 4, e_below(2));
        break;
    case CR_PQ_DELTA_LENGTH:
        for (int64_t i = 0; i < n; i++)
            x[i] = v[i].len;
        put_lengths(b, x, n);
        for (int64_t i = 0; i < n; i++)
            cr_buf_add(b, v[i].b, v[i].len);
        break;
    case CR_PQ_DELTA_BYTES:
        for (int64_t i = 0; i < n; i++) {
            uint32_t same = 0;
            while (i && same < v[i].len && same < v[i - 1].len && v[i].b[same] == v[i - 1].b[same])
                same++;
            x[i] = same;
            y[i] = v[i].len - same;
        }
        put_lengths(b, x, n);
        put_lengths(b, y, n);
        for (int64_t i = 0; i < n; i++)
            cr_buf_add(b, v[i].b + x[i], (size_t)y[i]);
        break;
    case CR_PQ_SPLIT:
        for (int k = 0; k < width_of(m); k++) {
            for (int64_t i = 0; i < n; i++)
                e_byte(b, v[i].b[k]);
        }
        break;
    default: CHECK(false);
    }
    cr_free(x);
    cr_free(y);
}

static int any_encoding(const model *m, bool dict) {
    cr_pq_type t = leaf_of(m)->type;
    int may[8], n = 0;
    may[n++] = CR_PQ_PLAIN;
    if (dict && t != CR_PQ_BOOL) {
        may[n++] = CR_PQ_PLAIN_DICT;
        may[n++] = CR_PQ_RLE_DICT;
    }
    if (t == CR_PQ_BOOL) may[n++] = CR_PQ_RLE;
    if (t == CR_PQ_I32 || t == CR_PQ_I64) may[n++] = CR_PQ_DELTA_BINARY;
    if (t == CR_PQ_BYTES) may[n++] = CR_PQ_DELTA_LENGTH;
    if (t == CR_PQ_BYTES || t == CR_PQ_FIXED) may[n++] = CR_PQ_DELTA_BYTES;
    if (t != CR_PQ_BOOL && t != CR_PQ_BYTES && t != CR_PQ_I96) may[n++] = CR_PQ_SPLIT;
    return may[e_below((size_t)n)];
}

static void put_levels(cr_buf *b, const uint8_t *v, int64_t n, int max, int encoding) {
    uint64_t *x = cr_alloc((size_t)n * 8 + 8, "test");
    for (int64_t i = 0; i < n; i++)
        x[i] = v[i];
    if (encoding == CR_PQ_BIT_PACKED)
        e_bits_high(b, x, (size_t)n, cr_pq_level_bits(max));
    else
        e_rle(b, x, (size_t)n, cr_pq_level_bits(max), 0);
    cr_free(x);
}

static void put_page(model *m, cr_pq_page_head *h, cr_buf *levels, cr_buf *body, bool crc) {
    cr_buf packed;
    cr_err err;
    cr_buf_init(&packed);
    cr_buf_add(&packed, levels->data, levels->n);
    cr_pq_codec codec = h->type == CR_PQ_DATA2 && !h->compressed ? CR_PQ_RAW : m->chunk.codec;
    CHECK_INT(cr_pq_compress(codec, 0, body->data, body->n, &packed, &err), CR_OK);
    h->raw_size = (int32_t)(levels->n + body->n);
    h->size = (int32_t)packed.n;
    h->has_crc = crc;
    h->crc = (uint32_t)crc32(0, (const Bytef *)packed.data, (uInt)packed.n);
    cr_pq_put_page_head(&m->bytes, h);
    cr_buf_add(&m->bytes, packed.data, packed.n);
    cr_buf_clear(&packed);
}

/* levels [from, to) and their values, which begin at value v */
static int64_t put_data(model *m, int64_t from, int64_t to, int64_t v, int64_t rows, int version,
                        int encoding, bool crc) {
    const cr_pq_node *leaf = leaf_of(m);
    cr_buf body, levels;
    cr_buf_init(&body);
    cr_buf_init(&levels);
    int64_t n = to - from, n_values = 0;
    for (int64_t i = from; i < to; i++)
        n_values += m->def[i] == leaf->max_def;
    cr_pq_page_head h = {.type = version == 2 ? CR_PQ_DATA2 : CR_PQ_DATA1,
                         .n_values = (int32_t)n,
                         .encoding = encoding,
                         .compressed = e_below(4) != 0,
                         .n_nulls = (int32_t)(n - n_values),
                         .n_rows = (int32_t)rows,
                         .def_encoding = e_below(3) ? CR_PQ_RLE : CR_PQ_BIT_PACKED,
                         .rep_encoding = e_below(3) ? CR_PQ_RLE : CR_PQ_BIT_PACKED};
    for (int i = 0; i < 2; i++) {
        int max = i ? leaf->max_def : leaf->max_rep;
        int e = version == 2 ? CR_PQ_RLE : i ? h.def_encoding : h.rep_encoding;
        cr_buf part;
        cr_buf_init(&part);
        if (max) put_levels(&part, (i ? m->def : m->rep) + from, n, max, e);
        if (version == 2) {
            *(i ? &h.def_size : &h.rep_size) = (int32_t)part.n;
            cr_buf_add(&levels, part.data, part.n);
        } else if (max) {
            if (e == CR_PQ_RLE) e_u32(&body, (uint32_t)part.n);
            cr_buf_add(&body, part.data, part.n);
        }
        cr_buf_clear(&part);
    }
    if (n) m->pages[m->n_pages++] = (cr_pq_page_info){.offset = (int64_t)m->bytes.n};
    if (n_values || e_below(2)) put_values(&body, m, encoding, v, n_values);
    put_page(m, &h, &levels, &body, crc);
    if (n) {
        cr_pq_page_info *p = &m->pages[m->n_pages - 1];
        p->size = (int32_t)((int64_t)m->bytes.n - p->offset);
    }
    cr_buf_clear(&body);
    cr_buf_clear(&levels);
    return v + n_values;
}

static int64_t row_of(const model *m, int64_t level) { /* the first row at or behind it */
    int64_t r = 0;
    while (r < m->n_rows && m->row_at[r] < level)
        r++;
    return r;
}

/* version 0: mixed */
static void make_pages(model *m, cr_pq_codec codec, int version, bool dict, bool crc, size_t most) {
    cr_buf none, body;
    cr_buf_init(&none);
    cr_buf_init(&body);
    cr_buf_reset(&m->bytes);
    cr_buf_str(&m->bytes, "PAR1");
    m->chunk = (cr_pq_chunk){.codec = codec, .start = 4, .n_values = m->n_levels};
    if (dict && leaf_of(m)->type != CR_PQ_BOOL) {
        put_plain(&body, m, m->dict, m->n_dict);
        cr_pq_page_head h = {.type = CR_PQ_DICT,
                             .n_values = (int32_t)m->n_dict,
                             .encoding = e_below(2) ? CR_PQ_PLAIN : CR_PQ_PLAIN_DICT};
        put_page(m, &h, &none, &body, crc);
    }
    int64_t at = 0, v = 0;
    bool whole_rows = true; /* every page begins with a row: an index may say so */
    m->n_pages = 0;
    int encoding = any_encoding(m, dict);
    while (at < m->n_levels) {
        int ver = version ? version : 1 + (int)e_below(2);
        int64_t to = at + 1 + (int64_t)e_below(most);
        if (to > m->n_levels) to = m->n_levels;
        int64_t row = row_of(m, at), row_to = row_of(m, to);
        /* version 2 begins with a row; so a page before one ends there */
        if (ver == 2 || version == 0) to = m->row_at[row_to];
        if (e_below(10) == 0) (void)put_data(m, at, at, v, 0, ver, CR_PQ_PLAIN, crc); /* empty */
        if (e_below(3) == 0) encoding = any_encoding(m, dict);
        v = put_data(m, at, to, v, row_to - row, ver, encoding, crc);
        m->pages[m->n_pages - 1].first_row = row;
        whole_rows &= m->row_at[row] == at;
        at = to;
    }
    CHECK_INT(v, m->n_values);
    m->chunk.size = (int64_t)m->bytes.n - 4;
    if (whole_rows && e_below(2)) {
        cr_pq_index index = {.n_pages = m->n_pages, .pages = m->pages};
        m->chunk.offset_index = (int64_t)m->bytes.n;
        cr_pq_put_index(&m->bytes, NULL, &index, leaf_of(m));
        m->chunk.offset_index_size = (int)((int64_t)m->bytes.n - m->chunk.offset_index);
    }
    cr_buf_clear(&none);
    cr_buf_clear(&body);
}

/* ---- the file ---- */

static void write_file(model *m, size_t n) {
    FILE *f = fopen(m->path, "wb");
    CHECK(f != NULL);
    if (!f) return;
    CHECK(fwrite(m->bytes.data, 1, n, f) == n);
    CHECK(fwrite("footerPAR1", 1, 10, f) == 10);
    fclose(f);
}

/* the file as if its footer had been read */
static void open_file(model *m, size_t n) {
    m->group = (cr_pq_group){.n_rows = m->n_rows, .chunks = &m->chunk};
    m->file.path = m->path;
    CHECK_INT(cr_fs_open(&m->file.fs, m->path, NULL), CR_OK);
    m->file.size = (int64_t)n + 10;
    m->file.meta.footer_size = 2;
    m->file.meta.n_groups = 1;
    m->file.meta.groups = &m->group;
    m->file.meta.n_rows = m->n_rows;
    if (!m->file.opts.budget) m->file.opts.budget = 1 << 24;
}

static void close_file(model *m) {
    cr_fs_close(m->file.fs);
    m->file.fs = NULL;
}

static model *model_new(void) {
    model *m = cr_alloc(sizeof(*m), "test");
    cr_arena_init(&m->arena, 0);
    cr_buf_init(&m->bytes);
    snprintf(m->path, sizeof(m->path), "/tmp/crank-cursor-XXXXXX");
    int fd = mkstemp(m->path);
    CHECK(fd >= 0);
    close(fd);
    return m;
}
static void model_free(model *m) {
    unlink(m->path);
    cr_arena_clear(&m->arena);
    cr_buf_clear(&m->bytes);
    cr_free(m);
}

/* ---- what was read against what was written ---- */

/* from lists back to the levels they stand for */
static void walk_list(const cr_pq_vec *v, const cr_pq_nest *nest, int d, int64_t i, int rep,
                      const uint8_t *reps, const uint8_t *defs, int64_t *at, int64_t *next) {
    const cr_pq_list *l = &v->list[d];
    const int item = nest->item_def[d + 1];
    CHECK_INT(i, next[d]++);
    int32_t from = l->off[i], to = l->off[i + 1];
    if ((l->valid && !l->valid[i]) || from == to) {
        CHECK_INT(from, to);
        CHECK_INT(reps[*at], rep);
        if (l->valid && !l->valid[i])
            CHECK(defs[*at] < item - 1);
        else
            CHECK_INT(defs[*at], item - 1);
        ++*at;
        return;
    }
    for (int32_t j = from; j < to; j++) {
        int r = j == from ? rep : d + 1;
        if (d + 1 < v->depth) {
            walk_list(v, nest, d + 1, j, r, reps, defs, at, next);
            continue;
        }
        CHECK_INT(j, next[d + 1]++);
        CHECK_INT(reps[*at], r);
        CHECK(defs[*at] >= item);
        CHECK_INT(!v->valid || v->valid[j], defs[*at] == nest->max_def);
        ++*at;
    }
}

static void check_slot(const model *m, const cr_pq_vec *v, int64_t slot, const value *x) {
    static const value none;
    if (v->type == CR_PQ_BYTES) {
        if (!x && v->code) {
            CHECK_INT(v->code[slot], 0);
            return;
        }
        int64_t k = v->code ? v->code[slot] : slot;
        if (v->code) CHECK(k < v->n_dict);
        CHECK_INT(v->end[k] - v->beg[k], x ? x->len : 0);
        if (x && v->end[k] - v->beg[k] == x->len)
            CHECK(memcmp(v->bytes + v->beg[k], x->b, x->len) == 0);
    } else {
        size_t w = (size_t)width_of(m);
        CHECK(memcmp(v->v.b8 + (size_t)slot * w, x ? x->b : none.b, w) == 0);
    }
}

static void check_vec(const model *m, const cr_pq_vec *v, int how, int64_t row, int64_t n) {
    const cr_pq_node *leaf = leaf_of(m);
    cr_pq_nest nest;
    CHECK(cr_pq_nest_of(&m->file.meta, m->file.meta.leaves[0], &nest));
    int64_t from = m->row_at[row], to = m->row_at[row + n], slot = 0, x = 0, n_null = 0;
    for (int64_t i = 0; i < from; i++)
        x += m->def[i] == leaf->max_def;
    CHECK_INT(v->n_rows, n);
    CHECK_INT(v->depth, leaf->max_rep);
    CHECK_INT(v->type, leaf->type);
    int slots = 0;
    for (int64_t i = from; i < to; i++)
        slots += m->def[i] >= nest.item_def[leaf->max_rep];
    CHECK_INT(v->n, slots);
    if (v->n != slots || v->n_rows != n) return;
    for (int64_t i = from; i < to; i++) {
        if (m->def[i] < nest.item_def[leaf->max_rep]) continue;
        bool has = m->def[i] == leaf->max_def;
        CHECK_INT(!v->valid || v->valid[slot], has);
        check_slot(m, v, slot, has ? &m->v[x++] : NULL);
        n_null += !has;
        slot++;
    }
    CHECK_INT(v->n_null, n_null);
    CHECK_INT(v->valid != NULL, n_null > 0);
    if (v->depth || m->file.opts.keep_levels || how & CR_PQ_READ_LEVELS) {
        CHECK_INT(v->n_levels, to - from);
        CHECK(to == from || memcmp(v->def, m->def + from, (size_t)(to - from)) == 0);
    }
    if (v->depth) {
        int64_t at = 0, next[CR_PQ_MAX_DEPTH + 1] = {0};
        CHECK(to == from || memcmp(v->rep, m->rep + from, (size_t)(to - from)) == 0);
        CHECK_INT(v->list[0].n, n);
        for (int64_t i = 0; i < n; i++)
            walk_list(v, &nest, 0, i, 0, m->rep + from, m->def + from, &at, next);
        CHECK_INT(at, to - from);
        for (int d = 0; d < v->depth; d++)
            CHECK_INT(v->list[d].n, next[d]);
    }
}

static void read_all(model *m, cr_pq_cursor *c, int64_t step) {
    cr_err err;
    cr_pq_vec v;
    CHECK_INT(cr_pq_seek(c, &m->file, 0, 0, 0, &err), CR_OK);
    for (int64_t row = 0; row < m->n_rows;) {
        int64_t n = step ? step : 1 + (int64_t)e_below(300);
        int how = (int)e_below(4);
        cr_code code = cr_pq_read(c, n, how, &v, &err);
        if (code != CR_OK) fprintf(stderr, "%s\n", err.msg);
        CHECK_INT(code, CR_OK);
        if (code != CR_OK) return;
        if (n > m->n_rows - row) n = m->n_rows - row;
        check_vec(m, &v, how, row, n);
        row += n;
    }
    CHECK_INT(cr_pq_read(c, 10, true, &v, &err), CR_OK); /* nothing is left */
    CHECK_INT(v.n_rows, 0);
}

static void read_here_and_there(model *m, cr_pq_cursor *c) {
    cr_err err;
    cr_pq_vec v;
    for (int i = 0; i < 12; i++) {
        int64_t row = (int64_t)e_below((size_t)m->n_rows + 1);
        int64_t n = (int64_t)e_below(e_below(2) ? 10 : 2000);
        cr_code code = cr_pq_seek(c, &m->file, 0, 0, row, &err);
        int how = (int)e_below(4);
        if (code == CR_OK) code = cr_pq_read(c, n, how, &v, &err);
        if (code != CR_OK) fprintf(stderr, "%s\n", err.msg);
        CHECK_INT(code, CR_OK);
        if (code != CR_OK) return;
        check_vec(m, &v, how, row, n < m->n_rows - row ? n : m->n_rows - row);
    }
}

static const cr_pq_codec codecs[] = {CR_PQ_RAW, CR_PQ_SNAPPY, CR_PQ_ZSTD, CR_PQ_GZIP,
                                     CR_PQ_LZ4, CR_PQ_BROTLI, CR_PQ_RAW,  CR_PQ_SNAPPY};

static void make_case(model *m, cr_pq_type t, int depth, int round) {
    static const int lengths[] = {2, 4, 16, 7, 1, 33};
    static const int nulls[] = {0, 10, 50, 90};
    make_schema(m, t, t == CR_PQ_FIXED ? lengths[e_below(6)] : 0, depth, e_below(2), e_below(3),
                e_below(4) ? 0 : 1 + (int)e_below(2));
    make_rows(m, round % 5 == 0 ? (int64_t)e_below(3) : 1 + (int64_t)e_below(3000),
              nulls[e_below(4)], (int)e_below(3));
    make_pages(m, codecs[e_below(8)], (int)e_below(3), e_below(3), e_below(2),
               e_below(2) ? 200 : MAX_LEVELS);
    m->file.opts.keep_levels = e_below(4) == 0;
}

TEST(any_pages_any_steps) {
    model *m = model_new();
    cr_pq_cursor *c =
        cr_pq_cursor_new(); /* one for all: nothing of the last chunk may shine through */
    for (int level = 0; level <= (int)cr_cpu_level_max(); level++) {
        c->k = cr_pq_kern_for((cr_cpu_level)level);
        for (int t = CR_PQ_BOOL; t <= CR_PQ_FIXED; t++) {
            for (int round = 0; round < 24; round++) {
                make_case(m, (cr_pq_type)t, round % 4, round);
                write_file(m, m->bytes.n);
                open_file(m, m->bytes.n);
                read_all(m, c, 1 << 30);
                read_all(m, c, round % 3 == 0 ? 1 : 0);
                read_here_and_there(m, c);
                cr_pq_cursor_reset(c);
                close_file(m);
                if (t_failed_checks) {
                    fprintf(stderr, "level %d, type %d, round %d\n", level, t, round);
                    goto out;
                }
            }
        }
    }
out:
    cr_pq_cursor_free(c);
    model_free(m);
}

/* whatever one or more bytes are changed to, there are rows or one line */
TEST(damaged_pages) {
    model *m = model_new();
    cr_pq_cursor *c = cr_pq_cursor_new();
    int refused = 0;
    m->file.opts.budget = 1 << 20;
    for (int t = CR_PQ_BOOL; t <= CR_PQ_FIXED; t++) {
        for (int round = 0; round < 12; round++) {
            make_case(m, (cr_pq_type)t, round % 4, 1);
            m->file.opts.skip_crc = true; /* else that is all that is tested */
            size_t n = m->bytes.n;
            for (int i = 0; i < 40; i++) {
                size_t at[3], n_at = 1 + e_below(3), cut = i % 5 ? n : 5 + e_below(n - 5);
                char was[3];
                for (size_t k = 0; k < n_at; k++) {
                    at[k] = 4 + e_below(i % 2 ? n - 4 : n < 104 ? n - 4 : 100);
                    was[k] = m->bytes.data[at[k]];
                    uint8_t x = (uint8_t)e_rnd();
                    if (e_below(3) == 0) x = (uint8_t)((uint8_t)was[k] ^ 1u << e_below(8));
                    m->bytes.data[at[k]] = (char)x;
                }
                if (cut < n) m->chunk.offset_index = 0; /* opening would have refused it */
                write_file(m, cut);
                open_file(m, cut);
                cr_err err;
                cr_pq_vec v;
                cr_code code = cr_pq_seek(c, &m->file, 0, 0, i % 3 ? 0 : m->n_rows / 2, &err);
                while (code == CR_OK) {
                    code = cr_pq_read(c, i % 2 ? 100 : 1 << 30, i % 4 == 0, &v, &err);
                    if (code == CR_OK && v.n_rows == 0) break;
                }
                if (code != CR_OK) {
                    refused++;
                    CHECK_INT(code, CR_EDATA);
                    char text[1024];
                    cr_err_text(&err, text, sizeof(text));
                    bool placed = strstr(text, m->path) && strstr(text, "column 'x");
                    if (!placed) fprintf(stderr, "no place: %s\n", text);
                    CHECK(placed);
                }
                cr_pq_cursor_reset(c);
                close_file(m);
                for (size_t k = n_at; k-- > 0;)
                    m->bytes.data[at[k]] = was[k];
            }
        }
    }
    CHECK(refused > 1000);
    m->file.opts.skip_crc = false;
    cr_pq_cursor_free(c);
    model_free(m);
}

/* ---- single mistakes and their messages ---- */

static void expect(model *m, const char *cause) {
    cr_err err = {0};
    cr_pq_vec v;
    cr_pq_cursor *c = cr_pq_cursor_new();
    write_file(m, m->bytes.n);
    open_file(m, m->bytes.n);
    cr_code code = cr_pq_seek(c, &m->file, 0, 0, 0, &err);
    if (code == CR_OK) code = cr_pq_read(c, 1 << 30, true, &v, &err);
    CHECK_INT(code, CR_EDATA);
    if (!strstr(err.msg, cause) || !strstr(err.msg, "column 'x") ||
        !strstr(err.msg, "row group 0")) {
        fprintf(stderr, "expected '%s', got: %s\n", cause, err.msg);
        CHECK(false);
    }
    CHECK_INT(err.why == CR_PQ_BUDGET, strstr(cause, "budget") != NULL);
    CHECK_INT(err.why == CR_PQ_CHECKSUM, strstr(cause, "checksum") != NULL);
    /* after an error the cursor wants to be told anew where to read */
    if (code != CR_OK) CHECK_INT(cr_pq_read(c, 1, true, &v, &err), CR_ERUN);
    close_file(m);
    cr_pq_cursor_free(c);
}

static void simple(model *m, cr_pq_type t, int depth, bool optional) {
    make_schema(m, t, 0, depth, false, optional, 0);
    make_rows(m, 200, optional ? 20 : 0, 0);
}

static void begin(model *m, cr_pq_codec codec) {
    cr_buf_reset(&m->bytes);
    cr_buf_str(&m->bytes, "PAR1");
    m->n_pages = 0;
    m->chunk = (cr_pq_chunk){.codec = codec, .start = 4, .n_values = m->n_levels};
}
static void end(model *m) {
    m->chunk.size = (int64_t)m->bytes.n - 4;
}

TEST(mistakes) {
    model *m = model_new();
    cr_buf none, body;
    cr_buf_init(&none);
    cr_buf_init(&body);

    simple(m, CR_PQ_I32, 0, false);
    begin(m, CR_PQ_RAW);
    put_data(m, 0, 150, 0, 150, 1, CR_PQ_PLAIN, true);
    end(m);
    expect(m, "the pages end after 150 of 200 rows");
    m->bytes.data[m->bytes.n - 1] ^= 1;
    expect(m, "checksum");

    begin(m, CR_PQ_RAW);
    put_data(m, 0, 200, 0, 200, 1, CR_PQ_PLAIN, false);
    end(m);
    m->chunk.n_values = 150;
    expect(m, "it has 150 values, the row group 200 rows");
    m->n_rows = 150;
    expect(m, "more values than the column chunk");
    m->n_rows = m->chunk.n_values = 200;
    m->chunk.size -= 200;
    m->bytes.n -= 200;
    expect(m, "goes beyond its column chunk");

    m->chunk.codec = CR_PQ_LZO;
    expect(m, "LZO");

    begin(m, CR_PQ_SNAPPY); /* not snappy at all */
    cr_pq_page_head h = {.type = CR_PQ_DATA1, .n_values = 200, .size = 800, .raw_size = 800};
    cr_pq_put_page_head(&m->bytes, &h);
    for (int i = 0; i < 800; i++)
        e_byte(&m->bytes, 0xff);
    end(m);
    expect(m, "SNAPPY");

    /* codes without a dictionary, beyond it, and as wide as no code is */
    begin(m, CR_PQ_RAW);
    put_data(m, 0, 200, 0, 200, 1, CR_PQ_RLE_DICT, false);
    end(m);
    expect(m, "refer to a dictionary that is not there");
    begin(m, CR_PQ_RAW);
    put_plain(&body, m, m->dict, 2);
    h = (cr_pq_page_head){.type = CR_PQ_DICT, .n_values = 2};
    put_page(m, &h, &none, &body, false);
    m->code[77] = 2;
    put_data(m, 0, 200, 0, 200, 1, CR_PQ_RLE_DICT, false);
    end(m);
    expect(m, "beyond the end of the dictionary");
    size_t at = m->bytes.n;
    put_page(m, &h, &none, &body, false);
    begin(m, CR_PQ_RAW);
    put_page(m, &h, &none, &body, false);
    put_page(m, &h, &none, &body, false);
    end(m);
    expect(m, "the chunk has a second dictionary");
    h.n_values = 3;
    begin(m, CR_PQ_RAW);
    put_page(m, &h, &none, &body, false);
    end(m);
    expect(m, "a dictionary of 3 values has only 8 bytes");
    (void)at;

    /* encodings that do not fit the type */
    for (int e = 0; e <= 12; e++) {
        if (e == CR_PQ_PLAIN || e == CR_PQ_DELTA_BINARY || e == CR_PQ_SPLIT ||
            e == CR_PQ_PLAIN_DICT || e == CR_PQ_RLE_DICT)
            continue;
        begin(m, CR_PQ_RAW);
        put_data(m, 0, 200, 0, 200, 1, CR_PQ_PLAIN, false);
        /* the encoding is the second field of the header's struct; find it by writing it anew */
        cr_buf_reset(&body);
        put_plain(&body, m, m->v, 200);
        begin(m, CR_PQ_RAW);
        h = (cr_pq_page_head){.type = CR_PQ_DATA1, .n_values = 200, .encoding = e};
        put_page(m, &h, &none, &body, false);
        end(m);
        expect(m, "cannot have the encoding");
    }

    /* levels */
    simple(m, CR_PQ_I32, 0, true);
    begin(m, CR_PQ_RAW);
    cr_buf_reset(&body);
    e_u32(&body, 3);
    e_varint(&body, 200 << 1);
    e_byte(&body, 2);
    h = (cr_pq_page_head){.type = CR_PQ_DATA1,
                          .n_values = 200,
                          .def_encoding = CR_PQ_RLE,
                          .rep_encoding = CR_PQ_RLE};
    put_page(m, &h, &none, &body, false);
    end(m);
    expect(m, "higher than the schema allows");
    begin(m, CR_PQ_RAW);
    cr_buf_reset(&body);
    e_u32(&body, 1000);
    put_page(m, &h, &none, &body, false);
    end(m);
    expect(m, "ends before its levels do");
    h.def_encoding = CR_PQ_PLAIN;
    begin(m, CR_PQ_RAW);
    put_page(m, &h, &none, &body, false);
    end(m);
    expect(m, "levels cannot have the encoding");
    h = (cr_pq_page_head){.type = CR_PQ_DATA2, .n_values = 200, .n_rows = 200, .def_size = 1000};
    begin(m, CR_PQ_RAW);
    put_page(m, &h, &none, &body, false);
    end(m);
    expect(m, "levels of 1000 and 0 bytes in a page of 4");

    /* lists */
    simple(m, CR_PQ_I32, 1, false);
    uint8_t was = m->rep[0];
    m->rep[0] = 1;
    begin(m, CR_PQ_RAW);
    put_data(m, 0, m->n_levels, 0, 200, 1, CR_PQ_PLAIN, false);
    end(m);
    expect(m, "a row begins in the middle of a list");
    m->rep[0] = was;
    begin(m, CR_PQ_RAW);
    put_data(m, 0, m->n_levels, 0, 200, 1, CR_PQ_PLAIN, false);
    end(m);
    m->n_rows -= 10;
    expect(m, "more rows than the row group");
    m->n_rows += 20;
    expect(m, "the pages end after 200 of 210 rows");
    m->n_rows -= 10;
    for (int64_t i = 1; i < m->n_levels; i++) {
        if (m->rep[i] == 1) {
            m->def[i] = 0;
            break;
        }
    }
    begin(m, CR_PQ_RAW);
    put_data(m, 0, m->n_levels, 0, 200, 1, CR_PQ_PLAIN, false);
    end(m);
    expect(m, "a list goes on with an item that is not there");

    cr_buf_clear(&none);
    cr_buf_clear(&body);
    model_free(m);
}

/* A few bytes can stand for very many rows or bytes; what they need is bounded by the budget. */
TEST(budget) {
    model *m = model_new();
    cr_buf none, body;
    cr_buf_init(&none);
    cr_buf_init(&body);
    m->file.opts.budget = 1 << 20;
    simple(m, CR_PQ_I64, 0, true);
    const int32_t n = 100 * 1000 * 1000;
    e_u32(&body, 6);
    e_varint(&body, (uint64_t)n << 1);
    e_byte(&body, 0);
    e_byte(&body, 0);
    m->n_rows = m->n_levels = n;
    begin(m, CR_PQ_RAW);
    cr_pq_page_head h = {.type = CR_PQ_DATA1,
                         .n_values = n,
                         .def_encoding = CR_PQ_RLE,
                         .rep_encoding = CR_PQ_RLE};
    put_page(m, &h, &none, &body, false);
    end(m);
    expect(m, "the budget is");
    {
        cr_err err;
        cr_pq_vec v;
        cr_pq_cursor *c = cr_pq_cursor_new();
        open_file(m, m->bytes.n);
        CHECK_INT(cr_pq_seek(c, &m->file, 0, 0, n - 50, &err), CR_OK);
        CHECK_INT(cr_pq_read(c, 100, false, &v, &err), CR_OK);
        CHECK_INT(v.n_rows, 50);
        CHECK_INT(v.n_null, 50);
        close_file(m);
        cr_pq_cursor_free(c);
    }

    /* a row without an end */
    simple(m, CR_PQ_I64, 1, false);
    m->n_rows = 1;
    m->n_levels = n;
    cr_buf_reset(&body);
    e_u32(&body, 7);
    e_varint(&body, 1 << 1);
    e_byte(&body, 0);
    e_varint(&body, (uint64_t)n << 1);
    e_byte(&body, 1);
    e_u32(&body, 5);
    e_varint(&body, (uint64_t)n << 1);
    e_byte(&body, 1);
    for (int i = 0; i < 1000; i++)
        e_byte(&body, 0);
    begin(m, CR_PQ_RAW);
    put_page(m, &h, &none, &body, false);
    end(m);
    expect(m, "the page has fewer values than its header says");
    simple(m, CR_PQ_I64, 1, true);
    m->n_rows = 1;
    m->n_levels = n;
    /* now the items are null and need no bytes */
    begin(m, CR_PQ_RAW);
    put_page(m, &h, &none, &body, false);
    end(m);
    expect(m, "the budget is");

    /* a page that says it is large; strings that grow */
    simple(m, CR_PQ_BYTES, 0, false);
    begin(m, CR_PQ_ZSTD);
    h = (cr_pq_page_head){
        .type = CR_PQ_DATA1, .n_values = 200, .size = 10, .raw_size = INT32_MAX, .encoding = 0};
    cr_pq_put_page_head(&m->bytes, &h);
    cr_buf_add(&m->bytes, "0123456789", 10);
    end(m);
    expect(m, "the budget is");

    cr_buf_reset(&body);
    uint64_t *head = cr_alloc(200 * 8, "test"), *tail = cr_alloc(200 * 8, "test");
    for (int i = 0; i < 200; i++) {
        head[i] = i ? 60000 : 0;
        tail[i] = i ? 0 : 60000;
    }
    put_lengths(&body, head, 200);
    put_lengths(&body, tail, 200);
    for (int i = 0; i < 60000; i++)
        e_byte(&body, 'x');
    begin(m, CR_PQ_RAW);
    h = (cr_pq_page_head){.type = CR_PQ_DATA1, .n_values = 200, .encoding = CR_PQ_DELTA_BYTES};
    put_page(m, &h, &none, &body, false);
    end(m);
    expect(m, "the budget is");
    cr_free(head);
    cr_free(tail);
    cr_buf_clear(&none);
    cr_buf_clear(&body);
    model_free(m);
}

/* memory that is not there is a line too */
TEST(no_memory) {
    model *m = model_new();
    simple(m, CR_PQ_BYTES, 1, true);
    make_pages(m, CR_PQ_SNAPPY, 1, true, true, 300);
    write_file(m, m->bytes.n);
    open_file(m, m->bytes.n);
    int refused = 0;
    for (uint64_t i = 1; i < 60; i++) {
        cr_pq_cursor *c = cr_pq_cursor_new();
        cr_err err;
        cr_pq_vec v;
        cr_alloc_fail_after(i);
        cr_code code = cr_pq_seek(c, &m->file, 0, 0, 0, &err);
        if (code == CR_OK) code = cr_pq_read(c, 1000, i % 2, &v, &err);
        cr_alloc_fail_after(0);
        if (code != CR_OK) {
            CHECK_INT(code, CR_ENOMEM);
            refused++;
        } else {
            check_vec(m, &v, 0, 0, m->n_rows);
        }
        cr_pq_cursor_free(c);
    }
    CHECK(refused > 5 && refused < 59);
    close_file(m);
    model_free(m);
}

/* Pages in front of the wanted row are not read where the file has an index. */
TEST(index_saves_reading) {
    model *m = model_new();
    for (int depth = 0; depth < 2; depth++) {
        make_schema(m, CR_PQ_BYTES, 0, depth, false, true, 0);
        make_rows(m, 4000, 5, 2);
        do
            make_pages(m, CR_PQ_RAW, 2, true, false, 100);
        while (!m->chunk.offset_index);
        write_file(m, m->bytes.n);
        open_file(m, m->bytes.n);
        int64_t offset_index = m->chunk.offset_index, bytes[2];
        for (int with = 0; with < 2; with++) {
            cr_err err;
            cr_pq_vec v;
            cr_pq_cursor *c = cr_pq_cursor_new();
            m->chunk.offset_index = with ? offset_index : 0;
            int64_t row = m->n_rows - 3;
            CHECK_INT(cr_pq_seek(c, &m->file, 0, 0, row, &err), CR_OK);
            CHECK_INT(cr_pq_read(c, 10, true, &v, &err), CR_OK);
            check_vec(m, &v, 0, row, 3);
            bytes[with] = cr_pq_cursor_times(c).bytes_raw;
            CHECK(bytes[with] <
                  m->chunk.size / 4); /* by headers or by the index: few were opened */
            cr_pq_cursor_free(c);
        }
        CHECK_INT(bytes[0], bytes[1]);
        close_file(m);
    }
    model_free(m);
}

/* Behind a jump nobody counts values, and a dictionary must still not come behind its values: it
 * would take the place of the text of the vector that is being made. */
TEST(dictionary_behind_a_jump) {
    model *m = model_new();
    cr_buf none, body;
    cr_err err;
    cr_pq_vec v;
    cr_buf_init(&none);
    cr_buf_init(&body);
    make_schema(m, CR_PQ_BYTES, 0, 1, false, false, 0);
    make_rows(m, 4000, 0, 2);
    begin(m, CR_PQ_RAW);
    const int64_t half = m->n_rows / 2, late = m->n_rows / 4 * 3;
    int64_t at = put_data(m, 0, m->row_at[half], 0, half, 2, CR_PQ_PLAIN, false);
    at = put_data(m, m->row_at[half], m->row_at[late], at, late - half, 2, CR_PQ_PLAIN, false);
    cr_pq_page_head h = {.type = CR_PQ_DICT, .n_values = 1};
    e_u32(&body, 1);
    e_byte(&body, 'x');
    put_page(m, &h, &none, &body, false);
    (void)put_data(m, m->row_at[late], m->n_levels, at, m->n_rows - late, 2, CR_PQ_PLAIN, false);
    end(m);
    CHECK_INT(m->n_pages, 3);
    m->pages[1].first_row = half;
    m->pages[2].first_row = late;
    cr_pq_index index = {.n_pages = 3, .pages = m->pages};
    m->chunk.offset_index = (int64_t)m->bytes.n;
    cr_pq_put_index(&m->bytes, NULL, &index, leaf_of(m));
    m->chunk.offset_index_size = (int)((int64_t)m->bytes.n - m->chunk.offset_index);
    write_file(m, m->bytes.n);
    open_file(m, m->bytes.n);
    cr_pq_cursor *c = cr_pq_cursor_new();
    CHECK_INT(cr_pq_seek(c, &m->file, 0, 0, half + 10, &err), CR_OK);
    CHECK_INT(cr_pq_read(c, m->n_rows, true, &v, &err), CR_EDATA);
    CHECK(strstr(err.msg, "the dictionary comes after values") != NULL);
    cr_pq_cursor_free(c);
    close_file(m);
    cr_buf_clear(&none);
    cr_buf_clear(&body);
    model_free(m);
}

/* Reading ahead stays within the budget too: small pages of a large chunk need little. */
TEST(small_budget) {
    model *m = model_new();
    m->file.opts.budget = 8 << 10;
    make_schema(m, CR_PQ_I64, 0, 0, false, true, 0);
    make_rows(m, 3000, 5, 1);
    begin(m, CR_PQ_RAW);
    for (int64_t at = 0, given = 0; at < m->n_rows; at += 300)
        given = put_data(m, at, at + 300, given, 300, 1, CR_PQ_PLAIN, false);
    end(m);
    CHECK(m->chunk.size > 2 * (8 << 10));
    write_file(m, m->bytes.n);
    open_file(m, m->bytes.n);
    cr_pq_cursor *c = cr_pq_cursor_new();
    read_all(m, c, 1000);
    cr_pq_cursor_free(c);
    close_file(m);
    model_free(m);
}

TEST_MAIN(CASE(any_pages_any_steps), CASE(damaged_pages), CASE(mistakes), CASE(budget),
          CASE(no_memory), CASE(index_saves_reading), CASE(dictionary_behind_a_jump),
          CASE(small_budget))
