/*
 * meta.c - footers, page headers and page indexes: what is taken, what is forgiven, what is
 * refused; and opening files.
 *
 * A footer is made by hand with one thing changed per case.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "parquet/parquet_int.h"

/* ---- a footer with knobs ---- */

typedef struct knobs {
    int type, type_length, converted, precision, scale, rep;
    int logical, bits; /* number in the union; 0: none */
    bool is_signed;
    int chunk_type, codec, n_chunks;
    int64_t n_values, data, dict, size, raw_size, rows;
    const char *path, *file_path;
    const char *min, *max, *old_min, *old_max;
    int order;    /* number in the union of column orders; 0: none is told */
    int extra_id; /* a field of an unknown number in every struct */
    bool encrypted, no_meta, groups_first;
    int64_t index_at;
    int index_size;
    const char *created_by;
    int64_t told_rows; /* of the footer; 0: those of the group */
    bool no_groups;
} knobs;

static const knobs plain = {
    .type = CR_PQ_I64,
    .converted = -1,
    .rep = CR_PQ_OPTIONAL,
    .chunk_type = CR_PQ_I64,
    .n_chunks = 1,
    .n_values = 10,
    .data = 4,
    .size = 100,
    .raw_size = 200,
    .rows = 10,
    .order = 1,
};

static void extra(cr_buf *b, int *last, const knobs *k) {
    if (!k->extra_id) return;
    cr_tout_list(b, last, k->extra_id, CR_T_STRUCT, 1);
    int in = 0;
    cr_tout_bytes(b, &in, 1, "new", 3);
    cr_tout_stop(b);
}

static void put_text(cr_buf *b, int *last, int id, const char *s) {
    if (s) cr_tout_bytes(b, last, id, s, strlen(s));
}

static void put_schema(cr_buf *b, int *last, const knobs *k) {
    cr_tout_list(b, last, 2, CR_T_STRUCT, 2);
    int r = 0, l = 0;
    put_text(b, &r, 4, "schema");
    cr_tout_i32(b, &r, 5, 1);
    extra(b, &r, k);
    cr_tout_stop(b);
    cr_tout_i32(b, &l, 1, k->type);
    if (k->type_length) cr_tout_i32(b, &l, 2, k->type_length);
    if (k->rep >= 0) cr_tout_i32(b, &l, 3, k->rep);
    put_text(b, &l, 4, "price");
    if (k->converted >= 0) cr_tout_i32(b, &l, 6, k->converted);
    if (k->scale) cr_tout_i32(b, &l, 7, k->scale);
    if (k->precision) cr_tout_i32(b, &l, 8, k->precision);
    if (k->logical) {
        int u = 0, p = 0;
        cr_tout_field(b, &l, 10, CR_T_STRUCT);
        cr_tout_field(b, &u, k->logical, CR_T_STRUCT);
        if (k->bits) {
            cr_tout_field(b, &p, 1, CR_T_I8);
            cr_buf_char(b, (char)k->bits);
            cr_tout_bool(b, &p, 2, k->is_signed);
        }
        cr_tout_stop(b);
        cr_tout_stop(b);
    }
    extra(b, &l, k);
    cr_tout_stop(b);
}

static void put_groups(cr_buf *b, int *last, const knobs *k) {
    int g = 0;
    cr_tout_list(b, last, 4, CR_T_STRUCT, 1);
    cr_tout_list(b, &g, 1, CR_T_STRUCT, (size_t)k->n_chunks);
    for (int i = 0; i < k->n_chunks; i++) {
        int c = 0, m = 0, s = 0;
        put_text(b, &c, 1, k->file_path);
        if (!k->no_meta) {
            cr_tout_field(b, &c, 3, CR_T_STRUCT);
            cr_tout_i32(b, &m, 1, k->chunk_type);
            cr_tout_list(b, &m, 2, CR_T_I32, 3);
            cr_tout_int(b, CR_PQ_PLAIN);
            cr_tout_int(b, CR_PQ_RLE);
            cr_tout_int(b, 77);
            if (k->path) {
                cr_tout_list(b, &m, 3, CR_T_BYTES, 1);
                cr_tout_bytes(b, NULL, 0, k->path, strlen(k->path));
            }
            cr_tout_i32(b, &m, 4, k->codec);
            cr_tout_i64(b, &m, 5, k->n_values);
            cr_tout_i64(b, &m, 6, k->raw_size);
            cr_tout_i64(b, &m, 7, k->size);
            cr_tout_i64(b, &m, 9, k->data);
            if (k->dict != -1) cr_tout_i64(b, &m, 11, k->dict);
            cr_tout_field(b, &m, 12, CR_T_STRUCT);
            put_text(b, &s, 1, k->old_max);
            put_text(b, &s, 2, k->old_min);
            cr_tout_i64(b, &s, 3, 2);
            put_text(b, &s, 5, k->max);
            put_text(b, &s, 6, k->min);
            extra(b, &s, k);
            cr_tout_stop(b);
            extra(b, &m, k);
            cr_tout_stop(b);
        }
        if (k->index_at) {
            cr_tout_i64(b, &c, 4, k->index_at);
            cr_tout_i32(b, &c, 5, k->index_size);
        }
        if (k->encrypted) {
            int e = 0;
            cr_tout_field(b, &c, 8, CR_T_STRUCT);
            cr_tout_field(b, &e, 1, CR_T_STRUCT);
            cr_tout_stop(b);
            cr_tout_stop(b);
        }
        extra(b, &c, k);
        cr_tout_stop(b);
    }
    cr_tout_i64(b, &g, 2, 200);
    if (k->rows >= 0) cr_tout_i64(b, &g, 3, k->rows);
    extra(b, &g, k);
    cr_tout_stop(b);
}

