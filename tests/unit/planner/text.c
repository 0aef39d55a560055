/* Plans as files: read back as written, and wrong ones refused. */
#include "harness.h"
#include "planner/planner.h"

static cr_planner_table tables[] = {
    {.name = "user",
     .n_rows = 100000,
     .D = 16,
     .ids = 1,
     .row_bytes = 128,
     .weight_bytes = 4,
     .trained = true,
     .kinds = 1U << CR_ROW_WISE},
    {.name = "item",
     .n_rows = 5000,
     .D = 8,
     .ids = 3,
     .row_bytes = 64,
     .weight_bytes = 4,
     .trained = true,
     .kinds = 1U << CR_TABLE_WISE},
    {.name = "wide",
     .n_rows = 5000,
     .D = 64,
     .ids = 1,
     .row_bytes = 512,
     .weight_bytes = 4,
     .trained = true,
     .kinds = 1U << CR_GRID_SHARD},
    {.name = "tiny",
     .n_rows = 5,
     .D = 8,
     .ids = 1,
     .row_bytes = 64,
     .weight_bytes = 4,
     .trained = true,
     .kinds = 1U << CR_DATA_PARALLEL},
};

static void make(cr_buf *text, cr_planner_result *r, cr_arena *a) {
    cr_planner_job j = {.tables = tables, .n = 4, .batch = 128};
    cr_planner_machine m = cr_planner_machine_default;
    m.ranks = 8;
    m.per_node = 4;
    cr_planner_choose(&j, &m, a, r);
    cr_jw w;
    cr_buf_reset(text);
    cr_jw_init(&w, text);
    cr_jw_obj(&w, NULL);
    cr_planner_write(&w, &j, &m, r);
    cr_jw_end(&w);
}

static cr_code read_text(const char *text, int ranks, cr_planned *out, cr_err *err) {
    cr_json *root;
    CR_TRY(cr_json_parse(&root, text, strlen(text), err));
    cr_code code = cr_planner_read(root, "plan.json", tables, 4, ranks, 4, out, err);
    cr_json_free(root);
    return code;
}

TEST(round_trip) {
    cr_arena a;
    cr_buf text;
    cr_arena_init(&a, 0);
    cr_buf_init(&text);
    cr_planner_result r;
    cr_planned back[4];
    cr_err err;
    make(&text, &r, &a);
    CHECK_INT(read_text(text.data, 8, back, &err), CR_OK);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(back[i].kind, r.tables[i].kind);
        CHECK_INT(back[i].first, r.tables[i].first);
        CHECK_INT(back[i].n, r.tables[i].n);
        CHECK_INT(back[i].n_cols, r.tables[i].n_cols);
    }
    CHECK_INT(read_text(text.data, 6, back, &err), CR_ECONF);
    CHECK(strstr(err.msg, "for 8 ranks, 4 on a machine, and this run has 6") != NULL);
    tables[1].n_rows++;
    CHECK_INT(read_text(text.data, 8, back, &err), CR_ECONF);
    CHECK(strstr(err.msg, "'item' of 5000 rows of width 8, which now has 5001") != NULL);
    tables[1].n_rows--;
    tables[3].name = "other";
    CHECK_INT(read_text(text.data, 8, back, &err), CR_ECONF);
    CHECK(strstr(err.msg, "has no table 'other'") != NULL);
    tables[3].name = "tiny";
    cr_buf_clear(&text);
    cr_arena_clear(&a);
}

