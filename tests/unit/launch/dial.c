/*
 * dial.c - the addresses behind a name are tried in turn, each for a short time.
 */
#include "launch/dial.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

/* What the name stands for. No connection goes to 255.255.255.255, and that is known at once. */
#define NOWHERE "255.255.255.255"
static const char *hosts[4];
static int ports[4], n_hosts, n_asked;

static int find(const char *host, const char *port, struct addrinfo **list) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *x, **at;
    (void)host;
    (void)port;
    n_asked++;
    if (n_hosts == 0) return EAI_AGAIN;
    for (at = list; *at;)
        at = &(*at)->ai_next;
    for (int i = 0; i < n_hosts; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", ports[i]);
        int e = getaddrinfo(hosts[i], text, &hints, &x);
        if (e != 0) return e;
        *at = x;
        at = &x->ai_next;
    }
    return 0;
}

static int listen_at(int *port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_INT(bind(fd, (struct sockaddr *)&a, n), 0);
    CHECK_INT(listen(fd, 8), 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

TEST(in_turn) {
    cr_dial d;
    int port, listener = listen_at(&port);
    cr_dial_init(&d, "node0", 1);
    d.find = find;
    /* an address that fails at once is passed over */
    n_hosts = 3;
    hosts[0] = NOWHERE;
    hosts[1] = hosts[2] = "127.0.0.1";
    ports[0] = ports[1] = ports[2] = port;
    int fd = cr_dial_next(&d);
    CHECK(fd >= 0);
    CHECK_STR(d.failed, NOWHERE ": Network is unreachable");
    close(fd);
    /* one that does not answer is left for the next */
    CHECK_NEAR(d.limit, 2, 0, 0);
    CHECK(cr_dial_fail(&d, "no answer", true));
    fd = cr_dial_next(&d);
    CHECK(fd >= 0);
    close(fd);
    CHECK_INT(d.at, 2);
    /* the last one, too: the round is over, and the next one is more patient */
    CHECK(!cr_dial_fail(&d, "no answer", true));
    CHECK(cr_dial_restart(&d));
    CHECK_STR(d.told,
              NOWHERE ": Network is unreachable; 127.0.0.1: no answer; 127.0.0.1: no answer");
    CHECK_NEAR(d.limit, 4, 0, 0);
    for (int i = 0; i < 5; i++) {
        CHECK((fd = cr_dial_next(&d)) >= 0);
        close(fd);
        CHECK(cr_dial_fail(&d, "no answer", true));
        CHECK((fd = cr_dial_next(&d)) >= 0);
        close(fd);
        CHECK(!cr_dial_fail(&d, "no answer", true));
        CHECK(!cr_dial_restart(&d)); /* the reasons are the same, and told once */
    }
    CHECK_NEAR(d.limit, 20, 0, 0);
    /* after a success the same address comes first */
    CHECK((fd = cr_dial_next(&d)) >= 0);
    close(fd);
    CHECK_INT(d.at, 1);
    cr_dial_works(&d);
    CHECK((fd = cr_dial_next(&d)) >= 0);
    close(fd);
    CHECK_INT(d.at, 1);
    CHECK_STR(d.failed, "");
    /* the list may become shorter than our place in it */
    CHECK(cr_dial_fail(&d, "no answer", false));
    n_hosts = 1;
    CHECK_INT(cr_dial_next(&d), -1);
    CHECK(cr_dial_restart(&d));
    CHECK_INT(cr_dial_next(&d), -1);
    CHECK_STR(d.failed, NOWHERE ": Network is unreachable");
    close(listener);
}

TEST(no_such_name) {
    cr_dial d;
    cr_dial_init(&d, "node0", 1);
    d.find = find;
    n_hosts = 0;
    CHECK_INT(cr_dial_next(&d), -1);
    CHECK_STR(d.failed, "Temporary failure in name resolution");
    CHECK(cr_dial_restart(&d));
    CHECK_INT(cr_dial_next(&d), -1);
    CHECK(!cr_dial_restart(&d));
    /* an address as a name is not named twice */
    cr_dial_init(&d, NOWHERE, 1);
    CHECK_INT(cr_dial_next(&d), -1);
    CHECK_STR(d.failed, "Network is unreachable");
}

/* A signal that the launcher blocks, because it reads it from a descriptor, ends the process while
 * the resolver works. */
TEST(signals) {
    pid_t pid = fork();
    if (pid == 0) {
        cr_dial d;
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGINT);
        cr_dial_init(&d, "localhost", 1);
        (void)cr_dial_next(&d);
        _exit(0);
    }
    int status = 0;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 130);
}

TEST_MAIN(CASE(in_turn), CASE(no_such_name), CASE(signals))
