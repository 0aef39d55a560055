/*
 * conf_text.h - a config struct made from text, as a user writes it: what is not given has its
 * default, and the struct itself can stay private to the file that owns it.
 */
#ifndef CR_TESTS_CONF_TEXT_H
#define CR_TESTS_CONF_TEXT_H

#include "harness.h"

#include "base/mem.h"
#include "conf/field.h"

/* conf_text binds a YAML map ("exact: true, thresholds: 7") to msg; the struct lives until the
 * program ends */
static inline void *conf_text(const cr_msg *msg, const char *text) {
    static cr_arena kept;
    if (!kept.head) cr_arena_init(&kept, 0);
    cr_conf_doc *doc = CR_NEW(&kept, cr_conf_doc);
    cr_conf_doc_init(doc);
    cr_diag diag;
    cr_diag_init(&diag);
    const char *all = cr_arena_printf(&kept, "{%s}", text);
    if (cr_conf_parse(doc, CR_SYNTAX_YAML, "text", all, strlen(all), &diag) != CR_OK) {
        fprintf(stderr, "conf_text: cannot parse '%s'\n", text);
        abort();
    }
    void *conf = cr_conf_bind(&kept, msg, doc->root, &diag);
    if (diag.n_errors) {
        fprintf(stderr, "conf_text: '%s': %s\n", text, diag.v[0].msg);
        abort();
    }
    cr_diag_clear(&diag);
    return conf;
}

#endif
