/*
 * ps_geo.c - see ps_int.h: strategy geo. A worker keeps the rows that it has met in the round and
 * trains them, and the dense parameters, by itself, with SGD. For every value it also keeps `old`,
 * what the servers and it agree on. Every k_steps batches, with T workers:
 *
 *   delta = (w - old) / T; old += delta; the server adds delta to its value and answers with the
 *   new one; w += new - old; old = new
 *
 * for the dense parameters and for the rows that were trained since the last time.
 *
 * A server decides which keys of a growing table have rows, and says so with every answer. A key
 * without one is asked for in each batch, is not kept here, and its gradient goes nowhere.
 */
#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "train/ps_int.h"

typedef struct geo_table {
    uint32_t *slot; /* by id: 1 + where its row lies here; 0: it does not */
    cr_keymap keys; /* of a table that grows, in the place of slot */
    bool grows;
    int64_t n;      /* rows here */
    float *w, *old; /* [n][D] */
    int64_t *id;    /* [n] */
    uint8_t *touched;
    uint32_t *seen; /* how often a row was seen and no server knows it yet; a growing table's */
    size_t cap_w, cap_old, cap_id, cap_touched, cap_seen; /* bytes */
    /* the rows of the letter under way, or those that are missing; ids ascend */
    int64_t *some;
    uint32_t
        *some_seg; /* those that are missing were seen so often in this batch, as in ps_worker */
    int64_t n_some;
    size_t cap_some, cap_seg;
    float *came;
    char *has;
    size_t cap_came, cap_has;
    struct {
        const int64_t *id;
        const uint32_t *seg;
        int64_t n;
        float *rows;
        int64_t stride;
    } all;
} geo_table;

struct ps_geo {
    geo_table *t;
    float *old, *grad; /* of the dense parameters */
    int64_t since;     /* batches since the last difference */
};

static int64_t D_of(const cr_ps *p, int t) {
    return p->m->tables[t]->D;
}

static cr_code room(void *array, size_t *cap, int64_t n, size_t each, cr_err *err) {
    void *mem;
    memcpy(&mem, array, sizeof mem);
    cr_code code = cr_ps_room(&mem, cap, (size_t)n * each, err);
    memcpy(array, &mem, sizeof mem);
    return code;
}

/* ---- rows ---- */

/* Returns where the row of an id lies here; -1: it does not. */
static int64_t place_of(const geo_table *g, int64_t id) {
    return g->grows ? cr_keymap_find(&g->keys, (uint64_t)id) : (int64_t)g->slot[id] - 1;
}

static cr_code list_missing(cr_ps *p, int t, bool *any, cr_err *err) {
    geo_table *g = &p->g->t[t];
    g->n_some = 0;
    CR_TRY(room(&g->some, &g->cap_some, g->all.n + 1, sizeof(int64_t), err));
    CR_TRY(room(&g->some_seg, &g->cap_seg, g->all.n + 1, sizeof(uint32_t), err));
    CR_TRY(room(&g->has, &g->cap_has, g->all.n + 1, 1, err));
    g->some_seg[0] = 0;
    for (int64_t i = 0; i < g->all.n; i++) {
        int64_t at = place_of(g, g->all.id[i]);
        uint32_t times = g->all.seg ? g->all.seg[i + 1] - g->all.seg[i] : 0;
        if (at < 0) {
            g->some_seg[g->n_some + 1] = g->some_seg[g->n_some] + times;
            g->some[g->n_some++] = g->all.id[i];
        } else if (g->grows) { /* the server is told, whether it is trained or not */
            g->seen[at] += times;
            g->touched[at] = 1;
        }
    }
    *any |= g->n_some > 0;
    return room(&g->came, &g->cap_came, (g->n_some + 1) * D_of(p, t), sizeof(float), err);
}

