/*
 * Parquet files written and read back: every type, codec, page version, nulls, lists, dictionaries,
 * borders of pages and row groups; statistics; and that a failed write leaves nothing.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "made.h"

static char dir[256];

static const char *path_of(const char *name) {
    static char p[512];
    snprintf(p, sizeof(p), "%s/%s", dir, name);
    return p;
}

static int files_left(void) {
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

/* writes a table in pieces of at most step rows */
static cr_code write_table(const char *path, const pq_table *t, const cr_pq_write_opts *o,
                           int64_t step, cr_err *err) {
    cr_pq_writer *w;
    CR_TRY(cr_pq_writer_new(&w, path, &t->schema, o, err));
    cr_code code = CR_OK;
    cr_arena a;
    cr_arena_init(&a, 0);
    int n = t->schema.n_leaves;
    cr_pq_vec *v = CR_NEW_N(&a, cr_pq_vec, n);
    for (int64_t row = 0; row < t->n_rows && code == CR_OK; row += step) {
        int64_t k = t->n_rows - row < step ? t->n_rows - row : step;
        for (int i = 0; i < n; i++)
            v[i] = pq_slice(&t->v[i], row, k, &a);
        code = cr_pq_write(w, v, err);
    }
    if (code == CR_OK) code = cr_pq_writer_finish(w, err);
    cr_pq_writer_free(w);
    cr_arena_clear(&a);
    return code;
}

static void round_trip(const pq_table *t, const cr_pq_write_opts *o, int64_t step) {
    cr_err err = {0};
    const char *path = path_of("t.parquet");
    if (write_table(path, t, o, step, &err) != CR_OK) {
        t_failed_checks++;
        fprintf(stderr, "%s: %s\n", t_name, err.msg);
        return;
    }
    pq_compare(path, t, NULL);
    CHECK_INT(files_left(), 1);
    unlink(path);
}

static const pq_spec types[] = {
    {.type = CR_PQ_BOOL},
    {.type = CR_PQ_I32},
    {.type = CR_PQ_I64, .distinct = 9},
    {.type = CR_PQ_I96},
    {.type = CR_PQ_F32, .distinct = 20},
    {.type = CR_PQ_F64},
    {.type = CR_PQ_BYTES, .max_len = 30, .distinct = 12},
    {.type = CR_PQ_FIXED, .length = 5, .distinct = 6},
    {.type = CR_PQ_FIXED, .length = 1},
};
#define N_TYPES ((int)(sizeof(types) / sizeof(*types)))

/* all types x depths 0 to 3 x required, some null, all null */
static int all_columns(pq_spec *out) {
    static const int nulls[] = {0, 30, 100};
    int n = 0;
    for (int i = 0; i < N_TYPES; i++)
        for (int depth = 0; depth < 4; depth++)
            for (int k = 0; k < 3; k++) {
                out[n] = types[i];
                out[n].depth = depth;
                out[n].nulls = nulls[k];
                out[n++].list_nulls = nulls[(k + depth) % 3] / 2;
            }
    return n;
}

TEST(every_type_codec_and_page_version) {
    static const cr_pq_codec codecs[] = {CR_PQ_RAW,        CR_PQ_SNAPPY, CR_PQ_GZIP, CR_PQ_BROTLI,
                                         CR_PQ_LZ4_HADOOP, CR_PQ_ZSTD,   CR_PQ_LZ4};
    pq_spec s[N_TYPES * 12];
    int n = all_columns(s);
    pq_table t;
    pq_table_init(&t, s, n, 500, 1);
    for (size_t c = 0; c < sizeof(codecs) / sizeof(*codecs); c++)
        for (int k = 0; k < 4; k++) {
            cr_pq_write_opts o = {.codec = codecs[c],
                                  .page_version = 1 + k / 2,
                                  .no_dict = k % 2,
                                  .no_crc = c % 2 != 0,
                                  .group_rows = 200,
                                  .page_bytes = 600};
            round_trip(&t, &o, 500);
        }
    pq_table_clear(&t);
}

TEST(defaults) {
    pq_spec s[N_TYPES * 12];
    int n = all_columns(s);
    pq_table t;
    pq_table_init(&t, s, n, 20000, 2);
    round_trip(&t, NULL, 6000);
    round_trip(&t, &(cr_pq_write_opts){.page_version = 2, .codec = CR_PQ_ZSTD, .level = 1}, 6000);
    round_trip(&t, &(cr_pq_write_opts){.no_stats = true, .codec = CR_PQ_SNAPPY}, 20000);
    pq_table_clear(&t);
}

TEST(few_rows_and_borders) {
    static const int64_t sizes[] = {0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200};
    pq_spec s[N_TYPES * 12];
    int n = all_columns(s);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        pq_table t;
        pq_table_init(&t, s, n, sizes[i], 3 + i);
        for (int version = 1; version <= 2; version++) {
            cr_pq_write_opts o = {.page_version = version, .group_rows = 64, .page_bytes = 256};
            round_trip(&t, &o, 1 + (int64_t)i * 9);
        }
        pq_table_clear(&t);
    }
}

