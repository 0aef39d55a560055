/*
 * server.c - the server on real sockets: who may ask, events, two viewers, clients that are slow,
 * rude or send noise.
 */
#include "board/server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "unit/board/board_test.h"

static int port_of(const cr_board_server *s) {
    const char *colon = strrchr(cr_board_url(s), ':');
    return colon ? atoi(colon + 1) : 0;
}

static int dial(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    return fd;
}

static void tell(int fd, const char *text, size_t n) {
    /* the server may have closed by now */
    if (send(fd, text, n, MSG_NOSIGNAL) < 0) return;
}

/* Reads until the other side closes, `until` has come, or the time is over. */
static void hear(int fd, cr_buf *b, const char *until, double seconds) {
    double end = cr_now() + seconds;
    char piece[4096];
    cr_buf_reset(b);
    cr_buf_str(b, "");
    while (cr_now() < end && !(until && b->n && strstr(b->data, until))) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 100) <= 0) continue;
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n <= 0) break;
        cr_buf_add(b, piece, (size_t)n);
    }
}

/* Sends one request and returns its status; the answer stays in b. */
static int ask(int port, cr_buf *b, const char *first, const char *more) {
    char text[2048];
    int status = 0, fd = dial(port);
    int n = snprintf(text, sizeof text, "%s HTTP/1.1\r\nConnection: close\r\n%s\r\n", first, more);
    tell(fd, text, (size_t)n);
    hear(fd, b, NULL, 20);
    close(fd);
    if (b->n > 12) status = atoi(b->data + 9);
    return status;
}
#define LOCAL "Host: localhost\r\n"

TEST(who_may_ask) {
    if (!tmpdir_enter()) SKIP("no folder");
    make_run("m", 30, NULL);
    cr_board *b = open_board(".");
    cr_board_server *s = NULL;
    cr_err err;
    cr_buf out;
    cr_buf_init(&out);
    CHECK_INT(cr_board_start(&s, b, &(cr_board_serve){.port = -1}, &err), 0);
    int port = port_of(s);
    CHECK(port > 0);
    size_t n;
    CHECK_INT(ask(port, &out, "GET /", LOCAL), cr_board_page(&n) ? 200 : 503);
    CHECK(strstr(out.data, "X-Frame-Options: DENY") && strstr(out.data, "nosniff"));
    CHECK_INT(ask(port, &out, "GET /api/runs", LOCAL), 200);
    CHECK(strstr(out.data, "\"night\"") != NULL);
    CHECK_INT(ask(port, &out, "GET /api/runs", "Host: 127.0.0.1:80\r\n"), 200);
    CHECK_INT(ask(port, &out, "GET /api/none", LOCAL), 404);
    /* a name that leads here by somebody else's will */
    CHECK_INT(ask(port, &out, "GET /api/runs", "Host: evil.example\r\n"), 403);
    CHECK_INT(ask(port, &out, "GET /api/runs", "Host: localhost.evil.example\r\n"), 403);
    /* a form of another site cannot set a header */
    CHECK_INT(ask(port, &out, "POST /api/notes?run=0", LOCAL "Content-Length: 0\r\n"), 403);
    CHECK_INT(ask(port, &out, "POST /api/notes?run=0", LOCAL "X-Crank: 1\r\nContent-Length: 0\r\n"),
              200);
    CHECK_INT(ask(port, &out, "DELETE /api/runs", LOCAL), 405);
    CHECK_INT(ask(port, &out, "POST /api/series",
                  LOCAL "X-Crank: 1\r\nContent-Length: 2000000\r\n"),
              0); /* the body never comes */
    cr_board_stop(s);
    /* with a token */
    cr_board_serve o = {.port = -1, .token = "a-token-of-24-characters"};
    CHECK_INT(cr_board_start(&s, b, &o, &err), 0);
    CHECK(!strstr(cr_board_url(s), "token"));
    port = port_of(s);
    CHECK_INT(ask(port, &out, "GET /api/runs", LOCAL), 401);
    CHECK_INT(ask(port, &out, "GET /api/runs?token=a-token-of-24-character", LOCAL), 401);
    CHECK_INT(ask(port, &out, "GET /api/runs?token=", LOCAL), 401);
    CHECK_INT(ask(port, &out, "GET /api/runs?token=a-token-of-24-characters", LOCAL), 200);
    CHECK_INT(ask(port, &out, "GET /api/runs",
                  "Host: any\r\nAuthorization: Bearer a-token-of-24-characters\r\n"),
              200);
    CHECK_INT(ask(port, &out, "GET /?token=a-token-of-24-characters", LOCAL), 303);
    CHECK(strstr(out.data, "HttpOnly; SameSite=Strict") != NULL);
    CHECK_INT(ask(port, &out, "GET /api/runs",
                  "Host: any\r\nCookie: x=1; crank_board=a-token-of-24-characters\r\n"),
              200);
    CHECK_INT(ask(port, &out, "GET /api/runs", "Host: any\r\nCookie: crank_board=wrong\r\n"), 401);
    cr_board_stop(s);
    o.token = "short";
    CHECK_INT(cr_board_start(&s, b, &o, &err), CR_EUSAGE);
    /* any other address has a token of its own */
    CHECK_INT(cr_board_start(&s, b, &(cr_board_serve){.port = -1, .host = "0.0.0.0"}, &err), 0);
    CHECK(strstr(cr_board_url(s), "/?token=") != NULL);
    CHECK_INT(ask(port_of(s), &out, "GET /api/runs", LOCAL), 401);
    cr_board_stop(s);
    CHECK_INT(cr_board_start(&s, b, &(cr_board_serve){.host = "not.an.address"}, &err), CR_EUSAGE);
    cr_buf_clear(&out);
    cr_board_close(b);
    CHECK(tmpdir_leave());
}

