/*
 * wrap_paddle.c - flags of Paddle's launchers, turned into those of `crank launch`.
 *
 *   crank fleetrun --workers="a:6170,b:6170" --servers="a:6171,b:6171" tools/static_ps_trainer.py
 * ... crank python -m paddle.distributed.launch --ips="a,b" --gpus 0,1 tools/trainer.py ...
 *
 * The lists name the hosts of a job; the same command runs on each of them. So the number of hosts
 * is --nnodes, the first host is where the nodes meet, and what a host has of a list is its number
 * of ranks. These go into torchrun's variables (PET_NNODES and the like), because the words of a
 * command line can become fewer here, not more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define usage(err, ...) cr_fail((err), CR_EUSAGE, __VA_ARGS__)
enum { MAX_HOSTS = 1024 };

/* Hosts of a list, in order, and how often each stands in it. */
typedef struct hosts {
    char name[MAX_HOSTS][128];
    int count[MAX_HOSTS];
    int n;
    char port[16]; /* of the first entry */
} hosts;

static cr_code read_hosts(hosts *h, const char *flag, const char *text, cr_err *err) {
    h->n = 0;
    h->port[0] = 0;
    for (const char *s = text; *s; s += strcspn(s, ","), s += *s == ',') {
        size_t n = strcspn(s, ","), k = strcspn(s, ":,");
        if (k == 0 || k >= sizeof h->name[0])
            return usage(err, "crank launch: %s is '%.80s' and must be hosts with commas", flag,
                         text);
        if (s == text && k < n && n - k - 1 < sizeof h->port)
            snprintf(h->port, sizeof h->port, "%.*s", (int)(n - k - 1), s + k + 1);
        int at = 0;
        while (at < h->n && (strlen(h->name[at]) != k || memcmp(h->name[at], s, k) != 0))
            at++;
        if (at == MAX_HOSTS)
            return usage(err, "crank launch: %s names more than %d hosts", flag, MAX_HOSTS);
        if (at == h->n) {
            snprintf(h->name[at], sizeof h->name[at], "%.*s", (int)k, s);
            h->count[h->n++] = 0;
        }
        h->count[at]++;
    }
    for (int i = 1; i < h->n; i++)
        if (h->count[i] != h->count[0])
            return usage(err,
                         "crank launch: %s gives host %s %d and host %s %d; give each the same "
                         "number",
                         flag, h->name[0], h->count[0], h->name[i], h->count[i]);
    return h->n ? CR_OK : usage(err, "crank launch: %s names no host", flag);
}

static cr_code put(const char *name, const char *value, cr_err *err) {
    return setenv(name, value, 0) == 0
               ? CR_OK
               : cr_fail(err, CR_ERUN, "crank: cannot set %s in the environment", name);
}

/* Where the nodes of a job meet. */
static cr_code put_nodes(const hosts *h, cr_err *err) {
    char n[16];
    if (h->n < 2) return CR_OK;
    snprintf(n, sizeof n, "%d", h->n);
    CR_TRY(put("PET_NNODES", n, err));
    CR_TRY(put("PET_MASTER_ADDR", h->name[0], err));
    return h->port[0] ? put("PET_MASTER_PORT", h->port, err) : CR_OK;
}

/* Takes n words at i out: those before it move towards the end. */
static void take_out(char **argv, int *first, int i, int n) {
    memmove(argv + *first + n, argv + *first, (size_t)(i - *first) * sizeof *argv);
    *first += n;
}

/* The value of a flag that is given as --name=value or --name value; words: how many these are.
 * NULL: argv[i] is another flag. */
static const char *value_of(int argc, char **argv, int i, const char *name, int *words) {
    size_t n = strlen(name);
    const char *s = argv[i];
    if (strncmp(s, "--", 2) != 0 || strncmp(s + 2, name, n) != 0) return NULL;
    *words = s[2 + n] == '=' ? 1 : 2;
    if (s[2 + n] == '=') return s + 3 + n;
    return !s[2 + n] && i + 1 < argc ? argv[i + 1] : NULL;
}

