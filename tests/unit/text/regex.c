/*
 * regex.c - searches by PCRE2: flags, groups, matches of nothing, and searches that are cut.
 */
#include "text/regex.h"

#include "harness.h"

static cr_work work;

/* "from-to" of the first match, "none", "cut", or why the pattern is wrong */
static const char *find(const char *pattern, unsigned flags, const char *text, char out[200]) {
    cr_regex *r;
    cr_err err;
    if (cr_regex_new(&r, pattern, flags, &err) != CR_OK) {
        snprintf(out, 200, "%.199s", err.msg);
        return out;
    }
    cr_regex_match m;
    cr_regex_run *x = cr_regex_run_new(&work);
    work.left = CR_MOST_WORK;
    int hit = cr_regex_find(r, x, text, strlen(text), 0, false, &m);
    if (hit > 0)
        snprintf(out, 200, "%zu-%zu", m.beg[0], m.end[0]);
    else
        snprintf(out, 200, "%s", hit ? "cut" : "none");
    cr_regex_run_free(x);
    cr_regex_free(r);
    return out;
}

TEST(searches) {
    char out[200];
    CHECK_STR(find("b+", 0, "abba", out), "1-3");
    CHECK_STR(find("B+", 0, "abba", out), "none");
    CHECK_STR(find("B+", CR_REGEX_ICASE, "abba", out), "1-3");
    CHECK_STR(find("b*", 0, "abba", out), "0-0");
    CHECK_STR(find("\\w+", 0, "\xc3\xa9t\xc3\xa9", out), "2-3");
    CHECK_STR(find("\\w+", CR_REGEX_UNICODE, "\xc3\xa9t\xc3\xa9", out), "0-5");
    CHECK_STR(find("a.c", 0,
                   "a\xff"
                   "c abc",
                   out),
              "4-7"); /* a byte that is no UTF-8 */
    CHECK_STR(find("a$", 0, "a\n", out), "none");
}

TEST(whole) {
    char out[200];
    CHECK_STR(find("ab|abc", CR_REGEX_WHOLE, "abc", out), "0-3");
    CHECK_STR(find("b+", CR_REGEX_WHOLE, "abba", out), "none");
    CHECK_STR(find("a.*?b", CR_REGEX_WHOLE, "a-b-b", out), "0-5");
    CHECK_STR(find("", CR_REGEX_WHOLE, "", out), "0-0");
}

TEST(refused) {
    char out[200];
    CHECK_STR(find("a(b", 0, "", out),
              "regular expression, character 4: missing closing parenthesis");
    CHECK_STR(find("(a|aa)+$", 0, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", out), "cut");
    cr_regex *r;
    cr_regex_match m;
    CHECK_INT(cr_regex_new(&r, "a", 0, NULL), CR_OK);
    cr_regex_run *x = cr_regex_run_new(&work);
    work.left = CR_WORK_SEARCH;
    CHECK_INT(cr_regex_find(r, x, "a", 1, 0, false, &m), 1);
    CHECK_INT(cr_regex_find(r, x, "a", 1, 0, false, &m), -1); /* the text has used up its work */
    cr_regex_run_free(x);
    cr_regex_free(r);
}

TEST_MAIN(CASE(searches), CASE(whole), CASE(refused))
