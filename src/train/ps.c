/*
 * ps.c - see ps_int.h: which process serves what, the layout of letters, and the ends of a round.
 */
#include <string.h>

#include "base/buf.h"
#include "base/cpu.h"
#include "base/log.h"
#include "comm/life.h"
#include "train/ps_int.h"

/* ---- letters ---- */

cr_code cr_ps_fit(ps_box *b, size_t n, cr_err *err) {
    if (n > CR_LETTER_MAX)
        return cr_fail(err, CR_ERUN,
                       "a letter to or from a parameter server would have %zu bytes, and 2 GiB is "
                       "the most; lower data_config.batch_size, or start more servers (--ps)",
                       n);
    b->n = n;
    if (n <= b->cap && b->mem) return CR_OK;
    size_t more = n + n / 4 + 64;
    void *q;
    CR_TRY(cr_try_alloc(&q, more, "letters of parameter servers", err));
    cr_free(b->mem);
    b->mem = q;
    b->cap = more;
    return CR_OK;
}

cr_code cr_ps_room(void **p, size_t *cap, size_t n, cr_err *err) {
    if (n <= *cap && *p) return CR_OK;
    size_t more = n + n / 2 + 64;
    void *q;
    CR_TRY(cr_try_alloc(&q, more, "gradients for parameter servers", err));
    if (*p && *cap > 0) memcpy(q, *p, *cap);
    cr_free(*p);
    *p = q;
    *cap = more;
    return CR_OK;
}

void cr_ps_post(const cr_ps *p, ps_box *b, int to) {
    CR_ASSERT(!b->busy);
    b->ticket = p->mail->post(p->mail->ctx, to, b->mem, b->n);
    b->busy = true;
}

bool cr_ps_sent(const cr_ps *p, ps_box *b) {
    if (b->busy && p->mail->posted(p->mail->ctx, b->ticket)) b->busy = false;
    return !b->busy;
}

size_t cr_ps_row(const cr_ps *p, const ps_block *b, ps_values values) {
    const cr_model_table *t = p->m->tables[b->table];
    return values == PS_IDS_ONLY ? 0 : (size_t)t->D * (values == PS_WEIGHTS && t->half ? 2 : 4);
}

static size_t padded(size_t n) {
    return (n + 7) / 8 * 8;
}

size_t cr_ps_lay(const cr_ps *p, int server, const int64_t *n, ps_values values, char *at,
                 ps_span *out) {
    int blocks = p->n_blocks[server];
    const ps_block *b = p->blocks[server];
    size_t off = (size_t)blocks * sizeof(int64_t);
    bool counts = values == PS_IDS_ONLY || values == PS_DIFFS;
    for (int k = 0; k < blocks; k++) {
        void *ids = at ? at + off : NULL;
        if (at) out[k] = (ps_span){.n = n[k]};
        if (at && b[k].grows) out[k].key = ids;
        if (at && !b[k].grows) out[k].id = ids;
        off += padded((size_t)n[k] * (b[k].grows ? sizeof(int64_t) : sizeof(uint32_t)));
        if (!counts || !b[k].counted) continue;
        if (at) out[k].times = (uint32_t *)(void *)(at + off);
        off += padded((size_t)n[k] * sizeof(uint32_t));
    }
    for (int k = 0; k < blocks; k++) {
        if (at) out[k].v = at + off;
        off += padded((size_t)n[k] * cr_ps_row(p, &b[k], values));
    }
    return off;
}

bool cr_ps_measure(const cr_ps *p, int server, const char *at, size_t left, ps_values values,
                   size_t *used) {
    const int64_t *n = (const int64_t *)(const void *)at;
    if (left / sizeof *n < (size_t)p->n_blocks[server]) return false;
    for (int k = 0; k < p->n_blocks[server]; k++) /* an id has 4 bytes at least */
        if (n[k] < 0 || (size_t)n[k] > left / sizeof(uint32_t)) return false;
    *used = cr_ps_lay(p, server, n, values, NULL, NULL);
    return *used <= left;
}

cr_code cr_ps_wrong(int from, cr_err *err) {
    return cr_fail(err, CR_ERUN,
                   "a letter of rank %d is not one that crank sends, so memory or the network is "
                   "damaged, or this is a mistake of crank; go on with --continue_train",
                   from);
}

size_t cr_ps_answer_size(const cr_ps *p, const ps_block *b, ps_values values, int64_t n) {
    return padded((size_t)n * (cr_ps_row(p, b, values) + (b->grows ? 1 : 0)));
}

int64_t cr_ps_part(const ps_block *b, const int64_t *id, int64_t n, int64_t *first) {
    *first = cr_ids_find(id, n, b->sh->row);
    return cr_ids_find(id, n, b->sh->end) - *first;
}

/* ---- who serves what ---- */