static void put_footer(cr_buf *b, const knobs *k) {
    int f = 0, p = 0, o = 0;
    cr_buf_init(b);
    cr_tout_i32(b, &f, 1, 2);
    if (k->groups_first) put_groups(b, &f, k);
    put_schema(b, &f, k);
    cr_tout_i64(b, &f, 3, k->told_rows ? k->told_rows : k->rows);
    if (!k->groups_first && !k->no_groups) put_groups(b, &f, k);
    cr_tout_list(b, &f, 5, CR_T_STRUCT, 1);
    put_text(b, &p, 1, "key");
    cr_tout_stop(b);
    put_text(b, &f, 6, k->created_by);
    if (k->order) {
        cr_tout_list(b, &f, 7, CR_T_STRUCT, 1);
        cr_tout_field(b, &o, k->order, CR_T_STRUCT);
        cr_tout_stop(b);
        cr_tout_stop(b);
    }
    extra(b, &f, k);
    cr_tout_stop(b);
}

typedef struct parsed {
    cr_pq_meta m;
    cr_err err;
    cr_code code;
    cr_arena arena;
    cr_buf b;
} parsed;

static parsed P;
static const cr_pq_chunk *chunk_of(const knobs *k) {
    cr_buf_clear(&P.b);
    cr_arena_clear(&P.arena);
    cr_arena_init(&P.arena, 0);
    put_footer(&P.b, k);
    P.err.msg[0] = 0;
    P.code =
        cr_pq_parse_footer((const uint8_t *)P.b.data, P.b.n, 1000, 1 << 20, &P.arena, &P.m, &P.err);
    return P.code == CR_OK ? &P.m.groups[0].chunks[0] : NULL;
}
static void drop(void) {
    cr_buf_clear(&P.b);
    cr_arena_clear(&P.arena);
}

static void refused(knobs k, const char *want) {
    chunk_of(&k);
    CHECK_INT(P.code, CR_EDATA);
    CHECK_STR(P.err.msg, want);
}

/* a footer that crank writes: every flipped bit is found, but for those of the head of its digest,
 * after which it reads as before */
TEST(sealed_footer) {
    knobs k = plain;
    k.created_by = "me";
    CHECK(chunk_of(&k) != NULL);
    cr_buf b;
    cr_arena arena;
    cr_pq_meta m;
    cr_err err;
    cr_buf_init(&b);
    cr_pq_put_footer(&b, &P.m);
    size_t head = b.n - 14, digest = b.n - 9;
    int unseen = 0;
    for (size_t i = 0; i < 8 * b.n; i++) {
        b.data[i / 8] ^= (char)(1 << i % 8);
        cr_arena_init(&arena, 0);
        cr_code code =
            cr_pq_parse_footer((const uint8_t *)b.data, b.n, 1000, 1 << 20, &arena, &m, &err);
        bool in_head = i / 8 >= head && i / 8 < digest;
        if (code == CR_OK) {
            CHECK(in_head);
            CHECK_INT(m.n_rows, 10);
            CHECK_INT(m.nodes[1].max_def, 1);
            unseen++;
        } else if (!in_head) {
            CHECK_STR(err.msg, "footer: it does not fit its digest");
        }
        cr_arena_clear(&arena);
        b.data[i / 8] ^= (char)(1 << i % 8);
    }
    CHECK(unseen < 40);
    cr_buf_clear(&b);
    drop();
}

