/*
 * slots.c - the slot reader: the three forms of a line, missing and repeated slots, bad rows with
 * their lines, pairs, what is told about the first lines; any block size gives the same rows.
 */
#include "csv_help.h"

static void put_item(cr_buf *out, const cr_column *c, int64_t i) {
    cr_column one = *c;
    one.valid = NULL;
    h_value(out, &one, i);
}

/* "null", "7", "[1 2]", "{5:0.5}" */
static void put_cell(cr_buf *out, const cr_column *c, int64_t r) {
    if (c->valid && !c->valid[r]) {
        cr_buf_str(out, "null");
        return;
    }
    if (c->depth == 0) {
        put_item(out, c, r);
        return;
    }
    cr_buf_char(out, c->keys ? '{' : '[');
    for (int32_t i = c->row_off[r]; i < c->row_off[r + 1]; i++) {
        if (i > c->row_off[r]) cr_buf_char(out, ' ');
        if (c->keys) {
            put_item(out, c->keys, i);
            cr_buf_char(out, ':');
        }
        put_item(out, c, i);
    }
    cr_buf_char(out, c->keys ? '}' : ']');
}

static cr_code read_slots(cr_buf *out, const cr_data_conf *conf, const char *path, const h_wants *w,
                          size_t block, cr_diag *diag) {
    const cr_reader_type *r = cr_reader_find("SlotDataset");
    cr_source *s;
    CR_TRY(r->open(&s, conf, path, w->v, w->n, diag));
    r->set_block(s, block);
    cr_raw raw = {0};
    cr_chunk chunk = {0};
    cr_arena_init(&chunk.arena, 0);
    cr_bad bad = {0};
    cr_err err = {0};
    int64_t n;
    cr_code code = r->n_blocks(s, 0, &n, &err);
    for (int64_t b = 0; code == CR_OK && (n < 0 || b < n); b++) {
        bool end;
        code = r->cut(s, 0, b, &raw, &end, &err);
        if (code != CR_OK || end) break;
        cr_bad_reset(&bad);
        code = r->parse(s, &raw, &chunk, &bad, &err);
        for (int64_t i = 0; i < chunk.n_rows; i++) {
            for (int c = 0; c < chunk.n_cols; c++) {
                if (c) cr_buf_char(out, '|');
                put_cell(out, &chunk.cols[c], i);
            }
            cr_buf_char(out, ';');
        }
        for (int64_t i = 0; i < bad.n_kept; i++) {
            int64_t base = 1;
            if (raw.first_line == 0) code = r->line_at(s, 0, raw.offset, &base, &err);
            cr_buf_printf(out, "{%lld: %s}", (long long)(bad.v[i].line + base - 1), bad.v[i].msg);
        }
    }
    cr_free(raw.text);
    cr_arena_clear(&chunk.arena);
    cr_bad_clear(&bad);
    r->close(s);
    return code;
}

typedef struct slot_case {
    const char *fields, *wants; /* types: 1 INT64, 3 FLOAT, 6 ARRAY_INT64, 7 and 8 texts, floats */
    cr_slot_text_conf text;
    const char *lines, *want;
} slot_case;

#define CRITEO "click:1,d:8,1:6,2:6"
static const char *columns[] = {"id", "click"};
static cr_slot_pair_conf feat = {.name = "feat", .ids = "idx", .weights = "val"};
static cr_slot_pair_conf number = {.name = "d", .ids = "", .weights = "d"};
static void *pair_list[] = {&feat}, *number_list[] = {&number};
static int64_t widths[] = {1, 2, 2};
static cr_slot_made_conf right = {.name = "label",
                                  .value = "0",
                                  .as_many_as = "",
                                  .begin_with = "",
                                  .other_than = "",
                                  .log_of = "",
                                  .counts = ""};
static cr_slot_made_conf others = {.name = "o",
                                   .value = "",
                                   .as_many_as = "h",
                                   .begin_with = "",
                                   .other_than = "",
                                   .log_of = "",
                                   .first = 4,
                                   .last = 5,
                                   .counts = ""};
static cr_slot_made_conf drawn = {.name = "w",
                                  .value = "",
                                  .as_many_as = "",
                                  .begin_with = "next",
                                  .other_than = "next",
                                  .log_of = "",
                                  .count = 3,
                                  .first = 7,
                                  .last = 9,
                                  .counts = ""};
