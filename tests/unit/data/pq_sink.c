/*
 * pq_sink.c - columns that were read from Parquet as they are stored and gathered into batches,
 * written again: the file has the schema and the rows it came from.
 */
#include "data/pq/sink.h"

#include "csv_help.h"
#include "data/load/loader.h"
#include "pq_make.h"

/* ---- files as text ---- */

/* a node with all that a file says of it */
static void node_text(const cr_pq_node *n, cr_buf *out) {
    const cr_pq_logical *l = &n->logical;
    cr_buf_printf(out, "%s %d(%d) %d, %d: %d %d %d %d %d %d %d, %d", n->name, (int)n->type,
                  n->type_length, (int)n->rep, n->n_children, (int)l->kind, l->bits, l->is_signed,
                  l->is_utc, (int)l->unit, l->precision, l->scale, n->field_id);
    for (int i = 0; i < l->other_size; i++)
        cr_buf_printf(out, " %02x", l->other[i]);
    cr_buf_char(out, '\n');
}

/* "name: type" of every column, or all nodes; then its rows as JSON lines but for every n-th */
static bool whole_schema;
static int64_t leave_out;
static void file_text(const char *path, cr_buf *types, cr_buf *rows) {
    cr_err err = {0};
    cr_pq_file *f;
    CHECK_INT(cr_pq_open(&f, path, &(cr_pq_opts){.keep_levels = true}, &err), CR_OK);
    if (!f) {
        fprintf(stderr, "%s\n", err.msg);
        return;
    }
    const cr_pq_meta *m = cr_pq_get_meta(f);
    cr_pq_cursor *c[PM_MAX];
    cr_pq_vec v[PM_MAX];
    cr_pq_pos at[PM_MAX];
    for (int i = 1; i < m->n_nodes && whole_schema; i++)
        node_text(&m->nodes[i], types);
    for (int i = 1; i < m->n_nodes && !whole_schema; i = m->nodes[i].next) {
        char text[200];
        cr_pq_type_text(m, i, text, sizeof(text));
        cr_buf_printf(types, "%s: %s\n", m->nodes[i].name, text);
    }
    for (int g = 0; g < m->n_groups; g++) {
        memset(at, 0, sizeof(at));
        for (int i = 0; i < m->n_leaves; i++) {
            c[i] = cr_pq_cursor_new();
            CHECK_INT(cr_pq_seek(c[i], f, g, i, 0, &err), CR_OK);
            CHECK_INT(cr_pq_read(c[i], m->groups[g].n_rows, false, &v[i], &err), CR_OK);
        }
        for (int64_t r = 0; r < m->groups[g].n_rows; r++) {
            size_t begin = rows->n;
            for (int i = 1, leaf = 0; i < m->n_nodes; i = m->nodes[i].next) {
                if (i > 1) cr_buf_char(rows, '|');
                cr_pq_row_json(m, i, v + leaf, at + leaf, rows);
                while (leaf < m->n_leaves && m->leaves[leaf] < m->nodes[i].next)
                    leaf++;
            }
            cr_buf_char(rows, '\n');
            if (leave_out && (m->groups[g].first_row + r) % leave_out == 0) rows->n = begin;
        }
        for (int i = 0; i < m->n_leaves; i++)
            cr_pq_cursor_free(c[i]);
    }
    cr_pq_close(f);
}

/* ---- through a loader ---- */

/* every leave_out-th row is bad */
static cr_code carry(void *ctx, const cr_chunk *chunk, cr_chunk_rows *to, cr_bad *bad,
                     cr_err *err) {
    cr_batch *out = &to->rows;
    (void)ctx;
    (void)err;
    for (int64_t r = 0; leave_out && r < chunk->n_rows; r++)
        if ((chunk->first_row + r) % leave_out == 0) cr_bad_add(bad, r, 0, "left out");
    out->n_rows = chunk->n_rows;
    out->n_reserved = chunk->n_cols;
    out->reserved = chunk->cols;
    return CR_OK;
}

static char refused[400];
static cr_want_form form = CR_WANT_STORED;

