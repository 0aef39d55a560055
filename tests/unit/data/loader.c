/*
 * loader.c - the loader: the same stream for any number of threads, exact resume, ranks, bad rows,
 * errors, and a free at any moment. The encoder is a small one of our own.
 */
#include "data/load/loader.h"

#include "base/log.h"
#include "csv_help.h"
#include "data/load/fill.h"

/* Columns id,list,x,y,r: ids plain, jagged (1;2;3) with weights, one id under offsets; dense x and
 * 2x; label y; weight 1 + y; reserved r and id. A negative id is bad, so is text in list. ctx:
 * NULL, or gets the address of the dense values. */
static cr_code encode(void *ctx, const cr_chunk *in, cr_chunk_rows *to, cr_bad *bad, cr_err *err) {
    cr_batch *out = &to->rows;
    (void)err;
    int64_t n = in->n_rows;
    cr_arena *a = &to->arena;
    const cr_column *list = &in->cols[1];
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++)
        most += list->end[i] - list->beg[i];
    int64_t *ids = CR_NEW_N(a, int64_t, most + 1);
    float *w = CR_NEW_N(a, float, most + 1);
    int32_t *off = CR_NEW_N(a, int32_t, n + 1), *one = CR_NEW_N(a, int32_t, n + 1);
    float *dense = CR_NEW_N(a, float, 2 * n);
    float *label = CR_NEW_N(a, float, n), *weight = CR_NEW_N(a, float, n);
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *p = list->bytes + list->beg[i], *end = list->bytes + list->end[i];
        while (p < end) {
            const char *q = memchr(p, ';', (size_t)(end - p));
            if (!q) q = end;
            int64_t v = 0;
            if (!cr_parse_i64(p, (size_t)(q - p), &v))
                cr_bad_add(bad, i, in->lines[i], "column 'list', value '%.*s': not a number",
                           (int)(q - p), p);
            w[k] = (float)v / 2;
            ids[k++] = v;
            p = q + 1;
        }
        off[i + 1] = (int32_t)k;
        one[i + 1] = (int32_t)i + 1;
        dense[2 * i] = in->cols[2].v.f32[i];
        dense[2 * i + 1] = 2 * in->cols[2].v.f32[i];
        label[i] = in->cols[3].v.f32[i];
        weight[i] = 1 + label[i];
        if (in->cols[0].v.i64[i] < 0)
            cr_bad_add(bad, i, in->lines[i], "column 'id', value '%lld': negative",
                       (long long)in->cols[0].v.i64[i]);
    }
    out->n_sparse = 3;
    out->sparse = CR_NEW_N(a, cr_jagged, 3);
    int64_t *plain = CR_NEW_N(a, int64_t, n);
    memcpy(plain, in->cols[0].v.i64, (size_t)n * sizeof(*plain));
    out->sparse[0] = (cr_jagged){.ids = plain, .n_ids = n};
    out->sparse[1] = (cr_jagged){.off = off, .ids = ids, .w = w, .n_ids = k};
    out->sparse[2] = (cr_jagged){.off = one, .ids = plain, .n_ids = n};
    out->dense_width = 2;
    out->dense = dense;
    const float **labels = CR_NEW_N(a, const float *, 2);
    labels[0] = label;
    labels[1] = weight;
    out->n_labels = out->n_weights = 1;
    out->labels = labels;
    out->weights = labels + 1;
    cr_column *res = CR_NEW_N(a, cr_column, 2);
    res[0] = in->cols[4];
    res[1] = in->cols[0];
    out->n_reserved = 2;
    out->reserved = res;
    if (ctx) *(const float **)ctx = dense;
    return CR_OK;
}

/* row i of the made-up data: text in the file and what a batch shows of it */
static void row_text(cr_buf *b, int64_t i) {
    cr_buf_printf(b, "%lld,", (long long)i);
    for (int64_t k = 0; k < i % 4; k++)
        cr_buf_printf(b, "%s%lld", k ? ";" : "", (long long)(i + k));
    cr_buf_printf(b, ",%lld.5,%d,", (long long)(i % 100), (int)(i % 2));
    cr_buf_printf(b, i % 5 ? "r%lld" : "\"r\"\"%lld\n,\"", (long long)i);
    cr_buf_char(b, '\n');
}

