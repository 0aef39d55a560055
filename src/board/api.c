/*
 * api.c - the requests of the page:
 *
 *   GET  /api/runs?since=VERSION    the runs that changed, and the version of the board
 *   GET  /api/run?run=N             all about one run
 *   GET  /api/diff?a=N&b=M          config keys and values that differ
 *   POST /api/series                curves: {"runs": [N], "names": [..], "axis", "from", "to",
 *                                   "points", "ranks"}
 *   POST /api/notes?run=N           the body becomes model_dir/notes.md
 *
 * Numbers of runs are those of /api/runs and hold as long as the server runs.
 */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "board/board_int.h"

#define MAX_ASKED 5000 /* runs or names of one request */

static void wrong(cr_board_res *r, int status, const char *text) {
    cr_jw w;
    r->status = status;
    cr_buf_reset(&r->body);
    cr_jw_init(&w, &r->body);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "error", text);
    cr_jw_end(&w);
}

static bool number_arg(const cr_board_req *q, const char *name, int64_t *out) {
    const char *s = q->arg ? q->arg(q->ctx, name) : NULL;
    return s && cr_parse_i64(s, strlen(s), out);
}

static cr_run *run_arg(cr_board *b, const cr_board_req *q, const char *name, cr_board_res *r) {
    int64_t i = -1;
    cr_run *run = number_arg(q, name, &i) ? cr_board_of(b, i) : NULL;
    if (!run) wrong(r, 404, "there is no such run; load the page again");
    return run;
}

static void get_runs(cr_board *b, const cr_board_req *q, cr_board_res *r) {
    int64_t since = 0;
    cr_jw w;
    (void)number_arg(q, "since", &since);
    cr_jw_init(&w, &r->body);
    cr_jw_obj(&w, NULL);
    cr_jw_i64(&w, "version", (int64_t)b->version);
    cr_jw_i64(&w, "n", b->n);
    cr_jw_bool(&w, "notes", q->may_write);
    cr_board_list(b, since < 0 ? 0 : (uint64_t)since, &w);
    cr_jw_end(&w);
}

static void get_run(cr_board *b, const cr_board_req *q, cr_board_res *r) {
    cr_run *run = run_arg(b, q, "run", r);
    cr_jw w;
    if (!run) return;
    run->asked = true;
    (void)cr_board_why_look(run);
    cr_jw_init(&w, &r->body);
    cr_jw_obj(&w, NULL);
    cr_board_details(b, run, &w);
    cr_jw_end(&w);
}

static void get_diff(cr_board *b, const cr_board_req *q, cr_board_res *r) {
    cr_run *x = run_arg(b, q, "a", r), *y = x ? run_arg(b, q, "b", r) : NULL;
    cr_jw w;
    if (!y) return;
    cr_jw_init(&w, &r->body);
    cr_jw_obj(&w, NULL);
    cr_board_diff(x, y, &w);
    cr_jw_end(&w);
}

/* Reads a request for curves; what is not given has its default. */
static bool read_ask(cr_arena *a, const cr_json *j, cr_series_ask *q) {
    static const char *const axes[CR_AXES] = {"step", "time", "rows"};
    const cr_json *runs = cr_json_get(j, "runs"), *names = cr_json_get(j, "names");
    size_t n = cr_json_is_arr(runs) ? cr_json_len(runs) : 0,
           m = cr_json_is_arr(names) ? cr_json_len(names) : 0;
    if (n > MAX_ASKED || m > MAX_ASKED) return false;
    int64_t *v = CR_NEW_N(a, int64_t, n + 1), points = 0;
    const char **w = CR_NEW_N(a, const char *, m + 1);
    for (size_t i = 0; i < n; i++)
        if (!cr_json_i64(cr_json_at(runs, i), &v[i])) return false;
    for (size_t i = 0; i < m; i++)
        if (!(w[i] = cr_json_str(cr_json_at(names, i)))) return false;
    *q = (cr_series_ask){.runs = v,
                         .n_runs = (int)n,
                         .names = names ? w : NULL,
                         .n_names = (int)m,
                         .from = -INFINITY,
                         .to = INFINITY};
    const char *axis = cr_json_str(cr_json_get(j, "axis"));
    for (int i = 0; axis && i < CR_AXES; i++)
        if (strcmp(axis, axes[i]) == 0) q->axis = (cr_axis)i;
    (void)cr_json_f64(cr_json_get(j, "from"), &q->from);
    (void)cr_json_f64(cr_json_get(j, "to"), &q->to);
    (void)cr_json_bool(cr_json_get(j, "ranks"), &q->ranks);
    if (cr_json_i64(cr_json_get(j, "points"), &points))
        q->points = points < 0 ? 0 : points > 10000 ? 10000 : (int)points;
    return true;
}

