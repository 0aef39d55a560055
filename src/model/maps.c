/*
 * maps.c - tables whose ids get their rows from a map (zch, dynamicemb, growing): the map of each
 * such table, the lists of rows that stand behind a batch's own lists of ids, and a map's step of
 * training.
 *
 * A feature that such a table reads has, in addition to its own list of ids, a list with the rows
 * of this table. Lookups know only the second one, by its number.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "feat/config.h"
#include "model/group_int.h"

/* ---- building ---- */

typedef struct filter_name {
    const char *name;
    cr_zch_pass pass;
    const char *arg; /* the name of its argument; NULL: it has none */
    double def;
} filter_name;
static const filter_name filters[] = {
    {"average_threshold_filter", CR_ZCH_AVERAGE, NULL, 0},
    {"dynamic_threshold_filter", CR_ZCH_DYNAMIC, "threshold_skew_multiplier", 10},
    {"probabilistic_threshold_filter", CR_ZCH_CHANCE, "per_id_probability", 0.01},
};

static void skip(const char **p) {
    *p += strspn(*p, " \t\r\n");
}
static bool take(const char **p, const char *text) {
    skip(p);
    size_t n = strlen(text);
    if (strncmp(*p, text, n) != 0) return false;
    *p += n;
    return true;
}
static bool take_number(const char **p, double *x) {
    skip(p);
    char *end;
    *x = strtod(*p, &end);
    if (end == *p || *x != *x) return false;
    *p = end;
    return true;
}
static size_t word(const char *p) {
    return strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
}

/* Reads "(x > 10, 10)" behind the colon of a lambda of `arg`. */
static bool comparison(const char *p, const char *arg, cr_zch_opts *o) {
    double again;
    if (!take(&p, "(") || !take(&p, arg) || !take(&p, ">")) return false;
    o->pass = *p == '=' ? CR_ZCH_AT_LEAST : CR_ZCH_ABOVE;
    if (*p == '=') p++;
    if (!take_number(&p, &o->arg) || !take(&p, ",") || !take_number(&p, &again)) return false;
    if (!take(&p, ")")) return false;
    skip(&p);
    return !*p;
}

/* Reads "dynamic_threshold_filter(x, 1.5)" behind the colon. */
static bool call(const char *p, const char *arg, cr_zch_opts *o) {
    skip(&p);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        const filter_name *f = &filters[i];
        if (word(p) != strlen(f->name) || strncmp(p, f->name, strlen(f->name)) != 0) continue;
        p += strlen(f->name);
        o->pass = f->pass;
        o->arg = f->def;
        if (!take(&p, "(") || !take(&p, arg)) return false;
        if (take(&p, ",")) {
            if (!f->arg) return false;
            if (take(&p, f->arg) && !take(&p, "=")) return false;
            if (!take_number(&p, &o->arg)) return false;
        }
        if (!take(&p, ")")) return false;
        skip(&p);
        return !*p;
    }
    return false;
}

/* Reads the lambdas that TorchEasyRec documents; others are Python, which crank does not run. */
static bool read_filter(const char *text, cr_zch_opts *o) {
    char arg[64];
    const char *p = text;
    if (!take(&p, "lambda")) return false;
    skip(&p);
    size_t n = word(p);
    if (n == 0 || n >= sizeof arg) return false;
    memcpy(arg, p, n);
    arg[n] = 0;
    p += n;
    if (!take(&p, ":")) return false;
    return comparison(p, arg, o) || call(p, arg, o);
}

static cr_zch_opts zch_opts(const cr_zch_conf *c) {
    static const char *const names[] = {
        [CR_ZCH_LFU] = "lfu", [CR_ZCH_LRU] = "lru", [CR_ZCH_DISTANCE_LFU] = "distance_lfu"};
    const cr_zch_policy_conf *policy = c->eviction_policy.conf;
    cr_zch_opts o = {.interval = c->eviction_interval, .exponent = policy->decay_exponent};
    for (int k = 0; k < 3; k++)
        if (strcmp(c->eviction_policy.m->key, names[k]) == 0) o.policy = (cr_zch_policy)k;
    if (*c->threshold_filtering_func) (void)read_filter(c->threshold_filtering_func, &o);
    return o;
}

