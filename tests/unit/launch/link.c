/*
 * link.c - connections: the handshake, strangers of every kind, and messages that were changed.
 */
#include "launch/link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

static cr_err err;
static cr_link head, agent;
static int pair[2];

static cr_key key_of(const char *secret) {
    cr_key k;
    CHECK_INT(cr_secret_key(&k, NULL, secret, "none", &err), CR_OK);
    return k;
}

static void connect_with(const char *secret) {
    cr_key a = key_of("0123456789abcdef"), b = key_of(secret);
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    CHECK_INT(cr_link_init(&head, pair[0], true, false, &a, 0, &err), CR_OK);
    CHECK_INT(cr_link_init(&agent, pair[1], false, false, &b, 0, &err), CR_OK);
}
/* a head whose other side is a plain socket */
static void stranger(void) {
    cr_key a = key_of("0123456789abcdef");
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    CHECK_INT(cr_link_init(&head, pair[0], true, false, &a, 0, &err), CR_OK);
}
static void turn(cr_link *l) {
    struct pollfd p = {.fd = l->fd, .events = cr_link_events(l)};
    if (l->fd >= 0 && poll(&p, 1, 0) >= 0) cr_link_ready(l, p.revents, 1);
}
static void turns(void) {
    for (int i = 0; i < 8; i++) {
        turn(&agent);
        turn(&head);
    }
}
static void done(void) {
    cr_link_clear(&head);
    cr_link_clear(&agent);
}

TEST(friends) {
    cr_msg m;
    connect_with("0123456789abcdef");
    CHECK(!cr_link_is_open(&head));
    turns();
    CHECK(cr_link_is_open(&head) && cr_link_is_open(&agent));
    for (uint64_t i = 0; i < 3; i++)
        cr_link_send(&agent, &(cr_msg){.type = CR_WIRE_FENCE, .num = {i}});
    cr_link_send(&head, &(cr_msg){.type = CR_WIRE_BYE, .num = {5}, .text = {{"over", 4}}});
    turns();
    for (uint64_t i = 0; i < 3; i++) {
        CHECK(cr_link_next(&head, &m));
        CHECK(m.type == CR_WIRE_FENCE && m.num[0] == i);
    }
    CHECK(!cr_link_next(&head, &m));
    CHECK(cr_link_next(&agent, &m));
    CHECK(m.type == CR_WIRE_BYE && m.num[0] == 5 && m.text[0].n == 4);
    done();
}

TEST(wrong_secret) {
    connect_with("0123456789abcdeF");
    turns();
    CHECK_STR(head.broken, "the other side has another secret or --rdzv_id");
    CHECK(strstr(agent.broken, "the same secret"));
    CHECK(agent.refused);
    done();
}

/* what a stranger can get: a nonce, once */
TEST(garbage) {
    char out[256];
    stranger();
    CHECK_INT(write(pair[1], "GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: y\r\n\r\n", 43), 43);
    turn(&head);
    turn(&head);
    CHECK_INT(read(pair[1], out, sizeof out), -1); /* 43 bytes: one short of a greeting */
    CHECK_INT(write(pair[1], "\n", 1), 1);
    turn(&head);
    CHECK(head.broken[0]);
    CHECK_INT(read(pair[1], out, sizeof out), 0);
    close(pair[1]);
    done();
}

TEST(flood) {
    static char big[1 << 20];
    stranger();
    memcpy(big, "crank-lnch\1", 12);
    ssize_t n = write(pair[1], big, sizeof big); /* a good greeting, and then no end */
    CHECK(n > 1000);
    for (int i = 0; i < 8; i++)
        turn(&head);
    CHECK(head.broken[0]); /* the bytes after the greeting are no proof */
    CHECK(head.in.cap < 4096);
    close(pair[1]);
    done();
}

TEST(other_version) {
    stranger();
    char hello[44] = "crank-lnch\x09";
    CHECK_INT(write(pair[1], hello, sizeof hello), 44);
    turn(&head);
    CHECK(strstr(head.broken, "another version"));
    close(pair[1]);
    done();
}

