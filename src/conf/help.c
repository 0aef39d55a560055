/*
 * help.c - `crank help` and the pages of docs/reference, both from the field tables.
 *
 * All messages that can be reached from the root are listed once, breadth first in table order, so
 * pages and answers never change their order. A topic is a path from the root
 * ("train_config.seed"), or it begins at any message or oneof member ("deepfm", "MLP.bias"), or it
 * is a bare key, which is then shown in every message that has it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/conf.h"
#include "conf/conf_int.h"

typedef struct found {
    const cr_msg *msg;
    const cr_msg *parent; /* the first message that uses it, NULL for the root */
    const char *key;      /* the key by which the parent uses it */
} found;

typedef struct list {
    found *v;
    size_t n, cap;
} list;

static bool has(const list *l, const cr_msg *m) {
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].msg == m) return true;
    return false;
}

static void add(list *l, const cr_msg *m, const cr_msg *parent, const char *key) {
    if (has(l, m)) return;
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        l->v = cr_realloc(l->v, l->cap * sizeof *l->v, cap * sizeof *l->v, "list of messages");
        l->cap = cap;
    }
    l->v[l->n++] = (found){m, parent, key};
}

static void collect(list *l, const cr_msg *root) {
    *l = (list){0};
    add(l, root, NULL, NULL);
    for (size_t i = 0; i < l->n; i++) {
        const cr_msg *m = l->v[i].msg;
        for (const cr_field *f = m->fields; f->name; f++) {
            if (f->type == CR_T_MSG) add(l, f->ref, m, f->name);
            if (f->type != CR_T_ONEOF) continue;
            for (const cr_oneof_member *o = ((const cr_oneof *)f->ref)->members; o->key; o++)
                add(l, o->msg, m, o->key);
        }
    }
}

/* ---- words for a row ---- */

static void quoted(cr_buf *out, const char *s) {
    cr_buf_char(out, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            cr_buf_printf(out, "\\%c", *s);
        else if ((unsigned char)*s < 32)
            cr_buf_printf(out, "\\x%02x", *s);
        else
            cr_buf_char(out, *s);
    }
    cr_buf_char(out, '"');
}

static void msg_ref(cr_buf *out, const cr_msg *m, bool md) {
    if (md)
        cr_buf_printf(out, "[%s](%s.md)", m->name, m->name);
    else
        cr_buf_str(out, m->name);
}

static void type_text(cr_buf *out, const cr_field *f, bool md) {
    char range[96];
    bool many = f->flags & CR_F_REPEATED;
    if (many) cr_buf_str(out, "list of ");
    switch (f->type) {
    case CR_T_BOOL: cr_buf_str(out, "bool"); break;
    case CR_T_INT:
        cr_buf_printf(out, "integer%s%s", many ? "s" : "", cr_conf_range_text(f, range));
        break;
    case CR_T_UINT64: cr_buf_printf(out, "integer%s of at least 0", many ? "s" : ""); break;
    case CR_T_FLOAT:
        cr_buf_printf(out, "number%s%s", many ? "s" : "", cr_conf_range_text(f, range));
        break;
    case CR_T_STR: cr_buf_str(out, many ? "strings" : "string"); break;
    case CR_T_ENUM:
        for (const cr_enum_value *v = f->ref; v->name; v++) {
            if (v != f->ref) cr_buf_str(out, md ? " \\| " : " | ");
            cr_buf_printf(out, "%s%s", v->name, v->instead ? " (later)" : "");
        }
        break;
    case CR_T_MSG: msg_ref(out, f->ref, md); break;
    case CR_T_MAP_INT: cr_buf_str(out, "mapping of names to integers"); break;
    case CR_T_MAP_FLOAT: cr_buf_str(out, "mapping of names to numbers"); break;
    case CR_T_TREE: cr_buf_str(out, "free mapping"); break;
    case CR_T_ONEOF: cr_buf_str(out, "one of the keys below"); break;
    }
}

