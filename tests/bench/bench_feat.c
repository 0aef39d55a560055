/*
 * bench_feat.c - rows per second of feature encoding on one core: 13 raw and 26 id features over a
 * block of CSV text laid out as the CSV reader leaves it (about 1 MiB, columns point into it), or
 * over codes of dictionaries as the Parquet reader leaves them.
 *
 *   bench_feat [seconds per case]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "conf/tree.h"
#include "feat_root.h"

#define N_RAW 13
#define N_CAT 26

/* one block of text; the columns are label, int_*, cat_* */
static void make_chunk(cr_chunk *c, cr_buf *text, bool hex, bool floats) {
    uint64_t key = cr_rng_key(7, "bench", "feat"), k = 0;
    int n_cols = 1 + N_RAW + N_CAT;
    uint32_t cap = 8192;
    c->n_cols = n_cols;
    c->cols = CR_NEW_N(&c->arena, cr_column, n_cols);
    for (int i = 0; i < n_cols; i++) {
        c->cols[i].type = CR_COL_STR;
        c->cols[i].beg = CR_NEW_N(&c->arena, uint32_t, cap);
        c->cols[i].end = CR_NEW_N(&c->arena, uint32_t, cap);
    }
    uint32_t r = 0;
    for (; r < cap && text->n < (1u << 20) - 1000; r++) {
        for (int i = 0; i < n_cols; i++) {
            ((uint32_t *)c->cols[i].beg)[r] = (uint32_t)text->n;
            uint64_t x = cr_rng_u64(key, k++);
            if (i == 0)
                cr_buf_printf(text, "%d", (int)(x & 1));
            else if (i <= N_RAW && floats)
                cr_buf_printf(text, "%.4f", (double)(x % 100000) * 1e-3);
            else if (i <= N_RAW)
                cr_buf_printf(text, "%u", (unsigned)(x % (1u << (1 + x % 13))));
            else if (hex)
                cr_buf_printf(text, "%08x", (unsigned)x);
            else
                cr_buf_printf(text, "%u", (unsigned)(x % 1000000));
            ((uint32_t *)c->cols[i].end)[r] = (uint32_t)text->n;
            cr_buf_char(text, i + 1 < n_cols ? ',' : '\n');
        }
    }
    c->n_rows = r;
    for (int i = 0; i < n_cols; i++)
        c->cols[i].bytes = text->data;
}

/* id columns as codes of dictionaries with n_dict entries of 8 hex digits */
static void make_codes(cr_chunk *c, uint32_t n_dict) {
    uint64_t key = cr_rng_key(7, "bench", "codes"), k = 0;
    for (int i = 1 + N_RAW; i < c->n_cols; i++) {
        cr_column *col = &c->cols[i];
        char *bytes = cr_arena_alloc(&c->arena, 8 * (size_t)n_dict + 1);
        uint32_t *at = CR_NEW_N(&c->arena, uint32_t, n_dict + 1),
                 *code = CR_NEW_N(&c->arena, uint32_t, c->n_rows);
        for (uint32_t e = 0; e < n_dict; e++) {
            snprintf(bytes + 8 * e, 9, "%08x", (unsigned)cr_rng_u64(key, k++));
            at[e + 1] = 8 * (e + 1);
        }
        for (int64_t r = 0; r < c->n_rows; r++)
            code[r] = (uint32_t)cr_rng_below(key, k++, n_dict);
        *col = (cr_column){.type = CR_COL_STR,
                           .bytes = bytes,
                           .beg = at,
                           .end = at + 1,
                           .code = code,
                           .n_dict = n_dict};
    }
}

