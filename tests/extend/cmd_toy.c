/*
 * cmd_toy.c - `crank toy`: says hello, to a name if there is one.
 */
#include "cli/cli.h"

typedef struct args {
    const char *name;
} args;

static const cr_opt opts[] = {
    CR_OPT_STR(args, name, 0, "NAME", "none", "whom to greet"),
    CR_OPT_END,
};

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    (void)ui;
    cr_ui_say("hello from a toy command%s%s\n", a->name ? " to " : "", a->name ? a->name : "");
    return CR_OK;
}

const cr_cmd cr_cmd_toy = {
    .name = "toy",
    .help = "Say hello",
    .opts = opts,
    .args_size = sizeof(args),
    .run = run,
};
