/*
 * parts.c - patterns over parameter names: Python's spelling, whole names only, the first part that
 * matches, and what is said of a part that matches nothing.
 */
#include "harness.h"

#include "conf/conf.h"
#include "optim/optim.h"

/* does the pattern match the whole name? */
static bool match(const char *pattern, const char *name) {
    cr_part_conf part = {.regex_pattern = pattern};
    part.base.msg = cr_msg_field(&cr_dense_optim_msg, "part_optimizers")->ref;
    void *v[] = {&part};
    int of;
    cr_parts_assign(&(cr_msgs){v, 1}, &name, 1, "dense parameter", &of, NULL);
    return of == 0;
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
        {"(?!model\\.deep).*", "model.wide", "model.deep"},
        {"(?i)A\\{,2}", "a{,2}", "aa"},
        {"", "", "a"},
    };
    cr_err err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(cr_pattern_check(cases[i].pattern, &err), CR_OK);
        CHECK(match(cases[i].pattern, cases[i].yes));
        CHECK(!match(cases[i].pattern, cases[i].no));
    }
}

TEST(wrong_patterns) {
    static const char *const bad[] = {"a(b",
                                      "a)b(",
                                      "[a",
                                      "*a",
                                      "a\\",
                                      "(?<=a*)b",
                                      "[[:foo:]]",
                                      "a{3,1}",
                                      "(((a{200}){200}){200}){200}",
                                      "a{99999999999}",
                                      "[z-a]"};
    cr_err err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_INT(cr_pattern_check(bad[i], &err), CR_ECONF);
        CHECK(strstr(err.msg, "regular expression, character "));
        CHECK(!match(bad[i], "a"));
    }
    char *deep = malloc(5000);
    memset(deep, '(', 4999);
    deep[4999] = 0;
    CHECK_INT(cr_pattern_check(deep, &err), CR_ECONF);
    free(deep);
    /* a search without an end is cut: the name does not match */
    CHECK(!match("(a|aa)+", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"));
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
