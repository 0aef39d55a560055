/*
 * cut.c - cuts the tensors of a checkpoint into files, and gives each file to a holder to write.
 *
 * Names, bounds and bytes of the files depend on the tensors alone, so one process and many ranks
 * write the same files. A file goes to the holder that has most of its bytes; files of tensors that
 * every holder has go to those that have least to write.
 */
#include "ckpt/save_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"

/* A file has about LEAST bytes, or more up to MOST when there would be more than MANY files. */
#define LEAST ((int64_t)64 << 20)
#define MOST  ((int64_t)1 << 30)
#define MANY  128

/* ---- which rows go to which file ---- */

typedef struct plan {
    cr_arena *arena;
    ckpt_item *v;
    int n, cap;
    int n_files;
} plan;

static void add_item(plan *p, ckpt_item x) {
    if (p->n == p->cap) {
        int cap = p->cap ? p->cap * 2 : 64;
        ckpt_item *v = CR_NEW_N(p->arena, ckpt_item, cap);
        if (p->n) memcpy(v, p->v, sizeof *v * (size_t)p->n);
        p->v = v;
        p->cap = cap;
    }
    x.first = x.first_row * x.row_elems;
    x.n = x.n_rows * x.row_elems;
    p->v[p->n++] = x;
}

static void make_plan(plan *p, const cr_ckpt_tensor *v, int n, bool optimizer, int64_t limit,
                      bool whole) {
    int64_t used = 0;
    for (int i = 0; i < n; i++) {
        const cr_ckpt_tensor *t = &v[i];
        if (t->optimizer != optimizer) continue;
        ckpt_item x = {.t = t, .total_rows = t->n_dims > 0 ? t->shape[0] : 1, .row_elems = 1};
        for (int d = 1; d < t->n_dims; d++)
            x.row_elems *= t->shape[d];
        int64_t row_bytes = x.row_elems * cr_dtype_size(t->dtype);
        int64_t bytes = row_bytes * x.total_rows;
        if (p->n_files == 0) p->n_files = 1;
        if (used > 0 && used + bytes > limit) {
            p->n_files++;
            used = 0;
        }
        int64_t per = whole || bytes <= limit ? x.total_rows : limit / row_bytes;
        if (per < 1) per = 1;
        do {
            x.n_rows = x.total_rows - x.first_row < per ? x.total_rows - x.first_row : per;
            if (x.first_row > 0) {
                p->n_files++;
                used = 0;
            }
            x.file = p->n_files - 1;
            add_item(p, x);
            used += x.n_rows * row_bytes;
            x.first_row += x.n_rows;
        } while (x.first_row < x.total_rows);
    }
}

static int64_t bytes_of(const cr_ckpt_tensor *t) {
    int64_t bytes = cr_dtype_size(t->dtype);
    for (int d = 0; d < t->n_dims; d++)
        bytes *= t->shape[d];
    return bytes;
}

/* Many ranks share the files of a checkpoint, so that even a model of some gigabytes has dozens;
 * but a file is large enough that opening and syncing it costs little. */
static int64_t file_size(int64_t bytes) {
    int64_t size = LEAST;
    while (size < MOST && bytes / size > MANY)
        size *= 2;
    return size;
}

/* ---- the content of a file ---- */