TEST(footer) {
    for (int extra_id = 0; extra_id < 200; extra_id += 99)
        for (int first = 0; first < 2; first++) {
            knobs k = plain;
            k.extra_id = extra_id;
            k.groups_first = first;
            k.created_by = "me";
            const cr_pq_chunk *c = chunk_of(&k);
            CHECK_INT(P.code, CR_OK);
            if (!c) continue;
            CHECK_INT(P.m.version, 2);
            CHECK_INT(P.m.n_rows, 10);
            CHECK_INT(P.m.n_nodes, 2);
            CHECK_INT(P.m.n_leaves, 1);
            CHECK_STR(P.m.nodes[1].name, "price");
            CHECK_INT(P.m.nodes[1].max_def, 1);
            CHECK_STR(P.m.created_by, "me");
            CHECK_INT(P.m.n_pairs, 1);
            CHECK_STR(P.m.pairs[0].key, "key");
            CHECK(P.m.pairs[0].value == NULL);
            CHECK_INT(c->encodings, 1 << CR_PQ_PLAIN | 1 << CR_PQ_RLE);
            CHECK_INT(c->start, 4);
            CHECK_INT(c->size, 100);
            CHECK_INT(c->raw_size, 200);
            CHECK_INT(c->stats.n_null, 2);
            CHECK_INT(c->stats.n_distinct, -1);
        }
    drop();
}

TEST(cut_footer) {
    knobs k = plain;
    cr_buf b;
    put_footer(&b, &k);
    for (size_t n = 0; n < b.n; n++) {
        uint8_t *copy = malloc(n ? n : 1);
        cr_arena a;
        cr_pq_meta m;
        cr_err err;
        memcpy(copy, b.data, n);
        cr_arena_init(&a, 0);
        CHECK_INT(cr_pq_parse_footer(copy, n, 1000, 1 << 20, &a, &m, &err), CR_EDATA);
        CHECK(strstr(err.msg, "it ends too early") != NULL);
        cr_arena_clear(&a);
        free(copy);
    }
    cr_buf_clear(&b);
}

TEST(refusals) {
    knobs k = plain;
#define WITH(set, msg)                                                                             \
    do {                                                                                           \
        k = plain;                                                                                 \
        set;                                                                                       \
        refused(k, msg);                                                                           \
    } while (0)
    WITH(k.n_chunks = 2, "row group 0 has 2 columns, the schema has 1");
    WITH(k.n_chunks = 0, "row group 0 has 0 columns, the schema has 1");
    WITH(k.rows = -1, "row group 0: its number of rows is missing");
    WITH(k.told_rows = 11, "footer: it tells of 11 rows, its row groups have 10");
    WITH(k.no_groups = true, "footer: it has no list of row groups");
    WITH(k.n_values = -1, "column 'price', row group 0: its number of values is missing");
    WITH(k.chunk_type = 1, "column 'price', row group 0: its type is 1, in the schema it is 2");
    WITH(k.codec = -3, "column 'price', row group 0: the chunk names no codec");
    WITH(k.type = 8, "schema: physical type 8 is not known");
    WITH(k.type = -7, "schema: physical type -7 is not known");
    WITH(k.rep = 3, "schema: 'price' is neither required, optional nor repeated");
    WITH(k.rep = -1, "schema: 'price' is neither required, optional nor repeated");
    WITH((k.type = k.chunk_type = CR_PQ_FIXED),
         "schema: 'price' is of fixed length, and its length is missing");
#define NOT_THERE(size, at)                                                                        \
    "column 'price', row group 0: its " size " bytes at byte " at                                  \
    " are not in the file, which has 1000"
    WITH(k.size = 997, NOT_THERE("997", "4"));
    WITH(k.size = INT64_MAX, NOT_THERE("9223372036854775807", "4"));
    WITH(k.size = -5, NOT_THERE("-5", "4"));
    WITH(k.data = INT64_MIN, NOT_THERE("100", "-9223372036854775808"));
    WITH(k.data = 3, NOT_THERE("100", "3"));
    WITH((k.dict = 4, k.data = 200),
         "column 'price', row group 0: its data begins at byte 200, behind the chunk's end");
    WITH(k.file_path = "part-0.parquet",
         "column 'price', row group 0: its data lies in another file, 'part-0.parquet'; name the "
         "data files, not a summary of them");
    WITH(k.encrypted = true, "column 'price', row group 0: it is encrypted, which is not "
                             "supported; write it without encryption");
    WITH(k.no_meta = true, "column 'price', row group 0: the chunk has no metadata");
    /* sums of what chunks say must not wrap around */
    WITH(k.n_values = INT64_MAX,
         "column 'price', row group 0: 9223372036854775807 values in 100 bytes (200 uncompressed) "
         "cannot be");
    WITH(k.raw_size = INT64_MAX - 5,
         "column 'price', row group 0: 10 values in 100 bytes (9223372036854775802 uncompressed) "
         "cannot be");
    drop();
}