TEST(random_shapes) {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        pq_table pick = {.key = cr_rng_key(seed, "shape", "")};
        int n = 1 + (int)pq_below(&pick, 8);
        pq_spec s[8];
        for (int i = 0; i < n; i++) {
            s[i] = types[pq_below(&pick, N_TYPES)];
            s[i].depth = pq_below(&pick, 2) ? 0 : (int)pq_below(&pick, 5);
            s[i].nulls = pq_below(&pick, 2) ? 0 : 1 + (int)pq_below(&pick, 100);
            s[i].list_nulls = pq_below(&pick, 2) ? 0 : 1 + (int)pq_below(&pick, 60);
            s[i].distinct = pq_below(&pick, 2) ? 0 : 1 + pq_below(&pick, 3000);
            if (s[i].type == CR_PQ_BYTES)
                s[i].max_len = (int)pq_below(&pick, pq_below(&pick, 4) ? 12 : 300);
            if (s[i].type == CR_PQ_FIXED) s[i].length = 1 + (int)pq_below(&pick, 20);
        }
        pq_table t;
        pq_table_init(&t, s, n, 1 + pq_below(&pick, 6000), seed);
        cr_pq_write_opts o = {.codec = pq_below(&pick, 2) ? CR_PQ_SNAPPY : CR_PQ_RAW,
                              .page_version = 1 + (int)pq_below(&pick, 2),
                              .no_dict = pq_below(&pick, 4) == 0,
                              .no_crc = pq_below(&pick, 2),
                              .group_rows = 1 + pq_below(&pick, 5000),
                              .group_bytes = (size_t)(1000 + pq_below(&pick, 200000)),
                              .page_bytes = (size_t)(64 + pq_below(&pick, 20000))};
        int before = t_failed_checks;
        round_trip(&t, &o, 1 + pq_below(&pick, 3000));
        if (t_failed_checks > before) fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        pq_table_clear(&t);
    }
}

/* ---- structs and maps ---- */

/* struct<a: int32, b: list<int32>> that may be null, by levels; map<string, float> */
TEST(structs_by_levels_and_maps) {
    cr_pq_node nodes[] = {
        {.name = "root", .type = CR_PQ_GROUP, .n_children = 2},
        {.name = "s", .type = CR_PQ_GROUP, .rep = CR_PQ_OPTIONAL, .n_children = 2, .field_id = -1},
        {.name = "a", .type = CR_PQ_I32, .rep = CR_PQ_OPTIONAL, .field_id = -1},
        {.name = "b",
         .type = CR_PQ_GROUP,
         .rep = CR_PQ_OPTIONAL,
         .logical = {.kind = CR_PQ_LIST},
         .n_children = 1,
         .field_id = -1},
        {.name = "list",
         .type = CR_PQ_GROUP,
         .rep = CR_PQ_REPEATED,
         .n_children = 1,
         .field_id = -1},
        {.name = "element", .type = CR_PQ_I32, .rep = CR_PQ_OPTIONAL, .field_id = -1},
        {.name = "m",
         .type = CR_PQ_GROUP,
         .rep = CR_PQ_OPTIONAL,
         .logical = {.kind = CR_PQ_MAP},
         .n_children = 1,
         .field_id = -1},
        {.name = "key_value",
         .type = CR_PQ_GROUP,
         .rep = CR_PQ_REPEATED,
         .n_children = 2,
         .field_id = -1},
        {.name = "key",
         .type = CR_PQ_BYTES,
         .rep = CR_PQ_REQUIRED,
         .logical = {.kind = CR_PQ_STRING},
         .field_id = -1},
        {.name = "value", .type = CR_PQ_F32, .rep = CR_PQ_OPTIONAL, .field_id = -1},
    };
    cr_pq_meta schema = {.n_nodes = 10, .nodes = nodes};
    /* rows: null, {null, null}, {5, []}, {6, [7, null]} */
    static const int32_t a[] = {0, 0, 5, 6}, b[] = {7, 0}, b_off[] = {0, 0, 0, 0, 2};
    static const uint8_t a_valid[] = {0, 0, 1, 1}, b_valid[] = {1, 0}, list_valid[] = {0, 0, 1, 1};
    static const uint8_t a_def[] = {0, 1, 2, 2}, b_def[] = {0, 1, 2, 4, 3},
                         b_rep[] = {0, 0, 0, 0, 1};
    /* maps: {x: 1.5, y: null}, null, {}, {z: -2} */
    static const int32_t m_off[] = {0, 2, 2, 2, 3};
    static const uint8_t m_valid[] = {1, 0, 1, 1}, w_valid[] = {1, 0, 1};
    static const uint32_t k_off[] = {0, 1, 2, 3};
    static const float w[] = {1.5f, 0, -2};
    cr_pq_vec v[] = {
        {.type = CR_PQ_I32,
         .n_rows = 4,
         .n = 4,
         .valid = a_valid,
         .v.i32 = a,
         .n_levels = 4,
         .def = a_def},
        {.type = CR_PQ_I32,
         .n_rows = 4,
         .n = 2,
         .valid = b_valid,
         .depth = 1,
         .list = {{b_off, list_valid, 4}},
         .v.i32 = b,
         .n_levels = 5,
         .def = b_def,
         .rep = b_rep},
        {.type = CR_PQ_BYTES,
         .n_rows = 4,
         .n = 3,
         .depth = 1,
         .list = {{m_off, m_valid, 4}},
         .bytes = "xyz",
         .beg = k_off,
         .end = k_off + 1},
        {.type = CR_PQ_F32,
         .n_rows = 4,
         .n = 3,
         .valid = w_valid,
         .depth = 1,
         .list = {{m_off, m_valid, 4}},
         .v.f32 = w},
    };
    for (int version = 1; version <= 2; version++) {
        cr_err err = {0};
        cr_pq_writer *wr;
        const char *path = path_of("s.parquet");
        /* rows one by one into groups of three: levels are found again in the middle */
        cr_pq_write_opts o = {.page_version = version, .group_rows = 3, .page_bytes = 1};
        CHECK_INT(cr_pq_writer_new(&wr, path, &schema, &o, &err), CR_OK);
        CHECK_INT(cr_pq_write(wr, v, &err), CR_OK);
        CHECK_INT(cr_pq_writer_finish(wr, &err), CR_OK);
        cr_pq_writer_free(wr);
        cr_pq_file *f;
        CHECK_INT(cr_pq_open(&f, path, &(cr_pq_opts){.keep_levels = true}, &err), CR_OK);
        if (!f) continue;
        const cr_pq_meta *m = cr_pq_get_meta(f);
        CHECK_INT(m->n_leaves, 4);
        CHECK_INT(m->n_groups, 2);
        int64_t b_levels = 0;
        for (int leaf = 0; leaf < 4; leaf++)
            for (int g = 0; g < 2; g++) {
                cr_pq_cursor *c = cr_pq_cursor_new();
                cr_pq_vec r;
                CHECK_INT(cr_pq_seek(c, f, g, leaf, 0, &err), CR_OK);
                CHECK_INT(cr_pq_read(c, 10, false, &r, &err), CR_OK);
                CHECK_INT(r.n_rows, g ? 1 : 3);
                if (leaf == 0)
                    for (int64_t i = 0; i < r.n_levels; i++)
                        CHECK_INT(r.def[i], a_def[3 * g + i]);
                if (leaf == 1) {
                    CHECK_INT(r.n_levels, g ? 2 : 3);
                    for (int64_t i = 0; i < r.n_levels; i++, b_levels++) {
                        CHECK_INT(r.def[i], b_def[b_levels]);
                        CHECK_INT(r.rep[i], b_rep[b_levels]);
                    }
                }
                for (int64_t i = 0; i < r.n_rows; i++)
                    CHECK(pq_item_equal(&v[leaf], 3 * g + i, &r, i, 0));
                cr_pq_cursor_free(c);
            }
        cr_pq_close(f);
        unlink(path);
    }
}

