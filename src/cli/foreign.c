/*
 * foreign.c - says what to do with the lines of a job script that are not for crank.
 *
 * People put crank in front of every line of a script that ran TorchEasyRec. Lines that start a
 * TorchEasyRec module are understood (wrap.c); for the others a row of this table says what to
 * write instead.
 */
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"

#define NO_PYTHON "crank needs no Python packages; leave the line out"
#define NO_ENV    "crank needs no Python environment; leave the line out"
#define SHELL     "it is a line for the shell; leave crank out of it"
#define IN_FRONT  "write it in front of crank, not behind"
#define SCRIPT                                                                                     \
    "crank runs no shell scripts; start the script without crank, and write crank in front of "    \
    "the torchrun and python lines in it"
#define WEIGHTS                                                                                    \
    "a safetensors file is enough to bring weights, and three lines of Python write one "          \
    "(docs/guide/checkpoints.md, 'Weights from TorchEasyRec'); then give it to "                   \
    "--fine_tune_checkpoint"

#define EASYREC                                                                                    \
    "it belongs to EasyRec, the predecessor of TorchEasyRec; convert the config with "             \
    "'crank convert OLD.config -o NEW.config', then run 'crank train NEW.config'"

typedef struct foreign {
    const char *name; /* a program, a script or a module, without a version at its end */
    const char *cure;
} foreign;

static const foreign programs[] = {
    {"pip", NO_PYTHON},
    {"uv", NO_PYTHON},
    {"poetry", NO_PYTHON},
    {"conda", NO_ENV},
    {"mamba", NO_ENV},
    {"micromamba", NO_ENV},
    {"virtualenv", NO_ENV},
    {"venv", NO_ENV},
    {"source", NO_ENV},
    {"dlc", "the line submits a job to PAI; leave crank out of it, and write crank in front of the "
            "torchrun line inside its --command"},
    {"bash", SCRIPT},
    {"sh", SCRIPT},
    {"sudo", IN_FRONT},
    {"nohup", IN_FRONT},
    {"time", IN_FRONT},
    {"nice", IN_FRONT},
    {"taskset", IN_FRONT},
    {"numactl", IN_FRONT},
    {"timeout", IN_FRONT},
    {"cd", SHELL},
    {"mkdir", SHELL},
    {"cp", SHELL},
    {"mv", SHELL},
    {"rm", SHELL},
    {"ls", SHELL},
    {"cat", SHELL},
    {"echo", SHELL},
    {"set", SHELL},
    {"wget", SHELL},
    {"curl", SHELL},
    {"tar", SHELL},
    {"unzip", SHELL},
    {"git", SHELL},
    {"apt", SHELL},
    {"apt-get", SHELL},
    {"docker", SHELL},
    {"nvidia-smi", SHELL},
    {"ossutil", SHELL},
    {"odpscmd", SHELL},
    {NULL, NULL},
};

const char *cr_foreign_program(const char *word) {
    const char *base = cr_path_base(word);
    for (const foreign *f = programs; f->name; f++) {
        size_t n = strlen(f->name);
        if (strncmp(base, f->name, n) == 0 && strspn(base + n, "0123456789.") == strlen(base + n))
            return f->cure;
    }
    return NULL;
}

const char *cr_foreign_module(const char *name) {
    const char *program = cr_foreign_program(name); /* as in python -m pip */
    if (program) return program;
    if (strncmp(name, "easy_rec", 8) == 0) return EASYREC;
    /* These tools convert checkpoints; tools that convert configs have rows of their own. */
    return strstr(name, "convert") && !strstr(name, "config") ? WEIGHTS : NULL;
}
