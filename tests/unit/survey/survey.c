/*
 * survey.c - what a survey says of tables whose content is known.
 */
#include "survey/survey.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/rng.h"
#include "harness.h"

static char path[64];

static void write_text(const char *text, size_t n) {
    cr_err err;
    snprintf(path, sizeof path, "survey-%d.csv", (int)getpid());
    CHECK_INT(cr_file_write(path, text, n, &err), CR_OK);
}

static cr_code make(cr_survey *s, const char *label, int threads) {
    cr_err err;
    cr_pool *pool = NULL;
    cr_diag diag;
    cr_diag_init(&diag);
    CHECK_INT(cr_pool_new(&pool, threads, &err), CR_OK);
    cr_code code =
        cr_survey_make(s, &(cr_survey_opts){.paths = path, .label = label, .cuts = 8, .pool = pool},
                       &diag);
    cr_pool_free(pool);
    cr_diag_clear(&diag);
    return code;
}

enum { ROWS = 30000 };

/* Every kind of column. The label is 1 in a third of the rows; `half` tells some of it, `leak` all,
 * and `noise` nothing. */
static void write_kinds(void) {
    static const char *const tags[] = {"red", "green", "blue", "black"};
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "label,real,few,zeros,word,user_id,same,gone,day,ts,tags,marked,half,leak,"
                   "noise,almost\n");
    for (int64_t r = 0; r < ROWS; r++) {
        uint64_t u = cr_rng_u64(7, (uint64_t)r);
        int label = u % 3 == 0, n_tags = 1 + (int)(u >> 8 & 3);
        cr_buf_printf(&b, "%d,%.3f,%d,%d,w%d,u%lld,x,,2024-0%d-1%d,%lld,", label, (double)r / 100,
                      (int)(u >> 10 & 3), u >> 12 & 7 ? 0 : (int)(u >> 15 & 63),
                      (int)(u >> 20 & 15), (long long)r, 1 + (int)((u >> 24) % 9),
                      (int)((u >> 28) % 10), 1700000000 + (long long)r);
        for (int i = 0; i < n_tags; i++)
            cr_buf_printf(&b, "%s%s", i ? "|" : "", tags[u >> (30 + 2 * i) & 3]);
        if (u >> 40 & 3)
            cr_buf_printf(&b, ",%d", (int)(u >> 42 & 127));
        else
            cr_buf_str(&b, ",?");
        cr_buf_printf(&b, ",%d,v%d,%d,", u >> 50 & 1 ? label : 2, label, (int)(u >> 52 & 31));
        if (r % 1000 == 3)
            cr_buf_str(&b, "oops\n");
        else
            cr_buf_printf(&b, "%d\n", (int)(r % 7));
    }
    write_text(b.data, b.n);
    cr_buf_clear(&b);
}

static const cr_survey_col *col(const cr_survey *s, const char *name) {
    int k = cr_survey_find(s, name);
    CHECK(k >= 0);
    return &s->cols[k < 0 ? 0 : k];
}

