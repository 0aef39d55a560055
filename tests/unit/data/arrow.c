/*
 * arrow.c - Arrow data: what our writer writes is read again as the Parquet file it came from;
 * dictionaries, views, wide types and lists that hide items, made by hand; files that are damaged
 * at any byte.
 */
#include "arrow_make.h"
#include "data/arrow/sink.h"
#include "data/arrow/vec.h"
#include "data/load/loader.h"
#include "pq_make.h"
#include "rows_text.h"

/* ---- through the writer ---- */

static cr_code carry(void *ctx, const cr_chunk *chunk, cr_chunk_rows *to, cr_bad *bad,
                     cr_err *err) {
    (void)ctx;
    (void)bad;
    (void)err;
    to->rows.n_rows = chunk->n_rows;
    to->rows.n_reserved = chunk->n_cols;
    to->rows.reserved = chunk->cols;
    return CR_OK;
}

/* columns of a Parquet file into an Arrow file, in batches */
static void convert(const char *from, const char *names, cr_want_form form, const char *to,
                    cr_arrow_sink_opts opts, int64_t batch) {
    cr_diag diag;
    cr_diag_init(&diag);
    h_wants w;
    h_want(&w, names);
    for (int i = 0; i < w.n; i++)
        w.v[i].form = form;
    cr_data_conf conf = {0};
    cr_loader_opts o = {.conf = &conf,
                        .reader = cr_reader_find("ParquetDataset"),
                        .paths = from,
                        .want = w.v,
                        .n_want = w.n,
                        .encode = carry,
                        .batch_size = batch,
                        .n_threads = 1,
                        .n_epochs = 1,
                        .silent = true,
                        .block_bytes = 100};
    cr_loader *l;
    cr_err err = {0};
    CHECK_INT(cr_loader_new(&l, &o, &diag), CR_OK);
    cr_colkind kinds[64];
    cr_sink_col cols[64];
    cr_loader_kinds(l, kinds);
    for (int i = 0; i < w.n; i++)
        cols[i] = (cr_sink_col){.name = w.v[i].name, .kind = kinds[i]};
    cr_arrow_sink *s;
    CHECK_INT(cr_arrow_sink_open(&s, to, cols, w.n, &opts, &err), CR_OK);
    for (bool done = false; !done;) {
        cr_batch *b;
        CHECK_INT(cr_loader_next(l, &b, &done, &err), CR_OK);
        if (!b) continue;
        const cr_column *v[64];
        for (int i = 0; i < w.n; i++)
            v[i] = &b->reserved[i];
        if (cr_arrow_sink_write(s, v, b->n_rows, &err) != CR_OK) {
            t_failed_checks++;
            fprintf(stderr, "%s\n", err.msg);
        }
        cr_loader_release(l, b);
    }
    CHECK_INT(cr_arrow_sink_finish(s, &err), CR_OK);
    cr_arrow_sink_free(s);
    cr_loader_free(l);
    cr_diag_clear(&diag);
}

static void text_of(const char *dataset, const char *path, const char *names, size_t block,
                    cr_buf *out) {
    cr_diag diag;
    cr_diag_init(&diag);
    rows_dataset = dataset;
    if (read_all(out, path, names, NO_FIELDS, block, &diag) != CR_OK) {
        t_failed_checks++;
        fprintf(stderr, "%s: %s\n", path, diag.n ? diag.v[0].msg : "failed");
    }
    rows_dataset = "ArrowDataset";
    cr_diag_clear(&diag);
}

