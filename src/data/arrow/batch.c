/*
 * batch.c - the buffers of a record batch.
 *
 * A record batch lists a node (length, nulls) per field in preorder, and its buffers in the same
 * order: which ones a field has follows from its type. One walk over the fields serves loading,
 * measuring and reading ahead. A buffer that lies plainly in a mapped file is not copied unless its
 * numbers are not aligned, which the format forbids and some writers do.
 */
#include <string.h>

#include "data/arrow/ipc_int.h"

/* Slots, in the order of the format's Message.fbs. */
enum { M_HEADER = 2 };
enum { B_LENGTH, B_NODES, B_BUFFERS, B_PACKED, B_VIEWS };
enum { D_DATA = 1 };

#define SMALL ((size_t)16 << 20) /* larger memory is given back when the batch is dropped */

typedef enum role { VALID, OFFSETS, DATA, SIZES, MORE } role;

typedef struct walk {
    const cr_arrow_file *f;
    const cr_arrow_msg *m;
    const cr_arrow_field *fields; /* fields[0] is the first of the batch */
    const bool *wanted;           /* NULL: all */
    cr_flat b;
    cr_flat_vec nodes, buffers, views;
    size_t node, buffer, view;
    cr_arrow_codec codec;
    /* what is done with each buffer; each is the size of a number in it, need what the field's rows
     * take */
    cr_code (*use)(struct walk *w, int field, role r, cr_arrow_span where, size_t each, size_t need,
                   cr_err *err);
    cr_arrow_batch *out;
    cr_arrow_size *size;
    cr_fs_range *ranges;
    int n_ranges;
} walk;

#define WRONG(w, ...) cr_arrow_wrong(err, (w)->f, (w)->m->at, CR_ARROW_DAMAGED, __VA_ARGS__)

static cr_code begin(walk *w, bool dict, cr_err *err) {
    w->b = (cr_flat){w->m->meta, (size_t)w->m->n_meta, false};
    cr_flat_table t = cr_flat_sub(&w->b, cr_flat_root(&w->b), M_HEADER);
    if (dict) t = cr_flat_sub(&w->b, t, D_DATA);
    w->nodes = cr_flat_list(&w->b, t, B_NODES, 16);
    w->buffers = cr_flat_list(&w->b, t, B_BUFFERS, 16);
    w->views = cr_flat_list(&w->b, t, B_VIEWS, 8);
    cr_flat_table packed = cr_flat_sub(&w->b, t, B_PACKED);
    w->codec = CR_ARROW_PLAIN;
    if (packed.size) w->codec = (cr_arrow_codec)cr_flat_int(&w->b, packed, 0, 1, true, 0);
    if (w->b.bad) return WRONG(w, "a batch is damaged");
    if (packed.size && w->codec != CR_ARROW_LZ4 && w->codec != CR_ARROW_ZSTD)
        return cr_arrow_wrong(err, w->f, w->m->at, CR_ARROW_FOREIGN,
                              "the batch is compressed in a way that this version does not know; "
                              "write it with LZ4 or ZSTD");
    return CR_OK;
}

static cr_code take_buffer(walk *w, cr_arrow_span *out, int64_t *at, cr_err *err) {
    if (w->buffer >= w->buffers.n) return WRONG(w, "a batch has too few buffers for its schema");
    const uint8_t *p = w->b.p + w->buffers.at + 16 * w->buffer++;
    *at = cr_flat_i64(p);
    out->n = cr_flat_i64(p + 8);
    out->p = NULL;
    if (*at < 0 || out->n < 0 || *at > w->m->n_body || out->n > w->m->n_body - *at)
        return WRONG(w, "a buffer lies outside its batch");
    *at += w->m->body;
    return CR_OK;
}

static cr_code one(walk *w, int field, role r, size_t each, size_t need, cr_err *err) {
    cr_arrow_span s = {0};
    int64_t at = 0;
    CR_TRY(take_buffer(w, &s, &at, err));
    if (w->wanted && !w->wanted[field]) return CR_OK;
    if (w->f->mem) s.p = w->f->mem + at;
    if (w->ranges && s.n > 0) w->ranges[w->n_ranges++] = (cr_fs_range){at, s.n};
    if (!w->use) return CR_OK;
    if (w->f->mem || w->size) return w->use(w, field, r, s, each, need, err);
    /* of a file that is not mapped, `p` has no bytes yet: the place is told instead */
    s.p = (const uint8_t *)(uintptr_t)at;
    return w->use(w, field, r, s, each, need, err);
}