TEST(kinds) {
    cr_survey s;
    write_kinds();
    CHECK_INT(make(&s, NULL, 2), CR_OK);
    CHECK_INT(s.rows, ROWS);
    CHECK_INT(s.n_cols, 16);
    CHECK(s.header && s.whole);
    CHECK_STR(s.delimiter, ",");
    CHECK_INT(s.n_marks, 1);
    CHECK_STR(s.marks[0], "?");
    CHECK_STR(s.cols[s.label].name, "label");
    CHECK(s.label_guessed);
    CHECK_NEAR(s.positives, ROWS / 3, 300, 0);
    static const struct {
        const char *name;
        cr_survey_kind kind;
    } want[] = {
        {"label", CR_SURVEY_INT},     {"real", CR_SURVEY_REAL},  {"few", CR_SURVEY_INT},
        {"zeros", CR_SURVEY_INT},     {"word", CR_SURVEY_WORD},  {"user_id", CR_SURVEY_WORD},
        {"same", CR_SURVEY_CONSTANT}, {"gone", CR_SURVEY_EMPTY}, {"day", CR_SURVEY_DATE},
        {"ts", CR_SURVEY_DATE},       {"tags", CR_SURVEY_LIST},  {"marked", CR_SURVEY_INT},
        {"half", CR_SURVEY_INT},      {"leak", CR_SURVEY_WORD},  {"almost", CR_SURVEY_INT},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        CHECK_STR(cr_survey_kind_name(col(&s, want[i].name)->kind),
                  cr_survey_kind_name(want[i].kind));
    const cr_survey_col *c = col(&s, "real");
    CHECK_NEAR(c->min, 0, 0, 0);
    CHECK_NEAR(c->max, (ROWS - 1) / 100.0, 1e-9, 0);
    CHECK_NEAR(c->mean, (ROWS - 1) / 200.0, 1e-9, 0);
    CHECK_NEAR(c->sd, ROWS / 100.0 / sqrt(12), 0.01, 0);
    CHECK_NEAR(c->q[3], ROWS / 200.0, 2, 0);
    CHECK(!c->exact);
    CHECK_NEAR(c->distinct, ROWS, 0, 0.08);
    CHECK_INT(c->n_cuts, 7);
    for (int i = 0; i < c->n_cuts; i++)
        CHECK_NEAR(c->cuts[i], (i + 1) * ROWS / 800.0, 4, 0);
    c = col(&s, "word");
    CHECK(c->exact && c->distinct == 16 && c->n_top == CR_SURVEY_TOP);
    CHECK(c->top[0].n >= c->top[1].n && c->top[0].n > ROWS / 20);
    CHECK(col(&s, "user_id")->n_top == 0);
    c = col(&s, "marked");
    CHECK_NEAR(c->missing, ROWS / 4, 400, 0);
    CHECK_INT(c->marked, c->missing);
    c = col(&s, "tags");
    CHECK_INT(c->separator, '|');
    CHECK_NEAR(c->distinct, 4, 0, 0);
    CHECK_NEAR(c->mean_length, 2.5, 0.05, 0);
    CHECK_NEAR(c->max_length, 4, 0, 0);
    CHECK_STR(col(&s, "day")->format, "yyyy-mm-dd");
    CHECK_STR(col(&s, "ts")->format, "unix seconds");
    c = col(&s, "almost");
    CHECK_INT(c->not_numbers, ROWS / 1000);
    CHECK_STR(c->not_number, "oops");
    /* a number that most rows have gets a part of its own */
    c = col(&s, "zeros");
    CHECK(c->n_cuts >= 5 && c->cuts[0] > 0 && c->cuts[0] <= 1);
    cr_survey_clear(&s);
}

TEST(what_columns_tell) {
    cr_survey s;
    write_kinds();
    CHECK_INT(make(&s, "label", 1), CR_OK);
    double p = (double)s.positives / ROWS, h = -p * log2(p) - (1 - p) * log2(1 - p);
    CHECK_NEAR(s.label_bits, h, 0.01, 0);
    CHECK(!s.label_guessed);
    CHECK_NEAR(col(&s, "half")->share, 0.5, 0.02, 0);
    CHECK_NEAR(col(&s, "leak")->share, 1, 1e-3, 0);
    CHECK(col(&s, "leak")->gives_away && !col(&s, "half")->gives_away);
    CHECK_NEAR(col(&s, "noise")->share, 0, 0.002, 0);
    /* many values do not make noise look like knowledge */
    CHECK_NEAR(col(&s, "user_id")->share, 0, 0.01, 0);
    CHECK_NEAR(col(&s, "real")->share, 0, 0.002, 0);
    cr_survey_clear(&s);
}

/* A text longer than what is kept of it still counts as a whole, and so does a number; more rows
 * than the sample keeps, so that rows are dropped. */
TEST(long_texts) {
    enum { MANY = 80000 };
    cr_survey s;
    cr_buf b;
    char x[301];
    memset(x, 'x', 300);
    x[300] = 0;
    cr_buf_init(&b);
    cr_buf_str(&b, "label,fits,long,digits,marked\n");
    for (int64_t r = 0; r < MANY; r++) {
        int label = (int)(cr_rng_u64(3, (uint64_t)r) & 1);
        cr_buf_printf(&b, "%d,%.*s%c,%s%c,%0300d,%s\n", label, 255, x, 'a' + label, x, 'a' + label,
                      label ? 7 : -7,
                      r % 4   ? "NULL"
                      : r % 8 ? "a"
                              : "");
    }
    write_text(b.data, b.n);
    cr_buf_clear(&b);
    CHECK_INT(make(&s, "label", 2), CR_OK);
    CHECK_INT(s.rows, MANY);
    for (int i = 0; i < 3; i++) {
        const cr_survey_col *c = col(&s, (const char *const[]){"fits", "long", "digits"}[i]);
        CHECK(c->distinct == 2 && c->values == MANY && c->missing == 0);
        CHECK_NEAR(c->share, 1, 1e-3, 0);
    }
    CHECK(col(&s, "digits")->numbers && col(&s, "digits")->min == -7);
    CHECK_NEAR(col(&s, "digits")->q[0], -7, 0, 0);
    CHECK_INT(col(&s, "marked")->values, MANY / 8);
    CHECK_NEAR(col(&s, "marked")->share, 0, 0.002, 0);
    cr_survey_clear(&s);
}

/* Numbers in every form, in columns of so many values that they are no longer looked up one by one,
 * and in enough rows for several blocks. Sums of decimals have no error at all. */
TEST(many_decimals) {
    enum { MANY = 150000 };
    cr_survey s;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "milli,whole,mixed,large,words\n");
    int64_t milli = 0, whole = 0;
    double mixed = 0, large = 0;
    for (int64_t r = 0; r < MANY; r++) {
        int64_t u = (int64_t)(cr_rng_u64(11, (uint64_t)r) >> 40) % 20001 - 10000;
        milli += u;
        whole += u;
        cr_buf_printf(&b, "%s%d.%03d,", u < 0 ? "-" : "", abs((int)u) / 1000, abs((int)u) % 1000);
        cr_buf_printf(&b, r % 2 ? "%lld.0," : "%lld,", (long long)u);
        static const char *const forms[] = {"%.0f", "%.1f", "%.2f", "%.4f", "%.0f.", "%e"};
        double x = (double)u / (r % 6 == 1 ? 10 : r % 6 == 2 ? 100 : r % 6 == 3 ? 10000 : 1);
        mixed += x;
        cr_buf_printf(&b, forms[r % 6], x);
        /* more digits than a word has, next to short ones */
        double y = r % 2 ? (double)u * 123456.789 : (double)u;
        large += y;
        cr_buf_printf(&b, r % 2 ? ",%.3f" : ",%.0f", y);
        cr_buf_printf(&b, r % 8 ? ",w%d\n" : ",%d\n", (int)u);
    }
    write_text(b.data, b.n);
    cr_buf_clear(&b);
    for (int threads = 1; threads <= 3; threads += 2) {
        CHECK_INT(make(&s, "", threads), CR_OK);
        CHECK_INT(s.rows, MANY);
        const cr_survey_col *c = col(&s, "milli");
        CHECK_STR(cr_survey_kind_name(c->kind), "real");
        CHECK(c->mean == (double)milli / 1000 / MANY);
        CHECK(c->min == -10 && c->max == 10 && c->values == MANY && !c->exact);
        CHECK_NEAR(c->sd, 20.001 / sqrt(12), 0.02, 0);
        CHECK_NEAR(c->distinct, 20001, 0, 0.08);
        c = col(&s, "whole"); /* 7.0 is a whole number and another text than 7 */
        CHECK_STR(cr_survey_kind_name(c->kind), "int");
        CHECK(c->mean == (double)whole / MANY && c->min == -10000 && c->max == 10000);
        CHECK_NEAR(c->distinct, 40000, 0, 0.08);
        c = col(&s, "mixed");
        CHECK_STR(cr_survey_kind_name(c->kind), "real");
        CHECK_INT(c->values, MANY);
        CHECK_INT(c->not_numbers, 0);
        CHECK(c->min == -10000 && c->max == 10000);
        CHECK_NEAR(c->mean, mixed / MANY, 1e-9, 0);
        c = col(&s, "large");
        CHECK_NEAR(c->mean, large / MANY, 1e-6, 0);
        CHECK_NEAR(c->min, -1234567890, 1, 0);
        c = col(&s, "words");
        CHECK(!c->numbers && c->values == MANY);
        cr_survey_clear(&s);
    }
}

