/*
 * work.c - how many rows `crank importance` takes when no flag says it: a rule of counted work.
 *
 * Never of measured time, so the same data and model give the same rows on every machine. Work is
 * multiply-adds of products; what is no product (reading a value, copying what a probe is given,
 * sorting scores) stands as so many multiply-adds, from measurements of three models (why.md). A
 * probe counts as if every row had another value, so what is counted is more than what is done.
 */
#include "base/mem.h"
#include "explain/explain_int.h"
#include "op/op.h"

#define READ_WORK  1200.0  /* a value read, parsed, encoded */
#define PROBE_WORK 12000.0 /* a row of a probe, beside its products */
#define SMALL_WORK 2.5e10  /* about a third of a second */

/* The mean number of positions of an axis. */
static double steps_of(const cr_job *j, const cr_kept *k, int axis) {
    const cr_seq_axis *x = &j->model->axes[axis];
    const cr_batch *all = cr_kept_all(k);
    const int32_t *steps = x->sparse ? all->sparse[x->slot].steps : all->dense_seq[x->slot].steps;
    double n = steps && all->n_rows > 0 ? (double)steps[all->n_rows] / (double)all->n_rows : 0;
    return x->most > 0 && (double)x->most < n ? (double)x->most : n;
}

static double node_work(const cr_node *n, const double *steps) {
    if (n->cls == CR_PARAM) return 0;
    return cr_node_flops(n) / 2 * (n->cls == CR_SEQ ? steps[n->axis] : 1);
}

/* A shifted layer has products for the columns of the unit only. */
static double shift_work(const cr_node *n, const cr_unit *u) {
    int count;
    int64_t width = 0;
    const cr_look *v = cr_lookup_pieces(n->in[0], &count);
    for (int i = 0; i < count; i++)
        if (v[i].table ? u->ids[v[i].slot] : u->dense[v[i].dense_off]) width += v[i].width;
    return cr_node_flops(n) / 2 * (double)width / (double)n->in[0]->width;
}

cr_work_count cr_probes_work(const cr_job *j, const cr_kept *k, const cr_unit_list *units) {
    const cr_model *m = j->model;
    const cr_graph *g = &m->graph;
    cr_work_count w = {.read = READ_WORK * units->n_features};
    double *steps = cr_alloc((size_t)(m->n_axes + 1) * sizeof(*steps), "positions");
    bool *mark = cr_alloc((size_t)g->n + 1, "nodes");
    for (int i = 0; i < m->n_axes; i++)
        steps[i] = steps_of(j, k, i);
    for (int i = 0; i < g->n; i++)
        w.eval += node_work(g->nodes[i], steps);
    w.probes = w.eval;
    w.eval += w.read;
    for (int u = 0; u < units->n; u++) {
        const cr_unit *x = &units->v[u];
        cr_unit_changes(x, m, x->lengths, mark);
        double one = PROBE_WORK;
        for (int i = 0; i < g->n; i++) {
            const cr_node *n = g->nodes[i];
            if (!mark[i] || cr_node_flops(n) == 0) continue;
            one += cr_probe_shifts(n, x) ? shift_work(n, x) : node_work(n, steps);
        }
        w.probes += 2 * one; /* shuffled and removed */
    }
    cr_free(mark);
    cr_free(steps);
    return w;
}

int64_t cr_probes_rows(const cr_work_count *w, int n_features, int64_t n) {
    double all = (double)n;
    if (all * w->probes <= SMALL_WORK) return n;
    double rows = (CR_PROBE_SHARE * n_features * w->eval - w->read) * all / w->probes;
    double least = SMALL_WORK / w->probes;
    rows = rows > least ? rows : least;
    return rows >= all ? n : rows < 1 ? 1 : (int64_t)rows;
}
