/*
 * submit.h - from a config to a job of a cluster: check, write a folder, hand it to the client.
 *
 * cr_submit_run does all of it. The folder holds everything that the cluster gets, as texts that a
 * person can read and change; `sh job.sh` in it submits it again. A backend (list.h) knows one
 * cluster: its keys in backend.yaml, what can be checked, and the files.
 */
#ifndef CR_SUBMIT_SUBMIT_H
#define CR_SUBMIT_SUBMIT_H

#include "job/config.h"

typedef struct cr_submit_opts {
    cr_config_opts config; /* its path is the config; its edits go to the command of the nodes */
    const char *backend;   /* path of backend.yaml */
    const char *secrets;   /* file of key=value lines, mode 0600; NULL: none */
    bool dry_run;          /* write the folder, do not call the client */
    bool no_check;         /* the rows of the data are not looked at, and no plan is made */
    double timeout_s;      /* for an answer of the client */
    void (*say)(void *ctx, const char *line);      /* results, without the newline */
    void (*complain)(void *ctx, const char *line); /* a line of the client's errors */
    void (*checked)(void *ctx); /* all checks have passed; their warnings can be shown */
    void *ctx;
} cr_submit_opts;

typedef struct cr_submit_result {
    const char *folder; /* absolute; NULL: there is none */
    const char *job_id; /* NULL: nothing was submitted */
    const char *backend;
} cr_submit_result;
/* cr_submit_run: all mistakes go to diag, and nothing is written when there is one. Texts of the
 * result are in the arena. After a refusal of the client the folder stays. */
CR_CHECKED cr_code cr_submit_run(const cr_submit_opts *o, cr_submit_result *res, cr_arena *a,
                                 cr_diag *diag);

/* What crank knows about a submitted job, from the folder of jobs (jobs.c). */
typedef struct cr_job_record {
    const char *name; /* of the folder: deepfm_202601311200 */
    const char *file; /* of this record, in the folder of jobs */
    const char *id;   /* the newest that the client gave; "": none */
    const char *backend, *folder, *config, *commit;
    const char *submitted, *nanoseconds; /* a second, and the rest of it */
} cr_job_record;
/* cr_jobs_load reads all records, oldest first. */
CR_CHECKED cr_code cr_jobs_load(cr_arena *a, cr_job_record **out, int *n, cr_err *err);
/* cr_jobs_find finds a job by its id, its folder or the folder's name; "last" is the newest. */
CR_CHECKED cr_code cr_jobs_find(cr_arena *a, const char *what, cr_job_record *out, cr_err *err);
/* cr_jobs_ask runs `.jobs.sh VERB ID` of the folder; *text is what it printed. */
CR_CHECKED cr_code cr_jobs_ask(cr_arena *a, const cr_job_record *j, const char *verb,
                               double timeout_s, const char **text, cr_err *err);
/* cr_jobs_pass does the same with our own output; *exit_code is that of the client. */
CR_CHECKED cr_code cr_jobs_pass(cr_arena *a, const cr_job_record *j, const char *verb,
                                int *exit_code, cr_err *err);
/* cr_jobs_state returns the state in the client's word; "unknown" with *why when it has none. */
const char *cr_jobs_state(cr_arena *a, const cr_job_record *j, double timeout_s, const char **why);
/* cr_jobs_states does so for n jobs. A cluster that gives no answer is asked once: other jobs of
 * its backend are "unknown". CR_ESTOP when a signal came. */
CR_CHECKED cr_code cr_jobs_states(cr_arena *a, const cr_job_record *v, int n, double timeout_s,
                                  const char **states, cr_err *err);
/* cr_jobs_last_step finds the largest step that a log names, -1: none. */
int64_t cr_jobs_last_step(const char *log);

/* cr_bundle_make writes a tarball of this program, its plug-ins and their libraries. */
typedef struct cr_bundle_result {
    int n_plugins, n_libraries;
    int64_t bytes;
    const char *libc; /* the C library that the nodes must have at least; NULL: it brings its own */
} cr_bundle_result;
CR_CHECKED cr_code cr_bundle_make(cr_arena *a, const char *path, cr_bundle_result *res,
                                  cr_err *err);

#endif
