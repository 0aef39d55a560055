/*
 * schema.c - the schema tree: levels, leaves and paths; lists and maps in all layouts; names.
 */
#include "harness.h"
#include "parquet/parquet_int.h"

#define GROUP(name_, rep_, n, kind_)                                                               \
    {                                                                                              \
        .name = name_, .type = CR_PQ_GROUP, .rep = CR_PQ_##rep_, .n_children = n,                  \
        .logical = {.kind = CR_PQ_##kind_}, .field_id = -1                                         \
    }
#define LEAF(name_, rep_, type_)                                                                   \
    { .name = name_, .type = CR_PQ_##type_, .rep = CR_PQ_##rep_, .field_id = -1 }

typedef struct tree {
    cr_pq_meta m;
    cr_arena arena;
    cr_err err;
    cr_code code;
} tree;

static tree *finish(cr_pq_node *nodes, size_t n) {
    static tree t;
    t = (tree){.m = {.nodes = nodes, .n_nodes = (int)n}};
    cr_arena_init(&t.arena, 0);
    t.code = cr_pq_schema_finish(&t.m, &t.arena, &t.err);
    return &t;
}
#define FINISH(nodes) finish(nodes, sizeof(nodes) / sizeof((nodes)[0]))

TEST(levels) {
    cr_pq_node nodes[] = {
        GROUP("root", REQUIRED, 4, PHYSICAL),
        LEAF("id", REQUIRED, I64),
        GROUP("user", OPTIONAL, 2, PHYSICAL),
        LEAF("age", OPTIONAL, I32),
        GROUP("tags", OPTIONAL, 1, LIST),
        GROUP("list", REPEATED, 1, PHYSICAL),
        LEAF("element", OPTIONAL, BYTES),
        GROUP("weights", REQUIRED, 1, MAP),
        GROUP("key_value", REPEATED, 2, PHYSICAL),
        LEAF("key", REQUIRED, I64),
        LEAF("value", OPTIONAL, F32),
        GROUP("empty", OPTIONAL, 0, PHYSICAL),
    };
    tree *t = FINISH(nodes);
    CHECK_INT(t->code, CR_OK);
    static const int def[] = {0, 0, 1, 2, 2, 3, 4, 0, 1, 1, 2, 1};
    static const int rep[] = {0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 0};
    static const int up[] = {-1, 0, 0, 2, 2, 4, 5, 0, 7, 8, 8, 0};
    static const int next[] = {12, 2, 7, 4, 7, 7, 7, 11, 11, 10, 11, 12};
    static const int leaf[] = {-1, 0, -1, 1, -1, -1, 2, -1, -1, 3, 4, -1};
    for (int i = 0; i < 12; i++) {
        CHECK_INT(nodes[i].max_def, def[i]);
        CHECK_INT(nodes[i].max_rep, rep[i]);
        CHECK_INT(nodes[i].parent, up[i]);
        CHECK_INT(nodes[i].next, next[i]);
        CHECK_INT(nodes[i].leaf, leaf[i]);
    }
    CHECK_INT(t->m.n_leaves, 5);
    CHECK_STR(nodes[t->m.leaves[2]].path, "user.tags.list.element");
    CHECK_STR(nodes[t->m.leaves[4]].path, "weights.key_value.value");

    CHECK_INT(cr_pq_find(&t->m, "id"), 1);
    CHECK_INT(cr_pq_find(&t->m, "user"), 2);
    CHECK_INT(cr_pq_find(&t->m, "user.age"), 3);
    CHECK_INT(cr_pq_find(&t->m, "user.tags"), 4);
    CHECK_INT(cr_pq_find(&t->m, "user.tags.list.element"), 6);
    CHECK_INT(cr_pq_find(&t->m, "weights"), 7);
    CHECK_INT(cr_pq_find(&t->m, "weights.key"), 9);
    CHECK_INT(cr_pq_find(&t->m, "weights.key_value.value"), 10);
    CHECK_INT(cr_pq_find(&t->m, "root"), -1);
    CHECK_INT(cr_pq_find(&t->m, "tags"), -1);
    CHECK_INT(cr_pq_find(&t->m, "user."), -1);
    CHECK_INT(cr_pq_find(&t->m, ""), -1);
    CHECK_INT(cr_pq_find(&t->m, "id.x"), -1);
    cr_arena_clear(&t->arena);
}

TEST(dots_in_names) {
    cr_pq_node nodes[] = {
        GROUP("root", REQUIRED, 3, PHYSICAL),
        GROUP("a", OPTIONAL, 2, PHYSICAL),
        LEAF("b", REQUIRED, I64),
        LEAF("c.d", REQUIRED, I64),
        LEAF("a.b", REQUIRED, I32),
        GROUP("x.y", REQUIRED, 1, PHYSICAL),
        LEAF("z", REQUIRED, I32),
    };
    tree *t = FINISH(nodes);
    CHECK_INT(t->code, CR_OK);
    CHECK_INT(cr_pq_find(&t->m, "a.b"), 4); /* exactly that comes first */
    CHECK_INT(cr_pq_find(&t->m, "a.c.d"), 3);
    CHECK_INT(cr_pq_find(&t->m, "x.y.z"), 6);
    CHECK_INT(cr_pq_find(&t->m, "x.y"), 5);
    cr_arena_clear(&t->arena);
}

/* one shape: "list 3", "map 3 4", "struct", "leaf" */
static const char *shape(const cr_pq_meta *m, int node, bool as_item) {
    static char out[40];
    int item, value;
    switch (cr_pq_shape_of(m, node, as_item, &item, &value)) {
    case CR_PQ_IS_LEAF: return "leaf";
    case CR_PQ_IS_STRUCT: return "struct";
    case CR_PQ_IS_LIST: snprintf(out, sizeof out, "list %d", item); return out;
    case CR_PQ_IS_MAP: snprintf(out, sizeof out, "map %d %d", item, value); return out;
    }
    return "?";
}

TEST(lists) {
    cr_pq_node nodes[] = {
        GROUP("root", REQUIRED, 9, PHYSICAL),
        /* 1: three levels */
        GROUP("a", OPTIONAL, 1, LIST),
        GROUP("list", REPEATED, 1, PHYSICAL),
        LEAF("element", OPTIONAL, I32),
        /* 4: two levels, a plain item */
        GROUP("b", OPTIONAL, 1, LIST),
        LEAF("element", REPEATED, I32),
        /* 6: two levels, a struct of two */
        GROUP("c", OPTIONAL, 1, LIST),
        GROUP("element", REPEATED, 2, PHYSICAL),
        LEAF("str", REQUIRED, BYTES),
        LEAF("num", REQUIRED, I32),
        /* 10: two levels by its name */
        GROUP("d", OPTIONAL, 1, LIST),
        GROUP("array", REPEATED, 1, PHYSICAL),
        LEAF("str", REQUIRED, BYTES),
        /* 13: the same with the list's name */
        GROUP("e", OPTIONAL, 1, LIST),
        GROUP("e_tuple", REPEATED, 1, PHYSICAL),
        LEAF("str", REQUIRED, BYTES),
        /* 16: list of lists of two levels */
        GROUP("f", REQUIRED, 1, LIST),
        GROUP("array", REPEATED, 1, LIST),
        LEAF("array", REPEATED, I32),
        /* 19: a repeated field alone */
        LEAF("g", REPEATED, I32),
        /* 20: a repeated group alone */
        GROUP("h", REPEATED, 1, PHYSICAL),
        LEAF("x", OPTIONAL, I32),
        /* 22: marked as a list, but none */
        GROUP("i", OPTIONAL, 1, LIST),
        LEAF("x", OPTIONAL, I32),
    };
    tree *t = FINISH(nodes);
    CHECK_INT(t->code, CR_OK);
    CHECK_STR(shape(&t->m, 1, false), "list 3");
    CHECK_STR(shape(&t->m, 3, false), "leaf");
    CHECK_STR(shape(&t->m, 4, false), "list 5");
    CHECK_STR(shape(&t->m, 5, true), "leaf");
    CHECK_STR(shape(&t->m, 6, false), "list 7");
    CHECK_STR(shape(&t->m, 7, true), "struct");
    CHECK_STR(shape(&t->m, 10, false), "list 11");
    CHECK_STR(shape(&t->m, 13, false), "list 14");
    CHECK_STR(shape(&t->m, 16, false), "list 17");
    CHECK_STR(shape(&t->m, 17, true), "list 18");
    CHECK_STR(shape(&t->m, 18, true), "leaf");
    CHECK_STR(shape(&t->m, 19, false), "list 19");
    CHECK_STR(shape(&t->m, 20, false), "list 20");
    CHECK_STR(shape(&t->m, 20, true), "struct");
    CHECK_STR(shape(&t->m, 22, false), "struct");
    CHECK_STR(shape(&t->m, 0, false), "struct");

    CHECK_INT(cr_pq_find(&t->m, "c.num"), 9);
    CHECK_INT(cr_pq_find(&t->m, "c.element.num"), 9);
    CHECK_INT(cr_pq_find(&t->m, "d.str"), 12);
    CHECK_INT(cr_pq_find(&t->m, "h.x"), 21);
    CHECK_INT(cr_pq_find(&t->m, "f.array.array"), 18);
    CHECK_INT(cr_pq_find(&t->m, "f.x"), -1);
    cr_arena_clear(&t->arena);
}

TEST(maps) {
    cr_pq_node nodes[] = {
        GROUP("root", REQUIRED, 3, PHYSICAL),
        GROUP("a", OPTIONAL, 1, MAP),
        GROUP("map", REPEATED, 2, PHYSICAL),
        LEAF("k", REQUIRED, BYTES),
        GROUP("v", OPTIONAL, 1, PHYSICAL),
        LEAF("x", REQUIRED, I32),
        /* 6: a set */
        GROUP("b", OPTIONAL, 1, MAP),
        GROUP("key_value", REPEATED, 1, PHYSICAL),
        LEAF("key", REQUIRED, I32),
        /* 9: a key of several leaves */
        GROUP("c", OPTIONAL, 1, MAP),
        GROUP("key_value", REPEATED, 2, PHYSICAL),
        GROUP("key", REQUIRED, 2, PHYSICAL),
        LEAF("x", REQUIRED, I32),
        LEAF("y", REQUIRED, I32),
        LEAF("value", OPTIONAL, I32),
    };
    tree *t = FINISH(nodes);
    CHECK_INT(t->code, CR_OK);
    CHECK_STR(shape(&t->m, 1, false), "map 3 4");
    CHECK_STR(shape(&t->m, 6, false), "list 8");
    CHECK_STR(shape(&t->m, 9, false), "map 11 14");
    CHECK_INT(cr_pq_find(&t->m, "a.x"), 5);
    CHECK_INT(cr_pq_find(&t->m, "a.v.x"), 5);
    CHECK_INT(cr_pq_find(&t->m, "c.key.y"), 13);
    CHECK_INT(cr_pq_find(&t->m, "c.value"), 14);
    cr_arena_clear(&t->arena);
}

static void fails(cr_pq_node *nodes, size_t n, const char *want) {
    tree *t = finish(nodes, n);
    CHECK_INT(t->code, CR_EDATA);
    CHECK_STR(t->err.msg, want);
    cr_arena_clear(&t->arena);
}

TEST(wrong) {
    cr_pq_node few[] = {GROUP("r", REQUIRED, 2, PHYSICAL), LEAF("a", REQUIRED, I32)};
    fails(few, 0, "schema: it has no root");
    fails(few, 2, "schema: 'r' has fewer children than it says");
    cr_pq_node many[] = {GROUP("r", REQUIRED, 1, PHYSICAL), LEAF("a", REQUIRED, I32),
                         LEAF("b", REQUIRED, I32)};
    fails(many, 3, "schema: 1 of its 3 nodes belong to no group");
    many[0].n_children = -1;
    fails(many, 3, "schema: 'r' has a negative number of children");
    many[0].n_children = 2;
    many[2].type = (cr_pq_type)9;
    fails(many, 3, "schema: 'b' has no valid type");
    many[2].type = CR_PQ_FIXED;
    fails(many, 3, "schema: 'b' is of fixed length, and its length is missing");
    many[2].type_length = 4;
    many[2].rep = (cr_pq_rep)3;
    fails(many, 3, "schema: 'b' is neither required, optional nor repeated");
    many[2].rep = CR_PQ_OPTIONAL;
    many[2].n_children = 1;
    fails(many, 3, "schema: 'b' has a type of its own and children");
    many[2].n_children = 0;
    many[2].name = NULL;
    fails(many, 3, "schema: a node has no name");
    fails(many + 1, 1, "schema: 'a' is the root and no group");
}

TEST(deep) {
    enum { N = 200 };
    static cr_pq_node nodes[N];
    for (int i = 0; i < N; i++)
        nodes[i] = (cr_pq_node)GROUP("g", OPTIONAL, i < N - 1, PHYSICAL);
    fails(nodes, N, "schema: 'g' lies in too many groups");
    for (int i = 1; i < 17; i++)
        nodes[i].rep = CR_PQ_REPEATED;
    fails(nodes, 17, "schema: 'g' lies in too many lists");
    for (int i = 1; i < N; i++)
        nodes[i].rep = CR_PQ_OPTIONAL;
    nodes[99].n_children = 0;
    tree *t = finish(nodes, 100);
    CHECK_INT(t->code, CR_OK);
    CHECK_INT(strlen(nodes[99].path), 99 + 98);
    cr_arena_clear(&t->arena);
}

/* long names in many children: the paths are refused before they are made */
TEST(budget) {
    enum { N = 1002 };
    static cr_pq_node nodes[N];
    static char name[10001];
    memset(name, 'n', sizeof name - 1);
    nodes[0] = (cr_pq_node)GROUP("r", REQUIRED, 1, PHYSICAL);
    nodes[1] = (cr_pq_node)GROUP(name, REQUIRED, N - 2, PHYSICAL);
    for (int i = 2; i < N; i++)
        nodes[i] = (cr_pq_node)LEAF("x", REQUIRED, I32);
    cr_pq_meta m = {.nodes = nodes, .n_nodes = N};
    cr_arena a;
    cr_err err;
    cr_arena_init(&a, 0);
    size_t left = 1 << 20;
    CHECK_INT(cr_pq_schema_fill(&m, &a, &left, &err), CR_EDATA);
    CHECK_STR(err.msg, "schema: its names do not fit in the budget");
    left = 16 << 20;
    CHECK_INT(cr_pq_schema_fill(&m, &a, &left, &err), CR_OK);
    CHECK(left < 7 << 20); /* what was taken is gone */
    cr_arena_clear(&a);
}

TEST_MAIN(CASE(levels), CASE(dots_in_names), CASE(lists), CASE(maps), CASE(wrong), CASE(deep),
          CASE(budget))
