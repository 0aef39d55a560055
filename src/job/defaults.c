/*
 * defaults.c - settings that every config repeats and that crank supplies when they are not given:
 * the usual losses and metrics of a model. Optimizers and schedules come from their tables
 * (cr_conf_fill).
 *
 * TorchEasyRec requires all of them. They are put into the tree, so that `crank config`, the config
 * that training keeps, and an export show them.
 */
#include <string.h>

#include "base/buf.h"
#include "conf/conf.h"
#include "job/job.h"

static int64_t num_class(const cr_fill *f) {
    const cr_conf_node *n = cr_fill_find(f, "num_class");
    int64_t k;
    bool number = n && n->kind == CR_NODE_SCALAR && cr_parse_i64(n->text, n->len, &k);
    return number ? k : 1;
}

/* Does one of the losses have this key? */
static bool has_loss(const cr_fill *f, const char *key) {
    const cr_conf_node *v = cr_fill_find(f, "losses");
    if (!v) return false;
    if (v->kind == CR_NODE_MAP) return cr_conf_find(v, key) != NULL;
    for (size_t i = 0; v->kind == CR_NODE_LIST && i < v->n; i++)
        if (cr_conf_find(v->v[i].val, key)) return true;
    return false;
}

static void put_list(const cr_fill *f, const char *key, const char *item) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(&b, "%s: [{%s}]", key, item);
    if (!cr_fill_find(f, key)) cr_fill_put(f, b.data);
    cr_buf_clear(&b);
}

/* Writes the usual loss and metric for one class (yes or no) or for several. */
static void task(const cr_fill *f) {
    int64_t k = num_class(f);
    put_list(f, "losses", k > 1 ? "softmax_cross_entropy: {}" : "binary_cross_entropy: {}");
    if (k > 1 && has_loss(f, "l2_loss")) return; /* values whose loss a block brings */
    put_list(f, "metrics",
             has_loss(f, "l2_loss") ? "mean_squared_error: {}"
             : k > 2                ? "accuracy: {}"
                                    : "auc: {}");
}

/* Do the losses and metrics belong to task towers? */
static bool has_towers(const cr_msg *msg, const cr_conf_node *model) {
    for (const cr_field *f = msg->fields; f->name; f++)
        if (cr_is_tower_msg(f->ref) && (!(f->flags & CR_F_OURS) || cr_conf_find(model, f->name)))
            return true;
    return false;
}

static void each(const cr_fill *f) {
    if (cr_is_tower_msg(f->msg)) {
        task(f);
        return;
    }
    if (f->msg != &cr_model_msg) return;
    const cr_field *row = cr_msg_field(&cr_model_msg, "model");
    for (const cr_oneof_member *m = ((const cr_oneof *)row->ref)->members; m->key; m++) {
        const cr_conf_node *model = cr_fill_find(f, m->key);
        if (!model || m->msg->later || has_towers(m->msg, model)) continue;
        task(f);
        return;
    }
}

void cr_config_defaults(cr_conf_doc *doc) {
    cr_conf_fill(doc, &cr_root_msg, each);
}
