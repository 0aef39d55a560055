/*
 * weights.c - the weights of a model and their files: tensors that are saved and loaded, tables
 * that are read in place, averages, and whether the features of a checkpoint mean the same as those
 * of the config.
 */
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "job/job.h"
#include "job/map_tensors.h"
#include "job/verify.h"
#include "kern/kern.h"

typedef struct list {
    cr_ckpt_tensor *v;
    int n;
} list;

static void add_flat(list *l, const char *name, const cr_node *p, float *data, bool optimizer) {
    cr_ckpt_tensor t = {.name = name,
                        .n_dims = p->n_dims,
                        .dtype = CR_DT_F32,
                        .get = cr_ckpt_get_flat,
                        .put = cr_ckpt_put_flat,
                        .ctx = data,
                        .optimizer = optimizer};
    t.shape[0] = p->n_dims >= 2 ? p->rows : p->width;
    t.shape[1] = p->cols;
    t.shape[2] = 1;
    l->v[l->n++] = t;
}

/* Some elements of a dense parameter's state: those from `first` on. */
typedef struct elements {
    float *data;
    int64_t first;
} elements;

static void get_elements(void *ctx, int64_t first, int64_t n, float *out) {
    const elements *e = ctx;
    memcpy(out, e->data + (first - e->first), (size_t)n * sizeof(float));
}

static void put_elements(void *ctx, int64_t first, int64_t n, const float *in) {
    const elements *e = ctx;
    memcpy(e->data + (first - e->first), in, (size_t)n * sizeof(float));
}

/* Says which holder has which elements of the tensor that was added last, the state of p. */
static void cut_flat(list *l, cr_arena *a, const cr_job *j, const cr_node *p,
                     const int64_t *slice) {
    cr_ckpt_tensor *t = &l->v[l->n - 1];
    cr_ckpt_part *parts = CR_NEW_N(a, cr_ckpt_part, j->meet->n);
    elements *e = CR_NEW(a, elements);
    *e = (elements){.data = t->ctx};
    for (int h = 0; h < j->meet->n; h++) {
        int64_t first = slice[h] - p->offset, end = slice[h + 1] - p->offset;
        if (first < 0) first = 0;
        if (end > p->width) end = p->width;
        if (first >= end) continue;
        parts[t->n_parts++] = (cr_ckpt_part){h, first, end, 0, 1};
        if (h == j->meet->self) e->first = first;
    }
    t->get = get_elements;
    t->put = put_elements;
    t->ctx = e;
    t->part_width = 1;
    t->parts = parts;
}

/* A plane of a table: its weights, or one plane of its optimizer state. The rows lie in one table,
 * or those of this holder in several shards. */
typedef struct plane {
    cr_table *held;
    int n_held;
    int64_t width; /* elements of a row of the whole table */
    int state;     /* which plane of state; -1: the weights */
} plane;

/* Returns the shard that has an element of a row, and in *n at most how many of them follow in this
 * row. */
static cr_table *shard_at(const plane *p, int64_t row, int64_t *col, int64_t *n) {
    for (int k = 0; k < p->n_held; k++) {
        cr_table *t = &p->held[k];
        int64_t width = p->width == 1 ? 1 : t->D, at = p->width == 1 ? 0 : *col - t->col0;
        if (row < t->row0 || row - t->row0 >= t->n_rows || at < 0 || at >= width) continue;
        if (width - at < *n) *n = width - at;
        *col = at;
        return t;
    }
    CR_BUG("a row of a table that this process does not hold");
}

/* Returns where a plane of state lies in a record. */
static int64_t state_of(const cr_table *t, int state) {
    int elem = state < t->optim->elem_state ? state : t->optim->elem_state;
    return cr_table_state_at(t) + elem * t->D + (state - elem);
}
static int64_t state_at(const plane *p, const cr_table *t) {
    return state_of(t, p->state);
}

static void get_plane(void *ctx, int64_t first, int64_t n, float *out) {
    const plane *p = ctx;
    for (int64_t i = 0, m; i < n; i += m) {
        int64_t row = (first + i) / p->width, col = (first + i) % p->width;
        m = n - i;
        const cr_table *t = shard_at(p, row, &col, &m);
        if (p->state < 0)
            cr_table_get_part(t, row - t->row0, col, m, out + i);
        else
            memcpy(out + i, cr_table_row(t, row - t->row0) + state_at(p, t) + col,
                   (size_t)m * sizeof(float));
    }
}

