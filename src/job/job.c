/*
 * job.c - builds a model in memory from a config, in the same way for every job: first features,
 * then the graph, then parameters; and opens the data that the job reads. Every mistake that can be
 * found without data is found before anything large is allocated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/log.h"
#include "base/scheme.h"
#include "base/stop.h"
#include "data/files.h"
#include "job/env.h"
#include "job/job.h"
#include "kern/kern.h"
#include "obs/profile.h"

void cr_job_tell_products(cr_products p, cr_cpu_level level, cr_cpu_tiles tiles) {
    const char *name = cr_cpu_level_name(level), *why = cr_cpu_tiles_why(tiles);
    if (cr_products_parts(p) > 1 && level != CR_CPU_AMX)
        CR_WARN("products in %s are slower than FP32 without AMX (the CPU level is %s); remove "
                "cuda_matmul_allow_tf32 and fp32_matmul for speed, keep them for the bits of other "
                "CPUs",
                cr_products_name(p), name);
    if (cr_products_parts(p) && why)
        CR_INFO("this CPU has a tile unit (AMX), which is not used: %s. Products use the level %s",
                why, name);
    if (p == CR_PRODUCTS_BF16 && strcmp(cr_kern_order(level), "pairs") == 0)
        CR_INFO("BF16 products are summed in pairs on this CPU (%s); CRANK_CPU=avx512 gives the "
                "bits of all other CPUs, at half the speed",
                name);
}

/* Returns how matrix products take their inputs. */
static cr_products products_of(const cr_root_conf *c, bool exported) {
    const cr_train_conf *t = c->train_config;
    const cr_export_conf *e = c->export_config;
    return exported
               ? cr_conf_products(e->mixed_precision, e->fp32_matmul, e->cuda_matmul_allow_tf32)
               : cr_conf_products(t->mixed_precision, t->fp32_matmul, t->cuda_matmul_allow_tf32);
}

/* Returns the columns of the data set, for ALL_COLUMNS. */
static cr_code all_columns(cr_job *j, const char *paths, cr_diag *diag) {
    cr_source *src;
    CR_TRY(j->reader->open(&src, j->root->data_config, paths, NULL, 0, diag));
    const char *const *names;
    j->n_reserved = j->reader->columns(src, &names);
    j->reserved = CR_NEW_N(&j->cfg.arena, char *, j->n_reserved + 1);
    for (int i = 0; i < j->n_reserved; i++)
        j->reserved[i] = cr_arena_strdup(&j->cfg.arena, names[i]);
    j->reader->close(src);
    return CR_OK;
}

/* Returns the input columns of the features, for ALL_EFFECTIVE_COLUMNS. */
static void effective_columns(cr_job *j, cr_diag *diag) {
    cr_features *fs = cr_features_new(&j->cfg.arena, &j->root->feature_configs,
                                      j->root->data_config, false, NULL, 0, diag);
    if (!fs) return;
    j->n_reserved = fs->n_want;
    j->reserved = CR_NEW_N(&j->cfg.arena, char *, fs->n_want + 1);
    for (int i = 0; i < fs->n_want; i++)
        j->reserved[i] = cr_arena_strdup(&j->cfg.arena, fs->want[i].name);
}

