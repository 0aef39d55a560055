/*
 * sessions.c - a log of users (user,item,time per line, in any order) as sessions: one line per
 * user with its items, the oldest first.
 *
 * Items of the same time stay in the order of the log; users come in the order in which the log
 * first names them. The whole log is held in memory.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "base/shown.h"
#include "tool/lines.h"
#include "tool/tool.h"

typedef struct event {
    int64_t user, item, time; /* user: its number, in the order of the log */
} event;

typedef struct events {
    event *v;
    size_t n, cap;
    cr_map users;
} events;

/* Sorts by user and time, and keeps the order of the log otherwise: merges from below. */
static void sort_events(events *e) {
    event *from = e->v, *to = cr_alloc((e->n + 1) * sizeof *to, "sessions");
    for (size_t w = 1; w < e->n; w *= 2) {
        for (size_t at = 0; at < e->n; at += 2 * w) {
            size_t i = at, mid = at + w < e->n ? at + w : e->n, j = mid, k = at;
            size_t end = mid + w < e->n ? mid + w : e->n;
            while (i < mid || j < end) {
                bool left =
                    j >= end ||
                    (i < mid && (from[i].user < from[j].user ||
                                 (from[i].user == from[j].user && from[i].time <= from[j].time)));
                to[k++] = left ? from[i++] : from[j++];
            }
        }
        event *swap = from;
        from = to;
        to = swap;
    }
    e->v = from;
    cr_free(to);
}

static cr_code take_line(void *ctx, const char *p, size_t size, cr_loc at, cr_err *err) {
    events *e = ctx;
    int64_t v[3];
    const char *s = p, *end = p + size;
    for (int k = 0; k < 3; k++) {
        /* behind the last field s lies behind the end */
        const char *q = s < end ? memchr(s, ',', (size_t)(end - s)) : NULL;
        if (!q || k == 2) q = end;
        char shown[CR_SHOW];
        if (s <= end && cr_parse_i64(s, (size_t)(q - s), &v[k])) {
            s = q + 1;
            continue;
        }
        return cr_fail_at(err, CR_EDATA, at,
                          "'%s' is not user,item,time, three whole numbers; correct the line",
                          cr_show(shown, p, size));
    }
    if (e->n == e->cap) {
        size_t cap = 2 * e->cap + 1024;
        e->v = cr_realloc(e->v, e->cap * sizeof *e->v, cap * sizeof *e->v, "sessions");
        e->cap = cap;
    }
    char key[32];
    int n = snprintf(key, sizeof key, "%lld", (long long)v[0]);
    int64_t user = cr_map_get(&e->users, key, (size_t)n, -1);
    if (user < 0) {
        user = (int64_t)e->users.n;
        (void)cr_map_put(&e->users, key, (size_t)n, user);
    }
    e->v[e->n++] = (event){user, v[1], v[2]};
    return CR_OK;
}

cr_code cr_log_sessions(const char *log_dir, const char *out_dir, int64_t *users, cr_err *err) {
    cr_arena a;
    char **names;
    size_t n = 0;
    events e = {0};
    cr_buf out;
    cr_arena_init(&a, 0);
    cr_map_init(&e.users);
    cr_buf_init(&out);
    cr_buf_str(&out, "");
    cr_code code = cr_list_dir(&a, log_dir, &names, &n, err);
    for (size_t i = 0; code == CR_OK && i < n; i++)
        if (names[i][0] != '.')
            code = cr_each_line(cr_path_join(&a, log_dir, names[i]), take_line, &e, err);
    if (code == CR_OK && e.n == 0)
        code = cr_fail(err, CR_EDATA, "the folder '%s' holds no lines user,item,time", log_dir);
    if (code == CR_OK) {
        sort_events(&e);
        for (size_t i = 0; i < e.n; i++)
            cr_buf_printf(&out, "%s%lld%s", i && e.v[i].user == e.v[i - 1].user ? " " : "",
                          (long long)e.v[i].item,
                          i + 1 == e.n || e.v[i + 1].user != e.v[i].user ? "\n" : "");
        code = cr_mkdirs(out_dir, err);
    }
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, "sessions.txt"), out.data, out.n, err);
    *users = (int64_t)e.users.n;
    cr_buf_clear(&out);
    cr_map_clear(&e.users);
    cr_free(e.v);
    cr_arena_clear(&a);
    return code;
}
