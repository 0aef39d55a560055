/*
 * role.c - the roles of Paddle's platforms: servers, trainers, jobs without servers, MPI jobs, and
 * variables that are missing or contradict each other.
 */
#include "comm/role.h"

#include "harness.h"

static const char *vars[16][2];
static cr_role r;
static cr_err err;

static const char *env(const char *name) {
    for (int i = 0; i < 16 && vars[i][0]; i++)
        if (strcmp(vars[i][0], name) == 0) return vars[i][1];
    return NULL;
}
static void set_env(const char *const *v, size_t n) {
    memset(vars, 0, sizeof vars);
    for (size_t i = 0; i + 1 < n; i += 2) {
        vars[i / 2][0] = v[i];
        vars[i / 2][1] = v[i + 1];
    }
}
#define SET(...)                                                                                   \
    do {                                                                                           \
        const char *const v_[] = {__VA_ARGS__};                                                    \
        set_env(v_, sizeof v_ / sizeof *v_);                                                       \
    } while (0)
#define LIST  "PADDLE_PSERVERS_IP_PORT_LIST", "10.0.0.1:30240,10.0.0.2:30240"
#define COUNT "PADDLE_TRAINERS_NUM", "3"
#define IS(serves_, index_, rank)                                                                  \
    do {                                                                                           \
        CHECK_INT(cr_role_find(&r, env, &err), CR_OK);                                             \
        CHECK(r.given);                                                                            \
        CHECK_INT(r.serves, serves_);                                                              \
        CHECK_INT(r.index, index_);                                                                \
        CHECK_INT(r.servers, 2);                                                                   \
        CHECK_INT(r.workers, 3);                                                                   \
        CHECK_INT(cr_role_rank(&r), rank);                                                         \
        CHECK_STR(r.host, "10.0.0.1");                                                             \
        CHECK_INT(r.port, 30240);                                                                  \
    } while (0)
#define WRONG(part)                                                                                \
    do {                                                                                           \
        CHECK_INT(cr_role_find(&r, env, &err), CR_EUSAGE);                                         \
        CHECK(strstr(err.msg, part) != NULL);                                                      \
        if (!strstr(err.msg, part)) fprintf(stderr, "  %s\n", err.msg);                            \
    } while (0)

TEST(roles) {
    SET("TRAINING_ROLE", "TRAINER", LIST, COUNT, "PADDLE_TRAINER_ID", "2");
    IS(0, 2, 2);
    SET("TRAINING_ROLE", "PSERVER", LIST, COUNT, "POD_IP", "10.0.0.2", "PADDLE_PORT", "30240");
    IS(1, 1, 4);
    SET("PADDLE_TRAINING_ROLE", "pserver", LIST, COUNT, "POD_IP", "10.0.0.1", "PADDLE_PORT",
        "30240");
    IS(1, 0, 3);
    /* the only server needs no address of its own */
    SET("TRAINING_ROLE", "PSERVER", "PADDLE_PSERVERS_IP_PORT_LIST", "h:1", COUNT);
    CHECK_INT(cr_role_find(&r, env, &err), CR_OK);
    CHECK_INT(cr_role_rank(&r), 3);
    /* no servers, no role */
    SET("TRAINING_ROLE", "TRAINER", COUNT, "PADDLE_TRAINER_ID", "2");
    CHECK_INT(cr_role_find(&r, env, &err), CR_OK);
    CHECK(!r.given);
    SET(LIST, COUNT);
    CHECK_INT(cr_role_find(&r, env, &err), CR_OK);
    CHECK(!r.given);
}

TEST(wrong) {
    SET("TRAINING_ROLE", "WORKER", LIST, COUNT);
    WRONG("'WORKER' and must be PSERVER or TRAINER");
    SET("TRAINING_ROLE", "PSERVER", COUNT);
    WRONG("does not set PADDLE_PSERVERS_IP_PORT_LIST");
    SET("TRAINING_ROLE", "TRAINER", LIST);
    WRONG("does not set PADDLE_TRAINERS_NUM");
    SET("TRAINING_ROLE", "TRAINER", LIST, COUNT);
    WRONG("does not set PADDLE_TRAINER_ID");
    SET("TRAINING_ROLE", "TRAINER", LIST, COUNT, "PADDLE_TRAINER_ID", "3");
    WRONG("PADDLE_TRAINER_ID is '3' and must be a number from 0 to 2");
    SET("TRAINING_ROLE", "TRAINER", LIST, "PADDLE_TRAINERS_NUM", "0");
    WRONG("PADDLE_TRAINERS_NUM is '0'");
    SET("TRAINING_ROLE", "PSERVER", LIST, COUNT, "POD_IP", "10.0.0.3", "PADDLE_PORT", "30240");
    WRONG("10.0.0.3:30240 (POD_IP and PADDLE_PORT), which is not in");
    SET("TRAINING_ROLE", "PSERVER", LIST, COUNT);
    WRONG("at ?:? (POD_IP and PADDLE_PORT)");
    static const char *const lists[] = {"h", "h:", ":1", "h:1,,h:2", "h:1,h", "h:70000", "h:x"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        SET("TRAINING_ROLE", "TRAINER", COUNT, "PADDLE_TRAINER_ID", "0",
            "PADDLE_PSERVERS_IP_PORT_LIST", lists[i]);
        WRONG("must be ip:port,ip:port,...");
    }
    SET("TRAINING_ROLE", "PSERVER", COUNT, "POD_IP", "h", "PADDLE_PORT", "1",
        "PADDLE_PSERVERS_IP_PORT_LIST", "h:1,h:1");
    WRONG("more than once");
}

TEST(by_rank) {
    static const int want[] = {2, 0, 3, 1}; /* even ranks serve, behind the trainers */
    SET("PADDLEREC_CLUSTER_TYPE", "MPI");
    for (int k = 0; k < 4; k++) {
        CHECK_INT(cr_role_by_rank(&r, env, k, 4, &err), CR_OK);
        CHECK_INT(cr_role_rank(&r), want[k]);
        CHECK_INT(r.serves, k % 2 == 0);
    }
    CHECK_INT(cr_role_by_rank(&r, env, 0, 3, &err), CR_EUSAGE);
    CHECK(strstr(err.msg, "mpirun -npernode 2") != NULL);
    SET("PADDLEREC_CLUSTER_TYPE", "K8S");
    CHECK_INT(cr_role_by_rank(&r, env, 0, 3, &err), CR_OK);
    CHECK(!r.given);
}

TEST_MAIN(CASE(roles), CASE(wrong), CASE(by_rank))
