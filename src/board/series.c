/*
 * series.c - the curves of charts. A curve comes from the track of its log, merged until it has as
 * many points as were asked for. When the part of the axis that is wanted has more lines than the
 * track has buckets, the lines are read from the file again, into a track of their own.
 *
 * Every point has its place on all three axes, so that a page can change the axis by itself.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "board/board_int.h"

#define MANY_RUNS  20    /* with more, charts have no bands of smallest and largest values */
#define ALL_POINTS 30000 /* points that all runs together have, per name */
#define FEW_POINTS 40
#define MUCH_FINER 3
#define MAX_DETAIL ((int64_t)256 << 20) /* bytes that one request may read again */
#define MAX_LINES  ((int64_t)4 << 20)   /* of one curve with every line */

/* The part of a track that is shown. */
typedef struct part {
    const cr_track *t;
    int from, n; /* buckets */
    int group;   /* buckets per point */
} part;

static part part_of(const cr_track *t, const cr_series_ask *q, int points) {
    part p = {t, 0, t->n, 1};
    while (p.n > 0 && t->b[p.from].x[q->axis][1] < q->from) {
        p.from++;
        p.n--;
    }
    while (p.n > 0 && t->b[p.from + p.n - 1].x[q->axis][0] > q->to)
        p.n--;
    if (p.n > 0 && p.from > 0) { /* one more on each side: the line goes on to the edge */
        p.from--;
        p.n++;
    }
    if (p.n > 0 && p.from + p.n < t->n) p.n++;
    if (points > 0) p.group = (p.n + points - 1) / points;
    if (p.group < 1) p.group = 1;
    return p;
}

static void put_f32(cr_buf *b, double x) {
    char text[32];
    cr_buf_add(b, text, isfinite(x) ? cr_fmt_f32(text, (float)x) : 0);
    if (!isfinite(x)) cr_buf_str(b, "null");
}

static void put_x(cr_jw *w, const char *name, const part *p, cr_axis axis) {
    cr_jw_arr(w, name);
    for (int i = 0; i < p->n; i += p->group) {
        int last = i + p->group < p->n ? i + p->group - 1 : p->n - 1;
        double x = (p->t->b[p->from + i].x[axis][0] + p->t->b[p->from + last].x[axis][1]) / 2;
        char text[32];
        if (i) cr_buf_char(w->out, ',');
        if (isfinite(x))
            cr_buf_add(w->out, text, cr_fmt_f64(text, round(x * 1000) / 1000));
        else
            cr_buf_str(w->out, "null");
    }
    cr_jw_end(w);
}

typedef enum which { MEAN, LOWEST, HIGHEST } which;

static double of_group(const part *p, const cr_track_col *c, int i, which what) {
    double sum = 0, n = 0, far = NAN;
    for (int k = i; k < i + p->group && k < p->n; k++) {
        int at = p->from + k;
        double lines = (double)p->t->b[at].n_lines;
        if (isnan(c->mean[at])) continue;
        sum += lines * (double)c->mean[at];
        n += lines;
        double x = (double)(what == LOWEST ? c->lo[at] : c->hi[at]);
        if (isnan(far) || (what == LOWEST ? x < far : x > far)) far = x;
    }
    return what == MEAN ? (n > 0 ? sum / n : NAN) : far;
}

static void put_y(cr_jw *w, const char *name, const part *p, const cr_track_col *c, which what) {
    cr_jw_arr(w, name);
    for (int i = 0; i < p->n; i += p->group) {
        if (i) cr_buf_char(w->out, ',');
        put_f32(w->out, of_group(p, c, i, what));
    }
    cr_jw_end(w);
}

static bool is_asked(const cr_series_ask *q, const char *name, size_t n) {
    if (!q->names) return true;
    for (int i = 0; i < q->n_names; i++)
        if (strlen(q->names[i]) == n && memcmp(q->names[i], name, n) == 0) return true;
    return false;
}

static bool any_asked(const cr_series_ask *q, const cr_track *t) {
    for (int i = 0; i < t->n_c; i++)
        if (is_asked(q, t->names.entries[i].key, t->names.entries[i].len)) return true;
    return false;
}

