/*
 * edit.c - changes to a tree by path: --set, --edit_config_json.
 *
 * A path is checked against the tables before anything is touched, then walked on the tree with a
 * set of maps (a selector may choose several items). Before a field is changed its entries are
 * brought into one form (one map, one scalar, one list), whatever the file used. This file only
 * makes the new value a node; the binder checks later whether it fits the field, and reports the
 * place inside the --set text.
 */
#include <string.h>

#include "base/utf8.h"
#include "conf/conf.h"
#include "conf/conf_int.h"

typedef struct step {
    const char *name;
    const char *sel; /* the text inside the brackets; NULL: none */
    int col, sel_col;
    int row;
    const cr_oneof_member *member;
    const cr_msg *in;  /* the message that has the name as a key */
    const cr_msg *msg; /* the message that the step leads to; NULL: it leads to a value */
    bool list;
} step;

typedef struct editor {
    cr_conf_doc *doc;
    cr_diag *diag;
    const char *origin; /* "--set" */
    int line;
    bool append; /* an index one past the end adds an item */
    step steps[CR_CONF_MAX_DEPTH];
    int n_steps;
} editor;

typedef struct targets {
    cr_conf_node **v;
    size_t n, cap;
} targets;

static cr_loc at_col(const editor *e, int col) {
    return (cr_loc){e->origin, e->line, col};
}

#define fail(e, col, ...)                                                                          \
    (cr_diag_add((e)->diag, CR_SEV_ERROR, CR_EUSAGE, at_col((e), (col)), __VA_ARGS__), false)

static void add_target(editor *e, targets *t, cr_conf_node *n) {
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 8;
        cr_conf_node **v = CR_NEW_N(&e->doc->arena, cr_conf_node *, cap);
        if (t->n) memcpy(v, t->v, t->n * sizeof *v);
        t->v = v;
        t->cap = cap;
    }
    t->v[t->n++] = n;
}

/* ---- paths ---- */

static bool parse_path(editor *e, const char *text, size_t n, int col0) {
    const char *s = text, *end = text + n;
    e->n_steps = 0;
    for (;;) {
        while (s < end && *s == ' ')
            s++;
        const char *from = s;
        while (s < end && *s != '.' && *s != '[' && *s != ' ')
            s++;
        step st = {.col = col0 + (int)(from - text)};
        if (s == from) return fail(e, st.col, "a key is missing in the path; write a.b[0].c");
        if (e->n_steps == CR_CONF_MAX_DEPTH)
            return fail(e, st.col, "the path has more than %d keys; shorten it",
                        (int)CR_CONF_MAX_DEPTH);
        st.name = cr_arena_strndup(&e->doc->arena, from, (size_t)(s - from));
        if (s < end && *s == '[') {
            int open = 0;
            const char *sel = s + 1;
            for (; s < end; s++) {
                open += *s == '[';
                open -= *s == ']';
                if (open == 0) break;
            }
            st.sel_col = col0 + (int)(sel - text);
            if (s == end) return fail(e, st.sel_col - 1, "'[' is never closed; add ']'");
            st.sel = cr_arena_strndup(&e->doc->arena, sel, (size_t)(s - sel));
            s++;
        }
        e->steps[e->n_steps++] = st;
        while (s < end && *s == ' ')
            s++;
        if (s == end) return true;
        if (*s != '.')
            return fail(e, col0 + (int)(s - text), "found '%c' in the path; put '.' or '=' there",
                        *s);
        s++;
    }
}

