/*
 * edit.c - --set and --edit_config_json: what they change, and where they say they are wrong.
 */
#include "toy.h"

static const char base_text[] =
    "model_dir: 'out'\n"
    "train_config { num_steps: 5 }\n"
    "train_config { lr: 0.5 }\n"
    "groups { group_name: 'a' feature_names: 'x' feature_names: 'y'\n"
    "  toy_deep { deep { hidden_units: 8 } dim: 4 } }\n"
    "groups { group_name: 'b' toy_flat { scale: 3 } group_type: WIDE }\n"
    "groups { group_name: 'c' toy_deep { deep {} } }\n";

/* Applies edits ("j" + text is --edit_config_json), binds, and gives findings or the YAML. */
static void check_edits(int line, const char *const *edits, const char *expected) {
    toy t;
    CHECK_INT(toy_parse(&t, PBTXT, base_text, sizeof base_text - 1), CR_OK);
    for (; *edits; edits++) {
        cr_code code = **edits == 'j'
                           ? cr_conf_edit_json(&t.doc, &toy_root_msg, *edits + 1, &t.diag)
                           : cr_conf_set(&t.doc, &toy_root_msg, *edits, false, &t.diag);
        CHECK((code == CR_OK) == (t.diag.n_errors == 0));
    }
    toy_bind(&t);
    if (t.diag.n == 0) cr_conf_print(&t.text, &toy_root_msg, t.doc.root, YAML);
    if (strcmp(t.text.data, expected) != 0) fprintf(stderr, "case of line %d\n", line);
    CHECK_STR(t.text.data, expected);
    toy_clear(&t);
}
#define EDIT(expected, ...)                                                                        \
    do {                                                                                           \
        const char *const edits_[] = {__VA_ARGS__, NULL};                                          \
        check_edits(__LINE__, edits_, expected);                                                   \
    } while (0)

#define HEAD  "model_dir: out\n"
#define TRAIN "train_config:\n  num_steps: 5\n  lr: 0.5\n"
#define GROUP_A                                                                                    \
    "groups:\n  - group_name: a\n    feature_names: [x, \"y\"]\n    toy_deep:\n      deep:\n"      \
    "        hidden_units: [8]\n      dim: 4\n"
#define GROUP_B "  - group_name: b\n    group_type: WIDE\n    toy_flat:\n      scale: 3\n"
#define GROUP_C "  - group_name: c\n    toy_deep:\n      deep: {}\n"

TEST(set_values) {
    EDIT(HEAD "train_config:\n  num_steps: 7\n  lr: 0.5\n" GROUP_A GROUP_B GROUP_C,
         "train_config.num_steps=7");
    EDIT("model_dir: \"a=b c\"\n" TRAIN GROUP_A GROUP_B GROUP_C, "model_dir=a=b c");
    EDIT("model_dir: \"\\x1D\"\n" TRAIN GROUP_A GROUP_B GROUP_C, "model_dir=\"\\x1d\"");
    EDIT("model_dir: \"null\"\n" TRAIN GROUP_A GROUP_B GROUP_C, "model_dir=null");
    EDIT(HEAD "train_config:\n  num_steps: 9\n" GROUP_A GROUP_B GROUP_C,
         "train_config={num_steps: 9}");
    EDIT(HEAD "train_config:\n  num_steps: 9\n  shuffle: true\n" GROUP_A GROUP_B GROUP_C,
         "train_config=num_steps: 9 shuffle: t");
}

TEST(set_lists) {
    /* signs of YAML are text where a list of texts gets its only one */
    EDIT(HEAD TRAIN
         "groups:\n  - group_name: a\n    feature_names: [\"?\"]\n"
         "    toy_deep:\n      deep:\n        hidden_units: [8]\n      dim: 4\n" GROUP_B GROUP_C,
         "groups[0].feature_names=?");
    EDIT("--set:1:14: unknown key 'learning_rate' in train_config; did you mean 'lr'?\n",
         "train_config.learning_rate=1");
    EDIT(HEAD TRAIN "groups:\n  - group_name: z\n    toy_flat: {}\n",
         "groups=[{group_name: z, toy_flat: {}}]");
    EDIT(HEAD TRAIN GROUP_A
         "  - group_name: b\n    feature_names: [p, q]\n    group_type: WIDE\n    toy_flat:\n"
         "      scale: 3\n" GROUP_C,
         "groups[1].feature_names=[p, q]");
    EDIT(HEAD TRAIN GROUP_A
         "  - group_name: b\n    feature_names: [p]\n    group_type: WIDE\n    toy_flat:\n"
         "      scale: 3\n" GROUP_C,
         "groups[-2].feature_names=p");
    EDIT(HEAD TRAIN GROUP_A GROUP_B GROUP_C "  - group_name: d\n    toy_flat: {}\n",
         "groups[3].group_name=d", "groups[3].toy_flat={}");
    EDIT(HEAD TRAIN
         "groups:\n  - group_name: a\n    feature_names: [x, w]\n    toy_deep:\n      deep:\n"
         "        hidden_units: [8]\n      dim: 4\n" GROUP_B GROUP_C,
         "groups[0].feature_names[1]=w");
}

