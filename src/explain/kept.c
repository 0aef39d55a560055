/*
 * kept.c - see kept.h. Every part of a batch is one growing block per array; offsets are 32 bits
 * wide, as in batches, so a list with more ids than that is refused.
 */
#include "explain/kept.h"

#include <string.h>

typedef struct list {
    bool seq, has_off, has_w;
    cr_buf steps, off, ids, w; /* int32, int32, int64, float */
    int64_t n_steps, n_ids;    /* n_steps: rows, or steps of a sequence */
} list;

struct cr_kept {
    cr_model_work *maps;
    list *lists;
    int n_lists;
    list *seqs; /* ids unused; w holds the floats, n_steps the steps */
    int64_t *seq_width;
    int n_seqs;
    cr_buf dense, *labels, *weights;
    int n_labels, n_weights;
    int64_t n_rows, dense_width;
    bool cut;
    cr_batch all;
    const float **label_rows, **weight_rows;
};

static void add_i32(cr_buf *b, int64_t x) {
    int32_t v = (int32_t)x;
    cr_buf_add(b, &v, sizeof v);
}

/* The offsets of a list that had none so far: one id per row or step. */
static void open_off(list *l) {
    if (l->has_off) return;
    l->has_off = true;
    for (int64_t i = 0; i <= l->n_steps; i++)
        add_i32(&l->off, i);
}

static void open_weights(list *l) {
    if (l->has_w) return;
    l->has_w = true;
    float one = 1;
    for (int64_t i = 0; i < l->n_ids; i++)
        cr_buf_add(&l->w, &one, sizeof one);
}

static cr_code add_list(list *l, const cr_jagged *j, int64_t n_rows, cr_err *err) {
    int64_t steps = j->steps ? j->steps[n_rows] : n_rows, ids = j->off ? j->off[steps] : steps;
    if (l->n_steps + steps >= INT32_MAX || l->n_ids + ids >= INT32_MAX)
        return cr_fail(err, CR_EDATA,
                       "the rows have more than 2^31 ids of one feature; keep fewer rows with "
                       "--rows");
    if (j->steps) {
        if (!l->seq) add_i32(&l->steps, 0);
        l->seq = true;
        for (int64_t r = 0; r < n_rows; r++)
            add_i32(&l->steps, l->n_steps + j->steps[r + 1]);
    }
    if (j->off) {
        open_off(l);
        for (int64_t i = 0; i < steps; i++)
            add_i32(&l->off, l->n_ids + j->off[i + 1]);
    } else if (l->has_off) {
        for (int64_t i = 0; i < steps; i++)
            add_i32(&l->off, l->n_ids + i + 1);
    }
    if (j->w) open_weights(l);
    cr_buf_add(&l->ids, j->ids, (size_t)ids * sizeof(int64_t));
    float one = 1;
    if (j->w)
        cr_buf_add(&l->w, j->w, (size_t)ids * sizeof(float));
    else
        for (int64_t i = 0; l->has_w && i < ids; i++)
            cr_buf_add(&l->w, &one, sizeof one);
    l->n_steps += steps;
    l->n_ids += ids;
    return CR_OK;
}

static cr_code add_seq(list *l, int64_t *width, const cr_dense_seq *d, int64_t n_rows,
                       cr_err *err) {
    if (l->n_steps + d->steps[n_rows] >= INT32_MAX)
        return cr_fail(err, CR_EDATA,
                       "the rows have more than 2^31 steps of one sequence; keep fewer rows with "
                       "--rows");
    if (!l->seq) add_i32(&l->steps, 0);
    l->seq = true;
    for (int64_t r = 0; r < n_rows; r++)
        add_i32(&l->steps, l->n_steps + d->steps[r + 1]);
    cr_buf_add(&l->w, d->v, (size_t)(d->steps[n_rows] * d->width) * sizeof(float));
    l->n_steps += d->steps[n_rows];
    *width = d->width;
    return CR_OK;
}

