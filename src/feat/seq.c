/*
 * seq.c - sequences: a feature type is applied to every step.
 *
 * A chunk of rows becomes a chunk of steps: a text is cut at sequence_delim, an item of a list is a
 * step, and an input that is not a sequence is repeated for the steps of its row. The feature's
 * type then encodes steps as it does rows, so every type has its sequence form and there is one set
 * of rules for values. Text is cut in place, and a list is used one level deeper, item by item;
 * values are copied only where steps are left out or inserted.
 *
 * Two rules differ by mode. The feature generator gives a row without values one step with the
 * default ("0" when there is none), and keeps the first sequence_length steps. In FG_NONE such a
 * row has no steps unless fg_encoded_default_value is set, and nothing is cut.
 */
#include "feat/feat_int.h"

#include <stdio.h>
#include <string.h>

#include "conf/conf.h"
#include "data/load/take.h"

/* ---- config ---- */

static int64_t conf_int(const void *conf, const char *field, int64_t not_given) {
    const cr_conf_base *b = conf;
    const cr_field *row = cr_msg_field(b->msg, field);
    if (!row || row->offset == CR_NO_STORE || row->type != CR_T_INT || !cr_conf_has(conf, field))
        return not_given;
    int64_t x;
    memcpy(&x, (const char *)conf + row->offset, sizeof(x));
    return x;
}

cr_seq *cr_seq_make(const void *conf, const cr_sequence_conf *block, const char *feature,
                    const cr_data_conf *data, cr_arena *arena, cr_diag *diag) {
    cr_seq *q = CR_NEW(arena, cr_seq);
    q->name = block ? block->sequence_name : NULL;
    q->sep = cr_group_sep(data);
    q->block = block;
    q->delim = block ? block->sequence_delim : cr_conf_text(conf, "sequence_delim");
    if (!*q->delim) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF,
                    cr_conf_at(block ? (const void *)block : conf, "sequence_delim"),
                    "feature '%s': sequence_delim is empty; leave it out for \";\"", feature);
        q->delim = ";";
    }
    q->n_delim = strlen(q->delim);
    bool encoded = cr_fg_encoded(data);
    if (!encoded) q->length = block ? block->sequence_length : conf_int(conf, "sequence_length", 0);
    /* other types take any number of values unless value_dim is given */
    const cr_msg *msg = ((const cr_conf_base *)conf)->msg;
    int64_t not_given = msg == &cr_id_msg || msg == &cr_raw_msg;
    q->single = encoded && conf_int(conf, "value_dim", not_given) == 1;
    q->fill = !encoded || *cr_conf_text(conf, "fg_encoded_default_value");
    if (!encoded && cr_conf_has(conf, "default_value") && !*cr_conf_text(conf, "default_value"))
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(conf, "default_value"),
                    "feature '%s': a sequence cannot have an empty default_value; \"0\" is used",
                    feature);
    return q;
}

/* ---- columns to columns of steps ---- */

typedef struct cutter {
    const cr_seq *q;
    const cr_feature *f;
    const cr_chunk *in;
    cr_arena *arena;
    int32_t *steps; /* n_rows + 1 */
    int64_t n_cut;  /* rows that were longer than q->length */
} cutter;

/* Returns how many steps are kept of a row that has n values. */
static int64_t kept(cutter *t, int64_t n) {
    if (n == 0) return t->q->fill ? 1 : 0;
    if (t->q->length == 0 || n <= t->q->length) return n;
    t->n_cut++;
    return t->q->length;
}

static cr_code end_count(const cutter *t, int64_t total, cr_err *err) {
    if (total <= INT32_MAX) return CR_OK;
    return cr_fail(err, CR_EDATA, "feature '%s': more than 2^31 steps in one block of rows",
                   t->f->name);
}

static bool is_null(const cr_column *c, int64_t r) {
    return c->valid && !c->valid[r];
}

/* Counts how often the delimiter occurs. */
static int64_t count_delims(const cr_seq *q, const char *p, size_t n) {
    int64_t k = 0;
    if (q->n_delim == 1) {
        char c = q->delim[0];
        for (size_t i = 0; i < n; i++)
            k += p[i] == c;
        return k;
    }
    const char *end = p + n;
    while ((p = memmem(p, (size_t)(end - p), q->delim, q->n_delim))) {
        p += q->n_delim;
        k++;
    }
    return k;
}

