/*
 * dump.c - when the rows that changed are dumped (delta_embedding_dump_config; train/delta.h writes
 * them): behind a step, before its checkpoint, and once more when training ends.
 */
#include "base/cpu.h"
#include "comm/comm.h"
#include "run/loop_int.h"

void cr_loop_check_dump(loop *l) {
    const cr_delta_conf *c = l->tc->delta_embedding_dump_config;
    int64_t saves = l->tc->save_checkpoints_epochs > 0 ? 0 : l->tc->save_checkpoints_steps;
    l->dumped = -1;
    if (!c) return;
    if (c->dump_interval_minutes == 0 && saves > 0 && saves % c->dump_interval_steps != 0)
        cr_diag_add(l->diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "dump_interval_steps"),
                    "checkpoints are saved every %lld steps and dumps made every %lld: when a "
                    "killed run goes on from a checkpoint, rows that changed between the last dump "
                    "and it are in no dump; make save_checkpoints_steps a multiple of "
                    "dump_interval_steps",
                    (long long)saves, (long long)c->dump_interval_steps);
    l->next_dump = cr_now() + 60 * (double)c->dump_interval_minutes;
}

static cr_code dump(loop *l) {
    cr_err err;
    if (cr_trainer_dump(l->t, l->step, &err) != CR_OK) return cr_diag_err(l->diag, &err);
    l->dumped = l->step;
    return CR_OK;
}

cr_code cr_loop_dump(loop *l) {
    const cr_delta_conf *c = l->tc->delta_embedding_dump_config;
    if (!c) return CR_OK;
    if (c->dump_interval_minutes == 0) return dumps_at(l->tc, l->step) ? dump(l) : CR_OK;
    double now = cr_now();
    char due = now >= l->next_dump; /* the first rank's clock decides */
    if (l->j.comm) cr_comm_share(l->j.comm, &due, sizeof due, 0);
    if (!due) return CR_OK;
    while (l->next_dump <= now) /* dumps that were missed are not made up for */
        l->next_dump += 60 * (double)c->dump_interval_minutes;
    return dump(l);
}

cr_code cr_loop_dump_last(loop *l) {
    bool due = l->tc->delta_embedding_dump_config && l->res->steps > 0;
    return due && l->dumped != l->step ? dump(l) : CR_OK;
}