static void row_shown(cr_buf *b, int64_t i) {
    cr_buf_printf(b, "%lld;", (long long)i);
    for (int64_t k = 0; k < i % 4; k++)
        cr_buf_printf(b, "%lld*%g,", (long long)(i + k), (double)((float)(i + k) / 2));
    cr_buf_printf(b, ";%lld;%g,%g;%d;%d;", (long long)i, (double)(i % 100) + 0.5,
                  (double)(i % 100) * 2 + 1, (int)(i % 2), (int)(i % 2) + 1);
    cr_buf_printf(b, i % 5 ? "r%lld" : "r\"%lld\n,", (long long)i);
    cr_buf_printf(b, ";%lld/", (long long)i);
}

static void show(cr_buf *out, const cr_batch *b) {
    CHECK_INT(b->n_sparse, 3);
    CHECK(b->sparse[0].off == NULL);
    CHECK(b->sparse[2].off == NULL);
    CHECK(b->sparse[0].w == NULL);
    for (int64_t i = 0; i < b->n_rows; i++) {
        cr_buf_printf(out, "%lld;", (long long)b->sparse[0].ids[i]);
        const cr_jagged *j = &b->sparse[1];
        int64_t a = j->off ? j->off[i] : i, z = j->off ? j->off[i + 1] : i + 1;
        for (; a < z; a++)
            cr_buf_printf(out, "%lld*%g,", (long long)j->ids[a], (double)j->w[a]);
        cr_buf_printf(out, ";%lld;%g,%g;%g;%g;", (long long)b->sparse[2].ids[i],
                      (double)b->dense[2 * i], (double)b->dense[2 * i + 1], (double)b->labels[0][i],
                      (double)b->weights[0][i]);
        const cr_column *r = &b->reserved[0];
        cr_buf_add(out, r->bytes + r->beg[i], r->end[i] - r->beg[i]);
        cr_buf_printf(out, ";%lld/", (long long)b->reserved[1].v.i64[i]);
    }
}

static cr_data_conf conf;
static h_fields fields;
static h_wants wants;

static cr_loader_opts base_opts(const char *paths) {
    conf = (cr_data_conf){.shuffle_buffer_size = 3};
    h_input_fields(&conf, &fields, "id:1,list:2,x:3,y:3,r:2");
    h_want(&wants, "id,list,x,y,r");
    return (cr_loader_opts){.conf = &conf,
                            .reader = cr_reader_find("CsvDataset"),
                            .paths = paths,
                            .want = wants.v,
                            .n_want = wants.n,
                            .encode = encode,
                            .batch_size = 16,
                            .n_threads = 2,
                            .n_epochs = 1,
                            .seed = 7,
                            .block_bytes = 300};
}

#define N_ROWS 700
/* four files: plain, gzip, plain, zstd; bad: every 50th row gets a bad value or a missing field */
static const char *make_files(bool bad) {
    for (int f = 0; f < 4; f++) {
        cr_buf b, z;
        cr_buf_init(&b);
        cr_buf_init(&z);
        for (int64_t i = f * N_ROWS / 4; i < (f + 1) * N_ROWS / 4; i++) {
            row_text(&b, i);
            if (bad && i % 50 == 49)
                cr_buf_str(&b, i % 100 == 49   ? "7,x;y,1,1,bad\n"
                               : i % 150 == 99 ? "1,2\n"
                                               : "a,,1,1,r\n");
        }
        char name[32];
        snprintf(name, sizeof(name), bad ? "bad-%d.csv" : "good-%d.csv", f);
        if (f % 2)
            h_pack(&z, b.data, b.n, f == 3, 2);
        else
            cr_buf_add(&z, b.data, b.n);
        h_write(name, z.data, z.n);
        cr_buf_clear(&b);
        cr_buf_clear(&z);
    }
    return h_path(bad ? "bad-*.csv" : "good-*.csv");
}

#include "stream.h"

static char *all_rows(int64_t from, int64_t to) {
    cr_buf b;
    cr_buf_init(&b);
    for (int64_t i = from; i < to; i++)
        row_shown(&b, i);
    char *s = strdup(b.data);
    cr_buf_clear(&b);
    return s;
}

static char *joined(const stream *s) {
    cr_buf b;
    cr_buf_init(&b);
    for (int i = 0; i < s->n; i++)
        cr_buf_str(&b, s->text[i]);
    char *t = strdup(b.data ? b.data : "");
    cr_buf_clear(&b);
    return t;
}

