/*
 * tune.h - `crank tune`: many trainings of one config with other values for some keys, and the best
 * of them (docs/design/tune.md).
 *
 * tune_space.c reads what --try asks for and draws the trials, tune.c makes plan, configs and
 * results, tune_run.c runs trials as processes of their own.
 */
#ifndef CR_TOOL_TUNE_H
#define CR_TOOL_TUNE_H

#include <sys/types.h>

#include "job/job.h"

typedef enum cr_tune_kind { CR_TUNE_LIST, CR_TUNE_UNIFORM, CR_TUNE_LOG, CR_TUNE_INT } cr_tune_kind;
typedef enum cr_tune_search {
    CR_TUNE_AUTO,
    CR_TUNE_GRID,
    CR_TUNE_RANDOM,
    CR_TUNE_HALVING
} cr_tune_search;

/* One --try. */
typedef struct cr_tune_key {
    const char *text;   /* as it was given */
    const char *name;   /* what stands in front of the = */
    const char **paths; /* the keys of the config that get the value */
    int n_paths;
    cr_tune_kind kind;
    double lo, hi;       /* of a range */
    const char **values; /* of a list, as config text */
    int n_values;
} cr_tune_key;

typedef struct cr_tune_trial {
    const char **values; /* per key, as config text */
    int rung;            /* the last one that it has finished; -1: none */
    double value;        /* the best evaluation of that rung */
    int64_t step;        /* where it was */
    const char *failed;  /* NULL: it has not */
    /* while it runs */
    pid_t pid; /* 0: it does not */
    double began;
} cr_tune_trial;

typedef struct cr_tune_opts {
    cr_config_opts config;
    const char *const *tries; /* KEY=VALUES */
    int n_tries;
    cr_tune_search search;
    int64_t trials;     /* 0: the grid, or 20 */
    const char *metric; /* NULL: from the config */
    int larger;         /* 1: larger is better, 0: smaller is, -1: as the metric says */
    const char *dir;    /* NULL: model_dir of the config with _tune behind it */
    const char *output; /* file of the best config; NULL: best.yaml in dir */
    int parallel;       /* trials at once; 0: by cores and memory */
    int threads;        /* cores for all of them; 0: all */
    int eta;            /* each rung of halving keeps one of so many, and trains so much longer */
    uint64_t seed;
    bool allow_libraries;
} cr_tune_opts;

typedef struct cr_tune {
    cr_tune_key *keys;
    int n_keys;
    cr_tune_trial *trials;
    int n_trials;
    int *order; /* of trials: the best first; those that failed last */
    cr_tune_search search;
    const char *metric, *dir, *best; /* best: the file of the best config; NULL: there is none */
    bool larger;
    int n_failed, n_before; /* n_before: results that an earlier run left */
    int n_rungs;
    int64_t *budgets; /* of rungs, in `unit` */
    const char *unit; /* "num_epochs" or "num_steps"; NULL: one rung, as the config says */
    int parallel, cores;
    /* the effective config as YAML, which all trials begin with */
    cr_buf base;
} cr_tune;

/* ---- tune_space.c ---- */
/* cr_tune_read reads what --try asks for; base is the effective config, as YAML. All mistakes go to
 * diag. */
CR_CHECKED cr_code cr_tune_read(cr_tune *t, const cr_tune_opts *o, const cr_conf_node *base,
                                cr_arena *a, cr_diag *diag);
/* cr_tune_draw chooses the trials. They depend on the tries, their number and the seed alone. */
CR_CHECKED cr_code cr_tune_draw(cr_tune *t, const cr_tune_opts *o, cr_arena *a, cr_diag *diag);
/* cr_tune_edits returns the assignments "path=value" of a trial. */
int cr_tune_edits(const cr_tune *t, const cr_tune_trial *x, cr_arena *a, const char ***out);
/* cr_tune_name writes the values of a trial: "lr=0.01 hidden_units=[256]". */
const char *cr_tune_name(const cr_tune *t, const cr_tune_trial *x, cr_arena *a);

/* ---- tune_run.c ---- */
/* cr_tune_rung trains the trials list[0 .. n) up to the budget of a rung, several at once. A trial
 * that fails has `failed` set, and the others go on. */
CR_CHECKED cr_code cr_tune_rung(cr_tune *t, const cr_tune_opts *o, int rung, const int *list, int n,
                                cr_arena *a, cr_diag *diag);

/* ---- tune.c ---- */
/* cr_tune_run does all of it. The result points into the arena; cr_tune_clear must follow in any
 * case. begins is called when the trials are known and none has begun. */
CR_CHECKED cr_code cr_tune_run(const cr_tune_opts *o, cr_tune *t,
                               void (*begins)(void *ctx, const cr_tune *t), void *ctx, cr_arena *a,
                               cr_diag *diag);
void cr_tune_clear(cr_tune *t);
/* cr_tune_trial_dir returns the model_dir of trial i. */
const char *cr_tune_trial_dir(const cr_tune *t, int i, cr_arena *a);

#endif
