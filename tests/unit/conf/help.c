/*
 * help.c - help topics and reference pages of the toy schema, as exact text.
 */
#include "toy.h"

static void check_help(const char *topic, const char *expected, const char *near_expected) {
    cr_buf out;
    char near[CR_CONF_NEAR] = "unset";
    cr_buf_init(&out);
    cr_buf_str(&out, "");
    CHECK_INT(cr_conf_help(&out, &toy_root_msg, topic, near), expected != NULL);
    CHECK_STR(out.data, expected ? expected : "");
    CHECK_STR(near, near_expected ? near_expected : "");
    cr_buf_clear(&out);
}

TEST(fields) {
    check_help("train_config.num_steps",
               "num_steps: integer from 0 to 4294967295, default 0\n    steps to train\n", NULL);
    check_help(
        "train_config.cudnn_allow_tf32",
        "cudnn_allow_tf32: bool, default true, no effect on a CPU\n    GPU convolutions in TF32\n",
        NULL);
    check_help("train_config.delimiter", "delimiter: string, default \",\"\n    between columns\n",
               NULL);
    check_help(
        "train_config.seed",
        "seed: integer of at least 0, default 1, crank only\n    seed of all random numbers\n",
        NULL);
    check_help("groups[0].group_type",
               "group_type: DEEP | WIDE | SEQUENCE (later), default DEEP\n    how it is used\n"
               "    DEEP                 through the deep part\n"
               "    WIDE                 through the wide part\n"
               "    SEQUENCE             as a sequence (not in this version)\n",
               NULL);
    check_help("MLP.hidden_units",
               "hidden_units: list of integers from 1 to 4294967295\n    width of each layer\n",
               NULL);
    check_help("toy_deep.dim",
               "dim: integer from 1 to 4096, default 16\n    width of every embedding\n", NULL);
    check_help("scale", "in ToyFlat:\n  scale: number, default 1\n      factor\n", NULL);
}

TEST(messages) {
    check_help("toy_deep",
               "toy_deep (ToyDeep): deep and wide\n"
               "\n  deep: MLP, required\n      the deep part\n"
               "\n  dim: integer from 1 to 4096, default 16\n      width of every embedding\n"
               "\n  T_max: integer from 0 to 4294967295, default 7\n      steps of one period\n",
               NULL);
    check_help("toyflat", "ToyFlat: nothing deep\n\n  scale: number, default 1\n      factor\n",
               NULL);
    check_help(
        "groups",
        "groups: list of ToyGroup\n    feature groups\n\n"
        "groups (ToyGroup): features that go together\n"
        "\n  group_name: string, required\n      name of the group\n"
        "\n  feature_names: list of strings\n      features in it\n"
        "\n  group_type: DEEP | WIDE | SEQUENCE (later), default DEEP\n      how it is used\n"
        "\n  kinds: list of DEEP | WIDE | SEQUENCE (later)\n      several ways\n"
        "\n  one of these (model):\n"
        "    toy_deep                 deep and wide\n"
        "    toy_flat                 nothing deep\n"
        "    toy_far                  of a later version (not in this version)\n"
        "\n  vocab_dict: mapping of names to integers\n      value to id\n"
        "\n  value_map: mapping of names to numbers\n      value to number\n"
        "\n  params: free mapping\n      free parameters\n",
        NULL);
}

TEST(nothing_found) {
    check_help("toy_dep", NULL, "toy_deep");
    check_help("num_stepz", NULL, "num_steps");
    check_help("xyzzyxyzzy", NULL, NULL);
    check_help("train_config.nothing", NULL, "train_config");
    check_help("train_config.num_step", NULL, "train_config.num_steps");
    check_help("groups[0].toy_deep.dimm", NULL, "groups[0].toy_deep.dim");
    check_help(
        "",
        "ToyConfig: a whole config\n\n  model_dir: string, default \"\"\n      where results go\n"
        "\n  train_config: TrainConfig\n      training\n"
        "\n  groups: list of ToyGroup\n      feature groups\n",
        NULL);
}

static void page(void *ctx, const cr_msg *msg, const char *text) {
    cr_buf *out = ctx;
    cr_buf_printf(out, "=== %s\n%s", msg->name, text);
}

TEST(pages) {
    cr_buf out;
    cr_buf_init(&out);
    cr_conf_reference(&toy_root_msg, page, &out);
    static const char *const order[] = {"=== ToyConfig", "=== TrainConfig", "=== ToyGroup",
                                        "=== ToyFar",    "=== ToyDeep",     "=== ToyFlat",
                                        "=== MLP"};
    const char *at = out.data;
    for (int i = 0; i < 7; i++) {
        const char *next = strstr(at, order[i]);
        CHECK(next != NULL);
        if (next) at = next;
    }
    const char *deep = strstr(out.data, "=== ToyDeep\n");
    CHECK(deep != NULL);
    static const char expected[] =
        "=== ToyDeep\n"
        "# ToyDeep\n\ndeep and wide.\n\nUsed in [ToyGroup](ToyGroup.md).\n"
        "\n| key | type | default | meaning |\n|---|---|---|---|\n"
        "| `deep` | [MLP](MLP.md) | required | the deep part |\n"
        "| `dim` | integer from 1 to 4096 | `16` | width of every embedding |\n"
        "| `T_max` | integer from 0 to 4294967295 | `7` | steps of one period |\n"
        "=== ToyFlat\n";
    if (deep) CHECK(strncmp(deep, expected, sizeof expected - 1) == 0);
    CHECK(strstr(out.data,
                 "| `cudnn_allow_tf32` | bool | `true` | GPU convolutions in TF32; *no effect on a "
                 "CPU* |\n") != NULL);
    CHECK(strstr(out.data,
                 "\nExactly one of these keys (model):\n\n| key | message | meaning |\n"
                 "|---|---|---|\n| `toy_deep` | [ToyDeep](ToyDeep.md) | deep and wide |\n") !=
          NULL);
    CHECK(strstr(out.data, "| `SEQUENCE` | 2 | as a sequence; *not in this version* |\n") != NULL);
    CHECK(strstr(out.data,
                 "=== ToyFar\n# ToyFar\n\nof a later version. *Not in this version.*\n") != NULL);
    CHECK(strstr(out.data, "\nThis version does not read its keys.\n") != NULL);
    cr_buf_clear(&out);
}

TEST_MAIN(CASE(fields), CASE(messages), CASE(nothing_found), CASE(pages))