static cr_zch_opts opts_of(const cr_model_table *t, uint64_t seed) {
    const cr_feature *f = t->owner;
    cr_zch_opts o = f->zch ? zch_opts(f->zch) : (cr_zch_opts){.interval = 1};
    o.name = t->table.name;
    o.size = t->n_rows;
    o.seed = seed;
    return o;
}

void cr_maps_check(const cr_feature *f, cr_diag *diag) {
    cr_zch_opts o = {0};
    const char *text = f->zch ? f->zch->threshold_filtering_func : "";
    if (!*text || read_filter(text, &o)) return;
    cr_diag_add(
        diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(f->zch, "threshold_filtering_func"),
        "feature '%s': crank reads threshold_filtering_func of the forms lambda x: (x > 10, "
        "10), with > or >=, lambda x: dynamic_threshold_filter(x, 1.0), "
        "average_threshold_filter(x) and probabilistic_threshold_filter(x, 0.01); '%s' is "
        "none of them",
        f->name, text);
}

static const char *zch_differ(const cr_zch_conf *x, const cr_zch_conf *y) {
    const cr_zch_policy_conf *p = x->eviction_policy.conf, *q = y->eviction_policy.conf;
    return x->eviction_interval != y->eviction_interval   ? "eviction_interval"
           : x->eviction_policy.m != y->eviction_policy.m ? "the eviction policy"
           : p->decay_exponent != q->decay_exponent       ? "decay_exponent"
           : strcmp(x->threshold_filtering_func, y->threshold_filtering_func) != 0
               ? "threshold_filtering_func"
               : NULL;
}

const char *cr_maps_differ(const cr_feature *a, const cr_feature *b) {
    if (!a->zch != !b->zch) return "zch";
    if (!a->demb != !b->demb) return "dynamicemb";
    if (!a->grow != !b->grow) return "growing";
    if (a->zch) return zch_differ(a->zch, b->zch);
    return cr_grown_differ(a, b);
}

int cr_maps_slot(cr_model *m, const cr_features *fs, cr_model_table *t, const cr_feature *f) {
    if (!cr_feature_mapped(f)) return f->slot;
    int n = m->n_mapped;
    for (int k = 0; k < n; k++)
        if (m->mapped[k].t == t && m->mapped[k].slot == f->slot) return fs->n_sparse + k;
    cr_mapped *v = CR_NEW_N(&m->arena, cr_mapped, n + 1);
    if (n > 0) memcpy(v, m->mapped, (size_t)n * sizeof(*v));
    v[n] = (cr_mapped){t, f->slot};
    m->mapped = v;
    m->n_mapped = n + 1;
    return fs->n_sparse + n;
}

int cr_model_feature_slot(const cr_model *m, int slot) {
    int k = slot - m->features->n_sparse;
    return k < 0 ? slot : m->mapped[k].slot;
}

/* ---- memory ---- */

cr_code cr_maps_alloc(cr_model *m, const cr_model_opts *o, cr_err *err) {
    m->map_seed = o->seed;
    for (int i = 0; i < m->n_tables; i++) {
        cr_model_table *t = m->tables[i];
        if (!cr_feature_mapped(t->owner) || t->grows) continue;
        cr_zch_opts zo = opts_of(t, o->seed);
        if (o->optim) {
            CR_TRY(cr_zch_new(&t->map, &zo, err));
        } else if (t->map_ids) {
            t->map = cr_zch_view(&zo, t->map_ids, t->map_rows);
        } else {
            CR_TRY(cr_zch_room(t->n_rows, 0, &t->map_state, err));
            t->map = cr_zch_view(&zo, t->map_state.rows.id, t->map_state.rows.row);
        }
    }
    return CR_OK;
}

