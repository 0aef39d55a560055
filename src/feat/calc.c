/*
 * calc.c - the frame of feature types that compute: inputs from the config, the loop over rows, and
 * the id_feature or raw_feature at the end that turns the result into ids or floats.
 *
 * The end gets a config of its own type, made from the operator's, with the same fields and the
 * same places in the file. It reads the operator's result as if it were a column with the feature's
 * name.
 */
#include "feat/calc_int.h"

#include <math.h>
#include <stdio.h>

#include "base/shown.h"
#include "feat/number.h"

static const char *text(const char *s, const char *none) {
    return s ? s : none;
}

void cr_calc_start(cr_calc *op, cr_feature *f, const cr_calc_conf *c, const cr_data_conf *data) {
    f->self = op;
    op->encoded = cr_fg_by_name(data);
    op->sep = c->separator && c->separator[0] ? c->separator[0] : '\x1d';
}

bool cr_calc_has_vocab(const cr_calc_conf *c) {
    return c->zch || c->dynamicemb || c->growing || cr_conf_has(c, "hash_bucket_size") ||
           cr_conf_has(c, "num_buckets") || c->vocab_list.n > 0 || c->vocab_dict.n > 0 ||
           (c->vocab_file && c->vocab_file[0]);
}

/* ---- inputs ---- */

static int column_of(cr_calc *op, cr_feature *f, const char *name, bool is_seq, cr_arena *arena) {
    for (int i = 0; i < f->n_columns; i++)
        if (strcmp(f->columns[i], name) == 0) return i;
    if (!f->columns) {
        f->columns = CR_NEW_N(arena, const char *, CR_CALC_MAX_INPUTS);
        f->is_seq = op->is_seq;
    }
    f->columns[f->n_columns] = cr_arena_strdup(arena, name);
    op->is_seq[f->n_columns] = is_seq;
    return f->n_columns++;
}

int cr_calc_add(cr_calc *op, cr_feature *f, const char *field, int64_t item, const char *ref,
                cr_calc_form form, const cr_data_conf *data, cr_arena *arena, cr_diag *diag) {
    cr_loc at = item >= 0 ? cr_conf_at_item(f->conf, field, item) : cr_conf_at(f->conf, field);
    if (op->encoded) return -1;
    const char *colon = strchr(ref, ':');
    if (!colon || colon == ref || !colon[1]) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                    "feature '%s': %s '%s' must be side:column; write e.g. user:%s", f->name, field,
                    ref, *ref && !colon ? ref : "price");
        return -1;
    }
    if (op->n_in == CR_CALC_MAX_INPUTS) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                    "feature '%s' has more than %d inputs; split it into several features", f->name,
                    CR_CALC_MAX_INPUTS);
        return -1;
    }
    char *side = cr_arena_strndup(arena, ref, (size_t)(colon - ref));
    cr_side from = cr_input_side(f, side, colon + 1, data, at, diag);
    if (from == CR_SIDE_WRONG) return -1;
    cr_calc_input *in = &op->in[op->n_in];
    *in = (cr_calc_input){.form = form, .column = -1};
    in->name = cr_arena_strdup(arena, colon + 1);
    if (from == CR_SIDE_CONST) {
        in->constant = cr_arena_strdup(arena, colon + 1);
    } else {
        bool is_seq = false, many = item >= 0 || strcmp(field, "expression") != 0;
        const char *name =
            from == CR_SIDE_FEATURE ? ref : cr_input_name(f, side, colon + 1, many, &is_seq, arena);
        in->column = column_of(op, f, name, is_seq, arena);
    }
    return op->n_in++;
}

/* ---- the end ---- */

/* Makes the base of a config of another message with the same fields. */
static cr_conf_base base_as(const cr_calc_conf *c, const cr_msg *as) {
    cr_conf_base b = {.msg = as, .node = c->base.node, .at = c->base.at, .from = c->base.from};
    for (int i = 0; as->fields[i].name; i++)
        if (cr_conf_has(c, as->fields[i].name)) cr_fieldset_add(&b.set, i);
    return b;
}

static void set_bit(cr_conf_base *b, const char *field) {
    for (int i = 0; b->msg->fields[i].name; i++)
        if (strcmp(b->msg->fields[i].name, field) == 0) cr_fieldset_add(&b->set, i);
}

