/*
 * paddle_envs.c - all keys of a PaddleRec config of the old kind in one list, as PaddleRec keeps
 * and prints them: runner.train.epochs and 4. The items of runner, phase and dataset go by their
 * names, a list of anything else is one value in Python's form.
 *
 * The values of keys that hold secrets are left out: the list is printed.
 */
#include <string.h>
#include <strings.h>

#include "base/secret.h"
#include "dialect/paddle_int.h"

typedef struct list {
    cr_arena *a;
    cr_paddle_env *v;
    int n, cap;
} list;

/* Writes the value of a key in Python's form. Texts in lists have quotes, and a single one has
 * none. */
static void put_value(cr_buf *b, const char *key, const cr_conf_node *v, bool quotes) {
    if (cr_is_secret(key)) {
        cr_buf_str(b, "(hidden)");
        return;
    }
    if (v->kind == CR_NODE_SCALAR) {
        bool plain = !v->quoted;
        double x;
        if (plain && (!v->len || strcmp(v->text, "~") == 0 || strcasecmp(v->text, "null") == 0))
            cr_buf_str(b, "None");
        else if (plain && strcasecmp(v->text, "true") == 0)
            cr_buf_str(b, "True");
        else if (plain && strcasecmp(v->text, "false") == 0)
            cr_buf_str(b, "False");
        else if (quotes && !(plain && cr_parse_f64(v->text, v->len, &x)))
            cr_buf_printf(b, "'%s'", v->text);
        else
            cr_buf_str(b, v->text);
        return;
    }
    bool map = v->kind == CR_NODE_MAP;
    cr_buf_char(b, map ? '{' : '[');
    for (size_t i = 0; i < v->n; i++) {
        if (i) cr_buf_str(b, ", ");
        if (map) cr_buf_printf(b, "'%s': ", v->v[i].key);
        put_value(b, map ? v->v[i].key : key, v->v[i].val, true);
    }
    cr_buf_char(b, map ? '}' : ']');
}

static void add(list *l, const char *key, const char *last, const cr_conf_node *v) {
    if (l->n == l->cap) {
        cr_paddle_env *more = CR_NEW_N(l->a, cr_paddle_env, 2 * l->cap + 32);
        if (l->n) memcpy(more, l->v, (size_t)l->n * sizeof *more);
        l->v = more;
        l->cap = 2 * l->cap + 32;
    }
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "");
    put_value(&b, last, v, false);
    l->v[l->n++] = (cr_paddle_env){cr_arena_strdup(l->a, key), cr_arena_strndup(l->a, b.data, b.n)};
    cr_buf_clear(&b);
}

/* Items of these lists have names. */
static bool is_named(const char *key) {
    return strcmp(key, "dataset") == 0 || strcmp(key, "phase") == 0 || strcmp(key, "runner") == 0;
}

static void flatten(list *l, const char *prefix, const cr_conf_node *map) {
    for (size_t i = 0; i < map->n; i++) {
        const char *key = map->v[i].key;
        const cr_conf_node *v = map->v[i].val;
        const char *whole = cr_arena_printf(l->a, "%s%s%s", prefix, *prefix ? "." : "", key);
        if (v->kind == CR_NODE_MAP) {
            flatten(l, whole, v);
            continue;
        }
        if (v->kind != CR_NODE_LIST || !is_named(key)) {
            add(l, whole, key, v);
            continue;
        }
        for (size_t k = 0; k < v->n; k++)
            if (v->v[k].val->kind == CR_NODE_MAP)
                flatten(l,
                        cr_arena_printf(l->a, "%s.%s", whole,
                                        cr_conf_find_text(v->v[k].val, "name")),
                        v->v[k].val);
    }
}

const cr_paddle_env *cr_pd_envs(const cr_pd *p, cr_arena *a, int *n) {
    list l = {.a = a};
    flatten(&l, "", p->in);
    *n = l.n;
    return l.v;
}
