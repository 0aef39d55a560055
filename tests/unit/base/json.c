/* JSON: reading, hostile input, writing, and the way round. */
#include "base/json.h"

#include "harness.h"

static cr_json *parse(const char *s, cr_err *e) {
    cr_json *j = NULL;
    (void)!cr_json_parse(&j, s, strlen(s), e);
    return j;
}

TEST(reads_values) {
    cr_err e;
    cr_json *j =
        parse("{\"b\": 1, \"a\": [1.5, true, null, \"x\\u00e9\", {}], \"n\": -9223372036854775808}",
              &e);
    CHECK(cr_json_is_obj(j));
    CHECK_INT(cr_json_len(j), 3);
    const char *key;
    const cr_json *v;
    void *it = NULL;
    CHECK(cr_json_next(j, &it, &key, &v));
    CHECK_STR(key, "b");
    CHECK(cr_json_next(j, &it, &key, &v) && cr_json_is_arr(v));
    CHECK_STR(key, "a");
    CHECK(cr_json_next(j, &it, &key, &v) && !cr_json_next(j, &it, &key, &v));
    it = NULL;
    CHECK(!cr_json_next(cr_json_get(j, "a"), &it, &key, &v) && !cr_json_next(NULL, &it, &key, &v));
    int64_t i = 0;
    double f = 0;
    bool b = false;
    CHECK(cr_json_i64(cr_json_get(j, "b"), &i) && i == 1);
    CHECK(cr_json_f64(cr_json_get(j, "b"), &f) && f == 1);
    CHECK(cr_json_i64(cr_json_get(j, "n"), &i) && i == INT64_MIN);
    const cr_json *a = cr_json_get(j, "a");
    CHECK_INT(cr_json_len(a), 5);
    CHECK(cr_json_f64(cr_json_at(a, 0), &f) && f == 1.5);
    CHECK(!cr_json_i64(cr_json_at(a, 0), &i));
    CHECK(cr_json_bool(cr_json_at(a, 1), &b) && b);
    CHECK(!cr_json_bool(cr_json_at(a, 2), &b) && !cr_json_str(cr_json_at(a, 2)));
    CHECK_STR(cr_json_str(cr_json_at(a, 3)), "x\xc3\xa9");
    CHECK(cr_json_is_obj(cr_json_at(a, 4)) && cr_json_len(cr_json_at(a, 4)) == 0);
    CHECK(cr_json_at(a, 5) == NULL && cr_json_at(j, 0) == NULL && cr_json_get(a, "x") == NULL);
    CHECK(cr_json_get(j, "zz") == NULL && !cr_json_i64(NULL, &i) && cr_json_get(NULL, "x") == NULL);
    cr_json_free(j);
    cr_json_free(NULL);
}

TEST(large_objects_keep_their_order) {
    cr_buf b;
    cr_buf_init(&b);
    cr_jw w;
    cr_jw_init(&w, &b);
    cr_jw_obj(&w, NULL);
    char name[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "key%d", i * 7919 % 5000);
        cr_jw_i64(&w, name, i);
    }
    cr_jw_end(&w);
    cr_json *j = parse(b.data, NULL);
    CHECK_INT(cr_json_len(j), 5000);
    void *it = NULL;
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "key%d", i * 7919 % 5000);
        const char *key = NULL;
        const cr_json *v = NULL;
        int64_t k = -1;
        CHECK(cr_json_next(j, &it, &key, &v));
        CHECK_STR(key, name);
        CHECK(cr_json_i64(cr_json_get(j, name), &k) && k == i);
    }
    CHECK(cr_json_get(j, "key") == NULL && cr_json_get(j, "zzz") == NULL &&
          cr_json_get(j, "") == NULL);
    cr_json_free(j);
    cr_buf_clear(&b);
}

TEST(refuses) {
    static const char *const bad[] = {"",
                                      "{",
                                      "[1,]",
                                      "{\"a\":1,\"a\":2}",
                                      "1 2",
                                      "{} x",
                                      "nul",
                                      "\"\\u0000\"",
                                      "\"\xff\"",
                                      "[1e999]",
                                      "99999999999999999999",
                                      "\"\\ud800\"",
                                      "'x'",
                                      "{\"a\" 1}",
                                      "[01]",
                                      "\"a\nb\""};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_json *j = NULL;
        cr_err e;
        cr_code c = cr_json_parse(&j, bad[i], strlen(bad[i]), &e);
        if (c != CR_EDATA) fprintf(stderr, "accepted: %s\n", bad[i]);
        CHECK_INT(c, CR_EDATA);
        CHECK(j == NULL && strstr(e.msg, "JSON"));
        cr_json_free(j);
    }
    cr_json *j;
    CHECK_INT(cr_json_parse(&j, "[1]\0[2]", 7, NULL), CR_EDATA);
    cr_err e;
    CHECK_INT(cr_json_parse(&j, "{\n  \"a\": x}", 11, &e), CR_EDATA);
    CHECK(strstr(e.msg, "line 2") != NULL);
    CHECK(strchr(e.msg, '\n') == NULL);
}

