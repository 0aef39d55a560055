/*
 * board_test.h - logs for tests of the board: lines as crank train writes them.
 */
#ifndef CR_TESTS_BOARD_TEST_H
#define CR_TESTS_BOARD_TEST_H

#include <math.h>

#include "../base/tmpdir.h"
#include "base/file.h"
#include "board/board_int.h"
#include "harness.h"

/* The loss that the lines have at a step. */
static inline double loss_at(int64_t step) {
    return 0.7 - 1e-4 * (double)step + 0.01 * (double)((step * 7919) % 13);
}

static inline void add_text(const char *path, const char *text) {
    CHECK_INT(cr_file_append(path, text, strlen(text), NULL), 0);
}

static inline void start_line(cr_buf *b, int64_t from) {
    cr_buf_printf(b, "{\"event\": \"start\", \"time\": 1000.5, \"elapsed\": 0, \"rank\": 0, ");
    if (from >= 0)
        cr_buf_printf(b, "\"from_step\": %lld", (long long)from);
    else
        cr_buf_str(b, "\"from_step\": null");
    cr_buf_str(b, ", \"version\": \"0.1.0\", \"project\": \"shop\", \"experiment\": \"night\"}\n");
}

/* row: rows of the run so far. */
static inline void train_line(cr_buf *b, int64_t step, int64_t rows, double loss) {
    cr_buf_printf(b,
                  "{\"event\": \"train\", \"time\": %.3f, \"elapsed\": 1, \"rank\": 0, "
                  "\"epoch\": 0, \"step\": %lld, \"train.rows\": %lld, \"train.loss\": %.17g, "
                  "\"train.ips\": null, \"lr.g0\": 0.001}\n",
                  1001.0 + 0.5 * (double)step, (long long)step, (long long)rows, loss);
}

static inline void eval_line(cr_buf *b, int64_t step, double auc) {
    cr_buf_printf(b,
                  "{\"event\": \"eval\", \"time\": %.3f, \"elapsed\": 1, \"rank\": 0, "
                  "\"epoch\": 0, \"step\": %lld, \"val.rows\": 500, \"val.auc\": %.17g}\n",
                  1001.2 + 0.5 * (double)step, (long long)step, auc);
}

static inline void end_line(cr_buf *b, int64_t step, const char *status) {
    cr_buf_printf(b,
                  "{\"event\": \"end\", \"time\": 9000, \"elapsed\": 1, \"rank\": 0, \"epoch\": 0, "
                  "\"step\": %lld, \"status\": \"%s\"}\n",
                  (long long)step, status);
}

/* Makes DIR/train_log.jsonl with n steps, one evaluation per hundred of them. */
static inline void make_run(const char *dir, int64_t n, const char *status) {
    cr_buf b;
    char path[300];
    cr_buf_init(&b);
    CHECK_INT(cr_mkdirs(dir, NULL), 0);
    start_line(&b, -1);
    for (int64_t i = 0; i < n; i++) {
        train_line(&b, i, 100 * (i + 1), loss_at(i));
        if (i % 100 == 99) eval_line(&b, i, 0.5 + 1e-6 * (double)i);
    }
    if (status) end_line(&b, n - 1, status);
    snprintf(path, sizeof path, "%s/train_log.jsonl", dir);
    CHECK_INT(cr_file_write(path, b.data, b.n, NULL), 0);
    cr_buf_clear(&b);
}

static inline cr_board *open_board(const char *dir) {
    cr_board *b = NULL;
    cr_err err;
    CHECK_INT(cr_board_open(&b, &dir, 1, &err), 0);
    return b;
}

/* Reads everything that there is. */
static inline void read_all(cr_board *b) {
    b->searched = b->looked = 0; /* at once */
    while (cr_board_follow(b, 10))
        ;
}

#endif
