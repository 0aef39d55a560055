/*
 * pty.c - `pty COLUMNS COMMAND...`: runs a command with standard error on a terminal of so many
 * columns and writes what the terminal got to standard output. Exit code: the command's; 77 when
 * there are no pseudo terminals here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: pty COLUMNS COMMAND...\n");
        return 2;
    }
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return 77;
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0) return 77;
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)atoi(argv[1])};
    if (ioctl(slave, TIOCSWINSZ, &size) != 0) return 77;
    pid_t pid = fork();
    if (pid < 0) return 1;
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        setenv("TERM", "xterm", 1);
        if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(slave, STDERR_FILENO) < 0) _exit(1);
        close(master);
        close(slave);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    close(slave);
    char text[4096];
    for (;;) {
        ssize_t n = read(master, text, sizeof text);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break; /* EIO: the command has closed its end */
        if (fwrite(text, 1, (size_t)n, stdout) != (size_t)n) return 1;
    }
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
