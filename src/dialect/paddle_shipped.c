/*
 * paddle_shipped.c - what PaddleRec's shipped models share, over the finished tree: AUCs of the
 * last batches, which its console shows, and with --compat paddlerec small numbers in logarithms
 * and counts that go on from epoch to epoch.
 */
#include <stdio.h>
#include <string.h>

#include "dialect/paddle_int.h"

/* Models of the old kind whose lines show the AUC of the last steps, too, and how many steps. */
static const struct {
    const char *model;
    int steps;
} slides[] = {{"dnn", 20}, {"fibinet", 20}, {"flen", 20},        {"tdm", 20},
              {"esmm", 1}, {"mmoe", 1},     {"share_bottom", 1}, {"wide_deep", 1}};

/* Adds such an AUC behind every AUC of training in the tree. */
static void add_slides(cr_pd *p, cr_conf_node *n, int steps) {
    for (size_t i = 0; i < n->n; i++) {
        cr_conf_node *v = n->v[i].val;
        if (v->kind == CR_NODE_SCALAR) continue;
        add_slides(p, v, steps);
        if (n->kind != CR_NODE_MAP || strcmp(n->v[i].key, "train_metrics") != 0) continue;
        size_t had = v->n;
        for (size_t k = 0; k < had; k++) {
            const cr_conf_node *auc = cr_conf_find(v->v[k].val, "auc");
            if (!auc) continue;
            cr_conf_node *item = cr_conf_new(p->doc, CR_NODE_MAP, auc->at);
            char text[16];
            snprintf(text, sizeof text, "%d", steps);
            cr_tree_put(p->doc, item, "auc", auc->at, cr_conf_new(p->doc, CR_NODE_MAP, auc->at));
            cr_tree_put(p->doc, item, "last_steps", auc->at,
                        cr_tree_scalar(p->doc, text, false, auc->at));
            cr_conf_push(p->doc, v, NULL, auc->at, item);
        }
    }
}

/* As shipped, these models add a small number to probabilities before they take their logarithms,
 * in the old kind, in the new one, or in both. */
static const struct {
    const char *model, *old, *now;
} epsilons[] = {
    {"afm", "1e-4", NULL},
    {"autoint", "1e-4", "1e-4"},
    {"bst", "1e-4", "1e-4"},
    {"dcn", "1e-4", "1e-4"},
    {"dcn_v2", NULL, "1e-4"},
    {"deep_crossing", "1e-4", NULL},
    {"deepfefm", NULL, "1e-4"},
    {"deepfm", "1e-4", "1e-4"},
    {"difm", NULL, "1e-4"},
    {"ffm", "1e-4", "1e-4"},
    {"fgcnn", "1e-4", "1e-4"},
    {"fibinet", "1e-4", NULL},
    {"flen", "1e-4", "1e-6"},
    {"fm", "1e-4", "1e-4"},
    {"fnn", "1e-4", NULL},
    {"gatenet", NULL, "1e-4"},
    {"fat_deepffm", NULL, "1e-4"},
    {"ncf", "1e-4", "1e-4"},
    {"nfm", "1e-4", NULL},
    {"pnn", "1e-4", NULL},
    {"wide_deep", NULL, "1e-4"},
    {"xdeepfm", "1e-4", "1e-4"},
    {"logistic_regression", "1e-4", "1e-4"},
};

/* Adds it to every log loss of the tree. */
static void add_epsilons(cr_pd *p, cr_conf_node *n, const char *text) {
    for (size_t i = 0; i < n->n; i++) {
        cr_conf_node *v = n->v[i].val;
        if (v->kind == CR_NODE_SCALAR) continue;
        add_epsilons(p, v, text);
        if (n->kind == CR_NODE_MAP && strcmp(n->v[i].key, "binary_cross_entropy") == 0)
            cr_tree_put(p->doc, v, "epsilon", v->at, cr_tree_scalar(p->doc, text, false, v->at));
    }
}

static void put_epsilons(cr_pd *p) {
    for (size_t i = 0; p->o->compat && i < sizeof epsilons / sizeof *epsilons; i++) {
        const char *text = p->old ? epsilons[i].old : epsilons[i].now;
        if (text && strcmp(epsilons[i].model, p->model->name) == 0) add_epsilons(p, p->out, text);
    }
}

void cr_pd_shipped(cr_pd *p) {
    for (size_t i = 0; p->old && i < sizeof slides / sizeof *slides; i++)
        if (strcmp(slides[i].model, p->model->name) == 0) add_slides(p, p->out, slides[i].steps);
    put_epsilons(p);
    if (p->old && p->o->compat) /* its counts of AUC are never reset */
        cr_pd_put(p, p->runner.map->at, "train_config: {metrics_over_epochs: true}");
}
