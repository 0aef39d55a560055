/*
 * plan.c - `crank plan`: where the tables of a config would lie on so many ranks, what memory each
 * rank needs and how long a step would take.
 *
 * The ranks need not exist. What a core can do is measured on this machine (half a second), or
 * comes from a file; what the data looks like comes from the config, or is counted in a sample of
 * rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "job/placing.h"
#include "op/op.h"
#include "tool/bench_int.h"

#define SECONDS 0.15 /* of each measurement */
/* The speed of the dense part as a share of the peak of multiply-adds, when all products of the
 * plain graph count: what products lose, shared work of equal ids and skipped zeros give back. */
#define REACHED 0.9
#define COPIES  4.0   /* a byte through shared memory is read and written twice */
#define NETWORK 3.2e9 /* bytes/s of a machine's link when nothing is said: 25 Gbit/s */
#define HELD    10.0  /* batches that lie in memory between the reader and the step */

/* ---- a sample of the data ---- */

typedef struct counts {
    double rows, batches;
    double *ids, *distinct; /* per table; distinct: per batch */
    double *steps;          /* per axis */
} counts;

typedef struct list {
    int64_t *v;
    int64_t n, cap;
} list;

static void add_ids(list *l, const cr_jagged *j, int64_t from, int64_t end) {
    if (j->off) from = j->off[from], end = j->off[end];
    if (l->n + end - from > l->cap) {
        int64_t cap = 2 * (l->n + end - from);
        l->v = cr_realloc(l->v, (size_t)l->n * sizeof(*l->v), (size_t)cap * sizeof(*l->v), "ids");
        l->cap = cap;
    }
    if (end > from) memcpy(l->v + l->n, j->ids + from, (size_t)(end - from) * sizeof(*l->v));
    l->n += end > from ? end - from : 0;
}

