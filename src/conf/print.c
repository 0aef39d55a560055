/*
 * print.c - a tree as YAML, protobuf text or JSON: what is set, in table order, in canonical
 * spelling.
 *
 * The printed text binds to an equal struct, whichever syntax the tree came from: numbers are read
 * and written anew (010 is eight in protobuf text and ten in YAML), strings are escaped as the
 * target wants them ("\x1d" is "\035" in protobuf text, where \x would swallow a following digit),
 * repeated keys become lists, entries of maps become plain mappings.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "base/shown.h"
#include "base/utf8.h"
#include "conf/conf.h"
#include "conf/conf_int.h"

typedef struct printer {
    cr_buf *out;
    cr_arena arena;
    bool pb, json; /* both false: YAML */
    bool dash;     /* YAML: the next line begins with "- " */
    bool first;    /* JSON: the object or array is still empty */
} printer;

#define KEY_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
enum { WRAP = 96, LONG_KEY = 400 /* YAML allows 1024 for a plain 'key: value' */ };

static void print_msg(printer *p, const cr_msg *msg, const cr_conf_node *map, int indent,
                      int depth);

/* line begins a line with key, or without one when key is "". */
static void line(printer *p, int indent, const char *key) {
    if (p->json) {
        cr_buf_str(p->out, p->first ? "\n" : ",\n");
        p->first = false;
        cr_buf_printf(p->out, *key ? "%*s\"%s\"" : "%*s%s", indent, "", key);
        return;
    }
    int pad = p->dash ? indent - 2 : indent;
    for (int i = 0; i < pad; i++)
        cr_buf_char(p->out, ' ');
    if (p->dash) cr_buf_str(p->out, "- ");
    p->dash = false;
    cr_buf_str(p->out, key);
}

/* end ends a line. In JSON the next line ends it, which knows whether a comma is needed. */
static void end(printer *p) {
    if (!p->json) cr_buf_char(p->out, '\n');
}

/* open_json opens an object or array of JSON; each of its items calls line. */
static void open_json(printer *p, char c) {
    cr_buf_char(p->out, c);
    p->first = true;
}
static void close_json(printer *p, int indent, char c) {
    if (!p->first) cr_buf_printf(p->out, "\n%*s", indent, "");
    cr_buf_char(p->out, c);
    p->first = false;
}

/* ---- strings ---- */

static void print_quoted(printer *p, const char *s, size_t n) {
    cr_buf_char(p->out, '"');
    for (const char *end = s + n; s < end;) {
        uint32_t c;
        size_t len = cr_utf8_get(s, (size_t)(end - s), &c);
        bool plain, known = cr_shown_char(s, (size_t)(end - s), &c, &plain) > 0;
        const char *esc = c == '"'    ? "\\\""
                          : c == '\\' ? "\\\\"
                          : c == '\n' ? "\\n"
                          : c == '\t' ? "\\t"
                          : c == '\r' ? "\\r"
                                      : NULL;
        if (esc)
            cr_buf_str(p->out, esc);
        else if (p->pb && known && !plain)
            for (size_t i = 0; i < len; i++)
                cr_buf_printf(p->out, "\\%03o", (unsigned)(unsigned char)s[i]);
        else if (!p->pb && !p->json && known && c < 0xa0 && !plain)
            cr_buf_printf(p->out, "\\x%02X", c);
        else if (!p->pb && known && (!plain || c == 0xfffe || c == 0xffff))
            cr_buf_printf(p->out, "\\u%04X", c);
        else
            cr_buf_add(p->out, s, len);
        s += len;
    }
    cr_buf_char(p->out, '"');
}

/* is_bare: do all readers of YAML accept the string without quotes? */
static bool is_bare(const char *s, size_t n) {
    static const char *const words[] = {"true", "false", "null", "yes", "no",  "on",  "off",
                                        "y",    "n",     "t",    "f",   "inf", "nan", NULL};
    if (n == 0 || n > 200 || !(isalpha((unsigned char)*s) || *s == '_' || *s == '/')) return false;
    for (size_t i = 1; i < n; i++) {
        bool colon = s[i] == ':' && i + 1 < n && isalnum((unsigned char)s[i + 1]);
        if (!isalnum((unsigned char)s[i]) && !strchr("_./-*", s[i]) && !colon) return false;
        if (s[i] == 0) return false;
    }
    for (int i = 0; words[i]; i++)
        if (strlen(words[i]) == n && strncasecmp(s, words[i], n) == 0) return false;
    return true;
}

