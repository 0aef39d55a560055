/*
 * optim.h - update rules, for dense parameters and for table rows, and learning-rate schedules.
 *
 * One rule = one file: the element-wise dense form and the per-row form of the same idea. Rules
 * are pure arithmetic on memory that graph/ and emb/ own.
 */
#ifndef CR_OPTIM_OPTIM_H
#define CR_OPTIM_OPTIM_H

#include <stdint.h>

#include "conf/field.h"

/* What changes from step to step. */
typedef struct cr_optim_step {
    double lr;
    int64_t t;    /* 1 for the first update */
    float pre[2]; /* filled by prepare; zeros: the rule computes them itself, more slowly */
} cr_optim_step;

typedef struct cr_optim_type {
    const char *name;
    /* floats of state per weight, and per row (tables only) */
    int elem_state;
    int row_state;
    /* names of the state tensors in checkpoints: elem_state then row_state names (torch's names) */
    const char *const *state_names;
    /* fills n floats of state plane k before the first step (NULL: zeros) */
    float (*state_init)(const void *conf, int k);
    /* Dense: w[i] -= … for n weights; state[k] is the k-th plane of n floats. conf: dense message. NULL: not for dense. */
    void (*dense)(const void *conf, const cr_optim_step *s, float *w, const float *g, float *const *state, int64_t n);
    /* Row of a table: rec = D weights, then elem_state planes of D floats, then row_state floats.
     * g: D floats, may be changed. conf: sparse message. NULL: not for tables. */
    void (*row)(const void *conf, const cr_optim_step *s, float *rec, float *g, int64_t D);
    /* Once per step and message, after lr and t are set: what depends on t alone. NULL: nothing. */
    void (*prepare)(const void *conf, cr_optim_step *s);
} cr_optim_type;

/* families for the oneofs of SparseOptimizer and DenseOptimizer; member.type is cr_optim_type* */
extern const cr_oneof cr_sparse_optim_family;
extern const cr_oneof cr_dense_optim_family;
/* every optimizer message begins with these */
typedef struct cr_optim_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping; /* sparse only */
    double max_gradient;    /* sparse only */
} cr_optim_conf;

/* schedules: member.type is cr_sched_type* */
typedef struct cr_sched_type {
    const char *name;
    /* rate after t finished scheduler steps, from the optimizer's base lr */
    double (*rate)(const void *conf, double base_lr, int64_t t);
    bool (*by_epoch)(const void *conf); /* NULL: by step */
} cr_sched_type;
extern const cr_oneof cr_sched_family;

/* the two messages as TrainConfig holds them */
typedef struct cr_sparse_optim_conf {
    cr_conf_base base;
    cr_choice optimizer;
    cr_choice learning_rate;
} cr_sparse_optim_conf;
typedef struct cr_dense_optim_conf {
    cr_conf_base base;
    cr_choice optimizer;
    cr_choice learning_rate;
    cr_msgs part_optimizers;
    void *ema;
} cr_dense_optim_conf;
extern const cr_msg cr_sparse_optim_msg; /* SparseOptimizer */
extern const cr_msg cr_dense_optim_msg;  /* DenseOptimizer */

#endif