static cr_code add_rows(cr_kept *k, const cr_batch *b, int64_t n, cr_err *err) {
    for (int i = 0; i < k->n_lists; i++)
        CR_TRY(add_list(&k->lists[i], &b->sparse[i], n, err));
    for (int i = 0; i < k->n_seqs; i++)
        CR_TRY(add_seq(&k->seqs[i], &k->seq_width[i], &b->dense_seq[i], n, err));
    k->dense_width = b->dense_width;
    cr_buf_add(&k->dense, b->dense, (size_t)(n * b->dense_width) * sizeof(float));
    for (int i = 0; i < k->n_labels; i++)
        cr_buf_add(&k->labels[i], b->labels[i], (size_t)n * sizeof(float));
    for (int i = 0; i < k->n_weights; i++)
        cr_buf_add(&k->weights[i], b->weights[i], (size_t)n * sizeof(float));
    k->n_rows += n;
    return CR_OK;
}

static cr_jagged jagged_of(const list *l) {
    return (cr_jagged){.off = l->has_off ? (const int32_t *)(void *)l->off.data : NULL,
                       .ids = (const int64_t *)(void *)l->ids.data,
                       .w = l->has_w ? (const float *)(void *)l->w.data : NULL,
                       .n_ids = l->n_ids,
                       .steps = l->seq ? (const int32_t *)(void *)l->steps.data : NULL};
}

static void make_all(cr_kept *k) {
    cr_jagged *sparse = cr_alloc((size_t)(k->n_lists + 1) * sizeof(*sparse), "kept rows");
    cr_dense_seq *seq = cr_alloc((size_t)(k->n_seqs + 1) * sizeof(*seq), "kept rows");
    k->label_rows = cr_alloc((size_t)(k->n_labels + 1) * sizeof(float *), "kept rows");
    k->weight_rows = cr_alloc((size_t)(k->n_weights + 1) * sizeof(float *), "kept rows");
    for (int i = 0; i < k->n_lists; i++)
        sparse[i] = jagged_of(&k->lists[i]);
    for (int i = 0; i < k->n_seqs; i++)
        seq[i] = (cr_dense_seq){(const int32_t *)(void *)k->seqs[i].steps.data,
                                (const float *)(void *)k->seqs[i].w.data, k->seq_width[i]};
    for (int i = 0; i < k->n_labels; i++)
        k->label_rows[i] = (const float *)(void *)k->labels[i].data;
    for (int i = 0; i < k->n_weights; i++)
        k->weight_rows[i] = (const float *)(void *)k->weights[i].data;
    k->all = (cr_batch){.n_rows = k->n_rows,
                        .global_rows = k->n_rows,
                        .n_sparse = k->n_lists,
                        .sparse = sparse,
                        .dense_width = k->dense_width,
                        .dense = (const float *)(void *)k->dense.data,
                        .n_dense_seq = k->n_seqs,
                        .dense_seq = seq,
                        .n_labels = k->n_labels,
                        .labels = k->label_rows,
                        .n_weights = k->n_weights,
                        .weights = k->weight_rows};
}

static cr_code read_all(cr_kept *k, cr_loader *l, int64_t max_rows, cr_err *err) {
    for (bool done = false; !done;) {
        cr_batch *b;
        const cr_batch *mapped;
        CR_TRY(cr_loader_next(l, &b, &done, err));
        if (!b) continue;
        int64_t left = max_rows > 0 ? max_rows - k->n_rows : b->n_rows;
        k->cut = b->n_rows > left;
        cr_code code = cr_model_map_batch(k->maps, b, &mapped, err);
        if (code == CR_OK) code = add_rows(k, mapped, k->cut ? left : b->n_rows, err);
        cr_loader_release(l, b);
        CR_TRY(code);
        if (k->cut) break;
    }
    return CR_OK;
}

