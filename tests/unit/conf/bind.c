/*
 * bind.c - values of every type from every syntax, and the exact text and place of each mistake.
 */
#include "toy.h"

static const char *const whole[] = {
    /* YAML */
    "model_dir: out\n"
    "train_config:\n"
    "  num_steps: 1e3\n"
    "  seed: 0xffffffffffffffff\n"
    "  lr: .5\n"
    "  shuffle: True\n"
    "  delimiter: \"\\x1d\"\n"
    "  offset: -0o17\n"
    "groups:\n"
    "  - group_name: 17\n"
    "    feature_names: [a, b]\n"
    "    group_type: WIDE\n"
    "    kinds: [DEEP, 1]\n"
    "    toy_deep:\n"
    "      deep:\n"
    "      T_max: 9\n"
    "    vocab_dict: {x: 2, y: 3}\n"
    "    value_map: {z: -1.5}\n"
    "    params: {p: {q: [1, two]}, s: \"3\"}\n",
    /* protobuf text */
    "model_dir: 'o' \"ut\"\n"
    "train_config: < num_steps: 01750; seed: 18446744073709551615,\n"
    "  lr: 5e-1f shuffle: t delimiter: '\\035' offset: -0xF >\n"
    "groups {\n"
    "  group_name: \"17\"\n"
    "  feature_names: 'a' feature_names: 'b'\n"
    "  group_type: 1 kinds: DEEP kinds: [WIDE]\n"
    "  toy_deep { deep {} } toy_deep { T_max: 9 }\n"
    "  vocab_dict { key: 'x' value: 2 } vocab_dict: [{key: 'y' value: 3}]\n"
    "  value_map { key: 'z' value: -1.5 }\n"
    "  params { fields { key: 'p' value { struct_value { fields { key: 'q' value { list_value {\n"
    "    values { number_value: 1 } values { string_value: 'two' } } } } } } }\n"
    "    fields { key: 's' value { string_value: '3' } } }\n"
    "}\n",
    /* JSON */
    "{\"modelDir\": \"out\", \"trainConfig\": {\"numSteps\": \"1000\", \"numEpochs\": null,\n"
    "  \"seed\": \"18446744073709551615\", \"lr\": 0.5, \"shuffle\": true, \"delimiter\": "
    "\"\\u001d\",\n"
    "  \"offset\": -15}, \"groups\": [{\"groupName\": \"17\", \"feature_names\": [\"a\", \"b\"],\n"
    "  \"groupType\": \"WIDE\", \"kinds\": [0, \"WIDE\"], \"toyDeep\": {\"deep\": {}, \"TMax\": "
    "9},\n"
    "  \"vocabDict\": {\"x\": 2, \"y\": \"3\"}, \"valueMap\": {\"z\": -1.5},\n"
    "  \"params\": {\"p\": {\"q\": [1, \"two\"]}, \"s\": \"3\"}}]}\n",
};

TEST(all_types_in_all_syntaxes) {
    for (int i = 0; i < 3; i++) {
        toy t;
        toy_load(&t, i == 0 ? YAML : i == 1 ? PBTXT : JSON, whole[i]);
        CHECK_STR(t.text.data, "");
        if (!t.root) continue;
        CHECK_STR(t.root->model_dir, "out");
        const toy_train *tr = t.root->train_config;
        CHECK_INT(tr->num_steps, 1000);
        CHECK_INT(tr->num_epochs, 0);
        CHECK(tr->seed == UINT64_MAX);
        CHECK(tr->lr == 0.5);
        CHECK(tr->shuffle);
        CHECK(tr->cudnn_allow_tf32);
        CHECK_STR(tr->delimiter, "\x1d");
        CHECK_INT(tr->offset, -15);
        CHECK(cr_conf_has(tr, "num_steps") && !cr_conf_has(tr, "num_epochs"));
        CHECK_INT(t.root->groups.n, 1);
        const toy_group *g = t.root->groups.v[0];
        CHECK_STR(g->group_name, "17");
        CHECK_INT(g->feature_names.n, 2);
        CHECK_STR(g->feature_names.v[1], "b");
        CHECK_INT(g->group_type, 1);
        CHECK_INT(g->kinds.n, 2);
        CHECK_INT(g->kinds.v[1], 1);
        CHECK_STR(g->model.m ? g->model.m->key : NULL, "toy_deep");
        CHECK(cr_conf_has(g, "model") && cr_conf_has(g, "toy_deep") && !cr_conf_has(g, "toy_flat"));
        const toy_deep *d = g->model.conf;
        CHECK_INT(d->T_max, 9);
        CHECK_INT(d->dim, 16);
        CHECK(d->deep && d->deep->hidden_units.n == 0 && d->deep->bias);
        CHECK_STR(d->deep->activation, "nn.ReLU");
        CHECK_INT(g->vocab_dict.n, 2);
        CHECK_STR(g->vocab_dict.v[1].key, "y");
        CHECK_INT(g->vocab_dict.v[1].i, 3);
        CHECK(g->value_map.n == 1 && g->value_map.v[0].f == -1.5);
        const cr_conf_node *q = cr_conf_find(cr_conf_find(g->params, "p"), "q");
        CHECK(q && q->kind == CR_NODE_LIST && q->n == 2);
        if (q && q->n == 2) CHECK_STR(q->v[1].val->text, "two");
        CHECK(cr_conf_find(g->params, "s") && cr_conf_find(g->params, "s")->quoted);
        toy_clear(&t);
    }
}

