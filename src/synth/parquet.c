/*
 * parquet.c - writes rows of synthetic data as a Parquet file with typed columns.
 *
 * Ids are int64, bags are lists of int64, words are strings, numbers are float or double (int64
 * without decimals). A number is what a reader gets from the CSV text, so both formats train to the
 * same weights. Rows are drawn into arrays, a few thousand at a time.
 */
#include "parquet/parquet.h"
#include "synth/synth_int.h"

#define STEP 4096 /* rows that are drawn at a time */

typedef union cells {
    int64_t *i64;
    float *f32;
    double *f64;
    uint32_t *code;
} cells;

typedef struct batch {
    const synth_teacher *t;
    cells label, after, *v; /* v: per column */
    int32_t *off;           /* offsets of the bag */
    cr_pq_vec *vecs;        /* the label comes first, the label that follows it last */
    cr_arena arena;
} batch;

static cr_pq_type stored(const synth_col *c) {
    switch (c->type) {
    case SYNTH_WORD: return CR_PQ_BYTES;
    case SYNTH_REAL: return CR_PQ_F32;
    case SYNTH_NUM: return c->decimals ? CR_PQ_F64 : CR_PQ_I64;
    default: return CR_PQ_I64;
    }
}

static void add_node(cr_pq_meta *m, const char *name, cr_pq_type type, cr_pq_rep rep,
                     cr_pq_kind kind, int n_children) {
    m->nodes[m->n_nodes++] = (cr_pq_node){.name = name,
                                          .type = type,
                                          .rep = rep,
                                          .logical = {.kind = kind},
                                          .n_children = n_children,
                                          .field_id = -1};
}

static void make_schema(cr_pq_meta *m, const synth_teacher *t, cr_arena *a) {
    *m = (cr_pq_meta){.nodes = CR_NEW_N(a, cr_pq_node, 3 * t->n + 3)};
    add_node(m, "schema", CR_PQ_GROUP, CR_PQ_REQUIRED, CR_PQ_PHYSICAL,
             t->n + 1 + (t->kind->after != NULL));
    add_node(m, t->kind->label, CR_PQ_I64, CR_PQ_REQUIRED, CR_PQ_PHYSICAL, 0);
    for (int i = 0; i < t->n; i++) {
        const synth_col *c = t->v[i].col;
        const char *name = c->name;
        if (c->type == SYNTH_BAG) {
            add_node(m, name, CR_PQ_GROUP, CR_PQ_REQUIRED, CR_PQ_LIST, 1);
            add_node(m, "list", CR_PQ_GROUP, CR_PQ_REPEATED, CR_PQ_PHYSICAL, 1);
            name = "element";
        }
        add_node(m, name, stored(c), CR_PQ_REQUIRED,
                 c->type == SYNTH_WORD ? CR_PQ_STRING : CR_PQ_PHYSICAL, 0);
    }
    if (t->kind->after) add_node(m, t->kind->after, CR_PQ_I64, CR_PQ_REQUIRED, CR_PQ_PHYSICAL, 0);
}

/* Stores the words of a column as the entries of a dictionary. */
static void set_words(cr_pq_vec *v, const synth_draw *d, cr_arena *a) {
    cr_buf b;
    cr_buf_init(&b);
    uint32_t *off = CR_NEW_N(a, uint32_t, d->card + 1);
    for (int64_t i = 0; i < d->card; i++) {
        cr_buf_str(&b, d->col->words[i]);
        off[i + 1] = (uint32_t)b.n;
    }
    v->bytes = cr_arena_strndup(a, b.data, b.n);
    v->beg = off;
    v->end = off + 1;
    v->n_dict = d->card;
    cr_buf_clear(&b);
}