static void list_blocks(cr_ps *p) {
    cr_arena *a = &p->arena;
    p->blocks = CR_NEW_N(a, ps_block *, p->n_servers);
    p->n_blocks = CR_NEW_N(a, int, p->n_servers);
    for (int s = 0; s < p->n_servers; s++) {
        int n = 0;
        for (int pass = 0; pass < 2; pass++) {
            if (pass) p->blocks[s] = CR_NEW_N(a, ps_block, n + 1);
            n = 0;
            for (int i = 0; i < p->m->n_tables; i++) {
                const cr_model_table *t = p->m->tables[i];
                const cr_owner *o = t->table.owner;
                for (int k = 0, held = 0; k < t->placing->n; k++) {
                    if (t->placing->shards[k].holder != p->server[s]) continue;
                    if (pass) {
                        bool here = p->server[s] == p->meet->self;
                        p->blocks[s][n] = (ps_block){.table = i,
                                                     .sh = &t->placing->shards[k],
                                                     .grows = t->grows,
                                                     .counted = o->counts != NULL,
                                                     .held = here ? &o->held[held] : NULL,
                                                     .grow = here ? o->grow : NULL};
                    }
                    held++;
                    n++;
                }
            }
        }
        p->n_blocks[s] = n;
        if (n > p->most_blocks) p->most_blocks = n;
    }
}

static cr_code check_sizes(const cr_ps *p, cr_err *err) {
    for (int s = 0; s < p->n_servers; s++) {
        int h = p->server[s];
        for (int k = 0; k < p->n_blocks[s]; k++)
            if (!p->blocks[s][k].grows &&
                p->blocks[s][k].sh->end - p->blocks[s][k].sh->row > UINT32_MAX)
                return cr_fail(err, CR_ECONF,
                               "table '%s' has more than 2^32 rows on a server; start more servers "
                               "(--ps), or use --strategy sync",
                               p->m->tables[p->blocks[s][k].table]->short_name);
        if ((size_t)(p->slice[h + 1] - p->slice[h]) * sizeof(float) > CR_LETTER_MAX / 2)
            return cr_fail(err, CR_ECONF,
                           "the dense parameters of one server do not fit a letter of 2 GiB; start "
                           "more servers (--ps), or use --strategy sync");
    }
    return CR_OK;
}

cr_code cr_ps_new(cr_ps **out, cr_job *j, dense_side *d, cr_err *err) {
    cr_ps *p = cr_alloc(sizeof(*p), "parameter servers");
    cr_arena_init(&p->arena, 0);
    p->j = j;
    p->m = j->model;
    p->meet = j->meet;
    p->mail = j->mail;
    p->conf = j->root->train_config->servers;
    p->strategy = j->strategy;
    p->dense = d;
    p->slice = cr_dense_slices(d);
    int n = p->meet->n;
    p->server = CR_NEW_N(&p->arena, int, n);
    p->worker = CR_NEW_N(&p->arena, int, n);
    p->index = CR_NEW_N(&p->arena, int, n);
    for (int h = 0; h < n; h++) {
        int *count = p->meet->serves[h] ? &p->n_servers : &p->n_workers;
        (p->meet->serves[h] ? p->server : p->worker)[*count] = h;
        p->index[h] = (*count)++;
    }
    p->serves = p->meet->serves[p->meet->self];
    p->may_lose =
        cr_comm_may_lose(j->comm) && p->n_workers > 1 && strcmp(p->conf->lost_worker, "end") != 0;
    p->grown = CR_NEW_N(&p->arena, int64_t, p->m->n_tables + 1);
    list_blocks(p);
    cr_code code = check_sizes(p, err);
    if (code == CR_OK) code = p->serves ? cr_ps_server_new(p, err) : cr_ps_worker_new(p, err);
    if (code != CR_OK) {
        cr_ps_free(p);
        return code;
    }
    *out = p;
    return CR_OK;
}

void cr_ps_free(cr_ps *p) {
    if (!p) return;
    cr_ps_server_free(p);
    cr_ps_worker_free(p);
    cr_arena_clear(&p->arena);
    cr_free(p);
}

/* ---- rounds ---- */

void cr_ps_begin(cr_ps *p, int64_t first_step, cr_trainer_state base) {
    p->base = base;
    p->first_step = first_step;
    p->began = cr_now();
    p->sent = p->j->comm ? cr_comm_sent(p->j->comm) : 0;
    if (p->may_lose && !p->serves) cr_life_spare();
    p->counts = (ps_counts){0};
    for (int i = 0; i < p->m->n_tables; i++)
        p->grown[i] = p->m->tables[i]->map_steps;
    if (!p->serves) cr_ps_worker_begin(p);
}