int cr_split_list(cr_arena *a, const char *text, char ***out) {
    char *list = cr_arena_strdup(a, text), *save = NULL;
    int n = 0, max = 1;
    for (const char *c = list; *c; c++)
        max += *c == ',';
    *out = CR_NEW_N(a, char *, max);
    for (char *w = strtok_r(list, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        while (*w == ' ')
            w++;
        size_t len = strlen(w);
        while (len > 0 && w[len - 1] == ' ')
            w[--len] = 0;
        if (len > 0) (*out)[n++] = w;
    }
    return n;
}

static cr_code reserve(cr_job *j, const cr_job_opts *o, cr_diag *diag) {
    if (!o->reserved || !*o->reserved) return CR_OK;
    if (strcmp(o->reserved, "ALL_COLUMNS") == 0) return all_columns(j, o->data_paths, diag);
    if (strcmp(o->reserved, "ALL_EFFECTIVE_COLUMNS") == 0) {
        effective_columns(j, diag);
        return cr_diag_code(diag);
    }
    j->n_reserved = cr_split_list(&j->cfg.arena, o->reserved, &j->reserved);
    return CR_OK;
}

#define ROWS_OF_A_LANE 1024

/* A lane with few rows has few equal ids that could share work, and sums as many gradients as a
 * long one. */
int cr_lanes_for(int64_t said, int64_t batch) {
    int lanes = 8;
    while (lanes > 2 && batch < 256 * lanes)
        lanes /= 2;
    /* batches of many ranks: each rank needs a lane */
    while (lanes < CR_MAX_LANES && batch >= 2 * ROWS_OF_A_LANE * lanes)
        lanes *= 2;
    return said > 0 ? (int)said : lanes;
}

/* Rows of all ranks together. A job that goes on with more or fewer ranks than it began with keeps
 * its global batch, and so its results: crank launch says how many ranks that were. Servers bring
 * no rows; every group of ranks has the same number of them. */
static int64_t of_all(const cr_job *j, int64_t rows) {
    const char *text = getenv("CRANK_BATCH_RANKS");
    int64_t n;
    if (!text || !cr_parse_i64(text, strlen(text), &n) || n < 1) n = j->meet ? j->meet->n : 1;
    for (int64_t h = 0, all = n; j->meet && j->meet->serves && h < j->meet->n; h++)
        if (j->meet->serves[h]) n -= all / j->meet->n;
    return cr_mul_i64(rows, n);
}

static void gather(void *comm, void *all, const size_t *at) {
    cr_comm_gather(comm, all, at);
}

static void exchange(void *comm, const void *out, const size_t *out_at, void *in,
                     const size_t *in_at) {
    cr_comm_exchange(comm, out, out_at, in, in_at);
}

static void exchange_start(void *comm, const void *out, const size_t *out_at, void *in,
                           const size_t *in_at) {
    cr_comm_exchange_start(comm, 1, out, out_at, in, in_at);
}

static void exchange_end(void *comm) {
    cr_comm_exchange_end(comm, 1);
}

/* Each rank gets as many lanes as the others, or one more; servers get none. */
static cr_code divide_lanes(cr_job *j, cr_diag *diag) {
    int all = j->ranks.n, *lane = CR_NEW_N(&j->cfg.arena, int, all + 1);
    int servers = cr_comm_servers(j->comm), n = all - servers;
    if (j->lanes < n) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(j->root->train_config, "lanes"),
                    "a global batch of %lld rows has %d lanes, which %d %s cannot share; start "
                    "fewer of them, or raise data_config.batch_size or train_config.lanes",
                    (long long)j->batch, j->lanes, n, servers ? "workers" : "ranks");
        return CR_ECONF;
    }
    for (int h = 0, worker = 0; h <= all; worker += h < all && !cr_comm_serves(j->comm, h), h++)
        lane[h] = (int)((int64_t)j->lanes * worker / n);
    j->ranks.lane = lane;
    return CR_OK;
}

static const bool *roles(cr_job *j) {
    int n = j->ranks.n;
    bool *serves = CR_NEW_N(&j->cfg.arena, bool, n);
    for (int h = 0; h < n; h++)
        serves[h] = cr_comm_serves(j->comm, h);
    return cr_comm_servers(j->comm) > 0 ? serves : NULL;
}

/* Returns how many threads a run has that was not told. Ranks on one machine share its cores. */
static int own_threads(const cr_job *j) {
    if (!j->comm) return cr_cpu_count();
    const cr_who *who = cr_comm_who(j->comm);
    int self = cr_comm_rank(j->comm), n_local;
    int threads = cr_who_threads(who, cr_comm_size(j->comm), self, &n_local);
    if (n_local > 1)
        CR_INFO("%d ranks share the cores of %s: %d thread%s for this one; --threads N says "
                "otherwise",
                n_local, who[self].host, threads, threads == 1 ? "" : "s");
    return threads;
}

cr_code cr_job_agree(const cr_job *j, cr_code mine, bool *stop) {
    bool any;
    cr_code code = cr_comm_vote(j->comm, mine, cr_stop_requested != 0, &any);
    if (stop) *stop = any;
    return code;
}

cr_code cr_job_alone(const cr_job *j, cr_code code, const cr_err *err) {
    if (code != CR_OK && j->comm) cr_comm_fail(j->comm, err);
    return code;
}

