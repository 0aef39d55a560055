/*
 * libs.c - the libraries of a model's plug-ins: an export holds them, named without a folder, and
 * finds them in itself again.
 */
#include <string.h>

#include "base/file.h"
#include "base/map.h"
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
    if (!model) model = cr_conf_find(doc->root, "modelConfig"); /* JSON */
    return model ? nth_library(model, &i) : NULL;
}

void cr_libs_from(cr_conf_doc *doc, const char *dir) {
    cr_conf_node *lib;
    for (int i = 0; (lib = library(doc, i)); i++) {
        lib->text = cr_path_join(&doc->arena, dir, cr_path_base(lib->text));
        lib->len = strlen(lib->text);
    }
}

cr_code cr_libs_copy(cr_conf_doc *doc, const char *dir, cr_err *err) {
    cr_conf_node *lib;
    cr_map copied; /* name in dir -> number of the library */
    cr_map_init(&copied);
    cr_code code = CR_OK;
    for (int i = 0; code == CR_OK && (lib = library(doc, i)); i++) {
        const char *name = cr_path_base(lib->text), *to = cr_path_join(&doc->arena, dir, name);
        int64_t first = cr_map_get(&copied, name, strlen(name), -1);
        if (first >= 0) {
            const char *other = library(doc, (int)first)->text;
            if (strcmp(other, lib->text) != 0)
                code = cr_fail(err, CR_ECONF,
                               "'%s' and '%s' have one name, and an export holds both; rename one",
                               other, lib->text);
            continue;
        }
        cr_map_put(&copied, name, strlen(name), i);
        code = cr_file_copy(lib->text, to, err);
    }
    cr_map_clear(&copied);
    return code;
}
