/*
 * step.c - one training step: group the ids, run the graph forward and backward, update tables and
 * dense parameters. The dense update combines the lanes' gradients and applies the rule in one pass
 * over fixed pieces, so any thread may take any piece.
 */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "run/run_int.h"

#define PIECE 4096 /* floats of a parameter updated at a time */

typedef struct piece {
    const cr_node *p;
    int64_t first, n;
} piece;

struct trainer {
    cr_arena arena;
    job *j;
    cr_model *m;
    cr_exec *ex;
    cr_updater *up;
    const cr_sparse_optim_conf *sparse;
    const cr_dense_optim_conf *dense;
    const cr_optim_type *rule; /* dense */
    float *state;
    size_t state_size;
    piece *pieces;
    int64_t n_pieces;
    float **scale; /* per weight field: w / sum(w) */
    cr_optim_step sparse_step, dense_step;
    trainer_state counters;
    trainer_times times;
};

/* counts and, when out is not NULL, lists the pieces of all parameters that get a gradient */
static int64_t cut_pieces(const trainer *t, piece *out) {
    int64_t n = 0;
    for (int i = 0; i < t->m->graph.n; i++) {
        const cr_node *p = t->m->graph.nodes[i];
        if (p->cls != CR_PARAM || !p->trainable || !cr_exec_has_grad(t->ex, p)) continue;
        for (int64_t first = 0; first < p->width; first += PIECE, n++)
            if (out)
                out[n] = (piece){p, first, p->width - first < PIECE ? p->width - first : PIECE};
    }
    return n;
}

static void init_state(trainer *t) {
    const void *conf = t->dense->optimizer.conf;
    int64_t n = t->m->graph.n_trainable;
    for (int k = 0; t->rule->state_init && k < t->rule->elem_state; k++) {
        float v = t->rule->state_init(conf, k);
        for (int64_t i = 0; i < n; i++)
            t->state[k * n + i] = v;
    }
}

cr_code cr_trainer_new(trainer **out, job *j, cr_err *err) {
    const cr_train_conf *tc = j->root->train_config;
    trainer *t = cr_alloc(sizeof(*t), "trainer");
    cr_arena_init(&t->arena, 0);
    t->j = j;
    t->m = j->model;
    t->sparse = tc->sparse_optimizer;
    t->dense = tc->dense_optimizer;
    t->rule = t->dense->optimizer.m->type;
    cr_exec_opts eo = {&t->m->graph, CR_TRAIN, j->root->data_config->batch_size, (int)tc->lanes, 0};
    cr_code code = cr_exec_new(&t->ex, &eo, j->pool, err);
    t->state_size = (size_t)(t->m->graph.n_trainable * t->rule->elem_state + 16) * sizeof(float);
    void *p;
    if (code == CR_OK && (code = cr_big_alloc(&p, t->state_size, "optimizer state", err)) == CR_OK)
        t->state = p;
    if (code != CR_OK) {
        cr_trainer_free(t);
        return code;
    }
    init_state(t);
    t->up = cr_model_updater(t->m, t->ex, j->pool);
    t->n_pieces = cut_pieces(t, NULL);
    t->pieces = CR_NEW_N(&t->arena, piece, t->n_pieces + 1);
    cut_pieces(t, t->pieces);
    int nw = j->features->n_weights;
    t->scale = CR_NEW_N(&t->arena, float *, nw + 1);
    for (int i = 0; i < nw; i++)
        t->scale[i] = CR_NEW_N(&t->arena, float, j->root->data_config->batch_size);
    *out = t;
    return CR_OK;
}

void cr_trainer_free(trainer *t) {
    if (!t) return;
    cr_updater_free(t->up);
    cr_exec_free(t->ex);
    if (t->state) cr_big_free(t->state, t->state_size);
    cr_arena_clear(&t->arena);
    cr_free(t);
}

static double rate(const cr_choice *opt, const cr_choice *sched, const trainer_state *s) {
    const cr_sched_type *type = sched->m->type;
    bool by_epoch = type->by_epoch && type->by_epoch(sched->conf);
    return type->rate(sched->conf, ((const cr_optim_conf *)opt->conf)->lr,
                      by_epoch ? s->sched_epochs : s->sched_steps);
}