TEST(two_viewers) {
    if (!tmpdir_enter()) SKIP("no folder");
    make_run("m", 30, NULL);
    cr_board *b = open_board(".");
    cr_board_server *s = NULL;
    cr_err err;
    cr_buf out;
    cr_buf_init(&out);
    CHECK_INT(cr_board_start(&s, b, &(cr_board_serve){.port = -1}, &err), 0);
    static const char head[] = "GET /api/events HTTP/1.1\r\n" LOCAL "\r\n";
    int fd[2];
    for (int i = 0; i < 2; i++) {
        fd[i] = dial(port_of(s));
        tell(fd[i], head, sizeof head - 1);
        hear(fd[i], &out, "data: {\"version\": ", 10);
        CHECK(strstr(out.data, "text/event-stream") && strstr(out.data, "data: {"));
    }
    cr_buf text;
    cr_buf_init(&text);
    train_line(&text, 30, 3100, 0.5);
    add_text("m/train_log.jsonl", text.data);
    for (int i = 0; i < 2; i++) {
        hear(fd[i], &out, "data: {\"version\": ", 10);
        CHECK(strstr(out.data, "data: {") != NULL);
    }
    CHECK_INT(ask(port_of(s), &out, "GET /api/runs", LOCAL), 200);
    CHECK(strstr(out.data, "\"step\": 30,") != NULL);
    double t0 = cr_now();
    cr_board_stop(s); /* does not wait for viewers */
    CHECK(cr_now() - t0 < 4);
    for (int i = 0; i < 2; i++)
        close(fd[i]);
    cr_buf_clear(&text);
    cr_buf_clear(&out);
    cr_board_close(b);
    CHECK(tmpdir_leave());
}

TEST(slow_and_rude_clients) {
    if (!tmpdir_enter()) SKIP("no folder");
    make_run("m", 3000, NULL);
    cr_board *b = open_board(".");
    cr_board_server *s = NULL;
    cr_err err;
    cr_buf out;
    cr_buf_init(&out);
    CHECK_INT(cr_board_start(&s, b, &(cr_board_serve){.port = -1}, &err), 0);
    int port = port_of(s);
    enum { SLOW = 60 };
    int fd[SLOW];
    for (int i = 0; i < SLOW; i++) { /* heads that never end, answers that nobody reads */
        fd[i] = dial(port);
        static const char half[] = "GET /api/runs HTTP/1.1\r\nHost: loc",
                          whole[] = "GET /api/runs HTTP/1.1\r\n" LOCAL "\r\n";
        tell(fd[i], i % 2 ? half : whole, i % 2 ? sizeof half - 1 : sizeof whole - 1);
    }
    CHECK_INT(ask(port, &out, "GET /api/runs", LOCAL), 200);
    for (int i = 0; i < SLOW; i++)
        close(fd[i]);
    /* noise: random bytes, and requests with random bytes in them */
    static const char seed[] = "POST /api/series?run=0&x=%41 HTTP/1.1\r\n" LOCAL
                               "X-Crank: 1\r\nContent-Length: 13\r\n\r\n{\"runs\": [0]}";
    uint64_t key = cr_rng_key(7, "noise", NULL), at = 0;
    for (int k = 0; k < 300; k++) {
        char text[sizeof seed];
        memcpy(text, seed, sizeof seed);
        int changes = k % 3 == 0 ? (int)sizeof seed : 1 + k % 7;
        for (int i = 0; i < changes; i++, at += 2)
            text[cr_rng_below(key, at, sizeof seed - 1)] = (char)cr_rng_u64(key, at + 1);
        int c = dial(port);
        tell(c, text, sizeof seed - 1);
        shutdown(c, SHUT_WR);
        hear(c, &out, NULL, 5);
        close(c);
    }
    char *big = cr_alloc(200000, "a long line");
    memset(big, 'a', 200000);
    memcpy(big, "GET /", 5);
    int c = dial(port);
    tell(c, big, 200000);
    hear(c, &out, NULL, 5);
    CHECK(out.n == 0 || strstr(out.data, " 4"));
    close(c);
    cr_free(big);
    CHECK_INT(ask(port, &out, "GET /api/runs", LOCAL), 200);
    cr_board_stop(s);
    cr_buf_clear(&out);
    cr_board_close(b);
    CHECK(tmpdir_leave());
}

TEST_MAIN(CASE(who_may_ask), CASE(two_viewers), CASE(slow_and_rude_clients))
