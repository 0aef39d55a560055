/*
 * export.c - writes one self-contained directory to ship: config, weights, fg.json, vocabularies, a
 * schema of inputs and outputs. Everything is written into a hidden directory beside it, which is
 * then renamed, so the export is either whole or absent.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "conf/conf.h"
#include "job/job.h"
#include "run/run.h"

static void use_asset(cr_conf_doc *doc, cr_conf_node *feature, const char *name, void *ctx) {
    const cr_job *j = ctx;
    const cr_feature *f = cr_features_find(j->features, name);
    if (!f || f->n_assets == 0) return;
    for (int i = 0; i < f->n_assets; i++) {
        /* text_normalizer.stop_char_file lies one level deeper */
        const char *field = f->assets[i].field, *dot = strchr(field, '.');
        cr_conf_node *map = feature;
        if (dot)
            map =
                cr_conf_find(feature, cr_arena_strndup(&doc->arena, field, (size_t)(dot - field)));
        if (map && map->kind == CR_NODE_MAP)
            cr_tree_put_str(doc, map, dot ? dot + 1 : field, map->at, f->assets[i].name);
    }
    cr_tree_put_str(doc, feature, "asset_dir", feature->at, "");
}

/* Writes pipeline.config of the export, which names vocabularies as they lie in the export. The
 * config is first printed and read again, so that keys have one spelling (JSON: vocabFile) and no
 * message comes in several parts, as protobuf text allows. */
static cr_code own_config(cr_job *j, cr_buf *out, cr_err *err) {
    cr_conf_doc doc;
    cr_diag diag;
    cr_conf_doc_init(&doc);
    cr_diag_init(&diag);
    cr_conf_print(out, &cr_root_msg, j->cfg.doc.root, CR_SYNTAX_PBTXT);
    cr_code code =
        cr_conf_parse(&doc, CR_SYNTAX_PBTXT, "pipeline.config", out->data, out->n, &diag);
    if (code == CR_OK) {
        cr_each_asset(&doc, cr_group_sep(j->root->data_config), use_asset, j);
        cr_libs_from(&doc, "");
        cr_buf_reset(out);
        cr_conf_print(out, &cr_root_msg, doc.root, CR_SYNTAX_PBTXT);
    } else {
        (void)cr_diag_first(&diag, err);
    }
    cr_diag_clear(&diag);
    cr_conf_doc_clear(&doc);
    return code;
}

static cr_code write_text(const char *dir, const char *name, const cr_buf *b, cr_err *err) {
    char path[2048];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return cr_file_write(path, b->data, b->n, err);
}

/* ---- the type of table rows ---- */

#define INT8_MIN_DIM 3 /* with scale and offset, narrower rows would be larger than in FP32 */

typedef struct emb_type {
    const char *name;
    cr_dtype dtype;
    bool int8_rows;
} emb_type;
static const emb_type emb_types[] = {{"FP32", CR_DT_F32, false}, /* the default: as trained */
                                     {"FP16", CR_DT_F16, false},
                                     {"BF16", CR_DT_BF16, false},
                                     {"INT8", CR_DT_U8, true}};
enum { N_EMB_TYPES = sizeof emb_types / sizeof *emb_types };

/* Returns NULL for an unknown name. */
static const emb_type *find_emb_type(const char *name) {
    if (!name || !*name) return emb_types;
    for (int i = 0; i < N_EMB_TYPES; i++)
        if (strcasecmp(emb_types[i].name, name) == 0) return &emb_types[i];
    return NULL;
}

static void set_emb_type(const cr_job *j, cr_ckpt_tensor *v, int n, const emb_type *type) {
    if (type == emb_types) return; /* each table keeps the type it was trained in */
    for (int i = 0; i < j->model->n_tables; i++)
        for (int k = 0; k < n; k++) {
            if (strcmp(v[k].name, j->model->tables[i]->table.name) != 0) continue;
            if (!type->int8_rows)
                v[k].dtype = type->dtype;
            else
                v[k].int8_rows = v[k].shape[1] >= INT8_MIN_DIM;
        }
}

static void schema(const cr_job *j, const emb_type *type, cr_buf *out) {
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_jw_i64(&w, "format", 1);
    cr_jw_str(&w, "crank", CR_VERSION);
    cr_jw_str(&w, "model", j->root->model_config->model.m->key);
    cr_jw_str(&w, "embedding_dtype", type->name);
    cr_jw_arr(&w, "inputs");
    for (int i = 0; i < j->features->n_want; i++) {
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "name", j->features->want[i].name);
        cr_jw_str(&w, "for", j->features->want[i].why);
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_arr(&w, "outputs");
    for (int i = 0; i < j->model->n_outputs; i++) {
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "name", j->model->outputs[i].name);
        cr_jw_str(&w, "type", "float32");
        cr_jw_i64(&w, "width", j->model->outputs[i].node->width);
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_buf_char(out, '\n');
}

