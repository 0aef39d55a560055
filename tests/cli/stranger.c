/*
 * stranger.c HOST PORT HOW - someone who found the port of a job, for the tests of crank launch.
 *
 *   garbage   sends an HTTP request          oversize  a good greeting, then a megabyte
 *   slow      one byte per half second       many      100 connections that say nothing
 *   proof     a greeting and a wrong proof
 * Prints how many bytes came back before the other side hung up. Exit code 0: it did hang up (or,
 * for many, took the connections); 1: it did not within 12 seconds.
 */
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LIMIT 12

static int dial(const char *host, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *a;
    for (int i = 0; i < 200; i++) { /* the job may not have opened its port yet */
        if (getaddrinfo(host, port, &hints, &a) != 0) exit(2);
        int fd = socket(a->ai_family, SOCK_STREAM, 0);
        int e = connect(fd, a->ai_addr, a->ai_addrlen);
        freeaddrinfo(a);
        if (e == 0) return fd;
        close(fd);
        usleep(50000);
    }
    exit(2);
}

/* reads until the end; returns the bytes, or -1 when there is no end */
static long drain(int fd, time_t end) {
    long n = 0;
    char some[4096];
    while (time(NULL) < end) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 500) <= 0) continue;
        ssize_t k = read(fd, some, sizeof some);
        if (k <= 0) return n;
        n += k;
    }
    return -1;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    signal(SIGPIPE, SIG_IGN);
    const char *how = argv[3];
    time_t end = time(NULL) + LIMIT;
    int fd = dial(argv[1], argv[2]);
    static char big[1 << 20] = "crank-lnch\1";
    if (strcmp(how, "garbage") == 0) {
        static const char http[] = "GET / HTTP/1.1\r\nHost: example\r\nUser-Agent: someone\r\n\r\n";
        (void)!write(fd, http, sizeof http - 1);
    } else if (strcmp(how, "oversize") == 0) {
        (void)!write(fd, big, sizeof big);
    } else if (strcmp(how, "proof") == 0) {
        (void)!write(fd, big, 44 + 32);
    } else if (strcmp(how, "slow") == 0) {
        for (int i = 0; i < 40 && time(NULL) < end; i++) {
            struct pollfd p = {.fd = fd, .events = POLLIN};
            if (write(fd, big + i, 1) != 1) break;
            if (poll(&p, 1, 500) > 0) break;
        }
    } else if (strcmp(how, "many") == 0) {
        for (int i = 0; i < 99; i++)
            (void)dial(argv[1], argv[2]);
        sleep(1);
        puts("0");
        return 0;
    }
    long n = drain(fd, end);
    printf("%ld\n", n);
    return n < 0;
}
