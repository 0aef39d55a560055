/*
 * feature_info.c - `crank add_feature_info_to_config`: puts a table of facts about features into a
 * config: widths, table sizes, boundaries. Features that the table drops are removed from
 * feature_configs and from groups.
 *
 * A template may lack what the table brings, so it is read and bound without a check. Edits use
 * cr_conf_set, which knows the spellings; dropped features are removed from the tree.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/map.h"
#include "conf/conf.h"
#include "job/env.h"
#include "job/job.h"
#include "tool/tool.h"

typedef struct info {
    const char *name;
    int64_t dim; /* 0: the row does not say */
    int64_t hash;
    double *bounds;
    int64_t n_bounds; /* -1: none given */
    bool drop, met;   /* met: the config has such a feature */
    const char *path; /* where the table says it: path and row */
    int64_t row;
} info;

/* The first names of a list and its length, so that one line can report any number. */
typedef struct few {
    cr_buf names;
    int64_t n;
} few;

typedef struct work {
    const cr_feature_info_opts *o;
    cr_feature_info_result *res;
    cr_conf_doc doc;
    cr_arena arena;
    cr_diag *diag;
    cr_root_conf *root;
    info *v;
    int64_t n, cap;
    cr_map index;     /* from a name to its info */
    cr_map sequences; /* names of features that are sequences */
    few left;         /* features without a row */
} work;

static void few_add(few *f, const char *name) {
    if (f->n++ < 5)
        cr_buf_printf(&f->names, "%s'%s'", f->n > 1 ? ", " : "", name);
    else if (f->n == 6)
        cr_buf_str(&f->names, " ...");
}

/* ---- the table ---- */

static cr_code wrong_row(const info *x, const char *why, cr_err *err) {
    return cr_fail_at(err, CR_EDATA, ((cr_loc){x->path, 0, 0}), "row %lld, feature '%s': %s",
                      (long long)x->row + 1, x->name, why);
}

static cr_code read_info(work *w, info *x, const char *json, size_t n, cr_err *err) {
    cr_json *j = NULL;
    cr_err why;
    if (cr_json_parse(&j, json, n, &why) != CR_OK) {
        char text[600];
        snprintf(text, sizeof(text), "feature_info is no JSON: %s", why.msg);
        return wrong_row(x, text, err);
    }
    const cr_json *bounds = cr_json_get(j, "boundary"), *hash = cr_json_get(j, "hash_bucket_size");
    double d = 0;
    cr_code code = CR_OK;
    if (!cr_json_f64(cr_json_get(j, "embedding_dim"), &d) || d < 1 || d != floor(d) || d > 65536)
        code = wrong_row(x, "feature_info has no embedding_dim of 1 to 65536; add it", err);
    x->dim = (int64_t)d;
    if (code == CR_OK && bounds && (!cr_json_is_arr(bounds) || cr_json_len(bounds) == 0)) {
        code = wrong_row(x, "boundary is not a list of numbers", err);
    } else if (code == CR_OK && bounds) {
        x->n_bounds = (int64_t)cr_json_len(bounds);
        x->bounds = CR_NEW_N(&w->arena, double, x->n_bounds + 1);
        for (int64_t i = 0; i < x->n_bounds && code == CR_OK; i++)
            if (!cr_json_f64(cr_json_at(bounds, (size_t)i), &x->bounds[i]))
                code = wrong_row(x, "boundary is not a list of numbers", err);
    } else if (code == CR_OK && hash) {
        if (!cr_json_f64(hash, &d) || d < 1 || d != floor(d) || d > 0x1p53)
            code = wrong_row(x, "hash_bucket_size is not a number of rows", err);
        x->hash = (int64_t)d;
    }
    cr_json_free(j);
    return code;
}

/* Returns value r of a text column; NULL: it has none. */
static const char *text_at(work *w, const cr_column *c, int64_t r) {
    size_t n;
    if (c->valid && !c->valid[r]) return NULL;
    const char *p = cr_text_at(c, r, &n);
    return cr_arena_strndup(&w->arena, p, n);
}