/* Adds the rows that came to those that are here. */
static cr_code add_missing(cr_ps *p, int t, cr_err *err) {
    geo_table *g = &p->g->t[t];
    int64_t D = D_of(p, t), n = g->n + g->n_some;
    CR_TRY(room(&g->w, &g->cap_w, n * D + 1, sizeof(float), err));
    CR_TRY(room(&g->old, &g->cap_old, n * D + 1, sizeof(float), err));
    CR_TRY(room(&g->id, &g->cap_id, n + 1, sizeof(int64_t), err));
    CR_TRY(room(&g->touched, &g->cap_touched, n + 1, 1, err));
    if (g->grows) CR_TRY(room(&g->seen, &g->cap_seen, n + 1, sizeof(uint32_t), err));
    for (int64_t i = 0; i < g->n_some; i++) {
        int64_t at = g->n;
        if (g->grows && !g->has[i]) continue;
        if (g->grows) CR_TRY(cr_keymap_add(&g->keys, (uint64_t)g->some[i], at, err));
        if (g->grows)
            g->seen[at] = 0;
        else
            g->slot[g->some[i]] = (uint32_t)(at + 1);
        memcpy(g->w + at * D, g->came + i * D, (size_t)D * sizeof(float));
        memcpy(g->old + at * D, g->came + i * D, (size_t)D * sizeof(float));
        g->id[at] = g->some[i];
        g->touched[at] = 0;
        g->n++;
    }
    return CR_OK;
}

/* Gives the step the rows that it reads: those that just came, which are among the others in the
 * order of ids, and those that were here. */
static void hand_out(const geo_table *g, int64_t D) {
    for (int64_t i = 0, came = 0; i < g->all.n; i++) {
        bool fresh = came < g->n_some && g->some[came] == g->all.id[i];
        const float *from = fresh ? g->came + came * D : g->w + place_of(g, g->all.id[i]) * D;
        memcpy(g->all.rows + i * g->all.stride, from, (size_t)D * sizeof(float));
        came += fresh;
    }
}

cr_code cr_ps_geo_fetched(cr_ps *p, cr_err *err) {
    ps_worker *w = p->w;
    bool any = false;
    for (int t = 0; t < p->m->n_tables; t++) {
        geo_table *g = &p->g->t[t];
        g->all.id = w->want[t].id;
        g->all.seg = w->want[t].seg;
        g->all.n = w->want[t].n;
        g->all.rows = w->want[t].rows;
        g->all.stride = w->want[t].stride;
        CR_TRY(list_missing(p, t, &any, err));
        w->want[t].id = g->some;
        w->want[t].seg = g->some_seg;
        w->want[t].has = g->has;
        w->want[t].n = g->n_some;
        w->want[t].rows = g->came;
        w->want[t].stride = D_of(p, t);
    }
    w->ahead = false;
    if (any) CR_TRY(cr_ps_pull(p, err));
    for (int t = 0; t < p->m->n_tables; t++) {
        geo_table *g = &p->g->t[t];
        if (g->n_some > 0) CR_TRY(add_missing(p, t, err));
        hand_out(g, D_of(p, t));
    }
    return CR_OK;
}

static void take(void *ctx, const cr_row_grads *r, float *scratch) {
    (void)scratch;
    const struct ps_sink *s = ctx;
    geo_table *g = &s->p->g->t[s->table];
    const cr_table *t = &s->p->m->tables[s->table]->table;
    for (int64_t i = 0; i < r->n; i++) {
        int64_t at = place_of(g, r->id[i]);
        if (at < 0) continue;
        t->optim->row(t->optim_conf, r->step, g->w + at * t->D, NULL, r->g + i * t->D, t->D);
        g->touched[at] = 1;
    }
}

cr_sink cr_ps_geo_sink(cr_ps *p, int table) {
    return (cr_sink){.ctx = &p->w->sinks[table], .take = take};
}

/* ---- differences ---- */

static int by_id(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

static cr_code list_touched(cr_ps *p, int t, cr_err *err) {
    geo_table *g = &p->g->t[t];
    g->n_some = 0;
    CR_TRY(room(&g->some, &g->cap_some, g->n + 1, sizeof(int64_t), err));
    for (int64_t i = 0; i < g->n; i++) {
        if (g->touched[i]) g->some[g->n_some++] = g->id[i];
        g->touched[i] = 0;
    }
    if (g->n_some > 1) qsort(g->some, (size_t)g->n_some, sizeof(int64_t), by_id);
    return CR_OK;
}

/* Writes (w - old) / T to out and moves old there. */
static void differ(float *out, const float *w, float *old, int64_t n, float T) {
    for (int64_t i = 0; i < n; i++) {
        out[i] = (w[i] - old[i]) / T;
        old[i] += out[i];
    }
}

static void accept(const float *news, float *w, float *old, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        w[i] += news[i] - old[i];
        old[i] = news[i];
    }
}

