/*
 * env.h - the environment variables of crank and of TorchEasyRec, in one table.
 *
 * A variable is used, or it has no effect here and the user is told so once. The table drives the
 * check of values, `crank help environment` and docs/reference/environment.md.
 */
#ifndef CR_JOB_ENV_H
#define CR_JOB_ENV_H

#include "base/buf.h"
#include "conf/tree.h"

typedef enum cr_env_kind {
    CR_ENV_TEXT,   /* its reader checks it */
    CR_ENV_SWITCH, /* 0 or 1 */
    CR_ENV_BOOL,   /* true or false */
    CR_ENV_COUNT,  /* an integer of at least 0 */
    CR_ENV_SHARE,  /* a number from 0 up to, but not including, 1 */
} cr_env_kind;

typedef struct cr_env {
    const char *name; /* NULL ends the table; a `*` at the end stands for any ending */
    cr_env_kind kind;
    const char *key;    /* key of the config that keeps the choice: section.name; NULL: none */
    const char *idle;   /* this value asks for nothing, so it is not told; NULL: none such */
    const char *help;   /* what it means, no full stop */
    const char *unused; /* why it has no effect, and what has; NULL: it is used */
    bool silent;        /* no effect and not told: machines set it, not users for one run */
} cr_env;
extern const cr_env cr_envs[];

/* cr_env_check tells wrong values as errors (CR_EUSAGE) and variables that are set and have no
 * effect as warnings, one per cause. */
void cr_env_check(cr_diag *diag);
/* cr_env_keep writes into the config what the environment decides about features and the seed, also
 * when it decides nothing: a model must be used, and its training must go on, with what it began
 * with, whatever the environment says then. A key that the config has stays as it is. */
void cr_env_keep(cr_conf_doc *doc);
/* cr_env_on: does the environment turn this SWITCH or BOOL on? */
bool cr_env_on(const char *name);
/* cr_env_reserve returns STORAGE_RESERVE_PERCENT, the share of memory that stays free; 0 when it
 * is not set or wrong. */
double cr_env_reserve(void);
/* cr_env_lines writes the table for `crank help environment`, cr_env_page as Markdown. */
void cr_env_lines(cr_buf *out);
void cr_env_page(cr_buf *out);

#endif
