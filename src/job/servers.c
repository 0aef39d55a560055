/*
 * servers.c - where the tables lie when some ranks are parameter servers (docs/design/servers.md).
 *
 * The rule is Paddle's: a table is cut by rows into as many blocks as there are servers, but into
 * none with fewer than BLOCK elements, and the blocks of all tables are dealt to the servers in
 * turn. Dense parameters are cut elsewhere (train/dense.c). Results do not depend on the placing.
 */
#include <string.h>

#include "base/buf.h"
#include "base/cpu.h"
#include "base/log.h"
#include "job/placing.h"

/* the least elements of a block, Paddle's min_block_size */
#define BLOCK 8192

/* Cuts one table; *turn is the number of blocks of all tables so far. */
static cr_placing *cut(cr_arena *a, const cr_model_table *t, const int *servers, int n, int *turn) {
    int64_t most = cr_mul_i64(t->n_rows, t->D) / BLOCK;
    int64_t blocks = most < 1 ? 1 : most < n ? most : n;
    int64_t rows = (t->n_rows + blocks - 1) / blocks;
    cr_placing *p = CR_NEW(a, cr_placing);
    *p = (cr_placing){.kind = CR_ROW_WISE, .shards = CR_NEW_N(a, cr_shard, blocks)};
    for (int64_t row = 0; row < t->n_rows; row += rows)
        p->shards[p->n++] = (cr_shard){.holder = servers[(*turn)++ % n],
                                       .row = row,
                                       .end = row + rows < t->n_rows ? row + rows : t->n_rows,
                                       .col_end = t->D};
    if (p->n == 1) p->kind = CR_TABLE_WISE;
    return p;
}

/* Bytes of the tables that lie with a holder. */
static double bytes_of(const cr_job *j, int holder) {
    double sum = 0;
    for (int i = 0; i < j->model->n_tables; i++) {
        const cr_model_table *t = j->model->tables[i];
        const cr_optim_type *o = t->optim ? t->optim : j->mo.optim;
        double row = 4 * (double)cr_table_stride(t->D, t->half, t->trainable ? o : NULL);
        for (int k = 0; t->placing && k < t->placing->n; k++)
            if (t->placing->shards[k].holder == holder)
                sum += cr_job_grows(j, t)
                           ? (row + (double)cr_model_map_bytes(t, 1)) * (double)t->n_rows /
                                 t->placing->n
                           : row * (double)(t->placing->shards[k].end - t->placing->shards[k].row);
    }
    return sum;
}

/* Says on a server whose memory is too small that it is, before anything is allocated. */
static cr_code check_memory(const cr_job *j, int n, cr_diag *diag) {
    const char *who;
    char need[32], have[32];
    double own = bytes_of(j, j->meet->self);
    if (!j->comm || !j->meet->serves[j->meet->self]) return CR_OK;
    double room = (double)cr_mem_room(&who) * (1 - cr_job_reserve());
    if (own <= room) return CR_OK;
    cr_diag_add(diag, CR_SEV_ERROR, CR_ENOMEM, CR_NOWHERE,
                "the tables of this server need %s and it may use %s (%s); start more than %d "
                "servers (--ps), on more machines, or use rowwise_adagrad_optimizer or data_type: "
                "FP16 for tables",
                cr_fmt_bytes(need, own), cr_fmt_bytes(have, room), who, n);
    return CR_ENOMEM;
}

cr_code cr_job_server_placings(cr_job *j, cr_diag *diag) {
    cr_arena *a = &j->cfg.arena;
    int *servers = CR_NEW_N(a, int, j->meet->n), n = cr_meet_keepers(j->meet, servers), turn = 0;
    double most = 0;
    char text[32];
    for (int i = 0; i < j->model->n_tables; i++) {
        cr_model_table *t = j->model->tables[i];
        if (cr_job_grows(j, t)) {
            t->placing = cr_model_grown_placing(a, t, servers, n);
            continue;
        }
        t->placing = cut(a, t, servers, n, &turn);
        if (cr_placing_check(t->placing, t->n_rows, t->D, j->meet->n)) CR_BUG("a wrong placing");
    }
    for (int k = 0; k < n; k++)
        if (bytes_of(j, servers[k]) > most) most = bytes_of(j, servers[k]);
    CR_INFO(
        "%d tables in %d blocks on %d server%s, which %d worker%s use%s; at most %s on a server",
        j->model->n_tables, turn, n, n == 1 ? "" : "s", j->meet->n - n,
        j->meet->n - n == 1 ? "" : "s", j->meet->n - n == 1 ? "s" : "", cr_fmt_bytes(text, most));
    return check_memory(j, n, diag);
}

bool cr_job_is_sgd(const cr_job *j) {
    const cr_rules *all[] = {&j->tables, &j->dense};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < all[i]->n; k++)
            if (all[i]->v[k].members > 0 && strcmp(all[i]->v[k].type->name, "sgd") != 0)
                return false;
    return true;
}

static void refuse(const cr_job *j, const void *conf, const char *key, const char *what,
                   cr_diag *diag) {
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf, key),
                "%s, and with strategy %s no step has all workers; remove it, or use --strategy "
                "sync",
                what, cr_strategy_names[j->strategy]);
}