/* check_path gives each step its row, and reports names that the tables do not know. */
static bool check_path(editor *e, const cr_msg *root) {
    static const cr_conf_node map = {.kind = CR_NODE_MAP};
    const cr_msg *msg = root;
    for (int i = 0; i < e->n_steps; i++) {
        step *s = &e->steps[i];
        if (!msg)
            return fail(e, s->col, "'%s' has no keys of its own; end the path there",
                        e->steps[i - 1].name);
        if (msg->later)
            return fail(e, s->col, "'%s' is known but not available in this version; remove it",
                        e->steps[i - 1].name);
        s->in = msg;
        s->row = cr_conf_index(msg, &map, s->name, &s->member);
        if (s->row < 0) {
            const char *near = cr_conf_meant(msg, s->name);
            const char *in = i ? " in " : "",
                       *where = i ? e->steps[i - 1].name : " at the top level";
            if (strchr(s->name, '\\'))
                return fail(e, s->col, "unknown key '%.100s'%s%s; remove the backslashes", s->name,
                            in, where);
            if (near)
                return fail(e, s->col, "unknown key '%.100s'%s%s; did you mean '%s'?", s->name, in,
                            where, near);
            return fail(e, s->col, "unknown key '%.100s'%s%s; see 'crank help %s' for its keys",
                        s->name, in, where, msg->name);
        }
        const cr_field *f = &msg->fields[s->row];
        s->list = f->flags & CR_F_REPEATED;
        s->msg = s->member ? s->member->msg : f->type == CR_T_MSG ? f->ref : NULL;
        if (s->sel && !s->list)
            return fail(e, s->sel_col - 1, "'%s' is not a list; remove '[%.60s]'", s->name, s->sel);
        if (s->list && !s->sel && i + 1 < e->n_steps)
            return fail(e, s->col, "'%s' is a list; choose items, as in %s[0] or %s[:]", s->name,
                        s->name, s->name);
        msg = s->msg;
    }
    return true;
}

/* ---- one field of a map, in one form ---- */

static bool belongs(const cr_conf_node *map, const step *s, const char *key, bool any_member) {
    const cr_oneof_member *m;
    int row = cr_conf_index(s->in, map, key, &m);
    return row == s->row && (any_member ? m != s->member : m == s->member);
}

/* collapse takes all entries of the field out of the map and returns them as one node, NULL when
 * there were none. *at becomes the place of the first. */
static cr_conf_node *collapse(editor *e, cr_conf_node *map, const step *s, size_t *pos,
                              cr_loc *at) {
    cr_conf_node *all = NULL;
    size_t n = 0;
    *pos = map->n;
    for (size_t i = 0; i < map->n; i++) {
        cr_conf_entry *en = &map->v[i];
        if (!belongs(map, s, en->key, false)) {
            map->v[n++] = *en;
            continue;
        }
        if (*pos == map->n) {
            *pos = n;
            *at = en->at;
        }
        cr_conf_node *v = en->val;
        if (s->list) {
            if (!all) {
                all = cr_conf_new(e->doc, CR_NODE_LIST, v->at);
                all->from = v->from;
            }
            if (v->kind == CR_NODE_LIST)
                for (size_t j = 0; j < v->n; j++)
                    cr_conf_push(e->doc, all, NULL, v->v[j].at, v->v[j].val);
            else if (!cr_conf_is_null(v))
                cr_conf_push(e->doc, all, NULL, en->at, v);
        } else if (s->msg && all && all->kind == CR_NODE_MAP && v->kind == CR_NODE_MAP) {
            all = cr_conf_join(&e->doc->arena, all, v);
        } else {
            all = v;
        }
    }
    if (*pos > n) *pos = n;
    map->n = n;
    return all;
}

static void put_back(editor *e, cr_conf_node *map, const step *s, size_t pos, cr_loc at,
                     cr_conf_node *val) {
    cr_conf_push(e->doc, map, s->name, at, val);
    cr_conf_entry last = map->v[map->n - 1];
    memmove(map->v + pos + 1, map->v + pos, (map->n - 1 - pos) * sizeof *map->v);
    map->v[pos] = last;
}

/* A oneof has one member: drop_rivals removes the member that was there before another is
 * chosen. */
static void drop_rivals(cr_conf_node *map, const step *s) {
    size_t n = 0;
    if (!s->member) return;
    for (size_t i = 0; i < map->n; i++)
        if (!belongs(map, s, map->v[i].key, true)) map->v[n++] = map->v[i];
    map->n = n;
}

static cr_conf_node *new_map(editor *e, int col) {
    cr_conf_node *n = cr_conf_new(e->doc, CR_NODE_MAP, at_col(e, col));
    n->from = CR_SYNTAX_YAML;
    return n;
}

/* field_node returns the map of a message field, or the list of a repeated one; it makes them when
 * absent. */