cr_code cr_job_checkpoint_of_all(cr_job *j, const char *wanted, bool best, char **path,
                                 int64_t *step, cr_diag *diag) {
    cr_err err;
    cr_code code = CR_OK;
    if (cr_job_is_first(j) && cr_job_checkpoint(j, wanted, best, path, step, &err) != CR_OK)
        code = cr_diag_err(diag, &err);
    CR_TRY(cr_job_agree(j, code, NULL));
    if (!j->comm) return CR_OK;
    int64_t n = cr_job_is_first(j) ? (int64_t)strlen(*path) + 1 : 0;
    cr_comm_share(j->comm, step, sizeof *step, 0);
    cr_comm_share(j->comm, &n, sizeof n, 0);
    if (!cr_job_is_first(j)) *path = CR_NEW_N(&j->cfg.arena, char, n);
    cr_comm_share(j->comm, *path, (size_t)n, 0);
    return CR_OK;
}

cr_profile *cr_job_profile(const cr_job *j, bool on, const char *path) {
    if (!on) return NULL;
    cr_profile *p = cr_profile_new(j->pool, cr_pool_threads(j->pool), path);
    if (!j->comm) return p;
    char name[128];
    int self = cr_comm_rank(j->comm);
    snprintf(name, sizeof name, "rank %d (host %s)", self, cr_comm_who(j->comm)[self].host);
    cr_profile_join(p, &(cr_profile_ranks){.n = cr_comm_size(j->comm),
                                           .self = self,
                                           .name = name,
                                           .gather = gather,
                                           .exchange = exchange,
                                           .ctx = j->comm});
    return p;
}

static cr_code prepare(cr_job *j, const cr_job_opts *o, cr_diag *diag) {
    cr_root_conf *c = j->root = j->cfg.root;
    j->meet = o->meet;
    j->comm = o->comm;
    if (j->comm) {
        j->ranks = (cr_meet){.n = cr_comm_size(j->comm),
                             .self = cr_comm_rank(j->comm),
                             .gather = gather,
                             .exchange = exchange,
                             .exchange_start = exchange_start,
                             .exchange_end = exchange_end,
                             .ctx = j->comm};
        j->ranks.serves = roles(j);
        j->ranks.gone = cr_comm_gone(j->comm);
        j->meet = &j->ranks;
    }
    if (o->rounds && j->meet && j->meet->serves && c->train_config->servers)
        j->strategy = (cr_strategy)cr_strategy_find(c->train_config->servers->strategy);
    j->mail = j->comm ? cr_comm_mail(j->comm) : o->mail;
    j->batch = of_all(j, c->data_config->batch_size);
    j->lanes = cr_lanes_for(c->train_config->lanes, j->batch);
    if (j->comm && !o->no_batches) CR_TRY(divide_lanes(j, diag));
    const cr_sparse_optim_conf *sparse = c->train_config->sparse_optimizer;
    j->accept_changed_features = o->config && o->config->accept_changed_features;
    cr_kern_init();
    cr_err err;
    int threads = o->threads > 0 ? o->threads : own_threads(j);
    if (cr_pool_new(&j->pool, threads, &err) != CR_OK) return cr_diag_err(diag, &err);
    j->reader = cr_reader_of(c->data_config);
    if (!j->reader)
        return cr_diag_err(
            diag,
            &(cr_err){.code = CR_ECONF,
                      .at = cr_conf_at(c->data_config, "dataset_type"),
                      .msg = "no reader for this dataset_type in this version; use CsvDataset or "
                             "ParquetDataset"});
    CR_TRY(reserve(j, o, diag));
    j->features =
        cr_features_new(&j->cfg.arena, &c->feature_configs, c->data_config, o->with_labels,
                        (const char *const *)j->reserved, j->n_reserved, diag);
    if (!j->features) return cr_diag_code(diag);
    j->mo = (cr_model_opts){.conf = c->model_config,
                            .inside = c->data_config->inside,
                            .features = j->features,
                            .with_labels = o->with_labels,
                            .optim = o->train ? cr_optim_of(&sparse->optimizer) : NULL,
                            .optim_conf = o->train ? sparse->optimizer.conf : NULL,
                            .seed = c->train_config->seed,
                            .meet = j->meet,
                            .pool = j->pool};
    j->mo.products = products_of(c, o->exported);
    cr_job_tell_products(j->mo.products, cr_kern_level, cr_cpu_tiles_own());
    j->model = cr_model_new(&j->mo, diag);
    j->evaluates = o->with_labels;
    if (j->model && o->train) cr_job_rules(j, diag);
    for (int i = 0; j->model && i < j->model->n_losses; i++)
        if (j->model->losses[i].label >= 0)
            cr_features_label_rule(j->features, j->model->losses[i].label, j->model->losses[i].K,
                                   j->model->losses[i].name);
    if (j->model && j->model->domain_label >= 0)
        cr_features_label_rule(j->features, j->model->domain_label, j->model->n_domains,
                               "task_domain_num");
    if (j->model) cr_features_check_labels(j->features, diag);
    return cr_diag_code(diag);
}

