/*
 * features.c - all features of a run together: which columns to read, and how a chunk of columns
 * becomes a batch.
 *
 * Each column is read once however many features, labels and weights use it. Encoding goes feature
 * by feature over the whole chunk (columns are contiguous, and the code stays in the cache), and a
 * batch's dense floats are one row-major block that each dense feature fills with its stride.
 */
#include "feat/clock.h"
#include "feat/feat_int.h"

#include <inttypes.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/map.h"

typedef struct builder {
    cr_features *fs;
    cr_arena *arena;
    const cr_data_conf *data;
    cr_diag *diag;
    cr_map wants, names;
    int cap_want;
} builder;

/* Returns the index of a column among those to read; adds the column when it is new. */
static int want(builder *b, const char *name, const char *why, const char *cure, cr_loc at) {
    cr_features *fs = b->fs;
    int64_t i = cr_map_get(&b->wants, name, strlen(name), -1);
    if (i >= 0) return (int)i;
    if (fs->n_want == b->cap_want) {
        int cap = b->cap_want ? 2 * b->cap_want : 64;
        cr_want *v = CR_NEW_N(b->arena, cr_want, cap);
        if (fs->n_want) memcpy(v, fs->want, sizeof(*v) * (size_t)fs->n_want);
        fs->want = v;
        b->cap_want = cap;
    }
    fs->want[fs->n_want] = (cr_want){
        .name = cr_arena_strdup(b->arena, name), .type = -1, .why = why, .at = at, .cure = cure};
    cr_map_put(&b->wants, name, strlen(name), fs->n_want);
    return fs->n_want++;
}

/* Checks what a sequence needs besides the checks of its type. */
static void check_sequence(builder *b, const cr_feature *f) {
    if (f->dense_emb != CR_DENSE_PLAIN)
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, f->at,
                    "feature '%s': a sequence of numbers takes neither autodis nor mlp; give it "
                    "boundaries or leave the numbers as they are",
                    f->name);
}

/* Has each sequence feature an input that is a sequence? That is known when all features are
 * built. */
static void check_inputs(const cr_features *fs, cr_diag *diag) {
    for (int i = 0; i < fs->n; i++) {
        const cr_feature *f = fs->v[i];
        bool none = f->seq && !f->token_steps && (!f->stub || f->n_columns);
        for (int k = 0; none && k < f->n_columns; k++)
            none = f->is_seq && !f->is_seq[k];
        if (none)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(f->conf, "sequence_fields"),
                        "feature '%s' has no input that is a sequence; name one in "
                        "sequence_fields",
                        f->name);
    }
}

/* Builds one feature. block is the sequence_feature that holds it, whose first feature has the
 * index `first`. */
