/*
 * tree_edit.c - rewriting of trees: what stands where afterwards, with which place; unused keys.
 */
#include "toy.h"

/* "key@line:col=text" of every scalar, depth first, joined with blanks */
static void show(cr_buf *out, const cr_conf_node *n, const char *path) {
    for (size_t i = 0; i < n->n; i++) {
        const cr_conf_entry *e = &n->v[i];
        char full[128];
        snprintf(full, sizeof full, "%s%s%s", path, *path ? "." : "", e->key ? e->key : "-");
        if (e->val->kind == CR_NODE_SCALAR)
            cr_buf_printf(out, "%s%s@%d:%d=%s", out->n ? " " : "", full, e->val->at.line,
                          e->val->at.col, e->val->text);
        else
            show(out, e->val, full);
    }
}
#define SHOWN(node, want)                                                                          \
    do {                                                                                           \
        cr_buf shown_;                                                                             \
        cr_buf_init(&shown_);                                                                      \
        show(&shown_, node, "");                                                                   \
        CHECK_STR(shown_.n ? shown_.data : "", want);                                              \
        cr_buf_clear(&shown_);                                                                     \
    } while (0)

static const char text[] = "a: 1\nb { x: 2 y: 3 x: 4 }\na: 5\nc: 6\n";
static const cr_loc flag = {"--flag", 0, 0};

TEST(put) {
    toy t;
    CHECK_INT(toy_parse(&t, PBTXT, text, sizeof text - 1), CR_OK);
    cr_conf_node *root = t.doc.root, *b = cr_conf_find(root, "b");
    SHOWN(root, "a@1:4=1 b.x@2:8=2 b.y@2:13=3 b.x@2:18=4 a@3:4=5 c@4:4=6");
    /* the one value of a repeated key, where the last one stood */
    cr_tree_put_str(&t.doc, root, "a", flag, "null");
    SHOWN(root, "b.x@2:8=2 b.y@2:13=3 b.x@2:18=4 a@0:0=null c@4:4=6");
    CHECK(cr_conf_find(root, "a")->quoted);
    CHECK_STR(cr_conf_find(root, "a")->at.path, "--flag");
    char key[] = "new";
    cr_tree_put_str(&t.doc, b, key, flag, "7");
    key[0] = 'X'; /* names are copied */
    SHOWN(b, "x@2:8=2 y@2:13=3 x@2:18=4 new@0:0=7");
    /* a message that is there, a new one, and one in the place of a number */
    CHECK(cr_tree_child(&t.doc, root, "b", flag) == b);
    cr_tree_put_str(&t.doc, cr_tree_child(&t.doc, root, "c", flag), "z", flag, "8");
    cr_tree_put_str(&t.doc, cr_tree_child(&t.doc, root, "d", flag), "z", flag, "9");
    SHOWN(root, "b.x@2:8=2 b.y@2:13=3 b.x@2:18=4 b.new@0:0=7 a@0:0=null c.z@0:0=8 d.z@0:0=9");
    toy_clear(&t);
}

TEST(put_camel) { /* JSON may spell a key in another way */
    toy t;
    CHECK_INT(toy_parse(&t, JSON, "{\"modelDir\": \"x\"}", 17), CR_OK);
    cr_tree_put_str(&t.doc, t.doc.root, "model_dir", flag, "5");
    toy_bind(&t);
    CHECK_STR(t.text.data, "");
    CHECK_STR(t.root->model_dir, "5");
    CHECK_STR(cr_conf_at(t.root, "model_dir").path, "--flag");
    toy_clear(&t);
}

TEST(move) {
    toy t;
    CHECK_INT(toy_parse(&t, PBTXT, text, sizeof text - 1), CR_OK);
    cr_conf_node *root = t.doc.root, *b = cr_conf_find(root, "b");
    CHECK_INT(cr_tree_rename(&t.doc, root, "a", "new"), 2);
    CHECK_INT(cr_tree_rename(&t.doc, root, "a", "new"), 0);
    CHECK_INT(cr_tree_move(&t.doc, b, "x", root, "up"), 2);
    CHECK_INT(cr_tree_move(&t.doc, root, "c", root, "last"), 1);
    SHOWN(root, "new@1:4=1 b.y@2:13=3 new@3:4=5 last@4:4=6 up@2:8=2 up@2:18=4");
    CHECK_INT(cr_tree_drop(root, "new"), 2);
    CHECK_INT(cr_tree_drop(root, "none"), 0);
    cr_conf_node *copy = cr_tree_copy(&t.doc, root);
    CHECK_INT(cr_tree_remove(root, b), 1);
    CHECK_INT(cr_tree_remove(root, b), 0);
    SHOWN(root, "last@4:4=6 up@2:8=2 up@2:18=4");
    SHOWN(copy, "b.y@2:13=3 last@4:4=6 up@2:8=2 up@2:18=4");
    toy_clear(&t);
}

TEST(unused) {
    static const char yaml[] = "runner:\n  bach_size: 5\n  epochs: 2\n  zzz: {q: 1}\n"
                               "list:\n  - {k: 1, l: 2}\nfree: {a: {b: 1}, c: [{d: 2}]}\nrest: 1\n";
    toy t;
    cr_tree_use u;
    CHECK_INT(toy_parse(&t, YAML, yaml, sizeof yaml - 1), CR_OK);
    const cr_conf_node *root = t.doc.root;
    cr_tree_use_init(&u);
    const cr_conf_node *runner = cr_tree_ask(&u, root, "runner");
    CHECK(!cr_tree_ask(&u, runner, "batch_size"));
    CHECK_STR(cr_tree_ask(&u, runner, "epochs")->text, "2");
    CHECK_STR(cr_tree_ask(&u, runner, "epochs")->text, "2");
    CHECK(!cr_tree_ask(&u, cr_tree_ask(&u, runner, "epochs"), "below_a_scalar"));
    const cr_conf_node *item = cr_tree_ask(&u, root, "list")->v[0].val;
    CHECK_STR(cr_tree_ask(&u, item, "k")->text, "1");
    cr_tree_ask_all(&u, cr_tree_ask(&u, root, "free"));
    cr_tree_tell_unused(&u, root, CR_SEV_ERROR, &t.diag);
    cr_tree_use_clear(&u);
    static const char *const want[] = {
        "2:3 unknown key 'bach_size'; did you mean 'batch_size'?",
        "4:3 nothing reads the key 'zzz'; remove it",
        "6:12 nothing reads the key 'l'; remove it",
        "8:1 nothing reads the key 'rest'; remove it",
    };
    CHECK_INT(t.diag.n, 4);
    for (size_t i = 0; i < 4 && i < t.diag.n; i++) {
        char got[200];
        snprintf(got, sizeof got, "%d:%d %s", t.diag.v[i].at.line, t.diag.v[i].at.col,
                 t.diag.v[i].msg);
        CHECK_STR(got, want[i]);
    }
    toy_clear(&t);
}

TEST_MAIN(CASE(put), CASE(put_camel), CASE(move), CASE(unused))
