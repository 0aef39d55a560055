/*
 * bench_seq.c - rows per second of encoding sequences on one core, and nanoseconds per step: 16
 * ids, one bucketized number and 3 sequences of 50 to 100 ids as text of a CSV block, as lists, and
 * as lists that are cut.
 *
 *   bench_seq [seconds per case]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "conf/tree.h"
#include "feat_root.h"

#define N_ID  16
#define N_SEQ 3

static uint64_t key, draws;
static uint32_t draw(uint32_t below) {
    return (uint32_t)cr_rng_below(key, draws++, below);
}

/* columns in the order they are wanted: ids, number, sequences. About 1 MiB of text. */
static int64_t make_chunk(cr_chunk *c, cr_buf *text, bool lists) {
    uint32_t cap = 4096;
    int n_cols = N_ID + 1 + N_SEQ;
    int64_t n_steps = 0;
    c->n_cols = n_cols;
    c->cols = CR_NEW_N(&c->arena, cr_column, n_cols);
    uint32_t *at = CR_NEW_N(&c->arena, uint32_t, (cap + 1) * (size_t)n_cols * 2);
    int32_t *off = CR_NEW_N(&c->arena, int32_t, (cap + 1) * N_SEQ);
    int64_t *ids = CR_NEW_N(&c->arena, int64_t, cap * N_SEQ * 100);
    uint32_t r = 0;
    for (; r < cap && text->n < (1u << 20) - 3000; r++) {
        for (int i = 0; i < n_cols; i++) {
            at[(size_t)(2 * i) * cap + r] = (uint32_t)text->n;
            if (i < N_ID) {
                cr_buf_printf(text, "%u", draw(1000000));
            } else if (i == N_ID) {
                cr_buf_printf(text, "%u.%u", draw(1000), draw(100));
            } else {
                int n = 50 + (int)draw(51), q = i - N_ID - 1;
                int32_t *o = off + (size_t)q * (cap + 1);
                for (int k = 0; k < n; k++) {
                    uint32_t x = draw(800000);
                    cr_buf_printf(text, "%s%u", k ? ";" : "", x);
                    ids[(size_t)q * cap * 100 + (size_t)o[r] + (size_t)k] = x;
                }
                o[r + 1] = o[r] + n;
                n_steps += n;
            }
            at[(size_t)(2 * i + 1) * cap + r] = (uint32_t)text->n;
            cr_buf_char(text, i + 1 < n_cols ? ',' : '\n');
        }
    }
    c->n_rows = r;
    for (int i = 0; i < n_cols; i++) {
        int q = i - N_ID - 1;
        if (lists && q >= 0)
            c->cols[i] = (cr_column){.type = CR_COL_I64,
                                     .depth = 1,
                                     .row_off = off + (size_t)q * (cap + 1),
                                     .v.i64 = ids + (size_t)q * cap * 100};
        else
            c->cols[i] = (cr_column){.type = CR_COL_STR,
                                     .bytes = text->data,
                                     .beg = at + (size_t)(2 * i) * cap,
                                     .end = at + (size_t)(2 * i + 1) * cap};
    }
    return n_steps;
}

static void bench(const char *name, const char *size, int length, bool with_seq, bool lists,
                  double seconds) {
    cr_buf y, text;
    cr_buf_init(&y);
    cr_buf_init(&text);
    cr_buf_str(&y, "data_config: {dataset_type: CsvDataset, fg_mode: FG_NORMAL}\n"
                   "feature_configs:\n");
    for (int i = 0; i < N_ID; i++)
        cr_buf_printf(&y,
                      "- id_feature: {feature_name: i%d, expression: 'user:i%d', embedding_dim: "
                      "16, %s}\n",
                      i, i, size);
    cr_buf_str(&y, "- raw_feature: {feature_name: x, expression: 'item:x', embedding_dim: 16, "
                   "boundaries: [1, 5, 20, 50, 100, 200, 500]}\n");
    for (int i = 0; with_seq && i < N_SEQ; i++)
        cr_buf_printf(&y,
                      "- sequence_id_feature: {feature_name: q%d, expression: 'user:q%d', "
                      "embedding_dim: 16, sequence_length: %d, %s}\n",
                      i, i, length, size);
    cr_conf_doc doc;
    cr_conf_doc_init(&doc);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_arena arena;
    cr_arena_init(&arena, 0);
    cr_features *fs = NULL;
    if (cr_conf_parse(&doc, CR_SYNTAX_YAML, "bench", y.data, y.n, &diag) == CR_OK) {
        root *cfg = cr_conf_bind(&arena, &root_msg, doc.root, &diag);
        fs =
            cr_features_new(&arena, &cfg->feature_configs, cfg->data_config, false, NULL, 0, &diag);
    }
    if (!fs) {
        fprintf(stderr, "bench_seq: %s\n", diag.n ? diag.v[0].msg : "no features");
        exit(1);
    }
    cr_chunk c = {0};
    cr_arena_init(&c.arena, 0);
    int64_t n_steps = make_chunk(&c, &text, lists);
    cr_chunk_rows b = {0};
    cr_arena_init(&b.arena, 0);
    cr_bad bad = {0};
    cr_err err = {0};
    double best = 0, start = cr_now();
    while (cr_now() - start < seconds) {
        double t0 = cr_now();
        cr_arena_reset(&b.arena);
        if (cr_features_encode(fs, &c, &b, &bad, &err) != CR_OK || bad.n) {
            fprintf(stderr, "bench_seq: encoding failed: %s\n", bad.n ? bad.v[0].msg : err.msg);
            exit(1);
        }
        double t = cr_now() - t0;
        if (best == 0 || t < best) best = t;
    }
    printf("%-28s %8.0f rows/s, %5.2f ns per step, %.0f bytes per row\n", name,
           (double)c.n_rows / best, 1e9 * best / (double)n_steps,
           (double)text.n / (double)c.n_rows);
    cr_bad_clear(&bad);
    cr_arena_clear(&b.arena);
    cr_arena_clear(&c.arena);
    cr_arena_clear(&arena);
    cr_diag_clear(&diag);
    cr_conf_doc_clear(&doc);
    cr_buf_clear(&text);
    cr_buf_clear(&y);
}

int main(int argc, char **argv) {
    double s = argc > 1 ? atof(argv[1]) : 1.0;
    const char *hash = "hash_bucket_size: 1000000", *buckets = "num_buckets: 1000000";
    key = cr_rng_key(7, "bench", "seq");
    bench("without sequences", buckets, 0, false, false, s);
    bench("text, num_buckets", buckets, 100, true, false, s);
    bench("text, hash", hash, 100, true, false, s);
    bench("text cut to 20, num_buckets", buckets, 20, true, false, s);
    bench("lists, num_buckets", buckets, 100, true, true, s);
    bench("lists, hash", hash, 100, true, true, s);
    bench("lists cut to 50, num_buckets", buckets, 50, true, true, s);
    return 0;
}