TEST(file_order) {
    cr_loader_opts o = base_opts(make_files(false));
    char *want = all_rows(0, N_ROWS);
    static const size_t blocks[] = {60, 300, 5000, 0};
    static const int64_t sizes[] = {2, 16, 100, 699, 700, 5000};
    for (int b = 0; b < 4; b++) {
        for (int k = 0; k < 6; k++) {
            for (int t = 1; t <= 4; t *= 2) {
                o.block_bytes = blocks[b];
                o.batch_size = sizes[k];
                o.n_threads = t;
                stream s;
                run(&s, &o);
                char *got = joined(&s);
                CHECK_INT(s.n, (N_ROWS + sizes[k] - 1) / sizes[k] + 1);
                CHECK_STR(got, want);
                free(got);
                drop(&s);
            }
        }
    }
    o.batch_size = 100;
    o.drop_remainder = true;
    o.n_epochs = 2;
    stream s;
    run(&s, &o);
    CHECK_INT(s.n, 16);
    CHECK_STR(s.text[0], s.text[8]);
    drop(&s);
    o.batch_size = 99;
    run(&s, &o);
    CHECK_INT(s.n, 16);
    CHECK_INT(s.after[6].rows, 693);
    drop(&s);
    free(want);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* the multiset of rows of a text, as sorted text */
static char *sorted(const char *text) {
    char *t = strdup(text), *rows[N_ROWS + 8];
    int n = 0;
    for (char *p = t, *q; (q = strchr(p, '/')) && n < N_ROWS + 8; p = q + 1) {
        *q = 0;
        rows[n++] = p;
    }
    qsort(rows, (size_t)n, sizeof(*rows), by_text);
    cr_buf b;
    cr_buf_init(&b);
    for (int i = 0; i < n; i++)
        cr_buf_printf(&b, "%s/", rows[i]);
    char *s = strdup(b.data ? b.data : "");
    cr_buf_clear(&b);
    free(t);
    return s;
}

TEST(shuffled) {
    cr_loader_opts o = base_opts(make_files(false));
    char *plain = all_rows(0, N_ROWS), *want = sorted(plain);
    o.shuffle = true;
    o.n_epochs = 1;
    stream s, s2;
    run(&s, &o);
    char *got = joined(&s), *g = sorted(got);
    CHECK(strcmp(got, plain) != 0);
    CHECK_STR(g, want);
    for (int t = 1; t <= 4; t += 3) {
        o.n_threads = t;
        run(&s2, &o);
        same(&s, 0, &s2, true, "threads");
        drop(&s2);
    }
    /* another seed, another epoch: other orders of the same rows */
    o.seed = 8;
    run(&s2, &o);
    char *got2 = joined(&s2), *g2 = sorted(got2);
    CHECK(strcmp(got2, got) != 0);
    CHECK_STR(g2, want);
    free(got2);
    free(g2);
    drop(&s2);
    o.seed = 7;
    o.n_epochs = 2;
    run(&s2, &o);
    CHECK_INT(s2.n, 2 * s.n);
    CHECK_STR(s2.text[0], s.text[0]);
    CHECK(strcmp(s2.text[s.n], s.text[0]) != 0);
    drop(&s2);
    /* a batch draws from the whole window: the first one is not from one block only */
    int64_t lo = N_ROWS, hi = 0;
    for (char *p = s.text[0]; *p; p = strchr(p, '/') + 1) {
        int64_t id = atoll(p);
        lo = id < lo ? id : lo;
        hi = id > hi ? id : hi;
    }
    CHECK(hi - lo > 50);
    drop(&s);
    free(got);
    free(g);
    free(plain);
    free(want);
}

TEST(resume_everywhere) {
    for (int bad = 0; bad < 2; bad++) {
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            cr_loader_opts o = base_opts(make_files(bad));
            o.shuffle = shuffle;
            o.n_epochs = 2;
            o.batch_size = 23;
            o.max_bad_rows = bad ? 14 : 0;
            stream s, s2;
            run(&s, &o);
            CHECK(s.code == CR_OK);
            CHECK_INT(s.n, 2 * (31 + 1));
            CHECK_INT(s.bad_rows, bad ? 28 : 0);
            for (int i = 0; i < s.n - 1; i++) {
                o.start = s.after[i];
                o.n_threads = 1 + i % 3;
                run(&s2, &o);
                same(&s, i + 1, &s2, true, shuffle ? "shuffled" : "in order");
                /* skipped before + skipped after = all of them */
                int64_t before = s.after[i].bad_rows + s.after[i].epoch * (bad ? 14 : 0);
                CHECK_INT(before + s2.bad_rows, s.bad_rows);
                drop(&s2);
            }
            /* behind the last epoch there is nothing */
            o.start = s.after[s.n - 1];
            run(&s2, &o);
            CHECK_INT(s2.n, 1);
            CHECK_STR(s2.text[0], "");
            drop(&s2);
            drop(&s);
        }
    }
}