/* Writes model_acc.json: the user's object, with TorchEasyRec's name of the type in front. */
static void acc_json(const cr_export_opts *o, const emb_type *type, cr_buf *out) {
    const char *more = o->additional_export_config && *o->additional_export_config
                           ? o->additional_export_config
                           : "{}";
    if (type != emb_types) {
        more += strspn(more, " \t\r\n{"); /* check_flags has made sure that it is an object */
        cr_buf_printf(out, "{\"QUANT_EMB\": \"%s\"%s", type->name, *more == '}' ? "" : ", ");
    }
    cr_buf_printf(out, "%s\n", more);
}

/* Copies the user's extra files. They come last, so that they cannot replace the export's own. */
static cr_code copy_assets(cr_job *j, const cr_export_opts *o, const char *dir, cr_err *err) {
    cr_arena *a = &j->cfg.arena;
    if (!o->asset_files || !*o->asset_files) return CR_OK;
    char **files;
    int n = cr_split_list(a, o->asset_files, &files);
    for (int i = 0; i < n; i++) {
        const char *p = files[i], *to = cr_path_join(a, dir, cr_path_base(p));
        if (cr_path_exists(to))
            return cr_fail(err, CR_EUSAGE,
                           "--asset_files: an export has a file '%s' already; rename '%s'",
                           cr_path_base(p), p);
        CR_TRY(cr_file_copy(p, to, err));
    }
    return CR_OK;
}

static cr_code fill(cr_job *j, const cr_export_opts *o, const char *dir, cr_err *err) {
    cr_buf b;
    cr_buf_init(&b);
    int n;
    const emb_type *type = find_emb_type(o->embedding_dtype);
    cr_ckpt_tensor *v = cr_job_tensors(j, NULL, &j->cfg.arena, &n);
    set_emb_type(j, v, n, type);
    cr_ckpt_save_opts so = {.whole = true,
                            .features = cr_job_meaning(j, &j->cfg.arena),
                            .manifest = cr_manifest_new()};
    cr_code code = cr_ckpt_write_tensors(dir, v, n, &so, err);
    if (code == CR_OK) code = cr_copy_assets(j->features, dir, &j->cfg.arena, err);
    if (code == CR_OK) code = cr_libs_copy(&j->cfg.doc, dir, err);
    if (code == CR_OK) {
        code = own_config(j, &b, err);
        if (code == CR_OK) code = write_text(dir, "pipeline.config", &b, err);
    }
    if (code == CR_OK) {
        cr_buf_reset(&b);
        cr_features_fg_json(j->features, &b);
        code = write_text(dir, "fg.json", &b, err);
    }
    if (code == CR_OK) {
        cr_buf_reset(&b);
        schema(j, type, &b);
        code = write_text(dir, "schema.json", &b, err);
    }
    if (code == CR_OK) {
        cr_buf_reset(&b);
        acc_json(o, type, &b);
        code = write_text(dir, "model_acc.json", &b, err);
    }
    if (code == CR_OK) code = copy_assets(j, o, dir, err);
    if (code == CR_OK) code = cr_manifest_add_dir(so.manifest, dir, err);
    if (code == CR_OK) code = cr_manifest_write(so.manifest, dir, err);
    cr_manifest_free(so.manifest);
    cr_buf_clear(&b);
    return code;
}

static bool is_in(const char *dir, const char *name) {
    char path[1300];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return cr_path_exists(path);
}

cr_code cr_export_look(const char *dir, bool *is_export, cr_err *err) {
    bool index = is_in(dir, "index.json"), schema = is_in(dir, "schema.json");
    *is_export = index && schema;
    if (*is_export || is_in(dir, "state.json") || !is_in(dir, "fg.json")) return CR_OK;
    return cr_fail(err, CR_EIO,
                   "%s/%s: the file is missing; the folder is damaged: copy the export again, or "
                   "make it again with crank export",
                   dir, index ? "schema.json" : "index.json");
}

