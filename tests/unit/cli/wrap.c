/*
 * wrap.c - finding the command in a line: plain, behind torchrun, python, env and assignments.
 */
#include "cli/cli.h"

#include "harness.h"

static const cr_cmd train = {.name = "train", .alias = "train_eval", .module = "tzrec.train_eval"};
static const cr_cmd eval = {.name = "eval", .module = "tzrec.eval"};
static const cr_cmd params = {.name = "params",
                              .alias = "list_distcp_param",
                              .module = "tzrec.tools.list_distcp_param"};
static const cr_cmd launch = {.name = "launch", .alias = "torchrun"};
static const cr_cmd *const cmds[] = {&train, &eval, &params, &launch, NULL};

static cr_err err;
static const cr_cmd *cmd;
static char first_arg[64];

static cr_code find(const char *line) {
    char text[512], *argv[40], *save = NULL;
    int argc = 0, first = -1;
    err = (cr_err){0};
    snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    cr_code code = cr_wrap_find(cmds, argc, argv, &cmd, &first, &err);
    snprintf(first_arg, sizeof first_arg, "%s",
             code == CR_OK && first < argc ? argv[first] : "(none)");
    return code;
}
#define FOUND(line, command, arg)                                                                  \
    do {                                                                                           \
        CHECK_INT(find(line), CR_OK);                                                              \
        CHECK_STR(err.msg, "");                                                                    \
        CHECK(cmd == &(command));                                                                  \
        CHECK_STR(first_arg, arg);                                                                 \
    } while (0)
#define WRONG(line, text)                                                                          \
    do {                                                                                           \
        CHECK_INT(find(line), CR_EUSAGE);                                                          \
        CHECK_STR(err.msg, text);                                                                  \
    } while (0)
/* scripts of PaddleRec that crank does not have */
TEST(other_scripts) {
    WRONG("python -u ../tools/static_gpubox_trainer.py -m c.yaml",
          "crank python: static_gpubox_trainer.py of PaddleRec is not part of crank; crank has no "
          "GPU; use static_ps_trainer.py");
    WRONG(
        "python tools/feature_importance.py -m c.yaml",
        "crank python: feature_importance.py of PaddleRec is not part of crank; 'crank importance' "
        "says what each feature is worth");
}

TEST(plain) {
    FOUND("train x.yaml", train, "x.yaml");
    FOUND("train_eval --a", train, "--a");
    FOUND("train-eval", train, "(none)");
    FOUND("list_distcp_param p", params, "p");
    CHECK_INT(find(""), CR_OK);
    CHECK(!cmd);
    WRONG("evall x", "crank: unknown command 'evall'; did you mean 'eval'?");
    WRONG("frobnicate", "crank: unknown command 'frobnicate'; see 'crank help'");
    WRONG("--model_dir x", "crank: unknown flag --model_dir before the command; write the command "
                           "first");
    WRONG("/", "crank: '/' is a file, not a command; did you mean 'crank train /'?");
}

/* torchrun is another name of launch, which reads the flags itself */
TEST(torchrun) {
    FOUND("torchrun --master_addr=localhost --nnodes=1 -m tzrec.train_eval x", launch,
          "--master_addr=localhost");
    FOUND("/opt/bin/torchrun --standalone -m tzrec.eval x", launch, "--standalone");
    FOUND("launch --standalone -- eval x", launch, "--standalone");
    FOUND("torchrun", launch, "(none)");
}

TEST(python) {
    FOUND("python -m tzrec.eval a", eval, "a");
    FOUND("python3 -u -W ignore -m tzrec.tools.list_distcp_param a", params, "a");
    FOUND("/usr/bin/python3.11 -mtzrec.eval a", eval, "a");
    FOUND("-m tzrec.train_eval a", train, "a");
    FOUND("python -m torch.distributed.run --nproc_per_node=1 -m tzrec.eval a", launch,
          "--nproc_per_node=1");
    FOUND("python -m torch.distributed.launch --use_env -m tzrec.eval a", launch, "--use_env");
    WRONG("python -m tzrec.evla", "crank python: unknown module 'tzrec.evla'; did you mean "
                                  "'tzrec.eval'?");
    WRONG("python -m tzrec.tools.hitrate",
          "crank python: module 'tzrec.tools.hitrate' is not in this version; tzrec.train_eval, "
          "tzrec.eval, tzrec.export and tzrec.predict are, and 'crank help' lists the rest");
    WRONG("python3 -m http.server",
          "crank python3: 'http.server' is not a module of TorchEasyRec; crank runs -m "
          "tzrec.train_eval, tzrec.eval, tzrec.export, tzrec.predict and "
          "tzrec.tools.list_distcp_param");
    WRONG("python -c 1", "crank python: -c has no meaning for crank; use -m tzrec.train_eval");
    WRONG("pythonic", "crank: unknown command 'pythonic'; see 'crank help'");
}

