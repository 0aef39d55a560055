/*
 * csv.c - the CSV reader: the grammar, files and headers, numbers; any block size gives the same
 * rows.
 */
#include "csv_help.h"

/* ---- golden cases: without a header, columns a,b,c ---- */

static char *read_text(const char *text, size_t n, const char *delim, size_t block) {
    cr_data_conf conf = {.delimiter = delim};
    h_fields hf;
    h_input_fields(&conf, &hf, "a:-,b:-,c:-");
    h_wants w;
    h_want(&w, "a,b,c");
    cr_buf out;
    cr_buf_init(&out);
    cr_diag diag;
    cr_diag_init(&diag);
    const char *path = h_write("case.csv", text, n);
    if (h_read(&out, &conf, path, w.v, w.n, block, &diag) != CR_OK)
        cr_buf_printf(&out, "!%s", diag.v[0].msg);
    cr_diag_clear(&diag);
    char *s = strdup(out.data ? out.data : "");
    cr_buf_clear(&out);
    return s;
}

static const struct golden {
    const char *delim, *text, *want;
} golden[] = {
    {",", "1,2,3\n4,5,6\n", "[1|2|3][4|5|6]"},
    {",", "1,2,3\n4,5,6", "[1|2|3][4|5|6]"},
    {",", "1,2,3\r\n4,5,6\r\n", "[1|2|3][4|5|6]"},
    {",", "1,2,3\r\n4,5,6\r", "[1|2|3][4|5|6]"},
    {",",
     "\xef\xbb\xbf"
     "1,2,3\n",
     "[1|2|3]"},
    {",", "", ""},
    {",", "\n\n", ""},
    {",", "\n1,2,3\n\r\n\n4,5,6\n\n", "[1|2|3][4|5|6]"},
    {",", ",,\n", "[||]"},
    {",", " a , b ,c \n", "[ a | b |c ]"},
    {",", "\"1\",\"2\",\"3\"\n", "[1|2|3]"},
    {",", "\"a,b\",\"c\nd\",\"e\r\nf\"\n1,2,3\n", "[a,b|c\nd|e\r\nf][1|2|3]"},
    {",", "\"a\"\"b\",\"\"\"\",\"\"\n", "[a\"b|\"|]"},
    {",", "\"\"\"a\"\"\",2,\"x\"\r\n", "[\"a\"|2|x]"},
    {",", "5\" disk,a\"b\",3\n1,2,3\n", "[5\" disk|a\"b\"|3][1|2|3]"},
    {"\t", "1\t\"2\t2\"\t3\n", "[1|2\t2|3]"},
    {"\x01",
     "1\x01"
     "2\x01"
     "3\n",
     "[1|2|3]"},
    {"||", "1||2||3\n||4|5||\n", "[1|2|3][|4|5|]"},
    {"||", "a|||b||c\n", "[a||b|c]"},
    {"||", "\"a||b\"||2||\"3\"\n", "[a||b|2|3]"},
    {", ", "1, 2, 3\n4,4, 5, 6\n", "[1|2|3][4,4|5|6]"},
    {",", "1,2\n1,2,3\n1,2,3,4\n",
     "[1|2|3]{1: the row has 2 fields, the config's input_fields have 3}"
     "{3: the row has 4 fields, the config's input_fields have 3}"},
    {",", "\"x\ny\",2,3\n1,2\n",
     "[x\ny|2|3]{3: the row has 2 fields, the config's input_fields have 3}"},
    {",", "1,2,3\n\"4,5,6\n7,8,9\n", "[1|2|3]{2: a quote opened in this row is never closed}"},
    {",", "1,\"2\"x,3\n",
     "[1|2\"x|3]{1: column 'b', value '\"2\"x': text follows the closing quote}"},
};

TEST(golden_cases) {
    for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
        char *s = read_text(golden[i].text, strlen(golden[i].text), golden[i].delim, 1 << 20);
        CHECK_STR(s, golden[i].want);
        free(s);
    }
}