#define COMMON(c, f)                                                                               \
    .feature_name = (f)->name, .expression = cr_arena_printf(arena, "user:%s", (f)->name),         \
    .embedding_name = text((c)->embedding_name, ""), .embedding_dim = (c)->embedding_dim,          \
    .pooling = text((c)->pooling, "sum"), .default_value = text((c)->default_value, "0"),          \
    .separator = text((c)->separator, "\x1d"), .init_fn = text((c)->init_fn, ""),                  \
    .use_mask = (c)->use_mask,                                                                     \
    .fg_encoded_default_value = text((c)->fg_encoded_default_value, ""),                           \
    .trainable = (c)->trainable, .data_type = text((c)->data_type, "FP32"),                        \
    .embedding_constraints = (c)->embedding_constraints, .sequence_delim = ";",                    \
    .pretrained_path = text((c)->pretrained_path, ""),                                             \
    .pretrained_tensor = text((c)->pretrained_tensor, "")

static cr_id_conf *id_conf(const cr_feature *f, const cr_calc_conf *c, cr_arena *arena) {
    cr_id_conf *x = CR_NEW(arena, cr_id_conf);
    *x = (cr_id_conf){COMMON(c, f),
                      .hash_bucket_size = c->hash_bucket_size,
                      .num_buckets = c->num_buckets,
                      .vocab_list = c->vocab_list,
                      .vocab_dict = c->vocab_dict,
                      .vocab_file = text(c->vocab_file, ""),
                      .asset_dir = text(c->asset_dir, ""),
                      .default_bucketize_value = c->default_bucketize_value,
                      .zch = c->zch,
                      .dynamicemb = c->dynamicemb,
                      .growing = c->growing,
                      .fg_value_type = text(c->fg_value_type, ""),
                      .python2_hash = ""};
    x->base = base_as(c, &cr_id_msg);
    return x;
}

static cr_raw_conf *raw_conf(const cr_feature *f, const cr_calc_conf *c, int64_t dim,
                             cr_arena *arena) {
    cr_raw_conf *x = CR_NEW(arena, cr_raw_conf);
    *x = (cr_raw_conf){COMMON(c, f), .boundaries = c->boundaries,
                       .normalizer = text(c->normalizer, ""), .dense_emb = c->dense_emb,
                       .value_dim = dim};
    x->base = base_as(c, &cr_raw_msg);
    return x;
}

static int64_t bucket(const cr_calc *op, float x) {
    int64_t n = 0;
    while (n < op->n_bounds && op->bounds[n] <= x)
        n++;
    return n;
}

/* END_MANY: the ids of buckets are made here, so the end reads integers. */
static void set_many(cr_calc *op, const cr_feature *f, const cr_calc_conf *c, cr_id_conf *x,
                     cr_arena *arena, cr_diag *diag) {
    float *b = CR_NEW_N(arena, float, c->boundaries.n);
    for (int64_t i = 0; i < c->boundaries.n; i++)
        b[i] = (float)c->boundaries.v[i];
    op->bounds = b;
    op->n_bounds = c->boundaries.n;
    x->num_buckets = (uint64_t)op->n_bounds + 1;
    set_bit(&x->base, "num_buckets");
    double d = 0;
    if (!*op->def) { /* a row without numbers has no id */
        x->default_value = "";
        return;
    }
    if (!cr_num_f64(op->def, strlen(op->def), &d))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "default_value"),
                    "feature '%s': default_value '%s' is not a number", f->name, op->def);
    x->default_value = cr_arena_printf(arena, "%lld", (long long)bucket(op, (float)d));
}

/* With diag NULL the end reports mistakes. */
static void set_norm(cr_calc *op, const cr_feature *f, const cr_calc_conf *c, cr_arena *arena,
                     cr_diag *diag) {
    size_t where = 0;
    cr_err err = {0};
    if (cr_norm_parse(&op->norm, arena, text(c->normalizer, ""), &where, &err) != CR_OK && diag)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_at_char(c, "normalizer", where),
                    "feature '%s': normalizer, character %zu: %s", f->name, where + 1, err.msg);
}