static cr_slot_made_conf logs = {.name = "q",
                                 .value = "",
                                 .as_many_as = "",
                                 .begin_with = "",
                                 .other_than = "",
                                 .log_of = "w",
                                 .counts = ""};
static cr_slot_made_conf less = {.name = "label",
                                 .value = "",
                                 .as_many_as = "",
                                 .log_of = "",
                                 .copy_of = "y",
                                 .plus = -1,
                                 .at_most = 1,
                                 .counts = ""};
static void *less_list[] = {&less};
static cr_slot_made_conf chosen = {.name = "c",
                                   .value = "",
                                   .as_many_as = "",
                                   .log_of = "",
                                   .counts = "",
                                   .values_of = "a",
                                   .where = "m",
                                   .is = 2,
                                   .fill = ""};
static cr_slot_made_conf placed = {.name = "p",
                                   .value = "",
                                   .as_many_as = "",
                                   .log_of = "",
                                   .counts = "",
                                   .places_of = "a",
                                   .where = "m",
                                   .is = 2,
                                   .most = 2,
                                   .fill = "7"};
static void *chosen_list[] = {&chosen, &placed};
static void *right_list[] = {&right}, *other_list[] = {&others}, *drawn_list[] = {&drawn, &logs};

static const slot_case cases[] = {
    {CRITEO,
     "click,d,1",
     {.separator = " ", .map_unread = true},
     "click:1 x:0.5 x:-2 1:7\nclick:0 1:8 x:1 x:3\n",
     "1|[0.5 -2]|[7];0|[1 3]|[8];"},
    {CRITEO,
     "click,d,1,2",
     {.separator = " "},
     "click:0 d:0.5 d:1 1:737395 2:-4\n",
     "0|[0.5 1]|[737395]|[-4];"},
    /* any order, repeated slots, empty tokens, another slot, text after a second colon */
    {CRITEO, "1,click,2", {.separator = " "}, " 2:9  1:7 x:y 1:8:3 click:1 \r\n\n", "[7 8]|1|[9];"},
    /* a missing slot is a missing value */
    {CRITEO, "click,d,1", {.separator = " "}, "click:1 2:5\n1:3\n", "1|null|null;null|null|[3];"},
    /* values of slots that nothing reads are not looked at */
    {CRITEO, "click", {.separator = " "}, "click:1 d:abc\n", "1;"},
    {CRITEO,
     "click,1,d",
     {.separator = " "},
     "click:1 1:0.0\nclick:0 1:2\nclick\nclick:1 click:0\nd:nan\nclick:1 1:3",
     "0|[2]|null;1|[3]|null;{1: slot '1', value '0.0': not a whole number of 64 bits}"
     "{3: 'click' has no colon; a token is slot:value}{4: slot 'click' comes twice and is one "
     "value}{5: slot 'd', value 'nan': not a number}"},
    {"1:1,2:7,3:7",
     "1,2,3",
     {.form = CR_VALUE_SLOT, .separator = " "},
     "1:1 18446744073709551615:2 8:2\n",
     "1|[18446744073709551615 8]|null;"},
    {"click:1,d:8,1:6",
     "click,1",
     {.form = CR_SLOT_COUNTED, .separator = " "},
     "1 0 2 0.5 0.25 3 7 8 9\n1 1 0 0\n1 1 2 0.5\n2 1 1 0 0\n1 1 0 0 5\n1 x 0 0\n",
     "0|[7 8 9];1|null;{3: the row ends inside slot 'd'; 1 value is missing}"
     "{4: slot 'click' comes twice and is one value}{5: the row goes on behind the last slot of "
     "input_fields}"
     "{6: slot 'click', value 'x': not a whole number of 64 bits}"},
    {"click:1,101:6",
     "click,101",
     {.separator = ",", .columns = {columns, 2}},
     "77,1,101:5,109:6,101:7\n78\n",
     "1|[5 7];{2: the row has 1 column and slot_text.columns has 2}"},
    {"label:1,idx:6,val:8,feat_1:23,feat_2:23",
     "feat_2,feat_1,label",
     {.separator = " ", .pairs = {pair_list, 1}},
     "idx:5 idx:6 val:0.5 val:2 label:1\nlabel:0\nidx:5 val:1\nidx:1 idx:2 val:3\n",
     "{6:2}|{5:0.5}|1;null|null|0;{3: slot 'val' has 1 value, and 'feat_2' needs 2}"
     "{4: slot 'idx' has 2 values and slot 'val' has 1; they belong together}"},
    /* numbers at fixed places; one place of a slot as a column of its own */
    {"label:1,ids:6,d:8,d_2:3",
     "label,ids,d_2,d",
     {.form = CR_SLOT_FIXED, .separator = " ", .pairs = {number_list, 1}, .widths = {widths, 3}},
     "1 5 6 0.5 2\n0 5 6 0.5\n0 5 6 0.5 2 3\n",
     "1|[5 6]|2|[0.5 2];{2: the row ends inside slot 'd'; 1 value is missing}"
     "{3: the row goes on behind the last slot of input_fields}"},
    /* lists: columns in order, an empty one, too few and too many; a constant */
    {"a:6,b:8,y:1,label:1",
     "label,a,b,y",
     {.form = CR_SLOT_LISTS, .separator = ";", .list_separator = ",", .made = {right_list, 1}},
     "1,2;0.5;1\n;0.5,2;0\n1;2\n1;2;3;4\n1;2;3,4\n1;x;3\n",
     "0|[1 2]|[0.5]|1;0|null|[0.5 2]|0;{3: the row ends before slot 'y', the 3th of input_fields}"
     "{4: the row goes on behind the last slot of input_fields}{5: slot 'y' comes twice and is one "
     "value}{6: slot 'b', value 'x': not a number}"},
    /* a copy, less 1 and at most 1; a value that stands for none */
    {"a:6,y:1,label:1",
     "a,y,label",
     {.form = CR_SLOT_LISTS,
      .separator = ";",
      .list_separator = ",",
      .padding = "9",
      .made = {less_list, 1}},
     "1,9,2,9;1\n9;7\n99,9;2\n",
     "[1 2]|1|0;null|7|1;[99]|2|1;"},
    /* values and places where another column is 2; two places, with 7 behind fewer */
    {"a:6,m:6,c:8,p:6",
     "c,p",
     {.form = CR_SLOT_LISTS, .separator = ";", .list_separator = " ", .made = {chosen_list, 2}},
     "4 5 6 8;2 1 2 2\n4 5;1 2\n4;1\n4;1 2\n",
     "[4 6 8]|[0 2];[5]|[1 7];null|[7 7];{4: slot 'a' has 1 value and slot 'm', which chooses "
     "among "
     "them, has 2}"},
    /* an empty value at its place is not passed over */
    {"label:1,ids:6,d:8",
     "label,ids,d",
     {.form = CR_SLOT_FIXED, .separator = ",", .missing = "3", .widths = {widths, 3}},
     "1,,6,null,2\n,5,6,0.5,\n0,5,6,0.5\n0,5,6,0.5,2,\n0,5,6\n",
     "1|[3 6]|[3 2];3|[5 6]|[0.5 3];{3: the row ends inside slot 'd'; 1 value is missing}"
     "{4: the row goes on behind the last slot of input_fields}{5: the row ends inside slot 'd'; 2 "
     "values are missing}"},
    /* as many drawn ids as another column has, each 4 or 5 */
    {"h:6,o:6",
     "h,o",
     {.separator = " ", .made = {other_list, 1}},
     "h:1 h:2\nx:3\n",
     "[1 2]|[4 4];null|null;"},
    /* sessions: each next item; only the last one; the longest history */
    {"history:6,next:1",
     "history,next",
     {.form = CR_SLOT_NEXT, .separator = " ", .shortest = 1},
     "5 6 7\n8\n9 x\n3  4 \n",
     "[5]|6;[5 6]|7;[3]|4;{3: 'x' is not a whole number of 64 bits}"},
    {"history:6,next:1",
     "next,history",
     {.form = CR_SLOT_LAST, .separator = " ", .shortest = 2, .longest = 2},
     "1 2\n1 2 3 4\n",
     "4|[2 3];"},
    /* other ids than the next one, which stands before them, and how often they are expected */
    {"history:6,next:1,w:6,q:8",
     "next,w,q",
     {.form = CR_SLOT_NEXT, .separator = " ", .shortest = 1, .made = {drawn_list, 2}},
     "1 8\n",
     "8|[8 7 9 9]|[0 0 0 0];"},
    {"center:1,context:1",
     "center,context",
     {.form = CR_SLOT_WINDOWS, .separator = " ", .window = 1},
     "1 2 3\n4\n",
     "1|2;2|1;2|3;3|2;"},
};

