/*
 * role.c - see role.h. The variables are those of Paddle 1.7 to 2.x. A server finds its number by
 * its own address in the list of all servers.
 */
#include "comm/role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"

#define MOST         1000000
#define LIST         "PADDLE_PSERVERS_IP_PORT_LIST"
#define wrong(...)   cr_fail(err, CR_EUSAGE, __VA_ARGS__)
#define is_set(text) ((text) && *(text))

typedef const char *env_fn(const char *name);

static const char *own_env(const char *name) {
    return getenv(name);
}

static cr_code number(env_fn *env, const char *name, int64_t lo, int64_t hi, int *out,
                      cr_err *err) {
    const char *text = env(name);
    int64_t n;
    if (!is_set(text))
        return wrong("the environment gives this process a role (TRAINING_ROLE) and does not set "
                     "%s; the platform sets both, so unset TRAINING_ROLE to run without servers",
                     name);
    if (!cr_parse_i64(text, strlen(text), &n) || n < lo || n > hi)
        return wrong("the environment variable %s is '%.60s' and must be a number from %lld to "
                     "%lld",
                     name, text, (long long)lo, (long long)hi);
    *out = (int)n;
    return CR_OK;
}

/* Cuts "ip:port" off a list; false: the item is none. */
static bool next_item(const char **at, char host[256], int *port) {
    size_t n = strcspn(*at, ",");
    const char *colon = NULL;
    int64_t p;
    for (size_t i = 0; i < n; i++)
        if ((*at)[i] == ':') colon = *at + i;
    if (!colon || colon == *at || colon - *at > 255 ||
        !cr_parse_i64(colon + 1, n - (size_t)(colon + 1 - *at), &p) || p < 1 || p > 65535)
        return false;
    snprintf(host, 256, "%.*s", (int)(colon - *at), *at);
    *port = (int)p;
    *at += n;
    *at += **at == ',';
    return true;
}

/* Reads the list of servers; a server's own number is where it finds itself. */
static cr_code read_list(cr_role *r, env_fn *env, const char *list, cr_err *err) {
    const char *ip = env("POD_IP"), *port = env("PADDLE_PORT");
    char host[256];
    int at, found = -1, times = 0;
    for (const char *p = list; *p; r->servers++) {
        if (!next_item(&p, host, &at))
            return wrong("%s of the environment is '%.200s' and must be ip:port,ip:port,... of all "
                         "parameter servers",
                         LIST, list);
        if (r->servers == 0) {
            memcpy(r->host, host, sizeof host);
            r->port = at;
        }
        char text[16];
        snprintf(text, sizeof text, "%d", at);
        if (is_set(ip) && is_set(port) && strcmp(ip, host) == 0 && strcmp(port, text) == 0) {
            found = r->servers;
            times++;
        }
    }
    if (!r->serves) return CR_OK;
    if (times > 1) return wrong("%s of the environment has %s:%s more than once", LIST, ip, port);
    if (found < 0 && !(r->servers == 1 && !is_set(ip)))
        return wrong("this process is a parameter server at %s:%s (POD_IP and PADDLE_PORT), which "
                     "is not in %s of the environment, '%.200s'",
                     is_set(ip) ? ip : "?", is_set(port) ? port : "?", LIST, list);
    r->index = found < 0 ? 0 : found;
    return CR_OK;
}

cr_code cr_role_find(cr_role *out, env_fn *env, cr_err *err) {
    static const char *const names[] = {"TRAINING_ROLE", "PADDLE_TRAINING_ROLE"};
    if (!env) env = own_env;
    const char *list = env(LIST), *role = NULL, *name = NULL;
    *out = (cr_role){0};
    for (int i = 0; i < 2 && !role; i++)
        if (is_set(env(names[i]))) role = env(name = names[i]);
    if (!role) return CR_OK;
    out->serves = strcasecmp(role, "PSERVER") == 0;
    if (!out->serves && strcasecmp(role, "TRAINER") != 0)
        return wrong("%s of the environment is '%.40s' and must be PSERVER or TRAINER", name, role);
    if (!is_set(list)) {
        if (!out->serves) return CR_OK;
        return wrong("the environment makes this process a parameter server (%s=%s) and does not "
                     "set %s, the ip:port of all servers; the platform sets both",
                     name, role, LIST);
    }
    CR_TRY(number(env, "PADDLE_TRAINERS_NUM", 1, MOST, &out->workers, err));
    if (!out->serves)
        CR_TRY(number(env, "PADDLE_TRAINER_ID", 0, out->workers - 1, &out->index, err));
    CR_TRY(read_list(out, env, list, err));
    out->because = name;
    out->given = true;
    return CR_OK;
}

cr_code cr_role_by_rank(cr_role *out, env_fn *env, int rank, int size, cr_err *err) {
    static const char type[] = "PADDLEREC_CLUSTER_TYPE";
    const char *text = env ? env(type) : own_env(type);
    *out = (cr_role){0};
    if (!is_set(text) || strcasecmp(text, "MPI") != 0) return CR_OK;
    if (size % 2 != 0)
        return wrong("%s=%s makes even ranks parameter servers and odd ranks trainers, and there "
                     "are %d ranks; start two on each node (mpirun -npernode 2), or unset it",
                     type, text, size);
    *out = (cr_role){.given = true,
                     .serves = rank % 2 == 0,
                     .index = rank / 2,
                     .servers = size / 2,
                     .workers = size / 2,
                     .because = type};
    return CR_OK;
}

int cr_role_rank(const cr_role *r) {
    return r->serves ? r->workers + r->index : r->index;
}
