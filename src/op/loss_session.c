/*
 * loss_session.c - losses that compare rows of one session: the grouping, and the list-wise part of
 * JRC (Sheng et al., 2023) as TorchEasyRec has it.
 *
 * ge: for a row of class c (label 1 or 0), -log softmax of its logit z_c among itself and the rows
 * of the other class in its session; 0 when there are none. With S = sum over the others of
 * exp(z_c(j)) that is log(exp(z_c(i)) + S) - z_c(i), so one pass over a session computes
 * everything, and the cost is not quadratic. Exponents are taken relative to the larger of both
 * parts, so nothing overflows.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "graph/plan.h"
#include "op/input.h"
#include "op/loss_int.h"
#include "op/op.h"

/* ---- grouping ---- */

/* session: the session of each row. The bits of its 64-bit number take the place of two floats. */
static void session_infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = 2;
}

static void session_forward(const cr_node *n, cr_tile *t) {
    const cr_session *s = n->attr;
    const cr_step_input *in = cr_tile_input(t);
    const cr_jagged *j = s->ids ? NULL : &in->batch->sparse[s->slot];
    float *out = cr_val(t, n);
    for (int64_t i = 0; i < t->n_rows; i++, out += cr_ld(n)) {
        int64_t r = t->row0 + i, id;
        if (s->ids)
            id = s->ids[cr_global_row(t) + i];
        else
            id = !j->off ? j->ids[r] : j->off[r + 1] > j->off[r] ? j->ids[j->off[r]] : s->missing;
        memcpy(out, &id, sizeof(id));
    }
}

const cr_op_type cr_op_session = {.name = "session",
                                  .infer = session_infer,
                                  .forward = session_forward};

cr_node *cr_session_op(cr_graph *g, const cr_op_type *op, cr_node *logits, cr_node *y,
                       const cr_session *s, const void *attr, size_t attr_size) {
    cr_node *in[3] = {logits, y, NULL};
    int n = 2;
    if (s->slot >= 0 || s->ids) in[n++] = cr_graph_op(g, &cr_op_session, NULL, 0, s, sizeof(*s));
    return cr_graph_op(g, op, in, n, attr, attr_size);
}

static void read_sessions(const cr_node *n, const cr_tile *t, uint64_t *key) {
    if (n->n_in < 3) {
        memset(key, 0, (size_t)t->n_rows * sizeof(*key));
        return;
    }
    const float *ids = cr_val(t, n->in[2]);
    for (int64_t r = 0; r < t->n_rows; r++)
        memcpy(&key[r], ids + r * cr_ld(n->in[2]), sizeof(*key));
}

/* A stable radix sort, byte by byte; it skips bytes that are equal in all keys. */
const uint32_t *cr_session_order(const cr_node *node, const cr_tile *t, float *scratch,
                                 const uint64_t **keys) {
    int64_t n = t->n_rows;
    uint64_t *key = (uint64_t *)(void *)scratch, *key2 = key + n, any = 0, all = ~(uint64_t)0;
    uint32_t *row = (uint32_t *)(key2 + n), *row2 = row + n;
    read_sessions(node, t, key);
    for (int64_t r = 0; r < n; r++) {
        row[r] = (uint32_t)r;
        any |= key[r];
        all &= key[r];
    }
    for (int shift = 0; shift < 64; shift += 8) {
        if ((((any & ~all) >> shift) & 255) == 0) continue;
        int64_t at[256] = {0}, sum = 0;
        for (int64_t r = 0; r < n; r++)
            at[(key[r] >> shift) & 255]++;
        for (int d = 0; d < 256; d++) {
            int64_t count = at[d];
            at[d] = sum;
            sum += count;
        }
        for (int64_t r = 0; r < n; r++) {
            int64_t to = at[(key[r] >> shift) & 255]++;
            key2[to] = key[r];
            row2[to] = row[r];
        }
        uint64_t *k = key;
        uint32_t *o = row;
        key = key2;
        key2 = k;
        row = row2;
        row2 = o;
    }
    *keys = key;
    return row;
}

cr_session cr_example_session(cr_graph *g) {
    int64_t *ids = CR_NEW_N(&g->arena, int64_t, CR_FEED_ROWS);
    for (int64_t r = 0; r < CR_FEED_ROWS; r++)
        ids[r] = (r * r % 5) - 2 + (r % 11 == 3 ? (int64_t)1 << 60 : 0);
    return (cr_session){.slot = -1, .ids = ids};
}

/* ---- ge ---- */