/* rows of `paths` in batches of some rows into a file; false: refused, with the reason there */
static bool try_copy(const char *paths, const char *names, const char *to, int64_t batch) {
    cr_diag diag;
    cr_diag_init(&diag);
    h_wants w;
    h_want(&w, names);
    for (int i = 0; i < w.n; i++)
        w.v[i].form = form;
    cr_data_conf conf = {0};
    cr_loader_opts o = {.conf = &conf,
                        .reader = cr_reader_find("ParquetDataset"),
                        .paths = paths,
                        .want = w.v,
                        .n_want = w.n,
                        .encode = carry,
                        .batch_size = batch,
                        .n_threads = 1 + (int)(batch % 2),
                        .n_epochs = 1,
                        .max_bad_rows = leave_out ? 1 << 20 : 0,
                        .silent = true,
                        .block_bytes = 100};
    cr_loader *l;
    cr_err err = {0};
    if (cr_loader_new(&l, &o, &diag) != CR_OK) {
        snprintf(refused, sizeof(refused), "%s", diag.n ? diag.v[0].msg : "?");
        cr_diag_clear(&diag);
        return false;
    }
    cr_colkind kinds[64];
    cr_sink_col cols[64];
    cr_loader_kinds(l, kinds);
    for (int i = 0; i < w.n; i++)
        cols[i] = (cr_sink_col){.name = w.v[i].name, .kind = kinds[i]};
    cr_pq_sink *s;
    CHECK_INT(cr_pq_sink_open(&s, to, cols, w.n, NULL, &err), CR_OK);
    for (bool done = false; !done && s;) {
        cr_batch *b;
        if (cr_loader_next(l, &b, &done, &err) != CR_OK) {
            t_failed_checks++;
            fprintf(stderr, "%s\n", err.msg);
            break;
        }
        if (!b) continue;
        const cr_column *v[64];
        for (int i = 0; i < w.n; i++)
            v[i] = &b->reserved[i];
        cr_code code = cr_pq_sink_write(s, v, b->n_rows, &err);
        CHECK_INT(code, CR_OK);
        cr_loader_release(l, b);
        if (code != CR_OK) {
            fprintf(stderr, "%s\n", err.msg);
            break;
        }
    }
    CHECK_INT(cr_pq_sink_finish(s, &err), CR_OK);
    cr_pq_sink_free(s);
    cr_loader_free(l);
    cr_diag_clear(&diag);
    return true;
}

static void copy(const char *paths, const char *names, const char *to, int64_t batch) {
    if (try_copy(paths, names, to, batch)) return;
    t_failed_checks++;
    fprintf(stderr, "%s\n", refused);
}

/* schema and rows, copied: the same again, or the types in `types` */
static void round_trip(const char *schema, const char *names, const char *const *rows, int n_rows,
                       const char *types) {
    const char *in = h_path("in.parquet"), *out = h_path("out.parquet");
    cr_buf ta, ra, tb, rb;
    cr_buf_init(&ta);
    cr_buf_init(&ra);
    cr_buf_init(&tb);
    cr_buf_init(&rb);
    pm_file f;
    pm_init(&f, schema);
    for (int k = 0; k < 5; k++) /* more rows than a batch, a page or a block holds */
        for (int i = 0; i < n_rows; i++)
            pm_row(&f, rows[i]);
    pm_write(&f, in, &(cr_pq_write_opts){.group_rows = 4, .page_bytes = 40});
    pm_clear(&f);
    file_text(in, &ta, &ra);
    for (int64_t batch = 1; batch <= 7; batch++) {
        cr_buf_reset(&tb);
        cr_buf_reset(&rb);
        copy(in, names, out, batch);
        file_text(out, &tb, &rb);
        CHECK_STR(tb.data, types ? types : ta.data);
        if (!types) CHECK_STR(rb.data, ra.data);
    }
    cr_buf_clear(&ta);
    cr_buf_clear(&ra);
    cr_buf_clear(&tb);
    cr_buf_clear(&rb);
}
#define ROWS_OF(a) a, (int)(sizeof(a) / sizeof *(a))

TEST(numbers) {
    static const char *const rows[] = {
        ("true|-128|-32768|-2147483648|-9223372036854775808|255|65535|4294967295|"
         "9223372036854775807|0038|1.5|2.5"),
        "null|null|null|null|null|null|null|null|null|null|null|null",
        "false|127|32767|2147483647|9223372036854775807|0|0|0|0|fffb|-1e30|1e300",
        "true|0|0|0|0|1|2|3000000000|4|0100|nan|inf",
        "false|1|1|1|1|1|1|1|1|00fc|-inf|-0.0",
    };
    round_trip(
        "b:bool, i8:int8, i16:int16, i32:int32, i64:int64, u8:uint8, u16:uint16, u32:uint32, "
        "u64:uint64, h:float16, f:float, d:double",
        "b,i8,i16,i32,i64,u8,u16,u32,u64,h,f,d", ROWS_OF(rows), NULL);
}

TEST(texts_dates_decimals) {
    static const char *const rows[] = {
        "hello|bytes|61626364|00112233445566778899aabbccddeeff|19000|1600000000000|-1|1234|-5|null",
        "null|null|null|null|null|null|null|null|null|null",
        "|||ffffffffffffffffffffffffffffffff|-1|0|1|-1|9223372036854775807|null",
        "hello|x|00ff00ff|00|0|1|2|999999999|0|null",
    };
    round_trip("s:string, b:binary, f:fixed4, u:uuid, d:date, m:millis, n:micros, dec:dec9_2, "
               "big:dec38_0, none:nulls",
               "s,b,f,u,d,m,n,dec,big,none", ROWS_OF(rows), NULL);
}

TEST(lists_and_maps) {
    static const char *const rows[] = {
        "[1,null,3]|[a,bb]|[[1],[2,3]]|{1:0.5,2:null}|{a:x,b:y}|[true,null]|[[a],[],[b,null]]",
        "null|null|null|null|null|null|null",
        "[]|[]|[]|{}|{}|[]|[]",
        "[7]|[null]|[[],[],[9]]|{3:1}|{z:}|[false]|[[]]",
        "[1,2,3,4,5,6]|[x]|[[1,2,3],[4]]|{5:2}|{q:w}|[true]|[[a,b]]",
    };
    round_trip("l:list<int64>, s:list<string>, ll:list<list<int32>>, m:map<int64,float>, "
               "ms:map<string,string>, lb:list<bool>, lls:list<list<string>>",
               "l,s,ll,m,ms,lb,lls", ROWS_OF(rows), NULL);
}

