/*
 * tree_search.c - finds items with a tree (TDM): the search begins in the first layer that has at
 * least `top` nodes. Of the nodes that it looks at, the `top` with the highest scores stay, and
 * their children are looked at in the next layer. Of all leaves that stayed, the `top` best are the
 * result.
 *
 * The score of a node is that of the model that src/dialect/paddle_recall.c builds: trans = T x +
 * t; l = act(L_i trans + l_i) in layer i; h = act(C_i [l; e] + c_i) for the vector e of the node;
 * the chance is the second number of softmax(S h + s). A node without children is a leaf.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/npy.h"
#include "ckpt/ckpt.h"
#include "kern/kern.h"
#include "tool/lines.h"
#include "tool/tool.h"

#define MAX_LAYERS 64

/* y = W x + b of a checkpoint. */
typedef struct layer {
    const float *W, *b;
    int64_t out, in;
} layer;

typedef struct model {
    cr_arena arena;
    layer trans, level[MAX_LAYERS], hidden[MAX_LAYERS], scores;
    const float *nodes; /* vectors of nodes (n_nodes, D) */
    int64_t n_layers, n_nodes, D, n_in;
    const char *act;
    const int64_t *info; /* (n_nodes, info_width) */
    int64_t info_width;
    int64_t *first; /* nodes of the layer in which the search begins */
    int64_t n_first, first_layer;
} model;

static cr_code read_tensor(cr_ckpt *c, model *m, const char *name, const float **out, int64_t *rows,
                           int64_t *cols, cr_err *err) {
    const cr_ckpt_info *t = cr_ckpt_find(c, name);
    if (!t || t->n_dims < 1 || t->n_dims > 2)
        return cr_fail(err, CR_EDATA,
                       "%s has no parameter %s; it is not a checkpoint of PaddleRec's tdm",
                       cr_ckpt_path(c), name);
    float *v = CR_NEW_N(&m->arena, float, t->n_elems + 1);
    *rows = t->shape[0];
    *cols = t->n_dims == 2 ? t->shape[1] : 1;
    *out = v;
    return cr_ckpt_read(c, name, 0, t->n_elems, v, err);
}

static cr_code read_layer(cr_ckpt *c, model *m, const char *name, layer *l, cr_err *err) {
    int64_t n, one;
    cr_arena *a = &m->arena;
    CR_TRY(read_tensor(c, m, cr_arena_printf(a, "model.blocks.%s.weight", name), &l->W, &l->out,
                       &l->in, err));
    return read_tensor(c, m, cr_arena_printf(a, "model.blocks.%s.bias", name), &l->b, &n, &one,
                       err);
}

static cr_code read_model(model *m, const char *dir, cr_err *err) {
    cr_ckpt *c;
    CR_TRY(cr_ckpt_open_weights(&c, dir, err));
    cr_arena *a = &m->arena;
    cr_code code = read_layer(c, m, "trans", &m->trans, err);
    if (code == CR_OK) code = read_layer(c, m, "scores", &m->scores, err);
    if (code == CR_OK)
        code = read_tensor(
            c, m, "model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags.tree_emb.weight",
            &m->nodes, &m->n_nodes, &m->D, err);
    for (int64_t i = 0; code == CR_OK && i < MAX_LAYERS; i++) {
        const char *name = cr_arena_printf(a, "layer%lld.mlp.0.perceptron.0", (long long)i);
        if (!cr_ckpt_find(c, cr_arena_printf(a, "model.blocks.%s.weight", name))) break;
        code = read_layer(c, m, name, &m->level[i], err);
        name = cr_arena_printf(a, "hidden%lld.mlp.0.perceptron.0", (long long)i);
        if (code == CR_OK) code = read_layer(c, m, name, &m->hidden[i], err);
        const layer *l = &m->level[i], *h = &m->hidden[i];
        if (code == CR_OK && (l->in != m->trans.out || h->in != l->out + m->D ||
                              m->scores.in != h->out || m->scores.out != 2))
            code = cr_fail(err, CR_EDATA,
                           "the layers of %s do not fit together; it is not a checkpoint of "
                           "PaddleRec's tdm",
                           cr_ckpt_path(c));
        m->n_layers = i + 1;
    }
    m->n_in = m->trans.in;
    cr_ckpt_close(c);
    return code;
}

