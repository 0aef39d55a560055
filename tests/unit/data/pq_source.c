/*
 * pq_source.c - ParquetDataset: types, shapes and mistakes in schemas; the loader over Parquet
 * files: the same stream as from CSV, for any number of threads and ranks, from any row on.
 */
#include "base/log.h"
#include "csv_help.h"
#include "data/load/loader.h"
#include "parquet/parquet_int.h"
#include "pq_make.h"
#include "rows_text.h"

TEST(types) {
    const char *p = PM_FILE(h_path("types.parquet"),
                            "b:bool, i8:int8, i16:int16, i32:int32, i64:int64, u8:uint8, "
                            "u16:uint16, u32:uint32, u64:uint64, f16:float16, f:float, d:double",
                            "1|-8|-300|-70000|-5000000000|255|65535|4294967295|77|003c|0.1|0.1",
                            "null|null|null|null|null|null|null|null|null|null|null|null",
                            "0|127|32767|2147483647|1|0|0|0|0|01fc|1e30|1e300");
    EXPECT(p, "b,i8,i16,i32,i64,u8,u16,u32,u64", NO_FIELDS,
           "1|-8|-300|-70000|-5000000000L|255|65535|4294967295L|77L/"
           "null|null|null|null|null|null|null|null|null/"
           "0|127|32767|2147483647|1L|0|0|0L|0L/");
    EXPECT(p, "f16,f,d", NO_FIELDS, "1f|0.1f|0.1/null|null|null/nanf|1e+30f|1e+300/");
    p = PM_FILE(h_path("more.parquet"),
                "s:string, y:binary, x:fixed4, u:uuid, day:date, ms:millis, old:int96",
                "a b|c|61626364|00112233445566778899aabbccddeeff|19000|1700000000123|2440589 7",
                "|null|null|null|-1|null|null",
                "null||00000000|ffffffffffffffffffffffffffffffff|null|-5|2440587 86399000000000");
    EXPECT(p, "s,y,u,day,ms,old", NO_FIELDS,
           "a b|c|00112233-4455-6677-8899-aabbccddeeff|19000|1700000000123L|86400000000007L/"
           "|null|null|-1|null|null/"
           "null||ffffffff-ffff-ffff-ffff-ffffffffffff|null|-5L|-1000000000L/");
    p = PM_FILE(h_path("dec.parquet"), "a:dec9_2, b:dec18_4, c:dec38_3, d:dec38_0, e:decbytes_1",
                "12345|-1|123456789012345678901234567890|99|-15",
                "null|null|null|-9223372036854775808|null", "0|10000|-1500|null|7");
    EXPECT(p, "a,b,c,d,e", NO_FIELDS,
           "123.45|-0.0001|1.2345678901234568e+26|99L|-1.5/"
           "null|null|null|-9223372036854775808L|null/"
           "0|1|-1.5|null|0.7/");
    /* what does not fit is a bad row, told once */
    p = PM_FILE(h_path("large.parquet"), "u:uint64, d:dec38_0, t:int96, l:list<uint64>",
                "18446744073709551615|9223372036854775808|1 0|[1]",
                "1|1|2440588 0|[2,18446744073709551615,18446744073709551614]");
    EXPECT(p, "d", NO_FIELDS,
           "0L/1L/{0: column 'd', value '9223372036854775808': does not fit in 64 bits}");
    EXPECT(p, "u", NO_FIELDS,
           "-1L/1L/{0: column 'u', value '18446744073709551615': does not fit in a signed 64-bit "
           "integer}");
    EXPECT(p, "t", NO_FIELDS,
           "0L/0L/{0: column 't', value 'day 1': outside 1677 .. 2262, the years of int64 "
           "nanoseconds}");
    EXPECT(p, "l", NO_FIELDS,
           "[1L]/[2L,-1L,-2L]/{1: column 'l', value '18446744073709551615': does not fit in a "
           "signed 64-bit integer}");
}

TEST(shapes) {
    const char *p =
        PM_FILE(h_path("shapes.parquet"),
                "l:list<int64>, ll:list<list<float>>, m:map<string,double>, mi:map<int32,int64>, "
                "s.a:int32, s.b:list<string>",
                "[1,null,3]|[[1],[],[2,3]]|{a:1,b:2.5}|{7:8}|5|[x,yy]", "[]|null|null|{}|null|[]",
                "null|[]|{c:null}|null|6|null");
    EXPECT(p, "l,ll,m,mi,s.a,s.b", NO_FIELDS,
           "[1L,null,3L]|[[1f][][2f,3f]]|[a:1,b:2.5]|[7:8L]|5|[x,yy]/"
           "[]|null|null|[]|null|[]/"
           "null|[]|[c:null]|null|6|null/");
    EXPECT(p, "m.key,s.b,l,l", NO_FIELDS,
           "[a,b]|[x,yy]|[1L,null,3L]|[1L,null,3L]/null|[]|[]|[]/[c]|null|null|null/");
    REFUSED(p, "s", NO_FIELDS,
            "column 's', which feature 'f' needs, has the type struct<a: int32, b: list<string>> "
            "in shapes.parquet, which is a struct; name its members with dots");
    const char *const *names;
    cr_data_conf conf = {0};
    cr_diag diag;
    cr_diag_init(&diag);
    cr_source *s;
    const cr_reader_type *rt = cr_reader_find("ParquetDataset");
    CHECK(rt->open(&s, &conf, p, NULL, 0, &diag) == CR_OK);
    int n = rt->columns(s, &names);
    CHECK_INT(n, 5);
    CHECK_STR(names[0], "l");
    CHECK_STR(names[4], "s");
    rt->close(s);
    cr_diag_clear(&diag);
}

