/*
 * units.c - see units.h.
 */
#include "explain/units.h"

#include <string.h>

#include "op/op.h"

static cr_unit *new_unit(const cr_model *m, const char *kind, const char *name, cr_arena *a) {
    cr_unit *u = CR_NEW(a, cr_unit);
    u->kind = kind;
    u->name = name;
    u->ids = CR_NEW_N(a, bool, m->features->n_sparse + m->n_mapped + 1);
    u->seqs = CR_NEW_N(a, bool, m->features->n_dense_seq + 1);
    u->dense = CR_NEW_N(a, bool, m->features->dense_width + 1);
    return u;
}

static void add_feature(cr_unit *u, const cr_model *m, const cr_feature *f) {
    u->n_features++;
    if (f->sparse) {
        u->ids[f->slot] = true;
        for (int k = 0; k < m->n_mapped; k++)
            if (m->mapped[k].slot == f->slot) u->ids[m->features->n_sparse + k] = true;
    } else if (f->seq) {
        u->seqs[f->slot] = true;
    } else {
        for (int64_t c = 0; c < f->value_dim; c++)
            u->dense[f->dense_off + c] = true;
    }
}

static bool has_feature(const cr_unit *u, const cr_feature *f) {
    return f->sparse ? u->ids[f->slot] : f->seq ? u->seqs[f->slot] : u->dense[f->dense_off];
}

/* Adds a feature by its name, or all features of a sequence by the name of that. only_seq: not one
 * that is no sequence (the query of a sequence group). */
static void add_named(cr_unit *u, const cr_model *m, const char *name, bool only_seq) {
    for (int i = 0; i < m->features->n; i++) {
        const cr_feature *f = m->features->v[i];
        bool is = strcmp(f->name, name) == 0 ||
                  (f->seq && f->seq->name && strcmp(f->seq->name, name) == 0);
        if (is && !f->stub && (f->seq || !only_seq) && !has_feature(u, f)) add_feature(u, m, f);
    }
}

static bool is_source(const cr_node *n) {
    return n->op == &cr_op_lookup || n->op == &cr_op_lookup_seq;
}

/* Is the piece of a lookup a part of the unit? */
static bool has_piece(const cr_unit *u, const cr_node *n, const cr_look *k) {
    if (k->table) return u->ids[k->slot];
    return n->cls == CR_SEQ ? u->seqs[k->slot] : u->dense[k->dense_off];
}

static bool owns_axis(const cr_unit *u, const cr_seq_axis *a) {
    return a->sparse ? u->ids[a->slot] : u->seqs[a->slot];
}

/* The lengths may move when each axis belongs to the unit as a whole, or not at all. */
static void find_lengths(cr_unit *u, const cr_model *m) {
    const cr_graph *g = &m->graph;
    bool any = false, whole = true;
    for (int i = 0; i < m->n_axes; i++) {
        bool own = owns_axis(u, &m->axes[i]);
        any |= own;
        for (int k = 0; k < m->axes[i].n_others; k++)
            whole &= has_feature(u, m->axes[i].others[k]) == own;
    }
    for (int i = 0; i < g->n; i++) {
        int count = 0;
        if (g->nodes[i]->op != &cr_op_lookup_seq) continue;
        const cr_look *v = cr_lookup_pieces(g->nodes[i], &count);
        for (int k = 0; k < count; k++)
            whole &= has_piece(u, g->nodes[i], &v[k]) == owns_axis(u, &m->axes[g->nodes[i]->axis]);
    }
    u->lengths = any && whole;
}

static void list_parts(cr_unit *u, const cr_model *m, cr_arena *a) {
    const cr_features *fs = m->features;
    int n_lists = fs->n_sparse + m->n_mapped;
    u->parts = CR_NEW_N(a, struct cr_unit_part, n_lists + fs->n_dense_seq + fs->dense_width + 1);
    for (int i = 0; i < n_lists; i++)
        if (u->ids[i]) u->parts[u->n_parts++] = (struct cr_unit_part){CR_KEPT_IDS, i};
    for (int i = 0; i < fs->n_dense_seq; i++)
        if (u->seqs[i]) u->parts[u->n_parts++] = (struct cr_unit_part){CR_KEPT_SEQ, i};
    for (int64_t c = 0; c < fs->dense_width; c++)
        if (u->dense[c]) u->parts[u->n_parts++] = (struct cr_unit_part){CR_KEPT_FLOAT, c};
}

static bool same_parts(const cr_unit *x, const cr_unit *y, const cr_model *m) {
    const cr_features *fs = m->features;
    return memcmp(x->ids, y->ids, (size_t)(fs->n_sparse + m->n_mapped)) == 0 &&
           memcmp(x->seqs, y->seqs, (size_t)fs->n_dense_seq) == 0 &&
           memcmp(x->dense, y->dense, (size_t)fs->dense_width) == 0;
}