static cr_code add_row(work *w, const cr_chunk *c, int64_t r, int64_t row, cr_err *err) {
    const char *name = text_at(w, &c->cols[0], r), *json = text_at(w, &c->cols[1], r),
               *message = text_at(w, &c->cols[2], r);
    if (!name || !*name) return CR_OK;
    if (w->n == w->cap) {
        int64_t cap = w->cap ? 2 * w->cap : 64;
        info *v = CR_NEW_N(&w->arena, info, cap);
        if (w->n) memcpy(v, w->v, sizeof(*v) * (size_t)w->n);
        w->v = v;
        w->cap = cap;
    }
    info *x = &w->v[w->n];
    *x = (info){.name = name,
                .n_bounds = -1,
                .path = cr_arena_strdup(&w->arena, c->path ? c->path : w->o->table),
                .row = row};
    x->drop = message && strstr(message, "DROP IT");
    /* for a dropped feature nothing else is needed */
    if (!x->drop) CR_TRY(read_info(w, x, json ? json : "", json ? strlen(json) : 0, err));
    cr_map_put(&w->index, name, strlen(name), w->n++);
    return CR_OK;
}

static cr_code read_blocks(work *w, const cr_reader_type *reader, cr_source *src, cr_err *err) {
    cr_raw raw = {0};
    cr_chunk chunk = {0};
    cr_bad bad = {0};
    cr_code code = CR_OK;
    cr_arena_init(&chunk.arena, 0);
    for (int64_t f = 0; f < reader->n_files(src) && code == CR_OK; f++) {
        int64_t n = 0, row = 0;
        code = reader->n_blocks(src, f, &n, err);
        for (int64_t b = 0; code == CR_OK && (n < 0 || b < n); b++) {
            bool end = false;
            if (reader->block_rows) {
                cr_block_rows rows;
                reader->block_rows(src, f, b, &rows);
                raw.from = 0;
                raw.n_rows = rows.n_rows;
            }
            code = reader->cut(src, f, b, &raw, &end, err);
            if (code != CR_OK || end) break;
            cr_bad_reset(&bad);
            code = reader->parse(src, &raw, &chunk, &bad, err);
            if (code == CR_OK && bad.n)
                code = cr_fail_at(err, CR_EDATA, ((cr_loc){reader->path(src, f), 0, 0}), "%s",
                                  bad.v[0].msg);
            for (int64_t r = 0; r < chunk.n_rows && code == CR_OK; r++)
                code = add_row(w, &chunk, r, row++, err);
        }
    }
    if (reader->raw_clear) reader->raw_clear(src, &raw);
    cr_free(raw.text);
    cr_arena_clear(&chunk.arena);
    cr_bad_clear(&bad);
    return code;
}

static cr_code read_table(work *w) {
    static const char *const columns[] = {"feature", "feature_info", "message"};
    const char *type = w->o->reader_type;
    const cr_reader_type *reader = cr_reader_by_path(w->o->table);
    cr_err err;
    if (type && strcmp(type, "CsvReader") == 0) reader = cr_reader_find("CsvDataset");
    if (type && strcmp(type, "ParquetReader") == 0) reader = cr_reader_find("ParquetDataset");
    if (type && strcmp(type, "CsvReader") != 0 && strcmp(type, "ParquetReader") != 0)
        return cr_diag_err(w->diag, &(cr_err){.code = CR_EUSAGE,
                                              .msg = "--reader_type must be CsvReader or "
                                                     "ParquetReader; others are not in this "
                                                     "version"});
    if (!reader)
        return cr_diag_err(w->diag,
                           &(cr_err){.code = CR_EUSAGE,
                                     .msg =
                                         "the ending of --config_table_path says neither CSV nor "
                                         "Parquet; add --reader_type"});
    cr_diag quiet; /* the table need not have what a data_config must have */
    cr_diag_init(&quiet);
    cr_data_conf *conf = cr_conf_bind(&w->arena, &cr_data_msg, NULL, &quiet);
    cr_data_conf_finish(conf, &w->arena, &quiet);
    cr_diag_clear(&quiet);
    conf->with_header = true;
    cr_want *want = CR_NEW_N(&w->arena, cr_want, 3);
    for (int i = 0; i < 3; i++)
        want[i] = (cr_want){.name = columns[i], .type = -1, .why = "--config_table_path"};
    cr_source *src = NULL;
    CR_TRY(reader->open(&src, conf, w->o->table, want, 3, w->diag));
    cr_colkind kinds[3];
    reader->kinds(src, kinds);
    cr_code code = CR_OK;
    for (int i = 0; i < 3 && code == CR_OK; i++)
        if (!kinds[i].nulls && (kinds[i].type != CR_COL_STR || kinds[i].depth))
            code = cr_fail(&err, CR_EDATA, "column '%s' of the table is not text", columns[i]);
    if (code == CR_OK) code = read_blocks(w, reader, src, &err);
    reader->close(src);
    return code == CR_OK ? CR_OK : cr_diag_err(w->diag, &err);
}

