/*
 * planner.h - where the tables of a training lie when several ranks share it: enumerate the ways to
 * place each table, estimate what they cost, choose, report (docs/design/planner.md).
 *
 * The planner knows no config: job/placing.c makes its list of tables. It is plain arithmetic, so
 * the same input gives the same plan on every rank. Results of training do not depend on the plan.
 */
#ifndef CR_PLANNER_PLANNER_H
#define CR_PLANNER_PLANNER_H

#include "base/json.h"
#include "emb/shard.h"

/* A table as the planner sees it. */
typedef struct cr_planner_table {
    const char *name;
    int64_t n_rows, D;
    double ids;        /* looked-up ids per row of a batch, over all features that use the table */
    double zipf;       /* popularity of the k-th most popular id: k^-zipf; 0: all are alike */
    bool ordered;      /* popular ids have low numbers (vocabularies); else they lie anywhere */
    int64_t row_bytes; /* memory of a row: weights and optimizer state */
    int weight_bytes;  /* of one weight: 4 or 2 */
    bool trained;      /* gradients come back; else its rows never change */
    bool grouped;      /* its ids are those of a table before it, and sorted for both */
    bool every_row;    /* the update moves all rows, not only those of the batch */
    const char *whole; /* why its columns must lie together; NULL: they need not */
    unsigned kinds;    /* ways that are allowed: bits 1 << cr_shard_kind, at least one */
} cr_planner_table;

/* Ranks with the same number of cores each, per_node of them on a machine, in order: rank r is on
 * machine r / per_node. The last machine may have fewer. */
typedef struct cr_planner_machine {
    int ranks, per_node;
    int cores;     /* of a rank */
    double memory; /* bytes of a rank that may be used; 0: no limit */
    /* of one core: multiply-adds count two; bytes of memory read or written in order; seconds for
     * a row that is in no cache */
    double flops, stream, miss;
    double cache; /* bytes of a rank's caches */
    /* inside a machine [0] and between machines [1]: bytes/s that one rank can send while it
     * receives as many; seconds that one message costs */
    double bandwidth[2], message[2];
} cr_planner_machine;
/* cr_planner_machine_default: figures of an ordinary machine, for plans that must not depend on a
 * measurement. The caller sets ranks, per_node, cores and memory. */
extern const cr_planner_machine cr_planner_machine_default;

typedef struct cr_planner_job {
    const cr_planner_table *tables;
    int n;
    int64_t batch;       /* rows of one rank's batch */
    int lanes;           /* of the global batch; 0: every rank has one whole subtree */
    double dense_bytes;  /* dense parameters, and so their gradient */
    double dense_planes; /* optimizer state: floats per dense parameter */
    double flops;        /* of the dense part, forward and backward, per row of the batch */
    double buffers;      /* bytes of activations, gradients and data on each rank */
} cr_planner_job;

/* How one table is placed: holders are `n` ranks from `first` on. They are counted through all
 * ranks, or through those of first's machine (table_row_wise, table_column_wise), and go on at the
 * beginning behind the last. grid_shard: n_cols machines from first's on, all ranks of each,
 * beginning with the same one. data_parallel: n is 0. */
typedef struct cr_planned {
    cr_shard_kind kind;
    int first, n, n_cols;
} cr_planned;

/* What a rank has to do in a step, and the memory that it needs. */
typedef struct cr_planner_load {
    double compute;       /* seconds of all but: */
    double update;        /* seconds of merging gradients and updating rows */
    double in[2], out[2]; /* bytes inside the machine, and between machines */
    double memory;        /* bytes */
} cr_planner_load;

/* Seconds of a step, by what they are spent on. */
typedef struct cr_planner_time {
    double dense;    /* products and other ops of the dense part, and its update */
    double lookup;   /* of rows: grouping of ids, reading, staging */
    double update;   /* of rows */
    double network;  /* bytes of tables */
    double sync;     /* bytes of the dense part */
    double messages; /* what messages cost, however short */
    double all;
} cr_planner_time;