TEST(unknown_keys) {
    FINDINGS(
        YAML, "train_config:\n  num_step: 5\nmodeldir: x\nqqqqqq: 1\n",
        "f:2:3: unknown key 'num_step' in train_config; did you mean 'num_steps'?\n"
        "f:3:1: unknown key 'modeldir' at the top level; did you mean 'model_dir'?\n"
        "f:4:1: unknown key 'qqqqqq' at the top level; see 'crank help ToyConfig' for its keys, "
        "or remove it if it is newer than Toy 1.2\n");
    FINDINGS(PBTXT, "groups { group_name: 'a' toy_dep { deep {} } toy_flat {} }",
             "f:1:26: unknown key 'toy_dep' in groups; did you mean 'toy_deep'?\n");
    FINDINGS(YAML, "model\\_dir: x",
             "f:1:1: unknown key 'model\\_dir' at the top level; remove the backslashes\n");
    /* camelCase belongs to JSON */
    FINDINGS(YAML, "modelDir: x\n",
             "f:1:1: unknown key 'modelDir' at the top level; did you mean 'model_dir'?\n");
}

TEST(wrong_types) {
    FINDINGS(YAML,
             "model_dir: [a]\n"
             "train_config:\n"
             "  num_steps: abc\n"
             "  num_epochs: \"3\"\n"
             "  seed: -1\n"
             "  lr: {}\n"
             "  shuffle: yes\n"
             "  delimiter:\n"
             "  offset: 1.5\n",
             "f:1:12: model_dir: found a list; give a string\n"
             "f:3:14: num_steps: 'abc' is not an integer; give an integer from 0 to 4294967295\n"
             "f:4:15: num_epochs: \"3\" is a string; give an integer from 0 to 4294967295, without "
             "quotes\n"
             "f:5:9: seed: -1 is out of range; give an integer of at least 0\n"
             "f:6:7: lr: found a mapping; give a number from 0 to 10\n"
             "f:7:12: shuffle: 'yes' is not a bool; give true or false\n"
             "f:8:3: delimiter: found nothing; give a string\n"
             "f:9:11: offset: '1.5' is not an integer; give an integer of at most 5\n");
    FINDINGS(
        PBTXT, "model_dir: out\ntrain_config: 5\ngroups: [1]\n",
        "f:1:12: model_dir: 'out' is not in quotes; write \"out\"\n"
        "f:2:15: train_config: found '5'; give a block of keys (see 'crank help TrainConfig')\n"
        "f:3:10: groups: found '1'; give a block of keys (see 'crank help ToyGroup')\n");
    FINDINGS(JSON, "{\"model_dir\": 5}", "f:1:15: model_dir: '5' is not in quotes; write \"5\"\n");
    FINDINGS(YAML, "model_dir: \"a\\0b\"\n",
             "f:1:12: model_dir: the string holds a NUL character; remove it\n");
}

TEST(names_of_other_tools) {
    FINDINGS(YAML, "train_config: {learning_rate: 1}\n",
             "f:1:16: unknown key 'learning_rate' in train_config; did you mean 'lr'?\n");
    /* only where the message has the key that is meant */
    FINDINGS(YAML, "train_config: {gauc: 1}\n",
             "f:1:16: unknown key 'gauc' in train_config; see 'crank help TrainConfig' for its "
             "keys, or remove it if it is newer than Toy 1.2\n");
}

