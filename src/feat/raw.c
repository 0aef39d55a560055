/*
 * raw.c - raw_feature: numbers are normalized and become plain floats or ids of buckets.
 *
 * read (numbers.c) -> normalize over the whole block -> put defaults in -> floats, or boundaries.
 * The default is never normalized: it is already a result. With boundaries and the default "", a
 * null of a numeric column counts as 0.0, while a null of a text or list column gives no id at all.
 */
#include "feat/feat_int.h"
#include "kern/kern.h"

#include <math.h>
#include <string.h>

#include "feat/number.h"
#include "feat/sample.h"

#define MAX_DIM 65536 /* numbers per row; a chunk of rows must fit in memory */

typedef struct raw_self {
    cr_input in;
    bool encoded; /* FG_NONE */
    cr_ids ids;   /* FG_NONE with boundaries: the column holds ids */
    cr_norm norm;
    float *bounds; /* ascending; only with boundaries */
    int64_t n_bounds;
    int64_t dim;
    const char *sep;
    size_t n_sep;
    float *def; /* dim values; NULL: a missing value has no default */
} raw_self;

/* Reads default_value or fg_encoded_default_value: dim numbers, or one for all. */
static void set_default(cr_feature *f, raw_self *s, const cr_raw_conf *c, cr_arena *arena,
                        cr_diag *diag) {
    const char *field = s->encoded ? "fg_encoded_default_value" : "default_value";
    const char *text =
        s->encoded ? c->fg_encoded_default_value : cr_seq_default(f, c->default_value);
    if (!*text) return;
    float *def = CR_NEW_N(arena, float, s->dim);
    int64_t n = 0;
    for (const char *p = text; p;) {
        const char *cut = strstr(p, s->sep);
        double x = 0;
        if (!cr_num_f64(p, cut ? (size_t)(cut - p) : strlen(p), &x) || !isfinite((float)x)) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_at_char(c, field, (size_t)(p - text)),
                        "feature '%s': %s '%s' is not a number", f->name, field, text);
            return;
        }
        if (n < s->dim) def[n] = (float)x;
        n++;
        p = cut ? cut + s->n_sep : NULL;
    }
    if (n == 1)
        for (int64_t i = 1; i < s->dim; i++)
            def[i] = def[0];
    else if (n != s->dim)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, field),
                    "feature '%s': %s holds %lld values, value_dim is %lld; give one or %lld",
                    f->name, field, (long long)n, (long long)s->dim, (long long)s->dim);
    s->def = def;
}

/* FG_NONE with boundaries: the column holds ids, as that of an id_feature does. */
static void set_encoded_ids(cr_feature *f, raw_self *s, const cr_raw_conf *c, cr_arena *arena,
                            cr_diag *diag) {
    s->ids = (cr_ids){.kind = CR_IDS_ENCODED,
                      .num_embeddings = f->num_embeddings,
                      .sep = s->sep,
                      .n_sep = s->n_sep};
    const char *text = c->fg_encoded_default_value;
    if (!*text) return;
    int64_t *ids = CR_NEW_N(arena, int64_t, strlen(text) + 1), n = 0;
    for (const char *p = text; p;) {
        const char *cut = strstr(p, s->sep), *why = NULL;
        int64_t range;
        if (!cr_ids_of(&s->ids, p, cut ? (size_t)(cut - p) : strlen(p), &ids[n++], &range, &why)) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF,
                        cr_at_char(c, "fg_encoded_default_value", (size_t)(p - text)),
                        "feature '%s': fg_encoded_default_value '%s': %s", f->name, text, why);
            return;
        }
        p = cut ? cut + s->n_sep : NULL;
    }
    s->ids.def = ids;
    s->ids.n_def = n;
}

