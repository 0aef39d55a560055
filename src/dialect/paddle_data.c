/*
 * paddle_data.c - PaddleRec's readers: which columns there are, data_config and the features of
 * them.
 *
 * A reader of PaddleRec is Python code. The readers that it ships are known by the model they
 * belong to; slots that the config lists (sparse_slots, dense_slots) are read as its SlotReader
 * does. The label is the first sparse slot.
 *
 * A slot that a row lacks gets `padding` there, for ids the row `padding` of the table. Models
 * whose tables have a padding row (padding_idx 0) see zeros for it. So the feature of a column of
 * ids has that default value, or none at all, which gives zeros.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "dialect/paddle_int.h"

#define N_FEAT      39 /* fields of the feat_idx form */
#define MAX_DEPTH   16
#define MAX_FOLDERS 4096

static const char **numbered(cr_pd *p, const char *prefix, int n) {
    const char **v = CR_NEW_N(&p->doc->arena, const char *, n + 1);
    for (int i = 0; i < n; i++)
        v[i] = cr_arena_printf(&p->doc->arena, "%s%d", prefix, i + 1);
    return v;
}

static void one_dense(cr_pd *p, const char *name, int64_t width) {
    p->dense = CR_NEW_N(&p->doc->arena, cr_pd_dense, 1);
    p->dense[0] = (cr_pd_dense){name, width};
    p->n_dense = 1;
}

/* ---- columns ---- */

/* Starts a SlotDataset with these columns: labels, then dense slots, then ids. */
static void put_fields(cr_pd *p, const char *const *labels, int n_labels, const char *label_type) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "");
    for (int i = 0; i < n_labels; i++)
        cr_buf_printf(&b, "{input_name: %s, input_type: %s}, ", cr_pd_names(p, &labels[i], 1),
                      label_type);
    for (int i = 0; i < p->n_dense; i++)
        cr_buf_printf(&b, "{input_name: %s, input_type: ARRAY_FLOAT}, ",
                      cr_pd_names(p, &p->dense[i].name, 1));
    for (int i = 0; i < p->n_ids; i++)
        cr_buf_printf(&b, "{input_name: %s, input_type: %s}, ", cr_pd_names(p, &p->ids[i], 1),
                      p->weighted ? "MAP_INT64_FLOAT" : "ARRAY_INT64");
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [%s], "
              "input_fields: [%s]}",
              cr_pd_names(p, labels, n_labels), b.data);
    cr_buf_clear(&b);
}

/* Appends items to a list of data_config. */
static void add_fields(cr_pd *p, const char *fmt, const char *const *names, int n) {
    cr_conf_node *data = cr_conf_find(p->out, "data_config");
    cr_conf_node *list = cr_conf_find(data, "input_fields");
    for (int i = 0; i < n; i++) {
        cr_conf_node *item = cr_conf_new(p->doc, CR_NODE_MAP, p->data_at);
        cr_tree_put_str(p->doc, item, "input_name", p->data_at, names[i]);
        cr_tree_put(p->doc, item, "input_type", p->data_at,
                    cr_tree_scalar(p->doc, fmt, false, p->data_at));
        cr_conf_push(p->doc, list, NULL, p->data_at, item);
    }
}

void cr_pd_criteo(cr_pd *p) {
    static const char *const label[] = {"click"};
    p->ids = numbered(p, "", 26);
    p->n_ids = 26;
    one_dense(p, "dense_feature", 13);
    put_fields(p, label, 1, "INT64");
}

/* Ids and values of all fields in two slots: one weighted column per field. */
static void weighted_fields(cr_pd *p) {
    static const char *const label[] = {"label"}, *const slots[] = {"feat_idx", "feat_value"};
    p->ids = NULL;
    p->n_ids = 0;
    p->weighted = true;
    put_fields(p, label, 1, "INT64");
    add_fields(p, "ARRAY_INT64", &slots[0], 1);
    add_fields(p, "ARRAY_FLOAT", &slots[1], 1);
    p->ids = numbered(p, "feat_", N_FEAT);
    p->n_ids = N_FEAT;
    add_fields(p, "MAP_INT64_FLOAT", p->ids, p->n_ids);
    cr_pd_put(p, p->data_at,
              "data_config: {slot_text: {pairs: [{name: feat, ids: feat_idx, weights: "
              "feat_value}]}}");
}