/* For a delimiter of one byte: looks at eight bytes at a time and finds the first n steps of the
 * text. */
static void cut_bytes(char delim, const char *text, uint32_t at, uint32_t len, int64_t n,
                      uint32_t *beg, uint32_t *end) {
    uint32_t i = 0;
    beg[0] = at;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t pat = 0x0101010101010101u * (unsigned char)delim, low = 0x7f7f7f7f7f7f7f7fu;
    for (; n > 1 && i + 8 <= len; i += 8) {
        uint64_t v;
        memcpy(&v, text + i, 8);
        v ^= pat;
        v = ~(((v & low) + low) | v | low); /* 0x80 where a byte is the delimiter */
        for (; v && n > 1; v &= v - 1, n--) {
            uint32_t cut = at + i + (uint32_t)__builtin_ctzll(v) / 8;
            *end++ = cut;
            *++beg = cut + 1;
        }
    }
#endif
    for (; n > 1 && i < len; i++) {
        if (text[i] != delim) continue;
        *end++ = at + i;
        *++beg = at + i + 1;
        n--;
    }
    /* the last step ends with the text, or where the steps that are left out begin */
    const char *from = text + (*beg - at), *stop = memchr(from, delim, len - (*beg - at));
    *end = stop ? at + (uint32_t)(stop - text) : at + len;
}

static void cut_text(const cr_seq *q, const char *text, uint32_t at, uint32_t len, int64_t n,
                     uint32_t *beg, uint32_t *end) {
    if (q->n_delim == 1) {
        cut_bytes(q->delim[0], text, at, len, n, beg, end);
        return;
    }
    for (const char *p = text, *stop = text + len; n > 0; n--) {
        const char *cut = memmem(p, (size_t)(stop - p), q->delim, q->n_delim);
        *beg++ = at + (uint32_t)(p - text);
        *end++ = at + (uint32_t)((cut ? cut : stop) - text);
        p = cut ? cut + q->n_delim : stop;
    }
}

static cr_code steps_of_text(cutter *t, const cr_column *col, cr_column *out, cr_err *err) {
    int64_t total = 0;
    for (int64_t r = 0; r < t->in->n_rows; r++) {
        size_t n;
        const char *p = cr_text_at(col, r, &n);
        t->steps[r] = (int32_t)total;
        total += kept(t, n == 0 || is_null(col, r) ? 0 : count_delims(t->q, p, n) + 1);
        CR_TRY(end_count(t, total, err));
    }
    t->steps[t->in->n_rows] = (int32_t)total;
    uint32_t *beg = cr_arena_alloc(t->arena, sizeof(uint32_t) * (size_t)(total + 1));
    uint32_t *end = cr_arena_alloc(t->arena, sizeof(uint32_t) * (size_t)(total + 1));
    for (int64_t r = 0; r < t->in->n_rows; r++) {
        int64_t at = t->steps[r], n = t->steps[r + 1] - at;
        size_t len;
        const char *p = cr_text_at(col, r, &len);
        if (n == 0) continue;
        if (len == 0 || is_null(col, r)) {
            beg[at] = end[at] = 0; /* an empty text is a missing value */
            continue;
        }
        cut_text(t->q, p, (uint32_t)(p - col->bytes), (uint32_t)len, n, beg + at, end + at);
    }
    *out = (cr_column){.type = CR_COL_STR, .bytes = col->bytes, .beg = beg, .end = end};
    return CR_OK;
}

/* Takes the rows idx of a column; -1: a row without a value. */
static cr_code take(cr_column *to, const cr_column *from, const int32_t *idx, int64_t n,
                    const cutter *t, cr_err *err) {
    int64_t total = 0;
    for (int64_t i = 0; from->depth > 0 && i < n; i++) {
        if (idx[i] >= 0) total += from->row_off[idx[i] + 1] - from->row_off[idx[i]];
        CR_TRY(end_count(t, total, err));
    }
    cr_column_take(to, from, idx, n, t->arena);
    return CR_OK;
}

/* Returns the items of a list column, from item a on, as rows; for a column of single values, these
 * values. */
