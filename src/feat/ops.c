/*
 * ops.c - the list of built-in operators of custom_feature.
 */
#include "feat/ops.h"

#include <string.h>

static const crank_operator *const ops[] = {&cr_op_edit_distance, &cr_op_regex_replace,
                                            &cr_op_seq_expr, NULL};

const crank_operator *cr_op_at(size_t i) {
    return i < sizeof(ops) / sizeof(ops[0]) ? ops[i] : NULL;
}

const crank_operator *cr_op_find(const char *name) {
    for (size_t i = 0; ops[i]; i++)
        if (strcmp(ops[i]->name, name) == 0) return ops[i];
    return NULL;
}