TEST(levels_agree) {
    const char *levels[] = {"c", "avx2", "avx512"};
    for (int l = 0; l < 3; l++) {
        setenv("CRANK_CPU", levels[l], 1);
        golden_cases();
        char text[1024];
        uint64_t key = cr_rng_key(1, "bytes", NULL);
        for (int n = 0; n < 1000; n += 37) {
            static const char set[] = "ab,\n\"\r";
            for (int i = 0; i < n; i++)
                text[i] = set[cr_rng_below(key, (uint64_t)(n * 1000 + i), 6)];
            char *s = read_text(text, (size_t)n, ",", 1 << 20);
            setenv("CRANK_CPU", "c", 1);
            char *c = read_text(text, (size_t)n, ",", 1 << 20);
            setenv("CRANK_CPU", levels[l], 1);
            CHECK_STR(s, c);
            free(s);
            free(c);
        }
    }
    unsetenv("CRANK_CPU");
}

TEST(zero_bytes_and_long_fields) {
    char *s = read_text("1,\0x,3\n", 7, ",", 1 << 20);
    CHECK_STR(s, "[1|"); /* the rest of the buffer lies behind the zero */
    free(s);
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "1,\"");
    for (int i = 0; i < 300000; i++)
        cr_buf_str(&b, i % 50 ? "x" : "\n");
    cr_buf_str(&b, "\",3\n4,5,6\n");
    s = read_text(b.data, b.n, ",", 4096);
    CHECK(strlen(s) == 300000 + 7 + 7 - 1);
    CHECK_STR(s + strlen(s) - 7, "[4|5|6]");
    free(s);
    cr_buf_clear(&b);
}

/* ---- random cells, written and read back ---- */

static void random_csv(uint64_t key, cr_buf *text, cr_buf *want, int n_rows, const char *delim,
                       int quoting) {
    static const char *const bits[] = {"a",    "bc", "17", "\"", ",",    "\n",
                                       "\r\n", "|",  " ",  "",   "\"\"", "é"};
    uint64_t k = 0;
    for (int r = 0; r < n_rows; r++) {
        cr_buf_char(want, '[');
        for (int c = 0; c < 3; c++) {
            char cell[128];
            size_t n = 0;
            int parts = (int)cr_rng_below(key, k++, 7);
            for (int p = 0; p < parts; p++) {
                const char *s = bits[cr_rng_below(key, k++, quoting ? 12 : 3)];
                memcpy(cell + n, s, strlen(s));
                n += strlen(s);
            }
            if (n == 0 && c == 0) cell[n++] = 'z'; /* no empty line, no lone quote trouble */
            cell[n] = 0;
            bool need = strpbrk(cell, "\"\r\n") || strstr(cell, delim) || strchr(cell, delim[0]) ||
                        strchr(cell, delim[strlen(delim) - 1]);
            bool quote = need || (quoting > 1 && cr_rng_below(key, k++, 2));
            if (c) {
                cr_buf_str(text, delim);
                cr_buf_char(want, '|');
            }
            cr_buf_add(want, cell, n);
            if (quote) cr_buf_char(text, '"');
            for (size_t i = 0; i < n; i++) {
                if (cell[i] == '"') cr_buf_char(text, '"');
                cr_buf_char(text, cell[i]);
            }
            if (quote) cr_buf_char(text, '"');
        }
        cr_buf_str(text, cr_rng_below(key, k++, 5) ? "\n" : "\r\n");
        cr_buf_char(want, ']');
    }
}

