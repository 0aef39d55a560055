/*
 * Synthetic data: the same bytes for any number of threads, columns and ranges as promised, and a
 * teacher whose score is what an independent computation finds.
 */
#include "synth/synth.h"

#include <sys/mount.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "harness.h"
#include "parquet/parquet.h"
#include "synth/synth_int.h"

static char root[] = "/tmp/crank_test_XXXXXX";
static cr_arena arena;
static int n_dirs;

static char *new_path(void) {
    return cr_arena_printf(&arena, "%s/d%d", root, n_dirs++);
}

static const char *format; /* NULL: csv */

static cr_code run(const char *kind, int64_t rows, int64_t eval_rows, uint64_t seed, double scale,
                   const char *dir, int threads, cr_synth_result *r, cr_err *err) {
    cr_pool *pool;
    if (cr_pool_new(&pool, threads, err) != CR_OK) return CR_ERUN;
    cr_synth_opts o = {.kind = kind,
                       .rows = rows,
                       .eval_rows = eval_rows,
                       .seed = seed,
                       .scale = scale,
                       .dir = dir,
                       .format = format,
                       .result = r};
    cr_code code = cr_synth(&o, pool, err);
    cr_pool_free(pool);
    return code;
}

/* all parts of a folder one after the other, each without its header line */
static void read_part(const char *dir, const char *part, cr_buf *out, int *n_files) {
    char **paths;
    size_t n;
    cr_err err;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_reset(out);
    CHECK_INT(cr_glob(&arena, cr_arena_printf(&arena, "%s/%s/part-*.csv", dir, part), NULL, &paths,
                      &n, &err),
              CR_OK);
    for (size_t i = 0; i < n; i++) {
        CHECK_INT(cr_file_read(paths[i], 0, &b, &err), CR_OK);
        char *body = strchr(b.data, '\n');
        CHECK(body != NULL);
        if (body) cr_buf_str(out, body + 1);
    }
    *n_files = (int)n;
    cr_buf_clear(&b);
}

static bool same_file(const char *a, const char *b) {
    cr_buf x, y;
    cr_buf_init(&x);
    cr_buf_init(&y);
    bool same = cr_file_read(a, 0, &x, NULL) == CR_OK && cr_file_read(b, 0, &y, NULL) == CR_OK &&
                x.n == y.n && memcmp(x.data, y.data, x.n) == 0;
    cr_buf_clear(&x);
    cr_buf_clear(&y);
    return same;
}

TEST(same_bytes_for_any_threads) {
    static const char *const files[] = {"train/part-00000.csv", "train/part-00003.csv",
                                        "eval/part-00001.csv", "synth.json"};
    for (int k = 0; cr_synth_kinds[k]; k++) {
        char *dir[3];
        static const int threads[3] = {1, 2, 4};
        for (int i = 0; i < 3; i++) {
            dir[i] = new_path();
            cr_err err;
            CHECK_INT(run(cr_synth_kinds[k], 9001, 1234, 7, 0.01, dir[i], threads[i], NULL, &err),
                      CR_OK);
        }
        for (int i = 1; i < 3; i++)
            for (size_t f = 0; f < sizeof files / sizeof *files; f++)
                CHECK(same_file(cr_path_join(&arena, dir[0], files[f]),
                                cr_path_join(&arena, dir[i], files[f])));
    }
}

