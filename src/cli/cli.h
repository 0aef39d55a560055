/*
 * cli.h - what all commands share: the flags they read, how they speak, the table's row.
 *
 * A command is one file with one cr_cmd and one line in list.h. The file declares a struct with the
 * values of its flags and the table that fills it; main.c reads the command line into that struct
 * and calls the command. It works, adds what is wrong to ui->diag (or through cr_ui_fail) and
 * returns a code; main prints the findings and turns the code into the exit code. Results go to
 * stdout, all else to stderr.
 */
#ifndef CR_CLI_CLI_H
#define CR_CLI_CLI_H

#include <stddef.h>

#include "base/map.h"
#include "cli/opt.h"
#include "comm/comm.h"
#include "run/run.h"
#include "tool/tool.h"

/* Flags of every command. */
typedef struct cr_common_flags {
    bool help, quiet, debug, allow_libraries;
    const char *log_level;
} cr_common_flags;

/* Flags of every command that runs as several ranks. */
typedef struct cr_rank_flags {
    const char *log_dir;
    int64_t ps, workers;
} cr_rank_flags;

/* Flags that name a config and edit it. A command that takes a config has them as `config`, the
 * first member of its own flags, and says so in takes_config. */
typedef struct cr_config_flags {
    const char *pipeline_config_path, *model_dir, *train_input_path, *eval_input_path;
    const char *fine_tune_checkpoint, *edit_config_json;
    bool accept_changed_features;
    cr_opt_list set;
} cr_config_flags;

/* A row of a table of flags: T is the struct that the flags fill, m its member of the same name. */
#define CR_OPT_AT(T, at, name, type, letter, flags, arg, def, otherwise, lo, hi, help)             \
    { name, letter, type, flags, (uint32_t)offsetof(T, at), arg, def, otherwise, lo, hi, help }
