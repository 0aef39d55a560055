/*
 * diff.c - finds the keys whose values differ in two configs.
 *
 * Bound structs are compared, so a key that is not given equals one that is given its default, and
 * the syntax of the files plays no part. Items of a list are matched by their names (feature_name,
 * group_name, ...) where they have one, so that an added feature does not shift all others.
 */
#include <string.h>

#include "conf/conf.h"
#include "conf/conf_int.h"

typedef struct walk {
    cr_conf_diff_fn tell;
    void *ctx;
    cr_buf path;
    cr_buf a, b; /* texts of values */
} walk;

static void compare(walk *w, const void *a, const void *b);

static const void *part(const void *conf, const cr_field *f) {
    return (const char *)conf + f->offset;
}

/* push appends to the path; the caller cuts it back to the returned length afterwards. */
static size_t push(walk *w, const char *before, const char *name, const char *after) {
    size_t n = w->path.n;
    cr_buf_printf(&w->path, "%s%s%s", n || *before != '.' ? before : "", name, after);
    return n;
}
static void pop(walk *w, size_t n) {
    w->path.n = n;
    w->path.data[n] = 0;
}

/* ---- texts ---- */

/* message_text writes a message on one line as its file has it; NULL when there is none. */
static const char *message_text(cr_buf *out, const void *conf) {
    cr_buf_reset(out);
    if (!conf) return NULL;
    const cr_conf_node *node = ((const cr_conf_base *)conf)->node;
    if (node)
        cr_conf_flow(out, node, false);
    else
        cr_buf_str(out, "{}");
    return out->data;
}

static void value_text(cr_buf *out, const void *conf, const cr_field *f) {
    cr_buf_reset(out);
    cr_conf_value(out, conf, f);
}

/* ---- one field ---- */

static void compare_value(walk *w, const void *a, const void *b, const cr_field *f) {
    value_text(&w->a, a, f);
    value_text(&w->b, b, f);
    if (strcmp(w->a.data, w->b.data) == 0) return;
    if (!cr_conf_has(a, f->name)) cr_buf_str(&w->a, " (default)");
    if (!cr_conf_has(b, f->name)) cr_buf_str(&w->b, " (default)");
    size_t n = push(w, ".", f->name, "");
    w->tell(w->ctx, w->path.data, w->a.data, w->b.data);
    pop(w, n);
}

/* compare_messages compares the fields of two messages; when only one exists, it reports that
 * one. */
static void compare_messages(walk *w, const void *a, const void *b) {
    if (a && b)
        compare(w, a, b);
    else if (a || b)
        w->tell(w->ctx, w->path.data, message_text(&w->a, a), message_text(&w->b, b));
}

static void compare_choice(walk *w, const cr_choice *a, const cr_choice *b, const cr_field *f) {
    if (a->m == b->m) {
        if (!a->m) return;
        size_t n = push(w, ".", a->m->key, "");
        compare_messages(w, a->conf, b->conf);
        pop(w, n);
        return;
    }
    size_t n = push(w, ".<", f->name, ">");
    w->tell(w->ctx, w->path.data, a->m ? a->m->key : NULL, b->m ? b->m->key : NULL);
    pop(w, n);
}

/* ---- lists of messages ---- */

static bool is_name(const char *key) {
    size_t n = strlen(key);
    return strcmp(key, "name") == 0 || strcmp(key, "input") == 0 ||
           (n > 5 && strcmp(key + n - 5, "_name") == 0);
}

/* label returns the name of an item: its first field that is a name, or the name of the oneof
 * member it chose; NULL: it has none. */
static const char *label(const void *conf) {
    const cr_conf_base *base = conf;
    for (const cr_field *f = base->msg->fields; f->name; f++) {
        if (f->offset == CR_NO_STORE || f->flags & CR_F_REPEATED) continue;
        if (f->type == CR_T_STR && is_name(f->name)) {
            const char *s = *(const char *const *)part(conf, f);
            if (*s) return s;
        } else if (f->type == CR_T_ONEOF) {
            const cr_choice *c = part(conf, f);
            const char *s = c->conf ? label(c->conf) : NULL;
            if (s || c->m) return s ? s : c->m->key;
        }
    }
    return NULL;
}

