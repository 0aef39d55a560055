/*
 * bench_words.h - words and units of the figures of `crank bench`, and the comparison of two saved
 * results.
 */
#ifndef CR_CLI_BENCH_WORDS_H
#define CR_CLI_BENCH_WORDS_H

#include "cli/cli.h"

/* The words for a figure. Two other figures may stand in its line: "39.1 ms  89.2 %" (share), "28.3
 * GFLOP/s, 32.9 % of the 86.1 GFLOP/s that ..." (share, whole). */
typedef struct cr_bench_word {
    const char *bench; /* the benchmark that prints it; NULL: all of them */
    const char *key, *label;
    const char *share, *whole, *reached; /* the keys of the two others, and what the whole is */
} cr_bench_word;
/* cr_bench_words returns the words for a figure of a benchmark, NULL when it has none. */
const cr_bench_word *cr_bench_words(const char *bench, const char *key);
/* cr_bench_share returns the words for the figure whose share of the whole `key` is, else NULL. */
const cr_bench_word *cr_bench_share(const char *bench, const char *key);

enum { CR_BENCH_COLUMNS = 24 }; /* a table has at most this many */
/* cr_bench_column returns the head of a column of a benchmark's table, NULL when it has none. */
const char *cr_bench_column(const char *key);

/* cr_bench_value writes a figure with its unit, as in "39.1 ms". */
void cr_bench_value(char *out, size_t size, double x, const char *unit);

/* cr_bench_compare (bench_compare.c) prints the figures of two files, which
 * `crank bench WHAT ... --json` has written, with their ratios: a table, or one JSON object. */
CR_CHECKED cr_code cr_bench_compare(cr_ui *ui, const char *const path[2], bool json, cr_err *err);

#endif
