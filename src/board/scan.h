/*
 * scan.h - one line of a JSON log, taken apart.
 *
 * Logs are long and their lines flat, so a line is scanned in place: names and numbers of its
 * members, without a tree. What is not a number (texts, lists, null) is skipped, except for the
 * event.
 */
#ifndef CR_BOARD_SCAN_H
#define CR_BOARD_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CR_LINE_VALUES 512 /* the numbers of one line that count; more are left out */
#define CR_LINE_NAME   200 /* bytes of a name; longer ones are left out */
#define CR_LINE_POOL   4096

typedef enum cr_line_event {
    CR_LINE_OTHER,
    CR_LINE_START,
    CR_LINE_TRAIN,
    CR_LINE_EVAL,
    CR_LINE_FEATURES,
    CR_LINE_END,
} cr_line_event;

typedef struct cr_line_value {
    const char *name; /* in the text or the pool, not ended by NUL */
    int n;
    double value;
} cr_line_value;

typedef struct cr_line {
    cr_line_event event;
    int64_t step; /* -1: none */
    int64_t rank;
    double time, rows; /* NAN: none; rows: train.rows */
    int n;
    cr_line_value v[CR_LINE_VALUES]; /* without event, time, elapsed, rank, step */
    int n_pool;
    char pool[CR_LINE_POOL]; /* names that had escapes */
} cr_line;

/* cr_line_scan reads a line of n bytes, without its newline. It returns false when the line is no
 * JSON object. The names stay valid as long as the text and *out do. */
bool cr_line_scan(cr_line *out, const char *text, size_t n);

#endif