static void build_feature(builder *b, const cr_choice *c, const cr_sequence_conf *block,
                          int first) {
    cr_features *fs = b->fs;
    if (!c->m || !c->m->type || !c->conf) return; /* binding reported it */
    const char *name = cr_conf_text(c->conf, "feature_name");
    if (!*name) return; /* binding reported the missing name */
    cr_feature *f = CR_NEW(b->arena, cr_feature);
    f->type = c->m->type;
    f->conf = c->conf;
    f->name = block ? cr_arena_printf(b->arena, "%s%s%s", block->sequence_name,
                                      cr_group_sep(b->data), name)
                    : name;
    f->at = cr_conf_at(f->conf, "feature_name");
    int64_t before = cr_map_get(&b->names, f->name, strlen(f->name), -1);
    if (before >= 0) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, f->at,
                    "feature '%s' is defined twice, first at line %d; give it another name",
                    f->name, fs->v[before]->at.line);
        return;
    }
    bool named = strncmp(c->m->key, "sequence_", 9) == 0,
         tokens = cr_conf_flag(f->conf, "tokens_as_sequence");
    if (tokens && (block || named))
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(f->conf, "tokens_as_sequence"),
                    "feature '%s' is a sequence of texts already; use tokens_as_sequence in a "
                    "tokenize_feature outside of sequences, or remove it",
                    f->name);
    if (block || named || tokens) {
        cr_seq *q = cr_seq_make(f->conf, block, f->name, b->data, b->arena, b->diag);
        q->first = first;
        f->seq = q;
    }
    cr_map_put(&b->names, f->name, strlen(f->name), fs->n);
    fs->v[fs->n++] = f;
    f->stub = cr_conf_flag(f->conf, "stub_type");
    f->raw_cure = cr_encoded_cure(f, b->data, b->arena);
    f->type->build(f, f->conf, b->data, b->arena, b->diag);
    if (f->seq) check_sequence(b, f);
    if (f->stub) { /* it is in no batch; without FG_DAG no feature reads it */
        f->sparse = false;
        f->value_dim = 0;
        if (b->data->fg_mode == CR_FG_NORMAL)
            cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(f->conf, "stub_type"),
                        "feature '%s': stub_type needs fg_mode FG_DAG; set that or remove it",
                        f->name);
        if (b->data->fg_mode != CR_FG_DAG) f->n_columns = 0;
    }
    if (f->sparse) {
        f->slot = fs->n_sparse++;
    } else if (f->seq && !f->stub) {
        f->slot = fs->n_dense_seq++;
    } else {
        f->dense_off = fs->dense_width;
        fs->dense_width += f->value_dim;
    }
    int *idx = CR_NEW_N(b->arena, int, f->n_columns + 1);
    const char *why = cr_arena_printf(b->arena, "feature '%s'", f->name);
    bool by_name = cr_fg_by_name(b->data);
    for (int k = 0; k < f->n_columns; k++)
        idx[k] = strncmp(f->columns[k], CR_FROM_FEATURE, sizeof(CR_FROM_FEATURE) - 1) == 0
                     ? -1 /* cr_dag_make sets it */
                     : want(b, f->columns[k], why, f->raw_cure,
                            cr_conf_at(f->conf, by_name ? "feature_name" : "expression"));
    f->col_idx = idx;
}

/* The features of a block share their steps, so they stand side by side. */
static void build_features(builder *b, const cr_msgs *confs) {
    for (int64_t i = 0; i < confs->n; i++) {
        const cr_choice *c = &((const cr_feature_conf *)confs->v[i])->feature;
        if (!c->m || c->m->msg != &cr_sequence_msg) {
            build_feature(b, c, NULL, 0);
            continue;
        }
        const cr_sequence_conf *block = c->conf;
        if (!block || !block->sequence_name[0]) continue; /* binding reported it */
        if (block->features.n == 0)
            cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, block->base.at,
                        "sequence_feature '%s' has no features; add one for each of its columns",
                        block->sequence_name);
        int first = b->fs->n;
        for (int64_t k = 0; k < block->features.n; k++)
            build_feature(b, &((const cr_feature_conf *)block->features.v[k])->feature, block,
                          first);
    }
}

/* Adds labels or weights: a list of column names of DataConfig. */
static void want_list(builder *b, const cr_data_conf *data, const char *field, const cr_strs *names,
                      const char ***out, int **cols, int *n) {
    *out = CR_NEW_N(b->arena, const char *, names->n + 1);
    *cols = CR_NEW_N(b->arena, int, names->n + 1);
    for (int64_t i = 0; i < names->n; i++) {
        (*out)[i] = names->v[i];
        (*cols)[i] = want(b, names->v[i], field, NULL, cr_conf_at_item(data, field, i));
    }
    *n = (int)names->n;
}

/* Adds the clock behind the weights. */
static void want_clock(builder *b, const cr_data_conf *data) {
    cr_features *fs = b->fs;
    int n = fs->n_weights++;
    fs->weights[n] = data->clock_field;
    fs->weight_col[n] =
        want(b, data->clock_field, "clock_field", NULL, cr_conf_at(data, "clock_field"));
    fs->clock_unit = cr_clock_unit_of(data->clock_unit);
}

static int64_t count_features(const cr_msgs *confs) {
    int64_t n = confs->n;
    for (int64_t i = 0; i < confs->n; i++) {
        const cr_choice *c = &((const cr_feature_conf *)confs->v[i])->feature;
        if (c->m && c->m->msg == &cr_sequence_msg && c->conf)
            n += ((const cr_sequence_conf *)c->conf)->features.n;
    }
    return n;
}

static void free_regex(void *r) {
    cr_regex_free(r);
}