/* nth_of counts the items before i that have the same label. */
static int64_t nth_of(const cr_msgs *l, int64_t i) {
    const char *s = label(l->v[i]);
    int64_t n = 0;
    for (int64_t k = 0; k < i; k++) {
        const char *t = label(l->v[k]);
        n += s && t && strcmp(s, t) == 0;
    }
    return n;
}

/* partner returns the item of b that item i of a is compared with; -1: none. */
static int64_t partner(const cr_msgs *a, int64_t i, const cr_msgs *b) {
    const char *s = label(a->v[i]);
    if (!s) return i < b->n && !label(b->v[i]) ? i : -1;
    int64_t nth = nth_of(a, i);
    for (int64_t k = 0; k < b->n; k++) {
        const char *t = label(b->v[k]);
        if (t && strcmp(s, t) == 0 && nth-- == 0) return k;
    }
    return -1;
}

static size_t push_item(walk *w, const cr_field *f, const cr_msgs *l, int64_t i) {
    size_t n = push(w, ".", f->name, "");
    const char *s = label(l->v[i]);
    if (s)
        cr_buf_printf(&w->path, "[%s]", s);
    else
        cr_buf_printf(&w->path, "[%lld]", (long long)i);
    return n;
}

static const char *labels_text(cr_buf *out, const cr_msgs *l) {
    cr_buf_reset(out);
    cr_buf_char(out, '[');
    for (int64_t i = 0; i < l->n; i++) {
        const char *s = label(l->v[i]);
        cr_buf_printf(out, "%s%s", i ? ", " : "", s ? s : "?");
    }
    cr_buf_char(out, ']');
    return out->data;
}

static void compare_lists(walk *w, const cr_msgs *a, const cr_msgs *b, const cr_field *f) {
    bool all = a->n == b->n, ordered = true;
    for (int64_t i = 0; i < a->n; i++) {
        int64_t k = partner(a, i, b);
        size_t n = push_item(w, f, a, i);
        compare_messages(w, a->v[i], k >= 0 ? b->v[k] : NULL);
        pop(w, n);
        all = all && k >= 0;
        ordered = ordered && k == i;
    }
    for (int64_t i = 0; i < b->n; i++) {
        if (partner(b, i, a) >= 0) continue;
        size_t n = push_item(w, f, b, i);
        compare_messages(w, NULL, b->v[i]);
        pop(w, n);
    }
    if (!all || ordered) return;
    size_t n = push(w, ".", f->name, " (order)");
    const char *x = labels_text(&w->a, a), *y = labels_text(&w->b, b);
    w->tell(w->ctx, w->path.data, x, y);
    pop(w, n);
}

static void compare(walk *w, const void *a, const void *b) {
    for (const cr_field *f = ((const cr_conf_base *)a)->msg->fields; f->name; f++) {
        if (f->offset == CR_NO_STORE) continue;
        const void *x = part(a, f), *y = part(b, f);
        if (f->type == CR_T_ONEOF) {
            compare_choice(w, x, y, f);
        } else if (f->type == CR_T_MSG && f->flags & CR_F_REPEATED) {
            compare_lists(w, x, y, f);
        } else if (f->type == CR_T_MSG) {
            size_t n = push(w, ".", f->name, "");
            compare_messages(w, *(void *const *)x, *(void *const *)y);
            pop(w, n);
        } else {
            compare_value(w, a, b, f);
        }
    }
}

void cr_conf_diff(const void *a, const void *b, cr_conf_diff_fn tell, void *ctx) {
    walk w = {.tell = tell, .ctx = ctx};
    cr_buf_init(&w.path);
    cr_buf_init(&w.a);
    cr_buf_init(&w.b);
    cr_buf_str(&w.path, "");
    compare(&w, a, b);
    cr_buf_clear(&w.path);
    cr_buf_clear(&w.a);
    cr_buf_clear(&w.b);
}
