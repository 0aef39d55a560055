/*
 * feat_test.h - for the tests of feat/: features from YAML, chunks from literals, encoding.
 */
#ifndef CR_TESTS_FEAT_TEST_H
#define CR_TESTS_FEAT_TEST_H

#include "base/buf.h"
#include "conf/tree.h"
#include "feat/config.h"
#include "harness.h"

typedef struct t_root {
    cr_conf_base base;
    cr_data_conf *data_config;
    cr_msgs feature_configs;
} t_root;
static const cr_field t_root_fields[] = {
    CR_MSG(t_root, data_config, &cr_data_msg, 0, "data"),
    CR_MSG(t_root, feature_configs, &cr_feature_msg, CR_F_REPEATED, "features"),
    CR_END,
};
static const cr_msg t_root_msg = {
    .name = "Root",
    .help = "test root",
    .fields = t_root_fields,
    .size = sizeof(t_root),
};

/* One set of features and the batch of the last encoding. */
typedef struct t_feats {
    cr_conf_doc doc;
    cr_arena arena;
    cr_diag diag;
    cr_features *fs; /* NULL: errors in diag */
    cr_chunk chunk;
    cr_chunk_rows enc;
    cr_batch batch; /* enc.rows */
    cr_bad bad;
    cr_err err;
    cr_code rc;
} t_feats;

/* data: the lines of data_config in flow style, e.g. "fg_mode: FG_NORMAL" */
static inline void t_open(t_feats *t, const char *data, const char *features, bool labels,
                          const char *const *reserved, int n_reserved) {
    memset(t, 0, sizeof(*t));
    cr_conf_doc_init(&t->doc);
    cr_arena_init(&t->arena, 0);
    cr_arena_init(&t->chunk.arena, 0);
    cr_arena_init(&t->enc.arena, 0);
    cr_diag_init(&t->diag);
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(&b, "data_config: {dataset_type: CsvDataset, %s}\nfeature_configs:\n%s\n", data,
                  features);
    cr_code rc = cr_conf_parse(&t->doc, CR_SYNTAX_YAML, "t.yaml", b.data, b.n, &t->diag);
    if (rc == CR_OK) {
        t_root *r = cr_conf_bind(&t->arena, &t_root_msg, t->doc.root, &t->diag);
        cr_data_conf_finish(r->data_config, &t->arena, &t->diag);
        t->fs = cr_features_new(&t->arena, &r->feature_configs, r->data_config, labels, reserved,
                                n_reserved, &t->diag);
        if (t->diag.n_errors) t->fs = NULL;
    }
    cr_buf_clear(&b);
}

static inline void t_show_diag(const t_feats *t) {
    for (size_t i = 0; i < t->diag.n; i++)
        fprintf(stderr, "  %d:%d: %s\n", t->diag.v[i].at.line, t->diag.v[i].at.col,
                t->diag.v[i].msg);
}

static inline void t_close(t_feats *t) {
    cr_conf_doc_clear(&t->doc);
    cr_arena_clear(&t->arena);
    cr_arena_clear(&t->chunk.arena);
    cr_arena_clear(&t->enc.arena);
    cr_diag_clear(&t->diag);
    cr_bad_clear(&t->bad);
}

/* is there a finding that holds all of text? */
static inline bool t_has(const t_feats *t, const char *text) {
    for (size_t i = 0; i < t->diag.n; i++)
        if (strstr(t->diag.v[i].msg, text)) return true;
    return false;
}

/* the column of that name in the chunk (made when the first one is set) */
static inline cr_column *t_col(t_feats *t, const char *name, int64_t n_rows) {
    cr_chunk *c = &t->chunk;
    if (!c->cols) {
        c->cols = CR_NEW_N(&c->arena, cr_column, t->fs->n_want + 1);
        c->n_cols = t->fs->n_want;
        c->path = "t.csv";
        int64_t *lines = CR_NEW_N(&c->arena, int64_t, n_rows + 1);
        for (int64_t i = 0; i < n_rows; i++)
            lines[i] = i + 1;
        c->lines = lines;
    }
    c->n_rows = n_rows;
    for (int i = 0; i < t->fs->n_want; i++)
        if (strcmp(t->fs->want[i].name, name) == 0) return &c->cols[i];
    fprintf(stderr, "column %s is not wanted\n", name);
    abort();
}

static inline uint8_t *t_valid(t_feats *t, cr_column *c, int64_t n) {
    uint8_t *v = cr_arena_alloc(&t->chunk.arena, (size_t)n + 1);
    memset(v, 1, (size_t)n);
    c->valid = v;
    return v;
}

