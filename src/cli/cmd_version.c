/*
 * cmd_version.c - `crank version`: prints what a report of a problem should begin with.
 */
#include "base/cpu.h"
#include "cli/cli.h"
#include "kern/kern.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

static const cr_opt opts[] = {CR_OPT_END};

static cr_code run(cr_ui *ui, const void *flags) {
    (void)ui;
    (void)flags;
    cr_ui_say("crank %s\n", CR_VERSION);
    cr_ui_say("compiler   %s\n", COMPILER);
    cr_ui_say("cpu        %s, %d core%s\n", cr_cpu_level_name(cr_kern_level), cr_cpu_count(),
              cr_cpu_count() == 1 ? "" : "s");
    cr_ui_say("libraries  %s\n", CR_LIBRARIES);
    return CR_OK;
}

const cr_cmd cr_cmd_version = {
    .name = "version",
    .help = "Print the version, compiler, CPU level and libraries",
    .opts = opts,
    .run = run,
};
