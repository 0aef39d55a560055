/*
 * layout.c - one table of platforms. WORLD_SIZE and RANK count nodes in one system and processes in
 * another, so a row is taken only when the variable that marks its platform is there, and flags
 * always win. Bare RANK and WORLD_SIZE decide nothing.
 */
#include "launch/layout.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cpu.h"

#define usage(err, ...) cr_fail((err), CR_EUSAGE, __VA_ARGS__)

/* ---- the platforms ---- */

typedef struct platform {
    const char *name, *mark; /* mark: the variable that only this platform sets */
    const char *nodes, *nodes2, *node_rank, *nproc; /* nodes: a number, or a list of hosts */
    const char *host, *port;                        /* of the head; the first of a list */
} platform;

static const platform platforms[] = {
    {"Slurm", "SLURM_NODEID", "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NODEID", NULL,
     "SLURM_JOB_NODELIST", NULL},
    {"Arnold", "ARNOLD_WORKER_NUM", "ARNOLD_WORKER_NUM", NULL, "ARNOLD_ID", "ARNOLD_WORKER_GPU",
     "ARNOLD_WORKER_0_HOST", "ARNOLD_WORKER_0_PORT"},
    {"PaddleCloud", "PADDLE_TRAINERS", "PADDLE_TRAINERS", NULL, "PADDLE_TRAINER_ID",
     "TRAINER_GPU_CARD_COUNT", "PADDLE_TRAINERS", "PADDLE_PORT"},
    {"PaddleCloud", "PADDLE_TRAINERS_NUM", "PADDLE_TRAINERS_NUM", NULL, "PADDLE_TRAINER_ID", NULL,
     "PADDLE_TRAINER_ENDPOINTS", NULL},
    {"PAI-DLC", "NPROC_PER_NODE", "WORLD_SIZE", NULL, "RANK", "NPROC_PER_NODE", "MASTER_ADDR",
     "MASTER_PORT"},
};

/* ---- PET_ variables ---- */

#define PET(NAME, flag, m)                                                                         \
    { "PET_" NAME, flag, offsetof(cr_launch_flags, m) }
static const struct {
    const char *name, *flag;
    size_t offset;
} pets[] = {
    PET("NNODES", "--nnodes", nnodes),
    PET("NPROC_PER_NODE", "--nproc-per-node", nproc_per_node),
    PET("NODE_RANK", "--node_rank", node_rank),
    PET("MASTER_ADDR", "--master_addr", master_addr),
    PET("MASTER_PORT", "--master_port", master_port),
    PET("RDZV_BACKEND", "--rdzv_backend", rdzv_backend),
    PET("RDZV_ENDPOINT", "--rdzv_endpoint", rdzv_endpoint),
    PET("RDZV_ID", "--rdzv_id", rdzv_id),
    PET("RDZV_CONF", "--rdzv_conf", rdzv_conf),
    PET("MAX_RESTARTS", "--max_restarts", max_restarts),
    PET("LOG_DIR", "--log_dir", log_dir),
    PET("REDIRECTS", "--redirects", redirects),
    PET("TEE", "--tee", tee),
    PET("LOCAL_RANKS_FILTER", "--local_ranks_filter", local_ranks_filter),
    PET("ROLE", "--role", role),
    PET("SIGNALS_TO_HANDLE", "--signals_to_handle", signals_to_handle),
};

/* Returns what gave a flag its value, for messages: the flag, or a variable. */
#define GAVE(f, m) given_by((f), offsetof(cr_launch_flags, m))
static const char *given_by(const cr_launch_flags *f, size_t offset) {
    size_t i = 0;
    while (pets[i].offset != offset)
        i++;
    return f->pets >> i & 1 ? pets[i].name : pets[i].flag;
}