static cr_kept *empty(int n_lists, int n_seqs, int n_labels, int n_weights) {
    cr_kept *k = cr_alloc(sizeof(*k), "kept rows");
    k->n_lists = n_lists;
    k->lists = cr_alloc((size_t)(n_lists + 1) * sizeof(list), "kept rows");
    k->n_seqs = n_seqs;
    k->seqs = cr_alloc((size_t)(n_seqs + 1) * sizeof(list), "kept rows");
    k->seq_width = cr_alloc((size_t)(n_seqs + 1) * sizeof(int64_t), "kept rows");
    k->n_labels = n_labels;
    k->labels = cr_alloc((size_t)(n_labels + 1) * sizeof(cr_buf), "kept rows");
    k->n_weights = n_weights;
    k->weights = cr_alloc((size_t)(n_weights + 1) * sizeof(cr_buf), "kept rows");
    return k;
}

cr_code cr_kept_read(cr_kept **out, cr_job *j, const cr_kept_opts *o, cr_diag *diag) {
    const cr_features *fs = j->features;
    cr_kept *k =
        empty(fs->n_sparse + j->model->n_mapped, fs->n_dense_seq, fs->n_labels, fs->n_weights);
    cr_err err;
    *out = k;
    cr_loader *l = NULL;
    cr_job_data d = {.paths = o->paths,
                     .key = o->key,
                     .side = o->side,
                     .batch_size = cr_job_eval_batch(j),
                     .n_epochs = 1,
                     .once = true};
    cr_code code = CR_OK;
    if (cr_model_work_new(&k->maps, j->model, NULL, j->pool, &err) != CR_OK)
        code = cr_diag_err(diag, &err);
    if (code == CR_OK) code = cr_job_loader(j, &d, &l, diag);
    if (code == CR_OK && read_all(k, l, o->max_rows, &err) != CR_OK) code = cr_diag_err(diag, &err);
    cr_loader_free(l);
    if (code == CR_OK && k->n_rows == 0)
        code = cr_diag_err(diag, &(cr_err){.code = CR_EDATA,
                                           .msg = "the data holds no rows; check "
                                                  "the path and the files"});
    if (code == CR_OK) make_all(k);
    return code;
}

static void clear_lists(list *v, int n) {
    for (int i = 0; v && i < n; i++) {
        cr_buf_clear(&v[i].steps);
        cr_buf_clear(&v[i].off);
        cr_buf_clear(&v[i].ids);
        cr_buf_clear(&v[i].w);
    }
    cr_free(v);
}

void cr_kept_free(cr_kept *k) {
    if (!k) return;
    clear_lists(k->lists, k->n_lists);
    clear_lists(k->seqs, k->n_seqs);
    cr_buf_clear(&k->dense);
    for (int i = 0; i < k->n_labels; i++)
        cr_buf_clear(&k->labels[i]);
    for (int i = 0; i < k->n_weights; i++)
        cr_buf_clear(&k->weights[i]);
    cr_free(k->seq_width);
    cr_free(k->labels);
    cr_free(k->weights);
    cr_free(k->all.sparse);
    cr_free(k->all.dense_seq);
    cr_free(k->label_rows);
    cr_free(k->weight_rows);
    cr_model_work_free(k->maps);
    cr_free(k);
}

int64_t cr_kept_rows(const cr_kept *k) {
    return k->n_rows;
}
bool cr_kept_cut(const cr_kept *k) {
    return k->cut;
}
const cr_batch *cr_kept_all(const cr_kept *k) {
    return &k->all;
}

size_t cr_kept_bytes(const cr_kept *k) {
    size_t n = k->dense.cap;
    for (int i = 0; i < k->n_lists; i++)
        n += k->lists[i].steps.cap + k->lists[i].off.cap + k->lists[i].ids.cap + k->lists[i].w.cap;
    for (int i = 0; i < k->n_seqs; i++)
        n += k->seqs[i].steps.cap + k->seqs[i].w.cap;
    return n;
}

/* The steps of a row: one, except in a sequence. A row that is none has no step. */
typedef struct steps {
    int64_t from, n;
} steps;
static steps steps_of(const int32_t *off, int64_t row) {
    if (row == CR_NO_ROW) return (steps){0, 0};
    return off ? (steps){off[row], off[row + 1] - off[row]} : (steps){row, 1};
}

