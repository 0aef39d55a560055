/*
 * track.h - the numbers of many log lines in little memory: a row of buckets.
 *
 * Lines are added one after the other. A bucket holds the smallest, the largest and the mean value
 * of each name over `stride` lines. When all buckets are full, neighbours are merged in pairs and
 * the stride doubles, so that a track of a million lines takes as much memory as one of a thousand,
 * and is always between half full and full. A bucket also remembers where its lines are in the
 * file: who wants to see more of them reads them again.
 */
#ifndef CR_BOARD_TRACK_H
#define CR_BOARD_TRACK_H

#include "base/map.h"
#include "board/scan.h"

#define CR_TRACK_NAMES 2000 /* names of a track; more are left out */

typedef enum cr_axis { CR_AXIS_STEP, CR_AXIS_TIME, CR_AXIS_ROWS, CR_AXES } cr_axis;

typedef struct cr_bucket {
    int64_t at, end; /* bytes of the file */
    int64_t n_lines;
    double x[CR_AXES][2]; /* of the first and the last line */
} cr_bucket;

typedef struct cr_track_col {
    float *lo, *hi, *mean; /* one per bucket; NAN: no line had a number */
    double sum;            /* of the last bucket */
    int64_t n;
    double last; /* the last number of all; NAN: there was none */
} cr_track_col;

typedef struct cr_track {
    int max; /* buckets at most; even */
    int n, cap;
    int64_t stride;
    int64_t n_lines;
    bool open; /* the last bucket takes more lines */
    cr_bucket *b;
    cr_map names; /* name -> index of its column */
    cr_track_col *c;
    int n_c, cap_c;
} cr_track;

/* max: an even number of at least 2. */
void cr_track_init(cr_track *t, int max);
void cr_track_clear(cr_track *t);
/* cr_track_add adds a line that lies at [at, end) of its file. x: its place on each axis. */
void cr_track_add(cr_track *t, const cr_line *l, const double x[CR_AXES], int64_t at, int64_t end);
/* cr_track_cut drops the lines behind `step`. When a bucket holds lines on both sides of it, the
 * whole bucket is dropped too: then it returns true, and *again says where to read its earlier
 * lines from. */
bool cr_track_cut(cr_track *t, double step, cr_bucket *again);
/* cr_track_find returns the column of a name, NULL when the track has none. */
const cr_track_col *cr_track_find(const cr_track *t, const char *name, size_t n);
/* cr_track_bytes: memory that the track takes. */
size_t cr_track_bytes(const cr_track *t);

#endif