/* config.c has checked which settings go together with a dense embedding. */
static void set_dense_emb(cr_feature *f, const cr_raw_conf *c) {
    if (!c->dense_emb.m || f->sparse) return;
    const cr_msg *msg = c->dense_emb.m->msg;
    f->dense_emb = msg == &cr_autodis_msg     ? CR_DENSE_AUTODIS
                   : msg == &cr_piecewise_msg ? CR_DENSE_PIECEWISE
                   : msg == &cr_periodic_msg  ? CR_DENSE_PERIODIC
                                              : CR_DENSE_MLP;
    f->dense_conf = c->dense_emb.conf;
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const cr_raw_conf *c = conf;
    raw_self *s = CR_NEW(arena, raw_self);
    f->self = s;
    s->encoded = cr_fg_encoded(data);
    s->dim = c->value_dim > 0 ? c->value_dim : 1;
    if (s->dim > MAX_DIM) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "value_dim"),
                    "feature '%s': value_dim is %lld; at most %d", f->name, (long long)s->dim,
                    MAX_DIM);
        s->dim = 1;
    }
    s->sep = s->encoded ? data->fg_encoded_multival_sep : c->separator;
    if (!s->sep || !*s->sep) s->sep = s->encoded ? "\x03" : "\x1d";
    s->n_sep = strlen(s->sep);
    f->sparse = c->boundaries.n > 0;
    f->embedding_dim = c->embedding_dim;
    f->embedding_name = c->embedding_name[0] ? c->embedding_name : NULL;
    f->mean = strcasecmp(c->pooling, "mean") == 0;
    f->init_fn = c->init_fn[0] ? c->init_fn : NULL;
    f->trainable = c->trainable;
    f->half = cr_half_of(c->data_type);
    f->value_dim = s->dim;
    f->row_scratch = (sizeof(double) + sizeof(float)) * (size_t)s->dim + 1;
    cr_input_make(&s->in, f, c, c->expression, data, arena, diag);
    size_t where = 0;
    cr_err err = {0};
    if (cr_norm_parse(&s->norm, arena, c->normalizer, &where, &err) != CR_OK)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_at_char(c, "normalizer", where),
                    "feature '%s': normalizer, character %zu: %s", f->name, where + 1, err.msg);
    if (data->fg_mode == CR_FG_BUCKETIZE) s->norm = (cr_norm){CR_NORM_NONE, 0, 0, NULL};
    if (f->sparse) {
        f->num_embeddings = c->boundaries.n + 1;
        s->n_bounds = c->boundaries.n;
        s->bounds = CR_NEW_N(arena, float, s->n_bounds);
        for (int64_t i = 0; i < s->n_bounds; i++)
            s->bounds[i] = (float)c->boundaries.v[i];
    }
    set_dense_emb(f, c);
    if (s->encoded && f->sparse)
        set_encoded_ids(f, s, c, arena, diag);
    else
        set_default(f, s, c, arena, diag);
}