void cr_pd_feat(cr_pd *p) {
    weighted_fields(p);
}

void cr_pd_places(cr_pd *p) {
    weighted_fields(p);
    cr_pd_put(p, p->data_at, "data_config: {slot_text: {form: FIXED, widths: [1, %d, %d]}}", N_FEAT,
              N_FEAT);
}

void cr_pd_census(cr_pd *p) {
    static const char *const labels[] = {"marital", "income"};
    int64_t n = cr_pd_int(p, p->hyper, "feature_size", CR_PD_REQUIRED, 1, 1000000);
    one_dense(p, "input", n);
    put_fields(p, labels, 2, "FLOAT");
    cr_pd_put(p, p->data_at,
              "data_config: {slot_text: {form: FIXED, separator: \",\", widths: [1, 1, %lld]}}",
              (long long)n);
}

void cr_pd_aliccp(cr_pd *p) {
    static const char *const labels[] = {"click", "buy"};
    static const char *const fields[] = {"101", "109_14", "110_14", "127_14", "150_14", "121",
                                         "122", "124",    "125",    "126",    "127",    "128",
                                         "129", "205",    "206",    "207",    "210",    "216",
                                         "508", "509",    "702",    "853",    "301"};
    int n = (int)(sizeof fields / sizeof *fields);
    p->ids = CR_NEW_N(&p->doc->arena, const char *, n);
    memcpy((void *)(uintptr_t)p->ids, fields, sizeof fields);
    p->n_ids = n;
    put_fields(p, labels, 2, "INT64");
    /* the shipped reader begins one token too late and drops the first pair */
    cr_pd_put(p, p->data_at,
              "data_config: {slot_text: {separator: \",\", columns: [id, click, buy%s]}}",
              p->o->compat ? ", dropped" : "");
}

void cr_pd_history(cr_pd *p) {
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: CsvDataset, fg_mode: FG_NONE, delimiter: \";\", "
              "label_fields: [label], input_fields: [{input_name: hist__item, input_type: STRING}, "
              "{input_name: hist__cat, input_type: STRING}, {input_name: item, input_type: INT64}, "
              "{input_name: cat, input_type: INT64}, {input_name: label, input_type: FLOAT}]}");
}

void cr_pd_ratings(cr_pd *p) {
    cr_pd_put(
        p, p->data_at,
        "data_config: {dataset_type: CsvDataset, fg_mode: FG_NONE, label_fields: [label], "
        "input_fields: [{input_name: user, input_type: INT64}, {input_name: item, input_type: "
        "INT64}, {input_name: label, input_type: FLOAT}]}");
}

/* Signs are numbers of 64 bits without a sign, so they are read as text and hashed. */
void cr_pd_signs(cr_pd *p) {
    static const char *const label[] = {"1"};
    int64_t n = cr_pd_int(p, p->hyper, "slot_num", CR_PD_REQUIRED, 1, 100000);
    const char **names = numbered(p, "", (int)n + 1);
    put_fields(p, label, 1, "INT64");
    p->ids = names + 1;
    p->n_ids = (int)n;
    add_fields(p, "ARRAY_STRING", p->ids, p->n_ids);
    cr_pd_put(p, p->data_at, "data_config: {fg_mode: FG_NORMAL, slot_text: {form: VALUE_SLOT}}");
}

/* ---- slots that the config lists ---- */

/* Splits a text at blanks; returns the number of words. */
static int words(cr_pd *p, const char *text, const char ***out) {
    int n = 0;
    *out = CR_NEW_N(&p->doc->arena, const char *, strlen(text) / 2 + 1);
    for (const char *s = text, *end; *s; s = end) {
        s += strspn(s, " \t");
        end = s + strcspn(s, " \t");
        if (end > s) (*out)[n++] = cr_arena_strndup(&p->doc->arena, s, (size_t)(end - s));
    }
    return n;
}