static void batch_init(batch *b, const synth_teacher *t) {
    b->t = t;
    cr_arena_init(&b->arena, (size_t)1 << 20);
    b->v = CR_NEW_N(&b->arena, cells, t->n);
    b->vecs = CR_NEW_N(&b->arena, cr_pq_vec, t->n + 2);
    b->off = CR_NEW_N(&b->arena, int32_t, STEP + 1);
    b->label.i64 = CR_NEW_N(&b->arena, int64_t, STEP);
    b->vecs[0] = (cr_pq_vec){.type = CR_PQ_I64, .v.i64 = b->label.i64};
    b->after.i64 = CR_NEW_N(&b->arena, int64_t, STEP);
    b->vecs[t->n + 1] = (cr_pq_vec){.type = CR_PQ_I64, .v.i64 = b->after.i64};
    for (int i = 0; i < t->n; i++) {
        const synth_col *c = t->v[i].col;
        cr_pq_vec *v = &b->vecs[i + 1];
        bool bag = c->type == SYNTH_BAG;
        b->v[i].i64 = CR_NEW_N(&b->arena, int64_t, bag ? STEP * SYNTH_BAG_MAX : STEP);
        v->type = stored(c);
        v->v.i64 = b->v[i].i64;
        if (bag) {
            v->depth = 1;
            v->list[0].off = b->off;
        }
        if (c->type == SYNTH_WORD) {
            set_words(v, &t->v[i], &b->arena);
            v->code = b->v[i].code;
        }
    }
}

static void put_row(batch *b, const synth_row *row, int64_t r) {
    const synth_teacher *t = b->t;
    b->label.i64[r] = row->label;
    b->after.i64[r] = row->after;
    for (int c = 0; c < t->n; c++) {
        const synth_draw *d = &t->v[c];
        int64_t k = row->k[c];
        cells v = b->v[c];
        switch (d->col->type) {
        case SYNTH_ID: v.i64[r] = (int64_t)cr_synth_id(d, k); break;
        case SYNTH_WORD: v.code[r] = (uint32_t)k; break;
        case SYNTH_REAL: v.f32[r] = (float)((double)k / 1000); break;
        case SYNTH_NUM:
            if (d->col->decimals)
                v.f64[r] = (double)k / 100;
            else
                v.i64[r] = k;
            break;
        case SYNTH_BAG:
            for (int i = 0; i < row->n_bag; i++)
                v.i64[b->off[r] + i] = (int64_t)cr_synth_id(d, row->bag[i]);
            b->off[r + 1] = b->off[r] + row->n_bag;
            break;
        }
    }
}

static void set_rows(batch *b, int64_t n) {
    for (int i = 0; i <= b->t->n + 1; i++) {
        cr_pq_vec *v = &b->vecs[i];
        v->n_rows = n;
        v->n = v->depth ? b->off[n] : n;
        v->list[0].n = v->depth ? n : 0;
    }
}

cr_code cr_synth_parquet(const synth_teacher *t, const synth_part *p, const char *path,
                         int64_t *bytes, cr_err *err) {
    batch b;
    batch_init(&b, t);
    cr_pq_meta schema;
    make_schema(&schema, t, &b.arena);
    cr_pq_writer *w;
    cr_pq_write_opts o = {.codec = CR_PQ_SNAPPY, .no_sync = true};
    cr_code code = cr_pq_writer_new(&w, path, &schema, &o, err);
    for (int64_t i = 0; i < p->n && code == CR_OK && !atomic_load(p->stop); i += STEP) {
        int64_t n = p->n - i < STEP ? p->n - i : STEP;
        for (int64_t r = 0; r < n; r++) {
            synth_row row;
            cr_synth_row_draw(t, p->part, p->first + i + r, &row);
            if (p->scores) cr_synth_keep(p->scores, p->first + i + r, &row);
            put_row(&b, &row, r);
        }
        set_rows(&b, n);
        code = cr_pq_write(w, b.vecs, err);
    }
    if (code == CR_OK && !atomic_load(p->stop)) code = cr_pq_writer_finish(w, err);
    if (w) *bytes = cr_pq_writer_size(w);
    cr_pq_writer_free(w);
    cr_arena_clear(&b.arena);
    return code;
}
