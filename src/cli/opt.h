/*
 * opt.h - flags of a command line, read by tables.
 *
 * A command's flags are rows of cr_opt; reading, errors, --help and the reference page all come
 * from them. As in TorchEasyRec's commands a flag may be shortened to any beginning that fits one
 * flag only, and `-` and `_` inside a name mean the same. Unlike there, an unknown flag is an
 * error.
 */
#ifndef CR_CLI_OPT_H
#define CR_CLI_OPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"

typedef enum cr_opt_type {
    CR_O_BOOL,   /* bool; --flag, --flag=true, --flag=false */
    CR_O_STR,    /* const char *, borrowed from argv */
    CR_O_INT,    /* int64_t, min..max */
    CR_O_COUNT,  /* the same; endings k, M and G multiply */
    CR_O_UINT64, /* uint64_t */
    CR_O_FLOAT,  /* double, min..max */
    CR_O_LIST,   /* cr_opt_list: may be given several times */
} cr_opt_type;

enum {
    CR_O_REQUIRED = 1,
    CR_O_LATER = 2,   /* known, its capability is not in this version: using it is an error */
    CR_O_STOP = 4,    /* reading ends here and nothing else is checked (--help) */
    CR_O_PATH = 8,    /* of STR and LIST: a path; cr_opt_paths makes it a local one */
    CR_O_PATHS = 16,  /* the same: a comma-separated list of globs */
    CR_O_TABLE = 128, /* with PATH: or a table */
    CR_O_DOTTED = 64, /* of LIST: takes every flag with a dot in its name, as its text name=value */
    CR_O_JSON = 32,   /* of STR: a JSON object; one without its quotes is told */
    CR_O_ALL = 512,   /* a COUNT may be the word all, which is 0 */
    CR_O_MAYBE = 256, /* of INT: the number may be left out; then it is 0 */
};

typedef struct cr_opt_list {
    const char **v; /* in the arena given to cr_opt_parse */
    int n, cap;
} cr_opt_list;

typedef struct cr_opt {
    const char *name; /* with _, without --; NULL ends the table */
    char letter;      /* short form, 0: none */
    cr_opt_type type;
    unsigned flags;
    uint32_t offset;       /* in the struct that its group fills */
    const char *arg;       /* what the value is called: "FILE" */
    const char *def;       /* the default as one would type it; NULL: zero */
    const char *otherwise; /* shown in place of def: "from the config" */
    double min, max;       /* inclusive, of INT, COUNT and FLOAT */
    const char *help;      /* one line, no full stop */
} cr_opt;

/* A table of flags and the struct that it fills. */
typedef struct cr_opt_group {
    const cr_opt *rows; /* NULL ends the groups */
    void *args;         /* all zero when reading begins; NULL: for help only */
} cr_opt_group;

/* What a command takes. */
typedef struct cr_opt_spec {
    const char *prog;        /* for messages: "crank train" */
    const char *operand;     /* name of the argument without a flag: "CONFIG"; NULL: none */
    const char *operand_opt; /* the flag it stands for; when a LIST, several are taken */
    const cr_opt_group *groups;
    /* not NULL: the rest of the line belongs to another command. Reading ends at the first argument
     * that is no flag, or behind "--", and *rest becomes the index of what follows. */
    int *rest;
    /* tells what to write in the place of a word that is no operand; it returns NULL for one that
     * is. NULL: any word is. Words are looked at before flags that are missing. */
    const char *(*wrong_word)(const char *word);
} cr_opt_spec;

/* cr_opt_parse sets the groups' structs to the defaults, then reads argv[0 .. argc-1] (the
 * command's name is not among them). The first mistake fills err, CR_EUSAGE. The last of a flag
 * given twice counts. */
CR_CHECKED cr_code cr_opt_parse(const cr_opt_spec *spec, int argc, char **argv, cr_arena *arena,
                                cr_err *err);
/* cr_opt_paths makes every path among the values a local one (base/scheme.h). Those that no store
 * serves are findings, all of them; they stay as they are. */
void cr_opt_paths(const cr_opt_spec *spec, cr_arena *arena, cr_diag *diag);
/* cr_opt_word_bool reads a bool that is the value of a flag, in the words of Python's run scripts:
 * yes, true, t, y, 1 and no, false, f, n, 0, in any case; false: it is none of them. */
bool cr_opt_word_bool(const char *text, bool *out);
/* cr_opt_lines writes the flags for --help, one line each. */
void cr_opt_lines(cr_buf *out, const cr_opt_spec *spec);
/* cr_opt_table writes the rows of one table as a Markdown table. */
void cr_opt_table(cr_buf *out, const cr_opt *table);

#endif
