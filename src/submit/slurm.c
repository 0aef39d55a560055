/*
 * slurm.c - Slurm: a script for sbatch with one launcher per node.
 *
 * The job is requeued after a lost node and before its time limit: the batch shell gets SIGUSR1,
 * sends SIGTERM to the launchers by scancel, they save a checkpoint, and it asks for a requeue.
 * --continue_train goes on from there. The folder must be one that the nodes see, as sbatch's own
 * output is.
 *
 * The tasks of an array are jobs of their own with one id in common: each has its own output,
 * job-ID_TASK.out, and its own port, because several may run on one node.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/shown.h"
#include "submit/list.h"

typedef struct keys {
    CR_PLACE_MEMBERS;
    const char *time, *partition, *account, *qos, *gres, *constraint, *dependency, *array, *mem;
    int64_t signal_seconds;
    bool requeue, exclusive;
    const cr_conf_node *options;
} keys;
static const cr_field fields[] = {
    CR_PLACE_ROWS(keys, "bundle"),
    CR_STR(keys, time, "", 0, "limit of the job: 24:00:00"),
    CR_STR(keys, partition, "", 0, "partition"),
    CR_STR(keys, account, "", 0, "account"),
    CR_STR(keys, qos, "", 0, "quality of service"),
    CR_STR(keys, gres, "", 0, "generic resources: gpu:4"),
    CR_STR(keys, constraint, "", 0, "features that nodes must have"),
    CR_STR(keys, dependency, "", 0, "afterok:4711"),
    CR_STR(keys, array, "", 0, "0-3: several jobs; SLURM_ARRAY_TASK_ID tells which"),
    CR_STR(keys, mem, "", 0, "memory of a node, as sbatch takes it: 64G"),
    CR_INT(
        keys, signal_seconds, 120, 0, 86400, 0,
        "seconds before the limit at which a checkpoint is saved and the job requeued; 0: never"),
    CR_BOOL(keys, requeue, true, 0, "requeue after a lost node"),
    CR_BOOL(keys, exclusive, false, 0, "no other jobs on the nodes"),
    CR_TREE(keys, options, 0, "more options of sbatch: [--nice=100]"),
    CR_END,
};
static const cr_msg msg = {"slurm", "A job of Slurm", fields, sizeof(keys), false, true, NULL,
                           NULL};

static void check(cr_submit *s) {
    keys *k = s->keys;
    const cr_conf_node *v = cr_unboxed(k->options);
    cr_place_check(s, true, false);
    for (size_t i = 0; v && v->kind == CR_NODE_LIST && i < v->n; i++)
        if (v->v[i].val->kind != CR_NODE_SCALAR || strncmp(v->v[i].val->text, "--", 2) != 0 ||
            strpbrk(v->v[i].val->text, "\r\n"))
            cr_submit_wrong(s, v->v[i].at,
                            "options: an option of sbatch begins with -- and has one line; write "
                            "for example --nice=100");
    if (v && v->kind != CR_NODE_LIST) cr_submit_wrong(s, v->at, "options is a list: [--nice=100]");
    const struct {
        const char *key, *text;
    } words[] = {{"time", k->time},
                 {"partition", k->partition},
                 {"account", k->account},
                 {"qos", k->qos},
                 {"gres", k->gres},
                 {"constraint", k->constraint},
                 {"dependency", k->dependency},
                 {"array", k->array},
                 {"mem", k->mem}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strpbrk(words[i].text, " \t\r\n#\"'\\"))
            cr_submit_wrong(s, cr_conf_at(k, words[i].key),
                            "%s is '%s', and a directive of sbatch is one word without blanks, "
                            "quotes and '#'",
                            words[i].key, cr_shown(s->a, words[i].text));
    if (strspn(k->time, "0123456789:-") != strlen(k->time) &&
        strcasecmp(k->time, "unlimited") != 0 && strcasecmp(k->time, "infinite") != 0)
        cr_submit_wrong(s, cr_conf_at(k, "time"),
                        "time is '%s', which is no time limit of Slurm; write minutes (90), "
                        "hours:minutes:seconds (1:30:00), days-hours (2-12) or unlimited",
                        cr_shown(s->a, k->time));
    if (k->signal_seconds > 0 && *k->time && !k->requeue)
        cr_submit_warn(s, cr_conf_at(k, "requeue"),
                       "without requeue the job ends at its time limit; a checkpoint is saved");
}

static bool is_array(const keys *k) {
    const cr_conf_node *v = cr_unboxed(k->options);
    for (size_t i = 0; v && v->kind == CR_NODE_LIST && i < v->n; i++)
        if (v->v[i].val->kind == CR_NODE_SCALAR && strncmp(v->v[i].val->text, "--array", 7) == 0)
            return true;
    return *k->array != 0;
}

static void directive(cr_buf *b, const char *name, const char *value) {
    if (*value) cr_buf_printf(b, "#SBATCH --%s=%s\n", name, value);
}

/* A value of a directive as one word: sbatch knows double quotes and backslashes, and takes `#` for
 * the begin of a comment. */