static int by_id(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void count_table(counts *c, int t, const cr_model *m, const cr_batch *b,
                        const int32_t *const *axes, list *l) {
    const cr_model_table *table = m->tables[t];
    l->n = 0;
    for (int k = 0; k < table->n_uses; k++) {
        const cr_node *node = table->uses[k].node;
        int count;
        const cr_look *look = cr_lookup_pieces(node, &count) + table->uses[k].piece;
        const cr_jagged *j = &b->sparse[cr_model_feature_slot(m, look->slot)];
        if (node->cls != CR_SEQ) {
            add_ids(l, j, 0, j->steps ? j->steps[b->n_rows] : b->n_rows);
            continue;
        }
        const int32_t *axis = axes[node->axis];
        for (int64_t r = 0; r < b->n_rows; r++) {
            int64_t len = j->steps[r + 1] - j->steps[r], most = axis[r + 1] - axis[r];
            add_ids(l, j, j->steps[r], j->steps[r] + (len < most ? len : most));
        }
    }
    int64_t distinct = 0;
    qsort(l->v, (size_t)l->n, sizeof(*l->v), by_id);
    for (int64_t i = 0; i < l->n; i++)
        distinct += i == 0 || l->v[i] != l->v[i - 1];
    c->ids[t] += (double)l->n;
    c->distinct[t] += (double)distinct;
}

static cr_code count_batch(cr_job *j, cr_model_work *w, const cr_batch *b, counts *c, list *l,
                           cr_err *err) {
    const int32_t *const *axes;
    CR_TRY(cr_model_axes(w, b, &axes, err));
    for (int t = 0; t < j->model->n_tables; t++)
        count_table(c, t, j->model, b, axes, l);
    for (int i = 0; i < j->model->n_axes; i++)
        c->steps[i] += axes[i][b->n_rows];
    c->rows += (double)b->n_rows;
    c->batches++;
    return CR_OK;
}

static cr_code sample(cr_job *j, int64_t want, counts *c, cr_diag *diag) {
    int64_t batch = j->root->data_config->batch_size;
    cr_job_data d = {.paths = j->root->train_input_path,
                     .key = "train_input_path",
                     .side = CR_TRAIN_ROWS,
                     .batch_size = batch < want ? batch : want,
                     .n_epochs = 1};
    cr_loader *l = NULL;
    cr_model_work *w = NULL;
    cr_err err;
    list ids = {NULL, 0, 0};
    cr_code code = cr_model_work_new(&w, j->model, NULL, NULL, &err);
    if (code != CR_OK) return cr_diag_err(diag, &err);
    code = cr_job_loader(j, &d, &l, diag);
    for (bool done = false; code == CR_OK && !done && c->rows < (double)want;) {
        cr_batch *b;
        code = cr_loader_next(l, &b, &done, &err);
        if (code == CR_OK && b) {
            code = count_batch(j, w, b, c, &ids, &err);
            cr_loader_release(l, b);
        }
        if (code != CR_OK) cr_diag_err(diag, &err);
    }
    if (code == CR_OK && c->rows == 0) {
        cr_fail(&err, CR_EDATA, "the training data has no rows to count; leave --sample_rows out");
        code = cr_diag_err(diag, &err);
    }
    cr_loader_free(l);
    cr_model_work_free(w);
    cr_free(ids.v);
    return code;
}

/* Puts what the sample has into the job: ids per row, their popularity, lengths of sequences. */
static cr_code use_sample(cr_job *j, int64_t rows, cr_planning *res, cr_diag *diag) {
    cr_arena *a = &res->arena;
    int n = j->model->n_tables;
    counts c = {.ids = CR_NEW_N(a, double, n + 1),
                .distinct = CR_NEW_N(a, double, n + 1),
                .steps = CR_NEW_N(a, double, j->model->n_axes + 1)};
    CR_TRY(sample(j, rows, &c, diag));
    cr_planner_table *v = CR_NEW_N(a, cr_planner_table, n + 1);
    if (n > 0) memcpy(v, res->job.tables, (size_t)n * sizeof(*v));
    for (int t = 0; t < n; t++) {
        v[t].ids = c.ids[t] / c.rows;
        v[t].zipf =
            cr_expect_zipf(c.ids[t] / c.batches, (double)v[t].n_rows, c.distinct[t] / c.batches);
    }
    for (int i = 0; i < j->model->n_axes; i++)
        c.steps[i] /= c.rows;
    res->job.flops = cr_graph_flops(&j->model->graph, c.steps, true);
    res->job.tables = v;
    res->sampled = (int64_t)c.rows;
    return CR_OK;
}

/* ---- the machine ---- */

static cr_code read_machine(const char *path, cr_planner_machine *m, cr_diag *diag) {
    cr_buf text;
    cr_json *root = NULL;
    cr_err err;
    cr_buf_init(&text);
    cr_code code = cr_file_read(path, (size_t)1 << 30, &text, &err);
    if (code == CR_OK) {
        code = cr_json_parse(&root, text.data, text.n, &err);
        if (code == CR_OK)
            code = cr_planner_read_machine(root, path, m, &err);
        else
            err.at = (cr_loc){path, 0, 0};
    }
    if (code != CR_OK) cr_diag_err(diag, &err);
    cr_json_free(root);
    cr_buf_clear(&text);
    return code;
}

static void measure(cr_pool *pool, cr_planner_machine *m) {
    double cores = cr_pool_threads(pool), peak = cr_bench_peak(pool, CR_PRODUCTS_FP32, SECONDS),
           stream = cr_bench_stream(pool, SECONDS), gather = cr_bench_gather(pool, SECONDS);
    if (peak > 0) m->flops = peak * 1e9 * REACHED / cores;
    if (stream > 0) m->stream = stream / cores;
    if (gather > 0) m->miss = cores / gather;
    m->bandwidth[0] = m->stream / COPIES;
}

static cr_code describe_machine(cr_job *j, const cr_planning_opts *o, cr_planning *res,
                                cr_diag *diag) {
    cr_planner_machine *m = &res->machine;
    *m = cr_planner_machine_default;
    m->ranks = o->nodes * o->per_node;
    m->per_node = o->per_node;
    m->cores = o->cores > 0 ? o->cores : cr_cpu_count() / o->per_node;
    if (m->cores < 1) m->cores = 1;
    m->bandwidth[1] = NETWORK / o->per_node;
    if (o->machine) {
        CR_TRY(read_machine(o->machine, m, diag));
    } else {
        measure(j->pool, m);
        m->bandwidth[0] *= m->cores;
        res->measured = true;
    }
    cr_job_bandwidth(m);
    for (int k = 0; k < 2; k++)
        if (o->bandwidth[k] > 0) m->bandwidth[k] = o->bandwidth[k];
    const char *who;
    res->reserve = cr_job_reserve();
    res->node_memory = o->memory > 0 ? o->memory : (double)cr_mem_room(&who);
    m->memory = res->node_memory * (1 - res->reserve) / o->per_node;
    return CR_OK;
}

/* Bytes of activations and gradients of a step, and of batches on their way to it. */
static cr_code buffers(cr_job *j, int ranks, cr_planner_job *p, cr_diag *diag) {
    cr_plan *plan = NULL;
    cr_work *w = NULL;
    cr_err err;
    int lanes = 1; /* of one rank */
    while (2 * lanes * ranks <= p->lanes)
        lanes *= 2;
    cr_plan_opts po = {.graph = &j->model->graph,
                       .mode = CR_TRAIN,
                       .max_rows = p->batch,
                       .lanes = lanes};
    cr_code code = cr_graph_alloc(&j->model->graph, &err);
    if (code == CR_OK) code = cr_plan_new(&plan, &po, &err);
    if (code == CR_OK) code = cr_work_new(&w, plan, j->pool, &err);
    if (code != CR_OK) {
        cr_plan_free(plan);
        return cr_diag_err(diag, &err);
    }
    double row = 4.0 * (double)(j->features->dense_width + j->features->n_labels);
    for (int t = 0; t < p->n; t++)
        row += 8 * p->tables[t].ids;
    p->buffers += (double)cr_work_bytes(w) + HELD * row * (double)p->batch;
    cr_work_free(w);
    cr_plan_free(plan);
    return CR_OK;
}

/* ---- the whole ---- */

/* A rank needs a lane of its own; a global batch has as many as its size and the config say. */
static void check_lanes(const cr_job *j, const cr_planner_machine *m, cr_planner_job *p,
                        cr_diag *diag) {
    if (p->lanes >= m->ranks) return;
    char cure[96] = "raise train_config.lanes or data_config.batch_size";
    if (m->ranks > CR_MAX_LANES)
        snprintf(cure, sizeof(cure), "this version trains with %d ranks at most", CR_MAX_LANES);
    cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(j->root->train_config, "lanes"),
                "a global batch of %lld rows has %d lanes, and %d ranks need as many, so training "
                "would refuse to start; %s",
                (long long)p->batch * m->ranks, p->lanes, m->ranks, cure);
    p->lanes = 0; /* as if there were enough */
}