TEST(asked_types) {
    const char *p =
        PM_FILE(h_path("asked.parquet"),
                "i:int64, f:float, s:string, l:list<int32>, m:map<int64,int32>",
                "5|2|x|[1,2]|{1:2}", "-70000000000|2.5|y|[]|{}", "null|null|null|null|null");
    EXPECT(p, "i,f,s,l,m", "i:2,f:4,s:2,l:8,m:18",
           "5|2|x|[1f,2f]|[1:2f]/-70000000000|2.5|y|[]|[]/null|null|null|null|null/");
    EXPECT(p, "i,f", "i:0,f:1",
           "5|2L/-1280523264|0L/null|null/"
           "{1: column 'i', value '-70000000000': does not fit in 32 bits, which input_fields ask "
           "for}");
    EXPECT(
        p, "f", "f:1",
        "2L/0L/null/{1: column 'f', value '2.5': not a whole number, which input_fields ask for}");
    REFUSED(p, "s", "s:1",
            "column 's' has the type string in asked.parquet, which cannot be converted to INT64");
    REFUSED(p, "l", "l:0", "which has another shape to INT32");
    REFUSED(p, "m", "m:6", "column 'm' has the type map<int64, int32>");
}

TEST(files_that_differ) {
    PM_FILE(h_path("diff-0.parquet"), "a:int64, b:string, n:nulls", "1|x|null");
    PM_FILE(h_path("diff-1.parquet"), "n:int32, b:binary, a:int64, more:double", "7|y|2|1");
    const char *p = h_path("diff-*.parquet");
    /* other orders and more columns do no harm; nulls are of any type; bytes are text */
    EXPECT(p, "a,b,n", NO_FIELDS, "1L|x|null/2L|y|7/");
    PM_FILE(h_path("diff-2.parquet"), "b:string, n:nulls, a:int32", "z|null|3");
    REFUSED(p, "a", NO_FIELDS,
            "column 'a', which feature 'f' needs, has the type int32 in diff-2.parquet and int64 "
            "in diff-0.parquet; write all files alike, or give its input_type in input_fields");
    EXPECT(p, "a,b", "a:1", "1L|x/2L|y/3L|z/");
    PM_FILE(h_path("diff-2.parquet"), "bb:string, a:int64", "z|3");
    REFUSED(p, "a,b", NO_FIELDS,
            "it has no column 'b', which feature 'f' needs; did you mean 'bb'?");
    PM_FILE(h_path("diff-2.parquet"), "other:string, a:int64", "z|3"); /* 'b' of the first file */
    REFUSED(p, "a,b", NO_FIELDS,
            "it has no column 'b', which feature 'f' needs; `crank parquet` shows its columns");
    PM_FILE(h_path("diff-2.parquet"), "b:string, a:list<int64>", "z|[3]");
    REFUSED(p, "a,b", NO_FIELDS,
            "has the type list<int64> in diff-2.parquet and int64 in diff-0.parquet; write all "
            "files alike");
    PM_FILE(h_path("diff-2.parquet"), "b:string, b:string, a:int64", "z|z|3");
    REFUSED(p, "a,b", NO_FIELDS, "2 columns are named 'b', which feature 'f' needs");
    PM_FILE(h_path("diff-2.parquet"), "b:bson, a:int64", "z|3");
    REFUSED(p, "a,b", NO_FIELDS, "which has no meaning as a number or text");
    /* units are part of the type */
    PM_FILE(h_path("time-0.parquet"), "t:millis", "1");
    PM_FILE(h_path("time-1.parquet"), "t:micros", "1");
    REFUSED(h_path("time-*.parquet"), "t", NO_FIELDS, "in time-1.parquet and");
    /* nothing but nulls in one file, lists in another */
    PM_FILE(h_path("nulls-0.parquet"), "l:nulls, m:nulls, k:nulls", "null|null|null",
            "null|null|null");
    PM_FILE(h_path("nulls-1.parquet"), "l:list<list<int64>>, m:map<int64,float>, k:nulls",
            "[[1]]|{1:2}|null");
    EXPECT(h_path("nulls-*.parquet"), "l,m,k", NO_FIELDS,
           "null|null|null/null|null|null/[[1L]]|[1L:2f]|null/");
    EXPECT(h_path("nulls-0.parquet"), "l,k", "l:6", "null|null/null|null/");
}

TEST(files_that_are_none) {
    const char *good = PM_FILE(h_path("none-0.parquet"), "a:int64", "1");
    cr_buf b;
    cr_buf_init(&b);
    cr_err err;
    CHECK(cr_file_read(good, 0, &b, &err) == CR_OK);
    h_write("none-1.parquet", b.data, b.n - 5);
    REFUSED(h_path("none-*.parquet"), "a", NO_FIELDS, "cut short or still being written");
    h_write("none-1.parquet", "a\n1\n2\n", 6);
    REFUSED(h_path("none-*.parquet"), "a", NO_FIELDS,
            "not a Parquet file; leave it out, or set data_config.dataset_type to what it is");
    h_write("none-1.parquet", "", 0);
    REFUSED(h_path("none-*.parquet"), "a", NO_FIELDS, "the file is empty");
    cr_buf_clear(&b);
    CHECK(mkdir(h_path("empty"), 0777) == 0);
    REFUSED(h_path("empty"), "a", NO_FIELDS, "holds no file ending in .parquet");
    REFUSED(h_path("nothing-*.parquet"), "a", NO_FIELDS, "no file found");
    /* no rows: nothing is wrong */
    pm_file *f = cr_alloc(sizeof(*f), "a test file");
    pm_init(f, "a:int64");
    pm_write(f, h_path("rows-0.parquet"), NULL);
    pm_clear(f);
    cr_free(f);
    PM_FILE(h_path("rows-1.parquet"), "a:int64", "7");
    EXPECT(h_path("rows-*.parquet"), "a", NO_FIELDS, "7L/");
    EXPECT(h_path("rows-0.parquet"), "a", NO_FIELDS, "");
}