TEST(round_trip_with_any_block_size) {
    static const size_t blocks[] = {1, 7, 64, 100, 333, 1024, 5000, 1 << 20};
    static const char *const delims[] = {",", "\t", "||", "<>"};
    uint64_t seed = 20240607;
    for (int i = 0; i < 48; i++) {
        uint64_t key = cr_rng_sub(seed, (uint64_t)i);
        const char *delim = delims[i % 4];
        cr_buf text, want;
        cr_buf_init(&text);
        cr_buf_init(&want);
        random_csv(key, &text, &want, i < 40 ? 60 : 2000, delim, i / 4 % 3);
        for (size_t b = 0; b < sizeof(blocks) / sizeof(blocks[0]); b++) {
            if (text.n / blocks[b] > 5000) continue;
            char *s = read_text(text.data, text.n, delim, blocks[b]);
            if (strcmp(s, want.data) != 0)
                fprintf(stderr, "case %d, block %zu, seed %llu\n", i, blocks[b],
                        (unsigned long long)seed);
            CHECK_STR(s, want.data);
            free(s);
        }
        cr_buf_clear(&text);
        cr_buf_clear(&want);
    }
}

/* A parser with nothing in common with ours but the rules, for text of any kind. */
static void naive(const char *t, size_t n, cr_buf *out) {
    size_t i = 0;
    if (n >= 3 && memcmp(t, "\xef\xbb\xbf", 3) == 0) i = 3;
    while (i < n) {
        cr_buf row;
        cr_buf_init(&row);
        int fields = 1;
        bool broken = false, closed = true, garbage = false;
        size_t start = i;
        cr_buf_char(&row, '[');
        for (;;) {
            if (i < n && t[i] == '"') {
                i++;
                closed = false;
                while (i < n) {
                    if (t[i] != '"')
                        cr_buf_char(&row, t[i++]);
                    else if (i + 1 < n && t[i + 1] == '"') {
                        cr_buf_char(&row, '"');
                        i += 2;
                    } else {
                        closed = true;
                        i++;
                        break;
                    }
                }
                if (!closed) {
                    broken = true;
                    break;
                }
            }
            size_t from = i;
            while (i < n && t[i] != ',' && t[i] != '\n')
                i++;
            size_t to = i;
            bool end = i == n || t[i] == '\n';
            if (end && to > from && t[to - 1] == '\r') to--;
            if (from > start && t[from - 1] == '"' && closed && to > from && from - start > 0) {
                /* something behind a closing quote? only when the field began with one */
                size_t f = from;
                int q = 0;
                while (f > start && t[f - 1] != ',' && t[f - 1] != '\n')
                    f--;
                q = t[f] == '"';
                if (q) garbage = true;
            }
            cr_buf_add(&row, t + from, to - from);
            if (end) {
                i += i < n;
                break;
            }
            cr_buf_char(&row, '|');
            fields++;
            i++;
        }
        cr_buf_char(&row, ']');
        bool empty = row.n == 2 && fields == 1 && t[start] != '"';
        if (!broken && !empty && fields == 3 && !garbage) cr_buf_add(out, row.data, row.n);
        cr_buf_clear(&row);
        if (broken) break;
    }
}

TEST(random_text_against_naive) {
    static const char *const bits[] = {"a", "b", ",", ",", "\n", "\"", "\"", "\r\n", "x,y,z\n"};
    uint64_t seed = 77;
    int with_rows = 0;
    for (uint64_t i = 0; i < 3000; i++) {
        cr_buf t, want;
        cr_buf_init(&t);
        cr_buf_init(&want);
        uint64_t key = cr_rng_sub(seed, i);
        uint64_t n = cr_rng_below(key, 0, 40);
        for (uint64_t k = 0; k < n; k++)
            cr_buf_str(&t, bits[cr_rng_below(key, k + 1, i % 2 ? 9 : 5)]);
        cr_buf_reserve(&want, 1);
        naive(t.data ? t.data : "", t.n, &want);
        char *s = read_text(t.data ? t.data : "", t.n, ",", 1 << 20);
        /* leave the bad ones away: rows that are bad by value stay in ours */
        char *bad = strchr(s, '{');
        if (!bad) {
            CHECK_STR(s, want.data ? want.data : "");
            with_rows += s[0] == '[';
        }
        free(s);
        cr_buf_clear(&t);
        cr_buf_clear(&want);
    }
    CHECK(with_rows > 100);
}

/* ---- headers, files ---- */