static void describe(cr_buf *b, const cr_survey *s) {
    for (int i = 0; i < s->n_cols; i++) {
        const cr_survey_col *c = &s->cols[i];
        cr_buf_printf(b, "%s %d %lld %lld %a %a %a %a %a %a %d", c->name, (int)c->kind,
                      (long long)c->missing, (long long)c->values, c->distinct, c->mean, c->sd,
                      c->q[3], c->bits, c->mean_length, c->n_top);
        for (int k = 0; k < c->n_top; k++)
            cr_buf_printf(b, " %s %a", c->top[k].text, c->top[k].share);
        for (int k = 0; k < c->n_cuts; k++)
            cr_buf_printf(b, " %a", c->cuts[k]);
        cr_buf_char(b, '\n');
    }
}

TEST(threads_do_not_matter) {
    cr_survey s;
    cr_buf one, three;
    cr_buf_init(&one);
    cr_buf_init(&three);
    write_kinds();
    CHECK_INT(make(&s, NULL, 1), CR_OK);
    describe(&one, &s);
    cr_survey_clear(&s);
    CHECK_INT(make(&s, NULL, 3), CR_OK);
    describe(&three, &s);
    cr_survey_clear(&s);
    CHECK_STR(three.data, one.data);
    cr_buf_clear(&one);
    cr_buf_clear(&three);
}