/* FG_BUCKETIZE where the end reads ids: the file's column holds the numbers that the operator would
 * have made. */
static void *begin_given(const cr_feature *f, cr_arena *arena) {
    (void)f;
    return CR_NEW(arena, cr_nums);
}

static void row_given(cr_calc_run *run, int64_t r) {
    const cr_calc *op = run->f->self;
    cr_nums *t = run->scratch;
    cr_tok bad;
    if (!cr_nums_row(t, run->in[0], r, op->sep, run->arena, &bad)) {
        cr_calc_bad(run, 0, bad, "not a number");
        return;
    }
    for (int64_t i = 0; i < t->n; i++)
        cr_values_number(run->out, t->v[i]);
}

static void take_given(cr_calc *op, cr_feature *f, cr_arena *arena) {
    op->encoded = false;
    op->norm = (cr_norm){CR_NORM_NONE, 0, 0, NULL};
    op->n_in = 1;
    op->in[0] = (cr_calc_input){.form = CR_IN_NUMBERS,
                                .column = column_of(op, f, f->name, f->seq != NULL, arena)};
    op->begin = begin_given;
    op->row = row_given;
}

void cr_calc_finish(cr_calc *op, cr_feature *f, const cr_calc_conf *c, cr_calc_end kind,
                    int64_t dim, const cr_data_conf *data, cr_arena *arena, cr_diag *diag) {
    /* the end's column is not one of the file, so input_fields does not apply to it */
    cr_data_conf *d = CR_NEW(arena, cr_data_conf);
    *d = *data;
    if (!op->encoded) d->input_fields.n = 0;
    bool given = data->fg_mode == CR_FG_BUCKETIZE;
    op->end_kind = kind;
    op->def = cr_seq_default(f, text(c->default_value, "0"));
    op->dim = dim;
    if (f->stub) { /* a stub only gives tokens or numbers to other features */
        if (kind == CR_END_MANY) op->most = dim;
        set_norm(op, f, c, arena, diag);
        return;
    }
    if (kind == CR_END_NUMBER) set_norm(op, f, c, arena, NULL);
    cr_feature *end = CR_NEW(arena, cr_feature);
    *end = (cr_feature){.name = f->name, .at = f->at, .seq = f->seq, .raw_cure = f->raw_cure};
    if (!cr_fg_by_name(data)) end->place = cr_arena_printf(arena, "feature '%s'", f->name);
    if (kind == CR_END_NUMBER) {
        op->dim = dim > 0 ? dim : 1;
        cr_raw_conf *x = raw_conf(f, c, op->dim, arena);
        if (!x->default_value[0] && !c->boundaries.n) x->default_value = "0";
        cr_raw_conf_check(x, diag);
        end->type = &cr_feature_raw;
        end->conf = x;
    } else {
        cr_id_conf *x = id_conf(f, c, arena);
        set_bit(&x->base, "value_dim"); /* the number of values is decided here */
        if (kind == CR_END_MANY) {
            cr_raw_conf_check(raw_conf(f, c, 1, arena), diag);
            op->most = dim;
            set_norm(op, f, c, arena, diag);
            set_many(op, f, c, x, arena, diag);
        } else if (kind == CR_END_WHOLE) {
            set_norm(op, f, c, arena, diag);
            if (op->n_ids) {
                x->num_buckets = (uint64_t)op->n_ids;
                x->base.set = (cr_fieldset){0}; /* vocab_file belongs to the operator */
                set_bit(&x->base, "num_buckets");
                set_bit(&x->base, "value_dim");
            }
            cr_id_conf_check(x, diag);
        } else {
            x->value_dim = dim;
            cr_id_conf_check(x, diag);
        }
        end->type = &cr_feature_id;
        end->conf = x;
    }
    if (given && kind != CR_END_NUMBER && kind != CR_END_TOKENS) {
        take_given(op, f, arena);
        d->fg_mode = CR_FG_NORMAL;
    }
    end->type->build(end, end->conf, d, arena, diag);
    static const int first = 0;
    end->col_idx = &first;
    op->end = end;
    f->sparse = end->sparse;
    f->num_embeddings = end->num_embeddings;
    f->zch = end->zch;
    f->demb = end->demb;
    f->grow = end->grow;
    f->embedding_dim = end->embedding_dim;
    f->embedding_name = end->embedding_name;
    f->mean = end->mean;
    f->init_fn = end->init_fn;
    f->trainable = end->trainable;
    f->half = end->half;
    f->value_dim = end->value_dim;
    f->dense_emb = end->dense_emb;
    f->dense_conf = end->dense_conf;
    f->row_scratch = end->row_scratch;
    for (int i = 0; i < end->n_assets; i++)
        f->assets[f->n_assets++] = end->assets[i];
    if (op->encoded) {
        f->columns = end->columns;
        f->n_columns = end->n_columns;
    }
}