static bool same_ids(const cr_jagged *j, int64_t a, int64_t b) {
    steps x = steps_of(j->steps, a), y = steps_of(j->steps, b);
    if (x.n != y.n) {
        /* a row that is none has no ids, and so has a row without ids; both give zeros */
        if (j->steps || (a != CR_NO_ROW && b != CR_NO_ROW)) return false;
        steps one = a == CR_NO_ROW ? y : x;
        return j->off && j->off[one.from + 1] == j->off[one.from];
    }
    for (int64_t i = 0; i < x.n; i++) {
        steps p = steps_of(j->off, x.from + i), q = steps_of(j->off, y.from + i);
        if (p.n != q.n) return false;
        if (memcmp(j->ids + p.from, j->ids + q.from, (size_t)p.n * sizeof(int64_t)) != 0)
            return false;
        if (j->w && memcmp(j->w + p.from, j->w + q.from, (size_t)p.n * sizeof(float)) != 0)
            return false;
    }
    return true;
}

/* The bits of a number: -0 and 0 differ, and a NaN is equal to itself. */
static uint32_t bits_at(const cr_kept *k, int64_t row, int64_t s) {
    uint32_t bits = 0;
    if (row != CR_NO_ROW) memcpy(&bits, &k->all.dense[row * k->dense_width + s], sizeof bits);
    return bits;
}

/* Has the list one id per row, without a weight? */
static bool one_id(const cr_jagged *j) {
    return !j->off && !j->steps && !j->w;
}

bool cr_kept_same(const cr_kept *k, cr_kept_part part, int64_t s, int64_t a, int64_t b) {
    if (part == CR_KEPT_IDS) return same_ids(&k->all.sparse[s], a, b);
    if (part == CR_KEPT_FLOAT) {
        return bits_at(k, a, s) == bits_at(k, b, s);
    }
    const cr_dense_seq *d = &k->all.dense_seq[s];
    steps x = steps_of(d->steps, a), y = steps_of(d->steps, b);
    return x.n == y.n && memcmp(d->v + x.from * d->width, d->v + y.from * d->width,
                                (size_t)(x.n * d->width) * sizeof(float)) == 0;
}

void cr_kept_differ(const cr_kept *k, cr_kept_part part, int64_t s, int64_t first, int64_t n,
                    const int64_t *donor, bool *differs) {
    if (part == CR_KEPT_IDS && one_id(&k->all.sparse[s])) {
        const int64_t *ids = k->all.sparse[s].ids;
        for (int64_t r = first; r < first + n; r++)
            differs[r - first] |= !donor || ids[r] != ids[donor[r]];
        return;
    }
    for (int64_t r = first; r < first + n; r++)
        if (!differs[r - first])
            differs[r - first] = !cr_kept_same(k, part, s, r, donor ? donor[r] : CR_NO_ROW);
}

/* ---- batches of such rows ---- */

static void *room(cr_buf *b, int64_t bytes) {
    cr_buf_reset(b);
    cr_buf_reserve(b, (size_t)bytes + 64);
    b->n = (size_t)bytes;
    return b->data;
}

/* The step of a source row that stands at step i of a row with n steps; -1: none. */
static int64_t step_at(steps src, int64_t i) {
    return src.n > 0 ? src.from + i % src.n : -1;
}

/* How many steps row i of the new batch gets. */
static int64_t steps_wanted(const int32_t *off, const cr_sources *s, const int64_t *from,
                            int64_t i) {
    if (!off) return 1;
    return steps_of(off, s->keep_lengths || from[i] == CR_NO_ROW ? s->rows[i] : from[i]).n;
}

enum { STEPS, OFF, IDS, WEIGHTS, MEMS };