static void print_str(printer *p, const char *s, size_t n) {
    if (!p->pb && !p->json && is_bare(s, n))
        cr_buf_add(p->out, s, n);
    else
        print_quoted(p, s, n);
}

/* ---- scalars ---- */

static void print_float(printer *p, double x) {
    char s[32];
    if (p->json && !isfinite(x)) /* JSON has no such numbers; protobuf writes them as strings */
        cr_buf_str(p->out, isnan(x) ? "\"NaN\"" : x < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    else if (isnan(x))
        cr_buf_str(p->out, p->pb ? "nan" : ".nan");
    else if (isinf(x))
        cr_buf_str(p->out, x < 0 ? (p->pb ? "-inf" : "-.inf") : p->pb ? "inf" : ".inf");
    else
        cr_buf_add(p->out, s, cr_fmt_f64(s, x));
}

static void print_free_scalar(printer *p, const cr_conf_node *n);

static void print_scalar(printer *p, cr_ftype type, const void *ref, const cr_conf_node *n) {
    bool yes, neg;
    uint64_t u;
    double x;
    const cr_enum_value *e;
    if (type == CR_T_BOOL && cr_conf_read_bool(n, &yes)) {
        cr_buf_str(p->out, yes ? "true" : "false");
    } else if ((type == CR_T_INT || type == CR_T_UINT64) && cr_conf_read_int(n, &u, &neg)) {
        cr_buf_printf(p->out, "%s%llu", neg ? "-" : "", (unsigned long long)u);
    } else if (type == CR_T_FLOAT && cr_conf_read_float(n, &x)) {
        print_float(p, x);
    } else if (type == CR_T_FLOAT && cr_conf_read_int(n, &u, &neg)) {
        print_float(p, neg ? -(double)u : (double)u);
    } else if (type == CR_T_ENUM && (e = cr_conf_read_enum(n, ref))) {
        cr_buf_printf(p->out, p->json ? "\"%s\"" : "%s", e->name);
    } else if (type == CR_T_TREE && n->kind == CR_NODE_SCALAR) {
        print_free_scalar(p, n);
    } else if (n->kind == CR_NODE_SCALAR) {
        print_str(p, n->text, n->len); /* a string, or a value that the binder refuses too */
    } else {
        print_str(p, "", 0);
    }
}

/* ---- free trees ---- */

/* print_flow writes one line, YAML in flow style or JSON. */
static void print_flow(printer *p, const cr_conf_node *n, int depth) {
    uint64_t u;
    bool neg;
    double x;
    if (depth > CR_CONF_MAX_DEPTH) {
        cr_buf_str(p->out, "null");
    } else if (n->kind == CR_NODE_SCALAR) {
        if (n->quoted)
            print_quoted(p, n->text, n->len);
        else if (cr_conf_is_null(n))
            cr_buf_str(p->out, "null");
        else if (cr_conf_read_int(n, &u, &neg))
            print_scalar(p, CR_T_INT, NULL, n);
        else if (cr_conf_read_float(n, &x))
            print_float(p, x);
        else if (!strcmp(n->text, "true") || !strcmp(n->text, "false"))
            cr_buf_str(p->out, n->text);
        else
            print_quoted(p, n->text, n->len); /* a string that needed no quotes in its file */
    } else {
        bool map = n->kind == CR_NODE_MAP;
        cr_buf_char(p->out, map ? '{' : '[');
        for (size_t i = 0; i < n->n; i++) {
            if (i) cr_buf_str(p->out, ", ");
            if (map) {
                size_t len = strlen(n->v[i].key);
                bool long_key = len > LONG_KEY && !p->json;
                if (long_key) cr_buf_str(p->out, "? ");
                print_quoted(p, n->v[i].key, len);
                cr_buf_str(p->out, long_key ? " : " : ": ");
            }
            print_flow(p, n->v[i].val, depth + 1);
        }
        cr_buf_char(p->out, map ? '}' : ']');
    }
}

/* print_free_scalar writes a value of a message that is known by name only. Its type is not known,
 * so the text is written as it is. */
static void print_free_scalar(printer *p, const cr_conf_node *n) {
    bool word = !n->quoted && n->from == CR_SYNTAX_PBTXT;
    if (word && p->pb)
        cr_buf_add(p->out, n->text, n->len);
    else if (n->quoted || (word && is_bare(n->text, n->len)))
        print_str(p, n->text, n->len);
    else
        print_flow(p, n, 0);
}

/* print_value writes a plain tree as google.protobuf.Value. */
static void print_value(printer *p, const cr_conf_node *n, int depth);

static void print_struct(printer *p, const cr_conf_node *n, int depth) {
    for (size_t i = 0; n->kind == CR_NODE_MAP && i < n->n; i++) {
        cr_buf_str(p->out, " fields { key: ");
        print_quoted(p, n->v[i].key, strlen(n->v[i].key));
        cr_buf_str(p->out, " value {");
        print_value(p, n->v[i].val, depth + 1);
        cr_buf_str(p->out, " } }");
    }
}

static void print_value(printer *p, const cr_conf_node *n, int depth) {
    uint64_t u;
    bool neg;
    double x;
    if (depth > CR_CONF_MAX_DEPTH) return;
    if (n->kind == CR_NODE_MAP) {
        cr_buf_str(p->out, " struct_value {");
        print_struct(p, n, depth);
        cr_buf_str(p->out, " }");
    } else if (n->kind == CR_NODE_LIST) {
        cr_buf_str(p->out, " list_value {");
        for (size_t i = 0; i < n->n; i++) {
            cr_buf_str(p->out, " values {");
            print_value(p, n->v[i].val, depth + 1);
            cr_buf_str(p->out, " }");
        }
        cr_buf_str(p->out, " }");
    } else if (!n->quoted && cr_conf_is_null(n)) {
        cr_buf_str(p->out, " null_value: NULL_VALUE");
    } else if (!n->quoted && (cr_conf_read_int(n, &u, &neg) || cr_conf_read_float(n, &x))) {
        cr_buf_str(p->out, " number_value: ");
        print_scalar(p, cr_conf_read_int(n, &u, &neg) ? CR_T_INT : CR_T_FLOAT, NULL, n);
    } else if (!n->quoted && (!strcmp(n->text, "true") || !strcmp(n->text, "false"))) {
        cr_buf_printf(p->out, " bool_value: %s", n->text);
    } else {
        cr_buf_str(p->out, " string_value: ");
        print_quoted(p, n->text, n->len);
    }
}

/* ---- rows ---- */

static void print_list(printer *p, const cr_field *f, cr_conf_iter it, int indent) {
    size_t n = 0, from = 0;
    for (const cr_conf_node *x; (x = cr_conf_next(&it)); n++) {
        if (n == 0) {
            from = p->out->n;
            line(p, indent, f->name);
            cr_buf_str(p->out, ": [");
        } else if (p->out->n - from > WRAP) {
            cr_buf_str(p->out, ",\n");
            from = p->out->n;
            cr_buf_printf(p->out, "%*s", indent + 4, "");
        } else {
            cr_buf_str(p->out, ", ");
        }
        print_scalar(p, f->type, f->ref, x);
    }
    if (!n) return;
    cr_buf_char(p->out, ']');
    end(p);
}

static void print_block(printer *p, const char *key, const cr_msg *msg, const cr_conf_node *map,
                        int indent, int depth) {
    line(p, indent, key);
    if (p->json) {
        cr_buf_str(p->out, ": ");
        open_json(p, '{');
        print_msg(p, msg, map, indent + 2, depth + 1);
        close_json(p, indent, '}');
        return;
    }
    cr_buf_str(p->out, p->pb ? " {\n" : ":\n");
    size_t before = p->out->n;
    print_msg(p, msg, map, indent + 2, depth + 1);
    if (p->pb) {
        if (p->out->n == before)
            p->out->n--; /* 'key {}' on one line */
        else
            line(p, indent, "");
        cr_buf_str(p->out, "}\n");
    } else if (p->out->n == before) {
        p->out->n--;
        cr_buf_str(p->out, " {}\n");
    }
}

static const cr_conf_node *empty_map(printer *p) {
    cr_conf_node *n = CR_NEW(&p->arena, cr_conf_node);
    n->kind = CR_NODE_MAP;
    n->text = "";
    return n;
}

static void print_msgs(printer *p, const cr_field *f, cr_conf_iter it, int indent, int depth) {
    bool any = false;
    for (const cr_conf_node *x; (x = cr_conf_next(&it)); any = true) {
        if (x->kind != CR_NODE_MAP) x = empty_map(p);
        if (p->pb) {
            print_block(p, f->name, f->ref, x, indent, depth);
            continue;
        }
        if (!any) {
            line(p, indent, f->name);
            cr_buf_str(p->out, p->json ? ": " : ":\n");
            if (p->json) open_json(p, '[');
        }
        if (p->json) {
            line(p, indent + 2, "");
            open_json(p, '{');
            print_msg(p, f->ref, x, indent + 4, depth + 1);
            close_json(p, indent + 2, '}');
            continue;
        }
        p->dash = true;
        print_msg(p, f->ref, x, indent + 4, depth + 1);
        if (p->dash) {
            line(p, indent + 4, "{}\n");
        }
    }
    if (p->json && any) close_json(p, indent, ']');
}

/* print_joined writes all values of one key (a message field, or one member of a oneof) as one. */
static void print_joined(printer *p, const char *key, const cr_msg *msg, const cr_msg *of,
                         cr_conf_iter it, const cr_oneof_member *member, int indent, int depth) {
    const cr_conf_node *all = NULL;
    for (const cr_conf_node *x; (x = cr_conf_next(&it));) {
        const cr_oneof_member *m;
        cr_conf_index(of, it.map, it.key, &m);
        if (m != member) continue;
        if (x->kind != CR_NODE_MAP) x = empty_map(p);
        all = all ? cr_conf_join(&p->arena, all, x) : x;
    }
    if (all) print_block(p, key, msg, all, indent, depth);
}

typedef struct pair {
    const char *key;
    size_t len;
    const cr_conf_node *val;
} pair;

static void json_pairs(printer *p, const cr_field *f, cr_ftype type, const pair *v, size_t n,
                       int indent) {
    if (n == 0) return;
    line(p, indent, f->name);
    cr_buf_str(p->out, ": ");
    open_json(p, '{');
    for (size_t i = 0; i < n; i++) {
        line(p, indent + 2, "");
        print_quoted(p, v[i].key, v[i].len);
        cr_buf_str(p->out, ": ");
        print_scalar(p, type, NULL, v[i].val);
    }
    close_json(p, indent, '}');
}

static void text_pairs(printer *p, const cr_field *f, cr_ftype type, const pair *v, size_t n,
                       bool long_key, int indent) {
    if (!p->pb && n) {
        line(p, indent, f->name);
        cr_buf_str(p->out, ":\n");
    }
    for (size_t i = 0; i < n; i++) {
        line(p, p->pb ? indent : indent + 2, "");
        if (p->pb)
            cr_buf_printf(p->out, "%s { key: ", f->name);
        else if (long_key)
            cr_buf_str(p->out, "- key: ");
        print_quoted(p, v[i].key, v[i].len);
        if (!p->pb && long_key) {
            cr_buf_str(p->out, "\n");
            line(p, indent + 4, "value");
        } else if (p->pb) {
            cr_buf_str(p->out, " value");
        }
        cr_buf_str(p->out, ": ");
        print_scalar(p, type, NULL, v[i].val);
        cr_buf_str(p->out, p->pb ? " }\n" : "\n");
    }
}

static void print_map(printer *p, const cr_field *f, cr_conf_iter it, int indent) {
    static const cr_conf_node zero = {.kind = CR_NODE_SCALAR, .text = "0", .len = 1};
    cr_ftype type = f->type == CR_T_MAP_INT ? CR_T_UINT64 : CR_T_FLOAT;
    size_t n = 0, cap = 0;
    bool long_key = false;
    cr_map index;
    cr_map_init(&index);
    cr_conf_iter count = it;
    for (const cr_conf_node *x; (x = cr_conf_next(&count));)
        cap += x->kind == CR_NODE_MAP ? x->n + 1 : 0;
    pair *pairs = CR_NEW_N(&p->arena, pair, cap ? cap : 1);
    for (const cr_conf_node *x; (x = cr_conf_next(&it));) {
        if (x->kind != CR_NODE_MAP) continue;
        bool entry = it.in_list || x->from == CR_SYNTAX_PBTXT;
        for (size_t i = 0; i < (entry ? 1 : x->n); i++) {
            const cr_conf_node *k = entry ? cr_conf_find(x, "key") : NULL;
            const cr_conf_node *v = entry ? cr_conf_find(x, "value") : x->v[i].val;
            const char *key = !entry ? x->v[i].key : k && k->kind == CR_NODE_SCALAR ? k->text : "";
            pair one = {key, strlen(key), v ? v : &zero};
            int64_t at = cr_map_get(&index, key, one.len, -1);
            if (at < 0) cr_map_put(&index, key, one.len, at = (int64_t)n++);
            pairs[at] = one;
            long_key |= one.len > LONG_KEY;
        }
    }
    cr_map_clear(&index);
    if (p->json)
        json_pairs(p, f, type, pairs, n, indent);
    else
        text_pairs(p, f, type, pairs, n, long_key, indent);
}

static void print_tree(printer *p, const cr_field *f, cr_conf_iter it, int indent) {
    const cr_conf_node *all = NULL;
    for (const cr_conf_node *x; (x = cr_conf_next(&it));)
        all = all && all->kind == CR_NODE_MAP && x->kind == CR_NODE_MAP
                  ? cr_conf_join(&p->arena, all, x)
                  : x;
    if (!all) return;
    all = cr_conf_struct(&p->arena, all, NULL);
    line(p, indent, f->name);
    if (p->pb) {
        cr_buf_str(p->out, " {");
        print_struct(p, all, 0);
        cr_buf_str(p->out, " }\n");
    } else {
        cr_buf_str(p->out, ": ");
        print_flow(p, all, 0);
        end(p);
    }
}

/* print_unread writes the whole content, in file order, of a message that is known by name only.
 * Keys that no message can have are left out. */
static void print_unread(printer *p, const cr_msg *msg, const cr_conf_node *map, int indent,
                         int depth) {
    int16_t *rows = CR_NEW_N(&p->arena, int16_t, map->n ? map->n : 1);
    for (size_t i = 0; i < map->n; i++) {
        cr_field f = {.name = map->v[i].key, .type = CR_T_TREE, .ref = msg};
        bool again = false;
        int same = 0;
        for (size_t k = 0; k < map->n; k++) {
            bool is = strcmp(map->v[k].key, f.name) == 0;
            again |= is && k < i;
            rows[k] = is ? 0 : -1;
            same += is;
        }
        if (again || f.name[strspn(f.name, KEY_CHARS)]) continue;
        const cr_conf_node *x = map->v[i].val;
        cr_conf_iter it = {.map = map, .rows = rows, .open = true}, probe = it;
        const cr_conf_node *item = cr_conf_next(&probe);
        if (item && item->kind == CR_NODE_MAP && (same > 1 || x != item)) {
            print_msgs(p, &f, it, indent, depth);
        } else if (x->kind == CR_NODE_MAP) {
            print_block(p, f.name, msg, x, indent, depth);
        } else if (same > 1 || x != item) {
            print_list(p, &f, it, indent);
        } else {
            line(p, indent, f.name);
            cr_buf_str(p->out, ": ");
            print_scalar(p, f.type, NULL, x);
            end(p);
        }
    }
}

static void print_msg(printer *p, const cr_msg *msg, const cr_conf_node *map, int indent,
                      int depth) {
    if (depth > CR_CONF_MAX_DEPTH) return;
    if (msg->later) {
        print_unread(p, msg, map, indent, depth);
        return;
    }
    const int16_t *rows = cr_conf_rows(&p->arena, msg, map);
    for (int i = 0; msg->fields[i].name; i++) {
        const cr_field *f = &msg->fields[i];
        bool maps = f->type == CR_T_MAP_INT || f->type == CR_T_MAP_FLOAT;
        bool many = f->flags & CR_F_REPEATED;
        cr_conf_iter it = {.map = map, .rows = rows, .row = i, .open = many || maps};
        if (f->type == CR_T_ONEOF) {
            for (const cr_oneof_member *m = ((const cr_oneof *)f->ref)->members; m->key; m++)
                print_joined(p, m->key, m->msg, msg, it, m, indent, depth);
        } else if (f->type == CR_T_MSG) {
            if (many)
                print_msgs(p, f, it, indent, depth);
            else
                print_joined(p, f->name, f->ref, msg, it, NULL, indent, depth);
        } else if (maps) {
            print_map(p, f, it, indent);
        } else if (f->type == CR_T_TREE) {
            print_tree(p, f, it, indent);
        } else if (many) {
            print_list(p, f, it, indent);
        } else {
            const cr_conf_node *last = NULL;
            for (const cr_conf_node *x; (x = cr_conf_next(&it));)
                last = x;
            if (!last) continue;
            line(p, indent, f->name);
            cr_buf_str(p->out, ": ");
            print_scalar(p, f->type, f->ref, last);
            end(p);
        }
    }
}

void cr_conf_print(cr_buf *out, const cr_msg *root, const cr_conf_node *node, cr_syntax syntax) {
    printer p = {.out = out,
                 .pb = syntax == CR_SYNTAX_PBTXT,
                 .json = syntax == CR_SYNTAX_JSON,
                 .first = true};
    if (!node || node->kind != CR_NODE_MAP) return;
    cr_arena_init(&p.arena, 0);
    if (p.json) cr_buf_char(out, '{');
    print_msg(&p, root, node, p.json ? 2 : 0, 0);
    if (p.json) {
        close_json(&p, 0, '}');
        cr_buf_char(out, '\n');
    }
    cr_arena_clear(&p.arena);
}