/* Files without a header, and with other delimiters. */
TEST(forms) {
    static const struct {
        const char *text, *delimiter;
        bool header;
        int n_cols;
        const char *first;
    } v[] = {
        {"1;a;0\n2;b;1\n3;a;0\n", ";", false, 3, "col_1"},
        {"x;y;z\n1;a;0\n2;b;1\n", ";", true, 3, "x"},
        {"1, a b, 0\n2, c, 1\n", ", ", false, 3, "col_1"},
        {"a\tb\n1\t2\n", "\t", true, 2, "a"},
        {"color,shape\nred,round\nblue,round\n", ",", true, 2, "color"},
        {"red,round\nblue,round\nred,flat\n", ",", false, 2, "col_1"},
        {"\"a,b\",c\n\"x,y\",1\n\"z,y\",2\n", ",", true, 2, "a,b"},
        {"n\n1\n2\n", ",", true, 1, "n"},
        {",x,y\n0,1.5,a\n1,2.5,b\n", ",", true, 3, ""}, /* as pandas writes the numbers of rows */
        {",red,round\nx,blue,flat\n", ",", false, 3, "col_1"},
        {"x,,y\n1,2,3\n4,5,6\n", ",", false, 3, "col_1"},
    };
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        cr_survey s;
        write_text(v[i].text, strlen(v[i].text));
        CHECK_INT(make(&s, "", 1), CR_OK);
        CHECK_STR(s.delimiter, v[i].delimiter);
        CHECK_INT(s.header, v[i].header);
        CHECK_INT(s.n_cols, v[i].n_cols);
        if (s.n_cols > 0) CHECK_STR(s.cols[0].name, v[i].first);
        cr_survey_clear(&s);
    }
}

TEST(mistakes) {
    cr_survey s;
    write_text("", 0);
    CHECK(make(&s, NULL, 1) != CR_OK);
    cr_survey_clear(&s);
    write_text("a,b\n", 4);
    CHECK(make(&s, NULL, 1) != CR_OK);
    cr_survey_clear(&s);
    write_text("a,b\n1,2\n", 8);
    CHECK_INT(make(&s, "c", 1), CR_EUSAGE);
    cr_survey_clear(&s);
    CHECK_INT(make(&s, "2", 1), CR_OK); /* the number of a column */
    CHECK_INT(s.label, 1);
    cr_survey_clear(&s);
    remove(path);
    CHECK(make(&s, NULL, 1) != CR_OK);
    cr_survey_clear(&s);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {
        CASE(kinds),         CASE(what_columns_tell),     CASE(long_texts),
        CASE(many_decimals), CASE(threads_do_not_matter), CASE(forms),
        CASE(mistakes)};
    char root[] = "/tmp/crank-survey.XXXXXX";
    if (!mkdtemp(root) || chdir(root) != 0) return 1;
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    remove(path);
    return chdir("/") != 0 || rmdir(root) != 0 ? 1 : rc;
}