static cr_code take_ids(const cr_jagged *j, const cr_sources *s, const int64_t *from, cr_buf *mem,
                        cr_jagged *to, cr_err *err) {
    int64_t n_steps = 0, n_ids = 0;
    bool plain = !j->steps && !j->off;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t n = steps_wanted(j->steps, s, from, i);
        steps src = steps_of(j->steps, from[i]);
        n_steps += n;
        plain &= from[i] != CR_NO_ROW;
        for (int64_t q = 0; q < n && src.n > 0; q++)
            n_ids += steps_of(j->off, step_at(src, q)).n;
    }
    if (n_steps >= INT32_MAX || n_ids >= INT32_MAX)
        return cr_fail(err, CR_EDATA, "a batch has more than 2^31 ids of one feature");
    int64_t *ids = room(&mem[IDS], n_ids * (int64_t)sizeof(int64_t));
    float *w = j->w ? room(&mem[WEIGHTS], n_ids * (int64_t)sizeof(float)) : NULL;
    if (plain) {
        for (int64_t i = 0; i < s->n; i++) {
            ids[i] = j->ids[from[i]];
            if (w) w[i] = j->w[from[i]];
        }
        *to = (cr_jagged){.ids = ids, .w = w, .n_ids = n_ids};
        return CR_OK;
    }
    int32_t *step = j->steps ? room(&mem[STEPS], (s->n + 1) * (int64_t)sizeof(int32_t)) : NULL;
    int32_t *off = room(&mem[OFF], (n_steps + 1) * (int64_t)sizeof(int32_t));
    int64_t at = 0, id = 0;
    off[0] = 0;
    if (step) step[0] = 0;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t n = steps_wanted(j->steps, s, from, i);
        steps src = steps_of(j->steps, from[i]);
        for (int64_t q = 0; q < n; q++) {
            steps v = src.n > 0 ? steps_of(j->off, step_at(src, q)) : (steps){0, 0};
            memcpy(ids + id, j->ids + v.from, (size_t)v.n * sizeof(int64_t));
            if (w) memcpy(w + id, j->w + v.from, (size_t)v.n * sizeof(float));
            id += v.n;
            off[++at] = (int32_t)id;
        }
        if (step) step[i + 1] = (int32_t)at;
    }
    *to = (cr_jagged){.off = off, .ids = ids, .w = w, .n_ids = n_ids, .steps = step};
    return CR_OK;
}

static cr_code take_seq(const cr_dense_seq *d, const cr_sources *s, const int64_t *from,
                        cr_buf *mem, cr_dense_seq *to, cr_err *err) {
    int64_t n_steps = 0, at = 0;
    for (int64_t i = 0; i < s->n; i++)
        n_steps += steps_wanted(d->steps, s, from, i);
    if (n_steps >= INT32_MAX)
        return cr_fail(err, CR_EDATA, "a batch has more than 2^31 steps of one sequence");
    int32_t *step = room(&mem[STEPS], (s->n + 1) * (int64_t)sizeof(int32_t));
    float *v = room(&mem[WEIGHTS], n_steps * d->width * (int64_t)sizeof(float));
    step[0] = 0;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t n = steps_wanted(d->steps, s, from, i);
        steps src = steps_of(d->steps, from[i]);
        for (int64_t q = 0; q < n; q++, at++) {
            int64_t x = step_at(src, q);
            if (x < 0)
                memset(v + at * d->width, 0, (size_t)d->width * sizeof(float));
            else
                memcpy(v + at * d->width, d->v + x * d->width, (size_t)d->width * sizeof(float));
        }
        step[i + 1] = (int32_t)at;
    }
    *to = (cr_dense_seq){step, v, d->width};
    return CR_OK;
}

static void take_dense(const cr_kept *k, const cr_sources *s, cr_taken *to, cr_buf *mem) {
    int64_t W = k->dense_width;
    float *v = room(mem, s->n * W * (int64_t)sizeof(float));
    for (int64_t i = 0; !s->only && i < s->n; i++)
        memcpy(v + i * W, k->all.dense + s->rows[i] * W, (size_t)W * sizeof(float));
    for (int64_t c = 0; s->dense && c < W; c++)
        for (int64_t i = 0; s->dense[c] && i < s->n; i++) {
            int64_t r = s->dense[c][i];
            v[i * W + c] = r == CR_NO_ROW ? 0 : k->all.dense[r * W + c];
        }
    to->b.dense = v;
}

