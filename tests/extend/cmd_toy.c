/*
 * cmd_toy.c - `crank toy`: says hello.
 */
#include "cli/cli.h"

static const cr_opt opts[] = {CR_OPT_END};

static cr_code run(cr_ui *ui, const cr_args *a) {
    (void)ui;
    (void)a;
    cr_ui_say("hello from a toy command\n");
    return CR_OK;
}

const cr_cmd cr_cmd_toy = {
    .name = "toy",
    .help = "Say hello",
    .opts = opts,
    .run = run,
};
