/*
 * hide_args.c - hide-args.so: keys for a program that takes them only as flags, without `ps` seeing
 * them.
 *
 * LD_PRELOAD loads it into the program, whose command line has words such as @ak. The lines of
 * descriptor 9, `@ak VALUE`, say what they stand for. The constructor runs before main and lets
 * argv[i] point to the value; the kernel goes on showing the words that the program was started
 * with. A shell and `env` keep the words, because they may start the program itself, with the same
 * flags. The file that CRANK_HIDE names is removed when the words were replaced, so that the caller
 * knows. Only programs of the C library of GNU give their arguments to constructors.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Not among the variables of users (job/env.c): job.sh sets both for one program. */
#define MARK       "CRANK_HIDE"
#define PRELOAD    "LD_PRELOAD"
#define DESCRIPTOR 9
#define MOST       8192 /* bytes of all lines */

static char text[MOST + 1]; /* argv points into it until the program ends */

/* Does this program only start others? */
static int only_starts(void) {
    static const char *const names[] = {"env", "sh",  "bash", "dash",    "ash",
                                        "ksh", "zsh", "mksh", "busybox", NULL};
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (int i = 0; names[i]; i++)
        if (strcmp(name, names[i]) == 0) return 1;
    return 0;
}

static int has_word(char *const *argv) {
    for (int i = 1; argv[i]; i++)
        if (argv[i][0] == '@') return 1;
    return 0;
}

/* The programs that this one starts are none of ours. */
static void leave_environment(void) {
    const char *all = getenv(PRELOAD), *rest = all ? strchr(all, ':') : NULL;
    if (rest)
        setenv(PRELOAD, rest + 1, 1);
    else
        unsetenv(PRELOAD);
    unsetenv(MARK);
}

static void replace(char **argv, const char *word, char *value) {
    for (int i = 1; argv[i]; i++)
        if (strcmp(argv[i], word) == 0) argv[i] = value;
}

__attribute__((constructor)) static void hide(int argc, char **argv) {
    const char *mark = getenv(MARK);
    size_t n = 0;
    ssize_t k = 1;
    if (argc < 2 || !mark || !has_word(argv) || only_starts()) return;
    while (n < MOST && (k = read(DESCRIPTOR, text + n, MOST - n)) > 0)
        n += (size_t)k;
    close(DESCRIPTOR);
    for (char *line = text; *line;) {
        char *end = line + strcspn(line, "\n"), *next = *end ? end + 1 : end;
        char *blank = strchr(line, ' ');
        *end = 0;
        if (blank && blank < end) {
            *blank = 0;
            replace(argv, line, blank + 1);
        }
        line = next;
    }
    if (n > 0) (void)unlink(mark);
    leave_environment();
}
