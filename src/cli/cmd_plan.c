/*
 * cmd_plan.c - `crank plan`: prints which rank would hold which table, and the memory and the time
 * of each rank.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/grid.h"

#define MOST_TABLES 40 /* lines of tables that are shown */
#define MOST_RANKS  16
#define LEAST_BARE  1e6 /* a smaller size without a unit has lost it */

typedef struct args {
    cr_config_flags config;
    int64_t nnodes, nproc_per_node, cores, batch_size, sample_rows;
    const char *memory, *intra_node_bandwidth, *cross_node_bandwidth, *machine, *json;
    double zipf;
} args;

static const cr_opt opts[] = {
    CR_OPT_CONFIG_STR(args, pipeline_config_path, CR_O_REQUIRED | CR_O_PATH, "PATH", NULL,
                      "config, model_dir or export; PATH without a flag means this"),
    CR_OPT_INT(args, nnodes, "N", "1", NULL, 1, 65536, "machines"),
    CR_OPT_INT(args, nproc_per_node, "N", "1", NULL, 1, 1024, "ranks on each machine"),
    CR_OPT_STR(args, memory, 0, "SIZE", "what is free on this machine",
               "memory of a machine, for example 64GB"),
    CR_OPT_INT(args, cores, "N", "0", "this machine's, divided by its ranks", 0, 4096,
               "cores of a rank"),
    CR_OPT_(args, batch_size, CR_O_COUNT, 0, 0, "N", "0", "from the config", 0, 1e9,
            "rows of one rank's batch"),
    CR_OPT_(args, sample_rows, CR_O_COUNT, 0, 0, "N", "0", "the config says what ids to expect", 0,
            1e12, "count ids, their popularity and sequences in rows of the training data"),
    CR_OPT_(args, zipf, CR_O_FLOAT, 0, 0, "S", "1.05", NULL, 0, 3,
            "popularity of ids without a sample: that of the k-th is k^-S; 0: all are alike"),
    CR_OPT_STR(args, intra_node_bandwidth, 0, "SIZE", "INTRA_NODE_BANDWIDTH, or measured",
               "bytes per second that a rank sends inside its machine, for example 4GB"),
    CR_OPT_STR(args, cross_node_bandwidth, 0, "SIZE",
               "CROSS_NODE_BANDWIDTH, or 25 Gbit/s for the ranks of a machine together",
               "bytes per second that a rank sends to other machines, for example 3GB"),
    CR_OPT_STR(args, machine, CR_O_PATH, "FILE", "this machine is measured",
               "JSON with the figures of a machine, as --json writes them"),
    CR_OPT_STR(args, json, CR_O_PATH, "FILE", "none",
               "write the plan as JSON; - prints it instead of the tables"),
    CR_OPT_MODEL_DIR(args),
    CR_OPT_TRAIN_INPUT(args),
    CR_OPT_EDIT_JSON(args),
    CR_OPT_SET(args),
    CR_OPT_END,
};

static cr_code size_of(cr_ui *ui, const char *flag, const char *text, double *out) {
    const char *example = strcmp(flag, "memory") == 0 ? "64GB" : "3GB";
    if (!text) return CR_OK;
    if (!cr_parse_size(text, out))
        return cr_ui_wrong(ui, "--%s '%s' is no size above 0; write for example %s", flag, text,
                           example);
    if (*out < LEAST_BARE && !strpbrk(text, "KMGTPkmgtpBb"))
        return cr_ui_wrong(ui, "--%s '%s' would be bytes; write the unit, for example %s", flag,
                           text, example);
    return CR_OK;
}

/* ---- text ---- */

static const char *bytes(cr_arena *a, double x) {
    char t[32];
    return cr_arena_strdup(a, cr_fmt_bytes(t, x));
}

static const char *count(cr_arena *a, double x) {
    char t[32];
    return cr_arena_strdup(a, cr_fmt_count(t, x));
}

static const char *ms(cr_arena *a, double s) {
    return cr_arena_printf(a, s >= 0.1 ? "%.0f ms" : s >= 0.001 ? "%.2f ms" : "%.3f ms", 1000 * s);
}

typedef struct sized {
    int t;
    double bytes;
} sized;

static int by_bytes(const void *x, const void *y) {
    const sized *a = x, *b = y;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : a->t - b->t;
}

static const char *where(cr_arena *a, const cr_planning *r, const cr_planned *p) {
    if (p->kind == CR_DATA_PARALLEL) return r->machine.ranks == 1 ? "rank 0" : "every rank";
    if (p->n == 1) return cr_arena_printf(a, "rank %d", p->first);
    if (p->kind == CR_TABLE_ROW_WISE || p->kind == CR_TABLE_COLUMN_WISE)
        return cr_arena_printf(a, "%d on machine %d", p->n, p->first / r->machine.per_node);
    return cr_arena_printf(a, "%d from rank %d", p->n, p->first);
}