TEST(set_oneof_and_maps) {
    /* choosing another member drops the one that was there */
    EDIT(HEAD TRAIN GROUP_A
         "  - group_name: b\n    group_type: WIDE\n    toy_deep:\n      deep: {}\n" GROUP_C,
         "groups[1].toy_deep={deep: {}}");
    EDIT(HEAD TRAIN GROUP_A "  - group_name: b\n    group_type: WIDE\n    toy_deep:\n      deep:\n"
                            "        bias: false\n" GROUP_C,
         "groups[1].toy_deep.deep.bias=False");
    EDIT(HEAD TRAIN GROUP_A GROUP_B
         "  - group_name: c\n    toy_deep:\n      deep: {}\n    vocab_dict:\n      \"k\": 3\n",
         "groups[2].vocab_dict={k: 3}");
    EDIT(HEAD TRAIN GROUP_A
         "  - group_name: b\n    group_type: DEEP\n    toy_flat:\n      scale: 3\n" GROUP_C,
         "groups[1].group_type=DEEP");
}

TEST(selectors) {
    const char *all_dims =
        HEAD TRAIN "groups:\n  - group_name: a\n    feature_names: [x, \"y\"]\n    group_type: "
                   "WIDE\n    toy_deep:\n"
                   "      deep:\n        hidden_units: [8]\n      dim: 4\n" GROUP_B
                   "  - group_name: c\n    group_type: WIDE\n    toy_deep:\n      deep: {}\n";
    EDIT(all_dims, "j{\"groups[:].group_type\": \"WIDE\"}");
    EDIT(all_dims, "j{\"groups[:].group_type\": 1}");
    EDIT(all_dims, "j{\"groups[0:9].group_type\": \"WIDE\"}");
    EDIT(all_dims, "j{\"groups[group_type=DEEP].group_type\": \"WIDE\"}");
    EDIT(all_dims, "j{\"groups[group_type<1].group_type\": \"WIDE\"}");
    EDIT(all_dims, "j{\"groups[0].group_type;groups[group_name=c].group_type\": \"WIDE;1\"}");
    EDIT(HEAD TRAIN
         "groups:\n  - group_name: a\n    feature_names: [x, \"y\"]\n    toy_deep:\n      deep:\n"
         "        hidden_units: [4, 5, 6]\n      dim: 4\n" GROUP_B GROUP_C,
         "j{\"groups[toy_deep.dim<=4].toy_deep.deep.hidden_units\": \"[4,5,6]\"}");
    EDIT(HEAD TRAIN
         "groups:\n  - group_name: a\n    feature_names: [x, \"y\"]\n    toy_deep:\n      deep:\n"
         "        hidden_units: [4]\n      dim: 4\n" GROUP_B GROUP_C,
         "j{\"groups[group_name=a].toy_deep.deep\": \"hidden_units: 4\"}");
    EDIT(HEAD TRAIN
         "groups:\n  - group_name: a\n    feature_names: [x, \"y\"]\n    toy_deep:\n      deep:\n"
         "        hidden_units: [4, 2]\n      dim: 4\n" GROUP_B GROUP_C,
         "j{\"groups[0].toy_deep.deep\": {\"hiddenUnits\": [4, 2]}}");
    EDIT(HEAD "train_config:\n  num_steps: 5\n  lr: 0.5\n  shuffle: true\n" GROUP_A GROUP_B GROUP_C,
         "j{\"train_config.shuffle\": true}");
}

/* of chosen items those that hold another member of the oneof are left alone */
TEST(members_of_many) {
    EDIT(HEAD TRAIN
         "groups:\n  - group_name: a\n    feature_names: [x, \"y\"]\n    toy_deep:\n      deep:\n"
         "        hidden_units: [8]\n      dim: 9\n" GROUP_B
         "  - group_name: c\n    toy_deep:\n      deep: {}\n      dim: 9\n",
         "groups[:].toy_deep.dim=9");
    EDIT("--set:1:13: none of the chosen items of 'groups' holds 'toy_deep'\n",
         "groups[1:2].toy_deep.dim=9");
    EDIT(HEAD TRAIN GROUP_A
         "  - group_name: b\n    group_type: WIDE\n    toy_deep:\n      deep: {}\n"
         "      dim: 9\n" GROUP_C,
         "groups[1].toy_deep={deep: {}, dim: 9}");
}