static info *find(const work *w, const char *name) {
    int64_t i = cr_map_get(&w->index, name, strlen(name), -1);
    return i < 0 ? NULL : &w->v[i];
}

static bool dropped(const work *w, const char *name) {
    const info *x = find(w, name);
    return x && x->drop;
}

/* ---- features ---- */

static const char *name_of(const cr_choice *c) {
    const cr_field *row = c->m ? cr_msg_field(c->m->msg, "feature_name") : NULL;
    const char *name = NULL;
    if (row && c->conf && row->offset != CR_NO_STORE)
        memcpy(&name, (const char *)c->conf + row->offset, sizeof(name));
    return name ? name : "";
}

static cr_code set(work *w, const char *path, const char *key, const char *field,
                   const char *value) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(&b, "%s.%s.%s=%s", path, key, field, value);
    cr_code code = cr_conf_set(&w->doc, &cr_root_msg, b.data, true, w->diag);
    cr_buf_clear(&b);
    return code;
}

/* Applies what the table says about one feature. */
static cr_code edit(work *w, const char *name, const char *path, const cr_oneof_member *m) {
    info *x = find(w, name);
    const char *key = m->key;
    char text[112];
    if (!x) {
        few_add(&w->left, name);
        return CR_OK;
    }
    x->met = true;
    if (x->drop) return CR_OK;
    bool bounds = x->n_bounds >= 0;
    if ((bounds || x->hash) && !cr_msg_field(m->msg, bounds ? "boundaries" : "hash_bucket_size")) {
        cr_err err;
        snprintf(text, sizeof(text), "%s takes no %s; correct its row or its type", key,
                 bounds ? "boundary" : "hash_bucket_size");
        (void)!wrong_row(x, text, &err);
        return cr_diag_err(w->diag, &err);
    }
    snprintf(text, sizeof(text), "%lld", (long long)x->dim);
    CR_TRY(set(w, path, key, "embedding_dim", text));
    if (x->n_bounds >= 0) {
        cr_buf b;
        cr_buf_init(&b);
        cr_buf_char(&b, '[');
        for (int64_t i = 0; i < x->n_bounds; i++) {
            if (i) cr_buf_str(&b, ", ");
            cr_buf_add(&b, text, cr_fmt_f64(text, x->bounds[i]));
        }
        cr_buf_char(&b, ']');
        cr_code code = set(w, path, key, "boundaries", b.data);
        cr_buf_clear(&b);
        CR_TRY(code);
    } else if (x->hash) {
        snprintf(text, sizeof(text), "%lld", (long long)x->hash);
        CR_TRY(set(w, path, key, "hash_bucket_size", text));
    }
    CR_INFO("edited %s", name);
    w->res->n_edited++;
    return CR_OK;
}

static bool is_block(const cr_choice *c) {
    return c->m && c->m->msg == &cr_sequence_msg && c->conf;
}

static const char *full_name(work *w, const cr_sequence_conf *block, const cr_choice *c) {
    /* the template is edited as it is, without what the environment adds to a config (env.h) */
    const cr_data_conf *data = w->root->data_config;
    bool given = data && cr_conf_has(data, "use_rtp");
    const char *sep = given ? cr_group_sep(data) : cr_env_on("USE_RTP") ? "_" : "__";
    return cr_arena_printf(&w->arena, "%s%s%s", block->sequence_name, sep, name_of(c));
}

static void note_sequence(work *w, const char *name) {
    cr_map_put(&w->sequences, name, strlen(name), 1);
}

static cr_code edit_features(work *w) {
    char path[96];
    for (int64_t i = 0; i < w->root->feature_configs.n; i++) {
        const cr_choice *c = &((const cr_feature_conf *)w->root->feature_configs.v[i])->feature;
        snprintf(path, sizeof(path), "feature_configs[%lld]", (long long)i);
        if (!c->m) continue;
        if (!is_block(c)) {
            if (strncmp(c->m->key, "sequence_", 9) == 0) note_sequence(w, name_of(c));
            CR_TRY(edit(w, name_of(c), path, c->m));
            continue;
        }
        const cr_sequence_conf *block = c->conf;
        for (int64_t k = 0; k < block->features.n; k++) {
            const cr_choice *f = &((const cr_feature_conf *)block->features.v[k])->feature;
            if (!f->m) continue;
            snprintf(path, sizeof(path), "feature_configs[%lld].sequence_feature.features[%lld]",
                     (long long)i, (long long)k);
            const char *name = full_name(w, block, f);
            note_sequence(w, name);
            CR_TRY(edit(w, name, path, f->m));
        }
    }
    return CR_OK;
}