/* default_text returns true when there is a default to show. */
static bool default_text(cr_buf *out, const cr_field *f) {
    char s[32];
    if (f->flags & (CR_F_REPEATED | CR_F_REQUIRED | CR_F_ALIAS)) return false;
    switch (f->type) {
    case CR_T_BOOL: cr_buf_str(out, f->num != 0 ? "true" : "false"); return true;
    case CR_T_INT:
    case CR_T_UINT64: cr_buf_printf(out, "%.0f", f->num); return true;
    case CR_T_FLOAT: cr_buf_add(out, s, cr_fmt_f64(s, f->num)); return true;
    case CR_T_STR: quoted(out, f->str ? f->str : ""); return true;
    case CR_T_ENUM:
        for (const cr_enum_value *v = f->ref; v->name; v++) {
            if (v->value != (int)f->num) continue;
            cr_buf_str(out, v->name);
            return true;
        }
        return false;
    case CR_T_MSG:
    case CR_T_ONEOF:
        if (!cr_conf_made(f)) return false;
        cr_buf_str(out, f->str);
        return true;
    default: return false;
    }
}

static const struct {
    unsigned flag;
    const char *text;
} flag_words[] = {
    {CR_F_REQUIRED, "required"},
    {CR_F_GPU, "no effect on a CPU"},
    {CR_F_IDLE, "no effect in this version"},
    {CR_F_LATER, "not in this version"},
    {CR_F_OURS, "crank only"},
    {CR_F_SPEED, "does not change results"},
};

static void flag_text(cr_buf *out, unsigned flags, const char *before) {
    for (size_t i = 0; i < sizeof flag_words / sizeof *flag_words; i++)
        if (flags & flag_words[i].flag) cr_buf_printf(out, "%s%s", before, flag_words[i].text);
}

/* ---- help on a terminal ---- */

static void help_values(cr_buf *out, const cr_field *f, const char *pad) {
    for (const cr_enum_value *v = f->ref; v->name; v++)
        cr_buf_printf(out, "%s%-20s %s%s\n", pad, v->name, v->help ? v->help : "",
                      v->instead ? " (not in this version)" : "");
}

static void help_field(cr_buf *out, const cr_field *f, const char *pad) {
    cr_buf_printf(out, "%s%s: ", pad, f->name);
    type_text(out, f, false);
    size_t n = out->n;
    cr_buf_str(out, ", default ");
    if (!default_text(out, f)) out->n = n, cr_buf_str(out, "");
    flag_text(out, f->flags, ", ");
    cr_buf_printf(out, "\n%s    %s\n", pad, f->help ? f->help : "");
}

/* shown for a message that is known by name only */
#define UNREAD_KEYS "This version does not read its keys."

/* msg_note returns " (not in this version)" or " (crank only)", which follows the meaning of a
 * message, or "". */
static const char *msg_note(const cr_msg *m) {
    return m->later ? " (not in this version)" : m->ours ? " (crank only)" : "";
}

static void help_msg(cr_buf *out, const cr_msg *m, const char *key) {
    if (key && strcasecmp(key, m->name) != 0)
        cr_buf_printf(out, "%s (%s)", key, m->name);
    else
        cr_buf_str(out, m->name);
    cr_buf_printf(out, ": %s%s\n", m->help ? m->help : "", msg_note(m));
    if (!m->fields[0].name)
        cr_buf_printf(out, "\n  %s\n", m->later ? UNREAD_KEYS : "It has no keys.");
    for (const cr_field *f = m->fields; f->name; f++) {
        cr_buf_str(out, "\n");
        if (f->type != CR_T_ONEOF) {
            help_field(out, f, "  ");
            continue;
        }
        const cr_oneof *o = f->ref;
        cr_buf_printf(out, "  %s of these (%s%s%s):\n", o->required ? "one" : "at most one",
                      o->name, cr_conf_made(f) ? ", default " : "", cr_conf_made(f) ? f->str : "");
        int width = 24;
        for (const cr_oneof_member *x = o->members; x->key; x++)
            if ((int)strlen(x->key) > width) width = (int)strlen(x->key);
        for (const cr_oneof_member *x = o->members; x->key; x++)
            cr_buf_printf(out, "    %-*s %s%s\n", width, x->key, x->msg->help ? x->msg->help : "",
                          msg_note(x->msg));
    }
}