/* ---- logical types ---- */

TEST(logical_types) {
    static const cr_pq_logical none = {0};
    pq_spec s[32];
    int n = 0;
#define ADD(T, LEN, ...)                                                                           \
    do {                                                                                           \
        s[n] = (pq_spec){.type = T,                                                                \
                         .length = LEN,                                                            \
                         .logical = {__VA_ARGS__},                                                 \
                         .max_len = 8,                                                             \
                         .nulls = n % 2 * 20};                                                     \
        n++;                                                                                       \
    } while (0)
    for (int bits = 8; bits <= 64; bits *= 2) {
        ADD(bits == 64 ? CR_PQ_I64 : CR_PQ_I32, 0, .kind = CR_PQ_INT, .bits = bits,
            .is_signed = true);
        ADD(bits == 64 ? CR_PQ_I64 : CR_PQ_I32, 0, .kind = CR_PQ_INT, .bits = bits);
    }
    ADD(CR_PQ_BYTES, 0, .kind = CR_PQ_STRING);
    ADD(CR_PQ_BYTES, 0, .kind = CR_PQ_ENUM);
    ADD(CR_PQ_BYTES, 0, .kind = CR_PQ_JSON);
    ADD(CR_PQ_BYTES, 0, .kind = CR_PQ_BSON);
    ADD(CR_PQ_FIXED, 16, .kind = CR_PQ_UUID);
    ADD(CR_PQ_FIXED, 2, .kind = CR_PQ_FLOAT16);
    ADD(CR_PQ_FIXED, 12, .kind = CR_PQ_INTERVAL);
    ADD(CR_PQ_I32, 0, .kind = CR_PQ_DECIMAL, .precision = 9, .scale = 2);
    ADD(CR_PQ_I64, 0, .kind = CR_PQ_DECIMAL, .precision = 18, .scale = 0);
    ADD(CR_PQ_FIXED, 9, .kind = CR_PQ_DECIMAL, .precision = 20, .scale = 3);
    ADD(CR_PQ_BYTES, 0, .kind = CR_PQ_DECIMAL, .precision = 10, .scale = 10);
    ADD(CR_PQ_I32, 0, .kind = CR_PQ_DATE);
    ADD(CR_PQ_I32, 0, .kind = CR_PQ_TIME, .unit = CR_PQ_MILLIS, .is_utc = true);
    ADD(CR_PQ_I64, 0, .kind = CR_PQ_TIME, .unit = CR_PQ_MICROS);
    ADD(CR_PQ_I64, 0, .kind = CR_PQ_TIME, .unit = CR_PQ_NANOS, .is_utc = true);
    ADD(CR_PQ_I64, 0, .kind = CR_PQ_TIMESTAMP, .unit = CR_PQ_MILLIS);
    ADD(CR_PQ_I64, 0, .kind = CR_PQ_TIMESTAMP, .unit = CR_PQ_MICROS, .is_utc = true);
    ADD(CR_PQ_I64, 0, .kind = CR_PQ_TIMESTAMP, .unit = CR_PQ_NANOS, .is_utc = true);
    s[n++] = (pq_spec){.type = CR_PQ_I32, .logical = {.kind = CR_PQ_NULL}, .nulls = 100};
    s[n++] = (pq_spec){.type = CR_PQ_I64, .logical = none, .nulls = 50};
    pq_table t;
    pq_table_init(&t, s, n, 300, 9);
    round_trip(&t, &(cr_pq_write_opts){.codec = CR_PQ_ZSTD}, 300);
    pq_table_clear(&t);
}

