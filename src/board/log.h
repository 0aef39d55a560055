/*
 * log.h - one JSON log file, read once from front to back and followed as it grows.
 *
 * What stays in memory are two tracks (lines of training, lines of evaluations) and the places of
 * the few lines that tables need. A long log that has not been read yet is sampled first:
 * sixty-four pieces of it make a coarse picture at once, which the exact one replaces.
 */
#ifndef CR_BOARD_LOG_H
#define CR_BOARD_LOG_H

#include "base/buf.h"
#include "base/fs.h"
#include "board/track.h"

#define CR_LOG_BUCKETS 320 /* 500 runs with 30 names take 145 MB */

/* The place of a line in the file; n 0: there is none. */
typedef struct cr_line_at {
    int64_t at, n;
} cr_line_at;

/* Where a log has come to. */
typedef struct cr_log_tip {
    double time;  /* of the last line; NAN: none */
    int64_t step; /* of the last line; -1: none */
    double rows;  /* of all runs in this file so far */
    /* the last lines of their kinds; an end counts only behind the last start */
    cr_line_at start, end, features;
} cr_log_tip;

/* Bytes of the file whose lines of one kind do not count: their steps came again. */
typedef struct cr_dead {
    cr_line_event kind;
    int64_t at, end;
} cr_dead;

typedef struct cr_log_file {
    char *path;
    cr_fs_stat seen; /* when it was looked at last */
    int64_t size;    /* bytes that the file had then */
    int64_t read;    /* bytes that the tracks know */
    int64_t stuck;   /* the size at which there was no whole line to read; 0: none */
    int64_t n_lines, n_bad;
    int64_t first_bad; /* the number of the first bad line, from 1 */
    cr_track train, eval;
    cr_track sampled[2]; /* stand for train and eval until the log is read; often empty */
    bool has_samples;
    double started;     /* time of the first line; NAN: none yet */
    double rows_before; /* rows of the earlier runs in this file */
    cr_dead *dead;
    int n_dead, cap_dead;
    cr_log_tip tip, sampled_tip;
} cr_log_file;

void cr_log_init(cr_log_file *l, const char *path);
void cr_log_clear(cr_log_file *l);
/* cr_log_look asks how long the file is. A file that became shorter, or another one, is read again
 * from the front. It returns false when there is no such file. */
bool cr_log_look(cr_log_file *l);
/* cr_log_sample makes the coarse picture of a file of which nothing has been read. */
void cr_log_sample(cr_log_file *l);
/* cr_log_read reads on, at most about `most` bytes. It returns how many lines it took. */
int64_t cr_log_read(cr_log_file *l, int64_t most);
/* cr_log_behind: bytes of whole lines that may be unread. */
int64_t cr_log_behind(const cr_log_file *l);
/* cr_log_at returns where the log has come to, as it is known now. */
const cr_log_tip *cr_log_at(const cr_log_file *l);
/* cr_log_track returns the track of a kind of lines (CR_LINE_TRAIN or CR_LINE_EVAL) as it is known
 * now. */
const cr_track *cr_log_track(const cr_log_file *l, cr_line_event kind);
/* cr_log_detail adds the lines of a kind that lie in [from, to] of the axis to out, read from the
 * file again. It returns false when the file cannot be read. */
bool cr_log_detail(const cr_log_file *l, cr_line_event kind, cr_axis axis, double from, double to,
                   cr_track *out);
/* cr_log_text reads one line of the file; false: it cannot be read, or is larger than 64 MB. */
bool cr_log_text(const cr_log_file *l, cr_line_at at, cr_buf *out);

/* cr_log_each calls fn for each whole line of the file; false: it cannot be read. */
typedef void (*cr_log_fn)(void *ctx, const cr_line *l, const char *text, size_t n);
bool cr_log_each(const cr_log_file *l, cr_log_fn fn, void *ctx);

#endif