static void put_unit(cr_unit_list *to, cr_unit *u, const cr_model *m, cr_arena *a) {
    if (strcmp(u->kind, "feature") != 0) {
        if (u->n_features < 2) return;
        for (int i = 0; i < to->n; i++)
            if (same_parts(&to->v[i], u, m)) return;
    }
    find_lengths(u, m);
    list_parts(u, m, a);
    to->v[to->n++] = *u;
}

static void put_names(cr_unit_list *to, const cr_model *m, const char *kind, const char *name,
                      const cr_strs *names, cr_arena *a) {
    cr_unit *u = new_unit(m, kind, name, a);
    for (int i = 0; i < names->n; i++)
        add_named(u, m, names->v[i], strcmp(kind, "sequence") == 0);
    put_unit(to, u, m, a);
}

static int count_units(const cr_job *j) {
    const cr_model_conf *mc = j->root->model_config;
    int n = 2 * j->features->n;
    for (int i = 0; i < mc->feature_groups.n; i++)
        n += 1 + (int)((const cr_group_conf *)mc->feature_groups.v[i])->sequence_groups.n;
    return n;
}

cr_unit_list cr_units_make(const cr_job *j, bool all, cr_arena *a) {
    const cr_model *m = j->model;
    const cr_model_conf *mc = j->root->model_config;
    cr_unit_list to = {.v = CR_NEW_N(a, cr_unit, count_units(j))};
    for (int i = 0; i < m->features->n; i++) {
        const cr_feature *f = m->features->v[i];
        if (f->stub) continue;
        cr_unit *u = new_unit(m, "feature", f->name, a);
        add_feature(u, m, f);
        u->seq = f->seq != NULL;
        put_unit(&to, u, m, a);
    }
    to.n_features = to.n;
    for (int i = 0; all && i < m->features->n; i++) {
        const cr_feature *f = m->features->v[i];
        if (!f->seq || !f->seq->name || f->seq->first != i) continue;
        cr_unit *u = new_unit(m, "sequence", f->seq->name, a);
        add_named(u, m, f->seq->name, true);
        put_unit(&to, u, m, a);
    }
    for (int i = 0; all && i < mc->feature_groups.n; i++) {
        const cr_group_conf *g = mc->feature_groups.v[i];
        put_names(&to, m, "group", g->group_name, &g->feature_names, a);
        for (int k = 0; k < g->sequence_groups.n; k++) {
            const cr_seq_group_conf *s = g->sequence_groups.v[k];
            put_names(&to, m, "sequence", *s->group_name ? s->group_name : g->group_name,
                      &s->feature_names, a);
        }
    }
    return to;
}

void cr_unit_changes(const cr_unit *u, const cr_model *m, bool moved, bool *mark) {
    const cr_graph *g = &m->graph;
    for (int i = 0; i < g->n; i++) {
        const cr_node *n = g->nodes[i];
        int count = 0;
        const cr_look *v = n->op && is_source(n) ? cr_lookup_pieces(n, &count) : NULL;
        mark[i] = moved && n->op && n->cls == CR_SEQ && owns_axis(u, &m->axes[n->axis]);
        for (int k = 0; k < count; k++)
            mark[i] |= has_piece(u, n, &v[k]);
        for (int k = 0; k < n->n_in; k++)
            mark[i] |= mark[n->in[k]->id];
    }
}

void cr_unit_differ(const cr_unit *u, const cr_kept *k, int64_t first, int64_t n,
                    const int64_t *donor, bool *differs) {
    memset(differs, 0, (size_t)n * sizeof(bool));
    for (int i = 0; i < u->n_parts; i++)
        cr_kept_differ(k, u->parts[i].part, u->parts[i].at, first, n, donor, differs);
}

cr_unit_sources cr_unit_sources_new(const cr_kept *k, cr_arena *a) {
    const cr_batch *all = cr_kept_all(k);
    return (cr_unit_sources){.ids = CR_NEW_N(a, const int64_t *, all->n_sparse + 1),
                             .seqs = CR_NEW_N(a, const int64_t *, all->n_dense_seq + 1),
                             .dense = CR_NEW_N(a, const int64_t *, all->dense_width + 1)};
}

void cr_unit_from(const cr_unit *u, cr_unit_sources *s, const int64_t *rows) {
    for (int i = 0; i < u->n_parts; i++) {
        const struct cr_unit_part *p = &u->parts[i];
        const int64_t **to = p->part == CR_KEPT_IDS   ? s->ids
                             : p->part == CR_KEPT_SEQ ? s->seqs
                                                      : s->dense;
        to[p->at] = rows;
    }
}
