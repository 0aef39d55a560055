/*
 * encode.c - columns as Arrow messages.
 *
 * Columns have nearly the form of Arrow's arrays: values and offsets are written as they are, and
 * bytes of validity become bits. Buffers begin at multiples of 64 bytes of the body, as the format
 * recommends.
 */
#include <string.h>

#include "data/arrow/body.h"
#include "data/arrow/sink.h"
#include "data/pq/stored.h"

#define BODY_ALIGN 64
#define VERSION    4 /* of the format: V5 */

typedef struct enc_col {
    cr_colkind kind;
} enc_col;

struct cr_arrow_enc {
    cr_arrow_schema schema;
    enc_col *cols;
    int n_cols;
    cr_arrow_body body;
    cr_arena arena;
};

/* ---- buffers ---- */

static void add_i64(cr_buf *b, int64_t x) {
    cr_buf_add(b, &x, sizeof x);
}

static void pad_to(cr_buf *b, size_t from, size_t align) {
    while ((b->n - from) % align != 0)
        cr_buf_char(b, 0);
}

void cr_arrow_body_buffer(cr_arrow_body *b, const void *p, size_t n) {
    add_i64(&b->buffers, (int64_t)b->data.n);
    size_t from = b->data.n;
    if (n > 0 && b->codec != CR_ARROW_PLAIN) {
        cr_buf_reset(&b->packed);
        bool smaller = cr_arrow_pack(b->codec, p, n, &b->packed) && b->packed.n < n;
        add_i64(&b->data, smaller ? (int64_t)n : -1);
        cr_buf_add(&b->data, smaller ? b->packed.data : p, smaller ? b->packed.n : n);
    } else if (n > 0) {
        cr_buf_add(&b->data, p, n);
    }
    add_i64(&b->buffers, (int64_t)(b->data.n - from));
    pad_to(&b->data, 0, BODY_ALIGN);
}

void cr_arrow_body_node(cr_arrow_body *b, const uint8_t *valid, int64_t n) {
    int64_t nulls = 0;
    for (int64_t i = 0; valid && i < n; i++)
        nulls += !valid[i];
    add_i64(&b->nodes, n);
    add_i64(&b->nodes, nulls);
    size_t size = nulls ? (size_t)(n + 7) / 8 : 0;
    uint8_t *bits = cr_arena_zalloc(&b->scratch, size + 1);
    for (int64_t i = 0; valid && size && i < n; i++)
        if (valid[i]) bits[i >> 3] = (uint8_t)(bits[i >> 3] | 1u << (i & 7));
    cr_arrow_body_buffer(b, bits, size);
}

cr_code cr_arrow_body_text(cr_arrow_body *b, const char *bytes, const uint32_t *beg,
                           const uint32_t *end, const uint32_t *code, const uint8_t *valid,
                           int64_t n, cr_err *err) {
    int32_t *off = cr_arena_alloc(&b->scratch, cr_bytes(n + 1, 4));
    int64_t total = 0;
    off[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t k = code ? code[i] : (size_t)i;
        if (!valid || valid[i]) total += end[k] - beg[k];
        if (total > INT32_MAX)
            return cr_fail(err, CR_EUSAGE,
                           "the texts of one column and batch have more than 2 GiB; use a smaller "
                           "batch_size");
        off[i + 1] = (int32_t)total;
    }
    char *text = cr_arena_alloc(&b->scratch, (size_t)total + 1);
    for (int64_t i = 0; i < n; i++) {
        size_t k = code ? code[i] : (size_t)i;
        memcpy(text + off[i], bytes + beg[k], (size_t)(off[i + 1] - off[i]));
    }
    cr_arrow_body_buffer(b, off, n ? cr_bytes(n + 1, 4) : 0);
    cr_arrow_body_buffer(b, text, (size_t)total);
    return CR_OK;
}

/* ---- columns of numbers and text ---- */

