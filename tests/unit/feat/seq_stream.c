/*
 * seq_stream.c - sequences behind readers and loader: text in CSV, text and lists in Parquet give
 * the same steps, in batches of any size, shuffled or not, encoded row by row or in blocks.
 */
#include "data/load/loader.h"
#include "feat_test.h"

#include <unistd.h>

#include "base/rng.h"
#include "pq_make.h"

#define N_ROWS 400

/* column: one per kind of sequence; '^' between the values of a step */
static const char *const CONF[] = {
    /* FG_NORMAL */
    "- sequence_id_feature: {feature_name: one, expression: 'user:one', num_buckets: 50, "
    "embedding_dim: 4}\n"
    "- sequence_id_feature: {feature_name: many, expression: 'user:many', num_buckets: 50, "
    "embedding_dim: 4, value_dim: 0, separator: '^', default_value: '7'}\n"
    "- sequence_id_feature: {feature_name: word, expression: 'user:word', hash_bucket_size: 1000, "
    "embedding_dim: 4, sequence_length: 3}\n"
    "- sequence_id_feature: {feature_name: w, expression: 'user:w', num_buckets: 50, "
    "embedding_dim: 4, value_dim: 0, separator: '^', weighted: true}\n"
    "- sequence_raw_feature: {feature_name: x, expression: 'user:x', normalizer: "
    "'method=zscore,mean=0.3,standard_deviation=1.7'}\n"
    "- sequence_raw_feature: {feature_name: two, expression: 'user:two', value_dim: 2, separator: "
    "'^', default_value: '1^2', sequence_length: 4}\n"
    "- sequence_feature: {sequence_name: s, sequence_length: 4, features: ["
    "{id_feature: {feature_name: a, expression: 'item:a', num_buckets: 50, embedding_dim: 4}}, "
    "{raw_feature: {feature_name: b, expression: 'item:b', boundaries: [10, 20, 30], "
    "embedding_dim: 4}}, "
    "{raw_feature: {feature_name: c, expression: 'user:c'}}]}",
    /* FG_NONE */
    "- sequence_id_feature: {feature_name: one, num_buckets: 50, embedding_dim: 4}\n"
    "- sequence_id_feature: {feature_name: many, num_buckets: 50, embedding_dim: 4, value_dim: 0, "
    "fg_encoded_default_value: '7^8'}\n"
    "- sequence_id_feature: {feature_name: w, num_buckets: 50, embedding_dim: 4, value_dim: 0, "
    "weighted: true, sequence_length: 2}\n"
    "- sequence_raw_feature: {feature_name: x, fg_encoded_default_value: '9'}\n"
    "- sequence_raw_feature: {feature_name: two, value_dim: 2, fg_encoded_default_value: '1^2'}\n"
    "- sequence_feature: {sequence_name: s, sequence_length: 4, features: ["
    "{id_feature: {feature_name: a, num_buckets: 50, embedding_dim: 4}}, "
    "{raw_feature: {feature_name: c}}]}",
};
static const char *const DATA[] = {
    "fg_mode: FG_NORMAL, with_header: true, label_fields: [y]",
    "fg_mode: FG_NONE, with_header: true, label_fields: [y], fg_encoded_multival_sep: '^'",
};
static const char *const NAMES[] = {"one", "many", "word", "w", "x", "two", "s__a", "s__b", "s__c"};
enum { ONE, MANY, WORD, W, X, TWO, A, B, C, N_COLS };
#define LISTS                                                                                      \
    "y:int64, one:list<int64>, many:list<list<int32>>, word:list<string>, w:list<list<string>>, "  \
    "x:list<double>, two:list<list<float>>, s__a:list<int32>, s__b:list<float>, s__c:list<double>"
#define TEXTS                                                                                      \
    "y:int64, one:string, many:string, word:string, w:string, x:string, two:string, s__a:string, " \
    "s__b:string, s__c:string"

static uint64_t key, draws;
static uint64_t draw(uint64_t below) {
    return cr_rng_below(key, draws++, below);
}

static void value(cr_buf *b, int kind) {
    switch (kind) {
    case WORD: cr_buf_printf(b, "w%d", (int)draw(30)); break;
    case W: cr_buf_printf(b, "%d:%d.5", (int)draw(60), (int)draw(9)); break;
    case X:
    case TWO:
    case B:
    case C: cr_buf_printf(b, "%d.%d", (int)draw(40), (int)(draw(4) * 25)); break;
    default: cr_buf_printf(b, "%d", (int)draw(60)); break;
    }
}

