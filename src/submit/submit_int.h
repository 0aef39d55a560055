/*
 * submit_int.h - what the files of this folder share: the backend's type, a job on its way, and the
 * helpers that write its folder.
 */
#ifndef CR_SUBMIT_SUBMIT_INT_H
#define CR_SUBMIT_SUBMIT_INT_H

#include <signal.h>

#include "base/buf.h"
#include "base/secret.h"
#include "submit/submit.h"

typedef struct cr_backend cr_backend;

/* A secret: where it comes from is known, its text is never printed. */
typedef struct cr_secret {
    const char *key; /* as in backend.yaml */
    const char *env; /* the variable that may hold it */
    const char *text;
    cr_loc at;
} cr_secret;

/* A file that is copied into the folder. */
typedef struct cr_upload {
    const char *path, *name;
    int64_t size;
} cr_upload;

/* A job on its way. */
typedef struct cr_submit {
    const cr_submit_opts *o;
    cr_arena *a;
    cr_diag *diag;
    const cr_backend *type;
    cr_conf_doc doc;         /* backend.yaml */
    cr_conf_doc conf;        /* the config as it is written */
    bool paddle;             /* it is one of PaddleRec */
    const char *model;       /* ... whose model the nodes must be told; NULL: they know it */
    bool paddle_new;         /* ... of 2.0 or later: its data begin in the folder of the config */
    void *keys;              /* the bound struct of the backend */
    const char *here;        /* the current folder */
    const char *dir;         /* the job's folder, absolute */
    const char *name;        /* of the job */
    const char *config_name; /* of the config in the folder */
    /* for the plan: machines, ranks on each, memory of each (0: not known) */
    int nodes, per_node;
    double memory;
    cr_config_opts config; /* the config as the nodes read it, with the edits in args */
    bool data_here;        /* the data must be reachable from this machine */
    bool bundle;           /* the folder gets crank.tar.gz */
    bool private;          /* the folder holds secrets: nobody else may read it */
    cr_upload *files;
    int n_files, cap_files;
    const char **hidden; /* texts that are never shown (secret.c) */
    int n_hidden, cap_hidden;
} cr_submit;

struct cr_backend {
    const char *name; /* the value of `backend`, in any case */
    const char *help;
    const cr_msg *msg;    /* its keys; the struct begins with cr_conf_base */
    const char *client;   /* the program that must be on PATH; NULL: the backend looks itself */
    const char *version;  /* words of a command that prints its version; NULL: there is none */
    bool secrets;         /* it takes --secrets */
    int64_t most_bytes;   /* of all uploads together; 0: no limit is known */
    const char *most_why; /* whose limit it is */
    /* check looks at what the tables cannot say and fills s: name, nodes, per_node, ... */
    void (*check)(cr_submit *s);
    /* show says what was understood, before anything is written; NULL: nothing is said. */
    void (*show)(cr_submit *s);
    /* write makes the files of the folder; b is an empty buffer for their texts. */
    CR_CHECKED cr_code (*write)(cr_submit *s, cr_buf *b, cr_err *err);
    /* answer finds the job's id in what job.sh printed; NULL: there is none. */
    const char *(*answer)(cr_submit *s, const char *text);
};

/* ---- findings ---- */
void cr_submit_wrong(cr_submit *s, cr_loc at, const char *fmt, ...) CR_PRINTF(3, 4);
void cr_submit_warn(cr_submit *s, cr_loc at, const char *fmt, ...) CR_PRINTF(3, 4);
void cr_submit_say(cr_submit *s, const char *fmt, ...) CR_PRINTF(2, 3);

/* cr_unboxed: the value of a CR_T_TREE row as the user wrote it; NULL: not given. */
#define CR_BOXED "(value)"
const cr_conf_node *cr_unboxed(const cr_conf_node *n);

/* ---- place.c: the keys that all backends but PaddleCloud share ---- */
#define CR_PLACE_MEMBERS                                                                           \
    cr_conf_base base;                                                                             \
    const char *backend, *job_name, *binary, *crank, *memory, *model_dir, *work_dir, *data;        \
    int64_t nodes, ranks_per_node, threads_per_rank, max_restarts, master_port;                    \
    const cr_conf_node *files, *args, *env
