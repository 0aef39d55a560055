/*
 * activation.c - activations by the names of configs.
 */
#include "harness.h"
#include "layer/layer.h"
#include "op/op.h"

static cr_act_spec ok(const char *text) {
    cr_act_spec s;
    cr_err err;
    cr_code code = cr_act_parse(&s, text, &err);
    if (code != CR_OK) fprintf(stderr, "%s: %s\n", text, err.msg);
    CHECK_INT(code, 0);
    return s;
}

TEST(names) {
    CHECK_INT(ok("").kind, CR_ACTK_NONE);
    CHECK_INT(ok("nn.ReLU").act, CR_ACT_RELU);
    CHECK_INT(ok("torch.nn.ReLU()").act, CR_ACT_RELU);
    CHECK_INT(ok("nn.ReLU(inplace=True)").act, CR_ACT_RELU);
    CHECK_INT(ok("nn.GELU").act, CR_ACT_GELU);
    CHECK_INT(ok("Dice").kind, CR_ACTK_DICE);
    CHECK_NEAR(ok("nn.LeakyReLU(negative_slope=0.2)").param, 0.2, 1e-12, 0);
    CHECK_NEAR(ok("nn.LeakyReLU(0.3)").param, 0.3, 1e-12, 0);
    CHECK_NEAR(ok("nn.LeakyReLU").param, 0.01, 1e-12, 0);
    CHECK_NEAR(ok("nn.ELU(alpha=0.5)").param, 0.5, 1e-12, 0);
    CHECK_NEAR(ok("nn.PReLU").param, 0.25, 1e-12, 0);
    CHECK_INT(ok("nn.PReLU(num_parameters=8)").n_param, 8);
}

static void bad(const char *text, const char *message) {
    cr_act_spec s;
    cr_err err;
    CHECK_INT(cr_act_parse(&s, text, &err), CR_ECONF);
    CHECK_STR(err.msg, message);
}

TEST(mistakes) {
    bad("nn.Relu6", "unknown activation 'nn.Relu6'; did you mean 'nn.ReLU', or \"\" for none");
    bad("nn.Tanh(1)", "activation 'nn.Tanh(1)': cannot read '1'; Tanh takes no arguments");
    bad("nn.ELU(beta=1)",
        "activation 'nn.ELU(beta=1)': cannot read 'beta=1'; ELU takes alpha=<number>");
}

TEST_MAIN(CASE(names), CASE(mistakes))