TEST(ranges) {
    FINDINGS(PBTXT, "train_config { num_steps: 4294967296 lr: nan offset: 6 num_epochs: -1 }",
             "f:1:27: num_steps: 4294967296 is out of range; give an integer from 0 to 4294967295\n"
             "f:1:42: lr: nan is out of range; give a number from 0 to 10\n"
             "f:1:54: offset: 6 is out of range; give an integer of at most 5\n"
             "f:1:68: num_epochs: -1 is out of range; give an integer from 0 to 4294967295\n");
    FINDINGS(YAML, "train_config: {seed: 18446744073709551616}\n",
             "f:1:22: seed: 18446744073709551616 is out of range; give an integer from 0 to "
             "18446744073709551615\n");
    FINDINGS(YAML, "train_config: {num_steps: 99999999999999999999, offset: -99999999999999999999}",
             "f:1:27: num_steps: 99999999999999999999 is out of range; give an integer from 0 to "
             "4294967295\n"
             "f:1:57: offset: -99999999999999999999 is out of range; give an integer from "
             "-9223372036854775808 to 5\n");
    FINDINGS(PBTXT, "train_config { num_steps: 99999999999999999999 offset: inf }",
             "f:1:27: num_steps: 99999999999999999999 is out of range; give an integer from 0 to "
             "4294967295\n"
             "f:1:56: offset: 'inf' is not an integer; give an integer of at most 5\n");
    FINDINGS(YAML, "groups: [{group_name: a, toy_flat: {scale: -.inf}}]\n", "");
}

TEST(enums) {
    FINDINGS(YAML,
             "groups:\n- group_name: a\n  toy_flat:\n  group_type: WYDE\n  kinds: [7, SEQUENCE, "
             "nonsense, \"DEEP\"]\n",
             "f:4:15: group_type: unknown value 'WYDE'; did you mean 'WIDE'?\n"
             "f:5:11: kinds: unknown value '7'; give one of DEEP, WIDE\n"
             "f:5:14: kinds: 'SEQUENCE' is known but not available in this version; use DEEP or "
             "WIDE\n"
             "f:5:24: kinds: unknown value 'nonsense'; give one of DEEP, WIDE\n");
    FINDINGS(PBTXT, "groups { group_name: 'a' toy_flat {} group_type: 'DEEP' }",
             "f:1:50: group_type: \"DEEP\" is a string; give one of DEEP, WIDE, without quotes\n");
}

TEST(required_and_oneofs) {
    FINDINGS(PBTXT, "groups {\n  toy_flat {}\n  toy_deep {}\n}\ngroups { group_name: 'b' }\n",
             "f:1:1: 'group_name' is missing in groups; add it: name of the group\n"
             "f:3:3: model: 'toy_deep' and 'toy_flat' (line 2) are both given; keep one\n"
             "f:5:1: no model is given in groups; give one of toy_deep, toy_flat\n");
    FINDINGS(YAML, "groups:\n  - toy_deep:\n      dim: 1\n",
             "f:2:5: 'deep' is missing in toy_deep; add it: the deep part\n"
             "f:2:5: 'group_name' is missing in groups; add it: name of the group\n");
    /* a misspelled key is one mistake, not also a missing field */
    FINDINGS(PBTXT, "groups { group_nam: 'a' toy_flt {} }\n",
             "f:1:10: unknown key 'group_nam' in groups; did you mean 'group_name'?\n"
             "f:1:25: unknown key 'toy_flt' in groups; did you mean 'toy_flat'?\n");
    FINDINGS(PBTXT, "groups { group_name: 'a' qqqqqqqq {} }\n",
             "f:1:26: unknown key 'qqqqqqqq' in groups; give one of toy_deep, toy_flat\n");
}

TEST(inside_what_is_refused) {
    /* a refused block is one mistake, whatever stands in it */
    FINDINGS(YAML,
             "train_config:\n"
             "  dump: {num_exprt: 1}\n"
             "groups:\n"
             "  - {group_name: a, toy_far: {num_exprt: 4}}\n"
             "  - {group_name: b, toy_far: {num_expert: many, near: [{dim: 1}, 7]}}\n",
             "f:2:3: warning: 'dump' has no effect on a CPU; it is ignored\n"
             "f:4:21: model 'toy_far' is known but not available in this version; available: "
             "toy_deep, toy_flat\n"
             "f:5:21: model 'toy_far' is known but not available in this version; available: "
             "toy_deep, toy_flat\n");
}