static char *read_files(cr_data_conf *conf, const char *paths, const char *names, size_t block) {
    h_wants w;
    h_want(&w, names);
    cr_buf out;
    cr_buf_init(&out);
    cr_diag diag;
    cr_diag_init(&diag);
    if (h_read(&out, conf, paths, w.v, w.n, block, &diag) != CR_OK) {
        cr_buf_reset(&out);
        for (size_t i = 0; i < diag.n; i++) {
            const char *p = diag.v[i].at.path ? strrchr(diag.v[i].at.path, '/') : NULL;
            cr_buf_printf(&out, "!%s: %s", p ? p + 1 : "", diag.v[i].msg);
        }
    }
    cr_diag_clear(&diag);
    char *s = strdup(out.data ? out.data : "");
    cr_buf_clear(&out);
    return s;
}

static void put(const char *name, const char *text) {
    h_write(name, text, strlen(text));
}

TEST(headers) {
    cr_data_conf conf = {.with_header = true};
    put("h-1.csv", "x,age,\"na\"\"me\"\r\n1,2,3\r\n");
    put("h-2.csv", "\xef\xbb\xbf"
                   "age,na\"me,y,x\n5,6,-,4\n");
    put("h-3.csv", "age,na\"me,y,x\n8,9,-,7\n");
    char *s = read_files(&conf, h_path("h-*.csv"), "x,age,na\"me", 1 << 20);
    CHECK_STR(s, "[1|2|3][4|5|6][7|8|9]");
    free(s);
    s = read_files(&conf, h_path("h-*.csv"), "age", 4);
    CHECK_STR(s, "[2][5][8]");
    free(s);
    s = read_files(&conf, h_path("h-1.csv"), "age,agee", 1 << 20);
    CHECK(strstr(s, "it has no column 'agee', which feature 'f' needs; did you mean 'age'?"));
    free(s);
    put("h-4.csv", "x,y\n1,2\n");
    s = read_files(&conf, h_path("h-*.csv"), "age", 1 << 20);
    CHECK(strstr(s, "it has no column 'age'"));
    free(s);
    put("h-4.csv", "age,x,age\n1,2,3\n");
    s = read_files(&conf, h_path("h-4.csv"), "age", 1 << 20);
    CHECK_STR(
        s, "!h-4.csv: columns 1 and 3 are both named 'age', which feature 'f' needs; rename one");
    free(s);
    put("h-4.csv", "");
    s = read_files(&conf, h_path("h-*.csv"), "age", 1 << 20);
    CHECK_STR(s, "[2][5][8]");
    free(s);
    put("h-5.csv", "x,age\n1,2\n3\n");
    s = read_files(&conf, h_path("h-5.csv"), "age", 1 << 20);
    CHECK_STR(s, "[2]{3: the row has 1 field, the header has 2}");
    free(s);
    put("h-5.csv", "\"x\n\",age\n1,2\n3\n"); /* the header takes two lines */
    s = read_files(&conf, h_path("h-5.csv"), "age", 1 << 20);
    CHECK_STR(s, "[2]{4: the row has 1 field, the header has 2}");
    free(s);
}

TEST(config_mistakes) {
    put("m.csv", "1,2\n");
    cr_data_conf conf = {0};
    char *s = read_files(&conf, h_path("m.csv"), "a", 1 << 20);
    CHECK_STR(s,
              "!: nothing names the columns of the CSV files; set data_config.with_header=true if "
              "their first line does, or list all columns in data_config.input_fields");
    free(s);
    h_fields hf;
    h_input_fields(&conf, &hf, "a:-,bob:-");
    s = read_files(&conf, h_path("m.csv"), "bab", 1 << 20);
    CHECK_STR(s,
              "!: data_config.input_fields has no column 'bab', which feature 'f' needs; did you "
              "mean 'bob'?");
    free(s);
    static const char *const wrong[] = {"", "a\nb", "\"", "\r"};
    for (int i = 0; i < 4; i++) {
        conf.delimiter = wrong[i];
        s = read_files(&conf, h_path("m.csv"), "a", 1 << 20);
        CHECK(strstr(s, "!: delimiter "));
        free(s);
    }
    conf.delimiter = ",";
    h_input_fields(&conf, &hf, "a:5,b:-");
    s = read_files(&conf, h_path("m.csv"), "a", 1 << 20);
    CHECK(strstr(s, "column 'a' of a CSV file cannot be a list or map"));
    free(s);
    s = read_files(&conf, h_path("none-*.csv"), "b", 1 << 20);
    CHECK(s[0] == '!');
    free(s);
    s = read_files(&conf, h_path("none.csv"), "b", 1 << 20);
    CHECK(s[0] == '!');
    free(s);
}

