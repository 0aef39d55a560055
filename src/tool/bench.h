/*
 * bench.h - benchmarks of a config's own work, and of the machine.
 */
#ifndef CR_TOOL_BENCH_H
#define CR_TOOL_BENCH_H

#include "comm/comm.h"
#include "tool/tool.h"

/* One figure. Its unit is "rows/s", "GB/s", "%", ... or "" for a plain number. */
typedef struct cr_bench_fact {
    const char *key, *unit;
    double value;
} cr_bench_fact;

#define CR_BENCH_FACTS 48
typedef struct cr_bench_row { /* one line of a table */
    const char *name;
    cr_bench_fact v[12];
    int n;
} cr_bench_row;
typedef struct cr_bench {
    cr_arena arena;
    cr_bench_fact v[CR_BENCH_FACTS];
    int n;
    cr_bench_row *rows;
    int n_rows, cap_rows;
} cr_bench;

typedef struct cr_bench_opts {
    const char *what; /* one of cr_bench_names */
    cr_config_opts config;
    int threads;    /* 0: all cores */
    double seconds; /* seconds per measurement */
    bool files;     /* train: read the files instead of holding batches in memory */
    cr_comm *comm;  /* train: the other ranks; NULL: this process is alone */
} cr_bench_opts;

typedef struct cr_bench_kind {
    const char *name, *help;
    bool config; /* it needs a config */
    CR_CHECKED cr_code (*run)(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
} cr_bench_kind;
extern const cr_bench_kind cr_bench_kinds[]; /* ends with a NULL name */

/* cr_bench_run measures; the caller clears out in any case. */
CR_CHECKED cr_code cr_bench_run(const cr_bench_opts *o, cr_bench *out, cr_diag *diag);
void cr_bench_clear(cr_bench *b);

#endif
