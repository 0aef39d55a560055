/*
 * bench_ranks.c - `crank bench train` as several ranks: how many bytes the ranks send to each other
 * per row, beside the fewest that the placing of the tables allows.
 */
#include <string.h>

#include "emb/group.h"
#include "tool/bench_int.h"

double cr_bench_total(cr_comm *comm, double mine) {
    int n = cr_comm_size(comm);
    double *v = cr_alloc((size_t)n * sizeof(double), "totals"), sum = 0;
    size_t *at = cr_alloc(((size_t)n + 1) * sizeof(size_t), "totals");
    for (int r = 0; r <= n; r++)
        at[r] = (size_t)r * sizeof(double);
    v[cr_comm_rank(comm)] = mine;
    cr_comm_gather(comm, v, at);
    for (int r = 0; r < n; r++)
        sum += v[r];
    cr_free(v);
    cr_free(at);
    return sum;
}

/* Returns how many of the ids lie in the rows of a shard. Ids ascend. */
static double ids_in(const cr_group *g, const cr_shard *s) {
    int64_t n = 0;
    for (int64_t k = 0; k < g->n_uniq; k++)
        n += g->id[k] >= s->row && g->id[k] < s->end;
    return (double)n;
}

/* Returns the bytes that this rank must send or be sent for one table in one batch, counted where
 * the batch is. */
static double table_bytes(const cr_job *j, const cr_model_table *t, const cr_group *g) {
    const cr_placing *p = t->table.owner ? t->table.owner->placing : NULL;
    bool trained = t->updater >= 0;
    double id = t->n_rows <= UINT32_MAX ? 4 : 8, sum = 0;
    if (!p) /* every rank gets every gradient */
        return trained ? (double)g->n_uniq * (id + 4 * (double)t->D) * (j->meet->n - 1) : 0;
    for (int k = 0; k < p->n; k++) {
        const cr_shard *s = &p->shards[k];
        if (s->holder == j->meet->self) continue;
        double cols = (double)(s->col_end - s->col);
        sum += ids_in(g, s) * (id + cols * (t->half ? 2 : 4) + (trained ? 4 * cols : 0));
    }
    return sum;
}

static int slots_of(const cr_model_table *t, cr_group_slot *out) {
    int n = 0, count;
    for (int k = 0; k < t->n_uses; k++) {
        const cr_node *node = t->uses[k].node;
        const cr_look *look = cr_lookup_pieces(node, &count) + t->uses[k].piece;
        cr_group_slot s = {look->slot, node->cls == CR_SEQ ? 1 + node->axis : 0};
        int i = 0;
        while (i < n && (out[i].slot != s.slot || out[i].seq != s.seq))
            i++;
        if (i == n) out[n++] = s;
    }
    return n;
}

cr_code cr_bench_least(const cr_bench_data *d, double *per_row, cr_err *err) {
    const cr_model *m = d->j.model;
    double mine = 0, rows = 0, P = d->j.meet->n;
    cr_lanes one;
    cr_lanes_init(&one, 1, NULL, NULL);
    for (int b = 0; b < d->n; b++) {
        const int32_t *const *axes;
        cr_batch batch = *d->v[b];
        batch.global_rows = 0;
        rows += (double)d->v[b]->global_rows;
        CR_TRY(cr_model_axes(d->axes, &batch, &axes, err));
        const cr_batch *mapped;
        CR_TRY(cr_model_map_batch(d->axes, &batch, &mapped, err));
        for (int i = 0; i < m->n_tables; i++) {
            const cr_model_table *t = m->tables[i];
            cr_group_slot *slots = cr_alloc((size_t)t->n_uses * sizeof(*slots), "ids of a table");
            cr_group g = {.slots = slots, .n_slots = slots_of(t, slots)};
            cr_group_room room = {0};
            cr_group_run(&g, &room, mapped, axes, &one);
            mine += table_bytes(&d->j, t, &g);
            cr_group_clear(&g);
            cr_group_room_clear(&room);
            cr_free(slots);
        }
    }
    /* every gradient goes to the rank of its slice, and every weight from there to all others */
    double dense = (double)d->n * 2 * (P - 1) * 4 * (double)m->graph.n_trainable / P;
    double all = cr_bench_total(d->j.comm, mine + dense);
    *per_row = rows > 0 ? all / rows : 0;
    return CR_OK;
}