/* Wants the columns of skip_rows and compiles its expressions. */
static void want_skips(builder *b, const cr_data_conf *data) {
    cr_features *fs = b->fs;
    fs->skip = CR_NEW_N(b->arena, cr_skip, data->skip_rows.n + 1);
    for (int64_t i = 0; i < data->skip_rows.n; i++) {
        const cr_skip_conf *c = data->skip_rows.v[i];
        cr_skip *k = &fs->skip[fs->n_skip];
        cr_err err;
        if (cr_regex_new(&k->regex, c->pattern, CR_REGEX_UNICODE, &err) != CR_OK) {
            cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "pattern"),
                        "'%s' cannot be read: %s; correct it", c->pattern, err.msg);
            continue;
        }
        cr_arena_defer(b->arena, free_regex, k->regex);
        k->col = want(b, c->column, "skip_rows", NULL, cr_conf_at(c, "column"));
        fs->n_skip++;
    }
}

cr_features *cr_features_new(cr_arena *arena, const cr_msgs *confs, const cr_data_conf *data,
                             bool with_labels, const char *const *reserved, int n_reserved,
                             cr_diag *diag) {
    size_t errors = diag->n_errors;
    cr_features *fs = CR_NEW(arena, cr_features);
    builder b = {.fs = fs, .arena = arena, .data = data, .diag = diag};
    cr_map_init(&b.wants);
    cr_map_init(&b.names);
    fs->v = CR_NEW_N(arena, cr_feature *, count_features(confs) + 1);
    fs->by_name = cr_fg_by_name(data);
    cr_nulls_init(&fs->nulls, &data->null_values, arena);
    build_features(&b, confs);
    if (with_labels) {
        want_list(&b, data, "label_fields", &data->label_fields, &fs->labels, &fs->label_col,
                  &fs->n_labels);
        cr_labels_make(fs, data, arena);
        want_list(&b, data, "sample_weight_fields", &data->sample_weight_fields, &fs->weights,
                  &fs->weight_col, &fs->n_weights);
    }
    fs->clock_unit = CR_CLOCK_NONE;
    cr_clock_check(fs, data, diag);
    if (with_labels && *data->clock_field) want_clock(&b, data);
    fs->split_col = -1;
    if (with_labels && data->eval_fraction > 0 && *data->eval_fraction_field)
        fs->split_col = want(&b, data->eval_fraction_field, "eval_fraction_field", NULL,
                             cr_conf_at(data, "eval_fraction_field"));
    if (with_labels) want_skips(&b, data);
    fs->reserved_col = CR_NEW_N(arena, int, n_reserved + 1);
    int n_values = fs->n_want; /* the columns from here on are only wanted as they are stored */
    for (int i = 0; i < n_reserved; i++) {
        int k = fs->reserved_col[i] = want(&b, reserved[i], "--reserved_columns", NULL, CR_NOWHERE);
        fs->want[k].form = k < n_values ? CR_WANT_VALUES_STORED : CR_WANT_STORED;
    }
    fs->n_reserved = n_reserved;
    cr_dag_make(fs, arena, diag);
    check_inputs(fs, diag);
    cr_encoded_check(fs, data, diag);
    if (with_labels) cr_mask_make(fs, data, diag);
    cr_map_clear(&b.wants);
    cr_map_clear(&b.names);
    return diag->n_errors > errors ? NULL : fs;
}

/* Returns "<stem>_<hash of the content><ext>", so that two files of one name can lie in one
 * directory. */
static const char *asset_name(cr_arena *arena, const char *path, uint64_t hash) {
    const char *base = cr_path_base(path), *dot = strrchr(base, '.');
    if (!dot || dot == base) dot = base + strlen(base);
    return cr_arena_printf(arena, "%.*s_%016" PRIx64 "%s", (int)(dot - base), base, hash, dot);
}

cr_code cr_feature_path(const char *asset_dir, const char *name, const cr_data_conf *data,
                        cr_arena *arena, const char **path, cr_err *err) {
    *path = cr_path_join(arena, asset_dir ? asset_dir : "", name);
    return data->inside ? cr_path_inside(data->inside, *path, err) : CR_OK;
}