static void put_plane(void *ctx, int64_t first, int64_t n, const float *in) {
    const plane *p = ctx;
    for (int64_t i = 0, m; i < n; i += m) {
        int64_t row = (first + i) / p->width, col = (first + i) % p->width;
        m = n - i;
        cr_table *t = shard_at(p, row, &col, &m);
        if (p->state < 0)
            cr_table_put_part(t, row - t->row0, col, m, in + i);
        else
            memcpy(cr_table_row(t, row - t->row0) + state_at(p, t) + col, in + i,
                   (size_t)m * sizeof(float));
    }
}

/* ---- tables that grow ---- */

/* A plane of a table that grows: the rows that this holder has, by their numbers in a state
 * (cr_grow_at). The last row is that of ids without one. */
typedef struct grown {
    cr_model_table *t;
    int64_t width;
    int state;
    bool numbers; /* ids are numbers, which a table without ids has too */
} grown;

/* Moves floats of a table whose rows have an accessor; false: it is not one. */
static bool moves_ctr(const grown *p, int64_t first, int64_t n, float *out, const float *in) {
    cr_grow *g = p->t->table.owner->grow;
    if (!cr_feature_ctr(p->t->owner)) return false;
    for (int64_t i = 0, m; i < n; i += m) {
        int64_t row = (first + i) / p->width, col = (first + i) % p->width;
        m = p->width - col < n - i ? p->width - col : n - i;
        if (in && g) (void)cr_grow_put(g, row, p->state, col, m, in + i);
        if (out && (!g || !cr_grow_get(g, row, p->state, col, m, out + i)))
            memset(out + i, 0, (size_t)m * sizeof(float));
    }
    return true;
}

static int64_t grown_part(const grown *p, int64_t first, int64_t i, int64_t n, cr_table **block,
                          int64_t *at, int64_t *col) {
    cr_grow *g = p->t->table.owner->grow;
    int64_t row = (first + i) / p->width;
    *col = (first + i) % p->width;
    if (!g || !cr_grow_at(g, row, block, at)) *block = NULL;
    return p->width - *col < n - i ? p->width - *col : n - i;
}

static void get_grown(void *ctx, int64_t first, int64_t n, float *out) {
    const grown *p = ctx;
    if (moves_ctr(p, first, n, out, NULL)) return;
    for (int64_t i = 0, m, at, col; i < n; i += m) {
        cr_table *b;
        m = grown_part(p, first, i, n, &b, &at, &col);
        if (b && p->state < 0)
            cr_table_get_part(b, at, col, m, out + i);
        else if (b)
            memcpy(out + i, cr_table_row(b, at) + state_of(b, p->state) + col,
                   (size_t)m * sizeof(float));
        else
            for (int64_t k = 0; k < m; k++)
                out[i + k] = p->state < 0 ? cr_model_absent(p->t) : 0;
    }
}

static void put_grown(void *ctx, int64_t first, int64_t n, const float *in) {
    const grown *p = ctx;
    if (moves_ctr(p, first, n, NULL, in)) return;
    for (int64_t i = 0, m, at, col; i < n; i += m) {
        cr_table *b;
        m = grown_part(p, first, i, n, &b, &at, &col);
        if (b && p->state < 0)
            cr_table_put_part(b, at, col, m, in + i);
        else if (b)
            memcpy(cr_table_row(b, at) + state_of(b, p->state) + col, in + i,
                   (size_t)m * sizeof(float));
    }
}

/* Row i of a table without ids is that of the id i, where ids are numbers. */
static cr_code fit_grown(void *ctx, int64_t rows, cr_err *err) {
    const grown *p = ctx;
    bool known = p->t->map_state.size > 0 || p->numbers;
    if (!known && !p->t->grow_loaded)
        CR_WARN("table '%s' has no ids in the checkpoint, and the ids of this one are hashes; it "
                "begins anew",
                p->t->table.name);
    return cr_model_grown_load(p->t, known ? rows : 0, err);
}