static cr_conf_node *field_node(editor *e, cr_conf_node *map, const step *s) {
    size_t pos;
    /* an existing message keeps its place; only the value set inside it has a new one */
    cr_loc at = at_col(e, s->col);
    cr_conf_node *v = collapse(e, map, s, &pos, &at);
    if (s->list) {
        if (!v) {
            v = cr_conf_new(e->doc, CR_NODE_LIST, at_col(e, s->col));
            v->from = CR_SYNTAX_YAML;
        }
    } else if (!v || v->kind != CR_NODE_MAP) {
        drop_rivals(map, s);
        if (pos > map->n) pos = map->n;
        v = new_map(e, s->col);
    }
    put_back(e, map, s, pos, at, v);
    return v;
}

/* ---- selectors ---- */

/* look returns the scalar at a plain path below a map, NULL when absent. *f is its row, NULL for a
 * bad path. */
static const cr_conf_node *look(editor *e, const cr_conf_node *map, const cr_msg *msg,
                                const char *path, const cr_field **f, int col) {
    const char *s = path;
    *f = NULL;
    for (int depth = 0; depth < CR_CONF_MAX_DEPTH; depth++) {
        size_t len = strcspn(s, ".");
        char *name = cr_arena_strndup(&e->doc->arena, s, len);
        while (len && name[len - 1] == ' ')
            name[--len] = 0;
        static const cr_conf_node plain = {.kind = CR_NODE_MAP};
        const cr_oneof_member *m;
        int row = cr_conf_index(msg, map ? map : &plain, name, &m);
        if (row < 0) {
            const char *near = cr_conf_meant(msg, name);
            (void)fail(e, col, "unknown key '%.100s' in %s; %s%s%s", name, msg->name,
                       near ? "did you mean '" : "see 'crank help ", near ? near : msg->name,
                       near ? "'?" : "'");
            return NULL;
        }
        const cr_field *row_f = &msg->fields[row];
        const cr_msg *next = m ? m->msg : row_f->type == CR_T_MSG ? row_f->ref : NULL;
        cr_conf_iter it = {.map = map, .row = row};
        const cr_conf_node *last = NULL, *x;
        if (map) {
            it.rows = cr_conf_rows(&e->doc->arena, msg, map);
            while ((x = cr_conf_next(&it))) {
                const cr_oneof_member *xm;
                cr_conf_index(msg, map, it.key, &xm);
                if (xm == m) last = x;
            }
        }
        s += strcspn(s, ".");
        if (*s == 0) {
            if (next || row_f->flags & CR_F_REPEATED || row_f->type > CR_T_ENUM) {
                (void)fail(e, col, "'%s' is not a single value; compare one of its keys", name);
                return NULL;
            }
            *f = row_f;
            return last;
        }
        if (!next || row_f->flags & CR_F_REPEATED) {
            (void)fail(e, col, "'%s' cannot be looked into; compare a single value", name);
            return NULL;
        }
        s++;
        map = last && last->kind == CR_NODE_MAP ? last : NULL;
        msg = next;
    }
    return NULL;
}

/* comparable reads a number or a text to compare; false when the node is not of the row's type. */
static bool comparable(const cr_field *f, const cr_conf_node *n, double *num, const char **str) {
    bool yes, neg;
    uint64_t u;
    const cr_enum_value *ev;
    *str = NULL;
    switch (f->type) {
    case CR_T_STR:
        *str = n ? n->text : f->str ? f->str : "";
        return !n || n->kind == CR_NODE_SCALAR;
    case CR_T_BOOL:
        if (n && !cr_conf_read_bool(n, &yes)) return false;
        *num = n ? yes : f->num;
        return true;
    case CR_T_ENUM:
        ev = n ? cr_conf_read_enum(n, f->ref) : NULL;
        *num = n ? (ev ? ev->value : 0) : f->num;
        return !n || ev;
    case CR_T_FLOAT:
        if (n && cr_conf_read_float(n, num)) return true;
        break;
    default: break;
    }
    if (n && !cr_conf_read_int(n, &u, &neg)) return false;
    *num = n ? (neg ? -(double)u : (double)u) : f->num;
    return true;
}