TEST(shares) {
    static const cr_share shares[][3] = {{{0, 1, 2}, {1, 2, 2}},
                                         {{0, 1, 3}, {1, 2, 3}, {2, 3, 3}},
                                         {{0, 3, 8}, {3, 6, 8}, {6, 8, 8}}};
    for (int shuffle = 0; shuffle < 2; shuffle++) {
        for (int k = 0; k < 3; k++) {
            int world = k == 0 ? 2 : 3;
            cr_loader_opts o = base_opts(make_files(false));
            o.shuffle = shuffle;
            o.batch_size = 48;
            stream one, part[3];
            run(&one, &o);
            for (int r = 0; r < world; r++) {
                o.share = shares[k][r];
                run(&part[r], &o);
                CHECK_INT(part[r].n, one.n);
            }
            for (int i = 0; i < one.n; i++) {
                cr_buf b;
                cr_buf_init(&b);
                cr_buf_reserve(&b, 1);
                b.data[0] = 0;
                for (int r = 0; r < world; r++) {
                    cr_buf_str(&b, part[r].text[i]);
                    CHECK(memcmp(&part[r].after[i], &one.after[i], sizeof(cr_data_pos)) == 0);
                }
                CHECK_STR(b.data, one.text[i]);
                cr_buf_clear(&b);
            }
            for (int r = 0; r < world; r++)
                drop(&part[r]);
            drop(&one);
        }
    }
    /* a last batch with fewer rows than shares */
    h_write("two.csv", "1,1,1,1,a\n2,2,2,2,b\n", 20);
    cr_loader_opts o = base_opts(h_path("two.csv"));
    int64_t rows = 0;
    for (int r = 0; r < 3; r++) {
        o.share = (cr_share){r, r + 1, 3};
        cr_diag diag;
        cr_diag_init(&diag);
        cr_loader *l;
        CHECK(cr_loader_new(&l, &o, &diag) == CR_OK);
        cr_batch *b;
        bool done;
        cr_err err;
        CHECK(cr_loader_next(l, &b, &done, &err) == CR_OK && b != NULL);
        CHECK_INT(b->n_sparse, 3);
        CHECK_INT(b->global_rows, 2);
        rows += b->n_rows;
        cr_loader_release(l, b);
        cr_loader_free(l);
        cr_diag_clear(&diag);
    }
    CHECK_INT(rows, 2);
}

static const char *tail(const char *path) {
    const char *p = path ? strrchr(path, '/') : NULL;
    return p ? p + 1 : "";
}

TEST(bad_rows) {
    cr_loader_opts o = base_opts(make_files(true));
    stream s;
    for (int t = 1; t <= 4; t++) {
        o.n_threads = t;
        o.max_bad_rows = 0;
        run(&s, &o);
        CHECK_INT(s.code, CR_EDATA);
        CHECK_STR(tail(s.err.at.path), "bad-0.csv");
        CHECK_INT(s.err.at.line, 61); /* 50 rows, 10 of which take two lines */
        CHECK_STR(s.err.msg,
                  "column 'list', value 'x': not a number; correct the row, or leave some "
                  "out with data_config.max_bad_rows");
        CHECK(s.n >= 2);
        drop(&s);
        o.max_bad_rows = 13;
        run(&s, &o);
        CHECK_INT(s.code, CR_EDATA);
        CHECK_STR(tail(s.err.at.path), "bad-3.csv");
        CHECK(strstr(s.err.msg, "more bad rows than data_config.max_bad_rows: 13"));
        drop(&s);
        o.max_bad_rows = 14;
        run(&s, &o);
        CHECK_INT(s.code, CR_OK);
        CHECK_INT(s.bad_rows, 14);
        char *got = joined(&s), *want = all_rows(0, N_ROWS);
        CHECK_STR(got, want);
        free(got);
        free(want);
        drop(&s);
    }
    /* a resumed run that is past its limit already stops at its first bad row */
    o.max_bad_rows = 2;
    o.start = (cr_data_pos){.bad_rows = 32};
    run(&s, &o);
    CHECK_INT(s.code, CR_EDATA);
    CHECK_STR(tail(s.err.at.path), "bad-0.csv");
    drop(&s);
    o.start = (cr_data_pos){0};
    /* shuffled: the same error for any number of threads */
    o.shuffle = true;
    o.max_bad_rows = 5;
    stream s2;
    o.n_threads = 1;
    run(&s, &o);
    CHECK_INT(s.code, CR_EDATA);
    for (int t = 2; t <= 4; t++) {
        o.n_threads = t;
        run(&s2, &o);
        same(&s, 0, &s2, true, "bad rows, shuffled");
        CHECK_STR(s2.err.msg, s.err.msg);
        CHECK_INT(s2.err.at.line, s.err.at.line);
        drop(&s2);
    }
    drop(&s);
    /* a block of nothing but bad rows */
    cr_buf b;
    cr_buf_init(&b);
    for (int i = 0; i < 200; i++)
        cr_buf_str(&b, i % 100 == 99 ? "1,1,1,1,a\n" : "-1,1,1,1,a\n");
    h_write("many.csv", b.data, b.n);
    cr_buf_clear(&b);
    o = base_opts(h_path("many.csv"));
    o.block_bytes = 100;
    o.max_bad_rows = 1000;
    run(&s, &o);
    CHECK_INT(s.n, 2);
    CHECK_INT(s.bad_rows, 198);
    CHECK_INT(s.after[0].rows, 2);
    drop(&s);
}