/* ---- the loader ---- */

static int n_encoded; /* rows, all threads */

/* columns id, list ("1;2;3"), x, y, r: as the loader's own test. A negative id is a bad row. */
static cr_code encode(void *ctx, const cr_chunk *in, cr_chunk_rows *to, cr_bad *bad, cr_err *err) {
    cr_batch *out = &to->rows;
    (void)err;
    int64_t n = in->n_rows;
    cr_arena *a = &to->arena;
    __atomic_fetch_add(&n_encoded, (int)n, __ATOMIC_RELAXED);
    if (ctx) CHECK(in->first_row >= 0);
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t k;
        cr_text_at(&in->cols[1], i, &k);
        most += (int64_t)k;
    }
    int64_t *ids = CR_NEW_N(a, int64_t, most + 1), k = 0;
    float *w = CR_NEW_N(a, float, most + 1), *dense = CR_NEW_N(a, float, n);
    int32_t *off = CR_NEW_N(a, int32_t, n + 1);
    for (int64_t i = 0; i < n; i++) {
        size_t len;
        const char *p = cr_text_at(&in->cols[1], i, &len), *end = p + len;
        while (p < end) {
            const char *q = memchr(p, ';', (size_t)(end - p));
            if (!q) q = end;
            int64_t v = 0;
            CHECK(cr_parse_i64(p, (size_t)(q - p), &v));
            w[k] = (float)v / 2;
            ids[k++] = v;
            p = q + 1;
        }
        off[i + 1] = (int32_t)k;
        dense[i] = in->cols[2].v.f32[i];
        if (in->cols[0].v.i64[i] < 0)
            cr_bad_add(bad, i, in->lines ? in->lines[i] : 0, "column 'id', value '%lld': negative",
                       (long long)in->cols[0].v.i64[i]);
    }
    out->n_sparse = 2;
    out->sparse = CR_NEW_N(a, cr_jagged, 2);
    int64_t *plain = CR_NEW_N(a, int64_t, n);
    memcpy(plain, in->cols[0].v.i64, (size_t)n * sizeof(*plain));
    out->sparse[0] = (cr_jagged){.ids = plain, .n_ids = n};
    out->sparse[1] = (cr_jagged){.off = off, .ids = ids, .w = w, .n_ids = k};
    out->dense_width = 1;
    out->dense = dense;
    const float **labels = CR_NEW_N(a, const float *, 1);
    float *label = CR_NEW_N(a, float, n);
    memcpy(label, in->cols[3].v.f32, (size_t)n * sizeof(*label));
    labels[0] = label;
    out->n_labels = 1;
    out->labels = labels;
    out->n_reserved = 1;
    out->reserved = &in->cols[4];
    return CR_OK;
}

static void show(cr_buf *out, const cr_batch *b) {
    for (int64_t i = 0; i < b->n_rows; i++) {
        const cr_jagged *j = &b->sparse[1];
        cr_buf_printf(out, "%lld;", (long long)b->sparse[0].ids[i]);
        int64_t a = j->off ? j->off[i] : i, z = j->off ? j->off[i + 1] : i + 1;
        for (; a < z; a++)
            cr_buf_printf(out, "%lld*%g,", (long long)j->ids[a], (double)j->w[a]);
        size_t n;
        const char *r = cr_text_at(&b->reserved[0], i, &n);
        cr_buf_printf(out, ";%g;%g;%.*s/", (double)b->dense[i], (double)b->labels[0][i], (int)n, r);
    }
}

/* rows [from, to) of the made-up data into a Parquet file and (csv) a CSV file */
static void make_rows(const char *name, int64_t from, int64_t to, int64_t group_rows, bool bad) {
    pm_file *f = cr_alloc(sizeof(*f), "a test file");
    cr_buf csv, list;
    cr_buf_init(&csv);
    cr_buf_init(&list);
    pm_init(f, "r:string, id:int64, x:float, list:string, y:float");
    for (int64_t i = from; i < to; i++) {
        char row[256];
        cr_buf_reset(&list);
        cr_buf_str(&list, "");
        for (int64_t k = 0; k < i % 4; k++)
            cr_buf_printf(&list, "%s%lld", k ? ";" : "", (long long)(i % 20 + k));
        const char *l = list.data ? list.data : "";
        long long id = bad && i % 50 == 49 ? -i : i;
        snprintf(row, sizeof(row), "r%d|%lld|%d.5|%s|%d", (int)(i % 7), id, (int)(i % 100), l,
                 (int)(i % 2));
        pm_row(f, row);
        cr_buf_printf(&csv, "%lld,%s,%d.5,%d,r%d\n", id, l, (int)(i % 100), (int)(i % 2),
                      (int)(i % 7));
    }
    char path[64];
    snprintf(path, sizeof(path), "%s.parquet", name);
    pm_write(f, h_path(path), &(cr_pq_write_opts){.codec = CR_PQ_SNAPPY, .group_rows = group_rows});
    snprintf(path, sizeof(path), "%s.csv", name);
    h_write(path, csv.data ? csv.data : "", csv.n);
    pm_clear(f);
    cr_free(f);
    cr_buf_clear(&csv);
    cr_buf_clear(&list);
}