/* one cell as text and as a list; n -1: null */
static void cell(cr_buf *text, cr_buf *list, int kind, int n) {
    if (n < 0) {
        cr_buf_str(list, "null");
        return;
    }
    bool nested = kind == MANY || kind == W || kind == TWO;
    cr_buf_str(list, "[");
    for (int i = 0; i < n; i++) {
        if (i) cr_buf_str(text, ";");
        if (i) cr_buf_str(list, ",");
        size_t at = text->n;
        if (!nested) {
            bool null = kind < A && draw(8) == 0 && n > 1;
            if (!null) value(text, kind);
            if (null)
                cr_buf_str(list, "null");
            else
                cr_buf_add(list, text->data + at, text->n - at);
            continue;
        }
        /* one empty step as text is a row without values */
        int k = kind == TWO ? 2 * (n == 1 || draw(8) != 0) : n == 1 ? 2 : (int)draw(4);
        bool null = k == 0 && draw(2);
        cr_buf_str(list, null ? "null" : "[");
        for (int j = 0; j < k; j++) {
            if (j) cr_buf_str(text, "^");
            if (j) cr_buf_str(list, ",");
            at = text->n;
            value(text, kind);
            cr_buf_add(list, text->data + at, text->n - at);
        }
        if (!null) cr_buf_str(list, "]");
    }
    cr_buf_str(list, "]");
}

static void write_files(const char *csv, const char *texts, const char *lists) {
    FILE *f = fopen(csv, "w");
    CHECK(f != NULL);
    if (!f) return;
    pm_file *pt = cr_alloc(sizeof(*pt), "a test file"), *pl = cr_alloc(sizeof(*pl), "a test file");
    pm_init(pt, TEXTS);
    pm_init(pl, LISTS);
    fputs("y", f);
    for (int c = 0; c < N_COLS; c++)
        fprintf(f, ",%s", NAMES[c]);
    fputs("\n", f);
    for (int r = 0; r < N_ROWS; r++) {
        cr_buf t, l, rt, rl;
        cr_buf_init(&t);
        cr_buf_init(&l);
        cr_buf_init(&rt);
        cr_buf_init(&rl);
        fprintf(f, "%d", r);
        cr_buf_printf(&rt, "%d", r);
        cr_buf_printf(&rl, "%d", r);
        int block = (int)draw(8) - 1;
        for (int c = 0; c < N_COLS; c++) {
            cr_buf_reset(&t);
            cr_buf_reset(&l);
            cell(&t, &l, c, c >= A ? block : (int)draw(8) - 1);
            cr_buf_str(&t, "");
            fprintf(f, ",%s", t.n ? t.data : "");
            /* an empty text may also be a null */
            cr_buf_printf(&rt, "|%s", t.n ? t.data : draw(2) ? "null" : "");
            cr_buf_printf(&rl, "|%s", l.data);
        }
        fputs("\n", f);
        pm_row(pt, rt.data);
        pm_row(pl, rl.data);
        cr_buf_clear(&t);
        cr_buf_clear(&l);
        cr_buf_clear(&rt);
        cr_buf_clear(&rl);
    }
    fclose(f);
    pm_write(pt, texts, &(cr_pq_write_opts){.group_rows = 150});
    pm_write(pl, lists, &(cr_pq_write_opts){.group_rows = 130});
    pm_clear(pt);
    pm_clear(pl);
    cr_free(pt);
    cr_free(pl);
}

/* what a row became, as text */
static void show_row(cr_buf *b, const cr_features *fs, const cr_batch *x, int64_t r) {
    for (int i = 0; i < fs->n; i++) {
        const cr_feature *f = fs->v[i];
        const cr_jagged *j = f->sparse ? &x->sparse[f->slot] : NULL;
        const cr_dense_seq *d = f->sparse ? NULL : &x->dense_seq[f->slot];
        const int32_t *steps = j ? j->steps : d->steps;
        CHECK((steps != NULL) == (f->seq != NULL));
        cr_buf_printf(b, " %s:", f->name);
        int64_t a = steps ? steps[r] : r, z = steps ? steps[r + 1] : r + 1;
        for (int64_t k = a; k < z; k++) {
            cr_buf_str(b, "(");
            int64_t from = j && j->off ? j->off[k] : k, to = j && j->off ? j->off[k + 1] : k + 1;
            for (int64_t v = from; j && v < to; v++)
                cr_buf_printf(b, "%lld*%g ", (long long)j->ids[v], j->w ? (double)j->w[v] : 1.0);
            for (int64_t v = 0; d && v < d->width; v++)
                cr_buf_printf(b, "%.9g ", (double)d->v[k * d->width + v]);
            cr_buf_str(b, ")");
        }
    }
}

/* what was counted, but for what depends on which row comes first */
static void show_counts(cr_buf *b, const cr_features *fs, const cr_feature_counts *v) {
    for (int i = 0; i < fs->n; i++) {
        const cr_feature_counts *c = &v[i];
        cr_buf_printf(b, " %s:", fs->v[i]->name);
        const int64_t n[] = {c->rows,         c->steps,   c->ids,        c->missing,
                             c->out_of_range, c->unknown, c->not_finite, c->unparsable,
                             c->truncated,    c->cut,     c->varies};
        for (size_t k = 0; k < sizeof(n) / sizeof(n[0]); k++)
            cr_buf_printf(b, " %lld", (long long)n[k]);
    }
}