/* text leaf values; NULL: null (scalar columns) */
static inline void t_strings(t_feats *t, cr_column *c, const char *const *v, int64_t n,
                             uint8_t *valid) {
    size_t total = 0;
    for (int64_t i = 0; i < n; i++)
        total += v[i] ? strlen(v[i]) : 0;
    char *bytes = cr_arena_alloc(&t->chunk.arena, total ? total : 1);
    uint32_t *beg = CR_NEW_N(&t->chunk.arena, uint32_t, n + 1),
             *end = CR_NEW_N(&t->chunk.arena, uint32_t, n + 1);
    uint32_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t k = v[i] ? strlen(v[i]) : 0;
        if (k) memcpy(bytes + at, v[i], k);
        beg[i] = at;
        end[i] = at += (uint32_t)k;
        if (!v[i] && valid) valid[i] = 0;
    }
    c->type = CR_COL_STR;
    c->bytes = bytes;
    c->beg = beg;
    c->end = end;
}

static inline void t_text(t_feats *t, const char *name, const char *const *v, int64_t n) {
    cr_column *c = t_col(t, name, n);
    t_strings(t, c, v, n, t_valid(t, c, n));
}
#define TEXT(t, name, ...)                                                                         \
    t_text(t, name, (const char *const[]){__VA_ARGS__},                                            \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

#define T_NULL INT64_MIN
static inline void t_i64(t_feats *t, const char *name, const int64_t *v, int64_t n) {
    cr_column *c = t_col(t, name, n);
    uint8_t *valid = t_valid(t, c, n);
    int64_t *x = CR_NEW_N(&t->chunk.arena, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++) {
        valid[i] = v[i] != T_NULL;
        x[i] = v[i] == T_NULL ? 77 : v[i];
    }
    c->type = CR_COL_I64;
    c->v.i64 = x;
}
#define INTS(t, name, ...)                                                                         \
    t_i64(t, name, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8)

/* NAN: null */
static inline void t_f64(t_feats *t, const char *name, const double *v, int64_t n) {
    cr_column *c = t_col(t, name, n);
    uint8_t *valid = t_valid(t, c, n);
    double *x = CR_NEW_N(&t->chunk.arena, double, n + 1);
    for (int64_t i = 0; i < n; i++) {
        valid[i] = (uint8_t)(isnan(v[i]) ? 0 : 1);
        x[i] = isnan(v[i]) ? 77 : v[i];
    }
    c->type = CR_COL_F64;
    c->v.f64 = x;
}
#define DOUBLES(t, name, ...)                                                                      \
    t_f64(t, name, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / 8)

/* makes the column `name` a list column: off has n_rows + 1 entries, values are set by the caller
 */
static inline cr_column *t_list(t_feats *t, const char *name, const int32_t *off, int64_t n_rows) {
    cr_column *c = t_col(t, name, n_rows);
    int32_t *o = CR_NEW_N(&t->chunk.arena, int32_t, n_rows + 1);
    memcpy(o, off, sizeof(int32_t) * (size_t)(n_rows + 1));
    c->row_off = o;
    c->depth = 1;
    return c;
}

static inline void t_encode(t_feats *t) {
    cr_arena_reset(&t->enc.arena);
    cr_bad_reset(&t->bad);
    t->rc = cr_features_encode(t->fs, &t->chunk, &t->enc, &t->bad, &t->err);
    t->batch = t->enc.rows;
    if (t->rc != CR_OK) fprintf(stderr, "encode: %s\n", t->err.msg);
}

static inline void t_drop_chunk(t_feats *t) {
    cr_arena_reset(&t->chunk.arena);
    t->chunk.cols = NULL;
}

/* compares a jagged array; len NULL: one id per row and no offsets */
static inline void t_check_ids(const char *where, int line, const t_feats *t, int slot,
                               const int64_t *ids, int64_t n, const int *len, int64_t n_len) {
    const cr_jagged *j = &t->batch.sparse[slot];
    bool same =
        j->n_ids == n && (len ? j->off != NULL && n_len == t->batch.n_rows : j->off == NULL);
    for (int64_t i = 0; same && i < n; i++)
        same = j->ids[i] == ids[i];
    for (int64_t r = 0; same && len && r < n_len; r++)
        same = j->off[r + 1] - j->off[r] == len[r] && (r > 0 || j->off[0] == 0);
    if (same) return;
    t_failed_checks++;
    fprintf(stderr, "%s:%d: %s: got", where, line, t_name);
    for (int64_t i = 0; i < j->n_ids; i++)
        fprintf(stderr, " %lld", (long long)j->ids[i]);
    fprintf(stderr, j->off ? ", lengths" : ", no offsets");
    for (int64_t r = 0; j->off && r < t->batch.n_rows; r++)
        fprintf(stderr, " %d", j->off[r + 1] - j->off[r]);
    fprintf(stderr, "\n");
}
#define IDS(...)                                                                                   \
    ((const int64_t[]){__VA_ARGS__}), (int64_t)(sizeof((const int64_t[]){__VA_ARGS__}) / 8)
#define LENS(...)                                                                                  \
    ((const int[]){__VA_ARGS__}), (int64_t)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))
#define CHECK_IDS(t, slot, ...) t_check_ids(__FILE__, __LINE__, t, slot, __VA_ARGS__)
#define ONE_EACH                NULL, 0

#endif
