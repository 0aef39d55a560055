/*
 * main.c - the crank binary: the table of commands, and the way from a command line to an exit
 * code.
 *
 * Signals: the first SIGINT, SIGTERM or SIGHUP (the terminal is closed) asks a job to stop at the
 * next step, the second one ends the process at once. Under nohup a SIGHUP stays without effect.
 * Commands that run no steps keep the system's own behaviour.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/plugin.h"
#include "base/scheme.h"
#include "base/secret.h"
#include "base/shown.h"
#include "base/stop.h"
#include "cli/cli.h"
#include "cli/list.h"
#include "comm/life.h"
#include "job/env.h"
#include "kern/kern.h"

#define ENTRY(c) &cr_cmd_##c,
static const cr_cmd *const commands[] = {CR_COMMANDS(ENTRY) NULL};

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void on_signal(int sig) {
    static volatile double first;
    if (cr_stop_requested) {
        if (sig != SIGINT && now_s() - first < CR_STOP_SAME_S) return;
        signal(sig, SIG_DFL);
        raise(sig);
        return;
    }
    first = now_s();
    cr_stop_requested = 1;
    cr_guard_stop();
}

static void watch_signals(const cr_cmd *cmd) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* passing ulimit -f is an error like a full disk */
    if (!cmd->job) return;
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    struct sigaction old;
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &sa, NULL);
}

/* Opens the log file of this rank. */
static cr_code open_log(cr_ui *ui, const char *dir, cr_log_level level, int argc, char **argv) {
    cr_err err;
    char name[32], host[64] = "?";
    if (!dir) return CR_OK;
    if (!*dir) return cr_ui_wrong(ui, "--log_dir is empty; name a folder");
    snprintf(name, sizeof name, "rank-%d.log", ui->place.rank);
    if (cr_mkdirs(dir, &err) != CR_OK ||
        cr_log_file(cr_path_join(&ui->arena, dir, name), level, &err) != CR_OK)
        return cr_ui_fail(ui, &err);
    gethostname(host, sizeof host - 1);
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(&b, "rank %d of %d, host %s, pid %ld, crank " CR_VERSION ": crank %s",
                  ui->place.rank, ui->place.size, host, (long)getpid(), ui->cmd->name);
    for (int i = 0; i < argc; i++) {
        cr_buf_char(&b, ' ');
        const char *shown = cr_masked(&ui->arena, argv[i]);
        cr_buf_shown(&b, shown, strlen(shown), false);
    }
    cr_buf_char(&b, '\n');
    cr_log_file_add(b.data, b.n);
    cr_buf_clear(&b);
    return CR_OK;
}

/* --log_level, else --debug, else --quiet, else LOG_LEVEL. Of several ranks only the first shows
 * more than errors: what all of them find is told once. *wanted is the level without that, and
 * without --quiet. */
static cr_code set_log_level(cr_ui *ui, const cr_common_flags *a, cr_log_level *wanted) {
    cr_log_level level = CR_LOG_INFO;
    const char *env = getenv("LOG_LEVEL");
    if (env && *env && !cr_log_level_from(env, &level))
        cr_diag_add(&ui->diag, CR_SEV_WARN, CR_OK, CR_NOWHERE,
                    "LOG_LEVEL is '%s'; use DEBUG, INFO, WARNING or ERROR", env);
    *wanted = level;
    if (ui->quiet) level = CR_LOG_WARN;
    if (a->debug) *wanted = level = CR_LOG_DEBUG;
    if (a->log_level && !cr_log_level_from(a->log_level, &level))
        return cr_ui_wrong(ui, "--log_level is '%s' and must be DEBUG, INFO, WARNING or ERROR",
                           a->log_level);
    if (a->log_level) *wanted = level;
    cr_log_set_level(ui->place.rank > 0 ? CR_LOG_ERROR : level);
    return CR_OK;
}

/* A level that the CPU does not have is a warning and no error, because results do not depend on
 * it. */
static void check_cpu_level(cr_ui *ui) {
    char why[256];
    cr_cpu_level_wish(getenv("CRANK_CPU"), cr_cpu_level_own(), why, sizeof why);
    if (why[0]) cr_diag_add(&ui->diag, CR_SEV_WARN, CR_OK, CR_NOWHERE, "%s", why);
}

/* Makes the paths of the flags local ones. When that fails for some of them, the config is read
 * too, so that all mistakes are reported at once and before anything runs. */
static cr_code check_paths(cr_ui *ui, const cr_opt_spec *spec, const void *args) {
    cr_opt_paths(spec, &ui->arena, &ui->diag);
    cr_code code = cr_diag_code(&ui->diag);
    if (code == CR_OK || !ui->cmd->takes_config) return code;
    const cr_config_flags *flags = args;
    const char *path = flags->pipeline_config_path;
    if (!path || cr_path_is_dir(path)) return code;
    cr_config config;
    cr_config_opts opts;
    cr_config_from(flags, &opts);
    if (!cr_scheme_len(path)) {
        (void)!cr_config_load(&config, &opts, &ui->diag);
        cr_config_clear(&config);
    }
    return code;
}