TEST(eval_is_independent_of_train_size) {
    char *a = new_path(), *b = new_path(), *c = new_path();
    CHECK_INT(run("criteo", 1000, 500, 3, 0.01, a, 1, NULL, NULL), CR_OK);
    CHECK_INT(run("criteo", 2500, 500, 3, 0.01, b, 2, NULL, NULL), CR_OK);
    CHECK_INT(run("criteo", 1000, 500, 4, 0.01, c, 2, NULL, NULL), CR_OK);
    CHECK(same_file(cr_path_join(&arena, a, "eval/part-00002.csv"),
                    cr_path_join(&arena, b, "eval/part-00002.csv")));
    CHECK(!same_file(cr_path_join(&arena, a, "eval/part-00002.csv"),
                     cr_path_join(&arena, c, "eval/part-00002.csv")));
    /* a longer train part begins with the rows of the shorter one */
    cr_buf x, y;
    int n;
    cr_buf_init(&x);
    cr_buf_init(&y);
    read_part(a, "train", &x, &n);
    read_part(b, "train", &y, &n);
    CHECK(y.n > x.n && memcmp(x.data, y.data, x.n) == 0);
    cr_buf_clear(&x);
    cr_buf_clear(&y);
}

TEST(criteo_columns) {
    char *dir = new_path();
    cr_synth_result r;
    cr_err err;
    CHECK_INT(run("criteo", 4000, 0, 1, 0, dir, 2, &r, &err), CR_OK); /* published sizes */
    CHECK_INT(r.eval_rows, 1000);
    CHECK_INT(r.n_files, 4);
    cr_buf b;
    cr_buf_init(&b);
    CHECK_INT(cr_file_read(cr_path_join(&arena, dir, "train/part-00000.csv"), 0, &b, &err), CR_OK);
    cr_buf head;
    cr_buf_init(&head);
    cr_buf_str(&head, "label");
    for (int i = 0; i < 13; i++)
        cr_buf_printf(&head, ",int_%d", i);
    for (int i = 0; i < 26; i++)
        cr_buf_printf(&head, ",cat_%d", i);
    cr_buf_char(&head, '\n');
    CHECK(strncmp(b.data, head.data, head.n) == 0);
    static const int64_t cards[26] = {1460,  583,     10131227, 2202608, 305,     24,   12517,
                                      633,   3,       93145,    5683,    8351593, 3194, 27,
                                      14992, 5461306, 10,       5652,    2173,    4,    7046547,
                                      18,    15,      286181,   105,     142572};
    int n_files, rows = 0, ones = 0;
    int64_t top[26] = {0};
    double square = 0;
    read_part(dir, "train", &b, &n_files);
    CHECK_INT(n_files, 4);
    for (char *p = b.data, *line; p && *p && (line = strsep(&p, "\n"));) {
        int col = 0;
        for (char *s; (s = strsep(&line, ",")); col++) {
            int64_t id = -1;
            double x = NAN;
            if (col == 0) {
                CHECK(strcmp(s, "0") == 0 || strcmp(s, "1") == 0);
                ones += s[0] == '1';
            } else if (col <= 13) {
                CHECK(cr_parse_f64(s, strlen(s), &x) && fabs(x) <= 4);
                square += x * x;
            } else if (!cr_parse_i64(s, strlen(s), &id) || id < 0 || id >= cards[col - 14])
                CHECK_INT(id, -1);
            else if (id > top[col - 14])
                top[col - 14] = id;
        }
        CHECK_INT(col, 40);
        rows++;
    }
    CHECK_INT(rows, 4000);
    CHECK_NEAR((double)ones / rows, 0.25, 0.03, 0);
    CHECK_NEAR(square / (13.0 * rows), 1.0, 0.03, 0);
    for (int i = 0; i < 26; i++) /* ids are spread over the whole range */
        CHECK(top[i] >= cards[i] / 2);
    cr_buf_clear(&b);
    cr_buf_clear(&head);
}

typedef struct scored {
    double p;
    int y;
} scored;

static int by_p(const void *a, const void *b) {
    double x = ((const scored *)a)->p, y = ((const scored *)b)->p;
    return x < y ? -1 : x > y;
}