static cr_code put_leaf(cr_arrow_body *b, const cr_column *c, const uint8_t *valid, int64_t n,
                        cr_err *err) {
    cr_arrow_body_node(b, valid, n);
    if (c->type == CR_COL_STR)
        return cr_arrow_body_text(b, c->bytes, c->beg, c->end, c->code, valid, n, err);
    bool narrow = c->type == CR_COL_I32 || c->type == CR_COL_F32;
    cr_arrow_body_buffer(b, c->v.i64, cr_bytes(n, narrow ? 4 : 8));
    return CR_OK;
}

/* Offsets begin at 0, as those of columns do. */
static void put_offsets(cr_arrow_body *b, const int32_t *off, int64_t n) {
    cr_arrow_body_buffer(b, off, n ? cr_bytes(n + 1, 4) : 0);
}

static cr_code put_column(cr_arrow_body *b, const cr_colkind *k, const cr_column *c, int64_t n_rows,
                          cr_err *err) {
    if (k->depth == 0) return put_leaf(b, c, c->valid, n_rows, err);
    int64_t n = c->row_off[n_rows];
    cr_arrow_body_node(b, c->valid, n_rows);
    put_offsets(b, c->row_off, n_rows);
    if (k->key >= 0) {
        cr_arrow_body_node(b, NULL, n); /* the struct of keys and values */
        CR_TRY(put_leaf(b, c->keys, NULL, n, err));
    }
    if (k->depth == 2) {
        cr_arrow_body_node(b, c->list_valid, n);
        put_offsets(b, c->item_off, n);
        n = c->item_off[n];
    }
    return put_leaf(b, c, c->item_valid, n, err);
}

static cr_arrow_field *add_field(cr_arrow_schema *s, const char *name, bool nullable,
                                 cr_arrow_kind kind, int n_children) {
    cr_arrow_field *f = &s->v[s->n++];
    *f = (cr_arrow_field){.name = name,
                          .nullable = nullable,
                          .kind = kind,
                          .n_children = n_children};
    return f;
}

static void add_leaf(cr_arrow_schema *s, const char *name, bool nullable, cr_coltype t) {
    bool text = t == CR_COL_STR, whole = t == CR_COL_I32 || t == CR_COL_I64;
    cr_arrow_field *f = add_field(s, name, nullable,
                                  text    ? CR_ARROW_UTF8
                                  : whole ? CR_ARROW_INT
                                          : CR_ARROW_FLOAT,
                                  0);
    f->bits = t == CR_COL_I32 || t == CR_COL_F32 ? 32 : 64;
    f->is_signed = true;
}

static void add_column(cr_arrow_schema *s, const cr_sink_col *c, const char *name) {
    const cr_colkind *k = &c->kind;
    bool null = !c->required;
    if (k->stored) {
        cr_arrow_pq_fields(s, k->stored, name);
        return;
    }
    if (k->key >= 0) {
        add_field(s, name, null, CR_ARROW_MAP, 1);
        add_field(s, "entries", false, CR_ARROW_STRUCT, 2);
        add_leaf(s, "key", false, (cr_coltype)k->key);
        add_leaf(s, "value", null, k->type);
        return;
    }
    for (int d = 0; d < k->depth; d++) {
        add_field(s, name, null, CR_ARROW_LIST, 1);
        name = "item";
    }
    add_leaf(s, name, null, k->type);
}

/* ---- messages ---- */

cr_arrow_enc *cr_arrow_enc_new(const cr_sink_col *cols, int n_cols, cr_arrow_codec codec) {
    cr_arrow_enc *e = cr_alloc(sizeof(*e), "Arrow data");
    cr_arena_init(&e->arena, 0);
    cr_arena_init(&e->body.scratch, 0);
    cr_buf_init(&e->body.nodes);
    cr_buf_init(&e->body.buffers);
    cr_buf_init(&e->body.data);
    cr_buf_init(&e->body.packed);
    e->body.codec = codec;
    e->cols = CR_NEW_N(&e->arena, enc_col, n_cols + 1);
    e->n_cols = n_cols;
    int64_t n = 1;
    for (int i = 0; i < n_cols; i++)
        n += cols[i].kind.stored ? ((const cr_pq_meta *)cols[i].kind.stored)->n_nodes : 4;
    e->schema.v = CR_NEW_N(&e->arena, cr_arrow_field, n);
    for (int i = 0; i < n_cols; i++) {
        e->cols[i].kind = cols[i].kind;
        add_column(&e->schema, &cols[i], cr_arena_strdup(&e->arena, cols[i].name));
    }
    cr_arrow_schema_link(&e->schema);
    return e;
}