static cr_conf_node *raw_scalar(editor *e, const char *s, size_t n, bool quoted, int col) {
    cr_conf_node *v =
        cr_tree_scalar(e->doc, cr_arena_strndup(&e->doc->arena, s, n), quoted, at_col(e, col));
    v->from = CR_SYNTAX_YAML;
    return v;
}

/* matches decides whether an item fits a filter [path op value]. */
static bool matches(editor *e, const step *s, const cr_conf_node *item, const char *op, int op_len,
                    bool *hit) {
    const char *path = cr_arena_strndup(&e->doc->arena, s->sel, (size_t)(op - s->sel));
    const char *val = op + op_len;
    while (*val == ' ')
        val++;
    const cr_field *f;
    const cr_conf_node *have = look(e, item, s->msg, path, &f, s->sel_col);
    if (!f) return false;
    size_t len = strlen(val);
    if (len > 1 && (*val == '"' || *val == '\'') && val[len - 1] == *val) val++, len -= 2;
    const cr_conf_node *want = raw_scalar(e, val, len, false, s->sel_col + (int)(val - s->sel));
    double a = 0, b = 0;
    const char *as, *bs;
    if (!comparable(f, want, &b, &bs))
        return fail(e, want->at.col, "'%.60s' cannot be compared with %s; give a value of its type",
                    want->text, f->name);
    int cmp;
    if (!comparable(f, have, &a, &as)) return *hit = false, true; /* the binder reports the item */
    if (bs)
        cmp = strcmp(as, bs);
    else
        cmp = a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
    if (op[0] == '=')
        *hit = cmp == 0;
    else if (op[0] == '>')
        *hit = cmp == 1 || (cmp > 0 && bs) || (op_len == 2 && cmp == 0);
    else
        *hit = (cmp < 0) || (op_len == 2 && cmp == 0);
    return true;
}

/* find_op finds the operator of a filter: the first of this list that occurs, at its right-most
 * place. */
static const char *find_op(const char *sel, int *len) {
    static const char *const ops[] = {">=", "<=", ">", "<", "="};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const char *last = NULL, *at = sel;
        while ((at = strstr(at, ops[i]))) {
            last = at;
            at++;
        }
        *len = (int)strlen(ops[i]);
        if (last) return last;
    }
    return NULL;
}

static bool read_index(const char *s, size_t n, int64_t *out) {
    while (n && *s == ' ')
        s++, n--;
    while (n && s[n - 1] == ' ')
        n--;
    return cr_parse_i64(s, n, out) && *out > -(1 << 30) && *out < 1 << 30;
}

/* choose lists the items of the list that the selector names. */
static bool choose(editor *e, const step *s, cr_conf_node *list, size_t **chosen, size_t *n) {
    size_t *v = CR_NEW_N(&e->doc->arena, size_t, list->n + 1);
    int64_t count = (int64_t)list->n, a = 0, b = count;
    int op_len = 0;
    const char *colon = strchr(s->sel, ':'), *op = find_op(s->sel, &op_len);
    *n = 0;
    *chosen = v;
    if (op) {
        if (!s->msg)
            return fail(e, s->sel_col, "'%s' holds plain values; choose by number, as in %s[0]",
                        s->name, s->name);
        for (size_t i = 0; i < list->n; i++) {
            bool hit = false;
            if (!matches(e, s, list->v[i].val, op, op_len, &hit)) return false;
            if (hit) v[(*n)++] = i;
        }
        if (*n == 0)
            return fail(e, s->sel_col, "no item of '%s' has %.100s; there are %lld items", s->name,
                        s->sel, (long long)count);
        return true;
    }
    if (!colon) {
        if (!read_index(s->sel, strlen(s->sel), &a))
            return fail(e, s->sel_col,
                        "'[%.60s]' is no selector; write [0], [1:3], [:] or [key=value]", s->sel);
        if (a == count && e->append) {
            cr_conf_node *item = s->msg ? new_map(e, s->col) : raw_scalar(e, "", 0, true, s->col);
            cr_conf_push(e->doc, list, NULL, at_col(e, s->col), item);
            count++;
        }
        int64_t i = a < 0 ? a + count : a;
        if (i < 0 || i >= count)
            return fail(e, s->sel_col, "'%s' has %lld items; %lld is not among them", s->name,
                        (long long)count, (long long)a);
        v[(*n)++] = (size_t)i;
        return true;
    }
    bool ok = colon == s->sel || read_index(s->sel, (size_t)(colon - s->sel), &a);
    ok = ok && (colon[1] == 0 || read_index(colon + 1, strlen(colon + 1), &b));
    if (!ok)
        return fail(e, s->sel_col, "'[%.60s]' is no range; write [1:3], [1:], [:3] or [:]", s->sel);
    a = a < 0 ? (a + count < 0 ? 0 : a + count) : a;
    b = b < 0 ? b + count : b > count ? count : b;
    for (int64_t i = a; i < b; i++)
        v[(*n)++] = (size_t)i;
    if (*n == 0)
        return fail(e, s->sel_col, "'[%.60s]' chooses no item; '%s' has %lld", s->sel, s->name,
                    (long long)count);
    return true;
}