static cr_column items_of(const cr_column *col, int64_t a) {
    cr_column c = *col;
    if (col->depth == 0) return c;
    c.depth = col->depth - 1;
    c.stored = NULL;
    c.row_off = c.item_off = NULL;
    c.list_valid = c.item_valid = NULL;
    if (col->depth == 2) {
        c.valid = col->list_valid ? col->list_valid + a : NULL;
        c.row_off = col->item_off + a;
        c.item_valid = col->item_valid;
        return c;
    }
    c.valid = col->item_valid ? col->item_valid + a : NULL;
    if (col->type != CR_COL_STR) {
        c.v.i32 = (const int32_t *)(const void *)((const char *)col->v.i32 +
                                                  (size_t)a * cr_col_width(col->type));
    } else if (col->code) {
        c.code = col->code + a;
    } else {
        c.beg = col->beg + a;
        c.end = col->end + a;
    }
    return c;
}

/* Makes steps of list items, or of single values that are not text (a sequence of one step). */
static cr_code steps_of_items(cutter *t, const cr_column *col, cr_column *out, cr_err *err) {
    int64_t n_rows = t->in->n_rows, total = 0;
    int32_t first = col->depth ? col->row_off[0] : 0;
    bool as_is = true;
    for (int64_t r = 0; r < n_rows; r++) {
        int64_t n = col->depth ? col->row_off[r + 1] - col->row_off[r] : 1, null = is_null(col, r);
        int64_t k = kept(t, null ? 0 : n);
        as_is &= k == n && !null;
        t->steps[r] = (int32_t)total;
        total += k;
        CR_TRY(end_count(t, total, err));
    }
    t->steps[n_rows] = (int32_t)total;
    cr_column items = items_of(col, first);
    if (as_is) {
        *out = items;
        return CR_OK;
    }
    int32_t *idx = cr_arena_alloc(t->arena, sizeof(int32_t) * (size_t)(total + 1));
    for (int64_t r = 0; r < n_rows; r++) {
        int64_t a = col->depth ? col->row_off[r] - first : r;
        int64_t n = is_null(col, r) ? 0 : col->depth ? col->row_off[r + 1] - col->row_off[r] : 1;
        for (int32_t k = t->steps[r]; k < t->steps[r + 1]; k++)
            idx[k] = n ? (int32_t)(a + (k - t->steps[r])) : -1;
    }
    return take(out, &items, idx, total, t, err);
}

/* ---- encoding ---- */

static void say_lengths(cr_bad *bad, const cr_chunk *in, const char *a, const int32_t *sa,
                        const char *b, const int32_t *sb, const char *what) {
    if (memcmp(sa, sb, sizeof(int32_t) * (size_t)(in->n_rows + 1)) == 0) return;
    for (int64_t r = 0; r < in->n_rows; r++) {
        int na = sa[r + 1] - sa[r], nb = sb[r + 1] - sb[r];
        if (na != nb)
            cr_bad_add(bad, r, cr_line_of(in, r),
                       "columns '%s' and '%s' have %d and %d steps; those of %s must agree", a, b,
                       na, nb, what);
    }
}

/* Gives a column the steps of another one: additional steps are left out, lacking steps are
 * missing. The rows where they differ are bad and only keep their shape. */
static cr_code fit(cr_column *col, const int32_t *from, const int32_t *to, const cutter *t,
                   cr_err *err) {
    int64_t n_rows = t->in->n_rows;
    if (memcmp(from, to, sizeof(int32_t) * (size_t)(n_rows + 1)) == 0) return CR_OK;
    int32_t *idx = cr_arena_alloc(t->arena, sizeof(int32_t) * (size_t)(to[n_rows] + 1));
    for (int64_t r = 0; r < n_rows; r++)
        for (int32_t k = to[r]; k < to[r + 1]; k++) {
            int32_t i = from[r] + (k - to[r]);
            idx[k] = i < from[r + 1] ? i : -1;
        }
    cr_column old = *col;
    return take(col, &old, idx, to[n_rows], t, err);
}

/* f->spread: a row has as many steps as its longest input, and an input of one step stands for all
 * of them. The others must agree; a row where they do not is bad, and *steps only keeps its
 * shape. */