/* ---- statistics ---- */

/* writes one column of values and opens the file */
static cr_pq_file *one_column(cr_pq_node leaf, const cr_pq_vec *v, const cr_pq_write_opts *o) {
    cr_pq_node nodes[2] = {{.name = "root", .type = CR_PQ_GROUP, .n_children = 1}, leaf};
    nodes[1].name = "x";
    nodes[1].field_id = -1;
    cr_pq_meta schema = {.n_nodes = 2, .nodes = nodes};
    cr_err err = {0};
    cr_pq_writer *w;
    cr_pq_file *f = NULL;
    const char *path = path_of("one.parquet");
    bool ok = cr_pq_writer_new(&w, path, &schema, o, &err) == CR_OK;
    ok = ok && cr_pq_write(w, v, &err) == CR_OK && cr_pq_writer_finish(w, &err) == CR_OK;
    cr_pq_writer_free(w);
    ok = ok && cr_pq_open(&f, path, NULL, &err) == CR_OK;
    unlink(path);
    CHECK(ok);
    if (!ok) fprintf(stderr, "%s: %s\n", t_name, err.msg);
    return f;
}

static cr_pq_vec numbers(cr_pq_type type, const void *v, int64_t n) {
    cr_pq_vec x = {.type = type, .n_rows = n, .n = n};
    x.v.b8 = v;
    return x;
}

static const cr_pq_stats *stats_of(const cr_pq_file *f) {
    return &cr_pq_get_meta(f)->groups[0].chunks[0].stats;
}