TEST(numbers) {
    cr_data_conf conf = {0};
    h_fields hf;
    h_input_fields(&conf, &hf, "a:0,b:1,c:3,d:4,e:2");
    put("n.csv", "1,-9223372036854775808,0.1,1e300,x\n"
                 " 7 ,\"12\", -2.5e-3,.5,\n"
                 ",,,,\n"
                 "NA,null,nan,NULL,NA\n"
                 "2147483647,9223372036854775807,16777217,-0,q\n"
                 "-2147483648,+5,1.00000005960464477540,inf,q\n");
    char *s = read_files(&conf, h_path("n.csv"), "a,b,c,d,e", 1 << 20);
    CHECK_STR(s, "[1|-9223372036854775808|0.1|1e+300|x][7|12|-0.0025|0.5|][null|null|null|null|]"
                 "[null|null|null|null|NA][2147483647|9223372036854775807|16777216|-0|q]"
                 "[-2147483648|5|1.0000001|inf|q]");
    free(s);
    /* whole floats, and texts of null_values */
    const char *nulls[] = {"?", "-1"};
    conf.null_values = (cr_strs){nulls, 2};
    put("n.csv", "7.0,-7.00,7.0,7.,7.0\n?,-1,?,-1,?\n-1.0,1,1,1,-1\n");
    s = read_files(&conf, h_path("n.csv"), "a,b,c,d,e", 1 << 20);
    CHECK_STR(s, "[7|-7|7|7|7.0][null|null|null|null|?][-1|1|1|1|-1]");
    free(s);
    conf.null_values.n = 0;
    put("n.csv", "2147483648,1,1,1,x\n1,1.5,1,1,x\n1,1,x7,1,x\n1,1,1,1 "
                 "2,x\n1,9223372036854775808,1,1,y\n?,1,1,1,x\n");
    s = read_files(&conf, h_path("n.csv"), "a,b,c,d", 1 << 20);
    char *bad = strchr(s, '{');
    CHECK_STR(bad, "{1: column 'a', value '2147483648': out of the type's range}"
                   "{2: column 'b', value '1.5': not a whole number}"
                   "{3: column 'c', value 'x7': not a number}"
                   "{4: column 'd', value '1 2': not a number}"
                   "{5: column 'b', value '9223372036854775808': out of the type's range}"
                   "{6: column 'a', value '?': not a whole number; if it means a missing value, "
                   "list it in data_config.null_values}");
    free(s);
}

TEST(same_column_twice) {
    cr_data_conf conf = {.with_header = true};
    put("t.csv", "a,b\n\"x\"\"y\",2\n");
    char *s = read_files(&conf, h_path("t.csv"), "a,b,a", 1 << 20);
    CHECK_STR(s, "[x\"y|2|x\"y]");
    free(s);
}

