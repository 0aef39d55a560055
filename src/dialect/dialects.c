/*
 * dialects.c - finds out which program a config file belongs to, and lets the dialect of that
 * program rewrite it.
 */
#include "dialect/list.h"

#define ENTRY(d) &cr_dialect_##d,
static const cr_dialect *const dialects[] = {CR_DIALECTS(ENTRY) NULL};

const cr_conf_entry *cr_dialect_key(const cr_conf_doc *doc, const char *const pairs[][2]) {
    const cr_conf_node *root = doc->root;
    for (int i = 0; pairs[i][0]; i++)
        for (size_t m = 0; root->kind == CR_NODE_MAP && m < root->n; m++) {
            if (!cr_conf_key_is(root, root->v[m].key, pairs[i][0])) continue;
            const cr_conf_node *v = root->v[m].val;
            size_t n = v->kind == CR_NODE_LIST ? v->n : 1;
            for (size_t k = 0; k < n; k++) {
                const cr_conf_node *one = v->kind == CR_NODE_LIST ? v->v[k].val : v;
                for (size_t e = 0; one->kind == CR_NODE_MAP && e < one->n; e++)
                    if (cr_conf_key_is(one, one->v[e].key, pairs[i][1])) return &one->v[e];
            }
        }
    return NULL;
}

cr_code cr_dialect_load(cr_conf_doc *doc, const char *path, const cr_dialect_opts *o,
                        cr_diag *diag) {
    doc->last_counts = cr_paddle_last_counts;
    CR_TRY(cr_conf_load(doc, path, diag));
    if (doc->root->kind == CR_NODE_MAP && doc->root->n == 0) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, (cr_loc){doc->path, 0, 0},
                    "there is no config in it; 'crank help deepfm --example' prints one to begin "
                    "with");
        return CR_ECONF;
    }
    return cr_dialect_rewrite(doc, o, diag);
}

cr_code cr_dialect_rewrite(cr_conf_doc *doc, const cr_dialect_opts *o, cr_diag *diag) {
    for (const cr_dialect *const *d = dialects; *d; d++) {
        const cr_conf_entry *sign = (*d)->sign(doc);
        if (sign) return (*d)->rewrite(doc, sign, o, diag);
    }
    return dialects[0]->rewrite(doc, NULL, o, diag);
}
