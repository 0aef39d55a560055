/*
 * tree.c - documents, finding the syntax of a file, text that is no text.
 */
#include "toy.h"

#include <unistd.h>

#include "base/file.h"

static const char *write_temp(const char *name, const char *text, char path[256]) {
    const char *dir = getenv("TMPDIR");
    snprintf(path, 256, "%s/crank-conf-%d-%s", dir ? dir : "/tmp", (int)getpid(), name);
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL);
    if (f) {
        fputs(text, f);
        fclose(f);
    }
    return path;
}

static void check_syntax(const char *name, const char *text, cr_syntax expected) {
    char path[256];
    cr_conf_doc doc;
    cr_diag diag;
    cr_conf_doc_init(&doc);
    cr_diag_init(&diag);
    write_temp(name, text, path);
    CHECK_INT(cr_conf_load(&doc, path, &diag), CR_OK);
    CHECK_INT(diag.n, 0);
    if (doc.syntax != expected) fprintf(stderr, "%s: %s\n", name, text);
    CHECK_INT(doc.syntax, expected);
    CHECK_STR(doc.path, path);
    unlink(path);
    cr_diag_clear(&diag);
    cr_conf_doc_clear(&doc);
}

TEST(syntax_of_files) {
    check_syntax("a.yaml", "a: 1\n", YAML);
    check_syntax("a.yml", "a: 1\n", YAML);
    check_syntax("a.json", "{}", JSON);
    check_syntax("a.config", "a: 1\n", PBTXT);
    check_syntax("a.pbtxt", "a: 1\n", PBTXT);
    check_syntax("a.prototxt", "a: 1\n", PBTXT);
    check_syntax("a.TXT", "a: 1\n", PBTXT);
    /* no telling ending */
    check_syntax("pipeline", "# c\nmodel_dir: 'x'\ntrain_config {\n}\n", PBTXT);
    check_syntax("pipeline", "model_dir: 'x'\ntrain_config: {\n}\n", PBTXT);
    check_syntax("pipeline", "model_dir: 'x'\ntrain_config <\n>\n", PBTXT);
    check_syntax("pipeline", "model_dir: 'x'\ntrain_config:\n  a: 1\n", YAML);
    check_syntax("pipeline", "a: [1]\nb:\n- c\n", YAML);
    check_syntax("pipeline", "\n{\n \"a\": 1}\n", JSON);
    check_syntax("pipeline", "{a: 1}\n", YAML);
    check_syntax("pipeline", "", YAML);
}

TEST(missing_file) {
    cr_conf_doc doc;
    cr_diag diag;
    cr_conf_doc_init(&doc);
    cr_diag_init(&diag);
    CHECK(cr_conf_load(&doc, "/nonexistent/x.yaml", &diag) == CR_EIO);
    CHECK_INT(diag.n_errors, 1);
    CHECK(diag.n == 1 && (strstr(diag.v[0].msg, "x.yaml") || diag.v[0].at.path));
    CHECK(doc.root != NULL);
    cr_diag_clear(&diag);
    cr_conf_doc_clear(&doc);
}

TEST(bad_bytes) {
    toy t;
    for (int s = 0; s < 3; s++) {
        CHECK_INT(toy_parse(&t, (cr_syntax)s, "a: 1\nb: \xff\n", 9), CR_ECONF);
        CHECK_STR(t.text.data, "f:2:4: byte 0xff is not text; save the config as UTF-8\n");
        toy_clear(&t);
        CHECK_INT(toy_parse(&t, (cr_syntax)s, "\xc3\xa4\0", 3), CR_ECONF);
        CHECK_STR(t.text.data, "f:1:2: byte 0x00 is not text; save the config as UTF-8\n");
        toy_clear(&t);
    }
    /* overlong, surrogate, beyond the last character, cut short */
    static const char *const bad[] = {"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"};
    for (int i = 0; i < 4; i++) {
        CHECK_INT(toy_parse(&t, YAML, bad[i], strlen(bad[i])), CR_ECONF);
        toy_clear(&t);
    }
    CHECK_INT(toy_parse(&t, YAML, "\xef\xbb\xbfmodel_dir: x\n", 16), CR_OK);
    CHECK_STR(t.text.data, "");
    CHECK(cr_conf_find(t.doc.root, "model_dir") != NULL);
    toy_clear(&t);
}

TEST(find_and_push) {
    cr_conf_doc doc;
    cr_conf_doc_init(&doc);
    cr_conf_node *map = cr_conf_new(&doc, CR_NODE_MAP, CR_NOWHERE);
    cr_conf_node *last = NULL;
    for (int i = 0; i < 100; i++) {
        last = cr_conf_new(&doc, CR_NODE_SCALAR, CR_NOWHERE);
        cr_conf_push(&doc, map, i % 2 ? "odd" : "even", CR_NOWHERE, last);
    }
    CHECK_INT(map->n, 100);
    CHECK(cr_conf_find(map, "odd") == last);
    CHECK(cr_conf_find(map, "none") == NULL);
    CHECK(cr_conf_find(last, "odd") == NULL);
    CHECK(cr_conf_find(NULL, "odd") == NULL);
    cr_conf_doc_clear(&doc);
}

TEST_MAIN(CASE(syntax_of_files), CASE(missing_file), CASE(bad_bytes), CASE(find_and_push))