/* Is this SGD without momentum, which keeps nothing from step to step? */
static bool is_plain(const cr_rule *r) {
    const cr_conf_base *conf = r->optim->conf;
    const cr_field *f = conf && conf->msg ? cr_msg_field(conf->msg, "momentum") : NULL;
    if (strcmp(r->type->name, "sgd") != 0) return false;
    return !f || *(const double *)(const void *)((const char *)conf + f->offset) == 0;
}

/* Rules that a strategy cannot have. */
static void check_rules(const cr_job *j, const cr_rules *rules, const char *key, cr_diag *diag) {
    cr_loc at = cr_conf_at(j->root->train_config, key);
    for (int k = 0; k < rules->n; k++) {
        const cr_optim_type *o = rules->v[k].type;
        if (rules->v[k].members == 0) continue;
        if (o->every_row)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                        "the optimizer %s moves every row of a table in each step, which a server "
                        "would do for each gradient of strategy %s; use mode: LAZY, or --strategy "
                        "sync",
                        o->name, cr_strategy_names[j->strategy]);
        else if (j->strategy == CR_GEO && !is_plain(&rules->v[k]))
            cr_diag_add(
                diag, CR_SEV_ERROR, CR_ECONF, at,
                "strategy geo trains on the workers and servers keep no optimizer state, so "
                "the optimizer must be sgd_optimizer, for dense parameters with momentum: 0, "
                "and it is %s; change it, or use --strategy async",
                o->name);
    }
}

static void check_free(const cr_job *j, const cr_servers_conf *c, cr_diag *diag) {
    const cr_train_conf *tc = j->root->train_config;
    check_rules(j, &j->tables, "sparse_optimizer", diag);
    check_rules(j, &j->dense, "dense_optimizer", diag);
    if (cr_grad_clip(tc->grad_clipping) != CR_CLIP_NONE)
        refuse(j, tc, "grad_clipping", "grad_clipping limits the gradients of a step", diag);
    if (tc->grad_scaler)
        refuse(j, tc, "grad_scaler", "grad_scaler looks at all gradients of a step", diag);
    if (tc->gradient_accumulation_steps > 1)
        refuse(j, tc, "gradient_accumulation_steps",
               "gradient_accumulation_steps counts the batches of a step", diag);
    if (tc->refeed_steps > 0)
        refuse(j, tc, "refeed_steps", "refeed_steps makes steps with the outputs of a step", diag);
    if (tc->dense_optimizer->ema)
        refuse(j, tc->dense_optimizer, "ema", "ema averages the parameters of steps", diag);
    if (j->root->model_config->use_pareto_loss_weight)
        refuse(j, j->root->model_config, "use_pareto_loss_weight",
               "use_pareto_loss_weight weighs the losses of a step", diag);
    for (int i = 0; i < j->model->n_tables; i++)
        if (j->model->tables[i]->owner->zch) {
            refuse(j, c, "strategy", "zch looks at the ids of a step", diag);
            break;
        }
    if (tc->is_profiling)
        refuse(j, tc, "is_profiling", "is_profiling shows the steps of all ranks side by side",
               diag);
    for (int i = 0; j->strategy == CR_GEO && i < j->model->n_tables; i++)
        if (j->model->tables[i]->half)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "strategy"),
                        "strategy geo sends differences of 32 bits, and table '%s' has weights of "
                        "16; leave out its data_type, or use --strategy async",
                        j->model->tables[i]->short_name);
    if (j->strategy == CR_ASYNC && cr_conf_has(c, "is_sgd_optimizer") && c->is_sgd_optimizer &&
        c->max_merge_var_num > 1 && !cr_job_is_sgd(j))
        cr_diag_add(
            diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "is_sgd_optimizer"),
            "is_sgd_optimizer adds up to %lld gradients up, and not all optimizers are SGD; "
            "remove it to take their mean",
            (long long)c->max_merge_var_num);
    if (j->strategy == CR_ASYNC && c->independent_recv_thread && tc->num_steps > 0 &&
        c->min_send_grad_num_before_recv >= tc->num_steps)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "min_send_grad_num_before_recv"),
                    "min_send_grad_num_before_recv is %lld, and a worker sends no more than %lld "
                    "gradients in num_steps steps, so it would never receive dense parameters; "
                    "lower it",
                    (long long)c->min_send_grad_num_before_recv, (long long)tc->num_steps);
}

void cr_job_check_servers(const cr_job *j, cr_diag *diag) {
    const cr_servers_conf *c = j->root->train_config->servers;
    if (j->strategy != CR_SYNC) check_free(j, c, diag);
    if (!c || !cr_conf_has(c, "strategy") || (j->meet && j->meet->serves)) return;
    cr_diag_add(diag, CR_SEV_ERROR, CR_EUSAGE, cr_conf_at(c, "strategy"),
                "the strategy '%s' is one of parameter servers, and no rank is a server; start the "
                "training with 'crank launch --ps N --workers M -- train ...', or remove "
                "train_config.servers",
                c->strategy);
}
