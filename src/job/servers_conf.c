/*
 * servers_conf.c - train_config.servers: how workers and parameter servers work together. Names and
 * meaning are those of Paddle's communicator (FLAGS_communicator_...), defaults those of its 2.x
 * strategy object; push_num and max_send_grad_num_before_recv are older names.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "job/config.h"

const char *const cr_strategy_names[] = {
    [CR_SYNC] = "sync", [CR_HALF_ASYNC] = "half_async", [CR_ASYNC] = "async", [CR_GEO] = "geo"};

int cr_strategy_find(const char *name) {
    for (int i = 0; i < CR_STRATEGIES; i++)
        if (strcmp(cr_strategy_names[i], name) == 0) return i;
    return -1;
}

/* ---- the flags of Paddle's communicator ---- */

static const struct {
    const char *flag, *key;
    bool is_bool;
} flags[] = {
    {"FLAGS_communicator_max_merge_var_num", "max_merge_var_num", false},
    {"FLAGS_communicator_send_queue_size", "send_queue_size", false},
    {"FLAGS_communicator_send_wait_times", "send_wait_times", false},
    /* the name before Paddle 1.6, which backend.yaml still has; the later one wins */
    {"FLAGS_communicator_max_send_grad_num_before_recv", "min_send_grad_num_before_recv", false},
    {"FLAGS_communicator_min_send_grad_num_before_recv", "min_send_grad_num_before_recv", false},
    {"FLAGS_communicator_independent_recv_thread", "independent_recv_thread", true},
    {"FLAGS_communicator_is_sgd_optimizer", "is_sgd_optimizer", true},
    {"FLAGS_communicator_merge_sparse_grad", "merge_sparse_grad", true},
    {"FLAGS_communicator_fake_rpc", "fake_rpc", true},
    {"FLAGS_rpc_deadline", "rpc_deadline", false},
    {"FLAGS_rpc_retry_times", "rpc_retry_times", false},
    {"FLAGS_worker_update_interval_secs", "worker_update_interval_secs", false},
};

int cr_servers_flags(cr_arena *a, const char ***out) {
    int n = 0;
    *out = CR_NEW_N(a, const char *, sizeof flags / sizeof *flags);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const char *v = getenv(flags[i].flag);
        if (!v || !*v) continue;
        if (flags[i].is_bool)
            v = strcmp(v, "1") == 0 || strcasecmp(v, "true") == 0    ? "true"
                : strcmp(v, "0") == 0 || strcasecmp(v, "false") == 0 ? "false"
                                                                     : v;
        (*out)[n++] = cr_arena_printf(a, "train_config.servers.%s=%s", flags[i].key, v);
    }
    return n;
}

