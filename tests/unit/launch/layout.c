/*
 * layout.c - what flags and the variables of every platform mean, and what is refused.
 */
#include "launch/layout.h"

#include "harness.h"

static const char *vars[16][2];
static cr_layout l;
static cr_err err;
static cr_arena arena;
static cr_launch_flags f;

static const char *env(const char *name) {
    for (int i = 0; vars[i][0]; i++)
        if (strcmp(vars[i][0], name) == 0) return vars[i][1];
    return NULL;
}
static bool is_own(const char *host) {
    return strcmp(host, "me") == 0;
}

/* SET("A", "1", "B", "2"): the environment, and no flags */
static void set_env(const char *const *v, size_t n) {
    memset(vars, 0, sizeof vars);
    for (size_t i = 0; i + 1 < n; i += 2) {
        vars[i / 2][0] = v[i];
        vars[i / 2][1] = v[i + 1];
    }
    f = (cr_launch_flags){0};
}
#define SET(...)                                                                                   \
    do {                                                                                           \
        const char *const v_[] = {NULL, __VA_ARGS__};                                              \
        set_env(v_ + 1, sizeof v_ / sizeof *v_ - 1);                                               \
    } while (0)

static cr_code find(void) {
    const cr_machine m = {.env = env, .is_own = is_own, .cores = 8, .gpus = 0};
    err = (cr_err){0};
    cr_code code = cr_layout_pet(&f, &m, &err);
    return code == CR_OK ? cr_layout_find(&l, &f, &m, &arena, &err) : code;
}

#define IS(nodes, nproc_, rank, head, addr_, port_)                                                \
    do {                                                                                           \
        CHECK_INT(find(), CR_OK);                                                                  \
        CHECK_STR(err.msg, "");                                                                    \
        CHECK_INT(l.max_nodes, nodes);                                                             \
        CHECK_INT(l.nproc, nproc_);                                                                \
        CHECK_INT(l.node_rank, rank);                                                              \
        CHECK_INT(l.is_head, head);                                                                \
        CHECK_STR(l.addr, addr_);                                                                  \
        CHECK_INT(l.port, port_);                                                                  \
    } while (0)
#define REFUSED(part)                                                                              \
    do {                                                                                           \
        CHECK_INT(find(), CR_EUSAGE);                                                              \
        CHECK(strstr(err.msg, part) != NULL);                                                      \
        if (!strstr(err.msg, part)) fprintf(stderr, "  %s\n", err.msg);                            \
    } while (0)

TEST(flags) {
    SET();
    IS(1, 1, -1, 1, "127.0.0.1", 29500);
    CHECK(l.standalone);
    f.nproc_per_node = "4";
    IS(1, 4, -1, 1, "127.0.0.1", 29500);
    SET("WORLD_SIZE", "4");
    f.nproc_per_node = "4"; /* a script that counts its processes */
    IS(1, 4, -1, 1, "127.0.0.1", 29500);
    SET();
    f.nproc_per_node = "auto";
    IS(1, 8, -1, 1, "127.0.0.1", 29500);
    f.nproc_per_node = "cpu";
    IS(1, 8, -1, 1, "127.0.0.1", 29500);
    /* the DLC line of the guide */
    SET("WORLD_SIZE", "2", "RANK", "1", "NPROC_PER_NODE", "8");
    f = (cr_launch_flags){.nnodes = "2",
                          .nproc_per_node = "8",
                          .node_rank = "1",
                          .master_addr = "h0",
                          .master_port = "23456"};
    IS(2, 8, 1, 0, "h0", 23456);
    CHECK(!l.standalone);
    f.node_rank = "0";
    IS(2, 8, 0, 1, "h0", 23456);
    SET();
    f = (cr_launch_flags){.nnodes = "2:4",
                          .rdzv_backend = "c10d",
                          .rdzv_endpoint = "me:7000",
                          .rdzv_id = "job7",
                          .rdzv_conf = "join_timeout=60,last_call_timeout=5,read_timeout=x",
                          .max_restarts = "3"};
    IS(4, 1, -1, 1, "me", 7000);
    CHECK_INT(l.min_nodes, 2);
    CHECK_INT(l.max_restarts, 3);
    CHECK_STR(l.run_id, "job7");
    CHECK_NEAR(l.join_s, 60, 0, 0);
    CHECK_NEAR(l.last_call_s, 5, 0, 0);
    f.rdzv_endpoint = "other";
    IS(4, 1, -1, 0, "other", 29500);
    f.rdzv_endpoint = "[fe80::1]:80";
    IS(4, 1, -1, 0, "fe80::1", 80);
}

