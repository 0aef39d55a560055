/*
 * export.c - writes one self-contained directory to ship: config, weights, fg.json, vocabularies, a
 * schema of inputs and outputs. Everything is written into a hidden directory beside it, which is
 * then renamed, so the export is either whole or absent.
 *
 * Tables never come into memory: their rows go from the files of the checkpoint to those of the
 * export. Several ranks share these files; the first one writes all others.
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

typedef struct exporting {
    const cr_export_opts *o;
    cr_diag *diag;
    cr_job j;
    cr_outdir *dir;  /* only the first rank has it; NULL: it is not open */
    const char *tmp; /* where all ranks write */
} exporting;

/* Collective: writes the weights, and adds their files to m. */
static cr_code write_weights(exporting *e, cr_manifest *m, cr_err *err) {
    cr_job *j = &e->j;
    int n;
    cr_ckpt_tensor *v = cr_job_tensors(j, NULL, &j->cfg.arena, &n);
    set_emb_type(j, v, n, find_emb_type(e->o->embedding_dtype));
    cr_ckpt_save_opts so = {.whole = true,
                            .features = cr_job_meaning(j, &j->cfg.arena),
                            .manifest = m,
                            .meet = j->meet,
                            .pool = j->pool};
    return cr_ckpt_write_tensors(e->tmp, v, n, &so, err);
}

/* Writes everything else, of which the manifest comes last. */
static cr_code write_rest(exporting *e, cr_manifest *m, cr_err *err) {
    cr_job *j = &e->j;
    const char *dir = e->tmp;
    cr_buf b;
    cr_buf_init(&b);
    cr_code code = cr_copy_assets(j->features, dir, &j->cfg.arena, err);
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
        schema(j, find_emb_type(e->o->embedding_dtype), &b);
        code = write_text(dir, "schema.json", &b, err);
    }
    if (code == CR_OK) {
        cr_buf_reset(&b);
        acc_json(e->o, find_emb_type(e->o->embedding_dtype), &b);
        code = write_text(dir, "model_acc.json", &b, err);
    }
    if (code == CR_OK) code = copy_assets(j, e->o, dir, err);
    if (code == CR_OK) code = cr_manifest_add_dir(m, dir, err);
    if (code == CR_OK) code = cr_manifest_write(m, dir, err);
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

/* Collective: reports a failure of this rank. Returns whether all ranks can continue. */
static cr_code agreed(exporting *e, cr_code code, const cr_err *err) {
    if (code != CR_OK && err) (void)cr_diag_err(e->diag, err);
    return cr_job_agree(&e->j, code, NULL);
}

static cr_code open_job(exporting *e) {
    cr_err err;
    cr_job_opts jo = {.config = &e->o->config,
                      .comm = e->o->comm,
                      .no_batches = true,
                      .threads = e->o->threads};
    if (check_flags(e->o, &err) != CR_OK) return cr_diag_err(e->diag, &err);
    return cr_job_open(&e->j, &jo, e->diag);
}

/* Ranks with other flags would write other files. */
static cr_code alike(exporting *e) {
    const cr_export_opts *o = e->o;
    const char *type = find_emb_type(o->embedding_dtype)->name;
    return cr_job_alike(&e->j,
                        cr_arena_printf(&e->j.cfg.arena,
                                        "--export_dir %s --embedding_dtype %s --checkpoint_path %s",
                                        o->export_dir, type,
                                        o->checkpoint_path ? o->checkpoint_path : ""),
                        e->diag);
}

static cr_code restore(exporting *e, const char *path) {
    cr_err err;
    cr_job *j = &e->j;
    /* one rank of each machine compares the bytes with their digests, for all others there */
    if (j->comm && cr_comm_local_rank(j->comm) > 0) j->verified = path;
    if (cr_job_copy(j, path, &err) != CR_OK || cr_job_alloc(j, &err) != CR_OK)
        return cr_diag_err(e->diag, &err);
    CR_INFO("Restoring checkpoint from %s...", path);
    return cr_job_load_weights(j, path, e->diag);
}

/* Collective: the first rank makes the folder, and all write into it. */
static cr_code open_dir(exporting *e) {
    cr_err err;
    cr_job *j = &e->j;
    bool first = cr_job_is_first(j);
    cr_code code = first ? cr_outdir_open(&e->dir, e->o->export_dir, &err) : CR_OK;
    CR_TRY(agreed(e, code, &err));
    if (first) e->tmp = cr_outdir_tmp(e->dir);
    if (!j->comm) return CR_OK;
    int64_t n = first ? (int64_t)strlen(e->tmp) + 1 : 0;
    cr_comm_share(j->comm, &n, sizeof n, 0);
    char *tmp = CR_NEW_N(&j->cfg.arena, char, n);
    if (first) memcpy(tmp, e->tmp, (size_t)n);
    cr_comm_share(j->comm, tmp, (size_t)n, 0);
    e->tmp = tmp;
    if (!first && cr_store_moves(tmp) && !cr_path_is_dir(tmp))
        code = cr_fail_at(&err, CR_ERUN, ((cr_loc){tmp, 0, 0}),
                          "the first rank made this folder, but it is not here; give an "
                          "--export_dir on a file system that all ranks share, or export with one "
                          "process, which makes the same files");
    return agreed(e, code, &err);
}

static cr_code write_all(exporting *e) {
    cr_err err;
    cr_manifest *m = cr_manifest_new();
    cr_code code = agreed(e, write_weights(e, m, &err), &err);
    if (code == CR_OK && e->dir) {
        code = write_rest(e, m, &err);
        if (code == CR_OK) {
            code = cr_outdir_commit(e->dir, &err);
            e->dir = NULL;
        }
    }
    cr_manifest_free(m);
    return agreed(e, code, &err);
}

/* Between the parts all ranks agree whether they can go on. */
cr_code cr_export(const cr_export_opts *o, char *checkpoint, cr_diag *diag) {
    exporting e = {.o = o, .diag = diag};
    char *path = NULL;
    int64_t step;
    cr_code code = open_job(&e);
    e.j.comm = o->comm; /* also when the config could not be loaded: all ranks must hear of it */
    code = agreed(&e, code, NULL);
    if (code == CR_OK) code = agreed(&e, alike(&e), NULL);
    if (code == CR_OK)
        code = cr_job_checkpoint_of_all(&e.j, o->checkpoint_path, true, &path, &step, diag);
    if (code == CR_OK) code = agreed(&e, cr_job_alike_weights(&e.j, path, diag), NULL);
    if (code == CR_OK) {
        snprintf(checkpoint, 1088, "%s", path);
        code = agreed(&e, restore(&e, path), NULL);
    }
    if (code == CR_OK) code = open_dir(&e);
    if (code == CR_OK) code = write_all(&e);
    cr_outdir_abort(e.dir); /* of an export that failed */
    if (code == CR_OK && cr_job_is_first(&e.j)) {
        note_foreign(&e.j, o->config.path, diag);
        CR_INFO("Exported to %s", o->export_dir);
    }
    cr_job_close(&e.j);
    return code;
}