int64_t cr_model_map_bytes(const cr_model_table *t, int64_t n_rows) {
    if (!cr_feature_grows(t->owner)) return cr_zch_bytes(n_rows);
    cr_grow_rules r = cr_grown_rules(t->owner);
    return cr_mul_i64(n_rows, cr_grow_row_bytes(&r));
}

void cr_maps_clear(cr_model *m) {
    for (int i = 0; i < m->n_tables; i++) {
        cr_zch_free(m->tables[i]->map);
        cr_zch_state_clear(&m->tables[i]->map_state);
        cr_grown_clear(m->tables[i]);
    }
}

cr_code cr_model_maps_save(cr_model *m, const cr_meet *meet, cr_err *err) {
    for (int i = 0; i < m->n_tables; i++) {
        cr_model_table *t = m->tables[i];
        if (t->grows) CR_TRY(cr_grown_save(t, meet, err));
        if (t->map) CR_TRY(cr_zch_save(t->map, meet, &t->map_state, err));
    }
    return CR_OK;
}

cr_code cr_model_maps_load(cr_model *m, bool first, cr_err *err) {
    for (int i = 0; i < m->n_tables; i++) {
        cr_model_table *t = m->tables[i];
        /* a map that is only read reads its state */
        if (!t->map || !cr_zch_learns(t->map) || t->map_state.size == 0) continue;
        CR_TRY(cr_zch_load(t->map, &t->map_state, first, err));
    }
    return CR_OK;
}

void cr_model_maps_saved(cr_model *m) {
    for (int i = 0; i < m->n_tables; i++) {
        cr_model_table *t = m->tables[i];
        if (t->grows) cr_grown_saved(t);
        if (t->map && cr_zch_learns(t->map)) cr_zch_state_clear(&t->map_state);
    }
}

/* ---- batches ---- */

#define KEYS 8192 /* ids that a thread takes at a time */
typedef struct keying {
    const int64_t *ids;
    int64_t n, *keys;
} keying;
static void key_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const keying *k = ctx;
    int64_t i = item * KEYS;
    cr_keys_of(k->ids + i, k->n - i < KEYS ? k->n - i : KEYS, k->keys + i);
}

cr_code cr_model_map_batch(cr_model_work *w, const cr_batch *b, const cr_batch **out, cr_err *err) {
    const cr_model *m = w->m;
    *out = b;
    if (m->n_mapped == 0 || b->n_sparse != m->features->n_sparse) return CR_OK;
    struct cr_mapped_batch *to = w->mapped;
    int64_t all = 0;
    for (int k = 0; k < m->n_mapped; k++)
        all = cr_add_i64(all, cr_group_ids(b, m->mapped[k].slot));
    if (all > to->cap) {
        void *p;
        int64_t cap = cr_add_i64(all, all / 4);
        CR_TRY(cr_try_alloc(&p, cr_bytes(cap, sizeof(int64_t)), "rows of a batch's ids", err));
        cr_free(to->rows);
        to->rows = p;
        to->cap = cap;
    }
    to->b = *b;
    to->b.sparse = to->sparse;
    to->b.n_sparse = b->n_sparse + m->n_mapped;
    memcpy(to->sparse, b->sparse, (size_t)b->n_sparse * sizeof(cr_jagged));
    int64_t *rows = to->rows;
    for (int k = 0; k < m->n_mapped; k++) {
        const cr_jagged *from = &b->sparse[m->mapped[k].slot];
        int64_t n = cr_group_ids(b, m->mapped[k].slot);
        if (m->mapped[k].t->grows)
            cr_pool_run(w->pool, (n + KEYS - 1) / KEYS, key_item, &(keying){from->ids, n, rows});
        else
            cr_zch_find(m->mapped[k].t->map, from->ids, n, rows, w->pool);
        to->sparse[b->n_sparse + k] = *from;
        to->sparse[b->n_sparse + k].ids = rows;
        rows += n;
    }
    *out = &to->b;
    return CR_OK;
}

