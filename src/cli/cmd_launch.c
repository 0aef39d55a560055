/*
 * cmd_launch.c - `crank launch [flags] -- COMMAND ...`, also spelled `crank torchrun [flags] -m
 * MODULE ...` and `crank fleetrun --server_num N --worker_num M SCRIPT ...` (Paddle).
 *
 * The flags are torchrun's. One process without restarts and logs needs no launcher: then the
 * command runs in this process, as if it had been typed alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "launch/launch.h"

typedef struct args {
    cr_launch_flags f;
    const char *secret_file;
    double fault_timeout;
    int64_t ps, workers;
    bool module;
    /* flags that torchrun knows and that have no meaning here */
    const char *monitor_interval, *start_method, *event_log_handler, *local_addr, *logs_specs;
    const char *duplicate_stdout_filters, *duplicate_stderr_filters, *numa_binding;
    bool use_env, virtual_local_rank, no_python, run_path;
} args;

#define FLAG(m, letter, arg, otherwise, help)                                                      \
    CR_OPT_AT(args, f.m, #m, CR_O_STR, letter, 0, arg, NULL, otherwise, 0, 0, help)
#define NONE       "no meaning for crank: accepted with a warning"
#define NO_STR(m)  CR_OPT_STR(args, m, 0, "VALUE", "none", NONE)
#define NO_BOOL(m) CR_OPT_BOOL(args, m, 0, NONE)

static const cr_opt opts[] = {
    FLAG(nnodes, 0, "N", "1, or what the platform says", "number of nodes, or MIN:MAX"),
    FLAG(nproc_per_node, 0, "N", "1, or what the platform says",
         "ranks on each node; auto and cpu: one per core, gpu: one per GPU"),
    CR_OPT_INT(args, ps, "N", NULL, "none", 1, 4095,
               "parameter servers on each node, with --workers; instead of --nproc-per-node"),
    CR_OPT_INT(args, workers, "N", NULL, "none", 1, 4095, "workers on each node, with --ps"),
    CR_OPT_AT(args, ps, "server_num", CR_O_INT, 0, 0, "N", NULL, "--ps", 1, 4095,
              "fleetrun's name for --ps"),
    CR_OPT_AT(args, workers, "worker_num", CR_O_INT, 0, 0, "N", NULL, "--workers", 1, 4095,
              "fleetrun's name for --workers"),
    FLAG(node_rank, 0, "N", "by arrival", "number of this node, from 0; node 0 has the head"),
    FLAG(master_addr, 0, "HOST", "MASTER_ADDR", "name or address of node 0"),
    FLAG(master_port, 0, "PORT", "29500, or MASTER_PORT", "port of node 0 where the nodes meet"),
    CR_OPT_AT(args, f.standalone, "standalone", CR_O_BOOL, 0, 0, NULL, NULL, NULL, 0, 0,
              "one node; no port is opened"),
    FLAG(max_restarts, 0, "N", "0",
         "how often the ranks are started again after a fault, from the last checkpoint"),
    CR_OPT_STR(args, secret_file, CR_O_PATH, "FILE", "CRANK_JOB_SECRET of the environment",
               "the secret by which the nodes of this job know each other"),
    CR_OPT_(args, fault_timeout, CR_O_FLOAT, 0, 0, "SECONDS", "20", NULL, 1, 86400,
            "a rank or node that gives no sign of life for so long is given up"),
    FLAG(rdzv_backend, 0, "NAME", "static", "static and c10d are understood; both mean node 0"),
    FLAG(rdzv_endpoint, 0, "HOST:PORT", "none", "the same as --master_addr and --master_port"),
    FLAG(rdzv_id, 0, "ID", "none", "name of the job; nodes with another one are not let in"),
    FLAG(rdzv_conf, 0, "KEY=VALUE,...", "join_timeout=600,last_call_timeout=30,start_timeout=20",
         "how long to wait for nodes, for more of them when MIN are there, and for a rank that "
         "starts"),
    CR_OPT_AT(args, f.log_dir, "log_dir", CR_O_STR, 0, CR_O_PATH, "DIR", NULL, "none", 0, 0,
              "each rank's output also goes to DIR/attempt_N/RANK/*.log"),
    FLAG(redirects, 'r', "N", "0", "1 stdout, 2 stderr, 3 both: to --log_dir only; or 0:3,1:2"),
    FLAG(tee, 't', "N", "0", "the same: to --log_dir and, with a prefix, to the terminal"),
    FLAG(local_ranks_filter, 0, "RANKS", "all", "local ranks whose output is shown: 0,1"),
    FLAG(role, 0, "NAME", "default", "the word in the prefixes of --tee"),
    FLAG(signals_to_handle, 0, "NAMES", "SIGTERM,SIGINT,SIGHUP,SIGQUIT",
         "signals that end the job"),
    CR_OPT_(args, module, CR_O_BOOL, 'm', 0, NULL, NULL, NULL, 0, 0,
            "a module of TorchEasyRec follows: -m tzrec.train_eval"),
    NO_STR(monitor_interval),
    NO_STR(start_method),
    NO_STR(event_log_handler),
    NO_STR(local_addr),
    NO_STR(logs_specs),
    NO_STR(duplicate_stdout_filters),
    NO_STR(duplicate_stderr_filters),
    NO_STR(numa_binding),
    NO_BOOL(use_env),
    NO_BOOL(virtual_local_rank),
    NO_BOOL(no_python),
    NO_BOOL(run_path),
    CR_OPT_END,
};

static void warn_ignored(cr_ui *ui, const args *a) {
    const struct {
        const char *name;
        bool given;
    } v[] = {{"monitor_interval", a->monitor_interval},
             {"start_method", a->start_method},
             {"event_log_handler", a->event_log_handler},
             {"local_addr", a->local_addr},
             {"logs_specs", a->logs_specs},
             {"duplicate_stdout_filters", a->duplicate_stdout_filters},
             {"duplicate_stderr_filters", a->duplicate_stderr_filters},
             {"numa_binding", a->numa_binding},
             {"use_env", a->use_env},
             {"virtual_local_rank", a->virtual_local_rank},
             {"no_python", a->no_python},
             {"run_path", a->run_path}};
    char list[300] = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        if (v[i].given)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s--%s", n ? ", " : "", v[i].name);
    if (n)
        cr_diag_add(&ui->diag, CR_SEV_WARN, CR_OK, CR_NOWHERE,
                    "%s %s without effect in crank; leave out what is not needed", list,
                    strstr(list, ", ") ? "are" : "is");
}

/* ---- the command behind the flags ---- */

typedef struct inner {
    const cr_cmd *cmd;
    int n;
    char **v;         /* its arguments */
    int64_t threads;  /* the number that the command line gives; 0: it gives none */
    bool has_threads; /* the command has the flag */
    bool has_continue, continues;
    int64_t ps, workers; /* 0: no rank is a server */
    bool help;
} inner;

static cr_code find_inner(cr_ui *ui, const args *a, inner *in, cr_err *err) {
    static char dash_m[] = "-m", python[] = "python";
    char **v = CR_NEW_N(&ui->arena, char *, ui->n_rest + 2);
    int n = 0, first;
    if (ui->n_rest == 0)
        return cr_fail(err, CR_EUSAGE,
                       "crank launch: no command is given; write 'crank launch --nproc-per-node 2 "
                       "-- train CONFIG', or -m tzrec.train_eval and its flags");
    size_t k = strlen(ui->rest[0]);
    if (a->module)
        v[n++] = dash_m;
    else if (k > 3 && strcmp(ui->rest[0] + k - 3, ".py") == 0)
        v[n++] = python;
    for (int i = 0; i < ui->n_rest; i++)
        v[n++] = ui->rest[i];
    CR_TRY(cr_wrap_find(ui->cmds, n, v, &in->cmd, &first, err));
    if (!in->cmd)
        return cr_fail(err, CR_EUSAGE,
                       "crank launch: no command is given to launch; write -- train CONFIG");
    if (in->cmd == ui->cmd)
        return cr_fail(
            err, CR_EUSAGE,
            "crank launch: a launcher cannot start a launcher; write launch once: 'crank "
            "launch --nproc-per-node N -- train CONFIG'");
    in->n = n - first;
    in->v = v + first;
    return CR_OK;
}

/* Reads the command's own arguments, so that a mistake is reported before anything starts. */
static cr_code check_inner(cr_ui *ui, inner *in, cr_err *err) {
    cr_cmd_spec s;
    cr_common_flags common = {0};
    cr_rank_flags ranks = {0};
    void *flags = cr_arena_zalloc(&ui->arena, in->cmd->args_size);
    cr_cmd_spec_init(&s, in->cmd, flags, &ranks, &common);
    CR_TRY(cr_opt_parse(&s.spec, in->n, in->v, &ui->arena, err));
    in->help = common.help;
    if (ranks.ps || ranks.workers)
        return cr_fail(err, CR_EUSAGE,
                       "crank launch: --ps and --workers stand behind '--'; write them before it, "
                       "for the launcher to start so many ranks");
    for (const cr_opt *o = in->cmd->opts; o->name; o++) {
        const char *at = (const char *)flags + o->offset;
        if (strcmp(o->name, "threads") == 0 && o->type == CR_O_INT) {
            in->has_threads = true;
            memcpy(&in->threads, at, sizeof in->threads);
        }
        if (strcmp(o->name, "continue_train") == 0) {
            in->has_continue = true;
            memcpy(&in->continues, at, sizeof in->continues);
        }
    }
    return CR_OK;
}

/* ---- the job ---- */

/* Finds the threads of a rank: the number of the command line, else OMP_NUM_THREADS, else its
 * share of the cores. */
static cr_code threads_of(const inner *in, int nproc, int64_t *n, const char **why, cr_err *err) {
    const char *omp = getenv("OMP_NUM_THREADS");
    *why = "--threads";
    *n = in->threads;
    if (*n > 0) return CR_OK;
    *why = "OMP_NUM_THREADS";
    if (in->has_threads && omp && *omp) {
        if (cr_parse_i64(omp, strlen(omp), n) && *n > 0 && *n <= 1024) return CR_OK;
        return cr_fail(err, CR_EUSAGE,
                       "OMP_NUM_THREADS of the environment is '%.60s' and must be a number from 1 "
                       "to 1024; unset it to divide the cores among the ranks",
                       omp);
    }
    *n = cr_cpu_count() / nproc;
    *why =
        *n > 0 ? "its share of the cores" : "there are fewer cores than ranks, so they take turns";
    if (*n < 1) *n = 1;
    return CR_OK;
}

static char **rank_argv(cr_ui *ui, const inner *in, const char *path, int64_t threads,
                        bool resume) {
    char **v = CR_NEW_N(&ui->arena, char *, in->n + 10);
    int n = 0;
    v[n++] = cr_arena_strdup(&ui->arena, path);
    v[n++] = cr_arena_strdup(&ui->arena, in->cmd->name);
    if (resume && in->has_continue && !in->continues)
        v[n++] = cr_arena_strdup(&ui->arena, "--continue_train");
    if (in->has_threads && in->threads == 0)
        v[n++] = cr_arena_printf(&ui->arena, "--threads=%lld", (long long)threads);
    if (in->ps > 0) {
        v[n++] = cr_arena_printf(&ui->arena, "--ps=%lld", (long long)in->ps);
        v[n++] = cr_arena_printf(&ui->arena, "--workers=%lld", (long long)in->workers);
    }
    if (ui->allow_libraries) v[n++] = cr_arena_strdup(&ui->arena, "--allow_libraries");
    for (int i = 0; i < in->n; i++)
        v[n++] = in->v[i];
    return v;
}

static cr_code plan_output(cr_ui *ui, const args *a, int n, cr_output_plan *out, cr_err *err) {
    *out = (cr_output_plan){.log_dir = a->f.log_dir,
                            .role = a->f.role ? a->f.role : "default",
                            .n = n,
                            .redirect = CR_NEW_N(&ui->arena, unsigned char, n),
                            .tee = CR_NEW_N(&ui->arena, unsigned char, n),
                            .show = CR_NEW_N(&ui->arena, unsigned char, n)};
    memset(out->show, 3, (size_t)n);
    bool files = false;
    if (a->f.redirects) CR_TRY(cr_output_bits("redirects", a->f.redirects, out->redirect, n, err));
    if (a->f.tee) CR_TRY(cr_output_bits("tee", a->f.tee, out->tee, n, err));
    if (a->f.local_ranks_filter)
        CR_TRY(cr_output_ranks(a->f.local_ranks_filter, out->show, n, err));
    for (int i = 0; i < n; i++)
        files = files || out->redirect[i];
    if (files && !out->log_dir)
        return cr_fail(err, CR_EUSAGE,
                       "--redirects needs a folder for the files; give --log_dir DIR");
    if (out->log_dir) CR_TRY(cr_mkdirs(out->log_dir, err));
    return CR_OK;
}

static cr_code key_of(const args *a, const cr_layout *l, cr_key *key, cr_err *err) {
    if (l->standalone) return cr_random(key->b, sizeof key->b, err);
    return cr_secret_key(key, a->secret_file, getenv("CRANK_JOB_SECRET"), l->run_id, err);
}

static uint64_t digest_args(const inner *in) {
    cr_digest d;
    cr_digest_init(&d);
    cr_digest_add(&d, in->cmd->name, strlen(in->cmd->name) + 1);
    for (int i = 0; i < in->n; i++)
        cr_digest_add(&d, in->v[i], strlen(in->v[i]) + 1);
    if (in->ps > 0) {
        cr_digest_add(&d, &in->ps, sizeof in->ps);
        cr_digest_add(&d, &in->workers, sizeof in->workers);
    }
    return cr_digest_end(&d);
}

/* Does the job need no launcher: one process, whose end is the end of all? */
static bool is_simple(const args *a, const cr_layout *l) {
    return l->standalone && l->nproc == 1 && l->max_restarts == 0 && !a->f.log_dir && !a->f.tee &&
           !a->f.redirects;
}

static cr_code launch(cr_ui *ui, const args *a, inner *in, cr_launch *job, cr_err *err) {
    char path[4096];
    const char *why;
    int64_t threads;
    cr_layout *l = &job->layout;
    CR_TRY(key_of(a, l, &job->key, err));
    CR_TRY(plan_output(ui, a, l->nproc, &job->output, err));
    CR_TRY(cr_launch_program(&job->digest, path, sizeof path, err));
    CR_TRY(threads_of(in, l->nproc, &threads, &why, err));
    CR_INFO("%s", cr_layout_text(l, &ui->arena));
    if (in->ps > 0 && l->servers == 0)
        CR_INFO("of the ranks of each node %lld work%s and %lld serve%s", (long long)in->workers,
                in->workers == 1 ? "s" : "", (long long)in->ps, in->ps == 1 ? "s" : "");
    if (in->has_threads)
        CR_INFO("%lld thread%s per rank: %s", (long long)threads, threads == 1 ? "" : "s", why);
    if (in->has_threads) unsetenv("OMP_NUM_THREADS"); /* the ranks have --threads instead */
    job->argv = rank_argv(ui, in, path, threads, false);
    job->resume = rank_argv(ui, in, path, threads, true);
    job->args = digest_args(in);
    job->version = CR_VERSION;
    job->fault_s = a->fault_timeout;
    job->may_lose = in->ps > 0;
    if (l->start_s <= 0)
        l->start_s = job->fault_s > CR_LAUNCH_START_S ? job->fault_s : CR_LAUNCH_START_S;
    job->signals = a->f.signals_to_handle;
    cr_ui_findings(ui);
    return cr_launch_run(job, &ui->exit_code, err);
}

/* Servers and workers of a node are its ranks. */
static cr_code count_roles(cr_ui *ui, args *a, inner *in, cr_err *err) {
    if (!a->ps && !a->workers) return CR_OK;
    if (!a->ps || !a->workers)
        return cr_fail(err, CR_EUSAGE,
                       "crank launch: %s is given without %s; parameter servers need workers, so "
                       "give both",
                       a->ps ? "--ps" : "--workers", a->ps ? "--workers" : "--ps");
    if (a->f.nproc_per_node)
        return cr_fail(
            err, CR_EUSAGE,
            "crank launch: --nproc-per-node is %s beside --ps and --workers, which start "
            "%lld ranks on each node; leave one of both out",
            a->f.nproc_per_node, (long long)(a->ps + a->workers));
    if (!in->cmd->ranks)
        return cr_fail(err, CR_EUSAGE,
                       "crank launch: %s runs as one process and has no use for parameter servers; "
                       "leave out --ps and --workers",
                       in->cmd->name);
    in->ps = a->ps;
    in->workers = a->workers;
    a->f.nproc_per_node = cr_arena_printf(&ui->arena, "%lld", (long long)(a->ps + a->workers));
    return CR_OK;
}

static cr_code run(cr_ui *ui, const void *flags) {
    args a = *(const args *)flags;
    inner in = {0};
    cr_launch job = {0};
    cr_err err;
    cr_machine machine = cr_machine_here;
    machine.cores = cr_cpu_count();
    machine.gpus = cr_machine_gpus();
    cr_code code = find_inner(ui, &a, &in, &err);
    if (code == CR_OK) code = check_inner(ui, &in, &err);
    if (code == CR_OK) code = count_roles(ui, &a, &in, &err);
    if (code != CR_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return code;
    }
    warn_ignored(ui, &a);
    code = cr_layout_pet(&a.f, &machine, &err);
    if (code == CR_OK) code = cr_layout_find(&job.layout, &a.f, &machine, &ui->arena, &err);
    if (code != CR_OK) return cr_ui_fail(ui, &err);
    cr_layout *l = &job.layout;
    if (l->servers > 0 && in.cmd->ranks) {
        in.ps = l->servers;
        in.workers = l->workers;
    }
    if (!in.cmd->ranks && !l->is_head) {
        CR_INFO("%s runs as one process, on node 0; there is nothing to do on this node",
                in.cmd->name);
        return CR_OK;
    }
    if (!in.cmd->ranks && (l->nproc > 1 || !l->standalone)) {
        CR_INFO("%s runs as one process in this version; it takes all cores", in.cmd->name);
        *l = (cr_layout){.min_nodes = 1,
                         .max_nodes = 1,
                         .nproc = 1,
                         .node_rank = 0,
                         .is_head = true,
                         .standalone = true,
                         .addr = "127.0.0.1",
                         .port = l->port,
                         .run_id = l->run_id,
                         .max_restarts = l->max_restarts,
                         .start_s = l->start_s,
                         .because = ""};
    }
    if (in.help || is_simple(&a, l)) {
        unsetenv("WORLD_SIZE"); /* it counts nodes, or it is 1: the layout has looked at it */
        ui->next = in.cmd;
        ui->n_next = in.n;
        ui->next_args = in.v;
        return CR_OK;
    }
    code = launch(ui, &a, &in, &job, &err);
    return code == CR_OK ? CR_OK : cr_ui_fail(ui, &err);
}

static const char *const examples[] = {
    "crank launch --standalone --nproc-per-node 2 -- train deepfm.yaml",
    "crank launch --nnodes 2 --node_rank 0 --master_addr host0 --nproc-per-node 4 --max_restarts 3 "
    "-- train deepfm.yaml",
    "crank launch --ps 2 --workers 4 -- train deepfm.yaml --strategy sync",
    "crank torchrun --nnodes=1 --nproc-per-node=2 -m tzrec.train_eval --pipeline_config_path "
    "deepfm.config",
    NULL,
};

const cr_cmd cr_cmd_launch = {
    .name = "launch",
    .alias = "torchrun",
    .help = "Start a command as several ranks, on one machine or many, and watch them",
    .about = "The flags are those of torchrun. Start it on every node; no ssh is needed.\n"
             "Ctrl-C ends all ranks and saves a checkpoint; a second one ends them at once.\n",
    .opts = opts,
    .args_size = sizeof(args),
    .wraps = true,
    .examples = examples,
    .run = run,
};
