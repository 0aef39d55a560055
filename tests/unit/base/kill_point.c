/*
 * kill_point.c - the process ends, or gets a signal, at the pass that was asked for and at no
 * other.
 */
#include "base/kill_point.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "tmpdir.h"

/* Runs passes of points in a child with the variable set; returns its wait status. The last pass
 * tears a write of 10 bytes. */
static int child(const char *value) {
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGUSR1, SIG_IGN);
        if (value)
            setenv("CRANK_TEST_KILL", value, 1);
        else
            unsetenv("CRANK_TEST_KILL");
        for (int i = 0; i < 3; i++) {
            cr_kill_point("sync");
            cr_kill_point("rename");
        }
        int fd = open("torn", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        size_t n = cr_kill_torn(fd, "0123456789", 10);
        _exit(n == 0 ? 7 : (int)n);
    }
    int status = 0;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

static bool killed(int status) {
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static bool ended(int status, int code) {
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

TEST(points) {
    struct stat st;
    CHECK(tmpdir_enter());
    CHECK(ended(child(NULL), 7));
    CHECK(ended(child(""), 7));
    CHECK(ended(child("sync"), 7));
    CHECK(ended(child("sync:x"), 7));
    CHECK(ended(child("sync:4"), 7));
    CHECK(ended(child("synced:1"), 7));
    CHECK(killed(child("sync:1")) && killed(child("sync:3")) && killed(child("rename:2")));
    CHECK(killed(child("any:6")) && killed(child("any:7")) && ended(child("any:8"), 7));
    CHECK(ended(child("sync:2:USR1"), 7)); /* a signal that does not end it */
    int term = child("sync:2:TERM");
    CHECK(WIFSIGNALED(term) && WTERMSIG(term) == SIGTERM);
    CHECK(killed(child("torn:1")));
    CHECK(stat("torn", &st) == 0 && st.st_size == 5);
    CHECK(ended(child("torn:1:USR1"), 5)); /* the caller writes the rest */
    CHECK(tmpdir_leave());
}

TEST_MAIN(CASE(points))