static void print_tables(cr_ui *ui, const cr_planning *r) {
    static const unsigned flags[] = {CR_GRID_SHRINK, CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_LEFT,
                                     CR_GRID_LEFT,   CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT};
    static const char *const head[] = {"table",  "rows",         "dim",      "placed",
                                       "shards", "bytes in all", "distinct", "sent per step"};
    cr_arena *a = &ui->arena;
    sized *order = CR_NEW_N(a, sized, r->job.n + 1);
    for (int i = 0; i < r->job.n; i++) {
        const cr_planner_table *t = &r->job.tables[i];
        order[i] = (sized){i, (double)t->n_rows * (double)t->row_bytes};
    }
    qsort(order, (size_t)r->job.n, sizeof(*order), by_bytes);
    cr_grid g;
    cr_grid_init(&g, a, 8, flags);
    const char **row = cr_grid_row(&g);
    memcpy(row, head, sizeof head);
    int n = r->job.n < MOST_TABLES ? r->job.n : MOST_TABLES;
    for (int i = 0; i < n; i++) {
        const cr_planner_table *t = &r->job.tables[order[i].t];
        const cr_planned *p = &r->plan.tables[order[i].t];
        cr_planner_cost c = cr_planner_table_cost(&r->job, &r->machine, order[i].t, p);
        row = cr_grid_row(&g);
        row[0] = t->name;
        row[1] = count(a, (double)t->n_rows);
        row[2] = cr_arena_printf(a, "%lld", (long long)t->D);
        row[3] = cr_shard_name(p->kind);
        row[4] = where(a, r, p);
        row[5] = bytes(a, c.memory);
        row[6] = count(a, round(c.distinct));
        row[7] = bytes(a, round(c.bytes));
    }
    cr_grid_print(&g, cr_screen_width());
    if (n < r->job.n) cr_ui_say("  and %d smaller tables; --json FILE has all\n", r->job.n - n);
}

static void rank_row(cr_ui *ui, const cr_planning *r, int rank, cr_grid *g, const char *what) {
    cr_arena *a = &ui->arena;
    const cr_planner_load *l = &r->plan.ranks[rank];
    cr_planner_time t = cr_planner_rank_time(&r->job, &r->machine, &r->plan, rank);
    const char **row = cr_grid_row(g);
    row[0] = what ? cr_arena_printf(a, "%d, %s", rank, what) : cr_arena_printf(a, "%d", rank);
    row[1] = bytes(a, l->memory);
    row[2] = bytes(a, l->out[0] + l->out[1]);
    row[3] = bytes(a, l->in[0] + l->in[1]);
    row[4] = ms(a, t.all);
    row[5] = ms(a, t.dense);
    row[6] = ms(a, t.lookup);
    row[7] = ms(a, t.update);
    if (r->machine.ranks == 1) return;
    row[8] = ms(a, t.network);
    row[9] = ms(a, t.sync);
    row[10] = ms(a, t.messages);
}

static void print_ranks(cr_ui *ui, const cr_planning *r) {
    static const unsigned flags[11] = {CR_GRID_LEFT,  CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT,
                                       CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT,
                                       CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_RIGHT};
    static const char *const head[11] = {"rank",    "memory", "sent",    "received",
                                         "step",    "dense",  "lookup",  "update",
                                         "network", "sync",   "messages"};
    cr_grid g;
    cr_grid_init(&g, &ui->arena, 11, flags);
    memcpy(cr_grid_row(&g), head, r->machine.ranks > 1 ? sizeof head : 8 * sizeof *head);
    int fastest = 0;
    for (int i = 0; i < r->machine.ranks; i++) {
        cr_planner_time t = cr_planner_rank_time(&r->job, &r->machine, &r->plan, i),
                        u = cr_planner_rank_time(&r->job, &r->machine, &r->plan, fastest);
        if (t.all < u.all) fastest = i;
        if (r->machine.ranks <= MOST_RANKS) rank_row(ui, r, i, &g, NULL);
    }
    if (r->machine.ranks > MOST_RANKS) {
        rank_row(ui, r, r->plan.slowest_rank, &g, "slowest");
        rank_row(ui, r, fastest, &g, "fastest");
        rank_row(ui, r, r->plan.fullest_rank, &g, "fullest");
    }
    cr_grid_print(&g, cr_screen_width());
}

