/*
 * wrap.c - command lines of TorchEasyRec and PaddleRec with `crank` in front.
 *
 *   crank torchrun --nnodes=1 --nproc-per-node=1 -m tzrec.train_eval FLAGS
 *   crank LOG_LEVEL=DEBUG python3 -m tzrec.export FLAGS
 *   crank -m tzrec.eval FLAGS
 *   crank python tzrec/eval.py FLAGS
 *   crank run_deepfm FLAGS, crank python run_scripts/run_deepfm.py FLAGS (ModelZoo)
 *   crank python -u ../../../tools/trainer.py -m config.yaml
 *   crank fleetrun --worker_num=1 --server_num=1 ../../../tools/static_ps_trainer.py -m config.yaml
 *
 *   crank python -m paddle.distributed.launch --gpus 0,1 ../../../tools/trainer.py -m config.yaml
 *
 * torchrun and fleetrun are other names of `crank launch`, which reads their flags (cmd_launch.c).
 * Python's own flags mean nothing for crank.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"

typedef enum kind { SKIP, SKIP_VALUE, MODULE, REFUSE } kind;
typedef struct launcher_flag {
    const char *name; /* the name with _; one letter: a short flag */
    kind kind;
} launcher_flag;

static const launcher_flag python_flags[] = {
    {"m", MODULE},     {"u", SKIP},       {"O", SKIP},   {"OO", SKIP}, {"B", SKIP},
    {"E", SKIP},       {"s", SKIP},       {"S", SKIP},   {"I", SKIP},  {"q", SKIP},
    {"b", SKIP},       {"bb", SKIP},      {"d", SKIP},   {"v", SKIP},  {"P", SKIP},
    {"W", SKIP_VALUE}, {"X", SKIP_VALUE}, {"c", REFUSE}, {NULL, SKIP},
};

#define usage(err, ...) cr_fail((err), CR_EUSAGE, __VA_ARGS__)

static const char *next_flag(const void *ctx, size_t i) {
    return ((const launcher_flag *)ctx)[i].name;
}
static const char *next_cmd(const void *ctx, size_t i) {
    const cr_cmd *c = ((const cr_cmd *const *)ctx)[i];
    return c ? c->name : NULL;
}
static const char *next_module(const void *ctx, size_t i) {
    for (const cr_cmd *const *c = ctx; *c; c++)
        if ((*c)->module && i-- == 0) return (*c)->module;
    return NULL;
}

static const cr_cmd *by_module(const cr_cmd *const *cmds, const char *module) {
    for (; *cmds; cmds++)
        if ((*cmds)->module && strcmp((*cmds)->module, module) == 0) return *cmds;
    return NULL;
}

static cr_code unknown_module(const cr_cmd *const *cmds, const char *prog, const char *module,
                              cr_err *err) {
    const char *foreign = cr_foreign_module(module);
    if (foreign) return usage(err, "%s: '%s' is not part of crank; %s", prog, module, foreign);
    const char *near = cr_nearest(module, next_module, cmds);
    if (near) return usage(err, "%s: unknown module '%s'; did you mean '%s'?", prog, module, near);
    if (strncmp(module, "tzrec.", 6) == 0)
        return usage(err,
                     "%s: module '%s' is not in this version; tzrec.train_eval, tzrec.eval, "
                     "tzrec.export and tzrec.predict are, and 'crank help' lists the rest",
                     prog, module);
    return usage(err,
                 "%s: '%s' is not a module of TorchEasyRec; crank runs -m tzrec.train_eval, "
                 "tzrec.eval, tzrec.export, tzrec.predict and tzrec.tools.list_distcp_param",
                 prog, module);
}

