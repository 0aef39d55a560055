/*
 * jsonlog.c - see jsonlog.h. A line is put together first and written whole, so that a program that
 * follows the file never sees part of a line. Only a kill can leave one, and the next run ends that
 * line.
 */
#include "obs/jsonlog.h"

#include <sys/time.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "obs/logfile.h"

#define MAX_FILES 2

struct cr_jsonlog {
    cr_logfile *files[MAX_FILES];
    int n_files, rank;
    double started;
    cr_buf line;
    cr_jw w;
};

cr_jsonlog *cr_jsonlog_new(void) {
    cr_jsonlog *l = cr_alloc(sizeof(*l), "a log");
    cr_buf_init(&l->line);
    l->started = cr_now();
    return l;
}

cr_code cr_jsonlog_add(cr_jsonlog *l, const char *path, cr_err *err) {
    if (l->n_files == MAX_FILES) CR_BUG("too many files of one log");
    CR_TRY(cr_logfile_open(&l->files[l->n_files], path, err));
    l->n_files++;
    return CR_OK;
}

void cr_jsonlog_rank(cr_jsonlog *l, int rank) {
    l->rank = rank;
}

void cr_jsonlog_settle(cr_jsonlog *l) {
    for (int i = 0; l && i < l->n_files; i++)
        cr_logfile_settle(l->files[i]);
}

void cr_jsonlog_close(cr_jsonlog *l) {
    if (!l) return;
    for (int i = 0; i < l->n_files; i++)
        cr_logfile_close(l->files[i]);
    cr_buf_clear(&l->line);
    cr_free(l);
}

static double round_ms(double s) {
    return (double)(int64_t)(s * 1e3 + 0.5) / 1e3;
}

cr_jw *cr_jsonlog_begin(cr_jsonlog *l, const char *event) {
    struct timeval t;
    gettimeofday(&t, NULL);
    cr_buf_reset(&l->line);
    cr_jw_init(&l->w, &l->line);
    cr_jw_obj(&l->w, NULL);
    cr_jw_str(&l->w, "event", event);
    cr_jw_f64(&l->w, "time", round_ms((double)t.tv_sec + 1e-6 * (double)t.tv_usec));
    cr_jw_f64(&l->w, "elapsed", round_ms(cr_now() - l->started));
    cr_jw_i64(&l->w, "rank", l->rank);
    return &l->w;
}

void cr_jsonlog_end(cr_jsonlog *l) {
    cr_jw_end(&l->w);
    cr_buf_char(&l->line, '\n');
    for (int i = 0; i < l->n_files; i++)
        cr_logfile_write(l->files[i], l->line.data, l->line.n);
}