#define N_ROWS 700
/* four files of uneven sizes, one of them without rows, with row groups of several sizes */
static void make_files(bool bad) {
    static bool made[2];
    if (made[bad]) return;
    made[bad] = true;
    const char *n = bad ? "bad" : "good";
    char name[32];
    static const int64_t at[] = {0, 10, 10, 510, N_ROWS}, groups[] = {4, 10, 130, 64};
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s-%d", n, i);
        make_rows(name, at[i], at[i + 1], groups[i], bad);
    }
}

static cr_data_conf conf;
static h_fields fields;
static h_wants wants;

static cr_loader_opts base_opts(const char *paths, bool csv) {
    conf = (cr_data_conf){.shuffle_buffer_size = 3};
    h_input_fields(&conf, &fields, "id:1,list:2,x:3,y:3,r:2");
    h_want(&wants, "id,list,x,y,r");
    return (cr_loader_opts){.conf = &conf,
                            .reader = cr_reader_find(csv ? "CsvDataset" : "ParquetDataset"),
                            .paths = paths,
                            .want = wants.v,
                            .n_want = wants.n,
                            .encode = encode,
                            .encode_ctx = csv ? NULL : &conf,
                            .batch_size = 16,
                            .n_threads = 2,
                            .n_epochs = 1,
                            .seed = 7,
                            .block_bytes = 700};
}

#include "stream.h"

TEST(same_as_csv) {
    for (int bad = 0; bad < 2; bad++) {
        make_files(bad);
        char csv[256], pq[256];
        snprintf(csv, sizeof(csv), "%s", h_path(bad ? "bad-*.csv" : "good-*.csv"));
        snprintf(pq, sizeof(pq), "%s", h_path(bad ? "bad-*.parquet" : "good-*.parquet"));
        static const int64_t sizes[] = {2, 16, 100, 699, 700, 5000};
        static const size_t blocks[] = {100, 700, 5000, 0};
        for (int k = 0; k < 6; k++) {
            stream a, b;
            cr_loader_opts o = base_opts(csv, true);
            o.batch_size = sizes[k];
            o.max_bad_rows = bad ? 14 : 0;
            o.n_epochs = k == 1 ? 2 : 1;
            run(&a, &o);
            CHECK_INT(a.code, CR_OK);
            for (int t = 0; t < 12; t++) {
                o = base_opts(pq, false);
                o.batch_size = sizes[k];
                o.max_bad_rows = bad ? 14 : 0;
                o.n_epochs = k == 1 ? 2 : 1;
                o.n_threads = 1 + t % 3;
                o.block_bytes = blocks[t / 3];
                run(&b, &o);
                same(&a, 0, &b, false, "CSV and Parquet");
                CHECK_INT(a.bad_rows, b.bad_rows);
                drop(&b);
            }
            drop(&a);
        }
    }
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* the rows of a stream, sorted: which ones there are */
static char *rows_of(const stream *s, bool sort) {
    cr_buf b, out;
    cr_buf_init(&b);
    cr_buf_init(&out);
    for (int i = 0; i < s->n; i++)
        cr_buf_str(&b, s->text[i]);
    char *rows[N_ROWS + 8];
    int n = 0;
    for (char *p = b.data, *q; (q = strchr(p, '/')) && n < N_ROWS + 8; p = q + 1) {
        *q = 0;
        rows[n++] = p;
    }
    CHECK_INT(n, N_ROWS);
    if (sort) qsort(rows, (size_t)n, sizeof(*rows), by_text);
    for (int i = 0; i < n; i++)
        cr_buf_printf(&out, "%s/", rows[i]);
    char *t = strdup(out.data ? out.data : "");
    cr_buf_clear(&b);
    cr_buf_clear(&out);
    return t;
}

TEST(shuffled) {
    make_files(false);
    cr_loader_opts o = base_opts(h_path("good-*.parquet"), false);
    stream plain, s, s2;
    run(&plain, &o);
    o.shuffle = true;
    run(&s, &o);
    char *want = rows_of(&plain, true), *got = rows_of(&s, true);
    char *order = rows_of(&s, false), *file_order = rows_of(&plain, false);
    CHECK_STR(want, got);
    CHECK(strcmp(order, file_order) != 0);
    for (int t = 1; t <= 4; t++) {
        o.n_threads = t;
        run(&s2, &o);
        same(&s, 0, &s2, true, "threads");
        drop(&s2);
    }
    o.seed = 8;
    run(&s2, &o);
    char *other = rows_of(&s2, false), *got2 = rows_of(&s2, true);
    CHECK(strcmp(other, order) != 0);
    CHECK_STR(got2, want);
    drop(&s2);
    /* another epoch, another order; the first batch is not of one place */
    o.seed = 7;
    o.n_epochs = 2;
    run(&s2, &o);
    CHECK_INT(s2.n, 2 * s.n);
    CHECK_STR(s2.text[0], s.text[0]);
    CHECK(strcmp(s2.text[s.n], s.text[0]) != 0);
    int64_t lo = N_ROWS, hi = 0;
    for (char *p = s.text[0]; *p; p = strchr(p, '/') + 1) {
        int64_t id = atoll(p);
        lo = id < lo ? id : lo;
        hi = id > hi ? id : hi;
    }
    CHECK(hi - lo > 100);
    drop(&s2);
    drop(&s);
    drop(&plain);
    free(want);
    free(got);
    free(got2);
    free(order);
    free(other);
    free(file_order);
}

TEST(resume_everywhere) {
    for (int bad = 0; bad < 2; bad++) {
        make_files(bad);
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            cr_loader_opts o = base_opts(h_path(bad ? "bad-*.parquet" : "good-*.parquet"), false);
            o.shuffle = shuffle;
            o.n_epochs = 2;
            o.batch_size = 23;
            o.max_bad_rows = bad ? 14 : 0;
            stream s, s2;
            run(&s, &o);
            CHECK(s.code == CR_OK);
            CHECK_INT(s.bad_rows, bad ? 28 : 0);
            for (int i = 0; i < s.n - 1; i++) {
                o.start = s.after[i];
                o.n_threads = 1 + i % 3;
                n_encoded = 0;
                run(&s2, &o);
                same(&s, i + 1, &s2, true, shuffle ? "shuffled" : "in order");
                /* taken by number: not one row that was given out is read again */
                if (!bad && !shuffle) {
                    int64_t left = N_ROWS - s.after[i].rows + (1 - s.after[i].epoch) * N_ROWS;
                    CHECK_INT(n_encoded, left);
                }
                int64_t before = s.after[i].bad_rows + s.after[i].epoch * (bad ? 14 : 0);
                CHECK_INT(before + s2.bad_rows, s.bad_rows);
                drop(&s2);
            }
            /* in order the blocks may be cut otherwise */
            o.start = s.after[5];
            o.block_bytes = 5000;
            if (!shuffle && !bad) {
                run(&s2, &o);
                same(&s, 6, &s2, false, "other blocks");
                drop(&s2);
            }
            drop(&s);
        }
    }
    cr_loader_opts o = base_opts(h_path("good-*.parquet"), false);
    stream s;
    o.start = (cr_data_pos){.rows = N_ROWS + 1, .unit = INT64_C(3) << 32};
    run(&s, &o);
    CHECK(strstr(s.err.msg, "does not fit these files, which have 700 rows"));
    drop(&s);
}