static cr_code write_deltas(cr_ps *p, cr_err *err) {
    ps_worker *w = p->w;
    float T = (float)p->n_workers;
    for (int s = 0; s < p->n_servers; s++) {
        int h = p->server[s];
        int64_t dense = p->slice[h + 1] - p->slice[h], first;
        for (int k = 0; k < p->n_blocks[s]; k++) {
            const ps_block *b = &p->blocks[s][k];
            w->count[k] = cr_ps_part(b, p->g->t[b->table].some, p->g->t[b->table].n_some, &first);
        }
        size_t n = cr_ps_lay(p, s, w->count, PS_DIFFS, NULL, NULL);
        ps_box *box = &w->delta.out[s];
        CR_TRY(cr_ps_fit(box, sizeof(ps_head) + n + (size_t)dense * sizeof(float), err));
        ps_head head = {.kind = PS_DELTA,
                        .step = w->step,
                        .count = p->g->since,
                        .wish = cr_stop_requested != 0,
                        .day = p->m->day};
        memcpy(box->mem, &head, sizeof head);
        char *at = box->mem + sizeof head;
        memcpy(at, w->count, (size_t)p->n_blocks[s] * sizeof(int64_t));
        (void)cr_ps_lay(p, s, w->count, PS_DIFFS, at, w->span);
        for (int k = 0; k < p->n_blocks[s]; k++) {
            const ps_block *b = &p->blocks[s][k];
            geo_table *g = &p->g->t[b->table];
            int64_t D = D_of(p, b->table), m = cr_ps_part(b, g->some, g->n_some, &first);
            for (int64_t i = 0; i < m; i++) {
                int64_t id = g->some[first + i], row = place_of(g, id);
                cr_ps_put_id(b, &w->span[k], i, id);
                if (w->span[k].times) w->span[k].times[i] = g->seen[row];
                if (g->grows) g->seen[row] = 0;
                differ((float *)(void *)w->span[k].v + i * D, g->w + row * D, g->old + row * D, D,
                       T);
            }
        }
        differ((float *)(void *)(at + n), p->m->graph.params + p->slice[h], p->g->old + p->slice[h],
               dense, T);
    }
    return CR_OK;
}

static cr_code read_news(cr_ps *p, cr_err *err) {
    ps_worker *w = p->w;
    for (int s = 0; s < p->n_servers; s++) {
        int h = p->server[s];
        char *v = w->delta.in[s].mem + sizeof(ps_head);
        size_t size = sizeof(ps_head) + (size_t)(p->slice[h + 1] - p->slice[h]) * sizeof(float);
        for (int k = 0; k < p->n_blocks[s]; k++) {
            const ps_block *b = &p->blocks[s][k];
            int64_t at, n = cr_ps_part(b, p->g->t[b->table].some, p->g->t[b->table].n_some, &at);
            size += cr_ps_answer_size(p, b, PS_FLOATS, n);
        }
        if (w->delta.in[s].n != size) return cr_ps_wrong(h, err);
        for (int k = 0; k < p->n_blocks[s]; k++) {
            const ps_block *b = &p->blocks[s][k];
            geo_table *g = &p->g->t[b->table];
            int64_t D = D_of(p, b->table), first, n = cr_ps_part(b, g->some, g->n_some, &first);
            const char *has = cr_ps_flags(p, b, PS_FLOATS, n, v);
            for (int64_t i = 0; i < n; i++) {
                int64_t row = place_of(g, g->some[first + i]);
                accept((const float *)(const void *)v + i * D, g->w + row * D, g->old + row * D, D);
                if (b->grows && !has[i]) /* it has left the table */
                    (void)cr_keymap_remove(&g->keys, (uint64_t)g->some[first + i]);
            }
            v += cr_ps_answer_size(p, b, PS_FLOATS, n);
        }
        accept((const float *)(const void *)v, p->m->graph.params + p->slice[h],
               p->g->old + p->slice[h], p->slice[h + 1] - p->slice[h]);
    }
    return CR_OK;
}