typedef struct cr_place_conf {
    CR_PLACE_MEMBERS;
} cr_place_conf;
#define CR_PLACE_ROWS(S, bin)                                                                      \
    CR_STR(S, backend, "", 0, "the cluster"),                                                      \
        CR_STR(S, job_name, "crank", 0, "name of the job; the folder is job_name_YYYYmmddHHMM"),   \
        CR_INT(S, nodes, 1, 1, 4096, 0, "machines"),                                               \
        CR_INT(S, ranks_per_node, 1, 1, 1024, 0, "ranks on each machine"),                         \
        CR_INT(S, threads_per_rank, 1, 1, 1024, 0, "cores of each rank"),                          \
        CR_INT(S, max_restarts, 3, 0, 1000, 0,                                                     \
               "how often ranks are started again from the last checkpoint"),                      \
        CR_INT(S, master_port, 29500, 1, 65535, 0, "port of the first node, where they meet"),     \
        CR_STR(S, binary, bin, 0, "how crank comes to the nodes: bundle, image or path"),          \
        CR_STR(S, crank, "", 0, "path of crank on the nodes, of binary: image and path"),          \
        CR_STR(S, memory, "", 0, "memory of a machine, for the plan, as in 64GB"),                 \
        CR_STR(S, model_dir, "", 0, "folder of checkpoints, as the nodes see it"),                 \
        CR_STR(S, work_dir, "", 0, "folder in which the nodes work"),                              \
        CR_STR(S, data, "", 0, "here: this machine sees the data too; nodes: it does not"),        \
        CR_TREE(S, files, 0, "files and globs that are copied into the folder"),                   \
        CR_TREE(S, args, 0, "more words of the node's command"),                                   \
        CR_TREE(S, env, 0, "variables of the nodes: {NAME: value}")

/* The ways in which crank comes to the nodes, NULL-ended. */
extern const char *const cr_binaries[];
/* cr_place_check looks at the shared keys and fills s. image: pods have no bundle. */
void cr_place_check(cr_submit *s, bool data_here, bool image);
/* cr_place_crank: the word that starts crank on a node, quoted; base is the folder of the job
 * there. */
const char *cr_place_crank(cr_submit *s, const char *base);
/* cr_place_words: `train CONFIG ...` or `run -m CONFIG ...`, the words behind crank, quoted. */
const char *cr_place_words(cr_submit *s, const char *base);
/* cr_place_launch: `crank launch FLAGS -- WORDS`. */
const char *cr_place_launch(cr_submit *s, const char *base, const char *flags);
/* cr_place_env: the lines `export NAME=value`. */
void cr_place_env(cr_submit *s, cr_buf *out);
/* cr_place_each calls fn for each variable of env. */
void cr_place_each(cr_submit *s, void (*fn)(void *ctx, const char *name, const char *value),
                   void *ctx);
/* cr_place_prepare: the lines of job.sh that unpack the bundle and make the secret. */
void cr_place_prepare(cr_submit *s, cr_buf *out, bool secret);

/* cr_own_program: the path of this program. */
const char *cr_own_program(cr_arena *a);

/* ---- folder.c ---- */
/* cr_folder_files expands words and globs, as the shell does; flat, without folders. */
void cr_folder_files(cr_submit *s, const cr_conf_node *list);
void cr_folder_add(cr_submit *s, const char *path, cr_loc at);
bool cr_folder_has(const cr_submit *s, const char *name);
/* cr_folder_dots adds the files whose names begin with a dot as words of a shell, each behind a
 * blank and the prefix: the shell's `*` leaves them out. */
void cr_folder_dots(const cr_submit *s, cr_buf *out, const char *prefix);
/* cr_folder_make makes the folder; cr_folder_copy copies the files into it, programs as such. */
CR_CHECKED cr_code cr_folder_make(cr_submit *s, cr_err *err);
CR_CHECKED cr_code cr_folder_copy(cr_submit *s, cr_err *err);
/* cr_folder_put writes one file of it, readable by others only when the folder is, and empties
 * text. */
CR_CHECKED cr_code cr_folder_put(cr_submit *s, const char *name, cr_buf *text, cr_err *err);
/* cr_owner_only: is the file readable by its owner alone? */
bool cr_owner_only(const char *path);

