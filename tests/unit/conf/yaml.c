/*
 * yaml.c - YAML and JSON: places, anchors, merge keys, doubled keys, limits, error texts.
 */
#include "toy.h"

static cr_loc loc(const cr_conf_node *n) {
    return n ? n->at : CR_NOWHERE;
}
#define AT(node, l, c)                                                                             \
    do {                                                                                           \
        cr_loc at_ = loc(node);                                                                    \
        CHECK_INT(at_.line, l);                                                                    \
        CHECK_INT(at_.col, c);                                                                     \
    } while (0)

TEST(places) {
    toy t;
    const char *text = "a: 1\n"
                       "b:\n"
                       "  - \"q\\x1d\"\n"
                       "  - {x: 'y', \xc3\xa4: z}\n"
                       "c: |\n"
                       "  line\n"
                       "d:\n"
                       "e: ~\n";
    CHECK_INT(toy_parse(&t, YAML, text, strlen(text)), CR_OK);
    CHECK_STR(t.text.data, "");
    const cr_conf_node *r = t.doc.root, *b = cr_conf_find(r, "b");
    AT(r, 1, 1);
    AT(cr_conf_find(r, "a"), 1, 4);
    AT(b, 3, 3);
    AT(b->v[0].val, 3, 5);
    CHECK(b->v[0].val->quoted && b->v[0].val->len == 2);
    CHECK_STR(b->v[0].val->text, "q\x1d");
    AT(b->v[1].val, 4, 5);
    AT(cr_conf_find(b->v[1].val, "x"), 4, 9);
    AT(cr_conf_find(b->v[1].val, "\xc3\xa4"), 4, 17);
    CHECK_STR(cr_conf_find(r, "c")->text, "line\n");
    CHECK(cr_conf_find(r, "c")->quoted);
    AT(cr_conf_find(r, "d"), 7, 1); /* nothing there: the key's place */
    CHECK(!cr_conf_find(r, "d")->quoted && cr_conf_find(r, "d")->len == 0);
    CHECK_INT(r->v[3].at.line, 7);
    toy_clear(&t);
}

TEST(anchors_and_merges) {
    toy t;
    const char *text = "train_config: &base\n"
                       "  num_steps: 5\n"
                       "  lr: 0.5\n"
                       "groups:\n"
                       "  - &g {group_name: g, toy_flat: {scale: 2}}\n"
                       "  - <<: *g\n"
                       "    group_name: h\n"
                       "  - <<: [{group_name: i}, *g]\n"
                       "  - *g\n"
                       "  - {\"group_name\": a, toy_flat: {}, value_map: {\"<<\": 3}}\n";
    toy_load(&t, YAML, text);
    CHECK_STR(t.text.data, "");
    CHECK_INT(t.root->groups.n, 5);
    static const char *const names[] = {"g", "h", "i", "g", "a"};
    for (int i = 0; i < 5; i++) {
        const toy_group *g = t.root->groups.v[i];
        CHECK_STR(g->group_name, names[i]);
        if (i < 4) CHECK(((const toy_flat *)g->model.conf)->scale == 2);
    }
    const toy_group *g = t.root->groups.v[4];
    CHECK_STR(g->value_map.v[0].key, "<<");
    toy_clear(&t);
    FINDINGS(YAML, "a: *nowhere\nb: 1\n",
             "f:1:4: this alias has no anchor above it; define one with '&', or put a text that "
             "begins with '*' in quotes\n");
    FINDINGS(YAML, "a: &x [1, *x]\n",
             "f:1:11: alias '*x' stands inside its own anchor; remove it\n");
    FINDINGS(YAML, "a:\n  <<: 5\n",
             "f:2:3: '<<' takes a mapping or a list of mappings; give '<<: *name'\n");
}