bool cr_model_maps_ahead(const cr_model *m) {
    for (int k = 0; k < m->n_mapped; k++)
        if (!m->mapped[k].t->grows) return false;
    return true;
}

/* Gives a row its first values as the row of `id`, where it lies here. */
static void first_values(const cr_model *m, cr_model_table *t, int64_t row, int64_t id,
                         const cr_init *init) {
    const cr_owner *o = t->table.owner;
    if (!o) cr_table_first(&t->table, row, id, init, m->map_seed);
    for (int k = 0; o && k < o->n_held; k++) {
        cr_table *h = &o->held[k];
        if (row >= h->row0 && row - h->row0 < h->n_rows)
            cr_table_first(h, row - h->row0, id, init, m->map_seed);
    }
}

typedef struct moving {
    const cr_model *m;
    cr_model_table *t;
} moving;
static void move_in(void *ctx, int64_t row, int64_t id, int64_t left) {
    const moving *v = ctx;
    first_values(v->m, v->t, row, id, &v->t->init);
    if (v->m->moved) v->m->moved(v->m->moved_ctx, v->t, id, left);
}

void cr_model_rest_rows(cr_model *m) {
    for (int i = 0; m->n_mapped > 0 && i < m->n_tables; i++) {
        cr_model_table *t = m->tables[i];
        if (t->grows) cr_grown_rest(t);
        if (t->grows || t->in_file || t->mapped || !cr_feature_grows(t->owner)) continue;
        cr_init init = CR_INIT_C(cr_grown_rules(t->owner).absent[0]);
        first_values(m, t, t->n_rows - 1, t->n_rows - 1, &init);
    }
}

/* Collective: returns the day of a step, the latest of the rows of all holders; INT64_MIN: no table
 * wants to know, or no row tells. */
static int64_t day_of(const cr_model *m, const cr_batch *b, const cr_meet *meet) {
    int clock = cr_features_clock(m->features);
    int64_t day = INT64_MIN;
    bool wanted = false;
    for (int i = 0; i < m->n_tables; i++)
        wanted |= cr_grown_wants_day(m->tables[i]);
    if (!wanted || clock < 0) return day;
    for (int64_t r = 0; clock < b->n_weights && r < b->n_rows; r++)
        if ((int64_t)b->weights[clock][r] > day) day = (int64_t)b->weights[clock][r];
    if (!meet) return day;
    int64_t all[CR_MAX_LANES];
    size_t at[CR_MAX_LANES + 1];
    for (int h = 0; h <= meet->n; h++)
        at[h] = (size_t)h * sizeof(int64_t);
    for (int h = 0; h < meet->n; h++)
        all[h] = INT64_MIN;
    all[meet->self] = day;
    meet->gather(meet->ctx, all, at);
    for (int h = 0; h < meet->n; h++)
        if (all[h] > day) day = all[h];
    return day;
}

cr_code cr_model_learn_ids(cr_model *m, const cr_batch *b, const cr_meet *meet, cr_err *err) {
    m->day = day_of(m, b, meet);
    for (int i = 0; i < m->n_tables; i++) {
        cr_model_table *t = m->tables[i];
        if (t->grows) CR_TRY(cr_grown_step(t, m->day, err));
        if (!t->map) continue;
        for (int k = 0; k < m->n_mapped; k++)
            if (m->mapped[k].t == t)
                CR_TRY(cr_zch_count(t->map, b->sparse[m->mapped[k].slot].ids,
                                    cr_group_ids(b, m->mapped[k].slot), err));
        CR_TRY(cr_zch_step(t->map, meet, move_in, &(moving){m, t}, err));
    }
    return CR_OK;
}