/* Reads a launcher's flags from argv[i] on. *at is then the index of the module, or argc. */
static cr_code skip_flags(const char *prog, const launcher_flag *flags, int argc, char **argv,
                          int i, int *at, bool *is_module, cr_err *err) {
    *is_module = false;
    for (; i < argc; i++) {
        const char *arg = argv[i];
        if (arg[0] != '-' || !arg[1]) break;
        if (strcmp(arg, "--") == 0) {
            i++;
            break;
        }
        bool dashes = arg[1] == '-';
        char name[64];
        size_t n = strcspn(arg + 1 + dashes, "=");
        if (n >= sizeof name) n = sizeof name - 1;
        memcpy(name, arg + 1 + dashes, n);
        name[n] = 0;
        for (char *p = name; *p; p++)
            if (*p == '-') *p = '_';
        const char *value = strchr(arg, '=');
        if (value) value++;
        const launcher_flag *f = flags;
        while (f->name && strcmp(f->name, name) != 0)
            f++;
        if (!f->name && !dashes && arg[1] == 'm') { /* -mtzrec.eval */
            argv[i] += 2;
            *is_module = true;
            break;
        }
        if (!f->name) {
            const char *near = cr_nearest(name, next_flag, flags);
            return near ? usage(err, "%s: unknown flag %s; did you mean --%s?", prog, arg, near)
                        : usage(err, "%s: unknown flag %s before the module; leave it out", prog,
                                arg);
        }
        if (f->kind == REFUSE)
            return usage(err, "%s: %s has no meaning for crank; use -m tzrec.train_eval", prog,
                         arg);
        if (f->kind == MODULE) {
            *is_module = true;
            continue;
        }
        if (f->kind == SKIP) continue;
        if (!value) {
            if (i + 1 >= argc)
                return usage(err, "%s: %s needs a value; write %s=1", prog, arg, arg);
            i++;
        }
    }
    *at = i;
    return CR_OK;
}

static bool is_assignment(const char *s) {
    if (!isalpha((unsigned char)*s) && *s != '_') return false;
    while (isalnum((unsigned char)*s) || *s == '_')
        s++;
    return *s == '=';
}

static cr_code unknown_cmd(const cr_cmd *const *cmds, const char *name, cr_err *err) {
    const char *foreign = cr_foreign_program(name);
    if (foreign) return usage(err, "crank: '%s' is not a command of crank; %s", name, foreign);
    const char *near = cr_nearest(name, next_cmd, cmds);
    if (near) return usage(err, "crank: unknown command '%s'; did you mean '%s'?", name, near);
    if (cr_path_exists(name))
        return usage(err, "crank: '%s' is a file, not a command; did you mean 'crank train %s'?",
                     name, name);
    if (name[0] == '-')
        return usage(err, "crank: unknown flag %s before the command; write the command first",
                     name);
    return usage(err, "crank: unknown command '%s'; see 'crank help'", name);
}

/* Returns the module of a script: tzrec/train_eval.py is tzrec.train_eval. NULL: it is another
 * script. */
static const char *script_module(const char *path, char out[128]) {
    const char *name = strstr(path, "tzrec/");
    size_t n = name ? strlen(name) : 0;
    if (n < 4 || n >= 128 || strcmp(name + n - 3, ".py") != 0) return NULL;
    memcpy(out, name, n - 3);
    out[n - 3] = 0;
    for (char *p = out; *p; p++)
        if (*p == '/') *p = '.';
    return out;
}

/* Are these flags of Cruise's command line, as --config=x.yaml --fit? */
static bool is_cruise(int argc, char **argv) {
    static const char *const flags[] = {"--config",  "--fit",      "--val",
                                        "--test",    "--trace",    "--print_config",
                                        "--trainer", "--val-only", "--val_only",
                                        NULL};
    for (int i = 0; i < argc; i++)
        for (int k = 0; flags[k]; k++) {
            size_t n = strlen(flags[k]);
            if (strncmp(argv[i], flags[k], n) == 0 &&
                (!argv[i][n] || argv[i][n] == '=' || argv[i][n] == '.'))
                return true;
        }
    return false;
}

/* Is it a word or script of ModelZoo's run interface, as run_deepfm or run_deepfm.py? */
static bool is_run_word(const char *word) {
    return strncmp(word, "run_", 4) == 0 && word[4] && !strchr(word, '/');
}