TEST(refused) {
    toy t;
    toy_load(&t, YAML,
             "train_config: {num_stepz: 1, num_epochs: x, lr: 0.1, mixed_precision: BF16}\n"
             "groups:\n"
             "  - {group_name: a, toy_far: {}}\n"
             "  - {group_name: b, toy_flat: {scal: 1}}\n"
             "  - {group_name: c, qqqqqqqq: {}}\n");
    const toy_train *c = t.root->train_config;
    CHECK(cr_conf_refused(c, "num_steps") && !cr_conf_has(c, "num_steps"));
    CHECK(cr_conf_refused(c, "num_epochs") && cr_conf_refused(c, "mixed_precision"));
    CHECK(!cr_conf_refused(c, "lr") && !cr_conf_refused(c, "seed") && !cr_conf_refused(c, "none"));
    CHECK(t.root->groups.n == 3);
    const toy_group *a = t.root->groups.v[0], *b = t.root->groups.v[1], *d = t.root->groups.v[2];
    CHECK(cr_conf_refused(a, "model") && !a->model.m);
    CHECK(!cr_conf_refused(b, "model") && b->model.m); /* the mistake is inside */
    CHECK(cr_conf_refused(d, "model") && !d->model.m);
    toy_clear(&t);
}

TEST(later_and_gpu) {
    FINDINGS(YAML,
             "train_config:\n"
             "  cudnn_allow_tf32: false\n"
             "  mixed_precision: BF16\n"
             "  dump: {num_expert: 1}\n"
             "groups:\n"
             "  - {group_name: a, toy_far: {num_expert: 4}}\n",
             "f:2:3: warning: 'cudnn_allow_tf32' has no effect on a CPU; it is ignored\n"
             "f:3:3: 'mixed_precision' is known but not available in this version; remove it\n"
             "f:4:3: warning: 'dump' has no effect on a CPU; it is ignored\n"
             "f:6:21: model 'toy_far' is known but not available in this version; available: "
             "toy_deep, toy_flat\n");
    /* a later field that says its default asks for nothing */
    FINDINGS(YAML, "train_config: {mixed_precision: \"\"}\n", "");
    /* one warning per name, however often it is used */
    FINDINGS(PBTXT, "train_config { cudnn_allow_tf32: 1 }\ntrain_config { cudnn_allow_tf32: 0 }",
             "f:1:16: warning: 'cudnn_allow_tf32' has no effect on a CPU; it is ignored\n");
}

/* a key that is another name of a row */
TEST(aliases) {
    toy t;
    static const char *const texts[] = {"train_config { shift: -7 }", "train_config: {shift: -7}",
                                        "{\"train_config\": {\"shift\": -7}}"};
    for (int i = 0; i < 3; i++) {
        toy_load(&t, (cr_syntax[]){PBTXT, YAML, JSON}[i], texts[i]);
        CHECK_STR(t.text.data ? t.text.data : "", "");
        CHECK_INT(t.root->train_config->offset, -7);
        CHECK(cr_conf_has(t.root->train_config, "offset"));
        CHECK_INT(cr_conf_at(t.root->train_config, "offset").col, i == 2 ? 28 : 23);
        toy_clear(&t);
    }
    FINDINGS(YAML, "train_config:\n  shift: 1\n  offset: 2\n",
             "f:3:3: offset and shift are one thing; keep one\n");
    FINDINGS(YAML, "train_config: {shift: 9}\n",
             "f:1:23: offset: 9 is out of range; give an integer of at most 5\n");
    FINDINGS(YAML, "train_config: {trace: {}}\n",
             "f:1:16: warning: 'trace' has no effect in this version; look at the log\n");
}

TEST(merge_of_protobuf_text) {
    toy t;
    toy_load(&t, PBTXT,
             "model_dir: 'a' model_dir: 'b'\n"
             "train_config { num_steps: 5 lr: 0.1 }\n"
             "train_config { num_steps: 6 }\n");
    CHECK_STR(
        t.text.data,
        "f:1:16: warning: 'model_dir' was given on line 1 already; this one counts, remove the "
        "other\n"
        "f:3:16: warning: 'num_steps' was given on line 2 already; this one counts, remove the "
        "other\n");
    CHECK_STR(t.root->model_dir, "b");
    CHECK_INT(t.root->train_config->num_steps, 6);
    CHECK_NEAR(t.root->train_config->lr, 0.1, 0, 1e-12);
    cr_loc at = cr_conf_at(t.root->train_config, "num_steps");
    CHECK(at.line == 3 && at.col == 27);
    toy_clear(&t);
}