TEST(depth_is_limited) {
    char text[200001];
    for (int depth = 63; depth <= 65; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        cr_json *j;
        CHECK_INT(cr_json_parse(&j, text, 2 * (size_t)depth, NULL), depth <= 64 ? CR_OK : CR_EDATA);
        cr_json_free(j);
    }
    memset(text, '[', sizeof(text));
    cr_json *j;
    CHECK_INT(cr_json_parse(&j, text, sizeof(text), NULL), CR_EDATA);
    /* brackets in strings do not count, also behind an escaped quote */
    text[0] = '"';
    text[1] = '\\';
    text[2] = '"';
    text[1000] = '"';
    CHECK_INT(cr_json_parse(&j, text, 1001, NULL), CR_OK);
    cr_json_free(j);
}

TEST(writes) {
    cr_buf b;
    cr_buf_init(&b);
    cr_jw w;
    cr_jw_init(&w, &b);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "s", "a\"b\\c\n\t\r\x01\x7f");
    cr_jw_str(&w, "null", NULL);
    cr_jw_i64(&w, "i", INT64_MIN);
    cr_jw_f64(&w, "f", 0.1);
    cr_jw_f64(&w, "nan", (double)NAN);
    cr_jw_f64(&w, "inf", (double)INFINITY);
    cr_jw_bool(&w, "t", true);
    cr_jw_arr(&w, "arr");
    cr_jw_i64(&w, NULL, 1);
    cr_jw_obj(&w, NULL);
    cr_jw_end(&w);
    cr_jw_arr(&w, NULL);
    cr_jw_end(&w);
    cr_jw_bool(&w, NULL, false);
    cr_jw_end(&w);
    cr_jw_end(&w);
    CHECK_STR(b.data,
              "{\"s\": \"a\\\"b\\\\c\\n\\t\\r\\u0001\\u007f\", \"null\": null, \"i\": "
              "-9223372036854775808, \"f\": 0.1, \"nan\": null, \"inf\": null, \"t\": true, "
              "\"arr\": [1, {}, [], false]}");
    CHECK_INT(w.depth, 0);
    cr_json *j = parse(b.data, NULL);
    CHECK_STR(cr_json_str(cr_json_get(j, "s")), "a\"b\\c\n\t\r\x01\x7f");
    cr_json_free(j);
    cr_buf_clear(&b);
}

TEST(any_bytes_become_valid_text) {
    cr_buf b;
    cr_buf_init(&b);
    for (unsigned i = 0; i < 65536; i += 7) {
        char s[6] = {(char)(i >> 8), (char)i, (char)(i * 31), (char)0x80, 'z', 0};
        cr_buf_reset(&b);
        cr_json_escape(&b, s, strlen(s));
        cr_json *j;
        CHECK_INT(cr_json_parse(&j, b.data, b.n, NULL), CR_OK);
        cr_json_free(j);
    }
    cr_buf_reset(&b);
    cr_json_escape(&b, "\xf0\x9f\x98\x80 \xe4\xb8\xad\xff", 9);
    CHECK_STR(b.data, "\"\xf0\x9f\x98\x80 \xe4\xb8\xad\xef\xbf\xbd\"");
    cr_buf_clear(&b);
}

TEST(cut_and_changed_input_is_survived) {
    static const char text[] =
        "{\"a\": [1, 2.5e3, \"x\\n\\u00e9\"], \"b\": {\"c\": null, \"d\": true}}";
    size_t n = sizeof(text) - 1;
    cr_json *j;
    for (size_t k = 0; k < n; k++) {
        CHECK_INT(cr_json_parse(&j, text, k, NULL), CR_EDATA);
        for (int c = 0; c < 256; c += 3) {
            char copy[sizeof(text)];
            memcpy(copy, text, sizeof(text));
            copy[k] = (char)c;
            if (cr_json_parse(&j, copy, n, NULL) == CR_OK) cr_json_free(j);
        }
    }
}

TEST_MAIN(CASE(reads_values), CASE(large_objects_keep_their_order), CASE(refuses),
          CASE(depth_is_limited), CASE(writes), CASE(any_bytes_become_valid_text),
          CASE(cut_and_changed_input_is_survived))