/* Says which holder has which rows of a table that grows. */
static void add_grown_parts(cr_ckpt_tensor *out, cr_arena *a, const cr_model_table *t, int holders,
                            int64_t width) {
    cr_ckpt_part *parts = CR_NEW_N(a, cr_ckpt_part, holders);
    int n = 0;
    for (int h = 0; h < holders; h++) {
        bool last = h + 1 == holders; /* it has the row of ids without one, too */
        int64_t first = t->grow_rows[h], end = t->grow_rows[h + 1] + last;
        if (first < end) parts[n++] = (cr_ckpt_part){h, first, end, 0, width};
    }
    out->part_width = width;
    out->parts = parts;
    out->n_parts = n;
}

/* The weights of a table that lie in a file. They are rounded as they would be in memory. */
typedef struct stored {
    const cr_ckpt *from;
    const char *name;
    int half;
} stored;

static void get_stored(void *ctx, int64_t first, int64_t n, float *out) {
    const stored *s = ctx;
    uint16_t some[256];
    cr_ckpt_copy(s->from, s->name, first, n, out);
    for (int64_t i = 0, m; s->half && i < n; i += m) {
        m = n - i < 256 ? n - i : 256;
        cr_kern->to16(some, out + i, m, s->half);
        cr_kern->from16(out + i, some, m, s->half);
    }
}

/* Says which holder has which rows and columns of a tensor. */
static void add_parts(cr_ckpt_tensor *t, cr_arena *a, const cr_placing *p, int64_t width) {
    cr_ckpt_part *parts = CR_NEW_N(a, cr_ckpt_part, p->n);
    for (int k = 0; k < p->n; k++) {
        const cr_shard *s = &p->shards[k];
        parts[k] = (cr_ckpt_part){s->holder, s->row, s->end, s->col, s->col_end};
        if (width == 1) parts[k].col = 0;
        if (width == 1) parts[k].col_end = 1;
    }
    t->part_width = width;
    t->parts = parts;
    t->n_parts = p->n;
}

static const cr_dtype types[] = {
    [0] = CR_DT_F32, [CR_HALF_BF16] = CR_DT_BF16, [CR_HALF_FP16] = CR_DT_F16};

/* Adds a plane of a table that grows; width 0: it has one number per row. */
static void add_grown(list *l, cr_arena *a, const cr_job *j, const char *name, cr_model_table *t,
                      int state, int64_t width) {
    const cr_table *tab = &t->table;
    bool rows = width == 0, saving = t->map_state.size > 0;
    grown *p = CR_NEW(a, grown);
    *p = (grown){t, rows ? 1 : width, state, j->root->data_config->fg_mode == CR_FG_NONE};
    cr_ckpt_tensor *out = &l->v[l->n++];
    *out = (cr_ckpt_tensor){.name = name,
                            .n_dims = rows ? 1 : 2,
                            .shape = {saving ? t->map_state.size : 1, p->width},
                            .dtype = state < 0 ? types[tab->half] : CR_DT_F32,
                            .get = get_grown,
                            .put = put_grown,
                            .fit = fit_grown,
                            .resize = CR_RESIZE_FIT,
                            .ctx = p,
                            .optimizer = state >= 0};
    if (saving && tab->owner->placing) add_grown_parts(out, a, t, j->meet->n, p->width);
}

/* Adds what a table that grows keeps beside the weights. */
static void add_grown_state(list *l, cr_arena *a, const cr_job *j, cr_model_table *t) {
    const cr_optim_type *o = t->table.optim;
    const char *name = t->table.name;
    const cr_ctr_conf *ctr = cr_feature_ctr(t->owner);
    for (int k = 0; ctr && k < CR_CTR_PLANES; k++) {
        cr_ctr_plane p = cr_model_ctr_plane(t, k);
        if (p.width > 0)
            add_grown(l, a, j, cr_arena_printf(a, "state.%s.%s", name, p.name), t, k,
                      p.width == 1 ? 0 : p.width);
    }
    for (int k = 0; !ctr && o && k < o->elem_state + o->row_state; k++)
        add_grown(l, a, j, cr_arena_printf(a, "state.%s.%s", name, o->state_names[k]), t, k,
                  k < o->elem_state ? t->table.D : 0);
}