static cr_code spread(const cutter *t, cr_chunk *out, int32_t *const *each, const int32_t **steps,
                      cr_bad *bad, cr_err *err) {
    const cr_feature *f = t->f;
    int64_t n_rows = t->in->n_rows, total = 0;
    int32_t *at = cr_arena_alloc(t->arena, sizeof(int32_t) * (size_t)(n_rows + 1));
    at[0] = 0;
    for (int64_t r = 0; r < n_rows; r++) {
        int n = 0, first = -1;
        for (int k = 0; k < f->n_columns; k++) {
            if (!each[k]) continue;
            int m = each[k][r + 1] - each[k][r];
            if (m > 1 && n > 1 && m != n)
                cr_bad_add(bad, r, cr_line_of(t->in, r),
                           "columns '%s' and '%s' have %d and %d steps; those of one feature must "
                           "agree, or be one",
                           f->columns[first], f->columns[k], n, m);
            if (m <= n) continue;
            n = m;
            first = k;
        }
        total += n;
        CR_TRY(end_count(t, total, err));
        at[r + 1] = (int32_t)total;
    }
    *steps = at;
    for (int k = 0; k < f->n_columns; k++) {
        if (!each[k] || memcmp(each[k], at, sizeof(int32_t) * (size_t)(n_rows + 1)) == 0) continue;
        int32_t *idx = cr_arena_alloc(t->arena, sizeof(int32_t) * (size_t)(total + 1));
        for (int64_t r = 0; r < n_rows; r++) {
            int m = each[k][r + 1] - each[k][r];
            for (int32_t i = at[r]; i < at[r + 1]; i++) {
                int32_t step = m == 1 ? 0 : i - at[r];
                idx[i] = step < m ? each[k][r] + step : -1;
            }
        }
        cr_column *col = &out->cols[f->col_idx[k]], old = *col;
        CR_TRY(take(col, &old, idx, total, t, err));
    }
    return CR_OK;
}

static bool is_seq(const cr_feature *f, int k) {
    return !f->is_seq || f->is_seq[k];
}

/* Makes a chunk whose rows are steps. */
static cr_code make_steps(cutter *t, cr_chunk *out, const int32_t **steps, int64_t *n_cut,
                          cr_bad *bad, cr_err *err) {
    const cr_feature *f = t->f;
    int64_t n_rows = t->in->n_rows;
    const char *first = NULL;
    *n_cut = 0;
    int32_t **each = CR_NEW_N(t->arena, int32_t *, f->n_columns + 1);
    for (int k = 0; k < f->n_columns; k++) {
        if (!is_seq(f, k)) continue;
        const cr_column *col = &t->in->cols[f->col_idx[k]];
        cr_column *to = &out->cols[f->col_idx[k]];
        if (col->keys)
            return cr_fail(err, CR_EDATA,
                           "%s: column '%s' holds maps; feature '%s' needs a sequence",
                           t->in->path ? t->in->path : "input", f->columns[k], f->name);
        t->steps = cr_arena_alloc(t->arena, sizeof(int32_t) * (size_t)(n_rows + 1));
        t->n_cut = 0;
        if (col->type == CR_COL_STR && col->depth == 0)
            CR_TRY(steps_of_text(t, col, to, err));
        else
            CR_TRY(steps_of_items(t, col, to, err));
        each[k] = t->steps;
        if (t->n_cut > *n_cut) *n_cut = t->n_cut; /* the others agree, or have one step (spread) */
        if (!first) {
            first = f->columns[k];
            *steps = t->steps;
            continue;
        }
        if (f->spread) continue;
        say_lengths(bad, t->in, first, *steps, f->columns[k], t->steps, "one feature");
        CR_TRY(fit(to, t->steps, *steps, t, err));
    }
    CR_ASSERT(*steps);
    if (f->spread) CR_TRY(spread(t, out, each, steps, bad, err));
    out->n_rows = (*steps)[n_rows];
    int32_t *row = NULL;
    for (int k = 0; k < f->n_columns; k++) {
        if (is_seq(f, k)) continue;
        if (!row) {
            row = cr_arena_alloc(t->arena, sizeof(int32_t) * (size_t)(out->n_rows + 1));
            for (int64_t r = 0; r < n_rows; r++)
                for (int32_t i = (*steps)[r]; i < (*steps)[r + 1]; i++)
                    row[i] = (int32_t)r;
        }
        CR_TRY(
            take(&out->cols[f->col_idx[k]], &t->in->cols[f->col_idx[k]], row, out->n_rows, t, err));
    }
    return CR_OK;
}

