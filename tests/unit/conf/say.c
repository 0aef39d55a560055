/*
 * say.c - config text of messages in the syntax of the user's file.
 */
#include "toy.h"

static void says(cr_syntax from, const char *path, const char *value, const char *want) {
    cr_conf_base conf = {.from = from};
    CHECK_STR(CR_SAY(&conf, path, "%s", value), want);
}

TEST(scalars) {
    static const char *const same[][2] = {{"1e-3", "lr: 1e-3"}, {"true", "lr: true"}};
    for (int i = 0; i < 2; i++) {
        says(YAML, "lr", same[i][0], same[i][1]);
        says(PBTXT, "lr", same[i][0], same[i][1]);
    }
    says(JSON, "lr", "1e-3", "\"lr\": 1e-3");
    says(JSON, "lr", "false", "\"lr\": false");
    says(YAML, "data_config.fg_mode", "FG_DAG", "fg_mode: FG_DAG in data_config");
    says(PBTXT, "a.b.fg_mode", "FG_DAG", "fg_mode: FG_DAG in a.b");
    says(JSON, "data_config.fg_mode", "FG_DAG", "\"fg_mode\": \"FG_DAG\" in data_config");
    says(PBTXT, "label_fields", "\"a\\\"b, c\"", "label_fields: \"a\\\"b, c\"");
    says(JSON, "label_fields", "\"<column>\"", "\"label_fields\": \"<column>\"");
}

TEST(lists_and_messages) {
    const char *ema = "{decay: 0.999, on: [1, 2], in: {}}";
    says(YAML, "ema", ema, "ema: {decay: 0.999, on: [1, 2], in: {}}");
    says(PBTXT, "ema", ema, "ema { decay: 0.999 on: [1, 2] in {} }");
    says(JSON, "ema", ema, "\"ema\": {\"decay\": 0.999, \"on\": [1, 2], \"in\": {}}");
    const char *losses = "[{l2_loss: {}}, {jrc_loss: {alpha: 0.5}}]";
    says(YAML, "losses", losses, "losses: [{l2_loss: {}}, {jrc_loss: {alpha: 0.5}}]");
    says(PBTXT, "losses", losses, "losses { l2_loss {} } losses { jrc_loss { alpha: 0.5 } }");
    says(JSON, "losses", losses,
         "\"losses\": [{\"l2_loss\": {}}, {\"jrc_loss\": {\"alpha\": 0.5}}]");
    says(PBTXT, "names", "[\"a\", \"b\"]", "names: [\"a\", \"b\"]");
    says(JSON, "names", "[a, []]", "\"names\": [\"a\", []]");
}

/* a struct knows the syntax of its file, also where nothing was given or a flag gave it */
TEST(from_the_file) {
    static const struct {
        cr_syntax syntax;
        const char *text, *want;
    } files[] = {{YAML, "train_config: {num_steps: 1}", "lr: 1"},
                 {JSON, "{\"trainConfig\": {\"numSteps\": 1}}", "\"lr\": 1"}};
    for (int i = 0; i < 2; i++) {
        toy t;
        CHECK_INT(toy_parse(&t, files[i].syntax, files[i].text, strlen(files[i].text)), CR_OK);
        CHECK_INT(cr_conf_set(&t.doc, &toy_root_msg, "train_config={lr: 2}", false, &t.diag),
                  CR_OK);
        toy_bind(&t);
        CHECK_STR(CR_SAY(t.root->train_config, "lr", "1"), files[i].want);
        toy_clear(&t);
    }
}

TEST_MAIN(CASE(scalars), CASE(lists_and_messages), CASE(from_the_file))
