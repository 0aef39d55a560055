/*
 * cmd_bundle.c - `crank bundle`: a tarball of this program for machines that do not have it.
 */
#include "base/buf.h"
#include "cli/cli.h"
#include "submit/submit.h"

typedef struct args {
    const char *output;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, output, CR_O_STR, 'o', CR_O_PATH, "FILE", "crank.tar.gz", NULL, 0, 0,
            "the tarball"),
    CR_OPT_END,
};

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_bundle_result r;
    cr_err err;
    char size[32];
    if (cr_bundle_make(&ui->arena, a->output, &r, &err) != CR_OK) return cr_ui_fail(ui, &err);
    cr_ui_say("%s: crank, %d plug-in%s, %d libraries, %s; machines need x86-64 Linux%s%s%s\n",
              a->output, r.n_plugins, r.n_plugins == 1 ? "" : "s", r.n_libraries,
              cr_fmt_bytes(size, (double)r.bytes), r.libc ? " with glibc " : "",
              r.libc ? r.libc : "", r.libc ? " or newer" : "");
    cr_ui_next(ui, "tar xzf %s && ./crank version", cr_ui_quote(ui, a->output));
    return CR_OK;
}

static const char *const examples[] = {
    "crank bundle",
    "crank bundle -o crank.tar.gz",
    NULL,
};

const cr_cmd cr_cmd_bundle = {
    .name = "bundle",
    .help = "Pack crank, its plug-ins and libraries into a tarball for other machines",
    .about = "Unpacked anywhere it runs there; crank submit brings it to the nodes of a job.\n",
    .operand = "FILE",
    .operand_opt = "output",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
