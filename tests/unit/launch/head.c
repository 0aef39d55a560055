/*
 * head.c - the head of a job with agents that this test plays, and a clock of its own: who takes
 * part, what is told to whom, what counts as a restart.
 */
#include "launch/head.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "launch/agent.h"

static cr_err err;
static cr_launch job;
static cr_head head;
static double now;
#define MOST 4
static cr_link agents[MOST]; /* 0: that of the head's own process */
static bool joined[MOST];
static const char *const names[MOST] = {"a", "b", "c", "d"};
static int port;
/* what the agents have heard since they were asked last */
static char heard[MOST][2000];

static int free_port(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_INT(bind(fd, (struct sockaddr *)&a, n), 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    close(fd);
    return ntohs(a.sin_port);
}

static void begin(int min, int max, int restarts) {
    int pair[2];
    port = free_port();
    job = (cr_launch){.layout = {.min_nodes = min,
                                 .max_nodes = max,
                                 .nproc = 1,
                                 .is_head = true,
                                 .addr = "127.0.0.1",
                                 .port = port,
                                 .max_restarts = restarts,
                                 .join_s = 600,
                                 .last_call_s = 30},
                      .fault_s = 20,
                      .version = "1"};
    CHECK_INT(cr_secret_key(&job.key, NULL, "0123456789abcdef", "none", &err), CR_OK);
    now = 1000;
    for (int i = 0; i < MOST; i++)
        agents[i] = (cr_link){.fd = -1};
    memset(heard, 0, sizeof heard);
    memset(joined, 0, sizeof joined);
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    CHECK_INT(cr_head_init(&head, &job, pair[0], now, &err), CR_OK);
    CHECK_INT(cr_link_init(&agents[0], pair[1], false, false, &job.key, now, &err), CR_OK);
}

static void note(int i, const cr_msg *m) {
    char text[600];
    size_t n = strlen(heard[i]);
    if (m->type == CR_WIRE_PING) return;
    cr_wire_text(m, 0, text, sizeof text);
    if (m->type == CR_WIRE_START)
        snprintf(text, sizeof text, "%d of %d%s", (int)m->num[CR_START_FIRST],
                 (int)m->num[CR_START_WORLD], m->num[CR_START_RESUME] ? " again" : "");
    else if (m->type == CR_WIRE_STOP || m->type == CR_WIRE_LOST)
        snprintf(text, sizeof text, "%d", (int)m->num[1]);
    else if (m->type == CR_WIRE_BYE)
        snprintf(text, sizeof text, "%d %.*s", (int)m->num[0], (int)m->text[0].n, m->text[0].p);
    snprintf(heard[i] + n, sizeof heard[i] - n, "%s %s\n", cr_wire_name(m->type), text);
}

/* some turns of the head and of all agents */
static void turns(void) {
    for (int k = 0; k < 12; k++) {
        cr_polls p = {0};
        cr_msg m;
        cr_head_polls(&head, &p);
        (void)poll(p.v, (nfds_t)p.n, 2);
        cr_head_turn(&head, &p, now, false);
        cr_free(p.v);
        for (int i = 0; i < MOST; i++) {
            struct pollfd q = {.fd = agents[i].fd, .events = cr_link_events(&agents[i])};
            if (agents[i].fd < 0) continue;
            (void)poll(&q, 1, 0);
            cr_link_ready(&agents[i], q.revents, now);
            while (cr_link_next(&agents[i], &m))
                note(i, &m);
        }
    }
}

/* time passes, in which the agents give signs of life */
static void pass(double seconds) {
    for (double end = now + seconds; now < end;) {
        now = now + 5 < end ? now + 5 : end;
        for (int i = 0; i < MOST; i++)
            if (joined[i]) cr_link_send(&agents[i], &(cr_msg){.type = CR_WIRE_PING});
        turns();
    }
}

/* agent i connects, and joins as node `want`; -1: by arrival */
static void joins(int i, int want) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (i > 0) {
        cr_link_clear(&agents[i]);
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        CHECK_INT(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
        CHECK_INT(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
        CHECK_INT(cr_link_init(&agents[i], fd, false, false, &job.key, now, &err), CR_OK);
    }
    turns();
    cr_msg m = {.type = CR_WIRE_JOIN,
                .num = {[CR_JOIN_RANK1] = (uint64_t)(want + 1),
                        [CR_JOIN_NPROC] = 1,
                        [CR_JOIN_MIN] = (uint64_t)job.layout.min_nodes,
                        [CR_JOIN_MAX] = (uint64_t)job.layout.max_nodes,
                        [CR_JOIN_FAULT_MS] = 20000},
                .text = {{names[i], 1}, {"1", 1}}};
    cr_link_send(&agents[i], &m);
    joined[i] = true;
    turns();
}

static void say(int i, const cr_msg *m) {
    cr_link_send(&agents[i], m);
    turns();
}
static void step(int i) {
    say(i, &(cr_msg){.type = CR_WIRE_STEP, .num = {head.gen, 1}});
}
static void ended(int i, int code) {
    say(i, &(cr_msg){.type = CR_WIRE_ENDED, .num = {head.gen, (uint64_t)code}});
}
static void wish(int i, int sig) {
    say(i, &(cr_msg){.type = CR_WIRE_WISH, .num = {(uint64_t)sig}});
}
static void fails(int i, int rank, int kind, int code, bool shown, const char *text) {
    say(i, &(cr_msg){.type = CR_WIRE_FAULT,
                     .num = {head.gen, (uint64_t)rank, (uint64_t)kind, (uint64_t)code, shown},
                     .text = {{text, strlen(text)}}});
}
/* A rank without which the others can go on is killed, or fails by itself. */
static void spare_fails(int i, int rank, int kind, int code) {
    say(i, &(cr_msg){.type = CR_WIRE_FAULT,
                     .num = {head.gen, (uint64_t)rank, (uint64_t)kind, (uint64_t)code, 0, 1},
                     .text = {{"", 0}}});
}
static void leaves(int i) {
    cr_link_clear(&agents[i]);
    turns();
}

/* what agent i has heard since this was called last */
#define HEARS(i, text)                                                                             \
    do {                                                                                           \
        CHECK_STR(heard[i], text);                                                                 \
        heard[i][0] = 0;                                                                           \
    } while (0)
static void forget(void) {
    memset(heard, 0, sizeof heard);
}

static void done(void) {
    cr_head_clear(&head);
    for (int i = 0; i < MOST; i++)
        cr_link_clear(&agents[i]);
}

/* Rank 0 is on node 0, also when others come first. */
TEST(node_0_first) {
    begin(2, 2, 0);
    joins(1, -1);
    HEARS(1, "TELL host b has come; 1 of 2 nodes is here; the others have 600 s to come\n");
    joins(0, -1);
    HEARS(0, "TELL host a has come\nSTART 0 of 2\n");
    HEARS(1, "TELL host a has come\nSTART 1 of 2\n");
    done();
    /* nor does a generation begin without it */
    begin(1, 2, 0);
    joins(1, -1);
    joins(2, -1);
    forget();
    pass(60);
    HEARS(1, "");
    joins(0, -1);
    HEARS(0, "TELL host a has come\nSTART 0 of 2\n");
    done();
}

/* Nodes that come later are taken in after the first step, together, and this is no restart. */
TEST(newcomers) {
    begin(1, 3, 0);
    joins(0, -1);
    HEARS(0, "TELL host a has come; 1 of 1 to 3 nodes is here; the ranks start when no more come "
             "for 30 s\n");
    pass(30);
    HEARS(0, "START 0 of 1\n");
    joins(1, -1);
    HEARS(0, "TELL host b has come and will take part in the next start of the ranks\n");
    pass(100);
    HEARS(0, ""); /* there is nothing to go on from */
    step(0);
    CHECK(
        strstr(heard[0], "TELL the ranks save a checkpoint and begin again with host b\nSTOP 15"));
    forget();
    ended(0, 143);
    HEARS(0, "START 0 of 2 again\n");
    step(1);
    joins(2, -1); /* MAX are there: it need not wait for more */
    forget();
    ended(0, 143);
    ended(1, 143);
    HEARS(0, "START 0 of 3 again\n");
    HEARS(2, "START 2 of 3 again\n");
    joins(3, -1);
    HEARS(3, "TELL host d has come; the job has the 3 nodes that it takes (--nnodes), so the host "
             "waits until one is lost\n");
    wish(3, SIGINT); /* it takes no part: the others go on */
    HEARS(3, "TELL signal 2 (Interrupt) came at host d, which leaves the job\nBYE 130 \n");
    CHECK_INT(head.phase, CR_HEAD_RUN);
    forget();
    for (int i = 0; i < 3; i++)
        ended(i, 0);
    HEARS(2, "BYE 0 \n");
    done();
}

/* Those who trained together go on at once after a fault; a smaller job waits for more nodes. */
TEST(restarts) {
    begin(1, 3, 2);
    joins(0, -1);
    joins(1, -1);
    pass(30);
    step(0);
    forget();
    fails(1, 1, CR_FAULT_SIGNAL, 137, false, "");
    now += 1;
    turns();
    HEARS(0, "STOP 9\n");
    ended(0, 137);
    ended(1, 137);
    HEARS(0, "TELL rank 1 on host b was killed by signal 9 (Killed); restart 1 of 2, from the last "
             "checkpoint\nSTART 0 of 2 again\n");
    leaves(1);
    now += 1;
    turns();
    ended(0, 137);
    HEARS(0, "STOP 9\nTELL host b with rank 1 is gone: the connection was closed; restart 2 of 2, "
             "from the last checkpoint\nTELL 1 of 1 to 3 nodes is here; the ranks start when no "
             "more come for 30 s\n");
    pass(30);
    HEARS(0, "START 0 of 1 again\n");
    fails(0, 0, CR_FAULT_STALL, 137, false, "it hangs");
    now += 1;
    turns();
    ended(0, 137);
    HEARS(0, "STOP 9\nBYE 137 rank 0 on host a is stalled: it hangs; all restarts are used up "
             "(--max_restarts)\n");
    done();
}

/* The others go on without a rank or a node that they can spare, and begin again where they have
 * saved their work; that is no restart that is counted. */
TEST(spare_ranks) {
    begin(3, 3, 0);
    joins(0, -1);
    joins(1, -1);
    joins(2, -1);
    step(0);
    forget();
    /* a node knows nothing of ranks that are not its own */
    spare_fails(1, 2, CR_FAULT_SIGNAL, 137);
    spare_fails(1, -1, CR_FAULT_SIGNAL, 137);
    fails(1, 0, CR_FAULT_SIGNAL, 137, false, "");
    HEARS(0, "");
    CHECK_INT(head.phase, CR_HEAD_RUN);
    spare_fails(1, 1, CR_FAULT_SIGNAL, 137);
    ended(1, 137); /* it had no other rank */
    HEARS(0, "LOST 1\nTELL rank 1 on host b was killed by signal 9 (Killed); the others go on "
             "without it\n");
    pass(60);
    HEARS(0, "");
    CHECK_INT(head.phase, CR_HEAD_RUN);
    fails(0, 0, CR_FAULT_EXIT, CR_EXIT_AGAIN, false, "");
    HEARS(0, "STOP 15\n");
    forget();
    ended(0, CR_EXIT_AGAIN);
    ended(2, CR_EXIT_AGAIN);
    HEARS(1, "START 1 of 3 again\n");
    forget();
    /* a node, when all its ranks can be spared */
    say(2, &(cr_msg){.type = CR_WIRE_SPARE, .num = {head.gen}});
    leaves(2);
    joined[2] = false;
    HEARS(0, "TELL host c is gone: the connection was closed; the others go on without it\n"
             "LOST 2\n");
    CHECK_INT(head.phase, CR_HEAD_RUN);
    /* an error of its own is one for all */
    spare_fails(1, 1, CR_FAULT_EXIT, 1);
    pass(3);
    CHECK(strstr(heard[0], "STOP 9") != NULL);
    ended(0, 137);
    ended(1, 1);
    CHECK(strstr(heard[0], "BYE 1 rank 1 on host b ended with exit code 1") != NULL);
    done();
    /* nor is the end with that code one to begin again, when none was lost */
    begin(1, 1, 0);
    joins(0, -1);
    fails(0, 0, CR_FAULT_EXIT, CR_EXIT_AGAIN, false, "");
    ended(0, CR_EXIT_AGAIN);
    CHECK(strstr(heard[0], "BYE 75 ") != NULL);
    done();
}

/* Every user reads a rank's own words once. */
TEST(words) {
    static const struct {
        int node, kind, code;
        bool shown;
        const char *text, *hears[2];
    } v[] = {
        {1,
         CR_FAULT_EXIT,
         1,
         true,
         "disk full",
         {"BYE 1 rank 1 on host b ended with exit code 1: disk full\n",
          "BYE 1 rank 1 on host b ended with exit code 1\n"}},
        {1,
         CR_FAULT_EXIT,
         1,
         false,
         "disk full",
         {"BYE 1 rank 1 on host b ended with exit code 1: disk full\n",
          "BYE 1 rank 1 on host b ended with exit code 1: disk full\n"}},
        /* on a terminal, where nobody has read along */
        {0,
         CR_FAULT_EXIT,
         1,
         true,
         "",
         {"BYE 1 rank 0 on host a ended with exit code 1\n",
          "BYE 1 rank 0 on host a ended with exit code 1; its output there says why\n"}},
        /* a wrong config needs no more words where it was told */
        {0,
         CR_FAULT_EXIT,
         2,
         true,
         "no such key",
         {"BYE 2 \n", "BYE 2 rank 0 on host a ended with exit code 2: no such key\n"}},
    };
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        begin(2, 2, 0);
        joins(0, -1);
        joins(1, -1);
        fails(v[i].node, v[i].node, v[i].kind, v[i].code, v[i].shown, v[i].text);
        fails(!v[i].node, !v[i].node, CR_FAULT_EXIT, 1, false, ""); /* the other one says nothing */
        forget();
        ended(0, 1);
        ended(1, 1);
        HEARS(0, v[i].hears[0]);
        HEARS(1, v[i].hears[1]);
        done();
    }
}

/* By SIGTERM a host leaves a job that may be smaller, with a checkpoint and without a restart; by
 * Ctrl-C, and in any other job, it ends the job. */
TEST(leaving) {
    begin(1, 2, 0);
    joins(0, -1);
    joins(1, -1);
    step(0);
    forget();
    wish(1, SIGTERM);
    HEARS(0, "TELL signal 15 (Terminated) came at host b, which leaves the job\nSTOP 15\n");
    fails(1, 1, CR_FAULT_SIGNAL, 143, false, ""); /* no fault: it has not yet had a handler */
    ended(1, 143);
    ended(0, 143);
    HEARS(1,
          "TELL signal 15 (Terminated) came at host b, which leaves the job\nSTOP 15\nBYE 143 \n");
    HEARS(0, "START 0 of 1 again\n");
    wish(0, SIGTERM);
    ended(0, 143);
    HEARS(0, "TELL signal 15 (Terminated) came at host a: the job ends on all nodes\nSTOP 15\nBYE "
             "143 \n");
    done();
    begin(1, 2, 0);
    joins(0, -1);
    joins(1, -1);
    step(0);
    forget();
    wish(1, SIGINT);
    ended(0, 130);
    ended(1, 130);
    HEARS(1,
          "TELL signal 2 (Interrupt) came at host b: the job ends on all nodes\nSTOP 15\nBYE 130 "
          "\n");
    done();
    /* before the first step there is nothing to save */
    begin(1, 2, 0);
    joins(0, -1);
    joins(1, -1);
    forget();
    wish(1, SIGTERM);
    ended(0, 137);
    ended(1, 137);
    HEARS(0, "TELL signal 15 (Terminated) came at host b, which leaves the job\nSTOP 9\nSTART 0 of "
             "1\n");
    done();
    begin(2, 2, 0);
    joins(0, -1);
    joins(1, -1);
    step(0);
    forget();
    wish(1, SIGTERM);
    HEARS(0, "TELL signal 15 (Terminated) came at host b: the job ends on all nodes\nSTOP 15\n");
    /* a platform sends the signal to all nodes: the ranks have time to save */
    wish(0, SIGTERM);
    HEARS(0, "");
    wish(0, SIGTERM);
    HEARS(0, "STOP 9\n");
    done();
    /* a rank that asks for the end of all waits for it, and so do the others */
    begin(2, 2, 0);
    joins(0, -1);
    joins(1, -1);
    step(0);
    wish(1, SIGTERM);
    forget();
    fails(1, 1, CR_FAULT_EXIT, 1, false, "");
    HEARS(0, "");
    fails(0, 0, CR_FAULT_ABORT, 1, true, "the servers do not answer");
    HEARS(0, "STOP 9\n");
    done();
}

/* The end is heard by all before the head closes its connections, also by those who come then. */
TEST(the_end) {
    begin(1, 2, 0);
    joins(0, -1);
    joins(1, -1);
    ended(0, 0);
    ended(1, 0);
    CHECK_INT(head.phase, CR_HEAD_OVER);
    CHECK(!cr_head_is_quiet(&head));
    joins(2, -1);
    HEARS(2, "BYE 0 \n");
    leaves(1);
    CHECK(!cr_head_is_quiet(&head));
    leaves(2);
    CHECK(cr_head_is_quiet(&head));
    done();
    /* a node 0 that ends by itself tells the others */
    begin(2, 2, 0);
    joins(0, -1);
    joins(1, -1);
    forget();
    cr_head_end(&head, 130, now);
    turns();
    HEARS(1, "BYE 130 \n");
    done();
}

/* A node that comes back before the head has noticed its loss is asked to come again. */
TEST(twice) {
    begin(2, 2, 1);
    joins(0, 0);
    joins(1, 1);
    forget();
    now += 3; /* nothing is heard of it */
    joins(2, 1);
    HEARS(2, "");
    CHECK_INT(agents[2].state, CR_LINK_CLOSED);
    /* two that both live are a mistake */
    cr_link_send(&agents[1], &(cr_msg){.type = CR_WIRE_PING});
    turns();
    joins(2, 1);
    HEARS(2, "REFUSE hosts b and c both say --node_rank 1; give each its own\n");
    done();
}

/* Without a free descriptor the head lets the port rest for a moment, as it would be woken all the
 * time by a caller that it cannot let in. */
TEST(no_descriptor) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct rlimit before, none;
    begin(1, 2, 0);
    a.sin_port = htons((uint16_t)port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_INT(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = (rlim_t)fd;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    turns();
    cr_polls p = {0};
    cr_head_polls(&head, &p);
    CHECK_INT(p.n, 1); /* the head's own agent */
    for (int i = 0; i < p.n; i++)
        CHECK(p.v[i].fd != head.listen_fd);
    cr_free(p.v);
    CHECK_INT(head.n, 1);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
    now += 2;
    turns();
    /* valgrind takes the first caller from the queue before it says that no descriptor is free, so
     * a second one comes; it is let in everywhere */
    int later = socket(AF_INET, SOCK_STREAM, 0), n = head.n;
    CHECK_INT(connect(later, (struct sockaddr *)&a, sizeof a), 0);
    turns();
    CHECK(n == 2 || getenv("CRANK_TEST_NO_JIT"));
    CHECK_INT(head.n, n + 1);
    close(later);
    close(fd);
    done();
}

TEST_MAIN(CASE(node_0_first), CASE(newcomers), CASE(restarts), CASE(spare_ranks), CASE(words),
          CASE(leaving), CASE(the_end), CASE(twice), CASE(no_descriptor))