TEST(quoted) {
    static const char *const texts[][2] = {
        {"''", ""},
        {"'it''s'", "it's"},
        {"''''''''''''''''''''''''''''''''''", "''''''''''''''''"},
        {"'a  \n  b'", "a b"},
        {"' a \t\n\n\n\t b '", " a\n\nb "},
        {"'\n'", " "},
        {"'a\r\n b\r\n\r\n c'", "a b\nc"},
        {"'\\n \"#: '", "\\n \"#: "},
        {"\"a\\n\\x41\\u00e9\\U0001F600\\\"\\/\\e\"", "a\nA\xc3\xa9\xf0\x9f\x98\x80\"/\x1b"},
        {"\"a \\\n  b\\  \n\n c\"", "a b \nc"},
        {"\"\\N\\_\\L\\P\"", "\xc2\x85\xc2\xa0\xe2\x80\xa8\xe2\x80\xa9"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        toy t;
        char text[100];
        snprintf(text, sizeof text, "{\xc3\xa4: 1, k: %s}", texts[i][0]);
        CHECK_INT(toy_parse(&t, YAML, text, strlen(text)), CR_OK);
        const cr_conf_node *k = cr_conf_find(t.doc.root, "k");
        CHECK_STR(k ? k->text : NULL, texts[i][1]);
        CHECK(k && k->quoted && k->len == strlen(texts[i][1]));
        toy_clear(&t);
    }
}

TEST(doubled_keys) {
    FINDINGS(YAML, "a: 1\nb: 2\na: 3\nb: 4\n",
             "f:3:1: key 'a' is given twice (first on line 1); remove one\n"
             "f:4:1: key 'b' is given twice (first on line 2); remove one\n");
    FINDINGS(JSON, "{\"a\": 1,\n \"a\": 2}",
             "f:2:2: key 'a' is given twice (first on line 1); remove one\n");
    FINDINGS(JSON, "{\"<<\": 1}",
             "f:1:2: unknown key '<<' at the top level; see 'crank help ToyConfig' for its keys, "
             "or remove it if it is newer than Toy 1.2\n");
}

static bool has_b(const cr_conf_doc *doc) {
    return cr_conf_find(doc->root, "b") != NULL;
}

TEST(the_last_of_a_doubled_key_counts_where_the_reader_says_so) {
    static const char text[] = "a: 1\na: {c: 2, c: 3}\nb: 4\na: {c: 5, d: 6, c: 7}\n";
    for (int with = 0; with < 2; with++) {
        cr_conf_doc doc;
        cr_diag diag;
        cr_conf_doc_init(&doc);
        cr_diag_init(&diag);
        doc.last_counts = has_b;
        const char *s = with ? text : "a: 1\na: 2\n";
        cr_code code = cr_conf_parse(&doc, CR_SYNTAX_YAML, "f", s, strlen(s), &diag);
        CHECK_INT(code, with ? CR_OK : CR_ECONF);
        CHECK_INT((int)diag.n, with ? 4 : 1);
        CHECK_INT((int)diag.n_errors, with ? 0 : 1);
        if (with) {
            const cr_conf_node *a = cr_conf_find(doc.root, "a");
            CHECK_INT((int)doc.root->n, 2);
            CHECK(a && a->n == 2);
            CHECK_STR(cr_conf_find_text(a, "c"), "7");
            CHECK_STR(cr_conf_find_text(a, "d"), "6");
        }
        cr_diag_clear(&diag);
        cr_conf_doc_clear(&doc);
    }
}

TEST(limits) {
    toy t;
    cr_buf b;
    cr_buf_init(&b);
    for (int i = 0; i < 5000; i++)
        cr_buf_str(&b, "[");
    cr_buf deep;
    cr_buf_init(&deep);
    cr_buf_printf(&deep, "a: %s", b.data);
    CHECK_INT(toy_parse(&t, YAML, deep.data, deep.n), CR_ECONF);
    CHECK_STR(t.text.data, "f:1:63: the config is nested deeper than 60 levels; make it flatter\n");
    toy_clear(&t);
    cr_buf_clear(&deep);
    /* every line doubles the one before: far beyond the budget */
    cr_buf_reset(&b);
    cr_buf_str(&b, "a0: &a0 [x, x]\n");
    for (int i = 1; i < 40; i++)
        cr_buf_printf(&b, "a%d: &a%d [*a%d, *a%d]\n", i, i, i - 1, i - 1);
    CHECK_INT(toy_parse(&t, YAML, b.data, b.n), CR_ECONF);
    CHECK(strstr(t.text.data, "makes the config too deep or too large; write it out") != NULL);
    CHECK_INT(t.diag.n, 1);
    toy_clear(&t);
    cr_buf_clear(&b);
}

TEST(folded_blocks) {
    toy t;
    const char *text = "model_dir: >-\n  a\n  b\n\n  c\n";
    toy_load(&t, YAML, text);
    CHECK_STR(t.text.data, "");
    CHECK_STR(t.root ? t.root->model_dir : NULL, "a b\nc");
    toy_clear(&t);
    FINDINGS(
        YAML, "model_dir: >\n  a\n\n   b\n  c\n",
        "f:2:1: a folded text ('>') with lines of different indentation is not read; use '|'\n");
}

TEST(wrong_shapes) {
    FINDINGS(YAML, "- a\n",
             "f:1:1: the config is a list; it must be a mapping of keys to values\n");
    FINDINGS(YAML, "hello\n",
             "f:1:1: the config is a single value; it must be a mapping of keys to values\n");
    FINDINGS(YAML, "a: 1\n---\nb: 2\n",
             "f:2:1: a second document begins; keep one config per file\n");
    FINDINGS(YAML, "{[a]: 1}\n", "f:1:2: a list cannot be a key; write 'key: value'\n");
    FINDINGS(YAML, ": 1\n", "f:1:1: a key is missing before ':'; write 'key: value'\n");
    FINDINGS(
        YAML, "model_dir: !foo x\n",
        "f:1:17: this tag is not known; remove it, or put a text that begins with '!' in quotes\n");
    FINDINGS(YAML, "model_dir: !!str 5\n", "");
    FINDINGS(YAML, "# nothing\n", "");
    FINDINGS(YAML, "", "");
}

TEST(syntax_errors) {
    FINDINGS(YAML, "a: 1\n  b: 2\n",
             "f:1:4: not valid YAML: invalid multiline plain key; correct it here\n");
    FINDINGS(
        YAML, "a: \"abc\n",
        "f:1:5: not valid YAML: double-quoted scalar without closing quote; correct it here\n");
    FINDINGS(
        JSON, "{\"a\": 1,}",
        "f:1:8: not valid JSON: JSON disallows trailing comma before closing brace; correct it "
        "here\n");
    FINDINGS(JSON, "{\"a\": x}",
             "f:1:7: not valid JSON: Invalid JSON plain scalar; correct it here\n");
    FINDINGS(JSON, "{'a': 1}",
             "f:1:2: not valid JSON: single quoted scalars not supported in JSON mode; correct it "
             "here\n");
    FINDINGS(YAML, "a: 1\nb: \"\xc3\xa9 x\\_y\"\nc: \"\\q\"\n",
             "f:3:5: not valid YAML: invalid escape 'q' in double-quoted string; remove the "
             "backslashes, or write \\\\ for one\n");
    FINDINGS(YAML, "a: ?\n",
             "f:1:4: not valid YAML: invalid mapping key (not allowed in this context); put the "
             "value in quotes\n");
    FINDINGS(YAML, "a: %x\n",
             "f:1:4: not valid YAML: plain scalar cannot start with '%'; put the value in "
             "quotes\n");
    FINDINGS(YAML, "a: * \n",
             "f:1:5: not valid YAML: invalid alias detected; put the value in quotes\n");
    FINDINGS(YAML, "a: \"\xc3\xa9\xc3\xa9 \\qy\"\n",
             "f:1:8: not valid YAML: invalid escape 'q' in double-quoted string; remove the "
             "backslashes, or write \\\\ for one\n");
    FINDINGS(JSON, "{\"model_dir\": \"\\ud83d\\ude00\"}", "");
}

TEST_MAIN(CASE(places), CASE(anchors_and_merges), CASE(quoted), CASE(doubled_keys),
          CASE(the_last_of_a_doubled_key_counts_where_the_reader_says_so), CASE(limits),
          CASE(folded_blocks), CASE(wrong_shapes), CASE(syntax_errors))