TEST(forms_and_bad_rows) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const slot_case *c = &cases[i];
        const char *path = h_write("rows", c->lines, strlen(c->lines));
        cr_slot_text_conf text = c->text;
        cr_data_conf conf = {.slot_text = &text};
        h_fields hf;
        h_input_fields(&conf, &hf, c->fields);
        h_wants w;
        h_want(&w, c->wants);
        static const size_t blocks[] = {1 << 19, 64, 7};
        for (int k = 0; k < 3; k++) {
            cr_buf out;
            cr_diag diag;
            cr_buf_init(&out);
            cr_diag_init(&diag);
            CHECK(read_slots(&out, &conf, path, &w, blocks[k], &diag) == CR_OK);
            if (k == 0)
                CHECK_STR(out.data ? out.data : "", c->want);
            else /* bad rows stand behind the rows of their block: compare the rows alone */
                CHECK_INT((long long)(strchr(out.data, '{') != NULL),
                          (long long)(strchr(c->want, '{') != NULL));
            cr_buf_clear(&out);
            cr_diag_clear(&diag);
        }
    }
}

TEST(rows_do_not_depend_on_blocks_or_packing) {
    cr_buf text, packed;
    cr_buf_init(&text);
    cr_buf_init(&packed);
    uint64_t draws = 0;
    for (int i = 0; i < 3000; i++) {
        cr_buf_printf(&text, "click:%d", i % 2);
        for (uint64_t k = cr_rng_below(7, draws++, 5); k > 0; k--)
            cr_buf_printf(&text, " 1:%d \"d:%d", (int)cr_rng_below(7, draws++, 1000), (int)k);
        cr_buf_str(&text, i % 7 ? "\n" : "\r\n");
    }
    h_pack(&packed, text.data, text.n, false, 3);
    cr_data_conf conf = {0};
    h_fields hf;
    h_input_fields(&conf, &hf, CRITEO);
    h_wants w;
    h_want(&w, "click,1");
    cr_buf out[4];
    for (int k = 0; k < 4; k++) {
        const char *path =
            k == 3 ? h_write("p.gz", packed.data, packed.n) : h_write("p", text.data, text.n);
        cr_diag diag;
        cr_diag_init(&diag);
        cr_buf_init(&out[k]);
        CHECK(read_slots(&out[k], &conf, path, &w,
                         k == 1   ? 100
                         : k == 2 ? 4096
                                  : 1 << 19,
                         &diag) == CR_OK);
        CHECK_STR(out[k].data, out[0].data);
        cr_diag_clear(&diag);
    }
    CHECK(out[0].n > 3000);
    for (int k = 0; k < 4; k++)
        cr_buf_clear(&out[k]);
    cr_buf_clear(&text);
    cr_buf_clear(&packed);
}