/* Small commands, which run no steps, are done by the first rank alone. */
static bool is_alone(const cr_cmd *cmd) {
    return !cmd->job && !cmd->ranks;
}

static cr_code join_ranks(cr_ui *ui) {
    cr_err err;
    if (ui->place.size == 1 || is_alone(ui->cmd) || ui->comm) return CR_OK;
    if (!ui->cmd->ranks) {
        if (ui->place.rank > 0) return CR_EUSAGE;
        return cr_ui_wrong(ui,
                           "this command runs as one process, but %s started %d; "
                           "start it without %s",
                           ui->place.launcher, ui->place.size, ui->place.program);
    }
    if (cr_comm_open(&ui->comm, &ui->place, &err) == CR_OK) return CR_OK;
    return ui->place.rank > 0 ? err.code : cr_ui_fail(ui, &err);
}

/* Tells the ranks which of them are servers. */
static cr_code set_roles(cr_ui *ui, const cr_rank_flags *r) {
    cr_err err;
    const cr_role *role = &ui->place.role;
    if (role->given && (r->ps || r->workers))
        return cr_ui_wrong(ui,
                           "%s of the environment gives each rank its role; leave out --ps and "
                           "--workers, or unset it",
                           role->because);
    if (role->given && ui->comm)
        return cr_comm_set_roles(ui->comm, role->servers, role->workers, &err) == CR_OK
                   ? CR_OK
                   : cr_ui_fail(ui, &err);
    if (r->ps == 0 && r->workers == 0) return CR_OK;
    if (r->ps == 0)
        return cr_ui_wrong(ui,
                           "--workers counts the workers of parameter servers, and --ps does not "
                           "say how many servers there are; give both, or start ranks with "
                           "'crank launch --nproc-per-node N'");
    if (!ui->comm)
        return cr_ui_wrong(ui,
                           "--ps %lld needs ranks that serve, and this process is alone; write "
                           "'crank launch --ps %lld --workers N -- %s ...'",
                           (long long)r->ps, (long long)r->ps, ui->cmd->name);
    int64_t workers = r->workers ? r->workers : cr_comm_size(ui->comm) - r->ps;
    if (workers < 1)
        return cr_ui_wrong(ui, "--ps %lld leaves no worker among %d ranks; start more ranks",
                           (long long)r->ps, cr_comm_size(ui->comm));
    return cr_comm_set_roles(ui->comm, r->ps, workers, &err) == CR_OK ? CR_OK
                                                                      : cr_ui_fail(ui, &err);
}

/* A process that a platform of Paddle started with a role must meet the others. */
static cr_code check_role(cr_ui *ui) {
    cr_err err;
    cr_role role;
    if (!ui->cmd->ranks || ui->cmd->launches || ui->place.size > 1) return CR_OK;
    if (cr_role_find(&role, NULL, &err) != CR_OK) return cr_ui_fail(ui, &err);
    if (!role.given) return CR_OK;
    return cr_ui_wrong(ui,
                       "the platform started this process as %s %d of %d (%s); start it with "
                       "'crank launch -- %s ...', by which servers and trainers meet, or unset %s",
                       role.serves ? "parameter server" : "trainer", role.index,
                       role.serves ? role.servers : role.workers, role.because, ui->cmd->name,
                       role.because);
}

static cr_code run_command(cr_ui *ui, int argc, char **argv) {
    cr_cmd_spec s;
    cr_err err = {0};
    cr_common_flags common = {0};
    cr_rank_flags ranks = {0};
    cr_log_level level;
    void *args = cr_arena_zalloc(&ui->arena, ui->cmd->args_size);
    cr_cmd_spec_init(&s, ui->cmd, args, &ranks, &common);
    if (cr_opt_parse(&s.spec, argc, argv, &ui->arena, &err) != CR_OK) {
        if (ui->place.rank == 0) fprintf(stderr, "%s\n", err.msg);
        return err.code;
    }
    ui->rest = argv + s.rest;
    ui->n_rest = ui->cmd->wraps ? argc - s.rest : 0;
    if (ui->place.rank > 0 && (common.help || is_alone(ui->cmd))) return CR_OK;
    if (common.help) {
        cr_buf out;
        cr_buf_init(&out);
        cr_cmd_usage(&out, ui->cmd);
        fputs(out.data, stdout);
        cr_buf_clear(&out);
        return CR_OK;
    }
    ui->quiet = common.quiet || ui->place.rank > 0;
    ui->debug = common.debug;
    ui->allow_libraries = common.allow_libraries;
    if (common.allow_libraries) cr_plugin_allow();
    watch_signals(ui->cmd);
    ui->place.may_lose = ranks.ps > 0 && cr_life_is_watched();
    CR_TRY(join_ranks(ui)); /* first, so that a rank can tell the others what is wrong with it */
    CR_TRY(set_roles(ui, &ranks));
    CR_TRY(check_role(ui));
    CR_TRY(set_log_level(ui, &common, &level));
    CR_TRY(open_log(ui, ranks.log_dir, level, argc, argv));
    if (ui->cmd->takes_config) cr_env_check(&ui->diag);
    CR_TRY(check_paths(ui, &s.spec, args));
    if (ui->cmd->job && ui->place.size == 1 && cr_wrap_env(&err) != CR_OK) {
        const char *task = getenv("SLURM_PROCID");
        if (task && strcmp(task, "0") != 0) return err.code; /* the first task says it for all */
        return cr_ui_fail(ui, &err);
    }
    check_cpu_level(ui);
    cr_kern_init();
    return ui->cmd->run(ui, args);
}