/* Checks before the work that the folder can be made. It makes nothing. */
static cr_code check_place(const char *dir, cr_err *err) {
    cr_arena a;
    cr_err why;
    cr_code code = CR_OK;
    cr_arena_init(&a, 0);
    const char *above = dir, *next;
    while (!cr_path_exists(above) && strcmp(next = cr_path_dir(&a, above), above) != 0)
        above = next;
    /* the name stands for the folder that will be made there */
    if (cr_store_can(dir, CR_FS_LOCAL) &&
        cr_can_write(cr_path_join(&a, above, ".crank-export"), &why) != CR_OK)
        code = cr_fail_at(err, CR_EIO, ((cr_loc){dir, 0, 0}), "%s; or choose another --export_dir",
                          why.msg);
    cr_arena_clear(&a);
    return code;
}

/* Finds mistakes in the flags, before anything is read. */
static cr_code check_flags(const cr_export_opts *o, cr_err *err) {
    if (!o->export_dir || !*o->export_dir)
        return cr_fail(err, CR_EUSAGE,
                       "--export_dir is missing; name a directory that does not exist yet");
    if (cr_path_exists(o->export_dir))
        return cr_fail(err, CR_EUSAGE,
                       "%s exists already; choose another --export_dir or remove it",
                       o->export_dir);
    CR_TRY(check_place(o->export_dir, err));
    if (!find_emb_type(o->embedding_dtype))
        return cr_fail(err, CR_EUSAGE,
                       "embedding_dtype '%s' is not known; use FP32, FP16, BF16 or INT8",
                       o->embedding_dtype);
    if (o->additional_export_config && *o->additional_export_config) {
        cr_json *js;
        cr_err why;
        if (cr_json_parse(&js, o->additional_export_config, strlen(o->additional_export_config),
                          &why) != CR_OK)
            return cr_fail(err, CR_EUSAGE, "--additional_export_config: %s", why.msg);
        bool obj = cr_json_is_obj(js);
        cr_json_free(js);
        if (!obj)
            return cr_fail(
                err, CR_EUSAGE,
                "--additional_export_config must be a JSON object, e.g. {\"key\": \"value\"}");
    }
    return CR_OK;
}

/* A config from an unknown source can name any file of the user as a vocabulary. Files that are
 * copied from outside of the working folder and of the config's folder are reported, even with
 * --quiet. */
static void note_foreign(const cr_job *j, const char *config, cr_diag *diag) {
    const char *base = cr_path_base(config);
    char dir[1200];
    snprintf(dir, sizeof(dir), "%.*s", (int)(base - config), config);
    for (int i = 0; i < j->features->n; i++) {
        const cr_feature *f = j->features->v[i];
        for (int k = 0; k < f->n_assets; k++)
            if (!cr_path_below(".", f->assets[k].path) && !cr_path_below(dir, f->assets[k].path))
                cr_diag_add(
                    diag, CR_SEV_NOTE, CR_OK, CR_NOWHERE,
                    "the export holds a copy of '%s', the %s of feature '%s', as '%s'; make "
                    "sure that others may have it",
                    f->assets[k].path, f->assets[k].field, f->name, f->assets[k].name);
    }
}

cr_code cr_export(const cr_export_opts *o, char *checkpoint, cr_diag *diag) {
    cr_job j;
    memset(&j, 0, sizeof(j));
    cr_err err;
    char *path = NULL;
    int64_t step;
    if (check_flags(o, &err) != CR_OK) return cr_diag_err(diag, &err);
    cr_job_opts jo = {.config = &o->config, .threads = o->threads};
    cr_code code = cr_job_open(&j, &jo, diag);
    if (code == CR_OK &&
        (cr_job_checkpoint(&j, o->checkpoint_path, true, &path, &step, &err) != CR_OK ||
         cr_job_alloc(&j, &err) != CR_OK))
        code = cr_diag_err(diag, &err);
    if (code == CR_OK) {
        snprintf(checkpoint, 1088, "%s", path);
        CR_INFO("Restoring checkpoint from %s...", path);
        code = cr_job_load_weights(&j, path, diag);
    }
    if (code == CR_OK) {
        cr_outdir *d;
        if ((code = cr_outdir_open(&d, o->export_dir, &err)) == CR_OK) {
            if ((code = fill(&j, o, cr_outdir_tmp(d), &err)) == CR_OK)
                code = cr_outdir_commit(d, &err);
            else
                cr_outdir_abort(d);
        }
        if (code == CR_OK) {
            note_foreign(&j, o->config.path, diag);
            CR_INFO("Exported to %s", o->export_dir);
        } else {
            cr_diag_err(diag, &err);
        }
    }
    cr_job_close(&j);
    return code;
}
