/*
 * first_values.c - other first values for some dense parameters: model_config.first_values names
 * them by patterns, as part optimizers do.
 *
 * Tables have init_fn of their features. What a checkpoint restores replaces all of this.
 */
#include "emb/init.h"
#include "model/config_int.h"
#include "model/model.h"
#include "optim/optim.h"

typedef struct first_conf {
    cr_conf_base base;
    const char *regex_pattern, *init_fn;
} first_conf;
static const cr_field fields[] = {
    CR_STR(first_conf, regex_pattern, NULL, CR_F_REQUIRED,
           "matches the whole name of a parameter, as `crank params` prints it"),
    CR_STR(first_conf, init_fn, NULL, CR_F_REQUIRED,
           "how it is filled: nn.init.constant_,val=0.1, nn.init.normal_,std=0.01, "
           "nn.init.xavier_uniform_ and the others that features take"),
    CR_END,
};
static void check(const void *self, cr_diag *diag) {
    const first_conf *c = self;
    cr_init init;
    cr_err err;
    if (cr_pattern_check(c->regex_pattern, &err) != CR_OK)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "regex_pattern"),
                    "'%s' cannot be read: %s; correct it", c->regex_pattern, err.msg);
    if (cr_init_parse(&init, c->init_fn, 1, 1, &err) != CR_OK)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "init_fn"), "%s", err.msg);
}
const cr_msg cr_first_values_msg = {
    .name = "FirstValues",
    .help = "What some dense parameters begin with",
    .fields = fields,
    .size = sizeof(first_conf),
    .check = check,
};

void cr_first_values(cr_model *m, const cr_msgs *list, cr_diag *diag) {
    if (list->n == 0) return;
    const char **names = CR_NEW_N(&m->arena, const char *, m->graph.n + 1);
    cr_node **nodes = CR_NEW_N(&m->arena, cr_node *, m->graph.n + 1);
    int *of = CR_NEW_N(&m->arena, int, m->graph.n + 1), n = 0;
    for (int i = 0; i < m->graph.n; i++) {
        cr_node *p = m->graph.nodes[i];
        if (p->cls != CR_PARAM || !p->trainable || !p->init) continue;
        nodes[n] = p;
        names[n++] = p->name;
    }
    cr_part_conf *parts = CR_NEW_N(&m->arena, cr_part_conf, list->n);
    void **v = CR_NEW_N(&m->arena, void *, list->n);
    for (int64_t k = 0; k < list->n; k++) {
        parts[k] = (cr_part_conf){.regex_pattern = ((first_conf *)list->v[k])->regex_pattern};
        v[k] = &parts[k];
    }
    cr_parts_assign(&(cr_msgs){.v = v, .n = list->n}, names, n, "dense parameter", of, NULL);
    bool *used = CR_NEW_N(&m->arena, bool, list->n);
    for (int i = 0; i < n; i++) {
        cr_err ignored; /* the binding has reported it */
        if (of[i] < 0) continue;
        used[of[i]] = true;
        (void)!cr_init_parse(nodes[i]->init, ((first_conf *)list->v[of[i]])->init_fn,
                             nodes[i]->rows, nodes[i]->cols, &ignored);
    }
    for (int64_t k = 0; k < list->n; k++)
        if (!used[k])
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(list->v[k], "regex_pattern"),
                        "'%s' matches the whole name of no dense parameter, or an entry before it "
                        "takes them all; 'crank params CHECKPOINT' prints the names",
                        parts[k].regex_pattern);
}