static void ge_infer(cr_node *n) {
    if (n->in[0]->width != 2) CR_BUG("ge: needs two logits");
    n->cls = CR_ROW;
    n->width = 1;
    n->scratch_row = CR_SESSION_SCRATCH;
}

/* One class of one session: its rows are the anchors, the others the opponents. */
typedef struct part {
    const uint32_t *row;
    int64_t n;
    const float *z, *y; /* z: column c of the logits, ld apart */
    int64_t ld;
    float c;         /* class of the anchors; the others are opponents */
    double max, sum; /* of the opponents: the largest z, the sum of exp(z - max) */
} part;

static void part_sum(part *p) {
    p->max = -INFINITY;
    p->sum = 0;
    for (int64_t k = 0; k < p->n; k++) {
        uint32_t r = p->row[k];
        if (p->y[r] != p->c) p->max = fmax(p->max, (double)p->z[r * p->ld]);
    }
    for (int64_t k = 0; k < p->n; k++) {
        uint32_t r = p->row[k];
        if (p->y[r] != p->c) p->sum += exp((double)p->z[r * p->ld] - p->max);
    }
}

static void part_forward(part *p, float *loss) {
    part_sum(p);
    for (int64_t k = 0; k < p->n; k++) {
        uint32_t r = p->row[k];
        if (p->y[r] != p->c) continue;
        double z = (double)p->z[r * p->ld], m = fmax(z, p->max);
        loss[r] = p->sum > 0 ? (float)(m + log(exp(z - m) + p->sum * exp(p->max - m)) - z) : 0;
    }
}

static void part_backward(part *p, const float *dl, float *dz) {
    part_sum(p);
    if (!(p->sum > 0)) return;
    double pull = 0; /* the sum of what all anchors add to the gradient of exp(z_j - max) */
    for (int64_t k = 0; k < p->n; k++) {
        uint32_t r = p->row[k];
        if (p->y[r] != p->c) continue;
        double z = (double)p->z[r * p->ld], m = fmax(z, p->max), e = exp(z - m),
               other = exp(p->max - m), all = e + p->sum * other;
        dz[r * p->ld] += (float)((double)dl[r] * (e / all - 1));
        pull += (double)dl[r] * other / all;
    }
    for (int64_t k = 0; k < p->n; k++) {
        uint32_t r = p->row[k];
        if (p->y[r] != p->c) dz[r * p->ld] += (float)(pull * exp((double)p->z[r * p->ld] - p->max));
    }
}

static void ge_run(const cr_node *n, cr_tile *t, float *loss, const float *dl, float *dz) {
    const uint64_t *keys;
    const uint32_t *row = cr_session_order(n, t, t->scratch, &keys);
    const float *z = cr_val(t, n->in[0]), *y = cr_val(t, n->in[1]);
    for (int64_t first = 0, end; first < t->n_rows; first = end) {
        end = cr_session_end(keys, first, t->n_rows);
        for (int c = 0; c < 2; c++) {
            part p = {.row = row + first,
                      .n = end - first,
                      .z = z + c,
                      .y = y,
                      .ld = cr_ld(n->in[0]),
                      .c = (float)c};
            if (loss)
                part_forward(&p, loss);
            else
                part_backward(&p, dl, dz + c);
        }
    }
}

static void ge_forward(const cr_node *n, cr_tile *t) {
    ge_run(n, t, cr_val(t, n), NULL, NULL);
}

static void ge_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    float *dz = cr_grad(t, n->in[0]);
    if (cr_first_grad(t, n, 0))
        memset(dz, 0, (size_t)(t->n_rows * cr_ld(n->in[0])) * sizeof(float));
    ge_run(n, t, NULL, cr_grad(t, n), dz);
}

static cr_node *ge_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    cr_session s = k ? cr_example_session(g) : (cr_session){.slot = -1};
    return cr_session_op(g, &cr_op_ge, cr_feed(g, 2), cr_example_labels(g, 2), &s, NULL, 0);
}

const cr_op_type cr_op_ge = {.name = "ge",
                             .infer = ge_infer,
                             .forward = ge_forward,
                             .backward = ge_backward,
                             .example = ge_example,
                             .batch = true,
                             .reads_in = true};

cr_node *cr_jrc(cr_graph *g, cr_node *logits, cr_node *y, const cr_session *s, float alpha) {
    cr_node *parts[] = {cr_softmax_ce(g, logits, y, 0),
                        cr_session_op(g, &cr_op_ge, logits, y, s, NULL, 0)};
    return cr_add(g, parts, (float[]){alpha, 1 - alpha}, 2);
}