cr_code cr_layout_pet(cr_launch_flags *f, const cr_machine *m, cr_err *err) {
    for (size_t i = 0; i < sizeof pets / sizeof *pets; i++) {
        const char **at = (const char **)(void *)((char *)f + pets[i].offset);
        const char *value = m->env(pets[i].name);
        if (*at || !value || !*value) continue;
        *at = value;
        f->pets |= 1U << i;
    }
    const char *alone = m->env("PET_STANDALONE");
    if (!alone || !*alone || strcmp(alone, "0") == 0 || strcasecmp(alone, "false") == 0)
        return CR_OK;
    if (strcmp(alone, "1") != 0 && strcasecmp(alone, "true") != 0)
        return usage(err, "PET_STANDALONE of the environment is '%.40s' and must be 0 or 1", alone);
    f->standalone = true;
    return CR_OK;
}

/* ---- numbers ---- */

static cr_code number(const char *what, const char *text, int64_t lo, int64_t hi, int *out,
                      cr_err *err) {
    int64_t x;
    if (!cr_parse_i64(text, strlen(text), &x) || x < lo || x > hi)
        return usage(err, "%s is '%.60s' and must be a number from %lld to %lld", what, text,
                     (long long)lo, (long long)hi);
    *out = (int)x;
    return CR_OK;
}

static cr_code node_count(const char *what, const char *text, cr_layout *l, cr_err *err) {
    const char *colon = strchr(text, ':');
    int64_t lo, hi;
    if (!cr_parse_i64(text, colon ? (size_t)(colon - text) : strlen(text), &lo) ||
        (colon && !cr_parse_i64(colon + 1, strlen(colon + 1), &hi)) || lo < 1 ||
        (colon && hi < lo) || (colon ? hi : lo) > CR_LAUNCH_RANKS)
        return usage(err, "%s is '%.60s' and must be N or MIN:MAX with 1 <= MIN <= MAX <= %d", what,
                     text, CR_LAUNCH_RANKS);
    l->min_nodes = (int)lo;
    l->max_nodes = (int)(colon ? hi : lo);
    return CR_OK;
}

static cr_code rank_count(const char *what, const char *text, const cr_machine *m, int *out,
                          cr_err *err) {
    if (strcmp(text, "cpu") == 0 || (strcmp(text, "auto") == 0 && m->gpus == 0)) {
        *out = m->cores;
        return CR_OK;
    }
    if (strcmp(text, "gpu") == 0 || strcmp(text, "auto") == 0) {
        if (m->gpus == 0)
            return usage(err,
                         "%s is gpu, and this machine has none; crank runs on CPUs: give a number "
                         "or cpu",
                         what);
        *out = m->gpus;
        return CR_OK;
    }
    int64_t x;
    if (!cr_parse_i64(text, strlen(text), &x) || x < 1 || x > CR_LAUNCH_RANKS)
        return usage(err, "%s is '%.60s' and must be a number from 1 to %d, auto, cpu or gpu", what,
                     text, CR_LAUNCH_RANKS);
    *out = (int)x;
    return CR_OK;
}

/* ---- addresses ---- */

/* The first host of a list: "a,b", "a:70,b:70" (*port then), or Slurm's "n[01-03,07],m". */
static cr_code first_host(const char *what, const char *list, cr_arena *a, const char **host,
                          int *port, cr_err *err) {
    size_t n = strcspn(list, ",[");
    if (n == 0) return usage(err, "%s is '%.60s' and names no host", what, list);
    if (list[n] == '[') { /* the first number of the bracket, with its zeros */
        size_t k = strcspn(list + n + 1, "-,]"), end = strcspn(list + n, "]");
        if (k == 0 || !list[n + end])
            return usage(err, "%s is '%.60s', which is no list of nodes", what, list);
        *host = cr_arena_printf(a, "%.*s%.*s", (int)n, list, (int)k, list + n + 1);
        return CR_OK;
    }
    const char *colon = memchr(list, ':', n);
    if (colon && !memchr(colon + 1, ':', n - (size_t)(colon + 1 - list))) {
        const char *text = cr_arena_strndup(a, colon + 1, n - (size_t)(colon + 1 - list));
        CR_TRY(number(what, text, 1, 65535, port, err));
        n = (size_t)(colon - list);
    }
    *host = cr_arena_strndup(a, list, n);
    return CR_OK;
}