void cr_feature_add_asset(cr_feature *f, const char *field, const char *path, const cr_buf *content,
                          cr_arena *arena) {
    CR_ASSERT(f->n_assets < CR_FEAT_ASSETS);
    uint64_t hash = cr_hash_farm(content->data ? content->data : "", content->n);
    f->assets[f->n_assets++] = (struct cr_asset){field, cr_arena_strdup(arena, path),
                                                 asset_name(arena, path, hash), hash, content->n};
}

const char *cr_feature_asset(const cr_feature *f, const char *field) {
    for (int i = 0; i < f->n_assets; i++)
        if (strcmp(f->assets[i].field, field) == 0) return f->assets[i].name;
    return NULL;
}

const cr_feature *cr_features_find(const cr_features *fs, const char *name) {
    for (int i = 0; i < fs->n; i++)
        if (strcmp(fs->v[i]->name, name) == 0) return fs->v[i];
    return NULL;
}

cr_code cr_features_encode(void *ctx, const cr_chunk *chunk, cr_chunk_rows *to, cr_bad *bad,
                           cr_err *err) {
    const cr_features *fs = ctx;
    int64_t n = chunk->n_rows;
    cr_batch *out = &to->rows;
    cr_arena *arena = &to->arena;
    size_t per_row = sizeof(double) + 1; /* the scratch that labels need */
    for (int i = 0; i < fs->n; i++)
        if (fs->v[i]->row_scratch > per_row) per_row = fs->v[i]->row_scratch;
    void *scratch = cr_arena_alloc(arena, (size_t)n * per_row + 64);
    float *dense = cr_arena_alloc(arena, sizeof(float) * (size_t)(n * fs->dense_width) + 64);
    cr_jagged *sparse = CR_NEW_N(arena, cr_jagged, fs->n_sparse + 1);
    cr_dense_seq *dense_seq = CR_NEW_N(arena, cr_dense_seq, fs->n_dense_seq + 1);
    cr_feature_counts *counts = CR_NEW_N(arena, cr_feature_counts, fs->n + 1);
    const cr_column *file_cols = chunk->cols;
    cr_chunk all = *chunk; /* the chunk with the columns that features give to others */
    if (fs->gives || fs->nulls.n > 0) {
        all = cr_nulls_hide(fs, chunk, cr_dag_column(fs, fs->n, 0), arena);
        chunk = &all;
    }
    for (int k = 0; k < fs->n; k++) {
        int i = fs->order[k];
        const cr_feature *f = fs->v[i];
        double begin = fs->times ? cr_thread_cpu() : 0;
        if (f->given) CR_TRY(cr_dag_give(fs, i, &all, arena, bad, err));
        if (f->stub) continue;
        cr_feat_out o = {arena, NULL, NULL, fs->dense_width, scratch, bad, &counts[i]};
        if (f->sparse)
            o.ids = &sparse[f->slot];
        else if (!f->seq)
            o.dense = dense + f->dense_off;
        const cr_chunk *in = chunk;
        cr_chunk masked;
        if (f->mask && chunk->hidden) {
            masked = cr_mask_hide(f, chunk, arena, &counts[i]);
            in = &masked;
        }
        if (f->seq)
            CR_TRY(cr_seq_encode(f, in, &o, f->sparse ? NULL : &dense_seq[f->slot], err));
        else
            CR_TRY(f->type->encode(f, in, &o, err));
        if (fs->times)
            atomic_fetch_add(&fs->times[i], (long long)(1e9 * (cr_thread_cpu() - begin)));
    }
    out->n_rows = n;
    to->tally = counts;
    out->n_sparse = fs->n_sparse;
    out->sparse = sparse;
    out->n_dense_seq = fs->n_dense_seq;
    out->dense_seq = dense_seq;
    cr_seq_check(fs, chunk, out, bad);
    out->dense_width = fs->dense_width;
    out->dense = dense;
    for (int i = 0; i < fs->n; i++)
        if (!fs->v[i]->stub) cr_features_compare(fs->v[i], out, &counts[i]);
    CR_TRY(cr_labels_encode(fs, chunk, scratch, to, bad, err));
    cr_column *reserved = CR_NEW_N(arena, cr_column, fs->n_reserved + 1);
    for (int i = 0; i < fs->n_reserved; i++)
        reserved[i] = file_cols[fs->reserved_col[i]];
    out->n_reserved = fs->n_reserved;
    out->reserved = reserved;
    return CR_OK;
}

