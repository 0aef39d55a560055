/*
 * keys.c - checks the keys of one message as a whole: keys that its table does not know, and
 * required keys that are missing. A misspelled key is one mistake: the field it was meant for
 * counts as refused and not as missing.
 */
#include <string.h>

#include "conf/conf_int.h"

#define wrong(diag, at, ...) cr_diag_add((diag), CR_SEV_ERROR, CR_ECONF, (at), __VA_ARGS__)

/* ---- lists of names for messages ---- */

static void add_name(cr_buf *out, const char *name) {
    if (out->n) cr_buf_str(out, ", ");
    cr_buf_str(out, name);
}

void cr_conf_enum_names(const cr_enum_value *values, cr_buf *out) {
    for (; values->name; values++)
        if (!values->instead) add_name(out, values->name);
    if (!out->n) cr_buf_str(out, "none yet");
}

/* is_alias tells whether an earlier member is the same under another name: m is the name that older
 * releases used. */
static bool is_alias(const cr_oneof *o, const cr_oneof_member *m) {
    for (const cr_oneof_member *x = o->members; x < m; x++)
        if (x->msg == m->msg && x->type == m->type) return true;
    return false;
}

void cr_conf_member_names(const cr_oneof *o, cr_buf *out) {
    for (const cr_oneof_member *m = o->members; m->key; m++)
        if (!m->msg->later && !is_alias(o, m)) add_name(out, m->key);
    if (!out->n) cr_buf_str(out, "none yet");
}

static void field_names(const cr_msg *msg, cr_buf *out) {
    for (const cr_field *f = msg->fields; f->name; f++)
        add_name(out, f->name);
}

/* ---- unknown and missing ---- */

static bool is_required(const cr_field *f) {
    return f->flags & CR_F_REQUIRED ||
           (f->type == CR_T_ONEOF && ((const cr_oneof *)f->ref)->required);
}

/* open_choice returns the one required choice that was not made, NULL when there are none or
 * several. An unknown key of such a message is taken for a misspelled member. */
static const cr_oneof *open_choice(const cr_msg *msg, const cr_fieldset *given) {
    const cr_oneof *o = NULL;
    for (int i = 0; msg->fields[i].name; i++) {
        const cr_field *f = &msg->fields[i];
        if (f->type != CR_T_ONEOF || cr_fieldset_has(given, i) || !is_required(f)) continue;
        if (o) return NULL;
        o = f->ref;
    }
    return o;
}

/* The names that other tools have for our keys. A row applies when the message has that key. */
static const char *const synonyms[][2] = {
    {"gauc", "grouped_auc"},        {"group_auc", "grouped_auc"},
    {"learning_rate", "lr"},        {"mse", "mean_squared_error"},
    {"mae", "mean_absolute_error"}, {"bce", "binary_cross_entropy"},
    {"epochs", "num_epochs"},       {"max_steps", "num_steps"},
    {"train_steps", "num_steps"},   {"dnn_hidden_units", "hidden_units"},
};

static bool has_key(const cr_msg *msg, const char *name) {
    const char *key;
    for (size_t i = 0; (key = cr_conf_next_key(msg, i)); i++)
        if (strcmp(key, name) == 0) return true;
    return false;
}

const char *cr_conf_meant(const cr_msg *msg, const char *key) {
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(synonyms[i][0], key) == 0 && has_key(msg, synonyms[i][1])) return synonyms[i][1];
    return cr_nearest(key, cr_conf_next_key, msg);
}

/* A field that was tried under a misspelled key counts as refused: it is one mistake. */
static void refuse_near(cr_conf_base *self, const char *near, const cr_oneof *open) {
    const cr_field *v = self->msg->fields;
    for (int i = 0; v[i].name; i++) {
        bool it = near && v[i].type != CR_T_ONEOF && strcmp(near, v[i].name) == 0;
        if (v[i].type == CR_T_ONEOF) {
            it = !near && open == v[i].ref;
            const cr_oneof_member *m = ((const cr_oneof *)v[i].ref)->members;
            for (; near && m->key; m++)
                it |= strcmp(near, m->key) == 0;
        }
        if (it && !cr_fieldset_has(&self->set, i)) cr_fieldset_add(&self->refused, i);
    }
}

void cr_conf_unknown_keys(cr_conf_base *self, const cr_conf_node *node, const int16_t *rows,
                          const char *name, const cr_fieldset *given, const char *own,
                          const char *schema, cr_diag *diag) {
    const cr_msg *msg = self->msg;
    const cr_oneof *open = open_choice(msg, given);
    cr_buf names;
    cr_buf_init(&names);
    if (open) cr_conf_member_names(open, &names);
    if (own && !names.n) field_names(msg, &names);
    if (own && !name) name = own;
    for (size_t i = 0; i < node->n; i++) {
        if (rows[i] >= 0) continue;
        const char *key = node->v[i].key, *near = cr_conf_meant(msg, key);
        const char *in = name ? " in " : "", *where = name ? name : " at the top level";
        refuse_near(self, near, open);
        if (strchr(key, '\\')) /* web pages write \_ for _ */
            wrong(diag, node->v[i].at, "unknown key '%.100s'%s%s; remove the backslashes", key, in,
                  where);
        else if (near)
            wrong(diag, node->v[i].at, "unknown key '%.100s'%s%s; did you mean '%s'?", key, in,
                  where, near);
        else if (own && !msg->fields->name)
            wrong(diag, node->v[i].at, "unknown key '%.100s'%s%s; it takes none", key, in, where);
        else if (names.n)
            wrong(diag, node->v[i].at, "unknown key '%.100s'%s%s; give one of %s", key, in, where,
                  names.data);
        else
            wrong(diag, node->v[i].at,
                  "unknown key '%.100s'%s%s; see 'crank help %s' for its keys%s%s", key, in, where,
                  msg->name, schema ? ", or remove it if it is newer than " : "",
                  schema ? schema : "");
    }
    cr_buf_clear(&names);
}

void cr_conf_missing(const cr_conf_base *self, const char *name, const cr_fieldset *given,
                     cr_diag *diag) {
    const cr_msg *msg = self->msg;
    cr_loc at = self->at;
    const char *in = name ? " in " : "", *where = name ? name : " at the top level";
    for (int i = 0; msg->fields[i].name; i++) {
        const cr_field *f = &msg->fields[i];
        if (cr_fieldset_has(given, i) || cr_fieldset_has(&self->refused, i) || !is_required(f))
            continue;
        if (f->type == CR_T_ONEOF) {
            if (cr_conf_made(f))
                continue; /* cr_conf_fill has added it, unless the choice was misspelled */
            const cr_oneof *o = f->ref;
            cr_buf names;
            cr_buf_init(&names);
            cr_conf_member_names(o, &names);
            wrong(diag, at, "no %s is given%s%s; give one of %s", o->name, in, where, names.data);
            cr_buf_clear(&names);
        } else {
            cr_buf names;
            cr_buf_init(&names);
            if (f->type == CR_T_ENUM) cr_conf_enum_names(f->ref, &names);
            wrong(diag, at, "'%s' is missing%s%s; add it: %s%s%s", f->name, in, where,
                  f->help ? f->help : "it is required", names.n ? ", one of " : "",
                  names.n ? names.data : "");
            cr_buf_clear(&names);
        }
    }
}
