/*
 * cruise.c - configs of Cruise and Gandalf: trainer, model, data. This file has the whole and the
 * reading of values; cruise_int.h names the others.
 *
 * Pickles of the original data are no data here: every slot is a column slot_<id>, every vector a
 * list of floats under its own name, the label a column `label`.
 */
#include "dialect/cruise_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dialect/list.h"

/* ---- reading ---- */

void cr_cruise_section(cr_rw *w, const char *name, const cr_rule *rules, const cr_conf_node *in,
                       cr_conf_node *out) {
    cr_buf_reset(&w->path);
    cr_buf_str(&w->path, name);
    cr_rw_message(w, rules, in, out);
    cr_buf_reset(&w->path);
}

static bool is_null(const cr_conf_node *n) {
    if (n->kind != CR_NODE_SCALAR || n->quoted) return false;
    return n->len == 0 || strcmp(n->text, "null") == 0 || strcmp(n->text, "Null") == 0 ||
           strcmp(n->text, "NULL") == 0 || strcmp(n->text, "~") == 0;
}

/* Drops keys without a value, so that each of them counts as not given. */
static void drop_nulls(cr_conf_node *n, int depth) {
    size_t m = 0;
    if (n->kind == CR_NODE_SCALAR || depth > 60) return;
    for (size_t i = 0; i < n->n; i++) {
        if (n->kind == CR_NODE_MAP && is_null(n->v[i].val)) continue;
        drop_nulls(n->v[i].val, depth + 1);
        n->v[m++] = n->v[i];
    }
    n->n = m;
}

const cr_conf_node *cr_cruise_part(cr_rw *w, const cr_conf_node *in, const char *key, bool needed) {
    const cr_conf_node *n = in ? cr_conf_find(in, key) : NULL;
    if (n && n->kind == CR_NODE_MAP) return n;
    if (n)
        cr_rw_tell(w, CR_SEV_ERROR, n->at, "%s must be a map of keys", key);
    else if (needed)
        cr_rw_tell(w, CR_SEV_ERROR, in ? in->at : w->doc->root->at,
                   "the section %s is missing; add it", key);
    cr_conf_node *none = cr_conf_new(w->doc, CR_NODE_MAP, in ? in->at : w->doc->root->at);
    none->from = w->doc->syntax;
    return none;
}

bool cr_cruise_is_number(const cr_conf_node *n, double *x) {
    return n->kind == CR_NODE_SCALAR && cr_parse_f64(n->text, n->len, x) && isfinite(*x);
}

double cr_cruise_number(cr_rw *w, const cr_conf_node *in, const char *key, double absent) {
    const cr_conf_node *n = cr_conf_find(in, key);
    double x;
    if (!n) return absent;
    if (cr_cruise_is_number(n, &x)) return x;
    cr_rw_tell(w, CR_SEV_ERROR, n->at, "%s must be a number; write one, or remove the key for %g",
               key, absent);
    return absent;
}

int64_t cr_cruise_whole(cr_rw *w, const cr_conf_node *in, const char *key, int64_t absent,
                        int64_t lo, int64_t hi) {
    double x = cr_cruise_number(w, in, key, (double)absent);
    if (x == floor(x) && x >= (double)lo && x <= (double)hi) return (int64_t)x;
    cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(in, key), "%s must be a whole number from %lld to %lld",
               key, (long long)lo, (long long)hi);
    return absent;
}

bool cr_cruise_bool(cr_rw *w, const cr_conf_node *in, const char *key, bool absent) {
    const cr_conf_node *n = cr_conf_find(in, key);
    bool yes = absent;
    double x;
    if (!n) return absent;
    if (n->kind == CR_NODE_SCALAR && cr_conf_read_bool(n, &yes)) return yes;
    if (cr_cruise_is_number(n, &x) && (x == 0 || x == 1)) return x == 1;
    cr_rw_tell(w, CR_SEV_ERROR, n->at, "%s must be true or false", key);
    return absent;
}

int cr_cruise_type(cr_rw *w, const cr_conf_node *in, const char *where, const char *const *names) {
    const char *type = cr_rw_str(in, "type", NULL);
    char list[500] = "";
    size_t n = 0;
    for (int i = 0; names[i]; i++) {
        if (type && strcmp(type, names[i]) == 0) return i;
        if (n < sizeof list)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", names[i]);
    }
    if (type)
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(in, "type"),
                   "%s.type '%.60s' is not registered; crank has %s", where, type, list);
    else
        cr_rw_tell(w, CR_SEV_ERROR, in->at, "%s.type is missing; crank has %s", where, list);
    return 0;
}

/* ---- making ---- */

cr_conf_node *cr_cruise_list(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at) {
    cr_conf_node *l = cr_conf_new(w->doc, CR_NODE_LIST, at);
    cr_conf_push(w->doc, out, key, at, l);
    return l;
}

cr_conf_node *cr_cruise_item(cr_rw *w, cr_conf_node *list, cr_loc at) {
    cr_conf_node *m = cr_conf_new(w->doc, CR_NODE_MAP, at);
    m->from = w->doc->syntax;
    cr_conf_push(w->doc, list, NULL, at, m);
    return m;
}

void cr_cruise_name(cr_rw *w, cr_conf_node *list, const char *name) {
    cr_conf_push(w->doc, list, NULL, list->at, cr_tree_scalar(w->doc, name, true, list->at));
}

/* ---- the whole ---- */

static const cr_rule root_rules[] = {
    SPENT("trainer"),
    SPENT("model"),
    SPENT("data"),
    IDLE("log_level", "INFO", "use --log_level"),
    END,
};

static const cr_conf_entry *cruise_sign(const cr_conf_doc *doc) {
    static const char *const keys[][2] = {
        {"data", "data_factory"},
        {"data", "feature_provider"},
        {"trainer", "default_root_dir"},
        {"trainer", "max_epochs"},
        {"trainer", "val_check_interval"},
        {"model", "features"},
        {NULL, NULL},
    };
    return cr_dialect_key(doc, keys);
}

static cr_code cruise_rewrite(cr_conf_doc *doc, const cr_conf_entry *sign, const cr_dialect_opts *o,
                              cr_diag *diag) {
    (void)sign;
    (void)o;
    cr_rw w;
    cr_cruise c = {0};
    cr_conf_node *in = doc->root;
    drop_nulls(in, 0);
    cr_rw_init(&w, doc, "Cruise", &c, diag);
    cr_rw_message(&w, root_rules, in, NULL);
    c.trainer = cr_cruise_part(&w, in, "trainer", true);
    c.model = cr_cruise_part(&w, in, "model", true);
    c.data = cr_cruise_part(&w, in, "data", true);
    c.root = cr_conf_new(doc, CR_NODE_MAP, in->at);
    c.root->from = in->from;
    c.train = cr_rw_map(&w, c.root, "train_config", c.trainer->at);
    c.eval = cr_rw_map(&w, c.root, "eval_config", c.trainer->at);
    c.export = cr_rw_map(&w, c.root, "export_config", c.trainer->at);
    c.set = cr_rw_map(&w, c.root, "data_config", c.data->at);
    c.net = cr_rw_map(&w, c.root, "model_config", c.model->at);
    cr_cruise_data(&w, &c);
    cr_cruise_trainer(&w, &c);
    cr_cruise_model(&w, &c);
    cr_rw_flush(&w);
    cr_rw_clear(&w);
    doc->root = c.root;
    return cr_diag_code(diag);
}

const cr_dialect cr_dialect_cruise = {
    .name = "Cruise",
    .sign = cruise_sign,
    .rewrite = cruise_rewrite,
};
