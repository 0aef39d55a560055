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
    /* Dense: w[i] -= … for n weights; state[k] is the k-th plane of n floats. conf: dense message.
     * NULL: not for dense. */
    void (*dense)(const void *conf, const cr_optim_step *s, float *w, const float *g,
                  float *const *state, int64_t n);
    /* Row of a table: w = D weights; state = elem_state planes of D floats, then row_state floats.
     * g: D floats, may be changed. conf: sparse message. NULL: not for tables. */
    void (*row)(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                int64_t D);
    /* Once per step and message, after lr and t are set: what depends on t alone. NULL: nothing. */
    void (*prepare)(const void *conf, cr_optim_step *s);
    /* Tables: a row that the batch does not touch moves too; row is called for it with a gradient
     * of zeros, which it must leave alone. */
    bool every_row;
    /* The type for this message when the fields decide (amsgrad, mode); NULL: always this one. */
    const struct cr_optim_type *(*resolve)(const void *conf);
} cr_optim_type;

/* the rule that a chosen message stands for */
const cr_optim_type *cr_optim_of(const cr_choice *c);
/* its rate after so many finished scheduler steps and epochs; a base lr of 0 stays 0 */
double cr_optim_rate(const cr_choice *optim, const cr_choice *sched, int64_t steps, int64_t epochs);

/* cr_norm_add adds |g|^p of n elements to *sum, in double and in one order (p infinite: *sum
 * becomes the largest |g| if that is larger). Returns false when an element is not finite. */
bool cr_norm_add(double *sum, const float *g, int64_t n, double p);
/* cr_norm_join adds the sum of another piece; NaN stays. */
void cr_norm_join(double *sum, double part, double p);

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

/* A part: parameters (or tables) whose whole name matches regex_pattern have their own rule. */
typedef struct cr_part_conf {
    cr_conf_base base;
    cr_choice optimizer;
    const char *regex_pattern;
    cr_choice learning_rate; /* m NULL: the main schedule */
} cr_part_conf;
/* cr_parts_assign: of[i] becomes the number of the first of the parts (cr_part_conf) that matches
 * names[i], or -1. A part that matches nothing is a warning that names the name most like it; diag
 * NULL: nothing is said. what: "dense parameter", "table". Patterns were checked by the binding. */
void cr_parts_assign(const cr_msgs *parts, const char *const *names, int n, const char *what,
                     int *of, cr_diag *diag);
/* cr_pattern_check: is it a regular expression? (Python's syntax, which PCRE2 shares) */
CR_CHECKED cr_code cr_pattern_check(const char *pattern, cr_err *err);

typedef struct cr_ema_conf {
    cr_conf_base base;
    double decay;
} cr_ema_conf;

/* the two messages as TrainConfig holds them */
typedef struct cr_sparse_optim_conf {
    cr_conf_base base;
    cr_choice optimizer;
    cr_choice learning_rate;
    cr_msgs part_optimizers; /* cr_part_conf; ours */
} cr_sparse_optim_conf;
typedef struct cr_dense_optim_conf {
    cr_conf_base base;
    cr_choice optimizer;
    cr_choice learning_rate;
    cr_msgs part_optimizers; /* cr_part_conf */
    cr_ema_conf *ema;        /* NULL: no averaging */
} cr_dense_optim_conf;
extern const cr_msg cr_sparse_optim_msg; /* SparseOptimizer */
extern const cr_msg cr_dense_optim_msg;  /* DenseOptimizer */

/* what TrainConfig says about gradients */
typedef enum cr_clip_type { CR_CLIP_NONE, CR_CLIP_NORM, CR_CLIP_VALUE } cr_clip_type;
typedef struct cr_grad_clip_conf {
    cr_conf_base base;
    const char *clipping_type;
    double max_gradient;
    double norm_type; /* above 0; may be infinite */
    bool enable_global_grad_clip;
} cr_grad_clip_conf;
cr_clip_type cr_grad_clip(const cr_grad_clip_conf *c); /* NULL: none */
typedef struct cr_grad_scaler_conf {
    cr_conf_base base;
    double init_scale, growth_factor, backoff_factor;
    int64_t growth_interval;
} cr_grad_scaler_conf;
extern const cr_msg cr_grad_clip_msg, cr_grad_scaler_msg;

#endif