/* form NULL: slot:value. */
static void opens_as(cr_slot_text_conf *form, const char *fields, const char *wants,
                     const char *lines, int n_errors, const char *said) {
    const char *path = h_write("look", lines, strlen(lines));
    cr_data_conf conf = {.slot_text = form};
    h_fields hf;
    h_input_fields(&conf, &hf, fields);
    h_wants w;
    h_want(&w, wants);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_source *s = NULL;
    const cr_reader_type *r = cr_reader_find("SlotDataset");
    cr_code code = r->open(&s, &conf, path, w.v, w.n, &diag);
    CHECK_INT((long long)diag.n_errors, n_errors);
    CHECK((code == CR_OK) == (n_errors == 0));
    if (said && diag.n > 0) CHECK(strstr(diag.v[0].msg, said) != NULL);
    CHECK((diag.n > 0) == (said != NULL));
    r->close(s);
    cr_diag_clear(&diag);
}

static void opens_with(const char *fields, const char *wants, const char *lines, int n_errors,
                       const char *said) {
    opens_as(NULL, fields, wants, lines, n_errors, said);
}

TEST(first_lines_tell_wrong_names) {
    opens_with(CRITEO, "click,d,1", "click:0 d:1 1:5 2:6\n", 0, NULL);
    opens_with("click:1,dense_var:8", "click,dense_var",
               "click:0 dense_feature:1 dense_feature:2\nclick:1 dense_feature:1 dense_feature:2\n",
               0, "slot 'dense_var', which feature 'f' needs, does not occur in the first 2 lines");
    opens_with("click:1,dense_var:8", "click,dense_var", "click:0 dense_feature:1\n", 0,
               "slots that occur and are not read: 'dense_feature' (1 per line)");
    opens_with("click:1", "click", "click:0 a:1 b:2\n", 0, "slots that nothing reads occur: 'a'");
    opens_with("click:1", "clik", "click:0\n", 1,
               "data_config.input_fields has no column 'clik', which feature 'f' needs; did you "
               "mean 'click'?");
    opens_with("click:0", "click", "click:0\n", 1, "a slot cannot be INT32");
    opens_with("a_1:23", "a_1", "click:0\n", 1, "no pair of data_config.slot_text makes");
}