/* ---- running ---- */

/* Makes a constant look like a column: a dictionary of one entry. */
static const cr_column *constant(const char *s, int64_t n_rows, cr_arena *arena) {
    uint32_t *place = CR_NEW_N(arena, uint32_t, 2);
    place[1] = (uint32_t)strlen(s);
    cr_column *c = CR_NEW(arena, cr_column);
    *c = (cr_column){.type = CR_COL_STR,
                     .bytes = s,
                     .beg = place,
                     .end = place + 1,
                     .code = CR_NEW_N(arena, uint32_t, n_rows + 1),
                     .n_dict = 1};
    return c;
}

void cr_calc_bad(cr_calc_run *run, int input, cr_tok value, const char *why) {
    const cr_calc *op = run->f->self;
    int64_t r = run->out->row;
    char show[80], with[112] = "";
    const char *name = run->f->name;
    bool column = input >= 0 && op->in[input].column >= 0;
    if (value.p) snprintf(with, sizeof(with), ", value '%s'", cr_show(show, value.p, value.n));
    if (column)
        cr_bad_add(run->bad, r, cr_line_of(run->chunk, r), "column '%s'%s: %s (feature '%s')",
                   run->f->columns[op->in[input].column], with, why, name);
    else
        cr_bad_add(run->bad, r, cr_line_of(run->chunk, r), "feature '%s'%s: %s", name, with, why);
    cr_count_bad(run->counts, value.p ? value.p : "", value.p ? value.n : 0);
    run->n_bad++;
    cr_values_drop(run->out);
}

static const char *needs(cr_calc_form form, cr_coltype type, int depth, int key, bool tokens) {
    bool whole = type == CR_COL_STR || type == CR_COL_I32 || type == CR_COL_I64;
    bool map = key >= 0;
    switch (form) {
    case CR_IN_TOKENS:
        return depth <= 1 && !map && whole ? NULL : "text, integers or lists of them";
    case CR_IN_NUMBERS: return depth <= 1 && !map ? NULL : "numbers or lists of numbers";
    case CR_IN_PAIRS:
        if (map ? !tokens || whole : depth <= 1 && type == CR_COL_STR) return NULL;
        return tokens ? "key:value text or a map to text or integers" : "key:value text or a map";
    case CR_IN_NESTED:
        return type == CR_COL_STR && (map || depth == 0) ? NULL : "text or a map to text";
    }
    return NULL;
}

static bool makes_tokens(const cr_calc *op) {
    return op->end_kind == CR_END_TOKENS;
}

const char *cr_calc_refuses(const cr_feature *f, int k, const cr_colkind *kind) {
    const cr_calc *op = f->self;
    if (op->encoded) return op->end ? op->end->type->refuses(op->end, 0, kind) : NULL;
    for (int i = 0; i < op->n_in; i++) {
        if (op->in[i].column != k) continue;
        const char *n = needs(op->in[i].form, kind->type, kind->depth, kind->key, makes_tokens(op));
        if (n) return n;
    }
    return NULL;
}

