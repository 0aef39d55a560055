/*
 * Parquet files by other writers (tests/golden/parquet), read in every way a cursor can: row by row
 * and in pieces, with and without dictionary codes, with and without levels, from any row on.
 */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "harness.h"
#include "parquet/parquet.h"

typedef struct golden {
    char *file, *want; /* paths */
    cr_buf text;       /* of want */
    const char **lines;
    int64_t n_lines;
} golden;

static cr_arena arena;
static golden *all;
static int n_all;

static void slurp(const char *path, cr_buf *out) {
    cr_err err;
    cr_buf_init(out);
    if (cr_file_read(path, 0, out, &err) == CR_OK) return;
    fprintf(stderr, "%s: %s\n", path, err.msg);
    exit(1);
}

static void load(void) {
    cr_buf list;
    char *save = NULL;
    const char *root = getenv("CRANK_SOURCE_ROOT");
    const char *dir = cr_arena_printf(&arena, "%s/tests/golden/parquet", root ? root : ".");
    slurp(cr_arena_printf(&arena, "%s/list.txt", dir), &list);
    all = CR_NEW_N(&arena, golden, list.n);
    for (char *line = strtok_r(list.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        golden *g = &all[n_all++];
        char *blank = strchr(line, ' ');
        *blank = 0;
        g->file = cr_arena_printf(&arena, "%s/%s", dir, line);
        g->want = cr_arena_printf(&arena, "%s/%s", dir, blank + 1);
        slurp(g->want, &g->text);
        g->lines = CR_NEW_N(&arena, const char *, g->text.n + 1);
        for (char *p = g->text.data; p && *p; p = strchr(p, 0) + 1) {
            g->lines[g->n_lines++] = p;
            p[strcspn(p, "\n")] = 0;
        }
    }
    cr_buf_clear(&list);
}

typedef struct reading {
    cr_pq_file *f;
    const cr_pq_meta *m;
    cr_pq_cursor **cursors;
    cr_pq_vec *vecs;
    cr_pq_pos *at;
} reading;

static bool start(reading *r, const golden *g, bool levels) {
    cr_err err;
    cr_code code = cr_pq_open(&r->f, g->file, &(cr_pq_opts){.keep_levels = levels}, &err);
    CHECK_STR(code == CR_OK ? "" : err.msg, "");
    if (code != CR_OK) return false;
    r->m = cr_pq_get_meta(r->f);
    r->cursors = CR_NEW_N(&arena, cr_pq_cursor *, r->m->n_leaves);
    r->vecs = CR_NEW_N(&arena, cr_pq_vec, r->m->n_leaves);
    r->at = CR_NEW_N(&arena, cr_pq_pos, r->m->n_leaves);
    for (int i = 0; i < r->m->n_leaves; i++)
        r->cursors[i] = cr_pq_cursor_new();
    return true;
}

static void stop(reading *r) {
    for (int i = 0; i < r->m->n_leaves; i++)
        cr_pq_cursor_free(r->cursors[i]);
    cr_pq_close(r->f);
}

static void seek(reading *r, int group, int64_t row) {
    cr_err err;
    for (int i = 0; i < r->m->n_leaves; i++)
        CHECK_STR(cr_pq_seek(r->cursors[i], r->f, group, i, row, &err) == CR_OK ? "" : err.msg, "");
}

static bool read_rows(reading *r, int64_t n, bool dict) {
    cr_err err;
    bool ok = true;
    for (int i = 0; i < r->m->n_leaves; i++) {
        cr_code code = cr_pq_read(r->cursors[i], n, dict, &r->vecs[i], &err);
        CHECK_STR(code == CR_OK ? "" : err.msg, "");
        ok = ok && code == CR_OK && r->vecs[i].n_rows == n;
        r->at[i] = (cr_pq_pos){0, 0};
    }
    CHECK(ok);
    return ok;
}

static void row_text(reading *r, cr_buf *b) {
    cr_buf_reset(b);
    cr_buf_char(b, '{');
    for (int i = 1; i < r->m->n_nodes; i = r->m->nodes[i].next) {
        int leaf = 0;
        while (r->m->leaves[leaf] < i)
            leaf++;
        if (i > 1) cr_buf_char(b, ',');
        cr_json_escape(b, r->m->nodes[i].name, strlen(r->m->nodes[i].name));
        cr_buf_char(b, ':');
        cr_pq_row_json(r->m, i, r->vecs + leaf, r->at + leaf, b);
    }
    cr_buf_char(b, '}');
}

static void check_rows(const golden *g, int64_t step, bool dict) {
    reading r;
    cr_buf b;
    int64_t line = 0;
    if (!start(&r, g, true)) return;
    cr_buf_init(&b);
    CHECK_INT(r.m->n_rows, g->n_lines);
    for (int k = 0; k < r.m->n_groups; k++) {
        seek(&r, k, 0);
        for (int64_t row = 0, n; row < r.m->groups[k].n_rows; row += n) {
            n = r.m->groups[k].n_rows - row < step ? r.m->groups[k].n_rows - row : step;
            if (!read_rows(&r, n, dict)) break;
            for (int64_t i = 0; i < n && line < g->n_lines; i++, line++) {
                row_text(&r, &b);
                CHECK_STR(b.data, g->lines[line]);
            }
        }
    }
    CHECK_INT(line, g->n_lines);
    cr_buf_clear(&b);
    stop(&r);
}

TEST(rows_in_pieces) {
    static const int64_t steps[] = {1, 2, 7, 1000};
    for (int i = 0; i < n_all; i++)
        for (int k = 0; k < 4; k++) {
            check_rows(&all[i], steps[k], false);
            check_rows(&all[i], steps[k], true);
        }
}

TEST(any_row) {
    for (int i = 0; i < n_all; i++) {
        reading r;
        cr_buf b;
        if (!start(&r, &all[i], true)) continue;
        cr_buf_init(&b);
        /* 7 and the number of rows have no common factor: every row, forwards and backwards */
        for (int k = 0; k < r.m->n_groups; k++)
            for (int64_t j = 0, n = r.m->groups[k].n_rows; j < n; j++) {
                int64_t row = j * (n % 7 ? 7 : 1) % n;
                seek(&r, k, row);
                if (!read_rows(&r, 1, j % 2)) break;
                row_text(&r, &b);
                CHECK_STR(b.data, all[i].lines[r.m->groups[k].first_row + row]);
            }
        cr_buf_clear(&b);
        stop(&r);
    }
}

static bool same_bytes(const void *a, const void *b, size_t n) {
    return n == 0 || (a && b && memcmp(a, b, n) == 0);
}

static bool same_valid(const uint8_t *a, const uint8_t *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if ((!a || a[i]) != (!b || b[i])) return false;
    return true;
}

/* a: with levels, b: without */
static void check_same(const cr_pq_vec *a, const cr_pq_vec *b) {
    static const size_t sizes[] = {1, 4, 8, 12, 4, 8};
    CHECK_INT(a->n_rows, b->n_rows);
    CHECK_INT(a->n, b->n);
    CHECK_INT(a->n_null, b->n_null);
    CHECK_INT(a->depth, b->depth);
    CHECK(same_valid(a->valid, b->valid, a->n));
    for (int k = 0; k < a->depth; k++) {
        CHECK_INT(a->list[k].n, b->list[k].n);
        CHECK(same_bytes(a->list[k].off, b->list[k].off, 4 * (size_t)(a->list[k].n + 1)));
        CHECK(same_valid(a->list[k].valid, b->list[k].valid, a->list[k].n));
    }
    for (int64_t i = 0; i < a->n; i++) {
        if (a->valid && !a->valid[i]) continue;
        if (a->type == CR_PQ_BYTES) {
            int64_t x = a->code ? a->code[i] : i, y = b->code ? b->code[i] : i;
            CHECK_INT(a->end[x] - a->beg[x], b->end[y] - b->beg[y]);
            CHECK(same_bytes(a->bytes + a->beg[x], b->bytes + b->beg[y], a->end[x] - a->beg[x]));
        } else {
            size_t w = a->type == CR_PQ_FIXED ? (size_t)a->type_length : sizes[a->type];
            CHECK(same_bytes(a->v.b8 + (size_t)i * w, b->v.b8 + (size_t)i * w, w));
        }
    }
}

TEST(without_levels) {
    for (int i = 0; i < n_all; i++) {
        reading a, b;
        if (!start(&a, &all[i], true)) continue;
        if (start(&b, &all[i], false)) {
            for (int k = 0; k < a.m->n_groups; k++) {
                seek(&a, k, 0);
                seek(&b, k, 0);
                if (read_rows(&a, a.m->groups[k].n_rows, false) &&
                    read_rows(&b, a.m->groups[k].n_rows, true))
                    for (int leaf = 0; leaf < a.m->n_leaves; leaf++)
                        check_same(&a.vecs[leaf], &b.vecs[leaf]);
            }
            stop(&b);
        }
        stop(&a);
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(rows_in_pieces), CASE(any_row), CASE(without_levels)};
    cr_arena_init(&arena, 0);
    load();
    int code = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    for (int i = 0; i < n_all; i++)
        cr_buf_clear(&all[i].text);
    cr_arena_clear(&arena);
    return code;
}
