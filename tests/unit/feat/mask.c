/*
 * mask.c - use_mask: what a feature of each kind is in hidden rows, and which rows the loader
 * hides: a function of seed, epoch and place, never of threads, shuffling or pauses.
 */
#include <unistd.h>

#include "base/rng.h"
#include "data/load/loader.h"
#include "feat_test.h"
#include "pq_make.h"

#define NORMAL "fg_mode: FG_NORMAL, sample_mask_prob: 0.5, label_fields: [y]"
#define NONE   "fg_mode: FG_NONE, sample_mask_prob: 0.5, label_fields: [y]"

static bool open_with(t_feats *t, const char *data, const char *features) {
    t_open(t, data, features, true, NULL, 0);
    CHECK(t->fs != NULL);
    if (!t->fs) t_show_diag(t);
    return t->fs != NULL;
}

/* three rows, the second is hidden */
static const uint8_t second[] = {0, 1, 0};
static void encode(t_feats *t) {
    TEXT(t, "y", "1", "0", "1");
    t->chunk.hidden = second;
    t_encode(t);
    CHECK_INT(t->rc, CR_OK);
    CHECK_INT(t->bad.n, 0);
}

TEST(hidden_values) {
    t_feats t;
    if (open_with(&t, NORMAL,
                  "- id_feature: {feature_name: a, expression: 'user:a', num_buckets: 100, "
                  "embedding_dim: 4, use_mask: true}\n"
                  "- id_feature: {feature_name: b, expression: 'user:a', num_buckets: 100, "
                  "embedding_dim: 4, use_mask: true, default_value: '7'}\n"
                  "- id_feature: {feature_name: c, expression: 'user:a', num_buckets: 100, "
                  "embedding_dim: 4}\n"
                  "- raw_feature: {feature_name: x, expression: 'user:a', use_mask: true, "
                  "default_value: '-1'}\n")) {
        TEXT(&t, "a", "1", "2", "3");
        encode(&t);
        CHECK_IDS(&t, 0, IDS(1, 3), LENS(1, 0, 1));
        CHECK_IDS(&t, 1, IDS(1, 7, 3), ONE_EACH);
        CHECK_IDS(&t, 2, IDS(1, 2, 3), ONE_EACH); /* the column itself is as it was */
        CHECK(t.batch.dense[0] == 1 && t.batch.dense[1] == -1 && t.batch.dense[2] == 3);
        const cr_feature_counts *c = cr_features_counts(&t.enc);
        for (int i = 0; i < 4; i++) {
            CHECK_INT(c[i].masked, i != 2);
            CHECK_INT(c[i].missing, i != 2);
        }
        /* evaluation: nothing is hidden */
        t.chunk.hidden = NULL;
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(1, 2, 3), ONE_EACH);
    }
    t_close(&t);
    if (open_with(&t, NONE,
                  "- id_feature: {feature_name: a, num_buckets: 100, embedding_dim: 4, use_mask: "
                  "true, fg_encoded_default_value: '8'}\n"
                  "- raw_feature: {feature_name: x, use_mask: true, fg_encoded_default_value: "
                  "'0.5'}\n")) {
        INTS(&t, "a", 1, 2, T_NULL);
        DOUBLES(&t, "x", 1, 2, NAN);
        encode(&t);
        CHECK_IDS(&t, 0, IDS(1, 8, 8), ONE_EACH);
        CHECK(t.batch.dense[0] == 1 && t.batch.dense[1] == 0.5f && t.batch.dense[2] == 0.5f);
        CHECK_INT(cr_features_counts(&t.enc)[0].missing, 2);
        CHECK_INT(cr_features_counts(&t.enc)[0].masked, 1);
    }
    t_close(&t);
}

