/*
 * cmd_jobs.c - `crank jobs list|show|logs|stop JOB`: follows jobs that were submitted from here.
 */
#include <string.h>

#include "base/log.h"
#include "base/shown.h"
#include "cli/cli.h"
#include "cli/grid.h"
#include "submit/submit.h"

typedef struct args {
    cr_opt_list words;
    bool follow;
    double timeout;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, words, CR_O_LIST, 0, 0, "WORD", NULL, "list", 0, 0,
            "list, or show, logs, stop and a job: its id, its folder, or last"),
    CR_OPT_(args, follow, CR_O_BOOL, 'f', 0, NULL, NULL, NULL, 0, 0,
            "logs: show what comes until the job ends"),
    CR_OPT_(args, timeout, CR_O_FLOAT, 0, 0, "SECONDS", "60", NULL, 1, 86400,
            "list, show: how long the cluster's client may take to answer"),
    CR_OPT_END,
};

static cr_code list(cr_ui *ui, const args *a) {
    static const unsigned flags[] = {CR_GRID_LEFT, CR_GRID_LEFT, CR_GRID_LEFT, CR_GRID_LEFT,
                                     CR_GRID_LEFT};
    static const char *const head[] = {"job", "name", "backend", "state", "submitted"};
    cr_job_record *v;
    cr_err err;
    cr_grid g;
    int n;
    if (cr_jobs_load(&ui->arena, &v, &n, &err) != CR_OK) return cr_ui_fail(ui, &err);
    if (n == 0) {
        cr_ui_say("no jobs were submitted from here\n");
        return CR_OK;
    }
    const char **states = CR_NEW_N(&ui->arena, const char *, n);
    if (cr_jobs_states(&ui->arena, v, n, a->timeout, states, &err) != CR_OK)
        return cr_ui_fail(ui, &err);
    cr_grid_init(&g, &ui->arena, 5, flags);
    memcpy(cr_grid_row(&g), head, sizeof head);
    for (int i = 0; i < n; i++) {
        const char **row = cr_grid_row(&g);
        row[0] = *v[i].id ? cr_shown(&ui->arena, v[i].id) : "-";
        row[1] = cr_shown(&ui->arena, v[i].name);
        row[2] = v[i].backend;
        row[3] = states[i];
        row[4] = v[i].submitted;
    }
    cr_grid_print(&g, cr_screen_width());
    return CR_OK;
}

static cr_code show(cr_ui *ui, const args *a, const cr_job_record *j) {
    const char *why = NULL, *log = "";
    cr_err err;
    const char *state = *j->id ? cr_jobs_state(&ui->arena, j, a->timeout, &why) : "not submitted";
    cr_ui_say("job        %s\nstate      %s\nbackend    %s\nsubmitted  %s\nfolder     %s\n"
              "config     %s\n",
              *j->id ? cr_shown(&ui->arena, j->id) : "-", state, j->backend, j->submitted,
              cr_shown(&ui->arena, j->folder), cr_shown(&ui->arena, j->config));
    if (*j->commit) cr_ui_say("commit     %s\n", cr_shown(&ui->arena, j->commit));
    if (why) CR_WARN("%s", why);
    if (*j->id && cr_jobs_ask(&ui->arena, j, "logs", a->timeout, &log, &err) == CR_OK) {
        int64_t step = cr_jobs_last_step(log);
        if (step >= 0) cr_ui_say("last step  %lld\n", (long long)step);
    }
    return CR_OK;
}

static cr_code run(cr_ui *ui, const void *flags) {
    static const char *const verbs[] = {"list", "show", "logs", "stop", NULL};
    const args *a = flags;
    const char *verb = a->words.n ? a->words.v[0] : "list";
    cr_job_record j;
    cr_err err;
    int k = 0;
    while (verbs[k] && strcmp(verbs[k], verb) != 0)
        k++;
    if (!verbs[k])
        return cr_ui_wrong(ui, "'%s' is none of list, show, logs and stop",
                           cr_shown(&ui->arena, verb));
    if (a->words.n > (k ? 2 : 1))
        return cr_ui_wrong(ui, "%s takes %s", verb, k ? "one job" : "no job");
    if (a->follow && k != 2)
        return cr_ui_wrong(ui, "%s has nothing to follow; leave out --follow", verb);
    if (k == 0) return list(ui, a);
    if (a->words.n < 2) return cr_ui_wrong(ui, "%s needs a job: its id, its folder, or last", verb);
    if (cr_jobs_find(&ui->arena, a->words.v[1], &j, &err) != CR_OK) return cr_ui_fail(ui, &err);
    if (k == 1) return show(ui, a, &j);
    const char *ask = k == 3 ? "stop" : a->follow ? "follow" : "logs";
    if (cr_jobs_pass(&ui->arena, &j, ask, &ui->exit_code, &err) != CR_OK)
        return cr_ui_fail(ui, &err);
    return CR_OK;
}

static const char *const examples[] = {
    "crank jobs list",
    "crank jobs logs -f last",
    "crank jobs stop 4711",
    NULL,
};

const cr_cmd cr_cmd_jobs = {
    .name = "jobs",
    .help = "Follow jobs that crank submit has handed to clusters: list, show, logs, stop",
    .about = "crank keeps what it knows in ~/.crank/jobs (CRANK_JOBS_DIR); states and logs come "
             "from the cluster's\nclient, by .jobs.sh in the folder of the job.\n",
    .operand = "WORD",
    .words = "list show logs stop",
    .operand_opt = "words",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