/* FG_NONE: a text holds several ids per step only if value_dim says so. */
static void check_single(const cr_feature *f, const cr_chunk *in, const cr_jagged *j, cr_bad *bad) {
    const cr_column *col = &in->cols[f->col_idx[0]];
    if (!j->off || col->depth > 0 || col->type != CR_COL_STR) return;
    for (int64_t i = 0; i < in->n_rows; i++)
        if (j->off[i + 1] - j->off[i] > 1)
            cr_bad_add(
                bad, i, 0,
                "column '%s': %d ids in one step, value_dim is 1; set %s in feature '%s' for any "
                "number",
                f->columns[0], j->off[i + 1] - j->off[i], CR_SAY(f->conf, "value_dim", "0"),
                f->name);
}

/* f->token_steps: the ids of a row are its steps. */
static cr_code encode_tokens(const cr_feature *f, const cr_chunk *in, cr_feat_out *out,
                             cr_err *err) {
    CR_TRY(f->type->encode(f, in, out, err));
    cr_jagged *j = out->ids;
    int64_t n = 0, most = f->seq->length ? f->seq->length : INT64_MAX;
    int32_t *steps = cr_arena_alloc(out->arena, sizeof(int32_t) * (size_t)(in->n_rows + 1));
    int64_t *ids = cr_arena_alloc(out->arena, sizeof(int64_t) * (size_t)(j->n_ids + 1));
    steps[0] = 0;
    for (int64_t r = 0; r < in->n_rows; r++) {
        int64_t a = j->off ? j->off[r] : r, k = (j->off ? j->off[r + 1] : r + 1) - a;
        if (k > most) {
            k = most;
            out->counts->truncated++;
        }
        memcpy(ids + n, j->ids + a, sizeof(int64_t) * (size_t)k);
        n += k;
        steps[r + 1] = (int32_t)n;
    }
    *j = (cr_jagged){.ids = ids, .n_ids = n, .steps = steps};
    return CR_OK;
}

cr_code cr_seq_encode(const cr_feature *f, const cr_chunk *in, cr_feat_out *out,
                      cr_dense_seq *dense, cr_err *err) {
    if (f->token_steps) return encode_tokens(f, in, out, err);
    cutter t = {.q = f->seq, .f = f, .in = in, .arena = out->arena};
    cr_chunk steps = *in;
    steps.cols = CR_NEW_N(out->arena, cr_column, in->n_cols + 1);
    steps.lines = NULL; /* out->bad has the line numbers */
    const int32_t *at = NULL;
    int64_t n_cut;
    CR_TRY(make_steps(&t, &steps, &at, &n_cut, out->bad, err));
    out->counts->truncated += n_cut;
    int64_t n = steps.n_rows;
    cr_feat_out o = *out;
    o.dense_stride = f->value_dim;
    o.scratch = cr_arena_alloc(out->arena, (size_t)n * f->row_scratch + 64);
    if (f->sparse)
        *out->ids = (cr_jagged){.ids = cr_arena_zalloc(out->arena, sizeof(int64_t))};
    else
        o.dense = cr_arena_alloc(out->arena, sizeof(float) * (size_t)(n * f->value_dim + 1));
    cr_code code = CR_OK;
    if (n > 0) {
        out->bad->steps = at;
        out->bad->n_rows = in->n_rows;
        out->bad->lines = in->lines;
        code = f->type->encode(f, &steps, &o, err);
        if (code == CR_OK && f->sparse && f->seq->single)
            check_single(f, &steps, out->ids, out->bad);
        out->bad->steps = NULL;
        out->bad->lines = NULL;
    }
    if (f->sparse)
        out->ids->steps = at;
    else
        *dense = (cr_dense_seq){at, o.dense, f->value_dim};
    return code;
}