TEST(hidden_inputs) {
    t_feats t;
    static const int64_t values[] = {1, 2, 3};
    /* the first input of several is gone */
    if (open_with(&t, NORMAL,
                  "- combo_feature: {feature_name: c, expression: ['user:a', 'item:b'], "
                  "hash_bucket_size: 100, embedding_dim: 4, use_mask: true}\n"
                  "- id_feature: {feature_name: b, expression: 'item:b', num_buckets: 100, "
                  "embedding_dim: 4}\n")) {
        TEXT(&t, "a", "1", "1", "1");
        TEXT(&t, "b", "5", "5", "5");
        encode(&t);
        CHECK_INT(t.batch.sparse[0].n_ids, 2);
        CHECK_IDS(&t, 1, IDS(5, 5, 5), ONE_EACH);
    }
    t_close(&t);
    /* of a map and a key, the key; of text with pairs, that */
    for (int text = 0; text < 2; text++) {
        if (open_with(&t, NORMAL,
                      "- lookup_feature: {feature_name: l, map: 'user:m', key: 'item:k', "
                      "vocab_dict: {'1': 2, '2': 3, '3': 4}, embedding_dim: 4, use_mask: true, "
                      "separator: '|', default_value: '9'}\n")) {
            TEXT(&t, "k", "p", "p", "p");
            if (text) {
                TEXT(&t, "m", "p:1", "p:2", "p:3");
            } else {
                cr_column *keys = CR_NEW(&t.chunk.arena, cr_column);
                t_strings(&t, keys, (const char *const[]){"p", "p", "p"}, 3, NULL);
                cr_column *m = t_list(&t, "m", (const int32_t[]){0, 1, 2, 3}, 3);
                keys->depth = 1;
                keys->row_off = m->row_off;
                m->type = CR_COL_I64;
                m->v.i64 = values;
                m->keys = keys;
            }
            encode(&t);
            CHECK_IDS(&t, 0, IDS(2, 0, 4), ONE_EACH);
        }
        t_close(&t);
    }
    /* a sequence has one step, its default */
    if (open_with(&t, NORMAL,
                  "- sequence_id_feature: {feature_name: s, expression: 'user:s', num_buckets: "
                  "100, embedding_dim: 4, use_mask: true, default_value: '6'}\n"
                  "- sequence_feature: {sequence_name: q, sequence_length: 9, features: "
                  "[{id_feature: {feature_name: i, expression: 'user:i', num_buckets: 100, "
                  "embedding_dim: 4, use_mask: true}}, {raw_feature: {feature_name: x, expression: "
                  "'user:x', use_mask: true}}]}\n")) {
        TEXT(&t, "s", "1;2", "3;4;5", "6");
        TEXT(&t, "q__i", "1;2", "3;4;5", "6");
        TEXT(&t, "q__x", "1;2", "3;4;5", "6");
        encode(&t);
        CHECK_INT(t.batch.sparse[0].n_ids, 4);
        CHECK_INT(t.batch.sparse[0].ids[2], 6);
        CHECK_INT(t.batch.sparse[1].steps[2], 3);
        CHECK_INT(t.batch.dense_seq[0].steps[2], 3);
    }
    t_close(&t);
}

#define ID(name, rest)                                                                             \
    "- id_feature: {feature_name: " name ", expression: 'user:a', num_buckets: 9, embedding_dim: " \
    "4" rest "}\n"
TEST(mistakes) {
    t_feats t;
    t_open(&t, NONE, "- raw_feature: {feature_name: x, use_mask: true}\n", true, NULL, 0);
    CHECK(!t.fs);
    CHECK(t_has(&t, "feature 'x': use_mask needs the number that stands for a hidden one; set "
                    "fg_encoded_default_value"));
    t_close(&t);
    t_open(&t, NORMAL,
           "- sequence_feature: {sequence_name: q, sequence_length: 9, features: [{id_feature: "
           "{feature_name: i, expression: 'user:i', num_buckets: 9, embedding_dim: 4, use_mask: "
           "true}}, {raw_feature: {feature_name: x, expression: 'user:x'}}]}\n",
           true, NULL, 0);
    CHECK(!t.fs);
    CHECK(t_has(&t, "feature 'q__i' has use_mask and 'q__x' of the same sequence has not"));
    t_close(&t);
    if (open_with(&t, NORMAL, ID("a", "")))
        CHECK(t_has(&t, "sample_mask_prob does nothing: no feature has use_mask: true"));
    t_close(&t);
    if (open_with(&t, "fg_mode: FG_DAG, sample_mask_prob: 0.5", ID("a", ", use_mask: true"))) {
        CHECK(t_has(&t, "sample_mask_prob does nothing in this fg_mode"));
        CHECK(!t.fs->v[0]->mask);
    }
    t_close(&t);
    if (open_with(&t, "fg_mode: FG_NORMAL", ID("a", ", use_mask: true"))) {
        CHECK_INT(t.diag.n, 0);
        CHECK(!t.fs->v[0]->mask);
    }
    t_close(&t);
}

/* ---- which rows ---- */

#define N_ROWS 1000
#define SEED   77
#define P      0.3

typedef struct way {
    const char *reader, *path;
    int threads;
    int64_t batch;
    bool shuffle, mask;
    int64_t epoch, from; /* begin behind so many batches of the epoch */
} way;

