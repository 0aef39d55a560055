/*
 * fg_json.c - `crank create_fg_json`: fg.json of a config, with the files it names beside it.
 *
 * The text is that of an export's fg.json, indented. Keys have a fixed order, so the same config
 * gives the same bytes.
 */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "job/job.h"
#include "tool/tool.h"

/* Is this a key that makes ids of values? TorchEasyRec removes these keys; default_bucketize_value
 * stays. vocab_file means something else in a tokenize_feature. */
static bool is_bucketizer(const cr_json *obj, const char *key) {
    static const char *const keys[] = {"hash_bucket_size", "vocab_list", "vocab_dict", "boundaries",
                                       "num_buckets"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return strcmp(key, "vocab_file") == 0 && !cr_json_get(obj, "tokenizer_type");
}

static void line(cr_buf *b, int depth) {
    cr_buf_char(b, '\n');
    for (int i = 0; i < 4 * depth; i++)
        cr_buf_char(b, ' ');
}

static void put(cr_buf *b, const cr_json *j, int depth, bool remove) {
    char text[32];
    const char *s = cr_json_str(j), *key;
    const cr_json *val;
    int64_t i64;
    double f64;
    bool flag, obj = cr_json_is_obj(j), some = false;
    if (s) {
        cr_json_escape(b, s, strlen(s));
    } else if (cr_json_i64(j, &i64)) {
        cr_buf_i64(b, i64);
    } else if (cr_json_f64(j, &f64)) {
        cr_buf_add(b, text, cr_fmt_f64(text, f64));
    } else if (cr_json_bool(j, &flag)) {
        cr_buf_str(b, flag ? "true" : "false");
    } else if (!obj && !cr_json_is_arr(j)) {
        cr_buf_str(b, "null");
    } else {
        cr_buf_char(b, obj ? '{' : '[');
        void *it = NULL;
        for (size_t i = 0; obj ? cr_json_next(j, &it, &key, &val) : i < cr_json_len(j); i++) {
            if (obj && remove && is_bucketizer(j, key)) continue;
            if (some) cr_buf_char(b, ',');
            some = true;
            line(b, depth + 1);
            if (obj) {
                cr_json_escape(b, key, strlen(key));
                cr_buf_str(b, ": ");
            }
            put(b, obj ? val : cr_json_at(j, i), depth + 1, remove);
        }
        if (some) line(b, depth);
        cr_buf_char(b, obj ? '}' : ']');
    }
}

/* Adds "reserves" behind the features. */
static void add_reserves(cr_buf *b, const char *list, cr_arena *arena) {
    char **names;
    int n = cr_split_list(arena, list, &names);
    b->n -= 2; /* removes " }" */
    cr_buf_str(b, ",\n    \"reserves\": [");
    for (int i = 0; i < n; i++) {
        if (i) cr_buf_char(b, ',');
        line(b, 2);
        cr_json_escape(b, names[i], strlen(names[i]));
    }
    if (n) line(b, 1);
    cr_buf_str(b, "]\n}");
}

static cr_code write_all(const cr_fg_json_opts *o, const cr_features *fs, cr_arena *arena,
                         cr_err *err) {
    cr_buf plain, out;
    cr_json *root = NULL;
    CR_TRY(cr_mkdirs(o->fg_output_dir, err));
    CR_TRY(cr_copy_assets(fs, o->fg_output_dir, arena, err));
    cr_buf_init(&plain);
    cr_buf_init(&out);
    cr_features_fg_json(fs, &plain);
    cr_code code = cr_json_parse(&root, plain.data, plain.n, err);
    if (code == CR_OK) {
        put(&out, root, 0, o->remove_bucketizer);
        if (o->reserves && *o->reserves) add_reserves(&out, o->reserves, arena);
        cr_buf_char(&out, '\n');
        code =
            cr_file_write(cr_path_join(arena, o->fg_output_dir, "fg.json"), out.data, out.n, err);
    }
    cr_json_free(root);
    cr_buf_clear(&plain);
    cr_buf_clear(&out);
    return code;
}

/* Is dataset_type one that a later version will read? A misspelled one stays a mistake. */
static bool is_later_type(const cr_data_conf *data) {
    const cr_conf_node *n = cr_conf_find(data->base.node, "dataset_type");
    for (const cr_enum_value *v = cr_dataset_types; n && n->text && v->name; v++)
        if (v->instead && strcmp(v->name, n->text) == 0) return true;
    return false;
}

/* fg.json says nothing about data sets, so a config is fine even if its rows and checkpoints lie in
 * a store that crank does not read. */
static void without_data(cr_config_opts *c, cr_arena *arena) {
    cr_config first;
    cr_diag unheard;
    c->train_input_path = c->eval_input_path = c->model_dir = c->fine_tune_checkpoint = "";
    cr_diag_init(&unheard);
    (void)!cr_config_load(&first, c, &unheard); /* the second reading reports the mistakes */
    const cr_data_conf *data = first.root ? first.root->data_config : NULL;
    if (data && data->base.node && is_later_type(data)) {
        const char **set = CR_NEW_N(arena, const char *, c->n_set + 1);
        if (c->n_set) memcpy(set, c->set, (size_t)c->n_set * sizeof *set);
        set[c->n_set++] = "data_config.dataset_type=ParquetDataset";
        c->set = set;
    }
    cr_config_clear(&first);
    cr_diag_clear(&unheard);
}

cr_code cr_create_fg_json(const cr_fg_json_opts *o, int *n_features, cr_diag *diag) {
    cr_config cfg;
    cr_err err;
    cr_config_opts c = o->config;
    char path[1200];
    cr_arena arena;
    cr_arena_init(&arena, 0);
    cr_config_of_dir(&c, path);
    without_data(&c, &arena);
    cr_code code = cr_config_load(&cfg, &c, diag);
    if (code == CR_OK) {
        cr_features *fs = cr_features_new(&cfg.arena, &cfg.root->feature_configs,
                                          cfg.root->data_config, false, NULL, 0, diag);
        code = cr_diag_code(diag);
        if (fs && code == CR_OK) {
            *n_features = fs->n;
            code = write_all(o, fs, &cfg.arena, &err);
            if (code != CR_OK) cr_diag_err(diag, &err);
        }
    }
    cr_config_clear(&cfg);
    cr_arena_clear(&arena);
    return code;
}