TEST(forgiven) {
    knobs k = plain;
    k.dict = 0; /* no dictionary; 0 is no place */
    const cr_pq_chunk *c = chunk_of(&k);
    CHECK(c && c->start == 4 && c->data_start == 4);
    k.data = 50;
    k.dict = 20;
    c = chunk_of(&k);
    CHECK(c && c->start == 20 && c->data_start == 50);
    k.dict = 60; /* behind the data */
    c = chunk_of(&k);
    CHECK(c && c->start == 50);
    k = plain;
    k.path = "PRICE";
    CHECK(chunk_of(&k) != NULL);
    k = plain; /* more nulls than values: not told */
    k.n_values = 1;
    c = chunk_of(&k);
    CHECK(c && c->stats.n_null == -1);
    k = plain; /* an index that cannot be there is none */
    k.index_at = 990;
    k.index_size = 11;
    c = chunk_of(&k);
    CHECK(c && c->offset_index == 0 && c->offset_index_size == 0);
    k.index_size = 10;
    c = chunk_of(&k);
    CHECK(c && c->offset_index == 990 && c->offset_index_size == 10);
    k = plain; /* no values: no place is needed */
    k.rows = k.n_values = 0;
    k.data = 0;
    c = chunk_of(&k);
    CHECK(c && c->start == 0 && c->size == 0);
    k = plain; /* sizes of old writers lack the dictionary's header */
    k.created_by = "parquet-cpp version 1.2.8";
    c = chunk_of(&k);
    CHECK(c && c->size == 200);
    k.created_by = "parquet-cpp version 1.2.9";
    c = chunk_of(&k);
    CHECK(c && c->size == 100);
    drop();
}

static cr_pq_logical logical_of(knobs k) {
    k.chunk_type = k.type;
    chunk_of(&k);
    CHECK_INT(P.code, CR_OK);
    return P.code == CR_OK ? P.m.nodes[1].logical : (cr_pq_logical){0};
}

TEST(logical) {
    static const struct {
        int converted, type, type_length;
        cr_pq_kind kind;
        int bits;
        bool is_signed;
        cr_pq_unit unit;
    } old[] = {
        {0, CR_PQ_BYTES, 0, CR_PQ_STRING, 0, 0, 0},
        {4, CR_PQ_BYTES, 0, CR_PQ_ENUM, 0, 0, 0},
        {6, CR_PQ_I32, 0, CR_PQ_DATE, 0, 0, 0},
        {7, CR_PQ_I32, 0, CR_PQ_TIME, 0, 0, CR_PQ_MILLIS},
        {8, CR_PQ_I64, 0, CR_PQ_TIME, 0, 0, CR_PQ_MICROS},
        {9, CR_PQ_I64, 0, CR_PQ_TIMESTAMP, 0, 0, CR_PQ_MILLIS},
        {10, CR_PQ_I64, 0, CR_PQ_TIMESTAMP, 0, 0, CR_PQ_MICROS},
        {11, CR_PQ_I32, 0, CR_PQ_INT, 8, false, 0},
        {12, CR_PQ_I32, 0, CR_PQ_INT, 16, false, 0},
        {13, CR_PQ_I32, 0, CR_PQ_INT, 32, false, 0},
        {14, CR_PQ_I64, 0, CR_PQ_INT, 64, false, 0},
        {15, CR_PQ_I32, 0, CR_PQ_INT, 8, true, 0},
        {16, CR_PQ_I32, 0, CR_PQ_INT, 16, true, 0},
        {17, CR_PQ_I32, 0, CR_PQ_INT, 32, true, 0},
        {18, CR_PQ_I64, 0, CR_PQ_INT, 64, true, 0},
        {19, CR_PQ_BYTES, 0, CR_PQ_JSON, 0, 0, 0},
        {20, CR_PQ_BYTES, 0, CR_PQ_BSON, 0, 0, 0},
        {21, CR_PQ_FIXED, 12, CR_PQ_INTERVAL, 0, 0, 0},
        {22, CR_PQ_I32, 0, CR_PQ_OTHER, 0, 0, 0},
        /* where they cannot be they say nothing */
        {0, CR_PQ_I32, 0, CR_PQ_PHYSICAL, 0, 0, 0},
        {18, CR_PQ_I32, 0, CR_PQ_PHYSICAL, 0, 0, 0},
        {5, CR_PQ_I32, 0, CR_PQ_PHYSICAL, 0, 0, 0},
        {3, CR_PQ_I32, 0, CR_PQ_PHYSICAL, 0, 0, 0},
        {21, CR_PQ_FIXED, 11, CR_PQ_PHYSICAL, 0, 0, 0},
    };
    knobs k;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        k = plain;
        k.converted = old[i].converted;
        k.type = old[i].type;
        k.type_length = old[i].type_length;
        cr_pq_logical l = logical_of(k);
        CHECK_INT(l.kind, old[i].kind);
        CHECK_INT(l.bits, old[i].bits);
        CHECK_INT(l.unit, old[i].unit);
        if (l.kind == CR_PQ_INT) CHECK_INT(l.is_signed, old[i].is_signed);
    }
    k = plain;
    k.converted = 5;
    k.precision = 9;
    k.scale = 2;
    cr_pq_logical l = logical_of(k);
    CHECK(l.kind == CR_PQ_DECIMAL && l.precision == 9 && l.scale == 2);
    k = plain;
    k.logical = 10;
    k.bits = 64;
    l = logical_of(k);
    CHECK(l.kind == CR_PQ_INT && l.bits == 64 && !l.is_signed);
    k.bits = 7;
    CHECK_INT(logical_of(k).kind, CR_PQ_PHYSICAL);
    k.converted = 14; /* the older one helps out */
    l = logical_of(k);
    CHECK(l.kind == CR_PQ_INT && l.bits == 64);
    k = plain;
    k.logical = 2555; /* from the future */
    CHECK_INT(logical_of(k).kind, CR_PQ_OTHER);
    k.converted = 10;
    CHECK_INT(logical_of(k).kind, CR_PQ_TIMESTAMP);
    drop();
}