/* --rdzv_endpoint HOST[:PORT], [V6]:PORT */
static cr_code endpoint(const char *what, const char *text, cr_arena *a, cr_layout *l,
                        cr_err *err) {
    const char *close = text[0] == '[' ? strchr(text, ']') : NULL;
    const char *colon = strchr(close ? close : text, ':');
    if (!close && colon && strchr(colon + 1, ':')) colon = NULL; /* a bare IPv6 address */
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    if (n == 0) return usage(err, "%s is '%.60s' and must be HOST:PORT", what, text);
    if (colon)
        CR_TRY(
            number(cr_arena_printf(a, "the port of %s", what), colon + 1, 0, 65535, &l->port, err));
    l->addr = close ? cr_arena_strndup(a, text + 1, (size_t)(close - text) - 1)
                    : cr_arena_strndup(a, text, n);
    return CR_OK;
}

static cr_code rdzv_conf(const char *what, const char *text, cr_layout *l, cr_err *err) {
    static const struct {
        const char *key;
        size_t offset;
    } keys[] = {{"join_timeout", offsetof(cr_layout, join_s)},
                {"timeout", offsetof(cr_layout, join_s)},
                {"last_call_timeout", offsetof(cr_layout, last_call_s)},
                {"start_timeout", offsetof(cr_layout, start_s)}};
    /* keys of torch's backends, which mean nothing here */
    static const char *const others[] = {"close_timeout",
                                         "heartbeat_timeout",
                                         "keep_alive_interval",
                                         "keep_alive_max_attempt",
                                         "read_timeout",
                                         "store_type",
                                         "is_host",
                                         "rank",
                                         "protocol",
                                         "etcd_prefix",
                                         "ttl",
                                         "cacert",
                                         "cert",
                                         "key",
                                         "ca_cert",
                                         "ssl_cert",
                                         "ssl_cert_key",
                                         "min_workers",
                                         "max_workers"};
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");
        const char *eq = memchr(p, '=', n);
        if (!eq) return usage(err, "%s is '%.60s' and must be KEY=VALUE with commas", what, text);
        bool known = false;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            known = known || (strlen(others[i]) == (size_t)(eq - p) &&
                              memcmp(others[i], p, (size_t)(eq - p)) == 0);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            double x;
            if (strlen(keys[i].key) != (size_t)(eq - p) ||
                memcmp(keys[i].key, p, (size_t)(eq - p)) != 0)
                continue;
            if (!cr_parse_f64(eq + 1, n - (size_t)(eq + 1 - p), &x) || !(x >= 0 && x <= 1e7))
                return usage(err, "%s: %s is no number of seconds", what, keys[i].key);
            *(double *)(void *)((char *)l + keys[i].offset) = x;
            known = true;
        }
        if (!known)
            return usage(err,
                         "%s has the unknown key '%.*s'; it takes join_timeout, "
                         "last_call_timeout and start_timeout, and the keys of torch's backends",
                         what, eq - p > 60 ? 60 : (int)(eq - p), p);
        p += n + (p[n] == ',');
    }
    return CR_OK;
}

/* The other backends of torch meet at a server of their own, whose address is the endpoint. */
static cr_code backend(const char *what, const char *name, cr_err *err) {
    if (!name || !*name || strcmp(name, "static") == 0 || strcmp(name, "c10d") == 0) return CR_OK;
    return usage(err,
                 "%s is '%.40s', and crank needs no server to meet at; leave it out or write c10d, "
                 "with --rdzv_endpoint HOST:PORT of node 0",
                 what, name);
}

/* ---- the decision ---- */

/* How many hosts a list names. */
static const char *list_count(const char *text, cr_arena *a) {
    int n = 1;
    for (const char *p = text; (p = strchr(p, ',')); p++)
        n++;
    return cr_arena_printf(a, "%d", n);
}

