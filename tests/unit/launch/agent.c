/*
 * agent.c - the agent of a node with a head that this test plays, and a clock of its own.
 */
#include "launch/agent.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

static cr_err err;
static cr_launch job;
static cr_agent agent;
static cr_link head;
static int listener;
static double now;

static void begin(int restarts) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK_INT(bind(listener, (struct sockaddr *)&a, n), 0);
    CHECK_INT(listen(listener, 8), 0);
    CHECK_INT(getsockname(listener, (struct sockaddr *)&a, &n), 0);
    job = (cr_launch){.layout = {.min_nodes = 2,
                                 .max_nodes = 2,
                                 .nproc = 1,
                                 .node_rank = 1,
                                 .addr = "127.0.0.1",
                                 .port = ntohs(a.sin_port),
                                 .max_restarts = restarts,
                                 .join_s = 600},
                      .fault_s = 20,
                      .version = "1"};
    CHECK_INT(cr_secret_key(&job.key, NULL, "0123456789abcdef", "none", &err), CR_OK);
    now = 1000;
    head = (cr_link){.fd = -1};
    CHECK_INT(cr_agent_init(&agent, &job, -1, now, &err), CR_OK);
}

/* some turns of the agent and of the head, which takes a connection when it has none; true: a
 * message of this type came */
static bool turns(cr_wire_type type) {
    bool came = false;
    for (int k = 0; k < 12; k++) {
        cr_polls p = {0};
        cr_msg m;
        cr_agent_polls(&agent, &p);
        (void)poll(p.v, (nfds_t)p.n, 2);
        cr_agent_turn(&agent, &p, now, false);
        cr_free(p.v);
        int fd = head.fd < 0 ? accept4(listener, NULL, NULL, SOCK_NONBLOCK) : -1;
        if (fd >= 0) cr_link_clear(&head);
        if (fd >= 0) CHECK_INT(cr_link_init(&head, fd, true, false, &job.key, now, &err), CR_OK);
        if (head.fd < 0) continue;
        struct pollfd q = {.fd = head.fd, .events = cr_link_events(&head)};
        (void)poll(&q, 1, 0);
        cr_link_ready(&head, q.revents, now);
        while (cr_link_next(&head, &m))
            came = came || m.type == type;
        now += 0.01;
    }
    return came;
}

static void hang_up(void) {
    cr_link_clear(&head);
    head.fd = -1;
    /* what is on its way is of the old connection */
    cr_polls p = {0};
    cr_agent_polls(&agent, &p);
    (void)poll(p.v, (nfds_t)p.n, 200);
    cr_agent_turn(&agent, &p, now, false);
    cr_free(p.v);
}

static void done(void) {
    cr_agent_clear(&agent);
    cr_link_clear(&head);
    close(listener);
}

/* A head that hangs up after JOIN still counts on an earlier connection of this node. That is no
 * loss of node 0, so it uses up no restarts. */
TEST(come_again) {
    begin(0);
    for (int i = 0; i < 3; i++) {
        CHECK(turns(CR_WIRE_JOIN));
        hang_up();
        CHECK(!agent.over);
        now += 1;
    }
    CHECK(turns(CR_WIRE_JOIN));
    cr_link_send(&head, &(cr_msg){.type = CR_WIRE_PING});
    turns(CR_WIRE_JOIN);
    CHECK(agent.accepted);
    hang_up();
    CHECK(agent.over);
    CHECK_INT(agent.exit_code, 137);
    CHECK(strstr(agent.text, "is gone: the connection was closed"));
    done();
}

/* With restarts left it waits for node 0 to come back. A head that falls silent is one that is
 * lost. */
TEST(lost) {
    begin(1);
    CHECK(turns(CR_WIRE_JOIN));
    cr_link_send(&head, &(cr_msg){.type = CR_WIRE_PING});
    turns(CR_WIRE_JOIN);
    hang_up();
    CHECK(!agent.over);
    now += 1;
    CHECK(turns(CR_WIRE_JOIN));
    cr_link_send(&head, &(cr_msg){.type = CR_WIRE_PING});
    turns(CR_WIRE_JOIN);
    now += 21;
    turns(CR_WIRE_JOIN);
    CHECK(agent.over);
    CHECK(strstr(agent.text, "is gone: nothing was heard of it for 20 s"));
    done();
}

/* It is refused, or the job ends: the user reads why. */
TEST(words) {
    static const cr_msg v[] = {{.type = CR_WIRE_REFUSE, .text = {{"another crank", 13}}},
                               {.type = CR_WIRE_BYE,
                                .num = {137},
                                .text = {{"rank 0 was killed", 17}}}};
    for (size_t i = 0; i < 2; i++) {
        begin(1);
        CHECK(turns(CR_WIRE_JOIN));
        cr_link_send(&head, &v[i]);
        turns(CR_WIRE_JOIN);
        CHECK(agent.over);
        CHECK_INT(agent.exit_code, i == 0 ? 2 : 137);
        CHECK_STR(agent.text, v[i].text[0].p);
        done();
    }
}

TEST_MAIN(CASE(come_again), CASE(lost), CASE(words))