TEST(which_set) {
    toy t;
    CHECK_INT(toy_parse(&t, PBTXT, base_text, sizeof base_text - 1), CR_OK);
    CHECK_INT(cr_conf_set(&t.doc, &toy_root_msg, "train_config.num_step=7", true, &t.diag),
              CR_EUSAGE);
    CHECK_INT(cr_conf_set(&t.doc, &toy_root_msg,
                          "train_config.num_steps=a very long value that does not fit into a line",
                          true, &t.diag),
              CR_OK);
    toy_bind(&t);
    CHECK_STR(
        t.text.data,
        "--set 'train_config.num_step=7':1:14: unknown key 'num_step' in train_config; did "
        "you mean 'num_steps'?\n"
        "--set 'train_config.num_steps=a very long value that does not fit i...':1:24: "
        "num_steps: 'a very long value that does not fit into a line' is not an integer; give "
        "an integer from 0 to 4294967295\n");
    toy_clear(&t);
}

TEST(wrong_paths) {
    EDIT("--set:1:14: unknown key 'num_step' in train_config; did you mean 'num_steps'?\n",
         "train_config.num_step=7");
    EDIT("--set:1:1: unknown key 'qqqqqqqq' at the top level; see 'crank help ToyConfig' for its "
         "keys\n",
         "qqqqqqqq=7");
    EDIT("--set:1:10: '=' is missing in 'model_dir'; write key.path=value\n", "model_dir");
    EDIT("--set:1:14: a key is missing in the path; write a.b[0].c\n", "train_config.=1");
    EDIT("--set:1:11: 'model_dir' has no keys of its own; end the path there\n", "model_dir.x=1");
    EDIT("--set:1:10: 'model_dir' is not a list; remove '[0]'\n", "model_dir[0]=1");
    EDIT("--set:1:1: 'groups' is a list; choose items, as in groups[0] or groups[:]\n",
         "groups.group_name=1");
    EDIT("--set:1:8: 'groups' has 3 items; 7 is not among them\n", "groups[7].group_name=1");
    EDIT("--set:1:8: '[x]' is no selector; write [0], [1:3], [:] or [key=value]\n",
         "groups[x].group_name=1");
    EDIT("--set:1:8: no item of 'groups' has group_name=zz; there are 3 items\n",
         "groups[group_name=zz].group_name=1");
    EDIT("--set:1:8: unknown key 'group_nam' in ToyGroup; did you mean 'group_name'?\n",
         "groups[group_nam=a].group_name=1");
    EDIT("--set:1:19: 'x' cannot be compared with group_type; give a value of its type\n",
         "groups[group_type=x].group_name=1");
    EDIT("--set:1:7: '[' is never closed; add ']'\n", "groups[0=1");
    EDIT("--edit_config_json:1:16: unknown key 'num_step' in train_config; did you mean "
         "'num_steps'?\n",
         "j{\"train_config.num_step\": 7}");
    EDIT(
        "--edit_config_json:1:2: 'model_dir;train_config.lr' has fewer values than paths; give one "
        "value for each path\n",
        "j{\"model_dir;train_config.lr\": \"x\"}");
    EDIT("--edit_config_json:1:8: not valid JSON: invalid escape '_' in double-quoted string; "
         "remove "
         "the backslashes, or write \\\\ for one\n",
         "j{\"train\\_config.num_steps\": 1}");
    EDIT("--set:1:1: unknown key 'groups\\' at the top level; remove the backslashes\n",
         "groups\\[0\\].group_name=1");
    EDIT("--edit_config_json:1:14: not valid JSON: Invalid JSON plain scalar; correct it here\n",
         "j{\"model_dir\":x}");
    EDIT("--edit_config_json:1:2: 'model_dir' takes text; write its values as \"a;b\"\n",
         "j{\"model_dir\": null}");
}

TEST(wrong_values) {
    EDIT("--set:1:24: num_steps: 'x' is not an integer; give an integer from 0 to 4294967295\n",
         "train_config.num_steps=x");
    EDIT("--set:1:26: unknown key 'num_step' in train_config; did you mean 'num_steps'?\n",
         "train_config={lr: 1,     num_step: 9}");
    EDIT("--edit_config_json:2:22: lr: 99 is out of range; give a number from 0 to 10\n",
         "j{\n\"train_config.lr\":  \"99\"}");
    EDIT("--set:1:13: groups: found 'b'; give a block of keys (see 'crank help ToyGroup')\n",
         "groups=[{}, b]", "groups[0]={group_name: z, toy_flat: {}}");
}

TEST_MAIN(CASE(set_values), CASE(set_lists), CASE(set_oneof_and_maps), CASE(selectors),
          CASE(members_of_many), CASE(which_set), CASE(wrong_paths), CASE(wrong_values))