/* Platforms that count nodes by variables: taken when no flag says how many there are. */
static cr_code from_platform(const platform *p, const cr_launch_flags *f, const cr_machine *m,
                             cr_arena *a, cr_layout *l, cr_err *err) {
    const char *nodes = m->env(p->nodes), *rank = m->env(p->node_rank);
    const char *nproc = p->nproc ? m->env(p->nproc) : NULL;
    const char *host = m->env(p->host), *port = p->port ? m->env(p->port) : NULL;
    if (!nodes && p->nodes2) nodes = m->env(p->nodes2);
    if (!nodes || !*nodes) return CR_OK;
    bool list = strcmp(p->nodes, p->host) == 0;
    CR_TRY(node_count(p->nodes, list ? list_count(nodes, a) : nodes, l, err));
    if (rank && !f->node_rank)
        CR_TRY(number(p->node_rank, rank, 0, CR_LAUNCH_RANKS - 1, &l->node_rank, err));
    /* machines without GPUs say 0 of them */
    if (nproc && *nproc && strcmp(nproc, "0") != 0 && !f->nproc_per_node)
        CR_TRY(rank_count(p->nproc, nproc, m, &l->nproc, err));
    if (l->max_nodes > 1 && host && *host && !f->master_addr)
        CR_TRY(first_host(p->host, host, a, &l->addr, &l->port, err));
    if (l->max_nodes > 1 && port && *port && !f->master_port) {
        const char *first = cr_arena_strndup(a, port, strcspn(port, ","));
        CR_TRY(number(p->port, first, 1, 65535, &l->port, err));
    }
    l->because = cr_arena_printf(a, "as the variables of %s say (%s=%s%s%s%s%s)", p->name, p->nodes,
                                 nodes, rank ? ", " : "", rank ? p->node_rank : "", rank ? "=" : "",
                                 rank ? rank : "");
    return CR_OK;
}

static bool same_env(const cr_machine *m, const char *a, const char *b) {
    const char *x = m->env(a), *y = m->env(b);
    return x && y && strcmp(x, y) == 0;
}

static cr_code check_started(const cr_machine *m, cr_err *err) {
    const char *local = m->env("SLURM_LOCALID"), *tasks = m->env("SLURM_STEP_TASKS_PER_NODE");
    /* srun itself gives PMI's variables to its tasks where pmi2 is its default */
    bool by_srun =
        same_env(m, "PMI_SIZE", "SLURM_NTASKS") && same_env(m, "PMI_RANK", "SLURM_PROCID");
    if (m->env("LOCAL_RANK") && m->env("GROUP_RANK"))
        return usage(err, "this process is already a worker that torchrun or crank launch started "
                          "(LOCAL_RANK is set); use crank launch in its place, not inside it");
    if (m->env("OMPI_COMM_WORLD_SIZE") || (m->env("PMI_SIZE") && !by_srun))
        return usage(err, "mpirun or mpiexec has already started this process as a rank; leave out "
                          "one of both: 'mpiexec -n N crank train CONFIG' or 'crank launch "
                          "--nproc-per-node N -- train CONFIG'");
    /* "2(x3),1": the first of several launchers on a node is refused like the others */
    if (local && (strcmp(local, "0") != 0 || (tasks && strtol(tasks, NULL, 10) > 1)))
        return usage(err,
                     "srun has started several launchers on this node (SLURM_LOCALID=%.20s); "
                     "start one: srun --ntasks-per-node=1 crank launch --nproc-per-node N ...",
                     local);
    return CR_OK;
}

/* Each process that the platform has started is a node with one rank. The first server is the one
 * whose address all know, so it has the head; rank 0 is the first trainer. */
static cr_code from_role(const cr_role *r, const cr_launch_flags *f, cr_layout *l, cr_arena *a,
                         cr_err *err) {
    if (f->nproc_per_node && strcmp(f->nproc_per_node, "1") != 0)
        return usage(
            err,
            "the platform has given this process one role (%s), so it is one rank, and the "
            "flags ask for %s; leave out --nproc-per-node, --ps and --workers, or unset %s",
            r->because, f->nproc_per_node, r->because);
    l->servers = r->servers;
    l->workers = r->workers;
    l->min_nodes = l->max_nodes = r->servers + r->workers;
    l->node_rank = cr_role_rank(r);
    l->is_head = r->serves && r->index == 0;
    l->addr = cr_arena_strdup(a, r->host);
    l->port = r->port;
    l->because =
        cr_arena_printf(a, "as %s says, with %d server%s and %d trainer%s", r->because, r->servers,
                        r->servers == 1 ? "" : "s", r->workers, r->workers == 1 ? "" : "s");
    return CR_OK;
}

