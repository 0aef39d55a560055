/*
 * pbtxt.c - protobuf text: everything real configs use, escapes, and recovery after mistakes.
 */
#include "toy.h"

static const char *text_of(const char *literal, size_t *len) {
    static char out[256];
    char text[300];
    toy t;
    snprintf(text, sizeof text, "a: %s", literal);
    CHECK_INT(toy_parse(&t, PBTXT, text, strlen(text)), CR_OK);
    CHECK_STR(t.text.data, "");
    const cr_conf_node *n = cr_conf_find(t.doc.root, "a");
    CHECK(n != NULL);
    *len = n ? n->len : 0;
    memset(out, 0, sizeof out);
    if (n) memcpy(out, n->text, n->len < 255 ? n->len : 255);
    toy_clear(&t);
    return out;
}

TEST(strings) {
    size_t n;
    CHECK_STR(text_of("\"a\\x1db\"", &n), "a\x1d"
                                          "b"); /* \x takes two digits */
    CHECK_STR(text_of("\"\\x1dZ\"", &n), "\x1dZ");
    CHECK_STR(text_of("\"\\x2\"", &n), "\x02");
    CHECK_STR(text_of("'\\001\\12\\1018'", &n), "\001\nA8");
    CHECK_STR(text_of("'\\n\\t\\r\\\\\\'\\\"\\?\\a'", &n), "\n\t\r\\'\"?\a");
    CHECK_STR(text_of("\"it's\" ' \"ok\"'\n 'x'", &n), "it's \"ok\"x");
    CHECK_STR(text_of("'\\u00e4\\U0001F600\\ud83d\\ude00'", &n),
              "\xc3\xa4\xf0\x9f\x98\x80\xf0\x9f\x98\x80");
    CHECK_STR(text_of("'\xe4\xb8\xad\xe6\x96\x87'", &n), "\xe4\xb8\xad\xe6\x96\x87");
    text_of("'a\\0b'", &n);
    CHECK_INT(n, 3);
    CHECK_STR(text_of("- 5", &n), "-5");
    CHECK_STR(text_of("-inf", &n), "-inf");
    CHECK_STR(text_of("1.0f", &n), "1.0f");
    CHECK_STR(text_of(".5e-3", &n), ".5e-3");
}

TEST(shapes) {
    toy t;
    const char *text = "# a comment\n"
                       "a { b: 1 c < d: 'x' > }, e: [1, 2]; f: []\n"
                       "g: [{h: 1}, <h: 2>] a: { b: 2 } # end\n"
                       "i:X\n";
    CHECK_INT(toy_parse(&t, PBTXT, text, strlen(text)), CR_OK);
    CHECK_STR(t.text.data, "");
    const cr_conf_node *r = t.doc.root;
    CHECK_INT(r->n, 6);
    CHECK_STR(r->v[4].key, "a");
    CHECK_INT(r->v[4].at.line, 3);
    CHECK_INT(r->v[4].at.col, 21);
    CHECK_INT(r->v[0].val->at.col, 3);
    const cr_conf_node *d = cr_conf_find(cr_conf_find(r->v[0].val, "c"), "d");
    CHECK(d && d->quoted && d->at.line == 2 && d->at.col == 17);
    CHECK_INT(cr_conf_find(r, "e")->n, 2);
    CHECK_INT(cr_conf_find(r, "e")->v[1].at.col, 33);
    CHECK_INT(cr_conf_find(r, "f")->n, 0);
    CHECK_STR(cr_conf_find(cr_conf_find(r, "g")->v[1].val, "h")->text, "2");
    CHECK(!cr_conf_find(r, "i")->quoted);
    toy_clear(&t);
}