/* Finds the columns of the inputs; reports a file whose column types changed. */
static cr_code inputs(const cr_feature *f, const cr_chunk *chunk, cr_arena *arena,
                      const cr_column **in, cr_err *err) {
    const cr_calc *op = f->self;
    for (int i = 0; i < op->n_in; i++) {
        const cr_calc_input *x = &op->in[i];
        if (x->constant) {
            in[i] = constant(x->constant, chunk->n_rows, arena);
            continue;
        }
        const cr_column *c = in[i] = &chunk->cols[f->col_idx[x->column]];
        const char *n =
            needs(x->form, c->type, c->depth, c->keys ? (int)c->keys->type : -1, makes_tokens(op));
        if (n)
            return cr_fail(err, CR_EDATA, "%s: column '%s' holds %s; feature '%s' needs %s",
                           chunk->path ? chunk->path : "input", f->columns[x->column],
                           c->keys        ? "a map"
                           : c->depth > 1 ? "lists of lists"
                                          : "values of another type",
                           f->name, n);
    }
    return CR_OK;
}

/* Writes the normalized numbers to y. A number that is not finite makes its row bad. */
static void normalize(cr_calc_run *run, const cr_norm *norm, cr_values *v, float *y) {
    cr_norm_apply(norm, v->x, y, v->n, false);
    for (int64_t r = 0; r < run->chunk->n_rows; r++) {
        bool bad = false;
        for (int64_t i = v->off[r]; i < v->off[r + 1]; i++) {
            if (isfinite(y[i])) continue;
            cr_bad_add(run->bad, r, cr_line_of(run->chunk, r),
                       "feature '%s' gives no finite number", run->f->name);
            y[i] = 0;
            bad = true;
        }
        run->counts->not_finite += bad;
    }
}

/* Turns the operator's results into the column that the end reads. */
static void as_column(cr_calc_run *run, cr_values *v, cr_column *out) {
    const cr_calc *op = run->f->self;
    int64_t n_rows = run->chunk->n_rows;
    if (op->end_kind == CR_END_TOKENS) {
        static const uint32_t none;
        *out = (cr_column){.type = CR_COL_STR,
                           .depth = 1,
                           .row_off = v->off,
                           .bytes = v->bytes ? v->bytes : "",
                           .beg = v->beg ? v->beg : &none,
                           .end = v->end ? v->end : &none};
        return;
    }
    if (op->end_kind == CR_END_NUMBER) {
        /* with boundaries they are lists: a missing value has no id, while a null number would
         * count as 0 */
        bool one = op->dim == 1 && !run->f->sparse;
        for (int64_t r = 0; one && r < n_rows; r++)
            one = v->off[r + 1] - v->off[r] <= 1;
        if (!one) {
            *out = (cr_column){.type = CR_COL_F64, .depth = 1, .row_off = v->off, .v.f64 = v->x};
            return;
        }
        double *x = cr_arena_alloc(run->arena, sizeof(double) * (size_t)(n_rows + 1));
        uint8_t *valid = cr_arena_alloc(run->arena, (size_t)n_rows + 1);
        for (int64_t r = 0; r < n_rows; r++) {
            valid[r] = v->off[r + 1] > v->off[r];
            x[r] = valid[r] ? v->x[v->off[r]] : 0;
        }
        *out = (cr_column){.type = CR_COL_F64, .valid = valid, .v.f64 = x};
        return;
    }
    float *y = cr_arena_alloc(run->arena, sizeof(float) * (size_t)(v->n + 1));
    int64_t *id = cr_arena_alloc(run->arena, sizeof(int64_t) * (size_t)(v->n + 1));
    normalize(run, &op->norm, v, y);
    for (int64_t i = 0; i < v->n; i++)
        id[i] = op->end_kind == CR_END_MANY ? bucket(op, y[i])
                : y[i] >= 0x1p63f           ? INT64_MAX
                : y[i] < -0x1p63f           ? INT64_MIN
                                            : (int64_t)y[i];
    *out = (cr_column){.type = CR_COL_I64, .depth = 1, .row_off = v->off, .v.i64 = id};
}

cr_code cr_calc_end_row(cr_calc_run *run, cr_err *err) {
    const cr_calc *op = run->f->self;
    cr_values *v = run->out;
    if (op->end_kind == CR_END_MANY && op->most && cr_values_in_row(v) > op->most) {
        v->n = v->off[v->row] + op->most;
        run->counts->cut++;
    }
    if (run->with_default) cr_values_default(v, op->def, op->sep);
    if (v->n > INT32_MAX || v->n_bytes > UINT32_MAX)
        return cr_fail(err, CR_EDATA,
                       "feature '%s' makes more than 2^31 values or 4 GiB of text in one block of "
                       "rows",
                       run->f->name);
    v->off[v->row + 1] = (int32_t)v->n;
    return CR_OK;
}