/* Numbers that no plan of these ranks has must not come through. */
TEST(wrong) {
    static const char *const item[] = {
        "\"sharding_type\": \"table_wise\", \"first_rank\": 8, \"shards\": 1",
        "\"sharding_type\": \"table_wise\", \"first_rank\": -1, \"shards\": 1",
        "\"sharding_type\": \"table_wise\", \"first_rank\": 1, \"shards\": 2",
        "\"sharding_type\": \"row_wise\", \"first_rank\": 1, \"shards\": 9",
        "\"sharding_type\": \"row_wise\", \"first_rank\": 1",
        "\"sharding_type\": \"table_row_wise\", \"first_rank\": 1, \"shards\": 5",
        "\"sharding_type\": \"column_wise\", \"first_rank\": 1, \"shards\": 3",
        "\"sharding_type\": \"grid_shard\", \"first_rank\": 1, \"shards\": 4, \"column_ranges\": 3",
        "\"sharding_type\": \"sideways\", \"first_rank\": 1, \"shards\": 1",
        "\"first_rank\": 1, \"shards\": 1",
    };
    const cr_planner_table t = tables[1];
    for (size_t i = 0; i < sizeof item / sizeof *item; i++) {
        char text[512];
        cr_json *root;
        cr_planned p;
        cr_err err;
        snprintf(text, sizeof text,
                 "{\"ranks\": 8, \"ranks_per_machine\": 4, \"tables\": [{\"name\": \"item\", "
                 "\"rows\": 5000, \"dim\": 8, %s}]}",
                 item[i]);
        CHECK_INT(cr_json_parse(&root, text, strlen(text), &err), CR_OK);
        CHECK_INT(cr_planner_read(root, "plan.json", &t, 1, 8, 4, &p, &err), CR_ECONF);
        cr_json_free(root);
    }
    cr_err err;
    cr_planned p[4];
    CHECK_INT(read_text("[1]", 8, p, &err), CR_ECONF);
    CHECK_INT(read_text("{\"ranks\": 8, \"ranks_per_machine\": 4, \"tables\": []}", 8, p, &err),
              CR_ECONF);
}

/* A plan that was right for another optimizer: columns that must lie together stay together. */
TEST(whole_rows) {
    static const struct {
        const char *text;
        bool cut;
    } cases[] = {
        {"\"column_wise\", \"first_rank\": 1, \"shards\": 2", true},
        {"\"table_column_wise\", \"first_rank\": 1, \"shards\": 2", true},
        {"\"grid_shard\", \"first_rank\": 1, \"shards\": 8, \"column_ranges\": 2", true},
        {"\"grid_shard\", \"first_rank\": 1, \"shards\": 4, \"column_ranges\": 1", false},
        {"\"column_wise\", \"first_rank\": 1, \"shards\": 1", false},
        {"\"row_wise\", \"first_rank\": 1, \"shards\": 8", false},
    };
    cr_planner_table t = tables[1];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        cr_json *root;
        cr_planned p;
        cr_err err;
        snprintf(text, sizeof text,
                 "{\"ranks\": 8, \"ranks_per_machine\": 4, \"tables\": [{\"name\": \"item\", "
                 "\"rows\": 5000, \"dim\": 8, \"sharding_type\": %s}]}",
                 cases[i].text);
        CHECK_INT(cr_json_parse(&root, text, strlen(text), &err), CR_OK);
        t.whole = NULL;
        CHECK_INT(cr_planner_read(root, "plan.json", &t, 1, 8, 4, &p, &err), CR_OK);
        t.whole = "its optimizer looks at whole rows";
        cr_code code = cr_planner_read(root, "plan.json", &t, 1, 8, 4, &p, &err);
        CHECK_INT(code, cases[i].cut ? CR_ECONF : CR_OK);
        if (cases[i].cut) CHECK(strstr(err.msg, "cut by columns: its optimizer looks") != NULL);
        cr_json_free(root);
    }
}

TEST(machine) {
    static const struct {
        const char *text, *wrong;
    } cases[] = {
        {"{\"flops_per_core\": 1e9}", NULL},
        {"{\"machine\": {\"flops_per_core\": 1e9}}", NULL},
        {"{\"flops_per_core\": -1}", "must be a number above 0"},
        {"{\"flops_per_core\": \"fast\"}", "must be a number above 0"},
        {"{\"flops\": 1e9}", "none of the figures"},
        {"[]", "no JSON object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_planner_machine m = cr_planner_machine_default;
        cr_json *root;
        cr_err err;
        CHECK_INT(cr_json_parse(&root, cases[i].text, strlen(cases[i].text), &err), CR_OK);
        cr_code code = cr_planner_read_machine(root, "m.json", &m, &err);
        CHECK_INT(code, cases[i].wrong ? CR_ECONF : CR_OK);
        if (code == CR_OK)
            CHECK_NEAR(m.flops, 1e9, 0, 0);
        else
            CHECK(strstr(err.msg, cases[i].wrong) != NULL);
        cr_json_free(root);
    }
}

TEST_MAIN(CASE(round_trip), CASE(wrong), CASE(whole_rows), CASE(machine))