TEST(statistics) {
    knobs k = plain;
    const cr_pq_chunk *c;
    k.min = "aaaaaaaa";
    k.max = "bbbbbbbb";
    c = chunk_of(&k);
    CHECK(c && c->stats.min && c->stats.min_size == 8 && memcmp(c->stats.max, "bbbbbbbb", 8) == 0);
    k.max = "bbbb"; /* not the size of the type */
    c = chunk_of(&k);
    CHECK(c && !c->stats.min && !c->stats.max);
    k.min = k.max = NULL;
    k.old_min = "aaaaaaaa";
    k.old_max = "bbbbbbbb";
    c = chunk_of(&k);
    CHECK(c && c->stats.min && c->stats.max);
    k.converted = 14; /* unsigned: the old fields were compared as signed */
    c = chunk_of(&k);
    CHECK(c && !c->stats.min);
    k = plain;
    k.type = k.chunk_type = CR_PQ_BYTES;
    k.old_min = "a";
    k.old_max = "b";
    c = chunk_of(&k);
    CHECK(c && !c->stats.min && !c->stats.max);
    k.old_max = "a"; /* equal: no order is needed */
    c = chunk_of(&k);
    CHECK(c && c->stats.min && c->stats.max);
    k.min = "x";
    k.max = "y";
    c = chunk_of(&k);
    CHECK(c && c->stats.min && c->stats.min[0] == 'x');
    k.order = 0; /* no order, no meaning */
    c = chunk_of(&k);
    CHECK(c && !c->stats.min);
    k.order = 9;
    c = chunk_of(&k);
    CHECK(c && !c->stats.min);
    k = plain;
    k.min = "aaaaaaaa";
    k.max = "bbbbbbbb";
    k.logical = 2555; /* what is not known has no known order */
    c = chunk_of(&k);
    CHECK(c && !c->stats.min && !c->stats.max);
    k = plain;
    k.type = k.chunk_type = CR_PQ_FIXED;
    k.type_length = 2;
    k.min = "a"; /* a text may be shortened, half a number is none */
    k.max = "bb";
    c = chunk_of(&k);
    CHECK(c && c->stats.min);
    k.logical = 15;
    c = chunk_of(&k);
    CHECK(c && P.m.nodes[1].logical.kind == CR_PQ_FLOAT16 && !c->stats.min && !c->stats.max);
    k = plain;
    k.type = k.chunk_type = CR_PQ_F32;
    k.min = "\x01\x01\xc0\x7f"; /* NaN */
    k.max = "\x01\x01\x01\x01";
    c = chunk_of(&k);
    CHECK(c && !c->stats.min && !c->stats.max);
    k = plain;
    k.type = k.chunk_type = CR_PQ_I96;
    k.min = k.max = "aaaaaaaaaaaa";
    c = chunk_of(&k);
    CHECK(c && !c->stats.min && !c->stats.max);
    drop();
}