static void post_series(cr_board *b, const cr_board_req *q, cr_board_res *r) {
    cr_json *j = NULL;
    cr_arena a;
    cr_series_ask ask;
    cr_arena_init(&a, 0);
    if (cr_json_parse(&j, q->body ? q->body : "", q->n_body, NULL) != CR_OK || !cr_json_is_obj(j) ||
        !read_ask(&a, j, &ask)) {
        wrong(r, 400, "this is no request for curves");
    } else {
        cr_jw w;
        cr_jw_init(&w, &r->body);
        cr_jw_obj(&w, NULL);
        cr_jw_i64(&w, "version", (int64_t)b->version);
        cr_board_series(b, &ask, &w);
        cr_jw_end(&w);
    }
    cr_json_free(j);
    cr_arena_clear(&a);
}

static bool is_text(const char *s, size_t n) {
    uint32_t c = 1;
    for (size_t i = 0; i < n && c != 0 && c < CR_UTF8_BAD;)
        i += cr_utf8_get(s + i, n - i, &c);
    return c != 0 && c < CR_UTF8_BAD;
}

static void post_notes(cr_board *b, const cr_board_req *q, cr_board_res *r) {
    cr_run *run = run_arg(b, q, "run", r);
    cr_arena a;
    cr_err err;
    if (!run) return;
    if (!q->may_write) {
        wrong(r, 403, "this board does not write; start it without --read_only");
        return;
    }
    if (!is_text(q->body, q->n_body)) {
        wrong(r, 400, "notes are text in UTF-8");
        return;
    }
    cr_arena_init(&a, 0);
    const char *path = cr_path_join(&a, run->dir, CR_RUN_NOTES);
    if (cr_file_write(path, q->body, q->n_body, &err) == CR_OK) {
        cr_buf_str(&r->body, "{}");
        run->version = ++b->version;
        pthread_cond_broadcast(&b->changed);
    } else {
        char text[1024];
        cr_err_text(&err, text, sizeof text);
        wrong(r, 500, text);
    }
    cr_arena_clear(&a);
}

void cr_board_answer(cr_board *b, const cr_board_req *q, cr_board_res *r) {
    static const struct {
        const char *method, *path;
        void (*fn)(cr_board *b, const cr_board_req *q, cr_board_res *r);
    } all[] = {{"GET", "/api/runs", get_runs},
               {"GET", "/api/run", get_run},
               {"GET", "/api/diff", get_diff},
               {"POST", "/api/series", post_series},
               {"POST", "/api/notes", post_notes}};
    r->status = 200;
    r->type = "application/json";
    bool known = false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(q->path, all[i].path) != 0) continue;
        known = true;
        if (strcmp(q->method, all[i].method) != 0) continue;
        atomic_fetch_add(&b->waiting, 1);
        pthread_mutex_lock(&b->lock);
        atomic_fetch_sub(&b->waiting, 1);
        all[i].fn(b, q, r);
        pthread_mutex_unlock(&b->lock);
        return;
    }
    wrong(r, known ? 405 : 404, known ? "another method is needed here" : "there is nothing here");
}