/* Reads name:13 or name:[3,4]. */
static bool dense_slot(cr_pd *p, const char *word, cr_pd_dense *out) {
    const char *colon = strchr(word, ':');
    if (!colon || colon == word || !strpbrk(colon, "0123456789")) return false;
    out->name = cr_arena_strndup(&p->doc->arena, word, (size_t)(colon - word));
    out->width = 1;
    for (const char *s = colon + 1; *s;) {
        char *end;
        if (*s == '[' || *s == ']' || *s == ',') {
            s++;
            continue;
        }
        long k = strtol(s, &end, 10);
        if (end == s || k < 1 || k > 1000000 || out->width > 1000000 / k) return false;
        out->width *= k;
        s = end;
    }
    return true;
}

/* The slots of the dataset. Returns false when it lists none. */
static bool listed_slots(cr_pd *p) {
    const char *sparse = cr_pd_str(p, p->dataset, "sparse_slots", false);
    const char *dense = cr_pd_str(p, p->dataset, "dense_slots", false);
    if (!sparse && !dense) return false;
    cr_loc at = cr_pd_at(p, p->dataset, "dense_slots");
    const char **names, **ids;
    int n_ids = words(p, sparse ? sparse : "", &ids), n = words(p, dense ? dense : "", &names);
    p->dense = CR_NEW_N(&p->doc->arena, cr_pd_dense, n + 1);
    for (int i = 0; i < n; i++)
        if (!dense_slot(p, names[i], &p->dense[i])) {
            cr_pd_wrong(p, at, "dense_slots: '%.60s' is not name:width, such as dense_var:13",
                        names[i]);
            p->dense[i] = (cr_pd_dense){names[i], 1};
            p->width_unknown = true;
        }
    p->n_dense = n;
    if (n_ids == 0) {
        cr_pd_wrong(p, cr_pd_at(p, p->dataset, "sparse_slots"),
                    "sparse_slots names no slot; the first one is the label");
        p->no_columns = true;
        return true;
    }
    bool feats = n_ids == 2 && n == 1 && strcmp(ids[1], "feat_idx") == 0 &&
                 p->dense[0].width == N_FEAT && strcmp(p->dense[0].name, "feat_value") == 0;
    if (feats) {
        p->n_dense = 0;
        weighted_fields(p);
        return true;
    }
    if (n_ids == 1 && p->model->build != cr_pd_wide_deep && p->model->build != cr_pd_dnn) {
        cr_pd_wrong(p, cr_pd_at(p, p->dataset, "sparse_slots"),
                    "sparse_slots names '%s' alone, which is the label; add the slots of ids that "
                    "the model reads",
                    ids[0]);
        p->no_columns = true;
    }
    p->ids = ids + 1;
    p->n_ids = n_ids - 1;
    put_fields(p, ids, 1, "INT64");
    return true;
}

/* ---- paths ---- */

/* Appends the files below a folder, or with `folders` the folders that hold files. */
static void collect(cr_pd *p, const char *dir, bool deep, bool folders, int depth, cr_buf *out) {
    char **names;
    size_t n;
    cr_err err;
    bool files = false;
    if (depth > MAX_DEPTH) return;
    if (cr_list_dir(&p->doc->arena, dir, &names, &n, &err) != CR_OK) {
        cr_pd_wrong(p, err.at, "%s", err.msg);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] == '.') continue; /* PaddleRec leaves hidden files out, too */
        const char *path = cr_path_join(&p->doc->arena, dir, names[i]);
        if (cr_path_is_dir(path)) {
            if (deep) collect(p, path, deep, folders, depth + 1, out);
        } else if (folders && !files) {
            cr_buf_printf(out, "%s%s", out->n ? "," : "", dir);
            files = true;
        } else if (!folders) {
            cr_buf_printf(out, "%s%s", out->n ? "," : "", path);
        }
    }
}