static void update_piece(void *ctx, int64_t item, int thread) {
    (void)thread;
    trainer *t = ctx;
    const piece *pc = &t->pieces[item];
    float grad[PIECE], *planes[8];
    int64_t at = pc->p->offset + pc->first;
    cr_exec_sum_grads(t->ex, at, pc->n, grad);
    for (int k = 0; k < t->rule->elem_state; k++)
        planes[k] = t->state + k * t->m->graph.n_trainable + at;
    t->rule->dense(t->dense->optimizer.conf, &t->dense_step, t->m->graph.params + at, grad, planes,
                   pc->n);
}

cr_code cr_trainer_step(trainer *t, const cr_batch *b, int64_t step, cr_err *err) {
    double t0 = cr_now();
    for (int k = 0; k < b->n_weights; k++) {
        double sum = 0;
        for (int64_t i = 0; i < b->n_rows; i++)
            sum += (double)b->weights[k][i];
        float inv = sum > 0 ? (float)(1.0 / sum) : 0;
        for (int64_t i = 0; i < b->n_rows; i++)
            t->scale[k][i] = b->weights[k][i] * inv;
    }
    cr_updater_group(t->up, b);
    double t1 = cr_now();
    cr_step_input in = {b, (const float *const *)t->scale, b->n_weights};
    cr_run run = {&in, b->n_rows, step, true};
    cr_exec_run(t->ex, &run);
    double t2 = cr_now();
    for (int k = 0; k < t->m->n_losses; k++)
        if (!isfinite(cr_trainer_loss(t, k)))
            return cr_fail(err, CR_ERUN,
                           "%s became %f at step %lld; look for huge or NaN inputs (normalise raw "
                           "features) or lower the learning rate. "
                           "The weights of this step are not saved",
                           t->m->losses[k].name, cr_trainer_loss(t, k), (long long)step);
    int64_t updates = t->counters.updates + 1;
    t->sparse_step =
        (cr_optim_step){.lr = rate(&t->sparse->optimizer, &t->sparse->learning_rate, &t->counters),
                        .t = updates};
    t->dense_step =
        (cr_optim_step){.lr = rate(&t->dense->optimizer, &t->dense->learning_rate, &t->counters),
                        .t = updates};
    const cr_optim_type *table_rule = t->sparse->optimizer.m->type;
    if (table_rule->prepare) table_rule->prepare(t->sparse->optimizer.conf, &t->sparse_step);
    if (t->rule->prepare) t->rule->prepare(t->dense->optimizer.conf, &t->dense_step);
    cr_updater_apply(t->up, &t->sparse_step);
    cr_pool_run(t->j->pool, t->n_pieces, update_piece, t);
    t->counters.updates = updates;
    t->counters.sched_steps++;
    double t3 = cr_now();
    t->times.group += t1 - t0;
    t->times.step += t2 - t1;
    t->times.update += t3 - t2;
    return CR_OK;
}

double cr_trainer_loss(const trainer *t, int k) {
    return cr_exec_whole(t->ex, t->m->losses[k].mean, 0);
}

const float *cr_trainer_val(const trainer *t, const cr_node *n) {
    return cr_exec_val(t->ex, n);
}

void cr_trainer_rates(const trainer *t, double *sparse, double *dense) {
    *sparse = t->sparse_step.lr;
    *dense = t->dense_step.lr;
}

void cr_trainer_epoch_end(trainer *t) {
    t->counters.sched_epochs++;
}
trainer_state cr_trainer_get_state(const trainer *t) {
    return t->counters;
}
void cr_trainer_set_state(trainer *t, trainer_state s) {
    t->counters = s;
}
int cr_trainer_planes(const trainer *t) {
    return t->rule->elem_state;
}
const cr_optim_type *cr_trainer_dense(const trainer *t) {
    return t->rule;
}
trainer_times cr_trainer_get_times(const trainer *t) {
    return t->times;
}

float *cr_trainer_plane(const trainer *t, const cr_node *p, int k) {
    return t->state + k * t->m->graph.n_trainable + p->offset;
}