cr_code cr_job_open(cr_job *j, const cr_job_opts *o, cr_diag *diag) {
    memset(j, 0, sizeof(*j));
    CR_TRY(cr_config_load(&j->cfg, o->config, diag));
    return prepare(j, o, diag);
}

void cr_job_close(cr_job *j) {
    cr_job_part(j);
    cr_model_free(j->model);
    cr_ckpt_close(j->mapped);
    if (j->pool) cr_pool_free(j->pool);
    cr_config_clear(&j->cfg);
    memset(j, 0, sizeof(*j));
}

cr_code cr_job_alloc(cr_job *j, cr_err *err) {
    CR_TRY(cr_model_alloc(j->model, &j->mo, err));
    for (int i = 0; j->tables.of && i < j->model->n_tables; i++)
        j->model->tables[i]->table.optim_group = j->tables.of[i];
    return CR_OK;
}

cr_code cr_job_wrong_path(const void *conf, const char *key, const char *path, const cr_err *err,
                          cr_diag *diag) {
    cr_loc at = cr_conf_at(conf, key);
    /* a flag names the key itself */
    bool flag = at.path && strncmp(at.path, "--", 2) == 0 && at.line <= 0;
    /* the mistake is in a file inside of it */
    bool other = err->at.path && strcmp(err->at.path, path) != 0;
    cr_diag_add(diag, CR_SEV_ERROR, err->code, at, "%s%s'%s': %s%s%s", flag ? "" : key,
                flag ? "" : " ", path, other ? err->at.path : "", other ? ": " : "", err->msg);
    return err->code;
}

/* Does the reader fit to an address of data without files, and does such data fit here? */
static cr_code check_stream(const cr_job *j, const cr_job_data *d, cr_err *err) {
    const cr_reader_stream *s = j->reader->stream;
    cr_loc at = {d->paths, 0, 0};
    if (!s && cr_scheme_rows(d->paths))
        return cr_fail_at(err, CR_ECONF, at, "this is %s; %s", cr_scheme_find(d->paths)->store,
                          cr_scheme_find(d->paths)->cure);
    if (!s || d->mask || d->any_bad || !s->endless(d->paths)) return CR_OK;
    return cr_fail_at(
        err, CR_ECONF, at,
        "the stream has no end, so it can only be trained on; add stop.at.end=true or "
        "stop.timestamp.ms=MS to the address");
}

static cr_code find_files(const cr_job *j, const cr_job_data *d, cr_diag *diag) {
    cr_arena a;
    char **paths;
    size_t n;
    cr_err err;
    const cr_scheme *scheme = cr_scheme_find(d->paths);
    if (scheme && scheme->rows && strcmp(scheme->name, "odps") == 0) {
        (void)cr_fail(&err, CR_ECONF,
                      "it is %s, and %s reads files; set data_config.dataset_type to OdpsDataset",
                      scheme->store, j->reader->name);
        return cr_job_wrong_path(j->root, d->key, d->paths, &err, diag);
    }
    cr_arena_init(&a, 0);
    cr_code code = check_stream(j, d, &err);
    if (code == CR_OK)
        code = cr_data_files(j->root->data_config, &a, d->paths, j->reader->exts, &paths, &n, &err);
    for (size_t i = 0; code == CR_OK && j->comm && i < n; i++)
        if (cr_is_stdin(paths[i]))
            code = cr_fail_at(&err, CR_EUSAGE, ((cr_loc){d->paths, 0, 0}),
                              "standard input reaches one rank only; write it to a file and name "
                              "that, or start one process");
    for (size_t i = 0; code == CR_OK && !d->once && i < n; i++)
        if (cr_is_stdin(paths[i])) {
            (void)cr_fail_at(&err, CR_EUSAGE, ((cr_loc){d->paths, 0, 0}),
                             "standard input can be read only once, and this data is read again in "
                             "every epoch or evaluation, and when training is continued; write it "
                             "to a file and name that");
            code = CR_EUSAGE;
        }
    cr_arena_clear(&a);
    if (code != CR_OK)
        cr_job_wrong_path(j->root, d->key, err.at.path ? err.at.path : d->paths, &err, diag);
    return code;
}