/* Reads the tree, and the nodes of the first layer with at least `top` of them. */
static cr_code read_tree(model *m, const cr_tree_search_opts *o, cr_err *err) {
    int64_t shape[2], *info;
    CR_TRY(cr_npy_read_i64(o->info, &m->arena, &info, shape, err));
    if (shape[1] < 4 || shape[0] > m->n_nodes)
        return cr_fail(
            err, CR_EDATA,
            "%s has %lld nodes with %lld numbers; the model knows %lld nodes, and a node "
            "is item, layer, parent and its children",
            o->info, (long long)shape[0], (long long)shape[1], (long long)m->n_nodes);
    m->n_nodes = shape[0];
    m->info_width = shape[1];
    m->info = info;
    for (int64_t i = 0; i < shape[0] * shape[1]; i++)
        if (i % shape[1] >= 3 && (info[i] < 0 || info[i] >= shape[0]))
            return cr_fail(err, CR_EDATA, "%s: node %lld has the child %lld, which is no node",
                           o->info, (long long)(i / shape[1]), (long long)info[i]);
    cr_buf text;
    cr_buf_init(&text);
    cr_code code = cr_file_read(o->layers, 0, &text, err);
    m->first = CR_NEW_N(&m->arena, int64_t, text.n + 1);
    for (const char *p = text.data, *end = p + text.n, *nl; code == CR_OK && p < end; p = nl + 1) {
        nl = memchr(p, '\n', (size_t)(end - p));
        if (!nl) nl = end;
        m->n_first = 0;
        for (char *e; p < nl; p = *e == ',' ? e + 1 : e) {
            long long node = strtoll(p, &e, 10);
            if (e == p) break;
            if (node > 0 && node < m->n_nodes) m->first[m->n_first++] = node;
        }
        if (m->n_first >= o->top || m->first_layer + 1 >= m->n_layers) break;
        m->first_layer++;
    }
    if (code == CR_OK && m->n_first == 0)
        code = cr_fail(err, CR_EDATA, "%s names no nodes of the tree", o->layers);
    cr_buf_clear(&text);
    return code;
}

static void apply(const layer *l, const float *x, float *y, const char *act) {
    for (int64_t i = 0; i < l->out; i++) {
        float z = cr_kern->dot(l->W + i * l->in, x, l->in) + l->b[i];
        y[i] = !act                          ? z
               : strcmp(act, "relu") == 0    ? (z > 0 ? z : 0)
               : strcmp(act, "sigmoid") == 0 ? 1 / (1 + expf(-z))
                                             : tanhf(z);
    }
}

/* A node that was looked at. */
typedef struct seen {
    int64_t node;
    float score;
} seen;