const char *cr_pd_remote(cr_pd *p, const char *dir, cr_loc at) {
    const char *fs = cr_pd_str(p, p->runner, "fs_name", false);
    const char *ugi = cr_pd_str(p, p->runner, "fs_ugi", false);
    if (strncmp(dir, "afs:", 4) == 0) {
        cr_pd_wrong(p, at,
                    "'%s' lies in AFS, which has no public interface; copy it with its own client, "
                    "or let the platform mount it, and name that folder",
                    dir);
        return NULL;
    }
    if (strncmp(dir, "hdfs:/", 6) != 0) return dir;
    /* the name of fs_ugi; its password is of no use, because HDFS has none */
    const char *user = getenv("HADOOP_USER_NAME");
    if (ugi && strchr(ugi, ',') && (!user || !*user))
        (void)setenv("HADOOP_USER_NAME", cr_arena_strndup(&p->doc->arena, ugi, strcspn(ugi, ",")),
                     1);
    const char *path = dir + strlen("hdfs:");
    if (path[1] == '/' && path[2] != '/') return dir; /* it names its file system itself */
    while (path[1] == '/')
        path++;
    if (!fs || strncmp(fs, "hdfs://", 7) != 0) return dir; /* that of Hadoop's files */
    size_t n = strlen(fs);
    while (n > 7 && fs[n - 1] == '/')
        n--;
    return cr_arena_printf(&p->doc->arena, "%.*s%s", (int)n, fs, path);
}

static void put_path(cr_pd *p, const char *key, const char *dir, cr_loc at) {
    cr_buf b;
    dir = cr_pd_remote(p, dir, at);
    if (!dir) return;
    cr_buf_init(&b);
    cr_buf_str(&b, "");
    const cr_conf_node *data = cr_conf_find(p->out, "data_config");
    bool slots = strcmp(cr_conf_find_text(data, "dataset_type"), "SlotDataset") == 0;
    if (strncmp(dir, "paddlerec::", 11) == 0)
        cr_pd_wrong(p, at,
                    "'%s' lies in the Python package of PaddleRec; write the path of the "
                    "folder",
                    dir);
    else if (strchr(dir, ','))
        cr_pd_wrong(p, at, "the name of the folder '%s' has a comma; rename it", dir);
    else if (!cr_path_is_dir(dir) && p->o->elsewhere)
        cr_pd_put(p, at, "%s: %s", key, cr_pd_names(p, &dir, 1));
    else if (!cr_path_is_dir(dir))
        cr_pd_wrong(p, at, "'%s' is not a folder; name the folder of the data files", dir);
    else {
        size_t errors = p->diag->n_errors;
        collect(p, dir, p->old, slots, 0, &b);
        if (b.n == 0 && p->diag->n_errors == errors)
            cr_pd_wrong(p, at, "the folder '%s' holds no files; name the folder of the data files",
                        dir);
        const char *list = b.data;
        cr_pd_put(p, at, "%s: %s", key, cr_pd_names(p, &list, 1));
    }
    cr_buf_clear(&b);
}

/* The folder of the data, or that of the rows which crank run makes of it. */
static void put_rows(cr_pd *p, bool infer, const char *key, const char *dir, cr_loc at) {
    cr_paddle_rows r = p->old ? cr_pd_old_rows(p, p->runner, p->dataset) : cr_pd_rows(p, infer);
    if (r.kind == CR_ROWS_AS_THEY_ARE)
        put_path(p, key, dir, at);
    else if ((r.kind == CR_ROWS_TASKS || r.kind == CR_ROWS_PICTURES) && infer &&
             cr_path_is_dir(r.dir))
        cr_pd_put(p, at, "%s: %s", key, cr_pd_names(p, &r.dir, 1));
    else if (cr_path_is_dir(r.dir))
        put_path(p, key, r.dir, at);
    else if (infer && p->o->part != CR_DIALECT_INFER)
        return; /* a training needs none */
    else
        cr_pd_wrong(p, at, "%s, which lie in '%s' and are not there; 'crank run -m%s' makes them",
                    r.kind == CR_ROWS_SESSIONS ? "the log of users is read as sessions"
                    : r.kind == CR_ROWS_LISTS  ? "the model reads lists that are drawn"
                                               : "the data is read as rows of one file",
                    r.dir, infer && !p->old ? " ... --infer" : "");
}

/* As shipped, an evaluation drops its last batch, too. */
static const char *shipped_eval(const cr_pd *p) {
    return p->o->compat && !p->sessions ? ", eval_drop_remainder: true" : "";
}