/* what no number of ours holds */
TEST(long_decimals_and_times) {
    static const char *const rows[] = {
        "12345|99999999999999999999999999999999|15|2440588 0|18446744073709551615",
        "null|null|null|2440589 7|null",
        "-999999999999999999|-1|-1|99999999 1|9223372036854775808"};
    round_trip("a:dec18_4, b:dec38_3, c:decbytes_1, t:int96, h:uint64", "a,b,c,t,h", ROWS_OF(rows),
               NULL);
}

/* inner lists that are null: the text above has no word for them */
TEST(null_inner_lists) {
    static const int32_t off[] = {0, 3, 3, 4}, inner[] = {0, 2, 2, 2, 3}, x[] = {1, 2, 3};
    static const uint8_t outer_valid[] = {1, 0, 1}, inner_valid[] = {1, 0, 1, 1};
    cr_pq_node nodes[] = {
        {.name = "root", .type = CR_PQ_GROUP, .n_children = 1},
        {.name = "x",
         .type = CR_PQ_GROUP,
         .rep = CR_PQ_OPTIONAL,
         .logical = {.kind = CR_PQ_LIST},
         .n_children = 1},
        {.name = "list", .type = CR_PQ_GROUP, .rep = CR_PQ_REPEATED, .n_children = 1},
        {.name = "element",
         .type = CR_PQ_GROUP,
         .rep = CR_PQ_OPTIONAL,
         .logical = {.kind = CR_PQ_LIST},
         .n_children = 1},
        {.name = "list", .type = CR_PQ_GROUP, .rep = CR_PQ_REPEATED, .n_children = 1},
        {.name = "element", .type = CR_PQ_I32, .rep = CR_PQ_OPTIONAL},
    };
    cr_pq_meta schema = {.n_nodes = 6, .nodes = nodes};
    cr_pq_vec v = {.type = CR_PQ_I32,
                   .n_rows = 3,
                   .n = 3,
                   .depth = 2,
                   .list = {{off, outer_valid, 3}, {inner, inner_valid, 4}},
                   .v.i32 = x};
    const char *in = h_path("in.parquet"), *out = h_path("out.parquet");
    cr_err err = {0};
    cr_pq_writer *w;
    CHECK_INT(cr_pq_writer_new(&w, in, &schema, NULL, &err), CR_OK);
    CHECK_INT(cr_pq_write(w, &v, &err), CR_OK);
    CHECK_INT(cr_pq_write(w, &v, &err), CR_OK);
    CHECK_INT(cr_pq_writer_finish(w, &err), CR_OK);
    cr_pq_writer_free(w);
    for (int64_t batch = 1; batch <= 6; batch++) {
        cr_buf types, rows;
        cr_buf_init(&types);
        cr_buf_init(&rows);
        copy(in, "x", out, batch);
        file_text(out, &types, &rows);
        CHECK_STR(rows.data, "[[1,2],null,[]]\nnull\n[[3]]\n[[1,2],null,[]]\nnull\n[[3]]\n");
        cr_buf_clear(&types);
        cr_buf_clear(&rows);
    }
}

/* rows of two files, copied: "types|rows" */
static const char *two_files(const char *names, int64_t batch) {
    static char text[2000];
    cr_buf types, rows;
    cr_buf_init(&types);
    cr_buf_init(&rows);
    char both[600];
    snprintf(both, sizeof(both), "%s,%s", h_path("d1.parquet"), h_path("d2.parquet"));
    const char *out = h_path("out.parquet");
    *text = 0;
    if (try_copy(both, names, out, batch)) {
        file_text(out, &types, &rows);
        snprintf(text, sizeof(text), "%s/ %s", types.data, rows.data);
    }
    for (char *p = text; *p; p++)
        if (*p == '\n') *p = ' ';
    cr_buf_clear(&types);
    cr_buf_clear(&rows);
    return text;
}

/* files that store a column differently: the type that holds both */
TEST(files_that_differ) {
    PM_FILE(h_path("d1.parquet"), "i:int8, d:dec9_2, s:string, l:list<int8>, m:map<string,int8>",
            "5|150|a|[1,null]|{k:1}", "null|null|null|null|null");
    PM_FILE(h_path("d2.parquet"),
            "i:int32, d:dec18_4, s:binary, l:list<int32>, m:map<string,int32>",
            "70000|22500|b|[70000]|{k:null}");
    for (int64_t batch = 1; batch <= 4; batch++)
        CHECK_STR(two_files("i,d,s,l,m", batch),
                  "i: int32 d: double s: string l: list<int32> m: map<string, int32> / "
                  "5|1.5|\"a\"|[1,null]|[[\"k\",1]] null|null|null|null|null "
                  "70000|2.25|\"b\"|[70000]|[[\"k\",null]] ");
    PM_FILE(h_path("d2.parquet"), "i:int64, s:list<string>", "7|[b]");
    CHECK_STR(two_files("i", 1), "");
    CHECK(strstr(refused, "column 'i', which feature 'f' needs, has the type int64 in ") != NULL);
    CHECK(strstr(refused, " and int8 in ") != NULL);
    CHECK_STR(two_files("s", 1), "");
    CHECK(strstr(refused, "list<string> in ") != NULL);
}