/* A flag of fleetrun that is a number for crank launch, and was a list of hosts. */
static cr_code ranks_of_list(char **argv, int *first, int i, int words, const char *flag,
                             const char *text, char *word, size_t size, cr_err *err) {
    static hosts h;
    CR_TRY(read_hosts(&h, flag, text, err));
    CR_TRY(put_nodes(&h, err));
    snprintf(word, size, "--%s=%d", strcmp(flag, "--servers") == 0 ? "ps" : "workers", h.count[0]);
    argv[i + words - 1] = word;
    if (words > 1) take_out(argv, first, i, 1);
    return CR_OK;
}

/* Is argv[i] one of these flags? */
static const char *one_of(const char *const *names, int argc, char **argv, int i, int *words) {
    const char *v = NULL;
    for (; *names && !v; names++)
        v = value_of(argc, argv, i, *names, words);
    return v;
}

/* Reads the flag at i; words: how many words it was. */
static cr_code one_flag(int argc, char **argv, int *first, int i, int *words, cr_err *err) {
    static char workers[32], servers[32], ranks[40];
    static hosts h;
    static const char *const gpus[] = {"gpus", "devices", "selected_gpus", NULL};
    /* ports and modes of Paddle's own processes */
    static const char *const idle[] = {"started_port", "start_port",    "http_port",
                                       "run_mode",     "heter_workers", NULL};
    const char *v = value_of(argc, argv, i, "workers", words);
    if (v && strspn(v, "0123456789") != strlen(v))
        return ranks_of_list(argv, first, i, *words, "--workers", v, workers, sizeof workers, err);
    if ((v = value_of(argc, argv, i, "servers", words)) != NULL)
        return ranks_of_list(argv, first, i, *words, "--servers", v, servers, sizeof servers, err);
    if ((v = value_of(argc, argv, i, "ips", words)) != NULL) {
        CR_TRY(read_hosts(&h, "--ips", v, err));
        CR_TRY(put_nodes(&h, err));
        take_out(argv, first, i, *words);
    } else if ((v = one_of(gpus, argc, argv, i, words)) != NULL) { /* a process per GPU */
        int n = 1;
        for (const char *c = v; *c; c++)
            n += *c == ',';
        snprintf(ranks, sizeof ranks, "--nproc-per-node=%d", n);
        argv[i + *words - 1] = ranks;
        if (*words > 1) take_out(argv, first, i, 1);
    } else if (one_of(idle, argc, argv, i, words)) {
        take_out(argv, first, i, *words);
    } else { /* a flag of crank launch, perhaps with its value */
        bool value = !strchr(argv[i], '=') && i + 1 < argc && argv[i + 1][0] != '-' &&
                     !strstr(argv[i + 1], ".py");
        *words = value ? 2 : 1;
    }
    return CR_OK;
}

cr_code cr_wrap_paddle(int argc, char **argv, int *first, cr_err *err) {
    for (int i = *first, n; i < argc && argv[i][0] == '-'; i += n)
        CR_TRY(one_flag(argc, argv, first, i, &n, err));
    return CR_OK;
}

void cr_wrap_bf16(int argc, char **argv, int *first) {
    static char flag[] = "--bf16";
    for (int i = *first; i + 1 < argc; i++) {
        if (strcmp(argv[i], "-bf16") != 0 && strcmp(argv[i], "--bf16") != 0) continue;
        bool on = strcmp(argv[i + 1], "True") == 0 || strcmp(argv[i + 1], "true") == 0;
        bool off = strcmp(argv[i + 1], "False") == 0 || strcmp(argv[i + 1], "false") == 0;
        if (!on && !off) continue;
        argv[i + 1] = flag;
        take_out(argv, first, i, on ? 1 : 2);
        return;
    }
}