/* Leaves the ranks with the result of this one. Where all agreed on it, nothing is left to do. A
 * rank that failed by itself before its first vote makes that vote now: it meets the first vote of
 * the others. Later the others may wait for it in any other meeting, so it tells what is wrong and
 * ends them all. */
static void leave_ranks(cr_ui *ui, cr_code code) {
    bool any, agreed = code == CR_OK || code == CR_ESTOP;
    if (!agreed && cr_comm_votes(ui->comm) == 0) (void)cr_comm_vote(ui->comm, code, false, &any);
    bool alone = !agreed && cr_comm_blamed(ui->comm) < 0;
    if (alone) ui->blamed = true;
    cr_ui_findings(ui);
    if (alone) cr_comm_abort(ui->comm, cr_exit_code(code));
}

/* reader_left tells whether the program that read our output has gone, as in `| head`. */
static bool reader_left(void) {
    struct pollfd p = {.fd = STDOUT_FILENO};
    return errno == EPIPE || (poll(&p, 1, 0) == 1 && p.revents & POLLERR);
}

/* It is a failure when results did not reach stdout; a closed pipe needs no message. */
static int close_stdout(int exit_code) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return exit_code;
    if (!reader_left())
        fprintf(stderr, "crank: cannot write to standard output: %s\n",
                errno ? strerror(errno) : "a write failed; is the disk full?");
    return exit_code ? exit_code : 1;
}

static bool is_word(const char *arg, const char *a, const char *b) {
    return strcmp(arg, a) == 0 || strcmp(arg, b) == 0;
}

int main(int argc, char **argv) {
    cr_ui ui;
    cr_err err = {0};
    int first = 0;
    cr_life_start();
    cr_ui_init(&ui, commands);
    argc -= argc > 0;
    argv++;
    static char word_help[] = "help", word_version[] = "version";
    if (argc > 0 && is_word(argv[0], "--help", "-h")) argv[0] = word_help;
    if (argc > 0 && is_word(argv[0], "--version", "-V")) argv[0] = word_version;
    cr_code code = cr_wrap_find(commands, argc, argv, &ui.cmd, &first, &err);
    if (code != CR_OK) {
        fprintf(stderr, "%s\n", err.msg);
    } else if (!ui.cmd) {
        cr_buf out;
        cr_buf_init(&out);
        cr_cmd_overview(&out, commands);
        fputs(out.data, stderr);
        cr_buf_clear(&out);
        code = CR_EUSAGE;
    } else {
        /* A command that starts ranks is none itself, also where srun gives PMI's variables to the
         * one launcher of every node. */
        ui.place.size = 1;
        if (!ui.cmd->wraps && (code = cr_place_find(&ui.place, &err)) != CR_OK)
            (void)cr_ui_fail(&ui, &err);
        if (ui.place.rank > 0) cr_ui_mute(true); /* the first rank speaks for all */
        if (code == CR_OK) code = run_command(&ui, argc - first, argv + first);
        if (code == CR_OK && ui.next) {
            ui.cmd = ui.next;
            code = run_command(&ui, ui.n_next, ui.next_args);
        }
        for (int i = 0; code == CR_OK && i < ui.n_queue; i++) {
            ui.cmd = ui.queue[i].cmd;
            code = run_command(&ui, ui.queue[i].n, ui.queue[i].args);
        }
        cr_log_progress(NULL);
        if (ui.comm)
            leave_ranks(&ui, code);
        else
            cr_ui_findings(&ui);
    }
    int exit_code = close_stdout(ui.exit_code ? ui.exit_code : cr_exit_code(code));
    cr_comm_close(ui.comm, exit_code);
    cr_ui_clear(&ui);
    return exit_code;
}
