/*
 * ps_lost.c - see ps_int.h: workers that are lost inside a round.
 *
 * The launcher tells every process of it. Servers then answer that worker no more; where the round
 * ends, the first server says who was lost (END), so that all that are left agree on it, and calls
 * of all ranks leave the lost ones out from then on.
 */
#include <string.h>

#include "base/log.h"
#include "train/ps_int.h"

cr_code cr_ps_note_lost(cr_ps *p, int *seen, void (*mark)(cr_ps *p, int worker), cr_err *err) {
    int rank;
    while ((rank = p->mail->lost(p->mail->ctx, *seen)) >= 0) {
        ++*seen;
        if (rank >= p->meet->n || p->meet->serves[rank])
            return cr_fail(err, CR_ERUN, "the parameter server of rank %d was lost", rank);
        mark(p, p->index[rank]);
    }
    if (*seen < p->n_workers) return CR_OK;
    return cr_fail(err, CR_ERUN, "all workers were lost");
}

void cr_ps_read_end(cr_ps *p, const ps_box *b) {
    ps_head h;
    memcpy(&h, b->mem, sizeof h);
    p->n_lost = (int)h.count;
    p->took_over = h.takes > 0;
    if (p->n_lost == 0) return;
    p->lost = CR_NEW_N(&p->arena, cr_take, p->n_lost);
    memcpy(p->lost, b->mem + sizeof h, (size_t)p->n_lost * sizeof *p->lost);
    int *ranks = CR_NEW_N(&p->arena, int, p->n_lost);
    for (int i = 0; i < p->n_lost; i++)
        ranks[i] = (int)p->lost[i].holder;
    cr_comm_without(p->j->comm, ranks, p->n_lost);
    /* the first rank that is left speaks for all */
    if (cr_job_is_first(p->j)) cr_log_set_level(CR_LOG_INFO);
}

void cr_ps_tell_lost(const cr_ps *p) {
    for (int i = 0; i < p->n_lost; i++) {
        const cr_take *x = &p->lost[i];
        int64_t n = x->to - x->from + 1;
        if (n <= 0)
            CR_WARN("worker %d (rank %d) was lost; its rows of the round had been trained",
                    p->index[x->holder], (int)x->holder);
        else
            CR_WARN("worker %d (rank %d) was lost; its rows of %lld steps, %lld to %lld, %s",
                    p->index[x->holder], (int)x->holder, (long long)n, (long long)x->from,
                    (long long)x->to,
                    p->took_over ? "were trained by the others"
                                 : "are lost (train_config.servers.lost_worker)");
    }
}
