/*
 * env.h - the environment variables of crank and of TorchEasyRec, in one table.
 *
 * A variable is either used, or it has no effect here and the user is told so once. The table
 * drives the check of values, `crank help environment` and docs/reference/environment.md.
 */
#ifndef CR_JOB_ENV_H
#define CR_JOB_ENV_H

#include "base/buf.h"
#include "conf/tree.h"

typedef enum cr_env_kind {
    CR_ENV_TEXT,   /* the code that reads it checks the value */
    CR_ENV_SWITCH, /* 0 or 1 */
    CR_ENV_BOOL,   /* true or false */
    CR_ENV_COUNT,  /* an integer of at least 0 */
    CR_ENV_RATE,   /* a number above 0 */
    CR_ENV_SHARE,  /* a number from 0 up to, but not including, 1 */
} cr_env_kind;

typedef struct cr_env {
    const char *name; /* NULL ends the table; a `*` at the end stands for any ending */
    cr_env_kind kind;
    const char *key; /* the config key that keeps the choice: section.name; NULL: none */
    /* a value that asks for nothing, so it is not reported; NULL: there is none */
    const char *idle;
    const char *help;   /* what it means, without a full stop */
    const char *unused; /* why it has no effect, and what to use instead; NULL: it is used */
    /* it has no effect and is not reported, because machines set it, not users for one run */
    bool silent;
} cr_env;
extern const cr_env cr_envs[];

/* cr_env_check reports wrong values as errors (CR_EUSAGE), and variables that are set and have no
 * effect as warnings, one per cause. */
void cr_env_check(cr_diag *diag);
/* cr_env_keep writes into the config what the environment decides about features and the seed, even
 * when the environment says nothing: a model must be used, and its training must continue, with the
 * same settings, whatever the environment says later. A key that the config has stays as it is;
 * where the environment says something else, a warning names both. */
void cr_env_keep(cr_conf_doc *doc, cr_diag *diag);
/* cr_env_on: does the environment turn this SWITCH or BOOL on? */
bool cr_env_on(const char *name);
/* cr_env_reserve returns STORAGE_RESERVE_PERCENT, the share of memory that stays free; 0 when it
 * is not set or wrong. */
double cr_env_reserve(void);
/* cr_env_rate sets *bytes_per_s to a bandwidth of the environment, if it is set and right. */
void cr_env_rate(const char *name, double *bytes_per_s);
/* cr_env_lines writes the table for `crank help environment`, cr_env_line the part of one variable;
 * false: there is none of this name. cr_env_page writes the table as Markdown. */
void cr_env_lines(cr_buf *out);
bool cr_env_line(cr_buf *out, const char *name);
void cr_env_page(cr_buf *out);

#endif
