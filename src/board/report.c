/*
 * report.c - the page with its data in it, as one file that needs no server. The data are the
 * answers that the page would ask for: the list of runs, all about each of them, all curves, and
 * the differences of each pair. They stand in a script element of a type that browsers do not run.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "board/board_int.h"

#define POINTS    1000 /* of a curve */
#define MAX_PAIRS 10   /* runs whose differences are kept */
#define MARK      "<!--data-->"

static void put_diffs(cr_board *b, cr_jw *w) {
    cr_jw_arr(w, "diffs");
    for (int i = 0; b->n <= MAX_PAIRS && i < b->n; i++)
        for (int k = 0; k < b->n; k++) {
            if (i == k) continue;
            cr_jw_obj(w, NULL);
            cr_jw_i64(w, "x", i);
            cr_jw_i64(w, "y", k);
            cr_board_diff(b->runs[i], b->runs[k], w);
            cr_jw_end(w);
        }
    cr_jw_end(w);
}

static void put_data(cr_board *b, cr_buf *out) {
    cr_jw w;
    int64_t *all = cr_alloc(sizeof *all * (size_t)(b->n + 1), "numbers of runs");
    for (int i = 0; i < b->n; i++)
        all[i] = i;
    cr_series_ask ask = {.runs = all,
                         .n_runs = b->n,
                         .from = -INFINITY,
                         .to = INFINITY,
                         .points = POINTS,
                         .ranks = true};
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_jw_i64(&w, "made", (int64_t)time(NULL));
    cr_jw_str(&w, "crank", CR_VERSION);
    cr_jw_i64(&w, "version", 1);
    cr_jw_bool(&w, "notes", false);
    cr_board_list(b, 0, &w);
    cr_jw_arr(&w, "details");
    for (int i = 0; i < b->n; i++) {
        cr_jw_obj(&w, NULL);
        cr_board_details(b, b->runs[i], &w);
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_board_series(b, &ask, &w);
    put_diffs(b, &w);
    cr_jw_end(&w);
    cr_free(all);
}

/* A text inside of an element must not end it. */
static void put_escaped(cr_buf *out, const cr_buf *json) {
    for (size_t at = 0; at < json->n;) {
        const char *lt = memchr(json->data + at, '<', json->n - at);
        size_t n = lt ? (size_t)(lt - json->data) - at : json->n - at;
        cr_buf_add(out, json->data + at, n);
        if (lt) cr_buf_str(out, "\\u003c");
        at += n + (lt != NULL);
    }
}

cr_code cr_board_report(cr_board *b, const char *path, cr_err *err) {
    size_t n;
    const char *page = cr_board_page(&n), *mark = page ? strstr(page, MARK) : NULL;
    if (!page) return cr_fail(err, CR_ERUN, "%s", CR_BOARD_NO_PAGE);
    if (!mark) CR_BUG("the page has no place for data");
    while (cr_board_follow(b, 1e9))
        ;
    pthread_mutex_lock(&b->lock);
    cr_buf json, out;
    cr_buf_init(&json);
    cr_buf_init(&out);
    put_data(b, &json);
    pthread_mutex_unlock(&b->lock);
    cr_buf_add(&out, page, (size_t)(mark - page));
    cr_buf_str(&out, "<script type=\"application/json\" id=\"frozen\">");
    put_escaped(&out, &json);
    cr_buf_str(&out, "</script>");
    cr_buf_add(&out, mark + strlen(MARK), n - (size_t)(mark - page) - strlen(MARK));
    cr_code code = cr_file_write(path, out.data, out.n, err);
    cr_buf_clear(&json);
    cr_buf_clear(&out);
    return code;
}