/* a column that is null throughout one file */
TEST(nulls_and_others) {
    PM_FILE(h_path("d1.parquet"), "a:nulls, l:nulls, m:nulls, d:nulls, u:nulls, n:nulls, s:nulls",
            "null|null|null|null|null|null|null", "null|null|null|null|null|null|null");
    PM_FILE(h_path("d2.parquet"),
            "a:string, l:list<list<date>>, m:map<string,uint8>, d:dec38_3, u:uuid, n:nulls, "
            "s.a:int32, s.b:list<int8>",
            "x|[[1]]|{k:3}|12|00112233445566778899aabbccddeeff|null|4|[5]");
    static const char want[] =
        "a: string l: list<list<date>> m: map<string, uint8> d: decimal(38, 3) u: uuid n: null "
        "s: struct<a: int32, b: list<int8>> / %s%s";
    static const char none[] = "null|null|null|null|null|null|null ",
                      one[] = "\"x\"|[[\"1970-01-02\"]]|[[\"k\",3]]|\"0.012\"|"
                              "\"00112233-4455-6677-8899-aabbccddeeff\"|null|{\"a\":4,\"b\":[5]} ";
    char text[1000], nulls[200];
    snprintf(nulls, sizeof(nulls), "%s%s", none, none);
    snprintf(text, sizeof(text), want, nulls, one);
    for (int64_t batch = 1; batch <= 4; batch++)
        CHECK_STR(two_files("a,l,m,d,u,n,s", batch), text);
    rename(h_path("d1.parquet"), h_path("d3.parquet"));
    rename(h_path("d2.parquet"), h_path("d1.parquet"));
    rename(h_path("d3.parquet"), h_path("d2.parquet"));
    snprintf(text, sizeof(text), want, one, nulls);
    for (int64_t batch = 1; batch <= 4; batch++)
        CHECK_STR(two_files("a,l,m,d,u,n,s", batch), text);
}

/* one struct with a list, members required or not, written from levels */
static void struct_file(const char *path, const char *element, cr_pq_rep s, cr_pq_rep a,
                        cr_pq_rep l, const uint8_t *a_def, const uint8_t *l_def, int64_t n_values) {
    static const int32_t x[] = {1, 2, 3, 4};
    static const int32_t each[] = {0, 1, 2, 3, 4};
    uint8_t valid[4] = {0};
    int32_t slot[5] = {0};
    const uint8_t rep[4] = {0}, a_max = (uint8_t)(s + a), l_max = (uint8_t)(s + l + 1);
    cr_pq_node nodes[] = {
        {.name = "root", .type = CR_PQ_GROUP, .n_children = 1},
        {.name = "s", .type = CR_PQ_GROUP, .rep = s, .n_children = 2, .field_id = 7},
        {.name = "a", .type = CR_PQ_I32, .rep = a, .field_id = 8},
        {.name = "l",
         .type = CR_PQ_GROUP,
         .rep = l,
         .logical = {.kind = CR_PQ_LIST},
         .n_children = 1,
         .field_id = -1},
        {.name = "list",
         .type = CR_PQ_GROUP,
         .rep = CR_PQ_REPEATED,
         .n_children = 1,
         .field_id = -1},
        {.name = element, .type = CR_PQ_I32, .field_id = -1},
    };
    cr_pq_meta schema = {.n_nodes = 6, .nodes = nodes};
    cr_pq_vec v[2] = {{.type = CR_PQ_I32, .n_rows = 4, .n = 4, .v.i32 = x, .n_levels = 4},
                      {.type = CR_PQ_I32,
                       .n_rows = 4,
                       .n = n_values,
                       .depth = 1,
                       .v.i32 = x,
                       .n_levels = 4,
                       .def = l_def,
                       .rep = rep,
                       .row_level = each,
                       .row_slot = slot}};
    for (int i = 0; i < 4; i++) {
        valid[i] = a_def[i] == a_max;
        slot[i + 1] = slot[i] + (l_def[i] == l_max);
    }
    v[0].valid = valid;
    v[0].def = a_def;
    cr_err err = {0};
    cr_pq_writer *w;
    CHECK_INT(cr_pq_writer_new(&w, path, &schema, NULL, &err), CR_OK);
    CHECK_INT(cr_pq_write(w, v, &err), CR_OK);
    CHECK_INT(cr_pq_writer_finish(w, &err), CR_OK);
    cr_pq_writer_free(w);
}