static const char *one_word(cr_arena *a, const char *text) {
    if (!strpbrk(text, " \t\"'\\#")) return text;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_char(&b, '"');
    for (; *text; text++) {
        if (strchr("\"\\", *text)) cr_buf_char(&b, '\\');
        cr_buf_char(&b, *text);
    }
    cr_buf_char(&b, '"');
    const char *out = cr_arena_strdup(a, b.data);
    cr_buf_clear(&b);
    return out;
}

/* Slurm replaces %j and its like in the name of the output; a % of the folder is doubled. */
static const char *output(cr_submit *s) {
    cr_buf b;
    cr_buf_init(&b);
    for (const char *p = s->dir; *p; p++) {
        if (*p == '%') cr_buf_char(&b, '%');
        cr_buf_char(&b, *p);
    }
    cr_buf_str(&b, is_array(s->keys) ? "/job-%A_%a.out" : "/job-%j.out");
    const char *out = one_word(s->a, b.data);
    if (out == b.data) out = cr_arena_strdup(s->a, out);
    cr_buf_clear(&b);
    return out;
}

static void script(cr_submit *s, cr_buf *b) {
    const keys *k = s->keys;
    const cr_conf_node *v = cr_unboxed(k->options);
    cr_buf_str(b, "#!/bin/bash\n");
    directive(b, "job-name", one_word(s->a, s->name));
    cr_buf_printf(b,
                  "#SBATCH --nodes=%lld\n#SBATCH --ntasks-per-node=1\n"
                  "#SBATCH --cpus-per-task=%lld\n",
                  (long long)k->nodes, (long long)(k->ranks_per_node * k->threads_per_rank));
    directive(b, "time", k->time);
    directive(b, "partition", k->partition);
    directive(b, "account", k->account);
    directive(b, "qos", k->qos);
    directive(b, "gres", k->gres);
    directive(b, "constraint", k->constraint);
    directive(b, "dependency", k->dependency);
    directive(b, "array", k->array);
    directive(b, "mem", k->mem);
    if (k->exclusive) cr_buf_str(b, "#SBATCH --exclusive\n");
    cr_buf_printf(b, "#SBATCH --%s\n", k->requeue ? "requeue" : "no-requeue");
    cr_buf_str(b, "#SBATCH --open-mode=append\n");
    if (k->signal_seconds > 0)
        cr_buf_printf(b, "#SBATCH --signal=B:USR1@%lld\n", (long long)k->signal_seconds);
    directive(b, "output", output(s));
    for (size_t i = 0; v && v->kind == CR_NODE_LIST && i < v->n; i++)
        cr_buf_printf(b, "#SBATCH %s\n", v->v[i].val->text);
    cr_place_env(s, b);
    cr_buf_printf(b, "cd %s || exit 1\n", cr_sh(s->a, *k->work_dir ? k->work_dir : s->here));
    const char *port =
        cr_arena_printf(s->a, is_array(k) ? "$((%lld + SLURM_ARRAY_TASK_ID %% 1000))" : "%lld",
                        (long long)k->master_port);
    const char *flags = cr_arena_printf(s->a, "--master_port %s --secret_file %s", port,
                                        cr_sh(s->a, cr_arena_printf(s->a, "%s/secret", s->dir)));
    cr_buf_printf(b, "srun %s &\npid=$!\n", cr_place_launch(s, s->dir, flags));
    cr_buf_str(
        b, "# before the time limit: save a checkpoint and go on later. srun itself would end its "
           "tasks at once when it is\n"
           "# signalled; scancel reaches the tasks alone.\n"
           "limit() {\n"
           "    scancel --signal=TERM $SLURM_JOB_ID\n"
           "    wait $pid\n");
    if (k->requeue) cr_buf_str(b, "    scontrol requeue $SLURM_JOB_ID\n");
    cr_buf_str(b, "    exit 0\n"
                  "}\n"
                  "trap limit USR1\n"
                  "wait $pid\n");
}