static cr_code node_shape(cr_layout *l, const cr_launch_flags *f, const cr_machine *m, cr_arena *a,
                          cr_err *err) {
    bool said = f->nnodes || f->standalone || f->node_rank || f->rdzv_endpoint;
    cr_role role;
    CR_TRY(cr_role_find(&role, m->env, err));
    if (!said && role.given) return from_role(&role, f, l, a, err);
    if (role.given && role.serves && !f->standalone)
        return usage(err,
                     "the platform started this process as a parameter server (%s), and the flags "
                     "say which node it is; leave out --nnodes, --node_rank and --rdzv_endpoint",
                     role.because);
    l->because = said || f->nproc_per_node ? "as the flags say" : "the default";
    bool taken = false;
    for (size_t i = 0; !said && !taken && i < sizeof platforms / sizeof *platforms; i++) {
        taken = m->env(platforms[i].mark) != NULL;
        if (taken) CR_TRY(from_platform(&platforms[i], f, m, a, l, err));
    }
    if (f->nnodes) CR_TRY(node_count(GAVE(f, nnodes), f->nnodes, l, err));
    if (f->nproc_per_node)
        CR_TRY(rank_count(GAVE(f, nproc_per_node), f->nproc_per_node, m, &l->nproc, err));
    if (f->node_rank)
        CR_TRY(
            number(GAVE(f, node_rank), f->node_rank, 0, CR_LAUNCH_RANKS - 1, &l->node_rank, err));
    if (f->standalone && l->max_nodes > 1)
        return usage(err, "--standalone means one node, and %s is %s; leave out one of both",
                     GAVE(f, nnodes), f->nnodes);
    if (l->node_rank >= l->max_nodes)
        return usage(
            err,
            "this is node %d, but there %s only %d (numbers begin with 0); give the number "
            "of nodes with --nnodes",
            l->node_rank, l->max_nodes == 1 ? "is" : "are", l->max_nodes);
    /* Platforms set RANK too. Without it and beside --nproc-per-node, a script has set WORLD_SIZE
     * for itself. */
    const char *world = m->env("WORLD_SIZE");
    if (!said && !taken && (!f->nproc_per_node || m->env("RANK")) && world && *world &&
        strcmp(world, "1") != 0)
        return usage(
            err,
            "WORLD_SIZE of the environment is '%.40s', which may count nodes or "
            "processes; say which: --nnodes $WORLD_SIZE --node_rank $RANK, or --standalone",
            world);
    return CR_OK;
}