/* ---- values ---- */

static void shift(cr_conf_node *n, const editor *e, int cols, int depth) {
    if (depth > CR_CONF_MAX_DEPTH) return;
    if (n->at.line == 1) n->at.col += cols;
    n->at.line += e->line - 1;
    for (size_t i = 0; i < n->n; i++) {
        if (n->v[i].at.line == 1) n->v[i].at.col += cols;
        n->v[i].at.line += e->line - 1;
        shift(n->v[i].val, e, cols, depth + 1);
    }
}

/* parse_as parses "v: text" in the document's own arena. After errors, which are in diag with their
 * places, it returns NULL. */
static cr_conf_node *parse_as(editor *e, cr_syntax syntax, const char *before, const char *text,
                              const char *behind, int col, cr_diag *diag) {
    cr_conf_doc sub = *e->doc;
    cr_diag own;
    cr_diag_init(&own);
    char *all = cr_arena_printf(&sub.arena, "%s%s%s", before, text, behind);
    cr_code code = cr_conf_parse(&sub, syntax, e->origin, all, strlen(all), &own);
    e->doc->arena = sub.arena;
    int cols = col - 1 - (int)strlen(before);
    for (size_t i = 0; i < own.n; i++) {
        cr_loc at = own.v[i].at;
        if (at.line == 1) at.col = at.col + cols < col ? col : at.col + cols;
        if (at.line > 0) at.line += e->line - 1;
        cr_diag_add(diag, own.v[i].sev, CR_EUSAGE, at, "%s", own.v[i].msg);
    }
    cr_diag_clear(&own);
    if (code != CR_OK || sub.root->n != 1) return NULL;
    cr_conf_node *n = sub.root->v[0].val;
    shift(n, e, cols, 0);
    return n;
}

/* is_only_text: a list of texts may be given as a single text, which is used as it is: --set
 * data_config.null_values=? */
static bool is_only_text(const step *s, const char *text) {
    return s->list && !s->msg && s->in->fields[s->row].type == CR_T_STR && *text &&
           !strchr("[{<\"'", *text) && !strchr(text, '\n');
}

/* make_value returns the node that the text stands for, as a value of the step's field. */
static cr_conf_node *make_value(editor *e, const step *s, const char *text, int col) {
    const cr_field *f = &s->in->fields[s->row];
    bool single = !s->msg && f->type <= CR_T_ENUM && (!s->list || s->sel || is_only_text(s, text));
    cr_diag first, second;
    cr_conf_node *n = NULL;
    if (single && *text != '"' && *text != '\'') {
        size_t len = strlen(text);
        return raw_scalar(e, text, len, f->type == CR_T_STR, col);
    }
    cr_diag_init(&first);
    cr_diag_init(&second);
    n = parse_as(e, CR_SYNTAX_YAML, "v: ", text, "", col, &first);
    bool fits = n && (n->kind != CR_NODE_SCALAR || !s->msg || cr_conf_is_null(n));
    if (!fits && !single) {
        bool open = strchr("{[<", *text) != NULL;
        cr_conf_node *m = !open && s->msg
                              ? parse_as(e, CR_SYNTAX_PBTXT, "v {", text, "\n}", col, &second)
                              : parse_as(e, CR_SYNTAX_PBTXT, "v: ", text, "", col, &second);
        if (m) n = m, fits = true;
    }
    if (!fits && n) fits = true; /* it was parsed: the binder will say what is wrong with it */
    for (size_t i = 0; !fits && i < first.n; i++)
        cr_diag_add(e->diag, first.v[i].sev, CR_EUSAGE, first.v[i].at, "%s", first.v[i].msg);
    if (!fits && first.n == 0) (void)fail(e, col, "'%.60s' cannot be read; write one value", text);
    cr_diag_clear(&first);
    cr_diag_clear(&second);
    return n;
}