/* Reports rows and features that did not match. */
static void tell_unmatched(work *w) {
    if (w->left.n == 1)
        cr_diag_add(w->diag, CR_SEV_WARN, CR_EDATA, CR_NOWHERE,
                    "feature %s is not in the table and stays as it is", w->left.names.data);
    if (w->left.n > 1)
        cr_diag_add(w->diag, CR_SEV_WARN, CR_EDATA, CR_NOWHERE,
                    "%lld features are not in the table and stay as they are: %s",
                    (long long)w->left.n, w->left.names.data);
    few extra = {.n = 0};
    cr_buf_init(&extra.names);
    for (int64_t i = 0; i < w->n; i++)
        if (!find(w, w->v[i].name)->met) few_add(&extra, w->v[i].name);
    if (extra.n)
        cr_diag_add(w->diag, CR_SEV_WARN, CR_EDATA, (cr_loc){w->o->table, 0, 0},
                    "%s %s no feature%s of the config and nothing was done about %s; compare the "
                    "names (<sequence_name>__<feature_name> inside a sequence_feature)",
                    extra.names.data, extra.n == 1 ? "is" : "are", extra.n == 1 ? "" : "s",
                    extra.n == 1 ? "it" : "them");
    cr_buf_clear(&extra.names);
}

static void take_out(work *w, const cr_conf_node *node, const char *name) {
    if (!node || cr_tree_remove(w->doc.root, node) == 0) return;
    CR_INFO("drop feature: %s", name);
    w->res->n_dropped++;
}

static void drop_features(work *w) {
    for (int64_t i = 0; i < w->root->feature_configs.n; i++) {
        const cr_feature_conf *fc = w->root->feature_configs.v[i];
        if (!is_block(&fc->feature)) {
            const char *name = name_of(&fc->feature);
            if (dropped(w, name)) take_out(w, fc->base.node, name);
            continue;
        }
        const cr_sequence_conf *block = fc->feature.conf;
        int64_t left = 0;
        for (int64_t k = 0; k < block->features.n; k++) {
            const cr_feature_conf *f = block->features.v[k];
            const char *name = full_name(w, block, &f->feature);
            if (dropped(w, name))
                take_out(w, f->base.node, name);
            else
                left++;
        }
        if (left == 0 && block->features.n && cr_tree_remove(w->doc.root, fc->base.node))
            CR_INFO("drop sequence feature: %s", block->sequence_name);
    }
}

/* ---- groups ---- */

/* Is this one of the two spellings of a key? */
static bool is_key(const char *key, const char *snake, const char *camel) {
    return key && (strcmp(key, snake) == 0 || strcmp(key, camel) == 0);
}

typedef struct members {
    int queries, steps; /* how many features of a group are no sequences, and how many are */
} members;

static void count(const work *w, members *m, const char *name) {
    if (cr_map_get(&w->sequences, name, strlen(name), 0))
        m->steps++;
    else
        m->queries++;
}

/* Removes the dropped features from the feature_names of a group. */
static void filter_names(work *w, cr_conf_node *group, members *before, members *after) {
    size_t to = 0;
    *before = *after = (members){0, 0};
    for (size_t i = 0; i < group->n; i++) {
        cr_conf_node *v = group->v[i].val;
        bool keep = true;
        if (is_key(group->v[i].key, "feature_names", "featureNames")) {
            if (v->kind == CR_NODE_SCALAR) {
                count(w, before, v->text);
                keep = !dropped(w, v->text);
                if (keep) count(w, after, v->text);
            }
            size_t at = 0;
            for (size_t k = 0; v->kind == CR_NODE_LIST && k < v->n; k++) {
                const char *name = v->v[k].val->kind == CR_NODE_SCALAR ? v->v[k].val->text : "";
                count(w, before, name);
                if (dropped(w, name)) continue;
                count(w, after, name);
                v->v[at++] = v->v[k];
            }
            if (v->kind == CR_NODE_LIST) v->n = at;
        }
        if (keep) group->v[to++] = group->v[i];
    }
    group->n = to;
}

/* Calls fn for each item of a repeated message, however it is written; when fn returns false, the
 * item is removed. */
