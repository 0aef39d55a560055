/*
 * parts.c - patterns over parameter names: Python's spelling, whole names only, the first part that
 * matches, and what is said of a part that matches nothing.
 */
#include "harness.h"

#include "conf/conf.h"
#include "optim/config.h"

static int match(const char *pattern, const char *text) {
    char why[128] = "";
    int hit = cr_regex_match(pattern, text, why, sizeof why);
    CHECK((hit < 0) == (why[0] != 0));
    return hit;
}

TEST(patterns) {
    static const struct {
        const char *pattern, *yes, *no;
    } cases[] = {
        {"model", "model", "model.x"},
        {"model\\..*", "model.a", "modelx"},
        {".*wide.*", "emb_wide.weight", "emb.weight"},
        {"a|bc", "bc", "abc"},
        {"x\\d+", "x123", "x12a"},
        {"[\\w.]+", "a_1.b", "a-b"},
        {"[^\\d]+", "abc", "a1"},
        {"[a\\-z]+", "a-z", "b"},
        {"[\\]x]+", "x]", "y"},
        {"[]x]+", "]", "["},
        {"[\\^]", "^", "a"},
        {"a[-b]", "a-", "ac"},
        {"(?:ab)+", "abab", "aba"},
        {"(?P<name>ab)c", "abc", "ab"},
        {".*?\\.bias", "x.y.bias", "x.bias.y"},
        {"a{2,3}", "aaa", "a"},
        {"a{,2}b", "aab", "aaab"},
        {"a{x}", "a{x}", "ax"},
        {"\\S+", "abc", "a b"},
        {"(a|b)\\1", "aa", "ab"},
        {"model\\.(deep|final)_mlp\\.mlp\\.[0-2]\\.perceptron\\.0\\.weight",
         "model.deep_mlp.mlp.1.perceptron.0.weight", "model.deep_mlp.mlp.3.perceptron.0.weight"},
        {"", "", "a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(match(cases[i].pattern, cases[i].yes), 1);
        CHECK_INT(match(cases[i].pattern, cases[i].no), 0);
    }
}

TEST(wrong_patterns) {
    static const char *const bad[] = {"a(b",
                                      "a)b(",
                                      "[a",
                                      "*a",
                                      "a\\",
                                      "(?=a)b",
                                      "(?!a)b",
                                      "(?<=a)b",
                                      "(?i)a",
                                      "\\pL",
                                      "[[:foo:]]",
                                      "a{3,1}",
                                      "(((a{200}){200}){200}){200}",
                                      "a{99999999999}",
                                      "[z-a]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char why[128] = "";
        CHECK_INT(cr_regex_match(bad[i], "a", why, sizeof why), -1);
        CHECK(why[0] != 0);
    }
    char *deep = malloc(5000);
    memset(deep, '(', 4999);
    deep[4999] = 0;
    CHECK_INT(cr_regex_match(deep, "a", NULL, 0), -1);
    free(deep);
}

static const char *const names[] = {"model.deep_mlp.0.weight", "model.deep_mlp.0.bias",
                                    "model.final_mlp.0.weight", "model.output_mlp.weight"};

TEST(assignment) {
    cr_part_conf p[4] = {{.regex_pattern = ".*\\.bias"},
                         {.regex_pattern = "model\\.deep_mlp.*"},
                         {.regex_pattern = "model.deep_mpl.*"},
                         {.regex_pattern = "model.deep_mlp.0.bias"}};
    void *v[4];
    for (int i = 0; i < 4; i++) {
        p[i].base.msg = cr_msg_field(&cr_dense_optim_msg, "part_optimizers")->ref;
        v[i] = &p[i];
    }
    cr_msgs parts = {v, 4};
    cr_diag d;
    cr_diag_init(&d);
    int of[4];
    cr_parts_assign(&parts, names, 4, "dense parameter", of, &d);
    CHECK_INT(of[0], 1);
    CHECK_INT(of[1], 0);
    CHECK_INT(of[2], -1);
    CHECK_INT(of[3], -1);
    CHECK_INT(d.n, 2);
    CHECK_INT(d.n_errors, 0);
    CHECK(strstr(d.v[0].msg, "'model.deep_mpl.*' matches the whole name of no dense parameter"));
    CHECK(strstr(d.v[0].msg, "the most similar is model.deep_mlp.0.weight"));
    CHECK(strstr(d.v[1].msg, "belongs to parts before it"));
    cr_diag_clear(&d);
    cr_parts_assign(&parts, names, 4, "dense parameter", of, NULL);
    CHECK_INT(of[0], 1);
    parts.n = 0;
    cr_parts_assign(&parts, names, 4, "dense parameter", of, NULL);
    CHECK_INT(of[0], -1);
}

TEST_MAIN(CASE(patterns), CASE(wrong_patterns), CASE(assignment))
