/*
 * pareto.c - weighs the tasks' losses by their gradients (Lin et al., RecSys 2019), anew in each
 * step. G has the gradients of the dense parameters, one row per task, and c the least weights:
 * minimise |G^T (w + c)|^2 with sum(w + c) = 1 (a linear system), then take the nearest w without
 * negative parts.
 *
 * This needs the gradient of each task by itself, so a batch runs once per task with the other
 * losses scaled by 0, and once more for the step itself. Running statistics are restored in
 * between.
 */
#include <math.h>
#include <string.h>

#include "train/train_int.h"

#define PIECE 4096

typedef struct piece {
    int64_t first, n;
} piece;

struct pareto {
    cr_arena arena;
    cr_model *m;
    cr_model_work *w;
    cr_pool *pool;
    int n_task, *weight; /* number of tasks, and their numbers in m->weights */
    double *least, *chosen, *losses;
    float *grads; /* (n_task, n_trainable) */
    size_t size;
    float *buffers, *zeros, **scale;
    piece *pieces;
    int64_t n_pieces;
    double *partial; /* (n_pieces, n_task, n_task) */
    int task;        /* task of the current pass */
};

static bool is_used(const cr_model *m, int weight) {
    for (int i = 0; i < m->n_losses; i++)
        if (m->losses[i].weight == weight) return true;
    return false;
}

static int64_t cut_pieces(const pareto *p, piece *out) {
    int64_t n = 0;
    for (int i = 0; i < p->m->graph.n; i++) {
        const cr_node *v = p->m->graph.nodes[i];
        if (v->cls != CR_PARAM || !v->trainable || !cr_plan_has_grad(cr_work_plan(p->w->w), v))
            continue;
        for (int64_t at = 0; at < v->width; at += PIECE, n++)
            if (out)
                out[n] = (piece){v->offset + at, v->width - at < PIECE ? v->width - at : PIECE};
    }
    return n;
}

cr_code cr_pareto_new(pareto **out, cr_job *j, cr_model_work *w, cr_err *err) {
    *out = NULL;
    cr_model *m = j->model;
    if (!j->root->model_config->use_pareto_loss_weight || m->n_weights < 2) return CR_OK;
    pareto *p = *out = cr_alloc(sizeof(*p), "weights of tasks");
    cr_arena *a = &p->arena;
    cr_arena_init(a, 0);
    p->m = m;
    p->w = w;
    p->pool = j->pool;
    p->weight = CR_NEW_N(a, int, m->n_weights);
    p->least = CR_NEW_N(a, double, m->n_weights);
    p->chosen = CR_NEW_N(a, double, m->n_weights);
    p->losses = CR_NEW_N(a, double, m->n_losses + 1);
    p->scale = CR_NEW_N(a, float *, m->n_weights);
    p->zeros = CR_NEW_N(a, float, j->batch);
    for (int k = 0; k < m->n_weights; k++) {
        if (!is_used(m, k)) continue;
        p->least[p->n_task] = m->weights[k].least;
        p->weight[p->n_task++] = k;
    }
    p->n_pieces = cut_pieces(p, NULL);
    p->pieces = CR_NEW_N(a, piece, p->n_pieces + 1);
    cut_pieces(p, p->pieces);
    p->partial = CR_NEW_N(a, double, p->n_pieces * p->n_task * p->n_task + 1);
    p->buffers = CR_NEW_N(a, float, m->graph.n_params - m->graph.n_grads + 1);
    void *mem;
    p->size = (size_t)(p->n_task * m->graph.n_trainable + 1) * sizeof(float);
    cr_code code = cr_try_alloc(&mem, p->size, "gradients of the tasks", err);
    if (code == CR_OK)
        p->grads = mem;
    else
        cr_pareto_free(p), *out = NULL;
    return code;
}

void cr_pareto_free(pareto *p) {
    if (!p) return;
    cr_free(p->grads);
    cr_arena_clear(&p->arena);
    cr_free(p);
}

static void take_grads(void *ctx, int64_t item, int thread) {
    (void)thread;
    pareto *p = ctx;
    const piece *pc = &p->pieces[item];
    cr_work_sum_grads(p->w->w, pc->first, pc->n,
                      p->grads + p->task * p->m->graph.n_trainable + pc->first);
}

static void multiply(void *ctx, int64_t item, int thread) {
    (void)thread;
    pareto *p = ctx;
    const piece *pc = &p->pieces[item];
    double *out = p->partial + item * p->n_task * p->n_task;
    for (int a = 0; a < p->n_task; a++)
        for (int b = 0; b <= a; b++) {
            const float *x = p->grads + a * p->m->graph.n_trainable + pc->first,
                        *y = p->grads + b * p->m->graph.n_trainable + pc->first;
            double sum = 0;
            for (int64_t i = 0; i < pc->n; i++)
                sum += (double)x[i] * (double)y[i];
            out[a * p->n_task + b] = sum;
        }
}