/* Adds a plane of a table: state says which plane of optimizer state, -1 the weights. */
static void add_plane(list *l, cr_arena *a, const char *name, cr_table *t, int state) {
    bool rows = state >= 0 && state >= t->optim->elem_state; /* one number per row */
    const cr_owner *o = t->owner;
    plane *p = CR_NEW(a, plane);
    *p = (plane){o ? o->held : t, o ? o->n_held : 1, rows ? 1 : t->D, state};
    cr_ckpt_tensor *out = &l->v[l->n++];
    *out = (cr_ckpt_tensor){.name = name,
                            .n_dims = rows ? 1 : 2,
                            .shape = {t->n_rows, p->width},
                            .dtype = state < 0 ? types[t->half] : CR_DT_F32,
                            .get = get_plane,
                            .put = put_plane,
                            .in_place = state < 0 && t->size == 0 && !o,
                            .ctx = p,
                            .optimizer = state >= 0};
    if (o) add_parts(out, a, o->placing, p->width);
}

cr_ckpt_tensor *cr_job_tensors(cr_job *j, const cr_planes *t, cr_arena *a, int *n) {
    cr_model *m = j->model;
    int max = m->graph.n + cr_map_tensors_max(m);
    for (int i = 0; t && i < m->graph.n; i++)
        if (m->graph.nodes[i]->cls == CR_PARAM && m->graph.nodes[i]->trainable)
            max += t->count(t->ctx, m->graph.nodes[i]);
    for (int i = 0; i < m->n_tables; i++) {
        const cr_optim_type *o = m->tables[i]->table.optim;
        max += 1 + (o ? o->elem_state + o->row_state : 0) + CR_CTR_PLANES;
    }
    list l = {CR_NEW_N(a, cr_ckpt_tensor, max + 1), 0};
    for (int i = 0; i < m->graph.n; i++) {
        const cr_node *p = m->graph.nodes[i];
        if (p->cls != CR_PARAM || p->op) continue;
        add_flat(&l, p->name, p, p->w, false);
        for (int k = 0; t && p->trainable && k < t->count(t->ctx, p); k++) {
            float *data;
            const char *which = t->plane(t->ctx, p, k, &data);
            add_flat(&l, cr_arena_printf(a, "state.%s.%s", p->name, which), p, data, true);
            if (t->slice) cut_flat(&l, a, j, p, t->slice);
        }
    }
    for (int i = 0; i < m->n_tables; i++) {
        cr_table *tab = &m->tables[i]->table;
        const cr_optim_type *o = tab->optim;
        int first = l.n;
        if (m->tables[i]->grows) { /* its ids come first: they say which rows there are */
            l.n += cr_map_tensors(m->tables[i], t != NULL, a, l.v + l.n);
            add_grown(&l, a, j, tab->name, m->tables[i], -1, tab->D);
            if (t) add_grown_state(&l, a, j, m->tables[i]);
            continue;
        }
        if (tab->owner && !tab->owner->placing) continue; /* the owner saves its rows */
        add_plane(&l, a, tab->name, tab, -1);
        if (m->tables[i]->in_file) {
            stored *s = CR_NEW(a, stored);
            *s = (stored){j->mapped, tab->name, tab->half};
            l.v[l.n - 1].get = get_stored;
            l.v[l.n - 1].ctx = s;
        }
        for (int p = 0; t && o && p < o->elem_state + o->row_state; p++)
            add_plane(&l, a, cr_arena_printf(a, "state.%s.%s", tab->name, o->state_names[p]), tab,
                      p);
        for (int k = first; k < l.n; k++)
            l.v[k].spare_rows = m->tables[i]->owner->spare_rows;
        l.n += cr_map_tensors(m->tables[i], t != NULL, a, l.v + l.n);
    }
    *n = l.n;
    return l.v;
}

/* Lets a table read its rows in an export, if they lie there as in memory. */
static void map_table(cr_model_table *t, const cr_ckpt *c) {
    static const int halves[CR_DT_COUNT] = {
        [CR_DT_F16] = CR_HALF_FP16, [CR_DT_BF16] = CR_HALF_BF16};
    const cr_ckpt_info *p = cr_ckpt_find(c, t->table.name);
    if (!p) return;
    int half = halves[p->dtype];
    if (half) t->half = half; /* such values stay in 16 bits, mapped or not */
    bool fits = (half || p->dtype == CR_DT_F32) && p->n_dims == 2 && p->shape[0] == t->n_rows &&
                p->shape[1] == t->D && !(half && t->D % 2);
    if (fits && t->half == half) t->mapped = cr_ckpt_view(c, t->table.name);
}