/* ---- applying ---- */

/* holds_rival: does the map hold another member of the step's oneof, and not this one? */
static bool holds_rival(const cr_conf_node *map, const step *s) {
    bool rival = false;
    for (size_t i = 0; s->member && i < map->n; i++) {
        if (belongs(map, s, map->v[i].key, false)) return false;
        rival |= belongs(map, s, map->v[i].key, true);
    }
    return rival;
}

/* is_wide: may the selector choose several items? */
static bool is_wide(const step *s) {
    int len;
    return s->sel && (strchr(s->sel, ':') || find_op(s->sel, &len));
}

static bool apply(editor *e, const cr_msg *root, cr_conf_node *value) {
    targets now = {0};
    if (!check_path(e, root)) return false;
    add_target(e, &now, e->doc->root);
    for (int i = 0; i < e->n_steps; i++) {
        const step *s = &e->steps[i];
        bool last = i + 1 == e->n_steps;
        /* feature_configs[:].id_feature.x means only the items that have an id_feature */
        bool picks = i > 0 && !last && is_wide(&e->steps[i - 1]);
        targets next = {0};
        for (size_t t = 0; t < now.n; t++) {
            cr_conf_node *map = now.v[t];
            if (picks && holds_rival(map, s)) continue;
            if (last && !s->sel) {
                size_t pos;
                cr_loc at;
                collapse(e, map, s, &pos, &at);
                drop_rivals(map, s);
                if (pos > map->n) pos = map->n;
                put_back(e, map, s, pos, at_col(e, s->col), cr_tree_copy(e->doc, value));
                continue;
            }
            cr_conf_node *v = field_node(e, map, s);
            if (!s->list) {
                add_target(e, &next, v);
                continue;
            }
            size_t *chosen, n;
            if (!choose(e, s, v, &chosen, &n)) return false;
            for (size_t k = 0; k < n; k++) {
                cr_conf_entry *en = &v->v[chosen[k]];
                if (last) {
                    *en = (cr_conf_entry){NULL, at_col(e, s->col), cr_tree_copy(e->doc, value)};
                } else {
                    if (en->val->kind != CR_NODE_MAP) en->val = new_map(e, s->col);
                    add_target(e, &next, en->val);
                }
            }
        }
        if (picks && next.n == 0)
            return fail(e, s->col, "none of the chosen items of '%s' holds '%s'",
                        e->steps[i - 1].name, s->name);
        now = next;
    }
    return true;
}

/* edit_one applies one pair of a path and a value; with value NULL, text is the value. */
static bool edit_one(editor *e, const cr_msg *root, const char *path, size_t path_len, int path_col,
                     cr_conf_node *value, const char *text, int text_line, int text_col) {
    if (!parse_path(e, path, path_len, path_col) || !check_path(e, root)) return false;
    if (!value) {
        int line = e->line;
        e->line = text_line;
        value = make_value(e, &e->steps[e->n_steps - 1], text, text_col);
        e->line = line;
    }
    return value && apply(e, root, value);
}

/* find_outside returns the first c outside brackets, NULL when there is none. */
static const char *find_outside(const char *s, char c) {
    for (int open = 0; *s; s++) {
        if (*s == '[')
            open++;
        else if (*s == ']')
            open--;
        else if (*s == c && open <= 0)
            return s;
    }
    return NULL;
}

cr_code cr_conf_set(cr_conf_doc *doc, const cr_msg *root, const char *assignment, bool named,
                    cr_diag *diag) {
    return cr_conf_set_by(doc, root, "--set", assignment, named, diag);
}