/* counts that would need far more memory than the file has bytes */
TEST(budget) {
    cr_buf b;
    cr_arena a;
    cr_pq_meta m;
    cr_err err;
    int f = 0;
    cr_buf_init(&b);
    cr_arena_init(&a, 0);
    cr_tout_list(&b, &f, 2, CR_T_STRUCT, 100000);
    for (int i = 0; i < 100000; i++)
        cr_tout_stop(&b);
    cr_tout_stop(&b);
    CHECK_INT(cr_pq_parse_footer((const uint8_t *)b.data, b.n, 1 << 20, 1 << 20, &a, &m, &err),
              CR_EDATA);
    CHECK(strstr(err.msg, "do not fit in the budget") != NULL);
    cr_arena_clear(&a);
    cr_buf_clear(&b);
}

/* ---- page headers ---- */

static size_t put_data2(cr_buf *b, int n_values, int n_nulls, int n_rows, int def, int rep,
                        int size) {
    int h = 0, d = 0;
    cr_buf_init(b);
    cr_tout_i32(b, &h, 1, CR_PQ_DATA2);
    cr_tout_i32(b, &h, 2, 100);
    cr_tout_i32(b, &h, 3, size);
    cr_tout_i32(b, &h, 4, -1);
    cr_tout_field(b, &h, 8, CR_T_STRUCT);
    cr_tout_i32(b, &d, 1, n_values);
    cr_tout_i32(b, &d, 2, n_nulls);
    cr_tout_i32(b, &d, 3, n_rows);
    cr_tout_i32(b, &d, 4, CR_PQ_RLE_DICT);
    cr_tout_i32(b, &d, 5, def);
    cr_tout_i32(b, &d, 6, rep);
    cr_tout_bool(b, &d, 7, false);
    cr_tout_stop(b);
    cr_tout_stop(b);
    size_t n = b->n;
    cr_buf_add(b, "page", 4); /* what follows is not the header's */
    return n;
}