static cr_code plan(cr_job *j, const cr_planning_opts *o, cr_planning *res, cr_diag *diag) {
    int ranks = o->nodes * o->per_node;
    cr_planner_job *p = &res->job;
    CR_TRY(cr_job_planner(j, ranks, o->per_node, o->zipf, &res->arena, p, diag));
    for (int t = 0; t < p->n; t++) /* they outlive the job */
        ((cr_planner_table *)(uintptr_t)p->tables)[t].name =
            cr_arena_strdup(&res->arena, p->tables[t].name);
    if (o->sample_rows > 0) CR_TRY(use_sample(j, o->sample_rows, res, diag));
    CR_TRY(buffers(j, ranks, p, diag));
    CR_TRY(describe_machine(j, o, res, diag));
    if (ranks > 1) check_lanes(j, &res->machine, p, diag);
    cr_planner_choose(p, &res->machine, &res->arena, &res->plan);
    if (res->plan.fits) return CR_OK;
    cr_job_unfit(p, &res->machine, &res->plan, res->reserve, diag);
    return CR_ENOMEM;
}

cr_code cr_planning_run(const cr_planning_opts *o, cr_planning *res, cr_diag *diag) {
    char path[1200];
    cr_config_opts c = o->config;
    char batch[64];
    memset(res, 0, sizeof(*res));
    cr_arena_init(&res->arena, 0);
    cr_config_of_dir(&c, path);
    if (o->batch_size > 0) {
        const char **all = CR_NEW_N(&res->arena, const char *, c.n_set + 1);
        snprintf(batch, sizeof(batch), "data_config.batch_size=%lld", (long long)o->batch_size);
        for (int i = 0; i < c.n_set; i++)
            all[i] = c.set[i];
        all[c.n_set++] = batch;
        c.set = all;
    }
    cr_job j;
    cr_job_opts jo = {.config = &c, .train = true, .with_labels = true};
    cr_code code = cr_job_open(&j, &jo, diag);
    if (code == CR_OK) code = plan(&j, o, res, diag);
    cr_job_close(&j);
    return code;
}

void cr_planning_clear(cr_planning *res) {
    cr_arena_clear(&res->arena);
}

void cr_planning_json(const cr_planning *res, cr_buf *out) {
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_planner_write(&w, &res->job, &res->machine, &res->plan);
    cr_jw_f64(&w, "machine_memory_bytes", res->node_memory);
    cr_jw_f64(&w, "reserve", res->reserve);
    cr_jw_i64(&w, "sampled_rows", res->sampled);
    cr_jw_bool(&w, "machine_was_measured", res->measured);
    cr_jw_end(&w);
    cr_buf_char(out, '\n');
}