/* Writes the curves of one track. */
static void put_track(const cr_series_ask *q, const cr_track *t, int64_t run, int64_t rank,
                      int points, cr_jw *w) {
    static const char *const axes[CR_AXES] = {"step", "time", "rows"};
    part p = part_of(t, q, points);
    if (p.n == 0) return;
    bool bands = q->n_runs <= MANY_RUNS && (p.group > 1 || t->stride > 1);
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_jw_obj(w, NULL);
    cr_jw_i64(w, "run", run);
    cr_jw_i64(w, "rank", rank);
    cr_jw_i64(w, "lines", t->stride * p.group); /* per point */
    for (int k = 0; k < CR_AXES; k++)
        put_x(w, axes[k], &p, (cr_axis)k);
    cr_jw_obj(w, "values");
    for (int i = 0; i < t->n_c; i++) {
        const cr_map_entry *e = &t->names.entries[i];
        if (!is_asked(q, e->key, e->len)) continue;
        cr_jw_obj(w, cr_arena_strndup(&a, e->key, e->len));
        put_y(w, "mean", &p, &t->c[i], MEAN);
        if (bands) put_y(w, "low", &p, &t->c[i], LOWEST);
        if (bands) put_y(w, "high", &p, &t->c[i], HIGHEST);
        cr_jw_end(w);
    }
    cr_jw_end(w);
    cr_jw_end(w);
    cr_arena_clear(&a);
}

/* Returns the bytes to read for the lines in the asked part of the axis, and how many lines. */
static int64_t bytes_of(const cr_track *t, const cr_series_ask *q, int64_t *lines) {
    int64_t bytes = 0;
    *lines = 0;
    for (int i = 0; i < t->n; i++) {
        const cr_bucket *b = &t->b[i];
        if (b->x[q->axis][1] < q->from || b->x[q->axis][0] > q->to) continue;
        bytes += b->end - b->at;
        *lines += b->n_lines;
    }
    return bytes;
}

static void put_log(const cr_series_ask *q, const cr_log_file *l, int64_t run, int64_t rank,
                    int points, int64_t *left, cr_jw *w) {
    static const cr_line_event kinds[] = {CR_LINE_TRAIN, CR_LINE_EVAL};
    for (int k = 0; k < 2; k++) {
        const cr_track *t = cr_log_track(l, kinds[k]);
        if (!any_asked(q, t)) continue;
        int64_t lines, bytes = bytes_of(t, q, &lines);
        int64_t most = points > 0 ? points : lines < MAX_LINES ? lines : MAX_LINES;
        /* reading a file again for twice the points would cost more than it shows */
        bool finer = t->stride > 1 && !l->has_samples &&
                     (points == 0 || MUCH_FINER * (lines / t->stride) < most);
        if (!finer || bytes > *left) {
            put_track(q, t, run, rank, points, w);
            continue;
        }
        cr_track own;
        *left -= bytes;
        cr_track_init(&own, (int)most + 2);
        if (cr_log_detail(l, kinds[k], q->axis, q->from, q->to, &own))
            put_track(q, &own, run, rank, points, w);
        else
            put_track(q, t, run, rank, points, w);
        cr_track_clear(&own);
    }
}

void cr_board_series(cr_board *b, const cr_series_ask *q, cr_jw *w) {
    int64_t left = q->points > 0 ? MAX_DETAIL : 16 * MAX_DETAIL;
    int points = q->points;
    if (points > 0 && q->n_runs > 0) {
        int share = ALL_POINTS / q->n_runs;
        if (share < FEW_POINTS) share = FEW_POINTS;
        if (points > share) points = share;
    }
    cr_jw_arr(w, "series");
    for (int i = 0; i < q->n_runs; i++) {
        cr_run *r = cr_board_of(b, q->runs[i]);
        if (!r) continue;
        r->wanted = true;
        put_log(q, &r->log, q->runs[i], 0, points, &left, w);
        for (int k = 0; q->ranks && k < r->n_ranks; k++)
            put_log(q, &r->ranks[k].log, q->runs[i], r->ranks[k].rank, points, &left, w);
    }
    cr_jw_end(w);
}