static bool has_offsets(cr_arrow_kind k, size_t *each) {
    *each =
        k == CR_ARROW_LARGE_BINARY || k == CR_ARROW_LARGE_UTF8 || k == CR_ARROW_LARGE_LIST ? 8 : 4;
    return k == CR_ARROW_BINARY || k == CR_ARROW_UTF8 || k == CR_ARROW_LIST || k == CR_ARROW_MAP ||
           *each == 8;
}

/* Bytes of a value; 0: it has no values of a fixed size. */
static size_t width_of(const cr_arrow_field *f) {
    switch (f->kind) {
    case CR_ARROW_INT:
    case CR_ARROW_FLOAT:
    case CR_ARROW_DATE:
    case CR_ARROW_TIME:
    case CR_ARROW_INTERVAL:
    case CR_ARROW_DECIMAL: return (size_t)f->bits / 8;
    case CR_ARROW_TIMESTAMP:
    case CR_ARROW_DURATION: return 8;
    case CR_ARROW_BINARY_VIEW:
    case CR_ARROW_UTF8_VIEW: return 16;
    default: return 0;
    }
}

static cr_code visit(walk *w, int i, int64_t at_least, cr_err *err);

/* The buffers of a field after its validity. */
static cr_code visit_values(walk *w, int i, int64_t n, cr_err *err) {
    const cr_arrow_field *f = &w->fields[i];
    size_t each, width = width_of(f);
    if (has_offsets(f->kind, &each)) {
        CR_TRY(one(w, i, OFFSETS, each, n ? cr_bytes(n + 1, each) : 0, err));
        return f->n_children ? CR_OK : one(w, i, DATA, 1, 0, err);
    }
    switch (f->kind) {
    case CR_ARROW_BOOL: return one(w, i, DATA, 1, (size_t)(n + 7) / 8, err);
    case CR_ARROW_FIXED_BINARY: return one(w, i, DATA, 1, cr_bytes(n, (size_t)f->width), err);
    case CR_ARROW_LIST_VIEW:
    case CR_ARROW_LARGE_LIST_VIEW:
        CR_TRY(one(w, i, OFFSETS, 1, 0, err));
        return one(w, i, SIZES, 1, 0, err);
    case CR_ARROW_UNION:
        CR_TRY(one(w, i, DATA, 1, 0, err));
        return f->width ? one(w, i, OFFSETS, 1, 0, err) : CR_OK;
    default: break;
    }
    if (width == 0) return CR_OK; /* lists of a fixed size, structs */
    CR_TRY(one(w, i, DATA, width <= 8 ? width : 8, cr_bytes(n, width), err));
    if (f->kind != CR_ARROW_UTF8_VIEW && f->kind != CR_ARROW_BINARY_VIEW) return CR_OK;
    if (w->view >= w->views.n) return WRONG(w, "a batch does not tell the buffers of a view");
    int64_t k = cr_flat_i64(w->b.p + w->views.at + 8 * w->view++);
    if (k < 0 || (size_t)k > w->buffers.n - w->buffer)
        return WRONG(w, "a view claims %lld buffers", (long long)k);
    if (w->out && (!w->wanted || w->wanted[i])) {
        w->out->v[i].more = CR_NEW_N(&w->out->arena, cr_arrow_span, k + 1);
        w->out->v[i].n_more = 0;
    }
    for (; k > 0; k--)
        CR_TRY(one(w, i, MORE, 1, 0, err));
    return CR_OK;
}

static cr_code visit(walk *w, int i, int64_t at_least, cr_err *err) {
    const cr_arrow_field *f = &w->fields[i];
    if (w->node >= w->nodes.n) return WRONG(w, "a batch has too few nodes for its schema");
    const uint8_t *p = w->b.p + w->nodes.at + 16 * w->node++;
    int64_t n = cr_flat_i64(p), nulls = cr_flat_i64(p + 8);
    if (n < at_least || n > (int64_t)1 << 42 || nulls < 0 || nulls > n)
        return WRONG(w, "field '%.100s' has %lld values and %lld nulls, for %lld rows", f->name,
                     (long long)n, (long long)nulls, (long long)at_least);
    if (w->out) w->out->v[i].n = n;
    bool no_buffers = f->kind == CR_ARROW_NULL || f->kind == CR_ARROW_RUN_END;
    /* a field that says it has no nulls needs no bits, even when they are there */
    if (f->coded || (!no_buffers && f->kind != CR_ARROW_UNION))
        CR_TRY(one(w, i, VALID, 1, nulls ? (size_t)(n + 7) / 8 : 0, err));
    if (f->coded) {
        size_t each = (size_t)f->code_bits / 8;
        return one(w, i, DATA, each, cr_bytes(n, each), err);
    }
    if (!no_buffers) CR_TRY(visit_values(w, i, n, err));
    int64_t need = f->kind == CR_ARROW_STRUCT       ? n
                   : f->kind == CR_ARROW_FIXED_LIST ? cr_mul_i64(n, f->width)
                                                    : 0;
    for (int k = 0, c = i + 1; k < f->n_children; k++) {
        CR_TRY(visit(w, c, need, err));
        c = w->fields[c].next;
    }
    return CR_OK;
}

