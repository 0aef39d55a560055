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
                sum += row * (double)(t->placing->shards[k].end - t->placing->shards[k].row);
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

void cr_job_check_servers(const cr_job *j, cr_diag *diag) {
    const cr_servers_conf *c = j->root->train_config->servers;
    if (!c || (j->meet && j->meet->serves)) return;
    cr_diag_add(diag, CR_SEV_ERROR, CR_EUSAGE, cr_conf_at(c, "strategy"),
                "the strategy '%s' is one of parameter servers, and no rank is a server; start the "
                "training with 'crank launch --ps N --workers M -- train ...', or remove "
                "train_config.servers",
                c->strategy);
}