/* what may be null in one file only, and names inside lists */
TEST(files_with_other_nulls) {
    static const uint8_t a1[] = {0, 1, 2, 2}, l1[] = {0, 1, 2, 2}, a2[] = {0, 0, 0, 0},
                         l2[] = {0, 1, 1, 2};
    struct_file(h_path("d1.parquet"), "element", CR_PQ_OPTIONAL, CR_PQ_OPTIONAL, CR_PQ_REQUIRED, a1,
                l1, 2);
    struct_file(h_path("d2.parquet"), "item", CR_PQ_REQUIRED, CR_PQ_REQUIRED, CR_PQ_OPTIONAL, a2,
                l2, 1);
    static const char rows[] = "null {\"a\":null,\"l\":[]} {\"a\":3,\"l\":[1]} {\"a\":4,\"l\":[2]} "
                               "{\"a\":1,\"l\":null} {\"a\":2,\"l\":[]} {\"a\":3,\"l\":[]} "
                               "{\"a\":4,\"l\":[1]} ";
    char text[1000];
    snprintf(text, sizeof(text), "s: struct<a: int32, l: list<int32>> / %s", rows);
    for (int64_t batch = 1; batch <= 9; batch++)
        CHECK_STR(two_files("s", batch), text);
    whole_schema = true;
    snprintf(text, sizeof(text),
             "s -1(0) 1, 2: 0 0 0 0 0 0 0, 7 a 1(0) 1, 0: 0 0 0 0 0 0 0, 8 "
             "l -1(0) 1, 1: 14 0 0 0 0 0 0, -1 list -1(0) 2, 1: 0 0 0 0 0 0 0, "
             "-1 element 1(0) 0, 0: 0 0 0 0 0 0 0, -1 / %s",
             rows);
    CHECK_STR(two_files("s", 3), text);
    whole_schema = false;
    /* members by name: null with the struct around them */
    CHECK_STR(
        two_files("s.a,s.l", 3),
        "s.a: int32 s.l: list<int32> / null|null null|[] 3|[1] 4|[2] 1|null 2|[] 3|[] 4|[1] ");
}

/* ---- any schema ---- */

/* a type that is only known by its bytes in the footer: number 17, without a system of
 * coordinates */
static const uint8_t geometry[] = {0x0c, 0x22, 0, 0};

static const struct {
    cr_pq_type type;
    int length;
    cr_pq_logical logical;
} kinds[] = {
    {CR_PQ_BOOL, 0, {0}},
    {CR_PQ_I32, 0, {0}},
    {CR_PQ_I64, 0, {0}},
    {CR_PQ_I96, 0, {0}},
    {CR_PQ_F32, 0, {0}},
    {CR_PQ_F64, 0, {0}},
    {CR_PQ_BYTES, 0, {0}},
    {CR_PQ_FIXED, 5, {0}},
    {CR_PQ_BYTES, 0, {.kind = CR_PQ_STRING}},
    {CR_PQ_BYTES, 0, {.kind = CR_PQ_ENUM}},
    {CR_PQ_BYTES, 0, {.kind = CR_PQ_JSON}},
    {CR_PQ_BYTES, 0, {.kind = CR_PQ_BSON}},
    {CR_PQ_FIXED, 16, {.kind = CR_PQ_UUID}},
    {CR_PQ_FIXED, 2, {.kind = CR_PQ_FLOAT16}},
    {CR_PQ_FIXED, 12, {.kind = CR_PQ_INTERVAL}},
    {CR_PQ_I32, 0, {.kind = CR_PQ_INT, .bits = 8, .is_signed = true}},
    {CR_PQ_I32, 0, {.kind = CR_PQ_INT, .bits = 16, .is_signed = true}},
    {CR_PQ_I32, 0, {.kind = CR_PQ_INT, .bits = 32, .is_signed = true}},
    {CR_PQ_I64, 0, {.kind = CR_PQ_INT, .bits = 64, .is_signed = true}},
    {CR_PQ_I32, 0, {.kind = CR_PQ_INT, .bits = 8}},
    {CR_PQ_I32, 0, {.kind = CR_PQ_INT, .bits = 16}},
    {CR_PQ_I32, 0, {.kind = CR_PQ_INT, .bits = 32}},
    {CR_PQ_I64, 0, {.kind = CR_PQ_INT, .bits = 64}},
    {CR_PQ_I32, 0, {.kind = CR_PQ_DECIMAL, .precision = 9, .scale = 2}},
    {CR_PQ_I64, 0, {.kind = CR_PQ_DECIMAL, .precision = 18, .scale = 0}},
    {CR_PQ_FIXED, 7, {.kind = CR_PQ_DECIMAL, .precision = 16, .scale = 16}},
    {CR_PQ_FIXED, 16, {.kind = CR_PQ_DECIMAL, .precision = 38, .scale = 10}},
    {CR_PQ_BYTES, 0, {.kind = CR_PQ_DECIMAL, .precision = 30, .scale = 3}},
    {CR_PQ_I32, 0, {.kind = CR_PQ_DATE}},
    {CR_PQ_I32, 0, {.kind = CR_PQ_TIME, .unit = CR_PQ_MILLIS, .is_utc = true}},
    {CR_PQ_I64, 0, {.kind = CR_PQ_TIME, .unit = CR_PQ_MICROS}},
    {CR_PQ_I64, 0, {.kind = CR_PQ_TIME, .unit = CR_PQ_NANOS, .is_utc = true}},
    {CR_PQ_I64, 0, {.kind = CR_PQ_TIMESTAMP, .unit = CR_PQ_MILLIS}},
    {CR_PQ_I64, 0, {.kind = CR_PQ_TIMESTAMP, .unit = CR_PQ_MICROS, .is_utc = true}},
    {CR_PQ_I64, 0, {.kind = CR_PQ_TIMESTAMP, .unit = CR_PQ_NANOS}},
    {CR_PQ_BYTES, 0, {.kind = CR_PQ_OTHER, .other = geometry, .other_size = sizeof(geometry)}},
    {CR_PQ_I32, 0, {.kind = CR_PQ_NULL}},
};
#define N_KINDS (int)(sizeof(kinds) / sizeof(*kinds))

