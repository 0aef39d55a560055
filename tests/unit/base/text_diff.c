/*
 * text_diff.c - what a failing CHECK_STR shows: a diff of texts with several lines, both texts
 * else.
 */
#include "harness.h"

/* what the check would print */
static const char *shown(const char *found, const char *expected) {
    static char text[4096];
    memset(text, 0, sizeof(text));
    FILE *f = fmemopen(text, sizeof(text) - 1, "w");
    t_other_text(f, found, expected);
    fclose(f);
    return text;
}

TEST(one_line) {
    CHECK_STR(shown("a", "b"), "  a\nexpected\n  b\n");
    CHECK_STR(shown("", "b"), "  \nexpected\n  b\n");
    CHECK_STR(shown(NULL, "b"), "  (null)\nexpected\n  b\n");
    CHECK_STR(shown(NULL, "b\nc"), "  (null)\nexpected\n  b\nc\n");
}

/* the lines around a difference, and no others */
TEST(a_diff) {
    CHECK_STR(shown("1\n2\n3\n4\n5\n6\nseven\n8\n9\n10\n11\n",
                    "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n"),
              "--- expected, +++ found:\n@@ -4,7 +4,7 @@\n 4\n 5\n 6\n-7\n+seven\n 8\n 9\n 10\n");
    /* a line that is missing, and one too many */
    CHECK_STR(shown("a\nc", "a\nb\nc"), "--- expected, +++ found:\n@@ -1,3 +1,2 @@\n a\n-b\n c\n");
    CHECK_STR(shown("a\nb\nc\n", "a\nc\n"),
              "--- expected, +++ found:\n@@ -1,2 +1,3 @@\n a\n+b\n c\n");
    CHECK_STR(shown("one", "a\nb\n"), "--- expected, +++ found:\n@@ -1,2 +1 @@\n-a\n-b\n+one\n");
}

/* what a diff of lines does not show */
TEST(last_line_end) {
    CHECK_STR(shown("a\nb", "a\nb\n"),
              "--- expected, +++ found:\nexpected\n  a\nb\n\nfound\n  a\nb\n");
}

TEST(a_check_that_fails) {
    /* it is counted once, and equal texts are not */
    FILE *real = stderr;
    char text[1024] = "";
    stderr = fmemopen(text, sizeof(text) - 1, "w");
    int before = t_failed_checks;
    CHECK_STR("x\ny\n", "x\nz\n");
    CHECK_STR("x\ny\n", "x\ny\n");
    int failed = t_failed_checks - before;
    t_failed_checks = before;
    fclose(stderr);
    stderr = real;
    CHECK_INT(failed, 1);
    CHECK(strstr(text, "a_check_that_fails: \"x\\ny\\n\" is\n--- expected, +++ found:\n@@ -1,2 "
                       "+1,2 @@\n x\n-z\n+y\n") != NULL);
}

TEST_MAIN(CASE(one_line), CASE(a_diff), CASE(last_line_end), CASE(a_check_that_fails))
