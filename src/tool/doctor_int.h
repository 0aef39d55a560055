/*
 * doctor_int.h - the samples that `crank check` takes of each data set, and its findings. check.c
 * fills the samples, doctor.c holds the table of checks.
 */
#ifndef CR_TOOL_DOCTOR_INT_H
#define CR_TOOL_DOCTOR_INT_H

#include "job/job.h"
#include "job/verify.h"
#include "tool/col_stats.h"
#include "tool/tool.h"

typedef struct data_file {
    const char *path;
    uint64_t dev, ino;
    int64_t size;
    uint64_t print; /* hash of its content, once it was computed */
    bool looked;
} data_file;

/* A sample of one data set. Its memory is in the config's arena. */
typedef struct sample {
    const char *name; /* "train", "eval" */
    const char *key;  /* its key in the config */
    const char *paths;
    cr_side_of side; /* which rows belong to it, if the data set is split */
    int64_t rows, bad_rows;
    int64_t all_rows; /* rows of the data set; 0: not known */
    bool complete;    /* all rows were read */
    data_file *files;
    int64_t n_files;
    int n_labels, n_weights;
    col_stats *labels, *weights; /* per label field, per weight field */
    int64_t *positives;          /* per label: rows where it is 1 */
    cr_feature_counts *counts;   /* per feature; NULL: not read */
    int64_t *empty;              /* per feature: rows whose sequence has no steps */
    col_stats *stats;            /* per feature: the numbers that the model gets, or the ids */
    col_joint *joint;            /* per feature and label */
} sample;

/* One finding, for programs; users see it in the diag. */
typedef struct finding {
    const char *check, *data, *subject, *message; /* data, subject: NULL: none */
} finding;

typedef struct report {
    cr_job j;
    cr_diag *diag;
    cr_verified *files; /* the folders whose files were checked */
    int n_files;
    sample samples[2];
    int n_samples;
    finding *findings;
    int n_findings, cap_findings;
    int64_t tables, state, dense, buffers, data; /* bytes */
    /* number of ops of plug-ins; bad_ops: one of them is wrong */
    int n_ops;
    bool bad_ops;
} report;

/* cr_doctor runs all checks; its findings go to r->diag and r->findings. */
void cr_doctor(report *r);

#endif