static uint64_t seed;
static int below(int n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

typedef struct made_leaf {
    cr_buf def, rep, valid, values, beg, end, row_level, row_slot;
    int64_t n_null;
} made_leaf;
typedef struct made {
    cr_pq_meta schema;
    cr_pq_node nodes[600];
    made_leaf leaf[PM_MAX];
    int n_leaves;
    cr_arena arena;
} made;

static int add_node(made *m, const char *name, cr_pq_rep rep, cr_pq_kind kind, int n_children) {
    m->nodes[m->schema.n_nodes] = (cr_pq_node){.name = name,
                                               .type = CR_PQ_GROUP,
                                               .rep = rep,
                                               .logical = {.kind = kind},
                                               .n_children = n_children,
                                               .field_id = below(4) ? -1 : below(100)};
    return m->schema.n_nodes++;
}

static void add_leaf(made *m, const char *name, cr_pq_rep rep, int kind) {
    int i = add_node(m, name, rep, 0, 0);
    m->nodes[i].type = kinds[kind].type;
    m->nodes[i].type_length = kinds[kind].length;
    m->nodes[i].logical = kinds[kind].logical;
    if (kinds[kind].logical.kind == CR_PQ_NULL) m->nodes[i].rep = CR_PQ_OPTIONAL;
    m->n_leaves++;
}

static cr_pq_rep any_rep(void) {
    return below(2) ? CR_PQ_OPTIONAL : CR_PQ_REQUIRED;
}

static void add_any(made *m, const char *name, cr_pq_rep rep, int depth) {
    int what = depth > 4 || m->n_leaves > 60 ? 0 : below(8);
    if (what == 1 || what == 2) { /* a struct */
        int n = 1 + below(3), i = add_node(m, name, rep, CR_PQ_PHYSICAL, n);
        static const char *const names[] = {"x", "y y", "z.z"};
        for (int k = 0; k < n; k++) /* a repeated one is a list that nothing marks */
            add_any(m, names[k], below(8) ? any_rep() : CR_PQ_REPEATED, depth + 1);
        (void)i;
    } else if (what == 3 || what == 4) {
        add_node(m, name, rep, CR_PQ_LIST, 1);
        add_node(m, "list", CR_PQ_REPEATED, CR_PQ_PHYSICAL, 1);
        add_any(m, "element", any_rep(), depth + 1);
    } else if (what == 5) {
        add_node(m, name, rep, CR_PQ_MAP, 1);
        add_node(m, "key_value", CR_PQ_REPEATED, CR_PQ_PHYSICAL, 2);
        add_leaf(m, "key", CR_PQ_REQUIRED, below(N_KINDS - 1));
        add_any(m, "value", any_rep(), depth + 1);
    } else if (what == 6 && depth < 4) { /* a list of two levels, as old writers make them */
        add_node(m, name, rep, CR_PQ_LIST, 1);
        add_any(m, "array", CR_PQ_REPEATED, depth + 1);
    } else
        add_leaf(m, name, rep, below(N_KINDS));
}

static void put_value(made *m, const cr_pq_node *n, bool null) {
    made_leaf *l = &m->leaf[n->leaf];
    static const int width[] = {1, 4, 8, 12, 4, 8};
    int size = n->type == CR_PQ_FIXED   ? n->type_length
               : n->type == CR_PQ_BYTES ? null ? 0 : below(6)
                                        : width[n->type];
    uint32_t at = (uint32_t)l->values.n;
    cr_buf_add(&l->beg, &at, 4);
    for (int i = 0; i < size; i++) {
        int x = n->type == CR_PQ_BOOL ? below(2) : below(256);
        if (n->logical.kind == CR_PQ_STRING) x = 'a' + below(3);
        cr_buf_char(&l->values, (char)(null ? 0 : x));
    }
    at = (uint32_t)l->values.n;
    cr_buf_add(&l->end, &at, 4);
    cr_buf_char(&l->valid, !null);
    l->n_null += null;
}

/* all leaves under node i: it is not there, or (def of the leaf) there is a value */
static void put_levels(made *m, int i, int def, int rep) {
    for (int k = i; k < m->nodes[i].next; k++) {
        const cr_pq_node *n = &m->nodes[k];
        if (n->leaf < 0) continue;
        int list = k;
        while (list > 0 && m->nodes[list].rep != CR_PQ_REPEATED)
            list = m->nodes[list].parent;
        cr_buf_char(&m->leaf[n->leaf].def, (char)def);
        cr_buf_char(&m->leaf[n->leaf].rep, (char)rep);
        if (def >= (list > 0 ? m->nodes[list].max_def : 0)) put_value(m, n, def < n->max_def);
    }
}

static void put_node(made *m, int i, int def, int rep) {
    const cr_pq_node *n = &m->nodes[i];
    int times = 1;
    if (n->rep == CR_PQ_OPTIONAL && (n->logical.kind == CR_PQ_NULL || below(4) == 0)) times = 0;
    if (n->rep == CR_PQ_REPEATED) times = below(4);
    if (times == 0) {
        put_levels(m, i, def, rep);
        return;
    }
    for (int t = 0; t < times; t++, rep = n->max_rep) {
        if (n->leaf >= 0) put_levels(m, i, n->max_def, rep);
        for (int c = i + 1; c < n->next; c = m->nodes[c].next)
            put_node(m, c, n->max_def, rep);
    }
}

static void make_any(const char *path, char *names, size_t size, int64_t n_rows) {
    made *m = cr_alloc(sizeof(*m), "a file");
    cr_err err = {0};
    cr_arena_init(&m->arena, 0);
    m->schema.nodes = m->nodes;
    int n = 1 + below(4);
    add_node(m, "root", CR_PQ_REQUIRED, CR_PQ_PHYSICAL, n);
    *names = 0;
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof(name), "c%d", i);
        add_any(m, cr_arena_strdup(&m->arena, name), below(9) ? any_rep() : CR_PQ_REPEATED, 0);
        snprintf(names + strlen(names), size - strlen(names), "%s%s", i ? "," : "", name);
    }
    CHECK_INT(cr_pq_schema_finish(&m->schema, &m->arena, &err), CR_OK);
    for (int64_t r = 0; r <= n_rows; r++) {
        for (int i = 0; i < m->schema.n_leaves; i++) {
            made_leaf *l = &m->leaf[i];
            int32_t at[2] = {(int32_t)l->def.n, (int32_t)l->valid.n};
            cr_buf_add(&l->row_level, &at[0], 4);
            cr_buf_add(&l->row_slot, &at[1], 4);
        }
        for (int i = 1; r < n_rows && i < m->schema.n_nodes; i = m->nodes[i].next)
            put_node(m, i, 0, 0);
    }
    cr_pq_vec v[PM_MAX];
    for (int i = 0; i < m->schema.n_leaves; i++) {
        const cr_pq_node *node = &m->nodes[m->schema.leaves[i]];
        made_leaf *l = &m->leaf[i];
        cr_buf_reserve(&l->values, 64);
        cr_buf_reserve(&l->beg, 4);
        cr_buf_reserve(&l->end, 4);
        cr_buf_reserve(&l->valid, 4);
        v[i] = (cr_pq_vec){.type = node->type,
                           .type_length = node->type_length,
                           .n_rows = n_rows,
                           .n = (int64_t)l->valid.n,
                           .n_null = l->n_null,
                           .valid = (const uint8_t *)l->valid.data,
                           .depth = node->max_rep,
                           .bytes = l->values.data,
                           .beg = (const uint32_t *)(const void *)l->beg.data,
                           .end = (const uint32_t *)(const void *)l->end.data,
                           .n_levels = (int64_t)l->def.n,
                           .def = (const uint8_t *)l->def.data};
        v[i].v.b8 = (const uint8_t *)l->values.data;
        if (node->max_rep == 0) continue;
        v[i].rep = (const uint8_t *)l->rep.data;
        v[i].row_level = (const int32_t *)(const void *)l->row_level.data;
        v[i].row_slot = (const int32_t *)(const void *)l->row_slot.data;
    }
    cr_pq_write_opts o = {.group_rows = 1 + below(20),
                          .page_bytes = 40,
                          .page_version = 1 + below(2),
                          .codec = CR_PQ_SNAPPY};
    cr_pq_writer *w;
    CHECK_INT(cr_pq_writer_new(&w, path, &m->schema, &o, &err), CR_OK);
    cr_code code = cr_pq_write(w, v, &err);
    if (code != CR_OK) fprintf(stderr, "%s\n", err.msg);
    CHECK_INT(code, CR_OK);
    CHECK_INT(cr_pq_writer_finish(w, &err), CR_OK);
    cr_pq_writer_free(w);
    for (int i = 0; i < PM_MAX; i++) {
        made_leaf *l = &m->leaf[i];
        cr_buf *const all[] = {&l->def, &l->rep, &l->valid,     &l->values,
                               &l->beg, &l->end, &l->row_level, &l->row_slot};
        for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++)
            cr_buf_clear(all[k]);
    }
    cr_arena_clear(&m->arena);
    cr_free(m);
}

