/*
 * assets.c - the files that a config names and of which an export holds copies: vocabularies and
 * libraries of features, libraries of a model's plug-ins. An export names them without a folder,
 * because they lie in the export itself.
 */
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/scheme.h"
#include "job/job.h"

/* Finds the value of `library` in every `plugin { library: … }` below n, one after the other; *i
 * counts down to the wanted one. */
static cr_conf_node *nth_library(cr_conf_node *n, int *i) {
    for (size_t k = 0; n->kind != CR_NODE_SCALAR && k < n->n; k++) {
        cr_conf_node *v = n->v[k].val, *lib = NULL;
        if (n->v[k].key && strcmp(n->v[k].key, "plugin") == 0 && v->kind == CR_NODE_MAP)
            lib = cr_conf_find(v, "library");
        if (lib && lib->kind == CR_NODE_SCALAR) {
            if ((*i)-- == 0) return lib;
        } else if ((lib = nth_library(v, i))) {
            return lib;
        }
    }
    return NULL;
}

static cr_conf_node *library(cr_conf_doc *doc, int i) {
    cr_conf_node *model = cr_conf_find(doc->root, "model_config");
    return model ? nth_library(model, &i) : NULL;
}

/* Makes the names of the files in an export, *n of them; files of one name from different folders
 * get different names. The same texts always give the same names, so that the copies and the config
 * of an export agree. */
static const char **own_names(cr_conf_doc *doc, int *n) {
    for (*n = 0; library(doc, *n);)
        ++*n;
    const char **names = CR_NEW_N(&doc->arena, const char *, *n + 1);
    for (int i = 0; i < *n; i++) {
        const char *text = library(doc, i)->text, *base = cr_path_base(text);
        int tries = 0;
        names[i] = base;
        for (int k = 0; k < i; k++) {
            if (strcmp(names[k], names[i]) != 0 || strcmp(library(doc, k)->text, text) == 0)
                continue;
            names[i] = cr_arena_printf(&doc->arena, "%d_%s", ++tries, base);
            k = -1; /* the new name may be taken too */
        }
    }
    return names;
}

void cr_libs_from(cr_conf_doc *doc, const char *dir) {
    int n;
    const char **names = own_names(doc, &n);
    for (int i = 0; i < n; i++) {
        cr_conf_node *lib = library(doc, i);
        lib->text = cr_path_join(&doc->arena, dir, names[i]);
        lib->len = strlen(lib->text);
    }
}

cr_code cr_libs_copy(cr_conf_doc *doc, const char *dir, cr_err *err) {
    int n;
    const char **names = own_names(doc, &n);
    for (int i = 0; i < n; i++) {
        const char *to = cr_path_join(&doc->arena, dir, names[i]);
        const char *from = cr_path_local(&doc->arena, library(doc, i)->text);
        if (!from) CR_BUG("a path that the binding let pass");
        if (!cr_path_exists(to)) CR_TRY(cr_file_copy(from, to, err));
    }
    return CR_OK;
}

/* ---- files of features ---- */

/* Visits one item of feature_configs: { id_feature { … } }, or a sequence_feature, whose name and
 * sep are put in front of the names of its features. */
static void visit(cr_conf_doc *doc, cr_conf_node *item, const char *prefix, const char *sep,
                  cr_asset_fn fn, void *ctx) {
    for (size_t k = 0; item->kind == CR_NODE_MAP && k < item->n; k++) {
        cr_conf_node *f = item->v[k].val;
        if (f->kind != CR_NODE_MAP) continue;
        if (cr_conf_find(f, "vocab_file") || cr_conf_find(f, "operator_lib_file"))
            fn(doc, f,
               cr_arena_printf(&doc->arena, "%s%s", prefix, cr_conf_find_text(f, "feature_name")),
               ctx);
        if (*prefix || strcmp(item->v[k].key, "sequence_feature") != 0) continue;
        const char *name =
            cr_arena_printf(&doc->arena, "%s%s", cr_conf_find_text(f, "sequence_name"), sep);
        for (size_t i = 0; i < f->n; i++) {
            cr_conf_node *v = f->v[i].val;
            if (strcmp(f->v[i].key, "features") != 0) continue;
            for (size_t j = 0; v->kind == CR_NODE_LIST && j < v->n; j++)
                visit(doc, v->v[j].val, name, sep, fn, ctx);
            if (v->kind == CR_NODE_MAP) visit(doc, v, name, sep, fn, ctx);
        }
    }
}

void cr_each_asset(cr_conf_doc *doc, const char *sep, cr_asset_fn fn, void *ctx) {
    for (size_t i = 0; i < doc->root->n; i++) {
        if (strcmp(doc->root->v[i].key, "feature_configs") != 0) continue;
        cr_conf_node *v = doc->root->v[i].val;
        if (v->kind == CR_NODE_LIST)
            for (size_t k = 0; k < v->n; k++)
                visit(doc, v->v[k].val, "", sep, fn, ctx);
        else
            visit(doc, v, "", sep, fn, ctx);
    }
}

static void point_into(cr_conf_doc *doc, cr_conf_node *feature, const char *name, void *dir) {
    (void)name;
    cr_tree_put_str(doc, feature, "asset_dir", feature->at, dir);
}

void cr_assets_from(cr_config *cfg, const char *dir) {
    cr_each_asset(&cfg->doc, "", point_into, (void *)(uintptr_t)dir);
    cr_libs_from(&cfg->doc, dir);
}

cr_code cr_copy_assets(const cr_features *fs, const char *dir, cr_arena *arena, cr_err *err) {
    for (int i = 0; i < fs->n; i++) {
        const cr_feature *f = fs->v[i];
        for (int k = 0; k < f->n_assets; k++) {
            const char *to = cr_path_join(arena, dir, f->assets[k].name);
            if (cr_path_exists(to)) continue;
            CR_TRY(cr_file_copy(f->assets[k].path, to, err));
            CR_INFO("Copied %s of feature %s as %s", f->assets[k].path, f->name, f->assets[k].name);
        }
    }
    return CR_OK;
}