TEST(one_mistake_each) {
    FINDINGS(PBTXT, "a: \"x\n", "f:1:4: the string has no closing \" on its line; add it\n");
    FINDINGS(PBTXT, "a: 'x\\q'\n",
             "f:1:6: unknown escape '\\q'; remove the backslash, or write '\\\\' for one\n");
    FINDINGS(PBTXT, "a: '\\ud800'\n",
             "f:1:5: unknown escape '\\u'; remove the backslash, or write '\\\\' for one\n");
    FINDINGS(PBTXT, "a: '\\xff'\n",
             "f:1:4: the string is not UTF-8; write bytes above 127 as \\u escapes\n");
    FINDINGS(PBTXT, "a {\n b: 1\n", "f:1:3: '{' is never closed; add '}'\n");
    FINDINGS(PBTXT, "a < b: 1 }\n", "f:1:10: '}' closes the '<' of line 1; write '>'\n");
    FINDINGS(PBTXT, "model_dir: 'x'\n}\n", "f:2:1: '}' closes nothing; remove it\n");
    FINDINGS(PBTXT, "a: [1, 2\n", "f:1:4: '[' is never closed; add ']'\n");
    FINDINGS(PBTXT, "a: [1 2]\n", "f:1:7: found '2' in a list; put ',' or ']' there\n");
    FINDINGS(PBTXT, "a: [1,]\n", "f:1:7: a list item is missing after ','; remove the ','\n");
    FINDINGS(PBTXT, "a: [[1]]\n", "f:1:5: a list item cannot begin with '['; write [a, b]\n");
    FINDINGS(PBTXT, "a 5\n", "f:1:3: ':' is missing after 'a'; add it\n");
    FINDINGS(PBTXT, "a = 5\n", "f:1:3: found '=' after 'a'; write ':' instead\n");
    FINDINGS(PBTXT, "a: 5 $\n", "f:1:6: '$' has no meaning here; remove it\n");
    FINDINGS(
        PBTXT, "a: }\n",
        "f:1:1: 'a' has no value; write one after ':'\nf:1:4: '}' closes nothing; remove it\n");
    FINDINGS(PBTXT, "a", "f:1:2: found the end of the file after 'a'; put ':' or '{' there\n");
    FINDINGS(PBTXT, "a: -'x'\n", "f:1:4: '-' stands before ''x''; put a number there\n");
    FINDINGS(PBTXT, "\"a\": 1\n",
             "f:1:1: a field's name is written without quotes; remove them from '\"a\"'\n");
    FINDINGS(PBTXT, "[x.y: 1\n", "f:1:1: '[' is never closed; add ']'\n");
    FINDINGS(PBTXT, "5: 1\n", "f:1:1: a field cannot begin with '5'; write 'name: value'\n");
}

TEST(several_mistakes) {
    FINDINGS(PBTXT,
             "train_config {\n"
             "  num_steps:\n"
             "  lr: 0.1\n"
             "  seed = 5\n"
             "  shuffle: true\n"
             "  inner { a: [1; 2] b: 3 }\n"
             "}\n"
             "groups: ]\n"
             "groups { group_name 'x' }\n",
             "f:2:3: 'num_steps' has no value; write one after ':'\n"
             "f:4:8: found '=' after 'seed'; write ':' instead\n"
             "f:6:16: found ';' in a list; put ',' or ']' there\n"
             "f:8:1: 'groups' has no value; write one after ':'\n"
             "f:9:21: ':' is missing after 'group_name'; add it\n");
}

TEST(limits) {
    toy t;
    cr_buf b;
    cr_buf_init(&b);
    for (int i = 0; i < 100000; i++)
        cr_buf_str(&b, "a{");
    CHECK_INT(toy_parse(&t, PBTXT, b.data, b.n), CR_ECONF);
    CHECK_STR(t.text.data,
              "f:1:120: the config is nested deeper than 60 levels; make it flatter\n");
    toy_clear(&t);
    cr_buf_reset(&b);
    for (int i = 0; i < 30; i++)
        cr_buf_str(&b, "a = 1\n");
    CHECK_INT(toy_parse(&t, PBTXT, b.data, b.n), CR_ECONF);
    CHECK_INT(t.diag.n_errors, 20);
    CHECK(strstr(t.text.data, "note: 10 more syntax errors are not shown") != NULL);
    toy_clear(&t);
    cr_buf_clear(&b);
}

TEST_MAIN(CASE(strings), CASE(shapes), CASE(one_mistake_each), CASE(several_mistakes), CASE(limits))