#define WEIGHTS                                                                                    \
    "is not part of crank; a safetensors file is enough to bring weights, and three lines of "     \
    "Python write one (docs/guide/checkpoints.md, 'Weights from TorchEasyRec'); then give it to "  \
    "--fine_tune_checkpoint"

/* lines of a job script that are not for crank */
TEST(foreign) {
    FOUND("python tzrec/eval.py a", eval, "a");
    FOUND("python /opt/TorchEasyRec/tzrec/train_eval.py a", train, "a");
    WRONG("python tzrec/evla.py",
          "crank python: unknown module 'tzrec.evla'; did you mean 'tzrec.eval'?");
    WRONG("pip install tzrec", "crank: 'pip' is not a command of crank; crank needs no Python "
                               "packages; leave the line out");
    WRONG("/usr/bin/pip3.11 install x", "crank: '/usr/bin/pip3.11' is not a command of crank; "
                                        "crank needs no Python packages; leave the line out");
    WRONG("python3 -m pip install x", "crank python3: 'pip' is not part of crank; crank needs no "
                                      "Python packages; leave the line out");
    WRONG("conda activate x", "crank: 'conda' is not a command of crank; crank needs no Python "
                              "environment; leave the line out");
    WRONG("dlc submit pytorchjob",
          "crank: 'dlc' is not a command of crank; the line submits a job to PAI; leave crank out "
          "of it, and write crank in front of the torchrun line inside its --command");
    WRONG("cd data", "crank: 'cd' is not a command of crank; it is a line for the shell; leave "
                     "crank out of it");
    WRONG("nohup crank train", "crank: 'nohup' is not a command of crank; write it in front of "
                               "crank, not behind");
    WRONG("python tzrec/tools/convert.py --x y", "crank python: 'tzrec/tools/convert.py' " WEIGHTS);
    WRONG("python convert_ckpt.py", "crank python: 'convert_ckpt.py' " WEIGHTS);
    WRONG("python -m tzrec.tools.dynamicemb.zch_to_dynamicemb_convert",
          "crank python: 'tzrec.tools.dynamicemb.zch_to_dynamicemb_convert' " WEIGHTS);
}

TEST(environment) {
    FOUND("CR_TEST_A=1 env CR_TEST_B=x=y python -m tzrec.eval z", eval, "z");
    CHECK_STR(getenv("CR_TEST_A"), "1");
    CHECK_STR(getenv("CR_TEST_B"), "x=y");
    unsetenv("WORLD_SIZE");
    CHECK_INT(cr_wrap_env(&err), CR_OK);
    setenv("WORLD_SIZE", "1", 1);
    CHECK_INT(cr_wrap_env(&err), CR_OK);
    setenv("WORLD_SIZE", "4", 1);
    CHECK_INT(cr_wrap_env(&err), CR_EUSAGE);
    CHECK(strstr(err.msg, "no MPI launcher started this process"));
    setenv("WORLD_SIZE", "x", 1);
    CHECK_INT(cr_wrap_env(&err), CR_EUSAGE);
    CHECK_STR(err.msg, "WORLD_SIZE of the environment is 'x' and must be 1, the number of "
                       "processes; unset it");
    setenv("WORLD_SIZE", "0", 1);
    CHECK_INT(cr_wrap_env(&err), CR_EUSAGE);
    setenv("WORLD_SIZE", "", 1);
    CHECK_INT(cr_wrap_env(&err), CR_OK);
    unsetenv("PMI_SIZE");
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    CHECK_INT(cr_wrap_env(&err), CR_OK);
    setenv("SLURM_STEP_NUM_TASKS", "2", 1);
    CHECK_INT(cr_wrap_env(&err), CR_EUSAGE);
    CHECK(strstr(err.msg, "srun started 2 tasks without MPI"));
    setenv("PMI_SIZE", "1", 1); /* crank launch started this one process, and srun the launcher */
    CHECK_INT(cr_wrap_env(&err), CR_OK);
    unsetenv("SLURM_STEP_NUM_TASKS");
}

TEST_MAIN(CASE(other_scripts), CASE(plain), CASE(torchrun), CASE(python), CASE(foreign),
          CASE(environment))