/* ---- loading ---- */

static void drop(void *p) {
    cr_free(p);
}

static cr_code room(walk *w, size_t n, uint8_t **out, cr_err *err) {
    if (n > w->f->budget)
        return cr_arrow_wrong(
            err, w->f, w->m->at, CR_ARROW_BUDGET,
            "a buffer of %zu bytes is larger than the limit of %zu; write smaller "
            "batches",
            n, w->f->budget);
    if (n <= SMALL) {
        *out = cr_arena_alloc(&w->out->arena, n + 1);
        return CR_OK;
    }
    void *p;
    CR_TRY(cr_try_alloc(&p, n, "a buffer of an Arrow file", err));
    cr_arena_defer(&w->out->arena, drop, p);
    *out = p;
    return CR_OK;
}

/* Reads n bytes of a file that is not mapped. */
static cr_code fetch(walk *w, int64_t at, size_t n, uint8_t **out, cr_err *err) {
    size_t got;
    CR_TRY(room(w, n, out, err));
    CR_TRY(cr_fs_pread(w->f->fs, at, *out, n, &got, err));
    if (got < n)
        return cr_fail_at(err, CR_EIO, ((cr_loc){w->f->path, 0, 0}),
                          "the file became shorter while it was read; run again");
    return CR_OK;
}

/* Makes the bytes of a buffer plain and aligned. */
static cr_code plain(walk *w, cr_arrow_span *s, size_t each, cr_err *err) {
    uint8_t *p;
    if (s->n == 0) return CR_OK;
    if (!w->f->mem) {
        CR_TRY(fetch(w, (int64_t)(uintptr_t)s->p, (size_t)s->n, &p, err));
        s->p = p;
    }
    if (w->codec != CR_ARROW_PLAIN) {
        if (s->n < 8) return WRONG(w, "a compressed buffer of %lld bytes", (long long)s->n);
        int64_t n = cr_flat_i64(s->p);
        s->p += 8;
        s->n -= 8;
        if (n >= 0) {
            CR_TRY(room(w, (size_t)n, &p, err));
            if (!cr_arrow_unpack(w->codec, s->p, (size_t)s->n, p, (size_t)n))
                return WRONG(w, "a compressed buffer is damaged");
            *s = (cr_arrow_span){p, n};
        } else if (n != -1) {
            return WRONG(w, "a compressed buffer claims %lld bytes", (long long)n);
        }
    }
    if ((uintptr_t)s->p % each == 0) return CR_OK;
    CR_TRY(room(w, (size_t)s->n, &p, err));
    memcpy(p, s->p, (size_t)s->n);
    s->p = p;
    return CR_OK;
}

static cr_code load_one(walk *w, int field, role r, cr_arrow_span s, size_t each, size_t need,
                        cr_err *err) {
    cr_arrow_array *a = &w->out->v[field];
    if (r == VALID && need == 0) return CR_OK;
    CR_TRY(plain(w, &s, each, err));
    if ((uint64_t)s.n < need)
        return WRONG(w, "a buffer of field '%.100s' has %lld bytes, its %lld values need %zu",
                     w->fields[field].name, (long long)s.n, (long long)a->n, need);
    switch (r) {
    case VALID: a->valid = s.p; break;
    case OFFSETS: a->off = need ? s.p : NULL; break;
    case DATA: a->data = s; break;
    case MORE: a->more[a->n_more++] = s; break;
    case SIZES: break;
    }
    return CR_OK;
}

void cr_arrow_batch_init(cr_arrow_batch *b) {
    *b = (cr_arrow_batch){0};
    cr_arena_init(&b->arena, 0);
}