cr_code cr_job_map(cr_job *j, const char *path, cr_err *err) {
    cr_ckpt *c;
    CR_TRY(cr_ckpt_open_weights(&c, path, err));
    cr_map_sizes(j->model, c);
    if (!cr_ckpt_is_export(c)) {
        cr_ckpt_close(c);
        return CR_OK;
    }
    j->mapped = c;
    for (int i = 0; i < j->model->n_tables; i++) {
        map_table(j->model->tables[i], c);
        cr_map_view(j->model->tables[i], c);
    }
    return CR_OK;
}

static cr_code open_weights(const cr_job *j, const char *path, cr_ckpt **out, cr_err *err) {
    return cr_job_needs(j) == CR_NEED_ALL ? cr_ckpt_open(out, path, err)
                                          : cr_ckpt_open_weights(out, path, err);
}

cr_code cr_job_copy(cr_job *j, const char *path, cr_err *err) {
    CR_TRY(open_weights(j, path, &j->mapped, err));
    cr_map_sizes(j->model, j->mapped);
    for (int i = 0; i < j->model->n_tables; i++)
        j->model->tables[i]->in_file = !j->model->tables[i]->table.owner;
    return CR_OK;
}

bool cr_job_wants_ema(const cr_job *j, bool eval) {
    const cr_root_conf *c = j->root;
    const void *conf = eval ? (const void *)c->eval_config : (const void *)c->export_config;
    if (cr_conf_has(conf, "use_dense_ema"))
        return eval ? c->eval_config->use_dense_ema : c->export_config->use_dense_ema;
    return c->train_config->dense_optimizer->ema != NULL;
}

void cr_job_check_ema(const cr_job *j, cr_diag *diag) {
    const cr_root_conf *c = j->root;
    if (c->train_config->dense_optimizer->ema) return;
    const void *conf[] = {c->eval_config, c->export_config};
    bool wants[] = {c->eval_config->use_dense_ema, c->export_config->use_dense_ema};
    for (int i = 0; i < 2; i++)
        if (wants[i] && cr_conf_has(conf[i], "use_dense_ema"))
            cr_diag_add(
                diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf[i], "use_dense_ema"),
                "use_dense_ema needs averages, which this training does not make; add %s, or "
                "remove it",
                CR_SAY(c, "dense_optimizer.ema", "{decay: 0.999}"));
}

static bool is_trained(const cr_graph *g, const char *name) {
    for (int i = 0; i < g->n; i++)
        if (g->nodes[i]->cls == CR_PARAM && strcmp(g->nodes[i]->name, name) == 0)
            return g->nodes[i]->trainable;
    return false;
}

/* Lets the dense parameters among v be filled from their averages. It reports a checkpoint that has
 * none. An export has none because its weights are already the averages. */
static cr_code use_ema(const cr_job *j, const cr_ckpt *c, cr_ckpt_tensor *v, int n, cr_arena *a,
                       cr_diag *diag) {
    const char *key = j->evaluates ? "eval_config" : "export_config";
    const void *conf =
        j->evaluates ? (const void *)j->root->eval_config : (const void *)j->root->export_config;
    int found = 0, trained = 0;
    for (int i = 0; i < n; i++) {
        if (!is_trained(&j->model->graph, v[i].name)) continue;
        const char *name = cr_arena_printf(a, "state.%s.ema", v[i].name);
        trained++;
        if (!cr_ckpt_find(c, name)) continue;
        v[i].name = name;
        found++;
    }
    if (found > 0 || trained == 0 || !cr_ckpt_get_state(c)) return CR_OK;
    bool asked = cr_conf_has(conf, "use_dense_ema");
    cr_diag_add(diag, asked ? CR_SEV_ERROR : CR_SEV_WARN, CR_ERUN, (cr_loc){cr_ckpt_path(c), 0, 0},
                asked ? "holds no averaged parameters, which %s.use_dense_ema asks for; it was "
                        "trained without ema"
                      : "holds no averaged parameters, so the last ones are used; set "
                        "%s.use_dense_ema to false to say so",
                key);
    return cr_diag_code(diag);
}