/* Score the eval file's labels with the teacher's logits, all sums by hand. */
static void check_teacher(const char *kind, double rate, double lo, double hi) {
    enum { N = 20000 };
    char *dir = new_path();
    cr_synth_result r;
    cr_err err;
    CHECK_INT(run(kind, 100, N, 11, 0.01, dir, 2, &r, &err), CR_OK);
    cr_buf b;
    cr_buf_init(&b);
    int n_files, n = 0;
    read_part(dir, "eval", &b, &n_files);
    synth_teacher t;
    cr_synth_teacher_init(&t, cr_synth_kind_find(kind), 11, 0.01);
    static scored v[N];
    double loss = 0, mean = 0, ones = 0;
    for (char *p = b.data, *line; p && *p && (line = strsep(&p, "\n")) && n < N; n++) {
        synth_row row;
        cr_synth_row_draw(&t, 1, n, &row);
        int y = line[0] == '1';
        CHECK_INT(y, row.label);
        v[n] = (scored){1 / (1 + exp(-(double)row.logit)), y};
        loss -= log(y ? v[n].p : 1 - v[n].p);
        mean += v[n].p;
        ones += y;
    }
    CHECK_INT(n, N);
    qsort(v, N, sizeof *v, by_p);
    double right = 0, zeros = 0;
    for (int i = 0; i < N; i++) {
        if (v[i].y)
            right += zeros;
        else
            zeros++;
    }
    CHECK_NEAR(r.auc, right / (zeros * ones), 1e-7, 0);
    CHECK_NEAR(r.logloss, loss / N, 1e-9, 0);
    CHECK_NEAR(r.label_rate, ones / N, 1e-12, 0);
    CHECK_NEAR(mean / N, ones / N, 0.012, 0); /* four standard deviations of the draw */
    CHECK_NEAR(mean / N, rate, 0.015, 0);
    CHECK(r.auc > lo && r.auc < hi);
    printf("%s: auc %.4f, logloss %.4f, ones %.4f\n", kind, r.auc, r.logloss, r.label_rate);
    cr_synth_teacher_clear(&t);
    cr_buf_clear(&b);
}

TEST(teacher_criteo) {
    check_teacher("criteo", 0.25, 0.785, 0.82);
}
TEST(teacher_taobao) {
    check_teacher("taobao", 0.20, 0.775, 0.825);
}
TEST(teacher_census) {
    check_teacher("census", 0.24, 0.82, 0.87);
}

/* the label draw and the effects do not depend on the published or scaled sizes */
TEST(teacher_at_full_scale) {
    for (int seed = 1; seed <= 3; seed++) {
        cr_synth_result r;
        CHECK_INT(run("criteo", 4, 20000, (uint64_t)seed, 1, new_path(), 2, &r, NULL), CR_OK);
        CHECK(r.auc > 0.785 && r.auc < 0.82);
        CHECK_NEAR(r.label_rate, 0.25, 0.015, 0);
    }
}

/* the second label: only where the first is 1, as often as stated there, its scores by hand */
TEST(a_label_after_another) {
    enum { N = 20000 };
    char *dir = new_path();
    cr_synth_result r;
    cr_err err;
    CHECK_INT(run("taobao", 100, N, 11, 0.01, dir, 2, &r, &err), CR_OK);
    synth_teacher t;
    cr_synth_teacher_init(&t, cr_synth_kind_find("taobao"), 11, 0.01);
    static scored in[N], all[N];
    int n = 0;
    double ones = 0;
    for (int i = 0; i < N; i++) {
        synth_row row;
        cr_synth_row_draw(&t, 1, i, &row);
        CHECK(row.label || !row.after);
        double q = 1 / (1 + exp(-(double)row.after_logit));
        all[i] = (scored){row.p * q, row.after};
        if (row.label) in[n++] = (scored){q, row.after};
        ones += row.after;
    }
    CHECK_NEAR(r.after_rate, ones / n, 1e-12, 0);
    CHECK_NEAR(r.after_rate, 0.15, 0.025, 0);
    qsort(in, (size_t)n, sizeof *in, by_p);
    qsort(all, N, sizeof *all, by_p);
    double right = 0, zeros = 0, right_all = 0, zeros_all = 0;
    for (int i = 0; i < n; i++)
        in[i].y ? (right += zeros) : zeros++;
    for (int i = 0; i < N; i++)
        all[i].y ? (right_all += zeros_all) : zeros_all++;
    CHECK_NEAR(r.after_auc, right / (zeros * ones), 1e-6, 0);
    CHECK_NEAR(r.both_auc, right_all / (zeros_all * ones), 1e-6, 0);
    CHECK(r.after_auc > 0.77 && r.after_auc < 0.84);
    cr_synth_teacher_clear(&t);
    CHECK_INT(run("taobao", 1, 1, 11, 0.01, dir, 1, &r, &err), CR_OK); /* no click, no score */
    CHECK_INT(run("criteo", 4, 100, 11, 0.01, dir, 1, &r, &err), CR_OK);
    CHECK(r.after_rate == 0 && r.both_auc == 0);
}