TEST(compressed_files) {
    cr_buf text, want, gz, zs;
    cr_buf_init(&text);
    cr_buf_init(&want);
    random_csv(5, &text, &want, 3000, ",", 1);
    for (int parts = 1; parts <= 3; parts++) {
        cr_buf_init(&gz);
        cr_buf_init(&zs);
        h_pack(&gz, text.data, text.n, false, parts);
        h_pack(&zs, text.data, text.n, true, parts);
        /* names that tell nothing: the first bytes decide */
        h_write("z-1.csv", gz.data, gz.n);
        h_write("z-2.csv", zs.data, zs.n);
        cr_data_conf conf = {0};
        h_fields hf;
        h_input_fields(&conf, &hf, "a:-,b:-,c:-");
        for (size_t block = 100; block <= 1000000; block *= 10) {
            char *g = read_files(&conf, h_path("z-1.csv"), "a,b,c", block);
            char *z = read_files(&conf, h_path("z-2.csv"), "a,b,c", block);
            CHECK_STR(g, want.data);
            CHECK_STR(z, want.data);
            free(g);
            free(z);
        }
        if (parts == 1) { /* cut short, at every tenth of the file; and changed in the middle */
            for (int i = 1; i < 10; i++) {
                h_write("z-3.csv", gz.data, gz.n * (size_t)i / 10);
                char *s = read_files(&conf, h_path("z-3.csv"), "a", 1 << 20);
                CHECK_STR(s,
                          "!z-3.csv: gzip data ends in the middle; the file is cut short, copy or "
                          "make it again");
                free(s);
                h_write("z-3.csv", zs.data, zs.n * (size_t)i / 10);
                s = read_files(&conf, h_path("z-3.csv"), "a", 1 << 20);
                CHECK(strstr(s, "!z-3.csv: zstd data ends in the middle") != NULL);
                free(s);
            }
            memset(gz.data + gz.n / 2, 0x5a, 64);
            h_write("z-3.csv", gz.data, gz.n);
            char *s = read_files(&conf, h_path("z-3.csv"), "a", 1 << 20);
            CHECK(strstr(s, "!z-3.csv: broken gzip data: ") != NULL);
            free(s);
        }
        cr_buf_clear(&gz);
        cr_buf_clear(&zs);
    }
    /* with a header and a byte order mark, and zeros behind the last member */
    cr_buf_init(&gz);
    const char *t = "\xef\xbb\xbf"
                    "a,b\n1,2\n3,4";
    h_pack(&gz, t, strlen(t), false, 2);
    for (int i = 0; i < 600; i++)
        cr_buf_char(&gz, 0);
    h_write("z-4.gz", gz.data, gz.n);
    cr_data_conf conf = {.with_header = true};
    char *s = read_files(&conf, h_path("z-4.gz"), "b,a", 5);
    CHECK_STR(s, "[2|1][4|3]");
    free(s);
    cr_buf_str(&gz, "junk");
    h_write("z-4.gz", gz.data, gz.n);
    s = read_files(&conf, h_path("z-4.gz"), "b,a", 5);
    CHECK(strstr(s, "!z-4.gz: broken gzip data: something else follows it") != NULL);
    free(s);
    cr_buf_clear(&gz);
    cr_buf_clear(&text);
    cr_buf_clear(&want);
}

TEST(order_of_files) {
    cr_data_conf conf = {.with_header = true};
    put("o-10.csv", "a\n3\n");
    put("o-2.csv", "a\n4\n");
    put("o-1.csv", "a\n1\n2\n");
    char list[600];
    snprintf(list, sizeof(list), "%s,%s", h_path("o-2.csv"), h_path("o-1*.csv"));
    char *s = read_files(&conf, list, "a", 1 << 20);
    CHECK_STR(s, "[4][1][2][3]");
    free(s);
    s = read_files(&conf, h_path("o-*.csv"), "a", 2);
    CHECK_STR(s, "[1][2][3][4]");
    free(s);
}

TEST(directory_and_vanished_file) {
    cr_data_conf conf = {.with_header = true};
    put("v.csv", "a\n1\n2\n");
    const cr_reader_type *r = cr_reader_find("CsvDataset");
    h_wants w;
    h_want(&w, "a");
    cr_diag diag;
    cr_diag_init(&diag);
    cr_source *src;
    CHECK(r->open(&src, &conf, h_path("v.csv"), w.v, w.n, &diag) == CR_OK);
    unlink(h_path("v.csv"));
    cr_raw raw = {0};
    bool end;
    cr_err err = {0};
    CHECK(r->cut(src, 0, 0, &raw, &end, &err) == CR_EIO);
    CHECK(strstr(err.msg, "cannot open: No such file or directory; check the path"));
    r->close(src);
    cr_free(raw.text);
    mkdir(h_path("sub.csv"), 0700);
    put("sub.csv/x.csv", "a\n7\n");
    char *s = read_files(&conf, h_path("sub.csv"), "a", 1 << 20);
    CHECK_STR(s, "[7]");
    free(s);
    cr_diag_clear(&diag);
}