cr_code cr_conf_set_by(cr_conf_doc *doc, const cr_msg *root, const char *flag,
                       const char *assignment, bool named, cr_diag *diag) {
    editor *e = cr_alloc(sizeof *e, "editor");
    *e = (editor){.doc = doc, .diag = diag, .origin = flag, .line = 1, .append = true};
    bool utf8 = cr_utf8_all(assignment, strlen(assignment));
    if (named && utf8) {
        size_t n = strcspn(assignment, "\n");
        bool cut = n > 60 || assignment[n];
        n = cr_utf8_cut(assignment, n < 60 ? n : 60);
        e->origin =
            cr_arena_printf(&doc->arena, "%s '%.*s%s'", flag, (int)n, assignment, cut ? "..." : "");
    }
    const char *eq = find_outside(assignment, '=');
    bool ok;
    int open = 0, open_col = 0;
    for (const char *s = assignment; *s; s++) {
        if (*s == '[' && open++ == 0) open_col = (int)(s - assignment) + 1;
        if (*s == ']' && open > 0) open--;
    }
    if (!utf8)
        ok = fail(e, 1, "the text is not UTF-8; write key.path=value");
    else if (!eq && open)
        ok = fail(e, open_col, "'[' is never closed; add ']'");
    else if (!eq)
        ok = fail(e, (int)strlen(assignment) + 1,
                  "'=' is missing in '%.100s'; write key.path=value", assignment);
    else
        ok = edit_one(e, root, assignment, (size_t)(eq - assignment), 1, NULL, eq + 1, 1,
                      (int)(eq - assignment) + 2);
    cr_free(e);
    return ok ? CR_OK : CR_EUSAGE;
}

/* edit_member applies one member of the JSON object: {"a.b;c.d": "1;2"}. */
static bool edit_member(editor *e, const cr_msg *root, const cr_conf_entry *m) {
    const char *path = m->key, *text = m->val->text;
    int text_col = m->val->at.col + (m->val->quoted ? 1 : 0);
    e->line = m->at.line;
    bool one = !find_outside(path, ';');
    if (m->val->kind != CR_NODE_SCALAR && one)
        return edit_one(e, root, path, strlen(path), m->at.col + 1, m->val, NULL, 0, 0);
    if (m->val->kind != CR_NODE_SCALAR || cr_conf_is_null(m->val))
        return fail(e, m->at.col, "'%.100s' takes text; write its values as \"a;b\"", path);
    bool ok = true;
    for (;;) {
        const char *p_end = find_outside(path, ';'), *t_end = one ? NULL : strchr(text, ';');
        if (!p_end != !t_end)
            return fail(e, m->at.col,
                        "'%.100s' has %s values than paths; give one value for each path", m->key,
                        p_end ? "fewer" : "more");
        size_t p_len = p_end ? (size_t)(p_end - path) : strlen(path);
        char *value =
            cr_arena_strndup(&e->doc->arena, text, t_end ? (size_t)(t_end - text) : strlen(text));
        ok &= edit_one(e, root, path, p_len, m->at.col + 1 + (int)(path - m->key), NULL, value,
                       m->val->at.line, text_col + (int)(text - m->val->text));
        if (!p_end) break;
        path = p_end + 1;
        text = t_end + 1;
    }
    return ok;
}

cr_code cr_conf_edit_json(cr_conf_doc *doc, const cr_msg *root, const char *json, cr_diag *diag) {
    static const char origin[] = "--edit_config_json";
    cr_conf_doc sub = *doc;
    cr_code code = cr_conf_parse(&sub, CR_SYNTAX_JSON, origin, json, strlen(json), diag);
    doc->arena = sub.arena;
    if (code != CR_OK) return CR_EUSAGE;
    editor *e = cr_alloc(sizeof *e, "editor");
    *e = (editor){.doc = doc, .diag = diag, .origin = origin, .line = 1};
    bool ok = true;
    for (size_t i = 0; i < sub.root->n; i++)
        ok &= edit_member(e, root, &sub.root->v[i]);
    cr_free(e);
    return ok ? CR_OK : CR_EUSAGE;
}