/* The state of an array is RUNNING while a task runs; else it is that of a task that is not
 * COMPLETED, as long as there is one. */
static void jobs_sh(const keys *k, cr_buf *b) {
    cr_buf_str(
        b, "#!/bin/sh\n# .jobs.sh VERB ID - what 'crank jobs' asks Slurm\n"
           "# of the states of several tasks, the one that tells most\n"
           "one() { awk '$1 == \"RUNNING\" { r = $1 } $1 != \"COMPLETED\" { o = $1 } { l = $1 } "
           "END { print r ? r : o ? o : l }'; }\n"
           "state() {\n"
           "    state=$(squeue -h -j \"$1\" -o %T 2>/dev/null | one)\n"
           "    [ -n \"$state\" ] || state=$(sacct -n -X -P -j \"$1\" -o State 2>/dev/null | "
           "one)\n"
           "    [ -n \"$state\" ] || state=$(scontrol show job \"$1\" 2>/dev/null | sed -n "
           "'s/.*JobState=\\([A-Z_]*\\).*/\\1/p' | one)\n"
           "    echo \"$state\"\n"
           "}\n");
    if (is_array(k))
        cr_buf_str(b, "# each task of the array has its own file\n"
                      "pods() { ls job-\"$1\"_*.out 2>/dev/null; }\n"
                      "log() { cat \"$2\"; }\n");
    cr_buf_str(b, "case $1 in\n"
                  "state) state \"$2\" ;;\n"
                  "stop) scancel \"$2\" ;;\n");
    if (is_array(k))
        cr_jobs_polled(b,
                       "'' | COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | BOOT_FAIL | "
                       "DEADLINE | OUT_OF_MEMORY | PREEMPTED",
                       1);
    else
        cr_buf_str(b, "logs) cat \"job-$2.out\" ;;\n"
                      "follow)\n"
                      "    until [ -e \"job-$2.out\" ] || [ -z \"$(squeue -h -j \"$2\" "
                      "2>/dev/null)\" ]; "
                      "do sleep 1; done\n"
                      "    tail -n +1 -f \"job-$2.out\" &\n"
                      "    tail=$!\n"
                      "    trap 'kill $tail; exit 130' INT TERM\n"
                      "    while [ -n \"$(squeue -h -j \"$2\" 2>/dev/null)\" ]; do sleep 1; done\n"
                      "    sleep 1\n"
                      "    kill $tail\n"
                      "    ;;\n");
    cr_buf_str(b, "esac\n");
}

static cr_code write_files(cr_submit *s, cr_buf *b, cr_err *err) {
    script(s, b);
    CR_TRY(cr_folder_put(s, "job.sbatch", b, err));
    cr_buf_str(b,
               "#!/bin/sh\n# job.sh - submits this folder; run it again after changes: sh job.sh\n"
               "cd \"$(dirname \"$0\")\" || exit 1\n");
    cr_place_prepare(s, b, true);
    cr_buf_str(b, "sbatch --parsable job.sbatch >.answer\ncode=$?\ncat .answer\nexit $code\n");
    CR_TRY(cr_folder_put(s, "job.sh", b, err));
    jobs_sh(s->keys, b);
    return cr_folder_put(s, ".jobs.sh", b, err);
}

/* `sbatch --parsable` prints 12345 or 12345;cluster. */
static const char *answer(cr_submit *s, const char *text) {
    size_t n = strspn(text, "0123456789");
    if (n == 0 || (text[n] && text[n] != '\n' && text[n] != ';')) return NULL;
    return cr_arena_strndup(s->a, text, n);
}

const cr_backend cr_backend_slurm = {
    .name = "slurm",
    .help = "Slurm, by sbatch",
    .msg = &msg,
    .client = "sbatch",
    .version = "sbatch --version",
    .check = check,
    .write = write_files,
    .answer = answer,
};