TEST(words_and_bags) {
    char *dir = new_path();
    cr_err err;
    CHECK_INT(run("taobao", 500, 500, 5, 0.01, dir, 2, NULL, &err), CR_OK);
    cr_buf b;
    int n, most = 0;
    cr_buf_init(&b);
    read_part(dir, "train", &b, &n);
    for (char *p = b.data, *line; p && *p && (line = strsep(&p, "\n"));) {
        int col = 0;
        for (char *s; (s = strsep(&line, ",")); col++) {
            if (col == 10) {
                int k = 0;
                for (char *one; (one = strsep(&s, "|")); k++) {
                    int64_t id;
                    CHECK(cr_parse_i64(one, strlen(one), &id) && id >= 0 && id < 130);
                }
                CHECK(k >= 1 && k <= 5);
                if (k > most) most = k;
            }
            if (col == 16) {
                double x;
                CHECK(cr_parse_f64(s, strlen(s), &x) && x >= 1 && x <= 3000);
            }
            if (col == 17) CHECK(strlen(s) == 11 && strcmp(s + 6, "_1007") == 0);
            if (col == 18) CHECK(s[1] == 0 && (s[0] == '0' || s[0] == '1'));
        }
        CHECK_INT(col, 19);
    }
    CHECK_INT(most, 5);
    cr_buf_clear(&b);
}

/* ---- Parquet ---- */

/* the value of a row in a column, as the CSV has it */
static void put_cell(cr_buf *b, const synth_draw *d, const cr_pq_vec *v, int64_t r) {
    switch (d ? d->col->type : SYNTH_ID) {
    case SYNTH_ID: cr_buf_printf(b, "%lld", (long long)v->v.i64[r]); break;
    case SYNTH_REAL: cr_buf_printf(b, "%.3f", (double)v->v.f32[r]); break;
    case SYNTH_NUM:
        if (d->col->decimals)
            cr_buf_printf(b, "%.2f", v->v.f64[r]);
        else
            cr_buf_printf(b, "%lld", (long long)v->v.i64[r]);
        break;
    case SYNTH_WORD: cr_buf_add(b, v->bytes + v->beg[r], v->end[r] - v->beg[r]); break;
    case SYNTH_BAG:
        for (int32_t k = v->list[0].off[r]; k < v->list[0].off[r + 1]; k++)
            cr_buf_printf(b, "%s%lld", k > v->list[0].off[r] ? "|" : "", (long long)v->v.i64[k]);
        break;
    }
}