cr_code cr_layout_find(cr_layout *l, const cr_launch_flags *f, const cr_machine *m, cr_arena *a,
                       cr_err *err) {
    *l = (cr_layout){.min_nodes = 1,
                     .max_nodes = 1,
                     .nproc = 1,
                     .node_rank = -1,
                     .addr = NULL,
                     .port = CR_LAUNCH_PORT,
                     .run_id = f->rdzv_id ? f->rdzv_id : "none",
                     .join_s = 600,
                     .last_call_s = 30};
    CR_TRY(check_started(m, err));
    CR_TRY(node_shape(l, f, m, a, err));
    if ((int64_t)l->max_nodes * l->nproc > CR_LAUNCH_RANKS)
        return usage(
            err,
            "the job would have %lld ranks (%d on each of %d node%s), and %d are the most; "
            "give fewer with --nproc-per-node: --threads uses the other cores",
            (long long)l->max_nodes * l->nproc, l->nproc, l->max_nodes,
            l->max_nodes == 1 ? "" : "s", CR_LAUNCH_RANKS);
    CR_TRY(backend(GAVE(f, rdzv_backend), f->rdzv_backend, err));
    if (f->max_restarts)
        CR_TRY(number(GAVE(f, max_restarts), f->max_restarts, 0, 1000000, &l->max_restarts, err));
    if (f->rdzv_conf) CR_TRY(rdzv_conf(GAVE(f, rdzv_conf), f->rdzv_conf, l, err));
    if (f->master_addr) l->addr = f->master_addr;
    if (f->master_port)
        CR_TRY(number(GAVE(f, master_port), f->master_port, 1, 65535, &l->port, err));
    if (f->rdzv_endpoint && *f->rdzv_endpoint && !f->standalone)
        CR_TRY(endpoint(GAVE(f, rdzv_endpoint), f->rdzv_endpoint, a, l, err));
    if (!l->addr &&
        m->env("MASTER_ADDR")) { /* DLC and Kubeflow; torchrun's scripts export it too */
        l->addr = m->env("MASTER_ADDR");
        const char *port = m->env("MASTER_PORT");
        if (port && *port && !f->master_port)
            CR_TRY(number("MASTER_PORT", port, 1, 65535, &l->port, err));
    }
    l->standalone = l->max_nodes == 1;
    if (l->standalone) {
        l->is_head = true;
        l->addr = "127.0.0.1";
        return CR_OK;
    }
    if (!l->addr || !*l->addr)
        return usage(err,
                     "%d nodes must know where to meet; give --master_addr HOST (and "
                     "--master_port) of node 0, the same on all nodes",
                     l->max_nodes);
    if (l->port == 0)
        return usage(err, "port 0 means any port, and several nodes must know which; give "
                          "--master_port");
    if (l->servers > 0) return CR_OK;
    l->is_head = l->node_rank >= 0 ? l->node_rank == 0 : m->is_own(l->addr);
    return CR_OK;
}

char *cr_layout_text(const cr_layout *l, cr_arena *a) {
    char nodes[64];
    if (l->standalone)
        return cr_arena_printf(a, "%d rank%s on this machine, %s", l->nproc,
                               l->nproc == 1 ? "" : "s", l->because);
    if (l->min_nodes == l->max_nodes)
        snprintf(nodes, sizeof nodes, "%d", l->max_nodes);
    else
        snprintf(nodes, sizeof nodes, "%d to %d", l->min_nodes, l->max_nodes);
    char *which = l->node_rank >= 0 ? cr_arena_printf(a, "node %d", l->node_rank)
                                    : cr_arena_strdup(a, l->is_head ? "node 0" : "one of them");
    return cr_arena_printf(a,
                           "%s nodes with %d rank%s each, %s; this is %s, the nodes meet at %s:%d",
                           nodes, l->nproc, l->nproc == 1 ? "" : "s", l->because, which, l->addr,
                           l->port);
}

/* ---- this machine ---- */

static const char *own_env(const char *name) {
    return getenv(name);
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b) {
    if (a->sa_family != b->sa_family) return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr, 16) == 0;
}

static bool own_host(const char *host) {
    char name[256] = "";
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    struct ifaddrs *own = NULL;
    bool found = false;
    if (gethostname(name, sizeof name - 1) == 0 && strcmp(name, host) == 0) return true;
    if (getaddrinfo(host, NULL, &hints, &list) != 0) return false;
    if (getifaddrs(&own) == 0)
        for (const struct addrinfo *x = list; x && !found; x = x->ai_next)
            for (const struct ifaddrs *i = own; i && !found; i = i->ifa_next)
                found = i->ifa_addr && same_address(x->ai_addr, i->ifa_addr);
    if (own) freeifaddrs(own);
    freeaddrinfo(list);
    return found;
}

int cr_machine_gpus(void) {
    int n = 0;
    char path[32];
    for (int i = 0; i < 64; i++) {
        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        n += access(path, F_OK) == 0;
    }
    return n;
}

const cr_machine cr_machine_here = {.env = own_env, .is_own = own_host};
