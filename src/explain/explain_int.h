/*
 * explain_int.h - what the parts of explain/ share: a model with its weights, and runs of it in
 * which only one feature differs.
 */
#ifndef CR_EXPLAIN_EXPLAIN_INT_H
#define CR_EXPLAIN_EXPLAIN_INT_H

#include "explain/explain.h"
#include "explain/kept.h"
#include "explain/units.h"

/* ---- scored.c ---- */
typedef struct cr_scored_opts {
    const cr_config_opts *config; /* path: a config, a model_dir or an export */
    const char *checkpoint_path;
    int threads;
    const char *reserved;
} cr_scored_opts;
/* cr_scored_open opens a model with its weights, for a process that is alone; *path is where they
 * were read from. cr_job_close must follow in any case. */
CR_CHECKED cr_code cr_scored_open(cr_job *j, const cr_scored_opts *o, char **path, cr_diag *diag);
/* cr_scored_dir returns the folder for results, in the arena: the model_dir. NULL: there is none on
 * this machine, or the model is an export, whose model_dir belongs to the training. */
const char *cr_scored_dir(const cr_job *j, const cr_config_opts *config, cr_arena *arena);
/* cr_scored_data finds the data of --eval_input_path or the config. */
CR_CHECKED cr_code cr_scored_data(const cr_job *j, cr_kept_opts *o, cr_diag *diag);

/* ---- work.c ---- */
/* The work of one row, in multiply-adds: of an evaluation, of reading alone, and of everything that
 * cr_probes_base and cr_probes_units do. It is counted from the model and the kept rows. */
typedef struct cr_work_count {
    double eval, read, probes;
} cr_work_count;
cr_work_count cr_probes_work(const cr_job *j, const cr_kept *k, const cr_unit_list *units);
/* cr_probes_rows returns how many of n rows are probed when no flag says it: all where that takes
 * about a third of a second, else as many as cost the share CR_PROBE_SHARE of features x an
 * evaluation. */
#define CR_PROBE_SHARE 0.17 /* the aim is 0.2; CPUs differ in what is no product */
int64_t cr_probes_rows(const cr_work_count *w, int n_features, int64_t n);

/* ---- probe.c ---- */
/* cr_probe_shifts: is the layer made from its own value and the columns that differ? */
bool cr_probe_shifts(const cr_node *n, const cr_unit *u);
/* A node whose values are compared, one float per row. */
typedef struct cr_probes cr_probes;
typedef struct cr_probes_opts {
    cr_job *j;
    const cr_kept *kept;
    const cr_unit_list *units;
    const cr_node *const *outs; /* of width 1 */
    int n_outs;
} cr_probes_opts;
CR_CHECKED cr_code cr_probes_new(cr_probes **out, const cr_probes_opts *o, cr_err *err);
void cr_probes_free(cr_probes *p);
/* cr_probes_used: can unit u change output k? k -1: any output. */
bool cr_probes_used(const cr_probes *p, int u, int k);
int64_t cr_probes_batch(const cr_probes *p); /* rows of a call of cr_probes_base, at most */
/* cr_probes_base runs the kept rows [from, from + n) as they are and writes the outputs to
 * out[k][from ...]. */
CR_CHECKED cr_code cr_probes_base(cr_probes *p, int64_t from, int64_t n, float *const *out,
                                  cr_err *err);
/* cr_probes_units runs the same rows again for units [u0, u1), on all threads: with the unit's
 * values of the rows donor[from ...], and without the unit. out[u - u0][2 k + v] receives output k
 * (v 0: shuffled, 1: removed) where it can change, and changed[2 u + v] grows by the number of
 * rows in which the unit has another value. base: as cr_probes_base filled it. */
CR_CHECKED cr_code cr_probes_units(cr_probes *p, int64_t from, int64_t n, const int64_t *donor,
                                   int u0, int u1, float *const *base, float *const *const *out,
                                   int64_t *changed, cr_err *err);

#endif