/* random schemas of every type and nesting: the same schema, the same rows but for the bad ones */
TEST(any_schema) {
    const char *in = h_path("in.parquet"), *out = h_path("out.parquet");
    cr_buf ta, ra, tb, rb;
    cr_buf_init(&ta);
    cr_buf_init(&ra);
    cr_buf_init(&tb);
    cr_buf_init(&rb);
    whole_schema = true;
    bool geometry_seen = false;
    for (int i = 0; i < 150; i++) {
        char names[100];
        seed = (uint64_t)i;
        int before = t_failed_checks;
        make_any(in, names, sizeof(names), 1 + below(40));
        leave_out = i % 3 ? 1 + i % 5 : 0;
        if (leave_out == 1) leave_out = 2;
        cr_buf_reset(&ta);
        cr_buf_reset(&ra);
        cr_buf_reset(&tb);
        cr_buf_reset(&rb);
        file_text(in, &ta, &ra);
        geometry_seen |= strstr(ta.data, " 0c 22 00 00") != NULL;
        copy(in, names, out, 1 + below(50));
        int64_t bad = leave_out;
        leave_out = 0;
        file_text(out, &tb, &rb);
        leave_out = bad;
        CHECK_STR(tb.data, ta.data);
        CHECK_INT(rb.n, ra.n);
        CHECK(rb.n == ra.n && memcmp(rb.data, ra.data, ra.n) == 0);
        if (t_failed_checks > before) {
            fprintf(stderr, "seed %d\n", i);
            break;
        }
    }
    CHECK(geometry_seen);
    whole_schema = false;
    leave_out = 0;
    cr_buf_clear(&ta);
    cr_buf_clear(&ra);
    cr_buf_clear(&tb);
    cr_buf_clear(&rb);
}

