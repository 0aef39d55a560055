/*
 * run_int.h - the lines that `crank run` prints, which are those of PaddleRec, and the files that
 * it writes beside them.
 *
 *   run_lines.c   lines of batches, epochs, checkpoints; dumps
 *   run_rows.c    rows that are made of the data before a run
 *   run_tables.c  tables of settings, the summary of a failure
 */
#ifndef CR_CLI_RUN_INT_H
#define CR_CLI_RUN_INT_H

#include "base/buf.h"
#include "cli/cli.h"
#include "dialect/paddle.h"
#include "job/watch.h"
#include "train/evaluate.h"

/* What the lines of one run need. */
typedef struct cr_run_lines {
    cr_ui *ui;
    cr_watch own; /* crank's own watch */
    const cr_paddle_run *r;
    bool servers;      /* the run has parameter servers */
    const char *epoch; /* evaluation: the name of the epoch */
    double epoch_t0, interval_t0, wait0;
    double waited;            /* evaluation: seconds that it waited for data since the last line */
    int64_t rows, epoch_rows; /* since the last line; since the epoch began */
    cr_buf dump;              /* one JSON object per batch so far */
    cr_buf speeds, aucs;      /* of the epochs, for train_result_dict.txt */
} cr_run_lines;

void cr_run_lines_init(cr_run_lines *x, cr_ui *ui, const cr_paddle_run *r);
void cr_run_lines_clear(cr_run_lines *x);
/* The functions of the watch; ctx is a cr_run_lines. */
cr_watch cr_run_lines_watch(cr_run_lines *x);

/* cr_run_make_rows makes the rows that a run reads, where the data has them in another form. */
CR_CHECKED cr_code cr_run_make_rows(const cr_paddle_run *r, cr_err *err);

/* cr_run_time writes "2026-01-31 12:00:00,123". */
const char *cr_run_time(char out[64]);
/* The lines before a run. */
void cr_run_say_head(const cr_paddle_run *r, bool servers);
/* The tables before those lines, in the old kind; and its lines behind a run that failed. */
void cr_run_say_tables(const cr_paddle_run *r);
void cr_run_say_failure(const cr_ui *ui);
/* The line behind an evaluation that took so many seconds. */
void cr_run_say_result(const cr_run_lines *x, const cr_eval_result *res, double seconds);
/* A batch of an evaluation of PaddleRec's own, that gives a text: "item: [[5]]". */
void cr_run_say_batch(cr_run_lines *x, int64_t batch, int64_t rows, const char *text);
/* cr_run_dump writes the values of all batches so far to the file that the config asks for, and
 * forgets them; epoch < 0: of an evaluation. */
CR_CHECKED cr_code cr_run_dump(cr_run_lines *x, int64_t epoch, cr_err *err);
/* cr_run_record writes train_result_dict.txt, as PaddleRec's trainer with servers does. */
CR_CHECKED cr_code cr_run_record(const cr_run_lines *x, cr_err *err);

#endif