void cr_arrow_enc_free(cr_arrow_enc *e) {
    if (!e) return;
    cr_buf_clear(&e->body.nodes);
    cr_buf_clear(&e->body.buffers);
    cr_buf_clear(&e->body.data);
    cr_buf_clear(&e->body.packed);
    cr_arena_clear(&e->body.scratch);
    cr_arena_clear(&e->arena);
    cr_free(e);
}

const cr_arrow_schema *cr_arrow_enc_schema(const cr_arrow_enc *e) {
    return &e->schema;
}

/* Writes the mark and the length in front of a message, and its table; the header is linked by the
 * caller. Returns where the FlatBuffer begins. */
static size_t begin_message(cr_flat_out *o, cr_buf *out, int kind, int64_t n_body, size_t *header) {
    cr_flat_put v[4] = {{2, VERSION}, {1, kind}, {4, 0}, {8, n_body}};
    size_t place[4], from = out->n;
    add_i64(out, -1); /* the mark, and room for the length */
    cr_flat_begin(o, out);
    cr_flat_link(o, 0, cr_flat_put_table(o, v, 4, place));
    *header = place[2];
    return from;
}

static void end_message(cr_buf *out, size_t from) {
    pad_to(out, from, 8);
    int32_t n = (int32_t)(out->n - from - 8);
    memcpy(out->data + from + 4, &n, sizeof n);
}

void cr_arrow_enc_begin(cr_arrow_enc *e, cr_buf *out) {
    cr_flat_out o;
    size_t header, from = begin_message(&o, out, CR_ARROW_MSG_SCHEMA, 0, &header);
    cr_flat_link(&o, header, cr_arrow_put_schema(&o, &e->schema));
    end_message(out, from);
}

/* A vector of structs of two 64-bit numbers. */
static void put_pairs(cr_flat_out *o, size_t place, const cr_buf *pairs) {
    size_t at = cr_flat_put_list(o, pairs->n / 16, 16);
    cr_flat_link(o, place, at);
    memcpy(o->b->data + o->start + at + 4, pairs->data ? pairs->data : "", pairs->n);
}

cr_code cr_arrow_enc_batch(cr_arrow_enc *e, const cr_column *const *cols, int64_t n_rows,
                           cr_buf *out, cr_err *err) {
    cr_arrow_body *b = &e->body;
    cr_buf_reset(&b->nodes);
    cr_buf_reset(&b->buffers);
    cr_buf_reset(&b->data);
    for (int i = 0; i < e->n_cols; i++) {
        const cr_colkind *k = &e->cols[i].kind;
        cr_arena_reset(&b->scratch);
        CR_TRY(k->stored
                   ? cr_arrow_pq_column(b, k->stored, cr_pq_stored_of(cols[i])->v, n_rows, err)
                   : put_column(b, k, cols[i], n_rows, err));
    }
    cr_flat_out o;
    size_t header, place[4];
    size_t from = begin_message(&o, out, CR_ARROW_MSG_BATCH, (int64_t)b->data.n, &header);
    bool packed = b->codec != CR_ARROW_PLAIN;
    cr_flat_put v[4] = {{8, n_rows}, {4, 0}, {4, 0}, {packed ? 4 : 0, 0}};
    cr_flat_link(&o, header, cr_flat_put_table(&o, v, 4, place));
    put_pairs(&o, place[1], &b->nodes);
    put_pairs(&o, place[2], &b->buffers);
    if (packed) {
        cr_flat_put how[2] = {{1, b->codec}, {1, 0}};
        cr_flat_link(&o, place[3], cr_flat_put_table(&o, how, 2, NULL));
    }
    end_message(out, from);
    cr_buf_add(out, b->data.data ? b->data.data : "", b->data.n);
    return CR_OK;
}

void cr_arrow_enc_end(cr_buf *out) {
    static const uint8_t end[8] = {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0};
    cr_buf_add(out, end, sizeof end);
}