/* Runs the operator over all rows. */
static cr_code run_rows(cr_calc_run *run, cr_values *v, const cr_column **in, cr_err *err) {
    const cr_feature *f = run->f;
    const cr_calc *op = f->self;
    int64_t n_rows = run->chunk->n_rows;
    CR_TRY(inputs(f, run->chunk, run->arena, in, err));
    cr_values_begin(v, makes_tokens(op), n_rows, run->arena);
    run->in = in;
    run->out = v;
    if (op->all) return op->all(run, err);
    run->scratch = op->begin ? op->begin(f, run->arena) : NULL;
    for (int64_t r = 0; r < n_rows; r++) {
        v->row = r;
        op->row(run, r);
        CR_TRY(cr_calc_end_row(run, err));
    }
    return CR_OK;
}

bool cr_calc_gives_numbers(const cr_feature *f) {
    return !makes_tokens(f->self);
}

cr_code cr_calc_give(const cr_feature *f, const cr_chunk *chunk, cr_column *out, cr_arena *arena,
                     cr_bad *bad, cr_err *err) {
    const cr_calc *op = f->self;
    const cr_column *in[CR_CALC_MAX_INPUTS];
    cr_feature_counts none = {0}; /* not used: encoding counts */
    cr_calc_run run = {.f = f, .chunk = chunk, .arena = arena, .bad = bad, .counts = &none};
    cr_values v;
    if (makes_tokens(op)) {
        run.with_default = true;
        CR_TRY(run_rows(&run, &v, in, err));
        cr_values_column(&v, chunk->n_rows, op->dim, out);
        return CR_OK;
    }
    CR_TRY(run_rows(&run, &v, in, err));
    cr_column made = {.type = CR_COL_F64, .depth = 1, .row_off = v.off, .v.f64 = v.x};
    return cr_give_numbers(f, &made, op->def, op->sep, op->end_kind == CR_END_MANY ? 0 : op->dim,
                           &op->norm, chunk, out, arena, bad, err);
}

cr_code cr_calc_encode(const cr_feature *f, const cr_chunk *in, cr_feat_out *out, cr_err *err) {
    const cr_calc *op = f->self;
    cr_column made;
    if (op->encoded) {
        made = in->cols[f->col_idx[0]];
    } else {
        const cr_column *cols[CR_CALC_MAX_INPUTS];
        cr_calc_run run = {
            .f = f, .chunk = in, .arena = out->arena, .bad = out->bad, .counts = out->counts};
        cr_values v;
        CR_TRY(run_rows(&run, &v, cols, err));
        as_column(&run, &v, &made);
        out->counts->missing -= run.n_bad; /* the end counts dropped rows as missing */
    }
    cr_chunk one = {
        .n_rows = in->n_rows, .n_cols = 1, .cols = &made, .path = in->path, .lines = in->lines};
    return op->end->type->encode(op->end, &one, out, err);
}

/* ---- made-up data ---- */

int cr_calc_sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    const cr_calc *op = f->self;
    if (op->encoded) {
        if (op->end) op->end->type->sample(op->end, 0, s, out);
        return -1;
    }
    out->sep = cr_arena_strndup(cr_sample_arena(s), &op->sep, 1);
    if (cr_sample_data(s)->fg_mode == CR_FG_BUCKETIZE) { /* numbers that become ids */
        const cr_norm none = {CR_NORM_NONE, 0, 0, NULL};
        cr_sample_number(&none, op->bounds, op->n_bounds, &out->value);
        if (op->end_kind == CR_END_WHOLE)
            out->value = (cr_tab_value){.leaf = CR_TAB_INT, .card = f->num_embeddings};
        return -1;
    }
    out->value.card = 100;
    int i = 0;
    while (i < op->n_in && op->in[i].column != k)
        i++;
    if (i < op->n_in && op->in[i].form == CR_IN_NUMBERS) {
        cr_tab_normal(&out->value, 0, 1);
        out->single = true;
    }
    return i;
}