TEST(a_slot_under_another_name) {
    cr_slot_text_conf form = {.separator = " ", .map_unread = true};
    opens_as(&form, "click:1,dense_var:8", "click,dense_var",
             "click:0 dense_feature:1 dense_feature:2\nclick:1 dense_feature:1 dense_feature:2\n",
             0, "the 2 values per line of 'dense_feature' are read for it");
    static const struct {
        const char *why, *lines;
    } unfit[] = {
        {"one value per line", "click:0 d:1\nclick:1 d:1\n"},
        {"another number of them", "click:0 d:1 d:2\nclick:1 d:1\n"},
        {"no numbers", "click:0 d:a d:b\nclick:1 d:a d:b\n"},
        {"two such slots", "click:0 d:1 d:2 e:1 e:2\nclick:1 d:1 d:2 e:3 e:4\n"},
    };
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++)
        opens_as(&form, "click:1,dense_var:8", "click,dense_var", unfit[i].lines, 0,
                 "slot 'dense_var', which feature 'f' needs, does not occur");
    opens_as(&form, "click:1,a:8,b:8", "click,a,b", "click:0 d:1 d:2\n", 0,
             "slot 'a', which feature 'f' needs, does not occur");
}

/* What is wrong with a column that is made; NULL: nothing. */
static void made_says(const char *made, const char *said) {
    cr_conf_doc doc;
    cr_diag diag;
    cr_arena a;
    cr_conf_doc_init(&doc);
    cr_diag_init(&diag);
    cr_arena_init(&a, 0);
    const char *text = cr_arena_printf(&a, "{made: [{name: c, %s}]}", made);
    CHECK_INT(cr_conf_parse(&doc, CR_SYNTAX_YAML, "text", text, strlen(text), &diag), CR_OK);
    (void)cr_conf_bind(&a, &cr_slot_text_msg, doc.root, &diag);
    CHECK_INT((long long)diag.n_errors, said != NULL);
    if (said && diag.n > 0) CHECK(strstr(diag.v[0].msg, said) != NULL);
    cr_conf_doc_clear(&doc);
    cr_diag_clear(&diag);
    cr_arena_clear(&a);
}

TEST(made_columns_that_are_wrong) {
    made_says("values_of: a, most: 3, fill: \"0\"", NULL);
    made_says("values_of: a, fill: \"0\"", "most is not given; add it");
    made_says("values_of: a, most: 3, fill: x", "fill is 'x' and must be a whole number");
    made_says("copy_of: a, where: m", "where, most and fill belong to values_of and places_of");
    made_says("copy_of: a, values_of: b", "is made in 2 ways");
}

int main(int argc, char **argv) {
    static const t_case list[] = {
        CASE(forms_and_bad_rows),           CASE(rows_do_not_depend_on_blocks_or_packing),
        CASE(first_lines_tell_wrong_names), CASE(a_slot_under_another_name),
        CASE(made_columns_that_are_wrong),
    };
    int r = t_run(list, sizeof(list) / sizeof(list[0]), argc, argv);
    h_clean();
    return r;
}