static void shares(const char *paths, int64_t batch, int world, bool uneven, bool shuffle,
                   bool drop_last) {
    cr_loader_opts o = base_opts(paths, false);
    o.shuffle = shuffle;
    o.drop_remainder = drop_last;
    o.n_epochs = 2;
    o.batch_size = batch * world;
    stream one, part[3];
    run(&one, &o);
    CHECK_INT(one.code, CR_OK);
    /* from the start, and from the middle of an epoch */
    for (int from = 0; from < 2; from++) {
        int at = from ? 2 : 0;
        if (from) o.start = one.after[1];
        for (int r = 0; r < world; r++) {
            o.share = (cr_share){r, r + 1, world};
            if (uneven) o.share = (cr_share){r ? 3 : 0, r ? 8 : 3, 8};
            o.n_threads = 1 + (r + from) % 3;
            run(&part[r], &o);
            CHECK_INT(part[r].n, one.n - at);
        }
        for (int i = at; i < one.n; i++) {
            cr_buf b;
            cr_buf_init(&b);
            cr_buf_reserve(&b, 1);
            b.data[0] = 0;
            for (int r = 0; r < world; r++) {
                cr_buf_str(&b, part[r].text[i - at]);
                CHECK(memcmp(&part[r].after[i - at], &one.after[i], sizeof(cr_data_pos)) == 0);
            }
            CHECK_STR(b.data, one.text[i]);
            cr_buf_clear(&b);
        }
        for (int r = 0; r < world; r++)
            drop(&part[r]);
    }
    drop(&one);
}

TEST(shares_of_batches) {
    make_files(false);
    for (int world = 2; world <= 3; world++)
        for (int shuffle = 0; shuffle < 2; shuffle++)
            shares(h_path("good-*.parquet"), 16, world, false, shuffle, false);
    /* large batches: rows of other shares are not read */
    make_rows("big-0", 0, 3000, 1100, false);
    make_rows("big-1", 3000, 3010, 1100, false);
    make_rows("big-2", 3010, 8000, 1700, false);
    for (int world = 2; world <= 3; world++)
        for (int last = 0; last < 2; last++)
            shares(h_path("big-*.parquet"), 600, world, false, false, last);
    shares(h_path("big-*.parquet"), 600, 2, false, true, false);
    shares(h_path("big-*.parquet"), 900, 2, true, false, false);
    cr_loader_opts o = base_opts(h_path("big-*.parquet"), false);
    stream s;
    o.batch_size = 2000;
    o.share = (cr_share){0, 1, 2};
    n_encoded = 0;
    run(&s, &o);
    CHECK_INT(n_encoded, 4000);
    drop(&s);
    o.batch_size = 1800; /* four full batches, and 800 rows of a last one */
    n_encoded = 0;
    run(&s, &o);
    CHECK_INT(n_encoded, 4 * 900 + 800);
    drop(&s);
    /* fewer rows than shares */
    make_rows("two", 0, 2, 10, false);
    o = base_opts(h_path("two.parquet"), false);
    o.batch_size = 1800;
    int64_t rows = 0;
    for (int r = 0; r < 3; r++) {
        o.share = (cr_share){r, r + 1, 3};
        run(&s, &o);
        CHECK_INT(s.n, 2);
        for (const char *p = s.text[0]; *p; p++)
            rows += *p == '/';
        drop(&s);
    }
    CHECK_INT(rows, 2);
}