/* the rows of a Parquet file, written as Arrow in every way, read again */
static void same_rows(const char *schema, const char *names, const char *const *rows, int n_rows) {
    const char *in = h_path("in.parquet"), *out = h_path("out.arrow");
    cr_buf a, b;
    cr_buf_init(&a);
    cr_buf_init(&b);
    pm_file *f = cr_alloc(sizeof(*f), "a test file");
    pm_init(f, schema);
    for (int k = 0; k < 9; k++)
        for (int i = 0; i < n_rows; i++)
            pm_row(f, rows[i]);
    pm_write(f, in, &(cr_pq_write_opts){.group_rows = 5});
    pm_clear(f);
    cr_free(f);
    text_of("ParquetDataset", in, names, 0, &a);
    for (int k = 0; k < 12; k++) {
        cr_arrow_sink_opts o = {.codec = (cr_arrow_codec)(k % 3 - 1), .stream = k / 3 % 2 == 1};
        convert(in, names, k < 6 ? CR_WANT_STORED : CR_WANT_VALUES, out, o, k % 2 ? 3 : 100);
        for (size_t block = 0; block <= 64; block += 64) {
            text_of("ArrowDataset", out, names, block, &b);
            if (strcmp(a.data, b.data) != 0) {
                t_failed_checks++;
                fprintf(stderr, "%s, way %d: got\n  %.300s\nexpected\n  %.300s\n", schema, k,
                        b.data, a.data);
            }
        }
    }
    cr_buf_clear(&a);
    cr_buf_clear(&b);
}
#define SAME_ROWS(schema, names, ...)                                                              \
    same_rows(schema, names, (const char *const[]){__VA_ARGS__},                                   \
              (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

TEST(numbers_and_text) {
    SAME_ROWS("b:bool, i8:int8, i16:int16, i32:int32, i64:int64, u8:uint8, u16:uint16, u32:uint32, "
              "u64:uint64, f16:float16, f:float, d:double",
              "b,i8,i16,i32,i64,u8,u16,u32,u64,f16,f,d",
              "1|-8|-300|-70000|-5000000000|255|65535|4294967295|77|003c|0.1|0.1",
              "null|null|null|null|null|null|null|null|null|null|null|null",
              "0|127|32767|2147483647|1|0|0|0|0|01fc|1e30|1e300");
    SAME_ROWS("s:string, y:binary, x:fixed4, day:date, ms:millis, us:micros, old:int96, n:nulls",
              "s,y,x,day,ms,us,old,n", "a b|c|61626364|19000|1700000000123|5|2440589 7|null",
              "|null|null|-1|null|null|null|null",
              "null||00000000|null|-5|-1|2440587 86399000000000|null");
    SAME_ROWS("a:dec9_2, b:dec18_4, c:dec38_3, d:dec38_0, e:decbytes_1, f:dec9_0", "a,b,c,d,e,f",
              "12345|-1|123456789012345678901234567890|99|-15|-3",
              "null|null|null|-9223372036854775808|null|null", "0|10000|-1500|null|7|12");
}

TEST(lists_maps_structs) {
    SAME_ROWS("l:list<int64>, ll:list<list<float>>, m:map<string,double>, mi:map<int32,int64>, "
              "s.a:int32, s.b:list<string>, t:list<string>",
              "l,ll,m,mi,s.a,s.b,t", "[1,null,3]|[[1],[],[2,3]]|{a:1,b:2.5}|{7:8}|5|[x,yy]|[]",
              "[]|null|null|{}|null|[]|null", "null|[]|{c:null}|null|6|null|[a,null,bb,]");
}

/* ---- by hand ---- */

static const char *write_stream(const char *name, cr_buf *b) {
    const char *path = h_write(name, b->data, b->n);
    cr_buf_reset(b);
    return path;
}

TEST(dictionaries) {
    cr_buf b;
    cr_buf_init(&b);
    rows_dataset = "ArrowDataset";
    cr_arrow_field f[] = {{.name = "s",
                           .kind = CR_ARROW_UTF8,
                           .nullable = true,
                           .coded = true,
                           .dict = 5,
                           .code_bits = 8,
                           .code_signed = true},
                          {.name = "n",
                           .kind = CR_ARROW_INT,
                           .bits = 64,
                           .is_signed = true,
                           .coded = true,
                           .dict = 6,
                           .code_bits = 32}};
    const int64_t two[] = {2, 0}, four[] = {4, 1, 4, 0}, with_null[] = {3, 1};
    am_schema(&b, f, 2);
    am_batch(&b, 5, false, 2, two, 1, (am_buf[]){AM_NONE, AM_I32(0, 1, 3), AM_TEXT("abb")}, 3, NULL,
             0);
    am_batch(&b, 6, false, 2, two, 1, (am_buf[]){AM_NONE, AM_I64(70, -70)}, 2, NULL, 0);
    AM_BATCH(&b, 4, four, {AM_I8(0x0d), AM_I8(0, 99, 1, 0), AM_NONE, AM_I32(0, 1, 1, 0)});
    /* more entries, one of them null; then another dictionary */
    am_batch(&b, 5, true, 3, with_null, 1, (am_buf[]){AM_I8(5), AM_I32(0, 2, 2, 3), AM_TEXT("ccd")},
             3, NULL, 0);
    AM_BATCH(&b, 4, four, {AM_I8(0x0f), AM_I8(2, 3, 4, 1), AM_NONE, AM_I32(0, 0, 0, 1)});
    am_batch(&b, 5, false, 2, two, 1, (am_buf[]){AM_NONE, AM_I32(0, 1, 2), AM_TEXT("xy")}, 3, NULL,
             0);
    AM_BATCH(&b, 4, four, {AM_I8(0x0b), AM_I8(1, 0, -1, 1), AM_NONE, AM_I32(1, 1, 1, 1)});
    EXPECT(write_stream("dict.arrow", &b), "s,n", NO_FIELDS,
           "a|70L/null|-70L/bb|-70L/a|70L/cc|70L/null|70L/d|70L/bb|-70L/"
           "y|-70L/x|-70L/null|-70L/y|-70L/");
    am_schema(&b, f, 1);
    am_batch(&b, 5, false, 2, two, 1, (am_buf[]){AM_NONE, AM_I32(0, 1, 3), AM_TEXT("abb")}, 3, NULL,
             0);
    const int64_t one[] = {1, 0};
    AM_BATCH(&b, 1, one, {AM_NONE, AM_I8(2)});
    REFUSED(write_stream("code.arrow", &b), "s", NO_FIELDS,
            "column 's': code 2 of a dictionary of 2 entries; the file is damaged");
    am_schema(&b, f, 1);
    AM_BATCH(&b, 1, one, {AM_NONE, AM_I8(0)});
    REFUSED(write_stream("missing.arrow", &b), "s", NO_FIELDS,
            "column 's': its dictionary is missing");
    cr_buf_clear(&b);
}

TEST(other_layouts) {
    cr_buf b;
    cr_buf_init(&b);
    rows_dataset = "ArrowDataset";
    /* 64-bit offsets that do not begin at 0, and lists of a fixed size of which one is null */
    cr_arrow_field wide[] = {
        {.name = "t", .kind = CR_ARROW_LARGE_UTF8, .nullable = true},
        {.name = "l", .kind = CR_ARROW_LARGE_LIST, .n_children = 1},
        {.name = "item", .kind = CR_ARROW_INT, .bits = 16, .is_signed = true},
        {.name = "p", .kind = CR_ARROW_FIXED_LIST, .width = 2, .n_children = 1, .nullable = true},
        {.name = "item", .kind = CR_ARROW_FLOAT, .bits = 32}};
    const int64_t nodes[] = {3, 1, 3, 0, 5, 0, 3, 1, 6, 0};
    const int16_t small[] = {1, 2, -3, 4, 5};
    const float floats[] = {1, 2, 3, 4, 5, 6};
    am_schema(&b, wide, 5);
    AM_BATCH(&b, 3, nodes,
             {AM_I8(5), AM_I64(2, 4, 9, 10), AM_TEXT("__abHIDDEd"), AM_NONE, AM_I64(1, 2, 2, 4),
              AM_NONE, AM_OF(small), AM_I8(5), AM_NONE, AM_OF(floats)});
    EXPECT(write_stream("wide.arrow", &b), "t,l,p", NO_FIELDS,
           "ab|[2]|[1f,2f]/null|[]|null/d|[-3,4]|[5f,6f]/");
    /* a null list that has items, in a struct that is null elsewhere */
    cr_arrow_field hidden[] = {
        {.name = "s", .kind = CR_ARROW_STRUCT, .n_children = 1, .nullable = true},
        {.name = "l", .kind = CR_ARROW_LIST, .n_children = 1, .nullable = true},
        {.name = "item", .kind = CR_ARROW_UTF8, .nullable = true}};
    const int64_t h_nodes[] = {4, 1, 4, 1, 6, 1};
    am_schema(&b, hidden, 3);
    AM_BATCH(&b, 4, h_nodes,
             {AM_I8(0x0b), AM_I8(0x0d), AM_I32(0, 2, 3, 4, 6), AM_I8(0x2f),
              AM_I32(0, 1, 2, 3, 4, 5, 6), AM_TEXT("abcdef")});
    EXPECT(write_stream("hidden.arrow", &b), "s.l", NO_FIELDS, "[a,b]/null/null/[null,f]/");
    /* short texts in their views, long ones in buffers */
    cr_arrow_field view[] = {{.name = "v", .kind = CR_ARROW_UTF8_VIEW, .nullable = true}};
    const int64_t v_nodes[] = {3, 1};
    struct {
        int32_t n;
        char text[4];
        int32_t which, at;
    } views[3] = {{3, "abc", 0, 0}, {9, "xxxx", 9, 9}, {13, "0123", 0, 2}};
    am_schema(&b, view, 1);
    am_batch(&b, -1, false, 3, v_nodes, 1,
             (am_buf[]){AM_I8(5), {views, sizeof views}, AM_TEXT("__0123456789xyz")}, 3,
             (int64_t[]){1}, 1);
    EXPECT(write_stream("view.arrow", &b), "v", NO_FIELDS, "abc/null/0123456789xyz/");
    views[2].at = 3;
    am_schema(&b, view, 1);
    am_batch(&b, -1, false, 3, v_nodes, 1,
             (am_buf[]){AM_I8(5), {views, sizeof views}, AM_TEXT("__0123456789xyz")}, 3,
             (int64_t[]){1}, 1);
    REFUSED(write_stream("view2.arrow", &b), "v", NO_FIELDS, "a text lies outside its buffer");
    /* units that Parquet does not have */
    cr_arrow_field times[] = {{.name = "s", .kind = CR_ARROW_TIMESTAMP, .unit = CR_ARROW_SECONDS},
                              {.name = "d", .kind = CR_ARROW_DATE, .bits = 64},
                              {.name = "x", .kind = CR_ARROW_DURATION, .unit = CR_ARROW_NANOS}};
    const int64_t t_nodes[] = {2, 0, 2, 0, 2, 0};
    am_schema(&b, times, 3);
    AM_BATCH(&b, 2, t_nodes,
             {AM_NONE, AM_I64(1700000000, -1), AM_NONE, AM_I64(86400000, -1), AM_NONE,
              AM_I64(7, 8)});
    EXPECT(write_stream("times.arrow", &b), "s,d,x", NO_FIELDS,
           "1700000000000L|1|7L/-1000L|-1|8L/");
    cr_buf_clear(&b);
}

TEST(mistakes) {
    cr_buf b;
    cr_buf_init(&b);
    rows_dataset = "ArrowDataset";
    REFUSED(h_write("text.arrow", "a,b\n1,2\n3,4\n", 12), "a", NO_FIELDS,
            "it is neither an Arrow file nor a stream; leave it out, or set "
            "data_config.dataset_type to what it is");
    REFUSED(h_write("feather.arrow", "FEA1....", 8), "a", NO_FIELDS,
            "it is a Feather file of version 1; write it as version 2");
    REFUSED(h_write("empty.arrow", "", 0), "a", NO_FIELDS, "neither an Arrow file nor a stream");
    cr_arrow_field f[] = {{.name = "label", .kind = CR_ARROW_UTF8},
                          {.name = "u", .kind = CR_ARROW_UNION, .n_children = 1},
                          {.name = "x", .kind = CR_ARROW_BOOL}};
    const int64_t nodes[] = {1, 0, 1, 0, 1, 0};
    am_schema(&b, f, 3);
    AM_BATCH(&b, 1, nodes, {AM_NONE, AM_I32(0, 4), AM_TEXT("abc"), AM_I8(0), AM_NONE, AM_I8(1)});
    const char *p = write_stream("wrong.arrow", &b);
    REFUSED(p, "label", NO_FIELDS, "column 'label': a text is to be bytes 0 to 4 of 3");
    REFUSED(p, "u", NO_FIELDS,
            "column 'u', which feature 'f' needs, has the type union<bool> in wrong.arrow, which "
            "is not read; write it as a number, text, a list or a map");
    REFUSED(p, "lable", NO_FIELDS,
            "it has no column 'lable', which feature 'f' needs; did you mean 'label'?");
    cr_buf_clear(&b);
}

/* Numbers and text without nulls are not copied. */
TEST(zero_copy) {
    cr_buf b;
    cr_buf_init(&b);
    cr_arrow_field f[] = {{.name = "i", .kind = CR_ARROW_INT, .bits = 64, .is_signed = true},
                          {.name = "t", .kind = CR_ARROW_UTF8}};
    const int64_t nodes[] = {3, 0, 3, 0};
    am_schema(&b, f, 2);
    AM_BATCH(&b, 3, nodes, {AM_NONE, AM_I64(1, 2, 3), AM_NONE, AM_I32(0, 1, 2, 3), AM_TEXT("abc")});
    cr_arrow_file *x;
    cr_arrow_batch batch;
    cr_arrow_shape shape;
    cr_arena arena;
    cr_err err = {0};
    cr_arena_init(&arena, 0);
    cr_arrow_batch_init(&batch);
    CHECK_INT(cr_arrow_open_mem(&x, b.data, (int64_t)b.n, "memory", NULL, &err), CR_OK);
    CHECK_INT(cr_arrow_shape_of(cr_arrow_get_schema(x), &arena, &shape, &err), CR_OK);
    CHECK_INT(cr_arrow_load(x, 0, NULL, &batch, &err), CR_OK);
    for (int leaf = 0; leaf < 2; leaf++) {
        cr_pq_vec v;
        CHECK_INT(cr_arrow_vec(x, &shape, leaf, &batch, 1, 2, NULL, &arena, &v, &err), CR_OK);
        const char *p = leaf ? (const char *)v.beg : (const char *)v.v.i64;
        CHECK(p > b.data && p < b.data + b.n);
        if (leaf) CHECK(v.bytes > b.data && v.bytes < b.data + b.n);
        if (!leaf) CHECK_INT(v.v.i64[0], 2);
    }
    cr_arrow_batch_clear(&batch);
    cr_arrow_close(x);
    cr_arena_clear(&arena);
    cr_buf_clear(&b);
}

/* ---- damage ---- */

/* Reads all that can be read; nothing may be read outside (sanitizers see it). */
static void read_damaged(const char *data, size_t n) {
    const char *path = h_write("damaged.arrow", data, n);
    cr_diag diag;
    cr_buf out;
    cr_diag_init(&diag);
    cr_buf_init(&out);
    if (read_all(&out, path, "l,m,t,s.a", NO_FIELDS, 64, &diag) != CR_OK)
        CHECK(diag.n > 0 && diag.v[0].msg[0] && diag.v[0].at.path);
    cr_buf_clear(&out);
    cr_diag_clear(&diag);
}

TEST(damage) {
    char in[256]; /* h_path keeps a few paths only */
    const char *made =
        PM_FILE(h_path("d.parquet"), "l:list<int64>, m:map<string,double>, t:string, s.a:int32",
                "[1,null,3]|{a:1,b:2.5}|text|4", "[]|null|null|null", "null|{c:null}|more text|5");
    snprintf(in, sizeof in, "%s", made);
    cr_buf b;
    cr_err err;
    cr_buf_init(&b);
    rows_dataset = "ArrowDataset";
    for (int k = 0; k < 3; k++) {
        cr_arrow_sink_opts o = {.codec = (cr_arrow_codec)(k - 1), .stream = k == 1};
        convert(in, "l,m,t,s.a", CR_WANT_VALUES, h_path("d.arrow"), o, 2);
        rows_dataset = "ArrowDataset";
        cr_buf_reset(&b);
        CHECK_INT(cr_file_read(h_path("d.arrow"), 0, &b, &err), CR_OK);
        for (size_t n = 0; n < b.n; n += 29)
            read_damaged(b.data, n);
        for (size_t i = 0; i < b.n; i += k == 0 ? 2 : 7) {
            static const char bits[] = {1, (char)0x80, (char)0xff};
            char was = b.data[i];
            b.data[i] = (char)(was ^ bits[i % 3]);
            read_damaged(b.data, b.n);
            b.data[i] = was;
        }
    }
    cr_buf_clear(&b);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {
        CASE(numbers_and_text), CASE(lists_maps_structs), CASE(dictionaries), CASE(other_layouts),
        CASE(mistakes),         CASE(zero_copy),          CASE(damage)};
    int code = t_run(cases, sizeof(cases) / sizeof(*cases), argc, argv);
    h_clean();
    return code;
}