/* a part as the CSV would have it */
static void read_parquet(const char *dir, const char *part, const char *kind, cr_buf *out) {
    char **paths;
    size_t n;
    cr_err err;
    synth_teacher t;
    cr_synth_teacher_init(&t, cr_synth_kind_find(kind), 1, 0.01);
    CHECK_INT(cr_glob(&arena, cr_arena_printf(&arena, "%s/%s/part-*.parquet", dir, part), NULL,
                      &paths, &n, &err),
              CR_OK);
    for (size_t i = 0; i < n; i++) {
        cr_pq_file *f;
        CHECK_INT(cr_pq_open(&f, paths[i], NULL, &err), CR_OK);
        if (!f) continue;
        const cr_pq_meta *m = cr_pq_get_meta(f);
        int last = t.n + (t.kind->after != NULL); /* the second label comes last */
        CHECK_INT(m->n_leaves, last + 1);
        CHECK_INT(m->n_groups, 1);
        cr_pq_vec *v = CR_NEW_N(&arena, cr_pq_vec, last + 1);
        cr_pq_cursor **c = CR_NEW_N(&arena, cr_pq_cursor *, last + 1);
        for (int k = 0; k <= last; k++) {
            c[k] = cr_pq_cursor_new();
            CHECK_INT(cr_pq_seek(c[k], f, 0, k, 0, &err), CR_OK);
            CHECK_INT(cr_pq_read(c[k], m->n_rows, false, &v[k], &err), CR_OK);
            CHECK(m->groups[0].chunks[k].codec == CR_PQ_SNAPPY);
        }
        for (int64_t r = 0; r < m->n_rows; r++)
            for (int k = 0; k <= last; k++) {
                if (k) cr_buf_char(out, ',');
                put_cell(out, k && k <= t.n ? &t.v[k - 1] : NULL, &v[k], r);
                if (k == last) cr_buf_char(out, '\n');
            }
        for (int k = 0; k <= last; k++)
            cr_pq_cursor_free(c[k]);
        cr_pq_close(f);
    }
    cr_synth_teacher_clear(&t);
}

TEST(parquet_has_the_rows_of_the_csv) {
    static const char *const files[] = {"train/part-00000.parquet", "train/part-00003.parquet",
                                        "eval/part-00001.parquet", "synth.json"};
    for (int k = 0; cr_synth_kinds[k]; k++) {
        const char *kind = cr_synth_kinds[k];
        char *csv = new_path(), *one = new_path(), *four = new_path();
        cr_synth_result a, b;
        CHECK_INT(run(kind, 9001, 1234, 7, 0.01, csv, 2, &a, NULL), CR_OK);
        format = "parquet";
        CHECK_INT(run(kind, 9001, 1234, 7, 0.01, one, 1, &b, NULL), CR_OK);
        CHECK_INT(run(kind, 9001, 1234, 7, 0.01, four, 4, NULL, NULL), CR_OK);
        format = NULL;
        CHECK(a.auc == b.auc && a.logloss == b.logloss && a.label_rate == b.label_rate);
        for (size_t f = 0; f < sizeof files / sizeof *files; f++)
            CHECK(same_file(cr_path_join(&arena, one, files[f]),
                            cr_path_join(&arena, four, files[f])));
        for (int part = 0; part < 2; part++) {
            cr_buf x, y;
            int n;
            cr_buf_init(&x);
            cr_buf_init(&y);
            read_part(csv, part ? "eval" : "train", &x, &n);
            read_parquet(one, part ? "eval" : "train", kind, &y);
            CHECK_INT(x.n, y.n);
            CHECK(x.n == y.n && memcmp(x.data, y.data, x.n) == 0);
            cr_buf_clear(&x);
            cr_buf_clear(&y);
        }
    }
}

TEST(parquet_config_and_old_parts) {
    char *dir = new_path(), **names;
    size_t n;
    cr_err err;
    CHECK_INT(run("taobao", 100, 100, 1, 0.01, dir, 1, NULL, &err), CR_OK);
    format = "parquet";
    CHECK_INT(run("taobao", 3, 2, 1, 0.01, dir, 1, NULL, &err), CR_OK);
    format = NULL;
    CHECK_INT(cr_list_dir(&arena, cr_path_join(&arena, dir, "train"), &names, &n, &err), CR_OK);
    CHECK_INT(n, 3);
    cr_buf b;
    cr_buf_init(&b);
    CHECK_INT(cr_file_read(cr_path_join(&arena, dir, "pipeline.yaml"), 0, &b, &err), CR_OK);
    CHECK(strstr(b.data, "/train/*.parquet\"\n") && strstr(b.data, "/eval/*.parquet\"\n"));
    CHECK(strstr(b.data, "dataset_type: ParquetDataset\n"));
    CHECK(!strstr(b.data, "with_header") && !strstr(b.data, "separator"));
    CHECK_INT(cr_file_read(cr_path_join(&arena, dir, "synth.json"), 0, &b, &err), CR_OK);
    CHECK(strstr(b.data, "\"format\": \"parquet\"") || strstr(b.data, "\"format\":\"parquet\""));
    cr_buf_clear(&b);
}