TEST(page_heads) {
    cr_buf b;
    cr_pq_page_head h;
    cr_err err;
    size_t used, n = put_data2(&b, 10, 3, 5, 20, 30, 90);
    CHECK_INT(cr_pq_parse_page_head((const uint8_t *)b.data, b.n, &h, &used, &err), CR_OK);
    CHECK_INT(used, n);
    CHECK(h.type == CR_PQ_DATA2 && h.raw_size == 100 && h.size == 90 && h.has_crc &&
          h.crc == 0xffffffff && h.n_values == 10 && h.n_nulls == 3 && h.n_rows == 5 &&
          h.encoding == CR_PQ_RLE_DICT && h.def_size == 20 && h.rep_size == 30 && !h.compressed);
    for (size_t i = 0; i < n; i++) {
        CHECK_INT(cr_pq_parse_page_head((const uint8_t *)b.data, i, &h, &used, &err), CR_OK);
        CHECK_INT(used, 0);
    }
    cr_buf_clear(&b);
    static const struct {
        int v[6];
        const char *msg;
    } bad[] = {
        {{-1, 0, 0, 0, 0, 90}, "page header: the number of values is -1"},
        {{10, 11, 5, 0, 0, 90}, "page header: 11 nulls of 10 values"},
        {{10, -1, 5, 0, 0, 90}, "page header: -1 nulls of 10 values"},
        {{10, 0, 11, 0, 0, 90}, "page header: 11 rows with 10 values"},
        {{10, 0, 5, 60, 31, 90},
         "page header: levels of 60 and 31 bytes in a page of 90 (100 raw)"},
        {{10, 0, 5, -1, 0, 90}, "page header: levels of -1 and 0 bytes in a page of 90 (100 raw)"},
        {{10, 0, 5, INT32_MAX, INT32_MAX, 90},
         "page header: levels of 2147483647 and 2147483647 bytes in a page of 90 (100 raw)"},
        {{10, 0, 5, 0, 0, -1}, "page header: its sizes are -1 and 100"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int *v = bad[i].v;
        put_data2(&b, v[0], v[1], v[2], v[3], v[4], v[5]);
        CHECK_INT(cr_pq_parse_page_head((const uint8_t *)b.data, b.n, &h, &used, &err), CR_EDATA);
        CHECK_STR(err.msg, bad[i].msg);
        cr_buf_clear(&b);
    }
    /* a type whose details are those of another */
    n = put_data2(&b, 10, 0, 5, 0, 0, 90);
    b.data[1] = CR_PQ_DICT << 1;
    CHECK_INT(cr_pq_parse_page_head((const uint8_t *)b.data, b.n, &h, &used, &err), CR_EDATA);
    CHECK_STR(err.msg, "page header: the details of type 2 are missing");
    cr_buf_clear(&b);
}

/* ---- page indexes ---- */

typedef struct place {
    int64_t offset;
    int size;
    int64_t row;
} place;

static void put_places(cr_buf *b, const place *v, size_t n) {
    int o = 0;
    cr_buf_init(b);
    cr_tout_list(b, &o, 1, CR_T_STRUCT, n);
    for (size_t i = 0; i < n; i++) {
        int p = 0;
        cr_tout_i64(b, &p, 1, v[i].offset);
        cr_tout_i32(b, &p, 2, v[i].size);
        cr_tout_i64(b, &p, 3, v[i].row);
        cr_tout_stop(b);
    }
    cr_tout_stop(b);
}

TEST(offset_index) {
    static const struct {
        place v[2];
        const char *msg; /* NULL: good */
    } cases[] = {
        {{{100, 50, 0}, {150, 50, 7}}, NULL},
        {{{110, 20, 0}, {150, 20, 0}}, NULL}, /* gaps and empty pages */
        {{{99, 50, 0}, {150, 50, 7}},
         "page index: page 0, byte 99, 50 bytes, does not lie in its place"},
        {{{100, 50, 0}, {149, 50, 7}},
         "page index: page 1, byte 149, 50 bytes, does not lie in its place"},
        {{{100, 50, 0}, {150, 51, 7}},
         "page index: page 1, byte 150, 51 bytes, does not lie in its place"},
        {{{100, 0, 0}, {150, 50, 7}},
         "page index: page 0, byte 100, 0 bytes, does not lie in its place"},
        {{{100, 50, 1}, {150, 50, 7}}, "page index: page 0 begins at row 1"},
        {{{100, 50, 0}, {150, 50, -1}}, "page index: page 1 begins at row -1"},
        {{{100, 50, 0}, {150, 50, 11}}, "page index: page 1 begins at row 11 of 10"},
        {{{INT64_MAX, INT32_MAX, 0}, {150, 50, 7}},
         "page index: page 0, byte 9223372036854775807, 2147483647 bytes, does not lie in its "
         "place"},
    };
    const cr_pq_chunk chunk = {.start = 100, .size = 100};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_buf b;
        cr_arena a;
        cr_err err;
        cr_pq_index ix;
        put_places(&b, cases[i].v, 2);
        cr_arena_init(&a, 0);
        cr_code code = cr_pq_parse_offset_index((const uint8_t *)b.data, b.n, &chunk, 10, 1 << 20,
                                                &a, &ix, &err);
        CHECK_INT(code, cases[i].msg ? CR_EDATA : CR_OK);
        if (cases[i].msg) CHECK_STR(err.msg, cases[i].msg);
        if (!cases[i].msg) CHECK_INT(ix.n_pages, 2);
        cr_arena_clear(&a);
        cr_buf_clear(&b);
    }
}

TEST(column_index) {
    for (size_t n = 1; n <= 3; n++) { /* 2 fits the pages */
        cr_pq_page_info pages[2] = {{.offset = 4}, {.offset = 50}};
        cr_pq_index ix = {.n_pages = 2, .pages = pages};
        const cr_pq_node node = {.name = "x", .type = CR_PQ_I32};
        const cr_pq_node odd = {.name = "x", .type = CR_PQ_I32, .logical = {.kind = CR_PQ_OTHER}};
        cr_buf b;
        cr_err err;
        int c = 0;
        cr_buf_init(&b);
        cr_tout_list(&b, &c, 1, CR_T_FALSE, n);
        for (size_t i = 0; i < n; i++)
            cr_buf_char(&b, i == 1 ? CR_T_TRUE : CR_T_FALSE);
        for (int id = 2; id <= 3; id++) {
            cr_tout_list(&b, &c, id, CR_T_BYTES, n);
            for (size_t i = 0; i < n; i++)
                cr_tout_bytes(&b, NULL, 0, "abcd", i == 1 ? 0 : 4);
        }
        cr_tout_i32(&b, &c, 4, 1);
        cr_tout_list(&b, &c, 5, CR_T_I64, n);
        for (size_t i = 0; i < n; i++)
            cr_tout_int(&b, (int64_t)i * 5);
        cr_tout_stop(&b);
        CHECK_INT(cr_pq_parse_column_index((const uint8_t *)b.data, b.n, &node, &ix, &err), CR_OK);
        CHECK_INT(ix.has_stats, n == 2);
        if (n == 2) {
            CHECK(pages[0].stats.min && pages[0].stats.min_size == 4 && !pages[0].all_null);
            CHECK(!pages[1].stats.min && pages[1].all_null);
            CHECK_INT(pages[1].stats.n_null, 5);
        } else {
            CHECK(!pages[0].stats.min && pages[0].stats.n_null == -1 && !pages[1].all_null);
        }
        CHECK_INT(cr_pq_parse_column_index((const uint8_t *)b.data, b.n, &odd, &ix, &err), CR_OK);
        CHECK(!pages[0].stats.min && !pages[0].stats.max);
        cr_buf_clear(&b);
    }
}