void cr_arrow_batch_clear(cr_arrow_batch *b) {
    cr_arena_clear(&b->arena);
    *b = (cr_arrow_batch){0};
}

static cr_code load(walk *w, int n_fields, bool dict, cr_err *err) {
    cr_arrow_batch *out = w->out;
    cr_arena_reset(&out->arena);
    out->n_rows = w->m->n_rows;
    out->v = CR_NEW_N(&out->arena, cr_arrow_array, n_fields + 1);
    w->use = load_one;
    CR_TRY(begin(w, dict, err));
    for (int i = 0; i < n_fields;) {
        CR_TRY(visit(w, i, w->m->n_rows, err));
        i = dict ? n_fields : w->fields[i].next;
    }
    return CR_OK;
}

cr_code cr_arrow_load(const cr_arrow_file *f, int batch, const bool *wanted, cr_arrow_batch *out,
                      cr_err *err) {
    walk w = {.f = f, .m = &f->batches[batch], .fields = f->schema.v, .wanted = wanted, .out = out};
    return load(&w, f->schema.n, false, err);
}

/* ---- measuring and reading ahead ---- */

static cr_code measure_one(walk *w, int field, role r, cr_arrow_span s, size_t each, size_t need,
                           cr_err *err) {
    (void)err;
    (void)field;
    (void)each;
    w->size->bytes += (double)s.n;
    bool text = (r == DATA && need == 0) || r == MORE;
    w->size->plain += text ? (double)s.n * (w->codec == CR_ARROW_PLAIN ? 1 : 3) : (double)need;
    return CR_OK;
}

static cr_code look(walk *w, const cr_arrow_schema *s, cr_err *err) {
    CR_TRY(begin(w, false, err));
    for (int i = 0; i < s->n; i = s->v[i].next)
        CR_TRY(visit(w, i, w->m->n_rows, err));
    return CR_OK;
}

cr_code cr_arrow_measure(const cr_arrow_file *f, int batch, const bool *wanted, cr_arrow_size *out,
                         cr_err *err) {
    *out = (cr_arrow_size){0};
    walk w = {.f = f,
              .m = &f->batches[batch],
              .fields = f->schema.v,
              .wanted = wanted,
              .use = measure_one,
              .size = out};
    cr_code code = look(&w, &f->schema, err);
    out->compressed = w.codec != CR_ARROW_PLAIN;
    return code;
}

void cr_arrow_will_need(const cr_arrow_file *f, int batch, const bool *wanted) {
    const cr_arrow_msg *m = &f->batches[batch];
    if (!f->fs) return;
    size_t most = (size_t)(m->n_meta / 16) + 1; /* a buffer takes 16 bytes of the message */
    cr_fs_range *v = cr_alloc(most * sizeof(*v), "places to read");
    walk w = {.f = f, .m = m, .fields = f->schema.v, .wanted = wanted, .ranges = v};
    cr_err err;
    if (look(&w, &f->schema, &err) == CR_OK) cr_fs_will_need(f->fs, v, w.n_ranges);
    cr_free(v);
}

/* ---- dictionaries ---- */

cr_arrow_dict cr_arrow_dict_of(const cr_arrow_file *f, int batch, int field) {
    cr_arrow_dict d = {.first = -1, .version = -1};
    int64_t id = f->schema.v[field].dict;
    for (int i = f->batches[batch].dicts_before - 1; i >= 0; i--) {
        if (f->dicts[i].dict != id) continue;
        if (d.n == 0) d.version = i;
        d.n++;
        d.first = i;
        if (!f->dicts[i].delta) return d;
    }
    return d; /* only additions: the first of them begins it */
}

cr_code cr_arrow_load_dict(const cr_arrow_file *f, int field, cr_arrow_dict d, int part,
                           cr_arrow_batch *out, cr_err *err) {
    int i = d.first;
    for (int k = 0; k < part; i++) /* the next of the same dictionary */
        k += f->dicts[i + 1].dict == f->schema.v[field].dict;
    int n = f->schema.v[field].next - field;
    cr_arrow_field *fields = cr_alloc((size_t)n * sizeof(*fields), "a dictionary");
    memcpy(fields, f->schema.v + field, (size_t)n * sizeof(*fields));
    fields[0].coded = false;
    for (int k = 0; k < n; k++)
        fields[k].next -= field;
    walk w = {.f = f, .m = &f->dicts[i], .fields = fields, .out = out};
    cr_code code = load(&w, n, true, err);
    cr_free(fields);
    return code;
}
