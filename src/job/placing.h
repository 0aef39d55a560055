/*
 * placing.h - where the tables of a job lie when several ranks train it: the job as the planner
 * (planner/planner.h) sees it, and the placings that it chooses.
 */
#ifndef CR_JOB_PLACING_H
#define CR_JOB_PLACING_H

#include "job/job.h"
#include "planner/planner.h"

/* What a config does not say about its data. */
#define CR_PLAN_ZIPF    1.05 /* popularity of ids: that of the k-th is k^-zipf */
#define CR_PLAN_STEPS   50   /* steps of a sequence without sequence_length */
#define CR_PLAN_RESERVE 0.15 /* share of memory that stays free without STORAGE_RESERVE_PERCENT */
#define CR_PLAN_FILE    "plan.json" /* in model_dir */

/* cr_job_planner describes a training (cr_job_opts.train) with its tables for `ranks` ranks,
 * per_node of them on a machine. zipf is the popularity of ids. The number of ids per row and the
 * lengths of sequences come from the config; buffers are those of maps alone. A table whose
 * constraints leave no way is an error, unless there is one rank. out lives in the arena. */
CR_CHECKED cr_code cr_job_planner(const cr_job *j, int ranks, int per_node, double zipf,
                                  cr_arena *a, cr_planner_job *out, cr_diag *diag);
/* cr_job_steps returns how many positions of an axis a row has: the most that the config allows. */
double cr_job_steps(const cr_job *j, int axis);
/* cr_job_bandwidth takes over INTRA_NODE_BANDWIDTH and CROSS_NODE_BANDWIDTH, if they are set. */
void cr_job_bandwidth(cr_planner_machine *m);
/* cr_job_reserve returns the share of memory that stays free. */
double cr_job_reserve(void);
/* cr_job_unfit reports that the tables do not fit, and what would make them fit; `reserve` is the
 * share of a machine's memory that stays free. */
void cr_job_unfit(const cr_planner_job *p, const cr_planner_machine *m, const cr_planner_result *r,
                  double reserve, cr_diag *diag);

/* cr_job_grows: does a table grow in this job? Then it is cut by the hash of its ids, always. */
bool cr_job_grows(const cr_job *j, const cr_model_table *t);
/* cr_job_placings (collective) decides where the tables of a job lie and sets `placing` of every
 * table of j->model: as model_dir/plan.json says with FORCE_LOAD_SHARDING_PLAN=1 where there is
 * one, else as the planner chooses. It is called between cr_job_open and cr_job_alloc. Without
 * other ranks, or for an export whose tables are mapped, it does nothing. j->plan becomes the text
 * of plan.json, on the first rank, for training to write. */
CR_CHECKED cr_code cr_job_placings(cr_job *j, cr_diag *diag);
/* cr_job_server_placings does so where some ranks are parameter servers: blocks of rows, dealt to
 * them in turn. A server without enough memory fails. */
CR_CHECKED cr_code cr_job_server_placings(cr_job *j, cr_diag *diag);

#endif
