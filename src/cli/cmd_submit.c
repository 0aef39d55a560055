/*
 * cmd_submit.c - `crank submit`: checks a job, writes its folder, hands it to a cluster.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "submit/submit.h"

typedef struct args {
    cr_config_flags config;
    const char *backend, *secrets;
    bool dry_run, no_check;
    double timeout;
} args;

static const cr_opt opts[] = {
    CR_OPT_CONFIG(args),
    CR_OPT_(args, backend, CR_O_STR, 'b', CR_O_REQUIRED | CR_O_PATH, "FILE", NULL, NULL, 0, 0,
            "backend.yaml: the cluster and the job"),
    CR_OPT_STR(args, secrets, CR_O_PATH, "FILE", "backend.yaml or the environment",
               "keys and passwords as lines key=value, in a file that only you can read"),
    CR_OPT_BOOL(args, dry_run, 0, "write the folder of the job and do not submit it"),
    CR_OPT_BOOL(args, no_check, 0, "do not look at rows of the data and make no plan"),
    CR_OPT_(args, timeout, CR_O_FLOAT, 0, 0, "SECONDS", "300", NULL, 1, 86400,
            "how long the cluster's client may take to answer"),
    CR_OPT_SET(args),
    CR_OPT_END,
};

static void say(void *ctx, const char *line) {
    (void)ctx;
    cr_ui_say("%s\n", line);
}

static void complain(void *ctx, const char *line) {
    (void)ctx;
    fflush(stdout);
    fprintf(stderr, "%s\n", line);
}

static void checked(void *ctx) {
    cr_ui_findings(ctx);
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_submit_opts o = {.backend = a->backend,
                        .secrets = a->secrets,
                        .dry_run = a->dry_run,
                        .no_check = a->no_check,
                        .timeout_s = a->timeout,
                        .say = say,
                        .complain = complain,
                        .checked = checked,
                        .ctx = ui};
    cr_submit_result res;
    cr_config_from(&a->config, &o.config);
    cr_code code = cr_submit_run(&o, &res, &ui->arena, &ui->diag);
    cr_ui_findings(ui);
    if (code == CR_OK && res.job_id)
        cr_ui_next(ui, "crank jobs logs -f %s", cr_ui_quote(ui, res.job_id));
    return code;
}

static const char *const examples[] = {
    "crank submit deepfm.yaml -b slurm.yaml",
    "crank submit config.yaml -b backend.yaml --dry-run",
    NULL,
};

const cr_cmd cr_cmd_submit = {
    .name = "submit",
    .help = "Hand a job to a cluster: check it, write its folder, call the cluster's client",
    .about = "The folder JOBNAME_YYYYmmddHHMM holds all files of the job; change them and run 'sh "
             "job.sh' in it to\nsubmit it again. 'crank jobs' follows the job.\n",
    .operand = "CONFIG",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .run = run,
};