TEST(platforms) {
    SET("WORLD_SIZE", "2", "RANK", "1", "NPROC_PER_NODE", "4", "MASTER_ADDR", "m", "MASTER_PORT",
        "23456");
    IS(2, 4, 1, 0, "m", 23456);
    CHECK(strstr(cr_layout_text(&l, &arena),
                 "as the variables of PAI-DLC say (WORLD_SIZE=2, RANK=1)"));
    SET("PET_NNODES", "3", "PET_NODE_RANK", "2", "PET_NPROC_PER_NODE", "2", "WORLD_SIZE", "6",
        "RANK", "2", "MASTER_ADDR", "m", "MASTER_PORT", "23456");
    IS(3, 2, 2, 0, "m", 23456); /* Kubeflow: WORLD_SIZE counts processes */
    SET("PET_NNODES", "1:3", "PET_RDZV_ENDPOINT", "w0:29400", "PET_RDZV_BACKEND", "c10d",
        "PET_MAX_RESTARTS", "5");
    IS(3, 1, -1, 0, "w0", 29400);
    CHECK_INT(l.max_restarts, 5);
    SET("SLURM_NODEID", "1", "SLURM_NNODES", "3", "SLURM_JOB_NODELIST", "n[01-03,07],m",
        "SLURM_NTASKS_PER_NODE", "1", "SLURM_LOCALID", "0");
    IS(3, 1, 1, 0, "n01", 29500);
    f.nproc_per_node = "4";
    IS(3, 4, 1, 0, "n01", 29500);
    SET("SLURM_NODEID", "0", "SLURM_JOB_NUM_NODES", "2", "SLURM_JOB_NODELIST", "a,b");
    IS(2, 1, 0, 1, "a", 29500);
    SET("SLURM_NODEID", "1", "SLURM_NNODES", "2", "SLURM_JOB_NODELIST", "a,b", "SLURM_LOCALID", "0",
        "SLURM_PROCID", "1", "SLURM_NTASKS", "2", "PMI_RANK", "1", "PMI_SIZE", "2");
    IS(2, 1, 1, 0, "a", 29500); /* srun --mpi=pmi2 with one task per node */
    SET("ARNOLD_WORKER_NUM", "2", "ARNOLD_ID", "1", "ARNOLD_WORKER_GPU", "0",
        "ARNOLD_WORKER_0_HOST", "w0,w1", "ARNOLD_WORKER_0_PORT", "9000,9001");
    IS(2, 1, 1, 0, "w0", 9000);
    SET("PADDLE_TRAINERS_NUM", "2", "PADDLE_TRAINER_ID", "0", "PADDLE_TRAINER_ENDPOINTS",
        "10.0.0.1:6170,10.0.0.2:6170");
    IS(2, 1, 0, 1, "10.0.0.1", 6170);
    f.nproc_per_node = "2"; /* a flag wins over its variable only */
    IS(2, 2, 0, 1, "10.0.0.1", 6170);
    f.standalone = true; /* and over all of them */
    IS(1, 2, -1, 1, "127.0.0.1", 29500);
    SET("PADDLE_TRAINERS", "10.0.0.1,10.0.0.2,10.0.0.3", "PADDLE_TRAINER_ID", "2",
        "PADDLE_TRAINERS_NUM", "3", "TRAINER_GPU_CARD_COUNT", "4", "PADDLE_PORT", "6170", "POD_IP",
        "10.0.0.3", "PADDLE_TRAINING_ROLE", "TRAINER");
    IS(3, 4, 2, 0, "10.0.0.1", 6170); /* the input of Paddle's launcher in a collective job */
    SET("PADDLE_TRAINERS", "10.0.0.1", "PADDLE_TRAINER_ID", "0");
    IS(1, 1, 0, 1, "127.0.0.1", 29500);
}

/* Roles number the nodes: trainers first. The first server has the head. */
TEST(roles) {
    static const char list[] = "10.0.0.8:30240,10.0.0.9:30241";
    SET("TRAINING_ROLE", "TRAINER", "PADDLE_TRAINERS_NUM", "3", "PADDLE_TRAINER_ID", "0",
        "PADDLE_PSERVERS_IP_PORT_LIST", list);
    IS(5, 1, 0, 0, "10.0.0.8", 30240);
    CHECK_INT(l.servers, 2);
    CHECK_INT(l.workers, 3);
    SET("TRAINING_ROLE", "PSERVER", "PADDLE_TRAINERS_NUM", "3", "POD_IP", "10.0.0.8", "PADDLE_PORT",
        "30240", "PADDLE_PSERVERS_IP_PORT_LIST", list);
    IS(5, 1, 3, 1, "10.0.0.8", 30240);
    SET("TRAINING_ROLE", "PSERVER", "PADDLE_TRAINERS_NUM", "3", "POD_IP", "10.0.0.9", "PADDLE_PORT",
        "30241", "PADDLE_PSERVERS_IP_PORT_LIST", list);
    IS(5, 1, 4, 0, "10.0.0.8", 30240);
    f.standalone = true; /* flags win */
    IS(1, 1, -1, 1, "127.0.0.1", 29500);
    CHECK_INT(l.servers, 0);
}