static void describe(ckpt_cut *c, ckpt_cut_file *f, const plan *p, int file) {
    cr_arena *a = &c->arena;
    cr_st_out *v = CR_NEW_N(a, cr_st_out, p->n + 1);
    ckpt_item **items = CR_NEW_N(a, ckpt_item *, p->n + 1);
    cr_st_meta *meta = CR_NEW_N(a, cr_st_meta, 2 * p->n + 1);
    int n = 0, n_meta = 0;
    meta[n_meta++] = (cr_st_meta){"format", CKPT_FORMAT};
    for (int i = 0; i < p->n; i++) {
        ckpt_item *x = &p->v[i];
        if (x->file != file) continue;
        items[n] = x;
        cr_st_out *o = &v[n++];
        o->name = x->t->name;
        o->dtype = x->t->dtype;
        o->n_dims = x->t->n_dims;
        memcpy(o->shape, x->t->shape, sizeof x->t->shape);
        if (x->t->n_dims > 0) o->shape[0] = x->n_rows;
        f->bytes += x->n * cr_dtype_size(x->t->dtype);
        if (x->n_rows != x->total_rows)
            meta[n_meta++] = (cr_st_meta){cr_arena_printf(a, CKPT_ROWS_KEY "%s", x->t->name),
                                          cr_arena_printf(a, "%" PRId64 ":%" PRId64 ":%" PRId64,
                                                          x->first_row, x->n_rows, x->total_rows)};
        if (x->t->int8_rows)
            meta[n_meta++] =
                (cr_st_meta){cr_arena_printf(a, CKPT_QUANT_KEY "%s", x->t->name), CKPT_QUANT_ROWS};
    }
    int *order = CR_NEW_N(a, int, n + 1);
    cr_st_order(v, n, order);
    cr_st_head(&f->head, v, order, n, meta, n_meta);
    f->items = CR_NEW_N(a, ckpt_item *, n + 1);
    f->n = n;
    for (int i = 0; i < n; i++)
        f->items[i] = items[order[i]];
}

static void write_index(ckpt_cut *c, const cr_ckpt_tensor *v, int n, const plan *plans) {
    int64_t total = 0;
    cr_jw w;
    cr_jw_init(&w, &c->index);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "format", CKPT_FORMAT);
    cr_jw_i64(&w, "format_version", CKPT_VERSION);
    cr_jw_arr(&w, "files");
    for (int i = 0; i < c->n_files; i++) {
        int64_t size = (int64_t)c->files[i].head.n + c->files[i].bytes;
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "name", c->files[i].name);
        cr_jw_i64(&w, "size", size);
        cr_jw_end(&w);
        total += size;
    }
    cr_jw_end(&w);
    cr_jw_i64(&w, "total_size", total);
    cr_jw_arr(&w, "tensors");
    /* the items of a tensor follow each other in its plan, in the order of v */
    int at[2] = {0, 0};
    for (int i = 0; i < n; i++) {
        int k = v[i].optimizer;
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "name", v[i].name);
        cr_jw_str(&w, "dtype", cr_dtype_name(v[i].dtype));
        cr_jw_arr(&w, "shape");
        for (int d = 0; d < v[i].n_dims; d++)
            cr_jw_i64(&w, NULL, v[i].shape[d]);
        cr_jw_end(&w);
        cr_jw_arr(&w, "parts");
        for (; at[k] < plans[k].n && plans[k].v[at[k]].t == &v[i]; at[k]++) {
            const ckpt_item *x = &plans[k].v[at[k]];
            cr_jw_obj(&w, NULL);
            cr_jw_str(&w, "file", c->files[x->file + (k ? plans[0].n_files : 0)].name);
            cr_jw_i64(&w, "first_row", x->first_row);
            cr_jw_i64(&w, "rows", x->n_rows);
            cr_jw_end(&w);
        }
        cr_jw_end(&w);
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_buf_char(&c->index, '\n');
}

/* ---- who writes which file ---- */

/* Sets have[h] to the bytes of a file that lie with holder h and not with all; false: there are
 * none. */
static bool find_holders(const ckpt_cut_file *f, int64_t *have, int n) {
    bool any = false;
    memset(have, 0, sizeof *have * (size_t)n);
    for (int i = 0; i < f->n; i++) {
        const ckpt_item *x = f->items[i];
        for (int p = 0; p < x->t->n_parts; p++) {
            const cr_ckpt_part *part = &x->t->parts[p];
            if (part->row * x->t->part_width >= x->first + x->n) break;
            int64_t m = cr_ckpt_in_part(x->t, part, x->first, x->first + x->n);
            have[part->holder] += m * cr_dtype_size(x->t->dtype);
            any = any || m > 0;
        }
    }
    return any;
}

static int least(const int64_t *load, int n) {
    int best = 0;
    for (int h = 1; h < n; h++)
        if (load[h] < load[best]) best = h;
    return best;
}

/* A holder that has much more than the others would make them wait, so at twice the mean it passes
 * files on, whose bytes then travel. Where there are parameter servers, they write: a worker may be
 * lost. */