void cr_calc_sample_plain(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    (void)cr_calc_sample(f, k, s, out);
}

void cr_calc_sample_value(const cr_feature *f, const cr_sampler *s, cr_tab_value *out) {
    const cr_calc *op = f->self;
    if (op->end) {
        cr_tab_col c;
        cr_tab_col_init(&c, f->name);
        op->end->type->sample(op->end, 0, s, &c);
        *out = c.value;
    } else if (!makes_tokens(op))
        cr_tab_normal(out, 0, 1);
}

void cr_calc_sample_link(const cr_feature *f, int input, const cr_sampler *s, int *v, int *n) {
    const cr_calc *op = f->self;
    int col = input < 0 || op->in[input].column < 0
                  ? -1
                  : cr_sample_column(s, f->columns[op->in[input].column]);
    if (col >= 0) v[(*n)++] = col;
}

/* ---- fg.json ---- */

void cr_calc_fg_open(const cr_feature *f, const cr_calc_conf *c, const char *value_type, cr_jw *w) {
    cr_fg_json_begin(f, w, f->type->name, c->default_value);
    if (*value_type) cr_jw_str(w, "value_type", value_type);
    if (c->separator && strcmp(c->separator, "\x1d") != 0) cr_jw_str(w, "separator", c->separator);
}

void cr_calc_fg_close(const cr_feature *f, const cr_calc_conf *c, cr_jw *w) {
    const cr_calc *op = f->self;
    if (c->normalizer && c->normalizer[0]) cr_jw_str(w, "normalizer", c->normalizer);
    if (c->boundaries.n && op->end_kind != CR_END_TOKENS) {
        cr_jw_arr(w, "boundaries");
        for (int64_t i = 0; i < c->boundaries.n; i++)
            cr_jw_f64(w, NULL, c->boundaries.v[i]);
        cr_jw_end(w);
    } else if (op->end && (op->end_kind == CR_END_TOKENS || op->end_kind == CR_END_WHOLE)) {
        cr_id_fg_buckets(op->end, op->end->conf, w);
    }
    if (cr_conf_has(c, "stub_type")) cr_jw_bool(w, "stub_type", c->stub_type);
    cr_fg_json_end(f, w);
}

/* ---- combiners ---- */

static const char *const COMBINERS[] = {"sum", "mean", "min", "max", "count", NULL};
static const char *combiner_at(const void *ctx, size_t i) {
    (void)ctx;
    return COMBINERS[i];
}

bool cr_combiner_of(cr_combiner *out, const cr_feature *f, const void *conf, const char *word,
                    bool all, cr_diag *diag) {
    *out = CR_COMBINE_SUM;
    if (all && !*word) {
        *out = CR_COMBINE_NONE;
        return true;
    }
    if (strcasecmp(word, "avg") == 0) word = "mean";
    for (int i = 0; COMBINERS[i] && (all || i < CR_COMBINE_COUNT); i++) {
        if (strcasecmp(word, COMBINERS[i]) != 0) continue;
        *out = (cr_combiner)i;
        return true;
    }
    const char *near = cr_nearest(word, combiner_at, NULL);
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf, "combiner"),
                "feature '%s': unknown combiner '%s'; %s%s%s", f->name, word,
                near  ? "did you mean '"
                : all ? "use sum, mean, min, max, count or \"\""
                      : "use sum, mean, min or max",
                near ? near : "", near ? "'?" : "");
    return false;
}

void cr_combiner_fg(cr_jw *w, const char *word) {
    char small[16] = "";
    for (size_t i = 0; i < sizeof(small) - 1 && word[i]; i++)
        small[i] = (char)(word[i] | 0x20);
    cr_jw_str(w, "combiner", small);
}

double cr_combine(cr_combiner c, const double *x, int64_t n) {
    if (c == CR_COMBINE_COUNT) return (double)n;
    double r = x[0];
    for (int64_t i = 1; i < n; i++)
        r = c == CR_COMBINE_MIN ? fmin(r, x[i]) : c == CR_COMBINE_MAX ? fmax(r, x[i]) : r + x[i];
    return c == CR_COMBINE_MEAN ? r / (double)n : r;
}