static const char *tail(const char *path) {
    const char *p = path ? strrchr(path, '/') : NULL;
    return p ? p + 1 : "";
}

TEST(bad_rows) {
    make_files(true);
    cr_loader_opts o = base_opts(h_path("bad-*.parquet"), false);
    stream s, s2;
    for (int t = 1; t <= 4; t++) {
        o.n_threads = t;
        o.max_bad_rows = 0;
        run(&s, &o);
        CHECK_INT(s.code, CR_EDATA);
        CHECK_STR(tail(s.err.at.path), "bad-2.parquet");
        CHECK_STR(s.err.msg,
                  "row 39 (from 0): column 'id', value '-49': negative; correct the row, "
                  "or leave some out with data_config.max_bad_rows");
        CHECK_INT(s.n, 3); /* what the blocks before that one fill */
        drop(&s);
        o.max_bad_rows = 13;
        run(&s, &o);
        CHECK_STR(tail(s.err.at.path), "bad-3.parquet");
        CHECK(strstr(s.err.msg, "row 189 (from 0): column 'id', value '-699'"));
        CHECK(strstr(s.err.msg, "more bad rows than data_config.max_bad_rows: 13"));
        drop(&s);
    }
    o.shuffle = true;
    o.max_bad_rows = 5;
    o.n_threads = 1;
    run(&s, &o);
    CHECK_INT(s.code, CR_EDATA);
    for (int t = 2; t <= 4; t++) {
        o.n_threads = t;
        run(&s2, &o);
        same(&s, 0, &s2, true, "bad rows, shuffled");
        CHECK_STR(s2.err.msg, s.err.msg);
        drop(&s2);
    }
    drop(&s);
}

/* more files than stay open */
TEST(many_files) {
    char name[32];
    for (int i = 0; i < 150; i++) {
        snprintf(name, sizeof(name), "many-%03d", i);
        make_rows(name, i * 5, i * 5 + (i % 7 == 3 ? 0 : 5), 3, false);
    }
    cr_loader_opts o = base_opts(h_path("many-*.csv"), true);
    stream a, b;
    run(&a, &o);
    o = base_opts(h_path("many-*.parquet"), false);
    for (int t = 1; t <= 3; t++) {
        o.n_threads = t;
        run(&b, &o);
        same(&a, 0, &b, false, "many files");
        drop(&b);
    }
    o.shuffle = true;
    run(&b, &o);
    CHECK_INT(b.code, CR_OK);
    CHECK_INT(b.n, a.n);
    drop(&b);
    drop(&a);
    /* a file that is replaced meanwhile is noticed when its turn comes, also by the thread that
     * comes second, also when it has as many rows as before */
    o.shuffle = false;
    o.batch_size = 1;
    for (int rows = 5; rows <= 9; rows += 4) {
        make_rows("many-149", 745, 750, 3, false);
        cr_diag diag;
        cr_diag_init(&diag);
        cr_loader *l;
        CHECK(cr_loader_new(&l, &o, &diag) == CR_OK);
        make_rows("many-149", 0, rows, 9, false);
        cr_code code = CR_OK;
        cr_err err;
        for (bool done = false; !done && code == CR_OK;) {
            cr_batch *x;
            code = cr_loader_next(l, &x, &done, &err);
            if (code == CR_OK) cr_loader_release(l, x);
        }
        CHECK_INT(code, CR_EDATA);
        CHECK(code != CR_OK && strstr(err.msg, "the file changed while the run was using it"));
        cr_loader_free(l);
        cr_diag_clear(&diag);
    }
}

/* a page that cannot be read: the batches before it, then the error, every time the same */
TEST(damaged) {
    make_files(false);
    cr_buf b;
    cr_buf_init(&b);
    cr_err err;
    CHECK(cr_file_read(h_path("good-2.parquet"), 0, &b, &err) == CR_OK);
    cr_pq_file *f;
    CHECK(cr_pq_open(&f, h_path("good-2.parquet"), NULL, &err) == CR_OK);
    int64_t at = cr_pq_get_meta(f)->groups[2].chunks[1].start;
    cr_pq_close(f);
    memset(b.data + at, 0x7f, 60);
    h_write("damaged.parquet", b.data, b.n);
    cr_buf_clear(&b);
    cr_loader_opts o = base_opts(h_path("damaged.parquet"), false);
    stream s, s2;
    o.n_threads = 1;
    run(&s, &o);
    CHECK_INT(s.code, CR_EDATA);
    CHECK_STR(tail(s.err.at.path), "damaged.parquet");
    CHECK(strstr(s.err.msg, "column 'id', row group 2"));
    CHECK_INT(s.n, 260 / 16);
    for (int t = 2; t <= 4; t++) {
        o.n_threads = t;
        run(&s2, &o);
        same(&s, 0, &s2, true, "damaged");
        CHECK_STR(s2.err.msg, s.err.msg);
        drop(&s2);
    }
    drop(&s);
}

/* A key may be null by the schema of some files; where one is, it is not the first of a dictionary
 * but a bad row. */