static void print_text(cr_ui *ui, const cr_planning *r) {
    const cr_planner_machine *m = &r->machine;
    char a[32], b[32], c[32], d[32];
    double P = m->ranks, batch = (double)r->job.batch;
    cr_ui_say("ranks     %d on %d machine%s, %d core%s each; batches of %lld rows, %s together\n",
              m->ranks, (m->ranks + m->per_node - 1) / m->per_node,
              m->ranks > m->per_node ? "s" : "", m->cores, m->cores == 1 ? "" : "s",
              (long long)r->job.batch, cr_fmt_count(a, P * batch));
    cr_ui_say("machine   %s: %.1f GFLOP/s and %s/s of memory per core%s\n",
              r->measured ? "measured here" : "from the file", m->flops * 1e-9,
              cr_fmt_bytes(a, m->stream), m->ranks > 1 ? "; per rank" : "");
    if (m->ranks > 1)
        cr_ui_say("          %s/s inside a machine, %s/s between machines\n",
                  cr_fmt_bytes(a, m->bandwidth[0]), cr_fmt_bytes(b, m->bandwidth[1]));
    cr_ui_say("memory    %s per machine, of which %g %% stay free: %s per rank\n",
              cr_fmt_bytes(a, r->node_memory), 100 * r->reserve, cr_fmt_bytes(b, m->memory));
    if (r->sampled > 0)
        cr_ui_say("ids       counted in %lld rows\n", (long long)r->sampled);
    else
        cr_ui_say("ids       as the config says; --sample_rows counts them in the data\n");
    cr_ui_say("\n");
    print_tables(ui, r);
    cr_ui_say("\n");
    print_ranks(ui, r);
    const cr_planner_load *l = &r->plan.ranks[r->plan.slowest_rank];
    cr_ui_say("\nstep      %s predicted, %s rows/s; %s sent per row; fullest rank %s of %s\n",
              ms(&ui->arena, r->plan.slowest.all), cr_fmt_count(a, P * batch / r->plan.slowest.all),
              cr_fmt_bytes(b, (l->out[0] + l->out[1]) / batch),
              cr_fmt_bytes(c, r->plan.ranks[r->plan.fullest_rank].memory),
              cr_fmt_bytes(d, m->memory));
}

static cr_code put_json(cr_ui *ui, const cr_planning *r, const char *path) {
    cr_buf out;
    cr_err err;
    cr_code code = CR_OK;
    cr_buf_init(&out);
    cr_planning_json(r, &out);
    if (strcmp(path, "-") == 0)
        cr_ui_say("%s", out.data);
    else if ((code = cr_file_write(path, out.data, out.n, &err)) != CR_OK)
        cr_ui_fail(ui, &err);
    cr_buf_clear(&out);
    return code;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_planning_opts o = {.nodes = (int)a->nnodes,
                          .per_node = (int)a->nproc_per_node,
                          .cores = (int)a->cores,
                          .batch_size = a->batch_size,
                          .sample_rows = a->sample_rows,
                          .zipf = a->zipf,
                          .machine = a->machine};
    CR_TRY(size_of(ui, "memory", a->memory, &o.memory));
    CR_TRY(size_of(ui, "intra_node_bandwidth", a->intra_node_bandwidth, &o.bandwidth[0]));
    CR_TRY(size_of(ui, "cross_node_bandwidth", a->cross_node_bandwidth, &o.bandwidth[1]));
    if (a->nnodes * a->nproc_per_node > 65536)
        return cr_ui_wrong(ui, "%lld ranks are too many to plan; the most are 65536",
                           (long long)(a->nnodes * a->nproc_per_node));
    cr_config_from(&a->config, &o.config);
    cr_planning r;
    cr_code code = cr_planning_run(&o, &r, &ui->diag);
    if (r.plan.ranks) {
        cr_code written = a->json ? put_json(ui, &r, a->json) : CR_OK;
        if (!a->json || strcmp(a->json, "-") != 0) print_text(ui, &r);
        if (code == CR_OK) code = written;
    }
    cr_planning_clear(&r);
    return code;
}

static const char *const examples[] = {
    "crank plan deepfm.yaml",
    "crank plan deepfm.yaml --nnodes 4 --nproc_per_node 8 --memory 64GB --cores 8",
    "crank plan deepfm.yaml --nnodes 16 --memory 256GB --cross_node_bandwidth 3GB --json plan.json",
    NULL,
};

const cr_cmd cr_cmd_plan = {
    .name = "plan",
    .help = "Say which rank would hold which table, with the memory and the time of a step",
    .about =
        "The ranks need not exist: without --machine, the cores of this machine are measured and "
        "taken\nfor theirs. Exit code 1: the tables do not fit; the message says what would.\n",
    .operand = "PATH",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .run = run,
};