#define OURS                      CR_F_OURS
#define INT(f, def, lo, hi, help) CR_INT(cr_servers_conf, f, def, lo, hi, OURS, help)
#define BOOL(f, def, help)        CR_BOOL(cr_servers_conf, f, def, OURS, help)
#define NONE                      "letters go by MPI, which needs no such number"
static const cr_field servers_fields[] = {
    CR_STR(
        cr_servers_conf, strategy, "sync", OURS,
        "sync: one step of all workers at a time, with the bytes of one process; half_async: each "
        "worker waits for its own gradients only; async: for none; geo: workers train by "
        "themselves and send differences"),
    INT(max_merge_var_num, 1, 1, 1000, "async: gradients that are merged before they are sent"),
    INT(send_queue_size, 16, 1, 1000,
        "async: gradients that wait to be sent; a full queue stops the worker"),
    INT(send_wait_times, 1, 0, 1000000,
        "async: how often merging waits 10 ms for one more gradient before it goes on"),
    INT(min_send_grad_num_before_recv, 1, 0, 1000000,
        "async with independent_recv_thread: dense parameters are received when more than so many "
        "gradients were sent"),
    CR_ALIAS("max_send_grad_num_before_recv", CR_T_INT, OURS, "min_send_grad_num_before_recv"),
    BOOL(independent_recv_thread, false,
         "async: dense parameters are received beside the sending, else after each sending"),
    BOOL(
        is_sgd_optimizer, true,
        "async: merged gradients are added up, else their mean is taken; not given: added up where "
        "all optimizers are SGD"),
    BOOL(merge_sparse_grad, true, "async: gradients of equal ids are merged before they are sent"),
    BOOL(fake_rpc, false,
         "half_async, async: nothing is sent or received, to measure the computing alone; nothing "
         "is learned"),
    INT(k_steps, 100, 1, 1000000000, "geo: batches of a worker between two differences"),
    CR_ALIAS("push_num", CR_T_INT, OURS, "k_steps"),
    INT(rpc_deadline, 180000, 1, 1000000000, "milliseconds that a worker waits for an answer"),
    INT(rpc_retry_times, 3, 1, 1000, "how often it waits so long before it ends the job"),
    INT(worker_update_interval_secs, 900, 1, 1000000000,
        "seconds of silence after which a server gives a worker up and ends the job"),
    CR_STR(cr_servers_conf, lost_worker, "take_over", OURS,
           "a worker that is killed or stalls, except in sync: take_over: the others go on and "
           "train its rows; report: they go on, and its rows are lost; end: the job ends"),
    CR_K_INT("thread_pool_size", 1, 1, 1000000, OURS | CR_F_IDLE, NONE),
    CR_K_INT("merge_sparse_bucket", 2000, 1, 1000000000, OURS | CR_F_IDLE, NONE),
    CR_END,
};

static void servers_check(const void *self, cr_diag *diag) {
    const cr_servers_conf *c = self;
    int s = cr_strategy_find(c->strategy);
    if (s < 0) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "strategy"),
                    "unknown strategy '%s'; use sync, half_async, async or geo", c->strategy);
        return;
    }
    if (c->max_merge_var_num != 1 && (s == CR_SYNC || s == CR_HALF_ASYNC))
        cr_diag_add(
            diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "max_merge_var_num"),
            "max_merge_var_num is %lld, and with strategy %s it must be the number of "
            "batches that a worker computes at a time, which is 1: more would be waited for "
            "for ever; remove it, and raise data_config.batch_size for larger steps",
            (long long)c->max_merge_var_num, c->strategy);
    if (strcmp(c->lost_worker, "take_over") != 0 && strcmp(c->lost_worker, "report") != 0 &&
        strcmp(c->lost_worker, "end") != 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "lost_worker"),
                    "lost_worker is '%.40s' and must be take_over, report or end", c->lost_worker);
    if (s == CR_SYNC && cr_conf_has(c, "lost_worker") && strcmp(c->lost_worker, "end") != 0)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "lost_worker"),
                    "lost_worker has no effect with strategy sync, whose steps need all workers: "
                    "the loss of one ends the job, or begins it again from the last checkpoint; "
                    "remove it");
    if (c->fake_rpc && (s == CR_SYNC || s == CR_GEO))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "fake_rpc"),
                    "fake_rpc leaves out the letters of half_async and async, and the strategy is "
                    "%s; remove it, or measure with --strategy async",
                    c->strategy);
    static const char *const of_async[] = {
        "send_queue_size",         "send_wait_times",  "min_send_grad_num_before_recv",
        "independent_recv_thread", "is_sgd_optimizer", "merge_sparse_grad"};
    for (size_t i = 0; s != CR_ASYNC && i < sizeof of_async / sizeof *of_async; i++)
        if (cr_conf_has(c, of_async[i]))
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, of_async[i]),
                        "%s belongs to strategy async and has no effect with %s; remove it",
                        of_async[i], c->strategy);
    if (s != CR_GEO && cr_conf_has(c, "k_steps"))
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "k_steps"),
                    "k_steps belongs to strategy geo and has no effect with %s; remove it",
                    c->strategy);
}

const cr_msg cr_servers_msg = {
    .name = "ServersConfig",
    .help = "Training with parameter servers",
    .fields = servers_fields,
    .size = sizeof(cr_servers_conf),
    .check = servers_check,
};