#define CHECK_STAT(s, which, value)                                                                \
    do {                                                                                           \
        CHECK_INT((s)->which##_size, (int)sizeof(value));                                          \
        CHECK((s)->which &&memcmp((s)->which, &(value), sizeof(value)) == 0);                      \
        CHECK((s)->which##_exact);                                                                 \
    } while (0)

TEST(min_and_max_follow_the_type) {
    for (int no_dict = 0; no_dict < 2; no_dict++) {
        cr_pq_write_opts o = {.no_dict = no_dict};
        static const int32_t i32[] = {3, -5, 3, 7, -5, 3, -5, 7, 7, 3, 3, 3};
        cr_pq_vec v = numbers(CR_PQ_I32, i32, 12);
        int32_t lo = -5, hi = 7;
        cr_pq_file *f = one_column((cr_pq_node){.type = CR_PQ_I32}, &v, &o);
        CHECK_STAT(stats_of(f), min, lo);
        CHECK_STAT(stats_of(f), max, hi);
        CHECK_INT(stats_of(f)->n_null, 0);
        cr_pq_close(f);
        /* the same bits without a sign: -5 is the greatest */
        int32_t least = 3;
        f = one_column((cr_pq_node){.type = CR_PQ_I32, .logical = {.kind = CR_PQ_INT, .bits = 32}},
                       &v, &o);
        CHECK_STAT(stats_of(f), min, least);
        CHECK_STAT(stats_of(f), max, lo);
        cr_pq_close(f);

        static const int64_t i64[] = {1, INT64_MIN, INT64_MAX, 1, 1};
        v = numbers(CR_PQ_I64, i64, 5);
        int64_t lo64 = INT64_MIN, hi64 = INT64_MAX, one = 1;
        f = one_column((cr_pq_node){.type = CR_PQ_I64}, &v, &o);
        CHECK_STAT(stats_of(f), min, lo64);
        CHECK_STAT(stats_of(f), max, hi64);
        cr_pq_close(f);
        f = one_column((cr_pq_node){.type = CR_PQ_I64, .logical = {.kind = CR_PQ_INT, .bits = 64}},
                       &v, &o);
        CHECK_STAT(stats_of(f), min, one);
        CHECK_STAT(stats_of(f), max, lo64);
        cr_pq_close(f);

        static const uint8_t b[] = {1, 1, 1, 0};
        v = numbers(CR_PQ_BOOL, b, 3);
        f = one_column((cr_pq_node){.type = CR_PQ_BOOL}, &v, &o);
        CHECK_STAT(stats_of(f), min, b[0]);
        CHECK_STAT(stats_of(f), max, b[0]);
        cr_pq_close(f);
    }
}

TEST(min_and_max_of_floats) {
    for (int no_dict = 0; no_dict < 2; no_dict++) {
        cr_pq_write_opts o = {.no_dict = no_dict};
        const float a[] = {NAN, 2, -0.0f, NAN, 1, 2, 2, 2};
        cr_pq_vec v = numbers(CR_PQ_F32, a, 8);
        float low = -0.0f, two = 2;
        cr_pq_file *f = one_column((cr_pq_node){.type = CR_PQ_F32}, &v, &o);
        CHECK_STAT(stats_of(f), min, low);
        CHECK_STAT(stats_of(f), max, two);
        cr_pq_close(f);
        const double b[] = {0.0, -1, -1, 0.0, -INFINITY}, inf = -INFINITY, zero = 0.0, nz = -0.0;
        v = numbers(CR_PQ_F64, b, 5);
        f = one_column((cr_pq_node){.type = CR_PQ_F64}, &v, &o);
        CHECK_STAT(stats_of(f), min, inf);
        CHECK_STAT(stats_of(f), max, zero);
        cr_pq_close(f);
        const double z[] = {0.0, 0.0};
        v = numbers(CR_PQ_F64, z, 2);
        f = one_column((cr_pq_node){.type = CR_PQ_F64}, &v, &o);
        CHECK_STAT(stats_of(f), min, nz);
        CHECK_STAT(stats_of(f), max, zero);
        cr_pq_close(f);
        /* nothing but NaN: no bounds, and no column index */
        const double nan[] = {NAN, NAN, NAN};
        v = numbers(CR_PQ_F64, nan, 3);
        f = one_column((cr_pq_node){.type = CR_PQ_F64}, &v, &o);
        CHECK(!stats_of(f)->min && !stats_of(f)->max);
        CHECK_INT(stats_of(f)->n_null, 0);
        CHECK_INT(cr_pq_get_meta(f)->groups[0].chunks[0].column_index, 0);
        CHECK(cr_pq_get_meta(f)->groups[0].chunks[0].offset_index > 0);
        cr_pq_close(f);
        /* half floats: 1, -2, NaN */
        static const uint8_t half[] = {0, 0x3C, 0, 0xC0, 1, 0x7C, 0, 0x3C};
        v = numbers(CR_PQ_FIXED, half, 4);
        v.type_length = 2;
        uint8_t minus_two[] = {0, 0xC0}, one[] = {0, 0x3C};
        f = one_column((cr_pq_node){.type = CR_PQ_FIXED,
                                    .type_length = 2,
                                    .logical = {.kind = CR_PQ_FLOAT16}},
                       &v, &o);
        CHECK_STAT(stats_of(f), min, minus_two);
        CHECK_STAT(stats_of(f), max, one);
        cr_pq_close(f);
    }
}

TEST(min_and_max_of_bytes) {
    /* decimals: -1, 1, 300, -300 of one and two bytes */
    static const char dec[] = "\xff\x01\x01\x2c\xfe\xd4";
    static const uint32_t at[] = {0, 1, 2, 4, 6};
    cr_pq_vec v = {
        .type = CR_PQ_BYTES, .n_rows = 4, .n = 4, .bytes = dec, .beg = at, .end = at + 1};
    cr_pq_file *f = one_column((cr_pq_node){.type = CR_PQ_BYTES,
                                            .logical = {.kind = CR_PQ_DECIMAL, .precision = 4}},
                               &v, NULL);
    uint8_t lo[] = {0xfe, 0xd4}, hi[] = {0x01, 0x2c};
    CHECK_STAT(stats_of(f), min, lo);
    CHECK_STAT(stats_of(f), max, hi);
    cr_pq_close(f);
    /* the same as plain bytes: unsigned, shorter ones first */
    f = one_column((cr_pq_node){.type = CR_PQ_BYTES}, &v, NULL);
    uint8_t lo2[] = {0x01}, hi2[] = {0xff};
    CHECK_STAT(stats_of(f), min, lo2);
    CHECK_STAT(stats_of(f), max, hi2);
    cr_pq_close(f);
    /* no order is defined for these */
    static const uint8_t wide[24] = {1};
    v = numbers(CR_PQ_I96, wide, 2);
    f = one_column((cr_pq_node){.type = CR_PQ_I96}, &v, NULL);
    CHECK(!stats_of(f)->min && !stats_of(f)->max);
    CHECK_INT(stats_of(f)->n_null, 0);
    cr_pq_close(f);
}

/* one long text; the bounds of the column */
static void long_text(const char *text, size_t n, cr_pq_kind kind, const char *min, const char *max,
                      bool exact) {
    uint32_t at[] = {0, (uint32_t)n};
    cr_pq_vec v = {
        .type = CR_PQ_BYTES, .n_rows = 1, .n = 1, .bytes = text, .beg = at, .end = at + 1};
    cr_pq_file *f =
        one_column((cr_pq_node){.type = CR_PQ_BYTES, .logical = {.kind = kind}}, &v, NULL);
    const cr_pq_stats *s = stats_of(f);
    CHECK_INT(s->min_size, strlen(min));
    CHECK(s->min && memcmp(s->min, min, strlen(min)) == 0);
    CHECK_INT(s->min_exact, exact);
    if (max) {
        CHECK_INT(s->max_size, strlen(max));
        CHECK(s->max && memcmp(s->max, max, strlen(max)) == 0);
        CHECK_INT(s->max_exact, exact);
    } else
        CHECK(!s->max);
    cr_pq_close(f);
}

TEST(long_texts_are_cut) {
    char a[200], min[80], max[80];
    memset(a, 'a', sizeof(a));
    snprintf(min, sizeof(min), "%.64s", a);
    snprintf(max, sizeof(max), "%.63sb", a);
    long_text(a, 64, CR_PQ_STRING, min, min, true);
    long_text(a, 65, CR_PQ_STRING, min, max, false);
    long_text(a, 200, CR_PQ_PHYSICAL, min, max, false);
    /* a character of three bytes across the border: cut in front of it */
    memcpy(a + 62, "\xe2\x82\xac", 3);
    snprintf(min, sizeof(min), "%.62s", a);
    snprintf(max, sizeof(max), "%.61sb", a);
    long_text(a, 200, CR_PQ_STRING, min, max, false);
    /* one that ends at it: counted up as a character */
    memcpy(a + 61, "\xe2\x82\xac", 3);
    a[64] = 'z';
    snprintf(min, sizeof(min), "%.64s", a);
    snprintf(max, sizeof(max), "%.61s\xe2\x82\xad", a);
    long_text(a, 200, CR_PQ_STRING, min, max, false);
    /* the last character before those that are none, and the last of all */
    memcpy(a + 61, "\xed\x9f\xbf", 3);
    snprintf(min, sizeof(min), "%.64s", a);
    snprintf(max, sizeof(max), "%.61s\xee\x80\x80", a);
    long_text(a, 200, CR_PQ_STRING, min, max, false);
    memcpy(a + 60, "\xf4\x8f\xbf\xbf", 4);
    snprintf(min, sizeof(min), "%.64s", a);
    snprintf(max, sizeof(max), "%.59sb", a);
    long_text(a, 200, CR_PQ_STRING, min, max, false);
    /* nothing lies above */
    memset(a, 0xff, sizeof(a));
    snprintf(min, sizeof(min), "%.64s", a);
    long_text(a, 200, CR_PQ_PHYSICAL, min, NULL, false);
}

TEST(page_index) {
    enum { N = 4000 };
    int64_t x[N];
    uint8_t valid[N];
    for (int i = 0; i < N; i++) {
        x[i] = i;
        valid[i] = i < 1000 || i >= 3500;
    }
    for (int version = 1; version <= 2; version++) {
        cr_pq_vec v = numbers(CR_PQ_I64, x, N);
        v.valid = valid;
        cr_pq_write_opts o = {.page_version = version, .page_bytes = 800, .no_dict = true};
        cr_pq_file *f = one_column((cr_pq_node){.type = CR_PQ_I64, .rep = CR_PQ_OPTIONAL}, &v, &o);
        cr_arena a;
        cr_arena_init(&a, 0);
        cr_pq_index index;
        cr_err err;
        CHECK_INT(cr_pq_read_index(f, 0, 0, &a, &index, &err), CR_OK);
        CHECK(index.n_pages > 5);
        CHECK(index.has_stats);
        int64_t nulls = 0, all_null = 0;
        for (int i = 0; i < index.n_pages; i++) {
            const cr_pq_page_info *p = &index.pages[i];
            int64_t end = i + 1 < index.n_pages ? index.pages[i + 1].first_row : N;
            nulls += p->stats.n_null;
            all_null += p->all_null;
            CHECK(end > p->first_row);
            if (p->all_null) continue;
            int64_t lo, hi;
            memcpy(&lo, p->stats.min, 8);
            memcpy(&hi, p->stats.max, 8);
            CHECK(lo >= p->first_row && hi < end && lo <= hi);
        }
        CHECK_INT(nulls, 2500);
        CHECK(all_null > 0);
        CHECK_INT(stats_of(f)->n_null, 2500);
        cr_arena_clear(&a);
        cr_pq_close(f);
    }
}

/* ---- dictionaries ---- */

TEST(dictionaries_where_they_pay) {
    enum { N = 200000 };
    int64_t *x = cr_alloc(N * sizeof(*x), "numbers");
    cr_pq_vec v = numbers(CR_PQ_I64, x, N);
    const uint32_t dict = 1u << CR_PQ_RLE_DICT;
    for (int64_t i = 0; i < N; i++)
        x[i] = i % 100 * 1000003;
    cr_pq_file *f = one_column((cr_pq_node){.type = CR_PQ_I64}, &v, NULL);
    CHECK(cr_pq_get_meta(f)->groups[0].chunks[0].encodings & dict);
    CHECK(cr_pq_get_meta(f)->groups[0].chunks[0].size < N);
    CHECK(cr_pq_get_meta(f)->groups[0].chunks[0].start <
          cr_pq_get_meta(f)->groups[0].chunks[0].data_start);
    cr_pq_close(f);
    for (int64_t i = 0; i < N; i++)
        x[i] = i * 1000003;
    f = one_column((cr_pq_node){.type = CR_PQ_I64}, &v, NULL);
    CHECK_INT(cr_pq_get_meta(f)->groups[0].chunks[0].encodings, 1u << CR_PQ_PLAIN);
    CHECK_INT(cr_pq_get_meta(f)->groups[0].chunks[0].start,
              cr_pq_get_meta(f)->groups[0].chunks[0].data_start);
    cr_pq_close(f);
    /* first few, then all different: pages of both kinds */
    for (int64_t i = 0; i < N; i++)
        x[i] = i < N - 10000 ? i % 7 : i;
    f = one_column((cr_pq_node){.type = CR_PQ_I64}, &v, &(cr_pq_write_opts){.page_bytes = 40000});
    CHECK(cr_pq_get_meta(f)->groups[0].chunks[0].encodings & dict);
    CHECK(cr_pq_get_meta(f)->groups[0].chunks[0].encodings & 1u << CR_PQ_PLAIN);
    cr_pq_cursor *c = cr_pq_cursor_new();
    cr_pq_vec r;
    cr_err err;
    CHECK_INT(cr_pq_seek(c, f, 0, 0, 0, &err), CR_OK);
    CHECK_INT(cr_pq_read(c, N, false, &r, &err), CR_OK);
    CHECK(r.n_rows == N && memcmp(r.v.i64, x, N * sizeof(*x)) == 0);
    cr_pq_cursor_free(c);
    cr_pq_close(f);
    cr_free(x);
}

/* ---- what may be wrong ---- */

static void refused(cr_pq_node leaf, cr_pq_vec v, const char *why) {
    cr_pq_node nodes[2] = {{.name = "root", .type = CR_PQ_GROUP, .n_children = 1}, leaf};
    nodes[1].name = "x";
    cr_pq_meta schema = {.n_nodes = 2, .nodes = nodes};
    cr_err err = {0};
    cr_pq_writer *w;
    CHECK_INT(cr_pq_writer_new(&w, path_of("bad.parquet"), &schema, NULL, &err), CR_OK);
    CHECK(cr_pq_write(w, &v, &err) != CR_OK);
    if (!strstr(err.msg, why)) CHECK_STR(err.msg, why);
    CHECK(cr_pq_writer_finish(w, &err) != CR_OK);
    cr_pq_writer_free(w);
    CHECK_INT(files_left(), 0);
}

TEST(vectors_that_do_not_fit) {
    static const int32_t x[] = {1, 2};
    static const uint8_t valid[] = {1, 0};
    static const int32_t off[] = {0, 2, 1};
    cr_pq_node req = {.type = CR_PQ_I32}, opt = {.type = CR_PQ_I32, .rep = CR_PQ_OPTIONAL};
    cr_pq_node rep = {.type = CR_PQ_I32, .rep = CR_PQ_REPEATED};
    cr_pq_vec v = numbers(CR_PQ_I32, x, 2);
    refused((cr_pq_node){.type = CR_PQ_I64}, v, "another type");
    refused(rep, v, "another number of lists");
    v.valid = valid;
    refused(req, v, "column 'x': a value is null and may not be");
    v.n_levels = 2;
    v.def = (const uint8_t[]){1, 2};
    refused(opt, v, "a definition level is too high");
    v.def = (const uint8_t[]){1, 1};
    refused(opt, v, "do not fit its values");
    v.def = NULL;
    v.valid = NULL;
    v.depth = 1;
    v.list[0] = (cr_pq_list){off, NULL, 2};
    refused(rep, v, "not in order");
    v.list[0] = (cr_pq_list){(const int32_t[]){0, 1, 2}, valid, 2};
    refused(rep, v, "a null list has items");
    v.list[0] = (cr_pq_list){(const int32_t[]){0, 2, 2}, valid, 2};
    refused(rep, v, "a list is null and may not be");
}

TEST(schemas_and_codecs_that_cannot_be) {
    cr_pq_node nodes[2] = {{.name = "root", .type = CR_PQ_GROUP, .n_children = 1},
                           {.name = "x", .type = CR_PQ_FIXED}};
    cr_pq_meta schema = {.n_nodes = 2, .nodes = nodes};
    cr_err err = {0};
    cr_pq_writer *w;
    CHECK(cr_pq_writer_new(&w, path_of("bad.parquet"), &schema, NULL, &err) != CR_OK);
    CHECK(!w && strstr(err.msg, "length"));
    nodes[1].type = CR_PQ_I32;
    CHECK(cr_pq_writer_new(&w, path_of("bad.parquet"), &schema,
                           &(cr_pq_write_opts){.codec = CR_PQ_LZO}, &err) != CR_OK);
    CHECK(!w && strstr(err.msg, "zstd"));
    schema.n_nodes = 1;
    nodes[0].n_children = 0;
    CHECK(cr_pq_writer_new(&w, path_of("bad.parquet"), &schema, NULL, &err) != CR_OK);
    CHECK(!w && strstr(err.msg, "no columns"));
    CHECK_INT(files_left(), 0);
}

/* ---- failures ---- */

TEST(nothing_is_left_without_finish) {
    pq_spec s = {.type = CR_PQ_I64};
    pq_table t;
    pq_table_init(&t, &s, 1, 1000, 5);
    cr_err err = {0};
    cr_pq_writer *w;
    const char *path = path_of("t.parquet");
    CHECK_INT(cr_pq_writer_new(&w, path, &t.schema, NULL, &err), CR_OK);
    CHECK_INT(cr_pq_write(w, t.v, &err), CR_OK);
    CHECK(!cr_path_exists(path));
    cr_pq_writer_free(w);
    CHECK_INT(files_left(), 0);
    /* what was there stays until the new one is whole */
    CHECK_INT(write_table(path, &t, NULL, 1000, &err), CR_OK);
    CHECK_INT(cr_pq_writer_new(&w, path, &t.schema, NULL, &err), CR_OK);
    CHECK_INT(cr_pq_write(w, t.v, &err), CR_OK);
    cr_pq_writer_free(w);
    pq_compare(path, &t, NULL);
    CHECK_INT(files_left(), 1);
    unlink(path);
    pq_table_clear(&t);
}

TEST(a_full_disk) {
    pq_spec s = {.type = CR_PQ_I64};
    pq_table t;
    pq_table_init(&t, &s, 1, 300000, 6);
    cr_err err = {0};
    /* a limit of the file's size fails as a full disk does, anywhere: in the pages, the footer */
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    static const rlim_t limits[] = {1, 1000, 200000, 2400000};
    for (size_t i = 0; i < 4; i++) {
        small = old;
        small.rlim_cur = limits[i];
        setrlimit(RLIMIT_FSIZE, &small);
        cr_code code = write_table(path_of("full.parquet"), &t,
                                   &(cr_pq_write_opts){.group_rows = 100000}, 50000, &err);
        setrlimit(RLIMIT_FSIZE, &old);
        CHECK_INT(code, CR_EIO);
        CHECK(strstr(err.msg, "cannot write") != NULL);
        CHECK_INT(files_left(), 0);
    }
    signal(SIGXFSZ, handler);
    if (cr_path_exists("/dev/full")) {
        CHECK_INT(write_table("/dev/full", &t, NULL, 50000, &err), CR_EIO);
        CHECK(strstr(err.msg, "space") != NULL);
    }
    pq_table_clear(&t);
}

TEST(no_memory) {
    pq_spec s[] = {{.type = CR_PQ_I64},
                   {.type = CR_PQ_BYTES, .max_len = 100, .nulls = 10},
                   {.type = CR_PQ_BYTES, .max_len = 20, .depth = 1, .distinct = 5}};
    pq_table t;
    pq_table_init(&t, s, 3, 5000, 7);
    cr_err err = {0};
    int failed = 0;
    for (uint64_t k = 1; k < 200; k++) {
        cr_alloc_fail_after(k);
        cr_code code = write_table(path_of("t.parquet"), &t,
                                   &(cr_pq_write_opts){.page_bytes = 4000}, 500, &err);
        cr_alloc_fail_after(0);
        if (code == CR_OK) break;
        failed++;
        CHECK_INT(code, CR_ENOMEM);
        CHECK_INT(files_left(), 0);
    }
    CHECK(failed > 3);
    pq_compare(path_of("t.parquet"), &t, NULL);
    unlink(path_of("t.parquet"));
    pq_table_clear(&t);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {
        {"every_type_codec_and_page_version", every_type_codec_and_page_version},
        {"defaults", defaults},
        {"few_rows_and_borders", few_rows_and_borders},
        {"random_shapes", random_shapes},
        {"structs_by_levels_and_maps", structs_by_levels_and_maps},
        {"logical_types", logical_types},
        {"min_and_max_follow_the_type", min_and_max_follow_the_type},
        {"min_and_max_of_floats", min_and_max_of_floats},
        {"min_and_max_of_bytes", min_and_max_of_bytes},
        {"long_texts_are_cut", long_texts_are_cut},
        {"page_index", page_index},
        {"dictionaries_where_they_pay", dictionaries_where_they_pay},
        {"vectors_that_do_not_fit", vectors_that_do_not_fit},
        {"schemas_and_codecs_that_cannot_be", schemas_and_codecs_that_cannot_be},
        {"nothing_is_left_without_finish", nothing_is_left_without_finish},
        {"a_full_disk", a_full_disk},
        {"no_memory", no_memory},
    };
    snprintf(dir, sizeof(dir), "/tmp/crank-pq-writer-XXXXXX");
    if (!mkdtemp(dir)) return 1;
    int code = t_run(cases, sizeof(cases) / sizeof(*cases), argc, argv);
    rmdir(dir);
    return code;
}