/* ---- files ---- */

static void open_fails(const void *data, size_t n, const char *want) {
    char path[] = "/tmp/pq_meta_XXXXXX", text[900];
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    close(fd);
    cr_pq_file *f;
    cr_err err;
    CHECK(cr_pq_open(&f, path, &(cr_pq_opts){.budget = 1 << 16}, &err) != CR_OK);
    CHECK(f == NULL);
    cr_err_text(&err, text, sizeof text);
    CHECK(strncmp(text, path, strlen(path)) == 0);
    CHECK_STR(err.msg, want);
    unlink(path);
}
#define OPEN_FAILS(s, want) open_fails(s, sizeof(s) - 1, want)

TEST(files) {
    OPEN_FAILS("", "the file is empty, which no Parquet file is; write it again");
    OPEN_FAILS("PAR", "not a Parquet file");
    OPEN_FAILS("a,b,c\n1,2,3\n", "not a Parquet file");
    OPEN_FAILS(
        "\x1f\x8b and so on, and on",
        "it is compressed as a whole; unpack it, pages are compressed inside a Parquet file");
    OPEN_FAILS("PAR1 and then nothing",
               "it begins as a Parquet file and has no footer; it is cut short or still being "
               "written: wait, or write it again");
    OPEN_FAILS("PAR1\0\0\0\0PARE",
               "the file is encrypted, which is not supported; write it without encryption");
    OPEN_FAILS("PAR1\5\0\0\0PAR1",
               "its footer should have 5 bytes, the file has 12; it is damaged");
    OPEN_FAILS("PAR1\0\0\0\0PAR1",
               "footer, byte 0: it ends too early; the file is damaged, write it again");
    OPEN_FAILS("PAR1\0\1\0\0\0PAR1",
               "footer: it has no schema; the file is damaged, write it again");
    char *big = calloc(1, 100000);
    memcpy(big + 100000 - 8, "\0\0\1\0PAR1", 8);
    open_fails(big, 100000, "footer: it has no schema; the file is damaged, write it again");
    memcpy(big + 100000 - 8, "\1\0\1\0PAR1", 8);
    open_fails(big, 100000, "its footer has 65537 bytes, more than the budget of 65536");
    free(big);
    cr_pq_file *f;
    cr_err err;
    CHECK_INT(cr_pq_open(&f, "/no/such.parquet", NULL, &err), CR_EIO);
    CHECK_STR(err.msg, "cannot open: No such file or directory; check the path");
    CHECK_INT(cr_pq_open(&f, "/tmp", NULL, &err), CR_EIO);
    CHECK_STR(err.msg, "it is a directory; name the files in it");
    CHECK_INT(cr_pq_open(&f, "/dev/null", NULL, &err), CR_EIO);
    char pipe[64]; /* nobody writes to it, and nobody waits */
    snprintf(pipe, sizeof pipe, "/tmp/crank-pipe-%ld", (long)getpid());
    CHECK_INT(mkfifo(pipe, 0600), 0);
    CHECK_INT(cr_pq_open(&f, pipe, NULL, &err), CR_EIO);
    CHECK(strstr(err.msg, "it is not a regular file") != NULL);
    unlink(pipe);
}

TEST_MAIN(CASE(footer), CASE(sealed_footer), CASE(cut_footer), CASE(refusals), CASE(forgiven),
          CASE(logical), CASE(statistics), CASE(budget), CASE(page_heads), CASE(offset_index),
          CASE(column_index), CASE(files))