/* hidden[y]: was row y hidden? 2: it did not come. Returns how many came. */
static int64_t read_with(const way *w, uint8_t hidden[N_ROWS]) {
    t_feats t;
    t_open(
        &t, "fg_mode: FG_NORMAL, with_header: true, sample_mask_prob: 0.3, label_fields: [y]",
        "- id_feature: {feature_name: a, expression: 'user:a', num_buckets: 9, embedding_dim: 4, "
        "default_value: '0', use_mask: true}\n",
        true, NULL, 0);
    CHECK(t.fs != NULL);
    t_root *root = cr_conf_bind(&t.arena, &t_root_msg, t.doc.root, &t.diag);
    root->data_config->shuffle_buffer_size = 3;
    cr_data_pos start = {.epoch = w->epoch};
    int64_t came = 0;
    memset(hidden, 2, N_ROWS);
    for (int part = w->from > 0 ? 0 : 1; part < 2; part++) { /* a pause, then go on */
        cr_loader_opts o = {.conf = root->data_config,
                            .reader = cr_reader_find(w->reader),
                            .paths = w->path,
                            .want = t.fs->want,
                            .n_want = t.fs->n_want,
                            .encode = cr_features_encode,
                            .encode_ctx = t.fs,
                            .mask = w->mask,
                            .batch_size = w->batch,
                            .shuffle = w->shuffle,
                            .seed = SEED,
                            .n_threads = w->threads,
                            .start = start,
                            .n_epochs = w->epoch + 1};
        cr_loader *l = NULL;
        cr_err err = {0};
        bool done = false;
        CHECK_INT(cr_loader_new(&l, &o, &t.diag), CR_OK);
        for (int64_t k = 0; !done && (part == 1 || k < w->from); k++) {
            cr_batch *b = NULL;
            CHECK_INT(cr_loader_next(l, &b, &done, &err), CR_OK);
            if (!b) continue;
            for (int64_t r = 0; r < b->n_rows; r++) {
                int y = (int)b->labels[0][r];
                CHECK(hidden[y] == 2);
                hidden[y] = b->sparse[0].ids[r] == 0;
            }
            came += b->n_rows;
            start = cr_loader_after(b);
            cr_loader_release(l, b);
        }
        cr_loader_free(l);
    }
    t_close(&t);
    return came;
}

static void write_rows(const char *csv, const char *parquet) {
    pm_file *m = cr_alloc(sizeof(*m), "a file");
    FILE *f = fopen(csv, "w");
    pm_init(m, "y:int32, a:int64");
    fputs("y,a\n", f);
    for (int i = 0; i < N_ROWS; i++) {
        char row[32];
        snprintf(row, sizeof(row), "%d|1", i);
        pm_row(m, row);
        fprintf(f, "%d,1\n", i);
    }
    fclose(f);
    pm_write(m, parquet, &(cr_pq_write_opts){.group_rows = 130});
    pm_clear(m);
    cr_free(m);
}

TEST(rows) {
    char dir[] = "/tmp/crank_mask_XXXXXX", csv[64], parquet[64];
    if (!mkdtemp(dir)) SKIP("no temporary folder");
    snprintf(csv, sizeof(csv), "%s/r.csv", dir);
    snprintf(parquet, sizeof(parquet), "%s/r.parquet", dir);
    write_rows(csv, parquet);
    uint8_t got[N_ROWS], other[N_ROWS];
    for (int k = 0; k < 2; k++) {
        const char *reader = k ? "ParquetDataset" : "CsvDataset", *path = k ? parquet : csv;
        for (int64_t epoch = 0; epoch < 2; epoch++) {
            /* as loader.h says it; the whole CSV file is one block */
            uint64_t key = cr_rng_sub(cr_rng_key(SEED, "sample_mask", NULL), (uint64_t)epoch);
            key = cr_rng_sub(key, 0);
            if (!k) key = cr_rng_sub(key, 0);
            const way ways[] = {{reader, path, 1, 64, false, true, epoch, 0},
                                {reader, path, 3, 7, true, true, epoch, 0},
                                {reader, path, 2, 64, false, true, epoch, 5},
                                {reader, path, 3, 32, true, true, epoch, 9}};
            for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
                int64_t wrong = 0, n = 0;
                CHECK_INT(read_with(&ways[i], got), N_ROWS);
                for (int r = 0; r < N_ROWS; r++) {
                    wrong += got[r] != (cr_rng_f64(key, (uint64_t)r) < P);
                    n += got[r];
                }
                CHECK_INT(wrong, 0);
                CHECK(n > 250 && n < 350);
            }
            if (epoch == 0) memcpy(other, got, sizeof(other));
        }
        CHECK(memcmp(other, got, sizeof(other)) != 0); /* drawn anew in each epoch */
        CHECK_INT(read_with(&(way){reader, path, 2, 64, false, false, 0, 0}, got), N_ROWS);
        for (int r = 0; r < N_ROWS; r++)
            CHECK(got[r] == 0); /* not training */
    }
    unlink(csv);
    unlink(parquet);
    rmdir(dir);
}

TEST_MAIN(CASE(hidden_values), CASE(hidden_inputs), CASE(mistakes), CASE(rows))
