/*
 * aborts.h - does a call end the process as a bug of crank (CR_BUG, CR_ASSERT), with this text?
 */
#ifndef CR_TESTS_ABORTS_H
#define CR_TESTS_ABORTS_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* aborts runs fn(ctx) in a child process. */
static inline bool aborts(void (*fn)(void *ctx), void *ctx, const char *text) {
    int fd[2], status = 0;
    char line[1024] = "";
    fflush(NULL);
    if (pipe(fd) != 0) return false;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        dup2(fd[1], STDERR_FILENO);
        fn(ctx);
        _exit(0);
    }
    close(fd[1]);
    ssize_t n = read(fd[0], line, sizeof(line) - 1);
    close(fd[0]);
    bool ended = pid > 0 && waitpid(pid, &status, 0) == pid;
    bool as_bug = ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    bool told = n > 0 && strstr(line, "crank: bug at ") && strstr(line, text);
    if (!as_bug || !told)
        fprintf(stderr, "%s: expected a bug '%s', got status %d and: %s\n", t_name, text, status,
                line);
    return as_bug && told;
}
#define CHECK_ABORTS(fn, ctx, text) CHECK(aborts(fn, ctx, text))

#endif