/* help_path follows a dotted path from m. True: it wrote help. */
static bool help_path(cr_buf *out, const cr_msg *m, const char *key, const char *path) {
    while (*path) {
        char name[128];
        size_t n = strcspn(path, ".[");
        if (n == 0 || n >= sizeof name) return false;
        memcpy(name, path, n);
        name[n] = 0;
        path += n;
        if (*path == '[') path += strcspn(path, "]"); /* feature_configs[0].x */
        if (*path == ']') path++;
        if (*path == '.') path++;
        const cr_oneof_member *x = cr_msg_member(m, name, NULL);
        const cr_field *f = x ? NULL : cr_msg_field(m, name);
        if (!x && !f) return false;
        if (x) {
            m = x->msg;
            key = x->key;
        } else if (f->type == CR_T_MSG) {
            if (!*path) {
                help_field(out, f, "");
                cr_buf_str(out, "\n");
            }
            m = f->ref;
            key = f->name;
        } else {
            if (*path || f->type == CR_T_ONEOF) return false;
            help_field(out, f, "");
            if (f->type == CR_T_ENUM) help_values(out, f, "    ");
            return true;
        }
    }
    help_msg(out, m, key);
    return true;
}

static const char *next_topic(const void *ctx, size_t i) {
    const list *l = ctx;
    if (i < l->n) return l->v[i].msg->name;
    i -= l->n;
    for (size_t k = 0; k < l->n; k++)
        for (const cr_field *f = l->v[k].msg->fields; f->name; f++) {
            if (f->type != CR_T_ONEOF) {
                if (i-- == 0) return f->name;
                continue;
            }
            for (const cr_oneof_member *o = ((const cr_oneof *)f->ref)->members; o->key; o++)
                if (i-- == 0) return o->key;
        }
    return NULL;
}

/* near_path serves a path whose first keys are right: it gives these keys and the nearest to the
 * wrong one. */
static bool near_path(const cr_msg *m, const char *topic, char near[CR_CONF_NEAR]) {
    const char *path = topic;
    while (m && *path) {
        char name[128];
        size_t n = strcspn(path, ".[");
        if (n == 0 || n >= sizeof name) return false;
        memcpy(name, path, n);
        name[n] = 0;
        const cr_oneof_member *x = cr_msg_member(m, name, NULL);
        const cr_field *f = x ? NULL : cr_msg_field(m, name);
        if (!x && !f) {
            if (path == topic) return false;
            const char *key = cr_conf_meant(m, name);
            int known = (int)(path - topic);
            if (key)
                snprintf(near, CR_CONF_NEAR, "%.*s%s", known, topic, key);
            else
                snprintf(near, CR_CONF_NEAR, "%.*s", known - 1, topic);
            return true;
        }
        m = x ? x->msg : f->type == CR_T_MSG ? f->ref : NULL;
        path += n;
        if (*path == '[') path += strcspn(path, "]");
        if (*path == ']') path++;
        if (*path == '.') path++;
    }
    return false;
}

/* help_twins lists other messages that have the key: adagrad_optimizer means one thing for tables
 * and another for dense parameters. */
static void help_twins(cr_buf *out, const list *l, const cr_msg *shown, const char *key) {
    list told = {0};
    add(&told, shown, NULL, NULL);
    for (size_t i = 0; i < l->n; i++) {
        const cr_oneof_member *o = cr_msg_member(l->v[i].msg, key, NULL);
        if (!o || has(&told, o->msg)) continue;
        add(&told, o->msg, NULL, NULL);
        cr_buf_printf(out, "\n'%s' of %s is another one: crank help %s\n", key, l->v[i].msg->name,
                      o->msg->name);
    }
    cr_free(told.v);
}