/* the rows by their label, then the counts */
static void read_rows(char **rows, int mode, const char *reader, const char *path, int64_t batch,
                      bool shuffle, size_t block) {
    t_feats t;
    t_open(&t, DATA[mode], CONF[mode], true, NULL, 0);
    CHECK(t.fs != NULL);
    if (!t.fs) {
        t_show_diag(&t);
        t_close(&t);
        return;
    }
    t_root *root = cr_conf_bind(&t.arena, &t_root_msg, t.doc.root, &t.diag);
    root->data_config->shuffle_buffer_size = 3;
    cr_loader_opts o = {.conf = root->data_config,
                        .reader = cr_reader_find(reader),
                        .paths = path,
                        .want = t.fs->want,
                        .n_want = t.fs->n_want,
                        .encode = cr_features_encode,
                        .encode_ctx = t.fs,
                        .tally_size = cr_features_counts_size(t.fs),
                        .tally_add = cr_features_counts_add,
                        .check = cr_features_check,
                        .batch_size = batch,
                        .shuffle = shuffle,
                        .seed = 5,
                        .n_threads = 2,
                        .n_epochs = 1,
                        .block_bytes = block};
    cr_loader *l = NULL;
    cr_err err = {0};
    bool done = false;
    cr_code rc = cr_loader_new(&l, &o, &t.diag);
    CHECK(rc == CR_OK);
    if (rc != CR_OK) t_show_diag(&t);
    while (rc == CR_OK && !done) {
        cr_batch *b = NULL;
        rc = cr_loader_next(l, &b, &done, &err);
        CHECK(rc == CR_OK);
        if (rc != CR_OK) fprintf(stderr, "%s\n", err.msg);
        if (rc != CR_OK || !b) continue;
        for (int64_t r = 0; r < b->n_rows; r++) {
            cr_buf text;
            cr_buf_init(&text);
            show_row(&text, t.fs, b, r);
            int y = (int)b->labels[0][r];
            CHECK(y >= 0 && y < N_ROWS && !rows[y]);
            rows[y] = cr_alloc(text.n + 1, "a row");
            memcpy(rows[y], text.data, text.n + 1);
            cr_buf_clear(&text);
        }
        cr_loader_release(l, b);
    }
    cr_feature_counts *counts = CR_NEW_N(&t.arena, cr_feature_counts, t.fs->n);
    cr_buf text;
    cr_buf_init(&text);
    if (l) cr_loader_tally(l, counts);
    CHECK_INT(counts[0].rows, N_ROWS);
    show_counts(&text, t.fs, counts);
    rows[N_ROWS] = cr_alloc(text.n + 1, "counts");
    memcpy(rows[N_ROWS], text.data, text.n + 1);
    cr_buf_clear(&text);
    cr_loader_free(l);
    t_close(&t);
}

static void drop_rows(char **rows) {
    for (int r = 0; r <= N_ROWS; r++)
        cr_free(rows[r]);
}

static void same(char *const *want, int mode, const char *reader, const char *path, int64_t batch,
                 bool shuffle, size_t block) {
    char *got[N_ROWS + 1] = {NULL};
    int differ = 0;
    read_rows(got, mode, reader, path, batch, shuffle, block);
    for (int r = 0; r <= N_ROWS; r++) {
        if (got[r] && strcmp(got[r], want[r]) == 0) continue;
        if (differ++ == 0)
            fprintf(stderr, "%s, mode %d, batch %d, row %d:\n%s\ninstead of\n%s\n", path, mode,
                    (int)batch, r, got[r] ? got[r] : "nothing", want[r]);
    }
    CHECK_INT(differ, 0);
    drop_rows(got);
}

TEST(text_is_lists_is_parquet) {
    char dir[] = "/tmp/crank_seq_XXXXXX", csv[64], texts[64], lists[64];
    if (!mkdtemp(dir)) SKIP("no temporary folder");
    snprintf(csv, sizeof(csv), "%s/r.csv", dir);
    snprintf(texts, sizeof(texts), "%s/t.parquet", dir);
    snprintf(lists, sizeof(lists), "%s/l.parquet", dir);
    key = cr_rng_key(11, "seq", NULL);
    write_files(csv, texts, lists);
    for (int mode = 0; mode < 2; mode++) {
        char *want[N_ROWS + 1] = {NULL};
        read_rows(want, mode, "CsvDataset", csv, N_ROWS, false, 0);
        for (int r = 0; r < N_ROWS; r++)
            CHECK(want[r] != NULL);
        if (!want[0]) break;
        same(want, mode, "CsvDataset", csv, 1, false, 1);
        same(want, mode, "CsvDataset", csv, 64, false, 900);
        same(want, mode, "CsvDataset", csv, 7, false, 0);
        same(want, mode, "CsvDataset", csv, 32, true, 2000);
        same(want, mode, "ParquetDataset", texts, 64, false, 0);
        same(want, mode, "ParquetDataset", lists, 64, false, 0);
        same(want, mode, "ParquetDataset", lists, 9, true, 0);
        drop_rows(want);
    }
    unlink(csv);
    unlink(texts);
    unlink(lists);
    rmdir(dir);
}

TEST_MAIN(CASE(text_is_lists_is_parquet))