/* The higher score first; equal ones in the order of nodes. */
static int by_score(const void *a, const void *b) {
    const seen *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static bool is_leaf(const model *m, int64_t node) {
    for (int64_t i = 3; i < m->info_width; i++)
        if (m->info[node * m->info_width + i] != 0) return false;
    return true;
}

/* Memory of one search. */
typedef struct work {
    float *trans, *both, *hidden;
    seen *now, *leaves;
    int64_t *items;
    int64_t room; /* nodes that `now` has room for */
} work;

static void score_all(const model *m, work *w, int64_t n, int64_t i) {
    const layer *l = &m->level[i], *h = &m->hidden[i];
    float z[2];
    apply(l, w->trans, w->both, m->act);
    for (int64_t k = 0; k < n; k++) {
        memcpy(w->both + l->out, m->nodes + w->now[k].node * m->D, (size_t)m->D * sizeof(float));
        apply(h, w->both, w->hidden, m->act);
        apply(&m->scores, w->hidden, z, NULL);
        w->now[k].score = 1 / (1 + expf(z[0] - z[1]));
    }
    qsort(w->now, (size_t)n, sizeof *w->now, by_score);
}

/* The search for one vector; returns the number of items. */
static int search(const model *m, work *w, const float *x, int top) {
    int64_t n = m->n_first, n_leaves = 0;
    apply(&m->trans, x, w->trans, NULL);
    for (int64_t k = 0; k < n; k++)
        w->now[k].node = m->first[k];
    for (int64_t i = m->first_layer; i < m->n_layers && n > 0; i++) {
        score_all(m, w, n, i);
        int64_t kept = n < top ? n : top, next = 0;
        seen *more = w->now + w->room / 2; /* the children lie behind the nodes */
        for (int64_t k = 0; k < kept; k++) {
            const int64_t *info = m->info + w->now[k].node * m->info_width;
            if (is_leaf(m, w->now[k].node)) w->leaves[n_leaves++] = w->now[k];
            for (int64_t c = 3; c < m->info_width; c++)
                if (info[c] != 0) more[next++].node = info[c];
        }
        memmove(w->now, more, (size_t)next * sizeof *w->now);
        n = next;
    }
    qsort(w->leaves, (size_t)n_leaves, sizeof *w->leaves, by_score);
    int found = n_leaves < top ? (int)n_leaves : top;
    for (int k = 0; k < found; k++)
        w->items[k] = m->info[w->leaves[k].node * m->info_width];
    return found;
}

/* Reads the numbers in front of the first tab; false: there are not m->n_in. */
static bool read_vector(const model *m, const char *p, const char *end, float *x) {
    const char *tab = memchr(p, '\t', (size_t)(end - p));
    int64_t n = 0;
    if (tab) end = tab;
    while (p < end) {
        const char *q = memchr(p, ' ', (size_t)(end - p));
        if (!q) q = end;
        double v;
        const char *last = q > p && q[-1] == '\r' ? q - 1 : q;
        if (last > p) {
            if (n == m->n_in || !cr_parse_f64(p, (size_t)(last - p), &v)) return false;
            x[n++] = (float)v;
        }
        p = q + 1;
    }
    return n == m->n_in;
}

static work make_work(model *m, int top) {
    cr_arena *a = &m->arena;
    int64_t wide = m->D, children = m->info_width - 3;
    for (int64_t i = 0; i < m->n_layers; i++) {
        if (m->hidden[i].in > wide) wide = m->hidden[i].in;
        if (m->hidden[i].out > wide) wide = m->hidden[i].out;
    }
    work w = {.trans = CR_NEW_N(a, float, m->trans.out),
              .both = CR_NEW_N(a, float, wide),
              .hidden = CR_NEW_N(a, float, wide),
              .leaves = CR_NEW_N(a, seen, m->n_layers * top + 1),
              .items = CR_NEW_N(a, int64_t, top)};
    w.room = 2 * (top * children + m->n_first + 1);
    w.now = CR_NEW_N(a, seen, w.room);
    return w;
}

/* The lines of vectors, and what is looked for each of them. */
typedef struct looking {
    const cr_tree_search_opts *o;
    const model *m;
    work w;
    float *x;
    int64_t lines;
} looking;

static cr_code take_line(void *ctx, const char *p, size_t n, cr_loc at, cr_err *err) {
    looking *l = ctx;
    if (!read_vector(l->m, p, p + n, l->x))
        return cr_fail_at(err, CR_EDATA, at,
                          "the line is not a vector of %lld numbers with blanks between them; "
                          "correct it",
                          (long long)l->m->n_in);
    l->o->found(l->o->ctx, l->lines++, l->w.items, search(l->m, &l->w, l->x, l->o->top));
    return CR_OK;
}

cr_code cr_tree_search(const cr_tree_search_opts *o, int64_t *lines, cr_err *err) {
    model m = {.act = o->act ? o->act : "tanh"};
    char **names;
    size_t n_files = 0;
    *lines = 0;
    cr_arena_init(&m.arena, 0);
    cr_code code = read_model(&m, o->ckpt_dir, err);
    if (code == CR_OK) code = read_tree(&m, o, err);
    if (code == CR_OK) code = cr_list_dir(&m.arena, o->vectors, &names, &n_files, err);
    looking l = {.o = o, .m = &m};
    if (code == CR_OK) {
        l.w = make_work(&m, o->top);
        l.x = CR_NEW_N(&m.arena, float, m.n_in);
    }
    for (size_t i = 0; code == CR_OK && i < n_files; i++)
        if (names[i][0] != '.')
            code = cr_each_line(cr_path_join(&m.arena, o->vectors, names[i]), take_line, &l, err);
    *lines = l.lines;
    cr_arena_clear(&m.arena);
    return code;
}
