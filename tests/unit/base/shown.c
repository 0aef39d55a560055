/* What of foreign text reaches a terminal: text as it is, everything that it would obey escaped. */
#include "base/shown.h"

#include "base/json.h"
#include "harness.h"

static const char *shown(const char *s, size_t n, bool lines) {
    static cr_buf b;
    if (!b.data) cr_buf_init(&b);
    cr_buf_reset(&b);
    cr_buf_shown(&b, s, n, lines);
    return b.data;
}
#define SHOWN(s) shown(s, sizeof(s) - 1, false)

TEST(text_stays) {
    static const char *const same[] = {
        "", "plain text, 'quotes' and \\ backslashes",
        "gr\xc3\xbc\xc3\x9f \xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x8e\x82", "\xc2\xa0\xc2\xad",
        "\xf4\x8f\xbf\xbf"};
    cr_arena a;
    cr_arena_init(&a, 0);
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        CHECK_STR(shown(same[i], strlen(same[i]), false), same[i]);
        CHECK(cr_shown(&a, same[i]) == same[i]);
    }
    cr_arena_clear(&a);
}

TEST(escapes) {
    CHECK_STR(SHOWN("a\033[31mred\a\b\r\n\t\v\f"), "a\\x1b[31mred\\a\\b\\r\\n\\t\\v\\f");
    CHECK_STR(SHOWN("nul\0del\x7f"), "nul\\x00del\\x7f");
    CHECK_STR(SHOWN("\xc2\x9b"
                    "31m"),
              "\\u{9b}31m"); /* the C1 form of ESC [ */
    CHECK_STR(SHOWN("\xe2\x80\xae"
                    "fdp.exe"),
              "\\u{202e}fdp.exe"); /* right to left */
    CHECK_STR(SHOWN("\xe2\x80\xa8\xe2\x81\xa6\xef\xbb\xbf"), "\\u{2028}\\u{2066}\\u{feff}");
    /* no UTF-8: a lone byte, a cut character, overlong, a surrogate, too large */
    CHECK_STR(SHOWN("\x9b|\xc3|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xff"),
              "\\x9b|\\xc3|\\xc0\\xaf|\\xed\\xa0\\x80|\\xf4\\x90\\x80\\x80|\\xff");
    CHECK_STR(shown("a\nb\tc\033", 6, true), "a\nb\tc\\x1b");
    /* what was shown is shown the same again */
    cr_arena a;
    cr_arena_init(&a, 0);
    const char *once = cr_shown(&a, "x\033\xe2\x80\xae\xff\n");
    CHECK(cr_shown(&a, once) == once);
    cr_arena_clear(&a);
}

TEST(into_a_fixed_place) {
    char out[8];
    CHECK_INT(cr_shown_into(out, sizeof(out), "abc", 3), 3);
    CHECK_STR(out, "abc");
    CHECK_INT(cr_shown_into(out, sizeof(out), "abcde\033x", 7), 5); /* \x1b has no room */
    CHECK_STR(out, "abcde");
    CHECK_INT(cr_shown_into(out, sizeof(out), "abcdef\xc3\xbc", 8), 6);
    CHECK_STR(out, "abcdef");
    CHECK_INT(cr_shown_into(out, 1, "a", 1), 0);
    CHECK_STR(out, "");
}

/* JSON is printed as well: it holds nothing that would be escaped, and means the same */
TEST(json_is_shown_as_it_is) {
    static const char text[] = "\033\x7f\xc2\x9b\xe2\x80\xae\xe2\x80\xa8 \xc3\xbc";
    cr_buf b;
    cr_buf_init(&b);
    cr_json_escape(&b, text, sizeof(text) - 1);
    CHECK_STR(b.data, "\"\\u001b\\u007f\\u009b\\u202e\\u2028 \xc3\xbc\"");
    CHECK_STR(shown(b.data, b.n, false), b.data);
    cr_json *j;
    CHECK_INT(cr_json_parse(&j, b.data, b.n, NULL), CR_OK);
    CHECK_STR(cr_json_str(j), text);
    cr_json_free(j);
    cr_buf_clear(&b);
}

TEST(of_a_value) {
    char out[80];
    CHECK_STR(cr_show(out,
                      "a\x1d"
                      "b",
                      3),
              "a\\x1db");
    char long_text[300];
    memset(long_text, 1, sizeof(long_text));
    CHECK(strlen(cr_show(out, long_text, sizeof(long_text))) < 80);
    memset(long_text, 'x', sizeof(long_text));
    CHECK(strstr(cr_show(out, long_text, sizeof(long_text)), "...") != NULL);
}

TEST_MAIN(CASE(text_stays), CASE(escapes), CASE(into_a_fixed_place), CASE(json_is_shown_as_it_is),
          CASE(of_a_value))