/* Solves A x = b, with the result in b; n is at most CR_MAX_TASKS + 1. false: A has no inverse. */
static bool solve(double (*A)[CR_MAX_TASKS + 1], double *b, int n) {
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(A[i][k]) > fabs(A[best][k])) best = i;
        if (!(fabs(A[best][k]) > 1e-300)) return false;
        for (int j = 0; j < n; j++) {
            double x = A[k][j];
            A[k][j] = A[best][j];
            A[best][j] = x;
        }
        double x = b[k];
        b[k] = b[best];
        b[best] = x;
        for (int i = k + 1; i < n; i++) {
            double f = A[i][k] / A[k][k];
            for (int j = k; j < n; j++)
                A[i][j] -= f * A[k][j];
            b[i] -= f * b[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++)
            b[k] -= A[k][j] * b[j];
        b[k] /= A[k][k];
    }
    return true;
}

/* Finds the nearest point with sum s and no negative part. */
static void project(double *w, int n, double s) {
    double v[CR_MAX_TASKS], sum = 0, shift = 0;
    for (int i = 0; i < n; i++)
        v[i] = w[i];
    for (int i = 1; i < n; i++) /* sorts in descending order */
        for (int k = i; k > 0 && v[k] > v[k - 1]; k--) {
            double x = v[k];
            v[k] = v[k - 1];
            v[k - 1] = x;
        }
    for (int i = 0; i < n; i++) {
        sum += v[i];
        double t = (sum - s) / (i + 1);
        if (v[i] - t > 0) shift = t;
    }
    for (int i = 0; i < n; i++)
        w[i] = s > 0 ? fmax(w[i] - shift, 0) : 0;
}

void cr_pareto_solve(const double *gram, const double *least, int n, double *out) {
    double A[CR_MAX_TASKS + 1][CR_MAX_TASKS + 1] = {{0}}, w[CR_MAX_TASKS + 1] = {0}, rest = 1;
    for (int i = 0; i < n; i++) {
        rest -= least[i];
        A[i][n] = A[n][i] = 1;
        for (int k = 0; k < n; k++) {
            A[i][k] = gram[i * n + k];
            w[i] -= gram[i * n + k] * least[k];
        }
    }
    if (rest < 0) rest = 0;
    w[n] = rest;
    bool fine = solve(A, w, n + 1);
    for (int i = 0; i < n; i++)
        fine = fine && isfinite(w[i]);
    for (int i = 0; i < n && !fine; i++)
        w[i] = rest / n;
    project(w, n, rest);
    for (int i = 0; i < n; i++)
        out[i] = w[i] + least[i];
}

cr_code cr_pareto_step(pareto *p, const cr_batch *b, const cr_run *run, float *const *scale,
                       cr_err *err) {
    const cr_graph *g = &p->m->graph;
    float *buffers = g->params + g->n_grads;
    size_t size = (size_t)(g->n_params - g->n_grads) * sizeof(float);
    memcpy(p->buffers, buffers, size);
    for (p->task = 0; p->task < p->n_task; p->task++) {
        for (int k = 0; k < p->m->n_weights; k++)
            p->scale[k] = k == p->weight[p->task] ? scale[k] : p->zeros;
        cr_step_input in = *(const cr_step_input *)run->input;
        in.scale = (const float *const *)p->scale;
        in.slope = 1;
        cr_run one = *run;
        one.input = &in;
        CR_TRY(cr_model_run(p->w, b, &one, err));
        memcpy(buffers, p->buffers, size);
        for (int k = 0; k < p->m->n_losses; k++)
            if (p->m->losses[k].weight == p->weight[p->task])
                p->losses[k] = cr_work_whole(p->w->w, p->m->losses[k].mean, 0);
        cr_pool_run(p->pool, p->n_pieces, take_grads, p);
    }
    cr_pool_run(p->pool, p->n_pieces, multiply, p);
    double gram[CR_MAX_TASKS * CR_MAX_TASKS] = {0};
    int n = p->n_task;
    for (int a = 0; a < n; a++)
        for (int k = 0; k <= a; k++) {
            double sum = 0;
            for (int64_t i = 0; i < p->n_pieces; i++)
                sum += p->partial[i * n * n + a * n + k];
            gram[a * n + k] = gram[k * n + a] = sum;
        }
    cr_pareto_solve(gram, p->least, n, p->chosen);
    for (int t = 0; t < n; t++)
        for (int64_t i = 0; i < b->n_rows; i++)
            scale[p->weight[t]][i] *= (float)p->chosen[t];
    return CR_OK;
}

double cr_pareto_loss(const pareto *p, int k, double *weight) {
    for (int t = 0; t < p->n_task; t++)
        if (p->m->losses[k].weight == p->weight[t]) {
            *weight = p->chosen[t];
            return p->losses[k];
        }
    *weight = 1;
    return cr_work_whole(p->w->w, p->m->losses[k].mean, 0);
}