TEST(maps) {
    FINDINGS(
        YAML,
        "groups:\n- group_name: a\n  toy_flat:\n  vocab_dict: {x: y}\n  value_map: [{key: a, "
        "value: 1, extra: 2}, 5]\n",
        "f:4:19: vocab_dict: 'y' is not an integer; give an integer of at least 0\n"
        "f:5:34: unknown key 'extra' in an entry of value_map; an entry has 'key' and 'value'\n"
        "f:5:45: value_map: found '5'; give a mapping of names to numbers\n");
    toy t;
    toy_load(&t, PBTXT,
             "groups { group_name: 'a' toy_flat {} vocab_dict { key: 'k' value: 1 }\n"
             " vocab_dict { key: 'k' value: 2 } vocab_dict {} }");
    CHECK_STR(t.text.data, "");
    const toy_group *g = t.root->groups.v[0];
    CHECK_INT(g->vocab_dict.n, 2);
    CHECK_INT(g->vocab_dict.v[0].i, 2);
    CHECK_STR(g->vocab_dict.v[1].key, "");
    toy_clear(&t);
}

TEST(structs) {
    static const char *const bad[] = {"a: 1",
                                      "fields { value {} }",
                                      "fields { key: 'a' }",
                                      "fields { key: 'a' value { strin_value: 'b' } }",
                                      "fields { key: 'a' value { number_value: 'b' } }",
                                      "fields { key: 'a' value { list_value { x: 1 } } }"};
    static const int cols[] = {47, 47, 47, 73, 73, 86};
    for (int i = 0; i < 6; i++) {
        char text[200], expected[200];
        snprintf(text, sizeof text, "groups { group_name: 'a' toy_flat {} params { %s } }", bad[i]);
        snprintf(expected, sizeof expected,
                 "f:1:%d: params: not a google.protobuf.Struct; write fields { key: \"a\" value { "
                 "string_value: \"b\" } }\n",
                 cols[i]);
        FINDINGS(PBTXT, text, expected);
    }
    FINDINGS(YAML, "groups: [{group_name: a, toy_flat: {}, params: 5}]\n",
             "f:1:48: params: found '5'; give a block of keys\n");
}

TEST(places_and_checks) {
    FINDINGS(YAML, "train_config:\n  num_steps: 1\n  num_epochs: 2\n",
             "f:3:15: num_epochs and num_steps are both set; keep one\n");
    toy t;
    toy_load(&t, PBTXT,
             "groups {\n group_name: 'a' toy_flat {}\n feature_names: ['x',\n 'y']\n"
             " feature_names: 'z' }");
    const toy_group *g = t.root->groups.v[0];
    cr_loc at = cr_conf_at_item(g, "feature_names", 1);
    CHECK(at.line == 4 && at.col == 2);
    at = cr_conf_at_item(g, "feature_names", 2);
    CHECK(at.line == 5 && at.col == 17);
    at = cr_conf_at(g, "kinds");
    CHECK(at.line == 1 && at.col == 1);
    at = cr_conf_at(g, "model");
    CHECK(at.line == 2 && at.col == 18);
    toy_clear(&t);
}

TEST(nothing_given) {
    cr_arena a;
    cr_diag d;
    cr_arena_init(&a, 0);
    cr_diag_init(&d);
    const toy_train *tr = cr_conf_bind(&a, &toy_train_msg, NULL, &d);
    CHECK(tr->seed == 1 && tr->lr == 0.002 && tr->base.set.bits[0] == 0 && !tr->base.node);
    CHECK_INT(d.n, 0);
    CHECK(!cr_conf_has(tr, "lr") && !cr_conf_at(tr, "lr").path);
    cr_diag_clear(&d);
    cr_arena_clear(&a);
}

TEST_MAIN(CASE(all_types_in_all_syntaxes), CASE(unknown_keys), CASE(wrong_types),
          CASE(names_of_other_tools), CASE(ranges), CASE(enums), CASE(required_and_oneofs),
          CASE(inside_what_is_refused), CASE(refused), CASE(later_and_gpu), CASE(aliases),
          CASE(merge_of_protobuf_text), CASE(maps), CASE(structs), CASE(places_and_checks),
          CASE(nothing_given))