TEST(free_at_any_moment) {
    cr_loader_opts o = base_opts(make_files(false));
    o.n_epochs = 0;
    o.block_bytes = 100;
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
            CHECK(!done);
            if (held) cr_loader_release(l, held);
            held = b;
        }
        cr_loader_free(l); /* with a batch still held */
        cr_diag_clear(&diag);
    }
    cr_loader_free(NULL);
}

TEST(errors) {
    /* a gzip file that is cut short: all batches before it, then the error */
    cr_loader_opts o = base_opts(make_files(false));
    cr_buf b;
    cr_buf_init(&b);
    cr_err err;
    CHECK(cr_file_read(h_path("good-1.csv"), 0, &b, &err) == CR_OK);
    h_write("cut-0.csv", "", 0);
    cr_buf c;
    cr_buf_init(&c);
    CHECK(cr_file_read(h_path("good-0.csv"), 0, &c, &err) == CR_OK);
    h_write("cut-0.csv", c.data, c.n);
    h_write("cut-1.csv", b.data, b.n - 7);
    cr_buf_clear(&b);
    cr_buf_clear(&c);
    o.paths = h_path("cut-*.csv");
    stream s;
    for (int t = 1; t < 4; t++) {
        o.n_threads = t;
        run(&s, &o);
        CHECK_INT(s.code, CR_EDATA);
        CHECK_STR(tail(s.err.at.path), "cut-1.csv");
        CHECK(strstr(s.err.msg, "gzip data ends in the middle"));
        CHECK(s.n >= 175 / 16);
        drop(&s);
    }
    /* no rows: an endless stream would spin */
    h_write("empty.csv", "\n", 1);
    o = base_opts(h_path("empty.csv"));
    o.n_epochs = 0;
    run(&s, &o);
    CHECK_INT(s.code, CR_EDATA);
    CHECK(strstr(s.err.msg, "there are no rows"));
    o.n_epochs = 2;
    run(&s, &o);
    CHECK_INT(s.code, CR_OK);
    CHECK_INT(s.n, 2);
    drop(&s);
    h_write("few.csv", "1,1,1,1,a\n", 10);
    o = base_opts(h_path("few.csv"));
    o.n_epochs = 0;
    o.drop_remainder = true;
    run(&s, &o);
    CHECK(strstr(s.err.msg, "fewer rows than one batch"));
    /* positions that do not fit */
    o = base_opts(make_files(false));
    o.start = (cr_data_pos){.unit = INT64_C(1) << 50};
    run(&s, &o);
    CHECK(strstr(s.err.msg, "does not fit these files"));
    o.start = (cr_data_pos){.row = 500, .rows = 500};
    run(&s, &o);
    CHECK(strstr(s.err.msg, "does not fit the saved position"));
    o.start = (cr_data_pos){.unit = (INT64_C(22) << 32) + 1000};
    o.n_threads = 3;
    run(&s, &o);
    CHECK(s.code == CR_OK || strstr(s.err.msg, "shorter than the saved position"));
    drop(&s);
    /* mistakes found at opening */
    o = base_opts(h_path("nothing-*.csv"));
    run(&s, &o);
    CHECK(s.code == CR_EIO);
}