static const float *take_floats(const float *from, const cr_sources *s, cr_buf *mem) {
    float *v = room(mem, s->n * (int64_t)sizeof(float));
    for (int64_t i = 0; i < s->n; i++)
        v[i] = from[s->rows[i]];
    return v;
}

static void open_taken(const cr_kept *k, cr_taken *to) {
    if (to->mem) return;
    to->n_mem = MEMS * (k->n_lists + k->n_seqs) + 1 + k->n_labels + k->n_weights;
    to->mem = cr_alloc((size_t)to->n_mem * sizeof(cr_buf), "rows of a batch");
    to->b = k->all;
    to->b.sparse = cr_alloc((size_t)(k->n_lists + 1) * sizeof(cr_jagged), "rows of a batch");
    to->b.dense_seq = cr_alloc((size_t)(k->n_seqs + 1) * sizeof(cr_dense_seq), "rows of a batch");
    to->labels = cr_alloc((size_t)(k->n_labels + 1) * sizeof(float *), "rows of a batch");
    to->weights = cr_alloc((size_t)(k->n_weights + 1) * sizeof(float *), "rows of a batch");
    to->b.labels = to->labels;
    to->b.weights = to->weights;
}

cr_code cr_kept_take(const cr_kept *k, const cr_sources *s, cr_taken *to, cr_err *err) {
    open_taken(k, to);
    cr_buf *mem = to->mem;
    to->b.n_rows = to->b.global_rows = s->n;
    for (int i = 0; i < k->n_lists; i++, mem += MEMS) {
        if (s->only && !s->ids[i] && !k->lists[i].seq) continue;
        CR_TRY(take_ids(&k->all.sparse[i], s, s->ids && s->ids[i] ? s->ids[i] : s->rows, mem,
                        &to->b.sparse[i], err));
    }
    for (int i = 0; i < k->n_seqs; i++, mem += MEMS)
        CR_TRY(take_seq(&k->all.dense_seq[i], s, s->seqs && s->seqs[i] ? s->seqs[i] : s->rows, mem,
                        &to->b.dense_seq[i], err));
    take_dense(k, s, to, mem++);
    for (int i = 0; !s->only && i < k->n_labels; i++)
        to->labels[i] = take_floats(k->label_rows[i], s, mem++);
    for (int i = 0; !s->only && i < k->n_weights; i++)
        to->weights[i] = take_floats(k->weight_rows[i], s, mem++);
    return CR_OK;
}

void cr_taken_clear(cr_taken *t) {
    for (int i = 0; i < t->n_mem; i++)
        cr_buf_clear(&t->mem[i]);
    cr_free(t->mem);
    cr_free(t->b.sparse);
    cr_free(t->b.dense_seq);
    cr_free(t->labels);
    cr_free(t->weights);
    *t = (cr_taken){0};
}

cr_code cr_kept_thin(cr_kept **kept, int64_t n, cr_err *err) {
    cr_kept *k = *kept, *to = empty(k->n_lists, k->n_seqs, k->n_labels, k->n_weights);
    int64_t *rows = cr_alloc((size_t)(n + 1) * sizeof(*rows), "rows to keep");
    cr_taken t = {0};
    for (int64_t i = 0; i < n; i++)
        rows[i] = cr_kept_thin_row(i, n, k->n_rows);
    cr_code code = cr_kept_take(k, &(cr_sources){.n = n, .rows = rows}, &t, err);
    if (code == CR_OK) code = add_rows(to, &t.b, n, err);
    cr_taken_clear(&t);
    cr_free(rows);
    if (code != CR_OK) {
        cr_kept_free(to);
        return code;
    }
    to->cut = k->cut;
    make_all(to);
    cr_kept_free(k);
    *kept = to;
    return CR_OK;
}