/* Collective where the paths are new: the first rank makes the sessions that all read from. */
static cr_code share_sessions(cr_job *j, const char *paths, const char **out, cr_diag *diag) {
    for (int i = 0; i < j->n_sessions; i++)
        if (strcmp(j->sessions[i].paths, paths) == 0) {
            *out = j->sessions[i].text;
            return CR_OK;
        }
    bool first = cr_job_is_first(j);
    cr_arena *a = &j->cfg.arena;
    cr_code code = CR_OK;
    cr_err err = {0};
    cr_buf b;
    cr_buf_init(&b);
    if (first) {
        cr_buf_char(&b, '+');
        code = j->reader->prepare(&b, j->root->data_config, paths, j->features->want,
                                  j->features->n_want, j->kept_sessions, &err);
        if (code != CR_OK) cr_diag_add(diag, CR_SEV_ERROR, code, err.at, "%s", err.msg);
    }
    code = cr_job_agree(j, code, NULL);
    if (code == CR_OK && j->comm) {
        int from = cr_comm_first(j->comm);
        uint64_t n = b.n;
        cr_comm_share(j->comm, &n, sizeof n, from);
        if (!first) {
            cr_buf_reserve(&b, n);
            b.n = n;
        }
        cr_comm_share(j->comm, b.data, n, from);
        if (!first) b.data[0] = '-';
    }
    if (code == CR_OK) {
        struct cr_job_session *v = CR_NEW_N(a, struct cr_job_session, j->n_sessions + 1);
        if (j->n_sessions) memcpy(v, j->sessions, (size_t)j->n_sessions * sizeof *v);
        *out = cr_arena_strndup(a, b.data, b.n);
        v[j->n_sessions++] = (struct cr_job_session){cr_arena_strdup(a, paths), *out};
        j->sessions = v;
    }
    cr_buf_clear(&b);
    return code;
}

cr_code cr_job_loader(cr_job *j, const cr_job_data *d, cr_loader **out, cr_diag *diag) {
    const char *paths = d->paths;
    if (d->key && !j->reader->prepare) CR_TRY(find_files(j, d, diag));
    if (j->reader->prepare) CR_TRY(share_sessions(j, d->paths, &paths, diag));
    int threads = cr_pool_threads(j->pool), workers = (int)j->root->data_config->num_workers;
    if (workers > threads) workers = threads;
    const cr_meet *m = j->meet;
    cr_share share = {0, 0, 0};
    if (m) share = (cr_share){m->lane[m->self], m->lane[m->self + 1], m->lane[m->n]};
    if (d->lanes) share = (cr_share){d->lanes[0], d->lanes[1], m->lane[m->n]};
    cr_loader_opts lo = {.conf = j->root->data_config,
                         .reader = j->reader,
                         .paths = paths,
                         .want = j->features->want,
                         .n_want = j->features->n_want,
                         .encode = cr_features_encode,
                         .encode_ctx = j->features,
                         .check = cr_features_check,
                         .tally_size = cr_features_counts_size(j->features),
                         .tally_add = cr_features_counts_add,
                         .batch_size = d->batch_size,
                         .split = {.side = j->root->data_config->eval_fraction > 0 ? d->side
                                                                                   : CR_ALL_ROWS,
                                   .fraction = j->root->data_config->eval_fraction,
                                   .col = j->features->split_col,
                                   .skip = j->features->skip,
                                   .n_skip = j->features->n_skip},
                         .mask = d->mask,
                         .shuffle = d->shuffle,
                         .drop_remainder = d->drop_remainder,
                         .seed = j->root->train_config->seed,
                         .n_threads = workers > 0 ? workers : 1,
                         .share = share,
                         .start = d->start,
                         .places = d->places,
                         .trace = d->trace,
                         .ids = d->ids,
                         .n_epochs = d->n_epochs,
                         .max_bad_rows =
                             d->any_bad ? INT64_MAX : j->root->data_config->max_bad_rows,
                         .silent = d->silent};
    return cr_loader_new(out, &lo, diag);
}

int64_t cr_job_eval_batch(const cr_job *j) {
    const cr_data_conf *d = j->root->data_config;
    return of_all(j, d->eval_batch_size > 0 ? d->eval_batch_size : d->batch_size);
}

const char *cr_job_eval_paths(const cr_job *j) {
    const cr_root_conf *c = j->root;
    if (*c->eval_input_path) return c->eval_input_path;
    return c->data_config->eval_fraction > 0 && *c->train_input_path ? c->train_input_path : NULL;
}

const char *cr_job_eval_key(const cr_job *j) {
    return *j->root->eval_input_path ? "eval_input_path" : "train_input_path";
}
