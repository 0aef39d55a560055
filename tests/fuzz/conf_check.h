/*
 * conf_check.h - what the config fuzzers ask of every text: parse, bind, print; and when it bound
 * without an error, what is printed must read back, bind without an error and print the same.
 */
#ifndef CR_TESTS_FUZZ_CONF_CHECK_H
#define CR_TESTS_FUZZ_CONF_CHECK_H

#include "unit/conf/toy.h"

/* how deep a tree is; a free tree needs four levels of protobuf text for one of its own */
static inline int conf_depth(const cr_conf_node *n) {
    int deepest = 0;
    for (size_t i = 0; i < n->n; i++) {
        int d = conf_depth(n->v[i].val);
        if (d > deepest) deepest = d;
    }
    return deepest + 1;
}

static inline void conf_check(cr_syntax syntax, const char *text, size_t n) {
    toy t;
    if (toy_parse(&t, syntax, text, n) == CR_OK) {
        toy_bind(&t);
        bool sound = t.diag.n_errors == 0 && conf_depth(t.doc.root) < 12;
        for (int k = 0; k < 2; k++) {
            cr_syntax s = k ? CR_SYNTAX_PBTXT : CR_SYNTAX_YAML;
            cr_buf once, again;
            cr_buf_init(&once);
            cr_buf_init(&again);
            cr_buf_str(&once, "");
            cr_buf_str(&again, "");
            cr_conf_print(&once, &toy_root_msg, t.doc.root, s);
            if (sound) {
                toy back;
                cr_code code = toy_parse(&back, s, once.data, once.n);
                if (code == CR_OK) toy_bind(&back);
                cr_conf_print(&again, &toy_root_msg, back.doc.root, s);
                if (code != CR_OK || back.diag.n_errors || strcmp(once.data, again.data) != 0) {
                    fprintf(stderr, "printed:\n%s\nread back: %s\nprinted again:\n%s\n", once.data,
                            back.text.data, again.data);
                    abort();
                }
                toy_clear(&back);
            }
            cr_buf_clear(&once);
            cr_buf_clear(&again);
        }
    } else if (t.diag.n_errors == 0) {
        abort(); /* refused without a word */
    }
    toy_clear(&t);
}

#endif
