/*
 * bench_calc.c - rows per second of each feature type that computes, on one core: one feature over
 * text columns of 8192 rows, 3 values per multi-value column, 20 pairs per map.
 *
 *   bench_calc [seconds per case]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "conf/tree.h"
#include "feat_root.h"

#define ROWS 8192

/* a value by the name of its column */
static void put_value(cr_buf *b, char kind, uint64_t x) {
    switch (kind) {
    case 'k': cr_buf_printf(b, "item%d", (int)(x % 5000)); break;
    case 'v':
        for (int i = 0; i < 3; i++)
            cr_buf_printf(b, "%sitem%d", i ? "|" : "", (int)((x >> (8 * i)) % 50));
        break;
    case 'm':
        for (int i = 0; i < 20; i++)
            cr_buf_printf(b, "%sitem%d:%d", i ? "|" : "", (int)((x + (uint64_t)i * 7) % 50), i);
        break;
    case 'n':
        for (int i = 0; i < 4; i++)
            cr_buf_printf(b, "%sitem%d^a:1,b:2,c:3", i ? "|" : "", (int)((x + (uint64_t)i) % 50));
        break;
    case 'b': cr_buf_str(b, x & 1 ? "true|false|true" : "0|1|1"); break;
    default: cr_buf_printf(b, "%.3f", (double)(x % 100000) * 1e-3); break;
    }
}

static void run(const char *name, const char *feature, double seconds) {
    cr_conf_doc doc;
    cr_arena arena;
    cr_diag diag;
    cr_buf text;
    cr_conf_doc_init(&doc);
    cr_arena_init(&arena, 0);
    cr_diag_init(&diag);
    cr_buf_init(&text);
    cr_buf_printf(&text,
                  "data_config: {dataset_type: CsvDataset, fg_mode: FG_NORMAL}\n"
                  "feature_configs: [%s]\n",
                  feature);
    if (cr_conf_parse(&doc, CR_SYNTAX_YAML, "bench", text.data, text.n, &diag) != CR_OK) exit(1);
    root *r = cr_conf_bind(&arena, &root_msg, doc.root, &diag);
    cr_data_conf_finish(r->data_config, &arena, &diag);
    cr_features *fs =
        cr_features_new(&arena, &r->feature_configs, r->data_config, false, NULL, 0, &diag);
    if (!fs || diag.n_errors) {
        fprintf(stderr, "%s: %s\n", name, diag.n ? diag.v[0].msg : "?");
        exit(1);
    }
    cr_buf data;
    cr_buf_init(&data);
    cr_chunk c = {.n_rows = ROWS, .n_cols = fs->n_want};
    cr_arena_init(&c.arena, 0);
    c.cols = CR_NEW_N(&c.arena, cr_column, fs->n_want + 1);
    uint64_t key = cr_rng_key(7, "bench", "calc"), k = 0;
    for (int i = 0; i < fs->n_want; i++) {
        uint32_t *beg = CR_NEW_N(&c.arena, uint32_t, ROWS),
                 *end = CR_NEW_N(&c.arena, uint32_t, ROWS);
        for (int row = 0; row < ROWS; row++) {
            beg[row] = (uint32_t)data.n;
            put_value(&data, fs->want[i].name[0], cr_rng_u64(key, k++));
            end[row] = (uint32_t)data.n;
        }
        c.cols[i] = (cr_column){.type = CR_COL_STR, .beg = beg, .end = end};
    }
    for (int i = 0; i < fs->n_want; i++)
        c.cols[i].bytes = data.data;
    cr_chunk_rows b = {0};
    cr_arena_init(&b.arena, 0);
    cr_bad bad = {0};
    cr_err err = {0};
    double t0 = cr_now(), t = 0;
    int64_t rows = 0;
    while (t < seconds) {
        cr_arena_reset(&b.arena);
        if (cr_features_encode(fs, &c, &b, &bad, &err) != CR_OK || bad.n) {
            fprintf(stderr, "%s: %s\n", name, bad.n ? bad.v[0].msg : err.msg);
            exit(1);
        }
        rows += ROWS;
        t = cr_now() - t0;
    }
    printf("%-24s %8.2f M rows/s\n", name, (double)rows / t * 1e-6);
    cr_bad_clear(&bad);
    cr_arena_clear(&b.arena);
    cr_arena_clear(&c.arena);
    cr_buf_clear(&data);
    cr_buf_clear(&text);
    cr_diag_clear(&diag);
    cr_arena_clear(&arena);
    cr_conf_doc_clear(&doc);
}

#define F(type, rest) "{" type ": {feature_name: f, separator: '|', " rest "}}"
#define TABLE         "hash_bucket_size: 100000, embedding_dim: 8"
int main(int argc, char **argv) {
    double s = argc > 1 ? atof(argv[1]) : 0.5;
    run("id (one value)", F("id_feature", "expression: 'user:k', " TABLE), s);
    run("id (3 values)", F("id_feature", "expression: 'user:v', " TABLE), s);
    run("combo (1 x 1)", F("combo_feature", "expression: ['user:k1', 'user:k2'], " TABLE), s);
    run("combo (3 x 3)", F("combo_feature", "expression: ['user:v1', 'user:v2'], " TABLE), s);
    run("combine", F("combine_feature", "expression: 'user:v', value_map: {item1: 1, item2: 2}"),
        s);
    run("lookup (sum)", F("lookup_feature", "map: 'user:m', key: 'user:v'"), s);
    run("lookup (hash)", F("lookup_feature", "map: 'user:m', key: 'user:v', " TABLE), s);
    run("match", F("match_feature", "nested_map: 'user:n', pkey: 'user:v', skey: ALL"), s);
    run("expr (3 variables)",
        F("expr_feature",
          "variables: ['user:x', 'user:y', 'user:z'], expression: 'x > y ? log10(x+1)*z : y/2'"),
        s);
    run("overlap",
        F("overlap_feature", "query: 'user:v1', title: 'user:v2', method: "
                             "query_common_ratio"),
        s);
    run("kv_dot_product", F("kv_dot_product", "query: 'user:m1', document: 'user:m2'"), s);
    run("bool_mask", F("bool_mask_feature", "expression: ['user:v', 'user:b'], " TABLE), s);
    return 0;
}