/* ---- shell.c ---- */
/* cr_sh returns text as one word of a shell; cr_sh_double in double quotes, as "a b". */
const char *cr_sh(cr_arena *a, const char *text);
const char *cr_sh_double(cr_arena *a, const char *text);
/* cr_sh_split returns the n words of a text, without their quotes; nothing is expanded. */
const char *const *cr_sh_split(cr_arena *a, const char *text, int *n);

/* ---- secret.c ---- */
/* cr_secret_find: the text of a secret, from backend.yaml, the environment or --secrets; "" when
 * it is nowhere. */
CR_CHECKED cr_code cr_secret_find(cr_submit *s, cr_secret *v, int n);
/* cr_secret_hide: the text is a secret, so that cr_secret_masked puts *** in its place. A client
 * may print what it was given. */
void cr_secret_hide(cr_submit *s, const char *text);
const char *cr_secret_masked(const cr_submit *s, const char *text);
/* cr_secret_told: the key `what` of backend.yaml holds a secret, so that the folder is for its
 * owner alone; a backend.yaml that others can read is told. */
void cr_secret_told(cr_submit *s, cr_loc at, const char *what);

/* ---- signals.c ---- */
#define CR_N_SIGNALS 3
typedef struct cr_signals {
    struct sigaction old[CR_N_SIGNALS];
} cr_signals;
/* From cr_signals_watch to cr_signals_leave, a signal that would end crank sets cr_stop_requested
 * (base/stop.h) instead. The pairs may stand inside one another. */
void cr_signals_watch(cr_signals *v);
void cr_signals_leave(const cr_signals *v);

/* ---- client.c ---- */
typedef struct cr_ran {
    int exit_code; /* -1: a signal ended it */
    bool late;     /* it was ended after the time, or by our signal */
    bool stopped;  /* it was a signal */
    const char *out;
} cr_ran;
/* cr_client_run runs a program in dir (NULL: here) and reads its output; merged: its errors too.
 * A process that the program leaves behind is not waited for, and goes on.
 * pass: its output is ours. CR_EIO when it cannot be started. CR_ESTOP when a signal came, which
 * has ended it; not with stay, where it got the signal itself. */
typedef struct cr_client_opts {
    const char *dir;
    char *const *argv;
    bool merged, pass, stay; /* stay: in our process group, for programs of a terminal */
    double timeout_s;        /* 0: none */
    /* each line of its errors, as it comes; NULL: they go where ours go. Not with pass, merged. */
    void (*errors)(void *ctx, const char *line);
    void *ctx;
} cr_client_opts;
CR_CHECKED cr_code cr_client_run(cr_arena *a, const cr_client_opts *o, cr_ran *out, cr_err *err);
/* cr_client_path finds a program on PATH; NULL: it is not there. */
const char *cr_client_path(cr_arena *a, const char *name);
/* cr_client_line runs words separated by blanks and returns the first line; NULL: it failed, and
 * *failed (unless failed is NULL) is what it said then, or "". */
const char *cr_client_line(cr_arena *a, const char *dir, const char *words, const char **failed);

/* ---- checks.c ---- */
void cr_check_all(cr_submit *s);
/* cr_check_one_of: the value of a key of conf must be one of the names (NULL-ended). One that is
 * not given passes. */
void cr_check_one_of(cr_submit *s, const void *conf, const char *key, const char *value,
                     const char *const *names);
/* cr_check_client looks for a program on PATH and says where it is, with the first line that the
 * words of `version` print (NULL: it is not asked); one that fails already there is told, too. at:
 * where its name stands. */
void cr_check_client(cr_submit *s, cr_loc at, const char *name, const char *version);

/* ---- jobs.c ---- */
CR_CHECKED cr_code cr_jobs_keep(cr_submit *s, const char *id, cr_err *err);
/* cr_jobs_polled adds the cases logs and follow to .jobs.sh, of clients that can only be asked
 * again and again. The script has `state ID`, `pods ID`, one per line, and `log ID POD`; `ends` is
 * a pattern of the states of jobs that have ended, and there are `seconds` between two questions.
 */
void cr_jobs_polled(cr_buf *b, const char *ends, int seconds);

#endif