/* Returns the first worker that is left, as a holder. */
static int first_worker(const cr_ps *p) {
    int k = 0;
    while (p->meet->gone && p->meet->gone[p->worker[k]])
        k++;
    return p->worker[k];
}

/* Gives the values of the first worker that no server has, such as the running means of a batch
 * norm, to all. */
static void share_rest(cr_ps *p) {
    const cr_graph *g = &p->m->graph;
    size_t n = (size_t)(g->n_params - g->n_trainable) * sizeof(float);
    if (n == 0) return;
    size_t *at = cr_alloc(((size_t)p->meet->n + 1) * sizeof(*at), "a round");
    for (int h = 0; h <= p->meet->n; h++)
        at[h] = h > first_worker(p) ? n : 0;
    p->meet->gather(p->meet->ctx, g->params + g->n_trainable, at);
    cr_free(at);
}

static void tell(const cr_ps *p, const ps_counts *c) {
    cr_buf b;
    int64_t all = 0;
    cr_buf_init(&b);
    for (int k = 0; k < PS_STALE; k++)
        all += c->stale[k];
    for (int k = 0; k < PS_STALE && all > 0; k++) {
        if (c->stale[k] == 0) continue;
        int64_t first = k == 0 ? 0 : (int64_t)1 << (k - 1), last = k == 0 ? 0 : 2 * first - 1;
        cr_buf_printf(&b, "%s%lld", b.n ? ", " : "", (long long)first);
        if (last > first) cr_buf_printf(&b, "-%lld", (long long)last);
        cr_buf_printf(&b, ": %.1f %%", 100 * (double)c->stale[k] / (double)all);
    }
    if (b.n)
        CR_INFO("%s: staleness of gradients in batches: %s; at most %lld",
                cr_strategy_names[p->strategy], b.data, (long long)c->most);
    cr_buf_clear(&b);
}

int64_t cr_ps_sent_by_all(const cr_ps *p) {
    return p->sent;
}

void cr_ps_end(cr_ps *p, int64_t steps, cr_trainer_state *out) {
    struct end {
        ps_counts counts;
        int64_t steps, sent;
    } * all;
    int64_t sent = p->j->comm ? cr_comm_sent(p->j->comm) - p->sent : 0;
    double most_busy = 0, busy = 0;
    size_t *at = cr_alloc(((size_t)p->meet->n + 1) * sizeof(*at), "a round");
    all = cr_alloc((size_t)p->meet->n * sizeof(*all), "a round");
    for (int h = 0; h <= p->meet->n; h++)
        at[h] = (size_t)h * sizeof(*all);
    all[p->meet->self] = (struct end){p->counts, steps, sent};
    p->meet->gather(p->meet->ctx, all, at);
    ps_counts sum = all[p->server[0]].counts;
    p->sent = 0;
    for (int h = 0; h < p->meet->n; h++)
        p->sent += all[h].sent;
    for (int s = 0; s < p->n_servers; s++) {
        const ps_counts *c = &all[p->server[s]].counts;
        double x = c->round_s > 0 ? (c->pull_s + c->push_s) / c->round_s : 0;
        busy += x / p->n_servers;
        if (x > most_busy) most_busy = x;
    }
    for (int s = 1; s < p->n_servers; s++) {
        const ps_counts *c = &all[p->server[s]].counts;
        /* the last gradient of a worker that was lost may have come to some servers only */
        if (p->n_lost == 0 && (c->pushes != sum.pushes || c->batches != sum.batches))
            CR_BUG("servers have applied different gradients");
        if (c->pushes > sum.pushes) sum.pushes = c->pushes;
        for (int k = 0; k < PS_STALE; k++)
            sum.stale[k] += c->stale[k];
        if (c->most > sum.most) sum.most = c->most;
        sum.pull_s += c->pull_s;
        sum.push_s += c->push_s;
        sum.pulls += c->pulls;
    }
    *out = p->base;
    steps = all[first_worker(p)].steps;
    out->sched_steps += steps;
    cr_model_grown_steps(p->m, p->grown, steps);
    /* in geo every worker makes its own updates */
    int64_t updates = p->strategy == CR_GEO ? steps : sum.pushes;
    out->updates += updates;
    out->dense_updates += updates;
    cr_free(all);
    cr_free(at);
    cr_dense_share(p->dense);
    share_rest(p);
    tell(p, &sum);
    if (sum.pushes > 0)
        CR_INFO("%s: servers were busy %.0f %% of the round, at most %.0f %%: %.3f ms per pull, "
                "%.3f ms per push",
                cr_strategy_names[p->strategy], 100 * busy, 100 * most_busy,
                sum.pulls > 0 ? 1e3 * sum.pull_s / (double)sum.pulls : 0,
                1e3 * sum.push_s / (double)(sum.pushes * p->n_servers));
    cr_ps_tell_lost(p);
}