TEST(refused) {
    SET("WORLD_SIZE", "4", "RANK", "1");
    REFUSED("may count nodes or processes");
    f.nproc_per_node = "2"; /* each of four nodes would train alone */
    REFUSED("may count nodes or processes");
    SET("LOCAL_RANK", "0", "GROUP_RANK", "0", "WORLD_SIZE", "2");
    REFUSED("already a worker");
    SET("PMI_SIZE", "2");
    REFUSED("leave out one of both");
    SET("PMI_SIZE", "2", "PMI_RANK", "0", "SLURM_LOCALID", "0", "SLURM_PROCID", "1", "SLURM_NTASKS",
        "2");
    REFUSED("leave out one of both");
    SET("TRAINING_ROLE", "PSERVER", "PADDLE_TRAINERS_NUM", "2");
    REFUSED("does not set PADDLE_PSERVERS_IP_PORT_LIST");
    SET("TRAINING_ROLE", "PSERVER", "PADDLE_TRAINERS_NUM", "2", "PADDLE_PSERVERS_IP_PORT_LIST",
        "a:1");
    f.nnodes = "2";
    REFUSED("leave out --nnodes");
    SET("TRAINING_ROLE", "PSERVER", "PADDLE_TRAINERS_NUM", "2", "PADDLE_PSERVERS_IP_PORT_LIST",
        "a:1");
    f.nproc_per_node = "2";
    REFUSED("so it is one rank, and the flags ask for 2");
    SET("SLURM_LOCALID", "0", "SLURM_STEP_TASKS_PER_NODE", "2(x2)");
    REFUSED("several launchers on this node");
    SET("SLURM_LOCALID", "1");
    REFUSED("srun --ntasks-per-node=1");
    static const char *const bad_nodes[] = {"0", "x", "", "3:2", "1:", ":2", "0:2", "99999"};
    for (size_t i = 0; i < sizeof bad_nodes / sizeof *bad_nodes; i++) {
        SET();
        f.nnodes = bad_nodes[i];
        REFUSED("N or MIN:MAX");
    }
    SET();
    f.nproc_per_node = "0";
    REFUSED("auto, cpu or gpu");
    f.nproc_per_node = "100000";
    REFUSED("a number from 1 to 1024");
    f.nproc_per_node = "600";
    f.nnodes = "1:2";
    REFUSED("would have 1200 ranks (600 on each of 2 nodes), and 1024 are the most");
    f.nnodes = NULL;
    f.nproc_per_node = "gpu";
    REFUSED("this machine has none");
    SET();
    f.nnodes = "2";
    REFUSED("where to meet");
    f.master_addr = "h";
    f.node_rank = "2";
    REFUSED("this is node 2, but there are only 2");
    f.node_rank = "1";
    f.master_port = "70000";
    REFUSED("--master_port");
    SET();
    f.standalone = true;
    f.nnodes = "2";
    REFUSED("--standalone means one node");
    SET();
    f.max_restarts = "-1";
    REFUSED("--max_restarts");
    /* a message names the variable where no flag was given */
    SET("PET_NNODES", "2:1");
    REFUSED("PET_NNODES is '2:1' and must be");
    SET("PET_NNODES", "2:1");
    f.nnodes = "2:0";
    REFUSED("--nnodes is '2:0' and must be");
    SET("PET_NPROC_PER_NODE", "x");
    REFUSED("PET_NPROC_PER_NODE is 'x'");
    SET("PET_NNODES", "2", "PET_RDZV_ENDPOINT", "h:x");
    REFUSED("the port of PET_RDZV_ENDPOINT is 'x'");
    SET("PET_RDZV_CONF", "join_timout=5");
    REFUSED("PET_RDZV_CONF has the unknown key");
    SET();
    f.rdzv_backend = "etcd-v2";
    REFUSED("--rdzv_backend is 'etcd-v2', and crank needs no server to meet at");
    SET("PET_STANDALONE", "maybe");
    REFUSED("PET_STANDALONE");
    SET("SLURM_NODEID", "0", "SLURM_NNODES", "2", "SLURM_JOB_NODELIST", "n[");
    REFUSED("no list of nodes");
    SET();
    f.rdzv_conf = "join_timout=5";
    REFUSED("unknown key 'join_timout'");
    f.rdzv_conf = "join_timeout";
    REFUSED("KEY=VALUE");
    f.rdzv_conf = "join_timeout=soon";
    REFUSED("no number of seconds");
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(flags), CASE(platforms), CASE(roles), CASE(refused)};
    cr_arena_init(&arena, 0);
    int failed = t_run(cases, sizeof cases / sizeof *cases, argc, argv);
    cr_arena_clear(&arena);
    return failed;
}