/* Scripts of PaddleRec: tools/trainer.py trains, tools/infer.py evaluates; flag: that of `crank
 * run`. */
static const struct paddle_script {
    const char *name, *flag;
} paddle_scripts[] = {
    {"trainer.py", NULL},
    {"static_trainer.py", NULL},
    {"static_ps_trainer.py", NULL},
    {"static_ps_online_trainer.py", NULL},
    {"infer.py", "--infer"},
    {"static_infer.py", "--infer"},
    {"static_ps_infer.py", "--infer"},
    {"to_static.py", "--to_static"},
    {NULL, NULL},
};

/* Scripts that do something else, and what to do instead. */
static const struct other_script {
    const char *name, *cure;
} other_scripts[] = {
    {"static_ps_offline_infer.py",
     "evaluate a checkpoint with 'crank eval' and the config that 'crank config' prints"},
    {"static_gpubox_trainer.py", "crank has no GPU; use static_ps_trainer.py"},
    {"static_pglbox_trainer.py", "crank has no graph engine"},
    {"static_fl_trainer.py", "crank has no federated training; use static_ps_trainer.py"},
    {"paddle_infer.py", "'crank predict' writes a score per line"},
    {"feature_importance.py", "'crank importance' says what each feature is worth"},
    {"cal_pos_neg.py", "the metric grouped_auc of 'crank eval' counts right pairs of a group"},
    {"rec_client.py", "'crank predict' writes a score per line"},
    {"webserver.py", "'crank predict' writes a score per line"},
    {NULL, NULL},
};

static cr_code other_script(const char *prog, const char *path, cr_err *err) {
    for (const struct other_script *s = other_scripts; s->name; s++)
        if (strcmp(cr_path_base(path), s->name) == 0)
            return usage(err, "%s: %s of PaddleRec is not part of crank; %s", prog, s->name,
                         s->cure);
    return CR_OK;
}

static const struct paddle_script *paddle_script(const char *path) {
    for (const struct paddle_script *s = paddle_scripts; s->name; s++)
        if (strcmp(cr_path_base(path), s->name) == 0) return s;
    return NULL;
}

static bool is_python(const char *base) {
    return strncmp(base, "python", 6) == 0 && strspn(base + 6, "0123456789.") == strlen(base + 6);
}