/* two leaves under one list that have other numbers of items */
TEST(damaged_lists) {
    cr_pq_node nodes[] = {
        {.name = "root", .type = CR_PQ_GROUP, .n_children = 1},
        {.name = "r", .type = CR_PQ_GROUP, .rep = CR_PQ_REPEATED, .n_children = 2},
        {.name = "a", .type = CR_PQ_I32},
        {.name = "b", .type = CR_PQ_I32},
    };
    cr_pq_meta schema = {.n_nodes = 4, .nodes = nodes};
    static const int32_t x[] = {1, 2, 3}, off_a[] = {0, 1, 3}, off_b[] = {0, 2, 3};
    cr_pq_vec v[2] = {{.type = CR_PQ_I32, .n_rows = 2, .n = 3, .depth = 1, .v.i32 = x}};
    v[1] = v[0];
    v[0].list[0] = (cr_pq_list){off_a, NULL, 2};
    v[1].list[0] = (cr_pq_list){off_b, NULL, 2};
    cr_err err = {0};
    cr_pq_writer *w;
    CHECK_INT(cr_pq_writer_new(&w, h_path("in.parquet"), &schema, NULL, &err), CR_OK);
    CHECK_INT(cr_pq_write(w, v, &err), CR_OK);
    CHECK_INT(cr_pq_writer_finish(w, &err), CR_OK);
    cr_pq_writer_free(w);
    cr_data_conf conf = {0};
    cr_want want = {.name = "r", .type = -1, .why = "the test", .form = CR_WANT_STORED};
    const cr_reader_type *rt = cr_reader_find("ParquetDataset");
    cr_diag diag;
    cr_diag_init(&diag);
    cr_source *s;
    CHECK_INT(rt->open(&s, &conf, h_path("in.parquet"), &want, 1, &diag), CR_OK);
    cr_raw raw = {.n_rows = 2};
    cr_chunk chunk = {0};
    cr_bad bad = {0};
    bool end;
    CHECK_INT(rt->cut(s, 0, 0, &raw, &end, &err), CR_OK);
    CHECK_INT(rt->parse(s, &raw, &chunk, &bad, &err), CR_EDATA);
    CHECK_STR(err.msg, "columns 'r.a' and 'r.b' disagree on the items of a list they are in; the "
                       "file is damaged");
    rt->raw_clear(s, &raw);
    cr_arena_clear(&chunk.arena);
    rt->close(s);
    cr_diag_clear(&diag);
}

/* members inside lists are lists of their own, where they are numbers or text */
TEST(members_in_lists) {
    PM_FILE(h_path("in.parquet"), "m:map<string,int64>", "{a:1,b:2}", "null", "{}");
    cr_buf types, rows;
    cr_buf_init(&types);
    cr_buf_init(&rows);
    copy(h_path("in.parquet"), "m.key,m.value", h_path("out.parquet"), 2);
    file_text(h_path("out.parquet"), &types, &rows);
    CHECK_STR(types.data, "m.key: list<string>\nm.value: list<int64>\n");
    CHECK_STR(rows.data, "[\"a\",\"b\"]|[1,2]\nnull|null\n[]|[]\n");
    PM_FILE(h_path("in.parquet"), "m:map<string,bson>", "{a:1,b:2}");
    CHECK(!try_copy(h_path("in.parquet"), "m.value", h_path("out.parquet"), 2));
    CHECK_STR(refused, "column 'm.value', which feature 'f' needs, has the type bson and lies in a "
                       "list of structs; name the whole list");
    cr_buf_clear(&types);
    cr_buf_clear(&rows);
}

/* a column that a feature reads too: its values may be bad, what is stored stays as it is */
TEST(values_beside) {
    static const char *const rows[] = {"1|12345|[a,null]|a", "null|null|null|a", "5|1|[b]|b"};
    form = CR_WANT_VALUES_STORED;
    round_trip("u:uint64, d:dec18_4, l:list<string>, s:string", "u,d,l,s", ROWS_OF(rows), NULL);
    form = CR_WANT_STORED;
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(numbers),          CASE(texts_dates_decimals),
                                   CASE(lists_and_maps),   CASE(long_decimals_and_times),
                                   CASE(null_inner_lists), CASE(files_that_differ),
                                   CASE(nulls_and_others), CASE(files_with_other_nulls),
                                   CASE(any_schema),       CASE(members_in_lists),
                                   CASE(damaged_lists),    CASE(values_beside)};
    int code = t_run(cases, sizeof(cases) / sizeof(*cases), argc, argv);
    h_clean();
    return code;
}