bool cr_conf_help(cr_buf *out, const cr_msg *root, const char *topic, char near[CR_CONF_NEAR]) {
    near[0] = 0;
    if (help_path(out, root, NULL, topic)) return true;
    list l;
    collect(&l, root);
    bool done = false;
    size_t head = strcspn(topic, ".");
    const char *rest = topic[head] ? topic + head + 1 : "";
    for (size_t i = 0; i < l.n && !done; i++) {
        const char *names[2] = {l.v[i].msg->name, l.v[i].key};
        for (int k = 0; k < 2 && !done; k++)
            if (names[k] && strlen(names[k]) == head && strncasecmp(names[k], topic, head) == 0) {
                done = help_path(out, l.v[i].msg, names[k], rest);
                if (done && !*rest) help_twins(out, &l, l.v[i].msg, topic);
            }
    }
    for (size_t i = 0; i < l.n && !done; i++) {
        /* a member's message may be listed under another key: look through all oneofs */
        const cr_oneof_member *o = cr_msg_member(l.v[i].msg, topic, NULL);
        if (o) done = help_path(out, o->msg, o->key, "");
    }
    if (!done) {
        for (size_t i = 0; i < l.n; i++) {
            const cr_field *f = cr_msg_field(l.v[i].msg, topic);
            if (!f || f->type == CR_T_ONEOF) continue;
            cr_buf_printf(out, "%sin %s:\n", done ? "\n" : "", l.v[i].msg->name);
            help_field(out, f, "  ");
            done = true;
        }
    }
    if (!done && !near_path(root, topic, near)) {
        const char *name = cr_nearest(topic, next_topic, &l);
        if (name) snprintf(near, CR_CONF_NEAR, "%s", name);
    }
    cr_free(l.v);
    return done;
}

/* ---- every word ---- */

static void msg_terms(const cr_msg *m, void (*tell)(void *ctx, const cr_conf_term *t), void *ctx) {
    for (const cr_field *f = m->fields; f->name; f++) {
        if (f->type == CR_T_ONEOF) {
            const cr_oneof *o = f->ref;
            for (const cr_oneof_member *x = o->members; x->key; x++)
                tell(ctx, &(cr_conf_term){CR_TERM_MEMBER, x->key, o->name, x->msg->help, m,
                                          x->msg->later});
            continue;
        }
        tell(ctx, &(cr_conf_term){CR_TERM_KEY, f->name, NULL, f->help, m, f->flags & CR_F_LATER});
        if (f->type != CR_T_ENUM) continue;
        for (const cr_enum_value *v = f->ref; v->name; v++)
            tell(ctx, &(cr_conf_term){CR_TERM_VALUE, v->name, f->name, v->help, m, v->instead});
    }
}

void cr_conf_terms(const cr_msg *root, void (*tell)(void *ctx, const cr_conf_term *t), void *ctx) {
    list l;
    collect(&l, root);
    for (size_t i = 0; i < l.n; i++)
        msg_terms(l.v[i].msg, tell, ctx);
    cr_free(l.v);
}

/* ---- reference pages ---- */

/* cell writes text inside a cell of a table. */
static void cell(cr_buf *out, const char *s) {
    for (; *s; s++) {
        if (*s == '|') cr_buf_char(out, '\\');
        if (*s == '<')
            cr_buf_str(out, "&lt;");
        else
            cr_buf_char(out, *s == '\n' ? ' ' : *s);
    }
}

static void page_row(cr_buf *out, const cr_field *f) {
    cr_buf_printf(out, "| `%s` | ", f->name);
    type_text(out, f, true);
    cr_buf_str(out, " | ");
    size_t n = out->n;
    cr_buf_char(out, '`');
    if (default_text(out, f))
        cr_buf_char(out, '`');
    else
        out->n = n, cr_buf_str(out, f->flags & CR_F_REQUIRED ? "required" : "");
    cr_buf_str(out, " | ");
    cell(out, f->help ? f->help : "");
    size_t before = out->n;
    flag_text(out, f->flags & ~(unsigned)CR_F_REQUIRED, "; *");
    if (out->n > before) cr_buf_char(out, '*');
    cr_buf_str(out, " |\n");
}