cr_ckpt_need cr_job_needs(const cr_job *j) {
    return cr_job_wants_ema(j, j->evaluates) ? CR_NEED_ALL : CR_NEED_WEIGHTS;
}

/* Lists the feature groups, and the sequence groups inside them. */
static cr_feature_order *orders(const cr_job *j, cr_arena *a, int *n) {
    const cr_msgs *groups = &j->root->model_config->feature_groups;
    int64_t max = groups->n;
    for (int64_t i = 0; i < groups->n; i++)
        max += ((const cr_group_conf *)groups->v[i])->sequence_groups.n;
    cr_feature_order *v = CR_NEW_N(a, cr_feature_order, max + 1);
    *n = 0;
    for (int64_t i = 0; i < groups->n; i++) {
        const cr_group_conf *g = groups->v[i];
        v[(*n)++] = (cr_feature_order){g->group_name, g, g->feature_names};
        for (int64_t k = 0; k < g->sequence_groups.n; k++) {
            const cr_seq_group_conf *s = g->sequence_groups.v[k];
            const char *name = s->group_name && *s->group_name
                                   ? s->group_name
                                   : cr_arena_printf(a, "sequence %d", (int)k);
            v[(*n)++] = (cr_feature_order){cr_arena_printf(a, "%s/%s", g->group_name, name), s,
                                           s->feature_names};
        }
    }
    return v;
}

const char *cr_job_meaning(const cr_job *j, cr_arena *a) {
    cr_buf b;
    int n;
    cr_buf_init(&b);
    const cr_feature_order *v = orders(j, a, &n);
    cr_features_meaning(j->features, j->root->data_config, v, n, &b);
    const char *text = cr_arena_strndup(a, b.data, b.n);
    cr_buf_clear(&b);
    return text;
}

cr_code cr_job_same_meaning(const cr_job *j, const cr_ckpt *c, bool fine_tune, cr_diag *diag) {
    if (!cr_ckpt_features(c)) return CR_OK;
    cr_features_adopt(j->features, cr_ckpt_features(c));
    int n, n_orders;
    bool accepted = fine_tune || j->accept_changed_features;
    cr_arena a;
    cr_arena_init(&a, 0);
    const cr_feature_order *v = orders(j, &a, &n_orders);
    cr_code code = cr_features_same_meaning(j->features, j->root->data_config, v, n_orders,
                                            cr_ckpt_features(c), cr_ckpt_path(c),
                                            accepted ? CR_SEV_WARN : CR_SEV_ERROR, &n, diag);
    cr_arena_clear(&a);
    return code;
}

cr_code cr_job_maps_loaded(cr_job *j, cr_diag *diag) {
    cr_err err;
    cr_code code = cr_model_maps_load(j->model, cr_job_self(j) == 0, &err);
    cr_model_maps_saved(j->model);
    cr_model_rest_rows(j->model);
    return code == CR_OK ? CR_OK : cr_diag_err(diag, &err);
}

cr_code cr_job_load_weights(cr_job *j, const char *path, cr_diag *diag) {
    cr_err err;
    cr_ckpt *c = j->mapped;
    if (!c && open_weights(j, path, &c, &err) != CR_OK) return cr_diag_err(diag, &err);
    int n;
    cr_ckpt_tensor *v = cr_job_tensors(j, NULL, &j->cfg.arena, &n);
    cr_ckpt_load_opts lo = {.allow_extra = true,
                            .skip_optimizer = true,
                            .no_verify = j->verified && strcmp(j->verified, path) == 0,
                            .self = cr_job_self(j),
                            .pool = j->pool};
    cr_code code = cr_job_same_meaning(j, c, false, diag);
    if (code == CR_OK && cr_job_wants_ema(j, j->evaluates))
        code = use_ema(j, c, v, n, &j->cfg.arena, diag);
    if (code == CR_OK) code = cr_ckpt_load(c, v, n, &lo, diag);
    if (!j->mapped) cr_ckpt_close(c);
    return code;
}