TEST(json_and_config) {
    char *dir = new_path();
    cr_err err;
    cr_synth_result r;
    /* given as a user would, with a slash at the end */
    CHECK_INT(run("census", 1000, 1000, UINT64_MAX, 0.5, cr_arena_printf(&arena, "%s/", dir), 1, &r,
                  &err),
              CR_OK);
    cr_buf b;
    cr_buf_init(&b);
    CHECK_INT(cr_file_read(cr_path_join(&arena, dir, "synth.json"), 0, &b, &err), CR_OK);
    cr_json *j;
    CHECK_INT(cr_json_parse(&j, b.data, b.n, &err), CR_OK);
    int64_t i;
    double x;
    CHECK_STR(cr_json_str(cr_json_get(j, "kind")), "census");
    CHECK_STR(cr_json_str(cr_json_get(j, "seed")), "18446744073709551615");
    CHECK(cr_json_f64(cr_json_get(j, "scale"), &x) && x == 0.5);
    CHECK(cr_json_i64(cr_json_get(j, "rows"), &i) && i == 1000);
    CHECK(cr_json_i64(cr_json_get(j, "eval_rows"), &i) && i == 1000);
    CHECK_STR(cr_json_str(cr_json_get(j, "label")), "income");
    const cr_json *t = cr_json_get(j, "teacher");
    CHECK(cr_json_f64(cr_json_get(t, "auc"), &x) && x == r.auc);
    CHECK(cr_json_f64(cr_json_get(t, "logloss"), &x) && x == r.logloss);
    const cr_json *cols = cr_json_get(j, "columns");
    CHECK_INT(cr_json_len(cols), 12);
    CHECK_STR(cr_json_str(cr_json_get(cr_json_at(cols, 2), "name")), "education");
    CHECK(cr_json_i64(cr_json_get(cr_json_at(cols, 2), "cardinality"), &i) && i == 16);
    cr_json_free(j);
    CHECK_INT(cr_file_read(cr_path_join(&arena, dir, "pipeline.yaml"), 0, &b, &err), CR_OK);
    CHECK(strstr(b.data, cr_arena_printf(&arena, "train_input_path: \"%s/train/*.csv\"\n", dir)));
    CHECK(strstr(b.data, cr_arena_printf(&arena, "eval_input_path: \"%s/eval/*.csv\"\n", dir)));
    CHECK(strstr(b.data, "label_fields: [income]"));
    CHECK(strstr(b.data, "wide_and_deep:"));
    cr_buf_clear(&b);
}

TEST(again_with_fewer_rows) {
    char *dir = new_path();
    CHECK_INT(run("census", 1000001, 10, 1, 1, dir, 2, NULL, NULL), CR_OK);
    CHECK(cr_path_exists(cr_path_join(&arena, dir, "train/part-00004.csv")));
    CHECK_INT(run("census", 3, 2, 1, 1, dir, 2, NULL, NULL), CR_OK);
    char **names;
    size_t n;
    CHECK_INT(cr_list_dir(&arena, cr_path_join(&arena, dir, "train"), &names, &n, NULL), CR_OK);
    CHECK_INT(n, 3);
    CHECK_INT(cr_list_dir(&arena, cr_path_join(&arena, dir, "eval"), &names, &n, NULL), CR_OK);
    CHECK_INT(n, 2);
}

