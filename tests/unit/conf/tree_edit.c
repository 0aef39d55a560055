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

TEST(copy_and_remove) {
    toy t;
    CHECK_INT(toy_parse(&t, PBTXT, text, sizeof text - 1), CR_OK);
    cr_conf_node *root = t.doc.root, *b = cr_conf_find(root, "b");
    cr_conf_node *copy = cr_tree_copy(&t.doc, root);
    CHECK_INT(cr_tree_remove(root, b), 1);
    CHECK_INT(cr_tree_remove(root, b), 0);
    SHOWN(root, "a@1:4=1 a@3:4=5 c@4:4=6");
    SHOWN(copy, "a@1:4=1 b.x@2:8=2 b.y@2:13=3 b.x@2:18=4 a@3:4=5 c@4:4=6");
    toy_clear(&t);
}

TEST_MAIN(CASE(put), CASE(put_camel), CASE(copy_and_remove))