cr_code cr_seq_give(const cr_feature *f, const cr_chunk *in, cr_column *out, cr_arena *arena,
                    cr_bad *bad, cr_err *err) {
    if (f->token_steps) return f->type->give(f, in, out, arena, bad, err);
    cutter t = {.q = f->seq, .f = f, .in = in, .arena = arena};
    cr_chunk steps = *in;
    steps.cols = CR_NEW_N(arena, cr_column, in->n_cols + 1);
    steps.lines = NULL;
    const int32_t *at = NULL;
    int64_t n_cut; /* not used: encoding counts */
    CR_TRY(make_steps(&t, &steps, &at, &n_cut, bad, err));
    cr_column given = {.type = CR_COL_STR};
    if (steps.n_rows > 0) {
        bad->steps = at;
        bad->n_rows = in->n_rows;
        bad->lines = in->lines;
        cr_code code = f->type->give(f, &steps, &given, arena, bad, err);
        bad->steps = NULL;
        bad->lines = NULL;
        CR_TRY(code);
    }
    *out = given;
    out->depth = given.depth + 1;
    out->row_off = at;
    out->valid = NULL;
    if (given.depth == 0) {
        out->item_valid = given.valid;
    } else {
        out->item_off = given.row_off;
        out->list_valid = given.valid;
    }
    return CR_OK;
}

const char *cr_seq_refuses(const cr_feature *f, int k, const cr_colkind *kind) {
    if (!f->seq || f->token_steps || !is_seq(f, k)) return f->type->refuses(f, k, kind);
    if (kind->key >= 0) return "single values or lists; a map cannot be a sequence";
    cr_colkind step = *kind;
    if (step.depth > 0) step.depth--;
    /* cppcheck-suppress returnDanglingLifetime; the answer is a literal, not a part of step */
    return f->type->refuses(f, k, &step);
}

static const int32_t *steps_in(const cr_feature *f, const cr_batch *b) {
    return f->sparse ? b->sparse[f->slot].steps : b->dense_seq[f->slot].steps;
}

static const char *column_of(const cr_feature *f) {
    for (int k = 0; k < f->n_columns; k++)
        if (is_seq(f, k)) return f->columns[k];
    return f->name;
}

void cr_seq_check(const cr_features *fs, const cr_chunk *chunk, const cr_batch *b, cr_bad *bad) {
    for (int i = 0; i < fs->n; i++) {
        const cr_feature *f = fs->v[i], *first = f;
        if (!f->seq || !f->seq->block || f->stub) continue;
        for (int k = f->seq->first; k < i && first == f; k++)
            if (!fs->v[k]->stub) first = fs->v[k];
        if (first == f) continue;
        char what[128];
        snprintf(what, sizeof(what), "sequence '%s'", f->seq->name);
        say_lengths(bad, chunk, column_of(first), steps_in(first, b), column_of(f), steps_in(f, b),
                    what);
    }
}

/* ---- fg.json ---- */

void cr_fg_json_open(const cr_feature *f, cr_jw *w, const char *type, const char *default_value) {
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "feature_type", type);
    /* inside a block it is the feature's own name; the block has its name too */
    cr_jw_str(w, "feature_name", f->seq ? cr_conf_text(f->conf, "feature_name") : f->name);
    if (default_value) cr_jw_str(w, "default_value", cr_seq_default(f, default_value));
}

void cr_fg_json_begin(const cr_feature *f, cr_jw *w, const char *type, const char *default_value) {
    char full[64];
    bool alone = f->seq && !f->seq->block;
    snprintf(full, sizeof(full), "%s%s", alone ? "sequence_" : "", type);
    cr_fg_json_open(f, w, full, default_value);
}

void cr_fg_json_end(const cr_feature *f, cr_jw *w) {
    if (f->seq && !f->seq->block) {
        cr_jw_str(w, "sequence_delim", f->seq->delim);
        int64_t length = conf_int(f->conf, "sequence_length", 0);
        if (length) cr_jw_i64(w, "sequence_length", length);
    }
    if (f->seq && cr_conf_has(f->conf, "sequence_fields")) {
        const cr_field *row = cr_msg_field(((const cr_conf_base *)f->conf)->msg, "sequence_fields");
        cr_strs names;
        memcpy(&names, (const char *)f->conf + row->offset, sizeof(names));
        cr_jw_arr(w, "sequence_fields");
        for (int64_t i = 0; i < names.n; i++)
            cr_jw_str(w, NULL, names.v[i]);
        cr_jw_end(w);
    }
    cr_jw_end(w);
}
