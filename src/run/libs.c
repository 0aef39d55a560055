/*
 * libs.c - the libraries of a model's plug-ins: an export holds a copy of each, named without a
 * folder, and finds them in itself again.
 */
#include <string.h>

#include "base/file.h"
#include "base/scheme.h"
#include "run/run_int.h"

/* the value of `library` in every `plugin { library: … }` below n, in turn; *i counts them down */
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

/* Names in an export, *n of them: files of one name from different folders get different ones. The
 * same for the same texts, so that the copies and the config of an export agree. */
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
            k = -1; /* the new one may be there too */
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
