/*
 * pq_sink.c - columns that were read from Parquet and gathered into batches, written again: the
 * file has the types and the rows it came from.
 */
#include "data/pq_sink.h"

#include "csv_help.h"
#include "data/loader.h"
#include "pq_make.h"

/* ---- files as text ---- */

/* "name: type" of every column, then its rows as JSON lines */
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
    for (int i = 1; i < m->n_nodes; i = m->nodes[i].next) {
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
            for (int i = 1, leaf = 0; i < m->n_nodes; i = m->nodes[i].next) {
                if (i > 1) cr_buf_char(rows, '|');
                cr_pq_row_json(m, i, v + leaf, at + leaf, rows);
                while (leaf < m->n_leaves && m->leaves[leaf] < m->nodes[i].next)
                    leaf++;
            }
            cr_buf_char(rows, '\n');
        }
        for (int i = 0; i < m->n_leaves; i++)
            cr_pq_cursor_free(c[i]);
    }
    cr_pq_close(f);
}

/* ---- through a loader ---- */

static cr_code carry(void *ctx, const cr_chunk *chunk, cr_batch *out, cr_bad *bad, cr_err *err) {
    (void)ctx;
    (void)bad;
    (void)err;
    out->n_rows = chunk->n_rows;
    out->n_reserved = chunk->n_cols;
    out->reserved = chunk->cols;
    return CR_OK;
}

/* rows of `paths` in batches of some rows into a file */
static void copy(const char *paths, const char *names, const char *to, int64_t batch) {
    cr_diag diag;
    cr_diag_init(&diag);
    h_wants w;
    h_want(&w, names);
    cr_data_conf conf = {0};
    cr_loader_opts o = {.conf = &conf,
                        .reader = cr_reader_find("ParquetDataset"),
                        .paths = paths,
                        .want = w.v,
                        .n_want = w.n,
                        .encode = carry,
                        .batch_size = batch,
                        .n_threads = 2,
                        .world = 1,
                        .n_epochs = 1,
                        .block_bytes = 100};
    cr_loader *l;
    cr_err err = {0};
    if (cr_loader_new(&l, &o, &diag) != CR_OK) {
        t_failed_checks++;
        fprintf(stderr, "%s\n", diag.n ? diag.v[0].msg : "?");
        cr_diag_clear(&diag);
        return;
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
    for (int64_t batch = 1; batch <= 7; batch += 2) {
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
        "true|-128|-32768|-2147483648|-9223372036854775808|255|65535|4294967295|"
        "9223372036854775807|0038|1.5|2.5",
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

/* what a double cannot hold is written as one, the old timestamps as new ones */
TEST(types_that_change) {
    static const char *const rows[] = {"12345|1234|15|2440588 0", "null|null|null|2440589 7"};
    round_trip("a:dec18_4, b:dec38_3, c:decbytes_1, t:int96", "a,b,c,t", ROWS_OF(rows),
               "a: double\nb: double\nc: double\nt: timestamp(ns)\n");
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

/* files that store a column differently: the type that holds both */
TEST(files_that_differ) {
    PM_FILE(h_path("d1.parquet"), "i:int8, d:dec9_2, s:string", "5|150|a");
    PM_FILE(h_path("d2.parquet"), "i:int32, d:dec18_4, s:binary", "70000|22500|b");
    cr_buf types, rows;
    cr_buf_init(&types);
    cr_buf_init(&rows);
    char both[600];
    snprintf(both, sizeof(both), "%s,%s", h_path("d1.parquet"), h_path("d2.parquet"));
    const char *out = h_path("out.parquet");
    copy(both, "i,d,s", out, 2);
    file_text(out, &types, &rows);
    CHECK_STR(types.data, "i: int32\nd: double\ns: string\n");
    CHECK_STR(rows.data, "5|1.5|\"a\"\n70000|2.25|\"b\"\n");
    cr_buf_clear(&types);
    cr_buf_clear(&rows);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(numbers),          CASE(texts_dates_decimals),
                                   CASE(lists_and_maps),   CASE(types_that_change),
                                   CASE(null_inner_lists), CASE(files_that_differ)};
    int code = t_run(cases, sizeof(cases) / sizeof(*cases), argc, argv);
    h_clean();
    return code;
}