cr_code cr_wrap_find(const cr_cmd *const *cmds, int argc, char **argv, const cr_cmd **cmd,
                     int *first, cr_err *err) {
    int i = 0;
    *cmd = NULL;
    *first = argc;
    for (; i < argc && (is_assignment(argv[i]) || strcmp(argv[i], "env") == 0); i++) {
        char *eq = strchr(argv[i], '=');
        if (!eq) continue;
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)(eq - argv[i]), argv[i]);
        if (setenv(name, eq + 1, 1) != 0)
            return cr_fail(err, CR_ERUN, "crank: cannot set %s in the environment", name);
    }
    if (i >= argc) return CR_OK;
    const launcher_flag *flags = NULL;
    const char *base = cr_path_base(argv[i]);
    char prog[64];
    if (is_python(base)) flags = python_flags;
    if (flags)
        snprintf(prog, sizeof prog, "crank %.50s", base);
    else if (strncmp(argv[i], "-m", 2) == 0) {
        flags = python_flags;
        snprintf(prog, sizeof prog, "crank");
        i--;
    } else {
        bool launches = strcmp(base, "torchrun") == 0 || strcmp(base, "fleetrun") == 0;
        *cmd = cr_cmd_find(cmds, launches ? "launch" : argv[i]);
        if (strcmp(base, "fleetrun") == 0) {
            *first = i + 1;
            return cr_wrap_paddle(argc, argv, first, err);
        }
        if (strcmp(argv[i], "run") == 0 && is_cruise(argc - i - 1, argv + i + 1))
            *cmd = cr_cmd_find(cmds, "cruise");
        if (!*cmd && is_run_word(argv[i])) { /* run_deepfm: the word names the model */
            *cmd = cr_cmd_find(cmds, "zoo");
            *first = i;
            return CR_OK;
        }
        if (!*cmd) return unknown_cmd(cmds, argv[i], err);
        if (strcmp(argv[i], "export") == 0 && i + 1 < argc && is_assignment(argv[i + 1]))
            return usage(err, "crank: 'export %s' is a line for the shell; leave crank out of it",
                         argv[i + 1]);
        *first = i + 1;
        return CR_OK;
    }
    for (int k = i + 1; k < argc; k++) { /* before any flag is read */
        const char *foreign = strstr(argv[k], ".py") ? cr_foreign_module(argv[k]) : NULL;
        if (argv[k][0] != '-' && foreign)
            return usage(err, "%s: '%s' is not part of crank; %s", prog, argv[k], foreign);
    }
    int at = argc;
    bool is_module;
    CR_TRY(skip_flags(prog, flags, argc, argv, i + 1, &at, &is_module, err));
    if (at >= argc)
        return usage(err, "%s: no module is given; add -m tzrec.train_eval and its flags", prog);
    if (!is_module && is_run_word(cr_path_base(argv[at]))) { /* python run_scripts/run_deepfm.py */
        *cmd = cr_cmd_find(cmds, "zoo");
        argv[at] += cr_path_base(argv[at]) - argv[at];
        *first = at;
        return CR_OK;
    }
    const struct paddle_script *script = is_module ? NULL : paddle_script(argv[at]);
    if (script) {
        static char flag[16];
        *first = script->flag ? at : at + 1;
        if (script->flag) {
            snprintf(flag, sizeof flag, "%s", script->flag);
            argv[at] = flag;
        }
        cr_wrap_bf16(argc, argv, first);
        *cmd = cr_cmd_find(cmds, "run");
        return CR_OK;
    }
    if (!is_module) CR_TRY(other_script(prog, argv[at], err));
    char as_module[128];
    const char *module = is_module ? argv[at] : script_module(argv[at], as_module);
    if (!module)
        return usage(err, "%s: '%s' is a script; crank runs modules: -m tzrec.train_eval", prog,
                     argv[at]);
    *first = at + 1;
    if (strcmp(module, "paddle.distributed.launch") == 0) {
        *cmd = cr_cmd_find(cmds, "launch");
        return cr_wrap_paddle(argc, argv, first, err);
    }
    if (strcmp(module, "torch.distributed.run") == 0 ||
        strcmp(module, "torch.distributed.launch") == 0)
        *cmd = cr_cmd_find(cmds, "torchrun");
    else
        *cmd = by_module(cmds, module);
    return *cmd ? CR_OK : unknown_module(cmds, prog, module, err);
}

/* srun starts its tasks without MPI unless it is told which: each of them would then do the whole
 * work, all in one model_dir. */
static cr_code check_srun(cr_err *err) {
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    int64_t n;
    if (!tasks || getenv("PMI_SIZE") || !cr_parse_i64(tasks, strlen(tasks), &n) || n < 2)
        return CR_OK;
    return usage(err,
                 "srun started %s tasks without MPI, and each of them would do the whole work; "
                 "start ranks with 'srun --mpi=pmi2' (MPICH) or 'srun --mpi=pmix' (Open MPI), or "
                 "one 'crank launch' per node; for %s runs that have nothing to do with each "
                 "other, unset SLURM_STEP_NUM_TASKS",
                 tasks, tasks);
}

cr_code cr_wrap_env(cr_err *err) {
    const char *world = getenv("WORLD_SIZE");
    int64_t n;
    CR_TRY(check_srun(err));
    if (!world || !*world) return CR_OK;
    if (!cr_parse_i64(world, strlen(world), &n) || n < 1)
        return usage(err,
                     "WORLD_SIZE of the environment is '%.60s' and must be 1, the number of "
                     "processes; unset it",
                     world);
    if (n == 1) return CR_OK;
    return usage(
        err,
        "WORLD_SIZE of the environment is %s, but no MPI launcher started this process; start the "
        "ranks with 'crank launch --nproc-per-node %s -- train CONFIG', or unset WORLD_SIZE",
        world, world);
}