typedef struct cr_planner_result {
    cr_planned *tables; /* [n] */
    /* per rank, with the dense part in it */
    cr_planner_load *ranks;
    cr_planner_time slowest; /* of the rank that takes longest */
    int slowest_rank, fullest_rank;
    double messages; /* that a rank sends in a step, at most */
    bool fits;       /* memory is enough on all ranks */
} cr_planner_result;

/* cr_planner_choose plans all tables. It always fills out (in the arena); when nothing that was
 * found fits, out->fits is false. */
void cr_planner_choose(const cr_planner_job *j, const cr_planner_machine *m, cr_arena *a,
                       cr_planner_result *out);
/* cr_planner_judge fills everything but the tables of a result, which are given. */
void cr_planner_judge(const cr_planner_job *j, const cr_planner_machine *m, cr_arena *a,
                      cr_planner_result *out);
/* cr_planner_rank_time: the step of one rank of a result. */
cr_planner_time cr_planner_rank_time(const cr_planner_job *j, const cr_planner_machine *m,
                                     const cr_planner_result *r, int rank);
/* What would make a job fit that does not. */
typedef struct cr_planner_cures {
    int ranks;     /* as many, with per_node on each machine; 0: no number helps */
    double memory; /* bytes that each of the ranks must be able to use */
    bool half;     /* weights of 16 bits would do */
    bool no_state; /* one number of optimizer state per row would do (rowwise_adagrad) */
    bool both;     /* the two together would do */
    double fixed;  /* bytes that a rank needs without any table */
} cr_planner_cures;
cr_planner_cures cr_planner_find_cures(const cr_planner_job *j, const cr_planner_machine *m);

/* What one table costs with a placing. */
typedef struct cr_planner_cost {
    double distinct;        /* ids of one rank's batch that are distinct */
    double distinct_global; /* and of the global batch */
    double bytes;           /* that all ranks together send in a step */
    double memory;          /* of its rows on all ranks together */
    double largest;         /* and on the rank that has most */
} cr_planner_cost;
cr_planner_cost cr_planner_table_cost(const cr_planner_job *j, const cr_planner_machine *m, int t,
                                      const cr_planned *p);

/* cr_planned_placing writes a plan out as rectangles. */
cr_placing cr_planned_placing(cr_arena *a, const cr_planned *p, int64_t n_rows, int64_t D,
                              int ranks, int per_node);
/* cr_planned_holder: its i-th holder. */
int cr_planned_holder(const cr_planned *p, int i, int ranks, int per_node);

/* ---- expect.c ---- */
/* cr_expect_distinct: how many distinct ids n draws from V ids have, of popularity k^-s. */
double cr_expect_distinct(double n, double V, double s);
/* cr_expect_zipf: the s (0 .. 3) at which n draws have so many distinct ids. */
double cr_expect_zipf(double n, double V, double distinct);
/* Distinct ids among the x most popular of V: cumulative, for many x. */
typedef struct cr_expect {
    int n;
    double x[512], sum[512]; /* sum[i] distinct ids among the first x[i] */
} cr_expect;
void cr_expect_init(cr_expect *e, double n, double V, double s);
double cr_expect_below(const cr_expect *e, double x);

/* ---- text.c: a plan as a file ---- */
/* cr_planner_write writes tables (names, shapes, placings) as members of the object that is open in
 * w. cr_planner_read reads them back for these tables and this number of ranks; any difference is
 * an error that says what differs. */
void cr_planner_write(cr_jw *w, const cr_planner_job *j, const cr_planner_machine *m,
                      const cr_planner_result *r);
CR_CHECKED cr_code cr_planner_read(const cr_json *root, const char *path, const cr_planner_table *t,
                                   int n, int ranks, int per_node, cr_planned *out, cr_err *err);
/* A machine as members of the open object, and back: members that are missing keep their value. */
void cr_planner_write_machine(cr_jw *w, const cr_planner_machine *m);
CR_CHECKED cr_code cr_planner_read_machine(const cr_json *root, const char *path,
                                           cr_planner_machine *m, cr_err *err);

#endif
