/*
 * draft.h - the choices of `crank init`: what becomes of each column of a survey, and how a model
 * of them is trained. draft.c chooses, draft_yaml.c writes them down as a config with comments.
 */
#ifndef CR_TOOL_DRAFT_H
#define CR_TOOL_DRAFT_H

#include "base/buf.h"
#include "survey/survey.h"

typedef enum cr_draft_use {
    CR_DRAFT_SKIP, /* no feature */
    CR_DRAFT_LABEL,
    CR_DRAFT_WEIGHT,
    CR_DRAFT_NUMBER, /* buckets between boundaries, and the number itself */
    CR_DRAFT_ID,     /* whole numbers from 0 on that name things */
    CR_DRAFT_HASH,   /* names, by hash */
} cr_draft_use;

typedef enum cr_draft_task { CR_DRAFT_BINARY, CR_DRAFT_CLASSES, CR_DRAFT_REGRESSION } cr_draft_task;

typedef struct cr_draft_col {
    const cr_survey_col *col;
    cr_draft_use use;
    const char *why; /* in a few words */
    int64_t buckets; /* rows of the table */
    int n_cuts;      /* of the survey's, that are used */
    double mean, sd; /* NUMBER: of the normalizer */
    int target;      /* of a history: the column that its steps are compared with; else -1 */
    int64_t steps;   /* of a history: how many are read */
    bool shares_ids; /* a history, or its target: both have one table */
} cr_draft_col;

typedef struct cr_draft {
    const cr_survey *s;
    cr_draft_task task;
    int label;
    int64_t n_class;
    bool label_map; /* the values of the label are not the numbers 0 .. n_class - 1 */
    cr_draft_col *cols;
    int n_features;
    int64_t dim, batch_size, epochs, save_steps, window;
    double sparse_lr, dense_lr;
    int units[2];
    /* evaluation: the files from this one on, or a share of the rows */
    int64_t eval_from;
    double eval_fraction;
    const char *train_paths, *eval_paths;
} cr_draft;

/* cr_draft_choose decides. eval_paths: NULL: a part of the data is kept. Mistakes go to diag. */
CR_CHECKED cr_code cr_draft_choose(cr_draft *c, const cr_survey *s, const char *eval_paths,
                                   cr_arena *a, cr_diag *diag);
/* cr_draft_yaml writes the config. ours: with the keys that only crank knows. */
void cr_draft_yaml(const cr_draft *c, const char *model_dir, bool ours, cr_buf *out);

#endif
