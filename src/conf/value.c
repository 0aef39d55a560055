/*
 * value.c - the value of a bound field as one line of text, the same for the same value whatever
 * the syntax of the file was and whether the value was written or is a default. Two configs can be
 * compared by these texts, and people can read them in messages.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "conf/conf.h"
#include "conf/conf_int.h"

static void quoted(cr_buf *out, const char *s) {
    cr_json_escape(out, s, strlen(s));
}

static void number(cr_buf *out, double x) {
    char text[32];
    cr_buf_add(out, text, cr_fmt_f64(text, x));
}

static void enum_name(cr_buf *out, const cr_enum_value *e, int value) {
    for (; e->name; e++)
        if (e->value == value) {
            cr_buf_str(out, e->name);
            return;
        }
    cr_buf_i64(out, value);
}

static void message(cr_buf *out, const void *conf) {
    const cr_conf_base *base = conf;
    if (!base) {
        cr_buf_str(out, "none");
        return;
    }
    cr_buf_char(out, '{');
    const char *between = "";
    for (const cr_field *f = base->msg->fields; f->name; f++) {
        if (f->offset == CR_NO_STORE) continue;
        cr_buf_printf(out, "%s%s: ", between, f->name);
        cr_conf_value(out, conf, f);
        between = ", ";
    }
    cr_buf_char(out, '}');
}

void cr_conf_flow(cr_buf *out, const cr_conf_node *n, bool quotes) {
    if (n->kind == CR_NODE_SCALAR) {
        if (quotes)
            quoted(out, n->text);
        else
            cr_buf_str(out, n->text);
        return;
    }
    bool map = n->kind == CR_NODE_MAP;
    cr_buf_char(out, map ? '{' : '[');
    for (size_t i = 0; i < n->n; i++) {
        if (i) cr_buf_str(out, ", ");
        if (map) cr_buf_printf(out, "%s: ", n->v[i].key);
        cr_conf_flow(out, n->v[i].val, quotes);
    }
    cr_buf_char(out, map ? '}' : ']');
}

/* tree writes a free-form value as it stands in the file. */
static void tree(cr_buf *out, const cr_conf_node *n) {
    if (n)
        cr_conf_flow(out, n, true);
    else
        cr_buf_str(out, "none");
}

static void map_entries(cr_buf *out, const cr_conf_map *m, bool floats) {
    cr_buf_char(out, '{');
    for (int64_t i = 0; i < m->n; i++) {
        if (i) cr_buf_str(out, ", ");
        quoted(out, m->v[i].key);
        cr_buf_str(out, ": ");
        if (floats)
            number(out, m->v[i].f);
        else
            cr_buf_printf(out, "%" PRIu64, m->v[i].i);
    }
    cr_buf_char(out, '}');
}

/* item writes item i of a repeated field; the list types of field.h all begin with their array and
 * count. */
static void item(cr_buf *out, const cr_field *f, const void *p, int64_t i) {
    switch (f->type) {
    case CR_T_INT: cr_buf_printf(out, "%" PRId64, ((const cr_ints *)p)->v[i]); break;
    case CR_T_UINT64: cr_buf_printf(out, "%" PRIu64, (uint64_t)((const cr_ints *)p)->v[i]); break;
    case CR_T_FLOAT: number(out, ((const cr_floats *)p)->v[i]); break;
    case CR_T_STR: quoted(out, ((const cr_strs *)p)->v[i]); break;
    case CR_T_ENUM: enum_name(out, f->ref, ((const cr_enums *)p)->v[i]); break;
    case CR_T_MSG: message(out, ((const cr_msgs *)p)->v[i]); break;
    default: CR_BUG("a list of this type has no text");
    }
}

static int64_t count(const cr_field *f, const void *p) {
    switch (f->type) {
    case CR_T_INT:
    case CR_T_UINT64: return ((const cr_ints *)p)->n;
    case CR_T_FLOAT: return ((const cr_floats *)p)->n;
    case CR_T_STR: return ((const cr_strs *)p)->n;
    case CR_T_ENUM: return ((const cr_enums *)p)->n;
    case CR_T_MSG: return ((const cr_msgs *)p)->n;
    default: return 0;
    }
}

void cr_conf_value(cr_buf *out, const void *conf, const cr_field *f) {
    CR_ASSERT(f->offset != CR_NO_STORE);
    const void *p = (const char *)conf + f->offset;
    if (f->flags & CR_F_REPEATED) {
        cr_buf_char(out, '[');
        for (int64_t i = 0; i < count(f, p); i++) {
            if (i) cr_buf_str(out, ", ");
            item(out, f, p, i);
        }
        cr_buf_char(out, ']');
        return;
    }
    switch (f->type) {
    case CR_T_BOOL: cr_buf_str(out, *(const bool *)p ? "true" : "false"); break;
    case CR_T_INT: cr_buf_printf(out, "%" PRId64, *(const int64_t *)p); break;
    case CR_T_UINT64: cr_buf_printf(out, "%" PRIu64, *(const uint64_t *)p); break;
    case CR_T_FLOAT: number(out, *(const double *)p); break;
    case CR_T_STR: quoted(out, *(const char *const *)p); break;
    case CR_T_ENUM: enum_name(out, f->ref, *(const int *)p); break;
    case CR_T_MSG: message(out, *(void *const *)p); break;
    case CR_T_ONEOF: {
        const cr_choice *c = p;
        cr_buf_str(out, c->m ? c->m->key : "none");
        if (c->m && c->conf) {
            cr_buf_char(out, ' ');
            message(out, c->conf);
        }
        break;
    }
    case CR_T_MAP_INT: map_entries(out, p, false); break;
    case CR_T_MAP_FLOAT: map_entries(out, p, true); break;
    case CR_T_TREE: tree(out, *(const cr_conf_node *const *)p); break;
    }
}