/* Returns how many boundaries are <= x. */
static int64_t bucket(const float *b, int64_t n, float x) {
    int64_t lo = 0;
    while (n > 0) {
        int64_t half = n / 2;
        if (b[lo + half] <= x) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

static void put_ids(const raw_self *s, const float *y, const uint8_t *state, bool null_is_zero,
                    int64_t n_rows, cr_feat_out *out) {
    int64_t D = s->dim, n = 0;
    int64_t *ids = cr_arena_alloc(out->arena, sizeof(int64_t) * (size_t)(n_rows * D + 1));
    int32_t *off = NULL;
    if (D != 1) {
        off = cr_arena_alloc(out->arena, sizeof(int32_t) * (size_t)(n_rows + 1));
        off[0] = 0;
    }
    for (int64_t r = 0; r < n_rows; r++) {
        const float *x = state[r] == CR_ROW_MISSING ? s->def : y + r * D;
        if (x) {
            for (int64_t d = 0; d < D; d++)
                ids[n++] = bucket(s->bounds, s->n_bounds, x[d]);
        } else if (null_is_zero) {
            ids[n++] = bucket(s->bounds, s->n_bounds, 0.0f);
        }
        if (!off && n != r + 1) {
            off = cr_arena_alloc(out->arena, sizeof(int32_t) * (size_t)(n_rows + 1));
            for (int64_t i = 0; i <= r; i++)
                off[i] = (int32_t)i;
        }
        if (off) off[r + 1] = (int32_t)n;
    }
    *out->ids = (cr_jagged){.off = off, .ids = ids, .n_ids = n};
}

static void put_dense(const raw_self *s, const float *y, const uint8_t *state, int64_t n_rows,
                      cr_feat_out *out) {
    static const float zero = 0; /* for a bad row, which is dropped */
    if (s->dim == 1) {
        float def = s->def ? s->def[0] : zero;
        for (int64_t r = 0; r < n_rows; r++)
            out->dense[r * out->dense_stride] = state[r] == CR_ROW_OK ? y[r] : def;
        return;
    }
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t d = 0; d < s->dim; d++)
            out->dense[r * out->dense_stride + d] = state[r] == CR_ROW_OK ? y[r * s->dim + d]
                                                    : s->def              ? s->def[d]
                                                                          : zero;
}

/* Reports values that float32 cannot hold, and formulas whose result is not a number. */
static void check_finite(const raw_self *s, const cr_feature *f, const cr_chunk *in,
                         const double *x, float *y, uint8_t *state, cr_feat_out *out) {
    bool fine = true;
    for (int64_t i = 0; i < in->n_rows * s->dim; i++)
        fine &= isfinite(y[i]) != 0;
    if (fine) return;
    for (int64_t i = 0; i < in->n_rows * s->dim; i++) {
        int64_t r = i / s->dim;
        if (isfinite(y[i])) continue;
        y[i] = 0;
        if (state[r] != CR_ROW_OK) continue;
        state[r] = CR_ROW_BAD;
        out->counts->not_finite++;
        char text[32];
        cr_bad_add(out->bad, r, cr_line_of(in, r), "%s, value '%s': %s", f->place,
                   cr_show_f64(text, x[i]),
                   isfinite((float)x[i]) ? "the normalizer gives no finite number"
                                         : "too large for float32");
    }
}

/* The type that the column has in TorchEasyRec decides the precision and the meaning of a null; a
 * sequence is a list, however it is written. */
static cr_number_form form(const cr_feature *f, cr_coltype type, int depth) {
    const raw_self *s = f->self;
    bool number = type != CR_COL_STR || (s->in.is_num && s->dim == 1);
    if (depth == 0) return number ? CR_FORM_NUMBERS : CR_FORM_TEXT;
    return type == CR_COL_STR && depth == 1 && f->sparse ? CR_FORM_TEXTS : CR_FORM_LIST;
}

static cr_code encode(const cr_feature *f, const cr_chunk *in, cr_feat_out *out, cr_err *err) {
    const raw_self *s = f->self;
    const cr_column *col = cr_input_column(&s->in, f, in, out->arena);
    if (s->encoded && f->sparse) return cr_ids_encode(&s->ids, f, col, in, out, err);
    int64_t n = in->n_rows * s->dim;
    double *x = out->scratch;
    float *y = (float *)(void *)(x + n);
    uint8_t *state = (uint8_t *)(y + n);
    CR_TRY(cr_numbers_read(col, in, f->place, s->dim, s->sep, s->n_sep, x, state, out->arena,
                           out->bad, out->counts, err));
    cr_number_form how = f->form ? f->form : form(f, col->type, col->depth);
    bool f64 = !f->seq && (how == CR_FORM_TEXT || how == CR_FORM_TEXTS);
    cr_norm plain = {CR_NORM_NONE, 0, 0, NULL};
    cr_norm_apply(s->encoded ? &plain : &s->norm, x, y, n, f64);
    check_finite(s, f, in, x, y, state, out);
    int64_t n_missing = 0;
    for (int64_t r = 0; r < in->n_rows; r++)
        n_missing += state[r] == CR_ROW_MISSING;
    out->counts->missing += n_missing;
    if (f->sparse) {
        for (int64_t r = 0; r < in->n_rows; r++)
            out->counts->ids += state[r] == CR_ROW_OK ? s->dim : 0;
        bool null_is_zero = s->dim == 1 && how == CR_FORM_NUMBERS;
        put_ids(s, y, state, null_is_zero, in->n_rows, out);
        return CR_OK;
    }
    if (n_missing && !s->def)
        for (int64_t r = 0; r < in->n_rows; r++)
            if (state[r] == CR_ROW_MISSING)
                cr_bad_add(out->bad, r, cr_line_of(in, r), "%s is empty; set %s of feature '%s'",
                           f->place, s->encoded ? "fg_encoded_default_value" : "default_value",
                           f->name);
    put_dense(s, y, state, in->n_rows, out);
    return CR_OK;
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const cr_raw_conf *c = f->conf;
    cr_fg_json_begin(f, w, "raw_feature", c->default_value);
    cr_jw_str(w, "expression", c->expression);
    cr_jw_str(w, "value_type", "float");
    if (c->value_dim > 1) {
        cr_jw_i64(w, "value_dim", c->value_dim);
        if (strcmp(c->separator, "\x1d") != 0) cr_jw_str(w, "separator", c->separator);
    }
    if (c->normalizer[0]) cr_jw_str(w, "normalizer", c->normalizer);
    if (c->boundaries.n) {
        cr_jw_arr(w, "boundaries");
        for (int64_t i = 0; i < c->boundaries.n; i++)
            cr_jw_f64(w, NULL, c->boundaries.v[i]);
        cr_jw_end(w);
    }
    if (cr_conf_has(c, "stub_type")) cr_jw_bool(w, "stub_type", c->stub_type);
    cr_fg_json_end(f, w);
}

static const char *refuses(const cr_feature *f, int k, const cr_colkind *kind) {
    (void)k;
    const raw_self *s = f->self;
    if (s->encoded && f->sparse) return cr_ids_refuses(&s->ids, kind);
    if (kind->key >= 0 || kind->depth > 1) return "numbers or lists of numbers";
    if (kind->depth == 0 && kind->type != CR_COL_STR && s->dim > 1)
        return "lists because its value_dim is more than 1";
    return NULL;
}

static bool gives_numbers(const cr_feature *f) {
    (void)f;
    return true;
}

static cr_code give(const cr_feature *f, const cr_chunk *in, cr_column *out, cr_arena *arena,
                    cr_bad *bad, cr_err *err) {
    const raw_self *s = f->self;
    const cr_raw_conf *c = f->conf;
    return cr_give_numbers(f, cr_input_column(&s->in, f, in, arena),
                           cr_seq_default(f, c->default_value), c->separator[0], s->dim, &s->norm,
                           in, out, arena, bad, err);
}

static void sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    (void)k;
    const raw_self *self = f->self;
    out->sep = self->sep;
    if (self->encoded && f->sparse) {
        cr_sample_ids(&self->ids, &out->value, cr_sample_arena(s));
        return;
    }
    static const cr_norm plain = {CR_NORM_NONE, 0, 0, NULL}; /* an encoded column holds results */
    cr_sample_number(self->encoded ? &plain : &self->norm, self->bounds, self->n_bounds,
                     &out->value);
    out->min_values = out->max_values = (int)self->dim;
    out->single = self->dim == 1;
}

const cr_feature_type cr_feature_raw = {
    .name = "raw_feature",
    .build = build,
    .encode = encode,
    .fg_json = fg_json,
    .refuses = refuses,
    .form = form,
    .gives_numbers = gives_numbers,
    .give = give,
    .sample = sample,
};