static void old_data(cr_pd *p) {
    cr_pd_map d = p->dataset;
    const char *type = cr_pd_str(p, d, "type", true), *dir = cr_pd_str(p, d, "data_path", true);
    if (*type && strcmp(type, "DataLoader") != 0 && strcmp(type, "QueueDataset") != 0)
        cr_pd_wrong(p, cr_pd_at(p, d, "type"),
                    "type is '%.40s' and must be DataLoader or QueueDataset", type);
    int64_t batch = cr_pd_int(p, d, "batch_size", CR_PD_REQUIRED, 1, 1000000000);
    int64_t scale = cr_pd_int(p, p->phase, "gradient_scale_strategy", 0, 0, 2);
    if (scale != 0 && p->replicas > 1)
        cr_pd_wrong(p, cr_pd_at(p, p->phase, "gradient_scale_strategy"),
                    "gradients of %lld replicas are averaged here, which is strategy 0; remove the "
                    "key, and raise the learning rate instead",
                    (long long)p->replicas);
    if (cr_pd_bool(p, p->phase, "shuffle_filelist", false))
        cr_pd_put(p, cr_pd_at(p, p->phase, "shuffle_filelist"), "data_config: {shuffle: true}");
    cr_pd_idle(p, p->phase, "model");
    cr_pd_idle(p, d, "reader_class_name");
    cr_pd_idle(p, d, "data_converter");
    const char *padding = cr_pd_str(p, d, "padding", false);
    if (padding) p->padding = padding;
    bool infers = cr_pd_infers(cr_conf_find_text(p->runner.map, "class"));
    p->batch = p->merges ? batch * p->replicas : batch;
    if (p->rows_per_line > 1) p->batch *= p->rows_per_line;
    cr_pd_put(p, cr_pd_at(p, d, "batch_size"),
              "data_config: {batch_size: %lld, drop_remainder: %s%s}", (long long)p->batch,
              p->sessions ? "false" : "true", shipped_eval(p));
    if (*dir)
        put_rows(p, infers, infers ? "eval_input_path" : "train_input_path", dir,
                 cr_pd_at(p, d, "data_path"));
}

static void new_data(cr_pd *p) {
    const char *dir = cr_path_dir(&p->doc->arena, p->path);
    bool train = p->o->part != CR_DIALECT_INFER, infer = p->o->part != CR_DIALECT_TRAIN;
    const char *key = p->batch_key ? p->batch_key : "train_batch_size";
    int64_t batch =
        cr_pd_int(p, p->runner, key, train && !p->batch_key && !p->fixed_batch ? CR_PD_REQUIRED : 1,
                  1, 1000000000);
    const char *data = cr_pd_str(p, p->runner, "train_data_dir", train);
    const char *test = cr_pd_str(p, p->runner, "test_data_dir", p->o->part == CR_DIALECT_INFER);
    int64_t eval = cr_pd_int(p, p->runner, "infer_batch_size", batch, 1, 1000000000);
    if (p->rows_per_line > 1) batch *= p->rows_per_line;
    if (p->rows_per_line > 1) eval *= p->rows_per_line;
    if (p->fixed_batch) batch = p->fixed_batch;
    if (p->fixed_eval) eval = p->fixed_eval;
    p->batch = batch;
    cr_pd_put(p, cr_pd_at(p, p->runner, key),
              "data_config: {batch_size: %lld, eval_batch_size: %lld, drop_remainder: %s%s}",
              (long long)batch, (long long)eval, p->sessions ? "false" : "true", shipped_eval(p));
    if (train && data && *data && !cr_pd_online(p))
        put_rows(p, false, "train_input_path", cr_path_join(&p->doc->arena, dir, data),
                 cr_pd_at(p, p->runner, "train_data_dir"));
    if (p->apart && train) return; /* the lines of the evaluation have other columns */
    if (infer && test && *test)
        put_rows(p, true, "eval_input_path", cr_path_join(&p->doc->arena, dir, test),
                 cr_pd_at(p, p->runner, "test_data_dir"));
}

