/*
 * diff.c - which keys of two configs differ: exact lines, with the toy schema.
 */
#include "toy.h"

static void add_line(void *ctx, const char *path, const char *a, const char *b) {
    cr_buf_printf(ctx, "%s: %s | %s\n", path, a ? a : "-", b ? b : "-");
}

/* the lines of a against b */
static void check_diff(const char *a, const char *b, const char *expected) {
    toy x, y;
    cr_buf out;
    cr_buf_init(&out);
    cr_buf_str(&out, "");
    toy_load(&x, YAML, a);
    toy_load(&y, YAML, b);
    CHECK_STR(x.text.data, "");
    CHECK_STR(y.text.data, "");
    cr_conf_diff(x.root, y.root, add_line, &out);
    CHECK_STR(out.data, expected);
    cr_buf_clear(&out);
    toy_clear(&x);
    toy_clear(&y);
}

TEST(values) {
    check_diff("train_config: {lr: 0.002, seed: 1}\n", "train_config: {}\n", "");
    check_diff("train_config: {lr: 1e-2}\nmodel_dir: a\n", "train_config: {shuffle: true}\n",
               "model_dir: \"a\" | \"\" (default)\n"
               "train_config.lr: 0.01 | 0.002 (default)\n"
               "train_config.shuffle: false (default) | true\n");
    check_diff("train_config: {num_steps: 3, lr: 1}\n", "model_dir: \"\"\n",
               "train_config: {num_steps: 3, lr: 1} | -\n");
}

TEST(choices) {
    check_diff("groups: [{group_name: g, toy_deep: {deep: {hidden_units: [4]}, dim: 8}}]\n",
               "groups: [{group_name: g, toy_deep: {deep: {hidden_units: [4, 2]}}}]\n",
               "groups[g].toy_deep.deep.hidden_units: [4] | [4, 2]\n"
               "groups[g].toy_deep.dim: 8 | 16 (default)\n");
    check_diff("groups: [{group_name: g, toy_deep: {deep: {}}}]\n",
               "groups: [{group_name: g, toy_flat: {}}]\n",
               "groups[g].<model>: toy_deep | toy_flat\n");
}

/* items are matched by name: one more, one less, another order */
TEST(lists) {
    const char *abc = "groups:\n"
                      "  - {group_name: a, toy_flat: {}}\n"
                      "  - {group_name: b, toy_flat: {}}\n"
                      "  - {group_name: c, toy_flat: {scale: 2}}\n";
    check_diff(abc, abc, "");
    check_diff(abc,
               "groups:\n"
               "  - {group_name: new, toy_flat: {}}\n"
               "  - {group_name: a, toy_flat: {}}\n"
               "  - {group_name: c, toy_flat: {scale: 3}}\n",
               "groups[b]: {group_name: b, toy_flat: {}} | -\n"
               "groups[c].toy_flat.scale: 2 | 3\n"
               "groups[new]: - | {group_name: new, toy_flat: {}}\n");
    check_diff(abc,
               "groups:\n"
               "  - {group_name: b, toy_flat: {}}\n"
               "  - {group_name: a, toy_flat: {}}\n"
               "  - {group_name: c, toy_flat: {scale: 2}}\n",
               "groups (order): [a, b, c] | [b, a, c]\n");
    /* two of one name are matched one by one */
    check_diff("groups: [{group_name: a, toy_flat: {scale: 2}}, {group_name: a, toy_flat: {}}]\n",
               "groups: [{group_name: a, toy_flat: {}}, {group_name: a, toy_flat: {}}]\n",
               "groups[a].toy_flat.scale: 2 | 1 (default)\n");
}

TEST_MAIN(CASE(values), CASE(choices), CASE(lists))