TEST(null_keys) {
    cr_pq_node nodes[] = {
        {.name = "root", .type = CR_PQ_GROUP, .n_children = 1},
        {.name = "m", .type = CR_PQ_GROUP, .n_children = 1, .logical = {.kind = CR_PQ_MAP}},
        {.name = "key_value", .type = CR_PQ_GROUP, .rep = CR_PQ_REPEATED, .n_children = 2},
        {.name = "key", .type = CR_PQ_BYTES, .rep = CR_PQ_OPTIONAL},
        {.name = "value", .type = CR_PQ_I32},
    };
    const int32_t off[] = {0, 2, 2, 4, 5}, value[] = {1, 2, 3, 4, 5};
    const uint32_t beg[] = {0, 0, 0, 0, 1}, end[] = {1, 1, 0, 1, 2};
    const uint8_t valid[] = {1, 1, 0, 1, 1};
    const cr_pq_list list = {.off = off, .n = 4};
    const cr_pq_vec v[] = {
        {.type = CR_PQ_BYTES,
         .n_rows = 4,
         .n = 5,
         .n_null = 1,
         .valid = valid,
         .depth = 1,
         .list = {list},
         .bytes = "ab",
         .beg = beg,
         .end = end},
        {.type = CR_PQ_I32, .n_rows = 4, .n = 5, .depth = 1, .list = {list}, .v.i32 = value}};
    const cr_pq_meta m = {.nodes = nodes, .n_nodes = 5};
    const char *p = h_path("null_keys.parquet");
    cr_pq_writer *w;
    cr_err err;
    CHECK(cr_pq_writer_new(&w, p, &m, &(cr_pq_write_opts){.no_sync = true}, &err) == CR_OK);
    CHECK(cr_pq_write(w, v, &err) == CR_OK && cr_pq_writer_finish(w, &err) == CR_OK);
    cr_pq_writer_free(w);
    cr_buf b;
    cr_diag diag;
    cr_buf_init(&b);
    cr_diag_init(&diag);
    CHECK_INT(read_all(&b, p, "m", NO_FIELDS, 0, &diag), CR_OK);
    CHECK(strstr(b.data, "{2: column 'm', value 'null': a map's key cannot be null}") != NULL);
    cr_diag_clear(&diag);
    cr_buf_clear(&b);
}

/* the file `from` with a footer that tells of n rows in its first row group */
static const char *with_rows(const char *name, const char *from, int64_t n) {
    cr_buf b;
    cr_pq_file *f;
    cr_err err;
    cr_buf_init(&b);
    CHECK(cr_file_read(from, 0, &b, &err) == CR_OK);
    CHECK(cr_pq_open(&f, from, NULL, &err) == CR_OK);
    cr_pq_meta m = *cr_pq_get_meta(f);
    m.groups[0].n_rows = m.n_rows = n;
    b.n -= (size_t)m.footer_size + 8;
    size_t at = b.n;
    cr_pq_put_footer(&b, &m);
    uint32_t size = (uint32_t)(b.n - at);
    cr_buf_add(&b, &size, 4);
    cr_buf_add(&b, "PAR1", 4);
    cr_pq_close(f);
    const char *path = h_write(name, b.data, b.n);
    cr_buf_clear(&b);
    return path;
}

/* a list column can be said to have any number of rows; of many files the sum must hold too */
TEST(rows_that_cannot_be) {
    const char *p = PM_FILE(h_path("list.parquet"), "l:list<int32>", "[1,2]", "[]", "[3]");
    EXPECT(with_rows("rows.parquet", p, 3), "l", NO_FIELDS, "[1,2]/[]/[3]/");
    static const int64_t n[] = {INT64_MAX, INT64_MAX / 2, INT64_C(1) << 40};
    for (int i = 0; i < 3; i++) {
        with_rows("untrue-0.parquet", p, n[i]);
        with_rows("untrue-1.parquet", p, n[i]);
        char text[100];
        snprintf(text, sizeof(text), "it claims to have %lld rows, which is more than a file",
                 (long long)n[i]);
        REFUSED(h_path("untrue-*.parquet"), "l", NO_FIELDS, text);
    }
    REFUSED(with_rows("rows.parquet", p, 4), "l", NO_FIELDS, "the pages end after 3 of 4 rows");
    REFUSED(with_rows("rows.parquet", p, 2), "l", NO_FIELDS,
            "the pages have more rows than the row group");
}

/* any byte of a file changed: its rows, others, or an error, never more */
TEST(damaged_anywhere) {
    const char *p = PM_FILE(h_path("bytes.parquet"),
                            "a:int64, s:string, l:list<int32>, m:map<string,float>, d:dec38_3",
                            "1|x|[1,2]|{a:1}|5", "null|y|null|{}|null", "3||[]|null|-7",
                            "4|x|[null]|{b:2,c:null}|1");
    cr_buf b, out;
    cr_buf_init(&b);
    cr_buf_init(&out);
    cr_err err;
    CHECK(cr_file_read(p, 0, &b, &err) == CR_OK);
    int same_rows = 0, refused_files = 0;
    char *want = NULL;
    for (size_t i = 0; i <= b.n; i++) {
        char keep = i ? b.data[i - 1] : 0;
        if (i) b.data[i - 1] = i % 3 == 0 ? (char)~keep : i % 3 == 1 ? (char)(keep + 1) : 0x7f;
        p = h_write("changed.parquet", b.data, b.n);
        cr_diag diag;
        cr_diag_init(&diag);
        cr_code code = read_all(&out, p, "a,s,l,m,d", NO_FIELDS, 64, &diag);
        CHECK(code == CR_OK || (diag.n > 0 && diag.v[0].msg[0]));
        if (!i) {
            CHECK_INT(code, CR_OK);
            want = strdup(out.data);
        }
        refused_files += code != CR_OK;
        same_rows += code == CR_OK && strcmp(out.data, want) == 0;
        cr_diag_clear(&diag);
        if (i) b.data[i - 1] = keep;
    }
    CHECK(same_rows > 100 && refused_files > 300);
    free(want);
    cr_buf_clear(&b);
    cr_buf_clear(&out);
}