void cr_pd_data(cr_pd *p) {
    p->padding = "0";
    p->data_at = p->dataset.map->at;
    /* the first slot of these is not the label */
    bool own = p->model->reader == cr_pd_titles || p->model->reader == cr_pd_movies;
    if (own) {
        cr_pd_idle(p, p->dataset, "sparse_slots");
        cr_pd_idle(p, p->dataset, "dense_slots");
    }
    if (!p->old || own || !listed_slots(p)) {
        if (p->model->reader == cr_pd_criteo && p->old)
            cr_pd_wrong(p, p->data_at,
                        "the dataset lists no slots; add sparse_slots and "
                        "dense_slots, or name the model's own reader");
        p->model->reader(p);
    }
    if (p->old)
        old_data(p);
    else
        new_data(p);
}

/* ---- features ---- */

void cr_pd_id_features(cr_pd *p, int64_t rows, int64_t dim, const char *init, bool pads) {
    /* a weighted id of a missing slot has no weight, so there is no default */
    const char *def =
        pads || p->weighted
            ? ""
            : cr_arena_printf(&p->doc->arena, ", fg_encoded_default_value: \"%s\"", p->padding);
    for (int i = 0; i < p->n_ids; i++)
        cr_pd_feature(p, p->data_at,
                      "id_feature: {feature_name: %s, num_buckets: %lld, embedding_dim: %lld, "
                      "embedding_name: SparseFeatFactors, init_fn: \"%s\"%s%s}",
                      cr_pd_names(p, &p->ids[i], 1), (long long)rows, (long long)dim, init,
                      p->weighted ? ", weighted: true" : "", def);
}

void cr_pd_dense_features(cr_pd *p) {
    for (int i = 0; i < p->n_dense; i++)
        cr_pd_feature(
            p, p->data_at,
            "raw_feature: {feature_name: %s, value_dim: %lld, fg_encoded_default_value: \"0\"}",
            cr_pd_names(p, &p->dense[i].name, 1), (long long)p->dense[i].width);
}

const char *cr_pd_number_features(cr_pd *p, int64_t dim) {
    const char *all = "";
    cr_buf pairs;
    cr_buf_init(&pairs);
    cr_buf_str(&pairs, "");
    for (int d = 0; d < p->n_dense; d++) {
        const char *slot = p->dense[d].name;
        cr_buf_printf(&pairs, "%s{name: %s, weights: %s}", d ? ", " : "", cr_pd_names(p, &slot, 1),
                      cr_pd_names(p, &slot, 1));
        const char **names =
            numbered(p, cr_arena_printf(&p->doc->arena, "%s_", slot), (int)p->dense[d].width);
        add_fields(p, "FLOAT", names, (int)p->dense[d].width);
        const char *vector =
            dim ? cr_arena_printf(&p->doc->arena, ", embedding_dim: %lld, mlp: {}", (long long)dim)
                : "";
        for (int64_t i = 0; i < p->dense[d].width; i++)
            cr_pd_feature(p, p->data_at,
                          "raw_feature: {feature_name: %s%s, fg_encoded_default_value: \"0\"}",
                          cr_pd_names(p, &names[i], 1), vector);
        all = cr_arena_printf(&p->doc->arena, "%s, %s", all,
                              cr_pd_names(p, names, (int)p->dense[d].width));
    }
    if (p->n_dense) cr_pd_put(p, p->data_at, "data_config: {slot_text: {pairs: [%s]}}", pairs.data);
    cr_buf_clear(&pairs);
    return all;
}

const char *cr_pd_id_names(cr_pd *p) {
    return cr_pd_names(p, p->ids, p->n_ids);
}

const char *cr_pd_dense_names(cr_pd *p) {
    const char **names = CR_NEW_N(&p->doc->arena, const char *, p->n_dense + 1);
    for (int i = 0; i < p->n_dense; i++)
        names[i] = p->dense[i].name;
    return cr_pd_names(p, names, p->n_dense);
}

const char *cr_pd_both(cr_pd *p, const char *a, const char *b) {
    return cr_arena_printf(&p->doc->arena, "%s%s%s", a, *a && *b ? ", " : "", b);
}

const char *cr_pd_all_names(cr_pd *p) {
    return cr_pd_both(p, cr_pd_id_names(p), cr_pd_dense_names(p));
}
