/*
 * optim.h - update rules, for dense parameters and for table rows, and learning-rate schedules.
 *
 * Each rule is one file with the element-wise dense form and the per-row form of the same idea.
 * Rules are pure arithmetic on memory that graph/ and emb/ own.
 */
#ifndef CR_OPTIM_OPTIM_H
#define CR_OPTIM_OPTIM_H

#include <stdint.h>

#include "conf/field.h"

/* The values that change from step to step. */
typedef struct cr_optim_step {
    double lr;
    int64_t t;    /* 1 for the first update */
    float pre[2]; /* prepare fills them; zeros: the rule computes them itself, more slowly */
} cr_optim_step;

/* Some rows of a table. Row i lies at base + (id[i] - row0) * stride: D weights, then its state. */
typedef struct cr_optim_rows {
    float *base;
    int64_t stride, row0, D;
    const int64_t *id; /* [n + more]; the last `more` come with the next calls */
    int64_t n, more;
    float *g; /* [n][D]; may be changed */
} cr_optim_rows;

typedef struct cr_optim_type {
    const char *name;
    /* floats of state per weight, and per row (only for tables) */
    int elem_state;
    int row_state;
    /* names of the state tensors in checkpoints: first elem_state names, then row_state names, as
     * torch calls them */
    const char *const *state_names;
    /* returns the first value of state plane k (NULL: zeros) */
    float (*state_init)(const void *conf, int k);
    /* Dense: w[i] -= … for n weights; state[k] is the k-th plane of n floats; conf is the dense
     * message. NULL: the rule is not for dense parameters. */
    void (*dense)(const void *conf, const cr_optim_step *s, float *w, const float *g,
                  float *const *state, int64_t n);
    /* Row of a table: w has D weights; state has elem_state planes of D floats, then row_state
     * floats. g has D floats and may be changed; conf is the sparse message. NULL: the rule is not
     * for tables. */
    void (*row)(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                int64_t D);
    /* The same for many rows, where that is faster. NULL: row is called for each. */
    void (*rows)(const void *conf, const cr_optim_step *s, const cr_optim_rows *r);
    /* Called once per step and message, after lr and t are set, to compute what depends only on t.
     * NULL: there is nothing. */
    void (*prepare)(const void *conf, cr_optim_step *s);
    /* Tables: rows that the batch does not touch move too; row is called for them with a gradient
     * of zeros, which it must not change. */
    bool every_row;
    /* Tables: row looks at all weights of a row together (it sums over them), so a row cannot be
     * cut into columns that are updated apart. */
    bool whole_row;
    /* The type for this message, when its fields (amsgrad, mode) decide it; NULL: always this
     * type. */
    const struct cr_optim_type *(*resolve)(const void *conf);
} cr_optim_type;

/* cr_optim_of returns the rule of a chosen message. */
const cr_optim_type *cr_optim_of(const cr_choice *c);
/* cr_optim_rate returns its rate after so many finished scheduler steps and epochs; a base lr of 0
 * stays 0. */
double cr_optim_rate(const cr_choice *optim, const cr_choice *sched, int64_t steps, int64_t epochs);

/* cr_norm_add adds |g|^p of n elements to *sum, in double and in a fixed order (p infinite: *sum
 * becomes the largest |g| if that is larger). It returns false when an element is not finite. */
bool cr_norm_add(double *sum, const float *g, int64_t n, double p);
/* cr_norm_join adds the sum of another piece; NaN stays. */
void cr_norm_join(double *sum, double part, double p);

/* Families for the oneofs of SparseOptimizer and DenseOptimizer; member.type is cr_optim_type*. */
extern const cr_oneof cr_sparse_optim_family;
extern const cr_oneof cr_dense_optim_family;
/* Every optimizer message begins with these members. */
typedef struct cr_optim_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping; /* sparse only */
    double max_gradient;    /* sparse only */
} cr_optim_conf;

/* A schedule; member.type is cr_sched_type*. */
typedef struct cr_sched_type {
    const char *name;
    /* rate after t finished scheduler steps, from the optimizer's base lr */
    double (*rate)(const void *conf, double base_lr, int64_t t);
    bool (*by_epoch)(const void *conf); /* NULL: by step */
    /* instead of both, for a schedule that counts steps and epochs; NULL: none */
    double (*rate_of)(const void *conf, double base_lr, int64_t steps, int64_t epochs);
} cr_sched_type;
extern const cr_oneof cr_sched_family;

/* A part: parameters (or tables) whose whole name matches regex_pattern have their own rule. */
typedef struct cr_part_conf {
    cr_conf_base base;
    cr_choice optimizer;
    const char *regex_pattern;
    cr_choice learning_rate; /* m is NULL: the main schedule applies */
} cr_part_conf;
/* cr_parts_assign sets of[i] to the number of the first part (cr_part_conf) that matches names[i],
 * or to -1. A part that matches nothing gives a warning with the most similar name, unless diag is
 * NULL. `what` is "dense parameter" or "table". The binding has already checked the patterns. */
void cr_parts_assign(const cr_msgs *parts, const char *const *names, int n, const char *what,
                     int *of, cr_diag *diag);
/* cr_pattern_check: is the pattern a regular expression? (Python's syntax, which PCRE2 shares) */
CR_CHECKED cr_code cr_pattern_check(const char *pattern, cr_err *err);

typedef struct cr_ema_conf {
    cr_conf_base base;
    double decay;
} cr_ema_conf;

/* The two messages as TrainConfig holds them. */
typedef struct cr_sparse_optim_conf {
    cr_conf_base base;
    cr_choice optimizer;
    cr_choice learning_rate;
    cr_msgs part_optimizers; /* items are cr_part_conf; only crank has this key */
} cr_sparse_optim_conf;
typedef struct cr_dense_optim_conf {
    cr_conf_base base;
    cr_choice optimizer;
    cr_choice learning_rate;
    cr_msgs part_optimizers; /* items are cr_part_conf */
    cr_ema_conf *ema;        /* NULL: no averaging */
} cr_dense_optim_conf;
extern const cr_msg cr_sparse_optim_msg; /* SparseOptimizer */
extern const cr_msg cr_dense_optim_msg;  /* DenseOptimizer */

/* The settings of TrainConfig for gradients. */
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
