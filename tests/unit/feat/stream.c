/*
 * stream.c - features behind the CSV reader and the loader: a file in, batches out. Blocks are
 * small, so one column has a single id per row in some of them and several in others.
 */
#include "data/load/loader.h"
#include "feat_test.h"

#include <unistd.h>

#define N_ROWS 500

static const char *const CONF =
    "- id_feature: {feature_name: one, expression: 'user:a', num_buckets: 1000, embedding_dim: 4}\n"
    "- id_feature: {feature_name: many, expression: 'user:b', num_buckets: 1000, embedding_dim: 4, "
    "separator: '|', weighted: true}\n"
    "- raw_feature: {feature_name: x, expression: 'item:x', default_value: '-1'}\n"
    "- raw_feature: {feature_name: v, expression: 'item:v', value_dim: 2, separator: '|'}";

/* a row has many values only in the second half of the file */
static void write_rows(const char *path, int bad_row) {
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    if (!f) return;
    fputs("y,a,b,x,v,id\n", f);
    for (int i = 0; i < N_ROWS; i++) {
        fprintf(f, "%d,%d,", i % 2, i);
        if (i < N_ROWS / 2)
            fprintf(f, "%d:0.5,", i);
        else
            for (int k = 0; k <= i % 3; k++)
                fprintf(f, "%d:%d%s", k, i, k < i % 3 ? "|" : ",");
        if (i % 7) fprintf(f, "%d.5", i);
        if (i == bad_row) fputs("oops", f);
        fprintf(f, ",%d|%d,u%d\n", i, i, i);
    }
    fclose(f);
}

static void check_row(const cr_batch *b, int64_t r, int i) {
    CHECK(b->labels[0][r] == (float)(i % 2));
    const cr_jagged *one = &b->sparse[0], *many = &b->sparse[1];
    CHECK(one->off == NULL && one->ids[r] == i);
    int64_t at = many->off ? many->off[r] : r, n = many->off ? many->off[r + 1] - at : 1;
    CHECK_INT(n, i < N_ROWS / 2 ? 1 : i % 3 + 1);
    for (int64_t k = 0; k < n; k++) {
        CHECK(many->ids[at + k] == (i < N_ROWS / 2 ? i : k));
        CHECK(many->w[at + k] == (i < N_ROWS / 2 ? 0.5f : (float)i));
    }
    const float *d = b->dense + r * b->dense_width;
    CHECK(d[0] == (i % 7 ? (float)i + 0.5f : -1.0f));
    CHECK(d[1] == (float)i && d[2] == (float)i);
}

static int run(const char *path, int64_t max_bad, bool check, cr_err *err) {
    t_feats t;
    t_open(&t, "fg_mode: FG_NORMAL, with_header: true, label_fields: [y]", CONF, true, NULL, 0);
    CHECK(t.fs != NULL);
    if (!t.fs) {
        t_show_diag(&t);
        t_close(&t);
        return -1;
    }
    t_root *root = cr_conf_bind(&t.arena, &t_root_msg, t.doc.root, &t.diag);
    cr_loader_opts o = {.conf = root->data_config,
                        .reader = cr_reader_find("CsvDataset"),
                        .paths = path,
                        .want = t.fs->want,
                        .n_want = t.fs->n_want,
                        .encode = cr_features_encode,
                        .encode_ctx = t.fs,
                        .batch_size = 64,
                        .n_threads = 2,
                        .n_epochs = 1,
                        .max_bad_rows = max_bad,
                        .block_bytes = 2000};
    cr_loader *l = NULL;
    int rows = 0;
    bool done = false;
    cr_code rc = cr_loader_new(&l, &o, &t.diag);
    CHECK(rc == CR_OK);
    if (rc != CR_OK) t_show_diag(&t);
    while (rc == CR_OK && !done) {
        cr_batch *b = NULL;
        rc = cr_loader_next(l, &b, &done, err);
        if (rc != CR_OK || !b) continue;
        for (int64_t r = 0; r < b->n_rows; r++) {
            if (check) check_row(b, r, rows);
            rows++;
        }
        cr_loader_release(l, b);
    }
    cr_loader_free(l);
    t_close(&t);
    return rows;
}

TEST(csv_to_batches) {
    char path[] = "/tmp/crank_stream_XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) SKIP("no temporary file");
    close(fd);
    cr_err err = {0};
    write_rows(path, -1);
    CHECK_INT(run(path, 0, true, &err), N_ROWS);
    /* row 333 stands on line 335 */
    write_rows(path, 333);
    CHECK(run(path, 0, false, &err) < 334);
    CHECK_INT(err.code, CR_EDATA);
    char text[900];
    cr_err_text(&err, text, sizeof(text));
    CHECK(strstr(text, ":335") != NULL &&
          strstr(text, "column 'x', value '333.5oops': not a number") != NULL);
    CHECK_INT(run(path, 1, false, &err), N_ROWS - 1);
    unlink(path);
}

TEST_MAIN(CASE(csv_to_batches))