TEST(refusals) {
    cr_err err;
    CHECK_INT(run("movielens", 10, 10, 1, 1, new_path(), 1, NULL, &err), CR_EUSAGE);
    CHECK(strstr(err.msg, "criteo, taobao or census") != NULL);
    CHECK_INT(run("criteo", 0, 10, 1, 1, new_path(), 1, NULL, &err), CR_EUSAGE);
    CHECK_INT(run("criteo", 10, -1, 1, 1, new_path(), 1, NULL, &err), CR_EUSAGE);
    CHECK_INT(run("criteo", 10, 10, 1, -1, new_path(), 1, NULL, &err), CR_EUSAGE);
    CHECK_INT(run("criteo", 10, 10, 1, NAN, new_path(), 1, NULL, &err), CR_EUSAGE);
    CHECK_INT(run("criteo", 10, 10, 1, 1, "", 1, NULL, &err), CR_EUSAGE);
    CHECK_INT(run("criteo", 10, 10, 1, 1, "/proc/none", 1, NULL, &err), CR_EIO);
    format = "orc";
    CHECK_INT(run("criteo", 10, 10, 1, 1, new_path(), 1, NULL, &err), CR_EUSAGE);
    CHECK(strstr(err.msg, "csv or parquet") != NULL);
    format = NULL;
}

TEST(full_disk) {
    char *dir = new_path();
    CHECK_INT(cr_mkdirs(dir, NULL), CR_OK);
    if (mount("tmpfs", dir, "tmpfs", 0, "size=2m") != 0) SKIP("mounting a tmpfs is not allowed");
    cr_err err;
    CHECK_INT(run("criteo", 100, 100, 1, 0.01, dir, 2, NULL, &err), CR_OK);
    CHECK_INT(run("criteo", 100000, 100, 1, 0.01, dir, 2, NULL, &err), CR_EIO);
    CHECK(strstr(err.msg, "No space left on device; free some space and run again") != NULL);
    CHECK(err.at.path && strstr(err.at.path, "/train/part-0000") != NULL);
    /* the earlier data is still whole, nothing else is left */
    char **names;
    size_t n;
    CHECK_INT(cr_list_dir(&arena, cr_path_join(&arena, dir, "train"), &names, &n, NULL), CR_OK);
    CHECK_INT(n, 4);
    CHECK(cr_path_exists(cr_path_join(&arena, dir, "synth.json")));
    format = "parquet";
    CHECK_INT(run("criteo", 200000, 100, 1, 0.01, dir, 2, NULL, &err), CR_EIO);
    format = NULL;
    CHECK(strstr(err.msg, "No space left on device") != NULL);
    CHECK(err.at.path && strstr(err.at.path, "/train/part-0000") != NULL);
    CHECK_INT(cr_list_dir(&arena, cr_path_join(&arena, dir, "train"), &names, &n, NULL), CR_OK);
    CHECK_INT(n, 4);
    umount(dir);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(same_bytes_for_any_threads),
                                   CASE(eval_is_independent_of_train_size),
                                   CASE(criteo_columns),
                                   CASE(teacher_criteo),
                                   CASE(teacher_taobao),
                                   CASE(a_label_after_another),
                                   CASE(teacher_census),
                                   CASE(teacher_at_full_scale),
                                   CASE(words_and_bags),
                                   CASE(parquet_has_the_rows_of_the_csv),
                                   CASE(parquet_config_and_old_parts),
                                   CASE(json_and_config),
                                   CASE(again_with_fewer_rows),
                                   CASE(refusals),
                                   CASE(full_disk)};
    if (!mkdtemp(root)) return 1;
    cr_arena_init(&arena, 0);
    int rc = t_run(cases, sizeof cases / sizeof *cases, argc, argv);
    if (cr_rmtree(root, NULL) != CR_OK) rc = 1;
    cr_arena_clear(&arena);
    return rc;
}