/* bytes of an earlier conversation prove nothing: the head's nonce is another one */
TEST(replay) {
    char seen[76], hello[44];
    connect_with("0123456789abcdef");
    turn(&agent);
    CHECK_INT(recv(pair[0], hello, sizeof hello, MSG_PEEK), 44);
    turn(&head);
    turn(&agent);
    memcpy(seen, hello, 44);
    CHECK_INT(recv(pair[0], seen + 44, 32, MSG_PEEK), 32);
    turns();
    CHECK(cr_link_is_open(&head));
    done();
    stranger();
    CHECK_INT(write(pair[1], seen, sizeof seen), 76);
    turn(&head);
    turn(&head);
    CHECK_STR(head.broken, "the other side has another secret or --rdzv_id");
    close(pair[1]);
    cr_link_clear(&head);
}

/* every changed byte of a sealed message ends the connection */
TEST(changed) {
    for (size_t at = 0; at < 4 + 9 + CR_SEAL; at++) {
        cr_msg m;
        connect_with("0123456789abcdef");
        turns();
        cr_link_send(&agent, &(cr_msg){.type = CR_WIRE_FENCE, .num = {1}});
        CHECK_INT(agent.out.n, 4 + 9 + CR_SEAL);
        agent.out.data[at] ^= 4;
        cr_link_send(&agent, &(cr_msg){.type = CR_WIRE_FENCE, .num = {2}});
        turns();
        CHECK(!cr_link_next(&head, &m));
        done();
    }
}

/* a message that is sent again, or sent back, has a wrong seal */
TEST(repeated) {
    cr_msg m;
    connect_with("0123456789abcdef");
    turns();
    cr_link_send(&agent, &(cr_msg){.type = CR_WIRE_PING});
    char copy[64];
    size_t n = agent.out.n;
    memcpy(copy, agent.out.data, n);
    cr_buf_add(&agent.out, copy, n);
    turns();
    CHECK(cr_link_next(&head, &m));
    CHECK(!cr_link_next(&head, &m));
    CHECK_STR(head.broken, "a message with a wrong seal came");
    done();
    connect_with("0123456789abcdef");
    turns();
    cr_link_send(&agent, &(cr_msg){.type = CR_WIRE_PING});
    cr_buf_add(&head.out, agent.out.data, agent.out.n);
    turns();
    CHECK(!cr_link_next(&agent, &m));
    CHECK_STR(agent.broken, "a message with a wrong seal came");
    done();
}

TEST(secrets) {
    cr_key a, b;
    CHECK_INT(cr_secret_key(&a, NULL, NULL, "none", &err), CR_EUSAGE);
    CHECK(strstr(err.msg, "CRANK_JOB_SECRET"));
    CHECK_INT(cr_secret_key(&a, NULL, "short", "none", &err), CR_EUSAGE);
    CHECK(strstr(err.msg, "5 bytes"));
    CHECK_INT(cr_secret_key(&a, NULL, "0123456789abcdef\n", "none", &err), CR_OK);
    b = key_of("0123456789abcdef");
    CHECK(cr_same_secret(&a, &b, sizeof a)); /* the newline of a file does not count */
    CHECK_INT(cr_secret_key(&b, NULL, "0123456789abcdef", "other", &err), CR_OK);
    CHECK(!cr_same_secret(&a, &b, sizeof a)); /* another job */
    char path[] = "/tmp/cr_secretXXXXXX";
    int fd = mkstemp(path);
    CHECK_INT(write(fd, "0123456789abcdef\n", 17), 17);
    CHECK_INT(cr_secret_key(&b, path, "ignored", "none", &err), CR_OK);
    CHECK(cr_same_secret(&a, &b, sizeof a));
    CHECK_INT(fchmod(fd, 0644), 0);
    CHECK_INT(cr_secret_key(&b, path, NULL, "none", &err), CR_EUSAGE);
    CHECK(strstr(err.msg, "chmod 600"));
    close(fd);
    unlink(path);
    CHECK_INT(cr_secret_key(&b, path, NULL, "none", &err), CR_EUSAGE);
}

TEST_MAIN(CASE(friends), CASE(wrong_secret), CASE(garbage), CASE(flood), CASE(other_version),
          CASE(replay), CASE(changed), CASE(repeated), CASE(secrets))
