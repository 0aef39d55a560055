/*
 * who.c - see who.h.
 */
#include "comm/who.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/self.h"

#define MAGIC 0x31684372u /* "rCh1" */
#define NAMED 3           /* so many ranks are named, the others are counted */

_Static_assert(sizeof(cr_who) == 256, "the first message between ranks never changes its size");

void cr_who_init(cr_who *w) {
    *w = (cr_who){.magic = MAGIC, .pid = (int32_t)getpid(), .n_cores = cr_cpu_count()};
    if (gethostname(w->host, sizeof w->host - 1) != 0) snprintf(w->host, sizeof w->host, "?");
    snprintf(w->version, sizeof w->version, "%s", CR_VERSION);
    char file[CR_SELF_MAX];
    if (!cr_self_file(file) || cr_digest_file(file, NULL, &w->program, NULL) != CR_OK)
        w->program = 0;
    cr_cpu_cores(w->cores, CR_WHO_CORES / 64);
}

cr_code cr_who_check(const cr_who *v, int n, cr_err *err) {
    char ranks[256];
    int first = 0;
    bool *other = cr_alloc((size_t)n * sizeof *other, "ranks");
    for (int r = n - 1; r > 0; r--) {
        other[r] = v[r].magic != MAGIC || strncmp(v[r].version, v[0].version, 24) != 0 ||
                   (v[r].program && v[0].program && v[r].program != v[0].program);
        if (other[r]) first = r;
    }
    cr_code code = CR_OK;
    for (int r = 0; r < n && code == CR_OK; r++)
        if (first == 0 && v[r].claim != 0 && v[r].claim != r + 1)
            code = cr_fail(err, CR_EUSAGE,
                           "two processes have the same role, of which one is on host %.63s; give "
                           "each trainer its own PADDLE_TRAINER_ID, and each server its own POD_IP "
                           "and PADDLE_PORT",
                           v[r].host);
    if (first > 0) {
        cr_who_text(v, n, other, ranks, sizeof ranks);
        code = cr_fail(err, CR_ECONF,
                       "%s: not the program of rank 0 (host %.63s) but another one: crank %.24s "
                       "(%08x) and not %.24s (%08x); install the same crank on all hosts",
                       ranks, v[0].host, v[first].version, (unsigned)(v[first].program >> 32),
                       v[0].version, (unsigned)(v[0].program >> 32));
    }
    cr_free(other);
    return code;
}

int cr_who_threads(const cr_who *v, int n, int self, int *n_local) {
    const cr_who *me = &v[self];
    double share = 0;
    int cores = 0;
    *n_local = 0;
    for (int r = 0; r < n; r++)
        *n_local += strncmp(v[r].host, me->host, sizeof me->host) == 0;
    for (int c = 0; c < CR_WHO_CORES; c++) {
        uint64_t bit = (uint64_t)1 << (c % 64);
        int users = 0;
        if (!(me->cores[c / 64] & bit)) continue;
        for (int r = 0; r < n; r++)
            users += strncmp(v[r].host, me->host, sizeof me->host) == 0 && v[r].cores[c / 64] & bit;
        share += 1.0 / users;
        cores++;
    }
    int threads = (int)(share + 1e-6);
    /* the cores are not known, or a container allows less than them to all its processes */
    if (cores == 0 || me->n_cores < cores) {
        int most = me->n_cores / *n_local;
        if (cores == 0 || most < threads) threads = most;
    }
    return threads < 1 ? 1 : threads;
}

void cr_who_text(const cr_who *v, int n, const bool *marked, char *out, size_t size) {
    int count = 0, at = 0, named = 0, hosts[NAMED] = {0}, n_hosts = 0;
    for (int r = 0; r < n; r++)
        count += marked[r];
    size_t k = (size_t)snprintf(out, size, "rank%s ", count == 1 ? "" : "s");
    for (; at < n && named < NAMED; at++) {
        if (!marked[at]) continue;
        if (k < size) k += (size_t)snprintf(out + k, size - k, "%s%d", named ? ", " : "", at);
        named++;
        int h = 0;
        while (h < n_hosts && strncmp(v[hosts[h]].host, v[at].host, sizeof v->host) != 0)
            h++;
        if (h == n_hosts) hosts[n_hosts++] = at;
    }
    if (count > named && k < size)
        k += (size_t)snprintf(out + k, size - k, " and %d more", count - named);
    for (int h = 0; h < n_hosts && k < size; h++)
        k += (size_t)snprintf(out + k, size - k, "%s%.63s",
                              h             ? ", "
                              : n_hosts > 1 ? " (hosts "
                                            : " (host ",
                              v[hosts[h]].host);
    if (n_hosts && k < size) snprintf(out + k, size - k, ")");
}