typedef bool (*item_fn)(work *w, cr_conf_node *item, cr_map *gone);
static void each_item(work *w, cr_conf_node *in, const char *snake, const char *camel, item_fn fn,
                      cr_map *gone) {
    size_t to = 0;
    for (size_t i = 0; i < in->n; i++) {
        cr_conf_node *v = in->v[i].val;
        bool keep = true;
        if (is_key(in->v[i].key, snake, camel)) {
            if (v->kind == CR_NODE_MAP) keep = fn(w, v, gone);
            size_t at = 0;
            for (size_t k = 0; v->kind == CR_NODE_LIST && k < v->n; k++)
                if (v->v[k].val->kind != CR_NODE_MAP || fn(w, v->v[k].val, gone))
                    v->v[at++] = v->v[k];
            if (v->kind == CR_NODE_LIST) v->n = at;
        }
        if (keep) in->v[to++] = in->v[i];
    }
    in->n = to;
}

/* A sequence group without steps, or without the features that ask for them, has nothing left to
 * do. */
static bool keep_sequence_group(work *w, cr_conf_node *group, cr_map *gone) {
    members before, after;
    filter_names(w, group, &before, &after);
    if (after.steps > 0 && (after.queries > 0 || before.queries == 0)) return true;
    const char *name = cr_conf_find_text(group, "group_name");
    CR_INFO("drop sequence group: %s", name);
    cr_map_put(gone, name, strlen(name), 1);
    return false;
}

static bool keep_encoder(work *w, cr_conf_node *item, cr_map *gone) {
    (void)w;
    for (size_t i = 0; i < item->n; i++) {
        if (item->v[i].val->kind != CR_NODE_MAP) continue;
        const char *input = cr_conf_find_text(item->v[i].val, "input");
        if (!cr_map_get(gone, input, strlen(input), 0)) continue;
        CR_INFO("drop sequence encoder: %s", input);
        return false;
    }
    return true;
}

static bool keep_group(work *w, cr_conf_node *group, cr_map *unused) {
    members before, after;
    cr_map gone;
    (void)unused;
    cr_map_init(&gone);
    filter_names(w, group, &before, &after);
    each_item(w, group, "sequence_groups", "sequenceGroups", keep_sequence_group, &gone);
    each_item(w, group, "sequence_encoders", "sequenceEncoders", keep_encoder, &gone);
    cr_map_clear(&gone);
    return true;
}

/* ---- the whole command ---- */

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

static cr_code edit_config(work *w) {
    cr_diag quiet; /* takes the complaints about what the table brings and a template may lack */
    cr_err err;
    cr_diag_init(&quiet);
    w->root = cr_conf_bind(&w->arena, &cr_root_msg, w->doc.root, &quiet);
    cr_diag_clear(&quiet);
    CR_TRY(edit_features(w));
    tell_unmatched(w);
    cr_conf_node *model = cr_conf_find(w->doc.root, "model_config");
    if (model && model->kind == CR_NODE_MAP)
        each_item(w, model, "feature_groups", "featureGroups", keep_group, NULL);
    drop_features(w);
    cr_buf out;
    cr_buf_init(&out);
    bool yaml = ends_with(w->o->output_path, ".yaml") || ends_with(w->o->output_path, ".yml");
    cr_conf_print(&out, &cr_root_msg, w->doc.root, yaml ? CR_SYNTAX_YAML : CR_SYNTAX_PBTXT);
    cr_code code = cr_file_write(w->o->output_path, out.data ? out.data : "", out.n, &err);
    cr_buf_clear(&out);
    return code == CR_OK ? CR_OK : cr_diag_err(w->diag, &err);
}

cr_code cr_add_feature_info(const cr_feature_info_opts *o, cr_feature_info_result *res,
                            cr_diag *diag) {
    work w = {.o = o, .res = res, .diag = diag};
    cr_arena_init(&w.arena, 0);
    cr_conf_doc_init(&w.doc);
    cr_map_init(&w.index);
    cr_map_init(&w.sequences);
    cr_buf_init(&w.left.names);
    cr_code code = cr_conf_load(&w.doc, o->template_path, diag);
    if (code == CR_OK) code = read_table(&w);
    if (code == CR_OK) code = edit_config(&w);
    cr_map_clear(&w.index);
    cr_map_clear(&w.sequences);
    cr_buf_clear(&w.left.names);
    cr_conf_doc_clear(&w.doc);
    cr_arena_clear(&w.arena);
    return code;
}