/* n_dict 0: text; memo: what is made of a dictionary is kept for so many chunks */
static void bench(const char *name, const char *id, const char *raw, bool hex, bool floats,
                  uint32_t n_dict, int memo, double seconds) {
    cr_buf y, text;
    cr_buf_init(&y);
    cr_buf_init(&text);
    cr_buf_str(
        &y, "data_config: {dataset_type: CsvDataset, fg_mode: FG_NORMAL, label_fields: [label]}\n"
            "feature_configs:\n");
    for (int i = 0; i < N_RAW; i++)
        cr_buf_printf(&y, "- raw_feature: {feature_name: int_%d, expression: 'user:int_%d'%s}\n", i,
                      i, raw);
    for (int i = 0; i < N_CAT; i++)
        cr_buf_printf(&y,
                      "- id_feature: {feature_name: cat_%d, expression: 'item:cat_%d', "
                      "embedding_dim: 16, %s}\n",
                      i, i, id);
    cr_conf_doc doc;
    cr_conf_doc_init(&doc);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_arena arena;
    cr_arena_init(&arena, 0);
    cr_features *fs = NULL;
    if (cr_conf_parse(&doc, CR_SYNTAX_YAML, "bench", y.data, y.n, &diag) == CR_OK) {
        root *cfg = cr_conf_bind(&arena, &root_msg, doc.root, &diag);
        fs = cr_features_new(&arena, &cfg->feature_configs, cfg->data_config, true, NULL, 0, &diag);
    }
    if (!fs) {
        fprintf(stderr, "bench_feat: %s\n", diag.n ? diag.v[0].msg : "no features");
        exit(1);
    }
    cr_chunk c = {0};
    cr_arena_init(&c.arena, 0);
    make_chunk(&c, &text, hex, floats);
    if (n_dict) make_codes(&c, n_dict);
    cr_memo memos[N_CAT] = {{0}};
    for (int i = 0; memo && i < N_CAT; i++)
        c.cols[1 + N_RAW + i].memo = &memos[i];
    /* the features want int_*, cat_*, label */
    cr_column *cols = CR_NEW_N(&c.arena, cr_column, c.n_cols);
    for (int i = 0; i < fs->n_want; i++)
        cols[i] = c.cols[i == fs->n_want - 1 ? 0 : i + 1];
    c.cols = cols;
    cr_chunk_rows b = {0};
    cr_arena_init(&b.arena, 0);
    cr_bad bad = {0};
    cr_err err = {0};
    int64_t rows = 0, chunks = 0;
    double best = 0, start = cr_now();
    while (cr_now() - start < seconds) {
        double t0 = cr_now();
        for (int i = 0; i < 4; i++) {
            cr_arena_reset(&b.arena);
            for (int k = 0; memo && chunks % memo == 0 && k < N_CAT; k++)
                cr_memo_reset(&memos[k]);
            chunks++;
            if (cr_features_encode(fs, &c, &b, &bad, &err) != CR_OK || bad.n) {
                fprintf(stderr, "bench_feat: encoding failed: %s\n",
                        bad.n ? bad.v[0].msg : err.msg);
                exit(1);
            }
        }
        double rate = 4 * (double)c.n_rows / (cr_now() - t0);
        if (rate > best) best = rate;
        rows += 4 * c.n_rows;
    }
    printf("%-32s %8.0f rows/s mean, %8.0f best, %.0f bytes per row\n", name,
           (double)rows / (cr_now() - start), best, (double)text.n / (double)c.n_rows);
    for (int i = 0; i < N_CAT; i++)
        cr_memo_clear(&memos[i]);
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
    const char *hash = "hash_bucket_size: 1000000", *vocab = "vocab_list: [a, b, c, d]";
    bench("num_buckets, ints", "num_buckets: 1000000", "", false, false, 0, 0, s);
    bench("hash of 8 hex digits", hash, "", true, false, 0, 0, s);
    bench("hash, codes of 100", hash, "", true, false, 100, 0, s);
    bench("hash, codes of 3000", hash, "", true, false, 3000, 0, s);
    bench("hash, codes of 3000, memo", hash, "", true, false, 3000, 30, s);
    bench("hash, codes of 30000, memo", hash, "", true, false, 30000, 30, s);
    bench("hash of ints", hash, "", false, false, 0, 0, s);
    bench("hash, floats, log10", hash, ", normalizer: 'method=log10'", true, true, 0, 0, s);
    bench("vocab_list (misses)", vocab, "", true, false, 0, 0, s);
    bench("vocab_list, codes of 3000, memo", vocab, "", true, false, 3000, 30, s);
    return 0;
}