TEST(steady_state_allocates_nothing) {
    cr_loader_opts o = base_opts(make_files(false));
    for (int shuffle = 0; shuffle < 2; shuffle++) {
        o.shuffle = shuffle;
        o.n_epochs = 0;
        o.block_bytes = 2000;
        cr_diag diag;
        cr_diag_init(&diag);
        cr_loader *l;
        CHECK(cr_loader_new(&l, &o, &diag) == CR_OK);
        uint64_t before = 0;
        int64_t batches = 0;
        for (int epoch = 0; epoch < 60;) {
            cr_batch *b;
            bool done;
            cr_err err;
            CHECK(cr_loader_next(l, &b, &done, &err) == CR_OK);
            if (!b && ++epoch == 40) before = cr_alloc_count();
            batches += b && epoch >= 40;
            cr_loader_release(l, b);
        }
        uint64_t n = cr_alloc_count() - before;
        CHECK_INT(batches, 20 * 44);
        /* opening a compressed file again takes four; the rest is reused */
        CHECK(n <= 20 * 8 + 100);
        cr_loader_free(l);
        cr_diag_clear(&diag);
    }
}

/* A slot gets the very memory of the encoder, unless rows are shuffled or left out. */
TEST(slot_takes_over) {
    static const char text[] = "1,5,0.5,1,a\n2,,1.5,0,b\n3,6;7,2.5,1,c\n";
    static const char with_bad[] = "1,5,0.5,1,a\n-2,,1.5,0,b\n3,6;7,2.5,1,c\n";
    h_write("over.csv", text, sizeof(text) - 1);
    h_write("over_bad.csv", with_bad, sizeof(with_bad) - 1);
    enum { PLAIN, SHUFFLED, LEFT_OUT };
    for (int k = PLAIN; k <= LEFT_OUT; k++) {
        const float *made = NULL;
        cr_loader_opts o = base_opts(h_path(k == LEFT_OUT ? "over_bad.csv" : "over.csv"));
        o.encode_ctx = &made;
        o.shuffle = k == SHUFFLED;
        cr_diag diag;
        cr_diag_init(&diag);
        cr_source *src;
        cr_items in;
        cr_filler f;
        cr_raw raw = {0};
        cr_slots slots = {0};
        cr_err err;
        bool end = false;
        CHECK_INT(o.reader->open(&src, o.conf, o.paths, o.want, o.n_want, &diag), CR_OK);
        CHECK_INT(cr_items_open(&in, &o, src, &err), CR_OK);
        cr_filler_init(&f, &in, -1);
        for (int again = 0; again < 3; again++) {
            cr_slot *s = cr_slots_new(&slots);
            CHECK_INT(o.reader->cut(src, 0, 0, &raw, &end, &err), CR_OK);
            CHECK_INT(cr_fill(&f, &raw, s), CR_OK);
            CHECK_INT(s->rows.n_rows, k == LEFT_OUT ? 2 : 3);
            CHECK((s->rows.dense == made) == (k == PLAIN));
            if (k != SHUFFLED) {
                CHECK(s->rows.sparse[2].off == NULL);
                CHECK(s->rows.sparse[1].off != NULL);
            }
            /* reserved columns do not point into the chunk, which is used again */
            CHECK(s->rows.reserved[1].v.i64 != f.chunk.cols[0].v.i64);
            cr_slots_push(&slots, s);
        }
        for (const cr_slot *s = slots.head; k == PLAIN && s; s = s->next) {
            cr_buf b, want;
            cr_buf_init(&b);
            cr_buf_init(&want);
            show(&b, &s->rows);
            cr_buf_str(&want, "1;5*2.5,;1;0.5,1;1;2;a;1/2;;2;1.5,3;0;1;b;2/"
                              "3;6*3,7*3.5,;3;2.5,5;1;2;c;3/");
            CHECK_STR(b.data, want.data);
            cr_buf_clear(&b);
            cr_buf_clear(&want);
        }
        cr_slots_clear(&slots);
        cr_filler_clear(&f);
        cr_free(raw.text);
        cr_items_close(&in);
        cr_diag_clear(&diag);
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {
        CASE(file_order),         CASE(shuffled),
        CASE(resume_everywhere),  CASE(shares),
        CASE(bad_rows),           CASE(errors),
        CASE(free_at_any_moment), CASE(steady_state_allocates_nothing),
        CASE(slot_takes_over),
    };
    cr_log_set_level(CR_LOG_ERROR);
    int r = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    h_clean();
    return r;
}