TEST(changed_and_endless) {
    cr_data_conf conf = {.with_header = true};
    put("c.csv", "\n\r\na,b\n1,2\n"); /* empty lines before the header */
    const cr_reader_type *r = cr_reader_find("CsvDataset");
    h_wants w;
    h_want(&w, "b,a");
    w.v[1].type = CR_COL_F64;
    char *s = NULL;
    cr_diag diag;
    cr_diag_init(&diag);
    cr_source *src;
    CHECK(r->open(&src, &conf, h_path("c.csv"), w.v, w.n, &diag) == CR_OK);
    const char *const *names;
    CHECK_INT(r->columns(src, &names), 2);
    CHECK_STR(names[1], "b");
    put("c.csv", "a,b\n1,2\n3,4\n");
    cr_raw raw = {0};
    bool end;
    cr_err err = {0};
    CHECK(r->cut(src, 0, 0, &raw, &end, &err) == CR_EDATA);
    CHECK(strstr(err.msg, "the file changed while the run was using it"));
    r->close(src);
    cr_free(raw.text);
    cr_buf out;
    cr_buf_init(&out);
    CHECK(h_read(&out, &conf, h_path("c.csv"), w.v, w.n, 4, &diag) == CR_OK);
    CHECK_STR(out.data, "[2|1][4|3]");
    cr_buf_clear(&out);
    cr_diag_clear(&diag);
    put("c.csv", "a,\"b\n1,2\n");
    s = read_files(&conf, h_path("c.csv"), "a", 1 << 20);
    CHECK_STR(s, "!c.csv: a quote in the header is never closed; close it");
    free(s);
    /* a quote that is never closed, in a file too large to be one row */
    cr_buf big;
    cr_buf_init(&big);
    cr_buf_str(&big, "a,b\n1,2\n3,\"4");
    cr_buf_reserve(&big, (size_t)80 << 20);
    memset(big.data + big.n, 'x', (size_t)80 << 20);
    big.n += (size_t)80 << 20;
    h_write("big.csv", big.data, big.n);
    s = read_files(&conf, h_path("big.csv"), "a", 1 << 20);
    CHECK_STR(s, "!big.csv: a row is longer than 64 MiB; is a quote opened and never closed?");
    free(s);
    cr_buf z;
    cr_buf_init(&z);
    h_pack(&z, big.data, big.n, true, 1);
    h_write("big.csv", z.data, z.n);
    s = read_files(&conf, h_path("big.csv"), "a", 1 << 20);
    CHECK_STR(s, "!big.csv: a row is longer than 64 MiB; is a quote opened and never closed?");
    free(s);
    cr_buf_clear(&z);
    cr_buf_clear(&big);
    unlink(h_path("big.csv"));
}

TEST(registry) {
    CHECK(cr_reader_find("CsvDataset") != NULL);
    CHECK(cr_reader_find("csv") == NULL);
    CHECK(cr_readers[0] != NULL);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {
        CASE(golden_cases),
        CASE(levels_agree),
        CASE(zero_bytes_and_long_fields),
        CASE(round_trip_with_any_block_size),
        CASE(random_text_against_naive),
        CASE(headers),
        CASE(config_mistakes),
        CASE(numbers),
        CASE(same_column_twice),
        CASE(compressed_files),
        CASE(order_of_files),
        CASE(directory_and_vanished_file),
        CASE(changed_and_endless),
        CASE(registry),
    };
    int r = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    h_clean();
    return r;
}