static void check_numbers(const cr_features *fs, const int *cols, const char *const *names, int n,
                          const char *what, const cr_colkind *kinds, cr_diag *diag) {
    for (int i = 0; i < n; i++) {
        const cr_colkind *k = &kinds[cols[i]];
        if (k->nulls || (k->depth == 0 && k->key < 0)) continue;
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, fs->want[cols[i]].at,
                    "column '%s' holds %s; a %s is one number per row", names[i], k->text, what);
    }
}

void cr_features_check(const void *ctx, const cr_colkind *kinds, cr_diag *diag) {
    const cr_features *fs = ctx;
    for (int i = 0; i < fs->n; i++) {
        cr_feature *f = fs->v[i];
        for (int k = 0; k < f->n_columns; k++) {
            if (cr_dag_feature(fs, f->col_idx[k]) >= 0) continue;
            const cr_colkind *kind = &kinds[f->col_idx[k]];
            const char *needs = kind->nulls || !kind->text ? NULL : cr_seq_refuses(f, k, kind);
            if (needs)
                cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, f->at,
                            "column '%s' holds %s; feature '%s' needs %s%s%s%s", f->columns[k],
                            kind->text, f->name, f->seq ? "in each step " : "", needs,
                            f->raw_cure ? "; or, " : "", f->raw_cure ? f->raw_cure : "");
        }
        bool own = f->n_columns == 1 && cr_dag_feature(fs, f->col_idx[0]) < 0;
        if (f->form || f->seq || !f->type->form || !own || kinds[f->col_idx[0]].nulls) continue;
        f->form = f->type->form(f, kinds[f->col_idx[0]].type, kinds[f->col_idx[0]].depth);
    }
    check_numbers(fs, fs->label_col, fs->labels, fs->n_labels, "label", kinds, diag);
    int n = cr_features_row_weights(fs);
    check_numbers(fs, fs->weight_col, fs->weights, n, "sample weight", kinds, diag);
    check_numbers(fs, fs->weight_col + n, fs->weights + n, fs->n_weights - n, "time", kinds, diag);
    for (int i = 0; i < fs->n_skip; i++) {
        const cr_colkind *k = &kinds[fs->skip[i].col];
        if ((k->type != CR_COL_STR || k->depth > 0 || k->key >= 0) && !k->nulls)
            cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, fs->want[fs->skip[i].col].at,
                        "column '%s' does not hold texts, and skip_rows looks for texts",
                        fs->want[fs->skip[i].col].name);
    }
    const cr_colkind *split = fs->split_col < 0 ? NULL : &kinds[fs->split_col];
    if (split && (split->depth > 0 || split->key >= 0))
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, fs->want[fs->split_col].at,
                    "column '%s' holds %s; eval_fraction_field needs one value per row",
                    fs->want[fs->split_col].name, split->text);
}

static void begin_block(const cr_sequence_conf *c, cr_jw *w) {
    cr_buf pk;
    cr_buf_init(&pk);
    cr_buf_printf(&pk, "user:%s", c->sequence_name);
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "sequence_name", c->sequence_name);
    cr_jw_i64(w, "sequence_length", c->sequence_length);
    cr_jw_str(w, "sequence_delim", c->sequence_delim);
    cr_jw_str(w, "sequence_pk", c->sequence_pk[0] ? c->sequence_pk : pk.data);
    cr_jw_arr(w, "features");
    cr_buf_clear(&pk);
}

void cr_features_fg_json(const cr_features *fs, cr_buf *out) {
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_jw_arr(&w, "features");
    for (int i = 0; i < fs->n; i++) {
        const cr_seq *q = fs->v[i]->seq;
        const cr_sequence_conf *block = q ? q->block : NULL;
        if (block && q->first == i) begin_block(block, &w);
        fs->v[i]->type->fg_json(fs->v[i], &w);
        if (!block || (i + 1 < fs->n && fs->v[i + 1]->seq && fs->v[i + 1]->seq->block == block))
            continue;
        cr_jw_end(&w);
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_end(&w);
}
