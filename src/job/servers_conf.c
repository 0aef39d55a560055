/*
 * servers_conf.c - train_config.servers: how workers and parameter servers work together.
 */
#include <string.h>

#include "job/config.h"

const char *const cr_strategy_names[] = {[CR_SYNC] = "sync"};

int cr_strategy_find(const char *name) {
    for (int i = 0; i < CR_STRATEGIES; i++)
        if (strcmp(cr_strategy_names[i], name) == 0) return i;
    return -1;
}

static const cr_field servers_fields[] = {
    CR_STR(cr_servers_conf, strategy, "sync", CR_F_OURS,
           "sync: one step of all workers at a time, with the bytes of one process"),
    CR_END,
};

static void servers_check(const void *self, cr_diag *diag) {
    const cr_servers_conf *c = self;
    if (cr_strategy_find(c->strategy) < 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "strategy"),
                    "unknown strategy '%s'; use sync", c->strategy);
}

const cr_msg cr_servers_msg = {
    .name = "ServersConfig",
    .help = "Training with parameter servers",
    .fields = servers_fields,
    .size = sizeof(cr_servers_conf),
    .check = servers_check,
};