static void page_enum(cr_buf *out, const cr_field *f) {
    bool helped = false;
    for (const cr_enum_value *v = f->ref; v->name; v++)
        helped |= v->help && *v->help;
    if (!helped) return;
    cr_buf_printf(out, "\nValues of `%s`:\n\n| name | number | meaning |\n|---|---|---|\n",
                  f->name);
    for (const cr_enum_value *v = f->ref; v->name; v++) {
        cr_buf_printf(out, "| `%s` | %d | ", v->name, v->value);
        cell(out, v->help ? v->help : "");
        cr_buf_str(out, v->instead ? "; *not in this version* |\n" : " |\n");
    }
}

static void page_oneof(cr_buf *out, const cr_field *f) {
    const cr_oneof *o = f->ref;
    cr_buf_printf(out, "\n%s of these keys (%s)", o->required ? "Exactly one" : "At most one",
                  o->name);
    if (cr_conf_made(f)) cr_buf_printf(out, ", `%s` where none is given", f->str);
    cr_buf_str(out, ":\n\n| key | message | meaning |\n|---|---|---|\n");
    for (const cr_oneof_member *m = o->members; m->key; m++) {
        cr_buf_printf(out, "| `%s` | ", m->key);
        msg_ref(out, m->msg, true);
        cr_buf_str(out, " | ");
        cell(out, m->msg->help ? m->msg->help : "");
        cr_buf_str(out, m->msg->later  ? "; *not in this version* |\n"
                        : m->msg->ours ? "; *crank only* |\n"
                                       : " |\n");
    }
}

static bool uses(const cr_msg *m, const cr_msg *other) {
    for (const cr_field *f = m->fields; f->name; f++) {
        if (f->type == CR_T_MSG && f->ref == other) return true;
        if (f->type != CR_T_ONEOF) continue;
        for (const cr_oneof_member *o = ((const cr_oneof *)f->ref)->members; o->key; o++)
            if (o->msg == other) return true;
    }
    return false;
}

static void write_page(cr_buf *out, const list *l, const cr_msg *m) {
    cr_buf_printf(out, "# %s\n\n", m->name);
    cell(out, m->help ? m->help : "");
    cr_buf_str(out, m->later  ? ". *Not in this version.*\n"
                    : m->ours ? ". *crank only.*\n"
                              : ".\n");
    bool first = true;
    for (size_t i = 0; i < l->n; i++) {
        if (!uses(l->v[i].msg, m)) continue;
        cr_buf_str(out, first ? "\nUsed in " : ", ");
        msg_ref(out, l->v[i].msg, true);
        first = false;
    }
    if (!first) cr_buf_str(out, ".\n");
    bool rows = false;
    for (const cr_field *f = m->fields; f->name; f++) {
        if (f->type == CR_T_ONEOF) continue;
        if (!rows) cr_buf_str(out, "\n| key | type | default | meaning |\n|---|---|---|---|\n");
        rows = true;
        page_row(out, f);
    }
    for (const cr_field *f = m->fields; f->name; f++)
        if (f->type == CR_T_ONEOF) page_oneof(out, f), rows = true;
    for (const cr_field *f = m->fields; f->name; f++)
        if (f->type == CR_T_ENUM) page_enum(out, f);
    if (!rows) cr_buf_printf(out, "\n%s\n", m->later ? UNREAD_KEYS : "It has no keys.");
}

void cr_conf_reference(const cr_msg *root,
                       void (*page)(void *ctx, const cr_msg *msg, const char *text), void *ctx) {
    list l;
    cr_buf text;
    collect(&l, root);
    cr_buf_init(&text);
    for (size_t i = 0; i < l.n; i++) {
        cr_buf_reset(&text);
        write_page(&text, &l, l.v[i].msg);
        page(ctx, l.v[i].msg, text.data);
    }
    cr_buf_clear(&text);
    cr_free(l.v);
}