#define CR_OPT_(T, m, type, letter, flags, arg, def, otherwise, lo, hi, help)                      \
    CR_OPT_AT(T, m, #m, type, letter, flags, arg, def, otherwise, lo, hi, help)
#define CR_OPT_BOOL(T, m, flags, help)                                                             \
    CR_OPT_(T, m, CR_O_BOOL, 0, flags, NULL, NULL, NULL, 0, 0, help)
#define CR_OPT_STR(T, m, flags, arg, otherwise, help)                                              \
    CR_OPT_(T, m, CR_O_STR, 0, flags, arg, NULL, otherwise, 0, 0, help)
#define CR_OPT_INT(T, m, arg, def, otherwise, lo, hi, help)                                        \
    CR_OPT_(T, m, CR_O_INT, 0, 0, arg, def, otherwise, lo, hi, help)
#define CR_OPT_END                                                                                 \
    { NULL, 0, CR_O_BOOL, 0, 0, NULL, NULL, NULL, 0, 0, NULL }

/* Rows that several commands take, with the same words. Those down to CR_OPT_SET fill T.config. */
#define CR_OPT_CONFIG_STR(T, m, flags, arg, otherwise, help)                                       \
    CR_OPT_AT(T, config.m, #m, CR_O_STR, 0, flags, arg, NULL, otherwise, 0, 0, help)
#define CR_OPT_CONFIG(T)                                                                           \
    CR_OPT_CONFIG_STR(T, pipeline_config_path, CR_O_REQUIRED | CR_O_PATH, "FILE", NULL,            \
                      "config in YAML, protobuf text or JSON; CONFIG without a flag means this")
#define CR_OPT_MODEL_DIR(T)                                                                        \
    CR_OPT_CONFIG_STR(T, model_dir, CR_O_PATH, "DIR", "from the config",                           \
                      "folder of checkpoints and results")
#define CR_OPT_TRAIN_INPUT(T)                                                                      \
    CR_OPT_CONFIG_STR(T, train_input_path, CR_O_PATHS, "PATHS", "from the config",                 \
                      "training data: files or quoted globs, with commas")
#define CR_OPT_EVAL_INPUT(T)                                                                       \
    CR_OPT_CONFIG_STR(T, eval_input_path, CR_O_PATHS, "PATHS", "from the config",                  \
                      "evaluation data: files or quoted globs, with commas")
#define CR_OPT_FINE_TUNE(T)                                                                        \
    CR_OPT_CONFIG_STR(T, fine_tune_checkpoint, CR_O_PATH, "PATH", "from the config",               \
                      "checkpoint whose weights a new run starts from")
#define CR_OPT_EDIT_JSON(T)                                                                        \
    CR_OPT_CONFIG_STR(T, edit_config_json, CR_O_JSON, "JSON", "none",                              \
                      "edits of the config: {\"path\": value, ...}, after the paths above")
#define CR_OPT_ACCEPT(T)                                                                           \
    CR_OPT_AT(T, config.accept_changed_features, "accept_changed_features", CR_O_BOOL, 0, 0, NULL, \
              NULL, NULL, 0, 0,                                                                    \
              "use the checkpoint even if its features had another meaning: ids may find the "     \
              "vectors of other values")
#define CR_OPT_SET(T)                                                                              \
    CR_OPT_AT(T, config.set, "set", CR_O_LIST, 0, 0, "KEY=VALUE", NULL, "none", 0, 0,              \
              "one edit of the config, a.b[0].c=value; may be repeated, comes last")
#define CR_OPT_THREADS(T)                                                                          \
    CR_OPT_INT(T, threads, "N", "0", "all cores", 0, 1024,                                         \
               "threads to use; results do not depend on it")
#define CR_OPT_CHECKPOINT(T, flags, otherwise)                                                     \
    CR_OPT_STR(T, checkpoint_path, flags | CR_O_PATH, "PATH", otherwise,                           \
               "a checkpoint, or a folder of checkpoints: its newest")
extern const cr_opt cr_common_opts[]; /* the rows of cr_common_flags */
extern const cr_opt cr_rank_opts[];   /* the rows of cr_rank_flags */

typedef struct cr_cmd cr_cmd;

/* A command and its arguments. */
typedef struct cr_queued {
    const cr_cmd *cmd;
    int n;
    char **args;
} cr_queued;

/* A running command. */
typedef struct cr_ui {
    const cr_cmd *const *cmds; /* all commands, NULL-ended */
    const cr_cmd *cmd;         /* this one */
    bool quiet, debug, allow_libraries;
    cr_place place; /* which rank this process is */
    cr_comm *comm;  /* the other ranks; NULL: none */
    bool blamed;    /* this rank has failed by itself, and the others do not know why */
    /* of a command that takes another one behind its own flags */
    int n_rest;
    char **rest;
    /* set by a command: this one runs next, in its place, with these arguments; NULL: none does */
    const cr_cmd *next;
    int n_next;
    char **next_args;
    cr_queued queue[4]; /* set by a command: these run next, one after the other */
    int n_queue;
    int exit_code; /* set by a command: the process ends with it; 0: the code decides */
    cr_diag diag;
    cr_map shown; /* texts of the findings already printed */
    /* a command has told the warnings of a config at the user's own places, and wrote it to this
     * file, which commands behind it read: what they find there again is not told; NULL: none */
    const char *written;
    cr_map told;  /* ... texts of those warnings */
    size_t filed; /* findings that are in the log file of --log_dir */
    cr_arena arena;
    double last_progress;
    bool metric_shown; /* the last progress line had a metric */
} cr_ui;

struct cr_cmd {
    const char *name, *alias;          /* alias: TorchEasyRec's name, NULL: none */
    const char *module;                /* TorchEasyRec's module, NULL: none */
    const char *help;                  /* one line */
    const char *about;                 /* more, in whole lines; NULL: none */
    const char *operand, *operand_opt; /* as in cr_opt_spec */
    const char *words;  /* what shells complete as the operand, with blanks; NULL: files */
    bool word_commands; /* ... and the names of all commands */
    const char *(*wrong_word)(const char *word);
    /* its own flags; after them come cr_rank_opts, if it runs as several ranks, and cr_common_opts
     */
    const cr_opt *opts;
    size_t args_size;            /* of the struct that opts fill; 0: there are no opts */
    bool takes_config;           /* that struct begins with a cr_config_flags */
    const char *const *examples; /* whole command lines, NULL-ended */
    bool hidden;                 /* not for everyday use: not in the overview */
    bool job;                    /* runs steps: stops softly */
    bool ranks;                  /* runs as several ranks; other commands refuse to */
    bool wraps;                  /* takes another command behind its own flags */
    bool launches;               /* starts its ranks itself when the config asks for them */
    cr_code (*run)(cr_ui *ui, const void *flags); /* the struct that opts filled */
};

/* ---- ui.c ---- */
void cr_ui_init(cr_ui *ui, const cr_cmd *const *cmds);
void cr_ui_clear(cr_ui *ui);
/* cr_ui_fail adds err to the findings (with our source line when --debug) and returns its code. */
cr_code cr_ui_fail(cr_ui *ui, const cr_err *err);
/* cr_ui_wrong adds a mistake of the command line, CR_EUSAGE. */
cr_code cr_ui_wrong(cr_ui *ui, const char *fmt, ...) CR_PRINTF(2, 3);
/* cr_ui_findings prints the findings that were not printed yet. */
void cr_ui_findings(cr_ui *ui);
/* cr_ui_put prints text of ours that may hold words of others: what a terminal would obey is
 * escaped (base/shown.h), newlines and tabs are kept. All results go through it. Names are made one
 * line by cr_shown first. */
void cr_ui_put(const char *text, size_t n);
/* cr_ui_copy: from now on what is printed goes to this buffer too; NULL: to none. */
void cr_ui_copy(cr_buf *to);
/* cr_ui_counts says "2 errors, 1 warning" of the findings; false when there is none. */
bool cr_ui_counts(const cr_ui *ui, char out[64]);
/* cr_ui_watch is the watch that shows the progress line and early findings. */
cr_watch cr_ui_watch(cr_ui *ui);
/* cr_progress_text writes the progress line. What does not fit into width columns is left out, the
 * least important first; loss and time left stay longest. */
void cr_progress_text(char *out, size_t size, const cr_progress *p, int width);
/* cr_ui_say ends the progress line and writes a result to stdout; not after cr_ui_mute. */
void cr_ui_say(const char *fmt, ...) CR_PRINTF(1, 2);
void cr_ui_mute(bool on);
/* cr_ui_flush writes what was said at once, for a command that goes on for long. */
void cr_ui_flush(void);
/* cr_ui_metrics writes a table of metrics to stdout. */
void cr_ui_metrics(const cr_eval_result *r);
/* cr_ui_next writes a command line to go on with to stdout, unless --quiet; libraries that were
 * allowed are allowed in it. */
void cr_ui_next(const cr_ui *ui, const char *fmt, ...) CR_PRINTF(2, 3);
/* cr_ui_quote returns text as one word of a shell, in ui's arena. */
const char *cr_ui_quote(cr_ui *ui, const char *text);

/* ---- args.c ---- */
/* cr_config_from makes the options of cr_config_load from the config flags. */
void cr_config_from(const cr_config_flags *f, cr_config_opts *out);
/* The spec of a command and all it points to; not to be moved. */
typedef struct cr_cmd_spec {
    cr_opt_spec spec;
    cr_opt_group groups[4];
    char prog[64];
    int rest; /* of a command that wraps another one: where that one begins */
} cr_cmd_spec;
/* cr_cmd_spec_init makes the spec of a command that fills args, ranks and common; all NULL: for
 * help. */
void cr_cmd_spec_init(cr_cmd_spec *s, const cr_cmd *cmd, void *args, cr_rank_flags *ranks,
                      cr_common_flags *common);
/* cr_cmd_find finds a command by name or alias (- and _ are equal); NULL when there is none. */
const cr_cmd *cr_cmd_find(const cr_cmd *const *cmds, const char *name);
/* cr_cmd_usage writes the whole help of a command. */
void cr_cmd_usage(cr_buf *out, const cr_cmd *cmd);
/* cr_cmd_overview writes what `crank help` shows. */
void cr_cmd_overview(cr_buf *out, const cr_cmd *const *cmds);

/* ---- wrap.c ---- */
/* cr_wrap_find finds the command in a whole command line (without the program's name), also behind
 * torchrun, python, env and assignments, which are applied to the environment. *cmd is the command
 * and *first the index of its first own argument; *cmd NULL: nothing was asked. */
CR_CHECKED cr_code cr_wrap_find(const cr_cmd *const *cmds, int argc, char **argv,
                                const cr_cmd **cmd, int *first, cr_err *err);
/* cr_wrap_paddle turns the flags of Paddle's launchers from argv[*first] on into those of `crank
 * launch`; cr_wrap_bf16 turns -bf16 True of PaddleRec's scripts into a flag of `crank run`. Words
 * are taken out, so that *first grows. */
CR_CHECKED cr_code cr_wrap_paddle(int argc, char **argv, int *first, cr_err *err);
void cr_wrap_bf16(int argc, char **argv, int *first);
/* cr_foreign_program: what to do with a line of a job script that starts this program; NULL:
 * nothing is known of it. cr_foreign_module: the same of a module or script that python or torchrun
 * runs. */
const char *cr_foreign_program(const char *word);
const char *cr_foreign_module(const char *name);
/* cr_wrap_env refuses an environment in which a launcher made several ranks. */
CR_CHECKED cr_code cr_wrap_env(cr_err *err);

#endif