TEST(free_at_any_moment) {
    make_files(false);
    cr_loader_opts o = base_opts(h_path("good-*.parquet"), false);
    o.n_epochs = 0;
    o.block_bytes = 200;
    for (int i = 0; i < 60; i++) {
        o.n_threads = 1 + i % 4;
        o.shuffle = i % 2;
        o.batch_size = 1 + i;
        cr_diag diag;
        cr_diag_init(&diag);
        cr_loader *l;
        CHECK(cr_loader_new(&l, &o, &diag) == CR_OK);
        cr_batch *held = NULL;
        for (int k = 0; k < i; k++) {
            cr_batch *b;
            bool done;
            cr_err err;
            CHECK(cr_loader_next(l, &b, &done, &err) == CR_OK);
            if (held) cr_loader_release(l, held);
            held = b;
        }
        cr_loader_free(l);
        cr_diag_clear(&diag);
    }
}

TEST(steady_state_allocates_nothing) {
    make_files(false);
    cr_loader_opts o = base_opts(h_path("good-*.parquet"), false);
    for (int shuffle = 0; shuffle < 2; shuffle++) {
        o.shuffle = shuffle;
        o.n_epochs = 0;
        o.block_bytes = 2000;
        cr_diag diag;
        cr_diag_init(&diag);
        cr_loader *l;
        CHECK(cr_loader_new(&l, &o, &diag) == CR_OK);
        uint64_t before = 0;
        for (int epoch = 0; epoch < 80;) {
            cr_batch *b;
            bool done;
            cr_err err;
            CHECK(cr_loader_next(l, &b, &done, &err) == CR_OK);
            if (!b && ++epoch == 60) before = cr_alloc_count();
            cr_loader_release(l, b);
        }
        uint64_t n = cr_alloc_count() - before;
        /* an epoch's order when shuffled; the rest, of hundreds of batches, is reused. Which thread
         * has which block is chance, so a buffer may still meet its largest one. */
        if (n > 20 * 4 + 100) fprintf(stderr, "%llu allocations\n", (unsigned long long)n);
        CHECK(n <= 20 * 4 + 100);
        cr_loader_free(l);
        cr_diag_clear(&diag);
    }
}

/* Pages larger than usual are counted: fewer hands, so that memory does not follow the row group.
 */
static void hands_of(size_t page_bytes, int *hands, size_t *bytes) {
    enum { CELL = 200000, ROWS = 300 }; /* 60 MB of text, a few bytes in the file */
    pm_file *f = cr_alloc(sizeof(*f), "a test file");
    char *row = cr_alloc(CELL + 32, "a row");
    pm_init(f, "s:string, i:int64");
    memset(row, 'x', CELL);
    for (int i = 0; i < ROWS; i++) {
        snprintf(row + CELL, 32, "%d|%d", i, i);
        pm_row(f, row);
    }
    const char *path = h_path("pages.parquet");
    pm_write(f, path,
             &(cr_pq_write_opts){.codec = CR_PQ_SNAPPY,
                                 .page_bytes = page_bytes,
                                 .no_dict = true,
                                 .no_stats = true});
    pm_clear(f);
    cr_free(f);
    cr_free(row);
    const cr_reader_type *rt = cr_reader_find("ParquetDataset");
    cr_data_conf none = {0};
    cr_diag diag;
    cr_source *s;
    h_wants w;
    cr_diag_init(&diag);
    h_want(&w, "s,i,s");
    CHECK(rt->open(&s, &none, path, w.v, w.n, &diag) == CR_OK);
    *hands = rt->hands(s);
    *bytes = rt->hand_bytes(s);
    rt->close(s);
    cr_diag_clear(&diag);
}

TEST(large_pages) {
    int hands;
    size_t bytes;
    hands_of(0, &hands, &bytes);
    CHECK_INT(hands, 8);
    CHECK(bytes < (size_t)8 << 20);
    hands_of((size_t)100 << 20, &hands, &bytes);
    CHECK_INT(hands, 3);
    CHECK(bytes > (size_t)60 << 20 && bytes < (size_t)90 << 20);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {
        CASE(types),
        CASE(shapes),
        CASE(asked_types),
        CASE(files_that_differ),
        CASE(files_that_are_none),
        CASE(same_as_csv),
        CASE(shuffled),
        CASE(resume_everywhere),
        CASE(shares_of_batches),
        CASE(bad_rows),
        CASE(many_files),
        CASE(large_pages),
        CASE(damaged),
        CASE(null_keys),
        CASE(rows_that_cannot_be),
        CASE(damaged_anywhere),
        CASE(free_at_any_moment),
        CASE(steady_state_allocates_nothing),
    };
    cr_log_set_level(CR_LOG_ERROR);
    int r = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    h_clean();
    return r;
}