static void assign(ckpt_cut *c, const cr_meet *m) {
    int n = m ? m->n : 1;
    int64_t *load = CR_NEW_N(&c->arena, int64_t, n), *have = CR_NEW_N(&c->arena, int64_t, n);
    for (int h = 0; h < n; h++)
        if (m && m->serves && !m->serves[h]) load[h] = INT64_MAX / 2;
    for (int all = 0; all < 2; all++) /* files that every holder has come last and fill the gaps */
        for (int i = 0; i < c->n_files; i++) {
            ckpt_cut_file *f = &c->files[i];
            bool some = find_holders(f, have, n);
            if (some == (bool)all) continue;
            int best = 0;
            for (int h = 1; h < n && some; h++)
                if (have[h] > have[best] || (have[h] == have[best] && load[h] < load[best]))
                    best = h;
            if (!some || load[best] >= 2 * c->bytes / n) best = least(load, n);
            f->writer = best;
            load[best] += f->bytes;
        }
}

/* ---- all of it ---- */

/* Parts that leave a gap would put random bytes into the file. */
static void check_parts(const cr_ckpt_tensor *t) {
    int64_t held = 0;
    for (int p = 0; p < t->n_parts; p++)
        held += (t->parts[p].end - t->parts[p].row) * (t->parts[p].col_end - t->parts[p].col);
    if (t->n_parts > 0 && held != bytes_of(t) / cr_dtype_size(t->dtype))
        CR_BUG("the parts of a tensor do not cover it once");
}

static cr_code check(const cr_ckpt_tensor *v, int n, cr_err *err) {
    cr_map seen;
    cr_map_init(&seen);
    cr_code code = CR_OK;
    for (int i = 0; i < n && code == CR_OK; i++) {
        if (!cr_map_put(&seen, v[i].name, strlen(v[i].name), i))
            code = cr_fail(err, CR_ERUN, "two tensors to save are named '%s'; rename one feature",
                           v[i].name);
        CR_ASSERT(v[i].n_dims >= 0 && v[i].n_dims <= CR_CKPT_DIMS);
        CR_ASSERT(v[i].n_parts == 0 || v[i].part_width > 0);
        check_parts(&v[i]);
    }
    cr_map_clear(&seen);
    return code;
}

cr_code cr_ckpt_cut_init(ckpt_cut *c, const cr_ckpt_tensor *v, int n, int64_t limit, bool whole,
                         const cr_meet *m, cr_err *err) {
    static const char *const kind[2] = {"model", "optimizer"};
    memset(c, 0, sizeof *c);
    CR_TRY(check(v, n, err));
    cr_arena_init(&c->arena, 0);
    cr_buf_init(&c->index);
    for (int i = 0; i < n; i++) {
        c->bytes += bytes_of(&v[i]);
        c->travels = c->travels || (v[i].n_parts > 0 && m && m->n > 1);
    }
    if (limit <= 0) limit = file_size(c->bytes);
    plan plans[2] = {{.arena = &c->arena}, {.arena = &c->arena}};
    for (int k = 0; k < 2; k++)
        make_plan(&plans[k], v, n, k == 1, limit, whole);
    c->n_files = plans[0].n_files + plans[1].n_files;
    c->files = CR_NEW_N(&c->arena, ckpt_cut_file, c->n_files + 1);
    for (int k = 0, at = 0; k < 2; k++)
        for (int i = 0; i < plans[k].n_files; i++) {
            ckpt_cut_file *f = &c->files[at++];
            cr_buf_init(&f->head);
            snprintf(f->name, sizeof f->name, "%s-%05d-of-%05d.safetensors", kind[k], i + 1,
                     plans[k].n_files);
            describe(c, f, &plans[k], i);
        }
    assign(c, m);
    write_index(c, v, n, plans);
    return CR_OK;
}

void cr_ckpt_cut_clear(ckpt_cut *c) {
    for (int i = 0; i < c->n_files; i++)
        cr_buf_clear(&c->files[i].head);
    cr_buf_clear(&c->index);
    cr_arena_clear(&c->arena);
    memset(c, 0, sizeof *c);
}