static void train_dense(cr_ps *p, const cr_work *w) {
    const cr_graph *g = &p->m->graph;
    const cr_rules *rules = &p->j->dense;
    cr_dense_grads(p->dense, w, p->g->grad);
    for (int i = 0; i < g->n; i++) {
        const cr_node *n = g->nodes[i];
        if (n->cls != CR_PARAM || !n->trainable || !cr_plan_has_grad(cr_work_plan(w), n)) continue;
        const cr_rule *r = &rules->v[rules->of[i]];
        r->type->dense(r->optim->conf, &rules->steps[rules->of[i]], g->params + n->offset,
                       p->g->grad + n->offset, NULL, n->width);
    }
}

cr_code cr_ps_geo_step(cr_ps *p, const cr_work *w, bool last, cr_err *err) {
    if (w) train_dense(p, w);
    p->g->since += w != NULL;
    if (p->g->since == 0 || (!last && p->g->since < p->conf->k_steps)) return CR_OK;
    CR_TRY(cr_ps_talk_idle(p, &p->w->delta, err));
    for (int t = 0; t < p->m->n_tables; t++)
        CR_TRY(list_touched(p, t, err));
    CR_TRY(write_deltas(p, err));
    cr_ps_ask(p, &p->w->delta);
    CR_TRY(cr_ps_answer(p, &p->w->delta, err));
    CR_TRY(read_news(p, err));
    p->g->since = 0;
    return cr_ps_talk_idle(p, &p->w->delta, err);
}

/* ---- life ---- */

cr_code cr_ps_geo_new(cr_ps *p, cr_err *err) {
    ps_geo *g = p->g = CR_NEW(&p->arena, ps_geo);
    int64_t n = p->m->graph.n_trainable + 1;
    g->t = CR_NEW_N(&p->arena, geo_table, p->m->n_tables + 1);
    g->old = cr_alloc((size_t)n * sizeof(float), "rows of strategy geo");
    g->grad = cr_alloc((size_t)n * sizeof(float), "rows of strategy geo");
    for (int t = 0; t < p->m->n_tables; t++) {
        void *mem;
        cr_keymap_init_mixed(&g->t[t].keys);
        g->t[t].grows = p->m->tables[t]->grows;
        if (g->t[t].grows) continue;
        CR_TRY(cr_try_alloc(&mem, cr_bytes(p->m->tables[t]->n_rows, sizeof(uint32_t)),
                            "rows of strategy geo", err));
        g->t[t].slot = mem;
    }
    return CR_OK;
}

void cr_ps_geo_free(cr_ps *p) {
    ps_geo *g = p->g;
    for (int t = 0; g && t < p->m->n_tables; t++) {
        cr_free(g->t[t].slot);
        cr_keymap_clear(&g->t[t].keys);
        cr_free(g->t[t].seen);
        cr_free(g->t[t].some_seg);
        cr_free(g->t[t].has);
        cr_free(g->t[t].w);
        cr_free(g->t[t].old);
        cr_free(g->t[t].id);
        cr_free(g->t[t].touched);
        cr_free(g->t[t].some);
        cr_free(g->t[t].came);
    }
    if (!g) return;
    cr_free(g->old);
    cr_free(g->grad);
}

/* A round begins with the servers' values: what this worker had of its own is in them. */
void cr_ps_geo_begin(cr_ps *p) {
    ps_geo *g = p->g;
    g->since = 0;
    memcpy(g->old, p->m->graph.params, (size_t)p->m->graph.n_trainable * sizeof(float));
    for (int t = 0; t < p->m->n_tables; t++) {
        if (g->t[t].grows) cr_keymap_reset(&g->t[t].keys);
        for (int64_t i = 0; !g->t[t].grows && i < g->t[t].n; i++)
            g->t[t].slot[g->t[t].id[i]] = 0;
        g->t[t].n = 0;
    }
}
